/*
 * flow/render/format/sink_speedscope.c --
 *
 *	speedscope's file format (https://www.speedscope.app/file-format-schema.json): one evented
 *	profile for each thread with calls; its frames are the procs. Calls are kept in memory until
 *	the end, at least two bytes each for begin and end.
 */
#include "flow/calls/call_tree.h"
#include "base/unicode.h"
#include "flow/render/sink_int.h"

/*
 * The calls of a thread so far. Each event: varint of ns since the previous one, varint of twice
 * the frame's number, plus one for an open.
 */
typedef struct Lane {
    struct Lane *next;
    const EtwCallNode *thread;
    int64_t first, last;
    EtwText events;
} Lane;

typedef struct Speedscope {
    EtwCalls *calls;
    EtwCalls *samples; /* used if there are no calls; NULL: there are some */
    Lane *lanes, **end;
} Speedscope;

/* ---- Collecting events ------------------------------------------------------------------------ */

static void putVarint(EtwText *text, uint64_t v)
{
    EtwTextReserve(text, 10);
    for (; v >= 0x80; v >>= 7) {
        text->data[text->size++] = (char)(v | 0x80);
    }
    text->data[text->size++] = (char)v;
}

static void put(Lane *lane, int64_t time, int frame, bool open)
{
    putVarint(&lane->events, (uint64_t)time - (uint64_t)lane->last);
    putVarint(&lane->events, (uint64_t)frame << 1 | open);
    lane->last = time;
}

static Lane *laneOf(Speedscope *s, EtwCallNode *thread, int64_t time)
{
    Lane *lane = thread->own;
    if (lane == NULL) {
        lane = thread->own = EtwAlloc(sizeof *lane);
        lane->thread = thread;
        lane->first = lane->last = time;
        *s->end = lane;
        s->end = &lane->next;
    }
    return lane;
}

static void onPush(void *ctx, EtwCallNode *thread, int64_t time, const EtwCallRow *proc,
        const char *text, size_t size)
{
    (void)text, (void)size;
    put(laneOf(ctx, thread, time), time, proc->order, true);
}

static void onPop(void *ctx, EtwCallNode *thread, int64_t time, const EtwCallRow *proc, int code)
{
    (void)code;
    put(laneOf(ctx, thread, time), time, proc->order, false);
}

static void scopeInit(EtwSink *sink)
{
    Speedscope *s = EtwAlloc(sizeof *s);
    EtwCallsConfig config = {.watch = {.push = onPush, .pop = onPop, .ctx = s}};
    s->end = &s->lanes;
    s->calls = EtwCallsNew(&config, sink->store);
    s->samples = EtwCallsNew(&(EtwCallsConfig){.tree = true, .samples = true}, sink->store);
    sink->own = s;
}

static void scopeEvent(EtwSink *sink, const EtwEvent *event, const EtwSchema *schema, EtwText *out)
{
    Speedscope *s = sink->own;
    (void)schema, (void)out;
    EtwCallsAdd(s->calls, event);
    if (s->samples != NULL && s->lanes != NULL) {
        EtwCallsFree(s->samples);
        s->samples = NULL;
    }
    if (s->samples != NULL) {
        s->samples->config.track = sink->track;
        EtwCallsAdd(s->samples, event);
    }
}

/* ---- The file -------------------------------------------------------------------------------- */

static void addValid(EtwSink *sink, const char *text, size_t size, EtwText *out)
{
    sink->scratch.size = 0;
    EtwTextUtf8(&sink->scratch, (const uint8_t *)text, size);
    EtwAddJson(out, sink->scratch.data, sink->scratch.size);
}

static void addFrames(EtwSink *sink, const EtwCalls *calls, EtwText *out)
{
    ETW_ADD(out, "\"shared\":{\"frames\":[");
    for (const EtwCallRow *row = calls->rows; row != NULL; row = row->next) {
        EtwTextStr(out, row == calls->rows ? "\n{\"name\":" : ",\n{\"name\":");
        addValid(sink, row->name, row->nameSize, out);
        EtwTextChar(out, '}');
    }
    ETW_ADD(out, "]}");
}

static void beginProfile(EtwText *out, const char *start, int64_t first, int64_t last)
{
    ETW_ADD(out, "{\"type\":\"evented\",\"unit\":\"nanoseconds\",\"startValue\":");
    EtwAddSigned(out, first);
    ETW_ADD(out, ",\"endValue\":");
    EtwAddSigned(out, last);
    EtwTextStr(out, start);
}

static uint64_t takeVarint(const uint8_t **at)
{
    uint64_t v = 0;
    for (int shift = 0;; shift += 7) {
        uint8_t byte = *(*at)++;
        v |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            return v;
        }
    }
}

static void addEvents(const EtwSink *sink, const Lane *lane, int64_t base, EtwText *out)
{
    const uint8_t *p = (const uint8_t *)lane->events.data, *end = p + lane->events.size;
    uint64_t at = (uint64_t)lane->first - (uint64_t)base;
    for (bool some = false; p < end; some = true) {
        at += takeVarint(&p);
        uint64_t frame = takeVarint(&p);
        EtwTextStr(out, some ? ",\n{\"type\":\"" : "\n{\"type\":\"");
        EtwTextStr(out, frame & 1 ? "O\",\"frame\":" : "C\",\"frame\":");
        EtwAddDecimal(out, frame >> 1);
        ETW_ADD(out, ",\"at\":");
        EtwAddSigned(out, (int64_t)at);
        EtwTextChar(out, '}');
        EtwSinkMore(sink, out);
    }
}

static void addProfile(EtwSink *sink, const Lane *lane, EtwText *out)
{
    const EtwCallNode *t = lane->thread;
    EtwText name = {0};
    EtwTextPrintf(&name, "%s%s%u/%u", t->process ? t->process : "", t->process ? " " : "", t->pid,
            t->tid);
    beginProfile(out, ",\"name\":", lane->first - sink->base, lane->last - sink->base);
    addValid(sink, name.data, name.size, out);
    ETW_ADD(out, ",\"events\":[");
    addEvents(sink, lane, sink->base, out);
    ETW_ADD(out, "]}");
    EtwTextFree(&name);
}

/* ---- Samples --------------------------------------------------------------------------------- */

static void addPath(EtwText *out, const EtwCallNode *node)
{
    if (node->parent->row != NULL) {
        addPath(out, node->parent);
        EtwTextChar(out, ',');
    }
    EtwAddDecimal(out, (uint64_t)node->row->order);
}

/* The stacks below a node, or their weights. A tree has at most ETW_CALL_LEVELS levels. */
static void addStacks(const EtwSink *sink, const EtwCallNode *node, bool weights, EtwText *out)
{
    if (node->row != NULL && node->stats.self > 0) {
        EtwTextChar(out, out->data[out->size - 1] == '[' ? ' ' : ',');
        if (weights) {
            EtwAddDecimal(out, node->stats.self);
        } else {
            EtwTextChar(out, '[');
            addPath(out, node);
            EtwTextChar(out, ']');
        }
    }
    for (const EtwCallNode *child = node->first; child != NULL; child = child->next) {
        addStacks(sink, child, weights, out);
    }
}

static void addSampled(EtwSink *sink, const EtwCallNode *thread, EtwText *out)
{
    EtwText name = {0};
    EtwTextPrintf(&name, "%s%s%u/%u", thread->process ? thread->process : "",
            thread->process ? " " : "", thread->pid, thread->tid);
    ETW_ADD(out, "{\"type\":\"sampled\",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":");
    EtwAddDecimal(out, thread->stats.total);
    ETW_ADD(out, ",\"name\":");
    addValid(sink, name.data, name.size, out);
    ETW_ADD(out, ",\"samples\":[");
    addStacks(sink, thread, false, out);
    ETW_ADD(out, "],\"weights\":[");
    addStacks(sink, thread, true, out);
    ETW_ADD(out, "]}");
    EtwTextFree(&name);
}

/* speedscope does not open a file without profiles. */
static void scopeEnd(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    const Speedscope *s = sink->own;
    (void)source;
    bool sampled = s->samples != NULL && s->samples->calls > 0;
    EtwCallsEnd(s->calls);
    if (sampled) {
        EtwCallsEnd(s->samples);
    }
    ETW_ADD(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                 "\"exporter\":\"etw " ETW_VERSION "\",\"name\":");
    EtwAddJson(out, sink->config.title ? sink->config.title : "calls",
            strlen(sink->config.title ? sink->config.title : "calls"));
    ETW_ADD(out, ",\"activeProfileIndex\":0,\n");
    addFrames(sink, sampled ? s->samples : s->calls, out);
    ETW_ADD(out, ",\n\"profiles\":[\n");
    for (const Lane *lane = s->lanes; lane != NULL; lane = lane->next) {
        EtwTextStr(out, lane == s->lanes ? "" : ",\n");
        addProfile(sink, lane, out);
    }
    const EtwCallNode *thread = sampled ? s->samples->threads : NULL;
    for (; thread != NULL; thread = thread->next) {
        EtwTextStr(out, thread == s->samples->threads ? "" : ",\n");
        addSampled(sink, thread, out);
    }
    if (s->lanes == NULL && !sampled) {
        sink->lacks = "calls";
    }
    ETW_ADD(out, "]}\n");
}

static void scopeFree(EtwSink *sink)
{
    Speedscope *s = sink->own;
    for (Lane *lane = s->lanes, *next; lane != NULL; lane = next) {
        next = lane->next;
        EtwTextFree(&lane->events);
        EtwFree(lane);
    }
    EtwCallsFree(s->calls);
    if (s->samples != NULL) {
        EtwCallsFree(s->samples);
    }
    EtwFree(s);
}

const EtwSinkOps etwSinkSpeedscope = {
        .init = scopeInit, .event = scopeEvent, .end = scopeEnd, .free = scopeFree};
