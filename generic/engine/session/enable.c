/*
 * engine/session/enable.c --
 *
 *	Enables and disables providers for sessions; lists providers; writes the sessions' own events (Host, Mark).
 */
#include "base/bytes.h"
#include "engine/session/session.h"
#include "engine/provider/enable_callbacks.h"
#include "engine/shared/writer_threads.h"
#include <stdio.h>

/* ---- Enabling -------------------------------------------------------------------------------- */

static void fillEnable(RegEnable *e, const EtwEnable *request)
{
    e->level = request->level ? request->level : 255;
    e->any = request->any ? request->any : UINT64_MAX;
    e->all = request->all;
    e->pidCount = (uint8_t)request->pidCount;
    e->idCount = (uint8_t)request->idCount;
    e->scoped = request->scoped;
    if (request->pidCount > 0) {
        memcpy(e->pids, request->pids, (size_t)request->pidCount * sizeof *e->pids);
    }
    if (request->idCount > 0) {
        memcpy(e->ids, request->ids, (size_t)request->idCount * sizeof *e->ids);
    }
}

/* The index of this instance's entry, otherwise of a free one, otherwise -1. */
static int entryFor(const RegProvider *p, uint64_t instance)
{
    uint32_t active = atomic_load(&p->active);
    int free = -1;
    for (int i = 0; i < ETW_MAX_ENABLES; i++) {
        if (!(active >> i & 1)) {
            free = free < 0 ? i : free;
        } else if (p->enables[i].instance == instance) {
            return i;
        }
    }
    return free;
}

static EtwStatus enableLocked(
        const char *name, const EtwEnable *request, RegProvider **providerPtr, EtwError *err)
{
    uint64_t instance;
    RegProvider *p;
    int i, session;
    EtwStatus status = SessionFind(name, &session, err);
    if (status != ETW_OK) {
        return status;
    }
    if (RegGet()->sessions[session].stopping) {
        return SessionStopping(name, err);
    }
    instance = atomic_load(&RegGet()->sessions[session].instance);
    p = RegFindProvider(&request->provider, request->providerName, true);
    i = p ? entryFor(p, instance) : -1;
    if (i < 0) {
        return EtwFail(err, ETW_E_LIMIT, p ? "ENABLES" : "PROVIDERS", request->providerName,
                p ? "%d sessions have enabled this provider, which is the maximum: disable it in "
                    "one of them"
                  : "%d providers are registered, which is the maximum: end processes that have "
                    "registered providers",
                p ? (int)ETW_MAX_ENABLES : (int)REG_PROVIDERS);
    }
    atomic_fetch_and(&p->active,
            ~(1u << i)); /* a writer that saw the bit may read a mixed entry once: harmless */
    fillEnable(&p->enables[i], request);
    p->enables[i].session = (uint32_t)session;
    p->enables[i].instance = instance;
    atomic_fetch_or_explicit(&p->active, 1u << i, memory_order_release); /* the entry is complete */
    RegRefreshProvider(p);
    if (request->captureState) {
        atomic_fetch_add(&p->captures, 1);
    }
    *providerPtr = p;
    return ETW_OK;
}

EtwStatus EmbeddedEnable(const char *name, const EtwEnable *request, EtwError *err)
{
    RegProvider *provider = NULL;
    EtwStatus status;
    if (request->properties != 0 || request->executables != NULL || request->payloadCount != 0 ||
            request->idsExcluded || request->names.count != 0 || request->arguments != NULL) {
        return EtwFail(err, ETW_E_UNSUPPORTED, "ENGINE", name,
                "session \"%s\" uses the engine \"embedded\", which does not have -arguments, "
                "-executables, -names, -payload, -properties, -stacks for providers, and excluded "
                "events: start it with -engine system, or omit these options",
                name);
    }
    if (request->pidCount > 8 || request->idCount > 64) {
        return EtwFail(err, ETW_E_LIMIT, request->pidCount > 8 ? "PIDS" : "EVENTS", name,
                "too many %s: at most %d are accepted",
                request->pidCount > 8 ? "process ids" : "event ids",
                request->pidCount > 8 ? 8 : 64);
    }
    if (RegOpen(err) == NULL) {
        return err ? err->status : ETW_E_IO;
    }
    if ((status = SessionsLock(err)) != ETW_OK) {
        return status;
    }
    status = enableLocked(name, request, &provider, err);
    RegUnlock();
    if (status == ETW_OK) {
        CallbackNotify(provider);
    }
    return status;
}

EtwStatus EmbeddedDisable(const char *name, const EtwGuid *guid, EtwError *err)
{
    EtwStatus status;
    RegProvider *p = NULL;
    int session, i = -1;
    if (RegOpen(err) == NULL) {
        return err ? err->status : ETW_E_IO;
    }
    if ((status = SessionsLock(err)) != ETW_OK) {
        return status;
    }
    status = SessionFind(name, &session, err);
    if (status == ETW_OK) {
        p = RegFindProvider(guid, NULL, false);
        i = p ? entryFor(p, atomic_load(&RegGet()->sessions[session].instance)) : -1;
        if (i < 0 || !(atomic_load(&p->active) >> i & 1)) {
            status = EtwFail(err, ETW_E_LOOKUP, "ENABLE", name,
                    "session \"%s\" has not enabled this provider", name);
        } else {
            atomic_fetch_and(&p->active, ~(1u << i));
            RegRefreshProvider(p);
        }
    }
    RegUnlock();
    if (status == ETW_OK) {
        CallbackNotify(p);
    }
    return status;
}

/* ---- The list of providers ------------------------------------------------------------------- */

static void fillProvider(const RegProvider *p, EtwProviderInfo *info)
{
    memset(info, 0, sizeof *info);
    info->guid = p->guid;
    snprintf(info->name, sizeof info->name, "%.127s", p->name);
    info->registrations = RegRegistrations(p);
    for (int i = 0; i < ETW_MAX_ENABLES; i++) {
        const RegEnable *e = &p->enables[i];
        if (!(atomic_load(&p->active) >> i & 1) || e->session >= ETW_MAX_SESSIONS) {
            continue;
        }
        snprintf(info->enabled[info->enables].session, 256, "%.255s",
                RegGet()->sessions[e->session].name);
        info->enabled[info->enables].engine = etwEmbeddedOps.name;
        info->enabled[info->enables].level = e->level;
        info->enabled[info->enables].any = e->any;
        info->enabled[info->enables].all = e->all;
        info->enables++;
    }
}

/* The next provider from *atPtr on that is registered or enabled; *atPtr moves behind it. */
static bool nextProvider(const Registry *r, int *atPtr, EtwProviderInfo *info)
{
    while (*atPtr < REG_PROVIDERS) {
        const RegProvider *p = &r->providers[(*atPtr)++];
        if (p->used && (atomic_load(&p->active) != 0 || RegRegistrations(p) > 0)) {
            fillProvider(p, info);
            return true;
        }
    }
    return false;
}

void EmbeddedProviders(bool (*visit)(void *ctx, const EtwProviderInfo *info), void *ctx)
{
    Registry *r = RegOpen(NULL);
    EtwProviderInfo info;
    bool there = r != NULL;
    for (int at = 0; there;) {
        if (RegLock(NULL) != ETW_OK) {
            return;
        }
        if (at == 0) {
            RegSweep();
        }
        there = nextProvider(r, &at, &info);
        RegUnlock(); /* a visitor may take the lock */
        there = there && visit(ctx, &info);
    }
}

/* ---- The session's own events ---------------------------------------------------------------- */

static char tclVersion[32];
static char starterProgram[256]; /* of the process that started this logger process; "": none */

void SessionSetProgram(const char *name)
{
    snprintf(starterProgram, sizeof starterProgram, "%s", name);
}

void EtwSetTclVersion(const char *version)
{
    snprintf(tclVersion, sizeof tclVersion, "%s", version);
}

const char *EtwTclVersion(void)
{
    return tclVersion;
}

static size_t putText(uint8_t *at, const char *text)
{
    size_t n = strlen(text);
    EtwStore16(at, (uint16_t)n);
    memcpy(at + 2, text, n);
    return n + 2;
}

/* Write an event to one session, whether or not it is enabled there. */
static void writeOwn(Ring *ring, Etw_Event *event, const uint8_t *payload, size_t size)
{
    EtwRawEvent raw = {event, 0, OsPid(), OsTid(), payload, size, NULL, 0};
    uint32_t stream = (uint32_t)OsCpu() % ring->cpus;
    if (event != NULL && !EtwProviderWriteTo(ring, stream, &raw)) {
        atomic_fetch_add(&ring->streams[stream].lostNoBuffer, 1);
    }
}

Etw_Provider *EtwOwnProvider(void)
{
    static _Atomic(Etw_Provider *) provider;
    Etw_Provider *p = atomic_load(&provider);
    if (p == NULL) {
        p = Etw_Register(ETW_SESSION_PROVIDER, NULL);
        atomic_store(&provider, p);
    }
    return p;
}

static Etw_Event *sessionEvent(int number)
{
    return EtwDefineDeclared(
            EtwOwnProvider(), &EtwDeclaredFind(ETW_SESSION_PROVIDER)->events[number]);
}

/* The payload has the fields of the declared event, in the same order. */
void EtwSessionWriteHost(Ring *ring)
{
    static const char *const clocks[] = {"", "x86-tsc", "monotonic-raw", "qpc"};
    char host[256], system[256], program[256];
    uint8_t payload[1000], *at = payload;
    OsHostName(host, sizeof host);
    OsHostText(system, sizeof system);
    at += putText(at, host);
    at += putText(at, system);
    at += putText(at, tclVersion);
    EtwStore32(at, (uint32_t)OsCpuCount());
    at += 4;
    at += putText(at, clocks[osClock]);
    OsProgramName(program, sizeof program);
    at += putText(at, starterProgram[0] != '\0' ? starterProgram : program);
    writeOwn(ring, sessionEvent(ETW_SESSION_HOST), payload, (size_t)(at - payload));
}

Etw_Event *EtwMarkEvent(void)
{
    return sessionEvent(ETW_SESSION_MARK);
}

EtwStatus EmbeddedMark(const char *name, const char *text, EtwError *err)
{
    Etw_Event *mark = EtwMarkEvent();
    char cut[4096 + 1];
    uint8_t payload[sizeof cut + 2];
    EtwThread *thread = EtwThreadSelf();
    EtwStatus status;
    int index;
    Ring *ring;
    if (RegOpen(err) == NULL) {
        return err ? err->status : ETW_E_IO;
    }
    if ((status = SessionsLock(err)) != ETW_OK) {
        return status;
    }
    EtwThreadEnter(thread);
    status = SessionFind(name, &index, err);
    ring = index < 0 ? NULL
                     : RegRing((uint32_t)index, atomic_load(&RegGet()->sessions[index].instance));
    if (status == ETW_OK && ring == NULL) {
        status = SessionStopped(name, err);
    } else if (status == ETW_OK && RegGet()->sessions[index].stopping) {
        status = SessionStopping(name, err);
    } else if (status == ETW_OK) {
        snprintf(cut, sizeof cut, "%s", text);
        writeOwn(ring, mark, payload, putText(payload, cut));
    }
    EtwThreadLeave(thread);
    RegUnlock();
    return status;
}
