/*
 * win/system/system_kernel.c --
 *
 *	Kernel events in sessions of Windows' ETW: groups, through EVENT_TRACE_PROPERTIES.EnableFlags or
 *	TraceSetInformation, with their stacks and counters of the processor.
 */
#include "win/system/system_int.h"
#include "base/text.h"
#include "engine/kernel_events.h"
#include "etl/record.h"
#include <stdio.h>

enum {
    MAX_STACK_EVENTS = 256,
    MAX_COUNTERS = 8,
    MAX_COUNTED_EVENTS = 4 /* of a session; the kernel has places for four */
};

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
 * The groups whose events have stacks, or counters, of each kernel logger that this process has
 * enabled: a call of Windows replaces the earlier list, which cannot be queried.
 */
typedef struct Additions {
    TRACEHANDLE handle;        /* 0: free */
    uint32_t stacked, counted; /* groups, by their place in the table */
} Additions;
static Additions additions[16];
static int nextAdditions;
static SRWLOCK additionsLock = SRWLOCK_INIT;
_Static_assert(GROUPS <= 32, "a bit for each group");

static uint32_t groupsOf(const EtwKernelEnable *request)
{
    uint32_t wanted = 0;
    for (int i = 0; i < request->groupCount; i++) {
        wanted |= 1u << (groupOf(request->groups[i]) - groups);
    }
    return wanted;
}

/* Returns all groups of that session with that addition. */
static uint32_t addGroups(TRACEHANDLE handle, const EtwKernelEnable *request, bool counted)
{
    AcquireSRWLockExclusive(&additionsLock);
    int at = 0;
    while (at < 16 && additions[at].handle != handle) {
        at++;
    }
    if (at == 16) { /* at most 8 kernel loggers run */
        at = nextAdditions++ % 16;
        additions[at] = (Additions){.handle = handle};
    }
    uint32_t *all = counted ? &additions[at].counted : &additions[at].stacked;
    uint32_t now = *all |= groupsOf(request);
    ReleaseSRWLockExclusive(&additionsLock);
    return now;
}

/* The events of the groups in the form that TraceSetInformation takes. Returns their number. */
static int eventsOf(uint32_t wanted, CLASSIC_EVENT_ID ids[MAX_STACK_EVENTS])
{
    int count = 0;
    memset(ids, 0, MAX_STACK_EVENTS * sizeof *ids);
    for (int i = 0; i < GROUPS; i++) {
        for (int h = 0; wanted >> i & 1 && h < 8 && groups[i].hooks[h] != 0; h++) {
            uint16_t hook = groups[i].hooks[h];
            /* Events are named by the class of their group, which is not always their own. */
            memcpy(&ids[count].EventGuid, EtlGroupGuid(hook & 0xFF00), sizeof ids->EventGuid);
            ids[count++].Type = (UCHAR)hook;
        }
    }
    return count;
}

static ULONG setInformation(TRACEHANDLE handle, TRACE_INFO_CLASS class, void *data, size_t size)
{
    return SystemLazyGet()->traceSetInformation == NULL
                   ? ERROR_NOT_SUPPORTED
                   : SystemLazyGet()->traceSetInformation(handle, class, data, (ULONG)size);
}

static ULONG setStacks(TRACEHANDLE handle, const EtwKernelEnable *request)
{
    CLASSIC_EVENT_ID ids[MAX_STACK_EVENTS];
    int count = eventsOf(addGroups(handle, request, false), ids);
    return setInformation(handle, TraceStackTracingInfo, ids, (size_t)count * sizeof *ids);
}

/* ---- Counters of the processor --------------------------------------------------------------- */

/* All counters that this machine has; EtwFree. NULL: *codePtr says why. */
static uint8_t *allSources(ULONG *sizePtr, ULONG *codePtr)
{
    const SystemLazy *lazy = SystemLazyGet();
    uint8_t *list = NULL;
    ULONG size = 0;
    *codePtr = ERROR_NOT_SUPPORTED;
    if (lazy->traceQueryInformation == NULL) {
        return NULL;
    }
    do { /* the first call returns the size */
        EtwFree(list);
        list = EtwAlloc(size + sizeof(SystemProfileSource));
        *codePtr = lazy->traceQueryInformation(0, TraceProfileSourceListInfo, list, size, sizePtr);
        bool more = *codePtr == ERROR_BAD_LENGTH || *codePtr == ERROR_INSUFFICIENT_BUFFER ||
                    *codePtr == ERROR_MORE_DATA || size == 0;
        if (!more || *sizePtr <= size) {
            break;
        }
        size = *sizePtr;
    } while (true);
    if (*codePtr != ERROR_SUCCESS || *sizePtr < sizeof(SystemProfileSource)) {
        EtwFree(list);
        return NULL;
    }
    return list;
}

/* Visit the list; false: all were visited. */
static bool nextSource(
        const uint8_t *list, ULONG size, ULONG *at, const SystemProfileSource **source)
{
    ULONG step = *source != NULL ? (*source)->NextEntryOffset : 0;
    if (*source != NULL && (step == 0 || step > size - *at)) {
        return false;
    }
    *at += step;
    if (size - *at < sizeof **source) {
        return false;
    }
    *source = (const void *)(list + *at);
    return true;
}

static bool findSource(const uint8_t *list, ULONG size, const char *name, ULONG *idPtr)
{
    const SystemProfileSource *source = NULL;
    ULONG at = 0;
    bool found = false;
    while (!found && nextSource(list, size, &at, &source)) {
        char *utf8 = OsWinToUtf8(source->Description);
        found = _stricmp(utf8, name) == 0;
        *idPtr = source->Source;
        EtwFree(utf8);
    }
    return found;
}

static EtwStatus unknownSource(const uint8_t *list, ULONG size, const char *name, EtwError *err)
{
    const SystemProfileSource *source = NULL;
    EtwText names = {0};
    ULONG at = 0;
    while (nextSource(list, size, &at, &source)) {
        char *utf8 = OsWinToUtf8(source->Description);
        EtwTextPrintf(&names, "%s%s", names.size > 0 ? " " : "", utf8);
        EtwFree(utf8);
    }
    EtwTextChar(&names, '\0');
    EtwFail(err, ETW_E_LOOKUP, "COUNTER", name,
            "this machine has no processor counter \"%s\": must be %s", name, names.data);
    EtwTextFree(&names);
    return ETW_E_LOOKUP;
}

/* The session's counters, then the events that have their values. */
static ULONG setSources(TRACEHANDLE handle, ULONG *ids, int count, const EtwKernelEnable *request)
{
    CLASSIC_EVENT_ID events[MAX_STACK_EVENTS];
    ULONG code = setInformation(handle, TracePmcCounterListInfo, ids, (size_t)count * sizeof *ids);
    int eventCount = eventsOf(addGroups(handle, request, true), events);
    return code == ERROR_SUCCESS ? setInformation(handle, TracePmcEventListInfo, events,
                                           (size_t)eventCount * sizeof *events)
                                 : code;
}

static EtwStatus setCounters(
        const char *name, TRACEHANDLE handle, const EtwKernelEnable *request, EtwError *err)
{
    ULONG ids[MAX_COUNTERS], size = 0, code;
    CLASSIC_EVENT_ID events[MAX_STACK_EVENTS];
    EtwStatus status = ETW_OK;
    int eventCount = eventsOf(groupsOf(request), events);
    if (eventCount > MAX_COUNTED_EVENTS || eventCount == 0) {
        return EtwFail(err, ETW_E_LIMIT, "COUNTERS", name,
                "Windows adds counters to 1 to %d kinds of kernel events, but these groups have "
                "%d: enable fewer groups with \"-counters\", for example contextswitch, and the "
                "others by a call of their own",
                MAX_COUNTED_EVENTS, eventCount);
    }
    uint8_t *list = allSources(&size, &code);
    if (list == NULL) {
        return code == ERROR_NOT_SUPPORTED
                       ? SystemUnsupported(err, "counters of the processor", "Windows 8")
                       : SystemFail(err, code, "list the processor's counters for session", name);
    }
    for (int i = 0; i < request->counterCount && status == ETW_OK; i++) {
        if (!findSource(list, size, request->counters[i], &ids[i])) {
            status = unknownSource(list, size, request->counters[i], err);
        }
    }
    EtwFree(list);
    if (status == ETW_OK) {
        code = setSources(handle, ids, request->counterCount, request);
        status = code == ERROR_SUCCESS ? ETW_OK
                                       : SystemFail(err, code, "add counters in session", name);
    }
    return status;
}

/* ---- Enabling -------------------------------------------------------------------------------- */

/* The interval applies to the whole machine. */
static ULONG setInterval(uint32_t microseconds)
{
    TRACE_PROFILE_INTERVAL interval = {.Source = 0, .Interval = microseconds * 10};
    return setInformation(0, TraceSampledProfileIntervalInfo, &interval, sizeof interval);
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
    bool profile = request->interval != 0 || request->counterCount > 0;
    SystemKernelPrivileges(flags | (profile ? EVENT_TRACE_FLAG_PROFILE : 0u));
    if (request->counterCount > 0) {
        status = setCounters(name, handle, request, err);
        if (status != ETW_OK) {
            return status;
        }
    }
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
