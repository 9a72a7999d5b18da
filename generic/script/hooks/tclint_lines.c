/*
 * script/hooks/tclint_lines.c --
 *
 *	Line steps: an event for each command that a traced proc, method or lambda executes, with
 *	its file and line, at a cost close to that of the event itself. Before the traced call its
 *	body is compiled by Tcl's compiler. Tcl's hook for optimizers is used to insert a mark
 *	before each command of the bytecode (tclint_code.c). Body, source map, epochs and variables
 *	are unchanged.
 *
 *	A mark is not a command, so Tcl's traces do not see it: two literals are compared. The first
 *	literal has no string. Its updateStringProc writes the event. It also removes the string of
 *	the second literal, whose updateStringProc in turn removes that of the first, so that the
 *	mark works again the next time.
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

/* Data shared by the marks of one compiled body; reference-counted by them. */
typedef struct Lines {
    int refs;
    EtwHook *hook; /* a reference; NULL: in the self-check */
    EtwRule *rule; /* a reference; used to format texts */
    bool stale;    /* other code has requested a mark's string, so the marks no longer work */
    Tcl_Obj *second, *fired;
    char *secondBytes;
} Lines;

enum { HEAD = 8 + 2 }; /* size of CallId and Depth in a payload */

/* Followed by the payload of its event. */
typedef struct Mark {
    Lines *lines;
    size_t size;
} Mark;

static bool able; /* the self-check has passed */
static int checkedMarks;
static const Tcl_ObjType *codeType, *lambdaType; /* found by the self-check */

/* ---- Executing marks ------------------------------------------------------------------------- */

static char markString[] = "l";

/* A copy that Tcl may free. */
static char *ownString(void)
{
    char *bytes = Tcl_Alloc(sizeof markString);
    memcpy(bytes, markString, sizeof markString);
    return bytes;
}

static void reportLine(const Lines *lines, Mark *mark)
{
    const EtwHook *hook = lines->hook;
    char *payload = (char *)(mark + 1);
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

/* During execution a mark has two references: the literal's and the stack's. */
static void markFires(Tcl_Obj *obj)
{
    Mark *mark = obj->internalRep.twoPtrValue.ptr1;
    Lines *lines = mark->lines;
    obj->length = 1;
    if (obj->refCount < 2 || lines->fired != NULL || lines->second->bytes == NULL) {
        obj->bytes = ownString();
        lines->stale = true;
        return;
    }
    obj->bytes = markString;
    lines->fired = obj;
    lines->second->bytes = NULL;
    reportLine(lines, mark);
}

static void secondFires(Tcl_Obj *obj)
{
    Lines *lines = obj->internalRep.twoPtrValue.ptr1;
    obj->bytes = lines->secondBytes;
    obj->length = 1;
    if (lines->fired != NULL) {
        lines->fired->bytes = NULL;
        lines->fired = NULL;
    }
}

static void linesDrop(Lines *lines)
{
    if (--lines->refs > 0) {
        return;
    }
    EtwRuleDrop(lines->rule);
    if (lines->hook != NULL) {
        EtwHookUnref(lines->hook);
    }
    EtwFree(lines);
}

static void freeMark(Tcl_Obj *obj)
{
    Mark *mark = obj->internalRep.twoPtrValue.ptr1;
    linesDrop(mark->lines);
    EtwFree(mark);
}

static void freeSecond(Tcl_Obj *obj)
{
    linesDrop(obj->internalRep.twoPtrValue.ptr1);
}

static void copyString(Tcl_Obj *from, Tcl_Obj *to)
{
    (void)from;
    if (to->bytes == NULL) {
        to->bytes = ownString();
        to->length = 1;
    }
    to->typePtr = NULL;
}

static const Tcl_ObjType markType = {.name = "etwLine",
        .freeIntRepProc = freeMark,
        .dupIntRepProc = copyString,
        .updateStringProc = markFires};
static const Tcl_ObjType secondType = {.name = "etwLines",
        .freeIntRepProc = freeSecond,
        .dupIntRepProc = copyString,
        .updateStringProc = secondFires};

/* ---- Which commands are marked --------------------------------------------------------------- */

/* A command of the compiled code. */
typedef struct Place {
    int from, end; /* in the source */
    int parent;    /* -1: none */
    int counted;   /* line by the text alone */
    int line;
    int shown; /* the line reported for it: its own, or that of an enclosing marked command */
    bool bracketed, marked;
} Place;

/* True if the text contains only what may separate two commands of a script. */
static bool isGap(const char *at, const char *end)
{
    while (at < end) {
        if (*at == '#') {
            while (at < end && *at != '\n') {
                at++;
            }
        } else if (strchr(" \t\r\n\f\v;\\", *at) == NULL) {
            return false;
        } else {
            at++;
        }
    }
    return true;
}

static bool afterBracket(const char *source, int at)
{
    while (at > 0 && strchr(" \t\r\n\f\v;\\", source[at - 1]) != NULL) {
        at--;
    }
    return at > 0 && source[at - 1] == '[';
}

static bool isBracketed(const CompileEnv *env, const Place *places, const Place *p, int sibling)
{
    if (sibling >= 0 && places[sibling].end <= p->from &&
            isGap(env->source + places[sibling].end, env->source + p->from)) {
        return places[sibling].bracketed;
    }
    return p->parent >= 0 && afterBracket(env->source, p->from);
}

static int countLines(const char *at, const char *end)
{
    int lines = 0;
    for (; at < end; at++) {
        lines += *at == '\n';
    }
    return lines;
}

/*
 * Sets counted and line. Tcl stores the lines of literal words, except inside expressions.
 * Backslash-newlines are missing in the text, so the later one of both lines is correct. The text is
 * counted from the command before it on, so that the costs are linear in the size of the body.
 */
static void findLine(
        const CompileEnv *env, Place *p, int i, const Place *around, const Place *before)
{
    const ECL *words = &env->extCmdMapPtr->loc[i];
    int known = words->nline > 0 ? words->line[0] : 0;
    int from = before != NULL ? before->from : around != NULL ? around->from : 0;
    p->counted = before != NULL   ? before->counted
                 : around != NULL ? around->line
                                  : env->extCmdMapPtr->start;
    p->counted += countLines(env->source + from, env->source + p->from);
    p->line = known > p->counted ? known : p->counted;
}

static void findPlace(const CompileEnv *env, Place *places, int i)
{
    Place *p = &places[i];
    int up = i - 1, sibling = -1; /* the command before it in the same script */
    p->from = env->cmdMapPtr[i].srcOffset;
    p->end = p->from + env->cmdMapPtr[i].numSrcBytes;
    while (up >= 0 && (p->from < places[up].from || p->end > places[up].end)) {
        sibling = up;
        up = places[up].parent;
    }
    const Place *around = up >= 0 ? &places[up] : NULL;
    const Place *before = sibling >= 0 && places[sibling].from <= p->from ? &places[sibling] : NULL;
    p->parent = up;
    findLine(env, p, i, around, before);
    p->bracketed = isBracketed(env, places, p, sibling);
    p->marked = !p->bracketed || around == NULL || p->line != around->shown;
    p->shown = p->marked || around == NULL ? p->line : around->shown;
}

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
        Tcl_DString *to, const Lines *lines, const CompileEnv *env, const Place *place)
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

static Tcl_Obj *newMark(Lines *lines, const CompileEnv *env, const Place *place)
{
    Tcl_Obj *obj = Tcl_NewObj();
    Tcl_DString payload;
    Tcl_DStringInit(&payload);
    if (lines->hook != NULL) {
        addPayload(&payload, lines, env, place);
    }
    size_t size = (size_t)Tcl_DStringLength(&payload);
    Mark *mark = EtwAlloc(sizeof *mark + size);
    mark->lines = lines;
    mark->size = size;
    memcpy(mark + 1, Tcl_DStringValue(&payload), size);
    Tcl_DStringFree(&payload);
    lines->refs++;
    Tcl_InvalidateStringRep(obj);
    obj->internalRep.twoPtrValue.ptr1 = mark;
    obj->typePtr = &markType;
    return obj;
}

static Tcl_Obj *newSecond(Lines *lines)
{
    lines->second = Tcl_NewObj();
    lines->secondBytes = ownString();
    lines->second->bytes = lines->secondBytes;
    lines->second->length = 1;
    lines->second->internalRep.twoPtrValue.ptr1 = lines;
    lines->second->typePtr = &secondType;
    lines->refs++;
    return lines->second;
}

static void roomForLiterals(CompileEnv *env, int count)
{
    int capacity = env->literalArrayNext + count;
    if (capacity <= env->literalArrayEnd) {
        return;
    }
    size_t size = (size_t)capacity * sizeof *env->literalArrayPtr;
    LiteralEntry *array = (LiteralEntry *)Tcl_Alloc((unsigned)size);
    memcpy(array, env->literalArrayPtr,
            (size_t)env->literalArrayNext * sizeof *env->literalArrayPtr);
    if (env->mallocedLiteralArray) {
        Tcl_Free((char *)env->literalArrayPtr);
    }
    env->mallocedLiteralArray = 1;
    env->literalArrayPtr = array;
    env->literalArrayEnd = capacity;
}

/* The code takes ownership. No later compilation step searches the literal table by text. */
static void addLiteral(CompileEnv *env, Tcl_Obj *obj)
{
    LiteralEntry *entry = &env->literalArrayPtr[env->literalArrayNext++];
    *entry = (LiteralEntry){.objPtr = obj, .refCount = -1};
    Tcl_IncrRefCount(obj);
}

/*
 * A plausibility check of the compile environment, which is accessed through a private structure.
 */
static bool looksValid(const CompileEnv *env, const Interp *iPtr)
{
    return env->iPtr == iPtr && env->codeStart != NULL && env->codeNext > env->codeStart &&
           env->codeNext <= env->codeEnd && env->codeNext[-1] == INST_DONE &&
           env->mallocedCodeArray == (env->codeStart != env->staticCodeSpace) &&
           env->mallocedLiteralArray == (env->literalArrayPtr != env->staticLiteralSpace) &&
           env->mallocedCmdMap == (env->cmdMapPtr != env->staticCmdMapSpace) &&
           env->mallocedAuxDataArray == (env->auxDataArrayPtr != env->staticAuxDataArraySpace) &&
           env->extCmdMapPtr != NULL && env->extCmdMapPtr->nuloc == env->numCommands;
}

/* Marks refer to literals from env->literalArrayNext on, in order. Returns the number of marks. */
static int findMarks(const CompileEnv *env, Place *places, EtwCodeMark *marks)
{
    int count = 0;
    for (int i = 0; i < env->numCommands; i++) {
        const CmdLocation *l = &env->cmdMapPtr[i];
        findPlace(env, places, i);
        if (places[i].marked) {
            marks[count] = (EtwCodeMark){.from = l->codeOffset,
                    .end = l->codeOffset + l->numCodeBytes,
                    .literal = (unsigned)(env->literalArrayNext + count)};
            count++;
        }
    }
    return count;
}

static void markCode(CompileEnv *env, Lines *lines)
{
    size_t capacity = (size_t)env->numCommands;
    Place *places = EtwAlloc((capacity + 1) * sizeof *places);
    EtwCodeMark *marks = EtwAlloc((capacity + 1) * sizeof *marks);
    int count = findMarks(env, places, marks);
    unsigned second = (unsigned)(env->literalArrayNext + count);
    bool marked = EtwTclintMark(env, marks, count, second);
    roomForLiterals(env, count + 1);
    for (int i = 0; marked && i < env->numCommands; i++) {
        if (places[i].marked) {
            addLiteral(env, newMark(lines, env, &places[i]));
        }
    }
    addLiteral(env, newSecond(lines)); /* also without marks: avoids recompiling at each call */
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
    if (lines != NULL && looksValid(compileEnv, compiling.iPtr)) {
        markCode(compileEnv, lines);
    }
}

static ByteCode *codeOf(const Proc *proc)
{
    const Tcl_Obj *body = proc->bodyPtr;
    return body != NULL && body->typePtr == codeType ? body->internalRep.twoPtrValue.ptr1 : NULL;
}

/* NULL: the code is not marked. */
static Lines *linesOf(const ByteCode *code)
{
    if (code == NULL || code->numLitObjects == 0) {
        return NULL;
    }
    const Tcl_Obj *last = code->objArrayPtr[code->numLitObjects - 1];
    return last->typePtr == &secondType ? last->internalRep.twoPtrValue.ptr1 : NULL;
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
    lines->refs = 1;
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
    if (lines != NULL && lines->rule == hook->rule && !lines->stale && lines->hook == hook &&
            isValid(code, iPtr, proc, ns)) {
        return;
    }
    if (hook->rule->options.steps != ETW_STEPS_LINE) {
        unmark(proc, iPtr);
        return;
    }
    lines = linesNew(hook);
    compileMarked(lines, interp, proc, ns);
    linesDrop(lines);
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
    } else if (hook->kind == ETW_KIND_C && objc > 1 && strcmp(hook->name, "::apply") == 0) {
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
    linesDrop(lines);
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
