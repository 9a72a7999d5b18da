/*
 * base/text.h --
 *
 *	A growing buffer for text and records (EtwText), and decimal numbers.
 */
#ifndef ETW_BASE_TEXT_H
#define ETW_BASE_TEXT_H

#include "base/alloc.h"
#include "base/bytes.h"

/*
 * EtwText: a growing byte buffer. The owner calls EtwTextFree. When memory is exhausted, the
 * process is aborted, as by Tcl's ckalloc. The sizes are always bounded by data that is already in
 * memory.
 */
typedef struct EtwText {
    char *data;
    size_t size;
    size_t capacity;
} EtwText;

void EtwTextGrow(EtwText *t, size_t more); /* EtwTextReserve, when the capacity does not suffice */
/* Then `more` bytes may be stored at data + size. */
static inline void EtwTextReserve(EtwText *t, size_t more)
{
    if (t->capacity - t->size < more) {
        EtwTextGrow(t, more);
    }
}
void EtwTextFree(EtwText *t);
void EtwTextPrintf(EtwText *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void EtwTextDecimal(EtwText *t, uint64_t v);
void EtwTextSigned(EtwText *t, int64_t v);
void EtwTextHex(
        EtwText *t, uint64_t v, int digits); /* at least `digits` lower-case digits, no 0x */

static inline void EtwTextAdd(EtwText *t, const void *data, size_t size)
{
    EtwTextReserve(t, size);
    if (size != 0) {
        memcpy(t->data + t->size, data, size);
        t->size += size;
    }
}
static inline void EtwTextChar(EtwText *t, char c)
{
    EtwTextReserve(t, 1);
    t->data[t->size++] = c;
}
static inline void EtwTextStr(EtwText *t, const char *s)
{
    EtwTextAdd(t, s, strlen(s));
}

/* 0 to 15; 99: not a hexadecimal digit. */
static inline int EtwHexDigit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 99;
}

/* ---- Decimal numbers in allocated space --------------------------------------------------------- */

/* "00" to "99" concatenated; 0, 10, 100 ... */
extern const char etwDigitPairs[200];
extern const uint64_t etwPowersOf10[20];

static inline int EtwDecimalDigits(uint64_t v)
{
    int least = (64 - __builtin_clzll(v | 1)) * 1233 >> 12; /* log10(2) is 1233 / 4096 */
    return least + (v >= etwPowersOf10[least]);
}

/* Write v in decimal at p (up to 20 bytes, no NUL). Returns the end. */
static inline char *EtwPutDecimal(char *p, uint64_t v)
{
    char *end = p + EtwDecimalDigits(v), *at = end;
    while (v >= 100) {
        at -= 2;
        memcpy(at, etwDigitPairs + 2 * (v % 100), 2);
        v /= 100;
    }
    if (v >= 10) {
        memcpy(p, etwDigitPairs + 2 * v, 2);
    } else {
        *p = (char)('0' + v);
    }
    return end;
}

#endif
