/*
 * unix/kernel/transport/task_table.c --
 *
 *	The table of traced threads: open addressing by tid. A thread that ended is kept for about a
 *	second (it closes its sockets and is switched out after its exit event), and dropped when
 *	the table grows.
 */
#define _GNU_SOURCE
#include "unix/kernel/transport/task_table.h"
#include "base/bytes.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* About a second in ticks of either clock; after it a tid means somebody else. */
enum { FIRST_ROOM = 256 };
static const uint64_t lingers = (uint64_t)1 << 31;

static uint32_t slotOf(const KernelTasks *t, uint32_t tid)
{
    uint32_t at = tid * 2654435761u >> 7 & (t->room - 1);
    while (t->slots[at].tid != 0 && t->slots[at].tid != tid) {
        at = (at + 1) & (t->room - 1);
    }
    return at;
}

KernelTask *KernelTaskFind(const KernelTasks *t, uint32_t tid)
{
    KernelTask *task = t->room == 0 || tid == 0 ? NULL : &t->slots[slotOf(t, tid)];
    return task != NULL && task->tid != 0 ? task : NULL;
}

/* Twice the room for the living; a first thread stays as long as its process has others. */
static void grow(KernelTasks *t)
{
    KernelTasks old = *t;
    uint32_t alive = 0;
    for (uint32_t i = 0; i < old.room; i++) {
        alive += old.slots[i].tid != 0 && (old.slots[i].exited == 0 || old.slots[i].threads > 0);
    }
    t->room = FIRST_ROOM;
    while (t->room < 4 * alive) {
        t->room *= 2;
    }
    t->slots = EtwAlloc(t->room * sizeof *t->slots);
    t->used = 0;
    for (uint32_t i = 0; i < old.room; i++) {
        if (old.slots[i].tid != 0 && (old.slots[i].exited == 0 || old.slots[i].threads > 0)) {
            t->slots[slotOf(t, old.slots[i].tid)] = old.slots[i];
            t->used++;
        }
    }
    EtwFree(old.slots);
}

KernelTask *KernelTaskAdd(KernelTasks *t, uint32_t tid, uint32_t pid)
{
    KernelTask *task;
    if (2 * (t->used + 1) > t->room) {
        grow(t);
    }
    task = &t->slots[slotOf(t, tid)];
    if (task->tid == 0) {
        t->used++;
    }
    memset(task, 0, sizeof *task);
    task->tid = tid;
    task->pid = pid;
    if (tid == pid) {
        task->threads = 1;
    } else if (KernelTaskFind(t, pid) != NULL) {
        KernelTaskFind(t, pid)->threads++;
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
    snprintf(path, sizeof path, "/proc/%u/task", pid);
    dir = opendir(path);
    while (dir != NULL && (e = readdir(dir)) != NULL) {
        uint32_t tid = idOf(e);
        KernelTask *known = KernelTaskFind(t, tid);
        if (tid == 0 || (known != NULL && known->exited == 0 && known->pid == pid)) {
            continue;
        }
        KernelTaskAdd(t, tid, pid);
        fresh++;
        if (visit != NULL) {
            visit(ctx, tid);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
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
