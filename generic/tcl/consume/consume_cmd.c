/*
 * tcl/consume/consume_cmd.c --
 *
 *	etw events, etw foreach, and etw consume in the foreground: read a query's events in the
 *	interpreter's thread. consumer.c implements background consumers.
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

static int setVariable(void *record, EtwEvent *event)
{
    EtwReading *r = record;
    Tcl_Obj *value = EtwEventObj(r->query.maker, event);

    Tcl_IncrRefCount(value);
    Tcl_Obj *set = Tcl_ObjSetVar2(r->interp, r->target, NULL, value, TCL_LEAVE_ERR_MSG);
    Tcl_DecrRefCount(value);
    if (set == NULL) {
        Tcl_AppendObjToErrorInfo(
                r->interp, Tcl_ObjPrintf("\n    (setting etw foreach loop variable \"%s\")",
                                   Tcl_GetString(r->target)));
        return TCL_ERROR;
    }
    return TCL_OK;
}

static int afterBody(void *record, int result)
{
    EtwReading *r = record;

    if (result == TCL_ERROR) {
        Tcl_AppendObjToErrorInfo(r->interp,
                Tcl_ObjPrintf("\n    (\"etw foreach\" body line %d)", Tcl_GetErrorLine(r->interp)));
    }
    return result == TCL_CONTINUE ? TCL_OK : result;
}

static int endForeach(void *record)
{
    ((EtwReading *)record)->result = Tcl_NewObj();
    return endEvents(record);
}

const EtwReadCommand etwForeachCommand = {
        .size = sizeof(EtwReading),
        .usage = "varName source ?-option value ...? body",
        .words = ETW_WORDS_BODY,
        .options = queryOptions,
        .event = setVariable,
        .afterBody = afterBody,
        .end = endForeach,
};

/* ---- consume --------------------------------------------------------------------------------- */

typedef struct Consume {
    EtwReading reading;
    Tcl_Obj *command;
    int batch; /* events per call; 0: one, not in a list */
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

/* Call the command with an event or a batch. TCL_BREAK ends the command without an error. */
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
                "the option \"-command\" is missing: it has the command that is called with each "
                "event");
    }
    if (c->background && c->reading.options.progress != NULL) {
        return EtwTclFail(interp, ETW_E_ARG, "PROGRESS", "-progress",
                "\"-progress\" and \"-background 1\" exclude each other: \"etw consumer info\" has "
                "the state of a background consumer");
    }
    if (!c->background) {
        return TCL_OK;
    }
    return EtwConsumerStart(c->reading.ctx, c->reading.sources, &c->reading.options, c->command,
                   c->batch) == TCL_OK
                   ? TCL_BREAK
                   : TCL_ERROR;
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

/* Events that were read before the query ended, even by an error, are delivered. */
static int closeConsume(void *record, int result)
{
    Consume *c = record;
    int delivered = c->list != NULL ? deliverBatch(c) : TCL_OK;

    return delivered == TCL_OK ? result : delivered == TCL_BREAK ? TCL_OK : delivered;
}

const EtwReadCommand etwConsumeCommand = {
        .size = sizeof(Consume),
        .usage = "source ?source ...? ?-option value ...? -command prefix",
        .options = consumeOptions,
        .check = checkConsume,
        .event = consumeEvent,
        .close = closeConsume,
};
