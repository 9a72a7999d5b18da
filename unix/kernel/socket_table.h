/*
 * unix/kernel/socket_table.h --
 *
 *	The known sockets of traced processes: addresses, state and owner. The key is the kernel's address of
 *	the socket, as in tracepoint records. Owned by one EtwKernel; used by the logger's thread only.
 */
#ifndef ETW_SOCKET_TABLE_H
#define ETW_SOCKET_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/* As in the kernel (net/tcp_states.h). */
enum {
    TCP_STATE_ESTABLISHED = 1,
    TCP_STATE_SYN_SENT = 2,
    TCP_STATE_SYN_RECV = 3,
    TCP_STATE_CLOSE = 7,
    TCP_STATE_LISTEN = 10,
    TCP_STATE_NEW_SYN_RECV = 12
};

/*
 * Both addresses, as in events: network byte order, IPv4 in the first four bytes. An IPv4-mapped
 * IPv6 address is stored as IPv4.
 */
typedef struct SockAddrs {
    bool v6;
    uint16_t localPort, remotePort;
    uint8_t local[16], remote[16];
} SockAddrs;

typedef struct KernelSock {
    uint64_t sk; /* 0: free slot */
    SockAddrs ends;
    uint32_t pid, tid; /* owner; the thread that used it last */
    uint8_t protocol;  /* IPPROTO_* */
    uint8_t state;     /* TCP; UDP: CLOSE */
    bool peer;         /* UDP: connected, remote is the only sender */
    uint64_t waiting;  /* ticks since when a connection waits for accept (socket_calls.c) */
    uint64_t checked;  /* ticks when its addresses were last probed (UDP) */
} KernelSock;

typedef struct KernelSocks {
    KernelSock *slots;
    uint32_t capacity, used; /* capacity: a power of two */
    uint64_t *listening;     /* those in state LISTEN: few, searched at each accept */
    uint32_t listeners;
} KernelSocks;

KernelSock *KernelSockFind(const KernelSocks *s, uint64_t sk);
/* Find or add (then zeroed except for sk). The pointer is valid until the next KernelSockAdd. */
KernelSock *KernelSockAdd(KernelSocks *s, uint64_t sk);
void KernelSockState(KernelSocks *s, KernelSock *sock, uint8_t state);
/* The listening socket at these local addresses, by the most exact match; NULL: none is known. */
const KernelSock *KernelSockListener(const KernelSocks *s, const SockAddrs *ends);
void KernelSocksFree(KernelSocks *s);

/*
 * Addresses from raw bytes of a family (AF_INET, AF_INET6: 16 bytes each), ports in network order.
 */
void SockAddrsSet(SockAddrs *ends, int family, const uint8_t *local, uint16_t localPort,
        const uint8_t *remote, uint16_t remotePort);

#endif
