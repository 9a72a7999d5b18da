/*
 * script/hooks/tclint_async.c --
 *
 *	Marking async handlers without a lock. Tcl_AsyncMark holds one over waking the thread, which by
 *	then has seen the mark and wants the same lock: in a third of the cases and more it has to
 *	sleep, for longer than what it is stopped for takes. The two flags behind it are of one writer
 *	each and may be set as they are: the handler's own (its first word) and then the thread's, which
 *	Tcl clears in the other order.
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
