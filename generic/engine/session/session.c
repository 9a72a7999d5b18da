/*
 * engine/session/session.c --
 *
 *	Control of the embedded engine's sessions: start, stop, query, flush, update, snapshot,
 *	kernel events. It keeps a table of the sessions that this process owns, guarded by RegLock.
 *	logger.c does the work of a running session.
 */
#include "engine/session/session_control.h"
#include "base/text.h"
#include "engine/provider/enable_callbacks.h"
#include "engine/shared/writer_threads.h"
#include "etl/format.h"
#include <stdio.h>
#include <stdlib.h>

enum {
    DEFAULT_BUFFER_KB = 256,
    DEFAULT_BUFFERS = 128,
    DEFAULT_LEAST = 16,
    SMALLEST = 4, /* buffers, when there is little shared memory */
    DEFAULT_FLUSH_MS = 1000,
    MAX_BUFFERS = 16384,
    LOOK_AROUND = 1000 * 1000000 /* ns */
};

static EtwSession *owned[ETW_MAX_SESSIONS]; /* by registry index; guarded by RegLock */
static OsWake *idle; /* posted when a session is released or has stopped; never freed */

/* ---- Names ----------------------------------------------------------------------------------- */

static EtwStatus checkName(const char *name, EtwError *err)
{
    size_t length = strlen(name);
    for (const char *p = name; *p != '\0'; p++) {
        if ((unsigned char)*p < 32) {
            length = 0;
        }
    }
    if (length == 0 || length > 255 || strchr(name, ':') != NULL) {
        return EtwFail(err, ETW_E_ARG, "NAME", name,
                "bad session name \"%s\": it must have 1 to 255 bytes, without control characters "
                "and colons",
                name);
    }
    return ETW_OK;
}

static EtwStatus noSession(const char *name, EtwError *err)
{
    EtwText list = {0};
    Registry *r = RegGet();
    if (r != NULL && SessionUnsaved(name, NULL, err)) {
        return ETW_E_STATE;
    }
    for (int i = 0; r != NULL && i < ETW_MAX_SESSIONS; i++) {
        if (atomic_load(&r->sessions[i].instance) != 0 && !r->sessions[i].unsaved) {
            EtwTextPrintf(&list, "%s%.255s", list.size ? ", " : "", r->sessions[i].name);
        }
    }
    EtwTextChar(&list, '\0');
    EtwFail(err, ETW_E_LOOKUP, "SESSION", name, "no session \"%s\": %s%.400s", name,
            list.size > 1 ? "there are " : "none is running", list.data);
    EtwTextFree(&list);
    return ETW_E_LOOKUP;
}

static EtwStatus nameTaken(const RegSession *s, EtwError *err)
{
    char when[64];
    OsLocalTimeText(when, sizeof when, s->startWall);
    return EtwFail(err, ETW_E_STATE, "EXISTS", s->name,
            "session \"%s\" exists: process %u started it at %s; stop it with \"etw stop %s\", or "
            "use another name",
            s->name, s->ownerPid, when, s->name);
}

EtwStatus SessionFind(const char *name, int *indexPtr, EtwError *err)
{
    *indexPtr = RegFindSession(name);
    return *indexPtr < 0 ? noSession(name, err) : ETW_OK;
}

EtwStatus SessionStopping(const char *name, EtwError *err)
{
    return EtwFail(err, ETW_E_STATE, "STOPPING", name,
            "session \"%s\" is being stopped: try again when it has stopped", name);
}

EtwStatus SessionStopped(const char *name, EtwError *err)
{
    return EtwFail(
            err, ETW_E_STATE, "STOPPING", name, "session \"%s\" stopped during the call", name);
}

/* Call under SessionsLock. ETW_AGAIN: another process owns the session. */
static EtwStatus findOwned(const char *name, EtwSession **sessionPtr, EtwError *err)
{
    Registry *r = RegGet();
    int index;
    EtwStatus status = SessionFind(name, &index, err);
    if (status != ETW_OK) {
        return status;
    }
    EtwSession *s = owned[index];
    if (r->sessions[index].owner != RegSelfKey()) {
        return ETW_AGAIN;
    }
    if (s->stopping) {
        return SessionStopping(name, err);
    }
    *sessionPtr = s;
    return ETW_OK;
}

/*
 * Find a session that this process owns and prevent that it is freed. Takes and leaves SessionsLock.
 * ETW_AGAIN: another process owns it.
 */
static EtwStatus acquire(const char *name, EtwSession **sessionPtr, EtwError *err)
{
    EtwStatus status;
    if (RegOpen(err) == NULL) {
        return err ? err->status : ETW_E_IO;
    }
    if ((status = SessionsLock(err)) != ETW_OK) {
        return status;
    }
    status = findOwned(name, sessionPtr, err);
    if (status == ETW_OK) {
        atomic_fetch_add(&(*sessionPtr)->refs, 1);
    }
    RegUnlock();
    return status;
}

/* The session may be freed as soon as the count has changed. */
static void release(EtwSession *s)
{
    atomic_fetch_sub(&s->refs, 1);
    OsWakePost(idle);
}

/* The number of buffers that a session has at its start if none is given. */
static uint32_t usualMinimum(uint32_t cpus)
{
    return cpus * 2 > DEFAULT_LEAST ? cpus * 2 : DEFAULT_LEAST;
}

/* ---- Starting -------------------------------------------------------------------------------- */

static EtwStatus checkConfig(const EtwSessionConfig *c, EtwError *err)
{
    EtwStatus status = checkName(c->name, err);
    if (status != ETW_OK) {
        return status;
    }
    if (c->inProcess != NULL) {
        return EtwFail(err, ETW_E_UNSUPPORTED, "ENGINE", c->name,
                "-inprocess requires -engine system: the embedded engine needs no privilege, omit "
                "the option");
    }
    if (c->clock != 0 || c->logMode != 0 || c->guid != NULL || c->kernelFlags != 0) {
        return EtwFail(err, ETW_E_UNSUPPORTED, "ENGINE", c->name,
                "-clock, -logmode, -guid and -kernelflags require -engine system");
    }
    if (c->privateOf != NULL || c->pidCount != 0 || c->executables != NULL) {
        return EtwFail(err, ETW_E_UNSUPPORTED, "ENGINE", c->name,
                "-private, -pids and -executables require -engine system: with the embedded "
                "engine, use -pids of \"etw enable\"");
    }
    if (c->mode == ETW_FILE_MEMORY ? c->file != NULL : c->file == NULL && !c->realtime) {
        return EtwFail(err, ETW_E_ARG, "FILE", c->name,
                c->file ? "-file and -mode memory exclude each other: omit -file, and write the "
                          "events with \"etw snapshot\""
                        : "session \"%s\" has no destination for events: give -file FILE, "
                          "-realtime 1, or -mode memory",
                c->name);
    }
    if (c->mode == ETW_FILE_MEMORY && c->lossless) {
        return EtwFail(err, ETW_E_ARG, "LOSSLESS", c->name,
                "-lossless and -mode memory exclude each other: a session in memory overwrites its "
                "oldest events, so that no writer waits");
    }
    if (c->mode == ETW_FILE_CIRCULAR && c->compress == ETW_COMPRESS_ON) {
        return EtwFail(err, ETW_E_ARG, "COMPRESS", c->name,
                "a circular file is not compressed, because its buffers overwrite each other: "
                "take -compress away, or use -mode newfile");
    }
    if (c->bufferKB != 0 && (c->bufferKB < 4 || c->bufferKB > 1024)) {
        return EtwFail(err, ETW_E_ARG, "BUFFERSIZE", c->name,
                "buffer size %u KB is out of range: must be 4 to 1024", c->bufferKB);
    }
    if (c->maxBuffers > MAX_BUFFERS || (c->maxBuffers != 0 && c->maxBuffers < 2) ||
            (c->maxBuffers != 0 && c->minBuffers > c->maxBuffers)) {
        return EtwFail(err, ETW_E_ARG, "BUFFERS", c->name,
                "bad numbers of buffers %u,%u: the minimum must not exceed the maximum, and the "
                "maximum must be 2 to %d",
                c->minBuffers, c->maxBuffers, MAX_BUFFERS);
    }
    if (c->mode == ETW_FILE_CIRCULAR && c->maxMB == 0) {
        return EtwFail(err, ETW_E_ARG, "MAXSIZE", c->name, "-mode circular needs -maxsize MB");
    }
    if (c->mode == ETW_FILE_NEWFILE &&
            (c->file == NULL || c->maxMB == 0 || strstr(c->file, "%d") == NULL)) {
        return EtwFail(err, ETW_E_ARG, "MAXSIZE", c->name,
                "-mode newfile needs -maxsize MB, and %%d in the name of the file, which is "
                "replaced by a number");
    }
    return ETW_OK;
}

uint32_t SessionFileMode(EtwFileMode mode, bool realtime)
{
    static const uint32_t bits[] = {ETL_MODE_SEQUENTIAL, ETL_MODE_CIRCULAR, ETL_MODE_APPEND,
            ETL_MODE_NEWFILE, ETL_MODE_SEQUENTIAL};
    return bits[mode] | (realtime ? (uint32_t)ETL_MODE_REALTIME : 0u);
}

static EtwStatus directoryGone(const char *name, const char *path, EtwError *err)
{
    return EtwFail(err, ETW_E_STATE, "RUNTIME", name,
            "the runtime directory of \"%s\" was removed while this process used it: its running "
            "sessions can only be stopped; start the process again to start sessions",
            path);
}

/* Fewer where shared memory is small, as in a container: a session takes at most a quarter of it. */
static uint32_t defaultBuffers(const char *path, uint32_t bufferSize)
{
    uint64_t count = OsFreeSpace(path) / 4 / bufferSize;
    return count < SMALLEST          ? SMALLEST
           : count < DEFAULT_BUFFERS ? (uint32_t)count
                                     : DEFAULT_BUFFERS;
}

static EtwStatus makeRing(
        EtwSession *s, const EtwSessionConfig *c, uint64_t instance, EtwError *err)
{
    char path[1024];
    RingHeader *h;
    OsInstant now;
    RingConfig config = {.instance = instance,
            .cpus = (uint32_t)OsCpuCount(),
            .bufferSize = (c->bufferKB ? c->bufferKB : DEFAULT_BUFFER_KB) * 1024};
    EtwStatus status;
    /*
     * With two buffers for each CPU, a writer can replace a full buffer without waiting for the
     * logger.
     */
    RegSessionPath(instance, path, sizeof path);
    config.buffers = c->maxBuffers ? c->maxBuffers : defaultBuffers(path, config.bufferSize);
    config.minBuffers = c->minBuffers ? c->minBuffers : usualMinimum(config.cpus);
    config.minBuffers = config.minBuffers > config.buffers ? config.buffers : config.minBuffers;
    config.overwrite = c->mode == ETW_FILE_MEMORY;
    s->ring = EtwAlloc(sizeof *s->ring);
    status = RingCreate(s->ring, path, &config, err);
    if (status != ETW_OK) {
        EtwFree(s->ring);
        s->ring = NULL;
        return status == ETW_E_LOOKUP ? directoryGone(s->name, path, err) : status;
    }
    h = s->ring->header;
    OsNow(&now);
    h->mode = c->mode;
    h->realtime = c->realtime;
    h->lossless = c->lossless;
    h->compress = c->compress;
    h->clock = osClock;
    h->ownerPid = OsPid();
    h->owner = RegSelfKey();
    h->starter = c->starter != 0 ? c->starter : OsPid();
    h->startTicks = now.ticks;
    h->startSteady = now.steady;
    h->startWall = now.wall;
    h->flushMs = c->flushMs ? c->flushMs : DEFAULT_FLUSH_MS;
    h->maxMB = c->maxMB;
    snprintf(h->name, sizeof h->name, "%s", s->name);
    h->state = RING_RUNNING;
    return ETW_OK;
}

static EtwStatus openFirstFile(EtwSession *s, const EtwSessionConfig *c, EtwError *err)
{
    RingHeader *h = s->ring->header;
    EtwStatus status = ETW_OK;
    s->fileConfig = (EtlWriterConfig){.loggerName = s->name,
            .mode = SessionFileMode(c->mode, c->realtime),
            .bufferSize = h->bufferSize,
            .compress = c->compress != ETW_COMPRESS_OFF,
            .inHurry = LoggerInHurry,
            .maxMB = c->maxMB,
            .loggerId = (uint16_t)(s->index + 1),
            .cpus = (int)h->cpus,
            .startWall = h->startWall,
            .startSteady = h->startSteady,
            .bootTime = OsBootTime(),
            .zoneBias = OsTimeZoneBias(),
            .cpuMHz = OsCpuMHz(),
            .pid = OsPid(),
            .tid = OsTid(),
            .onFlush = LoggerOnFlush,
            .flushCtx = s};
    if (c->file != NULL) {
        status = LoggerOpenFile(s, c->file, err);
        snprintf(h->file, sizeof h->file, "%s", s->file);
    }
    return status;
}

static void freeSession(EtwSession *s)
{
    if (s->writer != NULL) {
        EtlWriterClose(s->writer, 0, 0, NULL);
    }
    if (s->ring != NULL) {
        RingClose(s->ring);
        EtwFree(s->ring);
    }
    OsMutexFree(s->taskMutex);
    EtwFree(s);
}

static EtwSession *newSession(const char *name, int index)
{
    EtwSession *s = EtwAlloc(sizeof *s);
    snprintf(s->name, sizeof s->name, "%s", name);
    s->index = (uint32_t)index;
    s->ownerPid = OsPid();
    s->refs = 1; /* the starter's, until the Host event is written */
    s->taskMutex = OsMutexNew();
    return s;
}

/* full: the absolute path of its file, or NULL. Call under SessionsLock. */
static EtwStatus startLocked(const EtwSessionConfig *c, const char *name, const char *full,
        EtwSession **sessionPtr, EtwError *err)
{
    OsInstant now;
    uint64_t instance;
    EtwStatus status;
    EtwSession *s;
    int index = RegFindSession(name);
    if (index >= 0) {
        return nameTaken(&RegGet()->sessions[index], err);
    }
    if (full != NULL && SessionUnsaved(NULL, full, err)) {
        return ETW_E_STATE;
    }
    OsNow(&now);
    index = RegNewSession(name, now.wall, &instance, err);
    if (index < 0) {
        return ETW_E_LIMIT;
    }
    s = newSession(name, index);
    status = makeRing(s, c, instance, err);
    if (status == ETW_OK) {
        status = openFirstFile(s, c, err);
    }
    if (status == ETW_OK) {
        status = LoggerStart(s, err);
    }
    if (status != ETW_OK) {
        freeSession(s);
        RegRemoveSession(index);
        return status;
    }
    RegAttach((uint32_t)index, s->ring);
    owned[index] = s;
    *sessionPtr = s;
    return ETW_OK;
}

EtwStatus SessionStartLocal(const EtwSessionConfig *config, EtwError *err)
{
    static bool atExit;
    char full[1024];
    EtwStatus status;
    EtwSession *s = NULL;
    if (RegOpen(err) == NULL) {
        return err ? err->status : ETW_E_IO;
    }
    EtwKernelSweep();
    if (config->file != NULL) {
        status = OsNeedFullPath(config->file, full, sizeof full, err);
        if (status != ETW_OK) {
            return status;
        }
    }
    status = config->file != NULL ? SessionsLockRecovered(full, err) : SessionsLock(err);
    if (status != ETW_OK) {
        return status;
    }
    idle = idle != NULL ? idle : OsWakeNew();
    status = startLocked(config, config->name, config->file != NULL ? full : NULL, &s, err);
    if (status == ETW_OK && !atExit) {
        atExit = true;
        atexit(EtwSessionStopAll);
    }
    if (status == ETW_OK) {
        OsOnTermination(EtwSessionStopAll);
    }
    RegUnlock();
    if (status == ETW_OK) {
        EtwSessionWriteHost(s->ring);
        release(s);
    }
    return status;
}

static EtwStatus embeddedStart(const EtwSessionConfig *config, EtwError *err)
{
    EtwStatus status = checkConfig(config, err);
    if (status != ETW_OK) {
        return status;
    }
    return config->detached ? DetachStart(config, err) : SessionStartLocal(config, err);
}

/* ---- Stopping -------------------------------------------------------------------------------- */

static void finishProc(EtwSession *s, void *arg)
{
    EtwStatus *statusPtr = arg;
    OsInstant now;
    RingHeader *h = s->ring->header;
    s->blockTimeout = 200000000; /* no thread of this process is inside a write any more */
    if (s->kernel != NULL) {
        EtwKernelQuiesce(s->kernel);
    }
    RingCloseAll(s->ring);
    LoggerFlush(s);
    for (int64_t waited = 0; waited < s->blockTimeout; waited += 20000000) {
        uint32_t used, free;
        RingCount(s->ring, &used, &free);
        if ((used == 0 && !atomic_exchange(&h->starved, 0)) || h->overwrite) {
            break;
        }
        OsSleepNs(
                20000000); /* an open record of another process, or a writer that waits for a buffer */
        RingCloseAll(s->ring);
        LoggerFlush(s);
    }
    if (s->kernel != NULL) {
        EtwKernelClose(s->kernel);
        s->kernel = NULL;
    }
    OsNow(&now);
    if (s->writer != NULL) {
        *statusPtr = LoggerCloseFile(s, now.wall);
    }
    atomic_store(&h->stopWall, now.wall);
    atomic_store(&h->state, RING_STOPPED);
    s->finish = true;
}

typedef struct Providers {
    uint8_t bits[REG_PROVIDERS / 8];
} Providers;

/* Disable all providers for this session. Call under RegLock. */
static void disableAll(const EtwSession *s, Providers *changed)
{
    Registry *r = RegGet();
    for (int p = 0; p < REG_PROVIDERS; p++) {
        RegProvider *provider = &r->providers[p];
        for (int e = 0; provider->used && e < ETW_MAX_ENABLES; e++) {
            if ((atomic_load(&provider->active) >> e & 1) &&
                    provider->enables[e].instance == s->ring->instance) {
                atomic_fetch_and(&provider->active, ~(1u << e));
                RegRefreshProvider(provider);
                changed->bits[p / 8] |= (uint8_t)(1u << p % 8);
            }
        }
    }
}

static void notifyAll(const Providers *changed)
{
    for (int p = 0; p < REG_PROVIDERS; p++) {
        if (changed->bits[p / 8] >> p % 8 & 1) {
            CallbackNotify(&RegGet()->providers[p]);
        }
    }
}

/* The caller will stop this session; no other thread may. Call under RegLock. */
static void beginStop(EtwSession *s, Providers *changed)
{
    s->stopping = true;
    RegGet()->sessions[s->index].stopping = 1;
    disableAll(s, changed);
}

bool SessionIsLeft(int index)
{
    const RegSession *s = &RegGet()->sessions[index];
    return owned[index] == NULL && atomic_load(&s->instance) != 0 && s->owner == RegSelfKey();
}

/*
 * Remove the session from all tables. When RegLock fails (no file descriptor left, its directory
 * removed, a stopped process), the registry's entry stays until the next call that finds sessions.
 */
static void forget(EtwSession *s)
{
    bool shared = RegLockOrLocal();
    owned[s->index] = NULL;
    RegDetach(s->index);
    if (shared) {
        RegRemoveSession((int)s->index);
    }
    RegUnlock();
}

static EtwStatus stopOwned(EtwSession *s, EtwSessionInfo *info)
{
    EtwStatus status = ETW_OK;
    while (atomic_load(&s->refs) > 0) {
        OsWakeWait(idle, 10000000); /* with a timeout: the post may wake another waiting thread */
    }
    atomic_store(&s->ring->header->state, RING_STOPPING);
    EtwThreadsQuiesce();
    LoggerCall(s, finishProc, &status);
    LoggerJoin(s);
    if (info != NULL) {
        SessionFillInfo(s->ring, s->index, info);
    }
    forget(s);
    EtwKernelSweep();
    EtwThreadsQuiesce(); /* no thread of this process uses the mapping any more */
    freeSession(s);
    OsWakePost(idle);
    return status;
}

static EtwStatus embeddedStop(const char *name, EtwSessionInfo *info, EtwError *err)
{
    EtwSession *s;
    Providers changed = {{0}};
    EtwStatus status;
    if (RegOpen(err) == NULL) {
        return err ? err->status : ETW_E_IO;
    }
    if ((status = SessionsLock(err)) != ETW_OK) {
        return status;
    }
    status = findOwned(name, &s, err);
    if (status == ETW_OK) {
        beginStop(s, &changed);
    }
    RegUnlock();
    if (status == ETW_AGAIN) {
        return ControlSend(name, &(ControlRequest){.verb = CONTROL_STOP}, info, err);
    }
    if (status != ETW_OK) {
        return status;
    }
    notifyAll(&changed);
    status = stopOwned(s, info);
    if (status != ETW_OK) {
        status = EtwFail(err, status, "WRITE", name,
                "session \"%s\" is stopped, but some events could not be written to its file: its "
                "key \"lost\" has their number",
                name);
    }
    return status;
}

/* A session that this process owns. *minePtr: the caller has to stop it. */
static EtwSession *nextOwned(bool *minePtr)
{
    EtwSession *s = NULL;
    Providers ignored = {{0}};
    RegLockOrLocal(); /* files must be closed even if the registry cannot be locked */
    for (int i = 0; i < ETW_MAX_SESSIONS && (s == NULL || !*minePtr); i++) {
        if (owned[i] != NULL && owned[i]->ownerPid == OsPid()) {
            s = owned[i];
            *minePtr = !s->stopping;
        }
    }
    if (s != NULL && *minePtr) {
        beginStop(s, &ignored);
    }
    RegUnlock();
    return s;
}

/*
 * Also waits for sessions that other threads are stopping, because the process may end after this.
 */
void EtwSessionStopAll(void)
{
    bool mine = false;
    EtwSession *s;
    for (int waits = 0; RegGet() != NULL && waits < 1000 && (s = nextOwned(&mine)) != NULL;) {
        if (mine) {
            stopOwned(s, NULL);
        } else {
            OsWakeWait(idle, 10000000);
            waits++;
        }
    }
    ControlFinish();
}

void SessionWaitForAll(void)
{
    for (bool any = true, reachable = true; any && reachable;) {
        char path[1024];
        RegLockLocal();
        any = false;
        for (int i = 0; i < ETW_MAX_SESSIONS; i++) {
            if (owned[i] != NULL && owned[i]->ownerPid == OsPid()) {
                any = true;
                RegSessionPath(owned[i]->ring->instance, path, sizeof path);
            }
        }
        RegUnlock();
        if (any) {
            OsWakeWait(idle, LOOK_AROUND);
            reachable = OsFileExists(path);
        }
    }
    EtwSessionStopAll(); /* no other process can stop a session whose mapping was removed */
}

/* ---- While it runs --------------------------------------------------------------------------- */

EtwStatus EtwSessionsReachable(EtwError *err)
{
    EtwError own = {0};
    if (RegOpen(&own) != NULL && RegLock(&own) == ETW_OK) {
        RegUnlock();
    } else if (own.status == ETW_E_STATE || own.status == ETW_E_ACCESS ||
               own.status == ETW_E_LIMIT) {
        if (err != NULL) {
            *err = own;
        }
        return own.status;
    }
    return ETW_OK; /* without a registry there are no sessions */
}

static EtwStatus embeddedHas(const char *name)
{
    int index;
    EtwStatus status = ETW_E_LOOKUP;
    EtwError err = {0};
    if (RegOpen(&err) != NULL && SessionsLock(&err) == ETW_OK) {
        status = SessionFind(name, &index, &err);
        RegUnlock();
    }
    /* ETW_E_STATE: locked, or not recovered yet. Without a registry there are no sessions. */
    return status != ETW_OK && err.status == ETW_E_STATE ? ETW_E_STATE : status;
}

/* Query a session of any process, from shared memory. */
static EtwStatus queryLocked(int index, EtwSessionInfo *info, EtwError *err)
{
    Registry *r = RegGet();
    char path[1024];
    Ring ring = {0};
    uint64_t instance = atomic_load(&r->sessions[index].instance);
    if (owned[index] != NULL && owned[index]->ownerPid == OsPid()) {
        SessionFillInfo(owned[index]->ring, (uint32_t)index, info);
        return ETW_OK;
    }
    RegSessionPath(instance, path, sizeof path);
    EtwStatus status = RingOpen(&ring, path, instance, err);
    if (status != ETW_OK) {
        return status;
    }
    SessionFillInfo(&ring, (uint32_t)index, info);
    RingClose(&ring);
    return ETW_OK;
}

EtwStatus EmbeddedQuery(const char *name, EtwSessionInfo *info, EtwError *err)
{
    EtwStatus status;
    int index;
    if (RegOpen(err) == NULL) {
        return err ? err->status : ETW_E_IO;
    }
    if ((status = SessionsLock(err)) != ETW_OK) {
        return status;
    }
    status = SessionFind(name, &index, err);
    status = status == ETW_OK ? queryLocked(index, info, err) : status;
    RegUnlock();
    return status;
}

static void embeddedList(bool (*visit)(void *ctx, const EtwSessionInfo *info), void *ctx)
{
    Registry *r = RegOpen(NULL);
    EtwSessionInfo info;
    EtwKernelSweep();
    if (r == NULL || SessionsLock(NULL) != ETW_OK) {
        return;
    }
    RegUnlock();
    for (int i = 0; i < ETW_MAX_SESSIONS; i++) {
        bool there = false;
        if (atomic_load(&r->sessions[i].instance) == 0) {
            continue; /* saves taking the lock */
        }
        if (RegLock(NULL) != ETW_OK) {
            return;
        }
        if (atomic_load(&r->sessions[i].instance) != 0 && !r->sessions[i].unsaved) {
            there = queryLocked(i, &info, NULL) == ETW_OK;
        }
        RegUnlock();
        if (there && !visit(ctx, &info)) {
            return;
        }
    }
}

/* ---- On the logger's thread ------------------------------------------------------------------ */

EtwStatus SessionUpdate(EtwSession *s, const EtwSessionConfig *changes, EtwError *err)
{
    RingHeader *h = s->ring->header;
    uint32_t most = changes->maxBuffers;
    EtwStatus status = ETW_OK;
    if (changes->file != NULL && h->overwrite) {
        return EtwFail(err, ETW_E_ARG, "FILE", s->name,
                "session \"%s\" keeps its events in memory: write them with \"etw snapshot\"",
                s->name);
    }
    if (changes->realtimeChange && !changes->realtime && h->mode != ETW_FILE_MEMORY &&
            h->file[0] == '\0') {
        return EtwFail(err, ETW_E_ARG, "FILE", s->name,
                "session \"%s\" has no file: -realtime 0 would leave no destination for events",
                s->name);
    }
    if (changes->realtimeChange) {
        h->realtime = changes->realtime;
    }
    if (changes->maxMB != 0 && s->fileConfig.maxMB != changes->maxMB) {
        s->fileConfig.maxMB = changes->maxMB;
        if (s->writer != NULL) {
            EtlWriterSetLimit(s->writer, changes->maxMB);
        }
        h->maxMB = changes->maxMB;
    }
    if (changes->file != NULL) {
        status = LoggerOpenFile(s, changes->file, err);
        snprintf(h->file, sizeof h->file, "%s", s->file);
    }
    if (changes->flushMs != 0) {
        h->flushMs = changes->flushMs;
    }
    if (most != 0) {
        h->maxBuffers = most > s->ring->bufferCount ? s->ring->bufferCount : most;
    }
    return status;
}

EtwStatus SessionSnapshot(EtwSession *s, const char *path, EtwError *err)
{
    if (!s->ring->header->overwrite) {
        return EtwFail(err, ETW_E_STATE, "MODE", s->name,
                "session \"%s\" writes to a file: \"etw snapshot\" requires a session of -mode "
                "memory; \"etw flush\" completes the file",
                s->name);
    }
    LoggerDrain(s);
    return LoggerSnapshot(s, path, err);
}

/* Add the names that are missing, while there is space. */
static void addGroupNames(RingHeader *h, const EtwKernelEnable *enable)
{
    for (int i = 0; i < enable->groupCount; i++) {
        char known[sizeof h->kernel + 2], word[sizeof h->kernel];
        size_t used = strlen(h->kernel);
        snprintf(known, sizeof known, " %s ", h->kernel);
        snprintf(word, sizeof word, " %s ", enable->groups[i]);
        if (strstr(known, word) == NULL && used + strlen(word) < sizeof h->kernel) {
            snprintf(h->kernel + used, sizeof h->kernel - used, "%s%s", used > 0 ? " " : "",
                    enable->groups[i]);
        }
    }
}

EtwStatus SessionKernelOn(EtwSession *s, const EtwKernelEnable *enable, EtwError *err)
{
    RingHeader *h = s->ring->header;
    EtwKernelEnable sized = *enable;
    if (h->minBuffers > usualMinimum((uint32_t)OsCpuCount())) {
        sized.ringKB = (size_t)h->minBuffers * (h->bufferSize / 1024);
    }
    EtwStatus status = EtwKernelOpen(&s->kernel, s->name, &sized, err);
    if (status == ETW_OK) {
        addGroupNames(h, enable);
        /*
         * From now on live consumers wait for kernel events. Otherwise script events of the first
         * round would be delivered before earlier kernel events.
         */
        if (atomic_load(&h->kernelUntil) == 0) {
            OsInstant now;
            OsNow(&now);
            atomic_store(&h->kernelUntil, now.ticks);
        }
    }
    return status;
}

void SessionKernelOff(EtwSession *s)
{
    if (s->kernel != NULL) {
        EtwKernelQuiesce(s->kernel);
        LoggerDrain(s);
        EtwKernelClose(s->kernel);
        s->kernel = NULL;
        s->ring->header->kernel[0] = '\0';
        atomic_store(&s->ring->header->kernelUntil, 0);
    }
}

/* ---- From any thread of any process ---------------------------------------------------------- */

typedef struct Call {
    const ControlRequest *request;
    EtwStatus status;
    EtwError *err;
} Call;

static void callProc(EtwSession *s, void *arg)
{
    Call *c = arg;
    const ControlRequest *r = c->request;
    switch (r->verb) {
    case CONTROL_FLUSH:
        LoggerFlush(s);
        break;
    case CONTROL_UPDATE:
        c->status = SessionUpdate(s, r->changes, c->err);
        break;
    case CONTROL_SNAPSHOT:
        c->status = SessionSnapshot(s, r->file, c->err);
        break;
    case CONTROL_KERNEL_ON:
        c->status = SessionKernelOn(s, r->kernel, c->err);
        break;
    case CONTROL_KERNEL_OFF:
        SessionKernelOff(s);
        break;
    case CONTROL_STOP: /* ends the logger, so it runs on another thread */
        break;
    }
}

/* Execute the request on the logger's thread, in this process or in the owner. */
static EtwStatus call(
        const char *name, const ControlRequest *request, EtwSessionInfo *info, EtwError *err)
{
    EtwSession *s;
    Call c = {request, ETW_OK, err};
    EtwStatus status = acquire(name, &s, err);
    if (status == ETW_AGAIN) {
        return ControlSend(name, request, info, err);
    }
    if (status != ETW_OK) {
        return status;
    }
    LoggerCall(s, callProc, &c);
    if (c.status == ETW_OK && info != NULL) {
        SessionFillInfo(s->ring, s->index, info);
    }
    release(s);
    return c.status;
}

static EtwStatus embeddedFlush(const char *name, EtwSessionInfo *info, EtwError *err)
{
    return call(name, &(ControlRequest){.verb = CONTROL_FLUSH}, info, err);
}

static EtwStatus embeddedUpdate(
        const char *name, const EtwSessionConfig *changes, EtwSessionInfo *info, EtwError *err)
{
    return call(name, &(ControlRequest){.verb = CONTROL_UPDATE, .changes = changes}, info, err);
}

static EtwStatus embeddedSnapshot(
        const char *name, const char *file, EtwSessionInfo *info, EtwError *err)
{
    return call(name, &(ControlRequest){.verb = CONTROL_SNAPSHOT, .file = file}, info, err);
}

static EtwStatus embeddedEnableKernel(
        const char *name, const EtwKernelEnable *enable, EtwError *err)
{
    if (enable->counterCount > 0) {
        return EtwFail(err, ETW_E_UNSUPPORTED, "COUNTERS", name,
                "session \"%s\" uses the engine \"embedded\", which does not add counters to "
                "kernel "
                "events: \"etw script sample -counters\" counts by proc",
                name);
    }
    return call(name, &(ControlRequest){.verb = CONTROL_KERNEL_ON, .kernel = enable}, NULL, err);
}

static EtwStatus embeddedDisableKernel(const char *name, EtwError *err)
{
    return call(name, &(ControlRequest){.verb = CONTROL_KERNEL_OFF}, NULL, err);
}

/* ---- The engine ------------------------------------------------------------------------------ */

const EtwEngineOps etwEmbeddedOps = {.name = "embedded",
        .has = embeddedHas,
        .start = embeddedStart,
        .stop = embeddedStop,
        .flush = embeddedFlush,
        .query = EmbeddedQuery,
        .update = embeddedUpdate,
        .snapshot = embeddedSnapshot,
        .mark = EmbeddedMark,
        .list = embeddedList,
        .enable = EmbeddedEnable,
        .disable = EmbeddedDisable,
        .enableKernel = embeddedEnableKernel,
        .disableKernel = embeddedDisableKernel,
        .providers = EmbeddedProviders,
        .liveOpen = EmbeddedLiveOpen};
