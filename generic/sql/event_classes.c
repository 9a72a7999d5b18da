/*
 * sql/event_classes.c --
 *
 *	Which events the files have, and with which fields: what tables of one event (event_table.c) and the table etw_schema
 *	are made of. A class is a provider and an event. It has a column for each field that one of its schemas has.
 */
#include "sql/sql_int.h"

enum {
    RECENT = 64,
    FIELDS_MAX = 1900, /* of a class: SQLite allows 2000 columns */
    SAME_MAX = 100     /* fields of one schema with the same name */
};

/* The event's schema and numbers, seen before in the same file. */
typedef struct Known {
    EtwTableNode node;
    const EtwSchema *schema;
    EtwGuid guid;
    uint16_t id;
    uint8_t opcode;
    SqlClass *class;
} Known;

struct SqlClasses {
    EtwTable table, known;
    SqlClass *list, **end;
    Known *recent[RECENT];
};

/* ---- Fields -------------------------------------------------------------------------------------- */

/* The type of the field's values (SqlResultValue). None: numbers and texts. */
static const char *typeOf(const EtwField *f)
{
    if (f->in == ETW_IN_STRUCT || f->array != ETW_SCALAR || f->in == ETW_IN_POINTER) {
        return "TEXT";
    }
    bool address = f->out == ETW_OUT_IPV6 || f->out == ETW_OUT_IPV4 || f->out == ETW_OUT_SOCKADDR ||
                   f->out == ETW_OUT_MAC;
    switch (f->in) {
    case ETW_IN_INT8:
    case ETW_IN_UINT8:
    case ETW_IN_INT16:
    case ETW_IN_UINT16:
    case ETW_IN_INT32:
    case ETW_IN_UINT32:
    case ETW_IN_INT64:
    case ETW_IN_UINT64:
    case ETW_IN_BOOL32:
    case ETW_IN_HEX32:
    case ETW_IN_HEX64:
        return f->map != NULL || address ? "" : "INTEGER";
    case ETW_IN_FLOAT:
    case ETW_IN_DOUBLE:
        return "REAL";
    case ETW_IN_BINARY:
    case ETW_IN_COUNTED_BINARY:
    case ETW_IN_COUNTED32_BINARY:
        return address || EtwBinaryKind(f->out) == ETW_V_TEXT ? "TEXT" : "BLOB";
    default:
        return "TEXT";
    }
}

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c);
}

static uint64_t hashOfName(const char *name)
{
    uint64_t hash = 0;
    for (; *name != 0; name++) {
        hash = EtwHashMix(hash, (uint8_t)lower(*name));
    }
    return hash;
}

static SqlField *fieldNamed(const SqlClass *class, const char *name, uint64_t hash)
{
    EtwTableNode *n = EtwTableFirst(&class->names, hash);
    while (n != NULL &&
            (n->hash != hash || sqlite3_stricmp(((SqlField *)n)->column.name, name) != 0)) {
        n = n->next;
    }
    return (SqlField *)n;
}

static SqlField *newField(SqlClass *class, const char *name, uint64_t hash, const char *type)
{
    SqlField *field = EtwAlloc(sizeof *field);
    field->column = (SqlColumn){EtwStrdup(name), type, SQL_UNBOUND, false};
    field->index = class->fieldCount++;
    EtwTableAdd(&class->names, &field->node, hash);
    *class->end = field;
    class->end = &field->after;
    return field;
}

/* SQLite does not tell cases apart. */
static bool isHeaderName(const char *name)
{
    for (int i = 0; i < sqlEventsTable.columnCount; i++) {
        if (sqlite3_stricmp(name, sqlEventsTable.columns[i].name) == 0) {
            return true;
        }
    }
    return sqlite3_stricmp(name, "trace") == 0 || sqlite3_stricmp(name, "source") == 0 ||
           sqlite3_stricmp(name, "rowid") == 0;
}

/*
 * The column of the field of a schema: that with its name, or with #2, #3 ... after it if the header or another field of this schema
 * has it. NULL: there is none, and none is added.
 */
static SqlField *columnOf(SqlClass *class, const EtwField *f, EtwText *name, bool add)
{
    const char *plain = *f->name != 0 ? f->name : "_";
    for (int n = isHeaderName(plain) ? 2 : 1; n <= SAME_MAX; n++) {
        name->size = 0;
        EtwTextStr(name, plain);
        if (n > 1) {
            EtwTextPrintf(name, "#%d", n);
        }
        EtwTextChar(name, 0);
        uint64_t hash = hashOfName(name->data);
        SqlField *field = fieldNamed(class, name->data, hash);
        if (field == NULL) {
            if (!add || class->fieldCount >= FIELDS_MAX) {
                return NULL;
            }
            field = newField(class, name->data, hash, typeOf(f));
        } else if (field->use == class->use) {
            continue;
        } else if (add && strcmp(field->column.type, typeOf(f)) != 0) {
            field->column.type = "";
        }
        field->use = class->use;
        return field;
    }
    return NULL;
}

/*
 * True if the event itself determines how its payload is decoded. Records of Windows' kernel lack the size of pointers, which a
 * tracked source sets (EtwSourceTrack).
 */
static bool isPlain(const EtwSchema *schema)
{
    bool plain = schema->origin == ETW_ORIGIN_SELF;
    for (int i = 0; i < schema->fieldCount && plain; i++) {
        plain = schema->fields[i].in != ETW_IN_POINTER;
    }
    return plain;
}

void SqlClassFields(SqlClass *class, const EtwSchema *schema, bool add,
        void (*visit)(void *ctx, int field, int column), void *ctx)
{
    EtwText name = {0};
    class->use++;
    class->tracked |= add && !isPlain(schema);
    for (int i = 0; i < schema->fieldCount;) {
        const EtwField *f = &schema->fields[i];
        const SqlField *field = f->in != ETW_IN_SKIP ? columnOf(class, f, &name, add) : NULL;
        if (visit != NULL) {
            visit(ctx, i, field != NULL ? field->index : -1);
        }
        i += f->span > 0 ? f->span : 1;
    }
    EtwTextFree(&name);
}

/* ---- Classes ------------------------------------------------------------------------------------- */

static void freeNode(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

void SqlClassRelease(SqlClass *class)
{
    if (class == NULL || --class->users > 0) {
        return;
    }
    for (SqlField *field = class->fields, *after; field != NULL; field = after) {
        after = field->after;
        EtwFree((char *)(uintptr_t)field->column.name);
        EtwFree(field);
    }
    EtwFree(class->names.slots);
    EtwFree(class->provider);
    EtwFree(class->event);
    EtwFree(class->name);
    EtwFree(class);
}

SqlClasses *SqlClassesNew(void)
{
    SqlClasses *classes = EtwAlloc(sizeof *classes);
    classes->end = &classes->list;
    return classes;
}

void SqlClassesFree(SqlClasses *classes)
{
    if (classes == NULL) {
        return;
    }
    for (SqlClass *class = classes->list, *after; class != NULL; class = after) {
        after = class->after;
        SqlClassRelease(class);
    }
    EtwFree(classes->table.slots);
    EtwTableFree(&classes->known, freeNode);
    EtwFree(classes);
}

const SqlClass *SqlClassesList(const SqlClasses *classes)
{
    return classes->list;
}

static SqlClass *classNamed(SqlClasses *classes, const char *provider, const char *event)
{
    uint64_t hash = EtwHashMix(EtwHashBytes(0, (const uint8_t *)provider, strlen(provider)),
            EtwHashBytes(1, (const uint8_t *)event, strlen(event)));
    for (EtwTableNode *n = EtwTableFirst(&classes->table, hash); n != NULL; n = n->next) {
        SqlClass *class = (SqlClass *)n;
        if (strcmp(class->provider, provider) == 0 && strcmp(class->event, event) == 0) {
            return class;
        }
    }
    SqlClass *class = EtwAlloc(sizeof *class);
    EtwText name = {0};
    EtwTextStr(&name, provider);
    EtwTextChar(&name, '_');
    EtwTextStr(&name, event);
    EtwTextChar(&name, 0);
    class->users = 1;
    class->name = name.data;
    class->provider = EtwStrdup(provider);
    class->event = EtwStrdup(event);
    class->end = &class->fields;
    EtwTableAdd(&classes->table, &class->node, hash);
    *classes->end = class;
    classes->end = &class->after;
    return class;
}

static bool isOf(const Known *known, const EtwSchema *schema, const EtwEvent *e)
{
    return known->schema == schema && known->id == e->desc.id && known->opcode == e->desc.opcode &&
           memcmp(&known->guid, &e->provider, sizeof known->guid) == 0;
}

void SqlClassesAdd(SqlClasses *classes, SqlReading *r)
{
    const EtwEvent *e = &r->event;
    const EtwSchema *schema = SqlReadingSchema(r);
    Known **recent = &classes->recent[(((uintptr_t)schema >> 4) ^ e->desc.id) % RECENT];
    if (*recent != NULL && isOf(*recent, schema, e)) {
        return;
    }
    uint64_t numbers = (uint64_t)e->desc.id << 8 | e->desc.opcode;
    uint64_t hash = EtwHashMix(EtwHashPointer(schema) ^ numbers, EtwHashGuid(&e->provider));
    Known *known = (Known *)EtwTableFirst(&classes->known, hash);
    while (known != NULL && !isOf(known, schema, e)) {
        known = (Known *)known->node.next;
    }
    if (known == NULL) {
        char guid[ETW_GUID_TEXT], number[SQL_NUMBER_TEXT];
        known = EtwAlloc(sizeof *known);
        known->schema = schema;
        known->guid = e->provider;
        known->id = e->desc.id;
        known->opcode = e->desc.opcode;
        known->class = classNamed(classes, SqlProviderText(r, guid), SqlEventText(r, number));
        if (schema != NULL) {
            SqlClassFields(known->class, schema, true, NULL, NULL);
        }
        EtwTableAdd(&classes->known, &known->node, hash);
    }
    *recent = known;
}

/* Schemas of a file are freed with it, and another one may get the address. */
static void forgetSchemas(SqlClasses *classes)
{
    EtwTableFree(&classes->known, freeNode);
    memset(classes->recent, 0, sizeof classes->recent);
}

EtwStatus SqlClassesRead(SqlClasses *classes, SqlReading *r, EtwError *errPtr)
{
    EtwStatus status;
    int file = 0;
    while ((status = SqlReadingNext(r, errPtr)) == ETW_OK) {
        if (r->next != file) {
            forgetSchemas(classes);
            file = r->next;
        }
        SqlClassesAdd(classes, r);
    }
    forgetSchemas(classes);
    return status == ETW_END ? ETW_OK : status;
}

/* ---- The table etw_schema ------------------------------------------------------------------------ */

static void *beginSchema(SqlReading *r, SqlRows *rows)
{
    (void)r, (void)rows;
    return SqlClassesNew();
}

static void schemaEvent(void *ctx, SqlReading *r, SqlRows *rows)
{
    (void)rows;
    SqlClassesAdd(ctx, r);
}

static void addRow(SqlRows *rows, const SqlClass *class, const SqlField *field)
{
    SqlRowString(rows, class->name);
    SqlRowString(rows, class->provider);
    SqlRowString(rows, class->event);
    SqlRowString(rows, field != NULL ? field->column.name : NULL);
    SqlRowString(rows, field != NULL ? field->column.type : NULL);
}

static void endSchema(void *ctx, SqlReading *r, SqlRows *rows)
{
    (void)r;
    for (const SqlClass *class = SqlClassesList(ctx); class != NULL; class = class->after) {
        const SqlField *field = class->fields;
        do {
            addRow(rows, class, field);
            field = field != NULL ? field->after : NULL;
        } while (field != NULL);
    }
}

static void freeSchema(void *ctx)
{
    SqlClassesFree(ctx);
}

static const SqlColumn schemaColumns[] = {{"name", "TEXT", SQL_UNBOUND, false},
        {"provider", "TEXT", SQL_PROVIDER, false}, {"event", "TEXT", SQL_EVENT, false},
        {"field", "TEXT", SQL_UNBOUND, false}, {"type", "TEXT", SQL_UNBOUND, false}};
static const SqlMaker schemaMaker = {
        .begin = beginSchema, .event = schemaEvent, .end = endSchema, .free = freeSchema};
const SqlTable sqlSchemaTable = {.name = "etw_schema",
        .columns = schemaColumns,
        .columnCount = sizeof schemaColumns / sizeof *schemaColumns,
        .maker = &schemaMaker};
