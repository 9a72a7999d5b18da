/*
 * unix/kernel/group/socket_calls.c --
 *
 *	Sends and receives on kernels without tracepoints for them (before 6.3: no
 *	sock_send_length). They are derived from the system calls of traced threads, and joined with
 *	sockets through the descriptor.
 *
 *	The socket of a descriptor follows from the calls themselves: a state change inside connect
 *	or listen is that socket's; accept returns a listener's connections in the order in which
 *	they were made; dup, fork and close are tracked. Otherwise the descriptor is probed while it
 *	is open. A socket whose kernel address is never reported gets a number instead (Socket =
 *	0x1, 0x2 ...).
 *
 *	Not supported: the sizes of sendmmsg and recvmmsg (Size is 0), sockets of 32-bit programs,
 *	and descriptors that no observed call returned and that were closed before they could be
 *	probed. Only used without the socket tracepoints: tracing the calls costs every process
 *	about 70 ns for each call.
 */
#define _GNU_SOURCE
#include "unix/kernel/kernel_int.h"
#include "base/slot_table.h"
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* The socket that a process's descriptor refers to. */
typedef struct Descriptor {
    uint64_t key; /* pid << 32 | fd; 0: free slot */
    uint64_t sk;  /* 0: not an internet socket, or unknown (known is false) */
    bool known;
} Descriptor;

struct KernelCalls {
    Descriptor *slots;
    uint32_t capacity, used; /* capacity: a power of two */
    uint64_t numbers;        /* last number given to a socket */
};

void KernelCallsUse(EtwKernel *k)
{
    if (k->calls == NULL) {
        k->calls = EtwAlloc(sizeof *k->calls);
    }
}

void KernelCallsFree(EtwKernel *k)
{
    if (k->calls != NULL) {
        EtwFree(k->calls->slots);
        EtwFree(k->calls);
        k->calls = NULL;
    }
}

/* ---- Descriptors ----------------------------------------------------------------------------- */

static uint64_t keyOf(uint32_t pid, int32_t fd)
{
    return (uint64_t)pid << 32 | (uint32_t)fd;
}

static inline uint32_t hashOf(uint64_t key)
{
    return (uint32_t)(key * 0x9E3779B97F4A7C15u >> 40);
}

static inline bool isKnown(const Descriptor *d)
{
    return d->known;
}
ETW_SLOT_TABLE(Descriptors, KernelCalls, Descriptor, key, hashOf, isKnown, 256)

static Descriptor *descriptorOf(KernelCalls *c, uint32_t pid, int32_t fd)
{
    return DescriptorsAdd(c, keyOf(pid, fd));
}

static void setDescriptor(KernelCalls *c, uint32_t pid, int32_t fd, uint64_t sk)
{
    Descriptor *d = descriptorOf(c, pid, fd);
    d->sk = sk;
    d->known = true;
}

static void forgetDescriptor(KernelCalls *c, uint32_t pid, int32_t fd)
{
    Descriptor *d = DescriptorsFind(c, keyOf(pid, fd));
    if (d != NULL) {
        d->known = false;
        d->sk = 0;
    }
}

/* ---- Sockets --------------------------------------------------------------------------------- */

static KernelSock *placeholderSock(EtwKernel *k, uint8_t protocol)
{
    KernelSock *sock = KernelSockAdd(&k->socks, ++k->calls->numbers);
    sock->protocol = protocol;
    KernelSockState(
            &k->socks, sock, protocol == IPPROTO_TCP ? TCP_STATE_ESTABLISHED : TCP_STATE_CLOSE);
    return sock;
}

static bool sameAddrs(const SockAddrs *a, const SockAddrs *b)
{
    return a->v6 == b->v6 && a->localPort == b->localPort && a->remotePort == b->remotePort &&
           memcmp(a->local, b->local, 16) == 0 && memcmp(a->remote, b->remote, 16) == 0;
}

static KernelSock *tcpByAddrs(const KernelSocks *s, const SockAddrs *ends)
{
    for (uint32_t i = 0; i < s->capacity; i++) {
        KernelSock *sock = &s->slots[i];
        if (sock->sk != 0 && sock->protocol == IPPROTO_TCP && sock->state != TCP_STATE_CLOSE &&
                sameAddrs(&sock->ends, ends)) {
            return sock;
        }
    }
    return NULL;
}

void KernelCallIdentify(EtwKernel *k, uint64_t sk, const SockAddrs *ends)
{
    KernelSock *known, old;
    if (KernelSockFind(&k->socks, sk) != NULL || k->calls->numbers == 0) {
        return;
    }
    known = tcpByAddrs(&k->socks, ends);
    if (known == NULL || known->sk > k->calls->numbers) {
        return;
    }
    old = *known;
    KernelSockState(&k->socks, known, TCP_STATE_CLOSE);
    known = KernelSockAdd(&k->socks, sk);
    *known = old;
    known->sk = sk;
    known->state = TCP_STATE_CLOSE;
    KernelSockState(&k->socks, known, old.state);
    for (uint32_t i = 0; i < k->calls->capacity; i++) { /* once for each such socket */
        if (k->calls->slots[i].sk == old.sk) {
            k->calls->slots[i].sk = sk;
        }
    }
}

/* Find the socket of an open descriptor. 0: not a socket, or already closed. */
static uint64_t probeDescriptor(EtwKernel *k, uint32_t pid, int32_t fd)
{
    SockFound found;
    KernelSock *sock;
    if (!SockDescribe(pid, fd, &found)) {
        return 0;
    }
    sock = found.protocol == IPPROTO_TCP ? tcpByAddrs(&k->socks, &found.ends) : NULL;
    if (sock == NULL) {
        sock = placeholderSock(k, found.protocol);
        sock->ends = found.ends;
        sock->peer = found.peer;
        sock->pid = sock->tid = pid;
        KernelSockState(&k->socks, sock, found.state);
    }
    return sock->sk;
}

/* The socket of a descriptor; NULL: none. */
static KernelSock *sockOfCall(EtwKernel *k, uint32_t pid, int32_t fd)
{
    Descriptor *d = descriptorOf(k->calls, pid, fd);
    KernelSock *sock = d->known ? KernelSockFind(&k->socks, d->sk) : NULL;
    const KernelTask *task;
    uint64_t sk;
    if (d->known && (d->sk == 0 || sock != NULL)) {
        return sock;
    }
    sk = probeDescriptor(k, pid, fd);
    task = KernelTaskFind(&k->tasks, pid);
    if (sk == 0 && task != NULL && task->parent != 0 && task->parent != pid) {
        d = descriptorOf(k->calls, task->parent, fd); /* inherited, closed before probing */
        sk = d->known ? d->sk : 0;
    }
    setDescriptor(k->calls, pid, fd, sk);
    return KernelSockFind(&k->socks, sk);
}

void KernelCallsScan(EtwKernel *k, uint32_t pid)
{
    char path[64], *end;
    struct dirent *e;
    DIR *d;
    snprintf(path, sizeof path, "/proc/%u/fd", pid);
    d = opendir(path);
    while (d != NULL && (e = readdir(d)) != NULL) {
        long fd = strtol(e->d_name, &end, 10);
        if (*end == '\0' && end != e->d_name) {
            sockOfCall(k, pid, (int32_t)fd);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static bool isUncounted(uint32_t id, const uint8_t *args)
{
    uint64_t flags = id == SYS_recvfrom  ? EtwLoad64(args + 24)
                     : id == SYS_recvmsg ? EtwLoad64(args + 16)
                                         : 0;
    return (flags & (MSG_PEEK | MSG_ERRQUEUE)) != 0;
}

void KernelCallEnter(EtwKernel *k, const TraceEvent *e, uint32_t id, const uint8_t *args)
{
    uint32_t tid = KernelTidOf(e), pid = KernelTaskProcess(&k->tasks, tid, e->ticks, true);
    KernelTask *task = KernelTaskFind(&k->tasks, tid);
    if (task == NULL) {
        return;
    }
    task->call = id + 1;
    task->fd = (int32_t)EtwLoad64(args);
    task->uncounted = isUncounted(id, args);
    if (id == SYS_close) {
        forgetDescriptor(k->calls, pid, task->fd);
    } else if (id == SYS_socket) {
        uint64_t type = EtwLoad64(args + 8) & 0xf;
        /* For the exit: the kind of socket to be created, as a negative descriptor. */
        task->fd = (EtwLoad64(args) == AF_INET || EtwLoad64(args) == AF_INET6) && type == SOCK_DGRAM
                           ? -2
                           : -1;
    }
}

void KernelCallState(EtwKernel *k, const TraceEvent *e, KernelSock *sock)
{
    const KernelTask *task = KernelTaskFind(&k->tasks, KernelTidOf(e));
    uint32_t call = task ? task->call : 0;
    if (KernelInThread(e) && task != NULL &&
            ((call == SYS_connect + 1 && sock->state == TCP_STATE_SYN_SENT) ||
                    (call == SYS_sendto + 1 && sock->state == TCP_STATE_SYN_SENT) ||
                    (call == SYS_listen + 1 && sock->state == TCP_STATE_LISTEN))) {
        setDescriptor(k->calls, task->pid, task->fd, sock->sk);
    }
    if (sock->state == TCP_STATE_SYN_RECV) {
        sock->waiting = e->ticks; /* until an accept returns it; it will be established by then */
    }
}

/* The connection that accept on this listener has returned: the one that has waited longest. */
static KernelSock *takeAccepted(EtwKernel *k, uint32_t pid, int32_t listenerFd)
{
    const KernelSock *listener = sockOfCall(k, pid, listenerFd);
    uint16_t port = listener ? listener->ends.localPort : 0;
    KernelSock *best = NULL;
    for (uint32_t i = 0; port != 0 && i < k->socks.capacity; i++) {
        KernelSock *sock = &k->socks.slots[i];
        if (sock->sk != 0 && sock->waiting != 0 && sock->ends.localPort == port &&
                sock->state != TCP_STATE_SYN_RECV &&
                (best == NULL || sock->waiting < best->waiting)) {
            best = sock;
        }
    }
    if (best != NULL) {
        best->waiting = 0;
    }
    return best;
}

static void transfer(EtwKernel *k, const TraceEvent *e, const KernelTask *task, bool send,
        bool counts, int64_t result)
{
    uint32_t pid = task->pid, tid = task->tid;
    int32_t fd = task->fd;
    KernelSock *sock;
    if (task->uncounted || result == -EAGAIN || result == -EINTR || result == -EBADF ||
            (result <= -512 && result >= -516)) {
        return;
    }
    sock = sockOfCall(k, pid, fd);
    if (sock == NULL) {
        return;
    }
    if (sock->protocol == IPPROTO_UDP) {
        SockFound found;
        if (sock->ends.localPort == 0 && SockDescribe(pid, fd, &found)) {
            sock->ends = found.ends;
            sock->peer = found.peer;
        }
        if (send) {
            KernelSockRoute(k, sock, tid);
        }
    }
    KernelNetTransfer(k, e, sock, send, counts && result > 0 ? 0 : (int32_t)result, pid, tid);
}

void KernelCallExit(EtwKernel *k, const TraceEvent *e, int64_t result)
{
    KernelTask *found = KernelTaskFind(&k->tasks, KernelTidOf(e)), task;
    const KernelSock *sock;
    if (found == NULL || found->call == 0) {
        return;
    }
    task = *found; /* a copy, because the table may be reallocated */
    found->call = 0;
    switch (task.call - 1) {
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
        transfer(k, e, &task, false, false, result);
        return;
    case SYS_write:
    case SYS_writev:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendfile:
        transfer(k, e, &task, true, false, result);
        return;
    case SYS_recvmmsg:
    case SYS_sendmmsg:
        transfer(k, e, &task, task.call - 1 == SYS_sendmmsg, true, result);
        return;
    default:
        break;
    }
    if (result < 0) {
        return;
    }
    switch (task.call - 1) {
    case SYS_socket:
        /*
         * A stream socket is added when it connects or listens: the state change reports its
         * address.
         */
        forgetDescriptor(k->calls, task.pid, (int32_t)result);
        if (task.fd == -2) {
            setDescriptor(k->calls, task.pid, (int32_t)result, placeholderSock(k, IPPROTO_UDP)->sk);
        }
        return;
    case SYS_accept:
    case SYS_accept4:
        forgetDescriptor(k->calls, task.pid, (int32_t)result);
        sock = takeAccepted(k, task.pid, task.fd);
        if (sock != NULL) {
            setDescriptor(k->calls, task.pid, (int32_t)result, sock->sk);
        }
        return;
    case SYS_dup:
    case SYS_dup2:
    case SYS_dup3:
        sock = sockOfCall(k, task.pid, task.fd);
        setDescriptor(k->calls, task.pid, (int32_t)result, sock ? sock->sk : 0);
        return;
    default:
        return;
    }
}
