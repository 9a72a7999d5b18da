/*
 * script/builtin_wrappers.h --
 *
 *	Commands of Tcl's own that are shown for what they do, whatever the patterns are: the use of
 *	one, and who shows it. They are hooked while anything is traced in an interpreter; what is
 *	written depends on the keywords that sessions ask for.
 */
#ifndef ETW_BUILTIN_WRAPPERS_H
#define ETW_BUILTIN_WRAPPERS_H

#include "script/script_int.h"

typedef struct EtwUse {
    const EtwHook *hook;
    Tcl_ObjCmdProc *proc;
    void *clientData;
    Tcl_Interp *interp;
    int objc;
    Tcl_Obj *const *objv;
} EtwUse;

/* Runs the command, with these words in place of its own. */
static inline int EtwUseRun(const EtwUse *use, int objc, Tcl_Obj *const objv[])
{
    return use->proc(use->clientData, use->interp, objc, objv);
}

/*
 * What texts of no pattern's call are cut and masked by: the options of the newest pattern that masks,
 * else of the newest. A reference of the state's.
 */
const EtwRule *EtwBuiltinRule(const EtwScriptState *state);

/* ---- script_callbacks.c: what the event loop will run ------------------------------------------------ */

int EtwUseAfter(const EtwUse *use);
int EtwUseFileevent(const EtwUse *use);
int EtwUseCopy(const EtwUse *use);
/* The words with the script of -server replaced, each a reference; NULL: as they are. EtwFree. */
Tcl_Obj **EtwServerWords(const EtwUse *use);

/* ---- blocking.c: what is entered and left without being a traced call ---------------------------- */

/* One that runs; freed by its end. */
typedef struct EtwBlock {
    EtwScriptState *state; /* a reference */
    EtwCall call;
    const char *kind;
    int enter, leave; /* events */
    bool disguised;
} EtwBlock;

/* Writes the enter; its leave is written when what is then evaluated has ended. queued: ns. */
void EtwBlockBegin(EtwScriptState *state, Tcl_Interp *interp, const EtwBlock *block,
        Tcl_Obj *command, uint64_t queued);
int EtwUseLoop(const EtwUse *use);
int EtwUsePackage(const EtwUse *use);

/* ---- script_channels.c ------------------------------------------------------------------------------- */

int EtwUsePuts(const EtwUse *use);
int EtwUseGets(const EtwUse *use);
int EtwUseRead(const EtwUse *use);
int EtwUseClose(const EtwUse *use);
int EtwUseOpen(const EtwUse *use); /* open, exec */
int EtwUseSocket(const EtwUse *use);

#endif
