/*
 * engine/session/crash_recovery.c --
 *
 *	Recovers the session of a killed logger: writes those records in shared memory that are not
 *	in the file yet, and closes the file. For each stream the logger has stored how many events
 *	are on disk (shared_layout.h). A buffer whose write had begun is looked up in the file.
 *	Records that killed writers left open are counted as abandoned, as the logger does. A
 *	session without a file (flight recorder) is written to a new file in the registry's
 *	directory.
 */
#include "base/alloc.h"
#include "base/bytes.h"
#include "engine/session/session.h"
#include "etl/format.h"
#include <stdio.h>

enum { MAX_WAITS = 200, MAX_REPORTED = ETW_MAX_SESSIONS };

static EtwRecovered recoveredList[MAX_REPORTED]; /* guarded by RegLock */
static int recoveredCount;

/* ---- What is in the file --------------------------------------------------------------------- */

/* True if the file contains the buffer whose write had begun, up to the announced end. */
static bool isFlushed(const OsMap *file, uint32_t bufferSize, const RingStream *user)
{
    uint64_t at = (uint64_t)atomic_load(&user->flushSlot) * bufferSize;
    const uint8_t *head = file->base + at;
    return at + ETL_BUFFER_HEADER <= file->size &&
           (int64_t)EtwLoad64(head + ETL_BUF_SEQUENCE) == atomic_load(&user->flushSequence) &&
           EtwLoad32(head + ETL_BUF_SAVED) >= atomic_load(&user->flushUsed);
}

/* Advance onDisk of streams whose last buffer was written but not noted. */
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

/* ---- Reading unsaved records ----------------------------------------------------------------- */

typedef struct UnsavedReader {
    Ring *ring;
    RingCursor cursor;
    uint32_t buffer; /* the buffer that `index` was set for */
    uint64_t index;  /* of the next record in its stream, as counted by the logger */
    RingRecord *record;
    uint32_t size;
} UnsavedReader;

/*
 * At a buffer's first record: set the index from the serial, if the logger has reached this buffer.
 */
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
        OsSleepNs(1000000); /* the writer is alive */
    } else if (*waitsLeft <= 0) {
        RingSkip(r->ring, &r->cursor);
        atomic_fetch_add(&r->ring->header->lostAbandoned, 1);
    }
}

/* Read the next record that is not on disk. False: there is none. */
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
            r->buffer = RING_NO_BUFFER; /* the same buffer may be reused as the next one */
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

/*
 * The file's path when the logger died. In new-file mode `ahead` is added to the current file's
 * number.
 */
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

/*
 * In new-file mode the logger may have died after it made the next file and before it wrote an
 * event there.
 */
static void removeEmptyNext(const RingHeader *h)
{
    OsMap file = {0};
    char path[1100];
    filePath(h, 1, path, sizeof path);
    if (h->mode != ETW_FILE_NEWFILE || OsMapFile(&file, path, NULL) != ETW_OK) {
        return;
    }
    bool empty = file.size <= h->bufferSize; /* only the file's header */
    OsUnmap(&file);
    if (empty) {
        OsFileRemove(path);
    }
}

/* The configuration points to `name`, which has 257 bytes. */
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

/* Write a flight recorder's buffers to a new file. */
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
        return; /* the owner died while it started the session */
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
