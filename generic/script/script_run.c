/*
 * script/script_run.c --
 *
 *	Traces a body as a call (`etw script run`); traces variables, and renames and deletions of
 *	single commands. Uses Tcl's own traces (Tcl_TraceVar2, Tcl_TraceCommand).
 */
#include "script/script_redact.h"
#include "base/alloc.h"
#include <string.h>

/* ---- etw script run -------------------------------------------------------------------------- */

/* One running body. Its leave frees it. */
typedef struct Run {
    EtwScriptState *state; /* a reference */
    EtwRule *rule;
    EtwCall call;
    char *name;
    size_t nameSize;
} Run;

static void runFree(Run *run)
{
    EtwRedactUse(run->state, run->rule, -1);
    EtwRuleDrop(run->rule);
    EtwFree(run->name);
    EtwScriptStateDrop(run->state);
    EtwFree(run);
}

static int runLeave(ClientData data[], Tcl_Interp *interp, int result)
{
    Run *run = data[0];
    EtwScriptState *state = run->state;
    EtwNestEnd(state, interp, &run->call);
    if (run->call.packed & CALL_SCOPE) {
        state->now.scope = EtwScopePop(state->now.scope);
    }
    if (EtwScriptOn(ETW_KEYWORD_CALL)) {
        EtwWriteLeave(state, run->rule, &run->call, run->name, run->nameSize, result,
                EtwScriptResult(state));
    }
    if (run->call.packed & CALL_SCOPE) {
        Tcl_InterpState saved = Tcl_SaveInterpState(interp, result);
        EtwScriptStepUser(state, -1);
        result = Tcl_RestoreInterpState(interp, saved);
    }
    runFree(run);
    return result;
}

static Run *runNew(EtwScriptState *state, const EtwScriptOptions *options, const char *name)
{
    Run *run = EtwAlloc(sizeof *run);
    size_t size = strlen(name);
    state->refs++;
    run->state = state;
    run->rule = EtwRuleNew(options);
    EtwRedactUse(state, run->rule, 1);
    run->name = EtwAlloc(size + 1);
    run->nameSize = EtwScriptTextConvert(run->name, name, size);
    return run;
}

static void runEnter(Run *run, Tcl_Interp *interp)
{
    EtwScriptState *state = run->state;
    if (run->rule->options.steps != ETW_STEPS_OFF) {
        EtwScriptStepUser(state, 1);
    }
    EtwNestBegin(state, interp, &run->call);
    if (EtwScriptOn(ETW_KEYWORD_CALL)) {
        EtwWriteEnter(state, run->rule, &run->call, run->name, run->nameSize, 0, NULL);
    }
    if (run->rule->options.steps != ETW_STEPS_OFF) {
        run->call.packed |= CALL_SCOPE;
        state->now.scope = EtwScopePush(state->now.scope, run->rule);
    }
    run->call.ticks = OsTicks();
}

int EtwScriptRun(
        Tcl_Interp *interp, Tcl_Obj *body, const EtwScriptOptions *options, const char *name)
{
    Tcl_Size globs;
    if (options->redact != NULL && Tcl_ListObjLength(interp, options->redact, &globs) != TCL_OK) {
        return TCL_ERROR;
    }
    if (EtwScriptProviderOpen(interp) != TCL_OK) {
        return TCL_ERROR;
    }
    if (EtwScriptOn(ETW_KEYWORD_CALL | ETW_KEYWORD_STEP)) {
        Run *run = runNew(EtwScriptStateMake(interp), options, name);
        runEnter(run, interp);
        Tcl_NRAddCallback(interp, runLeave, run, NULL, NULL, NULL);
    }
    return Tcl_NREvalObj(interp, body, 0);
}

/* ---- Variables ------------------------------------------------------------------------------- */

/* One traced variable. Freed when Tcl reports that its trace was removed. */
typedef struct VarTrace {
    EtwScriptState *state; /* a reference */
    int ops;
    Tcl_Obj *name; /* as passed by the caller */
    bool whole;    /* may be an array: the element's name is appended */
} VarTrace;

static const EtwRule *plainRule(void)
{
    static const EtwRule rule = {.refs = 1, .options = {.args = 1}, .maxLength = 4096};
    return &rule;
}

static void addText(EtwPieces *p, uint16_t *sizePtr, const char *text)
{
    EtwPiecesRaw(p, sizePtr, sizeof *sizePtr);
    EtwFieldBegin(p, ETW_NAME_MAX);
    EtwFieldTcl(p, text, strlen(text));
    *sizePtr = EtwFieldEnd(p);
}

static void writeVariable(
        const VarTrace *trace, const char *operation, const char *element, Tcl_Obj *value)
{
    uint16_t operationSize, nameSize, valueSize, contextSize;
    EtwCallSite place = {.pieces = 0};
    EtwPieces p;
    etwHookLayer->place(trace->state, &place, false);
    EtwPiecesBegin(&p, trace->state);
    addText(&p, &operationSize, operation);
    EtwPiecesRaw(&p, &nameSize, sizeof nameSize);
    EtwFieldBegin(&p, ETW_NAME_MAX);
    EtwFieldTcl(&p, Tcl_GetString(trace->name), strlen(Tcl_GetString(trace->name)));
    if (element != NULL && trace->whole) {
        EtwFieldTcl(&p, "(", 1);
        EtwFieldTcl(&p, element, strlen(element));
        EtwFieldTcl(&p, ")", 1);
    }
    nameSize = EtwFieldEnd(&p);
    EtwPiecesRaw(&p, &valueSize, sizeof valueSize);
    EtwFieldBegin(&p, plainRule()->maxLength);
    if (value != NULL) {
        EtwFieldValue(&p, value, plainRule());
    }
    valueSize = EtwFieldEnd(&p);
    EtwPiecesRaw(&p, &contextSize, sizeof contextSize);
    EtwFieldBegin(&p, ETW_NAME_MAX);
    for (int i = 0; i < place.pieces; i++) {
        EtwFieldTcl(&p, place.context[i].text, place.context[i].size);
    }
    contextSize = EtwFieldEnd(&p);
    EtwScriptWrite(trace->state, NULL, ETW_SCRIPT_VARIABLE, p.data, p.count, NULL);
}

static void varTraceFree(VarTrace *trace)
{
    Tcl_DecrRefCount(trace->name);
    EtwScriptStateDrop(trace->state);
    EtwFree(trace);
}

static char *variableChanged(
        ClientData clientData, Tcl_Interp *interp, const char *name1, const char *name2, int flags)
{
    VarTrace *trace = clientData;
    int op = flags & (TCL_TRACE_READS | TCL_TRACE_WRITES | TCL_TRACE_UNSETS);
    if ((op & trace->ops) && EtwScriptOn(ETW_KEYWORD_VARIABLE)) {
        bool there = !(op & TCL_TRACE_UNSETS) && !Tcl_InterpDeleted(interp);
        Tcl_Obj *value = there ? Tcl_GetVar2Ex(interp, name1, name2,
                                         flags & (TCL_GLOBAL_ONLY | TCL_NAMESPACE_ONLY))
                               : NULL;
        writeVariable(trace,
                op & TCL_TRACE_UNSETS   ? "unset"
                : op & TCL_TRACE_WRITES ? "write"
                                        : "read",
                name2, value);
    }
    if (flags & TCL_TRACE_DESTROYED) {
        varTraceFree(trace);
    }
    return NULL;
}

static int removeVariable(Tcl_Interp *interp, Tcl_Obj *name, int ops)
{
    const char *text = Tcl_GetString(name);
    void *found = NULL;
    while ((found = Tcl_VarTraceInfo2(interp, text, NULL, 0, variableChanged, found)) != NULL) {
        VarTrace *trace = found;
        if (trace->ops == ops) {
            Tcl_UntraceVar2(interp, text, NULL, ops | TCL_TRACE_UNSETS, variableChanged, trace);
            varTraceFree(trace);
            return TCL_OK;
        }
    }
    return EtwScriptFail(interp, ETW_E_LOOKUP, "TRACE", text,
            "variable \"%.100s\" has no trace for these operations: \"etw script variable\" adds "
            "one",
            text);
}

/* The variable is resolved in the caller's frame. */
int EtwScriptVariable(Tcl_Interp *interp, Tcl_Obj *name, int ops, int add)
{
    const char *text = Tcl_GetString(name);
    size_t length = strlen(text);
    VarTrace *trace;
    if (!add) {
        return removeVariable(interp, name, ops);
    }
    if (EtwScriptProviderOpen(interp) != TCL_OK) {
        return TCL_ERROR;
    }
    trace = EtwAlloc(sizeof *trace);
    trace->state = EtwScriptStateMake(interp);
    trace->state->refs++;
    trace->ops = ops;
    trace->name = name;
    trace->whole = length == 0 || text[length - 1] != ')' || strchr(text, '(') == NULL;
    Tcl_IncrRefCount(name);
    if (Tcl_TraceVar2(interp, text, NULL, ops | TCL_TRACE_UNSETS | TCL_LEAVE_ERR_MSG,
                variableChanged, trace) != TCL_OK) {
        varTraceFree(trace);
        return TCL_ERROR;
    }
    return TCL_OK;
}

/* ---- Commands -------------------------------------------------------------------------------- */

typedef struct EtwCommandTrace {
    EtwScriptState *state; /* a reference */
    int ops;
    struct EtwCommandTrace *next; /* in the state's list */
} CommandTrace;

static CommandTrace **findTrace(EtwScriptState *state, const CommandTrace *trace)
{
    CommandTrace **at = &state->commandTraces;
    while (*at != NULL && *at != trace) {
        at = &(*at)->next;
    }
    return at;
}

void EtwWriteCommand(EtwScriptState *state, int flags, const char *oldName, const char *newName)
{
    uint16_t operationSize, nameSize, newSize;
    EtwPieces p;
    EtwPiecesBegin(&p, state);
    addText(&p, &operationSize, flags & TCL_TRACE_DELETE ? "delete" : "rename");
    addText(&p, &nameSize, oldName);
    addText(&p, &newSize, newName ? newName : "");
    EtwScriptWrite(state, NULL, ETW_SCRIPT_COMMAND, p.data, p.count, NULL);
}

static void commandTraceFree(CommandTrace *trace)
{
    *findTrace(trace->state, trace) = trace->next;
    EtwScriptStateDrop(trace->state);
    EtwFree(trace);
}

static void commandChanged(ClientData clientData, Tcl_Interp *interp, const char *oldName,
        const char *newName, int flags)
{
    CommandTrace *trace = clientData;
    EtwScriptState *state = EtwScriptStateOf(interp);
    if (!(flags & TCL_TRACE_DESTROYED) && (state == NULL || *findTrace(state, trace) == NULL)) {
        return; /* another trace of this rename has deleted the command */
    }
    if ((flags & trace->ops) && EtwScriptOn(ETW_KEYWORD_COMMAND)) {
        EtwWriteCommand(trace->state, flags, oldName, newName);
    }
    if (flags & TCL_TRACE_DESTROYED) {
        commandTraceFree(trace);
    }
}

static int removeCommand(Tcl_Interp *interp, const char *name, int ops)
{
    void *found = NULL;
    while ((found = Tcl_CommandTraceInfo(interp, name, 0, commandChanged, found)) != NULL) {
        CommandTrace *trace = found;
        if (trace->ops == ops) {
            Tcl_UntraceCommand(interp, name, ops | TCL_TRACE_DELETE, commandChanged, trace);
            commandTraceFree(trace);
            return TCL_OK;
        }
    }
    return EtwScriptFail(interp, ETW_E_LOOKUP, "TRACE", name,
            "command \"%.100s\" has no trace for these operations: \"etw script command\" adds one",
            name);
}

int EtwScriptCommand(Tcl_Interp *interp, Tcl_Obj *name, int ops, int add)
{
    CommandTrace *trace;
    if (Tcl_FindCommand(interp, Tcl_GetString(name), NULL, 0) == NULL) {
        return EtwScriptFail(interp, ETW_E_LOOKUP, "COMMAND", Tcl_GetString(name),
                "no command \"%.100s\"", Tcl_GetString(name));
    }
    if (!add) {
        return removeCommand(interp, Tcl_GetString(name), ops);
    }
    if (EtwScriptProviderOpen(interp) != TCL_OK) {
        return TCL_ERROR;
    }
    trace = EtwAlloc(sizeof *trace);
    trace->state = EtwScriptStateMake(interp);
    trace->state->refs++;
    trace->ops = ops;
    trace->next = trace->state->commandTraces;
    trace->state->commandTraces = trace;
    if (Tcl_TraceCommand(interp, Tcl_GetString(name), ops | TCL_TRACE_DELETE, commandChanged,
                trace) != TCL_OK) {
        commandTraceFree(trace);
        return TCL_ERROR;
    }
    return TCL_OK;
}
