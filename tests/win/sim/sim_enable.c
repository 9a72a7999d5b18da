/*
 * tests/win/sim/sim_enable.c --
 *
 *	Enabling: EnableTraceEx2 with its filters, and EnumerateTraceGuidsEx, which tells who is
 *	registered and who enabled what.
 */
#include "tests/win/sim/sim.h"
#include "base/text.h"

/* ---- Filters -------------------------------------------------------------------------------------- */

static ULONG TakeIds(SimIds *ids, const EVENT_FILTER_DESCRIPTOR *f)
{
    const AbiFilterEventId *in = (const void *)(uintptr_t)f->Ptr;
    size_t head = offsetof(AbiFilterEventId, Events);
    if (ids->set || f->Size < head || in->Count == 0 || in->Count > SIM_FILTER_IDS ||
            f->Size < head + in->Count * sizeof(USHORT)) {
        return ERROR_INVALID_PARAMETER;
    }
    ids->set = true;
    ids->in = in->FilterIn != 0;
    ids->count = in->Count;
    memcpy(ids->ids, in->Events, in->Count * sizeof(USHORT));
    return ERROR_SUCCESS;
}

static ULONG TakeNames(SimNames *names, const EVENT_FILTER_DESCRIPTOR *f)
{
    const AbiFilterEventName *in = (const void *)(uintptr_t)f->Ptr;
    size_t head = offsetof(AbiFilterEventName, Names), ends = 0;
    /* Windows 10, version 1709 */
    if (names->set || SimBuild() < 16299 || f->Size < head ||
            f->Size > MAX_EVENT_FILTER_DATA_SIZE || in->NameCount == 0) {
        return ERROR_INVALID_PARAMETER;
    }
    for (size_t i = head; i < f->Size; i++) {
        ends += in->Names[i - head] == 0;
    }
    if (ends != in->NameCount || ((const UCHAR *)in)[f->Size - 1] != 0) {
        return ERROR_INVALID_PARAMETER;
    }
    *names = (SimNames){.set = true,
            .in = in->FilterIn != 0,
            .level = in->Level,
            .any = in->MatchAnyKeyword,
            .all = in->MatchAllKeyword,
            .count = in->NameCount};
    memcpy(names->names, in->Names, f->Size - head);
    return ERROR_SUCCESS;
}

static ULONG TakeBytes(uint8_t **bytes, ULONG *size, const EVENT_FILTER_DESCRIPTOR *f, ULONG most)
{
    if (*bytes != NULL || f->Ptr == 0 || f->Size == 0 || f->Size > most) {
        return ERROR_INVALID_PARAMETER;
    }
    *bytes = EtwAlloc(f->Size);
    memcpy(*bytes, (const void *)(uintptr_t)f->Ptr, f->Size);
    *size = f->Size;
    return ERROR_SUCCESS;
}

static ULONG TakeFilter(SimEnable *e, const EVENT_FILTER_DESCRIPTOR *f)
{
    if (f->Ptr == 0 && f->Size != 0) {
        return ERROR_INVALID_PARAMETER;
    }
    switch (f->Type) {
    case EVENT_FILTER_TYPE_EVENT_ID:
        return TakeIds(&e->ids, f);
    case EVENT_FILTER_TYPE_STACKWALK:
        return TakeIds(&e->stackIds, f);
    case EVENT_FILTER_TYPE_EVENT_NAME:
        return TakeNames(&e->names, f);
    case EVENT_FILTER_TYPE_STACKWALK_NAME:
        return TakeNames(&e->stackNames, f);
    case EVENT_FILTER_TYPE_PID:
    case EVENT_FILTER_TYPE_EXECUTABLE_NAME:
        return SimScopeTake(&e->scope, f);
    case EVENT_FILTER_TYPE_PAYLOAD:
        return TakeBytes(&e->payload, &e->payloadSize, f, ABI_MAX_PAYLOAD_FILTER);
    default:
        /* The provider's own kinds are its callback's business. */
        e->schematizedType = f->Type;
        return TakeBytes(&e->schematized, &e->schematizedSize, f, MAX_EVENT_FILTER_DATA_SIZE);
    }
}

static ULONG TakeParameters(SimEnable *e, const ENABLE_TRACE_PARAMETERS *p)
{
    ULONG error = ERROR_SUCCESS;
    if (p == NULL) {
        return ERROR_SUCCESS;
    }
    /* ENABLE_TRACE_PARAMETERS, Version: 2 from Windows 8.1 on. */
    if (p->Version != ENABLE_TRACE_PARAMETERS_VERSION &&
            (p->Version != ENABLE_TRACE_PARAMETERS_VERSION_2 || SimBuild() < 9600)) {
        return ERROR_INVALID_PARAMETER;
    }
    ULONG count = p->Version == ENABLE_TRACE_PARAMETERS_VERSION ? p->EnableFilterDesc != NULL
                                                                : p->FilterDescCount;
    if (p->ControlFlags != 0 || count > ABI_MAX_FILTERS ||
            (count != 0 && p->EnableFilterDesc == NULL)) {
        return ERROR_INVALID_PARAMETER;
    }
    e->properties = p->EnableProperty;
    e->source = p->SourceId;
    for (ULONG i = 0; i < count && error == ERROR_SUCCESS; i++) {
        error = TakeFilter(e, &p->EnableFilterDesc[i]);
    }
    return error;
}

/* ---- Enabling ------------------------------------------------------------------------------------- */

void SimEnableClear(SimEnable *e)
{
    EtwFree(e->payload);
    EtwFree(e->schematized);
    *e = (SimEnable){0};
}

static SimEnable *EntryOf(SimProvider *p, const SimSession *s)
{
    for (int i = 0; i < SIM_ENABLES; i++) {
        if (p->enables[i].session == s) {
            return &p->enables[i];
        }
    }
    return NULL;
}

void SimDisableAll(SimSession *s)
{
    for (SimProvider *p = simProviders; p != NULL; p = p->next) {
        SimEnable *e = EntryOf(p, s);
        if (e != NULL) {
            SimEnableClear(e);
            SimNotify(p, EVENT_CONTROL_CODE_DISABLE_PROVIDER, NULL, NULL);
        }
    }
}

/* *wanted is taken over on success. simLock held exclusively. */
static ULONG Apply(SimProvider *p, SimSession *s, ULONG code, SimEnable *wanted, HANDLE done)
{
    static uint64_t enabled;
    SimEnable *e = EntryOf(p, s);
    if (code == EVENT_CONTROL_CODE_CAPTURE_STATE) {
        SimNotify(p, code, wanted, done);
        return ERROR_SUCCESS;
    }
    if (code == EVENT_CONTROL_CODE_DISABLE_PROVIDER) {
        if (e != NULL) {
            SimEnableClear(e);
        }
        SimNotify(p, code, wanted, done);
        return ERROR_SUCCESS;
    }
    e = e != NULL ? e : EntryOf(p, NULL);
    if (e == NULL) {
        return ERROR_NO_SYSTEM_RESOURCES;
    }
    SimEnableClear(e);
    *e = *wanted;
    e->order = ++enabled;
    *wanted = (SimEnable){0};
    SimNotify(p, code, e, done);
    return ERROR_SUCCESS;
}

static ULONG Wait(HANDLE done, ULONG timeout)
{
    if (done == NULL) {
        return ERROR_SUCCESS;
    }
    return WaitForSingleObject(done, timeout) == WAIT_OBJECT_0 ? ERROR_SUCCESS : ERROR_TIMEOUT;
}

ULONG WINAPI EnableTraceEx2(TRACEHANDLE handle, LPCGUID guid, ULONG code, UCHAR level,
        ULONGLONG any, ULONGLONG all, ULONG timeout, PENABLE_TRACE_PARAMETERS parameters)
{
    SimEnable wanted = {.level = level, .any = any, .all = all};
    SimInit();
    if (guid == NULL || handle == 0 || code > EVENT_CONTROL_CODE_CAPTURE_STATE) {
        return ERROR_INVALID_PARAMETER;
    }
    if (SimIsRemote()) {
        return SimRemoteEnable(handle, guid, code, level, any, all, timeout);
    }
    HANDLE done = timeout != 0 ? CreateEventW(NULL, TRUE, FALSE, NULL) : NULL;
    ULONG error = TakeParameters(&wanted, parameters);
    AcquireSRWLockExclusive(&simLock);
    SimSession *s = SimSessionFind(handle, NULL);
    if (error != ERROR_SUCCESS) {
        /* told below */
    } else if (s == NULL || s->stopping) {
        error = ERROR_WMI_INSTANCE_NOT_FOUND;
    } else if (!(s->mode & EVENT_TRACE_PRIVATE_LOGGER_MODE) && !SimMayControl(false)) {
        error = ERROR_ACCESS_DENIED;
    } else if (s->mode & EVENT_TRACE_PRIVATE_LOGGER_MODE &&
               !SimScopeSame(&s->scope, &wanted.scope)) {
        error = ERROR_INVALID_PARAMETER; /* "the same filters should be passed" */
    } else {
        wanted.session = s;
        error = Apply(SimProviderFind(guid, true), s, code, &wanted, done);
    }
    ReleaseSRWLockExclusive(&simLock);
    SimEnableClear(&wanted);
    if (error == ERROR_SUCCESS) {
        error = Wait(done, timeout);
    }
    if (done != NULL) {
        CloseHandle(done);
    }
    return error;
}

ULONG WINAPI EnableTraceEx(LPCGUID guid, LPCGUID source, TRACEHANDLE handle, ULONG enable,
        UCHAR level, ULONGLONG any, ULONGLONG all, ULONG property, PEVENT_FILTER_DESCRIPTOR filter)
{
    ENABLE_TRACE_PARAMETERS p = {.Version = ENABLE_TRACE_PARAMETERS_VERSION};
    p.EnableProperty = property;
    p.EnableFilterDesc = filter;
    if (source != NULL) {
        p.SourceId = *source;
    }
    return EnableTraceEx2(handle, guid,
            enable ? EVENT_CONTROL_CODE_ENABLE_PROVIDER : EVENT_CONTROL_CODE_DISABLE_PROVIDER,
            level, any, all, 0, &p);
}

/* ---- Who is there ----------------------------------------------------------------------------------- */

static ULONG Give(const void *data, ULONG size, void *out, ULONG capacity, PULONG returned)
{
    *returned = size;
    if (size > capacity) {
        return ERROR_INSUFFICIENT_BUFFER;
    }
    memcpy(out, data, size);
    return ERROR_SUCCESS;
}

static bool Known(const SimProvider *p)
{
    bool known = p->registrations != NULL;
    for (int i = 0; i < SIM_ENABLES; i++) {
        known |= p->enables[i].session != NULL;
    }
    return known;
}

static void AddEnables(EtwText *out, const SimProvider *p)
{
    for (int i = 0; i < SIM_ENABLES; i++) {
        const SimEnable *e = &p->enables[i];
        TRACE_ENABLE_INFO info = {.IsEnabled = TRUE,
                .Level = e->level,
                .EnableProperty = e->properties,
                .MatchAnyKeyword = e->any,
                .MatchAllKeyword = e->all};
        if (e->session != NULL) {
            info.LoggerId = e->session->id;
            EtwTextAdd(out, &info, sizeof info);
        }
    }
}

static ULONG EnableCount(const SimProvider *p)
{
    ULONG count = 0;
    for (int i = 0; i < SIM_ENABLES; i++) {
        count += p->enables[i].session != NULL;
    }
    return count;
}

/* TRACE_GUID_INFO and an instance a process: all registrations here are one process's. */
static void AddGuid(EtwText *out, const SimProvider *p)
{
    bool here = p->registrations != NULL;
    TRACE_GUID_INFO head = {.InstanceCount = 1};
    TRACE_PROVIDER_INSTANCE_INFO instance = {.EnableCount = EnableCount(p),
            .Pid = here ? GetCurrentProcessId() : 0,
            .Flags = here ? 0 : TRACE_PROVIDER_FLAG_PRE_ENABLE};
    EtwTextAdd(out, &head, sizeof head);
    EtwTextAdd(out, &instance, sizeof instance);
    AddEnables(out, p);
}

ULONG WINAPI EnumerateTraceGuidsEx(TRACE_QUERY_INFO_CLASS class, PVOID in, ULONG inSize, PVOID out,
        ULONG outSize, PULONG returned)
{
    EtwText text = {0};
    ULONG error = ERROR_SUCCESS, ignored;
    SimInit();
    returned = returned != NULL ? returned : &ignored;
    if ((class != TraceGuidQueryList && class != TraceGuidQueryInfo) ||
            (class == TraceGuidQueryInfo && (in == NULL || inSize < sizeof(GUID)))) {
        return ERROR_INVALID_PARAMETER;
    }
    AcquireSRWLockShared(&simLock);
    if (class == TraceGuidQueryInfo) {
        const SimProvider *p = SimProviderFind(in, false);
        if (p == NULL || !Known(p)) {
            error = ERROR_WMI_GUID_NOT_FOUND;
        } else {
            AddGuid(&text, p);
        }
    }
    for (const SimProvider *p = simProviders; class == TraceGuidQueryList && p != NULL;
            p = p->next) {
        if (Known(p)) {
            EtwTextAdd(&text, &p->guid, sizeof p->guid);
        }
    }
    ReleaseSRWLockShared(&simLock);
    if (error == ERROR_SUCCESS) {
        error = Give(text.data, (ULONG)text.size, out, outSize, returned);
    }
    EtwTextFree(&text);
    return error;
}
