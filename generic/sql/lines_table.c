/*
 * sql/lines_table.c --
 *
 *	The result of a query as lines of text, for `etw sql`: a table-valued function etw_lines(QUERY, FORMAT). It runs the
 *	statements of QUERY one after the other on the same connection. csv and list begin with the names of the columns, json and
 *	dict have them in each line.
 *	The statements cannot read etw_lines again: without a limit, such a recursion would end with the stack.
 */
#include "sql/sql_int.h"
#include "base/os.h"
#include "base/unicode.h"
#include "schema/model/tcl_list.h"

enum { LINE_TEXT, LINE_QUERY, LINE_FORMAT };

typedef struct LinesModule {
    SqlConnection *connection;
    int depth;           /* of statements that run for etw_lines on this connection */
    const char *refused; /* why the statement was refused; NULL: it was not */
} LinesModule;

typedef struct LinesVtab {
    sqlite3_vtab base; /* first */
    sqlite3 *db;
    struct LinesModule *module;
} LinesVtab;

typedef struct LinesCursor {
    sqlite3_vtab_cursor base; /* first */
    char *query, *format;
    const char *rest; /* in query: the statements after the current one */
    sqlite3_stmt *statement;
    bool ended, headed; /* headed: the names of the columns were delivered */
    sqlite3_int64 row;
    EtwText line, valid;
} LinesCursor;

/* ---- Formats ------------------------------------------------------------------------------------- */

/* Bytes as hexadecimal digits; all other values as valid UTF-8, in c->valid. */
static void readText(LinesCursor *c, int column)
{
    const uint8_t *bytes;
    size_t size;
    c->valid.size = 0;
    if (sqlite3_column_type(c->statement, column) == SQLITE_BLOB) {
        bytes = sqlite3_column_blob(c->statement, column);
        size = (size_t)sqlite3_column_bytes(c->statement, column);
        for (size_t i = 0; i < size; i++) {
            EtwTextHex(&c->valid, bytes[i], 2);
        }
    } else {
        bytes = sqlite3_column_text(c->statement, column);
        size = (size_t)sqlite3_column_bytes(c->statement, column);
        if (size != 0) {
            EtwTextUtf8(&c->valid, bytes, size);
        }
    }
    EtwTextReserve(&c->valid, 1);
}

static void addCsv(LinesCursor *c, const char *text, size_t size)
{
    bool quote = false;
    for (size_t i = 0; i < size && !quote; i++) {
        quote = text[i] == ',' || text[i] == '"' || text[i] == '\n' || text[i] == '\r';
    }
    if (quote) {
        EtwAddCsvQuoted(&c->line, "", text, size);
    } else {
        EtwTextAdd(&c->line, text, size);
    }
}

static void addJsonValue(LinesCursor *c, int column)
{
    int type = sqlite3_column_type(c->statement, column);
    readText(c, column);
    const char *text = c->valid.data;
    bool finite = c->valid.size > 0 && strchr("0123456789", text[c->valid.size - 1]) != NULL;
    if (type == SQLITE_NULL) {
        ETW_ADD(&c->line, "null");
    } else if (type == SQLITE_INTEGER || (type == SQLITE_FLOAT && finite)) {
        EtwTextAdd(&c->line, text, c->valid.size);
    } else {
        EtwAddJson(&c->line, text, c->valid.size);
    }
}

/* Names of columns are the user's words, which may be any bytes. */
static void readName(LinesCursor *c, int column)
{
    const char *name = sqlite3_column_name(c->statement, column);
    c->valid.size = 0;
    EtwTextReserve(&c->valid, 1);
    if (name != NULL) {
        EtwTextUtf8(&c->valid, (const uint8_t *)name, strlen(name));
    }
}

static void writeJson(LinesCursor *c, int count)
{
    for (int i = 0; i < count; i++) {
        EtwTextChar(&c->line, i == 0 ? '{' : ',');
        readName(c, i);
        EtwAddJson(&c->line, c->valid.data, c->valid.size);
        EtwTextChar(&c->line, ':');
        addJsonValue(c, i);
    }
    EtwTextChar(&c->line, '}');
}

static void writeDict(LinesCursor *c, int count)
{
    for (int i = 0; i < count; i++) {
        EtwTextStr(&c->line, i == 0 ? "" : " ");
        readName(c, i);
        EtwListElement(&c->line, c->valid.data, c->valid.size);
        EtwTextChar(&c->line, ' ');
        readText(c, i);
        SqlReplaceNuls(&c->valid); /* SQLite's interface for Tcl ends a text there */
        EtwListElement(&c->line, c->valid.data, c->valid.size);
    }
}

static void writeCells(LinesCursor *c, int count, bool names)
{
    bool csv = strcmp(c->format, "csv") == 0;
    for (int i = 0; i < count; i++) {
        if (i > 0) {
            EtwTextChar(&c->line, csv ? ',' : ' ');
        }
        if (names) {
            readName(c, i);
        } else {
            readText(c, i);
        }
        SqlReplaceNuls(&c->valid); /* SQLite's interface for Tcl ends a text there */
        if (csv) {
            addCsv(c, c->valid.data, c->valid.size);
        } else {
            EtwListElement(&c->line, c->valid.data, c->valid.size);
        }
    }
}

static void writeLine(LinesCursor *c, bool names)
{
    int count = sqlite3_column_count(c->statement);
    c->line.size = 0;
    EtwTextReserve(&c->line, 1);
    if (strcmp(c->format, "json") == 0) {
        writeJson(c, count);
    } else if (strcmp(c->format, "dict") == 0) {
        writeDict(c, count);
    } else {
        writeCells(c, count, names);
    }
}

/* ---- Statements ----------------------------------------------------------------------------------- */

static int failOf(LinesCursor *c, const char *message)
{
    sqlite3_free(c->base.pVtab->zErrMsg);
    c->base.pVtab->zErrMsg = sqlite3_mprintf("%s", message);
    c->ended = true;
    return SQLITE_ERROR;
}

/* sqlite3_step of the current statement, which may read tables. */
static int step(LinesCursor *c)
{
    int *depth = &((LinesVtab *)c->base.pVtab)->module->depth;
    ++*depth;
    int result = sqlite3_step(c->statement);
    --*depth;
    return result;
}

/*
 * What a statement may do: its tables vanish with its connection, and it creates no file. (SQLite could not drop a table while
 * etw_lines runs.)
 */
static int authorize(void *data, int action, const char *first, const char *second,
        const char *database, const char *trigger)
{
    LinesModule *module = data;
    (void)second, (void)database, (void)trigger;
    switch (action) {
    case SQLITE_DROP_TABLE:
    case SQLITE_DROP_TEMP_TABLE:
    case SQLITE_DROP_VTABLE:
    case SQLITE_DROP_VIEW:
    case SQLITE_DROP_TEMP_VIEW:
    case SQLITE_DROP_INDEX:
    case SQLITE_DROP_TEMP_INDEX:
        module->refused = "DROP is refused: tables, views and indexes vanish with the query";
        return SQLITE_DENY;
    case SQLITE_ATTACH:
        if (first == NULL ||
                (*first != 0 && strcmp(first, ":memory:") != 0 && !OsFileExists(first))) {
            module->refused = "ATTACH is refused: it needs the name of an existing file, because a "
                              "query creates no file";
            return SQLITE_DENY;
        }
        return SQLITE_OK;
    default:
        return SQLITE_OK;
    }
}

/* sqlite3_prepare_v2 of the next statement. */
static bool compile(LinesCursor *c, sqlite3 *db, const char *sql)
{
    LinesModule *module = ((LinesVtab *)c->base.pVtab)->module;
    module->refused = NULL;
    sqlite3_set_authorizer(db, authorize, module);
    int result = sqlite3_prepare_v2(db, sql, -1, &c->statement, &c->rest);
    sqlite3_set_authorizer(db, NULL, NULL);
    return result == SQLITE_OK;
}

/* Make a table of events that the next statement needs and that is absent. False: it is not that. */
static bool makeTable(LinesCursor *c, sqlite3 *db)
{
    static const char absent[] = "no such table: ";
    const char *message = sqlite3_errmsg(db);
    if (strncmp(message, absent, sizeof absent - 1) != 0) {
        return false;
    }
    message += sizeof absent - 1;
    message += strncmp(message, "temp.", 5) == 0 ? 5 : 0;
    char *name = EtwStrdup(message);
    bool made = SqlConnectionTable(((LinesVtab *)c->base.pVtab)->module->connection, db, name);
    EtwFree(name);
    return made;
}

/* Prepare the next statement. False: an error of SQLite. */
static bool prepare(LinesCursor *c, sqlite3 *db)
{
    enum { TABLES_MAX = 1000 };
    const char *rest = c->rest;
    for (int made = 0;; made++) {
        if (compile(c, db, rest)) {
            return true;
        }
        if (made == TABLES_MAX || !makeTable(c, db)) {
            /* The error of this statement, which making tables may have replaced. */
            return compile(c, db, rest);
        }
    }
}

static int nextLine(sqlite3_vtab_cursor *base)
{
    LinesCursor *c = (LinesCursor *)base;
    const LinesVtab *vtab = (const LinesVtab *)base->pVtab;
    sqlite3 *db = vtab->db;
    if (vtab->module->depth > 0) {
        return failOf(c, "etw_lines cannot be nested");
    }
    c->row++;
    for (;;) {
        if (c->statement == NULL && *c->rest == 0) {
            c->ended = true;
            return SQLITE_OK;
        }
        if (c->statement == NULL) {
            if (!prepare(c, db)) {
                return failOf(c,
                        vtab->module->refused != NULL ? vtab->module->refused : sqlite3_errmsg(db));
            }
            c->headed = strcmp(c->format, "json") == 0 || strcmp(c->format, "dict") == 0 ||
                        sqlite3_column_count(c->statement) == 0;
            continue;
        }
        if (!c->headed) {
            c->headed = true;
            writeLine(c, true);
            return SQLITE_OK;
        }
        int result = step(c);
        if (result == SQLITE_ROW) {
            writeLine(c, false);
            return SQLITE_OK;
        }
        if (result != SQLITE_DONE) {
            return failOf(c, sqlite3_errmsg(db));
        }
        sqlite3_finalize(c->statement);
        c->statement = NULL;
    }
}

/* ---- The virtual table ------------------------------------------------------------------------------ */

static int connectLines(sqlite3 *db, void *aux, int argc, const char *const *argv,
        sqlite3_vtab **vtabPtr, char **errPtr)
{
    (void)argc, (void)argv, (void)errPtr;
    int result = sqlite3_declare_vtab(
            db, "CREATE TABLE t(line TEXT, query TEXT HIDDEN, format TEXT HIDDEN)");
    if (result == SQLITE_OK) {
        LinesVtab *vtab = EtwAlloc(sizeof *vtab);
        vtab->db = db;
        vtab->module = aux;
        *vtabPtr = &vtab->base;
        sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
    }
    return result;
}

static int disconnectLines(sqlite3_vtab *vtab)
{
    EtwFree(vtab);
    return SQLITE_OK;
}

static int bestLines(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    int found[3] = {-1, -1, -1};
    (void)vtab;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[i];
        if (c->op == SQLITE_INDEX_CONSTRAINT_EQ && c->usable && c->iColumn > LINE_TEXT) {
            found[c->iColumn] = i;
        }
    }
    if (found[LINE_QUERY] < 0 || found[LINE_FORMAT] < 0) {
        return SQLITE_CONSTRAINT;
    }
    for (int i = LINE_QUERY; i <= LINE_FORMAT; i++) {
        info->aConstraintUsage[found[i]].argvIndex = i;
        info->aConstraintUsage[found[i]].omit = 1;
    }
    info->estimatedCost = 1e6;
    return SQLITE_OK;
}

static int openLines(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursorPtr)
{
    LinesCursor *c = EtwAlloc(sizeof *c);
    (void)vtab;
    *cursorPtr = &c->base;
    return SQLITE_OK;
}

static int closeLines(sqlite3_vtab_cursor *base)
{
    LinesCursor *c = (LinesCursor *)base;
    sqlite3_finalize(c->statement);
    EtwFree(c->query);
    EtwFree(c->format);
    EtwTextFree(&c->line);
    EtwTextFree(&c->valid);
    EtwFree(c);
    return SQLITE_OK;
}

static char *textOf(sqlite3_value *value)
{
    const char *text = (const char *)sqlite3_value_text(value);
    return EtwStrdup(text != NULL ? text : "");
}

static int filterLines(
        sqlite3_vtab_cursor *base, int idxNum, const char *idxStr, int argc, sqlite3_value **argv)
{
    LinesCursor *c = (LinesCursor *)base;
    (void)idxNum, (void)idxStr, (void)argc;
    sqlite3_finalize(c->statement);
    c->statement = NULL;
    EtwFree(c->query);
    EtwFree(c->format);
    c->query = textOf(argv[0]);
    c->format = textOf(argv[1]);
    c->rest = c->query;
    c->ended = false;
    if (strcmp(c->format, "csv") != 0 && strcmp(c->format, "json") != 0 &&
            strcmp(c->format, "list") != 0 && strcmp(c->format, "dict") != 0) {
        return failOf(c, "unknown format: expected csv, json, list or dict");
    }
    return nextLine(base);
}

static int endOfLines(sqlite3_vtab_cursor *base)
{
    return ((LinesCursor *)base)->ended;
}

static int lineColumn(sqlite3_vtab_cursor *base, sqlite3_context *result, int column)
{
    LinesCursor *c = (LinesCursor *)base;
    if (column == LINE_TEXT) {
        sqlite3_result_text64(result, c->line.data, c->line.size, SQLITE_TRANSIENT, SQLITE_UTF8);
    } else {
        sqlite3_result_text(
                result, column == LINE_QUERY ? c->query : c->format, -1, SQLITE_TRANSIENT);
    }
    return SQLITE_OK;
}

static int lineNumber(sqlite3_vtab_cursor *base, sqlite3_int64 *rowPtr)
{
    *rowPtr = ((LinesCursor *)base)->row;
    return SQLITE_OK;
}

static const sqlite3_module linesModule = {.xConnect = connectLines,
        .xBestIndex = bestLines,
        .xDisconnect = disconnectLines,
        .xOpen = openLines,
        .xClose = closeLines,
        .xFilter = filterLines,
        .xNext = nextLine,
        .xEof = endOfLines,
        .xColumn = lineColumn,
        .xRowid = lineNumber};

static void freeLinesModule(void *data)
{
    SqlConnectionRelease(((LinesModule *)data)->connection);
    EtwFree(data);
}

int SqlLinesRegister(sqlite3 *db, SqlConnection *connection)
{
    LinesModule *module = EtwAlloc(sizeof *module);
    module->connection = connection;
    connection->users++;
    return sqlite3_create_module_v2(db, "etw_lines", &linesModule, module, freeLinesModule);
}
