/*
 * tcl/value/event_dict.c --
 *
 *	Converts events to Tcl values. Keys and names are created once for each schema and shared by
 *	all its events. With a selection, no objects are created for other fields. Data that could
 *	not be decoded is kept: `error` has the reason, `raw` the bytes.
 */
#include "tcl/value/event_dict.h"
#include "etl/format.h"
#include "etl/record.h"
#include "flow/track/stack_frames.h"
#include "schema/store/header_labels.h"
#include "schema/model/tcl_list.h"
#include "schema/store/event_message.h"
#include "schema/model/text_defs.h"
#include <stdlib.h>

enum { MAX_DEPTH = 32 };

static const char *const eventKeyNames[ETW_KEY_COUNT + 1] = {ETW_FIELDS_HEADER(ETW_FIELD_NAME)
                ETW_FIELDS_PARTS(ETW_FIELD_NAME) ETW_FIELDS_MESSAGE(ETW_FIELD_NAME) NULL};

/* Values that are only available in a selection. Their keys follow those of EtwKey. */
#define DERIVED_KEY(id, name) KEY_##id,
enum {
    KEY_BEFORE = ETW_KEY_COUNT - 1,
    ETW_FIELDS_TEXTS(DERIVED_KEY) ETW_FIELDS_TIMES(DERIVED_KEY) KEY_END
};
static const char *const derivedNames[] = {
        ETW_FIELDS_TEXTS(ETW_FIELD_NAME) ETW_FIELDS_TIMES(ETW_FIELD_NAME)};

/* Objects created once for each schema. */
typedef struct SchemaNames {
    const EtwSchema *schema;
    const char *named; /* schema->provider when `provider` was created: the name may become known
                          later */
    Tcl_Obj *provider, *event;
    Tcl_Obj **fields; /* name of each field */
    int *slots;       /* index in the selection, -1: not selected */
    bool wanted;      /* true if any field is selected */
} SchemaNames;

typedef struct Selected {
    int key;        /* EtwKey, KEY_*, or -1: payload field */
    Tcl_Obj *given; /* as passed by the caller: the key in a dict */
    Tcl_Obj *name;  /* name of the field, without props() */
    int same;       /* index of an earlier one with the same name, or -1 */
    Tcl_Obj *value; /* value in the current event */
    bool found;     /* EtwEventValues: an event had it */
} Selected;

/* A header number, and the object of its value. */
typedef struct Shared {
    uint64_t value;
    Tcl_Obj *obj; /* NULL: none yet */
} Shared;

/* A list or dict under construction; NULL: not selected. */
typedef struct Frame {
    Tcl_Obj *obj;
    bool isDict;
} Frame;

struct EtwEventMaker {
    EtwInterp *ctx;
    EtwSchemaStore *store;
    const EtwTrack *track; /* NULL: none */
    Tcl_HashTable names;   /* EtwSchema * -> SchemaNames * */
    SchemaNames *last;
    Selected *selection;
    int selectedCount;
    bool asList;
    bool wantsProps; /* the selection has `props` */
    bool wantsState; /* or `error` or `raw` */
    bool wantsMessage;
    bool asked; /* EtwEventValues was called */
    bool zeros; /* header numbers that do not apply are 0 */
    EtwText scratch;
    Shared shared[ETW_KEY_COUNT];
    /* The current event: */
    Tcl_Obj *props; /* NULL: not selected */
    Frame frames[MAX_DEPTH];
    int depth; /* may exceed MAX_DEPTH: deeper levels are omitted */
    const uint8_t *rest;
    size_t restSize;
};

/* ---- Keys and names -------------------------------------------------------------------------- */

void EtwEventKeysInit(EtwInterp *ctx)
{
    for (int i = 0; i < ETW_KEY_COUNT; i++) {
        ctx->keys[i] = Tcl_NewStringObj(eventKeyNames[i], -1);
        Tcl_IncrRefCount(ctx->keys[i]);
    }
}

void EtwEventKeysFree(EtwInterp *ctx)
{
    for (int i = 0; i < ETW_KEY_COUNT; i++) {
        if (ctx->keys[i] != NULL) {
            Tcl_DecrRefCount(ctx->keys[i]);
            ctx->keys[i] = NULL;
        }
    }
}

int EtwHeaderKey(const char *name)
{
    for (int i = 0; eventKeyNames[i] != NULL; i++) {
        if (strcmp(eventKeyNames[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

static Tcl_Obj *newTextRef(const char *text)
{
    Tcl_Obj *obj = EtwStringObj(text);
    Tcl_IncrRefCount(obj);
    return obj;
}

Tcl_Obj *EtwProviderNameObj(EtwSchemaStore *store, const EtwSchema *schema, const EtwEvent *event)
{
    const char *name = EtwProviderNameOf(store, schema, event);
    return name ? EtwStringObj(name) : EtwGuidObj(&event->provider);
}

/*
 * The selected slot of a payload field; -1: none. `message` uses a field with that name unless the
 * field itself is selected.
 */
static int slotOf(const EtwEventMaker *maker, Tcl_Obj *field)
{
    int slot = -1;

    for (int i = 0; i < maker->selectedCount; i++) {
        const Selected *selected = &maker->selection[i];
        bool fits = selected->key < 0 || (selected->key == ETW_KEY_MESSAGE && slot < 0);
        if (fits && selected->same < 0 &&
                strcmp(Tcl_GetString(selected->name), Tcl_GetString(field)) == 0) {
            slot = i;
        }
    }
    return slot;
}

static SchemaNames *makeNames(EtwEventMaker *maker, const EtwSchema *schema, const EtwEvent *event)
{
    SchemaNames *names = EtwAlloc(sizeof *names);
    size_t count = (size_t)schema->fieldCount;

    names->schema = schema;
    names->named = schema->provider;
    names->provider = EtwProviderNameObj(maker->store, schema, event);
    Tcl_IncrRefCount(names->provider);
    names->event = newTextRef(schema->event);
    names->fields = EtwAlloc(sizeof *names->fields * (count + 1));
    names->slots = EtwAlloc(sizeof *names->slots * (count + 1));
    for (size_t i = 0; i < count; i++) {
        names->fields[i] = newTextRef(schema->fields[i].name);
        names->slots[i] = -1;
    }
    for (size_t i = 0; i < count; i += schema->fields[i].span) {
        names->slots[i] = slotOf(maker, names->fields[i]);
        names->wanted |= names->slots[i] >= 0;
    }
    return names;
}

static void freeNames(SchemaNames *names)
{
    for (int i = 0; i < names->schema->fieldCount; i++) {
        Tcl_DecrRefCount(names->fields[i]);
    }
    Tcl_DecrRefCount(names->provider);
    Tcl_DecrRefCount(names->event);
    EtwFree(names->fields);
    EtwFree(names->slots);
    EtwFree(names);
}

static void renewProvider(EtwEventMaker *maker, SchemaNames *names, const EtwEvent *event)
{
    Tcl_DecrRefCount(names->provider);
    names->provider = EtwProviderNameObj(maker->store, names->schema, event);
    Tcl_IncrRefCount(names->provider);
    names->named = names->schema->provider;
}

static SchemaNames *namesOf(EtwEventMaker *maker, const EtwSchema *schema, const EtwEvent *event)
{
    int isNew;

    if (maker->last != NULL && maker->last->schema == schema &&
            maker->last->named == schema->provider) {
        return maker->last;
    }
    Tcl_HashEntry *entry = Tcl_CreateHashEntry(&maker->names, (const char *)schema, &isNew);
    if (isNew) {
        Tcl_SetHashValue(entry, makeNames(maker, schema, event));
    }
    maker->last = Tcl_GetHashValue(entry);
    if (maker->last->named != schema->provider) {
        renewProvider(maker, maker->last, event);
    }
    return maker->last;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* Values that exceed 64 bits become bignums. */
static Tcl_Obj *wideObj(EtwEventMaker *maker, EtwWide value)
{
    int64_t number;
    if (EtwWideFits(value, &number)) {
        return Tcl_NewWideIntObj(number);
    }
    maker->scratch.size = 0;
    EtwFormatWide(&maker->scratch, value);
    return Tcl_NewStringObj(maker->scratch.data, (Tcl_Size)maker->scratch.size);
}

/* A float is shown with its own digits, not those of the nearest double. */
static Tcl_Obj *realObj(EtwEventMaker *maker, const EtwValue *value)
{
    if (value->width != 4 || value->d != value->d) {
        return Tcl_NewDoubleObj(value->d);
    }
    maker->scratch.size = 0;
    EtwFormatDouble(&maker->scratch, value->d, true);
    EtwTextChar(&maker->scratch, '\0');
    return Tcl_NewDoubleObj(strtod(maker->scratch.data, NULL));
}

static Tcl_Obj *formattedObj(EtwEventMaker *maker, const EtwField *field, const EtwValue *value)
{
    maker->scratch.size = 0;
    EtwFormatValue(&maker->scratch, field, value);
    return EtwTextObj(maker->scratch.data, maker->scratch.size);
}

static Tcl_Obj *text16Obj(EtwEventMaker *maker, const EtwValue *value)
{
    maker->scratch.size = 0;
    EtwTextUtf16(&maker->scratch, value->data, value->size / 2);
    return EtwTextObj(maker->scratch.data, maker->scratch.size);
}

static Tcl_Obj *numberObj(EtwEventMaker *maker, const EtwValue *value)
{
    switch (value->kind) {
    case ETW_V_INT:
        return Tcl_NewWideIntObj(value->i);
    case ETW_V_UINT:
        return EtwUint64Obj(value->u);
    case ETW_V_DOUBLE:
        return realObj(maker, value);
    case ETW_V_BOOL:
        return Tcl_NewBooleanObj(value->u != 0);
    default:
        return Tcl_NewObj();
    }
}

/* The most common kinds first. Numbers with a name, addresses etc. are texts. */
static Tcl_Obj *valueObj(EtwEventMaker *maker, const EtwField *field, const EtwValue *value)
{
    EtwWide ns;

    if (value->kind == ETW_V_TEXT) {
        return EtwTextObj((const char *)value->data, value->size);
    }
    if (value->kind == ETW_V_TEXT16) {
        return text16Obj(maker, value);
    }
    if (value->kind == ETW_V_NULL) {
        return Tcl_NewObj();
    }
    if (EtwValueTime(value, &ns)) {
        return wideObj(maker, ns);
    }
    if (value->kind == ETW_V_BYTES && value->out == ETW_OUT_DEFAULT) {
        return Tcl_NewByteArrayObj(value->data, (Tcl_Size)value->size);
    }
    return EtwValueIsText(field, value) ? formattedObj(maker, field, value)
                                        : numberObj(maker, value);
}

/* ---- The visitor ----------------------------------------------------------------------------- */

static int fieldIndex(const EtwEventMaker *maker, const EtwField *field)
{
    return (int)(field - maker->last->schema->fields);
}

static bool isWanted(const EtwEventMaker *maker, const EtwField *field)
{
    if (maker->depth > 0) {
        return maker->depth <= MAX_DEPTH && maker->frames[maker->depth - 1].obj != NULL;
    }
    return maker->props != NULL || maker->last->slots[fieldIndex(maker, field)] >= 0;
}

/* Add a complete value to its container or slot. */
static void place(EtwEventMaker *maker, const EtwField *field, Tcl_Obj *obj)
{
    int index = fieldIndex(maker, field);
    Tcl_Obj *key = maker->last->fields[index];

    if (maker->depth > 0) {
        const Frame *frame = &maker->frames[maker->depth - 1];
        if (frame->isDict) {
            Tcl_DictObjPut(NULL, frame->obj, key, obj);
        } else {
            Tcl_ListObjAppendElement(NULL, frame->obj, obj);
        }
        return;
    }
    int slot = maker->last->slots[index];
    if (slot >= 0 && maker->selection[slot].value == NULL) {
        maker->selection[slot].value = obj;
        Tcl_IncrRefCount(obj);
    }
    if (maker->props != NULL) {
        Tcl_DictObjPut(NULL, maker->props, key, obj);
    }
}

static void onValue(void *clientData, const EtwField *field, const EtwValue *value)
{
    EtwEventMaker *maker = clientData;

    if (isWanted(maker, field)) {
        place(maker, field, valueObj(maker, field, value));
    }
}

static void onBegin(void *clientData, const EtwField *field, bool isStruct, int count)
{
    EtwEventMaker *maker = clientData;
    bool wanted = isWanted(maker, field);
    (void)count;

    if (maker->depth < MAX_DEPTH) {
        Frame *frame = &maker->frames[maker->depth];
        frame->isDict = isStruct;
        frame->obj = !wanted ? NULL : isStruct ? Tcl_NewDictObj() : Tcl_NewListObj(0, NULL);
    }
    maker->depth++;
}

static void onEnd(void *clientData, const EtwField *field, bool isStruct)
{
    EtwEventMaker *maker = clientData;
    (void)isStruct;

    maker->depth--;
    if (maker->depth < MAX_DEPTH && maker->frames[maker->depth].obj != NULL) {
        place(maker, field, maker->frames[maker->depth].obj);
    }
}

static void onRest(void *clientData, const uint8_t *data, size_t size)
{
    EtwEventMaker *maker = clientData;

    maker->rest = data;
    maker->restSize = size;
}

static EtwStatus decode(EtwEventMaker *maker, const EtwSchema *schema, const EtwEvent *event)
{
    static const EtwVisitor visitor = {onValue, onBegin, onEnd, onRest};

    maker->depth = 0;
    maker->rest = NULL;
    maker->restSize = 0;
    return EtwDecode(schema, event, &visitor, maker);
}

/* ---- Header values --------------------------------------------------------------------------- */

/* Most header numbers equal those of the previous event: the object is shared. */
static Tcl_Obj *numberOf(EtwEventMaker *maker, EtwKey key, uint64_t value)
{
    Shared *shared = &maker->shared[key];

    if (shared->obj == NULL || shared->value != value) {
        if (shared->obj != NULL) {
            Tcl_DecrRefCount(shared->obj);
        }
        shared->obj = value == UINT64_MAX && (key == ETW_KEY_PID || key == ETW_KEY_TID)
                              ? Tcl_NewWideIntObj(-1)
                              : EtwUint64Obj(value);
        Tcl_IncrRefCount(shared->obj);
        shared->value = value;
    }
    return shared->obj;
}

static Tcl_Obj *idObj(EtwEventMaker *maker, EtwKey key, uint32_t id)
{
    return numberOf(maker, key, id == ETW_NO_ID ? UINT64_MAX : id);
}

static Tcl_Obj *guidBytesObj(const uint8_t *bytes)
{
    EtwGuid guid;

    memcpy(guid.bytes, bytes, sizeof guid.bytes);
    return EtwGuidObj(&guid);
}

static Tcl_Obj *stackObj(const EtwEvent *event)
{
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);
    size_t size = EtwEventStackWidth(event);

    for (uint32_t i = 0; i < event->stackCount; i++) {
        const uint8_t *at = event->stack + i * size;
        uint64_t address = size == 4 ? EtwLoad32(at) : EtwLoad64(at);
        Tcl_ListObjAppendElement(NULL, list, EtwUint64Obj(address));
    }
    return list;
}

static Tcl_Obj *framesObj(EtwEventMaker *maker, const EtwEvent *event)
{
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);

    EtwFrameWalk walk;
    EtwFrameWalkBegin(&walk, maker->track, event);
    for (const EtwFrame *frame; (frame = EtwFrameNext(&walk)) != NULL;) {
        maker->scratch.size = 0;
        EtwFrameText(frame, &maker->scratch);
        Tcl_ListObjAppendElement(NULL, list, EtwTextObj(maker->scratch.data, maker->scratch.size));
    }
    return list;
}

/* NULL: none. */
static Tcl_Obj *countersObj(const EtwEvent *event)
{
    const uint8_t *pebs;
    uint32_t count;
    const uint8_t *at = EtlRecordCounters(event, &count, &pebs);
    Tcl_Obj *list = at != NULL ? Tcl_NewListObj(0, NULL) : NULL;

    for (uint32_t i = 0; at != NULL && i < count; i++) {
        Tcl_ListObjAppendElement(NULL, list, EtwUint64Obj(EtwLoad64(at + 8 * i)));
    }
    return list;
}

static Tcl_Obj *unlessZero(EtwEventMaker *maker, EtwKey key, uint64_t value)
{
    return value || maker->zeros ? numberOf(maker, key, value) : NULL;
}

/* NULL: it does not apply to this event. names NULL: no schema. */
static Tcl_Obj *headerObj(
        EtwEventMaker *maker, const SchemaNames *names, const EtwEvent *event, EtwKey key)
{
    const EtwDescriptor *desc = &event->desc;

    switch (key) {
    case ETW_KEY_TIME:
        return Tcl_NewWideIntObj(event->time);
    case ETW_KEY_PROVIDER:
        return names ? names->provider : EtwProviderNameObj(maker->store, NULL, event);
    case ETW_KEY_EVENT:
        return names ? names->event : Tcl_NewObj();
    case ETW_KEY_ID:
        return unlessZero(maker, key, desc->id);
    case ETW_KEY_VERSION:
        return unlessZero(maker, key, desc->version);
    case ETW_KEY_CHANNEL:
        return desc->channel == ETL_CHANNEL_TRACELOGGING && !maker->zeros
                       ? NULL
                       : unlessZero(maker, key, desc->channel);
    case ETW_KEY_LEVEL:
        return unlessZero(maker, key,
                desc->level == 0 && names ? EtwMessageLevel(names->schema) : desc->level);
    case ETW_KEY_OPCODE:
        return unlessZero(maker, key, desc->opcode);
    case ETW_KEY_TASK:
        return unlessZero(maker, key, desc->task);
    case ETW_KEY_KEYWORD:
        return unlessZero(maker, key, desc->keyword);
    case ETW_KEY_PID:
        return idObj(maker, key, event->pid);
    case ETW_KEY_TID:
        return idObj(maker, key, event->tid);
    case ETW_KEY_CPU:
        return numberOf(maker, key, event->cpu);
    case ETW_KEY_ACTIVITY:
        return EtwGuidIsNull(&event->activity) ? NULL : EtwGuidObj(&event->activity);
    case ETW_KEY_RELATED:
        return event->related ? guidBytesObj(event->related) : NULL;
    case ETW_KEY_PROCESS:
        return event->process ? EtwStringObj(event->process) : NULL;
    case ETW_KEY_OBJECT:
        return event->object ? EtwStringObj(event->object) : NULL;
    case ETW_KEY_STACK:
        return event->stackCount ? stackObj(event) : NULL;
    case ETW_KEY_FRAMES:
        return event->stackCount ? framesObj(maker, event) : NULL;
    case ETW_KEY_COUNTERS:
        return countersObj(event);
    case ETW_KEY_LATE:
        return event->late ? Tcl_NewBooleanObj(1) : NULL;
    case ETW_KEY_SESSION:
    case ETW_KEY_PROPS:
    case ETW_KEY_ERROR:
    case ETW_KEY_RAW:
    case ETW_KEY_MESSAGE:
    case ETW_KEY_COUNT:
        break;
    }
    return NULL;
}

static Tcl_Obj *errorObj(const SchemaNames *names, const EtwEvent *event, EtwStatus status)
{
    if (names == NULL) {
        return event->payloadSize
                       ? Tcl_NewStringObj(event->kind == ETL_MESSAGE ? "no schema: a message whose "
                                                                       "format (.tmf) is not loaded"
                                                                     : "no schema",
                                 -1)
                       : NULL;
    }
    return status == ETW_OK ? NULL : Tcl_NewStringObj("payload does not fit its schema", -1);
}

/* The bytes that no field covers. */
static Tcl_Obj *rawObj(const EtwEventMaker *maker, const SchemaNames *names, const EtwEvent *event)
{
    if (names == NULL) {
        return event->payloadSize
                       ? Tcl_NewByteArrayObj(event->payload, (Tcl_Size)event->payloadSize)
                       : NULL;
    }
    return maker->restSize ? Tcl_NewByteArrayObj(maker->rest, (Tcl_Size)maker->restSize) : NULL;
}

/* ---- Whole events ---------------------------------------------------------------------------- */

static void putKey(EtwEventMaker *maker, Tcl_Obj *dict, EtwKey key, Tcl_Obj *value)
{
    if (value != NULL) {
        Tcl_DictObjPut(NULL, dict, maker->ctx->keys[key], value);
    }
}

static Tcl_Obj *wholeEvent(EtwEventMaker *maker, const EtwSchema *schema, const EtwEvent *event)
{
    Tcl_Obj *dict = Tcl_NewDictObj();
    SchemaNames *names = schema ? namesOf(maker, schema, event) : NULL;
    EtwStatus status = ETW_OK;

    for (int key = 0; key < ETW_KEY_PROPS; key++) {
        putKey(maker, dict, (EtwKey)key, headerObj(maker, names, event, (EtwKey)key));
    }
    Tcl_Obj *props = maker->props = Tcl_NewDictObj();
    Tcl_IncrRefCount(props);
    if (names != NULL) {
        status = decode(maker, schema, event);
    }
    maker->props = NULL;
    putKey(maker, dict, ETW_KEY_PROPS, props);
    Tcl_DecrRefCount(props);
    putKey(maker, dict, ETW_KEY_STACK, headerObj(maker, names, event, ETW_KEY_STACK));
    putKey(maker, dict, ETW_KEY_COUNTERS, headerObj(maker, names, event, ETW_KEY_COUNTERS));
    putKey(maker, dict, ETW_KEY_ERROR, errorObj(names, event, status));
    putKey(maker, dict, ETW_KEY_RAW, rawObj(maker, names, event));
    putKey(maker, dict, ETW_KEY_LATE, headerObj(maker, names, event, ETW_KEY_LATE));
    return dict;
}

/* ---- Selections ------------------------------------------------------------------------------ */

static void setValue(Selected *selected, Tcl_Obj *value)
{
    if (value != NULL && selected->value == NULL) {
        selected->value = value;
        Tcl_IncrRefCount(value);
    }
}

static Tcl_Obj *selectedHeader(EtwEventMaker *maker, const SchemaNames *names,
        const EtwEvent *event, int key, EtwStatus status)
{
    switch (key) {
    case ETW_KEY_PROPS:
        return maker->props;
    case ETW_KEY_ERROR:
        return errorObj(names, event, status);
    case ETW_KEY_RAW:
        return rawObj(maker, names, event);
    default:
        return headerObj(maker, names, event, (EtwKey)key);
    }
}

/* Texts derived from the event and its schema (NULL: it has none). */
static Tcl_Obj *derivedObj(
        EtwEventMaker *maker, const EtwSchema *schema, const EtwEvent *event, int key)
{
    static const EtwNameKind kinds[] = {
            ETW_NAME_LEVEL, ETW_NAME_CHANNEL, ETW_NAME_TASK, ETW_NAME_OPCODE};
    const char *template = schema ? schema->message : NULL;

    maker->scratch.size = 0;
    EtwTextReserve(&maker->scratch, 1);
    switch (key) {
    case KEY_PROVIDER_GUID:
        return EtwGuidObj(&event->provider);
    case KEY_KERNEL_TIME:
        return Tcl_NewWideIntObj(event->kernelTime);
    case KEY_USER_TIME:
        return Tcl_NewWideIntObj(event->userTime);
    case KEY_ELAPSED:
        return event->elapsed != 0 ? Tcl_NewWideIntObj(event->elapsed) : NULL;
    case KEY_TEMPLATE:
        return template ? EtwStringObj(template) : NULL;
    case KEY_KEYWORD_NAMES:
        EtwEventKeywords(&maker->scratch, schema, event);
        break;
    case KEY_TDH_PROPS:
        EtwListDict(&maker->scratch, schema, event, true);
        break;
    default:
        EtwAddLabel(&maker->scratch, schema, event, kinds[key - KEY_LEVEL_NAME]);
    }
    return EtwTextObj(maker->scratch.data, maker->scratch.size);
}

/*
 * Called before the payload is decoded: a field named `message` is used if the event has no
 * message.
 */
static void fillMessages(EtwEventMaker *maker, const EtwSchema *schema, const EtwEvent *event)
{
    for (int i = 0; i < maker->selectedCount; i++) {
        Selected *selected = &maker->selection[i];
        maker->scratch.size = 0;
        if (selected->key == ETW_KEY_MESSAGE && selected->same < 0 &&
                EtwFormatMessage(&maker->scratch, schema, event)) {
            setValue(selected, EtwTextObj(maker->scratch.data, maker->scratch.size));
        }
    }
}

/* The field named `message`, if it is also selected itself. */
static Tcl_Obj *messageField(const EtwEventMaker *maker, const Selected *message)
{
    for (int i = 0; i < maker->selectedCount; i++) {
        const Selected *selected = &maker->selection[i];
        if (selected->key < 0 && selected->same < 0 &&
                strcmp(Tcl_GetString(selected->name), Tcl_GetString(message->name)) == 0) {
            return selected->value;
        }
    }
    return NULL;
}

/* Fill the value of each selected field that the event has. */
static void fillSelection(EtwEventMaker *maker, const EtwSchema *schema, const EtwEvent *event)
{
    SchemaNames *names = schema ? namesOf(maker, schema, event) : NULL;
    EtwStatus status = ETW_OK;

    if (maker->wantsProps) {
        maker->props = Tcl_NewDictObj();
        Tcl_IncrRefCount(maker->props);
    }
    maker->restSize = 0;
    if (names != NULL && maker->wantsMessage) {
        fillMessages(maker, schema, event);
    }
    if (names != NULL && (maker->wantsProps || maker->wantsState || names->wanted)) {
        status = decode(maker, schema, event);
    }
    for (int i = 0; i < maker->selectedCount; i++) {
        Selected *selected = &maker->selection[i];
        if (selected->same >= 0) {
            setValue(selected, maker->selection[selected->same].value);
        } else if (selected->key >= ETW_KEY_COUNT) {
            setValue(selected, derivedObj(maker, schema, event, selected->key));
        } else if (selected->key >= 0) {
            setValue(
                    selected, selected->key == ETW_KEY_MESSAGE
                                      ? messageField(maker, selected)
                                      : selectedHeader(maker, names, event, selected->key, status));
        }
    }
    if (maker->props != NULL) {
        Tcl_DecrRefCount(maker->props);
        maker->props = NULL;
    }
}

static void clearSelection(EtwEventMaker *maker)
{
    for (int i = 0; i < maker->selectedCount; i++) {
        if (maker->selection[i].value != NULL) {
            Tcl_DecrRefCount(maker->selection[i].value);
            maker->selection[i].value = NULL;
        }
    }
}

static Tcl_Obj *selectionList(const EtwEventMaker *maker)
{
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);

    for (int i = 0; i < maker->selectedCount; i++) {
        Tcl_Obj *value = maker->selection[i].value;
        Tcl_ListObjAppendElement(NULL, list, value ? value : Tcl_NewObj());
    }
    return list;
}

/* The selected values that the event has, from number `first` on. */
static Tcl_Obj *selectionDict(const EtwEventMaker *maker, int first)
{
    Tcl_Obj *dict = Tcl_NewDictObj();

    for (int i = first; i < maker->selectedCount; i++) {
        if (maker->selection[i].value != NULL) {
            Tcl_DictObjPut(NULL, dict, maker->selection[i].given, maker->selection[i].value);
        }
    }
    return dict;
}

Tcl_Obj *EtwEventObj(EtwEventMaker *maker, const EtwEvent *event)
{
    const EtwSchema *schema = EtwSchemaOf(maker->store, event);

    if (maker->selection == NULL) {
        return wholeEvent(maker, schema, event);
    }
    fillSelection(maker, schema, event);
    Tcl_Obj *obj = maker->asList ? selectionList(maker) : selectionDict(maker, 0);
    clearSelection(maker);
    return obj;
}

Tcl_Obj *EtwEventValues(EtwEventMaker *maker, const EtwEvent *event, int required)
{
    Tcl_Obj *list = NULL;
    bool complete = true;

    maker->zeros = true;
    fillSelection(maker, EtwSchemaOf(maker->store, event), event);
    for (int i = 0; i < required; i++) {
        bool has = maker->selection[i].value != NULL;
        maker->selection[i].found |= has;
        complete = complete && has;
    }
    maker->asked = true;
    if (complete) {
        list = Tcl_NewListObj(0, NULL);
        for (int i = 0; i < required; i++) {
            Tcl_ListObjAppendElement(NULL, list, maker->selection[i].value);
        }
        Tcl_ListObjAppendElement(NULL, list, selectionDict(maker, required));
    }
    clearSelection(maker);
    return list;
}

void EtwEventMakerMissing(const EtwEventMaker *maker, int required,
        void (*visit)(void *ctx, const char *name), void *ctx)
{
    for (int i = 0; maker->asked && i < required; i++) {
        const Selected *selected = &maker->selection[i];
        if (selected->key < 0 && !selected->found) {
            visit(ctx, Tcl_GetString(selected->name));
        }
    }
}

/* The key of a header value or a derived value, or -1. */
static int selectedKey(const char *name)
{
    int key = EtwHeaderKey(name);

    for (int i = KEY_LEVEL_NAME; key < 0 && i < KEY_END; i++) {
        key = strcmp(derivedNames[i - KEY_LEVEL_NAME], name) == 0 ? i : key;
    }
    return key;
}

/* "props(NAME)" is the payload field NAME, even if the header has a value with that name. */
static void parseSelected(EtwEventMaker *maker, Selected *selected, Tcl_Obj *word)
{
    Tcl_Size length;
    const char *text = Tcl_GetStringFromObj(word, &length);

    if (length > 7 && strncmp(text, "props(", 6) == 0 && text[length - 1] == ')') {
        selected->key = -1;
        selected->name = Tcl_NewStringObj(text + 6, length - 7);
    } else {
        selected->key = selectedKey(text);
        selected->name = word;
    }
    Tcl_IncrRefCount(selected->name);
    selected->given = word;
    Tcl_IncrRefCount(word);
    maker->wantsProps |= selected->key == ETW_KEY_PROPS;
    maker->wantsMessage |= selected->key == ETW_KEY_MESSAGE;
    maker->wantsState |= selected->key == ETW_KEY_ERROR || selected->key == ETW_KEY_RAW;
    selected->same = -1;
    for (Selected *earlier = maker->selection; earlier < selected; earlier++) {
        if (earlier->key == selected->key &&
                strcmp(Tcl_GetString(earlier->name), Tcl_GetString(selected->name)) == 0) {
            selected->same = (int)(earlier - maker->selection);
            return;
        }
    }
}

int EtwEventMakerSelect(Tcl_Interp *interp, EtwEventMaker *maker, Tcl_Obj *fields, bool asList)
{
    Tcl_Size count;
    Tcl_Obj **words;

    if (Tcl_ListObjGetElements(interp, fields, &count, &words) != TCL_OK) {
        return TCL_ERROR;
    }
    maker->selection = EtwAlloc(sizeof(Selected) * ((size_t)count + 1));
    maker->asList = asList;
    for (Tcl_Size i = 0; i < count; i++) {
        parseSelected(maker, &maker->selection[i], words[i]);
        maker->selectedCount++;
    }
    return TCL_OK;
}

/* ---- The maker ------------------------------------------------------------------------------- */

void EtwEventMakerTrack(EtwEventMaker *maker, const EtwTrack *track)
{
    maker->track = track;
}

EtwSchemaStore *EtwEventMakerStore(const EtwEventMaker *maker)
{
    return maker->store;
}

EtwEventMaker *EtwEventMakerNew(EtwInterp *ctx, EtwSchemaStore *store)
{
    EtwEventMaker *maker = EtwAlloc(sizeof *maker);

    maker->ctx = ctx;
    maker->store = store;
    Tcl_InitHashTable(&maker->names, TCL_ONE_WORD_KEYS);
    return maker;
}

void EtwEventMakerFree(EtwEventMaker *maker)
{
    Tcl_HashSearch search;

    if (maker == NULL) {
        return;
    }
    Tcl_HashEntry *entry = Tcl_FirstHashEntry(&maker->names, &search);
    for (; entry != NULL; entry = Tcl_NextHashEntry(&search)) {
        freeNames(Tcl_GetHashValue(entry));
    }
    Tcl_DeleteHashTable(&maker->names);
    for (int i = 0; i < maker->selectedCount; i++) {
        Tcl_DecrRefCount(maker->selection[i].name);
        Tcl_DecrRefCount(maker->selection[i].given);
    }
    for (int i = 0; i < ETW_KEY_COUNT; i++) {
        if (maker->shared[i].obj != NULL) {
            Tcl_DecrRefCount(maker->shared[i].obj);
        }
    }
    EtwFree(maker->selection);
    EtwTextFree(&maker->scratch);
    EtwFree(maker);
}
