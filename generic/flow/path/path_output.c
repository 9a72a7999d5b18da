/*
 * flow/path/path_output.c --
 *
 *	The critical path as text and json: its causes, largest first, and its segments in order of time.
 */
#include "flow/path/path_int.h"
#include "flow/render/columns.h"
#include "flow/render/escape.h"
#include <stdlib.h>

const EtwPathSegment *EtwPathSegments(const EtwPath *p, size_t *countPtr)
{
    *countPtr = p->segmentCount;
    return p->segments;
}

const EtwPathPoint *EtwPathBegin(const EtwPath *p)
{
    return &p->points[0];
}

const EtwPathPoint *EtwPathEnd(const EtwPath *p)
{
    return &p->points[1];
}

bool EtwPathHasSwitches(const EtwPath *p)
{
    return p->switches;
}

bool EtwPathHasWakes(const EtwPath *p)
{
    return p->wakes;
}

const char *EtwPathKindName(EtwPathKind kind)
{
    static const char *const names[] = {
            "run", "ready", "timer", "disk", "network", "device", "other", "wait"};
    return names[kind];
}

const char *EtwPathRoleName(EtwPathRole role)
{
    static const char *const names[] = {"work", "lock", "queue"};
    return names[role];
}

/* ---- Words ------------------------------------------------------------------------------------------ */

/* "tclsh 812", of a thread that is not the main one "tclsh 812/815" */
static void addThread(EtwText *out, const char *process, uint32_t pid, uint32_t tid)
{
    EtwTextStr(out, process != NULL ? process : "PID");
    EtwTextPrintf(out, " %u", pid != ETW_NO_ID ? pid : tid);
    if (pid != ETW_NO_ID && tid != pid) {
        EtwTextPrintf(out, "/%u", tid);
    }
}

static void addCall(EtwText *out, const char *call)
{
    if (call != NULL) {
        EtwTextStr(out, " in ");
        EtwTextStr(out, call);
    }
}

/* "waiting for a disk, fsync" */
static void addState(EtwText *out, const EtwPathSegment *s)
{
    static const char *const states[] = {[ETW_PATH_RUN] = "running",
            [ETW_PATH_READY] = "waiting for a CPU",
            [ETW_PATH_TIMER] = "waiting for a timer",
            [ETW_PATH_DISK] = "waiting for a disk",
            [ETW_PATH_NETWORK] = "waiting for the network",
            [ETW_PATH_DEVICE] = "waiting for a device or a timer",
            [ETW_PATH_OTHER] = "waiting for another thread",
            [ETW_PATH_WAIT] = "waiting, it is not known for what"};
    if (s->kind == ETW_PATH_OTHER && s->by != 0) {
        EtwTextStr(out, "waiting for ");
        addThread(out, s->byName, ETW_NO_ID, s->by);
    } else {
        EtwTextStr(out, states[s->kind]);
    }
    if (s->syscall != NULL) {
        EtwTextStr(out, ", ");
        EtwTextStr(out, s->syscall);
    }
}

/* The lock or queue; false: none. */
static bool addHolder(EtwText *out, const EtwPathSegment *s)
{
    if (s->role != ETW_PATH_WORK) {
        EtwTextStr(out, s->role == ETW_PATH_LOCK ? "lock held by " : "in the queue of ");
        addThread(out, s->holder, s->holderPid, s->holderTid);
        addCall(out, s->holderCall);
    }
    return s->role != ETW_PATH_WORK;
}

/* What the segment's time was spent on; segments with the same text are one cause. */
static void addCauseText(EtwText *out, const EtwPath *p, const EtwPathSegment *s)
{
    bool own = s->pid == p->points[0].pid;
    if (addHolder(out, s)) {
        if (s->role == ETW_PATH_QUEUE && s->kind == ETW_PATH_RUN && s->tid == s->holderTid) {
            EtwTextStr(out, s->call != NULL ? ", busy" : "");
            addCall(out, s->call);
        }
    } else if (s->kind == ETW_PATH_RUN) {
        EtwTextStr(out, own ? "own code" : "");
        if (!own) {
            addThread(out, s->process, s->pid, s->tid);
        }
        addCall(out, s->call);
    } else {
        addState(out, s);
        if (!own && s->kind != ETW_PATH_READY) {
            EtwTextStr(out, ", of ");
            addThread(out, s->process, s->pid, s->tid);
        }
        addCall(out, s->kind != ETW_PATH_READY ? s->call : NULL);
    }
}

/* ---- Causes ----------------------------------------------------------------------------------------- */

typedef struct CauseNode {
    EtwTableNode node;
    EtwPathCause cause;
} CauseNode;

typedef struct Causes {
    EtwTable table;
    EtwText list; /* of EtwPathCause */
} Causes;

static void addCause(Causes *c, const EtwPath *p, const EtwPathSegment *s, EtwText *what)
{
    what->size = 0;
    addCauseText(what, p, s);
    uint64_t hash = EtwHashBytes(0, (const uint8_t *)what->data, what->size);
    EtwTextChar(what, '\0');
    CauseNode *n = (CauseNode *)EtwTableFirst(&c->table, hash);
    while (n != NULL && strcmp(n->cause.what, what->data) != 0) {
        n = (CauseNode *)n->node.next;
    }
    if (n == NULL) {
        n = EtwAlloc(sizeof *n);
        n->cause = (EtwPathCause){.what = EtwStrdup(what->data), .first = s};
        EtwTableAdd(&c->table, &n->node, hash);
    }
    n->cause.count++;
    n->cause.ns += (uint64_t)s->to - (uint64_t)s->from;
}

static void takeCause(void *ctx, EtwTableNode *node)
{
    EtwTextAdd(ctx, &((CauseNode *)node)->cause, sizeof(EtwPathCause));
}

static void freeCause(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

static int byTime(const void *a, const void *b)
{
    const EtwPathCause *x = a, *y = b;
    return x->ns != y->ns ? (x->ns > y->ns ? -1 : 1) : strcmp(x->what, y->what);
}

EtwPathCause *EtwPathCauses(const EtwPath *p, size_t *countPtr)
{
    Causes c = {0};
    EtwText what = {0};
    for (size_t i = 0; i < p->segmentCount; i++) {
        addCause(&c, p, &p->segments[i], &what);
    }
    EtwTextFree(&what);
    EtwTableVisit(&c.table, takeCause, &c.list);
    EtwTableFree(&c.table, freeCause);
    *countPtr = c.list.size / sizeof(EtwPathCause);
    if (*countPtr > 1) {
        qsort(c.list.data, *countPtr, sizeof(EtwPathCause), byTime);
    }
    return (EtwPathCause *)(void *)c.list.data;
}

void EtwPathCausesFree(EtwPathCause *causes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        EtwFree(causes[i].what);
    }
    EtwFree(causes);
}

/* ---- Text ------------------------------------------------------------------------------------------- */

static void addTime(EtwText *out, uint64_t ns)
{
    size_t from = out->size;
    EtwAddTime(out, (double)ns, 3, "us");
    EtwColumnRight(out, from, 12);
}

static uint64_t wallOf(const EtwPath *p)
{
    return (uint64_t)p->points[1].time - (uint64_t)p->points[0].time;
}

static void addPoint(EtwText *out, const EtwPathPoint *point)
{
    EtwAddSafeStr(out, point->provider);
    EtwTextChar(out, ' ');
    EtwAddSafeStr(out, point->event);
    EtwText thread = {0};
    addThread(&thread, point->process, point->pid, point->tid);
    EtwTextStr(out, " (");
    EtwAddSafe(out, thread.data, thread.size);
    EtwTextStr(out, ")");
    EtwTextFree(&thread);
}

static void addCauses(EtwText *out, const EtwPath *p)
{
    enum { SHOWN = 30 };
    size_t count;
    EtwPathCause *causes = EtwPathCauses(p, &count);
    double wall = wallOf(p) > 0 ? (double)wallOf(p) : 1;
    EtwTextPrintf(out, "%12s%8s%7s  cause\n", "time", "share", "times");
    for (size_t i = 0; i < count && i < SHOWN; i++) {
        addTime(out, causes[i].ns);
        EtwTextPrintf(out, "%7.1f%%%7llu  ", 100 * (double)causes[i].ns / wall,
                (unsigned long long)causes[i].count);
        EtwAddSafeStr(out, causes[i].what);
        EtwTextChar(out, '\n');
    }
    if (count > SHOWN) {
        EtwTextPrintf(out, "%27s  %zu more\n", "", count - SHOWN);
    }
    EtwPathCausesFree(causes, count);
}

/* The segments of at least a hundredth of the time. */
static void addSegments(EtwText *out, const EtwPath *p)
{
    enum { SHOWN = 100, PART = 100 };
    size_t shown = 0;
    uint64_t least = wallOf(p) / PART;
    EtwText what = {0};
    EtwTextPrintf(out, "\n%12s%12s  thread, and what it did\n", "from", "time");
    for (size_t i = 0; i < p->segmentCount && shown < SHOWN; i++) {
        const EtwPathSegment *s = &p->segments[i];
        uint64_t ns = (uint64_t)s->to - (uint64_t)s->from;
        if (ns >= least) {
            what.size = 0;
            addThread(&what, s->process, s->pid, s->tid);
            EtwTextStr(&what, ": ");
            addState(&what, s);
            addCall(&what, s->call);
            EtwTextStr(&what, s->role != ETW_PATH_WORK ? "; " : "");
            addHolder(&what, s);
            addTime(out, (uint64_t)s->from - (uint64_t)p->points[0].time);
            addTime(out, ns);
            EtwTextStr(out, "  ");
            EtwAddSafe(out, what.data, what.size);
            EtwTextChar(out, '\n');
            shown++;
        }
    }
    if (shown < p->segmentCount) {
        EtwTextPrintf(out, "%26s%zu more, shorter than a hundredth, or later\n", "",
                p->segmentCount - shown);
    }
    EtwTextFree(&what);
}

void EtwPathText(const EtwPath *p, EtwText *out)
{
    EtwTextStr(out, "-- ");
    EtwAddTime(out, (double)wallOf(p), 3, "us");
    EtwTextStr(out, " from ");
    addPoint(out, &p->points[0]);
    EtwTextStr(out, " to ");
    addPoint(out, &p->points[1]);
    EtwTextPrintf(out, ", %zu segment%s\n", p->segmentCount, p->segmentCount == 1 ? "" : "s");
    addCauses(out, p);
    addSegments(out, p);
}

/* ---- json ------------------------------------------------------------------------------------------- */

static void addJsonText(EtwText *out, const char *key, const char *text)
{
    if (text != NULL) {
        EtwTextPrintf(out, ",\"%s\":", key);
        EtwAddJsonStr(out, text);
    }
}

static void addJsonThread(EtwText *out, uint32_t pid, uint32_t tid, const char *process)
{
    if (pid != ETW_NO_ID) {
        EtwTextPrintf(out, ",\"pid\":%u", pid);
    }
    EtwTextPrintf(out, ",\"tid\":%u", tid);
    addJsonText(out, "process", process);
}

static void addJsonPoint(EtwText *out, const char *key, const EtwPathPoint *point)
{
    EtwTextPrintf(out, "\"%s\":{\"time\":%lld", key, (long long)point->time);
    addJsonThread(out, point->pid, point->tid, point->process);
    addJsonText(out, "provider", point->provider);
    addJsonText(out, "event", point->event);
    EtwTextStr(out, "},\n");
}

void EtwPathJson(const EtwPath *p, EtwText *out)
{
    size_t count;
    EtwPathCause *causes = EtwPathCauses(p, &count);
    EtwTextPrintf(out, "{\"wall\":%llu,\n", (unsigned long long)wallOf(p));
    addJsonPoint(out, "begin", &p->points[0]);
    addJsonPoint(out, "end", &p->points[1]);
    EtwTextStr(out, "\"causes\":[");
    for (size_t i = 0; i < count; i++) {
        EtwTextPrintf(out, "%s\n{\"ns\":%llu,\"times\":%llu,\"role\":\"%s\",\"kind\":\"%s\"",
                i > 0 ? "," : "", (unsigned long long)causes[i].ns,
                (unsigned long long)causes[i].count, EtwPathRoleName(causes[i].first->role),
                EtwPathKindName(causes[i].first->kind));
        addJsonText(out, "cause", causes[i].what);
        EtwTextChar(out, '}');
    }
    EtwPathCausesFree(causes, count);
    EtwTextStr(out, "],\n\"segments\":[");
    for (size_t i = 0; i < p->segmentCount; i++) {
        const EtwPathSegment *s = &p->segments[i];
        EtwTextPrintf(out,
                "%s\n{\"from\":%lld,\"to\":%lld,\"ns\":%llu,\"role\":\"%s\",\"kind\":\"%s\"",
                i > 0 ? "," : "", (long long)s->from, (long long)s->to,
                (unsigned long long)((uint64_t)s->to - (uint64_t)s->from), EtwPathRoleName(s->role),
                EtwPathKindName(s->kind));
        addJsonThread(out, s->pid, s->tid, s->process);
        addJsonText(out, "call", s->call);
        addJsonText(out, "syscall", s->syscall);
        if (s->by != 0) {
            EtwTextPrintf(out, ",\"by\":%u", s->by);
        }
        addJsonText(out, "byname", s->byName);
        if (s->role != ETW_PATH_WORK) {
            EtwTextStr(out, ",\"holder\":{\"tid\":");
            EtwTextPrintf(out, "%u", s->holderTid);
            if (s->holderPid != ETW_NO_ID) {
                EtwTextPrintf(out, ",\"pid\":%u", s->holderPid);
            }
            addJsonText(out, "process", s->holder);
            addJsonText(out, "call", s->holderCall);
            EtwTextChar(out, '}');
        }
        EtwTextChar(out, '}');
    }
    EtwTextStr(out, "]}\n");
}
