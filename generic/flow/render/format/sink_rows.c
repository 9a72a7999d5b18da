/*
 * flow/render/format/sink_rows.c --
 *
 *	Rows for loading into a database: one per line, columns separated by U+001F, an absent value
 *	is U+0003. One format has the events, the other one the calls. Names contain no control
 *	characters; other texts are JSON if they could contain a separator (words of calls then
 *	begin with U+0001). Numbers beyond 63 bits are text in the payload, and in the header the
 *	signed number with the same bits, because databases have no unsigned 64-bit numbers.
 */
#include "flow/calls/call_tree.h"
#include "base/unicode.h"
#include "flow/render/sink_int.h"
#include <stdio.h>

static void addSeparator(EtwText *out)
{
    EtwTextChar(out, 0x1F);
}

/* Each column except the first is preceded by a separator. */
static void addNumber(EtwText *out, int64_t v)
{
    addSeparator(out);
    EtwAddSigned(out, v);
}

static void addNull(EtwText *out)
{
    addSeparator(out);
    EtwTextChar(out, 3);
}

static void addId(EtwText *out, uint32_t id)
{
    if (id == ETW_NO_ID) {
        addNull(out);
    } else {
        addNumber(out, id);
    }
}

static void addName(EtwText *out, const char *name, size_t size)
{
    addSeparator(out);
    size_t at = out->size;
    EtwTextUtf8(out, (const uint8_t *)name, size);
    for (; at < out->size; at++) {
        out->data[at] = (uint8_t)out->data[at] < 0x20 ? ' ' : out->data[at];
    }
}

static void addOptional(EtwText *out, const char *name)
{
    if (name != NULL) {
        addName(out, name, strlen(name));
    } else {
        addNull(out);
    }
}

static void addGuid(EtwText *out, const uint8_t *bytes)
{
    static const EtwGuid null;
    EtwGuid guid;
    char text[ETW_GUID_TEXT];
    if (bytes == NULL || memcmp(bytes, null.bytes, sizeof null.bytes) == 0) {
        addNull(out);
        return;
    }
    memcpy(guid.bytes, bytes, sizeof guid.bytes);
    EtwGuidFormat(&guid, text);
    addName(out, text, strlen(text));
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void rowsInit(EtwSink *sink)
{
    sink->own = EtwAlloc(sizeof(uint64_t)); /* number of the last event */
}

static void rowsEvent(EtwSink *sink, const EtwEvent *e, const EtwSchema *schema, EtwText *out)
{
    char guid[ETW_GUID_TEXT];
    const char *provider = EtwSinkProvider(sink, e, schema, guid);
    const char *name = EtwSinkEventName(schema);
    char number[20];
    if (*name == 0) { /* databases load an empty column as NULL */
        snprintf(number, sizeof number, e->classic ? "opcode %u" : "id %u",
                e->classic ? e->desc.opcode : e->desc.id);
        name = number;
    }
    EtwAddDecimal(out, ++*(uint64_t *)sink->own);
    addNumber(out, e->time);
    addName(out, provider, strlen(provider));
    addName(out, name, strlen(name));
    addNumber(out, e->desc.id);
    addNumber(out, e->desc.version);
    addNumber(out, e->desc.level);
    addNumber(out, e->desc.opcode);
    addNumber(out, e->desc.task);
    addNumber(out, (int64_t)e->desc.keyword);
    addId(out, e->pid);
    addId(out, e->tid);
    addNumber(out, e->cpu);
    addGuid(out, e->activity.bytes);
    addGuid(out, e->related);
    addOptional(out, e->process);
    addOptional(out, e->object);
    addSeparator(out);
    EtwJsonProps(sink, e, schema, out, true);
    EtwTextChar(out, '\n');
}

static void rowsFree(EtwSink *sink)
{
    EtwFree(sink->own);
}

const EtwSinkOps etwSinkRows = {.init = rowsInit, .event = rowsEvent, .free = rowsFree};

/* ---- Calls ----------------------------------------------------------------------------------- */

typedef struct Open {
    struct Open *below;
    uint64_t id;
    int depth;
    int64_t start;
    uint64_t wait;  /* ns off the CPU in the call itself */
    uint64_t inner; /* ns in called calls */
    EtwText words;  /* empty: resumed after a yield */
} Open;

typedef struct CallRows {
    EtwSink *sink;
    EtwCalls *calls;
    EtwText *out; /* valid during an event */
    uint64_t last;
    Open *free;
} CallRows;

static void onPush(void *ctx, EtwCallNode *thread, int64_t time, const EtwCallRow *proc,
        const char *text, size_t size)
{
    CallRows *r = ctx;
    Open *open = r->free ? r->free : EtwAlloc(sizeof *open);
    (void)proc;
    r->free = open->below;
    *open = (Open){.below = thread->own, .id = ++r->last, .start = time, .words = open->words};
    open->depth = open->below ? open->below->depth + 1 : 1;
    open->words.size = 0;
    if (!(EtwTextTraits((const uint8_t *)text, size) & (ETW_TEXT_SPECIAL | ETW_TEXT_BACKSLASH))) {
        EtwTextAdd(&open->words, text, size);
    } else {
        EtwText *valid = &r->sink->scratch;
        valid->size = 0;
        EtwTextUtf8(valid, (const uint8_t *)text, size);
        EtwTextChar(&open->words, 1);
        EtwAddJson(&open->words, valid->data, valid->size);
    }
    thread->own = open;
}

static void addWords(const Open *open, EtwText *out)
{
    if (open->words.size == 0) {
        addNull(out);
    } else {
        addSeparator(out);
        EtwTextAdd(out, open->words.data, open->words.size);
    }
}

static void onPop(void *ctx, EtwCallNode *thread, int64_t time, const EtwCallRow *proc, int code)
{
    CallRows *r = ctx;
    Open *open = thread->own, *below = open->below;
    EtwText *out = r->out;
    int64_t duration = time - open->start;
    EtwAddDecimal(out, open->id);
    if (below != NULL) {
        addNumber(out, (int64_t)below->id);
        below->inner += (uint64_t)duration;
    } else {
        addNull(out);
    }
    addId(out, thread->pid);
    addId(out, thread->tid);
    addNumber(out, open->depth);
    addName(out, proc->nameSize > 0 ? proc->name : "{}", proc->nameSize > 0 ? proc->nameSize : 2);
    addWords(open, out);
    addNumber(out, open->start);
    addNumber(out, duration);
    addNumber(out, duration - (int64_t)open->inner);
    addNumber(out, (int64_t)open->wait);
    if (code == ETW_CALL_OPEN) {
        addNull(out);
    } else {
        addNumber(out, code);
    }
    EtwTextChar(out, '\n');
    thread->own = below;
    open->below = r->free;
    r->free = open;
}

static void onSpent(void *ctx, EtwCallNode *thread, int64_t time, const EtwCost *cost)
{
    Open *open = thread->own;
    (void)ctx, (void)time;
    if (open != NULL) {
        open->wait += cost->waited;
    }
}

static void callsInit(EtwSink *sink)
{
    CallRows *r = EtwAlloc(sizeof *r);
    EtwCallsConfig config = {.watch = {.push = onPush, .pop = onPop, .spent = onSpent, .ctx = r}};
    r->sink = sink;
    r->calls = EtwCallsNew(&config, sink->store);
    sink->own = r;
}

static void callsEvent(EtwSink *sink, const EtwEvent *event, const EtwSchema *schema, EtwText *out)
{
    CallRows *r = sink->own;
    (void)schema;
    r->out = out;
    EtwCallsAdd(r->calls, event);
}

static void callsEnd(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    CallRows *r = sink->own;
    (void)source;
    r->out = out;
    EtwCallsEnd(r->calls);
}

static void freeOpen(Open *open)
{
    for (Open *below; open != NULL; open = below) {
        below = open->below;
        EtwTextFree(&open->words);
        EtwFree(open);
    }
}

static void callsFree(EtwSink *sink)
{
    CallRows *r = sink->own;
    for (const EtwCallNode *t = r->calls->threads; t != NULL; t = t->next) {
        freeOpen(t->own);
    }
    freeOpen(r->free);
    EtwCallsFree(r->calls);
    EtwFree(r);
}

const EtwSinkOps etwSinkCallRows = {
        .init = callsInit, .event = callsEvent, .end = callsEnd, .free = callsFree};
