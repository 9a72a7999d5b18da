/*
 * flow/render/sink.c --
 *
 *	Functions shared by all text formats: creating and freeing a sink, times, names. The files
 *	format/sink_*.c and listing/sink_text.c implement the formats.
 */
#include "flow/render/sink_int.h"
#include "base/unicode.h"
#include "etl/format.h"
#include "schema/store/event_message.h"

/* ---- Times ----------------------------------------------------------------------------------- */

const char *const etwTimeFormatNames[] = {"relative", "iso", "ns", "filetime", NULL};

/* The part of a time before the decimal point, which many successive events share. */
static void renewSecond(EtwSink *sink, int64_t second, bool negative)
{
    char *p = sink->secondText;
    sink->second = second;
    if (sink->config.timeFormat == ETW_TIME_RELATIVE) {
        char digits[20];
        int size = (int)(EtwPutDecimal(digits, (uint64_t)second) - digits);
        for (int pad = sink->secondWidth - size; pad > 0; pad--) {
            *p++ = ' ';
        }
        *p++ = negative ? '-' : '+';
        memcpy(p, digits, (size_t)size);
        p += size;
        sink->negative = negative;
    } else {
        p = EtwPutDateTime(p, second);
    }
    *p++ = '.';
    sink->secondSize = (int)(p - sink->secondText);
}

static char *putFraction(char *p, uint32_t ns, int digits)
{
    if (digits == 6) {
        return EtwPutPadded(p, ns / 1000, 6);
    }
    *p++ = (char)('0' + ns / 100000000);
    return EtwPutPadded(p, ns % 100000000, 8);
}

void EtwSinkTime(EtwSink *sink, int64_t time, int digits, EtwText *out)
{
    char *p = out->data + out->size;
    if (sink->config.timeFormat >= ETW_TIME_NS) {
        bool negative = time < 0;
        uint64_t v = negative ? 0 - (uint64_t)time : (uint64_t)time;
        if (sink->config.timeFormat == ETW_TIME_FILETIME) {
            int64_t filetime = EtwFiletimeOfNs(time);
            negative = filetime < 0;
            v = negative ? 0 - (uint64_t)filetime : (uint64_t)filetime;
        }
        *p = '-';
        out->size = (size_t)(EtwPutDecimal(p + negative, v) - out->data);
        return;
    }
    bool relative = sink->config.timeFormat == ETW_TIME_RELATIVE;
    bool negative = relative && time < sink->base;
    uint64_t distance = negative ? (uint64_t)sink->base - (uint64_t)time
                                 : (uint64_t)time - (uint64_t)sink->base;
    int64_t second = relative ? (int64_t)(distance / ETW_NS_A_SECOND)
                              : EtwFloorDivide(time, ETW_NS_A_SECOND);
    int64_t rest = relative ? (int64_t)(distance % ETW_NS_A_SECOND) : time % ETW_NS_A_SECOND;
    uint32_t ns = (uint32_t)(rest < 0 ? rest + ETW_NS_A_SECOND : rest);
    if (second != sink->second || sink->secondSize == 0 ||
            (relative && negative != sink->negative)) {
        renewSecond(sink, second, negative);
    }
    memcpy(p, sink->secondText, sizeof sink->secondText);
    p = putFraction(p + sink->secondSize, ns, digits);
    if (!relative) {
        *p++ = 'Z';
    }
    out->size = (size_t)(p - out->data);
}

void EtwSinkDataTime(EtwSink *sink, int64_t time, EtwText *out)
{
    EtwTextReserve(out, 64);
    size_t at = out->size;
    EtwSinkTime(sink, time, 9, out);
    if (out->data[at] == '+') {
        memmove(out->data + at, out->data + at + 1, out->size - at - 1);
        out->size--;
    }
}

/* ---- Header fields --------------------------------------------------------------------------- */

static void headerText(EtwText *out, EtwHeaderProc *proc, const char *key, const char *text)
{
    proc(out, key, text, strlen(text), false);
}

static void headerNumber(EtwText *out, EtwHeaderProc *proc, const char *key, uint64_t v)
{
    char text[20];
    proc(out, key, text, (size_t)(EtwPutDecimal(text, v) - text), true);
}

static void headerOptional(EtwText *out, EtwHeaderProc *proc, const char *key, uint64_t v)
{
    if (v != 0) {
        headerNumber(out, proc, key, v);
    }
}

static void headerId(EtwText *out, EtwHeaderProc *proc, const char *key, uint32_t v)
{
    if (v == ETW_NO_ID) {
        proc(out, key, "-1", 2, true);
    } else {
        headerNumber(out, proc, key, v);
    }
}

static void headerGuid(EtwText *out, EtwHeaderProc *proc, const char *key, const uint8_t *bytes)
{
    EtwGuid guid;
    char text[ETW_GUID_TEXT];
    if (bytes != NULL) {
        memcpy(guid.bytes, bytes, sizeof guid.bytes);
        EtwGuidFormat(&guid, text);
        headerText(out, proc, key, text);
    }
}

void EtwSinkHeader(EtwSink *sink, const EtwEvent *e, const EtwSchema *schema, EtwText *out,
        EtwHeaderProc *proc)
{
    char guid[ETW_GUID_TEXT];
    sink->scratch.size = 0;
    EtwSinkDataTime(sink, e->time, &sink->scratch);
    proc(out, "time", sink->scratch.data, sink->scratch.size,
            sink->config.timeFormat != ETW_TIME_ISO);
    headerText(out, proc, "provider", EtwSinkProvider(sink, e, schema, guid));
    headerText(out, proc, "event", EtwSinkEventName(schema));
    headerOptional(out, proc, "id", e->desc.id);
    headerOptional(out, proc, "version", e->desc.version);
    headerOptional(out, proc, "channel",
            e->desc.channel == ETL_CHANNEL_TRACELOGGING ? 0 : e->desc.channel);
    headerOptional(out, proc, "level", e->desc.level);
    headerOptional(out, proc, "opcode", e->desc.opcode);
    headerOptional(out, proc, "task", e->desc.task);
    headerOptional(out, proc, "keyword", e->desc.keyword);
    headerId(out, proc, "pid", e->pid);
    headerId(out, proc, "tid", e->tid);
    headerNumber(out, proc, "cpu", e->cpu);
    headerGuid(out, proc, "activity", EtwGuidIsNull(&e->activity) ? NULL : e->activity.bytes);
    headerGuid(out, proc, "related", e->related);
    if (e->process != NULL) {
        headerText(out, proc, "process", e->process);
    }
    if (e->object != NULL) {
        headerText(out, proc, "object", e->object);
    }
}

bool EtwSinkMessage(EtwSink *sink, const EtwEvent *event, const EtwSchema *schema)
{
    sink->message.size = 0;
    return sink->config.messages && schema != NULL &&
           EtwFormatMessage(&sink->message, schema, event);
}

void EtwSinkJsonText(EtwSink *sink, const char *text, size_t size, EtwText *out)
{
    sink->scratch.size = 0;
    EtwTextUtf8(&sink->scratch, (const uint8_t *)text, size);
    EtwAddJson(out, sink->scratch.data, sink->scratch.size);
}

/* ---- Names ------------------------------------------------------------------------- */

const char *EtwSinkProvider(const EtwSink *sink, const EtwEvent *event, const EtwSchema *schema,
        char guid[ETW_GUID_TEXT])
{
    const char *name = EtwProviderNameOf(sink->store, schema, event);
    if (name == NULL) {
        EtwGuidFormat(&event->provider, guid);
        name = guid;
    }
    return name;
}

/* ---- The sink -------------------------------------------------------------------------------- */

EtwSink *EtwSinkNew(const EtwSinkConfig *config, EtwSchemaStore *store)
{
    EtwSink *sink = EtwAlloc(sizeof *sink);
    sink->config = *config;
    sink->store = store;
    sink->ops = config->table != NULL ? &etwSinkTable : etwFormats[config->format].sink;
    if (sink->ops->init != NULL) {
        sink->ops->init(sink);
    }
    return sink;
}

/*
 * Relative times start at the session start of the earliest file, so that a filter does not shift
 * them.
 */
void EtwSinkBegin(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    for (int i = 0; source != NULL && i < EtwSourceFileCount(source); i++) {
        const EtlInfo *info = EtwSourceFileInfo(source, i, NULL);
        if (info->startTime > 0 && (!sink->based || info->startTime < sink->base)) {
            sink->base = info->startTime;
            sink->based = sink->fromFile = true;
        }
    }
    sink->track = source ? EtwSourceTracked(source) : NULL;
    if (sink->ops->begin != NULL) {
        sink->ops->begin(sink, source, out);
    }
}

void EtwSinkEvent(EtwSink *sink, const EtwEvent *event, EtwText *out)
{
    if (!sink->based) {
        sink->base = event->time;
        sink->based = true;
    }
    sink->ops->event(sink, event, EtwSchemaOf(sink->store, event), out);
}

void EtwSinkPartial(EtwSink *sink)
{
    sink->partial = true;
}

void EtwSinkEnd(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    if (sink->ops->end != NULL) {
        sink->ops->end(sink, source, out);
    }
}

const char *EtwSinkLacks(const EtwSink *sink)
{
    return sink->lacks;
}

void EtwSinkWarning(EtwSink *sink, const char *warning, EtwText *out)
{
    if (sink->ops->warning != NULL) {
        sink->ops->warning(sink, warning, out);
    }
}

void EtwSinkFree(EtwSink *sink)
{
    if (sink == NULL) {
        return;
    }
    if (sink->ops->free != NULL) {
        sink->ops->free(sink);
    }
    EtwTextFree(&sink->scratch);
    EtwTextFree(&sink->scratch2);
    EtwTextFree(&sink->message);
    EtwFree(sink);
}
