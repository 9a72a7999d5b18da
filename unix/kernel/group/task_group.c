/*
 * unix/kernel/group/task_group.c --
 *
 *	The tracepoints of the groups process, thread, contextswitch, dispatcher and systemcall, and the conversion of
 *	their fields. Events: semantics/declared_events.c. The table of all groups: group_table.c.
 */
#include "unix/kernel/kernel_int.h"
#include <signal.h>

/* ---- Start, exec and exit: process and thread ------------------------------------------------ */

enum { NEW_PID, NEW_COMM, NEW_FLAGS };
static const uint64_t cloneThread = 0x00010000; /* CLONE_THREAD: a thread of the same process */

static void onNewTask(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    uint32_t creator = KernelTidOf(e);
    uint32_t pid = KernelTaskProcess(&k->tasks, creator, e->ticks, true);
    uint32_t tid = (uint32_t)KernelUint(p->f[NEW_PID], e->data);
    bool thread = (KernelUint(p->f[NEW_FLAGS], e->data) & cloneThread) != 0;
    const uint8_t *command = e->data + p->f[NEW_COMM].offset;
    KernelTaskAdd(&k->tasks, tid, thread ? pid : tid)->parent = pid;
    if (!thread) {
        KernelImagesFork(k, e, pid, tid);
    }
    if (k->events[EV_PROCESS_START] != NULL && !thread) {
        KernelPut put = KernelPutOf(k);
        Put32(&put, pid);
        Put32(&put, tid);
        PutText(&put, command, p->f[NEW_COMM].size);
        KernelEmitPut(k, e, k->events[EV_PROCESS_START], pid, creator, &put);
    }
    if (k->events[EV_THREAD_START] != NULL) {
        KernelPut put = KernelPutOf(k);
        Put32(&put, tid);
        Put32(&put, thread ? pid : tid);
        PutText(&put, command, p->f[NEW_COMM].size);
        KernelEmitPut(k, e, k->events[EV_THREAD_START], pid, creator, &put);
    }
}

enum { EXEC_FILE, EXEC_PID, EXEC_OLD };

static void onExec(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    uint32_t pid = (uint32_t)KernelUint(p->f[EXEC_PID], e->data);
    uint32_t old = (uint32_t)KernelUint(p->f[EXEC_OLD], e->data);
    EtwBytes file = KernelDynamic(p->f[EXEC_FILE], false, e->data, e->size);
    if (old != pid) {
        KernelTaskExit(&k->tasks, old, e->ticks); /* its exec takes over the process's id */
    }
    /* All other threads have ended. Their exit code is not the process's. */
    KernelTaskAdd(&k->tasks, pid, pid);
    if (k->events[EV_PROCESS_EXEC] != NULL) {
        KernelPut put = KernelPutOf(k);
        PutText(&put, file.at, EtwBytesLeft(&file));
        KernelEmitPut(k, e, k->events[EV_PROCESS_EXEC], pid, pid, &put);
    }
}

enum { EXIT_PID, EXIT_COMM, EXIT_DEAD };

static void onExit(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    uint32_t tid = (uint32_t)KernelUint(p->f[EXIT_PID], e->data);
    uint32_t pid = KernelTaskProcess(&k->tasks, tid, e->ticks, true);
    const uint8_t *command = e->data + p->f[EXIT_COMM].offset;
    const KernelTask *first = KernelTaskFind(&k->tasks, pid);
    bool last = p->f[EXIT_DEAD].size != 0 ? KernelUint(p->f[EXIT_DEAD], e->data) != 0
                                          : first == NULL || first->threads <= 1;
    if (k->events[EV_THREAD_STOP] != NULL) {
        KernelPut put = KernelPutOf(k);
        Put32(&put, tid);
        Put32(&put, pid);
        PutText(&put, command, p->f[EXIT_COMM].size);
        KernelEmitPut(k, e, k->events[EV_THREAD_STOP], pid, tid, &put);
    }
    if (k->events[EV_PROCESS_STOP] != NULL && last) {
        KernelPut put = KernelPutOf(k);
        Put32(&put, (uint32_t)(first != NULL ? first->exitCode : 0));
        PutText(&put, command, p->f[EXIT_COMM].size);
        KernelEmitPut(k, e, k->events[EV_PROCESS_STOP], pid, tid, &put);
    }
    if (last) {
        KernelImagesExit(k, e, pid);
    }
    KernelTaskExit(&k->tasks, tid, e->ticks);
}

/* ---- Exit codes ------------------------------------------------------------------------------ */

/* The first exit code counts: the other threads of an exiting process are killed by SIGKILL. */
static void setExit(EtwKernel *k, uint32_t pid, int32_t code)
{
    KernelTask *first = KernelTaskFind(&k->tasks, pid);
    if (first != NULL && !first->exitKnown) {
        first->exitKnown = true;
        first->exitCode = code;
    }
}

static void onExitGroup(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    setExit(k, KernelTaskProcess(&k->tasks, KernelTidOf(e), e->ticks, true),
            (int32_t)(KernelUint(p->f[0], e->data) & 0xff));
}

/* exit(2) ends a thread. Its value is the process's exit code if the main thread calls it. */
static void onExitThread(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    KernelTask *task = KernelTaskFind(&k->tasks, KernelTidOf(e));
    if (task != NULL && task->pid == task->tid && !task->exitKnown) {
        task->exitCode = (int32_t)(KernelUint(p->f[0], e->data) & 0xff);
    }
}

static bool endsByDefault(int sig)
{
    switch (sig) {
    case SIGCHLD:
    case SIGCONT:
    case SIGURG:
    case SIGWINCH:
    case SIGSTOP:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
        return false;
    }
    return true;
}

enum { SENT_NUMBER, SENT_TO };

/* Recorded for all senders: the sender may be a process that is not traced. */
static void onSignalSent(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    int sig = (int)KernelInt(p->f[SENT_NUMBER], e->data);
    uint32_t tid = (uint32_t)KernelUint(p->f[SENT_TO], e->data);
    const KernelTask *target = KernelTaskFind(&k->tasks, tid);
    KernelTask *first = target != NULL ? KernelTaskFind(&k->tasks, target->pid) : NULL;
    if (first != NULL && endsByDefault(sig)) {
        first->signal = sig;
    }
}

enum { SIGNAL_NUMBER, SIGNAL_HANDLER };

/*
 * A signal that ends the process without a core dump is delivered as SIGKILL to each of its threads. The
 * kernel ignores what is sent afterwards, so that the last one sent is the one that ended it.
 */
static void onSignal(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    int sig = (int)KernelInt(p->f[SIGNAL_NUMBER], e->data);
    uint32_t pid = KernelTaskProcess(&k->tasks, KernelTidOf(e), e->ticks, true);
    const KernelTask *first = KernelTaskFind(&k->tasks, pid);
    if (!endsByDefault(sig) || KernelUint(p->f[SIGNAL_HANDLER], e->data) != 0) { /* 0: SIG_DFL */
        return;
    }
    setExit(k, pid, sig == SIGKILL && first != NULL && first->signal != 0 ? -first->signal : -sig);
}

/* ---- Context switches, syscalls -------------------------------------------------------------- */

enum {
    SWITCH_OLD_COMM,
    SWITCH_OLD,
    SWITCH_OLD_PRIO,
    SWITCH_STATE,
    SWITCH_NEW_COMM,
    SWITCH_NEW,
    SWITCH_NEW_PRIO
};

static void onSwitch(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    uint32_t old = (uint32_t)KernelUint(p->f[SWITCH_OLD], e->data);
    uint32_t new = (uint32_t)KernelUint(p->f[SWITCH_NEW], e->data);
    uint32_t tid = old, pid = KernelTaskProcess(&k->tasks, old, e->ticks, false);
    bool filtered = p->instance == IN_MAIN || k->tasks.all; /* one of the two is traced */
    TraceEvent mine = *e;
    KernelPut put = KernelPutOf(k);
    if (k->events[EV_SWITCH] == NULL || (KernelIsIgnored(old) && new == 0)) {
        return;
    }
    if ((pid == 0 && !k->tasks.all) || KernelIsIgnored(old)) {
        tid = new; /* an untraced thread is switched out for a traced one: report the latter */
        pid = KernelTaskProcess(&k->tasks, new, e->ticks, filtered);
        mine.stackCount = 0; /* the stack is the other thread's */
        mine.copy = NULL;
        if (!filtered && (pid == 0 || KernelIsIgnored(new))) {
            return;
        }
    }
    Put32(&put, old);
    Put32(&put, new);
    Put16(&put, (uint16_t)(KernelUint(p->f[SWITCH_STATE], e->data) & 0x1ff));
    Put32(&put, (uint32_t)KernelUint(p->f[SWITCH_OLD_PRIO], e->data));
    Put32(&put, (uint32_t)KernelUint(p->f[SWITCH_NEW_PRIO], e->data));
    PutText(&put, e->data + p->f[SWITCH_OLD_COMM].offset, p->f[SWITCH_OLD_COMM].size);
    PutText(&put, e->data + p->f[SWITCH_NEW_COMM].offset, p->f[SWITCH_NEW_COMM].size);
    KernelEmitPut(k, &mine, k->events[EV_SWITCH], pid, tid, &put);
}

enum { WOKEN_COMM, WOKEN, WOKEN_PRIO, WOKEN_CPU };

/*
 * A thread wakes another one, or an interrupt does. Recorded where one of the two is traced: what an untraced process wakes
 * belongs to the thread that is woken.
 */
static void onWaking(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    uint32_t by = KernelTidOf(e), woken = (uint32_t)KernelUint(p->f[WOKEN], e->data);
    uint32_t tid = by, pid = KernelTaskProcess(&k->tasks, by, e->ticks, false);
    bool filtered = p->instance == IN_MAIN || k->tasks.all;
    uint8_t flags = e->data[KERNEL_COMMON_FLAGS];
    TraceEvent mine = *e;
    KernelPut put = KernelPutOf(k);
    if (KernelIsIgnored(woken)) {
        return;
    }
    if ((pid == 0 && !k->tasks.all) || KernelIsIgnored(by)) {
        tid = woken;
        pid = KernelTaskProcess(&k->tasks, woken, e->ticks, filtered);
        mine.stackCount = 0; /* the stack is the other thread's */
        mine.copy = NULL;
        if (!filtered && pid == 0) {
            return;
        }
    }
    Put32(&put, woken);
    Put32(&put, by);
    Put8(&put, (flags & KERNEL_FLAG_HARDIRQ) != 0 ? 2 : (flags & KERNEL_FLAG_SOFTIRQ) != 0);
    Put32(&put, (uint32_t)KernelUint(p->f[WOKEN_CPU], e->data));
    Put32(&put, (uint32_t)KernelUint(p->f[WOKEN_PRIO], e->data));
    PutText(&put, e->data + p->f[WOKEN_COMM].offset, p->f[WOKEN_COMM].size);
    KernelEmitPut(k, &mine, k->events[EV_READY], pid, tid, &put);
}

enum { CALL_ID, CALL_ARGS, CALL_RESULT = CALL_ARGS };

/*
 * True once, when a thread returns from a call that it had entered before it was traced: that is no
 * call of the trace, and for `etw record` it is the wait in which the program was held.
 */
static bool isReturnFromBefore(EtwKernel *k, uint32_t tid, bool exit)
{
    KernelTask *task = KernelTaskFind(&k->tasks, tid);
    bool before = task != NULL && task->before;
    if (before) {
        task->before = false;
    }
    return before && exit;
}

static void onSyscallEnter(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    uint32_t tid = KernelTidOf(e);
    isReturnFromBefore(k, tid, false);
    if (k->calls != NULL) {
        KernelCallEnter(k, e, (uint32_t)KernelUint(p->f[CALL_ID], e->data),
                e->data + p->f[CALL_ARGS].offset);
    }
    if (k->events[EV_SYSCALL_ENTER] != NULL && p->f[CALL_ARGS].size == 48) {
        KernelPut put = KernelPutOf(k);
        Put32(&put, (uint32_t)KernelUint(p->f[CALL_ID], e->data));
        memcpy(put.at, e->data + p->f[CALL_ARGS].offset, 48);
        put.at += 48;
        KernelEmitPut(k, e, k->events[EV_SYSCALL_ENTER],
                KernelTaskProcess(&k->tasks, tid, e->ticks, true), tid, &put);
    }
}

static void onSyscallExit(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    uint32_t tid = KernelTidOf(e);
    bool before = isReturnFromBefore(k, tid, true);
    if (k->calls != NULL) {
        KernelCallExit(k, e, KernelInt(p->f[CALL_RESULT], e->data));
    }
    if (k->events[EV_SYSCALL_EXIT] != NULL && !before) {
        KernelPut put = KernelPutOf(k);
        Put32(&put, (uint32_t)KernelUint(p->f[CALL_ID], e->data));
        Put64(&put, (uint64_t)KernelInt(p->f[CALL_RESULT], e->data));
        KernelEmitPut(k, e, k->events[EV_SYSCALL_EXIT],
                KernelTaskProcess(&k->tasks, tid, e->ticks, true), tid, &put);
    }
}

/* ---- The tables ------------------------------------------------------------------------------ */

/*
 * The system calls that socket_calls.c follows, by x86_64 number, because the raw_syscalls
 * tracepoints contain only numbers.
 */
#define SOCKET_CALLS                                                                               \
    "(id >= 40 && id <= 50 && id != 48) || id == 0 || id == 1 || id == 3 || id == 19 || "          \
    "id == 20 || id == 32 || id == 33 || id == 288 || id == 292 || id == 299 || id == 307"

static const KernelTracepointDef newTask = {
        "task", "task_newtask", IN_MAIN, NULL, onNewTask, {"pid", "comm", "clone_flags"}};
static const KernelTracepointDef exec = {
        "sched", "sched_process_exec", IN_MAIN, NULL, onExec, {"filename", "pid", "old_pid"}};
static const KernelTracepointDef exitPoint = {
        "sched", "sched_process_exit", IN_MAIN, NULL, onExit, {"pid", "comm", "?group_dead"}};
static const KernelTracepointDef exitGroup = {
        "syscalls", "sys_enter_exit_group", IN_MAIN, NULL, onExitGroup, {"error_code"}};
static const KernelTracepointDef exitThread = {
        "syscalls", "sys_enter_exit", IN_MAIN, NULL, onExitThread, {"error_code"}};
static const KernelTracepointDef sentPoint = {
        "signal", "signal_generate", IN_ANY, "result == 0", onSignalSent, {"sig", "pid"}};
static const KernelTracepointDef signalPoint = {
        "signal", "signal_deliver", IN_MAIN, "sa_handler == 0", onSignal, {"sig", "sa_handler"}};
static const KernelTracepointDef switchPoint = {"sched", "sched_switch", IN_PAIR, NULL, onSwitch,
        {"prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid", "next_prio"}};
/* sched_waking is reported by what wakes, sched_wakeup perhaps by the CPU of the woken thread. */
static const KernelTracepointDef wakingPoint = {
        "sched", "sched_waking", IN_PAIR, NULL, onWaking, {"comm", "pid", "prio", "target_cpu"}};
const KernelTracepointDef kernelEnterPoint = {
        "raw_syscalls", "sys_enter", IN_MAIN, NULL, onSyscallEnter, {"id", "args"}};
const KernelTracepointDef kernelExitPoint = {
        "raw_syscalls", "sys_exit", IN_MAIN, NULL, onSyscallExit, {"id", "ret"}};

const KernelTracepointDef kernelSocketEnterPoint = {
        "raw_syscalls", "sys_enter", IN_MAIN, SOCKET_CALLS, onSyscallEnter, {"id", "args"}};
const KernelTracepointDef kernelSocketExitPoint = {
        "raw_syscalls", "sys_exit", IN_MAIN, SOCKET_CALLS, onSyscallExit, {"id", "ret"}};

const KernelTracepointDef *const kernelTaskPoints[] = {&newTask, &exec, &exitPoint, NULL};
const KernelTracepointDef *const kernelProcessExtras[] = {
        &exitGroup, &exitThread, &sentPoint, &signalPoint, NULL};
const KernelTracepointDef *const kernelSwitchPoints[] = {&switchPoint, NULL};
const KernelTracepointDef *const kernelWakePoints[] = {&wakingPoint, NULL};
const KernelTracepointDef *const kernelCallPoints[] = {&kernelEnterPoint, &kernelExitPoint, NULL};
