/*
 * engine/shared/registry.h --
 *
 *	Access to the user's registry, which is mapped once per process and locked for changes. It contains
 *	sessions, providers, enables and event classes; shared_layout.h has the layout.
 *
 *	A process has an entry from its first RegOpen to its end, and holds the slot of the entry's index
 *	(OsSlotHold). Only the slot decides whether the process is alive. An entry, with the registrations
 *	of its process, is removed when the slot is free: the process has ended or executed another program,
 *	and so have the forked children that have not joined. A forked child joins at its first call or
 *	write, and takes over its parent's registrations. So a program may register and then call daemon(3).
 *	A provider's slot is used again when no process has registered the provider and no session has
 *	enabled it. Its generation changes then, and writes through older handles are refused.
 */
#ifndef ETW_REGISTRY_H
#define ETW_REGISTRY_H

#include "engine/shared/shared_layout.h"
#include "engine/shared/ring.h"

/*
 * Map the registry, and join it at the first call in this process. NULL: failed, with the reason in
 * *errPtr; the next call tries again.
 */
Registry *RegOpen(EtwError *errPtr);
/* Use this directory, before the first RegOpen, instead of that of the environment. */
void RegUseDir(const char *path);
/* The registry if this process has joined it; never fails, may be NULL. */
Registry *RegGet(void);

/* RegOpen calls this after the process has joined the registry, without the lock: for the first
 * time, or again in a child that was forked. One for the whole process. */
typedef void RegJoinedProc(void);
void RegOnJoin(RegJoinedProc *proc);

/* This process's entry, NULL before it has joined. */
RegProcess *RegSelf(void);

/*
 * Exclusive across threads and processes. Not recursive. Waits at most REG_PATIENCE seconds for another process, then
 * ETW_E_STATE with the detail LOCKED and a message that names that process.
 */
enum { REG_PATIENCE = 5 };
EtwStatus RegLock(EtwError *errPtr);
/* RegLock; if that fails, RegLockLocal: for calls that must do their work in this process and return no error. Does not
 * wait if a call of this process has just waited in vain. True: RegLock. */
bool RegLockOrLocal(void);
/* Excludes only threads of this process, for its own data. Cannot fail. */
void RegLockLocal(void);
void RegUnlock(void); /* either */

/* ---- Under the lock -------------------------------------------------------------------------- */

/* Names are the same in any case of ASCII letters. */
bool RegIsNamed(const RegSession *session, const char *name);
/* Index of a session by name, or -1. It may be one whose owner is dead:
 * SessionsLock (engine/session/session.h) removes those first. */
int RegFindSession(const char *name);
void RegDisableSession(int index); /* remove its enables */
int RegNewSession(const char *name, int64_t startWall, uint64_t *instancePtr, EtwError *errPtr);
void RegRemoveSession(int index); /* its enables too */
/* The provider's slot; make: allocate it when there is none. NULL: none, or no free slot. name may be NULL. */
RegProvider *RegFindProvider(const EtwGuid *guid, const char *name, bool make);
int RegAddRegistration(RegProvider *provider); /* count of this process after it */
int RegRemoveRegistration(RegProvider *provider);
bool RegIsRegistered(const RegProvider *provider); /* by this process */
int RegRegistrations(const RegProvider *provider); /* all processes */
/* Remove the entries of processes that have died. */
void RegSweep(void);
/* Recompute the values that Etw_Enabled reads from the active enables. */
void RegRefreshProvider(RegProvider *provider);
/* Offset of the class with these contents, which is added when it is new. 0: the arena is full. */
uint32_t RegClassOf(const RegClass *head, const uint8_t *traits, const uint8_t *meta);

/* ---- Any time -------------------------------------------------------------------------------- */

/* Class at an offset found in a record: NULL when the offset cannot be one. */
const RegClass *RegClassAt(uint32_t offset);
/* Path of a session's mapping file. */
void RegSessionPath(uint64_t instance, char *path, size_t size);
/*
 * This process's mapping of a session, mapped at first use. NULL: the session has ended. Used only
 * between EtwThreadEnter and EtwThreadLeave. The mapping is retired when another session has the same
 * index, or, in the owner, by RegDetach.
 */
typedef void RegMapProc(Ring *ring);
extern _Atomic(Ring *) regRings[ETW_MAX_SESSIONS];
Ring *RegRingMap(uint32_t index, uint64_t instance);
extern _Atomic(RegMapProc *) regOnMap; /* called with each new mapping; NULL: nothing */
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
/* The owner adds its mapping, and removes it. It is unmapped after EtwThreadsQuiesce. */
void RegAttach(uint32_t index, Ring *ring);
void RegDetach(uint32_t index);

#endif
