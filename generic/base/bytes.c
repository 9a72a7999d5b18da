/*
 * base/bytes.c --
 *
 *	The growing buffer and the text encodings. Invalid input becomes U+FFFD, never an error.
 */
#include "base/bytes.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void *orDie(void *p, size_t size)
{
    if (p == NULL && size != 0) {
        fprintf(stderr, "etw: out of memory (%zu bytes)\n", size);
        abort();
    }
    return p;
}

void *EtwAlloc(size_t size)
{
    return orDie(calloc(1, size), size);
}

void *EtwRealloc(void *p, size_t size)
{
    return orDie(realloc(p, size), size);
}

char *EtwStrdup(const char *s)
{
    size_t size = strlen(s) + 1;
    return memcpy(EtwAlloc(size), s, size);
}

void EtwFree(void *p)
{
    free(p);
}

void EtwTextReserve(EtwText *t, size_t more)
{
    size_t need = t->size + more;
    if (need > t->room) {
        size_t room = t->room < 256 ? 256 : t->room * 2;
        if (room < need) {
            room = need;
        }
        t->data = EtwRealloc(t->data, room);
        t->room = room;
    }
}

void EtwTextFree(EtwText *t)
{
    free(t->data);
    t->data = NULL;
    t->size = t->room = 0;
}

void EtwTextPrintf(EtwText *t, const char *format, ...)
{
    va_list args;
    int n;
    EtwTextReserve(t, 128);
    va_start(args, format);
    n = vsnprintf(t->data + t->size, t->room - t->size, format, args);
    va_end(args);
    if (n > 0 && (size_t)n >= t->room - t->size) {
        EtwTextReserve(t, (size_t)n + 1);
        va_start(args, format);
        n = vsnprintf(t->data + t->size, t->room - t->size, format, args);
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

/* The digits of 32 bits, the highest first in memory: nibbles are spread to bytes, then made letters. */
static uint64_t hexDigits(uint32_t v)
{
    uint64_t x = v;
    x = (x << 16 | x) & 0x0000FFFF0000FFFFull;
    x = (x << 8 | x) & 0x00FF00FF00FF00FFull;
    x = (x << 4 | x) & 0x0F0F0F0F0F0F0F0Full;
    uint64_t letters =
            ((x + 0x0606060606060606ull) >> 4 & 0x0101010101010101ull) * ('a' - '0' - 10);
    return __builtin_bswap64(x + letters + 0x3030303030303030ull);
}

void EtwTextHex(EtwText *t, uint64_t v, int digits)
{
    uint8_t hex[16];
    int size = (67 - __builtin_clzll(v | 1)) / 4;
    size = size < digits ? (digits < 16 ? digits : 16) : size;
    EtwStore64(hex, hexDigits((uint32_t)(v >> 32)));
    EtwStore64(hex + 8, hexDigits((uint32_t)v));
    EtwTextReserve(t, 16);
    EtwCopyShort(t->data + t->size, hex + 16 - size, (size_t)size);
    t->size += (size_t)size;
}

static void addCodePoint(EtwText *t, uint32_t c)
{
    char out[4];
    size_t n;
    if (c < 0x80) {
        out[0] = (char)c;
        n = 1;
    } else if (c < 0x800) {
        out[0] = (char)(0xC0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3F));
        n = 2;
    } else if (c < 0x10000) {
        out[0] = (char)(0xE0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3F));
        out[2] = (char)(0x80 | (c & 0x3F));
        n = 3;
    } else {
        out[0] = (char)(0xF0 | c >> 18);
        out[1] = (char)(0x80 | (c >> 12 & 0x3F));
        out[2] = (char)(0x80 | (c >> 6 & 0x3F));
        out[3] = (char)(0x80 | (c & 0x3F));
        n = 4;
    }
    EtwTextAdd(t, out, n);
}

/* How many units from the beginning are ASCII, in steps of four; they are appended. */
static size_t addAscii16(EtwText *t, const uint8_t *utf16, size_t units)
{
    size_t i = 0;
    if (units < 4) {
        return 0; /* of an empty text there may be no memory at all */
    }
    EtwTextReserve(t, units);
    char *to = t->data + t->size;
    for (; i + 4 <= units; i += 4) {
        uint64_t four = EtwLoad64(utf16 + 2 * i);
        if ((four & 0xFF80FF80FF80FF80ull) != 0) {
            break;
        }
        four = (four | four >> 8) & 0x0000FFFF0000FFFFull;
        four |= four >> 16;
        EtwStore32(to + i, (uint32_t)four);
    }
    t->size += i;
    return i;
}

void EtwTextUtf16(EtwText *t, const uint8_t *utf16, size_t units)
{
    for (size_t i = addAscii16(t, utf16, units); i < units; i++) {
        uint32_t c = EtwLoad16(utf16 + 2 * i);
        if (c >= 0xD800 && c < 0xDC00 && i + 1 < units) {
            uint32_t low = EtwLoad16(utf16 + 2 * (i + 1));
            if (low >= 0xDC00 && low < 0xE000) {
                c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
                i++;
            }
        }
        addCodePoint(t, c >= 0xD800 && c < 0xE000 ? 0xFFFD : c);
    }
}

uint32_t EtwUtf8Next(const uint8_t *p, size_t left, size_t *lengthPtr)
{
    static const uint32_t least[4] = {0, 0x80, 0x800, 0x10000};
    size_t n;
    uint32_t c = p[0];
    *lengthPtr = 1;
    if (c < 0x80) {
        return c;
    }
    n = c >= 0xF0 && c < 0xF8 ? 3 : c >= 0xE0 && c < 0xF0 ? 2 : c >= 0xC0 && c < 0xE0 ? 1 : 0;
    if (n == 0 || n >= left) {
        return 0xFFFD;
    }
    c &= 0x3Fu >> n;
    for (size_t i = 1; i <= n; i++) {
        if ((p[i] & 0xC0) != 0x80) {
            return 0xFFFD;
        }
        c = c << 6 | (p[i] & 0x3F);
    }
    if (c < least[n] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) {
        return 0xFFFD;
    }
    *lengthPtr = n + 1;
    return c;
}

void EtwTextToUtf16(EtwText *t, const char *utf8, size_t size)
{
    const uint8_t *p = (const uint8_t *)utf8;
    while (size > 0) {
        size_t n;
        uint32_t c = EtwUtf8Next(p, size, &n);
        uint8_t out[4];
        if (c < 0x10000) {
            EtwStore16(out, (uint16_t)c);
            EtwTextAdd(t, out, 2);
        } else {
            EtwStore16(out, (uint16_t)(0xD800 + ((c - 0x10000) >> 10)));
            EtwStore16(out + 2, (uint16_t)(0xDC00 + ((c - 0x10000) & 0x3FF)));
            EtwTextAdd(t, out, 4);
        }
        p += n;
        size -= n;
    }
}

void EtwTextUtf8(EtwText *t, const uint8_t *p, size_t size)
{
    EtwTextReserve(t, size);
    while (size > 0) {
        size_t run = 0, n;
        while (run < size && p[run] < 0x80) {
            run++;
        }
        EtwTextAdd(t, p, run);
        p += run;
        size -= run;
        if (size > 0) {
            addCodePoint(t, EtwUtf8Next(p, size, &n));
            p += n;
            size -= n;
        }
    }
}
