/*
 * win/system/system_live.c --
 *
 *	A live consumer of a session of Windows' ETW. ProcessTrace runs on its own thread (the
 *	worker). Its callback converts each EVENT_RECORD to the bytes that the record has in a file
 *	and stores them in batches. EtwLiveNext parses these with the parser for files, so that no
 *	part of an event is lost. The queue of batches is bounded: events that occur while it is
 *	full are dropped and counted. Files are read by etl/, not here.
 *
 *	Ownership: a batch belongs to the worker until it is published, then to the queue, then to
 *	the reader. Worker and reader each have a reference to the struct; the last one frees it. If
 *	ProcessTrace does not return in time, its thread is not joined.
 */
#include "win/system/system_int.h"
#include "etl/record.h"
#include "base/calendar.h"
#include <stdio.h>

enum {
    BATCH_SIZE = 128 << 10,
    MAX_BATCHES = 512, /* 64 MB */
    MAX_SPARES = 16,
    JOIN_NS = 900 * 1000000,
    ITEM_ROOM = 8 /* header of an extended item in a record */
};

typedef struct Batch {
    struct Batch *next;
    size_t used;
    uint8_t data[BATCH_SIZE];
} Batch;

/* Precedes each record in a batch; records are 8-aligned. */
typedef struct Slot {
    uint32_t size; /* of the record, 8-aligned */
    uint16_t cpu, logger;
    uint32_t flags; /* of the EVENT_HEADER */
    uint32_t late;
} Slot;

typedef struct SystemLive {
    EtwLive pub; /* must be first */
    TRACEHANDLE trace;
    OsThread *thread;
    OsWake *wake, *done;
    volatile LONG refs;    /* reader and worker */
    volatile LONG closing; /* the reader has closed: drop all events */
    volatile LONG waiting; /* the reader waits: publish at once */
    volatile LONG64 lost;
    SRWLOCK lock; /* guards the queue, spares and ended */
    Batch *first, *last;
    volatile LONG count; /* changed under the lock; also read without it */
    Batch *spares;       /* read batches, to be reused */
    int spareCount;
    bool ended;
    Batch *filling;    /* used by the worker */
    LONGLONG youngest; /* used by the worker: latest time of an event so far */
    Batch *reading;    /* used by the reader, with `at` */
    size_t at;
} SystemLive;

/* Events that report to a live consumer what the session has lost (documented as RT_LostEvent). */
static const GUID lostGuid = {
        0x6a399ae0, 0x4bc6, 0x4de9, {0x87, 0x0b, 0x36, 0x57, 0xf8, 0x94, 0x7e, 0x7e}};

/* ---- The queue ------------------------------------------------------------------------------- */

static void freeBatches(Batch *batch)
{
    while (batch != NULL) {
        Batch *next = batch->next;
        EtwFree(batch);
        batch = next;
    }
}

static void freeLive(SystemLive *l)
{
    if (InterlockedDecrement(&l->refs) > 0) {
        return;
    }
    freeBatches(l->first);
    freeBatches(l->spares);
    EtwFree(l->filling);
    EtwFree(l->reading);
    OsWakeFree(l->wake);
    OsWakeFree(l->done);
    EtwFree(l);
}

/* Called by the worker. */
static void publish(SystemLive *l, bool ended)
{
    Batch *batch = l->filling;
    bool give = batch != NULL && batch->used > 0;
    AcquireSRWLockExclusive(&l->lock);
    if (give) {
        batch->next = NULL;
        *(l->first != NULL ? &l->last->next : &l->first) = batch;
        l->last = batch;
        l->count++;
        l->filling = NULL;
    }
    l->ended |= ended;
    ReleaseSRWLockExclusive(&l->lock);
    if (give || ended) {
        OsWakePost(l->wake);
    }
}

/* A batch to fill; NULL: the queue is full. Called by the worker. */
static Batch *newBatch(SystemLive *l)
{
    if (l->count >= MAX_BATCHES) { /* unlocked, because it is checked for each event */
        return NULL;
    }
    AcquireSRWLockExclusive(&l->lock);
    Batch *batch = l->spares;
    if (batch != NULL) {
        l->spares = batch->next;
        l->spareCount--;
    }
    ReleaseSRWLockExclusive(&l->lock);
    batch = batch != NULL ? batch : EtwAlloc(sizeof *batch);
    batch->used = 0;
    return batch;
}

/* Reserve a record in the current batch. NULL: no space; the event is counted as lost. */
static Slot *capacityFor(SystemLive *l, size_t size)
{
    if (l->filling != NULL && l->filling->used + sizeof(Slot) + size > BATCH_SIZE) {
        publish(l, false);
    }
    l->filling = l->filling != NULL ? l->filling : newBatch(l);
    if (l->filling == NULL) {
        InterlockedIncrement64(&l->lost);
        return NULL;
    }
    Slot *slot = (Slot *)(void *)(l->filling->data + l->filling->used);
    l->filling->used += sizeof *slot + size;
    return slot;
}

/* ---- Records --------------------------------------------------------------------------------- */

static size_t itemsSize(const EVENT_RECORD *r)
{
    size_t size = 0;
    for (unsigned i = 0; i < r->ExtendedDataCount; i++) {
        size += EtwAlign8(ITEM_ROOM + (size_t)r->ExtendedData[i].DataSize);
    }
    return size;
}

static uint8_t *putItems(uint8_t *at, const EVENT_RECORD *r)
{
    for (unsigned i = 0; i < r->ExtendedDataCount; i++) {
        const EVENT_HEADER_EXTENDED_DATA_ITEM *item = &r->ExtendedData[i];
        size_t capacity = EtwAlign8(ITEM_ROOM + (size_t)item->DataSize);
        memset(at, 0, capacity);
        EtwStore16(at, (uint16_t)capacity);
        EtwStore16(at + 2, item->ExtType);
        EtwStore16(at + 4, i + 1u < r->ExtendedDataCount ? 1 : 0);
        EtwStore16(at + 6, item->DataSize);
        if (item->DataSize > 0) {
            memcpy(at + ITEM_ROOM, (const void *)(ULONG_PTR)item->DataPtr, item->DataSize);
        }
        at += capacity;
    }
    return at;
}

/* In a callback an EVENT_HEADER has the same layout as in a file, except for the first words. */
static void putRecord(uint8_t *out, const EVENT_RECORD *r, size_t size, bool items)
{
    const EVENT_HEADER *h = &r->EventHeader;
    uint16_t flags = (uint16_t)(h->Flags & ~EVENT_HEADER_FLAG_EXTENDED_INFO);
    memcpy(out, h, sizeof *h);
    EtwStore16(out, (uint16_t)size);
    out[2] = h->Flags & EVENT_HEADER_FLAG_32_BIT_HEADER ? ETL_EVENT32 : ETL_EVENT64;
    out[3] = ETL_MARK_TYPED;
    EtwStore16(out + 4, items ? flags | EVENT_HEADER_FLAG_EXTENDED_INFO : flags);
    out = items ? putItems(out + sizeof *h, r) : out + sizeof *h;
    if (r->UserDataLength > 0) {
        memcpy(out, r->UserData, r->UserDataLength);
    }
}

static void WINAPI onEvent(EVENT_RECORD *r)
{
    SystemLive *l = r->UserContext;
    size_t items = itemsSize(r);
    size_t size = sizeof r->EventHeader + items + r->UserDataLength;
    if (l->closing) {
        return;
    }
    if (memcmp(&r->EventHeader.ProviderId, &lostGuid, sizeof lostGuid) == 0) {
        InterlockedIncrement64(&l->lost);
        return;
    }
    if (size > ETL_MAX_RECORD) {
        InterlockedIncrement64(&l->lost);
        return;
    }
    Slot *slot = capacityFor(l, EtwAlign8(size));
    if (slot == NULL) {
        return;
    }
    LONGLONG time = r->EventHeader.TimeStamp.QuadPart;
    *slot = (Slot){(uint32_t)EtwAlign8(size),
            r->EventHeader.Flags & EVENT_HEADER_FLAG_PROCESSOR_INDEX
                    ? r->BufferContext.ProcessorIndex
                    : r->BufferContext.ProcessorNumber,
            r->BufferContext.LoggerId, r->EventHeader.Flags, time < l->youngest};
    l->youngest = time > l->youngest ? time : l->youngest;
    putRecord((uint8_t *)(slot + 1), r, size, items > 0);
    if (l->waiting) {
        InterlockedExchange(&l->waiting, 0);
        publish(l, false);
    }
}

/* Called after each buffer of the session. FALSE ends ProcessTrace. */
static ULONG WINAPI onBuffer(EVENT_TRACE_LOGFILEW *log)
{
    SystemLive *l = log->Context;
    publish(l, false);
    return l->closing ? FALSE : TRUE;
}

static void work(void *arg)
{
    SystemLive *l = arg;
    OsWakePost(l->done);
    ProcessTrace(&l->trace, 1, NULL, NULL);
    publish(l, true);
    OsWakePost(l->done);
    freeLive(l);
}

/* ---- The reader ------------------------------------------------------------------------------ */

/* Return the batch that was read and get the next one; NULL: none now. */
static Batch *take(SystemLive *l, Batch *done, bool *endedPtr)
{
    AcquireSRWLockExclusive(&l->lock);
    Batch *batch = l->first;
    if (done != NULL && l->spareCount < MAX_SPARES) {
        done->next = l->spares;
        l->spares = done;
        l->spareCount++;
        done = NULL;
    }
    if (batch != NULL) {
        l->first = batch->next;
        l->count--;
    }
    *endedPtr = l->ended;
    InterlockedExchange(&l->waiting, batch == NULL);
    ReleaseSRWLockExclusive(&l->lock);
    EtwFree(done);
    return batch;
}

static EtwStatus liveNext(EtwLive *live, EtwEvent *event)
{
    SystemLive *l = (SystemLive *)live;
    for (;;) {
        bool ended = false;
        if (l->reading == NULL || l->at >= l->reading->used) {
            l->at = 0;
            l->reading = take(l, l->reading, &ended);
            if (l->reading == NULL) {
                return ended ? ETW_END : ETW_AGAIN;
            }
        }
        const Slot *slot = (const Slot *)(const void *)(l->reading->data + l->at);
        size_t size;
        l->at += sizeof *slot + slot->size;
        if (!EtlRecordParse((const uint8_t *)(slot + 1), slot->size, event, &size)) {
            InterlockedIncrement64(&l->lost);
            continue;
        }
        event->time = EtwNsOfFiletime(event->ticks);
        event->cpu = slot->cpu;
        event->logger = slot->logger;
        event->late = slot->late != 0;
        event->classic = (slot->flags & EVENT_HEADER_FLAG_CLASSIC_HEADER) != 0;
        event->kind = slot->flags & EVENT_HEADER_FLAG_TRACE_MESSAGE ? ETL_MESSAGE : event->kind;
        return ETW_OK;
    }
}

static void liveWait(EtwLive *live, int64_t timeoutNs)
{
    OsWakeWait(((SystemLive *)live)->wake, timeoutNs);
}

static void liveWake(EtwLive *live)
{
    OsWakePost(((SystemLive *)live)->wake);
}

static uint64_t liveLost(const EtwLive *live)
{
    SystemLive *l = (SystemLive *)(uintptr_t)live;
    return (uint64_t)InterlockedCompareExchange64(&l->lost, 0, 0);
}

static void liveClose(EtwLive *live)
{
    SystemLive *l = (SystemLive *)live;
    HMODULE self;
    InterlockedExchange(&l->closing, 1);
    CloseTrace(l->trace); /* ERROR_CTX_CLOSE_PENDING: ProcessTrace returns soon */
    if (OsWakeWait(l->done, JOIN_NS)) {
        OsThreadJoin(l->thread);
    } else { /* the thread continues: keep its code loaded */
        GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
                (LPCWSTR)(const void *)&lostGuid, &self);
    }
    freeLive(l);
}

static const EtwLiveOps liveOps = {
        .next = liveNext, .wait = liveWait, .wake = liveWake, .lost = liveLost, .close = liveClose};

/* ---- Opening --------------------------------------------------------------------------------- */

static bool isInvalid(TRACEHANDLE trace)
{
    /* The value for 32-bit programs changed with Windows 8. */
    return trace == UINT64_MAX || (sizeof(void *) == 4 && trace == UINT32_MAX);
}

EtwStatus SystemLiveOpen(const char *name, EtwLive **livePtr, EtwError *err)
{
    SystemProperties s;
    TRACEHANDLE session;
    EVENT_TRACE_LOGFILEW log = {0};
    EtwStatus status = SystemHandle(name, &session, &s, err);
    if (status != ETW_OK) {
        return status;
    }
    if (!(s.p.LogFileMode & EVENT_TRACE_REAL_TIME_MODE)) {
        return EtwFail(err, ETW_E_STATE, "REALTIME", name,
                "session \"%s\" cannot be read while it runs: start it with -realtime 1", name);
    }
    SystemLive *l = EtwAlloc(sizeof *l);
    l->pub.ops = &liveOps;
    l->refs = 1;
    l->wake = OsWakeNew();
    l->done = OsWakeNew();
    InitializeSRWLock(&l->lock);
    log.LoggerName = s.name; /* in Windows' spelling */
    log.ProcessTraceMode = PROCESS_TRACE_MODE_REAL_TIME | PROCESS_TRACE_MODE_EVENT_RECORD;
    log.BufferCallback = onBuffer;
    log.EventRecordCallback = onEvent;
    log.Context = l;
    l->trace = OpenTraceW(&log);
    if (isInvalid(l->trace)) {
        status = SystemFail(err, GetLastError(), "read session", name);
    } else {
        l->refs = 2;
        status = OsThreadStart(&l->thread, "etw-live", work, l);
        if (status == ETW_OK) {
            OsWakeWait(l->done, JOIN_NS); /* started, as far as can be determined */
        } else {
            l->refs = 1;
            CloseTrace(l->trace);
            EtwFail(err, status, "THREAD", name,
                    "cannot start a thread for a live consumer of \"%s\"", name);
        }
    }
    if (status != ETW_OK) {
        freeLive(l);
        return status;
    }
    *livePtr = &l->pub;
    return ETW_OK;
}
