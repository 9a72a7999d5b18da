/*
 * flow/calls/call_samples.c --
 *
 *	Sampled stacks as calls: the sampled functions, their numbers of samples, and the time that the samples represent.
 *	Calls between samples are unknown, so there are no times of single calls.
 */
#include "flow/calls/call_tree_int.h"

enum { COUNTERS = 16 }; /* at least as many as a sample has */

/* Parse a name and a number, separated by single blanks. */
static bool nextCounter(
        const char **atPtr, const char *end, char *name, size_t capacity, uint64_t *count)
{
    const char *at = *atPtr, *blank = at < end ? memchr(at, ' ', (size_t)(end - at)) : NULL;
    size_t size = blank != NULL ? (size_t)(blank - at) : 0;
    if (size == 0 || size >= capacity) {
        return false;
    }
    memcpy(name, at, size);
    name[size] = 0;
    *count = 0;
    for (at = blank + 1; at < end && *at >= '0' && *at <= '9'; at++) {
        *count = *count * 10 + (uint64_t)(*at - '0');
    }
    *atPtr = at < end ? at + 1 : at;
    return true;
}

typedef struct Counters {
    EtwCost list[COUNTERS];
    int count;
} Counters;

static void takeCounters(Calls *c, const CallSample *sample, Counters *counters)
{
    const char *at = sample->counters, *end = at + sample->countersSize;
    char name[40];
    uint64_t count;
    while (counters->count < COUNTERS && nextCounter(&at, end, name, sizeof name, &count)) {
        counters->list[counters->count++] =
                (EtwCost){.of = EtwCostClassOf(c, ETW_COST_COUNTER, name), .count = count};
    }
}

static void addCounters(EtwCosts *costs, const Counters *counters)
{
    for (int i = 0; i < counters->count; i++) {
        if (counters->list[i].count > 0) {
            EtwCostAdd(costs, &counters->list[i]);
        }
    }
}

/* Count a sample; countOwn also counts it as the leaf's own. */
static void count(EtwCallStats *stats, uint64_t ns, const Counters *counters)
{
    stats->calls++;
    stats->total += ns;
    addCounters(&stats->all, counters);
}

static void countOwn(EtwCallStats *stats, uint64_t ns, const Counters *counters)
{
    stats->self += ns;
    addCounters(&stats->own, counters);
}

/*
 * A row counts a stack once, even if it occurs in it several times. A node is a position in the
 * stack.
 */
static EtwCallNode *countFrame(Calls *c, EtwCallNode *parent, EtwCallRow *row,
        const CallSample *sample, const Counters *counters)
{
    row->profiled = true;
    if (row->sample != c->serials) {
        row->sample = c->serials;
        count(&row->stats, sample->ns, counters);
    }
    if (!c->base.config.tree) {
        return parent;
    }
    EtwCallNode *node = EtwCallNodeOf(c, parent, row);
    if (node == parent) {
        c->base.folded++;
        return node; /* already counted for this sample */
    }
    node->start = node->stats.calls == 0 ? sample->time : node->start;
    count(&node->stats, sample->ns, counters);
    return node;
}

/* Skip the callers of the proc. False: the stack does not contain it. */
static bool skipTo(const char *proc, const char **atPtr, const char *end)
{
    size_t size = proc != NULL ? strlen(proc) : 0;
    for (const char *at = *atPtr; proc != NULL;) {
        const char *next = memchr(at, ';', (size_t)(end - at));
        if ((size_t)((next ? next : end) - at) == size && memcmp(at, proc, size) == 0) {
            *atPtr = at;
            return true;
        }
        if (next == NULL) {
            return false;
        }
        at = next + 1;
    }
    return true;
}

void EtwCallSample(Calls *c, CallThread *t, const CallSample *sample)
{
    const char *at = sample->stack, *end = at + sample->stackSize;
    EtwCallNode *node = t->root;
    Counters counters = {.count = 0};
    if (!skipTo(c->base.config.under, &at, end)) {
        return;
    }
    takeCounters(c, sample, &counters);
    c->serials++;
    c->base.calls++;
    count(&node->stats, sample->ns, &counters);
    t->last = sample->time > t->last ? sample->time : t->last;
    while (at < end) {
        const char *next = memchr(at, ';', (size_t)(end - at));
        EtwCallRow *row = EtwCallRowOf(c, at, (size_t)((next ? next : end) - at));
        node = countFrame(c, node, row, sample, &counters);
        if (next == NULL) {
            countOwn(&row->stats, sample->ns, &counters);
            if (c->base.config.tree) {
                countOwn(&node->stats, sample->ns, &counters);
            }
        }
        at = next ? next + 1 : end;
    }
    if (c->base.config.watch.sampled != NULL && node != t->root) {
        c->base.config.watch.sampled(
                c->base.config.watch.ctx, t->root, sample->time, node, sample->ns);
    }
}
