/*
 * script/script.h --
 *
 *	The script execution provider, "Tcl-Script": writes events for an interpreter's calls of procs and
 *	commands. The Tcl commands are in tcl/command/script_cmd.c. The hooks are in
 *	script/hooks/tclint_hooks.c, which uses Tcl's private headers; script/hooks/public_hooks.c is the
 *	fallback.
 */
#ifndef ETW_SCRIPT_SCRIPT_H
#define ETW_SCRIPT_SCRIPT_H

#include "etw.h"
#include <tcl.h>

/* The default size of a text field: readable in a line, and cheap to copy. */
enum { ETW_SCRIPT_LENGTH = 200 };

typedef enum EtwSteps { ETW_STEPS_OFF, ETW_STEPS_LINE, ETW_STEPS_FULL } EtwSteps;

typedef struct EtwScriptOptions {
    EtwSteps steps;
    int args;        /* copy the words of a call and its result */
    int maxLength;   /* bytes of a text field; truncation is marked */
    int depth;       /* deepest call level traced, 0: no limit */
    int source;      /* file and line through info frame */
    int builtins;    /* wildcards match C commands, too */
    Tcl_Obj *redact; /* list of glob patterns or NULL; words that match are written as *** */
} EtwScriptOptions;

/*
 * Add patterns to an interpreter's traces; target may be a child of interp. An existing pattern gets the new
 * options. If several patterns match a command, an exact name takes precedence, then the newest pattern. This and
 * the following functions return TCL_OK, or TCL_ERROR with a message and {ETW CLASS DETAIL ...} in `interp`.
 */
int EtwScriptAdd(Tcl_Interp *interp, Tcl_Interp *target, int count, Tcl_Obj *const patterns[],
        const EtwScriptOptions *options);
int EtwScriptRemove(Tcl_Interp *interp, Tcl_Interp *target, int count,
        Tcl_Obj *const patterns[]); /* count 0: all */
/* List of dicts: pattern, its options, `commands` hooked now, `missed`: those that cannot be hooked. */
Tcl_Obj *EtwScriptList(Tcl_Interp *target);
/*
 * Trace one body as a call named `name`, evaluated in the current frame: to be called by an NRE
 * command as the last thing it does.
 */
int EtwScriptRun(
        Tcl_Interp *interp, Tcl_Obj *body, const EtwScriptOptions *options, const char *name);
/* add 0: remove the trace that was added with the same ops. A variable of the current frame. */
int EtwScriptVariable(
        Tcl_Interp *interp, Tcl_Obj *name, int ops /* TCL_TRACE_READS|WRITES|UNSETS */, int add);
int EtwScriptCommand(Tcl_Interp *interp, Tcl_Obj *name,
        int ops /* TCL_TRACE_RENAME|TCL_TRACE_DELETE */, int add);

/*
 * Sample the target's call stack every `microseconds`, in events of keyword `sample`; 0 stops sampling.
 * Another call changes the interval. counters: a list of names of counters (base/os.h); each sample has
 * a dict of their increases. NULL: none.
 */
int EtwScriptSample(
        Tcl_Interp *interp, Tcl_Interp *target, unsigned microseconds, Tcl_Obj *counters);

/*
 * Hide environment variables from the interpreter's ::env, but not from its children, where Tcl's private headers are
 * available. names: a dict, name -> list of the value that is shown, empty: none. For the first time in an interpreter only.
 */
int EtwScriptHideEnv(Tcl_Interp *interp, Tcl_Obj *names);
Tcl_Obj *EtwScriptHiddenEnv(Tcl_Interp *interp); /* a dict: name -> the hidden value */

/*
 * A script for the interpreters that the process creates from now on, before their init.tcl; NULL: none. False: this
 * system or this Tcl cannot.
 */
bool EtwScriptNewInterps(const char *script);

/*
 * Count how often the target executes each command of its source files, in events of keyword `cover`: one when a command
 * is executed for the first time, one with the rest when the interpreter, its thread or the process ends, or when
 * counting ends (on 0).
 */
int EtwScriptCover(Tcl_Interp *interp, Tcl_Interp *target, int on);
void EtwScriptCoverFlush(
        Tcl_Interp *target); /* write now what was counted since the last event of each command */

#endif
