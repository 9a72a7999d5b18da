/*
 * script/trace_state.c --
 *
 *	The state of a traced interpreter: created at the first `etw script` command that needs it,
 *	freed with the interpreter. Patterns and their options; add, remove and list.
 */
#include "script/script_redact.h"
#include "base/alloc.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char assocKey[] = "etw::script";

/* States of this thread's interpreters; each is added and removed by this thread. */
static __thread EtwScriptState *threadStates;

int EtwScriptFail(Tcl_Interp *interp, EtwStatus status, const char *detail, const char *subject,
        const char *format, ...)
{
    char message[700];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    Tcl_SetObjResult(interp, Tcl_NewStringObj(message, -1));
    Tcl_SetErrorCode(interp, "ETW", EtwStatusName(status), detail, subject, (char *)NULL);
    return TCL_ERROR;
}

/* ---- Rules ----------------------------------------------------------------------------------- */

EtwRule *EtwRuleNew(const EtwScriptOptions *options)
{
    EtwRule *rule = EtwAlloc(sizeof *rule);
    int max = options->maxLength;
    rule->refs = 1;
    rule->options = *options;
    rule->options.redact = NULL;
    rule->maxLength = max < 0 ? 0 : max > ETW_TEXT_MAX ? ETW_TEXT_MAX : (size_t)max;
    rule->redaction = EtwRedactionNew(options->redact);
    rule->flat = rule->redaction == NULL &&
                 rule->maxLength >= ETW_FLAT_WORDS * (ETW_FLAT_MAX + 3) + ETW_FLAT_MAX;
    return rule;
}

void EtwRuleDrop(EtwRule *rule)
{
    if (rule == NULL || --rule->refs > 0) {
        return;
    }
    EtwRedactionFree(rule->redaction);
    EtwFree(rule);
}

/* ---- Patterns -------------------------------------------------------------------------------- */

static const char *withoutColons(const char *name)
{
    if (name[0] == ':' && name[1] == ':') {
        while (*name == ':') {
            name++;
        }
    }
    return name;
}

static EtwPattern **findPattern(EtwScriptState *state, const char *glob)
{
    EtwPattern **at = &state->patterns;
    while (*at != NULL && strcmp((*at)->glob, glob) != 0) {
        at = &(*at)->next;
    }
    return at;
}

static void unlinkPattern(EtwScriptState *state, EtwPattern **at)
{
    EtwPattern *pattern = *at;
    *at = pattern->next;
    state->generation++;
    if (pattern->rule->options.steps == ETW_STEPS_FULL) {
        state->stepUsers--;
    }
    EtwRedactUse(state, pattern->rule, -1);
    EtwRuleDrop(pattern->rule);
    EtwFree(pattern->glob);
    EtwFree(pattern);
}

static void linkPattern(EtwScriptState *state, const char *glob, EtwRule *rule)
{
    EtwPattern **old = findPattern(state, glob);
    EtwPattern *pattern = EtwAlloc(sizeof *pattern);
    if (*old != NULL) {
        unlinkPattern(state, old);
    }
    pattern->glob = EtwStrdup(glob);
    pattern->exact = strpbrk(glob, "*?[\\") == NULL;
    pattern->rule = EtwRuleKeep(rule);
    pattern->next = state->patterns;
    state->patterns = pattern;
    EtwRedactUse(state, rule, 1);
    state->generation++;
    if (rule->options.steps == ETW_STEPS_FULL) {
        state->stepUsers++;
    }
}

static bool isOwnCommand(const char *name)
{
    return strncmp(name, "etw::", 5) == 0 || strcmp(name, "etw") == 0;
}

EtwRule *EtwScriptMatch(EtwScriptState *state, const char *name, bool wild)
{
    EtwRule *rule = NULL;
    name = withoutColons(name);
    for (const EtwPattern *p = state->patterns; p != NULL; p = p->next) {
        if (p->exact) {
            if (strcmp(p->glob, name) == 0) {
                return p->rule; /* takes precedence over all wildcards */
            }
        } else if (rule == NULL && (wild || p->rule->options.builtins) && !isOwnCommand(name) &&
                   Tcl_StringMatch(name, p->glob)) {
            rule = p->rule;
        }
    }
    return rule;
}

/* ---- The state ------------------------------------------------------------------------------- */

EtwScriptState *EtwScriptStateOf(Tcl_Interp *interp)
{
    return Tcl_GetAssocData(interp, assocKey, NULL);
}

EtwScriptState *EtwScriptThreadStates(void)
{
    return threadStates;
}

void EtwScriptStateDrop(EtwScriptState *state)
{
    if (--state->refs > 0) {
        return;
    }
    etwHookLayer->close(state);
    EtwContextFree(state);
    EtwFree(state->scratch);
    EtwTextFree(&state->payload);
    EtwTextFree(&state->redacted);
    EtwFree(state);
}

static void forgetState(EtwScriptState *state)
{
    EtwScriptState **at = &threadStates;
    while (*at != NULL && *at != state) {
        at = &(*at)->nextInThread;
    }
    if (*at != NULL) {
        *at = state->nextInThread;
    }
}

/* The interpreter is being deleted. Its commands were deleted before, including the hidden ones. */
static void deleteState(void *clientData, Tcl_Interp *interp)
{
    EtwScriptState *state = clientData;
    (void)interp;
    while (state->patterns != NULL) {
        unlinkPattern(state, &state->patterns);
    }
    EtwSampleStop(state);
    EtwCoverageStop(state);
    etwHookLayer->active(state, false);
    state->interp = NULL;
    forgetState(state);
    EtwScriptStateDrop(state);
}

EtwScriptState *EtwScriptStateMake(Tcl_Interp *interp)
{
    EtwScriptState *state = EtwScriptStateOf(interp);
    if (state == NULL) {
        state = EtwAlloc(sizeof *state);
        state->interp = interp;
        state->refs = 1;
        state->nextInThread = threadStates;
        threadStates = state;
        etwHookLayer->open(state);
        state->now.env = etwHookLayer->currentEnv(interp);
        Tcl_SetAssocData(interp, assocKey, deleteState, state);
    }
    return state;
}

/* Update the hooks to the current patterns and users of steps. */
static void apply(EtwScriptState *state)
{
    bool stepping = state->stepUsers > 0;
    etwHookLayer->active(state, state->patterns != NULL || stepping);
    if (stepping != state->stepping) {
        state->stepping = stepping;
        etwHookLayer->stepping(state, stepping);
    }
    EtwHookScan(state);
    for (const EtwPattern *p = state->patterns; p != NULL && !etwHookLayer->scans; p = p->next) {
        if (p->exact) {
            EtwHookSyncName(state, p->glob, "::");
        }
    }
}

void EtwScriptStepUser(EtwScriptState *state, int change)
{
    state->stepUsers += change;
    if ((state->stepUsers > 0) != state->stepping && state->interp != NULL &&
            !Tcl_InterpDeleted(state->interp)) {
        apply(state);
    }
}

/* ---- Add, remove, list ----------------------------------------------------------------------- */

static int checkTarget(Tcl_Interp *interp, Tcl_Interp *target)
{
    if (Tcl_InterpDeleted(target)) {
        return EtwScriptFail(
                interp, ETW_E_STATE, "DELETED", "", "the interpreter is being deleted");
    }
    return EtwScriptProviderOpen(interp);
}

static int checkSteps(
        Tcl_Interp *interp, const EtwScriptState *state, const EtwScriptOptions *options)
{
    if (options->steps == ETW_STEPS_LINE &&
            (etwHookLayer->hasLines == NULL || !etwHookLayer->hasLines())) {
        return EtwScriptFail(interp, ETW_E_UNSUPPORTED, "STEPS", "line",
                "\"-steps line\" is not available: the package knows the private interface of Tcl "
                "8.6 only; use \"-steps full\"");
    }
    if (options->steps != ETW_STEPS_OFF && state != NULL && state->coverage != NULL) {
        return EtwScriptFail(interp, ETW_E_STATE, "COVERAGE", "-steps",
                "\"-steps\" and coverage exclude each other, and the interpreter's commands are "
                "counted: "
                "\"etw script cover off\" ends that");
    }
    return TCL_OK;
}

int EtwScriptAdd(Tcl_Interp *interp, Tcl_Interp *target, int count, Tcl_Obj *const patterns[],
        const EtwScriptOptions *options)
{
    EtwScriptState *state;
    EtwRule *rule;
    Tcl_Size globs;
    if (options->redact != NULL && Tcl_ListObjLength(interp, options->redact, &globs) != TCL_OK) {
        return TCL_ERROR;
    }
    for (int i = 0; i < count; i++) {
        if (*withoutColons(Tcl_GetString(patterns[i])) == '\0') {
            return EtwScriptFail(interp, ETW_E_ARG, "PATTERN", Tcl_GetString(patterns[i]),
                    "expected a pattern of commands, such as http::*, but got an empty one");
        }
    }
    if (checkTarget(interp, target) != TCL_OK ||
            checkSteps(interp, EtwScriptStateOf(target), options) != TCL_OK) {
        return TCL_ERROR;
    }
    state = EtwScriptStateMake(target);
    rule = EtwRuleNew(options);
    for (int i = 0; i < count; i++) {
        linkPattern(state, withoutColons(Tcl_GetString(patterns[i])), rule);
    }
    EtwRuleDrop(rule);
    apply(state);
    return TCL_OK;
}

static int noPattern(Tcl_Interp *interp, const EtwScriptState *state, const char *name)
{
    Tcl_DString known;
    Tcl_DStringInit(&known);
    for (const EtwPattern *p = state ? state->patterns : NULL; p != NULL; p = p->next) {
        Tcl_DStringAppendElement(&known, p->glob);
    }
    EtwScriptFail(interp, ETW_E_LOOKUP, "PATTERN", name,
            "no pattern \"%.100s\" is traced in that interpreter; existing ones: %.500s", name,
            Tcl_DStringLength(&known) ? Tcl_DStringValue(&known) : "none");
    Tcl_DStringFree(&known);
    return TCL_ERROR;
}

int EtwScriptRemove(Tcl_Interp *interp, Tcl_Interp *target, int count, Tcl_Obj *const patterns[])
{
    EtwScriptState *state = EtwScriptStateOf(target);
    for (int i = 0; i < count; i++) {
        const char *name = Tcl_GetString(patterns[i]);
        if (state == NULL || *findPattern(state, withoutColons(name)) == NULL) {
            return noPattern(interp, state, name);
        }
    }
    if (state == NULL) {
        return TCL_OK;
    }
    for (int i = 0; i < count; i++) {
        EtwPattern **at = findPattern(state, withoutColons(Tcl_GetString(patterns[i])));
        if (*at != NULL) { /* a pattern may occur twice in the arguments */
            unlinkPattern(state, at);
        }
    }
    while (count == 0 && state->patterns != NULL) {
        unlinkPattern(state, &state->patterns);
    }
    apply(state);
    return TCL_OK;
}

static void put(Tcl_Obj *dict, const char *key, Tcl_Obj *value)
{
    Tcl_DictObjPut(NULL, dict, Tcl_NewStringObj(key, -1), value);
}

static Tcl_Obj *commandsOf(EtwScriptState *state, const EtwPattern *pattern)
{
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);
    for (const EtwHook *h = state->hooks; h != NULL; h = h->next) {
        if ((h->what & HOOK_CALL) && h->rule == pattern->rule &&
                Tcl_StringMatch(h->name + 2, pattern->glob)) {
            Tcl_ListObjAppendElement(NULL, list, Tcl_NewStringObj(h->name, (Tcl_Size)h->nameSize));
        }
    }
    return list;
}

static Tcl_Obj *missedOf(EtwScriptState *state, const EtwPattern *pattern)
{
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);
    Tcl_Size count = 0;
    Tcl_Obj **names = NULL;
    Tcl_ListObjGetElements(NULL, state->missed, &count, &names);
    for (Tcl_Size i = 0; i < count; i++) {
        if (Tcl_StringMatch(Tcl_GetString(names[i]) + 2, pattern->glob)) {
            Tcl_ListObjAppendElement(NULL, list, names[i]);
        }
    }
    return list;
}

static Tcl_Obj *patternDict(EtwScriptState *state, const EtwPattern *pattern)
{
    static const char *const steps[] = {"off", "line", "full"};
    const EtwRule *rule = pattern->rule;
    Tcl_Obj *dict = Tcl_NewDictObj();
    put(dict, "pattern", Tcl_NewStringObj(pattern->glob, -1));
    put(dict, "steps", Tcl_NewStringObj(steps[rule->options.steps], -1));
    put(dict, "args", Tcl_NewBooleanObj(rule->options.args));
    put(dict, "maxlen", Tcl_NewWideIntObj((Tcl_WideInt)rule->maxLength));
    put(dict, "depth", Tcl_NewWideIntObj(rule->options.depth));
    put(dict, "source", Tcl_NewBooleanObj(rule->options.source));
    put(dict, "builtins", Tcl_NewBooleanObj(rule->options.builtins));
    put(dict, "redact", EtwRedactionList(rule->redaction));
    put(dict, "commands", commandsOf(state, pattern));
    put(dict, "missed", missedOf(state, pattern));
    return dict;
}

Tcl_Obj *EtwScriptList(Tcl_Interp *target)
{
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);
    EtwScriptState *state = EtwScriptStateOf(target);
    if (state == NULL) {
        return list;
    }
    state->missed = Tcl_NewListObj(0, NULL);
    Tcl_IncrRefCount(state->missed);
    EtwHookScan(state);
    for (const EtwPattern *p = state->patterns; p != NULL; p = p->next) {
        Tcl_ListObjAppendElement(NULL, list, patternDict(state, p));
    }
    Tcl_DecrRefCount(state->missed);
    state->missed = NULL;
    return list;
}
