/*
 * win/system/system_enable.c --
 *
 *	Enabling providers, with their filters, in sessions of Windows' ETW (EnableTraceEx2,
 *	ENABLE_TRACE_PARAMETERS, EVENT_FILTER_DESCRIPTOR).
 */
#include "win/system/system_int.h"
#include "engine/provider/provider.h"

enum { SYNC_MS = 2000, MAX_PAYLOADS = 16, BUILD_8_1 = 9600, BUILD_1709 = 16299 };

/* ---- Filters --------------------------------------------------------------------------------- */

/* The data that the filter descriptors of one enable point to. */
typedef struct Filters {
    EVENT_FILTER_DESCRIPTOR list[SYSTEM_MAX_FILTERS];
    ULONG count;
    SystemFilterEventId ids, stackIds;
    SystemFilterEventName names, stackNames;
    SystemScope scope;
    ULONG sessionScope; /* number of entries at the start of the list that are the session's own */
    PVOID payloads[MAX_PAYLOADS];
    int payloadCount;
    EVENT_FILTER_DESCRIPTOR *aggregate; /* freed by TDH; NULL: none */
} Filters;

static void addFilter(Filters *f, ULONG type, const void *data, size_t size)
{
    EVENT_FILTER_DESCRIPTOR *d = &f->list[f->count++];
    d->Ptr = (ULONGLONG)(ULONG_PTR)data;
    d->Size = (ULONG)size;
    d->Type = type;
}

static void addIds(Filters *f, ULONG type, SystemFilterEventId *filter, const uint16_t *ids,
        int count, bool excluded)
{
    if (count > 0) {
        filter->FilterIn = !excluded;
        filter->Count = (USHORT)count;
        memcpy(filter->Events, ids, (size_t)count * sizeof *ids);
        addFilter(f, type, filter,
                offsetof(SystemFilterEventId, Events) + (size_t)count * sizeof *ids);
    }
}

/* The filter has a level and keywords of its own: those of the request. */
static void addNames(Filters *f, ULONG type, SystemFilterEventName *filter,
        const EtwNameFilter *names, const EtwEnable *request)
{
    if (names->count > 0) {
        filter->MatchAnyKeyword = request->any;
        filter->MatchAllKeyword = request->all;
        filter->Level = request->level != 0 ? request->level : 0xFF;
        filter->FilterIn = !names->excluded;
        filter->NameCount = (USHORT)names->count;
        memcpy(filter->Names, names->names, names->size);
        addFilter(f, type, filter, offsetof(SystemFilterEventName, Names) + names->size);
    }
}

static bool sameEvent(const EtwPayloadTest *a, const EtwPayloadTest *b)
{
    return a->id == b->id && a->version == b->version;
}

/* Converts all tests of the same event as tests[first] to one TDH filter. */
static ULONG makePayload(Filters *f, const EtwEnable *request, int first)
{
    const EtwPayloadTest *test = &request->payload[first];
    SystemPayloadPredicate predicates[8] = {0};
    EVENT_DESCRIPTOR desc = {.Id = test->id, .Version = test->version};
    ULONG count = 0, code;
    for (int i = first; i < request->payloadCount && count < 8; i++) {
        if (sameEvent(&request->payload[i], test)) {
            predicates[count++] =
                    (SystemPayloadPredicate){.FieldName = OsWinFromUtf8(request->payload[i].field),
                            .CompareOp = request->payload[i].op,
                            .Value = OsWinFromUtf8(request->payload[i].value)};
        }
    }
    code = SystemLazyGet()->tdhCreatePayloadFilter((LPCGUID)(const void *)&request->provider, &desc,
            request->payloadAny, count, predicates, &f->payloads[f->payloadCount]);
    f->payloadCount += code == ERROR_SUCCESS;
    for (ULONG i = 0; i < count; i++) {
        EtwFree(predicates[i].FieldName);
        EtwFree(predicates[i].Value);
    }
    return code;
}

static EtwStatus addPayload(
        Filters *f, const char *session, const EtwEnable *request, EtwError *err)
{
    const SystemLazy *tdh = SystemLazyGet();
    if (tdh->tdhCreatePayloadFilter == NULL || tdh->tdhAggregatePayloadFilters == NULL ||
            tdh->tdhDeletePayloadFilter == NULL ||
            tdh->tdhCleanupPayloadEventFilterDescriptor == NULL) {
        return SystemUnsupported(err, "filters on payloads", "Windows 8.1");
    }
    for (int i = 0; i < request->payloadCount; i++) {
        bool done = false;
        for (int before = 0; before < i; before++) {
            done |= sameEvent(&request->payload[before], &request->payload[i]);
        }
        ULONG code = done                              ? ERROR_SUCCESS
                     : f->payloadCount == MAX_PAYLOADS ? ERROR_NO_SYSTEM_RESOURCES
                                                       : makePayload(f, request, i);
        if (code != ERROR_SUCCESS) {
            return SystemFail(err, code, "filter on the payload in session", session);
        }
    }
    f->aggregate = &f->list[f->count];
    ULONG code = tdh->tdhAggregatePayloadFilters(
            (ULONG)f->payloadCount, f->payloads, NULL, f->aggregate);
    if (code != ERROR_SUCCESS) {
        f->aggregate = NULL;
        return SystemFail(err, code, "filter on the payload in session", session);
    }
    f->count++;
    return ETW_OK;
}

static void freeFilters(Filters *f)
{
    for (int i = 0; i < f->payloadCount; i++) {
        SystemLazyGet()->tdhDeletePayloadFilter(&f->payloads[i]);
    }
    if (f->aggregate != NULL) {
        SystemLazyGet()->tdhCleanupPayloadEventFilterDescriptor(f->aggregate);
    }
    EtwFree(f->scope.executables);
}

/*
 * Add the processes of the request. Of a private session, add those that it was started with, which
 * each call must repeat.
 */
static EtwStatus fillScope(Filters *f, const char *session, const EtwEnable *request, EtwError *err)
{
    bool pids = request->pidCount > 0 && !request->pidsByDefault;
    SystemOwn own = SystemOwnFind(session);
    f->scope = own.scope; /* now owned by f */
    f->count = f->sessionScope = SystemScopeFilters(&f->scope, f->list);
    if (f->count > 0) {
        return !pids && request->executables == NULL
                       ? ETW_OK
                       : EtwFail(err, ETW_E_ARG, "FILTER", session,
                                 "session \"%s\" is private: its processes were selected when it "
                                 "was started",
                                 session);
    }
    if (pids) {
        f->scope.pidCount = request->pidCount;
        for (int i = 0; i < request->pidCount; i++) {
            f->scope.pids[i] = request->pids[i];
        }
    }
    if (request->executables != NULL) {
        f->scope.executables = OsWinFromUtf8(request->executables);
    }
    f->count = SystemScopeFilters(&f->scope, f->list);
    return ETW_OK;
}

/* Windows 7 and 8 refuse version 2, which the filters require. */
static ULONG parametersVersion(void)
{
    return SystemBuild() >= BUILD_8_1 ? ENABLE_TRACE_PARAMETERS_VERSION_2
                                      : ENABLE_TRACE_PARAMETERS_VERSION;
}

static EtwStatus fillFilters(
        Filters *f, const char *session, const EtwEnable *request, EtwError *err)
{
    if (request->scoped) {
        return EtwFail(err, ETW_E_UNSUPPORTED, "ENGINE", session,
                "session \"%s\" uses the engine \"system\", which does not have \"-pids scope\"",
                session);
    }
    if (request->pidCount > SYSTEM_MAX_PIDS || request->idCount > SYSTEM_MAX_EVENT_IDS ||
            request->stackIdCount > SYSTEM_MAX_EVENT_IDS) {
        return EtwFail(err, ETW_E_LIMIT, "FILTER", session,
                "too many numbers in a filter: at most %d process ids and %d event ids",
                SYSTEM_MAX_PIDS, SYSTEM_MAX_EVENT_IDS);
    }
    EtwStatus status = fillScope(f, session, request, err);
    if (status != ETW_OK) {
        return status;
    }
    addIds(f, SYSTEM_FILTER_EVENT_ID, &f->ids, request->ids, request->idCount,
            request->idsExcluded);
    addIds(f, SYSTEM_FILTER_STACKWALK, &f->stackIds, request->stackIds, request->stackIdCount,
            request->stackIdsExcluded);
    if ((request->names.count > 0 || request->stackNames.count > 0) && SystemBuild() < BUILD_1709) {
        return SystemUnsupported(err, "filters by event name", "Windows 10, version 1709");
    }
    addNames(f, SYSTEM_FILTER_EVENT_NAME, &f->names, &request->names, request);
    addNames(f, SYSTEM_FILTER_STACKWALK_NAME, &f->stackNames, &request->stackNames, request);
    status = request->payloadCount > 0 ? addPayload(f, session, request, err) : ETW_OK;
    if (status == ETW_OK && f->count > 0 &&
            parametersVersion() < ENABLE_TRACE_PARAMETERS_VERSION_2) {
        return SystemUnsupported(err, "filters by process, event or payload", "Windows 8.1");
    }
    if (request->arguments != NULL) { /* which Windows 7 has, if it is the only filter */
        addFilter(f, SYSTEM_FILTER_ARGUMENTS, request->arguments, request->argumentsSize);
    }
    return status;
}

/* ---- Providers ------------------------------------------------------------------------------- */

/* Use the first `count` filters of the list. */
static void setFilters(ENABLE_TRACE_PARAMETERS *parameters, Filters *f, ULONG count)
{
    parameters->EnableFilterDesc = count > 0 ? f->list : NULL;
    parameters->FilterDescCount = count;
}

/*
 * Waits until the provider's callbacks have returned, so that the next event is not missed, but at
 * most SYNC_MS.
 */
static ULONG enableTrace(TRACEHANDLE handle, const EtwGuid *provider, ULONG control, UCHAR level,
        const EtwEnable *request, ENABLE_TRACE_PARAMETERS *parameters)
{
    uint64_t any = request != NULL && request->any != 0 ? request->any : UINT64_MAX;
    ULONG code = EnableTraceEx2(handle, (LPCGUID)(const void *)provider, control, level,
            control == EVENT_CONTROL_CODE_DISABLE_PROVIDER ? 0 : any,
            request != NULL ? request->all : 0, SYNC_MS, parameters);
    return code == ERROR_TIMEOUT ? ERROR_SUCCESS : code;
}

static ULONG enableProvider(TRACEHANDLE handle, const EtwEnable *request, Filters *f)
{
    ENABLE_TRACE_PARAMETERS parameters = {
            .Version = parametersVersion(), .EnableProperty = request->properties};
    UCHAR level = request->level != 0 ? request->level : 0xFF;
    setFilters(&parameters, f, f->count);
    ULONG code = enableTrace(handle, &request->provider, EVENT_CONTROL_CODE_ENABLE_PROVIDER, level,
            request, &parameters);
    if (code == ERROR_SUCCESS && request->captureState) {
        parameters.EnableProperty = 0;
        setFilters(&parameters, f, f->sessionScope);
        code = enableTrace(handle, &request->provider, EVENT_CONTROL_CODE_CAPTURE_STATE, level,
                request, &parameters);
    }
    return code;
}

EtwStatus SystemEnable(const char *name, const EtwEnable *request, EtwError *err)
{
    SystemProperties s;
    TRACEHANDLE handle;
    Filters filters = {0};
    EtwStatus status = SystemHandle(name, &handle, &s, err);
    if (status == ETW_OK) {
        status = fillFilters(&filters, name, request, err);
    }
    if (status == ETW_OK) {
        ULONG code = enableProvider(handle, request, &filters);
        status = code == ERROR_SUCCESS
                         ? ETW_OK
                         : SystemFail(err, code, "enable a provider in session", name);
    }
    freeFilters(&filters);
    return status;
}

EtwStatus SystemDisable(const char *name, const EtwGuid *provider, EtwError *err)
{
    SystemProperties s;
    TRACEHANDLE handle;
    Filters filters = {0};
    ENABLE_TRACE_PARAMETERS parameters = {.Version = parametersVersion()};
    EtwStatus status = SystemHandle(name, &handle, &s, err);
    if (status == ETW_OK) {
        status = fillScope(&filters, name, &(EtwEnable){0}, err);
    }
    if (status == ETW_OK) {
        setFilters(&parameters, &filters, filters.count);
        ULONG code = enableTrace(
                handle, provider, EVENT_CONTROL_CODE_DISABLE_PROVIDER, 0, NULL, &parameters);
        status = code == ERROR_SUCCESS
                         ? ETW_OK
                         : SystemFail(err, code, "disable a provider in session", name);
    }
    freeFilters(&filters);
    return status;
}

/* Only providers can write to a session: our own provider is enabled for one event. */
EtwStatus SystemMark(const char *name, const char *text, EtwError *err)
{
    SystemProperties s;
    TRACEHANDLE handle;
    EtwGuid own;
    Etw_Event *mark = EtwMarkEvent();
    uint16_t length = (uint16_t)(strlen(text) > 4096 ? 4096 : strlen(text));
    EtwStatus status = SystemHandle(name, &handle, &s, err);
    if (status != ETW_OK) {
        return status;
    }
    if (s.p.LogFileMode & EVENT_TRACE_PRIVATE_LOGGER_MODE &&
            !(s.p.LogFileMode & EVENT_TRACE_PRIVATE_IN_PROC)) {
        return EtwFail(err, ETW_E_UNSUPPORTED, "PRIVATE", name,
                "session \"%s\" is private: it takes events of its own provider only", name);
    }
    EtwGuidFromName("Etw-Session", &own);
    ULONG code = enableTrace(handle, &own, EVENT_CONTROL_CODE_ENABLE_PROVIDER, 0xFF, NULL, NULL);
    if (code != ERROR_SUCCESS) {
        return SystemFail(err, code, "mark session", name);
    }
    Etw_Write(mark, (Etw_Data[]){{&length, sizeof length}, {text, length}}, 2);
    enableTrace(handle, &own, EVENT_CONTROL_CODE_DISABLE_PROVIDER, 0, NULL, NULL);
    return ETW_OK;
}
