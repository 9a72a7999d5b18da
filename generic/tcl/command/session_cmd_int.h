/*
 * tcl/command/session_cmd_int.h --
 *
 *	Shared by the session commands: a session's state as a Tcl value.
 */
#ifndef ETW_SESSION_CMD_INT_H
#define ETW_SESSION_CMD_INT_H

#include "tcl/core/tclglue.h"

/* The dict that etw query returns. */
Tcl_Obj *EtwSessionDict(const EtwSessionInfo *info);

#endif
