/*
 * engine/shared/ring_reader.h --
 *
 *	Reading a session's streams without owning them (live consumers, snapshots): each record is
 *	copied out and kept only if its buffer was not reused meanwhile. A reader that is too slow pins
 *	nothing: what was overtaken is counted as its own loss.
 */
#ifndef ETW_RING_READER_H
#define ETW_RING_READER_H

#include "engine/shared/ring.h"

typedef struct RingReader {
    RingCursor cursor;
    uint8_t *copy; /* the record, 8-aligned; owned */
    uint32_t room;
    uint32_t size;        /* 0: no record at hand */
    bool blocked;         /* a writer is inside a record here */
    int64_t blockedSince; /* steady ns, kept by who waits for it; 0 from each record on */
    uint64_t expected;    /* events of the stream before the next one, as far as known */
    bool entered;         /* the cursor's buffer was seen from its start */
    uint64_t lost;
} RingReader;

void RingReaderInit(RingReader *tail, uint32_t stream);
void RingReaderFree(RingReader *tail);
/* Have the next committed record at hand: true, and tail->copy is it. */
bool RingReaderPeek(Ring *ring, RingReader *tail);
/* Wait no longer for the writer that blocks: its event counts as lost. */
void RingReaderSkip(Ring *ring, RingReader *tail);
static inline void RingReaderNext(RingReader *tail)
{
    tail->size = 0;
}
static inline const RingRecord *RingReaderRecord(const RingReader *tail)
{
    return (const RingRecord *)tail->copy;
}

#endif
