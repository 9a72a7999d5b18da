/*
 * flow/render/format/sink_json.c --
 *
 *	One JSON object per line. Readers may take numbers for doubles, which are exact up to 2^53:
 *	addresses are strings with hexadecimal digits, and so are other integers beyond 2^53, with
 *	decimal digits unless listings show them as hexadecimal. Times are numbers all the same. Bytes
 *	are hexadecimal digits. Text is valid UTF-8. Also produces the props column of sink_csv.c.
 */
#include "flow/render/escape.h"
#include "flow/render/sink_int.h"

/* ---- Payload --------------------------------------------------------------------------------- */

/* Add a comma if needed, and in an object the name of the value. */
static void addName(EtwJsonBuilder *b, const char *name)
{
    char last = b->out->data[b->out->size - 1];
    if (last != '{' && last != '[') {
        EtwTextChar(b->out, ',');
    }
    if ((b->lists & 1) == 0) {
        EtwAddJson(b->out, name, strlen(name));
        EtwTextChar(b->out, ':');
    }
}

enum { EXACT_BITS = 53 };

static bool isExact(const EtwValue *v)
{
    uint64_t size = v->kind == ETW_V_INT && v->i < 0 ? 0 - v->u : v->u;
    return size <= 1ull << EXACT_BITS;
}

static void addHexText(EtwText *out, uint64_t v)
{
    EtwTextPrintf(out, "\"0x%llx\"", (unsigned long long)v);
}

static void addInteger(EtwJsonBuilder *b, const EtwField *field, const EtwValue *v)
{
    bool hex = v->out == ETW_OUT_HEX || v->out == ETW_OUT_CODE_POINTER;
    bool pointer = hex && field->in == ETW_IN_POINTER;
    bool text = pointer || (b->narrow ? v->kind == ETW_V_UINT && v->u > INT64_MAX : !isExact(v));
    if (pointer || (text && hex && !b->narrow)) {
        addHexText(b->out, v->u);
        return;
    }
    EtwTextStr(b->out, text ? "\"" : "");
    if (v->kind == ETW_V_INT) {
        EtwAddSigned(b->out, v->i);
    } else {
        EtwAddDecimal(b->out, v->u);
    }
    EtwTextStr(b->out, text ? "\"" : "");
}

static void addValue(EtwJsonBuilder *b, const EtwField *field, const EtwValue *v)
{
    EtwText *out = b->out;
    if (v->kind == ETW_V_TEXT &&
            !(EtwTextTraits(v->data, v->size) & (ETW_TEXT_SPECIAL | ETW_TEXT_BACKSLASH))) {
        EtwTextChar(out, '"');
        EtwTextAdd(out, v->data, v->size);
        EtwTextChar(out, '"');
    } else if (v->kind == ETW_V_NULL) {
        ETW_ADD(out, "null");
    } else if (EtwValueIsText(field, v) || (v->kind == ETW_V_DOUBLE && v->d - v->d != 0)) {
        b->scratch->size = 0;
        EtwFormatValue(b->scratch, field, v);
        EtwAddJson(out, b->scratch->data, b->scratch->size);
    } else if (v->kind == ETW_V_INT || v->kind == ETW_V_UINT) {
        addInteger(b, field, v);
    } else { /* true, false, or a number with a decimal point */
        EtwFormatValue(out, field, v);
    }
}

void EtwJsonValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    EtwJsonBuilder *b = ctx;
    addName(b, field->name);
    addValue(b, field, value);
}

void EtwJsonBegin(void *ctx, const EtwField *field, bool isStruct, int count)
{
    EtwJsonBuilder *b = ctx;
    (void)count;
    addName(b, field->name);
    EtwTextChar(b->out, isStruct ? '{' : '[');
    b->lists = b->lists << 1 | !isStruct;
}

void EtwJsonEnd(void *ctx, const EtwField *field, bool isStruct)
{
    EtwJsonBuilder *b = ctx;
    (void)field;
    EtwTextChar(b->out, isStruct ? '}' : ']');
    b->lists >>= 1;
}

static void jsonRest(void *ctx, const uint8_t *data, size_t size)
{
    static const EtwField field = {.name = ""};
    const EtwValue value = {.kind = ETW_V_BYTES, .data = data, .size = size};
    EtwJsonBuilder *b = ctx;
    addName(b, b->bare ? "_payload" : "_rest");
    addValue(b, &field, &value);
}

EtwStatus EtwJsonProps(
        EtwSink *sink, const EtwEvent *event, const EtwSchema *schema, EtwText *out, bool withError)
{
    static const EtwVisitor visitor = {EtwJsonValue, EtwJsonBegin, EtwJsonEnd, jsonRest};
    static const EtwSchema unknown = {.provider = "", .event = ""};
    const EtwSchema *by = schema ? schema : &unknown;
    EtwJsonBuilder b = {.out = out,
            .scratch = &sink->scratch,
            .narrow = sink->config.format == ETW_FORMAT_ROWS,
            .bare = by->fieldCount == 0};
    EtwTextChar(out, '{');
    EtwStatus status = EtwDecode(by, event, &visitor, &b);
    if (status != ETW_OK && withError) {
        addName(&b, "_error");
        ETW_ADD(out, "\"" ETW_TOO_SHORT "\"");
    }
    EtwTextChar(out, '}');
    return status;
}

/* ---- The line -------------------------------------------------------------------------------- */

static uint64_t decimalOf(const char *digits, size_t size)
{
    uint64_t v = 0;
    for (size_t i = 0; i < size; i++) {
        v = 10 * v + (uint64_t)(digits[i] - '0');
    }
    return v;
}

static void addHeader(EtwText *out, const char *key, const char *text, size_t size, bool number)
{
    EtwTextChar(out, out->data[out->size - 1] == '{' ? '"' : ',');
    if (out->data[out->size - 1] == ',') {
        EtwTextChar(out, '"');
    }
    EtwTextStr(out, key);
    ETW_ADD(out, "\":");
    uint64_t mask = strcmp(key, "keyword") == 0 ? decimalOf(text, size) : 0;
    if (mask > 1ull << EXACT_BITS) {
        addHexText(out, mask);
    } else if (number) {
        EtwTextAdd(out, text, size);
    } else {
        EtwAddJson(out, text, size);
    }
}

void EtwJsonStack(const EtwEvent *event, EtwText *out)
{
    for (uint32_t i = 0; i < event->stackCount; i++) {
        EtwTextChar(out, i == 0 ? '[' : ',');
        addHexText(out, EtwEventStackAt(event, i));
    }
    EtwTextChar(out, ']');
}

void EtwJsonFrames(EtwSink *sink, const EtwEvent *event, EtwText *out)
{
    EtwFrameWalk walk;
    char separator = '[';
    EtwFrameWalkBegin(&walk, sink->track, event);
    for (const EtwFrame *frame; (frame = EtwFrameNext(&walk)) != NULL; separator = ',') {
        EtwTextChar(out, separator);
        sink->scratch2.size = 0;
        EtwFrameText(frame, &sink->scratch2);
        EtwAddJson(out, sink->scratch2.data, sink->scratch2.size);
    }
    EtwTextChar(out, ']');
}

static void jsonEvent(EtwSink *sink, const EtwEvent *event, const EtwSchema *schema, EtwText *out)
{
    EtwTextChar(out, '{');
    EtwSinkHeader(sink, event, schema, out, addHeader);
    if (EtwSinkMessage(sink, event, schema)) {
        addHeader(out, "message", sink->message.data, sink->message.size, false);
    }
    ETW_ADD(out, ",\"props\":");
    EtwStatus status = EtwJsonProps(sink, event, schema, out, false);
    if (event->stack != NULL && event->stackCount > 0) {
        ETW_ADD(out, ",\"stack\":");
        EtwJsonStack(event, out);
        if (sink->config.stacks) {
            ETW_ADD(out, ",\"frames\":");
            EtwJsonFrames(sink, event, out);
        }
    }
    if (status != ETW_OK) {
        ETW_ADD(out, ",\"error\":\"" ETW_TOO_SHORT "\"");
    }
    if (event->late) {
        ETW_ADD(out, ",\"late\":true");
    }
    ETW_ADD(out, "}\n");
}

const EtwSinkOps etwSinkJson = {.event = jsonEvent};
