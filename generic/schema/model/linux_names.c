/*
 * schema/model/linux_names.c --
 *
 *	Names of numbers in Linux events, and the fields of raw tracepoints (Linux-<subsystem>) that
 *	contain them. Only fields with the same meaning everywhere in that subsystem are listed.
 *	semantics/declared_events.c has the fields of our own events. The large tables are generated
 *	(linux_names_data.c).
 */
#include "schema/model/linux_names.h"
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static const EtwMapEntry tcpStates[] = {{1, "ESTABLISHED"}, {2, "SYN_SENT"}, {3, "SYN_RECV"},
        {4, "FIN_WAIT1"}, {5, "FIN_WAIT2"}, {6, "TIME_WAIT"}, {7, "CLOSE"}, {8, "CLOSE_WAIT"},
        {9, "LAST_ACK"}, {10, "LISTEN"}, {11, "CLOSING"}, {12, "NEW_SYN_RECV"}};
const EtwMap etwMapTcpState = {tcpStates, COUNT(tcpStates), false};

/* The state of a thread that leaves the CPU: words for the letters of ps. */
static const EtwMapEntry taskStates[] = {{0, "running"}, {1, "sleeping"}, {2, "uninterruptible"},
        {4, "stopped"}, {8, "traced"}, {16, "dead"}, {32, "zombie"}, {64, "parked"}, {128, "idle"},
        {256, "preempted"}};
const EtwMap etwMapTaskState = {taskStates, COUNT(taskStates), false};

/* What woke a thread. */
static const EtwMapEntry wakeSources[] = {{0, "thread"}, {1, "softirq"}, {2, "interrupt"}};
const EtwMap etwMapWakeFrom = {wakeSources, COUNT(wakeSources), false};

static const EtwMapEntry cloneFlags[] = {{0x80, "CLONE_NEWTIME"}, {0x100, "CLONE_VM"},
        {0x200, "CLONE_FS"}, {0x400, "CLONE_FILES"}, {0x800, "CLONE_SIGHAND"},
        {0x1000, "CLONE_PIDFD"}, {0x2000, "CLONE_PTRACE"}, {0x4000, "CLONE_VFORK"},
        {0x8000, "CLONE_PARENT"}, {0x10000, "CLONE_THREAD"}, {0x20000, "CLONE_NEWNS"},
        {0x40000, "CLONE_SYSVSEM"}, {0x80000, "CLONE_SETTLS"}, {0x100000, "CLONE_PARENT_SETTID"},
        {0x200000, "CLONE_CHILD_CLEARTID"}, {0x400000, "CLONE_DETACHED"},
        {0x800000, "CLONE_UNTRACED"}, {0x1000000, "CLONE_CHILD_SETTID"},
        {0x2000000, "CLONE_NEWCGROUP"}, {0x4000000, "CLONE_NEWUTS"}, {0x8000000, "CLONE_NEWIPC"},
        {0x10000000, "CLONE_NEWUSER"}, {0x20000000, "CLONE_NEWPID"}, {0x40000000, "CLONE_NEWNET"},
        {0x80000000, "CLONE_IO"}};
static const EtwMap cloneMap = {cloneFlags, COUNT(cloneFlags), true};

static const EtwMapEntry softirqs[] = {{0, "HI"}, {1, "TIMER"}, {2, "NET_TX"}, {3, "NET_RX"},
        {4, "BLOCK"}, {5, "IRQ_POLL"}, {6, "TASKLET"}, {7, "SCHED"}, {8, "HRTIMER"}, {9, "RCU"}};
static const EtwMap softirqMap = {softirqs, COUNT(softirqs), false};

/* event NULL: all events of the provider. The first matching row applies. */
static const struct {
    const char *provider, *event, *field;
    const EtwMap *map;
} fieldMaps[] = {
        {"Linux-raw_syscalls", NULL, "id", &etwMapSyscall},
        {"Linux-raw_syscalls", "sys_exit", "ret", &etwMapErrno},
        {"Linux-syscalls", NULL, "__syscall_nr", &etwMapSyscall},
        {"Linux-syscalls", NULL, "ret", &etwMapErrno},
        {"Linux-sock", NULL, "oldstate", &etwMapTcpState},
        {"Linux-sock", NULL, "newstate", &etwMapTcpState},
        {"Linux-sock", NULL, "family", &etwMapFamily},
        {"Linux-sock", NULL, "protocol", &etwMapProtocol},
        {"Linux-sock", NULL, "flags", &etwMapMessage},
        {"Linux-sock", NULL, "ret", &etwMapErrno},
        {"Linux-tcp", NULL, "state", &etwMapTcpState},
        {"Linux-tcp", NULL, "family", &etwMapFamily},
        {"Linux-udp", NULL, "family", &etwMapFamily},
        {"Linux-fib", NULL, "proto", &etwMapProtocol},
        {"Linux-fib6", NULL, "proto", &etwMapProtocol},
        {"Linux-sched", "sched_switch", "prev_state", &etwMapTaskState},
        {"Linux-task", "task_newtask", "clone_flags", &cloneMap},
        {"Linux-signal", NULL, "sig", &etwMapSignal},
        {"Linux-irq", "softirq_entry", "vec", &softirqMap},
        {"Linux-irq", "softirq_exit", "vec", &softirqMap},
        {"Linux-irq", "softirq_raise", "vec", &softirqMap},
};

const EtwMap *EtwTracepointNames(const char *provider, const char *event, const char *field)
{
    for (int i = 0; i < COUNT(fieldMaps); i++) {
        if (strcmp(fieldMaps[i].field, field) == 0 &&
                strcmp(fieldMaps[i].provider, provider) == 0 &&
                (fieldMaps[i].event == NULL || strcmp(fieldMaps[i].event, event) == 0)) {
            return fieldMaps[i].map;
        }
    }
    return NULL;
}

const char *EtwMapName(const EtwMap *map, uint64_t value)
{
    int low = 0, high = map->count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (map->entries[middle].value < value) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < map->count && map->entries[low].value == value ? map->entries[low].name : NULL;
}
