/*
 * flow/waits/waits.h --
 *
 *	The time of a thread off the CPU: what its events mean, and where a wait ends. A thread that waits leaves the CPU,
 *	is woken by another thread or by an interrupt, and gets a CPU again. Until the wake-up it waits; from then
 *	on it is ready. Without wake-ups in the trace, a wait ends when the thread is back. Calls, the report, the timeline and
 *	the critical path use this.
 */
#ifndef ETW_WAITS_H
#define ETW_WAITS_H

#include "semantics/semantics.h"

/* What ran at a wake-up: the thread that caused it, or an interrupt on top of a thread that has nothing to do with it. */
typedef enum EtwWakeFrom {
    ETW_WAKE_THREAD,
    ETW_WAKE_SOFTIRQ, /* network, timers; also the sender's own work for a socket of this machine */
    ETW_WAKE_HARDIRQ  /* timers, devices */
} EtwWakeFrom;

/* A wake-up, from an event with ETW_MEANS_READY. */
typedef struct EtwWake {
    uint32_t tid; /* becomes ready */
    uint32_t by;  /* the thread that ran; 0: none */
    EtwWakeFrom from;
} EtwWake;

EtwWake EtwWakeRead(const EtwRoleValues *v, const EtwEvent *event);

/* Of an event with ETW_MEANS_SWITCH: the thread that leaves the CPU is still runnable; it has ended. */
bool EtwSwitchIsReady(const EtwRoleValues *v);
bool EtwSwitchIsGone(const EtwRoleValues *v);
/* True for a switch of Windows, which has states of its own and reasons. */
bool EtwSwitchIsWindows(const EtwRoleValues *v);

/* The state of one thread. Zeroed: on a CPU, or unknown. */
typedef struct EtwOffCpu {
    bool out;       /* off the CPU since `since` */
    bool preempted; /* it could run when it left the CPU */
    bool woken;     /* by `wake`, at wokenAt; the thread may still have been on its way out */
    int64_t since, wokenAt;
    EtwWake wake;
} EtwOffCpu;

/* A period off the CPU. The thread waits from `from` to `ready`, and is ready from there to `to`. */
typedef struct EtwOffPeriod {
    int64_t from, ready, to;
    bool preempted;
    bool woken; /* `wake` is known */
    EtwWake wake;
} EtwOffPeriod;

void EtwOffCpuLeave(EtwOffCpu *t, int64_t time, bool ready);
/* False: it has no effect, because the thread can run already. */
bool EtwOffCpuWake(EtwOffCpu *t, int64_t time, const EtwWake *wake);
/* False: it was not off the CPU. Otherwise *period is complete. */
bool EtwOffCpuReturn(EtwOffCpu *t, int64_t time, EtwOffPeriod *period);

#endif
