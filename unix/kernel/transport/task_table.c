/*
 * unix/kernel/transport/task_table.c --
 *
 *	The table of traced threads: open addressing by tid. A thread that has ended is kept for
 *	about a second, because it closes its sockets and is switched out after its exit event. It
 *	is removed when the table grows.
 */
#define _GNU_SOURCE
#include "unix/kernel/transport/task_table.h"
#include "base/slot_table.h"
#include <errno.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* About a second in ticks of either clock. After it the tid may belong to a new thread. */
static const uint64_t lingers = (uint64_t)1 << 31;

static inline uint32_t hashOf(uint64_t tid)
{
    return (uint32_t)tid * 2654435761u >> 7;
}

/* The main thread's entry stays while its process has other threads. */
static inline bool isAlive(const KernelTask *task)
{
    return task->exited == 0 || task->threads > 0;
}
ETW_SLOT_TABLE(Tasks, KernelTasks, KernelTask, tid, hashOf, isAlive, 256)

KernelTask *KernelTaskFind(const KernelTasks *t, uint32_t tid)
{
    return TasksFind(t, tid);
}

KernelTask *KernelTaskAdd(KernelTasks *t, uint32_t tid, uint32_t pid)
{
    KernelTask *task = TasksAdd(t, tid);
    *task = (KernelTask){.tid = tid, .pid = pid};
    if (tid == pid) {
        task->threads = 1;
    } else if (TasksFind(t, pid) != NULL) {
        TasksFind(t, pid)->threads++;
    }
    return task;
}

void KernelTaskExit(KernelTasks *t, uint32_t tid, uint64_t ticks)
{
    KernelTask *task = KernelTaskFind(t, tid), *first;
    if (task != NULL && task->exited == 0) {
        task->exited = ticks;
        first = KernelTaskFind(t, task->pid);
        if (first != NULL) {
            first->threads--;
        }
    }
}

/* ---- /proc ----------------------------------------------------------------------------------- */

static uint32_t idOf(const struct dirent *e)
{
    char *end;
    unsigned long n = strtoul(e->d_name, &end, 10);
    return *end == '\0' && end != e->d_name && n <= INT32_MAX ? (uint32_t)n : 0;
}

int KernelTasksOfProcess(
        KernelTasks *t, uint32_t pid, void (*visit)(void *ctx, uint32_t tid), void *ctx)
{
    char path[64];
    int fresh = 0;
    struct dirent *e;
    DIR *dir;
    int osError;
    snprintf(path, sizeof path, "/proc/%u/task", pid);
    dir = opendir(path);
    osError = dir != NULL ? 0 : errno;
    while (dir != NULL && (e = readdir(dir)) != NULL) {
        uint32_t tid = idOf(e);
        KernelTask *known = KernelTaskFind(t, tid);
        if (tid == 0 || (known != NULL && known->exited == 0 && known->pid == pid)) {
            continue;
        }
        KernelTaskAdd(t, tid, pid)->before = true;
        fresh++;
        if (visit != NULL) {
            visit(ctx, tid);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    errno = osError;
    return fresh;
}

void KernelTasksOfAll(KernelTasks *t)
{
    DIR *dir = opendir("/proc");
    struct dirent *e;
    while (dir != NULL && (e = readdir(dir)) != NULL) {
        if (idOf(e) != 0) {
            KernelTasksOfProcess(t, idOf(e), NULL, NULL);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

uint32_t KernelProcessOfThread(uint32_t tid)
{
    char path[64], line[128];
    unsigned pid = 0;
    FILE *f;
    snprintf(path, sizeof path, "/proc/%u/status", tid);
    f = fopen(path, "re");
    if (f == NULL) {
        return tid;
    }
    while (pid == 0 && fgets(line, sizeof line, f) != NULL) {
        sscanf(line, "Tgid: %u", &pid);
    }
    fclose(f);
    return pid ? pid : tid;
}

uint32_t KernelTaskProcess(KernelTasks *t, uint32_t tid, uint64_t ticks, bool sure)
{
    KernelTask *task = KernelTaskFind(t, tid);
    if (task != NULL && (task->exited == 0 || ticks < task->exited + lingers)) {
        return task->pid;
    }
    if ((!t->all && !sure) || tid == 0) {
        return 0;
    }
    return KernelTaskAdd(t, tid, KernelProcessOfThread(tid))->pid;
}

void KernelTasksFree(KernelTasks *t)
{
    EtwFree(t->slots);
    memset(t, 0, sizeof *t);
}
