/*
 * flow/relog/rundown.c --
 *
 *	The state rundown (flow/relog/rundown.h): copies of events, one for each object that they
 *	describe. A newer event replaces an older one.
 */
#include "flow/relog/rundown.h"
#include "etl/record.h"
#include "flow/track/name_tracker.h"
#include "flow/track/track_layout.h"
#include "schema/kernel/kernel_classes.h"
#include "schema/eventinfo/event_info.h"
#include "base/hash_table.h"

enum { PROCESS_END = 2, SYSTEM_PID = 4 };
enum { APPLIES_TO_ALL = 100 }; /* kind beside EtwNaming: keep all different events */
#define RUNDOWN_MAX_BYTES (256u << 20)

/*
 * Classes of which every event is kept, because later events may need them: versions and debug
 * names of images, the machine's hardware.
 */
static const char *const globalClasses[] = {"b3e675d7-2554-4f18-830b-2762732560de",
        "9b79ee91-b5fd-41c0-a243-4248e266e9d0", "01853a65-418f-4f36-aefc-dc0f1d2fd235"};
enum { IMAGE_ID = 0, GLOBAL_CLASSES = sizeof globalClasses / sizeof *globalClasses };

typedef struct Copy {
    EtwRundownEvent entry; /* must be first */
    struct Copy *previous;
    struct Subject *subject;
    uint64_t order; /* order of creation */
    size_t bytes;
    uint8_t record[];
} Copy;

/* The object that a copy describes. */
typedef struct Subject {
    EtwTableNode node;
    int kind;
    uint64_t a, b;
    uint64_t ended; /* a process: older events about it are obsolete; 0: not ended */
    Copy *copy;     /* NULL: obsolete */
} Subject;

struct EtwRundown {
    EtwSchemaStore *store;
    EtwGuid all[GLOBAL_CLASSES + 1];
    EtwTable subjects;
    Copy *first, *last;
    size_t bytes;
    uint64_t order, leftOut;
    bool stale; /* there are copies of processes that have ended */
    TrackLayouts layouts;
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
    EtwEvent *own = &copy->entry.event;
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

static void append(EtwRundown *c, Copy *copy)
{
    copy->previous = c->last;
    if (c->last != NULL) {
        c->last->entry.next = &copy->entry;
    } else {
        c->first = copy;
    }
    c->last = copy;
    c->bytes += copy->bytes;
}

static void drop(EtwRundown *c, Copy *copy)
{
    Copy *next = (Copy *)copy->entry.next;
    if (copy->previous != NULL) {
        copy->previous->entry.next = copy->entry.next;
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

/* NULL: no event has described it. */
static Subject *findSubject(const EtwRundown *c, int kind, uint64_t a, uint64_t b)
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

static Subject *subjectOf(EtwRundown *c, int kind, uint64_t a, uint64_t b)
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

static void forget(EtwRundown *c, Subject *s)
{
    if (s != NULL && s->copy != NULL) {
        drop(c, s->copy);
        s->copy = NULL;
    }
}

static EtwRundownEvent *keep(EtwRundown *c, int kind, uint64_t a, uint64_t b, const EtwEvent *event)
{
    if (c->bytes > RUNDOWN_MAX_BYTES) {
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
    copy->entry.pid = ETW_NO_ID;
    append(c, copy);
    return &copy->entry;
}

/* ---- Selecting events ------------------------------------------------------------------------ */

static bool isGlobalClass(const EtwRundown *c, const EtwEvent *event)
{
    for (int i = 0; i <= GLOBAL_CLASSES; i++) {
        if (EtwGuidEqual(&c->all[i], &event->provider)) {
            return true;
        }
    }
    return false;
}

/*
 * An image's debug names (ImageID) are relevant for its process; without a pid, for all processes.
 */
static uint32_t pidOfImage(const EtwRundown *c, const EtwEvent *event)
{
    enum {
        NAME = 0,
        VERSION = 64
    }; /* NAME: {base, size, pid, ...}; VERSION: no pid; others: {base, pid, ...} */
    size_t width = event->pointerSize == 4 ? 4 : 8;
    size_t at = event->desc.opcode == NAME ? 2 * width : width;
    if (!EtwGuidEqual(&c->all[IMAGE_ID], &event->provider) || event->desc.opcode == VERSION ||
            event->payloadSize < at + 4) {
        return ETW_NO_ID;
    }
    uint32_t pid = EtwLoad32(event->payload + at);
    return pid == 0 || pid == SYSTEM_PID ? ETW_NO_ID : pid;
}

/* Events with the same bytes are kept once. */
static const EtwRundownEvent *takeWhole(EtwRundown *c, const EtwEvent *event, bool isSchema)
{
    uint64_t hash = EtwHashBytes(EtwHashGuid(&event->provider), event->payload, event->payloadSize);
    uint64_t other = event->payloadSize | (uint64_t)event->desc.opcode << 32;
    EtwRundownEvent *entry = keep(c, APPLIES_TO_ALL, hash, other, event);
    if (entry == NULL) {
        return NULL;
    }
    entry->pid = pidOfImage(c, event);
    if (!isSchema) {
        return entry;
    }
    entry->isSchema = true;
    if (!event->classic) {
        entry->provider = event->provider;
    } else if (EtwGuidEqual(&event->provider, &etwMetadataClass) &&
               event->payloadSize >= sizeof entry->provider) {
        memcpy(&entry->provider, event->payload, sizeof entry->provider);
    }
    return entry;
}

static const TrackLayout *eventLayoutOf(EtwRundown *c, const EtwEvent *event)
{
    const EtwSchema *schema =
            event->classic ? EtwKernelSchema(event) : EtwSchemaOf(c->store, event);
    return schema != NULL ? EtwTrackLayoutOf(&c->layouts, schema) : NULL;
}

/* The copies of an ended process are removed when the rundown is next read. */
static void endProcess(EtwRundown *c, uint32_t pid)
{
    Subject *s = c->bytes <= RUNDOWN_MAX_BYTES ? subjectOf(c, ETW_NAMES_PROCESS, pid, 0)
                                               : findSubject(c, ETW_NAMES_PROCESS, pid, 0);
    if (s != NULL) {
        forget(c, s);
        s->ended = ++c->order;
        c->stale = true;
    }
}

static void sweep(EtwRundown *c)
{
    for (Copy *copy = c->first, *next; copy != NULL; copy = next) {
        next = (Copy *)copy->entry.next;
        const Subject *process = copy->entry.pid != ETW_NO_ID
                                         ? findSubject(c, ETW_NAMES_PROCESS, copy->entry.pid, 0)
                                         : NULL;
        if (process != NULL && copy->order < process->ended) {
            forget(c, copy->subject);
        }
    }
    c->stale = false;
}

/* Keep an event about a process, which is relevant only for that process's events. */
static const EtwRundownEvent *takeOf(
        EtwRundown *c, int kind, uint64_t a, uint64_t b, uint32_t pid, const EtwEvent *event)
{
    EtwRundownEvent *entry = keep(c, kind, a, b, event);
    if (entry != NULL && pid != 0 && pid != SYSTEM_PID) {
        entry->pid = pid;
    }
    return entry;
}

static const EtwRundownEvent *takeState(
        EtwRundown *c, const TrackLayout *layout, const EtwEvent *event)
{
    uint64_t pid = event->pid, tid, at = 0;
    EtwTrackNumber(layout, event, ETW_ROLE_PID, &pid);
    switch (layout->semantics->naming) {
    case ETW_NAMES_PROCESS:
        if (event->classic && event->desc.opcode == PROCESS_END) {
            endProcess(c, (uint32_t)pid);
            return NULL;
        }
        return takeOf(c, ETW_NAMES_PROCESS, pid, 0, (uint32_t)pid, event);
    case ETW_NAMES_THREAD:
        return EtwTrackNumber(layout, event, ETW_ROLE_TID, &tid)
                       ? takeOf(c, ETW_NAMES_THREAD, tid, 0, (uint32_t)pid, event)
                       : NULL;
    case ETW_NAMES_MODULE:
        EtwTrackNumber(layout, event, ETW_ROLE_BASE, &at);
        return takeOf(c, ETW_NAMES_MODULE, pid, at, (uint32_t)pid, event);
    case ETW_NAMES_MODULE_GONE:
        EtwTrackNumber(layout, event, ETW_ROLE_BASE, &at);
        forget(c, findSubject(c, ETW_NAMES_MODULE, pid, at));
        return NULL;
    case ETW_NAMES_OBJECT:
        return EtwTrackNumber(layout, event, ETW_ROLE_FILE_KEY, &at) ||
                               EtwTrackNumber(layout, event, ETW_ROLE_FILE_OBJECT, &at)
                       ? keep(c, ETW_NAMES_OBJECT, at, event->classic, event)
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

const EtwRundownEvent *EtwRundownAdd(EtwRundown *c, const EtwEvent *event)
{
    bool isSchema = EtwEventIsSchema(event);
    if (isSchema || isGlobalClass(c, event)) {
        return takeWhole(c, event, isSchema);
    }
    const TrackLayout *layout = isTracked(event) ? eventLayoutOf(c, event) : NULL;
    return layout != NULL ? takeState(c, layout, event) : NULL;
}

/* ---- Create and free ------------------------------------------------------------------------- */

EtwRundown *EtwRundownNew(EtwSchemaStore *store)
{
    EtwRundown *c = EtwAlloc(sizeof *c);
    c->store = store;
    for (int i = 0; i < GLOBAL_CLASSES; i++) {
        EtwGuidParse(globalClasses[i], &c->all[i]);
    }
    EtwGuidFromName("Etw-Host", &c->all[GLOBAL_CLASSES]);
    return c;
}

const EtwRundownEvent *EtwRundownFirst(EtwRundown *c)
{
    if (c->stale) {
        sweep(c);
    }
    return c->first != NULL ? &c->first->entry : NULL;
}

uint64_t EtwRundownDropped(const EtwRundown *c)
{
    return c->leftOut;
}

static void freeNode(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

void EtwRundownFree(EtwRundown *c)
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
