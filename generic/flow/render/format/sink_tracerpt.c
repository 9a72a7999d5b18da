/*
 * flow/render/format/sink_tracerpt.c --
 *
 *	csv in the format of tracerpt: its twenty columns, then a column for each value of the payload. Text is always
 *	quoted. A cell that a spreadsheet would interpret as a formula begins with an apostrophe, which is how spreadsheets
 *	mark text. Data that cannot be decoded is one column in hexadecimal.
 */
#include "flow/render/kind_text.h"
#include "flow/render/sink_int.h"

static void csvInit(EtwSink *sink)
{
    sink->config.timeFormat = ETW_TIME_FILETIME;
    sink->own = EtwAlloc(sizeof(EtwKindTexts));
}

static void csvBegin(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    (void)sink, (void)source;
    ETW_ADD(out, "Event Name,Type,Event ID,Version,Channel,Level,Opcode,Task,Keyword,PID,TID,"
                 "Processor Number,Instance ID,Parent Instance ID,Activity ID,Related Activity ID,"
                 "Clock-Time,Kernel(ms),User(ms),User Data\r\n");
}

static bool isFormula(char c)
{
    return c == '=' || c == '+' || c == '-' || c == '@' || c == '\t' || c == '\r';
}

static void addText(EtwText *out, const char *text, size_t size)
{
    EtwTextChar(out, '"');
    if (size > 0 && isFormula(*text)) {
        EtwTextChar(out, '\'');
    }
    const char *end = text + size, *start = text;
    for (; text < end; text++) {
        if (*text == '"') { /* twice: once here, once with what follows */
            EtwAddShort(out, start, (size_t)(text + 1 - start));
            start = text;
        } else if (*text == 0) {
            EtwAddShort(out, start, (size_t)(text - start));
            ETW_ADD(out, "\xEF\xBF\xBD");
            start = text + 1;
        }
    }
    EtwAddShort(out, start, (size_t)(end - start));
    EtwTextChar(out, '"');
}

static void addNumber(EtwText *out, uint64_t v)
{
    EtwTextChar(out, ',');
    EtwAddDecimal(out, v);
}

static void addHex(EtwText *out, uint64_t v, int digits)
{
    ETW_ADD(out, ",0x");
    EtwTextHex(out, v, digits);
}

static void addGuid(EtwText *out, const uint8_t *bytes)
{
    EtwGuid guid = {{0}};
    char text[ETW_GUID_TEXT];
    if (bytes != NULL) {
        memcpy(guid.bytes, bytes, sizeof guid.bytes);
    }
    EtwGuidFormat(&guid, text);
    ETW_ADD(out, ",{");
    EtwTextAdd(out, text, ETW_GUID_TEXT - 1);
    EtwTextChar(out, '}');
}

/* ---- User Data ------------------------------------------------------------------------------- */

typedef struct Cells {
    EtwText *out, *scratch;
} Cells;

/* An address is hexadecimal, as in all other text. */
static bool isPointer(const EtwField *field, const EtwValue *v)
{
    return field->in == ETW_IN_POINTER && (v->out == ETW_OUT_HEX || v->out == ETW_OUT_CODE_POINTER);
}

static bool isNumber(const EtwField *field, const EtwValue *v)
{
    return !EtwValueIsText(field, v) &&
           (v->kind == ETW_V_INT || v->kind == ETW_V_UINT || v->kind == ETW_V_DOUBLE);
}

static void cellValue(void *ctx, const EtwField *field, const EtwValue *v)
{
    Cells *cells = ctx;
    EtwTextChar(cells->out, ',');
    if (v->kind == ETW_V_UINT && isNumber(field, v) && !isPointer(field, v)) {
        EtwAddDecimal(cells->out, v->u);
    } else if (isNumber(field, v)) {
        EtwFormatValue(cells->out, field, v);
    } else if (v->kind != ETW_V_NULL) {
        cells->scratch->size = 0;
        EtwFormatValue(cells->scratch, field, v);
        addText(cells->out, cells->scratch->data, cells->scratch->size);
    }
}

static void cellBegin(void *ctx, const EtwField *field, bool isStruct, int count)
{
    (void)ctx, (void)field, (void)isStruct, (void)count;
}

static void cellEnd(void *ctx, const EtwField *field, bool isStruct)
{
    (void)ctx, (void)field, (void)isStruct;
}

static void cellRest(void *ctx, const uint8_t *data, size_t size)
{
    static const EtwField field = {.name = ""};
    cellValue(ctx, &field, &(EtwValue){.kind = ETW_V_BYTES, .data = data, .size = size});
}

static void addCells(EtwSink *sink, const EtwEvent *e, const EtwSchema *schema, EtwText *out)
{
    static const EtwVisitor visitor = {cellValue, cellBegin, cellEnd, cellRest};
    static const EtwSchema unknown = {.provider = "", .event = ""};
    Cells cells = {out, &sink->scratch};
    EtwDecode(schema ? schema : &unknown, e, &visitor, &cells);
}

/* The columns that are equal for all events of a kind. */
static void addKind(const EtwEvent *e, const EtwSchema *schema, const char *provider, EtwText *out)
{
    const char *type = EtwSinkEventName(schema);
    addText(out, provider, strlen(provider));
    EtwTextChar(out, ',');
    addText(out, type, strlen(type));
    addNumber(out, e->desc.id);
    addNumber(out, e->desc.version);
    addNumber(out, e->desc.channel);
    addNumber(out, e->desc.level);
    addNumber(out, e->desc.opcode);
    addNumber(out, e->desc.task);
    addHex(out, e->desc.keyword, 16);
}

static void csvFree(EtwSink *sink)
{
    EtwKindTextsFree(sink->own);
}

static void csvEvent(EtwSink *sink, const EtwEvent *e, const EtwSchema *schema, EtwText *out)
{
    char guid[ETW_GUID_TEXT];
    const char *provider = EtwSinkProvider(sink, e, schema, guid);
    EtwText *kind = &EtwKindTextOf(sink->own, e, schema, provider, guid)->parts[0];
    if (kind->size == 0) {
        addKind(e, schema, provider, kind);
    }
    EtwTextReserve(out, kind->size + 512);
    EtwTextAdd(out, kind->data, kind->size);
    addHex(out, e->pid, 8);
    addHex(out, e->tid, 8);
    addNumber(out, e->cpu);
    ETW_ADD(out, ",,"); /* instances are not supported */
    addGuid(out, e->activity.bytes);
    addGuid(out, e->related);
    EtwTextChar(out, ',');
    EtwSinkDataTime(sink, e->time, out);
    addNumber(out, e->kernelTime);
    addNumber(out, e->userTime);
    addCells(sink, e, schema, out);
    ETW_ADD(out, "\r\n");
}

const EtwSinkOps etwSinkTracerpt = {
        .init = csvInit, .begin = csvBegin, .event = csvEvent, .free = csvFree};
