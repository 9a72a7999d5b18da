/*
 * engine/session/logger.c --
 *
 *	The logger thread of a session: stores kernel events in the session's kernel streams, merges
 *	each CPU's two streams by time into the file, converts ticks to nanoseconds, and frees
 *	buffers that it has read. session.c starts and stops it.
 *
 *	Each round has a watermark: events up to it are processed, later events wait for the next
 *	round. So kernel and script events of a CPU are merged in exact order.
 */
#include "base/alloc.h"
#include "base/wide.h"
#include "engine/session/session_control.h"
#include "etl/format.h"

enum {
    KERNEL_INTERVAL = 20 * 1000000,       /* ns between drains while kernel tracing is on */
    CHECK_WRITER_AFTER_NS = 20 * 1000000, /* ns after which a blocking writer is checked */
    ANCHOR_INTERVAL = 1000 * 1000000,     /* ns between clock anchors */
    FULL_INTERVAL = 1000000,              /* ns between rounds while no buffer is free */
    SETTLE =
            200 * 1000 /* ns after which a stamped event is visible, also in the kernel's buffers */
};

/* ---- Records to events ----------------------------------------------------------------------- */

bool LoggerEventOf(const RingRecord *record, uint32_t size, int cpu, EtwEvent *event)
{
    RingBody body;
    const RegClass *c = RegClassAt(record->eventClass);
    if (c == NULL || !RingBodyOf(record, size, &body)) {
        return false;
    }
    memset(event, 0, sizeof *event);
    event->ticks = (int64_t)record->ticks;
    event->provider = c->guid;
    event->desc = c->desc;
    event->pid = record->pid;
    event->tid = record->tid;
    event->cpu = (uint16_t)cpu;
    event->classic = c->classic != 0;
    event->kind = event->classic ? ETL_FULL64 : ETL_EVENT64;
    event->pointerSize = 8;
    if (c->metaSize != 0) {
        event->traits = c->bytes;
        event->traitsSize = c->traitsSize;
        event->meta = c->bytes + c->traitsSize;
        event->metaSize = c->metaSize;
    }
    event->related = body.related;
    event->stack = body.stack;
    event->stackCount = body.stackCount;
    event->payload = body.payload;
    event->payloadSize = body.payloadSize;
    if (body.activity) {
        memcpy(&event->activity, body.activity, sizeof event->activity);
    }
    return true;
}

/* ---- Events that are not on disk yet --------------------------------------------------------- */

void LoggerNoteFlush(
        Ring *ring, const EtlFlush *put, const RingCursor *userAt, const RingCursor *kernelAt)
{
    RingStream *user = &ring->streams[put->cpu],
               *kernel = &ring->streams[(int)ring->cpus + put->cpu];
    if (put->done) {
        ETW_TEST_POINT("flush.done");
        atomic_store(&user->onDisk, atomic_load(&user->next));
        atomic_store(&kernel->onDisk, atomic_load(&kernel->next));
        ETW_TEST_POINT("flush.recorded");
        return;
    }
    ETW_TEST_POINT("flush.begun");
    atomic_store(&user->flushAt, put->at);
    atomic_store(&user->flushUsed, put->used);
    atomic_store(&user->flushSequence, put->sequence);
    atomic_store(&kernel->next, RingPosition(kernelAt));
    atomic_store(&user->next, RingPosition(userAt));
    ETW_TEST_POINT("flush.noted");
}

/*
 * Called before onDisk of a stream passes events that are not in the file, so that a recovery counts them. If the
 * logger is killed in between, the recovery saves events that are counted, too.
 */
static void publishGivenUp(EtwSession *s, const EtlWriterState *w)
{
    atomic_store(&s->ring->header->givenUp, s->left.lostIo + w->lostIo + s->unwritten);
}

/*
 * After this flush, the records passed to the writer so far need not be saved, and their ring
 * buffers can be released. Recovery examines the file to find out whether an unfinished flush was
 * completed.
 */
void LoggerOnFlush(void *ctx, const EtlFlush *put)
{
    EtwSession *s = ctx;
    uint32_t cpus = s->ring->cpus, cpu = (uint32_t)put->cpu;
    EtlWriterState w;
    if (s->streams == NULL || cpu >= cpus) {
        return; /* closed without a logger thread */
    }
    EtlWriterGetState(s->writer, &w);
    publishGivenUp(s, &w);
    atomic_store(&s->ring->header->fileNumber, (uint32_t)put->number); /* where to look for it */
    LoggerNoteFlush(s->ring, put, &s->streams[cpu].cursor, &s->streams[cpus + cpu].cursor);
}

bool LoggerInHurry(void *ctx)
{
    EtwSession *s = ctx;
    uint32_t used, free;
    RingCount(s->ring, &used, &free);
    return free < used;
}

/* The logger has finished a buffer. */
static void releaseBuffer(EtwSession *s, uint32_t buffer)
{
    RingHeader *h = s->ring->header;
    RingRelease(s->ring, buffer, h->realtime);
    atomic_fetch_add_explicit(&h->released, 1, memory_order_relaxed);
    atomic_store_explicit(&h->stalled, 0, memory_order_relaxed);
}

/* Free the stream's pinned buffers: those that are on disk, or all. */
static void releasePinned(EtwSession *s, uint32_t stream, bool all)
{
    LoggerStream *l = &s->streams[stream];
    uint64_t onDisk = atomic_load(&s->ring->streams[stream].onDisk);
    while (l->pinned != RING_NO_BUFFER && (all || s->pinned[l->pinned].upTo <= onDisk)) {
        uint32_t buffer = l->pinned;
        l->pinned = s->pinned[buffer].next;
        s->pinnedCount--;
        releaseBuffer(s, buffer);
    }
}

static void flushToDisk(EtwSession *s);

/* Pin a buffer that was read to its end; without a file, release it. */
static void pinBuffer(EtwSession *s, LoggerStream *l, uint32_t buffer)
{
    uint32_t stream = (uint32_t)(l - s->streams);
    atomic_store(&s->ring->streams[stream].passed, l->events);
    if (s->writer == NULL) {
        releaseBuffer(s, buffer);
        return;
    }
    s->pinned[buffer] = (LoggerPin){RING_NO_BUFFER, RingPosition(&l->cursor)};
    if (l->pinned == RING_NO_BUFFER) {
        l->pinned = buffer;
    } else {
        s->pinned[l->pinnedLast].next = buffer;
    }
    l->pinnedLast = buffer;
    s->pinnedCount++;
    releasePinned(s, stream, false);
    if (s->pinnedCount * 4 >= atomic_load(&s->ring->header->maxBuffers)) {
        flushToDisk(s); /* writers run out of free buffers */
    }
}

/* ---- Merging one CPU ------------------------------------------------------------------------- */

typedef struct Head {
    LoggerStream *stream;
    RingRecord *record; /* NULL: none up to the watermark */
    uint32_t size;
    bool blocked;
} Head;

/*
 * Wait for a writer with an open record. Abandon the record when the writer is dead, or after the
 * session's blockTimeout. The buffer of a writer that may be alive is never reused.
 */
static bool abandonBlocked(EtwSession *s, LoggerStream *stream)
{
    OsInstant now;
    uint32_t buffer = stream->cursor.buffer;
    OsNow(&now);
    if (stream->blockedSince == 0) {
        stream->blockedSince = now.steady;
    }
    if (now.steady - stream->blockedSince < CHECK_WRITER_AFTER_NS) {
        return false;
    }
    if (RingAbandon(s->ring, &stream->cursor)) {
        return true; /* the record is read as damaged now */
    }
    if (now.steady - stream->blockedSince < s->blockTimeout) {
        return false;
    }
    stream->blockedSince = 0;
    atomic_store(&s->ring->buffers[buffer].abandoned, 1);
    RingSkip(s->ring, &stream->cursor);
    atomic_fetch_add(&s->ring->header->lostAbandoned, 1);
    return true;
}

/* Read a stream's next record; pin buffers that are read to their end. */
static void look(EtwSession *s, Head *head, uint64_t until)
{
    uint32_t buffer;
    head->record = NULL;
    head->blocked = false;
    for (;;) {
        switch (RingPeek(s->ring, &head->stream->cursor, &head->record, &head->size, &buffer)) {
        case RING_RECORD:
            head->stream->blockedSince = 0;
            if (head->record->ticks > until) {
                head->record = NULL;
            }
            return;
        case RING_DONE:
            pinBuffer(s, head->stream, buffer);
            break;
        case RING_BLOCKED:
            head->record = NULL;
            if (!abandonBlocked(s, head->stream)) {
                head->blocked = true;
                return;
            }
            break;
        case RING_OVERTAKEN: /* impossible: only the logger frees buffers here */
            break;
        case RING_EMPTY:
            head->record = NULL;
            return;
        }
    }
}

static void store(EtwSession *s, int cpu, Head *head)
{
    EtwEvent event;
    if (head->stream->cursor.offset ==
            0) { /* live readers compute their loss from it; 0: unknown */
        atomic_store_explicit(&s->ring->buffers[head->stream->cursor.buffer].serial,
                head->stream->events + 1, memory_order_relaxed);
    }
    if (!LoggerEventOf(head->record, head->size, cpu, &event)) {
        atomic_fetch_add(&s->ring->header->lostAbandoned, 1);
    } else if (s->writer != NULL) {
        event.ticks = EtwAnchorsSteady(&s->anchors, head->record->ticks);
        EtlWriterAdd(s->writer, &event);
    }
    RingAdvance(&head->stream->cursor, head->size);
    head->stream->events++;
}

static void drainCpu(EtwSession *s, int cpu, uint64_t until)
{
    Head user = {.stream = &s->streams[cpu]},
         kernel = {.stream = &s->streams[s->ring->cpus + (uint32_t)cpu]};
    look(s, &user, until);
    look(s, &kernel, until);
    /* While one stream is blocked, the other one waits too: its next event could be later. */
    while (!user.blocked && !kernel.blocked && (user.record || kernel.record)) {
        bool fromUser = kernel.record == NULL ||
                        (user.record && user.record->ticks <= kernel.record->ticks);
        Head *head = fromUser ? &user : &kernel;
        store(s, cpu, head);
        look(s, head, until);
    }
}

static void drainRing(EtwSession *s, uint64_t until)
{
    if (s->ring->header->overwrite) {
        return; /* writers reuse buffers; only snapshots read */
    }
    for (uint32_t cpu = 0; cpu < s->ring->cpus; cpu++) {
        drainCpu(s, (int)cpu, until);
    }
}

/* ---- Kernel events --------------------------------------------------------------------------- */

static void emitKernel(void *ctx, const EtwKernelRecord *k)
{
    EtwSession *s = ctx;
    uint32_t stream = s->ring->cpus + (uint32_t)k->cpu % s->ring->cpus;
    EtwRawEvent raw = {
            k->event, k->ticks, k->pid, k->tid, k->payload, k->size, k->stack, k->stackCount};
    if (EtwProviderWriteTo(s->ring, stream, &raw)) {
        return;
    }
    drainRing(s, k->ticks - 1); /* kernel events are in time order: earlier ones are all stored */
    if (s->pinnedCount > 0) {
        flushToDisk(s);
    }
    if (!EtwProviderWriteTo(s->ring, stream, &raw)) {
        atomic_fetch_add(&s->ring->streams[stream].lostNoBuffer, 1);
    }
}

static void drainKernel(EtwSession *s, uint64_t until)
{
    if (s->kernel != NULL) {
        EtwKernelDrain(s->kernel, until, emitKernel, s);
        atomic_store(&s->ring->header->lostKernel, EtwKernelLost(s->kernel));
        atomic_store_explicit(&s->ring->header->kernelUntil, until, memory_order_release);
    }
}

/* ---- A round --------------------------------------------------------------------------------- */

uint64_t LoggerLost(const Ring *ring)
{
    const RingHeader *h = ring->header;
    uint64_t lost = atomic_load(&h->lostAbandoned) + atomic_load(&h->lostKernel);
    for (uint32_t i = 0; i < 2 * ring->cpus; i++) {
        lost += atomic_load(&ring->streams[i].lostNoBuffer) +
                atomic_load(&ring->streams[i].lostTooBig);
    }
    return lost;
}

static void addState(EtlWriterState *sum, const EtlWriterState *w)
{
    sum->bytes += w->bytes;
    sum->buffers += w->buffers;
    sum->events += w->events;
    sum->lostFull += w->lostFull;
    sum->lostIo += w->lostIo;
    sum->overwritten += w->overwritten;
    sum->tooBig += w->tooBig;
}

static void publishFiles(EtwSession *s)
{
    RingHeader *h = s->ring->header;
    EtlWriterState w = {0};
    if (s->writer != NULL) {
        EtlWriterGetState(s->writer, &w); /* its number of this file */
    }
    addState(&w, &s->left);
    atomic_store(&h->events, w.events);
    atomic_store(&h->bytes, w.bytes);
    atomic_store(&h->fileBuffers, w.buffers);
    atomic_store(&h->lostFull, w.lostFull);
    atomic_store(&h->lostIo, w.lostIo);
    atomic_store(&h->lostTooBig, w.tooBig);
    atomic_store(&h->overwritten, w.overwritten);
    atomic_store(&h->fileNumber, (uint32_t)w.number);
}

static void publishState(EtwSession *s)
{
    uint64_t events = 0;
    if (s->writer != NULL || s->left.buffers != 0) {
        publishFiles(s);
    } else if (!s->ring->header->overwrite) {
        for (uint32_t i = 0; i < 2 * s->ring->cpus; i++) {
            events += s->streams[i].events;
        }
        atomic_store(&s->ring->header->events, events);
    }
}

/* Write the inactive copy, then make it active, so that a crash leaves a complete one. */
static void publishAnchors(EtwSession *s)
{
    RingHeader *h = s->ring->header;
    uint32_t turn = atomic_load(&h->anchorTurn) + 1;
    h->anchors[turn % 2] = s->anchors;
    atomic_store_explicit(&h->anchorTurn, turn, memory_order_release);
}

static void anchor(EtwSession *s, const OsInstant *now)
{
    if (now->steady - s->lastAnchor.steady >= ANCHOR_INTERVAL) {
        EtwAnchorsAdd(&s->anchors, now);
        s->lastAnchor = *now;
        publishAnchors(s);
    }
}

/* margin: ns that the watermark lies in the past, so that all earlier events are visible. */
static void drain(EtwSession *s, int64_t margin)
{
    OsInstant now;
    uint64_t until;
    OsNow(&now);
    until = now.ticks - EtwShift32Div((uint64_t)margin, s->anchors.scale);
    drainKernel(s, until);
    drainRing(s, until);
    anchor(s, &now);
    atomic_store_explicit(&s->ring->header->aliveWall, now.wall, memory_order_relaxed);
    for (uint32_t i = 0; i < 2 * s->ring->cpus && s->pinnedCount > 0; i++) {
        releasePinned(s, i, false);
    }
    if (s->ring->header->realtime) {
        RingReplenish(s->ring, atomic_load(&s->ring->header->maxBuffers) / 4 + 2);
    }
    if (now.steady - s->lastSweep > ANCHOR_INTERVAL) {
        s->lastSweep = now.steady;
        RingSweep(s->ring);
    }
    publishState(s);
}

/*
 * If a writer waits for a buffer (lossless sessions): put on disk what was read, so that its buffers are
 * released. When none is free then, close the buffers that other streams have begun: the next round
 * reads and releases them.
 */
static void relieveWriters(EtwSession *s)
{
    uint32_t used, free;
    if (atomic_exchange(&s->ring->header->starved, 0) == 0) {
        return;
    }
    if (s->pinnedCount > 0) {
        flushToDisk(s);
    }
    RingCount(s->ring, &used, &free);
    if (free == 0) {
        RingCloseUsed(s->ring);
    }
}

void LoggerDrain(EtwSession *s)
{
    drain(s, 0);
}

static void flushToDisk(EtwSession *s)
{
    if (s->writer != NULL) {
        EtwStatus status = EtlWriterFlush(s->writer, LoggerLost(s->ring));
        EtlWriterState w;
        EtlWriterGetState(s->writer, &w);
        s->unwritten = status != ETW_OK ? w.unwritten : 0;
        publishState(s);
        publishGivenUp(s, &w);
    }
    /* The file cannot be written: free the buffers, so that writers can continue. */
    for (uint32_t i = 0; i < 2 * s->ring->cpus; i++) {
        atomic_store(&s->ring->streams[i].onDisk, RingPosition(&s->streams[i].cursor));
        releasePinned(s, i, true);
    }
}

void LoggerFlush(EtwSession *s)
{
    LoggerDrain(s);
    flushToDisk(s);
}

EtwStatus LoggerCloseFile(EtwSession *s, int64_t endWall)
{
    EtwStatus flushed = EtlWriterFlush(s->writer, LoggerLost(s->ring)), closed;
    EtlWriterState w;
    EtlWriterGetState(s->writer, &w);
    w.lostIo += w.unwritten; /* closing discards what is not on disk */
    addState(&s->left, &w);
    closed = EtlWriterClose(s->writer, LoggerLost(s->ring), endWall, NULL);
    s->writer = NULL;
    publishState(s);
    return flushed != ETW_OK ? flushed : closed;
}

EtwStatus LoggerOpenFile(EtwSession *s, const char *path, EtwError *err)
{
    EtlWriter *writer;
    EtlWriterConfig config = s->fileConfig;
    char full[sizeof s->file];
    EtwStatus status = OsNeedFullPath(path, full, sizeof full, err);
    if (status != ETW_OK) {
        return status;
    }
    config.path = path;
    status = EtlWriterOpen(&writer, &config, err);
    if (status != ETW_OK) {
        return status;
    }
    if (s->writer != NULL) {
        OsInstant now;
        OsNow(&now);
        LoggerDrain(s);
        LoggerCloseFile(s, now.wall);
    }
    s->writer = writer;
    memcpy(s->file, full, sizeof full);
    publishFiles(s); /* its number, without which a recovery would take it for the next file */
    return ETW_OK;
}

/* ---- The thread ------------------------------------------------------------------------------ */

static void runTasks(EtwSession *s)
{
    for (;;) {
        LoggerTask *task;
        OsMutexLock(s->taskMutex);
        task = s->tasks;
        if (task != NULL) {
            s->tasks = task->next;
        } else if (s->finish) {
            s->ended = true;
        }
        OsMutexUnlock(s->taskMutex);
        if (task == NULL) {
            return;
        }
        task->proc(s, task->arg);
        OsWakePost(task->done);
    }
}

/*
 * A full buffer wakes the logger, which leaves events that are too young for the next round (SETTLE). When no buffer is
 * free, no writer can wake it again for those that wait to be read.
 */
static int64_t interval(const EtwSession *s)
{
    int64_t flush = (int64_t)atomic_load(&s->ring->header->flushMs) * 1000000;
    uint32_t used, free;
    RingCount(s->ring, &used, &free);
    if (free == 0 && !s->ring->header->overwrite && RingHasFull(s->ring)) {
        return FULL_INTERVAL;
    }
    return s->kernel != NULL && flush > KERNEL_INTERVAL ? KERNEL_INTERVAL : flush;
}

static void loggerMain(void *arg)
{
    EtwSession *s = arg;
    EtwKernelIgnoreThread(OsTid());
    if (s->ring->header->overwrite) {
        RingPrefault(s->ring);
    }
    while (!s->finish) {
        OsInstant now;
        OsSharedWakeWait(&s->ring->wake, interval(s));
        drain(s, SETTLE);
        relieveWriters(s);
        OsNow(&now);
        if (now.steady - s->lastFlush >=
                (int64_t)atomic_load(&s->ring->header->flushMs) * 1000000) {
            s->lastFlush = now.steady;
            flushToDisk(s);
        }
        runTasks(s);
        if (!s->finish) {
            ControlServe(s);
        }
    }
}

static void freeStreams(EtwSession *s)
{
    EtwFree(s->streams);
    EtwFree(s->pinned);
    s->streams = NULL;
    s->pinned = NULL;
}

EtwStatus LoggerStart(EtwSession *s, EtwError *err)
{
    OsInstant start = {
            s->ring->header->startTicks, s->ring->header->startSteady, s->ring->header->startWall};
    s->streams = EtwAlloc(2 * s->ring->cpus * sizeof *s->streams);
    for (uint32_t i = 0; i < 2 * s->ring->cpus; i++) {
        s->streams[i].cursor = (RingCursor){.stream = i, .buffer = RING_NO_BUFFER};
        s->streams[i].pinned = RING_NO_BUFFER;
    }
    s->pinned = EtwAlloc(s->ring->bufferCount * sizeof *s->pinned);
    EtwAnchorsInit(&s->anchors, &start);
    publishAnchors(s);
    s->lastAnchor = start;
    s->lastFlush = s->lastSweep = start.steady;
    s->blockTimeout = 2000000000;
    if (OsThreadStart(&s->thread, "etw-logger", loggerMain, s) != ETW_OK) {
        freeStreams(s);
        return EtwFail(err, ETW_E_LIMIT, "THREAD", s->name,
                "cannot start the logger thread of session \"%s\"", s->name);
    }
    return ETW_OK;
}

bool LoggerCall(EtwSession *s, void (*proc)(EtwSession *, void *), void *arg)
{
    LoggerTask task = {proc, arg, OsWakeNew(), NULL}, **at;
    bool ended;
    OsMutexLock(s->taskMutex);
    ended = s->ended;
    if (!ended) {
        for (at = &s->tasks; *at != NULL; at = &(*at)->next) {
        }
        *at = &task;
    }
    OsMutexUnlock(s->taskMutex);
    if (!ended) {
        OsSharedWakePost(&s->ring->wake);
        OsWakeWait(task.done, -1);
    }
    OsWakeFree(task.done);
    return !ended;
}

void LoggerJoin(EtwSession *s)
{
    OsThreadJoin(s->thread);
    s->thread = NULL;
    freeStreams(s);
}
