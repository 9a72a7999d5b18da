/*
 * unix/os/linux_counters.c --
 *
 *	base/os.h for Linux: performance counters of one thread. Each counter is an event of
 *	perf_event_open(2) that is only read. When there are more counters than hardware registers,
 *	the kernel multiplexes them: a value is then scaled by the time in which it was counted.
 */
#include "base/os.h"
#include "base/alloc.h"
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HARDWARE(name) PERF_TYPE_HARDWARE, PERF_COUNT_HW_##name
#define SOFTWARE(name) PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##name

static const struct {
    const char *name;
    uint32_t type;
    uint64_t config;
} known[] = {
        {"cycles", HARDWARE(CPU_CYCLES)},
        {"instructions", HARDWARE(INSTRUCTIONS)},
        {"cache-references", HARDWARE(CACHE_REFERENCES)},
        {"cache-misses", HARDWARE(CACHE_MISSES)},
        {"branches", HARDWARE(BRANCH_INSTRUCTIONS)},
        {"branch-misses", HARDWARE(BRANCH_MISSES)},
        {"bus-cycles", HARDWARE(BUS_CYCLES)},
        {"stalled-cycles-frontend", HARDWARE(STALLED_CYCLES_FRONTEND)},
        {"stalled-cycles-backend", HARDWARE(STALLED_CYCLES_BACKEND)},
        {"ref-cycles", HARDWARE(REF_CPU_CYCLES)},
        {"task-clock", SOFTWARE(TASK_CLOCK)}, /* ns */
        {"page-faults", SOFTWARE(PAGE_FAULTS)},
        {"minor-faults", SOFTWARE(PAGE_FAULTS_MIN)},
        {"major-faults", SOFTWARE(PAGE_FAULTS_MAJ)},
        {"context-switches", SOFTWARE(CONTEXT_SWITCHES)},
        {"cpu-migrations", SOFTWARE(CPU_MIGRATIONS)},
};

/* The result of read(2) with READ_FORMAT. */
#define READ_FORMAT (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)
typedef struct Reading {
    uint64_t value, enabled, running;
} Reading;

struct OsCounters {
    int count;
    int files[OS_COUNTERS];
    Reading last[OS_COUNTERS];
};

const char *OsCounterName(int index)
{
    return index < (int)(sizeof known / sizeof *known) ? known[index].name : NULL;
}

static EtwStatus refused(const char *name, uint32_t type, int osError, EtwError *errPtr)
{
    switch (osError) {
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
    case EINVAL:
        return EtwFailOs(errPtr, ETW_E_UNSUPPORTED, osError, "COUNTER", name,
                "this machine has no counter %s: its processor lacks it, or a virtual machine has "
                "no access to it (\"perf list hw\" lists the counters); the counters of the kernel "
                "(page-faults, context-switches, ...) are always available",
                name);
    case ENOSYS:
        return EtwFailOs(errPtr, ETW_E_UNSUPPORTED, osError, "PERF", name,
                "this kernel has no perf events, which counters require");
    case EACCES:
    case EPERM:
        return EtwFailOs(errPtr, ETW_E_ACCESS, osError, "PERF", name,
                "the kernel refused counter %s: run as root, or as root give the right to the "
                "program with \"setcap cap_perfmon+ep PROGRAM\", or to all users with \"sysctl "
                "kernel.perf_event_paranoid=%d\"; in a container, a rule may forbid it",
                name, type == PERF_TYPE_SOFTWARE ? 1 : 2);
    default:
        return EtwFailOs(
                errPtr, ETW_E_IO, osError, "COUNTER", name, "counter %s cannot be opened", name);
    }
}

/* For the calling thread on any CPU. */
static int openFile(struct perf_event_attr *attr)
{
    return (int)syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/*
 * Excludes the kernel where it may not be counted. Counters of kernel activity cannot exclude it.
 */
static int openOne(int index)
{
    struct perf_event_attr attr = {.type = known[index].type,
            .size = sizeof attr,
            .config = known[index].config,
            .read_format = READ_FORMAT,
            .exclude_hv = 1};
    int file = openFile(&attr);
    bool ofKernel = known[index].type == PERF_TYPE_SOFTWARE &&
                    (attr.config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
                            attr.config == PERF_COUNT_SW_CPU_MIGRATIONS);
    if (file < 0 && (errno == EACCES || errno == EPERM) && !ofKernel) {
        attr.exclude_kernel = 1;
        file = openFile(&attr);
    }
    return file;
}

EtwStatus OsCountersOpen(OsCounters **countersPtr, const int *indices, int count, EtwError *errPtr)
{
    OsCounters *c = EtwAlloc(sizeof *c);
    for (; c->count < count; c->count++) {
        int index = indices[c->count], file = openOne(index), osError = errno;
        if (file < 0) {
            OsCountersClose(c);
            return refused(known[index].name, known[index].type, osError, errPtr);
        }
        c->files[c->count] = file;
    }
    uint64_t since[OS_COUNTERS];
    OsCountersTake(c, since);
    *countersPtr = c;
    return ETW_OK;
}

/* The difference, scaled up for the time in which the counter had no register. */
static uint64_t countedIn(const Reading *from, const Reading *to)
{
    uint64_t value = to->value - from->value, enabled = to->enabled - from->enabled,
             running = to->running - from->running;
    return running == 0 || running >= enabled
                   ? value
                   : (uint64_t)((double)value * ((double)enabled / (double)running));
}

void OsCountersTake(OsCounters *c, uint64_t *values)
{
    for (int i = 0; i < c->count; i++) {
        Reading now;
        values[i] = 0;
        if (read(c->files[i], &now, sizeof now) == (ssize_t)sizeof now) {
            values[i] = countedIn(&c->last[i], &now);
            c->last[i] = now;
        }
    }
}

void OsCountersClose(OsCounters *c)
{
    for (int i = 0; c != NULL && i < c->count; i++) {
        close(c->files[i]);
    }
    EtwFree(c);
}
