/*
 * tcl/info_cmd.c --
 *
 *	etw info FILE: what a trace file says of itself, what reading it showed, and how many events
 *	of which kind it has.
 */
#include "tcl/eventdict.h"
#include "flow/source.h"
#include <stdio.h>

/* Events of one kind. */
typedef struct Kind {
    struct Kind *next; /* in the order of their first events */
    uint64_t count;
    Tcl_Obj *provider, *event;
} Kind;

typedef struct Counts {
    EtwSchemaStore *store;
    Tcl_HashTable bySchema; /* EtwSchema * -> Kind * */
    Tcl_HashTable byNumber; /* "GUID id opcode" of events without a schema -> Kind * */
    Kind *kinds, **kindsEnd;
    const EtwSchema *lastSchema;
    Kind *last;
    uint64_t events, header;
    int64_t first, final;
} Counts;

static Kind *newKind(Counts *counts, const EtwSchema *schema, const EtwEvent *event)
{
    Kind *kind = EtwAlloc(sizeof *kind);

    kind->provider = EtwProviderNameObj(counts->store, schema, event);
    kind->event = schema ? EtwTextObj(schema->event, strlen(schema->event))
                         : Tcl_ObjPrintf("%s %d", event->classic ? "opcode" : "id",
                                   event->classic ? event->desc.opcode : event->desc.id);
    Tcl_IncrRefCount(kind->provider);
    Tcl_IncrRefCount(kind->event);
    *counts->kindsEnd = kind;
    counts->kindsEnd = &kind->next;
    return kind;
}

static Kind *kindOf(Counts *counts, const EtwSchema *schema, const EtwEvent *event)
{
    char key[ETW_GUID_TEXT + 16];
    Tcl_HashEntry *entry;
    int isNew;

    if (schema != NULL && schema == counts->lastSchema) {
        return counts->last;
    }
    if (schema != NULL) {
        entry = Tcl_CreateHashEntry(&counts->bySchema, (const char *)schema, &isNew);
    } else {
        EtwGuidFormat(&event->provider, key);
        snprintf(key + ETW_GUID_TEXT - 1, 16, " %u %u", event->desc.id, event->desc.opcode);
        entry = Tcl_CreateHashEntry(&counts->byNumber, key, &isNew);
    }
    if (isNew) {
        Tcl_SetHashValue(entry, newKind(counts, schema, event));
    }
    counts->lastSchema = schema;
    counts->last = Tcl_GetHashValue(entry);
    return counts->last;
}

static void countEvent(Counts *counts, const EtwEvent *event)
{
    if (EtwIsHeaderRecord(event)) {
        counts->header++;
        return;
    }
    if (counts->events++ == 0) {
        counts->first = event->time;
    }
    counts->final = event->time;
    kindOf(counts, EtwSchemaOf(counts->store, event), event)->count++;
}

/* Add to {provider {event count ...} ...}. */
static void addKind(Tcl_Obj *dict, const Kind *kind)
{
    Tcl_Obj *path[2] = {kind->provider, kind->event};
    Tcl_Obj *events = NULL, *old = NULL;
    Tcl_WideInt before = 0;

    Tcl_DictObjGet(NULL, dict, kind->provider, &events);
    if (events != NULL && Tcl_DictObjGet(NULL, events, kind->event, &old) == TCL_OK && old) {
        Tcl_GetWideIntFromObj(NULL, old, &before); /* same name, other fields */
    }
    Tcl_DictObjPutKeyList(NULL, dict, 2, path, EtwUint64Obj(kind->count + (uint64_t)before));
}

static void freeCounts(Counts *counts)
{
    while (counts->kinds != NULL) {
        Kind *kind = counts->kinds;
        counts->kinds = kind->next;
        Tcl_DecrRefCount(kind->provider);
        Tcl_DecrRefCount(kind->event);
        EtwFree(kind);
    }
    Tcl_DeleteHashTable(&counts->bySchema);
    Tcl_DeleteHashTable(&counts->byNumber);
    EtwSchemaStoreFree(counts->store);
}

static void putHeader(Tcl_Obj *dict, const EtlInfo *info, const char *path)
{
    static const char *const clocks[] = {"unknown", "qpc", "systemtime", "cycles"};
    bool timed = info->closed && info->endTime >= info->startTime;

    EtwPut(dict, "file", EtwTextObj(path, strlen(path)));
    EtwPut(dict, "session", EtwTextObj(info->loggerName, strlen(info->loggerName)));
    EtwPut(dict, "logfile", EtwTextObj(info->logFile, strlen(info->logFile)));
    EtwPut(dict, "version", Tcl_ObjPrintf("%u.%u.%u", info->major, info->minor, info->build));
    EtwPut(dict, "cpus", EtwUint64Obj(info->cpus));
    EtwPut(dict, "pointersize", EtwUint64Obj(info->pointerSize));
    EtwPut(dict, "mode", Tcl_ObjPrintf("0x%x", info->mode));
    EtwPut(dict, "clock", Tcl_NewStringObj(clocks[info->clock < 4 ? info->clock : 0], -1));
    EtwPut(dict, "frequency", Tcl_NewWideIntObj(info->frequency));
    EtwPut(dict, "started", Tcl_NewWideIntObj(info->startTime));
    EtwPut(dict, "ended", Tcl_NewWideIntObj(info->endTime));
    EtwPut(dict, "duration", Tcl_NewWideIntObj(timed ? info->endTime - info->startTime : 0));
    EtwPut(dict, "boot", Tcl_NewWideIntObj(info->bootTime));
    EtwPut(dict, "bias", Tcl_NewIntObj(info->zoneBias));
    EtwPut(dict, "closed", Tcl_NewBooleanObj(info->closed));
    EtwPut(dict, "size", EtwUint64Obj(info->fileSize));
    EtwPut(dict, "buffersize", EtwUint64Obj(info->bufferSize));
    EtwPut(dict, "buffers", EtwUint64Obj(info->buffers));
    EtwPut(dict, "lost", EtwUint64Obj(info->eventsLost));
    EtwPut(dict, "lostbuffers", EtwUint64Obj(info->buffersLost));
}

static Tcl_Obj *warningsObj(const EtwSource *source)
{
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);

    for (int i = 0; i < EtwSourceWarningCount(source); i++) {
        const char *warning = EtwSourceWarning(source, i);
        Tcl_ListObjAppendElement(NULL, list, EtwTextObj(warning, strlen(warning)));
    }
    return list;
}

static Tcl_Obj *describeFile(EtwSource *source)
{
    Counts counts = {0};
    EtwEvent event;
    Tcl_Obj *dict = Tcl_NewDictObj();
    Tcl_Obj *providers = Tcl_NewDictObj();
    const char *path = "";

    counts.store = EtwSchemaStoreNew();
    EtwSourceTeach(source, counts.store);
    counts.kindsEnd = &counts.kinds;
    Tcl_InitHashTable(&counts.bySchema, TCL_ONE_WORD_KEYS);
    Tcl_InitHashTable(&counts.byNumber, TCL_STRING_KEYS);
    while (EtwSourceNext(source, &event) == ETW_OK) {
        countEvent(&counts, &event);
    }
    for (const Kind *kind = counts.kinds; kind != NULL; kind = kind->next) {
        addKind(providers, kind);
    }
    freeCounts(&counts);
    const EtlInfo *info = EtwSourceFileInfo(source, 0, &path);
    putHeader(dict, info, path ? path : "");
    EtwPut(dict, "events", EtwUint64Obj(counts.events));
    EtwPut(dict, "header", EtwUint64Obj(counts.header));
    EtwPut(dict, "first", Tcl_NewWideIntObj(counts.first));
    EtwPut(dict, "last", Tcl_NewWideIntObj(counts.final));
    EtwPut(dict, "providers", providers);
    EtwPut(dict, "warnings", warningsObj(source));
    return dict;
}

int EtwInfoCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwSource *source = NULL;
    EtwError err = {0};
    Tcl_DString text;
    (void)clientData;

    if (objc != 2) {
        Tcl_WrongNumArgs(interp, 1, objv, "file");
        return TCL_ERROR;
    }
    if (strncmp(Tcl_GetString(objv[1]), "session:", 8) == 0) {
        return EtwTclFail(interp, ETW_E_ARG, "FILE", Tcl_GetString(objv[1]),
                "\"%.100s\" is a session, not a file: see \"etw query\"", Tcl_GetString(objv[1]));
    }
    Tcl_DStringInit(&text);
    const char *path = EtwPathOf(interp, objv[1], &text);
    EtwStatus status = path ? EtwSourceOpen(&source, path, &err) : ETW_E_ARG;
    Tcl_DStringFree(&text);
    if (status != ETW_OK) {
        return path ? EtwTclError(interp, &err) : TCL_ERROR;
    }
    Tcl_SetObjResult(interp, describeFile(source));
    EtwSourceClose(source);
    return TCL_OK;
}
