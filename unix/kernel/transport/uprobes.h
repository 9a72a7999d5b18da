/*
 * unix/kernel/transport/uprobes.h --
 *
 *	Uprobes on functions of libc. A group's uprobes are created when it is enabled, and removed when no
 *	session of this process has it enabled. Each process has its own, as tracepoints of a system with its
 *	name, so that one process does not remove what another is about to use.
 */
#ifndef ETW_UPROBES_H
#define ETW_UPROBES_H

#include "base/status.h"
#include <stdbool.h>

/*
 * The registers of a call's first arguments, in the kernel's notation; "": not known for this
 * processor.
 */
#if defined(__x86_64__)
#define ARG_1 "%di"
#define ARG_2 "%si"
#define ARG_4 "%cx"
#elif defined(__aarch64__)
#define ARG_1 "%x0"
#define ARG_2 "%x1"
#define ARG_4 "%x3"
#else
#define ARG_1 ""
#define ARG_2 ""
#define ARG_4 ""
#endif

typedef struct KernelUprobe {
    const char *name; /* of the tracepoint */
    const char *function;
    const char *arguments; /* fields of the tracepoint, in the kernel's notation */
    bool atReturn;
} KernelUprobe;

#define KERNEL_UPROBES "etw" /* stands for the system of this process in tables of tracepoints */

/* The system itself if it is KERNEL_UPROBES, otherwise `system`. Valid in this thread. */
const char *KernelUprobesSystem(const char *system);
bool KernelUprobesPossible(void); /* by kernel and processor */
/* Create those that do not exist, and remove those of processes that have ended. They fire in every process that uses the libc of this process. */
EtwStatus KernelUprobesMake(const KernelUprobe *probes, int count, EtwError *err);
/* Remove those of processes that have ended. Their trace instances must have been removed before (TraceSweep). */
void KernelUprobesSweep(void);
/* Those that a session of this process still uses stay. */
void KernelUprobesRemove(const KernelUprobe *probes, int count);

#endif
