/*
 * flow/render/parquet/thrift_compact.h --
 *
 *	Writes structs in Thrift's compact protocol
 *	(https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md), in which Parquet has
 *	its metadata.
 */
#ifndef ETW_THRIFT_COMPACT_H
#define ETW_THRIFT_COMPACT_H

#include "flow/render/protobuf.h" /* the same varints */

typedef enum ThriftType {
    THRIFT_TRUE = 1,
    THRIFT_FALSE = 2,
    THRIFT_BYTE = 3,
    THRIFT_I32 = 5,
    THRIFT_I64 = 6,
    THRIFT_BINARY = 8,
    THRIFT_LIST = 9,
    THRIFT_STRUCT = 12
} ThriftType;

static inline uint64_t EtwZigzag(int64_t v)
{
    return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
}

/* *lastPtr: the struct's field before, 0 at first. Fields have increasing numbers. */
static inline void EtwThriftField(EtwText *out, int *lastPtr, int field, ThriftType type)
{
    EtwTextChar(out, (char)((field - *lastPtr) << 4 | (int)type)); /* at most 15 apart */
    *lastPtr = field;
}

static inline void EtwThriftInt(EtwText *out, int *lastPtr, int field, ThriftType type, int64_t v)
{
    EtwThriftField(out, lastPtr, field, type);
    EtwAddVarint(out, EtwZigzag(v));
}

static inline void EtwThriftBytes(EtwText *out, const void *data, size_t size)
{
    EtwAddVarint(out, size);
    EtwTextAdd(out, data, size);
}

static inline void EtwThriftBinary(
        EtwText *out, int *lastPtr, int field, const void *data, size_t size)
{
    EtwThriftField(out, lastPtr, field, THRIFT_BINARY);
    EtwThriftBytes(out, data, size);
}

/* The elements follow. */
static inline void EtwThriftList(
        EtwText *out, int *lastPtr, int field, ThriftType type, size_t count)
{
    EtwThriftField(out, lastPtr, field, THRIFT_LIST);
    EtwTextChar(out, (char)((count < 15 ? count : 15) << 4 | (unsigned)type));
    if (count >= 15) {
        EtwAddVarint(out, count);
    }
}

static inline void EtwThriftEnd(EtwText *out)
{
    EtwTextChar(out, 0);
}

#endif
