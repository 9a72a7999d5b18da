/*
 * unix/kernel/transport/tracefs_transport.c --
 *
 *	The transport through tracefs: up to two trace instances. The kernel filters one by thread
 *	and follows forks; the other one receives the events of all threads. The cheapest transport;
 *	requires root. It has no stacks: tracefs would report them as separate events that are not
 *	joined to theirs.
 */
#include "unix/kernel/transport/task_table.h"
#include "unix/kernel/transport/tracefs_instance.h"
#include "base/text.h"
#include <errno.h>
#include <stdio.h>

typedef struct Tracefs {
    KernelTransport base; /* must be first */
    TraceInstance instance[INSTANCES];
    TracePages **pages;
    int pageCount;
    bool started;
} Tracefs;

static EtwStatus enable(KernelTransport *t, const KernelRequest *w, EtwError *err)
{
    return TraceEnable(&((Tracefs *)t)->instance[w->instance], w->format->system, w->format->name,
            w->filter, err);
}

static void disable(KernelTransport *t, const KernelRequest *w)
{
    TraceDisable(&((Tracefs *)t)->instance[w->instance], w->format->system, w->format->name);
}

/* ---- Threads to follow ----------------------------------------------------------------------- */

static void appendPid(void *ctx, uint32_t tid)
{
    EtwText *text = ctx;
    if (!KernelIsIgnored(tid)) {
        EtwTextPrintf(text, "%u ", tid);
    }
}

/* Repeat until a round finds no new thread. From then on event-fork follows. */
static EtwStatus follow(KernelTransport *transport, uint32_t pid, bool known, EtwError *err)
{
    Tracefs *t = (Tracefs *)transport;
    KernelTasks named = {0};
    EtwStatus status = ETW_OK;
    for (int round = 0; round < 16 && status == ETW_OK && !(known && t->started); round++) {
        EtwText text = {0};
        int fresh = KernelTasksOfProcess(&named, pid, appendPid, &text);
        EtwTextChar(&text, '\0');
        if (text.size > 1) {
            status = TraceAppend(&t->instance[IN_MAIN], "set_event_pid", text.data, err);
        }
        EtwTextFree(&text);
        if (fresh == 0) {
            break;
        }
    }
    KernelTasksFree(&named);
    return status;
}

static EtwStatus followAll(KernelTransport *t, EtwError *err)
{
    return tracefs_instance_file_clear(((Tracefs *)t)->instance[IN_MAIN].fs, "set_event_pid") < 0
                   ? EtwFailOs(err, ETW_E_IO, errno, "TRACEFS", "set_event_pid",
                             "cannot trace all processes")
                   : ETW_OK;
}

static EtwStatus followOne(KernelTransport *t, uint32_t tid, EtwError *err)
{
    char text[16];
    snprintf(text, sizeof text, "%u", tid);
    return TraceWrite(&((Tracefs *)t)->instance[IN_MAIN], "set_event_pid", text, err);
}

/* The kernel drops the thread's events (5.7 and later). False: the drain has to. */
static bool hide(KernelTransport *t, uint32_t tid)
{
    TraceInstance *main = &((Tracefs *)t)->instance[IN_MAIN];
    char text[16];
    snprintf(text, sizeof text, "%u", tid);
    return TraceHas(main, "set_event_notrace_pid") &&
           TraceAppend(main, "set_event_notrace_pid", text, NULL) == ETW_OK;
}

/* ---- Running --------------------------------------------------------------------------------- */

static void start(KernelTransport *t)
{
    TraceOn(&((Tracefs *)t)->instance[IN_MAIN]);
    ((Tracefs *)t)->started = true;
}

static void stop(KernelTransport *t)
{
    for (int i = 0; i < INSTANCES; i++) {
        TraceOff(&((Tracefs *)t)->instance[i]);
    }
}

static uint64_t lost(KernelTransport *t)
{
    Tracefs *fs = (Tracefs *)t;
    return TraceLost(&fs->instance[IN_MAIN]) + TraceLost(&fs->instance[IN_ANY]);
}

static void closeAll(KernelTransport *transport)
{
    Tracefs *t = (Tracefs *)transport;
    for (int i = 0; i < INSTANCES; i++) {
        TraceClose(&t->instance[i]);
    }
    for (int i = 0; i < t->pageCount; i++) {
        TracePagesFree(t->pages[i]);
    }
    EtwFree(t->pages);
    EtwFree(t);
}

static const KernelTransportOps ops = {
        enable, disable, follow, followAll, followOne, hide, start, stop, NULL, lost, closeAll};

static void addPages(Tracefs *t, const TraceInstance *from, const KernelTransportConfig *c)
{
    size_t most = (size_t)(t->pageCount + from->cpus);
    t->pages = EtwRealloc(t->pages, most * sizeof *t->pages);
    for (int cpu = 0; cpu < from->cpus; cpu++) {
        if (from->pipes[cpu] >= 0) {
            TracePages *pages = TracePagesNew(from->pipes[cpu], (uint16_t)cpu, c->number, c->page);
            t->pages[t->pageCount++] = pages;
            TraceMergeAdd(c->merge, TracePagesStream(pages));
        }
    }
}

/* Events in the context of unrelated threads are few: half of the buffer size. */
EtwStatus TracefsOpen(KernelTransport **tPtr, const KernelTransportConfig *c, EtwError *err)
{
    Tracefs *t = EtwAlloc(sizeof *t);
    char any[32];
    EtwStatus status = TraceOpen(&t->instance[IN_MAIN], c->session, c->suffix, c->perCpuKB, err);
    t->base.ops = &ops;
    if (status == ETW_OK && c->any) {
        snprintf(any, sizeof any, "%s-any", c->suffix);
        status = TraceOpen(&t->instance[IN_ANY], c->session, any, c->perCpuKB / 2, err);
    }
    if (status == ETW_OK && c->any) {
        status = TraceWrite(&t->instance[IN_MAIN], "options/event-fork", "1", err);
    }
    if (status != ETW_OK) {
        closeAll(&t->base);
        return status;
    }
    /* Off until a process is followed: without a pid, the kernel would trace all. */
    TraceOff(&t->instance[IN_MAIN]);
    for (int i = 0; i < INSTANCES; i++) {
        addPages(t, &t->instance[i], c);
    }
    *tPtr = &t->base;
    return ETW_OK;
}
