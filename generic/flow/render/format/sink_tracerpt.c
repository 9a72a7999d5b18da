/*
 * flow/render/format/sink_tracerpt.c --
 *
 *	csv in the format of tracerpt: its twenty columns, then a column for each value of the payload. Text is always
 *	quoted. A cell that a spreadsheet would interpret as a formula begins with an apostrophe, which is how spreadsheets
 *	mark text. Data that cannot be decoded is one column in hexadecimal.
 */
#include "flow/render/sink_int.h"

static void csvInit(EtwSink *sink)
{
    sink->config.timeFormat = ETW_TIME_FILETIME;
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
    for (const char *end = text + size; text < end; text++) {
        if (*text == '"') {
            EtwTextChar(out, '"');
        }
        if (*text == 0) {
            ETW_ADD(out, "\xEF\xBF\xBD");
        } else {
            EtwTextChar(out, *text);
        }
    }
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
    EtwTextStr(out, text);
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

static void csvEvent(EtwSink *sink, const EtwEvent *e, const EtwSchema *schema, EtwText *out)
{
    char guid[ETW_GUID_TEXT];
    const char *provider = EtwSinkProvider(sink, e, schema, guid);
    const char *type = EtwSinkEventName(schema);
    EtwTextReserve(out, 512);
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

const EtwSinkOps etwSinkTracerpt = {.init = csvInit, .begin = csvBegin, .event = csvEvent};
