/*
 * sql/events_table.c --
 *
 *	The table of events: a row for each, in the order of the file. Values are computed when a query needs them.
 */
#include "sql/sql_int.h"
#include "schema/store/event_message.h"

enum {
    COLUMN_TIME,
    COLUMN_PROVIDER,
    COLUMN_EVENT,
    COLUMN_ID,
    COLUMN_VERSION,
    COLUMN_CHANNEL,
    COLUMN_LEVEL,
    COLUMN_OPCODE,
    COLUMN_TASK,
    COLUMN_KEYWORD,
    COLUMN_PID,
    COLUMN_TID,
    COLUMN_CPU,
    COLUMN_ACTIVITY,
    COLUMN_RELATED,
    COLUMN_PROCESS,
    COLUMN_OBJECT,
    COLUMN_ELAPSED,
    COLUMN_GUID,
    COLUMN_MESSAGE,
    COLUMN_PAYLOAD,
    COLUMNS
};

static const SqlColumn columns[COLUMNS] = {
        [COLUMN_TIME] = {"time", "INTEGER", SQL_TIME, false},
        [COLUMN_PROVIDER] = {"provider", "TEXT", SQL_PROVIDER, false},
        [COLUMN_EVENT] = {"event", "TEXT", SQL_EVENT, false},
        [COLUMN_ID] = {"id", "INTEGER", SQL_ID, false},
        [COLUMN_VERSION] = {"version", "INTEGER", SQL_UNBOUND, false},
        [COLUMN_CHANNEL] = {"channel", "INTEGER", SQL_UNBOUND, false},
        [COLUMN_LEVEL] = {"level", "INTEGER", SQL_UNBOUND, false},
        [COLUMN_OPCODE] = {"opcode", "INTEGER", SQL_UNBOUND, false},
        [COLUMN_TASK] = {"task", "INTEGER", SQL_UNBOUND, false},
        [COLUMN_KEYWORD] = {"keyword", "INTEGER", SQL_UNBOUND, false},
        [COLUMN_PID] = {"pid", "INTEGER", SQL_PID, true},
        [COLUMN_TID] = {"tid", "INTEGER", SQL_TID, true},
        [COLUMN_CPU] = {"cpu", "INTEGER", SQL_UNBOUND, false},
        [COLUMN_ACTIVITY] = {"activity", "TEXT", SQL_UNBOUND, false},
        [COLUMN_RELATED] = {"related", "TEXT", SQL_UNBOUND, false},
        [COLUMN_PROCESS] = {"process", "TEXT", SQL_UNBOUND, true},
        [COLUMN_OBJECT] = {"object", "TEXT", SQL_UNBOUND, true},
        [COLUMN_ELAPSED] = {"elapsed", "INTEGER", SQL_UNBOUND, true},
        [COLUMN_GUID] = {"guid", "TEXT", SQL_UNBOUND, false},
        [COLUMN_MESSAGE] = {"message", "TEXT", SQL_UNBOUND, true},
        [COLUMN_PAYLOAD] = {"payload", "TEXT", SQL_UNBOUND, true},
};

/* NULL if the event has no message. */
static void addMessage(SqlReading *r, sqlite3_context *result)
{
    const EtwSchema *schema = SqlReadingSchema(r);
    EtwText message = {0};
    if (schema != NULL && EtwFormatMessage(&message, schema, &r->event)) {
        SqlResultBytes(r, result, message.data, message.size);
    }
    EtwTextFree(&message);
}

static void eventColumn(SqlCursor *cursor, sqlite3_context *result, int column)
{
    SqlReading *r = &cursor->reading;
    const EtwEvent *e = &r->event;
    char guid[ETW_GUID_TEXT], number[SQL_NUMBER_TEXT];
    switch (column) {
    case COLUMN_TIME:
        sqlite3_result_int64(result, e->time);
        break;
    case COLUMN_PROVIDER:
        SqlResultText(r, result, SqlProviderText(r, guid));
        break;
    case COLUMN_EVENT:
        SqlResultText(r, result, SqlEventText(r, number));
        break;
    case COLUMN_ID:
        sqlite3_result_int(result, e->desc.id);
        break;
    case COLUMN_VERSION:
        sqlite3_result_int(result, e->desc.version);
        break;
    case COLUMN_CHANNEL:
        sqlite3_result_int(result, e->desc.channel);
        break;
    case COLUMN_LEVEL:
        sqlite3_result_int(result, e->desc.level);
        break;
    case COLUMN_OPCODE:
        sqlite3_result_int(result, e->desc.opcode);
        break;
    case COLUMN_TASK:
        sqlite3_result_int(result, e->desc.task);
        break;
    case COLUMN_KEYWORD: /* SQLite has no unsigned numbers: the same 64 bits */
        sqlite3_result_int64(result, (int64_t)e->desc.keyword);
        break;
    case COLUMN_PID:
        SqlResultId(result, e->pid);
        break;
    case COLUMN_TID:
        SqlResultId(result, e->tid);
        break;
    case COLUMN_CPU:
        sqlite3_result_int(result, e->cpu);
        break;
    case COLUMN_ACTIVITY:
        SqlResultGuid(result, e->activity.bytes);
        break;
    case COLUMN_RELATED:
        SqlResultGuid(result, e->related);
        break;
    case COLUMN_PROCESS:
        SqlResultText(r, result, e->process);
        break;
    case COLUMN_OBJECT:
        SqlResultText(r, result, e->object);
        break;
    case COLUMN_ELAPSED:
        if (e->elapsed != 0) {
            sqlite3_result_int64(result, e->elapsed);
        }
        break;
    case COLUMN_GUID:
        SqlResultGuid(result, e->provider.bytes);
        break;
    case COLUMN_MESSAGE:
        addMessage(r, result);
        break;
    case COLUMN_PAYLOAD:
        SqlResultPayload(r, result);
        break;
    default:
        break;
    }
}

const SqlTable sqlEventsTable = {
        .name = "etw_events", .columns = columns, .columnCount = COLUMNS, .column = eventColumn};
