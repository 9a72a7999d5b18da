/*
 * tests/base/test_base.c --
 *
 *	The small tools of generic/base/bytes.h that hot paths inline.
 */
#include "base/bytes.h"
#include "tests/support/check.h"

static void checkDecimal(uint64_t value)
{
    char want[32], got[32];
    int size = snprintf(want, sizeof want, "%llu", (unsigned long long)value);
    memset(got, '?', sizeof got);
    *EtwPutDecimal(got, value) = '\0';
    CHECK_STR(got, want);
    CHECK_EQ(got[size + 1], '?');
}

/* Around each power of ten and of two, where the number of digits is decided. */
static void decimal_1_1_edges(void)
{
    uint64_t ten = 1;
    for (int i = 0; i < 20; i++, ten *= 10) {
        checkDecimal(ten - 1);
        checkDecimal(ten);
        checkDecimal(ten + 1);
    }
    for (int bit = 0; bit < 64; bit++) {
        checkDecimal(((uint64_t)1 << bit) - 1);
        checkDecimal((uint64_t)1 << bit);
    }
    checkDecimal(UINT64_MAX);
}

/* Every size up to beyond the longest that is copied without a call; nothing beside is touched. */
static void copy_1_1_sizes(void)
{
    uint8_t from[200], to[202], want[202];
    for (int i = 0; i < 200; i++) {
        from[i] = (uint8_t)(i * 7 + 1);
    }
    for (size_t size = 0; size <= sizeof from; size++) {
        memset(to, 0xAA, sizeof to);
        memset(want, 0xAA, sizeof want);
        memcpy(want + 1, from, size);
        EtwCopyShort(to + 1, from, size);
        CHECK_MEM(to, sizeof to, want, sizeof want);
    }
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(decimal_1_1_edges);
    CHECK_RUN(copy_1_1_sizes);
    return CHECK_DONE();
}
