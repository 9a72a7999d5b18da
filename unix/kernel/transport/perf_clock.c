/*
 * unix/kernel/transport/perf_clock.c --
 *
 *	See perf_clock.h.
 */
#include "unix/kernel/transport/perf_clock.h"
#include "base/wide.h"

enum { MIN_INTERVAL = 1000000 }; /* ns: a shorter interval is too inexact for a slope */

void PerfClockInit(PerfClock *c)
{
    OsNow(&c->from);
    c->to = c->from;
}

void PerfClockAdvance(PerfClock *c)
{
    if (c->to.steady - c->from.steady >= MIN_INTERVAL) {
        c->from = c->to;
    }
    OsNow(&c->to);
}

uint64_t PerfClockTicks(const PerfClock *c, uint64_t time)
{
    uint64_t ticks = c->to.ticks - c->from.ticks, ns = (uint64_t)(c->to.steady - c->from.steady);
    int64_t since = (int64_t)time - c->from.steady;
    if (osClock == ETW_CLOCK_MONO_RAW || ns == 0) {
        return time;
    }
    return c->from.ticks + (uint64_t)EtwMulDivSigned(since, ticks, ns);
}
