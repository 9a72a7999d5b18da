/*
 * flow/relog/rundown.h --
 *
 *	The state rundown of a part of a trace: the earlier events that are needed to understand it. These
 *	are events that describe others, and the latest event about each existing process, thread, module,
 *	file and key. Copies, in time order, limited in number.
 */
#ifndef ETW_RUNDOWN_H
#define ETW_RUNDOWN_H

#include "schema/model/schema.h"

typedef struct EtwRundown EtwRundown;

typedef struct EtwRundownEvent {
    struct EtwRundownEvent *next; /* newer copies */
    EtwEvent event;
    bool isSchema; /* it describes events: of `provider`, or of all if that is zero */
    EtwGuid provider;
    uint32_t pid; /* the process that it describes; ETW_NO_ID: relevant for all */
} EtwRundownEvent;

EtwRundown *EtwRundownNew(EtwSchemaStore *store); /* the store is borrowed */
void EtwRundownFree(EtwRundown *c);
/* Keep a copy of the event if later events need it. Returns the copy, or NULL. */
const EtwRundownEvent *EtwRundownAdd(EtwRundown *c, const EtwEvent *event);
/* The oldest; NULL: none. */
const EtwRundownEvent *EtwRundownFirst(EtwRundown *c);
uint64_t EtwRundownDropped(const EtwRundown *c); /* events that exceeded the limit */

#endif
