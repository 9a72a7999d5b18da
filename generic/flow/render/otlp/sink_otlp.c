/*
 * flow/render/otlp/sink_otlp.c --
 *
 *	Traces of OpenTelemetry (https://opentelemetry.io/docs/specs/otlp), as JSON, a request on each line, or as
 *	Protocol Buffers. A call is a span; the other events of its thread are events of the innermost span. The trace of
 *	a span is its activity, otherwise that of its caller; a call without both begins a trace.
 */
#include "flow/calls/call_tree.h"
#include "flow/render/protobuf.h"
#include "flow/render/sink_int.h"
#include "semantics/semantics.h"
#include "base/hash_table.h"
#include "base/unicode.h"

/* Fields of the messages. */
enum {
    DATA_RESOURCE_SPANS = 1,
    SPANS_RESOURCE = 1,
    SPANS_SCOPE_SPANS = 2,
    RESOURCE_ATTRIBUTES = 1,
    SCOPE_SPANS_SCOPE = 1,
    SCOPE_SPANS_SPANS = 2,
    SCOPE_NAME = 1,
    SCOPE_VERSION = 2,
    SPAN_TRACE = 1,
    SPAN_ID = 2,
    SPAN_PARENT = 4,
    SPAN_NAME = 5,
    SPAN_KIND = 6,
    SPAN_START = 7,
    SPAN_END = 8,
    SPAN_ATTRIBUTES = 9,
    SPAN_EVENTS = 11,
    SPAN_DROPPED_EVENTS = 12,
    SPAN_LINKS = 13,
    SPAN_STATUS = 15,
    EVENT_TIME = 1,
    EVENT_NAME = 2,
    EVENT_ATTRIBUTES = 3,
    LINK_TRACE = 1,
    LINK_SPAN = 2,
    STATUS_MESSAGE = 2,
    STATUS_CODE = 3,
    PAIR_KEY = 1,
    PAIR_VALUE = 2,
    ANY_TEXT = 1,
    ANY_BOOL = 2,
    ANY_INT = 3,
    ANY_DOUBLE = 4
};
enum {
    KIND_INTERNAL = 1,
    STATUS_ERROR = 2,
    TCL_CODE_ERROR = 1,
    TRACE_SIZE = 16,
    SPAN_SIZE = 8,
    EVENTS_MAX = 128,        /* of a span; the limit that OpenTelemetry's own libraries have */
    EVENTS_SIZE = 64 * 1024, /* bytes of a span's events */
    TEXT_MAX = 4096,         /* bytes of a name or command */
    BATCH_SIZE = 256 * 1024  /* bytes of spans in one request */
};

/* An open call. */
typedef struct Span {
    struct Span *outer;
    uint8_t trace[TRACE_SIZE], id[SPAN_SIZE];
    const struct Span *parent; /* in the same trace; NULL: none */
    const struct Span *link;   /* the caller, in another trace */
    int64_t start;
    EtwText words, events;
    uint32_t eventCount, dropped;
    bool resumed;
} Span;

/* A thread's open calls. */
typedef struct Lane {
    EtwTableNode node;
    uint32_t pid, tid;
    Span *top;
} Lane;

typedef struct Otlp {
    EtwSink *sink;
    EtwCalls *calls;
    EtwText *out; /* valid during an event */
    const EtwEvent *event;
    const EtwSchema *schema;
    bool json, some;
    uint64_t count; /* spans so far */
    EtwTable lanes;
    EtwText host, batch; /* spans of one process that are not written yet */
    uint32_t pid;        /* that process */
    char *process;       /* its name; NULL: unknown */
    int depth;           /* of the field that is decoded */
    EtwJsonBuilder builder;
    EtwText nested;
} Otlp;

/* ---- Both encodings -------------------------------------------------------------------------- */

/* JSON: a comma, unless it is the first in its object or list; and the key. */
static void addKey(EtwText *out, const char *key)
{
    char last = out->size > 0 ? out->data[out->size - 1] : '{';
    if (last != '{' && last != '[') {
        EtwTextChar(out, ',');
    }
    if (key != NULL) {
        EtwTextChar(out, '"');
        EtwTextStr(out, key);
        EtwTextChar(out, '"');
        EtwTextChar(out, ':');
    }
}

/* key NULL: an element of a list. */
static size_t beginMessage(const Otlp *o, EtwText *out, int field, const char *key)
{
    if (!o->json) {
        return EtwPbBegin(out, field);
    }
    addKey(out, key);
    EtwTextChar(out, '{');
    return 0;
}

static void endMessage(const Otlp *o, EtwText *out, size_t begin)
{
    if (o->json) {
        EtwTextChar(out, '}');
    } else {
        EtwPbEnd(out, begin);
    }
}

/* Lists are in JSON only: in the other encoding their fields are repeated. */
static void beginList(const Otlp *o, EtwText *out, const char *key)
{
    if (o->json) {
        addKey(out, key);
        EtwTextChar(out, '[');
    }
}

static void endList(const Otlp *o, EtwText *out)
{
    if (o->json) {
        EtwTextChar(out, ']');
    }
}

static void addText(
        const Otlp *o, EtwText *out, int field, const char *key, const char *text, size_t size)
{
    if (o->json) {
        addKey(out, key);
        EtwSinkJsonText(o->sink, text, size, out);
    } else {
        EtwPbText(out, field, text, size);
    }
}

static void addNumber(const Otlp *o, EtwText *out, int field, const char *key, uint64_t v)
{
    if (o->json) {
        addKey(out, key);
        EtwAddDecimal(out, v);
    } else {
        EtwPbValue(out, field, v);
    }
}

/* 64-bit integers are texts in JSON. */
static void addTime(const Otlp *o, EtwText *out, int field, const char *key, int64_t time)
{
    if (o->json) {
        addKey(out, key);
        EtwTextChar(out, '"');
        EtwAddDecimal(out, (uint64_t)time);
        EtwTextChar(out, '"');
    } else {
        EtwPbFixed64(out, field, (uint64_t)time);
    }
}

static void addId(
        const Otlp *o, EtwText *out, int field, const char *key, const uint8_t *id, size_t size)
{
    if (!o->json) {
        EtwPbBytes(out, field, id, size);
        return;
    }
    addKey(out, key);
    EtwTextChar(out, '"');
    for (size_t i = 0; i < size; i++) {
        EtwTextHex(out, id[i], 2);
    }
    EtwTextChar(out, '"');
}

/* ---- Attributes ------------------------------------------------------------------------------ */

typedef struct Pair {
    size_t pair, value;
} Pair;

static Pair beginPair(const Otlp *o, EtwText *out, int field, const char *key)
{
    Pair p;
    p.pair = beginMessage(o, out, field, NULL);
    addText(o, out, PAIR_KEY, "key", key, strlen(key));
    p.value = beginMessage(o, out, PAIR_VALUE, "value");
    return p;
}

static void endPair(const Otlp *o, EtwText *out, Pair p)
{
    endMessage(o, out, p.value);
    endMessage(o, out, p.pair);
}

static void addTextPair(
        const Otlp *o, EtwText *out, int field, const char *key, const char *text, size_t size)
{
    Pair p = beginPair(o, out, field, key);
    addText(o, out, ANY_TEXT, "stringValue", text, size);
    endPair(o, out, p);
}

static void addIntValue(const Otlp *o, EtwText *out, int64_t v)
{
    if (o->json) {
        addKey(out, "intValue");
        EtwTextChar(out, '"');
        EtwAddSigned(out, v);
        EtwTextChar(out, '"');
    } else {
        EtwPbValue(out, ANY_INT, (uint64_t)v);
    }
}

static void addIntPair(const Otlp *o, EtwText *out, int field, const char *key, int64_t v)
{
    Pair p = beginPair(o, out, field, key);
    addIntValue(o, out, v);
    endPair(o, out, p);
}

/* The span whose event is made is that of the thread's innermost call. */
static void onValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    Otlp *o = ctx;
    EtwText *out = &o->sink->message;
    if (o->depth > 0) {
        EtwJsonValue(&o->builder, field, value);
        return;
    }
    Pair p = beginPair(o, out, EVENT_ATTRIBUTES, field->name);
    bool isInt = value->kind == ETW_V_INT || (value->kind == ETW_V_UINT && value->u <= INT64_MAX);
    if (!EtwValueIsText(field, value) && isInt) {
        addIntValue(o, out, value->i);
    } else if (value->kind == ETW_V_BOOL) {
        if (o->json) {
            addKey(out, "boolValue");
            EtwTextStr(out, value->u != 0 ? "true" : "false");
        } else {
            EtwPbValue(out, ANY_BOOL, value->u != 0);
        }
    } else if (value->kind == ETW_V_DOUBLE && !o->json) {
        EtwPbDouble(out, ANY_DOUBLE, value->d);
    } else if (value->kind == ETW_V_DOUBLE && value->d - value->d == 0) {
        addKey(out, "doubleValue");
        EtwFormatValue(out, field, value);
    } else if (value->kind != ETW_V_NULL) {
        o->nested.size = 0;
        EtwFormatValue(&o->nested, field, value);
        addText(o, out, ANY_TEXT, "stringValue", o->nested.data, o->nested.size);
    }
    endPair(o, out, p);
}

/* Arrays and structs become JSON. */
static void onBegin(void *ctx, const EtwField *field, bool isStruct, int count)
{
    Otlp *o = ctx;
    if (o->depth++ == 0) {
        o->nested.size = 0;
        EtwTextChar(&o->nested, '[');
        o->builder = (EtwJsonBuilder){.out = &o->nested, .scratch = &o->sink->scratch, .lists = 1};
    }
    EtwJsonBegin(&o->builder, field, isStruct, count);
}

static void onEnd(void *ctx, const EtwField *field, bool isStruct)
{
    Otlp *o = ctx;
    EtwJsonEnd(&o->builder, field, isStruct);
    if (--o->depth == 0) {
        addTextPair(o, &o->sink->message, EVENT_ATTRIBUTES, field->name, o->nested.data + 1,
                o->nested.size - 1);
    }
}

/* ---- Requests -------------------------------------------------------------------------------- */

static void addResource(const Otlp *o, EtwText *out)
{
    size_t resource = beginMessage(o, out, SPANS_RESOURCE, "resource");
    const char *process = o->process != NULL ? o->process : "unknown_service";
    beginList(o, out, "attributes");
    addTextPair(o, out, RESOURCE_ATTRIBUTES, "service.name", process, strlen(process));
    if (o->host.size > 0) {
        addTextPair(o, out, RESOURCE_ATTRIBUTES, "host.name", o->host.data, o->host.size);
    }
    if (o->process != NULL) {
        addTextPair(
                o, out, RESOURCE_ATTRIBUTES, "process.executable.name", process, strlen(process));
    }
    if (o->pid != ETW_NO_ID) {
        addIntPair(o, out, RESOURCE_ATTRIBUTES, "process.pid", o->pid);
    }
    endList(o, out);
    endMessage(o, out, resource);
}

static void writeBatch(Otlp *o)
{
    EtwText *out = o->out;
    if (o->batch.size == 0) {
        return;
    }
    if (o->json) {
        EtwTextChar(out, '{');
    }
    beginList(o, out, "resourceSpans");
    size_t spans = beginMessage(o, out, DATA_RESOURCE_SPANS, NULL);
    addResource(o, out);
    beginList(o, out, "scopeSpans");
    size_t scopeSpans = beginMessage(o, out, SPANS_SCOPE_SPANS, NULL);
    size_t scope = beginMessage(o, out, SCOPE_SPANS_SCOPE, "scope");
    addText(o, out, SCOPE_NAME, "name", "etw", 3);
    addText(o, out, SCOPE_VERSION, "version", ETW_VERSION, strlen(ETW_VERSION));
    endMessage(o, out, scope);
    beginList(o, out, "spans");
    EtwTextAdd(out, o->batch.data, o->batch.size);
    endList(o, out);
    endMessage(o, out, scopeSpans);
    endList(o, out);
    endMessage(o, out, spans);
    endList(o, out);
    if (o->json) {
        ETW_ADD(out, "}\n");
    }
    o->batch.size = 0;
    EtwSinkMore(o->sink, out);
}

/* The spans that follow are of this process. */
static void setProcess(Otlp *o, uint32_t pid, const char *process)
{
    bool same = process == NULL || (o->process != NULL && strcmp(o->process, process) == 0);
    if (pid != o->pid || !same) {
        writeBatch(o);
        EtwFree(o->process);
        o->process = process != NULL ? EtwStrdup(process) : NULL;
        o->pid = pid;
    }
}

/* ---- Spans ----------------------------------------------------------------------------------- */

static Lane *laneOf(Otlp *o, uint32_t pid, uint32_t tid, bool add)
{
    uint64_t hash = EtwHashNumber((uint64_t)pid << 32 | tid);
    Lane *lane = (Lane *)EtwTableFirst(&o->lanes, hash);
    while (lane != NULL && (lane->pid != pid || lane->tid != tid)) {
        lane = (Lane *)lane->node.next;
    }
    if (lane == NULL && add) {
        lane = EtwAlloc(sizeof *lane);
        lane->pid = pid;
        lane->tid = tid;
        EtwTableAdd(&o->lanes, &lane->node, hash);
    }
    return lane;
}

/* The digits of an activity's usual notation, in their order. */
static void traceOfActivity(const EtwGuid *guid, uint8_t trace[TRACE_SIZE])
{
    char text[ETW_GUID_TEXT];
    int digits = 0;
    EtwGuidFormat(guid, text);
    memset(trace, 0, TRACE_SIZE);
    for (const char *p = text; *p != '\0' && digits < 2 * TRACE_SIZE; p++) {
        int digit = EtwHexDigit(*p);
        if (digit < 16) {
            trace[digits / 2] = (uint8_t)(trace[digits / 2] << 4 | digit);
            digits++;
        }
    }
}

/* Ids are the same in each export of the trace. */
static uint64_t idOf(const Otlp *o, const Lane *lane, int64_t time, uint64_t number)
{
    uint8_t key[32];
    EtwStore64(key, (uint64_t)lane->pid << 32 | lane->tid);
    EtwStore64(key + 8, (uint64_t)time);
    EtwStore64(key + 16, number);
    EtwStore64(key + 24, EtwHashStable((const uint8_t *)o->host.data, o->host.size));
    uint64_t id = EtwHashStable(key, sizeof key);
    return id != 0 ? id : 1;
}

static size_t cut(const char *text, size_t size)
{
    return size > TEXT_MAX ? EtwUtf8Cut(text, TEXT_MAX) : size;
}

static void identify(Otlp *o, const Lane *lane, Span *span)
{
    uint64_t number = 3 * ++o->count;
    if (!span->resumed && o->event != NULL && !EtwGuidIsNull(&o->event->activity)) {
        traceOfActivity(&o->event->activity, span->trace);
    } else if (span->outer != NULL) {
        memcpy(span->trace, span->outer->trace, TRACE_SIZE);
    } else {
        EtwStore64(span->trace, idOf(o, lane, span->start, number));
        EtwStore64(span->trace + 8, idOf(o, lane, span->start, number + 1));
    }
    EtwStore64(span->id, idOf(o, lane, span->start, number + 2));
    if (span->outer != NULL && memcmp(span->outer->trace, span->trace, TRACE_SIZE) == 0) {
        span->parent = span->outer;
    } else {
        span->link = span->outer;
    }
}

static void onPush(void *ctx, EtwCallNode *thread, int64_t time, const EtwCallRow *proc,
        const char *text, size_t size)
{
    Otlp *o = ctx;
    Lane *lane = laneOf(o, thread->pid, thread->tid, true);
    Span *span = EtwAlloc(sizeof *span);
    span->outer = lane->top;
    span->start = time;
    span->resumed = size == 0;
    if (size > proc->nameSize) {
        EtwTextAdd(&span->words, text, cut(text, size));
    }
    identify(o, lane, span);
    lane->top = span;
}

/* The message of an error, if this event is the call's end. */
static void addStatus(Otlp *o, EtwText *out, int code)
{
    EtwRoleValues roles;
    size_t size = 0;
    const char *text = "";
    if (code != TCL_CODE_ERROR) {
        return;
    }
    if (o->schema != NULL && EtwMeansBlock(EtwMeaningOf(o->schema)) &&
            EtwRoleValuesRead(&roles, o->schema, o->event)) {
        text = EtwRoleText(&roles, ETW_ROLE_RESULT, &size);
    }
    size_t status = beginMessage(o, out, SPAN_STATUS, "status");
    if (size > 0) {
        addText(o, out, STATUS_MESSAGE, "message", text, cut(text, size));
    }
    addNumber(o, out, STATUS_CODE, "code", STATUS_ERROR);
    endMessage(o, out, status);
}

static void addAttributes(const Otlp *o, EtwText *out, const Span *span, uint32_t tid,
        const EtwCallRow *proc, int code)
{
    beginList(o, out, "attributes");
    addTextPair(o, out, SPAN_ATTRIBUTES, "code.function.name", proc->name,
            cut(proc->name, proc->nameSize));
    if (tid != ETW_NO_ID) {
        addIntPair(o, out, SPAN_ATTRIBUTES, "thread.id", tid);
    }
    if (span->words.size > 0) {
        addTextPair(o, out, SPAN_ATTRIBUTES, "tcl.command", span->words.data, span->words.size);
    }
    if (code > 0) {
        addIntPair(o, out, SPAN_ATTRIBUTES, "tcl.code", code);
    }
    if (span->resumed) {
        addTextPair(o, out, SPAN_ATTRIBUTES, "tcl.resumed", "1", 1);
    }
    endList(o, out);
}

static void addLink(const Otlp *o, EtwText *out, const Span *to)
{
    beginList(o, out, "links");
    size_t link = beginMessage(o, out, SPAN_LINKS, NULL);
    addId(o, out, LINK_TRACE, "traceId", to->trace, TRACE_SIZE);
    addId(o, out, LINK_SPAN, "spanId", to->id, SPAN_SIZE);
    endMessage(o, out, link);
    endList(o, out);
}

static void writeSpan(
        Otlp *o, const Span *span, uint32_t tid, int64_t end, const EtwCallRow *proc, int code)
{
    EtwText *out = &o->batch;
    size_t at = beginMessage(o, out, SCOPE_SPANS_SPANS, NULL);
    addId(o, out, SPAN_TRACE, "traceId", span->trace, TRACE_SIZE);
    addId(o, out, SPAN_ID, "spanId", span->id, SPAN_SIZE);
    if (span->parent != NULL) {
        addId(o, out, SPAN_PARENT, "parentSpanId", span->parent->id, SPAN_SIZE);
    }
    addText(o, out, SPAN_NAME, "name", proc->name, cut(proc->name, proc->nameSize));
    addNumber(o, out, SPAN_KIND, "kind", KIND_INTERNAL);
    addTime(o, out, SPAN_START, "startTimeUnixNano", span->start);
    addTime(o, out, SPAN_END, "endTimeUnixNano", end);
    addAttributes(o, out, span, tid, proc, code);
    if (span->eventCount > 0) {
        beginList(o, out, "events");
        EtwTextAdd(out, span->events.data, span->events.size);
        endList(o, out);
    }
    if (span->dropped > 0) {
        addNumber(o, out, SPAN_DROPPED_EVENTS, "droppedEventsCount", span->dropped);
    }
    if (span->link != NULL) {
        addLink(o, out, span->link);
    }
    addStatus(o, out, code);
    endMessage(o, out, at);
    o->some = true;
}

static void freeSpan(Span *span)
{
    EtwTextFree(&span->words);
    EtwTextFree(&span->events);
    EtwFree(span);
}

static void onPop(void *ctx, EtwCallNode *thread, int64_t time, const EtwCallRow *proc, int code)
{
    Otlp *o = ctx;
    Lane *lane = laneOf(o, thread->pid, thread->tid, true);
    Span *span = lane->top;
    if (span == NULL) {
        return;
    }
    lane->top = span->outer;
    setProcess(o, thread->pid, thread->process);
    writeSpan(o, span, thread->tid, time, proc, code);
    freeSpan(span);
    if (o->batch.size >= BATCH_SIZE) {
        writeBatch(o);
    }
}

/* ---- Events of spans ------------------------------------------------------------------------- */

static void addEvent(Otlp *o, Span *span)
{
    static const EtwVisitor visitor = {onValue, onBegin, onEnd, NULL};
    static const EtwSchema unknown = {.provider = "", .event = ""};
    EtwText *out = &o->sink->message;
    char guid[ETW_GUID_TEXT];
    const char *provider = EtwSinkProvider(o->sink, o->event, o->schema, guid);
    if (span->eventCount == EVENTS_MAX) {
        span->dropped += span->dropped < UINT32_MAX;
        return;
    }
    out->size = 0;
    o->depth = 0;
    size_t at = beginMessage(o, out, SPAN_EVENTS, NULL);
    addTime(o, out, EVENT_TIME, "timeUnixNano", o->event->time);
    o->nested.size = 0;
    EtwTextPrintf(&o->nested, "%s %s", provider, EtwSinkEventName(o->schema));
    addText(o, out, EVENT_NAME, "name", o->nested.data, o->nested.size);
    beginList(o, out, "attributes");
    EtwDecode(o->schema != NULL ? o->schema : &unknown, o->event, &visitor, o);
    endList(o, out);
    endMessage(o, out, at);
    if (span->events.size + out->size > EVENTS_SIZE) {
        span->dropped += span->dropped < UINT32_MAX;
        return;
    }
    if (o->json && span->eventCount > 0) {
        EtwTextChar(&span->events, ',');
    }
    EtwTextAdd(&span->events, out->data, out->size);
    span->eventCount++;
}

/* The computer's name, from the event that a session begins with. */
static void readHost(Otlp *o)
{
    EtwRoleValues roles;
    if (o->host.size == 0 && EtwRoleValuesRead(&roles, o->schema, o->event)) {
        size_t size;
        const char *text = EtwRoleText(&roles, ETW_ROLE_COMPUTER, &size);
        EtwTextAdd(&o->host, text, size);
    }
}

static void otlpEvent(EtwSink *sink, const EtwEvent *event, const EtwSchema *schema, EtwText *out)
{
    Otlp *o = sink->own;
    EtwMeaning meaning = schema != NULL ? EtwMeaningOf(schema) : ETW_MEANS_OTHER;
    o->out = out;
    o->event = event;
    o->schema = schema;
    if (meaning == ETW_MEANS_HOST) {
        readHost(o);
    }
    EtwCallsAdd(o->calls, event);
    if (!EtwMeansBlock(meaning)) {
        const Lane *lane = laneOf(o, event->pid, event->tid, false);
        if (lane != NULL && lane->top != NULL) {
            addEvent(o, lane->top);
        }
    }
}

static void otlpInit(EtwSink *sink)
{
    Otlp *o = EtwAlloc(sizeof *o);
    EtwCallsConfig config = {.watch = {.push = onPush, .pop = onPop, .ctx = o}};
    o->sink = sink;
    o->json = sink->config.format == ETW_FORMAT_OTLP;
    o->pid = ETW_NO_ID;
    o->calls = EtwCallsNew(&config, sink->store);
    sink->own = o;
}

static void otlpEnd(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    Otlp *o = sink->own;
    (void)source;
    o->out = out;
    o->event = NULL; /* what ends now has none */
    o->schema = NULL;
    EtwCallsEnd(o->calls);
    writeBatch(o);
    sink->lacks = o->some ? NULL : "calls";
}

static void freeLane(void *ctx, EtwTableNode *node)
{
    Lane *lane = (Lane *)node;
    (void)ctx;
    for (Span *outer; lane->top != NULL; lane->top = outer) {
        outer = lane->top->outer;
        freeSpan(lane->top);
    }
    EtwFree(lane);
}

static void otlpFree(EtwSink *sink)
{
    Otlp *o = sink->own;
    EtwCallsFree(o->calls);
    EtwTableFree(&o->lanes, freeLane);
    EtwTextFree(&o->host);
    EtwTextFree(&o->batch);
    EtwTextFree(&o->nested);
    EtwFree(o->process);
    EtwFree(o);
}

const EtwSinkOps etwSinkOtlp = {
        .init = otlpInit, .event = otlpEvent, .end = otlpEnd, .free = otlpFree};
