/*
 * tcl/consume/consumer.h --
 *
 *	Background consumers: `etw consume -background 1`.
 */
#ifndef ETW_CONSUMER_H
#define ETW_CONSUMER_H

#include "tcl/query/query.h"

/*
 * Starts the worker; the result is the consumer's name. batch: events per call; 0: one event, not
 * as a list.
 */
int EtwConsumerStart(EtwInterp *ctx, Tcl_Obj *sources, const EtwQueryOptions *options,
        Tcl_Obj *command, int batch);
/* End all consumers of an interpreter. */
void EtwConsumersFree(EtwInterp *ctx);

#endif
