/*
 * schema/store/schema_store.c --
 *
 *	Finds the schema of an event. Schemas of TraceLogging events are created once and cached by
 *	the provider's GUID and the bytes of the metadata (not by their address, which live sources
 *	reuse). Results for other events are cached by GUID, id or opcode, and version. Also keeps
 *	the names of provider GUIDs. tracelogging.c, inband_schema.c, kernel_classes.c and
 *	catalog_file.c create the schemas.
 */
#include "etl/record.h"
#include "semantics/declared_events.h"
#include "base/unicode.h"
#include "schema/kernel/kernel_classes.h"
#include "schema/store/schema_choice.h"
#include "schema/tracelogging/tracelogging.h"
#include "schema/catalog/catalog.h"
#include "schema/model/canonical_name.h"
#include "schema/model/schema_int.h"
#include "schema/store/definition_library.h"
#include "base/hash_table.h"

/* Also limits the memory for files with many different schemas. Beyond it events are shown raw. */
enum { STORE_MAX_BYTES = 192 << 20 };
enum { RECENT_SLOTS = 512, EVENT_FLAG_STRING_ONLY = 4, TRIALS = 64 };

typedef struct Provider {
    EtwTableNode node;
    EtwGuid guid;
    char *name;
} Provider;

typedef struct Entry {
    EtwTableNode node;
    EtwGuid guid;
    uint32_t metaSize;
    bool named;        /* schema->provider is the provider's name, not "" */
    EtwSchema *schema; /* NULL: the metadata is malformed */
    EtwField *fields;  /* the schema's own fields, whose maps are set later */
    uint8_t meta[];
} Entry;

/* The cached result for an event without metadata of its own. */
typedef struct CachedSchema {
    EtwTableNode node;
    EtwGuid guid;
    EtwDescriptor desc; /* id, version and opcode are significant */
    bool classic;
    bool kernel; /* call EtwKernelSchema each time: the result may depend on the payload's size */
    const EtwSchema *kernelUsed; /* what it returned last */
    const EtwSchema *schema;     /* owned by a definition; NULL: unknown */
    const EtwSchema *refused;    /* of a loaded definition that does not fit; NULL: none */
    int trials;                  /* number of further events that may change the choice */
} CachedSchema;

/* A schema that was in the cache when it was cleared. */
typedef struct UsedSchema {
    EtwTableNode node;
    const EtwSchema *schema; /* owned by a definition */
} UsedSchema;

/*
 * The schema of one provider's events that contain a chunk of a manifest. It differs from other
 * providers' in its name only: consumers may cache what they derive from a schema by its address.
 */
typedef struct ChunkSchema {
    EtwTableNode node;
    EtwGuid guid;
    EtwSchema schema;
} ChunkSchema;

struct EtwSchemaStore {
    EtwTable entries;
    EtwTable chunks;
    EtwTable providers;
    size_t bytes;
    Entry *recent[RECENT_SLOTS]; /* by a hash of a few bytes: most lookups end here */
    EtwTable known;              /* cleared when new descriptions arrive */
    EtwTable used;               /* what it had before */
    CachedSchema *recentCached[RECENT_SLOTS];
    EtwInband *inband; /* shared with clones */
    uint32_t library,
            inbandGeneration; /* generations of the library and of inband when `known` was last
                                 cleared */
};

/* ---- Hashing --------------------------------------------------------------------------------- */

static inline size_t recentSlot(const EtwEvent *e)
{
    uint64_t h = EtwLoad32(e->provider.bytes) ^ (uint64_t)e->metaSize << 32;
    if (e->metaSize >= 16) {
        h ^= EtwLoad64(e->meta + 3) ^ EtwLoad64(e->meta + e->metaSize - 8) << 1;
    }
    return (h * 0x9E3779B97F4A7C15ull) >> 55;
}
_Static_assert(RECENT_SLOTS == 1 << (64 - 55), "the shift takes as many bits as there are slots");

/* ---- Providers ------------------------------------------------------------------------------- */

static Provider *findProvider(const EtwSchemaStore *store, const EtwGuid *guid)
{
    uint64_t hash = EtwHashGuid(guid);
    for (EtwTableNode *n = EtwTableFirst(&store->providers, hash); n != NULL; n = n->next) {
        Provider *p = (Provider *)n;
        if (EtwGuidEqual(&p->guid, guid)) {
            return p;
        }
    }
    return NULL;
}

static Provider *addProvider(
        EtwSchemaStore *store, const EtwGuid *guid, const uint8_t *name, size_t size)
{
    Provider *p = EtwAlloc(sizeof *p);
    EtwText text = {0};
    EtwTextUtf8(&text, name, size);
    EtwTextChar(&text, 0);
    p->guid = *guid;
    p->name = text.data;
    EtwTableAdd(&store->providers, &p->node, EtwHashGuid(guid));
    store->bytes += sizeof *p + text.capacity;
    return p;
}

/* The name of the event's provider, harvested from its traits if it is new; NULL: unknown. */
static const char *providerNameOf(EtwSchemaStore *store, const EtwEvent *event)
{
    const uint8_t *name;
    size_t size;
    Provider *p = findProvider(store, &event->provider);
    if (p == NULL && EtwTraitsName(event->traits, event->traitsSize, &name, &size) &&
            store->bytes < STORE_MAX_BYTES) {
        p = addProvider(store, &event->provider, name, size);
    }
    return p ? p->name : EtwProviderName(store, &event->provider);
}

const char *EtwProviderName(EtwSchemaStore *store, const EtwGuid *guid)
{
    const Provider *p = findProvider(store, guid);
    const char *name = p ? p->name : EtwKernelClassName(guid);
    const EtwProviderDef *def = name ? NULL : EtwLibraryFind(guid, NULL);
    if (name == NULL && def != NULL) {
        name = def->name;
    }
    if (name == NULL) {
        name = EtwInbandName(store->inband, guid);
    }
    return name ? name : EtwCatalogName(guid);
}

const char *EtwProviderNameOf(EtwSchemaStore *store, const EtwSchema *schema, const EtwEvent *event)
{
    const char *name = schema != NULL && schema->provider[0] != 0
                               ? schema->provider
                               : EtwProviderName(store, &event->provider);
    return name != NULL && name[0] != 0 ? name : NULL;
}

static void freeProvider(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(((Provider *)node)->name);
    EtwFree(node);
}

/* ---- Schemas --------------------------------------------------------------------------------- */

/*
 * Set the provider's name of the entry if it is known now, and then the maps of our own events'
 * fields.
 */
static void nameEntry(EtwSchemaStore *store, Entry *entry, const EtwEvent *event)
{
    const char *name = providerNameOf(store, event);
    if (name == NULL) {
        return;
    }
    entry->named = true;
    entry->schema->provider = name;
    for (int i = 0; strncmp(name, "Linux-", 6) == 0 && i < entry->schema->fieldCount; i++) {
        EtwField *f = &entry->fields[i];
        f->map = EtwFieldNames(name, entry->schema->event, f->name);
    }
}

/* The schema of an event whose payload is one string, without metadata. */
static EtwSchema *stringSchema(size_t *bytesPtr)
{
    *bytesPtr = sizeof(EtwSchema) + sizeof(EtwField);
    EtwSchema *schema = EtwAlloc(*bytesPtr);
    EtwField *field = (EtwField *)(schema + 1);
    *field = (EtwField){.name = "Message", .in = ETW_IN_UTF16Z, .span = 1};
    *schema = (EtwSchema){.provider = "", .event = "", .fields = field, .fieldCount = 1};
    return schema;
}

static Entry *addEntry(EtwSchemaStore *store, const EtwEvent *event, uint64_t hash)
{
    size_t bytes = 0;
    Entry *entry = EtwAlloc(sizeof *entry + event->metaSize);
    entry->guid = event->provider;
    entry->metaSize = event->metaSize;
    if (event->metaSize != 0) {
        memcpy(entry->meta, event->meta, event->metaSize);
        entry->schema = EtwTraceLoggingParse(entry->meta, entry->metaSize, &bytes);
    } else {
        entry->schema = stringSchema(&bytes);
    }
    if (entry->schema != NULL) {
        entry->fields = (EtwField *)(entry->schema + 1);
        nameEntry(store, entry, event);
    }
    store->bytes += sizeof *entry + entry->metaSize + bytes;
    EtwTableAdd(&store->entries, &entry->node, hash);
    return entry;
}

static void freeEntry(void *ctx, EtwTableNode *node)
{
    EtwSchema *schema = ((Entry *)node)->schema;
    (void)ctx;
    EtwFree(schema != NULL ? schema->semantics : NULL);
    EtwFree(schema);
    EtwFree(node);
}

static inline bool entryFits(const Entry *entry, const EtwEvent *event)
{
    return entry->metaSize == event->metaSize && EtwGuidEqual(&entry->guid, &event->provider) &&
           (event->metaSize == 0 || memcmp(entry->meta, event->meta, event->metaSize) == 0);
}

static Entry *findEntry(EtwSchemaStore *store, const EtwEvent *event)
{
    uint64_t hash = EtwHashBytes(EtwHashGuid(&event->provider), event->meta, event->metaSize);
    for (EtwTableNode *n = EtwTableFirst(&store->entries, hash); n != NULL; n = n->next) {
        if (n->hash == hash && entryFits((Entry *)n, event)) {
            return (Entry *)n;
        }
    }
    return store->bytes < STORE_MAX_BYTES ? addEntry(store, event, hash) : NULL;
}

static void freeChunk(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(((ChunkSchema *)node)->schema.semantics);
    EtwFree(node);
}

static const EtwSchema *selfDescribed(EtwSchemaStore *store, const EtwEvent *event)
{
    size_t slot = recentSlot(event);
    Entry *entry = store->recent[slot];
    if (entry == NULL || !entryFits(entry, event)) {
        entry = findEntry(store, event);
        if (entry == NULL) {
            return NULL;
        }
        store->recent[slot] = entry;
    }
    if (!entry->named && event->traits != NULL && entry->schema != NULL) {
        nameEntry(store, entry, event);
    }
    return entry->schema;
}

/* ---- Events with a schema from elsewhere ----------------------------------------------------- */

static inline bool cacheMatches(const CachedSchema *known, const EtwEvent *event)
{
    return known->desc.id == event->desc.id && known->desc.version == event->desc.version &&
           known->desc.opcode == event->desc.opcode && known->classic == event->classic &&
           EtwGuidEqual(&known->guid, &event->provider);
}

static inline uint64_t cacheHash(const EtwEvent *event)
{
    uint64_t key = event->desc.id | (uint64_t)event->desc.opcode << 16 |
                   (uint64_t)event->desc.version << 24 | (uint64_t)event->classic << 32;
    return EtwHashMix(EtwHashGuid(&event->provider), key);
}

/* NULL: the event contains no chunk of a manifest. */
static const EtwSchema *chunkSchema(EtwSchemaStore *store, const EtwEvent *event)
{
    const EtwSchema *general = EtwChunkSchema(event);
    uint64_t hash = EtwHashGuid(&event->provider);
    EtwTableNode *n = EtwTableFirst(&store->chunks, hash);
    if (general == NULL) {
        return NULL;
    }
    while (n != NULL && !EtwGuidEqual(&((ChunkSchema *)n)->guid, &event->provider)) {
        n = n->next;
    }
    ChunkSchema *chunk = (ChunkSchema *)n;
    if (chunk == NULL) {
        chunk = EtwAlloc(sizeof *chunk);
        chunk->guid = event->provider;
        chunk->schema = *general;
        EtwTableAdd(&store->chunks, &chunk->node, hash);
        store->bytes += sizeof *chunk;
    }
    const char *name = EtwProviderName(store, &event->provider);
    chunk->schema.provider = name ? name : "";
    return &chunk->schema;
}

static const EtwSchema *kernelSchema(CachedSchema *known, const EtwEvent *event)
{
    return known->kernelUsed = EtwKernelSchema(event);
}

static void choose(EtwSchemaStore *store, CachedSchema *known, const EtwEvent *event)
{
    EtwSchemaChoice choice;
    EtwSchemaChoose(store->inband, event, &choice);
    bool chunk = choice.schema != NULL && choice.schema == EtwChunkSchema(event);
    known->schema = chunk ? chunkSchema(store, event) : choice.kernel ? NULL : choice.schema;
    known->kernel = choice.kernel;
    known->refused = choice.refused ? choice.refused : known->refused;
    if (!choice.contested) {
        known->trials = 0;
    }
}

/*
 * The schema of an event of the same id and version as an earlier one. While several sources
 * describe it and not many events have been tried, a payload that does not fit the chosen schema
 * causes a new choice.
 */
static const EtwSchema *tried(EtwSchemaStore *store, CachedSchema *known, const EtwEvent *event)
{
    const EtwSchema *schema = known->kernel ? kernelSchema(known, event) : known->schema;
    known->trials--;
    if (schema == NULL || EtwSchemaFits(schema, event)) {
        return schema;
    }
    choose(store, known, event);
    return known->kernel ? kernelSchema(known, event) : known->schema;
}

static void freeNode(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

typedef struct SchemaVisit {
    void (*visit)(void *ctx, const EtwSchema *schema);
    void *ctx;
} SchemaVisit;

static void visitCached(void *ctx, EtwTableNode *node)
{
    const SchemaVisit *to = ctx;
    const CachedSchema *known = (CachedSchema *)node;
    const EtwSchema *schema = known->kernel ? known->kernelUsed : known->schema;
    if (schema != NULL) {
        to->visit(to->ctx, schema);
    }
}

/* Schemas are remembered: events had their fields (EtwSchemaVisit). */
static void rememberUsed(void *ctx, const EtwSchema *schema)
{
    EtwSchemaStore *store = ctx;
    uint64_t hash = EtwHashPointer(schema);
    EtwTableNode *n = EtwTableFirst(&store->used, hash);
    while (n != NULL && ((UsedSchema *)n)->schema != schema) {
        n = n->next;
    }
    if (n == NULL && store->bytes < STORE_MAX_BYTES) {
        UsedSchema *used = EtwAlloc(sizeof *used);
        used->schema = schema;
        EtwTableAdd(&store->used, &used->node, hash);
        store->bytes += sizeof *used;
    }
}

static void clearCache(EtwSchemaStore *store)
{
    SchemaVisit remember = {rememberUsed, store};
    EtwTableVisit(&store->known, visitCached, &remember);
    store->bytes -= store->known.count * sizeof(CachedSchema);
    EtwTableFree(&store->known, freeNode);
    memset(store->recentCached, 0, sizeof store->recentCached);
    store->library = EtwLibraryGeneration();
    store->inbandGeneration = EtwInbandGeneration(store->inband);
}

static CachedSchema *findCached(EtwSchemaStore *store, const EtwEvent *event, uint64_t hash)
{
    for (EtwTableNode *n = EtwTableFirst(&store->known, hash); n != NULL; n = n->next) {
        if (n->hash == hash && cacheMatches((CachedSchema *)n, event)) {
            return (CachedSchema *)n;
        }
    }
    if (store->bytes >= STORE_MAX_BYTES) {
        return NULL;
    }
    CachedSchema *known = EtwAlloc(sizeof *known);
    known->guid = event->provider;
    known->desc = event->desc;
    known->classic = event->classic;
    known->trials = TRIALS;
    choose(store, known, event);
    EtwTableAdd(&store->known, &known->node, hash);
    store->bytes += sizeof *known;
    return known;
}

static const EtwSchema *describedByOthers(EtwSchemaStore *store, const EtwEvent *event)
{
    uint64_t hash = cacheHash(event);
    size_t slot = hash >> 55;
    if (store->library != EtwLibraryGeneration() ||
            store->inbandGeneration != EtwInbandGeneration(store->inband)) {
        clearCache(store);
    }
    CachedSchema *known = store->recentCached[slot];
    if (known == NULL || !cacheMatches(known, event)) {
        known = findCached(store, event, hash);
        if (known == NULL) {
            return NULL;
        }
        store->recentCached[slot] = known;
    }
    if (known->trials > 0) {
        return tried(store, known, event);
    }
    return known->kernel ? kernelSchema(known, event) : known->schema;
}

const EtwSchema *EtwSchemaOf(EtwSchemaStore *store, const EtwEvent *event)
{
    if (event->metaSize != 0 || (event->flags & EVENT_FLAG_STRING_ONLY) != 0) {
        return selfDescribed(store, event);
    }
    return describedByOthers(store, event);
}

bool EtwSchemaInTrace(EtwSchemaStore *store, const EtwEvent *event)
{
    return EtwSchemaDefined(EtwInbandFind(store->inband, event), event) != NULL;
}

/* ---- Other names ------------------------------------------------------------------------------ */

typedef struct OtherNames {
    const EtwEvent *event;
    EtwNameTest *test;
    void *ctx;
    bool ofProvider, found;
} OtherNames;

static void tryNames(void *ctx, const EtwProviderDef *def)
{
    OtherNames *o = ctx;
    if (def == NULL || o->found || !EtwGuidEqual(&def->guid, &o->event->provider) ||
            EtwSchemaDisguised(def)) {
        return;
    }
    const EtwSchema *schema = o->ofProvider ? NULL : EtwSchemaDefined(def, o->event);
    const char *name = o->ofProvider ? def->name : schema ? schema->event : NULL;
    o->found = name != NULL && o->test(o->ctx, name);
}

static bool otherName(EtwSchemaStore *store, OtherNames *o)
{
    EtwLibraryVisit(tryNames, o);
    tryNames(o, EtwInbandFind(store->inband, o->event));
    tryNames(o, EtwCatalogFind(&o->event->provider));
    return o->found;
}

bool EtwEventOtherName(EtwSchemaStore *store, const EtwSchema *schema, const EtwEvent *event,
        EtwNameTest *test, void *ctx)
{
    OtherNames o = {.event = event, .test = test, .ctx = ctx};
    if (schema == NULL || schema->def == NULL) { /* unknown, or the event describes itself */
        return false;
    }
    const EtwSchema *kernel = event->classic ? EtwKernelSchema(event) : NULL;
    return (kernel != NULL && test(ctx, kernel->event)) || otherName(store, &o);
}

bool EtwProviderOtherName(
        EtwSchemaStore *store, const EtwEvent *event, EtwNameTest *test, void *ctx)
{
    OtherNames o = {.event = event, .test = test, .ctx = ctx, .ofProvider = true};
    const char *name = EtwProviderName(store, &event->provider);
    return (name != NULL && test(ctx, name)) || otherName(store, &o);
}

static bool isName(void *ctx, const char *name)
{
    return strcmp(name, ctx) == 0;
}

bool EtwEventHasName(
        EtwSchemaStore *store, const EtwSchema *schema, const EtwEvent *event, const char *name)
{
    EtwText text = {0};
    if (schema == NULL || strcmp(schema->event, name) == 0) {
        return schema != NULL;
    }
    EtwAddCanonicalName(&text, name, strlen(name));
    EtwTextChar(&text, 0);
    bool is = (schema->def != NULL && strcmp(schema->event, text.data) == 0) ||
              EtwEventOtherName(store, schema, event, isName, text.data);
    EtwTextFree(&text);
    return is;
}

static void visitEntry(void *ctx, EtwTableNode *node)
{
    const SchemaVisit *to = ctx;
    const EtwSchema *schema = ((Entry *)node)->schema;
    if (schema != NULL) {
        to->visit(to->ctx, schema);
    }
}

static void visitUsed(void *ctx, EtwTableNode *node)
{
    const SchemaVisit *to = ctx;
    to->visit(to->ctx, ((UsedSchema *)node)->schema);
}

void EtwSchemaVisit(
        const EtwSchemaStore *store, void (*visit)(void *ctx, const EtwSchema *schema), void *ctx)
{
    SchemaVisit to = {visit, ctx};
    EtwTableVisit(&store->entries, visitEntry, &to);
    EtwTableVisit(&store->known, visitCached, &to);
    EtwTableVisit(&store->used, visitUsed, &to);
}

typedef struct RefusedVisit {
    void (*visit)(void *ctx, const EtwSchema *refused, const EtwSchema *used);
    void *ctx;
} RefusedVisit;

static void visitRefused(void *ctx, EtwTableNode *node)
{
    const RefusedVisit *to = ctx;
    const CachedSchema *known = (CachedSchema *)node;
    if (known->refused != NULL && known->refused != known->schema) {
        to->visit(to->ctx, known->refused, known->schema);
    }
}

void EtwSchemaVisitRefused(const EtwSchemaStore *store,
        void (*visit)(void *ctx, const EtwSchema *refused, const EtwSchema *used), void *ctx)
{
    RefusedVisit to = {visit, ctx};
    EtwTableVisit(&store->known, visitRefused, &to);
}

void EtwSchemaHarvest(EtwSchemaStore *store, const EtwEvent *event)
{
    EtwInbandAdd(store->inband, event);
}

void EtwSchemaAddHarvester(EtwSchemaStore *store, EtwSchemaHarvester *harvester)
{
    EtwInbandAddHarvester(store->inband, harvester);
}

/* The store takes ownership of the reference to inband. */
static EtwSchemaStore *newStore(EtwInband *inband)
{
    EtwSchemaStore *store = EtwAlloc(sizeof *store);
    store->inband = inband;
    store->library = EtwLibraryGeneration();
    store->inbandGeneration = EtwInbandGeneration(inband);
    for (const EtwDeclaredProvider *p = etwDeclaredProviders; p->name != NULL; p++) {
        EtwGuid guid;
        EtwGuidFromName(p->name, &guid);
        addProvider(store, &guid, (const uint8_t *)p->name, strlen(p->name));
    }
    return store;
}

EtwSchemaStore *EtwSchemaStoreNew(void)
{
    return newStore(EtwInbandNew());
}

EtwSchemaStore *EtwSchemaStoreClone(EtwSchemaStore *store)
{
    return newStore(EtwInbandRef(store->inband));
}

void EtwSchemaStoreFree(EtwSchemaStore *store)
{
    if (store != NULL) {
        EtwTableFree(&store->entries, freeEntry);
        EtwTableFree(&store->chunks, freeChunk);
        EtwTableFree(&store->providers, freeProvider);
        EtwTableFree(&store->known, freeNode);
        EtwTableFree(&store->used, freeNode);
        EtwInbandUnref(store->inband);
        EtwFree(store);
    }
}
