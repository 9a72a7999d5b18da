/*
 * script/usdt_probe.c --
 *
 *	Defines the static probes of usdt_probe.h: their semaphores, and the one location of each.
 *	sys/sdt.h (Debian: systemtap-sdt-dev) documents the format of the ELF notes that describe
 *	them.
 */
#include "script/usdt_probe.h"

#ifdef ETW_HAVE_SDT

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

/* In a separate section, as the ELF notes require; hidden, so that they are addressed directly. */
#define SEMAPHORE                                                                                  \
    __attribute__((section(".probes"), used, visibility("hidden"))) volatile unsigned short
SEMAPHORE etw_script__enter_semaphore = 0, etw_script__leave_semaphore = 0;

void EtwProbeEnter(const char *name, unsigned depth, uint64_t id)
{
    DTRACE_PROBE3(etw, script__enter, name, depth, id);
}

void EtwProbeLeave(const char *name, int code, uint64_t duration, uint64_t id)
{
    DTRACE_PROBE4(etw, script__leave, name, code, duration, id);
}

#endif
