/*
 * unix/attach/inject.c --
 *
 *	Stops threads of another process by ptrace, and calls functions in one of them.
 *
 *	A call changes the registers of the stopped thread, and restores all of them afterwards. It returns to a system call
 *	instruction in the vdso, at which the thread stops again; thus no signal is involved that the process could see.
 *	All signals of the thread are blocked meanwhile, they are delivered after its release. SIGSTOP cannot be blocked: it is
 *	sent again then. The last stop before the
 *	release is of the kind after which the kernel restarts the interrupted system call.
 */
#define _GNU_SOURCE
#include "unix/attach/inject.h"
#include "base/alloc.h"

#ifdef __x86_64__

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef PTRACE_EVENT_STOP
#define PTRACE_EVENT_STOP 128
#endif
#ifndef PTRACE_GETSIGMASK
#define PTRACE_GETSIGMASK 0x420a
#define PTRACE_SETSIGMASK 0x420b
#endif

/* Not defined for user space: results of system calls that the kernel handles before the program sees them. */
enum { RESTART_NO_HAND = 514, RESTART_LAST = 516 };
enum { XSTATE_MAX = 32768, CODE_64 = 0x33, RED_ZONE = 128 };
#define LONG_NS ((int64_t)20000000000) /* for a call in the process, at most */

struct Stopped {
    const Target *target;
    pid_t tid;
    struct user_regs_struct regs; /* as they are to be restored */
    bool changed;                 /* registers and mask are not those of the thread */
    bool ended;
    uint64_t mask;     /* of its signals */
    uint64_t held;     /* signals that arrived during a call, to be sent again: bit 0 is signal 1 */
    uint64_t gate;     /* address of a system call instruction */
    size_t xstateSize; /* of the floating-point and vector registers */
    unsigned char xstate[XSTATE_MAX];
};

int64_t InjectClock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void InjectPause(int64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    nanosleep(&t, NULL);
}

/* ---- Stopping -------------------------------------------------------------------------------- */

typedef enum Wait { WAIT_STOPPED, WAIT_ENDED, WAIT_LATE } Wait;

static Wait waitFor(pid_t tid, int64_t deadline, int *status)
{
    for (int rounds = 0;; rounds++) {
        pid_t got = waitpid(tid, status, __WALL | WNOHANG);
        if (got == tid) {
            return WIFSTOPPED(*status) ? WAIT_STOPPED : WAIT_ENDED;
        }
        if (got < 0 && errno != EINTR) {
            return WAIT_ENDED;
        }
        if (deadline != 0 && InjectClock() > deadline) {
            return WAIT_LATE;
        }
        if (rounds > 20) {
            InjectPause(50000);
        }
    }
}

/*
 * A wait that the stop has interrupted, and that Linux would end with EINTR although no signal arrived. It is restarted
 * instead, unless a handler of a signal runs.
 */
static void restartInterrupted(struct user_regs_struct *regs)
{
    static const int calls[] = {SYS_epoll_wait, SYS_epoll_pwait, SYS_semop, SYS_semtimedop,
            SYS_msgrcv, SYS_msgsnd, SYS_io_getevents, SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg,
            SYS_sendto, SYS_sendmsg, SYS_sendmmsg, SYS_accept, SYS_accept4, SYS_rt_sigtimedwait,
            SYS_io_uring_enter, SYS_epoll_pwait2, SYS_io_pgetevents};
    if ((int64_t)regs->orig_rax >= 0 && (int64_t)regs->rax == -EINTR) {
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
            if ((int64_t)regs->orig_rax == calls[i]) {
                regs->rax = (uint64_t)-RESTART_NO_HAND;
            }
        }
    }
}

/* Wait for the stop that was requested by PTRACE_INTERRUPT. Signals on the way are delivered. */
static Wait waitForStop(pid_t tid, int64_t deadline)
{
    int status;
    for (;;) {
        Wait wait = waitFor(tid, deadline, &status);
        if (wait != WAIT_STOPPED || status >> 16 == PTRACE_EVENT_STOP) {
            return wait;
        }
        bool isSignal = status >> 16 == 0 && WSTOPSIG(status) != (SIGTRAP | 0x80);
        if (ptrace(PTRACE_CONT, tid, NULL, (void *)(intptr_t)(isSignal ? WSTOPSIG(status) : 0)) !=
                0) {
            return WAIT_ENDED;
        }
    }
}

static uint64_t findGate(const Target *target)
{
    unsigned char code[8192];
    for (size_t i = 0; i < target->count; i++) {
        const TargetMap *map = &target->maps[i];
        size_t size =
                map->end - map->start < sizeof code ? (size_t)(map->end - map->start) : sizeof code;
        if (strcmp(map->path, "[vdso]") == 0 && TargetRead(target, map->start, code, size)) {
            for (size_t at = 0; at + 1 < size; at++) {
                if (code[at] == 0x0f && code[at + 1] == 0x05) {
                    return map->start + at;
                }
            }
        }
    }
    return 0;
}

static bool readState(Stopped *stopped)
{
    struct iovec state = {stopped->xstate, sizeof stopped->xstate};
    if (ptrace(PTRACE_GETREGS, stopped->tid, NULL, &stopped->regs) != 0 ||
            ptrace(PTRACE_GETREGSET, stopped->tid, (void *)NT_X86_XSTATE, &state) != 0 ||
            ptrace(PTRACE_GETSIGMASK, stopped->tid, (void *)sizeof stopped->mask, &stopped->mask) !=
                    0) {
        return false;
    }
    stopped->xstateSize = state.iov_len;
    restartInterrupted(&stopped->regs);
    return true;
}

/* A thread that waits for a disk, or for a child of vfork, cannot be stopped. */
static bool isStoppable(const Target *target, pid_t tid)
{
    char path[64], text[512], state = 'D';
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)target->pid, (int)tid);
    FILE *f = fopen(path, "re");
    if (f != NULL) {
        size_t got = fread(text, 1, sizeof text - 1, f);
        text[got] = '\0';
        const char *end = strrchr(text, ')');
        state = end != NULL && end[1] == ' ' ? end[2] : 'D';
        fclose(f);
    }
    return state != 'D';
}

EtwStatus InjectTryStop(const Target *target, pid_t tid, int64_t deadline, Stopped **stoppedPtr,
        bool *latePtr, EtwError *err)
{
    *stoppedPtr = NULL;
    *latePtr = false;
    if (!isStoppable(target, tid)) {
        return ETW_OK;
    }
    if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)PTRACE_O_TRACESYSGOOD) != 0) {
        return errno == ESRCH ? ETW_OK : TargetForbidden(target, err);
    }
    Wait wait = ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0 ? waitForStop(tid, deadline)
                                                               : WAIT_ENDED;
    if (wait != WAIT_STOPPED) {
        *latePtr = wait == WAIT_LATE;
        return ETW_OK;
    }
    Stopped *stopped = EtwAlloc(sizeof *stopped);
    *stopped = (Stopped){.target = target, .tid = tid, .gate = findGate(target)};
    if (!readState(stopped) || stopped->regs.cs != CODE_64 || stopped->gate == 0) {
        ptrace(PTRACE_DETACH, tid, NULL, NULL);
        EtwFree(stopped);
        return ETW_OK;
    }
    *stoppedPtr = stopped;
    return ETW_OK;
}

/* A thread that cannot be stopped now cannot be detached from either. */
void InjectForget(pid_t tid)
{
    if (waitForStop(tid, InjectClock() + LONG_NS) == WAIT_STOPPED) {
        ptrace(PTRACE_DETACH, tid, NULL, NULL);
    }
}

EtwStatus InjectStop(
        const Target *target, pid_t tid, int64_t deadline, Stopped **stoppedPtr, EtwError *err)
{
    bool late;
    EtwStatus status = InjectTryStop(target, tid, deadline, stoppedPtr, &late, err);
    if (late) {
        InjectForget(tid);
    }
    return status;
}

uint64_t InjectPlace(const Stopped *stopped, int64_t *systemCall, uint64_t *stack)
{
    *systemCall = (int64_t)stopped->regs.orig_rax;
    *stack = stopped->regs.rsp;
    return stopped->regs.rip;
}

uint64_t InjectArgument(const Stopped *stopped)
{
    return stopped->regs.rsi;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static const int synchronous[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};

/* The code that is called has caused the signal. SIGABRT is blocked, unless abort() has just changed that. */
static bool isCrash(int number)
{
    for (size_t i = 0; i < sizeof synchronous / sizeof *synchronous; i++) {
        if (number == synchronous[i]) {
            return true;
        }
    }
    return number == SIGABRT;
}

/* Block the signals, except those that the code itself could cause. */
static bool blockSignals(Stopped *stopped)
{
    uint64_t all = ~(uint64_t)0;
    for (size_t i = 0; i < sizeof synchronous / sizeof *synchronous; i++) {
        all &= ~((uint64_t)1 << (synchronous[i] - 1));
    }
    stopped->changed = true;
    return ptrace(PTRACE_SETSIGMASK, stopped->tid, (void *)sizeof all, &all) == 0;
}

/* Continue until the thread enters or leaves a system call. False: it has ended, or crashed. */
static bool toSystemCall(Stopped *stopped, struct user_regs_struct *regs)
{
    int status;
    for (;;) {
        Wait wait = ptrace(PTRACE_SYSCALL, stopped->tid, NULL, NULL) == 0
                            ? waitFor(stopped->tid, InjectClock() + LONG_NS, &status)
                            : WAIT_ENDED;
        if (wait == WAIT_LATE) { /* the call is abandoned */
            ptrace(PTRACE_INTERRUPT, stopped->tid, NULL, NULL);
            wait = waitForStop(stopped->tid, 0);
            stopped->ended = wait != WAIT_STOPPED;
            return false;
        }
        if (wait != WAIT_STOPPED) {
            stopped->ended = true;
            return false;
        }
        if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
            return ptrace(PTRACE_GETREGS, stopped->tid, NULL, regs) == 0;
        }
        if (status >> 16 == 0) {
            if (isCrash(WSTOPSIG(status))) {
                return false; /* the signal is dropped with the call that caused it */
            }
            stopped->held |= (uint64_t)1 << (WSTOPSIG(status) - 1);
        }
    }
}

int64_t InjectSystemCall(Stopped *stopped, const uint64_t args[7])
{
    struct user_regs_struct regs = stopped->regs;
    if (!stopped->changed && !blockSignals(stopped)) {
        return -ESRCH;
    }
    regs.rip = stopped->gate;
    regs.rax = args[0], regs.rdi = args[1], regs.rsi = args[2], regs.rdx = args[3];
    regs.r10 = args[4], regs.r8 = args[5], regs.r9 = args[6];
    regs.orig_rax = ~(uint64_t)0;
    regs.rsp -= RED_ZONE;
    if (ptrace(PTRACE_SETREGS, stopped->tid, NULL, &regs) != 0 || !toSystemCall(stopped, &regs) ||
            !toSystemCall(stopped, &regs)) {
        return -ESRCH;
    }
    return (int64_t)regs.rax;
}

bool InjectCall(Stopped *stopped, uint64_t function, uint64_t first, uint64_t second,
        uint64_t stackTop, uint64_t *result)
{
    struct user_regs_struct regs = stopped->regs;
    /* As after a call: the stack's alignment is 16 before the return address. */
    uint64_t stack = (stackTop & ~(uint64_t)15) - 8;
    if ((!stopped->changed && !blockSignals(stopped)) ||
            !TargetWrite(stopped->target, stack, &stopped->gate, sizeof stopped->gate)) {
        return false;
    }
    regs.rip = function;
    regs.rdi = first;
    regs.rsi = second;
    regs.rax = 0;
    regs.rsp = stack;
    regs.rbp = 0;
    regs.orig_rax = ~(uint64_t)0;
    regs.eflags &= ~(uint64_t)0x400; /* direction: up */
    if (ptrace(PTRACE_SETREGS, stopped->tid, NULL, &regs) != 0) {
        return false;
    }
    for (;;) {
        if (!toSystemCall(stopped, &regs)) { /* enters one */
            return false;
        }
        bool returned = regs.rip == stopped->gate + 2 && regs.rsp == stack + 8;
        if (returned) {
            *result = regs.orig_rax; /* what the function returned is not a system call */
            regs.orig_rax = ~(uint64_t)0;
            ptrace(PTRACE_SETREGS, stopped->tid, NULL, &regs);
        }
        if (!toSystemCall(stopped, &regs)) { /* leaves it */
            return false;
        }
        if (returned) {
            return true;
        }
    }
}

/* ---- Release --------------------------------------------------------------------------------- */

/* Only from this kind of stop does the kernel continue at the check for system calls to restart. */
static bool stopAgain(const Stopped *stopped)
{
    return ptrace(PTRACE_INTERRUPT, stopped->tid, NULL, NULL) == 0 &&
           ptrace(PTRACE_CONT, stopped->tid, NULL, NULL) == 0 &&
           waitForStop(stopped->tid, 0) == WAIT_STOPPED;
}

static void sendHeld(const Stopped *stopped)
{
    for (int number = 1; number <= 64; number++) {
        if (stopped->held & (uint64_t)1 << (number - 1)) {
            syscall(SYS_tgkill, stopped->target->pid, stopped->tid, number);
        }
    }
}

bool InjectRelease(Stopped *stopped)
{
    struct iovec state = {stopped->xstate, stopped->xstateSize};
    bool there = !stopped->ended;
    if (there && stopped->changed) {
        there = stopAgain(stopped) &&
                ptrace(PTRACE_SETREGSET, stopped->tid, (void *)NT_X86_XSTATE, &state) == 0 &&
                ptrace(PTRACE_SETSIGMASK, stopped->tid, (void *)sizeof stopped->mask,
                        &stopped->mask) == 0;
    }
    there = there && ptrace(PTRACE_SETREGS, stopped->tid, NULL, &stopped->regs) == 0;
    there = there && ptrace(PTRACE_DETACH, stopped->tid, NULL, NULL) == 0;
    sendHeld(stopped);
    EtwFree(stopped);
    return there;
}

#endif
