/*
 * tcl/session.h --
 *
 *	What the files about sessions share: a session's state as Tcl sees it.
 */
#ifndef ETW_TCL_SESSION_H
#define ETW_TCL_SESSION_H

#include "tcl/tclglue.h"

/* The dict that etw query returns. */
Tcl_Obj *EtwSessionDict(const EtwSessionInfo *info);

#endif
