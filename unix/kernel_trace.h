/*
 * unix/kernel_trace.h --
 *
 *	A tracefs instance (kernel_trace.c) and the time-ordered walk over the raw pages of several
 *instances (kernel_merge.c). Knows bytes and ticks, not what an event means.
 */
#ifndef ETW_UNIX_KERNEL_TRACE_H
#define ETW_UNIX_KERNEL_TRACE_H

#include "base/os.h"
#include "base/status.h"
#include <event-parse.h>
#include <tracefs.h>

/*
 * One trace instance. Its directory carries the owner's pid and start time, so that whoever comes
 * later can tell that the owner is dead (TraceSweep). All open files are ours alone and closed
 * before the directory is removed: the kernel refuses otherwise.
 */
typedef struct TraceInstance {
    struct tracefs_instance *fs; /* NULL: not there */
    int cpus;
    int *pipes; /* per_cpu/cpuN/trace_pipe_raw, non-blocking; -1: CPU not there */
} TraceInstance;

/* tracefs is mounted and ours to use; else the error names the remedy. Never mounts. */
EtwStatus TraceUsable(EtwError *errPtr);
/*
 * Create etw-PID-START-SESSION SUFFIX with a ring of perCpuKB for each CPU and the session clock.
 * Nothing is enabled yet.
 */
EtwStatus TraceOpen(TraceInstance *t, const char *session, const char *suffix, size_t perCpuKB,
        EtwError *errPtr);
/* filter NULL: none. */
EtwStatus TraceEnable(TraceInstance *t, const char *system, const char *event, const char *filter,
        EtwError *errPtr);
/* Replace or extend the content of a control file. */
EtwStatus TraceWrite(TraceInstance *t, const char *file, const char *text, EtwError *errPtr);
EtwStatus TraceAppend(TraceInstance *t, const char *file, const char *text, EtwError *errPtr);
bool TraceHas(TraceInstance *t, const char *file);
void TraceOff(TraceInstance *t);
void TraceOn(TraceInstance *t); /* as it is when made */
/* Events that the ring overwrote or refused, so far (reads a file a CPU). */
uint64_t TraceLost(TraceInstance *t);
void TraceClose(TraceInstance *t);
int TraceSweep(void);

/* ---- Merge (kernel_merge.c) ---------------------------------------------------------------------
 */

typedef struct TraceEvent {
    uint64_t ticks;
    const uint8_t *data; /* the record, common fields first; valid until the next call */
    uint32_t size;
    uint16_t cpu;
    uint16_t instance; /* index given to TraceMergeAdd */
} TraceEvent;

typedef struct TraceMerge TraceMerge;
TraceMerge *TraceMergeNew(size_t pageSize);
void TraceMergeAdd(TraceMerge *m, const TraceInstance *t, uint16_t instance);
/* Look at the rings again: streams that were empty may have got events. */
void TraceMergeRefill(TraceMerge *m);
/* The oldest event not younger than `until`; false: none. */
bool TraceMergeNext(TraceMerge *m, uint64_t until, TraceEvent *event);
/* True once since the last call when a page told of lost events. */
bool TraceMergeMissed(TraceMerge *m);
void TraceMergeFree(TraceMerge *m);

#endif
