/*
 * base/hash_table.h --
 *
 *	A small hash table with chains, which doubles when it is full. The caller allocates the nodes,
 *	walks a chain and compares keys.
 */
#ifndef ETW_HASH_TABLE_H
#define ETW_HASH_TABLE_H

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/guid.h"
#include "base/os.h"

typedef struct EtwTableNode { /* first in the owner's struct */
    struct EtwTableNode *next;
    uint64_t hash;
} EtwTableNode;

typedef struct EtwTable { /* zeroed: empty */
    EtwTableNode **slots;
    size_t mask; /* slots - 1 */
    size_t count;
} EtwTable;

/*
 * Hashes are SipHash-1-3 with a random key of the process: the author of a trace cannot choose names that
 * collide. They differ from process to process, so no output and no order of an output may depend on them.
 * The hash of a sequence (EtwSip) is for keys that are not in one piece.
 */
typedef struct EtwSip {
    uint64_t a, b, c, d;
} EtwSip;

static inline uint64_t EtwRotate(uint64_t v, int bits)
{
    return v << bits | v >> (64 - bits);
}

static inline void EtwSipRound(EtwSip *s)
{
    s->a += s->b;
    s->c += s->d;
    s->b = EtwRotate(s->b, 13) ^ s->a;
    s->d = EtwRotate(s->d, 16) ^ s->c;
    s->a = EtwRotate(s->a, 32) + s->d;
    s->c += s->b;
    s->d = EtwRotate(s->d, 21) ^ s->a;
    s->b = EtwRotate(s->b, 17) ^ s->c;
    s->c = EtwRotate(s->c, 32);
}

static inline EtwSip EtwSipBegin(const uint64_t secret[2])
{
    return (EtwSip){secret[0] ^ 0x736f6d6570736575u, secret[1] ^ 0x646f72616e646f6du,
            secret[0] ^ 0x6c7967656e657261u, secret[1] ^ 0x7465646279746573u};
}

static inline void EtwSipAdd(EtwSip *s, uint64_t word)
{
    s->d ^= word;
    EtwSipRound(s);
    s->a ^= word;
}

static inline uint64_t EtwSipEnd(EtwSip *s)
{
    s->c ^= 0xFF;
    EtwSipRound(s);
    EtwSipRound(s);
    EtwSipRound(s);
    return s->a ^ s->b ^ s->c ^ s->d;
}

static inline void EtwSipAddBytes(EtwSip *s, const uint8_t *p, size_t size)
{
    uint64_t last = (uint64_t)size << 56;
    for (; size >= 8; p += 8, size -= 8) {
        EtwSipAdd(s, EtwLoad64(p));
    }
    for (size_t i = 0; i < size; i++) {
        last |= (uint64_t)p[i] << 8 * i;
    }
    EtwSipAdd(s, last);
}

static inline uint64_t EtwHashNumber(uint64_t v)
{
    EtwSip s = EtwSipBegin(osSecret);
    EtwSipAdd(&s, v);
    return EtwSipEnd(&s);
}

/* Of two numbers; either may be a hash. */
static inline uint64_t EtwHashMix(uint64_t h, uint64_t v)
{
    EtwSip s = EtwSipBegin(osSecret);
    EtwSipAdd(&s, h);
    EtwSipAdd(&s, v);
    return EtwSipEnd(&s);
}

static inline uint64_t EtwHashGuid(const EtwGuid *guid)
{
    return EtwHashMix(EtwLoad64(guid->bytes), EtwLoad64(guid->bytes + 8));
}

/* Of a number and bytes. */
static inline uint64_t EtwHashBytes(uint64_t h, const uint8_t *p, size_t size)
{
    EtwSip s = EtwSipBegin(osSecret);
    EtwSipAdd(&s, h);
    EtwSipAddBytes(&s, p, size);
    return EtwSipEnd(&s);
}

/* The same in each process: for results that are computed from hashes, not for tables. */
static inline uint64_t EtwHashStable(const uint8_t *p, size_t size)
{
    EtwSip s = EtwSipBegin((const uint64_t[]){0, 0});
    EtwSipAddBytes(&s, p, size);
    return EtwSipEnd(&s);
}

/* Of an address in this process, which no trace can choose. */
static inline uint64_t EtwHashPointer(const void *pointer)
{
    uint64_t h = (uint64_t)(uintptr_t)pointer * 0x9E3779B97F4A7C15u;
    return h ^ h >> 32 ^ h >> 48; /* addresses that differ only in high bits get different slots */
}

/* The chain of nodes with this hash. */
static inline EtwTableNode *EtwTableFirst(const EtwTable *t, uint64_t hash)
{
    return t->slots ? t->slots[hash & t->mask] : NULL;
}

static inline void EtwTableGrow(EtwTable *t)
{
    size_t slots = t->slots ? (t->mask + 1) * 2 : 64;
    EtwTableNode **grown = (EtwTableNode **)EtwAlloc(slots * sizeof *grown);
    for (size_t i = 0; t->slots && i <= t->mask; i++) {
        for (EtwTableNode *n = t->slots[i], *next; n != NULL; n = next) {
            next = n->next;
            n->next = grown[n->hash & (slots - 1)];
            grown[n->hash & (slots - 1)] = n;
        }
    }
    EtwFree(t->slots);
    t->slots = grown;
    t->mask = slots - 1;
}

static inline void EtwTableAdd(EtwTable *t, EtwTableNode *node, uint64_t hash)
{
    if (t->slots == NULL || t->count > t->mask) {
        EtwTableGrow(t);
    }
    node->hash = hash;
    node->next = t->slots[hash & t->mask];
    t->slots[hash & t->mask] = node;
    t->count++;
}

/* Remove a node that is in the table. */
static inline void EtwTableRemove(EtwTable *t, EtwTableNode *node)
{
    EtwTableNode **at = &t->slots[node->hash & t->mask];
    while (*at != node) {
        at = &(*at)->next;
    }
    *at = node->next;
    t->count--;
}

/* Call visit for each node, in undefined order. It may free the node. */
static inline void EtwTableVisit(
        const EtwTable *t, void (*visit)(void *ctx, EtwTableNode *node), void *ctx)
{
    for (size_t i = 0; t->slots && i <= t->mask; i++) {
        for (EtwTableNode *n = t->slots[i], *next; n != NULL; n = next) {
            next = n->next;
            visit(ctx, n);
        }
    }
}

static inline void EtwTableFree(EtwTable *t, void (*freeNode)(void *ctx, EtwTableNode *node))
{
    EtwTableVisit(t, freeNode, NULL);
    EtwFree(t->slots);
    t->slots = NULL;
    t->mask = t->count = 0;
}

#endif
