/*
 * tcl/timeline/timeline_read.c --
 *
 *	Fills a timeline from its sources, one slice of time per call, so that a window stays
 *	responsive; reads files a second time for searches and for the payloads of single events.
 */
#include "tcl/timeline/timeline_cmd_int.h"
#include "base/os.h"

enum { NS_PER_MS = 1000000, LOOK_EVERY = 256 };

/* ---- Slices ------------------------------------------------------------------------------------ */

typedef struct Slice {
    EtwTclTimeline *t;
    int64_t until; /* steady ns; 0: no end */
    unsigned count;
} Slice;

/*
 * Passes a query's events to proc, with a Slice, for at most `ms` milliseconds. Returns the code of
 * EtwReadEvents.
 */
static int readSlice(EtwTclTimeline *t, EtwQuery *query, int ms, EtwReadProc *proc)
{
    OsInstant now;

    OsNow(&now);
    Slice slice = {.t = t, .until = ms > 0 ? now.steady + (int64_t)ms * NS_PER_MS : 0};
    t->busy = true;
    int result = EtwReadEvents(query, proc, &slice);
    t->busy = false;
    return result == TCL_RETURN ? TCL_OK : result;
}

/* After an event: TCL_RETURN if the time of the slice is over. */
static int sliceResult(Slice *slice, int result)
{
    OsInstant now;

    if (result != TCL_OK || slice->until == 0 || ++slice->count % LOOK_EVERY != 0) {
        return result;
    }
    OsNow(&now);
    return now.steady >= slice->until ? TCL_RETURN : TCL_OK;
}

/* ---- Reading ----------------------------------------------------------------------------------- */

static void onIdle(void *ctx)
{
    *(bool *)ctx = true;
}

int EtwTimelineOpen(EtwTclTimeline *t)
{
    if (EtwQueryOpen(&t->query, t->ctx, t->sources, &t->options) != TCL_OK) {
        return TCL_ERROR;
    }
    t->reading = true;
    t->live = EtwSourceIsLive(t->query.source);
    t->timeline = EtwTimelineNew(t->query.filter.store);
    t->query.timeoutNs = 1; /* read what is available, do not wait */
    t->query.onIdle = onIdle;
    t->query.idleCtx = &t->idle;
    return TCL_OK;
}

void EtwTimelineClose(EtwTclTimeline *t)
{
    if (!t->reading) {
        return;
    }
    EtwTimelineEnd(t->timeline);
    t->warnings = EtwQueryWarnings(&t->query);
    Tcl_IncrRefCount(t->warnings);
    if (t->live) {
        EtwEventMakerFree(t->search.maker);
        t->search.maker = NULL;
    }
    t->lost = EtwSourceLost(t->query.source);
    EtwQueryClose(&t->query);
    t->reading = false;
}

/* NULL: the dict has no such key. */
static Tcl_Obj *valueOf(Tcl_Obj *dict, const char *name)
{
    Tcl_Obj *key = Tcl_NewStringObj(name, -1), *value = NULL;
    Tcl_IncrRefCount(key);
    Tcl_DictObjGet(NULL, dict, key, &value);
    Tcl_DecrRefCount(key);
    return value;
}

/* True if a name of the event or a value of its payload contains the text, in any case. */
static bool containsText(EtwTimelineSearch *s, const EtwEvent *event)
{
    static const char *const names[] = {"provider", "event", "process", "object", "message", NULL};
    Tcl_Obj *dict = EtwEventObj(s->maker, event), *props = NULL, *value, *key;
    const char *pattern = Tcl_GetString(s->pattern);
    Tcl_DictSearch search;
    bool found = false;
    int done = 1;

    Tcl_IncrRefCount(dict);
    for (int i = 0; names[i] != NULL && !found; i++) {
        value = valueOf(dict, names[i]);
        found = value != NULL && Tcl_StringCaseMatch(Tcl_GetString(value), pattern, 1);
    }
    props = valueOf(dict, "props");
    if (!found && props != NULL &&
            Tcl_DictObjFirst(NULL, props, &search, &key, &value, &done) == TCL_OK) {
        for (; !done && !found; Tcl_DictObjNext(&search, &key, &value, &done)) {
            found = Tcl_StringCaseMatch(Tcl_GetString(value), pattern, 1);
        }
        Tcl_DictObjDone(&search);
    }
    Tcl_DecrRefCount(dict);
    return found;
}

static int testOne(EtwTclTimeline *t, EtwSchemaStore *store, const EtwEvent *event, uint32_t number)
{
    EtwTimelineSearch *s = &t->search;
    bool pass = s->where.predicate == NULL || EtwPredicateTest(s->where.predicate, store, event);
    if (s->pattern != NULL) {
        pass = containsText(s, event);
    } else if (pass && s->maker != NULL &&
               EtwWhereTest(t->ctx->interp, &s->where, s->maker, event, &pass) != TCL_OK) {
        return TCL_ERROR;
    }
    if (pass) {
        EtwTimelineMatch(t->timeline, number);
    }
    s->tested++;
    return TCL_OK;
}

static void keepEvent(EtwTclTimeline *t, const EtwEvent *event, uint32_t number)
{
    if (t->kept == NULL) {
        t->kept = (Tcl_Obj **)EtwAlloc(ETW_TIMELINE_KEPT * sizeof *t->kept);
    }
    Tcl_Obj **slot = &t->kept[number % ETW_TIMELINE_KEPT];
    if (*slot != NULL) {
        Tcl_DecrRefCount(*slot);
    }
    *slot = EtwEventObj(t->query.maker, event);
    Tcl_IncrRefCount(*slot);
}

static int addEvent(void *ctx, EtwEvent *event)
{
    EtwTclTimeline *t = ((Slice *)ctx)->t;
    uint32_t number = EtwTimelineCount(t->timeline);
    int result = TCL_OK;

    if (EtwTimelineAdd(t->timeline, event) != ETW_OK) {
        return TCL_BREAK; /* the timeline is full */
    }
    if (t->live) {
        keepEvent(t, event, number);
    }
    if (t->live && t->search.wanted) {
        result = testOne(t, t->query.filter.store, event, number);
    }
    return sliceResult(ctx, result);
}

int EtwTimelineRead(EtwTclTimeline *t, int ms)
{
    if (!t->reading) {
        return TCL_OK;
    }
    t->idle = false;
    int result = readSlice(t, &t->query, ms, addEvent);
    t->lost = EtwSourceLost(t->query.source);
    if (result == TCL_BREAK && !t->idle) {
        EtwTimelineClose(t);
    }
    return result == TCL_BREAK ? TCL_OK : result;
}

/* ---- Searches ---------------------------------------------------------------------------------- */

void EtwTimelineSearchEnd(EtwTclTimeline *t)
{
    EtwTimelineSearch *s = &t->search;
    EtwEventMakerFree(s->maker);
    if (s->reading) {
        EtwQueryClose(&s->query);
    }
    EtwWhereFree(&s->where);
    if (s->pattern != NULL) {
        Tcl_DecrRefCount(s->pattern);
    }
    memset(s, 0, sizeof *s);
}

/* where: NULL for a text. */
static int prepareSearch(EtwTclTimeline *t, Tcl_Obj *where)
{
    Tcl_Interp *interp = t->ctx->interp;
    EtwTimelineSearch *s = &t->search;
    s->wanted = true;
    if (where != NULL && EtwWhereParse(interp, where, false, &s->where) != TCL_OK) {
        return TCL_ERROR;
    }
    if (!t->live && EtwQueryOpen(&s->query, t->ctx, t->sources, &t->options) != TCL_OK) {
        return TCL_ERROR;
    }
    s->reading = !t->live;
    if (t->live) {
        s->since = s->tested = EtwTimelineCount(t->timeline);
    }
    if ((s->where.lambda == NULL && s->pattern == NULL) || (t->live && !t->reading)) {
        return TCL_OK;
    }
    s->maker = EtwEventMakerNew(t->ctx, t->live ? t->query.filter.store : s->query.filter.store);
    return where == NULL ? TCL_OK : EtwEventMakerSelect(interp, s->maker, s->where.fields, true);
}

static int beginSearch(EtwTclTimeline *t, Tcl_Obj *where, Tcl_Obj *pattern)
{
    EtwTimelineSearchEnd(t);
    EtwTimelineUnmatch(t->timeline);
    t->search.pattern = pattern;
    if (prepareSearch(t, where) != TCL_OK) {
        EtwTimelineSearchEnd(t);
        return TCL_ERROR;
    }
    return TCL_OK;
}

static void endSearch(EtwTclTimeline *t)
{
    EtwTimelineSearchEnd(t);
    EtwTimelineUnmatch(t->timeline);
}

int EtwTimelineSearchFor(EtwTclTimeline *t, Tcl_Obj *where)
{
    if (*Tcl_GetString(where) == 0) {
        endSearch(t);
        return TCL_OK;
    }
    return beginSearch(t, where, NULL);
}

/* The text as a pattern of Tcl_StringCaseMatch. */
static Tcl_Obj *patternOf(const char *text)
{
    Tcl_Obj *pattern = Tcl_NewStringObj("*", 1);
    for (; *text != 0; text++) {
        if (strchr("*?[]\\", *text) != NULL) {
            Tcl_AppendToObj(pattern, "\\", 1);
        }
        Tcl_AppendToObj(pattern, text, 1);
    }
    Tcl_AppendToObj(pattern, "*", 1);
    return pattern;
}

int EtwTimelineSearchText(EtwTclTimeline *t, Tcl_Obj *text)
{
    if (*Tcl_GetString(text) == 0) {
        endSearch(t);
        return TCL_OK;
    }
    Tcl_Obj *pattern = patternOf(Tcl_GetString(text));
    Tcl_IncrRefCount(pattern);
    return beginSearch(t, NULL, pattern);
}

static int testEvent(void *ctx, EtwEvent *event)
{
    EtwTclTimeline *t = ((Slice *)ctx)->t;
    EtwTimelineSearch *s = &t->search;
    int result = testOne(t, s->query.filter.store, event, s->tested);

    return result == TCL_OK && s->tested == EtwTimelineCount(t->timeline)
                   ? TCL_RETURN
                   : sliceResult(ctx, result);
}

int EtwTimelineSearchOn(EtwTclTimeline *t, int ms)
{
    EtwTimelineSearch *s = &t->search;
    int result = TCL_OK;

    if (!s->reading) {
        return TCL_OK;
    }
    if (s->tested < EtwTimelineCount(t->timeline)) {
        result = readSlice(t, &s->query, ms, testEvent);
    }
    if (result == TCL_BREAK ||
            (result == TCL_OK && s->tested == EtwTimelineCount(t->timeline) && !t->reading)) {
        EtwEventMakerFree(s->maker); /* the tree stays: it shows that the search was requested */
        s->maker = NULL;
        EtwQueryClose(&s->query);
        s->reading = false;
        result = TCL_OK;
    }
    return result;
}

/* ---- Payloads ------------------------------------------------------------------------------------ */

static Tcl_Obj *keptEvents(EtwTclTimeline *t, uint32_t first, uint32_t count)
{
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);
    uint32_t all = EtwTimelineCount(t->timeline);

    for (uint32_t i = first; i - first < count && i < all; i++) {
        bool there = all - i <= ETW_TIMELINE_KEPT && t->kept != NULL;
        Tcl_ListObjAppendElement(NULL, list, there ? t->kept[i % ETW_TIMELINE_KEPT] : Tcl_NewObj());
    }
    return list;
}

/* The number of events with the same time that a query from that time delivers before this one. */
static uint32_t sameTimeBefore(const EtwTimeline *timeline, uint32_t event, int64_t time)
{
    EtwTimeRowInfo row;
    uint32_t before = 0;
    while (before < event && EtwTimelineRow(timeline, event - before - 1, &row) &&
            row.time >= time) {
        before++;
    }
    return before;
}

/* The query's options, with `from` set to that time. */
static EtwQueryOptions fromTime(const EtwTclTimeline *t, int64_t time)
{
    EtwQueryOptions options = t->options;
    options.last = NULL; /* the time is within it */
    options.from = Tcl_NewWideIntObj(time);
    return options;
}

typedef struct Picking {
    const EtwQuery *query;
    uint32_t skip, count; /* events to skip; events to deliver */
    Tcl_Obj *list;
} Picking;

static int pickEvent(void *ctx, EtwEvent *event)
{
    Picking *p = ctx;

    if (p->skip > 0) {
        p->skip--;
        return TCL_OK;
    }
    Tcl_ListObjAppendElement(NULL, p->list, EtwEventObj(p->query->maker, event));
    return --p->count > 0 ? TCL_OK : TCL_BREAK;
}

Tcl_Obj *EtwTimelineEvents(EtwTclTimeline *t, uint32_t first, uint32_t count)
{
    EtwTimeRowInfo row;
    EtwQuery query;

    if (t->live || count == 0 || !EtwTimelineRow(t->timeline, first, &row)) {
        return keptEvents(t, first, count);
    }
    EtwQueryOptions options = fromTime(t, row.time);
    Tcl_IncrRefCount(options.from);
    int result = EtwQueryOpen(&query, t->ctx, t->sources, &options);
    Tcl_DecrRefCount(options.from);
    if (result != TCL_OK) {
        return NULL;
    }
    Picking picking = {
            &query, sameTimeBefore(t->timeline, first, row.time), count, Tcl_NewListObj(0, NULL)};
    t->busy = true;
    result = EtwReadEvents(&query, pickEvent, &picking);
    t->busy = false;
    EtwQueryClose(&query);
    if (result == TCL_ERROR) {
        Tcl_DecrRefCount(picking.list);
        return NULL;
    }
    return picking.list;
}
