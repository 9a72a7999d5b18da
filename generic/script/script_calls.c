/*
 * script/script_calls.c --
 *
 *	Enter and leave of a traced command: nesting, and the events. Nesting is kept per execution
 *	environment, because a coroutine's `yield` leaves it in the middle of its calls. The hook
 *	layer intercepts the commands.
 */
#include "script/script_fields.h"
#include "script/script_redact.h"
#include "base/alloc.h"
#include "base/bytes.h"

/* ---- Scopes and contexts --------------------------------------------------------------------- */

EtwScope *EtwScopePush(EtwScope *outer, EtwRule *rule)
{
    EtwScope *scope = EtwAlloc(sizeof *scope);
    scope->refs = 1;
    scope->rule = EtwRuleKeep(rule);
    scope->outer = outer; /* takes over the caller's reference */
    return scope;
}

static void scopeDrop(EtwScope *scope)
{
    while (scope != NULL && --scope->refs == 0) {
        EtwScope *outer = scope->outer;
        EtwRuleDrop(scope->rule);
        EtwFree(scope);
        scope = outer;
    }
}

static EtwScope *scopeKeep(EtwScope *scope)
{
    if (scope != NULL) {
        scope->refs++;
    }
    return scope;
}

EtwScope *EtwScopePop(EtwScope *scope)
{
    EtwScope *outer;
    if (scope == NULL) {
        return NULL;
    }
    outer = scopeKeep(scope->outer);
    scopeDrop(scope);
    return outer;
}

static EtwContext **findWaiting(EtwScriptState *state, const void *env)
{
    EtwContext **at = &state->waiting;
    while (*at != NULL && (*at)->env != env) {
        at = &(*at)->next;
    }
    return at;
}

/* Before the calls of a context that are deeper end. */
static inline void cutSteps(EtwScriptState *state, EtwContext *context, int depth, int code)
{
    if (__builtin_expect(context->stepCount > 0, 0)) {
        etwHookLayer->cutSteps(state, context, depth, code);
    }
}

/* An environment without open calls starts at the depth of the environment that runs it. */
static void inherit(EtwScriptState *state, EtwContext *context)
{
    const EtwContext *from = NULL;
    void *env = context->env;
    while (from == NULL && (env = etwHookLayer->callerEnv(env)) != NULL) {
        from = *findWaiting(state, env);
    }
    context->depth = from ? from->depth : 0;
    context->scope = scopeKeep(from ? from->scope : NULL);
}

static void contextClear(EtwScriptState *state, EtwContext *context)
{
    cutSteps(state, context, 0, TCL_ERROR);
    scopeDrop(context->scope);
    context->scope = NULL;
    EtwFree(context->lineCalls);
    context->lineCalls = NULL;
    context->lineCapacity = 0;
    EtwFree(context->steps);
    context->steps = NULL;
    context->stepCapacity = 0;
}

void EtwContextSwitch(EtwScriptState *state, void *env)
{
    EtwContext **at, *found;
    /* Save the old one even without open calls: the new one may inherit from it. */
    EtwContext *old = EtwAlloc(sizeof *old);
    *old = state->now;
    old->next = state->waiting;
    state->waiting = old;
    at = findWaiting(state, env);
    found = *at;
    if (found != NULL) {
        *at = found->next;
        state->now = *found;
        EtwFree(found);
    } else {
        state->now = (EtwContext){.env = env};
        inherit(state, &state->now);
    }
    state->now.next = NULL;
    if (old->open == 0) {
        at = findWaiting(state, old->env);
        *at = old->next;
        contextClear(state, old);
        EtwFree(old);
    }
}

void EtwContextFree(EtwScriptState *state)
{
    contextClear(state, &state->now);
    while (state->waiting != NULL) {
        EtwContext *next = state->waiting->next;
        contextClear(state, state->waiting);
        EtwFree(state->waiting);
        state->waiting = next;
    }
}

/* ---- Events ---------------------------------------------------------------------------------- */

/*
 * The fixed parts of an event and the names next to them are stored in one or two buffers of this size. A call
 * without words therefore needs one or two pieces. Words and results are separate pieces.
 */
enum { PART = 2 * ETW_NAME_MAX + 64 };

/* Store a text field of at most ETW_NAME_MAX bytes, including the mark of truncation. */
static char *putName(char *at, EtwScriptState *state, const EtwCallSite *place)
{
    EtwPieces p;
    EtwPiecesBegin(&p, state);
    EtwFieldBegin(&p, ETW_NAME_MAX - 32);
    for (int i = 0; i < place->pieces; i++) {
        EtwFieldTcl(&p, place->context[i].text, place->context[i].size);
    }
    at = put16(at, EtwFieldEnd(&p));
    for (int i = 0; i < p.count; i++) {
        memcpy(at, p.data[i].data, p.data[i].size);
        at += p.data[i].size;
    }
    return at;
}

char *EtwPutContext(char *at, EtwScriptState *state, const EtwCallSite *place)
{
    if (place->real && place->context[0].size < ETW_NAME_MAX - 32) {
        return putText(at, place->context[0].text, place->context[0].size);
    }
    return putName(at, state, place);
}

static char *putFile(char *at, EtwScriptState *state, const EtwCallSite *place)
{
    EtwCallSite file = {.pieces = 1};
    Tcl_Size size;
    if (place->file == NULL) {
        return put16(at, 0);
    }
    file.context[0].text = Tcl_GetStringFromObj(place->file, &size);
    file.context[0].size = (size_t)size;
    at = putName(at, state, &file);
    Tcl_DecrRefCount(place->file);
    return at;
}

/* Add the words of a command; the first one is its name. */
static void addWords(EtwPieces *p, const EtwRule *rule, const char *name, size_t nameSize, int objc,
        Tcl_Obj *const objv[])
{
    EtwFieldBegin(p, rule->maxLength);
    EtwFieldElement(p, name, nameSize);
    if (rule->options.args) {
        for (int i = 1; i < objc; i++) {
            EtwFieldWord(p, objv[i], rule);
        }
    }
}

static inline bool isStep(const EtwCall *call)
{
    return (call->packed & CALL_STEP) != 0;
}

static inline int enterEvent(const EtwCall *call)
{
    return isStep(call) ? ETW_SCRIPT_STEP_ENTER : ETW_SCRIPT_ENTER;
}

static inline int leaveEvent(const EtwCall *call)
{
    return isStep(call) ? ETW_SCRIPT_STEP_LEAVE : ETW_SCRIPT_LEAVE;
}

/* The parts of an enter around its command: Context, File and Line. Returns the end. */
static char *putPlace(char *at, EtwScriptState *state, const EtwCallSite *place)
{
    at = EtwPutContext(at, state, place);
    at = putFile(at, state, place);
    return put32(at, place->line);
}

uint64_t EtwWriteEnter(EtwScriptState *state, const EtwRule *rule, const EtwCall *call,
        const char *name, size_t nameSize, int objc, Tcl_Obj *const objv[])
{
    EtwCallSite place;
    char head[PART], tail[PART], *at, *tailEnd;
    EtwPieces p;

    etwHookLayer->place(state, &place, rule->options.source != 0);
    tailEnd = putPlace(tail, state, &place);
    at = putHead(head, call);
    EtwPiecesBegin(&p, state);
    EtwPiecesRaw(&p, head, (size_t)(at + 2 - head));
    addWords(&p, rule, name, nameSize, objc, objv);
    put16(at, EtwFieldEnd(&p));
    EtwPiecesRaw(&p, tail, (size_t)(tailEnd - tail));
    return EtwScriptWrite(state, rule, enterEvent(call), p.data, p.count, NULL);
}

uint64_t EtwWriteStep(EtwScriptState *state, const EtwRule *rule, const EtwCall *call,
        EtwCallSite *place, Tcl_Obj *text)
{
    char head[PART], tail[PART], *at, *tailEnd;
    EtwPieces p;

    tailEnd = putPlace(tail, state, place);
    at = putHead(head, call);
    EtwPiecesBegin(&p, state);
    EtwPiecesRaw(&p, head, (size_t)(at + 2 - head));
    EtwFieldBegin(&p, rule->maxLength);
    EtwFieldValue(&p, text, rule);
    put16(at, EtwFieldEnd(&p));
    EtwPiecesRaw(&p, tail, (size_t)(tailEnd - tail));
    return EtwScriptWrite(state, rule, enterEvent(call), p.data, p.count, NULL);
}

/*
 * Write the event as one piece if all words are short and plain and no source is requested. This is
 * the common case where cost matters. Sets call->ticks. False: not possible, nothing was written.
 */
static bool writeFlatEnter(
        EtwHook *hook, const EtwRule *rule, EtwCall *call, int objc, Tcl_Obj *const objv[])
{
    int words = rule->options.args ? objc : 1;
    EtwCallSite place;
    char head[PART], *at, *text;

    if (!rule->flat || rule->options.source || words > ETW_FLAT_WORDS ||
            hook->wordSize > ETW_FLAT_MAX) {
        return false;
    }
    text = putHead(head, call) + 2;
    EtwCopyShort(text, hook->word, hook->wordSize);
    at = text + hook->wordSize;
    for (int i = 1; i < words; i++) {
        *at++ = ' ';
        at = EtwFlatWord(at, objv[i]);
        if (at == NULL) {
            return false;
        }
    }
    put16(text - 2, (size_t)(at - text));
    etwHookLayer->place(hook->state, &place, false);
    at = EtwPutContext(at, hook->state, &place);
    at = put32(put16(at, 0), 0); /* File, Line */
    call->ticks = EtwScriptWrite(
            hook->state, rule, enterEvent(call), &(Etw_Data){head, (size_t)(at - head)}, 1, NULL);
    return true;
}

/* Store the Result field if it is empty, or short and plain; otherwise NULL. */
static inline char *putFlatResult(char *at, Tcl_Obj *result, const EtwRule *rule)
{
    char *end = at + 2;
    if (rule->options.args && result != NULL) {
        end = rule->flat ? EtwFlatValue(end, result) : NULL;
    }
    if (end != NULL) {
        put16(at, (size_t)(end - at - 2));
    }
    return end;
}

void EtwWriteLeave(EtwScriptState *state, const EtwRule *rule, const EtwCall *call,
        const char *name, size_t nameSize, int code, Tcl_Obj *result)
{
    char head[PART], *at, *duration, *end;
    EtwPieces p;

    duration = put32(putHead(head, call), (uint32_t)code);
    at = putText(duration + 8, name, nameSize < ETW_NAME_MAX ? nameSize : ETW_NAME_MAX);
    end = putFlatResult(at, result, rule);
    if (end != NULL) {
        EtwElapsed elapsed = {(size_t)(duration - head), call->ticks, etwScriptScale};
        EtwScriptWrite(state, rule, leaveEvent(call), &(Etw_Data){head, (size_t)(end - head)}, 1,
                &elapsed);
        return;
    }
    /* Convert the result after taking the time: the call's duration excludes the conversion. */
    EtwStore64(duration, EtwScriptNanoseconds(OsTicks() - call->ticks));
    EtwPiecesBegin(&p, state);
    EtwPiecesRaw(&p, head, (size_t)(at + 2 - head));
    EtwFieldBegin(&p, rule->maxLength);
    EtwFieldValue(&p, result, rule);
    put16(at, EtwFieldEnd(&p));
    EtwScriptWrite(state, rule, leaveEvent(call), p.data, p.count, NULL);
}

/* ---- Enter and leave ------------------------------------------------------------------------- */

/* The event has the command's full name without the leading ::. */
static void writeEnter(
        EtwHook *hook, const EtwRule *rule, int objc, Tcl_Obj *const objv[], EtwCall *call)
{
    if (!writeFlatEnter(hook, rule, call, objc, objv)) {
        call->ticks = EtwWriteEnter(
                hook->state, rule, call, hook->name + 2, hook->nameSize - 2, objc, objv);
    }
}

/* Store the call at the context's current depth. */
static void keepLineCall(EtwContext *now, const EtwHook *hook, uint64_t id)
{
    if (now->depth >= now->lineCapacity) {
        int capacity = now->depth * 2 + 16;
        now->lineCalls = EtwRealloc(now->lineCalls, (size_t)capacity * sizeof *now->lineCalls);
        memset(now->lineCalls + now->lineCapacity, 0,
                (size_t)(capacity - now->lineCapacity) * sizeof *now->lineCalls);
        now->lineCapacity = capacity;
    }
    now->lineCalls[now->depth] = (EtwLineCall){.id = id, .hook = hook};
}

static void probeEnter(const EtwHook *hook, const EtwRule *rule, unsigned depth, uint64_t id)
{
    char *redacted = EtwRedactName(hook->state, rule, hook->name + 2);
    EtwProbeEnter(redacted != NULL ? redacted : hook->name + 2, depth, id);
    EtwFree(redacted);
}

static void probeLeave(const EtwHook *hook, int code, const EtwCall *call)
{
    char *redacted = EtwRedactName(hook->state, hook->rule, hook->name + 2);
    EtwProbeLeave(redacted != NULL ? redacted : hook->name + 2, code,
            EtwScriptNanoseconds(OsTicks() - call->ticks), call->id);
    EtwFree(redacted);
}

bool EtwCallEnter(EtwHook *hook, int objc, Tcl_Obj *const objv[], int trace, EtwCall *call)
{
    EtwScriptState *state = hook->state;
    EtwContext *now = &state->now;
    EtwRule *rule = trace == TRACE_STEP ? now->scope->rule : hook->rule;
    uint64_t depth = (uint64_t)now->depth + 1;

    if (rule->options.depth > 0 && depth > (uint64_t)rule->options.depth) {
        return false;
    }
    call->id = EtwScriptNewId(state);
    call->ticks = 0;
    call->packed = depth;
    if (trace == TRACE_STEP) {
        call->packed |= CALL_STEP;
    } else if (rule->options.steps == ETW_STEPS_FULL) {
        call->packed |= CALL_SCOPE;
    }
    if (trace == TRACE_STEP ||
            EtwScriptOn(ETW_KEYWORD_CALL)) { /* for steps EtwHookWants has checked the keyword */
        writeEnter(hook, rule, objc, objv, call);
    }
    if (call->packed & CALL_SCOPE) {
        now->scope = EtwScopePush(now->scope, rule);
    }
    now->depth++;
    now->open++;
    if (trace == TRACE_CALL && rule->options.steps == ETW_STEPS_LINE) {
        keepLineCall(now, hook, call->id);
    }
    EtwHookRef(hook);
    if (call->ticks == 0) {
        call->ticks = OsTicks();
    }
    if (trace == TRACE_CALL && EtwProbed()) {
        probeEnter(hook, rule, (unsigned)depth, call->id);
    }
    return true;
}

void EtwCallLeave(EtwHook *hook, const EtwCall *call, int code)
{
    EtwScriptState *state = hook->state;
    EtwContext *now = &state->now;
    bool step = isStep(call);

    cutSteps(state, now, (int)(call->packed & CALL_DEPTH), code);
    if (call->packed & CALL_SCOPE) {
        now->scope = EtwScopePop(now->scope);
    }
    now->depth = (int)(call->packed & CALL_DEPTH) - 1;
    now->open--;
    if (!step && EtwProbed()) {
        probeLeave(hook, code, call);
    }
    if (EtwScriptOn(step ? ETW_KEYWORD_STEP : ETW_KEYWORD_CALL)) {
        /* A step uses the rule of the enclosing call, which is still open. */
        const EtwRule *rule = step && now->scope ? now->scope->rule : hook->rule;
        if (rule != NULL) {
            EtwWriteLeave(state, rule, call, hook->name + 2, hook->nameSize - 2, code,
                    EtwScriptResult(state));
        }
    }
    EtwHookUnref(hook);
}

/* ---- Calls without a hooked command ---------------------------------------------------------- */

static void followEnv(EtwScriptState *state, Tcl_Interp *interp)
{
    void *env = etwHookLayer->currentEnv(interp);
    if (state->now.env != env) {
        EtwContextSwitch(state, env);
    }
}

void EtwNestBegin(EtwScriptState *state, Tcl_Interp *interp, EtwCall *call)
{
    followEnv(state, interp);
    call->id = EtwScriptNewId(state);
    call->packed = (uint64_t)++state->now.depth;
    state->now.open++;
}

void EtwNestEnd(EtwScriptState *state, Tcl_Interp *interp, const EtwCall *call)
{
    followEnv(state, interp);
    cutSteps(state, &state->now, (int)(call->packed & CALL_DEPTH), TCL_OK);
    state->now.depth = (int)(call->packed & CALL_DEPTH) - 1;
    state->now.open--;
}
