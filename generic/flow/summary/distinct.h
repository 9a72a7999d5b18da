/*
 * flow/summary/distinct.h --
 *
 *	How many different values there were, in fixed memory: exact up to ETW_DISTINCT_EXACT, then an
 *	estimate (HyperLogLog, 2048 registers: 2.3 % standard error). Values come as hashes; they need
 *	not be well mixed.
 */
#ifndef ETW_DISTINCT_H
#define ETW_DISTINCT_H

#include <stdint.h>

enum { ETW_DISTINCT_EXACT = 256 };

typedef struct EtwDistinct { /* zeroed: empty */
    uint64_t *exact;         /* open addressing, 0: free */
    uint32_t count, room;
    uint8_t *registers; /* NULL: still exact */
} EtwDistinct;

void EtwDistinctAdd(EtwDistinct *d, uint64_t hash);
/* All values of the other one, too. */
void EtwDistinctMerge(EtwDistinct *d, const EtwDistinct *other);
uint64_t EtwDistinctCount(const EtwDistinct *d);
void EtwDistinctFree(EtwDistinct *d);

#endif
