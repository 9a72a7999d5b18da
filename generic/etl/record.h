/*
 * etl/record.h --
 *
 *	Converts the header of one record to EtwEvent and back. Parses every record kind; builds the kinds
 *	that we write (EVENT_HEADER64 with its items, FULL64 for classic events, WPP messages, SYSTEM64 for
 *	the file header).
 */
#ifndef ETW_ETL_RECORD_H
#define ETW_ETL_RECORD_H

#include "base/bytes.h"
#include "etl/format.h"
#include "event/event.h"

#define ETL_NO_TICKS INT64_MIN /* the record has no time: the previous record's applies */

/*
 * Parse the record at data (left bytes available up to the end of the buffer's data). Fills all
 * members of *event except time, cpu and logger; ticks may be ETL_NO_TICKS. *sizePtr: bytes to the
 * next record (8-aligned, may exceed left for the last one). False: not a record (event unchanged).
 */
bool EtlRecordParse(const uint8_t *data, size_t left, EtwEvent *event, size_t *sizePtr);

/* The layout of a record kind's header; all zero: undocumented. */
typedef struct EtlKind {
    uint8_t header;    /* bytes before the payload */
    uint8_t sizeShift; /* the u16 size, as a shift of the first 8 bytes: 0 or 32 */
    uint8_t timeAt;    /* offset of the time */
    uint8_t pointer;
} EtlKind;
enum { ETL_KINDS = 32 };
extern const EtlKind EtlKindTable[ETL_KINDS];

/*
 * Only the record's time and size, for any kind. timeAtPtr of the slow form may be NULL; it gets
 * the offset of the time in the record, 0 if it has none. Reads at most the first 0x28 bytes.
 */
bool EtlRecordPeekAny(
        const uint8_t *data, size_t left, int64_t *ticksPtr, size_t *sizePtr, size_t *timeAtPtr);
static inline bool EtlRecordPeek(
        const uint8_t *data, size_t left, int64_t *ticksPtr, size_t *sizePtr)
{
    if (left >= 0x18) {
        uint64_t word = EtwLoad64(data);
        const EtlKind *kind = &EtlKindTable[word >> 16 & (ETL_KINDS - 1)];
        size_t size = word >> kind->sizeShift & 0xFFFF;
        if ((word >> 16 & 0xFFE0) == ETL_MARK_TYPED << 8 && kind->header != 0 &&
                size >= kind->header && size <= left) {
            *ticksPtr = (int64_t)EtwLoad64(data + kind->timeAt);
            *sizePtr = EtwAlign8(size);
            return true;
        }
    }
    return EtlRecordPeekAny(data, left, ticksPtr, sizePtr, NULL);
}

/* Bytes that EtlRecordBuild needs for this event, 8-aligned; 0 when it exceeds 64 KB. */
size_t EtlRecordSize(const EtwEvent *event);
/*
 * Write an EVENT_HEADER64 record (ticks as its time; items: related, stack, traits, meta) of that
 * size; EVENT_HEADER32 when the event's pointerSize is 4. A classic event is FULL64 or FULL32 without
 * items, one of kind ETL_MESSAGE a WPP message with GUID, time and thread.
 */
void EtlRecordBuild(const EtwEvent *event, uint8_t *out, size_t size);

/*
 * Data that only some kinds have, read from event->record on demand. False (0, NULL): absent.
 */
typedef struct EtlInstance { /* instance records, or item ETL_ITEM_INSTANCE of others */
    uint32_t id, parentId;
    EtwGuid parentClass;
} EtlInstance;
bool EtlRecordInstance(const EtwEvent *event, EtlInstance *instance);

typedef struct EtlMessage {    /* WPP: number and GUID are the event's id and provider */
    uint16_t options;          /* TRACE_MESSAGE_*: which of the following are present */
    uint32_t sequence;         /* option 1 */
    uint32_t component;        /* option 4: instead of the GUID */
    bool hasTime, performance; /* option 8; 0x10: time of the performance counter */
} EtlMessage;
bool EtlRecordMessage(const EtwEvent *event, EtlMessage *message);

/*
 * Performance counters of a kernel record (the words between header and payload) or of item
 * ETL_ITEM_PMC_COUNTERS. Result: u64s, unaligned. *pebsPtr: the PEBS index before them or in its
 * own item, NULL if there is none.
 */
const uint8_t *EtlRecordCounters(
        const EtwEvent *event, uint32_t *countPtr, const uint8_t **pebsPtr);

/* Class GUID of a kernel record's hook (group << 8 | opcode); zero for an unknown group. */
const EtwGuid *EtlGroupGuid(uint16_t hook);

#endif
