/*
 * tcl/core/event_polling.h --
 *
 *	Event-loop polling in commands that read for a long time: signals, limits and cancelling take effect,
 *	and the -progress callback is called.
 */
#ifndef ETW_EVENT_POLLING_H
#define ETW_EVENT_POLLING_H

#include "tcl/core/tclglue.h"
#include "flow/source/source.h"

/* State of one command; zeroed before begin, ended once. */
typedef struct EtwPolling {
    Tcl_Interp *interp;
    Tcl_Obj *progress;  /* the callback's prefix, a reference; NULL: none */
    int64_t lastReport; /* steady clock of the last call; 0: none yet */
    double fraction;    /* of the last callback; it never decreases */
    uint64_t read;      /* events read, including those that did not pass */
} EtwPolling;

/* progress: NULL or an empty list means none. */
void EtwPollingBegin(EtwPolling *polling, Tcl_Interp *interp, Tcl_Obj *progress);
void EtwPollingEnd(EtwPolling *polling);
/*
 * Run pending handlers of the interpreter. TCL_OK; otherwise the command must end with the error
 * left.
 */
int EtwPollEvents(EtwPolling *polling);
/* Count an event. At intervals, poll and report the progress of `source`. Returns the same. */
int EtwPollingRead(EtwPolling *polling, const EtwSource *source);
/* While there are no events: poll, and report when due. Returns the same. */
int EtwPollingIdle(EtwPolling *polling, const EtwSource *source);
/* Report that all events are read. Returns the same. */
int EtwPollingDone(EtwPolling *polling);

#endif
