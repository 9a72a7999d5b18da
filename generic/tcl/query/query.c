/*
 * tcl/query/query.c --
 *
 *	Opens sources, reads events, applies the filter and stops at the limit. The commands process
 *	the events (read_command.h). consumer.c implements threads.
 */
#include "tcl/query/query.h"
#include "tcl/value/record_value.h"
#include "base/os.h"
#include "predicate/header_bounds.h"
#include <stdlib.h>

/*
 * Number of events before the filter is pushed down, so that a source sees what kind of trace it
 * has.
 */
enum { NARROW_AFTER = 100 };
enum { MARGIN_NS = 1000000, NS_PER_MS = 1000000, WAIT_MS = 50 };

const char *const etwAsNames[] = {"dict", "list", NULL};

/* ---- Parsing arguments ----------------------------------------------------------------------- */

int EtwQueryWords(Tcl_Interp *interp, const EtwOption *table, int objc, Tcl_Obj *const objv[],
        void *record, Tcl_Obj **sourcesPtr)
{
    int first = 0;
    int used;

    while (first < objc && !EtwIsOption(objv[first])) {
        first++;
    }
    if (EtwParseOptions(interp, table, objc - first, objv + first, record, &used) != TCL_OK) {
        return TCL_ERROR;
    }
    if (first == 0 && used == objc && ((const EtwQueryOptions *)record)->records == NULL) {
        return EtwTclFail(interp, ETW_E_ARG, "SOURCE", "",
                "no source was given: expected the path of a trace, session:NAME, or -records");
    }
    *sourcesPtr = Tcl_NewListObj(first, objv);
    Tcl_IncrRefCount(*sourcesPtr);
    for (int i = first + used; i < objc; i++) {
        Tcl_ListObjAppendElement(NULL, *sourcesPtr, objv[i]);
    }
    return TCL_OK;
}

/* ---- Sources --------------------------------------------------------------------------------- */

static int openSource(Tcl_Interp *interp, Tcl_Obj *word, EtwSource **sourcePtr)
{
    EtwError err = {0};
    Tcl_DString text;
    if (EtwIsChannelSource(Tcl_GetString(word))) {
        return EtwChannelSourceOpen(interp, Tcl_GetString(word), sourcePtr);
    }
    bool isSession = strncmp(Tcl_GetString(word), "session:", 8) == 0;
    int result = TCL_OK;

    Tcl_DStringInit(&text);
    const char *spec = isSession ? EtwUtf8Of(word, &text, NULL) : EtwPathOf(interp, word, &text);
    if (spec == NULL) {
        result = TCL_ERROR;
    } else if (EtwSourceOpen(sourcePtr, spec, &err) != ETW_OK) {
        result = EtwTclError(interp, &err);
    }
    Tcl_DStringFree(&text);
    return result;
}

/* The sources of the list, followed by that of -records. */
static int openSources(
        Tcl_Interp *interp, Tcl_Obj *list, const EtwQueryOptions *options, EtwSource **sourcePtr)
{
    Tcl_Size count;
    Tcl_Obj **words;
    int opened = 0;
    int result = TCL_OK;

    if (Tcl_ListObjGetElements(interp, list, &count, &words) != TCL_OK) {
        return TCL_ERROR;
    }
    EtwSource **sources = EtwAlloc(sizeof *sources * ((size_t)count + 1));
    for (; opened < count && result == TCL_OK; opened += result == TCL_OK) {
        result = openSource(interp, words[opened], &sources[opened]);
    }
    if (result == TCL_OK && options->records != NULL) {
        result = EtwRecordsOpen(interp, options->records, &sources[opened]);
        opened += result == TCL_OK;
    }
    if (result == TCL_OK) {
        EtwSource *all = EtwSourceMerge(sources, opened);
        *sourcePtr = options->plain ? all : EtwSourceTrack(all, options->stacks != 0);
        result = options->plain ? TCL_OK : EtwQuerySymbols(interp, options->symbols, *sourcePtr);
        if (result != TCL_OK) {
            EtwSourceClose(*sourcePtr);
            *sourcePtr = NULL;
        }
    } else {
        for (int i = 0; i < opened; i++) {
            EtwSourceClose(sources[i]);
        }
    }
    EtwFree(sources);
    return result;
}

/* ---- Time bounds ----------------------------------------------------------------------------- */

/* The earliest start of the files, otherwise the first event: as in dump. */
static int64_t traceStart(const EtwSource *source, const EtwEvent *first)
{
    int64_t start = first->time;

    for (int i = 0; i < EtwSourceFileCount(source); i++) {
        const EtlInfo *info = EtwSourceFileInfo(source, i, NULL);
        if (info->startTime != 0 && info->startTime < start) {
            start = info->startTime;
        }
    }
    return start;
}

static void resolveMoments(EtwFilter *filter, const EtwSource *source, const EtwEvent *event)
{
    int64_t start = traceStart(source, event);

    filter->based = true;
    filter->from.ns = EtwTimeAdd(filter->from.ns, filter->from.relative ? start : 0);
    filter->to.ns = EtwTimeAdd(filter->to.ns, filter->to.relative ? start : 0);
}

/*
 * Push the header conditions of the filter down to the source. Ticks of a clock differ from ns, so
 * times have a margin.
 */
static void pushDownFilter(const EtwFilter *filter, EtwSource *source)
{
    EtwBounds bounds;

    EtwBoundsOf(&bounds, filter->predicate);
    EtlFilter *f = &bounds.filter;
    if (filter->from.given && filter->from.ns > f->from) {
        f->from = filter->from.ns;
    }
    if (f->from != INT64_MIN) {
        f->from -= f->from > INT64_MIN + MARGIN_NS ? MARGIN_NS : 0;
    }
    if (filter->to.given && filter->to.ns < INT64_MAX - MARGIN_NS) {
        f->to = filter->to.ns + MARGIN_NS;
    }
    if (EtwBoundsAny(&bounds)) {
        EtwSourcePushFilter(source, f);
    }
    EtwBoundsFree(&bounds);
}

EtwStatus EtwFilterTest(EtwFilter *filter, EtwSource *source, const EtwEvent *event)
{
    if (!filter->based) {
        resolveMoments(filter, source, event);
    }
    if (filter->seen < NARROW_AFTER && ++filter->seen == NARROW_AFTER) {
        pushDownFilter(filter, source);
    }
    if (filter->to.given && event->time > filter->to.ns) {
        return event->late ? ETW_AGAIN : ETW_END;
    }
    if (filter->from.given && event->time < filter->from.ns) {
        return ETW_AGAIN;
    }
    if (filter->predicate != NULL && !EtwPredicateTest(filter->predicate, filter->store, event)) {
        return ETW_AGAIN;
    }
    return ETW_OK;
}

/* ---- Open and close -------------------------------------------------------------------------- */

static int prepare(EtwQuery *query, const EtwQueryOptions *options)
{
    Tcl_Interp *interp = query->ctx->interp;

    query->filter.store = EtwSchemaStoreNew();
    query->limit = options->limit;
    query->timeoutNs = options->timeout ? (int64_t)options->timeout * NS_PER_MS : -1;
    query->maker = EtwEventMakerNew(query->ctx, query->filter.store);
    if (EtwQueryMoment(interp, "-from", options->from, &query->filter.from) != TCL_OK ||
            EtwQueryMoment(interp, "-to", options->to, &query->filter.to) != TCL_OK) {
        return TCL_ERROR;
    }
    if (options->asList && options->fields == NULL) {
        return EtwTclFail(interp, ETW_E_ARG, "FIELDS", "-as",
                "\"-as list\" needs \"-fields\", which selects the values of the list");
    }
    if (options->fields != NULL && EtwEventMakerSelect(interp, query->maker, options->fields,
                                           options->asList != 0) != TCL_OK) {
        return TCL_ERROR;
    }
    if (EtwQueryParseWhere(interp, options, &query->where) != TCL_OK) {
        return TCL_ERROR;
    }
    query->filter.predicate = query->where.predicate;
    if (query->where.lambda != NULL) {
        query->whereMaker = EtwEventMakerNew(query->ctx, query->filter.store);
        return EtwEventMakerSelect(interp, query->whereMaker, query->where.fields, true);
    }
    return TCL_OK;
}

int EtwQueryOpen(EtwQuery *query, EtwInterp *ctx, Tcl_Obj *sources, const EtwQueryOptions *options)
{
    memset(query, 0, sizeof *query);
    query->ctx = ctx;
    Tcl_Preserve(ctx);
    EtwPollingBegin(&query->polling, ctx->interp, options->progress);
    if (EtwQueryLoadSchemas(ctx->interp, options->schema) != TCL_OK ||
            prepare(query, options) != TCL_OK ||
            openSources(ctx->interp, sources, options, &query->source) != TCL_OK ||
            EtwQueryLast(query, options) != TCL_OK) {
        EtwQueryClose(query);
        return TCL_ERROR;
    }
    if (!options->plain) {
        EtwSourceHarvest(query->source, query->filter.store);
    }
    return TCL_OK;
}

void EtwQueryClose(EtwQuery *query)
{
    if (query->source != NULL) {
        EtwSourceClose(query->source);
        query->source = NULL;
    }
    EtwPollingEnd(&query->polling);
    EtwEventMakerFree(query->maker);
    EtwEventMakerFree(query->whereMaker);
    query->maker = query->whereMaker = NULL;
    EtwWhereFree(&query->where);
    if (query->filter.store != NULL) {
        EtwSchemaStoreFree(query->filter.store);
        query->filter.store = NULL;
    }
    Tcl_Release(query->ctx);
}

/* ---- Next ------------------------------------------------------------------------------------ */

/* Wait for a live source up to the timeout. False: it was silent for too long. */
static bool waitFor(EtwQuery *query, int64_t *waitedPtr)
{
    int64_t slice = WAIT_MS * NS_PER_MS;
    OsInstant before, after;

    if (query->timeoutNs >= 0 && *waitedPtr >= query->timeoutNs) {
        return false;
    }
    if (query->timeoutNs >= 0 && query->timeoutNs - *waitedPtr < slice) {
        slice = query->timeoutNs - *waitedPtr;
    }
    if (query->onIdle != NULL && *waitedPtr == 0) {
        query->onIdle(query->idleCtx);
    }
    OsNow(&before);
    EtwSourceWait(query->source, slice);
    OsNow(&after);
    *waitedPtr += after.steady - before.steady;
    return true;
}

/*
 * ETW_OK, ETW_END (also if a live source was silent for too long), or an error in Tcl as
 * ETW_E_STATE.
 */
static EtwStatus nextRaw(EtwQuery *query, EtwEvent *event)
{
    int64_t waited = 0;
    EtwStatus status = EtwSourceNext(query->source, event);

    while (status == ETW_AGAIN || status == ETW_PAUSE) {
        if (status == ETW_AGAIN && !waitFor(query, &waited)) {
            return ETW_END;
        }
        if (EtwPollingIdle(&query->polling, query->source) != TCL_OK) {
            return ETW_E_STATE;
        }
        status = EtwSourceNext(query->source, event);
    }
    return status;
}

/* No more events, because of the source's end or the limit. */
static int endQuery(EtwQuery *query)
{
    int result = query->ended ? TCL_OK : EtwPollingDone(&query->polling);

    query->ended = true;
    return result == TCL_OK ? TCL_BREAK : TCL_ERROR;
}

static bool passesAll(const EtwFilter *filter)
{
    return filter->predicate == NULL && !filter->from.given && !filter->to.given;
}

/* The next event that passes the filter in C. TCL_OK, TCL_BREAK or TCL_ERROR. */
static int nextFiltered(EtwQuery *query, EtwEvent *event)
{
    EtwStatus status;

    do {
        status = nextRaw(query, event);
        if (status == ETW_E_STATE ||
                (status == ETW_OK && EtwPollingRead(&query->polling, query->source) != TCL_OK)) {
            return TCL_ERROR;
        }
        if (status == ETW_OK && query->keepSchemaEvents && EtwEventIsSchema(event)) {
            return TCL_OK;
        }
        if (status == ETW_OK && !passesAll(&query->filter)) {
            status = EtwFilterTest(&query->filter, query->source, event);
        }
    } while (status == ETW_AGAIN);
    return status == ETW_OK ? TCL_OK : endQuery(query);
}

bool EtwQueryLimited(const EtwQuery *query)
{
    return query->limit > 0 && query->taken >= query->limit;
}

int EtwQueryNext(EtwQuery *query, EtwEvent *event)
{
    bool pass;

    if (EtwQueryLimited(query)) {
        return endQuery(query);
    }
    if (query->taken ==
            0) { /* not in EtwQueryOpen, because background consumers use the maker without a
                    track */
        EtwEventMakerTrack(query->maker, EtwSourceTracked(query->source));
    }
    do {
        int result = nextFiltered(query, event);
        if (result != TCL_OK) {
            return result;
        }
        if (query->keepSchemaEvents && EtwEventIsSchema(event)) {
            return TCL_OK;
        }
        pass = true;
        if (query->whereMaker != NULL && EtwWhereTest(query->ctx->interp, &query->where,
                                                 query->whereMaker, event, &pass) != TCL_OK) {
            return TCL_ERROR;
        }
    } while (!pass);
    query->taken++;
    return TCL_OK;
}
