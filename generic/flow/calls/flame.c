/*
 * flow/calls/flame.c --
 *
 *	Call trees as frames of flame graphs, and as folded stacks: one line for each stack, with
 *	its frames separated by semicolons, then the weight. flame_svg.c draws the picture.
 */
#include "flow/calls/calls_or_samples.h"
#include "flow/calls/flame.h"
#include "flow/render/sink_int.h"

/* ---- Frames ---------------------------------------------------------------------------------- */

/* Names are stored as offsets while the text grows, and converted to pointers at the end. */
int EtwFlameFrameNew(EtwFlame *f, int parent, const char *name, size_t size)
{
    size_t at = f->names.size;
    if (f->count == f->capacity) {
        f->capacity = f->capacity ? 2 * f->capacity : 64;
        f->frames = EtwRealloc(f->frames, (size_t)f->capacity * sizeof *f->frames);
    }
    EtwAddSafe(&f->names, name, size);
    EtwTextChar(&f->names, 0);
    f->frames[f->count] = (EtwFlameFrame){.name = (const char *)(uintptr_t)at,
            .parent = parent,
            .depth = parent < 0 ? 0 : f->frames[parent].depth + 1};
    f->depth = f->frames[f->count].depth >= f->depth ? f->frames[f->count].depth + 1 : f->depth;
    return f->count++;
}

static void addWaits(EtwFlame *f, int parent, const EtwCosts *own)
{
    size_t count;
    const EtwCost **list = EtwCallCosts(own, &count);
    for (size_t i = 0; i < count; i++) {
        const EtwCost *c = list[i];
        if (c->waited == 0) {
            continue;
        }
        EtwText name = {0};
        EtwTextStr(&name, c->of->kind == ETW_COST_READY ? "[waits for a CPU" : "[waits");
        EtwTextStr(&name, *c->of->name ? " in " : "");
        EtwTextStr(&name, c->of->name);
        EtwTextChar(&name, ']');
        int at = EtwFlameFrameNew(f, parent, name.data, name.size);
        f->frames[at].self = c->waited;
        f->frames[at].calls = c->count;
        f->frames[at].waiting = true;
        EtwTextFree(&name);
    }
    EtwFree(list);
}

static int addCall(EtwFlame *f, EtwWeight weight, const EtwCallNode *node, int parent)
{
    const EtwCallStats *s = &node->stats;
    int at = EtwFlameFrameNew(f, parent, node->row->name, node->row->nameSize);
    f->frames[at].calls = s->calls;
    f->frames[at].errors = s->errors;
    if (weight == ETW_WEIGHT_WAIT) {
        addWaits(f, at, &s->own);
    } else {
        f->frames[at].self = weight == ETW_WEIGHT_COUNT ? s->calls : s->self;
    }
    return at;
}

static int addThread(EtwFlame *f, const EtwCallNode *thread)
{
    EtwText name = {0};
    EtwCallThreadName(thread, &name);
    int at = EtwFlameFrameNew(f, -1, name.data, name.size);
    f->frames[at].calls = thread->stats.calls;
    EtwTextFree(&name);
    return at;
}

/* A tree may be deeper than this thread's stack allows for recursion. */
typedef struct Level {
    const EtwCallNode **list;
    size_t count, at;
    int frame; /* parent of these children */
} Level;

static void pushLevel(EtwText *levels, const EtwCallNode *node, int frame)
{
    Level level = {.frame = frame};
    level.list = EtwCallChildren(NULL, node, &level.count, NULL);
    EtwTextAdd(levels, &level, sizeof level);
}

static void addTree(EtwFlame *f, EtwWeight weight, const EtwCallNode *thread)
{
    EtwText levels = {0};
    pushLevel(&levels, thread, addThread(f, thread));
    while (levels.size > 0) {
        Level *top = (Level *)(void *)(levels.data + levels.size) - 1;
        if (top->at == top->count) {
            EtwFree(top->list);
            levels.size -= sizeof *top;
            continue;
        }
        const EtwCallNode *node = top->list[top->at++];
        pushLevel(&levels, node, addCall(f, weight, node, top->frame));
    }
    EtwTextFree(&levels);
}

void EtwFlameSum(EtwFlame *f)
{
    for (int i = f->count - 1; i >= 0; i--) { /* children come after their parents */
        EtwFlameFrame *frame = &f->frames[i];
        frame->name = f->names.data + (uintptr_t)frame->name;
        frame->total += frame->self;
        *(frame->parent < 0 ? &f->total : &f->frames[frame->parent].total) += frame->total;
    }
}

EtwFlame *EtwFlameNew(const EtwCalls *calls, EtwWeight weight)
{
    EtwFlame *f = EtwAlloc(sizeof *f);
    for (const EtwCallNode *t = calls->threads; t != NULL; t = t->next) {
        addTree(f, weight, t);
    }
    EtwFlameSum(f);
    return f;
}

void EtwFlameFree(EtwFlame *f)
{
    EtwFree(f->frames);
    EtwTextFree(&f->names);
    EtwFree(f);
}

/* ---- Folded stacks --------------------------------------------------------------------------- */

void EtwFlameFoldedName(EtwText *path, const char *name)
{
    for (; *name != 0; name++) {
        EtwTextChar(path, *name == ';' ? ':' : *name);
    }
}

/*
 * Frames from this depth on, until *out has more than `most` bytes. sink: gets the text in pieces; NULL: all
 * of it remains in *out.
 */
static void addFolded(const EtwSink *sink, const EtwFlame *f, int from, size_t most, EtwText *out)
{
    EtwText path = {0};
    size_t *ends = EtwAlloc(((size_t)f->depth + 1) * sizeof *ends); /* path lengths by depth */
    for (int i = 0; i < f->count && out->size <= most; i++) {
        const EtwFlameFrame *frame = &f->frames[i];
        if (frame->depth < from) {
            continue;
        }
        path.size = frame->depth > from ? ends[frame->depth - 1] : 0;
        if (frame->depth > from) {
            EtwTextChar(&path, ';');
        }
        EtwFlameFoldedName(&path, frame->name);
        ends[frame->depth] = path.size;
        if (frame->self > 0) {
            EtwTextAdd(out, path.data, path.size);
            EtwTextChar(out, ' ');
            EtwAddDecimal(out, frame->self);
            EtwTextChar(out, '\n');
            if (sink != NULL) {
                EtwSinkMore(sink, out);
            }
        }
    }
    EtwFree(ends);
    EtwTextFree(&path);
}

void EtwCallsFoldedText(const EtwCalls *calls, size_t most, EtwText *out)
{
    EtwFlame *flame = EtwFlameNew(calls, ETW_WEIGHT_TIME);
    addFolded(NULL, flame, 1, most, out); /* without the threads */
    EtwFlameFree(flame);
}

/* ---- The sinks ------------------------------------------------------------------------------- */

static void flameInit(EtwSink *sink)
{
    EtwCallsConfig calls = {.tree = true}, samples = {.tree = true, .samples = true};
    EtwWeight weight = sink->config.weight;
    samples.offCpu = weight == ETW_WEIGHT_OFF_CPU || weight == ETW_WEIGHT_WAIT;
    sink->own = EtwAlloc(sizeof(EtwCallsOrSamples));
    EtwCallsOrSamplesInit(sink->own,
            weight != ETW_WEIGHT_SAMPLE && weight != ETW_WEIGHT_OFF_CPU ? &calls : NULL,
            weight != ETW_WEIGHT_COUNT ? &samples : NULL, sink->store);
}

static void flameEvent(EtwSink *sink, const EtwEvent *event, const EtwSchema *schema, EtwText *out)
{
    (void)schema, (void)out;
    EtwCallsOrSamplesAdd(sink->own, sink->track, event);
}

/* What a flame graph without visible frames lacks; NULL: it has some. */
static const char *flameLacks(const EtwFlame *flame, EtwWeight weight)
{
    if (weight == ETW_WEIGHT_SAMPLE || weight == ETW_WEIGHT_OFF_CPU) {
        return flame->total != 0             ? NULL
               : weight == ETW_WEIGHT_SAMPLE ? "samples"
                                             : "context switches";
    }
    if (flame->count == 0) {
        return "calls";
    }
    return flame->total != 0 ? NULL : weight == ETW_WEIGHT_WAIT ? "waits" : "time in calls";
}

/* *weightPtr: what is shown. */
static EtwFlame *flameOf(EtwSink *sink, EtwWeight *weightPtr)
{
    bool sampled;
    EtwCalls *calls = EtwCallsOrSamplesEnd(sink->own, &sampled);
    EtwWeight weight = !sampled               ? sink->config.weight
                       : calls->config.offCpu ? ETW_WEIGHT_OFF_CPU
                                              : ETW_WEIGHT_SAMPLE;
    EtwFlame *flame = EtwFlameNew(calls, weight);
    sink->lacks = flameLacks(flame, weight);
    *weightPtr = weight;
    return flame;
}

static void foldedEnd(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    EtwWeight weight;
    EtwFlame *flame = flameOf(sink, &weight);
    (void)source;
    addFolded(sink, flame, 0, SIZE_MAX, out);
    EtwFlameFree(flame);
}

static void svgEnd(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    static const char *const titles[] = {"Time in calls", "Number of calls", "Waits of calls",
            "Time on the CPU, by samples", "Time off the CPU, by stack"};
    EtwWeight weight;
    EtwFlame *flame = flameOf(sink, &weight);
    (void)source;
    ETW_ADD(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    EtwFlameSvg(flame, weight, sink->config.title ? sink->config.title : titles[weight], out);
    EtwFlameFree(flame);
}

static void flameFree(EtwSink *sink)
{
    EtwCallsOrSamplesFree(sink->own);
    EtwFree(sink->own);
}

const EtwSinkOps etwSinkFolded = {
        .init = flameInit, .event = flameEvent, .end = foldedEnd, .free = flameFree};
const EtwSinkOps etwSinkFlamegraph = {
        .init = flameInit, .event = flameEvent, .end = svgEnd, .free = flameFree};
