/*
 * unix/kernel/transport/task_table.h --
 *
 *	The traced threads, their processes, and exit codes of processes that are about to end. Initialized
 *	from /proc when tracing begins, then updated by the kernel's fork and exit events in time order.
 *	Owned by one EtwKernel; used by the logger's thread only.
 */
#ifndef ETW_TASK_TABLE_H
#define ETW_TASK_TABLE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct KernelTask {
    uint32_t tid; /* 0: free slot */
    uint32_t pid;
    uint32_t parent; /* the process that created it, if its start was observed */
    uint64_t exited; /* ticks of its exit; 0: alive */
    /* The system call that the thread has entered (socket_calls.c). */
    uint32_t call;  /* number + 1; 0: none that is followed */
    int32_t fd;     /* its first argument */
    bool before;    /* it may be in a call that it entered before it was traced */
    bool uncounted; /* the transfer does not count: a peek, the error queue */
    /* Of a process, stored in its main thread (tid == pid): */
    int32_t threads;
    int32_t exitCode; /* 0-255 as passed to exit, or minus the signal that ended it */
    bool exitKnown;
    int32_t signal; /* the last one sent to it that ends a process by default; 0: none */
} KernelTask;

typedef struct KernelTasks {
    KernelTask *slots;
    uint32_t capacity, used; /* capacity: a power of two */
    bool all;                /* every process is traced: unknown threads are looked up in /proc */
} KernelTasks;

/* Tid 0 is never known. The pointer is valid until the next KernelTaskAdd. */
KernelTask *KernelTaskFind(const KernelTasks *t, uint32_t tid);
/* A new (or reused) thread. */
KernelTask *KernelTaskAdd(KernelTasks *t, uint32_t tid, uint32_t pid);
void KernelTaskExit(KernelTasks *t, uint32_t tid, uint64_t ticks);
/*
 * Add all threads that /proc lists for a process; visit (may be NULL) is called for new ones.
 * Returns the number of new ones; when /proc cannot be read it is 0 and errno says why, else errno is 0.
 */
int KernelTasksOfProcess(
        KernelTasks *t, uint32_t pid, void (*visit)(void *ctx, uint32_t tid), void *ctx);
/* Add all threads of all processes. */
void KernelTasksOfAll(KernelTasks *t);
/*
 * The process of a thread that ran at `ticks`; 0: not traced. sure: its event passed the kernel's
 * filter. Then, and when all processes are traced, an unknown thread (whose start event was lost) is
 * looked up in /proc; if it has ended, its own id is returned.
 */
uint32_t KernelTaskProcess(KernelTasks *t, uint32_t tid, uint64_t ticks, bool sure);
/* According to /proc; the thread's own id when it has ended. */
uint32_t KernelProcessOfThread(uint32_t tid);
void KernelTasksFree(KernelTasks *t);

#endif
