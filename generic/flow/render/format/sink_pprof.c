/*
 * flow/render/format/sink_pprof.c --
 *
 *	pprof's profile.proto (https://github.com/google/pprof/tree/main/proto), compressed by gzip: a sample for each
 *	stack with the number of its calls, their self time and the time they were off the CPU; of a trace
 *	without calls, the number of CPU samples and the time that these represent. Labels name the thread.
 */
#include "base/unicode.h"
#include "flow/calls/calls_or_samples.h"
#include "flow/render/protobuf.h"
#include "flow/render/sink_int.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

/* Fields of the messages. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME_NANOS = 9,
    PROFILE_DURATION_NANOS = 10,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14,
    TYPE_TYPE = 1,
    TYPE_UNIT = 2,
    SAMPLE_LOCATIONS = 1,
    SAMPLE_VALUES = 2,
    SAMPLE_LABEL = 3,
    LABEL_KEY = 1,
    LABEL_TEXT = 2,
    LABEL_NUMBER = 3,
    LOCATION_ID = 1,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2
};

/* The texts at the start of the string table, in this order. */
#define TEXTS(TEXT)                                                                                \
    TEXT(EMPTY, "")                                                                                \
    TEXT(CALLS, "calls")                                                                           \
    TEXT(COUNT, "count")                                                                           \
    TEXT(TIME, "time")                                                                             \
    TEXT(NANOSECONDS, "nanoseconds")                                                               \
    TEXT(WAIT, "wait")                                                                             \
    TEXT(SAMPLES, "samples")                                                                       \
    TEXT(CPU, "cpu")                                                                               \
    TEXT(THREAD, "thread")                                                                         \
    TEXT(PID, "pid")                                                                               \
    TEXT(TID, "tid")
#define TEXT_NUMBER(name, text) TEXT_##name,
#define TEXT_ITSELF(name, text) text,
enum { TEXTS(TEXT_NUMBER) TEXT_END };
static const char *const texts[] = {TEXTS(TEXT_ITSELF)};

typedef struct Pprof {
    EtwCallsOrSamples profile;
    int64_t last; /* time of the last event */
    z_stream z;
    bool zipping;
    EtwText plain;   /* of the profile: not compressed yet */
    EtwText message; /* the sample, location or function that is made */
    EtwText part;
    EtwText labels;   /* of the thread whose samples are made */
    uint64_t strings; /* in the table so far */
} Pprof;

static void pprofInit(EtwSink *sink)
{
    Pprof *p = EtwAlloc(sizeof *p);
    EtwCallsOrSamplesInit(&p->profile, &(EtwCallsConfig){.tree = true},
            &(EtwCallsConfig){.tree = true, .samples = true}, sink->store);
    sink->own = p;
}

static void pprofEvent(EtwSink *sink, const EtwEvent *event, const EtwSchema *schema, EtwText *out)
{
    Pprof *p = sink->own;
    (void)schema, (void)out;
    p->last = event->time;
    EtwCallsOrSamplesAdd(&p->profile, sink->track, event);
}

/* ---- Compression ----------------------------------------------------------------------------- */

enum { PIECE = 64 * 1024 };

/* Compress what there is of the profile. */
static void zip(EtwSink *sink, EtwText *out, bool end)
{
    Pprof *p = sink->own;
    p->z.next_in = (Bytef *)p->plain.data;
    p->z.avail_in = (uInt)p->plain.size; /* little more than PIECE */
    int result = Z_OK;
    do {
        EtwTextReserve(out, PIECE);
        p->z.next_out = (Bytef *)out->data + out->size;
        p->z.avail_out = PIECE;
        result = deflate(&p->z, end ? Z_FINISH : Z_NO_FLUSH);
        out->size += PIECE - p->z.avail_out;
        EtwSinkMore(sink, out);
    } while (result == Z_OK && (end || p->z.avail_out == 0));
    p->plain.size = 0;
}

/* A field of the profile. */
static void put(EtwSink *sink, int field, const EtwText *message, EtwText *out)
{
    Pprof *p = sink->own;
    EtwPbBytes(&p->plain, field, message->data, message->size);
    if (p->plain.size >= PIECE) {
        zip(sink, out, false);
    }
}

/* ---- Messages -------------------------------------------------------------------------------- */

static uint64_t putString(EtwSink *sink, const char *text, size_t size, EtwText *out)
{
    Pprof *p = sink->own;
    sink->scratch.size = 0;
    EtwTextUtf8(&sink->scratch, (const uint8_t *)text, size);
    put(sink, PROFILE_STRING, &sink->scratch, out);
    return p->strings++;
}

static void putType(EtwSink *sink, int type, int unit, EtwText *out)
{
    Pprof *p = sink->own;
    p->message.size = 0;
    EtwPbNumber(&p->message, TYPE_TYPE, (uint64_t)type);
    EtwPbNumber(&p->message, TYPE_UNIT, (uint64_t)unit);
    put(sink, PROFILE_SAMPLE_TYPE, &p->message, out);
}

static void putTypes(EtwSink *sink, bool sampled, EtwText *out)
{
    for (int i = 0; i < TEXT_END; i++) {
        putString(sink, texts[i], strlen(texts[i]), out);
    }
    putType(sink, sampled ? TEXT_SAMPLES : TEXT_CALLS, TEXT_COUNT, out);
    putType(sink, sampled ? TEXT_CPU : TEXT_TIME, TEXT_NANOSECONDS, out);
    if (!sampled) {
        putType(sink, TEXT_WAIT, TEXT_NANOSECONDS, out);
    }
}

/*
 * A function and a location for each row; their ids are the row's order plus 1. Functions have no system name: pprof
 * would take <...> in a name that equals it for a template of C++, and cut it.
 */
static void putFunctions(EtwSink *sink, const EtwCalls *calls, EtwText *out)
{
    Pprof *p = sink->own;
    for (const EtwCallRow *row = calls->rows; row != NULL; row = row->next) {
        uint64_t name = putString(sink, row->name, row->nameSize, out);
        uint64_t id = (uint64_t)row->order + 1;
        p->message.size = p->part.size = 0;
        EtwPbNumber(&p->message, FUNCTION_ID, id);
        EtwPbNumber(&p->message, FUNCTION_NAME, name);
        put(sink, PROFILE_FUNCTION, &p->message, out);
        p->message.size = 0;
        EtwPbNumber(&p->part, LINE_FUNCTION, id);
        EtwPbNumber(&p->message, LOCATION_ID, id);
        EtwPbBytes(&p->message, LOCATION_LINE, p->part.data, p->part.size);
        put(sink, PROFILE_LOCATION, &p->message, out);
    }
}

static void addLabel(Pprof *p, int key, int field, uint64_t value)
{
    p->part.size = 0;
    EtwPbNumber(&p->part, LABEL_KEY, (uint64_t)key);
    EtwPbNumber(&p->part, field, value);
    EtwPbBytes(&p->labels, SAMPLE_LABEL, p->part.data, p->part.size);
}

static void makeLabels(EtwSink *sink, const EtwCallNode *thread, EtwText *out)
{
    Pprof *p = sink->own;
    EtwText name = {0};
    EtwCallThreadName(thread, &name);
    p->labels.size = 0;
    addLabel(p, TEXT_THREAD, LABEL_TEXT, putString(sink, name.data, name.size, out));
    addLabel(p, TEXT_PID, LABEL_NUMBER, thread->pid);
    addLabel(p, TEXT_TID, LABEL_NUMBER, thread->tid);
    EtwTextFree(&name);
}

static void addValue(EtwText *out, uint64_t v)
{
    EtwAddVarint(out, v < INT64_MAX ? v : INT64_MAX);
}

/* The stacks that end in this node: a CPU sample counts in each of the nodes of its stack. */
static uint64_t ownCount(const EtwCallNode *node, bool sampled)
{
    uint64_t count = node->stats.calls;
    for (const EtwCallNode *child = node->first; sampled && child != NULL; child = child->next) {
        count -= child->stats.calls < count ? child->stats.calls : count;
    }
    return count;
}

static bool putSample(EtwSink *sink, const EtwCallNode *node, bool sampled, EtwText *out)
{
    Pprof *p = sink->own;
    uint64_t count = ownCount(node, sampled);
    uint64_t wait = sampled ? 0 : EtwCostsWait(&node->stats.own);
    if (count == 0 && node->stats.self == 0 && wait == 0) {
        return false;
    }
    p->message.size = p->part.size = 0;
    for (const EtwCallNode *n = node; n->row != NULL; n = n->parent) { /* innermost first */
        EtwAddVarint(&p->part, (uint64_t)n->row->order + 1);
    }
    EtwPbBytes(&p->message, SAMPLE_LOCATIONS, p->part.data, p->part.size);
    p->part.size = 0;
    addValue(&p->part, count);
    addValue(&p->part, node->stats.self);
    if (!sampled) {
        addValue(&p->part, wait);
    }
    EtwPbBytes(&p->message, SAMPLE_VALUES, p->part.data, p->part.size);
    EtwTextAdd(&p->message, p->labels.data, p->labels.size);
    put(sink, PROFILE_SAMPLE, &p->message, out);
    return true;
}

/* The node after this one in the tree, parents first; NULL: it is the last one. */
static const EtwCallNode *following(const EtwCallNode *node)
{
    if (node->first != NULL) {
        return node->first;
    }
    while (node->row != NULL && node->next == NULL) {
        node = node->parent;
    }
    return node->row != NULL ? node->next : NULL;
}

static bool putThread(EtwSink *sink, const EtwCallNode *thread, bool sampled, EtwText *out)
{
    bool some = false;
    makeLabels(sink, thread, out);
    for (const EtwCallNode *node = thread->first; node != NULL; node = following(node)) {
        some |= putSample(sink, node, sampled, out);
    }
    return some;
}

static void putRest(EtwSink *sink, bool sampled, EtwText *out)
{
    Pprof *p = sink->own;
    int64_t duration = (int64_t)((uint64_t)p->last - (uint64_t)sink->base);
    EtwPbNumber(&p->plain, PROFILE_TIME_NANOS, (uint64_t)sink->base);
    EtwPbNumber(&p->plain, PROFILE_DURATION_NANOS, duration > 0 ? (uint64_t)duration : 0);
    EtwPbNumber(&p->plain, PROFILE_DEFAULT_SAMPLE_TYPE, sampled ? TEXT_CPU : TEXT_TIME);
    zip(sink, out, true);
}

static void pprofEnd(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    enum { GZIP = 16 };
    Pprof *p = sink->own;
    bool sampled, some = false;
    const EtwCalls *calls = EtwCallsOrSamplesEnd(&p->profile, &sampled);
    (void)source;
    p->zipping = deflateInit2(&p->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP, 8,
                         Z_DEFAULT_STRATEGY) == Z_OK;
    if (!p->zipping) { /* as EtwTextReserve when memory is exhausted */
        abort();
    }
    putTypes(sink, sampled, out);
    putFunctions(sink, calls, out);
    for (const EtwCallNode *thread = calls->threads; thread != NULL; thread = thread->next) {
        some |= putThread(sink, thread, sampled, out);
    }
    putRest(sink, sampled, out);
    sink->lacks = some ? NULL : "calls";
}

static void pprofFree(EtwSink *sink)
{
    Pprof *p = sink->own;
    if (p->zipping) {
        deflateEnd(&p->z);
    }
    EtwCallsOrSamplesFree(&p->profile);
    EtwTextFree(&p->plain);
    EtwTextFree(&p->message);
    EtwTextFree(&p->part);
    EtwTextFree(&p->labels);
    EtwFree(p);
}

const EtwSinkOps etwSinkPprof = {
        .init = pprofInit, .event = pprofEvent, .end = pprofEnd, .free = pprofFree};
