/*
 * tests/win/sim/sim_classic.c --
 *
 *	Providers of the classic kind: RegisterTraceGuids, TraceEvent. Such a provider has one session, the
 *	last that enabled it, and is told that session's handle, to which it writes without further filters.
 *	Registered beneath as every provider is (sim_provider.c).
 */
#include "tests/win/sim/sim.h"
#include "base/text.h"
#include "etl/format.h"

enum {
    LEVEL_SHIFT = 56
}; /* of the handles that callbacks are given: the level that was asked for */

typedef struct Classic {
    REGHANDLE registration;
    GUID guid;
    WMIDPREQUEST request;
    PVOID context;
    TRACEHANDLE session; /* 0: told of none. Callbacks of one registration come one by one */
} Classic;

/* The handle of the session that enabled the provider last, with its level; 0: none. */
static TRACEHANDLE LastSession(const GUID *guid)
{
    const SimEnable *last = NULL;
    TRACEHANDLE handle = 0;
    AcquireSRWLockShared(&simLock);
    const SimProvider *p = SimProviderFind(guid, false);
    for (int i = 0; p != NULL && i < SIM_ENABLES; i++) {
        const SimEnable *e = &p->enables[i];
        if (e->session != NULL && (last == NULL || e->order > last->order)) {
            last = e;
        }
    }
    if (last != NULL) {
        handle = SimSessionHandle(last->session) | (TRACEHANDLE)last->level << LEVEL_SHIFT;
    }
    ReleaseSRWLockShared(&simLock);
    return handle;
}

static void Tell(Classic *c, WMIDPREQUESTCODE code, TRACEHANDLE session)
{
    WNODE_HEADER header = {.BufferSize = sizeof header, .HistoricalContext = session};
    ULONG reserved = 0;
    header.Guid = c->guid;
    c->request(code, c->context, &reserved, &header);
}

static VOID NTAPI OnEnable(LPCGUID source, ULONG code, UCHAR level, ULONGLONG any, ULONGLONG all,
        PEVENT_FILTER_DESCRIPTOR filter, PVOID context)
{
    Classic *c = context;
    TRACEHANDLE before = c->session;
    (void)source, (void)level, (void)any, (void)all, (void)filter;
    if (code == EVENT_CONTROL_CODE_CAPTURE_STATE) {
        return; /* classic providers are not told */
    }
    c->session = LastSession(&c->guid);
    if (c->session != 0) {
        Tell(c, WMI_ENABLE_EVENTS, c->session);
    } else if (before != 0) {
        Tell(c, WMI_DISABLE_EVENTS, before);
    }
}

ULONG WINAPI RegisterTraceGuidsW(WMIDPREQUEST request, PVOID context, LPCGUID guid, ULONG count,
        PTRACE_GUID_REGISTRATION classes, LPCWSTR image, LPCWSTR resource, PTRACEHANDLE handlePtr)
{
    (void)image, (void)resource;
    if (request == NULL || guid == NULL || handlePtr == NULL || count == 0 || classes == NULL) {
        return ERROR_INVALID_PARAMETER;
    }
    for (ULONG i = 0; i < count; i++) {
        if (classes[i].Guid == NULL || SimGuidEqual(classes[i].Guid, guid)) {
            return ERROR_INVALID_PARAMETER; /* a class is not its provider */
        }
    }
    Classic *c = EtwAlloc(sizeof *c);
    c->guid = *guid;
    c->request = request;
    c->context = context;
    ULONG error = EventRegister(guid, OnEnable, c, &c->registration);
    if (error != ERROR_SUCCESS) {
        EtwFree(c);
        return error;
    }
    *handlePtr = (TRACEHANDLE)(uintptr_t)c;
    return ERROR_SUCCESS;
}

ULONG WINAPI UnregisterTraceGuids(TRACEHANDLE handle)
{
    Classic *c = (Classic *)(uintptr_t)handle;
    if (c == NULL) {
        return ERROR_INVALID_PARAMETER;
    }
    ULONG error = EventUnregister(c->registration);
    EtwFree(c);
    return error;
}

TRACEHANDLE WINAPI GetTraceLoggerHandle(PVOID buffer)
{
    return ((const WNODE_HEADER *)buffer)->HistoricalContext;
}

UCHAR WINAPI GetTraceEnableLevel(TRACEHANDLE handle)
{
    return (UCHAR)(handle >> LEVEL_SHIFT);
}

/* ---- Writing ---------------------------------------------------------------------------------- */

/* What follows the header: bytes, or pointers to them. */
static ULONG Payload(const EVENT_TRACE_HEADER *h, EtwText *out)
{
    size_t size = h->Size - sizeof *h;
    const MOF_FIELD *fields = (const void *)(h + 1);
    if (!(h->Flags & WNODE_FLAG_USE_MOF_PTR)) {
        EtwTextAdd(out, h + 1, size);
        return ERROR_SUCCESS;
    }
    if (size % sizeof *fields != 0 || size / sizeof *fields > MAX_MOF_FIELDS) {
        return ERROR_INVALID_PARAMETER;
    }
    for (size_t i = 0; i < size / sizeof *fields; i++) {
        EtwTextAdd(out, (const void *)(uintptr_t)fields[i].DataPtr, fields[i].Length);
    }
    return sizeof *h + out->size <= ETL_MAX_RECORD ? ERROR_SUCCESS : ERROR_MORE_DATA;
}

static ULONG Put(SimSession *s, const EVENT_TRACE_HEADER *from, const EtwText *payload)
{
    EVENT_TRACE_HEADER h = *from;
    size_t size = sizeof h + payload->size;
    int64_t ticks;
    ULONG error;
    uint8_t *out = SimRecordBegin(s, EtwAlign8(size), &ticks, &error);
    if (out == NULL) {
        return error == ERROR_ARITHMETIC_OVERFLOW ? ERROR_MORE_DATA : error;
    }
    h.Size = (USHORT)size;
    h.HeaderType = sizeof(void *) == 4 ? ETL_FULL32 : ETL_FULL64;
    h.MarkerFlags = ETL_MARK_TYPED;
    h.ThreadId = GetCurrentThreadId();
    h.ProcessId = GetCurrentProcessId();
    h.TimeStamp.QuadPart = ticks;
    h.KernelTime = h.UserTime = 0;
    EtwStore64(out + EtwAlign8(size) - 8, 0);
    memcpy(out, &h, sizeof h);
    memcpy(out + sizeof h, payload->data, payload->size);
    SimRecordEnd(s);
    return ERROR_SUCCESS;
}

ULONG WINAPI TraceEvent(TRACEHANDLE handle, PEVENT_TRACE_HEADER h)
{
    EtwText payload = {0};
    if (handle == 0 || h == NULL || h->Size < sizeof *h) {
        return ERROR_INVALID_PARAMETER;
    }
    if (!(h->Flags & WNODE_FLAG_TRACED_GUID)) {
        return ERROR_INVALID_FLAG_NUMBER;
    }
    ULONG error = Payload(h, &payload);
    AcquireSRWLockShared(&simLock);
    SimSession *s = SimSessionFind(handle & (((TRACEHANDLE)1 << LEVEL_SHIFT) - 1), NULL);
    if (error == ERROR_SUCCESS) {
        error = s != NULL ? Put(s, h, &payload) : ERROR_INVALID_HANDLE;
    }
    ReleaseSRWLockShared(&simLock);
    EtwTextFree(&payload);
    return error;
}
