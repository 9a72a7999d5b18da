/*
 * engine/shared/registry.h --
 *
 *	This process's view of the user's registry: mapped once, locked for changes. Sessions,
 *	providers, enables and event classes are entries; who holds what is in shared_layout.h.
 */
#ifndef ETW_REGISTRY_H
#define ETW_REGISTRY_H

#include "engine/shared/shared_layout.h"
#include "engine/shared/ring.h"

/*
 * Map (and on first use in this process, join) the registry. NULL: *errPtr says why; tried again by
 * the next call.
 */
Registry *RegOpen(EtwError *errPtr);
/* The registry if this process has joined it; never fails, may be NULL. */
Registry *RegGet(void);

/* RegOpen calls this after the process has joined the registry, without the lock: for the first
 * time, or again in a child that was forked. One for the whole process. */
typedef void RegJoinedProc(void);
void RegOnJoin(RegJoinedProc *proc);

/* This process's entry, NULL before it has joined. */
RegProcess *RegSelf(void);

/* Exclusive across threads and processes. Not recursive. */
EtwStatus RegLock(EtwError *errPtr);
/* Only against threads of this process, for what is its own: cannot fail. */
void RegLockLocal(void);
void RegUnlock(void); /* either */

/* ---- Under the lock -------------------------------------------------------------------------- */

/* Index of a session by name (ASCII case folded), or -1. It may be one whose owner is dead:
 * SessionsRecoverDead (engine/session/session.h) removes those first. */
int RegFindSession(const char *name);
void RegDisableSession(int index); /* its enables go */
int RegNewSession(const char *name, int64_t startWall, uint64_t *instancePtr, EtwError *errPtr);
void RegRemoveSession(int index); /* its enables too */
/* The provider's slot, made if wanted; NULL: not there, or no room. name may be NULL. */
RegProvider *RegFindProvider(const EtwGuid *guid, const char *name, bool make);
int RegAddRegistration(RegProvider *provider); /* count of this process after it */
int RegRemoveRegistration(RegProvider *provider);
/* This process has no provider but this one: what its parent registered stays the parent's. */
void RegKeepOnly(const RegProvider *provider);
int RegRegistrations(const RegProvider *provider); /* all processes */
/* What processes that died have left goes. */
void RegSweep(void);
/* Recompute what Etw_Enabled looks at from the entries in force. */
void RegRefreshProvider(RegProvider *provider);
/* Offset of a class with these contents, made if new; 0: arena full. */
uint32_t RegClassOf(const RegClass *head, const uint8_t *traits, const uint8_t *meta);

/* ---- Any time -------------------------------------------------------------------------------- */

/* Class at an offset found in a record: NULL when the offset cannot be one. */
const RegClass *RegClassAt(uint32_t offset);
/* Path of a session's mapping file. */
void RegSessionPath(uint64_t instance, char *path, size_t size);
/*
 * This process's mapping of a session, mapped at first use; NULL: gone. To be used inside
 * EtwThreadEnter and EtwThreadLeave only: a foreign session's mapping is retired when another session
 * has taken its index, the owner's own one by RegDetach.
 */
extern _Atomic(Ring *) regRings[ETW_MAX_SESSIONS];
Ring *RegRingMap(uint32_t index, uint64_t instance);
static inline Ring *RegRing(uint32_t index, uint64_t instance)
{
    if (index < ETW_MAX_SESSIONS) {
        Ring *ring = atomic_load_explicit(&regRings[index], memory_order_acquire);
        if (__builtin_expect(ring != NULL && ring->instance == instance, 1)) {
            return ring;
        }
    }
    return RegRingMap(index, instance);
}
/* The owner hands its own mapping in, and takes it out: to be unmapped after EtwThreadsQuiesce. */
void RegAttach(uint32_t index, Ring *ring);
void RegDetach(uint32_t index);

#endif
