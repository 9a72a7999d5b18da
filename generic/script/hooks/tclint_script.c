/*
 * script/hooks/tclint_script.c --
 *
 *	Scripts with another string representation: lists whose string differs from their elements.
 *	Tcl regards them as canonical and therefore evaluates the elements. Code that reads a
 *	callback's script (`after info`, `fileevent`) or compares it (`after cancel`) uses the
 *	string.
 */
#include "script/hooks/tclint.h"
#include "script/script_text.h"

#ifdef ETW_TCLINT

/* Set the flag that marks the string as canonical. */
static void setCanonical(Tcl_Obj *list)
{
#if TCL_MAJOR_VERSION > 8
    ListObjStorePtr(list)->flags |= LISTSTORE_CANONICAL;
#else
    ListRepPtr(list)->canonicalFlag = 1;
#endif
}

Tcl_Obj *EtwTclintAlias(Tcl_Obj *look, Tcl_Size objc, Tcl_Obj *const objv[])
{
    Tcl_Obj *list = Tcl_NewListObj(objc, objv);
    Tcl_Size size;
    const char *text = Tcl_GetStringFromObj(look, &size);
    list->bytes = Tcl_Alloc((unsigned)size + 1);
    memcpy(list->bytes, text, (size_t)size + 1);
    list->length = size;
    setCanonical(list);
    return list;
}

/*
 * Tcl has pushed a frame for the list, and will later pop to the frame below it. Remove it, unless
 * the script is itself a list, which has such a frame; its text is then that of the alias.
 */
void EtwTclintAliasRuns(Tcl_Interp *interp, Tcl_Obj *script)
{
    Interp *iPtr = (Interp *)interp;
    bool list = EtwScriptTextIsList(script) && ListObjIsCanonical(script);
    if (!list && iPtr->cmdFramePtr != NULL && iPtr->cmdFramePtr->type == TCL_LOCATION_EVAL) {
        iPtr->cmdFramePtr = iPtr->cmdFramePtr->nextPtr;
    }
}

void EtwTclintAliasFailed(Tcl_Interp *interp)
{
    ((Interp *)interp)->flags |= ERR_ALREADY_LOGGED;
}

bool EtwTclintCheckScript(Tcl_Interp *interp)
{
    Tcl_Obj *words[2] = {Tcl_NewStringObj("list", -1), Tcl_NewStringObj("runs", -1)};
    Tcl_Obj *look = Tcl_NewStringObj("no such; script", -1);
    Tcl_IncrRefCount(look);
    Tcl_Obj *script = EtwTclintAlias(look, 2, words);
    Tcl_IncrRefCount(script);
    bool ok = Tcl_EvalObjEx(interp, script, TCL_EVAL_GLOBAL) == TCL_OK &&
              strcmp(Tcl_GetStringResult(interp), "runs") == 0 &&
              strcmp(Tcl_GetString(script), Tcl_GetString(look)) == 0;
    Tcl_DecrRefCount(script);
    Tcl_DecrRefCount(look);
    Tcl_ResetResult(interp);
    return ok;
}

#endif
