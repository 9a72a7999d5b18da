/*
 * engine/session/session_control.h --
 *
 *	Control of a session by a process that does not own it: a request in the session's mapping,
 *	which the owner's logger serves between two drains. What the requests mean is session.c's.
 */
#ifndef ETW_SESSION_CONTROL_H
#define ETW_SESSION_CONTROL_H

#include "engine/session/session.h"

typedef enum ControlVerb {
    CONTROL_FLUSH,
    CONTROL_UPDATE,
    CONTROL_SNAPSHOT,
    CONTROL_KERNEL_ON,
    CONTROL_KERNEL_OFF,
    CONTROL_STOP
} ControlVerb;

typedef struct ControlRequest {
    ControlVerb verb;
    const EtwSessionConfig *changes; /* CONTROL_UPDATE */
    const char *file;                /* CONTROL_SNAPSHOT */
    const EtwKernelEnable *kernel;   /* CONTROL_KERNEL_ON; its pids NULL: the asking process */
} ControlRequest;

/* Ask, and wait for the answer. infoPtr may be NULL. ETW_E_STATE: the owner has died, or does not
 * answer. */
EtwStatus ControlSend(
        const char *name, const ControlRequest *request, EtwSessionInfo *infoPtr, EtwError *errPtr);
/* On the logger's thread: what was asked meanwhile. */
void ControlServe(EtwSession *session);
/* Wait until stops that others asked for are done and answered: before the process ends. */
void ControlFinish(void);

#endif
