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

typedef struct EtwDescribe EtwDescribe;

EtwDescribe *EtwDescribeNew(EtwSchemaStore *store); /* the store is borrowed */
void EtwDescribeFree(EtwDescribe *d);
/* Call add for each event of metadata that this one needs and that was not added before. It has the
 * event's time and CPU. */
typedef void EtwDescribeProc(void *ctx, const EtwEvent *event);
void EtwDescribeEvent(EtwDescribe *d, const EtwEvent *event, EtwDescribeProc *add, void *ctx);
/* Kinds of events that are known, but that metadata cannot describe: a sentence, or false. */
bool EtwDescribeUnfit(const EtwDescribe *d, EtwText *out);

#endif
