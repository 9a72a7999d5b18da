/*
 * engine/shared/writer_threads.c --
 *
 *	See writer_threads.h. One mutex guards the list of threads. A thread locks it at its first
 *	write and at its exit.
 */
#include "engine/shared/writer_threads.h"
#include "base/alloc.h"
#include "base/os.h"

static _Atomic(OsMutex *) listMutex;
static EtwThread *threads;

static OsMutex *mutexOnce(void)
{
    OsMutex *m = atomic_load(&listMutex);
    if (m == NULL) {
        OsMutex *mine = OsMutexNew();
        if (atomic_compare_exchange_strong(&listMutex, &m, mine)) {
            return mine;
        }
        OsMutexFree(mine);
    }
    return m;
}

static void threadExit(void *value)
{
    EtwThread *self = value, **at;
    OsMutexLock(mutexOnce());
    for (at = &threads; *at != NULL; at = &(*at)->next) {
        if (*at == self) {
            *at = self->next;
            break;
        }
    }
    OsMutexUnlock(mutexOnce());
    EtwFree(self);
}

void EtwThreadRefresh(EtwThread *t)
{
    t->pid = OsPid();
    t->tid = OsTid();
}

EtwThread *EtwThreadNew(void)
{
    /* Its first write sets pid and tid, and joins the registry if this process, a forked child, has not joined yet. */
    EtwThread *self = EtwAlloc(sizeof *self);
    OsInit();
    OsMutexLock(mutexOnce());
    self->next = threads;
    threads = self;
    OsMutexUnlock(mutexOnce());
    OsThreadSlotSet(self, threadExit);
    return self;
}

/* True if each other thread was outside of a write in this round or a later one. */
static bool allQuiet(uint64_t round)
{
    EtwThread *self = OsThreadSlotGet();
    bool all = true;
    OsMutexLock(mutexOnce());
    for (EtwThread *t = threads; t != NULL; t = t->next) {
        if (t == self || t->quiet >= round) {
            continue;
        }
        if (atomic_load_explicit(&t->inside, memory_order_acquire) == 0) {
            t->quiet = round;
        } else {
            all = false;
        }
    }
    OsMutexUnlock(mutexOnce());
    return all;
}

static uint64_t newRound(void)
{
    static _Atomic uint64_t rounds;
    uint64_t round = atomic_fetch_add(&rounds, 1) + 1;
    OsProcessFence();
    return round;
}

/*
 * Waits without the list's lock, because a writer may need it. A single thread of a process cannot
 * be killed or stopped inside a write, so this ends.
 */
void EtwThreadsQuiesce(void)
{
    uint64_t round = newRound();
    for (int spins = 0; !allQuiet(round); spins++) {
        OsSleepNs(spins < 100 ? 1000 : 100000);
    }
}

bool EtwThreadsQuiet(void)
{
    return allQuiet(newRound());
}

void EtwThreadsForkPrepare(void)
{
    OsMutexLock(mutexOnce());
}

void EtwThreadsForkDone(bool child)
{
    EtwThread *self = OsThreadSlotGet();
    if (child) {
        threads = self;
        if (self != NULL) {
            self->next = NULL;
        }
    }
    OsMutexUnlock(mutexOnce());
}
