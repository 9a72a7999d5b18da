/*
 * unix/kernel/transport/perf_transport.c --
 *
 *	The transport through perf_event_open(2): one event for each tracepoint, thread and CPU. All
 *	events of a CPU write to one ring. New threads and processes of a followed thread inherit
 *	its events. Stacks are recorded on request. The kernel walks frame pointers, so for a
 *	program without them only the innermost frame is reliable. Where copies of user stacks are
 *	requested instead, the drain unwinds them (kernel_unwind.c).
 *
 *	A thread that starts while the events of its process are being opened may have inherited
 *	some of them. The whole set is then closed and opened again, so that no event is reported
 *	twice. For a program that starts threads faster than that, this stops after some tries:
 *	threads that started during the last one may lack some tracepoints.
 *
 *	Number of files: tracepoints x threads x CPUs. The limit is that of the process. It is not
 *	raised here, because that would break select() in the traced program.
 */
#define _GNU_SOURCE
#include "unix/kernel/transport/perf_transport.h"
#include "unix/kernel/transport/path_calls.h"
#include "base/alloc.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LEAST_KB = 64, TRIES = 8, FORMAT_LOST = 1 << 4 /* PERF_FORMAT_LOST, since 6.0 */ };

typedef struct PerfPoint {
    KernelRequest request;
    bool fresh; /* not opened yet for the processes that are already followed */
    bool wide;  /* opened for whole CPUs, not for threads */
    int trial;  /* keeps the tracepoint in use: the last close takes 45 ms. -1: none */
    int *files;
    int count, capacity;
} PerfPoint;

typedef struct Perf {
    KernelTransport base; /* must be first */
    PerfRing **rings;     /* by CPU; NULL: CPU not there */
    int cpus;
    PerfPoint *points;
    int pointCount;
    PerfClock clock;
    bool all;          /* every process */
    bool alone;        /* one thread, without its children */
    bool samples;      /* true: clock samples; false: tracepoints */
    bool copies;       /* of user stacks */
    uint64_t lostThen; /* lost by files that are closed */
} Perf;

/* ---- Permissions ----------------------------------------------------------------------------- */

int PerfParanoid(void)
{
    int level = 2;
    FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    if (f != NULL) {
        if (fscanf(f, "%d", &level) != 1) {
            level = 2;
        }
        fclose(f);
    }
    return level;
}

/*
 * True if this process may open an event of a whole CPU, kernel included. At level 1 this requires
 * CAP_PERFMON.
 */
bool PerfAllowed(void)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY};
    int level = PerfParanoid(), fd = level < 1 ? -1 : PerfOpenFd(&attr, -1, OsCpu());
    if (fd >= 0) {
        close(fd);
    }
    return level < 0 || fd >= 0;
}

static EtwStatus tooManyFiles(const Perf *t, EtwError *err)
{
    char limit[16];
    snprintf(limit, sizeof limit, "%ld", sysconf(_SC_OPEN_MAX));
    return EtwFail(err, ETW_E_LIMIT, "FILES", limit,
            "perf needs an open file for each of %d tracepoints, on each thread and each of %d "
            "CPUs, but this process may have at most %s: raise the limit (\"ulimit -n\"), or trace "
            "fewer groups%s",
            t->pointCount, t->cpus, limit, t->all ? "" : ", or all processes (-pids all)");
}

static EtwStatus refused(const Perf *t, int osError, const KernelRequest *w, EtwError *err)
{
    char name[200];
    int level = PerfParanoid();
    snprintf(name, sizeof name, "%s:%s", w->format->system, w->format->name);
    if (OsFileLimitHint(osError) != NULL) {
        return tooManyFiles(t, err);
    }
    if (osError != EACCES && osError != EPERM) {
        return EtwFailOs(err, ETW_E_IO, osError, "PERF", name,
                "the kernel refused to open tracepoint %s", name);
    }
    if (level < 0) {
        return EtwFailOs(err, ETW_E_ACCESS, osError, "PERF", name,
                "the kernel refused to open tracepoint %s although kernel.perf_event_paranoid is "
                "%d: the process belongs to another user, or a rule of this container or system "
                "forbids perf_event_open",
                name, level);
    }
    return EtwFailOs(err, ETW_E_ACCESS, osError, "PERF", name,
            "the kernel refused to open tracepoint %s (kernel.perf_event_paranoid is %d%s): run as "
            "root, or as root give the right to the program with \"setcap cap_perfmon+ep "
            "PROGRAM\", or to all users with \"sysctl kernel.perf_event_paranoid=-1\"",
            name, level, level < 2 ? ", which allows only system calls" : "");
}

/* ---- Files of a tracepoint ------------------------------------------------------------------- */

/* Events that could not be written to the ring, including those of inherited events. */
static uint64_t lostOf(int fd)
{
    uint64_t values[2] = {0, 0}; /* count, loss */
    return read(fd, values, sizeof values) == (ssize_t)sizeof values ? values[1] : 0;
}

/* Keep the first `keep` files. */
static void closeFiles(Perf *t, PerfPoint *p, int keep)
{
    while (p->count > keep) {
        t->lostThen += lostOf(p->files[--p->count]);
        close(p->files[p->count]);
    }
}

struct tep_event *KernelImageFormat(void)
{
    static struct tep_event format = {.id = IMAGE_TYPE_ID, .system = "perf", .name = "mmap"};
    return &format;
}

static uint64_t layoutOf(const Perf *t)
{
    return (t->samples ? PERF_SAMPLES : PERF_LAYOUT) | (t->copies ? PERF_COPIES : 0);
}

/* Mappings and execs: events of their own, beside those that the file counts (none). */
static void requestImages(struct perf_event_attr *attr)
{
    attr->type = PERF_TYPE_SOFTWARE;
    attr->config = PERF_COUNT_SW_DUMMY;
    attr->sample_period = 0;
    attr->sample_type = PERF_IMAGES;
    attr->sample_id_all = 1;
    attr->exclude_kernel = 1;
    attr->mmap = 1;
    attr->mmap2 = 1;
    attr->build_id = 1;
    attr->comm = 1;
    attr->comm_exec = 1;
}

static int openEvent(const Perf *t, const KernelRequest *w, int tid, int cpu)
{
    bool written = w->format == PathCallFormat(); /* by a BPF program */
    struct perf_event_attr attr = {
            .type = t->samples || written ? PERF_TYPE_SOFTWARE : PERF_TYPE_TRACEPOINT,
            .config = t->samples ? PERF_COUNT_SW_CPU_CLOCK
                      : written  ? PERF_COUNT_SW_BPF_OUTPUT
                                 : (uint64_t)w->format->id,
            .sample_period = t->samples ? w->interval : 1,
            .sample_type = layoutOf(t),
            .exclude_idle = t->samples,
            .read_format = FORMAT_LOST,
            .disabled = 1,
            .inherit = tid >= 0 && !t->alone,
            .exclude_callchain_kernel = w->stacks == ETW_STACKS_NONE,
            .exclude_callchain_user = w->stacks == ETW_STACKS_NONE};
    if (t->copies) {
        PerfRequestCopies(&attr, w->stacks == ETW_STACKS_COPIES);
        attr.exclude_callchain_user |= w->stacks == ETW_STACKS_COPIES;
    }
    if (w->format == KernelImageFormat()) {
        requestImages(&attr);
    }
    int fd = PerfOpenFd(&attr, tid, cpu);
    if (fd < 0 && errno == EINVAL) { /* older kernel: PerfRingLost counts the loss */
        attr.read_format = 0;
        fd = PerfOpenFd(&attr, tid, cpu);
    }
    if (fd < 0 && errno == EINVAL && attr.build_id) { /* before 5.12 */
        attr.build_id = 0;
        fd = PerfOpenFd(&attr, tid, cpu);
    }
    return fd;
}

static void keepFile(PerfPoint *p, int fd)
{
    if (p->count == p->capacity) {
        p->capacity = p->capacity ? 2 * p->capacity : 8;
        p->files = EtwRealloc(p->files, (size_t)p->capacity * sizeof *p->files);
    }
    p->files[p->count++] = fd;
}

/* Open on every CPU, for a thread (-1: for all). A thread that has ended is not an error. */
static EtwStatus openOn(Perf *t, PerfPoint *p, int tid, EtwError *err)
{
    for (int cpu = 0; cpu < t->cpus; cpu++) {
        int fd;
        if (t->rings[cpu] == NULL) {
            continue;
        }
        fd = openEvent(t, &p->request, tid, cpu);
        if (fd < 0 && (errno == ESRCH || errno == ENODEV)) {
            continue;
        }
        if (fd < 0) {
            return refused(t, errno, &p->request, err);
        }
        keepFile(p, fd);
        if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, PerfRingFd(t->rings[cpu])) != 0 ||
                (p->request.filter != NULL &&
                        ioctl(fd, PERF_EVENT_IOC_SET_FILTER, p->request.filter))) {
            return refused(t, errno, &p->request, err);
        }
    }
    return ETW_OK;
}

static EtwStatus openWide(Perf *t, PerfPoint *p, EtwError *err)
{
    EtwStatus status;
    closeFiles(t, p, 0);
    status = openOn(t, p, -1, err);
    p->wide = status == ETW_OK;
    return status;
}

/* ---- Tracepoints ----------------------------------------------------------------------------- */

static PerfPoint *pointOf(Perf *t, const struct tep_event *format)
{
    for (int i = 0; i < t->pointCount; i++) {
        if (t->points[i].request.format == format) {
            return &t->points[i];
        }
    }
    return NULL;
}

static void closeTrial(PerfPoint *p)
{
    if (p->trial >= 0) {
        close(p->trial);
        p->trial = -1;
    }
}

static void disable(KernelTransport *transport, const KernelRequest *w)
{
    Perf *t = (Perf *)transport;
    PerfPoint *p = pointOf(t, w->format);
    if (p != NULL) {
        closeFiles(t, p, 0);
        closeTrial(p);
        EtwFree(p->files);
        *p = t->points[--t->pointCount];
    }
}

/* Check whether the tracepoint may be collected, before anything depends on it. */
static EtwStatus openTrial(Perf *t, PerfPoint *p, EtwError *err)
{
    p->trial = openEvent(t, &p->request, 0, -1);
    return p->trial < 0 ? refused(t, errno, &p->request, err) : ETW_OK;
}

static EtwStatus enable(KernelTransport *transport, const KernelRequest *w, EtwError *err)
{
    Perf *t = (Perf *)transport;
    bool wide = t->all || w->instance == IN_ANY || w->format == PathCallFormat();
    PerfPoint *p;
    EtwStatus status;
    disable(transport, w);
    t->points = EtwRealloc(t->points, (size_t)(t->pointCount + 1) * sizeof *t->points);
    p = &t->points[t->pointCount++];
    *p = (PerfPoint){.request = *w, .fresh = true, .trial = -1};
    status = wide ? openWide(t, p, err) : openTrial(t, p, err);
    if (status != ETW_OK) {
        disable(transport, w);
    }
    return status;
}

int PerfFileOf(const KernelTransport *transport, const struct tep_event *format, int cpu)
{
    const Perf *t = (const Perf *)transport;
    const PerfPoint *p = pointOf((Perf *)transport, format);
    int nth = 0;
    for (int i = 0; i < cpu; i++) {
        nth += t->rings[i] != NULL;
    }
    return p != NULL && cpu < t->cpus && t->rings[cpu] != NULL && nth < p->count ? p->files[nth]
                                                                                 : -1;
}

/* ---- Threads to follow ----------------------------------------------------------------------- */

typedef struct Threads {
    int *tids;
    int count, capacity;
} Threads;

/* The threads of a process that may be traced, in order of creation; none when it has ended. */
static EtwStatus listThreads(Threads *list, uint32_t pid, EtwError *err)
{
    char path[64];
    struct dirent *e;
    DIR *dir;
    list->count = 0;
    snprintf(path, sizeof path, "/proc/%u/task", pid);
    dir = opendir(path);
    if (dir == NULL && OsFileLimitHint(errno) != NULL) {
        return EtwFailOs(
                err, ETW_E_LIMIT, errno, "FILES", "", "cannot list the threads of process %u", pid);
    }
    while (dir != NULL && (e = readdir(dir)) != NULL) {
        int tid = atoi(e->d_name);
        if (tid <= 0 || KernelIsIgnored((uint32_t)tid)) {
            continue;
        }
        if (list->count == list->capacity) {
            list->capacity = list->capacity ? 2 * list->capacity : 64;
            list->tids = EtwRealloc(list->tids, (size_t)list->capacity * sizeof *list->tids);
        }
        list->tids[list->count++] = tid;
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return ETW_OK;
}

static bool has(const Threads *list, int tid)
{
    int i = 0;
    while (i < list->count && list->tids[i] != tid) {
        i++;
    }
    return i < list->count;
}

static bool grew(const Threads *before, const Threads *now)
{
    int i = 0;
    while (i < now->count && has(before, now->tids[i])) {
        i++;
    }
    return i < now->count;
}

static bool isNew(const PerfPoint *p, bool known)
{
    return !p->wide && (p->fresh || !known);
}

static EtwStatus openThreads(Perf *t, const Threads *list, bool known, EtwError *err)
{
    EtwStatus status = ETW_OK;
    for (int i = 0; i < t->pointCount; i++) {
        for (int n = 0; status == ETW_OK && isNew(&t->points[i], known) && n < list->count; n++) {
            status = openOn(t, &t->points[i], list->tids[n], err);
        }
    }
    return status;
}

/*
 * One pass over all threads. *settledPtr: no thread has started meanwhile. On failure, the files
 * opened here are closed.
 */
static EtwStatus pass(Perf *t, uint32_t pid, bool known, bool last, bool *settledPtr,
        Threads lists[2], EtwError *err)
{
    int *counts = EtwAlloc((size_t)(t->pointCount + 1) * sizeof *counts);
    EtwStatus status;
    for (int i = 0; i < t->pointCount; i++) {
        counts[i] = t->points[i].count;
    }
    status = listThreads(&lists[0], pid, err);
    if (status == ETW_OK) {
        status = openThreads(t, &lists[0], known, err);
    }
    if (status == ETW_OK) {
        status = listThreads(&lists[1], pid, err);
    }
    *settledPtr = last || !grew(&lists[0], &lists[1]);
    for (int i = 0; i < t->pointCount && (status != ETW_OK || !*settledPtr); i++) {
        closeFiles(t, &t->points[i], counts[i]);
    }
    EtwFree(counts);
    return status;
}

static EtwStatus follow(KernelTransport *transport, uint32_t pid, bool known, EtwError *err)
{
    Threads lists[2] = {{0}, {0}};
    EtwStatus status = ETW_OK;
    bool settled = ((Perf *)transport)->all;
    for (int n = 1; status == ETW_OK && !settled; n++) {
        status = pass((Perf *)transport, pid, known, n == TRIES, &settled, lists, err);
    }
    EtwFree(lists[0].tids);
    EtwFree(lists[1].tids);
    return status;
}

static EtwStatus followAll(KernelTransport *transport, EtwError *err)
{
    Perf *t = (Perf *)transport;
    EtwStatus status = ETW_OK;
    t->all = true;
    for (int i = 0; status == ETW_OK && i < t->pointCount; i++) {
        status = t->points[i].wide ? ETW_OK : openWide(t, &t->points[i], err);
    }
    return status;
}

static EtwStatus followOne(KernelTransport *transport, uint32_t tid, EtwError *err)
{
    Perf *t = (Perf *)transport;
    EtwStatus status = ETW_OK;
    t->alone = true;
    for (int i = 0; status == ETW_OK && i < t->pointCount; i++) {
        closeFiles(t, &t->points[i], 0);
        status = openOn(t, &t->points[i], (int)tid, err);
    }
    return status;
}

/* perf cannot exclude a thread: the drain ignores its events. */
static bool hide(KernelTransport *transport, uint32_t tid)
{
    (void)transport;
    (void)tid;
    return false;
}

/* ---- Running --------------------------------------------------------------------------------- */

static void eachFile(Perf *t, unsigned long request)
{
    for (int i = 0; i < t->pointCount; i++) {
        for (int n = 0; n < t->points[i].count; n++) {
            ioctl(t->points[i].files[n], request, 0);
        }
    }
}

static void start(KernelTransport *transport)
{
    Perf *t = (Perf *)transport;
    eachFile(t, PERF_EVENT_IOC_ENABLE);
    for (int i = 0; i < t->pointCount; i++) {
        t->points[i].fresh = false;
        closeTrial(&t->points[i]);
    }
}

static void stop(KernelTransport *transport)
{
    eachFile((Perf *)transport, PERF_EVENT_IOC_DISABLE);
}

static void refill(KernelTransport *transport)
{
    PerfClockAdvance(&((Perf *)transport)->clock);
}

static uint64_t lost(KernelTransport *transport)
{
    Perf *t = (Perf *)transport;
    uint64_t byFile = t->lostThen, byRing = 0;
    for (int i = 0; i < t->pointCount; i++) {
        for (int n = 0; n < t->points[i].count; n++) {
            byFile += lostOf(t->points[i].files[n]);
        }
    }
    for (int cpu = 0; cpu < t->cpus; cpu++) {
        byRing += t->rings[cpu] != NULL ? PerfRingLost(t->rings[cpu]) : 0;
    }
    return byFile > byRing ? byFile : byRing;
}

static void freeRings(Perf *t)
{
    for (int cpu = 0; cpu < t->cpus; cpu++) {
        if (t->rings[cpu] != NULL) {
            PerfRingFree(t->rings[cpu]);
            t->rings[cpu] = NULL;
        }
    }
}

static void closeAll(KernelTransport *transport)
{
    Perf *t = (Perf *)transport;
    for (int i = 0; i < t->pointCount; i++) {
        closeFiles(t, &t->points[i], 0);
        closeTrial(&t->points[i]);
        EtwFree(t->points[i].files);
    }
    freeRings(t);
    EtwFree(t->points);
    EtwFree(t->rings);
    EtwFree(t);
}

static const KernelTransportOps ops = {
        enable, disable, follow, followAll, followOne, hide, start, stop, refill, lost, closeAll};

static EtwStatus noRings(int osError, EtwError *err)
{
    if (osError == ENOSYS) {
        return EtwFailOs(err, ETW_E_UNSUPPORTED, osError, "PERF", "perf_event_open",
                "this kernel has no perf events");
    }
    return EtwFailOs(err, osError == EACCES || osError == EPERM ? ETW_E_ACCESS : ETW_E_IO, osError,
            "PERF", "perf_event_open",
            "the kernel refused a buffer for perf events (kernel.perf_event_paranoid is %d): run "
            "as root, raise the limit of locked memory (\"ulimit -l\"), or check whether a rule of "
            "this container or system forbids perf_event_open",
            PerfParanoid());
}

/* Open a ring of the same size for every CPU, or none. Returns 0 or errno. */
static int openRings(Perf *t, size_t kb, uint8_t transport)
{
    int why = ENODEV;
    for (int cpu = 0; cpu < t->cpus; cpu++) {
        t->rings[cpu] = PerfRingNew(cpu, kb, transport, layoutOf(t), &t->clock);
        if (t->rings[cpu] != NULL) {
            why = why == ENODEV ? 0 : why;
        } else if (errno != ENODEV) {
            why = errno;
            break;
        }
    }
    if (why != 0) {
        freeRings(t);
    }
    return why;
}

/* Without CAP_IPC_LOCK locked memory is limited: halve the size until all CPUs have a ring. */
static int openLargestRings(Perf *t, size_t wantKB, uint8_t transport)
{
    size_t kb = LEAST_KB;
    int why;
    while (kb * 2 <= wantKB) {
        kb *= 2;
    }
    do {
        why = openRings(t, kb, transport);
        kb /= 2;
    } while ((why == EPERM || why == ENOMEM) && kb >= LEAST_KB);
    return why;
}

EtwStatus PerfOpen(KernelTransport **tPtr, const KernelTransportConfig *c, EtwError *err)
{
    Perf *t = EtwAlloc(sizeof *t);
    int why;
    t->base.ops = &ops;
    t->samples = c->samples;
    t->copies = c->copies;
    PerfClockInit(&t->clock);
    t->cpus = OsCpuCount();
    t->rings = EtwAlloc((size_t)t->cpus * sizeof(PerfRing *));
    why = openLargestRings(t, c->perCpuKB, c->number);
    if (why != 0) {
        closeAll(&t->base);
        return noRings(why, err);
    }
    for (int cpu = 0; cpu < t->cpus; cpu++) {
        if (t->rings[cpu] != NULL) {
            TraceMergeAdd(c->merge, PerfRingStream(t->rings[cpu]));
        }
    }
    *tPtr = &t->base;
    return ETW_OK;
}
