/*
 * unix/os/linux_process.c --
 *
 *	base/os.h for Linux, functions between processes: wake-ups in shared memory.
 */
#define _GNU_SOURCE
#include "base/os.h"
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- Wake-ups -------------------------------------------------------------------------------- */

enum { SILENT = 0, RUNG = 1, ASLEEP = 2 /* a thread waits in the kernel */ };

void OsSharedWakeOpen(OsSharedWake *wake, _Atomic uint32_t *word, const char *name)
{
    (void)name;
    wake->word = word;
    wake->event = NULL;
}

void OsSharedWakeClose(OsSharedWake *wake)
{
    wake->word = NULL;
}

void OsSharedWakePost(const OsSharedWake *wake)
{
    /*
     * seq_cst: the data for the waiter is stored first, and a waiter that starts to sleep is woken
     */
    if (atomic_exchange(wake->word, RUNG) == ASLEEP) {
        syscall(SYS_futex, wake->word, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

static int64_t monotonic(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

bool OsSharedWakeWait(const OsSharedWake *wake, int64_t timeoutNs)
{
    int64_t until = monotonic() + timeoutNs, left = timeoutNs;
    for (;;) {
        uint32_t seen = RUNG;
        if (atomic_compare_exchange_strong(wake->word, &seen, SILENT)) {
            return true;
        }
        if (left <= 0) {
            /* A post between the two is found by the next wait. */
            atomic_compare_exchange_strong(wake->word, &seen, SILENT);
            return false;
        }
        /* Other values than ours are possible, because every process of the user can write here. */
        if (seen == ASLEEP || atomic_compare_exchange_strong(wake->word, &seen, ASLEEP)) {
            struct timespec t = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
            syscall(SYS_futex, wake->word, FUTEX_WAIT, ASLEEP, &t, NULL, 0);
        }
        left = until - monotonic();
    }
}
