/*
 * script/hooks/public_hooks.c --
 *
 *	The hook layer that uses Tcl's public API only: one interpreter trace, whose callback is
 *	called for every command. The callback pushes an NRE callback, which runs when the command
 *	has ended and receives its return code: the leave. Slower than tclint_hooks.c (160 to 400 ns
 *	a command, more in long bodies); used if the self-check of that layer fails.
 *
 *	Limitations: Depth is wrong between a coroutine's yield and the end of its calls; procs with
 *	an empty body are not seen; imports match by exact name only.
 */
#include "script/script_int.h"
#include "base/alloc.h"
#include <string.h>

typedef struct Layer {
    Tcl_HashTable byCommand; /* Tcl_Command -> EtwHook * */
    Tcl_Trace calls;
    Tcl_Trace inlining; /* only keeps Tcl from inlining commands */
    bool wanted;        /* there are patterns or steps */
    bool steps;
    int builtins; /* hooked commands that could be inlined */
    Tcl_CmdInfo level,
            frame; /* the procedures of ::tcl::info::level and frame, looked up at the start */
    Tcl_Obj *levelWords[2], *frameWords[2];
    Tcl_Obj *context; /* name of the previous caller */
} Layer;

/* ---- The trace ------------------------------------------------------------------------------- */

static int leaveCallback(ClientData data[], Tcl_Interp *interp, int result)
{
    EtwCall call = EtwCallUnpack(data + 1);
    (void)interp;
    EtwCallLeave(data[0], &call, result);
    return result;
}

static EtwHook *find(EtwScriptState *state, Tcl_Command token)
{
    Layer *layer = state->layer;
    Tcl_HashEntry *entry = Tcl_FindHashEntry(&layer->byCommand, (char *)token);
    return entry ? Tcl_GetHashValue(entry) : NULL;
}

static int commandTrace(ClientData clientData, Tcl_Interp *interp, int level, const char *command,
        Tcl_Command token, int objc, Tcl_Obj *const objv[])
{
    EtwScriptState *state = clientData;
    EtwHook *hook = find(state, token);
    EtwCall call;
    int trace;
    (void)level;
    (void)command;
    if (hook == NULL) {
        EtwHookSync(state, token);
        hook = find(state, token);
    }
    trace = hook != NULL ? EtwHookWants(hook) : TRACE_NONE;
    if (trace != TRACE_NONE && EtwCallEnter(hook, objc, objv, trace, &call)) {
        ClientData words[3];
        EtwCallPack(&call, words);
        Tcl_NRAddCallback(interp, leaveCallback, hook, words[0], words[1], words[2]);
    }
    return TCL_OK;
}

static int inliningTrace(ClientData clientData, Tcl_Interp *interp, int level, const char *command,
        Tcl_Command token, int objc, Tcl_Obj *const objv[])
{
    (void)clientData, (void)interp, (void)level, (void)command, (void)token, (void)objc, (void)objv;
    return TCL_OK;
}

/*
 * A trace's flags are fixed at its creation. Because Tcl crashes if a trace is deleted during its own callback while a
 * script has step traces, and the callback finds commands that must not be inlined, a second trace has the flag for that.
 */
static void updateTraces(EtwScriptState *state)
{
    Layer *layer = state->layer;
    bool forbids = layer->wanted && (layer->steps || layer->builtins > 0);
    if (layer->wanted && layer->calls == NULL) {
        layer->calls = Tcl_CreateObjTrace(
                state->interp, 0, TCL_ALLOW_INLINE_COMPILATION, commandTrace, state, NULL);
    } else if (!layer->wanted && layer->calls != NULL) {
        Tcl_DeleteTrace(state->interp, layer->calls);
        layer->calls = NULL;
    }
    if (forbids && layer->inlining == NULL) {
        layer->inlining = Tcl_CreateObjTrace(state->interp, 1, 0, inliningTrace, NULL, NULL);
    } else if (!forbids && layer->inlining != NULL) {
        Tcl_DeleteTrace(state->interp, layer->inlining);
        layer->inlining = NULL;
    }
}

static void active(EtwScriptState *state, bool on)
{
    Layer *layer = state->layer;
    layer->wanted = on;
    updateTraces(state);
}

static void stepping(EtwScriptState *state, bool on)
{
    Layer *layer = state->layer;
    layer->steps = on;
    updateTraces(state);
}

/* ---- Hooks: every command that was called has one, so that it is examined once --------------- */

static void countBuiltin(EtwHook *hook, bool is)
{
    Layer *layer = hook->state->layer;
    bool was = hook->swapped;
    hook->swapped = is;
    if (was != is) {
        layer->builtins += is ? 1 : -1;
        if (hook->state->interp != NULL) {
            updateTraces(hook->state);
        }
    }
}

static void update(EtwHook *hook)
{
    countBuiltin(
            hook, hook->kind == ETW_KIND_C && (hook->what & HOOK_CALL) && !EtwIsApply(hook->name));
}

static bool attach(EtwHook *hook)
{
    Layer *layer = hook->state->layer;
    int isNew;
    Tcl_SetHashValue(Tcl_CreateHashEntry(&layer->byCommand, (char *)hook->token, &isNew), hook);
    update(hook);
    return true;
}

static bool detach(EtwHook *hook)
{
    Layer *layer = hook->state->layer;
    Tcl_HashEntry *entry = Tcl_FindHashEntry(&layer->byCommand, (char *)hook->token);
    if (entry != NULL && Tcl_GetHashValue(entry) == hook) {
        Tcl_DeleteHashEntry(entry);
        countBuiltin(hook, false);
    }
    return true;
}

/* ---- The interpreter ------------------------------------------------------------------------- */

static Tcl_Obj *word(const char *text)
{
    Tcl_Obj *obj = Tcl_NewStringObj(text, -1);
    Tcl_IncrRefCount(obj);
    return obj;
}

static void openLayer(EtwScriptState *state)
{
    Layer *layer = EtwAlloc(sizeof *layer);
    Tcl_InitHashTable(&layer->byCommand, TCL_ONE_WORD_KEYS);
    Tcl_GetCommandInfo(state->interp, "::tcl::info::level", &layer->level);
    Tcl_GetCommandInfo(state->interp, "::tcl::info::frame", &layer->frame);
    layer->levelWords[0] = word("level");
    layer->frameWords[0] = word("frame");
    layer->levelWords[1] = word("0");
    layer->frameWords[1] = word("0");
    layer->context = word("");
    state->layer = layer;
}

static void closeLayer(EtwScriptState *state)
{
    Layer *layer = state->layer;
    Tcl_DeleteHashTable(&layer->byCommand);
    for (int i = 0; i < 2; i++) {
        Tcl_DecrRefCount(layer->levelWords[i]);
        Tcl_DecrRefCount(layer->frameWords[i]);
    }
    Tcl_DecrRefCount(layer->context);
    EtwFree(layer);
}

/* This layer does not distinguish coroutines. */
static void *currentEnv(Tcl_Interp *interp)
{
    (void)interp;
    return NULL;
}

/* ---- The caller, queried through `info`; the interpreter's result is saved and restored ------ */

static bool queryInfo(Tcl_Interp *interp, const Tcl_CmdInfo *info, Tcl_Obj *const words[])
{
    return info->objProc != NULL && info->objProc(info->objClientData, interp, 2, words) == TCL_OK;
}

/* Store the full name of the proc in the current frame in layer->context. */
static bool callerName(Tcl_Interp *interp, Layer *layer)
{
    Tcl_Obj *name;
    Tcl_Command token;
    if (!queryInfo(interp, &layer->level, layer->levelWords) ||
            Tcl_ListObjIndex(NULL, Tcl_GetObjResult(interp), 0, &name) != TCL_OK || name == NULL) {
        return false;
    }
    token = Tcl_GetCommandFromObj(interp, name);
    if (token == NULL || EtwKindOf(token) != ETW_KIND_PROC) {
        return false; /* a lambda, a method, namespace eval */
    }
    Tcl_DecrRefCount(layer->context);
    layer->context = word("");
    Tcl_GetCommandFullName(interp, token, layer->context);
    return true;
}

static void callSiteSource(Tcl_Interp *interp, Layer *layer, EtwCallSite *placePtr)
{
    Tcl_Obj *key, *value = NULL;
    int line;
    if (!queryInfo(interp, &layer->frame, layer->frameWords)) {
        return;
    }
    key = word("line");
    if (Tcl_DictObjGet(NULL, Tcl_GetObjResult(interp), key, &value) == TCL_OK && value != NULL &&
            Tcl_GetIntFromObj(NULL, value, &line) == TCL_OK && line > 0) {
        placePtr->line = (uint32_t)line;
    }
    Tcl_DecrRefCount(key);
    key = word("file");
    if (Tcl_DictObjGet(NULL, Tcl_GetObjResult(interp), key, &value) == TCL_OK && value != NULL) {
        Tcl_IncrRefCount(value);
        placePtr->file = value;
    }
    Tcl_DecrRefCount(key);
}

static void place(EtwScriptState *state, EtwCallSite *placePtr, bool source)
{
    Layer *layer = state->layer;
    Tcl_Interp *interp = state->interp;
    Tcl_InterpState saved;
    *placePtr = (EtwCallSite){.pieces = 0};
    if (interp == NULL) {
        return;
    }
    saved = Tcl_SaveInterpState(interp, TCL_OK);
    placePtr->pieces = 1;
    if (callerName(interp, layer)) {
        Tcl_Size size;
        placePtr->context[0].text = Tcl_GetStringFromObj(layer->context, &size);
        placePtr->context[0].size = (size_t)size;
    } else {
        placePtr->context[0].text = Tcl_GetCurrentNamespace(interp)->fullName;
        placePtr->context[0].size = strlen(placePtr->context[0].text);
    }
    if (source) {
        callSiteSource(interp, layer, placePtr);
    }
    Tcl_RestoreInterpState(interp, saved);
}

const EtwHookLayer etwHookPublic = {
        .name = "trace",
        .open = openLayer,
        .close = closeLayer,
        .find = find,
        .attach = attach,
        .update = update,
        .detach = detach,
        .active = active,
        .stepping = stepping,
        .currentEnv = currentEnv,
        .place = place,
};
