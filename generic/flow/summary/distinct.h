/*
 * flow/summary/distinct.h --
 *
 *	Counts distinct values in fixed memory: exactly up to ETW_DISTINCT_EXACT, then as an estimate
 *	(HyperLogLog, 2048 registers: 2.3 % standard error). Values are passed as hashes, which need not be
 *	well mixed.
 */
#ifndef ETW_DISTINCT_H
#define ETW_DISTINCT_H

#include <stdint.h>

enum { ETW_DISTINCT_EXACT = 256 };

typedef struct EtwDistinct { /* zeroed: empty */
    uint64_t *exact;         /* open addressing, 0: free */
    uint32_t count, capacity;
    uint8_t *registers; /* NULL: still exact */
} EtwDistinct;

void EtwDistinctAdd(EtwDistinct *d, uint64_t hash);
/* Add all values of the other one. */
void EtwDistinctMerge(EtwDistinct *d, const EtwDistinct *other);
uint64_t EtwDistinctCount(const EtwDistinct *d);
void EtwDistinctFree(EtwDistinct *d);

#endif
