/*
 * tcl/consume/dump_cmd.c --
 *
 *	etw dump: a query's events as text through a sink (flow/render/sink.h) into a channel or a file, in
 *	large pieces.
 */
#include "tcl/core/text_output.h"
#include "tcl/consume/query.h"
#include "base/os.h"
#include "flow/render/sink.h"
#include <stdlib.h>

/* Orders of EtwFormat and EtwTimeFormat. */
static const char *const formatNames[] = {"text", "csv", "json", "list", NULL};
static const char *const timeNames[] = {"relative", "iso", "ns", "filetime", NULL};
static const char *const colorNames[] = {"auto", "on", "off", NULL};
enum { COLOR_AUTO, COLOR_ON };

typedef struct DumpOptions {
    EtwQueryOptions query;
    int format, color;
    int width;      /* -1: the terminal's */
    int timeFormat; /* -1: the format's own */
    int messages;
    Tcl_Obj *output;
    Tcl_Obj *headers, *separator;
} DumpOptions;

#define AT(field) offsetof(DumpOptions, field)
static const EtwOption dumpOptions[] = {
        {"-color", ETW_OPT_ENUM, AT(color), 0, 0, 0, colorNames},
        ETW_OPTION("-fields", ETW_OPT_LIST, ETW_QUERY_AT(fields), 0, 0, 0, NULL),
        {"-format", ETW_OPT_ENUM, AT(format), 0, 0, 0, formatNames},
        {"-headers", ETW_OPT_LIST, AT(headers), 0, 0, 0, NULL},
        {"-messages", ETW_OPT_BOOL, AT(messages), 0, 0, 0, NULL},
        {"-output", ETW_OPT_OBJ, AT(output), 0, 0, 0, NULL},
        {"-separator", ETW_OPT_OBJ, AT(separator), 0, 0, 0, NULL},
        {"-timeformat", ETW_OPT_ENUM, AT(timeFormat), 0, 0, 0, timeNames},
        {"-width", ETW_OPT_INT, AT(width), 0, 100000, 0, NULL},
        ETW_OPTIONS_FILTER,
        ETW_OPTION_PROGRESS,
        ETW_OPTION_END,
};
#undef AT

/* ---- Where it goes --------------------------------------------------------------------------- */

/* -1: not a terminal; 0: one of unknown width. */
static int terminalColumns(Tcl_Channel channel)
{
    const char *said = getenv("COLUMNS");
    void *handle;

    if (Tcl_GetChannelHandle(channel, TCL_WRITABLE, &handle) != TCL_OK) {
        return -1;
    }
    int columns = OsTerminalColumns((intptr_t)handle);
    return columns >= 0 && said && atoi(said) > 0 ? atoi(said) : columns;
}

/* https://no-color.org, and terminals that say that they cannot. */
static bool wantsColor(int option, bool isTerminal)
{
    const char *noColor = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");

    if (option != COLOR_AUTO) {
        return option == COLOR_ON;
    }
    return isTerminal && !(noColor && *noColor) && !(terminal && strcmp(terminal, "dumb") == 0);
}

/* ---- The dump -------------------------------------------------------------------------------- */

static void addMissing(const EtwQuery *query, EtwSink *sink, EtwOutput *output)
{
    Tcl_Obj *missing = EtwQueryMissing(query);
    Tcl_Obj **warnings;
    Tcl_Size count;

    Tcl_ListObjGetElements(NULL, missing, &count, &warnings);
    for (Tcl_Size i = 0; i < count; i++) {
        Tcl_DString utf8;
        Tcl_DStringInit(&utf8);
        EtwSinkWarning(sink, EtwUtf8Of(warnings[i], &utf8, NULL), &output->text);
        Tcl_DStringFree(&utf8);
    }
    Tcl_DecrRefCount(missing);
}

/* *eventsPtr: how many, without the files' own records, as the listing counts them. text: nor are
 * they shown, or count for -limit. */
static int dumpEvents(
        EtwQuery *query, EtwSink *sink, bool text, EtwOutput *output, Tcl_WideInt *eventsPtr)
{
    EtwEvent event;
    int result;

    query->onIdle = EtwOutputFlush;
    query->idleCtx = output;
    EtwSinkBegin(sink, query->source, &output->text);
    while ((result = EtwQueryNext(query, &event)) == TCL_OK) {
        EtwSinkEvent(sink, &event, &output->text);
        *eventsPtr += !EtwEventIsHeader(&event);
        query->taken -= text && EtwEventIsHeader(&event);
        if (EtwOutputFull(output) != TCL_OK) {
            return TCL_ERROR;
        }
    }
    if (result == TCL_ERROR) {
        return TCL_ERROR;
    }
    EtwSinkEnd(sink, query->source, &output->text);
    addMissing(query, sink, output);
    return TCL_OK;
}

static EtwSinkConfig sinkConfig(const DumpOptions *options, const EtwOutput *output)
{
    EtwSinkConfig config = {.format = (EtwFormat)options->format};
    int columns = terminalColumns(output->channel);

    config.messages = options->messages != 0;
    config.color = config.format == ETW_FORMAT_TEXT && wantsColor(options->color, columns >= 0);
    config.width = options->width >= 0 ? options->width : columns > 0 ? columns : 0;
    config.stacks = options->query.stacks != 0;
    if (options->timeFormat >= 0) {
        config.timeFormat = (EtwTimeFormat)options->timeFormat;
    } else {
        config.timeFormat = config.format == ETW_FORMAT_TEXT ? ETW_TIME_RELATIVE : ETW_TIME_NS;
    }
    return config;
}

/* ---- Columns --------------------------------------------------------------------------------- */

/* A table with the texts that it points to, which are Tcl's. */
typedef struct Columns {
    EtwSinkTable table;
    const char **columns, **headers;
} Columns;

static const char **wordsOf(Tcl_Obj *list, int *countPtr)
{
    Tcl_Size count;
    Tcl_Obj **words;

    Tcl_ListObjGetElements(NULL, list, &count, &words);
    const char **texts = EtwAlloc(sizeof *texts * ((size_t)count + 1));
    for (Tcl_Size i = 0; i < count; i++) {
        texts[i] = Tcl_GetString(words[i]);
    }
    *countPtr = (int)count;
    return texts;
}

static void freeColumns(Columns *columns)
{
    EtwFree(columns->columns);
    EtwFree(columns->headers);
}

static int checkColumns(Tcl_Interp *interp, const DumpOptions *options)
{
    const char *separator = options->separator ? Tcl_GetString(options->separator) : ",";
    Tcl_Size fields, headers;

    if (options->query.fields == NULL) {
        return options->headers == NULL && options->separator == NULL
                       ? TCL_OK
                       : EtwTclFail(interp, ETW_E_ARG, "MISSING", "-fields",
                                 "\"%s\" belongs to \"-fields\", which is not given",
                                 options->headers ? "-headers" : "-separator");
    }
    if (options->format != ETW_FORMAT_CSV && options->format != ETW_FORMAT_LIST) {
        return EtwTclFail(interp, ETW_E_ARG, "FORMAT", "-fields",
                "\"-fields\" needs \"-format csv\" or \"-format list\"");
    }
    if (strlen(separator) != 1 || *separator == '"' || *separator == '\n' || *separator < 0) {
        return EtwTclFail(interp, ETW_E_ARG, "SEPARATOR", separator,
                "expected one character for \"-separator\" but got \"%.100s\"", separator);
    }
    Tcl_ListObjLength(NULL, options->query.fields, &fields);
    if (options->headers == NULL || Tcl_ListObjLength(NULL, options->headers, &headers) != TCL_OK ||
            headers == 0 || headers == fields) {
        return TCL_OK;
    }
    return EtwTclFail(interp, ETW_E_ARG, "HEADERS", "-headers",
            "\"-headers\" has %ld names for %ld fields", (long)headers, (long)fields);
}

static void openColumns(const DumpOptions *options, Columns *columns)
{
    memset(columns, 0, sizeof *columns);
    columns->columns = wordsOf(options->query.fields, &columns->table.count);
    columns->table.columns = columns->columns;
    if (options->headers != NULL) {
        columns->headers = wordsOf(options->headers, &columns->table.headerCount);
        columns->table.headers = columns->headers;
    }
    columns->table.separator = options->separator ? *Tcl_GetString(options->separator) : ',';
}

static int dumpQuery(
        Tcl_Interp *interp, EtwQuery *query, const DumpOptions *options, Tcl_WideInt *eventsPtr)
{
    EtwOutput output;
    Columns columns = {.columns = NULL};

    if (EtwOutputOpen(interp, options->output, query->source, "-output", false, &output) !=
            TCL_OK) {
        return TCL_ERROR;
    }
    EtwSinkConfig config = sinkConfig(options, &output);
    if (options->query.fields != NULL) {
        openColumns(options, &columns);
        config.table = &columns.table;
    }
    EtwSink *sink = EtwSinkNew(&config, query->filter.store);
    bool text = config.format == ETW_FORMAT_TEXT;
    int result = dumpEvents(query, sink, text, &output, eventsPtr);
    EtwSinkFree(sink);
    freeColumns(&columns);
    return EtwOutputClose(&output, result);
}

int EtwDumpCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    DumpOptions options = {.width = -1, .timeFormat = -1};
    EtwQuery query;
    Tcl_Obj *sources;
    Tcl_WideInt events = 0;

    if (objc < 2) {
        Tcl_WrongNumArgs(interp, 1, objv, "source ?source ...? ?-option value ...?");
        return TCL_ERROR;
    }
    if (EtwQueryWords(interp, dumpOptions, objc - 1, objv + 1, &options, &sources) != TCL_OK) {
        return TCL_ERROR;
    }
    if (checkColumns(interp, &options) != TCL_OK) {
        Tcl_DecrRefCount(sources);
        return TCL_ERROR;
    }
    int result = EtwQueryOpen(&query, clientData, sources, &options.query);
    Tcl_DecrRefCount(sources);
    if (result != TCL_OK) {
        return TCL_ERROR;
    }
    result = dumpQuery(interp, &query, &options, &events);
    Tcl_Obj *warnings = result == TCL_OK ? EtwQueryWarnings(&query) : NULL;
    EtwQueryClose(&query);
    if (result == TCL_OK) {
        Tcl_Obj *dict = Tcl_NewDictObj();
        EtwPut(dict, "events", Tcl_NewWideIntObj(events));
        EtwPut(dict, "lost", EtwUint64Obj(query.lost));
        EtwPut(dict, "warnings", warnings);
        Tcl_SetObjResult(interp, dict);
    }
    return result;
}
