/*
 * tests/engine/model/ring_model.c --
 *
 *	Scenarios for ring.c and ring_reader.c, which are compiled here as they are: only the atomic
 *	operations, the clock, the processes and the memory are the model's. Two writers fill small
 *	buffers, a logger reads and frees them as logger.c does, a writer is killed before any atomic
 *	operation. After each execution: every acknowledged event was read exactly once, in its writer's
 *	order, or was counted as lost.
 */
#include "base/bytes.h"
#include "base/os.h"
#include "engine/shared/process_key.h"
#include "model.h"
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* ---- What ring.c takes from the operating system --------------------------------------------- */

int modelEvents = 4; /* of each writer */
enum { WRITERS = 2, RECORD = (int)sizeof(uint64_t) + 32 };

static uint64_t ticks;
static struct {
    uint32_t dead; /* an atomic word of the model: what a process did before its death is visible */
    jmp_buf end;
    bool mortal;
    int acknowledged, refused;
} processes[4];

static uint64_t ModelTicks(void)
{
    return ++ticks;
}
static uint32_t ModelPid(void)
{
    return (uint32_t)ModelThread() + 1;
}
static bool ModelProcessLives(uint32_t key)
{
    ModelCheck(key >= 1 && key <= 4, "a process that was stored");
    return atomic_load_explicit(&processes[(key - 1) % 4].dead, memory_order_acquire) == 0;
}
/* Zeroes and copies, word by word: each word of a buffer is an atomic word of the model. */
static void *ModelSet(void *at, int value, size_t size)
{
    for (size_t i = 0; i < size; i += 8) {
        atomic_store_explicit((uint32_t *)((char *)at + i), (uint32_t)value, memory_order_relaxed);
    }
    return at;
}
static void *ModelCopy(void *to, const void *from, size_t size)
{
    memcpy(to, from, size); /* the words that are not atomic: the clock, the process */
    for (size_t i = 0; i < size; i += 8) {
        uint32_t word = atomic_load_explicit(
                (const uint32_t *)((const char *)from + i), memory_order_relaxed);
        memcpy((char *)to + i, &word, sizeof word);
    }
    return to;
}
static uint64_t ModelLoad64(const void *at)
{
    return atomic_load_explicit((const uint32_t *)at, memory_order_relaxed);
}

#define OsTicks ModelTicks
#define OsPid ModelPid
#define RegSelfKey ModelPid
#define RegProcessLives ModelProcessLives
#define OsSharedWakePost(wake) ((void)(wake))
#define EtwLoad64 ModelLoad64
#define memset ModelSet
#define memcpy ModelCopy
#include "engine/shared/ring.c"
#undef memset
#include "engine/shared/ring_reader.c"
#undef memcpy

EtwStatus OsMapShared(OsMap *map, const char *path, bool create, size_t size, EtwError *err)
{
    static _Alignas(64) uint8_t memory[1 << 16];
    (void)path, (void)create, (void)err;
    if (size > sizeof memory) {
        abort();
    }
    memset(memory, 0, size);
    map->base = memory;
    map->size = size;
    return ETW_OK;
}
EtwStatus OsMapReserve(
        const OsMap *map, size_t offset, size_t size, const char *path, EtwError *err)
{
    (void)map, (void)offset, (void)size, (void)path, (void)err;
    return ETW_OK;
}
bool OsFileRemove(const char *path)
{
    (void)path;
    return true;
}
void OsUnmap(OsMap *map)
{
    (void)map;
}
void OsSharedWakeOpen(OsSharedWake *wake, _Atomic uint32_t *word, const char *name)
{
    (void)wake, (void)word, (void)name;
}
EtwStatus EtwFail(EtwError *err, EtwStatus status, const char *code, const char *detail,
        const char *format, ...)
{
    (void)err, (void)code, (void)detail, (void)format;
    return status;
}
void EtwFree(void *memory)
{
    free(memory);
}
void *EtwRealloc(void *memory, size_t size)
{
    return realloc(memory, size);
}
void OsSharedWakeClose(OsSharedWake *wake)
{
    (void)wake;
}

/* ---- Threads --------------------------------------------------------------------------------- */

static Ring ring;
static RingCursor cursors[2]; /* of the logger: one a stream */
static int lastRead[WRITERS], readCount[WRITERS];
static RingReader reader; /* of a live consumer */
static int lastSeen[WRITERS], seenCount[WRITERS];
static uint32_t ended; /* writers */
static bool commitsEarly;
static bool waits; /* writers of a lossless session, as buffer_wait.c has them: each has a stream */
static uint32_t starved;

/* A mortal process may be killed before any of its atomic operations. */
void ModelStep(void)
{
    int i = ModelThread();
    if (i >= 0 && processes[i].mortal && ModelRarely()) {
        processes[i].mortal = false;
        longjmp(processes[i].end, 1);
    }
}

#define PUBLISH(word) ModelPublish(&(word), sizeof(word))
static void publish(void)
{
    PUBLISH(ended);
    PUBLISH(starved);
    for (int i = 0; i < 4; i++) {
        PUBLISH(processes[i].dead);
    }
    PUBLISH(ring.header->maxBuffers);
    for (int i = 0; i < 2; i++) {
        PUBLISH(ring.streams[i].current);
        PUBLISH(ring.streams[i].sequence);
    }
    for (uint32_t i = 0; i < ring.bufferCount; i++) {
        RingBuffer *b = &ring.buffers[i];
        PUBLISH(b->reserve);
        PUBLISH(b->state);
        PUBLISH(b->stream);
        PUBLISH(b->sequence);
        PUBLISH(b->opened);
        PUBLISH(b->serial);
        PUBLISH(b->abandoned);
        PUBLISH(b->stuck);
        PUBLISH(b->backed);
        PUBLISH(b->overwritten);
        PUBLISH(b->overwrittenNext);
        for (uint32_t at = 0; at < ring.bufferSize; at += 8) {
            ModelPublish(RingDataOf(&ring, i) + at, 4);
        }
    }
}

static void begin(bool overwrite, bool waiting)
{
    RingConfig config = {.instance = 1,
            .cpus = 1,
            .bufferSize = 2 * RECORD,
            .buffers = waiting ? 1 : 3,
            .overwrite = overwrite};
    ticks = 0;
    ended = 0;
    commitsEarly = false;
    memset(processes, 0, sizeof processes);
    memset(lastRead, 0, sizeof lastRead);
    memset(readCount, 0, sizeof readCount);
    memset(lastSeen, 0, sizeof lastSeen);
    memset(seenCount, 0, sizeof seenCount);
    RingReaderFree(&reader);
    RingReaderInit(&reader, 0);
    RingCreate(&ring, "", &config, NULL);
    publish();
    waits = waiting;
    starved = 0;
    for (uint32_t i = 0; i < 2; i++) {
        cursors[i] = (RingCursor){.stream = i, .buffer = RING_NO_BUFFER};
    }
}

static void writeEvents(int writer)
{
    for (int i = 1; i <= modelEvents; i++) {
        RingRecord *record = RingReserve(&ring, waits ? (uint32_t)writer : 0, RECORD, 0);
        while (waits && record == NULL) {
            atomic_store(&starved, 1);
            ModelYield();
            record = RingReserve(&ring, (uint32_t)writer, RECORD, 0);
        }
        if (record == NULL) {
            processes[writer].refused++;
            continue;
        }
        if (commitsEarly) {
            RingCommit(record, RECORD);
        }
        atomic_store_explicit(
                (uint32_t *)(record + 1), (uint32_t)(writer << 8 | i), memory_order_relaxed);
        RingCommit(record, RECORD);
        processes[writer].acknowledged |= 1 << i;
    }
}

static void runWriter(int writer, bool mortal)
{
    processes[writer].mortal = mortal;
    if (setjmp(processes[writer].end) == 0) {
        writeEvents(writer);
        processes[writer].mortal = false;
    } else {
        atomic_store_explicit(&processes[writer].dead, 1, memory_order_release);
    }
    atomic_fetch_add_explicit(&ended, 1, memory_order_acq_rel);
}

static void noteEvent(uint32_t value, int last[], int read[])
{
    int writer = (int)(value >> 8), n = (int)(value & 0xFF);
    ModelCheck(writer < WRITERS && n >= 1 && n <= modelEvents, "a whole event is read");
    ModelCheck(n > last[writer], "each event is read once, in its writer's order");
    last[writer] = n;
    read[writer] |= 1 << n;
}

/* The writer's own event may be lost when it was killed; no other, and none twice. */
static void readEvent(const RingRecord *record)
{
    uint32_t value = atomic_load_explicit((const uint32_t *)(record + 1), memory_order_relaxed);
    if (record->ticks != 0) { /* 0: abandoned */
        noteEvent(value, lastRead, readCount);
    }
}

/* One round of the logger. False: nothing was there. */
static bool readRound(RingCursor *cursor, bool keep, bool allEnded)
{
    RingRecord *record;
    uint32_t size, buffer;
    switch (RingPeek(&ring, cursor, &record, &size, &buffer)) {
    case RING_RECORD:
        readEvent(record);
        RingAdvance(cursor, size);
        return true;
    case RING_DONE:
        RingRelease(&ring, buffer, keep);
        if (keep) {
            RingReplenish(&ring, 1);
        }
        return true;
    case RING_BLOCKED:
        if (RingAbandon(&ring, cursor)) {
            return true;
        }
        if (allEnded) { /* a hole: its writer was killed before it marked the record */
            RingSkip(&ring, cursor);
            return true;
        }
        return false;
    case RING_OVERTAKEN:
        ModelCheck(false, "only the logger frees buffers");
        return true;
    case RING_EMPTY:
        break;
    }
    return false;
}

static void runLogger(bool keep)
{
    for (;;) {
        bool allEnded = atomic_load_explicit(&ended, memory_order_acquire) == WRITERS;
        bool any = readRound(&cursors[0], keep, allEnded);
        if (waits) {
            any |= readRound(&cursors[1], keep, allEnded);
            if (atomic_exchange_explicit(&starved, 0, memory_order_acq_rel) != 0) {
                RingCloseUsed(&ring);
            }
        }
        if (!any) {
            if (allEnded) {
                return;
            }
            RingSweep(&ring);
            ModelYield();
        }
    }
}

static void checkAll(void)
{
    uint32_t freeCount = 0;
    for (int w = 0; w < WRITERS; w++) {
        ModelCheck((processes[w].acknowledged & ~readCount[w]) == 0,
                "every acknowledged event was read");
    }
    RingSweep(&ring);
    RingSweep(&ring);
    for (uint32_t i = 0; i < ring.bufferCount; i++) {
        const RingBuffer *b = &ring.buffers[i];
        freeCount += stateOf(b->state) == RING_FREE || stateOf(b->state) == RING_READ;
        if (stateOf(b->state) == RING_FREE) {
            for (uint32_t at = 0; at < ring.bufferSize; at += 8) {
                ModelCheck(EtwLoad64(RingDataOf(&ring, i) + at) == 0, "a free buffer is zeroed");
            }
        }
    }
    ModelCheck(freeCount + 1 >= ring.bufferCount, "all buffers but the current one are free again");
}

/* With one buffer for two writers, which wait for it: none is refused. */
static void checkWaiting(void)
{
    checkAll();
    for (int w = 0; w < WRITERS; w++) {
        ModelCheck(processes[w].refused == 0 &&
                           __builtin_popcount((unsigned)processes[w].acknowledged) == modelEvents,
                "every event is written");
    }
}

/* A live consumer, while the logger and the writers reuse buffers. */
static void runReader(void)
{
    for (;;) {
        bool allEnded = atomic_load_explicit(&ended, memory_order_acquire) == WRITERS;
        if (RingReaderPeek(&ring, &reader)) {
            uint32_t value;
            memcpy(&value, RingReaderRecord(&reader) + 1, sizeof value);
            if (RingReaderRecord(&reader)->ticks != 0) {
                noteEvent(value, lastSeen, seenCount);
            }
            RingReaderNext(&reader);
        } else if (allEnded) {
            return;
        } else {
            ModelYield();
        }
    }
}

/* ---- Scenarios ------------------------------------------------------------------------------- */

static void beginPlain(void)
{
    begin(false, false);
}
static void beginDefect(void)
{
    begin(false, false);
    commitsEarly = true;
}
static void beginOverwrite(void)
{
    begin(true, false);
}

static void beginWaiting(void)
{
    begin(false, true);
}

/* Two writers and the logger, which frees each buffer. */
static void plain(int index)
{
    if (index < WRITERS) {
        runWriter(index, false);
    } else {
        runLogger(false);
    }
}

/* The same; the first writer may be killed. */
static void killed(int index)
{
    if (index < WRITERS) {
        runWriter(index, index == 0);
    } else {
        runLogger(false);
    }
}

/* The logger keeps buffers for live consumers; writers take the oldest when none is free. */
static void kept(int index)
{
    if (index < WRITERS) {
        runWriter(index, index == 0);
    } else {
        runLogger(true);
    }
}

/* The same without a death, and with a live consumer. */
static void consumed(int index)
{
    if (index < WRITERS) {
        runWriter(index, false);
    } else if (index == WRITERS) {
        runLogger(true);
    } else {
        runReader();
    }
}

/* A flight recorder: writers overwrite the oldest buffer. */
static void overwritten(int index)
{
    runWriter(index, false);
}
/* What was not overwritten is there; what was is counted. */
static void checkOverwritten(void)
{
    int acknowledged = 0, there = (int)RingEvents(&ring);
    for (int w = 0; w < WRITERS; w++) {
        acknowledged += __builtin_popcount((unsigned)processes[w].acknowledged);
    }
    ModelCheck(acknowledged == there + (int)RingOverwritten(&ring),
            "each event is there or counted as overwritten");
    while (readRound(&cursors[0], true, true)) {
    }
    for (int w = 0; w < WRITERS; w++) {
        there -= __builtin_popcount((unsigned)readCount[w]);
    }
    ModelCheck(there == 0, "every event that is there is read");
}

/* The same with the logger's sweeps, and the first writer may be killed. */
static void overwrittenKilled(int index)
{
    if (index < WRITERS) {
        runWriter(index, index == 0);
        return;
    }
    while (atomic_load_explicit(&ended, memory_order_acquire) != WRITERS) {
        RingSweep(&ring);
        ModelYield();
    }
}
/*
 * The killed writer's last event may be there or not. Read, not counted by RingEvents: that ends at the
 * hole of a killed writer.
 */
static void checkOverwrittenKilled(void)
{
    int acknowledged = 0, there;
    RingSweep(&ring);
    while (readRound(&cursors[0], true, true)) {
    }
    there = (int)RingOverwritten(&ring);
    for (int w = 0; w < WRITERS; w++) {
        acknowledged += __builtin_popcount((unsigned)processes[w].acknowledged);
        there += __builtin_popcount((unsigned)readCount[w]);
    }
    ModelCheck(acknowledged <= there && there <= acknowledged + 1,
            "each event is there or counted as overwritten");
}

const ModelScenario modelScenarios[] = {
        /* Committed before it is stored: shows that the checks see it. Executed only by its name. */
        {"defect", 3, beginDefect, plain, checkAll},
        {"plain", 3, beginPlain, plain, checkAll},
        {"killed", 3, beginPlain, killed, checkAll},
        {"waiting", 3, beginWaiting, plain, checkWaiting},
        {"kept", 3, beginPlain, kept, checkAll},
        {"consumed", 4, beginPlain, consumed, checkAll},
        {"overwritten", 2, beginOverwrite, overwritten, checkOverwritten},
        {"overwritten-killed", 3, beginOverwrite, overwrittenKilled, checkOverwrittenKilled},
};
const int modelScenarioCount = sizeof modelScenarios / sizeof modelScenarios[0];
