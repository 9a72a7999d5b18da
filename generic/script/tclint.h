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

#endif
#endif
