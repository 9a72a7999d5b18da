/*
 * flow/calls_sample.c --
 *
 *	Sampled stacks as calls: who was seen running, how often, and for how long the samples stand.
 *	What was entered and left in between is not known, so that there are no times of single calls.
 */
#include "flow/calls_impl.h"

static void count(EtwCallStats *stats, uint64_t ns, bool leaf)
{
    stats->calls++;
    stats->total += ns;
    stats->self += leaf ? ns : 0;
}

/* Rows count a stack once, however often it has them. */
static void countRow(EtwCallRow *row, uint64_t ns, bool leaf, uint64_t serial)
{
    row->profiled = true;
    if (row->sample != serial) {
        row->sample = serial;
        row->stats.calls++;
        row->stats.total += ns;
    }
    row->stats.self += leaf ? ns : 0;
}

void EtwCallSample(
        Calls *c, CallThread *t, int64_t time, uint64_t ns, const char *stack, size_t size)
{
    const char *at = stack, *end = stack + size;
    EtwCallNode *node = t->root;
    uint64_t serial = ++c->serials;
    c->base.calls++;
    node->stats.calls++;
    node->stats.total += ns;
    t->last = time > t->last ? time : t->last;
    while (at < end) {
        const char *next = memchr(at, ';', (size_t)(end - at));
        size_t length = (size_t)((next ? next : end) - at);
        EtwCallRow *row = EtwCallRowOf(c, at, length);
        countRow(row, ns, next == NULL, serial);
        if (c->base.config.tree) {
            node = EtwCallNodeOf(c, node, row);
            node->start = node->stats.calls == 0 ? time : node->start;
            count(&node->stats, ns, next == NULL);
        }
        at = next ? next + 1 : end;
    }
}
