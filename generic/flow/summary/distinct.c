/*
 * flow/summary/distinct.c --
 *
 *	Counts distinct values, exactly while there are few, then by HyperLogLog, described by
 *	Flajolet and others, "HyperLogLog: the analysis of a near-optimal cardinality estimation
 *	algorithm", 2007.
 */
#include "flow/summary/distinct.h"
#include "base/alloc.h"
#include <stdbool.h>

enum { REGISTER_BITS = 11, REGISTERS = 1 << REGISTER_BITS, FIRST_ROOM = 8 };

/* Every bit of the result depends on every bit of the hash; 0 only for 0. */
static uint64_t mix(uint64_t h)
{
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCDull;
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53ull;
    return h ^ h >> 33;
}

/* ---- Exact ----------------------------------------------------------------------------------- */

/* False: it is already contained. There must be a free slot. */
static bool put(uint64_t *slots, uint32_t capacity, uint64_t hash)
{
    uint32_t at = (uint32_t)hash & (capacity - 1);
    while (slots[at] != 0 && slots[at] != hash) {
        at = (at + 1) & (capacity - 1);
    }
    bool isNew = slots[at] == 0;
    slots[at] = hash;
    return isNew;
}

static void grow(EtwDistinct *d)
{
    uint32_t capacity = d->capacity ? 2 * d->capacity : FIRST_ROOM;
    uint64_t *slots = EtwAlloc(capacity * sizeof *slots);
    for (uint32_t i = 0; i < d->capacity; i++) {
        if (d->exact[i] != 0) {
            put(slots, capacity, d->exact[i]);
        }
    }
    EtwFree(d->exact);
    d->exact = slots;
    d->capacity = capacity;
}

/* ---- Estimated ------------------------------------------------------------------------------- */

static void note(uint8_t *registers, uint64_t hash)
{
    uint64_t rest = hash << REGISTER_BITS | 1ull << (REGISTER_BITS - 1); /* never 0 */
    uint8_t rank = (uint8_t)(__builtin_clzll(rest) + 1);
    uint8_t *r = &registers[hash >> (64 - REGISTER_BITS)];
    *r = rank > *r ? rank : *r;
}

static void estimateFromNow(EtwDistinct *d)
{
    d->registers = EtwAlloc(REGISTERS);
    for (uint32_t i = 0; i < d->capacity; i++) {
        if (d->exact[i] != 0) {
            note(d->registers, d->exact[i]);
        }
    }
    EtwFree(d->exact);
    d->exact = NULL;
    d->capacity = 0;
}

/*
 * For x >= 1, without the math library: x = m * 2^k with m below 2, then the series of 2 artanh((m
 * - 1) / (m + 1)).
 */
static double naturalLog(double x)
{
    double sum = 0, power;
    int k = 0;
    for (; x >= 2; x /= 2) {
        k++;
    }
    double t = (x - 1) / (x + 1);
    power = t;
    for (int i = 1; i < 30; i += 2, power *= t * t) {
        sum += power / i;
    }
    return 2 * sum + k * 0.69314718055994531;
}

static uint64_t estimate(const uint8_t *registers)
{
    double sum = 0;
    int zeros = 0;
    for (int i = 0; i < REGISTERS; i++) {
        sum += 1.0 / (double)(1ull << registers[i]);
        zeros += registers[i] == 0;
    }
    double m = REGISTERS;
    double guess = 0.7213 / (1 + 1.079 / m) * m * m / sum;
    if (guess <= 2.5 * m && zeros > 0) {
        guess = m * naturalLog(m / zeros);
    }
    return (uint64_t)(guess + 0.5);
}

/* ---- Both methods ---------------------------------------------------------------------------- */

/* Adds the hash of a value: mixed, not 0. */
static void add(EtwDistinct *d, uint64_t hash)
{
    if (d->registers != NULL) {
        note(d->registers, hash);
        return;
    }
    if (2 * d->count >= d->capacity) {
        grow(d);
    }
    d->count += put(d->exact, d->capacity, hash);
    if (d->count > ETW_DISTINCT_EXACT) {
        estimateFromNow(d);
    }
}

void EtwDistinctAdd(EtwDistinct *d, uint64_t hash)
{
    hash = mix(hash);
    add(d, hash + (hash == 0));
}

void EtwDistinctMerge(EtwDistinct *d, const EtwDistinct *other)
{
    for (uint32_t i = 0; i < other->capacity; i++) {
        if (other->exact[i] != 0) {
            add(d, other->exact[i]);
        }
    }
    if (other->registers != NULL && d->registers == NULL) {
        estimateFromNow(d);
    }
    for (int i = 0; other->registers != NULL && i < REGISTERS; i++) {
        uint8_t rank = other->registers[i];
        d->registers[i] = rank > d->registers[i] ? rank : d->registers[i];
    }
}

uint64_t EtwDistinctCount(const EtwDistinct *d)
{
    return d->registers != NULL ? estimate(d->registers) : d->count;
}

void EtwDistinctFree(EtwDistinct *d)
{
    EtwFree(d->exact);
    EtwFree(d->registers);
}
