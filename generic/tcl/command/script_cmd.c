/*
 * tcl/command/script_cmd.c --
 *
 *	The ensemble `etw script`: add, remove, list, run, sample, cover, variable, command. Parses the options and
 *	formats the results; generic/script traces.
 */
#include "tcl/core/tclglue.h"
#include "script/script.h"

static const char *const stepNames[] = {"off", "line", "full", NULL}; /* as EtwSteps */
static const char *const runStepNames[] = {"off", "full", NULL};      /* a body has no lines */

/* The options of all sub-commands. */
typedef struct ScriptOptions {
    int steps, args, maxLength, depth, source, builtins;
    Tcl_Obj *redact;
    Tcl_Obj *interp;
    Tcl_Obj *name;
    Tcl_Obj *ops;
    Tcl_Obj *counters;
    int remove;
    Tcl_Obj *interval; /* milliseconds, may have a fraction */
} ScriptOptions;

#define AT(field) offsetof(ScriptOptions, field)
#define TRACE_OPTIONS(stepNames)                                                                   \
    ETW_OPTION("-args", ETW_OPT_BOOL, AT(args), 0, 0, 0, NULL),                                    \
            ETW_OPTION("-depth", ETW_OPT_INT, AT(depth), 0, 1000000, 0, NULL),                     \
            ETW_OPTION("-maxlen", ETW_OPT_INT, AT(maxLength), 16, 57344, 0, NULL),                 \
            ETW_OPTION("-redact", ETW_OPT_LIST, AT(redact), 0, 0, 0, NULL),                        \
            ETW_OPTION("-source", ETW_OPT_BOOL, AT(source), 0, 0, 0, NULL),                        \
            ETW_OPTION("-steps", ETW_OPT_ENUM, AT(steps), 0, 0, 0, stepNames)
#define INTERP_OPTION ETW_OPTION("-interp", ETW_OPT_OBJ, AT(interp), 0, 0, 0, NULL)

static const EtwOption addOptions[] = {
        {"-builtins", ETW_OPT_BOOL, AT(builtins), 0, 0, 0, NULL},
        INTERP_OPTION,
        TRACE_OPTIONS(stepNames),
        ETW_OPTION_END,
};
static const EtwOption runOptions[] = {
        {"-name", ETW_OPT_OBJ, AT(name), 0, 0, 0, NULL},
        TRACE_OPTIONS(runStepNames),
        ETW_OPTION_END,
};
static const EtwOption interpOptions[] = {INTERP_OPTION, ETW_OPTION_END};
static const EtwOption sampleOptions[] = {
        {"-counters", ETW_OPT_LIST, AT(counters), 0, 0, 0, NULL},
        INTERP_OPTION,
        {"-interval", ETW_OPT_OBJ, AT(interval), 0, 0, 0, NULL},
        ETW_OPTION_END,
};
static const EtwOption traceOptions[] = {
        INTERP_OPTION,
        {"-ops", ETW_OPT_LIST, AT(ops), 0, 0, 0, NULL},
        {"-remove", ETW_OPT_BOOL, AT(remove), 0, 0, 0, NULL},
        ETW_OPTION_END,
};
#undef AT

static void toScript(const ScriptOptions *options, EtwScriptOptions *script)
{
    *script = (EtwScriptOptions){
            .steps = (EtwSteps)options->steps,
            .args = options->args,
            .maxLength = options->maxLength,
            .depth = options->depth,
            .source = options->source,
            .builtins = options->builtins,
            .redact = options->redact,
    };
}

/* The number of words before the options. */
static int countNames(int objc, Tcl_Obj *const objv[])
{
    int i = 0;
    while (i < objc && Tcl_GetString(objv[i])[0] != '-') {
        i++;
    }
    return i;
}

static Tcl_Interp *targetOf(Tcl_Interp *interp, const ScriptOptions *options)
{
    Tcl_Interp *target;
    if (options->interp == NULL || *Tcl_GetString(options->interp) == '\0') {
        return interp;
    }
    target = Tcl_GetChild(interp, Tcl_GetString(options->interp));
    if (target == NULL) {
        EtwTclFail(interp, ETW_E_LOOKUP, "INTERP", Tcl_GetString(options->interp),
                "there is no child interpreter \"%.100s\"", Tcl_GetString(options->interp));
    }
    return target;
}

/* ---- add, remove, list, run ------------------------------------------------------------------ */

static int addCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    ScriptOptions options = {.args = 1, .maxLength = ETW_SCRIPT_LENGTH};
    EtwScriptOptions script;
    Tcl_Interp *target;
    int count = countNames(objc - 1, objv + 1);
    (void)clientData;

    if (count == 0) {
        Tcl_WrongNumArgs(interp, 1, objv, "pattern ?pattern ...? ?-option value ...?");
        return TCL_ERROR;
    }
    if (EtwParseOptions(interp, addOptions, objc - 1 - count, objv + 1 + count, &options, NULL) !=
            TCL_OK) {
        return TCL_ERROR;
    }
    target = targetOf(interp, &options);
    toScript(&options, &script);
    return target ? EtwScriptAdd(interp, target, count, objv + 1, &script) : TCL_ERROR;
}

static int removeCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    ScriptOptions options = {0};
    Tcl_Interp *target;
    int count = countNames(objc - 1, objv + 1);
    (void)clientData;

    if (EtwParseOptions(interp, interpOptions, objc - 1 - count, objv + 1 + count, &options,
                NULL) != TCL_OK) {
        return TCL_ERROR;
    }
    target = targetOf(interp, &options);
    return target ? EtwScriptRemove(interp, target, count, objv + 1) : TCL_ERROR;
}

static int listCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    ScriptOptions options = {0};
    Tcl_Interp *target;
    (void)clientData;

    if (EtwParseOptions(interp, interpOptions, objc - 1, objv + 1, &options, NULL) != TCL_OK) {
        return TCL_ERROR;
    }
    target = targetOf(interp, &options);
    if (target == NULL) {
        return TCL_ERROR;
    }
    Tcl_SetObjResult(interp, EtwScriptList(target));
    return TCL_OK;
}

static int runNreCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    ScriptOptions options = {.args = 1, .maxLength = ETW_SCRIPT_LENGTH, .steps = 1};
    EtwScriptOptions script;
    (void)clientData;

    if (objc < 2) {
        Tcl_WrongNumArgs(interp, 1, objv, "body ?-option value ...?");
        return TCL_ERROR;
    }
    if (EtwParseOptions(interp, runOptions, objc - 2, objv + 2, &options, NULL) != TCL_OK) {
        return TCL_ERROR;
    }
    toScript(&options, &script);
    script.steps = options.steps ? ETW_STEPS_FULL : ETW_STEPS_OFF;
    return EtwScriptRun(
            interp, objv[1], &script, options.name ? Tcl_GetString(options.name) : "run");
}

static int runCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    return Tcl_NRCallObjProc(interp, runNreCmd, clientData, objc, objv);
}

static int sampleCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    ScriptOptions options = {0};
    uint32_t microseconds = 1000;
    double zero;
    Tcl_Interp *target;
    (void)clientData;

    if (EtwParseOptions(interp, sampleOptions, objc - 1, objv + 1, &options, NULL) != TCL_OK) {
        return TCL_ERROR;
    }
    if (options.interval != NULL && Tcl_GetDoubleFromObj(NULL, options.interval, &zero) == TCL_OK &&
            zero == 0) {
        microseconds = 0;
    } else if (EtwGetInterval(interp, options.interval, &microseconds) != TCL_OK) {
        return TCL_ERROR;
    }
    target = targetOf(interp, &options);
    return target ? EtwScriptSample(interp, target, microseconds, options.counters) : TCL_ERROR;
}

/* cover ?on|off|flush? ?-option value? */
static int coverCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    ScriptOptions options = {0};
    static const char *const what[] = {"flush", "off", "on", NULL};
    enum { FLUSH, OFF, ON };
    int words = countNames(objc - 1, objv + 1), chosen = ON;
    Tcl_Interp *target;
    (void)clientData;

    if (words > 1) {
        Tcl_WrongNumArgs(interp, 1, objv, "?on|off|flush? ?-option value ...?");
        return TCL_ERROR;
    }
    if ((words == 1 && Tcl_GetIndexFromObjStruct(interp, objv[1], what, sizeof *what, "action", 0,
                               &chosen) != TCL_OK) ||
            EtwParseOptions(interp, interpOptions, objc - 1 - words, objv + 1 + words, &options,
                    NULL) != TCL_OK) {
        return TCL_ERROR;
    }
    target = targetOf(interp, &options);
    if (target != NULL && chosen == FLUSH) {
        EtwScriptCoverFlush(target);
        return TCL_OK;
    }
    return target ? EtwScriptCover(interp, target, chosen == ON) : TCL_ERROR;
}

/* ---- variable, command ----------------------------------------------------------------------- */

typedef struct TraceOps {
    const char *names[4]; /* ends with NULL */
    int flags[4];
    int standard; /* when -ops is not given */
} TraceOps;

static int getOps(Tcl_Interp *interp, const TraceOps *known, Tcl_Obj *list, int *opsPtr)
{
    Tcl_Size count = 0;
    Tcl_Obj **words = NULL;

    *opsPtr = list == NULL ? known->standard : 0;
    if (list != NULL && Tcl_ListObjGetElements(interp, list, &count, &words) != TCL_OK) {
        return TCL_ERROR;
    }
    for (Tcl_Size i = 0; i < count; i++) {
        int index;
        if (Tcl_GetIndexFromObjStruct(interp, words[i], known->names, sizeof known->names[0],
                    "operation", 0, &index) != TCL_OK) {
            return TCL_ERROR;
        }
        *opsPtr |= known->flags[index];
    }
    if (*opsPtr == 0) {
        return EtwTclFail(interp, ETW_E_ARG, "OPS", "-ops",
                "expected at least one operation for \"-ops\" but got an empty list");
    }
    return TCL_OK;
}

typedef int TraceProc(Tcl_Interp *interp, Tcl_Obj *name, int ops, int add);

static int traceCmd(
        Tcl_Interp *interp, int objc, Tcl_Obj *const objv[], const TraceOps *known, TraceProc *proc)
{
    ScriptOptions options = {0};
    Tcl_Interp *target;
    int ops, result;

    if (objc < 2) {
        Tcl_WrongNumArgs(interp, 1, objv, "name ?-option value ...?");
        return TCL_ERROR;
    }
    if (EtwParseOptions(interp, traceOptions, objc - 2, objv + 2, &options, NULL) != TCL_OK ||
            getOps(interp, known, options.ops, &ops) != TCL_OK) {
        return TCL_ERROR;
    }
    target = targetOf(interp, &options);
    if (target == NULL) {
        return TCL_ERROR;
    }
    result = proc(target, objv[1], ops, !options.remove);
    if (target != interp) {
        Tcl_TransferResult(target, result, interp);
    }
    return result;
}

static int variableCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    static const TraceOps ops = {{"read", "unset", "write", NULL},
            {TCL_TRACE_READS, TCL_TRACE_UNSETS, TCL_TRACE_WRITES, 0},
            TCL_TRACE_WRITES | TCL_TRACE_UNSETS};
    (void)clientData;
    return traceCmd(interp, objc, objv, &ops, EtwScriptVariable);
}

static int commandCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    static const TraceOps ops = {{"delete", "rename", NULL, NULL},
            {TCL_TRACE_DELETE, TCL_TRACE_RENAME, 0, 0}, TCL_TRACE_RENAME | TCL_TRACE_DELETE};
    (void)clientData;
    return traceCmd(interp, objc, objv, &ops, EtwScriptCommand);
}

/* etw::lib::hideEnv ?NAMES?: for library/shim. Returns what is hidden. */
static int hideEnvCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    (void)clientData;
    if (objc > 2) {
        Tcl_WrongNumArgs(interp, 1, objv, "?names?");
        return TCL_ERROR;
    }
    if (objc == 2 && EtwScriptHideEnv(interp, objv[1]) != TCL_OK) {
        return TCL_ERROR;
    }
    Tcl_SetObjResult(interp, EtwScriptHiddenEnv(interp));
    return TCL_OK;
}

/* etw::lib::newInterps SCRIPT: for library/shim/attach.tcl. An empty script: none. */
static int newInterpsCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    (void)clientData;
    if (objc != 2) {
        Tcl_WrongNumArgs(interp, 1, objv, "script");
        return TCL_ERROR;
    }
    const char *script = Tcl_GetString(objv[1]);
    Tcl_SetObjResult(
            interp, Tcl_NewBooleanObj(EtwScriptNewInterps(*script != '\0' ? script : NULL)));
    return TCL_OK;
}

/* ---- The ensemble ---------------------------------------------------------------------------- */

int EtwScriptInit(Tcl_Interp *interp)
{
    static const EtwCommand commands[] = {
            {"add", addCmd, NULL, false},
            {"command", commandCmd, NULL, false},
            {"cover", coverCmd, NULL, false},
            {"list", listCmd, NULL, false},
            {"remove", removeCmd, NULL, false},
            {"run", runCmd, runNreCmd, false},
            {"sample", sampleCmd, NULL, false},
            {"variable", variableCmd, NULL, false},
            {NULL, NULL, NULL, false},
    };
    Tcl_CreateObjCommand(interp, "::etw::lib::hideEnv", hideEnvCmd, NULL, NULL);
    Tcl_CreateObjCommand(interp, "::etw::lib::newInterps", newInterpsCmd, NULL, NULL);
    return EtwMakeEnsemble(interp, "::etw::script", commands, false, NULL, 0);
}
