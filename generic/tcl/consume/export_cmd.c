/*
 * tcl/consume/export_cmd.c --
 *
 *	etw export, for the text formats: a query's events through a sink (flow/render/sink.h) into
 *	a file that is renamed when it is complete, or into a channel. library/export.tcl implements
 *	the other formats.
 */
#include "tcl/core/text_output.h"
#include "tcl/consume/read_command.h"
#include "flow/render/sink.h"
#include <stdio.h>

/* In the order of EtwWeight. */
static const char *const weightNames[] = {"time", "count", "wait", "sample", "offcpu", NULL};

typedef struct Export {
    EtwReading reading;
    /* options */
    int format; /* counted from ETW_FORMAT_EXPORT; -1: not given */
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
        {"-format", ETW_OPT_ENUM, AT(format), 0, 0, 0, etwExportFormatNames},
        {"-messages", ETW_OPT_BOOL, AT(messages), 0, 0, 0, NULL},
        {"-title", ETW_OPT_OBJ, AT(title), 0, 0, 0, NULL},
        {"-weight", ETW_OPT_ENUM, AT(weight), 0, 0, 0, weightNames},
        ETW_OPTIONS_FILTER,
        ETW_OPTION_PROGRESS,
        ETW_OPTION_END,
};
#undef AT

/* ---- Options --------------------------------------------------------------------------------- */

static EtwFormat formatOf(const Export *o)
{
    return (EtwFormat)(ETW_FORMAT_EXPORT + o->format);
}

static int belongs(const Export *o, const char *option, bool given)
{
    char formats[200] = "";

    if (!given || EtwFormatTakes(formatOf(o), option)) {
        return TCL_OK;
    }
    for (int i = 0; etwExportFormatNames[i] != NULL; i++) {
        if (EtwFormatTakes((EtwFormat)(ETW_FORMAT_EXPORT + i), option)) {
            size_t used = strlen(formats);
            snprintf(formats + used, sizeof formats - used, "%s%s", used > 0 ? " or " : "",
                    etwExportFormatNames[i]);
        }
    }
    return EtwTclFail(o->reading.interp, ETW_E_ARG, "FORMAT", option, "\"%s\" needs \"-format\" %s",
            option, formats);
}

static int checkOptions(void *record)
{
    Export *o = record;

    if (o->format < 0) {
        return EtwTclFail(o->reading.interp, ETW_E_ARG, "MISSING", "-format",
                "the option \"-format\" is missing");
    }
    if (o->weight == ETW_WEIGHT_SAMPLE || o->weight == ETW_WEIGHT_OFF_CPU) {
        o->reading.options.stacks = 1; /* those of Windows are records of their own */
    }
    if (belongs(o, "-weight", o->weight >= 0) != TCL_OK ||
            belongs(o, "-title", o->title != NULL) != TCL_OK) {
        return TCL_ERROR;
    }
    return belongs(o, "-messages", o->messages != 0);
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* etw::lib::formats: a list of dicts, the rows of flow/render/format_registry.h. */
int EtwFormatsCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);
    (void)clientData, (void)objc, (void)objv;

    for (int i = 0; i < ETW_FORMATS_END; i++) {
        const EtwFormatRow *row = &etwFormats[i];
        Tcl_Obj *dict = Tcl_NewDictObj();
        EtwPut(dict, "name", Tcl_NewStringObj(row->name, -1));
        EtwPut(dict, "group", Tcl_NewStringObj(row->group, -1));
        EtwPut(dict, "suffixes", Tcl_NewStringObj(row->suffixes, -1));
        EtwPut(dict, "options", Tcl_NewStringObj(row->options, -1));
        EtwPut(dict, "about", Tcl_NewStringObj(row->about, -1));
        Tcl_ListObjAppendElement(NULL, list, dict);
    }
    Tcl_SetObjResult(interp, list);
    return TCL_OK;
}

/* EtwSinkConfig.drain; the next EtwOutputFull reports errors. */
static void drainSink(void *ctx, EtwText *out)
{
    (void)out;
    EtwOutputFull(ctx);
}

static EtwSinkConfig sinkConfig(Export *o)
{
    return (EtwSinkConfig){.format = formatOf(o),
            .timeFormat = ETW_TIME_NS,
            .stacks = o->reading.options.stacks != 0,
            .messages = o->messages != 0,
            .weight = o->weight < 0 ? ETW_WEIGHT_TIME : (EtwWeight)o->weight,
            .title = o->title ? EtwUtf8Of(o->title, &o->titleText, NULL) : NULL,
            .drain = drainSink,
            .drainCtx = &o->output};
}

/* A channel that bytes are written to becomes binary. */
static int openOutput(Export *o)
{
    bool isStdout = strcmp(Tcl_GetString(o->reading.target), "-") == 0;

    if (EtwOutputOpen(o->reading.interp, isStdout ? NULL : o->reading.target,
                o->reading.query.source, "export", true, &o->output) != TCL_OK) {
        return TCL_ERROR;
    }
    return etwFormats[formatOf(o)].kind == ETW_FILE_BYTES ? EtwOutputBinary(&o->output) : TCL_OK;
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

/* Records that describe the file itself are not exported. */
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

/* An empty picture would look like a program that did nothing. */
static int failEmpty(const Export *o, const char *what)
{
    const char *name = etwExportFormatNames[o->format];

    return EtwTclFail(o->reading.interp, ETW_E_LOOKUP, "EMPTY", name,
            "no %s in the source (events: %lld): the format %s shows %s; nothing was written", what,
            (long long)o->reading.events, name, etwFormats[formatOf(o)].shows);
}

static int endExport(void *record)
{
    Export *o = record;

    EtwSinkEnd(o->sink, o->reading.query.source, &o->output.text);
    if (EtwSinkLacks(o->sink) != NULL) {
        return failEmpty(o, EtwSinkLacks(o->sink));
    }
    return o->output.failed ? TCL_ERROR : TCL_OK;
}

static int closeExport(void *record, int result)
{
    Export *o = record;

    EtwSinkFree(o->sink);
    Tcl_DStringFree(&o->titleText);
    return EtwOutputClose(&o->output, result);
}

static const Export exportDefaults = {.format = -1, .weight = -1};
const EtwReadCommand etwExportCommand = {
        .size = sizeof(Export),
        .defaults = &exportDefaults,
        .usage = "source ?source ...? file ?-option value ...?",
        .words = ETW_WORDS_TARGET,
        .options = exportOptions,
        .check = checkOptions,
        .begin = beginExport,
        .event = exportEvent,
        .end = endExport,
        .close = closeExport,
};
