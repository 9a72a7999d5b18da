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

static const char *const colorNames[] = {"auto", "on", "off", NULL};
static const char *const widthNames[] = {"full", NULL};
enum { COLOR_AUTO, COLOR_ON };
/* Where lines are cut: of a terminal that does not report its width; of a file or pipe. */
enum { UNKNOWN_WIDTH = 80, FILE_WIDTH = 200 };

typedef struct Dump {
    EtwReading reading;
    /* options */
    int format, color;
    int timeFormat; /* -1: the default of the format */
    int messages, raw;
    Tcl_Obj *outputName, *headers, *separator, *columns, *widthText;
    /* state */
    EtwOutput output;
    int width;           /* of -width; -1: not given */
    Tcl_Obj *columnList; /* -columns, one element for each */
    const char **columnNames;
    int columnCount;
    EtwSinkTable table; /* for -fields; its texts belong to Tcl objects */
    EtwSink *sink;
} Dump;

#define AT(field) offsetof(Dump, field)
static const EtwOption dumpOptions[] = {
        {"-color", ETW_OPT_ENUM, AT(color), 0, 0, 0, colorNames},
        {"-columns", ETW_OPT_LIST, AT(columns), 0, 0, 0, etwListingColumnNames},
        ETW_OPTION("-fields", ETW_OPT_LIST, ETW_QUERY_AT(fields), 0, 0, 0, NULL),
        {"-format", ETW_OPT_ENUM, AT(format), 0, 0, 0, etwDumpFormatNames},
        {"-headers", ETW_OPT_LIST, AT(headers), 0, 0, 0, NULL},
        {"-messages", ETW_OPT_BOOL, AT(messages), 0, 0, 0, NULL},
        {"-output", ETW_OPT_OBJ, AT(outputName), 0, 0, 0, NULL},
        {"-raw", ETW_OPT_BOOL, AT(raw), 0, 0, 0, NULL},
        {"-separator", ETW_OPT_OBJ, AT(separator), 0, 0, 0, NULL},
        {"-timeformat", ETW_OPT_ENUM, AT(timeFormat), 0, 0, 0, etwTimeFormatNames},
        {"-width", ETW_OPT_OBJ, AT(widthText), 0, 0, 0, widthNames},
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

/* ---- Columns and width ----------------------------------------------------------------------- */

static int checkFields(const Dump *dump)
{
    Tcl_Interp *interp = dump->reading.interp;
    Tcl_Obj *list = dump->reading.options.fields;
    const char *separator = dump->separator ? Tcl_GetString(dump->separator) : ",";
    Tcl_Size fields, headers;

    if (list == NULL) {
        return dump->headers == NULL && dump->separator == NULL
                       ? TCL_OK
                       : EtwTclFail(interp, ETW_E_ARG, "MISSING", "-fields",
                                 "\"%s\" needs \"-fields\"",
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
            "\"-headers\" has %ld names for the %ld fields of \"-fields\": expected one for each, "
            "or an empty list",
            (long)headers, (long)fields);
}

static int noColumn(Tcl_Interp *interp, const char *name)
{
    const char *best = NULL;
    int most = EtwNearDistance(name);
    Tcl_Obj *list = Tcl_NewObj();

    Tcl_IncrRefCount(list);
    for (const char *const *known = etwListingColumnNames; *known != NULL; known++) {
        int distance = EtwNameDistance(name, *known);
        best = distance < most ? *known : best;
        most = distance < most ? distance : most;
        Tcl_AppendPrintfToObj(list, "%s, ", *known);
    }
    Tcl_Obj *guess = best != NULL ? Tcl_ObjPrintf("did you mean \"%s\"? ", best) : Tcl_NewObj();
    Tcl_IncrRefCount(guess);
    int result = EtwTclFail(interp, ETW_E_ARG, "COLUMN", name,
            "unknown column \"%.100s\" in \"-columns\": %smust be %sor props(NAME), a field of the "
            "payload",
            name, Tcl_GetString(guess), Tcl_GetString(list));
    Tcl_DecrRefCount(guess);
    Tcl_DecrRefCount(list);
    return result;
}

/* A new list: the elements of a list, in which commas separate elements, too, except in parentheses. */
static Tcl_Obj *splitAtCommas(Tcl_Obj *list)
{
    Tcl_Obj **words, *result = Tcl_NewListObj(0, NULL);
    Tcl_Size count;

    Tcl_ListObjGetElements(NULL, list, &count, &words);
    for (Tcl_Size i = 0; i < count; i++) {
        const char *from = Tcl_GetString(words[i]), *at = from;
        int open = 0;
        do {
            open += (*at == '(') - (*at == ')');
            if ((*at == ',' && open == 0) || *at == '\0') {
                if (at > from) {
                    Tcl_ListObjAppendElement(
                            NULL, result, Tcl_NewStringObj(from, (Tcl_Size)(at - from)));
                }
                from = at + 1;
            }
        } while (*at++ != '\0');
    }
    return result;
}

static int checkColumns(Dump *dump)
{
    Tcl_Interp *interp = dump->reading.interp;

    if (dump->columns == NULL) {
        return TCL_OK;
    }
    if (!EtwFormatTakes((EtwFormat)dump->format, "-columns")) {
        return EtwTclFail(interp, ETW_E_ARG, "FORMAT", "-columns",
                "\"-columns\" belongs to \"-format text\"; csv and list have \"-fields\"");
    }
    dump->columnList = splitAtCommas(dump->columns);
    Tcl_IncrRefCount(dump->columnList);
    dump->columnNames = EtwWordsOf(dump->columnList, &dump->columnCount);
    for (int i = 0; i < dump->columnCount; i++) {
        if (!EtwListingHasColumn(dump->columnNames[i])) {
            return noColumn(interp, dump->columnNames[i]);
        }
    }
    return dump->columnCount > 0 ? TCL_OK
                                 : EtwTclFail(interp, ETW_E_ARG, "COLUMN", "-columns",
                                           "\"-columns\" needs at least one name");
}

static int checkWidth(Dump *dump)
{
    Tcl_Interp *interp = dump->reading.interp;
    int width;

    dump->width = -1;
    if (dump->widthText == NULL) {
        return TCL_OK;
    }
    const char *text = Tcl_GetString(dump->widthText);
    if (strcmp(text, "full") == 0) {
        dump->width = 0;
        return TCL_OK;
    }
    if (Tcl_GetIntFromObj(NULL, dump->widthText, &width) != TCL_OK || width < 0 || width > 100000) {
        return EtwTclFail(interp, ETW_E_ARG, "RANGE", "-width",
                "expected a number of columns (1 to 100000) or \"full\" for \"-width\" but got "
                "\"%.100s\"",
                text);
    }
    dump->width = width;
    return TCL_OK;
}

static int checkDump(void *record)
{
    int result = checkFields(record);

    result = result == TCL_OK ? checkColumns(record) : result;
    return result == TCL_OK ? checkWidth(record) : result;
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
    EtwSinkConfig config = {.format = (EtwFormat)dump->format,
            .table = tableOf(dump),
            .raw = dump->raw != 0,
            .columns = dump->columnNames,
            .columnCount = dump->columnCount};
    Tcl_Interp *interp = dump->reading.interp;
    int columns = terminalColumns(interp, dump->output.channel);

    config.dash = Tcl_GetVar(interp, "::etw::lib::dash", TCL_GLOBAL_ONLY); /* of the tool */
    config.messages = dump->messages != 0;
    config.color = config.format == ETW_FORMAT_TEXT &&
                   wantsColor(interp, dump->color, dump->output.channel);
    config.width = dump->width >= 0 ? dump->width
                   : columns > 0    ? columns
                   : columns == 0   ? UNKNOWN_WIDTH
                                    : FILE_WIDTH;
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
    query->messages = dump->messages != 0;
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

/* The result of a command that reads, and the number of lines that were cut. */
static Tcl_Obj *resultOf(Dump *dump, uint64_t cut)
{
    Tcl_Obj *dict = EtwReadingResult(&dump->reading);

    EtwPut(dict, "cut", EtwUint64Obj(cut));
    return dict;
}

static int endDump(void *record)
{
    Dump *dump = record;
    Tcl_Obj *missing = EtwQueryMissing(&dump->reading.query);
    Tcl_Obj **warnings;
    Tcl_Size count;

    if (EtwQueryLimited(&dump->reading.query)) {
        EtwSinkPartial(dump->sink);
    }
    EtwSinkEnd(dump->sink, dump->reading.query.source, &dump->output.text);
    Tcl_ListObjGetElements(NULL, missing, &count, &warnings);
    for (Tcl_Size i = 0; i < count; i++) {
        Tcl_DString utf8;
        Tcl_DStringInit(&utf8);
        EtwSinkWarning(dump->sink, EtwUtf8Of(warnings[i], &utf8, NULL), &dump->output.text);
        Tcl_DStringFree(&utf8);
    }
    Tcl_DecrRefCount(missing);
    uint64_t cut = EtwSinkCutLines(dump->sink);
    if (cut > 0) {
        dump->reading.result = resultOf(dump, cut);
    }
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

static void freeDump(void *record)
{
    Dump *dump = record;

    EtwFree((void *)dump->columnNames);
    if (dump->columnList != NULL) {
        Tcl_DecrRefCount(dump->columnList);
    }
}

static const Dump dumpDefaults = {.timeFormat = -1};
const EtwReadCommand etwDumpCommand = {
        .size = sizeof(Dump),
        .defaults = &dumpDefaults,
        .options = dumpOptions,
        .check = checkDump,
        .begin = beginDump,
        .event = dumpEvent,
        .end = endDump,
        .close = closeDump,
        .free = freeDump,
};
