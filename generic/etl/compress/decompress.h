/*
 * etl/compress/decompress.h --
 *
 *	The three formats in which buffers of compressed files are stored ([MS-XCA]: plain
 *	LZ77 2.4, LZ77+Huffman 2.2, LZNT1 2.5; numbers as RtlDecompressBuffer has them). Only
 *	decoding. Private to the room.
 */
#ifndef ETW_DECOMPRESS_H
#define ETW_DECOMPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ETL_FORMAT_NONE = 0, ETL_FORMAT_LZNT1 = 2, ETL_FORMAT_XPRESS = 3, ETL_FORMAT_HUFFMAN = 4 };

/*
 * Decode up to `room` bytes into out. Result: how many bytes at out are good, which is less than
 * the room when the input ends or is damaged before. A smaller room than the whole gives the head
 * of the same bytes. Never writes behind out + room, never reads outside of in. Bytes between the
 * result and the room are undefined.
 */
typedef size_t EtlDecodeProc(const uint8_t *in, size_t size, uint8_t *out, size_t room);
EtlDecodeProc EtlXpressDecode, EtlHuffmanDecode, EtlLznt1Decode;

/* NULL: nobody knows that format. */
static inline EtlDecodeProc *EtlDecoder(unsigned format)
{
    switch (format) {
    case ETL_FORMAT_LZNT1:
        return EtlLznt1Decode;
    case ETL_FORMAT_XPRESS:
        return EtlXpressDecode;
    case ETL_FORMAT_HUFFMAN:
        return EtlHuffmanDecode;
    default:
        return NULL;
    }
}

/*
 * Decode `want` bytes, or as many as there are, into *bytesPtr (owned by the caller; *roomPtr its
 * size), which grows no further than the stream turns out to need. Result: bytes that are good.
 */
size_t EtlUnpack(EtlDecodeProc *decode, const uint8_t *in, size_t size, size_t want,
        uint8_t **bytesPtr, size_t *roomPtr);

/* Repeat `length` bytes that begin `offset` (at least 1) before out; the caller checked both. */
static inline void EtlCopyMatch(uint8_t *out, size_t offset, size_t length)
{
    const uint8_t *from = out - offset;
    while (length > offset) { /* what is there doubles with each round */
        __builtin_memcpy(out, from, offset);
        out += offset;
        length -= offset;
        offset += offset;
    }
    __builtin_memcpy(out, from, length);
}

#endif
