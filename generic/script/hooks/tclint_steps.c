/*
 * script/hooks/tclint_steps.c --
 *
 *	Full steps: an enter and a leave for each command inside of traced calls. Commands that the
 *	bytecode calls have hooks. The compiler translates the others (set, if, foreach, expr ...)
 *	into instructions of their own. While steps are on, everything that is compiled gets a mark
 *	before and behind each of these (tclint_marks.c). So no command is executed in another way
 *	than without steps.
 *
 *	A mark behind a command is executed only if the command succeeds. The open steps of an
 *	environment are therefore kept as a stack. Steps that ended with an error, a break or a
 *	return are closed at the next mark around them, or when the call around them ends.
 */
#include "script/script_fields.h"
#include "script/hooks/tclint.h"
#include "base/alloc.h"

#ifdef ETW_TCLINT

/* A command that is compiled to instructions. */
typedef struct Step {
    int at, size;       /* in the source */
    int name, nameSize; /* in the source: the first word without leading colons */
    int parent;         /* the command around it, which need not be marked; -1: none */
    int line;
} Step;

/* The marked commands of one compiled script. */
typedef struct Steps {
    EtwMarks marks;        /* the first member */
    EtwScriptState *state; /* a reference; NULL: in the self-check */
    Tcl_Interp *interp;
    char *source;
    Tcl_Obj *file; /* NULL: not known */
    int count;
    Step steps[];
} Steps;

typedef struct Mark {
    int index; /* of its step */
    bool leave;
} Mark;

/* Tcl's own structure in tclExecute.c: the frame of running bytecode. */
typedef struct Running {
    ByteCode *code;
    ptrdiff_t *catchTop;
    Tcl_Obj *auxObjList;
    CmdFrame frame;
    void *stack[1]; /* code->maxExceptDepth words, then the operands */
} Running;

static bool able;                /* the self-check has passed */
static Tcl_DString checkedSteps; /* of the self-check */
static TclintOptimizer *checkedOptimizer;

/* ---- The frame of the bytecode that runs ------------------------------------------------------ */

/*
 * The frame is the last block that was allocated on the execution stack, behind its marker and at most one
 * word of padding. NULL: not recognized.
 */
static const Running *running(const Interp *iPtr)
{
    Tcl_Obj **marker = iPtr->execEnvPtr->execStackPtr->markerPtr;
    for (int i = 1; marker != NULL && i <= 2; i++) {
        const Running *r = (const Running *)(const void *)(marker + i);
        if (r->code != NULL && r->frame.data.tebc.codePtr == (const void *)r->code &&
                r->frame.type == TCL_LOCATION_BC) {
            return r;
        }
    }
    return NULL;
}

/* The value below the literal, which is on top of the operands. Operands below the top are live values. */
static Tcl_Obj *resultBelow(const Interp *iPtr, const Running *r, const Tcl_Obj *literal)
{
    Tcl_Obj *const *first = (Tcl_Obj *const *)r->stack + r->code->maxExceptDepth;
    Tcl_Obj *const *at = first;
    while (at < iPtr->execEnvPtr->execStackPtr->endPtr && *at != literal) {
        at++;
    }
    return at > first && *at == literal ? at[-1] : NULL;
}

/* True if the running bytecode was called, directly or not, from the bytecode of this frame. */
static bool isCaller(const Running *r, const CmdFrame *frame)
{
    const CmdFrame *f = r->frame.nextPtr;
    while (f != NULL && f != frame) {
        f = f->nextPtr;
    }
    return f != NULL;
}

/* ---- Open steps ------------------------------------------------------------------------------- */

static const Step *stepOf(const EtwInlineStep *open)
{
    return &((const Steps *)open->script)->steps[open->index];
}

static bool isNamed(const EtwInlineStep *open, const char *name)
{
    const Step *step = stepOf(open);
    return (size_t)step->nameSize == strlen(name) &&
           memcmp(((const Steps *)open->script)->source + step->name, name, strlen(name)) == 0;
}

/* The code with which a step ended that did not come to its mark. */
static int codeOf(const EtwInlineStep *open, int code)
{
    return isNamed(open, "return") || isNamed(open, "tailcall") ? TCL_RETURN
           : isNamed(open, "break")                             ? TCL_BREAK
           : isNamed(open, "continue")                          ? TCL_CONTINUE
                                                                : code;
}

static int depthOf(const EtwInlineStep *open)
{
    return (int)(open->call.packed & CALL_DEPTH);
}

static EtwInlineStep *top(const EtwContext *now)
{
    return now->stepCount > 0 ? &now->steps[now->stepCount - 1] : NULL;
}

/* Take the innermost open step from the stack, and write its leave. */
static void closeStep(EtwScriptState *state, EtwContext *context, int code, Tcl_Obj *result)
{
    EtwInlineStep *open = top(context);
    const Steps *script = open->script;
    const Step *step = stepOf(open);
    context->stepCount--;
    context->depth = depthOf(open) - 1;
    context->open--;
    if (context->scope != NULL && state->interp != NULL && EtwScriptOn(ETW_KEYWORD_STEP)) {
        EtwWriteLeave(state, context->scope->rule, &open->call, script->source + step->name,
                (size_t)step->nameSize, code, result);
    }
    EtwMarksDrop(&((Steps *)open->script)->marks);
}

void EtwTclintCutSteps(EtwScriptState *state, EtwContext *context, int depth, int code)
{
    Tcl_Obj *result = NULL;
    if (top(context) != NULL) {
        code = codeOf(top(context), code == TCL_OK ? TCL_RETURN : code);
    }
    if (state->interp != NULL && (code == TCL_ERROR || code == TCL_RETURN)) {
        result = Tcl_GetObjResult(state->interp);
    }
    while (top(context) != NULL && depthOf(top(context)) > depth) {
        closeStep(state, context, code, result);
    }
}

/* Close the steps above a position of the stack, which did not come to their marks. */
static void cutAbove(EtwScriptState *state, int count)
{
    EtwContext *now = &state->now;
    int code = now->stepCount > count ? codeOf(top(now), TCL_ERROR) : TCL_OK;
    while (now->stepCount > count) {
        closeStep(state, now, code, NULL);
    }
}

/* True if the step is one of this script, in the frame that runs. Tcl moves a frame to get more stack. */
static bool isOf(const EtwInlineStep *open, const Steps *script, const Running *r)
{
    return open->script == script && (open->frame == &r->frame || !isCaller(r, open->frame));
}

static bool isAround(const Steps *script, int outer, int index)
{
    while (index > outer) {
        index = script->steps[index].parent;
    }
    return index == outer;
}

/* False: a call that has a hook is open between this step and the ones above it. */
static bool isInnermost(const EtwContext *now, int at)
{
    return depthOf(&now->steps[at]) == now->depth - (now->stepCount - 1 - at);
}

/* Before a command of the script: close the steps that are not around it. */
static void closeEnded(EtwScriptState *state, const Steps *script, int index, const Running *r)
{
    EtwContext *now = &state->now;
    int count = now->stepCount;
    for (; count > 0 && isInnermost(now, count - 1); count--) {
        const EtwInlineStep *open = &now->steps[count - 1];
        if (isOf(open, script, r) ? open->index != index && isAround(script, open->index, index)
                                  : isCaller(r, open->frame)) {
            break;
        }
    }
    cutAbove(state, count);
}

static EtwInlineStep *push(EtwContext *now)
{
    if (now->stepCount == now->stepCapacity) {
        now->stepCapacity = now->stepCapacity * 2 + 16;
        now->steps = EtwRealloc(now->steps, (size_t)now->stepCapacity * sizeof *now->steps);
    }
    return &now->steps[now->stepCount++];
}

static uint64_t writeEnter(
        EtwScriptState *state, const Steps *script, const Step *step, const EtwCall *call)
{
    const EtwRule *rule = state->now.scope->rule;
    EtwCallSite place;
    etwHookLayer->place(state, &place, false);
    if (rule->options.source) {
        place.line = (uint32_t)step->line;
        place.file = script->file;
        if (place.file != NULL) {
            Tcl_IncrRefCount(place.file);
        }
    }
    Tcl_Obj *text = rule->options.args
                            ? Tcl_NewStringObj(script->source + step->at, step->size)
                            : Tcl_NewStringObj(script->source + step->name, step->nameSize);
    Tcl_IncrRefCount(text);
    uint64_t ticks = EtwWriteStep(state, rule, call, &place, text);
    Tcl_DecrRefCount(text);
    return ticks;
}

static void enterStep(EtwScriptState *state, Steps *script, int index, const Running *r)
{
    EtwContext *now = &state->now;
    closeEnded(state, script, index, r);
    uint64_t depth = (uint64_t)now->depth + 1;
    int limit = now->scope != NULL ? now->scope->rule->options.depth : 0;
    if (now->scope == NULL || !EtwScriptOn(ETW_KEYWORD_STEP) ||
            (limit > 0 && depth > (uint64_t)limit)) {
        return;
    }
    EtwCall call = {.id = EtwScriptNewId(state), .packed = depth | CALL_STEP};
    call.ticks = writeEnter(state, script, &script->steps[index], &call);
    if (call.ticks == 0) {
        call.ticks = OsTicks();
    }
    *push(now) =
            (EtwInlineStep){.frame = &r->frame, .script = script, .index = index, .call = call};
    script->marks.refs++;
    now->depth++;
    now->open++;
}

/* Nothing is open for a command whose enter was not reported. */
static void leaveStep(
        EtwScriptState *state, const Steps *script, int index, const Running *r, Tcl_Obj *result)
{
    EtwContext *now = &state->now;
    for (int i = now->stepCount - 1; i >= 0 && isInnermost(now, i); i--) {
        const EtwInlineStep *open = &now->steps[i];
        bool ours = isOf(open, script, r);
        if (ours && open->index == index) {
            cutAbove(state, i + 1);
            closeStep(state, now, TCL_OK, result);
            return;
        }
        if (ours ? isAround(script, open->index, index) : isCaller(r, open->frame)) {
            return;
        }
    }
}

static void checkFires(const Steps *script, const Mark *mark, Tcl_Obj *result)
{
    const Step *step = &script->steps[mark->index];
    Tcl_DStringAppend(&checkedSteps, mark->leave ? " )" : " (", 2);
    Tcl_DStringAppend(&checkedSteps, script->source + step->name, step->nameSize);
    if (mark->leave) {
        Tcl_DStringAppend(&checkedSteps, "=", 1);
        Tcl_DStringAppend(&checkedSteps, result != NULL ? Tcl_GetString(result) : "?", -1);
    }
}

static void stepFires(EtwMarks *marks, void *data, const Tcl_Obj *literal)
{
    Steps *script = (Steps *)marks;
    EtwScriptState *state = script->state;
    const Mark *mark = data;
    const Interp *iPtr = (const Interp *)script->interp;
    const Running *r;
    if (state != NULL) {
        if (state->interp == NULL) {
            return;
        }
        if (state->now.env != iPtr->execEnvPtr) {
            EtwContextSwitch(state, iPtr->execEnvPtr);
        }
        if (state->now.scope == NULL && state->now.stepCount == 0) {
            return;
        }
    }
    r = running(iPtr);
    if (r == NULL) {
        return;
    }
    if (state == NULL) {
        checkFires(script, mark, resultBelow(iPtr, r, literal));
    } else if (mark->leave) {
        leaveStep(state, script, mark->index, r, resultBelow(iPtr, r, literal));
    } else {
        enterStep(state, script, mark->index, r);
    }
}

/* ---- Compiling -------------------------------------------------------------------------------- */

static void freeSteps(EtwMarks *marks)
{
    Steps *script = (Steps *)marks;
    if (script->state != NULL) {
        EtwScriptStateDrop(script->state);
    }
    if (script->file != NULL) {
        Tcl_DecrRefCount(script->file);
    }
    EtwFree(script->source);
    EtwFree(script);
}

static const EtwMarkOps stepOps = {stepFires, freeSteps};

/* By offset: the instruction that ends there; INST_DONE elsewhere. The caller frees it. */
static unsigned char *findEnds(const CompileEnv *env)
{
    const InstructionDesc *table = TclGetInstructionTable();
    int size = (int)(env->codeNext - env->codeStart);
    unsigned char *ends = EtwAlloc((size_t)size + 1);
    memset(ends, INST_DONE, (size_t)size + 1);
    for (int at = 0; at < size && env->codeStart[at] <= LAST_INST_OPCODE;) {
        int end = at + table[env->codeStart[at]].numBytes;
        if (end > at && end <= size) {
            ends[end] = env->codeStart[at];
        }
        at = end > at ? end : size;
    }
    return ends;
}

static bool isCall(unsigned char op)
{
    return op == INST_INVOKE_STK1 || op == INST_INVOKE_STK4 || op == INST_INVOKE_EXPANDED;
}

/*
 * The end of a command's code; -1: not known. Tcl counts the instruction that drops the result, too, which the last
 * command of a script does not have.
 */
static int endOf(const CompileEnv *env, const unsigned char *ends, const EtwPlace *places, int i)
{
    const CmdLocation *l = &env->cmdMapPtr[i];
    int end = (int)(l->codeOffset + l->numCodeBytes);
    if (l->codeOffset < 0 || end <= l->codeOffset || end >= env->codeNext - env->codeStart) {
        return -1;
    }
    if (!places[i].followed) {
        return end;
    }
    return ends[end] == INST_POP ? end - 1 : -1;
}

/*
 * Sets inlined[] for each command: its code ends otherwise than with its own call. A call that ends an inlined
 * command is that of a command inside of it, which has the same end and comes later in the source.
 */
static bool *findInlined(const CompileEnv *env, const EtwPlace *places, const unsigned char *ends)
{
    bool *inlined = EtwAlloc((size_t)env->numCommands + 1);
    for (int i = env->numCommands - 1; i >= 0; i--) {
        int end = endOf(env, ends, places, i), up = places[i].parent;
        inlined[i] = end > env->cmdMapPtr[i].codeOffset && (inlined[i] || !isCall(ends[end]));
        if (up >= 0 && endOf(env, ends, places, up) == end) {
            inlined[up] = true;
        }
    }
    return inlined;
}

/* In the order of execution: behind commands, the inner one first; before commands, the outer one first. */
static int compareMarks(const void *left, const void *right)
{
    const EtwCodeMark *a = left, *b = right;
    const Mark *first = a->data, *second = b->data;
    if (a->at != b->at) {
        return a->at < b->at ? -1 : 1;
    }
    if (first->leave != second->leave) {
        return first->leave ? -1 : 1;
    }
    return (first->index < second->index) == first->leave ? 1 : -1;
}

static EtwCodeMark newMark(int index, bool leave, int from, int end)
{
    Mark *mark = EtwAlloc(sizeof *mark);
    *mark = (Mark){index, leave};
    return (EtwCodeMark){.at = leave ? end : from, .from = from, .end = end, .data = mark};
}

/* The ensemble etw is compiled, too. Like all commands of this package it is not reported. */
static bool isOwn(const CompileEnv *env, const EtwPlace *place)
{
    const char *name = env->source + place->from;
    int size = place->end - place->from;
    while (size > 0 && *name == ':') {
        name++;
        size--;
    }
    return size >= 3 && memcmp(name, "etw", 3) == 0 &&
           (size == 3 || strchr(" \t:", name[3]) != NULL);
}

static int findMarks(const CompileEnv *env, const EtwPlace *places, EtwCodeMark *marks)
{
    unsigned char *ends = findEnds(env);
    bool *inlined = findInlined(env, places, ends);
    int count = 0;
    for (int i = 0; i < env->numCommands; i++) {
        int from = (int)env->cmdMapPtr[i].codeOffset, end = endOf(env, ends, places, i);
        if (inlined[i] && !isOwn(env, &places[i])) {
            marks[count++] = newMark(i, false, from, end);
            marks[count++] = newMark(i, true, from, end);
        }
    }
    qsort(marks, (size_t)count, sizeof *marks, compareMarks);
    EtwFree(inlined);
    EtwFree(ends);
    return count;
}

static Step stepAt(const char *source, const EtwPlace *place)
{
    Step step = {.at = place->from,
            .size = place->end - place->from,
            .name = place->from,
            .parent = place->parent,
            .line = place->line};
    while (step.name + 1 < place->end && source[step.name] == ':') {
        step.name++;
    }
    step.size -= step.name - step.at;
    step.at = step.name;
    while (step.name + step.nameSize < place->end &&
            strchr(" \t\r\n\f\v;\\", source[step.name + step.nameSize]) == NULL) {
        step.nameSize++;
    }
    return step;
}

static Steps *newSteps(EtwScriptState *state, const CompileEnv *env, const EtwPlace *places)
{
    const ExtCmdLoc *map = env->extCmdMapPtr;
    Steps *script = EtwAlloc(sizeof *script + (size_t)env->numCommands * sizeof *script->steps);
    script->marks.refs = 1;
    script->marks.ops = &stepOps;
    script->state = state;
    script->interp = (Tcl_Interp *)env->iPtr;
    if (state != NULL) {
        state->refs++;
    }
    script->source = EtwAlloc((size_t)env->numSrcBytes + 1);
    memcpy(script->source, env->source, (size_t)env->numSrcBytes);
    if (map->type == TCL_LOCATION_SOURCE && map->path != NULL) {
        script->file = map->path;
        Tcl_IncrRefCount(script->file);
    }
    for (int i = 0; i < env->numCommands; i++) {
        script->steps[i] = stepAt(script->source, &places[i]);
    }
    return script;
}

static void markCode(EtwScriptState *state, CompileEnv *env)
{
    EtwPlace *places = EtwTclintPlaces(env);
    EtwCodeMark *marks = EtwAlloc((2 * (size_t)env->numCommands + 1) * sizeof *marks);
    int count = findMarks(env, places, marks);
    if (count > 0) {
        Steps *script = newSteps(state, env, places);
        EtwMarksInsert(&script->marks, env, marks, count);
        EtwMarksDrop(&script->marks);
    }
    EtwFree(places);
    EtwFree(marks);
}

/* Before Tcl's optimizer, which removes results that nothing uses. */
static void markAndOptimize(void *compileEnv)
{
    CompileEnv *env = compileEnv;
    EtwScriptState *state = EtwScriptStateOf((Tcl_Interp *)env->iPtr);
    if (state == NULL || (state->stepping && !EtwTclintCompilesLines())) {
        if (EtwTclintLooksValid(env, env->iPtr)) {
            markCode(state, env);
        }
    }
    if (state != NULL && state->optimizer != NULL) {
        state->optimizer(env);
    } else if (state == NULL && checkedOptimizer != NULL) {
        checkedOptimizer(env);
    }
}

void EtwTclintSteps(EtwScriptState *state, bool on)
{
    EtwTclintReplaceOptimizer(state, markAndOptimize, on);
}

bool EtwTclintHasSteps(void)
{
    return able;
}

/* ---- The self-check --------------------------------------------------------------------------- */

/* An inlined command of every kind: with and without an end, nested, in brackets, in an expression. */
static const char checkBody[] = "proc ::etwSteps n {\n"
                                "    set a [expr {$n + [string length abc]}]\n"
                                "    foreach x {1 2} {if {$x == 2} break else {incr a}}\n"
                                "    catch {error no} b\n"
                                "    list $a $b [llength [info frame 0]]\n"
                                "}";
static const char checkedBody[] =
        " (set (expr (string )string=3 )expr=5 )set=5 (foreach (if (incr )incr=6 )if=6 (if (break"
        " )foreach= (catch (error )catch=1";

void EtwTclintCheckSteps(Tcl_Interp *interp)
{
    TclintOptimizer **at = EtwTclintOptimizer((Interp *)interp);
    checkedOptimizer = *at;
    *at = markAndOptimize;
    Tcl_DStringInit(&checkedSteps);
    able = EtwTclintHasLines() && Tcl_EvalEx(interp, checkBody, -1, TCL_EVAL_GLOBAL) == TCL_OK;
    for (int i = 0; able && i < 2; i++) {
        Tcl_DStringSetLength(&checkedSteps, 0);
        able = Tcl_EvalEx(interp, "::etwSteps 2", -1, TCL_EVAL_GLOBAL) == TCL_OK &&
               strncmp(Tcl_GetStringResult(interp), "6 no ", 5) == 0 &&
               strncmp(Tcl_DStringValue(&checkedSteps), checkedBody, sizeof checkedBody - 1) == 0;
    }
    Tcl_DStringFree(&checkedSteps);
    *at = checkedOptimizer;
}

#endif
