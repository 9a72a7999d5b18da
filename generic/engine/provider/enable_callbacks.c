/*
 * engine/provider/enable_callbacks.c --
 *
 *	See enable_callbacks.h. Each process of the registry has a bell in it; who changes an enable rings those
 *	of the provider's processes. A process with callbacks has one thread, which waits for its bell,
 *	compares what each callback was told with what is wanted now, and calls. So nothing is looked at
 *	until somebody rings, and a ring in vain costs nothing more.
 */
#include "engine/provider/enable_callbacks.h"
#include "base/bytes.h"
#include <stdio.h>

typedef struct Wish {
    bool enabled;
    uint8_t level;
    uint64_t any, all;
} Wish;

typedef struct Hook {
    RegProvider *provider;
    Etw_EnableProc *proc;
    void *ctx;
    Wish told;
    uint32_t captures; /* of the provider, as far as it was asked */
    bool asked;        /* for its state, by the operating system */
    uint32_t busy;     /* the thread that is calling it; 0: none */
    struct Hook *next;
} Hook;

/* Under RegLock. */
static Hook *hooks;
static uint32_t listenerPid; /* of the process whose thread listens */

enum {
    LOOK_ANYWAY = 1000 * 1000000 /* ns: a ring may be lost with the process that was to ring */
};

/* ---- Calling --------------------------------------------------------------------------------- */

static Wish wishOf(const RegProvider *provider)
{
    Wish w = {0};
    uint32_t active = atomic_load(&provider->active);
    w.level = (uint8_t)__atomic_load_n(&provider->face.enabled, __ATOMIC_RELAXED);
    w.enabled = w.level != 0;
    w.any = w.enabled ? __atomic_load_n(&provider->face.keywords, __ATOMIC_RELAXED) : 0;
    for (int i = 0; i < ETW_MAX_ENABLES; i++) {
        w.all |= active >> i & 1 ? provider->enables[i].all : 0;
    }
    return w;
}

static bool isTold(const Hook *h, const Wish *w)
{
    return h->told.enabled == w->enabled && h->told.level == w->level && h->told.any == w->any &&
           h->told.all == w->all;
}

/* What a callback does not know yet, as ETW_CONTROL_*; it is taken as told. -1: it knows all. */
static int takeNews(Hook *h)
{
    Wish now = wishOf(h->provider);
    uint32_t captures = atomic_load(&h->provider->captures);
    bool asked = h->asked || h->captures != captures;
    if (!isTold(h, &now)) {
        h->told = now;
        return now.enabled ? ETW_CONTROL_ENABLE : ETW_CONTROL_DISABLE;
    }
    h->captures = captures;
    h->asked = false;
    return asked && now.enabled ? ETW_CONTROL_CAPTURE_STATE : -1;
}

/* A callback with news, marked as being called; NULL: none. provider NULL: of any. */
static Hook *nextUntold(const RegProvider *provider, Hook *copy, int *controlPtr)
{
    for (Hook *h = hooks; h != NULL; h = h->next) {
        if ((provider == NULL || h->provider == provider) && h->busy == 0 &&
                (*controlPtr = takeNews(h)) >= 0) {
            h->busy = OsTid();
            *copy = *h;
            return h;
        }
    }
    return NULL;
}

/* Unless the callback itself has unregistered the provider. ListenForget waits for this. */
static void called(const Hook *which)
{
    RegLockHere();
    for (Hook *h = hooks; h != NULL; h = h->next) {
        if (h == which) {
            h->busy = 0;
        }
    }
    RegUnlock();
}

/*
 * A callback runs without the lock: it may define events, or enable. What changes meanwhile is told
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
        h = nextUntold(provider, &copy, &control);
        RegUnlock();
        if (h == NULL) {
            return;
        }
        copy.proc(copy.ctx, control, copy.told.level, copy.told.any, copy.told.all);
        called(h);
    }
}

/* ---- Waking others --------------------------------------------------------------------------- */

static void openBell(OsBell *bell, RegProcess *process)
{
    char name[32];
    snprintf(name, sizeof name, "p%u", process->pid);
    OsBellOpen(bell, &process->bell, name);
}

/* Under RegLock. */
static void ringOthers(const RegProvider *provider)
{
    Registry *r = RegGet();
    for (int i = 0; i < REG_REGISTRATIONS; i++) {
        const RegRegistration *one = &r->registrations[i];
        if (one->count != 0 && one->provider == provider - r->providers &&
                one->process < REG_PROCESSES && r->processes[one->process].pid != OsPid()) {
            OsBell bell;
            openBell(&bell, &r->processes[one->process]);
            OsBellRing(&bell);
            OsBellClose(&bell);
        }
    }
}

void ListenNotify(RegProvider *provider)
{
    if (RegLock(NULL) != ETW_OK) {
        return;
    }
    ringOthers(provider);
    RegUnlock();
    callHooks(provider);
}

/* ---- Listening ------------------------------------------------------------------------------- */

static void listenMain(void *arg)
{
    OsBell bell;
    openBell(&bell, arg);
    for (;;) { /* until the process ends */
        callHooks(NULL);
        OsBellWait(&bell, LOOK_ANYWAY);
    }
}

/* Under RegLock: the thread, at the first callback. */
static void startListening(void)
{
    OsThread *thread; /* never joined */
    RegProcess *self = RegSelf();
    if (hooks != NULL && listenerPid != OsPid() && self != NULL &&
            OsThreadStart(&thread, "etw-listen", listenMain, self) == ETW_OK) {
        listenerPid = OsPid();
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
    startListening();
    RegUnlock();
}

void Etw_EnableCallbackAdd(Etw_Provider *face, Etw_EnableProc *proc, void *ctx)
{
    Hook *hook;
    if (face == NULL || RegLock(NULL) != ETW_OK) {
        return;
    }
    RegOnJoin(rejoined);
    hook = EtwAlloc(sizeof *hook);
    hook->provider = (RegProvider *)face;
    hook->proc = proc;
    hook->ctx = ctx;
    hook->captures = atomic_load(&hook->provider->captures);
    hook->next = hooks;
    hooks = hook;
    startListening();
    RegUnlock();
    callHooks((RegProvider *)face); /* it may be enabled already */
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
        RegLockHere();
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

void Etw_EnableCallbackRemove(Etw_Provider *face, Etw_EnableProc *proc, void *ctx)
{
    if (face != NULL && proc != NULL) {
        forget((const RegProvider *)face, proc, ctx);
    }
}

void ListenForget(const RegProvider *provider)
{
    forget(provider, NULL, NULL);
}

void ListenCapture(RegProvider *provider)
{
    RegLockHere();
    for (Hook *h = hooks; h != NULL; h = h->next) {
        h->asked |= h->provider == provider;
    }
    RegUnlock();
    callHooks(provider);
}

void ListenForgetAll(void)
{
    RegLockHere();
    while (hooks != NULL) {
        Hook *h = hooks;
        hooks = h->next;
        EtwFree(h);
    }
    RegUnlock();
}
