/*
 * flow/calls/call_events.c --
 *
 *	Applies events to the tree of calls: enters and leaves of Tcl-Script; switches, system
 *	calls, transfers and ends of threads from the kernel. Other events are counted by name.
 *	semantics/semantics.h states the meaning of an event.
 */
#include "flow/calls/call_tree_int.h"
#include "semantics/semantics.h"
#include "schema/model/linux_names.h"
#include "base/unicode.h"
#include <stdio.h>

/* The cost class of the events of a schema. */
typedef struct ChargedClass {
    EtwTableNode node;
    const EtwSchema *schema;
    const EtwCostClass *class;
} ChargedClass;

/*
 * Transfers have a class such as "tcp send". Events that are only counted have one such as
 * "Linux-tcpip Connect".
 */
static const EtwCostClass *classNew(Calls *c, const EtwSchema *schema)
{
    const char *moves = EtwSemanticsOf(schema)->moves;
    char name[160];
    if (moves != NULL) {
        return EtwCostClassOf(c, ETW_COST_MOVE, moves);
    }
    snprintf(name, sizeof name, "%.70s %.70s", schema->provider, schema->event);
    return EtwCostClassOf(c, ETW_COST_EVENT, name);
}

static const EtwCostClass *classOf(Calls *c, const EtwSchema *schema)
{
    uint64_t hash = EtwHashPointer(schema);
    ChargedClass *charged = (ChargedClass *)EtwTableFirst(&c->charged, hash);
    while (charged != NULL && charged->schema != schema) {
        charged = (ChargedClass *)charged->node.next;
    }
    if (charged == NULL) {
        charged = EtwAlloc(sizeof *charged);
        charged->schema = schema;
        charged->class = classNew(c, schema);
        EtwTableAdd(&c->charged, &charged->node, hash);
    }
    return charged->class;
}

/* ---- Fields ---------------------------------------------------------------------------------- */

typedef EtwRoleValues Values;

/* ---- On and off the CPU ------------------------------------------------------------------------- */

static const EtwCostClass *waitOf(Calls *c, const Values *v)
{
    char capacity[24];
    return EtwCostClassOf(c, ETW_COST_WAIT,
            EtwSwitchIsWindows(v) ? EtwRoleName(v, ETW_ROLE_WAIT_REASON, capacity, sizeof capacity)
                                  : "");
}

static void switchOut(Calls *c, const Values *v, CallThread *t, int64_t time)
{
    bool ready = EtwSwitchIsReady(v);
    t->switched = true;
    t->last = time > t->last ? time : t->last;
    EtwOffCpuLeave(&t->off, time, ready);
    if (!t->inSyscall && !ready) {
        t->syscallWait = waitOf(c, v);
    }
    c->base.waits++;
}

static void chargeOff(Calls *c, CallThread *t, const EtwCostClass *of, int64_t from, int64_t to)
{
    uint64_t ns = (uint64_t)to - (uint64_t)from;
    EtwCallCharge(c, t, &(EtwCost){.of = of, .count = 1, .ns = ns, .waited = ns});
}

/*
 * The thread runs. This is known from a switch, or from an event that only a running thread can
 * cause. Kernels do not report every switch from an idle processor (seen on Linux 6.18 in a virtual
 * machine). A wait ends with the wake-up, if the trace has it; after it the thread waits for a CPU.
 */
static void switchIn(Calls *c, CallThread *t, int64_t time)
{
    EtwOffPeriod off;
    if (!EtwOffCpuReturn(&t->off, time, &off)) {
        return;
    }
    t->last = time > t->last ? time : t->last;
    if (!off.preempted) {
        chargeOff(c, t, t->syscallWait, off.from, off.ready);
    }
    if (off.preempted || off.woken) {
        chargeOff(c, t, EtwCostClassOf(c, ETW_COST_READY, ""), off.ready, off.to);
    }
}

/* ---- Script ---------------------------------------------------------------------------------- */

/* A word of a script: quoted by braces or quotes, or up to white space or a semicolon. */
typedef struct Word {
    const char *at, *end; /* without the quotes */
    const char *next;     /* the rest of the script */
    bool braced;
} Word;

static const char *closingOf(const char *s, const char *end, bool braces)
{
    for (int depth = 0; s < end; s++) {
        if (*s == '\\') {
            s++;
        } else if (braces ? *s == '}' && depth-- == 0 : *s == '"') {
            return s;
        } else {
            depth += *s == '{';
        }
    }
    return end;
}

/* False: the command has no further word. */
static bool nextWord(const char *s, const char *end, Word *word)
{
    while (s < end && (*s == ' ' || *s == '\t')) {
        s++;
    }
    if (s == end || *s == ';' || *s == '\n') {
        return false;
    }
    *word = (Word){.at = s, .braced = *s == '{' || *s == '"'};
    if (word->braced) {
        word->at++;
        word->end = closingOf(word->at, end, *s == '{');
        word->next = word->end < end ? word->end + 1 : end;
        return true;
    }
    while (s < end && (uint8_t)*s > ' ' && *s != ';') {
        s++;
    }
    word->end = word->next = s;
    return true;
}

static bool isWord(const Word *word, const char *text)
{
    const char *at = word->at;
    at += word->end - at > 2 && at[0] == ':' && at[1] == ':' ? 2 : 0;
    return (size_t)(word->end - at) == strlen(text) && memcmp(at, text, strlen(text)) == 0;
}

/* What a callback calls. */
typedef struct Called {
    const char *at, *end; /* the rest of its script, from the command on */
    const char *space,
            *spaceEnd; /* the namespace in which it is evaluated; empty: the global one */
} Called;

static const char *skipBlank(const char *s, const char *end)
{
    while (s < end && ((uint8_t)*s <= ' ' || *s == ';')) {
        s++;
    }
    return s;
}

/*
 * Skip `namespace inscope NAME` (from `namespace code`), `namespace eval NAME`, `eval` and `uplevel #0` in
 * front of the command that a script calls. False: there is none of them.
 */
static bool stepIn(Called *to)
{
    Word word, name = {0};
    if (!nextWord(to->at, to->end, &word)) {
        return false;
    }
    if (isWord(&word, "namespace")) {
        if (!nextWord(word.next, to->end, &word) ||
                !(isWord(&word, "inscope") || isWord(&word, "eval")) ||
                !nextWord(word.next, to->end, &name)) {
            return false;
        }
        word = name;
    } else if (isWord(&word, "uplevel")) {
        Word level;
        if (nextWord(word.next, to->end, &level) && level.at < level.end &&
                (*level.at == '#' || (*level.at >= '0' && *level.at <= '9'))) {
            word = level;
        }
    } else if (!isWord(&word, "eval")) {
        return false;
    }
    if (!nextWord(word.next, to->end, &word) || word.at == word.end) {
        return false;
    }
    to->end = word.braced ? word.end : to->end;
    to->at = skipBlank(word.at, to->end);
    if (name.at != NULL) {
        to->space = name.at;
        to->spaceEnd = isWord(&name, "::") || isWord(&name, "") ? name.at : name.end;
    }
    return to->at < to->end;
}

static Called calledBy(const char *script, size_t size)
{
    enum { STEPS = 8 }; /* scripts in scripts */
    Called to = {.at = script, .end = script + size}, deeper;
    to.at = skipBlank(to.at, to.end);
    for (int i = 0; i < STEPS; i++) {
        deeper = to;
        if (!stepIn(&deeper)) {
            break;
        }
        to = deeper;
    }
    return to;
}

static void addPart(const char *s, const char *end, char capacity[CALL_BLOCK_NAME], size_t *sizePtr)
{
    for (; s < end && (uint8_t)*s > ' ' && *s != ';' && *sizePtr < CALL_BLOCK_NAME - 1; s++) {
        capacity[(*sizePtr)++] = *s;
    }
}

/*
 * The command of a callback, with its namespace when that is known: ::chat::receive. Of a method called by `my`,
 * the method: my receive. The namespace is that of an object then.
 */
static void addCalled(const Called *to, char capacity[CALL_BLOCK_NAME], size_t *sizePtr)
{
    Word word, method;
    bool isMethod = nextWord(to->at, to->end, &word) && isWord(&word, "my") &&
                    nextWord(word.next, to->end, &method);
    bool absolute = to->end - to->at > 2 && to->at[0] == ':' && to->at[1] == ':';
    if (!isMethod && !absolute && to->space != to->spaceEnd) {
        addPart(to->space, to->spaceEnd, capacity, sizePtr);
        static const char separator[] = "::";
        addPart(separator, separator + 2, capacity, sizePtr);
    }
    addPart(to->at, to->end, capacity, sizePtr);
    if (isMethod && *sizePtr < CALL_BLOCK_NAME - 1) {
        capacity[(*sizePtr)++] = ' ';
        addPart(method.at, method.end, capacity, sizePtr);
    }
}

/* The name of a callback or package among the procs: {after tick}, {package http}. */
static size_t blockName(const Values *v, CallEnter *enter, char capacity[CALL_BLOCK_NAME])
{
    bool package = v->semantics->meaning == ETW_MEANS_PACKAGE_ENTER;
    const char *s = enter->command, *end = s + enter->commandSize;
    size_t kindSize, size = 0;
    const char *kind = package ? "package" : EtwRoleText(v, ETW_ROLE_KIND, &kindSize);
    kindSize = package ? strlen(kind) : kindSize < 16 ? kindSize : 16;
    if (strncmp(kind, "loop", kindSize) != 0) { /* vwait, update: the command itself is the name */
        memcpy(capacity, kind, kindSize);
        capacity[kindSize] = ' ';
        size = kindSize + 1;
    }
    int skip = package ? 2 : 0; /* "package require" and "-exact" */
    for (; s < end && (skip > 0 || (package && *s == '-')); s++) {
        skip += skip == 0;
        skip -= *s == ' ';
    }
    Called to = calledBy(s, (size_t)(end - s));
    addCalled(&to, capacity, &size);
    return size;
}

/* vwait, update, tkwait: its own time is idle. */
static bool isLoop(const Values *v)
{
    size_t size;
    const char *kind = EtwRoleText(v, ETW_ROLE_KIND, &size);
    return size == 4 && memcmp(kind, "loop", 4) == 0;
}

static void takeEnter(Calls *c, const Values *v, const EtwEvent *event)
{
    char capacity[CALL_BLOCK_NAME];
    CallEnter enter = {.id = EtwRoleNumber(v, ETW_ROLE_CALL_ID),
            .depth = (int)EtwRoleNumber(v, ETW_ROLE_DEPTH)};
    enter.command = EtwRoleText(v, ETW_ROLE_COMMAND, &enter.commandSize);
    enter.context = EtwRoleText(v, ETW_ROLE_CONTEXT, &enter.contextSize);
    if (EtwMeansCall(v->semantics->meaning)) {
        enter.file = EtwRoleText(v, ETW_ROLE_FILE, &enter.fileSize);
        enter.line = (uint32_t)EtwRoleNumber(v, ETW_ROLE_LINE);
    } else {
        enter.name = capacity;
        enter.nameSize = blockName(v, &enter, capacity);
        enter.idle = isLoop(v);
    }
    CallThread *t = EtwCallThreadOf(c, event, true);
    enter.origin = EtwRoleNumber(v, ETW_ROLE_ORIGIN);
    enter.queued = EtwRoleNumber(v, ETW_ROLE_QUEUED); /* only callbacks have it */
    switchIn(c, t, event->time);
    EtwCallEnterAt(c, t, event->time, &enter);
    if (enter.queued > 0) {
        EtwCallCharge(c, t,
                &(EtwCost){.of = EtwCostClassOf(c, ETW_COST_QUEUE, ""),
                        .count = 1,
                        .ns = enter.queued});
    }
}

/* A role's text, at most CALL_CHANNEL_NAME - 1 bytes of it. */
static void copyText(char copy[CALL_CHANNEL_NAME], const Values *v, EtwRole role)
{
    size_t size;
    const char *text = EtwRoleText(v, role, &size);
    size = size < CALL_CHANNEL_NAME ? size : EtwUtf8Cut(text, CALL_CHANNEL_NAME - 1);
    memcpy(copy, text, size);
    copy[size] = '\0';
}

/* Charge a transfer on a channel, such as "read config.txt", with its duration. */
static void takeChannel(Calls *c, const Values *v, CallThread *t)
{
    char name[CALL_CHANNEL_NAME + 30], operation[CALL_CHANNEL_NAME], channel[CALL_CHANNEL_NAME],
            detail[CALL_CHANNEL_NAME];
    copyText(operation, v, ETW_ROLE_OPERATION);
    copyText(channel, v, ETW_ROLE_CHANNEL);
    copyText(detail, v, ETW_ROLE_DETAIL);
    EtwCallChannelName(c, t->pid, operation, channel, detail, name, sizeof name);
    EtwCost cost = {.of = EtwCostClassOf(c, ETW_COST_MOVE, name),
            .count = 1,
            .ns = EtwRoleNumber(v, ETW_ROLE_DURATION),
            .bytes = EtwRoleNumber(v, ETW_ROLE_BYTES),
            .errors = EtwRoleNumber(v, ETW_ROLE_CODE) != 0};
    cost.waited = t->switched ? 0 : cost.ns;
    c->base.blocks += cost.waited > 0 && t->count > 0;
    EtwCallCharge(c, t, &cost);
}

/* Charge a command that has blocked. Its time is not counted again when switches have reported it as a wait. */
static void takeWait(Calls *c, const Values *v, CallThread *t)
{
    char name[CALL_CHANNEL_NAME];
    copyText(name, v, ETW_ROLE_OPERATION);
    EtwCost cost = {.of = EtwCostClassOf(c, ETW_COST_BLOCK, name),
            .count = 1,
            .ns = t->switched ? 0 : EtwRoleNumber(v, ETW_ROLE_DURATION)};
    cost.waited = cost.ns;
    c->base.blocks += cost.waited > 0 && t->count > 0;
    EtwCallCharge(c, t, &cost);
}

static void takeLeave(Calls *c, const Values *v, const EtwEvent *event)
{
    CallThread *t = EtwCallThreadOf(c, event, false);
    if (t == NULL) {
        c->base.unmatched++;
    } else {
        switchIn(c, t, event->time);
        EtwCallLeaveAt(c, t, event->time, EtwRoleNumber(v, ETW_ROLE_CALL_ID),
                (int)EtwRoleNumber(v, ETW_ROLE_CODE));
    }
}

static void takeLine(Calls *c, const Values *v, const EtwEvent *event)
{
    CallEnter line = {.id = EtwRoleNumber(v, ETW_ROLE_CALL_ID),
            .line = (uint32_t)EtwRoleNumber(v, ETW_ROLE_LINE)};
    CallThread *t = EtwCallThreadOf(c, event, false);
    if (t != NULL) {
        line.file = EtwRoleText(v, ETW_ROLE_FILE, &line.fileSize);
        line.command = EtwRoleText(v, ETW_ROLE_COMMAND, &line.commandSize);
        switchIn(c, t, event->time);
        EtwCallLineAt(c, t, event->time, &line);
    }
}

/* A sampled stack counts as one call of each of its procs, with the duration that it represents. */
static void takeSample(Calls *c, const Values *v, const EtwEvent *event)
{
    CallSample sample = {.time = event->time, .ns = EtwRoleNumber(v, ETW_ROLE_WEIGHT)};
    sample.stack = EtwRoleText(v, ETW_ROLE_STACK, &sample.stackSize);
    sample.counters = EtwRoleText(v, ETW_ROLE_COUNTERS, &sample.countersSize);
    EtwCallSample(c, EtwCallThreadOf(c, event, true), &sample);
}

/* The calls of the trace, for the samples that are taken while they are open. */
static bool isOfProcs(EtwMeaning meaning)
{
    return (meaning >= ETW_MEANS_CALL_ENTER && meaning <= ETW_MEANS_PACKAGE_LEAVE) ||
           meaning == ETW_MEANS_THREAD_END || meaning == ETW_MEANS_PROCESS_END;
}

static void takeProcs(Calls *c, const EtwEvent *event)
{
    c->procs = c->procs != NULL ? c->procs : EtwCallsNew(&(EtwCallsConfig){0}, c->store);
    EtwCallsAdd(c->procs, event);
}

/* A sample of a thread that ran. Without a stack it has the address alone, which names nothing. */
static void takeCpuSample(Calls *c, const Values *v, const EtwEvent *event)
{
    enum { USUAL = 1000000 }; /* ns, on Windows */
    const EtwValue *weight = EtwRoleValue(v, ETW_ROLE_WEIGHT);
    EtwText stack = {0};
    EtwCpuStack(&stack, c->base.config.track, event,
            c->procs != NULL ? EtwCallThreadById((Calls *)c->procs, event->tid) : NULL);
    if (stack.size == 0) {
        EtwTextStr(&stack, "[no stack]");
    }
    CallSample sample = {.time = event->time,
            .ns = weight != NULL && weight->u != 0 ? weight->u : USUAL, /* 0: not known */
            .stack = stack.data,
            .stackSize = stack.size,
            .counters = ""};
    EtwCallSample(c, EtwCallThreadOf(c, event, true), &sample);
    EtwTextFree(&stack);
}

/* ---- Kernel ---------------------------------------------------------------------------------- */

static void reportSwitch(Calls *c, const Values *v, const EtwEvent *event, const CallThread *old)
{
    const EtwCallsWatch *watch = &c->base.config.watch;
    if (watch->switched == NULL) {
        return;
    }
    EtwCallsSwitch what = {(uint32_t)EtwRoleNumber(v, ETW_ROLE_OLD_TID),
            (uint32_t)EtwRoleNumber(v, ETW_ROLE_TID), .newName = ""};
    what.cause = EtwSwitchIsGone(v)    ? NULL
                 : EtwSwitchIsReady(v) ? EtwCostClassOf(c, ETW_COST_READY, "")
                 : old                 ? old->syscallWait
                                       : waitOf(c, v);
    what.newName = EtwRoleText(v, ETW_ROLE_NEW_COMMAND, &what.newNameSize);
    watch->switched(watch->ctx, event, &what);
}

/* True if a thread without calls is counted. Idle threads of the CPUs (pid 0) are not. */
static bool countsThread(const Calls *c, const EtwEvent *event)
{
    return c->base.config.allThreads && event->pid != 0 && event->pid != ETW_NO_ID;
}

static void takeSwitch(Calls *c, const Values *v, const EtwEvent *event)
{
    if (countsThread(c, event)) {
        EtwCallThreadOf(c, event, true);
    }
    CallThread *old = EtwCallThreadById(c, (uint32_t)EtwRoleNumber(v, ETW_ROLE_OLD_TID));
    CallThread *new = EtwCallThreadById(c, (uint32_t)EtwRoleNumber(v, ETW_ROLE_TID));
    if (old != NULL) {
        switchOut(c, v, old, event->time);
    }
    reportSwitch(c, v, event, old);
    if (new != NULL &&new != old) {
        switchIn(c, new, event->time);
    }
}

/* The wait of a thread has ended. */
static void takeReady(Calls *c, const Values *v, const EtwEvent *event)
{
    const EtwCallsWatch *watch = &c->base.config.watch;
    EtwWake wake = EtwWakeRead(v, event);
    CallThread *t = EtwCallThreadById(c, wake.tid);
    if (t != NULL) {
        EtwOffCpuWake(&t->off, event->time, &wake);
    }
    if (watch->woken != NULL) {
        watch->woken(watch->ctx, event, &wake, EtwCostClassOf(c, ETW_COST_READY, ""));
    }
}

static void takeSyscall(Calls *c, const Values *v, CallThread *t, int64_t time)
{
    char capacity[24];
    const char *name = EtwRoleName(v, ETW_ROLE_SYSCALL, capacity, sizeof capacity);
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

/* The thread of an event if it is counted, with its last activity updated; otherwise NULL. */
static CallThread *threadOf(Calls *c, const EtwEvent *event)
{
    CallThread *t = EtwCallThreadOf(c, event, countsThread(c, event));
    if (t != NULL) {
        t->last = event->time > t->last ? event->time : t->last;
    }
    return t;
}

static void takeOfThread(Calls *c, const EtwSchema *schema, const EtwEvent *event)
{
    EtwMeaning meaning = EtwMeaningOf(schema);
    CallThread *t = threadOf(c, event);
    Values v;
    if (t == NULL) {
        c->base.left.threadless++;
        return;
    }
    if (meaning == ETW_MEANS_THREAD_END) {
        EtwCallThreadEnd(c, t);
    } else if (meaning == ETW_MEANS_SYSCALL_EXIT) {
        takeReturn(c, t, event->time);
    } else if (EtwRoleValuesRead(&v, schema, event)) {
        if (meaning == ETW_MEANS_SYSCALL_ENTER) {
            takeSyscall(c, &v, t, event->time);
        } else if (meaning == ETW_MEANS_WAIT) {
            takeWait(c, &v, t);
        } else {
            takeChannel(c, &v, t);
        }
    }
}

/* With config.causes: a callback was set, a process or thread was started. */
static void takeCause(Calls *c, const EtwSchema *schema, EtwMeaning meaning, const EtwEvent *event)
{
    bool sets = meaning == ETW_MEANS_SCHEDULE;
    Values v;
    if (!c->base.config.causes || !EtwRoleValuesRead(&v, schema, event)) {
        return;
    }
    CallThread *t = EtwCallThreadOf(c, event, sets);
    if (t != NULL) {
        (sets ? EtwCallSet : EtwCallStarted)(c, &v, t, event->time);
    }
}

/* Charge transfers, and events that are only counted. */
static void takeOther(Calls *c, const EtwSchema *schema, const EtwEvent *event)
{
    EtwCost cost = {.of = classOf(c, schema), .count = 1}; /* classes are in order of occurrence */
    CallThread *t = threadOf(c, event);
    Values v;
    if (t == NULL) {
        c->base.left.threadless++;
        return;
    }
    if (EtwSemanticsOf(schema)->moves != NULL) {
        if (!EtwRoleValuesRead(&v, schema, event)) {
            return;
        }
        const EtwValue *size = EtwRoleValue(&v, ETW_ROLE_SIZE);
        cost.bytes = size != NULL && size->i > 0 ? (uint64_t)size->i : 0; /* otherwise an errno */
    }
    EtwCallCharge(c, t, &cost);
}

/* With config.offCpu: the events that say when threads leave the CPU and come back. */
static void takeOffCpu(Calls *c, const EtwSchema *schema, EtwMeaning meaning, const EtwEvent *event)
{
    Values v;
    if (meaning == ETW_MEANS_THREAD_END) {
        takeOfThread(c, schema, event);
    } else if (meaning == ETW_MEANS_PROCESS_END) {
        EtwCallProcessEnd(c, event->pid);
    } else if ((meaning != ETW_MEANS_SWITCH && meaning != ETW_MEANS_READY) ||
               !EtwRoleValuesRead(&v, schema, event)) {
        c->base.left.samples++;
    } else if (meaning == ETW_MEANS_SWITCH) {
        EtwCallSwitchOff(c, &v, event);
    } else {
        EtwCallWakeOff(c, &v, event);
    }
}

void EtwCallsAdd(EtwCalls *calls, const EtwEvent *event)
{
    Calls *c = (Calls *)calls;
    const EtwSchema *schema = EtwSchemaOf(c->store, event);
    EtwMeaning meaning = schema ? EtwMeaningOf(schema) : ETW_MEANS_TRACE;
    Values v;
    if (meaning == ETW_MEANS_TRACE || meaning == ETW_MEANS_HOST || meaning == ETW_MEANS_MARK ||
            meaning == ETW_MEANS_PROGRAM || meaning == ETW_MEANS_SYMBOL) {
        calls->left.unknown += schema == NULL;
        calls->left.own += schema != NULL && !EtwEventIsHeader(event);
        return;
    }
    calls->events++;
    if (calls->config.samples && isOfProcs(meaning)) {
        takeProcs(c, event);
    }
    if (calls->config.offCpu) {
        takeOffCpu(c, schema, meaning, event);
        return;
    }
    if (calls->config.samples ? meaning != ETW_MEANS_SAMPLE && meaning != ETW_MEANS_CPU_SAMPLE
                              : meaning == ETW_MEANS_SAMPLE) {
        calls->left.samples++;
        return; /* samples and calls count the same time twice */
    }
    switch (meaning) {
    case ETW_MEANS_SAMPLE:
        if (EtwRoleValuesRead(&v, schema, event)) {
            takeSample(c, &v, event);
        }
        break;
    case ETW_MEANS_CPU_SAMPLE:
        if (!calls->config.samples) {
            takeOther(c, schema, event);
        } else if (EtwRoleValuesRead(&v, schema, event)) {
            takeCpuSample(c, &v, event);
        }
        break;
    case ETW_MEANS_LINE:
        if (calls->config.byLine && EtwRoleValuesRead(&v, schema, event)) {
            takeLine(c, &v, event);
        }
        break;
    case ETW_MEANS_CALL_ENTER:
    case ETW_MEANS_STEP_ENTER:
    case ETW_MEANS_CALLBACK_ENTER:
    case ETW_MEANS_PACKAGE_ENTER:
        if (EtwRoleValuesRead(&v, schema, event)) {
            takeEnter(c, &v, event);
        }
        break;
    case ETW_MEANS_CALL_LEAVE:
    case ETW_MEANS_STEP_LEAVE:
    case ETW_MEANS_CALLBACK_LEAVE:
    case ETW_MEANS_PACKAGE_LEAVE:
        if (EtwRoleValuesRead(&v, schema, event)) {
            takeLeave(c, &v, event);
        }
        break;
    case ETW_MEANS_SWITCH:
        if (EtwRoleValuesRead(&v, schema, event)) {
            takeSwitch(c, &v, event);
        }
        break;
    case ETW_MEANS_READY:
        if (EtwRoleValuesRead(&v, schema, event)) {
            takeReady(c, &v, event);
        }
        break;
    case ETW_MEANS_SYSCALL_ENTER:
    case ETW_MEANS_SYSCALL_EXIT:
    case ETW_MEANS_CHANNEL:
    case ETW_MEANS_WAIT:
    case ETW_MEANS_THREAD_END:
        takeOfThread(c, schema, event);
        break;
    case ETW_MEANS_PROCESS_END:
        EtwCallProcessEnd(c, event->pid);
        break;
    case ETW_MEANS_SCHEDULE:
        takeCause(c, schema, meaning, event);
        break;
    case ETW_MEANS_PROCESS_START:
    case ETW_MEANS_THREAD_START:
        takeCause(c, schema, meaning, event);
        takeOther(c, schema, event);
        break;
    default:
        takeOther(c, schema, event);
    }
}

static void freeClass(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

void EtwCallClassesFree(Calls *c)
{
    EtwTableFree(&c->charged, freeClass);
}
