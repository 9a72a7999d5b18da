/*
 * event/clock_anchors.h --
 *
 *	Conversion of raw clock ticks to steady nanoseconds by anchors: pairs (ticks, steady ns)
 *	taken at the session's start, each second, and at its stop. Each anchor ends a line and begins
 *	the next where that one ends. The last two lines are kept: ticks back to the anchor before the last
 *	one are converted as they were before the last one came, so that time never steps back, also for
 *	who adds an anchor before it has converted what is older.
 */
#ifndef ETW_EVENT_ANCHORS_H
#define ETW_EVENT_ANCHORS_H

#include "base/os.h"

typedef struct EtwAnchors {
    uint64_t ticks0;
    int64_t steady0;
    uint64_t ticks1;
    int64_t steady1;
    uint64_t scale; /* ns per tick, 32.32 fixed point, of the line */
    uint64_t ticksBefore;
    int64_t steadyBefore;
    uint64_t scaleBefore; /* of the line that ends at ticks1 */
} EtwAnchors;

/* Start from one instant; the slope is calibrated over about a millisecond once per process. */
void EtwAnchorsInit(EtwAnchors *a, const OsInstant *start);
/* Start late: by the line through the start and now. */
void EtwAnchorsJoin(EtwAnchors *a, const OsInstant *start, const OsInstant *now);
/* Continue with a line from where the old one is at `now->ticks` towards the clocks' real relation.
 */
void EtwAnchorsAdd(EtwAnchors *a, const OsInstant *now);
int64_t EtwAnchorsSteady(const EtwAnchors *a, uint64_t ticks);

#endif
