/*
 * flow/render/listing/listing_threads.c --
 *
 *	The open script calls of each thread. The depth is taken from the events, so that lost
 *	events, or a trace that begins within calls, do not shift the following lines.
 */
#include "flow/render/listing/listing_int.h"
#include "base/unicode.h"
#include <stdlib.h>

static inline uint64_t threadHash(uint32_t pid, uint32_t tid)
{
    return EtwHashNumber((uint64_t)pid << 32 | tid);
}

static char *putId(char *p, uint32_t id)
{
    if (id == ETW_NO_ID) {
        *p++ = '-';
        return p;
    }
    return EtwPutDecimal(p, id);
}

/* A long name is cut, with a mark at its end. */
static char *putName(char *p, const char *name, int most)
{
    EtwText safe = {0};
    size_t width, size;
    EtwAddSafeStr(&safe, name);
    bool whole = EtwUtf8Fit(safe.data, safe.size, (size_t)most, &width) == safe.size &&
                 safe.size <= TEXT_PROCESS_MAX;
    size = whole ? safe.size : EtwUtf8Fit(safe.data, safe.size, (size_t)most - 1, &width);
    if (size > TEXT_PROCESS_MAX) { /* many combining characters */
        size = EtwUtf8Cut(safe.data, TEXT_PROCESS_MAX);
    }
    EtwCopyShort(p, safe.data, size);
    p += size;
    if (!whole) {
        memcpy(p, ETW_LISTING_CUT, sizeof ETW_LISTING_CUT - 1);
        p += sizeof ETW_LISTING_CUT - 1;
    }
    EtwTextFree(&safe);
    return p;
}

/* pid/tid, name(pid)/tid; name(pid) for a thread whose tid is the pid. */
static void label(ListingThread *t, const char *process, int nameWidth)
{
    char *p = t->label;
    t->process = process;
    if (process != NULL) {
        p = putName(p, process, nameWidth);
        *p++ = '(';
    }
    p = putId(p, t->pid);
    if (process != NULL) {
        *p++ = ')';
    }
    t->processSize = (uint8_t)(p - t->label);
    if (process == NULL || t->tid != t->pid) {
        *p++ = '/';
        p = putId(p, t->tid);
    }
    t->labelSize = (uint8_t)(p - t->label);
    t->processWidth = (uint8_t)EtwUtf8Width(t->label, t->processSize);
    t->labelWidth = (uint8_t)EtwUtf8Width(t->label, t->labelSize);
}

ListingThread *EtwListingThreadOf(ListingThreads *threads, const EtwEvent *event)
{
    uint32_t pid = event->pid, tid = event->tid;
    ListingThread *t = threads->last;
    if (t != NULL && t->pid == pid && t->tid == tid && t->process == event->process) {
        return t;
    }
    uint64_t hash = threadHash(pid, tid);
    t = (ListingThread *)EtwTableFirst(&threads->table, hash);
    while (t != NULL && (t->pid != pid || t->tid != tid)) {
        t = (ListingThread *)t->node.next;
    }
    if (t == NULL) {
        t = EtwAlloc(sizeof *t);
        t->pid = pid;
        t->tid = tid;
        label(t, event->process, threads->nameWidth);
        EtwTableAdd(&threads->table, &t->node, hash);
    }
    if (t->process != event->process) {
        label(t, event->process, threads->nameWidth);
    }
    threads->last = t;
    return t;
}

/* Remove the calls at `depth` and deeper. */
static void cutCalls(ListingThread *t, int depth)
{
    while (t->kept >= depth) {
        t->calls[--t->kept].open = false;
    }
}

static ListingCall *callAt(ListingThread *t, int depth)
{
    if (t->calls == NULL || depth > t->kept) {
        t->calls = EtwRealloc(t->calls, (size_t)depth * sizeof *t->calls);
        while (t->kept < depth) {
            t->calls[t->kept++] = (ListingCall){.open = false};
        }
    }
    return &t->calls[depth - 1];
}

void EtwListingEnter(ListingThread *t, int depth, uint64_t id, int64_t time, bool step,
        const uint8_t *name, size_t nameSize)
{
    t->level = depth;
    if (depth > TEXT_LEVELS_KEPT || depth < 1) {
        return;
    }
    cutCalls(t, depth);
    ListingCall *call = callAt(t, depth);
    call->id = id;
    call->time = time;
    call->open = true;
    call->step = step;
    if (nameSize > TEXT_NAME_MAX) { /* truncate between characters */
        nameSize = EtwUtf8Cut(name, TEXT_NAME_MAX);
    }
    call->nameSize = (uint8_t)nameSize;
    memcpy(call->name, name, nameSize);
}

void EtwListingLeave(ListingThread *t, int depth, uint64_t id)
{
    t->level = depth > 0 ? depth - 1 : 0;
    if (depth < 1 || depth > t->kept) {
        return;
    }
    /* When a coroutine's call is left, another call may have its place by now, which is kept. */
    if (t->calls[depth - 1].id == id) {
        cutCalls(t, depth);
    }
}

const ListingCall *EtwListingOpenCall(const ListingThread *t, int depth, uint64_t id)
{
    const ListingCall *call = depth >= 1 && depth <= t->kept ? &t->calls[depth - 1] : NULL;
    return call != NULL && call->open && call->id == id ? call : NULL;
}

void EtwListingIndent(const ListingThread *t, int depth, EtwText *out)
{
    int shown = depth < TEXT_LEVELS_SHOWN ? depth : TEXT_LEVELS_SHOWN;
    EtwTextReserve(out, 2 * TEXT_LEVELS_SHOWN);
    char *p = out->data + out->size;
    for (int i = 0; i < shown; i++, p += 2) {
        p[0] = i < t->kept && t->calls[i].step ? ' ' : '|';
        p[1] = ' ';
    }
    out->size = (size_t)(p - out->data);
    if (depth > shown) {
        ETW_ADD(out, "+");
        EtwAddDecimal(out, (uint64_t)(depth - shown));
        ETW_ADD(out, " ");
    }
}

/* ---- Listing and freeing --------------------------------------------------------------------- */

static void collect(void *ctx, EtwTableNode *node)
{
    const ListingThread *t = (const ListingThread *)node;
    bool open = false;
    for (int i = 0; i < t->kept; i++) {
        open = open || t->calls[i].open;
    }
    if (open) {
        EtwTextAdd(ctx, &t, sizeof t);
    }
}

static int byIds(const void *a, const void *b)
{
    const ListingThread *x = *(const ListingThread *const *)a,
                        *y = *(const ListingThread *const *)b;
    if (x->pid != y->pid) {
        return x->pid < y->pid ? -1 : 1;
    }
    return x->tid < y->tid ? -1 : x->tid > y->tid;
}

void EtwListingOpenCalls(const ListingThreads *threads,
        void (*visit)(void *ctx, const ListingThread *thread, const ListingCall *call), void *ctx)
{
    EtwText list = {0};
    EtwTableVisit(&threads->table, collect, &list);
    const ListingThread **open = (const ListingThread **)(void *)list.data;
    size_t count = list.size / sizeof *open;
    if (count > 0) {
        qsort(open, count, sizeof *open, byIds);
    }
    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k < open[i]->kept; k++) {
            if (open[i]->calls[k].open) {
                visit(ctx, open[i], &open[i]->calls[k]);
            }
        }
    }
    EtwTextFree(&list);
}

static void freeThread(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(((ListingThread *)node)->calls);
    EtwFree(node);
}

void EtwListingThreadsFree(ListingThreads *threads)
{
    EtwTableFree(&threads->table, freeThread);
    threads->last = NULL;
}
