/*
 * schema/eventinfo/event_info.c --
 *
 *	Reads TRACE_EVENT_INFO and EVENT_MAP_INFO (documented in Windows' tdh_types.h). Each offset
 *	is checked; a malformed description is ignored.
 */
#include "schema/eventinfo/event_info.h"
#include "base/unicode.h"
#include "schema/model/schema_int.h"
#include "schema/eventinfo/event_info_layout.h"
#include "schema/model/tdh_types.h"

enum { MAX_UNITS = 256 /* of a name, maximum */ };

/* ---- Strings --------------------------------------------------------------------------------- */

/*
 * The UTF-16 string at `offset`, up to its NUL, the end, or `most` units, without trailing blanks;
 * NULL: none. The limit matters when thousands of properties refer to the same text.
 */
static const uint8_t *stringAt(
        const uint8_t *data, size_t size, uint32_t offset, size_t most, size_t *unitsPtr)
{
    size_t units = 0;
    if (offset == 0 || offset >= size) {
        return NULL;
    }
    size_t capacity = (size - offset) / 2 < most ? (size - offset) / 2 : most;
    const uint8_t *text = data + offset;
    while (units < capacity && EtwLoad16(text + 2 * units) != 0) {
        units++;
    }
    while (units > 0 && EtwLoad16(text + 2 * (units - 1)) <= ' ') {
        units--;
    }
    *unitsPtr = units;
    return units != 0 ? text : NULL;
}

/* A copy of it in the definition; NULL: none. */
static const char *textAt(EtwProviderDef *def, const uint8_t *data, size_t size, uint32_t offset)
{
    size_t units;
    const uint8_t *text = stringAt(data, size, offset, MAX_UNITS, &units);
    return text ? EtwDefText16(def, text, units) : NULL;
}

static char *freeTextAt(const uint8_t *data, size_t size, uint32_t offset)
{
    EtwText out = {0};
    size_t units;
    const uint8_t *text = stringAt(data, size, offset, MAX_UNITS, &units);
    if (text != NULL) {
        EtwTextUtf16(&out, text, units);
    }
    EtwTextChar(&out, 0);
    return out.data;
}

/* ---- Fields ---------------------------------------------------------------------------------- */

typedef struct Info {
    const uint8_t *data;
    size_t size;
    uint32_t properties;
    EtwProviderDef *def;
    EtwMapFindProc *findMap;
    void *findCtx;
    bool missing;
    int count;
    EtwField fields[ETW_MAX_FIELDS];
    uint16_t fieldOf[ETW_MAX_FIELDS]; /* by property: index of its last field; UINT16_MAX: none */
} Info;

static const uint8_t *propertyAt(const Info *info, uint32_t index)
{
    return info->data + INFO_SIZE + (size_t)index * PROPERTY_SIZE;
}

static const EtwMap *mapOf(Info *info, uint32_t nameOffset)
{
    if (nameOffset == 0 || nameOffset >= info->size) {
        return NULL;
    }
    EtwGuid provider;
    memcpy(&provider, info->data + INFO_PROVIDER, sizeof provider);
    char *name = freeTextAt(info->data, info->size, nameOffset);
    const EtwMap *map = name[0] ? info->findMap(info->findCtx, &provider, name) : NULL;
    info->missing = info->missing || (map == NULL && name[0] != 0);
    EtwFree(name);
    return map;
}

/* Read a number, or the index of the field of another property. */
static bool amount(const Info *info, const uint8_t *at, bool byProperty, uint16_t *valuePtr)
{
    uint16_t v = EtwLoad16(at);
    if (byProperty && (v >= info->properties || info->fieldOf[v] == UINT16_MAX)) {
        return false;
    }
    *valuePtr = byProperty ? info->fieldOf[v] : v;
    return true;
}

static bool setArray(const Info *info, const uint8_t *p, uint32_t flags, EtwField *f)
{
    bool by = (flags & PROPERTY_COUNT_BY) != 0;
    if (!amount(info, p + 16, by, &f->count)) {
        return false;
    }
    f->array = by                                                    ? ETW_ARRAY_BY_FIELD
               : f->count > 1 || (flags & PROPERTY_FIXED_COUNT) != 0 ? ETW_ARRAY_FIXED
                                                                     : ETW_SCALAR;
    return true;
}

static bool setType(Info *info, const uint8_t *p, uint32_t flags, EtwField *f)
{
    bool by = (flags & PROPERTY_LENGTH_BY) != 0;
    if (!amount(info, p + 18, by, &f->length)) {
        return false;
    }
    f->map = mapOf(info, EtwLoad32(p + 12));
    return EtwTdhField(f, EtwLoad16(p + 8), EtwLoad16(p + 10),
            by               ? ETW_TDH_LENGTH_BY_FIELD
            : f->length != 0 ? ETW_TDH_LENGTH
                             : ETW_TDH_NO_LENGTH);
}

static bool addProperties(Info *info, uint32_t first, uint32_t count, int depth);

/* Add a property, and the members of a struct. Depth and number of fields are limited. */
static bool addProperty(Info *info, uint32_t index, int depth)
{
    if (index >= info->properties || info->count == ETW_MAX_FIELDS || depth > ETW_MAX_DEPTH) {
        return false;
    }
    const uint8_t *p = propertyAt(info, index);
    uint32_t flags = EtwLoad32(p);
    EtwField *f = &info->fields[info->count];
    const char *name = textAt(info->def, info->data, info->size, EtwLoad32(p + 4));
    *f = (EtwField){.name = name ? name : ""};
    f->tag = (flags & PROPERTY_TAGS) != 0 ? EtwLoad32(p + 20) : 0;
    if (!setArray(info, p, flags, f)) {
        return false;
    }
    info->fieldOf[index] = (uint16_t)info->count++;
    if ((flags & PROPERTY_STRUCT) == 0) {
        return setType(info, p, flags, f);
    }
    f->in = ETW_IN_STRUCT;
    f->members = EtwLoad16(p + 10);
    return addProperties(info, EtwLoad16(p + 8), f->members, depth + 1);
}

static bool addProperties(Info *info, uint32_t first, uint32_t count, int depth)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!addProperty(info, first + i, depth)) {
            return false;
        }
    }
    return true;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static EtwDescriptor descriptorAt(const uint8_t *at)
{
    return (EtwDescriptor){.id = EtwLoad16(at),
            .version = at[2],
            .channel = at[3],
            .level = at[4],
            .opcode = at[5],
            .task = EtwLoad16(at + 6),
            .keyword = EtwLoad64(at + 8)};
}

bool EtwEventInfoKeyOf(const uint8_t *info, size_t size, EtwEventInfoKey *key)
{
    uint32_t source = size >= INFO_SIZE ? EtwLoad32(info + INFO_SOURCE) : UINT32_MAX;
    if (source > SOURCE_WPP) {
        return false;
    }
    EtwDescriptor desc = descriptorAt(info + INFO_DESCRIPTOR);
    key->classic = source == SOURCE_WBEM;
    memcpy(&key->guid, info + (source == SOURCE_XML ? INFO_PROVIDER : INFO_EVENT),
            sizeof key->guid);
    key->code = key->classic ? desc.opcode : desc.id;
    key->version = desc.version;
    return true;
}

static const char *infoText(const Info *info, size_t field)
{
    return textAt(info->def, info->data, info->size, EtwLoad32(info->data + field));
}

static const char *messageOf(const Info *info)
{
    size_t units;
    const uint8_t *text = stringAt(
            info->data, info->size, EtwLoad32(info->data + INFO_MESSAGE), info->size, &units);
    return text ? EtwDefText16(info->def, text, units) : NULL;
}

static void addName(const Info *info, EtwNameKind kind, uint64_t value, size_t field)
{
    EtwNamed named = {.value = value, .name = infoText(info, field)};
    if (named.name != NULL) {
        EtwDefName(info->def, kind, &named);
    }
}

static bool addEvent(Info *info)
{
    EtwDescriptor desc = descriptorAt(info->data + INFO_DESCRIPTOR);
    EtwEventDef *event = EtwDefEvent(info->def, &desc, info->fields, info->count);
    if (event == NULL) {
        return false;
    }
    event->schema.task = infoText(info, INFO_TASK_NAME);
    event->schema.opcode = infoText(info, INFO_OPCODE_NAME);
    event->schema.message = messageOf(info);
    if (EtwLoad32(info->data + INFO_SOURCE) == SOURCE_WPP) {
        event->schema.style = ETW_MESSAGE_WPP;
    }
    if (!info->def->classic) {
        const char *name = infoText(info, INFO_EVENT_NAME);
        event->schema.event = name ? name : "";
    }
    addName(info, ETW_NAME_LEVEL, desc.level, INFO_LEVEL_NAME);
    addName(info, ETW_NAME_CHANNEL, desc.channel, INFO_CHANNEL_NAME);
    return true;
}

EtwProviderDef *EtwEventInfoParse(
        const uint8_t *data, size_t size, EtwMapFindProc *findMap, void *ctx, bool *missingPtr)
{
    EtwEventInfoKey key;
    *missingPtr = false;
    if (!EtwEventInfoKeyOf(data, size, &key)) {
        return NULL;
    }
    uint32_t properties = EtwLoad32(data + INFO_PROPERTIES), top = EtwLoad32(data + INFO_TOP_LEVEL);
    if (properties > ETW_MAX_FIELDS || top > properties ||
            properties > (size - INFO_SIZE) / PROPERTY_SIZE) {
        return NULL;
    }
    char *name = freeTextAt(data, size, EtwLoad32(data + INFO_PROVIDER_NAME));
    Info *info = EtwAlloc(sizeof *info);
    *info = (Info){.data = data, .size = size, .properties = properties, .findMap = findMap};
    info->findCtx = ctx;
    info->def = EtwDefNew(&key.guid, name, ETW_ORIGIN_METADATA, "");
    info->def->classic = key.classic;
    memset(info->fieldOf, 0xFF, sizeof info->fieldOf);
    EtwProviderDef *def = info->def;
    if (addProperties(info, 0, top, 0) && addEvent(info)) {
        EtwDefFinish(def);
        *missingPtr = info->missing;
    } else {
        EtwDefFree(def);
        def = NULL;
    }
    EtwFree(info);
    EtwFree(name);
    return def;
}

/* ---- Maps ------------------------------------------------------------------------------------ */

const EtwMap *EtwMapInfoParse(
        EtwProviderDef *holder, const uint8_t *record, size_t size, const char **namePtr)
{
    if (size < sizeof(EtwGuid) + MAP_HEADER) {
        return NULL;
    }
    const uint8_t *map = record + sizeof(EtwGuid);
    size -= sizeof(EtwGuid);
    uint32_t flags = EtwLoad32(map + 4), count = EtwLoad32(map + 8), kept = 0;
    bool bits = (flags & (MAP_BITMAP | MAP_WBEM_BITMAP | MAP_WBEM_FLAG)) != 0;
    *namePtr = textAt(holder, map, size, EtwLoad32(map));
    if (*namePtr == NULL || (flags & MAP_PATTERN) != 0 || EtwLoad32(map + 12) != 0 ||
            count > (size - MAP_HEADER) / MAP_ENTRY) {
        return NULL;
    }
    EtwMapEntry *entries = EtwAlloc(sizeof *entries * ((size_t)count + 1));
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *entry = map + MAP_HEADER + (size_t)i * MAP_ENTRY;
        const char *name = textAt(holder, map, size, EtwLoad32(entry));
        bool byPlace = (flags & MAP_WBEM_NO_MAP) != 0;
        uint64_t place = bits ? (i < 64 ? 1ull << i : 0) : i;
        if (name != NULL) {
            entries[kept++] = (EtwMapEntry){byPlace ? place : EtwLoad32(entry + 4), name};
        }
    }
    const EtwMap *made = EtwDefMap(holder, *namePtr, entries, (int)kept, bits);
    EtwFree(entries);
    return made;
}
