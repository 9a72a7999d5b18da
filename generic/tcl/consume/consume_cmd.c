/*
 * tcl/consume/consume_cmd.c --
 *
 *	etw events, etw foreach, and etw consume in the foreground: read a query's events in the
 *	interpreter's own thread. Background consumers are consumer.c's.
 */
#include "tcl/consume/consumer.h"
#include "tcl/consume/read_command.h"

static const EtwOption queryOptions[] = {
        ETW_OPTIONS_SHAPE,
        ETW_OPTIONS_FILTER,
        ETW_OPTION_PROGRESS,
        ETW_OPTION_WARNINGS,
        ETW_OPTION_END,
};

/* ---- events ---------------------------------------------------------------------------------- */

static int beginEvents(void *record)
{
    ((EtwReading *)record)->result = Tcl_NewListObj(0, NULL);
    return TCL_OK;
}

static int appendEvent(void *record, EtwEvent *event)
{
    EtwReading *r = record;

    return Tcl_ListObjAppendElement(NULL, r->result, EtwEventObj(r->query.maker, event));
}

static int endEvents(void *record)
{
    EtwReading *r = record;

    return EtwQuerySetWarnings(&r->query, r->options.warnings);
}

const EtwReadCommand etwEventsCommand = {
        .size = sizeof(EtwReading),
        .options = queryOptions,
        .begin = beginEvents,
        .event = appendEvent,
        .end = endEvents,
};

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

typedef struct Consume {
    EtwReading reading;
    Tcl_Obj *command;
    int batch; /* events a call; 0: one, and not as a list */
    int background;
    Tcl_Obj *list; /* the events of the next call */
    Tcl_Size count;
} Consume;

static const EtwOption consumeOptions[] = {
        {"-background", ETW_OPT_BOOL, offsetof(Consume, background), 0, 0, 0, NULL},
        {"-batch", ETW_OPT_INT, offsetof(Consume, batch), 1, 100000, 0, NULL},
        {"-command", ETW_OPT_LIST, offsetof(Consume, command), 0, 0, 0, NULL},
        ETW_OPTIONS_SHAPE,
        ETW_OPTIONS_FILTER,
        ETW_OPTION_PROGRESS,
        ETW_OPTION_END,
};

/* Call with what is gathered; TCL_OK goes on, TCL_BREAK ends well. */
static int deliver(Consume *consume, Tcl_Obj *arg)
{
    Tcl_Interp *interp = consume->reading.interp;
    int result = EtwCallPrefix(interp, consume->command, 1, &arg);

    if (result == TCL_ERROR) {
        Tcl_AddErrorInfo(interp, "\n    (\"etw consume\" command)");
    }
    return result == TCL_CONTINUE ? TCL_OK : result;
}

static int deliverBatch(Consume *consume)
{
    Tcl_Obj *list = consume->list;

    consume->list = NULL;
    return deliver(consume, list);
}

static int checkConsume(void *record)
{
    Consume *c = record;
    Tcl_Interp *interp = c->reading.interp;

    if (c->command == NULL || *Tcl_GetString(c->command) == '\0') {
        return EtwTclFail(interp, ETW_E_ARG, "MISSING", "-command",
                "\"-command PREFIX\" is missing: it is called with each event");
    }
    if (c->background && c->reading.options.progress != NULL) {
        return EtwTclFail(interp, ETW_E_ARG, "PROGRESS", "-progress",
                "\"-progress\" is of reading here: with \"-background 1\", see \"etw consumer\"");
    }
    if (!c->background) {
        return TCL_OK;
    }
    return EtwConsumerStart(c->reading.ctx, c->reading.sources, &c->reading.options, c->command,
                   c->batch) == TCL_OK
                   ? TCL_BREAK
                   : TCL_ERROR;
}

static int beginConsume(void *record)
{
    Tcl_IncrRefCount(((Consume *)record)->command);
    return TCL_OK;
}

static int consumeEvent(void *record, EtwEvent *event)
{
    Consume *c = record;
    Tcl_Obj *value = EtwEventObj(c->reading.query.maker, event);

    c->reading.events++;
    if (c->batch == 0) {
        return deliver(c, value);
    }
    if (c->list == NULL) {
        c->list = Tcl_NewListObj(0, NULL);
        c->count = 0;
    }
    Tcl_ListObjAppendElement(NULL, c->list, value);
    return ++c->count < c->batch ? TCL_OK : deliverBatch(c);
}

/* What was read until the query ended, in whatever way, is delivered. */
static int closeConsume(void *record, int result)
{
    Consume *c = record;
    int delivered = c->list != NULL ? deliverBatch(c) : TCL_OK;

    Tcl_DecrRefCount(c->command);
    return delivered == TCL_OK ? result : delivered == TCL_BREAK ? TCL_OK : delivered;
}

const EtwReadCommand etwConsumeCommand = {
        .size = sizeof(Consume),
        .usage = "source ?source ...? ?-option value ...? -command prefix",
        .options = consumeOptions,
        .check = checkConsume,
        .begin = beginConsume,
        .event = consumeEvent,
        .close = closeConsume,
};
