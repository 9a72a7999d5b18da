/*
 * flow/relog/rundown.h --
 *
 *	What a part of a trace needs of what came before it: events that describe others, and the latest
 *	that tell of each process, thread, module, file and key which there still is. Copies, in the order
 *	of their times, up to a bound.
 */
#ifndef ETW_RUNDOWN_H
#define ETW_RUNDOWN_H

#include "schema/model/schema.h"

typedef struct EtwRundown EtwRundown;

typedef struct EtwRundownEvent {
    struct EtwRundownEvent *next; /* later ones */
    EtwEvent event;
    bool isSchema; /* it describes events, of `provider` alone unless that is zero */
    EtwGuid provider;
    uint32_t pid; /* the process that it tells of; ETW_NO_ID: it may matter to all */
} EtwRundownEvent;

EtwRundown *EtwRundownNew(EtwSchemaStore *store); /* the store is borrowed */
void EtwRundownFree(EtwRundown *c);
/* Keep the event, if it is one that later ones need. Result: it is, and this is the copy. */
const EtwRundownEvent *EtwRundownAdd(EtwRundown *c, const EtwEvent *event);
/* The oldest; NULL: none. */
const EtwRundownEvent *EtwRundownFirst(EtwRundown *c);
uint64_t EtwRundownDropped(const EtwRundown *c); /* events that would have been too much */

#endif
