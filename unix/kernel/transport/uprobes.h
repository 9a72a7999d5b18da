/*
 * unix/kernel/transport/uprobes.h --
 *
 *	Uprobes on functions of libc, as tracepoints of system "etw". A group's uprobes are created when it is
 *	enabled, and removed when no session has it enabled.
 */
#ifndef ETW_UPROBES_H
#define ETW_UPROBES_H

#include "base/status.h"
#include <stdbool.h>

/* The registers of a call's first arguments, as the kernel calls them; "": not known here. */
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
    const char *arguments; /* fields of the tracepoint, in the kernel's words */
    bool atReturn;
} KernelUprobe;

bool KernelUprobesPossible(void); /* by the kernel and the processor */
/* Those that are not there yet. In every process that has the libc that this one has loaded. */
EtwStatus KernelUprobesMake(const KernelUprobe *probes, int count, EtwError *err);
/* The kernel keeps those that another session has on. */
void KernelUprobesRemove(const KernelUprobe *probes, int count);

#endif
