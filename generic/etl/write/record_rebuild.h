/*
 * etl/write/record_rebuild.h --
 *
 *	Builds a record from another one, with its payload, an extended item or its time replaced. All
 *	other bytes are copied. Works for every kind of record that has the replaced part.
 */
#ifndef ETW_RECORD_REBUILD_H
#define ETW_RECORD_REBUILD_H

#include "base/text.h"
#include "etl/format.h"
#include "event/event.h"

/*
 * The memory of the new record. Each change makes *event (which keeps its time, CPU and names)
 * refer to a new record, which is valid during the next change and until EtlRebuildFree. Zeroed:
 * empty.
 */
typedef struct EtlRebuild {
    EtwText bytes[2];
    int current;
} EtlRebuild;
void EtlRebuildFree(EtlRebuild *rebuild);

/* False: the record would have more than 64 KB; it is not changed. payload may be part of the event. */
bool EtlRebuildPayload(EtlRebuild *rebuild, EtwEvent *event, const void *payload, size_t size);
/*
 * Replace, add or (data is NULL) remove the first extended item of that type (ETL_ITEM_*). False: as
 * above, or the kind of record has no extended items.
 */
bool EtlRebuildItem(
        EtlRebuild *rebuild, EtwEvent *event, unsigned type, const void *data, size_t size);
/* Build a record for an event that does not come from a file. False: it would be too large. */
bool EtlRebuildWhole(EtlRebuild *rebuild, EtwEvent *event);
/* The record of the last change; the caller may overwrite its header fields. */
static inline uint8_t *EtlRebuildRecord(EtlRebuild *rebuild)
{
    return (uint8_t *)rebuild->bytes[rebuild->current].data;
}
/* ticks: of the output file's clock; time: the corresponding time. False: the record has no time. */
bool EtlRebuildTime(EtlRebuild *rebuild, EtwEvent *event, int64_t ticks, int64_t time);

#endif
