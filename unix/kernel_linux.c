/*
 * unix/kernel_linux.c --
 *
 *	engine/kernel.h on Linux: enabling, draining, closing. What is collected is decided here;
 *what it means is in kernel_groups.c, kernel_net.c, kernel_raw.c.
 *
 *	An EtwKernel belongs to its session's logger thread. The list of all of this process (for
 *threads that must not be traced) and libtracefs, which is not thread-safe, are under one lock.
 */
#define _GNU_SOURCE
#include "kernel_room.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))
enum { MAX_IGNORED = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static EtwKernel *kernels; /* all of this process */
static _Atomic uint32_t
        ignored[MAX_IGNORED]; /* threads of ours that are never traced; drains read */
static _Atomic int ignoredCount;

/* ---- Threads that are not traced
 * ------------------------------------------------------------------ */

bool KernelIsIgnored(uint32_t tid)
{
    for (int i = 0; i < ignoredCount; i++) {
        if (ignored[i] == tid) {
            return true;
        }
    }
    return false;
}

/* Forget those that ended: their ids come back as somebody else. */
static void pruneIgnored(void)
{
    int kept = 0;
    for (int i = 0; i < ignoredCount; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%u/task/%u", OsPid(), ignored[i]);
        if (OsFileExists(path)) {
            ignored[kept++] = ignored[i];
        }
    }
    ignoredCount = kept;
}

/* The kernel drops the thread's events itself (5.7 and later); else the drain does. */
static void hideThread(EtwKernel *k, uint32_t tid)
{
    char text[16];
    snprintf(text, sizeof text, "%u", tid);
    k->hidesThreads =
            TraceHas(&k->instance[IN_MAIN], "set_event_notrace_pid") &&
            TraceAppend(&k->instance[IN_MAIN], "set_event_notrace_pid", text, NULL) == ETW_OK;
}

void EtwKernelIgnoreThread(uint32_t tid)
{
    pthread_mutex_lock(&lock);
    if (ignoredCount == MAX_IGNORED) {
        pruneIgnored();
    }
    if (!KernelIsIgnored(tid) && ignoredCount < MAX_IGNORED) {
        ignored[ignoredCount++] = tid;
        for (EtwKernel *k = kernels; k != NULL; k = k->next) {
            hideThread(k, tid);
        }
    }
    pthread_mutex_unlock(&lock);
}

/* ---- Points
 * ---------------------------------------------------------------------------------------- */

static KernelPoint *pointOf(EtwKernel *k, struct tep_event *format, uint8_t instance)
{
    uint32_t id = (uint32_t)format->id & 0xffff;
    if (id >= k->pointRoom) {
        uint32_t room = (id | 255) + 1;
        k->points = EtwRealloc(k->points, room * sizeof *k->points);
        memset(k->points + k->pointRoom, 0, (room - k->pointRoom) * sizeof *k->points);
        k->pointRoom = room;
    }
    if (k->points[id] == NULL) {
        k->points[id] = EtwAlloc(sizeof *k->points[id]);
        k->points[id]->format = format;
        k->points[id]->instance = instance;
    }
    return k->points[id];
}

/* False: a field that the proc cannot do without is missing; *missing names it. */
static bool takeFields(KernelPoint *p, const KernelPointDef *def, const char **missing)
{
    for (int i = 0; def->fields[i] != NULL; i++) {
        bool optional = def->fields[i][0] == '?';
        const char *name = def->fields[i] + optional;
        p->f[i] = KernelFieldOf(p->format, name);
        if (p->f[i].size == 0 && !optional) {
            *missing = name;
            return false;
        }
        if ((uint32_t)p->f[i].offset + p->f[i].size > p->need) {
            p->need = (uint32_t)p->f[i].offset + p->f[i].size;
        }
    }
    return true;
}

/* Collect a tracepoint for the portable groups. */
static EtwStatus addPoint(EtwKernel *k, const KernelPointDef *def, const char *group, EtwError *err)
{
    struct tep_event *format = KernelFormatOf(k->formats, def->system, def->name);
    const char *missing = NULL;
    KernelPoint *p;
    if (format == NULL) {
        return EtwFail(err, ETW_E_UNSUPPORTED, "TRACEPOINT", group,
                "kernel group \"%s\" needs tracepoint %s:%s, which this kernel does not have",
                group, def->system, def->name);
    }
    p = pointOf(k, format, def->instance);
    if (p->def != NULL) { /* by another group: what one of them filters the other may need */
        return p->def->filter == def->filter
                       ? ETW_OK
                       : TraceEnable(&k->instance[p->instance], def->system, def->name, NULL, err);
    }
    if (!takeFields(p, def, &missing)) {
        return EtwFail(err, ETW_E_UNSUPPORTED, "TRACEPOINT", group,
                "kernel group \"%s\" needs field %s of tracepoint %s:%s, which this kernel's does "
                "not have",
                group, missing, def->system, def->name);
    }
    p->def = def;
    /* Asked for by name as well: then all of it is wanted, and def's proc drops the rest. */
    return TraceEnable(
            &k->instance[p->instance], def->system, def->name, p->raw ? NULL : def->filter, err);
}

static EtwStatus addPoints(
        EtwKernel *k, const KernelPointDef *const *defs, const char *group, EtwError *err)
{
    EtwStatus status = ETW_OK;
    for (; status == ETW_OK && defs != NULL && *defs != NULL; defs++) {
        status = addPoint(k, *defs, group, err);
    }
    return status;
}

/* ---- Groups
 * ---------------------------------------------------------------------------------------- */

static EtwStatus unknownGroup(const char *name, EtwError *err)
{
    char list[200] = "";
    for (int i = 0; i < GROUPS; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", kernelGroups[i].name);
    }
    return EtwFail(err, ETW_E_LOOKUP, "GROUP", name,
            "no kernel group \"%s\": this system has %s, and any tracepoint as "
            "linux:SYSTEM:EVENT",
            name, list);
}

static int groupOf(const char *name)
{
    for (int i = 0; i < GROUPS; i++) {
        if (strcmp(kernelGroups[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

/* Sends and receives of sockets: from their own tracepoints, else from system calls. */
static EtwStatus addTransfers(EtwKernel *k, const char *group, EtwError *err)
{
    EtwStatus status = addPoint(k, &kernelSendPoint, group, err);
    if (status == ETW_OK) {
        status = addPoint(k, &kernelReceivePoint, group, err);
    }
    if (status == ETW_E_UNSUPPORTED) {
        KernelCallsUse(k);
        status = addPoint(k, &kernelSocketEnterPoint, group, err);
        if (status == ETW_OK) {
            status = addPoint(k, &kernelSocketExitPoint, group, err);
        }
    }
    return status;
}

static EtwStatus addGroup(EtwKernel *k, KernelGroupId id, EtwError *err)
{
    const KernelGroup *g = &kernelGroups[id];
    EtwStatus status;
    if (k->groups & 1u << id) {
        return ETW_OK;
    }
    status = addPoints(k, g->points, g->name, err);
    for (int i = 0; status == ETW_OK && g->extras != NULL && g->extras[i] != NULL; i++) {
        EtwStatus extra = addPoint(k, g->extras[i], g->name, err);
        status = extra == ETW_E_UNSUPPORTED ? ETW_OK : extra;
    }
    if (status == ETW_OK && (id == GROUP_TCPIP || id == GROUP_UDPIP)) {
        status = addTransfers(k, g->name, err);
    }
    if (status == ETW_OK) {
        status = KernelDefine(k, id, err);
    }
    k->groups |= status == ETW_OK ? 1u << id : 0;
    return status;
}

/* ---- Tracepoints by name
 * ---------------------------------------------------------------------------- */

static EtwStatus unknownPoint(
        const char *name, const char *system, const char *event, EtwError *err)
{
    char **events = tracefs_system_events(NULL, system);
    char **names = events != NULL && events[0] != NULL ? events : tracefs_event_systems(NULL);
    bool known = names == events;
    char *near = KernelNearest(names, known ? event : system);
    EtwStatus status = EtwFail(err, ETW_E_LOOKUP, "TRACEPOINT", name,
            known ? "this kernel has no tracepoint \"%s\" in \"%s\"%s%s%s"
                  : "this kernel has no tracepoint \"%s\", nor a system \"%s\"%s%s%s",
            event, system, near ? ": did you mean \"linux:" : "",
            near ? (known ? system : near) : "", near ? (known ? ":" : ":...\"?") : "");
    if (near != NULL && known && err != NULL) {
        size_t used = strlen(err->message);
        snprintf(err->message + used, sizeof err->message - used, "%s\"?", near);
    }
    free(near);
    tracefs_list_free(events);
    if (!known) {
        tracefs_list_free(names);
    }
    return status;
}

/* The format of linux:SYSTEM:EVENT, or an error. */
static EtwStatus findRaw(
        EtwKernel *k, const char *name, struct tep_event **formatPtr, EtwError *err)
{
    char system[80], event[120], extra;
    if (sscanf(name, "linux:%79[A-Za-z0-9_.-]:%119[A-Za-z0-9_.-]%c", system, event, &extra) != 2) {
        return EtwFail(err, ETW_E_ARG, "TRACEPOINT", name,
                "\"%s\" is no tracepoint: expected linux:SYSTEM:EVENT, as in "
                "linux:sched:sched_switch",
                name);
    }
    *formatPtr = KernelFormatOf(k->formats, system, event);
    return *formatPtr != NULL ? ETW_OK : unknownPoint(name, system, event, err);
}

static EtwStatus addRaw(EtwKernel *k, const char *name, EtwError *err)
{
    struct tep_event *format;
    KernelPoint *p;
    EtwStatus status = findRaw(k, name, &format, err);
    if (status != ETW_OK) {
        return status;
    }
    p = pointOf(k, format, IN_MAIN);
    if (p->raw != NULL) {
        return ETW_OK;
    }
    p->raw = KernelRawNew(format, err);
    return p->raw == NULL ? ETW_E_LIMIT
                          : TraceEnable(&k->instance[p->instance], format->system, format->name,
                                    NULL, err);
}

/* A wrong name enables nothing, wherever it stands in the list. */
static EtwStatus checkNames(EtwKernel *k, const EtwKernelEnable *enable, EtwError *err)
{
    EtwStatus status = ETW_OK;
    for (int i = 0; status == ETW_OK && i < enable->groupCount; i++) {
        const char *name = enable->groups[i];
        struct tep_event *format;
        if (strncmp(name, "linux:", 6) == 0) {
            status = findRaw(k, name, &format, err);
        } else if (groupOf(name) < 0) {
            status = unknownGroup(name, err);
        }
    }
    return status;
}

/* ---- Whom to trace
 * --------------------------------------------------------------------------------- */

static void appendPid(void *ctx, uint32_t tid)
{
    EtwText *text = ctx;
    if (!KernelIsIgnored(tid)) {
        EtwTextPrintf(text, "%u ", tid);
    }
}

/* All threads of a process, also those that are born while we look; then event-fork follows. */
static EtwStatus tracePid(EtwKernel *k, uint32_t pid, EtwError *err)
{
    EtwStatus status = ETW_OK;
    for (int round = 0; round < 16; round++) {
        EtwText text = {0};
        if (KernelTasksOfProcess(&k->tasks, pid, appendPid, &text) == 0) {
            EtwTextFree(&text);
            break;
        }
        EtwTextChar(&text, '\0');
        if (text.size > 1) {
            status = TraceAppend(&k->instance[IN_MAIN], "set_event_pid", text.data, err);
        }
        EtwTextFree(&text);
        if (status != ETW_OK) {
            return status;
        }
    }
    return KernelTaskFind(&k->tasks, pid) != NULL
                   ? ETW_OK
                   : EtwFail(err, ETW_E_LOOKUP, "PROCESS", "", "no process %u", pid);
}

/* What is asked for comes on top of what was: a session has one scope, the widest. */
static EtwStatus widenScope(EtwKernel *k, const EtwKernelEnable *enable, EtwError *err)
{
    EtwStatus status = ETW_OK;
    if (k->tasks.all) {
        return ETW_OK;
    }
    if (enable->allPids) {
        k->tasks.all = true;
        KernelTasksOfAll(&k->tasks);
        return tracefs_instance_file_clear(k->instance[IN_MAIN].fs, "set_event_pid") < 0
                       ? EtwFailOs(err, ETW_E_IO, errno, "TRACEFS", "set_event_pid",
                                 "cannot trace all processes")
                       : ETW_OK;
    }
    if (enable->pids == NULL) {
        return tracePid(k, OsPid(), err);
    }
    for (int i = 0; status == ETW_OK && i < enable->pidCount; i++) {
        status = tracePid(k, enable->pids[i], err);
    }
    return status;
}

/* Sockets that are there already. */
static void askAll(EtwKernel *k)
{
    bool wanted = (k->groups & (1u << GROUP_TCPIP | 1u << GROUP_UDPIP)) != 0;
    uint64_t now = OsTicks();
    for (uint32_t i = 0; wanted && i < k->tasks.room; i++) {
        if (k->tasks.slots[i].tid != 0 && k->tasks.slots[i].tid == k->tasks.slots[i].pid) {
            k->probedCount = 0;
            KernelSockAsk(k, k->tasks.slots[i].pid, now);
            if (k->calls != NULL) {
                KernelCallsLearn(k, k->tasks.slots[i].pid);
            }
        }
    }
    k->probedCount = 0;
}

/* ---- Opening
 * --------------------------------------------------------------------------------------- */

/*
 * 4 MB a CPU hold 60,000 events, 50 ms of a program that does nothing but system calls; on machines
 * with many CPUs less, 256 MB in all.
 */
static size_t ringKB(void)
{
    size_t share = (size_t)256 * 1024 / (size_t)OsCpuCount();
    return share > 4096 ? 4096 : share < 256 ? 256 : share;
}

static void freeKernel(EtwKernel *k);

static EtwStatus newKernel(EtwKernel **kernelPtr, const char *session, EtwError *err)
{
    EtwStatus status = TraceUsable(err);
    EtwKernel *k;
    if (status != ETW_OK) {
        return status;
    }
    k = EtwAlloc(sizeof *k);
    k->session = EtwStrdup(session);
    k->formats = KernelFormatsNew(err);
    status = k->formats ? ETW_OK : ETW_E_UNSUPPORTED;
    if (status == ETW_OK) {
        status = TraceOpen(&k->instance[IN_MAIN], session, "", ringKB(), err);
    }
    if (status == ETW_OK) {
        status = TraceOpen(&k->instance[IN_ANY], session, "-any", ringKB() / 2, err);
    }
    if (status == ETW_OK) {
        status = TraceWrite(&k->instance[IN_MAIN], "options/event-fork", "1", err);
    }
    /* Off until it is known whom to trace: without a pid the kernel would take everybody. */
    TraceOff(&k->instance[IN_MAIN]);
    if (status != ETW_OK) {
        freeKernel(k);
        return status;
    }
    k->merge = TraceMergeNew(KernelFormatsPage(k->formats));
    TraceMergeAdd(k->merge, &k->instance[IN_MAIN], IN_MAIN);
    TraceMergeAdd(k->merge, &k->instance[IN_ANY], IN_ANY);
    for (int i = 0; i < ignoredCount; i++) {
        hideThread(k, ignored[i]);
    }
    k->next = kernels;
    kernels = k;
    *kernelPtr = k;
    return ETW_OK;
}

static EtwStatus enableAll(EtwKernel *k, const EtwKernelEnable *enable, EtwError *err)
{
    EtwStatus status = checkNames(k, enable, err);
    if (status == ETW_OK) {
        status = addPoints(k, kernelTaskPoints, "process", err);
    }
    for (int i = 0; status == ETW_OK && i < enable->groupCount; i++) {
        int group = groupOf(enable->groups[i]);
        status = group >= 0 ? addGroup(k, (KernelGroupId)group, err)
                            : addRaw(k, enable->groups[i], err);
    }
    if (status == ETW_OK && k->probe == NULL &&
            (k->groups & (1u << GROUP_TCPIP | 1u << GROUP_UDPIP)) != 0) {
        k->probe = SockProbeNew(k->session, k->formats);
    }
    return status == ETW_OK ? widenScope(k, enable, err) : status;
}

/*
 * State changes are collected before the sockets are asked for, so that none falls between; the
 * drain then applies what has happened since to what was found.
 */
EtwStatus EtwKernelOpen(
        EtwKernel **kernelPtr, const char *session, const EtwKernelEnable *enable, EtwError *err)
{
    bool fresh = *kernelPtr == NULL;
    EtwStatus status;
    OsInit();
    pthread_mutex_lock(&lock);
    pruneIgnored();
    status = fresh ? newKernel(kernelPtr, session, err) : ETW_OK;
    if (status == ETW_OK) {
        status = enableAll(*kernelPtr, enable, err);
        if (status == ETW_OK) {
            TraceOn(&(*kernelPtr)->instance[IN_MAIN]);
            askAll(*kernelPtr);
        }
    }
    pthread_mutex_unlock(&lock);
    if (status != ETW_OK && fresh && *kernelPtr != NULL) {
        EtwKernelClose(*kernelPtr);
        *kernelPtr = NULL;
    }
    return status;
}

/* ---- Draining
 * -------------------------------------------------------------------------------------- */

static void dispatch(EtwKernel *k, const TraceEvent *e)
{
    uint32_t id = e->size >= KERNEL_COMMON ? EtwLoad16(e->data + KERNEL_COMMON_TYPE) : UINT32_MAX;
    const KernelPoint *p = id < k->pointRoom ? k->points[id] : NULL;
    if (p == NULL || p->instance != e->instance ||
            (!k->hidesThreads && e->instance == IN_MAIN && KernelIsIgnored(KernelTidOf(e)))) {
        return;
    }
    if (p->raw != NULL) {
        KernelRawEmit(k, p, e); /* first: the proc may end the thread */
    }
    if (p->def != NULL && e->size >= p->need) {
        p->def->proc(k, p, e);
    }
}

static void countLost(EtwKernel *k)
{
    if (!k->counted) {
        k->lost = TraceLost(&k->instance[IN_MAIN]) + TraceLost(&k->instance[IN_ANY]);
    }
}

void EtwKernelDrain(EtwKernel *k, uint64_t until, EtwKernelEmit *emit, void *ctx)
{
    TraceEvent event;
    k->emit = emit;
    k->emitCtx = ctx;
    k->probedCount = 0;
    TraceMergeRefill(k->merge);
    while (TraceMergeNext(k->merge, until, &event)) {
        dispatch(k, &event);
    }
    if (TraceMergeMissed(k->merge)) {
        countLost(k);
    }
}

uint64_t EtwKernelLost(const EtwKernel *k)
{
    return k->lost;
}

/* ---- Closing
 * --------------------------------------------------------------------------------------- */

void EtwKernelQuiesce(EtwKernel *k)
{
    for (int i = 0; i < INSTANCES; i++) {
        TraceOff(&k->instance[i]);
    }
    countLost(k);
    k->counted = true;
}

static void freeKernel(EtwKernel *k)
{
    for (int i = 0; i < INSTANCES; i++) {
        TraceClose(&k->instance[i]);
    }
    SockProbeFree(k->probe);
    KernelCallsFree(k);
    TraceMergeFree(k->merge);
    for (uint32_t id = 0; id < k->pointRoom; id++) {
        if (k->points[id] != NULL) {
            KernelRawFree(k->points[id]->raw);
            EtwFree(k->points[id]);
        }
    }
    for (int i = 0; i < GROUPS; i++) {
        if (k->providers[i] != NULL) {
            Etw_Unregister(k->providers[i]);
        }
    }
    EtwFree(k->points);
    KernelTasksFree(&k->tasks);
    KernelSocksFree(&k->socks);
    if (k->formats != NULL) {
        KernelFormatsFree(k->formats);
    }
    EtwFree(k->session);
    EtwFree(k);
}

void EtwKernelClose(EtwKernel *k)
{
    if (k == NULL) {
        return;
    }
    pthread_mutex_lock(&lock);
    for (EtwKernel **at = &kernels; *at != NULL; at = &(*at)->next) {
        if (*at == k) {
            *at = k->next;
            break;
        }
    }
    freeKernel(k);
    pthread_mutex_unlock(&lock);
}

int EtwKernelSweep(void)
{
    int count;
    OsInit();
    pthread_mutex_lock(&lock);
    count = TraceSweep();
    pthread_mutex_unlock(&lock);
    return count;
}

/* ---- Listings
 * -------------------------------------------------------------------------------------- */

static bool havePoints(const KernelPointDef *const *defs)
{
    for (; defs != NULL && *defs != NULL; defs++) {
        if (!tracefs_event_file_exists(NULL, (*defs)->system, (*defs)->name, "format")) {
            return false;
        }
    }
    return true;
}

/* One entry a system: "linux:sched" stands for linux:sched:EVENT with the events listed. */
static void visitSystem(void (*visit)(void *ctx, const char *group, const char *description),
        void *ctx, const char *system)
{
    char **events = tracefs_system_events(NULL, system);
    char name[128];
    EtwText text = {0};
    for (int i = 0; events != NULL && events[i] != NULL; i++) {
        EtwTextPrintf(&text, "%s%s", i ? " " : "tracepoints ", events[i]);
    }
    if (text.size > 0) {
        snprintf(name, sizeof name, "linux:%s", system);
        EtwTextChar(&text, '\0');
        visit(ctx, name, text.data);
    }
    EtwTextFree(&text);
    tracefs_list_free(events);
}

void EtwKernelGroups(
        void (*visit)(void *ctx, const char *group, const char *description), void *ctx)
{
    char **systems;
    OsInit();
    pthread_mutex_lock(&lock);
    if (TraceUsable(NULL) == ETW_OK) {
        for (int i = 0; i < GROUPS; i++) {
            if (havePoints(kernelGroups[i].points)) {
                visit(ctx, kernelGroups[i].name, kernelGroups[i].description);
            }
        }
        systems = tracefs_event_systems(NULL);
        for (int i = 0; systems != NULL && systems[i] != NULL; i++) {
            visitSystem(visit, ctx, systems[i]);
        }
        tracefs_list_free(systems);
    }
    pthread_mutex_unlock(&lock);
}
