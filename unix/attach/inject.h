/*
 * unix/attach/inject.h --
 *
 *	Stops threads of another process by ptrace, and calls functions in one of them.
 */
#ifndef ETW_ATTACH_INJECT_H
#define ETW_ATTACH_INJECT_H

#include "unix/attach/target.h"

typedef struct Stopped Stopped;

/*
 * Stop one thread, until `deadline` (InjectClock) at the latest. *stoppedPtr NULL with ETW_OK: the thread has ended, or it
 * could not be stopped in time. Signals for it wait until it is released.
 */
EtwStatus InjectStop(
        const Target *target, pid_t tid, int64_t deadline, Stopped **stoppedPtr, EtwError *err);
/*
 * The same. If *latePtr is true then, the thread will stop later: the caller releases the other threads, then calls
 * InjectForget, which waits for that and lets it continue.
 */
EtwStatus InjectTryStop(const Target *target, pid_t tid, int64_t deadline, Stopped **stoppedPtr,
        bool *latePtr, EtwError *err);
void InjectForget(pid_t tid);
/*
 * Let the thread continue exactly as if it had not been stopped, and free `stopped`. False: it has ended.
 */
bool InjectRelease(Stopped *stopped);
/* Where the thread is: address of its next instruction; number of its system call, -1: none. */
uint64_t InjectPlace(const Stopped *stopped, int64_t *systemCall, uint64_t *stack);
uint64_t InjectArgument(const Stopped *stopped); /* the second argument of its system call */

/* A system call in the thread: its result, negative errno on failure. */
int64_t InjectSystemCall(Stopped *stopped, const uint64_t args[7]);
/* A call of a function with one argument, on a stack of its own that ends at `stackTop`. False: it failed. */
bool InjectCall(Stopped *stopped, uint64_t function, uint64_t first, uint64_t second,
        uint64_t stackTop, uint64_t *result);

int64_t InjectClock(void); /* ns */
void InjectPause(int64_t ns);

#endif
