/*
 * tcl/core/event_polling.h --
 *
 *	What a command that reads for long owes its interpreter and its user: signals, limits and
 *	cancelling take effect, and a -progress callback is told how far it is.
 */
#ifndef ETW_EVENT_POLLING_H
#define ETW_EVENT_POLLING_H

#include "tcl/core/tclglue.h"
#include "flow/source/source.h"

/* One command's; zeroed and begun, ended once. */
typedef struct EtwPolling {
    Tcl_Interp *interp;
    Tcl_Obj *progress;  /* the callback's prefix, a reference; NULL: none */
    int64_t lastReport; /* steady clock of the last call; 0: none yet */
    double fraction;    /* of the last call: what is told never falls */
    uint64_t read;      /* events read, whether they passed or not */
} EtwPolling;

/* progress: NULL or an empty list is none. */
void EtwPollingBegin(EtwPolling *polling, Tcl_Interp *interp, Tcl_Obj *progress);
void EtwPollingEnd(EtwPolling *polling);
/* What the interpreter is owed now. TCL_OK, else the command has to end with the error left. */
int EtwPollEvents(EtwPolling *polling);
/* Count an event; every so many of them, serve and tell how far `source` is. Result as above. */
int EtwPollingRead(EtwPolling *polling, const EtwSource *source);
/* While there is nothing to read: serve, and tell when it is time. Result as above. */
int EtwPollingIdle(EtwPolling *polling, const EtwSource *source);
/* Tell that all is read. Result as above. */
int EtwPollingDone(EtwPolling *polling);

#endif
