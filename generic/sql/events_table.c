/*
 * sql/events_table.c --
 *
 *	The table of events: a row for each, in the order of the file. Values are computed when a query needs them.
 */
#include "sql/sql_int.h"
#include "schema/store/event_message.h"

static const SqlColumn columns[SQL_EVENT_COLUMNS] = {
        [SQL_EVENT_TIME] = {"time", "INTEGER", SQL_TIME, false},
        [SQL_EVENT_PROVIDER] = {"provider", "TEXT", SQL_PROVIDER, false},
        [SQL_EVENT_EVENT] = {"event", "TEXT", SQL_EVENT, false},
        [SQL_EVENT_ID] = {"id", "INTEGER", SQL_ID, false},
        [SQL_EVENT_VERSION] = {"version", "INTEGER", SQL_UNBOUND, false},
        [SQL_EVENT_CHANNEL] = {"channel", "INTEGER", SQL_UNBOUND, false},
        [SQL_EVENT_LEVEL] = {"level", "INTEGER", SQL_UNBOUND, false},
        [SQL_EVENT_OPCODE] = {"opcode", "INTEGER", SQL_UNBOUND, false},
        [SQL_EVENT_TASK] = {"task", "INTEGER", SQL_UNBOUND, false},
        [SQL_EVENT_KEYWORD] = {"keyword", "INTEGER", SQL_UNBOUND, false},
        [SQL_EVENT_PID] = {"pid", "INTEGER", SQL_PID, true},
        [SQL_EVENT_TID] = {"tid", "INTEGER", SQL_TID, true},
        [SQL_EVENT_CPU] = {"cpu", "INTEGER", SQL_UNBOUND, false},
        [SQL_EVENT_ACTIVITY] = {"activity", "TEXT", SQL_UNBOUND, false},
        [SQL_EVENT_RELATED] = {"related", "TEXT", SQL_UNBOUND, false},
        [SQL_EVENT_PROCESS] = {"process", "TEXT", SQL_UNBOUND, true},
        [SQL_EVENT_OBJECT] = {"object", "TEXT", SQL_UNBOUND, true},
        [SQL_EVENT_ELAPSED] = {"elapsed", "INTEGER", SQL_UNBOUND, true},
        [SQL_EVENT_GUID] = {"guid", "TEXT", SQL_UNBOUND, false},
        [SQL_EVENT_MESSAGE] = {"message", "TEXT", SQL_UNBOUND, true},
        [SQL_EVENT_PAYLOAD] = {"payload", "TEXT", SQL_UNBOUND, true},
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
    case SQL_EVENT_TIME:
        sqlite3_result_int64(result, e->time);
        break;
    case SQL_EVENT_PROVIDER:
        SqlResultText(r, result, SqlProviderText(r, guid));
        break;
    case SQL_EVENT_EVENT:
        SqlResultText(r, result, SqlEventText(r, number));
        break;
    case SQL_EVENT_ID:
        sqlite3_result_int(result, e->desc.id);
        break;
    case SQL_EVENT_VERSION:
        sqlite3_result_int(result, e->desc.version);
        break;
    case SQL_EVENT_CHANNEL:
        sqlite3_result_int(result, e->desc.channel);
        break;
    case SQL_EVENT_LEVEL:
        sqlite3_result_int(result, e->desc.level);
        break;
    case SQL_EVENT_OPCODE:
        sqlite3_result_int(result, e->desc.opcode);
        break;
    case SQL_EVENT_TASK:
        sqlite3_result_int(result, e->desc.task);
        break;
    case SQL_EVENT_KEYWORD: /* SQLite has no unsigned numbers: the same 64 bits */
        sqlite3_result_int64(result, (int64_t)e->desc.keyword);
        break;
    case SQL_EVENT_PID:
        SqlResultId(result, e->pid);
        break;
    case SQL_EVENT_TID:
        SqlResultId(result, e->tid);
        break;
    case SQL_EVENT_CPU:
        sqlite3_result_int(result, e->cpu);
        break;
    case SQL_EVENT_ACTIVITY:
        SqlResultGuid(result, e->activity.bytes);
        break;
    case SQL_EVENT_RELATED:
        SqlResultGuid(result, e->related);
        break;
    case SQL_EVENT_PROCESS:
        SqlResultText(r, result, e->process);
        break;
    case SQL_EVENT_OBJECT:
        SqlResultText(r, result, e->object);
        break;
    case SQL_EVENT_ELAPSED:
        if (e->elapsed != 0) {
            sqlite3_result_int64(result, e->elapsed);
        }
        break;
    case SQL_EVENT_GUID:
        SqlResultGuid(result, e->provider.bytes);
        break;
    case SQL_EVENT_MESSAGE:
        addMessage(r, result);
        break;
    case SQL_EVENT_PAYLOAD:
        SqlResultPayload(r, result);
        break;
    default:
        break;
    }
}

const SqlTable sqlEventsTable = {.name = "etw_events",
        .columns = columns,
        .columnCount = SQL_EVENT_COLUMNS,
        .column = eventColumn};
