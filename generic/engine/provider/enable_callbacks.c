/*
 * engine/provider/enable_callbacks.c --
 *
 *	See enable_callbacks.h. The registry has a wake-up for each process. A process that changes an enable posts the
 *	wake-ups of the provider's processes. A process with callbacks has one thread, which waits for its wake-up,
 *	compares the state that each callback was notified of with the current one, and calls it when they differ.
 */
#include "engine/provider/enable_callbacks.h"
#include "base/alloc.h"
#include <stdio.h>

typedef struct EnableState {
    bool enabled;
    uint8_t level;
    uint64_t any, all;
} EnableState;

typedef struct Hook {
    RegProvider *provider;
    Etw_EnableProc *proc;
    void *ctx;
    EnableState notified;
    uint32_t captures; /* of the provider, as far as it was asked */
    bool captureAsked; /* for its state, by the operating system */
    uint32_t busy;     /* the thread that is calling it; 0: none */
    struct Hook *next;
} Hook;

/* Under RegLock. */
static Hook *hooks;
static uint32_t callbackPid; /* of the process whose thread listens */

enum {
    MAX_WAIT_NS = 1000 * 1000000 /* ns: a ring may be lost with the process that was to ring */
};

/* ---- Calling --------------------------------------------------------------------------------- */

static EnableState enableStateOf(const RegProvider *provider)
{
    EnableState w = {0};
    uint32_t active = atomic_load(&provider->active);
    w.level = (uint8_t)__atomic_load_n(&provider->pub.enabled, __ATOMIC_RELAXED);
    w.enabled = w.level != 0;
    w.any = w.enabled ? __atomic_load_n(&provider->pub.keywords, __ATOMIC_RELAXED) : 0;
    for (int i = 0; i < ETW_MAX_ENABLES; i++) {
        w.all |= active >> i & 1 ? provider->enables[i].all : 0;
    }
    return w;
}

static bool isNotified(const Hook *h, const EnableState *w)
{
    return h->notified.enabled == w->enabled && h->notified.level == w->level &&
           h->notified.any == w->any && h->notified.all == w->all;
}

/* What a callback does not know yet, as ETW_CONTROL_*; it is taken as notified. -1: it knows all. */
static int takeControl(Hook *h)
{
    EnableState now = enableStateOf(h->provider);
    uint32_t captures = atomic_load(&h->provider->captures);
    bool captureAsked = h->captureAsked || h->captures != captures;
    if (!isNotified(h, &now)) {
        h->notified = now;
        return now.enabled ? ETW_CONTROL_ENABLE : ETW_CONTROL_DISABLE;
    }
    h->captures = captures;
    h->captureAsked = false;
    return captureAsked && now.enabled ? ETW_CONTROL_CAPTURE_STATE : -1;
}

/* A callback with news, marked as being called; NULL: none. provider NULL: of any. */
static Hook *nextPending(const RegProvider *provider, Hook *copy, int *controlPtr)
{
    for (Hook *h = hooks; h != NULL; h = h->next) {
        if ((provider == NULL || h->provider == provider) && h->busy == 0 &&
                (*controlPtr = takeControl(h)) >= 0) {
            h->busy = OsTid();
            *copy = *h;
            return h;
        }
    }
    return NULL;
}

/* Unless the callback itself has unregistered the provider. CallbackRemoveProvider waits for this. */
static void called(const Hook *which)
{
    RegLockLocal();
    for (Hook *h = hooks; h != NULL; h = h->next) {
        if (h == which) {
            h->busy = 0;
        }
    }
    RegUnlock();
}

/*
 * A callback runs without the lock: it may define events, or enable. What changes meanwhile is notified
 * by the thread that is calling already.
 */
static void callHooks(const RegProvider *provider)
{
    for (;;) {
        Hook copy, *h;
        int control;
        if (RegLock(NULL) != ETW_OK) {
            return;
        }
        h = nextPending(provider, &copy, &control);
        RegUnlock();
        if (h == NULL) {
            return;
        }
        copy.proc(copy.ctx, control, copy.notified.level, copy.notified.any, copy.notified.all);
        called(h);
    }
}

/* ---- Waking others --------------------------------------------------------------------------- */

static void openWake(OsSharedWake *wake, RegProcess *process)
{
    char name[32];
    snprintf(name, sizeof name, "p%u", process->pid);
    OsSharedWakeOpen(wake, &process->wake, name);
}

/* Under RegLock. */
static void wakeOthers(const RegProvider *provider)
{
    Registry *r = RegGet();
    for (int i = 0; i < REG_REGISTRATIONS; i++) {
        const RegRegistration *one = &r->registrations[i];
        if (one->count != 0 && one->provider == provider - r->providers &&
                one->process < REG_PROCESSES && r->processes[one->process].pid != OsPid()) {
            OsSharedWake wake;
            openWake(&wake, &r->processes[one->process]);
            OsSharedWakePost(&wake);
            OsSharedWakeClose(&wake);
        }
    }
}

void CallbackNotify(RegProvider *provider)
{
    if (RegLock(NULL) != ETW_OK) {
        return;
    }
    wakeOthers(provider);
    RegUnlock();
    callHooks(provider);
}

/* ---- Listening ------------------------------------------------------------------------------- */

static void callbackMain(void *arg)
{
    OsSharedWake wake;
    openWake(&wake, arg);
    for (;;) { /* until the process ends */
        callHooks(NULL);
        OsSharedWakeWait(&wake, MAX_WAIT_NS);
    }
}

/* Under RegLock: the thread, at the first callback. */
static void startCallbackThread(void)
{
    OsThread *thread; /* never joined */
    RegProcess *self = RegSelf();
    if (hooks != NULL && callbackPid != OsPid() && self != NULL &&
            OsThreadStart(&thread, "etw-listen", callbackMain, self) == ETW_OK) {
        callbackPid = OsPid();
    }
}

/* This process has joined the registry again, as the child of a fork. Not under the registry's lock. */
static void rejoined(void)
{
    if (RegLock(NULL) != ETW_OK) {
        return;
    }
    for (Hook *h = hooks; h != NULL; h = h->next) {
        h->busy = 0; /* the thread that was calling it stayed behind in the parent */
    }
    startCallbackThread();
    RegUnlock();
}

void Etw_EnableCallbackAdd(Etw_Provider *pub, Etw_EnableProc *proc, void *ctx)
{
    Hook *hook;
    if (pub == NULL || RegLock(NULL) != ETW_OK) {
        return;
    }
    RegOnJoin(rejoined);
    hook = EtwAlloc(sizeof *hook);
    hook->provider = (RegProvider *)pub;
    hook->proc = proc;
    hook->ctx = ctx;
    hook->captures = atomic_load(&hook->provider->captures);
    hook->next = hooks;
    hooks = hook;
    startCallbackThread();
    RegUnlock();
    callHooks((RegProvider *)pub); /* it may be enabled already */
}

/* proc NULL: any callback of the provider. */
static Hook **find(const RegProvider *provider, Etw_EnableProc *proc, const void *ctx)
{
    Hook **at = &hooks;
    while (*at != NULL && ((*at)->provider != provider ||
                                  (proc != NULL && ((*at)->proc != proc || (*at)->ctx != ctx)))) {
        at = &(*at)->next;
    }
    return at;
}

static void forget(const RegProvider *provider, Etw_EnableProc *proc, const void *ctx)
{
    for (bool waiting = true; waiting;) {
        Hook **at, *h;
        RegLockLocal();
        at = find(provider, proc, ctx);
        h = *at;
        waiting = h != NULL;
        if (h != NULL && (h->busy == 0 || h->busy == OsTid())) {
            *at = h->next;
            EtwFree(h);
        }
        RegUnlock();
        if (waiting) {
            OsSleepNs(0);
        }
    }
}

void Etw_EnableCallbackRemove(Etw_Provider *pub, Etw_EnableProc *proc, void *ctx)
{
    if (pub != NULL && proc != NULL) {
        forget((const RegProvider *)pub, proc, ctx);
    }
}

void CallbackRemoveProvider(const RegProvider *provider)
{
    forget(provider, NULL, NULL);
}

void CallbackCaptureState(RegProvider *provider)
{
    RegLockLocal();
    for (Hook *h = hooks; h != NULL; h = h->next) {
        h->captureAsked |= h->provider == provider;
    }
    RegUnlock();
    callHooks(provider);
}

void CallbackRemoveAll(void)
{
    RegLockLocal();
    while (hooks != NULL) {
        Hook *h = hooks;
        hooks = h->next;
        EtwFree(h);
    }
    RegUnlock();
}
