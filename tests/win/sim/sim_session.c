/*
 * tests/win/sim/sim_session.c --
 *
 *	Controllers: StartTrace, ControlTrace, QueryAllTraces. What EVENT_TRACE_PROPERTIES may say
 *	and what becomes of it is as in the documentation of that structure and of "Logging Mode
 *	Constants".
 */
#include "tests/win/sim/sim.h"
#include "base/alloc.h"

enum { MIN_BUFFER_KB = 4, MAX_BUFFER_KB = 16384, DEFAULT_BUFFER_KB = 64, MORE_BUFFERS = 20 };

SimSession *simSessions[SIM_SESSIONS + 1]; /* by id, from 1 */
static uint64_t instances;

/* ---- Finding ----------------------------------------------------------------------------------- */

TRACEHANDLE SimSessionHandle(const SimSession *session)
{
    return (TRACEHANDLE)session->instance << 16 | session->id;
}

static bool IsKernelName(LPCWSTR name)
{
    return _wcsicmp(name, KERNEL_LOGGER_NAMEW) == 0;
}

SimSession *SimSessionFind(TRACEHANDLE handle, LPCWSTR name)
{
    for (int id = 1; id <= SIM_SESSIONS; id++) {
        SimSession *s = simSessions[id];
        if (s != NULL &&
                (name != NULL ? _wcsicmp(s->name, name) == 0 : SimSessionHandle(s) == handle)) {
            return s;
        }
    }
    return NULL;
}

/* ---- Properties: in ----------------------------------------------------------------------------- */

static size_t PropertiesSize(const EVENT_TRACE_PROPERTIES *p)
{
    return p->Wnode.Flags & WNODE_FLAG_VERSIONED_PROPERTIES ? sizeof(EVENT_TRACE_PROPERTIES_V2)
                                                            : sizeof *p;
}

/* The structure is as large as it says and its offsets point into what is behind it. */
static ULONG CheckLayout(const EVENT_TRACE_PROPERTIES *p)
{
    if (p == NULL) {
        return ERROR_INVALID_PARAMETER;
    }
    if (p->Wnode.BufferSize < sizeof *p || p->Wnode.BufferSize < PropertiesSize(p)) {
        return ERROR_BAD_LENGTH;
    }
    if (p->Wnode.Flags & WNODE_FLAG_VERSIONED_PROPERTIES &&
            ((const EVENT_TRACE_PROPERTIES_V2 *)p)->VersionNumber != 2) {
        return ERROR_INVALID_PARAMETER;
    }
    if ((p->LoggerNameOffset != 0 && (p->LoggerNameOffset < PropertiesSize(p) ||
                                             p->LoggerNameOffset >= p->Wnode.BufferSize)) ||
            (p->LogFileNameOffset != 0 && (p->LogFileNameOffset < PropertiesSize(p) ||
                                                  p->LogFileNameOffset >= p->Wnode.BufferSize))) {
        return ERROR_INVALID_PARAMETER;
    }
    return ERROR_SUCCESS;
}

/* Characters from an offset on: to the other name, when that follows, or to the end. */
static size_t Capacity(const EVENT_TRACE_PROPERTIES *p, ULONG at, ULONG other)
{
    ULONG end = other > at ? other : p->Wnode.BufferSize;
    return (end - at) / sizeof(WCHAR);
}

static bool PutName(EVENT_TRACE_PROPERTIES *p, ULONG at, ULONG other, const WCHAR *name)
{
    if (at == 0) {
        return true;
    }
    if (wcslen(name) + 1 > Capacity(p, at, other)) {
        return false;
    }
    memcpy((uint8_t *)p + at, name, (wcslen(name) + 1) * sizeof(WCHAR));
    return true;
}

/* The log file's name; false: it does not end inside of the structure. */
static bool TakeFile(const EVENT_TRACE_PROPERTIES *p, WCHAR *file)
{
    file[0] = 0;
    if (p->LogFileNameOffset == 0) {
        return true;
    }
    const WCHAR *name = (const WCHAR *)((const uint8_t *)p + p->LogFileNameOffset);
    size_t capacity = Capacity(p, p->LogFileNameOffset, p->LoggerNameOffset);
    size_t length = wcsnlen(name, capacity);
    if (length == capacity || length > SIM_NAME) {
        return false;
    }
    memcpy(file, name, (length + 1) * sizeof(WCHAR));
    return true;
}

/* Flags of LogFileMode that exclude each other, or need a maximum size. */
static ULONG CheckMode(ULONG mode, ULONG maxFile, const WCHAR *file)
{
    static const ULONG never[] = {
            EVENT_TRACE_FILE_MODE_SEQUENTIAL | EVENT_TRACE_FILE_MODE_CIRCULAR,
            EVENT_TRACE_FILE_MODE_CIRCULAR | EVENT_TRACE_FILE_MODE_APPEND,
            EVENT_TRACE_FILE_MODE_CIRCULAR | EVENT_TRACE_FILE_MODE_NEWFILE,
            EVENT_TRACE_FILE_MODE_APPEND | EVENT_TRACE_FILE_MODE_NEWFILE,
            EVENT_TRACE_FILE_MODE_APPEND | EVENT_TRACE_REAL_TIME_MODE,
            EVENT_TRACE_FILE_MODE_APPEND | EVENT_TRACE_PRIVATE_LOGGER_MODE,
            EVENT_TRACE_FILE_MODE_NEWFILE | EVENT_TRACE_PRIVATE_LOGGER_MODE,
            EVENT_TRACE_REAL_TIME_MODE | EVENT_TRACE_PRIVATE_LOGGER_MODE,
            EVENT_TRACE_BUFFERING_MODE | EVENT_TRACE_REAL_TIME_MODE,
            EVENT_TRACE_BUFFERING_MODE | EVENT_TRACE_FILE_MODE_SEQUENTIAL,
            EVENT_TRACE_BUFFERING_MODE | EVENT_TRACE_FILE_MODE_CIRCULAR,
            EVENT_TRACE_BUFFERING_MODE | EVENT_TRACE_FILE_MODE_NEWFILE,
            EVENT_TRACE_USE_GLOBAL_SEQUENCE | EVENT_TRACE_USE_LOCAL_SEQUENCE,
            EVENT_TRACE_SYSTEM_LOGGER_MODE | EVENT_TRACE_USE_PAGED_MEMORY,
            EVENT_TRACE_SYSTEM_LOGGER_MODE | EVENT_TRACE_PRIVATE_LOGGER_MODE,
    };
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        if ((mode & never[i]) == never[i]) {
            return ERROR_INVALID_PARAMETER;
        }
    }
    if (mode & EVENT_TRACE_PRIVATE_IN_PROC && !(mode & EVENT_TRACE_PRIVATE_LOGGER_MODE)) {
        return ERROR_INVALID_PARAMETER;
    }
    if (mode & (EVENT_TRACE_FILE_MODE_CIRCULAR | EVENT_TRACE_FILE_MODE_NEWFILE |
                       EVENT_TRACE_FILE_MODE_PREALLOCATE) &&
            maxFile == 0) {
        return ERROR_INVALID_PARAMETER;
    }
    if (mode & EVENT_TRACE_FILE_MODE_NEWFILE && wcsstr(file, L"%d") == NULL) {
        return ERROR_INVALID_NAME;
    }
    if (file[0] == 0 && !(mode & (EVENT_TRACE_REAL_TIME_MODE | EVENT_TRACE_BUFFERING_MODE))) {
        return ERROR_BAD_PATHNAME;
    }
    return ERROR_SUCCESS;
}

static ULONG CheckStart(
        PTRACEHANDLE handlePtr, LPCWSTR name, const EVENT_TRACE_PROPERTIES *p, WCHAR *file)
{
    ULONG error = CheckLayout(p);
    if (error != ERROR_SUCCESS) {
        return error;
    }
    if (handlePtr == NULL || name == NULL || name[0] == 0 || wcslen(name) > SIM_NAME ||
            p->LoggerNameOffset == 0 || p->Wnode.ClientContext > 3 ||
            p->BufferSize > MAX_BUFFER_KB) {
        return ERROR_INVALID_PARAMETER;
    }
    if (SimGuidEqual(&p->Wnode.Guid, &SystemTraceControlGuid) && !IsKernelName(name)) {
        return ERROR_INVALID_PARAMETER;
    }
    /* WNODE_HEADER, ClientContext: a file is appended to with system time alone. */
    if (p->LogFileMode & EVENT_TRACE_FILE_MODE_APPEND && p->Wnode.ClientContext != 2) {
        return ERROR_INVALID_PARAMETER;
    }
    /* "Configuring and Starting the NT Kernel Logger Session": EnableFlags says which events. */
    if (IsKernelName(name) && p->EnableFlags == 0) {
        return ERROR_INVALID_PARAMETER;
    }
    if (wcslen(name) + 1 > Capacity(p, p->LoggerNameOffset, p->LogFileNameOffset)) {
        return ERROR_BAD_LENGTH;
    }
    error = SimScopeOf(&(SimScope){0}, p);
    if (error != ERROR_SUCCESS) {
        return error;
    }
    return TakeFile(p, file) ? CheckMode(p->LogFileMode, p->MaximumFileSize, file)
                             : ERROR_INVALID_PARAMETER;
}

/* ---- Properties: out ---------------------------------------------------------------------------- */

static ULONG Fill(EVENT_TRACE_PROPERTIES *p, SimSession *s)
{
    EnterCriticalSection(&s->lock);
    p->Wnode.Guid = s->guid;
    p->Wnode.HistoricalContext = SimSessionHandle(s);
    p->Wnode.ClientContext = s->clock;
    p->BufferSize = s->bufferKB;
    p->MinimumBuffers = s->minBuffers;
    p->MaximumBuffers = s->maxBuffers;
    p->MaximumFileSize = s->maxFile;
    p->LogFileMode = s->mode;
    p->FlushTimer = s->flushTimer;
    p->EnableFlags = s->enableFlags;
    p->AgeLimit = s->ageLimit;
    p->NumberOfBuffers = s->buffers;
    p->FreeBuffers = s->free.count;
    p->EventsLost = s->eventsLost;
    p->BuffersWritten = s->buffersWritten;
    p->LogBuffersLost = s->logBuffersLost;
    p->RealTimeBuffersLost = s->realTimeBuffersLost;
    p->LoggerThreadId = (HANDLE)(uintptr_t)s->threadId;
    LeaveCriticalSection(&s->lock);
    if (!PutName(p, p->LoggerNameOffset, p->LogFileNameOffset, s->name) ||
            !PutName(p, p->LogFileNameOffset, p->LoggerNameOffset, s->file)) {
        return ERROR_MORE_DATA;
    }
    return ERROR_SUCCESS;
}

/* ---- Starting ----------------------------------------------------------------------------------- */

static SimSession *NewSession(LPCWSTR name, const EVENT_TRACE_PROPERTIES *p, const WCHAR *file)
{
    SYSTEM_INFO info;
    SimSession *s = EtwAlloc(sizeof *s);
    GetSystemInfo(&info);
    InitializeCriticalSection(&s->lock);
    InitializeCriticalSection(&s->writing);
    InitializeConditionVariable(&s->wake);
    InitializeConditionVariable(&s->flushed);
    wcscpy(s->name, name);
    wcscpy(s->file, file);
    s->guid = p->Wnode.Guid;
    s->mode = p->LogFileMode;
    s->bufferKB = p->BufferSize == 0              ? DEFAULT_BUFFER_KB
                  : p->BufferSize < MIN_BUFFER_KB ? MIN_BUFFER_KB
                                                  : p->BufferSize;
    ULONG least = 2 * info.dwNumberOfProcessors;
    s->minBuffers = p->MinimumBuffers > least ? p->MinimumBuffers : least;
    s->maxBuffers = p->MaximumBuffers != 0 ? p->MaximumBuffers : s->minBuffers + MORE_BUFFERS;
    s->maxBuffers = s->maxBuffers > s->minBuffers ? s->maxBuffers : s->minBuffers;
    s->maxFile = p->MaximumFileSize;
    s->flushTimer = p->FlushTimer;
    s->clock = p->Wnode.ClientContext != 0 ? p->Wnode.ClientContext : 1;
    s->ageLimit = p->AgeLimit;
    SimScopeOf(&s->scope, p);
    if (IsKernelName(name)) {
        s->guid = SystemTraceControlGuid;
    } else if (SimGuidZero(&s->guid)) {
        EtwGuidRandom((EtwGuid *)&s->guid);
    }
    s->system = IsKernelName(name) || (s->mode & EVENT_TRACE_SYSTEM_LOGGER_MODE) != 0;
    s->enableFlags = s->system ? p->EnableFlags : 0;
    s->groupMasks[0] = s->enableFlags;
    return s;
}

/* A place in the table, or why there is none. simLock held. */
static ULONG Place(SimSession *s)
{
    int free = 0, systems = 0, privates = 0;
    ULONG all = 0;
    bool private = (s->mode & EVENT_TRACE_PRIVATE_LOGGER_MODE) != 0;
    for (int id = SIM_SESSIONS; id > 0; id--) {
        const SimSession *other = simSessions[id];
        if (other == NULL) {
            free = id;
            continue;
        }
        if (_wcsicmp(other->name, s->name) == 0 || (SimGuidEqual(&other->guid, &s->guid))) {
            return ERROR_ALREADY_EXISTS;
        }
        if (s->file[0] != 0 && _wcsicmp(other->file, s->file) == 0) {
            return ERROR_BAD_PATHNAME;
        }
        all++;
        systems += other->system;
        privates += (other->mode & EVENT_TRACE_PRIVATE_LOGGER_MODE) != 0;
    }
    if (free == 0 || all >= SimMaxSessions() || (s->system && systems >= SIM_SYSTEM_LOGGERS) ||
            (private && privates >= SIM_PRIVATE_LOGGERS)) {
        return ERROR_NO_SYSTEM_RESOURCES;
    }
    s->id = (uint16_t)free;
    s->instance = ++instances;
    simSessions[free] = s;
    return ERROR_SUCCESS;
}

/* The GUID of a private session is its provider's, which must be registered (in this process); since
 * there are filters it need not be. */
static bool PrivateReady(const EVENT_TRACE_PROPERTIES *p)
{
    if (!(p->LogFileMode & EVENT_TRACE_PRIVATE_LOGGER_MODE) ||
            p->Wnode.Flags & WNODE_FLAG_VERSIONED_PROPERTIES) {
        return true;
    }
    AcquireSRWLockShared(&simLock);
    SimProvider *provider = SimProviderFind(&p->Wnode.Guid, false);
    bool ready = provider != NULL && provider->registrations != NULL;
    ReleaseSRWLockShared(&simLock);
    return ready;
}

ULONG WINAPI StartTraceW(PTRACEHANDLE handlePtr, LPCWSTR name, PEVENT_TRACE_PROPERTIES p)
{
    WCHAR file[SIM_NAME + 1];
    SimInit();
    SimServe();
    SimManifestProvider();
    ULONG error = CheckStart(handlePtr, name, p, file);
    if (handlePtr != NULL) {
        *handlePtr = 0;
    }
    if (error == ERROR_SUCCESS && !(p->LogFileMode & EVENT_TRACE_PRIVATE_LOGGER_MODE) &&
            !SimMayControl(IsKernelName(name))) {
        error = ERROR_ACCESS_DENIED;
    }
    if (error == ERROR_SUCCESS && p->EnableFlags & EVENT_TRACE_FLAG_PROFILE && !SimMayProfile()) {
        error = ERROR_PRIVILEGE_NOT_HELD;
    }
    if (error == ERROR_SUCCESS && !PrivateReady(p)) {
        error = ERROR_WMI_INSTANCE_NOT_FOUND;
    }
    if (error != ERROR_SUCCESS) {
        return error;
    }
    SimSession *s = NewSession(name, p, file);
    AcquireSRWLockExclusive(&simLock);
    error = Place(s);
    if (error == ERROR_SUCCESS) {
        error = SimLoggerStart(s);
        if (error != ERROR_SUCCESS) {
            simSessions[s->id] = NULL;
        }
    }
    if (error != ERROR_SUCCESS) {
        ReleaseSRWLockExclusive(&simLock);
        SimLoggerFree(s);
        return error;
    }
    *handlePtr = SimSessionHandle(s);
    Fill(p, s);
    s->users++;
    ReleaseSRWLockExclusive(&simLock);
    SimKernelRundown(s, false);
    SimKernelEmit(s, s->enableFlags);
    SimSessionRelease(s);
    return ERROR_SUCCESS;
}

/* ---- Stopping ----------------------------------------------------------------------------------- */

void SimSessionRelease(SimSession *session)
{
    AcquireSRWLockExclusive(&simLock);
    bool last = --session->users == 0 && simSessions[session->id] != session;
    ReleaseSRWLockExclusive(&simLock);
    if (last) {
        SimLoggerFree(session);
    }
}

bool SimSessionStop(SimSession *session)
{
    SimKernelRundown(session, true);
    EnterCriticalSection(&session->lock);
    bool mine = !session->stopping;
    session->stopping = true;
    LeaveCriticalSection(&session->lock);
    if (!mine) {
        return false;
    }
    AcquireSRWLockExclusive(&simLock);
    SimDisableAll(session);
    ReleaseSRWLockExclusive(&simLock);
    SimLoggerStop(session);
    AcquireSRWLockExclusive(&simLock);
    simSessions[session->id] = NULL;
    ReleaseSRWLockExclusive(&simLock);
    return true;
}

/* ---- Control ------------------------------------------------------------------------------------ */

static ULONG Update(SimSession *s, const EVENT_TRACE_PROPERTIES *p, const WCHAR *file)
{
    ULONG error = ERROR_SUCCESS, added = 0;
    if (s->system && p->EnableFlags & ~s->enableFlags & EVENT_TRACE_FLAG_PROFILE &&
            !SimMayProfile()) {
        return ERROR_PRIVILEGE_NOT_HELD;
    }
    if (file[0] != 0) {
        error = _wcsicmp(file, s->file) == 0 ? ERROR_BAD_PATHNAME : SimLoggerSwitchFile(s, file);
    }
    if (error != ERROR_SUCCESS) {
        return error;
    }
    EnterCriticalSection(&s->lock);
    if (p->FlushTimer != 0) {
        s->flushTimer = p->FlushTimer;
    }
    if (p->MaximumBuffers != 0 && !(s->mode & EVENT_TRACE_PRIVATE_LOGGER_MODE)) {
        s->maxBuffers = p->MaximumBuffers > s->minBuffers ? p->MaximumBuffers : s->minBuffers;
    }
    if (p->LogFileMode & EVENT_TRACE_REAL_TIME_MODE) {
        s->mode |= EVENT_TRACE_REAL_TIME_MODE;
    } else if (s->file[0] != 0) {
        s->mode &= ~(ULONG)EVENT_TRACE_REAL_TIME_MODE;
    }
    if (s->system) {
        added = p->EnableFlags & ~s->enableFlags;
        s->enableFlags = p->EnableFlags;
        s->groupMasks[0] = p->EnableFlags;
    }
    LeaveCriticalSection(&s->lock);
    if (added != 0) {
        SimKernelEmit(s, added);
    }
    return ERROR_SUCCESS;
}

static ULONG Act(SimSession *s, EVENT_TRACE_PROPERTIES *p, ULONG code, const WCHAR *file)
{
    ULONG error = ERROR_SUCCESS;
    switch (code) {
    case EVENT_TRACE_CONTROL_QUERY:
        break;
    case EVENT_TRACE_CONTROL_STOP:
        if (!SimSessionStop(s)) {
            return ERROR_WMI_INSTANCE_NOT_FOUND;
        }
        break;
    case EVENT_TRACE_CONTROL_UPDATE:
        error = Update(s, p, file);
        break;
    case EVENT_TRACE_CONTROL_FLUSH:
        if (s->mode & EVENT_TRACE_BUFFERING_MODE && file[0] != 0) {
            error = SimLoggerSnapshot(s, file);
        } else {
            SimLoggerFlush(s);
        }
        break;
    default:
        return ERROR_INVALID_PARAMETER;
    }
    return error == ERROR_SUCCESS ? Fill(p, s) : error;
}

/* A private session is found by its mode and provider and in its processes alone. */
static bool Meant(const SimSession *s, const EVENT_TRACE_PROPERTIES *p, const SimScope *scope)
{
    return !(s->mode & EVENT_TRACE_PRIVATE_LOGGER_MODE) ||
           (p->LogFileMode & EVENT_TRACE_PRIVATE_LOGGER_MODE &&
                   SimGuidEqual(&p->Wnode.Guid, &s->guid) && SimScopeSame(&s->scope, scope));
}

ULONG WINAPI ControlTraceW(TRACEHANDLE handle, LPCWSTR name, PEVENT_TRACE_PROPERTIES p, ULONG code)
{
    WCHAR file[SIM_NAME + 1];
    SimScope scope;
    SimInit();
    ULONG error = CheckLayout(p);
    if (error == ERROR_SUCCESS) {
        error = SimScopeOf(&scope, p);
    }
    if (error != ERROR_SUCCESS) {
        return error;
    }
    if (SimIsRemote()) {
        return SimRemoteControl(handle, name, p, code);
    }
    if ((name == NULL && handle == 0) || code > EVENT_TRACE_CONTROL_FLUSH ||
            (name != NULL && SimGuidEqual(&p->Wnode.Guid, &SystemTraceControlGuid) &&
                    !IsKernelName(name))) {
        return ERROR_INVALID_PARAMETER;
    }
    if (!TakeFile(p, file)) {
        return ERROR_INVALID_PARAMETER;
    }
    AcquireSRWLockExclusive(&simLock);
    SimSession *s = SimSessionFind(handle, name);
    if (s != NULL && !Meant(s, p, &scope)) {
        s = NULL;
    }
    if (s != NULL) {
        s->users++;
    }
    ReleaseSRWLockExclusive(&simLock);
    if (s == NULL) {
        return SimMayControl(name != NULL && IsKernelName(name)) ? ERROR_WMI_INSTANCE_NOT_FOUND
                                                                 : ERROR_ACCESS_DENIED;
    }
    if (!(s->mode & EVENT_TRACE_PRIVATE_LOGGER_MODE) && !SimMayControl(IsKernelName(s->name))) {
        error = ERROR_ACCESS_DENIED;
    } else {
        error = Act(s, p, code, file);
    }
    SimSessionRelease(s);
    return error;
}

ULONG WINAPI StopTraceW(TRACEHANDLE handle, LPCWSTR name, PEVENT_TRACE_PROPERTIES p)
{
    return ControlTraceW(handle, name, p, EVENT_TRACE_CONTROL_STOP);
}
ULONG WINAPI QueryTraceW(TRACEHANDLE handle, LPCWSTR name, PEVENT_TRACE_PROPERTIES p)
{
    return ControlTraceW(handle, name, p, EVENT_TRACE_CONTROL_QUERY);
}
ULONG WINAPI UpdateTraceW(TRACEHANDLE handle, LPCWSTR name, PEVENT_TRACE_PROPERTIES p)
{
    return ControlTraceW(handle, name, p, EVENT_TRACE_CONTROL_UPDATE);
}
ULONG WINAPI FlushTraceW(TRACEHANDLE handle, LPCWSTR name, PEVENT_TRACE_PROPERTIES p)
{
    return ControlTraceW(handle, name, p, EVENT_TRACE_CONTROL_FLUSH);
}

ULONG WINAPI QueryAllTracesW(PEVENT_TRACE_PROPERTIES *array, ULONG capacity, PULONG countPtr)
{
    ULONG count = 0, error = ERROR_SUCCESS;
    SimInit();
    if (array == NULL || countPtr == NULL || capacity == 0 || capacity > SimMaxSessions()) {
        return ERROR_INVALID_PARAMETER;
    }
    if (SimIsRemote()) {
        return SimRemoteList(array, capacity, countPtr);
    }
    for (ULONG i = 0; i < capacity; i++) {
        error = CheckLayout(array[i]);
        if (error != ERROR_SUCCESS) {
            return error;
        }
    }
    AcquireSRWLockShared(&simLock);
    for (int id = 1; id <= SIM_SESSIONS; id++) {
        if (simSessions[id] == NULL || !SimMayControl(IsKernelName(simSessions[id]->name))) {
            continue;
        }
        if (count < capacity) {
            Fill(array[count], simSessions[id]);
        }
        count++;
    }
    ReleaseSRWLockShared(&simLock);
    *countPtr = count;
    return count > capacity ? ERROR_MORE_DATA : ERROR_SUCCESS;
}
