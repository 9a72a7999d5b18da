/*
 * engine/shared/ring.c --
 *
 *	See ring.h. This file does not depend on sessions, files or providers.
 */
#include "engine/shared/ring.h"
#include "base/bytes.h"
#include "engine/shared/testpoint.h"
#include <stdio.h>

enum { PAGE = 4096 };

/* ---- The mapping ----------------------------------------------------------------------------- */

static size_t roundUp(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static size_t controlSize(uint32_t streams, uint32_t buffers)
{
    return roundUp(roundUp(sizeof(RingHeader), 64) + streams * sizeof(RingStream) +
                           buffers * sizeof(RingBuffer),
            PAGE);
}

static void bindPointers(Ring *ring)
{
    RingHeader *h = ring->header = (RingHeader *)ring->map.base;
    char name[32];
    ring->streams = (RingStream *)(ring->map.base + roundUp(sizeof(RingHeader), 64));
    ring->buffers = (RingBuffer *)(ring->streams + h->streams);
    ring->data = ring->map.base + h->dataOffset;
    ring->bufferSize = h->bufferSize;
    ring->bufferCount = h->buffers;
    ring->cpus = h->cpus;
    ring->instance = h->instance;
    snprintf(name, sizeof name, "%016llx", (unsigned long long)h->instance);
    OsSharedWakeOpen(&ring->wake, &h->wake, name);
}

void RingClose(Ring *ring)
{
    OsSharedWakeClose(&ring->wake);
    OsUnmap(&ring->map);
}

EtwStatus RingCreate(Ring *ring, const char *path, const RingConfig *config, EtwError *err)
{
    uint32_t streams = 2 * config->cpus;
    size_t control = controlSize(streams, config->buffers);
    size_t size = control + (size_t)config->buffers * config->bufferSize;
    EtwStatus status = OsMapShared(&ring->map, path, true, size, err);
    RingHeader *h;
    if (status == ETW_OK) {
        /* The first buffers, too: a page fault inside a write costs more than the write. */
        status = OsMapReserve(&ring->map, 0,
                control + (size_t)config->minBuffers * config->bufferSize, path, err);
        if (status != ETW_OK) {
            OsUnmap(&ring->map);
            OsFileRemove(path);
        }
    }
    if (status != ETW_OK) {
        return status;
    }
    h = (RingHeader *)ring->map.base;
    h->instance = config->instance;
    h->headerSize = (uint32_t)roundUp(sizeof(RingHeader), 64);
    h->cpus = config->cpus;
    h->streams = streams;
    h->bufferSize = config->bufferSize;
    h->buffers = config->buffers;
    h->maxBuffers = config->buffers;
    h->minBuffers = config->minBuffers;
    h->overwrite = config->overwrite;
    h->dataOffset = (uint32_t)control;
    bindPointers(ring);
    for (uint32_t i = 0; i < config->minBuffers; i++) {
        ring->buffers[i].backed = 1;
    }
    h->magic = RING_MAGIC;
    return ETW_OK;
}

EtwStatus RingOpen(Ring *ring, const char *path, uint64_t instance, EtwError *err)
{
    EtwStatus status = OsMapShared(&ring->map, path, false, 0, err);
    const RingHeader *h;
    if (status != ETW_OK) {
        return status;
    }
    h = (const RingHeader *)ring->map.base;
    if (ring->map.size < sizeof *h || h->magic != RING_MAGIC || h->instance != instance ||
            h->cpus == 0 || h->cpus > 65536 || h->streams != 2 * h->cpus || h->buffers > 65536 ||
            h->bufferSize % 8 != 0 || h->dataOffset != controlSize(h->streams, h->buffers) ||
            ring->map.size < h->dataOffset + (size_t)h->buffers * h->bufferSize) {
        OsUnmap(&ring->map);
        return EtwFail(err, ETW_E_FORMAT, "SESSION", path,
                "\"%s\" is not a session of this version of etw", path);
    }
    bindPointers(ring);
    return ETW_OK;
}

/* Reserve a buffer's memory at its first use. When there is no room, no further buffer will be used. */
static bool back(Ring *ring, uint32_t buffer)
{
    RingBuffer *b = &ring->buffers[buffer];
    if (!atomic_load_explicit(&b->backed, memory_order_relaxed)) {
        size_t at = ring->header->dataOffset + (size_t)buffer * ring->bufferSize;
        if (OsMapReserve(&ring->map, at, ring->bufferSize, "", NULL) != ETW_OK) {
            atomic_store(&ring->header->maxBuffers, buffer);
            return false;
        }
        atomic_store_explicit(&b->backed, 1, memory_order_relaxed);
    }
    return true;
}

void RingPrefault(Ring *ring)
{
    for (uint32_t i = 0; i < ring->bufferCount && back(ring, i); i++) {
    }
}

/* ---- Claiming a buffer ----------------------------------------------------------------------- */

static uint32_t stateOf(uint64_t word)
{
    return (uint32_t)word & 0xFF;
}

static uint32_t claimerOf(uint64_t word)
{
    return (uint32_t)(word >> 32);
}

/* The word of the same claim with another state. No claimer. */
static uint64_t withState(uint64_t word, uint32_t state)
{
    return (uint64_t)((uint32_t)word & ~0xFFu) | state;
}

/* Claim the buffer if its state word is still *wordPtr. Stores the new word there. */
static bool take(RingBuffer *b, uint64_t *wordPtr)
{
    uint32_t claims = ((uint32_t)*wordPtr & ~0xFFu) + 0x100;
    uint64_t claimed = (uint64_t)RegSelfKey() << 32 | claims | RING_RECYCLING;
    /* acquire: the zeroed bytes are visible */
    if (!atomic_compare_exchange_strong_explicit(
                &b->state, wordPtr, claimed, memory_order_acquire, memory_order_relaxed)) {
        return false;
    }
    *wordPtr = claimed;
    return true;
}

/* For the owner of a buffer: hand it over. */
static void setState(RingBuffer *b, uint32_t state)
{
    uint64_t word = atomic_load_explicit(&b->state, memory_order_relaxed);
    atomic_store_explicit(&b->state, withState(word, state), memory_order_release);
}

/*
 * Lowest index first: it is most likely in the cache, and pages that are never needed stay
 * untouched.
 */
static uint32_t claimFree(Ring *ring, uint64_t *wordPtr)
{
    uint32_t most = atomic_load_explicit(&ring->header->maxBuffers, memory_order_relaxed);
    if (most > ring->bufferCount) {
        most = ring->bufferCount;
    }
    for (uint32_t i = 0; i < most; i++) {
        RingBuffer *b = &ring->buffers[i];
        *wordPtr = atomic_load_explicit(&b->state, memory_order_relaxed);
        if (stateOf(*wordPtr) == RING_FREE && take(b, wordPtr)) {
            ETW_TEST_POINT("switch.claimed");
            if (back(ring, i)) {
                return i;
            }
            setState(b, RING_FREE); /* nothing was written: still zeroed */
            break;
        }
    }
    return RING_NO_BUFFER;
}

static uint32_t endOf(const Ring *ring, uint64_t word)
{
    uint32_t end = (uint32_t)word & ~RING_CLOSED;
    return end > ring->bufferSize ? ring->bufferSize : end;
}

/* True if the record's head contains a valid size of at most `left` bytes. */
static bool fits(uint32_t head, uint32_t left)
{
    uint32_t size = head & RING_SIZE_MASK;
    return size >= sizeof(RingRecord) && size % 8 == 0 && size <= left;
}

/*
 * The number of committed records up to `end`. Open records are skipped, a hole ends the count.
 * *wholePtr: neither was found, so no writer is inside.
 */
static uint64_t countCommitted(const Ring *ring, uint32_t buffer, uint32_t end, bool *wholePtr)
{
    const uint8_t *data = RingDataOf(ring, buffer);
    uint64_t count = 0;
    *wholePtr = true;
    for (uint32_t at = 0; at + sizeof(RingRecord) <= end;) {
        uint32_t head = atomic_load_explicit(
                &((const RingRecord *)(data + at))->head, memory_order_acquire);
        uint32_t size = head & RING_SIZE_MASK;
        if (!fits(head, end - at)) {
            *wholePtr = false;
            break;
        }
        *wholePtr = *wholePtr && (head & RING_COMMITTED);
        count += (head & RING_COMMITTED) != 0;
        at += size;
    }
    return count;
}

/* A closed buffer, with its words when it was selected. */
typedef struct Closed {
    uint32_t buffer;
    uint64_t opened, reserve, state;
} Closed;

static bool oldestClosed(const Ring *ring, uint32_t state, uint64_t after, Closed *best)
{
    best->buffer = RING_NO_BUFFER;
    best->opened = UINT64_MAX;
    for (uint32_t i = 0; i < ring->bufferCount; i++) {
        const RingBuffer *b = &ring->buffers[i];
        /* acquire: the other words are those of this claim or of a later one */
        uint64_t word = atomic_load_explicit(&b->state, memory_order_acquire);
        uint64_t reserve = atomic_load_explicit(&b->reserve, memory_order_acquire);
        uint64_t opened = atomic_load_explicit(&b->opened, memory_order_relaxed);
        if (stateOf(word) == state && (reserve & RING_CLOSED) &&
                !atomic_load_explicit(&b->abandoned, memory_order_relaxed) && opened > after &&
                opened < best->opened) {
            *best = (Closed){i, opened, reserve, word};
        }
    }
    return best->buffer != RING_NO_BUFFER;
}

/*
 * Another writer may read a head of the buffer meanwhile (countCommitted): it loses the race for the claim afterwards and drops
 * what it has read, so the zeros need no order. The thread sanitizer wants them atomic all the same.
 */
static void zero(void *bytes, uint32_t size)
{
#ifdef __SANITIZE_THREAD__
    _Atomic uint64_t *words = bytes;
    for (uint32_t i = 0; i < size / 8; i++) {
        atomic_store_explicit(&words[i], 0, memory_order_relaxed);
    }
#else
    memset(bytes, 0, size);
#endif
}

/* The generation changes before the bytes are cleared, so that readers notice. */
static void wipe(Ring *ring, uint32_t buffer)
{
    RingBuffer *b = &ring->buffers[buffer];
    uint64_t word = atomic_load_explicit(&b->reserve, memory_order_relaxed);
    uint64_t next = ((word >> 32) + 1) << 32 | RING_CLOSED;
    atomic_store_explicit(&b->reserve, next, memory_order_release);
    atomic_thread_fence(
            memory_order_seq_cst); /* the new generation is visible before the first zero */
    ETW_TEST_POINT("wipe.before-zeroes");
    zero(RingDataOf(ring, buffer), endOf(ring, word));
}

/* The buffer is wiped. May be repeated. */
static void countOverwritten(RingBuffer *b)
{
    atomic_store_explicit(&b->overwritten,
            atomic_load_explicit(&b->overwrittenNext, memory_order_relaxed), memory_order_relaxed);
}

/*
 * Claim a closed buffer and zero it. events: that are lost by that. False: another writer has claimed it
 * since it was selected.
 */
static bool recycle(Ring *ring, Closed *old, uint64_t events)
{
    RingBuffer *b = &ring->buffers[old->buffer];
    ETW_TEST_POINT("recycle.before-take");
    if (!take(b, &old->state)) {
        return false;
    }
    atomic_store_explicit(&b->overwrittenNext,
            atomic_load_explicit(&b->overwritten, memory_order_relaxed) + events,
            memory_order_relaxed);
    wipe(ring, old->buffer);
    countOverwritten(b);
    return true;
}

/* Overwrite mode: claim the oldest closed buffer whose records are all committed. */
static uint32_t claimOldest(Ring *ring, uint64_t *wordPtr)
{
    Closed old = {.opened = 0};
    for (;;) {
        uint64_t after = old.opened, events;
        bool whole;
        if (!oldestClosed(ring, RING_USED, after, &old)) {
            return RING_NO_BUFFER;
        }
        events = countCommitted(ring, old.buffer, endOf(ring, old.reserve), &whole);
        if (!whole) {
            /* If the buffer was wiped while it was counted, this marks its next use: the sweep looks at it, too, and finds nothing. */
            atomic_store_explicit(&ring->buffers[old.buffer].stuck, 1, memory_order_relaxed);
        } else if (recycle(ring, &old, events)) {
            *wordPtr = old.state;
            return old.buffer;
        } else {
            old.opened = after; /* another writer has claimed it: search again */
        }
    }
}

/* The index of a zeroed buffer that this thread owns, with its state word; or RING_NO_BUFFER. */
static uint32_t claim(Ring *ring, uint64_t *wordPtr)
{
    Closed old;
    uint32_t i = claimFree(ring, wordPtr);
    while (i == RING_NO_BUFFER && oldestClosed(ring, RING_READ, 0, &old)) {
        if (recycle(ring, &old, 0)) {
            i = old.buffer;
            *wordPtr = old.state;
        }
    }
    if (i == RING_NO_BUFFER && ring->header->overwrite) {
        i = claimOldest(ring, wordPtr);
    }
    return i;
}

/* ---- Reserving ------------------------------------------------------------------------------- */

/* Close the buffer that `current` refers to, if its generation is unchanged. */
static void closeCurrent(Ring *ring, uint64_t current)
{
    uint32_t index = (uint32_t)current - 1;
    RingBuffer *b = &ring->buffers[index];
    uint64_t word;
    if (index >= ring->bufferCount) {
        return; /* no buffer, or damaged */
    }
    word = atomic_load_explicit(&b->reserve, memory_order_relaxed);
    while (word >> 32 == current >> 32 && !(word & RING_CLOSED)) {
        if (atomic_compare_exchange_weak_explicit(&b->reserve, &word, word | RING_CLOSED,
                    memory_order_release, memory_order_relaxed)) {
            return;
        }
    }
}

/*
 * Replace a stream's full or missing buffer. Several writers may do this at once: each claims a
 * buffer, one installs its own, the others return theirs. False: no buffer is free.
 */
static bool switchBuffer(Ring *ring, uint32_t stream, uint64_t current)
{
    RingStream *s = &ring->streams[stream];
    RingBuffer *b;
    uint64_t generation, word;
    uint32_t i;
    closeCurrent(ring, current);
    if (atomic_load_explicit(&s->current, memory_order_relaxed) != current) {
        return true; /* another writer has replaced it */
    }
    ETW_TEST_POINT("switch.before-claim");
    i = claim(ring, &word);
    if (i == RING_NO_BUFFER) {
        return atomic_load_explicit(&s->current, memory_order_relaxed) != current;
    }
    b = &ring->buffers[i];
    generation =
            ((atomic_load_explicit(&b->reserve, memory_order_relaxed) >> 32) + 1) & 0xFFFFFFFFu;
    /* release: a reader that sees one of the two (consider) sees that the old generation has ended */
    atomic_store_explicit(&b->stream, stream, memory_order_release);
    atomic_store_explicit(&b->sequence,
            atomic_fetch_add_explicit(&s->sequence, 1, memory_order_relaxed) + 1,
            memory_order_release);
    atomic_store_explicit(&b->opened, OsTicks(), memory_order_relaxed);
    atomic_store_explicit(&b->serial, 0, memory_order_relaxed);
    atomic_store_explicit(&b->stuck, 0, memory_order_relaxed);
    atomic_store_explicit(&b->reserve, generation << 32, memory_order_relaxed);
    word = (word & ~(uint64_t)0xFF) | RING_PREPARED;
    /* release: RingSweep sees the new generation */
    atomic_store_explicit(&b->state, word, memory_order_release);
    ETW_TEST_POINT("switch.before-install");
    /* release: control words and zeroed bytes are visible after loading `current` */
    if (!atomic_compare_exchange_strong_explicit(&s->current, &current, generation << 32 | (i + 1),
                memory_order_release, memory_order_relaxed)) {
        atomic_store_explicit(&b->reserve, generation << 32 | RING_CLOSED, memory_order_relaxed);
        setState(b, RING_FREE); /* nothing was written: still zeroed */
        return true;
    }
    /* Not a store: others may have filled it and the logger freed it meanwhile. */
    atomic_compare_exchange_strong_explicit(&b->state, &word, withState(word, RING_USED),
            memory_order_release, memory_order_relaxed);
    if (!ring->header->overwrite) {
        OsSharedWakePost(&ring->wake); /* a buffer is full: wake the logger */
    }
    return true;
}

/* True if the stream has no buffer, or one with less than `size` bytes left. */
static bool isFull(const Ring *ring, uint64_t current, uint32_t size)
{
    uint32_t index = (uint32_t)current - 1;
    uint64_t word;
    if (index >= ring->bufferCount) {
        return true;
    }
    word = atomic_load_explicit(&ring->buffers[index].reserve, memory_order_relaxed);
    return word >> 32 != current >> 32 || (uint64_t)(uint32_t)word + size > ring->bufferSize;
}

RingRecord *RingReserveSlow(Ring *ring, uint32_t stream, uint32_t size, uint64_t ticks)
{
    for (;;) {
        uint64_t current =
                atomic_load_explicit(&ring->streams[stream].current, memory_order_acquire);
        RingRecord *record;
        if (isFull(ring, current, size) && !switchBuffer(ring, stream, current)) {
            return NULL;
        }
        record = RingTryReserve(ring, stream, size, ticks);
        if (record != NULL) {
            return record;
        }
    }
}

/* ---- Reading --------------------------------------------------------------------------------- */

/*
 * Select the buffer for the cursor if it belongs to the cursor's stream, is not empty, and its
 * sequence lies between the cursor's and *bestPtr. True: it was selected, or has just changed.
 */
static bool consider(const Ring *ring, uint32_t buffer, RingCursor *c, uint64_t *bestPtr)
{
    const RingBuffer *b = &ring->buffers[buffer];
    uint64_t word = atomic_load_explicit(&b->reserve, memory_order_acquire);
    /* acquire: after the next owner's values, the new generation is visible below */
    uint64_t sequence = atomic_load_explicit(&b->sequence, memory_order_acquire);
    uint32_t stream = atomic_load_explicit(&b->stream, memory_order_acquire);
    if (((uint32_t)word & ~RING_CLOSED) == 0 || stream != c->stream || sequence <= c->sequence ||
            sequence >= *bestPtr) {
        return false;
    }
    ETW_TEST_POINT("next.considered");
    /* If it was recycled meanwhile, the new sequence does not belong to the old generation. */
    if (atomic_load_explicit(&b->reserve, memory_order_relaxed) >> 32 == word >> 32) {
        *bestPtr = sequence;
        c->buffer = buffer;
        c->generation = (uint32_t)(word >> 32);
    }
    return true;
}

/*
 * Find the oldest buffer of the stream after the cursor's sequence that is not empty. During one
 * pass, a buffer already passed may be installed and filled before a later one that the pass finds.
 * The next pass sees the earlier one. So the search ends with a pass that selects nothing.
 */
static bool nextBuffer(const Ring *ring, RingCursor *c)
{
    uint64_t best = UINT64_MAX;
    for (bool again = true; again;) {
        again = false;
        for (uint32_t i = 0; i < ring->bufferCount; i++) {
            again |= consider(ring, i, c, &best);
        }
    }
    if (best == UINT64_MAX) {
        return false;
    }
    c->sequence = best;
    c->offset = 0;
    return true;
}

bool RingStill(const Ring *ring, const RingCursor *c)
{
    atomic_thread_fence(
            memory_order_acquire); /* the bytes were read before this load of the generation */
    return atomic_load_explicit(&ring->buffers[c->buffer].reserve, memory_order_relaxed) >> 32 ==
           c->generation;
}

RingPeekResult RingPeek(
        Ring *ring, RingCursor *c, RingRecord **recordPtr, uint32_t *sizePtr, uint32_t *bufferPtr)
{
    uint64_t word;
    uint32_t end, head, size;
    RingRecord *record;
    if (c->buffer == RING_NO_BUFFER && !nextBuffer(ring, c)) {
        return RING_EMPTY;
    }
    word = atomic_load_explicit(&ring->buffers[c->buffer].reserve, memory_order_acquire);
    if (word >> 32 != c->generation) {
        c->buffer = RING_NO_BUFFER;
        return RING_OVERTAKEN;
    }
    end = endOf(ring, word);
    if (c->offset + sizeof(RingRecord) > end) {
        if (!(word & RING_CLOSED)) {
            return RING_EMPTY;
        }
        *bufferPtr = c->buffer;
        c->buffer = RING_NO_BUFFER;
        return RING_DONE;
    }
    record = (RingRecord *)(RingDataOf(ring, c->buffer) + c->offset);
    head = atomic_load_explicit(&record->head, memory_order_acquire); /* pairs with RingCommit */
    size = head & RING_SIZE_MASK;
    if (!(head & RING_COMMITTED) || !fits(head, end - c->offset)) {
        return RING_BLOCKED;
    }
    *recordPtr = record;
    *sizePtr = size;
    return RING_RECORD;
}

bool RingSkip(Ring *ring, RingCursor *c)
{
    uint64_t word = atomic_load_explicit(&ring->buffers[c->buffer].reserve, memory_order_acquire);
    uint32_t end = endOf(ring, word);
    const uint8_t *data = RingDataOf(ring, c->buffer);
    uint32_t head, size;
    head = atomic_load_explicit(&((RingRecord *)(data + c->offset))->head, memory_order_acquire);
    size = head & RING_SIZE_MASK;
    if ((head & RING_OPEN) && fits(head, end - c->offset)) {
        c->offset += size;
        return true;
    }
    do {
        c->offset += 8;
    } while (c->offset < end && EtwLoad64(data + c->offset) == 0);
    return false;
}

/*
 * Abandon an open record whose size is known and whose writer is dead. While it is open, its buffer is not used again, and no
 * other thread abandons it, so it may be written.
 */
static bool abandonAt(Ring *ring, uint32_t buffer, uint32_t offset)
{
    RingRecord *record = (RingRecord *)(RingDataOf(ring, buffer) + offset);
    _Atomic uint64_t *reserve = &ring->buffers[buffer].reserve;
    uint64_t word = atomic_load_explicit(reserve, memory_order_acquire);
    uint32_t head = atomic_load_explicit(&record->head, memory_order_acquire);
    if (!(head & RING_OPEN) || offset > endOf(ring, word) ||
            !fits(head, endOf(ring, word) - offset) || RegProcessLives(record->writer) ||
            /*
             * The writer may have committed the record between the load and its death. Then the buffer may have been used
             * again, with a record of the same size here: its writer lives.
             */
            atomic_load_explicit(&record->head, memory_order_acquire) != head ||
            atomic_load_explicit(reserve, memory_order_relaxed) >> 32 != word >> 32) {
        return false;
    }
    record->eventClass = 0;
    record->ticks = 0; /* may not be stored yet: a time in the future would delay the event */
    RingCommit(record, head & RING_SIZE_MASK);
    return true;
}

bool RingAbandon(Ring *ring, const RingCursor *c)
{
    return abandonAt(ring, c->buffer, c->offset);
}

bool RingBodyOf(const RingRecord *record, uint32_t size, RingBody *body)
{
    const uint8_t *at = (const uint8_t *)(record + 1);
    uint32_t need = (uint32_t)sizeof *record + record->payloadSize;
    need += record->flags & RING_HAS_ACTIVITY ? 16u : 0u;
    need += record->flags & RING_HAS_RELATED ? 16u : 0u;
    need += 8u * record->stackCount;
    if (need > size) {
        return false;
    }
    body->activity = body->related = body->stack = NULL;
    if (record->flags & RING_HAS_ACTIVITY) {
        body->activity = at;
        at += 16;
    }
    if (record->flags & RING_HAS_RELATED) {
        body->related = at;
        at += 16;
    }
    body->stackCount = record->stackCount;
    if (body->stackCount > 0) {
        body->stack = at;
        at += 8 * body->stackCount;
    }
    body->payload = at;
    body->payloadSize = record->payloadSize;
    return true;
}

/* ---- Housekeeping by the logger -------------------------------------------------------------- */

static void freeBuffer(Ring *ring, uint32_t buffer)
{
    wipe(ring, buffer);
    setState(&ring->buffers[buffer], RING_FREE); /* the bytes are zeroed before this */
}

void RingRelease(Ring *ring, uint32_t buffer, bool keep)
{
    RingBuffer *b = &ring->buffers[buffer];
    if (atomic_load_explicit(&b->abandoned, memory_order_relaxed)) {
        return;
    }
    if (keep) {
        setState(b, RING_READ);
    } else {
        freeBuffer(ring, buffer);
    }
}

void RingReplenish(Ring *ring, uint32_t wanted)
{
    uint32_t freeCount = 0;
    for (uint32_t i = 0; i < ring->bufferCount; i++) {
        freeCount += stateOf(atomic_load_explicit(&ring->buffers[i].state, memory_order_relaxed)) ==
                     RING_FREE;
    }
    while (freeCount < wanted) {
        Closed old;
        if (!oldestClosed(ring, RING_READ, 0, &old)) {
            return;
        }
        if (recycle(ring, &old, 0)) {
            setState(&ring->buffers[old.buffer], RING_FREE);
            freeCount++;
        }
    }
}

/* Take over a buffer whose claimer is dead. `word` was its state after that was known. */
static void sweepClaim(Ring *ring, uint32_t buffer, uint64_t word)
{
    RingBuffer *b = &ring->buffers[buffer];
    uint64_t reserve = atomic_load_explicit(&b->reserve, memory_order_acquire);
    uint32_t stream = atomic_load(&b->stream), state;
    bool hasEvents = endOf(ring, reserve) != 0;
    if (stateOf(word) == RING_PREPARED) {
        bool current = stream < 2 * ring->cpus && atomic_load(&ring->streams[stream].current) ==
                                                          ((reserve >> 32) << 32 | (buffer + 1));
        state = hasEvents || current ? RING_USED : RING_FREE; /* USED: it was installed */
    } else if (hasEvents) {
        state = ring->header->overwrite ? RING_USED : RING_READ; /* not wiped yet */
    } else {
        if (atomic_load_explicit(&b->backed, memory_order_relaxed)) {
            /* the claimer may have died while it zeroed the buffer */
            memset(RingDataOf(ring, buffer), 0, ring->bufferSize);
        }
        countOverwritten(b);
        state = RING_FREE;
    }
    atomic_compare_exchange_strong_explicit(
            &b->state, &word, withState(word, state), memory_order_release, memory_order_relaxed);
}

/* Abandon the open records of dead writers. Otherwise the buffer would never be reused. */
static void abandonAll(Ring *ring, uint32_t buffer)
{
    uint32_t end = endOf(ring, atomic_load(&ring->buffers[buffer].reserve)), size;
    for (uint32_t at = 0; at + sizeof(RingRecord) <= end; at += size) {
        size = atomic_load((_Atomic uint32_t *)(RingDataOf(ring, buffer) + at)) & RING_SIZE_MASK;
        if (!fits(size, end - at)) {
            return;
        }
        abandonAt(ring, buffer, at);
    }
}

void RingSweep(Ring *ring)
{
    for (uint32_t i = 0; i < ring->bufferCount; i++) {
        RingBuffer *b = &ring->buffers[i];
        uint64_t word = atomic_load_explicit(&b->state, memory_order_relaxed);
        if (claimerOf(word) != 0 && !RegProcessLives(claimerOf(word)) &&
                /* The claimer may have handed it over between the load and its death. */
                atomic_load_explicit(&b->state, memory_order_acquire) == word) {
            sweepClaim(ring, i, word);
        }
        if (atomic_exchange_explicit(&b->stuck, 0, memory_order_relaxed) != 0) {
            abandonAll(ring, i);
        }
    }
}

void RingCloseAll(Ring *ring)
{
    for (uint32_t s = 0; s < 2 * ring->cpus; s++) {
        uint64_t current = atomic_load(&ring->streams[s].current);
        closeCurrent(ring, current);
    }
}

void RingCloseUsed(Ring *ring)
{
    for (uint32_t s = 0; s < 2 * ring->cpus; s++) {
        uint64_t current = atomic_load(&ring->streams[s].current);
        uint32_t index = (uint32_t)current - 1;
        if (index < ring->bufferCount &&
                (uint32_t)atomic_load(&ring->buffers[index].reserve) != 0) {
            closeCurrent(ring, current); /* a buffer that is used stays so until it is closed */
        }
    }
}

bool RingHasFull(const Ring *ring)
{
    Closed oldest;
    return oldestClosed(ring, RING_USED, 0, &oldest);
}

void RingCount(const Ring *ring, uint32_t *usedPtr, uint32_t *freePtr)
{
    uint32_t used = 0;
    uint32_t most = atomic_load_explicit(&ring->header->maxBuffers, memory_order_relaxed);
    for (uint32_t i = 0; i < ring->bufferCount; i++) {
        uint32_t state =
                stateOf(atomic_load_explicit(&ring->buffers[i].state, memory_order_relaxed));
        used += state != RING_FREE && state != RING_READ;
    }
    *usedPtr = used;
    *freePtr = most > used ? most - used : 0;
}

uint64_t RingEvents(const Ring *ring)
{
    uint64_t events = 0;
    for (uint32_t i = 0; i < ring->bufferCount; i++) {
        bool whole;
        uint64_t word = atomic_load_explicit(&ring->buffers[i].reserve, memory_order_acquire);
        events += countCommitted(ring, i, endOf(ring, word), &whole);
    }
    return events;
}

uint64_t RingOverwritten(const Ring *ring)
{
    uint64_t events = 0;
    for (uint32_t i = 0; i < ring->bufferCount; i++) {
        events += atomic_load_explicit(&ring->buffers[i].overwritten, memory_order_relaxed);
    }
    return events;
}
