/*
 * script/tclint.h --
 *
 *	Tcl's private headers, for the files of the fast hook layer (hook_tclint.c, tclint_*.c) and
 *	nobody else. ETW_TCLINT is defined where they are there and of a version that those files
 *	were written for; elsewhere they compile to nothing.
 */
#ifndef ETW_SCRIPT_TCLINT_H
#define ETW_SCRIPT_TCLINT_H

#if defined(ETW_HAVE_TCLINT) && !defined(ETW_NO_TCLINT)
#include <tclInt.h>
#include <tclOOInt.h>
/* Tcl's configuration is not ours. */
#undef PACKAGE_NAME
#undef PACKAGE_TARNAME
#undef PACKAGE_VERSION
#undef PACKAGE_STRING
#if TCL_MAJOR_VERSION == 8 && TCL_MINOR_VERSION == 6
#define ETW_TCLINT 1
#endif
#endif
#include "script/trace.h"

#ifdef ETW_TCLINT

/* ---- tclint_script.c: see EtwHookLayer in trace.h -------------------------------------------- */

Tcl_Obj *EtwTclintDisguise(Tcl_Obj *look, Tcl_Size objc, Tcl_Obj *const objv[]);
void EtwTclintDisguiseRuns(Tcl_Interp *interp, Tcl_Obj *script);
void EtwTclintDisguiseFailed(Tcl_Interp *interp);
bool EtwTclintCheckScript(Tcl_Interp *interp);

/* ---- hook_tclint.c --------------------------------------------------------------------------- */

/* An NRE callback: the hook, then a call's id, ticks and packed. */
int EtwTclintLeave(ClientData data[], Tcl_Interp *interp, int result);

/* ---- tclint_stack.c -------------------------------------------------------------------------- */

void EtwTclintStack(EtwScriptState *state, char *text, size_t room, int *depthPtr);

/* ---- tclint_oo.c ----------------------------------------------------------------------------- */

/* An object is about to run: hook the methods that it could run and that are not yet. */
void EtwTclintMethods(EtwHook *objectHook, void *object);
/* The hook of a method's frame; NULL: it has none. */
const EtwHook *EtwTclintMethodOf(const CallFrame *frame);
bool EtwTclintCheckMethods(Tcl_Interp *interp);

#endif
#endif
