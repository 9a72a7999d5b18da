/*
 * tcl/timeline/timeline_cmd.c --
 *
 *	etw timeline: timelines by name (flow/timeline/timeline.h): creation, reading, searching and
 *	deletion. timeline_show.c has the sub-commands that query a timeline's contents.
 *
 *	Ownership: the interpreter's context has the table, which owns the timelines. Their open
 *	queries keep the context.
 */
#include "tcl/timeline/timeline_cmd_int.h"
#include <limits.h>

struct EtwTimelines {
    Tcl_HashTable byName;
};

/* ---- By name --------------------------------------------------------------------------------------- */

EtwTclTimeline *EtwFindTimeline(EtwInterp *ctx, Tcl_Obj *name)
{
    Tcl_HashEntry *entry =
            ctx->timelines ? Tcl_FindHashEntry(&ctx->timelines->byName, Tcl_GetString(name)) : NULL;
    if (entry == NULL) {
        EtwTclFail(ctx->interp, ETW_E_LOOKUP, "TIMELINE", Tcl_GetString(name),
                "there is no timeline \"%.100s\": \"etw timeline create\" makes one",
                Tcl_GetString(name));
        return NULL;
    }
    return Tcl_GetHashValue(entry);
}

/* A timeline that may be changed; NULL with an error left. */
static EtwTclTimeline *findIdleTimeline(EtwInterp *ctx, Tcl_Obj *name)
{
    EtwTclTimeline *t = EtwFindTimeline(ctx, name);
    if (t != NULL && t->busy) {
        EtwTclFail(ctx->interp, ETW_E_STATE, "BUSY", Tcl_GetString(name),
                "timeline \"%.100s\" is being read: delete it when the reading has ended",
                Tcl_GetString(name));
        return NULL;
    }
    return t;
}

Tcl_Obj *EtwTimelineTextObj(EtwTclTimeline *t, uint32_t text)
{
    uint32_t count = EtwTimelineTextCount(t->timeline);
    if (count > t->textCapacity) {
        uint32_t capacity = count + count / 2;
        t->texts = (Tcl_Obj **)EtwRealloc(t->texts, capacity * sizeof *t->texts);
        memset(t->texts + t->textCapacity, 0, (capacity - t->textCapacity) * sizeof *t->texts);
        t->textCapacity = capacity;
    }
    if (t->texts[text] == NULL) {
        const char *utf8 = EtwTimelineText(t->timeline, text);
        t->texts[text] = EtwStringObj(utf8);
        Tcl_IncrRefCount(t->texts[text]);
    }
    return t->texts[text];
}

static void freeObjs(Tcl_Obj **objs, uint32_t count)
{
    for (uint32_t i = 0; objs != NULL && i < count; i++) {
        if (objs[i] != NULL) {
            Tcl_DecrRefCount(objs[i]);
        }
    }
    EtwFree(objs);
}

/* Accepts a timeline that could not be opened. */
static void freeTimeline(EtwTclTimeline *t)
{
    EtwTimelineSearchEnd(t);
    EtwTimelineClose(t);
    if (t->timeline != NULL) {
        EtwTimelineFree(t->timeline);
    }
    if (t->warnings != NULL) {
        Tcl_DecrRefCount(t->warnings);
    }
    freeObjs(t->texts, t->textCapacity);
    freeObjs(t->kept, ETW_TIMELINE_KEPT);
    EtwQueryRelease(&t->options);
    Tcl_DecrRefCount(t->sources);
    EtwFree(t);
}

void EtwTimelinesFree(EtwInterp *ctx)
{
    Tcl_HashSearch search;
    if (ctx->timelines == NULL) {
        return;
    }
    Tcl_HashEntry *entry = Tcl_FirstHashEntry(&ctx->timelines->byName, &search);
    for (; entry != NULL; entry = Tcl_NextHashEntry(&search)) {
        freeTimeline(Tcl_GetHashValue(entry));
    }
    Tcl_DeleteHashTable(&ctx->timelines->byName);
    EtwFree(ctx->timelines);
    ctx->timelines = NULL;
}

/* ---- create, delete, list --------------------------------------------------------------------------- */

typedef struct CreateOptions {
    EtwQueryOptions query;
    int read;
} CreateOptions;

const EtwOption etwTimelineOptions[] = {
        ETW_OPTIONS_SELECT,
        ETW_OPTION_PROGRESS,
        {"-read", ETW_OPT_BOOL, offsetof(CreateOptions, read), 0, 0, 0, NULL},
        ETW_OPTION_RECORDS,
        ETW_OPTION_END,
};

static Tcl_HashTable *tableOf(EtwInterp *ctx)
{
    if (ctx->timelines == NULL) {
        ctx->timelines = EtwAlloc(sizeof *ctx->timelines);
        Tcl_InitHashTable(&ctx->timelines->byName, TCL_STRING_KEYS);
    }
    return &ctx->timelines->byName;
}

static int openTimeline(EtwInterp *ctx, Tcl_Obj *name, Tcl_Obj *sources, const CreateOptions *o)
{
    EtwTclTimeline *t = EtwAlloc(sizeof *t);
    int isNew;

    t->ctx = ctx;
    t->sources = sources; /* takes over the reference */
    t->options = o->query;
    EtwQueryRetain(&t->options);
    int result = EtwTimelineOpen(t);
    t->options.progress = NULL; /* for this reading only: later ones are short */
    if (result == TCL_OK && o->read) {
        result = EtwTimelineRead(t, 0);
    }
    EtwPollingEnd(&t->query.polling);
    if (result != TCL_OK) {
        freeTimeline(t);
        return TCL_ERROR;
    }
    Tcl_HashEntry *entry = Tcl_CreateHashEntry(tableOf(ctx), Tcl_GetString(name), &isNew);
    if (!isNew) { /* a script called by -where has created it meanwhile */
        freeTimeline(Tcl_GetHashValue(entry));
    }
    Tcl_SetHashValue(entry, t);
    Tcl_SetObjResult(ctx->interp, name);
    return TCL_OK;
}

static int createCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwInterp *ctx = clientData;
    CreateOptions options = {.read = 1};
    Tcl_Obj *sources;

    if (ctx->timelines && Tcl_FindHashEntry(&ctx->timelines->byName, Tcl_GetString(objv[2]))) {
        return EtwTclFail(interp, ETW_E_STATE, "EXISTS", Tcl_GetString(objv[2]),
                "timeline \"%.100s\" exists: use another name, or delete it first",
                Tcl_GetString(objv[2]));
    }
    if (EtwQueryWords(interp, etwTimelineOptions, objc - 3, objv + 3, &options, &sources) !=
            TCL_OK) {
        return TCL_ERROR;
    }
    return openTimeline(ctx, objv[2], sources, &options);
}

static int deleteCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwInterp *ctx = clientData;
    EtwTclTimeline *t = findIdleTimeline(ctx, objv[2]);
    (void)interp;
    (void)objc;

    if (t == NULL) {
        return TCL_ERROR;
    }
    Tcl_DeleteHashEntry(Tcl_FindHashEntry(&ctx->timelines->byName, Tcl_GetString(objv[2])));
    freeTimeline(t);
    return TCL_OK;
}

static int listCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwInterp *ctx = clientData;
    Tcl_HashSearch search;
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);
    (void)objc;
    (void)objv;

    Tcl_HashEntry *entry =
            ctx->timelines ? Tcl_FirstHashEntry(&ctx->timelines->byName, &search) : NULL;
    for (; entry != NULL; entry = Tcl_NextHashEntry(&search)) {
        Tcl_ListObjAppendElement(
                NULL, list, Tcl_NewStringObj(Tcl_GetHashKey(&ctx->timelines->byName, entry), -1));
    }
    Tcl_SetObjResult(interp, list);
    return TCL_OK;
}

/* ---- info, read ---------------------------------------------------------------------------------------- */

static Tcl_Obj *infoObj(const EtwTclTimeline *t)
{
    Tcl_Obj *dict = Tcl_NewDictObj();
    EtwTimelineInfo info;

    EtwTimelineGetInfo(t->timeline, &info);
    EtwPut(dict, "events", EtwUint64Obj(info.events));
    EtwPut(dict, "headers", EtwUint64Obj(info.headers));
    EtwPut(dict, "lanes", Tcl_NewIntObj(info.lanes));
    EtwPut(dict, "first", Tcl_NewWideIntObj(info.first));
    EtwPut(dict, "begin", Tcl_NewWideIntObj(info.begin));
    EtwPut(dict, "last", Tcl_NewWideIntObj(info.events ? info.last : info.first));
    EtwPut(dict, "calls", EtwUint64Obj(info.calls));
    EtwPut(dict, "cut", EtwUint64Obj(info.cut));
    EtwPut(dict, "unmatched", EtwUint64Obj(info.unmatched));
    EtwPut(dict, "unordered", EtwUint64Obj(info.unordered));
    EtwPut(dict, "folded", EtwUint64Obj(info.folded));
    EtwPut(dict, "lost", EtwUint64Obj(t->lost));
    EtwPut(dict, "reported", EtwUint64Obj(info.reported));
    EtwPut(dict, "memory", EtwUint64Obj(info.memory));
    EtwPut(dict, "live", Tcl_NewBooleanObj(t->live));
    EtwPut(dict, "more", Tcl_NewBooleanObj(t->reading));
    EtwPut(dict, "progress",
            Tcl_NewDoubleObj(t->reading ? EtwSourceProgress(t->query.source) : 1.0));
    EtwPut(dict, "searching", Tcl_NewBooleanObj(t->search.reading));
    EtwPut(dict, "tested", EtwUint64Obj(t->search.tested - t->search.since));
    EtwPut(dict, "matches", EtwUint64Obj(EtwTimelineMatches(t->timeline)));
    EtwPut(dict, "warnings", t->warnings ? t->warnings : Tcl_NewObj());
    return dict;
}

static int infoCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwTclTimeline *t = EtwFindTimeline(clientData, objv[2]);
    (void)objc;

    if (t == NULL) {
        return TCL_ERROR;
    }
    Tcl_SetObjResult(interp, infoObj(t));
    return TCL_OK;
}

static int getMs(Tcl_Interp *interp, int objc, Tcl_Obj *const objv[], int index, int *msPtr)
{
    *msPtr = 0;
    if (objc <= index) {
        return TCL_OK;
    }
    if (Tcl_GetIntFromObj(interp, objv[index], msPtr) != TCL_OK) {
        return TCL_ERROR;
    }
    return *msPtr >= 0 ? TCL_OK
                       : EtwTclFail(interp, ETW_E_ARG, "MS", Tcl_GetString(objv[index]),
                                 "a number of milliseconds must be 0 or more");
}

/*
 * Continue reading and searching for the given number of milliseconds or to the end; returns what
 * info returns.
 */
static int readCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwTclTimeline *t = findIdleTimeline(clientData, objv[2]);
    int ms;

    if (t == NULL || getMs(interp, objc, objv, 3, &ms) != TCL_OK ||
            EtwTimelineRead(t, ms) != TCL_OK || EtwTimelineSearchOn(t, ms) != TCL_OK) {
        return TCL_ERROR;
    }
    Tcl_SetObjResult(interp, infoObj(t));
    return TCL_OK;
}

/* ---- search, find, match, event -------------------------------------------------------------------------- */

/* etw timeline search NAME WHERE ?MS? */
static int searchCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwTclTimeline *t = findIdleTimeline(clientData, objv[2]);
    int ms;

    if (t == NULL || getMs(interp, objc, objv, 4, &ms) != TCL_OK ||
            EtwTimelineSearchFor(t, objv[3]) != TCL_OK || EtwTimelineSearchOn(t, ms) != TCL_OK) {
        return TCL_ERROR;
    }
    Tcl_SetObjResult(interp, infoObj(t));
    return TCL_OK;
}

/* etw timeline contains NAME TEXT ?MS? */
static int containsCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwTclTimeline *t = findIdleTimeline(clientData, objv[2]);
    int ms;

    if (t == NULL || getMs(interp, objc, objv, 4, &ms) != TCL_OK ||
            EtwTimelineSearchText(t, objv[3]) != TCL_OK || EtwTimelineSearchOn(t, ms) != TCL_OK) {
        return TCL_ERROR;
    }
    Tcl_SetObjResult(interp, infoObj(t));
    return TCL_OK;
}

static int getEvent(Tcl_Interp *interp, Tcl_Obj *word, uint32_t *eventPtr)
{
    Tcl_WideInt value;
    if (Tcl_GetWideIntFromObj(interp, word, &value) != TCL_OK) {
        return TCL_ERROR;
    }
    if (value < -1 || value >= UINT32_MAX) {
        return EtwTclFail(interp, ETW_E_ARG, "EVENT", Tcl_GetString(word),
                "the number of an event must be 0 or more");
    }
    *eventPtr = (uint32_t)value; /* -1: before the first */
    return TCL_OK;
}

/* etw timeline match NAME next|previous EVENT: the number of the next match, empty: none */
static int matchCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    static const char *const ways[] = {"next", "previous", NULL};
    EtwTclTimeline *t = EtwFindTimeline(clientData, objv[2]);
    uint32_t event, index;
    int way;
    (void)objc;

    if (t == NULL || Tcl_GetIndexFromObj(interp, objv[3], ways, "direction", 0, &way) != TCL_OK ||
            getEvent(interp, objv[4], &event) != TCL_OK) {
        return TCL_ERROR;
    }
    if (way == 0) {
        index = EtwTimelineMatchesBefore(t->timeline, event + 1);
    } else {
        index = EtwTimelineMatchesBefore(t->timeline, event) - 1;
    }
    uint32_t found = EtwTimelineMatchAt(t->timeline, index);
    if (found != ETW_NO_EVENT) {
        Tcl_SetObjResult(interp, EtwUint64Obj(found));
    }
    return TCL_OK;
}

static int findCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwTclTimeline *t = EtwFindTimeline(clientData, objv[2]);
    Tcl_WideInt time;
    (void)objc;

    if (t == NULL || Tcl_GetWideIntFromObj(interp, objv[3], &time) != TCL_OK) {
        return TCL_ERROR;
    }
    Tcl_SetObjResult(interp, EtwUint64Obj(EtwTimelineFind(t->timeline, time)));
    return TCL_OK;
}

/* etw timeline event NAME EVENT ?COUNT?: a list of dicts like those of etw events */
static int eventCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    enum { MOST = 10000 };
    EtwTclTimeline *t = findIdleTimeline(clientData, objv[2]);
    uint32_t event;
    int count = 1;

    if (t == NULL || getEvent(interp, objv[3], &event) != TCL_OK ||
            (objc > 4 && Tcl_GetIntFromObj(interp, objv[4], &count) != TCL_OK)) {
        return TCL_ERROR;
    }
    if (count < 0 || count > MOST) {
        return EtwTclFail(interp, ETW_E_ARG, "COUNT", Tcl_GetString(objv[4]),
                "too many events: at most 10000 can be returned at once");
    }
    Tcl_Obj *list = EtwTimelineEvents(t, event, (uint32_t)count);
    if (list == NULL) {
        return TCL_ERROR;
    }
    Tcl_SetObjResult(interp, list);
    return TCL_OK;
}

int EtwTimelineCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    static const EtwSubCommand subCommands[] = {
            {"at", EtwTimelineAtCmd, "name lane kind level time ?slack?", 5, 6},
            {"boxes", EtwTimelineBoxesCmd, "name lanes from to width ?grain?", 5, 6},
            {"contains", containsCmd, "name text ?milliseconds?", 2, 3},
            {"create", createCmd, "name source ?source ...? ?-option value ...?", 2, -1},
            {"delete", deleteCmd, "name", 1, 1},
            {"event", eventCmd, "name event ?count?", 2, 3},
            {"find", findCmd, "name time", 2, 2},
            {"info", infoCmd, "name", 1, 1},
            {"lanes", EtwTimelineLanesCmd, "name", 1, 1},
            {"list", listCmd, "", 0, 0},
            {"match", matchCmd, "name next|previous event", 3, 3},
            {"read", readCmd, "name ?milliseconds?", 1, 2},
            {"rows", EtwTimelineRowsCmd, "name all|matches first count", 4, 4},
            {"search", searchCmd, "name where ?milliseconds?", 2, 3},
            {"totals", EtwTimelineTotalsCmd, "name from to ?lane?", 3, 4},
            {NULL, NULL, NULL, 0, 0},
    };
    return EtwDispatch(subCommands, clientData, interp, objc, objv);
}
