/*
 * unix/kernel/transport/task_table.h --
 *
 *	Which threads are traced, to which process each belongs, and what a process is about to end
 *	with. Filled from /proc when tracing begins, then by the kernel's own fork and exit events
 *	in time order. Owned by one EtwKernel; the logger's thread only.
 */
#ifndef ETW_TASK_TABLE_H
#define ETW_TASK_TABLE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct KernelTask {
    uint32_t tid; /* 0: free slot */
    uint32_t pid;
    uint32_t parent; /* the process that made it, when we saw that */
    uint64_t exited; /* ticks of its exit; 0: alive */
    /* The system call that it is in (socket_calls.c). */
    uint32_t call;  /* number + 1; 0: none that matters */
    int32_t fd;     /* its first argument */
    bool uncounted; /* what it moves does not count: a peek, the error queue */
    /* Of a process, kept at its first thread (tid == pid): */
    int32_t threads;
    int32_t exitCode; /* 0-255 as given to exit, or minus the signal that ended it */
    bool exitKnown;
} KernelTask;

typedef struct KernelTasks {
    KernelTask *slots;
    uint32_t room, used; /* room: a power of two */
    bool all;            /* every process is traced: unknown threads are looked up in /proc */
} KernelTasks;

/* Tid 0 is never known. The pointer is valid until the next KernelTaskAdd. */
KernelTask *KernelTaskFind(const KernelTasks *t, uint32_t tid);
/* A new (or reused) thread. */
KernelTask *KernelTaskAdd(KernelTasks *t, uint32_t tid, uint32_t pid);
void KernelTaskExit(KernelTasks *t, uint32_t tid, uint64_t ticks);
/* All threads of a process as /proc lists them now; visit (may be NULL) is called for those that
 * were not known. How many that were. */
int KernelTasksOfProcess(
        KernelTasks *t, uint32_t pid, void (*visit)(void *ctx, uint32_t tid), void *ctx);
/* All threads of all processes. */
void KernelTasksOfAll(KernelTasks *t);
/*
 * The process of a thread that ran at `ticks`; 0: not a traced one. sure: the kernel's own filter
 * let its event through, so that a thread we do not know (its birth was lost) is asked for in
 * /proc, and is its own process when it is gone already; the same when all are traced.
 */
uint32_t KernelTaskProcess(KernelTasks *t, uint32_t tid, uint64_t ticks, bool sure);
/* As /proc says; the thread itself when it is gone. */
uint32_t KernelProcessOfThread(uint32_t tid);
void KernelTasksFree(KernelTasks *t);

#endif
