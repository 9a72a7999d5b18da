/*
 * sql/grouped_rows.c --
 *
 *	Events in groups, for GROUP BY, DISTINCT and ORDER BY on columns that few values have: the file is read once, events with
 *	the same values in the columns of the query are counted, and each group is then one row after the other. SQLite need not
 *	sort all events.
 */
#include "sql/sql_int.h"
#include "base/unicode.h"

enum { RECENT = 256 };

/* What the columns in use are made of; all other members are 0. Compared byte by byte. */
typedef struct Key {
    const EtwSchema *schema; /* with `provider`: the names */
    const char *provider;
    EtwGuid guid;
    uint64_t keyword;
    uint32_t pid, tid;
    uint32_t file; /* SqlReading.next: schemas are freed with their file */
    uint16_t id, task, cpu;
    uint8_t version, channel, level, opcode;
    uint8_t classic, unused;
} Key;
_Static_assert(sizeof(Key) == 64 || sizeof(void *) != 8, "a key has no padding");

typedef struct Group {
    EtwTableNode node;
    struct Group *after;
    Key key;
    const char *trace;
    char *provider, *event;
    char guid[ETW_GUID_TEXT]; /* "": none */
    uint64_t count;
} Group;

struct SqlGroups {
    EtwTable table;
    Group *recent[RECENT];
    Group **list; /* when all are known: sorted */
    size_t count, next;
    uint64_t left; /* rows of the current group */
    unsigned used; /* bits of columns */
    bool names;    /* provider or event */
    bool once;     /* each group is one row */
    char *by;
};

/* ---- Grouping ------------------------------------------------------------------------------------- */

static bool uses(const SqlGroups *g, int column)
{
    return (g->used >> column & 1) != 0;
}

static Key keyOf(const SqlGroups *g, SqlReading *r)
{
    const EtwEvent *e = &r->event;
    Key key = {.file = (uint32_t)r->next};
    if (g->names) {
        key.schema = SqlReadingSchema(r);
        key.provider = key.schema != NULL ? key.schema->provider : NULL;
        key.classic = e->classic;
    }
    if (g->names || uses(g, SQL_EVENT_GUID)) {
        key.guid = e->provider;
    }
    if (g->names || uses(g, SQL_EVENT_ID)) {
        key.id = e->desc.id;
    }
    if (g->names || uses(g, SQL_EVENT_OPCODE)) {
        key.opcode = e->desc.opcode;
    }
    key.version = uses(g, SQL_EVENT_VERSION) ? e->desc.version : 0;
    key.channel = uses(g, SQL_EVENT_CHANNEL) ? e->desc.channel : 0;
    key.level = uses(g, SQL_EVENT_LEVEL) ? e->desc.level : 0;
    key.task = uses(g, SQL_EVENT_TASK) ? e->desc.task : 0;
    key.keyword = uses(g, SQL_EVENT_KEYWORD) ? e->desc.keyword : 0;
    key.pid = uses(g, SQL_EVENT_PID) ? e->pid : 0;
    key.tid = uses(g, SQL_EVENT_TID) ? e->tid : 0;
    key.cpu = uses(g, SQL_EVENT_CPU) ? e->cpu : 0;
    return key;
}

static char *validText(const char *text)
{
    EtwText valid = {0};
    EtwTextUtf8(&valid, (const uint8_t *)text, strlen(text));
    EtwTextChar(&valid, 0);
    return valid.data;
}

static Group *newGroup(SqlGroups *g, SqlReading *r, const Key *key, uint64_t hash)
{
    char guid[ETW_GUID_TEXT], number[SQL_NUMBER_TEXT];
    Group *group = EtwAlloc(sizeof *group);
    group->key = *key;
    group->trace = r->trace;
    if (uses(g, SQL_EVENT_PROVIDER)) {
        group->provider = validText(SqlProviderText(r, guid));
    }
    if (uses(g, SQL_EVENT_EVENT)) {
        group->event = validText(SqlEventText(r, number));
    }
    if (uses(g, SQL_EVENT_GUID) && !EtwGuidIsNull(&key->guid)) {
        EtwGuidFormat(&key->guid, group->guid);
    }
    EtwTableAdd(&g->table, &group->node, hash);
    return group;
}

/* Events in a row are often of the same groups. */
static void countEvent(SqlGroups *g, SqlReading *r)
{
    Key key = keyOf(g, r);
    uint64_t mix = ((uint64_t)(uintptr_t)key.schema >> 4) ^ key.id ^ key.opcode ^ key.cpu * 7u ^
                   key.tid * 31ull ^ key.pid;
    Group **recent = &g->recent[(mix ^ mix >> 8) % RECENT];
    if (*recent == NULL || memcmp(&(*recent)->key, &key, sizeof key) != 0) {
        uint64_t hash = EtwHashBytes(0, (const uint8_t *)&key, sizeof key);
        EtwTableNode *n = EtwTableFirst(&g->table, hash);
        while (n != NULL && memcmp(&((Group *)n)->key, &key, sizeof key) != 0) {
            n = n->next;
        }
        *recent = n != NULL ? (Group *)n : newGroup(g, r, &key, hash);
    }
    (*recent)->count++;
}

/* ---- Sorting -------------------------------------------------------------------------------------- */

static int compareNumbers(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* The value of a column of numbers. No id (-1) is NULL, which is less than all numbers. */
static int64_t numberOf(const Key *key, int column)
{
    switch (column) {
    case SQL_EVENT_ID:
        return key->id;
    case SQL_EVENT_VERSION:
        return key->version;
    case SQL_EVENT_CHANNEL:
        return key->channel;
    case SQL_EVENT_LEVEL:
        return key->level;
    case SQL_EVENT_OPCODE:
        return key->opcode;
    case SQL_EVENT_TASK:
        return key->task;
    case SQL_EVENT_KEYWORD:
        return (int64_t)key->keyword;
    case SQL_EVENT_PID:
        return key->pid == ETW_NO_ID ? -1 : (int64_t)key->pid;
    case SQL_EVENT_TID:
        return key->tid == ETW_NO_ID ? -1 : (int64_t)key->tid;
    case SQL_EVENT_CPU:
        return key->cpu;
    default:
        return 0;
    }
}

static int compareColumn(const Group *a, const Group *b, int column)
{
    switch (column) {
    case SQL_EVENT_PROVIDER:
        return strcmp(a->provider, b->provider);
    case SQL_EVENT_EVENT:
        return strcmp(a->event, b->event);
    case SQL_EVENT_GUID:
        return strcmp(a->guid, b->guid);
    case SQL_EVENT_COLUMNS: /* the file */
        return strcmp(a->trace, b->trace);
    default:
        return compareNumbers(numberOf(&a->key, column), numberOf(&b->key, column));
    }
}

static int compareGroups(const Group *a, const Group *b, const char *by)
{
    int result = 0;
    for (; *by != 0 && result == 0; by += 2) {
        result = compareColumn(a, b, by[0] - SQL_GROUP_FIRST);
        result = by[1] == '-' ? -result : result;
    }
    return result;
}

/* Merge two sorted halves; qsort has no argument for `by`. */
static void sortGroups(Group **list, Group **space, size_t count, const char *by)
{
    if (count < 2) {
        return;
    }
    size_t half = count / 2, left = 0, right = half, to = 0;
    sortGroups(list, space, half, by);
    sortGroups(list + half, space + half, count - half, by);
    while (left < half || right < count) {
        bool first =
                right == count || (left < half && compareGroups(list[left], list[right], by) <= 0);
        space[to++] = first ? list[left++] : list[right++];
    }
    memcpy(list, space, count * sizeof(Group *));
}

static void collect(void *ctx, EtwTableNode *node)
{
    SqlGroups *g = ctx;
    g->list[g->count++] = (Group *)node;
}

/* ---- Rows ---------------------------------------------------------------------------------------- */

SqlGroups *SqlGroupsNew(unsigned used, const char *by, bool once)
{
    SqlGroups *g = EtwAlloc(sizeof *g);
    g->used = used;
    g->names = uses(g, SQL_EVENT_PROVIDER) || uses(g, SQL_EVENT_EVENT);
    g->by = EtwStrdup(by);
    g->once = once;
    return g;
}

EtwStatus SqlGroupsRead(SqlGroups *g, SqlReading *r, EtwError *errPtr)
{
    EtwStatus status;
    while ((status = SqlReadingNext(r, errPtr)) == ETW_OK) {
        countEvent(g, r);
    }
    size_t count = g->table.count;
    g->list = EtwAlloc(sizeof *g->list * (count + 1));
    EtwTableVisit(&g->table, collect, g);
    Group **space = EtwAlloc(sizeof *space * (count + 1));
    sortGroups(g->list, space, count, g->by);
    EtwFree(space);
    return status == ETW_END ? ETW_OK : status;
}

bool SqlGroupsNext(SqlGroups *g)
{
    g->left -= g->left != 0;
    if (g->left == 0 && g->next < g->count) {
        g->left = g->once ? 1 : g->list[g->next]->count;
        g->next++;
    }
    return g->left != 0;
}

static void textResult(sqlite3_context *result, const char *text)
{
    if (text != NULL && *text != 0) {
        sqlite3_result_text(result, text, -1, SQLITE_TRANSIENT);
    } else if (text != NULL) {
        sqlite3_result_text(result, "", 0, SQLITE_STATIC);
    }
}

void SqlGroupsColumn(const SqlGroups *g, sqlite3_context *result, int column)
{
    const Group *group = g->list[g->next - 1];
    const Key *key = &group->key;
    switch (column) {
    case SQL_EVENT_PROVIDER:
        textResult(result, group->provider);
        break;
    case SQL_EVENT_EVENT:
        textResult(result, group->event);
        break;
    case SQL_EVENT_GUID:
        textResult(result, group->guid[0] != 0 ? group->guid : NULL);
        break;
    case SQL_EVENT_PID:
        SqlResultId(result, key->pid);
        break;
    case SQL_EVENT_TID:
        SqlResultId(result, key->tid);
        break;
    default:
        sqlite3_result_int64(result, numberOf(key, column));
    }
}

const char *SqlGroupsTrace(const SqlGroups *g)
{
    return g->list[g->next - 1]->trace;
}

static void freeGroup(void *ctx, EtwTableNode *node)
{
    Group *group = (Group *)node;
    (void)ctx;
    EtwFree(group->provider);
    EtwFree(group->event);
    EtwFree(group);
}

void SqlGroupsFree(SqlGroups *g)
{
    if (g != NULL) {
        EtwTableFree(&g->table, freeGroup);
        EtwFree(g->list);
        EtwFree(g->by);
        EtwFree(g);
    }
}
