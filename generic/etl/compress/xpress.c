/*
 * etl/compress/xpress.c --
 *
 *	Plain LZ77 of [MS-XCA] 2.4, the usual format of compressed .etl files: words of 32 flags,
 *	most significant first; 0 is a literal byte, 1 a match {offset-1 : 13, length-3 : 3}. A
 *	longer length continues in a half byte shared by two matches, a byte, a word and a long.
 *	This loop dominates the time of reading a merged file, so far from the ends of the buffers
 *	it copies in wide pieces.
 */
#include "base/bytes.h"
#include "etl/compress/decompress.h"

enum {
    FLAGS = 32,
    MATCH_MIN = 3,
    LENGTH_BITS = 3,
    /* input of one round: 32 literals, a match of 2 + 1 + 1 + 2 + 4 bytes; space: 32 literals, 2 * WIDE */
    ROOMY = 64,
    WIDE = 16
};

typedef struct Decoder {
    const uint8_t *in, *inEnd;
    const uint8_t *half; /* the byte whose upper half is unused, or NULL */
} Decoder;

/* Decode the rest of a length whose 3 bits are all set. False: end of input. */
static bool longLength(Decoder *d, size_t *lengthPtr)
{
    size_t length;
    if (d->half != NULL) {
        length = *d->half >> 4;
        d->half = NULL;
    } else {
        if (d->in == d->inEnd) {
            return false;
        }
        d->half = d->in++;
        length = *d->half & 15;
    }
    if (length < 15) {
        *lengthPtr = length + 7;
        return true;
    }
    if (d->in == d->inEnd) {
        return false;
    }
    length = *d->in++;
    if (length < 255) {
        *lengthPtr = length + 15 + 7;
        return true;
    }
    if (d->inEnd - d->in < 2) {
        return false;
    }
    length = EtwLoad16(d->in);
    d->in += 2;
    if (length == 0) {
        if (d->inEnd - d->in < 4) {
            return false;
        }
        length = EtwLoad32(d->in);
        d->in += 4;
    }
    *lengthPtr = length;
    return length >= 15 + 7;
}

static inline void copyWide(uint8_t *out, const uint8_t *from)
{
    memcpy(out, from, WIDE);
}

/* The same if `capacity` bytes from out on may be written, so that copying may overshoot. */
static inline void copyMatch(uint8_t *out, size_t offset, size_t length, size_t capacity)
{
    const uint8_t *from = out - offset;
    if (offset >= WIDE && length + WIDE <= capacity) {
        const uint8_t *end = out + length;
        do {
            copyWide(out, from);
            out += WIDE;
            from += WIDE;
        } while (out < end);
    } else if (offset >= 8 && length + 8 <= capacity) {
        const uint8_t *end = out + length;
        do {
            memcpy(out, from, 8);
            out += 8;
            from += 8;
        } while (out < end);
    } else {
        EtlCopyMatch(out, offset, length);
    }
}

/*
 * Copy a match as copyMatch does. There are 2 * WIDE bytes of space at least, so that short matches need no loop.
 */
static inline void copyShortMatch(uint8_t *out, size_t offset, size_t length, size_t capacity)
{
    if (offset >= WIDE && length <= 2 * WIDE) {
        copyWide(out, out - offset);
        copyWide(out + WIDE, out + WIDE - offset);
    } else {
        copyMatch(out, offset, length, capacity);
    }
}

/*
 * Decode while enough input and space are left that neither has to be checked. *flagsPtr: the remaining flags, followed by an
 * end mark. Returns the position in the output; the general loop continues there, and also meets what is malformed.
 */
static uint8_t *decodeRoomy(
        Decoder *d, const uint8_t *out, uint8_t *at, const uint8_t *end, uint64_t *flagsPtr)
{
    const uint8_t *in = d->in, *half = d->half;
    uint64_t flags = *flagsPtr;
    while (d->inEnd - in >= ROOMY && end - at >= ROOMY) {
        const uint8_t *before = in, *halfBefore = half;
        uint64_t flagsBefore = flags;
        size_t run = (size_t)__builtin_clzll(flags);
        flags = flags << run << 1;
        copyWide(at, in);
        if (run > WIDE) {
            copyWide(at + WIDE, in + WIDE);
        }
        in += run;
        if (flags == 0) { /* only the end mark is left */
            at += run;
            flags = (uint64_t)EtwLoad32(in) << FLAGS | 1ull << (FLAGS - 1);
            in += 4;
            continue;
        }
        size_t word = EtwLoad16(in), offset = (word >> LENGTH_BITS) + 1, length = word & 7;
        in += 2;
        if (length == 7) {
            bool fresh = half == NULL;
            unsigned nibble = (fresh ? *in : (unsigned)*half >> 4) & 15;
            half = fresh ? in : NULL;
            in += fresh;
            length += nibble;
            if (nibble == 15) {
                length += *in;
                if (*in++ == 255) { /* rare */
                    in = before;
                    half = halfBefore;
                    flags = flagsBefore;
                    break;
                }
            }
        }
        length += MATCH_MIN;
        if (offset > (size_t)(at + run - out) || length > (size_t)(end - at) - run) {
            in = before;
            half = halfBefore;
            flags = flagsBefore;
            break;
        }
        at += run;
        copyShortMatch(at, offset, length, (size_t)(end - at));
        at += length;
    }
    d->in = in;
    d->half = half;
    *flagsPtr = flags;
    return at;
}

size_t EtlXpressDecode(const uint8_t *in, size_t size, uint8_t *out, size_t capacity)
{
    Decoder d = {in, in + size, NULL};
    uint8_t *at = out, *end = out + capacity;
    uint64_t flags = 1ull << 63; /* the remaining flags, followed by an end mark */
    for (;;) {
        at = decodeRoomy(&d, out, at, end, &flags);
        size_t run = (size_t)__builtin_clzll(flags);
        size_t most = (size_t)(d.inEnd - d.in);
        most = most < (size_t)(end - at) ? most : (size_t)(end - at);
        flags = flags << run << 1;
        memcpy(at, d.in, run < most ? run : most);
        if (run > most) {
            return (size_t)(at + most - out);
        }
        at += run;
        d.in += run;
        if (flags == 0) { /* only the end mark is left */
            if (d.inEnd - d.in < 4 || at == end) {
                break;
            }
            flags = (uint64_t)EtwLoad32(d.in) << FLAGS | 1ull << (FLAGS - 1);
            d.in += 4;
            continue;
        }
        if (d.inEnd - d.in < 2 || at == end) {
            break;
        }
        size_t word = EtwLoad16(d.in), offset = (word >> LENGTH_BITS) + 1, length = word & 7;
        d.in += 2;
        if (length == 7 && !longLength(&d, &length)) {
            break;
        }
        length += MATCH_MIN;
        if (offset > (size_t)(at - out)) {
            break;
        }
        if (length > (size_t)(end - at)) {
            length = (size_t)(end - at);
        }
        copyMatch(at, offset, length, (size_t)(end - at));
        at += length;
    }
    return (size_t)(at - out);
}
