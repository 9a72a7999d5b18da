/*
 * tests/win/sim/sim_logger.c --
 *
 *	A session's buffers and the thread that empties them: into the file, to real-time
 *	consumers, or (buffering mode) nowhere until somebody asks. One buffer is filled at a time, under
 *	the session's lock, so a session's events are in order; real sessions have one a CPU.
 */
#include "tests/win/sim/sim.h"
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/calendar.h"
#include "base/os.h"
#include "etl/format.h"
#include "etl/record.h"

static DWORD WINAPI LoggerMain(void *arg);

/* ---- Clock -------------------------------------------------------------------------------------- */

int64_t SimClockFrequency(ULONG clock)
{
    LARGE_INTEGER f;
    QueryPerformanceFrequency(&f);
    return clock == 2 ? 10000000 : f.QuadPart;
}

static int64_t Filetime(void)
{
    FILETIME now;
    GetSystemTimeAsFileTime(&now);
    return (int64_t)((uint64_t)now.dwHighDateTime << 32 | now.dwLowDateTime);
}

/* 2: system time; 1 and 3: the performance counter, which stands for the cycle counter, too. */
int64_t SimClockNow(ULONG clock)
{
    LARGE_INTEGER now;
    if (clock == 2) {
        return Filetime();
    }
    QueryPerformanceCounter(&now);
    return now.QuadPart;
}

static int64_t Scale(int64_t ticks, int64_t frequency, int64_t to)
{
    return ticks / frequency * to + ticks % frequency * to / frequency;
}

LONGLONG SimClockFiletime(const SimSession *s, int64_t ticks)
{
    return s->start + Scale(ticks - s->startTicks, SimClockFrequency(s->clock), 10000000);
}

static int64_t Steady(const SimSession *s, int64_t ticks)
{
    return Scale(ticks, SimClockFrequency(s->clock), 1000000000);
}

/* ---- Records ------------------------------------------------------------------------------------ */

static uint32_t BufferCapacity(const SimSession *s)
{
    return s->bufferKB * 1024 - ETL_BUFFER_HEADER;
}

/* The buffer that is filled becomes one to be emptied. lock held. */
static void CloseCurrent(SimSession *s)
{
    if (s->current != NULL) {
        SimQueueAdd(&s->full, s->current);
        s->current = NULL;
        WakeConditionVariable(&s->wake);
    }
}

/* An empty buffer; NULL: all are full. lock held. */
static SimBuffer *NextBuffer(SimSession *s)
{
    SimBuffer *b = SimQueueTake(&s->free);
    /* "In buffering mode the memory is MinimumBuffers x BufferSize" (Logging Mode Constants): it does not grow. */
    if (b == NULL &&
            s->buffers < (s->mode & EVENT_TRACE_BUFFERING_MODE ? s->minBuffers : s->maxBuffers)) {
        b = EtwAlloc(sizeof *b + BufferCapacity(s));
        s->buffers++;
    }
    if (b == NULL && s->mode & EVENT_TRACE_BUFFERING_MODE) {
        b = SimQueueTake(&s->full);
    }
    if (b != NULL) {
        b->used = b->events = 0;
        b->lostEvents = s->lostUntold;
        b->lostBuffers = 0;
        s->lostUntold = 0;
    }
    return b;
}

static uint8_t *Refuse(SimSession *s, ULONG error, ULONG *errorPtr)
{
    if (error != ERROR_SUCCESS) {
        s->eventsLost++;
        s->lostUntold++;
    }
    *errorPtr = error;
    LeaveCriticalSection(&s->lock);
    return NULL;
}

uint8_t *SimRecordBegin(SimSession *s, size_t size, int64_t *ticksPtr, ULONG *errorPtr)
{
    EnterCriticalSection(&s->lock);
    if (s->stopping) {
        return Refuse(s, ERROR_SUCCESS, errorPtr);
    }
    if (size + sizeof(SimItem) > BufferCapacity(s)) {
        return Refuse(s, ERROR_MORE_DATA, errorPtr);
    }
    if (s->current != NULL && s->current->used + size + sizeof(SimItem) > BufferCapacity(s)) {
        CloseCurrent(s);
    }
    if (s->current == NULL) {
        s->current = NextBuffer(s);
        if (s->current == NULL) {
            return Refuse(s, ERROR_NOT_ENOUGH_MEMORY, errorPtr);
        }
    }
    SimItem *item = (SimItem *)(void *)(s->current->data + s->current->used);
    *item = (SimItem){(uint32_t)size, (uint16_t)GetCurrentProcessorNumber(), 0};
    s->current->used += (uint32_t)(sizeof *item + size);
    s->current->events++;
    int64_t now = SimClockNow(s->clock);
    s->lastTicks = now > s->lastTicks ? now : s->lastTicks;
    *ticksPtr = s->lastTicks;
    *errorPtr = ERROR_SUCCESS;
    return (uint8_t *)(item + 1);
}

void SimRecordEnd(SimSession *s)
{
    LeaveCriticalSection(&s->lock);
}

/* ---- File --------------------------------------------------------------------------------------- */

static ULONG OpenWriter(SimSession *s, const WCHAR *file, ULONG mode, EtlWriter **writerPtr)
{
    SYSTEM_INFO info;
    EtwError error = {0};
    bool kb = (s->mode & EVENT_TRACE_USE_KBYTES_FOR_SIZE) != 0;
    char *path = SimUtf8(file), *name = SimUtf8(s->name);
    GetSystemInfo(&info);
    EtlWriterConfig config = {
            .path = path,
            .loggerName = name,
            .mode = mode & 0x0F,
            .bufferSize = (s->bufferKB < 1024 ? s->bufferKB : 1024) * 1024,
            .maxMB = kb ? (s->maxFile + 1023) / 1024 : s->maxFile,
            .loggerId = s->id,
            .cpus = (int)info.dwNumberOfProcessors,
            .startWall = EtwNsOfFiletime(s->start),
            .startSteady = Steady(s, s->startTicks),
            .bootTime = OsBootTime(),
            .zoneBias = OsTimeZoneBias(),
            .cpuMHz = OsCpuMHz(),
            .pid = GetCurrentProcessId(),
            .tid = GetCurrentThreadId(),
    };
    EtwStatus status = EtlWriterOpen(writerPtr, &config, &error);
    EtwFree(path);
    EtwFree(name);
    if (status == ETW_OK) {
        return ERROR_SUCCESS;
    }
    return error.osError != 0 ? (ULONG)error.osError : ERROR_INVALID_PARAMETER;
}

static bool WriteBuffer(const SimSession *s, EtlWriter *writer, const SimBuffer *b)
{
    bool all = true;
    for (uint32_t at = 0; at < b->used;) {
        const SimItem *item = (const SimItem *)(const void *)(b->data + at);
        const uint8_t *record = b->data + at + sizeof *item;
        size_t size, timeAt;
        int64_t ticks;
        at += (uint32_t)sizeof *item + item->size;
        if (!EtlRecordPeekAny(record, item->size, &ticks, &size, &timeAt)) {
            continue;
        }
        ticks = Steady(s, ticks);
        uint8_t *to = EtlWriterReserve(writer, item->cpu, ticks, item->size);
        if (to == NULL) {
            all = false;
            continue;
        }
        memcpy(to, record, item->size);
        EtwStore64(to + timeAt, (uint64_t)ticks);
    }
    return all;
}

static int64_t Now(void)
{
    return EtwNsOfFiletime(Filetime());
}

ULONG SimLoggerSwitchFile(SimSession *s, const WCHAR *file)
{
    EtlWriter *writer = NULL;
    ULONG error = OpenWriter(s, file, s->mode, &writer);
    if (error != ERROR_SUCCESS) {
        return error;
    }
    SimLoggerFlush(s);
    EnterCriticalSection(&s->writing);
    EtlWriter *old = s->writer;
    s->writer = writer;
    wcscpy(s->file, file);
    LeaveCriticalSection(&s->writing);
    if (old != NULL) {
        EtlWriterClose(old, s->eventsLost, Now(), NULL);
    }
    return ERROR_SUCCESS;
}

ULONG SimLoggerSnapshot(SimSession *s, const WCHAR *file)
{
    EtlWriter *writer = NULL;
    ULONG error = OpenWriter(s, file, EVENT_TRACE_FILE_MODE_SEQUENTIAL, &writer);
    if (error != ERROR_SUCCESS) {
        return error;
    }
    EnterCriticalSection(&s->lock);
    for (const SimBuffer *b = s->full.head; b != NULL; b = b->next) {
        WriteBuffer(s, writer, b);
    }
    if (s->current != NULL) {
        WriteBuffer(s, writer, s->current);
    }
    s->buffersWritten += s->full.count + (s->current != NULL);
    LeaveCriticalSection(&s->lock);
    return EtlWriterClose(writer, s->eventsLost, Now(), NULL) == ETW_OK ? ERROR_SUCCESS
                                                                        : ERROR_WRITE_FAULT;
}

static DWORD WINAPI StopFull(void *arg)
{
    SimSession *s = arg;
    SimSessionStop(s);
    SimSessionRelease(s);
    return 0;
}

/* A file that has its maximum size ends its session. */
static void StopWhenFull(SimSession *s)
{
    AcquireSRWLockExclusive(&simLock);
    bool mine = simSessions[s->id] == s && !s->stopping && !s->filled;
    s->filled = true;
    s->users += mine;
    ReleaseSRWLockExclusive(&simLock);
    if (mine) {
        QueueUserWorkItem(StopFull, s, WT_EXECUTELONGFUNCTION);
    }
}

/* ---- Real time ---------------------------------------------------------------------------------- */

static void LoseRealTime(SimSession *s)
{
    EnterCriticalSection(&s->lock);
    s->realTimeBuffersLost++;
    LeaveCriticalSection(&s->lock);
}

static SimBuffer *CopyOf(const SimBuffer *b)
{
    SimBuffer *copy = EtwAlloc(sizeof *b + b->used);
    memcpy(copy, b, sizeof *b + b->used);
    return copy;
}

static void Deliver(SimSession *s, const SimBuffer *b)
{
    bool heard = false;
    AcquireSRWLockShared(&simLock);
    for (SimConsumer *c = s->consumers; c != NULL; c = c->next) {
        heard = true;
        if (!SimConsumerGive(c, b)) {
            LoseRealTime(s);
        }
    }
    ReleaseSRWLockShared(&simLock);
    if (heard) {
        return;
    }
    EnterCriticalSection(&s->lock);
    if (s->backlog.count < s->maxBuffers) {
        SimQueueAdd(&s->backlog, CopyOf(b));
    } else {
        s->realTimeBuffersLost++;
    }
    LeaveCriticalSection(&s->lock);
}

/* ---- The thread --------------------------------------------------------------------------------- */

static void Empty(SimSession *s, SimBuffer *b)
{
    bool whole = true;
    EnterCriticalSection(&s->writing);
    if (s->writer != NULL) {
        whole = WriteBuffer(s, s->writer, b);
    }
    LeaveCriticalSection(&s->writing);
    if (s->mode & EVENT_TRACE_REAL_TIME_MODE) {
        Deliver(s, b);
    }
    EnterCriticalSection(&s->lock);
    s->buffersWritten++;
    s->logBuffersLost += !whole;
    SimQueueAdd(&s->free, b);
    LeaveCriticalSection(&s->lock);
    if (!whole) {
        StopWhenFull(s);
    }
}

static DWORD FlushMs(const SimSession *s)
{
    if (s->flushTimer == 0) {
        return 1000;
    }
    return s->mode & EVENT_TRACE_USE_MS_FLUSH_TIMER ? s->flushTimer : s->flushTimer * 1000;
}

/* Wait for something to do. lock held. False: everything is done and the session stops. */
static bool Await(SimSession *s, DWORD *deadline)
{
    while (s->full.head == NULL || s->paused) {
        DWORD now = GetTickCount(), left = *deadline - now;
        if (!s->paused && s->flushDone != s->flushClosed) {
            s->flushDone = s->flushClosed;
            WakeAllConditionVariable(&s->flushed);
        }
        if (!s->paused && (s->stopping || s->flushClosed != s->flushWanted || (LONG)left <= 0)) {
            *deadline = now + FlushMs(s);
            s->flushClosed = s->flushWanted;
            CloseCurrent(s);
            if (s->full.head == NULL && s->stopping) {
                return false;
            }
            continue;
        }
        SleepConditionVariableCS(&s->wake, &s->lock, s->paused ? INFINITE : left);
    }
    return true;
}

static DWORD WINAPI LoggerMain(void *arg)
{
    SimSession *s = arg;
    bool buffering = (s->mode & EVENT_TRACE_BUFFERING_MODE) != 0;
    DWORD deadline = GetTickCount() + FlushMs(s);
    EnterCriticalSection(&s->lock);
    while (buffering && !s->stopping) {
        SleepConditionVariableCS(&s->wake, &s->lock, INFINITE);
    }
    while (!buffering && Await(s, &deadline)) {
        SimBuffer *b = SimQueueTake(&s->full);
        LeaveCriticalSection(&s->lock);
        Empty(s, b);
        EnterCriticalSection(&s->lock);
    }
    s->flushDone = s->flushWanted;
    WakeAllConditionVariable(&s->flushed);
    LeaveCriticalSection(&s->lock);
    return 0;
}

/* ---- Start, flush, stop ------------------------------------------------------------------------- */

ULONG SimLoggerStart(SimSession *s)
{
    ULONG error = ERROR_SUCCESS;
    s->start = Filetime();
    s->startTicks = s->lastTicks = SimClockNow(s->clock);
    if (s->file[0] != 0 && !(s->mode & EVENT_TRACE_BUFFERING_MODE) && SimScopeHere(&s->scope)) {
        error = OpenWriter(s, s->file, s->mode, &s->writer);
    }
    if (error == ERROR_SUCCESS) {
        s->thread = CreateThread(NULL, 0, LoggerMain, s, 0, &s->threadId);
        error = s->thread == NULL ? GetLastError() : ERROR_SUCCESS;
    }
    return error;
}

void SimLoggerFlush(SimSession *s)
{
    EnterCriticalSection(&s->lock);
    ULONG mine = ++s->flushWanted;
    WakeConditionVariable(&s->wake);
    while ((LONG)(s->flushDone - mine) < 0 && !(s->mode & EVENT_TRACE_BUFFERING_MODE)) {
        SleepConditionVariableCS(&s->flushed, &s->lock, INFINITE);
    }
    LeaveCriticalSection(&s->lock);
    EnterCriticalSection(&s->writing);
    if (s->writer != NULL) {
        EtlWriterFlush(s->writer, s->eventsLost);
    }
    LeaveCriticalSection(&s->writing);
}

void SimLoggerStop(SimSession *s)
{
    WakeConditionVariable(&s->wake);
    WaitForSingleObject(s->thread, INFINITE);
    EnterCriticalSection(&s->writing);
    if (s->writer != NULL) {
        EtlWriterClose(s->writer, s->eventsLost, Now(), NULL);
        s->writer = NULL;
    }
    LeaveCriticalSection(&s->writing);
    AcquireSRWLockExclusive(&simLock);
    while (s->consumers != NULL) {
        SimConsumer *c = s->consumers;
        s->consumers = c->next;
        SimConsumerEnd(c);
    }
    ReleaseSRWLockExclusive(&simLock);
}

void SimLoggerFree(SimSession *s)
{
    if (s->writer != NULL) {
        EtlWriterClose(s->writer, 0, Now(), NULL);
    }
    if (s->thread != NULL) {
        CloseHandle(s->thread);
    }
    EtwFree(s->current);
    SimQueueFree(&s->free);
    SimQueueFree(&s->full);
    SimQueueFree(&s->backlog);
    DeleteCriticalSection(&s->lock);
    DeleteCriticalSection(&s->writing);
    EtwFree(s);
}

ULONG WINAPI EtwSimPause(LPCWSTR name, BOOL paused)
{
    SimInit();
    AcquireSRWLockShared(&simLock);
    SimSession *s = SimSessionFind(0, name);
    if (s != NULL) {
        EnterCriticalSection(&s->lock);
        s->paused = paused;
        WakeConditionVariable(&s->wake);
        LeaveCriticalSection(&s->lock);
    }
    ReleaseSRWLockShared(&simLock);
    return s != NULL ? ERROR_SUCCESS : ERROR_WMI_INSTANCE_NOT_FOUND;
}
