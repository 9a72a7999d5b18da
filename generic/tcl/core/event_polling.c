/*
 * tcl/core/event_polling.c --
 *
 *	Runs asynchronous handlers (Ctrl-C), limits and cancelling from the loops that read events, and
 *	the -progress callback about ten times a second. It does not serve the event loop: a callback
 *	that wants it calls update.
 */
#include "tcl/core/event_polling.h"
#include "base/os.h"

enum { CHECK_EVERY = 1024, TELL_NS = 100000000 };

void EtwServingBegin(EtwServing *serving, Tcl_Interp *interp, Tcl_Obj *progress)
{
    Tcl_Size words = 0;

    *serving = (EtwServing){.interp = interp};
    if (progress != NULL && Tcl_ListObjLength(NULL, progress, &words) == TCL_OK && words > 0) {
        serving->progress = progress;
        Tcl_IncrRefCount(progress);
    }
}

void EtwServingEnd(EtwServing *serving)
{
    if (serving->progress != NULL) {
        Tcl_DecrRefCount(serving->progress);
        serving->progress = NULL;
    }
}

int EtwServe(EtwServing *serving)
{
    Tcl_Interp *interp = serving->interp;

    if (Tcl_AsyncReady() && Tcl_AsyncInvoke(interp, TCL_OK) != TCL_OK) {
        return TCL_ERROR;
    }
    if (Tcl_Canceled(interp, TCL_LEAVE_ERR_MSG) != TCL_OK) {
        return TCL_ERROR;
    }
    return Tcl_LimitReady(interp) ? Tcl_LimitCheck(interp) : TCL_OK;
}

/* ---- Progress -------------------------------------------------------------------------------- */

static int callProgress(EtwServing *serving)
{
    Tcl_Interp *interp = serving->interp;
    Tcl_Obj *command = Tcl_DuplicateObj(serving->progress);

    Tcl_IncrRefCount(command);
    Tcl_ListObjAppendElement(NULL, command, Tcl_NewDoubleObj(serving->fraction));
    Tcl_ListObjAppendElement(NULL, command, EtwUint64Obj(serving->read));
    int result = Tcl_EvalObjEx(interp, command, TCL_EVAL_GLOBAL | TCL_EVAL_DIRECT);
    Tcl_DecrRefCount(command);
    return result;
}

/* Any code but ok and continue ends the command: with the callback's own error, or as cancelled. */
static int tell(EtwServing *serving, double fraction)
{
    OsInstant now;

    if (fraction > serving->fraction) {
        serving->fraction = fraction;
    }
    int result = callProgress(serving);
    OsNow(&now);
    serving->told = now.steady; /* a slow callback does not fill all the time */
    if (result == TCL_OK || result == TCL_CONTINUE) {
        Tcl_ResetResult(serving->interp);
        return TCL_OK;
    }
    if (result == TCL_ERROR) {
        Tcl_AddErrorInfo(serving->interp, "\n    (\"-progress\" callback)");
        return TCL_ERROR;
    }
    return EtwTclFail(serving->interp, ETW_E_STATE, "CANCELLED", "-progress",
            "cancelled by the \"-progress\" callback after %llu events",
            (unsigned long long)serving->read);
}

static bool isDue(const EtwServing *serving)
{
    OsInstant now;

    if (serving->progress == NULL) {
        return false;
    }
    OsNow(&now);
    return serving->told == 0 || now.steady - serving->told >= TELL_NS;
}

int EtwServingIdle(EtwServing *serving, const EtwSource *source)
{
    if (EtwServe(serving) != TCL_OK) {
        return TCL_ERROR;
    }
    return isDue(serving) ? tell(serving, EtwSourceProgress(source)) : TCL_OK;
}

int EtwServingRead(EtwServing *serving, const EtwSource *source)
{
    return ++serving->read % CHECK_EVERY == 0 ? EtwServingIdle(serving, source) : TCL_OK;
}

int EtwServingDone(EtwServing *serving)
{
    return serving->progress != NULL ? tell(serving, 1.0) : TCL_OK;
}
