/*
 * tcl/consume/consumer.c --
 *
 *	Background consumers. A worker thread reads a query's sources, filters in C, and fills
 *	batches with copies of the records. The interpreter's thread converts them to Tcl values and
 *	calls the command from its event loop. The worker does not use Tcl objects.
 *
 *	Ownership: the source and the worker's filter belong to the worker from its start until it
 *	has been joined. A batch in a list belongs to the list; otherwise it belongs to the worker,
 *	which fills it, or to the interpreter's thread, which delivers it. The mutex guards the two
 *	lists (`filled`, `free`) and `notified`. At most QUEUE_BATCHES exist. If none is free, a
 *	worker of files waits for one, and a worker of live sources drops the event and counts it.
 *
 *	Everything else belongs to the interpreter's thread. A consumer that has ended keeps its
 *	name and counters until `etw consumer cancel` or the interpreter's end.
 */
#include "tcl/consume/consumer.h"
#include "base/os.h"
#include "engine/kernel_events.h"
#include <stdio.h>

enum { BATCH_EVENTS = 512, BATCH_BYTES = 128 * 1024, QUEUE_BATCHES = 16 };
enum { SLICE_NS = 8 * 1000 * 1000, PAUSE_MS = 1, LIVE_WAIT_NS = 200 * 1000 * 1000 };

typedef struct Batch {
    struct Batch *next;
    int count;
    int delivered;
    uint8_t *bytes; /* memory of the events' data */
    size_t used, capacity;
    EtwEvent events[BATCH_EVENTS];
} Batch;

typedef enum State { RUNNING, DONE, CANCELLED, FAILED } State;
static const char *const stateNames[] = {"running", "done", "cancelled", "failed"};

typedef struct Notice Notice;

typedef struct EtwConsumer {
    EtwInterp *ctx;
    char name[24];
    State state;
    Tcl_Obj *command;
    int batch;      /* events per call; 0: one event, not as a list */
    EtwQuery query; /* its maker and `where` are used by the interpreter's thread */
    Tcl_TimerToken timer;
    Tcl_Obj *warnings; /* NULL: running */
    bool busy; /* a callback is running: deliveries from its event loop would be out of order */
    uint64_t delivered;

    OsThread *thread;
    Tcl_ThreadId owner;
    EtwFilter workerFilter; /* with a store of its own */
    uint64_t workerLimit;   /* 0: none; only used if Tcl does not filter */
    bool live;
    bool cancelled;    /* atomic: the worker must return */
    bool exhausted;    /* atomic: the worker has returned */
    uint64_t examined; /* atomic: events that the worker has read, whether they passed or not */
    uint64_t dropped;  /* atomic */
    uint64_t lost;     /* atomic: losses of the sources */
    OsWake *capacity;  /* posted when a batch becomes free */

    OsMutex *mutex;
    Batch *filled, **filledEnd;
    Batch *free;
    int batches;    /* number allocated */
    bool notified;  /* a notice is queued for the interpreter's thread */
    bool held;      /* the worker has events that wait until the queue is empty */
    Notice *notice; /* the next one; allocated by the interpreter's thread, so that the worker
                       does not use Tcl's allocator */
} EtwConsumer;

/*
 * Relaxed loads and stores suffice: each field is an independent flag or counter. The mutex
 * publishes the contents of batches.
 */
#define LOAD(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define STORE(field, value) __atomic_store_n(&(field), value, __ATOMIC_RELAXED)

/* ---- Batches --------------------------------------------------------------------------------- */

static void freeBatches(Batch *batch)
{
    while (batch != NULL) {
        Batch *next = batch->next;
        EtwFree(batch->bytes);
        EtwFree(batch);
        batch = next;
    }
}

/* A free batch, or a new one if the limit permits; NULL: none. */
static Batch *takeFree(EtwConsumer *c)
{
    OsMutexLock(c->mutex);
    Batch *batch = c->free;
    bool make = batch == NULL && c->batches < QUEUE_BATCHES;
    if (batch != NULL) {
        c->free = batch->next;
    }
    c->batches += make;
    OsMutexUnlock(c->mutex);
    if (make) {
        batch = EtwAlloc(sizeof *batch);
        batch->capacity = BATCH_BYTES;
        batch->bytes = EtwAlloc(batch->capacity);
    }
    if (batch != NULL) {
        batch->next = NULL;
        batch->count = batch->delivered = 0;
        batch->used = 0;
    }
    return batch;
}

static void returnBatch(EtwConsumer *c, Batch *batch)
{
    OsMutexLock(c->mutex);
    batch->next = c->free;
    c->free = batch;
    OsMutexUnlock(c->mutex);
    OsWakePost(c->capacity);
}

static Batch *takeFilled(EtwConsumer *c)
{
    OsMutexLock(c->mutex);
    Batch *batch = c->filled;
    bool wake = false;
    if (batch != NULL) {
        c->filled = batch->next;
        if (c->filled == NULL) {
            c->filledEnd = &c->filled;
        }
        batch->next = NULL; /* the following batches stay in the queue */
        wake = c->held && c->filled == NULL;
    }
    OsMutexUnlock(c->mutex);
    if (wake) {
        EtwSourceWake(c->query.source);
    }
    return batch;
}

static void requeueBatch(EtwConsumer *c, Batch *batch)
{
    OsMutexLock(c->mutex);
    batch->next = c->filled;
    if (c->filled == NULL) {
        c->filledEnd = &batch->next;
    }
    c->filled = batch;
    OsMutexUnlock(c->mutex);
}

/* ---- The worker ------------------------------------------------------------------------------ */

struct Notice {
    Tcl_Event header; /* must be first; Tcl frees it */
    EtwConsumer *consumer;
};

static int onNotice(Tcl_Event *event, int flags);

static Notice *newNotice(EtwConsumer *c)
{
    Notice *notice = (Notice *)Tcl_Alloc(sizeof *notice);

    notice->header.proc = onNotice;
    notice->header.nextPtr = NULL;
    notice->consumer = c;
    return notice;
}

/* Notify the interpreter's thread, unless a notice is queued already. */
static void notify(EtwConsumer *c, Batch *filled)
{
    OsMutexLock(c->mutex);
    if (filled != NULL) {
        filled->next = NULL;
        *c->filledEnd = filled;
        c->filledEnd = &filled->next;
    }
    bool needed = !c->notified;
    c->notified = true;
    OsMutexUnlock(c->mutex);
    if (needed) {
        Notice *notice =
                c->notice; /* not shared until the next one was allocated and `notified` cleared */
        Tcl_ThreadQueueEvent(c->owner, &notice->header, TCL_QUEUE_TAIL);
        Tcl_ThreadAlert(c->owner);
    }
}

static void queueBatch(EtwConsumer *c, Batch **batchPtr)
{
    STORE(c->lost, EtwSourceLost(c->query.source));
    if (*batchPtr != NULL && (*batchPtr)->count > 0) {
        notify(c, *batchPtr);
        *batchPtr = NULL;
    }
}

/*
 * The source has no more events now: queue the batch, unless the interpreter's thread is behind. In
 * that case the batch waits and grows, because a queue of batches with one event each would soon be
 * full.
 */
static void queuePartial(EtwConsumer *c, Batch **batchPtr)
{
    OsMutexLock(c->mutex);
    c->held = *batchPtr != NULL && c->filled != NULL;
    bool held = c->held;
    OsMutexUnlock(c->mutex);
    if (!held) {
        queueBatch(c, batchPtr);
    }
}

/* Append a copy of `size` bytes to the batch, which has space for them. NULL stays NULL. */
static const uint8_t *keep(Batch *batch, const uint8_t *data, size_t size)
{
    if (data == NULL || size == 0) {
        return NULL;
    }
    uint8_t *at = batch->bytes + batch->used;
    memcpy(at, data, size);
    batch->used += EtwAlign8(size);
    return at;
}

static size_t stackSize(const EtwEvent *event)
{
    return (size_t)event->stackCount * EtwEventStackWidth(event);
}

static size_t bytesOf(const EtwEvent *event)
{
    return EtwAlign8(event->payloadSize) + EtwAlign8(event->metaSize) +
           EtwAlign8(event->traitsSize) + EtwAlign8(stackSize(event)) + 16;
}

static void copyEvent(Batch *batch, const EtwEvent *event)
{
    EtwEvent *copy = &batch->events[batch->count++];

    *copy = *event;
    copy->payload = keep(batch, event->payload, event->payloadSize);
    copy->meta = keep(batch, event->meta, event->metaSize);
    copy->traits = keep(batch, event->traits, event->traitsSize);
    copy->stack = keep(batch, event->stack, stackSize(event));
    copy->related = keep(batch, event->related, 16);
    copy->extended = NULL;
    copy->extendedSize = 0;
    copy->record = NULL;
}

/*
 * A batch to fill. With files this waits for one. NULL: cancelled, or a live source's event has to
 * be dropped.
 */
static Batch *batchToFill(EtwConsumer *c)
{
    Batch *batch = takeFree(c);

    while (batch == NULL && !c->live && !LOAD(c->cancelled)) {
        OsWakeWait(c->capacity, -1);
        batch = takeFree(c);
    }
    return batch;
}

static void addEvent(EtwConsumer *c, Batch **batchPtr, const EtwEvent *event)
{
    size_t bytes = bytesOf(event);
    Batch *batch = *batchPtr;

    if (batch != NULL && (batch->count == BATCH_EVENTS || batch->capacity - batch->used < bytes)) {
        queueBatch(c, batchPtr);
    }
    if (*batchPtr == NULL) {
        *batchPtr = batchToFill(c);
    }
    batch = *batchPtr;
    if (batch == NULL) {
        STORE(c->dropped, LOAD(c->dropped) + 1); /* only the worker writes it */
        return;
    }
    if (batch->capacity < bytes) { /* an empty batch: one with events was queued above */
        batch->bytes = EtwRealloc(batch->bytes, bytes);
        batch->capacity = bytes;
    }
    copyEvent(batch, event);
}

/* True: continue. */
static bool workOnce(EtwConsumer *c, Batch **batchPtr, uint64_t *passedPtr)
{
    EtwEvent event;
    EtwSource *source = c->query.source;
    EtwStatus status = EtwSourceNext(source, &event);

    if (status == ETW_PAUSE) {
        return true;
    }
    if (status == ETW_AGAIN) {
        queuePartial(c, batchPtr);
        EtwSourceWait(source, LIVE_WAIT_NS);
        return true;
    }
    if (status == ETW_OK) {
        STORE(c->examined, LOAD(c->examined) + 1);
        status = EtwFilterTest(&c->workerFilter, source, &event);
    }
    if (status == ETW_OK) {
        addEvent(c, batchPtr, &event);
        ++*passedPtr;
    }
    return (status == ETW_OK || status == ETW_AGAIN) &&
           (c->workerLimit == 0 || *passedPtr < c->workerLimit);
}

static void work(void *clientData)
{
    EtwConsumer *c = clientData;
    Batch *batch = NULL;
    uint64_t passed = 0;

    EtwKernelIgnoreThread(OsTid());
    while (!LOAD(c->cancelled) && workOnce(c, &batch, &passed)) {
    }
    queueBatch(c, &batch);
    freeBatches(batch);
    /* Release: with this value, all batches are visible, too. */
    __atomic_store_n(&c->exhausted, true, __ATOMIC_RELEASE);
    notify(c, NULL);
}

/* ---- The end --------------------------------------------------------------------------------- */

static int isNoticeOf(Tcl_Event *event, void *clientData)
{
    return event->proc == onNotice && ((Notice *)event)->consumer == clientData;
}

/*
 * Stop the worker and free everything except name and counters. Fast, because the worker checks the
 * flag at each event.
 */
static void endConsumer(EtwConsumer *c, State state)
{
    if (c->state != RUNNING) {
        return;
    }
    c->state = state;
    STORE(c->cancelled, true);
    if (c->thread != NULL) {
        EtwSourceWake(c->query.source);
        OsWakePost(c->capacity);
        OsThreadJoin(c->thread);
        c->thread = NULL;
    }
    Tcl_DeleteEvents(isNoticeOf, c);
    if (!c->notified) { /* otherwise Tcl frees it */
        Tcl_Free((char *)c->notice);
    }
    Tcl_DeleteTimerHandler(c->timer);
    c->timer = NULL;
    EtwQuery asked = c->query; /* the worker's store has seen the events */
    asked.filter = c->workerFilter;
    c->warnings = EtwQueryWarnings(&asked);
    Tcl_IncrRefCount(c->warnings);
    EtwQueryClose(&c->query);
    EtwSchemaStoreFree(c->workerFilter.store);
    freeBatches(c->filled);
    freeBatches(c->free);
    c->filled = c->free = NULL;
    c->filledEnd = &c->filled;
    Tcl_DecrRefCount(c->command);
    OsMutexFree(c->mutex);
    OsWakeFree(c->capacity);
}

static void freeConsumer(void *block)
{
    EtwConsumer *c = block;

    if (c->warnings != NULL) {
        Tcl_DecrRefCount(c->warnings);
    }
    EtwFree(c);
}

static void forget(EtwConsumer *c)
{
    Tcl_HashEntry *entry = Tcl_FindHashEntry(&c->ctx->consumers, c->name);

    if (entry != NULL && Tcl_GetHashValue(entry) == c) {
        Tcl_DeleteHashEntry(entry);
        Tcl_EventuallyFree(c, (Tcl_FreeProc *)freeConsumer);
    }
}

void EtwConsumersFree(EtwInterp *ctx)
{
    Tcl_HashSearch search;

    if (!ctx->consumersReady) {
        return;
    }
    Tcl_HashEntry *entry;
    while ((entry = Tcl_FirstHashEntry(&ctx->consumers, &search)) != NULL) {
        EtwConsumer *c = Tcl_GetHashValue(entry);
        endConsumer(c, CANCELLED);
        forget(c);
    }
    Tcl_DeleteHashTable(&ctx->consumers);
    ctx->consumersReady = false;
}

/* ---- Delivery -------------------------------------------------------------------------------- */

static int64_t steadyNow(void)
{
    OsInstant now;
    OsNow(&now);
    return now.steady;
}

/* Apply Tcl's part of -where. TCL_OK; TCL_CONTINUE: filtered out; TCL_ERROR. */
static int passes(EtwConsumer *c, const EtwEvent *event)
{
    bool pass = true;

    if (c->query.whereMaker != NULL && EtwWhereTest(c->ctx->interp, &c->query.where,
                                               c->query.whereMaker, event, &pass) != TCL_OK) {
        return TCL_ERROR;
    }
    return pass ? TCL_OK : TCL_CONTINUE;
}

static bool limitReached(const EtwConsumer *c)
{
    return c->query.limit > 0 && c->query.taken >= c->query.limit;
}

/*
 * The argument of the next call: an event or a list of them. NULL with TCL_CONTINUE: all were
 * filtered out.
 */
static int nextArgument(EtwConsumer *c, Batch *batch, Tcl_Obj **argPtr)
{
    Tcl_Obj *list = c->batch ? Tcl_NewListObj(0, NULL) : NULL;
    int wanted = c->batch ? c->batch : 1;
    int count = 0;
    int result = TCL_OK;

    *argPtr = NULL;
    while (count < wanted && batch->delivered < batch->count && !limitReached(c)) {
        const EtwEvent *event = &batch->events[batch->delivered++];
        result = passes(c, event);
        if (result == TCL_ERROR || c->state != RUNNING) {
            break;
        }
        if (result == TCL_OK) {
            Tcl_Obj *obj = EtwEventObj(c->query.maker, event);
            c->query.taken++;
            count++;
            *argPtr = list ? list : obj;
            if (list != NULL) {
                Tcl_ListObjAppendElement(NULL, list, obj);
            }
        }
    }
    if (list != NULL && *argPtr == NULL) {
        Tcl_DecrRefCount(list);
    }
    c->delivered += (uint64_t)count;
    return result == TCL_ERROR ? TCL_ERROR : *argPtr ? TCL_OK : TCL_CONTINUE;
}

/* Call the command once. False: the consumer has ended. */
static bool callOnce(EtwConsumer *c, Batch *batch)
{
    Tcl_Interp *interp = c->ctx->interp;
    Tcl_Obj *arg;
    int result = nextArgument(c, batch, &arg);

    if (result == TCL_OK && c->state == RUNNING) {
        result = EtwCallPrefix(interp, c->command, 1, &arg);
    } else if (arg != NULL) {
        Tcl_IncrRefCount(arg);
        Tcl_DecrRefCount(arg);
    }
    if (result == TCL_ERROR) {
        Tcl_AddErrorInfo(interp, "\n    (\"etw consume\" command)");
        Tcl_BackgroundException(interp, TCL_ERROR);
        endConsumer(c, FAILED);
    } else if (result == TCL_BREAK) {
        endConsumer(c, CANCELLED);
    }
    if (c->state == RUNNING && limitReached(c)) {
        endConsumer(c, DONE);
    }
    return c->state == RUNNING;
}

static void deliverQueued(EtwConsumer *c);

static void onTimer(void *clientData)
{
    EtwConsumer *c = clientData;

    c->timer = NULL;
    deliverQueued(c);
}

/*
 * Deliver for a slice of time. A timer continues, so that sockets, timers and idle tasks are
 * served.
 */
static void deliverSlice(EtwConsumer *c)
{
    int64_t until = steadyNow() + SLICE_NS;
    Batch *batch;

    while (c->state == RUNNING && (batch = takeFilled(c)) != NULL) {
        while (batch->delivered < batch->count && callOnce(c, batch)) {
            if (steadyNow() >= until) {
                break;
            }
        }
        if (c->state != RUNNING) {
            freeBatches(batch);
            return;
        }
        if (batch->delivered < batch->count) {
            requeueBatch(c, batch);
            c->timer = Tcl_CreateTimerHandler(PAUSE_MS, onTimer, c);
            return;
        }
        returnBatch(c, batch);
        if (steadyNow() >= until) {
            c->timer = Tcl_CreateTimerHandler(PAUSE_MS, onTimer, c);
            return;
        }
    }
}

static bool isDrained(EtwConsumer *c)
{
    bool exhausted = __atomic_load_n(&c->exhausted, __ATOMIC_ACQUIRE);

    OsMutexLock(c->mutex);
    bool empty = c->filled == NULL;
    OsMutexUnlock(c->mutex);
    return exhausted && empty;
}

static void deliverQueued(EtwConsumer *c)
{
    EtwInterp *ctx = c->ctx;
    Tcl_Interp *interp = ctx->interp;

    if (c->state != RUNNING || c->busy || c->timer != NULL) {
        return; /* the running callback or the timer continues */
    }
    Tcl_Preserve(interp);
    Tcl_Preserve(c);
    c->busy = true;
    deliverSlice(c);
    c->busy = false;
    if (c->state == RUNNING && c->timer == NULL && isDrained(c)) {
        endConsumer(c, DONE);
    }
    Tcl_Release(c);
    Tcl_Release(interp);
}

static int onNotice(Tcl_Event *event, int flags)
{
    EtwConsumer *c = ((Notice *)event)->consumer;
    Notice *next = newNotice(c);
    (void)flags;

    OsMutexLock(c->mutex);
    c->notice = next;
    c->notified = false;
    OsMutexUnlock(c->mutex);
    deliverQueued(c);
    return 1;
}

/* ---- Start ----------------------------------------------------------------------------------- */

static void enter(EtwInterp *ctx, EtwConsumer *c)
{
    int isNew;

    if (!ctx->consumersReady) {
        Tcl_InitHashTable(&ctx->consumers, TCL_STRING_KEYS);
        ctx->consumersReady = true;
    }
    snprintf(c->name, sizeof c->name, "consumer%u", ++ctx->consumerCount);
    Tcl_SetHashValue(Tcl_CreateHashEntry(&ctx->consumers, c->name, &isNew), c);
}

static bool hasChannelSource(Tcl_Obj *sources)
{
    Tcl_Obj **words;
    Tcl_Size count = 0;

    Tcl_ListObjGetElements(NULL, sources, &count, &words);
    for (Tcl_Size i = 0; i < count; i++) {
        if (EtwIsChannelSource(Tcl_GetString(words[i]))) {
            return true;
        }
    }
    return false;
}

int EtwConsumerStart(EtwInterp *ctx, Tcl_Obj *sources, const EtwQueryOptions *options,
        Tcl_Obj *command, int batch)
{
    if (hasChannelSource(sources)) {
        return EtwTclFail(ctx->interp, ETW_E_UNSUPPORTED, "CHANNEL", "",
                "\"-background 1\" cannot read a channel, which belongs to the thread of its "
                "interpreter: give the path of a file");
    }
    EtwConsumer *c = EtwAlloc(sizeof *c);

    if (EtwQueryOpen(&c->query, ctx, sources, options) != TCL_OK) {
        EtwFree(c);
        return TCL_ERROR;
    }
    c->ctx = ctx;
    c->command = Tcl_DuplicateObj(command);
    Tcl_IncrRefCount(c->command);
    c->batch = batch;
    c->owner = Tcl_GetCurrentThread();
    c->workerFilter = c->query.filter;
    c->workerFilter.store = EtwSchemaStoreClone(c->query.filter.store);
    c->workerLimit = c->query.where.lambda ? 0 : (uint64_t)c->query.limit;
    c->live = EtwSourceIsLive(c->query.source);
    c->capacity = OsWakeNew();
    c->mutex = OsMutexNew();
    c->filledEnd = &c->filled;
    c->notice = newNotice(c);
    if (OsThreadStart(&c->thread, "etw-consume", work, c) != ETW_OK) {
        endConsumer(c, FAILED);
        freeConsumer(c);
        return EtwTclFail(
                ctx->interp, ETW_E_LIMIT, "THREAD", "", "cannot start the thread of the consumer");
    }
    enter(ctx, c);
    Tcl_SetObjResult(ctx->interp, Tcl_NewStringObj(c->name, -1));
    return TCL_OK;
}

/* ---- etw consumer ---------------------------------------------------------------------------- */

static Tcl_Obj *namesObj(EtwInterp *ctx)
{
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);
    Tcl_HashSearch search;

    if (ctx->consumersReady) {
        Tcl_HashEntry *entry = Tcl_FirstHashEntry(&ctx->consumers, &search);
        for (; entry != NULL; entry = Tcl_NextHashEntry(&search)) {
            const char *name = Tcl_GetHashKey(&ctx->consumers, entry);
            Tcl_ListObjAppendElement(NULL, list, Tcl_NewStringObj(name, -1));
        }
    }
    return list;
}

static EtwConsumer *findConsumer(EtwInterp *ctx, Tcl_Obj *name)
{
    Tcl_HashEntry *entry =
            ctx->consumersReady ? Tcl_FindHashEntry(&ctx->consumers, Tcl_GetString(name)) : NULL;

    if (entry != NULL) {
        return Tcl_GetHashValue(entry);
    }
    Tcl_Obj *names = namesObj(ctx);
    Tcl_IncrRefCount(names);
    const char *list = *Tcl_GetString(names) ? Tcl_GetString(names) : "none";
    EtwTclFail(ctx->interp, ETW_E_LOOKUP, "CONSUMER", Tcl_GetString(name),
            "there is no consumer \"%.100s\"; existing ones: %s", Tcl_GetString(name), list);
    Tcl_DecrRefCount(names);
    return NULL;
}

static int queuedEvents(EtwConsumer *c)
{
    int queued = 0;

    if (c->state == RUNNING) {
        OsMutexLock(c->mutex);
        for (Batch *batch = c->filled; batch != NULL; batch = batch->next) {
            queued += batch->count - batch->delivered;
        }
        OsMutexUnlock(c->mutex);
    }
    return queued;
}

static Tcl_Obj *infoObj(EtwConsumer *c)
{
    Tcl_Obj *dict = Tcl_NewDictObj();

    EtwPut(dict, "name", Tcl_NewStringObj(c->name, -1));
    EtwPut(dict, "state", Tcl_NewStringObj(stateNames[c->state], -1));
    EtwPut(dict, "events", EtwUint64Obj(c->delivered));
    EtwPut(dict, "examined", EtwUint64Obj(LOAD(c->examined)));
    EtwPut(dict, "queued", Tcl_NewIntObj(queuedEvents(c)));
    EtwPut(dict, "dropped", EtwUint64Obj(LOAD(c->dropped)));
    EtwPut(dict, "lost", EtwUint64Obj(LOAD(c->lost)));
    EtwPut(dict, "warnings", c->warnings ? c->warnings : Tcl_NewObj());
    return dict;
}

static int infoCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwConsumer *c = findConsumer(clientData, objv[2]);
    (void)objc;

    if (c == NULL) {
        return TCL_ERROR;
    }
    Tcl_SetObjResult(interp, infoObj(c));
    return TCL_OK;
}

static int listCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    (void)objc;
    (void)objv;
    Tcl_SetObjResult(interp, namesObj(clientData));
    return TCL_OK;
}

/* Ends the consumer, returns its final state, and removes it. */
static int cancelCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwConsumer *c = findConsumer(clientData, objv[2]);
    (void)objc;

    if (c == NULL) {
        return TCL_ERROR;
    }
    endConsumer(c, CANCELLED);
    Tcl_SetObjResult(interp, infoObj(c));
    forget(c);
    return TCL_OK;
}

static void onDeadline(void *clientData)
{
    *(bool *)clientData = true;
}

/* Run the event loop until the consumer has ended, or for a number of milliseconds. */
static int waitCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwConsumer *c = findConsumer(clientData, objv[2]);
    bool late = false;
    int ms = 0;
    Tcl_TimerToken deadline = NULL;
    int result = TCL_OK;

    if (c == NULL || (objc > 3 && Tcl_GetIntFromObj(interp, objv[3], &ms) != TCL_OK)) {
        return TCL_ERROR;
    }
    if (objc > 3) {
        deadline = Tcl_CreateTimerHandler(ms, onDeadline, &late);
    }
    Tcl_Preserve(c);
    while (c->state == RUNNING && !late && result == TCL_OK) {
        Tcl_DoOneEvent(TCL_ALL_EVENTS);
        result = Tcl_Canceled(interp, TCL_LEAVE_ERR_MSG);
        if (result == TCL_OK && Tcl_InterpDeleted(interp)) {
            result = TCL_ERROR;
        }
        if (result == TCL_OK && Tcl_LimitExceeded(interp)) {
            Tcl_SetObjResult(interp, Tcl_NewStringObj("limit exceeded", -1));
            result = TCL_ERROR;
        }
    }
    Tcl_DeleteTimerHandler(deadline);
    if (result == TCL_OK) {
        Tcl_SetObjResult(interp, infoObj(c));
    }
    Tcl_Release(c);
    return result;
}

int EtwConsumerCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    static const EtwSubCommand subCommands[] = {
            {"cancel", cancelCmd, "name", 1, 1},
            {"info", infoCmd, "name", 1, 1},
            {"list", listCmd, "", 0, 0},
            {"wait", waitCmd, "name ?milliseconds?", 1, 2},
            {NULL, NULL, NULL, 0, 0},
    };
    return EtwDispatch(subCommands, clientData, interp, objc, objv);
}
