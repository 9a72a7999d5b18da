/*
 * sql/calls_table.c --
 *
 *	The tables of calls and waits of scripts, made by flow/calls as for exports: a row for each time that a call was on
 *	the stack, and one for each period that a thread with calls spent off the CPU or in an operation that blocks.
 */
#include "sql/sql_int.h"
#include "flow/calls/call_tree.h"

/* ---- Calls --------------------------------------------------------------------------------------- */

enum { CALL_PROC = 5, CALL_WORDS, CALL_COLUMNS = 12 };
static const SqlColumn callColumns[CALL_COLUMNS] = {{"id", "INTEGER", SQL_UNBOUND, false},
        {"parent", "INTEGER", SQL_UNBOUND, false}, {"pid", "INTEGER", SQL_UNBOUND, false},
        {"tid", "INTEGER", SQL_UNBOUND, false}, {"depth", "INTEGER", SQL_UNBOUND, false},
        {"proc", "TEXT", SQL_UNBOUND, false}, {"words", "TEXT", SQL_UNBOUND, false},
        {"start", "INTEGER", SQL_UNBOUND, false}, {"duration", "INTEGER", SQL_UNBOUND, false},
        {"self", "INTEGER", SQL_UNBOUND, false}, {"wait", "INTEGER", SQL_UNBOUND, false},
        {"code", "INTEGER", SQL_UNBOUND, false}};

typedef struct CallState {
    EtwSink *sink; /* of the format that exports to databases load */
    EtwText lines, words;
} CallState;

static void *beginCalls(SqlReading *r, SqlRows *rows)
{
    CallState *state = EtwAlloc(sizeof *state);
    (void)rows;
    state->sink = EtwSinkNew(&(EtwSinkConfig){.format = ETW_FORMAT_CALL_ROWS}, r->store);
    EtwSinkBegin(state->sink, r->source, &state->lines);
    return state;
}

/* Append the text of a JSON string that the sink has written. U+FFFD replaces a NUL. */
static void addUnescaped(EtwText *out, const char *text, size_t size)
{
    static const char named[256] = {
            ['n'] = '\n', ['r'] = '\r', ['t'] = '\t', ['b'] = '\b', ['f'] = '\f'};
    for (size_t i = 1; i + 1 < size; i++) { /* without the quotes */
        if (text[i] != '\\' || i + 2 >= size) {
            EtwTextChar(out, text[i]);
            continue;
        }
        uint8_t c = (uint8_t)text[++i];
        if (c == 'u' && i + 5 < size) { /* control characters: two zeros, two digits */
            int code = 16 * EtwHexDigit(text[i + 3]) + EtwHexDigit(text[i + 4]);
            if (code == 0 || code > 0x7F) {
                EtwTextStr(out, "\xEF\xBF\xBD");
            } else {
                EtwTextChar(out, (char)code);
            }
            i += 4;
        } else {
            EtwTextChar(out, named[c] != 0 ? named[c] : (char)c);
        }
    }
}

static void addCell(CallState *state, SqlRows *rows, int column, const char *text, size_t size)
{
    bool negative = size > 1 && text[0] == '-';
    if (size == 1 && text[0] == 3) {
        SqlRowNull(rows);
    } else if (column == CALL_WORDS && size > 0 && text[0] == 1) {
        state->words.size = 0;
        addUnescaped(&state->words, text + 1, size - 1);
        SqlRowText(rows, state->words.data, state->words.size);
    } else if (column == CALL_WORDS || column == CALL_PROC) {
        SqlRowText(rows, text, size);
    } else {
        uint64_t value = 0;
        for (size_t i = negative; i < size; i++) {
            value = value * 10 + (uint64_t)(text[i] - '0');
        }
        SqlRowInt(rows, (int64_t)(negative ? 0 - value : value));
    }
}

/* Columns are separated by U+001F, an absent one is U+0003 (sink_rows.c). */
static void takeLines(CallState *state, SqlRows *rows)
{
    const char *at = state->lines.data, *end = at + state->lines.size;
    for (int column = 0; at != end;) {
        const char *stop = at;
        while (stop < end && *stop != 0x1F && *stop != '\n') {
            stop++;
        }
        addCell(state, rows, column, at, (size_t)(stop - at));
        column = stop == end || *stop == '\n' ? 0 : column + 1;
        at = stop == end ? end : stop + 1;
    }
    state->lines.size = 0;
}

static void callEvent(void *ctx, SqlReading *r, SqlRows *rows)
{
    CallState *state = ctx;
    EtwSinkEvent(state->sink, &r->event, &state->lines);
    if (state->lines.size != 0) {
        takeLines(state, rows);
    }
}

static void endCalls(void *ctx, SqlReading *r, SqlRows *rows)
{
    CallState *state = ctx;
    EtwSinkEnd(state->sink, r->source, &state->lines);
    if (state->lines.size != 0) {
        takeLines(state, rows);
    }
}

static void freeCalls(void *ctx)
{
    CallState *state = ctx;
    EtwSinkFree(state->sink);
    EtwTextFree(&state->lines);
    EtwTextFree(&state->words);
    EtwFree(state);
}

static const SqlMaker callMaker = {
        .begin = beginCalls, .event = callEvent, .end = endCalls, .free = freeCalls, .named = true};
const SqlTable sqlCallsTable = {.name = "etw_calls",
        .columns = callColumns,
        .columnCount = CALL_COLUMNS,
        .maker = &callMaker};

/* ---- Waits --------------------------------------------------------------------------------------- */

enum { WAIT_COLUMNS = 8 };
static const SqlColumn waitColumns[WAIT_COLUMNS] = {{"time", "INTEGER", SQL_UNBOUND, false},
        {"duration", "INTEGER", SQL_UNBOUND, false}, {"pid", "INTEGER", SQL_UNBOUND, false},
        {"tid", "INTEGER", SQL_UNBOUND, false}, {"process", "TEXT", SQL_UNBOUND, false},
        {"kind", "TEXT", SQL_UNBOUND, false}, {"what", "TEXT", SQL_UNBOUND, false},
        {"bytes", "INTEGER", SQL_UNBOUND, false}};

typedef struct WaitState {
    EtwCalls *calls;
    SqlRows *rows; /* valid during an event */
} WaitState;

/* A cost that is a period: with a duration. */
static void onSpent(void *ctx, EtwCallNode *thread, int64_t time, const EtwCost *cost)
{
    WaitState *state = ctx;
    if (cost->ns == 0) {
        return;
    }
    SqlRowInt(state->rows, EtwTimeAdd(time, cost->ns > INT64_MAX ? INT64_MIN : -(int64_t)cost->ns));
    SqlRowInt(state->rows, (int64_t)cost->ns);
    SqlRowId(state->rows, thread->pid);
    SqlRowId(state->rows, thread->tid);
    SqlRowString(state->rows, thread->process);
    SqlRowString(state->rows, EtwCostKindName(cost->of->kind));
    SqlRowString(state->rows, cost->of->name);
    SqlRowInt(state->rows, (int64_t)cost->bytes);
}

static void *beginWaits(SqlReading *r, SqlRows *rows)
{
    WaitState *state = EtwAlloc(sizeof *state);
    EtwCallsConfig config = {.watch = {.spent = onSpent, .ctx = state}};
    (void)rows;
    state->calls = EtwCallsNew(&config, r->store);
    return state;
}

static void waitEvent(void *ctx, SqlReading *r, SqlRows *rows)
{
    WaitState *state = ctx;
    state->rows = rows;
    EtwCallsAdd(state->calls, &r->event);
}

static void endWaits(void *ctx, SqlReading *r, SqlRows *rows)
{
    WaitState *state = ctx;
    (void)r;
    state->rows = rows;
    EtwCallsEnd(state->calls);
}

static void freeWaits(void *ctx)
{
    WaitState *state = ctx;
    EtwCallsFree(state->calls);
    EtwFree(state);
}

static const SqlMaker waitMaker = {
        .begin = beginWaits, .event = waitEvent, .end = endWaits, .free = freeWaits, .named = true};
const SqlTable sqlWaitsTable = {.name = "etw_waits",
        .columns = waitColumns,
        .columnCount = WAIT_COLUMNS,
        .maker = &waitMaker};
