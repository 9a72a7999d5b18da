/*
 * sql/extension.c --
 *
 *	The entry point of libetwsqlite, which SQLite calls when the extension is loaded, and the function etw_open.
 */
#define _GNU_SOURCE /* dladdr */
#include "sql/sql_int.h"
#include "base/os.h"
#include "schema/catalog/catalog.h"
#include "schema/store/definition_files.h"
#include <dlfcn.h>

SQLITE_EXTENSION_INIT1

enum { VERSION_LEAST = 3022000 /* sqlite3_vtab_collation */ };

/* The tables that etw_open makes: name and module. */
static const struct OpenedTable {
    const char *name, *module;
} opened[] = {{"events", "etw_events"}, {"calls", "etw_calls"}, {"waits", "etw_waits"},
        {"processes", "etw_processes"}, {"threads", "etw_threads"}, {"files", "etw_files"},
        {"stacks", "etw_stacks"}, {"losses", "etw_losses"}, {"classes", "etw_classes"},
        {"schema", "etw_schema"}};

/* The files of etw_open, as arguments of a module. */
typedef struct Files {
    EtwText sql;
    SqlTexts paths;
} Files;

/* False: the file cannot be read; the error is reported. */
static bool addFile(Files *files, sqlite3_context *context, const char *path)
{
    EtwError error = {0};
    EtwSource *source;
    if (SqlSourceOpen(&source, path, &error) != ETW_OK) {
        sqlite3_result_error(context, error.message, -1);
        return false;
    }
    EtwSourceClose(source);
    SqlTexts *paths = &files->paths;
    EtwTextStr(&files->sql, paths->count > 0 ? ", " : "");
    SqlAddQuoted(&files->sql, path);
    SqlTextsAdd(paths, path);
    return true;
}

/* False: too many; the error is reported. */
static bool countFiles(sqlite3_context *context, int count)
{
    enum { OTHER_ARGS = 5 }; /* of a virtual table */
    int most =
            sqlite3_limit(sqlite3_context_db_handle(context), SQLITE_LIMIT_COLUMN, -1) - OTHER_ARGS;
    if (count <= most) {
        return true;
    }
    char *message = sqlite3_mprintf(
            "etw_open: %d files were given, and SQLite allows %d for one table", count, most);
    sqlite3_result_error(context, message, -1);
    sqlite3_free(message);
    return false;
}

/* A BLOB has paths that each end with a NUL: a function has at most 127 arguments. */
static bool addBlob(Files *files, sqlite3_context *context, sqlite3_value *value)
{
    const char *bytes = sqlite3_value_blob(value);
    size_t size = (size_t)sqlite3_value_bytes(value);
    int count = 0;
    for (size_t i = 0; i < size; i++) {
        count += bytes[i] == 0;
    }
    bool good = countFiles(context, count);
    for (size_t at = 0; good && at < size; at += strlen(bytes + at) + 1) {
        good = addFile(files, context, bytes + at);
    }
    return good;
}

/* False: one of the files cannot be read; the error is reported. */
static bool addFiles(Files *files, sqlite3_context *context, int argc, sqlite3_value **argv)
{
    bool good = true;
    for (int i = 0; i < argc && good; i++) {
        int size = sqlite3_value_bytes(argv[i]);
        if (sqlite3_value_type(argv[i]) == SQLITE_BLOB && size > 0 &&
                ((const char *)sqlite3_value_blob(argv[i]))[size - 1] == 0) {
            good = addBlob(files, context, argv[i]);
            continue;
        }
        const char *path = (const char *)sqlite3_value_text(argv[i]);
        if (path == NULL || strlen(path) != (size_t)sqlite3_value_bytes(argv[i])) {
            sqlite3_result_error(context, "etw_open: expected the path of a trace", -1);
            good = false;
        } else {
            good = addFile(files, context, path);
        }
    }
    EtwTextChar(&files->sql, 0);
    return good && countFiles(context, (int)files->paths.count);
}

/* etw_schema_load(FILE): descriptions of events, for all tables of this process. Returns the number of events. */
static void loadSchemas(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const char *path = (const char *)sqlite3_value_text(argv[0]);
    EtwError error = {0};
    int providers = 0, events = 0;
    (void)argc;
    if (EtwSchemaLoad(path != NULL ? path : "", &providers, &events, &error) != ETW_OK) {
        sqlite3_result_error(context, error.message, -1);
    } else {
        sqlite3_result_int(context, events);
    }
}

/* etw_open(FILE, ...): temporary tables and views over these files, which replace those of the previous call. */
static void openTraces(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    sqlite3 *db = sqlite3_context_db_handle(context);
    Files files = {0};
    char *message = NULL;
    if (argc == 0) {
        sqlite3_result_error(context, "etw_open: expected the paths of traces", -1);
    } else if (addFiles(&files, context, argc, argv)) {
        int result = SqlConnectionOpen(sqlite3_user_data(context), db, &files.paths, &message);
        for (size_t i = 0; i < sizeof opened / sizeof *opened && result == SQLITE_OK; i++) {
            char *sql = sqlite3_mprintf("DROP TABLE IF EXISTS temp.%s;"
                                        "CREATE VIRTUAL TABLE temp.%s USING %s(%s)",
                    opened[i].name, opened[i].name, opened[i].module, files.sql.data);
            result = sqlite3_exec(db, sql, NULL, NULL, &message);
            sqlite3_free(sql);
        }
        for (int i = 0; sqlViews[i] != NULL && result == SQLITE_OK; i++) {
            result = sqlite3_exec(db, sqlViews[i], NULL, NULL, &message);
        }
        if (result != SQLITE_OK) {
            sqlite3_result_error(context, message != NULL ? message : sqlite3_errstr(result), -1);
        }
    }
    sqlite3_free(message);
    EtwTextFree(&files.sql);
    SqlTextsFree(&files.paths);
}

/* The catalogue of providers is in the directory `library` beside this file. */
static void useCatalog(void)
{
    Dl_info info;
    EtwText path = {0};
    if (dladdr((void *)(intptr_t)useCatalog, &info) == 0 || info.dli_fname == NULL) {
        return;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    if (slash != NULL) {
        EtwTextAdd(&path, info.dli_fname, (size_t)(slash + 1 - info.dli_fname));
    }
    EtwTextStr(&path, "library/catalog.dat");
    EtwTextChar(&path, 0);
    if (*EtwCatalogPath() == 0 && OsFileExists(path.data)) {
        EtwCatalogUse(path.data);
    }
    EtwTextFree(&path);
}

__attribute__((visibility("default"))) int sqlite3_etwsqlite_init(
        sqlite3 *db, char **errPtr, const sqlite3_api_routines *api);

int sqlite3_etwsqlite_init(sqlite3 *db, char **errPtr, const sqlite3_api_routines *api)
{
    SQLITE_EXTENSION_INIT2(api);
    if (sqlite3_libversion_number() < VERSION_LEAST) {
        *errPtr = sqlite3_mprintf(
                "libetwsqlite needs SQLite 3.22 or newer, and this is %s", sqlite3_libversion());
        return SQLITE_ERROR;
    }
    OsInit();
    useCatalog();
    SqlConnection *connection = SqlConnectionNew();
    int result = SqlConnectionRegister(connection, db);
    if (result == SQLITE_OK) {
        result = SqlTableRegister(db, "etw", &sqlEventsTable, true, connection);
    }
    static const SqlTable *const tables[] = {&sqlEventsTable, &sqlCallsTable, &sqlWaitsTable,
            &sqlProcessesTable, &sqlThreadsTable, &sqlFilesTable, &sqlStacksTable, &sqlLossesTable,
            &sqlClassesTable, &sqlSchemaTable};
    for (size_t i = 0; i < sizeof tables / sizeof *tables && result == SQLITE_OK; i++) {
        result = SqlTableRegister(db, tables[i]->name, tables[i], false, connection);
    }
    if (result == SQLITE_OK) {
        result = SqlEventRegister(db, connection);
    }
    if (result == SQLITE_OK) {
        result = SqlLinesRegister(db, connection);
    }
    if (result == SQLITE_OK) {
        connection->users++;
        result = sqlite3_create_function_v2(db, "etw_open", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                connection, openTraces, NULL, NULL, SqlConnectionRelease);
    }
    if (result == SQLITE_OK) {
        result = sqlite3_create_function_v2(db, "etw_schema_load", 1,
                SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL, loadSchemas, NULL, NULL, NULL);
    }
    SqlConnectionRelease(connection);
    /* Schemas of a process are never freed, so the library stays loaded. */
    return result == SQLITE_OK ? SQLITE_OK_LOAD_PERMANENTLY : result;
}
