/*
 * engine/shared/writer_threads.h --
 *
 *	Per-thread state of writers, and waiting until none of them is inside a write (so that a
 *	session's mapping may go). The writer's side is two plain stores and the cheap half of a fence;
 *	the waiting side pays with the expensive one.
 */
#ifndef ETW_WRITER_THREADS_H
#define ETW_WRITER_THREADS_H

#include "base/os.h"
#include "etw.h"
#include <stdatomic.h>
#include <stdbool.h>

typedef struct EtwThread {
    _Atomic uint32_t inside; /* > 0 while in a write; written by its thread only */
    uint32_t pid, tid;       /* 0 until its first write; refreshed in a forked child */
    bool hasActivity, hasRelated;
    Etw_Guid activity;
    Etw_Guid related; /* of the next event without an activity of its own */
    uint64_t quiet;   /* the last round of waiting in which it was seen outside; under the lock */
    struct EtwThread *next; /* in the list of all, under its lock */
} EtwThread;

EtwThread *EtwThreadNew(void);
/* Made at first use, freed at thread exit. */
static inline EtwThread *EtwThreadSelf(void)
{
    EtwThread *self = OsThreadSlotGet();
    return __builtin_expect(self != NULL, 1) ? self : EtwThreadNew();
}

void EtwThreadRefresh(EtwThread *t);

static inline void EtwThreadEnter(EtwThread *t)
{
    /* Relaxed: the fence orders this store before the loads of the mapping; its other half is in EtwThreadsQuiesce. */
    atomic_store_explicit(&t->inside, atomic_load_explicit(&t->inside, memory_order_relaxed) + 1,
            memory_order_relaxed);
    OsCheapFence();
}
static inline void EtwThreadLeave(EtwThread *t)
{
    /* release: whatever the write did to the mapping is done when this is seen */
    atomic_store_explicit(&t->inside, atomic_load_explicit(&t->inside, memory_order_relaxed) - 1,
            memory_order_release);
}

/* Return when every other thread has been outside of a write once since the call. Not from inside a
 * write. */
void EtwThreadsQuiesce(void);
/* No other thread is inside a write just now. Also from inside one; never waits for a writer. */
bool EtwThreadsQuiet(void);
/* Around a fork: the child has no thread but the one that forked. */
void EtwThreadsForkPrepare(void);
void EtwThreadsForkDone(bool child);

#endif
