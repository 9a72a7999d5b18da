/*
 * engine/kernel_events.h --
 *
 *	The platform's kernel tracing for the embedded engine: unix/kernel. On Windows only the system
 *	engine has kernel events. A session has one EtwKernel, which its logger thread uses. The
 *	controller calls open and close while the logger does not drain (the session's lock is held).
 */
#ifndef ETW_KERNEL_EVENTS_H
#define ETW_KERNEL_EVENTS_H

#include "engine/engine.h"

typedef struct EtwKernel EtwKernel;

/* One kernel event, ready to be stored. */
typedef struct EtwKernelRecord {
    uint64_t ticks; /* session clock (OsTicks) */
    int cpu;
    uint32_t pid, tid; /* the process and thread of the event, or the socket's owner */
    Etw_Event *event;  /* defined by unix/kernel through etw.h */
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
 * Emit every event with ticks <= until, in time order over all CPUs. Later events remain for the next
 * call. Called by the logger thread only.
 */
void EtwKernelDrain(EtwKernel *kernel, uint64_t until, EtwKernelEmit *emit, void *ctx);
uint64_t EtwKernelLost(const EtwKernel *kernel);
/* Exclude a thread of the library from tracing. */
void EtwKernelIgnoreThread(uint32_t tid);
/* Exclude all threads that this process has: for programs that only record, as etw-logger and etw record. */
void EtwKernelIgnoreProcess(void);
/* Stop collecting now (events already in the ring stay drainable), and free. */
void EtwKernelQuiesce(EtwKernel *kernel);
void EtwKernelClose(EtwKernel *kernel);
/* Call visit for each group and tracepoint of this machine, with a portable name and a description.
 * Where tracing is not possible: for the groups only, with what is missing. */
void EtwKernelGroups(
        void (*visit)(void *ctx, const char *group, const char *description), void *ctx);
/* Remove tracing instances and uprobes left behind by dead processes. Returns the number of instances. */
int EtwKernelSweep(void);

#endif
