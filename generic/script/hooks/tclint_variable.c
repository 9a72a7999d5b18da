/*
 * script/hooks/tclint_variable.c --
 *
 *	Elements of arrays: one can cease to exist without the traces of its deletion, and without an end of the searches
 *	of its array.
 */
#include "script/hooks/tclint.h"

#ifdef ETW_TCLINT

static bool able;

void EtwTclintUndefine(Tcl_Interp *interp, const char *array, Tcl_Obj *element)
{
    Var *var = (Var *)Tcl_FindNamespaceVar(interp, array, NULL, TCL_GLOBAL_ONLY);
    Tcl_HashEntry *entry;
    if (!able || var == NULL || !TclIsVarArray(var) || TclIsVarUndefined(var)) {
        return;
    }
    entry = Tcl_FindHashEntry(&var->value.tablePtr->table, (char *)element);
    if (entry != NULL) {
        Var *found = (Var *)((char *)entry - offsetof(VarInHash, entry));
        if (TclIsVarScalar(found) && !TclIsVarUndefined(found)) {
            Tcl_Obj *value = found->value.objPtr;
            TclSetVarUndefined(found);
            Tcl_DecrRefCount(value);
        }
    }
}

/* Verifies that the element of an array is found where these headers have it. */
void EtwTclintCheckVariable(Tcl_Interp *interp)
{
    Tcl_Obj *name = Tcl_NewStringObj("one", -1), *value = Tcl_NewStringObj("1", -1);
    Tcl_IncrRefCount(name);
    Tcl_IncrRefCount(value);
    Tcl_SetVar2Ex(interp, "etwProbe", "one", value, TCL_GLOBAL_ONLY);
    Tcl_SetVar2(interp, "etwProbe", "two", "2", TCL_GLOBAL_ONLY);
    able = true;
    EtwTclintUndefine(interp, "::etwProbe", name);
    able = value->refCount == 1 &&
           Tcl_EvalEx(interp, "array get ::etwProbe", -1, TCL_EVAL_GLOBAL) == TCL_OK &&
           strcmp(Tcl_GetStringResult(interp), "two 2") == 0;
    Tcl_DecrRefCount(name);
    Tcl_DecrRefCount(value);
}

#endif
