/*
 * tcl/command/child_cmd.c --
 *
 *	::etw::lib::child, for the command-line tool only: a program that is started but held until
 *	it is traced, and the terminal. library/cli uses it; base/child.h implements it.
 */
#include "tcl/core/tclglue.h"
#include "base/child.h"
#include "base/os.h"
#include "engine/kernel_events.h"

/* Owned by the command, freed with it. */
typedef struct ChildState {
    OsChild *child; /* NULL: none was started, or its end was reported */
} ChildState;

static int needChild(Tcl_Interp *interp, const ChildState *state)
{
    return state->child != NULL
                   ? TCL_OK
                   : EtwTclFail(interp, ETW_E_STATE, "CHILD", NULL, "no program was started");
}

/* ---- The program --------------------------------------------------------------------------------- */

static void nativeWord(Tcl_Obj *word, Tcl_DString *dsPtr)
{
#ifdef _WIN32
    Tcl_DStringInit(dsPtr);
    Tcl_DStringAppend(dsPtr, Tcl_GetString(word), -1);
#else
    Tcl_UtfToExternalDString(NULL, Tcl_GetString(word), -1, dsPtr);
#endif
}

/* child start PROGRAM ?ARG ...?: returns its process id. */
static int startCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    ChildState *state = clientData;
    int count = objc - 2;
    Tcl_DString *words;
    char **argv;
    EtwError err;
    EtwStatus status;

    if (state->child != NULL) {
        return EtwTclFail(interp, ETW_E_STATE, "CHILD", NULL, "a program was started already");
    }
    words = EtwAlloc((size_t)count * sizeof *words);
    argv = EtwAlloc(((size_t)count + 1) * sizeof *argv);
    for (int i = 0; i < count; i++) {
        nativeWord(objv[i + 2], &words[i]);
        argv[i] = Tcl_DStringValue(&words[i]);
    }
    status = OsChildStart(argv, &state->child, &err);
    for (int i = 0; i < count; i++) {
        Tcl_DStringFree(&words[i]);
    }
    EtwFree(words);
    EtwFree(argv);
    if (status != ETW_OK) {
        return EtwTclError(interp, &err);
    }
    Tcl_SetObjResult(interp, Tcl_NewWideIntObj(OsChildPid(state->child)));
    return TCL_OK;
}

static int goCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    ChildState *state = clientData;
    EtwError err;
    (void)objc;
    (void)objv;

    if (needChild(interp, state) != TCL_OK) {
        return TCL_ERROR;
    }
    return OsChildResume(state->child, &err) == ETW_OK ? TCL_OK : EtwTclError(interp, &err);
}

/* child wait MS: returns {} while it runs, then {exit CODE} or {killed SIGNAL} once. */
static int waitCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    ChildState *state = clientData;
    OsChildEnd end;
    int ms;
    (void)objc;

    if (needChild(interp, state) != TCL_OK || Tcl_GetIntFromObj(interp, objv[2], &ms) != TCL_OK) {
        return TCL_ERROR;
    }
    if (OsChildWait(state->child, ms, &end)) {
        Tcl_SetObjResult(interp, Tcl_ObjPrintf("%s %d", end.killed ? "killed" : "exit", end.code));
        OsChildFree(state->child);
        state->child = NULL;
    }
    return TCL_OK;
}

static int interruptCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    ChildState *state = clientData;
    (void)objc;
    (void)objv;

    if (needChild(interp, state) != TCL_OK) {
        return TCL_ERROR;
    }
    OsChildInterrupt(state->child);
    return TCL_OK;
}

/* child free: a program that was not resumed is killed, a running one continues. */
static int freeCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    ChildState *state = clientData;
    (void)interp;
    (void)objc;
    (void)objv;

    if (state->child != NULL) {
        OsChildFree(state->child);
        state->child = NULL;
    }
    return TCL_OK;
}

/* ---- The terminal -------------------------------------------------------------------------------- */

/* child catch: from now on only count Ctrl-C. */
static int catchCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    (void)clientData;
    (void)interp;
    (void)objc;
    (void)objv;

    OsInterruptsCatch();
    return TCL_OK;
}

/* child interrupts: returns {ALL DIRECT}, the numbers counted so far. */
static int interruptsCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    int direct, all = OsInterrupts(&direct);
    (void)clientData;
    (void)objc;
    (void)objv;

    Tcl_SetObjResult(interp, Tcl_ObjPrintf("%d %d", all, direct));
    return TCL_OK;
}

/* The handle of the channel named by the word; *isFilePtr: it has one. */
static int getHandle(Tcl_Interp *interp, Tcl_Obj *word, intptr_t *handlePtr, bool *isFilePtr)
{
    Tcl_Channel channel = Tcl_GetChannel(interp, Tcl_GetString(word), NULL);
    void *handle = NULL;

    if (channel == NULL) {
        return TCL_ERROR;
    }
    *isFilePtr = Tcl_GetChannelHandle(channel, TCL_WRITABLE, &handle) == TCL_OK;
    *handlePtr = (intptr_t)handle;
    return TCL_OK;
}

/* child columns CHANNEL: width of the terminal; 0: unknown, -1: not a terminal. */
static int columnsCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    intptr_t handle;
    bool isFile;
    (void)clientData;
    (void)objc;

    if (getHandle(interp, objv[2], &handle, &isFile) != TCL_OK) {
        return TCL_ERROR;
    }
    Tcl_SetObjResult(interp, Tcl_NewIntObj(isFile ? OsTerminalColumns(handle) : -1));
    return TCL_OK;
}

/* child escapes CHANNEL: true if it is a terminal that understands escape sequences. */
static int escapesCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    intptr_t handle;
    bool isFile;
    (void)clientData;
    (void)objc;

    if (getHandle(interp, objv[2], &handle, &isFile) != TCL_OK) {
        return TCL_ERROR;
    }
    Tcl_SetObjResult(interp, Tcl_NewBooleanObj(isFile && OsTerminalEscapes(handle)));
    return TCL_OK;
}

/* child directory: the user's runtime directory. */
static int directoryCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    char path[1024];
    EtwError err;
    (void)clientData;
    (void)objc;
    (void)objv;

    if (OsRuntimeDir(path, sizeof path, &err) != ETW_OK) {
        return EtwTclError(interp, &err);
    }
    Tcl_SetObjResult(interp, Tcl_NewStringObj(path, -1));
    return TCL_OK;
}

/* child hide: kernel events of this process are not recorded, because it records others. */
static int hideCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    (void)clientData;
    (void)interp;
    (void)objc;
    (void)objv;

    EtwKernelIgnoreProcess();
    return TCL_OK;
}

/* ---- The command --------------------------------------------------------------------------------- */

static int childCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    static const EtwSubCommand subCommands[] = {
            {"catch", catchCmd, "", 0, 0},
            {"columns", columnsCmd, "channel", 1, 1},
            {"directory", directoryCmd, "", 0, 0},
            {"escapes", escapesCmd, "channel", 1, 1},
            {"free", freeCmd, "", 0, 0},
            {"go", goCmd, "", 0, 0},
            {"hide", hideCmd, "", 0, 0},
            {"interrupt", interruptCmd, "", 0, 0},
            {"interrupts", interruptsCmd, "", 0, 0},
            {"start", startCmd, "program ?arg ...?", 1, -1},
            {"wait", waitCmd, "ms", 1, 1},
            {NULL, NULL, NULL, 0, 0},
    };
    return EtwDispatch(subCommands, clientData, interp, objc, objv);
}

static void deleteChild(void *clientData)
{
    ChildState *state = clientData;

    if (state->child != NULL) {
        OsChildFree(state->child);
    }
    EtwFree(state);
}

void EtwChildInit(Tcl_Interp *interp)
{
    Tcl_CreateObjCommand(
            interp, "::etw::lib::child", childCmd, EtwAlloc(sizeof(ChildState)), deleteChild);
}
