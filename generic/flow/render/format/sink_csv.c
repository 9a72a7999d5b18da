/*
 * flow/render/format/sink_csv.c --
 *
 *	One row for each event, after a fixed header row (RFC 4180, line feeds). The payload is one
 *	column, a JSON object.
 */
#include "flow/render/sink_int.h"

static void csvBegin(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    (void)source;
    ETW_ADD(out, "time,provider,event,id,version,level,opcode,task,keyword,pid,tid,cpu,activity,"
                 "related,props");
    EtwTextStr(out, sink->config.messages ? ",message\n" : "\n");
}

static void addText(EtwText *out, const char *text)
{
    EtwTextChar(out, ',');
    EtwAddCsv(out, text);
}

static void addNumber(EtwText *out, uint64_t v)
{
    EtwTextChar(out, ',');
    EtwAddDecimal(out, v);
}

static void addId(EtwText *out, uint32_t id)
{
    if (id == ETW_NO_ID) {
        EtwTextChar(out, ',');
    } else {
        addNumber(out, id);
    }
}

/* An absent GUID is an empty column. */
static void addGuid(EtwText *out, const uint8_t *bytes)
{
    static const EtwGuid null;
    EtwGuid guid;
    char text[ETW_GUID_TEXT] = "";
    if (bytes != NULL && memcmp(bytes, null.bytes, sizeof null.bytes) != 0) {
        memcpy(guid.bytes, bytes, sizeof guid.bytes);
        EtwGuidFormat(&guid, text);
    }
    addText(out, text);
}

static void csvEvent(EtwSink *sink, const EtwEvent *e, const EtwSchema *schema, EtwText *out)
{
    char guid[ETW_GUID_TEXT];
    EtwSinkDataTime(sink, e->time, out);
    addText(out, EtwSinkProvider(sink, e, schema, guid));
    addText(out, EtwSinkEventName(schema));
    addNumber(out, e->desc.id);
    addNumber(out, e->desc.version);
    addNumber(out, e->desc.level);
    addNumber(out, e->desc.opcode);
    addNumber(out, e->desc.task);
    addNumber(out, e->desc.keyword);
    addId(out, e->pid);
    addId(out, e->tid);
    addNumber(out, e->cpu);
    addGuid(out, e->activity.bytes);
    addGuid(out, e->related);
    sink->scratch2.size = 0;
    EtwJsonProps(sink, e, schema, &sink->scratch2, true);
    EtwTextChar(out, ',');
    EtwAddCsvQuoted(out, "", sink->scratch2.data, sink->scratch2.size);
    if (sink->config.messages) {
        EtwTextChar(out, ',');
    }
    if (EtwSinkMessage(sink, e, schema)) {
        EtwAddCsvQuoted(out, "", sink->message.data, sink->message.size);
    }
    EtwTextChar(out, '\n');
}

const EtwSinkOps etwSinkCsv = {.begin = csvBegin, .event = csvEvent};
