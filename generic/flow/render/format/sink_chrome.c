/*
 * flow/render/format/sink_chrome.c --
 *
 *	Trace event JSON, which Perfetto and chrome://tracing open. Calls are duration events (B,
 *	E), waits and system calls are complete events (X) inside of them, all other events are
 *	instants with their fields. If the trace has context switches, each CPU is a thread of a
 *	process "CPUs", with complete events for the threads that ran there. Times are us since the
 *	trace's start, which otherData contains. The format: "Trace Event Format", the Chromium
 *	project.
 */
#include "flow/calls/call_tree.h"
#include "semantics/semantics.h"
#include "base/unicode.h"
#include "flow/render/sink_int.h"
#include "base/hash_table.h"
#include <stdio.h>

/* A pid that no process has: Linux' are below 2^22, Windows' are multiples of 4. */
enum { CPUS_PID = 0x7FFFFFFF, ROOM_STEP = 16 };

/* A CPU that a switch has reported. */
typedef struct Cpu {
    bool named;
    uint32_t tid; /* the running thread; 0: none */
    int64_t since;
    int64_t seen; /* the last event that shows that it runs there */
    uint32_t pid; /* known at the switch */
    char *process;
} Cpu;

/* The process of a thread, from the thread's last event. */
typedef struct Thread {
    EtwTableNode node;
    uint32_t tid, pid;
    char *process;    /* NULL: unknown */
    int64_t entered;  /* the system call that it is in */
    char syscall[32]; /* its name; "": none */
} Thread;

typedef struct Chrome {
    EtwSink *sink;
    EtwCalls *calls;
    EtwText *out; /* valid during an event */
    EtwTable named, threads;
    Thread *lastThread;
    Cpu *cpus;
    uint32_t cpuCount;
    bool spent;   /* the calls of this event's thread were charged with it */
    bool some;    /* an event was written: the next one needs a comma */
    int64_t last; /* time of the last event */
} Chrome;

/* A process whose name was written. */
typedef struct Named {
    EtwTableNode node;
    uint32_t pid;
} Named;

/* ---- Pieces ---------------------------------------------------------------------------------- */

/* us since the start, with ns as decimals. */
static void addTime(const Chrome *c, const char *key, int64_t ns)
{
    uint64_t v = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    EtwTextStr(c->out, key);
    EtwTextStr(c->out, ns < 0 ? "-" : "");
    EtwAddDecimal(c->out, v / 1000);
    EtwTextChar(c->out, '.');
    EtwTextReserve(c->out, 8);
    EtwPutPadded(c->out->data + c->out->size, (uint32_t)(v % 1000 * 10), 4);
    c->out->size += 3;
}

/* {"ph":"B","ts":1.000,"pid":1,"tid":2 */
static void begin(Chrome *c, char phase, int64_t time, uint32_t pid, uint32_t tid)
{
    EtwTextStr(c->out, c->some ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
    c->some = true;
    EtwTextChar(c->out, phase);
    addTime(c, "\",\"ts\":", (int64_t)((uint64_t)time - (uint64_t)c->sink->base));
    ETW_ADD(c->out, ",\"pid\":");
    EtwAddDecimal(c->out, pid == ETW_NO_ID ? 0 : pid);
    ETW_ADD(c->out, ",\"tid\":");
    EtwAddDecimal(c->out, tid == ETW_NO_ID ? 0 : tid);
}

static void addKey(EtwText *out, const char *key, const char *text, size_t size)
{
    ETW_ADD(out, ",\"");
    EtwTextStr(out, key);
    ETW_ADD(out, "\":");
    EtwAddJson(out, text, size);
}

static void nameProcess(Chrome *c, const EtwEvent *event)
{
    uint64_t hash = EtwHashNumber(event->pid);
    Named *n = (Named *)EtwTableFirst(&c->named, hash);
    while (n != NULL && n->pid != event->pid) {
        n = (Named *)n->node.next;
    }
    if (n != NULL || event->process == NULL) {
        return;
    }
    n = EtwAlloc(sizeof *n);
    n->pid = event->pid;
    EtwTableAdd(&c->named, &n->node, hash);
    begin(c, 'M', event->time, event->pid, event->tid);
    ETW_ADD(c->out, ",\"cat\":\"__metadata\",\"name\":\"process_name\",\"args\":{\"name\":");
    EtwAddJson(c->out, event->process, strlen(event->process));
    ETW_ADD(c->out, "}}");
}

/* ---- CPUs ------------------------------------------------------------------------------------ */

static Thread *findThread(const Chrome *c, uint32_t tid)
{
    Thread *t = (Thread *)EtwTableFirst(&c->threads, EtwHashNumber(tid));
    while (t != NULL && t->tid != tid) {
        t = (Thread *)t->node.next;
    }
    return t;
}

static bool isSameName(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static void registerThread(Chrome *c, const EtwEvent *event)
{
    Thread *t = c->lastThread;
    if (event->tid == ETW_NO_ID || event->tid == 0) {
        return;
    }
    if (t == NULL || t->tid != event->tid) {
        t = findThread(c, event->tid);
    }
    if (t == NULL) {
        t = EtwAlloc(sizeof *t);
        t->tid = event->tid;
        EtwTableAdd(&c->threads, &t->node, EtwHashNumber(t->tid));
    }
    if (t->pid != event->pid || (event->process && !isSameName(t->process, event->process))) {
        EtwFree(t->process);
        t->pid = event->pid;
        t->process = event->process != NULL ? EtwStrdup(event->process) : NULL;
    }
    c->lastThread = t;
}

static Cpu *cpuOf(Chrome *c, uint32_t number)
{
    if (number >= c->cpuCount) {
        uint32_t count = number + ROOM_STEP;
        c->cpus = EtwRealloc(c->cpus, count * sizeof *c->cpus);
        memset(c->cpus + c->cpuCount, 0, (count - c->cpuCount) * sizeof *c->cpus);
        c->cpuCount = count;
    }
    return &c->cpus[number];
}

/* Metadata of the process "CPUs" or of one of its threads; value is JSON. */
static void addCpuName(Chrome *c, uint32_t number, const char *what, const char *value)
{
    begin(c, 'M', c->last, CPUS_PID, number);
    EtwTextPrintf(c->out, ",\"cat\":\"__metadata\",\"name\":\"%s\",\"args\":{%s}}", what, value);
}

static void nameCpu(Chrome *c, uint32_t number)
{
    char value[40];
    addCpuName(c, number, "process_name", "\"name\":\"CPUs\"");
    addCpuName(c, number, "process_sort_index", "\"sort_index\":-1");
    snprintf(value, sizeof value, "\"name\":\"CPU %u\"", number);
    addCpuName(c, number, "thread_name", value);
    snprintf(value, sizeof value, "\"sort_index\":%u", number);
    addCpuName(c, number, "thread_sort_index", value);
}

/* "PROCESS PID/TID", as far as known. */
static void addRunName(Chrome *c, const Cpu *cpu)
{
    EtwText *name = &c->sink->scratch;
    name->size = 0;
    if (cpu->process != NULL) {
        EtwTextStr(name, cpu->process);
        EtwTextChar(name, ' ');
    }
    if (cpu->pid != 0 && cpu->pid != ETW_NO_ID) {
        EtwTextPrintf(name, "%u/%u", cpu->pid, cpu->tid);
    } else {
        EtwTextPrintf(name, "thread %u", cpu->tid);
    }
    addKey(c->out, "name", name->data, name->size);
}

/*
 * End the run of the CPU's current thread. A session that traces some processes has not all switches:
 * if the next one is from another thread, this one has left the CPU unseen after its last event.
 */
static void endRun(Chrome *c, uint32_t number, uint32_t oldTid, int64_t time)
{
    Cpu *cpu = &c->cpus[number];
    time = cpu->tid == oldTid ? time : cpu->seen;
    if (cpu->tid != 0) {
        const Thread *t = findThread(c, cpu->tid);
        if (t != NULL &&
                (cpu->pid == ETW_NO_ID || cpu->process == NULL)) { /* identified by a later event */
            EtwFree(cpu->process);
            cpu->pid = t->pid;
            cpu->process = t->process != NULL ? EtwStrdup(t->process) : NULL;
        }
        begin(c, 'X', cpu->since, CPUS_PID, number);
        addTime(c, ",\"dur\":", time > cpu->since ? time - cpu->since : 0);
        ETW_ADD(c->out, ",\"cat\":\"cpu\"");
        addRunName(c, cpu);
        EtwTextPrintf(c->out, ",\"args\":{\"tid\":%u}}", cpu->tid);
    }
    EtwFree(cpu->process);
    cpu->process = NULL;
    cpu->tid = 0;
}

/* At the end of the trace: a thread with events of its own is traced, so its last switch is known. */
static void endLastRun(Chrome *c, uint32_t number)
{
    uint32_t tid = c->cpus[number].tid;
    endRun(c, number, findThread(c, tid) != NULL ? tid : 0, c->last);
}

/* The name in the switch of a thread without events of its own; NULL: none. */
static char *calledBySwitch(const EtwCallsSwitch *what)
{
    EtwText name = {0};
    EtwTextUtf8(&name, (const uint8_t *)what->newName, what->newNameSize);
    if (name.size > 0) {
        EtwTextChar(&name, '\0');
    }
    return name.data;
}

static void onSwitched(void *ctx, const EtwEvent *event, const EtwCallsSwitch *what)
{
    Chrome *c = ctx;
    Cpu *cpu = cpuOf(c, event->cpu);
    const Thread *t = what->newTid != 0 ? findThread(c, what->newTid) : NULL;
    if (!cpu->named) {
        nameCpu(c, event->cpu);
        cpu->named = true;
    }
    endRun(c, event->cpu, what->oldTid, event->time);
    cpu->tid = what->newTid;
    cpu->since = cpu->seen = event->time;
    cpu->pid = t != NULL ? t->pid : ETW_NO_ID;
    cpu->process = t == NULL            ? calledBySwitch(what)
                   : t->process != NULL ? EtwStrdup(t->process)
                                        : NULL;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* A command's words may be truncated within a character, or be arbitrary bytes. */
static void addLoose(Chrome *c, const char *text, size_t size)
{
    EtwText *valid = &c->sink->scratch;
    valid->size = 0;
    EtwTextUtf8(valid, (const uint8_t *)text, size);
    EtwAddJson(c->out, valid->data, valid->size);
}

static void beginCall(
        Chrome *c, char phase, const EtwCallNode *thread, int64_t time, const EtwCallRow *proc)
{
    begin(c, phase, time, thread->pid, thread->tid);
    ETW_ADD(c->out, ",\"cat\":\"script\",\"name\":");
    addLoose(c, proc->name, proc->nameSize);
}

static void onPush(void *ctx, EtwCallNode *thread, int64_t time, const EtwCallRow *proc,
        const char *text, size_t size)
{
    Chrome *c = ctx;
    beginCall(c, 'B', thread, time, proc);
    if (size > proc->nameSize) {
        ETW_ADD(c->out, ",\"args\":{\"words\":");
        addLoose(c, text, size);
        EtwTextChar(c->out, '}');
    }
    EtwTextChar(c->out, '}');
}

static void onPop(void *ctx, EtwCallNode *thread, int64_t time, const EtwCallRow *proc, int code)
{
    Chrome *c = ctx;
    beginCall(c, 'E', thread, time, proc);
    if (code > 0) {
        ETW_ADD(c->out, ",\"args\":{\"code\":");
        EtwAddDecimal(c->out, (uint64_t)code);
        EtwTextChar(c->out, '}');
    }
    EtwTextChar(c->out, '}');
}

static void onSpent(void *ctx, EtwCallNode *thread, int64_t time, const EtwCost *cost)
{
    Chrome *c = ctx;
    c->spent = true;
    const char *what = cost->of->kind == ETW_COST_SYSCALL ? ""
                       : cost->of->kind == ETW_COST_READY ? "waits for a CPU"
                       : *cost->of->name                  ? "waits in "
                                                          : "waits";
    EtwText *name = &c->sink->scratch;
    begin(c, 'X', time - (int64_t)cost->ns, thread->pid, thread->tid);
    addTime(c, ",\"dur\":", (int64_t)cost->ns);
    name->size = 0;
    EtwTextStr(name, what);
    EtwTextStr(name, cost->of->name);
    addKey(c->out, "cat", EtwCostKindName(cost->of->kind), strlen(EtwCostKindName(cost->of->kind)));
    addKey(c->out, "name", name->data, name->size);
    EtwTextChar(c->out, '}');
}

/* ---- Other events ---------------------------------------------------------------------------- */

static void addInstant(Chrome *c, const EtwEvent *e, const EtwSchema *schema)
{
    char guid[ETW_GUID_TEXT];
    const char *provider = EtwSinkProvider(c->sink, e, schema, guid);
    begin(c, 'i', e->time, e->pid, e->tid);
    addKey(c->out, "cat", provider, strlen(provider));
    if (schema != NULL && schema->event[0] != 0) {
        addKey(c->out, "name", schema->event, strlen(schema->event));
    } else {
        ETW_ADD(c->out, ",\"name\":\"id ");
        EtwAddDecimal(c->out, e->classic ? e->desc.opcode : e->desc.id);
        EtwTextChar(c->out, '"');
    }
    ETW_ADD(c->out, ",\"s\":\"t\",\"args\":");
    EtwJsonProps(c->sink, e, schema, c->out, true);
    EtwTextChar(c->out, '}');
}

/* A system call of a thread without traced calls, which charges none. */
static void addSyscall(Chrome *c, const EtwEvent *e, const EtwSchema *schema)
{
    EtwMeaning meaning = schema != NULL ? EtwMeaningOf(schema) : ETW_MEANS_OTHER;
    Thread *t = c->lastThread;
    EtwRoleValues v;
    char number[24];
    if (t == NULL || t->tid != e->tid) {
        return;
    }
    if (meaning == ETW_MEANS_SYSCALL_ENTER && EtwRoleValuesRead(&v, schema, e)) {
        t->entered = e->time;
        snprintf(t->syscall, sizeof t->syscall, "%s",
                EtwRoleName(&v, ETW_ROLE_SYSCALL, number, sizeof number));
    } else if (meaning == ETW_MEANS_SYSCALL_EXIT && t->syscall[0] != '\0') {
        if (!c->spent && e->time >= t->entered) {
            begin(c, 'X', t->entered, e->pid, e->tid);
            addTime(c, ",\"dur\":", e->time - t->entered);
            addKey(c->out, "cat", EtwCostKindName(ETW_COST_SYSCALL),
                    strlen(EtwCostKindName(ETW_COST_SYSCALL)));
            addKey(c->out, "name", t->syscall, strlen(t->syscall));
            EtwTextChar(c->out, '}');
        }
        t->syscall[0] = '\0';
    }
}

static void chromeEvent(EtwSink *sink, const EtwEvent *event, const EtwSchema *schema, EtwText *out)
{
    Chrome *c = sink->own;
    c->out = out;
    c->last = event->time;
    nameProcess(c, event);
    registerThread(c, event);
    c->spent = false;
    EtwCallsAdd(c->calls, event);
    addSyscall(c, event, schema);
    if (event->cpu < c->cpuCount && event->tid == c->cpus[event->cpu].tid) {
        c->cpus[event->cpu].seen = event->time;
    }
    if (schema == NULL || !EtwMeansCall(EtwMeaningOf(schema))) { /* the tree contains the calls */
        addInstant(c, event, schema);
    }
}

/* ---- Begin and end --------------------------------------------------------------------------- */

static void chromeInit(EtwSink *sink)
{
    Chrome *c = EtwAlloc(sizeof *c);
    EtwCallsConfig config = {.watch = {.push = onPush,
                                     .pop = onPop,
                                     .spent = onSpent,
                                     .ctx = c,
                                     .switched = onSwitched}};
    c->sink = sink;
    c->calls = EtwCallsNew(&config, sink->store);
    sink->own = c;
}

static void chromeBegin(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    (void)sink, (void)source;
    ETW_ADD(out, "{\"traceEvents\":[");
}

static void addLosses(Chrome *c, uint64_t lost)
{
    if (lost > 0) {
        begin(c, 'i', c->last, 0, 0);
        EtwTextPrintf(c->out, ",\"s\":\"g\",\"cat\":\"loss\",\"name\":\"%llu events lost\"}",
                (unsigned long long)lost);
    }
}

static void chromeEnd(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    Chrome *c = sink->own;
    uint64_t lost = source ? EtwSourceLost(source) : 0;
    c->out = out;
    EtwCallsEnd(c->calls);
    for (uint32_t i = 0; i < c->cpuCount; i++) {
        endLastRun(c, i);
    }
    addLosses(c, lost);
    ETW_ADD(out, "\n],\"displayTimeUnit\":\"ns\",\"otherData\":{\"exporter\":\"etw " ETW_VERSION
                 "\",\"start\":\"");
    sink->config.timeFormat = ETW_TIME_ISO;
    sink->secondSize = 0;
    EtwSinkDataTime(sink, sink->base, out);
    EtwTextPrintf(out, "\",\"lost\":\"%llu\"}}\n", (unsigned long long)lost);
}

static void freeNamed(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

static void freeThread(void *ctx, EtwTableNode *node)
{
    Thread *t = (Thread *)node;
    (void)ctx;
    EtwFree(t->process);
    EtwFree(t);
}

static void chromeFree(EtwSink *sink)
{
    Chrome *c = sink->own;
    EtwCallsFree(c->calls);
    EtwTableFree(&c->named, freeNamed);
    EtwTableFree(&c->threads, freeThread);
    for (uint32_t i = 0; i < c->cpuCount; i++) {
        EtwFree(c->cpus[i].process);
    }
    EtwFree(c->cpus);
    EtwFree(c);
}

const EtwSinkOps etwSinkChrome = {.init = chromeInit,
        .begin = chromeBegin,
        .event = chromeEvent,
        .end = chromeEnd,
        .free = chromeFree};
