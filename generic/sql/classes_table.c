/*
 * sql/classes_table.c --
 *
 *	The table of the classes of events in a file: names, numbers, and how many events there are. It decodes no payload and
 *	lets SQLite group a few rows instead of all events.
 */
#include "sql/sql_int.h"
#include "base/hash_table.h"

enum { RECENT = 64 };

typedef struct Class {
    EtwTableNode node;
    struct Class *after; /* in order of the first event */
    const EtwSchema *schema;
    EtwGuid guid;
    uint16_t id;
    uint8_t version, opcode;
    char *provider, *event;
    int64_t first, last;
    uint64_t events;
} Class;

typedef struct ClassState {
    EtwTable table;
    Class *list, **end;
    Class *recent[RECENT]; /* by address of the schema and id */
} ClassState;

static void *beginClasses(SqlReading *r, SqlRows *rows)
{
    ClassState *state = EtwAlloc(sizeof *state);
    (void)r, (void)rows;
    state->end = &state->list;
    return state;
}

static bool isOf(const Class *class, const EtwSchema *schema, const EtwEvent *e)
{
    return class->schema == schema && class->id == e->desc.id &&
           class->version == e->desc.version && class->opcode == e->desc.opcode &&
           memcmp(&class->guid, &e->provider, sizeof class->guid) == 0;
}

static Class *newClass(ClassState *state, SqlReading *r, const EtwSchema *schema, uint64_t hash)
{
    const EtwEvent *e = &r->event;
    char guid[ETW_GUID_TEXT], number[SQL_NUMBER_TEXT];
    Class *class = EtwAlloc(sizeof *class);
    class->schema = schema;
    class->guid = e->provider;
    class->id = e->desc.id;
    class->version = e->desc.version;
    class->opcode = e->desc.opcode;
    class->provider = EtwStrdup(SqlProviderText(r, guid));
    class->event = EtwStrdup(SqlEventText(r, number));
    EtwTableAdd(&state->table, &class->node, hash);
    *state->end = class;
    state->end = &class->after;
    return class;
}

static Class *classOf(ClassState *state, SqlReading *r)
{
    const EtwEvent *e = &r->event;
    const EtwSchema *schema = SqlReadingSchema(r);
    Class **recent = &state->recent[(((uintptr_t)schema >> 4) ^ e->desc.id) % RECENT];
    if (*recent != NULL && isOf(*recent, schema, e)) {
        return *recent;
    }
    uint64_t numbers = (uint64_t)e->desc.id << 16 | (uint64_t)e->desc.version << 8 | e->desc.opcode;
    uint64_t hash = EtwHashMix(EtwHashGuid(&e->provider), numbers);
    Class *class = (Class *)EtwTableFirst(&state->table, hash);
    while (class != NULL && !isOf(class, schema, e)) {
        class = (Class *)class->node.next;
    }
    *recent = class != NULL ? class : newClass(state, r, schema, hash);
    return *recent;
}

static void classEvent(void *ctx, SqlReading *r, SqlRows *rows)
{
    Class *class = classOf(ctx, r);
    int64_t time = r->event.time;
    (void)rows;
    if (class->events++ == 0) {
        class->first = class->last = time;
    }
    class->first = time < class->first ? time : class->first;
    class->last = time > class->last ? time : class->last;
}

static void endClasses(void *ctx, SqlReading *r, SqlRows *rows)
{
    const ClassState *state = ctx;
    (void)r;
    for (const Class *class = state->list; class != NULL; class = class->after) {
        SqlRowString(rows, class->provider);
        SqlRowString(rows, class->event);
        SqlRowInt(rows, class->id);
        SqlRowInt(rows, class->version);
        SqlRowInt(rows, class->opcode);
        SqlRowInt(rows, (int64_t) class->events);
        SqlRowInt(rows, class->first);
        SqlRowInt(rows, class->last);
    }
}

static void freeClasses(void *ctx)
{
    ClassState *state = ctx;
    for (Class *class = state->list, *after; class != NULL; class = after) {
        after = class->after;
        EtwFree(class->provider);
        EtwFree(class->event);
        EtwFree(class);
    }
    EtwFree(state->table.slots);
    EtwFree(state);
}

static const SqlColumn classColumns[] = {{"provider", "TEXT", SQL_UNBOUND, false},
        {"event", "TEXT", SQL_UNBOUND, false}, {"id", "INTEGER", SQL_UNBOUND, false},
        {"version", "INTEGER", SQL_UNBOUND, false}, {"opcode", "INTEGER", SQL_UNBOUND, false},
        {"events", "INTEGER", SQL_UNBOUND, false}, {"first", "INTEGER", SQL_UNBOUND, false},
        {"last", "INTEGER", SQL_UNBOUND, false}};
static const SqlMaker classMaker = {
        .begin = beginClasses, .event = classEvent, .end = endClasses, .free = freeClasses};
const SqlTable sqlClassesTable = {.name = "etw_classes",
        .columns = classColumns,
        .columnCount = sizeof classColumns / sizeof *classColumns,
        .maker = &classMaker};
