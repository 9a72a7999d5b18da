/*
 * flow/calls/off_cpu.c --
 *
 *	Time off the CPU by stack: the stack with which a thread left the CPU, and the time until it ran again,
 *	first as a wait, from the wake-up on as a wait for a CPU. Periods that last at the end of the trace are not
 *	counted. The switches of Windows have the stack of the other thread, so they are not used.
 */
#include "flow/calls/call_tree_int.h"

static void addSample(Calls *c, CallThread *t, const char *leaf, int64_t time, int64_t end)
{
    size_t size = t->offStack.size;
    if (end <= time) {
        return;
    }
    EtwTextStr(&t->offStack, leaf);
    CallSample sample = {.time = time,
            .ns = (uint64_t)end - (uint64_t)time,
            .stack = t->offStack.data,
            .stackSize = t->offStack.size,
            .counters = ""};
    EtwCallSample(c, t, &sample);
    t->offStack.size = size;
}

static void comeBack(Calls *c, CallThread *t, int64_t time)
{
    EtwOffPeriod off;
    if (!EtwOffCpuReturn(&t->off, time, &off) || t->offStack.size == 0) {
        return;
    }
    if (!off.preempted) {
        addSample(
                c, t, t->offDisk ? ";[waits, not interruptible]" : ";[waits]", off.from, off.ready);
    }
    if (off.preempted || off.woken) {
        addSample(c, t, ";[waits for a CPU]", off.ready, off.to);
    }
}

static void leave(Calls *c, const EtwRoleValues *v, const EtwEvent *event)
{
    enum { UNINTERRUPTIBLE = 2 };
    bool traced =
            event->tid == EtwRoleNumber(v, ETW_ROLE_OLD_TID); /* else the thread that comes back */
    if (!traced || event->tid == 0) {
        return;
    }
    CallThread *t = EtwCallThreadOf(c, event, true);
    if (t->off.out && !t->off.preempted) {
        /* It ran since, and the switch is not in the trace, as with some kernels (call_events.c): its wait ended with the
         * wake-up, or now. */
        comeBack(c, t, t->off.woken ? t->off.wokenAt : event->time);
    }
    if (EtwSwitchIsGone(v)) {
        return;
    }
    t->offStack.size = 0;
    t->offDisk = (EtwRoleNumber(v, ETW_ROLE_OLD_STATE) & UNINTERRUPTIBLE) != 0;
    EtwCpuStack(&t->offStack, c->base.config.track, event,
            c->procs != NULL ? EtwCallThreadById((Calls *)c->procs, event->tid) : NULL);
    if (t->offStack.size == 0) {
        EtwTextStr(&t->offStack, "[no stack]");
    }
    EtwOffCpuLeave(&t->off, event->time, EtwSwitchIsReady(v));
}

void EtwCallSwitchOff(Calls *c, const EtwRoleValues *v, const EtwEvent *event)
{
    CallThread *new = EtwCallThreadById(c, (uint32_t)EtwRoleNumber(v, ETW_ROLE_TID));
    if (EtwSwitchIsWindows(v)) {
        c->base.left.threadless++;
        return;
    }
    if (new != NULL) {
        comeBack(c, new, event->time);
    }
    leave(c, v, event);
}

void EtwCallWakeOff(Calls *c, const EtwRoleValues *v, const EtwEvent *event)
{
    EtwWake wake = EtwWakeRead(v, event);
    CallThread *t = EtwCallThreadById(c, wake.tid);
    if (t != NULL) {
        EtwOffCpuWake(&t->off, event->time, &wake);
    }
}
