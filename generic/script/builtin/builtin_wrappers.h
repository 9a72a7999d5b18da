/*
 * script/builtin/builtin_wrappers.h --
 *
 *	Wrappers of Tcl's built-in commands whose effects are events, independent of the patterns: timers and
 *	other callbacks, channels, packages. They are hooked while anything is traced in an interpreter; `interp` while it is sampled, too. The
 *	keywords that sessions enable select the events.
 */
#ifndef ETW_BUILTIN_WRAPPERS_H
#define ETW_BUILTIN_WRAPPERS_H

#include "script/script_int.h"

typedef struct EtwWrapCall {
    const EtwHook *hook;
    Tcl_ObjCmdProc *proc;
    void *clientData;
    Tcl_Interp *interp;
    int objc;
    Tcl_Obj *const *objv;
} EtwWrapCall;

/* Runs the command with these words instead of its own. */
static inline int EtwWrapRun(const EtwWrapCall *use, int objc, Tcl_Obj *const objv[])
{
    return use->proc(use->clientData, use->interp, objc, objv);
}

/* Its name when the hook was made, with leading ::. */
const char *EtwBuiltinName(const EtwBuiltin *builtin);

/*
 * The rule that truncates and masks texts that belong to no pattern's call: of the newest pattern
 * with masks, otherwise of the newest pattern. The state keeps the reference.
 */
const EtwRule *EtwBuiltinRule(const EtwScriptState *state);

/* ---- script_callbacks.c: callbacks of the event loop ------------------------------------------------- */

int EtwWrapAfter(const EtwWrapCall *use);
int EtwWrapFileevent(const EtwWrapCall *use);
int EtwWrapCopy(const EtwWrapCall *use);
/*
 * The words with the script of -server replaced, each with a reference; NULL: unchanged. Free with EtwFree.
 * *originPtr, *scriptPtr: for EtwWriteSchedule.
 */
Tcl_Obj **EtwServerWords(const EtwWrapCall *use, uint64_t *originPtr, Tcl_Obj **scriptPtr);

/* ---- script_blocks.c: enter and leave without a traced command ---------------------------------------- */

/* A running block. Its end frees it. */
typedef struct EtwBlock {
    EtwScriptState *state; /* a reference */
    EtwCall call;
    const char *kind;
    int enter, leave; /* events */
    bool aliased;
    uint64_t origin; /* of a callback: as in its event Schedule; otherwise 0 */
} EtwBlock;

/* Writes the enter event. The leave event is written when the evaluation that follows has ended. queued: ns. */
void EtwBlockBegin(EtwScriptState *state, Tcl_Interp *interp, const EtwBlock *block,
        Tcl_Obj *command, uint64_t queued);
/* A callback of this kind was set. */
void EtwWriteSchedule(EtwScriptState *state, uint64_t origin, const char *kind, Tcl_Obj *script);
int EtwWrapLoop(const EtwWrapCall *use);
int EtwWrapPackage(const EtwWrapCall *use);
/* A command that blocks the thread without a channel or the event loop; an event Wait when it has ended. */
int EtwWrapWait(const EtwWrapCall *use);
int EtwWrapSend(const EtwWrapCall *use); /* thread::send */

/* ---- script_channels.c ------------------------------------------------------------------------------- */

int EtwWrapPuts(const EtwWrapCall *use);
int EtwWrapGets(const EtwWrapCall *use);
int EtwWrapRead(const EtwWrapCall *use);
int EtwWrapClose(const EtwWrapCall *use);
int EtwWrapOpen(const EtwWrapCall *use); /* open, exec */
int EtwWrapSocket(const EtwWrapCall *use);
int EtwWrapFlush(const EtwWrapCall *use);
int EtwWrapBlockingCopy(const EtwWrapCall *use); /* fcopy without -command */

/* ---- script_sample.c --------------------------------------------------------------------------------- */

int EtwWrapInterp(const EtwWrapCall *use);

#endif
