/*
 * etl/read/buffer_cursor.c --
 *
 *	Opens a buffer: decompresses it if necessary, and iterates over it once, which costs little
 *	because the bytes are needed next. The iteration finds the end of the valid records, whether
 *	they are in time order, and which of them pass the filter.
 */
#include "etl/read/buffer_cursor.h"
#include "base/alloc.h"
#include "etl/compress/decompress.h"
#include "etl/format.h"
#include <stdlib.h>

static void addRecordRef(EtlCursor *c, int64_t ticks, const uint8_t *at)
{
    if (c->placeCount == c->placeCapacity) {
        c->placeCapacity = c->placeCapacity != 0 ? 2 * c->placeCapacity : 64;
        c->places = EtwRealloc(c->places, c->placeCapacity * sizeof *c->places);
    }
    c->places[c->placeCount++] = (EtlRecordRef){ticks, (uint32_t)(at - c->data)};
}

/*
 * The position of the next record. It depends on the current record's size, so an iteration over
 * uncached memory would wait at each record. Memory AHEAD bytes further on is therefore prefetched.
 * Beyond 1 KB prefetching a record's payload would be useless.
 */
static inline const uint8_t *next(const EtlCursor *c, const uint8_t *at, size_t size)
{
    enum { AHEAD = 1024, LINE = 64 };
    for (size_t i = 0; !c->owned && i < size && i < AHEAD; i += LINE) {
        __builtin_prefetch((const void *)((uintptr_t)at + AHEAD + i)); /* may be past the end */
    }
    size_t left = (size_t)(c->end - at);
    return at + (size < left ? size : left);
}

/* Find the end of the valid records. True: they are in time order. */
static bool checkOrder(EtlCursor *c)
{
    const uint8_t *at = c->data, *end = c->end;
    int64_t last = INT64_MIN, ticks;
    bool sorted = true;
    size_t size;
    while (at < end) {
        if (!EtlRecordPeek(at, (size_t)(end - at), &ticks, &size)) {
            c->damaged = true;
            c->end = at;
            break;
        }
        if (ticks != ETL_NO_TICKS) {
            sorted &= ticks >= last;
            last = ticks;
        }
        at = next(c, at, size);
    }
    return sorted;
}

/* The same, and list the records that pass the filter. */
static bool list(EtlCursor *c, const EtlHeaderFilter *headerFilter)
{
    const uint8_t *at = c->data, *end = c->end;
    int64_t last = c->ticks, highest = INT64_MIN, ticks;
    bool sorted = true;
    size_t size;
    c->placeCount = c->place = 0;
    c->listed = true;
    while (at < end) {
        if (!EtlRecordPeek(at, (size_t)(end - at), &ticks, &size)) {
            c->damaged = true;
            c->end = at;
            break;
        }
        last = ticks != ETL_NO_TICKS ? ticks : last;
        if (!headerFilter->active ||
                EtlHeaderFilterPass(headerFilter, at, (size_t)(end - at), last)) {
            sorted &= last >= highest;
            highest = last;
            addRecordRef(c, last, at);
        }
        at = next(c, at, size);
    }
    return sorted;
}

static int compareRecordRefs(const void *left, const void *right)
{
    const EtlRecordRef *a = left, *b = right;
    if (a->ticks != b->ticks) {
        return a->ticks < b->ticks ? -1 : 1;
    }
    return a->at < b->at ? -1 : a->at > b->at;
}

/*
 * Damaged compressed data decodes to copies of earlier records. Keep the records up to the first one
 * that is not later than the one before.
 */
static void dropCopies(EtlCursor *c)
{
    const uint8_t *at = c->data;
    int64_t last = INT64_MIN, ticks;
    size_t size;
    while (at < c->end && EtlRecordPeek(at, (size_t)(c->end - at), &ticks, &size) &&
            (ticks == ETL_NO_TICKS || ticks > last)) {
        last = ticks != ETL_NO_TICKS ? ticks : last;
        at = next(c, at, size);
    }
    c->end = at;
}

/*
 * Decompress the buffer into owned memory. Less data than announced counts as damage, and so does more, except in
 * Huffman's code, whose end is not marked.
 */
static void unpack(EtlCursor *c, const uint8_t *in, const EtlInfo *info, const EtlBuffer *buffer)
{
    size_t want = buffer->end - ETL_BUFFER_HEADER, more = info->compression != ETL_FORMAT_HUFFMAN;
    EtlDecodeProc *decode = EtlDecoder(info->compression);
    size_t got = EtlUnpack(decode, in, buffer->packed, want + more, &c->bytes, &c->byteCapacity);
    c->owned = true;
    c->damaged = got != want;
    c->data = c->bytes;
    c->end = c->bytes + (got < want ? got : want);
    if (c->damaged && !(info->mode & ETL_MODE_UNSORTED)) {
        dropCopies(c);
    }
}

bool EtlCursorOpen(EtlCursor *c, const uint8_t *file, const EtlInfo *info, const EtlBuffer *buffer,
        const EtlHeaderFilter *headerFilter)
{
    const uint8_t *data = file + buffer->at + ETL_BUFFER_HEADER;
    c->damaged = c->owned = c->listed = false;
    c->cpu = buffer->cpu;
    c->logger = buffer->logger;
    c->ticks = buffer->first; /* also the time of records at the start that have none */
    if (buffer->packed != 0) {
        unpack(c, data, info, buffer);
    } else {
        c->data = data;
        c->end = file + buffer->at + buffer->end;
    }
    c->at = c->data;
    if (!headerFilter->active && checkOrder(c)) {
        return c->at < c->end;
    }
    if (!list(c, headerFilter)) {
        qsort(c->places, c->placeCount, sizeof *c->places, compareRecordRefs);
    }
    if (c->placeCount == 0) {
        return false;
    }
    c->at = c->data + c->places[0].at;
    c->ticks = c->places[0].ticks;
    return true;
}

void EtlCursorFree(EtlCursor *c)
{
    EtwFree(c->bytes);
    EtwFree(c->places);
    EtwFree(c);
}
