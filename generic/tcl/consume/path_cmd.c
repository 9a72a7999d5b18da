/*
 * tcl/consume/path_cmd.c --
 *
 *	etw path: the critical path between two events of a query (flow/path/path.h), as text, json or a dict.
 */
#include "tcl/consume/read_command.h"
#include "flow/path/path.h"
#include "flow/render/format_registry.h"

typedef struct PathReading {
    EtwReading reading;
    Tcl_Obj *begin, *end; /* options */
    int format;
    EtwWhere ends[2]; /* begin, end */
    EtwPath *path;
} PathReading;

#define AT(field) offsetof(PathReading, field)
static const EtwOption pathOptions[] = {
        {"-begin", ETW_OPT_OBJ, AT(begin), 0, 0, 0, NULL},
        {"-end", ETW_OPT_OBJ, AT(end), 0, 0, 0, NULL},
        {"-format", ETW_OPT_ENUM, AT(format), 0, 0, 0, etwPathFormatNames},
        ETW_OPTIONS_REPORT,
        ETW_OPTION_PROGRESS,
        ETW_OPTION_END,
};
#undef AT

/* ---- Dicts ----------------------------------------------------------------------------------- */

static void putText(Tcl_Obj *dict, const char *key, const char *text)
{
    if (text != NULL) {
        EtwPut(dict, key, EtwStringObj(text));
    }
}

static void putThread(Tcl_Obj *dict, uint32_t pid, uint32_t tid, const char *process)
{
    if (pid != ETW_NO_ID) {
        EtwPut(dict, "pid", EtwUint64Obj(pid));
    }
    EtwPut(dict, "tid", EtwUint64Obj(tid));
    putText(dict, "process", process);
}

static Tcl_Obj *pointObj(const EtwPathPoint *point)
{
    Tcl_Obj *dict = Tcl_NewDictObj();

    EtwPut(dict, "time", Tcl_NewWideIntObj(point->time));
    putThread(dict, point->pid, point->tid, point->process);
    putText(dict, "provider", point->provider);
    putText(dict, "event", point->event);
    return dict;
}

static Tcl_Obj *segmentsObj(const EtwPath *path)
{
    size_t count;
    const EtwPathSegment *segments = EtwPathSegments(path, &count);
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);

    for (size_t i = 0; i < count; i++) {
        const EtwPathSegment *s = &segments[i];
        Tcl_Obj *dict = Tcl_NewDictObj();
        EtwPut(dict, "from", Tcl_NewWideIntObj(s->from));
        EtwPut(dict, "to", Tcl_NewWideIntObj(s->to));
        EtwPut(dict, "ns", Tcl_NewWideIntObj(s->to - s->from));
        EtwPut(dict, "role", EtwStringObj(EtwPathRoleName(s->role)));
        EtwPut(dict, "kind", EtwStringObj(EtwPathKindName(s->kind)));
        putThread(dict, s->pid, s->tid, s->process);
        putText(dict, "call", s->call);
        putText(dict, "syscall", s->syscall);
        if (s->by != 0) {
            EtwPut(dict, "by", EtwUint64Obj(s->by));
        }
        putText(dict, "byname", s->byName);
        if (s->role != ETW_PATH_WORK) {
            Tcl_Obj *holder = Tcl_NewDictObj();
            putThread(holder, s->holderPid, s->holderTid, s->holder);
            putText(holder, "call", s->holderCall);
            EtwPut(dict, "holder", holder);
        }
        Tcl_ListObjAppendElement(NULL, list, dict);
    }
    return list;
}

static Tcl_Obj *causesObj(const EtwPath *path)
{
    size_t count;
    EtwPathCause *causes = EtwPathCauses(path, &count);
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);

    for (size_t i = 0; i < count; i++) {
        Tcl_Obj *dict = Tcl_NewDictObj();
        EtwPut(dict, "ns", EtwUint64Obj(causes[i].ns));
        EtwPut(dict, "times", EtwUint64Obj(causes[i].count));
        EtwPut(dict, "role", EtwStringObj(EtwPathRoleName(causes[i].first->role)));
        EtwPut(dict, "kind", EtwStringObj(EtwPathKindName(causes[i].first->kind)));
        EtwPut(dict, "cause", EtwStringObj(causes[i].what));
        Tcl_ListObjAppendElement(NULL, list, dict);
    }
    EtwPathCausesFree(causes, count);
    return list;
}

static Tcl_Obj *resultDict(const EtwQuery *query, const EtwPath *path)
{
    const EtwPathPoint *begin = EtwPathBegin(path), *end = EtwPathEnd(path);
    Tcl_Obj *dict = Tcl_NewDictObj();

    EtwPut(dict, "wall", Tcl_NewWideIntObj(end->time - begin->time));
    EtwPut(dict, "begin", pointObj(begin));
    EtwPut(dict, "end", pointObj(end));
    EtwPut(dict, "causes", causesObj(path));
    EtwPut(dict, "segments", segmentsObj(path));
    EtwPut(dict, "lost", EtwUint64Obj(EtwSourceLost(query->source)));
    EtwPut(dict, "warnings", EtwQueryWarnings(query));
    return dict;
}

static Tcl_Obj *resultObj(const PathReading *o)
{
    const EtwQuery *query = &o->reading.query;
    const EtwReadNote notes[] = {
            {!EtwPathHasSwitches(o->path),
                    "trace without context switches, so that waits are not known: record with -k "
                    "contextswitch,dispatcher,systemcall"},
            {EtwPathHasSwitches(o->path) && !EtwPathHasWakes(o->path),
                    "trace without wake-ups, so that what ended the waits is not known: record "
                    "with -k "
                    "contextswitch,dispatcher,systemcall"}};
    EtwText out = {0};

    switch ((EtwFormat)(ETW_FORMAT_PATH + o->format)) {
    case ETW_FORMAT_PATH_LIST:
        return resultDict(query, o->path);
    case ETW_FORMAT_PATH_JSON:
        EtwPathJson(o->path, &out);
        break;
    default:
        EtwPathText(o->path, &out);
        EtwReadNotes(&out, query, notes, sizeof notes / sizeof *notes);
    }
    return EtwTakeText(o->reading.interp, &out);
}

/* ---- The command ----------------------------------------------------------------------------- */

static int checkOptions(void *record)
{
    PathReading *o = record;
    Tcl_Interp *interp = o->reading.interp;

    if (o->begin != NULL && EtwWhereParse(interp, o->begin, true, &o->ends[0]) != TCL_OK) {
        return TCL_ERROR;
    }
    return o->end != NULL ? EtwWhereParse(interp, o->end, true, &o->ends[1]) : TCL_OK;
}

static int beginPath(void *record)
{
    PathReading *o = record;

    o->path = EtwPathNew(o->reading.query.filter.store);
    return TCL_OK;
}

static int addPathEvent(void *record, EtwEvent *event)
{
    PathReading *o = record;
    bool is[2];

    for (int i = 0; i < 2; i++) {
        EtwPredicate *predicate = o->ends[i].predicate;
        is[i] = predicate != NULL &&
                EtwPredicateTest(predicate, o->reading.query.filter.store, event);
    }
    EtwPathAdd(o->path, event, is[0], is[1]);
    return TCL_OK;
}

static int endPath(void *record)
{
    PathReading *o = record;
    Tcl_Interp *interp = o->reading.interp;
    const char *begin = o->begin != NULL ? Tcl_GetString(o->begin) : "";
    const char *end = o->end != NULL ? Tcl_GetString(o->end) : "";

    switch (EtwPathFind(o->path, o->begin != NULL, o->end != NULL)) {
    case ETW_PATH_EMPTY:
        return EtwTclFail(interp, ETW_E_LOOKUP, "PATH", "events",
                "the trace has no events of threads, so there is no path");
    case ETW_PATH_NO_BEGIN:
        return EtwTclFail(interp, ETW_E_LOOKUP, "PATH", "-begin",
                "no event matches \"-begin %.200s\" before the end of the path", begin);
    case ETW_PATH_NO_END:
        return EtwTclFail(
                interp, ETW_E_LOOKUP, "PATH", "-end", "no event matches \"-end %.200s\"", end);
    case ETW_PATH_APART:
        return EtwTclFail(interp, ETW_E_LOOKUP, "PATH", "-begin",
                "no event that matches \"-begin %.200s\" leads to the end of the path: no chain of "
                "wake-ups "
                "connects their threads; record with -k "
                "contextswitch,dispatcher,systemcall,process "
                "and --pids of all processes that take part",
                begin);
    default:
        o->reading.result = resultObj(o);
        return o->reading.result ? TCL_OK : TCL_ERROR;
    }
}

static int closePath(void *record, int result)
{
    EtwPathFree(((PathReading *)record)->path);
    return result;
}

static void freePath(void *record)
{
    PathReading *o = record;

    EtwWhereFree(&o->ends[0]);
    EtwWhereFree(&o->ends[1]);
}

const EtwReadCommand etwPathCommand = {
        .size = sizeof(PathReading),
        .options = pathOptions,
        .check = checkOptions,
        .begin = beginPath,
        .event = addPathEvent,
        .end = endPath,
        .close = closePath,
        .free = freePath,
};
