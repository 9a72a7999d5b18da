/*
 * flow/relog/schema_events.h --
 *
 *	What of an event's schema must be put into a file so that it can be decoded anywhere: metadata
 *	as Windows' merge tools add it (schema/eventinfo/event_info.h), once for each kind of event. Nothing for events
 *	that describe themselves or are described in their trace, and for the kernel's own classes, which
 *	every reader knows.
 */
#ifndef ETW_SCHEMA_EVENTS_H
#define ETW_SCHEMA_EVENTS_H

#include "schema/model/schema.h"

typedef struct EtwSchemaEvents EtwSchemaEvents;

EtwSchemaEvents *EtwSchemaEventsNew(EtwSchemaStore *store); /* the store is borrowed */
void EtwSchemaEventsFree(EtwSchemaEvents *d);
/* Call add for each event of metadata that this one needs and that was not added before. It has the
 * event's time and CPU. */
typedef void EtwSchemaEventsProc(void *ctx, const EtwEvent *event);
void EtwSchemaEventsAdd(
        EtwSchemaEvents *d, const EtwEvent *event, EtwSchemaEventsProc *add, void *ctx);
/* Kinds of events that are known, but that metadata cannot describe: a sentence, or false. */
bool EtwSchemaEventsUnsupported(const EtwSchemaEvents *d, EtwText *out);

#endif
