/*
 * schema/eventinfo/event_info_build.c --
 *
 *	Converts definitions to TRACE_EVENT_INFO and EVENT_MAP_INFO, which
 *	schema/eventinfo/event_info.c reads. The properties of one level are contiguous; members of
 *	structs follow all properties of the levels above them, as in Windows' descriptions.
 */
#include "schema/model/schema_int.h"
#include "base/unicode.h"
#include "schema/model/text_defs.h"
#include "schema/eventinfo/event_info.h"
#include "schema/eventinfo/event_info_layout.h"
#include "schema/model/tdh_types.h"

typedef struct Builder {
    EtwText *out;
    const EtwEvent *event;
    const EtwSchema *schema;
    EtwMapInfoProc *useMap;
    void *ctx;
    int count;                            /* number of properties */
    uint16_t fieldOf[ETW_MAX_FIELDS];     /* by property */
    uint16_t propertyOf[ETW_MAX_FIELDS];  /* by field */
    uint16_t firstMember[ETW_MAX_FIELDS]; /* by property: of a struct */
} Builder;

/* ---- Texts ----------------------------------------------------------------------------------- */

/* Append the text in UTF-16 with its NUL. Returns its offset, 0: no text. */
static uint32_t putText(EtwText *out, const char *text)
{
    size_t at = out->size;
    if (text == NULL || text[0] == 0) {
        return 0;
    }
    EtwTextToUtf16(out, text, strlen(text));
    EtwTextAdd(out, "\0", 2);
    return (uint32_t)at;
}

static void setText(EtwText *out, size_t field, const char *text)
{
    uint32_t at = putText(out, text);
    EtwStore32(out->data + field, at);
}

static void putKeywords(Builder *b)
{
    const EtwProviderDef *def = b->schema->def;
    uint32_t first = 0;
    for (int i = 0; i < def->nameCount[ETW_NAME_KEYWORD]; i++) {
        const EtwNamed *named = &def->names[ETW_NAME_KEYWORD][i];
        if (named->value != 0 && (b->event->desc.keyword & named->value) == named->value) {
            uint32_t at = putText(b->out, named->name);
            first = first != 0 ? first : at;
        }
    }
    if (first != 0) {
        EtwTextAdd(b->out, "\0", 2);
        EtwStore32(b->out->data + INFO_KEYWORD_NAMES, first);
    }
}

static void putTexts(Builder *b)
{
    const EtwSchema *s = b->schema;
    const EtwDescriptor *desc = &b->event->desc;
    setText(b->out, INFO_PROVIDER_NAME, s->provider);
    setText(b->out, INFO_LEVEL_NAME, EtwDefNameOf(s->def, ETW_NAME_LEVEL, desc->level, 0));
    setText(b->out, INFO_CHANNEL_NAME, EtwDefNameOf(s->def, ETW_NAME_CHANNEL, desc->channel, 0));
    putKeywords(b);
    setText(b->out, INFO_TASK_NAME, s->task);
    setText(b->out, INFO_OPCODE_NAME, s->opcode);
    setText(b->out, INFO_MESSAGE, s->message);
    if (!s->def->classic) {
        setText(b->out, INFO_EVENT_NAME, s->event);
    }
}

/* ---- Properties ------------------------------------------------------------------------------ */

static void addLevel(Builder *b, int first, int end)
{
    for (int i = first; i < end; i += b->schema->fields[i].span) {
        b->fieldOf[b->count] = (uint16_t)i;
        b->propertyOf[i] = (uint16_t)b->count++;
    }
}

/* Assign a property to each field. Returns the number of fields that are not members. */
static int arrange(Builder *b)
{
    addLevel(b, 0, b->schema->fieldCount);
    int top = b->count;
    for (int p = 0; p < b->count; p++) {
        int i = b->fieldOf[p];
        if (b->schema->fields[i].in == ETW_IN_STRUCT) {
            b->firstMember[p] = (uint16_t)b->count;
            addLevel(b, i + 1, i + b->schema->fields[i].span);
        }
    }
    return top;
}

static uint32_t setAmounts(const Builder *b, const EtwField *f, uint8_t *p)
{
    uint32_t flags = 0;
    uint16_t count = f->array == ETW_SCALAR ? 1 : f->count;
    uint16_t length = f->sized == ETW_SIZE_OWN ? EtwFixedSize(f, b->event->pointerSize) : 0;
    if (f->array == ETW_ARRAY_BY_FIELD) {
        flags |= PROPERTY_COUNT_BY;
        count = b->propertyOf[f->count];
    } else if (f->array == ETW_ARRAY_FIXED) {
        flags |= PROPERTY_FIXED_COUNT;
    }
    if (f->sized == ETW_SIZE_BY_FIELD) {
        flags |= PROPERTY_LENGTH_BY;
        length = b->propertyOf[f->length];
    } else if (f->sized == ETW_SIZE_FIXED) {
        flags |= PROPERTY_FIXED_LENGTH;
        length = f->length;
    }
    EtwStore16(p + 16, count);
    EtwStore16(p + 18, length);
    return flags;
}

/* False: the property cannot be expressed. */
static bool setProperty(Builder *b, int index)
{
    size_t at = INFO_SIZE + (size_t)index * PROPERTY_SIZE;
    const EtwField *f = &b->schema->fields[b->fieldOf[index]];
    int in = 0, out = 0;
    uint32_t name = putText(b->out, f->name), map = 0;
    bool isStruct = f->in == ETW_IN_STRUCT;
    if (f->array != ETW_SCALAR && f->array != ETW_ARRAY_FIXED && f->array != ETW_ARRAY_BY_FIELD) {
        return false;
    }
    if (!isStruct && !EtwTdhTypes(f, &in, &out)) {
        return false;
    }
    if (f->map != NULL) {
        map = putText(b->out, b->useMap(b->ctx, b->schema, f));
    }
    uint8_t *p = (uint8_t *)b->out->data + at;
    EtwStore32(p, setAmounts(b, f, p) | (isStruct ? PROPERTY_STRUCT : 0) |
                          (f->tag != 0 ? PROPERTY_TAGS : 0));
    EtwStore32(p + 4, name);
    EtwStore16(p + 8, isStruct ? b->firstMember[index] : (uint16_t)in);
    EtwStore16(p + 10, isStruct ? f->members : (uint16_t)out);
    EtwStore32(p + 12, map);
    EtwStore32(p + 20, f->tag);
    return true;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void putDescriptor(const EtwDescriptor *desc, uint8_t *at)
{
    EtwStore16(at, desc->id);
    at[2] = desc->version;
    at[3] = desc->channel;
    at[4] = desc->level;
    at[5] = desc->opcode;
    EtwStore16(at + 6, desc->task);
    EtwStore64(at + 8, desc->keyword);
}

static void putHead(const Builder *b, int top)
{
    const EtwSchema *s = b->schema;
    uint8_t *at = (uint8_t *)b->out->data;
    memcpy(at + INFO_PROVIDER, &s->def->guid, sizeof(EtwGuid));
    memcpy(at + INFO_EVENT, &b->event->provider, sizeof(EtwGuid));
    EtwDescriptor desc = b->event->desc;
    if (s->style == ETW_MESSAGE_WPP) { /* a WPP record has no level */
        desc.level = EtwMessageLevel(s);
    }
    putDescriptor(&desc, at + INFO_DESCRIPTOR);
    EtwStore32(at + INFO_SOURCE, s->def->classic               ? SOURCE_WBEM
                                 : s->style == ETW_MESSAGE_WPP ? SOURCE_WPP
                                                               : SOURCE_XML);
    EtwStore32(at + INFO_PROPERTIES, (uint32_t)b->count);
    EtwStore32(at + INFO_TOP_LEVEL, (uint32_t)top);
}

bool EtwEventInfoBuild(const EtwEvent *event, const EtwSchema *schema, EtwMapInfoProc *useMap,
        void *ctx, EtwText *out)
{
    Builder *b = EtwAlloc(sizeof *b);
    bool good = schema->fieldCount <= ETW_MAX_FIELDS;
    *b = (Builder){.out = out, .event = event, .schema = schema, .useMap = useMap, .ctx = ctx};
    int top = good ? arrange(b) : 0;
    size_t fixed = INFO_SIZE + (size_t)b->count * PROPERTY_SIZE;
    out->size = 0;
    EtwTextReserve(out, fixed);
    memset(out->data, 0, fixed);
    out->size = fixed;
    putHead(b, top);
    putTexts(b);
    for (int i = 0; good && i < b->count; i++) {
        good = setProperty(b, i);
    }
    EtwFree(b);
    return good;
}

/* ---- Maps ------------------------------------------------------------------------------------ */

const char *EtwMapInfoName(const EtwSchema *schema, const EtwMap *map)
{
    const EtwProviderDef *def = schema->def;
    for (int i = 0; i < def->mapCount; i++) {
        if (&def->maps[i]->map == map) {
            return def->maps[i]->name;
        }
    }
    return NULL;
}

bool EtwMapInfoBuild(const EtwGuid *provider, const char *name, const EtwMap *map, EtwText *out)
{
    EtwText info = {0};
    size_t fixed = MAP_HEADER + (size_t)map->count * MAP_ENTRY;
    bool good = true;
    EtwTextReserve(&info, fixed);
    memset(info.data, 0, fixed);
    info.size = fixed;
    setText(&info, 0, name);
    EtwStore32(info.data + 4, map->bits ? MAP_BITMAP : MAP_VALUES);
    EtwStore32(info.data + 8, (uint32_t)map->count);
    for (int i = 0; i < map->count; i++) {
        size_t at = MAP_HEADER + (size_t)i * MAP_ENTRY;
        setText(&info, at, map->entries[i].name);
        EtwStore32(info.data + at + 4, (uint32_t)map->entries[i].value);
        good = good && map->entries[i].value <= UINT32_MAX;
    }
    out->size = 0;
    EtwTextAdd(out, provider, sizeof *provider);
    EtwTextAdd(out, info.data, info.size);
    EtwTextFree(&info);
    return good;
}
