/*
 * etl/compress/xpress_encode.c --
 *
 *	The encoder for the format that etl/compress/xpress.c decodes: words of 32 flags, most significant first, each
 *	followed by the literals and matches that they describe. Matches are searched greedily among the last few positions
 *	in the window whose first three bytes have the same hash; a longer match that begins one byte later is preferred.
 */
#include "etl/compress/compress.h"

enum {
    WINDOW = 8192, /* 13 bits of offset */
    HASH_BITS = 13,
    MATCH_MIN = 3,
    TRIES = 12,         /* positions examined for a match */
    LONG_ENOUGH = 48,   /* length at which the search stops */
    LENGTH_SHORT = 7,   /* maximum of 3 bits, meaning that the length continues */
    LENGTH_HALF = 15,   /* the same for half a byte */
    LENGTH_BYTE = 0xFF, /* the same for a byte */
    ITEM_MAX = 16       /* maximum size of a match and its flags */
};

struct EtlXpress {
    uint32_t head[1 << HASH_BITS]; /* last position with a hash, + 1; 0: none */
    uint32_t before[WINDOW];       /* previous position with the same hash, + 1 */
};

typedef struct Match {
    size_t length, offset;
} Match;

typedef struct Encoder {
    EtlXpress *x;
    const uint8_t *in;
    size_t size, entered;    /* positions before `entered` are in the tables */
    uint8_t *at;             /* in the output */
    uint8_t *flagsAt, *half; /* half: the byte whose upper half is unused, or NULL */
    uint32_t flags;
    int count;
} Encoder;

/* ---- Search ---------------------------------------------------------------------------------- */

static inline uint32_t hashAt(const uint8_t *p)
{
    uint32_t three = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;
    return three * 0x9E3779B1u >> (32 - HASH_BITS);
}

/* Enter the positions before `until` into the tables. */
static void enter(Encoder *e, size_t until)
{
    size_t last = e->size >= MATCH_MIN ? e->size - MATCH_MIN + 1 : 0;
    until = until < last ? until : last;
    for (; e->entered < until; e->entered++) {
        uint32_t *head = &e->x->head[hashAt(e->in + e->entered)];
        e->x->before[e->entered % WINDOW] = *head;
        *head = (uint32_t)e->entered + 1;
    }
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

/* Find the longest match that is longer than `least`; otherwise *best is unchanged. */
static void search(Encoder *e, size_t at, size_t least, Match *best)
{
    size_t capacity = e->size - at;
    if (capacity <= least) {
        return;
    }
    enter(e, at);
    uint32_t next = e->x->head[hashAt(e->in + at)];
    for (int tries = TRIES; next != 0 && tries > 0; tries--) {
        size_t place = next - 1;
        if (at - place > WINDOW) {
            break;
        }
        if (e->in[place + least] == e->in[at + least]) {
            size_t length = alike(e->in + place, e->in + at, capacity);
            if (length > least) {
                *best = (Match){length, at - place};
                least = length;
                if (length >= LONG_ENOUGH || length == capacity) {
                    break;
                }
            }
        }
        next = e->x->before[place % WINDOW];
        if (next > place) { /* overwritten: beyond the window */
            break;
        }
    }
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

/* The match at `at`; none if a longer match begins at the next byte. */
static Match matchAt(Encoder *e, size_t at)
{
    Match match = {0, 0}, later = {0, 0};
    search(e, at, MATCH_MIN - 1, &match);
    if (match.length != 0 && match.length < LONG_ENOUGH) {
        search(e, at + 1, match.length, &later);
    }
    return later.length != 0 ? (Match){0, 0} : match;
}

static void encode(Encoder *e, const uint8_t *end)
{
    size_t at = 0;
    while (at < e->size && e->at < end) {
        Match match = matchAt(e, at);
        if (match.length != 0) {
            putMatch(e, &match);
            at += match.length;
        } else {
            putLiteral(e, e->in[at++]);
        }
    }
}

bool EtlXpressEncode(EtlXpress *x, const uint8_t *in, size_t size, EtwText *out)
{
    out->size = 0;
    EtwTextReserve(out, size + 2 * (size_t)ITEM_MAX);
    memset(x->head, 0, sizeof x->head);
    uint8_t *start = (uint8_t *)out->data;
    Encoder e = {.x = x, .in = in, .size = size, .flagsAt = start, .at = start + 4};
    encode(&e, start + size);
    if ((size_t)(e.at - start) >= size) {
        return false;
    }
    finish(&e);
    out->size = (size_t)(e.at - start);
    return true;
}

EtlXpress *EtlXpressNew(void)
{
    return EtwAlloc(sizeof(EtlXpress));
}

void EtlXpressFree(EtlXpress *x)
{
    EtwFree(x);
}
