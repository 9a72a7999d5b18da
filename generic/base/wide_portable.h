/*
 * base/wide_portable.h --
 *
 *	The integers of wide.h as two halves of 64 bits, in two's complement. Private to wide.h, which describes the
 *	functions. Simple rather than fast: a division takes 128 steps.
 */
#ifndef ETW_BASE_WIDE_PORTABLE_H
#define ETW_BASE_WIDE_PORTABLE_H

typedef struct EtwWide {
    uint64_t low, high;
} EtwWide;

static inline EtwWide EtwWideUint(uint64_t u)
{
    return (EtwWide){u, 0};
}

static inline EtwWide EtwWideInt(int64_t i)
{
    return (EtwWide){(uint64_t)i, i < 0 ? UINT64_MAX : 0};
}

static inline bool EtwWideFits(EtwWide a, int64_t *resultPtr)
{
    *resultPtr = (int64_t)a.low;
    return a.high == (*resultPtr < 0 ? UINT64_MAX : 0);
}

static inline bool wideNegative(EtwWide a)
{
    return (int64_t)a.high < 0;
}

static inline int wideOrderUnsigned(EtwWide a, EtwWide b)
{
    return a.high != b.high ? (a.high > b.high ? 1 : -1) : (a.low > b.low) - (a.low < b.low);
}

static inline int EtwWideOrder(EtwWide a, EtwWide b)
{
    return wideNegative(a) != wideNegative(b) ? (wideNegative(a) ? -1 : 1)
                                              : wideOrderUnsigned(a, b);
}

/* ---- Sums: modulo 2^128, then checked by the signs ---------------------------------------------- */

static inline EtwWide wideSum(EtwWide a, EtwWide b)
{
    uint64_t low = a.low + b.low;
    return (EtwWide){low, a.high + b.high + (low < a.low)};
}

static inline EtwWide wideOpposite(EtwWide a)
{
    return wideSum((EtwWide){~a.low, ~a.high}, EtwWideUint(1));
}

static inline EtwWide wideMagnitude(EtwWide a)
{
    return wideNegative(a) ? wideOpposite(a) : a;
}

static inline bool EtwWideAdd(EtwWide a, EtwWide b, EtwWide *resultPtr)
{
    *resultPtr = wideSum(a, b);
    return wideNegative(a) != wideNegative(b) || wideNegative(*resultPtr) == wideNegative(a);
}

static inline bool EtwWideSub(EtwWide a, EtwWide b, EtwWide *resultPtr)
{
    *resultPtr = wideSum(a, wideOpposite(b));
    return wideNegative(a) == wideNegative(b) || wideNegative(*resultPtr) == wideNegative(a);
}

static inline long double EtwWideReal(EtwWide a)
{
    EtwWide m = wideMagnitude(a);
    long double real = (long double)m.high * 18446744073709551616.0L + (long double)m.low;
    return wideNegative(a) ? -real : real;
}

/* ---- Bits ------------------------------------------------------------------------------------------ */

static inline EtwWide EtwWideAnd(EtwWide a, EtwWide b)
{
    return (EtwWide){a.low & b.low, a.high & b.high};
}

static inline EtwWide EtwWideOr(EtwWide a, EtwWide b)
{
    return (EtwWide){a.low | b.low, a.high | b.high};
}

static inline EtwWide EtwWideXor(EtwWide a, EtwWide b)
{
    return (EtwWide){a.low ^ b.low, a.high ^ b.high};
}

static inline EtwWide EtwWideShiftRight(EtwWide a, int bits)
{
    uint64_t fill = wideNegative(a) ? UINT64_MAX : 0;
    if (bits == 0) {
        return a;
    }
    if (bits >= 64) {
        return (EtwWide){bits == 64 ? a.high : a.high >> (bits - 64) | fill << (128 - bits), fill};
    }
    return (EtwWide){a.low >> bits | a.high << (64 - bits), a.high >> bits | fill << (64 - bits)};
}

static inline bool EtwWideShiftLeft(EtwWide a, int bits, EtwWide *resultPtr)
{
    if (bits == 0) {
        *resultPtr = a;
    } else if (bits >= 64) {
        *resultPtr = (EtwWide){0, a.low << (bits - 64)};
    } else {
        *resultPtr = (EtwWide){a.low << bits, a.high << bits | a.low >> (64 - bits)};
    }
    return EtwWideOrder(EtwWideShiftRight(*resultPtr, bits), a) == 0;
}

/* ---- Products and quotients of magnitudes --------------------------------------------------------- */

static inline EtwWide wideProduct(uint64_t a, uint64_t b)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (uint32_t)middle;
    return (EtwWide){other << 32 | (uint32_t)(a0 * b0), a1 * b1 + (middle >> 32) + (other >> 32)};
}

/* A magnitude with its sign. False: 2^127 and above, except the smallest number. */
static inline bool wideSigned(EtwWide magnitude, bool negative, EtwWide *resultPtr)
{
    *resultPtr = negative ? wideOpposite(magnitude) : magnitude;
    return wideNegative(*resultPtr) == negative || (magnitude.low | magnitude.high) == 0;
}

static inline bool EtwWideMul(EtwWide a, EtwWide b, EtwWide *resultPtr)
{
    EtwWide x = wideMagnitude(a), y = wideMagnitude(b), product = wideProduct(x.low, y.low), cross;
    bool negative = wideNegative(a) != wideNegative(b);
    if (x.high != 0 && y.high != 0) {
        return false;
    }
    cross = x.high != 0 ? wideProduct(x.high, y.low) : wideProduct(x.low, y.high);
    product.high += cross.low;
    return cross.high == 0 && product.high >= cross.low && wideSigned(product, negative, resultPtr);
}

/* Long division, one bit at a time. */
static inline EtwWide wideQuotient(EtwWide a, EtwWide b, EtwWide *restPtr)
{
    EtwWide quotient = {0, 0}, rest = {0, 0};
    for (int i = 127; i >= 0; i--) {
        bool carry = rest.high >> 63;
        rest.high = rest.high << 1 | rest.low >> 63;
        rest.low = rest.low << 1 | ((i >= 64 ? a.high >> (i - 64) : a.low >> i) & 1);
        if (carry || wideOrderUnsigned(rest, b) >= 0) {
            rest = wideSum(rest, wideOpposite(b));
            *(i >= 64 ? &quotient.high : &quotient.low) |= (uint64_t)1 << (i % 64);
        }
    }
    *restPtr = rest;
    return quotient;
}

static inline bool EtwWideDivide(EtwWide a, EtwWide b, EtwWide *quotientPtr, EtwWide *restPtr)
{
    EtwWide rest, quotient = wideQuotient(wideMagnitude(a), wideMagnitude(b), &rest);
    bool negative = wideNegative(a) != wideNegative(b);
    if (negative && (rest.low | rest.high) != 0) { /* round down, not towards 0 */
        quotient = wideSum(quotient, EtwWideUint(1));
        rest = wideSum(wideMagnitude(b), wideOpposite(rest));
    }
    *restPtr = wideNegative(b) ? wideOpposite(rest) : rest;
    return wideSigned(quotient, negative, quotientPtr);
}

static inline uint64_t EtwMulShift32(uint64_t a, uint64_t b)
{
    EtwWide product = wideProduct(a, b);
    return product.low >> 32 | product.high << 32;
}

static inline uint64_t EtwShift32Div(uint64_t a, uint64_t b)
{
    EtwWide rest;
    return wideQuotient((EtwWide){a << 32, a >> 32}, EtwWideUint(b), &rest).low;
}

static inline uint64_t EtwMulDiv(uint64_t a, uint64_t b, uint64_t c)
{
    EtwWide rest;
    return wideQuotient(wideProduct(a, b), EtwWideUint(c), &rest).low;
}

#endif
