/*
 * engine/session/crash_recovery.c --
 *
 *	Recovers the session of a killed logger: writes the records in shared memory that are not yet in the file to it,
 *	and closes it. The logger has stored in the streams (shared_layout.h) how many events of each stream need not be
 *	saved. The file is checked for a buffer whose write had begun. Records of killed writers are counted as abandoned,
 *	as the logger does. A flight recorder has no file: the contents of its ring are written to a new one in the
 *	registry's directory.
 */
#include "base/alloc.h"
#include "base/bytes.h"
#include "engine/session/session.h"
#include "etl/format.h"
#include <stdio.h>

enum {
    MAX_WAITS = 200,
    /* ms for writers that are inside a record */ MAX_REPORTED = ETW_MAX_SESSIONS
};

static EtwRecovered recoveredList[MAX_REPORTED]; /* under RegLock */
static int recoveredCount;

/* ---- What is on disk ------------------------------------------------------------------------- */

/* The buffer that was being put is in the file, up to where it was to be announced. */
static bool isFlushed(const OsMap *file, uint32_t bufferSize, const RingStream *user)
{
    uint64_t at = (uint64_t)atomic_load(&user->flushSlot) * bufferSize;
    const uint8_t *head = file->base + at;
    return at + ETL_BUFFER_HEADER <= file->size &&
           (int64_t)EtwLoad64(head + ETL_BUF_SEQUENCE) == atomic_load(&user->flushSequence) &&
           EtwLoad32(head + ETL_BUF_SAVED) >= atomic_load(&user->flushUsed);
}

/* Puts that were done and not noted any more are noted. */
static void settleFlushes(Ring *ring, const char *path)
{
    OsMap file = {0};
    if (OsMapFile(&file, path, NULL) != ETW_OK) {
        return;
    }
    for (uint32_t cpu = 0; cpu < ring->cpus; cpu++) {
        RingStream *user = &ring->streams[cpu], *kernel = &ring->streams[ring->cpus + cpu];
        uint64_t userNext = atomic_load(&user->next), kernelNext = atomic_load(&kernel->next);
        if ((userNext > atomic_load(&user->onDisk) || kernelNext > atomic_load(&kernel->onDisk)) &&
                isFlushed(&file, ring->bufferSize, user)) {
            atomic_store(&user->onDisk, userNext);
            atomic_store(&kernel->onDisk, kernelNext);
        }
    }
    OsUnmap(&file);
}

/* ---- Reading the rest ------------------------------------------------------------------------ */

typedef struct UnsavedReader {
    Ring *ring;
    RingCursor cursor;
    uint32_t buffer; /* whose serial was looked at */
    uint64_t index;  /* of the next record in its stream, as the logger counted */
    RingRecord *record;
    uint32_t size;
} UnsavedReader;

/* The first record of a buffer: where the logger had been, it says the index. */
static void beginBuffer(UnsavedReader *r)
{
    uint64_t serial = atomic_load(&r->ring->buffers[r->cursor.buffer].serial);
    r->buffer = r->cursor.buffer;
    r->index = serial != 0 ? serial - 1 : r->index;
}

static void skipBlockedRecord(UnsavedReader *r, int *waitsLeft)
{
    if (*waitsLeft > 0 && !RingAbandon(r->ring, &r->cursor)) {
        --*waitsLeft;
        OsSleepNs(1000000); /* a writer that lives */
    } else if (*waitsLeft <= 0) {
        RingSkip(r->ring, &r->cursor);
        atomic_fetch_add(&r->ring->header->lostAbandoned, 1);
    }
}

/* Have the next record that is not on disk; false: there is none. */
static bool next(UnsavedReader *r, int *waitsLeft)
{
    uint64_t onDisk = atomic_load(&r->ring->streams[r->cursor.stream].onDisk);
    uint32_t buffer;
    while (r->record == NULL) {
        switch (RingPeek(r->ring, &r->cursor, &r->record, &r->size, &buffer)) {
        case RING_RECORD:
            if (r->cursor.buffer != r->buffer) {
                beginBuffer(r);
            }
            if (r->index < onDisk) {
                r->record = NULL;
                r->index++;
                RingAdvance(&r->cursor, r->size);
            }
            break;
        case RING_BLOCKED:
            r->record = NULL;
            skipBlockedRecord(r, waitsLeft);
            break;
        case RING_EMPTY:
            r->record = NULL;
            return false;
        case RING_DONE:
            r->buffer = RING_NO_BUFFER; /* the next one may be the same, used again */
            r->record = NULL;
            break;
        case RING_OVERTAKEN:
            r->record = NULL;
            break;
        }
    }
    return true;
}

static uint64_t save(Ring *ring, EtlWriter *writer, int cpu, const EtwAnchors *anchors)
{
    UnsavedReader user = {.ring = ring, .buffer = RING_NO_BUFFER}, kernel = user;
    int waitsLeft = MAX_WAITS;
    uint64_t saved = 0;
    user.cursor = (RingCursor){.stream = (uint32_t)cpu, .buffer = RING_NO_BUFFER};
    kernel.cursor = (RingCursor){.stream = ring->cpus + (uint32_t)cpu, .buffer = RING_NO_BUFFER};
    user.index = atomic_load(&ring->streams[user.cursor.stream].passed);
    kernel.index = atomic_load(&ring->streams[kernel.cursor.stream].passed);
    for (;;) {
        bool haveUser = next(&user, &waitsLeft), haveKernel = next(&kernel, &waitsLeft);
        bool fromUser = !haveKernel || (haveUser && user.record->ticks <= kernel.record->ticks);
        UnsavedReader *from = fromUser ? &user : &kernel;
        EtwEvent event;
        if (!haveUser && !haveKernel) {
            return saved;
        }
        if (LoggerEventOf(from->record, from->size, cpu, &event)) {
            event.ticks = EtwAnchorsSteady(anchors, from->record->ticks);
            saved += EtlWriterAdd(writer, &event) == ETW_OK;
        } else {
            atomic_fetch_add(&ring->header->lostAbandoned, 1);
        }
        from->record = NULL;
        from->index++;
        RingAdvance(&from->cursor, from->size);
    }
}

/* ---- The file -------------------------------------------------------------------------------- */

/* As it was named when the logger died: in new-file mode with its number, or the one `ahead`. */
static void filePath(const RingHeader *h, uint32_t ahead, char *path, size_t size)
{
    const char *mark = h->mode == ETW_FILE_NEWFILE ? strstr(h->file, "%d") : NULL;
    if (mark == NULL) {
        snprintf(path, size, "%.1023s", h->file);
    } else {
        snprintf(path, size, "%.*s%u%.1000s", (int)(mark - h->file), h->file,
                atomic_load(&h->fileNumber) + ahead, mark + 2);
    }
}

/* New-file mode: killed right behind the making of the next file, before there was an event in it. */
static void removeEmptyNext(const RingHeader *h)
{
    OsMap file = {0};
    char path[1100];
    filePath(h, 1, path, sizeof path);
    if (h->mode != ETW_FILE_NEWFILE || OsMapFile(&file, path, NULL) != ETW_OK) {
        return;
    }
    bool empty = file.size <= h->bufferSize; /* the file's header at most */
    OsUnmap(&file);
    if (empty) {
        OsFileRemove(path);
    }
}

/* name: 257 bytes, which the configuration points to. */
static EtlWriterConfig configOf(const RingHeader *h, int index, const char *path, char *name)
{
    snprintf(name, 257, "%.255s", h->name);
    return (EtlWriterConfig){.path = path,
            .loggerName = name,
            .mode = SessionFileMode(
                    (EtwFileMode)(h->mode <= ETW_FILE_NEWFILE ? h->mode : 0), h->realtime != 0),
            .bufferSize = h->bufferSize,
            .loggerId = (uint16_t)(index + 1),
            .cpus = (int)h->cpus,
            .startWall = h->startWall,
            .startSteady = h->startSteady,
            .bootTime = OsBootTime(),
            .zoneBias = OsTimeZoneBias(),
            .cpuMHz = OsCpuMHz(),
            .pid = h->ownerPid};
}

static EtwStatus openFile(
        EtlWriter **writerPtr, const Ring *ring, int index, const char *path, EtwError *err)
{
    char name[257];
    EtlWriterConfig config = configOf(ring->header, index, path, name);
    config.recover = true;
    if (!OsFileExists(path)) {
        return EtwFail(err, ETW_E_LOOKUP, "FILE", path,
                "the file \"%s\" of session \"%s\", which was killed, is gone", path, name);
    }
    return EtlWriterOpen(writerPtr, &config, err);
}

/* A flight recorder. */
static EtwStatus recoverRing(Ring *ring, int index, EtwRecovered *r)
{
    const RingHeader *h = ring->header;
    EtwAnchors anchors = h->anchors[atomic_load(&h->anchorTurn) % 2];
    char name[257], path[sizeof r->file - 8];
    EtlWriterConfig config = configOf(h, index, r->file, name);
    RegSessionPath(h->instance, path, sizeof path);
    snprintf(r->file, sizeof r->file, "%s.etl", path);
    return SnapshotRing(ring, &anchors, &config, &r->events, &r->error);
}

static EtwStatus recoverFile(Ring *ring, int index, EtwRecovered *r)
{
    RingHeader *h = ring->header;
    EtwAnchors anchors = h->anchors[atomic_load(&h->anchorTurn) % 2];
    EtlWriter *writer;
    uint64_t lost;
    EtwStatus status;
    filePath(h, 0, r->file, sizeof r->file);
    removeEmptyNext(h);
    RingCloseAll(ring);
    settleFlushes(ring, r->file);
    status = openFile(&writer, ring, index, r->file, &r->error);
    if (status != ETW_OK) {
        return status;
    }
    for (int cpu = 0; cpu < (int)ring->cpus; cpu++) {
        r->events += save(ring, writer, cpu, &anchors);
    }
    lost = LoggerLost(ring) + atomic_load(&h->lostFull) + atomic_load(&h->lostIo) +
           atomic_load(&h->lostTooBig);
    return EtlWriterClose(writer, lost, atomic_load(&h->aliveWall), &r->error);
}

/* ---- Sessions -------------------------------------------------------------------------------- */

static void recoverSession(int index)
{
    const RegSession *session = &RegGet()->sessions[index];
    uint64_t instance = atomic_load(&session->instance);
    Ring ring = {0};
    char path[1024];
    EtwRecovered *r =
            &recoveredList[recoveredCount < MAX_REPORTED ? recoveredCount : MAX_REPORTED - 1];
    RegSessionPath(instance, path, sizeof path);
    if (RingOpen(&ring, path, instance, NULL) != ETW_OK) {
        return; /* it died while it started */
    }
    bool memory = ring.header->overwrite != 0;
    if ((memory || ring.header->file[0] != '\0') &&
            atomic_load(&ring.header->state) != RING_STOPPED) {
        memset(r, 0, sizeof *r);
        snprintf(r->name, sizeof r->name, "%.255s", session->name);
        r->ownerPid = session->ownerPid;
        r->status = memory ? recoverRing(&ring, index, r) : recoverFile(&ring, index, r);
        recoveredCount += recoveredCount < MAX_REPORTED;
    }
    RingClose(&ring);
}

void SessionsRecoverDead(void)
{
    for (int i = 0; i < ETW_MAX_SESSIONS; i++) {
        const RegSession *s = &RegGet()->sessions[i];
        if (atomic_load(&s->instance) != 0 && !OsProcessAlive(s->ownerPid, s->ownerStart)) {
            RegDisableSession(i);
            recoverSession(i);
            RegRemoveSession(i);
        }
    }
}

EtwStatus EtwSessionRecover(
        void (*visit)(void *ctx, const EtwRecovered *recovered), void *ctx, EtwError *err)
{
    EtwRecovered *list;
    EtwStatus status;
    int count;
    if (RegOpen(err) == NULL) {
        return err ? err->status : ETW_E_IO;
    }
    if ((status = RegLock(err)) != ETW_OK) {
        return status;
    }
    SessionsRecoverDead();
    count = recoveredCount;
    list = EtwAlloc((size_t)(count + 1) * sizeof *list);
    memcpy(list, recoveredList, (size_t)count * sizeof *list);
    recoveredCount = 0;
    RegUnlock();
    for (int i = 0; i < count; i++) {
        visit(ctx, &list[i]);
    }
    EtwFree(list);
    return ETW_OK;
}
