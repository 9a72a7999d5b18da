/*
 * unix/kernel/kernel_int.h --
 *
 *	The struct EtwKernel, shared by the files of unix/kernel: what is enabled, and the
 *	conversion of records to events.
 *
 *	A tracepoint is a KernelTracepoint, found by the type number in its records. It may supply
 *	several portable groups (through its definition's proc), and may also be enabled by name
 *	(raw). Its definition has the instance that collects it: the kernel filters IN_MAIN by pid;
 *	the drain filters IN_ANY by socket.
 */
#ifndef ETW_KERNEL_INT_H
#define ETW_KERNEL_INT_H

#include "engine/kernel_events.h"
#include "engine/provider/provider.h"
#include "unix/kernel/transport/tracepoint_format.h"
#include "unix/kernel/socket_probe.h"
#include "unix/kernel/socket_table.h"
#include "unix/kernel/transport/task_table.h"
#include "unix/kernel/transport/transport.h"

/*
 * An event about two threads (a switch from one to another): IN_MAIN where the kernel's filter
 * checks both threads, as tracefs does. perf would drop events for the new thread, so there IN_ANY.
 */
enum { IN_PAIR = INSTANCES };
/*
 * IN_MAIN, and always through perf. These are breakpoints: with tracefs all processes would hit
 * them, traced or not.
 */
enum { IN_UPROBES = IN_PAIR + 1 };

enum {
    BY_TRACEFS,
    BY_PERF,
    BY_SAMPLING,        /* perf's samples */
    BY_COPIES,          /* perf, with copies of user stacks */
    BY_COPIES_SAMPLING, /* samples with copies */
    BY_PATH_CALLS,
    TRANSPORTS
};

/* Portable groups; bits of EtwKernel.groups. */
typedef enum KernelGroupId {
    GROUP_PROCESS,
    GROUP_THREAD,
    GROUP_CONTEXTSWITCH,
    GROUP_DISPATCHER,
    GROUP_SYSTEMCALL,
    GROUP_TCPIP,
    GROUP_UDPIP,
    GROUP_WINDOWS4, /* TCP and UDP as events of Windows' Kernel-Network provider: */
    GROUP_WINDOWS6, /* IPv4, IPv6 (windows_net.c) */
    GROUP_FILEIO,
    GROUP_DISKIO,
    GROUP_PAGEFAULT,
    GROUP_HARDFAULT,
    GROUP_VIRTUALALLOC,
    GROUP_INTERRUPT,
    GROUP_DPC,
    GROUP_PROFILE,
    GROUP_HEAP,
    GROUP_IMAGELOAD,
    GROUPS
} KernelGroupId;

/*
 * Event classes of the groups. Those of sockets have two layouts: IPv4, directly followed by IPv6.
 */
typedef enum KernelEventId {
    EV_PROCESS_START,
    EV_PROCESS_EXEC,
    EV_PROCESS_STOP,
    EV_THREAD_START,
    EV_THREAD_STOP,
    EV_SWITCH,
    EV_READY,
    EV_SYSCALL_ENTER,
    EV_SYSCALL_EXIT,
    EV_TCP_CONNECT,
    EV_TCP_ACCEPT = EV_TCP_CONNECT + 2,
    EV_TCP_DISCONNECT = EV_TCP_ACCEPT + 2,
    EV_TCP_STATE = EV_TCP_DISCONNECT + 2,
    EV_TCP_SEND = EV_TCP_STATE + 2,
    EV_TCP_RECEIVE = EV_TCP_SEND + 2,
    EV_TCP_RETRANSMIT = EV_TCP_RECEIVE + 2,
    EV_UDP_SEND = EV_TCP_RETRANSMIT + 2,
    EV_UDP_RECEIVE = EV_UDP_SEND + 2,
    EV_WIN_SENT = EV_UDP_RECEIVE + 2,
    EV_WIN_RECEIVED = EV_WIN_SENT + 2,
    EV_WIN_ATTEMPTED = EV_WIN_RECEIVED + 2,
    EV_WIN_DISCONNECTED = EV_WIN_ATTEMPTED + 2,
    EV_WIN_RETRANSMITTED = EV_WIN_DISCONNECTED + 2,
    EV_WIN_ACCEPTED = EV_WIN_RETRANSMITTED + 2,
    EV_WIN_UDP_SENT = EV_WIN_ACCEPTED + 2,
    EV_WIN_UDP_RECEIVED = EV_WIN_UDP_SENT + 2,
    EV_FILE_CREATE = EV_WIN_UDP_RECEIVED + 2,
    EV_FILE_CLOSE,
    EV_FILE_READ,
    EV_FILE_WRITE,
    EV_FILE_FLUSH,
    EV_FILE_DELETE,
    EV_FILE_RENAME,
    EV_DISK_INIT,
    EV_DISK_READ,
    EV_DISK_WRITE,
    EV_DISK_FLUSH,
    EV_DISK_OTHER,
    EV_FAULT,
    EV_HARD_FAULT,
    EV_ALLOC,
    EV_FREE,
    EV_ISR_ENTER,
    EV_ISR_EXIT,
    EV_DPC_ENTER,
    EV_DPC_EXIT,
    EV_SAMPLE,
    EV_HEAP_ALLOC,
    EV_HEAP_REALLOC,
    EV_HEAP_FREE,
    EV_IMAGE_LOAD,
    EV_IMAGE_UNLOAD,
    EV_IMAGE_DCSTART,
    EV_IMAGE_DCEND,
    EVENTS
} KernelEventId;

/* The groups about sockets; bits of EtwKernel.groups. */
#define KERNEL_SOCKET_GROUPS                                                                       \
    (1u << GROUP_TCPIP | 1u << GROUP_UDPIP | 1u << GROUP_WINDOWS4 | 1u << GROUP_WINDOWS6)

enum { TRACEPOINT_FIELDS = 12 };
typedef struct KernelTracepoint KernelTracepoint;
typedef void KernelTracepointProc(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e);

/* A tracepoint that supplies portable groups: static data. */
typedef struct KernelTracepointDef {
    const char *system, *name;
    uint8_t instance;
    const char *filter; /* evaluated by the kernel; drops only what the proc ignores */
    KernelTracepointProc *proc;
    const char *fields[TRACEPOINT_FIELDS + 1]; /* in the order that proc expects; '?': optional */
} KernelTracepointDef;

typedef struct KernelCalls KernelCalls;         /* socket_calls.c */
typedef struct KernelFiles KernelFiles;         /* file_group.c */
typedef struct KernelDisks KernelDisks;         /* system_group.c */
typedef struct KernelHeap KernelHeap;           /* heap_group.c */
typedef struct KernelImages KernelImages;       /* image_group.c */
typedef struct KernelRaw KernelRaw;             /* named_tracepoints.c */
typedef struct KernelUnwinding KernelUnwinding; /* kernel_unwind.c */

struct KernelTracepoint {
    const KernelTracepointDef *def; /* NULL: only enabled by name */
    struct tep_event *format;
    KernelField f[TRACEPOINT_FIELDS];
    uint32_t need; /* minimum size of a record for f */
    bool on;       /* collected, as described by the next members */
    uint8_t transport;
    uint8_t instance;
    EtwStackKind stacks;
    const char *filter;
    uint64_t interval; /* ns; of samples */
    /* After a move from another transport, older events count there, later ones here. */
    uint64_t since; /* ticks; UINT64_MAX: not started yet; 0: never moved */
    uint8_t oldTransport, oldInstance;
    KernelRaw *raw; /* NULL: not enabled by name */
};

/* The result of a thread's last UDP route lookup, for the send that follows. */
typedef struct KernelRoute {
    uint32_t tid;
    bool fresh;     /* not used by a send yet */
    bool connected; /* two lookups, as connect makes them */
    SockAddrs ends;
} KernelRoute;
enum { ROUTES = 64, CONTEXTS = 64, PROBED = 16 };

/* For tests: use perf even where tracefs would do. */
extern bool kernelPerf;

struct EtwKernel {
    char *session;
    struct tep_handle *formats;
    KernelTransport *transport[TRANSPORTS]; /* NULL: not opened */
    TraceMerge *merge;
    _Atomic bool hidesThreads; /* tracefs excludes the threads that are never traced */
    SockProbe *probe;          /* NULL: no socket group is enabled, or not possible */

    /* What is enabled, and how new tracepoints are collected. */
    uint8_t by;
    EtwStackKind stacks;
    uint64_t interval; /* ns between samples */
    size_t ringKB;     /* minimum size of the ring of each CPU */
    uint32_t groups;
    uint32_t prepared;         /* groups that were prepared, whose kernel objects must be removed */
    KernelTracepoint **points; /* by type number; NULL entries: not enabled */
    uint32_t pointCapacity;
    Etw_Provider *providers[GROUPS];
    Etw_Event *events[EVENTS];

    /* State of the traced system. */
    KernelTasks tasks;
    KernelSocks socks;
    KernelCalls *calls;         /* socket_calls.c; NULL: the kernel has socket lengths */
    KernelFiles *files;         /* NULL: no fileio, virtualalloc */
    KernelDisks *disks;         /* NULL: no diskio */
    KernelHeap *heap;           /* NULL: no heap */
    KernelImages *images;       /* NULL: no imageload */
    KernelUnwinding *unwinding; /* NULL: no copies of stacks so far */
    KernelRoute routes[ROUTES]; /* by tid */
    struct {
        uint32_t tid, pid;
        uint64_t ticks;
    } contexts[CONTEXTS]; /* by tid: processes of untraced threads, valid for a second */
    uint32_t probed[PROBED];
    int probedCount; /* processes whose sockets were probed in this drain */
    uint64_t lost;
    bool counted; /* lost is final */

    /* During a drain. */
    EtwKernelEmit *emit;
    void *emitCtx;
    uint8_t payload[16384];

    struct EtwKernel *next; /* all of this process: linux_kernel.c */
};

/* ---- Tables (task_group.c) ---------------------------------------------------------------- */

typedef struct KernelGroup {
    const char *name, *description;
    const KernelTracepointDef *const
            *points; /* NULL-terminated; without one of them: UNSUPPORTED */
    const KernelTracepointDef *const *extras; /* optional tracepoints; NULL: none */
    KernelEventId firstEvent; /* the others of the declared provider follow, in their order */
} KernelGroup;
extern const KernelGroup kernelGroups[GROUPS];
/* The tracepoints that maintain the table of tasks, whatever else is enabled. */
extern const KernelTracepointDef *const kernelTaskPoints[];
extern const KernelTracepointDef *const kernelProcessExtras[],
        *const kernelSwitchPoints[], *const kernelWakePoints[], *const kernelCallPoints[];
/* Register the group's provider and define its events. */
EtwStatus KernelDefine(EtwKernel *k, KernelGroupId group, EtwError *errPtr);

/* ---- Files (file_group.c), memory, disks, interrupts (system_group.c) ------------------------- */

extern const KernelTracepointDef *const kernelFilePoints[], *const kernelFileExtras[];
/* Calls with paths: the records of a BPF program; without it, tracepoints and uprobes. */
extern const KernelTracepointDef kernelPathCallPoint;
extern const KernelTracepointDef *const kernelPathPoints[];
extern const KernelTracepointDef *const kernelDiskPoints[],
        *const kernelFaultPoints[], *const kernelHardFaultPoints[],
                                            *const kernelAllocPoints[],
                                                    *const kernelInterruptPoints[],
                                                            *const kernelDpcPoints[];
/* GROUP_PROFILE: not a tracepoint, but handled like one. */
extern const KernelTracepointDef kernelSamplePoint;
extern const KernelTracepointDef *const kernelProfilePoints[];
struct tep_event *KernelSampleFormat(void);
/* Before kernelPathPoints are looked up: create those that report names. */
void KernelFilesPrepare(void);
/* Note the names of the files that a process has open. */
void KernelFilesScan(EtwKernel *k, uint32_t pid);
void KernelFilesFree(EtwKernel *k);

/* ---- Heap of libc (heap_group.c) ---------------------------------------------------------------- */

extern const KernelTracepointDef *const kernelHeapPoints[];
/* Before the points of GROUP_HEAP are looked up: create them. */
EtwStatus KernelHeapPrepare(EtwError *err);
void KernelHeapFree(EtwKernel *k);

/* ---- Images (image_group.c) ---------------------------------------------------------------------- */

/* GROUP_IMAGELOAD: not a tracepoint, but handled like one. */
extern const KernelTracepointDef kernelImagePoint;
extern const KernelTracepointDef *const kernelImagePoints[];
/* Note the images of a process, 0 for those of the kernel, that is not in the table yet. */
void KernelImagesScan(EtwKernel *k, uint32_t pid);
/* Emit what scans have found before the events after `until`; at the session's end, the images that are there. */
void KernelImagesReport(EtwKernel *k, uint64_t until);
void KernelImagesQuiesce(EtwKernel *k);
void KernelImagesEnd(EtwKernel *k, uint64_t until);
void KernelImagesFork(EtwKernel *k, const TraceEvent *e, uint32_t parent, uint32_t child);
void KernelImagesExit(EtwKernel *k, const TraceEvent *e, uint32_t pid);
void KernelImagesFree(EtwKernel *k);
const EtwImageTable *KernelImagesTable(const EtwKernel *k); /* NULL: no imageload */

/* ---- Copies of stacks (kernel_unwind.c) ----------------------------------------------------------- */

/* Why they cannot be unwound here; NULL: they can. */
const char *KernelUnwindLacks(void);
/* Give a record of an event with a copy its stack, which is valid until the next event. */
void KernelUnwind(EtwKernel *k, const TraceEvent *e, EtwKernelRecord *record);
void KernelUnwindNext(EtwKernel *k); /* another event follows */
void KernelUnwindFree(EtwKernel *k);

/* ---- Sockets (net_group.c) ------------------------------------------------------------------ */

extern const KernelTracepointDef kernelStatePoint, kernelRetransmitPoint, kernelSendPoint,
        kernelReceivePoint, kernelRoutePoint, kernelRoute6Point;
/* Add a socket of a traced process that probing has found. */
void KernelSockAddFound(EtwKernel *k, uint32_t pid, const SockFound *found, uint64_t ticks);
/* Probe the sockets of a process, at most once in a drain. */
void KernelSockProbe(EtwKernel *k, uint32_t pid, uint64_t ticks);

/* A UDP socket is about to send: take its ends from the thread's route lookup, if it made one. */
void KernelSockRoute(EtwKernel *k, KernelSock *sock, uint32_t tid);
/* Emit a transfer; sock's owner becomes pid/tid. */
void KernelNetTransfer(EtwKernel *k, const TraceEvent *e, KernelSock *sock, bool send, int32_t size,
        uint32_t pid, uint32_t tid);

/* ---- Windows' events (windows_net.c) ------------------------------------------------------- */

/* Register the provider and define the events of GROUP_WINDOWS4 or 6. */
EtwStatus KernelWindowsDefine(EtwKernel *k, KernelGroupId group, EtwError *errPtr);
/* Emit event `id` (EV_WIN_*, of IPv4) about a socket, if it is enabled. */
void KernelWindowsEmit(EtwKernel *k, const TraceEvent *e, KernelEventId id, uint32_t pid,
        uint32_t tid, const SockAddrs *ends, uint32_t size);

/* ---- Kernels without socket lengths (socket_calls.c) ----------------------------------------- */

extern const KernelTracepointDef kernelEnterPoint, kernelExitPoint; /* all calls: task_group.c */
extern const KernelTracepointDef kernelSocketEnterPoint,
        kernelSocketExitPoint; /* those on sockets */
/* From now on sends and receives come from system calls. */
void KernelCallsUse(EtwKernel *k);
/* Determine the sockets of a process's open descriptors. */
void KernelCallsScan(EtwKernel *k, uint32_t pid);
void KernelCallsFree(EtwKernel *k);
void KernelCallEnter(EtwKernel *k, const TraceEvent *e, uint32_t id, const uint8_t *args);
/* A socket of a traced process has changed its state, perhaps inside a call. */
void KernelCallState(EtwKernel *k, const TraceEvent *e, KernelSock *sock);
/* A socket that has a number instead of an address may be this one: replace the number. */
void KernelCallIdentify(EtwKernel *k, uint64_t sk, const SockAddrs *ends);
void KernelCallExit(EtwKernel *k, const TraceEvent *e, int64_t result);

/* ---- Tracepoints by name (named_tracepoints.c) ------------------------------------------------------ */

KernelRaw *KernelRawNew(struct tep_event *format, EtwError *errPtr);
void KernelRawEmit(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e);
void KernelRawFree(KernelRaw *raw);

/* ---- Payloads -------------------------------------------------------------------------------- */

/*
 * Counted texts and bytes end at half of the buffer. The other half is larger than a page of the
 * ring, so plain fields, which are copied from one record, always fit behind.
 */
typedef struct KernelPut {
    uint8_t *at, *end;
} KernelPut;

static inline KernelPut KernelPutOf(EtwKernel *k)
{
    return (KernelPut){k->payload, k->payload + sizeof k->payload / 2};
}
static inline void Put8(KernelPut *p, uint8_t v)
{
    *p->at++ = v;
}
static inline void Put16(KernelPut *p, uint16_t v)
{
    EtwStore16(p->at, v);
    p->at += 2;
}
static inline void Put32(KernelPut *p, uint32_t v)
{
    EtwStore32(p->at, v);
    p->at += 4;
}
static inline void Put64(KernelPut *p, uint64_t v)
{
    EtwStore64(p->at, v);
    p->at += 8;
}
/* u16 count and bytes, truncated where the space ends. */
static inline void PutBytes(KernelPut *p, const uint8_t *data, size_t size)
{
    size_t capacity = p->end - p->at > 2 ? (size_t)(p->end - p->at) - 2 : 0;
    size = size > capacity ? capacity : size;
    Put16(p, (uint16_t)size);
    memcpy(p->at, data, size);
    p->at += size;
}
/* The same of text that ends at a NUL or after size bytes. */
static inline void PutText(KernelPut *p, const uint8_t *text, size_t size)
{
    PutBytes(p, text, strnlen((const char *)text, size));
}

static inline void KernelEmitPut(EtwKernel *k, const TraceEvent *e, Etw_Event *event, uint32_t pid,
        uint32_t tid, const KernelPut *put)
{
    EtwKernelRecord record = {e->ticks, e->cpu, pid, tid, event, k->payload,
            (size_t)(put->at - k->payload), e->stack, e->stackCount};
    if (e->copy != NULL) {
        KernelUnwind(k, e, &record);
    }
    k->emit(k->emitCtx, &record);
}

/* The thread that ran at the event, traced or not; also for interrupts. */
static inline uint32_t KernelTidOf(const TraceEvent *e)
{
    return EtwLoad32(e->data + KERNEL_COMMON_PID);
}
/* True if the event was caused by the thread itself, not by an interrupt on top of it. */
static inline bool KernelInThread(const TraceEvent *e)
{
    return (e->data[KERNEL_COMMON_FLAGS] & (KERNEL_FLAG_HARDIRQ | KERNEL_FLAG_SOFTIRQ)) == 0;
}

#endif
