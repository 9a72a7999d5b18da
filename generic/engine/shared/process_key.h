/*
 * engine/shared/process_key.h --
 *
 *	Keys of the processes that have joined the registry. A key consists of an index in
 *	Registry.processes and a generation. Shared memory identifies processes by keys where it
 *	matters whether a process is alive: process ids differ between pid namespaces and are
 *	reused, and a process may have executed another program or lost its main thread. A process
 *	is alive while it holds the slot of its index (OsSlotHold).
 */
#ifndef ETW_PROCESS_KEY_H
#define ETW_PROCESS_KEY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define REG_KEY_UNKNOWN UINT32_MAX /* for a process that has not joined; counts as alive */

/* Key of this process, written by registry.c. */
extern _Atomic uint32_t regSelfKey;
static inline uint32_t RegSelfKey(void)
{
    return atomic_load_explicit(&regSelfKey, memory_order_relaxed);
}
/* False: the process has ended or executed another program. True if alive or unknown. */
bool RegProcessLives(uint32_t key);

#endif
