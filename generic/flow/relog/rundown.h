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

/* The part of a trace for which a rundown event is relevant. The number: */
typedef enum EtwRelevance {
    ETW_FOR_ALL,      /* none */
    ETW_FOR_WHOLE,    /* none: parts with the events of all processes and providers */
    ETW_FOR_PROCESS,  /* events of this process */
    ETW_FOR_PROVIDER, /* none: events of EtwRundownEvent.provider */
    ETW_FOR_STACKS,   /* none: events with stacks, because it describes a module of the kernel */
    ETW_FOR_OBJECT,   /* events that refer to the file or registry key of this address */
    ETW_FOR_IMAGE     /* parts with events about a module of this image (flow/relog/image_id.h) */
} EtwRelevance;

typedef struct EtwRundownEvent {
    struct EtwRundownEvent *next; /* newer copies */
    EtwEvent event;
    bool isSchema;    /* it describes events */
    EtwGuid provider; /* for ETW_FOR_PROVIDER */
    EtwRelevance relevance;
    uint64_t number;
} EtwRundownEvent;

EtwRundown *EtwRundownNew(EtwSchemaStore *store); /* the store is borrowed */
void EtwRundownFree(EtwRundown *c);
/* Keep a copy of the event if later events need it. Returns the copy, or NULL. */
const EtwRundownEvent *EtwRundownAdd(EtwRundown *c, const EtwEvent *event);
/* The oldest; NULL: none. */
const EtwRundownEvent *EtwRundownFirst(EtwRundown *c);
uint64_t EtwRundownDropped(const EtwRundown *c); /* events that exceeded the limit */

#endif
