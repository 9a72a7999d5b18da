/*
 * unix/kernel/transport/ring_merge.c --
 *
 *	Merges the rings of all CPUs and transports by time: a heap of the streams that have an event. Events later than the
 *	limit remain in their ring until the next call.
 */
#include "unix/kernel/transport/transport.h"
#include "base/alloc.h"
#include "base/heap.h"

struct TraceMerge {
    TraceStream **streams; /* all streams */
    int count;
    TraceStream **heap; /* streams with an event, oldest first */
    size_t queued;
    TraceStream *given; /* the stream whose event the caller uses; the next call advances it */
};

TraceMerge *TraceMergeNew(void)
{
    return EtwAlloc(sizeof(TraceMerge));
}

void TraceMergeAdd(TraceMerge *m, TraceStream *stream)
{
    size_t most = (size_t)m->count + 1;
    m->streams = EtwRealloc(m->streams, most * sizeof *m->streams);
    m->heap = EtwRealloc(m->heap, most * sizeof *m->heap);
    m->streams[m->count++] = stream;
}

void TraceMergeFree(TraceMerge *m)
{
    if (m != NULL) {
        EtwFree(m->streams);
        EtwFree(m->heap);
        EtwFree(m);
    }
}

bool TraceMergeMissed(TraceMerge *m)
{
    bool missed = false;
    for (int i = 0; i < m->count; i++) {
        missed |= m->streams[i]->missed;
        m->streams[i]->missed = false;
    }
    return missed;
}

/* ---- The heap -------------------------------------------------------------------------------- */

static inline bool isOlder(const TraceStream *a, const TraceStream *b)
{
    return a->event.ticks < b->event.ticks;
}
ETW_HEAP(Queue, TraceStream *, isOlder)

/* Advance the stream of the last event, or remove it from the heap when it has no further event. */
static void settle(TraceMerge *m)
{
    TraceStream *s = m->given;
    m->given = NULL;
    if (s == NULL) {
        return;
    }
    if (s->next(s)) {
        QueueReplace(m->heap, m->queued, s);
    } else {
        s->queued = false;
        QueuePop(m->heap, --m->queued);
    }
}

void TraceMergeRefill(TraceMerge *m)
{
    settle(m);
    for (int i = 0; i < m->count; i++) {
        if (!m->streams[i]->queued && m->streams[i]->next(m->streams[i])) {
            m->streams[i]->queued = true;
            QueuePush(m->heap, m->queued++, m->streams[i]);
        }
    }
}

bool TraceMergeNext(TraceMerge *m, uint64_t until, TraceEvent *event)
{
    TraceStream *s;
    settle(m);
    s = m->queued > 0 ? m->heap[0] : NULL;
    if (s == NULL || s->event.ticks > until) {
        return false;
    }
    m->given = s; /* it is the heap's first and stays there until settle() */
    *event = s->event;
    return true;
}
