/*
 * unix/kernel/transport/tracefs_instance.h --
 *
 *	A tracefs instance (tracefs_instance.c) and the iteration over its raw pages (tracefs_pages.c). Does
 *	not interpret events. tracefs_transport.c implements a transport with it.
 */
#ifndef ETW_TRACEFS_INSTANCE_H
#define ETW_TRACEFS_INSTANCE_H

#include "unix/kernel/transport/transport.h"
#include <tracefs.h>

/*
 * One trace instance. The name of its directory has the owner's pid and start time, so that another
 * process can recognize that the owner has died (TraceSweep). Open files are not shared, and are closed
 * before the directory is removed, as the kernel requires.
 */
typedef struct TraceInstance {
    struct tracefs_instance *fs; /* NULL: not created */
    int cpus;
    int *pipes; /* per_cpu/cpuN/trace_pipe_raw, non-blocking; -1: CPU not there */
} TraceInstance;

/*
 * Check that tracefs is mounted and its formats are readable, which every transport requires. The
 * error names the remedy. Never mounts.
 */
EtwStatus TraceReadable(EtwError *errPtr);
/* Whether this process may create instances: it is root. */
bool TraceUsable(void);
/*
 * Create etw-PID-START-SESSION SUFFIX with a ring of perCpuKB for each CPU and the session clock.
 * Nothing is enabled yet.
 */
EtwStatus TraceOpen(TraceInstance *t, const char *session, const char *suffix, size_t perCpuKB,
        EtwError *errPtr);
/* filter NULL: none. */
EtwStatus TraceEnable(TraceInstance *t, const char *system, const char *event, const char *filter,
        EtwError *errPtr);
void TraceDisable(TraceInstance *t, const char *system, const char *event);
/* Replace or extend the content of a control file. */
EtwStatus TraceWrite(TraceInstance *t, const char *file, const char *text, EtwError *errPtr);
EtwStatus TraceAppend(TraceInstance *t, const char *file, const char *text, EtwError *errPtr);
bool TraceHas(TraceInstance *t, const char *file);
void TraceOff(TraceInstance *t);
void TraceOn(TraceInstance *t); /* the state after creation */
/* Events that the ring overwrote or refused so far. Reads one file for each CPU. */
uint64_t TraceLost(TraceInstance *t);
void TraceClose(TraceInstance *t);
int TraceSweep(void);

/* ---- Pages (tracefs_pages.c) ------------------------------------------------------------------ */

/* The stream of one trace_pipe_raw. The caller keeps fd. */
typedef struct TracePages TracePages;
TracePages *TracePagesNew(int fd, uint16_t cpu, uint8_t transport, size_t pageSize);
TraceStream *TracePagesStream(TracePages *pages);
void TracePagesFree(TracePages *pages);

#endif
