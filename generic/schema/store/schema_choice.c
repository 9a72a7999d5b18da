/*
 * schema/store/schema_choice.c --
 *
 *	Chooses the schema of an event among the sources that describe it. The rank of a description
 *	is how well it fits the payload (to the last byte, with bytes left, not at all), then whether
 *	it is of the event's version. The first of equal rank is chosen, so that a source is asked
 *	only if no earlier one has the highest rank. A loaded manifest whose provider has another
 *	name than the provider with that GUID is known by is chosen only where it fits better.
 */
#include "schema/store/schema_choice.h"
#include "base/unicode.h"
#include "etl/record.h"
#include "schema/catalog/catalog.h"
#include "schema/kernel/kernel_classes.h"
#include "schema/model/decode.h"
#include "schema/store/definition_library.h"
#include "schema/store/platform_schema.h"
#include <strings.h>

/* A rank is a fit, plus RANK_VERSION if the description is of the event's version. */
enum { RANK_NONE = 0, RANK_MISFIT = 2, RANK_LONGER = 4, RANK_WHOLE = 6, RANK_VERSION = 1 };
enum { RANK_HIGHEST = RANK_WHOLE + RANK_VERSION };

typedef struct Best {
    const EtwSchema *schema;
    int rank;
    bool kernel;
} Best;

/* ---- Rank ------------------------------------------------------------------------------------ */

static void ignoreValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    (void)ctx, (void)field, (void)value;
}

static void noteRest(void *ctx, const uint8_t *data, size_t size)
{
    (void)data, (void)size;
    *(bool *)ctx = true;
}

static int fitOf(const EtwSchema *schema, const EtwEvent *event)
{
    static const EtwVisitor visitor = {.value = ignoreValue, .rest = noteRest};
    bool rest = false;
    if (EtwDecode(schema, event, &visitor, &rest) != ETW_OK) {
        return RANK_MISFIT;
    }
    return rest ? RANK_LONGER : RANK_WHOLE;
}

bool EtwSchemaFits(const EtwSchema *schema, const EtwEvent *event)
{
    return fitOf(schema, event) == RANK_WHOLE;
}

static void consider(Best *best, const EtwSchema *schema, const EtwEvent *event)
{
    if (schema != NULL && best->rank < RANK_HIGHEST) {
        int rank =
                fitOf(schema, event) + (schema->version == event->desc.version ? RANK_VERSION : 0);
        if (rank > best->rank) {
            *best = (Best){.schema = schema, .rank = rank};
        }
    }
}

/* ---- The sources ----------------------------------------------------------------------------- */

const EtwSchema *EtwSchemaDefined(const EtwProviderDef *def, const EtwEvent *event)
{
    const EtwEventDef *found =
            def ? EtwDefFind(def, def->classic ? event->desc.opcode : event->desc.id,
                          event->desc.version)
                : NULL;
    return found ? &found->schema : NULL;
}

/*
 * The schema in the catalogue for exactly this event, if the catalogue is known to be more accurate
 * than traces.
 */
static const EtwSchema *checkedSchema(const EtwEvent *event)
{
    const EtwProviderDef *def = EtwCatalogFind(&event->provider);
    const EtwSchema *schema = def != NULL && def->checked ? EtwSchemaDefined(def, event) : NULL;
    return schema != NULL && schema->version == event->desc.version ? schema : NULL;
}

static void considerKernel(Best *best, const EtwEvent *event)
{
    const EtwSchema *schema = event->classic ? EtwKernelSchema(event) : NULL;
    consider(best, schema, event);
    best->kernel = schema != NULL && best->schema == schema;
}

/* True if the best one is of the trace itself. */
static bool considerKnown(EtwInband *inband, const EtwEvent *event, Best *best)
{
    bool header = EtwGuidEqual(&event->provider, EtlGroupGuid(0)); /* has built-in schemas */
    const EtwSchema *own = NULL;
    if (!header) {
        consider(best, checkedSchema(event), event);
        if (best->rank < RANK_HIGHEST) {
            own = EtwSchemaDefined(EtwInbandFind(inband, event), event);
            consider(best, own, event);
        }
    }
    considerKernel(best, event);
    if (best->rank < RANK_HIGHEST && !best->kernel) {
        consider(best, EtwSchemaDefined(EtwCatalogFind(&event->provider), event), event);
    }
    if (best->schema == NULL) {
        consider(best, EtwChunkSchema(event), event);
    }
    if (best->schema == NULL) {
        consider(best, EtwSchemaDefined(EtwPlatformEvent(event), event), event);
    }
    return own != NULL && best->schema == own;
}

/* ---- Loaded definitions ---------------------------------------------------------------------- */

typedef struct Search {
    const EtwEvent *event;
    Best best;
    bool disguised; /* the best one names its provider otherwise than others do */
} Search;

static bool sameName(const char *a, const char *b)
{
    return a == NULL || b == NULL || strcasecmp(a, b) == 0;
}

bool EtwSchemaDisguised(const EtwProviderDef *def)
{
    return def->origin == ETW_ORIGIN_MANIFEST && !sameName(EtwCatalogName(&def->guid), def->name);
}

static void considerLoaded(void *ctx, const EtwProviderDef *def)
{
    Search *s = ctx;
    if (EtwGuidEqual(&def->guid, &s->event->provider) && def->classic == s->event->classic) {
        const EtwSchema *before = s->best.schema;
        consider(&s->best, EtwSchemaDefined(def, s->event), s->event);
        if (s->best.schema != before) {
            s->disguised = EtwSchemaDisguised(def);
        }
    }
}

void EtwSchemaChoose(EtwInband *inband, const EtwEvent *event, EtwSchemaChoice *choice)
{
    Best known = {NULL, RANK_NONE, false};
    Search loaded = {.event = event};
    EtwLibraryVisit(considerLoaded, &loaded);
    bool own = considerKnown(inband, event, &known);
    bool better = loaded.best.rank > known.rank ||
                  (loaded.best.rank == known.rank && !own && !loaded.disguised);
    bool chosen = loaded.best.schema != NULL && better;
    *choice = (EtwSchemaChoice){.schema = chosen ? loaded.best.schema : known.schema,
            .kernel = !chosen && known.kernel,
            .contested = loaded.best.schema != NULL && known.schema != NULL};
    if (choice->contested && !chosen && (loaded.best.rank < RANK_WHOLE || loaded.disguised)) {
        choice->refused = loaded.best.schema;
    }
}
