/*
 * tests/win/sim/sim_info.c --
 *
 *	TraceSetInformation and TraceQueryInformation: kernel group masks, stack walks of kernel
 *	events, counters of the processor, sampling intervals, the number of sessions.
 */
#include "tests/win/sim/sim.h"
#include "base/bytes.h"
#include "base/text.h"

static TRACE_PROFILE_INTERVAL profile = {0, 10000};

static ULONG Give(const void *data, ULONG size, void *out, ULONG capacity, PULONG returned)
{
    if (returned != NULL) {
        *returned = size;
    }
    if (out == NULL || capacity < size) {
        return ERROR_BAD_LENGTH;
    }
    memcpy(out, data, size);
    return ERROR_SUCCESS;
}

static ULONG SetStacks(SimSession *s, const void *data, ULONG size)
{
    ULONG count = size / sizeof(CLASSIC_EVENT_ID);
    if (!s->system) {
        return ERROR_INVALID_PARAMETER;
    }
    if (size % sizeof(CLASSIC_EVENT_ID) != 0 ||
            count > sizeof s->stackEvents / sizeof *s->stackEvents) {
        return ERROR_BAD_LENGTH;
    }
    memcpy(s->stackEvents, data, size);
    s->stackEventCount = count;
    return ERROR_SUCCESS;
}

/* The counters of this machine: PROFILE_SOURCE_INFO, each padded to 8 bytes as Windows' are. */
static ULONG GiveSources(void *out, ULONG capacity, PULONG returned)
{
    static const struct {
        ULONG source;
        WCHAR name[24];
    } sources[] = {{0, L"Timer"}, {2, L"TotalIssues"}, {6, L"BranchInstructions"},
            {10, L"CacheMisses"}, {11, L"BranchMispredictions"}, {19, L"TotalCycles"}};
    enum { COUNT = sizeof sources / sizeof *sources };
    EtwText text = {0};
    for (int i = 0; i < COUNT; i++) {
        size_t name = (wcslen(sources[i].name) + 1) * sizeof(WCHAR);
        size_t size = EtwAlign8(offsetof(AbiProfileSource, Description) + name);
        static const uint8_t zeros[128];
        AbiProfileSource head = {.NextEntryOffset = i + 1 < COUNT ? (ULONG)size : 0,
                .Source = sources[i].source,
                .MinInterval = 4096,
                .MaxInterval = 0x7fffffff};
        EtwTextAdd(&text, &head, offsetof(AbiProfileSource, Description));
        EtwTextAdd(&text, sources[i].name, name);
        EtwTextAdd(&text, zeros, size - name - offsetof(AbiProfileSource, Description));
    }
    ULONG error = Give(text.data, (ULONG)text.size, out, capacity, returned);
    EtwTextFree(&text);
    return error;
}

/*
 * TracePmcCounterListInfo: one session at a time has counters ("ERROR_BUSY"); the list comes before
 * that of the events.
 */
static ULONG SetCounters(SimSession *s, const void *data, ULONG size)
{
    ULONG count = size / sizeof(ULONG);
    if (!s->system) {
        return ERROR_INVALID_PARAMETER;
    }
    if (size % sizeof(ULONG) != 0 || count == 0 || count > SIM_COUNTERS) {
        return ERROR_BAD_LENGTH;
    }
    if (!SimMayProfile()) {
        return ERROR_PRIVILEGE_NOT_HELD;
    }
    for (int id = 1; id <= SIM_SESSIONS; id++) {
        if (simSessions[id] != NULL && simSessions[id] != s && simSessions[id]->counterCount != 0) {
            return ERROR_BUSY;
        }
    }
    memcpy(s->counters, data, size);
    s->counterCount = count;
    return ERROR_SUCCESS;
}

static ULONG SetCountedEvents(SimSession *s, const void *data, ULONG size)
{
    ULONG count = size / sizeof(CLASSIC_EVENT_ID);
    if (!s->system || s->counterCount == 0) {
        return ERROR_INVALID_PARAMETER;
    }
    if (size % sizeof(CLASSIC_EVENT_ID) != 0 || count > SIM_COUNTED_EVENTS) {
        return ERROR_BAD_LENGTH;
    }
    memcpy(s->countedEvents, data, size);
    s->countedEventCount = count;
    return ERROR_SUCCESS;
}

/* Up to eight masks of kernel groups; the first is EVENT_TRACE_FLAG_*. */
static ULONG SetMasks(SimSession *s, const void *data, ULONG size, ULONG *addedPtr)
{
    if (!s->system) {
        return ERROR_INVALID_PARAMETER;
    }
    if (size == 0 || size > sizeof s->groupMasks || size % sizeof(ULONG) != 0) {
        return ERROR_BAD_LENGTH;
    }
    if (*(const ULONG *)data & EVENT_TRACE_FLAG_PROFILE && !SimMayProfile()) {
        return ERROR_PRIVILEGE_NOT_HELD;
    }
    memset(s->groupMasks, 0, sizeof s->groupMasks);
    memcpy(s->groupMasks, data, size);
    *addedPtr = s->groupMasks[0] & ~s->enableFlags;
    s->enableFlags = s->groupMasks[0];
    return ERROR_SUCCESS;
}

ULONG WINAPI TraceSetInformation(TRACEHANDLE handle, TRACE_INFO_CLASS class, PVOID data, ULONG size)
{
    ULONG error = ERROR_NOT_SUPPORTED, added = 0;
    SimInit();
    if (data == NULL && size != 0) {
        return ERROR_INVALID_PARAMETER;
    }
    AcquireSRWLockExclusive(&simLock);
    SimSession *s = SimSessionFind(handle, NULL);
    if (class == TraceSampledProfileIntervalInfo) {
        error = size != sizeof profile ? ERROR_BAD_LENGTH
                : !SimMayProfile()     ? ERROR_PRIVILEGE_NOT_HELD
                                       : ERROR_SUCCESS;
        if (error == ERROR_SUCCESS) {
            memcpy(&profile, data, sizeof profile);
        }
    } else if (s == NULL) {
        error = ERROR_WMI_INSTANCE_NOT_FOUND;
    } else if (!SimMayControl(s->system)) {
        error = ERROR_ACCESS_DENIED;
    } else if (class == TraceStackTracingInfo) {
        error = SetStacks(s, data, size);
    } else if (class == TracePmcCounterListInfo) {
        error = SetCounters(s, data, size);
    } else if (class == TracePmcEventListInfo) {
        error = SetCountedEvents(s, data, size);
    } else if (class == TraceSystemTraceEnableFlagsInfo) {
        error = SetMasks(s, data, size, &added);
        s->users += added != 0;
    }
    ReleaseSRWLockExclusive(&simLock);
    if (added != 0) {
        SimKernelEmit(s, added);
        SimSessionRelease(s);
    }
    return error;
}

ULONG WINAPI TraceQueryInformation(
        TRACEHANDLE handle, TRACE_INFO_CLASS class, PVOID out, ULONG capacity, PULONG returned)
{
    ULONG maxLoggers = SimMaxSessions();
    static const TRACE_VERSION_INFO version = {1, 0};
    ULONG error = ERROR_NOT_SUPPORTED;
    SimInit();
    if (class == TraceMaxLoggersQuery) {
        return Give(&maxLoggers, sizeof maxLoggers, out, capacity, returned);
    }
    if (class == TraceProfileSourceListInfo) {
        return GiveSources(out, capacity, returned);
    }
    if (class == TraceVersionInfo) {
        return Give(&version, sizeof version, out, capacity, returned);
    }
    if (class == TraceSampledProfileIntervalInfo) {
        return Give(&profile, sizeof profile, out, capacity, returned);
    }
    AcquireSRWLockShared(&simLock);
    const SimSession *s = SimSessionFind(handle, NULL);
    if (s == NULL) {
        error = ERROR_WMI_INSTANCE_NOT_FOUND;
    } else if (class == TraceSystemTraceEnableFlagsInfo) {
        error = Give(s->groupMasks, sizeof s->groupMasks, out, capacity, returned);
    } else if (class == TraceStackTracingInfo) {
        error = Give(s->stackEvents, s->stackEventCount * (ULONG)sizeof *s->stackEvents, out,
                capacity, returned);
    }
    ReleaseSRWLockShared(&simLock);
    return error;
}
