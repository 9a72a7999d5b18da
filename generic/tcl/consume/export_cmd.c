/*
 * tcl/consume/export_cmd.c --
 *
 *	etw export, the formats that are text: a query's events through a sink (flow/render/sink.h) into a file
 *	that appears when it is complete, or into a channel. library/export.tcl adds the others.
 */
#include "tcl/core/text_output.h"
#include "tcl/consume/read_command.h"
#include "flow/render/sink.h"

/* The last two are for library/export/export_sqlite.tcl. */
static const char *const formatNames[] = {"chrome", "csv", "flamegraph", "folded", "json",
        "speedscope", "xml", "callrows", "eventrows", NULL};
static const EtwFormat formats[] = {ETW_FORMAT_CHROME, ETW_FORMAT_TRACERPT, ETW_FORMAT_FLAMEGRAPH,
        ETW_FORMAT_FOLDED, ETW_FORMAT_JSON, ETW_FORMAT_SPEEDSCOPE, ETW_FORMAT_XML,
        ETW_FORMAT_CALL_ROWS, ETW_FORMAT_ROWS};
/* Order of EtwWeight. */
static const char *const weightNames[] = {"time", "count", "wait", NULL};

typedef struct Export {
    EtwReading reading;
    /* options */
    int format; /* index into formats; -1: not given */
    int weight; /* -1: not given */
    int messages;
    Tcl_Obj *title;
    /* state */
    EtwOutput output;
    EtwSink *sink;
    Tcl_DString titleText;
} Export;

#define AT(field) offsetof(Export, field)
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

/* ---- Options --------------------------------------------------------------------------------- */

static int belongsTo(
        Tcl_Interp *interp, const char *option, bool given, const char *formatList, bool fits)
{
    return !given || fits ? TCL_OK
                          : EtwTclFail(interp, ETW_E_ARG, "FORMAT", option,
                                    "\"%s\" belongs to \"-format\" %s", option, formatList);
}

static int checkOptions(void *record)
{
    const Export *o = record;
    Tcl_Interp *interp = o->reading.interp;

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

static EtwSinkConfig sinkConfig(Export *o)
{
    return (EtwSinkConfig){.format = formats[o->format],
            .timeFormat = ETW_TIME_NS,
            .stacks = o->reading.options.stacks != 0,
            .messages = o->messages != 0,
            .weight = o->weight < 0 ? ETW_WEIGHT_TIME : (EtwWeight)o->weight,
            .title = o->title ? EtwUtf8Of(o->title, &o->titleText, NULL) : NULL,
            .drain = drainSink,
            .drainCtx = &o->output};
}

static int openOutput(Export *o)
{
    bool isStdout = strcmp(Tcl_GetString(o->reading.target), "-") == 0;

    return EtwOutputOpen(o->reading.interp, isStdout ? NULL : o->reading.target,
            o->reading.query.source, "export", true, &o->output);
}

static int beginExport(void *record)
{
    Export *o = record;
    EtwQuery *query = &o->reading.query;

    Tcl_DStringInit(&o->titleText);
    if (openOutput(o) != TCL_OK) {
        return TCL_ERROR;
    }
    EtwSinkConfig config = sinkConfig(o);
    o->sink = EtwSinkNew(&config, query->filter.store);
    query->onIdle = EtwOutputFlush;
    query->idleCtx = &o->output;
    EtwSinkBegin(o->sink, query->source, &o->output.text);
    return TCL_OK;
}

/* The files' own records tell about the file, they are no events. */
static int exportEvent(void *record, EtwEvent *event)
{
    Export *o = record;

    if (EtwEventIsHeader(event)) {
        return TCL_CONTINUE;
    }
    EtwSinkEvent(o->sink, event, &o->output.text);
    o->reading.events++;
    return EtwOutputFull(&o->output);
}

static int endExport(void *record)
{
    Export *o = record;

    EtwSinkEnd(o->sink, o->reading.query.source, &o->output.text);
    return o->output.failed ? TCL_ERROR : TCL_OK;
}

static int closeExport(void *record, int result)
{
    Export *o = record;

    EtwSinkFree(o->sink);
    Tcl_DStringFree(&o->titleText);
    return EtwOutputClose(&o->output, result);
}

int EtwExportCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    static const EtwReadCommand command = {
            .usage = "source ?source ...? file ?-option value ...?",
            .words = ETW_WORDS_TARGET,
            .options = exportOptions,
            .check = checkOptions,
            .begin = beginExport,
            .event = exportEvent,
            .end = endExport,
            .close = closeExport,
    };
    Export options = {.format = -1, .weight = -1};
    (void)interp;
    return EtwReadCommandRun(&command, clientData, objc, objv, &options.reading);
}
