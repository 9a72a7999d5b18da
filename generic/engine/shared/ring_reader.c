/*
 * engine/shared/ring_reader.c --
 *
 *	See ring_reader.h.
 */
#include "engine/shared/ring_reader.h"
#include "base/alloc.h"

void RingReaderInit(RingReader *t, uint32_t stream)
{
    memset(t, 0, sizeof *t);
    t->cursor.stream = stream;
    t->cursor.buffer = RING_NO_BUFFER;
}

void RingReaderFree(RingReader *t)
{
    EtwFree(t->copy);
    t->copy = NULL;
}

/*
 * The stream had `count` events before the next one, as the logger has counted: the rest was missed. Skipped records are
 * counted as lost already; the logger counts those whose writers were only slow.
 */
static void countMissed(RingReader *t, uint64_t count)
{
    if (count > t->expected + t->skipped && t->entered) {
        t->lost += count - t->expected - t->skipped;
    }
    t->expected = count;
    t->skipped = 0;
}

/* At a buffer's first record. The serial number is 0 if the logger has not counted the buffer yet. */
static void enterBuffer(RingReader *t, uint64_t serial)
{
    if (serial != 0) {
        countMissed(t, serial - 1);
    }
    t->entered = true;
}

static bool copyOut(Ring *ring, RingReader *t, const RingRecord *record, uint32_t size)
{
    bool first = t->cursor.offset == 0;
    uint64_t serial =
            atomic_load_explicit(&ring->buffers[t->cursor.buffer].serial, memory_order_relaxed);
    if (t->capacity < size) {
        t->copy = EtwRealloc(t->copy, size); /* at most a buffer's size */
        t->capacity = size;
    }
    memcpy(t->copy, record, size);
    if (!RingStill(ring, &t->cursor)) {
        return false;
    }
    if (first) {
        enterBuffer(t, serial);
    }
    RingAdvance(&t->cursor, size);
    t->size = size;
    t->blockedSince = 0;
    t->expected++;
    return true;
}

/*
 * A writer may clear a buffer while a reader copies from it: the reader finds that out afterwards (RingStill) and drops the copy.
 * The thread sanitizer reports exactly these reads, so they are taken out; what synchronises them stays.
 */
#ifdef __SANITIZE_THREAD__
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
#else
#define AnnotateIgnoreReadsBegin(file, line) ((void)0)
#define AnnotateIgnoreReadsEnd(file, line) ((void)0)
#endif

static bool peek(Ring *ring, RingReader *t)
{
    RingRecord *record;
    uint32_t size, buffer;
    if (t->size != 0) {
        return true;
    }
    t->blocked = false;
    for (;;) {
        switch (RingPeek(ring, &t->cursor, &record, &size, &buffer)) {
        case RING_RECORD:
            if (copyOut(ring, t, record, size)) {
                return true;
            }
            break; /* overwritten: the next RingPeek returns RING_OVERTAKEN */
        case RING_DONE:
            break;
        case RING_OVERTAKEN:
            t->lost += ring->header->overwrite ? 1 : 0; /* not counted there: at least 1 */
            break;
        case RING_BLOCKED:
            t->blocked = RingStill(ring, &t->cursor);
            if (t->blocked) {
                return false;
            }
            break;
        case RING_EMPTY:
            return false;
        }
    }
}

bool RingReaderPeek(Ring *ring, RingReader *t)
{
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    bool found = peek(ring, t);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    return found;
}

void RingReaderSkip(Ring *ring, RingReader *t)
{
    RingSkip(ring, &t->cursor);
    t->blocked = false;
    t->blockedSince = 0;
    t->entered = true;
    t->skipped++;
    t->lost++;
}

void RingReaderEnd(Ring *ring, RingReader *t)
{
    uint64_t passed = atomic_load(&ring->streams[t->cursor.stream].passed);
    if (passed > t->expected) {
        countMissed(t, passed);
    }
}
