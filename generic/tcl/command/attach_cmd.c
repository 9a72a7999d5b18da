/*
 * tcl/command/attach_cmd.c --
 *
 *	::etw::lib::attach, for the command-line tool only: a script for the interpreters of another process.
 *	library/cli/attach_command.tcl uses it; attach/attach.h implements it.
 */
#include "tcl/core/tclglue.h"
#include "attach/attach.h"
#include "base/os.h"

static int getPid(Tcl_Interp *interp, Tcl_Obj *word, uint32_t *pidPtr)
{
    Tcl_WideInt value;
    if (Tcl_GetWideIntFromObj(NULL, word, &value) != TCL_OK || value <= 0 || value > INT32_MAX) {
        return EtwTclFail(interp, ETW_E_ARG, "PID", Tcl_GetString(word),
                "expected the number of a process but got \"%.60s\"", Tcl_GetString(word));
    }
    *pidPtr = (uint32_t)value;
    return TCL_OK;
}

static void put(Tcl_Obj *dict, const char *name, Tcl_Obj *value)
{
    Tcl_DictObjPut(NULL, dict, Tcl_NewStringObj(name, -1), value);
}

/* attach start PID SCRIPT LIBRARY8 LIBRARY9 MS: a dict, address generation interps limited. */
static int startCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    OsAttachRequest request = {.script = Tcl_GetString(objv[3])};
    OsAttached attached;
    EtwError err;
    uint32_t pid;
    (void)clientData;
    (void)objc;

    if (getPid(interp, objv[2], &pid) != TCL_OK ||
            Tcl_GetIntFromObj(interp, objv[6], &request.milliseconds) != TCL_OK) {
        return TCL_ERROR;
    }
    for (int i = 0; i < OS_ATTACH_TCLS; i++) {
        const char *library = Tcl_GetString(objv[4 + i]);
        request.libraries[i] = *library != '\0' ? library : NULL;
    }
    if (OsAttach(pid, &request, &attached, &err) != ETW_OK) {
        return EtwTclError(interp, &err);
    }
    Tcl_Obj *dict = Tcl_NewDictObj();
    put(dict, "address", Tcl_NewWideIntObj((Tcl_WideInt)attached.status));
    put(dict, "generation", Tcl_NewWideIntObj((Tcl_WideInt)attached.generation));
    put(dict, "interps", Tcl_NewWideIntObj(attached.interps));
    put(dict, "limited", Tcl_NewBooleanObj(attached.limited));
    Tcl_SetObjResult(interp, dict);
    return TCL_OK;
}

/* attach status PID ADDRESS: a dict, generation total done failed skipped message. */
static int statusCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwAttachStatus status;
    EtwError err;
    Tcl_WideInt address;
    uint32_t pid;
    (void)clientData;
    (void)objc;

    if (getPid(interp, objv[2], &pid) != TCL_OK ||
            Tcl_GetWideIntFromObj(interp, objv[3], &address) != TCL_OK) {
        return TCL_ERROR;
    }
    if (OsAttachStatus(pid, (uint64_t)address, &status, &err) != ETW_OK) {
        return EtwTclError(interp, &err);
    }
    Tcl_Obj *dict = Tcl_NewDictObj();
    put(dict, "generation", Tcl_NewWideIntObj((Tcl_WideInt)status.generation));
    put(dict, "total", Tcl_NewWideIntObj(status.total));
    put(dict, "done", Tcl_NewWideIntObj(status.done));
    put(dict, "failed", Tcl_NewWideIntObj(status.failed));
    put(dict, "skipped", Tcl_NewWideIntObj(status.skipped));
    put(dict, "message", Tcl_NewStringObj(status.message, -1));
    Tcl_SetObjResult(interp, dict);
    return TCL_OK;
}

static int attachCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    static const EtwSubCommand subCommands[] = {
            {"start", startCmd, "pid script library8 library9 ms", 5, 5},
            {"status", statusCmd, "pid address", 2, 2},
            {NULL, NULL, NULL, 0, 0},
    };
    return EtwDispatch(subCommands, clientData, interp, objc, objv);
}

void EtwAttachInit(Tcl_Interp *interp)
{
    Tcl_CreateObjCommand(interp, "::etw::lib::attach", attachCmd, NULL, NULL);
}
