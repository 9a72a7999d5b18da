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

typedef struct EtwTableNode { /* first in the owner's struct */
    struct EtwTableNode *next;
    uint64_t hash;
} EtwTableNode;

typedef struct EtwTable { /* zeroed: empty */
    EtwTableNode **slots;
    size_t mask; /* slots - 1 */
    size_t count;
} EtwTable;

static inline uint64_t EtwHashMix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9E3779B97F4A7C15ull;
    return h ^ h >> 32 ^
           h >> 48; /* so that values that differ only in high bits get different slots */
}

static inline uint64_t EtwHashGuid(const EtwGuid *guid)
{
    return EtwHashMix(EtwHashMix(0, EtwLoad64(guid->bytes)), EtwLoad64(guid->bytes + 8));
}

static inline uint64_t EtwHashBytes(uint64_t h, const uint8_t *p, size_t size)
{
    h = EtwHashMix(h, size);
    for (; size >= 8; p += 8, size -= 8) {
        h = EtwHashMix(h, EtwLoad64(p));
    }
    for (; size > 0; p++, size--) {
        h = EtwHashMix(h, *p);
    }
    return h;
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
