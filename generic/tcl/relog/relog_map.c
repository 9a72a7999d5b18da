/*
 * tcl/relog/relog_map.c --
 *
 *	-map of etw relog: a command receives each event as a dict and returns what to do with it.
 *	Only values that it has changed are encoded; the rest of the record is unchanged.
 */
#include "tcl/relog/relog_int.h"
#include "tcl/value/dict_encoder.h"

struct EtwRelogMap {
    EtwQuery *query;
    Tcl_Interp *interp;
    Tcl_Obj *prefix;
    EtwRelog *relog;
    EtwEventMaker *props; /* for a flat dict: props, and error if they are incomplete */
    EtwText scratch;
};

/* The changes of the current event. */
typedef struct Changes {
    EtlEdit edit;
    Tcl_Obj *time, *related, *stack, *payload, *props; /* NULL: unchanged */
    Tcl_Obj *fields; /* payload fields by name: an unshared dict, or NULL */
    Tcl_Obj *inject;
    bool drop;
} Changes;

EtwRelogMap *EtwRelogMapNew(EtwQuery *query, Tcl_Obj *prefix, EtwRelog *relog)
{
    EtwRelogMap *map = EtwAlloc(sizeof *map);
    Tcl_Obj *fields = Tcl_NewStringObj("props error", -1);

    map->query = query;
    map->interp = query->ctx->interp;
    map->prefix = prefix;
    map->relog = relog;
    map->props = EtwEventMakerNew(query->ctx, query->filter.store);
    Tcl_IncrRefCount(fields);
    EtwEventMakerSelect(map->interp, map->props, fields, false);
    Tcl_DecrRefCount(fields);
    return map;
}

void EtwRelogMapFree(EtwRelogMap *map)
{
    if (map != NULL) {
        EtwEventMakerFree(map->props);
        EtwTextFree(&map->scratch);
        EtwFree(map);
    }
}

/* ---- The result of the command --------------------------------------------------------------- */

static bool isSame(Tcl_Obj *a, Tcl_Obj *b)
{
    return a == b || (a != NULL && strcmp(Tcl_GetString(a), Tcl_GetString(b)) == 0);
}

/*
 * A dict without a string representation is not one of the words, and is not converted to compare
 * it.
 */
static bool isWord(Tcl_Obj *obj, const char *word)
{
    return (obj->bytes != NULL || obj->typePtr == NULL) && strcmp(Tcl_GetString(obj), word) == 0;
}

static int noChange(Tcl_Interp *interp, const char *key)
{
    return EtwTclFail(interp, ETW_E_ARG, "FIELD", key,
            "\"%.60s\" cannot be changed: expected a header field, time, related, stack, props, "
            "payload, drop or inject",
            key);
}

static void takeField(Changes *changes, Tcl_Obj *key, Tcl_Obj *value)
{
    if (changes->fields == NULL) {
        changes->fields = Tcl_NewDictObj();
        Tcl_IncrRefCount(changes->fields);
    }
    const char *name = Tcl_GetString(key);
    size_t size = strlen(name);
    bool wrapped = size > 7 && strncmp(name, "props(", 6) == 0 && name[size - 1] == ')';
    Tcl_Obj *field = wrapped ? Tcl_NewStringObj(name + 6, (Tcl_Size)size - 7) : key;
    Tcl_DictObjPut(NULL, changes->fields, field, value);
}

/* Apply a key whose value differs from the event's (old NULL: the event has none). */
static int takeChange(
        EtwRelogMap *map, Changes *changes, Tcl_Obj *key, Tcl_Obj *old, Tcl_Obj *value)
{
    const char *name = Tcl_GetString(key);
    const struct {
        const char *name;
        Tcl_Obj **to;
    } parts[] = {{"time", &changes->time}, {"related", &changes->related},
            {"stack", &changes->stack}, {"payload", &changes->payload}, {"props", &changes->props},
            {"inject", &changes->inject}};
    int field = EtwRelogField(name), drop = 0;

    if (field >= 0) {
        return EtwRelogSetField(map->interp, &changes->edit, field, value);
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strcmp(parts[i].name, name) == 0) {
            *parts[i].to = value;
            return TCL_OK;
        }
    }
    if (strcmp(name, "drop") == 0) {
        int result = Tcl_GetBooleanFromObj(map->interp, value, &drop);
        changes->drop = drop;
        return result;
    }
    /*
     * Other keys in the dict of an event are derived from other sources, or with -fields a field.
     */
    bool isField = EtwHeaderKey(name) < 0 && strncmp(name, "name(", 5) != 0 &&
                   (old != NULL || strncmp(name, "props(", 6) == 0);
    if (isField) {
        takeField(changes, key, value);
        return TCL_OK;
    }
    return noChange(map->interp, name);
}

static int compare(EtwRelogMap *map, Tcl_Obj *old, Tcl_Obj *answer, Changes *changes)
{
    Tcl_DictSearch search;
    Tcl_Obj *key, *value, *before;
    int done, result = TCL_OK;

    if (Tcl_DictObjFirst(map->interp, answer, &search, &key, &value, &done) != TCL_OK) {
        return EtwTclFail(map->interp, ETW_E_ARG, "ANSWER", Tcl_GetString(answer),
                "expected keep, drop or the dict of an event but got \"%.100s\"",
                Tcl_GetString(answer));
    }
    for (; !done && result == TCL_OK; Tcl_DictObjNext(&search, &key, &value, &done)) {
        Tcl_DictObjGet(NULL, old, key, &before);
        if (!isSame(before, value)) {
            result = takeChange(map, changes, key, before, value);
        }
    }
    Tcl_DictObjDone(&search);
    return result;
}

/* ---- The record ------------------------------------------------------------------------------ */

static int unsupportedField(Tcl_Interp *interp, const char *what)
{
    return EtwTclFail(interp, ETW_E_UNSUPPORTED, "FIELD", what,
            "the record of the event cannot store this \"%s\"", what);
}

/* Merge the fields of a dict into those of the event. A new object, or NULL with an error left. */
static Tcl_Obj *mergedProps(
        EtwRelogMap *map, const EtwEvent *event, Tcl_Obj *changed, EtwMissingMode *modePtr)
{
    Tcl_Obj *old = EtwEventObj(map->props, event), *error = NULL, *props = NULL, *key, *value;
    Tcl_DictSearch search;
    int done = 1;

    Tcl_IncrRefCount(old);
    Tcl_DictObjGet(NULL, old, map->query->ctx->keys[ETW_KEY_ERROR], &error);
    Tcl_DictObjGet(NULL, old, map->query->ctx->keys[ETW_KEY_PROPS], &props);
    *modePtr = error != NULL ? ETW_MISSING_CUT : ETW_MISSING_ERROR;
    Tcl_Obj *merged = props != NULL ? Tcl_DuplicateObj(props) : Tcl_NewDictObj();
    Tcl_DecrRefCount(old);
    if (Tcl_DictObjFirst(map->interp, changed, &search, &key, &value, &done) != TCL_OK) {
        Tcl_DecrRefCount(merged);
        return NULL;
    }
    for (; !done; Tcl_DictObjNext(&search, &key, &value, &done)) {
        Tcl_DictObjPut(NULL, merged, key, value);
    }
    Tcl_DictObjDone(&search);
    return merged;
}

static void skipValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    (void)ctx;
    (void)field;
    (void)value;
}
static void skipBegin(void *ctx, const EtwField *field, bool isStruct, int count)
{
    (void)ctx;
    (void)field;
    (void)isStruct;
    (void)count;
}
static void skipEnd(void *ctx, const EtwField *field, bool isStruct)
{
    (void)ctx;
    (void)field;
    (void)isStruct;
}
static void keepRest(void *ctx, const uint8_t *data, size_t size)
{
    EtwTextAdd(ctx, data, size);
}

/* Replace payload fields. Bytes after them in an event of a newer version are kept. */
static int setProps(EtwRelogMap *map, EtwEvent *event, Tcl_Obj *changed)
{
    static const EtwVisitor rest = {skipValue, skipBegin, skipEnd, keepRest};
    const EtwSchema *schema = EtwSchemaOf(map->query->filter.store, event);
    EtwMissingMode mode;

    if (schema == NULL) {
        return EtwTclFail(map->interp, ETW_E_UNSUPPORTED, "SCHEMA", "",
                "the payload of the event cannot be changed by fields, because no description of "
                "it is known: set \"payload\" (its bytes), or load a description with \"etw schema "
                "load\"");
    }
    Tcl_Obj *props = mergedProps(map, event, changed, &mode);
    if (props == NULL) {
        return TCL_ERROR;
    }
    map->scratch.size = 0;
    Tcl_IncrRefCount(props);
    int result = EtwEncodeDict(map->interp, &map->scratch, schema, event->pointerSize, props, mode);
    Tcl_DecrRefCount(props);
    if (result != TCL_OK) {
        return TCL_ERROR;
    }
    EtwDecode(schema, event, &rest, &map->scratch);
    return EtlRebuildPayload(&map->relog->rebuild, event, map->scratch.data, map->scratch.size)
                   ? TCL_OK
                   : unsupportedField(map->interp, "props");
}

static int setPayload(EtwRelogMap *map, EtwEvent *event, Tcl_Obj *payload)
{
    Tcl_Size size;
    unsigned char *bytes = Tcl_GetBytesFromObj(map->interp, payload, &size);

    if (bytes == NULL) {
        return TCL_ERROR;
    }
    return EtlRebuildPayload(&map->relog->rebuild, event, bytes, (size_t)size)
                   ? TCL_OK
                   : unsupportedField(map->interp, "payload");
}

static int setRelated(EtwRelogMap *map, EtwEvent *event, Tcl_Obj *value)
{
    EtwGuid guid;
    bool none = *Tcl_GetString(value) == 0;

    if (!none && EtwGetGuid(map->interp, value, &guid) != TCL_OK) {
        return TCL_ERROR;
    }
    return EtlRebuildItem(&map->relog->rebuild, event, ETL_ITEM_RELATED_ACTIVITY,
                   none ? NULL : &guid, sizeof guid)
                   ? TCL_OK
                   : unsupportedField(map->interp, "related");
}

/* A list of addresses; an empty one: no stack. */
static int setStack(EtwRelogMap *map, EtwEvent *event, Tcl_Obj *value)
{
    bool narrow = EtwEventStackWidth(event) == 4;
    unsigned type = narrow ? ETL_ITEM_STACK32 : ETL_ITEM_STACK64;
    Tcl_Obj **words;
    Tcl_Size count;
    uint64_t address;

    if (Tcl_ListObjGetElements(map->interp, value, &count, &words) != TCL_OK) {
        return TCL_ERROR;
    }
    map->scratch.size = 0;
    EtwTextAdd(&map->scratch, &event->stackMatch, sizeof event->stackMatch);
    for (Tcl_Size i = 0; i < count; i++) {
        if (EtwGetUint64(map->interp, words[i], &address) != TCL_OK) {
            return TCL_ERROR;
        }
        EtwTextAdd(&map->scratch, &address, narrow ? 4 : 8);
    }
    return EtlRebuildItem(&map->relog->rebuild, event, type, count ? map->scratch.data : NULL,
                   map->scratch.size)
                   ? TCL_OK
                   : unsupportedField(map->interp, "stack");
}

static int setHeader(EtwRelogMap *map, EtwEvent *event, const EtlEdit *edit)
{
    EtlRebuild *rebuild = &map->relog->rebuild;

    map->scratch.size = 0;
    EtwTextAdd(&map->scratch, event->payload, event->payloadSize);
    if (!EtlRebuildPayload(rebuild, event, map->scratch.data, map->scratch.size)) {
        return unsupportedField(map->interp, "header");
    }
    unsigned left = EtlEditApply(edit, EtlRebuildRecord(rebuild), event->recordSize);
    if (left != 0) {
        return unsupportedField(map->interp, EtwRelogFieldName(__builtin_ctz(left)));
    }
    event->cpu = edit->fields >> ETL_EDIT_CPU & 1 ? edit->cpu : event->cpu;
    return TCL_OK;
}

static int setTime(EtwRelogMap *map, EtwEvent *event, Tcl_Obj *value)
{
    Tcl_WideInt time;

    if (Tcl_GetWideIntFromObj(map->interp, value, &time) != TCL_OK) {
        return TCL_ERROR;
    }
    return EtwRelogMove(map->relog, event, time) ? TCL_OK : unsupportedField(map->interp, "time");
}

/* Payload first, because its schema depends on the unchanged header. */
static int apply(EtwRelogMap *map, EtwEvent *event, const Changes *c)
{
    if ((c->props != NULL && setProps(map, event, c->props) != TCL_OK) ||
            (c->fields != NULL && setProps(map, event, c->fields) != TCL_OK) ||
            (c->payload != NULL && setPayload(map, event, c->payload) != TCL_OK) ||
            (c->related != NULL && setRelated(map, event, c->related) != TCL_OK) ||
            (c->stack != NULL && setStack(map, event, c->stack) != TCL_OK) ||
            (c->edit.fields != 0 && setHeader(map, event, &c->edit) != TCL_OK) ||
            (c->time != NULL && setTime(map, event, c->time) != TCL_OK)) {
        return TCL_ERROR;
    }
    return c->inject != NULL ? EtwRelogInject(map->interp, c->inject, map->relog) : TCL_OK;
}

/* ---- An event -------------------------------------------------------------------------------- */

static int applyResult(EtwRelogMap *map, EtwEvent *event, Tcl_Obj *old, Tcl_Obj *answer)
{
    Changes changes = {.drop = false};

    if (answer == old || isWord(answer, "keep") || isWord(answer, "")) {
        return TCL_OK;
    }
    if (isWord(answer, "drop")) {
        return TCL_CONTINUE;
    }
    int result = compare(map, old, answer, &changes);
    if (result == TCL_OK) {
        result = apply(map, event, &changes);
    }
    if (changes.fields != NULL) {
        Tcl_DecrRefCount(changes.fields);
    }
    return result != TCL_OK ? TCL_ERROR : changes.drop ? TCL_CONTINUE : TCL_OK;
}

int EtwRelogMapEvent(EtwRelogMap *map, EtwEvent *event)
{
    Tcl_Interp *interp = map->interp;
    Tcl_Obj *old = EtwEventObj(map->query->maker, event);

    Tcl_IncrRefCount(old);
    int result = EtwCallPrefix(interp, map->prefix, 1, &old);
    if (result == TCL_OK) {
        Tcl_Obj *answer = Tcl_GetObjResult(interp);
        Tcl_IncrRefCount(answer);
        result = applyResult(map, event, old, answer);
        Tcl_DecrRefCount(answer);
    }
    Tcl_DecrRefCount(old);
    if (result == TCL_ERROR) {
        Tcl_AddErrorInfo(interp, "\n    (\"etw relog\" -map command)");
    } else {
        Tcl_ResetResult(interp);
    }
    return result == TCL_RETURN ? TCL_BREAK : result;
}
