/*
 * unix/kernel/group/windows_net.c --
 *
 *	The groups kernel-network-ipv4 and kernel-network-ipv6: socket operations (detected by
 *	net_group.c) as events of Windows' provider Microsoft-Windows-Kernel-Network, with the ids
 *	and layout of its manifest, so that tools for that provider can read them. The events have
 *	no metadata.
 *
 *	The fields startime, endtime, mss, options and windows, seqnum and connid are 0, because
 *	Linux does not report them. There is no event for a failed connection (17, 49), because
 *	Linux does not report the reason.
 */
#include "unix/kernel/kernel_int.h"

enum { TASK_TCP = 10, TASK_UDP = 11, KEYWORD_IPV4 = 0x10, KEYWORD_IPV6 = 0x20 };

/*
 * The ids for IPv4; those for IPv6 are 16 higher. `between`: size of the fields before seqnum,
 * which are 0.
 */
static const struct {
    KernelEventId event;
    uint16_t id, task;
    uint8_t opcode, between;
} classes[] = {
        {EV_WIN_SENT, 10, TASK_TCP, 10, 8},
        {EV_WIN_RECEIVED, 11, TASK_TCP, 11, 0},
        {EV_WIN_ATTEMPTED, 12, TASK_TCP, 12, 16},
        {EV_WIN_DISCONNECTED, 13, TASK_TCP, 13, 0},
        {EV_WIN_RETRANSMITTED, 14, TASK_TCP, 14, 0},
        {EV_WIN_ACCEPTED, 15, TASK_TCP, 15, 16},
        {EV_WIN_UDP_SENT, 42, TASK_UDP, 42, 0},
        {EV_WIN_UDP_RECEIVED, 43, TASK_UDP, 43, 0},
};
enum { CLASSES = sizeof classes / sizeof *classes };

EtwStatus KernelWindowsDefine(EtwKernel *k, KernelGroupId group, EtwError *err)
{
    static const char name[] = "Microsoft-Windows-Kernel-Network";
    /* {7dd42a49-5329-4832-8dfd-43d979153a88} */
    static const Etw_Guid guid = {{0x49, 0x2a, 0xd4, 0x7d, 0x29, 0x53, 0x32, 0x48, 0x8d, 0xfd, 0x43,
            0xd9, 0x79, 0x15, 0x3a, 0x88}};
    bool v6 = group == GROUP_WINDOWS6;
    EtwStatus status = EtwRegister(name, &guid, &k->providers[group], err);
    for (int i = 0; status == ETW_OK && i < CLASSES; i++) {
        Etw_EventDesc desc = {.name = name,
                .id = (uint16_t)(classes[i].id + 16 * v6),
                .level = ETW_LEVEL_INFO,
                .opcode = classes[i].opcode,
                .task = classes[i].task,
                .keyword = v6 ? KEYWORD_IPV6 : KEYWORD_IPV4,
                .undescribed = 1};
        k->events[classes[i].event + v6] = Etw_DefineEvent(k->providers[group], &desc, NULL, 0);
        if (k->events[classes[i].event + v6] == NULL) {
            return EtwFail(err, ETW_E_LIMIT, "EVENTS", name,
                    "cannot register the events of %s: the registry of this user is full", name);
        }
    }
    return status;
}

static void putZeros(KernelPut *put, size_t size)
{
    memset(put->at, 0, size);
    put->at += size;
}

static void putRaw(KernelPut *put, const void *data, size_t size)
{
    memcpy(put->at, data, size);
    put->at += size;
}

void KernelWindowsEmit(EtwKernel *k, const TraceEvent *e, KernelEventId id, uint32_t pid,
        uint32_t tid, const SockAddrs *ends, uint32_t size)
{
    Etw_Event *event = k->events[id + ends->v6];
    size_t address = ends->v6 ? 16 : 4;
    KernelPut put = KernelPutOf(k);
    int i = 0;
    if (event == NULL) {
        return;
    }
    while (classes[i].event != id) {
        i++;
    }
    Put32(&put, pid);
    Put32(&put, size);
    putRaw(&put, ends->remote, address);
    putRaw(&put, ends->local, address);
    putRaw(&put, &ends->remotePort, 2);
    putRaw(&put, &ends->localPort, 2);
    putZeros(&put, classes[i].between + 8u); /* including seqnum and connid */
    KernelEmitPut(k, e, event, pid ? pid : ETW_NO_ID, pid ? tid : ETW_NO_ID, &put);
}
