/*
 * flow/render/format/sink_xml.c --
 *
 *	XML in the format of tracerpt: the Windows event schema
 *	(http://schemas.microsoft.com/win/2004/08/events/event), one Event element for each event.
 *	Fields are Data elements, structs ComplexData; elements of arrays repeat the name. A payload
 *	without a schema is BinaryEventData, one that does not match its schema ProcessingErrorData.
 */
#include "flow/render/sink_int.h"

#define EVENTS "http://schemas.microsoft.com/win/2004/08/events"
enum { ERROR_EVT_INVALID_EVENT_DATA = 15005 };

static void xmlInit(EtwSink *sink)
{
    sink->config.timeFormat = ETW_TIME_ISO;
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

static void addNumber(EtwText *out, const char *before, uint64_t v, const char *after)
{
    EtwTextStr(out, before);
    EtwAddDecimal(out, v);
    EtwTextStr(out, after);
}

static void addGuid(EtwText *out, const char *attribute, const uint8_t *bytes)
{
    EtwGuid guid;
    char text[ETW_GUID_TEXT];
    memcpy(guid.bytes, bytes, sizeof guid.bytes);
    EtwGuidFormat(&guid, text);
    EtwTextStr(out, attribute);
    ETW_ADD(out, "=\"{");
    EtwTextStr(out, text);
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

static void openNamed(EtwText *out, const char *element, const char *name)
{
    EtwTextChar(out, '<');
    EtwTextStr(out, element);
    ETW_ADD(out, " Name=\"");
    addXml(out, name);
    ETW_ADD(out, "\">");
}

static void xmlValue(void *ctx, const EtwField *field, const EtwValue *v)
{
    XmlBuilder *b = ctx;
    openNamed(b->out, "Data", field->name);
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
        openNamed(((XmlBuilder *)ctx)->out, "ComplexData", field->name);
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
    addNumber(out, "<ProcessingErrorData><ErrorCode>", ERROR_EVT_INVALID_EVENT_DATA,
            "</ErrorCode><DataItemName/><EventPayload>");
    addBytes(out, e->payload, e->payloadSize);
    ETW_ADD(out, "</EventPayload></ProcessingErrorData>\n");
}

/* ---- The event ------------------------------------------------------------------------------- */

static void addExecution(const EtwEvent *e, EtwText *out)
{
    addNumber(out, "<Execution ProcessID=\"", e->pid, "\"");
    addNumber(out, " ThreadID=\"", e->tid, "\"");
    addNumber(out, " ProcessorID=\"", e->cpu, "\"");
    addNumber(out, " KernelTime=\"", e->kernelTime, "\"");
    addNumber(out, " UserTime=\"", e->userTime, "\"/>\n");
}

static void addSystem(EtwSink *sink, const EtwEvent *e, const char *provider, EtwText *out)
{
    ETW_ADD(out, "<System>\n<Provider Name=\"");
    addXml(out, provider);
    addGuid(out, "\" Guid", e->provider.bytes);
    addNumber(out, "/>\n<EventID>", e->desc.id, "</EventID>\n");
    addNumber(out, "<Version>", e->desc.version, "</Version>\n");
    addNumber(out, "<Level>", e->desc.level, "</Level>\n");
    addNumber(out, "<Task>", e->desc.task, "</Task>\n");
    addNumber(out, "<Opcode>", e->desc.opcode, "</Opcode>\n<Keywords>0x");
    EtwTextHex(out, e->desc.keyword, 1);
    ETW_ADD(out, "</Keywords>\n<TimeCreated SystemTime=\"");
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
        EtwTextPrintf(out, "<%s>", element);
        addXml(out, text);
        EtwTextPrintf(out, "</%s>\n", element);
    }
}

static void addRendering(EtwSink *sink, const EtwEvent *e, const EtwSchema *schema,
        const char *provider, EtwText *out)
{
    ETW_ADD(out, "<RenderingInfo Culture=\"en-US\">\n");
    if (EtwSinkMessage(sink, e, schema)) {
        ETW_ADD(out, "<Message>");
        EtwAddXml(out, sink->message.data, sink->message.size);
        ETW_ADD(out, "</Message>\n");
    }
    addElement(out, "Task", schema->task);
    addElement(out, "Opcode", schema->opcode);
    addElement(out, "Provider", provider);
    ETW_ADD(out, "<EventName xmlns=\"" EVENTS "/trace\">");
    addXml(out, schema->event);
    ETW_ADD(out, "</EventName>\n</RenderingInfo>\n");
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
    ETW_ADD(out, "<Event xmlns=\"" EVENTS "/event\">\n");
    addSystem(sink, e, provider, out);
    if (schema != NULL) {
        addFields(sink, e, schema, out);
        addRendering(sink, e, schema, provider, out);
    } else {
        addRaw(e, out);
    }
    if (schema == NULL || e->classic) {
        addClass(e, out);
    }
    ETW_ADD(out, "</Event>\n");
}

const EtwSinkOps etwSinkXml = {
        .init = xmlInit, .begin = xmlBegin, .event = xmlEvent, .end = xmlEnd};
