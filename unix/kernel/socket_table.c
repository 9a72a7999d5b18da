/*
 * unix/kernel/socket_table.c --
 *
 *	The table of sockets: open addressing by the kernel's address of the socket. Closed sockets
 *	stay until the table grows, because late events may refer to them and addresses are reused.
 */
#include "unix/kernel/socket_table.h"
#include "base/slot_table.h"
#include <string.h>
#include <sys/socket.h>

static inline uint32_t hashOf(uint64_t sk)
{
    return (uint32_t)((sk >> 6) * 0x9E3779B97F4A7C15u >> 40);
}

static inline bool isOpen(const KernelSock *sock)
{
    return sock->state != TCP_STATE_CLOSE;
}
ETW_SLOT_TABLE(Socks, KernelSocks, KernelSock, sk, hashOf, isOpen, 128)

KernelSock *KernelSockFind(const KernelSocks *s, uint64_t sk)
{
    return SocksFind(s, sk);
}

KernelSock *KernelSockAdd(KernelSocks *s, uint64_t sk)
{
    KernelSock *sock = SocksAdd(s, sk);
    if (sock->state == 0) {
        sock->state = TCP_STATE_CLOSE;
    }
    return sock;
}

void KernelSockState(KernelSocks *s, KernelSock *sock, uint8_t state)
{
    bool was = sock->state == TCP_STATE_LISTEN, is = state == TCP_STATE_LISTEN;
    sock->state = state;
    if (is && !was) {
        s->listening = EtwRealloc(s->listening, (s->listeners + 1) * sizeof *s->listening);
        s->listening[s->listeners++] = sock->sk;
    }
    for (uint32_t i = 0; was && !is && i < s->listeners; i++) {
        if (s->listening[i] == sock->sk) {
            s->listening[i] = s->listening[--s->listeners];
        }
    }
}

/* 0: no match. A higher value is a more exact match. */
static int matches(const KernelSock *listener, const SockAddrs *ends)
{
    static const uint8_t any[16];
    size_t size = listener->ends.v6 ? 16 : 4;
    if (listener->ends.localPort != ends->localPort) {
        return 0;
    }
    if (memcmp(listener->ends.local, any, size) == 0) {
        return listener->ends.v6 == ends->v6 ? 2 : listener->ends.v6; /* :: also accepts IPv4 */
    }
    return listener->ends.v6 == ends->v6 && memcmp(listener->ends.local, ends->local, size) == 0
                   ? 3
                   : 0;
}

const KernelSock *KernelSockListener(const KernelSocks *s, const SockAddrs *ends)
{
    const KernelSock *best = NULL;
    int bestMatch = 0;
    for (uint32_t i = 0; i < s->listeners; i++) {
        const KernelSock *listener = KernelSockFind(s, s->listening[i]);
        int match = listener ? matches(listener, ends) : 0;
        if (match > bestMatch) {
            bestMatch = match;
            best = listener;
        }
    }
    return best;
}

void KernelSocksFree(KernelSocks *s)
{
    EtwFree(s->slots);
    EtwFree(s->listening);
    memset(s, 0, sizeof *s);
}

static bool isMapped(const uint8_t *address)
{
    static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(address, prefix, 12) == 0;
}

void SockAddrsSet(SockAddrs *ends, int family, const uint8_t *local, uint16_t localPort,
        const uint8_t *remote, uint16_t remotePort)
{
    static const uint8_t any[16];
    memset(ends, 0, sizeof *ends);
    ends->localPort = localPort;
    ends->remotePort = remotePort;
    if (family == AF_INET6 && (isMapped(local) || isMapped(remote))) {
        /* One of the addresses may be unspecified (::). */
        memcpy(ends->local, memcmp(local, any, 16) == 0 ? any : local + 12, 4);
        memcpy(ends->remote, memcmp(remote, any, 16) == 0 ? any : remote + 12, 4);
        return;
    }
    ends->v6 = family == AF_INET6;
    memcpy(ends->local, local, ends->v6 ? 16 : 4);
    memcpy(ends->remote, remote, ends->v6 ? 16 : 4);
}
