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

typedef struct EtwCarry EtwCarry;

typedef struct EtwCarried {
    struct EtwCarried *next; /* later ones */
    EtwEvent event;
    bool teaches; /* it describes events, of `provider` alone unless that is zero */
    EtwGuid provider;
    uint32_t pid; /* the process that it tells of; ETW_NO_ID: it may matter to all */
} EtwCarried;

EtwCarry *EtwCarryNew(EtwSchemaStore *store); /* the store is borrowed */
void EtwCarryFree(EtwCarry *c);
/* Keep the event, if it is one that later ones need. Result: it is, and this is the copy. */
const EtwCarried *EtwCarryTake(EtwCarry *c, const EtwEvent *event);
/* The oldest; NULL: none. */
const EtwCarried *EtwCarryFirst(EtwCarry *c);
uint64_t EtwCarryLeftOut(const EtwCarry *c); /* events that would have been too much */

#endif
