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
enum { BY_PROC, BY_LINE, BY_SAMPLE };
static const char *const asNames[] = {"both", "profile", "tree", NULL};
static const char *const byNames[] = {"proc", "line", "sample", NULL};

typedef struct CallsReading {
    EtwReading reading;
    int as, by, format, merge; /* options */
    EtwCalls *calls;
} CallsReading;

#define AT(field) offsetof(CallsReading, field)
static const EtwOption callsOptions[] = {
        {"-as", ETW_OPT_ENUM, AT(as), 0, 0, 0, asNames},
        {"-by", ETW_OPT_ENUM, AT(by), 0, 0, 0, byNames},
        {"-format", ETW_OPT_ENUM, AT(format), 0, 0, 0, etwCallsFormatNames},
        {"-merge", ETW_OPT_BOOL, AT(merge), 0, 0, 0, NULL},
        ETW_OPTIONS_REPORT,
        ETW_OPTION_PROGRESS,
        ETW_OPTION_END,
};
#undef AT

static EtwFormat formatOf(const CallsReading *o)
{
    return (EtwFormat)(ETW_FORMAT_CALLS + o->format);
}

/* ---- Dicts ----------------------------------------------------------------------------------- */

static Tcl_Obj *costsObj(const EtwCosts *costs)
{
    size_t count;
    const EtwCost **list = EtwCallCosts(costs, &count);
    Tcl_Obj *result = Tcl_NewListObj(0, NULL);

    for (size_t i = 0; i < count; i++) {
        Tcl_Obj *dict = Tcl_NewDictObj();
        EtwPut(dict, "kind", EtwStringObj(EtwCostKindName(list[i]->of->kind)));
        EtwPut(dict, "what", EtwStringObj(list[i]->of->name));
        EtwPut(dict, "count", EtwUint64Obj(list[i]->count));
        EtwPut(dict, "ns", EtwUint64Obj(list[i]->ns));
        EtwPut(dict, "bytes", EtwUint64Obj(list[i]->bytes));
        Tcl_ListObjAppendElement(NULL, result, dict);
    }
    EtwFree(list);
    return result;
}

static void putStats(Tcl_Obj *dict, const EtwCallStats *s)
{
    EtwPut(dict, "calls", EtwUint64Obj(s->calls));
    EtwPut(dict, "total", EtwUint64Obj(s->total));
    EtwPut(dict, "self", EtwUint64Obj(s->self));
    EtwPut(dict, "wait", EtwUint64Obj(EtwCostsWait(&s->own)));
    EtwPut(dict, "errors", EtwUint64Obj(s->errors));
    EtwPut(dict, "cut", EtwUint64Obj(s->cut));
    EtwPut(dict, "asleep", EtwUint64Obj(s->asleep));
    EtwPut(dict, "lostleaves", EtwUint64Obj(s->lost));
    EtwPut(dict, "own", costsObj(&s->own));
    EtwPut(dict, "all", costsObj(&s->all));
}

static Tcl_Obj *rowObj(const EtwCalls *calls, const EtwCallRow *row)
{
    Tcl_Obj *dict = Tcl_NewDictObj();

    EtwPut(dict, calls->config.byLine ? "line" : "proc", EtwTextObj(row->name, row->nameSize));
    putStats(dict, &row->stats);
    EtwPut(dict, "min", EtwUint64Obj(row->stats.min));
    EtwPut(dict, "p50", EtwUint64Obj(EtwCallTimeAt(row, 0.5)));
    EtwPut(dict, "p99", EtwUint64Obj(EtwCallTimeAt(row, 0.99)));
    EtwPut(dict, "max", EtwUint64Obj(row->stats.max));
    return dict;
}

static Tcl_Obj *profileObj(const EtwCalls *calls)
{
    size_t count;
    const EtwCallRow **rows = EtwCallRows(calls, &count);
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);

    for (size_t i = 0; i < count; i++) {
        Tcl_ListObjAppendElement(NULL, list, rowObj(calls, rows[i]));
    }
    EtwFree(rows);
    return list;
}

static Tcl_Obj *nodeObj(const EtwCallNode *node)
{
    Tcl_Obj *dict = Tcl_NewDictObj();

    EtwPut(dict, "call", EtwStringObj(node->text ? node->text : node->row->name));
    EtwPut(dict, "start", Tcl_NewWideIntObj(node->start));
    putStats(dict, &node->stats);
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

static void pushLevel(EtwText *levels, const EtwCallNode *node, Tcl_Obj *dict)
{
    Level level = {.dict = dict, .children = Tcl_NewListObj(0, NULL)};

    level.list = EtwCallChildren(node, &level.count);
    EtwTextAdd(levels, &level, sizeof level);
}

/*
 * Not recursive, because a tree may be deep. A complete level is stored in its dict, and the dict
 * in the level above, so that no shared object is changed.
 */
static Tcl_Obj *childrenObj(const EtwCallNode *root)
{
    EtwText levels = {0};
    Tcl_Obj *result = NULL;

    pushLevel(&levels, root, NULL);
    while (levels.size > 0) {
        Level *top = (Level *)(void *)(levels.data + levels.size) - 1;
        if (top->at < top->count) {
            const EtwCallNode *node = top->list[top->at++];
            pushLevel(&levels, node, nodeObj(node));
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

static Tcl_Obj *threadsObj(const EtwCalls *calls)
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
        EtwPut(dict, "own", costsObj(&t->stats.own));
        EtwPut(dict, "children", childrenObj(t));
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

static Tcl_Obj *resultDict(const EtwQuery *query, const EtwCalls *calls, int as)
{
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
        EtwPut(dict, "profile", profileObj(calls));
    }
    if (as != AS_PROFILE) {
        EtwPut(dict, "threads", threadsObj(calls));
    }
    return dict;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void addNotes(EtwText *out, const EtwQuery *query, const EtwCalls *calls)
{
    const EtwReadNote notes[] = {
            {calls->cut, "cut: still running when their thread or the trace ended"},
            {calls->asleep, "asleep: never came back from yield (or their leaves were lost)"},
            {calls->lost,
                    "lost: without a leave, although their caller was left: the leave was lost"},
            {calls->unmatched, "left without an enter, not counted: begun before, or lost"},
            {calls->folded,
                    "deeper than the 500 levels of the tree: counted as \"" ETW_CALL_DEEPER "\""},
            {calls->shortened, "resumed from yield with the inner 128 calls of a coroutine only"}};

    EtwTextPrintf(out, "-- %llu calls in %llu events\n", (unsigned long long)calls->calls,
            (unsigned long long)calls->events);
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

static int checkOptions(void *record)
{
    const CallsReading *o = record;
    Tcl_Interp *interp = o->reading.interp;

    if (formatOf(o) == ETW_FORMAT_CALLS_CSV && o->as == AS_BOTH) {
        return EtwTclFail(interp, ETW_E_ARG, "FORMAT", "-as",
                "csv is one table: \"-format csv\" needs \"-as profile\" or \"-as tree\"");
    }
    if (formatOf(o) == ETW_FORMAT_CALLS_FOLDED && o->as == AS_PROFILE) {
        return EtwTclFail(interp, ETW_E_ARG, "FORMAT", "-as",
                "folded stacks are a tree: \"-format folded\" needs \"-as tree\"");
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
            .samples = o->by == BY_SAMPLE};

    o->calls = EtwCallsNew(&config, o->reading.query.filter.store);
    return TCL_OK;
}

static int addCallEvent(void *record, EtwEvent *event)
{
    EtwCallsAdd(((CallsReading *)record)->calls, event);
    return TCL_OK;
}

static int endCalls(void *record)
{
    CallsReading *o = record;

    EtwCallsEnd(o->calls);
    o->reading.result = resultObj(o);
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
