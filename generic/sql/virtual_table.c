/*
 * sql/virtual_table.c --
 *
 *	What the tables share: their arguments, the conditions that SQLite offers and that restrict what is read, cursors.
 *	SQLite tests every condition again, so a filter may pass too much, but never too little. Two columns follow those of
 *	a table: `trace`, the file, and the hidden `source`, the argument of a table-valued function.
 */
#include "sql/sql_int.h"
#include <stdio.h>

enum { VERSION_IN = 3038000 /* the first SQLite with sqlite3_vtab_in */ };

typedef struct SqlModule {
    const SqlTable *table; /* NULL: of one event */
    bool check;
    SqlConnection *connection;
} SqlModule;

typedef struct SqlVtab {
    sqlite3_vtab base; /* first */
    const SqlTable *table;
    char **traces;
    int traceCount;  /* 0: a table-valued function */
    SqlTable *event; /* `table`, if it is of one event */
    SqlConnection *connection;
} SqlVtab;

static const SqlColumn traceColumn = {"trace", "TEXT", SQL_TRACE, false};
static const SqlColumn sourceColumn = {"source", "TEXT HIDDEN", SQL_SOURCE, false};

static const SqlColumn *columnAt(const SqlTable *table, int index)
{
    return index < 0                     ? NULL
           : index < table->columnCount  ? &table->columns[index]
           : index == table->columnCount ? &traceColumn
                                         : &sourceColumn;
}

/* ---- Creating ----------------------------------------------------------------------------------- */

/* An argument as it is in the SQL: 'it''s', "x", or without quotes. */
static char *unquoted(const char *arg)
{
    size_t size = strlen(arg);
    char quote = arg[0];
    if (size < 2 || (quote != '\'' && quote != '"') || arg[size - 1] != quote) {
        return EtwStrdup(arg);
    }
    EtwText text = {0};
    for (size_t i = 1; i < size - 1; i++) {
        EtwTextChar(&text, arg[i]);
        i += arg[i] == quote && arg[i + 1] == quote;
    }
    EtwTextChar(&text, 0);
    return text.data;
}

static void freeVtab(SqlVtab *vtab)
{
    for (int i = 0; i < vtab->traceCount; i++) {
        EtwFree(vtab->traces[i]);
    }
    EtwFree(vtab->traces);
    SqlEventTableFree(vtab->event);
    EtwFree(vtab);
}

static int declare(sqlite3 *db, const SqlTable *table)
{
    EtwText sql = {0};
    EtwTextStr(&sql, "CREATE TABLE t(");
    for (int i = 0; i < table->columnCount + 2; i++) {
        const SqlColumn *column = columnAt(table, i);
        EtwTextStr(&sql, i > 0 ? ", \"" : "\"");
        for (const char *c = column->name; *c != 0; c++) {
            EtwTextStr(&sql, *c == '"' ? "\"" : "");
            EtwTextChar(&sql, *c);
        }
        EtwTextPrintf(&sql, "\" %s", column->type);
    }
    EtwTextStr(&sql, ")");
    EtwTextChar(&sql, 0);
    int result = sqlite3_declare_vtab(db, sql.data);
    EtwTextFree(&sql);
    return result;
}

/* True if the files of the table can be opened. */
static bool canOpen(const SqlVtab *vtab, EtwError *errPtr)
{
    EtwSource *source;
    for (int i = 0; i < vtab->traceCount; i++) {
        if (SqlSourceOpen(&source, vtab->traces[i], errPtr) != ETW_OK) {
            return false;
        }
        EtwSourceClose(source);
    }
    return true;
}

/* The table of an event: its provider and its name are the last arguments. */
static bool takeEvent(SqlVtab *vtab, EtwError *errPtr)
{
    enum { NAMES = 2 };
    if (vtab->traceCount <= NAMES) {
        EtwFail(errPtr, ETW_E_ARG, "EVENT", "",
                "too few arguments: expected etw_event('FILE.etl', ..., 'PROVIDER', 'EVENT')");
        return false;
    }
    char *event = vtab->traces[--vtab->traceCount];
    char *provider = vtab->traces[--vtab->traceCount];
    vtab->event = SqlEventTableFind(
            vtab->connection, vtab->traces, vtab->traceCount, provider, event, errPtr);
    vtab->table = vtab->event;
    EtwFree(provider);
    EtwFree(event);
    return vtab->event != NULL;
}

/* The arguments of the module are the files. */
static int connectTable(sqlite3 *db, void *aux, int argc, const char *const *argv,
        sqlite3_vtab **vtabPtr, char **errPtr)
{
    enum { FIRST_ARG = 3 };
    const SqlModule *module = aux;
    EtwError error = {0};
    SqlVtab *vtab = EtwAlloc(sizeof *vtab);
    vtab->table = module->table;
    vtab->connection = module->connection;
    vtab->traces = EtwAlloc(sizeof *vtab->traces * ((size_t)argc + 1));
    for (int i = FIRST_ARG; i < argc; i++) {
        vtab->traces[vtab->traceCount++] = unquoted(argv[i]);
    }
    if (module->check && vtab->traceCount == 0) {
        *errPtr = sqlite3_mprintf("no trace was given: expected %s('FILE.etl', ...)", argv[0]);
    } else if ((module->check && !canOpen(vtab, &error)) ||
               (module->table == NULL && !takeEvent(vtab, &error))) {
        *errPtr = sqlite3_mprintf("%s", error.message);
    } else if (declare(db, vtab->table) == SQLITE_OK) {
        *vtabPtr = &vtab->base;
        return SQLITE_OK;
    } else {
        *errPtr = sqlite3_mprintf("%s", sqlite3_errmsg(db));
    }
    freeVtab(vtab);
    return SQLITE_ERROR;
}

static int createTable(sqlite3 *db, void *aux, int argc, const char *const *argv,
        sqlite3_vtab **vtabPtr, char **errPtr)
{
    return connectTable(db, aux, argc, argv, vtabPtr, errPtr);
}

static int disconnectTable(sqlite3_vtab *vtab)
{
    freeVtab((SqlVtab *)vtab);
    return SQLITE_OK;
}

/* ---- Conditions ---------------------------------------------------------------------------------- */

/*
 * How a condition restricts what is read: a letter for sqlite3_index_info.idxStr. `=` one value, `i` a list of values, `<`,
 * `>` bounds of the time; 0: not.
 */
static char useOf(sqlite3_index_info *info, int index, const SqlColumn *column)
{
    switch (info->aConstraint[index].op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
        break;
    case SQLITE_INDEX_CONSTRAINT_GT:
    case SQLITE_INDEX_CONSTRAINT_GE:
        return column->bound == SQL_TIME ? '>' : 0;
    case SQLITE_INDEX_CONSTRAINT_LT:
    case SQLITE_INDEX_CONSTRAINT_LE:
        return column->bound == SQL_TIME ? '<' : 0;
    default:
        return 0;
    }
    if (column->bound == SQL_UNBOUND) {
        return 0;
    }
    if (column->bound >= SQL_PROVIDER && column->bound <= SQL_TRACE &&
            strcmp(sqlite3_vtab_collation(info, index), "BINARY") != 0) {
        return 0;
    }
    bool list = column->bound != SQL_TIME && column->bound != SQL_SOURCE &&
                sqlite3_libversion_number() >= VERSION_IN && sqlite3_vtab_in(info, index, -1);
    if (list) {
        sqlite3_vtab_in(info, index, 1);
    }
    return list ? 'i' : '=';
}

/*
 * The first usable condition that names the file of a table-valued function. SQLite tests the others, and all of a table, whose
 * files are known. -1: none. *missingPtr: there are only conditions that are not usable, so the file is not known in this plan.
 */
static int sourceCondition(const SqlVtab *vtab, const sqlite3_index_info *info, bool *missingPtr)
{
    *missingPtr = false;
    for (int i = 0; i < info->nConstraint && vtab->traceCount == 0; i++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[i];
        const SqlColumn *column = columnAt(vtab->table, c->iColumn);
        if (column != NULL && column->bound == SQL_SOURCE && c->op == SQLITE_INDEX_CONSTRAINT_EQ) {
            if (c->usable) {
                *missingPtr = false;
                return i;
            }
            *missingPtr = true;
        }
    }
    return -1;
}

/* Whether the columns in use need the names of processes. */
static bool needsNames(const SqlTable *table, sqlite3_uint64 used)
{
    enum { LAST = 63 }; /* stands for all following columns */
    bool names = false;
    for (int i = 0; i < table->columnCount; i++) {
        names |= table->columns[i].named && (used >> (i < LAST ? i : LAST) & 1) != 0;
    }
    return names;
}

/* idxNum: flags, and in a plan with groups the bits of the columns in use. */
enum { PLAN_NAMES = 1, PLAN_ORDERED = 2, PLAN_GROUPED = 4, PLAN_ONCE = 8, PLAN_BITS = 4 };

/* Events of one file are read in the order of their times. */
static bool isTimeOrder(const SqlVtab *vtab, const sqlite3_index_info *info, int source)
{
    const SqlColumn *column =
            info->nOrderBy == 1 ? columnAt(vtab->table, info->aOrderBy[0].iColumn) : NULL;
    return column != NULL && column->bound == SQL_TIME && !info->aOrderBy[0].desc &&
           vtab->table->maker == NULL && (vtab->traceCount == 1 || source >= 0);
}

/* Events can be counted instead of sorted: the query needs only columns that SqlGroups has. */
static bool isGrouped(const SqlVtab *vtab, const sqlite3_index_info *info)
{
    const sqlite3_uint64 columns = SQL_GROUP_COLUMNS | 1u << (SQL_EVENT_COLUMNS + 1);
    bool grouped =
            vtab->table == &sqlEventsTable && info->nOrderBy > 0 && (info->colUsed & ~columns) == 0;
    for (int i = 0; i < info->nOrderBy && grouped; i++) {
        int column = info->aOrderBy[i].iColumn;
        grouped = column >= 0 && (SQL_GROUP_COLUMNS >> column & 1) != 0;
    }
    for (int i = 0; i < info->nConstraint && grouped; i++) {
        grouped = info->aConstraint[i].iColumn >= 0; /* a row number */
    }
    return grouped;
}

/* The order of rows that the query requests, if it comes at no cost. Returns flags of idxNum; *plan gets the columns of groups. */
static int planOrder(const SqlVtab *vtab, sqlite3_index_info *info, int source, EtwText *plan)
{
    enum { DISTINCT = 2 };
    if (isTimeOrder(vtab, info, source)) {
        info->orderByConsumed = 1;
        return PLAN_ORDERED;
    }
    if (!isGrouped(vtab, info)) {
        return 0;
    }
    for (int i = 0; i < info->nOrderBy; i++) {
        EtwTextChar(plan, (char)(SQL_GROUP_FIRST + info->aOrderBy[i].iColumn));
        EtwTextChar(plan, info->aOrderBy[i].desc ? '-' : '+');
    }
    info->orderByConsumed = 1;
    bool once =
            sqlite3_libversion_number() >= VERSION_IN && sqlite3_vtab_distinct(info) == DISTINCT;
    return PLAN_GROUPED | (once ? PLAN_ONCE : 0) | (int)(info->colUsed << PLAN_BITS);
}

/* idxStr has two characters for each argument: a letter for SqlBound, and the use; then those of planOrder. */
static int bestIndex(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const SqlVtab *vtab = (const SqlVtab *)base;
    EtwText plan = {0};
    double rows = 1e7;
    bool missing;
    int source = sourceCondition(vtab, info, &missing);
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[i];
        const SqlColumn *column = columnAt(vtab->table, c->iColumn);
        bool skip = column == NULL || !c->usable || (column->bound == SQL_SOURCE && i != source);
        char use = skip ? 0 : useOf(info, i, column);
        if (use != 0) {
            EtwTextChar(&plan, (char)('a' + column->bound));
            EtwTextChar(&plan, use);
            info->aConstraintUsage[i].argvIndex = (int)(plan.size / 2);
            info->aConstraintUsage[i].omit = column->bound == SQL_SOURCE;
            rows /= column->bound == SQL_SOURCE ? 1 : use == '=' ? 100 : 4;
        }
    }
    info->idxNum = planOrder(vtab, info, source, &plan) |
                   (needsNames(vtab->table, info->colUsed) ? PLAN_NAMES : 0);
    EtwTextChar(&plan, 0);
    info->idxStr = sqlite3_mprintf("%s", plan.data);
    info->needToFreeIdxStr = 1;
    EtwTextFree(&plan);
    /* A filter is applied while the file is read to its end. */
    info->estimatedCost = 1e7 + rows;
    info->estimatedRows = (sqlite3_int64)rows;
    if (missing) {
        return SQLITE_CONSTRAINT;
    }
    return info->idxStr != NULL ? SQLITE_OK : SQLITE_NOMEM;
}

/* ---- Cursors ------------------------------------------------------------------------------------- */

static int openCursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursorPtr)
{
    SqlCursor *cursor = EtwAlloc(sizeof *cursor);
    cursor->table = ((SqlVtab *)vtab)->table;
    SqlFilterInit(&cursor->reading.filter);
    *cursorPtr = &cursor->base;
    return SQLITE_OK;
}

static void closeReading(SqlCursor *cursor)
{
    SqlMadeFree(cursor);
    SqlFieldsFree(cursor->fields);
    SqlGroupsFree(cursor->groups);
    cursor->fields = NULL;
    cursor->groups = NULL;
    SqlReadingClose(&cursor->reading);
    EtwFree(cursor->source);
    cursor->source = NULL;
    cursor->row = 0;
    cursor->ended = false;
    cursor->reading = (SqlReading){0};
    SqlFilterInit(&cursor->reading.filter);
}

static int closeCursor(sqlite3_vtab_cursor *base)
{
    SqlCursor *cursor = (SqlCursor *)base;
    closeReading(cursor);
    EtwFree(cursor);
    return SQLITE_OK;
}

static void addNumber(SqlNumbers *numbers, int64_t n)
{
    numbers->list = EtwRealloc(numbers->list, sizeof *numbers->list * (numbers->count + 1));
    numbers->list[numbers->count++] = n;
}

/* False: a value that cannot be a text without NULs, as all values of the column are. */
static bool addText(SqlTexts *texts, sqlite3_value *value)
{
    const char *text = (const char *)sqlite3_value_text(value);
    if (text == NULL || strlen(text) != (size_t)sqlite3_value_bytes(value)) {
        return false;
    }
    SqlTextsAdd(texts, text);
    return true;
}

/* The value at the list's position, or the only one; NULL after the last. */
static sqlite3_value *valueAt(sqlite3_value *arg, char use, bool first)
{
    sqlite3_value *value = NULL;
    if (use != 'i') {
        return first ? arg : NULL;
    }
    int result = first ? sqlite3_vtab_in_first(arg, &value) : sqlite3_vtab_in_next(arg, &value);
    return result == SQLITE_OK ? value : NULL;
}

/* A list with a value of another type than the column's is left to SQLite. */
static void takeNumbers(SqlFilter *filter, SqlNumbers *old, sqlite3_value *arg, char use)
{
    SqlNumbers taken = {.given = true};
    bool plain = true;
    for (sqlite3_value *v = valueAt(arg, use, true); v != NULL; v = valueAt(arg, use, false)) {
        int type = sqlite3_value_type(v);
        plain &= type == SQLITE_INTEGER || type == SQLITE_NULL;
        if (type == SQLITE_INTEGER) {
            addNumber(&taken, sqlite3_value_int64(v));
        }
    }
    if (plain) {
        SqlNumbersTake(filter, old, &taken);
    }
    EtwFree(taken.list);
}

static void takeTexts(SqlFilter *filter, SqlTexts *old, sqlite3_value *arg, char use)
{
    SqlTexts taken = {.given = true};
    bool plain = true;
    for (sqlite3_value *v = valueAt(arg, use, true); v != NULL; v = valueAt(arg, use, false)) {
        int type = sqlite3_value_type(v);
        plain &= type == SQLITE_NULL || (type == SQLITE_TEXT && addText(&taken, v));
    }
    if (plain) {
        SqlTextsTake(filter, old, &taken);
    }
    SqlTextsFree(&taken);
}

/* Bounds include the value: SQLite tests the condition again. */
static void takeTime(SqlFilter *filter, sqlite3_value *arg, char use)
{
    int type = sqlite3_value_type(arg);
    int64_t time = sqlite3_value_int64(arg);
    filter->none |= type == SQLITE_NULL;
    if (type != SQLITE_INTEGER) {
        return;
    }
    if (use != '<' && time > filter->from) {
        filter->from = time;
    }
    if (use != '>' && time < filter->to) {
        filter->to = time;
    }
}

static void takeCondition(SqlCursor *cursor, SqlBound bound, char use, sqlite3_value *arg)
{
    SqlFilter *filter = &cursor->reading.filter;
    switch (bound) {
    case SQL_TIME:
        takeTime(filter, arg, use);
        break;
    case SQL_ID:
        takeNumbers(filter, &filter->ids, arg, use);
        break;
    case SQL_PID:
        takeNumbers(filter, &filter->pids, arg, use);
        break;
    case SQL_TID:
        takeNumbers(filter, &filter->tids, arg, use);
        break;
    case SQL_PROVIDER:
        takeTexts(filter, &filter->providers, arg, use);
        break;
    case SQL_EVENT:
        takeTexts(filter, &filter->events, arg, use);
        break;
    case SQL_TRACE:
        takeTexts(filter, &filter->traces, arg, use);
        break;
    case SQL_SOURCE: {
        const char *text = (const char *)sqlite3_value_text(arg);
        bool whole = text != NULL && strlen(text) == (size_t)sqlite3_value_bytes(arg);
        EtwFree(cursor->source);
        cursor->source = EtwStrdup(whole ? text : "");
        break;
    }
    case SQL_UNBOUND:
    default:
        break;
    }
}

static int fail(SqlCursor *cursor, const char *message)
{
    sqlite3_free(cursor->base.pVtab->zErrMsg);
    cursor->base.pVtab->zErrMsg = sqlite3_mprintf("%s", message);
    cursor->ended = true;
    return SQLITE_ERROR;
}

static int nextRow(sqlite3_vtab_cursor *base)
{
    SqlCursor *cursor = (SqlCursor *)base;
    EtwError error = {0};
    EtwStatus status;
    if (cursor->groups != NULL) {
        status = SqlGroupsNext(cursor->groups) ? ETW_OK : ETW_END;
    } else if (cursor->table->maker != NULL) {
        status = SqlMadeNext(cursor, &error);
    } else {
        status = SqlReadingNext(&cursor->reading, &error);
    }
    cursor->row++;
    cursor->ended = status == ETW_END;
    if (status != ETW_OK) {
        return status == ETW_END ? SQLITE_OK : fail(cursor, error.message);
    }
    if (cursor->ordered && cursor->reading.event.time < cursor->time) {
        return fail(cursor,
                "the events of the file are not in the order of their times: write "
                "\"ORDER BY +time\" instead of \"ORDER BY time\", so that they are sorted");
    }
    cursor->time = cursor->ordered ? cursor->reading.event.time : 0;
    return SQLITE_OK;
}

static int filterRows(
        sqlite3_vtab_cursor *base, int idxNum, const char *idxStr, int argc, sqlite3_value **argv)
{
    SqlCursor *cursor = (SqlCursor *)base;
    const SqlVtab *vtab = (const SqlVtab *)base->pVtab;
    SqlReading *reading = &cursor->reading;
    closeReading(cursor);
    cursor->selected = false;
    reading->names = (idxNum & PLAN_NAMES) != 0;
    const SqlMaker *maker = vtab->table->maker;
    reading->names |= maker != NULL && maker->named;
    reading->stacks = maker != NULL && maker->stacks;
    for (int i = 0; i < argc; i++) {
        SqlBound bound = (SqlBound)(idxStr[2 * i] - 'a');
        reading->names |= bound == SQL_PID || bound == SQL_TID;
        cursor->selected |= bound != SQL_SOURCE;
        takeCondition(cursor, bound, idxStr[2 * i + 1], argv[i]);
    }
    if (vtab->event != NULL) {
        SqlEventTableFilter(vtab->event, &reading->filter);
    }
    reading->connection = vtab->connection;
    reading->traces = vtab->traceCount > 0 ? vtab->traces : &cursor->source;
    reading->traceCount = vtab->traceCount > 0 ? vtab->traceCount : cursor->source != NULL;
    if (reading->traceCount == 0) {
        return fail(cursor,
                "no trace was given: expected a table-valued function with the path of a "
                "trace, as in etw_events('FILE.etl')");
    }
    cursor->ordered = (idxNum & PLAN_ORDERED) != 0;
    cursor->time = INT64_MIN;
    if ((idxNum & PLAN_GROUPED) != 0) {
        EtwError error = {0};
        cursor->groups = SqlGroupsNew((unsigned)idxNum >> PLAN_BITS, idxStr + 2 * (size_t)argc,
                (idxNum & PLAN_ONCE) != 0);
        if (SqlGroupsRead(cursor->groups, reading, &error) != ETW_OK) {
            return fail(cursor, error.message);
        }
    }
    return nextRow(base);
}

static int atEnd(sqlite3_vtab_cursor *base)
{
    return ((SqlCursor *)base)->ended;
}

static int columnValue(sqlite3_vtab_cursor *base, sqlite3_context *result, int column)
{
    SqlCursor *cursor = (SqlCursor *)base;
    int count = cursor->table->columnCount;
    if (column < count && cursor->groups != NULL) {
        SqlGroupsColumn(cursor->groups, result, column);
    } else if (column < count && cursor->table->maker != NULL) {
        SqlMadeColumn(cursor, result, column);
    } else if (column < count) {
        cursor->table->column(cursor, result, column);
    } else if (column == count || cursor->source != NULL) {
        const char *trace =
                cursor->groups != NULL ? SqlGroupsTrace(cursor->groups) : cursor->reading.trace;
        SqlResultText(&cursor->reading, result, column == count ? trace : cursor->source);
    }
    return SQLITE_OK;
}

static int rowNumber(sqlite3_vtab_cursor *base, sqlite3_int64 *rowPtr)
{
    SqlCursor *cursor = (SqlCursor *)base;
    *rowPtr = cursor->row;
    return cursor->groups == NULL && !cursor->selected
                   ? SQLITE_OK
                   : fail(cursor, "rows that a condition selects, and events that are counted in "
                                  "groups, have no rowid, "
                                  "which also RIGHT JOIN and FULL JOIN need: write LEFT JOIN with "
                                  "the tables exchanged, "
                                  "or add a column such as time to the query");
}

#define CURSOR_METHODS                                                                             \
    .xBestIndex = bestIndex, .xDisconnect = disconnectTable, .xDestroy = disconnectTable,          \
    .xOpen = openCursor, .xClose = closeCursor, .xFilter = filterRows, .xNext = nextRow,           \
    .xEof = atEnd, .xColumn = columnValue, .xRowid = rowNumber
/* SQLite makes a table-valued function of a module whose two functions are the same. */
static const sqlite3_module functionModule = {
        .xCreate = connectTable, .xConnect = connectTable, CURSOR_METHODS};
static const sqlite3_module tableModule = {
        .xCreate = createTable, .xConnect = connectTable, CURSOR_METHODS};

static void freeModule(void *data)
{
    SqlModule *module = data;
    SqlConnectionRelease(module->connection);
    EtwFree(module);
}

static int registerModule(
        sqlite3 *db, const char *name, const sqlite3_module *methods, SqlModule from)
{
    SqlModule *module = EtwAlloc(sizeof *module);
    *module = from;
    module->connection->users++;
    return sqlite3_create_module_v2(db, name, methods, module, freeModule);
}

int SqlTableRegister(
        sqlite3 *db, const char *name, const SqlTable *table, bool check, SqlConnection *connection)
{
    return registerModule(db, name, check ? &tableModule : &functionModule,
            (SqlModule){table, check, connection});
}

int SqlEventRegister(sqlite3 *db, SqlConnection *connection)
{
    return registerModule(db, "etw_event", &tableModule, (SqlModule){NULL, false, connection});
}
