/*
 * flow/calls/call_report.c --
 *
 *	Profiles and trees as readable text, csv and json. flame.c writes folded stacks.
 */
#include "flow/calls/call_tree.h"
#include "flow/render/columns.h"
#include "flow/render/escape.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- Order ----------------------------------------------------------------------------------- */

static uint64_t sortKey(const EtwCallStats *s, const EtwCallRow *row, EtwCallSort sort)
{
    switch (sort) {
    case ETW_SORT_TOTAL:
        return s->total;
    case ETW_SORT_CALLS:
        return s->calls;
    case ETW_SORT_WAIT:
        return EtwCostsWait(&s->own);
    case ETW_SORT_ERRORS:
        return s->errors;
    case ETW_SORT_MIN:
        return s->min;
    case ETW_SORT_P50:
        return row != NULL ? EtwCallTimeAt(row, 0.5) : s->total;
    case ETW_SORT_P99:
        return row != NULL ? EtwCallTimeAt(row, 0.99) : s->total;
    case ETW_SORT_MAX:
        return s->max;
    case ETW_SORT_NAME:
        return 0;
    default:
        return s->self;
    }
}

/* What is sorted: rows, or nodes. */
typedef struct Sorted {
    const void *item;
    const char *name;
    uint64_t key;
    int64_t start;
    bool last;
} Sorted;

static int byKey(const void *a, const void *b)
{
    const Sorted *x = a, *y = b;
    if (x->last != y->last) {
        return x->last ? 1 : -1;
    }
    if (x->key != y->key) {
        return x->key > y->key ? -1 : 1;
    }
    return x->start != y->start ? (x->start < y->start ? -1 : 1) : strcmp(x->name, y->name);
}

/* The items of *list, which is freed, in an array that the caller frees: at most `top`. */
static void *takeSorted(EtwText *list, bool sort, size_t top, size_t *countPtr, size_t *hiddenPtr)
{
    size_t count = list->size / sizeof(Sorted);
    const Sorted *sorted = (const Sorted *)(void *)list->data;
    size_t shown = top > 0 && top < count ? top : count;
    const void **items = EtwAlloc((shown + 1) * sizeof *items);
    if (sort && count > 1) {
        qsort(list->data, count, sizeof(Sorted), byKey);
    }
    for (size_t i = 0; i < shown; i++) {
        items[i] = sorted[i].item;
    }
    EtwTextFree(list);
    *countPtr = shown;
    if (hiddenPtr != NULL) {
        *hiddenPtr += count - shown;
    }
    return items;
}

static uint64_t sumSelf(const EtwCalls *calls, bool idle)
{
    uint64_t sum = 0;
    for (const EtwCallRow *row = calls->rows; row != NULL; row = row->next) {
        sum += row->profiled && row->idle == idle ? row->stats.self : 0;
    }
    return sum;
}

void EtwCallThreadName(const EtwCallNode *thread, EtwText *out)
{
    EtwTextPrintf(out, "%s%s%u/%u", thread->process ? thread->process : "",
            thread->process ? " " : "", thread->pid, thread->tid);
}

uint64_t EtwCallsWork(const EtwCalls *calls)
{
    return sumSelf(calls, false);
}

uint64_t EtwCallsIdle(const EtwCalls *calls)
{
    return sumSelf(calls, true);
}

static double percent(uint64_t part, uint64_t all)
{
    return all > 0 ? 100.0 * (double)part / (double)all : 0;
}

const EtwCallRow **EtwCallRows(const EtwCalls *calls, size_t *countPtr, size_t *hiddenPtr)
{
    const EtwCallsView *view = &calls->config.view;
    uint64_t work = EtwCallsWork(calls);
    EtwText list = {0};
    size_t hidden = 0;
    for (const EtwCallRow *row = calls->rows; row != NULL; row = row->next) {
        if (!row->profiled) {
            continue;
        }
        if (view->min > 0 && percent(row->stats.self, work) < view->min) {
            hidden++;
            continue;
        }
        Sorted sorted = {.item = row,
                .name = row->name,
                .key = sortKey(&row->stats, row, view->sort),
                .last = row->idle};
        EtwTextAdd(&list, &sorted, sizeof sorted);
    }
    if (hiddenPtr != NULL) {
        *hiddenPtr = hidden;
    }
    return takeSorted(&list, true, view->top, countPtr, hiddenPtr);
}

static const EtwCallNode *threadOf(const EtwCallNode *node)
{
    while (node->parent != NULL) {
        node = node->parent;
    }
    return node;
}

const EtwCallNode **EtwCallChildren(
        const EtwCalls *calls, const EtwCallNode *node, size_t *countPtr, size_t *hiddenPtr)
{
    static const EtwCallsView everything = {0};
    const EtwCallsView *view = calls != NULL ? &calls->config.view : &everything;
    EtwCallSort sort = view->sort == ETW_SORT_SELF ? ETW_SORT_TOTAL : view->sort;
    uint64_t all = view->min > 0 ? threadOf(node)->stats.total : 0;
    bool single = node->first != NULL && node->first->text != NULL;
    EtwText list = {0};
    size_t hidden = 0;
    for (const EtwCallNode *n = node->first; n != NULL; n = n->next) {
        if ((view->depth > 0 && node->level >= view->depth) ||
                (view->min > 0 && percent(n->stats.total, all) < view->min)) {
            hidden++;
            continue;
        }
        Sorted sorted = {.item = n,
                .name = n->row->name,
                .key = sortKey(&n->stats, NULL, sort),
                .start = sort == ETW_SORT_NAME ? 0 : n->start};
        EtwTextAdd(&list, &sorted, sizeof sorted);
    }
    if (hiddenPtr != NULL) {
        *hiddenPtr = hidden;
    }
    return takeSorted(&list, !single, view->top, countPtr, hiddenPtr);
}

static int byTime(const void *a, const void *b)
{
    const EtwCost *x = *(const EtwCost *const *)a, *y = *(const EtwCost *const *)b;
    if (x->ns != y->ns) {
        return x->ns > y->ns ? -1 : 1;
    }
    return x->of->order - y->of->order;
}

const EtwCost **EtwCallCosts(const EtwCosts *costs, size_t *countPtr)
{
    const EtwCost **list = EtwAlloc(((size_t)costs->count + 1) * sizeof(EtwCost *));
    for (int i = 0; i < costs->count; i++) {
        list[i] = &costs->list[i];
    }
    qsort(list, (size_t)costs->count, sizeof *list, byTime);
    *countPtr = (size_t)costs->count;
    return list;
}

EtwCostRow *EtwCallCostRows(const EtwCosts *costs, bool sums, size_t *countPtr)
{
    size_t count, used = 0;
    const EtwCost **list = EtwCallCosts(costs, &count);
    EtwCostRow *rows = EtwAlloc((count + ETW_COST_KINDS) * sizeof *rows);
    int at[ETW_COST_KINDS]; /* -1: no row yet */
    memset(at, -1, sizeof at);
    for (size_t i = 0; i < count; i++) {
        const EtwCost *c = list[i];
        if (!sums || at[c->of->kind] < 0) {
            at[c->of->kind] = (int)used;
            rows[used++] = (EtwCostRow){.kind = EtwCostKindName(c->of->kind),
                    .what = sums ? ETW_COST_ALL : c->of->name};
        }
        EtwCostRow *row = &rows[at[c->of->kind]];
        row->count += c->count;
        row->ns += c->ns;
        row->bytes += c->bytes;
    }
    EtwFree(list);
    *countPtr = used;
    return rows;
}

/* ---- Events that were left out --------------------------------------------------------------- */

const char *EtwCallsLeftKind(const EtwCalls *calls, int index, uint64_t *countPtr)
{
    const struct {
        const char *name;
        uint64_t count;
    } kinds[] = {{"unknown", calls->left.unknown}, {"own", calls->left.own},
            {"threadless", calls->left.threadless},
            {calls->config.samples ? "calls" : "samples", calls->left.samples}};
    if (index >= (int)(sizeof kinds / sizeof *kinds)) {
        return NULL;
    }
    *countPtr = kinds[index].count;
    return kinds[index].name;
}

void EtwCallsLeftText(const EtwCalls *calls, EtwText *out)
{
    const char *const reasons[] = {"without a known schema", "of the session itself",
            "of threads without calls",
            calls->config.samples ? "that are not samples" : "that are samples (see -by sample)"};
    const char *separator = "-- left out: ";
    uint64_t count;
    for (int i = 0; EtwCallsLeftKind(calls, i, &count) != NULL; i++) {
        if (count > 0) {
            EtwTextPrintf(out, "%s%llu event%s %s", separator, (unsigned long long)count,
                    count == 1 ? "" : "s", reasons[i]);
            separator = ", ";
        }
    }
    EtwTextStr(out, *separator == ',' ? "\n" : "");
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

static void addPercent(EtwText *out, double share)
{
    size_t from = out->size;
    EtwTextPrintf(out, share > 0 && share < 0.05 ? "<0.1%%" : "%.1f%%", share);
    EtwColumnRight(out, from, 7);
}

static bool knowsWaits(const EtwCalls *calls)
{
    return calls->waits > 0 || calls->blocks > 0;
}

/* Total and self time; each followed by its waiting time if waits are known. Shares below 0 are not shown. */
static void addTimes(
        EtwText *out, const EtwCalls *calls, const EtwCallStats *s, double ofTotal, double ofSelf)
{
    EtwAddTimeColumn(out, s->total);
    if (ofTotal >= 0) {
        addPercent(out, ofTotal);
    }
    if (knowsWaits(calls)) {
        EtwAddTimeColumn(out, EtwCostsWait(&s->all));
    }
    EtwAddTimeColumn(out, s->self);
    if (ofSelf >= 0) {
        addPercent(out, ofSelf);
    }
    if (knowsWaits(calls)) {
        EtwAddTimeColumn(out, EtwCostsWait(&s->own));
    }
}

static void addTimeHeads(EtwText *out, const EtwCalls *calls, bool ofTotal)
{
    bool waits = knowsWaits(calls);
    EtwTextPrintf(out, "    calls       total%s%s        self%s%s", ofTotal ? " total%" : "",
            waits ? "       waits" : "", ofTotal ? "" : "  self%", waits ? "  self waits" : "");
}

/* "waited in poll", "system call read", "tcp send", "Linux-tcpip Connect" */
static void addWhat(EtwText *out, const EtwCost *cost)
{
    const char *name = cost->of->name;
    switch (cost->of->kind) {
    case ETW_COST_WAIT:
        EtwTextStr(out, *name ? "waited in " : "waited");
        break;
    case ETW_COST_READY:
        EtwTextStr(out, "waited for a CPU");
        break;
    case ETW_COST_BLOCK:
        EtwTextStr(out, "waited in ");
        break;
    case ETW_COST_SYSCALL:
        EtwTextStr(out, "system call ");
        break;
    case ETW_COST_QUEUE:
        EtwTextStr(out, "waited in the queue");
        break;
    default:
        break;
    }
    EtwAddSafeStr(out, name);
}

static void addMarks(EtwText *out, const EtwCallStats *s)
{
    const struct {
        uint64_t count;
        const char *what;
    } marks[] = {{s->errors, "error"}, {s->cut, "cut"}, {s->asleep, "asleep"}, {s->lost, "lost"}};
    for (int i = 0; i < 4; i++) {
        if (marks[i].count > 0) {
            EtwTextPrintf(out, "  !%s", marks[i].what);
        }
        if (marks[i].count > 1) {
            EtwTextPrintf(out, " x%llu", (unsigned long long)marks[i].count);
        }
    }
}

/* ---- The profile ----------------------------------------------------------------------------- */

static void addRow(EtwText *out, const EtwCalls *calls, const EtwCallRow *row, uint64_t work)
{
    const EtwCallStats *s = &row->stats;
    EtwTextPrintf(out, "%9llu", (unsigned long long)s->calls);
    addTimes(out, calls, s, -1, percent(s->self, work));
    EtwAddTimeColumn(out, s->min);
    EtwAddTimeColumn(out, EtwCallTimeAt(row, 0.5));
    EtwAddTimeColumn(out, EtwCallTimeAt(row, 0.99));
    EtwAddTimeColumn(out, s->max);
    EtwTextStr(out, "  ");
    EtwAddSafeStr(out, row->name);
    addMarks(out, s);
    if (row->text != NULL) {
        EtwTextStr(out, "  ");
        EtwAddSafeStr(out, row->text);
    }
    EtwTextChar(out, '\n');
}

static void addHidden(EtwText *out, size_t hidden, const char *what)
{
    if (hidden > 0) {
        EtwTextPrintf(out, "%9zu more %s%s (see -top, -min%s)\n", hidden, what,
                hidden == 1 ? "" : "s", strcmp(what, "call") == 0 ? ", -depth" : "");
    }
}

typedef struct CostRow {
    const EtwCallRow *row;
    const EtwCost *cost;
} CostRow;

static int byCost(const void *a, const void *b)
{
    const CostRow *x = a, *y = b;
    bool xMoves = x->cost->of->kind == ETW_COST_MOVE, yMoves = y->cost->of->kind == ETW_COST_MOVE;
    if (xMoves != yMoves) {
        return xMoves ? -1 : 1;
    }
    if (x->cost->ns != y->cost->ns) {
        return x->cost->ns > y->cost->ns ? -1 : 1;
    }
    if (x->cost->bytes != y->cost->bytes) {
        return x->cost->bytes > y->cost->bytes ? -1 : 1;
    }
    int order = strcmp(x->row->name, y->row->name);
    return order ? order : x->cost->of->order - y->cost->of->order;
}

static void addCostRow(EtwText *out, const CostRow *paid)
{
    EtwTextPrintf(out, "%9llu", (unsigned long long)paid->cost->count);
    if (paid->cost->ns > 0) {
        EtwAddTimeColumn(out, paid->cost->ns);
    } else {
        EtwTextPrintf(out, "%12s", "");
    }
    EtwTextStr(out, "  ");
    EtwAddSafeStr(out, paid->row->name);
    EtwTextStr(out, ": ");
    addWhat(out, paid->cost);
    if (paid->cost->bytes > 0) {
        EtwTextStr(out, ", ");
        EtwAddVolume(out, paid->cost->bytes);
    }
    EtwTextChar(out, '\n');
}

/* The largest costs that rows have themselves: either waits, or all others. */
static void addCostRows(EtwText *out, const EtwCalls *calls, bool waits, const char *title)
{
    enum { SHOWN = 30 };
    EtwText list = {0};
    for (const EtwCallRow *row = calls->rows; row != NULL; row = row->next) {
        for (int i = 0; i < row->stats.own.count; i++) {
            const EtwCost *cost = &row->stats.own.list[i];
            if (waits == (cost->of->kind <= ETW_COST_BLOCK)) {
                EtwTextAdd(&list, &(CostRow){row, cost}, sizeof(CostRow));
            }
        }
    }
    size_t count = list.size / sizeof(CostRow);
    if (count > 0) {
        qsort(list.data, count, sizeof(CostRow), byCost);
        EtwTextPrintf(out, "\n%9s%12s  %s\n", "times", "time", title);
    }
    for (size_t i = 0; i < count && i < SHOWN; i++) {
        addCostRow(out, &((const CostRow *)(void *)list.data)[i]);
    }
    if (count > SHOWN) {
        EtwTextPrintf(out, "%9s%12s  %d more\n", "", "", (int)(count - SHOWN));
    }
    EtwTextFree(&list);
}

void EtwCallsProfileText(const EtwCalls *calls, EtwText *out)
{
    size_t count, hidden;
    const EtwCallRow **rows = EtwCallRows(calls, &count, &hidden);
    uint64_t work = EtwCallsWork(calls), idle = EtwCallsIdle(calls);
    addTimeHeads(out, calls, false);
    EtwTextPrintf(out, "%12s%12s%12s%12s  %s\n", "min", "p50", "p99", "max",
            calls->config.byLine ? "line" : "proc");
    for (size_t i = 0; i < count; i++) {
        if (rows[i]->idle && (i == 0 || !rows[i - 1]->idle)) {
            EtwTextStr(out, "          idle, in the event loop:\n");
        }
        addRow(out, calls, rows[i], rows[i]->idle ? idle : work);
    }
    addHidden(out, hidden, calls->config.byLine ? "line" : "proc");
    EtwFree(rows);
    addCostRows(out, calls, true, "waits of the proc itself");
    addCostRows(out, calls, false, "and what else happened in it");
}

/* ---- The tree -------------------------------------------------------------------------------- */

static void addCosts(EtwText *out, const EtwCosts *costs)
{
    enum { SHOWN = 3 };
    size_t count, shown = 0;
    const EtwCost **list = EtwCallCosts(costs, &count);
    for (size_t i = 0; i < count; i++) {
        const EtwCost *c = list[i];
        if (c->of->kind == ETW_COST_SYSCALL || (c->of->kind <= ETW_COST_BLOCK && c->ns < 1000)) {
            continue; /* shown only by the waits that they caused */
        }
        if (shown++ == SHOWN) {
            EtwTextStr(out, "; ...");
            break;
        }
        EtwTextStr(out, shown == 1 ? "  [" : "; ");
        addWhat(out, c);
        if (c->ns > 0) {
            EtwTextChar(out, ' ');
            EtwAddTime(out, (double)c->ns, 3, "us");
        }
        if (c->bytes > 0) {
            EtwTextChar(out, ' ');
            EtwAddVolume(out, c->bytes);
        }
        if (c->count > 1) {
            EtwTextPrintf(out, " x%llu", (unsigned long long)c->count);
        }
    }
    EtwTextStr(out, shown > 0 ? "]" : "");
    EtwFree(list);
}

static void addNode(EtwText *out, const EtwCalls *calls, const EtwCallNode *node, int depth)
{
    enum { DEEPEST = 60 };
    EtwTextPrintf(out, "%9llu", (unsigned long long)node->stats.calls);
    addTimes(out, calls, &node->stats, percent(node->stats.total, threadOf(node)->stats.total), -1);
    EtwTextStr(out, "  ");
    for (int i = 0; i < depth && i < DEEPEST; i++) {
        EtwTextStr(out, "| ");
    }
    if (depth > DEEPEST) {
        EtwTextPrintf(out, "+%d ", depth - DEEPEST);
    }
    EtwAddSafeStr(out, node->text ? node->text : node->row->name);
    addMarks(out, &node->stats);
    addCosts(out, &node->stats.own);
    EtwTextChar(out, '\n');
}

static void addThread(EtwText *out, const EtwCalls *calls, const EtwCallNode *thread)
{
    EtwTextStr(out, "-- ");
    if (thread->process != NULL) {
        EtwAddSafeStr(out, thread->process);
        EtwTextChar(out, ' ');
    }
    EtwTextPrintf(out, "pid %u thread %u: %llu %s", thread->pid, thread->tid,
            (unsigned long long)thread->stats.calls, thread->stats.calls == 1 ? "call" : "calls");
    addCosts(out, &thread->stats.own);
    EtwTextChar(out, '\n');
    addTimeHeads(out, calls, true);
    EtwTextStr(out, "  call\n");
}

typedef void Visit(EtwText *out, const EtwCalls *calls, const EtwCallNode *node, int depth);

/* A tree may be deeper than this thread's stack allows for recursion. */
typedef struct Level {
    const EtwCallNode **list;
    size_t count, at, hidden;
} Level;

static void pushLevel(EtwText *levels, const EtwCalls *calls, const EtwCallNode *node)
{
    Level level = {.at = 0};
    level.list = EtwCallChildren(calls, node, &level.count, &level.hidden);
    EtwTextAdd(levels, &level, sizeof level);
}

/*
 * Call `enter` before and `leave` (may be NULL) after a node's children. Returns the number of
 * calls that the view hides, without those that they make.
 */
static size_t walk(
        const EtwCalls *calls, const EtwCallNode *root, Visit *enter, Visit *leave, EtwText *out)
{
    EtwText levels = {0};
    size_t hidden = 0;
    pushLevel(&levels, calls, root);
    while (levels.size > 0) {
        int depth = (int)(levels.size / sizeof(Level)) - 1;
        Level *top = (Level *)(void *)levels.data + depth;
        if (top->at < top->count) {
            const EtwCallNode *node = top->list[top->at++];
            enter(out, calls, node, depth);
            pushLevel(&levels, calls, node);
            continue;
        }
        hidden += top->hidden;
        EtwFree(top->list);
        levels.size -= sizeof(Level);
        if (leave != NULL && depth > 0) {
            const Level *above = (const Level *)(void *)levels.data + depth - 1;
            leave(out, calls, above->list[above->at - 1], depth - 1);
        }
    }
    EtwTextFree(&levels);
    return hidden;
}

void EtwCallsTreeText(const EtwCalls *calls, EtwText *out)
{
    for (const EtwCallNode *t = calls->threads; t != NULL; t = t->next) {
        if (t != calls->threads) {
            EtwTextChar(out, '\n');
        }
        addThread(out, calls, t);
        addHidden(out, walk(calls, t, addNode, NULL, out), "call");
    }
}

/* ---- csv ------------------------------------------------------------------------------------- */

static void addNumbers(EtwText *out, const uint64_t *numbers, int count)
{
    for (int i = 0; i < count; i++) {
        EtwTextChar(out, ',');
        EtwTextDecimal(out, numbers[i]);
    }
}

void EtwCallsProfileCsv(const EtwCalls *calls, EtwText *out)
{
    size_t count;
    const EtwCallRow **rows = EtwCallRows(calls, &count, NULL);
    EtwTextPrintf(out, "%s,calls,total,self,wait,min,p50,p99,max,errors,cut,asleep,lostleaves\n",
            calls->config.byLine ? "line" : "proc");
    for (size_t i = 0; i < count; i++) {
        const EtwCallStats *s = &rows[i]->stats;
        uint64_t p50 = EtwCallTimeAt(rows[i], 0.5);
        uint64_t p99 = EtwCallTimeAt(rows[i], 0.99);
        EtwAddCsv(out, rows[i]->name);
        addNumbers(out,
                (uint64_t[]){s->calls, s->total, s->self, EtwCostsWait(&s->own), s->min, p50, p99,
                        s->max, s->errors, s->cut, s->asleep, s->lost},
                12);
        EtwTextChar(out, '\n');
    }
    EtwFree(rows);
}

static void addCsvNode(EtwText *out, const EtwCalls *calls, const EtwCallNode *node, int depth)
{
    const EtwCallNode *thread = threadOf(node);
    const EtwCallStats *s = &node->stats;
    (void)calls;
    EtwTextPrintf(out, "%u,%u,%d,", thread->pid, thread->tid, depth + 1);
    EtwAddCsv(out, node->text ? node->text : node->row->name);
    addNumbers(out,
            (uint64_t[]){(uint64_t)node->start, s->calls, s->total, s->self, EtwCostsWait(&s->own),
                    s->errors, s->cut, s->asleep, s->lost},
            9);
    EtwTextChar(out, '\n');
}

void EtwCallsTreeCsv(const EtwCalls *calls, EtwText *out)
{
    EtwTextStr(
            out, "pid,tid,depth,call,start,calls,total,self,wait,errors,cut,asleep,lostleaves\n");
    for (const EtwCallNode *t = calls->threads; t != NULL; t = t->next) {
        walk(calls, t, addCsvNode, NULL, out);
    }
}

/* ---- json ------------------------------------------------------------------------------------ */

static void addKey(EtwText *out, const char *key, uint64_t value)
{
    EtwTextPrintf(out, ",\"%s\":%llu", key, (unsigned long long)value);
}

static void addJsonCosts(
        EtwText *out, const EtwCalls *calls, const char *key, const EtwCosts *costs)
{
    enum { ROW = 100 /* about, in bytes */ };
    size_t count;
    bool sums = out->size / ROW > ETW_COST_ROWS + calls->events;
    EtwCostRow *rows = EtwCallCostRows(costs, sums, &count);
    EtwTextPrintf(out, ",\"%s\":[", key);
    for (size_t i = 0; i < count; i++) {
        EtwTextPrintf(out, "%s{\"kind\":\"%s\",\"what\":", i > 0 ? "," : "", rows[i].kind);
        EtwAddJsonStr(out, rows[i].what);
        addKey(out, "count", rows[i].count);
        addKey(out, "ns", rows[i].ns);
        addKey(out, "bytes", rows[i].bytes);
        EtwTextChar(out, '}');
    }
    EtwTextChar(out, ']');
    EtwFree(rows);
}

static void addJsonStats(EtwText *out, const EtwCalls *calls, const EtwCallStats *s)
{
    addKey(out, "calls", s->calls);
    addKey(out, "total", s->total);
    addKey(out, "self", s->self);
    addKey(out, "wait", EtwCostsWait(&s->own));
    addKey(out, "errors", s->errors);
    addKey(out, "cut", s->cut);
    addKey(out, "asleep", s->asleep);
    addKey(out, "lostleaves", s->lost);
    addJsonCosts(out, calls, "own", &s->own);
    addJsonCosts(out, calls, "all", &s->all);
}

static void addJsonRow(EtwText *out, const EtwCalls *calls, const EtwCallRow *row)
{
    EtwTextPrintf(out, "{\"%s\":", calls->config.byLine ? "line" : "proc");
    EtwAddJsonStr(out, row->name);
    addKey(out, "min", row->stats.min);
    addKey(out, "p50", EtwCallTimeAt(row, 0.5));
    addKey(out, "p99", EtwCallTimeAt(row, 0.99));
    addKey(out, "max", row->stats.max);
    addKey(out, "idle", row->idle);
    if (row->text != NULL) {
        EtwTextStr(out, ",\"text\":");
        EtwAddJsonStr(out, row->text);
    }
    addJsonStats(out, calls, &row->stats);
    EtwTextChar(out, '}');
}

static void beginJsonNode(EtwText *out, const EtwCalls *calls, const EtwCallNode *node, int depth)
{
    (void)calls, (void)depth;
    EtwTextStr(out, out->data[out->size - 1] == '[' ? "" : ",");
    EtwTextStr(out, "{\"call\":");
    EtwAddJsonStr(out, node->text ? node->text : node->row->name);
    addKey(out, "start", (uint64_t)node->start);
    addJsonStats(out, calls, &node->stats);
    EtwTextStr(out, ",\"children\":[");
}

static void endJsonNode(EtwText *out, const EtwCalls *calls, const EtwCallNode *node, int depth)
{
    (void)calls, (void)node, (void)depth;
    EtwTextStr(out, "]}");
}

static void addLeft(EtwText *out, const EtwCalls *calls)
{
    const char *name;
    const char *separator = ",\"left\":{\"";
    uint64_t n;
    for (int i = 0; (name = EtwCallsLeftKind(calls, i, &n)) != NULL; i++) {
        if (n > 0) {
            EtwTextPrintf(out, "%s%s\":%llu", separator, name, (unsigned long long)n);
            separator = ",\"";
        }
    }
    EtwTextStr(out, separator[1] == '"' && separator[2] == 0 ? "}" : "");
}

void EtwCallsJson(const EtwCalls *calls, bool profile, bool tree, EtwText *out)
{
    size_t count;
    const EtwCallRow **rows = EtwCallRows(calls, &count, NULL);
    EtwTextPrintf(out, "{\"events\":%llu", (unsigned long long)calls->events);
    addKey(out, "calls", calls->calls);
    addKey(out, "cut", calls->cut);
    addKey(out, "asleep", calls->asleep);
    addKey(out, "lostleaves", calls->lost);
    addKey(out, "unmatched", calls->unmatched);
    if (calls->folded > 0) {
        addKey(out, "folded", calls->folded);
    }
    if (calls->shortened > 0) {
        addKey(out, "shortened", calls->shortened);
    }
    addLeft(out, calls);
    EtwTextStr(out, profile ? ",\"profile\":[" : "");
    for (size_t i = 0; profile && i < count; i++) {
        EtwTextStr(out, i > 0 ? "," : "");
        addJsonRow(out, calls, rows[i]);
    }
    EtwTextStr(out, profile ? "]" : "");
    EtwTextStr(out, tree ? ",\"threads\":[" : "");
    for (const EtwCallNode *t = tree ? calls->threads : NULL; t != NULL; t = t->next) {
        EtwTextPrintf(out, "%s{\"pid\":%u,\"tid\":%u,\"children\":[",
                t == calls->threads ? "" : ",", t->pid, t->tid);
        walk(calls, t, beginJsonNode, endJsonNode, out);
        EtwTextStr(out, "]}");
    }
    EtwTextStr(out, tree ? "]}\n" : "}\n");
    EtwFree(rows);
}
