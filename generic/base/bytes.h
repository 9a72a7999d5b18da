/*
 * base/bytes.h --
 *
 *	Little-endian loads and stores, a bounds-checked cursor over bytes from a file (EtwBytes),
 *	and a growing output buffer (EtwText) for text and records. File memory is never cast to a struct.
 */
#ifndef ETW_BASE_BYTES_H
#define ETW_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Host is little-endian on every platform we build for; memcpy keeps it alignment-safe. */
static inline uint16_t EtwLoad16(const void *p)
{
    uint16_t v;
    memcpy(&v, p, 2);
    return v;
}
static inline uint32_t EtwLoad32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}
static inline uint64_t EtwLoad64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}
static inline void EtwStore16(void *p, uint16_t v)
{
    memcpy(p, &v, 2);
}
static inline void EtwStore32(void *p, uint32_t v)
{
    memcpy(p, &v, 4);
}
static inline void EtwStore64(void *p, uint64_t v)
{
    memcpy(p, &v, 8);
}
static inline size_t EtwAlign8(size_t n)
{
    return (n + 7) & ~(size_t)7;
}

/* memcpy that needs no function call for short sizes. The areas do not overlap. */
static inline void EtwCopyShort(void *to, const void *from, size_t size)
{
    uint8_t *d = to;
    const uint8_t *s = from;
    if (size > 128) {
        memcpy(d, s, size);
    } else if (size >= 16) {
        for (size_t i = 0; i < size - 16; i += 16) {
            memcpy(d + i, s + i, 16);
        }
        memcpy(d + size - 16, s + size - 16, 16);
    } else if (size >= 8) {
        memcpy(d, s, 8);
        memcpy(d + size - 8, s + size - 8, 8);
    } else if (size >= 4) {
        memcpy(d, s, 4);
        memcpy(d + size - 4, s + size - 4, 4);
    } else if (size > 0) {
        d[0] = s[0];
        d[size / 2] = s[size / 2];
        d[size - 1] = s[size - 1];
    }
}

/* "00" to "99", end to end; 0, 10, 100 ... */
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

/* A cursor: reading past the end sets failed and yields zeros; test failed once at the end. */
typedef struct EtwBytes {
    const uint8_t *at;
    const uint8_t *end;
    bool failed;
} EtwBytes;

static inline EtwBytes EtwBytesOf(const void *data, size_t size)
{
    EtwBytes b = {(const uint8_t *)data, (const uint8_t *)data + size, false};
    return b;
}
static inline size_t EtwBytesLeft(const EtwBytes *b)
{
    return (size_t)(b->end - b->at);
}
/* The next n bytes, or NULL (failed set) when fewer are left. */
static inline const uint8_t *EtwTake(EtwBytes *b, size_t n)
{
    if (n > EtwBytesLeft(b)) {
        b->failed = true;
        b->at = b->end;
        return NULL;
    }
    const uint8_t *p = b->at;
    b->at += n;
    return p;
}
static inline uint8_t EtwTake8(EtwBytes *b)
{
    const uint8_t *p = EtwTake(b, 1);
    return p ? *p : 0;
}
static inline uint16_t EtwTake16(EtwBytes *b)
{
    const uint8_t *p = EtwTake(b, 2);
    return p ? EtwLoad16(p) : 0;
}
static inline uint32_t EtwTake32(EtwBytes *b)
{
    const uint8_t *p = EtwTake(b, 4);
    return p ? EtwLoad32(p) : 0;
}
static inline uint64_t EtwTake64(EtwBytes *b)
{
    const uint8_t *p = EtwTake(b, 8);
    return p ? EtwLoad64(p) : 0;
}

/*
 * EtwText: a growing byte buffer. The owner calls EtwTextFree. When there is no memory the process is
 * aborted, as Tcl's ckalloc does. The sizes are always bounded by data that is in memory already.
 */
typedef struct EtwText {
    char *data;
    size_t size;
    size_t room;
} EtwText;

void EtwTextReserve(
        EtwText *t, size_t more); /* after it, `more` bytes may be stored at data+size */
void EtwTextFree(EtwText *t);
void EtwTextPrintf(EtwText *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void EtwTextDecimal(EtwText *t, uint64_t v);
void EtwTextSigned(EtwText *t, int64_t v);
void EtwTextHex(
        EtwText *t, uint64_t v, int digits); /* at least `digits` lower-case digits, no 0x */

static inline void EtwTextAdd(EtwText *t, const void *data, size_t size)
{
    if (t->room - t->size < size) {
        EtwTextReserve(t, size);
    }
    if (size != 0) {
        memcpy(t->data + t->size, data, size);
        t->size += size;
    }
}
static inline void EtwTextChar(EtwText *t, char c)
{
    if (t->size == t->room) {
        EtwTextReserve(t, 1);
    }
    t->data[t->size++] = c;
}
static inline void EtwTextStr(EtwText *t, const char *s)
{
    EtwTextAdd(t, s, strlen(s));
}
/*
 * The code point at p (left > 0) and its length in bytes. Where no valid UTF-8 is: U+FFFD, length 1.
 * Overlong forms, surrogates and values past U+10FFFF are not valid.
 */
uint32_t EtwUtf8Next(const uint8_t *p, size_t left, size_t *lengthPtr);
/* The size of the longest part of a text, at most `most` bytes, that ends between two characters. The
 * text has more than `most` bytes. */
static inline size_t EtwUtf8Cut(const void *text, size_t most)
{
    while (most > 0 && (((const uint8_t *)text)[most] & 0xC0) == 0x80) {
        most--;
    }
    return most;
}
/* How many characters the text has. */
static inline size_t EtwUtf8Length(const void *text, size_t size)
{
    size_t length = 0;
    for (size_t i = 0; i < size; i++) {
        length += (((const uint8_t *)text)[i] & 0xC0) != 0x80;
    }
    return length;
}
/* UTF-16LE (n code units; lone surrogates become U+FFFD) appended as UTF-8. */
void EtwTextUtf16(EtwText *t, const uint8_t *utf16, size_t units);
/* UTF-8 (invalid bytes become U+FFFD) appended as UTF-16LE. */
void EtwTextToUtf16(EtwText *t, const char *utf8, size_t size);
/* Bytes appended as valid UTF-8: valid sequences kept, others become U+FFFD. */
void EtwTextUtf8(EtwText *t, const uint8_t *bytes, size_t size);

/* malloc family that aborts with a message when out of memory (sizes are bounded by the caller). */
void *EtwAlloc(size_t size); /* zeroed */
void *EtwRealloc(void *p, size_t size);
char *EtwStrdup(const char *s);
void EtwFree(void *p);

#endif
