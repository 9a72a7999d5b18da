/*
 * base/text.c --
 *
 *	The growing buffer (base/text.h).
 */
#include "base/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void EtwTextGrow(EtwText *t, size_t more)
{
    size_t need = t->size + more;
    size_t capacity = t->capacity < 256 ? 256 : t->capacity * 2;
    if (capacity < need) {
        capacity = need;
    }
    t->data = EtwRealloc(t->data, capacity);
    t->capacity = capacity;
}

void EtwTextFree(EtwText *t)
{
    free(t->data);
    t->data = NULL;
    t->size = t->capacity = 0;
}

void EtwTextPrintf(EtwText *t, const char *format, ...)
{
    va_list args;
    int n;
    EtwTextReserve(t, 128);
    va_start(args, format);
    n = vsnprintf(t->data + t->size, t->capacity - t->size, format, args);
    va_end(args);
    if (n > 0 && (size_t)n >= t->capacity - t->size) {
        EtwTextReserve(t, (size_t)n + 1);
        va_start(args, format);
        n = vsnprintf(t->data + t->size, t->capacity - t->size, format, args);
        va_end(args);
    }
    if (n > 0) {
        t->size += (size_t)n;
    }
}

const char etwDigitPairs[200] = {
#define PAIR(tens, ones) '0' + tens, '0' + ones
#define TEN(tens)                                                                                  \
    PAIR(tens, 0), PAIR(tens, 1), PAIR(tens, 2), PAIR(tens, 3), PAIR(tens, 4), PAIR(tens, 5),      \
            PAIR(tens, 6), PAIR(tens, 7), PAIR(tens, 8), PAIR(tens, 9)
        TEN(0), TEN(1), TEN(2), TEN(3), TEN(4), TEN(5), TEN(6), TEN(7), TEN(8), TEN(9)};

#define THOUSAND(n) n, n##0, n##00
const uint64_t etwPowersOf10[20] = {0, 10, 100, THOUSAND(1000), THOUSAND(1000000),
        THOUSAND(1000000000), THOUSAND(1000000000000), THOUSAND(1000000000000000),
        1000000000000000000, 10000000000000000000u};

void EtwTextDecimal(EtwText *t, uint64_t v)
{
    EtwTextReserve(t, 20);
    t->size = (size_t)(EtwPutDecimal(t->data + t->size, v) - t->data);
}

void EtwTextSigned(EtwText *t, int64_t v)
{
    if (v < 0) {
        EtwTextChar(t, '-');
        EtwTextDecimal(t, 0 - (uint64_t)v);
    } else {
        EtwTextDecimal(t, (uint64_t)v);
    }
}

void EtwTextHex(EtwText *t, uint64_t v, int digits)
{
    uint8_t hex[16];
    int size = (67 - __builtin_clzll(v | 1)) / 4;
    size = size < digits ? (digits < 16 ? digits : 16) : size;
    if (size > 8) {
        EtwStore64(hex, EtwHexDigits((uint32_t)(v >> 32)));
    }
    EtwStore64(hex + 8, EtwHexDigits((uint32_t)v));
    EtwTextReserve(t, 16);
    EtwCopyShort(t->data + t->size, hex + 16 - size, (size_t)size);
    t->size += (size_t)size;
}
