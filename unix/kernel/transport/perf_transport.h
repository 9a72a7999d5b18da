/*
 * unix/kernel/transport/perf_transport.h --
 *
 *	Shared by the two files of the perf transport: the perf ring of one CPU (perf_ring.c), which the
 *	events that perf_transport.c opens fill. perf_event_open(2) documents the ring and its records.
 */
#ifndef ETW_PERF_TRANSPORT_H
#define ETW_PERF_TRANSPORT_H

#include "unix/kernel/transport/perf_clock.h"
#include "unix/kernel/transport/transport.h"
#include <linux/perf_event.h>

typedef struct PerfRing PerfRing;

int PerfOpenFd(struct perf_event_attr *attr, int tid, int cpu); /* -1: errno says why */
/*
 * Of a CPU, with kb (a power of two) for records. The calling thread carries it. clock stays the
 * caller's. NULL: errno (ENODEV: there is no such CPU just now; EPERM or ENOMEM: perhaps too large).
 */
PerfRing *PerfRingNew(
        int cpu, size_t kb, uint8_t transport, uint64_t layout, const PerfClock *clock);
int PerfRingFd(const PerfRing *ring); /* for PERF_EVENT_IOC_SET_OUTPUT */
TraceStream *PerfRingStream(PerfRing *ring);
uint64_t PerfRingLost(const PerfRing *ring); /* as far as the ring itself told */
void PerfRingFree(PerfRing *ring);

/* Every event of a ring has this layout: time, callchain, raw; or that of samples: ip, pid, tid, time,
 * callchain. */
#define PERF_LAYOUT (PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW)
#define PERF_SAMPLES (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN)

/* CAP_PERFMON is there, or everybody may. */
bool PerfAllowed(void);
int PerfParanoid(void); /* kernel.perf_event_paranoid */

#endif
