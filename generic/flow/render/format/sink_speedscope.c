/*
 * flow/render/format/sink_speedscope.c --
 *
 *	speedscope's file format (https://www.speedscope.app/file-format-schema.json): one evented
 *	profile for each thread with calls; its frames are the procs. Calls are kept in memory until
 *	the end, at least two bytes each for begin and end.
 */
#include "flow/calls/calls_or_samples.h"
#include "flow/render/protobuf.h"
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
    EtwCallsOrSamples profile;
    Lane *lanes, **end;
} Speedscope;

/* ---- Collecting events ------------------------------------------------------------------------ */

static void put(Lane *lane, int64_t time, int frame, bool open)
{
    EtwAddVarint(&lane->events, (uint64_t)time - (uint64_t)lane->last);
    EtwAddVarint(&lane->events, (uint64_t)frame << 1 | open);
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
    EtwCallsOrSamplesInit(
            &s->profile, &config, &(EtwCallsConfig){.tree = true, .samples = true}, sink->store);
    sink->own = s;
}

static void scopeEvent(EtwSink *sink, const EtwEvent *event, const EtwSchema *schema, EtwText *out)
{
    Speedscope *s = sink->own;
    (void)schema, (void)out;
    EtwCallsOrSamplesAdd(&s->profile, sink->track, event);
}

/* ---- The file -------------------------------------------------------------------------------- */

static void addFrames(EtwSink *sink, const EtwCalls *calls, EtwText *out)
{
    ETW_ADD(out, "\"shared\":{\"frames\":[");
    for (const EtwCallRow *row = calls->rows; row != NULL; row = row->next) {
        EtwTextStr(out, row == calls->rows ? "\n{\"name\":" : ",\n{\"name\":");
        EtwSinkJsonText(sink, row->name, row->nameSize, out);
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
    EtwCallThreadName(t, &name);
    beginProfile(out, ",\"name\":", lane->first - sink->base, lane->last - sink->base);
    EtwSinkJsonText(sink, name.data, name.size, out);
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
    EtwCallThreadName(thread, &name);
    ETW_ADD(out, "{\"type\":\"sampled\",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":");
    EtwAddDecimal(out, thread->stats.total);
    ETW_ADD(out, ",\"name\":");
    EtwSinkJsonText(sink, name.data, name.size, out);
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
    Speedscope *s = sink->own;
    (void)source;
    bool sampled;
    const EtwCalls *shown = EtwCallsOrSamplesEnd(&s->profile, &sampled);
    ETW_ADD(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                 "\"exporter\":\"etw " ETW_VERSION "\",\"name\":");
    EtwAddJson(out, sink->config.title ? sink->config.title : "calls",
            strlen(sink->config.title ? sink->config.title : "calls"));
    ETW_ADD(out, ",\"activeProfileIndex\":0,\n");
    addFrames(sink, shown, out);
    ETW_ADD(out, ",\n\"profiles\":[\n");
    for (const Lane *lane = s->lanes; lane != NULL; lane = lane->next) {
        EtwTextStr(out, lane == s->lanes ? "" : ",\n");
        addProfile(sink, lane, out);
    }
    const EtwCallNode *thread = sampled ? shown->threads : NULL;
    for (; thread != NULL; thread = thread->next) {
        EtwTextStr(out, thread == shown->threads ? "" : ",\n");
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
    EtwCallsOrSamplesFree(&s->profile);
    EtwFree(s);
}

const EtwSinkOps etwSinkSpeedscope = {
        .init = scopeInit, .event = scopeEvent, .end = scopeEnd, .free = scopeFree};
