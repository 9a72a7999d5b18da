/*
 * tcl/relog/relog_cmd.c --
 *
 *	etw relog: a query's events as a new .etl file, which appears when it is complete. Records are
 *	copied as they are (flow/relog/relog.h). Events that describe others are kept whatever the filter
 *	says, so that what is kept can still be decoded.
 */
#include "tcl/core/text_output.h"
#include "tcl/value/record_value.h"
#include "tcl/relog/relog_int.h"

typedef struct RelogOptions {
    EtwQueryOptions query;
    Tcl_Obj *providers, *inject, *map, *split;
    EtwRelogEditOptions edit;
    int compress, schemas;
    EtwSplitKind splitKind; /* of -split */
    int64_t splitAmount;
} RelogOptions;

/* A relog under way. */
typedef struct Relogging {
    EtwQuery *query;
    EtwRelog relog;
    EtwRelogEdits edits;
    EtwRelogMap *map;     /* NULL: no -map */
    EtwRelogFiles *files; /* NULL: no -split */
    EtwOutput output;     /* the only file */
    bool slices;          /* the output is a pipe: no way back to its beginning */
    uint64_t sliced;      /* events up to the slice that onIdle put */
} Relogging;

/* Not ETW_OPTIONS_FILTER: with -stacks, records of stacks would not be delivered. */
static const EtwOption relogOptions[] = {
        ETW_OPTION("-compress", ETW_OPT_BOOL, offsetof(RelogOptions, compress), 0, 0, 0, NULL),
        ETW_OPTION("-fields", ETW_OPT_LIST, ETW_QUERY_AT(fields), 0, 0, 0, NULL),
        ETW_OPTION("-from", ETW_OPT_OBJ, ETW_QUERY_AT(from), 0, 0, 0, NULL),
        ETW_OPTION("-inject", ETW_OPT_LIST, offsetof(RelogOptions, inject), 0, 0, 0, NULL),
        ETW_OPTION("-limit", ETW_OPT_WIDE, ETW_QUERY_AT(limit), 1, INT64_MAX, 0, NULL),
        ETW_OPTION("-map", ETW_OPT_LIST, offsetof(RelogOptions, map), 0, 0, 0, NULL),
        ETW_OPTION_PROGRESS,
        ETW_OPTION("-providers", ETW_OPT_LIST, offsetof(RelogOptions, providers), 0, 0, 0, NULL),
        ETW_OPTION_RECORDS,
        ETW_OPTION("-redact", ETW_OPT_LIST, offsetof(RelogOptions, edit.redact), 0, 0, 0, NULL),
        ETW_OPTION("-rename", ETW_OPT_LIST, offsetof(RelogOptions, edit.rename), 0, 0, 0, NULL),
        ETW_OPTION("-schemas", ETW_OPT_BOOL, offsetof(RelogOptions, schemas), 0, 0, 0, NULL),
        ETW_OPTION("-set", ETW_OPT_LIST, offsetof(RelogOptions, edit.set), 0, 0, 0, NULL),
        ETW_OPTION("-split", ETW_OPT_LIST, offsetof(RelogOptions, split), 0, 0, 0, NULL),
        ETW_OPTION(
                "-timeshift", ETW_OPT_OBJ, offsetof(RelogOptions, edit.timeshift), 0, 0, 0, NULL),
        ETW_OPTION("-timeout", ETW_OPT_INT, ETW_QUERY_AT(timeout), 1, INT_MAX, 0, NULL),
        ETW_OPTION("-to", ETW_OPT_OBJ, ETW_QUERY_AT(to), 0, 0, 0, NULL),
        ETW_OPTION("-where", ETW_OPT_OBJ, ETW_QUERY_AT(where), 0, 0, 0, NULL),
        ETW_OPTION_END,
};
enum { CHANNEL_BUFFER = 256 * 1024, SLICE = 4 << 20 };
static const char usage[] = "in ?in ...? out ?-option value ...?";

/* ---- Words ----------------------------------------------------------------------------------- */

/* -providers as a part of -where; *wherePtr has a reference, the caller's, or is NULL. */
static int whereOf(Tcl_Interp *interp, const RelogOptions *options, Tcl_Obj **wherePtr)
{
    Tcl_Obj *where = options->query.where, **names;
    Tcl_Size count = 0;

    if (options->providers != NULL) {
        Tcl_ListObjGetElements(NULL, options->providers, &count, &names);
    }
    for (Tcl_Size i = 0; i < count; i++) {
        if (strpbrk(Tcl_GetString(names[i]), "\\\"[]$") != NULL) {
            return EtwTclFail(interp, ETW_E_ARG, "PROVIDER", Tcl_GetString(names[i]),
                    "\"%.100s\" is not the name of a provider", Tcl_GetString(names[i]));
        }
    }
    if (options->providers != NULL) {
        const char *list = Tcl_GetString(options->providers);
        where = where ? Tcl_ObjPrintf("$provider in {%s} && (%s)", list, Tcl_GetString(where))
                      : Tcl_ObjPrintf("$provider in {%s}", list);
    }
    *wherePtr = where;
    if (where != NULL) {
        Tcl_IncrRefCount(where);
    }
    return TCL_OK;
}

/* "in ?in ...? out ?-option value ...?" */
static int parseWords(Tcl_Interp *interp, int objc, Tcl_Obj *const objv[], RelogOptions *options,
        Tcl_Obj **sourcesPtr, Tcl_Obj **outPtr)
{
    int first = 1;

    while (first < objc && !EtwIsOption(objv[first])) {
        first++;
    }
    if (first >= 2 && EtwParseOptions(interp, relogOptions, objc - first, objv + first, options,
                              NULL) != TCL_OK) {
        return TCL_ERROR;
    }
    if (first < (options->query.records != NULL ? 2 : 3)) {
        Tcl_WrongNumArgs(interp, 1, objv, usage);
        return TCL_ERROR;
    }
    if (options->query.fields != NULL && options->map == NULL) {
        return EtwTclFail(interp, ETW_E_ARG, "OPTION", "-fields", "\"-fields\" is for \"-map\"");
    }
    if (options->split != NULL && options->map != NULL) {
        return EtwTclFail(interp, ETW_E_ARG, "OPTION", "-split",
                "\"-map\" may move events in time: split its result");
    }
    if (options->split != NULL && EtwRelogSplitParse(interp, options->split, &options->splitKind,
                                          &options->splitAmount) != TCL_OK) {
        return TCL_ERROR;
    }
    if (whereOf(interp, options, &options->query.where) != TCL_OK) {
        return TCL_ERROR;
    }
    *outPtr = objv[first - 1];
    *sourcesPtr = Tcl_NewListObj(first - 2, objv + 1);
    Tcl_IncrRefCount(*sourcesPtr);
    return TCL_OK;
}

/* ---- Events ---------------------------------------------------------------------------------- */

enum { TEACHING_MAX = 16 };

/* The events that describe others, read apart from a query that would leave them out. */
typedef struct Descriptions {
    EtwSource *source; /* NULL: the query delivers them itself */
    EtwEvent event;    /* the next one */
} Descriptions;

static void nextDescription(Descriptions *d)
{
    EtwStatus status = d->source != NULL ? ETW_OK : ETW_END;

    do {
        status = status == ETW_OK ? EtwSourceNext(d->source, &d->event) : status;
    } while (status == ETW_OK && !EtwEventIsSchema(&d->event));
    if (status != ETW_OK && d->source != NULL) {
        EtwSourceClose(d->source);
        d->source = NULL;
    }
}

static void openDescriptions(Descriptions *d, const EtwQuery *query, const EtwQueryOptions *o)
{
    EtwGuid providers[TEACHING_MAX];
    size_t count = 0;

    *d = (Descriptions){.source = NULL};
    if (!o->where && !o->from && !o->to && !o->limit) {
        return;
    }
    while (count < TEACHING_MAX && etwSchemaEventProviders[count] != NULL) {
        providers[count] = *etwSchemaEventProviders[count];
        count++;
    }
    EtlFilter filter = {.providers = providers,
            .providerCount = count,
            .ids = &etwSchemaEventId,
            .idCount = 1,
            .either = true,
            .from = INT64_MIN,
            .to = INT64_MAX};
    d->source = EtwSourceReopen(query->source, &filter);
    nextDescription(d);
}

/* Those up to a time, in their place among the events. */
static void addDescriptions(Descriptions *d, int64_t until, EtwRelog *relog)
{
    while (d->source != NULL && d->event.time <= until) {
        EtwRelogAdd(relog, &d->event);
        nextDescription(d);
    }
}

/* Held until their turn comes. A record's time is ns since 1970. */
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

/* An event in its turn, or when -map moved it, at its new time. */
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

/* A slice of a pipe: what follows it is not before it in time. */
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

/* What is gathered goes out when there is enough of it. */
static int putFull(Relogging *r)
{
    if (!r->slices) {
        return EtwOutputFull(&r->output);
    }
    return r->output.text.size >= SLICE ? putSlice(r) : TCL_OK;
}

/* A live source has nothing more now: whoever reads the pipe gets what there is. */
static void onIdle(void *clientData)
{
    Relogging *r = clientData;

    if (r->relog.events > r->sliced) {
        putSlice(r);
    }
}

static int copyEvents(Relogging *r, Descriptions *d)
{
    bool apart = d->source != NULL;
    EtwEvent event;
    int result;

    r->query->keepSchemaEvents = !apart;
    while ((result = EtwQueryNext(r->query, &event)) == TCL_OK) {
        if (EtwRelogIsHeader(&r->relog, &event) || (apart && EtwEventIsSchema(&event))) {
            r->query->taken--;
            continue;
        }
        if (apart) {
            addDescriptions(d, event.time, &r->relog);
        }
        result = addEvent(r, &event);
        if (result == TCL_BREAK) {
            break;
        }
        if (result == TCL_ERROR || r->relog.failed || putFull(r) != TCL_OK) {
            return TCL_ERROR;
        }
    }
    addDescriptions(d, INT64_MAX, &r->relog);
    return result == TCL_ERROR ? TCL_ERROR : TCL_OK;
}

static int putHeader(Tcl_Interp *interp, Relogging *r)
{
    EtwOutput *output = &r->output;
    EtwText header = {0};

    if (r->slices) {
        EtwRelogLast(&r->relog);
        return EtwOutputDrain(output);
    }
    EtwRelogEnd(&r->relog, &header);
    int result = EtwOutputDrain(output);
    if (result == TCL_OK &&
            (Tcl_Seek(output->channel, 0, SEEK_SET) < 0 ||
                    Tcl_Write(output->channel, header.data, (Tcl_Size)header.size) < 0)) {
        Tcl_SetObjResult(
                interp, Tcl_ObjPrintf("error writing \"%s\": %s",
                                Tcl_GetChannelName(output->channel), Tcl_PosixError(interp)));
        result = TCL_ERROR;
    }
    EtwTextFree(&header);
    return result;
}

/* Of -split. */
static int endFiles(Relogging *r)
{
    EtwRelogEnd(&r->relog, NULL);
    return r->relog.failed ? TCL_ERROR : TCL_OK;
}

/* ---- The command ----------------------------------------------------------------------------- */

/* The header is written again at the end, where there is a way back; else slices go out. */
static int checkOutput(Tcl_Interp *interp, Relogging *r)
{
    EtwOutput *output = &r->output;

    if (output->own && Tcl_Seek(output->channel, 0, SEEK_CUR) >= 0) {
        Tcl_SetChannelBufferSize(output->channel, CHANNEL_BUFFER);
        return TCL_OK;
    }
    r->slices = output->raw = true;
    r->query->onIdle = onIdle;
    r->query->idleCtx = r;
    return Tcl_SetChannelOption(interp, output->channel, "-translation", "binary");
}

static int writeAll(Tcl_Interp *interp, Relogging *r, const RelogOptions *options)
{
    Descriptions descriptions;
    EtwError err = {0};

    if (EtwRelogOpen(&r->relog, r->query->source, options->compress, &r->output.text, &err) !=
            ETW_OK) {
        return EtwTclError(interp, &err);
    }
    EtwRelogEditsApply(&r->edits, &r->relog);
    if (r->files != NULL) {
        EtwSplitSink sink = EtwRelogFilesSink(r->files);
        EtwRelogSplit(
                &r->relog, options->splitKind, options->splitAmount, &sink, r->query->filter.store);
    }
    if (options->schemas) {
        EtwRelogDescribe(&r->relog, r->query->filter.store);
    }
    if (options->inject != NULL && EtwRelogInject(interp, options->inject, &r->relog) != TCL_OK) {
        return TCL_ERROR;
    }
    if (options->map != NULL) {
        r->map = EtwRelogMapNew(r->query, options->map, &r->relog);
    }
    openDescriptions(&descriptions, r->query, &options->query);
    int result = copyEvents(r, &descriptions);
    if (descriptions.source != NULL) {
        EtwSourceClose(descriptions.source);
    }
    return result != TCL_OK ? TCL_ERROR : r->files != NULL ? endFiles(r) : putHeader(interp, r);
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

static Tcl_Obj *resultOf(const Relogging *r)
{
    const EtwRelog *relog = &r->relog;
    Tcl_Obj *dict = Tcl_NewDictObj(), *warnings = EtwQueryWarnings(r->query);

    addWarning(warnings, relog, EtwRelogAligned);
    addWarning(warnings, relog, EtwRelogUnset);
    addWarning(warnings, relog, EtwRelogUnknown);
    addWarning(warnings, relog, EtwRelogPlain);
    addWarning(warnings, relog, EtwRelogUndescribed);
    addWarning(warnings, relog, EtwRelogRundownDropped);
    EtwPut(dict, "events", EtwUint64Obj(relog->events));
    EtwPut(dict, "schemas", EtwUint64Obj(relog->schemas));
    EtwPut(dict, "bytes", EtwUint64Obj(EtwRelogBytes(relog)));
    EtwPut(dict, "lost", EtwUint64Obj(EtwSourceLost(r->query->source) + relog->tooBig));
    if (relog->split != NULL) {
        EtwPut(dict, "files", EtwRelogFilesDict(relog->split));
    }
    EtwPut(dict, "warnings", warnings);
    return dict;
}

static int writeFile(Tcl_Interp *interp, Relogging *r, const RelogOptions *options, Tcl_Obj *out)
{
    bool isStdout = strcmp(Tcl_GetString(out), "-") == 0;
    if (EtwOutputOpen(interp, isStdout ? NULL : out, r->query->source, "relog", true, &r->output) !=
            TCL_OK) {
        return TCL_ERROR;
    }
    int result = checkOutput(interp, r);
    if (result == TCL_OK) {
        result = writeAll(interp, r, options);
    }
    return EtwOutputClose(&r->output, result);
}

static int writeFiles(Tcl_Interp *interp, Relogging *r, const RelogOptions *options, Tcl_Obj *out)
{
    EtwQuery *query = r->query;
    r->files =
            EtwRelogFilesNew(interp, options->splitKind, out, query->source, query->filter.store);
    int result = writeAll(interp, r, options);
    EtwTextFree(&r->output.text);
    return result;
}

static int relogOnce(Tcl_Interp *interp, Relogging *r, const RelogOptions *options, Tcl_Obj *out)
{
    int result = options->split != NULL ? writeFiles(interp, r, options, out)
                                        : writeFile(interp, r, options, out);
    Tcl_Obj *dict = result == TCL_OK ? resultOf(r) : NULL;
    if (r->files != NULL) {
        result = EtwRelogFilesClose(r->files, result);
    }
    EtwRelogMapFree(r->map);
    EtwRelogClose(&r->relog);
    if (result == TCL_OK) {
        Tcl_SetObjResult(interp, dict);
    } else if (dict != NULL) {
        Tcl_DecrRefCount(dict);
    }
    return result;
}

static int relogQuery(
        Tcl_Interp *interp, EtwQuery *query, const RelogOptions *options, Tcl_Obj *out)
{
    Relogging r = {.query = query};

    if (EtwRelogEditsParse(interp, &options->edit, query->filter.store, &r.edits) != TCL_OK) {
        return TCL_ERROR;
    }
    int result = relogOnce(interp, &r, options, out);
    EtwRelogEditsFree(&r.edits);
    return result;
}

int EtwRelogCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    RelogOptions options = {.providers = NULL};
    EtwQuery query;
    Tcl_Obj *sources = NULL, *out = NULL;

    if (parseWords(interp, objc, objv, &options, &sources, &out) != TCL_OK) {
        return TCL_ERROR;
    }
    int result = EtwQueryOpen(&query, clientData, sources, &options.query);
    Tcl_DecrRefCount(sources);
    if (result == TCL_OK) {
        result = relogQuery(interp, &query, &options, out);
        EtwQueryClose(&query);
    }
    if (options.query.where != NULL) {
        Tcl_DecrRefCount(options.query.where);
    }
    return result;
}
