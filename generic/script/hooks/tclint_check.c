/*
 * script/hooks/tclint_check.c --
 *
 *	The self-check: verifies with a temporary interpreter that Tcl's structures match the
 *	headers that these files were compiled with, before anything is changed in a real
 *	interpreter.
 */
#include "script/hooks/tclint.h"

#ifdef ETW_TCLINT

static struct {
    Tcl_ObjCmdProc *true_;
    int entered, left, code;
} checked; /* guarded by the provider's lock */

static int checkLeft(ClientData data[], Tcl_Interp *interp, int result)
{
    (void)data;
    (void)interp;
    checked.left++;
    checked.code = result;
    return result;
}

static int checkEntry(ClientData cd, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    checked.entered++;
    Tcl_NRAddCallback(interp, checkLeft, NULL, NULL, NULL, NULL);
    return checked.true_(cd, interp, objc, objv);
}

/* The command's structure must contain the same values as the public API returns. */
static bool checkCommand(Tcl_Interp *interp, Tcl_Command token)
{
    const Command *cmd = (const Command *)token;
    Tcl_CmdInfo info;
    return Tcl_GetCommandInfoFromToken(token, &info) && cmd->objProc == info.objProc &&
           cmd->objClientData == info.objClientData && cmd->deleteProc == info.deleteProc &&
           (Tcl_Namespace *)cmd->nsPtr == info.namespacePtr &&
           strcmp(cmd->nsPtr->fullName, "::") == 0 &&
           cmd->nsPtr == ((Interp *)interp)->globalNsPtr &&
           strcmp(Tcl_GetHashKey(cmd->hPtr->tablePtr, cmd->hPtr), "etwProbe") == 0;
}

static int noTrace(ClientData cd, Tcl_Interp *interp, int level, const char *command,
        Tcl_Command token, int objc, Tcl_Obj *const objv[])
{
    (void)cd, (void)interp, (void)level, (void)command, (void)token, (void)objc, (void)objv;
    return TCL_OK;
}

/* A trace of the public API must change the three fields that `inlining` changes. */
static bool checkInlining(Tcl_Interp *interp)
{
    const Interp *iPtr = (const Interp *)interp;
    int epoch = iPtr->compileEpoch, traces = iPtr->tracesForbiddingInline;
    bool on, off = !(iPtr->flags & DONT_COMPILE_CMDS_INLINE);
    Tcl_Trace trace = Tcl_CreateObjTrace(interp, 0, 0, noTrace, NULL, NULL);
    on = (iPtr->flags & DONT_COMPILE_CMDS_INLINE) && iPtr->compileEpoch == epoch + 1 &&
         iPtr->tracesForbiddingInline == traces + 1;
    Tcl_DeleteTrace(interp, trace);
    return on && off && !(iPtr->flags & DONT_COMPILE_CMDS_INLINE);
}

static bool checkFrames(Tcl_Interp *interp)
{
    const Interp *iPtr = (const Interp *)interp;
    return iPtr->varFramePtr != NULL && iPtr->varFramePtr->nsPtr == iPtr->globalNsPtr &&
           iPtr->execEnvPtr != NULL && iPtr->execEnvPtr->interp == interp &&
           iPtr->execEnvPtr->corPtr == NULL;
}

static bool checkCall(Tcl_Interp *interp, const char *script, int code, const char *result)
{
    int entered = checked.entered, left = checked.left;
    return Tcl_EvalEx(interp, script, -1, TCL_EVAL_GLOBAL) == code &&
           strcmp(Tcl_GetStringResult(interp), result) == 0 && checked.entered == entered + 1 &&
           checked.left == left + 1 && checked.code == code;
}

static bool checkSwap(Tcl_Interp *interp, Tcl_Command token)
{
    Command *cmd = (Command *)token;
    checked.true_ = cmd->nreProc;
    if (cmd->nreProc == NULL) {
        return false;
    }
    cmd->nreProc = checkEntry;
    return checkCall(interp, "etwProbe 5", TCL_OK, "got 5") &&
           checkCall(interp, "etwProbe error", TCL_ERROR, "probed");
}

bool EtwTclintCheck(void)
{
    static const char script[] =
            "proc etwProbe x {if {$x eq {error}} {error probed}; return \"got $x\"}";
    Tcl_Interp *interp;
    Tcl_Command token;
    int major, minor, patch, type;
    bool ok = false;
    Tcl_GetVersion(&major, &minor, &patch, &type);
    if (major != TCL_MAJOR_VERSION || minor != TCL_MINOR_VERSION) {
        return false;
    }
    interp = Tcl_CreateInterp();
    if (Tcl_EvalEx(interp, script, -1, TCL_EVAL_GLOBAL) == TCL_OK) {
        token = Tcl_FindCommand(interp, "::etwProbe", NULL, 0);
        ok = token != NULL && checkCommand(interp, token) && checkFrames(interp) &&
             checkInlining(interp) && checkSwap(interp, token) && EtwTclintCheckScript(interp) &&
             EtwTclintCheckMethods(interp);
    }
    if (ok) {
        EtwTclintCheckBodyPlaces(interp);
        EtwTclintCheckLines(interp);
        EtwTclintCheckSteps(interp);
        EtwTclintCheckInterrupt(interp);
        EtwTclintCheckAttach(interp);
        EtwTclintCheckVariable(interp);
    }
    Tcl_DeleteInterp(interp);
    return ok;
}

#endif
