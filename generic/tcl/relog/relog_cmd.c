/*
 * tcl/relog/relog_cmd.c --
 *
 *	etw relog: writes a query's events to a new .etl file, which appears when it is complete.
 *	Records are copied unchanged (flow/relog/relog.h). Schema events are kept regardless of the
 *	filter, so that the copied events can be decoded.
 */
#include "etl/compress/pack.h"
#include "tcl/core/text_output.h"
#include "tcl/value/record_value.h"
#include "flow/track/name_tracker.h"
#include "tcl/relog/relog_int.h"

enum { TRACK_CLASSES_MAX = 32 };

/*
 * Events that a part of a trace needs: schema events, and the events of Windows' kernel that name processes. Read
 * separately if the query would omit them.
 */
typedef struct Descriptions {
    EtwSource *source; /* NULL: the query delivers schema events, no others are kept */
    EtwEvent event;    /* the next one */
    bool names;        /* events that name processes, too */
    uint64_t named;    /* number of those, and how many of them the filter selects anyway */
    uint64_t selected;
    EtwGuid providers[ETW_SCHEMA_EVENT_PROVIDERS + TRACK_CLASSES_MAX];
} Descriptions;

/* The state of a relog. */
typedef struct Relogging {
    EtwReading reading;
    /* options */
    Tcl_Obj *inject, *mapPrefix, *split;
    EtwRelogEditOptions edit;
    int compress, pack, schemas; /* pack: -1: if the output's name ends in .zst */
    EtwSplitKind splitKind;      /* from -split */
    int64_t splitAmount;
    /* state */
    EtwRelog relog;
    EtwRelogEdits edits;
    EtwRelogMap *map;     /* NULL: no -map */
    EtwRelogFiles *files; /* NULL: no -split */
    EtwOutput output;     /* of a single file */
    EtlPacker *packer;    /* of a single file; NULL: not packed */
    EtwText plain;        /* bytes that are not packed yet */
    bool slices;          /* the output is a pipe, which is not seekable */
    uint64_t sliced;      /* number of events in the slices that onIdle has written */
    Descriptions descriptions;
    bool apart;        /* schema events were read separately */
    bool filtered;     /* a filter was given */
    uint64_t selected; /* events that passed it, without schema events */
} Relogging;

#define AT(field) offsetof(Relogging, field)
/* Not ETW_OPTIONS_FILTER, because with -stacks stack records would not be delivered. */
static const EtwOption relogOptions[] = {
        ETW_OPTION("-compress", ETW_OPT_BOOL, AT(compress), 0, 0, 0, NULL),
        ETW_OPTION("-fields", ETW_OPT_LIST, ETW_QUERY_AT(fields), 0, 0, 0, NULL),
        ETW_OPTION("-inject", ETW_OPT_LIST, AT(inject), 0, 0, 0, NULL),
        ETW_OPTION("-map", ETW_OPT_LIST, AT(mapPrefix), 0, 0, 0, NULL),
        ETW_OPTION("-pack", ETW_OPT_BOOL, AT(pack), 0, 0, 0, NULL),
        ETW_OPTION("-redact", ETW_OPT_LIST, AT(edit.redact), 0, 0, 0, NULL),
        ETW_OPTION("-rename", ETW_OPT_LIST, AT(edit.rename), 0, 0, 0, NULL),
        ETW_OPTION("-schemas", ETW_OPT_BOOL, AT(schemas), 0, 0, 0, NULL),
        ETW_OPTION("-set", ETW_OPT_LIST, AT(edit.set), 0, 0, 0, NULL),
        ETW_OPTION("-split", ETW_OPT_LIST, AT(split), 0, 0, 0, NULL),
        ETW_OPTION("-timeshift", ETW_OPT_OBJ, AT(edit.timeshift), 0, 0, 0, NULL),
        ETW_OPTIONS_REPORT,
        ETW_OPTION_LIMIT,
        ETW_OPTION_PROGRESS,
        ETW_OPTION_END,
};
#undef AT
enum { CHANNEL_BUFFER = 256 * 1024, SLICE = 4 << 20 };

/* ---- Options --------------------------------------------------------------------------------- */

static int checkOptions(void *record)
{
    Relogging *r = record;
    Tcl_Interp *interp = r->reading.interp;

    if (r->pack < 0) {
        const char *name = Tcl_GetString(r->reading.target);
        size_t size = strlen(name);
        r->pack = size > 4 && strcmp(name + size - 4, ".zst") == 0;
    }
    if (r->pack && r->compress) {
        return EtwTclFail(interp, ETW_E_ARG, "OPTION", "-pack",
                "\"-compress\" and \"-pack\" exclude each other: a packed trace is smaller than a "
                "compressed one");
    }
    if (r->pack && !EtlPackAvailable()) {
        return EtwTclFail(interp, ETW_E_UNSUPPORTED, "OPTION", "-pack",
                "this build of etw cannot pack traces, because it was built without libzstd: use "
                "\"-compress 1\", or build etw where libzstd is installed (Debian: libzstd-dev)");
    }
    if (r->reading.options.fields != NULL && r->mapPrefix == NULL) {
        return EtwTclFail(interp, ETW_E_ARG, "OPTION", "-fields", "\"-fields\" needs \"-map\"");
    }
    if (r->split != NULL && r->mapPrefix != NULL) {
        return EtwTclFail(interp, ETW_E_ARG, "OPTION", "-split",
                "\"-map\" and \"-split\" exclude each other: split the output in a second \"etw "
                "relog\"");
    }
    if (r->split != NULL &&
            EtwRelogSplitParse(interp, r->split, &r->splitKind, &r->splitAmount) != TCL_OK) {
        return TCL_ERROR;
    }
    return TCL_OK;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static bool isNeeded(const Descriptions *d, const EtwEvent *event)
{
    return EtwEventIsSchema(event) || (d->names && EtwEventNamesProcess(event));
}

static void nextDescription(Descriptions *d)
{
    EtwStatus status = d->source != NULL ? ETW_OK : ETW_END;

    do {
        status = status == ETW_OK ? EtwSourceNext(d->source, &d->event) : status;
    } while (status == ETW_OK && !isNeeded(d, &d->event));
    if (status != ETW_OK && d->source != NULL) {
        EtwSourceClose(d->source);
        d->source = NULL;
    }
}

static void openDescriptions(Descriptions *d, const EtwQuery *query, const EtwQueryOptions *o)
{
    if (!EtwQuerySelects(o)) {
        return;
    }
    size_t classes = 0;
    const EtwGuid *tracked = EtwTrackClasses(&classes);
    memcpy(d->providers, etwSchemaEventProviders, sizeof etwSchemaEventProviders);
    classes = d->names && classes <= TRACK_CLASSES_MAX ? classes : 0;
    memcpy(d->providers + ETW_SCHEMA_EVENT_PROVIDERS, tracked, classes * sizeof *tracked);
    EtlFilter filter = {.providers = d->providers,
            .providerCount = ETW_SCHEMA_EVENT_PROVIDERS + classes,
            .ids = &etwSchemaEventId,
            .idCount = 1,
            .either = true,
            .from = INT64_MIN,
            .to = INT64_MAX};
    d->source = EtwSourceReopen(query->source, &filter);
    nextDescription(d);
}

/* Add the schema events up to a time in their order. */
static void addDescriptions(Descriptions *d, int64_t until, EtwRelog *relog)
{
    while (d->source != NULL && d->event.time <= until) {
        d->named += !EtwEventIsSchema(&d->event);
        EtwRelogAdd(relog, &d->event);
        nextDescription(d);
    }
}

/* Add the records to the reorder buffer. A record's time is ns since 1970. */
int EtwRelogInject(Tcl_Interp *interp, Tcl_Obj *records, EtwRelog *relog)
{
    EtwSource *source;
    EtwEvent event;
    int result = EtwRecordsOpen(interp, records, &source);

    if (result != TCL_OK) {
        return TCL_ERROR;
    }
    while (result == TCL_OK && EtwSourceNext(source, &event) == ETW_OK) {
        event.logger = EtwRelogLogger(relog);
        if (EtwRelogMove(relog, &event, event.time)) {
            EtwRelogReorder(relog, &event);
        } else {
            result = EtwTclFail(interp, ETW_E_ARG, "RECORD", "time",
                    "a record without a time cannot be injected");
        }
    }
    EtwSourceClose(source);
    return result;
}

/* Add an event at its time, or at its new time if -map has changed it. */
static int addEvent(Relogging *r, EtwEvent *event)
{
    int64_t time = event->time;
    int result = TCL_OK;

    EtwRelogAddReordered(&r->relog, time);
    if (r->map != NULL && !EtwEventIsSchema(event)) {
        result = EtwRelogMapEvent(r->map, event);
    }
    if (result == TCL_OK && event->time > time) {
        EtwRelogReorder(&r->relog, event);
    } else if (result == TCL_OK) {
        EtwRelogAdd(&r->relog, event);
    }
    return result;
}

/* Write a slice to the pipe. Later slices contain only later events. */
static int putSlice(Relogging *r)
{
    EtwRelogSlice(&r->relog);
    r->sliced = r->relog.events;
    if (EtwOutputDrain(&r->output) != TCL_OK || Tcl_Flush(r->output.channel) != TCL_OK) {
        return TCL_ERROR;
    }
    EtwRelogRestart(&r->relog);
    return TCL_OK;
}

/* Write the collected output when there is enough of it. */
static int putFull(Relogging *r)
{
    if (!r->slices) {
        if (r->plain.size != 0) {
            EtlPackerAdd(r->packer, r->plain.data, r->plain.size, &r->output.text);
            r->plain.size = 0;
        }
        return EtwOutputFull(&r->output);
    }
    return r->output.text.size >= SLICE ? putSlice(r) : TCL_OK;
}

/* The live source has no more events now: write what there is for the reader of the pipe. */
static void onIdle(void *clientData)
{
    Relogging *r = clientData;

    if (r->relog.events > r->sliced) {
        putSlice(r);
    }
}

static int relogEvent(void *record, EtwEvent *event)
{
    Relogging *r = record;

    if (EtwRelogIsHeader(&r->relog, event)) {
        return TCL_CONTINUE;
    }
    if (r->apart && isNeeded(&r->descriptions, event)) {
        r->selected += !EtwEventIsSchema(event);
        r->descriptions.selected += !EtwEventIsSchema(event);
        return TCL_CONTINUE;
    }
    if (r->apart) {
        addDescriptions(&r->descriptions, event->time, &r->relog);
    }
    r->selected += !EtwEventIsSchema(event);
    int result = addEvent(r, event);
    if (result == TCL_BREAK) {
        return TCL_BREAK;
    }
    return result == TCL_ERROR || r->relog.failed || putFull(r) != TCL_OK ? TCL_ERROR : TCL_OK;
}

/* Pack what is left, and replace the header by its packed form. */
static void packEnd(Relogging *r, EtwText *header)
{
    EtwText packed = {0};

    EtlPackerAdd(r->packer, r->plain.data, r->plain.size, &r->output.text);
    EtlPackerEnd(r->packer, &r->output.text);
    EtlPackHeader(header->data, header->size, &packed);
    EtwTextFree(header);
    *header = packed;
}

static int putHeader(Relogging *r)
{
    EtwOutput *output = &r->output;
    EtwText header = {0};

    if (r->slices) {
        EtwRelogLast(&r->relog);
        return EtwOutputDrain(output);
    }
    EtwRelogEnd(&r->relog, &header);
    if (r->packer != NULL) {
        packEnd(r, &header);
    }
    int result = EtwOutputDrain(output);
    if (result == TCL_OK &&
            (Tcl_Seek(output->channel, 0, SEEK_SET) < 0 ||
                    Tcl_Write(output->channel, header.data, (Tcl_Size)header.size) < 0)) {
        result = EtwOutputError(output);
    }
    EtwTextFree(&header);
    return result;
}

/* ---- The command ----------------------------------------------------------------------------- */

/* If the output is seekable, the header is rewritten at the end; otherwise slices are written. */
static int checkOutput(Tcl_Interp *interp, Relogging *r)
{
    EtwOutput *output = &r->output;

    if (output->own && Tcl_Seek(output->channel, 0, SEEK_CUR) >= 0) {
        Tcl_SetChannelBufferSize(output->channel, CHANNEL_BUFFER);
        return TCL_OK;
    }
    if (r->pack) {
        return EtwTclFail(interp, ETW_E_ARG, "OPTION", "-pack",
                "\"-pack\" needs a file, and \"%.200s\" is a pipe or a channel: give a path",
                Tcl_GetString(r->reading.target));
    }
    r->slices = output->raw = true;
    r->reading.query.onIdle = onIdle;
    r->reading.query.idleCtx = r;
    return Tcl_SetChannelOption(interp, output->channel, "-translation", "binary");
}

static int openOutput(Tcl_Interp *interp, Relogging *r)
{
    EtwQuery *query = &r->reading.query;
    Tcl_Obj *out = r->reading.target;
    bool isStdout = strcmp(Tcl_GetString(out), "-") == 0;

    if (r->split != NULL) {
        r->files = EtwRelogFilesNew(
                interp, r->splitKind, out, r->pack, query->source, query->filter.store);
        return TCL_OK;
    }
    return EtwOutputOpen(interp, isStdout ? NULL : out, query->source, "relog", true, &r->output) ==
                           TCL_OK
                   ? checkOutput(interp, r)
                   : TCL_ERROR;
}

static int beginRelog(void *record)
{
    Relogging *r = record;
    Tcl_Interp *interp = r->reading.interp;
    EtwQuery *query = &r->reading.query;
    EtwError err = {0};

    if (EtwRelogEditsParse(interp, &r->edit, query->filter.store, &r->edits) != TCL_OK ||
            openOutput(interp, r) != TCL_OK) {
        return TCL_ERROR;
    }
    EtwRelogForm form = r->pack       ? ETW_RELOG_TO_PACK
                        : r->compress ? ETW_RELOG_COMPRESSED
                                      : ETW_RELOG_PLAIN;
    r->packer = r->pack && r->files == NULL ? EtlPackerNew() : NULL;
    EtwText *to = r->packer != NULL ? &r->plain : &r->output.text;
    if (EtwRelogOpen(&r->relog, query->source, form, to, &err) != ETW_OK) {
        return EtwTclError(interp, &err);
    }
    EtwRelogEditsApply(&r->edits, &r->relog);
    if (r->files != NULL) {
        EtwSplitSink sink = EtwRelogFilesSink(r->files);
        EtwRelogSplit(&r->relog, r->splitKind, r->splitAmount, &sink, query->filter.store);
    }
    if (r->schemas) {
        EtwRelogDescribe(&r->relog, query->filter.store);
    }
    if (r->inject != NULL && EtwRelogInject(interp, r->inject, &r->relog) != TCL_OK) {
        return TCL_ERROR;
    }
    if (r->mapPrefix != NULL) {
        r->map = EtwRelogMapNew(query, r->mapPrefix, &r->relog);
    }
    /* -map is for the events that the filter selects; pieces have a rundown of their own. */
    r->descriptions.names = r->map == NULL && r->files == NULL;
    openDescriptions(&r->descriptions, query, &r->reading.options);
    r->filtered = EtwQuerySelects(&r->reading.options);
    r->apart = r->descriptions.source != NULL;
    query->keepSchemaEvents = !r->apart;
    return TCL_OK;
}

static int endRelog(void *record)
{
    Relogging *r = record;

    addDescriptions(&r->descriptions, INT64_MAX, &r->relog);
    if (r->files == NULL) {
        return putHeader(r);
    }
    EtwRelogEnd(&r->relog, NULL);
    return r->relog.failed ? TCL_ERROR : TCL_OK;
}

static void addWarning(
        Tcl_Obj *warnings, const EtwRelog *relog, bool (*tell)(const EtwRelog *relog, EtwText *out))
{
    EtwText text = {0};

    if (tell(relog, &text)) {
        Tcl_ListObjAppendElement(NULL, warnings, EtwTextObj(text.data, text.size));
    }
    EtwTextFree(&text);
}

static uint64_t bytesOf(const Relogging *r)
{
    if (r->packer != NULL) {
        return EtlPackerBytes(r->packer);
    }
    return r->pack ? EtwRelogFilesPacked(r->files) : EtwRelogBytes(&r->relog);
}

static Tcl_Obj *resultOf(const Relogging *r)
{
    const EtwRelog *relog = &r->relog;
    Tcl_Obj *dict = Tcl_NewDictObj(), *warnings = EtwQueryWarnings(&r->reading.query);
    Tcl_Obj *hints = Tcl_NewListObj(0, NULL);
    Tcl_Size hintCount;

    EtwQueryAddHints(&r->reading.query, hints);
    Tcl_ListObjLength(NULL, hints, &hintCount);
    Tcl_DecrRefCount(hints);
    if (r->filtered && r->selected == 0 && hintCount == 0) { /* the reason is not known */
        Tcl_ListObjAppendElement(
                NULL, warnings, Tcl_NewStringObj("no event has passed the filters", -1));
    }
    addWarning(warnings, relog, EtwRelogAligned);
    addWarning(warnings, relog, EtwRelogUnset);
    addWarning(warnings, relog, EtwRelogUnmatched);
    addWarning(warnings, relog, EtwRelogUnknown);
    addWarning(warnings, relog, EtwRelogPlain);
    addWarning(warnings, relog, EtwRelogUndescribed);
    addWarning(warnings, relog, EtwRelogRundownDropped);
    EtwPut(dict, "events", EtwUint64Obj(relog->events));
    if (relog->redact != NULL) {
        EtwPut(dict, "redacted", EtwUint64Obj(relog->redacted));
    }
    if (r->descriptions.named > r->descriptions.selected) {
        EtwPut(dict, "names", EtwUint64Obj(r->descriptions.named - r->descriptions.selected));
    }
    EtwPut(dict, "schemas", EtwUint64Obj(relog->schemas));
    EtwPut(dict, "bytes", EtwUint64Obj(bytesOf(r)));
    EtwPut(dict, "lost", EtwUint64Obj(EtwSourceLost(r->reading.query.source) + relog->tooBig));
    if (relog->split != NULL) {
        EtwPut(dict, "files", EtwRelogFilesDict(relog->split));
    }
    EtwPut(dict, "warnings", warnings);
    return dict;
}

static int closeRelog(void *record, int result)
{
    Relogging *r = record;

    if (r->descriptions.source != NULL) {
        EtwSourceClose(r->descriptions.source);
    }
    result = EtwOutputClose(&r->output, result);
    if (result == TCL_OK) {
        r->reading.result = resultOf(r);
    }
    if (r->files != NULL) {
        result = EtwRelogFilesClose(r->files, result);
    }
    EtlPackerFree(r->packer);
    EtwTextFree(&r->plain);
    EtwRelogMapFree(r->map);
    EtwRelogClose(&r->relog);
    EtwRelogEditsFree(&r->edits);
    return result;
}

static const Relogging relogDefaults = {.pack = -1};

const EtwReadCommand etwRelogCommand = {
        .size = sizeof(Relogging),
        .usage = "in ?in ...? out ?-option value ...?",
        .words = ETW_WORDS_TARGET,
        .options = relogOptions,
        .defaults = &relogDefaults,
        .check = checkOptions,
        .begin = beginRelog,
        .event = relogEvent,
        .end = endRelog,
        .close = closeRelog,
};
