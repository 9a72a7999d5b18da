/*
 * flow/calls/call_causes.c --
 *
 *	Callbacks, child processes and threads by the call that set or started them. An event Schedule has
 *	the number of a setting, and so has each call of its callback; the kernel reports who creates a
 *	process or a thread.
 */
#include "flow/calls/call_tree_int.h"
#include "base/unicode.h"
#include "flow/render/columns.h"
#include "flow/render/escape.h"
#include "semantics/semantics.h"
#include <stdio.h>
#include <stdlib.h>

static const char *const kinds[ETW_CAUSE_KINDS][2] = {
        [ETW_CAUSE_AFTER] = {"after", "after"},
        [ETW_CAUSE_IDLE] = {"idle", "after idle"},
        [ETW_CAUSE_READABLE] = {"readable", "fileevent"},
        [ETW_CAUSE_WRITABLE] = {"writable", "fileevent"},
        [ETW_CAUSE_ACCEPT] = {"accept", "socket -server"},
        [ETW_CAUSE_COPY] = {"copy", "fcopy"},
        [ETW_CAUSE_OTHER] = {"callback", "callback"},
        [ETW_CAUSE_PROCESS] = {"process", "child process"},
        [ETW_CAUSE_THREAD] = {"thread", "new thread"},
};

const char *EtwCauseKindName(EtwCauseKind kind)
{
    return kinds[kind][0];
}

/* A callback that was set, or a thread that was started. */
typedef struct CallOrigin {
    EtwTableNode node; /* by pid and id */
    uint64_t id;
    uint32_t pid;
    EtwCauseKind kind;
    const EtwCallNode *by;
    int64_t time;
    bool ran;
} CallOrigin;

/* ---- Settings -------------------------------------------------------------------------------- */

/* The id of a started thread: those of events are below 2^53. */
static uint64_t threadId(uint32_t tid)
{
    return 1ull << 63 | tid;
}

static uint64_t hashOf(uint32_t pid, uint64_t id)
{
    return EtwHashMix(EtwHashNumber(pid), id);
}

static CallOrigin *find(const Calls *c, uint32_t pid, uint64_t id)
{
    CallOrigin *o = (CallOrigin *)EtwTableFirst(&c->origins, hashOf(pid, id));
    while (o != NULL && (o->pid != pid || o->id != id)) {
        o = (CallOrigin *)o->node.next;
    }
    return o;
}

static EtwCause *causeOf(
        Calls *c, const EtwCallNode *by, EtwCauseKind kind, const EtwCallRow *callback)
{
    uint64_t hash = EtwHashMix(
            EtwHashMix(EtwHashPointer(by), (uint64_t)kind), (uint64_t)(uintptr_t)callback);
    EtwCause *cause = (EtwCause *)EtwTableFirst(&c->causes, hash);
    while (cause != NULL &&
            (cause->by != by || cause->kind != kind || cause->callback != callback)) {
        cause = (EtwCause *)cause->node.next;
    }
    if (cause == NULL) {
        cause = EtwAlloc(sizeof *cause);
        cause->by = by;
        cause->kind = kind;
        cause->callback = callback;
        cause->order = (int)c->causes.count;
        EtwTableAdd(&c->causes, &cause->node, hash);
    }
    return cause;
}

static void set(Calls *c, CallThread *by, const CallOrigin *what)
{
    const CallFrame *f = by->count > 0 ? by->stack[by->count - 1] : NULL;
    if (c->base.config.under != NULL && (f == NULL || !f->counted)) {
        return;
    }
    CallOrigin *o = find(c, what->pid, what->id);
    if (o == NULL) {
        o = EtwAlloc(sizeof *o);
        o->pid = what->pid;
        o->id = what->id;
        EtwTableAdd(&c->origins, &o->node, hashOf(o->pid, o->id));
    }
    o->kind = what->kind;
    o->time = what->time;
    o->by = f != NULL && f->node != NULL ? f->node : by->root;
    o->ran = false;
}

void EtwCallSet(Calls *c, const EtwRoleValues *v, CallThread *t, int64_t time)
{
    size_t size;
    const char *name = EtwRoleText(v, ETW_ROLE_KIND, &size);
    CallOrigin what = {.pid = t->pid,
            .id = EtwRoleNumber(v, ETW_ROLE_ORIGIN),
            .kind = ETW_CAUSE_OTHER,
            .time = time};
    for (int i = 0; i < ETW_CAUSE_OTHER; i++) {
        if (strlen(kinds[i][0]) == size && memcmp(kinds[i][0], name, size) == 0) {
            what.kind = (EtwCauseKind)i;
        }
    }
    if (what.id != 0 && what.id <= INT64_MAX) {
        set(c, t, &what);
    }
}

void EtwCallStarted(Calls *c, const EtwRoleValues *v, CallThread *creator, int64_t time)
{
    uint32_t pid = (uint32_t)EtwRoleNumber(v, ETW_ROLE_PID);
    bool process = v->semantics->meaning == ETW_MEANS_PROCESS_START;
    uint32_t tid = process ? pid : (uint32_t)EtwRoleNumber(v, ETW_ROLE_TID);
    set(c, creator,
            &(CallOrigin){.pid = pid,
                    .id = threadId(tid),
                    .kind = process || tid == pid ? ETW_CAUSE_PROCESS : ETW_CAUSE_THREAD,
                    .time = time});
}

static void removeOrigin(Calls *c, CallOrigin *o)
{
    EtwTableRemove(&c->origins, &o->node);
    EtwFree(o);
}

void EtwCallForget(Calls *c, uint32_t pid, uint32_t tid)
{
    CallOrigin *o = find(c, pid, threadId(tid));
    if (o != NULL) {
        removeOrigin(c, o);
    }
}

/* ---- Runs ------------------------------------------------------------------------------------ */

EtwCause *EtwCallCauseOf(
        Calls *c, const CallThread *t, const EtwCallRow *callback, const CallEnter *enter)
{
    bool first = enter->origin == 0 && t->count == 0; /* of a thread that was started */
    if (enter->origin == 0 && !first) {
        return NULL;
    }
    CallOrigin *o = find(c, t->pid, first ? threadId(t->tid) : enter->origin);
    if (o == NULL) {
        return NULL;
    }
    EtwCause *cause = causeOf(c, o->by, o->kind, callback);
    uint64_t delay = t->mark > o->time ? (uint64_t)t->mark - (uint64_t)o->time : 0;
    cause->calls++;
    cause->queued += enter->queued;
    if (!o->ran) {
        o->ran = true;
        cause->set++;
        cause->delay += delay;
        cause->maxDelay = delay > cause->maxDelay ? delay : cause->maxDelay;
    }
    if (o->kind == ETW_CAUSE_AFTER || o->kind == ETW_CAUSE_IDLE ||
            o->kind == ETW_CAUSE_COPY) { /* they run once */
        removeOrigin(c, o);
    }
    return cause;
}

static void addUnused(void *ctx, EtwTableNode *node)
{
    const CallOrigin *o = (const CallOrigin *)node;
    if (!o->ran && o->kind < ETW_CAUSE_PROCESS) {
        causeOf(ctx, o->by, o->kind, NULL)->set++;
    }
}

void EtwCallCausesEnd(Calls *c)
{
    EtwTableVisit(&c->origins, addUnused, c);
}

static void freePlain(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

void EtwCallCausesFree(Calls *c)
{
    EtwTableFree(&c->origins, freePlain);
    EtwTableFree(&c->causes, freePlain);
}

/* ---- Results --------------------------------------------------------------------------------- */

typedef struct Listed {
    EtwText list; /* of EtwCause pointers */
    double least;
    size_t hidden;
} Listed;

static void addTotal(void *ctx, EtwTableNode *node)
{
    *(uint64_t *)ctx += ((const EtwCause *)node)->total;
}

static void addListed(void *ctx, EtwTableNode *node)
{
    Listed *listed = ctx;
    const EtwCause *cause = (const EtwCause *)node;
    if ((double)cause->total < listed->least) {
        listed->hidden++;
    } else {
        EtwTextAdd(&listed->list, &cause, sizeof cause);
    }
}

static int compare(uint64_t x, uint64_t y)
{
    return x == y ? 0 : x > y ? -1 : 1;
}

static int byOrder(const void *a, const void *b)
{
    return (*(const EtwCause *const *)a)->order - (*(const EtwCause *const *)b)->order;
}

static int byTotal(const void *a, const void *b)
{
    const EtwCause *x = *(const EtwCause *const *)a, *y = *(const EtwCause *const *)b;
    int order = compare(x->total, y->total);
    return order ? order : byOrder(a, b);
}

static int byCalls(const void *a, const void *b)
{
    const EtwCause *x = *(const EtwCause *const *)a, *y = *(const EtwCause *const *)b;
    int order = compare(x->calls, y->calls);
    return order ? order : byTotal(a, b);
}

static int byErrors(const void *a, const void *b)
{
    const EtwCause *x = *(const EtwCause *const *)a, *y = *(const EtwCause *const *)b;
    int order = compare(x->errors, y->errors);
    return order ? order : byTotal(a, b);
}

static int byDelay(const void *a, const void *b)
{
    const EtwCause *x = *(const EtwCause *const *)a, *y = *(const EtwCause *const *)b;
    int order = compare(x->maxDelay, y->maxDelay);
    return order ? order : byTotal(a, b);
}

const EtwCause **EtwCallCauses(const EtwCalls *calls, size_t *countPtr, size_t *hiddenPtr)
{
    const EtwCallsView *view = &calls->config.view;
    EtwTable *causes = &((Calls *)(uintptr_t)calls)->causes;
    Listed listed = {0};
    uint64_t total = 0;
    EtwTableVisit(causes, addTotal, &total);
    listed.least = view->min / 100 * (double)total;
    EtwTableVisit(causes, addListed, &listed);
    size_t count = listed.list.size / sizeof(EtwCause *);
    if (count > 1) {
        qsort(listed.list.data, count, sizeof(EtwCause *),
                view->sort == ETW_SORT_CALLS    ? byCalls
                : view->sort == ETW_SORT_ERRORS ? byErrors
                : view->sort == ETW_SORT_MAX    ? byDelay
                                                : byTotal);
    }
    *countPtr = view->top > 0 && view->top < count ? view->top : count;
    *hiddenPtr = listed.hidden + count - *countPtr;
    return (const EtwCause **)(void *)listed.list.data;
}

void EtwCausePath(const EtwCause *cause, EtwText *out)
{
    enum { SHOWN = 20, MOST = 200 /* bytes of a name */ }; /* the innermost calls of a deep path */
    const EtwCallNode *nodes[SHOWN], *n = cause->by;
    int count = 0;
    for (; n->parent != NULL && count < SHOWN; n = n->parent) {
        nodes[count++] = n;
    }
    EtwTextStr(out, n->parent != NULL ? "... > " : count == 0 ? "(top level) > " : "");
    while (count > 0) {
        const EtwCallRow *row = nodes[--count]->row;
        EtwTextAdd(
                out, row->name, row->nameSize > MOST ? EtwUtf8Cut(row->name, MOST) : row->nameSize);
        EtwTextStr(out, " > ");
    }
    EtwTextStr(out, kinds[cause->kind][1]);
}

const char *EtwCauseCallback(const EtwCause *cause)
{
    const char *name = cause->callback != NULL ? cause->callback->name : "";
    size_t kind = strlen(kinds[cause->kind][0]);
    bool has = strncmp(name, kinds[cause->kind][0], kind) == 0 && name[kind] == ' ';
    return has ? name + kind + 1 : name;
}

const EtwCallNode *EtwCauseThread(const EtwCause *cause)
{
    const EtwCallNode *n = cause->by;
    while (n->parent != NULL) {
        n = n->parent;
    }
    return n;
}

static void addRow(EtwText *out, const EtwCause *cause)
{
    EtwText path = {0};
    EtwTextPrintf(
            out, "%9llu%9llu", (unsigned long long)cause->set, (unsigned long long)cause->calls);
    EtwAddTimeColumn(out, cause->total);
    EtwAddTimeColumn(out, cause->self);
    EtwAddTimeColumn(out, cause->set > 0 ? cause->delay / cause->set : 0);
    EtwAddTimeColumn(out, cause->maxDelay);
    EtwAddTimeColumn(out, cause->queued);
    EtwTextPrintf(out, "%9llu  ", (unsigned long long)cause->errors);
    EtwCausePath(cause, &path);
    EtwTextChar(&path, 0);
    EtwAddSafeStr(out, path.data);
    EtwTextFree(&path);
    EtwTextStr(out, cause->callback != NULL ? ": " : ": (did not run)");
    EtwAddSafeStr(out, EtwCauseCallback(cause));
}

void EtwCausesText(const EtwCalls *calls, EtwText *out)
{
    size_t count, hidden;
    const EtwCause **causes = EtwCallCauses(calls, &count, &hidden);
    bool threads = false;
    for (size_t i = 1; i < count; i++) {
        threads = threads || EtwCauseThread(causes[i]) != EtwCauseThread(causes[0]);
    }
    EtwTextPrintf(out, "%9s%9s%12s%12s%12s%12s%12s%9s  %s\n", "set", "runs", "total", "self",
            "delay", "max delay", "queued", "errors", "set by: what runs");
    for (size_t i = 0; i < count; i++) {
        addRow(out, causes[i]);
        if (threads) {
            EtwText name = {0};
            EtwCallThreadName(EtwCauseThread(causes[i]), &name);
            EtwTextChar(&name, 0);
            EtwTextStr(out, "  [");
            EtwAddSafeStr(out, name.data);
            EtwTextStr(out, "]");
            EtwTextFree(&name);
        }
        EtwTextChar(out, '\n');
    }
    if (hidden > 0) {
        EtwTextPrintf(out, "%9zu more (see -top, -min)\n", hidden);
    }
    EtwFree(causes);
}

void EtwCausesCsv(const EtwCalls *calls, EtwText *out)
{
    size_t count, hidden;
    const EtwCause **causes = EtwCallCauses(calls, &count, &hidden);
    EtwTextStr(
            out, "pid,tid,kind,cause,callback,set,calls,errors,total,self,delay,maxdelay,queued\n");
    for (size_t i = 0; i < count; i++) {
        const EtwCause *k = causes[i];
        const EtwCallNode *thread = EtwCauseThread(k);
        const uint64_t numbers[] = {
                k->set, k->calls, k->errors, k->total, k->self, k->delay, k->maxDelay, k->queued};
        EtwText path = {0};
        EtwCausePath(k, &path);
        EtwTextChar(&path, 0);
        EtwTextPrintf(out, "%u,%u,%s,", thread->pid, thread->tid, EtwCauseKindName(k->kind));
        EtwAddCsv(out, path.data);
        EtwTextChar(out, ',');
        EtwAddCsv(out, EtwCauseCallback(k));
        for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++) {
            EtwTextChar(out, ',');
            EtwTextDecimal(out, numbers[j]);
        }
        EtwTextChar(out, '\n');
        EtwTextFree(&path);
    }
    EtwFree(causes);
}

void EtwCausesJson(const EtwCalls *calls, EtwText *out)
{
    size_t count, hidden;
    const EtwCause **causes = EtwCallCauses(calls, &count, &hidden);
    EtwTextStr(out, "{\"causes\":[");
    for (size_t i = 0; i < count; i++) {
        const EtwCause *k = causes[i];
        const EtwCallNode *thread = EtwCauseThread(k);
        EtwText path = {0};
        EtwCausePath(k, &path);
        EtwTextChar(&path, 0);
        EtwTextPrintf(out, "%s{\"pid\":%u,\"tid\":%u,\"kind\":\"%s\",\"cause\":", i > 0 ? "," : "",
                thread->pid, thread->tid, EtwCauseKindName(k->kind));
        EtwAddJsonStr(out, path.data);
        EtwTextStr(out, ",\"callback\":");
        EtwAddJsonStr(out, EtwCauseCallback(k));
        EtwTextPrintf(out, ",\"set\":%llu,\"calls\":%llu,\"errors\":%llu,\"total\":%llu",
                (unsigned long long)k->set, (unsigned long long)k->calls,
                (unsigned long long)k->errors, (unsigned long long)k->total);
        EtwTextPrintf(out, ",\"self\":%llu,\"delay\":%llu,\"maxdelay\":%llu,\"queued\":%llu}",
                (unsigned long long)k->self, (unsigned long long)k->delay,
                (unsigned long long)k->maxDelay, (unsigned long long)k->queued);
        EtwTextFree(&path);
    }
    EtwTextStr(out, "]}\n");
    EtwFree(causes);
}
