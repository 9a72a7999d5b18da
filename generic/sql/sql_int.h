/*
 * sql/sql_int.h --
 *
 *	Virtual tables of SQLite over traces: the extension libetwsqlite. A table reads its files anew for each query, with
 *	the conditions of the query as a filter, and keeps only the current event. extension.c registers the tables,
 *	virtual_table.c is what they share, reading.c reads files, the files *_table.c have the columns.
 */
#ifndef ETW_SQL_INT_H
#define ETW_SQL_INT_H

#include <sqlite3ext.h>
#include "base/hash_table.h"
#include "flow/render/sink_int.h"
#include "schema/model/decode.h"

extern const sqlite3_api_routines
        *sqlite3_api; /* in extension.c; the macros of sqlite3ext.h use it */

/* ---- Reading (reading.c) ----------------------------------------------------------------------- */

/* Which values of a column pass: one of a list. */
typedef struct SqlNumbers {
    bool given;
    int64_t *list;
    size_t count;
} SqlNumbers;
typedef struct SqlTexts {
    bool given;
    char **list;
    size_t count;
} SqlTexts;

/* The conditions of a query that are tested while reading. All must hold. */
typedef struct SqlFilter {
    int64_t from, to; /* ns since 1970, both included */
    bool none;        /* no event passes */
    SqlNumbers ids, pids, tids;
    SqlTexts providers, events, traces;
} SqlFilter;
void SqlFilterInit(SqlFilter *filter);
void SqlFilterFree(SqlFilter *filter);
/* Add a condition to those of the column; the list's values belong to the filter. */
void SqlNumbersTake(SqlFilter *filter, SqlNumbers *old, SqlNumbers *taken);
void SqlTextsTake(SqlFilter *filter, SqlTexts *old, SqlTexts *taken);
void SqlTextsAdd(SqlTexts *texts, const char *text); /* a copy */
void SqlTextsFree(SqlTexts *texts);

/* EtwSourceOpen for files only: a live session cannot be read twice. */
EtwStatus SqlSourceOpen(EtwSource **sourcePtr, const char *trace, EtwError *errPtr);

typedef struct SqlClasses SqlClasses;
/* What belongs to a connection of SQLite (connection.c). */
typedef struct SqlConnection {
    int users; /* modules and functions of the connection */
    /* What was wrong with the files that queries have read: each warning once. */
    SqlTexts warnings;
    /* Of etw_open: the files, their events if they are known, and the tables of events that were made of them. */
    SqlTexts files;
    SqlClasses *classes;
    SqlTexts tables;
} SqlConnection;

enum { SQL_PASS_CACHE = 256 };
/* Files that are read one after the other. */
typedef struct SqlReading {
    char *const *traces; /* borrowed */
    int traceCount;
    SqlConnection *connection; /* gets the warnings */
    SqlFilter filter;
    bool names, stacks; /* events need names of processes; stacks are joined with their events */
    int next;           /* the file to be opened next */
    const char *trace;  /* the file of the current event */
    EtwSource *source;
    EtwSchemaStore *store;
    EtwSink *sink; /* for JSON and names */
    int seen;      /* events before the filter is pushed down */
    EtwEvent event;
    const EtwSchema *schema; /* valid if `known`; NULL: none */
    bool known;
    /* Whether names of a schema pass the filter, by the address of the schema. */
    struct SqlPass {
        const EtwSchema *schema;
        const char *provider;
        bool pass;
    } passes[SQL_PASS_CACHE];
    EtwText scratch;
} SqlReading;

/* ETW_OK: `event` is the next one that passes; ETW_END; or an error. A zeroed reading with traces and filter is a start. */
EtwStatus SqlReadingNext(SqlReading *reading, EtwError *errPtr);
/* The parts of it: open the next file (ETW_END: there is none), its next event that passes, close it. */
EtwStatus SqlReadingOpen(SqlReading *reading, EtwError *errPtr);
EtwStatus SqlReadingEvent(SqlReading *reading);
void SqlReadingCloseFile(SqlReading *reading);
/* The schema of the current event, NULL: none. */
const EtwSchema *SqlReadingSchema(SqlReading *reading);
/* The texts of the columns provider and event; valid until the next call. */
const char *SqlProviderText(SqlReading *reading, char guid[ETW_GUID_TEXT]);
enum { SQL_NUMBER_TEXT = 24 };
const char *SqlEventText(SqlReading *reading, char number[SQL_NUMBER_TEXT]);
void SqlReadingClose(SqlReading *reading);

/* ---- Tables (virtual_table.c) ------------------------------------------------------------------ */

/* How conditions on a column restrict what is read. */
typedef enum SqlBound {
    SQL_UNBOUND,
    SQL_TIME,
    SQL_ID,
    SQL_PID,
    SQL_TID,
    SQL_PROVIDER,
    SQL_EVENT,
    SQL_TRACE,
    SQL_SOURCE /* the argument of a table-valued function */
} SqlBound;

typedef struct SqlColumn {
    const char *name, *type;
    SqlBound bound;
    bool named; /* its value needs a tracked source (EtwSourceTrack): names of processes, sizes of pointers */
} SqlColumn;

/* The columns of the table of events. */
enum {
    SQL_EVENT_TIME,
    SQL_EVENT_PROVIDER,
    SQL_EVENT_EVENT,
    SQL_EVENT_ID,
    SQL_EVENT_VERSION,
    SQL_EVENT_CHANNEL,
    SQL_EVENT_LEVEL,
    SQL_EVENT_OPCODE,
    SQL_EVENT_TASK,
    SQL_EVENT_KEYWORD,
    SQL_EVENT_PID,
    SQL_EVENT_TID,
    SQL_EVENT_CPU,
    SQL_EVENT_ACTIVITY,
    SQL_EVENT_RELATED,
    SQL_EVENT_PROCESS,
    SQL_EVENT_OBJECT,
    SQL_EVENT_ELAPSED,
    SQL_EVENT_GUID,
    SQL_EVENT_MESSAGE,
    SQL_EVENT_PAYLOAD,
    SQL_EVENT_COLUMNS
};

/* ---- Events in groups (grouped_rows.c) ----------------------------------------------------------- */

/* Columns, as bits, by which events are grouped; the one after the last is the file, which is followed by the source. */
enum {
    SQL_GROUP_COLUMNS = 1 << SQL_EVENT_PROVIDER | 1 << SQL_EVENT_EVENT | 1 << SQL_EVENT_ID |
                        1 << SQL_EVENT_VERSION | 1 << SQL_EVENT_CHANNEL | 1 << SQL_EVENT_LEVEL |
                        1 << SQL_EVENT_OPCODE | 1 << SQL_EVENT_TASK | 1 << SQL_EVENT_KEYWORD |
                        1 << SQL_EVENT_PID | 1 << SQL_EVENT_TID | 1 << SQL_EVENT_CPU |
                        1 << SQL_EVENT_GUID | 1 << SQL_EVENT_COLUMNS,
    SQL_GROUP_FIRST = 'a' /* stands for column 0 in `by` */
};
typedef struct SqlGroups SqlGroups;
/*
 * used: the columns of the query. by: those of the order, the first one most significant, each a letter that is followed
 * by + or -. once: one row for each group will do.
 */
SqlGroups *SqlGroupsNew(unsigned used, const char *by, bool once);
EtwStatus SqlGroupsRead(SqlGroups *groups, SqlReading *reading, EtwError *errPtr);
bool SqlGroupsNext(SqlGroups *groups); /* false: no more rows */
void SqlGroupsColumn(const SqlGroups *groups, sqlite3_context *result, int column);
const char *SqlGroupsTrace(const SqlGroups *groups); /* the row's file */
void SqlGroupsFree(SqlGroups *groups);

/* ---- Rows that are made of events (made_rows.c) -------------------------------------------------- */

typedef struct SqlCell {
    uint8_t type; /* SQLITE_NULL, SQLITE_INTEGER or SQLITE_TEXT */
    int64_t i;
    size_t at, size; /* of the text, in SqlRows.texts */
} SqlCell;
/* Rows that wait for the cursor: those of an event, or of the file's end. */
typedef struct SqlRows {
    SqlCell *cells;
    size_t count, capacity, next; /* next: the first cell of the current row */
    EtwText texts;
} SqlRows;
/* Append a cell. A row is complete when all columns of the table have one. */
void SqlRowNull(SqlRows *rows);
void SqlRowInt(SqlRows *rows, int64_t i);
void SqlRowId(SqlRows *rows, uint32_t id); /* NULL for ETW_NO_ID */
void SqlRowText(SqlRows *rows, const char *text, size_t size);
void SqlRowString(SqlRows *rows, const char *text); /* NULL for NULL */

/* What makes rows of the events of a file. `end` and `free` follow the last event; each but begin may be NULL. */
typedef struct SqlMaker {
    void *(*begin)(SqlReading *reading, SqlRows *rows);
    void (*event)(void *state, SqlReading *reading, SqlRows *rows);
    void (*end)(void *state, SqlReading *reading, SqlRows *rows);
    void (*free)(void *state);
    bool named, stacks; /* see SqlReading.names */
} SqlMaker;

typedef struct SqlCursor SqlCursor;
typedef struct SqlTable {
    const char *name; /* of the module */
    const SqlColumn *columns;
    int columnCount;
    /* Return the value of a column of the cursor's row; NULL: rows are made. */
    void (*column)(SqlCursor *cursor, sqlite3_context *result, int column);
    const SqlMaker *maker;
} SqlTable;

struct SqlCursor {
    sqlite3_vtab_cursor base; /* first */
    const SqlTable *table;
    SqlReading reading;
    char *source; /* of a table-valued function */
    sqlite3_int64 row;
    bool selected; /* by a condition: the row's number is not that of another scan */
    bool ended;
    void *state; /* of the maker, for the open file */
    SqlRows rows;
    struct SqlFields *fields; /* of a table of one event */
    SqlGroups *groups;        /* NULL: rows are single events */
    bool ordered;             /* SQLite relies on the order of times */
    int64_t time;             /* of the last row, if ordered */
};
/* The next row of a table with a maker. */
EtwStatus SqlMadeNext(SqlCursor *cursor, EtwError *errPtr);
void SqlMadeColumn(SqlCursor *cursor, sqlite3_context *result, int column);
void SqlMadeFree(SqlCursor *cursor);

/* Register the module of a table. `check`: creating such a table opens its files, so that a wrong path is found at once. */
int SqlTableRegister(sqlite3 *db, const char *module, const SqlTable *table, bool check,
        SqlConnection *connection);
/* The module etw_event, whose last arguments are a provider and an event. */
int SqlEventRegister(sqlite3 *db, SqlConnection *connection);

extern const SqlTable sqlEventsTable, sqlCallsTable, sqlWaitsTable, sqlProcessesTable,
        sqlThreadsTable, sqlFilesTable, sqlStacksTable, sqlLossesTable, sqlClassesTable,
        sqlSchemaTable;
extern const char *const sqlViews[]; /* statements, in views.c; NULL at the end */
/* etw_lines(QUERY, FORMAT), in lines_table.c. */
int SqlLinesRegister(sqlite3 *db, SqlConnection *connection);

/* ---- Connections (connection.c) ------------------------------------------------------------------ */

SqlConnection *SqlConnectionNew(void);
void SqlConnectionRelease(void *connection);
/* Keep the warnings of a file that is closed. */
void SqlConnectionWarn(SqlConnection *connection, const EtwSource *source);
/* The files are those of etw_open from now on. Tables of events of other files are dropped. */
int SqlConnectionOpen(
        SqlConnection *connection, sqlite3 *db, const SqlTexts *files, char **messagePtr);
/* True if these are the files of etw_open, and `classes` are known. */
bool SqlConnectionHas(const SqlConnection *connection, char *const *traces, int count);
/* Make the table of events with this name over the files of etw_open. False: there is none. */
bool SqlConnectionTable(SqlConnection *connection, sqlite3 *db, const char *name);
/* etw_tables and etw_warnings. */
int SqlConnectionRegister(SqlConnection *connection, sqlite3 *db);
/* Append a text as a literal of SQL. */
void SqlAddQuoted(EtwText *sql, const char *text);

/* ---- Tables of one event ------------------------------------------------------------------------- */

/* A column of a field (event_classes.c). */
typedef struct SqlField {
    EtwTableNode node; /* by name, cases folded */
    struct SqlField *after;
    SqlColumn column;
    int index;
    unsigned use; /* of the class, when a field of the schema in hand had the column */
} SqlField;
typedef struct SqlClass {
    EtwTableNode node;
    struct SqlClass *after; /* in order of the first event */
    int users;
    char *name, *provider, *event; /* name: provider_event */
    EtwTable names;
    SqlField *fields, **end;
    int fieldCount;
    bool tracked; /* decoding needs a tracked source */
    unsigned use;
} SqlClass;
void SqlClassRelease(SqlClass *class);
/* Call visit with each field of the schema that is no member, and its column (-1: none). add: add missing columns. */
void SqlClassFields(SqlClass *class, const EtwSchema *schema, bool add,
        void (*visit)(void *ctx, int field, int column), void *ctx);
SqlClasses *SqlClassesNew(void);
void SqlClassesFree(SqlClasses *classes);
const SqlClass *SqlClassesList(const SqlClasses *classes);
/* The current event of one file; all events of a reading. */
void SqlClassesAdd(SqlClasses *classes, SqlReading *reading);
EtwStatus SqlClassesRead(SqlClasses *classes, SqlReading *reading, EtwError *errPtr);

/* The table of an event of these files (event_table.c). NULL: there is no such event, or a file cannot be read. */
SqlTable *SqlEventTableFind(SqlConnection *connection, char *const *traces, int count,
        const char *provider, const char *event, EtwError *errPtr);
SqlTable *SqlEventTableNew(SqlClass *class);
void SqlEventTableFree(SqlTable *table);
/* Add the table's provider and event to a filter that has neither. */
void SqlEventTableFilter(const SqlTable *table, SqlFilter *filter);
typedef struct SqlFields SqlFields;
void SqlFieldsFree(SqlFields *fields);

/* ---- Values (sql_values.c) ------------------------------------------------------------------------- */

/* Return a text that may be NULL, as valid UTF-8. */
void SqlResultText(SqlReading *reading, sqlite3_context *result, const char *text);
void SqlResultBytes(SqlReading *reading, sqlite3_context *result, const char *data, size_t size);
/* NULL for zeros and for NULL. */
void SqlResultGuid(sqlite3_context *result, const uint8_t *bytes);
/* NULL for ETW_NO_ID. */
void SqlResultId(sqlite3_context *result, uint32_t id);
/* The payload as JSON. U+FFFD replaces NUL characters, at which SQLite's functions would end a text. */
void SqlResultPayload(SqlReading *reading, sqlite3_context *result);
/* JSON text, in which U+FFFD replaces NUL characters too. */
void SqlResultJson(sqlite3_context *result, char *text, size_t size);
/* A field of the payload: the value that `payload ->> FIELD` has, but bytes as a BLOB, and numbers without an end as such. */
void SqlResultValue(
        SqlReading *reading, sqlite3_context *result, const EtwField *field, const EtwValue *value);
/* U+FFFD replaces each NUL character. */
void SqlReplaceNuls(EtwText *text);

#endif
