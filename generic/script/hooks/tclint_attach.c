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
 *	The addresses of interpreters were found by a search: each is checked before it is used, in the interpreter's thread
 *	or while that is stopped.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* process_vm_readv */
#endif
#include "script/hooks/tclint.h"
#include "base/alloc.h"
#include "attach/attach.h"

#if defined(ETW_TCLINT) && defined(__linux__)

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#if TCL_MAJOR_VERSION > 8
#define LEAST PTRDIFF_MIN
#else
#define LEAST INT_MIN
#include <limits.h>
#endif

/* struct LimitHandler of tclInterp.c; the self-check compares it. */
typedef struct Handler {
    int flags;
    Tcl_LimitHandlerProc *proc;
    ClientData clientData;
    Tcl_LimitHandlerDeleteProc *deleteProc;
    struct Handler *previous, *next;
} Handler;

typedef struct Job Job;

/* One interpreter of a job. Changed by the interpreter's thread, or while that is stopped. */
typedef struct Item {
    Job *job;
    Interp *iPtr;
    bool usable; /* the limit may be set: decided by the thread of the job */
    bool done;
    bool armed;
    TclintOffset value; /* of the program's limit, which is inactive */
    Handler *handler;   /* allocated by Tcl, owned by the interpreter once it is armed */
} Item;

struct Job {
    uint64_t generation;
    char *script;
    const TclStubs *stubs;
    int refs; /* atomic: events, armed limits, the thread; the newest job has one more */
    uint32_t count;
    Item items[1];
};

static EtwAttachStatus newest; /* of the newest job */
static Job *current;           /* that Etw_AttachArm sets limits for; changed with all locks free */
static pthread_mutex_t currentLock = PTHREAD_MUTEX_INITIALIZER;
static bool able;

static void dropJob(Job *job)
{
    if (job != NULL && __atomic_sub_fetch(&job->refs, 1, __ATOMIC_ACQ_REL) == 0) {
        EtwFree(job->script);
        EtwFree(job);
    }
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

static void runItem(Item *item)
{
    if (item->done) {
        return;
    }
    item->done = true;
    if (item->job->generation != __atomic_load_n(&newest.generation, __ATOMIC_ACQUIRE)) {
        return; /* replaced by a newer request */
    }
    if (!isAlive(item) || Tcl_IsSafe((Tcl_Interp *)item->iPtr)) {
        countEnd(item, &newest.skipped);
        return;
    }
    evaluate(item);
}

static void limitReached(ClientData clientData, Tcl_Interp *interp);

/* The limit is as it was before Etw_AttachArm. Tcl frees the handler, now or when it returns. */
static void disarm(Item *item)
{
    Interp *iPtr = item->iPtr;
    item->armed = false;
    __atomic_and_fetch(&iPtr->limit.active, ~TCL_LIMIT_COMMANDS, __ATOMIC_RELAXED);
    iPtr->limit.exceeded &= ~TCL_LIMIT_COMMANDS;
    iPtr->limit.cmdCount = item->value;
    Tcl_LimitRemoveHandler((Tcl_Interp *)iPtr, TCL_LIMIT_COMMANDS, limitReached, item);
}

static void setLimit(Item *item)
{
    Interp *iPtr = item->iPtr;
    item->value = iPtr->limit.cmdCount;
    iPtr->limit.cmdCount = LEAST;
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
    dropJob(((Item *)clientData)->job);
}

typedef struct ItemEvent {
    Tcl_Event event;
    Item *item;
} ItemEvent;

static int serveEvent(Tcl_Event *event, int flags)
{
    Item *item = ((ItemEvent *)event)->item;
    (void)flags;
    if (item->armed && isAlive(item) && item->iPtr->limit.cmdCount == LEAST) {
        disarm(item);
    }
    runItem(item);
    dropJob(item->job);
    return 1;
}

/* ---- In a thread of ours ----------------------------------------------------------------------- */

static void queueEvent(Item *item)
{
    ItemEvent *event = (ItemEvent *)Tcl_Alloc(sizeof *event);
    Tcl_ThreadId thread = item->iPtr->threadId;
    event->event.proc = serveEvent;
    event->event.nextPtr = NULL;
    event->item = item;
    __atomic_add_fetch(&item->job->refs, 1, __ATOMIC_RELAXED);
    Tcl_ThreadQueueEvent(thread, &event->event, TCL_QUEUE_HEAD);
    Tcl_ThreadAlert(thread);
}

static Handler *newHandler(Item *item)
{
    Handler *handler = (Handler *)Tcl_Alloc(sizeof *handler);
    *handler = (Handler){.proc = limitReached, .clientData = item, .deleteProc = handlerDeleted};
    return handler;
}

static void *serveJob(void *arg)
{
    Job *job = arg;
    bool usable = EtwScriptLayer() == &etwHookTclInt && able;
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

static Job *newJob(const EtwAttachRequest *request)
{
    const char *script = (const char *)(uintptr_t)request->script;
    Job *job = EtwAlloc(sizeof *job + (size_t)request->count * sizeof *job->items);
    job->generation = newest.generation + 1;
    job->script = EtwAlloc(strlen(script) + 1);
    memcpy(job->script, script, strlen(script));
    job->stubs = (const TclStubs *)(uintptr_t)request->stubs;
    job->refs = 2; /* the thread's, and that of `current` */
    job->count = (uint32_t)request->count;
    for (uint32_t i = 0; i < job->count; i++) {
        job->items[i] = (Item){.job = job, .iPtr = (Interp *)(uintptr_t)request->interps[i]};
    }
    return job;
}

DLLEXPORT EtwAttachStatus *Etw_AttachBegin(const EtwAttachRequest *request)
{
    pthread_t thread;
    pthread_attr_t detached;
    if (pthread_mutex_trylock(&currentLock) != 0) {
        return NULL;
    }
    useStubs((const TclStubs *)(uintptr_t)request->stubs);
    Job *job = newJob(request), *last = current;
    newest = (EtwAttachStatus){.generation = job->generation, .total = job->count};
    current = job;
    dropJob(last);
    pthread_mutex_unlock(&currentLock);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    bool started = pthread_create(&thread, &detached, serveJob, job) == 0;
    pthread_attr_destroy(&detached);
    if (!started) {
        dropJob(job);
        return NULL;
    }
    return &newest;
}

/* The only handler of the limit is that of an open interrupt, which is not suspended. */
static bool isSampled(const Interp *iPtr)
{
    const Handler *first = (const Handler *)iPtr->limit.cmdHandlers;
    return first != NULL && first->proc == EtwTclintInterruptReached && first->next == NULL &&
           iPtr->limit.cmdCount == LEAST;
}

/*
 * All threads are stopped, anywhere: no locks, no allocation, no calls into Tcl. The handler is the last one, because
 * its script may close the interrupt, and Tcl then goes on to the handler after it.
 */
static bool armItem(Item *item)
{
    Interp *iPtr = item->iPtr;
    if (!item->usable || item->done || item->armed || item->handler == NULL || !isAlive(item)) {
        return false;
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
    int armed = 0;
    for (uint32_t i = 0; current != NULL && newest.prepared && i < current->count; i++) {
        armed += armItem(&current->items[i]);
    }
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
    bool same = iPtr->threadId == Tcl_GetCurrentThread() && iPtr->limit.cmdHandlers == NULL;
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
