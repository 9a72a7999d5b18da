/*
 * unix/kernel/group/net_group.c --
 *
 *	The groups tcpip and udpip: converts records of the socket tracepoints to the events
 *	Connect, Accept, Send ... with both addresses and the process that owns the socket.
 *
 *	State changes fire in any context, often in an interrupt on top of an unrelated thread. So
 *	they are collected from all threads and kept only for sockets of traced processes. The owner
 *	of a socket is the process that connects or listens. An accepted socket belongs to the
 *	listener's owner until another process sends or receives on it, which then owns it. Records
 *	of sends and receives identify only the socket (kernel 6.3 and later; socket_calls.c for
 *	older ones). Addresses come from the state changes, from probing (socket_probe.c), and for
 *	UDP from the route lookup that the send has made.
 *
 *	Not seen: splice and sendfile from a socket, sockets of the kernel, MPTCP.
 */
#define _GNU_SOURCE
#include "unix/kernel/kernel_int.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

enum { MSG_PEEK_BIT = 0x2, MSG_ERRQUEUE_BIT = 0x2000 };
/* About a second in ticks of either clock: how long the probed state of a UDP socket is used. */
static const uint64_t holds = (uint64_t)1 << 31;

/* ---- Payload --------------------------------------------------------------------------------- */

static void putAddrs(KernelPut *put, uint64_t sk, const SockAddrs *ends)
{
    Put64(put, sk);
    Put16(put, ends->v6 ? AF_INET6 : AF_INET);
    if (ends->v6) {
        PutBytes(put, ends->local, 16);
        Put16(put, ends->localPort);
        PutBytes(put, ends->remote, 16);
    } else {
        memcpy(put->at, ends->local, 4);
        memcpy(put->at + 4, &ends->localPort, 2);
        memcpy(put->at + 6, ends->remote, 4);
        put->at += 10;
    }
    Put16(put, ends->remotePort);
}

/* ---- Probing sockets ------------------------------------------------------------------------- */

void KernelSockAddFound(EtwKernel *k, uint32_t pid, const SockFound *found, uint64_t ticks)
{
    KernelSock *sock = KernelSockAdd(&k->socks, found->sk);
    sock->ends = found->ends;
    sock->protocol = found->protocol;
    sock->peer = found->peer;
    sock->checked = ticks;
    if (sock->pid == 0) {
        sock->pid = sock->tid = pid;
    }
    KernelSockState(&k->socks, sock, found->state);
}

typedef struct Probing {
    EtwKernel *k;
    uint64_t ticks;
} Probing;

static void addFound(void *ctx, uint32_t pid, const SockFound *found)
{
    Probing *a = ctx;
    KernelSockAddFound(a->k, pid, found, a->ticks);
}

/*
 * A probe returns the present state, while the drain processes events of the last milliseconds. So
 * probing twice within a drain is useless. Processes that exceed the list are probed in the next
 * drain.
 */
void KernelSockProbe(EtwKernel *k, uint32_t pid, uint64_t ticks)
{
    Probing a = {k, ticks};
    for (int i = 0; i < k->probedCount; i++) {
        if (k->probed[i] == pid) {
            return;
        }
    }
    if (k->probedCount < PROBED && k->probe != NULL && pid != 0) {
        k->probed[k->probedCount++] = pid;
        SockProbeProcess(k->probe, pid, addFound, &a);
    }
}

/* ---- State changes --------------------------------------------------------------------------- */

enum {
    STATE_SK,
    STATE_OLD,
    STATE_NEW,
    STATE_SPORT,
    STATE_DPORT,
    STATE_FAMILY,
    STATE_PROTOCOL,
    STATE_SADDR,
    STATE_DADDR,
    STATE_SADDR6,
    STATE_DADDR6
};

/* The process of a thread that is not traced, from /proc, read at most once a second. */
static uint32_t contextPid(EtwKernel *k, const TraceEvent *e)
{
    uint32_t tid = KernelTidOf(e);
    uint32_t pid = KernelTaskProcess(&k->tasks, tid, e->ticks, false);
    uint32_t at = tid % CONTEXTS;
    if (pid != 0 || tid == 0) {
        return pid;
    }
    if (k->contexts[at].tid != tid || e->ticks - k->contexts[at].ticks > holds) {
        k->contexts[at].tid = tid;
        k->contexts[at].pid = KernelProcessOfThread(tid);
        k->contexts[at].ticks = e->ticks;
    }
    return k->contexts[at].pid;
}

static int classOf(int old, int new)
{
    if (new == TCP_STATE_ESTABLISHED) {
        return old == TCP_STATE_SYN_SENT   ? EV_TCP_CONNECT
               : old == TCP_STATE_SYN_RECV ? EV_TCP_ACCEPT
                                           : EV_TCP_STATE;
    }
    /* Closing counts as a disconnect only if the connection was established. */
    return new == TCP_STATE_CLOSE &&old != TCP_STATE_SYN_SENT &&old != TCP_STATE_SYN_RECV &&old !=
                           TCP_STATE_NEW_SYN_RECV &&old != TCP_STATE_LISTEN &&old != TCP_STATE_CLOSE
                   ? EV_TCP_DISCONNECT
                   : EV_TCP_STATE;
}

static void addrsOf(const KernelTracepoint *p, const TraceEvent *e, SockAddrs *ends)
{
    int family = (int)KernelUint(p->f[STATE_FAMILY], e->data);
    bool v6 = family == AF_INET6;
    SockAddrsSet(ends, family, e->data + p->f[v6 ? STATE_SADDR6 : STATE_SADDR].offset,
            htons((uint16_t)KernelUint(p->f[STATE_SPORT], e->data)),
            e->data + p->f[v6 ? STATE_DADDR6 : STATE_DADDR].offset,
            htons((uint16_t)KernelUint(p->f[STATE_DPORT], e->data)));
}

/*
 * The socket of an event, added when a traced process has just created it. NULL: not of a traced
 * process. runner: the traced process that caused the event itself, or 0.
 */
static KernelSock *sockOf(EtwKernel *k, const TraceEvent *e, uint64_t sk, const SockAddrs *ends,
        int old, int new, uint32_t runner)
{
    KernelSock *sock = KernelSockFind(&k->socks, sk);
    bool born = new == TCP_STATE_SYN_SENT || new == TCP_STATE_LISTEN;
    bool child = new == TCP_STATE_SYN_RECV || (sock == NULL && old == TCP_STATE_SYN_RECV);
    uint32_t pid = runner, tid = KernelTidOf(e);
    if (sock != NULL && !born && !child) {
        return sock;
    }
    if (child) {
        const KernelSock *listener = KernelSockListener(&k->socks, ends);
        pid = listener ? listener->pid : 0;
        tid = listener ? listener->tid : 0;
    }
    if (pid == 0 && !k->tasks.all) {
        if (sock != NULL) { /* the address was reused by an untraced process */
            KernelSockState(&k->socks, sock, TCP_STATE_CLOSE);
            sock->pid = 0;
        }
        return NULL;
    }
    sock = KernelSockAdd(&k->socks, sk);
    sock->pid = pid;
    sock->tid = tid;
    sock->protocol = IPPROTO_TCP;
    sock->ends = *ends;
    return sock;
}

static void emitState(EtwKernel *k, const TraceEvent *e, const KernelSock *sock, int old, int new)
{
    int class = classOf(old, new);
    Etw_Event *event = k->events[class + sock->ends.v6];
    KernelPut put = KernelPutOf(k);
    if (class != EV_TCP_STATE) {
        KernelWindowsEmit(k, e,
                class == EV_TCP_CONNECT  ? EV_WIN_ATTEMPTED
                : class == EV_TCP_ACCEPT ? EV_WIN_ACCEPTED
                                         : EV_WIN_DISCONNECTED,
                sock->pid, sock->tid, &sock->ends, 0);
    }
    if (event == NULL) {
        return;
    }
    putAddrs(&put, sock->sk, &sock->ends);
    Put8(&put, (uint8_t)old);
    Put8(&put, (uint8_t) new);
    Put32(&put, contextPid(k, e));
    KernelEmitPut(k, e, event, sock->pid ? sock->pid : ETW_NO_ID, sock->pid ? sock->tid : ETW_NO_ID,
            &put);
}

static void onState(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    int old = (int)KernelInt(p->f[STATE_OLD], e->data);
    int new = (int)KernelInt(p->f[STATE_NEW], e->data);
    uint64_t sk = KernelUint(p->f[STATE_SK], e->data);
    uint32_t runner =
            KernelInThread(e) ? KernelTaskProcess(&k->tasks, KernelTidOf(e), e->ticks, false) : 0;
    SockAddrs ends;
    KernelSock *sock;
    if (KernelUint(p->f[STATE_PROTOCOL], e->data) != IPPROTO_TCP) {
        return;
    }
    addrsOf(p, e, &ends);
    if (k->calls != NULL) {
        KernelCallIdentify(k, sk, &ends);
    }
    sock = sockOf(k, e, sk, &ends, old, new, runner);
    if (sock == NULL || (sock->pid == 0 && !k->tasks.all)) {
        return;
    }
    if (new != TCP_STATE_CLOSE || sock->ends.localPort == 0) {
        sock->ends = ends; /* a closing socket may have lost its addresses */
    }
    if (runner != 0 && new != TCP_STATE_SYN_RECV) {
        sock->pid = runner;
        sock->tid = KernelTidOf(e);
    }
    KernelSockState(&k->socks, sock, (uint8_t) new);
    if (k->calls != NULL) {
        KernelCallState(k, e, sock);
    }
    emitState(k, e, sock, old, new);
}

enum { RETRANSMIT_SK };

static void onRetransmit(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    const KernelSock *sock = KernelSockFind(&k->socks, KernelUint(p->f[RETRANSMIT_SK], e->data));
    KernelPut put = KernelPutOf(k);
    if (sock == NULL || (sock->pid == 0 && !k->tasks.all)) {
        return;
    }
    Etw_Event *event = k->events[EV_TCP_RETRANSMIT + sock->ends.v6];
    KernelWindowsEmit(k, e, EV_WIN_RETRANSMITTED, sock->pid, sock->tid, &sock->ends, 0);
    if (event != NULL) {
        putAddrs(&put, sock->sk, &sock->ends);
        KernelEmitPut(k, e, event, sock->pid ? sock->pid : ETW_NO_ID,
                sock->pid ? sock->tid : ETW_NO_ID, &put);
    }
}

/* ---- Sends and receives ---------------------------------------------------------------------- */

enum { TRANSFER_SK, TRANSFER_FAMILY, TRANSFER_PROTOCOL, TRANSFER_RESULT, TRANSFER_FLAGS };

/* No data was or could have been transferred: no event. */
static bool isNoTransfer(int64_t result)
{
    return result == -EAGAIN || result == -EINTR || (result <= -512 && result >= -516);
}

void KernelNetTransfer(EtwKernel *k, const TraceEvent *e, KernelSock *sock, bool send, int32_t size,
        uint32_t pid, uint32_t tid)
{
    SockAddrs ends = sock->ends;
    bool udp = sock->protocol == IPPROTO_UDP;
    int windows = udp ? (send ? EV_WIN_UDP_SENT : EV_WIN_UDP_RECEIVED)
                      : (send ? EV_WIN_SENT : EV_WIN_RECEIVED);
    int id = udp ? (send ? EV_UDP_SEND : EV_UDP_RECEIVE) : (send ? EV_TCP_SEND : EV_TCP_RECEIVE);
    KernelPut put = KernelPutOf(k);
    sock->pid = pid;
    sock->tid = tid;
    if (udp && !send && !sock->peer) {
        ends.remotePort = 0; /* no tracepoint reports the sender */
        memset(ends.remote, 0, sizeof ends.remote);
    }
    if (size > 0) {
        KernelWindowsEmit(k, e, (KernelEventId)windows, pid, tid, &ends, (uint32_t)size);
    }
    if (k->events[id] == NULL) {
        return;
    }
    putAddrs(&put, sock->sk, &ends);
    Put32(&put, (uint32_t)size);
    KernelEmitPut(k, e, k->events[id + ends.v6], pid, tid, &put);
}

/* A socket that probing did not find: its events have no addresses. */
static KernelSock *unknownSock(EtwKernel *k, uint64_t sk, bool v6, uint8_t protocol, uint64_t ticks)
{
    KernelSock *sock = KernelSockAdd(&k->socks, sk);
    memset(&sock->ends, 0, sizeof sock->ends);
    sock->ends.v6 = v6;
    sock->protocol = protocol;
    sock->peer = false;
    sock->checked = ticks;
    KernelSockState(
            &k->socks, sock, protocol == IPPROTO_TCP ? TCP_STATE_ESTABLISHED : TCP_STATE_CLOSE);
    return sock;
}

static KernelSock *tcpSock(EtwKernel *k, uint64_t sk, bool v6, uint32_t pid, uint64_t ticks)
{
    KernelSock *sock = KernelSockFind(&k->socks, sk);
    if (sock != NULL && sock->protocol == IPPROTO_TCP) {
        return sock;
    }
    KernelSockProbe(k, pid, ticks);
    sock = KernelSockFind(&k->socks, sk);
    return sock != NULL && sock->protocol == IPPROTO_TCP
                   ? sock
                   : unknownSock(k, sk, v6, IPPROTO_TCP, ticks);
}

static KernelRoute *freshRoute(EtwKernel *k, uint32_t tid)
{
    KernelRoute *r = &k->routes[tid % ROUTES];
    return r->tid == tid && r->fresh ? r : NULL;
}

static bool sameRemote(const SockAddrs *a, const SockAddrs *b)
{
    return a->v6 == b->v6 && a->remotePort == b->remotePort &&
           memcmp(a->remote, b->remote, 16) == 0;
}

void KernelSockRoute(EtwKernel *k, KernelSock *sock, uint32_t tid)
{
    static const uint8_t any[16];
    KernelRoute *route = freshRoute(k, tid);
    SockAddrs old = sock->ends;
    if (route == NULL) {
        return;
    }
    route->fresh = false;
    if (sock->peer) {
        return; /* the lookup was for another socket: this one is connected */
    }
    sock->ends = route->ends;
    sock->peer = route->connected;
    if (sock->ends.localPort == 0) {
        sock->ends.localPort = old.localPort;
    }
    if (old.v6 == sock->ends.v6 && memcmp(old.local, any, 16) != 0) {
        memcpy(sock->ends.local, old.local, 16);
    }
}

/*
 * The UDP socket in its state at a send or receive. A send on an unconnected socket has just looked
 * up its route. Otherwise the socket is probed, and again after a second, because no event reports
 * that a UDP socket was closed and its address reused.
 */
static KernelSock *udpSock(
        EtwKernel *k, uint64_t sk, bool v6, uint32_t pid, const TraceEvent *e, bool send)
{
    KernelSock *sock = KernelSockFind(&k->socks, sk);
    KernelRoute *route = send ? freshRoute(k, KernelTidOf(e)) : NULL;
    bool known = sock != NULL && sock->protocol == IPPROTO_UDP;
    if (!known || e->ticks - sock->checked > holds || sock->pid != pid ||
            (route != NULL && sock->peer && !sameRemote(&route->ends, &sock->ends))) {
        KernelSockProbe(k, pid, e->ticks);
        sock = KernelSockFind(&k->socks, sk);
    }
    if (sock == NULL || sock->protocol != IPPROTO_UDP) {
        sock = unknownSock(k, sk, v6, IPPROTO_UDP, e->ticks);
    } else if (known && sock->checked != e->ticks) {
        sock->checked = e->ticks; /* closed meanwhile: do not probe again soon */
        sock->peer = sock->peer && route == NULL;
    }
    if (send) {
        KernelSockRoute(k, sock, KernelTidOf(e));
    }
    return sock;
}

static void onTransfer(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e, bool send)
{
    uint64_t protocol = KernelUint(p->f[TRANSFER_PROTOCOL], e->data);
    uint64_t family = KernelUint(p->f[TRANSFER_FAMILY], e->data);
    uint64_t flags = KernelUint(p->f[TRANSFER_FLAGS], e->data);
    int64_t result = KernelInt(p->f[TRANSFER_RESULT], e->data);
    uint64_t sk = KernelUint(p->f[TRANSFER_SK], e->data);
    uint32_t tid = KernelTidOf(e), pid;
    KernelSock *sock;
    if ((family != AF_INET && family != AF_INET6) || isNoTransfer(result) ||
            (flags & (MSG_PEEK_BIT | MSG_ERRQUEUE_BIT)) != 0) {
        return;
    }
    bool windows = k->events[EV_WIN_SENT] != NULL || k->events[EV_WIN_SENT + 1] != NULL;
    if (protocol == IPPROTO_TCP && (windows || k->events[EV_TCP_SEND] != NULL)) {
        pid = KernelTaskProcess(&k->tasks, tid, e->ticks, true);
        sock = tcpSock(k, sk, family == AF_INET6, pid, e->ticks);
    } else if (protocol == IPPROTO_UDP && (windows || k->events[EV_UDP_SEND] != NULL) &&
               result != -EOPNOTSUPP) {
        pid = KernelTaskProcess(&k->tasks, tid, e->ticks, true);
        sock = udpSock(k, sk, family == AF_INET6, pid, e, send);
    } else {
        return;
    }
    KernelNetTransfer(k, e, sock, send, (int32_t)result, pid, tid);
}

static void onSend(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    onTransfer(k, p, e, true);
}

static void onReceive(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    onTransfer(k, p, e, false);
}

/* ---- Routes of UDP --------------------------------------------------------------------------- */

enum { ROUTE_PROTO, ROUTE_SRC, ROUTE_DST, ROUTE_SPORT, ROUTE_DPORT };

/*
 * connect looks up the route twice: without and with the source address that the first lookup
 * returned. sendto looks it up once.
 */
static void onAnyRoute(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e, int family)
{
    static const uint8_t any[16];
    uint32_t tid = KernelTidOf(e);
    KernelRoute *r = &k->routes[tid % ROUTES];
    SockAddrs ends;
    bool twice;
    if (KernelUint(p->f[ROUTE_PROTO], e->data) != IPPROTO_UDP || !KernelInThread(e)) {
        return;
    }
    SockAddrsSet(&ends, family, e->data + p->f[ROUTE_SRC].offset,
            htons((uint16_t)KernelUint(p->f[ROUTE_SPORT], e->data)),
            e->data + p->f[ROUTE_DST].offset,
            htons((uint16_t)KernelUint(p->f[ROUTE_DPORT], e->data)));
    twice = r->tid == tid && r->fresh && sameRemote(&r->ends, &ends) &&
            r->ends.localPort == ends.localPort && memcmp(r->ends.local, any, 16) == 0 &&
            memcmp(ends.local, any, 16) != 0;
    r->tid = tid;
    r->fresh = true;
    r->connected = twice;
    r->ends = ends;
}

static void onRoute(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    onAnyRoute(k, p, e, AF_INET);
}

static void onRoute6(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    onAnyRoute(k, p, e, AF_INET6);
}

/* ---- The tracepoints ------------------------------------------------------------------------- */

#define TRANSFER_FILTER "(protocol == 6 || protocol == 17) && ret != -11 && !(flags & 2)"

const KernelTracepointDef kernelStatePoint = {"sock", "inet_sock_set_state", IN_ANY,
        "protocol == 6", onState,
        {"skaddr", "oldstate", "newstate", "sport", "dport", "family", "protocol", "saddr", "daddr",
                "saddr_v6", "daddr_v6"}};
const KernelTracepointDef kernelRetransmitPoint = {
        "tcp", "tcp_retransmit_skb", IN_ANY, NULL, onRetransmit, {"skaddr"}};
const KernelTracepointDef kernelSendPoint = {"sock", "sock_send_length", IN_MAIN, TRANSFER_FILTER,
        onSend, {"sk", "family", "protocol", "ret", "flags"}};
const KernelTracepointDef kernelReceivePoint = {"sock", "sock_recv_length", IN_MAIN,
        TRANSFER_FILTER, onReceive, {"sk", "family", "protocol", "ret", "flags"}};
const KernelTracepointDef kernelRoutePoint = {"fib", "fib_table_lookup", IN_MAIN, "proto == 17",
        onRoute, {"proto", "src", "dst", "sport", "dport"}};
const KernelTracepointDef kernelRoute6Point = {"fib6", "fib6_table_lookup", IN_MAIN, "proto == 17",
        onRoute6, {"proto", "src", "dst", "sport", "dport"}};
