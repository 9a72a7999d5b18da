/*
 * tcl/consume/summary_cmd.c --
 *
 *	etw summary: statistics of a query's events (flow/summary/summary.h), as text, csv, json or
 *	a dict.
 */
#include "tcl/consume/read_command.h"
#include "flow/summary/summary.h"
#include "flow/render/format_registry.h"

enum { GROUPS = 10000, GROUPS_MAX = 1000000, TOP_TEXT = 20 };

/* The names in the options in the form that the core uses, with the buffers of their texts. */
typedef struct Names {
    EtwSummaryConfig config;
    const char *by[ETW_SUMMARY_FIELDS], *distinct[ETW_SUMMARY_FIELDS], *key[ETW_SUMMARY_FIELDS];
    const char *pair[ETW_SUMMARY_FIELDS], *value[ETW_SUMMARY_FIELDS];
    EtwText texts[5];
} Names;

typedef struct SummaryReading {
    EtwReading reading;
    /* options */
    Tcl_Obj *by, *distinct, *value, *pair, *key;
    int format, groups, histogram;
    int top; /* -1: the format's default */
    /* state */
    Names names;
    EtwSummary *summary;
} SummaryReading;

#define AT(field) offsetof(SummaryReading, field)
static const EtwOption summaryOptions[] = {
        {"-by", ETW_OPT_LIST, AT(by), 0, 0, 0, NULL},
        {"-distinct", ETW_OPT_LIST, AT(distinct), 0, 0, 0, NULL},
        {"-format", ETW_OPT_ENUM, AT(format), 0, 0, 0, etwSummaryFormatNames},
        {"-groups", ETW_OPT_INT, AT(groups), 1, GROUPS_MAX, 0, NULL},
        {"-histogram", ETW_OPT_BOOL, AT(histogram), 0, 0, 0, NULL},
        {"-key", ETW_OPT_LIST, AT(key), 0, 0, 0, NULL},
        {"-pair", ETW_OPT_LIST, AT(pair), 0, 0, 0, NULL},
        {"-top", ETW_OPT_INT, AT(top), 0, INT_MAX, 0, NULL},
        {"-value", ETW_OPT_OBJ, AT(value), 0, 0, 0, NULL},
        ETW_OPTIONS_REPORT,
        ETW_OPTION_SYMBOLS,
        ETW_OPTION_PROGRESS,
        ETW_OPTION_END,
};
#undef AT

/* ---- Options --------------------------------------------------------------------------------- */

/*
 * list may be NULL. All texts of one option are in one buffer, which must not be reallocated
 * afterwards.
 */
static int takeNames(Tcl_Interp *interp, const char *option, Tcl_Obj *list, EtwText *text,
        const char **names, int *countPtr)
{
    Tcl_Obj **words;
    Tcl_Size count = 0;
    size_t at[ETW_SUMMARY_FIELDS];

    if (list != NULL && Tcl_ListObjGetElements(interp, list, &count, &words) != TCL_OK) {
        return TCL_ERROR;
    }
    if (count > ETW_SUMMARY_FIELDS) {
        return EtwTclFail(interp, ETW_E_ARG, "FIELDS", option,
                "too many names for \"%s\": at most %d are accepted", option, ETW_SUMMARY_FIELDS);
    }
    for (Tcl_Size i = 0; i < count; i++) {
        at[i] = text->size;
        EtwAddTextOf(text, words[i], false);
        EtwTextChar(text, 0);
    }
    for (Tcl_Size i = 0; i < count; i++) {
        names[i] = text->data + at[i];
    }
    *countPtr = (int)count;
    return TCL_OK;
}

static int checkPair(Tcl_Interp *interp, const SummaryReading *o, int pairCount)
{
    if (o->pair != NULL && pairCount != 2) {
        return EtwTclFail(interp, ETW_E_ARG, "PAIR", "-pair",
                "expected the names of two events for \"-pair\": the event that begins and the "
                "event that ends");
    }
    if (o->pair != NULL && o->value != NULL) {
        return EtwTclFail(interp, ETW_E_ARG, "PAIR", "-value",
                "\"-value\" and \"-pair\" exclude each other: both define the figures");
    }
    if (o->pair == NULL && o->key != NULL) {
        return EtwTclFail(interp, ETW_E_ARG, "MISSING", "-pair", "\"-key\" needs \"-pair\"");
    }
    if (o->histogram && o->pair == NULL && o->value == NULL) {
        return EtwTclFail(interp, ETW_E_ARG, "MISSING", "-value",
                "\"-histogram\" needs \"-pair\" or \"-value\"");
    }
    return TCL_OK;
}

static int takeOptions(Tcl_Interp *interp, const SummaryReading *o, Tcl_Obj *value, Names *n)
{
    EtwSummaryConfig *c = &n->config;
    int pairCount = 0, valueCount = 0;

    if (takeNames(interp, "-by", o->by, &n->texts[0], n->by, &c->byCount) != TCL_OK ||
            takeNames(interp, "-distinct", o->distinct, &n->texts[1], n->distinct,
                    &c->distinctCount) != TCL_OK ||
            takeNames(interp, "-key", o->key, &n->texts[2], n->key, &c->keyCount) != TCL_OK ||
            takeNames(interp, "-pair", o->pair, &n->texts[3], n->pair, &pairCount) != TCL_OK ||
            takeNames(interp, "-value", value, &n->texts[4], n->value, &valueCount) != TCL_OK) {
        return TCL_ERROR;
    }
    return checkPair(interp, o, pairCount);
}

static int makeConfig(void *record)
{
    static const char *const standard[] = {"provider", "event"};
    SummaryReading *o = record;
    Names *n = &o->names;
    EtwSummaryConfig *c = &n->config;
    Tcl_Obj *value = o->value != NULL ? Tcl_NewListObj(1, &o->value) : Tcl_NewListObj(0, NULL);

    Tcl_IncrRefCount(value);
    int result = takeOptions(o->reading.interp, o, value, n);
    Tcl_DecrRefCount(value);
    c->by = o->by != NULL ? n->by : standard;
    c->byCount = o->by != NULL ? c->byCount : 2;
    c->distinct = n->distinct;
    c->key = n->key;
    c->enter = o->pair != NULL ? n->pair[0] : NULL;
    c->leave = o->pair != NULL ? n->pair[1] : NULL;
    c->value = o->value != NULL ? n->value[0] : NULL;
    c->groupsMax = (size_t)o->groups;
    o->reading.options.stacks = EtwQueryNamesStack(o->by) || EtwQueryNamesStack(o->distinct);
    return result;
}

static void freeNames(void *record)
{
    Names *names = &((SummaryReading *)record)->names;

    for (size_t i = 0; i < sizeof names->texts / sizeof *names->texts; i++) {
        EtwTextFree(&names->texts[i]);
    }
}

/* ---- A dict ---------------------------------------------------------------------------------- */

static void putFigures(Tcl_Obj *dict, const EtwSummary *s, const EtwSummaryGroup *g)
{
    EtwFigure figures[ETW_FIGURES];
    int count = EtwSummaryFigures(s, g, figures);

    for (int i = 0; i < count; i++) {
        const EtwFigure *f = &figures[i];
        EtwPut(dict, f->name, f->real ? Tcl_NewDoubleObj(f->d) : EtwUint64Obj(f->u));
    }
    EtwPut(dict, "first", Tcl_NewWideIntObj(g->count > 0 ? g->first : 0));
    EtwPut(dict, "last", Tcl_NewWideIntObj(g->count > 0 ? g->last : 0));
}

static Tcl_Obj *groupsObj(const EtwSummary *s, size_t top)
{
    size_t count;
    const EtwSummaryGroup **groups = EtwSummaryGroups(s, &count);
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);

    for (size_t i = 0; i < count && (top == 0 || i < top); i++) {
        Tcl_Obj *dict = Tcl_NewDictObj(), *by = Tcl_NewListObj(0, NULL);
        for (int k = 0; k < s->config.byCount; k++) {
            size_t size;
            const char *text = EtwSummaryCell(s, groups[i], k, &size);
            Tcl_ListObjAppendElement(NULL, by, EtwTextObj(text, size));
        }
        EtwPut(dict, "by", by);
        putFigures(dict, s, groups[i]);
        Tcl_ListObjAppendElement(NULL, list, dict);
    }
    EtwFree((void *)groups);
    return list;
}

static Tcl_Obj *resultDict(const EtwQuery *query, const EtwSummary *s, size_t top)
{
    Tcl_Obj *dict = Tcl_NewDictObj(), *total = Tcl_NewDictObj();

    putFigures(total, s, s->total);
    EtwPut(dict, "total", total);
    EtwPut(dict, "groups", groupsObj(s, top));
    EtwPut(dict, "others", EtwUint64Obj(s->others ? s->others->count : 0));
    EtwPut(dict, "floor", Tcl_NewDoubleObj(s->floor));
    EtwPut(dict, "unpaired", EtwUint64Obj(s->unpaired));
    EtwPut(dict, "negative", EtwUint64Obj(s->negative));
    EtwPut(dict, "lost", EtwUint64Obj(EtwSourceLost(query->source)));
    EtwPut(dict, "warnings", EtwQueryWarnings(query));
    return dict;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void addNotes(EtwText *out, const EtwQuery *query, const EtwSummary *s)
{
    const EtwReadNote notes[] = {{s->others ? s->others->count : 0,
                                         "events are in smaller groups, which are combined as "
                                         "(others): raise -groups"},
            {s->unpaired,
                    "events begin without an end, or end without a begin, and are not counted"},
            {s->negative, "values are negative or not numbers, and not in the percentiles"}};

    EtwReadNotes(out, query, notes, sizeof notes / sizeof *notes);
}

static Tcl_Obj *resultObj(const SummaryReading *o)
{
    const EtwQuery *query = &o->reading.query;
    const EtwSummary *s = o->summary;
    EtwText out = {0};
    EtwFormat format = (EtwFormat)(ETW_FORMAT_SUMMARY + o->format);
    size_t top = o->top >= 0 ? (size_t)o->top : format == ETW_FORMAT_SUMMARY_TEXT ? TOP_TEXT : 0;

    switch (format) {
    case ETW_FORMAT_SUMMARY_LIST:
        return resultDict(query, s, top);
    case ETW_FORMAT_SUMMARY_CSV:
        EtwSummaryCsv(s, top, &out);
        break;
    case ETW_FORMAT_SUMMARY_JSON:
        EtwSummaryJson(s, top, &out);
        EtwTextPrintf(&out, ",\n\"unpaired\":%llu,\"negative\":%llu,\"lost\":%llu}\n",
                (unsigned long long)s->unpaired, (unsigned long long)s->negative,
                (unsigned long long)EtwSourceLost(query->source));
        break;
    default:
        EtwSummaryText(s, top, o->histogram != 0, &out);
        addNotes(&out, query, s);
    }
    return EtwTakeText(o->reading.interp, &out);
}

/* ---- The command ----------------------------------------------------------------------------- */

static int beginSummary(void *record)
{
    SummaryReading *o = record;

    o->summary = EtwSummaryNew(&o->names.config, o->reading.query.filter.store);
    EtwSummarySource(o->summary, o->reading.query.source);
    return TCL_OK;
}

static int addSummaryEvent(void *record, EtwEvent *event)
{
    EtwSummaryAdd(((SummaryReading *)record)->summary, event);
    return TCL_OK;
}

/* Names of fields that no event has are errors. */
static int checkNames(const SummaryReading *o)
{
    const EtwQuery *query = &o->reading.query;
    Tcl_Obj *value = o->value != NULL ? Tcl_NewListObj(1, &o->value) : NULL;
    int result = EtwQueryCheckColumns(query, "-by", o->by);

    result = result == TCL_OK ? EtwQueryCheckColumns(query, "-distinct", o->distinct) : result;
    result = result == TCL_OK ? EtwQueryCheckColumns(query, "-key", o->key) : result;
    result = result == TCL_OK ? EtwQueryCheckColumns(query, "-value", value) : result;
    if (value != NULL) {
        Tcl_DecrRefCount(value);
    }
    return result;
}

static int endSummary(void *record)
{
    SummaryReading *o = record;

    EtwSummaryEnd(o->summary);
    if (o->summary->total->count > 0 && checkNames(o) != TCL_OK) {
        return TCL_ERROR;
    }
    o->reading.result = resultObj(o);
    return o->reading.result ? TCL_OK : TCL_ERROR;
}

static int closeSummary(void *record, int result)
{
    EtwSummaryFree(((SummaryReading *)record)->summary);
    return result;
}

static const SummaryReading summaryDefaults = {.groups = GROUPS, .top = -1};
const EtwReadCommand etwSummaryCommand = {
        .size = sizeof(SummaryReading),
        .defaults = &summaryDefaults,
        .options = summaryOptions,
        .check = makeConfig,
        .begin = beginSummary,
        .event = addSummaryEvent,
        .end = endSummary,
        .close = closeSummary,
        .free = freeNames,
};
