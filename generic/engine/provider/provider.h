/*
 * engine/provider/provider.h --
 *
 *	Functions of provider.c that are not in etw.h, for the engine and the script provider.
 */
#ifndef ETW_PROVIDER_H
#define ETW_PROVIDER_H

#include "engine/shared/registry.h"
#include "semantics/declared_events.h"

/* Etw_Register that says why it failed: ARG NAME, LIMIT PROVIDERS, or the reason why the registry cannot be
 * opened or locked. *out: the provider, NULL after a failure. */
EtwStatus EtwRegister(const char *name, const Etw_Guid *guid, Etw_Provider **out, EtwError *err);

/* Our own provider Etw-Session, registered at the first call; NULL: that failed (enable.c). */
Etw_Provider *EtwOwnProvider(void);
/* Called after each registration; the first call defines the event with this process's name (process_event.c). */
void EtwProcessEventDefine(void);
/* Define one of our own events. NULL: out of room. */
Etw_Event *EtwDefineDeclared(Etw_Provider *provider, const EtwDeclaredEvent *event);
/* The event Mark of our own provider Etw-Session: one field, counted UTF-8 (enable.c). */
Etw_Event *EtwMarkEvent(void);

/*
 * Etw_Write for a defined event whose Etw_Enabled was checked. Returns the event's ticks (those of the last session, when several
 * took it), or 0 when no session took it. Saves the script provider a clock read.
 */
uint64_t EtwWriteStamped(Etw_Event *event, const Etw_Data *data, int count);

/*
 * The same, which also stores a u64 in the payload: the nanoseconds from `since` (ticks) to the event's time. The duration in a
 * leave event is therefore exactly the difference of two events' times, and needs no clock read.
 */
typedef struct EtwElapsed {
    size_t at;      /* offset in the payload; 8 bytes of the data are overwritten in the record */
    uint64_t since; /* ticks */
    uint64_t scale; /* ns per tick, 32.32 fixed point */
} EtwElapsed;
void EtwWriteElapsed(Etw_Event *event, const Etw_Data *data, int count, const EtwElapsed *elapsed);

/* Set the related activity of the calling thread's next event that is written without an activity of
 * its own: the origin of the work. NULL: none. */
void EtwActivityRelate(const Etw_Guid *related);

/* An event with its own time and ids, written into one stream of one session by the logger. */
typedef struct EtwRawEvent {
    const Etw_Event *event;
    uint64_t ticks;
    uint32_t pid, tid;
    const uint8_t *payload;
    size_t size;
    const uint8_t *stack; /* 8 bytes an address, the innermost first; NULL: none */
    uint8_t stackCount;
} EtwRawEvent;
/* False: no free buffer (the caller frees one and tries again, or counts the loss). */
bool EtwProviderWriteTo(Ring *ring, uint32_t stream, const EtwRawEvent *raw);

#endif
