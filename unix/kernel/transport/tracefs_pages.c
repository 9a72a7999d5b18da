/*
 * unix/kernel/transport/tracefs_pages.c --
 *
 *	The ring of one CPU of a tracefs instance: reads raw pages one at a time without blocking.
 *	libtraceevent's kbuffer iterates over a page.
 */
#include "unix/kernel/transport/tracefs_instance.h"
#include "base/alloc.h"
#include <errno.h>
#include <kbuffer.h>
#include <unistd.h>

struct TracePages {
    TraceStream stream; /* must be first: next receives it */
    struct kbuffer *kbuf;
    uint8_t *page;
    size_t pageSize;
    int fd;
};

static bool setEvent(TracePages *s, const uint8_t *data, unsigned long long ticks)
{
    TraceEvent *e = &s->stream.event;
    if (data != NULL) {
        e->data = data;
        e->ticks = ticks;
        e->size = (uint32_t)kbuffer_event_size(s->kbuf);
    }
    return data != NULL;
}

/* Read the stream's next page that contains an event. False: none now. */
static bool nextPage(TracePages *s)
{
    for (;;) {
        unsigned long long ticks = 0;
        const uint8_t *data;
        ssize_t n;
        do {
            n = read(s->fd, s->page, s->pageSize);
        } while (n < 0 && errno == EINTR);
        if (n < 16) {
            return false; /* EAGAIN, or the ring was removed */
        }
        if ((size_t)n < s->pageSize) {
            memset(s->page + n, 0, s->pageSize - (size_t)n);
        }
        if (kbuffer_load_subbuffer(s->kbuf, s->page) != 0) {
            continue;
        }
        if (kbuffer_missed_events(s->kbuf) != 0) {
            s->stream.missed = true;
        }
        data = kbuffer_read_event(s->kbuf, &ticks);
        if (setEvent(s, data, ticks)) {
            return true;
        }
    }
}

static bool next(TraceStream *stream)
{
    TracePages *s = (TracePages *)stream;
    unsigned long long ticks = 0;
    const uint8_t *data = stream->queued ? kbuffer_next_event(s->kbuf, &ticks) : NULL;
    return setEvent(s, data, ticks) || nextPage(s);
}

TracePages *TracePagesNew(int fd, uint16_t cpu, uint8_t transport, size_t pageSize)
{
    TracePages *s = EtwAlloc(sizeof *s);
    s->kbuf = kbuffer_alloc(KBUFFER_LSIZE_8, KBUFFER_ENDIAN_LITTLE);
    s->page = EtwAlloc(pageSize);
    s->pageSize = pageSize;
    s->fd = fd;
    s->stream.next = next;
    s->stream.event.cpu = cpu;
    s->stream.event.transport = transport;
    return s;
}

TraceStream *TracePagesStream(TracePages *pages)
{
    return &pages->stream;
}

void TracePagesFree(TracePages *pages)
{
    kbuffer_free(pages->kbuf);
    EtwFree(pages->page);
    EtwFree(pages);
}
