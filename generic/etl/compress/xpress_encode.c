/*
 * etl/compress/xpress_encode.c --
 *
 *	The encoder for the format that etl/compress/xpress.c decodes: words of 32 flags, most significant first, each
 *	followed by the literals and matches that they describe.
 *
 *	The search is made for the records of a trace. Most of a record repeats an earlier record of its kind, and the same
 *	fields differ each time, so that matches begin at the same fields. Therefore only positions where a search took place
 *	are entered into the tables, not all the positions inside a match. There are three tables, for the hashes of the next
 *	3, 8 and 16 bytes, which each keep the last few positions. The long hashes find, without many attempts, a record
 *	whose following fields have the same values.
 */
#include "etl/compress/compress.h"

enum {
    WINDOW = 8192, /* 13 bits of offset */
    HASH_BITS = 12,
    WAYS = 3,      /* positions that a table keeps for a hash */
    WAYS_LONG = 2, /* the same for the longest hash */
    SHORT_BYTES = 3,
    MIDDLE_BYTES = 8,
    LONG_BYTES = 16,
    MATCH_MIN = 3,
    LONG_ENOUGH = 300,  /* length from which no longer match is searched one byte later */
    LENGTH_SHORT = 7,   /* maximum of 3 bits, meaning that the length continues */
    LENGTH_HALF = 15,   /* the same for half a byte */
    LENGTH_BYTE = 0xFF, /* the same for a byte */
    ITEM_MAX = 16,      /* maximum size of a match and its flags */
    /*
     * Readers limit what they decode in proportion to the file's size. A result below 1/RATIO_MAX is encoded again with
     * matches of at most LENGTH_CAPPED bytes.
     */
    RATIO_MAX = 24,
    LENGTH_CAPPED = 80
};

/* The last positions with a hash, + 1, the latest first; 0: none. */
typedef struct Bucket {
    uint32_t at[WAYS];
} Bucket;

struct EtlXpress {
    Bucket shorts[1 << HASH_BITS], middles[1 << HASH_BITS], longs[1 << HASH_BITS];
};

typedef struct Match {
    size_t length, offset; /* offset 0: none was found */
} Match;

typedef struct Encoder {
    EtlXpress *x;
    const uint8_t *in;
    size_t size, searched;   /* from `searched` on, too few bytes follow for a search */
    size_t longest;          /* maximum length of a match */
    uint8_t *at;             /* in the output */
    uint8_t *flagsAt, *half; /* half: the byte whose upper half is unused, or NULL */
    uint32_t flags;
    int count;
} Encoder;

/* ---- Search ---------------------------------------------------------------------------------- */

static inline uint32_t hash(uint64_t bytes)
{
    return (uint32_t)(bytes * 0x9E3779B97F4A7C15u >> (64 - HASH_BITS));
}

/* The length of the common prefix, at most `capacity`. */
static inline size_t alike(const uint8_t *a, const uint8_t *b, size_t capacity)
{
    size_t n = 0;
    while (n + 8 <= capacity) {
        uint64_t differ = EtwLoad64(a + n) ^ EtwLoad64(b + n);
        if (differ != 0) {
            return n + (size_t)(__builtin_ctzll(differ) >> 3);
        }
        n += 8;
    }
    while (n < capacity && a[n] == b[n]) {
        n++;
    }
    return n;
}

/* Replace *best by a longer match at one of the bucket's first `ways` positions. */
static inline void tryBucket(
        const Encoder *e, const Bucket *bucket, int ways, size_t at, Match *best)
{
    for (int i = 0; i < ways; i++) {
        size_t place = (size_t)bucket->at[i] - 1, capacity = e->size - at;
        if (bucket->at[i] == 0 || at - place > WINDOW) {
            return;
        }
        if (best->length < capacity && e->in[place + best->length] == e->in[at + best->length]) {
            size_t length = alike(e->in + place, e->in + at, capacity);
            if (length > best->length) {
                *best = (Match){length, at - place};
            }
        }
    }
}

static inline void enter(Bucket *bucket, size_t at)
{
    for (int i = WAYS - 1; i > 0; i--) {
        bucket->at[i] = bucket->at[i - 1];
    }
    bucket->at[0] = (uint32_t)at + 1;
}

/* The longest match at `at` that is longer than `least`. Enters the position into the tables. */
static inline Match search(const Encoder *e, size_t at, size_t least)
{
    Match best = {least, 0};
    if (at >= e->searched) {
        return best;
    }
    uint64_t low = EtwLoad64(e->in + at), high = EtwLoad64(e->in + at + MIDDLE_BYTES);
    Bucket *shorts = &e->x->shorts[hash(low << (64 - 8 * SHORT_BYTES))];
    Bucket *middles = &e->x->middles[hash(low)];
    Bucket *longs = &e->x->longs[hash((low * 0x9E3779B97F4A7C15u ^ high) * 0xC2B2AE3D27D4EB4Fu)];
    tryBucket(e, longs, WAYS_LONG, at, &best);
    if (best.length < LONG_BYTES) {
        tryBucket(e, middles, WAYS, at, &best);
    }
    if (best.length < MIDDLE_BYTES) {
        tryBucket(e, shorts, WAYS, at, &best);
    }
    enter(longs, at);
    enter(middles, at);
    enter(shorts, at);
    return best;
}

/* ---- Output ---------------------------------------------------------------------------------- */

static inline void putFlag(Encoder *e, uint32_t flag)
{
    e->flags = e->flags << 1 | flag;
    if (++e->count == 32) {
        EtwStore32(e->flagsAt, e->flags);
        e->flagsAt = e->at;
        e->at += 4;
        e->count = 0;
    }
}

/* Store the part of a length that exceeds a match's 3 bits. */
static void putLength(Encoder *e, size_t length)
{
    size_t rest = length - LENGTH_SHORT;
    uint8_t nibble = (uint8_t)(rest < LENGTH_HALF ? rest : LENGTH_HALF);
    if (e->half != NULL) {
        *e->half |= (uint8_t)(nibble << 4);
        e->half = NULL;
    } else {
        e->half = e->at;
        *e->at++ = nibble;
    }
    if (rest < LENGTH_HALF) {
        return;
    }
    rest -= LENGTH_HALF;
    *e->at++ = (uint8_t)(rest < LENGTH_BYTE ? rest : LENGTH_BYTE);
    if (rest < LENGTH_BYTE) {
        return;
    }
    bool wide = length > UINT16_MAX;
    EtwStore16(e->at, wide ? 0 : (uint16_t)length);
    e->at += 2;
    if (wide) {
        EtwStore32(e->at, (uint32_t)length);
        e->at += 4;
    }
}

static void putMatch(Encoder *e, const Match *match)
{
    size_t length = match->length - MATCH_MIN;
    size_t low = length < LENGTH_SHORT ? length : LENGTH_SHORT;
    EtwStore16(e->at, (uint16_t)((match->offset - 1) << 3 | low));
    e->at += 2;
    if (low == LENGTH_SHORT) {
        putLength(e, length);
    }
    putFlag(e, 1);
}

static void putLiteral(Encoder *e, uint8_t byte)
{
    *e->at++ = byte;
    putFlag(e, 0);
}

/* Unused flags say "match", followed by the end of the data. */
static void finish(Encoder *e)
{
    int left = 32 - e->count;
    uint64_t flags = ((uint64_t)e->flags << left) | ((1ull << left) - 1);
    EtwStore32(e->flagsAt, (uint32_t)flags);
}

/* ---- Encoding -------------------------------------------------------------------------------- */

static void encode(Encoder *e, const uint8_t *end)
{
    size_t at = 0;
    while (at < e->size && e->at < end) {
        Match match = search(e, at, MATCH_MIN - 1);
        if (match.offset == 0) {
            putLiteral(e, e->in[at++]);
            continue;
        }
        while (match.length < LONG_ENOUGH && e->at < end) {
            Match later = search(e, at + 1, match.length);
            if (later.offset == 0) {
                break;
            }
            putLiteral(e, e->in[at++]);
            match = later;
        }
        match.length = match.length < e->longest ? match.length : e->longest;
        putMatch(e, &match);
        at += match.length;
    }
}

/* The size of the result, or `size` if it would not be smaller. */
static size_t encodeTo(EtlXpress *x, const uint8_t *in, size_t size, size_t longest, uint8_t *start)
{
    Encoder e = {.x = x,
            .in = in,
            .size = size,
            .searched = size > LONG_BYTES ? size - LONG_BYTES : 0,
            .longest = longest,
            .at = start + 4,
            .flagsAt = start};
    memset(x, 0, sizeof *x);
    encode(&e, start + size);
    if ((size_t)(e.at - start) >= size) {
        return size;
    }
    finish(&e);
    return (size_t)(e.at - start);
}

bool EtlXpressEncode(EtlXpress *x, const uint8_t *in, size_t size, EtwText *out)
{
    out->size = 0;
    EtwTextReserve(out, size + 2 * (size_t)ITEM_MAX);
    out->size = encodeTo(x, in, size, SIZE_MAX, (uint8_t *)out->data);
    if (out->size < size / RATIO_MAX) {
        out->size = encodeTo(x, in, size, LENGTH_CAPPED, (uint8_t *)out->data);
    }
    return out->size < size;
}

EtlXpress *EtlXpressNew(void)
{
    return EtwAlloc(sizeof(EtlXpress));
}

void EtlXpressFree(EtlXpress *x)
{
    EtwFree(x);
}
