/*
 * tcl/core/event_polling.c --
 *
 *	Runs asynchronous handlers (Ctrl-C), limits and cancelling in the loops that read events, and calls the -progress
 *	callback about ten times a second. It does not run the event loop; a callback may call update.
 */
#include "tcl/core/event_polling.h"
#include "base/os.h"

enum { CHECK_EVERY = 1024, REPORT_NS = 100000000 };

void EtwPollingBegin(EtwPolling *polling, Tcl_Interp *interp, Tcl_Obj *progress)
{
    Tcl_Size words = 0;

    *polling = (EtwPolling){.interp = interp};
    if (progress != NULL && Tcl_ListObjLength(NULL, progress, &words) == TCL_OK && words > 0) {
        polling->progress = progress;
        Tcl_IncrRefCount(progress);
    }
}

void EtwPollingEnd(EtwPolling *polling)
{
    if (polling->progress != NULL) {
        Tcl_DecrRefCount(polling->progress);
        polling->progress = NULL;
    }
}

int EtwPollEvents(EtwPolling *polling)
{
    Tcl_Interp *interp = polling->interp;

    if (Tcl_AsyncReady() && Tcl_AsyncInvoke(interp, TCL_OK) != TCL_OK) {
        return TCL_ERROR;
    }
    if (Tcl_Canceled(interp, TCL_LEAVE_ERR_MSG) != TCL_OK) {
        return TCL_ERROR;
    }
    return Tcl_LimitReady(interp) ? Tcl_LimitCheck(interp) : TCL_OK;
}

/* ---- Progress -------------------------------------------------------------------------------- */

/*
 * Any code except ok and continue ends the command: with the callback's own error, or as cancelled.
 */
static int reportProgress(EtwPolling *polling, double fraction)
{
    Tcl_Obj *args[2];
    OsInstant now;

    if (fraction > polling->fraction) {
        polling->fraction = fraction;
    }
    args[0] = Tcl_NewDoubleObj(polling->fraction);
    args[1] = EtwUint64Obj(polling->read);
    int result = EtwCallPrefix(polling->interp, polling->progress, 2, args);
    OsNow(&now);
    polling->lastReport = now.steady; /* so that a slow callback does not use all the time */
    if (result == TCL_OK || result == TCL_CONTINUE) {
        Tcl_ResetResult(polling->interp);
        return TCL_OK;
    }
    if (result == TCL_ERROR) {
        Tcl_AddErrorInfo(polling->interp, "\n    (\"-progress\" callback)");
        return TCL_ERROR;
    }
    return EtwTclFail(polling->interp, ETW_E_STATE, "CANCELLED", "-progress",
            "cancelled by the callback of \"-progress\" after %llu events",
            (unsigned long long)polling->read);
}

static bool isDue(const EtwPolling *polling)
{
    OsInstant now;

    if (polling->progress == NULL) {
        return false;
    }
    OsNow(&now);
    return polling->lastReport == 0 || now.steady - polling->lastReport >= REPORT_NS;
}

int EtwPollingIdle(EtwPolling *polling, const EtwSource *source)
{
    if (EtwPollEvents(polling) != TCL_OK) {
        return TCL_ERROR;
    }
    return isDue(polling) ? reportProgress(polling, EtwSourceProgress(source)) : TCL_OK;
}

int EtwPollingRead(EtwPolling *polling, const EtwSource *source)
{
    return ++polling->read % CHECK_EVERY == 0 ? EtwPollingIdle(polling, source) : TCL_OK;
}

int EtwPollingDone(EtwPolling *polling)
{
    return polling->progress != NULL ? reportProgress(polling, 1.0) : TCL_OK;
}
