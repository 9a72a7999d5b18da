/*
 * script/command_hooks.c --
 *
 *	The records of hooked commands: which commands are hooked, why, under which name, and until
 *	when. A command trace in C, which scripts cannot see, reports a command's rename and
 *	deletion. The hook layer intercepts the calls.
 *
 *	Commands that `proc`, `rename`, `interp`, `namespace`, `load`, `coroutine` and TclOO classes
 *	create are hooked at once (command_creation.c). Commands that other C code creates are found
 *	at the next outermost traced call, at most ten times a second, or by `etw script list`.
 *	Methods are not commands: tclint_oo.c hooks them before their object runs.
 */
#include "script/script_text.h"
#include "base/alloc.h"
#include <string.h>

/* ---- Records --------------------------------------------------------------------------------- */

void EtwHookFree(EtwHook *hook)
{
    EtwRuleDrop(hook->rule);
    EtwFree(hook->name);
    EtwFree(hook->word);
    EtwScriptStateDrop(hook->state);
    EtwFree(hook);
}

static void setName(EtwHook *hook, const char *name)
{
    size_t size = strlen(name);
    int flags = 0;
    hook->builtin = hook->builtin ? hook->builtin : EtwBuiltinOf(name); /* kept at a rename */
    EtwFree(hook->name);
    hook->name = EtwAlloc(size + 1);
    hook->nameSize = EtwScriptTextConvert(hook->name, name, size);
    hook->name[hook->nameSize] = '\0';
    EtwFree(hook->word);
    size = (size_t)Tcl_ScanElement(name + 2, &flags);
    hook->word = EtwAlloc(size + 1);
    Tcl_ConvertElement(name + 2, hook->word, flags);
    hook->wordSize = EtwScriptTextConvert(hook->word, hook->word, strlen(hook->word));
}

static void setRule(EtwHook *hook, EtwRule *rule)
{
    if (rule != NULL && rule != hook->rule) {
        EtwRuleKeep(rule);
        EtwRuleDrop(hook->rule);
        hook->rule = rule;
    }
}

static void linkHook(EtwHook *hook)
{
    EtwScriptState *state = hook->state;
    hook->next = state->hooks;
    if (state->hooks != NULL) {
        state->hooks->previous = hook;
    }
    state->hooks = hook;
    hook->listed = true;
}

/* Also drops the list's reference. */
static void unlinkHook(EtwHook *hook)
{
    if (!hook->listed) {
        return;
    }
    if (hook->previous != NULL) {
        hook->previous->next = hook->next;
    } else {
        hook->state->hooks = hook->next;
    }
    if (hook->next != NULL) {
        hook->next->previous = hook->previous;
    }
    hook->listed = false;
    EtwHookUnref(hook);
}

/* ---- Rename and deletion of commands --------------------------------------------------------- */

/* False if a trace of a rename has deleted the command: Tcl still calls the other traces of the rename. */
static bool isThere(const EtwScriptState *state, const EtwHook *hook)
{
    const EtwHook *h = state != NULL ? state->hooks : NULL;
    while (h != NULL && h != hook) {
        h = h->next;
    }
    return h != NULL;
}

static void commandChanged(
        void *clientData, Tcl_Interp *interp, const char *oldName, const char *newName, int flags)
{
    EtwHook *hook = clientData;
    if (!(flags & TCL_TRACE_DELETE) && !isThere(EtwScriptStateOf(interp), hook)) {
        return;
    }
    if ((hook->what & HOOK_CALL) && EtwScriptOn(ETW_KEYWORD_COMMAND) &&
            !Tcl_InterpDeleted(interp)) {
        EtwWriteCommand(hook->state, flags, oldName, newName);
    }
    if (flags & TCL_TRACE_DELETE) {
        etwHookLayer->detach(hook);
        hook->token = NULL;
        unlinkHook(hook);
    } else if (newName != NULL) {
        setName(hook, newName);
        EtwHookSync(hook->state, hook->token);
    }
}

enum { TRACE_FLAGS = TCL_TRACE_RENAME | TCL_TRACE_DELETE };

static bool isTraced(Tcl_Interp *interp, const char *name, const EtwHook *hook)
{
    void *found = NULL;
    while ((found = Tcl_CommandTraceInfo(interp, name, 0, commandChanged, found)) != NULL) {
        if (found == hook) {
            return true;
        }
    }
    return false;
}

/* Tcl_TraceCommand takes a name. False: the name does not refer to the command. */
static bool traceCommand(EtwHook *hook, const char *name)
{
    Tcl_Interp *interp = hook->state->interp;
    return Tcl_FindCommand(interp, name, NULL, TCL_GLOBAL_ONLY) == hook->token &&
           Tcl_TraceCommand(interp, name, TRACE_FLAGS, commandChanged, hook) == TCL_OK;
}

/* False: the command is hidden and keeps its trace, so the hook must be kept. */
static bool untraceCommand(EtwHook *hook)
{
    Tcl_Interp *interp = hook->state->interp;
    Tcl_Obj *name = Tcl_NewObj();
    bool gone = false;
    Tcl_IncrRefCount(name);
    Tcl_GetCommandFullName(interp, hook->token, name);
    if (Tcl_FindCommand(interp, Tcl_GetString(name), NULL, TCL_GLOBAL_ONLY) == hook->token) {
        Tcl_UntraceCommand(interp, Tcl_GetString(name), TRACE_FLAGS, commandChanged, hook);
        gone = !isTraced(interp, Tcl_GetString(name), hook);
    }
    Tcl_DecrRefCount(name);
    return gone;
}

/* ---- Which commands are hooked --------------------------------------------------------------- */

static bool wildcardsMatch(EtwScriptState *state, Tcl_Command token, EtwCommandKind kind)
{
    if (kind != ETW_KIND_IMPORT) {
        return kind != ETW_KIND_C;
    }
    /* An import calls its original: one pair of events is enough. */
    Tcl_Command original = etwHookLayer->scans ? etwHookLayer->original(token) : NULL;
    EtwHook *hook = original != NULL ? etwHookLayer->find(state, original) : NULL;
    if (original == NULL || (hook != NULL && (hook->what & HOOK_CALL))) {
        return false;
    }
    Tcl_Obj *name = Tcl_NewObj();
    Tcl_IncrRefCount(name);
    Tcl_GetCommandFullName(state->interp, original, name);
    bool match = EtwKindOf(original) != ETW_KIND_C &&
                 EtwScriptMatch(state, Tcl_GetString(name), true) == NULL;
    Tcl_DecrRefCount(name);
    return match;
}

typedef struct HookRequest {
    unsigned what;
    EtwRule *rule;
    EtwCommandKind kind;
} HookRequest;

static HookRequest hookRequestFor(
        EtwScriptState *state, const EtwHook *hook, Tcl_Command token, const char *name)
{
    HookRequest request = {0, NULL, EtwKindOf(token)};
    bool ours = strncmp(name, "::etw::", 7) == 0 || strcmp(name, "::etw") == 0;
    const EtwBuiltin *builtin = hook != NULL ? hook->builtin : EtwBuiltinOf(name);
    bool sampled = builtin != NULL && EtwSampling() && builtin == EtwBuiltinOf("::interp");
    if (state->patterns == NULL && !state->stepping) {
        request.what = sampled && etwHookLayer->scans ? HOOK_BUILTIN : 0;
        return request;
    }
    request.rule = EtwScriptMatch(state, name,
            EtwIsApply(name) ||
                    (!EtwKindIsCoreOO(name) && wildcardsMatch(state, token, request.kind)));
    if (request.rule != NULL) {
        request.what |= HOOK_CALL;
    }
    if (state->stepping && !ours) {
        request.what |= HOOK_STEP;
    }
    request.what |= EtwWatchOf(name);
    request.what |= builtin != NULL ? HOOK_BUILTIN : 0;
    if (request.kind == ETW_KIND_OBJECT && EtwKindIsClass(state->interp, name)) {
        request.what |= HOOK_WATCH;
    }
    if (request.kind == ETW_KIND_OBJECT) {
        request.what |= HOOK_METHODS;
    }
    if (!etwHookLayer->scans) {
        request.what &= ~(unsigned)(HOOK_WATCH | HOOK_OPAQUE | HOOK_BUILTIN | HOOK_METHODS);
    }
    return request;
}

static void changeHook(EtwHook *hook, const HookRequest *request)
{
    setRule(hook, request->rule);
    if (hook->what != request->what) {
        hook->what = request->what;
        etwHookLayer->update(hook);
    }
}

static void missed(EtwScriptState *state, const HookRequest *request, const char *name)
{
    if (state->missed != NULL && (request->what & HOOK_CALL)) {
        Tcl_ListObjAppendElement(NULL, state->missed, Tcl_NewStringObj(name, -1));
    }
}

static void makeHook(
        EtwScriptState *state, Tcl_Command token, const char *name, const HookRequest *request)
{
    EtwHook *hook = EtwAlloc(sizeof *hook);
    state->refs++;
    hook->state = state;
    hook->token = token;
    hook->refs = 1;
    hook->kind = request->kind;
    hook->what = request->what;
    setName(hook, name);
    setRule(hook, request->rule);
    if (!traceCommand(hook, name)) {
        missed(state, request, name);
        EtwHookUnref(hook);
        return;
    }
    if (!etwHookLayer->attach(hook)) {
        missed(state, request, name);
        untraceCommand(hook);
        EtwHookUnref(hook);
        return;
    }
    linkHook(hook);
}

static void dropHook(EtwHook *hook)
{
    hook->what = 0;
    etwHookLayer->update(hook);
    if (etwHookLayer->detach(hook) && untraceCommand(hook)) {
        unlinkHook(hook);
    }
}

void EtwHookSync(EtwScriptState *state, Tcl_Command token)
{
    Tcl_Obj *full = Tcl_NewObj();
    EtwHook *hook = etwHookLayer->find(state, token);
    Tcl_IncrRefCount(full);
    Tcl_GetCommandFullName(state->interp, token, full);
    const char *name = Tcl_GetString(full);
    if (name[0] == ':' && name[1] == ':') {
        HookRequest request = hookRequestFor(state, hook, token, name);
        bool keep = request.what != 0 ||
                    (!etwHookLayer->scans && (state->patterns != NULL || state->stepping));
        if (hook != NULL && keep) {
            changeHook(hook, &request);
        } else if (hook != NULL) {
            dropHook(hook);
        } else if (keep) {
            makeHook(state, token, name, &request);
        }
    }
    Tcl_DecrRefCount(full);
}

void EtwHookSyncName(EtwScriptState *state, const char *name, const char *nsName)
{
    Tcl_DString full;
    Tcl_Command token;
    Tcl_DStringInit(&full);
    if (name[0] != ':' || name[1] != ':') {
        Tcl_DStringAppend(&full, nsName ? nsName : "", -1);
        if (nsName == NULL || strcmp(nsName, "::") != 0) {
            Tcl_DStringAppend(&full, "::", 2);
        }
    }
    Tcl_DStringAppend(&full, name, -1);
    token = Tcl_FindCommand(state->interp, Tcl_DStringValue(&full), NULL, TCL_GLOBAL_ONLY);
    if (token != NULL) {
        EtwHookSync(state, token);
    }
    Tcl_DStringFree(&full);
}

/* ---- Methods --------------------------------------------------------------------------------- */

EtwHook *EtwHookMethod(EtwScriptState *state, const char *name)
{
    EtwHook *hook = EtwAlloc(sizeof *hook);
    state->refs++;
    hook->state = state;
    hook->refs = 1;
    hook->kind = ETW_KIND_METHOD;
    hook->generation = state->generation - 1;
    setName(hook, name);
    return hook;
}

void EtwHookMethodRefresh(EtwHook *hook)
{
    EtwScriptState *state = hook->state;
    if (hook->generation != state->generation) {
        EtwRule *rule = EtwScriptMatch(state, hook->name, !EtwKindIsCoreOO(hook->name));
        hook->generation = state->generation;
        hook->what = rule != NULL ? HOOK_CALL : 0;
        setRule(hook, rule);
    }
}

/* ---- All commands ---------------------------------------------------------------------------- */

typedef struct Tokens {
    Tcl_Command *list;
    size_t count, capacity;
} Tokens;

static void collect(void *ctx, Tcl_Command token)
{
    Tokens *tokens = ctx;
    if (tokens->count == tokens->capacity) {
        tokens->capacity = tokens->capacity ? tokens->capacity * 2 : 1024;
        tokens->list = EtwRealloc(tokens->list, tokens->capacity * sizeof *tokens->list);
    }
    tokens->list[tokens->count++] = token;
}

void EtwHookScan(EtwScriptState *state)
{
    Tokens tokens = {0};
    if (state->scanning || state->interp == NULL || Tcl_InterpDeleted(state->interp)) {
        return;
    }
    state->scanning = true;
    state->needsScan = false;
    /* Hooks first: hidden commands are in no namespace. */
    for (EtwHook *h = state->hooks, *next; h != NULL; h = next) {
        next = h->next;
        EtwHookSync(state, h->token);
    }
    if (etwHookLayer->scans && (state->patterns != NULL || state->stepping)) {
        etwHookLayer->each(state, collect, &tokens);
        for (size_t i = 0; i < tokens.count; i++) {
            if (etwHookLayer->find(state, tokens.list[i]) == NULL) {
                EtwHookSync(state, tokens.list[i]);
            }
        }
        EtwFree(tokens.list);
        state->lastCount = etwHookLayer->count(state);
    }
    state->scanning = false;
}

enum { REFRESH_NS = 100000000 };

void EtwHookRefresh(EtwScriptState *state, uint64_t ticks)
{
    if (state->needsScan) {
        EtwHookScan(state);
        return;
    }
    if (EtwScriptNanoseconds(ticks - state->lastScan) < REFRESH_NS) {
        return;
    }
    state->lastScan = ticks;
    if (etwHookLayer->count(state) != state->lastCount) {
        EtwHookScan(state);
    }
}
