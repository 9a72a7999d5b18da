/*
 * flow/relog/rundown.c --
 *
 *	Copies by what they tell of: a newer one takes the place of an older (flow/relog/rundown.h).
 */
#include "flow/relog/rundown.h"
#include "etl/record.h"
#include "flow/track/track.h"
#include "flow/track/track_layout.h"
#include "schema/kernel/kernel_classes.h"
#include "schema/eventinfo/event_info.h"
#include "base/hash_table.h"

enum { PLANS = 256, PROCESS_END = 2, SYSTEM_PID = 4 };
enum { TELLS_ALL = 100 }; /* beside TrackAction: a kind that is kept as often as it differs */
#define CARRY_MAX_BYTES (256u << 20)

/* Classes whose every event later ones may need, whatever it says: versions and debug names of
 * images, what the machine is made of. */
static const char *const toldToAll[] = {"b3e675d7-2554-4f18-830b-2762732560de",
        "9b79ee91-b5fd-41c0-a243-4248e266e9d0", "01853a65-418f-4f36-aefc-dc0f1d2fd235"};
enum { IMAGE_ID = 0, TOLD_TO_ALL = sizeof toldToAll / sizeof *toldToAll };

typedef struct Copy {
    EtwCarried carried; /* first */
    struct Copy *previous;
    struct Subject *subject;
    uint64_t order; /* in which it was made */
    size_t bytes;
    uint8_t record[];
} Copy;

/* What copies are kept by. */
typedef struct Subject {
    EtwTableNode node;
    int kind;
    uint64_t a, b;
    uint64_t ended; /* a process: what was told of it before this order is gone; 0: nothing */
    Copy *copy;     /* NULL: it is gone */
} Subject;

struct EtwCarry {
    EtwSchemaStore *store;
    EtwGuid all[TOLD_TO_ALL + 1];
    EtwTable subjects;
    Copy *first, *last;
    size_t bytes;
    uint64_t order, leftOut;
    bool stale; /* processes ended whose copies are still there */
    TrackPlan plans[PLANS];
};

/* ---- Copies ---------------------------------------------------------------------------------- */

static Copy *copyOf(const EtwEvent *event)
{
    size_t size = event->record != NULL ? EtwAlign8(event->recordSize) : EtlRecordSize(event), next;
    Copy *copy = EtwAlloc(sizeof *copy + size);
    copy->bytes = sizeof *copy + size;
    if (event->record != NULL) {
        memcpy(copy->record, event->record, event->recordSize);
        size = event->recordSize;
    } else {
        EtlRecordBuild(event, copy->record, size);
    }
    EtwEvent *own = &copy->carried.event;
    if (!EtlRecordParse(copy->record, size, own, &next)) {
        EtwFree(copy);
        return NULL;
    }
    own->time = event->time;
    own->ticks = event->ticks;
    own->cpu = event->cpu;
    own->logger = event->logger;
    return copy;
}

static void append(EtwCarry *c, Copy *copy)
{
    copy->previous = c->last;
    if (c->last != NULL) {
        c->last->carried.next = &copy->carried;
    } else {
        c->first = copy;
    }
    c->last = copy;
    c->bytes += copy->bytes;
}

static void drop(EtwCarry *c, Copy *copy)
{
    Copy *next = (Copy *)copy->carried.next;
    if (copy->previous != NULL) {
        copy->previous->carried.next = copy->carried.next;
    } else {
        c->first = next;
    }
    if (next != NULL) {
        next->previous = copy->previous;
    } else {
        c->last = copy->previous;
    }
    c->bytes -= copy->bytes;
    EtwFree(copy);
}

static uint64_t hashOf(int kind, uint64_t a, uint64_t b)
{
    return EtwHashMix(EtwHashMix((uint64_t)kind, a), b);
}

/* NULL: nothing was told of it. */
static Subject *findSubject(const EtwCarry *c, int kind, uint64_t a, uint64_t b)
{
    EtwTableNode *n = EtwTableFirst(&c->subjects, hashOf(kind, a, b));
    for (; n != NULL; n = n->next) {
        Subject *s = (Subject *)n;
        if (s->kind == kind && s->a == a && s->b == b) {
            return s;
        }
    }
    return NULL;
}

static Subject *subjectOf(EtwCarry *c, int kind, uint64_t a, uint64_t b)
{
    Subject *known = findSubject(c, kind, a, b);
    if (known != NULL) {
        return known;
    }
    Subject *s = EtwAlloc(sizeof *s);
    s->kind = kind;
    s->a = a;
    s->b = b;
    c->bytes += sizeof *s;
    EtwTableAdd(&c->subjects, &s->node, hashOf(kind, a, b));
    return s;
}

static void forget(EtwCarry *c, Subject *s)
{
    if (s != NULL && s->copy != NULL) {
        drop(c, s->copy);
        s->copy = NULL;
    }
}

static EtwCarried *keep(EtwCarry *c, int kind, uint64_t a, uint64_t b, const EtwEvent *event)
{
    if (c->bytes > CARRY_MAX_BYTES) {
        c->leftOut++;
        return NULL;
    }
    Subject *s = subjectOf(c, kind, a, b);
    Copy *copy = copyOf(event);
    if (copy == NULL) {
        return NULL;
    }
    forget(c, s);
    s->copy = copy;
    copy->subject = s;
    copy->order = ++c->order;
    copy->carried.pid = ETW_NO_ID;
    append(c, copy);
    return &copy->carried;
}

/* ---- Which events ---------------------------------------------------------------------------- */

static bool isToldToAll(const EtwCarry *c, const EtwEvent *event)
{
    for (int i = 0; i <= TOLD_TO_ALL; i++) {
        if (EtwGuidEqual(&c->all[i], &event->provider)) {
            return true;
        }
    }
    return false;
}

/* Debug names of an image (ImageID) are of use to its process; what has no pid, to all. */
static uint32_t pidOfImage(const EtwCarry *c, const EtwEvent *event)
{
    enum {
        NAME = 0,
        VERSION = 64
    }; /* opcodes: {base, size, pid, ...}; no pid; others {base, pid, ...} */
    size_t width = event->pointerSize == 4 ? 4 : 8;
    size_t at = event->desc.opcode == NAME ? 2 * width : width;
    if (!EtwGuidEqual(&c->all[IMAGE_ID], &event->provider) || event->desc.opcode == VERSION ||
            event->payloadSize < at + 4) {
        return ETW_NO_ID;
    }
    uint32_t pid = EtwLoad32(event->payload + at);
    return pid == 0 || pid == SYSTEM_PID ? ETW_NO_ID : pid;
}

/* The same bytes are needed once. */
static const EtwCarried *takeWhole(EtwCarry *c, const EtwEvent *event, bool teaches)
{
    uint64_t hash = EtwHashBytes(EtwHashGuid(&event->provider), event->payload, event->payloadSize);
    uint64_t other = event->payloadSize | (uint64_t)event->desc.opcode << 32;
    EtwCarried *carried = keep(c, TELLS_ALL, hash, other, event);
    if (carried == NULL) {
        return NULL;
    }
    carried->pid = pidOfImage(c, event);
    if (!teaches) {
        return carried;
    }
    carried->teaches = true;
    if (!event->classic) {
        carried->provider = event->provider;
    } else if (EtwGuidEqual(&event->provider, &etwMetadataClass) &&
               event->payloadSize >= sizeof carried->provider) {
        memcpy(&carried->provider, event->payload, sizeof carried->provider);
    }
    return carried;
}

static const TrackPlan *planOf(EtwCarry *c, const EtwEvent *event)
{
    const EtwSchema *schema =
            event->classic ? EtwKernelSchema(event) : EtwSchemaOf(c->store, event);
    if (schema == NULL) {
        return NULL;
    }
    TrackPlan *plan = &c->plans[EtwHashMix(0, (uintptr_t)schema) % PLANS];
    if (plan->schema != schema) {
        EtwTrackPlanMake(plan, schema);
    }
    return plan;
}

/* What there is of the process goes when somebody asks for what there is. */
static void endProcess(EtwCarry *c, uint32_t pid)
{
    Subject *s = c->bytes <= CARRY_MAX_BYTES ? subjectOf(c, TRACK_PROCESS, pid, 0)
                                             : findSubject(c, TRACK_PROCESS, pid, 0);
    if (s != NULL) {
        forget(c, s);
        s->ended = ++c->order;
        c->stale = true;
    }
}

static void sweep(EtwCarry *c)
{
    for (Copy *copy = c->first, *next; copy != NULL; copy = next) {
        next = (Copy *)copy->carried.next;
        const Subject *process = copy->carried.pid != ETW_NO_ID
                                         ? findSubject(c, TRACK_PROCESS, copy->carried.pid, 0)
                                         : NULL;
        if (process != NULL && copy->order < process->ended) {
            forget(c, copy->subject);
        }
    }
    c->stale = false;
}

/* What tells of a process, and is of use to those who read that process's events alone. */
static const EtwCarried *takeOf(
        EtwCarry *c, int kind, uint64_t a, uint64_t b, uint32_t pid, const EtwEvent *event)
{
    EtwCarried *carried = keep(c, kind, a, b, event);
    if (carried != NULL && pid != 0 && pid != SYSTEM_PID) {
        carried->pid = pid;
    }
    return carried;
}

static const EtwCarried *takeState(EtwCarry *c, const TrackPlan *plan, const EtwEvent *event)
{
    uint64_t pid = event->pid, tid, at = 0;
    EtwTrackNumber(plan, event, TRACK_PID, &pid);
    switch (plan->action) {
    case TRACK_PROCESS:
        if (event->classic && event->desc.opcode == PROCESS_END) {
            endProcess(c, (uint32_t)pid);
            return NULL;
        }
        return takeOf(c, TRACK_PROCESS, pid, 0, (uint32_t)pid, event);
    case TRACK_THREAD:
        return EtwTrackNumber(plan, event, TRACK_TID, &tid)
                       ? takeOf(c, TRACK_THREAD, tid, 0, (uint32_t)pid, event)
                       : NULL;
    case TRACK_LOAD:
        EtwTrackNumber(plan, event, TRACK_BASE, &at);
        return takeOf(c, TRACK_LOAD, pid, at, (uint32_t)pid, event);
    case TRACK_UNLOAD:
        EtwTrackNumber(plan, event, TRACK_BASE, &at);
        forget(c, findSubject(c, TRACK_LOAD, pid, at));
        return NULL;
    case TRACK_OBJECT:
        return EtwTrackNumber(plan, event, TRACK_FILE_KEY, &at) ||
                               EtwTrackNumber(plan, event, TRACK_FILE, &at)
                       ? keep(c, TRACK_OBJECT, at, event->classic, event)
                       : NULL;
    default:
        return NULL;
    }
}

static bool isTracked(const EtwEvent *event)
{
    size_t count;
    const EtwGuid *classes = EtwTrackClasses(&count);
    for (size_t i = 0; i < count; i++) {
        if (EtwGuidEqual(&classes[i], &event->provider)) {
            return true;
        }
    }
    return false;
}

const EtwCarried *EtwCarryTake(EtwCarry *c, const EtwEvent *event)
{
    bool teaches = EtwSchemaTeaches(event);
    if (teaches || isToldToAll(c, event)) {
        return takeWhole(c, event, teaches);
    }
    const TrackPlan *plan = isTracked(event) ? planOf(c, event) : NULL;
    return plan != NULL ? takeState(c, plan, event) : NULL;
}

/* ---- The whole ------------------------------------------------------------------------------- */

EtwCarry *EtwCarryNew(EtwSchemaStore *store)
{
    EtwCarry *c = EtwAlloc(sizeof *c);
    c->store = store;
    for (int i = 0; i < TOLD_TO_ALL; i++) {
        EtwGuidParse(toldToAll[i], &c->all[i]);
    }
    EtwGuidFromName("Etw-Host", &c->all[TOLD_TO_ALL]);
    return c;
}

const EtwCarried *EtwCarryFirst(EtwCarry *c)
{
    if (c->stale) {
        sweep(c);
    }
    return c->first != NULL ? &c->first->carried : NULL;
}

uint64_t EtwCarryLeftOut(const EtwCarry *c)
{
    return c->leftOut;
}

static void freeNode(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

void EtwCarryFree(EtwCarry *c)
{
    if (c == NULL) {
        return;
    }
    while (c->first != NULL) {
        drop(c, c->first);
    }
    EtwTableFree(&c->subjects, freeNode);
    EtwFree(c);
}
