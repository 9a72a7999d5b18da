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
    uint32_t captures; /* RegProvider.captures as last seen */
    bool captureAsked; /* the operating system has requested the provider's state */
    uint32_t busy;     /* id of the thread that is calling it; 0: none */
    struct Hook *next;
} Hook;

/* Guarded by RegLock. */
static Hook *hooks;
static uint32_t callbackPid; /* pid of the process that runs the callback thread */

enum {
    MAX_WAIT_NS = 1000 * 1000000 /* a process may die before it posts a wake-up */
};

/* ---- Calling callbacks ----------------------------------------------------------------------- */

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

/*
 * The next change that this callback has not been notified of, as ETW_CONTROL_*, and marks it as
 * notified. -1: none.
 */
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

/*
 * The next callback to notify of a change, marked as busy; NULL: none. provider NULL: of any
 * provider.
 */
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

/*
 * The callback has returned. The hook is gone if the callback has unregistered its provider.
 * CallbackRemoveProvider waits for this.
 */
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
 * Callbacks run without the lock, because a callback may define events or enable providers. A
 * change during a callback is notified by the thread that is running it.
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

/* ---- Waking other processes ------------------------------------------------------------------ */

static void openWake(OsSharedWake *wake, RegProcess *process)
{
    char name[32];
    snprintf(name, sizeof name, "p%u", process->pid);
    OsSharedWakeOpen(wake, &process->wake, name);
}

/* Call under RegLock. */
static void wakeOthers(const RegProvider *provider)
{
    Registry *r = RegGet();
    for (int i = 0; i < REG_REGISTRATIONS; i++) {
        const RegRegistration *one = &r->registrations[i];
        if (one->count != 0 && one->provider == provider - r->providers &&
                one->process < REG_PROCESSES && &r->processes[one->process] != RegSelf()) {
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

/* ---- The callback thread --------------------------------------------------------------------- */

static void callbackMain(void *arg)
{
    OsSharedWake wake;
    openWake(&wake, arg);
    for (;;) { /* until the process ends */
        callHooks(NULL);
        OsSharedWakeWait(&wake, MAX_WAIT_NS);
    }
}

/* Starts the callback thread of this process if it has callbacks. Call under RegLock. */
static void startCallbackThread(void)
{
    OsThread *thread; /* never joined */
    RegProcess *self = RegSelf();
    if (hooks != NULL && callbackPid != OsPid() && self != NULL &&
            OsThreadStart(&thread, "etw-listen", callbackMain, self) == ETW_OK) {
        callbackPid = OsPid();
    }
}

/* This process has joined the registry again, as a forked child. Call without RegLock. */
static void rejoined(void)
{
    RegLockOrLocal();
    for (Hook *h = hooks; h != NULL; h = h->next) {
        h->busy = 0; /* the calling thread exists only in the parent */
    }
    startCallbackThread();
    RegUnlock();
}

void Etw_EnableCallbackAdd(Etw_Provider *pub, Etw_EnableProc *proc, void *ctx)
{
    Hook *hook;
    if (pub == NULL) {
        return;
    }
    bool shared = RegLockOrLocal(); /* what changes is this process's own */
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
    if (shared) {                      /* else the callback thread does it */
        callHooks((RegProvider *)pub); /* the provider may be enabled already */
    }
}

/* The link to the callback. proc NULL: to any callback of the provider. */
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
