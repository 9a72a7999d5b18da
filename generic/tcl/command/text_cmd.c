/*
 * tcl/command/text_cmd.c --
 *
 *	::etw::lib::visible, for parts of the package in Tcl: makes text from a trace or a file safe
 *	for terminals.
 */
#include "tcl/core/tclglue.h"
#include "flow/render/escape.h"

/* visible TEXT ?lines?: on one line; with `lines`, line feeds and tabs are kept. */
static int visibleCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwText out = {0};
    Tcl_DString ds;
    size_t size;
    (void)clientData;

    if (objc != 2 && objc != 3) {
        Tcl_WrongNumArgs(interp, 1, objv, "text ?lines?");
        return TCL_ERROR;
    }
    Tcl_DStringInit(&ds);
    const char *text = EtwUtf8Of(objv[1], &ds, &size);
    if (objc == 2) {
        EtwAddSafe(&out, text, size);
    } else {
        EtwAddSafeLines(&out, text, size);
    }
    Tcl_Obj *result = EtwTakeText(interp, &out);
    Tcl_DStringFree(&ds);
    if (result == NULL) {
        return TCL_ERROR;
    }
    Tcl_SetObjResult(interp, result);
    return TCL_OK;
}

void EtwVisibleInit(Tcl_Interp *interp)
{
    Tcl_CreateObjCommand(interp, "::etw::lib::visible", visibleCmd, NULL, NULL);
}
