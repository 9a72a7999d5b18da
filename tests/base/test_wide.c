/*
 * tests/base/test_wide.c --
 *
 *	base/wide_portable.h, beside the compiler's own 128-bit integers where there are such; elsewhere by known
 *	results only.
 */
#define ETW_WIDE_PORTABLE
#include "base/wide.h"
#include "tests/support/check.h"

static EtwWide wide(uint64_t high, uint64_t low)
{
    return (EtwWide){low, high};
}

static bool same(EtwWide a, EtwWide b)
{
    return a.low == b.low && a.high == b.high;
}

static void wide_1_1_known(void)
{
    EtwWide r, rest;
    CHECK(EtwWideAdd(EtwWideUint(UINT64_MAX), EtwWideInt(1), &r) && same(r, wide(1, 0)));
    CHECK(EtwWideSub(EtwWideInt(0), EtwWideUint(UINT64_MAX), &r) && same(r, wide(UINT64_MAX, 1)));
    CHECK(EtwWideMul(EtwWideUint(UINT64_MAX), EtwWideInt(-2), &r) &&
            same(r, wide(UINT64_MAX - 1, 2)));
    CHECK(!EtwWideMul(wide(1, 0), wide(1, 0), &r));
    CHECK(!EtwWideAdd(wide(INT64_MAX, UINT64_MAX), EtwWideInt(1), &r));
    CHECK(!EtwWideDivide(wide((uint64_t)1 << 63, 0), EtwWideInt(-1), &r, &rest));
    CHECK(EtwWideDivide(EtwWideInt(-7), EtwWideInt(2), &r, &rest) && same(r, EtwWideInt(-4)) &&
            same(rest, EtwWideInt(1)));
    CHECK(EtwWideDivide(EtwWideInt(7), EtwWideInt(-2), &r, &rest) && same(r, EtwWideInt(-4)) &&
            same(rest, EtwWideInt(-1)));
    CHECK(EtwWideReal(EtwWideUint(UINT64_MAX)) == 18446744073709551615.0L);
    CHECK(EtwWideReal(EtwWideInt(-3)) == -3.0L);
    CHECK(EtwMulDiv(UINT64_MAX, 1000000000, 10000000000) == UINT64_MAX / 10);
    CHECK_EQ(EtwMulDivSigned(-7, 3, 2), -10);
    CHECK(EtwMulShift32(UINT64_MAX, (uint64_t)1 << 32) == UINT64_MAX);
    CHECK_EQ(EtwShift32Div(3, 2), 3ll << 31);
    CHECK(same(EtwWideMulAdd(INT64_MIN, 100, -1), wide((uint64_t)-51, UINT64_MAX)));
}

#ifdef __SIZEOF_INT128__
__extension__ typedef __int128 Native;
__extension__ typedef unsigned __int128 Unsigned;

static EtwWide of(Native n)
{
    return wide((uint64_t)((Unsigned)n >> 64), (uint64_t)n);
}

static Native native(EtwWide w)
{
    return (Native)((Unsigned)w.high << 64 | w.low);
}

static uint64_t state = 88172645463325252u;
static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Of all sizes, often near a border. */
static Native number(void)
{
    Native n = native(wide(next(), next())) >> next() % 128;
    static const uint64_t borders[] = {0, 1, INT64_MAX, (uint64_t)1 << 63, UINT64_MAX};
    if (next() % 4 == 0) {
        n = native(wide(borders[next() % 5], borders[next() % 5]));
    }
    return n;
}

static void checkPair(Native a, Native b)
{
    EtwWide x = of(a), y = of(b), r, rest;
    Native n;
    bool fits = !__builtin_add_overflow(a, b, &n);
    CHECK(EtwWideAdd(x, y, &r) == fits && (!fits || native(r) == n));
    fits = !__builtin_sub_overflow(a, b, &n);
    CHECK(EtwWideSub(x, y, &r) == fits && (!fits || native(r) == n));
    fits = !__builtin_mul_overflow(a, b, &n);
    CHECK(EtwWideMul(x, y, &r) == fits && (!fits || native(r) == n));
    CHECK_EQ(EtwWideOrder(x, y), (a > b) - (a < b));
    if (b != 0 && !(b == -1 && __builtin_sub_overflow((Native)0, a, &n))) {
        Native q = a / b, m = a % b;
        bool down = m != 0 && (m < 0) != (b < 0);
        CHECK(EtwWideDivide(x, y, &r, &rest) && native(r) == q - down &&
                native(rest) == (down ? m + b : m));
    }
}

static void checkBits(Native a, int bits)
{
    EtwWide r;
    Native moved = (Native)((Unsigned)a << bits);
    bool fits = moved >> bits == a;
    CHECK(native(EtwWideShiftRight(of(a), bits)) == a >> bits);
    CHECK(EtwWideShiftLeft(of(a), bits, &r) == fits && (!fits || native(r) == moved));
}

static void checkProducts(uint64_t a, uint64_t b, uint64_t c)
{
    CHECK(EtwMulShift32(a, b) == (uint64_t)((Unsigned)a * b >> 32));
    CHECK(EtwShift32Div(a, c) == (uint64_t)(((Unsigned)a << 32) / c));
    CHECK(EtwMulDiv(a, b, c) == (uint64_t)((Unsigned)a * b / c));
}

static void wide_1_2_beside_the_compilers(void)
{
    for (int i = 0; i < 20000; i++) {
        Native a = number(), b = number();
        int64_t small;
        checkPair(a, b);
        checkBits(a, (int)(next() % 127));
        checkProducts((uint64_t)a, (uint64_t)b, (next() >> next() % 64) | 1);
        CHECK(EtwWideFits(of(a), &small) == (a == (int64_t)a));
        CHECK(EtwWideReal(of(a)) == (long double)a);
    }
}
#endif

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(wide_1_1_known);
#ifdef __SIZEOF_INT128__
    CHECK_RUN(wide_1_2_beside_the_compilers);
#endif
    return CHECK_DONE();
}
