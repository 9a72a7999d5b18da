/*
 * engine/shared/process_scope.h --
 *
 *	The sessions in whose scope this process is: those that recorded a program which started it,
 *	directly or not. The environment variable ETW_SCOPE has their instances (RegSession.instance) as
 *	decimal numbers separated by commas, the newest first. A process reads it once, before it joins
 *	the registry; a child that was forked inherits what was read.
 */
#ifndef ETW_PROCESS_SCOPE_H
#define ETW_PROCESS_SCOPE_H

#include <stdbool.h>
#include <stdint.h>

enum { SCOPE_SESSIONS = 8 }; /* the newest ones; further numbers are ignored */
/* Unused entries are 0. Constant after ProcessScopeRead. */
extern uint64_t processScope[SCOPE_SESSIONS];

/* Read ETW_SCOPE. A value that is not such a list is ignored. Called under RegLock. */
void ProcessScopeRead(void);

/* Of a session's instance, which is not 0. */
static inline bool ProcessInScope(uint64_t instance)
{
    int i = 0;
    while (i < SCOPE_SESSIONS && processScope[i] != instance && processScope[i] != 0) {
        i++;
    }
    return i < SCOPE_SESSIONS && processScope[i] == instance;
}

#endif
