/*
 * base/child.h --
 *
 *	A program run for `etw record`: started but held before its first instruction, so that it can be traced from there
 *	on, with this process's standard channels and environment; and Ctrl-C, which must not end the recorder. One
 *	implementation a platform: unix/os/linux_child.c, win/os/win_child.c. No pipes, no shells.
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

/* argv: NULL-terminated, in the system's encoding (UTF-8 on Windows); argv[0] is looked for in PATH. Freed by OsChildFree. */
EtwStatus OsChildStart(char *const argv[], OsChild **childPtr, EtwError *errPtr);
uint32_t OsChildPid(const OsChild *child);
/* Let it run. An error: it cannot be executed. To be called once. */
EtwStatus OsChildResume(OsChild *child, EtwError *errPtr);
/* Wait for its end, not longer than ms, and not longer than until an interrupt. True: *endPtr is set. */
bool OsChildWait(OsChild *child, int ms, OsChildEnd *endPtr);
/* Ask it to end, as Ctrl-C does. */
void OsChildInterrupt(OsChild *child);
/* One that never went is killed; one that runs goes on. */
void OsChildFree(OsChild *child);

/* From now on Ctrl-C and requests to end are counted, and nothing else. */
void OsInterruptsCatch(void);
/* How many there were; *directPtr (may be NULL): those sent to this process alone, not to all of its terminal. */
int OsInterrupts(int *directPtr);

#endif
