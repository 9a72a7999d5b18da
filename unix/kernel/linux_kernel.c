/*
 * unix/kernel/linux_kernel.c --
 *
 *	Implements engine/kernel_events.h on Linux: enabling, draining, closing. This file decides
 *	which tracepoints are collected. The files in group/ convert their records to events.
 *
 *	An EtwKernel belongs to its session's logger thread. One lock guards the list of all
 *	EtwKernels of this process (used for threads that must not be traced) and libtracefs, which
 *	is not thread-safe.
 */
#define _GNU_SOURCE
#include "unix/kernel/kernel_int.h"
#include "base/text.h"
#include "unix/kernel/transport/path_calls.h"
#include "unix/kernel/transport/uprobes.h"
#include "unix/kernel/transport/tracefs_instance.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))
enum { MAX_IGNORED = 64, INTERVAL = 1000 /* us between samples, as on Windows */ };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static EtwKernel *kernels; /* all of this process */
static _Atomic uint32_t
        ignored[MAX_IGNORED]; /* own threads that are never traced; read while draining */
static _Atomic int ignoredCount;

bool kernelPerf;

static KernelTransportOpen *const openTransport[TRANSPORTS] = {[BY_TRACEFS] = TracefsOpen,
        [BY_PERF] = PerfOpen,
        [BY_SAMPLING] = PerfOpen,
        [BY_COPIES] = PerfOpen,
        [BY_COPIES_SAMPLING] = PerfOpen,
        [BY_PATH_CALLS] = PathCallsOpen};

/* ---- Threads that are not traced ------------------------------------------------------------- */

bool KernelIsIgnored(uint32_t tid)
{
    for (int i = 0; i < ignoredCount; i++) {
        if (ignored[i] == tid) {
            return true;
        }
    }
    return false;
}

/* Remove threads that have ended, because their ids are reused. */
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

static void hideThread(EtwKernel *k, uint32_t tid)
{
    KernelTransport *t = k->transport[BY_TRACEFS];
    k->hidesThreads = t != NULL && t->ops->hide(t, tid);
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

static void ignoreOne(void *ctx, uint32_t tid)
{
    (void)ctx;
    EtwKernelIgnoreThread(tid);
}

void EtwKernelIgnoreProcess(void)
{
    KernelTasks own = {0};
    KernelTasksOfProcess(&own, OsPid(), ignoreOne, NULL);
    KernelTasksFree(&own);
}

/* ---- Tracepoints ----------------------------------------------------------------------------- */

static KernelTracepoint *pointOf(EtwKernel *k, struct tep_event *format)
{
    uint32_t id = (uint32_t)format->id & 0xffff;
    if (id >= k->pointCapacity) {
        uint32_t capacity = (id | 255) + 1;
        k->points = EtwRealloc(k->points, capacity * sizeof *k->points);
        memset(k->points + k->pointCapacity, 0, (capacity - k->pointCapacity) * sizeof *k->points);
        k->pointCapacity = capacity;
    }
    if (k->points[id] == NULL) {
        k->points[id] = EtwAlloc(sizeof *k->points[id]);
        k->points[id]->format = format;
    }
    return k->points[id];
}

/* False: a required field is missing; *missing is its name. */
static bool takeFields(KernelTracepoint *p, const KernelTracepointDef *def, const char **missing)
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

static uint8_t samplingOf(EtwStackKind stacks)
{
    return stacks == ETW_STACKS_COPIES ? BY_COPIES_SAMPLING : BY_SAMPLING;
}

static uint8_t uprobesOf(EtwStackKind stacks)
{
    return stacks == ETW_STACKS_COPIES ? BY_COPIES : BY_PERF;
}

/*
 * Collect a tracepoint in a way that serves all its groups. A tracepoint that is collected through
 * tracefs moves to perf when a group requests stacks (stopOldTransports).
 */
static EtwStatus collect(EtwKernel *k, KernelTracepoint *p, uint8_t instance, const char *filter,
        EtwStackKind stacks, EtwError *err)
{
    bool sampled = p->format == KernelSampleFormat();
    uint8_t newBy = sampled                            ? samplingOf(stacks)
                    : p->format == PathCallFormat()    ? BY_PATH_CALLS
                    : p->format == KernelImageFormat() ? BY_PERF
                    : instance == IN_UPROBES           ? uprobesOf(stacks)
                                                       : k->by;
    uint8_t by = p->on && p->stacks >= stacks ? p->transport : newBy;
    uint8_t where =
            instance == IN_ANY || (instance == IN_PAIR && by != BY_TRACEFS) ? IN_ANY : IN_MAIN;
    KernelRequest request = {p->format, where, stacks > p->stacks ? stacks : p->stacks, filter,
            sampled ? k->interval : 0};
    KernelRequest was = {p->format, p->instance, p->stacks, p->filter, p->interval};
    KernelTransport *t = k->transport[by];
    EtwStatus status;
    if (p->on && by == p->transport && request.instance == was.instance &&
            request.stacks == was.stacks && request.filter == was.filter &&
            request.interval == was.interval) {
        return ETW_OK;
    }
    if (p->on && by == p->transport && request.instance != was.instance) {
        t->ops->disable(t, &was);
        p->on = false;
    }
    status = t->ops->enable(t, &request, err);
    if (status != ETW_OK) {
        return status;
    }
    if (p->on && by != p->transport) {
        p->oldTransport = p->transport;
        p->oldInstance = p->instance;
        p->since = UINT64_MAX;
    }
    p->on = true;
    p->transport = by;
    p->instance = request.instance;
    p->stacks = request.stacks;
    p->filter = filter;
    p->interval = request.interval;
    return ETW_OK;
}

/* Two users of a tracepoint with different filters: no filter. */
static const char *filterOf(const KernelTracepoint *p, const KernelTracepointDef *def)
{
    return !p->on || p->filter == def->filter ? def->filter : NULL;
}

/* errno: as KernelFormatOf left it. */
static EtwStatus unreadFormat(const char *system, const char *name, EtwError *err)
{
    return EtwFailOs(err, ETW_E_LIMIT, errno, "FILES", name,
            "the format of tracepoint %s:%s cannot be read", system, name);
}

/* Collect a tracepoint for the portable groups. */
static EtwStatus addPoint(
        EtwKernel *k, const KernelTracepointDef *def, const char *group, EtwError *err)
{
    const char *system = KernelUprobesSystem(def->system);
    struct tep_event *format = def == &kernelSamplePoint  ? KernelSampleFormat()
                               : def == &kernelImagePoint ? KernelImageFormat()
                               : def == &kernelPathCallPoint
                                       ? PathCallFormat()
                                       : KernelFormatOf(k->formats, system, def->name);
    const char *missing = NULL;
    KernelTracepoint *p;
    EtwStatus status;
    if (format == NULL && OsFileLimitHint(errno) != NULL) {
        return unreadFormat(def->system, def->name, err);
    }
    if (format == NULL) {
        return EtwFail(err, ETW_E_UNSUPPORTED, "TRACEPOINT", group,
                "kernel group \"%s\" needs tracepoint %s:%s, which this kernel does not have",
                group, def->system, def->name);
    }
    p = pointOf(k, format);
    if (p->def == NULL && !takeFields(p, def, &missing)) {
        return EtwFail(err, ETW_E_UNSUPPORTED, "TRACEPOINT", group,
                "kernel group \"%s\" needs field %s of tracepoint %s:%s, which this kernel does "
                "not have",
                group, missing, def->system, def->name);
    }
    status = collect(k, p, def->instance, filterOf(p, def), k->stacks, err);
    if (status == ETW_OK && p->def == NULL) {
        p->def = def;
    }
    return status;
}

static EtwStatus addPoints(
        EtwKernel *k, const KernelTracepointDef *const *defs, const char *group, EtwError *err)
{
    EtwStatus status = ETW_OK;
    for (; status == ETW_OK && defs != NULL && *defs != NULL; defs++) {
        status = addPoint(k, *defs, group, err);
    }
    return status;
}

/* ---- Transports ------------------------------------------------------------------------------ */

/*
 * 4 MB for each CPU hold 60,000 events: 50 ms of a program that only makes system calls. On
 * machines with many CPUs less, 256 MB in total. A session whose buffers have more at its start
 * (-buffers MIN, -buffersize) has rings of that size.
 */
static size_t ringKB(const EtwKernel *k)
{
    size_t share = (size_t)256 * 1024 / (size_t)OsCpuCount();
    size_t usual = share > 4096 ? 4096 : share < 256 ? 256 : share;
    return k->ringKB > usual ? k->ringKB : usual;
}

/*
 * There are 1,000 samples per second and CPU, far fewer than events: a sixteenth of the size holds
 * as many seconds. An event with a copy of the stack is more than 30 times larger than others.
 */
static size_t ringSize(const EtwKernel *k, uint8_t by)
{
    enum { SAMPLES_LESS = 16, COPIES_MORE = 4 };
    return by == BY_SAMPLING ? ringKB(k) / SAMPLES_LESS
           : by == BY_COPIES ? ringKB(k) * COPIES_MORE
                             : ringKB(k);
}

static EtwStatus openBy(EtwKernel *k, uint8_t by, EtwError *err)
{
    KernelTransportConfig config = {.session = k->session,
            .suffix = "",
            .perCpuKB = ringSize(k, by),
            .page = KernelFormatsPage(k->formats),
            .any = true,
            /* The transport of path calls is opened once for all groups: one of them may request copies later. */
            .copies = by == BY_COPIES || by == BY_COPIES_SAMPLING || by == BY_PATH_CALLS,
            .samples = by == BY_SAMPLING || by == BY_COPIES_SAMPLING,
            .newTask =
                    by == BY_PATH_CALLS ? KernelFormatOf(k->formats, "task", "task_newtask") : NULL,
            .number = by,
            .merge = k->merge};
    EtwStatus status = ETW_OK;
    if (k->transport[by] == NULL) {
        status = openTransport[by](&k->transport[by], &config, err);
        for (int i = 0; status == ETW_OK && by == BY_TRACEFS && i < ignoredCount; i++) {
            hideThread(k, ignored[i]);
        }
    }
    return status;
}

/* ---- Groups ---------------------------------------------------------------------------------- */

static EtwStatus unknownGroup(const char *name, EtwError *err)
{
    char list[400] = "";
    for (int i = 0; i < GROUPS; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", kernelGroups[i].name);
    }
    return EtwFail(err, ETW_E_LOOKUP, "GROUP", name,
            "there is no kernel group \"%s\": must be %s, or a tracepoint linux:SYSTEM:EVENT", name,
            list);
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

/*
 * Sends and receives of sockets: from the socket tracepoints if the kernel has them, otherwise from
 * system calls.
 */
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

/* Create what must exist before the group's tracepoints are looked up. */
static EtwStatus prepareGroup(EtwKernel *k, KernelGroupId id, EtwError *err)
{
    EtwStatus status;
    k->prepared |= id == GROUP_HEAP ? 1u << id : 0;
    switch (id) {
    case GROUP_HEAP:
        status = KernelHeapPrepare(err);
        return status == ETW_OK ? openBy(k, uprobesOf(k->stacks), err) : status;
    case GROUP_PROFILE:
        return openBy(k, samplingOf(k->stacks), err);
    case GROUP_IMAGELOAD:
        return openBy(k, BY_PERF, err);
    default:
        return ETW_OK;
    }
}

/* Optional tracepoints: one that is missing, or not permitted, is no error. */
static EtwStatus addExtras(
        EtwKernel *k, const KernelTracepointDef *const *defs, const char *group, EtwError *err)
{
    EtwStatus status = ETW_OK;
    for (; status == ETW_OK && defs != NULL && *defs != NULL; defs++) {
        EtwStatus extra = addPoint(k, *defs, group, err);
        status = extra == ETW_E_UNSUPPORTED || extra == ETW_E_ACCESS ? ETW_OK : extra;
    }
    return status;
}

/* Calls with paths: from the BPF program if the kernel and our rights permit it. */
static EtwStatus addPaths(EtwKernel *k, const char *group, EtwError *err)
{
    if (!KernelIsHidden("etw", "path_call") && openBy(k, BY_PATH_CALLS, NULL) == ETW_OK &&
            addPoint(k, &kernelPathCallPoint, group, NULL) == ETW_OK) {
        return ETW_OK;
    }
    k->prepared |= 1u << GROUP_FILEIO;
    KernelFilesPrepare();
    return addExtras(k, kernelPathPoints, group, err);
}

static EtwStatus addGroup(EtwKernel *k, KernelGroupId id, EtwError *err)
{
    const KernelGroup *g = &kernelGroups[id];
    bool again = (k->groups & 1u << id) != 0; /* may request stacks this time */
    EtwStatus status = prepareGroup(k, id, err);
    if (status == ETW_OK) {
        status = addPoints(k, g->points, g->name, err);
    }
    if (status == ETW_OK) {
        status = addExtras(k, g->extras, g->name, err);
    }
    if (status == ETW_OK && id == GROUP_FILEIO) {
        status = addPaths(k, g->name, err);
    }
    if (status == ETW_OK && (1u << id & KERNEL_SOCKET_GROUPS) != 0) {
        status = addTransfers(k, g->name, err);
    }
    if (status == ETW_OK && !again) {
        status = KernelDefine(k, id, err);
    }
    k->groups |= status == ETW_OK ? 1u << id : 0;
    return status;
}

/* ---- Tracepoints by name --------------------------------------------------------------------- */

static EtwStatus unknownPoint(
        const char *name, const char *system, const char *event, EtwError *err)
{
    char **events = tracefs_system_events(NULL, system);
    char **names = events != NULL && events[0] != NULL ? events : tracefs_event_systems(NULL);
    bool known = names == events;
    char *near = KernelSuggest(names, known ? event : system);
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
                "bad tracepoint \"%s\": expected linux:SYSTEM:EVENT, for example "
                "linux:sched:sched_switch",
                name);
    }
    *formatPtr = KernelFormatOf(k->formats, system, event);
    if (*formatPtr == NULL && OsFileLimitHint(errno) != NULL) {
        return unreadFormat(system, event, err);
    }
    return *formatPtr != NULL ? ETW_OK : unknownPoint(name, system, event, err);
}

static EtwStatus addRaw(EtwKernel *k, const char *name, EtwError *err)
{
    struct tep_event *format;
    KernelTracepoint *p;
    EtwStatus status = findRaw(k, name, &format, err);
    if (status != ETW_OK) {
        return status;
    }
    p = pointOf(k, format);
    status = collect(k, p, p->def != NULL ? p->def->instance : IN_MAIN, NULL, k->stacks, err);
    if (status == ETW_OK && p->raw == NULL) {
        p->raw = KernelRawNew(format, err);
        status = p->raw == NULL ? ETW_E_LIMIT : ETW_OK;
    }
    return status;
}

/* If any name in the list is wrong, nothing is enabled. */
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

/* ---- Processes to trace ---------------------------------------------------------------------- */

static bool isLiveProcess(const KernelTask *task)
{
    return task->tid != 0 && task->tid == task->pid && (task->exited == 0 || task->threads > 0);
}

static EtwStatus followIn(EtwKernel *k, uint32_t pid, bool known, EtwError *err)
{
    EtwStatus status = ETW_OK;
    for (int i = 0; status == ETW_OK && i < TRANSPORTS; i++) {
        KernelTransport *t = k->transport[i];
        status = t != NULL ? t->ops->follow(t, pid, known, err) : ETW_OK;
    }
    return status;
}

/* Apply newly enabled tracepoints to the processes that are already traced. */
static EtwStatus followKnown(EtwKernel *k, EtwError *err)
{
    EtwStatus status = ETW_OK;
    for (uint32_t i = 0; status == ETW_OK && i < k->tasks.capacity; i++) {
        if (isLiveProcess(&k->tasks.slots[i])) {
            status = followIn(k, k->tasks.slots[i].pid, true, err);
        }
    }
    return status;
}

static EtwStatus followAll(EtwKernel *k, EtwError *err)
{
    EtwStatus status = ETW_OK;
    if (!k->tasks.all) {
        KernelTasksOfAll(&k->tasks);
    }
    k->tasks.all = true;
    for (int i = 0; status == ETW_OK && i < TRANSPORTS; i++) {
        KernelTransport *t = k->transport[i];
        status = t != NULL ? t->ops->followAll(t, err) : ETW_OK;
    }
    return status;
}

static EtwStatus tracePid(EtwKernel *k, uint32_t pid, EtwError *err)
{
    const KernelTask *task = KernelTaskFind(&k->tasks, pid);
    EtwStatus status;
    if (task != NULL && isLiveProcess(task)) {
        return ETW_OK;
    }
    status = followIn(k, pid, false, err);
    /* From here on the kernel follows new threads of these threads, so none is missed. */
    if (status == ETW_OK && KernelTasksOfProcess(&k->tasks, pid, NULL, NULL) == 0) {
        status = OsFileLimitHint(errno) != NULL
                         ? EtwFailOs(err, ETW_E_LIMIT, errno, "FILES", "",
                                   "cannot list the threads of process %u", pid)
                         : EtwFail(err, ETW_E_LOOKUP, "PROCESS", "", "there is no process %u", pid);
    }
    return status;
}

/* Add to the session's scope. A session has one scope, which only grows. */
static EtwStatus widenScope(EtwKernel *k, const EtwKernelEnable *enable, EtwError *err)
{
    EtwStatus status;
    if (k->tasks.all || enable->allPids) {
        return followAll(k, err);
    }
    status = followKnown(k, err);
    if (status == ETW_OK && enable->pids == NULL) {
        status = tracePid(k, OsPid(), err);
    }
    for (int i = 0; status == ETW_OK && enable->pids != NULL && i < enable->pidCount; i++) {
        status = tracePid(k, enable->pids[i], err);
    }
    return status;
}

/* Find the sockets that exist already. */
static void probeAll(EtwKernel *k)
{
    bool wanted = (k->groups & KERNEL_SOCKET_GROUPS) != 0;
    uint64_t now = OsTicks();
    for (uint32_t i = 0; wanted && i < k->tasks.capacity; i++) {
        if (k->tasks.slots[i].tid != 0 && k->tasks.slots[i].tid == k->tasks.slots[i].pid) {
            k->probedCount = 0;
            KernelSockProbe(k, k->tasks.slots[i].pid, now);
            if (k->calls != NULL) {
                KernelCallsScan(k, k->tasks.slots[i].pid);
            }
        }
    }
    k->probedCount = 0;
}

/* Note the names of the files that are open already. */
static void scanFiles(EtwKernel *k)
{
    bool wanted = (k->groups & 1u << GROUP_FILEIO) != 0;
    for (uint32_t i = 0; wanted && i < k->tasks.capacity; i++) {
        if (isLiveProcess(&k->tasks.slots[i])) {
            KernelFilesScan(k, k->tasks.slots[i].pid);
        }
    }
}

/* Note the images that are loaded already. */
static void scanImages(EtwKernel *k)
{
    bool wanted = (k->groups & 1u << GROUP_IMAGELOAD) != 0;
    if (wanted) {
        KernelImagesScan(k, 0);
    }
    for (uint32_t i = 0; wanted && i < k->tasks.capacity; i++) {
        if (isLiveProcess(&k->tasks.slots[i])) {
            KernelImagesScan(k, k->tasks.slots[i].pid);
        }
    }
}

/* ---- Opening --------------------------------------------------------------------------------- */

static EtwStatus newKernel(EtwKernel **kernelPtr, const char *session, EtwError *err)
{
    EtwStatus status = TraceReadable(err);
    struct tep_handle *formats = status == ETW_OK ? KernelFormatsNew(err) : NULL;
    EtwKernel *k;
    if (formats == NULL) {
        return status != ETW_OK ? status : ETW_E_UNSUPPORTED;
    }
    k = EtwAlloc(sizeof *k);
    k->session = EtwStrdup(session);
    k->formats = formats;
    k->merge = TraceMergeNew();
    k->next = kernels;
    kernels = k;
    *kernelPtr = k;
    return ETW_OK;
}

/* tracefs costs the traced code less. perf can record stacks and does not need root. */
static EtwStatus chooseTransport(EtwKernel *k, const EtwKernelEnable *enable, EtwError *err)
{
    k->stacks = enable->stacks;
    k->ringKB = enable->ringKB;
    k->interval = (uint64_t)(enable->interval != 0 ? enable->interval : INTERVAL) * 1000;
    k->by = enable->stacks == ETW_STACKS_COPIES              ? BY_COPIES
            : enable->stacks || kernelPerf || !TraceUsable() ? BY_PERF
                                                             : BY_TRACEFS;
    if (enable->stacks == ETW_STACKS_COPIES && KernelUnwindLacks() != NULL) {
        return EtwFail(err, ETW_E_UNSUPPORTED, "UNWIND", "dwarf",
                "stacks cannot be unwound by call frame information (-unwind dwarf): %s; -unwind "
                "fp "
                "follows frame pointers",
                KernelUnwindLacks());
    }
    return openBy(k, k->by, err);
}

/*
 * Collect the events that maintain the table of tasks. Without the right to do so, the group
 * systemcall alone still works.
 */
static EtwStatus addTaskPoints(EtwKernel *k, EtwError *err)
{
    EtwStackKind stacks = k->stacks;
    EtwStatus status;
    k->stacks = ETW_STACKS_NONE; /* unless the group itself is enabled */
    status = addPoints(k, kernelTaskPoints, "process", err);
    k->stacks = stacks;
    return status == ETW_E_ACCESS && k->by != BY_TRACEFS ? ETW_OK : status;
}

static EtwStatus enableAll(EtwKernel *k, const EtwKernelEnable *enable, EtwError *err)
{
    EtwStatus status = checkNames(k, enable, err);
    if (status == ETW_OK) {
        status = chooseTransport(k, enable, err);
    }
    if (status == ETW_OK) {
        status = addTaskPoints(k, err);
    }
    if (status == ETW_OK && k->stacks == ETW_STACKS_COPIES) {
        status = openBy(k, BY_PERF, err); /* for imageload */
    }
    if (status == ETW_OK && k->stacks && (k->groups & 1u << GROUP_IMAGELOAD) == 0) {
        status = addGroup(k, GROUP_IMAGELOAD, err); /* stacks without images have no names */
        status = status == ETW_E_ACCESS ? ETW_OK : status;
    }
    for (int i = 0; status == ETW_OK && i < enable->groupCount; i++) {
        int group = groupOf(enable->groups[i]);
        status = group >= 0 ? addGroup(k, (KernelGroupId)group, err)
                            : addRaw(k, enable->groups[i], err);
    }
    if (status == ETW_OK && k->probe == NULL && (k->groups & KERNEL_SOCKET_GROUPS) != 0) {
        k->probe = SockProbeNew(k->session, k->formats,
                openTransport[kernelPerf || !TraceUsable() ? BY_PERF : BY_TRACEFS]);
    }
    return status == ETW_OK ? widenScope(k, enable, err) : status;
}

/*
 * Remove tracepoints that have moved to another transport from their old one, after the new one has
 * started.
 */
static void stopOldTransports(EtwKernel *k)
{
    uint64_t now = OsTicks();
    for (uint32_t id = 0; id < k->pointCapacity; id++) {
        KernelTracepoint *p = k->points[id];
        if (p != NULL && p->since == UINT64_MAX) {
            KernelRequest was = {.format = p->format, .instance = p->oldInstance};
            p->since = now;
            k->transport[p->oldTransport]->ops->disable(k->transport[p->oldTransport], &was);
        }
    }
}

static void startAll(EtwKernel *k)
{
    for (int i = 0; i < TRANSPORTS; i++) {
        if (k->transport[i] != NULL) {
            k->transport[i]->ops->start(k->transport[i]);
        }
    }
    stopOldTransports(k);
}

/*
 * State changes are collected before existing sockets are looked up, so that no change is missed
 * between the two. The drain applies the changes since then to the sockets found.
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
            startAll(*kernelPtr);
            probeAll(*kernelPtr);
            scanFiles(*kernelPtr);
            scanImages(*kernelPtr);
        }
    }
    pthread_mutex_unlock(&lock);
    if (status != ETW_OK && fresh && *kernelPtr != NULL) {
        EtwKernelClose(*kernelPtr);
        *kernelPtr = NULL;
    }
    return status;
}

/* ---- Draining -------------------------------------------------------------------------------- */

static void dispatch(EtwKernel *k, const TraceEvent *e)
{
    uint32_t id = e->size >= KERNEL_COMMON ? EtwLoad16(e->data + KERNEL_COMMON_TYPE) : UINT32_MAX;
    const KernelTracepoint *p = id < k->pointCapacity ? k->points[id] : NULL;
    if (p == NULL || (p->transport == e->transport) != (e->ticks >= p->since) ||
            (!(k->hidesThreads && e->transport == BY_TRACEFS) && p->instance == IN_MAIN &&
                    KernelIsIgnored(KernelTidOf(e)))) {
        return;
    }
    KernelUnwindNext(k);
    if (p->raw != NULL) {
        KernelRawEmit(k, p, e); /* first: the proc may end the thread */
    }
    if (p->def != NULL && e->size >= p->need) {
        p->def->proc(k, p, e);
    }
}

static void countLost(EtwKernel *k)
{
    uint64_t lost = 0;
    for (int i = 0; i < TRANSPORTS; i++) {
        lost += k->transport[i] != NULL ? k->transport[i]->ops->lost(k->transport[i]) : 0;
    }
    k->lost = k->counted ? k->lost : lost;
}

void EtwKernelDrain(EtwKernel *k, uint64_t until, EtwKernelEmit *emit, void *ctx)
{
    TraceEvent event;
    k->emit = emit;
    k->emitCtx = ctx;
    k->probedCount = 0;
    for (int i = 0; i < TRANSPORTS; i++) {
        if (k->transport[i] != NULL && k->transport[i]->ops->refill != NULL) {
            k->transport[i]->ops->refill(k->transport[i]);
        }
    }
    TraceMergeRefill(k->merge);
    while (TraceMergeNext(k->merge, until, &event)) {
        KernelImagesReport(k, event.ticks);
        dispatch(k, &event);
    }
    KernelImagesReport(k, until);
    KernelImagesEnd(k, until);
    if (TraceMergeMissed(k->merge)) {
        countLost(k);
    }
}

uint64_t EtwKernelLost(const EtwKernel *k)
{
    return k->lost;
}

/* ---- Closing --------------------------------------------------------------------------------- */

void EtwKernelQuiesce(EtwKernel *k)
{
    for (int i = 0; i < TRANSPORTS; i++) {
        if (k->transport[i] != NULL) {
            k->transport[i]->ops->stop(k->transport[i]);
        }
    }
    countLost(k);
    k->counted = true;
    KernelImagesQuiesce(k);
}

static void freeKernel(EtwKernel *k)
{
    TraceMergeFree(k->merge);
    for (int i = 0; i < TRANSPORTS; i++) {
        if (k->transport[i] != NULL) {
            k->transport[i]->ops->close(k->transport[i]);
        }
    }
    SockProbeFree(k->probe);
    KernelCallsFree(k);
    KernelFilesFree(k);
    KernelHeapFree(k);
    KernelImagesFree(k);
    KernelUnwindFree(k);
    for (uint32_t id = 0; id < k->pointCapacity; id++) {
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
    if (TraceUsable()) {
        KernelUprobesSweep();
    }
    pthread_mutex_unlock(&lock);
    return count;
}

/* ---- Listings -------------------------------------------------------------------------------- */

static bool havePoint(const KernelTracepointDef *def)
{
    return def == &kernelSamplePoint || def == &kernelImagePoint ||
           (def->instance == IN_UPROBES && KernelUprobesPossible()) || /* created on demand */
           tracefs_event_file_exists(NULL, KernelUprobesSystem(def->system), def->name, "format");
}

static bool havePoints(const KernelTracepointDef *const *defs)
{
    while (defs != NULL && *defs != NULL && havePoint(*defs)) {
        defs++;
    }
    return defs == NULL || *defs == NULL;
}

/* Report a group with its description, and with what is missing to use it (NULL: nothing). */
static void visitGroup(void (*visit)(void *ctx, const char *group, const char *description),
        void *ctx, const KernelGroup *group, const char *missing)
{
    EtwText text = {0};
    EtwTextStr(&text, group->description);
    if (missing != NULL) {
        EtwTextPrintf(&text, " (not now: %s)", missing);
    }
    EtwTextChar(&text, '\0');
    visit(ctx, group->name, text.data);
    EtwTextFree(&text);
}

/* One entry for each system: "linux:sched" represents linux:sched:EVENT for the events listed. */
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
    EtwError err;
    OsInit();
    pthread_mutex_lock(&lock);
    bool usable = TraceReadable(&err) == ETW_OK;
    for (int i = 0; i < GROUPS; i++) {
        if (!usable || havePoints(kernelGroups[i].points)) {
            visitGroup(visit, ctx, &kernelGroups[i], usable ? NULL : err.message);
        }
    }
    systems = usable ? tracefs_event_systems(NULL) : NULL;
    for (int i = 0; systems != NULL && systems[i] != NULL; i++) {
        visitSystem(visit, ctx, systems[i]);
    }
    tracefs_list_free(systems);
    pthread_mutex_unlock(&lock);
}
