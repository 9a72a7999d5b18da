/*
 * tcl/consume/consume_cmd.c --
 *
 *	etw events, etw foreach, and etw consume in the foreground: read a query's events in the
 *	interpreter's own thread. Background consumers are consumer.c's.
 */
#include "tcl/consume/consumer.h"

static const EtwOption queryOptions[] = {
        ETW_OPTIONS_SHAPE,
        ETW_OPTIONS_FILTER,
        ETW_OPTION_PROGRESS,
        ETW_OPTION_WARNINGS,
        ETW_OPTION_END,
};
static const EtwOption consumeOptions[] = {
        {"-background", ETW_OPT_BOOL, offsetof(EtwConsumeOptions, background), 0, 0, 0, NULL},
        {"-batch", ETW_OPT_INT, offsetof(EtwConsumeOptions, batch), 1, 100000, 0, NULL},
        {"-command", ETW_OPT_LIST, offsetof(EtwConsumeOptions, command), 0, 0, 0, NULL},
        ETW_OPTIONS_SHAPE,
        ETW_OPTIONS_FILTER,
        ETW_OPTION_PROGRESS,
        ETW_OPTION_END,
};

/* ---- events ---------------------------------------------------------------------------------- */

int EtwEventsCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwQueryOptions options = {0};
    EtwQuery query;
    EtwEvent event;
    Tcl_Obj *sources;
    int result;

    if (objc < 2) {
        Tcl_WrongNumArgs(interp, 1, objv, "source ?source ...? ?-option value ...?");
        return TCL_ERROR;
    }
    if (EtwQueryWords(interp, queryOptions, objc - 1, objv + 1, &options, &sources) != TCL_OK) {
        return TCL_ERROR;
    }
    result = EtwQueryOpen(&query, clientData, sources, &options);
    Tcl_DecrRefCount(sources);
    if (result != TCL_OK) {
        return TCL_ERROR;
    }
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);
    while ((result = EtwQueryNext(&query, &event)) == TCL_OK) {
        Tcl_ListObjAppendElement(NULL, list, EtwEventObj(query.maker, &event));
    }
    if (result == TCL_BREAK) {
        result = EtwQuerySetWarnings(&query, options.warnings);
    }
    EtwQueryClose(&query);
    if (result == TCL_ERROR) {
        Tcl_DecrRefCount(list);
        return TCL_ERROR;
    }
    Tcl_SetObjResult(interp, list);
    return TCL_OK;
}

/* ---- foreach --------------------------------------------------------------------------------- */

/* One loop under way; the body may yield, so that nothing of it is on the C stack. */
typedef struct Loop {
    EtwQuery query;
    Tcl_Obj *variable;
    Tcl_Obj *warnings; /* a variable's name; NULL: none */
    Tcl_Obj *body;
} Loop;

static Tcl_NRPostProc afterBody;

static int endLoop(Tcl_Interp *interp, Loop *loop, int result)
{
    if (result == TCL_OK) {
        result = EtwQuerySetWarnings(&loop->query, loop->warnings);
    }
    EtwQueryClose(&loop->query);
    Tcl_DecrRefCount(loop->variable);
    if (loop->warnings != NULL) {
        Tcl_DecrRefCount(loop->warnings);
    }
    Tcl_DecrRefCount(loop->body);
    EtwFree(loop);
    if (result == TCL_OK) {
        Tcl_ResetResult(interp);
    }
    return result;
}

/* Set the variable to the next event and schedule the body; or end. */
static int nextRound(Tcl_Interp *interp, Loop *loop)
{
    EtwEvent event;
    int result = EtwQueryNext(&loop->query, &event);

    if (result != TCL_OK) {
        return endLoop(interp, loop, result == TCL_BREAK ? TCL_OK : TCL_ERROR);
    }
    Tcl_Obj *value = EtwEventObj(loop->query.maker, &event);
    Tcl_IncrRefCount(value);
    Tcl_Obj *set = Tcl_ObjSetVar2(interp, loop->variable, NULL, value, TCL_LEAVE_ERR_MSG);
    Tcl_DecrRefCount(value);
    if (set == NULL) {
        Tcl_AppendObjToErrorInfo(
                interp, Tcl_ObjPrintf("\n    (setting etw foreach loop variable \"%s\")",
                                Tcl_GetString(loop->variable)));
        return endLoop(interp, loop, TCL_ERROR);
    }
    Tcl_NRAddCallback(interp, afterBody, loop, NULL, NULL, NULL);
    return Tcl_NREvalObj(interp, loop->body, 0);
}

static int afterBody(void *data[], Tcl_Interp *interp, int result)
{
    Loop *loop = data[0];

    switch (result) {
    case TCL_OK:
    case TCL_CONTINUE:
        return nextRound(interp, loop);
    case TCL_BREAK:
        return endLoop(interp, loop, TCL_OK);
    case TCL_ERROR:
        Tcl_AppendObjToErrorInfo(interp,
                Tcl_ObjPrintf("\n    (\"etw foreach\" body line %d)", Tcl_GetErrorLine(interp)));
        return endLoop(interp, loop, TCL_ERROR);
    default:
        return endLoop(interp, loop, result);
    }
}

int EtwForeachNreCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwQueryOptions options = {0};
    Tcl_Obj *sources;

    if (objc < 4) {
        Tcl_WrongNumArgs(interp, 1, objv, "varName source ?-option value ...? body");
        return TCL_ERROR;
    }
    if (EtwQueryWords(interp, queryOptions, objc - 3, objv + 2, &options, &sources) != TCL_OK) {
        return TCL_ERROR;
    }
    Loop *loop = EtwAlloc(sizeof *loop);
    int result = EtwQueryOpen(&loop->query, clientData, sources, &options);
    Tcl_DecrRefCount(sources);
    if (result != TCL_OK) {
        EtwFree(loop);
        return TCL_ERROR;
    }
    loop->variable = objv[1];
    Tcl_IncrRefCount(loop->variable);
    loop->warnings = options.warnings;
    if (loop->warnings != NULL) {
        Tcl_IncrRefCount(loop->warnings);
    }
    loop->body = objv[objc - 1];
    Tcl_IncrRefCount(loop->body);
    return nextRound(interp, loop);
}

int EtwForeachCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    return Tcl_NRCallObjProc(interp, EtwForeachNreCmd, clientData, objc, objv);
}

/* ---- consume --------------------------------------------------------------------------------- */

int EtwCallPrefix(Tcl_Interp *interp, Tcl_Obj *prefix, Tcl_Obj *arg)
{
    Tcl_Obj *command = Tcl_DuplicateObj(prefix);

    Tcl_IncrRefCount(command);
    Tcl_ListObjAppendElement(NULL, command, arg);
    int result = Tcl_EvalObjEx(interp, command, TCL_EVAL_GLOBAL | TCL_EVAL_DIRECT);
    Tcl_DecrRefCount(command);
    return result;
}

/* Call with what is gathered; TCL_OK goes on, TCL_BREAK ends well. */
static int deliver(Tcl_Interp *interp, Tcl_Obj *prefix, Tcl_Obj *arg)
{
    int result = EtwCallPrefix(interp, prefix, arg);

    if (result == TCL_CONTINUE) {
        return TCL_OK;
    }
    if (result == TCL_ERROR) {
        Tcl_AddErrorInfo(interp, "\n    (\"etw consume\" command)");
    }
    return result;
}

static int consumeAll(Tcl_Interp *interp, EtwQuery *query, const EtwConsumeOptions *options)
{
    EtwEvent event;
    int result = TCL_OK;

    while (result == TCL_OK && (result = EtwQueryNext(query, &event)) == TCL_OK) {
        if (options->batch == 0) {
            result = deliver(interp, options->command, EtwEventObj(query->maker, &event));
            continue;
        }
        Tcl_Obj *list = Tcl_NewListObj(0, NULL);
        int next = TCL_OK;
        for (int i = 1; next == TCL_OK; i++) {
            Tcl_ListObjAppendElement(NULL, list, EtwEventObj(query->maker, &event));
            next = i < options->batch ? EtwQueryNext(query, &event) : TCL_CONTINUE;
        }
        result = deliver(interp, options->command, list);
        if (result == TCL_OK && next != TCL_CONTINUE) {
            result = next;
        }
    }
    return result == TCL_BREAK ? TCL_OK : result;
}

static int consumeForeground(EtwInterp *ctx, Tcl_Obj *sources, const EtwConsumeOptions *options)
{
    Tcl_Interp *interp = ctx->interp;
    EtwQuery query;

    if (EtwQueryOpen(&query, ctx, sources, &options->query) != TCL_OK) {
        return TCL_ERROR;
    }
    Tcl_Preserve(interp);
    Tcl_IncrRefCount(options->command);
    int result = consumeAll(interp, &query, options);
    Tcl_DecrRefCount(options->command);
    Tcl_Obj *warnings = result == TCL_OK ? EtwQueryWarnings(&query) : NULL;
    EtwQueryClose(&query);
    if (result == TCL_OK) {
        Tcl_Obj *dict = Tcl_NewDictObj();
        EtwPut(dict, "events", Tcl_NewWideIntObj(query.taken));
        EtwPut(dict, "lost", EtwUint64Obj(query.lost));
        EtwPut(dict, "warnings", warnings);
        Tcl_SetObjResult(interp, dict);
    }
    Tcl_Release(interp);
    return result;
}

int EtwConsumeCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwConsumeOptions options = {0};
    Tcl_Obj *sources;
    int result;

    if (objc < 2) {
        Tcl_WrongNumArgs(
                interp, 1, objv, "source ?source ...? ?-option value ...? -command prefix");
        return TCL_ERROR;
    }
    if (EtwQueryWords(interp, consumeOptions, objc - 1, objv + 1, &options, &sources) != TCL_OK) {
        return TCL_ERROR;
    }
    if (options.command == NULL || *Tcl_GetString(options.command) == '\0') {
        result = EtwTclFail(interp, ETW_E_ARG, "MISSING", "-command",
                "\"-command PREFIX\" is missing: it is called with each event");
    } else if (options.background && options.query.progress != NULL) {
        result = EtwTclFail(interp, ETW_E_ARG, "PROGRESS", "-progress",
                "\"-progress\" is of reading here: with \"-background 1\", see \"etw consumer\"");
    } else if (options.background) {
        result = EtwConsumerStart(clientData, sources, &options);
    } else {
        result = consumeForeground(clientData, sources, &options);
    }
    Tcl_DecrRefCount(sources);
    return result;
}
