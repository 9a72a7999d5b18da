/*
 * etl/compress/decompress.h --
 *
 *	Decoders for the buffers of compressed files: the three formats of [MS-XCA], plain LZ77 (2.4),
 *	LZ77+Huffman (2.2) and LZNT1 (2.5), numbered as in RtlDecompressBuffer, and the frames of packed
 *	traces (etl/compress/pack.h). Private to etl.
 */
#ifndef ETW_DECOMPRESS_H
#define ETW_DECOMPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ETL_FORMAT_NONE = 0,
    ETL_FORMAT_LZNT1 = 2,
    ETL_FORMAT_XPRESS = 3,
    ETL_FORMAT_HUFFMAN = 4,
    ETL_FORMAT_ZSTD = 0x10000 /* not in any buffer's header */
};

/*
 * Decode up to `capacity` bytes into out. Returns the number of valid bytes, which is less than
 * `capacity` when the input ends or is damaged earlier. With a smaller `capacity` the result is a
 * prefix of the same bytes. Never writes beyond out + capacity or reads outside of `in`. Bytes from
 * the result to `capacity` are undefined.
 */
typedef size_t EtlDecodeProc(const uint8_t *in, size_t size, uint8_t *out, size_t capacity);
EtlDecodeProc EtlXpressDecode, EtlHuffmanDecode, EtlLznt1Decode, EtlZstdDecode;

/* NULL: the format is unknown. */
static inline EtlDecodeProc *EtlDecoder(unsigned format)
{
    switch (format) {
    case ETL_FORMAT_LZNT1:
        return EtlLznt1Decode;
    case ETL_FORMAT_XPRESS:
        return EtlXpressDecode;
    case ETL_FORMAT_HUFFMAN:
        return EtlHuffmanDecode;
    case ETL_FORMAT_ZSTD:
        return EtlZstdDecode;
    default:
        return NULL;
    }
}

/*
 * Decode `want` bytes, or as many as there are, into *bytesPtr (owned by the caller; *capacityPtr
 * its size), which grows only as far as the decoded data needs. Returns the number of valid bytes.
 */
size_t EtlUnpack(EtlDecodeProc *decode, const uint8_t *in, size_t size, size_t want,
        uint8_t **bytesPtr, size_t *capacityPtr);

/*
 * Repeat `length` bytes that begin `offset` (at least 1) before out; the caller has checked both.
 */
static inline void EtlCopyMatch(uint8_t *out, size_t offset, size_t length)
{
    const uint8_t *from = out - offset;
    while (length > offset) { /* the copied length doubles with each round */
        __builtin_memcpy(out, from, offset);
        out += offset;
        length -= offset;
        offset += offset;
    }
    __builtin_memcpy(out, from, length);
}

#endif
