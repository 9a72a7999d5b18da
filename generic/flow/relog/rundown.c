/*
 * flow/relog/rundown.c --
 *
 *	The state rundown (flow/relog/rundown.h): copies of events, one for each object that they
 *	describe. A newer event replaces an older one.
 */
#include "flow/relog/rundown.h"
#include "etl/record.h"
#include "flow/relog/image_id.h"
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
static const char *const globalClasses[] = {
        "01853a65-418f-4f36-aefc-dc0f1d2fd235", "9b79ee91-b5fd-41c0-a243-4248e266e9d0"};
enum { SYSTEM_CONFIG = 0, GLOBAL_CLASSES = sizeof globalClasses / sizeof *globalClasses };
enum { CONFIG_SERVICES = 15, CONFIG_IRQ = 21, CONFIG_PNP = 22 };

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

static EtwRundownEvent *forNumber(EtwRundownEvent *entry, EtwRelevance relevance, uint64_t number)
{
    if (entry != NULL) {
        entry->relevance = relevance;
        entry->number = number;
    }
    return entry;
}

static bool isSystem(uint32_t pid)
{
    return pid == 0 || pid == SYSTEM_PID;
}

/* Events with the same bytes are kept once. */
static EtwRundownEvent *takeWhole(EtwRundown *c, const EtwEvent *event, bool isSchema)
{
    uint64_t hash = EtwHashBytes(EtwHashGuid(&event->provider), event->payload, event->payloadSize);
    uint64_t other = event->payloadSize | (uint64_t)event->desc.opcode << 32;
    EtwRundownEvent *entry = keep(c, APPLIES_TO_ALL, hash, other, event);
    if (entry == NULL) {
        return NULL;
    }
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
    entry->relevance = EtwGuidIsNull(&entry->provider) ? ETW_FOR_ALL : ETW_FOR_PROVIDER;
    return entry;
}

static const EtwRundownEvent *takeImageId(
        EtwRundown *c, const EtwImageId *id, const EtwEvent *event)
{
    EtwRundownEvent *entry = takeWhole(c, event, false);
    if (id->isVersion) {
        return forNumber(entry, ETW_FOR_IMAGE, id->image);
    }
    return id->pid == ETW_NO_ID ? entry
           : id->pid == 0       ? forNumber(entry, ETW_FOR_STACKS, 0)
                                : forNumber(entry, ETW_FOR_PROCESS, id->pid);
}

/* Services name their process; lists of devices are long, and no event refers to them. */
static const EtwRundownEvent *takeGlobal(EtwRundown *c, const EtwEvent *event)
{
    EtwRundownEvent *entry = takeWhole(c, event, false);
    if (!EtwGuidEqual(&c->all[SYSTEM_CONFIG], &event->provider)) {
        return entry;
    }
    switch (event->desc.opcode) {
    case CONFIG_SERVICES:
        return event->payloadSize < 4 || event->desc.version < 2
                       ? entry
                       : forNumber(entry, ETW_FOR_PROCESS, EtwLoad32(event->payload));
    case CONFIG_IRQ:
    case CONFIG_PNP:
        return forNumber(entry, ETW_FOR_WHOLE, 0);
    default:
        return entry;
    }
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
        const Subject *process = copy->entry.relevance == ETW_FOR_PROCESS
                                         ? findSubject(c, ETW_NAMES_PROCESS, copy->entry.number, 0)
                                         : NULL;
        if (process != NULL && copy->order < process->ended) {
            forget(c, copy->subject);
        }
    }
    c->stale = false;
}

/* The module of a process or of the kernel. */
static const EtwRundownEvent *takeModule(
        EtwRundown *c, uint64_t pid, uint64_t base, const EtwEvent *event)
{
    EtwRundownEvent *entry = keep(c, ETW_NAMES_MODULE, pid, base, event);
    return forNumber(entry, isSystem((uint32_t)pid) ? ETW_FOR_STACKS : ETW_FOR_PROCESS, pid);
}

static const EtwRundownEvent *takeObject(
        EtwRundown *c, const TrackLayout *layout, const EtwEvent *event)
{
    uint64_t at;
    if (!EtwTrackNumber(layout, event, ETW_ROLE_FILE_KEY, &at) &&
            !EtwTrackNumber(layout, event, ETW_ROLE_FILE_OBJECT, &at)) {
        return NULL;
    }
    EtwRundownEvent *entry = keep(c, ETW_NAMES_OBJECT, at, event->classic, event);
    return forNumber(entry, ETW_FOR_OBJECT, at);
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
        return forNumber(keep(c, ETW_NAMES_PROCESS, pid, 0, event),
                isSystem((uint32_t)pid) ? ETW_FOR_ALL : ETW_FOR_PROCESS, pid);
    case ETW_NAMES_THREAD:
        return EtwTrackNumber(layout, event, ETW_ROLE_TID, &tid)
                       ? forNumber(keep(c, ETW_NAMES_THREAD, tid, 0, event), ETW_FOR_PROCESS, pid)
                       : NULL;
    case ETW_NAMES_MODULE:
        EtwTrackNumber(layout, event, ETW_ROLE_BASE, &at);
        return takeModule(c, pid, at, event);
    case ETW_NAMES_MODULE_GONE:
        EtwTrackNumber(layout, event, ETW_ROLE_BASE, &at);
        forget(c, findSubject(c, ETW_NAMES_MODULE, pid, at));
        return NULL;
    case ETW_NAMES_OBJECT:
        return takeObject(c, layout, event);
    default:
        return NULL;
    }
}

const EtwRundownEvent *EtwRundownAdd(EtwRundown *c, const EtwEvent *event)
{
    bool isSchema = EtwEventIsSchema(event);
    EtwImageId id;
    if (EtwImageIdParse(event, &id)) {
        return takeImageId(c, &id, event);
    }
    if (isSchema) {
        return takeWhole(c, event, true);
    }
    if (isGlobalClass(c, event)) {
        return takeGlobal(c, event);
    }
    const TrackLayout *layout = EtwTrackIsClass(event) ? eventLayoutOf(c, event) : NULL;
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
