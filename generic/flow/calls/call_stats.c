/*
 * flow/calls/call_stats.c --
 *
 *	The counters of calls: rows, nodes of the tree, costs. histogram.c implements the histograms
 *	of durations.
 */
#include "flow/calls/call_tree_int.h"

/* ---- Costs ----------------------------------------------------------------------------------- */

const char *EtwCostKindName(EtwCostKind kind)
{
    static const char *const names[ETW_COST_KINDS] = {
            "wait", "ready", "block", "syscall", "move", "event", "queue", "counter"};
    return names[kind];
}

/* Limits the number of names; further names share one class. */
enum { CLASSES_MAX = 512 };

const EtwCostClass *EtwCostClassOf(Calls *c, EtwCostKind kind, const char *name)
{
    const char *use = c->classCount < CLASSES_MAX ? name : "other";
    for (;;) {
        uint64_t hash = EtwHashBytes((uint64_t)kind, (const uint8_t *)name, strlen(name));
        EtwCostClass *k = (EtwCostClass *)EtwTableFirst(&c->classes, hash);
        while (k != NULL && (k->kind != kind || strcmp(k->name, name) != 0)) {
            k = (EtwCostClass *)k->node.next;
        }
        if (k == NULL && name == use) {
            k = EtwAlloc(sizeof *k);
            k->kind = kind;
            k->order = c->classCount++;
            k->name = EtwStrdup(name);
            EtwTableAdd(&c->classes, &k->node, hash);
        }
        if (k != NULL) {
            return k;
        }
        name = use;
    }
}

static void costsReserve(EtwCosts *costs, int count)
{
    if (count > costs->capacity) {
        costs->capacity = count > 2 * costs->capacity ? count + 3 : 2 * costs->capacity;
        costs->list = EtwRealloc(costs->list, (size_t)costs->capacity * sizeof *costs->list);
    }
}

static void addCost(EtwCost *to, const EtwCost *cost)
{
    to->count += cost->count;
    to->ns += cost->ns;
    to->bytes += cost->bytes;
    to->waited += cost->waited;
    to->errors += cost->errors;
}

/* The index of the first cost whose class is not before the given one. */
static int costIndex(const EtwCosts *costs, const EtwCost *cost)
{
    int low = 0, high = costs->count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (costs->list[middle].of->order < cost->of->order) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void EtwCostAdd(EtwCosts *costs, const EtwCost *cost)
{
    int i = costIndex(costs, cost);
    if (i == costs->count || costs->list[i].of != cost->of) {
        costsReserve(costs, costs->count + 1);
        memmove(&costs->list[i + 1], &costs->list[i],
                (size_t)(costs->count - i) * sizeof *costs->list);
        costs->list[i] = (EtwCost){.of = cost->of};
        costs->count++;
    }
    addCost(&costs->list[i], cost);
}

/* The number of classes of `more` that the costs do not contain. */
static int missingClasses(const EtwCosts *costs, const EtwCosts *more)
{
    int missing = 0;
    for (int i = 0, j = 0; j < more->count; j++) {
        while (i < costs->count && costs->list[i].of->order < more->list[j].of->order) {
            i++;
        }
        missing += i == costs->count || costs->list[i].of != more->list[j].of;
    }
    return missing;
}

/* Both lists are sorted: merged in one pass, from the end, in place. */
static void mergeCosts(EtwCosts *costs, const EtwCosts *more)
{
    int i = costs->count - 1, j = more->count - 1, to = costs->count + missingClasses(costs, more);
    costsReserve(costs, to);
    costs->count = to;
    while (j >= 0) {
        const EtwCost *cost = &more->list[j];
        if (i >= 0 && costs->list[i].of->order >= cost->of->order) {
            costs->list[--to] = costs->list[i--];
        } else {
            costs->list[--to] = (EtwCost){.of = cost->of};
        }
        if (costs->list[to].of == cost->of) {
            addCost(&costs->list[to], cost);
            j--;
        }
    }
}

void EtwCostAddAll(EtwCosts *costs, const EtwCosts *more)
{
    enum { FEW = 8 };
    if (more->count > FEW) {
        mergeCosts(costs, more);
        return;
    }
    for (int i = 0; i < more->count; i++) {
        EtwCostAdd(costs, &more->list[i]);
    }
}

uint64_t EtwCostsWait(const EtwCosts *costs)
{
    uint64_t ns = 0;
    for (int i = 0; i < costs->count; i++) {
        ns += costs->list[i].waited;
    }
    return ns;
}

/* The middle of a bucket may be outside of the range of the values in it. */
uint64_t EtwCallTimeAt(const EtwCallRow *row, double share)
{
    uint64_t ns = EtwHistogramAt(&row->times, share);
    ns = ns < row->stats.min ? row->stats.min : ns;
    return ns > row->stats.max ? row->stats.max : ns;
}

void EtwCallStatsFree(EtwCallStats *stats)
{
    EtwFree(stats->own.list);
    EtwFree(stats->all.list);
}

/* ---- Rows and nodes -------------------------------------------------------------------------- */

EtwCallRow *EtwCallRowFind(Calls *c, const char *name, size_t size)
{
    uint64_t hash = EtwHashBytes(0, (const uint8_t *)name, size);
    EtwCallRow *row = (EtwCallRow *)EtwTableFirst(&c->rows, hash);
    while (row != NULL && (row->nameSize != size || memcmp(row->name, name, size) != 0)) {
        row = (EtwCallRow *)row->node.next;
    }
    return row;
}

EtwCallRow *EtwCallRowOf(Calls *c, const char *name, size_t size)
{
    EtwCallRow *row = EtwCallRowFind(c, name, size);
    if (row == NULL) {
        row = EtwAlloc(sizeof *row);
        row->name = EtwAlloc(size + 1);
        memcpy(row->name, name, size);
        row->nameSize = size;
        row->order = (int)c->rows.count;
        *c->rowsEnd = row;
        c->rowsEnd = &row->next;
        EtwTableAdd(&c->rows, &row->node, EtwHashBytes(0, (const uint8_t *)name, size));
    }
    return row;
}

CallUse *EtwCallUseOf(Calls *c, const CallThread *thread, EtwCallRow *row)
{
    uint64_t hash = EtwHashMix(EtwHashNumber(thread->serial), (uint64_t)(uintptr_t)row);
    CallUse *use = (CallUse *)EtwTableFirst(&c->uses, hash);
    while (use != NULL && (use->thread != thread || use->row != row)) {
        use = (CallUse *)use->node.next;
    }
    if (use == NULL) {
        use = EtwAlloc(sizeof *use);
        use->thread = thread;
        use->row = row;
        EtwTableAdd(&c->uses, &use->node, hash);
    }
    return use;
}

static void linkChild(EtwCallNode *parent, EtwCallNode *node)
{
    if (parent->last != NULL) {
        parent->last->next = node;
    } else {
        parent->first = node;
    }
    parent->last = node;
}

EtwCallNode *EtwCallNodeOf(Calls *c, EtwCallNode *parent, const EtwCallRow *row)
{
    bool deeper = parent->level == ETW_CALL_LEVELS - 1, single = c->base.config.single && !deeper;
    if (parent->level == ETW_CALL_LEVELS) {
        return parent;
    }
    if (deeper) {
        row = EtwCallRowOf(c, ETW_CALL_DEEPER, strlen(ETW_CALL_DEEPER));
    }
    uint64_t hash = EtwHashMix(EtwHashPointer(parent), (uint64_t)(uintptr_t)row);
    EtwCallNode *node = single ? NULL : (EtwCallNode *)EtwTableFirst(&c->nodes, hash);
    while (node != NULL && (node->parent != parent || node->row != row)) {
        node = (EtwCallNode *)node->node.next;
    }
    if (node == NULL) {
        node = EtwAlloc(sizeof *node);
        node->parent = parent;
        node->row = row;
        node->level = parent->level + 1;
        node->text = deeper && c->base.config.single ? EtwStrdup(row->name) : NULL;
        linkChild(parent, node);
        EtwTableAdd(&c->nodes, &node->node, hash);
    }
    return node;
}
