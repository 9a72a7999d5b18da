/*
 * script/calls.c --
 *
 *	What happens at the enter and the leave of a traced command: nesting, and the events.
 *	Nesting is kept per execution environment, because a coroutine leaves by `yield` in the middle of
 *	its calls. How commands are intercepted is the hook layer's business.
 */
#include "script/text.h"
#include "base/bytes.h"
#include "engine/provider.h"

/* ---- Scopes and contexts --------------------------------------------------------------------- */

EtwScope *EtwScopePush(EtwScope *outer, EtwRule *rule)
{
    EtwScope *scope = EtwAlloc(sizeof *scope);
    scope->refs = 1;
    scope->rule = EtwRuleKeep(rule);
    scope->outer = outer; /* takes the reference over */
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

/* An environment without open calls is as deep as the one that runs it. */
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

void EtwContextSwitch(EtwScriptState *state, void *env)
{
    EtwContext **at, *found;
    /* Put the old one aside even when it has no open calls: the new one may inherit from it. */
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
        scopeDrop(old->scope);
        EtwFree(old);
    }
}

void EtwContextFree(EtwScriptState *state)
{
    scopeDrop(state->now.scope);
    state->now.scope = NULL;
    while (state->waiting != NULL) {
        EtwContext *next = state->waiting->next;
        scopeDrop(state->waiting->scope);
        EtwFree(state->waiting);
        state->waiting = next;
    }
}

/* ---- Events ---------------------------------------------------------------------------------- */

/*
 * The fixed parts of an event and the names beside them are copied into a buffer or two, so that a
 * call without words takes one or two pieces; words and results are pieces of their own.
 */
typedef struct Part {
    size_t size;
    char data[2 * ETW_NAME_MAX + 64];
} Part;

static inline void partAdd(Part *part, const void *data, size_t size)
{
    memcpy(part->data + part->size, data, size);
    part->size += size;
}

static inline void partAdd16(Part *part, uint16_t value)
{
    memcpy(part->data + part->size, &value, sizeof value);
    part->size += sizeof value;
}

static inline void partSet16(Part *part, size_t at, uint16_t value)
{
    memcpy(part->data + at, &value, sizeof value);
}

static inline void addHead(Part *part, const EtwCall *call)
{
    uint64_t depth = call->packed & CALL_DEPTH;
    memcpy(part->data, &call->id, sizeof call->id);
    part->size = sizeof call->id;
    partAdd16(part, (uint16_t)(depth < 0xFFFF ? depth : 0xFFFF));
}

/* A text field of at most ETW_NAME_MAX bytes, mark included. */
static void addName(Part *part, EtwScriptState *state, const EtwPlace *place)
{
    size_t at = part->size;
    EtwPieces p;
    part->size += 2;
    EtwPiecesBegin(&p, state);
    EtwFieldBegin(&p, ETW_NAME_MAX - 32);
    for (int i = 0; i < place->pieces; i++) {
        EtwFieldTcl(&p, place->context[i].text, place->context[i].size);
    }
    partSet16(part, at, EtwFieldEnd(&p));
    for (int i = 0; i < p.count; i++) {
        partAdd(part, p.data[i].data, p.data[i].size);
    }
}

static inline void addContext(Part *part, EtwScriptState *state, const EtwPlace *place)
{
    if (place->real && place->context[0].size < ETW_NAME_MAX - 32) {
        partAdd16(part, (uint16_t)place->context[0].size);
        partAdd(part, place->context[0].text, place->context[0].size);
    } else {
        addName(part, state, place);
    }
}

static void addFile(Part *part, EtwScriptState *state, const EtwPlace *place)
{
    EtwPlace file = {.pieces = 1};
    Tcl_Size size;
    if (place->file == NULL) {
        partAdd16(part, 0);
        return;
    }
    file.context[0].text = Tcl_GetStringFromObj(place->file, &size);
    file.context[0].size = (size_t)size;
    addName(part, state, &file);
    Tcl_DecrRefCount(place->file);
}

/* The words of a command; name NULL: the first one as it was written. */
static void addWords(EtwPieces *p, const EtwRule *rule, const char *name, size_t nameSize, int objc,
        Tcl_Obj *const objv[])
{
    EtwFieldBegin(p, rule->maxLength);
    if (name != NULL) {
        EtwFieldElement(p, name, nameSize);
    } else {
        EtwFieldWord(p, objv[0], rule);
    }
    if (rule->options.args) {
        for (int i = 1; i < objc; i++) {
            EtwFieldWord(p, objv[i], rule);
        }
    }
}

uint64_t EtwWriteEnter(EtwScriptState *state, int event, const EtwRule *rule, const EtwCall *call,
        const char *name, size_t nameSize, int objc, Tcl_Obj *const objv[])
{
    EtwPlace place = {.pieces = 0};
    Part head, tail;
    EtwPieces p;

    etwHookLayer->place(state, &place, rule->options.source != 0);
    tail.size = 0;
    addContext(&tail, state, &place);
    addFile(&tail, state, &place);
    partAdd(&tail, &place.line, sizeof place.line);
    addHead(&head, call);
    EtwPiecesBegin(&p, state);
    EtwPiecesRaw(&p, head.data, head.size + 2);
    addWords(&p, rule, name, nameSize, objc, objv);
    partAdd16(&head, EtwFieldEnd(&p));
    EtwPiecesRaw(&p, tail.data, tail.size);
    return EtwWriteStamped(etwScriptEvents[event], p.data, p.count);
}

/*
 * The common case where cost matters, in one piece: short and plain words, no source. name NULL:
 * the first word as it was written. False: not that simple, nothing was written.
 */
static bool writeFlatEnter(EtwHook *hook, int event, const EtwRule *rule, const EtwCall *call,
        bool named, int objc, Tcl_Obj *const objv[], uint64_t *ticksPtr)
{
    enum { WORDS = 8 };
    EtwPlace place = {.pieces = 0};
    int words = rule->options.args ? objc : 1;
    Part head;
    Etw_Data data;
    char *at, *text;

    if (rule->options.source || rule->redactCount != 0 || words > WORDS ||
            rule->maxLength < WORDS * (ETW_FLAT_MAX + 3) + ETW_FLAT_MAX ||
            hook->wordSize > ETW_FLAT_MAX) {
        return false;
    }
    addHead(&head, call);
    text = at = head.data + head.size + 2;
    if (named) {
        memcpy(at, hook->word, hook->wordSize);
        at += hook->wordSize;
    }
    for (int i = named ? 1 : 0; i < words; i++) {
        if (i > 0) {
            *at++ = ' ';
        }
        at = EtwFlatWord(at, objv[i]);
        if (at == NULL) {
            return false;
        }
    }
    partAdd16(&head, (uint16_t)(at - text));
    head.size += (size_t)(at - text);
    etwHookLayer->place(hook->state, &place, false);
    addContext(&head, hook->state, &place);
    memset(head.data + head.size, 0, 6); /* File, Line */
    data = (Etw_Data){head.data, head.size + 6};
    *ticksPtr = EtwWriteStamped(etwScriptEvents[event], &data, 1);
    return true;
}

/* The Result field where it is none, or short and plain. */
static bool flatResult(Part *head, EtwScriptState *state, const EtwRule *rule)
{
    char *text = head->data + head->size + 2, *end = text;
    if (rule->options.args && state->interp != NULL) {
        if (rule->redactCount != 0 || rule->maxLength < ETW_FLAT_MAX) {
            return false;
        }
        end = EtwFlatValue(text, Tcl_GetObjResult(state->interp));
        if (end == NULL) {
            return false;
        }
    }
    partAdd16(head, (uint16_t)(end - text));
    head->size += (size_t)(end - text);
    return true;
}

/* Duration where the result has to be made into text first: what that costs is not the call's. */
static void setDuration(Part *head, size_t at, const EtwCall *call)
{
    uint64_t duration = EtwScriptNanoseconds(OsTicks() - call->ticks);
    memcpy(head->data + at, &duration, sizeof duration);
}

void EtwWriteLeave(EtwScriptState *state, int event, const EtwRule *rule, const EtwCall *call,
        const char *name, size_t nameSize, int code)
{
    EtwElapsed elapsed = {0, call->ticks, etwScriptScale};
    int32_t code32 = code;
    size_t cut = nameSize < ETW_NAME_MAX ? nameSize : ETW_NAME_MAX;
    Part head;
    EtwPieces p;

    addHead(&head, call);
    partAdd(&head, &code32, sizeof code32);
    elapsed.at = head.size;
    head.size += sizeof(uint64_t); /* Duration */
    partAdd16(&head, (uint16_t)cut);
    partAdd(&head, name, cut);
    if (flatResult(&head, state, rule)) {
        Etw_Data data = {head.data, head.size};
        EtwWriteElapsed(etwScriptEvents[event], &data, 1, &elapsed);
        return;
    }
    setDuration(&head, elapsed.at, call);
    EtwPiecesBegin(&p, state);
    EtwPiecesRaw(&p, head.data, head.size + 2);
    EtwFieldBegin(&p, rule->maxLength);
    EtwFieldValue(&p, Tcl_GetObjResult(state->interp), rule);
    partAdd16(&head, EtwFieldEnd(&p));
    Etw_Write(etwScriptEvents[event], p.data, p.count);
}

/* ---- Enter and leave ------------------------------------------------------------------------- */

/*
 * A step is shown as it was written, a call by its full name without the leading ::. Returns the
 * event's time, 0 when no session took it.
 */
static uint64_t writeEnter(
        EtwHook *hook, const EtwRule *rule, int objc, Tcl_Obj *const objv[], const EtwCall *call)
{
    bool step = (call->packed & CALL_STEP) != 0;
    int event = step ? EVENT_STEP_ENTER : EVENT_ENTER;
    uint64_t ticks;
    if (writeFlatEnter(hook, event, rule, call, !step, objc, objv, &ticks)) {
        return ticks;
    }
    return EtwWriteEnter(hook->state, event, rule, call, step ? NULL : hook->name + 2,
            step ? 0 : hook->nameSize - 2, objc, objv);
}

bool EtwCallEnter(EtwHook *hook, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[], int trace,
        EtwCall *call)
{
    EtwScriptState *state = hook->state;
    EtwContext *now = &state->now;
    EtwRule *rule = trace == TRACE_STEP ? now->scope->rule : hook->rule;
    uint64_t depth = (uint64_t)now->depth + 1;
    (void)interp;

    if (rule->options.depth > 0 && depth > (uint64_t)rule->options.depth) {
        return false;
    }
    call->id = EtwScriptNewId(state);
    call->ticks = 0;
    call->packed = depth;
    if (trace == TRACE_STEP) {
        call->packed |= CALL_STEP;
    } else if (rule->options.steps != ETW_STEPS_OFF) {
        call->packed |= CALL_SCOPE;
    }
    if (EtwScriptOn(trace == TRACE_STEP ? KEYWORD_STEP : KEYWORD_CALL)) {
        call->ticks = writeEnter(hook, rule, objc, objv, call);
    }
    if (call->packed & CALL_SCOPE) {
        now->scope = EtwScopePush(now->scope, rule);
    }
    now->depth++;
    now->open++;
    EtwHookRef(hook);
    if (call->ticks == 0) {
        call->ticks = OsTicks();
    }
    return true;
}

void EtwCallLeave(EtwHook *hook, Tcl_Interp *interp, const EtwCall *call, int code)
{
    EtwScriptState *state = hook->state;
    EtwContext *now = &state->now;
    bool step = (call->packed & CALL_STEP) != 0;

    if (now->env != etwHookLayer->currentEnv(interp)) {
        EtwContextSwitch(state, etwHookLayer->currentEnv(interp));
    }
    if (call->packed & CALL_SCOPE) {
        now->scope = EtwScopePop(now->scope);
    }
    now->depth = (int)(call->packed & CALL_DEPTH) - 1;
    now->open--;
    if (EtwScriptOn(step ? KEYWORD_STEP : KEYWORD_CALL)) {
        /* A step's rule is that of the call around it, which is still open. */
        const EtwRule *rule = step && now->scope ? now->scope->rule : hook->rule;
        if (rule != NULL) {
            EtwWriteLeave(state, step ? EVENT_STEP_LEAVE : EVENT_LEAVE, rule, call, hook->name + 2,
                    hook->nameSize - 2, code);
        }
    }
    EtwHookUnref(hook);
}
