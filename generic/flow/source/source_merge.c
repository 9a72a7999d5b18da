/*
 * flow/source/source_merge.c --
 *
 *	Merges several sources by time. For equal times, the order of the sources applies. A live
 *	source without events delays the others for a moment, because it may still deliver an older
 *	event. An event that arrives later than that is marked as late.
 */
#include "base/alloc.h"
#include "base/heap.h"
#include "base/os.h"
#include "flow/source/source_int.h"

/* The maximum age of an event when it becomes visible, unless its session is overloaded. */
#define HOLD_BACK_NS 50000000LL
#define WAIT_SLICE_NS 10000000LL

typedef enum HeadState { HEAD_WANTED, HEAD_READY, HEAD_ENDED } HeadState;

typedef struct Head {
    EtwSource *source;
    HeadState state;
    EtwEvent event; /* valid in state ready: the source's next event */
} Head;

typedef struct MergeSource {
    EtwSource base;
    int count;
    int waitTurn;     /* the live source to wait for next */
    int32_t woken;    /* set by another thread */
    int64_t lastTime; /* of the last event delivered */
    bool timed;       /* lastTime is valid */
    bool paused;      /* a source is paused: its next event may be the oldest */
    int heapSize;
    Head **heap; /* the sources in state ready, earliest first */
    Head heads[];
} MergeSource;

/* ---- The heap -------------------------------------------------------------------------------- */

static inline bool headBefore(const Head *a, const Head *b)
{
    return a->event.time != b->event.time ? a->event.time < b->event.time : a < b;
}

ETW_HEAP(Heads, Head *, headBefore)

/* ---- The source ------------------------------------------------------------------------------ */

/* Get the source's next event. False: it is a live source without events now. */
static bool fillHead(MergeSource *m, Head *head)
{
    EtwStatus status = EtwSourceNext(head->source, &head->event);
    bool wanted = status == ETW_AGAIN || status == ETW_PAUSE;
    head->state = status == ETW_OK ? HEAD_READY : wanted ? HEAD_WANTED : HEAD_ENDED;
    m->paused |= status == ETW_PAUSE;
    return status != ETW_AGAIN;
}

/*
 * Fill the heap. Returns the number of live sources without events now. `asked` (may be NULL) is
 * known to be one of them. Incomplete if a source is paused.
 */
static int fillHeads(MergeSource *m, const Head *asked)
{
    int idle = asked != NULL;
    for (int i = 0; i < m->count && !m->paused; i++) {
        Head *head = &m->heads[i];
        if (head->state == HEAD_WANTED && head != asked) {
            idle += !fillHead(m, head);
            if (head->state == HEAD_READY) {
                HeadsPush(m->heap, (size_t)m->heapSize++, head);
            }
        }
    }
    return idle;
}

static bool tooYoung(const Head *head)
{
    OsInstant now;
    OsNow(&now);
    return head->event.time > now.wall - HOLD_BACK_NS;
}

/*
 * Advance the source of the event that the last call delivered. Returns its head if it has no event
 * now, otherwise NULL.
 */
static const Head *advanceDelivered(MergeSource *m)
{
    Head *head = m->heapSize > 0 ? m->heap[0] : NULL;
    if (head == NULL || head->state != HEAD_WANTED) {
        return NULL;
    }
    bool idle = !fillHead(m, head);
    if (head->state == HEAD_READY) {
        HeadsReplace(m->heap, (size_t)m->heapSize, head);
    } else {
        HeadsPop(m->heap, (size_t)--m->heapSize);
    }
    return idle ? head : NULL;
}

static EtwStatus mergeNext(EtwSource *source, EtwEvent *event)
{
    MergeSource *m = (MergeSource *)source;
    m->paused = false;
    const Head *asked = advanceDelivered(m);
    int idle = m->heapSize < m->count ? fillHeads(m, asked) : 0;
    if (m->paused) {
        return ETW_PAUSE;
    }
    if (m->heapSize == 0) {
        return idle ? ETW_AGAIN : ETW_END;
    }
    Head *head = m->heap[0];
    if (idle && tooYoung(head)) {
        return ETW_AGAIN;
    }
    *event = head->event;
    if (m->timed && event->time < m->lastTime) {
        event->late = true;
    } else {
        m->lastTime = event->time;
        m->timed = true;
    }
    head->state = HEAD_WANTED; /* stays first in the heap until the next call */
    return ETW_OK;
}

/* Waits for one of the idle live sources, in time slices, so that each one is checked. */
static void mergeWait(EtwSource *source, int64_t timeoutNs)
{
    MergeSource *m = (MergeSource *)source;
    int64_t slice = timeoutNs >= 0 && timeoutNs < WAIT_SLICE_NS ? timeoutNs : WAIT_SLICE_NS;
    if (__atomic_exchange_n(&m->woken, 0, __ATOMIC_ACQUIRE)) {
        return;
    }
    for (int i = 0; i < m->count; i++) {
        Head *head = &m->heads[m->waitTurn++ % m->count];
        m->waitTurn %= m->count;
        if (head->state == HEAD_WANTED && EtwSourceIsLive(head->source)) {
            EtwSourceWait(head->source, slice);
            return;
        }
    }
}

static void mergeWake(EtwSource *source)
{
    MergeSource *m = (MergeSource *)source;
    __atomic_store_n(&m->woken, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < m->count; i++) {
        EtwSourceWake(m->heads[i].source);
    }
}

static void mergeClose(EtwSource *source)
{
    MergeSource *m = (MergeSource *)source;
    for (int i = 0; i < m->count; i++) {
        EtwSourceClose(m->heads[i].source);
    }
    EtwFree(m->heap);
    EtwFree(m);
}

/* ---- Information ----------------------------------------------------------------------------- */

static int mergeFileCount(const EtwSource *source)
{
    const MergeSource *m = (const MergeSource *)source;
    int count = 0;
    for (int i = 0; i < m->count; i++) {
        count += EtwSourceFileCount(m->heads[i].source);
    }
    return count;
}

static const EtlInfo *mergeFileInfo(const EtwSource *source, int index, const char **pathPtr)
{
    const MergeSource *m = (const MergeSource *)source;
    for (int i = 0; i < m->count; i++) {
        int own = EtwSourceFileCount(m->heads[i].source);
        if (index < own) {
            return EtwSourceFileInfo(m->heads[i].source, index, pathPtr);
        }
        index -= own;
    }
    return NULL;
}

static uint64_t mergeLost(const EtwSource *source)
{
    const MergeSource *m = (const MergeSource *)source;
    uint64_t lost = 0;
    for (int i = 0; i < m->count; i++) {
        lost += EtwSourceLost(m->heads[i].source);
    }
    return lost;
}

static EtwStatus mergeSession(const EtwSource *source, int index, EtwSessionInfo *info)
{
    const MergeSource *m = (const MergeSource *)source;
    for (int i = 0; i < m->count; i++) {
        if (EtwSourceIsLive(m->heads[i].source) && index-- == 0) {
            return EtwSourceSession(m->heads[i].source, 0, info);
        }
    }
    return ETW_END;
}

static int mergeWarningCount(const EtwSource *source)
{
    const MergeSource *m = (const MergeSource *)source;
    int count = 0;
    for (int i = 0; i < m->count; i++) {
        count += EtwSourceWarningCount(m->heads[i].source);
    }
    return count;
}

static int mergeNoticeCount(const EtwSource *source)
{
    const MergeSource *m = (const MergeSource *)source;
    int count = 0;
    for (int i = 0; i < m->count; i++) {
        count += EtwSourceNoticeCount(m->heads[i].source);
    }
    return count;
}

static const char *mergeWarning(const EtwSource *source, int index)
{
    const MergeSource *m = (const MergeSource *)source;
    for (int i = 0; i < m->count; i++) {
        int own = EtwSourceWarningCount(m->heads[i].source);
        if (index < own) {
            return EtwSourceWarning(m->heads[i].source, index);
        }
        index -= own;
    }
    return NULL;
}

/* Weighted by file size. */
static double mergeProgress(const EtwSource *source)
{
    const MergeSource *m = (const MergeSource *)source;
    double done = 0, all = 0;
    for (int i = 0; i < m->count; i++) {
        const EtlInfo *info = EtwSourceFileInfo(m->heads[i].source, 0, NULL);
        double size = info ? (double)info->fileSize : 0;
        done += size * EtwSourceProgress(m->heads[i].source);
        all += size;
    }
    return all > 0 ? done / all : 0;
}

/* Each source harvests its own schemas. */
static bool mergeHarvest(EtwSource *source, EtwSchemaStore *store)
{
    MergeSource *m = (MergeSource *)source;
    for (int i = 0; i < m->count; i++) {
        EtwSourceHarvest(m->heads[i].source, store);
    }
    return true;
}

/* Reopens the sources that support it. */
static EtwSource *mergeReopen(const EtwSource *source, const EtlFilter *filter)
{
    const MergeSource *m = (const MergeSource *)source;
    EtwSource **sources = EtwAlloc(sizeof *sources * (size_t)m->count), *merged;
    int count = 0;
    for (int i = 0; i < m->count; i++) {
        sources[count] = EtwSourceReopen(m->heads[i].source, filter);
        count += sources[count] != NULL;
    }
    merged = count ? EtwSourceMerge(sources, count) : NULL;
    EtwFree(sources);
    return merged;
}

static void mergePushFilter(EtwSource *source, const EtlFilter *filter)
{
    MergeSource *m = (MergeSource *)source;
    for (int i = 0; i < m->count; i++) {
        EtwSourcePushFilter(m->heads[i].source, filter);
    }
}

#define MERGE_OPS                                                                                  \
    .next = mergeNext, .close = mergeClose, .fileCount = mergeFileCount,                           \
    .fileInfo = mergeFileInfo, .lost = mergeLost, .warningCount = mergeWarningCount,               \
    .noticeCount = mergeNoticeCount, .warning = mergeWarning, .progress = mergeProgress,           \
    .harvest = mergeHarvest, .reopen = mergeReopen, .pushFilter = mergePushFilter

EtwSource *EtwSourceMerge(EtwSource **sources, int count)
{
    static const EtwSourceOps files = {MERGE_OPS};
    static const EtwSourceOps withLive = {
            MERGE_OPS, .wait = mergeWait, .wake = mergeWake, .session = mergeSession};
    bool live = false;
    if (count == 1) {
        return sources[0];
    }
    MergeSource *m = EtwAlloc(sizeof *m + (size_t)count * sizeof m->heads[0]);
    m->count = count;
    m->heap = EtwAlloc((size_t)(count + 1) * sizeof *m->heap);
    for (int i = 0; i < count; i++) {
        m->heads[i].source = sources[i];
        live = live || EtwSourceIsLive(sources[i]);
    }
    m->base.ops = live ? &withLive : &files;
    return &m->base;
}
