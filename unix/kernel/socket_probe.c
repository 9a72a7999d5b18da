/*
 * unix/kernel/socket_probe.c --
 *
 *	Determines which kernel socket a descriptor refers to. Tracepoints identify a socket by its
 *	address in the kernel, /proc by its inode, and no readable source relates the two. So this
 *	thread makes a call on each socket that has no effect except that a tracepoint fires. A
 *	private transport, which follows only this thread, returns the record with the address.
 *
 *	TCP: recv(MSG_OOB | MSG_PEEK | MSG_DONTWAIT). It fails with EINVAL (no urgent data) before
 *	anything else is checked, pending errors included. If there is urgent data, it is not
 *	consumed.
 *
 *	UDP: send(MSG_OOB) without data. It fails with EOPNOTSUPP before anything else is checked.
 *	It is only used on bound sockets, because it would bind an unbound one to a port.
 *
 *	Sockets of other processes are duplicated with pidfd_getfd for this purpose. Addresses come
 *	from getsockname and getpeername, the state from TCP_INFO.
 */
#define _GNU_SOURCE
#include "unix/kernel/socket_probe.h"
#include "base/alloc.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BATCH = 256, PROBE_KB = 64 };

struct SockProbe {
    KernelTransport *transport; /* used only for probing */
    TraceMerge *merge;
    uint32_t tid; /* the thread whose events it collects */
    KernelField sk;
    SockFound batch[BATCH]; /* probed, record not read yet */
    int count;
};

/* Enable the two tracepoints. No record is collected before a thread is followed. */
static EtwStatus openProbe(SockProbe *p, struct tep_event *recvEvent, struct tep_event *sendEvent,
        const KernelTransportConfig *config, KernelTransportOpen *openTransport)
{
    KernelRequest request = {.format = recvEvent, .instance = IN_MAIN};
    EtwStatus status = openTransport(&p->transport, config, NULL);
    if (status == ETW_OK) {
        status = p->transport->ops->enable(p->transport, &request, NULL);
    }
    request.format = sendEvent;
    return status == ETW_OK ? p->transport->ops->enable(p->transport, &request, NULL) : status;
}

SockProbe *SockProbeNew(
        const char *session, struct tep_handle *formats, KernelTransportOpen *openTransport)
{
    struct tep_event *recvEvent = KernelFormatOf(formats, "sock", "sock_recv_length");
    struct tep_event *sendEvent = KernelFormatOf(formats, "sock", "sock_send_length");
    KernelTransportConfig config = {.session = session,
            .suffix = "-probe",
            .perCpuKB = PROBE_KB,
            .page = KernelFormatsPage(formats)};
    SockProbe *p;
    if (recvEvent == NULL || sendEvent == NULL) {
        return NULL;
    }
    p = EtwAlloc(sizeof *p);
    p->sk = KernelFieldOf(recvEvent, "sk");
    p->merge = config.merge = TraceMergeNew();
    if (p->sk.size != 8 || KernelFieldOf(sendEvent, "sk").offset != p->sk.offset ||
            openProbe(p, recvEvent, sendEvent, &config, openTransport) != ETW_OK) {
        SockProbeFree(p);
        return NULL;
    }
    return p;
}

void SockProbeFree(SockProbe *p)
{
    if (p != NULL) {
        TraceMergeFree(p->merge);
        if (p->transport != NULL) {
            p->transport->ops->close(p->transport);
        }
        EtwFree(p);
    }
}

static bool followThisThread(SockProbe *p)
{
    if (p->tid != OsTid()) {
        if (p->transport->ops->followOne(p->transport, OsTid(), NULL) != ETW_OK) {
            return false;
        }
        p->tid = OsTid();
        p->transport->ops->start(p->transport);
    }
    return true;
}

/* ---- One socket ------------------------------------------------------------------------------ */

static int intOption(int fd, int level, int option)
{
    int value = -1;
    socklen_t size = sizeof value;
    return getsockopt(fd, level, option, &value, &size) == 0 ? value : -1;
}

static uint8_t tcpState(int fd)
{
    struct tcp_info info;
    socklen_t size = sizeof info;
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_state
                                                                    : TCP_STATE_CLOSE;
}

/* False: not an internet address. */
static bool addressOf(const struct sockaddr_storage *s, uint8_t *address, uint16_t *port)
{
    const struct sockaddr_in *v4 = (const void *)s;
    const struct sockaddr_in6 *v6 = (const void *)s;
    if (s->ss_family == AF_INET) {
        memcpy(address, &v4->sin_addr, 4);
        *port = v4->sin_port;
    } else if (s->ss_family == AF_INET6) {
        memcpy(address, &v6->sin6_addr, 16);
        *port = v6->sin6_port;
    } else {
        return false;
    }
    return true;
}

static bool describe(int fd, SockFound *f)
{
    struct sockaddr_storage here, there;
    socklen_t size = sizeof here;
    uint8_t local[16] = {0}, remote[16] = {0};
    uint16_t localPort = 0, remotePort = 0;
    int protocol = intOption(fd, SOL_SOCKET, SO_PROTOCOL);
    memset(f, 0, sizeof *f);
    memset(&here, 0, sizeof here);
    memset(&there, 0, sizeof there);
    if ((protocol != IPPROTO_TCP && protocol != IPPROTO_UDP) ||
            getsockname(fd, (struct sockaddr *)&here, &size) != 0 ||
            !addressOf(&here, local, &localPort) || localPort == 0) {
        return false; /* an unbound socket has no address, and probing would bind it */
    }
    size = sizeof there;
    f->peer = getpeername(fd, (struct sockaddr *)&there, &size) == 0 &&
              addressOf(&there, remote, &remotePort);
    f->protocol = (uint8_t)protocol;
    f->state = protocol == IPPROTO_TCP ? tcpState(fd) : TCP_STATE_CLOSE;
    SockAddrsSet(&f->ends, here.ss_family, local, localPort, remote, remotePort);
    return true;
}

static void triggerTracepoint(int fd, const SockFound *f)
{
    char byte;
    if (f->protocol == IPPROTO_TCP) {
        (void)!recv(fd, &byte, 1, MSG_OOB | MSG_PEEK | MSG_DONTWAIT);
    } else {
        (void)!send(fd, "", 0, MSG_OOB | MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

/* ---- A process ------------------------------------------------------------------------------- */

/*
 * The batch is only used if there are exactly as many records as probed sockets, in the same order.
 * A wrong address is worse than none.
 */
static void readBatch(SockProbe *p, uint32_t pid, SockFoundProc *found, void *ctx)
{
    TraceEvent event;
    int n = 0;
    if (p->transport->ops->refill != NULL) {
        p->transport->ops->refill(p->transport);
    }
    TraceMergeRefill(p->merge);
    while (TraceMergeNext(p->merge, UINT64_MAX, &event)) {
        if (n < p->count && event.size >= (uint32_t)p->sk.offset + p->sk.size) {
            p->batch[n].sk = KernelUint(p->sk, event.data);
        }
        n++;
    }
    for (int i = 0; n == p->count && i < n; i++) {
        if (p->batch[i].sk != 0) {
            found(ctx, pid, &p->batch[i]);
        }
    }
    p->count = 0;
}

/* Duplicate a descriptor of a process into this one. -1: not a socket, closed, or not permitted. */
static int duplicateDescriptor(int pidfd, const char *path, const char *name)
{
    char link[400], target[32];
    ssize_t n;
    snprintf(link, sizeof link, "%s/%s", path, name);
    n = readlink(link, target, sizeof target - 1);
    if (n < 8 || memcmp(target, "socket:[", 8) != 0) {
        return -1;
    }
    return pidfd < 0 ? fcntl(atoi(name), F_DUPFD_CLOEXEC, 0)
                     : (int)syscall(SYS_pidfd_getfd, pidfd, atoi(name), 0);
}

static void walkDescriptors(
        SockProbe *p, uint32_t pid, int pidfd, DIR *dir, SockFoundProc *found, void *ctx)
{
    char path[64];
    struct dirent *e;
    snprintf(path, sizeof path, "/proc/%u/fd", pid);
    while ((e = readdir(dir)) != NULL) {
        int fd = duplicateDescriptor(pidfd, path, e->d_name);
        if (fd < 0) {
            continue;
        }
        if (describe(fd, &p->batch[p->count])) {
            triggerTracepoint(fd, &p->batch[p->count++]);
        }
        close(fd);
        if (p->count == BATCH) {
            readBatch(p, pid, found, ctx);
        }
    }
    readBatch(p, pid, found, ctx);
}

bool SockProbeProcess(SockProbe *p, uint32_t pid, SockFoundProc *found, void *ctx)
{
    char path[64];
    int pidfd = -1;
    DIR *dir;
    if (p == NULL || !followThisThread(p)) {
        return false;
    }
    if (pid != OsPid() && (pidfd = (int)syscall(SYS_pidfd_open, pid, 0)) < 0) {
        return false;
    }
    snprintf(path, sizeof path, "/proc/%u/fd", pid);
    dir = opendir(path);
    if (dir != NULL) {
        p->count = 0;
        readBatch(p, pid, found, ctx); /* remove records of earlier probes */
        walkDescriptors(p, pid, pidfd, dir, found, ctx);
        closedir(dir);
    }
    if (pidfd >= 0) {
        close(pidfd);
    }
    return dir != NULL;
}

bool SockDescribe(uint32_t pid, int fd, SockFound *found)
{
    char path[64], name[16];
    int pidfd = pid == OsPid() ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
    int own = -1;
    bool good = false;
    snprintf(path, sizeof path, "/proc/%u/fd", pid);
    snprintf(name, sizeof name, "%d", fd);
    if (pid == OsPid() || pidfd >= 0) {
        own = duplicateDescriptor(pidfd, path, name);
    }
    if (own >= 0) {
        good = describe(own, found);
        close(own);
    }
    if (pidfd >= 0) {
        close(pidfd);
    }
    return good;
}
