/*
 * flow/path/path_walk.c --
 *
 *	Finds the critical path in what path_log.c has collected. First it computes from when on the begin event can have had
 *	an effect on each thread: along the wake-ups, in order of time. Then it goes backwards from the end. At a wait that
 *	another thread has ended, it continues with that thread if the begin event could have had an effect on it: the request came from there. If
 *	not, the other thread was an obstacle, such as the holder of a lock: it is followed for the time of the wait only.
 */
#include "flow/path/path_int.h"

/* ---- Reach ------------------------------------------------------------------------------------------ */

static bool leads(EtwPath *p, const PathPointRef *begin)
{
    if (begin->time > p->end.time) {
        return false;
    }
    for (PathThread *t = p->first; t != NULL; t = t->next) {
        t->reached = INT64_MAX;
    }
    begin->thread->reached = begin->time;
    for (size_t i = 0; i < p->edgeCount; i++) {
        PathThread *t = p->edges[i].thread;
        const PathOff *off = &t->offs[p->edges[i].index];
        if (off->by->reached <= off->ready && off->ready < t->reached) {
            t->reached = off->ready;
        }
    }
    return p->end.thread->reached <= p->end.time;
}

/* How well a begin fits: by activity, by thread. */
enum { BEST_FIT = 2 };

static int fitOf(const EtwPath *p, const PathPointRef *begin)
{
    static const EtwGuid none;
    bool active = memcmp(&p->end.activity, &none, sizeof none) != 0 &&
                  memcmp(&p->end.activity, &begin->activity, sizeof none) == 0;
    return active ? BEST_FIT : begin->thread == p->end.thread;
}

/*
 * For each thread, the latest time from which on what it does can have had an effect on the end: the wake-ups backwards, in
 * one pass. A begin event leads to the end if it is not later.
 */
static void computeLeads(EtwPath *p)
{
    for (PathThread *t = p->first; t != NULL; t = t->next) {
        t->leads = INT64_MIN;
    }
    p->end.thread->leads = p->end.time;
    for (size_t i = p->edgeCount; i-- > 0;) {
        const PathThread *t = p->edges[i].thread;
        const PathOff *off = &t->offs[p->edges[i].index];
        if (off->ready <= t->leads && off->ready > off->by->leads) {
            off->by->leads = off->ready;
        }
    }
}

/* The latest of the best ones that leads to the end, with what it reaches; NULL: none. */
static const PathPointRef *findBegin(EtwPath *p)
{
    const PathPointRef *found = NULL;
    int best = -1;
    computeLeads(p);
    for (size_t i = p->beginCount; i-- > 0 && best < BEST_FIT;) {
        const PathPointRef *begin = &p->begins[i];
        bool leadsThere = begin->time <= p->end.time && begin->time <= begin->thread->leads;
        int fit = leadsThere ? fitOf(p, begin) : -1;
        if (fit > best) {
            best = fit;
            found = begin;
        }
    }
    return found != NULL && leads(p, found) ? found : NULL;
}

/* ---- Segments --------------------------------------------------------------------------------------- */

/* Until the walk is back at `floor`, this applies; then the thread is `back` again, unless that is NULL. */
typedef struct Frame {
    int64_t floor;
    PathThread *back;
    EtwPathRole role;
    const PathThread *holder; /* of the lock or queue */
    const char *call;         /* of the holder of a lock */
} Frame;

typedef struct Walk {
    EtwPath *p;
    PathThread *t;
    int64_t at, stop;
    Frame *frames;
    size_t count, capacity;
} Walk;

/* What applies now. */
static Frame contextOf(const Walk *w)
{
    return w->count > 0 ? w->frames[w->count - 1] : (Frame){.role = ETW_PATH_WORK};
}

static int64_t lowerOf(const Walk *w)
{
    int64_t floor = w->count > 0 ? w->frames[w->count - 1].floor : w->stop;
    return floor > w->stop ? floor : w->stop;
}

static void pushFrame(Walk *w, Frame frame)
{
    PATH_GROW(w->frames, w->count, w->capacity);
    w->frames[w->count++] = frame;
}

static const char *processOf(const PathThread *t)
{
    return t->process != NULL ? t->process : t->name;
}

static bool continuesSegment(const EtwPathSegment *later, const EtwPathSegment *s)
{
    return later->from == s->to && later->kind == s->kind && later->role == s->role &&
           later->pid == s->pid && later->tid == s->tid && later->call == s->call &&
           later->holderTid == s->holderTid && s->kind == ETW_PATH_RUN;
}

/* From `from` to where the walk is, which it moves there. off: NULL when the thread runs. */
static void addSegment(
        Walk *w, int64_t from, EtwPathKind kind, const char *call, const PathOff *off)
{
    EtwPath *p = w->p;
    bool waits = off != NULL && kind != ETW_PATH_READY;
    Frame context = contextOf(w);
    EtwPathSegment s = {.from = from,
            .to = w->at,
            .kind = kind,
            .role = context.role,
            .pid = w->t->pid,
            .tid = w->t->tid,
            .process = processOf(w->t),
            .call = call,
            .syscall = waits ? off->syscall : NULL,
            .by = kind == ETW_PATH_OTHER ? off->byTid : 0};
    if (kind == ETW_PATH_OTHER && off->by != NULL) {
        s.byName = processOf(off->by);
    }
    if (context.holder != NULL) {
        s.holderPid = context.holder->pid;
        s.holderTid = context.holder->tid;
        s.holder = processOf(context.holder);
        s.holderCall = context.call;
    }
    if (from >= w->at) {
        return;
    }
    w->at = from;
    if (p->segmentCount > 0 && continuesSegment(&p->segments[p->segmentCount - 1], &s)) {
        p->segments[p->segmentCount - 1].from = from;
        return;
    }
    PATH_GROW(p->segments, p->segmentCount, p->segmentCapacity);
    p->segments[p->segmentCount++] = s;
}

/* The number of marks before the time. */
static size_t marksBefore(const PathThread *t, int64_t time)
{
    size_t low = 0, high = t->markCount;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->marks[middle].time < time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static const char *callAt(const PathThread *t, int64_t time)
{
    size_t count = marksBefore(t, time < INT64_MAX ? time + 1 : time);
    return count > 0 ? t->marks[count - 1].call : NULL;
}

/* The latest callback that began before the time; NULL: none. */
static const PathQueued *queuedBefore(const PathThread *t, int64_t time)
{
    size_t low = 0, high = t->queuedCount;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->queued[middle].time < time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 ? &t->queued[low - 1] : NULL;
}

/* The latest period that begins before the time; NULL: none. */
static PathOff *offBefore(const PathThread *t, int64_t time)
{
    size_t low = 0, high = t->offCount;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->offs[middle].from < time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 ? &t->offs[low - 1] : NULL;
}

/* The thread ran from `from` on: a segment for each call. Before a callback that was in the queue, something else ran. */
static void addRun(Walk *w, int64_t from)
{
    const PathQueued *queued =
            contextOf(w).role == ETW_PATH_WORK ? queuedBefore(w->t, w->at) : NULL;
    int64_t floor = lowerOf(w);
    bool queues = queued != NULL && queued->time >= from && queued->due < queued->time;
    int64_t until = queues ? queued->time : from;
    size_t i = marksBefore(w->t, w->at);
    while (w->at > until) {
        const PathMark *m = i > 0 ? &w->t->marks[--i] : NULL;
        int64_t begin = m != NULL && m->time > until ? m->time : until;
        addSegment(w, begin, ETW_PATH_RUN, m != NULL ? m->call : NULL, NULL);
    }
    if (queues && queued->due < w->at) {
        pushFrame(w, (Frame){.floor = queued->due > floor ? queued->due : floor,
                             .role = ETW_PATH_QUEUE,
                             .holder = w->t});
    }
}

/* ---- Waits ------------------------------------------------------------------------------------------- */

static bool isOneOf(const char *name, const char *list)
{
    size_t size = name != NULL ? strlen(name) : 0;
    for (const char *at = list; size > 0 && (at = strstr(at, name)) != NULL; at += size) {
        if ((at == list || at[-1] == ' ') && (at[size] == ' ' || at[size] == '\0')) {
            return true;
        }
    }
    return false;
}

static const char lockCalls[] = "flock fcntl semop semtimedop semctl",
                  sleepCalls[] = "nanosleep clock_nanosleep",
                  pollCalls[] =
                          "poll ppoll select pselect6 epoll_wait epoll_pwait epoll_pwait2 futex "
                          "rt_sigtimedwait",
                  netCalls[] = "recvfrom recvmsg recvmmsg accept accept4 connect sendto sendmsg "
                               "sendmmsg",
                  diskCalls[] =
                          "read write pread64 pwrite64 readv writev preadv pwritev preadv2 "
                          "pwritev2 open openat openat2 fsync fdatasync sync syncfs "
                          "sync_file_range msync getdents64 rename unlink unlinkat mkdir stat "
                          "newfstatat statx io_getevents";

static EtwPathKind kindOf(const PathOff *off)
{
    if (off->disk) {
        return ETW_PATH_DISK;
    }
    if (!off->woken) {
        return ETW_PATH_WAIT;
    }
    if (off->wake == ETW_WAKE_THREAD) {
        return ETW_PATH_OTHER;
    }
    if (isOneOf(off->syscall, sleepCalls)) {
        return ETW_PATH_TIMER;
    }
    if (isOneOf(off->syscall, netCalls)) {
        return ETW_PATH_NETWORK;
    }
    if (isOneOf(off->syscall, pollCalls)) {
        return off->wake == ETW_WAKE_HARDIRQ ? ETW_PATH_TIMER : ETW_PATH_NETWORK;
    }
    return isOneOf(off->syscall, diskCalls) ? ETW_PATH_DISK : ETW_PATH_DEVICE;
}

/* Continue with the thread that has ended the wait. */
static void follow(Walk *w, PathOff *off)
{
    Frame frame = contextOf(w);
    int64_t lower = lowerOf(w);
    bool detour = off->by->reached > off->ready; /* it is not where the request came from */
    /* With futex, threads also pass work to each other. */
    bool lock = isOneOf(off->syscall, lockCalls) || (detour && isOneOf(off->syscall, "futex"));
    off->followed = true;
    if (lock) {
        frame = (Frame){
                .role = ETW_PATH_LOCK, .holder = off->by, .call = callAt(off->by, off->ready)};
    }
    frame.floor = detour && off->from < lower ? lower : off->from;
    frame.back = detour ? w->t : NULL;
    if (lock || detour) {
        pushFrame(w, frame);
    }
    w->t = off->by;
}

/* One step back on the thread; at most to the lower bound. */
static void step(Walk *w)
{
    int64_t lower = lowerOf(w);
    PathOff *off = offBefore(w->t, w->at);
    if (off == NULL || off->to < w->at) {
        addRun(w, off != NULL && off->to > lower ? off->to : lower);
        return;
    }
    if (w->at > off->ready) {
        addSegment(w, off->ready > lower ? off->ready : lower, ETW_PATH_READY,
                callAt(w->t, off->from), off);
        if (off->created && off->by != NULL && w->at == off->ready) {
            w->t = off->by;
        }
        return;
    }
    if (off->follows && w->at == off->ready && !off->followed) {
        follow(w, off);
        return;
    }
    addSegment(w, off->from > lower ? off->from : lower, kindOf(off), callAt(w->t, off->from), off);
}

static void popFrames(Walk *w)
{
    while (w->count > 0 && w->at <= w->frames[w->count - 1].floor) {
        const Frame *top = &w->frames[--w->count];
        w->t = top->back != NULL ? top->back : w->t;
    }
}

static void reverse(EtwPath *p)
{
    for (size_t i = 0, k = p->segmentCount; i + 1 < k--; i++) {
        EtwPathSegment s = p->segments[i];
        p->segments[i] = p->segments[k];
        p->segments[k] = s;
    }
}

static void walk(EtwPath *p, const PathPointRef *begin)
{
    Walk w = {.p = p, .t = p->end.thread, .at = p->end.time, .stop = begin->time};
    while (w.at > w.stop) {
        step(&w);
        popFrames(&w);
    }
    EtwFree(w.frames);
    reverse(p);
}

/* ---- The search ----------------------------------------------------------------------------------------- */

static PathThread *mainThread(const EtwPath *p)
{
    PathThread *t = p->firstCalling != NULL ? p->firstCalling : p->first;
    while (t != NULL && t->firstSchema == NULL) {
        t = t->next;
    }
    return t;
}

static EtwPathPoint pointOf(const PathPointRef *ref)
{
    return (EtwPathPoint){.time = ref->time,
            .pid = ref->thread->pid,
            .tid = ref->thread->tid,
            .process = ref->thread->process,
            .provider = ref->schema != NULL ? ref->schema->provider : "",
            .event = ref->schema != NULL ? ref->schema->event : ""};
}

EtwPathResult EtwPathFind(EtwPath *p, bool needBegin, bool needEnd)
{
    PathThread *t = mainThread(p);
    EtwPathLogEnd(p);
    if (needEnd && p->end.thread == NULL) {
        return t == NULL ? ETW_PATH_EMPTY : ETW_PATH_NO_END;
    }
    if (needBegin && p->beginCount == 0) {
        return t == NULL ? ETW_PATH_EMPTY : ETW_PATH_NO_BEGIN;
    }
    t = needBegin && !needEnd ? p->begins[p->beginCount - 1].thread : needEnd ? p->end.thread : t;
    if (t == NULL) {
        return ETW_PATH_EMPTY;
    }
    if (!needEnd) {
        p->end = (PathPointRef){.thread = t, .time = t->lastTime, .schema = t->lastSchema};
    }
    PathPointRef first = {.thread = t, .time = t->firstTime, .schema = t->firstSchema};
    if (!needBegin && t->firstSchema == NULL) {
        return ETW_PATH_NO_BEGIN;
    }
    const PathPointRef *begin = needBegin ? findBegin(p) : leads(p, &first) ? &first : NULL;
    if (begin == NULL) {
        return needBegin && p->begins[0].time > p->end.time ? ETW_PATH_NO_BEGIN : ETW_PATH_APART;
    }
    p->points[0] = pointOf(begin);
    p->points[1] = pointOf(&p->end);
    walk(p, begin);
    return ETW_PATH_FOUND;
}
