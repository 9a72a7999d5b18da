/*
 * engine/provider/provider.h --
 *
 *	What the engine's own files need of provider.c beyond etw.h.
 */
#ifndef ETW_PROVIDER_H
#define ETW_PROVIDER_H

#include "engine/shared/registry.h"

/* Our own provider Etw-Session, registered at the first call; NULL: it cannot be (enable.c). */
Etw_Provider *EtwOwnProvider(void);
/* The event Mark of our own provider Etw-Session: one field, counted UTF-8 (enable.c). */
Etw_Event *EtwMarkEvent(void);

/*
 * Etw_Write, of an event that is defined and that Etw_Enabled was asked for, that returns the ticks the event was stamped with (the last session's, when several
 * took it); 0: nobody took it. Saves the script provider a look at the clock.
 */
uint64_t EtwWriteStamped(Etw_Event *event, const Etw_Data *data, int count);

/*
 * The same that fills in a u64 of the payload: the nanoseconds from `since` (ticks) to the event's own time. So a leave's duration is
 * exactly the difference of two events' times, and costs no look at the clock.
 */
typedef struct EtwElapsed {
    size_t at;      /* offset in the payload; 8 bytes of the data are overwritten in the record */
    uint64_t since; /* ticks */
    uint64_t scale; /* ns per tick, 32.32 fixed point */
} EtwElapsed;
void EtwWriteElapsed(Etw_Event *event, const Etw_Data *data, int count, const EtwElapsed *elapsed);

/* The calling thread's next event that does not bring an activity of its own carries this one as its
 * related activity: where the work came from. NULL: none. */
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
/* False: no buffer free (the caller makes room and tries again, or counts the loss). */
bool EtwProviderWriteTo(Ring *ring, uint32_t stream, const EtwRawEvent *raw);

#endif
