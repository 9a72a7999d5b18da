/*
 * tcl/consume/calls_cmd.c --
 *
 *	etw calls: shows the calls in a query's script and kernel events (flow/calls/call_tree.h): a
 *	profile, a tree, or both; as text, csv, json, folded stacks or a dict.
 */
#include "tcl/consume/read_command.h"
#include "flow/calls/call_tree.h"
#include "flow/render/format_registry.h"

enum { AS_BOTH, AS_PROFILE, AS_TREE };
enum { BY_PROC, BY_LINE, BY_SAMPLE, BY_CAUSE };
static const char *const asNames[] = {"both", "profile", "tree", NULL};
static const char *const byNames[] = {"proc", "line", "sample", "cause", NULL};
static const char *const sortNames[] = {"self", "total", "calls", "wait", "errors", "min", "p50",
        "p99", "max", "name", NULL}; /* as EtwCallSort */

typedef struct CallsReading {
    EtwReading reading;
    int as, by, format, merge, sort, top, depth; /* options */
    Tcl_Obj *callers, *min, *under;
    double minPercent;
    EtwCalls *calls;
} CallsReading;

#define AT(field) offsetof(CallsReading, field)
static const EtwOption callsOptions[] = {
        {"-as", ETW_OPT_ENUM, AT(as), 0, 0, 0, asNames},
        {"-by", ETW_OPT_ENUM, AT(by), 0, 0, 0, byNames},
        {"-callers", ETW_OPT_OBJ, AT(callers), 0, 0, 0, NULL},
        {"-depth", ETW_OPT_INT, AT(depth), 0, ETW_CALL_LEVELS, 0, NULL},
        {"-format", ETW_OPT_ENUM, AT(format), 0, 0, 0, etwCallsFormatNames},
        {"-merge", ETW_OPT_BOOL, AT(merge), 0, 0, 0, NULL},
        {"-min", ETW_OPT_OBJ, AT(min), 0, 0, 0, NULL},
        {"-sort", ETW_OPT_ENUM, AT(sort), 0, 0, 0, sortNames},
        {"-top", ETW_OPT_INT, AT(top), 0, INT_MAX, 0, NULL},
        {"-under", ETW_OPT_OBJ, AT(under), 0, 0, 0, NULL},
        ETW_OPTIONS_REPORT,
        ETW_OPTION_SYMBOLS,
        ETW_OPTION_PROGRESS,
        ETW_OPTION_END,
};
#undef AT

static EtwFormat formatOf(const CallsReading *o)
{
    return (EtwFormat)(ETW_FORMAT_CALLS + o->format);
}

/* ---- Dicts ----------------------------------------------------------------------------------- */

/* *leftPtr: how many costs may still be listed one by one. */
static Tcl_Obj *costsObj(const EtwCosts *costs, uint64_t *leftPtr)
{
    size_t count;
    bool sums = (uint64_t)costs->count > *leftPtr;
    EtwCostRow *rows = EtwCallCostRows(costs, sums, &count);
    Tcl_Obj *result = Tcl_NewListObj(0, NULL);

    *leftPtr -= sums ? 0 : (uint64_t)count;
    for (size_t i = 0; i < count; i++) {
        Tcl_Obj *dict = Tcl_NewDictObj();
        EtwPut(dict, "kind", EtwStringObj(rows[i].kind));
        EtwPut(dict, "what", EtwStringObj(rows[i].what));
        EtwPut(dict, "count", EtwUint64Obj(rows[i].count));
        EtwPut(dict, "ns", EtwUint64Obj(rows[i].ns));
        EtwPut(dict, "bytes", EtwUint64Obj(rows[i].bytes));
        Tcl_ListObjAppendElement(NULL, result, dict);
    }
    EtwFree(rows);
    return result;
}

static void putStats(Tcl_Obj *dict, const EtwCallStats *s, uint64_t *leftPtr)
{
    EtwPut(dict, "calls", EtwUint64Obj(s->calls));
    EtwPut(dict, "total", EtwUint64Obj(s->total));
    EtwPut(dict, "self", EtwUint64Obj(s->self));
    EtwPut(dict, "wait", EtwUint64Obj(EtwCostsWait(&s->own)));
    EtwPut(dict, "errors", EtwUint64Obj(s->errors));
    EtwPut(dict, "cut", EtwUint64Obj(s->cut));
    EtwPut(dict, "asleep", EtwUint64Obj(s->asleep));
    EtwPut(dict, "lostleaves", EtwUint64Obj(s->lost));
    EtwPut(dict, "own", costsObj(&s->own, leftPtr));
    EtwPut(dict, "all", costsObj(&s->all, leftPtr));
}

static Tcl_Obj *rowObj(const EtwCalls *calls, const EtwCallRow *row, uint64_t *leftPtr)
{
    Tcl_Obj *dict = Tcl_NewDictObj();

    EtwPut(dict, calls->config.byLine ? "line" : "proc", EtwTextObj(row->name, row->nameSize));
    putStats(dict, &row->stats, leftPtr);
    EtwPut(dict, "min", EtwUint64Obj(row->stats.min));
    EtwPut(dict, "p50", EtwUint64Obj(EtwCallTimeAt(row, 0.5)));
    EtwPut(dict, "p99", EtwUint64Obj(EtwCallTimeAt(row, 0.99)));
    EtwPut(dict, "max", EtwUint64Obj(row->stats.max));
    EtwPut(dict, "idle", Tcl_NewBooleanObj(row->idle));
    if (row->text != NULL) {
        EtwPut(dict, "text", EtwStringObj(row->text));
    }
    return dict;
}

static Tcl_Obj *profileObj(const EtwCalls *calls, uint64_t *leftPtr)
{
    size_t count;
    const EtwCallRow **rows = EtwCallRows(calls, &count, NULL);
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);

    for (size_t i = 0; i < count; i++) {
        Tcl_ListObjAppendElement(NULL, list, rowObj(calls, rows[i], leftPtr));
    }
    EtwFree(rows);
    return list;
}

static Tcl_Obj *nodeObj(const EtwCallNode *node, uint64_t *leftPtr)
{
    Tcl_Obj *dict = Tcl_NewDictObj();

    EtwPut(dict, "call", EtwStringObj(node->text ? node->text : node->row->name));
    EtwPut(dict, "start", Tcl_NewWideIntObj(node->start));
    putStats(dict, &node->stats, leftPtr);
    if (node->text != NULL) {
        EtwPut(dict, "code", Tcl_NewIntObj(node->code));
        EtwPut(dict, "slept", EtwUint64Obj(node->slept));
    }
    return dict;
}

/* A list under construction. dict: the caller of these calls; NULL: the thread. */
typedef struct Level {
    const EtwCallNode **list;
    size_t count, at;
    Tcl_Obj *dict, *children;
} Level;

static void pushLevel(
        EtwText *levels, const EtwCalls *calls, const EtwCallNode *node, Tcl_Obj *dict)
{
    Level level = {.dict = dict, .children = Tcl_NewListObj(0, NULL)};

    level.list = EtwCallChildren(calls, node, &level.count, NULL);
    EtwTextAdd(levels, &level, sizeof level);
}

/*
 * Not recursive, because a tree may be deep. A complete level is stored in its dict, and the dict
 * in the level above, so that no shared object is changed.
 */
static Tcl_Obj *childrenObj(const EtwCalls *calls, const EtwCallNode *root, uint64_t *leftPtr)
{
    EtwText levels = {0};
    Tcl_Obj *result = NULL;

    pushLevel(&levels, calls, root, NULL);
    while (levels.size > 0) {
        Level *top = (Level *)(void *)(levels.data + levels.size) - 1;
        if (top->at < top->count) {
            const EtwCallNode *node = top->list[top->at++];
            pushLevel(&levels, calls, node, nodeObj(node, leftPtr));
            continue;
        }
        EtwFree(top->list);
        levels.size -= sizeof *top;
        if (top->dict == NULL) {
            result = top->children;
        } else {
            EtwPut(top->dict, "children", top->children);
            Tcl_ListObjAppendElement(NULL, top[-1].children, top->dict);
        }
    }
    EtwTextFree(&levels);
    return result;
}

static Tcl_Obj *threadsObj(const EtwCalls *calls, uint64_t *leftPtr)
{
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);

    for (const EtwCallNode *t = calls->threads; t != NULL; t = t->next) {
        Tcl_Obj *dict = Tcl_NewDictObj();
        EtwPut(dict, "pid", EtwUint64Obj(t->pid));
        EtwPut(dict, "tid", EtwUint64Obj(t->tid));
        if (t->process != NULL) {
            EtwPut(dict, "process", EtwStringObj(t->process));
        }
        EtwPut(dict, "calls", EtwUint64Obj(t->stats.calls));
        EtwPut(dict, "own", costsObj(&t->stats.own, leftPtr));
        EtwPut(dict, "children", childrenObj(calls, t, leftPtr));
        Tcl_ListObjAppendElement(NULL, list, dict);
    }
    return list;
}

/* NULL: nothing was left out. */
static Tcl_Obj *leftObj(const EtwCalls *calls)
{
    Tcl_Obj *dict = NULL;
    const char *name;
    uint64_t count;

    for (int i = 0; (name = EtwCallsLeftKind(calls, i, &count)) != NULL; i++) {
        if (count > 0) {
            dict = dict != NULL ? dict : Tcl_NewDictObj();
            EtwPut(dict, name, EtwUint64Obj(count));
        }
    }
    return dict;
}

static Tcl_Obj *callersObj(const EtwCalls *calls, const char *proc)
{
    size_t count;
    EtwCaller *callers = EtwCallCallers(calls, proc, &count);
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);

    for (size_t i = 0; i < count; i++) {
        const EtwCaller *c = &callers[i];
        Tcl_Obj *dict = Tcl_NewDictObj();
        EtwPut(dict, "caller", EtwStringObj(c->row ? c->row->name : ""));
        EtwPut(dict, "calls", EtwUint64Obj(c->calls));
        EtwPut(dict, "total", EtwUint64Obj(c->total));
        EtwPut(dict, "self", EtwUint64Obj(c->self));
        EtwPut(dict, "errors", EtwUint64Obj(c->errors));
        Tcl_ListObjAppendElement(NULL, list, dict);
    }
    EtwFree(callers);
    return list;
}

static Tcl_Obj *resultDict(const EtwQuery *query, const EtwCalls *calls, int as)
{
    uint64_t rowsLeft = ETW_COST_ROWS + calls->events;
    Tcl_Obj *dict = Tcl_NewDictObj();

    EtwPut(dict, "events", EtwUint64Obj(calls->events));
    EtwPut(dict, "calls", EtwUint64Obj(calls->calls));
    EtwPut(dict, "cut", EtwUint64Obj(calls->cut));
    EtwPut(dict, "asleep", EtwUint64Obj(calls->asleep));
    EtwPut(dict, "lostleaves", EtwUint64Obj(calls->lost));
    EtwPut(dict, "unmatched", EtwUint64Obj(calls->unmatched));
    if (calls->folded > 0) {
        EtwPut(dict, "folded", EtwUint64Obj(calls->folded));
    }
    if (calls->shortened > 0) {
        EtwPut(dict, "shortened", EtwUint64Obj(calls->shortened));
    }
    Tcl_Obj *left = leftObj(calls);
    if (left != NULL) {
        EtwPut(dict, "left", left);
    }
    EtwPut(dict, "lost", EtwUint64Obj(EtwSourceLost(query->source)));
    EtwPut(dict, "warnings", EtwQueryWarnings(query));
    if (as != AS_TREE) {
        EtwPut(dict, "profile", profileObj(calls, &rowsLeft));
    }
    if (as != AS_PROFILE) {
        EtwPut(dict, "threads", threadsObj(calls, &rowsLeft));
    }
    return dict;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void addNotes(EtwText *out, const EtwQuery *query, const EtwCalls *calls)
{
    const EtwReadNote notes[] = {
            {calls->cut, "cut: still running when their thread or the trace ended"},
            {calls->asleep, "asleep: not resumed from yield before the trace ended, or their ends "
                            "were lost"},
            {calls->lost,
                    "lost: without a leave, although their caller was left: the leave was lost"},
            {calls->unmatched, "left without an enter, not counted: begun before, or lost"},
            {calls->folded,
                    "deeper than the 500 levels of the tree: counted as \"" ETW_CALL_DEEPER "\""},
            {calls->shortened, "resumed from yield with the inner 128 calls of a coroutine only"}};

    if (calls->calls == 0) {
        EtwTextPrintf(out, "-- no calls in %llu event%s\n", (unsigned long long)calls->events,
                calls->events == 1 ? "" : "s");
    } else {
        EtwTextPrintf(out, "-- %llu call%s in %llu event%s\n", (unsigned long long)calls->calls,
                calls->calls == 1 ? "" : "s", (unsigned long long)calls->events,
                calls->events == 1 ? "" : "s");
    }
    EtwCallsLeftText(calls, out);
    EtwReadNotes(out, query, notes, sizeof notes / sizeof *notes);
}

static void addText(EtwText *out, const EtwQuery *query, const EtwCalls *calls, int as)
{
    if (as != AS_TREE) {
        EtwCallsProfileText(calls, out);
    }
    EtwTextStr(out, as == AS_BOTH ? "\n" : "");
    if (as != AS_PROFILE) {
        EtwCallsTreeText(calls, out);
    }
    addNotes(out, query, calls);
}

/* Names of procs are shown without the leading ::. */
static const char *procName(Tcl_Obj *name)
{
    const char *text = name != NULL ? Tcl_GetString(name) : NULL;

    return text != NULL && strncmp(text, "::", 2) == 0 ? text + 2 : text;
}

/* Of -callers. */
static Tcl_Obj *callersResult(const CallsReading *o)
{
    const char *proc = procName(o->callers);
    EtwText out = {0};

    switch (formatOf(o)) {
    case ETW_FORMAT_CALLS_LIST:
        return callersObj(o->calls, proc);
    case ETW_FORMAT_CALLS_CSV:
        EtwCallersCsv(o->calls, proc, &out);
        break;
    case ETW_FORMAT_CALLS_JSON:
        EtwCallersJson(o->calls, proc, &out);
        break;
    default:
        EtwCallersText(o->calls, proc, &out);
        addNotes(&out, &o->reading.query, o->calls);
    }
    return EtwTakeText(o->reading.interp, &out);
}

static Tcl_Obj *causesObj(const EtwCalls *calls)
{
    size_t count, hidden;
    const EtwCause **causes = EtwCallCauses(calls, &count, &hidden);
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);

    for (size_t i = 0; i < count; i++) {
        const EtwCause *k = causes[i];
        const EtwCallNode *thread = EtwCauseThread(k);
        Tcl_Obj *dict = Tcl_NewDictObj();
        EtwText path = {0};
        EtwCausePath(k, &path);
        EtwPut(dict, "pid", EtwUint64Obj(thread->pid));
        EtwPut(dict, "tid", EtwUint64Obj(thread->tid));
        EtwPut(dict, "kind", EtwStringObj(EtwCauseKindName(k->kind)));
        EtwPut(dict, "cause", EtwTextObj(path.data, path.size));
        EtwPut(dict, "callback", EtwStringObj(EtwCauseCallback(k)));
        EtwPut(dict, "set", EtwUint64Obj(k->set));
        EtwPut(dict, "calls", EtwUint64Obj(k->calls));
        EtwPut(dict, "errors", EtwUint64Obj(k->errors));
        EtwPut(dict, "total", EtwUint64Obj(k->total));
        EtwPut(dict, "self", EtwUint64Obj(k->self));
        EtwPut(dict, "delay", EtwUint64Obj(k->delay));
        EtwPut(dict, "maxdelay", EtwUint64Obj(k->maxDelay));
        EtwPut(dict, "queued", EtwUint64Obj(k->queued));
        EtwTextFree(&path);
        Tcl_ListObjAppendElement(NULL, list, dict);
    }
    EtwFree(causes);
    return list;
}

/* Of -by cause. */
static Tcl_Obj *causesResult(const CallsReading *o)
{
    EtwText out = {0};

    switch (formatOf(o)) {
    case ETW_FORMAT_CALLS_LIST:
        return causesObj(o->calls);
    case ETW_FORMAT_CALLS_CSV:
        EtwCausesCsv(o->calls, &out);
        break;
    case ETW_FORMAT_CALLS_JSON:
        EtwCausesJson(o->calls, &out);
        break;
    default:
        EtwCausesText(o->calls, &out);
        addNotes(&out, &o->reading.query, o->calls);
    }
    return EtwTakeText(o->reading.interp, &out);
}

static Tcl_Obj *resultObj(const CallsReading *o)
{
    const EtwQuery *query = &o->reading.query;
    const EtwCalls *calls = o->calls;
    EtwText out = {0};

    switch (formatOf(o)) {
    case ETW_FORMAT_CALLS_LIST:
        return resultDict(query, calls, o->as);
    case ETW_FORMAT_CALLS_CSV:
        (o->as == AS_TREE ? EtwCallsTreeCsv : EtwCallsProfileCsv)(calls, &out);
        break;
    case ETW_FORMAT_CALLS_JSON:
        EtwCallsJson(calls, o->as != AS_TREE, o->as != AS_PROFILE, &out);
        break;
    case ETW_FORMAT_CALLS_FOLDED:
        EtwCallsFoldedText(calls, ETW_RESULT_MAX, &out);
        break;
    default:
        addText(&out, query, calls, o->as);
    }
    return EtwTakeText(o->reading.interp, &out);
}

/* ---- The command ----------------------------------------------------------------------------- */

static int checkMin(CallsReading *o)
{
    Tcl_Interp *interp = o->reading.interp;

    if (o->min == NULL) {
        return TCL_OK;
    }
    if (Tcl_GetDoubleFromObj(NULL, o->min, &o->minPercent) != TCL_OK || !(o->minPercent >= 0) ||
            o->minPercent > 100) {
        return EtwTclFail(interp, ETW_E_ARG, "VALUE", "-min",
                "\"-min\" takes a percentage from 0 to 100, not \"%.100s\"", Tcl_GetString(o->min));
    }
    return TCL_OK;
}

static int checkCallers(const CallsReading *o)
{
    Tcl_Interp *interp = o->reading.interp;

    if (o->callers == NULL) {
        return TCL_OK;
    }
    if (!o->merge || o->by == BY_LINE) {
        return EtwTclFail(interp, ETW_E_ARG, "CALLERS", o->merge ? "-by" : "-merge",
                "\"-callers\" adds up the calls of a proc by caller: it excludes \"-merge 0\" and "
                "\"-by line\"");
    }
    if (formatOf(o) == ETW_FORMAT_CALLS_FOLDED) {
        return EtwTclFail(interp, ETW_E_ARG, "FORMAT", "-format",
                "\"-callers\" is a table: its formats are text, list, csv and json");
    }
    return TCL_OK;
}

static int checkCauses(const CallsReading *o)
{
    if (o->by == BY_CAUSE && (!o->merge || o->callers != NULL || o->depth != 0)) {
        return EtwTclFail(o->reading.interp, ETW_E_ARG, "CAUSE", "-by",
                "\"-by cause\" is a table of callbacks: it excludes \"-merge 0\", \"-callers\" and "
                "\"-depth\"");
    }
    if (o->by == BY_CAUSE && formatOf(o) == ETW_FORMAT_CALLS_FOLDED) {
        return EtwTclFail(o->reading.interp, ETW_E_ARG, "FORMAT", "-format",
                "\"-by cause\" is a table: its formats are text, list, csv and json");
    }
    return TCL_OK;
}

static int checkOptions(void *record)
{
    CallsReading *o = record;
    Tcl_Interp *interp = o->reading.interp;

    if (checkMin(o) != TCL_OK || checkCallers(o) != TCL_OK || checkCauses(o) != TCL_OK) {
        return TCL_ERROR;
    }
    if (o->callers != NULL || o->by == BY_CAUSE) {
        o->as = AS_TREE;
    }

    if (formatOf(o) == ETW_FORMAT_CALLS_CSV && o->as == AS_BOTH) {
        return EtwTclFail(interp, ETW_E_ARG, "FORMAT", "-as",
                "csv is one table: \"-format csv\" needs \"-as profile\" or \"-as tree\"");
    }
    if (formatOf(o) == ETW_FORMAT_CALLS_FOLDED && o->as == AS_PROFILE) {
        return EtwTclFail(interp, ETW_E_ARG, "FORMAT", "-as",
                "folded stacks are a tree: \"-format folded\" needs \"-as tree\"");
    }
    if (o->by == BY_SAMPLE) {
        o->reading.options.stacks = 1; /* those of Windows are records of their own */
    }
    if (!o->merge && o->by == BY_SAMPLE) {
        return EtwTclFail(interp, ETW_E_ARG, "MERGE", "-by",
                "samples are no single calls: \"-by sample\" is always merged");
    }
    if (!o->merge && o->as == AS_PROFILE) {
        return EtwTclFail(interp, ETW_E_ARG, "MERGE", "-as",
                "a profile is always merged: \"-merge 0\" needs \"-as tree\"");
    }
    return TCL_OK;
}

static int beginCalls(void *record)
{
    CallsReading *o = record;
    EtwCallsConfig config = {.tree = o->as != AS_PROFILE,
            .single = !o->merge,
            .byLine = o->by == BY_LINE,
            .samples = o->by == BY_SAMPLE,
            .causes = o->by == BY_CAUSE,
            .under = procName(o->under),
            .view = {.sort = (EtwCallSort)o->sort,
                    .top = (size_t)o->top,
                    .min = o->minPercent,
                    .depth = o->depth}};

    o->calls = EtwCallsNew(&config, o->reading.query.filter.store);
    return TCL_OK;
}

static int addCallEvent(void *record, EtwEvent *event)
{
    CallsReading *o = record;

    o->calls->config.track = EtwSourceTracked(o->reading.query.source);
    EtwCallsAdd(o->calls, event);
    return TCL_OK;
}

/* A proc that was not called is an error that suggests a similar name. */
static int checkCalled(CallsReading *o, const char *option, Tcl_Obj *name)
{
    const char *best = NULL, *proc = procName(name);

    if (proc == NULL) {
        return TCL_OK;
    }
    int distance = EtwNearDistance(proc);
    for (const EtwCallRow *row = o->calls->rows; row != NULL; row = row->next) {
        int away = EtwNameDistance(proc, row->name);
        if (away == 0) {
            return TCL_OK;
        }
        if (away < distance) {
            distance = away;
            best = row->name;
        }
    }
    return EtwTclFail(o->reading.interp, ETW_E_LOOKUP, "PROC", proc,
            best != NULL
                    ? "the trace has no call of \"%.100s\": did you mean \"%.100s\"?"
                    : "the trace has no call of \"%.100s\": without \"%s\" the procs are listed",
            proc, best != NULL ? best : option);
}

static int endCalls(void *record)
{
    CallsReading *o = record;

    EtwCallsEnd(o->calls);
    if (checkCalled(o, "-callers", o->callers) != TCL_OK ||
            checkCalled(o, "-under", o->under) != TCL_OK) {
        return TCL_ERROR;
    }
    o->reading.result = o->callers != NULL  ? callersResult(o)
                        : o->by == BY_CAUSE ? causesResult(o)
                                            : resultObj(o);
    return o->reading.result ? TCL_OK : TCL_ERROR;
}

static int closeCalls(void *record, int result)
{
    EtwCallsFree(((CallsReading *)record)->calls);
    return result;
}

static const CallsReading callsDefaults = {.merge = 1};
const EtwReadCommand etwCallsCommand = {
        .size = sizeof(CallsReading),
        .defaults = &callsDefaults,
        .options = callsOptions,
        .check = checkOptions,
        .begin = beginCalls,
        .event = addCallEvent,
        .end = endCalls,
        .close = closeCalls,
};
