/*
 * sql/sql_values.c --
 *
 *	Values of events as values of SQLite.
 */
#include "sql/sql_int.h"
#include "base/unicode.h"
#include <stdlib.h>

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

void SqlResultJson(sqlite3_context *result, char *text, size_t size)
{
    replaceNuls(text, size);
    sqlite3_result_text64(result, text, size, SQLITE_TRANSIENT, SQLITE_UTF8);
}

void SqlResultPayload(SqlReading *reading, sqlite3_context *result)
{
    EtwText *text = &reading->scratch;
    text->size = 0;
    EtwTextReserve(text, 1);
    EtwJsonProps(reading->sink, &reading->event, SqlReadingSchema(reading), text, true);
    SqlResultJson(result, text->data, text->size);
}

void SqlReplaceNuls(EtwText *text)
{
    if (text->size == 0 || memchr(text->data, 0, text->size) == NULL) {
        return;
    }
    EtwText old = *text;
    *text = (EtwText){0};
    for (size_t i = 0; i < old.size; i++) {
        EtwTextAdd(
                text, old.data[i] == 0 ? "\xEF\xBF\xBD" : &old.data[i], old.data[i] == 0 ? 3 : 1);
    }
    EtwTextFree(&old);
}

/* Bytes that are no address. */
static bool isPlain(const EtwValue *v)
{
    return v->kind == ETW_V_BYTES && v->out != ETW_OUT_IPV6 && v->out != ETW_OUT_IPV4 &&
           v->out != ETW_OUT_SOCKADDR && v->out != ETW_OUT_MAC;
}

/* The number whose shortest text is that of the value: 0.1 for a float of 0.1. */
static double doubleOf(EtwText *scratch, const EtwValue *v)
{
    if (v->width != 4 || v->d - v->d != 0) {
        return v->d;
    }
    scratch->size = 0;
    EtwFormatDouble(scratch, v->d, true);
    EtwTextChar(scratch, 0);
    return strtod(scratch->data, NULL);
}

void SqlResultValue(
        SqlReading *reading, sqlite3_context *result, const EtwField *field, const EtwValue *v)
{
    EtwText *text = &reading->scratch;
    bool hex = v->out == ETW_OUT_HEX || v->out == ETW_OUT_CODE_POINTER;
    text->size = 0;
    if (v->kind == ETW_V_NULL) {
        sqlite3_result_null(result);
    } else if (isPlain(v)) {
        sqlite3_result_blob64(
                result, v->size != 0 ? (const void *)v->data : "", v->size, SQLITE_TRANSIENT);
    } else if (EtwValueIsText(field, v)) {
        EtwTextReserve(text, 1);
        EtwFormatValue(text, field, v);
        SqlReplaceNuls(text);
        sqlite3_result_text64(result, text->data, text->size, SQLITE_TRANSIENT, SQLITE_UTF8);
    } else if (v->kind == ETW_V_DOUBLE) {
        sqlite3_result_double(result, doubleOf(text, v));
    } else if (field->in == ETW_IN_POINTER && hex) {
        EtwTextPrintf(text, "0x%llx", (unsigned long long)v->u);
        sqlite3_result_text64(result, text->data, text->size, SQLITE_TRANSIENT, SQLITE_UTF8);
    } else if (v->kind == ETW_V_UINT && v->u > INT64_MAX) {
        EtwTextDecimal(text, v->u);
        sqlite3_result_text64(result, text->data, text->size, SQLITE_TRANSIENT, SQLITE_UTF8);
    } else {
        sqlite3_result_int64(result, v->i);
    }
}
