/*
 * flow/calls/call_callers.c --
 *
 *	The callers of a proc: its calls in the tree, added up by the proc that made them.
 */
#include "flow/calls/call_tree_int.h"
#include "flow/render/columns.h"
#include "flow/render/escape.h"
#include <stdlib.h>

typedef struct Search {
    const char *proc;
    EtwText list; /* of EtwCaller */
} Search;

static EtwCaller *callerOf(Search *search, const EtwCallRow *row)
{
    EtwCaller *list = (EtwCaller *)(void *)search->list.data;
    size_t count = search->list.size / sizeof *list;
    for (size_t i = 0; i < count; i++) {
        if (list[i].row == row) {
            return &list[i];
        }
    }
    EtwTextAdd(&search->list, &(EtwCaller){.row = row}, sizeof *list);
    return (EtwCaller *)(void *)search->list.data + count;
}

/* False: the call is inside of another one of the same proc, whose time contains it. */
static bool isOutermost(const EtwCallNode *n)
{
    for (const EtwCallNode *up = n->parent; up != NULL; up = up->parent) {
        if (up->row == n->row) {
            return false;
        }
    }
    return true;
}

static void addNode(void *ctx, EtwTableNode *node)
{
    Search *search = ctx;
    const EtwCallNode *n = (const EtwCallNode *)node;
    if (strcmp(n->row->name, search->proc) == 0) {
        EtwCaller *caller = callerOf(search, n->parent->row);
        caller->calls += n->stats.calls;
        caller->errors += n->stats.errors;
        caller->total += isOutermost(n) ? n->stats.total : 0;
        caller->self += n->stats.self;
    }
}

static int byTotal(const void *a, const void *b)
{
    const EtwCaller *x = a, *y = b;
    if (x->total != y->total) {
        return x->total > y->total ? -1 : 1;
    }
    int orderX = x->row ? x->row->order : -1, orderY = y->row ? y->row->order : -1;
    return orderX - orderY;
}

EtwCaller *EtwCallCallers(const EtwCalls *calls, const char *proc, size_t *countPtr)
{
    Search search = {.proc = proc};
    EtwTableVisit(&((Calls *)(uintptr_t)calls)->nodes, addNode, &search);
    *countPtr = search.list.size / sizeof(EtwCaller);
    if (*countPtr > 1) {
        qsort(search.list.data, *countPtr, sizeof(EtwCaller), byTotal);
    }
    return (EtwCaller *)(void *)search.list.data;
}

static const char *nameOf(const EtwCaller *caller)
{
    return caller->row != NULL ? caller->row->name : "";
}

static uint64_t sumTotal(const EtwCaller *callers, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += callers[i].total;
    }
    return sum;
}

static void addTime(EtwText *out, uint64_t ns)
{
    size_t from = out->size;
    EtwAddTime(out, (double)ns, 3, "us");
    EtwColumnRight(out, from, 12);
}

void EtwCallersText(const EtwCalls *calls, const char *proc, EtwText *out)
{
    size_t count;
    EtwCaller *callers = EtwCallCallers(calls, proc, &count);
    uint64_t all = sumTotal(callers, count);
    EtwTextStr(out, "-- callers of ");
    EtwAddSafeStr(out, proc);
    EtwTextPrintf(out, "\n%9s%12s%7s%12s%9s  %s\n", "calls", "total", "total%", "self", "errors",
            "caller");
    for (size_t i = 0; i < count; i++) {
        const EtwCaller *c = &callers[i];
        EtwTextPrintf(out, "%9llu", (unsigned long long)c->calls);
        addTime(out, c->total);
        EtwTextPrintf(out, "%6.1f%%", all > 0 ? 100.0 * (double)c->total / (double)all : 0);
        addTime(out, c->self);
        EtwTextPrintf(out, "%9llu  ", (unsigned long long)c->errors);
        EtwAddSafeStr(out, c->row != NULL ? c->row->name : "(no traced caller)");
        EtwTextChar(out, '\n');
    }
    EtwFree(callers);
}

void EtwCallersCsv(const EtwCalls *calls, const char *proc, EtwText *out)
{
    size_t count;
    EtwCaller *callers = EtwCallCallers(calls, proc, &count);
    EtwTextStr(out, "caller,calls,total,self,errors\n");
    for (size_t i = 0; i < count; i++) {
        const EtwCaller *c = &callers[i];
        EtwAddCsv(out, nameOf(c));
        EtwTextPrintf(out, ",%llu,%llu,%llu,%llu\n", (unsigned long long)c->calls,
                (unsigned long long)c->total, (unsigned long long)c->self,
                (unsigned long long)c->errors);
    }
    EtwFree(callers);
}

void EtwCallersJson(const EtwCalls *calls, const char *proc, EtwText *out)
{
    size_t count;
    EtwCaller *callers = EtwCallCallers(calls, proc, &count);
    EtwTextStr(out, "{\"proc\":");
    EtwAddJsonStr(out, proc);
    EtwTextStr(out, ",\"callers\":[");
    for (size_t i = 0; i < count; i++) {
        const EtwCaller *c = &callers[i];
        EtwTextStr(out, i > 0 ? ",{\"caller\":" : "{\"caller\":");
        EtwAddJsonStr(out, nameOf(c));
        EtwTextPrintf(out, ",\"calls\":%llu,\"total\":%llu,\"self\":%llu,\"errors\":%llu}",
                (unsigned long long)c->calls, (unsigned long long)c->total,
                (unsigned long long)c->self, (unsigned long long)c->errors);
    }
    EtwTextStr(out, "]}\n");
    EtwFree(callers);
}
