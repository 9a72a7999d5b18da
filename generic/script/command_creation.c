/*
 * script/command_creation.c --
 *
 *	While an interpreter is traced, hooks the commands that create commands, so that a new
 *	command is hooked before it can be called. Tcl has no trace for the creation of commands.
 *	The name of the new command is found as follows:
 *
 *	  proc, coroutine         the first argument
 *	  rename                  the second argument
 *	  interp alias, expose    an argument, in the interpreter that another argument names
 *	  interp create           the result: the child's command
 *	  namespace ensemble create, oo::copy, create and new of any class: the result
 *	  load, namespace import  unknown: all commands are examined
 *
 *	package require, source, auto_load, namespace eval ... use these commands. Commands that
 *	other C code creates, and those of CHILD alias ..., are found later (command_hooks.c).
 */
#include "script/script_int.h"
#include <string.h>

#ifndef Tcl_GetChild /* renamed in Tcl 8.6.11 */
#define Tcl_GetChild Tcl_GetSlave
#endif

typedef enum WatchKind {
    WATCH_NONE,
    WATCH_FIRST,  /* the first argument is the name */
    WATCH_SECOND, /* the second argument */
    WATCH_RESULT, /* the result */
    WATCH_ALL,
    WATCH_INTERP,
    WATCH_BLANKET
} WatchKind;

static const struct {
    const char *name;
    WatchKind kind;
} watched[] = {
        {"::coroutine", WATCH_FIRST},
        {"::interp", WATCH_INTERP},
        {"::load", WATCH_ALL},
        {"::oo::copy", WATCH_RESULT},
        {"::proc", WATCH_FIRST},
        {"::rename", WATCH_SECOND},
        {"::tcl::namespace::ensemble", WATCH_RESULT},
        {"::tcl::namespace::import", WATCH_ALL},
        {"::tcl::unsupported::corotype", WATCH_BLANKET},
        {"::tcl::info::cmdtype", WATCH_BLANKET},
        {"::tcl::unsupported::inject", WATCH_BLANKET},
        {"::coroinject", WATCH_BLANKET},
        {"::coroprobe", WATCH_BLANKET},
};

static WatchKind kindOf(const char *name)
{
    for (size_t i = 0; i < sizeof watched / sizeof watched[0]; i++) {
        if (strcmp(watched[i].name, name) == 0) {
            return watched[i].kind;
        }
    }
    return WATCH_NONE;
}

unsigned EtwWatchOf(const char *name)
{
    switch (kindOf(name)) {
    case WATCH_NONE:
        return 0;
    case WATCH_BLANKET:
        return HOOK_OPAQUE;
    default:
        return HOOK_WATCH;
    }
}

static void syncObj(EtwScriptState *state, Tcl_Obj *name)
{
    const char *ns = Tcl_GetCurrentNamespace(state->interp)->fullName;
    EtwHookSyncName(state, Tcl_GetString(name), ns);
}

/* interp alias PATH NAME ?TARGET ...?, interp expose PATH HIDDEN ?NAME?, interp create */
static void interpDone(EtwScriptState *state, int objc, Tcl_Obj *const objv[], Tcl_Obj *result)
{
    const char *sub = objc > 1 ? Tcl_GetString(objv[1]) : "";
    if (strcmp(sub, "create") == 0) {
        EtwHookSyncName(state, Tcl_GetString(result), "::");
    } else if ((strcmp(sub, "alias") == 0 || strcmp(sub, "expose") == 0) && objc > 3) {
        Tcl_Interp *where = Tcl_GetChild(state->interp, Tcl_GetString(objv[2]));
        EtwScriptState *there = where != NULL ? EtwScriptStateOf(where) : NULL;
        Tcl_Obj *name = sub[0] == 'e' && objc > 4 ? objv[4] : objv[3];
        if (there != NULL) {
            EtwHookSyncName(there, Tcl_GetString(name), "::");
        }
    }
}

void EtwWatchDone(EtwHook *hook, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwScriptState *state = hook->state;
    WatchKind kind = hook->kind == ETW_KIND_OBJECT ? WATCH_RESULT : kindOf(hook->name);
    Tcl_Obj *result;
    Tcl_InterpState saved;
    if (state->interp == NULL || Tcl_InterpDeleted(interp)) {
        return;
    }
    result = Tcl_GetObjResult(interp);
    Tcl_IncrRefCount(result);
    saved = Tcl_SaveInterpState(interp, TCL_OK);
    switch (kind) {
    case WATCH_FIRST:
        if (objc > 1) {
            state->creating = true;
            syncObj(state, objv[1]);
            state->creating = false;
        }
        break;
    case WATCH_SECOND:
        if (objc > 2 && *Tcl_GetString(objv[2]) != '\0') {
            syncObj(state, objv[2]);
        }
        break;
    case WATCH_RESULT:
        if (objc > 1 && *Tcl_GetString(result) != '\0') {
            syncObj(state, result);
        }
        break;
    case WATCH_ALL:
        EtwHookScan(state);
        break;
    case WATCH_INTERP:
        interpDone(state, objc, objv, result);
        break;
    default:
        break;
    }
    Tcl_RestoreInterpState(interp, saved);
    Tcl_DecrRefCount(result);
}
