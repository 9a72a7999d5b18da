/*
 * sql/sql_values.c --
 *
 *	Values of events as values of SQLite.
 */
#include "sql/sql_int.h"
#include "base/unicode.h"

void SqlResultBytes(SqlReading *reading, sqlite3_context *result, const char *data, size_t size)
{
    EtwText *text = &reading->scratch;
    if (size != 0 && (EtwTextTraits((const uint8_t *)data, size) & ETW_TEXT_SPECIAL) != 0) {
        text->size = 0;
        EtwTextUtf8(text, (const uint8_t *)data, size);
        data = text->data;
        size = text->size;
    }
    sqlite3_result_text64(result, data, size, SQLITE_TRANSIENT, SQLITE_UTF8);
}

void SqlResultText(SqlReading *reading, sqlite3_context *result, const char *text)
{
    if (text == NULL) {
        sqlite3_result_null(result);
    } else {
        SqlResultBytes(reading, result, text, strlen(text));
    }
}

void SqlResultGuid(sqlite3_context *result, const uint8_t *bytes)
{
    EtwGuid guid = {{0}};
    char text[ETW_GUID_TEXT];
    if (bytes != NULL) {
        memcpy(guid.bytes, bytes, sizeof guid.bytes);
    }
    if (EtwGuidIsNull(&guid)) {
        sqlite3_result_null(result);
        return;
    }
    EtwGuidFormat(&guid, text);
    sqlite3_result_text(result, text, -1, SQLITE_TRANSIENT);
}

void SqlResultId(sqlite3_context *result, uint32_t id)
{
    if (id == ETW_NO_ID) {
        sqlite3_result_null(result);
    } else {
        sqlite3_result_int64(result, id);
    }
}

/* Replace each \u0000 of a JSON text that is not preceded by another backslash. */
static void replaceNuls(char *data, size_t size)
{
    for (size_t i = 0; i + 6 <= size;) {
        const char *found = memchr(data + i, '\\', size - i);
        size_t at = found != NULL ? (size_t)(found - data) : size;
        if (at + 6 <= size && memcmp(data + at, "\\u0000", 6) == 0) {
            memcpy(data + at, "\\ufffd", 6);
        }
        i = at + 2;
    }
}

void SqlResultPayload(SqlReading *reading, sqlite3_context *result)
{
    EtwText *text = &reading->scratch;
    text->size = 0;
    EtwTextReserve(text, 1);
    EtwJsonProps(reading->sink, &reading->event, SqlReadingSchema(reading), text, true);
    replaceNuls(text->data, text->size);
    sqlite3_result_text64(result, text->data, text->size, SQLITE_TRANSIENT, SQLITE_UTF8);
}
