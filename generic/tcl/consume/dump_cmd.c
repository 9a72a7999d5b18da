/*
 * tcl/consume/dump_cmd.c --
 *
 *	etw dump: writes a query's events as text through a sink (flow/render/sink.h) to a channel
 *	or a file, in large pieces.
 */
#include "tcl/core/text_output.h"
#include "tcl/consume/read_command.h"
#include "base/os.h"
#include "flow/render/sink.h"
#include <stdlib.h>

/* In the order of EtwTimeFormat. */
static const char *const timeNames[] = {"relative", "iso", "ns", "filetime", NULL};
static const char *const colorNames[] = {"auto", "on", "off", NULL};
enum { COLOR_AUTO, COLOR_ON };

typedef struct Dump {
    EtwReading reading;
    /* options */
    int format, color;
    int width;      /* -1: that of the terminal */
    int timeFormat; /* -1: the default of the format */
    int messages;
    Tcl_Obj *outputName, *headers, *separator;
    /* state */
    EtwOutput output;
    EtwSinkTable table; /* for -fields; its texts belong to Tcl objects */
    EtwSink *sink;
} Dump;

#define AT(field) offsetof(Dump, field)
static const EtwOption dumpOptions[] = {
        {"-color", ETW_OPT_ENUM, AT(color), 0, 0, 0, colorNames},
        ETW_OPTION("-fields", ETW_OPT_LIST, ETW_QUERY_AT(fields), 0, 0, 0, NULL),
        {"-format", ETW_OPT_ENUM, AT(format), 0, 0, 0, etwDumpFormatNames},
        {"-headers", ETW_OPT_LIST, AT(headers), 0, 0, 0, NULL},
        {"-messages", ETW_OPT_BOOL, AT(messages), 0, 0, 0, NULL},
        {"-output", ETW_OPT_OBJ, AT(outputName), 0, 0, 0, NULL},
        {"-separator", ETW_OPT_OBJ, AT(separator), 0, 0, 0, NULL},
        {"-timeformat", ETW_OPT_ENUM, AT(timeFormat), 0, 0, 0, timeNames},
        {"-width", ETW_OPT_INT, AT(width), 0, 100000, 0, NULL},
        ETW_OPTIONS_FILTER,
        ETW_OPTION_PROGRESS,
        ETW_OPTION_END,
};
#undef AT

/* ---- Destination ----------------------------------------------------------------------------- */

/* A variable of the environment; NULL: not set. By Tcl, because getenv is not thread-safe. */
static const char *environment(Tcl_Interp *interp, const char *name)
{
    return Tcl_GetVar2(interp, "env", name, TCL_GLOBAL_ONLY);
}

/* -1: not a terminal; 0: one of unknown width. */
static int terminalColumns(Tcl_Interp *interp, Tcl_Channel channel)
{
    const char *said = environment(interp, "COLUMNS");
    void *handle;

    if (Tcl_GetChannelHandle(channel, TCL_WRITABLE, &handle) != TCL_OK) {
        return -1;
    }
    int columns = OsTerminalColumns((intptr_t)handle);
    return columns >= 0 && said && atoi(said) > 0 ? atoi(said) : columns;
}

/* Respects https://no-color.org, and terminals without colours. */
static bool wantsColor(Tcl_Interp *interp, int option, Tcl_Channel channel)
{
    void *handle;
    const char *noColor = environment(interp, "NO_COLOR");
    const char *terminal = environment(interp, "TERM");

    if (option != COLOR_AUTO) {
        return option == COLOR_ON;
    }
    return !(noColor && *noColor) && !(terminal && strcmp(terminal, "dumb") == 0) &&
           Tcl_GetChannelHandle(channel, TCL_WRITABLE, &handle) == TCL_OK &&
           OsTerminalEscapes((intptr_t)handle);
}

/* ---- Columns --------------------------------------------------------------------------------- */

static int checkColumns(void *record)
{
    const Dump *dump = record;
    Tcl_Interp *interp = dump->reading.interp;
    Tcl_Obj *list = dump->reading.options.fields;
    const char *separator = dump->separator ? Tcl_GetString(dump->separator) : ",";
    Tcl_Size fields, headers;

    if (list == NULL) {
        return dump->headers == NULL && dump->separator == NULL
                       ? TCL_OK
                       : EtwTclFail(interp, ETW_E_ARG, "MISSING", "-fields",
                                 "\"%s\" belongs to \"-fields\", which is not given",
                                 dump->headers ? "-headers" : "-separator");
    }
    if (!EtwFormatTakes((EtwFormat)dump->format, "-fields")) {
        return EtwTclFail(interp, ETW_E_ARG, "FORMAT", "-fields",
                "\"-fields\" needs \"-format csv\" or \"-format list\"");
    }
    if (strlen(separator) != 1 || *separator == '"' || *separator == '\n' || *separator < 0) {
        return EtwTclFail(interp, ETW_E_ARG, "SEPARATOR", separator,
                "expected one character for \"-separator\" but got \"%.100s\"", separator);
    }
    Tcl_ListObjLength(NULL, list, &fields);
    if (dump->headers == NULL || Tcl_ListObjLength(NULL, dump->headers, &headers) != TCL_OK ||
            headers == 0 || headers == fields) {
        return TCL_OK;
    }
    return EtwTclFail(interp, ETW_E_ARG, "HEADERS", "-headers",
            "\"-headers\" has %ld names for %ld fields", (long)headers, (long)fields);
}

static const EtwSinkTable *tableOf(Dump *dump)
{
    EtwSinkTable *table = &dump->table;

    if (dump->reading.options.fields == NULL) {
        return NULL;
    }
    table->columns = EtwWordsOf(dump->reading.options.fields, &table->count);
    if (dump->headers != NULL) {
        table->headers = EtwWordsOf(dump->headers, &table->headerCount);
    }
    table->separator = dump->separator ? *Tcl_GetString(dump->separator) : ',';
    return table;
}

/* ---- The dump -------------------------------------------------------------------------------- */

static EtwSinkConfig sinkConfig(Dump *dump)
{
    EtwSinkConfig config = {.format = (EtwFormat)dump->format, .table = tableOf(dump)};
    Tcl_Interp *interp = dump->reading.interp;
    int columns = terminalColumns(interp, dump->output.channel);

    config.messages = dump->messages != 0;
    config.color = config.format == ETW_FORMAT_TEXT &&
                   wantsColor(interp, dump->color, dump->output.channel);
    config.width = dump->width >= 0 ? dump->width : columns > 0 ? columns : 0;
    config.stacks = dump->reading.options.stacks != 0;
    if (dump->timeFormat >= 0) {
        config.timeFormat = (EtwTimeFormat)dump->timeFormat;
    } else {
        config.timeFormat = config.format == ETW_FORMAT_TEXT ? ETW_TIME_RELATIVE : ETW_TIME_NS;
    }
    return config;
}

static int beginDump(void *record)
{
    Dump *dump = record;
    EtwQuery *query = &dump->reading.query;
    EtwOutput *output = &dump->output;

    if (EtwOutputOpen(dump->reading.interp, dump->outputName, query->source, "-output", false,
                output) != TCL_OK) {
        return TCL_ERROR;
    }
    EtwSinkConfig config = sinkConfig(dump);
    dump->sink = EtwSinkNew(&config, query->filter.store);
    query->onIdle = EtwOutputFlush;
    query->idleCtx = output;
    EtwSinkBegin(dump->sink, query->source, &output->text);
    return TCL_OK;
}

/* Records of the files' headers are not counted; the listing does not show them. */
static int dumpEvent(void *record, EtwEvent *event)
{
    Dump *dump = record;
    bool header = EtwEventIsHeader(event);

    EtwSinkEvent(dump->sink, event, &dump->output.text);
    dump->reading.events += !header;
    if (EtwOutputFull(&dump->output) != TCL_OK) {
        return TCL_ERROR;
    }
    return header && dump->format == ETW_FORMAT_TEXT ? TCL_CONTINUE : TCL_OK;
}

static int endDump(void *record)
{
    Dump *dump = record;
    Tcl_Obj *missing = EtwQueryMissing(&dump->reading.query);
    Tcl_Obj **warnings;
    Tcl_Size count;

    EtwSinkEnd(dump->sink, dump->reading.query.source, &dump->output.text);
    Tcl_ListObjGetElements(NULL, missing, &count, &warnings);
    for (Tcl_Size i = 0; i < count; i++) {
        Tcl_DString utf8;
        Tcl_DStringInit(&utf8);
        EtwSinkWarning(dump->sink, EtwUtf8Of(warnings[i], &utf8, NULL), &dump->output.text);
        Tcl_DStringFree(&utf8);
    }
    Tcl_DecrRefCount(missing);
    return EtwQueryCheckColumns(&dump->reading.query, "-fields", dump->reading.options.fields);
}

static int closeDump(void *record, int result)
{
    Dump *dump = record;

    EtwSinkFree(dump->sink);
    EtwFree((void *)dump->table.columns);
    EtwFree((void *)dump->table.headers);
    return EtwOutputClose(&dump->output, result);
}

static const Dump dumpDefaults = {.width = -1, .timeFormat = -1};
const EtwReadCommand etwDumpCommand = {
        .size = sizeof(Dump),
        .defaults = &dumpDefaults,
        .options = dumpOptions,
        .check = checkColumns,
        .begin = beginDump,
        .event = dumpEvent,
        .end = endDump,
        .close = closeDump,
};
