/*
 * flow/render/format/sink_parquet.c --
 *
 *	Events as a Parquet file: the header in typed columns, the payload of each class of events in a group of columns
 *	of its own, named PROVIDER/EVENT. A class is a provider, an event and its fields. Numbers, booleans and texts
 *	have their types, arrays and structs are JSON. A payload that does not fit the columns of its class, or whose
 *	class has none because the file has too many, is JSON in the column `props`.
 */
#include "base/hash_table.h"
#include "base/unicode.h"
#include "flow/render/parquet/parquet.h"
#include "flow/render/sink_int.h"
#include <stdio.h>

enum {
    COLUMNS_MAX = 1000, /* of all classes */
    CLASS_COLUMNS_MAX = 200
};

/* A field of an event's payload, decoded. */
typedef struct Slot {
    EtwPqType type;
    bool used, null;
    uint64_t v;      /* a number, or its bits */
    size_t at, size; /* a text, in Parquet.texts */
} Slot;

typedef struct Class {
    EtwTableNode node; /* by key */
    char *key;         /* provider, event, and the names and types of its fields */
    size_t keySize;
    EtwPqColumn **columns; /* of the fields that are not members; NULL: too many */
} Class;

/* What an event's schema is in the file. */
typedef struct Known {
    EtwTableNode node;
    const EtwSchema *schema;
    const char *provider, *event; /* as when it was looked up */
    Class *class;
} Known;

/* A name of a group or of a column in one, in lower case: readers may not tell the cases apart. */
typedef struct Name {
    EtwTableNode node;
    const Class *class; /* NULL: a group */
    char *text;
} Name;

typedef struct Parquet {
    EtwSink *sink;
    EtwPqFile *file;
    EtwText *out; /* valid during a call of the sink */
    EtwPqColumn *time, *provider, *event, *id, *version, *channel, *level, *opcode, *task, *keyword,
            *pid, *tid, *cpu, *activity, *related, *process, *object, *stack, *frames, *props;
    EtwTable classes, known, names;
    const Known *last;
    int columns; /* of classes */
    /* The event. */
    const EtwSchema *schema;
    Slot *slots; /* by number of the field */
    int slotCapacity;
    EtwText texts, key;
    int depth; /* of arrays and structs */
    EtwJsonBuilder json;
    bool rest; /* the payload has more than its fields */
} Parquet;

static void writeBytes(void *ctx, const void *data, size_t size)
{
    Parquet *p = ctx;
    EtwTextAdd(p->out, data, size);
    EtwSinkMore(p->sink, p->out);
}

/* ---- Decoding -------------------------------------------------------------------------------- */

static void takeText(Parquet *p, Slot *slot, const EtwField *field, const EtwValue *value)
{
    slot->type = ETW_PQ_TEXT;
    slot->at = p->texts.size;
    if (value->kind == ETW_V_TEXT && field->map == NULL &&
            !(EtwTextTraits(value->data, value->size) & ETW_TEXT_SPECIAL)) {
        EtwTextAdd(&p->texts, value->data, value->size);
    } else {
        EtwFormatValue(&p->texts, field, value);
    }
    slot->size = p->texts.size - slot->at;
}

static bool isAddress(const EtwField *field, const EtwValue *value)
{
    return field->in == ETW_IN_POINTER && value->kind == ETW_V_UINT;
}

static void onValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    Parquet *p = ctx;
    if (p->depth > 0) {
        EtwJsonValue(&p->json, field, value);
        return;
    }
    Slot *slot = &p->slots[field - p->schema->fields];
    *slot = (Slot){.used = true, .v = value->u, .null = value->kind == ETW_V_NULL};
    if (value->kind == ETW_V_NULL) {
        slot->type =
                ETW_PQ_TEXT; /* an absent SID, which is a text; other types of NULL have no values */
    } else if (field->map != NULL || (EtwValueIsText(field, value) && !isAddress(field, value))) {
        takeText(p, slot, field, value);
    } else if (value->kind == ETW_V_DOUBLE) {
        memcpy(&slot->v, &value->d, sizeof slot->v);
        slot->type = ETW_PQ_DOUBLE;
    } else {
        slot->type = value->kind == ETW_V_INT    ? ETW_PQ_INT
                     : value->kind == ETW_V_BOOL ? ETW_PQ_BOOL
                                                 : ETW_PQ_UINT;
    }
}

/* An array or a struct is the only element of a list, which is cut off. */
static void onBegin(void *ctx, const EtwField *field, bool isStruct, int count)
{
    Parquet *p = ctx;
    if (p->depth++ == 0) {
        EtwTextChar(&p->texts, '[');
        p->slots[field - p->schema->fields] =
                (Slot){.used = true, .type = ETW_PQ_JSON, .at = p->texts.size};
        p->json = (EtwJsonBuilder){.out = &p->texts, .scratch = &p->sink->scratch2, .lists = 1};
    }
    EtwJsonBegin(&p->json, field, isStruct, count);
}

static void onEnd(void *ctx, const EtwField *field, bool isStruct)
{
    Parquet *p = ctx;
    EtwJsonEnd(&p->json, field, isStruct);
    if (--p->depth == 0) {
        Slot *slot = &p->slots[field - p->schema->fields];
        slot->size = p->texts.size - slot->at;
    }
}

static void onRest(void *ctx, const uint8_t *data, size_t size)
{
    Parquet *p = ctx;
    (void)data;
    p->rest = size > 0;
}

/* The event's fields as slots. False: not all of the payload is in them. */
static bool decode(Parquet *p, const EtwEvent *event, const EtwSchema *schema)
{
    static const EtwVisitor visitor = {onValue, onBegin, onEnd, onRest};
    if (schema->fieldCount > p->slotCapacity) {
        p->slotCapacity = schema->fieldCount;
        p->slots = EtwRealloc(p->slots, (size_t)p->slotCapacity * sizeof *p->slots);
    }
    if (schema->fieldCount > 0) {
        memset(p->slots, 0, (size_t)schema->fieldCount * sizeof *p->slots);
    }
    p->schema = schema;
    EtwTextReserve(&p->texts, 1); /* no text is at NULL */
    p->texts.size = 0;
    p->depth = 0;
    p->rest = false;
    return EtwDecode(schema, event, &visitor, p) == ETW_OK && !p->rest;
}

/* ---- Classes --------------------------------------------------------------------------------- */

/* The next field that is not a member of this one. */
static int following(const EtwSchema *schema, int field)
{
    int span = schema->fields[field].span;
    return field + (span > 0 ? span : 1);
}

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c);
}

static bool isTaken(const Parquet *p, const Class *class, const char *text, uint64_t hash)
{
    const EtwTableNode *n = EtwTableFirst(&p->names, hash);
    while (n != NULL &&
            (((const Name *)n)->class != class || strcmp(((const Name *)n)->text, text) != 0)) {
        n = n->next;
    }
    return n != NULL;
}

/* Append #2, #3 ... to a name that is taken, and take it. */
static void makeUnique(Parquet *p, const Class *class, EtwText *name)
{
    size_t size = name->size;
    EtwText folded = {0};
    uint64_t hash;
    for (int n = 2;; n++) {
        folded.size = 0;
        for (size_t i = 0; i < name->size; i++) {
            EtwTextChar(&folded, lower(name->data[i]));
        }
        EtwTextChar(&folded, 0);
        hash = EtwHashBytes((uint64_t)(uintptr_t) class, (const uint8_t *)folded.data, folded.size);
        if (!isTaken(p, class, folded.data, hash)) {
            break;
        }
        name->size = size;
        EtwTextPrintf(name, "#%d", n);
    }
    Name *taken = EtwAlloc(sizeof *taken);
    taken->class = class;
    taken->text = EtwStrdup(folded.data);
    EtwTableAdd(&p->names, &taken->node, hash);
    EtwTextFree(&folded);
    EtwTextChar(name, 0);
}

static void addClassName(
        EtwText *out, const EtwEvent *event, const char *provider, const char *name)
{
    EtwTextStr(out, provider);
    EtwTextChar(out, '/');
    if (*name != 0) {
        EtwTextStr(out, name);
    } else {
        EtwTextPrintf(out, event->classic ? "opcode %u" : "id %u",
                event->classic ? event->desc.opcode : event->desc.id);
    }
}

/* The columns of a class that has the types of the slots. */
static void addColumns(Parquet *p, Class *class, const EtwEvent *event, const char *provider)
{
    EtwText name = {0};
    int count = 0;
    for (int i = 0; i < p->schema->fieldCount; i = following(p->schema, i)) {
        count += p->slots[i].used;
    }
    if (count > CLASS_COLUMNS_MAX || p->columns + count > COLUMNS_MAX) {
        return;
    }
    p->columns += count;
    class->columns = EtwAlloc((size_t)(p->schema->fieldCount + 1) * sizeof(EtwPqColumn *));
    if (count == 0) { /* without columns there is no group, whose name would have to be new */
        return;
    }
    addClassName(&name, event, provider, p->schema->event);
    makeUnique(p, NULL, &name);
    EtwPqGroup(p->file, name.data);
    for (int i = 0; i < p->schema->fieldCount; i = following(p->schema, i)) {
        EtwText column = {0};
        if (p->slots[i].used) {
            EtwTextStr(&column, *p->schema->fields[i].name != 0 ? p->schema->fields[i].name : "_");
            makeUnique(p, class, &column);
            class->columns[i] = EtwPqAddColumn(p->file, column.data, p->slots[i].type, false);
        }
        EtwTextFree(&column);
    }
    EtwPqGroupEnd(p->file);
    EtwTextFree(&name);
}

/* The class of the event that the slots have, which may be new. */
static Class *classOf(Parquet *p, const EtwEvent *event, const char *provider)
{
    EtwText *key = &p->key;
    key->size = 0;
    addClassName(key, event, provider, p->schema->event);
    for (int i = 0; i < p->schema->fieldCount; i = following(p->schema, i)) {
        EtwTextPrintf(key, "\n%d%d", p->slots[i].used, (int)p->slots[i].type);
        EtwTextStr(key, p->schema->fields[i].name);
    }
    uint64_t hash = EtwHashBytes(0, (const uint8_t *)key->data, key->size);
    for (EtwTableNode *n = EtwTableFirst(&p->classes, hash); n != NULL; n = n->next) {
        Class *class = (Class *)n;
        if (class->keySize == key->size && memcmp(class->key, key->data, key->size) == 0) {
            return class;
        }
    }
    Class *class = EtwAlloc(sizeof *class);
    class->key = EtwAlloc(key->size + 1);
    class->keySize = key->size;
    memcpy(class->key, key->data, key->size);
    EtwTableAdd(&p->classes, &class->node, hash);
    addColumns(p, class, event, provider);
    return class;
}

/* What is known of the schema, from its first event. */
static const Known *knownOf(Parquet *p, const EtwEvent *event, const char *provider)
{
    const EtwSchema *schema = p->schema;
    if (p->last != NULL && p->last->schema == schema && p->last->provider == provider) {
        return p->last;
    }
    uint64_t hash = EtwHashMix(EtwHashPointer(schema), EtwHashPointer(provider));
    for (EtwTableNode *n = EtwTableFirst(&p->known, hash); n != NULL; n = n->next) {
        const Known *known = (Known *)n;
        if (known->schema == schema && known->provider == provider) {
            return p->last = known;
        }
    }
    Known *known = EtwAlloc(sizeof *known);
    *known = (Known){.schema = schema,
            .provider = provider,
            .event = schema->event,
            .class = classOf(p, event, provider)};
    EtwTableAdd(&p->known, &known->node, hash);
    return p->last = known;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static bool fits(const Parquet *p, const Class *class, int i)
{
    const Slot *slot = &p->slots[i];
    return !slot->used || slot->null ||
           (class->columns[i] != NULL && EtwPqTypeOf(class->columns[i]) == slot->type);
}

/* False: a value has another type than those before it; nothing is added. */
static bool addFields(Parquet *p, const Class *class)
{
    if (class->columns == NULL) {
        return p->schema->fieldCount == 0;
    }
    for (int i = 0; i < p->schema->fieldCount; i = following(p->schema, i)) {
        if (!fits(p, class, i)) {
            return false;
        }
    }
    for (int i = 0; i < p->schema->fieldCount; i = following(p->schema, i)) {
        const Slot *slot = &p->slots[i];
        if (!slot->used || slot->null) {
            continue;
        }
        if (slot->type >= ETW_PQ_TEXT) {
            EtwPqText(p->file, class->columns[i], p->texts.data + slot->at, slot->size);
        } else if (slot->type == ETW_PQ_DOUBLE) {
            double d;
            memcpy(&d, &slot->v, sizeof d);
            EtwPqDouble(p->file, class->columns[i], d);
        } else {
            EtwPqNumber(p->file, class->columns[i], slot->v);
        }
    }
    return true;
}

static void addProps(Parquet *p, const EtwEvent *event, const EtwSchema *schema)
{
    EtwText *json = &p->sink->scratch2;
    json->size = 0;
    EtwJsonProps(p->sink, event, schema, json, true);
    if (json->size > 2) {
        EtwPqText(p->file, p->props, json->data, json->size);
    }
}

static void addId(Parquet *p, EtwPqColumn *column, uint32_t id)
{
    if (id != ETW_NO_ID) {
        EtwPqNumber(p->file, column, id);
    }
}

static void addGuid(Parquet *p, EtwPqColumn *column, const uint8_t *bytes)
{
    EtwGuid guid;
    char text[ETW_GUID_TEXT];
    if (bytes == NULL) {
        return;
    }
    memcpy(guid.bytes, bytes, sizeof guid.bytes);
    if (!EtwGuidIsNull(&guid)) {
        EtwGuidFormat(&guid, text);
        EtwPqText(p->file, column, text, strlen(text));
    }
}

/* A name of the process or of an object may be invalid. */
static void addName(Parquet *p, EtwPqColumn *column, const char *name)
{
    if (name != NULL) {
        EtwText *valid = &p->sink->scratch;
        valid->size = 0;
        EtwTextUtf8(valid, (const uint8_t *)name, strlen(name));
        EtwPqText(p->file, column, valid->data, valid->size);
    }
}

static void addStack(Parquet *p, const EtwEvent *e)
{
    EtwText *text = &p->key;
    if (e->stack == NULL || e->stackCount == 0) {
        return;
    }
    text->size = 0;
    EtwJsonStack(e, text);
    EtwPqText(p->file, p->stack, text->data, text->size);
    if (p->frames != NULL) {
        text->size = 0;
        EtwJsonFrames(p->sink, e, text);
        EtwPqText(p->file, p->frames, text->data, text->size);
    }
}

static void addHeader(Parquet *p, const EtwEvent *e, const char *provider, const EtwSchema *schema)
{
    const char *event = EtwSinkEventName(schema);
    EtwPqNumber(p->file, p->time, (uint64_t)e->time);
    EtwPqText(p->file, p->provider, provider, strlen(provider));
    EtwPqText(p->file, p->event, event, strlen(event));
    EtwPqNumber(p->file, p->id, e->desc.id);
    EtwPqNumber(p->file, p->version, e->desc.version);
    EtwPqNumber(p->file, p->channel, e->desc.channel);
    EtwPqNumber(p->file, p->level, e->desc.level);
    EtwPqNumber(p->file, p->opcode, e->desc.opcode);
    EtwPqNumber(p->file, p->task, e->desc.task);
    EtwPqNumber(p->file, p->keyword, e->desc.keyword);
    addId(p, p->pid, e->pid);
    addId(p, p->tid, e->tid);
    EtwPqNumber(p->file, p->cpu, e->cpu);
    addGuid(p, p->activity, e->activity.bytes);
    addGuid(p, p->related, e->related);
    addName(p, p->process, e->process);
    addName(p, p->object, e->object);
    addStack(p, e);
}

static void parquetEvent(
        EtwSink *sink, const EtwEvent *event, const EtwSchema *schema, EtwText *out)
{
    Parquet *p = sink->own;
    char guid[ETW_GUID_TEXT];
    const char *provider = EtwSinkProvider(sink, event, schema, guid);
    p->out = out;
    addHeader(p, event, provider, schema);
    /* The name of a provider that is only known by its GUID has no address of its own. */
    bool named = provider != guid;
    if (schema == NULL || !decode(p, event, schema) ||
            !addFields(
                    p, named ? knownOf(p, event, provider)->class : classOf(p, event, provider))) {
        addProps(p, event, schema);
    }
    EtwPqRowEnd(p->file);
}

/* ---- Begin and end --------------------------------------------------------------------------- */

static EtwPqColumn *newColumn(Parquet *p, const char *name, EtwPqType type, bool required)
{
    return EtwPqAddColumn(p->file, name, type, required);
}

static void parquetInit(EtwSink *sink)
{
    Parquet *p = EtwAlloc(sizeof *p);
    p->sink = sink;
    sink->own = p;
}

static void parquetBegin(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    Parquet *p = sink->own;
    (void)source;
    p->out = out;
    p->file = EtwPqNew(writeBytes, p);
    p->time = newColumn(p, "time", ETW_PQ_TIME, true);
    p->provider = newColumn(p, "provider", ETW_PQ_TEXT, true);
    p->event = newColumn(p, "event", ETW_PQ_TEXT, true);
    p->id = newColumn(p, "id", ETW_PQ_INT, true);
    p->version = newColumn(p, "version", ETW_PQ_INT, true);
    p->channel = newColumn(p, "channel", ETW_PQ_INT, true);
    p->level = newColumn(p, "level", ETW_PQ_INT, true);
    p->opcode = newColumn(p, "opcode", ETW_PQ_INT, true);
    p->task = newColumn(p, "task", ETW_PQ_INT, true);
    p->keyword = newColumn(p, "keyword", ETW_PQ_UINT, true);
    p->pid = newColumn(p, "pid", ETW_PQ_INT, false);
    p->tid = newColumn(p, "tid", ETW_PQ_INT, false);
    p->cpu = newColumn(p, "cpu", ETW_PQ_INT, true);
    p->activity = newColumn(p, "activity", ETW_PQ_TEXT, false);
    p->related = newColumn(p, "related", ETW_PQ_TEXT, false);
    p->process = newColumn(p, "process", ETW_PQ_TEXT, false);
    p->object = newColumn(p, "object", ETW_PQ_TEXT, false);
    p->stack = newColumn(p, "stack", ETW_PQ_JSON, false);
    p->frames = sink->config.stacks ? newColumn(p, "frames", ETW_PQ_JSON, false) : NULL;
    p->props = newColumn(p, "props", ETW_PQ_JSON, false);
}

static void parquetEnd(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    Parquet *p = sink->own;
    char lost[24];
    snprintf(lost, sizeof lost, "%llu", source ? (unsigned long long)EtwSourceLost(source) : 0);
    p->out = out;
    EtwPqEnd(p->file, "etw.lost", lost);
}

static void freeClass(void *ctx, EtwTableNode *node)
{
    Class *class = (Class *)node;
    (void)ctx;
    EtwFree(class->key);
    EtwFree(class->columns);
    EtwFree(class);
}

static void freeKnown(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

static void freeName(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(((Name *)node)->text);
    EtwFree(node);
}

static void parquetFree(EtwSink *sink)
{
    Parquet *p = sink->own;
    if (p->file != NULL) {
        EtwPqFree(p->file);
    }
    EtwTableFree(&p->classes, freeClass);
    EtwTableFree(&p->known, freeKnown);
    EtwTableFree(&p->names, freeName);
    EtwFree(p->slots);
    EtwTextFree(&p->texts);
    EtwTextFree(&p->key);
    EtwFree(p);
}

const EtwSinkOps etwSinkParquet = {.init = parquetInit,
        .begin = parquetBegin,
        .event = parquetEvent,
        .end = parquetEnd,
        .free = parquetFree};
