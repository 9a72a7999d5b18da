/*
 * etl/write/writer.c --
 *
 *	Writes a session's file: one buffer of events for each CPU, and the slots of the file that
 *	they are written to. Slot 0 is the header buffer. A buffer counts against the maximum size
 *	of the file when it is begun, so that accepted events have a place. It gets its slot when it
 *	is first written, so that a file has no holes.
 *
 *	Each step leaves a readable file, whenever the process is killed: data is written before the
 *	buffer header that announces it, and an old buffer is declared empty before it is
 *	overwritten. A compressed file has no slots: buffers are only added at its end, and the byte of
 *	the header that says that the buffer was written comes last where a page of the file ends inside
 *	the header. A buffer that cannot be written stays in memory, and further events of its CPU
 *	are refused and counted until a write succeeds. The file is never synced: a crash of the
 *	machine may lose more.
 */
#include "etl/write/writer.h"
#include "base/heap.h"
#include "base/text.h"
#include "etl/compress/compress.h"
#include "etl/write/append_scan.h"
#include "etl/format.h"
#include "etl/read/file_header.h"
#include "etl/record.h"

enum { MAX_CPUS = 2048, MIN_RING = 2, NO_SLOT = 0, RETRY_AFTER = 256 };
enum { WRITE_UNIT = 4096 /* a kill divides writes at multiples of it, or of more */ };
enum { MIN_BUFFER = 4096, MAX_BUFFER = 1 << 20, SECTOR = 512, LEAST_HEADER = 1024 };

/* The current buffer of a CPU. */
typedef struct Stream {
    uint8_t *data;    /* bufferSize bytes, NULL until the CPU's first event. Owned. */
    uint32_t used;    /* end of data */
    uint32_t limit;   /* bufferSize; 0: no buffer, the first event has to begin one */
    uint32_t written; /* number of bytes that are on disk */
    uint32_t rebased; /* times before this are converted to an appended file's clock */
    uint32_t events;  /* number in the buffer */
    uint32_t eventsWritten;
    uint32_t slot; /* in the file; NO_SLOT: not written yet. In a compressed file always NO_SLOT */
    int64_t sequence;
    int64_t last; /* largest ticks of this CPU */
} Stream;

/* A slot of a circular file whose buffer is complete. */
typedef struct Slot {
    int64_t last; /* largest ticks */
    int64_t sequence;
    uint32_t slot, events;
} Slot;

static inline bool isOlder(Slot a, Slot b)
{
    return a.last != b.last ? a.last < b.last : a.sequence < b.sequence;
}
ETW_HEAP(slot, Slot, isOlder)

struct EtlWriter {
    Stream *streams;
    uint32_t cpus;
    uint32_t bufferSize;
    int64_t delta; /* added to the caller's ticks if the file is another session's */
    OsFile *file;
    char *path;    /* of the file */
    char *pattern; /* new-file mode: the path with %d; otherwise NULL */
    int number;    /* of the file, from 1 */
    char *loggerName;
    EtlHeader header;
    uint8_t *headerData;    /* bufferSize bytes */
    uint64_t lostBefore;    /* an appended file's own losses */
    bool headerStale;       /* the header on disk is outdated */
    uint32_t slotsUsed;     /* slots of the file after the header */
    uint32_t slotsReserved; /* including those that current buffers will need */
    uint32_t slotsMax;      /* 0: no limit */
    bool circular;
    EtlXpress *xpress; /* NULL: the layout of plain files. Owned */
    bool compress;     /* false: a compressed file is continued with buffers that are not */
    EtwText packed;    /* the compressed records of a buffer */
    uint64_t end;      /* compressed file: its size */
    uint64_t maxBytes; /* the same, the maximum; 0: no limit */
    Slot *complete;    /* circular: a heap with space for slotsMax, the oldest first */
    uint32_t completeCount;
    int64_t sequence;     /* of the last buffer written */
    uint32_t retryIn;     /* number of refusals before a failed write is repeated */
    EtwStatus refusal;    /* why the last event was refused */
    uint64_t bytesBefore; /* size of the earlier files in new-file mode */
    uint64_t events, lostFull, lostIo, tooBig, overwritten;
    uint32_t buffers; /* written in total, including header buffers */
    int osError;
    bool (*inHurry)(void *ctx);
    EtlFlushProc *onFlush; /* NULL: no callback */
    void *flushCtx;
};

/* ---- Slots ----------------------------------------------------------------------------------- */

/*
 * Drop the current buffer, because its events are older than those that would be overwritten
 * instead.
 */
static void dropOpen(EtlWriter *w, uint32_t cpu)
{
    Stream *s = &w->streams[cpu];
    w->overwritten += s->events;
    s->limit = 0;
    s->slot = NO_SLOT;
}

/*
 * The slot with the oldest events, which is about to be overwritten. A CPU's buffers are overwritten in their order,
 * its current one at last.
 */
static uint32_t oldestSlot(EtlWriter *w)
{
    Stream *open = NULL;
    for (uint32_t cpu = 0; cpu < w->cpus; cpu++) {
        Stream *s = &w->streams[cpu];
        if (s->limit != 0 && s->slot != NO_SLOT && (open == NULL || s->last < open->last)) {
            open = s;
        }
    }
    if (open != NULL && (w->completeCount == 0 || open->last < w->complete[0].last)) {
        uint32_t slot = open->slot;
        dropOpen(w, (uint32_t)(open - w->streams));
        return slot;
    }
    Slot oldest = w->complete[0];
    slotPop(w->complete, --w->completeCount);
    w->overwritten += oldest.events;
    return oldest.slot;
}

static uint64_t slotAt(const EtlWriter *w, uint32_t slot)
{
    return (uint64_t)slot * w->bufferSize;
}

static uint64_t fileEnd(const EtlWriter *w)
{
    return w->xpress != NULL ? w->end : slotAt(w, w->slotsUsed + 1);
}

static bool writeAt(EtlWriter *w, uint64_t at, const void *data, size_t size)
{
    return OsFileWriteAt(w->file, at, data, size, &w->osError) == ETW_OK;
}

/*
 * Write a complete buffer, its header last: when the process is killed inside a write, the kernel
 * may have written only the first pages.
 */
static bool writeWhole(EtlWriter *w, const Stream *s, uint32_t slot)
{
    return writeAt(w, slotAt(w, slot) + ETL_BUFFER_HEADER, s->data + ETL_BUFFER_HEADER,
                   w->bufferSize - ETL_BUFFER_HEADER) &&
           writeAt(w, slotAt(w, slot), s->data, ETL_BUFFER_HEADER);
}

/* Write a complete buffer to a slot at the end of the file. */
static bool writeNew(EtlWriter *w, const Stream *s, uint32_t slot)
{
    if (writeWhole(w, s, slot)) {
        return true;
    }
    int ignored;
    OsFileTruncate(w->file, slotAt(w, slot), &ignored); /* no partial buffer at the end */
    return false;
}

/* Write a complete buffer over an older one, which is declared empty first. */
static bool writeOver(EtlWriter *w, const Stream *s, uint32_t slot)
{
    uint8_t head[ETL_BUFFER_HEADER];
    EtlBufferHead empty = {w->bufferSize, ETL_BUFFER_HEADER, 0, s->sequence, 0, w->header.loggerId,
            0, ETL_BUFFER_GENERIC};
    EtlBufferHeadBuild(&empty, head);
    return writeAt(w, slotAt(w, slot), head, sizeof head) && writeWhole(w, s, slot);
}

/* Write the data added to a buffer whose first part is on disk. */
static bool writeMore(EtlWriter *w, const Stream *s)
{
    uint64_t at = slotAt(w, s->slot);
    return writeAt(w, at + s->written, s->data + s->written, s->used - s->written) &&
           writeAt(w, at, s->data, ETL_BUFFER_HEADER);
}

/* ---- Buffers --------------------------------------------------------------------------------- */

/* Convert ticks of the session to ticks of the file. */
static int64_t fileTicks(const EtlWriter *w, int64_t ticks)
{
    return (int64_t)((uint64_t)ticks + (uint64_t)w->delta);
}

/*
 * Records are built with the session's ticks. An appended file has another start time, so they are
 * converted.
 */
static void rebase(const EtlWriter *w, Stream *s)
{
    size_t size, timeAt, at = s->rebased;
    int64_t ticks;
    while (w->delta != 0 && at < s->used &&
            EtlRecordPeekAny(s->data + at, s->used - at, &ticks, &size, &timeAt)) {
        if (timeAt != 0) {
            EtwStore64(s->data + at + timeAt, (uint64_t)fileTicks(w, ticks));
        }
        at += size;
    }
    s->rebased = s->used;
}

static EtlBufferHead headOf(const EtlWriter *w, const Stream *s, bool partial)
{
    return (EtlBufferHead){w->bufferSize, s->used, fileTicks(w, s->last), s->sequence,
            (uint16_t)(s - w->streams), w->header.loggerId, partial ? ETL_FLAG_FLUSH_MARKER : 0,
            ETL_BUFFER_GENERIC};
}

static void buildHead(const EtlWriter *w, const Stream *s, bool partial)
{
    EtlBufferHead head = headOf(w, s, partial);
    EtlBufferHeadBuild(&head, s->data);
}

static void notifyFlush(EtlWriter *w, const Stream *s, uint64_t at, bool done)
{
    if (w->onFlush != NULL) {
        EtlFlush put = {(int)(s - w->streams), done, at, s->used, s->sequence, w->number};
        w->onFlush(w->flushCtx, &put);
    }
}

/* A circular file that cannot grow, because the disk is full, keeps its size: the newest events replace the oldest. */
static bool stopGrowing(EtlWriter *w)
{
    if (!w->circular || w->slotsUsed < MIN_RING) {
        return false;
    }
    w->slotsMax = w->slotsUsed;
    return true;
}

/* Write a buffer for the first time and assign its slot. */
static bool flushFirst(EtlWriter *w, Stream *s, bool partial)
{
    bool grow = !w->circular || w->slotsUsed < w->slotsMax;
    uint32_t slot = grow ? w->slotsUsed + 1 : oldestSlot(w);
    memset(s->data + s->used, 0xFF, w->bufferSize - s->used);
    s->sequence = w->sequence + 1;
    buildHead(w, s, partial);
    notifyFlush(w, s, slotAt(w, slot), false);
    if (!(grow ? writeNew(w, s, slot) : writeOver(w, s, slot))) {
        if (!grow) {
            slotPush(w->complete, w->completeCount++, (Slot){INT64_MIN, 0, slot, 0});
        }
        return grow && stopGrowing(w) && flushFirst(w, s, partial);
    }
    w->slotsUsed += grow;
    w->sequence++;
    w->buffers++;
    s->slot = slot;
    return true;
}

/* The buffer is on disk: the CPU's next event begins another one. */
static void endBuffer(EtlWriter *w, Stream *s)
{
    if (w->circular) {
        slotPush(w->complete, w->completeCount++, (Slot){s->last, s->sequence, s->slot, s->events});
    }
    s->limit = 0;
    s->slot = NO_SLOT;
}

/* Compress the records of a buffer. False: they stay as they are. */
static bool pack(EtlWriter *w, const Stream *s)
{
    bool hurry = w->inHurry != NULL && w->inHurry(w->flushCtx);
    return w->compress && !hurry &&
           EtlXpressEncode(
                   w->xpress, s->data + ETL_BUFFER_HEADER, s->used - ETL_BUFFER_HEADER, &w->packed);
}

/*
 * Write a buffer's header in such a way that a killed process leaves either all of it or one whose state is not
 * ETL_STATE_FLUSH, which recovery removes. Headers in a compressed file may extend over two pages.
 */
static bool writeHead(EtlWriter *w, uint64_t at, uint8_t *head)
{
    uint8_t state = head[ETL_BUF_STATE];
    if (at % WRITE_UNIT + ETL_BUFFER_HEADER <= WRITE_UNIT) {
        return writeAt(w, at, head, ETL_BUFFER_HEADER);
    }
    head[ETL_BUF_STATE] = 0;
    return writeAt(w, at, head, ETL_BUFFER_HEADER) && writeAt(w, at + ETL_BUF_STATE, &state, 1);
}

/*
 * Add a buffer to a compressed file, its header last, and end it. After a failure the part that was
 * written is removed.
 */
static bool putPacked(EtlWriter *w, Stream *s, bool partial)
{
    uint8_t head[ETL_BUFFER_HEADER];
    bool smaller = pack(w, s);
    const void *data = smaller ? (const uint8_t *)w->packed.data : s->data + ETL_BUFFER_HEADER;
    size_t size = smaller ? w->packed.size : s->used - ETL_BUFFER_HEADER;
    s->sequence = w->sequence + 1;
    EtlBufferHead fields = headOf(w, s, partial);
    fields.size = ETL_BUFFER_HEADER + (uint32_t)size;
    fields.flags |= smaller ? ETL_FLAG_COMPRESSED : 0;
    EtlBufferHeadBuild(&fields, head);
    notifyFlush(w, s, w->end, false);
    if (!writeAt(w, w->end + ETL_BUFFER_HEADER, data, size) || !writeHead(w, w->end, head)) {
        int ignored;
        OsFileTruncate(w->file, w->end, &ignored);
        return false;
    }
    w->slotsUsed++;
    w->sequence++;
    w->buffers++;
    w->headerStale = true;
    notifyFlush(w, s, w->end, true);
    w->end += fields.size;
    endBuffer(w, s);
    return true;
}

/*
 * Write the part that is not on disk yet; the buffer stays current, unless the file is compressed. False: nothing has
 * changed, osError is set.
 */
static bool putBuffer(EtlWriter *w, Stream *s, bool partial)
{
    rebase(w, s);
    if (w->xpress != NULL) {
        return putPacked(w, s, partial);
    }
    if (s->slot == NO_SLOT) {
        if (!flushFirst(w, s, partial)) {
            return false;
        }
    } else if (s->written != s->used) {
        buildHead(w, s, partial);
        notifyFlush(w, s, slotAt(w, s->slot), false);
        if (!writeMore(w, s)) {
            return false;
        }
    } else {
        return true;
    }
    s->written = s->used;
    s->eventsWritten = s->events;
    w->headerStale = true;
    notifyFlush(w, s, slotAt(w, s->slot), true);
    return true;
}

static bool flushAll(EtlWriter *w)
{
    bool good = true;
    for (uint32_t cpu = 0; cpu < w->cpus; cpu++) {
        if (w->streams[cpu].limit != 0 && !putBuffer(w, &w->streams[cpu], true)) {
            good = false;
        }
    }
    return good;
}

/* ---- The header buffer ----------------------------------------------------------------------- */

static uint64_t totalLost(const EtlWriter *w, uint64_t eventsLost)
{
    return w->lostBefore + eventsLost + w->lostFull + w->lostIo + w->tooBig;
}

/* whole: with the fill up to its size in the file, which is that of a buffer unless the file is compressed. */
static bool writeHeader(EtlWriter *w, bool whole)
{
    size_t used;
    w->header.cpus = w->cpus > w->header.cpus ? w->cpus : w->header.cpus;
    w->header.buffers = w->circular ? (uint32_t)w->sequence + 1 : w->slotsUsed + 1;
    used = EtlHeaderBuild(&w->header, w->headerData);
    if (whole) {
        uint32_t size = w->header.stored != 0 ? w->header.stored : w->bufferSize;
        memset(w->headerData + used, 0xFF, size - used);
        used = size;
    }
    w->headerStale = !writeAt(w, 0, w->headerData, used);
    return !w->headerStale;
}

static void setLost(EtlWriter *w, uint64_t lost)
{
    uint32_t shown = lost < UINT32_MAX ? (uint32_t)lost : UINT32_MAX;
    w->headerStale |= shown != w->header.eventsLost;
    w->header.eventsLost = shown;
}

/* Set the header's end time: endWall, or the time of the last event if that is later. */
static void setEnd(EtlWriter *w, int64_t endWall)
{
    const EtlHeader *h = &w->header;
    EtlClock clock = {.ticks0 = h->ticks0, .start = EtlWallOfFiletime(h->start), .multiplier = 1};
    int64_t end = endWall;
    for (uint32_t cpu = 0; cpu < w->cpus; cpu++) {
        int64_t last = w->streams[cpu].last;
        int64_t wall = EtlClockTime(&clock, fileTicks(w, last));
        end = last != INT64_MIN && wall > end ? wall : end;
    }
    end = end != 0 ? end : clock.start; /* without events: 0 would mean "not closed" */
    w->header.end = EtlFiletimeOfWall(end) + (end % 100 != 0);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static uint32_t slotsOf(const EtlWriter *w, uint32_t maxMB)
{
    uint64_t slots = ((uint64_t)maxMB << 20) / w->bufferSize;
    slots = slots > 1 ? slots - 1 : 1;
    return slots < UINT32_MAX ? (uint32_t)slots : UINT32_MAX;
}

/* The path of the file with that number in new-file mode. */
static char *numberedPath(const char *pattern, int number)
{
    const char *mark = strstr(pattern, "%d");
    EtwText text = {0};
    EtwTextAdd(&text, pattern, (size_t)(mark - pattern));
    EtwTextDecimal(&text, (uint64_t)number);
    EtwTextAdd(&text, mark + 2, strlen(mark + 2) + 1);
    return text.data;
}

static void setPath(EtlWriter *w, char *path)
{
    static const size_t capacity = 4096;
    char *full = EtwAlloc(capacity);
    OsFullPath(path, full, capacity);
    EtwFree(w->path);
    EtwFree((char *)w->header.path);
    w->path = path;
    w->header.path = full;
}

/* The header of a new compressed file has the size that it needs. */
static void sizeHeader(EtlWriter *w)
{
    if (w->xpress != NULL) {
        w->header.stored = 0;
        size_t used = EtlHeaderBuild(&w->header, w->headerData);
        used = used > LEAST_HEADER ? used : LEAST_HEADER;
        w->header.stored = (uint32_t)(used + SECTOR - 1) / SECTOR * SECTOR;
        w->end = w->header.stored;
    }
}

/* In new-file mode, finish the current file and begin the next. False: the current one stays. */
static bool nextFile(EtlWriter *w)
{
    OsFile *next;
    char *path = numberedPath(w->pattern, w->number + 1);
    EtwError error = {0};
    if (!flushAll(w) || OsFileCreate(&next, path, false, &error) != ETW_OK) {
        w->osError = error.osError != 0 ? error.osError : w->osError;
        EtwFree(path);
        return false;
    }
    for (uint32_t cpu = 0; cpu < w->cpus; cpu++) {
        if (w->streams[cpu].limit != 0) {
            endBuffer(w, &w->streams[cpu]);
        }
    }
    setEnd(w, 0);
    writeHeader(w, false);
    OsFileClose(w->file);
    w->bytesBefore += fileEnd(w);
    w->file = next;
    w->number++;
    w->slotsUsed = w->slotsReserved = 0;
    w->header.end = 0;
    w->buffers++;
    setPath(w, path);
    sizeHeader(w);
    writeHeader(w, true); /* on failure the flush repeats it: headerStale */
    return true;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static uint8_t *refuse(EtlWriter *w, EtwStatus status, uint64_t *countPtr)
{
    w->refusal = status;
    ++*countPtr;
    return NULL;
}

static void growStreams(EtlWriter *w, uint32_t cpus)
{
    w->streams = EtwRealloc(w->streams, cpus * sizeof *w->streams);
    for (; w->cpus < cpus; w->cpus++) {
        w->streams[w->cpus] = (Stream){.last = INT64_MIN};
    }
}

/* True if the file has no space for another buffer, besides those that are current. */
static bool isFull(const EtlWriter *w)
{
    if (w->xpress == NULL) {
        return !w->circular && w->slotsMax != 0 && w->slotsReserved >= w->slotsMax;
    }
    uint64_t needed = w->end + w->bufferSize;
    for (uint32_t cpu = 0; cpu < w->cpus && w->maxBytes != 0; cpu++) {
        needed += w->streams[cpu].limit != 0 ? w->bufferSize : 0;
    }
    return w->maxBytes != 0 && needed > w->maxBytes;
}

static bool try(EtlWriter *w, bool done)
{
    w->retryIn = done ? 0 : RETRY_AFTER;
    return done;
}

/* Reserve `size` bytes for a CPU without a current buffer: the slow path of EtlWriterReserve. */
static uint8_t *reserveInNew(EtlWriter *w, uint32_t cpu, int64_t ticks, size_t size)
{
    if (cpu >= w->cpus) {
        growStreams(w, cpu + 1);
    }
    Stream *s = &w->streams[cpu];
    if (size > w->bufferSize - ETL_BUFFER_HEADER || size > ETL_MAX_RECORD + 1) {
        return refuse(w, ETW_E_LIMIT, &w->tooBig);
    }
    if (w->retryIn != 0) {
        w->retryIn--; /* a write has just failed: do not retry it for each event */
        return refuse(w, ETW_E_IO, &w->lostIo);
    }
    if (s->limit != 0) {
        if (!try(w, putBuffer(w, s, false))) {
            return refuse(w, ETW_E_IO, &w->lostIo);
        }
        if (s->limit != 0) {
            endBuffer(w, s);
        }
    }
    if (isFull(w) && w->xpress != NULL && !try(w, flushAll(w))) { /* compressed, they need less */
        return refuse(w, ETW_E_IO, &w->lostIo);
    }
    if (isFull(w)) {
        if (w->pattern == NULL) {
            return refuse(w, ETW_E_LIMIT, &w->lostFull);
        }
        if (!try(w, nextFile(w))) {
            return refuse(w, ETW_E_IO, &w->lostIo);
        }
    }
    if (s->data == NULL) {
        s->data = EtwAlloc(w->bufferSize);
    }
    w->slotsReserved++;
    s->used = s->rebased = ETL_BUFFER_HEADER;
    s->limit = w->bufferSize;
    s->events = s->eventsWritten = s->written = 0;
    return EtlWriterReserve(w, (int)cpu, ticks, size);
}

uint8_t *EtlWriterReserve(EtlWriter *w, int cpuNumber, int64_t ticks, size_t size)
{
    uint32_t cpu = (uint32_t)cpuNumber % MAX_CPUS;
    if (cpu >= w->cpus) {
        return reserveInNew(w, cpu, ticks, size);
    }
    Stream *s = &w->streams[cpu];
    if (size > s->limit || s->used > s->limit - size) {
        return reserveInNew(w, cpu, ticks, size);
    }
    uint8_t *out = s->data + s->used;
    s->used += (uint32_t)size;
    s->events++;
    s->last = ticks > s->last ? ticks : s->last;
    w->events++;
    return out;
}

EtwStatus EtlWriterAdd(EtlWriter *w, const EtwEvent *event)
{
    size_t size = EtlRecordSize(event);
    if (size == 0) {
        refuse(w, ETW_E_LIMIT, &w->tooBig);
        return ETW_E_LIMIT;
    }
    uint8_t *out = EtlWriterReserve(w, event->cpu, event->ticks, size);
    if (out == NULL) {
        return w->refusal;
    }
    EtlRecordBuild(event, out, size);
    const Stream *s = &w->streams[event->cpu % MAX_CPUS];
    if (s->last != event->ticks) {
        EtwStore64(out + 0x10, (uint64_t)s->last);
    }
    return ETW_OK;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static EtwStatus checkPattern(const EtlWriterConfig *c, EtwError *errPtr)
{
    const char *mark = strstr(c->path, "%d");
    if (mark == NULL || strstr(mark + 2, "%d") != NULL) {
        return EtwFail(errPtr, ETW_E_ARG, "PATH", c->path,
                "bad path \"%s\" for -mode newfile: it must contain %%d once, which is replaced by "
                "a number",
                c->path);
    }
    if (c->maxMB == 0) {
        return EtwFail(errPtr, ETW_E_ARG, "MAXSIZE", c->path,
                "-mode newfile needs a maximum size, at which the next file begins");
    }
    return ETW_OK;
}

static EtwStatus checkConfig(const EtlWriterConfig *c, EtwError *errPtr)
{
    uint32_t modes =
            c->recover ? 0 : c->mode & (ETL_MODE_CIRCULAR | ETL_MODE_APPEND | ETL_MODE_NEWFILE);
    uint64_t most = (uint64_t)c->maxMB << 20;
    if (c->bufferSize < MIN_BUFFER || c->bufferSize > MAX_BUFFER || c->bufferSize % 1024 != 0) {
        return EtwFail(errPtr, ETW_E_ARG, "BUFFERSIZE", c->path,
                "buffer size %lu bytes is out of range: must be 4 to 1024 KB",
                (unsigned long)c->bufferSize);
    }
    if (c->cpus < 1 || c->cpus > MAX_CPUS) {
        return EtwFail(errPtr, ETW_E_ARG, "CPUS", c->path,
                "number of CPUs %d is out of range: must be 1 to %d", c->cpus, MAX_CPUS);
    }
    if ((modes & (modes - 1)) != 0) {
        return EtwFail(errPtr, ETW_E_ARG, "MODE", c->path,
                "the modes circular, append and newfile exclude each other");
    }
    if (modes == ETL_MODE_CIRCULAR && most / c->bufferSize < MIN_RING + 1) {
        return EtwFail(errPtr, ETW_E_ARG, "MAXSIZE", c->path,
                "a circular file needs a maximum size of at least %d buffers of %lu KB",
                MIN_RING + 1, (unsigned long)(c->bufferSize / 1024));
    }
    if (c->maxMB != 0 && most / c->bufferSize < 2) {
        return EtwFail(errPtr, ETW_E_ARG, "MAXSIZE", c->path,
                "maximum size %lu MB is too small for two buffers of %lu KB",
                (unsigned long)c->maxMB, (unsigned long)(c->bufferSize / 1024));
    }
    return modes == ETL_MODE_NEWFILE ? checkPattern(c, errPtr) : ETW_OK;
}

/*
 * The resolution of FILETIMEs is 100 ns: the remainder of the start's wall time is subtracted from
 * the corresponding tick.
 */
static void firstHeader(EtlWriter *w, const EtlWriterConfig *c)
{
    EtlHeader *h = &w->header;
    h->loggerName = w->loggerName;
    h->bufferSize = c->bufferSize;
    h->cpus = (uint32_t)c->cpus;
    h->mode = c->mode;
    h->maxMB = c->maxMB;
    h->cpuMHz = c->cpuMHz;
    h->pid = c->pid;
    h->tid = c->tid;
    h->start = EtlFiletimeOfWall(c->startWall);
    h->ticks0 = c->startSteady - (c->startWall - EtlWallOfFiletime(h->start));
    h->boot = EtlFiletimeOfWall(c->bootTime);
    h->zoneBias = c->zoneBias;
    h->loggerId = c->loggerId;
}

static void continueFile(EtlWriter *w, const EtlAppend *a)
{
    EtlHeader *h = &w->header;
    int64_t start = EtlFiletimeOfWall(a->info.startTime);
    w->delta = EtlWallOfFiletime(h->start) - a->info.startTime - (h->ticks0 - a->info.ticks0);
    h->start = start;
    h->ticks0 = a->info.ticks0;
    h->boot = EtlFiletimeOfWall(a->info.bootTime);
    h->cpus = a->info.cpus > h->cpus ? a->info.cpus : h->cpus;
    h->loggerId = a->loggerId;
    h->eventsLost = a->info.eventsLost;
    w->lostBefore = a->info.eventsLost;
    w->slotsUsed = w->slotsReserved = a->slots;
    w->sequence = a->sequence;
    w->buffers = a->slots + 1;
    if (w->xpress != NULL) {
        h->stored = a->headerSize;
        w->end = a->end;
    }
}

static EtwStatus openFile(EtlWriter *w, const EtlAppend *append, EtwError *errPtr)
{
    EtwStatus status = OsFileCreate(&w->file, w->path, append->found, errPtr);
    if (status != ETW_OK) {
        return status;
    }
    uint64_t end = fileEnd(w);
    if (append->found && OsFileSize(w->file) > end) {
        OsFileTruncate(w->file, end, &w->osError); /* a truncated buffer */
    }
    if (!writeHeader(w, true)) {
        status = EtwFailOs(
                errPtr, ETW_E_IO, w->osError, "WRITE", w->path, "cannot write \"%s\"", w->path);
        if (!append->found) {
            OsFileRemove(w->path);
        }
    }
    return status;
}

static void freeWriter(EtlWriter *w)
{
    for (uint32_t cpu = 0; cpu < w->cpus; cpu++) {
        EtwFree(w->streams[cpu].data);
    }
    if (w->file != NULL) {
        OsFileClose(w->file);
    }
    EtwFree(w->streams);
    EtwFree(w->complete);
    EtlXpressFree(w->xpress);
    EtwTextFree(&w->packed);
    EtwFree(w->headerData);
    EtwFree(w->path);
    EtwFree((char *)w->header.path);
    EtwFree(w->pattern);
    EtwFree(w->loggerName);
    EtwFree(w);
}

static EtlWriter *newWriter(const EtlWriterConfig *c)
{
    EtlWriter *w = EtwAlloc(sizeof *w);
    bool newFile = (c->mode & ETL_MODE_NEWFILE) != 0 && !c->recover;
    w->bufferSize = c->bufferSize;
    w->loggerName = EtwStrdup(c->loggerName);
    w->pattern = newFile ? EtwStrdup(c->path) : NULL;
    w->number = 1;
    w->buffers = 1;
    w->headerData = EtwAlloc(c->bufferSize);
    firstHeader(w, c);
    setPath(w, newFile ? numberedPath(c->path, 1) : EtwStrdup(c->path));
    growStreams(w, (uint32_t)c->cpus);
    return w;
}

EtwStatus EtlWriterOpen(EtlWriter **writerPtr, const EtlWriterConfig *c, EtwError *errPtr)
{
    EtlAppend append = {0};
    EtwStatus status = checkConfig(c, errPtr);
    if (status == ETW_OK && (c->mode & ETL_MODE_APPEND || c->recover)) {
        status = EtlAppendScan(&append, c->path, c->bufferSize, c->recover, errPtr);
    }
    if (status != ETW_OK) {
        return status;
    }
    EtlWriter *w = newWriter(c);
    bool circular = (c->mode & ETL_MODE_CIRCULAR) != 0 && !c->recover;
    w->compress = c->compress;
    w->inHurry = c->inHurry;
    if (append.found ? append.compressed : c->compress && !circular) {
        w->xpress = EtlXpressNew();
        w->header.mode |= ETL_MODE_COMPRESSED;
        sizeHeader(w);
    }
    if (append.found) {
        continueFile(w, &append);
        w->lostBefore = c->recover ? 0 : w->lostBefore;
    }
    w->onFlush = c->onFlush;
    w->flushCtx = c->flushCtx;
    w->circular = circular;
    EtlWriterSetLimit(w, c->maxMB);
    status = openFile(w, &append, errPtr);
    if (status != ETW_OK) {
        freeWriter(w);
        return status;
    }
    *writerPtr = w;
    return ETW_OK;
}

void EtlWriterSetLimit(EtlWriter *w, uint32_t maxMB)
{
    uint32_t slots = maxMB != 0 ? slotsOf(w, maxMB) : 0;
    w->maxBytes = (uint64_t)maxMB << 20;
    if (!w->circular) {
        w->slotsMax = slots;
    } else if (slots != 0) {
        slots = slots > w->slotsUsed ? slots : w->slotsUsed;
        slots = slots > MIN_RING ? slots : MIN_RING;
        w->complete = EtwRealloc(w->complete, slots * sizeof *w->complete);
        w->slotsMax = slots;
    }
    w->headerStale |= w->header.maxMB != maxMB;
    w->header.maxMB = maxMB;
}

/* ---- Flush, close, state --------------------------------------------------------------------- */

EtwStatus EtlWriterFlush(EtlWriter *w, uint64_t eventsLost)
{
    bool good = try(w, flushAll(w));
    setLost(w, totalLost(w, eventsLost));
    if (w->headerStale) {
        good &= writeHeader(w, false);
    }
    return good ? ETW_OK : ETW_E_IO;
}

static uint64_t unwrittenEvents(const EtlWriter *w)
{
    uint64_t count = 0;
    for (uint32_t cpu = 0; cpu < w->cpus; cpu++) {
        const Stream *s = &w->streams[cpu];
        count += s->limit != 0 ? s->events - s->eventsWritten : 0;
    }
    return count;
}

EtwStatus EtlWriterClose(EtlWriter *w, uint64_t eventsLost, int64_t endWall, EtwError *errPtr)
{
    EtwStatus status = ETW_OK;
    flushAll(w);
    uint64_t unwritten = unwrittenEvents(w);
    setLost(w, totalLost(w, eventsLost) + unwritten);
    setEnd(w, endWall);
    if (!writeHeader(w, false) || unwritten != 0) {
        status = EtwFailOs(errPtr, ETW_E_IO, w->osError, "WRITE", w->path,
                "cannot write the last %llu events and the end of \"%s\"",
                (unsigned long long)unwritten, w->path);
    }
    freeWriter(w);
    return status;
}

void EtlWriterGetState(const EtlWriter *w, EtlWriterState *state)
{
    memset(state, 0, sizeof *state);
    state->bytes = w->bytesBefore + fileEnd(w);
    state->buffers = w->buffers;
    state->events = w->events;
    state->lostFull = w->lostFull;
    state->lostIo = w->lostIo;
    state->tooBig = w->tooBig;
    state->overwritten = w->overwritten;
    state->unwritten = w->osError != 0 ? unwrittenEvents(w) : 0;
    state->osError = w->osError;
    state->number = w->number;
}
