/*
 * tests/win/sim/sim_consume.c --
 *
 *	Consumers: OpenTrace, ProcessTrace, CloseTrace. A real-time consumer joins its session in
 *	ProcessTrace, which then delivers what the session kept for it; files are merged by time.
 */
#include "tests/win/sim/sim.h"
#include "base/alloc.h"
#include "base/bytes.h"
#include "etl/format.h"
#include "etl/read/file_header.h"
#include "etl/read/reader.h"
#include "etl/record.h"

enum { MAX_HANDLES = 64, MAX_CONSUMERS = 256, FILE_BUFFER_EVENTS = 512, PERF_FREQ_AT = 0x100 };

static SimConsumer *consumers[MAX_CONSUMERS]; /* simLock */
static uint64_t lastHandle;

static TRACEHANDLE Invalid(ULONG error)
{
    SetLastError(error);
    return sizeof(void *) == 4 ? 0xFFFFFFFFu : ~(TRACEHANDLE)0;
}

static SimConsumer *Find(TRACEHANDLE handle)
{
    for (int i = 0; i < MAX_CONSUMERS; i++) {
        if (consumers[i] != NULL && consumers[i]->handle == handle) {
            return consumers[i];
        }
    }
    return NULL;
}

/* ---- Opening -------------------------------------------------------------------------------------- */

static void FillZone(TRACE_LOGFILE_HEADER *h)
{
    GetTimeZoneInformation(&h->TimeZone);
}

static void HeaderOfFile(SimConsumer *c)
{
    const EtlInfo *info = EtlReaderInfo(c->reader);
    TRACE_LOGFILE_HEADER *h = &c->log.LogfileHeader;
    h->BufferSize = info->bufferSize;
    h->VersionDetail.MajorVersion = info->major;
    h->VersionDetail.MinorVersion = info->minor;
    h->VersionDetail.SubVersion = info->layoutMajor;
    h->VersionDetail.SubMinorVersion = info->layoutMinor;
    h->ProviderVersion = info->build;
    h->NumberOfProcessors = info->cpus;
    h->EndTime.QuadPart = EtlFiletimeOfWall(info->endTime);
    h->TimerResolution = info->timerResolution;
    h->MaximumFileSize = info->maxFileSize;
    h->LogFileMode = info->mode;
    h->BuffersWritten = info->buffersWritten;
    h->StartBuffers = 1;
    h->PointerSize = info->pointerSize;
    h->EventsLost = info->eventsLost;
    h->CpuSpeedInMHz = info->cpuMHz;
    h->BootTime.QuadPart = EtlFiletimeOfWall(info->bootTime);
    h->PerfFreq.QuadPart = info->frequency;
    h->StartTime.QuadPart = EtlFiletimeOfWall(info->startTime);
    h->ReservedFlags = info->clock;
    h->BuffersLost = info->buffersLost;
    h->LogFileName = c->fileName;
    h->LoggerName = c->loggerName;
    FillZone(h);
    c->log.IsKernelTrace = (info->mode & EVENT_TRACE_SYSTEM_LOGGER_MODE) != 0;
    c->log.BufferSize = info->bufferSize;
}

static void HeaderOfSession(SimConsumer *c, const SimSession *s)
{
    SYSTEM_INFO info;
    TRACE_LOGFILE_HEADER *h = &c->log.LogfileHeader;
    GetSystemInfo(&info);
    h->BufferSize = s->bufferKB * 1024;
    h->VersionDetail.MajorVersion = 10;
    h->VersionDetail.SubVersion = 1;
    h->VersionDetail.SubMinorVersion = 5;
    h->NumberOfProcessors = info.dwNumberOfProcessors;
    h->TimerResolution = 156250;
    h->LogFileMode = s->mode;
    h->StartBuffers = 1;
    h->PointerSize = sizeof(void *);
    h->PerfFreq.QuadPart = SimClockFrequency(s->clock);
    h->StartTime.QuadPart = s->start;
    h->ReservedFlags = s->clock;
    h->LoggerName = c->loggerName;
    FillZone(h);
    c->log.BufferSize = s->bufferKB * 1024;
    c->log.IsKernelTrace = s->system;
}

static ULONG OpenLogFile(SimConsumer *c)
{
    EtwError error = {0};
    char *path = SimUtf8(c->fileName);
    EtwStatus status = EtlReaderOpen(&c->reader, path, NULL, NULL, &error);
    EtwFree(path);
    if (status == ETW_OK) {
        HeaderOfFile(c);
        return ERROR_SUCCESS;
    }
    return status == ETW_E_FORMAT ? ERROR_FILE_CORRUPT
           : error.osError != 0   ? (ULONG)error.osError
                                  : ERROR_BAD_PATHNAME;
}

static ULONG OpenLogger(SimConsumer *c)
{
    ULONG error = ERROR_SUCCESS;
    AcquireSRWLockShared(&simLock);
    const SimSession *s = SimSessionFind(0, c->loggerName);
    if (s != NULL) {
        HeaderOfSession(c, s);
    }
    ReleaseSRWLockShared(&simLock);
    if (!SimMayControl(_wcsicmp(c->loggerName, KERNEL_LOGGER_NAMEW) == 0)) {
        error = ERROR_ACCESS_DENIED;
    }
    return error;
}

static void FreeConsumer(SimConsumer *c)
{
    EtlReaderClose(c->reader);
    SimQueueFree(&c->queue);
    DeleteCriticalSection(&c->lock);
    EtwFree(c);
}

static bool Take(WCHAR *to, const WCHAR *from)
{
    if (from == NULL || from[0] == 0 || wcslen(from) > SIM_NAME) {
        return false;
    }
    wcscpy(to, from);
    return true;
}

TRACEHANDLE WINAPI OpenTraceW(PEVENT_TRACE_LOGFILEW log)
{
    SimInit();
    if (log == NULL) {
        return Invalid(ERROR_INVALID_PARAMETER);
    }
    bool realTime = (log->ProcessTraceMode & PROCESS_TRACE_MODE_REAL_TIME) != 0;
    if (!(log->ProcessTraceMode & PROCESS_TRACE_MODE_EVENT_RECORD) ||
            log->EventRecordCallback == NULL) {
        return Invalid(ERROR_INVALID_PARAMETER); /* old-style callbacks are not simulated */
    }
    SimConsumer *c = EtwAlloc(sizeof *c);
    InitializeCriticalSection(&c->lock);
    InitializeConditionVariable(&c->wake);
    c->log = *log;
    c->realTime = realTime;
    ULONG error = ERROR_INVALID_PARAMETER;
    if (realTime ? Take(c->loggerName, log->LoggerName) : Take(c->fileName, log->LogFileName)) {
        error = realTime ? OpenLogger(c) : OpenLogFile(c);
    }
    int place = 0;
    AcquireSRWLockExclusive(&simLock);
    while (place < MAX_CONSUMERS && consumers[place] != NULL) {
        place++;
    }
    if (error == ERROR_SUCCESS && place == MAX_CONSUMERS) {
        error = ERROR_NO_SYSTEM_RESOURCES;
    }
    if (error == ERROR_SUCCESS) {
        c->handle = ++lastHandle;
        consumers[place] = c;
        log->LogfileHeader = c->log.LogfileHeader;
        log->BufferSize = c->log.BufferSize;
        log->IsKernelTrace = c->log.IsKernelTrace;
    }
    ReleaseSRWLockExclusive(&simLock);
    if (error != ERROR_SUCCESS) {
        FreeConsumer(c);
        return Invalid(error);
    }
    return c->handle;
}

/* ---- What the logger does ---------------------------------------------------------------------------- */

bool SimConsumerGive(SimConsumer *c, const SimBuffer *b)
{
    bool taken = false;
    EnterCriticalSection(&c->lock);
    if (c->closed) {
        taken = true;
    } else if (c->queue.count < c->limit) {
        SimBuffer *copy = EtwAlloc(sizeof *b + b->used);
        memcpy(copy, b, sizeof *b + b->used);
        copy->lostBuffers = c->lostBuffers;
        c->lostBuffers = 0;
        SimQueueAdd(&c->queue, copy);
        taken = true;
    } else {
        c->lostBuffers++;
    }
    WakeConditionVariable(&c->wake);
    LeaveCriticalSection(&c->lock);
    return taken;
}

void SimConsumerEnd(SimConsumer *c)
{
    EnterCriticalSection(&c->lock);
    c->session = NULL;
    c->ended = true;
    WakeConditionVariable(&c->wake);
    LeaveCriticalSection(&c->lock);
}

/* ---- Delivering -------------------------------------------------------------------------------------- */

typedef struct Span {
    LONGLONG from, to; /* FILETIME, inclusive */
} Span;

static void DeliverEvent(SimConsumer *c, const EtwEvent *event, LONGLONG filetime, const Span *span)
{
    SimRecord out;
    if (filetime < span->from || filetime > span->to) {
        return;
    }
    bool raw = (c->log.ProcessTraceMode & PROCESS_TRACE_MODE_RAW_TIMESTAMP) != 0;
    c->log.CurrentTime = filetime;
    SimRecordFrom(&out, event, raw ? event->ticks : filetime, c->log.Context);
    c->log.EventRecordCallback(&out.record);
}

/* An event of class RT_LostEvent: 32 events, 33 buffers were lost here. */
static void DeliverLoss(SimConsumer *c, uint8_t type, uint32_t count, LONGLONG time)
{
    static const Span always = {INT64_MIN, INT64_MAX};
    static const EtwGuid lostGuid = {{0xE0, 0x9A, 0x39, 0x6A, 0xC6, 0x4B, 0xE9, 0x4D, 0x87, 0x0B,
            0x36, 0x57, 0xF8, 0x94, 0x7E, 0x7E}};
    EtwEvent event = {.provider = lostGuid,
            .desc = {.opcode = type},
            .classic = true,
            .pointerSize = sizeof(void *),
            .pid = GetCurrentProcessId()};
    if (count != 0) {
        DeliverEvent(c, &event, time, &always);
    }
}

static LONGLONG FiletimeOf(const SimConsumer *c, int64_t ticks)
{
    int64_t frequency = SimClockFrequency(c->clock), since = ticks - c->startTicks;
    return c->start + since / frequency * 10000000 + since % frequency * 10000000 / frequency;
}

static ULONG BufferDone(SimConsumer *c, uint32_t filled)
{
    c->log.BuffersRead++;
    c->log.Filled = filled;
    if (c->log.BufferCallback != NULL && !c->log.BufferCallback(&c->log)) {
        return ERROR_CANCELLED;
    }
    return ERROR_SUCCESS;
}

static ULONG DeliverBuffer(SimConsumer *c, const SimBuffer *b, const Span *span)
{
    bool told = false;
    for (uint32_t at = 0; at < b->used;) {
        const SimItem *item = (const SimItem *)(const void *)(b->data + at);
        EtwEvent event;
        size_t size;
        at += (uint32_t)sizeof *item;
        if (EtlRecordParse(b->data + at, item->size, &event, &size)) {
            event.cpu = item->cpu;
            LONGLONG time = FiletimeOf(c, event.ticks);
            if (!told) {
                DeliverLoss(c, 33, b->lostBuffers, time);
                DeliverLoss(c, 32, b->lostEvents, time);
                told = true;
            }
            DeliverEvent(c, &event, time, span);
        }
        at += item->size;
    }
    return BufferDone(c, b->used);
}

/* ---- Real time ---------------------------------------------------------------------------------------- */

static ULONG Join(SimConsumer *c)
{
    ULONG error = ERROR_WMI_INSTANCE_NOT_FOUND;
    AcquireSRWLockExclusive(&simLock);
    SimSession *s = SimSessionFind(0, c->loggerName);
    if (s != NULL && !s->stopping && s->mode & EVENT_TRACE_REAL_TIME_MODE) {
        c->session = s;
        c->clock = s->clock;
        c->start = s->start;
        c->startTicks = s->startTicks;
        EnterCriticalSection(&s->lock);
        c->limit = s->maxBuffers;
        c->queue = s->backlog;
        c->lostBuffers = s->consumers == NULL ? s->realTimeBuffersLost : 0;
        s->backlog = (SimQueue){0};
        LeaveCriticalSection(&s->lock);
        c->next = s->consumers;
        s->consumers = c;
        error = ERROR_SUCCESS;
    }
    ReleaseSRWLockExclusive(&simLock);
    return error;
}

static void Leave(SimConsumer *c)
{
    AcquireSRWLockExclusive(&simLock);
    if (c->session != NULL) {
        SimConsumer **link = &c->session->consumers;
        while (*link != c) {
            link = &(*link)->next;
        }
        *link = c->next;
        c->session = NULL;
    }
    ReleaseSRWLockExclusive(&simLock);
}

/* The header event that opens each trace. */
static void DeliverHeader(SimConsumer *c, const Span *span)
{
    uint8_t *data = EtwAlloc(65536);
    char *name = SimUtf8(c->loggerName);
    EtlHeader header = {.loggerName = name,
            .path = "",
            .bufferSize = 65536,
            .cpus = c->log.LogfileHeader.NumberOfProcessors,
            .mode = c->log.LogfileHeader.LogFileMode,
            .ticks0 = c->startTicks,
            .start = c->start,
            .pid = GetCurrentProcessId(),
            .tid = GetCurrentThreadId()};
    EtwEvent event;
    size_t used = EtlHeaderBuild(&header, data), size;
    if (EtlRecordParse(data + ETL_BUFFER_HEADER, used - ETL_BUFFER_HEADER, &event, &size)) {
        memcpy(&event.provider, &EventTraceGuid, sizeof event.provider);
        event.classic = true;
        event.ticks = c->startTicks;
        /* TRACE_LOGFILE_HEADER.PerfFreq: the builder's is that of our files. */
        EtwStore64((uint8_t *)(uintptr_t)event.payload + PERF_FREQ_AT,
                (uint64_t)SimClockFrequency(c->clock));
        DeliverEvent(c, &event, c->start, span);
    }
    EtwFree(name);
    EtwFree(data);
}

static ULONG ProcessRealTime(SimConsumer *c, const Span *span)
{
    ULONG error = Join(c);
    if (error != ERROR_SUCCESS) {
        return error;
    }
    DeliverHeader(c, span);
    EnterCriticalSection(&c->lock);
    while (error == ERROR_SUCCESS) {
        SimBuffer *b = SimQueueTake(&c->queue);
        uint32_t lost = b == NULL ? c->lostBuffers : 0;
        if (lost != 0) { /* no buffer came after those that were lost */
            c->lostBuffers = 0;
            LeaveCriticalSection(&c->lock);
            DeliverLoss(c, 33, lost, c->log.CurrentTime);
            EnterCriticalSection(&c->lock);
            continue;
        }
        if (b == NULL && (c->closed || c->ended)) {
            break;
        }
        if (b == NULL) {
            SleepConditionVariableCS(&c->wake, &c->lock, INFINITE);
            continue;
        }
        LeaveCriticalSection(&c->lock);
        error = DeliverBuffer(c, b, span);
        EtwFree(b);
        EnterCriticalSection(&c->lock);
    }
    LeaveCriticalSection(&c->lock);
    Leave(c);
    return error;
}

/* ---- Files ---------------------------------------------------------------------------------------------- */

typedef struct Head {
    SimConsumer *consumer;
    EtwEvent event;
    bool end;
} Head;

/* All files, merged by time. The readers do not tell where a buffer ends: the callback comes after
 * a number of events that one could hold, and at the end. */
static ULONG ProcessFiles(Head *heads, ULONG count, const Span *span)
{
    ULONG error = ERROR_SUCCESS;
    uint32_t delivered = 0;
    for (ULONG i = 0; i < count; i++) {
        heads[i].end = EtlReaderNext(heads[i].consumer->reader, &heads[i].event) != ETW_OK;
    }
    while (error == ERROR_SUCCESS) {
        Head *first = NULL;
        for (ULONG i = 0; i < count; i++) {
            if (!heads[i].end && (first == NULL || heads[i].event.time < first->event.time)) {
                first = &heads[i];
            }
        }
        if (first == NULL) {
            break;
        }
        SimConsumer *c = first->consumer;
        DeliverEvent(c, &first->event, EtlFiletimeOfWall(first->event.time), span);
        first->end = EtlReaderNext(c->reader, &first->event) != ETW_OK;
        if (c->closed) {
            break;
        }
        if (++delivered % FILE_BUFFER_EVENTS == 0 || first->end) {
            error = BufferDone(c, c->log.BufferSize);
        }
    }
    return error;
}

/* ---- The functions --------------------------------------------------------------------------------------- */

static LONGLONG FiletimeValue(const FILETIME *t, LONGLONG otherwise)
{
    return t == NULL ? otherwise : (LONGLONG)((uint64_t)t->dwHighDateTime << 32 | t->dwLowDateTime);
}

/* Claims the consumers; *liveCountPtr: how many are real time. */
static ULONG Claim(const TRACEHANDLE *handles, ULONG count, Head *heads, ULONG *liveCountPtr)
{
    ULONG error = ERROR_SUCCESS, n = 0;
    *liveCountPtr = 0;
    AcquireSRWLockExclusive(&simLock);
    for (; n < count && error == ERROR_SUCCESS; n++) {
        SimConsumer *c = heads[n].consumer = Find(handles[n]);
        if (c == NULL || c->processing || c->closed) {
            error = ERROR_INVALID_HANDLE;
            break;
        }
        c->processing = true;
        *liveCountPtr += c->realTime;
    }
    if (error == ERROR_SUCCESS && *liveCountPtr > 1) {
        error = ERROR_WMI_ALREADY_ENABLED;
    }
    for (ULONG i = 0; i < n && error != ERROR_SUCCESS; i++) {
        heads[i].consumer->processing = false;
    }
    ReleaseSRWLockExclusive(&simLock);
    return error;
}

/* Processing ended: those that were closed meanwhile go. */
static void Unclaim(Head *heads, ULONG count)
{
    for (ULONG i = 0; i < count; i++) {
        SimConsumer *c = heads[i].consumer;
        AcquireSRWLockExclusive(&simLock);
        c->processing = false;
        bool closed = c->closed;
        ReleaseSRWLockExclusive(&simLock);
        if (closed) {
            CloseTrace(c->handle);
        }
    }
}

ULONG WINAPI ProcessTrace(PTRACEHANDLE handles, ULONG count, LPFILETIME from, LPFILETIME to)
{
    Span span = {FiletimeValue(from, INT64_MIN), FiletimeValue(to, INT64_MAX)};
    ULONG live, error;
    SimInit();
    if (handles == NULL) {
        return ERROR_INVALID_PARAMETER;
    }
    if (count == 0 || count > MAX_HANDLES) {
        return ERROR_BAD_LENGTH;
    }
    if (span.to < span.from) {
        return ERROR_INVALID_TIME;
    }
    Head *heads = EtwAlloc(count * sizeof *heads);
    error = Claim(handles, count, heads, &live);
    if (error == ERROR_SUCCESS) {
        if (live == 0) {
            error = ProcessFiles(heads, count, &span);
        } else {
            error = count == 1 ? ProcessRealTime(heads[0].consumer, &span)
                               : ERROR_NOT_SUPPORTED; /* files beside it: not simulated */
        }
        Unclaim(heads, count);
    }
    EtwFree(heads);
    return error;
}

ULONG WINAPI CloseTrace(TRACEHANDLE handle)
{
    ULONG error = ERROR_SUCCESS;
    int place = 0;
    SimInit();
    AcquireSRWLockExclusive(&simLock);
    SimConsumer *c = handle != 0 ? Find(handle) : NULL;
    if (c == NULL || (c->closed && c->processing)) {
        ReleaseSRWLockExclusive(&simLock);
        return ERROR_INVALID_HANDLE;
    }
    EnterCriticalSection(&c->lock);
    c->closed = true;
    WakeConditionVariable(&c->wake);
    LeaveCriticalSection(&c->lock);
    if (c->processing) {
        error = ERROR_CTX_CLOSE_PENDING;
    } else {
        while (consumers[place] != c) {
            place++;
        }
        consumers[place] = NULL;
    }
    ReleaseSRWLockExclusive(&simLock);
    if (error == ERROR_SUCCESS) {
        FreeConsumer(c);
    }
    return error;
}

void SimConsumersReset(void)
{
    for (int i = 0; i < MAX_CONSUMERS; i++) {
        AcquireSRWLockShared(&simLock);
        TRACEHANDLE handle = consumers[i] != NULL ? consumers[i]->handle : 0;
        ReleaseSRWLockShared(&simLock);
        if (handle != 0) {
            CloseTrace(handle);
        }
    }
}
