/*
 * etl/compress/lznt1.c --
 *
 *	LZNT1 of [MS-XCA] 2.5: chunks of 4096 bytes, each with a 2-byte header. In a compressed chunk, flag bytes (least
 *	significant bit first) distinguish literals from 2-byte matches. The bits of a match are divided between offset and
 *	length according to the position in the chunk.
 */
#include "base/bytes.h"
#include "etl/compress/decompress.h"

enum { CHUNK = 4096, CHUNK_COMPRESSED = 0x8000, CHUNK_SIZE = 0x0FFF, MATCH_MIN = 3 };

/* The number of length bits of a match, `done` bytes into the chunk. */
static unsigned lengthBits(size_t done)
{
    unsigned bits = 12;
    for (size_t rest = done - 1; rest >= 16; rest >>= 1) {
        bits--;
    }
    return bits;
}

/* Decode a compressed chunk. Returns its size, at most `capacity`. *badPtr: malformed. */
static size_t chunk(
        const uint8_t *in, const uint8_t *inEnd, uint8_t *out, size_t capacity, bool *badPtr)
{
    size_t done = 0;
    while (in < inEnd && done < capacity) {
        unsigned flags = *in++;
        for (int i = 0; i < 8 && in < inEnd && done < capacity; i++, flags >>= 1) {
            if (!(flags & 1)) {
                out[done++] = *in++;
                continue;
            }
            if (inEnd - in < 2 || done == 0) {
                *badPtr = true;
                return done;
            }
            unsigned word = EtwLoad16(in), bits = lengthBits(done);
            size_t offset = (word >> bits) + 1, length = (word & ((1u << bits) - 1)) + MATCH_MIN;
            in += 2;
            if (offset > done) {
                *badPtr = true;
                return done;
            }
            length = length < capacity - done ? length : capacity - done;
            EtlCopyMatch(out + done, offset, length);
            done += length;
        }
    }
    return done;
}

size_t EtlLznt1Decode(const uint8_t *in, size_t size, uint8_t *out, size_t capacity)
{
    const uint8_t *inEnd = in + size;
    size_t done = 0;
    bool bad = false;
    while (inEnd - in >= 2 && done < capacity && !bad) {
        unsigned head = EtwLoad16(in);
        size_t length = (head & CHUNK_SIZE) + 1, left = capacity - done;
        in += 2;
        if (head == 0 || length > (size_t)(inEnd - in)) {
            break;
        }
        if (done % CHUNK != 0) { /* a chunk that is too short is padded, unless it is the last */
            size_t gap = CHUNK - done % CHUNK;
            gap = gap < left ? gap : left;
            memset(out + done, 0, gap);
            done += gap;
            left -= gap;
        }
        left = left < CHUNK ? left : CHUNK;
        if (head & CHUNK_COMPRESSED) {
            done += chunk(in, in + length, out + done, left, &bad);
        } else {
            size_t n = length < left ? length : left;
            memcpy(out + done, in, n);
            done += n;
        }
        in += length;
    }
    return done;
}
