/*
 * engine/shared/process_key.h --
 *
 *	Keys of the processes that have joined the registry. A key is an index in Registry.processes and a
 *	generation. Shared memory names a process by its key where it must be known whether that process is
 *	alive: process ids differ between pid namespaces, are used again, and a process may have replaced its
 *	program or lost its main thread. A process is alive while it holds the slot of its index (OsSlotHold).
 */
#ifndef ETW_PROCESS_KEY_H
#define ETW_PROCESS_KEY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define REG_KEY_UNKNOWN UINT32_MAX /* of a process that has not joined; counts as alive */

/* Of this process. registry.c writes it. */
extern _Atomic uint32_t regSelfKey;
static inline uint32_t RegSelfKey(void)
{
    return atomic_load_explicit(&regSelfKey, memory_order_relaxed);
}
/* False: the process has ended or executed another program. True also when that is unknown. */
bool RegProcessLives(uint32_t key);

#endif
