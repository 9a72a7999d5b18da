/*
 * sql/event_table.c --
 *
 *	A table of the events of one class, with the columns of the table of events and one for each field of the payload. The
 *	fields of a row are decoded when the first of them is needed.
 */
#include "sql/sql_int.h"
#include "base/hash_table.h"

/* A schema of the open file, and the column of each of its fields; -1: none. */
typedef struct Known {
    EtwTableNode node;
    const EtwSchema *schema;
    int *columns;
} Known;

/* The field of the current row in a column. */
typedef struct Slot {
    sqlite3_int64 row; /* of another row: the event lacks the field */
    const EtwField *field;
    bool nested; /* an array or a struct */
    EtwValue value;
} Slot;

struct SqlFields {
    SqlClass *class; /* the table's */
    EtwTable known;
    const Known *last;
    int file;          /* SqlReading.next, for which `known` is valid */
    sqlite3_int64 row; /* in `slots` */
    Slot *slots;       /* by column */
    int depth;         /* while decoding */
    EtwText json;
};

/* What a made table has in addition. */
typedef struct EventTable {
    SqlTable table; /* first */
    SqlClass *class;
} EventTable;

/* ---- Decoding ------------------------------------------------------------------------------------ */

static void freeKnown(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(((Known *)node)->columns);
    EtwFree(node);
}

void SqlFieldsFree(SqlFields *fields)
{
    if (fields != NULL) {
        EtwTableFree(&fields->known, freeKnown);
        EtwFree(fields->slots);
        EtwTextFree(&fields->json);
        EtwFree(fields);
    }
}

static void takeColumn(void *ctx, int field, int column)
{
    ((int *)ctx)[field] = column;
}

static const Known *knownOf(SqlFields *fields, const SqlReading *r, const EtwSchema *schema)
{
    if (r->next != fields->file) { /* schemas of a file are freed with it */
        EtwTableFree(&fields->known, freeKnown);
        fields->last = NULL;
        fields->file = r->next;
    }
    if (fields->last != NULL && fields->last->schema == schema) {
        return fields->last;
    }
    uint64_t hash = EtwHashPointer(schema);
    Known *known = (Known *)EtwTableFirst(&fields->known, hash);
    while (known != NULL && known->schema != schema) {
        known = (Known *)known->node.next;
    }
    if (known == NULL) {
        known = EtwAlloc(sizeof *known);
        known->schema = schema;
        known->columns = EtwAlloc(sizeof *known->columns * ((size_t)schema->fieldCount + 1));
        SqlClassFields(fields->class, schema, false, takeColumn, known->columns);
        EtwTableAdd(&fields->known, &known->node, hash);
    }
    return fields->last = known;
}

static Slot *slotOf(SqlFields *fields, const EtwField *field)
{
    int column = fields->last->columns[field - fields->last->schema->fields];
    if (column < 0) {
        return NULL;
    }
    Slot *slot = &fields->slots[column];
    slot->row = fields->row;
    slot->field = field;
    slot->nested = false;
    return slot;
}

static void onValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    SqlFields *fields = ctx;
    Slot *slot = fields->depth == 0 ? slotOf(fields, field) : NULL;
    if (slot != NULL) {
        slot->value = *value;
    }
}

static void onBegin(void *ctx, const EtwField *field, bool isStruct, int count)
{
    SqlFields *fields = ctx;
    (void)isStruct, (void)count;
    Slot *slot = fields->depth++ == 0 ? slotOf(fields, field) : NULL;
    if (slot != NULL) {
        slot->nested = true;
    }
}

static void onEnd(void *ctx, const EtwField *field, bool isStruct)
{
    (void)field, (void)isStruct;
    ((SqlFields *)ctx)->depth--;
}

/* The values after the end of a payload that is too short are NULL. */
static void decodeRow(SqlFields *fields, SqlCursor *cursor)
{
    static const EtwVisitor visitor = {onValue, onBegin, onEnd, NULL};
    const EtwSchema *schema = SqlReadingSchema(&cursor->reading);
    fields->row = cursor->row;
    fields->depth = 0;
    if (schema != NULL) {
        knownOf(fields, &cursor->reading, schema);
        EtwDecode(schema, &cursor->reading.event, &visitor, fields);
    }
}

/* ---- Arrays and structs --------------------------------------------------------------------------- */

/* JSON of one field; the only element of a list, which is cut off. */
typedef struct Nested {
    EtwJsonBuilder json;
    const EtwField *wanted;
    int depth;
    bool inside;
} Nested;

static void nestedValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    Nested *nested = ctx;
    if (nested->inside) {
        EtwJsonValue(&nested->json, field, value);
    }
}

static void nestedBegin(void *ctx, const EtwField *field, bool isStruct, int count)
{
    Nested *nested = ctx;
    nested->inside |= nested->depth++ == 0 && field == nested->wanted;
    if (nested->inside) {
        EtwJsonBegin(&nested->json, field, isStruct, count);
    }
}

static void nestedEnd(void *ctx, const EtwField *field, bool isStruct)
{
    Nested *nested = ctx;
    if (nested->inside) {
        EtwJsonEnd(&nested->json, field, isStruct);
    }
    nested->inside &= --nested->depth > 0;
}

static void addNested(
        SqlFields *fields, SqlReading *r, const EtwField *field, sqlite3_context *result)
{
    static const EtwVisitor visitor = {nestedValue, nestedBegin, nestedEnd, NULL};
    EtwText *text = &fields->json;
    Nested nested = {
            .json = {.out = text, .scratch = &r->sink->scratch, .lists = 1, .narrow = true},
            .wanted = field};
    text->size = 0;
    EtwTextChar(text, '[');
    EtwDecode(SqlReadingSchema(r), &r->event, &visitor, &nested);
    SqlResultJson(result, text->data + 1, text->size - 1);
}

/* ---- The table ------------------------------------------------------------------------------------ */

static void fieldColumn(SqlCursor *cursor, sqlite3_context *result, int column)
{
    const SqlTable *common = &sqlEventsTable;
    if (column < common->columnCount) {
        common->column(cursor, result, column);
        return;
    }
    SqlFields *fields = cursor->fields;
    if (fields == NULL) {
        fields = cursor->fields = EtwAlloc(sizeof *fields);
        fields->class = ((const EventTable *)cursor->table)->class;
        fields->slots = EtwAlloc(sizeof *fields->slots * (size_t)fields->class->fieldCount);
    }
    if (fields->row != cursor->row) {
        decodeRow(fields, cursor);
    }
    const Slot *slot = &fields->slots[column - common->columnCount];
    if (slot->row != cursor->row) {
        sqlite3_result_null(result);
    } else if (slot->nested) {
        addNested(fields, &cursor->reading, slot->field, result);
    } else {
        SqlResultValue(&cursor->reading, result, slot->field, &slot->value);
    }
}

/* Columns of the header that `SELECT *` shows; the others are hidden. */
static bool isShown(const char *name)
{
    static const char *const shown[] = {"time", "pid", "tid", "cpu", "process"};
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        if (strcmp(name, shown[i]) == 0) {
            return true;
        }
    }
    return false;
}

SqlTable *SqlEventTableNew(SqlClass *class)
{
    EventTable *made = EtwAlloc(sizeof *made);
    int common = sqlEventsTable.columnCount, count = common;
    SqlColumn *columns = EtwAlloc(sizeof *columns * ((size_t)common + (size_t) class->fieldCount));
    for (int i = 0; i < common; i++) {
        SqlColumn *column = &columns[i];
        *column = sqlEventsTable.columns[i];
        if (column->bound == SQL_PROVIDER || column->bound == SQL_EVENT) {
            column->bound = SQL_UNBOUND; /* the table's filter has them */
        }
        if (!isShown(column->name)) {
            column->type = strcmp(column->type, "TEXT") == 0 ? "TEXT HIDDEN" : "INTEGER HIDDEN";
        }
    }
    for (const SqlField *field = class->fields; field != NULL; field = field->after) {
        columns[count] = field->column;
        columns[count++].named = class->tracked;
    }
    class->users++;
    made->class = class;
    made->table = (SqlTable){
            .name = class->name, .columns = columns, .columnCount = count, .column = fieldColumn};
    return &made->table;
}

void SqlEventTableFree(SqlTable *table)
{
    EventTable *made = (EventTable *)table;
    if (made != NULL) {
        EtwFree((SqlColumn *)(uintptr_t)table->columns);
        SqlClassRelease(made->class);
        EtwFree(made);
    }
}

static void addText(SqlTexts *texts, const char *text)
{
    texts->given = true;
    SqlTextsAdd(texts, text);
}

void SqlEventTableFilter(const SqlTable *table, SqlFilter *filter)
{
    const SqlClass *class = ((const EventTable *)table)->class;
    addText(&filter->providers, class->provider);
    addText(&filter->events, class->event);
}

SqlTable *SqlEventTableFind(SqlConnection *connection, char *const *traces, int count,
        const char *provider, const char *event, EtwError *errPtr)
{
    SqlReading reading = {.traces = traces, .traceCount = count, .connection = connection};
    SqlClasses *classes = NULL;
    EtwStatus status = ETW_OK;
    SqlFilterInit(&reading.filter);
    bool opened = SqlConnectionHas(connection, traces, count);
    if (!opened) {
        classes = SqlClassesNew();
        addText(&reading.filter.providers, provider);
        addText(&reading.filter.events, event);
        status = SqlClassesRead(classes, &reading, errPtr);
    }
    SqlTable *made = NULL;
    const SqlClass *class = SqlClassesList(opened ? connection->classes : classes);
    for (; class != NULL && status == ETW_OK && made == NULL; class = class->after) {
        if (strcmp(class->provider, provider) == 0 && strcmp(class->event, event) == 0) {
            made = SqlEventTableNew((SqlClass *)(uintptr_t) class);
        }
    }
    if (status == ETW_OK && made == NULL) {
        EtwFail(errPtr, ETW_E_ARG, "EVENT", event,
                "the files have no event \"%s\" of the provider \"%s\": the table classes lists "
                "the events",
                event, provider);
    }
    SqlReadingClose(&reading);
    SqlClassesFree(classes);
    return made;
}
