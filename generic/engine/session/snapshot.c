/*
 * engine/session/snapshot.c --
 *
 *	A memory session's buffers into a file, while writers go on: for etw snapshot on the logger's
 *	thread, and for recovery when the logger was killed. Events that are overwritten before they are
 *	reached are simply no longer part of the picture.
 */
#include "engine/session/session.h"
#include "engine/shared/ring_reader.h"

enum { PATIENCE = 100 }; /* ms that a whole snapshot may wait for writers inside a record */

typedef struct Picture {
    Ring *ring;
    const EtwAnchors *anchors;
    EtlWriter *writer;
    uint64_t until;   /* ticks: younger events are not in it */
    int blockTimeout; /* ms */
    uint64_t saved;   /* events */
} Picture;

/* A next event. Who is inside a record is waited for a little, then left out. */
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
    config.onFlush = NULL; /* no part of what the session keeps */
    return SnapshotRing(s->ring, &s->anchors, &config, NULL, err);
}
