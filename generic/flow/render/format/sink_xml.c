/*
 * flow/render/format/sink_xml.c --
 *
 *	XML in the format of tracerpt: the Windows event schema
 *	(http://schemas.microsoft.com/win/2004/08/events/event), one Event element for each event.
 *	Fields are Data elements, structs ComplexData; elements of arrays repeat the name. A payload
 *	without a schema is BinaryEventData, one that does not match its schema ProcessingErrorData.
 */
#include "flow/render/kind_text.h"
#include "flow/render/sink_int.h"

#define EVENTS "http://schemas.microsoft.com/win/2004/08/events"
enum { ERROR_EVT_INVALID_EVENT_DATA = 15005 };

static void xmlInit(EtwSink *sink)
{
    sink->config.timeFormat = ETW_TIME_ISO;
    sink->own = EtwAlloc(sizeof(EtwKindTexts));
}

static void xmlBegin(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    (void)sink, (void)source;
    ETW_ADD(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Events>\n");
}

static void xmlEnd(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    (void)sink, (void)source;
    ETW_ADD(out, "</Events>\n");
}

static void addXml(EtwText *out, const char *text)
{
    EtwAddXml(out, text, strlen(text));
}

/* Literals: their sizes are known. */
#define ADD_NUMBER(out, before, v, after)                                                          \
    (ETW_ADD(out, before), EtwAddDecimal(out, v), ETW_ADD(out, after))

static void addGuid(EtwText *out, const char *attribute, const uint8_t *bytes)
{
    EtwGuid guid;
    char text[ETW_GUID_TEXT];
    memcpy(guid.bytes, bytes, sizeof guid.bytes);
    EtwGuidFormat(&guid, text);
    EtwTextStr(out, attribute);
    ETW_ADD(out, "=\"{");
    EtwTextAdd(out, text, ETW_GUID_TEXT - 1);
    ETW_ADD(out, "}\"");
}

static void addBytes(EtwText *out, const uint8_t *data, size_t size)
{
    static const char digits[] = "0123456789ABCDEF";
    EtwTextReserve(out, 2 * size);
    for (size_t i = 0; i < size; i++) {
        out->data[out->size++] = digits[data[i] >> 4];
        out->data[out->size++] = digits[data[i] & 15];
    }
}

/* ---- Payload --------------------------------------------------------------------------------- */

typedef struct XmlBuilder {
    EtwText *out, *scratch;
} XmlBuilder;

#define OPEN_NAMED(out, element, name)                                                             \
    (ETW_ADD(out, "<" element " Name=\""), addXml(out, name), ETW_ADD(out, "\">"))

static void xmlValue(void *ctx, const EtwField *field, const EtwValue *v)
{
    XmlBuilder *b = ctx;
    OPEN_NAMED(b->out, "Data", field->name);
    b->scratch->size = 0;
    if (v->kind != ETW_V_NULL) {
        EtwFormatValue(b->scratch, field, v);
    }
    EtwAddXml(b->out, b->scratch->data, b->scratch->size);
    ETW_ADD(b->out, "</Data>\n");
}

static void xmlBeginGroup(void *ctx, const EtwField *field, bool isStruct, int count)
{
    (void)count;
    if (isStruct) {
        OPEN_NAMED(((XmlBuilder *)ctx)->out, "ComplexData", field->name);
        EtwTextChar(((XmlBuilder *)ctx)->out, '\n');
    }
}

static void xmlEndGroup(void *ctx, const EtwField *field, bool isStruct)
{
    (void)field;
    if (isStruct) {
        ETW_ADD(((XmlBuilder *)ctx)->out, "</ComplexData>\n");
    }
}

static void xmlRest(void *ctx, const uint8_t *data, size_t size)
{
    XmlBuilder *b = ctx;
    ETW_ADD(b->out, "<Binary>");
    addBytes(b->out, data, size);
    ETW_ADD(b->out, "</Binary>\n");
}

static void addRaw(const EtwEvent *e, EtwText *out)
{
    ETW_ADD(out, "<BinaryEventData>");
    addBytes(out, e->payload, e->payloadSize);
    ETW_ADD(out, "</BinaryEventData>\n");
}

static void addFields(EtwSink *sink, const EtwEvent *e, const EtwSchema *schema, EtwText *out)
{
    static const EtwVisitor visitor = {xmlValue, xmlBeginGroup, xmlEndGroup, xmlRest};
    XmlBuilder b = {out, &sink->scratch};
    size_t start = out->size;
    ETW_ADD(out, "<EventData>\n");
    if (EtwDecode(schema, e, &visitor, &b) == ETW_OK) {
        ETW_ADD(out, "</EventData>\n");
        return;
    }
    out->size = start; /* discard elements that may be open: the bytes contain everything */
    ADD_NUMBER(out, "<ProcessingErrorData><ErrorCode>", ERROR_EVT_INVALID_EVENT_DATA,
            "</ErrorCode><DataItemName/><EventPayload>");
    addBytes(out, e->payload, e->payloadSize);
    ETW_ADD(out, "</EventPayload></ProcessingErrorData>\n");
}

/* ---- The event ------------------------------------------------------------------------------- */

static void addExecution(const EtwEvent *e, EtwText *out)
{
    ADD_NUMBER(out, "<Execution ProcessID=\"", e->pid, "\"");
    ADD_NUMBER(out, " ThreadID=\"", e->tid, "\"");
    ADD_NUMBER(out, " ProcessorID=\"", e->cpu, "\"");
    ADD_NUMBER(out, " KernelTime=\"", e->kernelTime, "\"");
    ADD_NUMBER(out, " UserTime=\"", e->userTime, "\"/>\n");
}

/* The part that is equal for all events of a kind. */
static void addKind(const EtwEvent *e, const char *provider, EtwText *out)
{
    ETW_ADD(out, "<Event xmlns=\"" EVENTS "/event\">\n<System>\n<Provider Name=\"");
    addXml(out, provider);
    addGuid(out, "\" Guid", e->provider.bytes);
    ADD_NUMBER(out, "/>\n<EventID>", e->desc.id, "</EventID>\n");
    ADD_NUMBER(out, "<Version>", e->desc.version, "</Version>\n");
    ADD_NUMBER(out, "<Level>", e->desc.level, "</Level>\n");
    ADD_NUMBER(out, "<Task>", e->desc.task, "</Task>\n");
    ADD_NUMBER(out, "<Opcode>", e->desc.opcode, "</Opcode>\n<Keywords>0x");
    EtwTextHex(out, e->desc.keyword, 1);
    ETW_ADD(out, "</Keywords>\n<TimeCreated SystemTime=\"");
}

static void addSystem(EtwSink *sink, const EtwEvent *e, EtwText *out)
{
    /* SystemTime has 100 ns, also in the XML of Windows; other forms (-timeformat) are exact. */
    int64_t rest = ((e->time % 100) + 100) % 100;
    bool iso = sink->config.timeFormat == ETW_TIME_ISO;
    EtwSinkDataTime(sink, e->time - (iso ? rest : 0), out);
    addGuid(out, "\"/>\n<Correlation ActivityID", e->activity.bytes);
    if (e->related != NULL) {
        addGuid(out, " RelatedActivityID", e->related);
    }
    ETW_ADD(out, "/>\n");
    addExecution(e, out);
    ETW_ADD(out, "<Channel/>\n<Computer/>\n</System>\n");
}

static void addElement(EtwText *out, const char *element, const char *text)
{
    if (text != NULL && *text != 0) {
        EtwTextChar(out, '<');
        EtwTextStr(out, element);
        EtwTextChar(out, '>');
        addXml(out, text);
        ETW_ADD(out, "</");
        EtwTextStr(out, element);
        ETW_ADD(out, ">\n");
    }
}

/* What follows the message in RenderingInfo: equal for all events of a kind. */
static void addNames(const EtwSchema *schema, const char *provider, EtwText *out)
{
    addElement(out, "Task", schema->task);
    addElement(out, "Opcode", schema->opcode);
    addElement(out, "Provider", provider);
    ETW_ADD(out, "<EventName xmlns=\"" EVENTS "/trace\">");
    addXml(out, schema->event);
    ETW_ADD(out, "</EventName>\n</RenderingInfo>\n");
}

static void addRendering(EtwSink *sink, const EtwEvent *e, const EtwSchema *schema,
        const char *provider, EtwText *names, EtwText *out)
{
    ETW_ADD(out, "<RenderingInfo Culture=\"en-US\">\n");
    if (EtwSinkMessage(sink, e, schema)) {
        ETW_ADD(out, "<Message>");
        EtwAddXml(out, sink->message.data, sink->message.size);
        ETW_ADD(out, "</Message>\n");
    }
    if (names->size == 0) {
        addNames(schema, provider, names);
    }
    EtwTextAdd(out, names->data, names->size);
}

static void addClass(const EtwEvent *e, EtwText *out)
{
    char text[ETW_GUID_TEXT];
    EtwGuidFormat(&e->provider, text);
    EtwTextPrintf(out,
            "<ExtendedTracingInfo xmlns=\"" EVENTS "/trace\"><EventGuid>{%s}</EventGuid>"
            "</ExtendedTracingInfo>\n",
            text);
}

static void xmlEvent(EtwSink *sink, const EtwEvent *e, const EtwSchema *schema, EtwText *out)
{
    char guid[ETW_GUID_TEXT];
    const char *provider = EtwSinkProvider(sink, e, schema, guid);
    EtwKindText *kind = EtwKindTextOf(sink->own, e, schema, provider, guid);
    if (kind->parts[0].size == 0) {
        addKind(e, provider, &kind->parts[0]);
    }
    EtwTextAdd(out, kind->parts[0].data, kind->parts[0].size);
    addSystem(sink, e, out);
    if (schema != NULL) {
        addFields(sink, e, schema, out);
        addRendering(sink, e, schema, provider, &kind->parts[1], out);
    } else {
        addRaw(e, out);
    }
    if (schema == NULL || e->classic) {
        addClass(e, out);
    }
    ETW_ADD(out, "</Event>\n");
}

static void xmlFree(EtwSink *sink)
{
    EtwKindTextsFree(sink->own);
}

const EtwSinkOps etwSinkXml = {
        .init = xmlInit, .begin = xmlBegin, .event = xmlEvent, .end = xmlEnd, .free = xmlFree};
