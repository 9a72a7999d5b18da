/*
 * flow/track/name_tracker.c --
 *
 *	Tables of the processes, threads, modules, files and registry keys that events have named so
 *	far. track_layout.c locates the fields with names. source_track.c reads ahead for names that
 *	occur late in a trace.
 */
#include "flow/track/name_tracker.h"
#include "base/unicode.h"
#include "flow/track/track_layout.h"
#include "semantics/declared_events.h"
#include "schema/kernel/kernel_classes.h"
#include "base/hash_table.h"

enum { CPUS = 2048, RECENT_PIDS = 256 };
/* Limits. A name is stored once, however often it occurs. */
enum {
    NAMES_MAX_BYTES = 32 << 20,
    OBJECTS_MAX = 400000,
    THREADS_MAX = 400000,
    PROCESSES_MAX = 100000,
    MODULES_MAX = 400000,
    MODULES_OF_PROCESS = 4096
};

typedef struct Name {
    EtwTableNode node;
    size_t size;
    char text[];
} Name;

typedef struct Module {
    uint64_t base, size;
    uint64_t offset; /* of the mapping in its file */
    const char *path;
    const char *build; /* NULL: none */
} Module;

typedef struct Process {
    EtwTableNode node;
    uint32_t pid;
    const char *name; /* NULL: unknown */
    Module *modules;  /* ascending by base, not overlapping */
    int moduleCount, moduleCapacity;
} Process;

typedef struct Thread {
    EtwTableNode node;
    uint32_t tid, pid;
} Thread;

/* A file object, a file's key or a key control block. */
typedef struct Object {
    EtwTableNode node;
    uint64_t address;
    const char *path;
} Object;

struct EtwTrack {
    int64_t frequency;
    bool images;
    bool onLinux;          /* images are those of Linux: process 4 is a process like others */
    EtwSchemaStore *store; /* for events that are not classic kernel events; NULL: none occurred */
    EtwTable names, processes, threads, objects;
    size_t nameBytes;
    int moduleCount;
    TrackLayouts layouts;
    Process *recent[RECENT_PIDS];
    uint32_t current[CPUS]; /* thread of each CPU, by context switches; ETW_NO_ID: unknown */
    EtwText scratch;
    EtwSymbols *symbols;                /* NULL: none */
    EtwSymbol inlined[ETW_SYMBOLS_MAX]; /* functions of the last event's address that are inlined */
    int inlinedCount;
};

static const EtwGuid classes[] = {
        {{0xd0, 0xa8, 0x6f, 0x3d, 0x05, 0xfe, 0xd0, 0x11, 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba,
                0x7c}}, /* Process */
        {{0xd1, 0xa8, 0x6f, 0x3d, 0x05, 0xfe, 0xd0, 0x11, 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba,
                0x7c}}, /* Thread */
        {{0x1d, 0x5d, 0xb1, 0x2c, 0xc1, 0x5f, 0xd2, 0x11, 0xab, 0xe1, 0x00, 0xa0, 0xc9, 0x11, 0xf5,
                0x18}}, /* Image */
        {{0x39, 0xdc, 0xcb, 0x90, 0x3e, 0x4a, 0xd1, 0x11, 0x84, 0xf4, 0x00, 0x00, 0xf8, 0x04, 0x64,
                0xe3}}, /* FileIo */
        {{0x2e, 0x72, 0x53, 0xae, 0x63, 0xc8, 0xd2, 0x11, 0x86, 0x59, 0x00, 0xc0, 0x4f, 0xa3, 0x21,
                0xa1}}, /* Registry */
        {{0xd6, 0x2c, 0xfb, 0x22, 0x7b, 0x0e, 0x2b, 0x42, 0xa0, 0xc7, 0x2f, 0xad, 0x1f, 0xd0, 0xe7,
                0x16}}, /* Microsoft-Windows-Kernel-Process */
        {{0x27, 0x89, 0xd0, 0xed, 0xc4, 0x9c, 0x65, 0x4e, 0xb9, 0x70, 0xc2, 0x56, 0x0f, 0xb5, 0xc2,
                0x89}}, /* Microsoft-Windows-Kernel-File */
        {{0x8e, 0xf2, 0xf6, 0xc0, 0xcd, 0x96, 0x8e, 0x5c, 0xa6, 0x37, 0x4c, 0x68, 0x2d, 0x5e, 0x92,
                0xd6}}, /* Linux-process */
        {{0x10, 0x67, 0x83, 0xfe, 0x8c, 0x06, 0x90, 0x5c, 0x2c, 0x75, 0x5a, 0x79, 0xdf, 0xa2, 0xae,
                0x74}}, /* Etw-Session */
        {{0xa1, 0x6d, 0x29, 0x70, 0xb0, 0xf3, 0xbf, 0x5a, 0x65, 0x09, 0xc0, 0x6c, 0x41, 0x56, 0x70,
                0xa8}}, /* Linux-imageload */
        {{0xc9, 0x16, 0x51, 0x53, 0x20, 0x38, 0x6b, 0x59, 0x44, 0xa2, 0xb0, 0x9d, 0x66, 0x6c, 0x3b,
                0x9d}}, /* Linux-contextswitch */
};
/* The last one is not read ahead: it has many events with little information. */
enum { CLASSES = sizeof classes / sizeof *classes, SOUGHT = CLASSES - 1 };
enum { FIRST_MANIFEST = 5, ETW_SESSION = 8, LINUX_IMAGE = 9 };

const EtwGuid *EtwTrackClasses(size_t *countPtr)
{
    *countPtr = SOUGHT;
    return classes;
}

bool EtwTrackIsClass(const EtwEvent *event)
{
    for (int i = 0; i < SOUGHT; i++) {
        if (EtwGuidEqual(&classes[i], &event->provider)) {
            return true;
        }
    }
    return false;
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* The text in *scratch, stored once; NULL: the limit was reached. */
static const char *keepName(EtwTrack *t)
{
    const EtwText *text = &t->scratch;
    uint64_t hash = EtwHashBytes(0, (const uint8_t *)text->data, text->size);
    for (EtwTableNode *n = EtwTableFirst(&t->names, hash); n != NULL; n = n->next) {
        Name *name = (Name *)n;
        if (n->hash == hash && name->size == text->size &&
                memcmp(name->text, text->data, text->size) == 0) {
            return name->text;
        }
    }
    size_t bytes = sizeof(Name) + text->size + 1;
    if (t->nameBytes + bytes > NAMES_MAX_BYTES) {
        return NULL;
    }
    Name *name = EtwAlloc(bytes);
    name->size = text->size;
    memcpy(name->text, text->data, text->size);
    t->nameBytes += bytes;
    EtwTableAdd(&t->names, &name->node, hash);
    return name->text;
}

/*
 * The value of the name's field. A text at a known offset is read without decoding the fields
 * before it.
 */
static bool nameValue(const TrackLayout *layout, const EtwEvent *event, EtwValue *value)
{
    int index = layout->semantics->field[ETW_ROLE_NAME];
    int32_t at = layout->places[ETW_ROLE_NAME - TRACK_FIRST].offset[event->pointerSize != 4];
    if (index < 0) {
        return false;
    }
    if (at < 0 || (uint32_t)at > event->payloadSize ||
            layout->schema->fields[index].sized != ETW_SIZE_OWN) {
        return EtwDecodeField(layout->schema, event, index, value) == ETW_OK;
    }
    EtwSchema only = {.fields = &layout->schema->fields[index], .fieldCount = 1};
    EtwEvent part = {.payload = event->payload + at,
            .payloadSize = event->payloadSize - (uint32_t)at,
            .pointerSize = event->pointerSize};
    return EtwDecodeField(&only, &part, 0, value) == ETW_OK;
}

/* The event's name, `bare` without its folders; NULL: none. */
static const char *nameOf(EtwTrack *t, const TrackLayout *layout, const EtwEvent *event, bool bare)
{
    EtwValue value;
    EtwText *text = &t->scratch;
    if (!nameValue(layout, event, &value)) {
        return NULL;
    }
    text->size = 0;
    if (value.kind == ETW_V_TEXT16) {
        EtwTextUtf16(text, value.data, value.size / 2);
    } else if (value.kind == ETW_V_TEXT) {
        EtwTextUtf8(text, value.data, value.size);
    }
    bool path = text->size > 0 &&
                (text->data[0] == '/' || text->data[0] == '.'); /* kworker/0:1 is not a path */
    for (size_t i = text->size; bare && i > 0; i--) {
        if (text->data[i - 1] == '\\' || (path && text->data[i - 1] == '/')) {
            memmove(text->data, text->data + i, text->size - i);
            text->size -= i;
            break;
        }
    }
    return text->size ? keepName(t) : NULL;
}

/* The build id of the module; NULL: none. */
static const char *buildIdOf(EtwTrack *t, const TrackLayout *layout, const EtwEvent *event)
{
    EtwValue value;
    int index = layout->semantics->field[ETW_ROLE_BUILD_ID];
    if (index < 0 || EtwDecodeField(layout->schema, event, index, &value) != ETW_OK ||
            value.kind != ETW_V_TEXT || value.size == 0) {
        return NULL;
    }
    t->scratch.size = 0;
    EtwTextUtf8(&t->scratch, value.data, value.size);
    return keepName(t);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static inline uint64_t hashOf(uint64_t key)
{
    return EtwHashNumber(key);
}

static Process *findProcess(const EtwTrack *t, uint32_t pid)
{
    for (EtwTableNode *n = EtwTableFirst(&t->processes, hashOf(pid)); n != NULL; n = n->next) {
        if (((Process *)n)->pid == pid) {
            return (Process *)n;
        }
    }
    return NULL;
}

/* NULL: the limit was reached. */
static Process *processOf(EtwTrack *t, uint32_t pid)
{
    Process *p = findProcess(t, pid);
    if (p == NULL && t->processes.count < PROCESSES_MAX) {
        p = EtwAlloc(sizeof *p);
        p->pid = pid;
        EtwTableAdd(&t->processes, &p->node, hashOf(pid));
    }
    return p;
}

const char *EtwTrackProcess(const EtwTrack *t, uint32_t pid)
{
    const Process *p = findProcess(t, pid);
    return p ? p->name : NULL;
}

static inline const char *processName(EtwTrack *t, uint32_t pid)
{
    Process **slot = &t->recent[pid / 4 % RECENT_PIDS];
    if (*slot == NULL || (*slot)->pid != pid) {
        Process *p = findProcess(t, pid);
        if (p == NULL) {
            return NULL;
        }
        *slot = p;
    }
    return (*slot)->name;
}

static Thread *findThread(const EtwTrack *t, uint32_t tid)
{
    for (EtwTableNode *n = EtwTableFirst(&t->threads, hashOf(tid)); n != NULL; n = n->next) {
        if (((Thread *)n)->tid == tid) {
            return (Thread *)n;
        }
    }
    return NULL;
}

static Object *findObject(const EtwTrack *t, uint64_t address)
{
    for (EtwTableNode *n = EtwTableFirst(&t->objects, hashOf(address)); n != NULL; n = n->next) {
        if (((Object *)n)->address == address) {
            return (Object *)n;
        }
    }
    return NULL;
}

/* ---- Modules --------------------------------------------------------------------------------- */

/* The kernel's modules belong to process 0 or to the process System. */
enum { SYSTEM_PID = 4 };
static uint32_t homeOf(const EtwTrack *t, uint32_t pid)
{
    return pid == SYSTEM_PID && !t->onLinux ? 0 : pid;
}

/* Index of the first module that ends above the address. */
static int modulesBelow(const Process *p, uint64_t address)
{
    int low = 0, high = p->moduleCount;
    while (low < high) {
        int mid = low + (high - low) / 2;
        if (p->modules[mid].base + (p->modules[mid].size - 1) < address) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

static void removeModules(EtwTrack *t, Process *p, int from, int to)
{
    if (from == to) {
        return;
    }
    memmove(p->modules + from, p->modules + to, sizeof(Module) * (size_t)(p->moduleCount - to));
    p->moduleCount -= to - from;
    t->moduleCount -= to - from;
}

static void addModule(EtwTrack *t, Process *p, const Module *m, bool ahead)
{
    int from = modulesBelow(p, m->base), to = from;
    while (to < p->moduleCount && p->modules[to].base <= m->base + (m->size - 1)) {
        to++;
    }
    if ((ahead && to > from) || t->moduleCount >= MODULES_MAX ||
            p->moduleCount >= MODULES_OF_PROCESS) {
        return;
    }
    removeModules(t, p, from, to); /* modules in this range were unloaded without an event */
    if (p->moduleCount == p->moduleCapacity) {
        p->moduleCapacity = p->moduleCapacity ? 2 * p->moduleCapacity : 16;
        p->modules = EtwRealloc(p->modules, sizeof(Module) * (size_t)p->moduleCapacity);
    }
    memmove(p->modules + from + 1, p->modules + from,
            sizeof(Module) * (size_t)(p->moduleCount - from));
    p->modules[from] = *m;
    p->moduleCount++;
    t->moduleCount++;
}

static bool moduleAt(const Process *p, uint64_t address, EtwTrackModule *module)
{
    int at = p ? modulesBelow(p, address) : 0;
    if (p == NULL || at == p->moduleCount || p->modules[at].base > address) {
        return false;
    }
    const Module *m = &p->modules[at];
    *module = (EtwTrackModule){m->path, m->build, address - m->base + m->offset};
    return true;
}

bool EtwTrackAddress(const EtwTrack *t, uint32_t pid, uint64_t address, EtwTrackModule *module)
{
    return moduleAt(findProcess(t, homeOf(t, pid)), address, module) ||
           moduleAt(findProcess(t, 0), address, module);
}

void EtwTrackSetSymbols(EtwTrack *t, EtwSymbols *symbols)
{
    EtwSymbolsFree(t->symbols);
    t->symbols = symbols;
}

EtwSymbols *EtwTrackSymbols(const EtwTrack *t)
{
    return t->symbols;
}

/* ---- Applying events -------------------------------------------------------------------------- */

static void takeProcess(EtwTrack *t, const TrackLayout *layout, const EtwEvent *event, bool ahead)
{
    uint64_t pid = event->pid; /* the event's process, if it names none */
    bool named = layout->semantics->field[ETW_ROLE_PID] < 0 ||
                 EtwTrackNumber(layout, event, ETW_ROLE_PID, &pid);
    const char *name = nameOf(t, layout, event, true);
    Process *p = name && named && (uint32_t)pid != ETW_NO_ID ? processOf(t, (uint32_t)pid) : NULL;
    if (p != NULL && (p->name == NULL || !ahead)) {
        p->name = name;
    }
}

static void takeProcessName(EtwTrack *t, const TrackLayout *layout, const EtwEvent *event)
{
    uint64_t tid;
    if (event->pid == ETW_NO_ID || processName(t, event->pid) != NULL ||
            (EtwTrackNumber(layout, event, ETW_ROLE_OLD_TID, &tid) &&
                    (tid != event->tid ||
                            tid != event->pid))) { /* a thread may have a different name */
        return;
    }
    const char *name = nameOf(t, layout, event, false);
    Process *p = name ? processOf(t, event->pid) : NULL;
    if (p != NULL) {
        p->name = name;
    }
}

static void takeThread(EtwTrack *t, const TrackLayout *layout, const EtwEvent *event, bool ahead)
{
    uint64_t pid, tid;
    if (!EtwTrackNumber(layout, event, ETW_ROLE_PID, &pid) ||
            !EtwTrackNumber(layout, event, ETW_ROLE_TID, &tid)) {
        return;
    }
    Thread *thread = findThread(t, (uint32_t)tid);
    if (thread != NULL) {
        thread->pid = ahead ? thread->pid : (uint32_t)pid;
    } else if (t->threads.count < THREADS_MAX) {
        thread = EtwAlloc(sizeof *thread);
        thread->tid = (uint32_t)tid;
        thread->pid = (uint32_t)pid;
        EtwTableAdd(&t->threads, &thread->node, hashOf(thread->tid));
    }
}

static void takeModule(EtwTrack *t, const TrackLayout *layout, const EtwEvent *event, bool ahead)
{
    Module m;
    uint64_t pid;
    if (!t->images || !EtwTrackNumber(layout, event, ETW_ROLE_BASE, &m.base) ||
            !EtwTrackNumber(layout, event, ETW_ROLE_MODULE_SIZE, &m.size) || m.size == 0 ||
            m.base + (m.size - 1) < m.base || !EtwTrackNumber(layout, event, ETW_ROLE_PID, &pid)) {
        return;
    }
    t->onLinux = t->onLinux || EtwGuidEqual(&event->provider, &classes[LINUX_IMAGE]);
    Process *p = processOf(t, homeOf(t, (uint32_t)pid));
    m.offset = 0; /* of Windows' images, which are mapped as a whole */
    EtwTrackNumber(layout, event, ETW_ROLE_FILE_OFFSET, &m.offset);
    m.path = p ? nameOf(t, layout, event, false) : NULL;
    m.build = m.path != NULL ? buildIdOf(t, layout, event) : NULL;
    if (m.path != NULL) {
        addModule(t, p, &m, ahead);
    }
}

static void dropModule(EtwTrack *t, const TrackLayout *layout, const EtwEvent *event, bool ahead)
{
    uint64_t base, pid;
    if (ahead) {
        takeModule(t, layout, event, true); /* it was loaded until now */
        return;
    }
    if (!t->images || !EtwTrackNumber(layout, event, ETW_ROLE_BASE, &base) ||
            !EtwTrackNumber(layout, event, ETW_ROLE_PID, &pid)) {
        return;
    }
    Process *p = findProcess(t, homeOf(t, (uint32_t)pid));
    int at = p ? modulesBelow(p, base) : 0;
    if (p != NULL && at < p->moduleCount && p->modules[at].base == base) {
        removeModules(t, p, at, at + 1);
    }
}

static void takeObject(EtwTrack *t, const TrackLayout *layout, const EtwEvent *event, bool ahead)
{
    uint64_t address;
    if (!EtwTrackNumber(layout, event, ETW_ROLE_FILE_KEY, &address) &&
            !EtwTrackNumber(layout, event, ETW_ROLE_FILE_OBJECT, &address)) {
        return;
    }
    Object *object = findObject(t, address);
    const char *path = object && ahead ? NULL : nameOf(t, layout, event, false);
    if (path == NULL) {
        return;
    }
    if (object == NULL && t->objects.count < OBJECTS_MAX) {
        object = EtwAlloc(sizeof *object);
        object->address = address;
        EtwTableAdd(&t->objects, &object->node, hashOf(address));
    }
    if (object != NULL) {
        object->path = path;
    }
}

/* A text of the event, kept; NULL: empty, or too many names. */
static const char *keepValue(EtwTrack *t, const EtwRoleValues *v, int index)
{
    const EtwValue *value = &v->values[index];
    t->scratch.size = 0;
    if (value->kind != ETW_V_TEXT || value->size == 0) {
        return NULL;
    }
    EtwTextUtf8(&t->scratch, value->data, value->size);
    return keepName(t);
}

/* The events of inlined functions precede that of the function at the address. */
static void takeSymbol(EtwTrack *t, const TrackLayout *layout, const EtwEvent *event)
{
    EtwRoleValues v;
    if (t->symbols == NULL || layout->schema->fieldCount != ETW_SYMBOL_FIELDS ||
            !EtwRoleValuesRead(&v, layout->schema, event) || t->inlinedCount == ETW_SYMBOLS_MAX) {
        t->inlinedCount = 0;
        return;
    }
    const char *function = keepValue(t, &v, ETW_SYMBOL_FUNCTION);
    bool inlined = v.values[ETW_SYMBOL_INLINED].u != 0;
    t->inlined[t->inlinedCount++] = (EtwSymbol){function != NULL ? function : "?",
            v.values[ETW_SYMBOL_IN_FUNCTION].u, keepValue(t, &v, ETW_SYMBOL_FILE),
            (uint32_t)v.values[ETW_SYMBOL_LINE].u, inlined};
    if (!inlined) {
        EtwSymbolPlace place = {(uint32_t)v.values[ETW_SYMBOL_PID].u,
                keepValue(t, &v, ETW_SYMBOL_PATH), keepValue(t, &v, ETW_SYMBOL_BUILD),
                v.values[ETW_SYMBOL_OFFSET].u, v.values[ETW_SYMBOL_RETURN].u != 0};
        EtwSymbolsAdd(t->symbols, &place, t->inlined, t->inlinedCount);
        t->inlinedCount = 0;
    }
}

static void takeIn(EtwTrack *t, const TrackLayout *layout, const EtwEvent *event, bool ahead)
{
    uint64_t tid;
    switch (layout->semantics->naming) {
    case ETW_NAMES_PROCESS:
        takeProcess(t, layout, event, ahead);
        break;
    case ETW_NAMES_OWN_PROCESS:
        takeProcessName(t, layout, event);
        break;
    case ETW_NAMES_THREAD:
        takeThread(t, layout, event, ahead);
        break;
    case ETW_NAMES_MODULE:
        takeModule(t, layout, event, ahead);
        break;
    case ETW_NAMES_MODULE_GONE:
        dropModule(t, layout, event, ahead);
        break;
    case ETW_NAMES_OBJECT:
        takeObject(t, layout, event, ahead);
        break;
    case ETW_NAMES_SYMBOL:
        takeSymbol(t, layout, event);
        break;
    case ETW_NAMES_RUNNING:
        if (!ahead && EtwTrackNumber(layout, event, ETW_ROLE_TID, &tid)) {
            t->current[event->cpu % CPUS] = (uint32_t)tid;
        }
        break;
    case ETW_NAMES_NOTHING:
        break;
    }
}

/* ---- Events ---------------------------------------------------------------------------------- */

static const EtwSchema *schemaOf(EtwTrack *t, const EtwEvent *event)
{
    if (event->classic) {
        return EtwKernelSchema(event);
    }
    for (int i = FIRST_MANIFEST; i < CLASSES; i++) {
        if (EtwGuidEqual(&classes[i], &event->provider)) {
            t->store = t->store ? t->store : EtwSchemaStoreNew();
            return EtwSchemaOf(t->store, event);
        }
    }
    return NULL;
}

/* NULL: the event carries no names. */
static const TrackLayout *eventLayoutOf(EtwTrack *t, const EtwEvent *event)
{
    const EtwSchema *schema = schemaOf(t, event);
    return schema != NULL ? EtwTrackLayoutOf(&t->layouts, schema) : NULL;
}

static void fillIds(const EtwTrack *t, const TrackLayout *layout, EtwEvent *event)
{
    uint64_t number;
    bool named = false;
    bool other =
            layout->semantics->meaning == ETW_MEANS_READY; /* it names the thread that is woken */
    if (event->tid == ETW_NO_ID && !other && EtwTrackNumber(layout, event, ETW_ROLE_TID, &number)) {
        event->tid = (uint32_t)number;
        named = true;
    }
    if (event->pid == ETW_NO_ID && EtwTrackNumber(layout, event, ETW_ROLE_PID, &number)) {
        event->pid = (uint32_t)number;
        named = true;
    }
    if (!named && event->tid == ETW_NO_ID) {
        event->tid = t->current[event->cpu % CPUS];
    }
    if (event->pid == ETW_NO_ID && event->tid != ETW_NO_ID) {
        const Thread *thread = findThread(t, event->tid);
        event->pid = thread ? thread->pid : event->tid == 0 ? 0 : ETW_NO_ID;
    }
}

static const char *pathOf(const EtwTrack *t, const TrackLayout *layout, const EtwEvent *event)
{
    uint64_t address;
    const Object *object = NULL;
    if (EtwTrackNumber(layout, event, ETW_ROLE_FILE_KEY, &address)) {
        object = findObject(t, address);
    }
    if (object == NULL && EtwTrackNumber(layout, event, ETW_ROLE_FILE_OBJECT, &address)) {
        object = findObject(t, address);
    }
    return object ? object->path : NULL;
}

void EtwTrackClock(EtwTrack *t, int64_t frequency)
{
    t->frequency = frequency;
}

/* ns that the operation took which the event ends; 0: unknown, or impossible. */
static int64_t elapsedOf(const EtwTrack *t, const TrackLayout *layout, const EtwEvent *event)
{
    enum { NS = 1000000000, LONGEST = 86400 }; /* seconds */
    uint64_t ticks, frequency = (uint64_t)t->frequency;
    if (frequency == 0 || frequency > 16ull * NS) {
        return 0;
    }
    if (EtwTrackNumber(layout, event, ETW_ROLE_BEGIN_TICKS, &ticks)) {
        ticks = (uint64_t)event->ticks - ticks;
    } else if (!EtwTrackNumber(layout, event, ETW_ROLE_ELAPSED_TICKS, &ticks)) {
        return 0;
    }
    return ticks / frequency >= LONGEST
                   ? 0
                   : (int64_t)(ticks / frequency * NS + ticks % frequency * NS / frequency);
}

void EtwTrackEvent(EtwTrack *t, EtwEvent *event)
{
    const TrackLayout *layout = eventLayoutOf(t, event);
    event->elapsed = 0;
    if (layout != NULL) {
        event->pointerSize = EtwKernelPointerSize(event);
        takeIn(t, layout, event, false);
        fillIds(t, layout, event);
        event->elapsed = elapsedOf(t, layout, event);
        if (layout->semantics->naming != ETW_NAMES_OBJECT) {
            event->object = pathOf(t, layout, event);
        }
    }
    event->process = processName(t, event->pid);
}

void EtwTrackPrescan(EtwTrack *t, const EtwEvent *event)
{
    const TrackLayout *layout = eventLayoutOf(t, event);
    if (layout != NULL && layout->semantics->naming != ETW_NAMES_NOTHING) {
        EtwEvent copy = *event;
        copy.pointerSize = EtwKernelPointerSize(event);
        takeIn(t, layout, &copy, true);
    }
}

bool EtwTrackIsNaming(const EtwEvent *event)
{
    if (event->classic) {
        return event->hook != 0 && !EtwEventIsHeader(event);
    }
    for (int i = FIRST_MANIFEST; i < CLASSES; i++) {
        if (i != ETW_SESSION && EtwGuidEqual(&classes[i], &event->provider)) {
            return true;
        }
    }
    return false;
}

/* ---- The track ------------------------------------------------------------------------------- */

EtwTrack *EtwTrackNew(bool images)
{
    EtwTrack *t = EtwAlloc(sizeof *t);
    t->images = images;
    memset(t->current, 0xFF, sizeof t->current);
    return t;
}

void EtwTrackSetStore(EtwTrack *t, EtwSchemaStore *store)
{
    if (t->store == NULL) {
        t->store = EtwSchemaStoreClone(store);
    }
}

static void freeNode(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

static void freeProcess(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(((Process *)node)->modules);
    EtwFree(node);
}

void EtwTrackFree(EtwTrack *t)
{
    if (t != NULL) {
        EtwTableFree(&t->names, freeNode);
        EtwTableFree(&t->processes, freeProcess);
        EtwTableFree(&t->threads, freeNode);
        EtwTableFree(&t->objects, freeNode);
        EtwSchemaStoreFree(t->store);
        EtwSymbolsFree(t->symbols);
        EtwTextFree(&t->scratch);
        EtwFree(t);
    }
}
