/*
 * schema/store/known_providers.c --
 *
 *	Lists and finds providers of all sources. Converts the tables of Windows' kernel classes to
 *	definitions by querying kernel_classes.c for every opcode and version, which only lists of
 *	providers need.
 */
#include "schema/store/known_providers.h"
#include "schema/kernel/kernel_classes.h"
#include "schema/catalog/catalog.h"
#include "schema/model/schema_int.h"
#include "schema/store/platform_schema.h"
#include <stdatomic.h>

/* ---- The kernel's classes --------------------------------------------------------------------- */

enum { MAX_CLASSES = 64, MAX_VERSION = 10, PRETENDED_PAYLOAD = 4096 };

typedef struct Classes {
    EtwProviderDef *defs[MAX_CLASSES];
    int count;
} Classes;

/* Created once; complete when published (release), never freed. */
static _Atomic(Classes *) kernelClasses;

/* Add the event of one opcode and version, unless it is the same as that of another version. */
static void addClassEvent(EtwProviderDef *def, EtwEvent *event, const EtwSchema **lastPtr)
{
    const EtwSchema *schema = EtwKernelSchema(event);
    if (schema == NULL || schema == *lastPtr || schema->version != event->desc.version) {
        return;
    }
    *lastPtr = schema;
    EtwEventDef *made = EtwDefEvent(def, &event->desc, schema->fields, schema->fieldCount);
    if (made != NULL) {
        made->schema.event = EtwDefText(def, schema->event, strlen(schema->event));
        made->schema.task = schema->task;
        made->schema.opcode = schema->opcode;
    }
}

static EtwProviderDef *makeClass(const EtwGuid *guid, const char *name)
{
    static const uint8_t nothing[PRETENDED_PAYLOAD];
    EtwProviderDef *def = EtwDefNew(guid, name, ETW_ORIGIN_KERNEL, "");
    def->classic = true;
    for (int opcode = 0; opcode < 256; opcode++) {
        const EtwSchema *last = NULL;
        for (int version = 0; version <= MAX_VERSION; version++) {
            EtwEvent event = {.provider = *guid,
                    .classic = true,
                    .desc = {.opcode = (uint8_t)opcode, .version = (uint8_t)version},
                    .pointerSize = 8,
                    .payload = nothing,
                    .payloadSize = sizeof nothing};
            addClassEvent(def, &event, &last);
        }
    }
    EtwDefFinish(def);
    return def;
}

static Classes *makeClasses(void)
{
    Classes *made = EtwAlloc(sizeof *made);
    EtwGuid guid;
    const char *name;
    for (int i = 0; made->count < MAX_CLASSES && (name = EtwKernelClassAt(i, &guid)) != NULL; i++) {
        EtwProviderDef *def = makeClass(&guid, name);
        if (def->eventCount != 0) {
            made->defs[made->count++] = def;
        } else {
            EtwDefFree(def);
        }
    }
    return made;
}

static void freeClasses(Classes *classes)
{
    for (int i = 0; i < classes->count; i++) {
        EtwDefFree(classes->defs[i]);
    }
    EtwFree(classes);
}

static const Classes *theClasses(void)
{
    Classes *classes = atomic_load_explicit(&kernelClasses, memory_order_acquire);
    if (classes == NULL) {
        Classes *mine = makeClasses();
        if (atomic_compare_exchange_strong_explicit(
                    &kernelClasses, &classes, mine, memory_order_acq_rel, memory_order_acquire)) {
            return mine;
        }
        freeClasses(mine); /* another thread was faster */
    }
    return classes;
}

/* ---- Visiting --------------------------------------------------------------------------------- */

typedef struct Visit {
    EtwKnownProviderProc *visit;
    void *ctx;
} Visit;

static EtwKnownProvider knownOf(const EtwProviderDef *def)
{
    return (EtwKnownProvider){.guid = def->guid,
            .name = def->name,
            .from = def->from,
            .origin = def->origin,
            .events = def->eventCount,
            .def = def};
}

static void visitDef(void *ctx, const EtwProviderDef *def)
{
    const Visit *v = ctx;
    EtwKnownProvider known = knownOf(def);
    v->visit(v->ctx, &known);
}

static void visitCatalogued(void *ctx, const EtwGuid *guid, const char *name, int events)
{
    const Visit *v = ctx;
    EtwKnownProvider known = {.guid = *guid,
            .name = name,
            .from = "",
            .origin = ETW_ORIGIN_CATALOG,
            .events = events};
    v->visit(v->ctx, &known);
}

static void visitInMemory(Visit *v)
{
    const Classes *classes = theClasses();
    EtwLibraryVisit(visitDef, v);
    for (int i = 0; i < classes->count; i++) {
        visitDef(v, classes->defs[i]);
    }
}

void EtwKnownProviderVisit(EtwKnownProviderProc *visit, void *ctx)
{
    Visit v = {visit, ctx};
    visitInMemory(&v);
    EtwCatalogVisit(visitCatalogued, &v);
}

void EtwKnownProviderSearch(const char *word, EtwKnownProviderProc *visit, void *ctx)
{
    Visit v = {visit, ctx};
    visitInMemory(&v);
    EtwCatalogSearch(word, visitCatalogued, &v);
}

/* ---- Finding ---------------------------------------------------------------------------------- */

typedef struct Wanted {
    const char *name;
    bool found;
    EtwKnownProvider *known;
} Wanted;

static bool sameName(const char *a, const char *b)
{
    for (; *a != 0 || *b != 0; a++, b++) {
        int x = *a >= 'A' && *a <= 'Z' ? *a + 32 : *a, y = *b >= 'A' && *b <= 'Z' ? *b + 32 : *b;
        if (x != y) {
            return false;
        }
    }
    return true;
}

bool EtwKnownProviderIs(const EtwKnownProvider *known, const char *nameOrGuid)
{
    EtwGuid guid;
    return EtwGuidParse(nameOrGuid, &guid)
                   ? !EtwGuidIsNull(&guid) && EtwGuidEqual(&known->guid, &guid)
                   : sameName(known->name, nameOrGuid);
}

static void tryKnown(void *ctx, const EtwKnownProvider *known)
{
    Wanted *w = ctx;
    if (!w->found && EtwKnownProviderIs(known, w->name)) {
        *w->known = *known;
        w->found = true;
    }
}

bool EtwKnownProviderFind(const char *nameOrGuid, EtwKnownProvider *known)
{
    Wanted w = {.name = nameOrGuid, .known = known};
    EtwGuid guid;
    EtwKnownProviderVisit(tryKnown, &w);
    if (!w.found && EtwGuidParse(nameOrGuid, &guid)) {
        const EtwProviderDef *def = EtwPlatformProvider(&guid);
        if (def != NULL) {
            *known = knownOf(def);
            w.found = true;
        }
    }
    return w.found;
}

const EtwProviderDef *EtwKnownProviderDef(const EtwKnownProvider *known)
{
    return known->def != NULL            ? known->def
           : EtwGuidIsNull(&known->guid) ? EtwCatalogFindName(known->name)
                                         : EtwCatalogFind(&known->guid);
}
