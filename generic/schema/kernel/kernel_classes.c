/*
 * schema/kernel/kernel_classes.c --
 *
 *	Layouts of Windows' kernel events. The tables (kernel_tables.h) are text, which is converted
 *	to definitions at the first kernel event. An event's layout is then found by its class,
 *	opcode and version, and, if a version had two layouts, by the payload's size.
 *
 *	Notation of a row's fields: NAME:TYPE, separated by blanks. Types are the words of `types`
 *	below; "skip8" skips 8 bytes, "skipptr" a pointer. The type may be followed by [8] (number
 *	of elements), [Count] (the number in that field) or [*] (to the payload's end), and ;Map
 *	(names of its values, kernel_maps.c).
 */
#include "schema/kernel/kernel_classes.h"
#include "schema/model/decode.h"
#include "schema/model/schema_int.h"
#include "schema/kernel/kernel_tables.h"
#include <stdatomic.h>
#include <stdlib.h>

enum { OPCODES = 256, SLOTS = 256, KIND_FULL32 = 10, KIND_FULL64 = 20 };

/* One layout of an event. */
typedef struct Layout {
    const EtwSchema *schema;
    uint32_t fixed[2]; /* size of its fixed-size fields, with 4- and 8-byte pointers */
    bool variable;     /* it has other fields */
} Layout;

typedef struct Class {
    EtwProviderDef *def;
    Layout *layouts; /* in the definition's memory; by opcode, then version, then position in the
                        tables */
    uint16_t first[OPCODES + 1];
} Class;

typedef struct Tables {
    Class *classes; /* by name */
    int count;
    uint8_t slots
            [SLOTS]; /* by a hash of the GUID, linear probing: 1 + index of the class; 0: free */
} Tables;

/* Created once and kept; the first thread that publishes it wins. */
static _Atomic(Tables *) tables;

/* ---- The notation of the tables -------------------------------------------------------------- */

typedef struct Type {
    const char *name;
    uint8_t in, out;
    uint8_t size; /* bytes; 0: variable; POINTER: size of a pointer */
} Type;
enum { POINTER = 255, LAYOUTS_OF_ROW = 64, FIELDS_OF_ROW = 96, MAP_VALUES = 64 };

static const Type types[] = {
        {"u8", ETW_IN_UINT8, 0, 1},
        {"s8", ETW_IN_INT8, 0, 1},
        {"x8", ETW_IN_UINT8, ETW_OUT_HEX, 1},
        {"b8", ETW_IN_UINT8, ETW_OUT_BOOL, 1},
        {"c8", ETW_IN_UINT8, ETW_OUT_STRING, 1},
        {"u16", ETW_IN_UINT16, 0, 2},
        {"s16", ETW_IN_INT16, 0, 2},
        {"x16", ETW_IN_UINT16, ETW_OUT_HEX, 2},
        {"c16", ETW_IN_UINT16, ETW_OUT_STRING, 2},
        {"port", ETW_IN_UINT16, ETW_OUT_PORT, 2},
        {"u32", ETW_IN_UINT32, 0, 4},
        {"s32", ETW_IN_INT32, 0, 4},
        {"x32", ETW_IN_HEX32, 0, 4},
        {"pid", ETW_IN_UINT32, ETW_OUT_PID, 4},
        {"tid", ETW_IN_UINT32, ETW_OUT_TID, 4},
        {"nts", ETW_IN_UINT32, ETW_OUT_NTSTATUS, 4},
        {"ip4", ETW_IN_UINT32, ETW_OUT_IPV4, 4},
        {"u64", ETW_IN_UINT64, 0, 8},
        {"s64", ETW_IN_INT64, 0, 8},
        {"x64", ETW_IN_HEX64, 0, 8},
        {"time", ETW_IN_FILETIME, 0, 8},
        {"ptr", ETW_IN_POINTER, 0, POINTER},
        {"code", ETW_IN_POINTER, ETW_OUT_CODE_POINTER, POINTER},
        {"size", ETW_IN_POINTER, ETW_OUT_UNSIGNED, POINTER},
        {"skipptr", ETW_IN_SKIP, ETW_OUT_NOPRINT, POINTER},
        {"guid", ETW_IN_GUID, 0, 16},
        {"ip6", ETW_IN_BINARY, ETW_OUT_IPV6, 16}, /* size set when parsed */
        {"mac", ETW_IN_BINARY, ETW_OUT_MAC, 8},   /* the same */
        {"raw", ETW_IN_BINARY, 0, 0},             /* size set when parsed: the rest */
        {"sid", ETW_IN_WBEM_SID, 0, 0},
        {"astr", ETW_IN_ANSIZ, 0, 0},
        {"ustr", ETW_IN_ANSIZ, ETW_OUT_UTF8, 0},
        {"wstr", ETW_IN_UTF16Z, 0, 0},
};

static bool isWord(const char *text, size_t size, const char *word)
{
    return strlen(word) == size && memcmp(text, word, size) == 0;
}

static const Type *findType(const char *name, size_t size)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (isWord(name, size, types[i].name)) {
            return &types[i];
        }
    }
    return NULL;
}

/* Parse the next "NUMBER NAME" of a comma-separated list. False: end of the list. */
static bool nextNamed(
        const char **at, unsigned long long *valuePtr, const char **namePtr, size_t *sizePtr)
{
    char *end;
    while (**at == ',' || **at == ' ') {
        ++*at;
    }
    if (**at == 0) {
        return false;
    }
    *valuePtr = strtoull(*at, &end, 0);
    *namePtr = end + (*end == ' ');
    *sizePtr = strcspn(*namePtr, ",");
    *at = *namePtr + *sizePtr;
    return true;
}

static const EtwMap *mapNamed(EtwProviderDef *def, const char *name, size_t size)
{
    const EtwKernelMap *map = etwKernelMaps;
    EtwMapEntry entries[MAP_VALUES];
    int count = 0;
    unsigned long long value;
    const char *text, *valueName;
    size_t valueSize;
    while (map->name != NULL && !isWord(name, size, map->name)) {
        map++;
    }
    if (map->name == NULL || EtwDefFindMap(def, map->name) != NULL) {
        return map->name ? EtwDefFindMap(def, map->name) : NULL;
    }
    text = map->values;
    while (count < MAP_VALUES && nextNamed(&text, &value, &valueName, &valueSize)) {
        entries[count++] = (EtwMapEntry){value, EtwDefText(def, valueName, valueSize)};
    }
    return EtwDefMap(def, map->name, entries, count, map->bits);
}

static uint16_t fieldNamed(const EtwField *fields, int count, const char *name, size_t size)
{
    int i = 0;
    while (i < count && !isWord(name, size, fields[i].name)) {
        i++;
    }
    return (uint16_t)i; /* if not found: count, which EtwDefEvent rejects */
}

/* Parse the brackets after a type. */
static void setArray(EtwField *f, const EtwField *fields, int before, const char *text, size_t size)
{
    if (size == 1 && *text == '*') {
        f->array = ETW_ARRAY_REST;
    } else if (*text >= '0' && *text <= '9') {
        f->array = ETW_ARRAY_FIXED;
        f->count = (uint16_t)strtoul(text, NULL, 10);
    } else {
        f->array = ETW_ARRAY_BY_FIELD;
        f->count = fieldNamed(fields, before, text, size);
    }
}

/* Parse one NAME:TYPE..., and add its size to the layout's. */
static bool parseField(EtwProviderDef *def, EtwField *fields, int before, const char *text,
        size_t size, Layout *layout)
{
    EtwField *f = &fields[before];
    const char *type = memchr(text, ':', size), *end = text + size;
    if (type == NULL) {
        return false;
    }
    size_t typeSize = strcspn(++type, "[; ");
    const Type *t = findType(type, typeSize);
    unsigned bytes = t ? t->size : 0;
    *f = (EtwField){.name = EtwDefText(def, text, (size_t)(type - 1 - text))};
    if (t != NULL) {
        f->in = t->in;
        f->out = t->out;
    } else if (memcmp(type, "skip", 4) == 0) {
        f->in = ETW_IN_SKIP;
        f->out = ETW_OUT_NOPRINT;
        bytes = f->length = (uint16_t)strtoul(type + 4, NULL, 10);
    }
    if (f->in == ETW_IN_BINARY) {
        f->sized = bytes ? ETW_SIZE_FIXED : ETW_SIZE_REST;
        f->length = (uint16_t)bytes;
    }
    type += typeSize;
    if (*type == '[') {
        size_t inside = strcspn(type + 1, "]");
        setArray(f, fields, before, type + 1, inside);
        type += inside + 2;
    }
    if (type < end && *type == ';') {
        f->map = mapNamed(def, type + 1, (size_t)(end - type - 1));
    }
    unsigned times = f->array == ETW_SCALAR ? 1 : f->array == ETW_ARRAY_FIXED ? f->count : 0;
    layout->variable |= bytes == 0 || times == 0;
    layout->fixed[0] += times * (bytes == POINTER ? 4 : bytes);
    layout->fixed[1] += times * (bytes == POINTER ? 8 : bytes);
    return t != NULL || f->in == ETW_IN_SKIP;
}

/* Parse the row's fields. -1: malformed. */
static int parseFields(EtwProviderDef *def, const char *text, EtwField *fields, Layout *layout)
{
    int count = 0;
    while (text != NULL && *text != 0) {
        size_t size = strcspn(text, " ");
        if (count == FIELDS_OF_ROW || !parseField(def, fields, count, text, size, layout)) {
            return -1;
        }
        count++;
        text += size;
        text += *text == ' ';
    }
    layout->variable |= text == NULL;
    return count;
}

/* ---- Creating the tables ---------------------------------------------------------------------- */

/* A class under construction. */
typedef struct Draft {
    EtwProviderDef *def;
    Layout *layouts;
    int count, capacity;
} Draft;

static void addLayout(Draft *d, const Layout *layout)
{
    if (d->count == d->capacity) {
        d->capacity = d->capacity ? 2 * d->capacity : 32;
        d->layouts = EtwRealloc(d->layouts, sizeof *d->layouts * (size_t)d->capacity);
    }
    d->layouts[d->count++] = *layout;
}

static void addEvents(Draft *d, const EtwKernelRow *row, uint8_t version, const EtwField *fields,
        int count, Layout layout)
{
    const char *at = row->events, *name;
    unsigned long long opcode;
    size_t size;
    while (nextNamed(&at, &opcode, &name, &size)) {
        EtwDescriptor desc = {.version = version, .opcode = (uint8_t)opcode};
        EtwEventDef *event = EtwDefEvent(d->def, &desc, fields, count);
        if (event != NULL) {
            event->schema.event = event->schema.opcode = EtwDefText(d->def, name, size);
            layout.schema = &event->schema;
            addLayout(d, &layout);
        }
    }
}

static void addRow(Draft *d, const EtwKernelRow *row)
{
    EtwField fields[FIELDS_OF_ROW];
    Layout layout = {0};
    int count = parseFields(d->def, row->fields, fields, &layout);
    const char *version = row->versions ? row->versions : "0";
    while (count >= 0 && *version != 0) {
        char *end;
        addEvents(d, row, (uint8_t)strtoul(version, &end, 10), fields, count, layout);
        version = end + (*end == ',');
    }
}

static int byOpcode(const EtwSchema *x, const EtwSchema *y)
{
    /*
     * The definition sorts its events in the same order. For equal ones the position in the tables
     * decides.
     */
    const EtwEventDef *a = EtwEventDefOf(x);
    const EtwEventDef *b = EtwEventDefOf(y);
    return a->desc.opcode != b->desc.opcode ? a->desc.opcode - b->desc.opcode
                                            : x->version - y->version;
}

static uint8_t opcodeOf(const Layout *layout)
{
    return EtwEventDefOf(layout->schema)->desc.opcode;
}

/* A stable sort, for a few hundred layouts at most. */
static void sortLayouts(Layout *layouts, int count)
{
    for (int i = 1; i < count; i++) {
        Layout moved = layouts[i];
        int at = i;
        while (at > 0 && byOpcode(layouts[at - 1].schema, moved.schema) > 0) {
            layouts[at] = layouts[at - 1];
            at--;
        }
        layouts[at] = moved;
    }
}

/* Of several layouts of an opcode and version, the definition lists the one that is tried first. */
static void listFirstLayouts(Draft *d)
{
    for (int i = 0, at = 0; i < d->def->eventCount; i++, at++) {
        while (byOpcode(d->layouts[at].schema, &d->def->events[i]->schema) < 0) {
            at++;
        }
        d->def->events[i] = EtwEventDefOf(d->layouts[at].schema);
    }
}

static void finishClass(Class *class, Draft *d)
{
    int at = 0;
    EtwDefFinish(d->def);
    sortLayouts(d->layouts, d->count);
    listFirstLayouts(d);
    class->def = d->def;
    class->layouts = EtwDefAlloc(d->def, sizeof *d->layouts * (size_t)(d->count + 1));
    if (d->count > 0) {
        memcpy(class->layouts, d->layouts, sizeof *d->layouts * (size_t)d->count);
    }
    EtwFree(d->layouts);
    for (int opcode = 0; opcode <= OPCODES; opcode++) {
        while (at < d->count && opcodeOf(&class->layouts[at]) < opcode) {
            at++;
        }
        class->first[opcode] = (uint16_t)at;
    }
}

/* Add the rows of the table's class with that GUID, if there is one. */
static void addRows(Draft *d, const EtwKernelClass *table, const char *guid)
{
    for (; table->name != NULL; table++) {
        for (int i = 0; strcmp(table->guid, guid) == 0 && i < table->rowCount; i++) {
            addRow(d, &table->rows[i]);
        }
    }
}

static bool isListed(const EtwKernelClass *table, const char *guid)
{
    while (table->name != NULL && strcmp(table->guid, guid) != 0) {
        table++;
    }
    return table->name != NULL;
}

static void makeClass(Tables *t, const EtwKernelClass *from)
{
    EtwGuid guid;
    EtwGuidParse(from->guid, &guid);
    Draft d = {.def = EtwDefNew(&guid, from->name, ETW_ORIGIN_KERNEL, "")};
    d.def->classic = true;
    addRows(&d, etwKernelRows, from->guid);
    addRows(&d, etwKernelTables, from->guid);
    finishClass(&t->classes[t->count++], &d);
}

static int byName(const void *a, const void *b)
{
    return strcmp(((const Class *)a)->def->name, ((const Class *)b)->def->name);
}

static inline size_t slotOf(const EtwGuid *guid)
{
    return EtwLoad32(guid->bytes) * 0x9E3779B1u >> 24;
}

static Tables *makeTables(void)
{
    Tables *t = EtwAlloc(sizeof *t);
    int count = 0;
    for (const EtwKernelClass *c = etwKernelTables; c->name != NULL; c++) {
        count++;
    }
    for (const EtwKernelClass *c = etwKernelRows; c->name != NULL; c++) {
        count++;
    }
    t->classes = EtwAlloc(sizeof *t->classes * (size_t)count);
    for (const EtwKernelClass *c = etwKernelTables; c->name != NULL; c++) {
        makeClass(t, c);
    }
    for (const EtwKernelClass *c = etwKernelRows; c->name != NULL; c++) {
        if (!isListed(etwKernelTables, c->guid)) {
            makeClass(t, c);
        }
    }
    qsort(t->classes, (size_t)t->count, sizeof *t->classes, byName);
    for (int i = 0; i < t->count; i++) {
        size_t slot = slotOf(&t->classes[i].def->guid);
        while (t->slots[slot] != 0) {
            slot = (slot + 1) % SLOTS;
        }
        t->slots[slot] = (uint8_t)(i + 1);
    }
    return t;
}

static void freeTables(Tables *t)
{
    for (int i = 0; i < t->count; i++) {
        EtwDefFree(t->classes[i].def);
    }
    EtwFree(t->classes);
    EtwFree(t);
}

static const Tables *getTables(void)
{
    /* Acquire: the published tables are complete. */
    Tables *t = atomic_load_explicit(&tables, memory_order_acquire), *none = NULL;
    if (t != NULL) {
        return t;
    }
    t = makeTables();
    if (atomic_compare_exchange_strong_explicit(
                &tables, &none, t, memory_order_acq_rel, memory_order_acquire)) {
        return t;
    }
    freeTables(t); /* another thread was faster */
    return none;
}

/* ---- Queries ---------------------------------------------------------------------------------- */

static inline const Class *findClass(const EtwGuid *guid)
{
    const Tables *t = getTables();
    for (size_t slot = slotOf(guid); t->slots[slot] != 0; slot = (slot + 1) % SLOTS) {
        const Class *class = &t->classes[t->slots[slot] - 1];
        if (EtwGuidEqual(&class->def->guid, guid)) {
            return class;
        }
    }
    return NULL;
}

const EtwProviderDef *EtwKernelFind(const EtwGuid *guid)
{
    const Class *class = findClass(guid);
    return class ? class->def : NULL;
}

void EtwKernelVisit(void (*visit)(void *ctx, const EtwProviderDef *def), void *ctx)
{
    const Tables *t = getTables();
    for (int i = 0; i < t->count; i++) {
        visit(ctx, t->classes[i].def);
    }
}

/* How well a payload matches: 2 exactly, 1 bytes are left, 0 too short. */
enum { FITS_NOT, FITS_BEGIN, FITS_WHOLE };

static void ignoreValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    (void)ctx, (void)field, (void)value;
}

static void noteRest(void *ctx, const uint8_t *data, size_t size)
{
    (void)data, (void)size;
    *(bool *)ctx = true;
}

/* A layout with variable fields is tried. */
static int fitOf(const Layout *l, const EtwEvent *event, int wide)
{
    static const EtwVisitor visitor = {.value = ignoreValue, .rest = noteRest};
    uint32_t fixed = l->fixed[wide], size = event->payloadSize;
    bool rest = false;
    if (size < fixed || !l->variable) {
        return size < fixed ? FITS_NOT : size == fixed ? FITS_WHOLE : FITS_BEGIN;
    }
    EtwEvent copy = *event;
    copy.pointerSize = wide ? 8 : 4;
    bool good = EtwDecode(l->schema, &copy, &visitor, &rest) == ETW_OK;
    return !good ? FITS_NOT : rest ? FITS_BEGIN : FITS_WHOLE;
}

/*
 * The layout of an opcode for this version (otherwise the nearest older, otherwise the nearest
 * newer one) and size.
 */
static const Layout *pickLayout(
        const Layout *first, const Layout *end, const EtwEvent *event, int wide)
{
    const Layout *best = first;
    uint8_t version = event->desc.version;
    for (const Layout *l = first + 1; l < end && l->schema->version <= version; l++) {
        bool newer = l->schema->version != best->schema->version;
        if (newer || fitOf(l, event, wide) > fitOf(best, event, wide)) {
            best = l;
        }
    }
    if (best->schema->version == version && !best->variable &&
            event->payloadSize != best->fixed[wide]) {
        /* Vista wrote some layouts with older version numbers */
        for (const Layout *l = first; l < end; l++) {
            if (!l->variable && fitOf(l, event, wide) == FITS_WHOLE) {
                return l;
            }
        }
    }
    return best;
}

static const Layout *layoutOf(const EtwEvent *event, uint8_t pointerSize)
{
    const Class *class = findClass(&event->provider);
    if (class == NULL) {
        return NULL;
    }
    const Layout *first = class->layouts + class->first[event->desc.opcode];
    const Layout *end = class->layouts + class->first[event->desc.opcode + 1];
    return first == end ? NULL : pickLayout(first, end, event, pointerSize != 4);
}

const EtwSchema *EtwKernelSchema(const EtwEvent *event)
{
    const Layout *layout = layoutOf(event, event->pointerSize);
    return layout ? layout->schema : NULL;
}

const char *EtwKernelClassName(const EtwGuid *guid)
{
    const Class *class = findClass(guid);
    return class ? class->def->name : NULL;
}

const char *EtwKernelClassAt(int index, EtwGuid *guid)
{
    const Tables *t = getTables();
    if (index >= t->count) {
        return NULL;
    }
    *guid = t->classes[index].def->guid;
    return t->classes[index].def->name;
}

/* ---- Size of a pointer ------------------------------------------------------------------------ */

/* The evidence against a pointer size, from a trial decoding. */
typedef struct Trial {
    bool bad;
} Trial;

/* A text with control characters is evidence. */
static void tryValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    Trial *trial = ctx;
    size_t unit = value->kind == ETW_V_TEXT16 ? 2 : 1;
    (void)field;
    for (size_t i = 0;
            (value->kind == ETW_V_TEXT16 || value->kind == ETW_V_TEXT) && i < value->size;
            i += unit) {
        unsigned c = unit == 2 ? EtwLoad16(value->data + i) : value->data[i];
        trial->bad |= c < 0x20;
    }
}

static void tryRest(void *ctx, const uint8_t *data, size_t size)
{
    (void)data, (void)size;
    ((Trial *)ctx)->bad = true;
}

static bool fitsWidth(const EtwEvent *event, uint8_t pointerSize)
{
    static const EtwVisitor visitor = {.value = tryValue, .rest = tryRest};
    const Layout *layout = layoutOf(event, pointerSize);
    EtwEvent copy = *event;
    Trial trial = {false};
    copy.pointerSize = pointerSize;
    return layout != NULL && EtwDecode(layout->schema, &copy, &visitor, &trial) == ETW_OK &&
           !trial.bad;
}

uint8_t EtwKernelPointerSize(const EtwEvent *event)
{
    uint8_t own = event->pointerSize, other = own == 4 ? 8 : 4;
    if (event->kind != KIND_FULL32 && event->kind != KIND_FULL64) {
        return own;
    }
    const Layout *layout = layoutOf(event, own);
    if (layout == NULL || layout->fixed[0] == layout->fixed[1]) {
        return own;
    }
    return !fitsWidth(event, own) && fitsWidth(event, other) ? other : own;
}
