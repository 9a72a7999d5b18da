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
            "wait", "ready", "syscall", "move", "event", "queue", "counter"};
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

void EtwCostAdd(EtwCosts *costs, const EtwCost *cost)
{
    int i = 0;
    while (i < costs->count && costs->list[i].of != cost->of) {
        i++;
    }
    if (i == costs->capacity) {
        costs->capacity = costs->capacity ? 2 * costs->capacity : 4;
        costs->list = EtwRealloc(costs->list, (size_t)costs->capacity * sizeof *costs->list);
    }
    if (i == costs->count) {
        costs->list[costs->count++] = (EtwCost){.of = cost->of};
    }
    costs->list[i].count += cost->count;
    costs->list[i].ns += cost->ns;
    costs->list[i].bytes += cost->bytes;
}

void EtwCostAddAll(EtwCosts *costs, const EtwCosts *more)
{
    for (int i = 0; i < more->count; i++) {
        EtwCostAdd(costs, &more->list[i]);
    }
}

uint64_t EtwCostsWait(const EtwCosts *costs)
{
    uint64_t ns = 0;
    for (int i = 0; i < costs->count; i++) {
        EtwCostKind kind = costs->list[i].of->kind;
        ns += kind == ETW_COST_WAIT || kind == ETW_COST_READY ? costs->list[i].ns : 0;
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
    uint64_t hash = EtwHashMix(thread->serial, (uint64_t)(uintptr_t)row);
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
    uint64_t hash = EtwHashMix((uint64_t)(uintptr_t)parent, (uint64_t)(uintptr_t)row);
    EtwCallNode *node =
            c->base.config.single ? NULL : (EtwCallNode *)EtwTableFirst(&c->nodes, hash);
    while (node != NULL && (node->parent != parent || node->row != row)) {
        node = (EtwCallNode *)node->node.next;
    }
    if (node == NULL) {
        node = EtwAlloc(sizeof *node);
        node->parent = parent;
        node->row = row;
        linkChild(parent, node);
        EtwTableAdd(&c->nodes, &node->node, hash);
    }
    return node;
}
