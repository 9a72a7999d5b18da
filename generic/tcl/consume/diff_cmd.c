/*
 * tcl/consume/diff_cmd.c --
 *
 *	etw diff: what differs between two traces, or between runs of two programs (flow/compare/compare.h).
 *	Not on the frame of read_command.h, because each source is a query of its own.
 */
#include "tcl/consume/read_command.h"
#include "flow/compare/compare.h"
#include "flow/render/format_registry.h"

static const char *const byNames[] = {
        "proc", "path", "work", "file", "host", NULL}; /* as EtwCompareTable */

enum { TEXT_ROWS = 20 /* of each table, by default */ };

typedef struct DiffReading {
    EtwQueryOptions options; /* first: the offsets of ETW_QUERY_AT */
    int format, sort, top, same;
    Tcl_Obj *by, *min, *normalize;
    EtwCompareView view;
    EtwInterp *ctx;
    Tcl_Interp *interp;
    EtwCompare *compare;
    EtwText labels[ETW_SIDES], runtimeDir;
} DiffReading;

#define AT(field) offsetof(DiffReading, field)
const EtwOption etwDiffOptions[] = {
        {"-by", ETW_OPT_LIST, AT(by), 0, 0, 0, byNames},
        {"-format", ETW_OPT_ENUM, AT(format), 0, 0, 0, etwDiffFormatNames},
        {"-min", ETW_OPT_OBJ, AT(min), 0, 0, 0, NULL},
        {"-normalize", ETW_OPT_LIST, AT(normalize), 0, 0, 0, NULL},
        {"-same", ETW_OPT_BOOL, AT(same), 0, 0, 0, NULL},
        {"-sort", ETW_OPT_ENUM, AT(sort), 0, 0, 0, etwCompareSortNames},
        {"-top", ETW_OPT_INT, AT(top), 0, INT_MAX, 0, NULL},
        ETW_OPTIONS_SELECT,
        ETW_OPTION_PROGRESS,
        ETW_OPTION_END,
};
#undef AT

/* ---- Names ------------------------------------------------------------------------------------ */

/* The result of `regsub -all RULE NAME REPLACEMENT` for each rule; NULL: a rule is no regular expression. */
static Tcl_Obj *substituted(Tcl_Interp *interp, Tcl_Obj *rules, Tcl_Obj *name)
{
    Tcl_Obj **words;
    Tcl_Size count;
    Tcl_ListObjGetElements(NULL, rules, &count, &words);
    Tcl_IncrRefCount(name);
    for (Tcl_Size i = 0; i + 1 < count; i += 2) {
        Tcl_Obj *command[] = {Tcl_NewStringObj("::regsub", -1), Tcl_NewStringObj("-all", -1),
                Tcl_NewStringObj("--", -1), words[i], name, words[i + 1]};
        for (int w = 0; w < 6; w++) {
            Tcl_IncrRefCount(command[w]);
        }
        int result = Tcl_EvalObjv(interp, 6, command, TCL_EVAL_GLOBAL);
        for (int w = 0; w < 6; w++) {
            Tcl_DecrRefCount(command[w]);
        }
        Tcl_DecrRefCount(name);
        if (result != TCL_OK) {
            return NULL;
        }
        name = Tcl_GetObjResult(interp);
        Tcl_IncrRefCount(name);
    }
    return name;
}

static bool renameByRules(void *ctx, const char *name, EtwText *out)
{
    const DiffReading *o = ctx;
    Tcl_Obj *renamed = substituted(o->interp, o->normalize, EtwStringObj(name));
    if (renamed == NULL) {
        return false;
    }
    EtwAddTextOf(out, renamed, false);
    Tcl_DecrRefCount(renamed);
    return true;
}

/* ---- Options ---------------------------------------------------------------------------------- */

static int checkRules(const DiffReading *o)
{
    Tcl_Size count = 0;
    if (o->normalize == NULL) {
        return TCL_OK;
    }
    Tcl_ListObjLength(NULL, o->normalize, &count);
    if (count % 2 != 0) {
        return EtwTclFail(o->interp, ETW_E_ARG, "NORMALIZE", "-normalize",
                "\"-normalize\" takes pairs of a regular expression and its replacement, not %d "
                "words",
                (int)count);
    }
    Tcl_Obj *tried = substituted(o->interp, o->normalize, Tcl_NewObj());
    if (tried == NULL) {
        return TCL_ERROR;
    }
    Tcl_DecrRefCount(tried);
    return TCL_OK;
}

static int checkTables(DiffReading *o)
{
    Tcl_Obj **words;
    Tcl_Size count;
    o->view.tables = o->by == NULL ? ~0u : 0;
    if (o->by == NULL) {
        return TCL_OK;
    }
    if (Tcl_ListObjGetElements(o->interp, o->by, &count, &words) != TCL_OK) {
        return TCL_ERROR;
    }
    for (Tcl_Size i = 0; i < count; i++) {
        int table;
        if (Tcl_GetIndexFromObj(o->interp, words[i], byNames, "-by value", 0, &table) != TCL_OK) {
            return TCL_ERROR;
        }
        o->view.tables |= 1u << table;
    }
    return TCL_OK;
}

static int checkOptions(DiffReading *o)
{
    o->view.sort = (EtwCompareSort)o->sort;
    o->view.top = o->top >= 0 ? (size_t)o->top : 0;
    o->view.same = o->same != 0;
    o->view.min = o->view.same ? 0 : 0.5;
    if (o->min != NULL && (Tcl_GetDoubleFromObj(NULL, o->min, &o->view.min) != TCL_OK ||
                                  !(o->view.min >= 0) || o->view.min > 100)) {
        return EtwTclFail(o->interp, ETW_E_ARG, "VALUE", "-min",
                "\"-min\" takes a percentage from 0 to 100, not \"%.100s\"", Tcl_GetString(o->min));
    }
    return checkTables(o) != TCL_OK ? TCL_ERROR : checkRules(o);
}

/* ---- Words ------------------------------------------------------------------------------------ */

/* Sources and options: the first two sources are the sides, or those before and after `--`. */
typedef struct Words {
    Tcl_Obj *const *sources[ETW_SIDES];
    int counts[ETW_SIDES];
} Words;

/* The index of the first option from `from` on, or objc. */
static int firstOption(int objc, Tcl_Obj *const objv[], int from)
{
    while (from < objc && !EtwIsOption(objv[from])) {
        from++;
    }
    return from;
}

static int parseWords(DiffReading *o, int objc, Tcl_Obj *const objv[], Words *words)
{
    int first = firstOption(objc, objv, 1), used = 0;
    if (EtwParseOptions(o->interp, etwDiffOptions, objc - first, objv + first, o, &used) !=
            TCL_OK) {
        return TCL_ERROR;
    }
    bool sets = used > 0 && strcmp(Tcl_GetString(objv[first + used - 1]), "--") == 0;
    words->sources[ETW_SIDE_A] = objv + 1;
    words->counts[ETW_SIDE_A] = first - 1;
    if (sets) {
        int next = first + used, end = firstOption(objc, objv, next);
        words->sources[ETW_SIDE_B] = objv + next;
        words->counts[ETW_SIDE_B] = end - next;
        if (EtwParseOptions(o->interp, etwDiffOptions, objc - end, objv + end, o, NULL) != TCL_OK) {
            return TCL_ERROR;
        }
    } else if (first == 3) {
        words->counts[ETW_SIDE_A] = 1;
        words->sources[ETW_SIDE_B] = objv + 2;
        words->counts[ETW_SIDE_B] = 1;
    }
    if (words->counts[ETW_SIDE_A] < 1 || words->counts[ETW_SIDE_B] < 1) {
        return EtwTclFail(o->interp, ETW_E_ARG, "SOURCE", "",
                "etw diff compares two sources, A and B, or the runs before \"--\" with those "
                "behind it: "
                "%d and %d were given",
                words->counts[ETW_SIDE_A], words->counts[ETW_SIDE_B]);
    }
    return TCL_OK;
}

/* ---- Reading ---------------------------------------------------------------------------------- */

static int addEvent(void *run, EtwEvent *event)
{
    EtwCompareAdd(run, event);
    return TCL_OK;
}

static void addWarnings(const DiffReading *o, const EtwQuery *query, Tcl_Obj *source)
{
    Tcl_Obj *warnings = EtwQueryWarnings(query);
    Tcl_Obj **words;
    Tcl_Size count;

    Tcl_IncrRefCount(warnings);
    Tcl_ListObjGetElements(NULL, warnings, &count, &words);
    for (Tcl_Size i = 0; i < count; i++) {
        EtwText text = {0};
        EtwAddTextOf(&text, source, false);
        EtwTextStr(&text, ": ");
        EtwAddTextOf(&text, words[i], false);
        EtwTextChar(&text, 0);
        EtwCompareWarn(o->compare, text.data);
        EtwTextFree(&text);
    }
    Tcl_DecrRefCount(warnings);
}

static int readRun(DiffReading *o, int side, Tcl_Obj *source)
{
    EtwQuery query;
    Tcl_Obj *sources = Tcl_NewListObj(1, &source);

    Tcl_IncrRefCount(sources);
    int result = EtwQueryOpen(&query, o->ctx, sources, &o->options);
    if (result == TCL_OK) {
        EtwCompareRun *run = EtwCompareBegin(o->compare, side, query.filter.store);
        result = EtwReadEvents(&query, addEvent, run);
        result = result == TCL_BREAK ? TCL_OK : result;
        EtwCompareEnd(run, EtwSourceLost(query.source), result != TCL_OK);
        addWarnings(o, &query, source);
        EtwQueryClose(&query);
    }
    Tcl_DecrRefCount(sources);
    return result;
}

static int readAll(DiffReading *o, const Words *words)
{
    for (int side = 0; side < ETW_SIDES; side++) {
        for (int i = 0; i < words->counts[side]; i++) {
            if (readRun(o, side, words->sources[side][i]) != TCL_OK) {
                return TCL_ERROR;
            }
        }
    }
    EtwCompareFinish(o->compare);
    return TCL_OK;
}

/* ---- Results ---------------------------------------------------------------------------------- */

static Tcl_Obj *numberObj(double value)
{
    static const double most = 9e18; /* beyond it, the conversion is undefined */
    return value > -most && value < most && value == (double)(Tcl_WideInt)value
                   ? Tcl_NewWideIntObj((Tcl_WideInt)value)
                   : Tcl_NewDoubleObj(value);
}

/* Objects that rows share: names and keys by their address, as the comparison stores each once; paths by their row. */
typedef struct Shared {
    EtwTable objects;
    Tcl_Obj *zero, *nothing; /* nothing: the values of a side that has none */
} Shared;

typedef struct SharedObj {
    EtwTableNode node;
    const void *of;
    Tcl_Obj *obj;
} SharedObj;

static SharedObj *findShared(const Shared *s, const void *of)
{
    SharedObj *found = (SharedObj *)EtwTableFirst(&s->objects, EtwHashPointer(of));
    while (found != NULL && found->of != of) {
        found = (SharedObj *)found->node.next;
    }
    return found;
}

static Tcl_Obj *share(Shared *s, const void *of, Tcl_Obj *obj)
{
    SharedObj *added = EtwAlloc(sizeof *added);
    added->of = of;
    added->obj = obj;
    Tcl_IncrRefCount(obj);
    EtwTableAdd(&s->objects, &added->node, EtwHashPointer(of));
    return obj;
}

static void freeShared(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    Tcl_DecrRefCount(((SharedObj *)node)->obj);
    EtwFree(node);
}

static Tcl_Obj *sharedText(Shared *s, const char *text)
{
    const SharedObj *found = findShared(s, text);
    return found != NULL ? found->obj : share(s, text, EtwStringObj(text));
}

static void put(Shared *s, Tcl_Obj *dict, const char *key, Tcl_Obj *value)
{
    Tcl_DictObjPut(NULL, dict, sharedText(s, key), value);
}

/* The names of calls to the row; NULL: none. */
static Tcl_Obj *sharedPath(Shared *s, const EtwCompareRow *row)
{
    const SharedObj *found = findShared(s, row);
    int count = row != NULL ? row->level : 0;
    if (found != NULL) {
        return found->obj;
    }
    Tcl_Obj **names = EtwAlloc(((size_t)count + 1) * sizeof(Tcl_Obj *));
    for (const EtwCompareRow *at = row; at != NULL; at = at->parent) {
        names[at->level - 1] = sharedText(s, at->who);
    }
    Tcl_Obj *path = share(s, row, Tcl_NewListObj(count, names));
    EtwFree(names);
    return path;
}

static Tcl_Obj *valuesObj(Shared *s, const EtwCompareRow *row, int side)
{
    Tcl_Obj *values = Tcl_NewDictObj();
    bool any = false;
    for (int m = 0; m < ETW_MEASURES; m++) {
        double median = row->sides[side][m].median;
        any = any || median != 0;
        put(s, values, etwMeasureNames[m], median != 0 ? numberObj(median) : s->zero);
    }
    if (any) {
        return values;
    }
    if (s->nothing == NULL) {
        s->nothing = values;
        Tcl_IncrRefCount(values);
    } else {
        Tcl_DecrRefCount(values);
    }
    return s->nothing;
}

static Tcl_Obj *rowObj(Shared *s, const EtwCompareRow *row)
{
    static const char *const sideNames[] = {"a", "b"};
    Tcl_Obj *dict = Tcl_NewDictObj();

    put(s, dict, "who", sharedText(s, row->who));
    put(s, dict, "path", sharedPath(s, row->table == ETW_COMPARE_PATHS ? row : row->parent));
    put(s, dict, "kind", sharedText(s, row->kind));
    put(s, dict, "what", sharedText(s, row->what));
    for (int side = 0; side < ETW_SIDES; side++) {
        put(s, dict, sideNames[side], valuesObj(s, row, side));
    }
    put(s, dict, "times", sharedText(s, etwConfidenceNames[row->times]));
    put(s, dict, "counts", sharedText(s, etwConfidenceNames[row->counts]));
    return dict;
}

/* A dict: the name of each table, and its rows. */
static Tcl_Obj *listResult(const DiffReading *o)
{
    Tcl_Obj *dict = Tcl_NewDictObj();
    Shared shared = {.zero = Tcl_NewWideIntObj(0)};

    Tcl_IncrRefCount(shared.zero);
    for (int table = 0; table < ETW_COMPARE_TABLES; table++) {
        size_t count, hidden, same;
        if (!(o->view.tables >> table & 1)) {
            continue;
        }
        EtwCompareRow **rows = EtwCompareRows(
                o->compare, (EtwCompareTable)table, &o->view, &count, &hidden, &same);
        Tcl_Obj *list = Tcl_NewListObj(0, NULL);
        for (size_t i = 0; i < count; i++) {
            Tcl_ListObjAppendElement(NULL, list, rowObj(&shared, rows[i]));
        }
        EtwFree(rows);
        EtwPut(dict, etwCompareTableNames[table], list);
    }
    EtwTableFree(&shared.objects, freeShared);
    Tcl_DecrRefCount(shared.zero);
    if (shared.nothing != NULL) {
        Tcl_DecrRefCount(shared.nothing);
    }
    EtwPut(dict, "lost",
            EtwUint64Obj(EtwCompareFactsOf(o->compare, ETW_SIDE_A)->lost +
                         EtwCompareFactsOf(o->compare, ETW_SIDE_B)->lost));
    return dict;
}

static void addTitle(const DiffReading *o, EtwText *title)
{
    EtwTextStr(title, o->labels[ETW_SIDE_B].data);
    EtwTextStr(title, ", compared with ");
    EtwTextStr(title, o->labels[ETW_SIDE_A].data);
    EtwTextChar(title, 0);
}

static int setResult(DiffReading *o)
{
    EtwFormat format = (EtwFormat)(ETW_FORMAT_DIFF + o->format);
    EtwText out = {0}, title = {0};
    Tcl_Obj *result;

    if (o->top < 0 && format == ETW_FORMAT_DIFF_TEXT) {
        o->view.top = TEXT_ROWS;
    }
    switch (format) {
    case ETW_FORMAT_DIFF_LIST:
        Tcl_SetObjResult(o->interp, listResult(o));
        return TCL_OK;
    case ETW_FORMAT_DIFF_CSV:
        EtwCompareCsv(o->compare, &o->view, &out);
        break;
    case ETW_FORMAT_DIFF_JSON:
        EtwCompareJson(o->compare, &o->view, &out);
        break;
    case ETW_FORMAT_DIFF_FOLDED:
        EtwCompareFolded(o->compare, ETW_RESULT_MAX, &out);
        break;
    case ETW_FORMAT_DIFF_FLAMEGRAPH:
        addTitle(o, &title);
        EtwCompareSvg(o->compare, title.data, &out);
        EtwTextFree(&title);
        break;
    default:
        EtwCompareText(o->compare, &o->view, &out);
    }
    result = EtwTakeText(o->interp, &out);
    if (result == NULL) {
        return TCL_ERROR;
    }
    Tcl_SetObjResult(o->interp, result);
    return TCL_OK;
}

/* ETW_RUNTIME_DIR in the environment of this process; without it: NULL. */
static const char *runtimeDir(const DiffReading *o, EtwText *dir)
{
    Tcl_Obj *own = Tcl_GetVar2Ex(o->interp, "env", "ETW_RUNTIME_DIR", TCL_GLOBAL_ONLY);
    if (own == NULL) {
        return NULL;
    }
    EtwAddTextOf(dir, own, false);
    EtwTextChar(dir, 0);
    return dir->data;
}

/* "a1.etl, a2.etl" */
static void addLabel(EtwText *label, Tcl_Obj *const sources[], int count)
{
    for (int i = 0; i < count; i++) {
        EtwTextStr(label, i > 0 ? ", " : "");
        EtwAddTextOf(label, sources[i], false);
    }
    EtwTextChar(label, 0);
}

static int diff(DiffReading *o, int objc, Tcl_Obj *const objv[])
{
    Words words = {0};
    EtwCompareConfig config = {.ctx = o};

    if (parseWords(o, objc, objv, &words) != TCL_OK || checkOptions(o) != TCL_OK) {
        return TCL_ERROR;
    }
    for (int side = 0; side < ETW_SIDES; side++) {
        addLabel(&o->labels[side], words.sources[side], words.counts[side]);
        config.labels[side] = o->labels[side].data;
    }
    config.rename = o->normalize != NULL ? renameByRules : NULL;
    config.runtimeDir = runtimeDir(o, &o->runtimeDir);
    o->compare = EtwCompareNew(&config);
    return readAll(o, &words) == TCL_OK ? setResult(o) : TCL_ERROR;
}

/* Of etw::lib::counts: all rows of the sources, which are runs of one side. */
static int count(DiffReading *o, int objc, Tcl_Obj *const objv[])
{
    int first = firstOption(objc, objv, 1);
    Words words = {.sources = {objv + 1, NULL}, .counts = {first - 1, 0}};
    EtwCompareConfig config = {.ctx = o};

    if (EtwParseOptions(o->interp, etwDiffOptions, objc - first, objv + first, o, NULL) != TCL_OK ||
            checkOptions(o) != TCL_OK) {
        return TCL_ERROR;
    }
    o->view = (EtwCompareView){.tables = o->view.tables, .same = true, .sort = ETW_COMPARE_BY_NAME};
    config.rename = o->normalize != NULL ? renameByRules : NULL;
    config.runtimeDir = runtimeDir(o, &o->runtimeDir);
    o->compare = EtwCompareNew(&config);
    if (readAll(o, &words) != TCL_OK) {
        return TCL_ERROR;
    }
    Tcl_SetObjResult(o->interp, listResult(o));
    return TCL_OK;
}

/* The words are kept, because a callback may change the command's. */
static int runCommand(int (*proc)(DiffReading *o, int objc, Tcl_Obj *const objv[]), EtwInterp *ctx,
        Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    DiffReading *o = EtwAlloc(sizeof *o);
    Tcl_Obj *kept = Tcl_NewListObj(objc, objv);
    Tcl_Obj **words;
    Tcl_Size wordCount;

    o->top = -1;
    o->ctx = ctx;
    o->interp = interp;
    Tcl_Preserve(interp);
    Tcl_IncrRefCount(kept);
    Tcl_ListObjGetElements(NULL, kept, &wordCount, &words);
    int result = proc(o, (int)wordCount, words);
    EtwCompareFree(o->compare);
    EtwTextFree(&o->labels[ETW_SIDE_A]);
    EtwTextFree(&o->labels[ETW_SIDE_B]);
    EtwTextFree(&o->runtimeDir);
    EtwFree(o);
    Tcl_DecrRefCount(kept);
    Tcl_Release(interp);
    return result;
}

int EtwDiffCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    return runCommand(diff, clientData, interp, objc, objv);
}

/*
 * etw::lib::counts source ?source ...? ?-option value ...?: what the sources have, each a run, as `etw diff -format list` with
 * -same 1 returns it, all in side a. For etw guard and etw::tcltest::expect.
 */
int EtwCountsCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    return runCommand(count, clientData, interp, objc, objv);
}

/* etw::lib::normalized name: the name as rows of a comparison have it. */
int EtwNormalizedCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwText name = {0}, out = {0};
    (void)clientData;

    if (objc != 2) {
        Tcl_WrongNumArgs(interp, 1, objv, "name");
        return TCL_ERROR;
    }
    EtwAddTextOf(&name, objv[1], false);
    EtwCompareNormalize(&out, name.data != NULL ? name.data : "", name.size);
    EtwTextFree(&name);
    Tcl_Obj *result = EtwTakeText(interp, &out);
    if (result == NULL) {
        return TCL_ERROR;
    }
    Tcl_SetObjResult(interp, result);
    return TCL_OK;
}
