/*
 * flow/render/protobuf.h --
 *
 *	Writes messages of Protocol Buffers (https://protobuf.dev/programming-guides/encoding), for the formats that
 *	consist of them.
 */
#ifndef ETW_PROTOBUF_H
#define ETW_PROTOBUF_H

#include "base/unicode.h"

static inline void EtwAddVarint(EtwText *out, uint64_t v)
{
    EtwTextReserve(out, 10);
    for (; v >= 0x80; v >>= 7) {
        out->data[out->size++] = (char)(v | 0x80);
    }
    out->data[out->size++] = (char)v;
}

enum { ETW_PB_VARINT = 0, ETW_PB_FIXED64 = 1, ETW_PB_BYTES = 2 };

/* A field with a number, also with zero. */
static inline void EtwPbValue(EtwText *out, int field, uint64_t v)
{
    EtwAddVarint(out, (uint64_t)field << 3 | ETW_PB_VARINT);
    EtwAddVarint(out, v);
}

/* A field with a number. Zero is the default and not written. */
static inline void EtwPbNumber(EtwText *out, int field, uint64_t v)
{
    if (v != 0) {
        EtwPbValue(out, field, v);
    }
}

/* A double or a fixed number, also zero. */
static inline void EtwPbFixed64(EtwText *out, int field, uint64_t bits)
{
    EtwAddVarint(out, (uint64_t)field << 3 | ETW_PB_FIXED64);
    EtwTextReserve(out, 8);
    EtwStore64(out->data + out->size, bits);
    out->size += 8;
}

/* A text, a message, or packed numbers. */
static inline void EtwPbBytes(EtwText *out, int field, const void *data, size_t size)
{
    EtwAddVarint(out, (uint64_t)field << 3 | ETW_PB_BYTES);
    EtwAddVarint(out, size);
    EtwTextAdd(out, data, size);
}

/* The same, of what is appended between begin and end. Such messages nest. */
static inline size_t EtwPbBegin(EtwText *out, int field)
{
    EtwAddVarint(out, (uint64_t)field << 3 | ETW_PB_BYTES);
    EtwTextChar(out, '\0'); /* the size, if it is less than 128 */
    return out->size;
}

static inline void EtwPbEnd(EtwText *out, size_t begin)
{
    size_t size = out->size - begin, more = 0;
    for (uint64_t rest = (uint64_t)size >> 7; rest != 0; rest >>= 7) {
        more++;
    }
    if (more > 0) {
        EtwTextReserve(out, more);
        memmove(out->data + begin + more, out->data + begin, size);
    }
    out->size = begin - 1;
    EtwAddVarint(
            out, size); /* has space: 1 + more bytes before the message, which lies behind it */
    out->size += size;
}

/* A text; invalid UTF-8 becomes valid. */
static inline void EtwPbText(EtwText *out, int field, const void *text, size_t size)
{
    size_t at = EtwPbBegin(out, field);
    EtwTextUtf8(out, text, size);
    EtwPbEnd(out, at);
}

static inline void EtwPbDouble(EtwText *out, int field, double d)
{
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    EtwPbFixed64(out, field, bits);
}

#endif
