/*
 * engine/session/snapshot.c --
 *
 *	Writes a memory session's buffers to a file while writers continue: for `etw snapshot` on
 *	the logger's thread, and for recovery after the logger was killed. Events that are
 *	overwritten before they are read are not included.
 */
#include "engine/session/session.h"
#include "engine/shared/ring_reader.h"

enum { PATIENCE = 100 }; /* ms that a snapshot waits for open records in total */

typedef struct Picture {
    Ring *ring;
    const EtwAnchors *anchors;
    EtlWriter *writer;
    uint64_t until;   /* ticks: later events are not included */
    int blockTimeout; /* ms */
    uint64_t saved;   /* events */
} Picture;

/* Read the reader's next record. Waits a limited time for an open record, then skips it. */
static bool ready(Picture *p, RingReader *t)
{
    while (!RingReaderPeek(p->ring, t)) {
        if (!t->blocked) {
            return false;
        }
        if (p->blockTimeout > 0) {
            OsSleepNs(1000000);
            p->blockTimeout--;
        } else {
            RingReaderSkip(p->ring, t);
        }
    }
    return RingReaderRecord(t)->ticks <= p->until;
}

static void saveCpu(Picture *p, int cpu)
{
    RingReader user, kernel;
    bool haveUser, haveKernel;
    RingReaderInit(&user, (uint32_t)cpu);
    RingReaderInit(&kernel, p->ring->cpus + (uint32_t)cpu);
    while (haveUser = ready(p, &user), haveKernel = ready(p, &kernel), haveUser || haveKernel) {
        bool fromUser = !haveKernel || (haveUser && RingReaderRecord(&user)->ticks <=
                                                            RingReaderRecord(&kernel)->ticks);
        RingReader *t = fromUser ? &user : &kernel;
        EtwEvent event;
        if (LoggerEventOf(RingReaderRecord(t), t->size, cpu, &event)) {
            event.ticks = EtwAnchorsSteady(p->anchors, RingReaderRecord(t)->ticks);
            p->saved += EtlWriterAdd(p->writer, &event) == ETW_OK;
        }
        RingReaderNext(t);
    }
    RingReaderFree(&user);
    RingReaderFree(&kernel);
}

EtwStatus SnapshotRing(Ring *ring, const EtwAnchors *anchors, const EtlWriterConfig *config,
        uint64_t *savedPtr, EtwError *err)
{
    Picture p = {.ring = ring, .anchors = anchors, .blockTimeout = PATIENCE};
    OsInstant now;
    EtwStatus status = EtlWriterOpen(&p.writer, config, err);
    if (status != ETW_OK) {
        return status;
    }
    OsNow(&now);
    p.until = now.ticks;
    for (uint32_t cpu = 0; cpu < ring->cpus; cpu++) {
        saveCpu(&p, (int)cpu);
    }
    if (savedPtr != NULL) {
        *savedPtr = p.saved;
    }
    return EtlWriterClose(p.writer, LoggerLost(ring), now.wall, err);
}

EtwStatus LoggerSnapshot(EtwSession *s, const char *path, EtwError *err)
{
    EtlWriterConfig config = s->fileConfig;
    config.path = path;
    config.inHurry = NULL;
    config.onFlush = NULL; /* does not change the session's state */
    return SnapshotRing(s->ring, &s->anchors, &config, NULL, err);
}
