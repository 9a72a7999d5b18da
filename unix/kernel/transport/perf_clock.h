/*
 * unix/kernel/transport/perf_clock.h --
 *
 *	Converts time stamps of perf's records to session ticks. tracefs stamps its records with the
 *	session's clock, so they need no conversion. event/clock_anchors.c converts ticks to
 *	nanoseconds.
 */
#ifndef ETW_PERF_CLOCK_H
#define ETW_PERF_CLOCK_H

#include "base/os.h"

/*
 * perf's times are CLOCK_MONOTONIC_RAW; sessions use ticks. Two instants on both clocks, before and
 * after the records that are read now; times between them are interpolated.
 */
typedef struct PerfClock {
    OsInstant from, to;
} PerfClock;

void PerfClockInit(PerfClock *clock);
/* Before records are read: all records in the rings are older than the new `to`. */
void PerfClockAdvance(PerfClock *clock);
/* Session ticks of a record's time. */
uint64_t PerfClockTicks(const PerfClock *clock, uint64_t time);

#endif
