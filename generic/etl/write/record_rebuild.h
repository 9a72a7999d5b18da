/*
 * etl/write/record_rebuild.h --
 *
 *	A record made of another one: its payload, one of its extended items or its time replaced, all
 *	else to the byte as it was. Of every kind of record that has a place for it.
 */
#ifndef ETW_RECORD_REBUILD_H
#define ETW_RECORD_REBUILD_H

#include "base/bytes.h"
#include "etl/format.h"
#include "event/event.h"

/*
 * Where the new record is. Each change turns *event (which keeps its time, CPU and names) to a new
 * record, valid until the one after the next change or until EtlRebuildFree. Zeroed is empty.
 */
typedef struct EtlRebuild {
    EtwText bytes[2];
    int current;
} EtlRebuild;
void EtlRebuildFree(EtlRebuild *rebuild);

/* False: the record would have more than 64 KB; nothing has changed then. payload may be part of the
 * event. */
bool EtlRebuildPayload(EtlRebuild *rebuild, EtwEvent *event, const void *payload, size_t size);
/*
 * The first extended item of that type (ETL_ITEM_*) gets this content, is added, or (data is NULL)
 * goes. False: the same, or the kind of record has no extended items.
 */
bool EtlRebuildItem(
        EtlRebuild *rebuild, EtwEvent *event, unsigned type, const void *data, size_t size);
/* The event has a record, now at least: one that comes from no file is built. False: it is too large. */
bool EtlRebuildWhole(EtlRebuild *rebuild, EtwEvent *event);
/* The record of the last change, to be overwritten in place: header fields. */
static inline uint8_t *EtlRebuildRecord(EtlRebuild *rebuild)
{
    return (uint8_t *)rebuild->bytes[rebuild->current].data;
}
/* ticks: of the clock of the file that the record is for; time: what they mean. False: the record has
 * no time of its own. */
bool EtlRebuildTime(EtlRebuild *rebuild, EtwEvent *event, int64_t ticks, int64_t time);

#endif
