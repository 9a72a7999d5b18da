/*
 * predicate/header_bounds.h --
 *
 *	Derives a filter on record headers from a predicate: see header_bounds.c.
 */
#ifndef ETW_PREDICATE_BOUNDS_H
#define ETW_PREDICATE_BOUNDS_H

#include "etl/read/reader.h"
#include "predicate/predicate.h"

typedef struct EtwBounds {
    EtlFilter filter;             /* its lists point into the texts */
    EtwText providers, ids, pids; /* arrays of EtwGuid, uint16_t, uint32_t */
} EtwBounds;

/* pred NULL: none. */
void EtwBoundsOf(EtwBounds *bounds, const EtwPredicate *pred);
/* True if the filter excludes any event. */
bool EtwBoundsAny(const EtwBounds *bounds);
void EtwBoundsFree(EtwBounds *bounds);

#endif
