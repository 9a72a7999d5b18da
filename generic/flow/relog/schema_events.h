/*
 * flow/relog/schema_events.h --
 *
 *	Adds the schemas of events to a file, so that it can be decoded on any machine: metadata as Windows'
 *	merge tools add it (schema/eventinfo/event_info.h), once for each kind of event. Not for events that
 *	describe themselves or are described in their trace, nor for the kernel's classes, which every
 *	reader knows.
 */
#ifndef ETW_SCHEMA_EVENTS_H
#define ETW_SCHEMA_EVENTS_H

#include "schema/model/schema.h"

typedef struct EtwSchemaEvents EtwSchemaEvents;

EtwSchemaEvents *EtwSchemaEventsNew(EtwSchemaStore *store); /* the store is borrowed */
void EtwSchemaEventsFree(EtwSchemaEvents *d);
/*
 * Call add for each schema event that this event needs and that was not added before. It has the
 * event's time and CPU.
 */
typedef void EtwSchemaEventsProc(void *ctx, const EtwEvent *event);
void EtwSchemaEventsAdd(
        EtwSchemaEvents *d, const EtwEvent *event, EtwSchemaEventsProc *add, void *ctx);
/*
 * Kinds of events with a schema that metadata cannot express: appends a sentence, or returns false.
 */
bool EtwSchemaEventsUnsupported(const EtwSchemaEvents *d, EtwText *out);

#endif
