/*
 * flow/render/protobuf.h --
 *
 *	Writes messages of Protocol Buffers (https://protobuf.dev/programming-guides/encoding), for the formats that
 *	consist of them.
 */
#ifndef ETW_PROTOBUF_H
#define ETW_PROTOBUF_H

#include "base/text.h"

static inline void EtwAddVarint(EtwText *out, uint64_t v)
{
    EtwTextReserve(out, 10);
    for (; v >= 0x80; v >>= 7) {
        out->data[out->size++] = (char)(v | 0x80);
    }
    out->data[out->size++] = (char)v;
}

enum { ETW_PB_VARINT = 0, ETW_PB_BYTES = 2 };

/* A field with a number. Zero is the default and not written. */
static inline void EtwPbNumber(EtwText *out, int field, uint64_t v)
{
    if (v != 0) {
        EtwAddVarint(out, (uint64_t)field << 3 | ETW_PB_VARINT);
        EtwAddVarint(out, v);
    }
}

/* A text, a message, or packed numbers. */
static inline void EtwPbBytes(EtwText *out, int field, const void *data, size_t size)
{
    EtwAddVarint(out, (uint64_t)field << 3 | ETW_PB_BYTES);
    EtwAddVarint(out, size);
    EtwTextAdd(out, data, size);
}

#endif
