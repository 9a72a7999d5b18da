/*
 * flow/waits/waits.c --
 *
 *	Time off the CPU: flow/waits/waits.h.
 */
#include "flow/waits/waits.h"

bool EtwSwitchIsWindows(const EtwRoleValues *v)
{
    return v->semantics->field[ETW_ROLE_WAIT_REASON] >= 0;
}

bool EtwSwitchIsReady(const EtwRoleValues *v)
{
    enum { TASK_PREEMPTED = 256, WINDOWS_WAITING = 5 };
    uint64_t state = EtwRoleNumber(v, ETW_ROLE_OLD_STATE);
    return EtwSwitchIsWindows(v) ? state != WINDOWS_WAITING : state % TASK_PREEMPTED == 0;
}

/* Linux' X and Z, as the tracepoint reports them (0x80 is I, an idle kernel thread); Windows' Terminated. */
bool EtwSwitchIsGone(const EtwRoleValues *v)
{
    uint64_t state = EtwRoleNumber(v, ETW_ROLE_OLD_STATE);
    return EtwSwitchIsWindows(v) ? state == 4 : (state & (0x10 | 0x20)) != 0;
}

EtwWake EtwWakeRead(const EtwRoleValues *v, const EtwEvent *event)
{
    bool windows = v->semantics->field[ETW_ROLE_OLD_TID] < 0;
    uint64_t interrupt = EtwRoleNumber(v, ETW_ROLE_INTERRUPT);
    EtwWake wake = {.tid = (uint32_t)EtwRoleNumber(v, ETW_ROLE_TID),
            .by = windows ? event->tid : (uint32_t)EtwRoleNumber(v, ETW_ROLE_OLD_TID)};
    if (windows) { /* bit 0 of Flag: by a deferred procedure call, whose interrupt is not known */
        wake.from = (interrupt & 1) != 0 ? ETW_WAKE_SOFTIRQ : ETW_WAKE_THREAD;
        wake.by = wake.by == ETW_NO_ID ? 0 : wake.by;
    } else {
        wake.from = interrupt == ETW_WAKE_THREAD    ? ETW_WAKE_THREAD
                    : interrupt == ETW_WAKE_SOFTIRQ ? ETW_WAKE_SOFTIRQ
                                                    : ETW_WAKE_HARDIRQ;
    }
    return wake;
}

void EtwOffCpuLeave(EtwOffCpu *t, int64_t time, bool ready)
{
    t->out = true;
    t->preempted = ready;
    t->since = time;
    /* A thread is often woken on its way out, before the switch. That counts, unless another wake-up follows. */
    t->wokenAt = time;
}

bool EtwOffCpuWake(EtwOffCpu *t, int64_t time, const EtwWake *wake)
{
    bool first = t->out && !t->preempted && (!t->woken || t->wokenAt <= t->since);
    if (t->out && !first) {
        return false;
    }
    t->woken = true;
    t->wokenAt = time;
    t->wake = *wake;
    return true;
}

bool EtwOffCpuReturn(EtwOffCpu *t, int64_t time, EtwOffPeriod *period)
{
    bool out = t->out;
    if (out) {
        int64_t to = time > t->since ? time : t->since;
        int64_t ready = t->preempted ? t->since : t->woken ? t->wokenAt : to;
        ready = ready < t->since ? t->since : ready > to ? to : ready;
        *period = (EtwOffPeriod){.from = t->since,
                .ready = ready,
                .to = to,
                .preempted = t->preempted,
                .woken = t->woken && !t->preempted,
                .wake = t->wake};
    }
    t->out = t->woken = false;
    return out;
}
