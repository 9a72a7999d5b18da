/*
 * engine/session/live_source.c --
 *
 *	A live consumer of a session, in any process of the user. It maps the session, reads all
 *	streams with its own cursors, and delivers events in time order up to a watermark. It writes
 *	only its process's key and its loss. After the session's end it delivers what remains.
 */
#include "base/alloc.h"
#include "engine/session/session.h"
#include "engine/shared/ring_reader.h"

enum {
    BLOCK_TIMEOUT_NS = 50 * 1000000,  /* ns that a writer's open record may delay delivery */
    SKIP_TIMEOUT_NS = 2000 * 1000000, /* ns after which an open record is skipped */
    SECOND = 1000 * 1000000,
    WAIT_LEAST = 1000000,
    WAIT_MOST = 4000000 /* ns between polls of an idle session; the mean latency is half of it */
};

typedef struct EmbeddedLive {
    EtwLive pub; /* must be first */
    Ring ring;
    RingReader *tails;
    uint32_t count;
    EtwAnchors anchors;
    OsInstant lastAnchor;
    bool ended;         /* the session stopped, or its owner died */
    uint64_t watermark; /* ticks: events up to here may be delivered */
    uint64_t last;      /* ticks of the last event delivered */
    int64_t lastTime;   /* its time in ns */
    int64_t blockedSince;
    int64_t wait;
    uint64_t reported;   /* part of the loss that is already added to the session's header */
    RingReader *current; /* the reader of the event that the caller still uses */
    OsWake *wake;
    int place;    /* in the session's consumers; RING_CONSUMERS: none was free */
    uint32_t key; /* what is there */
} EmbeddedLive;

/* Takes a place that is free, or whose process was killed. A consumer without a place works, but is not counted. */
static void takePlace(EmbeddedLive *l)
{
    _Atomic uint32_t *places = l->ring.header->consumers;
    l->key = RegSelfKey();
    for (l->place = 0; l->place < RING_CONSUMERS; l->place++) {
        uint32_t key = atomic_load(&places[l->place]);
        if ((key == 0 || !RegProcessLives(key)) &&
                atomic_compare_exchange_strong(&places[l->place], &key, l->key)) {
            return;
        }
    }
}

/* A forked child closes a copy: the place is its parent's. */
static void leavePlace(EmbeddedLive *l)
{
    if (l->place < RING_CONSUMERS && l->key == RegSelfKey()) {
        atomic_store(&l->ring.header->consumers[l->place], 0);
    }
}

/* Skip the open records of writers that died or hang. */
static void skipBlocked(EmbeddedLive *l, int64_t now)
{
    for (uint32_t i = 0; i < l->count; i++) {
        RingReader *t = &l->tails[i];
        if (t->blocked && t->blockedSince == 0) {
            t->blockedSince = now;
        }
        if (t->blocked && (l->ended || now - t->blockedSince >= SKIP_TIMEOUT_NS)) {
            RingReaderSkip(&l->ring, t);
        }
    }
}

/* Set the time up to which all streams are complete. */
static void moveWatermark(EmbeddedLive *l)
{
    OsInstant now;
    uint64_t kernel = atomic_load_explicit(&l->ring.header->kernelUntil, memory_order_acquire);
    OsNow(&now);
    l->watermark = kernel != 0 && kernel < now.ticks ? kernel : now.ticks;
    if (now.steady - l->lastAnchor.steady > SECOND) {
        EtwAnchorsAdd(&l->anchors, &now);
        l->lastAnchor = now;
        l->ended |= !RegProcessLives(l->ring.header->owner);
    }
    l->ended |= atomic_load_explicit(&l->ring.header->state, memory_order_acquire) == RING_STOPPED;
    l->watermark = l->ended ? UINT64_MAX : l->watermark;
    skipBlocked(l, now.steady);
}

/* The reader with the oldest record. *blockedPtr: an open record blocks a stream. */
static RingReader *oldest(EmbeddedLive *l, bool *blockedPtr)
{
    RingReader *best = NULL;
    *blockedPtr = false;
    for (uint32_t i = 0; i < l->count; i++) {
        RingReader *t = &l->tails[i];
        if (RingReaderPeek(&l->ring, t)) {
            if (best == NULL || RingReaderRecord(t)->ticks < RingReaderRecord(best)->ticks) {
                best = t;
            }
        } else {
            *blockedPtr |= t->blocked;
        }
    }
    return best;
}

static bool isHeldBack(EmbeddedLive *l, bool blocked)
{
    OsInstant now;
    if (!blocked || l->ended) {
        l->blockedSince = 0;
        return false;
    }
    OsNow(&now);
    if (l->blockedSince == 0) {
        l->blockedSince = now.steady;
    }
    return now.steady - l->blockedSince < BLOCK_TIMEOUT_NS;
}

static uint64_t liveLost(const EtwLive *live)
{
    const EmbeddedLive *l = (const EmbeddedLive *)live;
    uint64_t lost = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        lost += l->tails[i].lost;
    }
    return lost;
}

static void reportLoss(EmbeddedLive *l)
{
    uint64_t lost = liveLost(&l->pub);
    if (lost > l->reported) {
        atomic_fetch_add(&l->ring.header->lostConsumer, lost - l->reported);
        l->reported = lost;
    }
}

static bool deliver(EmbeddedLive *l, RingReader *t, EtwEvent *event)
{
    const RingRecord *record = RingReaderRecord(t);
    uint32_t cpu = t->cursor.stream % l->ring.cpus;
    l->current = t;
    if (!LoggerEventOf(record, t->size, (int)cpu, event)) {
        t->lost++;
        return false;
    }
    event->time = l->ring.header->startWall + EtwAnchorsSteady(&l->anchors, record->ticks) -
                  l->ring.header->startSteady;
    event->late = record->ticks < l->last;
    if (!event->late) {
        l->last = record->ticks;
        /* A new anchor may convert a later event to a time some ns earlier: keep the order. */
        l->lastTime = event->time > l->lastTime ? event->time : l->lastTime;
        event->time = l->lastTime;
    }
    l->wait = WAIT_LEAST;
    return true;
}

static EtwStatus liveNext(EtwLive *live, EtwEvent *event)
{
    EmbeddedLive *l = (EmbeddedLive *)live;
    if (l->current != NULL) {
        RingReaderNext(l->current);
        l->current = NULL;
    }
    for (bool fresh = false;;) {
        bool blocked;
        RingReader *t = oldest(l, &blocked);
        if (t != NULL && RingReaderRecord(t)->ticks <= l->watermark && !isHeldBack(l, blocked)) {
            if (deliver(l, t, event)) {
                return ETW_OK;
            }
            RingReaderNext(t);
            continue;
        }
        if (fresh && !(l->ended && blocked)) {
            bool end = l->ended && t == NULL;
            for (uint32_t i = 0; end && i < l->count; i++) {
                RingReaderEnd(&l->ring, &l->tails[i]);
            }
            reportLoss(l);
            return end ? ETW_END : ETW_AGAIN;
        }
        moveWatermark(l);
        fresh = true;
    }
}

static void liveWait(EtwLive *live, int64_t timeoutNs)
{
    EmbeddedLive *l = (EmbeddedLive *)live;
    int64_t wait = timeoutNs >= 0 && timeoutNs < l->wait ? timeoutNs : l->wait;
    OsWakeWait(l->wake, wait);
    l->wait = l->wait * 2 > WAIT_MOST ? WAIT_MOST : l->wait * 2;
}

static void liveWake(EtwLive *live)
{
    OsWakePost(((EmbeddedLive *)live)->wake);
}

static void liveClose(EtwLive *live)
{
    EmbeddedLive *l = (EmbeddedLive *)live;
    leavePlace(l);
    for (uint32_t i = 0; i < l->count; i++) {
        RingReaderFree(&l->tails[i]);
    }
    EtwFree(l->tails);
    RingClose(&l->ring);
    OsWakeFree(l->wake);
    EtwFree(l);
}

static const EtwLiveOps liveOps = {
        .next = liveNext, .wait = liveWait, .wake = liveWake, .lost = liveLost, .close = liveClose};

EtwStatus EmbeddedLiveOpen(const char *session, EtwLive **livePtr, EtwError *err)
{
    EtwSessionInfo info;
    char path[1024];
    EmbeddedLive *l;
    EtwStatus status = EmbeddedQuery(session, &info, err);
    if (status != ETW_OK) {
        return status;
    }
    if (!info.realtime) {
        return EtwFail(err, ETW_E_STATE, "REALTIME", session,
                "session \"%s\" cannot be read while it runs: start it with -realtime 1", session);
    }
    l = EtwAlloc(sizeof *l);
    l->pub.ops = &liveOps;
    RegSessionPath(info.instance, path, sizeof path);
    status = RingOpen(&l->ring, path, info.instance, err);
    if (status != ETW_OK) {
        EtwFree(l);
        return status;
    }
    l->count = 2 * l->ring.cpus;
    l->tails = EtwAlloc(l->count * sizeof *l->tails);
    for (uint32_t i = 0; i < l->count; i++) {
        RingReaderInit(&l->tails[i], i);
        /* Events from here on that are overwritten unread count as loss. */
        l->tails[i].expected = atomic_load(&l->ring.streams[i].passed);
        l->tails[i].entered = true;
    }
    OsInstant start = {
            l->ring.header->startTicks, l->ring.header->startSteady, l->ring.header->startWall};
    OsNow(&l->lastAnchor);
    EtwAnchorsJoin(&l->anchors, &start, &l->lastAnchor);
    l->wake = OsWakeNew();
    l->wait = WAIT_LEAST;
    takePlace(l);
    *livePtr = &l->pub;
    return ETW_OK;
}
