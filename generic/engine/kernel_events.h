/*
 * engine/kernel_events.h --
 *
 *	What the embedded engine asks of the platform's kernel tracing (unix/kernel; none on
 *	Windows, where the system engine does it). One EtwKernel a session, owned and driven by its
 *	logger thread; open and close are called by the controller while the logger does not drain
 *	(the session's lock is held).
 */
#ifndef ETW_KERNEL_EVENTS_H
#define ETW_KERNEL_EVENTS_H

#include "engine/engine.h"

typedef struct EtwKernel EtwKernel;

/* One kernel event, ready to be stored. */
typedef struct EtwKernelRecord {
    uint64_t ticks; /* session clock (OsTicks) */
    int cpu;
    uint32_t pid, tid; /* whom the event belongs to (process context, or the socket's owner) */
    Etw_Event *event;  /* defined through etw.h by the kernel room */
    const uint8_t *payload;
    size_t size;
    const uint8_t *stack; /* 8 bytes an address, the innermost first; NULL: none */
    uint8_t stackCount;
} EtwKernelRecord;
typedef void EtwKernelEmit(void *ctx, const EtwKernelRecord *record);

/* Enable (first call: creates; later calls add groups). sessionName names the tracefs instance. */
EtwStatus EtwKernelOpen(EtwKernel **kernelPtr, const char *sessionName,
        const EtwKernelEnable *enable, EtwError *errPtr);
/*
 * Hand over, in time order over all CPUs, every event with ticks <= until. Events younger than that
 * stay for the next call. Called by the logger thread only.
 */
void EtwKernelDrain(EtwKernel *kernel, uint64_t until, EtwKernelEmit *emit, void *ctx);
uint64_t EtwKernelLost(const EtwKernel *kernel);
/* Our own threads are never traced: the logger tells its tid. */
void EtwKernelIgnoreThread(uint32_t tid);
/* Stop collecting now (events already in the ring stay drainable), and free. */
void EtwKernelQuiesce(EtwKernel *kernel);
void EtwKernelClose(EtwKernel *kernel);
/* Groups and tracepoints that this machine has: calls visit with a portable name and what it stands
 * for. Where they cannot be used, the groups alone, with what is missing. */
void EtwKernelGroups(
        void (*visit)(void *ctx, const char *group, const char *description), void *ctx);
/* Remove tracing instances left behind by dead processes. Returns how many. */
int EtwKernelSweep(void);

#endif
