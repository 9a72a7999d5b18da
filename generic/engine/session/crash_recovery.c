/*
 * engine/session/crash_recovery.c --
 *
 *	Recovers the session of a killed logger: writes the records in shared memory that are not yet in the file to it,
 *	and closes it. The logger has stored in the streams (shared_layout.h) how many events of each stream need not be
 *	saved. The file is checked for a buffer whose write had begun. Records of killed writers are counted as abandoned,
 *	as the logger does. A flight recorder has no file: the contents of its ring are written to a new one in the
 *	registry's directory.
 *
 *	The registry's lock is held only to claim a session and to remove it afterwards, so that other processes do not wait
 *	for the disk. A claim ends with its process.
 *
 *	The recovery records its own writes in the streams, as the logger does, so that it may be killed or fail at any
 *	point, and another process continues it. While the operating system refuses to write, the session's mapping is
 *	kept, and each later call tries again.
 */
#include "base/alloc.h"
#include "base/bytes.h"
#include "engine/session/session.h"
#include "engine/shared/testpoint.h"
#include "etl/format.h"
#include <stdio.h>

enum { MAX_WAITS = 200 /* ms to wait for writers that are inside a record */ };
enum { MAX_REPORTED = ETW_MAX_SESSIONS };

static EtwRecovered recoveredList[MAX_REPORTED]; /* guarded by RegLock */
static int recoveredCount;

/* ---- The contents of the file ---------------------------------------------------------------- */

/*
 * True if the buffer of an unfinished flush is in the file, up to the size that its header will
 * state. The header is written last.
 */
static bool isFlushed(const OsMap *file, const RingStream *user, uint32_t cpu)
{
    uint64_t at = atomic_load(&user->flushAt);
    const uint8_t *head = file->base + at;
    return at + ETL_BUFFER_HEADER <= file->size &&
           EtwLoad32(head + ETL_BUF_STATE) == ETL_STATE_FLUSH &&
           EtwLoad32(head + ETL_BUF_SIZE) <= file->size - at &&
           EtwLoad16(head + ETL_BUF_CPU) == cpu &&
           (int64_t)EtwLoad64(head + ETL_BUF_SEQUENCE) == atomic_load(&user->flushSequence) &&
           EtwLoad32(head + ETL_BUF_SAVED) >= atomic_load(&user->flushUsed);
}

/* Record the flushes that were completed but not recorded. Without this, their events would be written again. */
static EtwStatus settleFlushes(Ring *ring, const char *path, EtwError *err)
{
    OsMap file = {0};
    EtwStatus status = OsFileExists(path) ? OsMapFile(&file, path, err) : ETW_OK;
    if (file.size == 0) {
        return status;
    }
    for (uint32_t cpu = 0; cpu < ring->cpus; cpu++) {
        RingStream *user = &ring->streams[cpu], *kernel = &ring->streams[ring->cpus + cpu];
        uint64_t userNext = atomic_load(&user->next), kernelNext = atomic_load(&kernel->next);
        if ((userNext > atomic_load(&user->onDisk) || kernelNext > atomic_load(&kernel->onDisk)) &&
                isFlushed(&file, user, cpu)) {
            atomic_store(&user->onDisk, userNext);
            atomic_store(&kernel->onDisk, kernelNext);
        }
    }
    OsUnmap(&file);
    return ETW_OK;
}

/* ---- Reading unsaved records ----------------------------------------------------------------- */

typedef struct UnsavedReader {
    RingCursor cursor;
    RingRecord *record; /* NULL: none */
    uint32_t size;
} UnsavedReader;

typedef struct Recovery {
    Ring *ring;
    EtlWriter *writer;
    UnsavedReader *readers; /* one per stream */
    int waitsLeft;          /* ms */
    uint64_t saved;
    uint64_t abandoned; /* not yet included in the ring's count */
} Recovery;

/*
 * An EtlFlushProc: records progress, so that a recovery that is killed or fails can be continued.
 */
static void onFlush(void *ctx, const EtlFlush *put)
{
    Recovery *r = ctx;
    uint32_t cpu = (uint32_t)put->cpu;
    if (cpu >= r->ring->cpus) {
        return;
    }
    LoggerNoteFlush(r->ring, put, &r->readers[cpu].cursor, &r->readers[r->ring->cpus + cpu].cursor);
    if (put->done) {
        atomic_fetch_add(&r->ring->header->lostAbandoned, r->abandoned);
        r->abandoned = 0;
    }
}

static void skipBlockedRecord(Recovery *r, UnsavedReader *reader)
{
    if (r->waitsLeft > 0 && !RingAbandon(r->ring, &reader->cursor)) {
        r->waitsLeft--;
        OsSleepNs(1000000); /* its writer is alive */
    } else if (r->waitsLeft <= 0) {
        RingSkip(r->ring, &reader->cursor);
        r->abandoned++;
    }
}

/* Set the reader's next record that is not on disk; false: there is none. */
static bool next(Recovery *r, UnsavedReader *reader)
{
    uint64_t onDisk = atomic_load(&r->ring->streams[reader->cursor.stream].onDisk);
    while (reader->record == NULL) {
        uint32_t buffer;
        RingPeekResult result =
                RingPeek(r->ring, &reader->cursor, &reader->record, &reader->size, &buffer);
        if (result == RING_RECORD && RingPosition(&reader->cursor) >= onDisk) {
            return true;
        }
        reader->record = NULL;
        if (result == RING_RECORD) {
            RingAdvance(&reader->cursor, reader->size);
        } else if (result == RING_BLOCKED) {
            skipBlockedRecord(r, reader);
        } else if (result == RING_EMPTY) {
            return false;
        }
    }
    return true;
}

/*
 * Write a CPU's records to the file. ETW_E_IO: writing failed; this record and the following ones
 * remain.
 */
static EtwStatus save(Recovery *r, int cpu, const EtwAnchors *anchors)
{
    UnsavedReader *user = &r->readers[cpu], *kernel = &r->readers[(int)r->ring->cpus + cpu];
    for (;;) {
        bool haveUser = next(r, user), haveKernel = next(r, kernel);
        bool fromUser = !haveKernel || (haveUser && user->record->ticks <= kernel->record->ticks);
        UnsavedReader *from = fromUser ? user : kernel;
        EtwEvent event;
        EtwStatus status;
        if (!haveUser && !haveKernel) {
            return ETW_OK;
        }
        if (LoggerEventOf(from->record, from->size, cpu, &event)) {
            event.ticks = EtwAnchorsSteady(anchors, from->record->ticks);
            status = EtlWriterAdd(r->writer, &event);
            if (status == ETW_E_IO) {
                return status;
            }
            r->saved += status == ETW_OK;
        } else {
            r->abandoned++;
        }
        from->record = NULL;
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
 * In new-file mode the logger may have died after it created the next file and before it wrote an
 * event to it.
 */
static void removeEmptyNext(const RingHeader *h)
{
    OsMap file = {0};
    char path[1100];
    filePath(h, 1, path, sizeof path);
    if (h->mode != ETW_FILE_NEWFILE || OsMapFile(&file, path, NULL) != ETW_OK) {
        return;
    }
    bool empty = file.size <= (file.size >= ETL_BUFFER_HEADER
                                              ? EtwLoad32(file.base + ETL_BUF_SIZE)
                                              : 0); /* it contains only the file's header */
    OsUnmap(&file);
    if (empty) {
        OsFileRemove(path);
    }
}

/* The configuration points to `name`, an array of 257 bytes. */
static EtlWriterConfig configOf(const RingHeader *h, int index, const char *path, char *name)
{
    snprintf(name, 257, "%.255s", h->name);
    return (EtlWriterConfig){.path = path,
            .loggerName = name,
            .mode = SessionFileMode(
                    (EtwFileMode)(h->mode <= ETW_FILE_NEWFILE ? h->mode : 0), h->realtime != 0),
            .bufferSize = h->bufferSize,
            .compress = h->compress != ETW_COMPRESS_OFF,
            .loggerId = (uint16_t)(index + 1),
            .cpus = (int)h->cpus,
            .startWall = h->startWall,
            .startSteady = h->startSteady,
            .bootTime = OsBootTime(),
            .zoneBias = OsTimeZoneBias(),
            .cpuMHz = OsCpuMHz(),
            .pid = h->ownerPid};
}

static EtwStatus openFile(Recovery *r, int index, const char *path, EtwError *err)
{
    char name[257];
    EtlWriterConfig config = configOf(r->ring->header, index, path, name);
    config.recover = true;
    config.onFlush = onFlush;
    config.flushCtx = r;
    if (!OsFileExists(path)) {
        return EtwFail(err, ETW_E_LOOKUP, "FILE", path,
                "cannot complete the file \"%s\" of the killed session \"%s\": the file was "
                "removed",
                path, name);
    }
    return EtlWriterOpen(&r->writer, &config, err);
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
    EtwStatus status = SnapshotRing(ring, &anchors, &config, &r->events, &r->error);
    if (status != ETW_OK) {
        OsFileRemove(r->file); /* the next attempt creates it again */
    }
    return status;
}

static EtwStatus saveAll(Recovery *recovery, EtwRecovered *r)
{
    const Ring *ring = recovery->ring;
    const RingHeader *h = ring->header;
    EtwAnchors anchors = h->anchors[atomic_load(&h->anchorTurn) % 2];
    EtwStatus saved = ETW_OK, closed;
    for (uint32_t i = 0; i < 2 * ring->cpus; i++) {
        recovery->readers[i].cursor = (RingCursor){.stream = i, .buffer = RING_NO_BUFFER};
    }
    for (int cpu = 0; cpu < (int)ring->cpus && saved == ETW_OK; cpu++) {
        saved = save(recovery, cpu, &anchors);
    }
    uint64_t lost = LoggerLost(ring) + recovery->abandoned + atomic_load(&h->lostFull) +
                    atomic_load(&h->givenUp) + atomic_load(&h->lostTooBig);
    closed = EtlWriterClose(recovery->writer, lost, atomic_load(&h->aliveWall), &r->error);
    if (closed == ETW_OK && saved != ETW_OK) {
        closed = EtwFail(&r->error, saved, "WRITE", r->file, "cannot write \"%s\"", r->file);
    }
    return closed;
}

static EtwStatus recoverFile(Ring *ring, int index, EtwRecovered *r)
{
    RingHeader *h = ring->header;
    Recovery recovery = {.ring = ring, .waitsLeft = MAX_WAITS};
    EtwStatus status;
    filePath(h, 0, r->file, sizeof r->file);
    removeEmptyNext(h);
    RingCloseAll(ring);
    status = settleFlushes(ring, r->file, &r->error);
    recovery.readers = EtwAlloc(2 * ring->cpus * sizeof *recovery.readers);
    status = status == ETW_OK ? openFile(&recovery, index, r->file, &r->error) : status;
    if (status == ETW_OK) {
        status = saveAll(&recovery, r);
        r->events = recovery.saved;
    }
    EtwFree(recovery.readers);
    return status;
}

/* ---- Sessions -------------------------------------------------------------------------------- */

/* The result of an earlier attempt that failed is replaced. Under the registry's lock. */
static void keepResult(const EtwRecovered *result)
{
    EtwRecovered *r = recoveredList;
    while (r < recoveredList + recoveredCount &&
            (r->status == ETW_OK || r->ownerPid != result->ownerPid ||
                    strcmp(r->name, result->name) != 0)) {
        r++;
    }
    if (r == recoveredList + MAX_REPORTED) {
        r--;
    } else if (r == recoveredList + recoveredCount) {
        recoveredCount++;
    }
    *r = *result;
}

/* What prevents the recovery may pass: a full disk, no descriptor left, no right to write. Others: the file was removed or replaced. */
static bool mayPass(EtwStatus status)
{
    return status == ETW_E_IO || status == ETW_E_LIMIT || status == ETW_E_ACCESS ||
           status == ETW_E_MEMORY;
}

/*
 * Without the registry's lock; this process has claimed the session. *shownPtr: there is a result to report. False:
 * writing failed, and the events are only in shared memory.
 */
static bool recoverSession(int index, EtwRecovered *r, bool *shownPtr)
{
    uint64_t instance = atomic_load(&RegGet()->sessions[index].instance);
    Ring ring = {0};
    char path[1024];
    bool failed = false;
    RegSessionPath(instance, path, sizeof path);
    EtwStatus status = RingOpen(&ring, path, instance, NULL);
    if (status != ETW_OK) { /* LOOKUP, FORMAT: it died while starting */
        return status == ETW_E_LOOKUP || status == ETW_E_FORMAT;
    }
    bool memory = ring.header->overwrite != 0;
    *shownPtr = (memory || ring.header->file[0] != '\0') &&
                atomic_load(&ring.header->state) != RING_STOPPED;
    if (*shownPtr) {
        r->status = memory ? recoverRing(&ring, index, r) : recoverFile(&ring, index, r);
        failed = mayPass(r->status);
    }
    RingClose(&ring);
    return !failed;
}

/* A live process recovers the session. */
static bool isRecovering(const RegSession *s)
{
    uint32_t recoverer = atomic_load(&s->recoverer);
    return recoverer != 0 && RegProcessLives(recoverer);
}

/*
 * Leaves the registry's lock and takes it again; when that fails, the session stays unsaved, and the next call repeats
 * the recovery, which then finds all events in the file.
 */
static EtwStatus recoverUnlocked(int index, EtwError *err)
{
    RegSession *s = &RegGet()->sessions[index];
    EtwRecovered *result = EtwAlloc(sizeof *result);
    bool shown = false;
    snprintf(result->name, sizeof result->name, "%.255s", s->name);
    result->ownerPid = s->ownerPid;
    RegDisableSession(index);
    s->unsaved = 1;
    atomic_store(&s->recoverer, RegSelfKey());
    RegUnlock();
    ETW_TEST_POINT("recovery.claimed");
    bool saved = recoverSession(index, result, &shown);
    ETW_TEST_POINT("recovery.saved");
    EtwStatus status = RegLock(err);
    atomic_store(&s->recoverer, 0);
    if (status == ETW_OK) {
        if (shown) {
            keepResult(result);
        }
        if (saved) {
            RegRemoveSession(index);
        }
    }
    EtwFree(result);
    return status;
}

EtwStatus SessionsLock(EtwError *err)
{
    EtwStatus status = RegLock(err);
    for (int i = 0; i < ETW_MAX_SESSIONS && status == ETW_OK; i++) {
        RegSession *s = &RegGet()->sessions[i];
        if (SessionIsLeft(i)) {
            RegRemoveSession(i);
        } else if (atomic_load(&s->instance) != 0 && !RegProcessLives(s->owner) &&
                   !isRecovering(s)) {
            status = recoverUnlocked(i, err);
        }
    }
    return status;
}

static bool writesTo(uint64_t instance, const char *file)
{
    Ring ring = {0};
    char path[1024];
    RegSessionPath(instance, path, sizeof path);
    if (RingOpen(&ring, path, instance, NULL) != ETW_OK) {
        return false;
    }
    bool same = strncmp(ring.header->file, file, sizeof ring.header->file) == 0;
    RingClose(&ring);
    return same;
}

static EtwStatus isBeingRecovered(const RegSession *s, EtwError *err)
{
    uint32_t recoverer = atomic_load(&s->recoverer) % REG_PROCESSES;
    return EtwFail(err, ETW_E_STATE, "RECOVERING", s->name,
            "the logger of session \"%.255s\" was killed, and process %u is writing its last "
            "events to its file: try again when it has finished, or end that process and run \"etw "
            "recover\"",
            s->name, RegGet()->processes[recoverer].pid);
}

bool SessionUnsaved(const char *name, const char *file, EtwError *err)
{
    for (int i = 0; i < ETW_MAX_SESSIONS; i++) {
        const RegSession *s = &RegGet()->sessions[i];
        uint64_t instance = atomic_load(&s->instance);
        if (instance == 0 || !s->unsaved || (name != NULL && !RegIsNamed(s, name)) ||
                (file != NULL && !writesTo(instance, file))) {
            continue;
        }
        if (isRecovering(s)) {
            isBeingRecovered(s, err);
            return true;
        }
        EtwFail(err, ETW_E_STATE, "UNSAVED", s->name,
                "the logger of session \"%.255s\" was killed, and its last events could not be "
                "written to its file yet: free disk space and run \"etw recover\", or delete the "
                "file to give these events up",
                s->name);
        return true;
    }
    return false;
}

/*
 * The number of sessions that others are recovering: of this file, or NULL: of all. After SessionsLock, under its lock: one whose
 * recoverer has been killed since then counts, too.
 */
static int recoveringElsewhere(const char *file, const RegSession **onePtr)
{
    int count = 0;
    for (int i = 0; i < ETW_MAX_SESSIONS; i++) {
        const RegSession *s = &RegGet()->sessions[i];
        uint64_t instance = atomic_load(&s->instance);
        if (instance != 0 && atomic_load(&s->recoverer) != 0 &&
                (file == NULL || writesTo(instance, file))) {
            *onePtr = s;
            count++;
        }
    }
    return count;
}

/* A recovery whose process is killed meanwhile is continued here. */
EtwStatus SessionsLockRecovered(const char *file, EtwError *err)
{
    const RegSession *one = NULL;
    int count, before = 0;
    OsInstant now, since = {0};
    EtwStatus status;
    while ((status = SessionsLock(err)) == ETW_OK) {
        ETW_TEST_POINT("recovery.before-count");
        if ((count = recoveringElsewhere(file, &one)) == 0) {
            break;
        }
        OsNow(&now);
        if (count != before) {
            before = count;
            since = now;
        }
        bool late = now.steady - since.steady > REG_PATIENCE * 1000000000ll;
        if (late) {
            status = isBeingRecovered(one, err);
        }
        RegUnlock();
        if (late) {
            return status;
        }
        OsSleepNs(5000000);
    }
    return status;
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
    EtwKernelSweep();
    status = SessionsLockRecovered(NULL, err);
    if (status != ETW_OK && RegLock(NULL) != ETW_OK) { /* for what this process has recovered */
        return status;
    }
    count = recoveredCount;
    list = EtwAlloc((size_t)(count + 1) * sizeof *list);
    memcpy(list, recoveredList, (size_t)count * sizeof *list);
    recoveredCount = 0;
    RegUnlock();
    for (int i = 0; i < count; i++) {
        visit(ctx, &list[i]);
    }
    EtwFree(list);
    return status;
}
