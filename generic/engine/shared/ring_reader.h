/*
 * engine/shared/ring_reader.h --
 *
 *	Reads a session's streams without owning them, for live consumers and snapshots. Each record is
 *	copied, and used only if its buffer was not reused meanwhile. A slow reader does not block writers:
 *	events that were overwritten before it read them are counted as its loss.
 */
#ifndef ETW_RING_READER_H
#define ETW_RING_READER_H

#include "engine/shared/ring.h"

typedef struct RingReader {
    RingCursor cursor;
    uint8_t *copy; /* the record, 8-aligned; owned */
    uint32_t capacity;
    uint32_t size;        /* 0: no record */
    bool blocked;         /* a writer is inside a record here */
    int64_t blockedSince; /* steady ns, set by the caller; each record resets it to 0 */
    uint64_t expected;    /* events of the stream before the next one, as far as known */
    bool entered;         /* the cursor's buffer was seen from its start */
    uint64_t skipped; /* records that were skipped since `expected` was last known to be right */
    uint64_t lost;
} RingReader;

void RingReaderInit(RingReader *tail, uint32_t stream);
void RingReaderFree(RingReader *tail);
/* Read the next committed record into tail->copy. False: there is none yet. */
bool RingReaderPeek(Ring *ring, RingReader *tail);
/* Skip the event of the writer that blocks; it counts as lost. */
void RingReaderSkip(Ring *ring, RingReader *tail);
/* The session has ended, and all that is still there was read: what the logger counted beyond that is lost. */
void RingReaderEnd(Ring *ring, RingReader *tail);
static inline void RingReaderNext(RingReader *tail)
{
    tail->size = 0;
}
static inline const RingRecord *RingReaderRecord(const RingReader *tail)
{
    return (const RingRecord *)tail->copy;
}

#endif
