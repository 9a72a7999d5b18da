/*
 * flow/path/path_log.c --
 *
 *	Collects what the critical path needs: for each thread its periods off the CPU with what ended them, its calls,
 *	and the callbacks that were in its queue. path_walk.c finds the path.
 */
#include "flow/path/path_int.h"
#include "base/unicode.h"
#include <stdio.h>

typedef EtwRoleValues Values;

/* ---- Names ----------------------------------------------------------------------------------------- */

typedef struct NameNode {
    EtwTableNode node;
    size_t size; /* a text may contain NULs */
    char text[];
} NameNode;

/* Kept once each: at most NAME bytes. "": NULL. */
static const char *nameOf(EtwPath *p, const char *text, size_t size)
{
    enum { NAME = 200 };
    size = size > NAME ? EtwUtf8Cut(text, NAME) : size;
    if (size == 0) {
        return NULL;
    }
    uint64_t hash = EtwHashBytes(0, (const uint8_t *)text, size);
    NameNode *n = (NameNode *)EtwTableFirst(&p->names, hash);
    while (n != NULL && (n->size != size || memcmp(n->text, text, size) != 0)) {
        n = (NameNode *)n->node.next;
    }
    if (n == NULL) {
        n = EtwAlloc(sizeof *n + size + 1);
        n->size = size;
        memcpy(n->text, text, size);
        EtwTableAdd(&p->names, &n->node, hash);
    }
    return n->text;
}

/* ---- Threads --------------------------------------------------------------------------------------- */

static PathThread *threadFind(EtwPath *p, uint32_t tid)
{
    PathThread *t = p->lastUsed;
    if (t != NULL && t->tid == tid && !t->ended) {
        return t;
    }
    t = (PathThread *)EtwTableFirst(&p->threads, EtwHashNumber(tid));
    while (t != NULL && t->tid != tid) {
        t = (PathThread *)t->node.next;
    }
    p->lastUsed = t != NULL ? t : p->lastUsed;
    return t;
}

static PathThread *threadNew(EtwPath *p, uint32_t tid)
{
    PathThread *t = EtwAlloc(sizeof *t);
    t->tid = tid;
    t->pid = ETW_NO_ID;
    t->diskDone = INT64_MIN;
    EtwTableAdd(&p->threads, &t->node, EtwHashNumber(tid));
    *(p->last != NULL ? &p->last->next : &p->first) = t;
    return p->last = t;
}

/* The id belongs to another thread from now on. */
static void threadEnd(EtwPath *p, PathThread *t)
{
    t->ended = true;
    EtwTableRemove(&p->threads, &t->node);
    p->lastUsed = p->lastUsed == t ? NULL : p->lastUsed;
}

/* The thread of an event; NULL: it has none. */
static PathThread *threadOf(EtwPath *p, const EtwEvent *event)
{
    if (event->tid == ETW_NO_ID || event->tid == 0) {
        return NULL;
    }
    PathThread *t = threadFind(p, event->tid);
    if (t != NULL && t->pid != event->pid && t->pid != ETW_NO_ID && event->pid != ETW_NO_ID) {
        threadEnd(p, t);
        t = NULL;
    }
    t = t != NULL ? t : threadNew(p, event->tid);
    t->pid = event->pid != ETW_NO_ID ? event->pid : t->pid;
    t->traced = true;
    if (event->process != NULL && (t->process == NULL || strcmp(t->process, event->process) != 0)) {
        t->process = nameOf(p, event->process, strlen(event->process));
    }
    return t;
}

/* ---- Off the CPU ------------------------------------------------------------------------------------- */

/*
 * The system calls in which a network device sends for the thread: what a softirq on top of them wakes, they wake, over the
 * loopback interface. A thread that sends nothing is only interrupted.
 */
static bool sends(const char *syscall)
{
    static const char *const names[] = {"write", "writev", "sendto", "sendmsg", "sendmmsg",
            "sendfile", "splice", "connect", "close", "shutdown", "exit_group", NULL};
    for (int i = 0; syscall != NULL && names[i] != NULL; i++) {
        if (strcmp(names[i], syscall) == 0) {
            return true;
        }
    }
    return false;
}

static void periodEnd(EtwPath *p, PathThread *t, const EtwOffPeriod *period)
{
    PATH_GROW(t->offs, t->offCount, t->offCapacity);
    PathOff *off = &t->offs[t->offCount++];
    *off = (PathOff){.from = period->from,
            .ready = period->ready,
            .to = period->to,
            .preempted = period->preempted,
            .woken = period->woken,
            .wake = (uint8_t)period->wake.from,
            .byTid = period->woken ? period->wake.by : 0,
            .syscall = t->syscall != NULL ? t->syscall : t->reason,
            .created = t->created && t->createdAt == period->from,
            .disk = t->diskDone >= period->from && t->diskDone <= period->to};
    t->created = false;
    if (period->woken && off->byTid != 0) {
        off->by = t->waker;
        off->follows = off->by != NULL && off->by != t && off->by->traced &&
                       (off->wake == ETW_WAKE_THREAD || t->wakerSends);
    }
    if (off->follows) {
        PATH_GROW(p->edges, p->edgeCount, p->edgeCapacity);
        p->edges[p->edgeCount++] = (PathEdge){t, t->offCount - 1};
    }
}

static void runs(EtwPath *p, PathThread *t, int64_t time)
{
    EtwOffPeriod period;
    if (t->off.out && EtwOffCpuReturn(&t->off, time, &period)) {
        periodEnd(p, t, &period);
    } else if (t->off.woken) {
        t->off.woken = false; /* it did not sleep */
    }
}

static void takeSwitch(EtwPath *p, const Values *v, const EtwEvent *event)
{
    uint32_t oldTid = (uint32_t)EtwRoleNumber(v, ETW_ROLE_OLD_TID);
    uint32_t newTid = (uint32_t)EtwRoleNumber(v, ETW_ROLE_TID);
    PathThread *old = threadFind(p, oldTid), *new = threadFind(p, newTid);
    p->switches = true;
    if (old != NULL) {
        bool ready = EtwSwitchIsReady(v);
        if (old->off.out) {
            runs(p, old, event->time); /* the switch to it is missing */
        }
        if (EtwSwitchIsWindows(v) && !ready) {
            char number[24];
            const char *reason = EtwRoleName(v, ETW_ROLE_WAIT_REASON, number, sizeof number);
            old->reason = nameOf(p, reason, strlen(reason));
        }
        EtwOffCpuLeave(&old->off, event->time, ready);
    }
    if (new == NULL && newTid != 0) {
        new = threadNew(p, newTid);
    }
    if (new != NULL &&new->name == NULL) {
        size_t size;
        const char *name = EtwRoleText(v, ETW_ROLE_NEW_COMMAND, &size);
        new->name = nameOf(p, name, size);
    }
    if (new != NULL &&new != old) {
        runs(p, new, event->time);
    }
}

static void takeReady(EtwPath *p, const Values *v, const EtwEvent *event)
{
    EtwWake wake = EtwWakeRead(v, event);
    PathThread *t = threadFind(p, wake.tid), *by = wake.by != 0 ? threadFind(p, wake.by) : NULL;
    p->wakes = true;
    if (t != NULL && EtwOffCpuWake(&t->off, event->time, &wake)) {
        t->waker = by;
        t->wakerSends = by != NULL && wake.from == ETW_WAKE_SOFTIRQ && sends(by->syscall);
    }
}

/* A thread begins to exist, and is ready. */
static void takeStart(EtwPath *p, PathThread *creator, uint32_t tid, uint32_t pid, int64_t time)
{
    PathThread *t = threadFind(p, tid);
    if (t != NULL && t->created && t->createdAt == time) {
        return; /* the start of a process is also that of a thread */
    }
    if (t != NULL) {
        threadEnd(p, t); /* the id was used before */
    }
    t = threadNew(p, tid);
    t->pid = pid;
    t->process = creator->process;
    t->created = true;
    t->createdAt = time;
    t->waker = creator;
    EtwOffCpuLeave(&t->off, time, false);
    EtwOffCpuWake(&t->off, time, &(EtwWake){.tid = tid, .by = creator->tid});
}

/* ---- Calls ------------------------------------------------------------------------------------------- */

static void mark(PathThread *t, int64_t time)
{
    const char *call = t->depth > 0 ? t->stack[t->depth - 1] : NULL;
    if (t->markCount > 0 && t->marks[t->markCount - 1].time >= time) {
        t->marks[t->markCount - 1].call = call;
        return;
    }
    PATH_GROW(t->marks, t->markCount, t->markCapacity);
    t->marks[t->markCount++] = (PathMark){time, call};
}

static void pushCall(void *ctx, EtwCallNode *node, int64_t time, const EtwCallRow *proc,
        const char *text, size_t size)
{
    EtwPath *p = ctx;
    PathThread *t = node->own != NULL ? node->own : (node->own = threadFind(p, node->tid));
    (void)text, (void)size;
    if (t != NULL) {
        PATH_GROW(t->stack, t->depth, t->stackCapacity);
        t->stack[t->depth++] = proc->name;
        mark(t, time);
    }
}

static void popCall(void *ctx, EtwCallNode *node, int64_t time, const EtwCallRow *proc, int code)
{
    PathThread *t = node->own;
    (void)ctx, (void)proc, (void)code;
    if (t != NULL && t->depth > 0) {
        t->depth--;
        mark(t, time);
    }
}

static void takeCallback(EtwPath *p, PathThread *t, const EtwSchema *schema, const EtwEvent *event)
{
    Values v;
    (void)p;
    if (!EtwRoleValuesRead(&v, schema, event)) {
        return;
    }
    uint64_t queued = EtwRoleNumber(&v, ETW_ROLE_QUEUED);
    if (queued > 0 && queued < (uint64_t)INT64_MAX / 2 && event->time > INT64_MIN / 2) {
        PATH_GROW(t->queued, t->queuedCount, t->queuedCapacity);
        t->queued[t->queuedCount++] = (PathQueued){event->time - (int64_t)queued, event->time};
    }
}

/* ---- Events -------------------------------------------------------------------------------------------- */

static void takeSyscall(EtwPath *p, PathThread *t, const EtwSchema *schema, const EtwEvent *event)
{
    Values v;
    char number[24];
    if (!EtwRoleValueRead(&v, schema, event, ETW_ROLE_SYSCALL)) {
        return;
    }
    uint64_t call = EtwRoleNumber(&v, ETW_ROLE_SYSCALL);
    const char **known = call < PATH_SYSCALLS ? &p->syscalls[call] : NULL;
    if (known == NULL || *known == NULL) {
        const char *name = EtwRoleName(&v, ETW_ROLE_SYSCALL, number, sizeof number);
        t->syscall = nameOf(p, name, strlen(name));
    } else {
        t->syscall = *known;
    }
    if (known != NULL) {
        *known = t->syscall;
    }
}

static void takeStarted(EtwPath *p, PathThread *creator, const EtwSchema *schema,
        const EtwEvent *event, bool process)
{
    Values v;
    if (EtwRoleValuesRead(&v, schema, event)) {
        uint32_t pid = (uint32_t)EtwRoleNumber(&v, ETW_ROLE_PID);
        uint32_t tid = process ? pid : (uint32_t)EtwRoleNumber(&v, ETW_ROLE_TID);
        if (tid != creator->tid) {
            takeStart(p, creator, tid, pid, event->time);
        }
    }
}

static void takeDisk(EtwPath *p, const EtwSchema *schema, const EtwEvent *event)
{
    Values v;
    PathThread *t = EtwRoleValuesRead(&v, schema, event)
                            ? threadFind(p, (uint32_t)EtwRoleNumber(&v, ETW_ROLE_TID))
                            : NULL;
    if (t != NULL) {
        t->diskDone = event->time;
    }
}

static void note(PathThread *t, const EtwSchema *schema, const EtwEvent *event)
{
    if (t->firstSchema == NULL) {
        t->firstSchema = schema;
        t->firstTime = event->time;
    }
    t->lastSchema = schema;
    t->lastTime = event->time;
}

static void takePoint(EtwPath *p, PathThread *t, const EtwSchema *schema, const EtwEvent *event,
        bool begins, bool ends)
{
    PathPointRef point = {t, event->time, schema, event->activity};
    if (begins) {
        PATH_GROW(p->begins, p->beginCount, p->beginCapacity);
        p->begins[p->beginCount++] = point;
    }
    if (ends) {
        p->end = point;
    }
}

static void takeOwn(EtwPath *p, PathThread *t, const EtwSchema *schema, EtwMeaning meaning,
        const EtwEvent *event)
{
    switch (meaning) {
    case ETW_MEANS_CALL_ENTER:
    case ETW_MEANS_STEP_ENTER:
    case ETW_MEANS_CALLBACK_ENTER:
    case ETW_MEANS_PACKAGE_ENTER:
    case ETW_MEANS_CALL_LEAVE:
    case ETW_MEANS_STEP_LEAVE:
    case ETW_MEANS_CALLBACK_LEAVE:
    case ETW_MEANS_PACKAGE_LEAVE:
        runs(p, t, event->time);
        p->firstCalling = p->firstCalling != NULL ? p->firstCalling : t;
        if (meaning == ETW_MEANS_CALLBACK_ENTER) {
            takeCallback(p, t, schema, event);
        }
        EtwCallsAdd(p->calls, event);
        break;
    case ETW_MEANS_SYSCALL_ENTER:
        runs(p, t, event->time);
        takeSyscall(p, t, schema, event);
        break;
    case ETW_MEANS_SYSCALL_EXIT:
        runs(p, t, event->time);
        t->syscall = NULL;
        break;
    case ETW_MEANS_THREAD_END:
    case ETW_MEANS_PROCESS_END:
        EtwCallsAdd(p->calls, event);
        break;
    case ETW_MEANS_PROCESS_START:
    case ETW_MEANS_THREAD_START:
        takeStarted(p, t, schema, event, meaning == ETW_MEANS_PROCESS_START);
        break;
    case ETW_MEANS_DISK_DONE:
        takeDisk(p, schema, event);
        break;
    default:
        break;
    }
}

/* About the session, not about a thread. */
static bool isOfSession(EtwMeaning meaning, const EtwEvent *event)
{
    return meaning == ETW_MEANS_TRACE || meaning == ETW_MEANS_HOST ||
           meaning == ETW_MEANS_PROGRAM || meaning == ETW_MEANS_SYMBOL ||
           meaning == ETW_MEANS_LOSS || EtwEventIsHeader(event);
}

void EtwPathAdd(EtwPath *p, const EtwEvent *event, bool begins, bool ends)
{
    const EtwSchema *schema = EtwSchemaOf(p->store, event);
    EtwMeaning meaning = schema != NULL ? EtwMeaningOf(schema) : ETW_MEANS_OTHER;
    Values v;
    if (isOfSession(meaning, event)) {
        return;
    }
    p->time = event->time > p->time ? event->time : p->time;
    PathThread *t = threadOf(p, event);
    if (meaning == ETW_MEANS_SWITCH || meaning == ETW_MEANS_READY) {
        if (EtwRoleValuesRead(&v, schema, event)) {
            (meaning == ETW_MEANS_SWITCH ? takeSwitch : takeReady)(p, &v, event);
        }
    } else if (t != NULL) {
        note(t, schema, event);
        takeOwn(p, t, schema, meaning, event);
    }
    if (t != NULL && (begins || ends)) {
        takePoint(p, t, schema, event, begins, ends);
    }
}

/* ---- Begin and end --------------------------------------------------------------------------------- */

EtwPath *EtwPathNew(EtwSchemaStore *store)
{
    EtwPath *p = EtwAlloc(sizeof *p);
    EtwCallsConfig config = {.watch = {.ctx = p, .push = pushCall, .pop = popCall}};
    p->store = store;
    p->time = INT64_MIN;
    p->calls = EtwCallsNew(&config, store);
    return p;
}

/* All threads are back on a CPU, so that each period has an end. */
void EtwPathLogEnd(EtwPath *p)
{
    for (PathThread *t = p->first; t != NULL; t = t->next) {
        runs(p, t, p->time);
    }
}

static void freeName(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

void EtwPathFree(EtwPath *p)
{
    if (p == NULL) {
        return;
    }
    for (PathThread *t = p->first, *next; t != NULL; t = next) {
        next = t->next;
        EtwFree(t->offs);
        EtwFree(t->marks);
        EtwFree(t->queued);
        EtwFree((void *)t->stack);
        EtwFree(t);
    }
    EtwFree(p->threads.slots);
    EtwTableFree(&p->names, freeName);
    EtwCallsFree(p->calls);
    EtwFree(p->edges);
    EtwFree(p->begins);
    EtwFree(p->segments);
    EtwFree(p);
}
