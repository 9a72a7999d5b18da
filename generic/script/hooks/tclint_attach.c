/*
 * script/hooks/tclint_attach.c --
 *
 *	The part of attach/attach.h that runs in the process that is attached to. unix/attach calls Etw_AttachBegin in a thread
 *	that is stopped in the middle of anything but malloc: it only starts a thread. That thread queues an event for each
 *	interpreter. unix/attach then calls Etw_AttachArm while all threads are stopped: it sets a limit on commands
 *	in each interpreter, so that Tcl calls a handler before the next command (tclint_interrupt.c says why no async
 *	handler is used). In an interpreter that is sampled the limit is set already, and the handler follows that of
 *	tclint_interrupt.c. What comes first, event or handler, evaluates the script; the other then does nothing.
 *
 *	A child interpreter inherits limits while it is created, which may be when its parent has ours. The number of checks between
 *	two comparisons of a limit (its granularity) is so high that a child does not compare it before the parent's handler
 *	has removed it.
 *
 *	The addresses of interpreters were found by a search: each is checked before it is used, in the interpreter's thread
 *	or while that is stopped.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* process_vm_readv */
#endif
#include "script/hooks/tclint.h"
#include "attach/attach.h"

#if defined(ETW_TCLINT) && defined(__linux__)

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#if TCL_MAJOR_VERSION > 8
#define LEAST PTRDIFF_MIN
#else
#define LEAST INT_MIN
#include <limits.h>
#endif

#ifndef Tcl_GetChild /* renamed in Tcl 8.6.11 */
#define Tcl_GetChild Tcl_GetSlave
#endif

/* struct LimitHandler of tclInterp.c; the self-check compares it. */
typedef struct Handler {
    int flags;
    Tcl_LimitHandlerProc *proc;
    ClientData clientData;
    Tcl_LimitHandlerDeleteProc *deleteProc;
    struct Handler *previous, *next;
} Handler;

enum { GRANULARITY = 1 << 30 }; /* of our limit; its next check is a comparison */

typedef struct Job Job;

/* One interpreter of a job. Changed by the interpreter's thread, or while that is stopped. */
typedef struct Item {
    Job *job;
    struct Item *replaced; /* of an earlier job: its limit is this one's now */
    Interp *iPtr;
    bool usable; /* the limit may be set: decided by the thread of the job */
    bool done;
    bool armed;
    TclintOffset value;      /* of the program's limit, which is inactive */
    int granularity, ticker; /* the program's */
    Handler *handler;        /* allocated by Tcl, owned by the interpreter once it is armed */
} Item;

struct Job {
    uint64_t generation;
    char *script;
    const TclStubs *stubs;
    Job *last; /* an earlier one, to be dropped by the thread */
    int refs;  /* atomic: events, armed limits, the thread; the newest job has one more */
    uint32_t count;
    Item items[1];
};

static EtwAttachStatus newest; /* of the newest job */
static Job *current;           /* that Etw_AttachArm sets limits for; changed with all locks free */
static pthread_mutex_t currentLock = PTHREAD_MUTEX_INITIALIZER;
static bool able;

/* In a thread that is not stopped. */
static void dropJob(Job *job)
{
    if (job == NULL || __atomic_sub_fetch(&job->refs, 1, __ATOMIC_ACQ_REL) != 0) {
        return;
    }
    for (uint32_t i = 0; i < job->count; i++) {
        if (job->items[i].handler != NULL) {
            Tcl_Free((char *)job->items[i].handler);
        }
    }
    free(job->script);
    free(job);
}

/* ---- Is it an interpreter? -------------------------------------------------------------------- */

static bool readOwn(const void *from, void *to, size_t size)
{
    struct iovec local = {to, size}, remote = {(void *)(uintptr_t)from, size};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* Also false for memory that was released. A pointer to itself is an interpreter's, until it is deleted. */
static bool isAlive(const Item *item)
{
    struct {
        const void *words[6];
    } head;
    const void *self;
    int flags;
    return readOwn(item->iPtr, &head, sizeof head) &&
           head.words[3] == (const void *)item->job->stubs && head.words[4] != NULL &&
           readOwn(head.words[4], &self, sizeof self) && self == (const void *)item->iPtr &&
           readOwn(&item->iPtr->flags, &flags, sizeof flags) && !(flags & DELETED);
}

/* ---- In the interpreter's thread --------------------------------------------------------------- */

static void countEnd(const Item *item, uint32_t *counter)
{
    if (item->job->generation == __atomic_load_n(&newest.generation, __ATOMIC_ACQUIRE)) {
        __atomic_add_fetch(counter, 1, __ATOMIC_ACQ_REL);
    }
}

static void evaluate(const Item *item)
{
    Tcl_Interp *interp = (Tcl_Interp *)item->iPtr;
    Tcl_Preserve(interp);
    Tcl_InterpState state = Tcl_SaveInterpState(interp, TCL_OK);
    bool failed = Tcl_EvalEx(interp, item->job->script, -1, TCL_EVAL_GLOBAL) != TCL_OK;
    if (failed) {
        if (item->job->generation == newest.generation && newest.failed == 0) {
            snprintf(newest.message, sizeof newest.message, "%s", Tcl_GetStringResult(interp));
        }
    }
    Tcl_RestoreInterpState(interp, state);
    Tcl_Release(interp);
    countEnd(item, failed ? &newest.failed : &newest.done);
}

/* The memory may be that of an interpreter of another thread meanwhile. */
static bool isHere(const Item *item)
{
    return isAlive(item) && item->iPtr->threadId == Tcl_GetCurrentThread();
}

static void runItem(Item *item)
{
    if (item->done) {
        return;
    }
    item->done = true;
    if (item->job->generation != __atomic_load_n(&newest.generation, __ATOMIC_ACQUIRE)) {
        return; /* replaced by a newer request */
    }
    if (!isHere(item) || Tcl_IsSafe((Tcl_Interp *)item->iPtr)) {
        countEnd(item, &newest.skipped);
        return;
    }
    evaluate(item);
}

static void limitReached(ClientData clientData, Tcl_Interp *interp);

/* A child that was being created when our limit was set has inherited it. Its commands were not counted. */
static void freeChildren(Interp *iPtr)
{
    Tcl_HashSearch search;
    Tcl_HashTable *children =
            iPtr->interpInfo; /* its first member, which the self-check looks at */
    for (Tcl_HashEntry *e = Tcl_FirstHashEntry(children, &search); e != NULL;
            e = Tcl_NextHashEntry(&search)) {
        Tcl_DString
                path; /* a list; a path without an interpreter would change the result of the program's command */
        Tcl_DStringInit(&path);
        Tcl_DStringAppendElement(&path, Tcl_GetHashKey(children, e));
        Interp *child = (Interp *)Tcl_GetChild((Tcl_Interp *)iPtr, Tcl_DStringValue(&path));
        Tcl_DStringFree(&path);
        if (child != NULL && child->limit.cmdGranularity == GRANULARITY &&
                child->limit.cmdCount == 0) {
            child->limit.active &= ~TCL_LIMIT_COMMANDS;
            child->limit.cmdGranularity = 1;
        }
    }
}

/* The limit is as it was before Etw_AttachArm. Tcl frees the handler, now or when it returns. */
static void disarm(Item *item)
{
    Interp *iPtr = item->iPtr;
    item->armed = false;
    __atomic_and_fetch(&iPtr->limit.active, ~TCL_LIMIT_COMMANDS, __ATOMIC_RELAXED);
    iPtr->limit.exceeded &= ~TCL_LIMIT_COMMANDS;
    iPtr->limit.cmdCount = item->value;
    iPtr->limit.cmdGranularity = item->granularity;
    iPtr->limit.granularityTicker = item->ticker;
    freeChildren(iPtr);
    Tcl_LimitRemoveHandler((Tcl_Interp *)iPtr, TCL_LIMIT_COMMANDS, limitReached, item);
}

static void setLimit(Item *item)
{
    Interp *iPtr = item->iPtr;
    item->value = iPtr->limit.cmdCount;
    iPtr->limit.cmdCount = LEAST;
    if (iPtr->limit.cmdGranularity != GRANULARITY) {
        item->granularity = iPtr->limit.cmdGranularity;
        item->ticker = iPtr->limit.granularityTicker;
    }
    iPtr->limit.cmdGranularity = GRANULARITY;
    iPtr->limit.granularityTicker = GRANULARITY - 1;
    __atomic_or_fetch(&iPtr->limit.active, TCL_LIMIT_COMMANDS, __ATOMIC_RELAXED);
}

void EtwTclintAttachRearm(Tcl_Interp *interp)
{
    const Handler *first = (const Handler *)((Interp *)interp)->limit.cmdHandlers;
    if (first != NULL && first->proc == limitReached && ((Item *)first->clientData)->armed) {
        setLimit(first->clientData);
    }
}

static void limitReached(ClientData clientData, Tcl_Interp *interp)
{
    Item *item = clientData;
    (void)interp;
    if (item->armed && item->iPtr->limit.cmdCount == LEAST) {
        disarm(item);
        runItem(item);
    }
}

/* By Tcl, when the handler is removed or its interpreter is deleted. */
static void handlerDeleted(ClientData clientData)
{
    for (Item *item = clientData, *next; item != NULL; item = next) {
        next = item->replaced;
        item->replaced = NULL;
        item->armed = false;
        dropJob(item->job);
    }
}

typedef struct ItemEvent {
    Tcl_Event event;
    Item *item;
} ItemEvent;

static int serveEvent(Tcl_Event *event, int flags)
{
    Item *item = ((ItemEvent *)event)->item;
    (void)flags;
    if (item->armed && isHere(item) && item->iPtr->limit.cmdCount == LEAST) {
        disarm(item);
    }
    runItem(item);
    dropJob(item->job);
    return 1;
}

/* ---- In a thread of ours ----------------------------------------------------------------------- */

static void queueEvent(Item *item)
{
    ItemEvent *event = (ItemEvent *)Tcl_AttemptAlloc(sizeof *event);
    Tcl_ThreadId thread = item->iPtr->threadId;
    if (event == NULL) {
        return;
    }
    event->event.proc = serveEvent;
    event->event.nextPtr = NULL;
    event->item = item;
    __atomic_add_fetch(&item->job->refs, 1, __ATOMIC_RELAXED);
    Tcl_ThreadQueueEvent(thread, &event->event, TCL_QUEUE_HEAD);
    Tcl_ThreadAlert(thread);
}

static Handler *newHandler(Item *item)
{
    Handler *handler = (Handler *)Tcl_AttemptAlloc(sizeof *handler);
    if (handler == NULL) {
        return NULL;
    }
    *handler = (Handler){.proc = limitReached, .clientData = item, .deleteProc = handlerDeleted};
    return handler;
}

static void *serveJob(void *arg)
{
    Job *job = arg;
    bool usable = EtwScriptLayer() == &etwHookTclInt && able;
    dropJob(job->last);
    job->last = NULL;
    for (uint32_t i = 0; i < job->count; i++) {
        job->items[i].usable = usable;
        if (usable) {
            job->items[i].handler = newHandler(&job->items[i]);
        }
    }
    if (job->generation == newest.generation) {
        __atomic_store_n(&newest.prepared, 1, __ATOMIC_RELEASE);
    }
    for (uint32_t i = 0; i < job->count; i++) {
        if (isAlive(&job->items[i])) {
            queueEvent(&job->items[i]);
        } else {
            countEnd(&job->items[i], &newest.skipped);
        }
    }
    dropJob(job);
    Tcl_FinalizeThread();
    return NULL;
}

/* ---- Calls from outside ------------------------------------------------------------------------ */

static void useStubs(const TclStubs *stubs)
{
    if (tclStubsPtr == NULL) {
        tclStubsPtr = stubs;
        tclPlatStubsPtr = stubs->hooks->tclPlatStubs;
        tclIntStubsPtr = stubs->hooks->tclIntStubs;
        tclIntPlatStubsPtr = stubs->hooks->tclIntPlatStubs;
    }
}

/* NULL: no memory, which must not end the program. */
static Job *newJob(const EtwAttachRequest *request)
{
    const char *script = (const char *)(uintptr_t)request->script;
    Job *job = calloc(1, sizeof *job + (size_t)request->count * sizeof *job->items);
    if (job == NULL || (job->script = strdup(script)) == NULL) {
        free(job);
        return NULL;
    }
    job->generation = newest.generation + 1;
    job->stubs = (const TclStubs *)(uintptr_t)request->stubs;
    job->refs = 2; /* the thread's, and that of `current` */
    job->count = (uint32_t)request->count;
    for (uint32_t i = 0; i < job->count; i++) {
        job->items[i] = (Item){.job = job, .iPtr = (Interp *)(uintptr_t)request->interps[i]};
    }
    return job;
}

static bool startJob(Job *job)
{
    pthread_t thread;
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    bool started = pthread_create(&thread, &detached, serveJob, job) == 0;
    pthread_attr_destroy(&detached);
    return started;
}

/*
 * A Tcl without threads has one notifier and one allocator, which the thread of a job must not use beside the program's. Then
 * nothing is changed. A job whose thread does not start is never freed.
 */
DLLEXPORT EtwAttachStatus *Etw_AttachBegin(const EtwAttachRequest *request)
{
    EtwAttachStatus *status = NULL;
    Job *job = NULL;
    if (pthread_mutex_trylock(&currentLock) != 0) {
        return NULL;
    }
    useStubs((const TclStubs *)(uintptr_t)request->stubs);
    if (Tcl_GetCurrentThread() == NULL) {
        newest = (EtwAttachStatus){
                .generation = newest.generation + 1, .refused = ETW_ATTACH_NO_THREADS};
        status = &newest;
    } else {
        job = newJob(request);
    }
    if (job != NULL) {
        newest = (EtwAttachStatus){.generation = job->generation, .total = job->count};
        job->last = current;
        current = job;
        status = startJob(job) ? &newest : NULL;
    }
    pthread_mutex_unlock(&currentLock);
    return status;
}

/* The only handler of the limit is that of an open interrupt, which is not suspended. */
static bool isSampled(const Interp *iPtr)
{
    const Handler *first = (const Handler *)iPtr->limit.cmdHandlers;
    return first != NULL && first->proc == EtwTclintInterruptReached && first->next == NULL &&
           iPtr->limit.cmdCount == LEAST;
}

/* The handler of an earlier job that the interpreter has not called yet; NULL: none. */
static Handler *ownHandler(const Interp *iPtr)
{
    Handler *handler = (Handler *)iPtr->limit.cmdHandlers;
    if (handler != NULL && handler->proc == EtwTclintInterruptReached) {
        handler = handler->next;
    }
    bool own = handler != NULL && handler->proc == limitReached && handler->flags == 0 &&
               ((Item *)handler->clientData)->armed;
    return own && handler->next == NULL && iPtr->limit.cmdCount == LEAST ? handler : NULL;
}

/*
 * All threads are stopped, anywhere: no locks, no allocation, no calls into Tcl. The handler is the last one, because
 * its script may close the interrupt, and Tcl then goes on to the handler after it.
 */
static bool armItem(Item *item)
{
    Interp *iPtr = item->iPtr;
    if (!item->usable || item->done || item->armed || item->handler == NULL || !isAlive(item) ||
            (iPtr->flags & SAFE_INTERP)) {
        return false;
    }
    Handler *own = ownHandler(iPtr);
    if (own != NULL) {
        Item *replaced = own->clientData;
        item->replaced = replaced;
        item->value = replaced->value;
        item->granularity = replaced->granularity;
        item->ticker = replaced->ticker;
        replaced->armed = false;
        own->clientData = item;
        item->job->refs++;
        item->armed = true;
        __atomic_or_fetch(&iPtr->limit.active, TCL_LIMIT_COMMANDS, __ATOMIC_RELAXED);
        return true; /* the item's own handler is freed with its job */
    }
    if (isSampled(iPtr)) {
        item->handler->previous = (Handler *)iPtr->limit.cmdHandlers;
        item->handler->previous->next = item->handler;
    } else if (!(iPtr->limit.active & TCL_LIMIT_COMMANDS) && iPtr->limit.cmdHandlers == NULL) {
        iPtr->limit.cmdHandlers = (LimitHandler *)item->handler;
    } else {
        return false;
    }
    item->handler = NULL; /* the interpreter's */
    item->job->refs++;
    item->armed = true;
    setLimit(item);
    return true;
}

DLLEXPORT int Etw_AttachArm(void)
{
    int armed = 0, number = errno; /* of a thread of the program */
    for (uint32_t i = 0; current != NULL && newest.prepared && i < current->count; i++) {
        armed += armItem(&current->items[i]);
    }
    errno = number;
    return armed;
}

/* ---- Self-check -------------------------------------------------------------------------------- */

static void checkDeleted(ClientData clientData)
{
    ++*(int *)clientData;
}

static void checkProc(ClientData clientData, Tcl_Interp *interp)
{
    (void)clientData;
    (void)interp;
}

void EtwTclintCheckAttach(Tcl_Interp *interp)
{
    Interp *iPtr = (Interp *)interp;
    int deleted = 0;
    const Tcl_HashTable *children = iPtr->interpInfo;
    bool same = iPtr->threadId == Tcl_GetCurrentThread() && iPtr->limit.cmdHandlers == NULL &&
                children != NULL && children->keyType == TCL_STRING_KEYS;
    int granularity = iPtr->limit.cmdGranularity;
    Tcl_LimitSetGranularity(interp, TCL_LIMIT_COMMANDS, 77);
    same = same && iPtr->limit.cmdGranularity == 77;
    Tcl_LimitSetGranularity(interp, TCL_LIMIT_COMMANDS, granularity);
    Tcl_LimitAddHandler(interp, TCL_LIMIT_COMMANDS, checkProc, &deleted, checkDeleted);
    const Handler *handler = (const Handler *)iPtr->limit.cmdHandlers;
    same = same && handler != NULL && handler->flags == 0 && handler->proc == checkProc &&
           handler->clientData == &deleted && handler->deleteProc == checkDeleted &&
           handler->previous == NULL && handler->next == NULL;
    Tcl_LimitRemoveHandler(interp, TCL_LIMIT_COMMANDS, checkProc, &deleted);
    able = same && deleted == 1 && iPtr->limit.cmdHandlers == NULL && iPtr->limit.active == 0;
}

#elif defined(ETW_TCLINT)

void EtwTclintCheckAttach(Tcl_Interp *interp)
{
    (void)interp;
}

void EtwTclintAttachRearm(Tcl_Interp *interp)
{
    (void)interp;
}

#endif
