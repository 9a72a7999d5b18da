/*
 * flow/relog/reorder_buffer.c --
 *
 *	A binary heap of copied records (flow/relog/reorder_buffer.h).
 */
#include "flow/relog/reorder_buffer.h"
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/heap.h"
#include "etl/record.h"

struct EtwReorderEvent {
    EtwEvent event; /* its record points to `bytes` */
    uint64_t order;
    uint8_t bytes[];
};

static inline bool before(const EtwReorderEvent *a, const EtwReorderEvent *b)
{
    return a->event.time != b->event.time ? a->event.time < b->event.time : a->order < b->order;
}
ETW_HEAP(Heap, EtwReorderEvent *, before)

/* Copy the event with its record. All pointers refer to the copy. */
static EtwReorderEvent *copyRecord(const EtwEvent *event)
{
    size_t size = EtwAlign8(event->recordSize), next;
    EtwReorderEvent *copy = EtwAlloc(sizeof *copy + size);
    memcpy(copy->bytes, event->record, event->recordSize);
    EtlRecordParse(copy->bytes, event->recordSize, &copy->event, &next);
    copy->event.time = event->time;
    copy->event.ticks = event->ticks;
    copy->event.cpu = event->cpu;
    copy->event.logger = event->logger;
    return copy;
}

void EtwReorderAdd(EtwReorder *h, const EtwEvent *event)
{
    if (h->count == h->capacity) {
        h->capacity = h->capacity != 0 ? 2 * h->capacity : 64;
        h->heap = (EtwReorderEvent **)EtwRealloc(h->heap, h->capacity * sizeof *h->heap);
    }
    EtwReorderEvent *copy = copyRecord(event);
    copy->order = h->added++;
    HeapPush(h->heap, h->count++, copy);
}

bool EtwReorderNext(EtwReorder *h, int64_t until, EtwEvent *event)
{
    EtwFree(h->current);
    h->current = NULL;
    if (h->count == 0 || h->heap[0]->event.time > until) {
        return false;
    }
    h->current = h->heap[0];
    HeapPop(h->heap, --h->count);
    *event = h->current->event;
    return true;
}

void EtwReorderFree(EtwReorder *h)
{
    for (size_t i = 0; i < h->count; i++) {
        EtwFree(h->heap[i]);
    }
    EtwFree(h->current);
    EtwFree(h->heap);
    *h = (EtwReorder){0};
}
