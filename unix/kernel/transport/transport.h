/*
 * unix/kernel/transport/transport.h --
 *
 *	The transport of tracepoint records and CPU samples from the kernel. There are two implementations of
 *	one interface: a private tracefs instance (tracefs_transport.c: cheap, requires root, no stacks) and
 *	perf events (perf_transport.c: with stacks, requires CAP_PERFMON). Both pass the same bytes of a record
 *	to the merge by time (ring_merge.c), so that other code does not depend on the transport. A transport
 *	belongs to one EtwKernel or one SockProbe and to the thread that uses it.
 */
#ifndef ETW_TRANSPORT_H
#define ETW_TRANSPORT_H

#include "engine/engine.h"
#include "symbol/unwind.h"
#include "base/os.h"
#include "base/status.h"
#include <event-parse.h>

/* ---- Merge (ring_merge.c) ------------------------------------------------------------------ */

typedef struct TraceEvent {
    uint64_t ticks;
    const uint8_t *data; /* the record, common fields first; valid until the next call */
    uint32_t size;
    uint16_t cpu;
    uint8_t transport;    /* KernelTransportConfig.number of its transport */
    uint8_t stackCount;   /* addresses that follow, the innermost first */
    const uint8_t *stack; /* 8 bytes each; valid as long as data */
    const EtwUnwindSample
            *copy; /* without pid: callers in user mode are to be found from it; NULL: none */
} TraceEvent;

/* A ring of one CPU. Its transport creates and frees it. */
typedef struct TraceStream TraceStream;
struct TraceStream {
    bool (*next)(TraceStream *s); /* read the next event; false: none now */
    TraceEvent event;
    bool queued; /* event waits in the heap */
    bool missed; /* set by next when the ring reports lost events */
};

typedef struct TraceMerge TraceMerge;
TraceMerge *TraceMergeNew(void);
void TraceMergeAdd(TraceMerge *m, TraceStream *stream);
/* Check the rings again: streams that were empty may have events. */
void TraceMergeRefill(TraceMerge *m);
/* The oldest event not younger than `until`; false: none. */
bool TraceMergeNext(TraceMerge *m, uint64_t until, TraceEvent *event);
/* Whether a ring has reported lost events since the last call. */
bool TraceMergeMissed(TraceMerge *m);
void TraceMergeFree(TraceMerge *m); /* before its streams */

/* ---- Transports ------------------------------------------------------------------------------ */

/* Where a tracepoint is collected: from followed threads, or from all threads. */
enum { IN_MAIN, IN_ANY, INSTANCES };

typedef struct KernelRequest {
    const struct tep_event *format;
    uint8_t instance;
    EtwStackKind stacks;
    const char *filter; /* evaluated by the kernel; NULL: none */
    uint64_t interval;  /* ns of CPU time between two samples; 0: an event for each occurrence */
} KernelRequest;

typedef struct KernelTransport KernelTransport;
typedef struct KernelTransportOps {
    /* Collect a tracepoint, or change how it is collected. */
    EtwStatus (*enable)(KernelTransport *t, const KernelRequest *request, EtwError *err);
    void (*disable)(KernelTransport *t, const KernelRequest *request);
    /*
     * Follow all threads of a process, including those that start meanwhile, and all their future
     * children, except our own threads that are never traced. known: it is followed already (perhaps as
     * a child), so that only what was enabled since the last start is added.
     */
    EtwStatus (*follow)(KernelTransport *t, uint32_t pid, bool known, EtwError *err);
    EtwStatus (*followAll)(KernelTransport *t, EtwError *err);
    EtwStatus (*followOne)(KernelTransport *t, uint32_t tid, EtwError *err); /* this thread alone */
    bool (*hide)(KernelTransport *t, uint32_t tid); /* true: the kernel excludes it */
    void (*start)(KernelTransport *t); /* collect what is enabled, for what is followed */
    void (*stop)(KernelTransport *t);
    void (*refill)(KernelTransport *t);   /* before the rings are checked; NULL: nothing to do */
    uint64_t (*lost)(KernelTransport *t); /* events so far; costs system calls */
    void (*close)(KernelTransport *t);
} KernelTransportOps;

struct KernelTransport {
    const KernelTransportOps *ops;
};

typedef struct KernelTransportConfig {
    const char *session, *suffix; /* for names that an administrator may see */
    size_t perCpuKB;              /* ring of each CPU */
    size_t page;                  /* bytes of a tracefs page */
    bool any;                     /* IN_ANY will be used */
    bool copies;                  /* perf: events may have copies of user stacks */
    bool samples;                 /* perf: samples only, else tracepoints only */
    struct tep_event *newTask;    /* task:task_newtask, for PathCallsOpen; else NULL */
    uint8_t number;               /* for TraceEvent.transport */
    TraceMerge *merge;            /* receives the rings */
} KernelTransportConfig;

typedef EtwStatus KernelTransportOpen(
        KernelTransport **tPtr, const KernelTransportConfig *config, EtwError *err);
KernelTransportOpen TracefsOpen, PerfOpen;

/* A sample in the form of a record, with a type that no tracepoint has. */
enum { SAMPLE_TYPE_ID = 0 };
typedef struct KernelSample {
    uint16_t type;
    uint8_t flags, preempted;
    uint32_t tid; /* up to here the common fields */
    uint32_t pid;
    uint32_t inKernel;
    uint64_t address;
} KernelSample;

/*
 * A file was mapped with the right to execute it, or a process begins to execute another program. The path and the
 * record are valid until the next one.
 */
enum { IMAGE_TYPE_ID = 2 };
typedef struct KernelImage {
    uint16_t type;
    uint8_t flags, preempted;
    uint32_t tid; /* up to here the common fields */
    uint32_t pid;
    uint8_t isExec; /* the next members are of a mapping */
    uint8_t buildSize, build[ETW_BUILD_ID_MAX];
    uint64_t address, size, offset; /* offset: in the file */
    const char *path;
} KernelImage;
struct tep_event *KernelImageFormat(void); /* for KernelRequest, perf only */

/* True if a thread of ours must never be traced. */
bool KernelIsIgnored(uint32_t tid);

#endif
