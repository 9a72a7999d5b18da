/*
 * tcl/provider/tcl_enable_callback.c --
 *
 *	-enablecallback of etw provider create: a Tcl command that is called when sessions enable or
 *	disable the provider, or request its state. The engine calls back on any thread; the command
 *	runs on the interpreter's thread, from its event loop.
 *
 *	Ownership: the provider owns the callback until it is unregistered. After that, neither
 *	calls of the engine nor notices in the event queue refer to it.
 */
#include "tcl/provider/tcl_provider.h"

struct EtwTclCallback {
    Tcl_ThreadId owner;
    Tcl_Interp *interp;
    Tcl_Obj *command; /* used only by the owner's thread */
    Etw_Provider *handle;
};

typedef struct Notice {
    Tcl_Event header; /* must be first; Tcl frees it */
    EtwTclCallback *callback;
    int control;
    uint8_t level;
    uint64_t any, all;
} Notice;

static int onNotice(Tcl_Event *event, int flags)
{
    static const char *const controls[] = {"disable", "enable", "capture"};
    const Notice *notice = (const Notice *)event;
    Tcl_Interp *interp = notice->callback->interp;

    if (!(flags & TCL_FILE_EVENTS)) {
        return 0; /* the loop serves only timers or idle callbacks */
    }
    Tcl_Obj *args[] = {Tcl_NewStringObj(controls[notice->control], -1),
            Tcl_NewIntObj(notice->level), EtwUint64Obj(notice->any), EtwUint64Obj(notice->all)};
    Tcl_Preserve(interp);
    int result = EtwCallPrefix(interp, notice->callback->command, 4, args);
    if (result != TCL_OK && !Tcl_InterpDeleted(interp)) {
        Tcl_AddErrorInfo(interp, "\n    (\"-enablecallback\" of a provider)");
        Tcl_BackgroundException(interp, result);
    }
    Tcl_Release(interp);
    return 1;
}

/* Called on any thread. */
static void onEnable(void *ctx, int control, uint8_t level, uint64_t any, uint64_t all)
{
    EtwTclCallback *callback = ctx;
    Notice *notice = (Notice *)Tcl_Alloc(sizeof *notice);

    *notice = (Notice){.header = {.proc = onNotice},
            .callback = callback,
            .control = control,
            .level = level,
            .any = any,
            .all = all};
    Tcl_ThreadQueueEvent(callback->owner, &notice->header, TCL_QUEUE_TAIL);
    Tcl_ThreadAlert(callback->owner);
}

EtwTclCallback *EtwCallbackNew(Tcl_Interp *interp, Etw_Provider *handle, Tcl_Obj *command)
{
    EtwTclCallback *callback = EtwAlloc(sizeof *callback);

    callback->owner = Tcl_GetCurrentThread();
    callback->interp = interp;
    callback->command = command;
    callback->handle = handle;
    Tcl_IncrRefCount(command);
    Etw_EnableCallbackAdd(handle, onEnable, callback);
    return callback;
}

static int isNoticeOf(Tcl_Event *event, void *callback)
{
    /*
     * The proc of a notice that is being served is NULL; such a notice no longer uses its callback.
     */
    return event->proc == onNotice && ((Notice *)event)->callback == callback;
}

void EtwCallbackFree(EtwTclCallback *callback)
{
    if (callback == NULL) {
        return;
    }
    Etw_EnableCallbackRemove(callback->handle, onEnable, callback);
    Tcl_DeleteEvents(isNoticeOf, callback);
    Tcl_DecrRefCount(callback->command);
    EtwFree(callback);
}
