/*
 * unix/os/linux_process.c --
 *
 *	base/os.h for Linux, functions between processes: wake-ups in shared memory, detached
 *	processes.
 */
#define _GNU_SOURCE
#include "base/os.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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

/* ---- Detached processes ---------------------------------------------------------------------- */

static void closeInherited(void)
{
    sigset_t none;
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd <= 2 && null >= 0; fd++) {
        dup2(null, fd);
    }
    if (syscall(SYS_close_range, 3u, ~0u, 0) != 0) {
        for (int fd = 3; fd < (int)sysconf(_SC_OPEN_MAX); fd++) {
            close(fd);
        }
    }
    if (chdir("/") != 0) {
        return; /* otherwise a directory would stay in use */
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* A handler of the program would refer to code that no longer exists. */
static void resetHandlers(void)
{
    for (int sig = 1; sig < NSIG; sig++) {
        struct sigaction now;
        if (sigaction(sig, NULL, &now) == 0 && now.sa_handler != SIG_DFL &&
                now.sa_handler != SIG_IGN) {
            signal(sig, SIG_DFL);
        }
    }
}

static _Noreturn void daemonize(
        void (*proc)(const char *argument), const char *argument, int report)
{
    pid_t pid;
    setsid();
    pid = fork();
    if (pid != 0) {
        ssize_t told = write(report, &pid, sizeof pid);
        _exit(told == (ssize_t)sizeof pid ? 0 : 1);
    }
    resetHandlers();
    closeInherited();
    prctl(PR_SET_NAME, "etw-logger");
    proc(argument);
    _exit(0);
}

static bool readPid(int fd, pid_t *pidPtr)
{
    ssize_t n;
    do {
        n = read(fd, pidPtr, sizeof *pidPtr);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof *pidPtr && *pidPtr > 0;
}

/*
 * Fork without exec: when the engine is linked into a program, there is no other file to execute.
 */
EtwStatus OsDetach(
        void (*proc)(const char *argument), const char *argument, uint32_t *pidPtr, EtwError *err)
{
    int report[2], status;
    pid_t pid = -1, child;
    bool made;
    if (pipe2(report, O_CLOEXEC) != 0) {
        return EtwFailOs(err, ETW_E_LIMIT, errno, "PROCESS", "", "cannot start a process");
    }
    child = fork();
    if (child == 0) {
        daemonize(proc, argument, report[1]);
    }
    close(report[1]);
    made = child > 0 && readPid(report[0], &pid);
    close(report[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    *pidPtr = made ? (uint32_t)pid : 0;
    return made ? ETW_OK
                : EtwFailOs(err, ETW_E_LIMIT, errno, "PROCESS", "", "cannot start a process");
}
