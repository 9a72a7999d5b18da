/*
 * win/system/system_session.c --
 *
 *	Sessions of Windows' own ETW: StartTrace, ControlTrace, QueryAllTraces, documented with
 *	EVENT_TRACE_PROPERTIES and "Logging Mode Constants". A session belongs to Windows and
 *	outlives this process, unless it is inside the process. system_enable.c enables its
 *	providers.
 */
#include "win/system/system_int.h"
#include <stdio.h>

enum {
    USUAL_SESSIONS = 64, /* more, if the registry has EtwMaxLoggers */
    DEFAULT_KB =
            256, /* as the embedded engine: a script writes much in the second before a flush */
    DEFAULT_BUFFERS = 128,
    BUILD_1703 = 15063
};
#define KERNEL_LOGGER "NT Kernel Logger"

/* ---- Names and errors ------------------------------------------------------------------------ */

EtwGuid SystemGuid(const GUID *guid)
{
    EtwGuid out;
    memcpy(out.bytes, guid, sizeof out.bytes);
    return out;
}

static const char *remedyOf(ULONG code)
{
    switch (code) {
    case ERROR_ACCESS_DENIED:
        return " (run this as administrator, or as a member of the group \"Performance Log "
               "Users\"; \"-engine embedded\" needs neither; the file's directory must be "
               "writable)";
    case ERROR_PRIVILEGE_NOT_HELD:
        return " (the group profile, and counters, require the right \"Profile system "
               "performance\", SeSystemProfilePrivilege: run this as administrator)";
    case ERROR_ALREADY_EXISTS:
        return " (it runs already, or its file is another session's: \"etw sessions\" lists them, "
               "\"etw stop\" ends one; or take another name)";
    case ERROR_WMI_INSTANCE_NOT_FOUND:
        return " (it is not running: \"etw sessions\" lists those that are)";
    case ERROR_BAD_LENGTH:
        return " (its name or its file's path is too long, or the file's size does not fit its "
               "mode)";
    case ERROR_NO_SYSTEM_RESOURCES:
        return " (too many sessions: 64 may run, if the registry's EtwMaxLoggers does not say "
               "otherwise, 8 of them with kernel events, 8 private ones in a "
               "process, and 8 may listen to one provider; stop one)";
    case ERROR_INVALID_PARAMETER:
        return " (Windows refuses these options together)";
    case ERROR_BUSY:
        return " (another session uses the processor's counters: stop it)";
    case ERROR_BAD_PATHNAME:
        return " (the file's path is not good, or another session writes to it)";
    default:
        return "";
    }
}

EtwStatus SystemFail(EtwError *err, ULONG code, const char *doing, const char *subject)
{
    return EtwFailOs(err, ETW_E_IO, (int)code, "SYSTEM", subject, "cannot %s \"%s\"%s", doing,
            subject, remedyOf(code));
}

EtwStatus SystemUnsupported(EtwError *err, const char *what, const char *since)
{
    return EtwFail(err, ETW_E_UNSUPPORTED, "WINDOWS", what,
            "this version of Windows has no %s: it requires %s", what, since);
}

bool SystemName(wchar_t to[SYSTEM_MAX_NAME], const char *name)
{
    wchar_t *wide = OsWinFromUtf8(name);
    bool fits = wcslen(wide) < SYSTEM_MAX_NAME;
    if (fits) {
        wcscpy(to, wide);
    }
    EtwFree(wide);
    return fits;
}

/* A service with another current directory creates the file, so the path must be absolute. */
bool SystemPath(wchar_t to[SYSTEM_MAX_NAME], const char *path)
{
    char full[4 * SYSTEM_MAX_NAME];
    return OsFullPath(path, full, sizeof full) && SystemName(to, full);
}

static void copyOut(const SystemProperties *s, ULONG offset, char *to, size_t size)
{
    wchar_t text[SYSTEM_MAX_NAME];
    char *utf8;
    if (offset == 0 || offset + sizeof(wchar_t) > sizeof *s || offset % sizeof(wchar_t) != 0) {
        *to = '\0';
        return;
    }
    size_t capacity = (sizeof *s - offset) / sizeof(wchar_t);
    capacity = capacity < SYSTEM_MAX_NAME ? capacity : SYSTEM_MAX_NAME - 1;
    memcpy(text, (const uint8_t *)s + offset, capacity * sizeof(wchar_t));
    text[capacity] = 0;
    utf8 = OsWinToUtf8(text);
    snprintf(to, size, "%s", utf8);
    EtwFree(utf8);
}

/* ---- Control --------------------------------------------------------------------------------- */

void SystemPropertiesInit(SystemProperties *s)
{
    memset(s, 0, sizeof *s);
    s->p.Wnode.BufferSize = sizeof *s;
    s->p.Wnode.Flags = WNODE_FLAG_TRACED_GUID;
    s->p.LoggerNameOffset = offsetof(SystemProperties, name);
    s->p.LogFileNameOffset = offsetof(SystemProperties, file);
}

static EVENT_TRACE_PROPERTIES *plain(SystemProperties *s)
{
    return (EVENT_TRACE_PROPERTIES *)(void *)&s->p;
}

/* Select the processes for calls with *s. The filters and their data must remain valid. */
static void addFilters(SystemProperties *s, EVENT_FILTER_DESCRIPTOR *filters, ULONG count)
{
    if (count > 0) {
        s->p.Wnode.Flags |= WNODE_FLAG_VERSIONED_PROPERTIES;
        s->p.VersionNumber = 2;
        s->p.FilterDescCount = count;
        s->p.FilterDesc = filters;
    }
}

static void dropFilters(SystemProperties *s)
{
    s->p.Wnode.Flags &= ~(ULONG)WNODE_FLAG_VERSIONED_PROPERTIES;
    s->p.V2Control = 0;
    s->p.FilterDescCount = 0;
    s->p.FilterDesc = NULL;
}

/* A private session is identified by name, mode, provider and processes. */
static ULONG controlOwn(const wchar_t *name, const SystemOwn *own, SystemProperties *s, ULONG how)
{
    EVENT_FILTER_DESCRIPTOR filters[2];
    if (own->privateMode != 0) {
        s->p.LogFileMode |= own->privateMode;
        s->p.Wnode.Guid = own->provider;
        addFilters(s, filters, SystemScopeFilters(&own->scope, filters));
    }
    ULONG code = ControlTraceW(0, name, plain(s), how);
    if (code == ERROR_WMI_INSTANCE_NOT_FOUND && own->handle != 0) { /* inside this process */
        code = ControlTraceW(own->handle, NULL, plain(s), how);
    }
    dropFilters(s);
    return code;
}

ULONG SystemControl(const char *name, SystemProperties *s, ULONG control)
{
    wchar_t wide[SYSTEM_MAX_NAME];
    if (!SystemName(wide, name)) {
        return ERROR_BAD_LENGTH;
    }
    SystemOwn own = SystemOwnFind(name);
    ULONG code = controlOwn(wide, &own, s, control);
    SystemOwnRelease(&own);
    if ((code == ERROR_SUCCESS && control == EVENT_TRACE_CONTROL_STOP) ||
            code == ERROR_WMI_INSTANCE_NOT_FOUND) {
        SystemOwnForget(wide);
    }
    /* More names than fit: all other members are complete. */
    return code == ERROR_MORE_DATA ? ERROR_SUCCESS : code;
}

EtwStatus SystemHandle(const char *name, TRACEHANDLE *handlePtr, SystemProperties *s, EtwError *err)
{
    SystemPropertiesInit(s);
    ULONG code = SystemControl(name, s, EVENT_TRACE_CONTROL_QUERY);
    if (code != ERROR_SUCCESS) {
        return SystemFail(err, code, "query session", name);
    }
    SystemOwn own = SystemOwnFind(name);
    *handlePtr = own.handle != 0 ? own.handle : s->p.Wnode.HistoricalContext;
    SystemOwnRelease(&own);
    return ETW_OK;
}

static EtwStatus systemHas(const char *name)
{
    SystemProperties s;
    SystemPropertiesInit(&s);
    ULONG code = SystemControl(name, &s, EVENT_TRACE_CONTROL_QUERY);
    return code == ERROR_SUCCESS         ? ETW_OK
           : code == ERROR_ACCESS_DENIED ? ETW_E_ACCESS
                                         : ETW_E_LOOKUP;
}

/* ---- Information ----------------------------------------------------------------------------- */

static EtwFileMode modeOf(ULONG bits)
{
    return bits & EVENT_TRACE_BUFFERING_MODE       ? ETW_FILE_MEMORY
           : bits & EVENT_TRACE_FILE_MODE_NEWFILE  ? ETW_FILE_NEWFILE
           : bits & EVENT_TRACE_FILE_MODE_APPEND   ? ETW_FILE_APPEND
           : bits & EVENT_TRACE_FILE_MODE_CIRCULAR ? ETW_FILE_CIRCULAR
                                                   : ETW_FILE_SEQUENTIAL;
}

/* 0: started by another process. */
static int64_t startedAt(const char *name)
{
    SystemOwn own = SystemOwnFind(name);
    int64_t started = own.started;
    SystemOwnRelease(&own);
    return started;
}

void SystemInfo(const SystemProperties *s, const char *state, EtwSessionInfo *info)
{
    const EVENT_TRACE_PROPERTIES_V2 *p = &s->p;
    OsInstant now;
    memset(info, 0, sizeof *info);
    OsNow(&now);
    info->engine = "system";
    copyOut(s, p->LoggerNameOffset, info->name, sizeof info->name);
    copyOut(s, p->LogFileNameOffset, info->file, sizeof info->file);
    snprintf(info->state, sizeof info->state, "%s", state);
    info->index = (uint32_t)(p->Wnode.HistoricalContext & 0xFFFF);
    /* A logger's number is reused, but rarely together with the id of its thread. */
    info->instance = (uint64_t)(uintptr_t)p->LoggerThreadId << 16 | info->index;
    info->started = startedAt(info->name);
    info->ownerPid = info->started != 0 ? OsPid() : 0;
    info->duration = info->started != 0 ? now.wall - info->started : 0;
    info->mode = modeOf(p->LogFileMode);
    info->realtime = (p->LogFileMode & EVENT_TRACE_REAL_TIME_MODE) != 0;
    info->bufferKB = p->BufferSize;
    info->minBuffers = p->MinimumBuffers;
    info->maxBuffers = p->MaximumBuffers;
    info->flushMs = p->FlushTimer * (p->LogFileMode & SYSTEM_MODE_USE_MS_FLUSH_TIMER ? 1u : 1000u);
    info->maxMB = p->MaximumFileSize;
    info->buffersFree = p->FreeBuffers;
    info->buffersUsed =
            p->NumberOfBuffers > p->FreeBuffers ? p->NumberOfBuffers - p->FreeBuffers : 0;
    info->buffers = p->BuffersWritten;
    info->bytes = info->file[0] != '\0' ? (uint64_t)p->BuffersWritten * p->BufferSize * 1024 : 0;
    info->lost.noBuffer = p->EventsLost;
    info->lost.fileBuffers = p->LogBuffersLost;
    info->lost.liveBuffers = p->RealTimeBuffersLost;
    info->logMode = p->LogFileMode;
    info->kernelFlags = p->EnableFlags;
    info->clock = p->Wnode.ClientContext;
    info->guid = SystemGuid(&p->Wnode.Guid);
}

/* ---- Starting -------------------------------------------------------------------------------- */

static bool isPlainFile(const EtwSessionConfig *c)
{
    return c->file != NULL && !c->realtime && !c->kernelLogger &&
           (c->mode == ETW_FILE_SEQUENTIAL || c->mode == ETW_FILE_CIRCULAR);
}

static EtwStatus checkConfig(const EtwSessionConfig *c, EtwError *err)
{
    const char *wrong = NULL;
    if (c->mode == ETW_FILE_CIRCULAR && c->maxMB == 0) {
        wrong = "-mode circular needs -maxsize MB";
    } else if (c->mode == ETW_FILE_NEWFILE &&
               (c->file == NULL || c->maxMB == 0 || strstr(c->file, "%d") == NULL)) {
        wrong = "mode newfile needs -maxsize MB, and %d in the file's name where its number goes";
    } else if (c->inProcess != NULL && c->privateOf != NULL) {
        wrong = "a private session is in this process (-inprocess) or in others (-private)";
    } else if ((c->pidCount != 0 || c->executables != NULL) && c->privateOf == NULL) {
        wrong = "-pids and -executables say which processes a private session (-private) is in; "
                "for "
                "others say them to \"etw enable\"";
    } else if ((c->inProcess != NULL || c->privateOf != NULL) && !isPlainFile(c)) {
        wrong = "a private session (-inprocess, -private) writes a sequential or circular file, "
                "and "
                "nothing else";
    } else if (c->lossless) {
        wrong = "the engine \"system\" has no lossless sessions; \"-engine embedded\" has";
    } else if (c->compress == ETW_COMPRESS_ON) {
        wrong = "-compress is for the engine \"embedded\"; \"-logmode compressed\" requests it "
                "from "
                "Windows, and \"etw relog -compress 1\" compresses a file";
    } else if (c->mode == ETW_FILE_APPEND && c->realtime) {
        wrong = "Windows does not append to a file and serve live consumers in one session";
    } else if (c->mode != ETW_FILE_MEMORY && c->file == NULL && !c->realtime) {
        wrong = "nowhere to put events: give -file F, -realtime 1, or -mode memory";
    }
    return wrong == NULL ? ETW_OK
                         : EtwFail(err, ETW_E_ARG, "OPTIONS", c->name,
                                   "cannot start session \"%s\": %s", c->name, wrong);
}

static ULONG privateBits(const EtwSessionConfig *c)
{
    return c->inProcess != NULL   ? EVENT_TRACE_PRIVATE_LOGGER_MODE | EVENT_TRACE_PRIVATE_IN_PROC
           : c->privateOf != NULL ? EVENT_TRACE_PRIVATE_LOGGER_MODE
                                  : 0u;
}

static const GUID *privateGuid(const EtwSessionConfig *c)
{
    return (const GUID *)(const void *)(c->inProcess != NULL ? c->inProcess : c->privateOf);
}

static ULONG modeBits(const EtwSessionConfig *c)
{
    static const ULONG bits[] = {EVENT_TRACE_FILE_MODE_SEQUENTIAL, EVENT_TRACE_FILE_MODE_CIRCULAR,
            EVENT_TRACE_FILE_MODE_APPEND, EVENT_TRACE_FILE_MODE_NEWFILE,
            EVENT_TRACE_BUFFERING_MODE};
    ULONG mode = c->file != NULL || c->mode == ETW_FILE_MEMORY ? bits[c->mode] : 0;
    if (c->mode == ETW_FILE_SEQUENTIAL && c->maxMB == 0) {
        mode = EVENT_TRACE_FILE_MODE_NONE; /* sequential without a maximum size */
    }
    return mode | (c->realtime ? EVENT_TRACE_REAL_TIME_MODE : 0u) | privateBits(c) |
           (c->flushMs % 1000 != 0 ? SYSTEM_MODE_USE_MS_FLUSH_TIMER : 0u) | c->logMode;
}

static ULONG flushOf(uint32_t flushMs)
{
    return flushMs % 1000 != 0 ? flushMs : flushMs / 1000;
}

static void fillProperties(const EtwSessionConfig *c, SystemProperties *s)
{
    EVENT_TRACE_PROPERTIES_V2 *p = &s->p;
    p->Wnode.ClientContext = c->clock != 0 ? c->clock : c->mode == ETW_FILE_APPEND ? 2 : 1;
    p->BufferSize = c->bufferKB != 0 ? c->bufferKB : DEFAULT_KB;
    p->MaximumBuffers = c->maxBuffers != 0 ? c->maxBuffers : DEFAULT_BUFFERS;
    /* A session in memory never has more than its minimum. */
    p->MinimumBuffers = c->mode == ETW_FILE_MEMORY ? p->MaximumBuffers : c->minBuffers;
    p->MaximumFileSize = c->maxMB;
    p->LogFileMode = modeBits(c);
    p->FlushTimer = c->flushMs != 0 ? flushOf(c->flushMs) : 1;
    if (c->guid != NULL) {
        memcpy(&p->Wnode.Guid, c->guid->bytes, sizeof p->Wnode.Guid);
    }
    if (privateGuid(c) != NULL) {
        p->Wnode.Guid = *privateGuid(c);
    }
    if (_stricmp(c->name, KERNEL_LOGGER) == 0) {
        p->Wnode.Guid = (GUID){0x9e814aad, 0x3204, 0x11d2,
                {0x9a, 0x82, 0x00, 0x60, 0x08, 0xa8, 0x69, 0x39}}; /* SystemTraceControlGuid */
        /* 0 is not accepted. */
        p->EnableFlags = c->kernelFlags != 0 ? c->kernelFlags : EVENT_TRACE_FLAG_NO_SYSCONFIG;
    } else if (c->kernelLogger) {
        p->LogFileMode |= EVENT_TRACE_SYSTEM_LOGGER_MODE;
        p->EnableFlags = c->kernelFlags;
    }
    if (c->file == NULL) {
        p->LogFileNameOffset = 0;
    }
}

ULONG SystemBuild(void)
{
    OSVERSIONINFOW v = {.dwOSVersionInfoSize = sizeof v};
    bool known = SystemLazyGet()->rtlGetVersion != NULL && SystemLazyGet()->rtlGetVersion(&v) == 0;
    return known ? v.dwBuildNumber : 0;
}

static SystemOwn ownOf(const EtwSessionConfig *c)
{
    OsInstant now;
    OsNow(&now);
    SystemOwn own = {.started = now.wall, .privateMode = privateBits(c)};
    if (own.privateMode != 0) {
        own.provider = *privateGuid(c);
    }
    own.scope.pidCount = c->pidCount;
    for (int i = 0; i < c->pidCount; i++) {
        own.scope.pids[i] = c->pids[i];
    }
    own.scope.executables = c->executables != NULL ? OsWinFromUtf8(c->executables) : NULL;
    return own;
}

/* s is complete, including the file. */
static EtwStatus startOwn(
        const EtwSessionConfig *c, SystemOwn *own, SystemProperties *s, EtwError *err)
{
    wchar_t name[SYSTEM_MAX_NAME];
    EVENT_FILTER_DESCRIPTOR filters[2];
    ULONG count = SystemScopeFilters(&own->scope, filters);
    /* Older versions would ignore the filters and apply the session to all processes. */
    if (count > 0 && SystemBuild() < BUILD_1703) {
        return SystemUnsupported(
                err, "private sessions in chosen processes", "Windows 10, version 1703");
    }
    if (!SystemName(name, c->name)) {
        return SystemFail(err, ERROR_BAD_LENGTH, "start session", c->name);
    }
    addFilters(s, filters, count);
    ULONG code = StartTraceW(&own->handle, name, plain(s));
    if (code != ERROR_SUCCESS) {
        return SystemFail(err, code, "start session", c->name);
    }
    SystemOwnKeep(name, own);
    return ETW_OK;
}

EtwStatus SystemConfigure(const EtwSessionConfig *c, SystemProperties *s, EtwError *err)
{
    EtwStatus status = checkConfig(c, err);
    if (status != ETW_OK) {
        return status;
    }
    SystemPropertiesInit(s);
    fillProperties(c, s);
    return c->file == NULL || SystemPath(s->file, c->file)
                   ? ETW_OK
                   : SystemFail(err, ERROR_BAD_LENGTH, "start session", c->name);
}

static EtwStatus systemStart(const EtwSessionConfig *c, EtwError *err)
{
    SystemProperties s;
    EtwStatus status = SystemConfigure(c, &s, err);
    if (status != ETW_OK) {
        return status;
    }
    if (c->kernelFlags != 0) {
        SystemKernelPrivileges(c->kernelFlags);
    }
    SystemOwn own = ownOf(c);
    status = startOwn(c, &own, &s, err);
    SystemOwnRelease(&own);
    return status;
}

/* ---- Running sessions ------------------------------------------------------------------------ */

static EtwStatus systemStop(const char *name, EtwSessionInfo *info, EtwError *err)
{
    SystemProperties s;
    OsInstant now;
    int64_t started = startedAt(name);
    SystemPropertiesInit(&s);
    ULONG code = SystemControl(name, &s, EVENT_TRACE_CONTROL_STOP);
    if (code != ERROR_SUCCESS) {
        return SystemFail(err, code, "stop session", name);
    }
    if (info != NULL) {
        SystemInfo(&s, "stopped", info);
        OsNow(&now);
        info->started = started;
        info->duration = started != 0 ? now.wall - started : 0;
    }
    return ETW_OK;
}

static EtwStatus control(
        const char *name, ULONG how, const char *doing, EtwSessionInfo *info, EtwError *err)
{
    SystemProperties s;
    SystemPropertiesInit(&s);
    ULONG code = SystemControl(name, &s, how);
    if (code != ERROR_SUCCESS) {
        return SystemFail(err, code, doing, name);
    }
    if (info != NULL) {
        SystemInfo(&s, "running", info);
    }
    return ETW_OK;
}

static EtwStatus systemQuery(const char *name, EtwSessionInfo *info, EtwError *err)
{
    return control(name, EVENT_TRACE_CONTROL_QUERY, "query session", info, err);
}

static EtwStatus systemFlush(const char *name, EtwSessionInfo *info, EtwError *err)
{
    SystemProperties s;
    SystemPropertiesInit(&s);
    s.p.LogFileNameOffset = 0; /* a name would be the file of a snapshot */
    ULONG code = SystemControl(name, &s, EVENT_TRACE_CONTROL_FLUSH);
    if (code != ERROR_SUCCESS) {
        return SystemFail(err, code, "flush session", name);
    }
    return info != NULL ? systemQuery(name, info, err) : ETW_OK;
}

static EtwStatus systemSnapshot(
        const char *name, const char *file, EtwSessionInfo *info, EtwError *err)
{
    SystemProperties s;
    SystemPropertiesInit(&s);
    ULONG code = SystemControl(name, &s, EVENT_TRACE_CONTROL_QUERY);
    if (code == ERROR_SUCCESS && !(s.p.LogFileMode & EVENT_TRACE_BUFFERING_MODE)) {
        return EtwFail(err, ETW_E_STATE, "MODE", name,
                "session \"%s\" writes to a file: \"etw snapshot\" requires a session of -mode "
                "memory; \"etw flush\" completes the file",
                name);
    }
    SystemPropertiesInit(&s);
    if (code == ERROR_SUCCESS) {
        code = SystemPath(s.file, file) ? SystemControl(name, &s, EVENT_TRACE_CONTROL_FLUSH)
                                        : ERROR_BAD_LENGTH;
    }
    if (code != ERROR_SUCCESS) {
        return SystemFail(err, code, "save session", name);
    }
    return info != NULL ? systemQuery(name, info, err) : ETW_OK;
}

/* An update sets all members, so the current values are queried first. */
static EtwStatus systemUpdate(
        const char *name, const EtwSessionConfig *c, EtwSessionInfo *info, EtwError *err)
{
    SystemProperties s;
    SystemPropertiesInit(&s);
    ULONG code = SystemControl(name, &s, EVENT_TRACE_CONTROL_QUERY);
    if (code != ERROR_SUCCESS) {
        return SystemFail(err, code, "update session", name);
    }
    if (c->maxMB != 0) {
        return EtwFail(err, ETW_E_UNSUPPORTED, "MAXSIZE", name,
                "Windows cannot change -maxsize of a running session");
    }
    s.p.LogFileNameOffset = c->file != NULL ? offsetof(SystemProperties, file) : 0;
    if (c->file != NULL && !SystemPath(s.file, c->file)) {
        return SystemFail(err, ERROR_BAD_LENGTH, "update session", name);
    }
    if (c->flushMs != 0) {
        bool ms = (s.p.LogFileMode & SYSTEM_MODE_USE_MS_FLUSH_TIMER) != 0;
        s.p.FlushTimer = ms ? c->flushMs : (c->flushMs + 999) / 1000;
    }
    if (c->maxBuffers != 0) {
        s.p.MaximumBuffers = c->maxBuffers;
    }
    if (c->kernelFlagsChange) {
        SystemKernelPrivileges(c->kernelFlags);
        s.p.EnableFlags = c->kernelFlags;
    }
    if (c->realtimeChange) {
        s.p.LogFileMode &= ~(ULONG)EVENT_TRACE_REAL_TIME_MODE;
        s.p.LogFileMode |= c->realtime ? EVENT_TRACE_REAL_TIME_MODE : 0u;
    }
    code = SystemControl(name, &s, EVENT_TRACE_CONTROL_UPDATE);
    if (code != ERROR_SUCCESS) {
        return SystemFail(err, code, "update session", name);
    }
    return info != NULL ? systemQuery(name, info, err) : ETW_OK;
}

/* The sessions that fit into so many places; EtwFree. *countPtr: those that run. */
static SystemProperties *queryAll(ULONG places, ULONG *countPtr, ULONG *codePtr)
{
    SystemProperties *all = EtwAlloc(places * sizeof *all);
    EVENT_TRACE_PROPERTIES **each = EtwAlloc(places * sizeof *each);
    for (ULONG i = 0; i < places; i++) {
        SystemPropertiesInit(&all[i]);
        each[i] = plain(&all[i]);
    }
    *codePtr = QueryAllTracesW(each, places, countPtr);
    EtwFree(each);
    return all;
}

static void systemList(EtwSessionVisit *visit, void *ctx)
{
    EtwSessionInfo info;
    ULONG places = USUAL_SESSIONS, count = 0, code;
    SystemProperties *all = queryAll(places, &count, &code);
    if (code == ERROR_MORE_DATA) {
        EtwFree(all);
        places = count;
        all = queryAll(places, &count, &code);
    }
    /* If still more sessions run, those that fit are listed. */
    count = code == ERROR_SUCCESS ? count : code == ERROR_MORE_DATA ? places : 0;
    for (ULONG i = 0; i < count && i < places; i++) {
        SystemInfo(&all[i], "running", &info);
        if (!visit(ctx, &info)) {
            break;
        }
    }
    EtwFree(all);
}

/* ---- The engine ------------------------------------------------------------------------------ */

static const EtwEngineOps ops = {.name = "system",
        .has = systemHas,
        .start = systemStart,
        .stop = systemStop,
        .flush = systemFlush,
        .query = systemQuery,
        .update = systemUpdate,
        .snapshot = systemSnapshot,
        .mark = SystemMark,
        .list = systemList,
        .enable = SystemEnable,
        .disable = SystemDisable,
        .enableKernel = SystemEnableKernel,
        .disableKernel = SystemDisableKernel,
        .providers = SystemProviders,
        .providerState = SystemProviderState,
        .liveOpen = SystemLiveOpen};

const EtwEngineOps *EtwSystemOps(EtwError *err)
{
    const char *why = SystemUnusable();
    if (why == NULL) {
        return &ops;
    }
    EtwFail(err, ETW_E_UNSUPPORTED, "ENGINE", "system",
            "the engine \"system\" cannot be used here: %s. Use \"-engine embedded\"", why);
    return NULL;
}
