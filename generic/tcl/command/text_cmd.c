/*
 * tcl/command/text_cmd.c --
 *
 *	For parts of the package in Tcl: ::etw::lib::visible makes text from a trace or a file safe
 *	for terminals, ::etw::lib::similar finds the name that was probably meant,
 *	::etw::lib::nanoseconds parses durations, ::etw::lib::headerFields lists the header values of events.
 */
#include "tcl/core/tclglue.h"
#include "flow/render/escape.h"
#include "predicate/predicate.h"
#include "predicate/quantity.h"

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

/* similar WORD NAMES: the most similar name, or an empty string. */
static int similarCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    Tcl_Obj **names;
    Tcl_Size count;
    (void)clientData;

    if (objc != 3) {
        Tcl_WrongNumArgs(interp, 1, objv, "word names");
        return TCL_ERROR;
    }
    if (Tcl_ListObjGetElements(interp, objv[2], &count, &names) != TCL_OK) {
        return TCL_ERROR;
    }
    const char *word = Tcl_GetString(objv[1]);
    int most = EtwNearDistance(word);
    for (Tcl_Size i = 0; i < count; i++) {
        int distance = EtwNameDistance(word, Tcl_GetString(names[i]));
        if (distance < most) {
            most = distance;
            Tcl_SetObjResult(interp, names[i]);
        }
    }
    return TCL_OK;
}

/* guidOf NAME: the GUID of a provider that registers with this name and no GUID. */
static int guidOfCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    char text[ETW_GUID_TEXT];
    Tcl_DString ds;
    EtwGuid guid;
    (void)clientData;

    if (objc != 2) {
        Tcl_WrongNumArgs(interp, 1, objv, "name");
        return TCL_ERROR;
    }
    Tcl_DStringInit(&ds);
    EtwGuidFromName(EtwUtf8Of(objv[1], &ds, NULL), &guid);
    Tcl_DStringFree(&ds);
    EtwGuidFormat(&guid, text);
    Tcl_SetObjResult(interp, Tcl_NewStringObj(text, -1));
    return TCL_OK;
}

/* nanoseconds DURATION: of 10ms, 1.5s and so on; an empty string for another text. */
static int nanosecondsCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    int64_t ns;
    (void)clientData;

    if (objc != 2) {
        Tcl_WrongNumArgs(interp, 1, objv, "duration");
        return TCL_ERROR;
    }
    if (EtwQuantityParse(Tcl_GetString(objv[1]), ETW_QUANTITY_DURATION, &ns)) {
        Tcl_SetObjResult(interp, Tcl_NewWideIntObj(ns));
    }
    return TCL_OK;
}

static int headerFieldsCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);
    (void)clientData, (void)objc, (void)objv;

    for (const char *const *name = EtwHeaderNames(); *name != NULL; name++) {
        Tcl_ListObjAppendElement(NULL, list, EtwStringObj(*name));
    }
    Tcl_SetObjResult(interp, list);
    return TCL_OK;
}

void EtwVisibleInit(Tcl_Interp *interp)
{
    Tcl_CreateObjCommand(interp, "::etw::lib::headerFields", headerFieldsCmd, NULL, NULL);
    Tcl_CreateObjCommand(interp, "::etw::lib::nanoseconds", nanosecondsCmd, NULL, NULL);
    Tcl_CreateObjCommand(interp, "::etw::lib::guidOf", guidOfCmd, NULL, NULL);
    Tcl_CreateObjCommand(interp, "::etw::lib::similar", similarCmd, NULL, NULL);
    Tcl_CreateObjCommand(interp, "::etw::lib::visible", visibleCmd, NULL, NULL);
}
