/*
 * tcl/init.c --
 *
 *	Etw_Init, Etw_SafeInit and their reversal: the package's commands, its ensemble, and the
 *	context of each interpreter. The commands are implemented in the other files of generic/tcl.
 */
#if !defined(_WIN32) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* dladdr, RTLD_NODELETE */
#endif
#include "tcl/provider/tcl_provider.h"
#include "tcl/consume/consumer.h"
#include "tcl/consume/read_command.h"
#include "tcl/core/c_stubs.h"
#include "base/os.h"
#include <stdio.h>

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

#define READ_COMMAND(Name, name, ...) {name, Etw##Name##Cmd, Etw##Name##NreCmd, false},
static const EtwCommand commands[] = {
        ETW_READ_COMMANDS(READ_COMMAND){"activity", EtwActivityCmd, NULL, false},
        {"consumer", EtwConsumerCmd, NULL, false},
        {"diff", EtwDiffCmd, NULL, false},
        {"disable", EtwDisableCmd, NULL, false},
        {"enable", EtwEnableCmd, NULL, false},
        {"enabled", EtwEnabledCmd, NULL, true},
        {"flush", EtwFlushCmd, NULL, false},
        {"mark", EtwMarkCmd, NULL, false},
        {"pkgconfig", EtwPkgconfigCmd, NULL, false},
        {"provider", EtwProviderCmd, NULL, false},
        {"providers", EtwProvidersCmd, NULL, false},
        {"query", EtwQueryCmd, NULL, false},
        {"recover", EtwRecoverCmd, NULL, false},
        {"schema", EtwSchemaCmd, NULL, false},
        {"script", NULL, NULL, false},
        {"sessions", EtwSessionsCmd, NULL, false},
        {"snapshot", EtwSnapshotCmd, NULL, false},
        {"start", EtwStartCmd, NULL, false},
        {"stop", EtwStopCmd, NULL, false},
        {"test", EtwTestCmd, NULL, false},
        {"timeline", EtwTimelineCmd, NULL, false},
        {"update", EtwUpdateCmd, NULL, false},
        {"where", EtwWhereCmd, NULL, false},
        {"write", EtwWriteCmd, NULL, true},
        {NULL, NULL, NULL, false},
};

/* ---- The context ----------------------------------------------------------------------------- */

static void freeBlock(void *block)
{
    EtwInterp *ctx = block;

    EtwEventKeysFree(ctx);
    EtwFree(ctx);
}

/*
 * The interpreter is being deleted or the package unloaded, possibly by a script that one of its
 * commands calls. Open queries keep the memory block.
 */
static void freeContext(void *clientData, Tcl_Interp *interp)
{
    EtwInterp *ctx = clientData;
    (void)interp;

    EtwConsumersFree(ctx);
    EtwTimelinesFree(ctx);
    EtwSessionRatesFree(ctx->rates);
    EtwWriteCacheFree(ctx->writeCache);
    ctx->writeCache = NULL;
    EtwProvidersFree(ctx);
    Tcl_EventuallyFree(ctx, (Tcl_FreeProc *)freeBlock);
}

EtwInterp *EtwInterpOf(Tcl_Interp *interp)
{
    return Tcl_GetAssocData(interp, "etw", NULL);
}

static EtwInterp *makeContext(Tcl_Interp *interp)
{
    EtwInterp *ctx = EtwInterpOf(interp);

    if (ctx == NULL) {
        ctx = EtwAlloc(sizeof *ctx);
        ctx->interp = interp;
        EtwEventKeysInit(ctx);
        Tcl_SetAssocData(interp, "etw", freeContext, ctx);
    }
    return ctx;
}

/* ---- The process ----------------------------------------------------------------------------- */

static void onExit(void *clientData)
{
    (void)clientData;
    EtwSessionStopAll();
}

/*
 * This library's threads, thread-exit destructors and signal handlers can exist longer than the
 * interpreter's commands: keep the binary loaded after `unload`.
 */
static void pinLibrary(void)
{
#ifdef _WIN32
    HMODULE self;
    GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
            (LPCWSTR)(void *)pinLibrary, &self);
#else
    Dl_info info;
    if (dladdr((void *)(intptr_t)pinLibrary, &info) && info.dli_fname != NULL) {
        dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    }
#endif
}

/* Once per process, in the first interpreter of any thread. */
static void initProcess(void)
{
    static bool done;
    TCL_DECLARE_MUTEX(mutex)
    int major, minor, patch;
    char version[32];

    Tcl_MutexLock(&mutex);
    if (!done) {
        done = true;
        OsInit();
        Tcl_GetVersion(&major, &minor, &patch, NULL);
        snprintf(version, sizeof version, "%d.%d.%d", major, minor, patch);
        EtwSetTclVersion(version);
        pinLibrary();
        Tcl_CreateExitHandler(onExit, NULL);
    }
    Tcl_MutexUnlock(&mutex);
}

/* ---- Commands -------------------------------------------------------------------------------- */

/*
 * The flag of TclCompileEnsemble, which Tcl's own ensembles have: `etw write` in a proc becomes a
 * direct call. The flag has no public name, but its bit is the same in 8.6 and 9.0; a Tcl without
 * the flag would ignore it.
 */
enum { ENSEMBLE_COMPILE_BIT = 4 };

static int initInterp(Tcl_Interp *interp, bool safe)
{
    EtwInterp *ctx = makeContext(interp);
    int result = EtwMakeEnsemble(interp, "::etw", commands, safe, ctx, ENSEMBLE_COMPILE_BIT);

    if (result == TCL_OK && !safe) {
        result = EtwScriptInit(interp);
        EtwChildInit(interp);
        EtwAttachInit(interp);
        EtwVisibleInit(interp);
        EtwParseInit(interp);
        Tcl_CreateObjCommand(interp, "::etw::lib::commands", EtwReadCommandsCmd, NULL, NULL);
        Tcl_CreateObjCommand(interp, "::etw::lib::counts", EtwCountsCmd, EtwInterpOf(interp), NULL);
        Tcl_CreateObjCommand(interp, "::etw::lib::normalized", EtwNormalizedCmd, NULL, NULL);
        Tcl_CreateObjCommand(interp, "::etw::lib::formats", EtwFormatsCmd, NULL, NULL);
        Tcl_CreateObjCommand(interp, "::etw::lib::losses", EtwLossesCmd, NULL, NULL);
    }
    if (result == TCL_OK) {
        result = Tcl_PkgProvideEx(interp, "etw", PACKAGE_VERSION, EtwStubsTable());
    }
    return result;
}

int EtwInitChild(Tcl_Interp *interp)
{
    return initInterp(interp, Tcl_IsSafe(interp) != 0);
}

/* ---- Entry points called by Tcl -------------------------------------------------------------- */

DLLEXPORT int Etw_Init(Tcl_Interp *interp)
{
    if (Tcl_InitStubs(interp, "8.6-", 0) == NULL) {
        return TCL_ERROR;
    }
    initProcess();
    return initInterp(interp, false);
}

/*
 * A safe interpreter may write events of providers that its parent has granted, and query whether
 * they are enabled.
 */
DLLEXPORT int Etw_SafeInit(Tcl_Interp *interp)
{
    if (Tcl_InitStubs(interp, "8.6-", 0) == NULL) {
        return TCL_ERROR;
    }
    initProcess();
    return initInterp(interp, true);
}

/* Removes all that Etw_Init added. Sessions of the process stop with its last interpreter. */
DLLEXPORT int Etw_Unload(Tcl_Interp *interp, int flags)
{
    Tcl_Namespace *ns = Tcl_FindNamespace(interp, "::etw", NULL, 0);

    Tcl_DeleteCommand(interp, "::etw");
    if (ns != NULL) {
        Tcl_DeleteNamespace(ns);
    }
    Tcl_DeleteAssocData(interp, "etw");
    if (flags & TCL_UNLOAD_DETACH_FROM_PROCESS) {
        EtwSessionStopAll();
    }
    return TCL_OK;
}

DLLEXPORT int Etw_SafeUnload(Tcl_Interp *interp, int flags)
{
    return Etw_Unload(interp, flags);
}
