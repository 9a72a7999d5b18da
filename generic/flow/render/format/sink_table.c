/*
 * flow/render/format/sink_table.c --
 *
 *	Columns selected by the caller: csv with a header row, or one Tcl list per line. A column is
 *	a row of the table below, otherwise a payload field with that name.
 */
#include "flow/render/sink_int.h"
#include "etl/record.h"
#include "schema/store/header_labels.h"
#include "schema/model/tcl_list.h"
#include "schema/store/event_message.h"

#include <stdlib.h>

typedef struct Cell {
    EtwSink *sink;
    const EtwEvent *event;
    const EtwSchema *schema; /* NULL: none */
} Cell;
/* Append the value as text; a list form quotes it. */
typedef void ColumnProc(const Cell *cell, EtwText *out);

struct EtwColumn {
    ColumnProc *proc;        /* NULL: a field of the payload */
    char *field;             /* name of the field */
    const EtwSchema *schema; /* the schema that `index` refers to */
    int index;               /* -1: the schema has no such field */
};

typedef struct Rows {
    bool quotes[256]; /* csv: a value that contains one of these is quoted */
    EtwColumn columns[];
} Rows;

/* ---- Values ---------------------------------------------------------------------------------- */

#define NUMBER_COLUMN(name, expression)                                                            \
    static void name(const Cell *c, EtwText *out)                                                  \
    {                                                                                              \
        EtwAddDecimal(out, expression);                                                            \
    }
NUMBER_COLUMN(addIdentifier, c->event->desc.id)
NUMBER_COLUMN(addVersion, c->event->desc.version)
NUMBER_COLUMN(addChannel, c->event->desc.channel)
NUMBER_COLUMN(addLevel, c->event->desc.level)
NUMBER_COLUMN(addOpcode, c->event->desc.opcode)
NUMBER_COLUMN(addTask, c->event->desc.task)
NUMBER_COLUMN(addKeyword, c->event->desc.keyword)
NUMBER_COLUMN(addCpu, c->event->cpu)
NUMBER_COLUMN(addKernelTime, c->event->kernelTime)
NUMBER_COLUMN(addUserTime, c->event->userTime)

static void addElapsed(const Cell *c, EtwText *out)
{
    if (c->event->elapsed != 0) {
        EtwTextSigned(out, c->event->elapsed);
    }
}

#define LABEL_COLUMN(name, kind)                                                                   \
    static void name(const Cell *c, EtwText *out)                                                  \
    {                                                                                              \
        EtwAddLabel(out, c->schema, c->event, kind);                                               \
    }
LABEL_COLUMN(addLevelName, ETW_NAME_LEVEL)
LABEL_COLUMN(addChannelName, ETW_NAME_CHANNEL)
LABEL_COLUMN(addTaskName, ETW_NAME_TASK)
LABEL_COLUMN(addOpcodeName, ETW_NAME_OPCODE)

static void addText(EtwText *out, const char *text)
{
    EtwTextStr(out, text ? text : "");
}

static void addThreadId(uint32_t id, EtwText *out)
{
    EtwAddSigned(out, id == ETW_NO_ID ? -1 : (int64_t)id);
}

static void addPid(const Cell *c, EtwText *out)
{
    addThreadId(c->event->pid, out);
}

static void addTid(const Cell *c, EtwText *out)
{
    addThreadId(c->event->tid, out);
}

static void addTime(const Cell *c, EtwText *out)
{
    EtwSinkDataTime(c->sink, c->event->time, out);
}

static void addProvider(const Cell *c, EtwText *out)
{
    char guid[ETW_GUID_TEXT];
    addText(out, EtwSinkProvider(c->sink, c->event, c->schema, guid));
}

static void addEvent(const Cell *c, EtwText *out)
{
    addText(out, EtwSinkEventName(c->schema));
}

static void addProcess(const Cell *c, EtwText *out)
{
    addText(out, c->event->process);
}

static void addObject(const Cell *c, EtwText *out)
{
    addText(out, c->event->object);
}

static void addGuid(const uint8_t *bytes, EtwText *out)
{
    EtwGuid guid = {{0}};
    char text[ETW_GUID_TEXT] = "";
    if (bytes != NULL) {
        memcpy(guid.bytes, bytes, sizeof guid.bytes);
    }
    if (!EtwGuidIsNull(&guid)) {
        EtwGuidFormat(&guid, text);
    }
    addText(out, text);
}

static void addProviderGuid(const Cell *c, EtwText *out)
{
    addGuid(c->event->provider.bytes, out);
}

static void addActivity(const Cell *c, EtwText *out)
{
    addGuid(c->event->activity.bytes, out);
}

static void addRelated(const Cell *c, EtwText *out)
{
    addGuid(c->event->related, out);
}

static void addKeywordNames(const Cell *c, EtwText *out)
{
    EtwEventKeywords(out, c->schema, c->event);
}

static void addProps(const Cell *c, EtwText *out)
{
    if (c->sink->config.format == ETW_FORMAT_CSV) {
        EtwJsonProps(c->sink, c->event, c->schema, out, true);
    } else {
        EtwListDict(out, c->schema, c->event, false);
    }
}

static void addTdh(const Cell *c, EtwText *out)
{
    EtwListDict(out, c->schema, c->event, true);
}

static void addMessage(const Cell *c, EtwText *out)
{
    size_t from = out->size;
    if (c->schema == NULL || !EtwFormatMessage(out, c->schema, c->event)) {
        out->size = from;
    }
}

static void addTemplate(const Cell *c, EtwText *out)
{
    addText(out, c->schema ? c->schema->message : NULL);
}

/* The addresses as a list of Tcl. */
static void addStack(const Cell *c, EtwText *out)
{
    for (uint32_t i = 0; i < c->event->stackCount; i++) {
        if (i > 0) {
            EtwTextChar(out, ' ');
        }
        EtwAddDecimal(out, EtwEventStackAt(c->event, i));
    }
}

static void addFrames(const Cell *c, EtwText *out)
{
    EtwText *text = &c->sink->scratch2;
    EtwFrameWalk walk;
    bool some = false;
    EtwFrameWalkBegin(&walk, c->sink->track, c->event);
    for (const EtwFrame *frame; (frame = EtwFrameNext(&walk)) != NULL; some = true) {
        if (some) {
            EtwTextChar(out, ' ');
        }
        text->size = 0;
        EtwFrameText(frame, text);
        EtwListElement(out, text->data, text->size);
    }
}

static void addCounters(const Cell *c, EtwText *out)
{
    const uint8_t *pebs;
    uint32_t count;
    const uint8_t *at = EtlRecordCounters(c->event, &count, &pebs);
    for (uint32_t i = 0; at != NULL && i < count; i++) {
        if (i > 0) {
            EtwTextChar(out, ' ');
        }
        EtwAddDecimal(out, EtwLoad64(at + 8 * i));
    }
}

/* The message; for an event without one, its properties. */
static void addMessageOrProps(const Cell *c, EtwText *out)
{
    if (c->schema == NULL || c->schema->message == NULL) {
        ETW_ADD(out, "Properties: ");
        addTdh(c, out);
    } else {
        addMessage(c, out);
    }
}

static const char *const columnNames[ETW_COLUMNS] = {
        ETW_FIELDS_HEADER(ETW_FIELD_NAME) ETW_FIELDS_PARTS(ETW_FIELD_NAME)
                ETW_FIELDS_MESSAGE(ETW_FIELD_NAME) ETW_FIELDS_TEXTS(ETW_FIELD_NAME)
                        ETW_FIELDS_TIMES(ETW_FIELD_NAME) ETW_FIELDS_COLUMN(ETW_FIELD_NAME)};
/* NULL: not a column. */
static ColumnProc *const columnProcs[ETW_COLUMNS] = {[ETW_COLUMN_TIME] = addTime,
        [ETW_COLUMN_PROVIDER] = addProvider,
        [ETW_COLUMN_EVENT] = addEvent,
        [ETW_COLUMN_ID] = addIdentifier,
        [ETW_COLUMN_VERSION] = addVersion,
        [ETW_COLUMN_CHANNEL] = addChannel,
        [ETW_COLUMN_LEVEL] = addLevel,
        [ETW_COLUMN_OPCODE] = addOpcode,
        [ETW_COLUMN_TASK] = addTask,
        [ETW_COLUMN_KEYWORD] = addKeyword,
        [ETW_COLUMN_PID] = addPid,
        [ETW_COLUMN_TID] = addTid,
        [ETW_COLUMN_CPU] = addCpu,
        [ETW_COLUMN_ACTIVITY] = addActivity,
        [ETW_COLUMN_RELATED] = addRelated,
        [ETW_COLUMN_PROCESS] = addProcess,
        [ETW_COLUMN_OBJECT] = addObject,
        [ETW_COLUMN_PROPS] = addProps,
        [ETW_COLUMN_MESSAGE] = addMessage,
        [ETW_COLUMN_LEVEL_NAME] = addLevelName,
        [ETW_COLUMN_CHANNEL_NAME] = addChannelName,
        [ETW_COLUMN_TASK_NAME] = addTaskName,
        [ETW_COLUMN_OPCODE_NAME] = addOpcodeName,
        [ETW_COLUMN_KEYWORD_NAMES] = addKeywordNames,
        [ETW_COLUMN_PROVIDER_GUID] = addProviderGuid,
        [ETW_COLUMN_TDH_PROPS] = addTdh,
        [ETW_COLUMN_TEMPLATE] = addTemplate,
        [ETW_COLUMN_MESSAGE_OR_PROPS] = addMessageOrProps,
        [ETW_COLUMN_KERNEL_TIME] = addKernelTime,
        [ETW_COLUMN_USER_TIME] = addUserTime,
        [ETW_COLUMN_ELAPSED] = addElapsed,
        [ETW_COLUMN_STACK] = addStack,
        [ETW_COLUMN_FRAMES] = addFrames,
        [ETW_COLUMN_COUNTERS] = addCounters};

/* ---- Columns ---------------------------------------------------------------------------------- */

static EtwColumnId columnNamed(const char *name)
{
    for (int i = 0; i < ETW_COLUMNS; i++) {
        if (columnProcs[i] != NULL && strcmp(columnNames[i], name) == 0) {
            return (EtwColumnId)i;
        }
    }
    return ETW_COLUMN_NONE;
}

bool EtwColumnIsKnown(const char *name)
{
    return columnNamed(name) != ETW_COLUMN_NONE;
}

static void initColumn(EtwColumn *column, const char *name)
{
    size_t size = strlen(name);
    EtwColumnId id = columnNamed(name);
    if (id != ETW_COLUMN_NONE) {
        column->proc = columnProcs[id];
        return;
    }
    bool wrapped = size > 7 && memcmp(name, "props(", 6) == 0 && name[size - 1] == ')';
    column->field = EtwStrdup(wrapped ? name + 6 : name);
    if (wrapped) {
        column->field[size - 7] = 0;
    }
}

static int fieldOf(EtwColumn *column, const EtwSchema *schema)
{
    if (column->schema != schema) {
        column->schema = schema;
        column->index = -1;
        for (int i = 0; i < schema->fieldCount; i += schema->fields[i].span) {
            if (strcmp(schema->fields[i].name, column->field) == 0) {
                column->index = i;
                break;
            }
        }
    }
    return column->index;
}

/* Empty if the event does not have the field. */
static void addField(EtwColumn *column, const Cell *c, EtwText *out)
{
    int index = c->schema ? fieldOf(column, c->schema) : -1;
    const EtwField *field = index >= 0 ? &c->schema->fields[index] : NULL;
    EtwValue value;
    if (field == NULL) {
        return;
    }
    if (field->array != ETW_SCALAR || field->in == ETW_IN_STRUCT) {
        EtwListField(out, c->schema, c->event, index);
    } else if (EtwDecodeField(c->schema, c->event, index, &value) == ETW_OK) {
        EtwWide ns;
        if (EtwValueTime(&value, &ns)) {
            EtwFormatWide(out, ns);
        } else if (EtwValueIsText(field, &value) ||
                   (field->in == ETW_IN_POINTER && value.out == ETW_OUT_HEX)) {
            EtwFormatValue(out, field, &value);
        } else {
            EtwListValue(out, field, &value);
        }
    }
}

static void addCell(EtwColumn *column, const Cell *c, EtwText *out)
{
    if (column->proc != NULL) {
        column->proc(c, out);
    } else {
        addField(column, c, out);
    }
}

/* ---- A single column -------------------------------------------------------------------------- */

EtwColumn *EtwColumnNewOf(EtwColumnId id)
{
    EtwColumn *column = EtwAlloc(sizeof *column);
    column->proc = columnProcs[id];
    return column;
}

EtwColumn *EtwColumnNew(const char *name)
{
    EtwColumn *column = EtwAlloc(sizeof *column);
    initColumn(column, name);
    return column;
}

void EtwColumnAdd(EtwColumn *column, EtwSink *sink, const EtwEvent *event, const EtwSchema *schema,
        EtwText *out)
{
    Cell cell = {sink, event, schema};
    addCell(column, &cell, out);
}

int EtwColumnField(EtwColumn *column, const EtwSchema *schema)
{
    return column->proc == NULL && schema != NULL ? fieldOf(column, schema) : -1;
}

bool EtwColumnNumber(EtwColumn *column, EtwSink *sink, const EtwEvent *event,
        const EtwSchema *schema, EtwValue *value)
{
    if (column->proc == NULL) {
        int index = EtwColumnField(column, schema);
        return index >= 0 && schema->fields[index].array == ETW_SCALAR &&
               EtwDecodeField(schema, event, index, value) == ETW_OK;
    }
    EtwText text = {0};
    char *end;
    EtwColumnAdd(column, sink, event, schema, &text);
    EtwTextChar(&text, 0);
    bool negative = text.data[0] == '-';
    *value = (EtwValue){.kind = negative ? ETW_V_INT : ETW_V_UINT, .width = 8};
    value->u = strtoull(text.data, &end, 10);
    bool whole = end != text.data && *end == 0;
    EtwTextFree(&text);
    return whole;
}

void EtwColumnFree(EtwColumn *column)
{
    if (column != NULL) {
        EtwFree(column->field);
        EtwFree(column);
    }
}

/* ---- Rows -------------------------------------------------------------------------------------- */

/* Set the bytes that require quoting. */
static void initQuotes(const EtwSinkTable *table, bool quotes[256])
{
    static const char always[] = "\"\r\n";
    memset(quotes, 0, 256 * sizeof *quotes);
    for (const char *c = always; *c != 0; c++) {
        quotes[(uint8_t)*c] = true;
    }
    quotes[(uint8_t)table->separator] = true;
}

static void tableInit(EtwSink *sink)
{
    const EtwSinkTable *table = sink->config.table;
    Rows *rows = EtwAlloc(sizeof *rows + sizeof *rows->columns * (size_t)table->count);
    initQuotes(table, rows->quotes);
    for (int i = 0; i < table->count; i++) {
        initColumn(&rows->columns[i], table->columns[i]);
    }
    sink->own = rows;
}

/* Quote the text that was appended from `from` on, if required. */
static void quoteCsv(const bool quotes[256], size_t from, EtwText *out, EtwText *scratch)
{
    const uint8_t *at = (const uint8_t *)out->data + from;
    const uint8_t *end = (const uint8_t *)out->data + out->size;
    while (at < end && !quotes[*at]) {
        at++;
    }
    if (at == end) {
        return;
    }
    scratch->size = 0;
    EtwTextAdd(scratch, out->data + from, out->size - from);
    out->size = from;
    EtwAddCsvQuoted(out, "", scratch->data, scratch->size);
}

static void tableBegin(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    const EtwSinkTable *table = sink->config.table;
    const Rows *rows = sink->own;
    (void)source;
    if (sink->config.format != ETW_FORMAT_CSV ||
            (table->headers != NULL && table->headerCount == 0)) {
        return;
    }
    for (int i = 0; i < table->count; i++) {
        const char *header = table->headers != NULL ? table->headers[i] : table->columns[i];
        if (i > 0) {
            EtwTextChar(out, table->separator);
        }
        size_t from = out->size;
        EtwTextStr(out, header);
        quoteCsv(rows->quotes, from, out, &sink->scratch2);
    }
    EtwTextChar(out, '\n');
}

static void tableEvent(EtwSink *sink, const EtwEvent *event, const EtwSchema *schema, EtwText *out)
{
    const EtwSinkTable *table = sink->config.table;
    Rows *rows = sink->own;
    Cell cell = {sink, event, schema};
    bool csv = sink->config.format == ETW_FORMAT_CSV;
    for (int i = 0; i < table->count; i++) {
        if (i > 0) {
            EtwTextChar(out, csv ? table->separator : ' ');
        }
        size_t from = out->size;
        EtwTextReserve(out, 1);
        addCell(&rows->columns[i], &cell, out);
        if (csv) {
            quoteCsv(rows->quotes, from, out, &sink->scratch2);
        } else {
            EtwListNest(out, from);
        }
    }
    EtwTextChar(out, '\n');
}

static void tableFree(EtwSink *sink)
{
    Rows *rows = sink->own;
    for (int i = 0; i < sink->config.table->count; i++) {
        EtwFree(rows->columns[i].field);
    }
    EtwFree(rows);
}

const EtwSinkOps etwSinkTable = {
        .init = tableInit, .begin = tableBegin, .event = tableEvent, .free = tableFree};
