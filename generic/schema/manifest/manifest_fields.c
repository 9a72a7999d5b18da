/*
 * schema/manifest/manifest_fields.c --
 *
 *	Templates of manifests: converts <data> and <struct> to fields. Sizes and counts that refer
 *	to fields by name are converted to indexes; field_layout.c checks them.
 */
#include "schema/manifest/manifest_int.h"
#include "schema/model/tdh_types.h"

typedef struct Fields {
    EtwField *list; /* ETW_MAX_FIELDS entries */
    int count;
} Fields;

/* Index of the last field with that name before `before`; -1: none. */
static int fieldNamed(const Fields *fields, const char *name, int before)
{
    while (--before >= 0 && strcmp(fields->list[before].name, name) != 0) {
    }
    return before;
}

/*
 * Read a length or count: absent, a number, or the name of an earlier field. Returns 0,
 * ETW_SIZE_FIXED or ETW_SIZE_BY_FIELD; -1: error.
 */
static int readAmount(Manifest *m, const EtwElement *e, const char *attribute, const Fields *fields,
        uint16_t *valuePtr)
{
    const char *text = EtwXmlGet(e, attribute);
    uint64_t number;
    if (text[0] == 0) {
        return 0;
    }
    if (EtwManifestNumber(text, UINT16_MAX, &number)) {
        *valuePtr = (uint16_t)number;
        return ETW_SIZE_FIXED;
    }
    int index = fieldNamed(fields, text, fields->count);
    if (index < 0) {
        EtwManifestRefuse(m, e, "%s of \"%s\" is \"%s\": no number, and no field before it",
                attribute, EtwXmlGet(e, "name"), text);
        return -1;
    }
    *valuePtr = (uint16_t)index;
    return ETW_SIZE_BY_FIELD;
}

static bool readArray(Manifest *m, const EtwElement *e, const Fields *fields, EtwField *f)
{
    int kind = readAmount(m, e, "count", fields, &f->count);
    f->array = kind == ETW_SIZE_BY_FIELD                 ? ETW_ARRAY_BY_FIELD
               : kind == ETW_SIZE_FIXED && f->count != 1 ? ETW_ARRAY_FIXED
                                                         : ETW_SCALAR;
    return kind >= 0;
}

static bool readType(Manifest *m, const EtwElement *e, const Fields *fields, EtwField *f)
{
    static const EtwTdhLength lengths[] = {
            ETW_TDH_NO_LENGTH, ETW_TDH_LENGTH, ETW_TDH_LENGTH_BY_FIELD};
    const char *inType = EtwXmlGet(e, "inType"), *map = EtwXmlGet(e, "map");
    int length = readAmount(m, e, "length", fields, &f->length);
    if (length < 0) {
        return false;
    }
    if (!EtwTdhField(
                f, EtwTdhInType(inType), EtwTdhOutType(EtwXmlGet(e, "outType")), lengths[length])) {
        return EtwManifestRefuse(m, e, "unknown inType \"%s\"", inType);
    }
    const ListItem *item = map[0] ? EtwManifestFind(&m->maps, map, 0) : NULL;
    f->map = item ? item->what : NULL;
    return map[0] == 0 || item != NULL || EtwManifestRefuse(m, e, "there is no map \"%s\"", map);
}

static EtwField *addField(Manifest *m, const EtwElement *e, Fields *fields)
{
    if (fields->count == ETW_MAX_FIELDS) {
        EtwManifestRefuse(m, e, "more than %d fields", ETW_MAX_FIELDS);
        return NULL;
    }
    EtwField *f = &fields->list[fields->count];
    *f = (EtwField){.name = EtwManifestName(m, EtwXmlGet(e, "name"))};
    return f;
}

static bool readData(Manifest *m, const EtwElement *e, Fields *fields)
{
    EtwField *f = addField(m, e, fields);
    if (f == NULL || !readType(m, e, fields, f) || !readArray(m, e, fields, f)) {
        return false;
    }
    fields->count++;
    return true;
}

static bool readStruct(Manifest *m, const EtwElement *e, Fields *fields)
{
    EtwField *f = addField(m, e, fields);
    if (f == NULL || !readArray(m, e, fields, f)) {
        return false;
    }
    f->in = ETW_IN_STRUCT;
    fields->count++;
    for (const EtwElement *d = EtwXmlChild(e, "data"); d != NULL; d = EtwXmlNext(d, "data")) {
        if (!readData(m, d, fields)) {
            return false;
        }
        f->members++;
    }
    return true;
}

static bool readFields(Manifest *m, const EtwElement *template, Fields *fields)
{
    for (const EtwElement *e = template->first; e != NULL; e = e->next) {
        bool data = strcmp(e->name, "data") == 0, group = strcmp(e->name, "struct") == 0;
        if ((data && !readData(m, e, fields)) || (group && !readStruct(m, e, fields))) {
            return false;
        }
    }
    return true;
}

const ManifestTemplate *EtwManifestTemplate(Manifest *m, const EtwElement *template)
{
    if (m->scratch == NULL) {
        m->scratch = EtwAlloc(sizeof *m->scratch * ETW_MAX_FIELDS);
    }
    Fields fields = {.list = m->scratch};
    if (!readFields(m, template, &fields)) {
        return NULL;
    }
    size_t size = sizeof *fields.list * (size_t)fields.count;
    ManifestTemplate *t = EtwDefAlloc(m->def, sizeof *t);
    t->count = fields.count;
    t->fields = memcpy(EtwDefAlloc(m->def, size + 1), fields.list, size);
    return t;
}
