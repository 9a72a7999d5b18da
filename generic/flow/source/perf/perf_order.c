/*
 * flow/source/perf/perf_order.c --
 *
 *	Sorts records by time. perf writes what the rings of all CPUs have, ring by ring, and then
 *	PERF_RECORD_FINISHED_ROUND: a later round has no record that is older than the newest one of the round
 *	before the last. So about two rounds are in memory. The list of records consists of runs that are
 *	sorted, one for each ring, so that it is sorted by merging them.
 */
#include "flow/source/perf/perf_int.h"

enum { BLOCK = 256 << 10, COPIED_MAX = 1 << 30, RECORDS_MAX = 16 << 20 };

/* ---- Memory ---------------------------------------------------------------------------------- */

static void release(PerfOrder *o, PerfBlock *block)
{
    if (block != NULL && --block->records == 0 && block != o->filling) {
        o->copied -= block->size;
        EtwFree(block);
    }
}

static const uint8_t *copyOf(PerfOrder *o, const uint8_t *record, size_t size, PerfBlock **blockPtr)
{
    PerfBlock *block = o->filling;
    if (block == NULL || block->size - block->used < size) {
        o->filling = NULL;
        if (block != NULL && block->records == 0) {
            o->copied -= block->size;
            EtwFree(block);
        }
        block = EtwAlloc(sizeof *block + BLOCK);
        block->size = BLOCK;
        o->copied += BLOCK;
        o->filling = block;
    }
    uint8_t *copy = block->bytes + block->used;
    memcpy(copy, record, size);
    block->used += size;
    block->records++;
    *blockPtr = block;
    return copy;
}

void PerfOrderAdd(PerfOrder *o, uint64_t time, const uint8_t *record, PerfAttr *attr, bool copy)
{
    PerfBlock *block = NULL;
    if (o->count == o->capacity) {
        o->capacity = o->capacity != 0 ? 2 * o->capacity : 1024;
        o->list = EtwRealloc(o->list, o->capacity * sizeof *o->list);
        o->other = EtwRealloc(o->other, o->capacity * sizeof *o->other);
    }
    if (copy) {
        record = copyOf(o, record, PerfHeaderOf(record).size, &block);
    }
    o->list[o->count++] = (PerfPending){time, record, attr, block};
    o->newest = time > o->newest ? time : o->newest;
}

/* ---- Sorting --------------------------------------------------------------------------------- */

/* The end of the sorted run that begins at `at`. */
static size_t runEnd(const PerfPending *list, size_t at, size_t count)
{
    for (at++; at < count && list[at].time >= list[at - 1].time; at++) {
    }
    return at;
}

static void merge(const PerfPending *from, size_t a, size_t middle, size_t end, PerfPending *to)
{
    size_t b = middle;
    for (size_t at = a; at < end; at++) {
        bool first = b == end || (a < middle && from[a].time <= from[b].time);
        to[at] = from[first ? a++ : b++];
    }
}

/* Merge neighbouring runs until one is left. Records of the same time keep their order. */
static void sort(PerfOrder *o)
{
    while (o->count != 0 && runEnd(o->list, 0, o->count) != o->count) {
        for (size_t at = 0, middle, end; at < o->count; at = end) {
            middle = runEnd(o->list, at, o->count);
            end = middle < o->count ? runEnd(o->list, middle, o->count) : middle;
            merge(o->list, at, middle, end, o->other);
        }
        PerfPending *sorted = o->other;
        o->other = o->list;
        o->list = sorted;
    }
}

/* Remove what was delivered. */
static void compact(PerfOrder *o)
{
    if (o->at != 0) {
        memmove(o->list, o->list + o->at, (o->count - o->at) * sizeof *o->list);
        o->count -= o->at;
        o->at = o->ready = 0;
    }
}

static void prepare(PerfOrder *o)
{
    compact(o);
    sort(o);
}

void PerfOrderRound(PerfOrder *o)
{
    prepare(o);
    size_t from = 0, to = o->count;
    while (from < to) { /* the first record that is newer */
        size_t middle = from + (to - from) / 2;
        if (o->list[middle].time <= o->flush) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    o->ready = from;
    o->flush = o->newest;
}

void PerfOrderAll(PerfOrder *o)
{
    prepare(o);
    o->ready = o->count;
}

bool PerfOrderIsFull(const PerfOrder *o)
{
    return o->copied >= COPIED_MAX || o->count - o->at >= RECORDS_MAX;
}

void PerfOrderHalf(PerfOrder *o)
{
    prepare(o);
    o->ready = (o->count + 1) / 2;
}

const PerfPending *PerfOrderNext(PerfOrder *o)
{
    if (o->at != 0) {
        release(o, o->list[o->at - 1].block);
        o->list[o->at - 1].block = NULL;
    }
    if (o->at == o->ready) {
        return NULL;
    }
    return &o->list[o->at++];
}

void PerfOrderFree(PerfOrder *o)
{
    PerfBlock *filling = o->filling;
    for (size_t i = o->at != 0 ? o->at - 1 : 0; i < o->count; i++) {
        release(o, o->list[i].block);
    }
    EtwFree(filling);
    EtwFree(o->list);
    EtwFree(o->other);
}
