/*
 * base/child.h --
 *
 *	The program that `etw record` runs. It is started but stopped before its first instruction, so that it can be traced
 *	from there on. It inherits this process's standard channels and environment. Also catches Ctrl-C, which must not end
 *	the recorder. Implemented by unix/os/linux_child.c and win/os/win_child.c. No pipes, no shells.
 */
#ifndef ETW_BASE_CHILD_H
#define ETW_BASE_CHILD_H

#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct OsChild OsChild;

/* How a program ended: its exit code, or the signal that killed it. */
typedef struct OsChildEnd {
    bool killed;
    int code;
} OsChildEnd;

/* argv: NULL-terminated, in the system's encoding (UTF-8 on Windows); argv[0] is searched for in PATH. Freed by OsChildFree. */
EtwStatus OsChildStart(char *const argv[], OsChild **childPtr, EtwError *errPtr);
uint32_t OsChildPid(const OsChild *child);
/* Let the program run. Fails when it cannot be executed. Called once. */
EtwStatus OsChildResume(OsChild *child, EtwError *errPtr);
/* Wait until the program ends, for at most `ms` milliseconds or until an interrupt. True: it ended, and *endPtr is set. */
bool OsChildWait(OsChild *child, int ms, OsChildEnd *endPtr);
/* Interrupt the program, as Ctrl-C does; on Linux with the signal that this process received last by kill(2). */
void OsChildInterrupt(OsChild *child);
/* A program that was never resumed is killed. A running one continues. */
void OsChildFree(OsChild *child);

/* From now on, Ctrl-C and termination requests are only counted. */
void OsInterruptsCatch(void);
/*
 * Their number. *directPtr (may be NULL): the number of those sent to this process only, not to its
 * whole terminal.
 */
int OsInterrupts(int *directPtr);

#endif
