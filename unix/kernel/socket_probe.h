/*
 * unix/kernel/socket_probe.h --
 *
 *	Determines the kernel socket of each descriptor of a process, with addresses and state. For sockets
 *	that existed before tracing began, and those that no event reports.
 */
#ifndef ETW_SOCKET_PROBE_H
#define ETW_SOCKET_PROBE_H

#include "unix/kernel/transport/tracepoint_format.h"
#include "unix/kernel/socket_table.h"
#include "unix/kernel/transport/transport.h"

typedef struct SockFound {
    uint64_t sk;
    SockAddrs ends;
    uint8_t protocol; /* IPPROTO_TCP, IPPROTO_UDP */
    uint8_t state;    /* TCP; UDP: CLOSE */
    bool peer;        /* connected */
} SockFound;
typedef void SockFoundProc(void *ctx, uint32_t pid, const SockFound *found);

typedef struct SockProbe SockProbe;
/* NULL: this kernel lacks the tracepoints, or access was refused; sockets are not probed then. */
SockProbe *SockProbeNew(
        const char *session, struct tep_handle *formats, KernelTransportOpen *openTransport);
/* Probe all TCP and UDP sockets of a process. False: not permitted. */
bool SockProbeProcess(SockProbe *p, uint32_t pid, SockFoundProc *found, void *ctx);
/* Addresses and state of one descriptor (sk stays 0). False: gone, or no TCP or UDP socket. */
bool SockDescribe(uint32_t pid, int fd, SockFound *found);
void SockProbeFree(SockProbe *p);

#endif
