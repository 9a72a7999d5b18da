/*
 * etl/write/record_rebuild.c --
 *
 *	Splits a record into the part before the payload (header, extended items, counters) and the
 *	payload, and builds a new record from them (etl/write/record_rebuild.h). For an event
 *	without a record (of a live session), one is built first.
 */
#include "etl/write/record_rebuild.h"
#include "etl/record.h"

enum { ITEM_HEADER = 8, ITEM_TYPE = 2, ITEM_MORE = 4, ITEM_SIZE = 6, FLAGS_AT = 4 };

void EtlRebuildFree(EtlRebuild *rebuild)
{
    EtwTextFree(&rebuild->bytes[0]);
    EtwTextFree(&rebuild->bytes[1]);
}

/* The buffer that does not contain the event's record, cleared. */
static EtwText *begin(EtlRebuild *rebuild)
{
    EtwText *to = &rebuild->bytes[!rebuild->current];
    to->size = 0;
    return to;
}

/*
 * Make the event refer to the record in the buffer of begin(). False: parsing it does not result in
 * this payload, as is possible for a damaged record.
 */
static bool finish(EtlRebuild *rebuild, EtwEvent *event, size_t payload)
{
    EtwText *to = &rebuild->bytes[!rebuild->current];
    EtwEvent made = *event;
    size_t size = to->size, next;
    EtwTextReserve(to, 8);
    EtwStore64(to->data + size, 0); /* padding */
    if (!EtlRecordParse((const uint8_t *)to->data, size, &made, &next) ||
            made.payloadSize != payload) {
        return false;
    }
    made.time = event->time;
    made.ticks = event->ticks;
    made.cpu = event->cpu;
    made.logger = event->logger;
    made.late = event->late;
    made.process = event->process;
    made.object = event->object;
    *event = made;
    rebuild->current = !rebuild->current;
    return true;
}

/* The same for a record whose size has changed. */
static bool finishSized(EtlRebuild *rebuild, EtwEvent *event, size_t payload)
{
    EtwText *to = &rebuild->bytes[!rebuild->current];
    size_t at = event->kind < ETL_KINDS ? EtlKindTable[event->kind].sizeShift / 8 : 0;
    if (to->size > ETL_MAX_RECORD || at + 2 > to->size) {
        return false;
    }
    EtwStore16(to->data + at, (uint16_t)to->size);
    return finish(rebuild, event, payload);
}

bool EtlRebuildWhole(EtlRebuild *rebuild, EtwEvent *event)
{
    size_t size = event->record == NULL ? EtlRecordSize(event) : 0;
    if (size == 0) {
        return event->record != NULL;
    }
    EtwText *to = begin(rebuild);
    EtwTextReserve(to, size + 8);
    EtlRecordBuild(event, (uint8_t *)to->data, size);
    to->size = size;
    return finish(rebuild, event, event->payloadSize);
}

bool EtlRebuildPayload(EtlRebuild *rebuild, EtwEvent *event, const void *payload, size_t size)
{
    if (size > ETL_MAX_RECORD || !EtlRebuildWhole(rebuild, event)) {
        return false;
    }
    EtwText *to = begin(rebuild);
    EtwTextAdd(to, event->record, (size_t)(event->payload - event->record));
    EtwTextAdd(to, payload, size);
    return finishSized(rebuild, event, size);
}

/* ---- Extended items -------------------------------------------------------------------------- */

/*
 * Append an item, and set the bit of the previous one that another item follows. *lastPtr: offset
 * of the last item, 0: none.
 */
static void putItem(EtwText *to, size_t *lastPtr, unsigned type, const void *data, size_t size)
{
    size_t at = to->size, capacity = EtwAlign8(ITEM_HEADER + size);
    EtwTextReserve(to, capacity);
    memset(to->data + at, 0, capacity);
    EtwStore16(to->data + at, (uint16_t)capacity);
    EtwStore16(to->data + at + ITEM_TYPE, (uint16_t)type);
    EtwStore16(to->data + at + ITEM_SIZE, (uint16_t)size);
    memcpy(to->data + at + ITEM_HEADER, data, size);
    to->size += capacity;
    if (*lastPtr != 0) {
        EtwStore16(to->data + *lastPtr + ITEM_MORE, 1);
    }
    *lastPtr = at;
}

/*
 * Size of the item at the start of the remaining bytes, including padding; 0: the chain is broken.
 */
static size_t itemCapacity(const uint8_t *item, size_t left)
{
    size_t length = left >= ITEM_HEADER ? EtwLoad16(item + ITEM_SIZE) : 0;
    if (left < ITEM_HEADER || length > left - ITEM_HEADER) {
        return 0;
    }
    size_t capacity = EtwAlign8(ITEM_HEADER + length);
    return capacity < left ? capacity : left;
}

/* Copy the event's items, with that of the type replaced. False: the chain is broken. */
static bool putItems(
        EtwText *to, const EtwEvent *event, unsigned type, const void *data, size_t size)
{
    size_t at = 0, last = 0, capacity;
    bool placed = data == NULL;
    for (; at < event->extendedSize; at += capacity) {
        const uint8_t *item = event->extended + at;
        capacity = itemCapacity(item, event->extendedSize - at);
        if (capacity == 0) {
            return false;
        }
        if (EtwLoad16(item + ITEM_TYPE) != type) {
            putItem(to, &last, EtwLoad16(item + ITEM_TYPE), item + ITEM_HEADER,
                    EtwLoad16(item + ITEM_SIZE));
        } else if (!placed) {
            putItem(to, &last, type, data, size);
            placed = true;
        }
    }
    if (!placed) {
        putItem(to, &last, type, data, size);
    }
    unsigned flags = EtwLoad16(to->data + FLAGS_AT) & ~(unsigned)ETL_EVENT_FLAG_EXTENDED;
    EtwStore16(to->data + FLAGS_AT, (uint16_t)(flags | (last != 0 ? ETL_EVENT_FLAG_EXTENDED : 0)));
    return true;
}

bool EtlRebuildItem(
        EtlRebuild *rebuild, EtwEvent *event, unsigned type, const void *data, size_t size)
{
    if (size > ETL_MAX_RECORD || !EtlRebuildWhole(rebuild, event) ||
            (event->kind != ETL_EVENT32 && event->kind != ETL_EVENT64)) {
        return false;
    }
    EtwText *to = begin(rebuild);
    EtwTextAdd(to, event->record, ETL_EVENT_HEADER);
    if (!putItems(to, event, type, data, size)) {
        return false;
    }
    EtwTextAdd(to, event->payload, event->payloadSize);
    return finishSized(rebuild, event, event->payloadSize);
}

/* ---- Time ------------------------------------------------------------------------------------ */

bool EtlRebuildTime(EtlRebuild *rebuild, EtwEvent *event, int64_t ticks, int64_t time)
{
    int64_t old;
    size_t size, timeAt;
    if (!EtlRebuildWhole(rebuild, event) ||
            !EtlRecordPeekAny(event->record, event->recordSize, &old, &size, &timeAt) ||
            timeAt == 0) {
        return false;
    }
    EtwText *to = begin(rebuild);
    EtwTextAdd(to, event->record, event->recordSize);
    EtwStore64(to->data + timeAt, (uint64_t)ticks);
    if (!finish(rebuild, event, event->payloadSize)) {
        return false;
    }
    event->ticks = ticks;
    event->time = time;
    return true;
}
