/*
 * flow/render/format/sink_perfetto.c --
 *
 *	Perfetto's trace, a sequence of TracePackets (https://perfetto.dev/docs/reference/trace-packet-proto), which
 *	ui.perfetto.dev and trace_processor open. Calls and system calls are slices of their thread, context switches
 *	and wake-ups are ftrace events, from which Perfetto makes the lanes of CPUs and the states of threads, all other
 *	events are instants with their fields. Names are written once and then referred to by number.
 */
#include "flow/calls/call_tree.h"
#include "flow/render/protobuf.h"
#include "flow/render/sink_int.h"
#include "flow/waits/waits.h"
#include "semantics/semantics.h"
#include "base/hash_table.h"
#include "base/unicode.h"
#include <stdio.h>

/* Fields of the messages. */
enum {
    TRACE_PACKET = 1,
    PACKET_FTRACE = 1,
    PACKET_CLOCKS = 6,
    PACKET_TIME = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_CLOCK = 58,
    PACKET_DEFAULTS = 59,
    PACKET_TRACK = 60,
    DEFAULTS_CLOCK = 58,
    CLOCKS_CLOCK = 1,
    CLOCKS_PRIMARY = 2,
    CLOCK_ID = 1,
    CLOCK_TIME = 2,
    CLOCK_INCREMENTAL = 3,
    TRACK_ID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    PROCESS_PID = 1,
    PROCESS_NAME = 6,
    THREAD_PID = 1,
    THREAD_TID = 2,
    THREAD_NAME = 5,
    NAME_ID = 1,
    NAME_TEXT = 2,
    EVENT_CATEGORY = 3,
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_NAME = 10,
    EVENT_TRACK = 11,
    EVENT_STACK = 55,
    STACK_FRAME = 1,
    FRAME_FUNCTION = 1,
    FRAME_FILE = 2,
    FRAME_LINE = 3,
    VALUE_NAME = 1,
    VALUE_BOOL = 2,
    VALUE_UINT = 3,
    VALUE_INT = 4,
    VALUE_DOUBLE = 5,
    VALUE_TEXT = 6,
    VALUE_POINTER = 7,
    VALUE_ENTRY = 11, /* of a dict */
    VALUE_ELEMENT = 12,
    BUNDLE_CPU = 1,
    BUNDLE_EVENT = 2,
    FTRACE_TIME = 1,
    FTRACE_TID = 2,
    FTRACE_SWITCH = 4,
    FTRACE_FLAGS = 5,
    FTRACE_WAKING = 20,
    SWITCH_OLD_COMMAND = 1,
    SWITCH_OLD_TID = 2,
    SWITCH_OLD_PRIORITY = 3,
    SWITCH_OLD_STATE = 4,
    SWITCH_NEW_COMMAND = 5,
    SWITCH_NEW_TID = 6,
    SWITCH_NEW_PRIORITY = 7,
    WAKING_COMMAND = 1,
    WAKING_TID = 2,
    WAKING_PRIORITY = 3,
    WAKING_CPU = 5
};
/* Their values. */
enum {
    FLAG_CLEARED = 1, /* names and defaults begin anew */
    FLAG_NEEDS_STATE = 2,
    CLOCK_REAL = 1,
    CLOCK_MONOTONIC = 3,
    CLOCK_BOOT = 6,
    CLOCK_OWN = 64, /* the time since the packet before */
    SLICE_BEGIN = 1,
    SLICE_END = 2,
    INSTANT = 3,
    SEQUENCE_EVENTS = 1,
    SEQUENCE_FTRACE = 2,
    STATE_WAITS = 1,
    STATE_DEAD = 16,
    FLAG_HARDIRQ = 8,
    FLAG_SOFTIRQ = 16
};
/* What has a name that is written once; the numbers are fields of InternedData. */
typedef enum NameKind { NAME_CATEGORY = 1, NAME_EVENT = 2, NAME_VALUE = 3 } NameKind;
enum {
    NAMES_SIZE = 16 * 1024 * 1024, /* bytes of names; with more of them, they begin anew */
    BUNDLE_SIZE = 4096,            /* bytes of switches and wake-ups of a CPU in one packet */
    LEVELS = 40                    /* of structs and arrays: more than schemas have */
};

typedef struct Name {
    EtwTableNode node;
    NameKind kind;
    size_t size;
    uint64_t id;
    char text[];
} Name;

/* A thread; tid 0: its process; pid 0 too: what has no process. */
typedef struct Track {
    EtwTableNode node;
    uint32_t pid, tid;
    uint64_t id;
    char *process;
    bool inSyscall; /* the slice of a system call is open */
} Track;

typedef struct Perfetto {
    EtwSink *sink;
    EtwCalls *calls;
    EtwText *out; /* valid during an event */
    EtwTable names, tracks;
    size_t nameSize;
    uint64_t lastName, lastTrack;
    EtwText interned; /* names that are new in the packet */
    Track *last;      /* of the last event */
    EtwText *bundles; /* of each CPU: ftrace events that are not written yet */
    uint32_t bundleCount;
    bool begun;
    int64_t clock, time; /* what the packets' times have come to; of the last event */
} Perfetto;

/* ---- Packets --------------------------------------------------------------------------------- */

static void addSequence(EtwText *out, uint64_t sequence, uint64_t flags)
{
    EtwPbValue(out, PACKET_SEQUENCE, sequence);
    EtwPbValue(out, PACKET_FLAGS, flags);
}

static void addClock(EtwText *out, uint64_t id, int64_t time)
{
    size_t clock = EtwPbBegin(out, CLOCKS_CLOCK);
    EtwPbValue(out, CLOCK_ID, id);
    EtwPbValue(out, CLOCK_TIME, (uint64_t)time);
    EtwPbNumber(out, CLOCK_INCREMENTAL, id == CLOCK_OWN);
    EtwPbEnd(out, clock);
}

static void freeName(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

/* All clocks of the trace show the same: the events' wall time. */
static void beginState(Perfetto *p, int64_t time)
{
    EtwText *out = p->out;
    EtwTableFree(&p->names, freeName);
    p->names = (EtwTable){0};
    p->nameSize = 0;
    size_t packet = EtwPbBegin(out, TRACE_PACKET);
    addSequence(out, SEQUENCE_EVENTS, FLAG_CLEARED);
    size_t part = EtwPbBegin(out, PACKET_DEFAULTS);
    EtwPbValue(out, DEFAULTS_CLOCK, CLOCK_OWN);
    EtwPbEnd(out, part);
    part = EtwPbBegin(out, PACKET_CLOCKS);
    addClock(out, CLOCK_BOOT, time);
    addClock(out, CLOCK_REAL, time);
    addClock(out, CLOCK_MONOTONIC, time);
    addClock(out, CLOCK_OWN, time);
    EtwPbValue(out, CLOCKS_PRIMARY, CLOCK_BOOT);
    EtwPbEnd(out, part);
    EtwPbEnd(out, packet);
    p->clock = time;
    p->begun = true;
}

/* The packet's time: since the one before, or in full where that is later. */
static void addTime(Perfetto *p, int64_t time)
{
    if (time >= p->clock) {
        EtwPbValue(p->out, PACKET_TIME, (uint64_t)time - (uint64_t)p->clock);
        p->clock = time;
    } else {
        EtwPbValue(p->out, PACKET_TIME, (uint64_t)time);
        EtwPbValue(p->out, PACKET_CLOCK, CLOCK_BOOT);
    }
}

/* The number of a name, which the packet contains if it is new. */
static uint64_t nameOf(Perfetto *p, NameKind kind, const char *text, size_t size)
{
    uint64_t hash = EtwHashBytes((uint64_t)kind, (const uint8_t *)text, size);
    Name *n = (Name *)EtwTableFirst(&p->names, hash);
    while (n != NULL && (n->node.hash != hash || n->kind != kind || n->size != size ||
                                memcmp(n->text, text, size) != 0)) {
        n = (Name *)n->node.next;
    }
    if (n == NULL) {
        n = EtwAlloc(sizeof *n + size + 1);
        n->kind = kind;
        n->size = size;
        n->id = ++p->lastName;
        EtwCopyShort(n->text, text, size);
        p->nameSize += sizeof *n + size;
        EtwTableAdd(&p->names, &n->node, hash);
        size_t entry = EtwPbBegin(&p->interned, kind);
        EtwPbValue(&p->interned, NAME_ID, n->id);
        EtwPbText(&p->interned, NAME_TEXT, text, size);
        EtwPbEnd(&p->interned, entry);
    }
    return n->id;
}

/* ---- Tracks ---------------------------------------------------------------------------------- */

static void addText(EtwText *out, int field, const char *text)
{
    EtwPbText(out, field, text, strlen(text));
}

/* The thread belongs to a process, or its process is not known. */
static void addThread(const Track *t, EtwText *out)
{
    if (t->pid == 0) {
        size_t name = EtwPbBegin(out, TRACK_NAME);
        EtwTextPrintf(out, "thread %u", t->tid);
        EtwPbEnd(out, name);
        return;
    }
    size_t part = EtwPbBegin(out, TRACK_THREAD);
    EtwPbValue(out, THREAD_PID, t->pid);
    EtwPbValue(out, THREAD_TID, t->tid);
    if (t->pid == t->tid && t->process != NULL) {
        addText(out, THREAD_NAME, t->process);
    }
    EtwPbEnd(out, part);
}

static void addTrack(Perfetto *p, const Track *t, uint64_t parent)
{
    EtwText *out = p->out;
    size_t packet = EtwPbBegin(out, TRACE_PACKET);
    addSequence(out, SEQUENCE_EVENTS, FLAG_NEEDS_STATE);
    size_t track = EtwPbBegin(out, PACKET_TRACK);
    EtwPbValue(out, TRACK_ID, t->id);
    EtwPbNumber(out, TRACK_PARENT, parent);
    if (t->tid != 0) {
        addThread(t, out);
    } else if (t->pid != 0) {
        size_t part = EtwPbBegin(out, TRACK_PROCESS);
        EtwPbValue(out, PROCESS_PID, t->pid);
        if (t->process != NULL) {
            addText(out, PROCESS_NAME, t->process);
        }
        EtwPbEnd(out, part);
    } else {
        addText(out, TRACK_NAME, "(no process)");
    }
    EtwPbEnd(out, track);
    EtwPbEnd(out, packet);
}

static Track *findTrack(const Perfetto *p, uint32_t pid, uint32_t tid, uint64_t hash)
{
    Track *t = (Track *)EtwTableFirst(&p->tracks, hash);
    while (t != NULL && (t->pid != pid || t->tid != tid)) {
        t = (Track *)t->node.next;
    }
    return t;
}

/* The track of a thread, and before it that of its process. Each is described when it or its name is new. */
static Track *trackOf(Perfetto *p, uint32_t pid, uint32_t tid, const char *process)
{
    pid = pid == ETW_NO_ID ? 0 : pid;
    tid = tid == ETW_NO_ID ? 0 : tid;
    bool isLast = p->last != NULL && p->last->pid == pid && p->last->tid == tid;
    uint64_t hash = isLast ? 0 : EtwHashNumber((uint64_t)pid << 32 | tid);
    Track *t = isLast ? p->last : findTrack(p, pid, tid, hash);
    bool isNew = t == NULL;
    if (isNew) {
        t = EtwAlloc(sizeof *t);
        t->pid = pid;
        t->tid = tid;
        t->id = ++p->lastTrack;
        EtwTableAdd(&p->tracks, &t->node, hash);
    }
    bool named = process != NULL && (t->process == NULL || strcmp(t->process, process) != 0);
    if (named) {
        EtwFree(t->process);
        t->process = EtwStrdup(process);
    }
    if (isNew || named) {
        uint64_t parent = tid != 0 && pid != 0 ? trackOf(p, pid, 0, process)->id : 0;
        addTrack(p, t, parent);
    }
    p->last = t;
    return t;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* Debug annotations: the open structs and arrays, and the field that the next value goes to. */
typedef struct Values {
    Perfetto *p;
    int depth;
    int fields[LEVELS];
    size_t begins[LEVELS];
} Values;

static size_t beginValue(Values *v, const char *name)
{
    EtwText *out = v->p->out;
    int field = v->fields[v->depth];
    size_t at = EtwPbBegin(out, field);
    if (field != VALUE_ELEMENT) {
        EtwPbValue(out, VALUE_NAME, nameOf(v->p, NAME_VALUE, name, strlen(name)));
    }
    return at;
}

static void addNumber(Values *v, const char *name, uint64_t number)
{
    if (number != 0) {
        size_t at = beginValue(v, name);
        EtwPbValue(v->p->out, VALUE_UINT, number);
        EtwPbEnd(v->p->out, at);
    }
}

static void addTextValue(Values *v, const char *name, const char *text, size_t size)
{
    size_t at = beginValue(v, name);
    EtwPbText(v->p->out, VALUE_TEXT, text, size);
    EtwPbEnd(v->p->out, at);
}

static void addGuid(Values *v, const char *name, const uint8_t *bytes)
{
    EtwGuid guid;
    char text[ETW_GUID_TEXT];
    memcpy(guid.bytes, bytes, sizeof guid.bytes);
    EtwGuidFormat(&guid, text);
    addTextValue(v, name, text, strlen(text));
}

static void onValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    Values *v = ctx;
    EtwText *out = v->p->out;
    size_t at = beginValue(v, field->name);
    if (value->kind == ETW_V_NULL) {
        EtwPbBytes(out, VALUE_TEXT, "null", 4);
    } else if (EtwValueIsText(field, value)) {
        size_t text = EtwPbBegin(out, VALUE_TEXT);
        EtwFormatValue(out, field, value);
        EtwPbEnd(out, text);
    } else if (value->kind == ETW_V_BOOL) {
        EtwPbValue(out, VALUE_BOOL, value->u);
    } else if (value->kind == ETW_V_DOUBLE) {
        EtwPbDouble(out, VALUE_DOUBLE, value->d);
    } else if (field->in == ETW_IN_POINTER) {
        EtwPbValue(out, VALUE_POINTER, value->u);
    } else {
        EtwPbValue(out, value->kind == ETW_V_INT ? VALUE_INT : VALUE_UINT, value->u);
    }
    EtwPbEnd(out, at);
}

static void openValue(Values *v, const char *name, int field)
{
    size_t at = beginValue(v, name);
    v->begins[v->depth++] = at;
    v->fields[v->depth] = field;
}

static void shutValue(Values *v)
{
    EtwPbEnd(v->p->out, v->begins[--v->depth]);
}

static void onBegin(void *ctx, const EtwField *field, bool isStruct, int count)
{
    (void)count;
    openValue(ctx, field->name, isStruct ? VALUE_ENTRY : VALUE_ELEMENT);
}

static void onEnd(void *ctx, const EtwField *field, bool isStruct)
{
    (void)field, (void)isStruct;
    shutValue(ctx);
}

static void onRest(void *ctx, const uint8_t *data, size_t size)
{
    static const EtwField field = {.name = "_rest"};
    onValue(ctx, &field, &(EtwValue){.kind = ETW_V_BYTES, .data = data, .size = size});
}

static void addFields(Values *v, const EtwEvent *e, const EtwSchema *schema)
{
    static const EtwVisitor visitor = {onValue, onBegin, onEnd, onRest};
    static const EtwSchema unknown = {.provider = "", .event = ""};
    int depth = v->depth;
    if (EtwDecode(schema != NULL ? schema : &unknown, e, &visitor, v) != ETW_OK) {
        while (v->depth > depth) {
            shutValue(v);
        }
        addTextValue(v, "_error", ETW_TOO_SHORT, sizeof ETW_TOO_SHORT - 1);
    }
}

/* What the event's header has besides process, thread, time and name. */
static void addHeader(Values *v, const EtwEvent *e)
{
    openValue(v, "header", VALUE_ENTRY);
    addNumber(v, "id", e->desc.id);
    addNumber(v, "version", e->desc.version);
    addNumber(v, "level", e->desc.level);
    addNumber(v, "opcode", e->desc.opcode);
    addNumber(v, "task", e->desc.task);
    addNumber(v, "keyword", e->desc.keyword);
    addNumber(v, "cpu", e->cpu);
    if (!EtwGuidIsNull(&e->activity)) {
        addGuid(v, "activity", e->activity.bytes);
    }
    if (e->related != NULL) {
        addGuid(v, "related", e->related);
    }
    if (e->object != NULL) {
        addTextValue(v, "object", e->object, strlen(e->object));
    }
    shutValue(v);
}

static void addFrame(const EtwFrame *frame, EtwText *out)
{
    size_t at = EtwPbBegin(out, STACK_FRAME);
    size_t text = EtwPbBegin(out, FRAME_FUNCTION);
    if (frame->function != NULL) {
        EtwFrameName(frame, out);
    } else {
        EtwFrameText(frame, out);
    }
    EtwPbEnd(out, text);
    if (frame->file != NULL) {
        addText(out, FRAME_FILE, frame->file);
        EtwPbNumber(out, FRAME_LINE, frame->line);
    }
    EtwPbEnd(out, at);
}

/* Outermost first; walks give the innermost first. */
static void addStack(const Perfetto *p, const EtwEvent *e)
{
    EtwText *frames = &p->sink->scratch, *starts = &p->sink->scratch2;
    EtwFrameWalk walk;
    frames->size = starts->size = 0;
    EtwFrameWalkBegin(&walk, p->sink->track, e);
    for (const EtwFrame *frame; (frame = EtwFrameNext(&walk)) != NULL;) {
        EtwTextAdd(starts, &frames->size, sizeof frames->size);
        addFrame(frame, frames);
    }
    size_t at = EtwPbBegin(p->out, EVENT_STACK);
    for (size_t i = starts->size / sizeof(size_t), end = frames->size; i-- > 0;) {
        size_t start;
        memcpy(&start, starts->data + i * sizeof start, sizeof start);
        EtwTextAdd(p->out, frames->data + start, end - start);
        end = start;
    }
    EtwPbEnd(p->out, at);
}

/* ---- Events of tracks ------------------------------------------------------------------------ */

typedef struct Packet {
    size_t packet, event;
} Packet;

static Packet beginEvent(Perfetto *p, int64_t time, uint64_t track, int type)
{
    Packet packet;
    if (p->nameSize > NAMES_SIZE) {
        beginState(p, p->clock);
    }
    p->interned.size = 0;
    packet.packet = EtwPbBegin(p->out, TRACE_PACKET);
    addTime(p, time);
    addSequence(p->out, SEQUENCE_EVENTS, FLAG_NEEDS_STATE);
    packet.event = EtwPbBegin(p->out, PACKET_EVENT);
    EtwPbValue(p->out, EVENT_TYPE, (uint64_t)type);
    EtwPbValue(p->out, EVENT_TRACK, track);
    return packet;
}

static void endEvent(Perfetto *p, Packet packet)
{
    EtwPbEnd(p->out, packet.event);
    if (p->interned.size > 0) {
        EtwPbBytes(p->out, PACKET_INTERNED, p->interned.data, p->interned.size);
    }
    EtwPbEnd(p->out, packet.packet);
}

static void addEventName(Perfetto *p, const char *category, const char *name, size_t size)
{
    EtwPbValue(p->out, EVENT_CATEGORY, nameOf(p, NAME_CATEGORY, category, strlen(category)));
    EtwPbValue(p->out, EVENT_NAME, nameOf(p, NAME_EVENT, name, size));
}

static Values valuesOf(Perfetto *p)
{
    return (Values){.p = p, .fields = {EVENT_ANNOTATION}};
}

/* A system call whose exit is missing ends with the next slice of its thread. */
static void endSyscall(Perfetto *p, Track *t, int64_t time)
{
    if (t->inSyscall) {
        t->inSyscall = false;
        endEvent(p, beginEvent(p, time, t->id, SLICE_END));
    }
}

static void onPush(void *ctx, EtwCallNode *thread, int64_t time, const EtwCallRow *proc,
        const char *text, size_t size)
{
    Perfetto *p = ctx;
    Track *t = trackOf(p, thread->pid, thread->tid, NULL);
    endSyscall(p, t, time);
    Packet packet = beginEvent(p, time, t->id, SLICE_BEGIN);
    addEventName(p, "script", proc->name, proc->nameSize);
    if (size > proc->nameSize) {
        Values v = valuesOf(p);
        addTextValue(&v, "words", text, size);
    }
    endEvent(p, packet);
}

static void onPop(void *ctx, EtwCallNode *thread, int64_t time, const EtwCallRow *proc, int code)
{
    Perfetto *p = ctx;
    Track *t = trackOf(p, thread->pid, thread->tid, NULL);
    (void)proc;
    endSyscall(p, t, time);
    Packet packet = beginEvent(p, time, t->id, SLICE_END);
    Values v = valuesOf(p);
    addNumber(&v, "code", code > 0 ? (uint64_t)code : 0);
    endEvent(p, packet);
}

static void beginSyscall(Perfetto *p, Track *t, const EtwEvent *e, const EtwSchema *schema)
{
    char number[24];
    EtwRoleValues roles;
    EtwRoleValuesRead(&roles, schema, e);
    const char *name = EtwRoleName(&roles, ETW_ROLE_SYSCALL, number, sizeof number);
    endSyscall(p, t, e->time);
    Packet packet = beginEvent(p, e->time, t->id, SLICE_BEGIN);
    Values v = valuesOf(p);
    addEventName(p, EtwCostKindName(ETW_COST_SYSCALL), name, strlen(name));
    addFields(&v, e, schema);
    endEvent(p, packet);
    t->inSyscall = true;
}

static void leaveSyscall(Perfetto *p, Track *t, const EtwEvent *e, const EtwSchema *schema)
{
    Packet packet = beginEvent(p, e->time, t->id, SLICE_END);
    Values v = valuesOf(p);
    openValue(&v, "exit", VALUE_ENTRY);
    addFields(&v, e, schema);
    shutValue(&v);
    endEvent(p, packet);
    t->inSyscall = false;
}

static void addInstant(Perfetto *p, const Track *t, const EtwEvent *e, const EtwSchema *schema)
{
    char guid[ETW_GUID_TEXT], id[16];
    const char *provider = EtwSinkProvider(p->sink, e, schema, guid);
    const char *name = EtwSinkEventName(schema);
    if (name[0] == '\0') {
        snprintf(id, sizeof id, "id %u", e->classic ? e->desc.opcode : e->desc.id);
        name = id;
    }
    Packet packet = beginEvent(p, e->time, t->id, INSTANT);
    Values v = valuesOf(p);
    addEventName(p, provider, name, strlen(name));
    addFields(&v, e, schema);
    addHeader(&v, e);
    if (e->stack != NULL && e->stackCount > 0) {
        addStack(p, e);
    }
    endEvent(p, packet);
}

/* ---- Switches and wake-ups ------------------------------------------------------------------- */

static void writeBundle(Perfetto *p, uint32_t cpu)
{
    EtwText *bundle = &p->bundles[cpu];
    size_t packet = EtwPbBegin(p->out, TRACE_PACKET);
    EtwPbValue(p->out, PACKET_SEQUENCE, SEQUENCE_FTRACE);
    size_t part = EtwPbBegin(p->out, PACKET_FTRACE);
    EtwPbValue(p->out, BUNDLE_CPU, cpu);
    EtwTextAdd(p->out, bundle->data, bundle->size);
    EtwPbEnd(p->out, part);
    EtwPbEnd(p->out, packet);
    bundle->size = 0;
}

static EtwText *bundleOf(Perfetto *p, uint32_t cpu)
{
    if (cpu >= p->bundleCount) {
        uint32_t count = cpu + 16;
        p->bundles = EtwRealloc(p->bundles, count * sizeof *p->bundles);
        memset(p->bundles + p->bundleCount, 0, (count - p->bundleCount) * sizeof *p->bundles);
        p->bundleCount = count;
    }
    return &p->bundles[cpu];
}

/* Fields of the message that no role has, by the names in our own events and in Windows'. */
typedef struct SchedFields {
    EtwText *out;
    bool isSwitch;
} SchedFields;

static void onSchedValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    static const struct {
        const char *name;
        bool isSwitch;
        int field;
    } fields[] = {{"OldCommand", true, SWITCH_OLD_COMMAND},
            {"OldPriority", true, SWITCH_OLD_PRIORITY}, {"NewPriority", true, SWITCH_NEW_PRIORITY},
            {"NewCommand", true, SWITCH_NEW_COMMAND},
            {"OldThreadPriority", true, SWITCH_OLD_PRIORITY},
            {"NewThreadPriority", true, SWITCH_NEW_PRIORITY}, {"Command", false, WAKING_COMMAND},
            {"Priority", false, WAKING_PRIORITY}, {"Cpu", false, WAKING_CPU}};
    const SchedFields *s = ctx;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (fields[i].isSwitch != s->isSwitch || strcmp(fields[i].name, field->name) != 0) {
            continue;
        }
        if (value->kind == ETW_V_TEXT) {
            EtwPbText(s->out, fields[i].field, value->data, value->size);
        } else if (value->kind == ETW_V_INT || value->kind == ETW_V_UINT) {
            EtwPbValue(s->out, fields[i].field, value->u);
        }
    }
}

static void addSched(EtwText *out, const EtwEvent *e, const EtwSchema *schema, bool isSwitch)
{
    static const EtwVisitor visitor = {onSchedValue, NULL, NULL, NULL};
    EtwDecode(schema, e, &visitor, &(SchedFields){out, isSwitch});
}

static uint64_t stateOf(const EtwRoleValues *roles)
{
    return !EtwSwitchIsWindows(roles) ? EtwRoleNumber(roles, ETW_ROLE_OLD_STATE)
           : EtwSwitchIsReady(roles)  ? 0
           : EtwSwitchIsGone(roles)   ? STATE_DEAD
                                      : STATE_WAITS;
}

static void addSwitch(
        EtwText *out, const EtwEvent *e, const EtwSchema *schema, const EtwRoleValues *roles)
{
    uint64_t old = (uint32_t)EtwRoleNumber(roles, ETW_ROLE_OLD_TID);
    EtwPbValue(out, FTRACE_TID, old);
    size_t part = EtwPbBegin(out, FTRACE_SWITCH);
    EtwPbValue(out, SWITCH_OLD_TID, old);
    EtwPbValue(out, SWITCH_OLD_STATE, stateOf(roles));
    EtwPbValue(out, SWITCH_NEW_TID, (uint32_t)EtwRoleNumber(roles, ETW_ROLE_TID));
    addSched(out, e, schema, true);
    EtwPbEnd(out, part);
}

static void addWaking(
        EtwText *out, const EtwEvent *e, const EtwSchema *schema, const EtwRoleValues *roles)
{
    EtwWake wake = EtwWakeRead(roles, e);
    EtwPbValue(out, FTRACE_TID, wake.by);
    EtwPbNumber(out, FTRACE_FLAGS,
            wake.from == ETW_WAKE_SOFTIRQ   ? FLAG_SOFTIRQ
            : wake.from == ETW_WAKE_HARDIRQ ? FLAG_HARDIRQ
                                            : 0);
    size_t part = EtwPbBegin(out, FTRACE_WAKING);
    EtwPbValue(out, WAKING_TID, wake.tid);
    addSched(out, e, schema, false);
    EtwPbEnd(out, part);
}

/* False: it is no switch or wake-up that can be read. */
static bool addFtrace(Perfetto *p, const EtwEvent *e, const EtwSchema *schema, EtwMeaning meaning)
{
    EtwRoleValues roles;
    if (!EtwRoleValuesRead(&roles, schema, e)) {
        return false;
    }
    EtwText *bundle = bundleOf(p, e->cpu);
    size_t at = EtwPbBegin(bundle, BUNDLE_EVENT);
    EtwPbValue(bundle, FTRACE_TIME, (uint64_t)e->time);
    if (meaning == ETW_MEANS_SWITCH) {
        addSwitch(bundle, e, schema, &roles);
    } else {
        addWaking(bundle, e, schema, &roles);
    }
    EtwPbEnd(bundle, at);
    if (bundle->size >= BUNDLE_SIZE) {
        writeBundle(p, e->cpu);
    }
    return !e->classic; /* Windows' have more fields than these messages: they are instants, too */
}

/* ---- The sink -------------------------------------------------------------------------------- */

static void perfettoEvent(
        EtwSink *sink, const EtwEvent *event, const EtwSchema *schema, EtwText *out)
{
    Perfetto *p = sink->own;
    EtwMeaning meaning = schema != NULL ? EtwMeaningOf(schema) : ETW_MEANS_OTHER;
    p->out = out;
    p->time = event->time;
    if (!p->begun) {
        beginState(p, sink->base);
    }
    trackOf(p, event->pid, event->tid, event->process);
    EtwCallsAdd(p->calls, event);
    if (EtwMeansCall(meaning)) { /* the calls are made by the callbacks */
        return;
    }
    if ((meaning == ETW_MEANS_SWITCH || meaning == ETW_MEANS_READY) &&
            addFtrace(p, event, schema, meaning)) {
        return;
    }
    Track *t = trackOf(p, event->pid, event->tid, NULL);
    if (meaning == ETW_MEANS_SYSCALL_ENTER && t->tid != 0) {
        beginSyscall(p, t, event, schema);
    } else if (meaning == ETW_MEANS_SYSCALL_EXIT && t->inSyscall) {
        leaveSyscall(p, t, event, schema);
    } else {
        addInstant(p, t, event, schema);
    }
}

static void perfettoInit(EtwSink *sink)
{
    Perfetto *p = EtwAlloc(sizeof *p);
    EtwCallsConfig config = {.watch = {.push = onPush, .pop = onPop, .ctx = p}};
    p->sink = sink;
    p->calls = EtwCallsNew(&config, sink->store);
    sink->own = p;
}

static void addLosses(Perfetto *p, uint64_t lost)
{
    if (lost > 0) {
        char name[48];
        int size = snprintf(name, sizeof name, "%llu events lost", (unsigned long long)lost);
        Track *t = trackOf(p, 0, 0, NULL);
        Packet packet = beginEvent(p, p->time, t->id, INSTANT);
        addEventName(p, "loss", name, (size_t)size);
        endEvent(p, packet);
    }
}

static void perfettoEnd(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    Perfetto *p = sink->own;
    p->out = out;
    if (!p->begun) {
        beginState(p, sink->base);
    }
    EtwCallsEnd(p->calls);
    for (uint32_t i = 0; i < p->bundleCount; i++) {
        if (p->bundles[i].size > 0) {
            writeBundle(p, i);
            EtwSinkMore(sink, out);
        }
    }
    addLosses(p, source != NULL ? EtwSourceLost(source) : 0);
}

static void freeTrack(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(((Track *)node)->process);
    EtwFree(node);
}

static void perfettoFree(EtwSink *sink)
{
    Perfetto *p = sink->own;
    EtwCallsFree(p->calls);
    EtwTableFree(&p->names, freeName);
    EtwTableFree(&p->tracks, freeTrack);
    for (uint32_t i = 0; i < p->bundleCount; i++) {
        EtwTextFree(&p->bundles[i]);
    }
    EtwFree(p->bundles);
    EtwTextFree(&p->interned);
    EtwFree(p);
}

const EtwSinkOps etwSinkPerfetto = {
        .init = perfettoInit, .event = perfettoEvent, .end = perfettoEnd, .free = perfettoFree};
