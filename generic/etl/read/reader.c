/*
 * etl/read/reader.c --
 *
 *	Reads a file's events in time order by merging its buffers. A heap contains, earliest record
 *	first, the cursors of the buffers that are being read, and for each stream its next buffer,
 *	which gets a cursor only when its first record is due. The current cursor is not in the
 *	heap: records are taken from it as long as they are earlier than `limit`, the heap's
 *	earliest. So buffers of a stream may overlap in time (files of other writers, wrapped
 *	circular files), and only the buffers that the merge needs are decompressed.
 *
 *	The file may change while it is read (a session still writes it), so each record is checked
 *	again when it is delivered.
 */
#include "etl/read/reader.h"
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/heap.h"
#include "base/os.h"
#include "etl/compress/pack.h"
#include "etl/read/buffer_cursor.h"
#include "etl/read/header_filter.h"
#include "etl/read/file_header.h"
#include "etl/read/buffer_index.h"
#include "etl/record.h"
#include <stdio.h>
#include <stdlib.h>

enum {
    SPARE_CURSORS = 4,       /* kept with their memory for reuse */
    FORGET_BYTES = 32 << 20, /* evict the file's pages after this number of bytes */
    PAUSE_BYTES = 1 << 20    /* a filtered reader returns ETW_PAUSE after this number of bytes */
};

/* A run of the index: the buffers of one CPU and logger, in time order. */
typedef struct Stream {
    uint32_t next, end; /* buffers without a cursor so far */
} Stream;

/* An entry of the heap: a cursor, or (NULL) the stream's next buffer. */
typedef struct Waiting {
    int64_t ticks;
    uint32_t buffer, stream;
    EtlCursor *cursor;
} Waiting;

struct EtlReader {
    OsMap map;           /* base NULL: the caller's memory */
    const uint8_t *file; /* its first buffer */
    uint64_t shift;      /* bytes of the file before it */
    EtlInfo info;
    EtlClock clock;
    EtlIndex index;
    EtlHeaderFilter headerFilter;
    Stream *streams;
    uint32_t streamCount;
    EtlCursor *current; /* not in the heap; NULL at the end */
    int64_t limit;      /* current is used while its ticks are below */
    Waiting *heap;      /* earliest first; at most one buffer and the cursors of each stream */
    size_t heapCount, heapCapacity;
    EtlCursor *freeCursors;
    int freeCount;
    EtlCursor *delivered;  /* finished, but the last event delivered points into its memory */
    uint64_t bytesDone;    /* of finished buffers */
    uint64_t bytesTouched; /* since pages were evicted */
    uint64_t bytesBusy;    /* since the last pause */
    EtlWarnProc *warn;
    void *warnCtx;
    bool reported;               /* the index's notes were reported */
    bool filterPushed, left;     /* left: streams continue after the filter's `to` */
    bool deferred;               /* `delivered` or damage must be handled before the next event */
    uint64_t damage, damageSize; /* to be reported; size 0: nothing */
};

static inline bool earlier(Waiting a, Waiting b)
{
    return a.ticks != b.ticks ? a.ticks < b.ticks : a.buffer < b.buffer;
}
ETW_HEAP(Waiting, Waiting, earlier)

static void heapPush(EtlReader *r, Waiting w)
{
    if (r->heapCount == r->heapCapacity) {
        r->heapCapacity = r->heapCapacity != 0 ? 2 * r->heapCapacity : 16;
        r->heap = EtwRealloc(r->heap, r->heapCapacity * sizeof *r->heap);
    }
    WaitingPush(r->heap, r->heapCount++, w);
}

static void heapDrop(EtlReader *r)
{
    WaitingPop(r->heap, --r->heapCount);
}

static EtlCursor *newCursor(EtlReader *r)
{
    EtlCursor *c = r->freeCursors;
    if (c == NULL) {
        return EtwAlloc(sizeof *c);
    }
    r->freeCursors = c->nextFree;
    r->freeCount--;
    return c;
}

static void freeCursor(EtlReader *r, EtlCursor *c)
{
    if (r->freeCount == SPARE_CURSORS) {
        EtlCursorFree(c);
        return;
    }
    c->nextFree = r->freeCursors;
    r->freeCursors = c;
    r->freeCount++;
}

static void warnAt(const EtlReader *r, uint64_t where, const char *text)
{
    if (r->warn != NULL) {
        r->warn(r->warnCtx, where + r->shift, text);
    }
}

/* A delivery finishes at most one buffer, so one entry suffices. */
static void warnDamage(EtlReader *r)
{
    char text[160];
    snprintf(text, sizeof text,
            "damaged: no record starts here, %llu bytes up to the end of the buffer are skipped",
            (unsigned long long)r->damageSize);
    r->damageSize = 0;
    warnAt(r, r->damage, text);
}

/* A cursor's buffer is finished. */
static void finishBuffer(EtlReader *r, EtlCursor *c)
{
    EtlBuffer *buffer = &r->index.buffers[c->buffer];
    uint64_t bytes = EtlBufferBytes(buffer);
    if (c->damaged && !buffer->cut && !buffer->reported) {
        buffer->reported = true;
        r->info.damages++;
        r->deferred = true;
        r->damage = buffer->at +
                    (buffer->packed ? 0 : ETL_BUFFER_HEADER + (uint64_t)(c->end - c->data));
        r->damageSize = buffer->end - ETL_BUFFER_HEADER - (uint64_t)(c->end - c->data);
    }
    r->bytesDone += bytes;
    r->bytesTouched += bytes;
    r->bytesBusy += buffer->end; /* also if it is compressed */
    if (r->bytesTouched >= FORGET_BYTES) {
        r->bytesTouched = 0;
        OsMapEvict(&r->map);
    }
}

/* The current cursor has no more records. */
static void retireCursor(EtlReader *r)
{
    EtlCursor *c = r->current;
    r->current = NULL;
    finishBuffer(r, c);
    if (c->owned) {
        if (r->delivered != NULL) {
            freeCursor(r, r->delivered);
        }
        r->delivered = c;
        r->deferred = true;
    } else {
        freeCursor(r, c);
    }
}

static void finishDeferred(EtlReader *r)
{
    r->deferred = false;
    if (r->delivered != NULL) {
        freeCursor(r, r->delivered);
        r->delivered = NULL;
    }
    if (r->damageSize != 0) {
        warnDamage(r);
    }
}

/*
 * True if the stream's next buffer is before the filter's time range: the buffer after it begins
 * before the range, too.
 */
static bool outOfRange(const EtlReader *r, const Stream *stream)
{
    const EtlBuffer *b = &r->index.buffers[stream->next];
    if (!r->headerFilter.active || r->headerFilter.also || stream->next + 1 >= stream->end ||
            b[1].first > r->headerFilter.from) {
        return false;
    }
    return (int64_t)EtwLoad64(r->file + b->at + ETL_BUF_TIME) < r->headerFilter.from && b->at != 0;
}

/* The stream's next entry for the heap. False: none. */
static bool nextBuffer(EtlReader *r, uint32_t number, Waiting *w)
{
    Stream *stream = &r->streams[number];
    while (stream->next < stream->end && outOfRange(r, stream)) {
        r->bytesDone += EtlBufferBytes(&r->index.buffers[stream->next++]);
    }
    if (stream->next >= stream->end) {
        return false;
    }
    const EtlBuffer *buffer = &r->index.buffers[stream->next];
    if (r->headerFilter.active && buffer->first >= r->headerFilter.to &&
            r->headerFilter.to != INT64_MAX) {
        r->left = r->filterPushed;
        return false; /* and so are all further ones */
    }
    *w = (Waiting){buffer->first, stream->next++, number, NULL};
    return true;
}

/*
 * The buffer at the top of the heap is due: open it, and put the stream's next one into the heap.
 */
static void openTop(EtlReader *r)
{
    Waiting top = r->heap[0], next;
    if (nextBuffer(r, top.stream, &next)) {
        WaitingReplace(r->heap, r->heapCount, next);
    } else {
        heapDrop(r);
    }
    EtlCursor *c = newCursor(r);
    c->buffer = top.buffer;
    c->stream = top.stream;
    if (EtlCursorOpen(c, r->file, &r->info, &r->index.buffers[top.buffer], &r->headerFilter)) {
        heapPush(r, (Waiting){c->ticks, c->buffer, c->stream, c});
        return;
    }
    if (r->damageSize != 0) { /* of another buffer */
        warnDamage(r);
    }
    finishBuffer(r, c);
    freeCursor(r, c);
}

/* Set the tick up to which (exclusive) the current cursor is used. */
static void setLimit(EtlReader *r)
{
    r->limit = INT64_MAX;
    if (r->heapCount != 0) {
        const Waiting *top = &r->heap[0];
        bool tieIsOurs = r->current->buffer < top->buffer && top->ticks != INT64_MAX;
        r->limit = top->ticks + tieIsOurs;
    }
}

/* True if buffers without matching events have taken long enough to return to the caller. */
static inline bool isPauseDue(const EtlReader *r)
{
    return r->filterPushed && r->bytesBusy >= PAUSE_BYTES;
}

/*
 * Select the current cursor. There is none before; if a pause is due, there may be none afterwards.
 */
static void selectCursor(EtlReader *r)
{
    while (r->heapCount != 0 && r->heap[0].cursor == NULL && !isPauseDue(r)) {
        openTop(r);
    }
    if (r->heapCount != 0 && r->heap[0].cursor != NULL) {
        r->current = r->heap[0].cursor;
        heapDrop(r);
        setLimit(r);
    }
}

/* The current cursor is no longer the earliest. */
static void switchCursor(EtlReader *r)
{
    EtlCursor *c = r->current;
    Waiting w = {c->ticks, c->buffer, c->stream, c};
    if (r->heapCount == 0) {
        return;
    }
    if (r->heap[0].cursor != NULL) {
        r->current = r->heap[0].cursor;
        WaitingReplace(r->heap, r->heapCount, w);
        setLimit(r);
    } else {
        heapPush(r, w);
        r->current = NULL;
        selectCursor(r);
    }
}

static void warnNotes(EtlReader *r)
{
    const EtlIndex *index = &r->index;
    if (r->reported || r->left || r->warn == NULL) {
        return;
    }
    r->reported = true;
    for (int i = 0; i < index->noteCount && i < ETL_MAX_NOTES; i++) {
        warnAt(r, index->notes[i].where, index->notes[i].text);
    }
    if (index->noteCount > ETL_MAX_NOTES) {
        char text[80];
        snprintf(text, sizeof text, "and %d more places like these",
                index->noteCount - ETL_MAX_NOTES);
        warnAt(r, r->info.fileSize - r->shift, text);
    }
    if (index->noteCount == 0 && !r->info.closed) {
        warnAt(r, r->info.fileSize - r->shift,
                "the file was not closed: its session still runs or was killed");
    }
}

EtwStatus EtlReaderNext(EtlReader *r, EtwEvent *event)
{
    if (r->deferred) {
        finishDeferred(r);
    }
    while (r->current != NULL || r->heapCount != 0) {
        EtlCursor *c = r->current;
        size_t size;
        if (c == NULL && isPauseDue(r)) {
            r->bytesBusy = 0;
            return ETW_PAUSE;
        }
        if (c == NULL) {
            selectCursor(r);
            continue;
        }
        if (!EtlRecordParse(c->at, (size_t)(c->end - c->at), event, &size)) {
            retireCursor(r); /* the file was changed since the buffer was checked */
            selectCursor(r);
            continue;
        }
        event->ticks = c->ticks;
        event->time = EtlClockTime(&r->clock, c->ticks);
        event->cpu = c->cpu;
        event->logger = c->logger;
        r->info.records++;
        if (!EtlCursorAdvance(c, size)) {
            retireCursor(r);
            selectCursor(r);
        } else if (c->ticks >= r->limit) {
            switchCursor(r);
        }
        return ETW_OK;
    }
    if (r->deferred) {
        finishDeferred(r);
    }
    warnNotes(r);
    return ETW_END;
}

/* Determine the streams from the sorted index, and put the first buffer of each into the heap. */
static void startStreams(EtlReader *r)
{
    const EtlBuffer *buffers = r->index.buffers;
    uint32_t count = 0;
    Waiting w;
    for (size_t i = 0; i < r->index.count; i++) {
        if (i == 0 || buffers[i].cpu != buffers[i - 1].cpu ||
                buffers[i].logger != buffers[i - 1].logger) {
            r->streams[count++] = (Stream){(uint32_t)i, (uint32_t)i};
        }
        r->streams[count - 1].end = (uint32_t)i + 1;
    }
    r->streamCount = count;
    for (uint32_t i = 0; i < count; i++) {
        if (nextBuffer(r, i, &w)) {
            heapPush(r, w);
        }
    }
    selectCursor(r);
}

static void dropCursors(EtlReader *r)
{
    if (r->current != NULL) {
        freeCursor(r, r->current);
        r->current = NULL;
    }
    if (r->delivered != NULL) {
        freeCursor(r, r->delivered);
        r->delivered = NULL;
    }
    while (r->heapCount != 0) {
        EtlCursor *c = r->heap[--r->heapCount].cursor;
        if (c != NULL) {
            freeCursor(r, c);
        }
    }
}

void EtlReaderRewind(EtlReader *r)
{
    dropCursors(r);
    r->bytesDone = r->bytesBusy = 0;
    r->info.records = 0;
    r->left = false;
    startStreams(r);
}

void EtlReaderSetFilter(EtlReader *r, const EtlFilter *filter)
{
    r->filterPushed = false;
    EtlHeaderFilterSet(&r->headerFilter, filter, &r->clock);
    EtlReaderRewind(r);
}

void EtlReaderPushFilter(EtlReader *r, const EtlFilter *filter)
{
    r->filterPushed = true;
    r->bytesBusy = 0;
    EtlHeaderFilterSet(&r->headerFilter, filter, &r->clock);
}

static uint32_t countStreams(const EtlIndex *index)
{
    uint32_t count = 0;
    for (size_t i = 0; i < index->count; i++) {
        const EtlBuffer *b = &index->buffers[i];
        count += i == 0 || b->cpu != b[-1].cpu || b->logger != b[-1].logger;
    }
    return count;
}

/*
 * The minimum size that a file counts as, because one buffer of a nearly empty session is larger
 * than most tests.
 */
enum { HANDED_MIN = 1 << 20 };

/* Parse the header of a packed trace, which is inside its first frame. */
static EtwStatus openPacked(EtlReader *r, const uint8_t *data, size_t size, const char *name,
        EtlPackExtent *pack, EtwError *errPtr)
{
    if (!EtlPackAvailable()) {
        return EtwFail(errPtr, ETW_E_UNSUPPORTED, "PACKED", name,
                "\"%s\" is packed with zstd, which this build of etw cannot read: unpack it with "
                "\"zstd -d\"",
                name);
    }
    pack->header = EtlPackHeaderSize(data, size, &pack->frames);
    pack->frames -= ETL_PACK_START;
    r->shift = ETL_PACK_START;
    r->file = data + r->shift;
    EtwStatus status =
            EtlHeaderParse(r->file, (size_t)pack->header, name, &r->info, &r->clock, errPtr);
    r->info.fileSize = size;
    return status;
}

static EtwStatus open(EtlReader **readerPtr, OsMap map, const void *data, size_t size,
        uint64_t handed, const char *name, EtlWarnProc *warn, void *warnCtx, EtwError *errPtr)
{
    EtlReader *r = EtwAlloc(sizeof *r);
    r->map = map;
    r->file = data;
    r->warn = warn;
    r->warnCtx = warnCtx;
    EtlPackExtent pack = {0};
    EtwStatus status = EtlPackIs(data, size)
                               ? openPacked(r, data, size, name, &pack, errPtr)
                               : EtlHeaderParse(data, size, name, &r->info, &r->clock, errPtr);
    if (status != ETW_OK) {
        EtlReaderClose(r);
        return status;
    }
    r->info.handedBytes = handed != 0 ? handed : size > HANDED_MIN ? size : HANDED_MIN;
    EtlIndexBuild(&r->index, &r->map, r->file, size - r->shift, pack.frames != 0 ? &pack : NULL,
            &r->info, &r->clock);
    r->streams = EtwAlloc((countStreams(&r->index) + 1) * sizeof *r->streams);
    startStreams(r);
    *readerPtr = r;
    return ETW_OK;
}

EtwStatus EtlReaderOpen(
        EtlReader **readerPtr, const char *path, EtlWarnProc *warn, void *warnCtx, EtwError *errPtr)
{
    OsMap map = {0};
    EtwStatus status = OsMapFile(&map, path, errPtr);
    if (status != ETW_OK) {
        return status;
    }
    return open(readerPtr, map, map.base, map.size, 0, path, warn, warnCtx, errPtr);
}

EtwStatus EtlReaderOpenMap(EtlReader **readerPtr, OsMap *map, uint64_t handed, const char *name,
        EtlWarnProc *warn, void *warnCtx, EtwError *errPtr)
{
    OsMap own = *map;
    *map = (OsMap){0};
    return open(readerPtr, own, own.base, own.size, handed, name, warn, warnCtx, errPtr);
}

EtwStatus EtlReaderOpenMemory(EtlReader **readerPtr, const void *data, size_t size, uint64_t handed,
        EtlWarnProc *warn, void *warnCtx, EtwError *errPtr)
{
    OsMap none = {0};
    return open(readerPtr, none, data, size, handed, "(memory)", warn, warnCtx, errPtr);
}

const EtlInfo *EtlReaderInfo(const EtlReader *r)
{
    return &r->info;
}

double EtlReaderProgress(const EtlReader *r)
{
    uint64_t total = r->info.fileSize, done = r->bytesDone;
    if (r->current == NULL && r->heapCount == 0) {
        return 1.0;
    }
    if (r->current != NULL && r->index.buffers[r->current->buffer].packed == 0) {
        done += (uint64_t)(r->current->at - r->current->data);
    }
    return done < total ? (double)done / (double)total : 1.0;
}

void EtlReaderClose(EtlReader *r)
{
    if (r == NULL) {
        return;
    }
    dropCursors(r);
    while (r->freeCursors != NULL) {
        EtlCursor *next = r->freeCursors->nextFree;
        EtlCursorFree(r->freeCursors);
        r->freeCursors = next;
    }
    EtlHeaderFilterFree(&r->headerFilter);
    EtwFree(r->heap);
    EtwFree(r->streams);
    EtlIndexFree(&r->index);
    if (r->map.base != NULL) {
        OsUnmap(&r->map);
    }
    EtwFree(r);
}
