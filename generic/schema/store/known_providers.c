/*
 * schema/store/known_providers.c --
 *
 *	Lists and finds providers of all sources.
 */
#include "schema/store/known_providers.h"
#include "schema/kernel/kernel_classes.h"
#include "schema/catalog/catalog.h"
#include "schema/store/platform_schema.h"

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

/* Classes without known events are left out. */
static void visitKernel(void *ctx, const EtwProviderDef *def)
{
    if (def->eventCount > 0) {
        visitDef(ctx, def);
    }
}

static void visitInMemory(Visit *v)
{
    EtwLibraryVisit(visitDef, v);
    EtwKernelVisit(visitKernel, v);
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
