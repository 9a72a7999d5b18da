/*
 * script/hooks/tclint_async.c --
 *
 *	Marks async handlers without a lock. Tcl_AsyncMark holds a lock while it wakes the thread, which by then has seen the
 *	mark and needs the same lock: in more than a third of the cases it has to sleep, for longer than the interruption
 *	takes. Each of the two flags that it sets has one writer and may be set directly: first the handler's own (its first
 *	word), then the thread's. Tcl clears them in the other order.
 */
#include "script/hooks/tclint.h"

#ifdef ETW_TCLINT

static bool able;

int *EtwTclintAsyncReady(Tcl_Interp *interp)
{
    return able ? ((Interp *)interp)->asyncReadyPtr : NULL;
}

static int countRun(ClientData runs, Tcl_Interp *interp, int code)
{
    (void)interp;
    ++*(int *)runs;
    return code;
}

/* Marked as Tcl does and marked by hand, a handler must look the same and run the same. */
void EtwTclintCheckAsync(Tcl_Interp *interp)
{
    int *ready = ((Interp *)interp)->asyncReadyPtr;
    if (ready == NULL || *ready != 0 || Tcl_AsyncReady()) {
        return; /* another handler waits: running it is not ours to do */
    }
    int runs = 0;
    Tcl_AsyncHandler handler = Tcl_AsyncCreate(countRun, &runs);
    int *own = (int *)handler;
    bool same = *own == 0;
    Tcl_AsyncMark(handler);
    same &= *own == 1 && *ready == 1;
    Tcl_AsyncInvoke(NULL, TCL_OK);
    same &= runs == 1 && *own == 0 && *ready == 0;
    if (same) {
        *own = *ready = 1;
        same = Tcl_AsyncReady() != 0;
        Tcl_AsyncInvoke(NULL, TCL_OK);
    }
    able = same && runs == 2 && *own == 0 && *ready == 0;
    Tcl_AsyncDelete(handler);
}

#endif
