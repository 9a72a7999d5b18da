/*
 * engine/session/session_control.c --
 *
 *	See session_control.h. A session has one request at a time. The process that changes the
 *	request's state from REQUEST_NONE (or takes it from a process that died) fills it in, posts
 *	it and wakes the owner, which answers. The owner checks all lengths and terminators of a
 *	request.
 */
#include "engine/session/session_control.h"
#include "base/alloc.h"
#include <stdio.h>

enum {
    ANSWER_TIMEOUT_MS =
            60 * 1000, /* ms to wait for an owner that is alive (it may be stopped by a signal) */
    GROUPS = 256
};

/* ---- Sending a request ----------------------------------------------------------------------- */

typedef struct Owner {
    int index; /* of the session */
    uint32_t pid, key;
    uint64_t instance;
} Owner;

static EtwStatus findOwner(const char *name, Owner *owner, EtwError *err)
{
    const RegSession *session;
    EtwStatus status = SessionsLock(err);
    if (status != ETW_OK) {
        return status;
    }
    status = SessionFind(name, &owner->index, err);
    if (status == ETW_OK) {
        session = &RegGet()->sessions[owner->index];
        owner->instance = atomic_load(&session->instance);
        owner->pid = session->ownerPid;
        owner->key = session->owner;
        if (session->stopping) {
            status = SessionStopping(name, err);
        }
    }
    RegUnlock();
    return status;
}

static uint64_t stateOf(uint32_t step)
{
    return (uint64_t)RegSelfKey() << 32 | step;
}

/* Polls, because control is not performance-critical and an owner that dies posts no wake-up. */
static void backOff(int turn)
{
    OsSleepNs(turn < 50 ? 200000 : 2000000);
}

static EtwStatus answerFailed(const char *name, const Owner *owner, EtwError *err)
{
    bool lives = RegProcessLives(owner->key);
    return EtwFail(err, ETW_E_STATE, lives ? "BUSY" : "DIED", name,
            lives ? "process %u, which owns session \"%s\", does not respond: it may be stopped "
                    "(continue it with \"kill -CONT\") or blocked"
                  : "process %u, which owned session \"%s\", was killed: complete the file with "
                    "\"etw recover\"",
            owner->pid, name);
}

static bool takeRequest(RingRequest *q)
{
    uint64_t state = atomic_load(&q->state);
    bool free = (uint32_t)state == REQUEST_NONE ||
                ((uint32_t)state != REQUEST_TAKEN && !RegProcessLives((uint32_t)(state >> 32)));
    return free && atomic_compare_exchange_strong(&q->state, &state, stateOf(REQUEST_FILLING));
}

static EtwStatus fillGroups(RingRequest *q, const EtwKernelEnable *k, EtwError *err)
{
    size_t used = 0;
    uint32_t own = OsPid();
    bool narrow = k->pids == NULL && !k->allPids;
    const uint32_t *pids = narrow ? &own : k->pids;
    q->pidCount = narrow ? 1 : (uint32_t)k->pidCount;
    q->allPids = k->allPids;
    q->stacks = k->stacks;
    q->interval = k->interval;
    q->groupCount = (uint32_t)k->groupCount;
    for (int i = 0; i < k->groupCount; i++) {
        size_t n = strlen(k->groups[i]) + 1;
        if (n > sizeof q->text - used || k->groupCount > GROUPS) {
            return EtwFail(err, ETW_E_LIMIT, "GROUPS", "",
                    "too many kernel groups in one call: enable them in several calls");
        }
        memcpy(q->text + used, k->groups[i], n);
        used += n;
    }
    if (q->pidCount > REQUEST_PIDS) {
        return EtwFail(err, ETW_E_LIMIT, "PIDS", "",
                "too many process ids: at most %d are accepted for a session of another process",
                REQUEST_PIDS);
    }
    if (q->pidCount > 0) {
        memcpy(q->pids, pids, q->pidCount * sizeof *pids);
    }
    return ETW_OK;
}

static EtwStatus fill(RingRequest *q, const ControlRequest *r, EtwError *err)
{
    const char *path = r->changes != NULL ? r->changes->file : r->file;
    q->verb = r->verb;
    q->text[0] = '\0';
    q->flushMs = r->changes ? r->changes->flushMs : 0;
    q->maxBuffers = r->changes ? r->changes->maxBuffers : 0;
    q->maxMB = r->changes ? r->changes->maxMB : 0;
    q->realtime = r->changes && r->changes->realtimeChange ? 1u + r->changes->realtime : 0;
    if (path != NULL) {
        /* the owner's directory may differ */
        EtwStatus status = OsNeedFullPath(path, q->text, sizeof q->text, err);
        if (status != ETW_OK) {
            return status;
        }
    }
    return r->kernel != NULL ? fillGroups(q, r->kernel, err) : ETW_OK;
}

/* ETW_AGAIN: not answered yet. */
static EtwStatus checkAnswer(
        Ring *ring, const char *name, const Owner *owner, ControlVerb verb, EtwError *err)
{
    RingRequest *q = &ring->header->request;
    /* Read in this order: an owner that is gone may have answered before. */
    bool alive = RegProcessLives(owner->key);
    bool gone = atomic_load(&RegGet()->sessions[owner->index].instance) != owner->instance;
    bool stopped = atomic_load(&ring->header->state) == RING_STOPPED;
    uint64_t state = atomic_load_explicit(&q->state, memory_order_acquire);
    if (state == stateOf(REQUEST_ANSWERED)) {
        if (q->status != ETW_OK && err != NULL) {
            *err = q->error;
            err->message[sizeof err->message - 1] = err->subject[sizeof err->subject - 1] =
                    err->detail[sizeof err->detail - 1] = '\0';
        }
        return (EtwStatus)q->status;
    }
    if (!alive) {
        return verb == CONTROL_STOP && stopped ? ETW_OK : answerFailed(name, owner, err);
    }
    if ((gone || (stopped && verb != CONTROL_STOP)) && state == stateOf(REQUEST_POSTED)) {
        return SessionStopped(name, err);
    }
    return ETW_AGAIN;
}

static EtwStatus waitForAnswer(
        Ring *ring, const char *name, const Owner *owner, ControlVerb verb, EtwError *err)
{
    EtwStatus status;
    OsInstant start, now;
    OsNow(&start);
    for (int turn = 0; (status = checkAnswer(ring, name, owner, verb, err)) == ETW_AGAIN; turn++) {
        uint64_t posted = stateOf(REQUEST_POSTED);
        OsNow(&now);
        if (now.steady - start.steady > ANSWER_TIMEOUT_MS * 1000000ll &&
                atomic_compare_exchange_strong(
                        &ring->header->request.state, &posted, stateOf(REQUEST_FILLING))) {
            return answerFailed(name, owner, err); /* request withdrawn */
        }
        backOff(turn);
    }
    return status;
}

static EtwStatus sendRequest(
        Ring *ring, const char *name, const Owner *owner, const ControlRequest *r, EtwError *err)
{
    RingRequest *q = &ring->header->request;
    EtwStatus status;
    OsInstant start, now;
    OsNow(&start);
    for (int turn = 0; !takeRequest(q); turn++) {
        OsNow(&now);
        if (now.steady - start.steady > ANSWER_TIMEOUT_MS * 1000000ll ||
                !RegProcessLives(owner->key)) {
            return answerFailed(name, owner, err);
        }
        backOff(turn);
    }
    status = fill(q, r, err);
    if (status == ETW_OK) {
        /* release: the request is complete */
        atomic_store_explicit(&q->state, stateOf(REQUEST_POSTED), memory_order_release);
        OsSharedWakePost(&ring->wake);
        status = waitForAnswer(ring, name, owner, r->verb, err);
    }
    atomic_store_explicit(&q->state, REQUEST_NONE, memory_order_release);
    return status;
}

EtwStatus ControlSend(
        const char *name, const ControlRequest *request, EtwSessionInfo *info, EtwError *err)
{
    Owner owner;
    Ring ring = {0};
    char path[1024];
    EtwStatus status = findOwner(name, &owner, err);
    if (status != ETW_OK) {
        return status;
    }
    RegSessionPath(owner.instance, path, sizeof path);
    status = RingOpen(&ring, path, owner.instance, err);
    if (status != ETW_OK) {
        return status;
    }
    status = sendRequest(&ring, name, &owner, request, err);
    /* A session that has stopped with a full disk reports its losses. */
    bool stopped = request->verb == CONTROL_STOP && status == ETW_E_IO;
    if ((status == ETW_OK || stopped) && info != NULL) {
        SessionFillInfo(&ring, (uint32_t)owner.index, info);
    }
    RingClose(&ring);
    return status;
}

/* ---- Serving requests ------------------------------------------------------------------------ */

static void answer(RingRequest *q, EtwStatus status, const EtwError *err)
{
    uint64_t state = atomic_load(&q->state);
    q->status = (int32_t)status;
    q->error = *err;
    atomic_store_explicit(&q->state, (state >> 32) << 32 | REQUEST_ANSWERED, memory_order_release);
}

static EtwStatus serveKernel(EtwSession *s, const RingRequest *q, const char *text, EtwError *err)
{
    const char *groups[GROUPS];
    uint32_t pids[REQUEST_PIDS];
    EtwKernelEnable enable = {.groups = groups,
            .pids = q->pidCount ? pids : NULL,
            .pidCount = (int)(q->pidCount < REQUEST_PIDS ? q->pidCount : REQUEST_PIDS),
            .allPids = q->allPids != 0,
            .stacks = q->stacks <= ETW_STACKS_COPIES ? (EtwStackKind)q->stacks : ETW_STACKS_FRAMES,
            .interval = q->interval};
    memcpy(pids, q->pids, sizeof pids);
    for (size_t at = 0; enable.groupCount < GROUPS && at < REQUEST_TEXT &&
                        enable.groupCount < (int)q->groupCount;
            at += strlen(text + at) + 1) {
        groups[enable.groupCount++] = text + at;
    }
    return SessionKernelOn(s, &enable, err);
}

static EtwStatus serveUpdate(EtwSession *s, const RingRequest *q, const char *text, EtwError *err)
{
    EtwSessionConfig changes = {.file = *text ? text : NULL,
            .flushMs = q->flushMs,
            .maxBuffers = q->maxBuffers,
            .maxMB = q->maxMB,
            .realtimeChange = q->realtime != 0,
            .realtime = q->realtime == 2};
    return SessionUpdate(s, &changes, err);
}

/*
 * Stopping a session ends its logger, so another thread does it. One such thread runs at a time:
 * RegLock guards it, and each start joins the previous thread.
 */
typedef struct Stopper {
    char name[256];
    Ring ring; /* for the answer, after the session's own mapping is gone */
} Stopper;
static OsThread *_Atomic stopThread;

static void stopMain(void *arg)
{
    Stopper *stopper = arg;
    EtwError err = {0};
    EtwStatus status = etwEmbeddedOps.stop(stopper->name, NULL, &err);
    answer(&stopper->ring.header->request, status, &err);
    RingClose(&stopper->ring);
    EtwFree(stopper);
}

void ControlFinish(void)
{
    OsThread *thread = atomic_exchange(&stopThread, NULL);
    if (thread != NULL) {
        OsThreadJoin(thread);
    }
}

static EtwStatus serveStop(EtwSession *s, EtwError *err)
{
    Stopper *stopper = EtwAlloc(sizeof *stopper);
    OsThread *thread;
    char path[1024];
    EtwStatus status;
    RegSessionPath(s->ring->instance, path, sizeof path);
    snprintf(stopper->name, sizeof stopper->name, "%s", s->name);
    status = RingOpen(&stopper->ring, path, s->ring->instance, err);
    if (status == ETW_OK) {
        /* The previous thread has answered or is about to: it does not wait for a logger. */
        ControlFinish();
        if (OsThreadStart(&thread, "etw-stop", stopMain, stopper) == ETW_OK) {
            atomic_store(&stopThread, thread);
            return ETW_AGAIN;
        }
        RingClose(&stopper->ring);
        status = EtwFail(err, ETW_E_LIMIT, "THREAD", s->name,
                "cannot stop the session: no thread could be started");
    }
    EtwFree(stopper);
    return status;
}

/* ETW_AGAIN: another thread answers. */
static EtwStatus serve(EtwSession *s, const RingRequest *q, EtwError *err)
{
    char text[REQUEST_TEXT + 1];
    memcpy(text, q->text, REQUEST_TEXT);
    text[REQUEST_TEXT] = '\0';
    switch (q->verb) {
    case CONTROL_FLUSH:
        LoggerFlush(s);
        return ETW_OK;
    case CONTROL_UPDATE:
        return serveUpdate(s, q, text, err);
    case CONTROL_SNAPSHOT:
        return SessionSnapshot(s, text, err);
    case CONTROL_KERNEL_ON:
        return serveKernel(s, q, text, err);
    case CONTROL_KERNEL_OFF:
        SessionKernelOff(s);
        return ETW_OK;
    case CONTROL_STOP:
        return serveStop(s, err);
    default:
        return EtwFail(err, ETW_E_UNSUPPORTED, "REQUEST", s->name,
                "the process that owns session \"%s\" has another version of etw: use the same "
                "version",
                s->name);
    }
}

void ControlServe(EtwSession *s)
{
    RingRequest *q = &s->ring->header->request;
    /* acquire: the request is complete */
    uint64_t state = atomic_load_explicit(&q->state, memory_order_acquire);
    EtwError err = {0};
    EtwStatus status;
    if ((uint32_t)state != REQUEST_POSTED || !atomic_compare_exchange_strong(&q->state, &state,
                                                     (state >> 32) << 32 | REQUEST_TAKEN)) {
        return;
    }
    status = serve(s, q, &err);
    if (status != ETW_AGAIN) {
        answer(q, status, &err);
    }
}
