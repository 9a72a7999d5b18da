/*
 * etl/read/buffer_cursor.h --
 *
 *	Reads the records of one buffer in time order. Decompresses, filters and sorts them as needed.
 *	Private to etl/read.
 */
#ifndef ETW_BUFFER_CURSOR_H
#define ETW_BUFFER_CURSOR_H

#include "etl/read/header_filter.h"
#include "etl/read/buffer_index.h"
#include "etl/record.h"

/* A record of a buffer that is not read sequentially. */
typedef struct EtlRecordRef {
    int64_t ticks;
    uint32_t at; /* from the start of the cursor's data */
} EtlRecordRef;

/* Owns `bytes` and `places`, and keeps them when it is reopened: the reader reuses cursors. */
typedef struct EtlCursor {
    const uint8_t *at;   /* next record */
    const uint8_t *end;  /* end of the valid records */
    int64_t ticks;       /* time of the next record */
    const uint8_t *data; /* first record of the buffer */
    uint32_t buffer;     /* in the index; also breaks ties: it rises with CPU and file order */
    uint32_t stream;
    uint16_t cpu, logger;
    bool owned;   /* data is in `bytes`, not in the mapped file */
    bool damaged; /* the data at `end` is not a valid record */
    bool listed;  /* the records are those of `places`, in that order */
    uint8_t *bytes;
    size_t byteCapacity;
    EtlRecordRef *places;
    uint32_t placeCount, placeCapacity, place;
    struct EtlCursor *nextFree;
} EtlCursor;

/* Position the cursor on the first record that passes the filter. False: there is none (damaged may be set). */
bool EtlCursorOpen(EtlCursor *cursor, const uint8_t *file, const EtlInfo *info,
        const EtlBuffer *buffer, const EtlHeaderFilter *headerFilter);
void EtlCursorFree(EtlCursor *cursor);

/* Move the cursor over its record, which has that size, to the next one. False: there is none. */
static inline bool EtlCursorAdvance(EtlCursor *c, size_t size)
{
    if (c->listed) {
        if (++c->place >= c->placeCount) {
            return false;
        }
        c->at = c->data + c->places[c->place].at;
        c->ticks = c->places[c->place].ticks;
        return true;
    }
    size_t left = (size_t)(c->end - c->at);
    if (size >= left) {
        c->at = c->end;
        return false;
    }
    int64_t ticks;
    c->at += size;
    if (!EtlRecordPeek(c->at, left - size, &ticks, &size)) {
        return false;
    }
    if (ticks != ETL_NO_TICKS) {
        c->ticks = ticks;
    }
    return true;
}

#endif
