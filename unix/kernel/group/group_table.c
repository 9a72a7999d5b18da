/*
 * unix/kernel/group/group_table.c --
 *
 *	The table of all kernel groups: the name and description of each, its tracepoints and its events. How to
 *	add a group: CONTRIBUTING.md, "Add a Linux tracepoint group". The tracepoints, and how their records become
 *	events, are defined in the groups' files:
 *
 *	task_group.c    process, thread, contextswitch, dispatcher, systemcall
 *	net_group.c     tcpip, udpip
 *	windows_net.c   kernel-network-ipv4, kernel-network-ipv6
 *	file_group.c    fileio, virtualalloc
 *	heap_group.c    heap
 *	image_group.c   imageload
 *	system_group.c  diskio, pagefault, hardfault, interrupt, dpc, profile
 *
 *	The events themselves are declared in semantics/declared_events.c.
 */
#include "unix/kernel/kernel_int.h"
#include <string.h>

static const KernelTracepointDef *const tcpPoints[] = {&kernelStatePoint, NULL};
static const KernelTracepointDef *const tcpExtras[] = {&kernelRetransmitPoint, NULL};
static const KernelTracepointDef *const udpPoints[] = {NULL};
static const KernelTracepointDef *const udpExtras[] = {&kernelRoutePoint, &kernelRoute6Point, NULL};
static const KernelTracepointDef *const windowsExtras[] = {
        &kernelRetransmitPoint, &kernelRoutePoint, &kernelRoute6Point, NULL};

const KernelGroup kernelGroups[GROUPS] = {
        [GROUP_PROCESS] = {"process", "processes start, exec a program, stop (with exit code)",
                kernelTaskPoints, kernelProcessExtras, EV_PROCESS_START},
        [GROUP_THREAD] = {"thread", "threads start and stop", kernelTaskPoints, NULL,
                EV_THREAD_START},
        [GROUP_CONTEXTSWITCH] = {"contextswitch", "threads get and leave a CPU", kernelSwitchPoints,
                NULL, EV_SWITCH},
        [GROUP_DISPATCHER] = {"dispatcher", "threads that waited are woken, and by what",
                kernelWakePoints, NULL, EV_READY},
        [GROUP_SYSTEMCALL] = {"systemcall", "system calls: enter with arguments, exit with result",
                kernelCallPoints, NULL, EV_SYSCALL_ENTER},
        [GROUP_TCPIP] = {"tcpip",
                "TCP: connect, accept, send, receive, disconnect, state changes, retransmissions",
                tcpPoints, tcpExtras, EV_TCP_CONNECT},
        [GROUP_UDPIP] = {"udpip", "UDP: send and receive", udpPoints, udpExtras, EV_UDP_SEND},
        [GROUP_WINDOWS4] = {"kernel-network-ipv4",
                "TCP and UDP over IPv4 as events of Microsoft-Windows-Kernel-Network", tcpPoints,
                windowsExtras, EV_WIN_SENT},
        [GROUP_WINDOWS6] = {"kernel-network-ipv6", "the same over IPv6", tcpPoints, windowsExtras,
                EV_WIN_SENT},
        [GROUP_FILEIO] = {"fileio",
                "files: create (open), read, write, flush, close, delete, rename, with their names",
                kernelFilePoints, kernelFileExtras, EV_FILE_CREATE},
        [GROUP_DISKIO] = {"diskio", "requests to disks: begun, and done", kernelDiskPoints, NULL,
                EV_DISK_INIT},
        [GROUP_PAGEFAULT] = {"pagefault", "page faults of programs", kernelFaultPoints, NULL,
                EV_FAULT},
        [GROUP_HARDFAULT] = {"hardfault", "page faults that had to read a file",
                kernelHardFaultPoints, NULL, EV_HARD_FAULT},
        [GROUP_VIRTUALALLOC] = {"virtualalloc", "memory is mapped and unmapped", kernelAllocPoints,
                NULL, EV_ALLOC},
        [GROUP_INTERRUPT] = {"interrupt",
                "interrupt handlers, with the thread that each one interrupts",
                kernelInterruptPoints, NULL, EV_ISR_ENTER},
        [GROUP_PROFILE] = {"profile", "samples of who runs, at an interval of CPU time",
                kernelProfilePoints, NULL, EV_SAMPLE},
        [GROUP_HEAP] = {"heap",
                "memory from libc: allocated, moved, freed (costs microseconds a call)",
                kernelHeapPoints, NULL, EV_HEAP_ALLOC},
        [GROUP_IMAGELOAD] = {"imageload",
                "programs and shared libraries are loaded and unloaded (enabled by stacks)",
                kernelImagePoints, NULL, EV_IMAGE_LOAD},
        [GROUP_DPC] = {"dpc", "deferred interrupt work (softirqs)", kernelDpcPoints, NULL,
                EV_DPC_ENTER},
};

/* ---- Events ---------------------------------------------------------------------------------- */

/* Those of the group's provider are declared in semantics/declared_events.c. */
static EtwStatus defineEvents(
        EtwKernel *k, KernelGroupId group, const EtwDeclaredProvider *declared, EtwError *err)
{
    Etw_Event **events = &k->events[kernelGroups[group].firstEvent];
    for (int i = 0; i < declared->eventCount; i++) {
        events[i] = EtwDefineDeclared(k->providers[group], &declared->events[i]);
        if (events[i] == NULL) {
            return EtwFail(err, ETW_E_LIMIT, "EVENTS", kernelGroups[group].name,
                    "cannot register the events of %s: the registry of this user is full",
                    declared->name);
        }
    }
    return ETW_OK;
}

EtwStatus KernelDefine(EtwKernel *k, KernelGroupId group, EtwError *err)
{
    char name[64] = "Linux-";
    if (group == GROUP_WINDOWS4 || group == GROUP_WINDOWS6) {
        return KernelWindowsDefine(k, group, err);
    }
    strcat(name, kernelGroups[group].name);
    EtwStatus status = EtwRegister(name, NULL, &k->providers[group], err);
    if (status != ETW_OK) {
        return status;
    }
    const EtwDeclaredProvider *declared = EtwDeclaredFind(name);
    if (declared == NULL) {
        return EtwFail(err, ETW_E_UNSUPPORTED, "EVENTS", name,
                "the events of provider %s are not declared in semantics/declared_events.c", name);
    }
    return defineEvents(k, group, declared, err);
}
