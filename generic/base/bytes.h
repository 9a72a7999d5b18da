/*
 * base/bytes.h --
 *
 *	Little-endian loads and stores, and a bounds-checked cursor over bytes from a file (EtwBytes). File
 *	memory is never cast to a struct.
 */
#ifndef ETW_BASE_BYTES_H
#define ETW_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* All supported platforms are little-endian. memcpy is safe for unaligned addresses. */
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

/*
 * The hexadecimal digits of 32 bits, highest first in memory: nibbles are spread to bytes, then
 * converted to characters.
 */
static inline uint64_t EtwHexDigits(uint32_t v)
{
    uint64_t x = v;
    x = (x << 16 | x) & 0x0000FFFF0000FFFFull;
    x = (x << 8 | x) & 0x00FF00FF00FF00FFull;
    x = (x << 4 | x) & 0x0F0F0F0F0F0F0F0Full;
    uint64_t letters =
            ((x + 0x0606060606060606ull) >> 4 & 0x0101010101010101ull) * ('a' - '0' - 10);
    return __builtin_bswap64(x + letters + 0x3030303030303030ull);
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

#endif
