/*
 * unix/kernel/transport/perf_transport.h --
 *
 *	Shared by the two files of the perf transport. perf_ring.c reads the perf ring of one CPU;
 *	perf_transport.c opens the events that fill it. perf_event_open(2) documents the ring and
 *	its records.
 */
#ifndef ETW_PERF_TRANSPORT_H
#define ETW_PERF_TRANSPORT_H

#include "unix/kernel/transport/perf_clock.h"
#include "unix/kernel/transport/transport.h"
#include <linux/perf_event.h>

typedef struct PerfRing PerfRing;

int PerfOpenFd(struct perf_event_attr *attr, int tid, int cpu); /* -1: see errno */
/*
 * Open a CPU's ring with kb (a power of two) for records. It belongs to the calling thread. The
 * caller keeps clock. NULL: see errno (ENODEV: the CPU is offline; EPERM or ENOMEM: possibly too
 * large).
 */
PerfRing *PerfRingNew(
        int cpu, size_t kb, uint8_t transport, uint64_t layout, const PerfClock *clock);
/* What events of a layout with PERF_COPIES have; of those without a copy, one register and no bytes. */
void PerfRequestCopies(struct perf_event_attr *attr, bool copies);
int PerfRingFd(const PerfRing *ring); /* for PERF_EVENT_IOC_SET_OUTPUT */
TraceStream *PerfRingStream(PerfRing *ring);
uint64_t PerfRingLost(const PerfRing *ring); /* as reported by the ring itself */
void PerfRingFree(PerfRing *ring);

/*
 * Layout of every event of a ring: time, callchain, raw. Of samples: ip, pid, tid, time, callchain.
 */
#define PERF_LAYOUT (PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW)
#define PERF_SAMPLES (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN)

/* Added to a layout: copies of the registers and of the top of the user stack. */
#define PERF_COPIES (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

/* Of mappings and execs, at the end of their records: pid, tid, time. */
#define PERF_IMAGES (PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

/* The file of a wide event on a CPU; -1: none. */
int PerfFileOf(const KernelTransport *t, const struct tep_event *format, int cpu);

/* True if this process has CAP_PERFMON or the system permits all users. */
bool PerfAllowed(void);
int PerfParanoid(void); /* kernel.perf_event_paranoid */

#endif
