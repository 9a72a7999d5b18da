/*
 * engine/shared/ring.h --
 *
 *	A session's buffers. Threads of any process write without locks; cursors read.
 *
 *	States of a buffer and its owner. FREE: none. RECYCLING, PREPARED: the process that claimed it.
 *	USED: the stream whose `current` names it, in which writers reserve; after it is closed, its readers.
 *	READ: closed, and read by the logger, but kept for live readers. A buffer is zeroed before it becomes
 *	FREE or PREPARED.
 *
 *	The only synchronised steps: claiming a buffer (CAS on state, which stores the claimer, too),
 *	installing it (CAS on stream->current, release: a thread that loads it with acquire sees the zeroed
 *	bytes and the control words), reserving (CAS on reserve, release), committing a record (store of
 *	head, release), closing (CAS on reserve). A writer that is killed at any point loses only its own
 *	event. Before the open mark it leaves a hole of zeros, after it a record with its size and its
 *	writer. The logger takes over a buffer whose claimer is dead (RingSweep).
 *
 *	tests/engine/model executes this file's protocol in the C11 memory model.
 */
#ifndef ETW_RING_H
#define ETW_RING_H

#include "base/os.h"
#include "engine/shared/process_key.h"
#include "engine/shared/shared_layout.h"
#include "engine/shared/testpoint.h"

typedef struct Ring {
    OsMap map;
    RingHeader *header;
    RingStream *streams;
    RingBuffer *buffers;
    uint8_t *data;
    uint32_t bufferSize, bufferCount, cpus;
    uint64_t instance;
    uint32_t owner;    /* this process's pid when it owns the session, otherwise 0 */
    struct Ring *next; /* in the list of retired mappings */
    OsSharedWake wake; /* of the logger: posted when a buffer was replaced, and for requests */
} Ring;

typedef struct RingConfig {
    uint64_t instance;
    uint32_t cpus, bufferSize, buffers, minBuffers;
    bool overwrite;
} RingConfig;

/* Make the mapping file, or map an existing one after checking every size in it. */
EtwStatus RingCreate(Ring *ring, const char *path, const RingConfig *config, EtwError *errPtr);
EtwStatus RingOpen(Ring *ring, const char *path, uint64_t instance, EtwError *errPtr);
void RingClose(Ring *ring); /* unmaps it */

/* Access every page of every buffer, while writers run. For a flight recorder, which uses all of them. */
void RingPrefault(Ring *ring);

static inline uint8_t *RingDataOf(const Ring *ring, uint32_t buffer)
{
    return ring->data + (size_t)buffer * ring->bufferSize;
}

/* One attempt. NULL: the stream's buffer is full, there is none, or another writer was faster. */
static inline RingRecord *RingTryReserve(Ring *ring, uint32_t stream, uint32_t size, uint64_t ticks)
{
    uint64_t current = atomic_load_explicit(&ring->streams[stream].current, memory_order_acquire);
    uint32_t index = (uint32_t)current - 1; /* none yet: too large */
    RingBuffer *b;
    RingRecord *record;
    uint64_t word, now;
    if (index >= ring->bufferCount) {
        return NULL;
    }
    b = &ring->buffers[index];
    word = atomic_load_explicit(&b->reserve, memory_order_relaxed);
    /* RING_CLOSED makes the offset too large */
    if (word >> 32 != current >> 32 || (uint64_t)(uint32_t)word + size > ring->bufferSize) {
        return NULL;
    }
    now = ticks != 0 ? ticks : OsTicks();
    if (!atomic_compare_exchange_weak_explicit(
                &b->reserve, &word, word + size, memory_order_release, memory_order_relaxed)) {
        return NULL;
    }
    record = (RingRecord *)(RingDataOf(ring, index) + (uint32_t)word);
    ETW_TEST_POINT("record.before-open");
    record->pid = OsPid();
    record->writer = RegSelfKey();
    /* release: a thread that finds the record open sees its writer */
    atomic_store_explicit(&record->head, size | RING_OPEN, memory_order_release);
    record->ticks = now;
    ETW_TEST_POINT("record.open");
    return record;
}
RingRecord *RingReserveSlow(Ring *ring, uint32_t stream, uint32_t size, uint64_t ticks);

/*
 * Reserve size bytes (8-aligned, at most bufferSize) in a stream. Returns the record, marked open,
 * ticks and this process's pid stored; NULL: no free buffer (counted). ticks 0: the clock is read inside the reservation,
 * so that a stream's times rise.
 */
static inline RingRecord *RingReserve(Ring *ring, uint32_t stream, uint32_t size, uint64_t ticks)
{
    RingRecord *record = RingTryReserve(ring, stream, size, ticks);
    return __builtin_expect(record != NULL, 1) ? record
                                               : RingReserveSlow(ring, stream, size, ticks);
}
/* Publish a record whose body is stored. */
static inline void RingCommit(RingRecord *record, uint32_t size)
{
    /* release: a thread that sees the mark sees the body */
    atomic_store_explicit(&record->head, size | RING_COMMITTED, memory_order_release);
}

/* ---- Reading --------------------------------------------------------------------------------- */

typedef struct RingCursor {
    uint32_t stream;
    uint32_t buffer; /* index, or RING_NO_BUFFER */
    uint32_t generation;
    uint32_t offset;
    uint64_t sequence; /* of the buffer being read, or of the last one read */
} RingCursor;
#define RING_NO_BUFFER 0xFFFFFFFFu

/* A cursor's place in its stream, as a number that rises. Buffers are at most 1 MB. */
static inline uint64_t RingPosition(const RingCursor *c)
{
    return c->sequence << 24 | c->offset;
}

typedef enum RingPeekResult {
    RING_RECORD,   /* *recordPtr, *sizePtr: a committed record */
    RING_EMPTY,    /* nothing yet */
    RING_BLOCKED,  /* a writer has reserved but not committed here */
    RING_DONE,     /* this buffer is closed and read to its end; *bufferPtr names it; the cursor has
                      left it */
    RING_OVERTAKEN /* the buffer was reused under the cursor; it has left it */
} RingPeekResult;

RingPeekResult RingPeek(Ring *ring, RingCursor *cursor, RingRecord **recordPtr, uint32_t *sizePtr,
        uint32_t *bufferPtr);
static inline void RingAdvance(RingCursor *cursor, uint32_t size)
{
    cursor->offset += size;
}
/* Skip what blocks: an open record by its size, a hole up to the next non-zero word. True: it was an
 * open record. */
bool RingSkip(Ring *ring, RingCursor *cursor);
/*
 * When the blocking record's writer is dead: commit a record of class 0 in its place, which every
 * reader skips. False: the writer is alive, or unknown (a hole).
 */
bool RingAbandon(Ring *ring, const RingCursor *cursor);
/* True while the cursor's buffer is still the one it started to read. */
bool RingStill(const Ring *ring, const RingCursor *cursor);

/* Body pieces of a record of `size` bytes; false: its own sizes do not fit together (damaged). */
typedef struct RingBody {
    const uint8_t *activity, *related, *stack, *payload; /* the first three: NULL when absent */
    uint32_t stackCount, payloadSize;
} RingBody;
bool RingBodyOf(const RingRecord *record, uint32_t size, RingBody *body);

/* The logger has finished a closed buffer. keep: it remains readable; otherwise it is zeroed and freed. */
void RingRelease(Ring *ring, uint32_t buffer, bool keep);
/* Free READ buffers, oldest first, until at least `wanted` are free. */
void RingReplenish(Ring *ring, uint32_t wanted);
/* Called by the logger from time to time: free buffers that dead writers claimed and did not install;
 * abandon records that they left open in buffers that will be overwritten. */
void RingSweep(Ring *ring);
/* Close every stream's current buffer (session stop). */
void RingCloseAll(Ring *ring);
/* Close every stream's current buffer that has events. An empty one has nothing to read, so that it would
 * never be released. */
void RingCloseUsed(Ring *ring);
/* Number of committed records in all buffers. Walks them, so only for queries. Records after a hole are not counted. */
uint64_t RingEvents(const Ring *ring);
/* Number of events that writers have overwritten. */
uint64_t RingOverwritten(const Ring *ring);
void RingCount(const Ring *ring, uint32_t *usedPtr, uint32_t *freePtr);
bool RingHasFull(const Ring *
                ring); /* a buffer is closed and not released: it is to be read, or to be written to the disk */

#endif
