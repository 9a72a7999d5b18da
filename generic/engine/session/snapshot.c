/*
 * engine/session/snapshot.c --
 *
 *	A memory session's buffers into a file, while writers go on: for etw snapshot on the logger's
 *	thread, and for recovery when the logger was killed. Events that are overwritten before they are
 *	reached are simply no longer part of the picture.
 */
#include "base/bytes.h"
#include "engine/session/session.h"
#include "engine/shared/ring_reader.h"

enum { PATIENCE = 100 }; /* ms that a whole snapshot may wait for writers inside a record */

typedef struct Picture {
    Ring *ring;
    const EtwAnchors *anchors;
    EtlWriter *writer;
    uint64_t until; /* ticks: younger events are not in it */
    int patience;   /* ms */
    uint64_t saved; /* events */
} Picture;

/* A next event. Who is inside a record is waited for a little, then left out. */
static bool ready(Picture *p, RingTail *t)
{
    while (!RingTailPeek(p->ring, t)) {
        if (!t->blocked) {
            return false;
        }
        if (p->patience > 0) {
            OsSleepNs(1000000);
            p->patience--;
        } else {
            RingTailSkip(p->ring, t);
        }
    }
    return RingTailRecord(t)->ticks <= p->until;
}

static void saveCpu(Picture *p, int cpu)
{
    RingTail user, kernel;
    bool haveUser, haveKernel;
    RingTailInit(&user, (uint32_t)cpu);
    RingTailInit(&kernel, p->ring->cpus + (uint32_t)cpu);
    while (haveUser = ready(p, &user), haveKernel = ready(p, &kernel), haveUser || haveKernel) {
        bool fromUser = !haveKernel || (haveUser && RingTailRecord(&user)->ticks <=
                                                            RingTailRecord(&kernel)->ticks);
        RingTail *t = fromUser ? &user : &kernel;
        EtwEvent event;
        if (LoggerEventOf(RingTailRecord(t), t->size, cpu, &event)) {
            event.ticks = EtwAnchorsSteady(p->anchors, RingTailRecord(t)->ticks);
            p->saved += EtlWriterAdd(p->writer, &event) == ETW_OK;
        }
        RingTailNext(t);
    }
    RingTailFree(&user);
    RingTailFree(&kernel);
}

EtwStatus SnapshotRing(Ring *ring, const EtwAnchors *anchors, const EtlWriterConfig *config,
        uint64_t *savedPtr, EtwError *err)
{
    Picture p = {.ring = ring, .anchors = anchors, .patience = PATIENCE};
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
    config.onPut = NULL; /* no part of what the session keeps */
    return SnapshotRing(s->ring, &s->anchors, &config, NULL, err);
}
