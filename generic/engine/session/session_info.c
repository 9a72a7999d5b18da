/*
 * engine/session/session_info.c --
 *
 *	Fills EtwSessionInfo from the session's mapping, which any process of the user can read.
 */
#include "engine/session/session.h"
#include <stdio.h>
#include <string.h>

static void fillLost(const Ring *ring, EtwLost *lost)
{
    const RingHeader *h = ring->header;
    for (uint32_t i = 0; i < 2 * ring->cpus; i++) {
        lost->noBuffer += atomic_load(&ring->streams[i].lostNoBuffer);
        lost->tooBig += atomic_load(&ring->streams[i].lostTooBig);
    }
    lost->tooBig += atomic_load(&h->lostTooBig);
    lost->fileFull = atomic_load(&h->lostFull);
    lost->io = atomic_load(&h->lostIo);
    lost->abandoned = atomic_load(&h->lostAbandoned);
    lost->kernel = atomic_load(&h->lostKernel);
    lost->consumer = atomic_load(&h->lostConsumer);
}

/* A killed consumer has left its key. */
static uint32_t countConsumers(const RingHeader *h)
{
    uint32_t count = 0;
    for (int i = 0; i < RING_CONSUMERS; i++) {
        uint32_t key = atomic_load(&h->consumers[i]);
        count += key != 0 && RegProcessLives(key);
    }
    return count;
}

void SessionFillInfo(const Ring *ring, uint32_t index, EtwSessionInfo *info)
{
    static const char *const states[] = {"", "running", "stopping", "stopped"};
    const RingHeader *h = ring->header;
    uint32_t state = atomic_load(&h->state);
    OsInstant now;
    memset(info, 0, sizeof *info);
    OsNow(&now);
    info->engine = etwEmbeddedOps.name;
    /* Text in shared memory may lack its terminator. */
    snprintf(info->name, sizeof info->name, "%.255s", h->name);
    snprintf(info->file, sizeof info->file, "%.1023s", h->file);
    snprintf(info->state, sizeof info->state, "%s", states[state <= 3 ? state : 0]);
    info->index = index;
    info->instance = h->instance;
    info->ownerPid = h->ownerPid;
    info->starter = h->starter;
    OsUserName(info->user, sizeof info->user);
    snprintf(info->kernel, sizeof info->kernel, "%.511s", h->kernel);
    info->consumers = countConsumers(h);
    info->started = h->startWall;
    info->duration =
            (atomic_load(&h->stopWall) ? atomic_load(&h->stopWall) : now.wall) - h->startWall;
    info->mode = (EtwFileMode)h->mode;
    info->realtime = h->realtime != 0;
    info->lossless = h->lossless != 0;
    info->bufferKB = h->bufferSize / 1024;
    info->minBuffers = h->minBuffers;
    info->maxBuffers = atomic_load(&h->maxBuffers);
    info->flushMs = atomic_load(&h->flushMs);
    info->maxMB = atomic_load(&h->maxMB);
    RingCount(ring, &info->buffersUsed, &info->buffersFree);
    info->events = atomic_load(&h->events);
    info->bytes = atomic_load(&h->bytes);
    info->buffers = (uint32_t)atomic_load(&h->fileBuffers);
    info->overwritten = atomic_load(&h->overwritten);
    fillLost(ring, &info->lost);
    if (h->overwrite) {
        info->overwritten = RingOverwritten(ring);
        info->events = RingEvents(ring) + info->overwritten;
    }
}
