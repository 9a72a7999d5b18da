/*
 * tcl/consume/consumer.h --
 *
 *	Background consumers: `etw consume -background 1`.
 */
#ifndef ETW_CONSUMER_H
#define ETW_CONSUMER_H

#include "tcl/consume/query.h"

typedef struct EtwConsumeOptions {
    EtwQueryOptions query; /* first: the option tables' offsets count from it */
    Tcl_Obj *command;
    int batch; /* events a call; 0: one, and not as a list */
    int background;
} EtwConsumeOptions;

/* Starts the worker; the consumer's name is the result. */
int EtwConsumerStart(EtwInterp *ctx, Tcl_Obj *sources, const EtwConsumeOptions *options);
/* End all consumers of an interpreter. */
void EtwConsumersFree(EtwInterp *ctx);
/* PREFIX with one more word, at global level; arg needs no reference. */
int EtwCallPrefix(Tcl_Interp *interp, Tcl_Obj *prefix, Tcl_Obj *arg);

#endif
