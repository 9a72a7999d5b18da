/*
 * tcl/consume/consumer.h --
 *
 *	Background consumers: `etw consume -background 1`.
 */
#ifndef ETW_CONSUMER_H
#define ETW_CONSUMER_H

#include "tcl/consume/query.h"

/* Starts the worker; the consumer's name is the result. batch: events a call; 0: one, and not as a
 * list. */
int EtwConsumerStart(EtwInterp *ctx, Tcl_Obj *sources, const EtwQueryOptions *options,
        Tcl_Obj *command, int batch);
/* End all consumers of an interpreter. */
void EtwConsumersFree(EtwInterp *ctx);

#endif
