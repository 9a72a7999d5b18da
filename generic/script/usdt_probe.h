/*
 * script/usdt_probe.h --
 *
 *	Static probes (USDT) at the enter and the leave of a traced call, for perf, bpftrace and
 *	SystemTap: etw:script__enter and etw:script__leave. Each is a nop that is guarded by a semaphore, which
 *	the tracing tool increments. There are none where configure found no sys/sdt.h.
 */
#ifndef ETW_USDT_PROBE_H
#define ETW_USDT_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef ETW_HAVE_SDT

/* Volatile: the tracing tool or the kernel writes here. */
extern volatile unsigned short etw_script__enter_semaphore, etw_script__leave_semaphore;

static inline bool EtwProbed(void)
{
    return __builtin_expect(etw_script__enter_semaphore | etw_script__leave_semaphore, 0) != 0;
}

/* The command's name without leading ::, its nesting depth, the call's id (unique in the process). */
void EtwProbeEnter(const char *name, unsigned depth, uint64_t id);
/* The name, Tcl's return code, nanoseconds since the enter, the call's id. */
void EtwProbeLeave(const char *name, int code, uint64_t duration, uint64_t id);

#else

static inline bool EtwProbed(void)
{
    return false;
}
static inline void EtwProbeEnter(const char *name, unsigned depth, uint64_t id)
{
    (void)name, (void)depth, (void)id;
}
static inline void EtwProbeLeave(const char *name, int code, uint64_t duration, uint64_t id)
{
    (void)name, (void)code, (void)duration, (void)id;
}

#endif
#endif
