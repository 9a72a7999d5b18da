/*
 * engine/provider/buffer_wait.c --
 *
 *	See buffer_wait.h.
 */
#include "engine/provider/buffer_wait.h"

enum {
    SHORT_PAUSE = 50 * 1000, /* ns: the logger needs about as long for some buffers */
    LONG_PAUSE = 1000 * 1000,
    SHORT_PAUSES = 20,
    CHECK_OWNER = 50 /* pauses between two checks whether the logger's process lives */
};

int64_t bufferPatience = 10 * 1000000000LL;

static bool mayWait(const RingHeader *h, const EtwThread *thread)
{
    return h->lossless && atomic_load_explicit(&thread->inside, memory_order_relaxed) == 1 &&
           atomic_load_explicit(&h->stalled, memory_order_relaxed) == 0;
}

/* Until when to wait. It moves on with each buffer that the logger releases. */
typedef struct Patience {
    uint64_t released;
    int64_t end; /* steady ns */
} Patience;

static bool exhausted(Patience *p, const RingHeader *h)
{
    OsInstant now;
    uint64_t released = atomic_load_explicit(&h->released, memory_order_relaxed);
    OsNow(&now);
    if (p->end == 0 || released != p->released) {
        *p = (Patience){released, now.steady + bufferPatience};
    }
    return now.steady >= p->end;
}

static bool loggerHasEnded(const RingHeader *h, int pauses)
{
    return atomic_load_explicit(&h->state, memory_order_relaxed) == RING_STOPPED ||
           (pauses % CHECK_OWNER == 0 && !RegProcessLives(h->owner));
}

RingRecord *BufferWait(Ring *ring, uint32_t stream, uint32_t size, const EtwThread *thread)
{
    RingHeader *h = ring->header;
    Patience patience = {0};
    if (!mayWait(h, thread)) {
        return NULL;
    }
    for (int pauses = 0; !loggerHasEnded(h, pauses) && !exhausted(&patience, h); pauses++) {
        RingRecord *record;
        atomic_store(&h->starved, 1);
        OsSharedWakePost(&ring->wake);
        OsSleepNs(pauses < SHORT_PAUSES ? SHORT_PAUSE : LONG_PAUSE);
        record = RingReserve(ring, stream, size, 0);
        if (record != NULL) {
            return record;
        }
    }
    atomic_store_explicit(&h->stalled, 1, memory_order_relaxed);
    return NULL;
}
