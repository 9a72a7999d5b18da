/*
 * flow/source/source_records.h --
 *
 *	A source of records in memory, for synthetic events without a file.
 */
#ifndef ETW_SOURCE_RECORDS_H
#define ETW_SOURCE_RECORDS_H

#include "flow/source/source.h"

/* A record of any kind, in the format of a file; its time is ns since 1970. */
typedef struct EtwRecordPart {
    const uint8_t *data;
    size_t size;
    uint16_t cpu;
} EtwRecordPart;

/*
 * Delivers the records by time; equal times in their order. Copies them. It has no file and no
 * losses. ETW_E_FORMAT: a record is malformed or truncated; subject is its number, from 0.
 */
EtwStatus EtwSourceRecords(
        EtwSource **sourcePtr, const EtwRecordPart *parts, int count, EtwError *errPtr);

#endif
