/*
 * flow/render/format/sink_firefox.c --
 *
 *	Firefox Profiler's processed profile format, version 48
 *	(https://github.com/firefox-devtools/profiler, docs-developer/processed-profile-format.md; newer versions of the
 *	profiler convert it): a thread for each thread with calls. A sample is a period in which the stack did not
 *	change, and weighs its duration, so that the self times are those of `etw calls`; of a trace
 *	without calls, the samples are those of the CPU profiler. There are at most SAMPLES of them before periods with the
 *	same stack are put together, in intervals that double when needed: a long trace loses detail in time, but no time.
 */
#include "base/hash_table.h"
#include "flow/calls/calls_or_samples.h"
#include "flow/render/sink_int.h"
#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES = 500000, NO_STACK = -1, VERSION = 48, GECKO_VERSION = 29 };

/* A call path of a thread: a row in its stackTable. */
typedef struct Stack {
    EtwTableNode node;
    int prefix; /* the caller's path; NO_STACK: none */
    int index;
    const EtwCallRow *row; /* NULL: ETW_CALL_DEEPER */
} Stack;

typedef struct Sample {
    int64_t time;
    uint64_t ns;
    int stack;
} Sample;

typedef struct Lane {
    struct Lane *next;
    const EtwCallNode *thread;
    int64_t last; /* the stack is `top` since then */
    int top, depth;
    EtwTable table; /* of its stacks */
    Stack **stacks;
    int stackCount, stackCapacity;
    Sample *samples;
    size_t count, capacity;
} Lane;

typedef struct Firefox {
    EtwSink *sink;
    EtwCallsOrSamples profile;
    Lane *lanes, **end;
    Lane *sampled, **sampledEnd; /* of samples, as long as there are no calls */
    size_t count, limit;         /* samples of all lanes */
    int64_t interval;            /* in which they were put together */
    int *numbers; /* of rows in the tables of the thread that is written; 0: none yet */
} Firefox;

/* ---- Collecting ------------------------------------------------------------------------------ */

static Lane *laneOf(EtwCallNode *thread, int64_t time, Lane ***endPtr)
{
    Lane *lane = thread->own;
    if (lane == NULL) {
        lane = thread->own = EtwAlloc(sizeof *lane);
        lane->thread = thread;
        lane->last = time;
        lane->top = NO_STACK;
        **endPtr = lane;
        *endPtr = &lane->next;
    }
    return lane;
}

static int stackOf(Lane *lane, int prefix, const EtwCallRow *row)
{
    uint64_t hash = EtwHashMix((uint64_t)(int64_t)prefix, EtwHashPointer(row));
    for (EtwTableNode *n = EtwTableFirst(&lane->table, hash); n != NULL; n = n->next) {
        const Stack *found = (Stack *)n;
        if (found->prefix == prefix && found->row == row) {
            return found->index;
        }
    }
    Stack *stack = EtwAlloc(sizeof *stack);
    if (lane->stackCount == lane->stackCapacity) {
        lane->stackCapacity = lane->stackCapacity ? 2 * lane->stackCapacity : 64;
        lane->stacks = EtwRealloc(lane->stacks, (size_t)lane->stackCapacity * sizeof *lane->stacks);
    }
    *stack = (Stack){.prefix = prefix, .index = lane->stackCount, .row = row};
    EtwTableAdd(&lane->table, &stack->node, hash);
    lane->stacks[lane->stackCount++] = stack;
    return stack->index;
}

static int byStack(const void *a, const void *b)
{
    const Sample *x = a, *y = b;
    int stack = (x->stack > y->stack) - (x->stack < y->stack);
    return stack != 0 ? stack : (x->time > y->time) - (x->time < y->time);
}

static int byTime(const void *a, const void *b)
{
    const Sample *x = a, *y = b;
    return x->time != y->time ? (x->time > y->time) - (x->time < y->time)
                              : (x->stack > y->stack) - (x->stack < y->stack);
}

/* The samples of one interval: those with the same stack become one. Returns how many are left. */
static size_t mergeInterval(Sample *samples, size_t count)
{
    size_t left = 0;
    qsort(samples, count, sizeof *samples, byStack);
    for (size_t i = 0; i < count; i++) {
        if (left > 0 && samples[left - 1].stack == samples[i].stack) {
            samples[left - 1].ns += samples[i].ns;
        } else {
            samples[left++] = samples[i];
        }
    }
    qsort(samples, left, sizeof *samples, byTime);
    return left;
}

static int64_t intervalOf(const Firefox *f, int64_t time)
{
    return (int64_t)(((uint64_t)time - (uint64_t)f->sink->base) / (uint64_t)f->interval);
}

static void mergeLane(Firefox *f, Lane *lane)
{
    size_t left = 0;
    for (size_t from = 0, to; from < lane->count; from = to) {
        int64_t interval = intervalOf(f, lane->samples[from].time);
        for (to = from + 1;
                to < lane->count && intervalOf(f, lane->samples[to].time) == interval;) {
            to++;
        }
        memmove(lane->samples + left, lane->samples + from, (to - from) * sizeof(Sample));
        left += mergeInterval(lane->samples + left, to - from);
    }
    f->count -= lane->count - left;
    lane->count = left;
}

/* Too many samples: put together those of longer and longer intervals. */
static void merge(Firefox *f, Lane *lanes)
{
    while (f->count >= f->limit / 2 && f->interval < INT64_MAX / 4) {
        f->interval *= 2;
        for (Lane *lane = lanes; lane != NULL; lane = lane->next) {
            mergeLane(f, lane);
        }
    }
    f->limit = f->count > f->limit / 2 ? 2 * f->count : f->limit; /* so many different stacks */
}

static void addSample(Firefox *f, Lane *lanes, Lane *lane, const Sample *sample)
{
    if (lane->count == lane->capacity) {
        lane->capacity = lane->capacity ? 2 * lane->capacity : 256;
        lane->samples = EtwRealloc(lane->samples, lane->capacity * sizeof *lane->samples);
    }
    lane->samples[lane->count++] = *sample;
    if (++f->count >= f->limit) {
        merge(f, lanes);
    }
}

/* The stack of the lane has been the same until now. idle: it becomes empty. */
static void endPeriod(Firefox *f, Lane *lane, int64_t time)
{
    if (time > lane->last && lane->top != NO_STACK) {
        addSample(f, f->lanes, lane,
                &(Sample){lane->last, (uint64_t)time - (uint64_t)lane->last, lane->top});
    }
    lane->last = time > lane->last ? time : lane->last;
}

static void onPush(void *ctx, EtwCallNode *thread, int64_t time, const EtwCallRow *proc,
        const char *text, size_t size)
{
    Firefox *f = ctx;
    Lane *lane = laneOf(thread, time, &f->end);
    (void)text, (void)size;
    endPeriod(f, lane, time);
    if (++lane->depth <= ETW_CALL_LEVELS) {
        lane->top = stackOf(lane, lane->top, lane->depth < ETW_CALL_LEVELS ? proc : NULL);
    }
}

/* A sample without a stack is the end of the lane's activity. */
static void onPop(void *ctx, EtwCallNode *thread, int64_t time, const EtwCallRow *proc, int code)
{
    Firefox *f = ctx;
    Lane *lane = laneOf(thread, time, &f->end);
    (void)proc, (void)code;
    endPeriod(f, lane, time);
    if (lane->depth > 0 && lane->depth-- <= ETW_CALL_LEVELS) {
        lane->top = lane->stacks[lane->top]->prefix;
    }
    if (lane->top == NO_STACK) {
        addSample(f, f->lanes, lane, &(Sample){lane->last, 0, NO_STACK});
    }
}

/* The path of a node; node->own holds its number plus 1. */
static int stackOfNode(Lane *lane, EtwCallNode *node)
{
    if (node->row == NULL) {
        return NO_STACK;
    }
    if (node->own == NULL) {
        int prefix = stackOfNode(lane, node->parent); /* ETW_CALL_LEVELS at most */
        node->own = (void *)((intptr_t)stackOf(lane, prefix, node->row) + 1);
    }
    return (int)((intptr_t)node->own - 1);
}

static void onSampled(void *ctx, EtwCallNode *thread, int64_t time, EtwCallNode *node, uint64_t ns)
{
    Firefox *f = ctx;
    Lane *lane = laneOf(thread, time, &f->sampledEnd);
    lane->last = time > lane->last ? time : lane->last;
    addSample(f, f->sampled, lane, &(Sample){lane->last, ns, stackOfNode(lane, node)});
}

static void firefoxInit(EtwSink *sink)
{
    Firefox *f = EtwAlloc(sizeof *f);
    EtwCallsConfig calls = {.watch = {.push = onPush, .pop = onPop, .ctx = f}};
    EtwCallsConfig samples = {
            .tree = true, .samples = true, .watch = {.sampled = onSampled, .ctx = f}};
    f->sink = sink;
    f->end = &f->lanes;
    f->sampledEnd = &f->sampled;
    f->limit = SAMPLES;
    f->interval = 500;
    EtwCallsOrSamplesInit(&f->profile, &calls, &samples, sink->store);
    sink->own = f;
}

static void freeStack(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

static void freeLanes(Firefox *f, Lane *lane)
{
    for (Lane *next; lane != NULL; lane = next) {
        next = lane->next;
        f->count -= lane->count;
        EtwTableFree(&lane->table, freeStack);
        EtwFree(lane->stacks);
        EtwFree(lane->samples);
        EtwFree(lane);
    }
}

static void firefoxEvent(
        EtwSink *sink, const EtwEvent *event, const EtwSchema *schema, EtwText *out)
{
    Firefox *f = sink->own;
    (void)schema, (void)out;
    EtwCallsOrSamplesAdd(&f->profile, sink->track, event);
    if (f->profile.samples == NULL && f->sampled != NULL) { /* the first call */
        freeLanes(f, f->sampled);
        f->sampled = NULL;
        f->sampledEnd = &f->sampled;
    }
}

/* ---- The file -------------------------------------------------------------------------------- */

/* Milliseconds. */
static void addMs(EtwText *out, uint64_t ns)
{
    EtwAddDecimal(out, ns / 1000000);
    if (ns % 1000000 != 0) {
        EtwTextChar(out, '.');
        EtwTextReserve(out, 8);
        EtwPutPadded(out->data + out->size, (uint32_t)(ns % 1000000), 6);
        out->size += 6;
    }
}

/* "key":[ and, at the end, ]; between them the values of a column, separated by commas. */
static void beginColumn(EtwText *out, const char *key)
{
    EtwTextStr(out, ",\n\"");
    EtwTextStr(out, key);
    ETW_ADD(out, "\":[");
}

static void separate(const EtwSink *sink, EtwText *out, size_t index)
{
    if (index > 0) {
        EtwTextChar(out, ',');
    }
    EtwSinkMore(sink, out);
}

static void addConstants(
        const EtwSink *sink, const char *key, const char *value, int count, EtwText *out)
{
    beginColumn(out, key);
    for (int i = 0; i < count; i++) {
        separate(sink, out, (size_t)i);
        EtwTextStr(out, value);
    }
    EtwTextChar(out, ']');
}

/* Or null for a negative number. */
static void addIndex(EtwText *out, int index)
{
    if (index < 0) {
        ETW_ADD(out, "null");
    } else {
        EtwAddDecimal(out, (uint64_t)index);
    }
}

static void addSamples(const EtwSink *sink, const Lane *lane, EtwText *out)
{
    EtwTextPrintf(out, "\"samples\":{\"length\":%zu,\"weightType\":\"tracing-ms\"", lane->count);
    beginColumn(out, "stack");
    for (size_t i = 0; i < lane->count; i++) {
        separate(sink, out, i);
        addIndex(out, lane->samples[i].stack);
    }
    ETW_ADD(out, "]");
    beginColumn(out, "time");
    for (size_t i = 0; i < lane->count; i++) {
        int64_t at = (int64_t)((uint64_t)lane->samples[i].time - (uint64_t)sink->base);
        separate(sink, out, i);
        EtwTextStr(out, at < 0 ? "-" : "");
        addMs(out, at < 0 ? 0 - (uint64_t)at : (uint64_t)at);
    }
    ETW_ADD(out, "]");
    beginColumn(out, "weight");
    for (size_t i = 0; i < lane->count; i++) {
        separate(sink, out, i);
        addMs(out, lane->samples[i].ns);
    }
    ETW_ADD(out, "]}");
}

/* The number of a frame in the thread's tables. Frame 0 is ETW_CALL_DEEPER. */
static int numberOf(const Firefox *f, const EtwCallRow *row)
{
    return row != NULL ? f->numbers[row->order] : 0;
}

/* A frame, a function and a string for each row that the thread has. Returns how many. */
static int addNames(EtwSink *sink, const Lane *lane, EtwText *out)
{
    Firefox *f = sink->own;
    int count = 1;
    ETW_ADD(out, ",\n\"stringArray\":[\"" ETW_CALL_DEEPER "\"");
    for (int i = 0; i < lane->stackCount; i++) {
        const EtwCallRow *row = lane->stacks[i]->row;
        if (row != NULL && f->numbers[row->order] == 0) {
            f->numbers[row->order] = count++;
            separate(sink, out, 1);
            EtwSinkJsonText(sink, row->name, row->nameSize, out);
        }
    }
    EtwTextChar(out, ']');
    return count;
}

static void forgetNames(const Firefox *f, const Lane *lane)
{
    for (int i = 0; i < lane->stackCount; i++) {
        if (lane->stacks[i]->row != NULL) {
            f->numbers[lane->stacks[i]->row->order] = 0;
        }
    }
}

static void addStacks(const EtwSink *sink, const Lane *lane, EtwText *out)
{
    EtwTextPrintf(out, ",\n\"stackTable\":{\"length\":%d", lane->stackCount);
    beginColumn(out, "frame");
    for (int i = 0; i < lane->stackCount; i++) {
        separate(sink, out, (size_t)i);
        EtwAddDecimal(out, (uint64_t)numberOf(sink->own, lane->stacks[i]->row));
    }
    EtwTextChar(out, ']');
    beginColumn(out, "prefix");
    for (int i = 0; i < lane->stackCount; i++) {
        separate(sink, out, (size_t)i);
        addIndex(out, lane->stacks[i]->prefix);
    }
    EtwTextChar(out, ']');
    addConstants(sink, "category", "0", lane->stackCount, out);
    addConstants(sink, "subcategory", "0", lane->stackCount, out);
    EtwTextChar(out, '}');
}

/* 0, 1, 2 ... */
static void addNumbers(const EtwSink *sink, const char *key, int count, EtwText *out)
{
    beginColumn(out, key);
    for (int i = 0; i < count; i++) {
        separate(sink, out, (size_t)i);
        EtwAddDecimal(out, (uint64_t)i);
    }
    EtwTextChar(out, ']');
}

static void addFunctions(const EtwSink *sink, int count, EtwText *out)
{
    static const char *const frameNulls[] = {"category", "subcategory", "nativeSymbol",
            "innerWindowID", "implementation", "line", "column", NULL};
    static const char *const funcNulls[] = {"fileName", "lineNumber", "columnNumber", NULL};
    EtwTextPrintf(out, ",\n\"frameTable\":{\"length\":%d", count);
    addConstants(sink, "address", "-1", count, out);
    addConstants(sink, "inlineDepth", "0", count, out);
    addNumbers(sink, "func", count, out);
    for (int i = 0; frameNulls[i] != NULL; i++) {
        addConstants(sink, frameNulls[i], "null", count, out);
    }
    EtwTextPrintf(out, "},\n\"funcTable\":{\"length\":%d", count);
    addConstants(sink, "isJS", "false", count, out);
    addConstants(sink, "relevantForJS", "false", count, out);
    addNumbers(sink, "name", count, out);
    addConstants(sink, "resource", "-1", count, out);
    for (int i = 0; funcNulls[i] != NULL; i++) {
        addConstants(sink, funcNulls[i], "null", count, out);
    }
    ETW_ADD(out, "}");
}

static void addThread(EtwSink *sink, const Lane *lane, EtwText *out)
{
    const EtwCallNode *t = lane->thread;
    const char *process = t->process != NULL ? t->process : "";
    EtwTextPrintf(out,
            "{\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":null,"
            "\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],\"name\":\"%u\","
            "\"isMainThread\":%s,\"pid\":\"%u\",\"tid\":%u,\"processName\":",
            t->tid, t->tid == t->pid ? "true" : "false", t->pid, t->tid);
    EtwSinkJsonText(sink, process, strlen(process), out);
    ETW_ADD(out, ",\n");
    addSamples(sink, lane, out);
    int count = addNames(sink, lane, out);
    addStacks(sink, lane, out);
    forgetNames(sink->own, lane);
    addFunctions(sink, count, out);
    ETW_ADD(out,
            ",\n\"markers\":{\"length\":0,\"data\":[],\"name\":[],\"startTime\":[],"
            "\"endTime\":[],\"phase\":[],\"category\":[]},\n"
            "\"resourceTable\":{\"length\":0,\"lib\":[],\"name\":[],\"host\":[],\"type\":[]},\n"
            "\"nativeSymbols\":{\"length\":0,\"libIndex\":[],\"address\":[],\"name\":[],"
            "\"functionSize\":[]}}");
}

/* meta.interval: of the timeline's bars. */
static void addMeta(const EtwSink *sink, EtwText *out)
{
    EtwTextPrintf(out,
            "{\"meta\":{\"interval\":0.01,\"startTime\":%lld.%06d,\"processType\":0,"
            "\"categories\":[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]}]"
            ","
            "\"product\":\"etw " ETW_VERSION "\",\"stackwalk\":0,\"debug\":false,\"version\":%d,"
            "\"preprocessedProfileVersion\":%d,\"symbolicated\":true,\"markerSchema\":[],"
            "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"}},\n"
            "\"libs\":[],\"pages\":[],\"counters\":[],\"profilerOverhead\":[],\n\"threads\":[",
            (long long)(sink->base / 1000000), (int)(sink->base < 0 ? 0 : sink->base % 1000000),
            GECKO_VERSION, VERSION);
}

static void firefoxEnd(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    Firefox *f = sink->own;
    bool sampled;
    const EtwCalls *calls = EtwCallsOrSamplesEnd(&f->profile, &sampled);
    const Lane *lanes = sampled ? f->sampled : f->lanes;
    size_t rows = 0;
    (void)source;
    for (const EtwCallRow *row = calls->rows; row != NULL; row = row->next) {
        rows++;
    }
    f->numbers = EtwAlloc((rows + 1) * sizeof *f->numbers);
    addMeta(sink, out);
    for (const Lane *lane = lanes; lane != NULL; lane = lane->next) {
        EtwTextStr(out, lane == lanes ? "\n" : ",\n");
        addThread(sink, lane, out);
    }
    ETW_ADD(out, "]}\n");
    sink->lacks = lanes != NULL ? NULL : "calls";
}

static void firefoxFree(EtwSink *sink)
{
    Firefox *f = sink->own;
    freeLanes(f, f->lanes);
    freeLanes(f, f->sampled);
    EtwCallsOrSamplesFree(&f->profile);
    EtwFree(f->numbers);
    EtwFree(f);
}

const EtwSinkOps etwSinkFirefox = {
        .init = firefoxInit, .event = firefoxEvent, .end = firefoxEnd, .free = firefoxFree};
