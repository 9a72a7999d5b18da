/*
 * win/os/win_counters.c --
 *
 *	base/os.h for Windows: counters of one thread. Windows counts cycles for each thread. The
 *	processor's other counters are available to kernel sessions only.
 */
#include "win/os/win_int.h"
#include "base/alloc.h"

struct OsCounters {
    uint64_t last;
};

const char *OsCounterName(int index)
{
    return index == 0 ? "cycles" : NULL;
}

static bool readCycles(uint64_t *cycles)
{
    ULONG64 now;
    bool got = QueryThreadCycleTime(GetCurrentThread(), &now);
    *cycles = got ? now : 0;
    return got;
}

EtwStatus OsCountersOpen(OsCounters **countersPtr, const int *indices, int count, EtwError *errPtr)
{
    uint64_t now;
    (void)indices;
    (void)count; /* there is only one counter */
    if (!readCycles(&now)) {
        return EtwFailOs(errPtr, ETW_E_UNSUPPORTED, (int)GetLastError(), "COUNTER", "cycles",
                "this machine has no counter for the cycles of threads");
    }
    *countersPtr = EtwAlloc(sizeof **countersPtr);
    (*countersPtr)->last = now;
    return ETW_OK;
}

void OsCountersTake(OsCounters *c, uint64_t *values)
{
    uint64_t now;
    values[0] = readCycles(&now) ? now - c->last : 0;
    c->last += values[0];
}

void OsCountersClose(OsCounters *c)
{
    EtwFree(c);
}
