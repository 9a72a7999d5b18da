/*
 * unix/kernel_merge.c --
 *
 *	The time-ordered walk over the rings of several instances: a stream a ring and CPU, each
 *with one page in memory, and a heap of their next events. Pages are read without ever waiting;
 *what is younger than asked for stays in its page until the next call. libtraceevent's kbuffer
 *walks a page.
 */
#include "kernel_trace.h"
#include "base/bytes.h"
#include <errno.h>
#include <kbuffer.h>
#include <unistd.h>

typedef struct Stream {
    struct kbuffer *kbuf;
    uint8_t *page;
    int fd;
    uint16_t cpu, instance;
    bool queued; /* in the heap: data is its next event */
    unsigned long long ticks;
    const uint8_t *data;
} Stream;

struct TraceMerge {
    size_t pageSize;
    Stream **streams; /* all; each allocated alone, the heap keeps pointers */
    int count;
    Stream **heap; /* of those with an event, the oldest first */
    int queued;
    Stream *given; /* whose event the caller has; advanced by the next call */
    bool missed;
};

TraceMerge *TraceMergeNew(size_t pageSize)
{
    TraceMerge *m = EtwAlloc(sizeof *m);
    m->pageSize = pageSize;
    return m;
}

void TraceMergeAdd(TraceMerge *m, const TraceInstance *t, uint16_t instance)
{
    size_t most = (size_t)(m->count + t->cpus);
    m->streams = EtwRealloc(m->streams, most * sizeof *m->streams);
    m->heap = EtwRealloc(m->heap, most * sizeof *m->heap);
    for (int cpu = 0; cpu < t->cpus; cpu++) {
        Stream *s;
        if (t->pipes[cpu] < 0) {
            continue;
        }
        s = EtwAlloc(sizeof *s);
        s->kbuf = kbuffer_alloc(KBUFFER_LSIZE_8, KBUFFER_ENDIAN_LITTLE);
        s->page = EtwAlloc(m->pageSize);
        s->fd = t->pipes[cpu];
        s->cpu = (uint16_t)cpu;
        s->instance = instance;
        m->streams[m->count++] = s;
    }
}

void TraceMergeFree(TraceMerge *m)
{
    if (m == NULL) {
        return;
    }
    for (int i = 0; i < m->count; i++) {
        kbuffer_free(m->streams[i]->kbuf);
        EtwFree(m->streams[i]->page);
        EtwFree(m->streams[i]);
    }
    EtwFree(m->streams);
    EtwFree(m->heap);
    EtwFree(m);
}

bool TraceMergeMissed(TraceMerge *m)
{
    bool missed = m->missed;
    m->missed = false;
    return missed;
}

/* ---- A stream
 * -------------------------------------------------------------------------------------- */

/* The stream's next page that holds an event; false: nothing there now. */
static bool nextPage(TraceMerge *m, Stream *s)
{
    for (;;) {
        ssize_t n;
        do {
            n = read(s->fd, s->page, m->pageSize);
        } while (n < 0 && errno == EINTR);
        if (n < 16) {
            return false; /* EAGAIN, or the ring is gone */
        }
        if ((size_t)n < m->pageSize) {
            memset(s->page + n, 0, m->pageSize - (size_t)n);
        }
        if (kbuffer_load_subbuffer(s->kbuf, s->page) != 0) {
            continue;
        }
        if (kbuffer_missed_events(s->kbuf) != 0) {
            m->missed = true;
        }
        s->data = kbuffer_read_event(s->kbuf, &s->ticks);
        if (s->data != NULL) {
            return true;
        }
    }
}

static bool advance(TraceMerge *m, Stream *s)
{
    s->data = kbuffer_next_event(s->kbuf, &s->ticks);
    return s->data != NULL || nextPage(m, s);
}

/* ---- The heap
 * -------------------------------------------------------------------------------------- */

static void siftDown(TraceMerge *m, int at)
{
    Stream *s = m->heap[at];
    for (;;) {
        int child = 2 * at + 1;
        if (child >= m->queued) {
            break;
        }
        if (child + 1 < m->queued && m->heap[child + 1]->ticks < m->heap[child]->ticks) {
            child++;
        }
        if (m->heap[child]->ticks >= s->ticks) {
            break;
        }
        m->heap[at] = m->heap[child];
        at = child;
    }
    m->heap[at] = s;
}

static void push(TraceMerge *m, Stream *s)
{
    int at = m->queued++;
    while (at > 0 && m->heap[(at - 1) / 2]->ticks > s->ticks) {
        m->heap[at] = m->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    m->heap[at] = s;
    s->queued = true;
}

/* The event handed out last is done with: its stream goes on, or leaves the heap. */
static void settle(TraceMerge *m)
{
    Stream *s = m->given;
    m->given = NULL;
    if (s == NULL) {
        return;
    }
    if (!advance(m, s)) {
        s->queued = false;
        m->heap[0] = m->heap[--m->queued];
    }
    if (m->queued > 0) {
        siftDown(m, 0);
    }
}

void TraceMergeRefill(TraceMerge *m)
{
    settle(m);
    for (int i = 0; i < m->count; i++) {
        if (!m->streams[i]->queued && nextPage(m, m->streams[i])) {
            push(m, m->streams[i]);
        }
    }
}

bool TraceMergeNext(TraceMerge *m, uint64_t until, TraceEvent *event)
{
    Stream *s;
    settle(m);
    s = m->queued > 0 ? m->heap[0] : NULL;
    if (s == NULL || s->ticks > until) {
        return false;
    }
    m->given = s; /* it is the heap's first and stays there until settled */
    event->ticks = s->ticks;
    event->data = s->data;
    event->size = (uint32_t)kbuffer_event_size(s->kbuf);
    event->cpu = s->cpu;
    event->instance = s->instance;
    return true;
}
