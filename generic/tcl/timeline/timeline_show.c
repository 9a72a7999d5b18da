/*
 * tcl/timeline/timeline_show.c --
 *
 *	The sub-commands of `etw timeline` that query its contents: lanes, visible boxes in pixels,
 *	the box at a point, statistics of a span, rows of the table.
 */
#include "tcl/timeline/timeline_cmd_int.h"

static int getTimes(Tcl_Interp *interp, Tcl_Obj *const words[2], int64_t times[2])
{
    Tcl_WideInt value;
    for (int i = 0; i < 2; i++) {
        if (Tcl_GetWideIntFromObj(interp, words[i], &value) != TCL_OK) {
            return TCL_ERROR;
        }
        times[i] = value;
    }
    if (times[1] < times[0]) {
        return EtwTclFail(interp, ETW_E_ARG, "TIME", Tcl_GetString(words[1]),
                "bad span of time: its end precedes its beginning");
    }
    return TCL_OK;
}

/* ---- lanes ---------------------------------------------------------------------------------------- */

static Tcl_Obj *laneObj(int lane, const EtwLaneInfo *info)
{
    Tcl_Obj *dict = Tcl_NewDictObj();

    EtwPut(dict, "lane", Tcl_NewIntObj(lane));
    EtwPut(dict, "kind", EtwStringObj(EtwLaneKindName(info->kind)));
    if (info->kind == ETW_LANE_CPU) {
        EtwPut(dict, "cpu", EtwUint64Obj(info->pid));
    } else if (info->kind == ETW_LANE_THREAD && info->pid != ETW_NO_ID) {
        EtwPut(dict, "pid", EtwUint64Obj(info->pid));
    }
    if (info->kind == ETW_LANE_THREAD && info->tid != ETW_NO_ID) {
        EtwPut(dict, "tid", EtwUint64Obj(info->tid));
    }
    if (info->process != NULL) {
        EtwPut(dict, "process", EtwStringObj(info->process));
    }
    EtwPut(dict, "levels", Tcl_NewIntObj(info->levels));
    EtwPut(dict, "events", EtwUint64Obj(info->events));
    EtwPut(dict, "errors", EtwUint64Obj(info->errors));
    EtwPut(dict, "gaps", Tcl_NewBooleanObj(info->gaps));
    return dict;
}

int EtwTimelineLanesCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwTclTimeline *t = EtwFindTimeline(clientData, objv[2]);
    EtwLaneInfo info;
    (void)objc;

    if (t == NULL) {
        return TCL_ERROR;
    }
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);
    for (int i = 0; EtwTimelineLane(t->timeline, i, &info); i++) {
        Tcl_ListObjAppendElement(NULL, list, laneObj(i, &info));
    }
    Tcl_SetObjResult(interp, list);
    return TCL_OK;
}

/* ---- boxes ---------------------------------------------------------------------------------------- */

enum { KINDS = ETW_BOX_MATCH + 1, BOX_WORDS = 9 };

typedef struct Painter {
    EtwTclTimeline *timeline;
    Tcl_Obj *list;
    Tcl_Obj *kinds[KINDS];
    int64_t from;
    double scale; /* pixels per ns */
    int width;
    bool pending;
    EtwTimeBox box; /* the last one: adjacent small boxes of the same kind are combined */
    int x0, x1;
} Painter;

/* The distance of any two times may exceed 63 bits. */
static double distance(int64_t from, int64_t to)
{
    return to >= from ? (double)((uint64_t)to - (uint64_t)from) : -distance(to, from);
}

static int pixel(const Painter *p, int64_t time)
{
    double x = distance(p->from, time) * p->scale;
    return x < -1 ? -1 : x > p->width + 1 ? p->width + 1 : (int)x;
}

static void emit(Painter *p)
{
    if (!p->pending) {
        return;
    }
    Tcl_Obj *words[BOX_WORDS] = {p->kinds[p->box.kind], Tcl_NewIntObj(p->box.lane),
            Tcl_NewIntObj(p->box.level), Tcl_NewIntObj(p->x0), Tcl_NewIntObj(p->x1),
            EtwTimelineTextObj(p->timeline, p->box.text), EtwUint64Obj(p->box.count),
            Tcl_NewIntObj((int)p->box.marks), EtwUint64Obj(p->box.event)};
    for (int i = 0; i < BOX_WORDS; i++) {
        Tcl_ListObjAppendElement(NULL, p->list, words[i]);
    }
    p->pending = false;
}

static bool joins(const Painter *p, const EtwTimeBox *box, int x0)
{
    const EtwTimeBox *last = &p->box;
    return p->pending && last->kind == box->kind && last->level == box->level &&
           last->lane == box->lane && last->text == box->text && last->marks == box->marks &&
           box->kind != ETW_BOX_EVENT && box->kind != ETW_BOX_MATCH && x0 <= p->x1 + 1 &&
           (last->count > 1 || p->x1 - p->x0 <= 1) &&
           (box->count > 1 || pixel(p, box->to) <= x0 + 1);
}

static void takeBox(void *ctx, const EtwTimeBox *box)
{
    Painter *p = ctx;
    int x0 = pixel(p, box->from), x1 = pixel(p, box->to);
    if (joins(p, box, x0)) {
        p->x1 = x1;
        p->box.count += box->count;
        return;
    }
    emit(p);
    p->pending = true;
    p->box = *box;
    p->x0 = x0;
    p->x1 = x1;
}

/* The width in pixels, and the size of the smallest box that is shown separately. */
static int getWidth(
        Tcl_Interp *interp, Tcl_Obj *widthObj, Tcl_Obj *grainObj, int *width, double *grain)
{
    enum { WIDEST = 100000 };
    *grain = 1;
    if (Tcl_GetIntFromObj(interp, widthObj, width) != TCL_OK ||
            (grainObj && Tcl_GetDoubleFromObj(interp, grainObj, grain) != TCL_OK)) {
        return TCL_ERROR;
    }
    if (*width < 1 || *width > WIDEST || !(*grain >= 0.1 && *grain <= 1000)) {
        return EtwTclFail(interp, ETW_E_ARG, "WIDTH", Tcl_GetString(widthObj),
                "width or grain is out of range: the width must be 1 to 100000 pixels, the grain "
                "0.1 to 1000 pixels");
    }
    return TCL_OK;
}

/* etw timeline boxes NAME LANES FROM TO WIDTH ?GRAIN? */
int EtwTimelineBoxesCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwTclTimeline *t = EtwFindTimeline(clientData, objv[2]);
    Painter p = {.timeline = t};
    int64_t times[2];
    double grain;
    Tcl_Obj **lanes;
    Tcl_Size count;
    int lane;

    if (t == NULL || Tcl_ListObjGetElements(interp, objv[3], &count, &lanes) != TCL_OK ||
            getTimes(interp, objv + 4, times) != TCL_OK ||
            getWidth(interp, objv[6], objc > 7 ? objv[7] : NULL, &p.width, &grain) != TCL_OK) {
        return TCL_ERROR;
    }
    double span = distance(times[0], times[1]);
    span = span < 1 ? 1 : span;
    p.from = times[0];
    p.scale = p.width / span;
    p.list = Tcl_NewListObj(0, NULL);
    for (int i = 0; i < KINDS; i++) {
        p.kinds[i] = EtwStringObj(EtwBoxKindName((EtwBoxKind)i));
        Tcl_IncrRefCount(p.kinds[i]);
    }
    int result = TCL_OK;
    for (Tcl_Size i = 0; i < count && result == TCL_OK; i++) {
        result = Tcl_GetIntFromObj(interp, lanes[i], &lane);
        if (result == TCL_OK) {
            EtwTimelineBoxes(t->timeline, lane, times[0], times[1],
                    (int64_t)(grain * span / p.width), takeBox, &p);
            emit(&p);
        }
    }
    for (int i = 0; i < KINDS; i++) {
        Tcl_DecrRefCount(p.kinds[i]);
    }
    if (result != TCL_OK) {
        Tcl_DecrRefCount(p.list);
        return TCL_ERROR;
    }
    Tcl_SetObjResult(interp, p.list);
    return TCL_OK;
}

/* ---- at ------------------------------------------------------------------------------------------- */

static Tcl_Obj *boxObj(EtwTclTimeline *t, const EtwTimeBox *box)
{
    Tcl_Obj *dict = Tcl_NewDictObj();

    EtwPut(dict, "kind", EtwStringObj(EtwBoxKindName(box->kind)));
    EtwPut(dict, "lane", Tcl_NewIntObj(box->lane));
    EtwPut(dict, "level", Tcl_NewIntObj(box->level));
    EtwPut(dict, "from", Tcl_NewWideIntObj(box->from));
    EtwPut(dict, "to", Tcl_NewWideIntObj(box->to));
    EtwPut(dict, "text", EtwTimelineTextObj(t, box->text));
    EtwPut(dict, "marks", Tcl_NewIntObj((int)box->marks));
    EtwPut(dict, "event", EtwUint64Obj(box->event));
    return dict;
}

/* etw timeline at NAME LANE KIND LEVEL TIME ?SLACK? */
int EtwTimelineAtCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    static const char *const kinds[] = {"call", "event", "gap", "run", "match", NULL};
    EtwTclTimeline *t = EtwFindTimeline(clientData, objv[2]);
    int lane, kind, level;
    Tcl_WideInt time, slack = 0;
    EtwTimeBox box;

    if (t == NULL || Tcl_GetIntFromObj(interp, objv[3], &lane) != TCL_OK ||
            Tcl_GetIndexFromObj(interp, objv[4], kinds, "kind", 0, &kind) != TCL_OK ||
            Tcl_GetIntFromObj(interp, objv[5], &level) != TCL_OK ||
            Tcl_GetWideIntFromObj(interp, objv[6], &time) != TCL_OK ||
            (objc > 7 && Tcl_GetWideIntFromObj(interp, objv[7], &slack) != TCL_OK)) {
        return TCL_ERROR;
    }
    if (EtwTimelineAt(
                t->timeline, lane, (EtwBoxKind)kind, level, time, slack > 0 ? slack : 0, &box)) {
        Tcl_SetObjResult(interp, boxObj(t, &box));
    }
    return TCL_OK;
}

/* ---- totals ---------------------------------------------------------------------------------------- */

static Tcl_Obj *callsObj(EtwTclTimeline *t, const EtwSpan *span)
{
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);
    for (size_t i = 0; i < span->callCount; i++) {
        const EtwSpanCall *c = &span->calls[i];
        Tcl_Obj *dict = Tcl_NewDictObj();
        EtwPut(dict, "proc", EtwTimelineTextObj(t, c->text));
        EtwPut(dict, "calls", EtwUint64Obj(c->calls));
        EtwPut(dict, "self", EtwUint64Obj(c->self));
        EtwPut(dict, "total", EtwUint64Obj(c->total));
        EtwPut(dict, "errors", EtwUint64Obj(c->errors));
        Tcl_ListObjAppendElement(NULL, list, dict);
    }
    return list;
}

static Tcl_Obj *eventsObj(EtwTclTimeline *t, const EtwSpan *span)
{
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);
    for (size_t i = 0; i < span->eventCount; i++) {
        Tcl_Obj *dict = Tcl_NewDictObj();
        EtwPut(dict, "provider", EtwTimelineTextObj(t, span->events[i].provider));
        EtwPut(dict, "event", EtwTimelineTextObj(t, span->events[i].event));
        EtwPut(dict, "count", EtwUint64Obj(span->events[i].count));
        Tcl_ListObjAppendElement(NULL, list, dict);
    }
    return list;
}

static Tcl_Obj *waitsObj(EtwTclTimeline *t, const EtwSpan *span)
{
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);
    for (size_t i = 0; i < span->waitCount; i++) {
        Tcl_Obj *dict = Tcl_NewDictObj();
        EtwPut(dict, "cause", EtwTimelineTextObj(t, span->waits[i].text));
        EtwPut(dict, "count", EtwUint64Obj(span->waits[i].count));
        EtwPut(dict, "total", EtwUint64Obj(span->waits[i].total));
        Tcl_ListObjAppendElement(NULL, list, dict);
    }
    return list;
}

/* etw timeline totals NAME FROM TO ?LANE? */
int EtwTimelineTotalsCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwTclTimeline *t = EtwFindTimeline(clientData, objv[2]);
    int64_t times[2];
    int lane = -1;
    EtwSpan span;

    if (t == NULL || getTimes(interp, objv + 3, times) != TCL_OK ||
            (objc > 5 && Tcl_GetIntFromObj(interp, objv[5], &lane) != TCL_OK)) {
        return TCL_ERROR;
    }
    EtwTimelineSpan(t->timeline, lane, times[0], times[1], &span);
    Tcl_Obj *dict = Tcl_NewDictObj();
    EtwPut(dict, "calls", callsObj(t, &span));
    EtwPut(dict, "events", eventsObj(t, &span));
    EtwPut(dict, "waits", waitsObj(t, &span));
    EtwSpanFree(&span);
    Tcl_SetObjResult(interp, dict);
    return TCL_OK;
}

/* ---- rows ------------------------------------------------------------------------------------------- */

static Tcl_Obj *rowObj(EtwTclTimeline *t, uint32_t event, const EtwTimeRowInfo *row)
{
    Tcl_Obj *dict = Tcl_NewDictObj();
    EtwLaneInfo lane;

    EtwTimelineLane(t->timeline, row->lane, &lane);
    EtwPut(dict, "event", EtwUint64Obj(event));
    EtwPut(dict, "time", Tcl_NewWideIntObj(row->time));
    EtwPut(dict, "lane", Tcl_NewIntObj(row->lane));
    EtwPut(dict, "cpu", Tcl_NewIntObj(row->cpu));
    EtwPut(dict, "provider", EtwTimelineTextObj(t, row->provider));
    EtwPut(dict, "name", EtwTimelineTextObj(t, row->event));
    EtwPut(dict, "marks", Tcl_NewIntObj((int)row->marks));
    return dict;
}

/* etw timeline rows NAME all|matches FIRST COUNT */
int EtwTimelineRowsCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    enum { MOST = 100000 };
    static const char *const which[] = {"all", "matches", NULL};
    EtwTclTimeline *t = EtwFindTimeline(clientData, objv[2]);
    Tcl_WideInt first, count;
    EtwTimeRowInfo row;
    int index;
    (void)objc;

    if (t == NULL || Tcl_GetIndexFromObj(interp, objv[3], which, "rows", 0, &index) != TCL_OK ||
            Tcl_GetWideIntFromObj(interp, objv[4], &first) != TCL_OK ||
            Tcl_GetWideIntFromObj(interp, objv[5], &count) != TCL_OK) {
        return TCL_ERROR;
    }
    if (first < 0 || count < 0 || count > MOST) {
        return EtwTclFail(interp, ETW_E_ARG, "ROWS", Tcl_GetString(objv[5]),
                "rows are out of range: the first must be 0 or more, and at most 100000 can be "
                "returned at once");
    }
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);
    for (Tcl_WideInt i = first; i < first + count && i < UINT32_MAX; i++) {
        uint32_t event = index ? EtwTimelineMatchAt(t->timeline, (uint32_t)i) : (uint32_t)i;
        if (!EtwTimelineRow(t->timeline, event, &row)) {
            break;
        }
        Tcl_ListObjAppendElement(NULL, list, rowObj(t, event, &row));
    }
    Tcl_SetObjResult(interp, list);
    return TCL_OK;
}
