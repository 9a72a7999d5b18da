/*
 * unix/kernel/transport/tracefs_instance.c --
 *
 *	Private tracefs instances: create, configure, switch off, remove. Uses libtracefs, except to
 *	find the mount point: the library would mount tracefs if it is not mounted.
 */
#define _GNU_SOURCE
#include "unix/kernel/transport/tracefs_instance.h"
#include "unix/kernel/transport/owner_name.h"
#include "unix/kernel/transport/perf_transport.h"
#include "base/alloc.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <string.h>
#include <unistd.h>

#define MOUNT_COMMAND "mount -t tracefs nodev /sys/kernel/tracing"

static EtwStatus refused(EtwError *err, int osError, const char *what)
{
    return EtwFailOs(err, osError == EACCES || osError == EPERM ? ETW_E_ACCESS : ETW_E_IO, osError,
            "TRACEFS", what, "the kernel refused \"%s\" in tracefs", what);
}

/*
 * The mount point of tracefs; NULL: not mounted. Cached, because the library leaks its result at
 * each call. Checked again when the cached path is gone.
 */
static const char *mountPoint(void)
{
    static const char *known;
    char path[512];
    if (known != NULL) {
        snprintf(path, sizeof path, "%s/instances", known);
        if (access(path, F_OK) == 0 || errno == EACCES) {
            return known;
        }
        known = NULL;
    }
    return tracefs_tracing_dir_is_mounted(false, &known) > 0 ? known : NULL;
}

/*
 * The error for unreadable tracefs. Read access by group suffices to list tracepoints; collecting
 * them requires perf's permissions.
 */
static EtwStatus unreadable(const char *dir, int osError, EtwError *err)
{
    return EtwFailOs(err, ETW_E_ACCESS, osError, "TRACEFS", dir,
            "kernel events require that tracefs (%s) can be read: run as root, or as root allow a "
            "group to read it with \"mount -o remount,gid=GROUP,mode=0750 %s\"%s",
            dir, dir,
            PerfAllowed()
                    ? ""
                    : " and give the program CAP_PERFMON with \"setcap cap_perfmon+ep PROGRAM\" "
                      "(or allow all users with \"sysctl kernel.perf_event_paranoid=-1\")");
}

EtwStatus TraceReadable(EtwError *err)
{
    const char *dir;
    char path[512];
    tracefs_set_loglevel(TEP_LOG_NONE); /* errors are reported by our code */
    dir = mountPoint();
    if (dir == NULL) {
        return EtwFail(err, ETW_E_UNSUPPORTED, "TRACEFS", "/sys/kernel/tracing",
                "kernel events need tracefs, which is not mounted: \"" MOUNT_COMMAND
                "\" (as root) does it");
    }
    snprintf(path, sizeof path, "%s/events/header_page", dir);
    return access(path, R_OK) == 0 ? ETW_OK : unreadable(dir, errno, err);
}

bool TraceUsable(void)
{
    const char *dir;
    char path[512];
    tracefs_set_loglevel(TEP_LOG_NONE);
    dir = mountPoint();
    snprintf(path, sizeof path, "%s/instances", dir ? dir : "");
    return dir != NULL && access(path, R_OK | W_OK | X_OK) == 0;
}

/* ---- Control files --------------------------------------------------------------------------- */

EtwStatus TraceWrite(TraceInstance *t, const char *file, const char *text, EtwError *err)
{
    return tracefs_instance_file_write(t->fs, file, text) < 0 ? refused(err, errno, file) : ETW_OK;
}

EtwStatus TraceAppend(TraceInstance *t, const char *file, const char *text, EtwError *err)
{
    return tracefs_instance_file_append(t->fs, file, text) < 0 ? refused(err, errno, file) : ETW_OK;
}

bool TraceHas(TraceInstance *t, const char *file)
{
    return tracefs_file_exists(t->fs, file);
}

void TraceOff(TraceInstance *t)
{
    if (t->fs != NULL) {
        tracefs_trace_off(t->fs);
    }
}

void TraceOn(TraceInstance *t)
{
    tracefs_trace_on(t->fs);
}

EtwStatus TraceEnable(
        TraceInstance *t, const char *system, const char *event, const char *filter, EtwError *err)
{
    char name[200];
    snprintf(name, sizeof name, "%s:%s", system, event);
    /* "0" removes a filter; a new instance has none. */
    if (tracefs_event_file_write(t->fs, system, event, "filter", filter ? filter : "0") < 0 &&
            filter != NULL) {
        return refused(err, errno, name);
    }
    return tracefs_event_enable(t->fs, system, event) != 0 ? refused(err, errno, name) : ETW_OK;
}

void TraceDisable(TraceInstance *t, const char *system, const char *event)
{
    tracefs_event_disable(t->fs, system, event);
}

/* ---- Creating and removing ------------------------------------------------------------------- */

/* Characters of a session's name that tracefs or a shell could misinterpret are replaced by '_'. */
static void instanceName(char *name, size_t size, const char *session, const char *suffix, int nth)
{
    char clean[64], owner[64];
    size_t n = 0;
    for (; session[n] != '\0' && n < sizeof clean - 1; n++) {
        char c = session[n];
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        clean[n] = plain || c == '_' || c == '.' ? c : '_';
    }
    clean[n] = '\0';
    TraceOwnerName(owner, sizeof owner, '-');
    snprintf(name, size, "%s-%s%s", owner, clean, suffix);
    if (nth > 0) {
        size_t used = strlen(name);
        snprintf(name + used, size - used, "~%d", nth);
    }
}

static EtwStatus makeInstance(
        TraceInstance *t, const char *session, const char *suffix, EtwError *err)
{
    char name[160];
    for (int nth = 0; nth < 100; nth++) {
        instanceName(name, sizeof name, session, suffix, nth);
        t->fs = tracefs_instance_create(name);
        if (t->fs == NULL) {
            return refused(err, errno ? errno : ENOMEM, name);
        }
        if (tracefs_instance_is_new(t->fs)) {
            return ETW_OK;
        }
        tracefs_instance_free(t->fs); /* used by another session of this process */
        t->fs = NULL;
    }
    return EtwFail(err, ETW_E_LIMIT, "INSTANCE", name,
            "cannot make a trace instance in tracefs: all names are in use (%s)", name);
}

/* Files of CPUs that are configured but have never been online are missing: not an error. */
static EtwStatus openPipes(TraceInstance *t, EtwError *err)
{
    int opened = 0, why = ENOENT;
    t->cpus = OsCpuCount();
    t->pipes = EtwAlloc((size_t)t->cpus * sizeof *t->pipes);
    for (int cpu = 0; cpu < t->cpus; cpu++) {
        char file[64];
        snprintf(file, sizeof file, "per_cpu/cpu%d/trace_pipe_raw", cpu);
        t->pipes[cpu] = tracefs_instance_file_open(t->fs, file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (t->pipes[cpu] >= 0) {
            opened++;
        } else {
            why = errno;
        }
    }
    return opened > 0 ? ETW_OK : refused(err, why, "trace_pipe_raw");
}

EtwStatus TraceOpen(
        TraceInstance *t, const char *session, const char *suffix, size_t perCpuKB, EtwError *err)
{
    EtwStatus status;
    memset(t, 0, sizeof *t);
    errno = 0;
    status = makeInstance(t, session, suffix, err);
    if (status == ETW_OK) {
        status = TraceWrite(
                t, "trace_clock", osClock == ETW_CLOCK_TSC ? "x86-tsc" : "mono_raw", err);
    }
    if (status == ETW_OK) {
        char size[32];
        snprintf(size, sizeof size, "%zu", perCpuKB);
        status = TraceWrite(t, "buffer_size_kb", size, err);
    }
    if (status == ETW_OK) {
        status = openPipes(t, err);
    }
    if (status != ETW_OK) {
        TraceClose(t);
    }
    return status;
}

void TraceClose(TraceInstance *t)
{
    for (int cpu = 0; cpu < t->cpus && t->pipes != NULL; cpu++) {
        if (t->pipes[cpu] >= 0) {
            close(t->pipes[cpu]);
        }
    }
    EtwFree(t->pipes);
    if (t->fs != NULL) {
        tracefs_trace_off(t->fs);
        tracefs_event_disable(t->fs, NULL, NULL);
        tracefs_instance_destroy(t->fs);
        tracefs_instance_free(t->fs);
    }
    memset(t, 0, sizeof *t);
}

/* ---- Loss ------------------------------------------------------------------------------------ */

static uint64_t statOf(const char *stats, const char *name)
{
    const char *p = strstr(stats, name);
    return p ? strtoull(p + strlen(name), NULL, 10) : 0;
}

uint64_t TraceLost(TraceInstance *t)
{
    uint64_t lost = 0;
    for (int cpu = 0; t->fs != NULL && cpu < t->cpus; cpu++) {
        char file[64], *stats;
        snprintf(file, sizeof file, "per_cpu/cpu%d/stats", cpu);
        stats = t->pipes[cpu] < 0 ? NULL : tracefs_instance_file_read(t->fs, file, NULL);
        if (stats != NULL) {
            lost += statOf(stats, "\noverrun: ") + statOf(stats, "\ncommit overrun: ") +
                    statOf(stats, "\ndropped events: ");
            free(stats);
        }
    }
    return lost;
}

/* ---- Instances of dead processes ------------------------------------------------------------- */

static int sweepOne(const char *name, void *countPtr)
{
    struct tracefs_instance *fs;
    if (!TraceOwnerIsDead(name, '-')) {
        return 0;
    }
    fs = tracefs_instance_alloc(NULL, name);
    if (fs != NULL) {
        tracefs_event_disable(fs, NULL, NULL);
        if (tracefs_instance_destroy(fs) == 0) {
            ++*(int *)countPtr;
        }
        tracefs_instance_free(fs);
    }
    return 0;
}

int TraceSweep(void)
{
    int count = 0;
    if (TraceUsable()) {
        tracefs_instances_walk(sweepOne, &count);
    }
    return count;
}
