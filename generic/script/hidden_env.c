/*
 * script/hidden_env.c --
 *
 *	Hides environment variables from an interpreter's array ::env: those that `etw record` sets for the Tcl processes
 *	that it traces. The process's environment keeps them, for its children, threads and C code. An element is hidden
 *	as long as its value is the one that it had at first; a value that the script sets is an ordinary one.
 *
 *	Tcl copies the environment into ::env in a trace, before each access. The traces here run after it.
 */
#include "script/script_int.h"
#include <string.h>

typedef struct HiddenVariable {
    Tcl_Obj *name, *hidden;
    Tcl_Obj *shown; /* value that the script sees; NULL: the element does not exist */
    struct HiddenVariable *next;
} HiddenVariable;

static const char listKey[] = "etw::hiddenEnv";

static void freeList(void *clientData, Tcl_Interp *interp)
{
    (void)interp;
    for (HiddenVariable *v = clientData, *next; v != NULL; v = next) {
        next = v->next;
        Tcl_DecrRefCount(v->name);
        Tcl_DecrRefCount(v->hidden);
        if (v->shown != NULL) {
            Tcl_DecrRefCount(v->shown);
        }
        EtwFree(v);
    }
}

/* Of an element, after Tcl's own trace of the array. Tcl runs no traces of the element inside. */
static char *elementRead(
        void *clientData, Tcl_Interp *interp, const char *array, const char *name, int flags)
{
    HiddenVariable *v = clientData;
    const char *value;
    (void)array;
    (void)flags;
    value = Tcl_GetVar2(interp, "env", name, TCL_GLOBAL_ONLY);
    if (value == NULL || strcmp(value, Tcl_GetString(v->hidden)) != 0) {
        return NULL;
    }
    if (v->shown != NULL) {
        Tcl_SetVar2Ex(interp, "env", name, v->shown, TCL_GLOBAL_ONLY);
        return NULL;
    }
    etwHookLayer->undefine(interp, "::env", v->name);
    return (char *)"no such variable"; /* as Tcl's own trace */
}

/* Of the array: its names or all values are about to be read. Runs the traces of the elements. */
static char *arrayRead(
        void *clientData, Tcl_Interp *interp, const char *array, const char *name, int flags)
{
    (void)clientData, (void)array, (void)name, (void)flags;
    for (HiddenVariable *v = Tcl_GetAssocData(interp, listKey, NULL); v != NULL; v = v->next) {
        Tcl_GetVar2Ex(interp, "env", Tcl_GetString(v->name), TCL_GLOBAL_ONLY);
    }
    return NULL;
}

static void hide(Tcl_Interp *interp, HiddenVariable **list, Tcl_Obj *name, Tcl_Obj *shown)
{
    Tcl_Obj *hidden = Tcl_GetVar2Ex(interp, "env", Tcl_GetString(name), TCL_GLOBAL_ONLY);
    HiddenVariable *v;
    if (hidden == NULL) {
        return;
    }
    v = EtwAlloc(sizeof *v);
    *v = (HiddenVariable){.name = name, .hidden = hidden, .shown = shown, .next = *list};
    Tcl_IncrRefCount(name);
    Tcl_IncrRefCount(hidden);
    if (shown != NULL) {
        Tcl_IncrRefCount(shown);
    }
    *list = v;
    Tcl_TraceVar2(
            interp, "env", Tcl_GetString(name), TCL_GLOBAL_ONLY | TCL_TRACE_READS, elementRead, v);
}

Tcl_Obj *EtwScriptHiddenEnv(Tcl_Interp *interp)
{
    Tcl_Obj *dict = Tcl_NewDictObj();
    for (HiddenVariable *v = Tcl_GetAssocData(interp, listKey, NULL); v != NULL; v = v->next) {
        Tcl_DictObjPut(NULL, dict, v->name, v->hidden);
    }
    return dict;
}

int EtwScriptHideEnv(Tcl_Interp *interp, Tcl_Obj *names)
{
    HiddenVariable *list = NULL;
    Tcl_DictSearch search;
    Tcl_Obj *name, *values;
    int done;
    if (Tcl_DictObjFirst(interp, names, &search, &name, &values, &done) != TCL_OK) {
        return TCL_ERROR;
    }
    if (etwHookLayer != NULL && etwHookLayer->undefine != NULL &&
            Tcl_GetAssocData(interp, listKey, NULL) == NULL) {
        for (; !done; Tcl_DictObjNext(&search, &name, &values, &done)) {
            Tcl_Obj *shown = NULL;
            Tcl_ListObjIndex(NULL, values, 0, &shown);
            hide(interp, &list, name, shown);
        }
        Tcl_SetAssocData(interp, listKey, freeList, list);
        Tcl_TraceVar2(interp, "env", NULL, TCL_GLOBAL_ONLY | TCL_TRACE_ARRAY, arrayRead, NULL);
        /* Tcl's own trace replaces itself when it runs: it is the newest then, so that it runs before ours. */
        Tcl_EvalEx(interp, "::array size ::env", -1, TCL_EVAL_GLOBAL | TCL_EVAL_DIRECT);
        Tcl_ResetResult(interp);
    }
    Tcl_DictObjDone(&search);
    return TCL_OK;
}
