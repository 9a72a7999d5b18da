/*
 * etl/reader.c --
 *
 *	The merge. Each buffer that is being read has a cursor; the cursor with the earliest
 *	next record is the current one, the others wait in a heap. Records are taken from
 *	the current cursor as long as they are earlier than `limit`, which is the heap's
 *	earliest record or the start of the same stream's next buffer. A stream's next
 *	buffer gets its cursor when the one before is used up, or earlier if the two overlap
 *	in time (files of other writers, wrapped circular files).
 *
 *	The bytes of the file may change while they are read (a session still writes it), so
 *	each record is checked again when it is delivered. Does not decompress: compressed
 *	buffers are skipped and told.
 */
#include "etl/reader.h"
#include "base/bytes.h"
#include "base/os.h"
#include "etl/format.h"
#include "etl/header.h"
#include "etl/index.h"
#include "etl/record.h"
#include <stdio.h>
#include <stdlib.h>

/* A record of a buffer whose times go back: the buffer is read through a sorted list of these. */
typedef struct Place {
    int64_t ticks;
    uint32_t at; /* from the start of the cursor's data */
} Place;

typedef struct Cursor {
    const uint8_t *at;   /* next record */
    const uint8_t *end;  /* end of the records that are good */
    int64_t ticks;       /* time of the next record */
    const uint8_t *data; /* first record of the buffer */
    uint32_t buffer;     /* in the index; also breaks ties: it rises with CPU and file order */
    uint32_t stream;
    uint16_t cpu, logger;
    bool damaged;  /* at `end` there should be another record */
    Place *places; /* NULL: the buffer is sorted as it is. Owned. */
    uint32_t placeCount, place;
    struct Cursor *nextFree;
} Cursor;

/* A run of the index: the buffers of one CPU and logger, in time order. */
typedef struct Stream {
    uint32_t next, end; /* buffers that have no cursor yet */
    uint32_t active;    /* cursors of this stream */
} Stream;

struct EtlReader {
    OsMap map; /* base NULL: the caller's memory */
    const uint8_t *file;
    EtlInfo info;
    EtlClock clock;
    EtlIndex index;
    Stream *streams;
    uint32_t streamCount;
    Cursor *current; /* not in the heap; NULL at the end */
    int64_t limit;   /* current keeps its turn while its ticks are below */
    Cursor **heap;   /* earliest first */
    size_t heapCount, heapRoom;
    Cursor *freeCursors;
    uint64_t bytesDone; /* of used-up buffers */
    EtlWarnProc *warn;
    void *warnCtx;
    bool told; /* the index's notes were */
    uint64_t damage,
            damageSize; /* to be told before the next event is delivered; size 0: nothing */
};

static inline bool Earlier(const Cursor *a, const Cursor *b)
{
    return a->ticks != b->ticks ? a->ticks < b->ticks : a->buffer < b->buffer;
}

static void HeapPush(EtlReader *r, Cursor *c)
{
    if (r->heapCount == r->heapRoom) {
        r->heapRoom = r->heapRoom != 0 ? 2 * r->heapRoom : 16;
        r->heap = EtwRealloc(r->heap, r->heapRoom * sizeof *r->heap);
    }
    size_t i = r->heapCount++;
    while (i > 0 && Earlier(c, r->heap[(i - 1) / 2])) {
        r->heap[i] = r->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    r->heap[i] = c;
}

static Cursor *HeapPop(EtlReader *r)
{
    Cursor *top = r->heap[0], *last = r->heap[--r->heapCount];
    size_t i = 0, child;
    while ((child = 2 * i + 1) < r->heapCount) {
        if (child + 1 < r->heapCount && Earlier(r->heap[child + 1], r->heap[child])) {
            child++;
        }
        if (!Earlier(r->heap[child], last)) {
            break;
        }
        r->heap[i] = r->heap[child];
        i = child;
    }
    r->heap[i] = last;
    return top;
}

/*
 * Walk the cursor's buffer once: where its good records end, whether they are sorted, how many
 * there are. Costs little, as the bytes are needed next anyway, and tells damage apart from the end
 * beforehand.
 */
static bool Survey(Cursor *c, uint32_t *countPtr)
{
    const uint8_t *at = c->data, *end = c->end;
    int64_t last = c->ticks, ticks;
    bool sorted = true;
    uint32_t count = 0;
    size_t size;
    while (at < end) {
        if (!EtlRecordPeek(at, (size_t)(end - at), &ticks, &size)) {
            c->damaged = true;
            c->end = at;
            break;
        }
        if (ticks != ETL_NO_TICKS) {
            sorted &= ticks >= last || count == 0;
            last = ticks;
        }
        count++;
        at += size < (size_t)(end - at) ? size : (size_t)(end - at);
    }
    *countPtr = count;
    return sorted;
}

static int ComparePlaces(const void *left, const void *right)
{
    const Place *a = left, *b = right;
    if (a->ticks != b->ticks) {
        return a->ticks < b->ticks ? -1 : 1;
    }
    return a->at < b->at ? -1 : a->at > b->at;
}

static void SortPlaces(Cursor *c, uint32_t count)
{
    const uint8_t *at = c->data;
    int64_t last = c->ticks, ticks;
    size_t size;
    c->places = EtwAlloc(count * sizeof *c->places);
    c->placeCount = 0;
    while (c->placeCount < count && at < c->end &&
            EtlRecordPeek(at, (size_t)(c->end - at), &ticks, &size)) {
        last = ticks != ETL_NO_TICKS ? ticks : last;
        c->places[c->placeCount++] = (Place){last, (uint32_t)(at - c->data)};
        at += size < (size_t)(c->end - at) ? size : (size_t)(c->end - at);
    }
    qsort(c->places, c->placeCount, sizeof *c->places, ComparePlaces);
}

static void FreeCursor(EtlReader *r, Cursor *c)
{
    EtwFree(c->places);
    c->places = NULL;
    c->nextFree = r->freeCursors;
    r->freeCursors = c;
}

/* A cursor at the first record of the stream's next buffer, into the heap. */
static void Activate(EtlReader *r, Stream *stream)
{
    uint32_t number = stream->next++;
    const EtlBuffer *buffer = &r->index.buffers[number];
    Cursor *c = r->freeCursors;
    if (c != NULL) {
        r->freeCursors = c->nextFree;
    } else {
        c = EtwAlloc(sizeof *c);
    }
    memset(c, 0, sizeof *c);
    c->data = c->at = r->file + buffer->at + ETL_BUFFER_HEADER;
    c->end = r->file + buffer->at + buffer->end;
    c->buffer = number;
    c->stream = (uint32_t)(stream - r->streams);
    c->cpu = buffer->cpu;
    c->logger = buffer->logger;
    c->ticks = buffer->first; /* also the time of leading records that have none */
    uint32_t count;
    if (!Survey(c, &count) && count != 0) {
        SortPlaces(c, count);
        c->at = c->data + c->places[0].at;
        c->ticks = c->places[0].ticks;
    }
    stream->active++;
    HeapPush(r, c);
}

/* The current cursor has nothing left. */
static void Retire(EtlReader *r)
{
    Cursor *c = r->current;
    EtlBuffer *buffer = &r->index.buffers[c->buffer];
    Stream *stream = &r->streams[c->stream];
    if (c->damaged && !buffer->cut && !buffer->told) {
        buffer->told = true;
        r->damage = (uint64_t)(c->end - r->file);
        r->damageSize = buffer->at + buffer->end - r->damage;
    }
    r->bytesDone += buffer->end;
    r->current = NULL;
    FreeCursor(r, c);
    if (--stream->active == 0 && stream->next < stream->end) {
        Activate(r, stream);
    }
}

/* The tick up to which (exclusive) a cursor may go on when another record waits at `other`. */
static int64_t LimitAt(int64_t other, bool tieIsOurs)
{
    return tieIsOurs && other != INT64_MAX ? other + 1 : other;
}

/* Choose the current cursor and how far it may run. */
static void Select(EtlReader *r)
{
    if (r->current != NULL) {
        HeapPush(r, r->current);
        r->current = NULL;
    }
    while (r->heapCount != 0) {
        Stream *stream = &r->streams[r->heap[0]->stream];
        if (stream->next == stream->end ||
                r->index.buffers[stream->next].first >= r->heap[0]->ticks) {
            break;
        }
        Activate(r, stream); /* begins before the other ends */
    }
    if (r->heapCount == 0) {
        return;
    }
    Cursor *c = r->current = HeapPop(r);
    Stream *stream = &r->streams[c->stream];
    r->limit = INT64_MAX;
    if (r->heapCount != 0) {
        r->limit = LimitAt(r->heap[0]->ticks, c->buffer < r->heap[0]->buffer);
    }
    if (stream->next != stream->end) {
        int64_t limit = LimitAt(r->index.buffers[stream->next].first, true);
        r->limit = limit < r->limit ? limit : r->limit;
    }
}

/* Put the cursor on its next record; false: there is none. */
static inline bool Advance(Cursor *c, size_t size)
{
    if (c->places != NULL) {
        if (++c->place >= c->placeCount) {
            return false;
        }
        c->at = c->data + c->places[c->place].at;
        c->ticks = c->places[c->place].ticks;
        return true;
    }
    if (size >= (size_t)(c->end - c->at)) {
        c->at = c->end;
        return false;
    }
    int64_t ticks;
    c->at += size;
    if (!EtlRecordPeek(c->at, (size_t)(c->end - c->at), &ticks, &size)) {
        return false;
    }
    if (ticks != ETL_NO_TICKS) {
        c->ticks = ticks;
    }
    return true;
}

/* At most one buffer is used up by a delivery, so one place is enough. */
static void TellDamage(EtlReader *r)
{
    char text[160];
    snprintf(text, sizeof text,
            "damaged: no record starts here, %llu bytes up to the end of the buffer are skipped",
            (unsigned long long)r->damageSize);
    r->damageSize = 0;
    if (r->warn != NULL) {
        r->warn(r->warnCtx, r->damage, text);
    }
}

static void TellNotes(EtlReader *r)
{
    const EtlIndex *index = &r->index;
    if (r->told || r->warn == NULL) {
        return;
    }
    r->told = true;
    for (int i = 0; i < index->noteCount && i < ETL_MAX_NOTES; i++) {
        r->warn(r->warnCtx, index->notes[i].where, index->notes[i].text);
    }
    if (index->noteCount > ETL_MAX_NOTES) {
        char text[80];
        snprintf(text, sizeof text, "and %d more places like these",
                index->noteCount - ETL_MAX_NOTES);
        r->warn(r->warnCtx, r->info.fileSize, text);
    }
    if (index->noteCount == 0 && !r->info.closed) {
        r->warn(r->warnCtx, r->info.fileSize,
                "the file was not closed: its session still runs or was killed");
    }
}

EtwStatus EtlReaderNext(EtlReader *r, EtwEvent *event)
{
    for (;;) {
        Cursor *c = r->current;
        size_t size;
        if (r->damageSize != 0) {
            TellDamage(r);
        }
        if (c == NULL) {
            TellNotes(r);
            return ETW_END;
        }
        if (!EtlRecordParse(c->at, (size_t)(c->end - c->at), event, &size)) {
            Retire(r); /* the bytes changed since they were surveyed */
            Select(r);
            continue;
        }
        event->ticks = c->ticks;
        event->time = EtlClockTime(&r->clock, c->ticks);
        event->cpu = c->cpu;
        event->logger = c->logger;
        r->info.records++;
        if (!Advance(c, size)) {
            Retire(r);
            Select(r);
        } else if (c->ticks >= r->limit) {
            Select(r);
        }
        return ETW_OK;
    }
}

/* Streams from the sorted index, and a cursor for the first buffer of each. */
static void StartStreams(EtlReader *r)
{
    const EtlBuffer *buffers = r->index.buffers;
    uint32_t count = 0;
    for (size_t i = 0; i < r->index.count; i++) {
        if (i == 0 || buffers[i].cpu != buffers[i - 1].cpu ||
                buffers[i].logger != buffers[i - 1].logger) {
            r->streams[count++] = (Stream){(uint32_t)i, (uint32_t)i, 0};
        }
        r->streams[count - 1].end = (uint32_t)i + 1;
    }
    r->streamCount = count;
    for (uint32_t i = 0; i < count; i++) {
        Activate(r, &r->streams[i]);
    }
    Select(r);
}

void EtlReaderRewind(EtlReader *r)
{
    if (r->current != NULL) {
        FreeCursor(r, r->current);
        r->current = NULL;
    }
    while (r->heapCount != 0) {
        FreeCursor(r, r->heap[--r->heapCount]);
    }
    r->bytesDone = 0;
    r->info.records = 0;
    StartStreams(r);
}

static uint32_t CountStreams(const EtlIndex *index)
{
    uint32_t count = 0;
    for (size_t i = 0; i < index->count; i++) {
        const EtlBuffer *b = &index->buffers[i];
        count += i == 0 || b->cpu != b[-1].cpu || b->logger != b[-1].logger;
    }
    return count;
}

static EtwStatus Open(EtlReader **readerPtr, OsMap map, const void *data, size_t size,
        const char *name, EtlWarnProc *warn, void *warnCtx, EtwError *errPtr)
{
    EtlReader *r = EtwAlloc(sizeof *r);
    r->map = map;
    r->file = data;
    r->warn = warn;
    r->warnCtx = warnCtx;
    EtwStatus status = EtlHeaderParse(data, size, name, &r->info, &r->clock, errPtr);
    if (status != ETW_OK) {
        EtlReaderClose(r);
        return status;
    }
    EtlIndexBuild(&r->index, r->file, size, &r->info);
    r->info.buffers = r->index.found;
    r->streams = EtwAlloc((CountStreams(&r->index) + 1) * sizeof *r->streams);
    StartStreams(r);
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
    return Open(readerPtr, map, map.base, map.size, path, warn, warnCtx, errPtr);
}

EtwStatus EtlReaderOpenMemory(EtlReader **readerPtr, const void *data, size_t size,
        EtlWarnProc *warn, void *warnCtx, EtwError *errPtr)
{
    OsMap none = {0};
    return Open(readerPtr, none, data, size, "(memory)", warn, warnCtx, errPtr);
}

const EtlInfo *EtlReaderInfo(const EtlReader *r)
{
    return &r->info;
}

double EtlReaderProgress(const EtlReader *r)
{
    uint64_t total = 0, done = r->bytesDone;
    if (r->current == NULL) {
        return 1.0;
    }
    total = r->info.fileSize;
    done += (uint64_t)(r->current->at - r->current->data);
    return done < total ? (double)done / (double)total : 1.0;
}

void EtlReaderClose(EtlReader *r)
{
    if (r == NULL) {
        return;
    }
    EtwFree(r->current != NULL ? r->current->places : NULL);
    EtwFree(r->current);
    for (size_t i = 0; i < r->heapCount; i++) {
        EtwFree(r->heap[i]->places);
        EtwFree(r->heap[i]);
    }
    while (r->freeCursors != NULL) {
        Cursor *next = r->freeCursors->nextFree;
        EtwFree(r->freeCursors);
        r->freeCursors = next;
    }
    EtwFree(r->heap);
    EtwFree(r->streams);
    EtlIndexFree(&r->index);
    if (r->map.base != NULL) {
        OsUnmap(&r->map);
    }
    EtwFree(r);
}
