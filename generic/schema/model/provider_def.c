/*
 * schema/model/provider_def.c --
 *
 *	Definitions of providers: building, finishing and querying them. manifest.c, event_info.c,
 *	mof.c, tmf.c, kernel_classes.c and catalog_file.c parse the sources.
 */
#include "schema/model/schema_int.h"
#include "schema/model/canonical_name.h"
#include "base/unicode.h"
#include "base/arena.h"
#include <stdlib.h>

/* State while building; EtwProviderDef must be first. */
typedef struct Builder {
    EtwProviderDef def;
    EtwArena arena;
    EtwText events;                /* EtwEventDef * */
    EtwText names[ETW_NAME_KINDS]; /* EtwNamed */
    EtwText maps;                  /* EtwNamedMap * */
} Builder;

static Builder *builderOf(EtwProviderDef *def)
{
    return (Builder *)def;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

void *EtwDefAlloc(EtwProviderDef *def, size_t size)
{
    EtwArena *arena = &builderOf(def)->arena;
    size_t before = arena->bytes;
    void *p = EtwArenaAlloc(arena, size, 16);
    def->bytes += arena->bytes - before;
    return p;
}

static const char *keepText(EtwProviderDef *def, EtwText *text)
{
    char *kept = EtwDefAlloc(def, text->size + 1);
    if (text->size != 0) {
        memcpy(kept, text->data, text->size);
    }
    EtwTextFree(text);
    return kept;
}

const char *EtwDefText(EtwProviderDef *def, const void *utf8, size_t size)
{
    EtwText text = {0};
    EtwTextUtf8(&text, utf8, size);
    return keepText(def, &text);
}

const char *EtwDefText16(EtwProviderDef *def, const uint8_t *utf16, size_t units)
{
    EtwText text = {0};
    EtwTextUtf16(&text, utf16, units);
    return keepText(def, &text);
}

EtwProviderDef *EtwDefNew(const EtwGuid *guid, const char *name, EtwOrigin origin, const char *from)
{
    Builder *b = EtwAlloc(sizeof *b);
    b->def.guid = *guid;
    b->def.origin = origin;
    b->def.bytes = sizeof *b;
    b->def.name = EtwDefText(&b->def, name, strlen(name));
    b->def.from = EtwDefText(&b->def, from, strlen(from));
    return &b->def;
}

void EtwDefFree(EtwProviderDef *def)
{
    if (def == NULL) {
        return;
    }
    Builder *b = builderOf(def);
    for (int i = 0; i < def->eventCount; i++) {
        EtwFree(def->events[i]->schema.semantics);
    }
    EtwArenaFree(&b->arena);
    EtwTextFree(&b->events);
    EtwTextFree(&b->maps);
    for (int kind = 0; kind < ETW_NAME_KINDS; kind++) {
        EtwTextFree(&b->names[kind]);
    }
    EtwFree(b);
}

/* ---- Parts ----------------------------------------------------------------------------------- */

void EtwDefName(EtwProviderDef *def, EtwNameKind kind, const EtwNamed *named)
{
    EtwTextAdd(&builderOf(def)->names[kind], named, sizeof *named);
}

static int byEntryValue(const void *a, const void *b)
{
    uint64_t x = ((const EtwMapEntry *)a)->value, y = ((const EtwMapEntry *)b)->value;
    return (x > y) - (x < y);
}

const EtwMap *EtwDefFindMap(const EtwProviderDef *def, const char *name)
{
    for (int i = def->mapCount - 1; i >= 0; i--) {
        if (strcmp(def->maps[i]->name, name) == 0) {
            return &def->maps[i]->map;
        }
    }
    return NULL;
}

const EtwMap *EtwDefMap(
        EtwProviderDef *def, const char *name, const EtwMapEntry *entries, int count, bool bits)
{
    Builder *b = builderOf(def);
    EtwNamedMap *named = EtwDefAlloc(def, sizeof *named);
    EtwMapEntry *own = EtwDefAlloc(def, sizeof *own * (size_t)(count ? count : 1));
    if (count != 0) {
        memcpy(own, entries, sizeof *own * (size_t)count);
        qsort(own, (size_t)count, sizeof *own, byEntryValue);
    }
    named->name = EtwDefText(def, name, strlen(name));
    named->map = (EtwMap){own, count, bits};
    EtwTextAdd(&b->maps, &named, sizeof named);
    def->maps = (const EtwNamedMap **)(void *)b->maps.data;
    def->mapCount++;
    return &named->map;
}

/*
 * Manifests of .NET's runtimes declare a stack of two addresses, although FrameCount contains the
 * number.
 */
static void correctStack(EtwField *fields, int count)
{
    if (count < 2) {
        return;
    }
    EtwField *stack = fields + count - 1, *counter = stack - 1;
    if (stack->in == ETW_IN_POINTER && stack->array == ETW_ARRAY_FIXED && stack->count == 2 &&
            counter->in == ETW_IN_UINT32 && strcmp(counter->name, "FrameCount") == 0 &&
            strcmp(stack->name, "Stack") == 0) {
        stack->array = ETW_ARRAY_BY_FIELD;
        stack->count = (uint16_t)(count - 2);
    }
}

typedef struct OwnFields {
    EtwProviderDef *def;
    EtwField *fields;
} OwnFields;

static void renameField(void *ctx, int index, const char *name)
{
    OwnFields *own = ctx;
    own->fields[index].name = EtwDefText(own->def, name, strlen(name));
}

EtwEventDef *EtwDefEvent(
        EtwProviderDef *def, const EtwDescriptor *desc, const EtwField *fields, int count)
{
    if (count > ETW_MAX_FIELDS) {
        return NULL;
    }
    EtwEventDef *event = EtwDefAlloc(def, sizeof *event);
    EtwField *own = EtwDefAlloc(def, sizeof *own * (size_t)(count ? count : 1));
    if (count != 0) {
        memcpy(own, fields, sizeof *own * (size_t)count);
        correctStack(own, count);
    }
    if (!EtwFieldsFinish(own, count)) {
        return NULL;
    }
    EtwFieldsDistinct(own, count, renameField, &(OwnFields){def, own});
    event->desc = *desc;
    event->schema = (EtwSchema){.provider = def->name,
            .event = "",
            .fields = own,
            .fieldCount = count,
            .origin = (uint8_t)def->origin,
            .version = desc->version,
            .def = def};
    EtwTextAdd(&builderOf(def)->events, &event, sizeof event);
    return event;
}

/* ---- Finishing ------------------------------------------------------------------------------- */

static uint32_t keyOf(const EtwEventDef *event)
{
    return event->schema.def->classic ? event->desc.opcode : event->desc.id;
}

/* By id or opcode and version. */
static int byKey(const void *a, const void *b)
{
    const EtwEventDef *x = *(EtwEventDef *const *)a, *y = *(EtwEventDef *const *)b;
    uint32_t kx = keyOf(x), ky = keyOf(y);
    return kx != ky ? (kx > ky) - (kx < ky)
                    : (x->desc.version > y->desc.version) - (x->desc.version < y->desc.version);
}

static int byNamedValue(const void *a, const void *b)
{
    const EtwNamed *x = a, *y = b;
    return x->value != y->value ? (x->value > y->value) - (x->value < y->value)
                                : (x->task > y->task) - (x->task < y->task);
}

/* A stable sort of arrays of any element size (qsort is not stable). */
static void sortStably(void *data, size_t count, size_t size,
        int (*compare)(const void *, const void *), void *scratch)
{
    uint8_t *from = data, *to = scratch;
    for (size_t run = 1; run < count; run *= 2) {
        for (size_t at = 0; at < count; at += 2 * run) {
            size_t a = at, aEnd = at + run < count ? at + run : count;
            size_t b = aEnd, bEnd = b + run < count ? b + run : count;
            for (size_t i = at; i < bEnd; i++) {
                bool left =
                        b == bEnd || (a < aEnd && compare(from + a * size, from + b * size) <= 0);
                memcpy(to + i * size, from + (left ? a++ : b++) * size, size);
            }
        }
        uint8_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != data && count != 0) {
        memcpy(data, from, count * size);
    }
}

/* Sort *list and remove duplicates: the first or the last one is kept. Returns the count. */
static int sortUnique(
        EtwText *list, size_t size, int (*compare)(const void *, const void *), bool lastWins)
{
    size_t count = list->size / size, kept = 0;
    uint8_t *data = (uint8_t *)list->data;
    void *scratch = EtwAlloc(list->size + 1);
    sortStably(data, count, size, compare, scratch);
    EtwFree(scratch);
    for (size_t i = 0; i < count; i++) {
        bool same = kept != 0 && compare(data + (kept - 1) * size, data + i * size) == 0;
        if (!same) {
            memmove(data + kept++ * size, data + i * size, size);
        } else if (lastWins) {
            memmove(data + (kept - 1) * size, data + i * size, size);
        }
    }
    list->size = kept * size;
    return (int)kept;
}

static const char *canonical(EtwProviderDef *def, const char *name)
{
    size_t size = name ? strlen(name) : 0;
    if (name == NULL || EtwNameIsCanonical(name, size)) {
        return name;
    }
    EtwText text = {0};
    EtwAddCanonicalName(&text, name, size);
    return keepText(def, &text);
}

static void canonicalNames(EtwProviderDef *def, EtwNameKind kind)
{
    EtwNamed *names = (EtwNamed *)(void *)builderOf(def)->names[kind].data;
    for (int i = 0; i < def->nameCount[kind]; i++) {
        names[i].name = canonical(def, names[i].name);
    }
}

/* The name "Task", "Task/Opcode", the symbol, or "Event(12)". */
static const char *composeName(EtwProviderDef *def, const EtwEventDef *event)
{
    const char *task = event->schema.task, *opcode = event->schema.opcode;
    EtwText text = {0};
    if (task != NULL) {
        EtwTextStr(&text, task);
        if (opcode != NULL && event->desc.opcode != 0) {
            EtwTextChar(&text, '/');
            EtwTextStr(&text, opcode);
        }
    } else if (event->symbol != NULL) {
        EtwTextStr(&text, event->symbol);
    } else if (def->classic && opcode != NULL) {
        EtwTextStr(&text, opcode);
    } else {
        EtwTextPrintf(&text, def->classic ? "Opcode(%u)" : "Event(%u)", (unsigned)keyOf(event));
    }
    return keepText(def, &text);
}

static void nameEvent(EtwProviderDef *def, EtwEventDef *event)
{
    EtwSchema *s = &event->schema;
    if (s->task == NULL && event->desc.task != 0) {
        s->task = EtwDefNameOf(def, ETW_NAME_TASK, event->desc.task, 0);
    }
    if (s->opcode == NULL) {
        s->opcode = EtwDefNameOf(def, ETW_NAME_OPCODE, event->desc.opcode, event->desc.task);
    }
    if (def->origin != ETW_ORIGIN_TMF) { /* there they are names of flags and functions */
        s->task = canonical(def, s->task);
        s->opcode = canonical(def, s->opcode);
        s->event = canonical(def, s->event);
    }
    if (s->event[0] == 0) {
        s->event = composeName(def, event);
    }
}

void EtwDefFinish(EtwProviderDef *def)
{
    Builder *b = builderOf(def);
    for (int kind = 0; kind < ETW_NAME_KINDS; kind++) {
        def->nameCount[kind] = sortUnique(&b->names[kind], sizeof(EtwNamed), byNamedValue, false);
        def->names[kind] = (const EtwNamed *)(void *)b->names[kind].data;
        if (kind != ETW_NAME_CHANNEL) { /* "Windows PowerShell" is a channel's name */
            canonicalNames(def, (EtwNameKind)kind);
        }
    }
    def->eventCount = sortUnique(&b->events, sizeof(EtwEventDef *), byKey, true);
    def->events = (const EtwEventDef **)(void *)b->events.data;
    for (int i = 0; i < def->eventCount; i++) {
        nameEvent(def, ((EtwEventDef **)(void *)b->events.data)[i]);
    }
}

/* ---- Queries --------------------------------------------------------------------------------- */

const EtwEventDef *EtwDefFind(const EtwProviderDef *def, uint32_t idOrOpcode, uint32_t version)
{
    int low = 0, high = def->eventCount; /* first event after the requested one */
    while (low < high) {
        int mid = low + (high - low) / 2;
        const EtwEventDef *e = def->events[mid];
        uint32_t key = keyOf(e);
        if (key < idOrOpcode || (key == idOrOpcode && e->desc.version <= version)) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    if (low > 0 && keyOf(def->events[low - 1]) == idOrOpcode) {
        return def->events[low - 1];
    }
    return low < def->eventCount && keyOf(def->events[low]) == idOrOpcode ? def->events[low] : NULL;
}

const char *EtwOriginName(EtwOrigin origin)
{
    static const char *const names[ETW_ORIGIN_COUNT] = {
            "builtin", "self", "stream", "metadata", "manifest", "mof", "tmf", "kernel", "catalog"};
    return origin < ETW_ORIGIN_COUNT ? names[origin] : "";
}

const char *EtwStandardName(EtwNameKind kind, uint64_t value)
{
    static const char *const levels[] = {
            NULL, "Critical", "Error", "Warning", "Information", "Verbose"};
    static const char *const opcodes[] = {"Info", "Start", "Stop", "DCStart", "DCStop", "Extension",
            "Reply", "Resume", "Suspend", "Send"};
    if (kind == ETW_NAME_LEVEL && value < sizeof levels / sizeof *levels) {
        return levels[value];
    }
    if (kind == ETW_NAME_OPCODE) {
        return value < sizeof opcodes / sizeof *opcodes ? opcodes[value]
               : value == 240                           ? "Receive"
                                                        : NULL;
    }
    return NULL;
}

const char *EtwDefNameOf(const EtwProviderDef *def, EtwNameKind kind, uint64_t value, uint16_t task)
{
    const EtwNamed *names = def->names[kind], *general = NULL;
    int low = 0, high = def->nameCount[kind];
    while (low < high) {
        int mid = low + (high - low) / 2;
        if (names[mid].value < value) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    for (; low < def->nameCount[kind] && names[low].value == value; low++) {
        if (names[low].task == task) {
            return names[low].name;
        }
        general = names[low].task == 0 ? &names[low] : general;
    }
    return general ? general->name : EtwStandardName(kind, value);
}
