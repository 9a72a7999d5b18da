/*
 * win/system/system_enable.c --
 *
 *	Enabling for sessions of Windows' ETW: providers with their filters (EnableTraceEx2,
 *	ENABLE_TRACE_PARAMETERS, EVENT_FILTER_DESCRIPTOR), and kernel groups, through
 *	EVENT_TRACE_PROPERTIES.EnableFlags or TraceSetInformation.
 */
#include "win/system/system_int.h"
#include "base/text.h"
#include "engine/kernel_events.h"
#include "engine/provider/provider.h"
#include "etl/record.h"
#include <stdio.h>

enum { SYNC_MS = 2000, MAX_PAYLOADS = 16, MAX_STACK_EVENTS = 256, BUILD_8_1 = 9600 };

/* ---- Filters --------------------------------------------------------------------------------- */

/* The data that the filter descriptors of one enable point to. */
typedef struct Filters {
    EVENT_FILTER_DESCRIPTOR list[SYSTEM_MAX_FILTERS];
    ULONG count;
    SystemFilterEventId ids, stackIds;
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

static void addIds(
        Filters *f, ULONG type, SystemFilterEventId *filter, const uint16_t *ids, int count)
{
    filter->FilterIn = TRUE;
    filter->Count = (USHORT)count;
    memcpy(filter->Events, ids, (size_t)count * sizeof *ids);
    addFilter(f, type, filter, offsetof(SystemFilterEventId, Events) + (size_t)count * sizeof *ids);
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
            FALSE, count, predicates, &f->payloads[f->payloadCount]);
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
    if (request->idCount > 0) {
        addIds(f, SYSTEM_FILTER_EVENT_ID, &f->ids, request->ids, request->idCount);
    }
    if (request->stackIdCount > 0) {
        addIds(f, SYSTEM_FILTER_STACKWALK, &f->stackIds, request->stackIds, request->stackIdCount);
    }
    status = request->payloadCount > 0 ? addPayload(f, session, request, err) : ETW_OK;
    return status == ETW_OK && f->count > 0 &&
                           parametersVersion() < ENABLE_TRACE_PARAMETERS_VERSION_2
                   ? SystemUnsupported(err, "filters by process, event or payload", "Windows 8.1")
                   : status;
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

/* ---- Kernel groups --------------------------------------------------------------------------- */

/* Each group has our portable name and the name that Windows' own tools use. */
typedef struct Group {
    const char *name, *also;
    ULONG flags;
    const char *what;
    uint16_t hooks[8]; /* group << 8 | opcode of the events for which stacks are useful */
} Group;
static const Group groups[] = {
        {"process", "proc", EVENT_TRACE_FLAG_PROCESS, "processes start and end",
                {0x0301, 0x0302, 0x030B}},
        {"thread", "threads", EVENT_TRACE_FLAG_THREAD, "threads start and end", {0x0501, 0x0502}},
        {"imageload", "img", EVENT_TRACE_FLAG_IMAGE_LOAD, "programs and DLLs are loaded",
                {0x030A, 0x1402}}, /* loading has the hook of an older class */
        {"processcounter", "proccntr", EVENT_TRACE_FLAG_PROCESS_COUNTERS,
                "counters of a process at its end", {0}},
        {"contextswitch", "cswitch", EVENT_TRACE_FLAG_CSWITCH, "a CPU turns to another thread",
                {0x0524}},
        {"dispatcher", "readythread", EVENT_TRACE_FLAG_DISPATCHER, "threads become ready",
                {0x0532}},
        {"dpc", "dpc", EVENT_TRACE_FLAG_DPC, "deferred procedure calls", {0x0F44, 0x0F45}},
        {"interrupt", "isr", EVENT_TRACE_FLAG_INTERRUPT, "interrupts", {0x0F43}},
        {"systemcall", "syscall", EVENT_TRACE_FLAG_SYSTEMCALL, "system calls", {0x0F33, 0x0F34}},
        {"diskio", "disk", EVENT_TRACE_FLAG_DISK_IO, "the disk read and wrote",
                {0x010A, 0x010B, 0x010E}},
        {"diskioinit", "diskinit", EVENT_TRACE_FLAG_DISK_IO_INIT, "the disk is asked",
                {0x010C, 0x010D, 0x010F}},
        {"diskfileio", "file", EVENT_TRACE_FLAG_DISK_FILE_IO | EVENT_TRACE_FLAG_DISK_IO,
                "names of the files that the disk's events are about", {0}},
        {"fileio", "fileioinit", EVENT_TRACE_FLAG_FILE_IO_INIT, "operations on files",
                {0x0440, 0x0443, 0x0444, 0x0445, 0x0446, 0x0447, 0x0449, 0x044A}},
        {"fileiocompletion", "fileioend", EVENT_TRACE_FLAG_FILE_IO, "and their ends", {0x044C}},
        {"pagefault", "pf", EVENT_TRACE_FLAG_MEMORY_PAGE_FAULTS, "page faults",
                {0x020A, 0x020B, 0x020C, 0x020D, 0x020E, 0x020F}},
        {"hardfault", "hf", EVENT_TRACE_FLAG_MEMORY_HARD_FAULTS, "page faults that read a disk",
                {0x0220}},
        {"virtualalloc", "virtalloc", EVENT_TRACE_FLAG_VIRTUAL_ALLOC, "VirtualAlloc, VirtualFree",
                {0x0262, 0x0263}},
        {"vamap", "vamap", EVENT_TRACE_FLAG_VAMAP, "files are mapped", {0x0425, 0x0426}},
        {"tcpip", "net", EVENT_TRACE_FLAG_NETWORK_TCPIP, "TCP and UDP",
                {0x060A, 0x060B, 0x060C, 0x060D, 0x080A, 0x080B}},
        {"udpip", "udp", EVENT_TRACE_FLAG_NETWORK_TCPIP, "the same flag as tcpip",
                {0x080A, 0x080B}},
        {"registry", "registry", EVENT_TRACE_FLAG_REGISTRY, "registry",
                {0x090A, 0x090B, 0x090C, 0x090D, 0x090E, 0x0910, 0x0911, 0x0912}},
        {"dbgprint", "dbgprint", EVENT_TRACE_FLAG_DBGPRINT, "DbgPrint", {0x0A20}},
        {"job", "job", EVENT_TRACE_FLAG_JOB, "jobs", {0}},
        {"alpc", "alpc", EVENT_TRACE_FLAG_ALPC, "local procedure calls", {0x1A21, 0x1A22}},
        {"splitio", "splitio", EVENT_TRACE_FLAG_SPLIT_IO, "volumes split requests", {0x1B20}},
        {"driver", "driver", EVENT_TRACE_FLAG_DRIVER, "drivers' calls", {0x0122, 0x0123}},
        {"profile", "sampledprofile", EVENT_TRACE_FLAG_PROFILE, "where CPUs are, sampled",
                {0x0F2E}},
};
enum { GROUPS = sizeof groups / sizeof *groups };

static const Group *groupOf(const char *name)
{
    for (int i = 0; i < GROUPS; i++) {
        if (_stricmp(groups[i].name, name) == 0 || _stricmp(groups[i].also, name) == 0) {
            return &groups[i];
        }
    }
    return NULL;
}

static EtwStatus unknownGroup(const char *name, EtwError *err)
{
    EtwText list = {0};
    for (int i = 0; i < GROUPS; i++) {
        EtwTextPrintf(&list, "%s%s", i > 0 ? " " : "", groups[i].name);
    }
    EtwTextChar(&list, '\0');
    EtwFail(err, ETW_E_LOOKUP, "GROUP", name,
            "there is no kernel group \"%s\" on Windows: must be %s", name, list.data);
    EtwTextFree(&list);
    return ETW_E_LOOKUP;
}

void EtwKernelGroups(
        void (*visit)(void *ctx, const char *group, const char *description), void *ctx)
{
    for (int i = 0; i < GROUPS && EtwSystemOps(NULL) != NULL; i++) {
        visit(ctx, groups[i].name, groups[i].what);
    }
}

/* Has no effect if the account does not have the privilege: the call that requires it fails then. */
static void enablePrivilege(const wchar_t *name)
{
    TOKEN_PRIVILEGES privileges = {
            .PrivilegeCount = 1, .Privileges[0].Attributes = SE_PRIVILEGE_ENABLED};
    HANDLE token;
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_ADJUST_PRIVILEGES | TOKEN_QUERY, &token)) {
        return;
    }
    if (LookupPrivilegeValueW(NULL, name, &privileges.Privileges[0].Luid)) {
        AdjustTokenPrivileges(token, FALSE, &privileges, 0, NULL, NULL);
    }
    CloseHandle(token);
}

void SystemKernelPrivileges(uint32_t flags)
{
    enablePrivilege(L"SeDebugPrivilege");
    if (flags & EVENT_TRACE_FLAG_PROFILE) {
        enablePrivilege(L"SeSystemProfilePrivilege");
    }
}

/*
 * Set the flags of a kernel logger: through the properties for the NT Kernel Logger, for others as
 * the first of eight masks.
 */
static ULONG setFlags(const char *name, TRACEHANDLE handle, SystemProperties *s, ULONG flags)
{
    const SystemLazy *lazy = SystemLazyGet();
    ULONG masks[8] = {flags};
    if (flags != 0) {
        /* Many kernel events lack their process or thread; those of these groups identify them. */
        masks[0] = flags |= EVENT_TRACE_FLAG_PROCESS | EVENT_TRACE_FLAG_THREAD;
    }
    if (_stricmp(name, "NT Kernel Logger") != 0 && lazy->traceSetInformation != NULL) {
        return lazy->traceSetInformation(
                handle, TraceSystemTraceEnableFlagsInfo, masks, sizeof masks);
    }
    s->p.EnableFlags = flags != 0 ? flags : EVENT_TRACE_FLAG_NO_SYSCONFIG;
    s->p.LogFileNameOffset = 0; /* a name would start a new file */
    return SystemControl(name, s, EVENT_TRACE_CONTROL_UPDATE);
}

/*
 * The groups whose events have stacks, of each kernel logger that this process has enabled: a call
 * of Windows replaces the earlier list, which cannot be queried.
 */
static struct {
    TRACEHANDLE handle; /* 0: free */
    uint32_t groups;    /* by their place in the table */
} stacked[16];
static int nextStacked;
static SRWLOCK stackedLock = SRWLOCK_INIT;
_Static_assert(GROUPS <= 32, "a bit for each group");

static uint32_t addStacked(TRACEHANDLE handle, uint32_t groups_)
{
    AcquireSRWLockExclusive(&stackedLock);
    int at = 0;
    while (at < 16 && stacked[at].handle != handle) {
        at++;
    }
    if (at == 16) { /* at most 8 kernel loggers run */
        at = nextStacked++ % 16;
        stacked[at].handle = handle;
        stacked[at].groups = 0;
    }
    stacked[at].groups |= groups_;
    uint32_t all = stacked[at].groups;
    ReleaseSRWLockExclusive(&stackedLock);
    return all;
}

static ULONG setStacks(TRACEHANDLE handle, const EtwKernelEnable *request)
{
    CLASSIC_EVENT_ID ids[MAX_STACK_EVENTS] = {0};
    uint32_t wanted = 0;
    int count = 0;
    if (SystemLazyGet()->traceSetInformation == NULL) {
        return ERROR_NOT_SUPPORTED;
    }
    for (int i = 0; i < request->groupCount; i++) {
        wanted |= 1u << (groupOf(request->groups[i]) - groups);
    }
    wanted = addStacked(handle, wanted);
    for (int i = 0; i < GROUPS; i++) {
        for (int h = 0; wanted >> i & 1 && h < 8 && groups[i].hooks[h] != 0; h++) {
            uint16_t hook = groups[i].hooks[h];
            /* Events are named by the class of their group, which is not always their own. */
            memcpy(&ids[count].EventGuid, EtlGroupGuid(hook & 0xFF00), sizeof ids->EventGuid);
            ids[count++].Type = (UCHAR)hook;
        }
    }
    return SystemLazyGet()->traceSetInformation(
            handle, TraceStackTracingInfo, ids, (ULONG)count * (ULONG)sizeof *ids);
}

/* The interval applies to the whole machine. */
static ULONG setInterval(uint32_t microseconds)
{
    TRACE_PROFILE_INTERVAL interval = {.Source = 0, .Interval = microseconds * 10};
    if (SystemLazyGet()->traceSetInformation == NULL) {
        return ERROR_NOT_SUPPORTED;
    }
    return SystemLazyGet()->traceSetInformation(
            0, TraceSampledProfileIntervalInfo, &interval, sizeof interval);
}

static EtwStatus kernelSession(
        const char *name, TRACEHANDLE *handlePtr, SystemProperties *s, EtwError *err)
{
    EtwStatus status = SystemHandle(name, handlePtr, s, err);
    if (status == ETW_OK && _stricmp(name, "NT Kernel Logger") != 0 &&
            !(s->p.LogFileMode & EVENT_TRACE_SYSTEM_LOGGER_MODE)) {
        status = EtwFail(err, ETW_E_STATE, "KERNELLOGGER", name,
                "session \"%s\" cannot have kernel events: start it with -kernellogger 1 (Windows "
                "8 and newer), or name it \"NT Kernel Logger\"",
                name);
    }
    return status;
}

EtwStatus SystemEnableKernel(const char *name, const EtwKernelEnable *request, EtwError *err)
{
    SystemProperties s;
    TRACEHANDLE handle;
    ULONG flags = 0;
    for (int i = 0; i < request->groupCount; i++) {
        const Group *g = groupOf(request->groups[i]);
        if (g == NULL) {
            return unknownGroup(request->groups[i], err);
        }
        flags |= g->flags;
    }
    if (request->pidCount > 0) {
        return EtwFail(err, ETW_E_UNSUPPORTED, "PIDS", name,
                "Windows records kernel events of all processes: omit \"-pids\", and select "
                "processes when the events are read (\"-pid\")");
    }
    EtwStatus status = kernelSession(name, &handle, &s, err);
    if (status != ETW_OK) {
        return status;
    }
    SystemKernelPrivileges(flags | (request->interval != 0 ? EVENT_TRACE_FLAG_PROFILE : 0u));
    ULONG code = request->interval != 0 ? setInterval(request->interval) : ERROR_SUCCESS;
    if (code == ERROR_SUCCESS && request->stacks) {
        code = setStacks(handle, request); /* first, so that no event lacks its stack */
    }
    if (code == ERROR_SUCCESS) {
        ULONG now = s.p.EnableFlags & ~(ULONG)EVENT_TRACE_FLAG_NO_SYSCONFIG;
        code = setFlags(name, handle, &s, now | flags);
    }
    return code == ERROR_SUCCESS ? ETW_OK
                                 : SystemFail(err, code, "enable kernel events in session", name);
}

EtwStatus SystemDisableKernel(const char *name, EtwError *err)
{
    SystemProperties s;
    TRACEHANDLE handle;
    EtwStatus status = kernelSession(name, &handle, &s, err);
    if (status != ETW_OK) {
        return status;
    }
    ULONG code = setFlags(name, handle, &s, 0);
    return code == ERROR_SUCCESS ? ETW_OK
                                 : SystemFail(err, code, "disable kernel events in session", name);
}
