/*
 * schema/mof/mof.c --
 *
 *	Converts MOF classes to definitions of classic providers. Windows' SDK documents the qualifiers ("Event Tracing MOF
 *	Qualifiers"): a class with a Guid is a provider or a class of events, one with EventType is an event (or several with
 *	the same fields), properties with WmiDataId are its fields in that order. Guid and EventVersion are inherited.
 *	mof_read.c parses the text.
 */
#include "schema/mof/mof.h"
#include "schema/model/schema_int.h"
#include <stdlib.h>

enum { MAX_DEPTH = 32 /* of inheritance */ };

typedef struct Provider {
    EtwTableNode node;
    EtwProviderDef *def;
    struct Provider *next;
} Provider;

typedef struct Maker {
    const Mof *mof;
    const char *from;
    EtwTable providers;
    Provider *first, **lastPtr;
    size_t budget; /* maximum number of fields to create: inheritance repeats them */
    EtwText entries;
    int events;
} Maker;

/* ---- Types ----------------------------------------------------------------------------------- */

typedef struct Type {
    const char *name;
    uint8_t in, out;
} Type;

static const Type types[] = {{"boolean", ETW_IN_BOOL32, 0}, {"sint8", ETW_IN_INT8, 0},
        {"uint8", ETW_IN_UINT8, 0}, {"sint16", ETW_IN_INT16, 0}, {"uint16", ETW_IN_UINT16, 0},
        {"sint32", ETW_IN_INT32, 0}, {"uint32", ETW_IN_UINT32, 0}, {"sint64", ETW_IN_INT64, 0},
        {"uint64", ETW_IN_UINT64, 0}, {"real32", ETW_IN_FLOAT, 0}, {"real64", ETW_IN_DOUBLE, 0},
        {"char16", ETW_IN_UINT16, ETW_OUT_STRING}, {"datetime", ETW_IN_FILETIME, 0},
        {"string", ETW_IN_ANSIZ, 0}};

/* extension(...): the type of an object or a number. */
static const Type extensions[] = {{"sid", ETW_IN_WBEM_SID, 0},
        {"port", ETW_IN_UINT16, ETW_OUT_PORT}, {"ipaddr", ETW_IN_UINT32, ETW_OUT_IPV4},
        {"ipaddrv4", ETW_IN_UINT32, ETW_OUT_IPV4}, {"ipaddrv6", ETW_IN_BINARY, ETW_OUT_IPV6},
        {"guid", ETW_IN_GUID, 0}, {"sizet", ETW_IN_POINTER, ETW_OUT_UNSIGNED},
        {"variant", ETW_IN_COUNTED32_BINARY, 0}, {"wmitime", ETW_IN_FILETIME, 0},
        {"rstring", ETW_IN_ANSIZ, 0}, {"rwstring", ETW_IN_UTF16Z, 0}};

static const Type *findType(const Type *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (MofSameName(list[i].name, name)) {
            return &list[i];
        }
    }
    return NULL;
}

static bool isText(const EtwField *f)
{
    return f->in == ETW_IN_ANSIZ || f->in == ETW_IN_UTF16Z;
}

/* format("w") and StringTermination("..."). */
static void setTextType(EtwField *f, const MofProperty *p)
{
    static const char *const ends[] = {"Counted", "ReverseCounted", "NotCounted"};
    static const uint8_t narrow[] = {ETW_IN_COUNTED_ANSI, ETW_IN_COUNTED_ANSI_SWAP, ETW_IN_ANSIZ};
    static const uint8_t wide[] = {ETW_IN_COUNTED_UTF16, ETW_IN_COUNTED_UTF16_SWAP, ETW_IN_UTF16Z};
    const char *format = MofText(p->qualifiers, "format");
    const char *end = MofText(p->qualifiers, "StringTermination");
    if (format != NULL && MofSameName(format, "w")) {
        f->in = ETW_IN_UTF16Z;
    }
    for (int i = 0; end != NULL && i < 3; i++) {
        if (MofSameName(end, ends[i])) {
            f->in = f->in == ETW_IN_UTF16Z ? wide[i] : narrow[i];
            f->sized = i == 2 ? ETW_SIZE_REST : ETW_SIZE_OWN;
        }
    }
}

static void setNumberType(EtwField *f, const MofProperty *p)
{
    const char *format = MofText(p->qualifiers, "format");
    bool pointer = MofFindQualifier(p->qualifiers, "pointer") != NULL ||
                   MofFindQualifier(p->qualifiers, "PointerType") != NULL;
    bool wide = f->in >= ETW_IN_INT32 && f->in <= ETW_IN_UINT64;
    if (pointer && wide) {
        f->in = ETW_IN_POINTER;
    } else if (format != NULL && MofSameName(format, "x")) {
        f->out = ETW_OUT_HEX;
    } else if (format != NULL && (MofSameName(format, "c") || MofSameName(format, "s")) &&
               f->in <= ETW_IN_UINT16) {
        f->out = ETW_OUT_STRING;
    }
}

/* Fields of an unknown type are shown raw up to the payload's end. */
static void setUnknownType(EtwField *f)
{
    f->in = ETW_IN_BINARY;
    f->sized = ETW_SIZE_REST;
}

static void setType(EtwField *f, const MofProperty *p)
{
    const char *extension = MofText(p->qualifiers, "extension");
    const Type *type =
            extension ? findType(extensions, sizeof extensions / sizeof *extensions, extension)
                      : NULL;
    if (type == NULL) {
        type = findType(types, sizeof types / sizeof *types, p->type);
    }
    if (type == NULL) {
        setUnknownType(f);
        return;
    }
    f->in = type->in;
    f->out = type->out;
    if (f->in == ETW_IN_BINARY) {
        f->sized = ETW_SIZE_FIXED;
        f->length = 16;
    } else if (isText(f) && extension == NULL) {
        setTextType(f, p);
    } else if (f->in >= ETW_IN_INT8 && f->in <= ETW_IN_UINT64 && f->out == ETW_OUT_DEFAULT) {
        setNumberType(f, p);
    }
}

/* ---- Arrays and maps -------------------------------------------------------------------------- */

static int fieldIndex(const EtwField *fields, int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        if (MofSameName(fields[i].name, name)) {
            return i;
        }
    }
    return -1;
}

static void setArray(EtwField *f, const MofProperty *p, const EtwField *before, int count)
{
    const char *counter = MofText(p->qualifiers, "WmiSizeIs");
    uint64_t elements = p->elements;
    int index = counter ? fieldIndex(before, count, counter) : -1;
    if (elements == 0 && MofNumber(p->qualifiers, "MAX", &elements)) {
        elements = elements < UINT16_MAX ? elements : UINT16_MAX;
    }
    if (index >= 0 && before[index].array == ETW_SCALAR && before[index].in >= ETW_IN_INT8 &&
            before[index].in <= ETW_IN_UINT64) {
        f->array = ETW_ARRAY_BY_FIELD;
        f->count = (uint16_t)index;
    } else if (elements != 0) {
        f->array = ETW_ARRAY_FIXED;
        f->count = (uint16_t)elements;
    } else if (p->type[0] == 'c' && f->out == ETW_OUT_STRING) { /* char16 X[]: a text */
        f->in = ETW_IN_UTF16Z;
        f->out = ETW_OUT_DEFAULT;
    } else {
        f->array = ETW_ARRAY_REST;
    }
}

static const MofValue *valuesOf(const MofProperty *p, const char *name)
{
    const MofQualifier *q = MofFindQualifier(p->qualifiers, name);
    return q ? q->values : NULL;
}

/* Names of values from ValueMap/Values or BitMap/BitValues. Names without a value count from 0. */
static const EtwMap *makeMap(Maker *m, EtwProviderDef *def, const MofProperty *p)
{
    const MofValue *bits = valuesOf(p, "BitValues"), *names = bits ? bits : valuesOf(p, "Values");
    const MofValue *keys = valuesOf(p, bits ? "BitMap" : "ValueMap");
    const char *valueType = MofText(p->qualifiers, "ValueType");
    bool flags = bits != NULL || (valueType != NULL && MofSameName(valueType, "flag"));
    names = names ? names : valuesOf(p, "DefineValues");
    m->entries.size = 0;
    for (uint64_t i = 0; names != NULL && m->budget > 0; i++, names = names->next, m->budget--) {
        EtwMapEntry entry = {i, EtwDefText(def, names->text, strlen(names->text))};
        bool good = keys == NULL || MofToNumber(keys->text, &entry.value);
        if (bits != NULL) {
            good = good && entry.value < 64;
            entry.value = good ? 1ull << entry.value : 0;
        }
        keys = keys ? keys->next : NULL;
        if (good) {
            EtwTextAdd(&m->entries, &entry, sizeof entry);
        }
    }
    int count = (int)(m->entries.size / sizeof(EtwMapEntry));
    return count ? EtwDefMap(
                           def, p->name, (const EtwMapEntry *)(void *)m->entries.data, count, flags)
                 : NULL;
}

/* Classes that inherit a property share its map. */
static const EtwMap *mapOf(Maker *m, EtwProviderDef *def, MofProperty *p)
{
    if (p->madeFor != def) {
        p->map = makeMap(m, def, p);
        p->madeFor = def;
    }
    return p->map;
}

/* ---- Fields ---------------------------------------------------------------------------------- */

typedef struct Ordered {
    uint64_t id;
    int place;
    MofProperty *property;
} Ordered;

static int byId(const void *a, const void *b)
{
    const Ordered *x = a, *y = b;
    return x->id != y->id ? (x->id > y->id) - (x->id < y->id) : x->place - y->place;
}

/* The class's own data properties in order; all of them if none has an id. */
static int orderOwn(const MofClass *c, Ordered *out)
{
    int count = 0, place = 0;
    bool anyId = false;
    for (const MofProperty *p = c->properties; p != NULL; p = p->next) {
        anyId |= MofFindQualifier(p->qualifiers, "WmiDataId") != NULL;
    }
    for (MofProperty *p = c->properties; p != NULL; p = p->next, place++) {
        uint64_t id = 0;
        if (MofNumber(p->qualifiers, "WmiDataId", &id) || !anyId) {
            out[count++] = (Ordered){id, place, p};
        }
    }
    qsort(out, (size_t)count, sizeof *out, byId);
    return count;
}

static void addOwnFields(Maker *m, EtwProviderDef *def, const MofClass *c, EtwText *fields)
{
    size_t cost = (size_t)c->propertyCount + 1;
    m->budget -= cost < m->budget ? cost : m->budget;
    if (m->budget == 0) {
        return;
    }
    Ordered *own = EtwAlloc(sizeof *own * cost);
    int count = orderOwn(c, own);
    for (int i = 0; i < count; i++) {
        MofProperty *p = own[i].property;
        EtwField f = {.name = EtwDefText(def, p->name, strlen(p->name))};
        const EtwField *before = (const EtwField *)(void *)fields->data;
        int index = (int)(fields->size / sizeof f);
        setType(&f, p);
        if (p->array) {
            setArray(&f, p, before, index < ETW_MAX_FIELDS ? index : ETW_MAX_FIELDS);
        }
        f.map = mapOf(m, def, p);
        EtwTextAdd(fields, &f, sizeof f);
    }
    EtwFree(own);
}

/* The classes from the topmost one down to c. Returns their number. */
static int chainOf(const MofClass *c, const MofClass *chain[MAX_DEPTH])
{
    int depth = 0;
    for (; c != NULL && depth < MAX_DEPTH; c = c->baseClass) {
        chain[depth++] = c;
    }
    for (int i = 0; i < depth / 2; i++) {
        const MofClass *swap = chain[i];
        chain[i] = chain[depth - 1 - i];
        chain[depth - 1 - i] = swap;
    }
    return depth;
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* The nearest class from c upwards with the qualifier. */
static const MofClass *inherited(const MofClass *c, const char *qualifier)
{
    for (int depth = 0; c != NULL && depth < MAX_DEPTH; c = c->baseClass, depth++) {
        if (MofFindQualifier(c->qualifiers, qualifier) != NULL) {
            return c;
        }
    }
    return NULL;
}

/* DisplayName, otherwise the class's name without "_V2". */
static void addName(EtwText *out, const MofClass *c)
{
    const char *display = MofText(c->qualifiers, "DisplayName");
    const char *name = display != NULL && *display != 0 ? display : c->name;
    size_t size = strlen(name), digits = size;
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') {
        digits--;
    }
    if (digits > 2 && digits < size && (name[digits - 1] | 32) == 'v' && name[digits - 2] == '_') {
        size = digits - 2;
    }
    EtwTextAdd(out, name, size);
    EtwTextChar(out, 0);
}

static EtwProviderDef *providerOf(Maker *m, const MofClass *c)
{
    EtwGuid guid;
    if (c == NULL || !EtwGuidParse(MofText(c->qualifiers, "Guid"), &guid)) {
        return NULL;
    }
    uint64_t hash = EtwHashGuid(&guid);
    for (EtwTableNode *n = EtwTableFirst(&m->providers, hash); n != NULL; n = n->next) {
        if (EtwGuidEqual(&((Provider *)n)->def->guid, &guid)) {
            return ((Provider *)n)->def;
        }
    }
    Provider *p = EtwAlloc(sizeof *p);
    EtwText name = {0};
    addName(&name, c);
    p->def = EtwDefNew(&guid, name.data, ETW_ORIGIN_MOF, m->from);
    p->def->classic = true;
    EtwTextFree(&name);
    EtwTableAdd(&m->providers, &p->node, hash);
    *m->lastPtr = p;
    m->lastPtr = &p->next;
    return p->def;
}

static void addEvent(Maker *m, EtwProviderDef *def, const MofClass *c, const EtwDescriptor *desc,
        const char *typeName, const EtwText *fields)
{
    const char *display = MofText(c->qualifiers, "DisplayName");
    const char *name = typeName != NULL && *typeName != 0 ? typeName : display ? display : c->name;
    EtwEventDef *event = EtwDefEvent(def, desc, (const EtwField *)(const void *)fields->data,
            (int)(fields->size / sizeof(EtwField)));
    if (event == NULL) {
        return;
    }
    event->symbol = EtwDefText(def, c->name, strlen(c->name));
    event->schema.event = EtwDefText(def, name, strlen(name));
    event->schema.opcode = event->schema.event;
    EtwNamed opcode = {.value = desc->opcode, .name = event->schema.event};
    EtwDefName(def, ETW_NAME_OPCODE, &opcode);
    m->events++;
}

/* Add an event for each type of a class with EventType, at most 256. */
static void addEvents(Maker *m, EtwProviderDef *def, const MofClass *c)
{
    const MofQualifier *typeList = MofFindQualifier(c->qualifiers, "EventType");
    const MofQualifier *nameList = MofFindQualifier(c->qualifiers, "EventTypeName");
    const MofValue *typeValue = typeList->values, *name = nameList ? nameList->values : NULL;
    const MofClass *versioned = inherited(c, "EventVersion"), *chain[MAX_DEPTH];
    uint64_t version = 0, type;
    bool done[256] = {false};
    EtwText fields = {0};
    if (versioned != NULL) {
        MofNumber(versioned->qualifiers, "EventVersion", &version);
    }
    for (int i = 0, depth = chainOf(c, chain); i < depth; i++) {
        addOwnFields(m, def, chain[i], &fields);
    }
    for (; typeValue != NULL; typeValue = typeValue->next, name = name ? name->next : NULL) {
        size_t count = fields.size / sizeof(EtwField) + 1;
        if (MofToNumber(typeValue->text, &type) && type < 256 && !done[type] && m->budget > count) {
            EtwDescriptor desc = {.opcode = (uint8_t)type, .version = (uint8_t)version};
            done[type] = true;
            m->budget -= count;
            addEvent(m, def, c, &desc, name ? name->text : NULL, &fields);
        }
    }
    EtwTextFree(&fields);
}

static void freeNode(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

/* Pass the definitions on; after an error, or without events, free them. */
static void deliver(Maker *m, bool good, EtwDefProc *add, void *ctx)
{
    for (Provider *p = m->first; p != NULL; p = p->next) {
        if (good) {
            EtwDefFinish(p->def);
            add(ctx, p->def);
        } else {
            EtwDefFree(p->def);
        }
    }
    EtwTableFree(&m->providers, freeNode);
    EtwTextFree(&m->entries);
}

EtwStatus EtwMofRead(const char *from, const void *data, size_t size, EtwDefProc *add, void *ctx,
        EtwError *errPtr)
{
    Mof mof;
    Maker m = {.mof = &mof, .from = from, .budget = 2 * size};
    m.lastPtr = &m.first;
    EtwStatus status = MofRead(&mof, data, size, from, errPtr);
    for (const MofClass *c = mof.first; c != NULL && status == ETW_OK; c = c->next) {
        bool event = MofFindQualifier(c->qualifiers, "EventType") != NULL;
        EtwProviderDef *def = event ? providerOf(&m, inherited(c, "Guid")) : NULL;
        if (def != NULL) {
            addEvents(&m, def, c);
        }
    }
    if (status == ETW_OK && m.events == 0) {
        status = EtwFail(errPtr, ETW_E_FORMAT, "MOF", from,
                "%s has no event classes: expected classes with the qualifiers Guid and EventType",
                from);
    }
    deliver(&m, status == ETW_OK, add, ctx);
    MofFree(&mof);
    return status;
}
