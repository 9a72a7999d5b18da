/*
 * script/hooks/tclint_lines.c --
 *
 *	Line steps: an event for each command that a traced proc, method or lambda executes, with
 *	its file and line, at a cost close to that of the event itself. Before the traced call its
 *	body is compiled by Tcl's compiler, with a mark before each command (tclint_marks.c).
 *
 *	Commands of scripts that the compiler inlines are marked. Commands in brackets are marked if
 *	they begin on another line than the enclosing command. A script that is evaluated (eval,
 *	uplevel) has no marks.
 */
#include "script/script_fields.h"
#include "script/script_redact.h"
#include "script/hooks/tclint.h"
#include "base/alloc.h"

#ifdef ETW_TCLINT

typedef struct Lines {
    EtwMarks marks; /* the first member */
    EtwHook *hook;  /* a reference; NULL: in the self-check */
    EtwRule *rule;  /* a reference; used to format texts */
} Lines;

enum { HEAD = 8 + 2 }; /* size of CallId and Depth in a payload */

/* Followed by the payload of its event. */
typedef struct Mark {
    size_t size;
} Mark;

static bool able; /* the self-check has passed */
static int checkedMarks;
static const Tcl_ObjType *codeType, *lambdaType; /* found by the self-check */

/* ---- Executing marks ------------------------------------------------------------------------- */

static void lineFires(EtwMarks *marks, void *data, const Tcl_Obj *literal)
{
    const Lines *lines = (const Lines *)marks;
    const EtwHook *hook = lines->hook;
    Mark *mark = data;
    char *payload = (char *)(mark + 1);
    (void)literal;
    if (hook == NULL) {
        checkedMarks++;
        return;
    }
    EtwScriptState *state = hook->state;
    if (!EtwScriptOn(ETW_KEYWORD_STEP) || !(hook->what & HOOK_CALL) || hook->rule != lines->rule ||
            state->interp == NULL || Tcl_InterpDeleted(state->interp)) {
        return;
    }
    void *env = ((Interp *)state->interp)->execEnvPtr;
    if (state->now.env != env) {
        EtwContextSwitch(state, env);
    }
    if (state->now.tooDeep == 0) {
        EtwCall call = {
                .id = EtwLineCallId(&state->now, hook), .packed = (uint64_t)state->now.depth};
        putHead(payload, &call);
        EtwScriptWrite(
                state, lines->rule, ETW_SCRIPT_LINE, &(Etw_Data){payload, mark->size}, 1, NULL);
    }
}

static void freeLines(EtwMarks *marks)
{
    Lines *lines = (Lines *)marks;
    EtwRuleDrop(lines->rule);
    if (lines->hook != NULL) {
        EtwHookUnref(lines->hook);
    }
    EtwFree(lines);
}

static const EtwMarkOps lineOps = {lineFires, freeLines};

/* ---- Creating marks -------------------------------------------------------------------------- */

static void addField(Tcl_DString *to, EtwPieces *p)
{
    char size[2];
    put16(size, EtwFieldEnd(p));
    Tcl_DStringAppend(to, size, 2);
    for (int i = 0; i < p->count; i++) {
        Tcl_DStringAppend(to, p->data[i].data, (Tcl_Size)p->data[i].size);
    }
}

/* The first line of the command's text. */
static void addText(Tcl_DString *to, const Lines *lines, const char *text, int size)
{
    const char *end = memchr(text, '\n', (size_t)size);
    Tcl_Obj *value = Tcl_NewStringObj(text, end != NULL ? (int)(end - text) : size);
    EtwPieces p;
    Tcl_IncrRefCount(value);
    EtwPiecesBegin(&p, lines->hook->state);
    EtwFieldBegin(&p, lines->rule->maxLength);
    if (lines->rule->options.args) {
        EtwFieldValue(&p, value, lines->rule);
    }
    addField(to, &p);
    Tcl_DecrRefCount(value);
}

static void addName(Tcl_DString *to, const Lines *lines, const char *name, size_t size)
{
    EtwPieces p;
    EtwPiecesBegin(&p, lines->hook->state);
    EtwFieldBegin(&p, ETW_NAME_MAX - 32);
    EtwFieldTcl(&p, name, size);
    addField(to, &p);
}

/* The fields of an Enter event. CallId and Depth are filled in later. */
static void addPayload(
        Tcl_DString *to, const Lines *lines, const CompileEnv *env, const EtwPlace *place)
{
    const ExtCmdLoc *map = env->extCmdMapPtr;
    Tcl_Obj *file = map->type == TCL_LOCATION_SOURCE ? map->path : NULL;
    const char *path = file != NULL ? Tcl_GetString(file) : "";
    char line[4];
    Tcl_DStringAppend(to, "\0\0\0\0\0\0\0\0\0\0", HEAD);
    addText(to, lines, env->source + place->from, place->end - place->from);
    addName(to, lines, lines->hook->name, lines->hook->nameSize);
    addName(to, lines, path, strlen(path));
    put32(line, (uint32_t)place->line);
    Tcl_DStringAppend(to, line, 4);
}

static Mark *newMark(const Lines *lines, const CompileEnv *env, const EtwPlace *place)
{
    Tcl_DString payload;
    Tcl_DStringInit(&payload);
    if (lines->hook != NULL) {
        addPayload(&payload, lines, env, place);
    }
    size_t size = (size_t)Tcl_DStringLength(&payload);
    Mark *mark = EtwAlloc(sizeof *mark + size);
    mark->size = size;
    memcpy(mark + 1, Tcl_DStringValue(&payload), size);
    Tcl_DStringFree(&payload);
    return mark;
}

static void markCode(CompileEnv *env, Lines *lines)
{
    EtwPlace *places = EtwTclintPlaces(env);
    EtwCodeMark *marks = EtwAlloc(((size_t)env->numCommands + 1) * sizeof *marks);
    int count = 0;
    for (int i = 0; i < env->numCommands; i++) {
        const CmdLocation *l = &env->cmdMapPtr[i];
        if (places[i].marked) {
            marks[count++] = (EtwCodeMark){.at = (int)l->codeOffset,
                    .from = (int)l->codeOffset,
                    .end = (int)(l->codeOffset + l->numCodeBytes),
                    .data = newMark(lines, env, &places[i])};
        }
    }
    EtwMarksInsert(&lines->marks, env, marks, count);
    EtwFree(places);
    EtwFree(marks);
}

/* ---- Compiling ------------------------------------------------------------------------------- */

/* Valid during the compilation of a body. */
static __thread struct {
    void (*optimizer)(void *env);
    Interp *iPtr;
    Lines *lines; /* NULL: done */
} compiling;

static void optimizeAndMark(void *compileEnv)
{
    Lines *lines = compiling.lines;
    if (compiling.optimizer != NULL) {
        compiling.optimizer(compileEnv);
    }
    compiling.lines = NULL;
    if (lines != NULL && EtwTclintLooksValid(compileEnv, compiling.iPtr)) {
        markCode(compileEnv, lines);
    }
}

static ByteCode *codeOf(const Proc *proc)
{
    const Tcl_Obj *body = proc->bodyPtr;
    return body != NULL && body->typePtr == codeType ? body->internalRep.twoPtrValue.ptr1 : NULL;
}

/* NULL: the code has no marks for lines. */
static Lines *linesOf(const ByteCode *code)
{
    EtwMarks *marks = EtwMarksOf(code);
    return marks != NULL && marks->ops == &lineOps ? (Lines *)marks : NULL;
}

static bool isValid(const ByteCode *code, const Interp *iPtr, const Proc *proc, const Namespace *ns)
{
    return (const Interp *)*code->interpHandle == iPtr &&
           code->compileEpoch == iPtr->compileEpoch && code->nsPtr == ns &&
           code->nsEpoch == ns->resolverEpoch && code->procPtr == proc;
}

/*
 * Sets an outdated epoch, so that Tcl recompiles the code before its next use. Running code is not
 * affected.
 */
static void makeStale(ByteCode *code, const Interp *iPtr)
{
    code->compileEpoch = iPtr->compileEpoch - 1;
}

static void compileMarked(Lines *lines, Tcl_Interp *interp, Proc *proc, Namespace *ns)
{
    Interp *iPtr = (Interp *)interp;
    ByteCode *code = codeOf(proc);
    if (code != NULL && (code->flags & TCL_BYTECODE_PRECOMPILED)) {
        return;
    }
    if (code != NULL) {
        makeStale(code, iPtr);
    }
    compiling.optimizer = *EtwTclintOptimizer(iPtr);
    compiling.iPtr = iPtr;
    compiling.lines = lines;
    *EtwTclintOptimizer(iPtr) = optimizeAndMark;
    TclProcCompileProc(interp, proc, proc->bodyPtr, ns, "body of proc", "");
    *EtwTclintOptimizer(iPtr) = compiling.optimizer;
    compiling.lines = NULL;
}

static Lines *linesNew(EtwHook *hook)
{
    Lines *lines = EtwAlloc(sizeof *lines);
    lines->marks.refs = 1;
    lines->marks.ops = &lineOps;
    if (hook != NULL) {
        lines->hook = EtwHookRef(hook);
        lines->rule = EtwRuleKeep(hook->rule);
    }
    return lines;
}

/* Marked code whose lines are no longer traced is recompiled at its next call. */
static void unmark(const Proc *proc, const Interp *iPtr)
{
    ByteCode *code = codeOf(proc);
    if (linesOf(code) != NULL) {
        makeStale(code, iPtr);
    }
}

void EtwTclintLinesOf(EtwHook *hook, Tcl_Interp *interp, Proc *proc, Namespace *ns)
{
    Interp *iPtr = (Interp *)interp;
    ByteCode *code = codeOf(proc);
    Lines *lines = linesOf(code);
    if (lines != NULL && lines->rule == hook->rule && !lines->marks.stale && lines->hook == hook &&
            isValid(code, iPtr, proc, ns)) {
        return;
    }
    if (hook->rule->options.steps != ETW_STEPS_LINE) {
        unmark(proc, iPtr);
        return;
    }
    lines = linesNew(hook);
    compileMarked(lines, interp, proc, ns);
    EtwMarksDrop(&lines->marks);
}

bool EtwTclintCompilesLines(void)
{
    return compiling.lines != NULL;
}

/* ---- Procs and lambdas ----------------------------------------------------------------------- */

static void lambdaLines(EtwHook *hook, Tcl_Interp *interp, Tcl_Obj *lambda)
{
    if (lambda->typePtr != lambdaType && lambdaType->setFromAnyProc(interp, lambda) != TCL_OK) {
        Tcl_ResetResult(interp);
        return; /* apply itself reports the error */
    }
    Proc *proc = lambda->internalRep.twoPtrValue.ptr1;
    Tcl_Obj *name = lambda->internalRep.twoPtrValue.ptr2;
    Tcl_Namespace *ns = Tcl_FindNamespace(interp, Tcl_GetString(name), NULL, TCL_GLOBAL_ONLY);
    if (ns != NULL) {
        EtwTclintLinesOf(hook, interp, proc, (Namespace *)ns);
    }
}

void EtwTclintLines(
        EtwHook *hook, void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    if (hook->kind == ETW_KIND_PROC) {
        Proc *proc = clientData;
        EtwTclintLinesOf(hook, interp, proc, proc->cmdPtr->nsPtr);
    } else if (hook->kind == ETW_KIND_C && objc > 1 && EtwIsApply(hook->name)) {
        lambdaLines(hook, interp, objv[1]);
    }
}

void EtwTclintUnmark(const EtwHook *hook)
{
    if (hook->kind == ETW_KIND_PROC && hook->state->interp != NULL) {
        unmark(((const Command *)hook->token)->objClientData, (const Interp *)hook->state->interp);
    }
}

bool EtwTclintHasLines(void)
{
    return able;
}

/* ---- Calls deeper than -depth ---------------------------------------------------------------- */

static int leaveTooDeep(ClientData data[], Tcl_Interp *interp, int result)
{
    EtwHook *hook = data[0];
    void *env = ((Interp *)interp)->execEnvPtr;
    if (hook->state->now.env != env) {
        EtwContextSwitch(hook->state, env);
    }
    hook->state->now.tooDeep--;
    hook->state->now.open--;
    EtwHookUnref(hook);
    return result;
}

void EtwTclintTooDeep(EtwHook *hook, Tcl_Interp *interp)
{
    hook->state->now.tooDeep++;
    hook->state->now.open++;
    Tcl_NRAddCallback(interp, leaveTooDeep, EtwHookRef(hook), NULL, NULL, NULL);
}

/* ---- The self-check -------------------------------------------------------------------------- */

static const Tcl_ObjType *typeOfLambda(Tcl_Interp *interp)
{
    Tcl_Obj *words[2] = {Tcl_NewStringObj("apply", -1), Tcl_NewStringObj("{} {}", -1)};
    const Tcl_ObjType *type = NULL;
    Tcl_IncrRefCount(words[0]);
    Tcl_IncrRefCount(words[1]);
    if (Tcl_EvalObjv(interp, 2, words, TCL_EVAL_GLOBAL) == TCL_OK) {
        type = words[1]->typePtr;
    }
    Tcl_DecrRefCount(words[0]);
    Tcl_DecrRefCount(words[1]);
    return type != NULL && strcmp(type->name, "lambdaExpr") == 0 ? type : NULL;
}

/* A body with every kind of offset. For n = 2, eleven marks are executed. */
static const char checkBody[] = "proc ::etwLines n {\n"
                                "    set sum 0\n"
                                "    foreach x {1 2} {\n"
                                "        incr sum [expr {$x * $n}]\n"
                                "    }\n"
                                "    switch -- $n 1 {set sum one} 2 {incr sum 10}\n"
                                "    while {[incr n -1] > 0} continue\n"
                                "    catch {error no} message\n"
                                "    list $sum $message [llength [info frame 0]]\n"
                                "}";

static bool runsMarked(Tcl_Interp *interp)
{
    return Tcl_EvalEx(interp, "::etwLines 2", -1, TCL_EVAL_GLOBAL) == TCL_OK &&
           strncmp(Tcl_GetStringResult(interp), "16 no ", 6) == 0;
}

static bool checkMarks(Tcl_Interp *interp, Proc *proc)
{
    Lines *lines = linesNew(NULL);
    bool ok = codeType != NULL;
    if (ok) {
        compileMarked(lines, interp, proc, ((Interp *)interp)->globalNsPtr);
        ok = linesOf(codeOf(proc)) == lines;
    }
    checkedMarks = 0;
    for (int i = 1; ok && i <= 2; i++) {
        ok = runsMarked(interp) && checkedMarks == 11 * i;
    }
    EtwMarksDrop(&lines->marks);
    return ok;
}

void EtwTclintCheckLines(Tcl_Interp *interp)
{
    Tcl_CmdInfo info;
    lambdaType = typeOfLambda(interp);
    if (!EtwTclintCheckCode() || lambdaType == NULL ||
            Tcl_EvalEx(interp, checkBody, -1, TCL_EVAL_GLOBAL) != TCL_OK || !runsMarked(interp) ||
            !Tcl_GetCommandInfo(interp, "::etwLines", &info)) {
        return;
    }
    Proc *proc = info.objClientData;
    if (proc->bodyPtr->typePtr != NULL && strcmp(proc->bodyPtr->typePtr->name, "bytecode") == 0) {
        codeType = proc->bodyPtr->typePtr;
    }
    able = checkMarks(interp, proc);
}

#endif
