/*
 * tcl/command/session_cmd_int.h --
 *
 *	What the files about sessions share: a session's state as Tcl sees it.
 */
#ifndef ETW_SESSION_CMD_INT_H
#define ETW_SESSION_CMD_INT_H

#include "tcl/core/tclglue.h"

/* The dict that etw query returns. */
Tcl_Obj *EtwSessionDict(const EtwSessionInfo *info);

#endif
