/*
 * engine/snapshot.c --
 *
 *	A memory session's buffers into a file, on the logger's thread, while writers go on. Events
 *	that are overwritten before they are reached are simply no longer part of the picture.
 */
#include "base/bytes.h"
#include "engine/session.h"
#include "engine/tail.h"

enum { PATIENCE = 100 }; /* ms that a whole snapshot may wait for writers inside a record */

/* A next event up to `until`. Who is inside a record is waited for a little, then left out. */
static bool ready(EtwSession *s, RingTail *t, uint64_t until, int *patience)
{
    while (!RingTailPeek(s->ring, t)) {
        if (!t->blocked) {
            return false;
        }
        if (*patience > 0) {
            OsSleepNs(1000000);
            --*patience;
        } else {
            RingTailSkip(s->ring, t);
        }
    }
    return RingTailRecord(t)->ticks <= until;
}

static void saveCpu(EtwSession *s, EtlWriter *writer, int cpu, uint64_t until, int *patience)
{
    RingTail user, kernel;
    bool haveUser, haveKernel;
    RingTailInit(&user, (uint32_t)cpu);
    RingTailInit(&kernel, s->ring->cpus + (uint32_t)cpu);
    while (haveUser = ready(s, &user, until, patience),
            haveKernel = ready(s, &kernel, until, patience), haveUser || haveKernel) {
        bool fromUser = !haveKernel || (haveUser && RingTailRecord(&user)->ticks <=
                                                            RingTailRecord(&kernel)->ticks);
        RingTail *t = fromUser ? &user : &kernel;
        EtwEvent event;
        if (LoggerEventOf(RingTailRecord(t), t->size, cpu, &event)) {
            event.ticks = EtwAnchorsSteady(&s->anchors, RingTailRecord(t)->ticks);
            EtlWriterAdd(writer, &event);
        }
        RingTailNext(t);
    }
    RingTailFree(&user);
    RingTailFree(&kernel);
}

EtwStatus LoggerSnapshot(EtwSession *s, const char *path, EtwError *err)
{
    EtlWriter *writer;
    EtlWriterConfig config = s->fileConfig;
    OsInstant now;
    EtwStatus status;
    int patience = PATIENCE;
    config.path = path;
    config.onPut = NULL; /* no part of what the session keeps */
    status = EtlWriterOpen(&writer, &config, err);
    if (status != ETW_OK) {
        return status;
    }
    OsNow(&now);
    for (uint32_t cpu = 0; cpu < s->ring->cpus; cpu++) {
        saveCpu(s, writer, (int)cpu, now.ticks, &patience);
    }
    return EtlWriterClose(writer, LoggerLost(s->ring), now.wall, err);
}
