/*
 * event/clock_anchors.h --
 *
 *	Conversion of clock ticks to steady nanoseconds by anchors: pairs (ticks, steady ns) taken at the
 *	session's start, each second, and at its stop. Between two anchors the conversion is linear; a line
 *	begins where the previous one ends. The last two lines are kept, so that a caller may add an anchor
 *	and then convert ticks that are older than it: their times do not change, and time never steps back.
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
    uint64_t scaleBefore; /* of the previous line, which ends at ticks1 */
} EtwAnchors;

/* Start from one instant; the slope is calibrated over about a millisecond once per process. */
void EtwAnchorsInit(EtwAnchors *a, const OsInstant *start);
/* Start later than the session, with the line through `start` and `now`. */
void EtwAnchorsJoin(EtwAnchors *a, const OsInstant *start, const OsInstant *now);
/*
 * Begin a new line at the old line's point at `now->ticks`, with a slope that approaches the
 * clocks' real relation.
 */
void EtwAnchorsAdd(EtwAnchors *a, const OsInstant *now);
int64_t EtwAnchorsSteady(const EtwAnchors *a, uint64_t ticks);

#endif
