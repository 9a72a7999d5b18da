/*
 * etl/compress/xpress_huffman.c --
 *
 *	LZ77+Huffman of [MS-XCA] 2.2: blocks of 64 KiB output, each with a table of 512 code lengths
 *	(4 bits each, canonical codes of at most 15 bits) and a stream of 16-bit words, read from
 *	their highest bit. Bytes of long lengths are stored between the words. Files in this format
 *	are rare, so the decoder follows the specification without optimization.
 */
#include "base/alloc.h"
#include "base/bytes.h"
#include "etl/compress/decompress.h"

enum {
    SYMBOLS = 512,
    TABLE_BYTES = SYMBOLS / 2,
    CODE_BITS = 15,
    BLOCK = 65536,
    MATCH_MIN = 3,
    SYMBOL_BITS = 9 /* in an entry the code length is above these bits */
};

typedef struct Bits {
    EtwBytes in;
    uint32_t next; /* the next bit is the highest one */
    int spare;     /* number of bits in it beyond 16 */
} Bits;

/* False: the lengths are not a complete code. */
static bool buildTable(const uint8_t *lengths, uint16_t *table)
{
    size_t entry = 0;
    for (unsigned bits = 1; bits <= CODE_BITS; bits++) {
        size_t count = (size_t)1 << (CODE_BITS - bits);
        for (unsigned symbol = 0; symbol < SYMBOLS; symbol++) {
            unsigned length = symbol & 1 ? lengths[symbol / 2] >> 4 : lengths[symbol / 2] & 15;
            if (length != bits) {
                continue;
            }
            if (entry + count > (size_t)1 << CODE_BITS) {
                return false;
            }
            for (size_t i = 0; i < count; i++) {
                table[entry++] = (uint16_t)(bits << SYMBOL_BITS | symbol);
            }
        }
    }
    return entry == (size_t)1 << CODE_BITS;
}

/* Words beyond the end count as zeros, because the last codes of a stream end before them. */
static void drop(Bits *b, int count)
{
    b->next <<= count;
    b->spare -= count;
    if (b->spare < 0) {
        b->next |= (uint32_t)EtwTake16(&b->in) << -b->spare;
        b->spare += 16;
    }
}

static bool longLength(Bits *b, size_t *lengthPtr)
{
    size_t length = EtwTake8(&b->in);
    if (length < 255) {
        *lengthPtr = length + 15;
        return !b->in.failed;
    }
    length = EtwTake16(&b->in);
    if (length == 0) {
        length = EtwTake32(&b->in);
    }
    *lengthPtr = length;
    return !b->in.failed && length >= 15;
}

/* Decode a match after its symbol. False: malformed. */
static bool match(Bits *b, unsigned symbol, const uint8_t *out, uint8_t **atPtr, size_t capacity)
{
    size_t length = symbol & 15;
    int offsetBits = (int)(symbol >> 4 & 15);
    if (length == 15 && !longLength(b, &length)) {
        return false;
    }
    size_t offset = ((size_t)1 << offsetBits) + ((uint64_t)b->next >> (32 - offsetBits));
    drop(b, offsetBits);
    length += MATCH_MIN;
    if (offset > (size_t)(*atPtr - out)) {
        return false;
    }
    length = length < capacity ? length : capacity;
    EtlCopyMatch(*atPtr, offset, length);
    *atPtr += length;
    return true;
}

/* Decode a block. *badPtr: no block can follow. */
static uint8_t *block(
        Bits *b, const uint16_t *table, const uint8_t *out, uint8_t *at, uint8_t *end, bool *badPtr)
{
    const uint8_t *blockEnd = end - at < BLOCK ? end : at + BLOCK;
    b->next = (uint32_t)EtwTake16(&b->in) << 16;
    b->next |= EtwTake16(&b->in);
    b->spare = 16;
    while (at < blockEnd && !b->in.failed) {
        unsigned entry = table[b->next >> (32 - CODE_BITS)];
        unsigned symbol = entry & (SYMBOLS - 1);
        drop(b, (int)(entry >> SYMBOL_BITS));
        if (symbol < 256) {
            *at++ = (uint8_t)symbol;
        } else if (!match(b, symbol - 256, out, &at, (size_t)(end - at))) {
            *badPtr = true;
            break;
        }
    }
    return at;
}

size_t EtlHuffmanDecode(const uint8_t *in, size_t size, uint8_t *out, size_t capacity)
{
    Bits b = {.in = EtwBytesOf(in, size)};
    uint8_t *at = out, *end = out + capacity;
    uint16_t *table = EtwAlloc(sizeof *table << CODE_BITS);
    bool bad = false;
    while (at < end && !bad && !b.in.failed) {
        const uint8_t *lengths = EtwTake(&b.in, TABLE_BYTES);
        if (lengths == NULL || !buildTable(lengths, table)) {
            break;
        }
        at = block(&b, table, out, at, end, &bad);
    }
    EtwFree(table);
    return (size_t)(at - out);
}
