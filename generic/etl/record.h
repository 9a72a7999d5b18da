/*
 * etl/record.h --
 *
 *	One record's header: bytes <-> EtwEvent. Parsing knows every record kind; building
 *	makes the one kind that we write (EVENT_HEADER64 with TraceLogging items, SYSTEM64
 *	for the file header).
 */
#ifndef ETW_ETL_RECORD_H
#define ETW_ETL_RECORD_H

#include "base/bytes.h"
#include "etl/format.h"
#include "event/event.h"

#define ETL_NO_TICKS INT64_MIN /* the record has no time of its own: the one before counts */

/*
 * Parse the record at data (left bytes available up to the end of the buffer's data). Fills all of
 * *event but time, cpu and logger, which the caller knows; ticks may be ETL_NO_TICKS. *sizePtr:
 * bytes to the next record (8-aligned, may reach past left for the last one). False: not a record
 * (event untouched).
 */
bool EtlRecordParse(const uint8_t *data, size_t left, EtwEvent *event, size_t *sizePtr);

/*
 * The record's time and size alone, of any kind. timeAtPtr of the slow form may be NULL; it gets
 * the offset of the time in the record, 0 when there is none.
 */
bool EtlRecordPeekAny(
        const uint8_t *data, size_t left, int64_t *ticksPtr, size_t *sizePtr, size_t *timeAtPtr);
static inline bool EtlRecordPeek(
        const uint8_t *data, size_t left, int64_t *ticksPtr, size_t *sizePtr)
{
    if (left >= ETL_EVENT_HEADER) {
        uint32_t word = EtwLoad32(data);
        size_t size = word & 0xFFFF;
        if (word >> 16 == (ETL_MARK_TYPED << 8 | ETL_EVENT64) && size >= ETL_EVENT_HEADER &&
                size <= left) {
            *ticksPtr = (int64_t)EtwLoad64(data + 0x10);
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
 * size; EVENT_HEADER32 when the event's pointerSize is 4.
 */
void EtlRecordBuild(const EtwEvent *event, uint8_t *out, size_t size);

/* Class GUID of a kernel record's hook (group << 8 | opcode); zero when nobody knows the group. */
const EtwGuid *EtlGroupGuid(uint16_t hook);

#endif
