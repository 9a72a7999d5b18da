/*
 * flow/track/stack_matcher.c --
 *
 *	Matches StackWalk records with events by raw time and thread. A record contains either
 *	addresses (opcode 32) or a key (37 kernel, 38 user part). The addresses of a key are in
 *	another record: written when the key is created (34), when it leaves the system's cache
 *	(35), or when the session ends (36). All of those are therefore read beforehand.
 */
#include "flow/track/stack_matcher.h"
#include "base/hash_table.h"

enum {
    STACK = 32,
    KEY_CREATE = 34,
    KEY_DELETE = 35,
    KEY_RUNDOWN = 36,
    KEY_KERNEL = 37,
    KEY_USER = 38
};
enum {
    FRAMES_MAX = 384,
    WAITING_MAX = 20000,
    KEYS_MAX_BYTES = 32 << 20,
    HEAD = 16,
    ALIKE_MAX = 200
};
#define AHEAD_NS 1000000000LL /* a user part is written when its thread leaves the kernel */

const EtwGuid etwStackWalk = {{0x46, 0xfe, 0xf2, 0xde, 0xd6, 0x7b, 0x80, 0x4b, 0xbd, 0x94, 0xf5,
        0x7f, 0xe2, 0x0d, 0x0c, 0xe3}};

/* The addresses of a key at a time. Keys are reused: several definitions may have the same key. */
typedef struct Definition {
    EtwTableNode node;
    uint64_t key;
    int64_t time;
    uint32_t count;
    uint64_t frames[];
} Definition;

/* A stack whose event has not occurred yet. */
typedef struct Waiting {
    EtwTableNode node;
    struct Waiting *younger;
    int64_t ticks;    /* of the event */
    int64_t lastTime; /* time of the last record about it */
    uint32_t tid;
    uint16_t cpu;
    bool taken;
    uint32_t count, kernel; /* number of addresses; the first `kernel` of them are the kernel's */
    uint64_t *frames;
} Waiting;

struct EtwStacks {
    EtwSource *ahead;
    bool ended, held; /* held: `event` contains the next record */
    EtwEvent event;
    EtwTable keys, waiting;
    size_t keyBytes;
    Waiting *oldest, *youngest;
    uint64_t frames[FRAMES_MAX]; /* of the current event */
};

static inline uint64_t hashOf(uint64_t v)
{
    return EtwHashNumber(v);
}

static size_t widthOf(const EtwEvent *event)
{
    return event->pointerSize == 4 ? 4 : 8;
}

static uint64_t addressAt(const uint8_t *at, size_t width)
{
    return width == 4 ? EtwLoad32(at) : EtwLoad64(at);
}

/* True if the hash has so many entries that walking them would be slow. */
static bool isCrowded(const EtwTable *table, uint64_t hash)
{
    int count = 0;
    for (EtwTableNode *n = EtwTableFirst(table, hash); n != NULL; n = n->next) {
        count += n->hash == hash;
    }
    return count >= ALIKE_MAX;
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static void addDefinition(EtwStacks *s, const EtwEvent *event)
{
    size_t width = widthOf(event), count = event->payloadSize / width;
    if (count < 2 || count > FRAMES_MAX || s->keyBytes >= KEYS_MAX_BYTES) {
        return;
    }
    uint64_t key = addressAt(event->payload, width);
    if (isCrowded(&s->keys, hashOf(key))) {
        return;
    }
    size_t bytes = sizeof(Definition) + 8 * (count - 1);
    Definition *d = EtwAlloc(bytes);
    d->key = key;
    d->time = event->time;
    d->count = (uint32_t)(count - 1);
    for (size_t i = 1; i < count; i++) {
        d->frames[i - 1] = addressAt(event->payload + i * width, width);
    }
    s->keyBytes += bytes;
    EtwTableAdd(&s->keys, &d->node, hashOf(d->key));
}

/*
 * The definition of a key at a time: the first one after it, otherwise the last one. Chains have
 * the newest first.
 */
static const Definition *findDefinition(const EtwStacks *s, uint64_t key, int64_t time)
{
    const Definition *found = NULL;
    for (EtwTableNode *n = EtwTableFirst(&s->keys, hashOf(key)); n != NULL; n = n->next) {
        const Definition *d = (Definition *)n;
        if (d->key == key && (found == NULL || (d->time >= time && d->time <= found->time))) {
            found = d;
        }
    }
    return found;
}

void EtwStacksAddKey(EtwStacks *s, const EtwEvent *event)
{
    unsigned opcode = event->desc.opcode;
    if (EtwGuidEqual(&event->provider, &etwStackWalk) && opcode >= KEY_CREATE &&
            opcode <= KEY_RUNDOWN) {
        addDefinition(s, event);
    }
}

static const EtlFilter onlyStacks = {
        .providers = &etwStackWalk, .providerCount = 1, .from = INT64_MIN, .to = INT64_MAX};

void EtwStacksReadKeys(EtwStacks *s, const EtwSource *source)
{
    EtwEvent event;
    EtwSource *keys = EtwSourceReopen(source, &onlyStacks);
    while (keys != NULL && s->keyBytes < KEYS_MAX_BYTES && EtwSourceNext(keys, &event) == ETW_OK) {
        EtwStacksAddKey(s, &event);
    }
    EtwSourceClose(keys);
}

/* ---- Waiting stacks --------------------------------------------------------------------------- */

static Waiting *findWaiting(const EtwStacks *s, int64_t ticks, uint32_t tid)
{
    for (EtwTableNode *n = EtwTableFirst(&s->waiting, hashOf((uint64_t)ticks)); n != NULL;
            n = n->next) {
        Waiting *w = (Waiting *)n;
        if (w->ticks == ticks && w->tid == tid) {
            return w;
        }
    }
    return NULL;
}

/*
 * The stack of another thread at the same time and CPU: that of the thread that made a thread
 * ready.
 */
static Waiting *findOtherThread(const EtwStacks *s, int64_t ticks, uint16_t cpu)
{
    for (EtwTableNode *n = EtwTableFirst(&s->waiting, hashOf((uint64_t)ticks)); n != NULL;
            n = n->next) {
        Waiting *w = (Waiting *)n;
        if (w->ticks == ticks && w->cpu == cpu) {
            return w;
        }
    }
    return NULL;
}

/* NULL: too many stacks for the same time. */
static Waiting *waitingOf(EtwStacks *s, const EtwEvent *event, int64_t ticks, uint32_t tid)
{
    Waiting *w = findWaiting(s, ticks, tid);
    if (w == NULL) {
        if (isCrowded(&s->waiting, hashOf((uint64_t)ticks))) {
            return NULL;
        }
        w = EtwAlloc(sizeof *w);
        w->ticks = ticks;
        w->tid = tid;
        w->cpu = event->cpu;
        EtwTableAdd(&s->waiting, &w->node, hashOf((uint64_t)ticks));
        *(s->youngest ? &s->youngest->younger : &s->oldest) = w;
        s->youngest = w;
    }
    w->lastTime = event->time;
    return w;
}

/* The kernel's addresses are stored before those of user code, whichever record comes first. */
static void addFrames(Waiting *w, const uint64_t *frames, uint32_t count, bool kernel)
{
    if (count > FRAMES_MAX - w->count) {
        count = FRAMES_MAX - w->count;
    }
    uint32_t at = kernel ? w->kernel : w->count;
    w->frames = EtwRealloc(w->frames, 8 * (size_t)(w->count + count + 1));
    memmove(w->frames + at + count, w->frames + at, 8 * (size_t)(w->count - at));
    memcpy(w->frames + at, frames, 8 * (size_t)count);
    w->count += count;
    w->kernel += kernel ? count : 0;
}

static bool isKernel(uint64_t address, size_t width)
{
    return width == 4 ? address >= 0x80000000u : address >> 63 != 0;
}

static void takeRecord(EtwStacks *s, const EtwEvent *event)
{
    uint64_t frames[FRAMES_MAX];
    size_t width = widthOf(event);
    unsigned opcode = event->desc.opcode;
    if (event->payloadSize < HEAD + width ||
            (opcode != STACK && opcode != KEY_KERNEL && opcode != KEY_USER)) {
        return;
    }
    Waiting *w =
            waitingOf(s, event, (int64_t)EtwLoad64(event->payload), EtwLoad32(event->payload + 12));
    if (w == NULL) {
        return;
    }
    if (opcode != STACK) {
        const Definition *d =
                findDefinition(s, addressAt(event->payload + HEAD, width), event->time);
        if (d != NULL) {
            addFrames(w, d->frames, d->count, opcode == KEY_KERNEL);
        }
        return;
    }
    size_t count = (event->payloadSize - HEAD) / width;
    count = count < FRAMES_MAX ? count : FRAMES_MAX;
    for (size_t i = 0; i < count; i++) {
        frames[i] = addressAt(event->payload + HEAD + i * width, width);
    }
    addFrames(w, frames, (uint32_t)count, isKernel(frames[0], width));
}

static void unlinkWaiting(EtwStacks *s, Waiting *w)
{
    EtwTableNode **link = &s->waiting.slots[w->node.hash & s->waiting.mask];
    while (*link != &w->node) {
        link = &(*link)->next;
    }
    *link = w->node.next;
    s->waiting.count--;
    EtwFree(w->frames);
    EtwFree(w);
}

/* Drop stacks that were reported before that time: their events did not occur. */
static void dropOld(EtwStacks *s, int64_t time)
{
    while (s->oldest != NULL && s->oldest->lastTime < time) {
        Waiting *w = s->oldest;
        s->oldest = w->younger;
        s->youngest = s->oldest ? s->youngest : NULL;
        unlinkWaiting(s, w);
    }
}

static void readAhead(EtwStacks *s, int64_t time)
{
    while (!s->ended && s->waiting.count < WAITING_MAX) {
        if (!s->held && EtwSourceNext(s->ahead, &s->event) != ETW_OK) {
            s->ended = true;
            return;
        }
        s->held = s->event.time > EtwTimeAdd(time, AHEAD_NS);
        if (s->held) {
            return;
        }
        takeRecord(s, &s->event);
    }
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void setStack(EtwStacks *s, EtwEvent *event, const uint64_t *frames, uint32_t count)
{
    memcpy(s->frames, frames, 8 * (size_t)count);
    event->stack = (const uint8_t *)s->frames;
    event->stackWidth = 8;
    event->stackCount = count;
}

void EtwStacksAttach(EtwStacks *s, EtwEvent *event)
{
    dropOld(s, event->time);
    readAhead(s, event->time);
    if (event->classic && EtwGuidEqual(&event->provider, &etwStackWalk)) {
        return;
    }
    if (event->stackCount == 0 && event->stackKey != 0) {
        const Definition *d = findDefinition(s, event->stackKey, event->time);
        if (d != NULL) {
            setStack(s, event, d->frames, d->count);
        }
        return;
    }
    Waiting *w = findWaiting(s, event->ticks, event->tid);
    w = w ? w : findOtherThread(s, event->ticks, event->cpu);
    if (w != NULL && !w->taken && w->count > 0 && event->stackCount == 0) {
        w->taken = true;
        setStack(s, event, w->frames, w->count);
    }
}

bool EtwStacksUsed(const EtwStacks *s, const EtwEvent *event)
{
    if (!event->classic || !EtwGuidEqual(&event->provider, &etwStackWalk)) {
        return false;
    }
    unsigned opcode = event->desc.opcode;
    if (opcode >= KEY_CREATE && opcode <= KEY_RUNDOWN) {
        return true;
    }
    const Waiting *w = event->payloadSize >= HEAD
                               ? findWaiting(s, (int64_t)EtwLoad64(event->payload),
                                         EtwLoad32(event->payload + 12))
                               : NULL;
    return w != NULL && w->taken;
}

/* ---- Begin and end ---------------------------------------------------------------------------- */

EtwStacks *EtwStacksNew(const EtwSource *source)
{
    EtwSource *ahead = EtwSourceReopen(source, &onlyStacks);
    EtwStacks *s = ahead ? EtwAlloc(sizeof *s) : NULL;
    if (s != NULL) {
        s->ahead = ahead;
    }
    return s;
}

static void freeNode(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

void EtwStacksFree(EtwStacks *s)
{
    if (s != NULL) {
        dropOld(s, INT64_MAX);
        while (s->oldest != NULL) { /* reported at the maximum time */
            Waiting *w = s->oldest;
            s->oldest = w->younger;
            unlinkWaiting(s, w);
        }
        EtwTableFree(&s->waiting, freeNode);
        EtwTableFree(&s->keys, freeNode);
        EtwSourceClose(s->ahead);
        EtwFree(s);
    }
}
