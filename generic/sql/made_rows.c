/*
 * sql/made_rows.c --
 *
 *	Tables whose rows are not events but made of them: calls, processes, losses. A maker appends rows to a queue, at an
 *	event or at the end of a file; the cursor takes them from there.
 */
#include "sql/sql_int.h"

static SqlCell *newCell(SqlRows *rows, int type)
{
    if (rows->count == rows->capacity) {
        rows->capacity = rows->capacity != 0 ? 2 * rows->capacity : 64;
        rows->cells = EtwRealloc(rows->cells, sizeof *rows->cells * rows->capacity);
    }
    SqlCell *cell = &rows->cells[rows->count++];
    *cell = (SqlCell){.type = (uint8_t)type};
    return cell;
}

void SqlRowNull(SqlRows *rows)
{
    newCell(rows, SQLITE_NULL);
}

void SqlRowInt(SqlRows *rows, int64_t i)
{
    newCell(rows, SQLITE_INTEGER)->i = i;
}

void SqlRowId(SqlRows *rows, uint32_t id)
{
    if (id == ETW_NO_ID) {
        SqlRowNull(rows);
    } else {
        SqlRowInt(rows, id);
    }
}

void SqlRowText(SqlRows *rows, const char *text, size_t size)
{
    SqlCell *cell = newCell(rows, SQLITE_TEXT);
    cell->at = rows->texts.size;
    cell->size = size;
    EtwTextAdd(&rows->texts, text, size);
}

void SqlRowString(SqlRows *rows, const char *text)
{
    if (text == NULL) {
        SqlRowNull(rows);
    } else {
        SqlRowText(rows, text, strlen(text));
    }
}

static void endFile(SqlCursor *c)
{
    if (c->state != NULL && c->table->maker->free != NULL) {
        c->table->maker->free(c->state);
    }
    c->state = NULL;
    SqlReadingCloseFile(&c->reading);
}

/* Read until there are rows. */
static EtwStatus fill(SqlCursor *c, EtwError *errPtr)
{
    const SqlMaker *maker = c->table->maker;
    SqlReading *r = &c->reading;
    EtwStatus status = ETW_OK;
    c->rows.count = c->rows.next = c->rows.texts.size = 0;
    while (status == ETW_OK && c->rows.count == 0) {
        if (r->source == NULL) {
            status = SqlReadingOpen(r, errPtr);
            if (status == ETW_OK) {
                c->state = maker->begin(r, &c->rows);
            }
            continue;
        }
        EtwStatus event = maker->event != NULL ? SqlReadingEvent(r) : ETW_END;
        if (event == ETW_OK) {
            maker->event(c->state, r, &c->rows);
        } else if (event == ETW_END) {
            if (maker->end != NULL) {
                maker->end(c->state, r, &c->rows);
            }
            endFile(c);
        } else {
            status = event;
        }
    }
    return status;
}

EtwStatus SqlMadeNext(SqlCursor *c, EtwError *errPtr)
{
    c->rows.next += c->row > 0 ? (size_t)c->table->columnCount : 0;
    return c->rows.next < c->rows.count ? ETW_OK : fill(c, errPtr);
}

void SqlMadeColumn(SqlCursor *c, sqlite3_context *result, int column)
{
    const SqlCell *cell = &c->rows.cells[c->rows.next + (size_t)column];
    if (cell->type == SQLITE_INTEGER) {
        sqlite3_result_int64(result, cell->i);
    } else if (cell->type == SQLITE_TEXT && cell->size == 0) {
        sqlite3_result_text(result, "", 0, SQLITE_STATIC);
    } else if (cell->type == SQLITE_TEXT) {
        SqlResultBytes(&c->reading, result, c->rows.texts.data + cell->at, cell->size);
    }
}

void SqlMadeFree(SqlCursor *c)
{
    if (c->table->maker != NULL) {
        endFile(c);
    }
    EtwFree(c->rows.cells);
    EtwTextFree(&c->rows.texts);
    c->rows = (SqlRows){0};
}
