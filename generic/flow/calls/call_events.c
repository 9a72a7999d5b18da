/*
 * flow/calls/call_events.c --
 *
 *	What an event means for calls: enters and leaves of Tcl-Script, switches, system calls, bytes
 *	moved and ends of threads of the kernel's, others by name. Decided once per schema, by names and
 *	types of its fields, so that somebody else's events under a known name are just events.
 */
#include "flow/calls/call_tree_int.h"
#include "schema/model/decode.h"
#include "schema/model/linux_names.h"
#include <stdio.h>

typedef enum Meaning {
    MEANS_OTHER,
    MEANS_ENTER,
    MEANS_CALLBACK, /* an enter, too */
    MEANS_PACKAGE,  /* also */
    MEANS_CHANNEL,
    MEANS_SAMPLE,
    MEANS_LINE,
    MEANS_LEAVE,
    MEANS_SWITCH,
    MEANS_SYSCALL,
    MEANS_SYSRET,
    MEANS_MOVE,
    MEANS_THREAD_END,
    MEANS_PROCESS_END,
    MEANS_NOTHING
} Meaning;

enum { FIELDS = 6, ROLES = 32 };

/* The first `needed` fields must be there. */
static const struct Known {
    const char *provider, *event;
    Meaning meaning;
    int needed;
    const char *fields[FIELDS];
    const char *moves; /* what the bytes are called */
} known[] = {
        {"Tcl-Script", "Enter", MEANS_ENTER, 4,
                .fields = {"CallId", "Depth", "Command", "Context", "File", "Line"}},
        {"Tcl-Script", "StepEnter", MEANS_ENTER, 4,
                .fields = {"CallId", "Depth", "Command", "Context", "File", "Line"}},
        {"Tcl-Script", "Line", MEANS_LINE, 6,
                .fields = {"CallId", "Depth", "Command", "Context", "File", "Line"}},
        {"Tcl-Script", "CallbackEnter", MEANS_CALLBACK, 6,
                .fields = {"CallId", "Depth", "Command", "Context", "Kind", "Queued"}},
        {"Tcl-Script", "PackageEnter", MEANS_PACKAGE, 4,
                .fields = {"CallId", "Depth", "Command", "Context"}},
        {"Tcl-Script", "Channel", MEANS_CHANNEL, 4,
                .fields = {"Operation", "Channel", "Bytes", "Duration"}},
        {"Tcl-Script", "Sample", MEANS_SAMPLE, 4,
                .fields = {"Weight", "Late", "Depth", "Stack", "Counters"}},
        {"Tcl-Script", "Leave", MEANS_LEAVE, 2, .fields = {"CallId", "Code"}},
        {"Tcl-Script", "CallbackLeave", MEANS_LEAVE, 2, .fields = {"CallId", "Code"}},
        {"Tcl-Script", "PackageLeave", MEANS_LEAVE, 2, .fields = {"CallId", "Code"}},
        {"Tcl-Script", "StepLeave", MEANS_LEAVE, 2, .fields = {"CallId", "Code"}},
        {"Linux-contextswitch", "Switch", MEANS_SWITCH, 3,
                .fields = {"OldThreadId", "NewThreadId", "OldState", "NewCommand"}},
        {"Thread", "CSwitch", MEANS_SWITCH, 4,
                .fields = {"OldThreadId", "NewThreadId", "OldThreadState", "OldThreadWaitReason"}},
        {"Linux-systemcall", "Enter", MEANS_SYSCALL, 1, .fields = {"Syscall"}},
        {"Linux-systemcall", "Exit", MEANS_SYSRET, 1, .fields = {"Syscall"}},
        {"Linux-tcpip", "Send", MEANS_MOVE, 1, .fields = {"Size"}, .moves = "tcp send"},
        {"Linux-tcpip", "Receive", MEANS_MOVE, 1, .fields = {"Size"}, .moves = "tcp receive"},
        {"Linux-udpip", "Send", MEANS_MOVE, 1, .fields = {"Size"}, .moves = "udp send"},
        {"Linux-udpip", "Receive", MEANS_MOVE, 1, .fields = {"Size"}, .moves = "udp receive"},
        {"TcpIp", "SendIPV4", MEANS_MOVE, 1, .fields = {"size"}, .moves = "tcp send"},
        {"TcpIp", "RecvIPV4", MEANS_MOVE, 1, .fields = {"size"}, .moves = "tcp receive"},
        {"UdpIp", "SendIPV4", MEANS_MOVE, 1, .fields = {"size"}, .moves = "udp send"},
        {"UdpIp", "RecvIPV4", MEANS_MOVE, 1, .fields = {"size"}, .moves = "udp receive"},
        {"Linux-heap", "Alloc", MEANS_MOVE, 1, .fields = {"Size"}, .moves = "heap alloc"},
        {"Linux-heap", "Realloc", MEANS_MOVE, 1, .fields = {"Size"}, .moves = "heap realloc"},
        {"Linux-thread", "Stop", MEANS_THREAD_END, 0, .fields = {NULL}},
        {"Linux-process", "Stop", MEANS_PROCESS_END, 0, .fields = {NULL}},
        {"Thread", "End", MEANS_THREAD_END, 0, .fields = {NULL}},
        {"Process", "End", MEANS_PROCESS_END, 0, .fields = {NULL}},
        {"EventTrace", NULL, MEANS_NOTHING, 0, .fields = {NULL}},
        {"Etw-Session", NULL, MEANS_NOTHING, 0, .fields = {NULL}},
};

/* What is known of the events of one schema. */
typedef struct Kind {
    EtwTableNode node;
    const EtwSchema *schema;
    Meaning meaning;
    bool windows;              /* of a switch: states and reasons are that system's */
    int fields[FIELDS];        /* index in the schema; -1: not there */
    uint8_t roles[ROLES];      /* the other way round, plus one; 0: of no interest */
    const EtwCostClass *class; /* of moves and other events */
} Kind;

static int fieldOf(const EtwSchema *schema, const char *name)
{
    for (int i = 0; i < schema->fieldCount && i < ROLES; i += schema->fields[i].span) {
        const EtwField *f = &schema->fields[i];
        if (f->array == ETW_SCALAR && strcmp(f->name, name) == 0) {
            return i;
        }
    }
    return -1;
}

static bool fits(Kind *kind, const struct Known *k)
{
    if (strcmp(kind->schema->provider, k->provider) != 0 ||
            (k->event != NULL && strcmp(kind->schema->event, k->event) != 0)) {
        return false;
    }
    for (int i = 0; i < FIELDS; i++) {
        kind->fields[i] = k->fields[i] ? fieldOf(kind->schema, k->fields[i]) : -1;
        if (i < k->needed && kind->fields[i] < 0) {
            return false;
        }
    }
    for (int i = 0; i < FIELDS; i++) {
        if (kind->fields[i] >= 0) {
            kind->roles[kind->fields[i]] = (uint8_t)(i + 1);
        }
    }
    return true;
}

/* "Linux-tcpip Connect" */
static const EtwCostClass *eventClass(Calls *c, const EtwSchema *s)
{
    char name[160];
    snprintf(name, sizeof name, "%.70s %.70s", s->provider, s->event);
    return EtwCostClassOf(c, ETW_COST_EVENT, name);
}

static Kind *kindNew(Calls *c, const EtwSchema *schema, uint64_t hash)
{
    Kind *kind = EtwAlloc(sizeof *kind);
    kind->schema = schema;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (fits(kind, &known[i])) {
            kind->meaning = known[i].meaning;
            kind->windows = known[i].provider[0] == 'T';
            kind->class = known[i].moves ? EtwCostClassOf(c, ETW_COST_MOVE, known[i].moves) : NULL;
            break;
        }
    }
    if (kind->meaning == MEANS_OTHER) {
        kind->class = eventClass(c, schema);
    }
    EtwTableAdd(&c->kinds, &kind->node, hash);
    return kind;
}

static Kind *kindOf(Calls *c, const EtwSchema *schema)
{
    uint64_t hash = EtwHashMix(0, (uint64_t)(uintptr_t)schema);
    Kind *kind = (Kind *)EtwTableFirst(&c->kinds, hash);
    while (kind != NULL && kind->schema != schema) {
        kind = (Kind *)kind->node.next;
    }
    return kind ? kind : kindNew(c, schema, hash);
}

/* ---- Fields ---------------------------------------------------------------------------------- */

typedef struct Values {
    const Kind *kind;
    EtwValue at[FIELDS]; /* ETW_V_NULL: not there */
} Values;

static void takeValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    Values *v = ctx;
    size_t index = (size_t)(field - v->kind->schema->fields);
    int role = index < ROLES ? v->kind->roles[index] : 0;
    if (role > 0) {
        v->at[role - 1] = *value;
    }
}

static bool decode(Values *v, const Kind *kind, const EtwEvent *event)
{
    static const EtwVisitor visitor = {.value = takeValue};
    v->kind = kind;
    for (int i = 0; i < FIELDS; i++) {
        v->at[i].kind = ETW_V_NULL;
    }
    return EtwDecode(kind->schema, event, &visitor, v) == ETW_OK;
}

static uint64_t number(const Values *v, int i)
{
    EtwValueKind kind = v->at[i].kind;
    return kind == ETW_V_UINT || kind == ETW_V_INT || kind == ETW_V_BOOL ? v->at[i].u : 0;
}

static const char *text(const Values *v, int i, size_t *sizePtr)
{
    bool is = v->at[i].kind == ETW_V_TEXT;
    *sizePtr = is ? v->at[i].size : 0;
    return is ? (const char *)v->at[i].data : "";
}

/* What the value is called, else its number. */
static const char *called(const Values *v, int i, char *room, size_t roomSize)
{
    const EtwMap *map = v->kind->schema->fields[v->kind->fields[i]].map;
    const char *name = map && !map->bits ? EtwMapName(map, number(v, i)) : NULL;
    if (name == NULL) {
        snprintf(room, roomSize, "%llu", (unsigned long long)number(v, i));
    }
    return name ? name : room;
}

/* ---- On and off the CPU ------------------------------------------------------------------------- */

/* The thread that goes could still run. */
static bool isReady(const Values *v)
{
    enum { TASK_PREEMPTED = 256, WINDOWS_WAITING = 5 };
    uint64_t state = number(v, 2);
    return v->kind->windows ? state != WINDOWS_WAITING : state % TASK_PREEMPTED == 0;
}

/* It never comes back: Linux' EXIT_DEAD, EXIT_ZOMBIE, TASK_DEAD; Windows' Terminated. */
static bool isGone(const Values *v)
{
    uint64_t state = number(v, 2);
    return v->kind->windows ? state == 4 : (state & (0x10 | 0x20 | 0x80)) != 0;
}

static const EtwCostClass *waitOf(Calls *c, const Values *v)
{
    char room[24];
    return EtwCostClassOf(
            c, ETW_COST_WAIT, v->kind->windows ? called(v, 3, room, sizeof room) : "");
}

static void switchOut(Calls *c, const Values *v, CallThread *t, int64_t time)
{
    t->out = true;
    t->outSince = time;
    t->last = time > t->last ? time : t->last;
    t->ready = isReady(v);
    if (!t->inSyscall && !t->ready) {
        t->syscallWait = waitOf(c, v);
    }
    c->base.waits++;
}

/*
 * The thread runs: a switch says so, or something that only a running thread can do. Kernels do not
 * tell of every switch from an idle processor (seen on Linux 6.18 in a virtual machine).
 */
static void switchIn(Calls *c, CallThread *t, int64_t time)
{
    if (!t->out) {
        return;
    }
    EtwCost cost = {.of = t->ready ? EtwCostClassOf(c, ETW_COST_READY, "") : t->syscallWait,
            .count = 1,
            .ns = time > t->outSince ? (uint64_t)time - (uint64_t)t->outSince : 0};
    t->out = false;
    t->last = time > t->last ? time : t->last;
    EtwCallCharge(c, t, &cost);
}

/* ---- Script ---------------------------------------------------------------------------------- */

/* What a callback or a package is called among procs: {after tick}, {package http}. */
static size_t blockName(const Values *v, CallEnter *enter, char room[CALL_BLOCK_NAME])
{
    bool package = v->kind->meaning == MEANS_PACKAGE;
    const char *s = enter->command, *end = s + enter->commandSize;
    size_t kindSize, size = 0;
    const char *kind = package ? "package" : text(v, 4, &kindSize);
    kindSize = package ? strlen(kind) : kindSize < 16 ? kindSize : 16;
    if (strncmp(kind, "loop", kindSize) != 0) { /* vwait, update: their words say it */
        memcpy(room, kind, kindSize);
        room[kindSize] = ' ';
        size = kindSize + 1;
    }
    for (int skip = package ? 2 : 0; skip > 0 && s < end; s++) {
        skip -= *s == ' '; /* package require */
    }
    while (s < end && (uint8_t)*s <= ' ') {
        s++;
    }
    for (; s < end && (uint8_t)*s > ' ' && *s != ';' && size < CALL_BLOCK_NAME - 1; s++) {
        room[size++] = *s;
    }
    return size;
}

static void takeEnter(Calls *c, const Values *v, const EtwEvent *event)
{
    char room[CALL_BLOCK_NAME];
    CallEnter enter = {.id = number(v, 0), .depth = (int)number(v, 1)};
    enter.command = text(v, 2, &enter.commandSize);
    enter.context = text(v, 3, &enter.contextSize);
    if (v->kind->meaning == MEANS_ENTER) {
        enter.file = text(v, 4, &enter.fileSize);
        enter.line = (uint32_t)number(v, 5);
    } else {
        enter.name = room;
        enter.nameSize = blockName(v, &enter, room);
    }
    CallThread *t = EtwCallThreadOf(c, event, true);
    switchIn(c, t, event->time);
    EtwCallEnterAt(c, t, event->time, &enter);
    if (v->kind->meaning == MEANS_CALLBACK && number(v, 5) > 0) {
        EtwCallCharge(c, t,
                &(EtwCost){.of = EtwCostClassOf(c, ETW_COST_QUEUE, ""),
                        .count = 1,
                        .ns = number(v, 5)});
    }
}

/* "read sock5": what a channel moved, and how long that took. */
static void takeChannel(Calls *c, const Values *v, CallThread *t)
{
    char name[160];
    size_t size[2];
    const char *operation = text(v, 0, &size[0]), *channel = text(v, 1, &size[1]);
    snprintf(name, sizeof name, "%.*s%s%.*s", (int)(size[0] < 20 ? size[0] : 20), operation,
            size[1] > 0 ? " " : "", (int)(size[1] < 120 ? size[1] : 120), channel);
    EtwCallCharge(c, t,
            &(EtwCost){.of = EtwCostClassOf(c, ETW_COST_MOVE, name),
                    .count = 1,
                    .ns = number(v, 3),
                    .bytes = number(v, 2)});
}

static void takeLeave(Calls *c, const Values *v, const EtwEvent *event)
{
    CallThread *t = EtwCallThreadOf(c, event, false);
    if (t == NULL) {
        c->base.unmatched++;
    } else {
        switchIn(c, t, event->time);
        EtwCallLeaveAt(c, t, event->time, number(v, 0), (int)number(v, 1));
    }
}

static void takeLine(Calls *c, const Values *v, const EtwEvent *event)
{
    CallEnter line = {.id = number(v, 0), .line = (uint32_t)number(v, 5)};
    CallThread *t = EtwCallThreadOf(c, event, false);
    if (t != NULL) {
        line.file = text(v, 4, &line.fileSize);
        switchIn(c, t, event->time);
        EtwCallLineAt(c, t, event->time, &line);
    }
}

/* A stack counts as one call of each that is on it, as long as the time that it stands for. */
static void takeSample(Calls *c, const Values *v, const EtwEvent *event)
{
    CallSample sample = {.time = event->time, .ns = number(v, 0)};
    sample.stack = text(v, 3, &sample.stackSize);
    sample.counters = text(v, 4, &sample.countersSize);
    EtwCallSample(c, EtwCallThreadOf(c, event, true), &sample);
}

/* ---- Kernel ---------------------------------------------------------------------------------- */

static void reportSwitch(Calls *c, const Values *v, const EtwEvent *event, const CallThread *old)
{
    const EtwCallsWatch *watch = &c->base.config.watch;
    if (watch->switched == NULL) {
        return;
    }
    EtwCallsSwitch what = {(uint32_t)number(v, 0), (uint32_t)number(v, 1), .newName = ""};
    what.cause = isGone(v)    ? NULL
                 : isReady(v) ? EtwCostClassOf(c, ETW_COST_READY, "")
                 : old        ? old->syscallWait
                              : waitOf(c, v);
    if (!v->kind->windows) {
        what.newName = text(v, 3, &what.newNameSize);
    }
    watch->switched(watch->ctx, event, &what);
}

static void takeSwitch(Calls *c, const Values *v, const EtwEvent *event)
{
    CallThread *old = EtwCallThreadById(c, (uint32_t)number(v, 0));
    CallThread *new = EtwCallThreadById(c, (uint32_t)number(v, 1));
    if (old != NULL) {
        switchOut(c, v, old, event->time);
    }
    reportSwitch(c, v, event, old);
    if (new != NULL &&new != old) {
        switchIn(c, new, event->time);
    }
}

static void takeSyscall(Calls *c, const Values *v, CallThread *t, int64_t time)
{
    char room[24];
    const char *name = called(v, 0, room, sizeof room);
    switchIn(c, t, time);
    t->inSyscall = true;
    t->syscallSince = time;
    t->syscall = EtwCostClassOf(c, ETW_COST_SYSCALL, name);
    t->syscallWait = EtwCostClassOf(c, ETW_COST_WAIT, name);
}

static void takeReturn(Calls *c, CallThread *t, int64_t time)
{
    switchIn(c, t, time);
    if (t->inSyscall) {
        EtwCost cost = {.of = t->syscall,
                .count = 1,
                .ns = time > t->syscallSince ? (uint64_t)time - (uint64_t)t->syscallSince : 0};
        t->inSyscall = false;
        EtwCallCharge(c, t, &cost);
    }
}

static void takeMove(Calls *c, const Values *v, CallThread *t)
{
    int64_t size = v->at[0].kind == ETW_V_INT ? v->at[0].i : (int64_t)number(v, 0);
    EtwCallCharge(c, t,
            &(EtwCost){.of = v->kind->class, .count = 1, .bytes = size > 0 ? (uint64_t)size : 0});
}

/* Events of a thread that has calls. */
static void takeOther(Calls *c, const Kind *kind, const EtwEvent *event)
{
    CallThread *t = EtwCallThreadOf(c, event, false);
    Values v;
    if (t == NULL) {
        return;
    }
    t->last = event->time > t->last ? event->time : t->last;
    switch (kind->meaning) {
    case MEANS_SYSCALL:
        if (decode(&v, kind, event)) {
            takeSyscall(c, &v, t, event->time);
        }
        break;
    case MEANS_SYSRET:
        takeReturn(c, t, event->time);
        break;
    case MEANS_MOVE:
        if (decode(&v, kind, event)) {
            takeMove(c, &v, t);
        }
        break;
    case MEANS_CHANNEL:
        if (decode(&v, kind, event)) {
            takeChannel(c, &v, t);
        }
        break;
    case MEANS_THREAD_END:
        EtwCallThreadEnd(c, t);
        break;
    default:
        EtwCallCharge(c, t, &(EtwCost){.of = kind->class, .count = 1});
    }
}

void EtwCallsAdd(EtwCalls *calls, const EtwEvent *event)
{
    Calls *c = (Calls *)calls;
    const EtwSchema *schema = EtwSchemaOf(c->store, event);
    const Kind *kind = schema ? kindOf(c, schema) : NULL;
    Values v;
    if (kind == NULL || kind->meaning == MEANS_NOTHING) {
        return;
    }
    calls->events++;
    if (calls->config.samples != (kind->meaning == MEANS_SAMPLE)) {
        return; /* they tell of the same time in another way */
    }
    switch (kind->meaning) {
    case MEANS_SAMPLE:
        if (decode(&v, kind, event)) {
            takeSample(c, &v, event);
        }
        break;
    case MEANS_LINE:
        if (calls->config.byLine && decode(&v, kind, event)) {
            takeLine(c, &v, event);
        }
        break;
    case MEANS_ENTER:
    case MEANS_CALLBACK:
    case MEANS_PACKAGE:
    case MEANS_LEAVE:
    case MEANS_SWITCH:
        if (decode(&v, kind, event)) {
            (kind->meaning == MEANS_LEAVE           ? takeLeave
                    : kind->meaning == MEANS_SWITCH ? takeSwitch
                                                    : takeEnter)(c, &v, event);
        }
        break;
    case MEANS_PROCESS_END:
        EtwCallProcessEnd(c, event->pid);
        break;
    default:
        takeOther(c, kind, event);
    }
}

static void freeKind(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

void EtwCallKindsFree(Calls *c)
{
    EtwTableFree(&c->kinds, freeKind);
}
