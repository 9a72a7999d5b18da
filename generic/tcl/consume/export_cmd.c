/*
 * tcl/consume/export_cmd.c --
 *
 *	etw export, the formats that are text: a query's events through a sink (flow/render/sink.h) into a file
 *	that appears when it is complete, or into a channel. library/export.tcl adds the others.
 */
#include "tcl/core/text_output.h"
#include "tcl/consume/query.h"
#include "flow/render/sink.h"

/* The last two are for library/export/export_sqlite.tcl. */
static const char *const formatNames[] = {"chrome", "csv", "flamegraph", "folded", "json",
        "speedscope", "xml", "callrows", "eventrows", NULL};
static const EtwFormat formats[] = {ETW_FORMAT_CHROME, ETW_FORMAT_TRACERPT, ETW_FORMAT_FLAMEGRAPH,
        ETW_FORMAT_FOLDED, ETW_FORMAT_JSON, ETW_FORMAT_SPEEDSCOPE, ETW_FORMAT_XML,
        ETW_FORMAT_CALL_ROWS, ETW_FORMAT_ROWS};
/* Order of EtwWeight. */
static const char *const weightNames[] = {"time", "count", "wait", NULL};

typedef struct ExportOptions {
    EtwQueryOptions query;
    int format; /* index into formats; -1: not given */
    int weight; /* -1: not given */
    int messages;
    Tcl_Obj *title;
} ExportOptions;

#define AT(field) offsetof(ExportOptions, field)
static const EtwOption exportOptions[] = {
        {"-format", ETW_OPT_ENUM, AT(format), 0, 0, 0, formatNames},
        {"-messages", ETW_OPT_BOOL, AT(messages), 0, 0, 0, NULL},
        {"-title", ETW_OPT_OBJ, AT(title), 0, 0, 0, NULL},
        {"-weight", ETW_OPT_ENUM, AT(weight), 0, 0, 0, weightNames},
        ETW_OPTIONS_FILTER,
        ETW_OPTION_PROGRESS,
        ETW_OPTION_END,
};
#undef AT

/* ---- Words ----------------------------------------------------------------------------------- */

/* "source ?source ...? file ?-option value ...?": the index of the file. A word "-" is a file. */
static int findFile(int objc, Tcl_Obj *const objv[])
{
    int i = 1;

    while (i < objc && !(Tcl_GetString(objv[i])[0] == '-' && Tcl_GetString(objv[i])[1] != 0)) {
        i++;
    }
    return i - 1;
}

static int parseWords(Tcl_Interp *interp, int objc, Tcl_Obj *const objv[], ExportOptions *options,
        Tcl_Obj **sourcesPtr, Tcl_Obj **filePtr)
{
    int file = findFile(objc, objv);

    if (EtwParseOptions(interp, exportOptions, objc - file - 1, objv + file + 1, options, NULL) !=
            TCL_OK) {
        return TCL_ERROR;
    }
    if (file < 1 || (file < 2 && options->query.records == NULL)) {
        Tcl_WrongNumArgs(interp, 1, objv, "source ?source ...? file ?-option value ...?");
        return TCL_ERROR;
    }
    *filePtr = objv[file];
    *sourcesPtr = Tcl_NewListObj(file - 1, objv + 1);
    Tcl_IncrRefCount(*sourcesPtr);
    return TCL_OK;
}

static int belongsTo(
        Tcl_Interp *interp, const char *option, bool given, const char *formatList, bool fits)
{
    return !given || fits ? TCL_OK
                          : EtwTclFail(interp, ETW_E_ARG, "FORMAT", option,
                                    "\"%s\" belongs to \"-format\" %s", option, formatList);
}

static int checkOptions(Tcl_Interp *interp, const ExportOptions *o)
{
    if (o->format < 0) {
        return EtwTclFail(interp, ETW_E_ARG, "MISSING", "-format", "\"-format\" is not given");
    }
    EtwFormat format = formats[o->format];
    bool flames = format == ETW_FORMAT_FOLDED || format == ETW_FORMAT_FLAMEGRAPH;
    bool titled = format == ETW_FORMAT_FLAMEGRAPH || format == ETW_FORMAT_SPEEDSCOPE;
    bool messages = format == ETW_FORMAT_JSON || format == ETW_FORMAT_XML;
    if (belongsTo(interp, "-weight", o->weight >= 0, "folded or flamegraph", flames) != TCL_OK ||
            belongsTo(interp, "-title", o->title != NULL, "flamegraph or speedscope", titled) !=
                    TCL_OK) {
        return TCL_ERROR;
    }
    return belongsTo(interp, "-messages", o->messages != 0, "json or xml", messages);
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* EtwSinkConfig.drain; what goes wrong is told at the next EtwOutputFull. */
static void drainSink(void *ctx, EtwText *out)
{
    (void)out;
    EtwOutputFull(ctx);
}

static EtwSinkConfig sinkConfig(const ExportOptions *o, const char *title, EtwOutput *output)
{
    return (EtwSinkConfig){.format = formats[o->format],
            .timeFormat = ETW_TIME_NS,
            .stacks = o->query.stacks != 0,
            .messages = o->messages != 0,
            .weight = o->weight < 0 ? ETW_WEIGHT_TIME : (EtwWeight)o->weight,
            .title = title,
            .drain = drainSink,
            .drainCtx = output};
}

/* The files' own records tell about the file, they are no events. */
static int exportEvents(EtwQuery *query, EtwSink *sink, EtwOutput *output, Tcl_WideInt *countPtr)
{
    EtwEvent event;
    int result;

    query->onIdle = EtwOutputFlush;
    query->idleCtx = output;
    EtwSinkBegin(sink, query->source, &output->text);
    while ((result = EtwQueryNext(query, &event)) == TCL_OK) {
        if (EtwEventIsHeader(&event)) {
            query->taken--;
            continue;
        }
        EtwSinkEvent(sink, &event, &output->text);
        ++*countPtr;
        if (EtwOutputFull(output) != TCL_OK) {
            return TCL_ERROR;
        }
    }
    if (result == TCL_ERROR) {
        return TCL_ERROR;
    }
    EtwSinkEnd(sink, query->source, &output->text);
    return output->failed ? TCL_ERROR : TCL_OK;
}

static int exportQuery(Tcl_Interp *interp, EtwQuery *query, const ExportOptions *options,
        Tcl_Obj *file, Tcl_WideInt *countPtr)
{
    static const char *const channels[] = {"-", "stdout"};
    EtwOutput output;
    Tcl_DString title;
    Tcl_Obj *name = strcmp(Tcl_GetString(file), channels[0]) == 0
                            ? Tcl_NewStringObj(channels[1], -1)
                            : file;

    Tcl_IncrRefCount(name);
    int result = EtwOutputOpen(interp, name, query->source, "export", true, &output);
    if (result == TCL_OK) {
        Tcl_DStringInit(&title);
        EtwSinkConfig config = sinkConfig(
                options, options->title ? EtwUtf8Of(options->title, &title, NULL) : NULL, &output);
        EtwSink *sink = EtwSinkNew(&config, query->filter.store);
        result = exportEvents(query, sink, &output, countPtr);
        EtwSinkFree(sink);
        Tcl_DStringFree(&title);
        result = EtwOutputClose(&output, result);
    }
    Tcl_DecrRefCount(name);
    return result;
}

int EtwExportCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    ExportOptions options = {.format = -1, .weight = -1};
    EtwQuery query;
    Tcl_Obj *sources, *file;
    Tcl_WideInt events = 0;

    if (parseWords(interp, objc, objv, &options, &sources, &file) != TCL_OK) {
        return TCL_ERROR;
    }
    int result = checkOptions(interp, &options);
    if (result == TCL_OK) {
        result = EtwQueryOpen(&query, clientData, sources, &options.query);
    }
    Tcl_DecrRefCount(sources);
    if (result != TCL_OK) {
        return TCL_ERROR;
    }
    result = exportQuery(interp, &query, &options, file, &events);
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
