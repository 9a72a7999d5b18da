/*
 * engine/session/session_control.h --
 *
 *	Control of a session by a process that does not own it. The process stores a request in the
 *	session's mapping; the owner's logger serves it between two drains. session.c executes requests.
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
    const EtwKernelEnable *kernel;   /* CONTROL_KERNEL_ON; pids NULL: the requesting process */
} ControlRequest;

/* Send a request and wait for the answer. infoPtr may be NULL. ETW_E_STATE: the owner has died or does
 * not answer. */
EtwStatus ControlSend(
        const char *name, const ControlRequest *request, EtwSessionInfo *infoPtr, EtwError *errPtr);
/* On the logger's thread: serve a pending request. */
void ControlServe(EtwSession *session);
/* Before the process ends: wait until stops that other processes requested are done and answered. */
void ControlFinish(void);

#endif
