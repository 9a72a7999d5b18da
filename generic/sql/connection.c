/*
 * sql/connection.c --
 *
 *	What a connection keeps between queries: warnings about files, the files of etw_open, and the tables of events that
 *	were made of them, by etw_tables or because a query of `etw sql` named one.
 */
#include "sql/sql_int.h"
#include "base/unicode.h"

/* ---- The connection ------------------------------------------------------------------------------- */

SqlConnection *SqlConnectionNew(void)
{
    SqlConnection *connection = EtwAlloc(sizeof *connection);
    connection->users = 1;
    return connection;
}

void SqlConnectionRelease(void *data)
{
    SqlConnection *c = data;
    if (--c->users == 0) {
        SqlTextsFree(&c->warnings);
        SqlTextsFree(&c->files);
        SqlTextsFree(&c->tables);
        SqlClassesFree(c->classes);
        EtwFree(c);
    }
}

/* ---- Warnings ------------------------------------------------------------------------------------- */

/* A file that is read again has the same warnings. */
void SqlConnectionWarn(SqlConnection *c, const EtwSource *source)
{
    enum { MOST = 1000 };
    for (int i = 0; i < EtwSourceWarningCount(source) && c->warnings.count < MOST; i++) {
        const char *text = EtwSourceWarning(source, i);
        bool known = false;
        for (size_t k = 0; k < c->warnings.count && !known; k++) {
            known = strcmp(c->warnings.list[k], text) == 0;
        }
        if (!known) {
            SqlTextsAdd(&c->warnings, text);
        }
    }
}

/* etw_warnings(N): the warning number N, beginning with 0, about the files that were read. NULL: there is none. */
static void warningAt(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const SqlConnection *c = sqlite3_user_data(context);
    sqlite3_int64 index = sqlite3_value_int64(argv[0]);
    EtwText text = {0};
    (void)argc;
    if (index >= 0 && (size_t)index < c->warnings.count) {
        const char *warning = c->warnings.list[index];
        EtwTextReserve(&text, 1);
        EtwTextUtf8(&text, (const uint8_t *)warning, strlen(warning));
        sqlite3_result_text(context, text.data, (int)text.size, SQLITE_TRANSIENT);
    }
    EtwTextFree(&text);
}

/* ---- Tables of events ------------------------------------------------------------------------------ */

void SqlAddQuoted(EtwText *sql, const char *text)
{
    EtwTextChar(sql, '\'');
    for (; *text != 0; text++) {
        EtwTextChar(sql, *text);
        if (*text == '\'') {
            EtwTextChar(sql, '\'');
        }
    }
    EtwTextChar(sql, '\'');
}

/* Drop the tables of events that were made of the files. */
static int dropTables(SqlConnection *c, sqlite3 *db, char **messagePtr)
{
    int result = SQLITE_OK;
    for (size_t i = 0; i < c->tables.count && result == SQLITE_OK; i++) {
        char *sql = sqlite3_mprintf("DROP TABLE IF EXISTS temp.\"%w\"", c->tables.list[i]);
        result = sqlite3_exec(db, sql, NULL, NULL, messagePtr);
        sqlite3_free(sql);
    }
    if (result == SQLITE_OK) {
        SqlTextsFree(&c->tables);
    }
    return result;
}

int SqlConnectionOpen(SqlConnection *c, sqlite3 *db, const SqlTexts *files, char **messagePtr)
{
    int result = dropTables(c, db, messagePtr);
    if (result != SQLITE_OK) {
        return result;
    }
    SqlClassesFree(c->classes);
    c->classes = NULL;
    SqlTextsFree(&c->files);
    for (size_t i = 0; i < files->count; i++) {
        SqlTextsAdd(&c->files, files->list[i]);
    }
    return SQLITE_OK;
}

bool SqlConnectionHas(const SqlConnection *c, char *const *traces, int count)
{
    bool same = c->classes != NULL && count == (int)c->files.count;
    for (int i = 0; i < count && same; i++) {
        same = strcmp(traces[i], c->files.list[i]) == 0;
    }
    return same;
}

/* Read the files of etw_open once, for the names and fields of their events. */
static bool readClasses(SqlConnection *c, EtwError *errPtr)
{
    SqlReading reading = {
            .traces = c->files.list, .traceCount = (int)c->files.count, .connection = c};
    if (c->classes != NULL) {
        return true;
    }
    SqlClasses *classes = SqlClassesNew();
    SqlFilterInit(&reading.filter);
    bool good = SqlClassesRead(classes, &reading, errPtr) == ETW_OK;
    SqlReadingClose(&reading);
    if (good) {
        c->classes = classes;
    } else {
        SqlClassesFree(classes);
    }
    return good;
}

static bool exists(sqlite3 *db, const char *name)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(db,
            "SELECT 1 FROM temp.sqlite_master WHERE name = ? COLLATE NOCASE", -1, &statement, NULL);
    if (result == SQLITE_OK) {
        sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
        result = sqlite3_step(statement);
    }
    sqlite3_finalize(statement);
    return result == SQLITE_ROW;
}

/* False: an error of SQLite. A table or view with that name stays. */
static bool makeTable(SqlConnection *c, sqlite3 *db, const SqlClass *class, char **messagePtr)
{
    EtwText args = {0};
    if (exists(db, class->name)) {
        return true;
    }
    for (size_t i = 0; i < c->files.count; i++) {
        SqlAddQuoted(&args, c->files.list[i]);
        EtwTextStr(&args, ", ");
    }
    SqlAddQuoted(&args, class->provider);
    EtwTextStr(&args, ", ");
    SqlAddQuoted(&args, class->event);
    EtwTextChar(&args, 0);
    char *sql = sqlite3_mprintf(
            "CREATE VIRTUAL TABLE temp.\"%w\" USING etw_event(%s)", class->name, args.data);
    int result = sqlite3_exec(db, sql, NULL, NULL, messagePtr);
    sqlite3_free(sql);
    EtwTextFree(&args);
    if (result == SQLITE_OK) {
        SqlTextsAdd(&c->tables, class->name);
    }
    return result == SQLITE_OK;
}

static const SqlClass *classNamed(const SqlConnection *c, const char *name)
{
    const SqlClass *class = SqlClassesList(c->classes);
    while (class != NULL && sqlite3_stricmp(class->name, name) != 0) {
        class = class->after;
    }
    return class;
}

bool SqlConnectionTable(SqlConnection *c, sqlite3 *db, const char *name)
{
    EtwError error = {0};
    char *message = NULL;
    if (strchr(name, '_') == NULL || !readClasses(c, &error)) {
        return false;
    }
    const SqlClass *class = classNamed(c, name);
    bool made = class != NULL && makeTable(c, db, class, &message);
    sqlite3_free(message);
    return made;
}

/* etw_tables(NAME, ...): make the tables of these events; without a name, of all. Returns their number. */
static void makeTables(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    SqlConnection *c = sqlite3_user_data(context);
    sqlite3 *db = sqlite3_context_db_handle(context);
    EtwError error = {0};
    char *message = NULL;
    int count = 0;
    bool good = readClasses(c, &error);
    if (!good) {
        message = sqlite3_mprintf("%s", error.message);
    }
    const SqlClass *class = good && argc == 0 ? SqlClassesList(c->classes) : NULL;
    for (; class != NULL && good; class = class->after, count++) {
        good = makeTable(c, db, class, &message);
    }
    for (int i = 0; i < argc && good; i++, count++) {
        const char *name = (const char *)sqlite3_value_text(argv[i]);
        class = classNamed(c, name != NULL ? name : "");
        good = class != NULL && makeTable(c, db, class, &message);
        if (class == NULL) {
            message = sqlite3_mprintf("the files have no event \"%s\": expected PROVIDER_EVENT, "
                                      "as in the column name of the table schema",
                    name != NULL ? name : "");
        }
    }
    if (good) {
        sqlite3_result_int(context, count);
    } else {
        sqlite3_result_error(context, message != NULL ? message : "out of memory", -1);
    }
    sqlite3_free(message);
}

int SqlConnectionRegister(SqlConnection *c, sqlite3 *db)
{
    c->users += 2;
    int result = sqlite3_create_function_v2(db, "etw_tables", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY,
            c, makeTables, NULL, NULL, SqlConnectionRelease);
    int other = sqlite3_create_function_v2(
            db, "etw_warnings", 1, SQLITE_UTF8, c, warningAt, NULL, NULL, SqlConnectionRelease);
    return result != SQLITE_OK ? result : other;
}
