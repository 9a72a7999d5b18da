/*
 * flow/path/path_int.h --
 *
 *	Shared by the files of the path: what is kept of each thread.
 */
#ifndef ETW_PATH_INT_H
#define ETW_PATH_INT_H

#include "flow/path/path.h"
#include "flow/calls/call_tree.h"

/* A period off the CPU. */
typedef struct PathOff {
    int64_t from, ready, to;
    struct PathThread *by; /* woke the thread; NULL: unknown */
    const char *syscall;
    uint32_t byTid;
    uint8_t wake;   /* EtwWakeFrom */
    bool preempted; /* it did not wait */
    bool woken;
    bool created;  /* not off: it did not exist, and `by` created it */
    bool follows;  /* what `by` did ended the wait: the path may continue there */
    bool disk;     /* a request of the thread was done meanwhile */
    bool followed; /* by the walk */
} PathOff;

/* From `time` on, this is the innermost call; NULL: none. */
typedef struct PathMark {
    int64_t time;
    const char *call;
} PathMark;

/* A callback that began at `time` was in the queue since `due`. */
typedef struct PathQueued {
    int64_t due, time;
} PathQueued;

typedef struct PathThread {
    EtwTableNode node; /* by tid */
    struct PathThread *next;
    uint32_t pid, tid;
    const char *process, *name; /* name: as switches have it */
    bool traced;                /* has events of its own */
    bool ended;
    EtwOffCpu off;
    struct PathThread *waker; /* of off.wake; NULL: unknown */
    bool wakerSends;          /* it was sending at the wake-up */
    bool created;             /* off: it does not run for the first time yet */
    int64_t createdAt;
    const char *syscall; /* that it is in; NULL: none */
    const char *reason;  /* why it waits */
    int64_t diskDone;    /* the last of its requests; INT64_MIN: none */
    int64_t firstTime, lastTime;
    const EtwSchema *firstSchema, *lastSchema;
    PathOff *offs;
    size_t offCount, offCapacity;
    PathMark *marks;
    size_t markCount, markCapacity;
    PathQueued *queued;
    size_t queuedCount, queuedCapacity;
    const char **stack; /* open calls */
    size_t depth, stackCapacity;
    /* Of the search: from when on the begin event can have had an effect on the thread; INT64_MAX: never. */
    int64_t reached;
    int64_t leads; /* until when the thread can have had an effect on the end; INT64_MIN: never */
} PathThread;

/* A wait that another thread has ended. */
typedef struct PathEdge {
    PathThread *thread;
    size_t index; /* of the period */
} PathEdge;

typedef struct PathPointRef {
    PathThread *thread;
    int64_t time;
    const EtwSchema *schema;
    EtwGuid activity;
} PathPointRef;

enum { PATH_SYSCALLS = 512 };

struct EtwPath {
    EtwSchemaStore *store;
    EtwCalls *calls;
    EtwTable threads, names;
    PathThread *first, *last, *lastUsed;
    PathThread *firstCalling; /* the first with calls */
    bool switches, wakes;
    const char *syscalls[PATH_SYSCALLS]; /* names by number; NULL: not met yet */
    PathEdge *edges;                     /* in order of the periods' ends */
    size_t edgeCount, edgeCapacity;
    PathPointRef *begins;
    size_t beginCount, beginCapacity;
    PathPointRef end; /* thread NULL: none */
    int64_t time;     /* of the last event */
    /* results */
    EtwPathPoint points[2];
    EtwPathSegment *segments;
    size_t segmentCount, segmentCapacity;
};

#define PATH_GROW(array, count, capacity)                                                          \
    do {                                                                                           \
        if ((count) == (capacity)) {                                                               \
            (capacity) = (capacity) ? 2 * (capacity) : 8;                                          \
            (array) = EtwRealloc((array), (capacity) * sizeof *(array));                           \
        }                                                                                          \
    } while (0)

/* path_log.c: there are no more events. */
void EtwPathLogEnd(EtwPath *p);

#endif
