/*
 * schema/store/inband_schema.c --
 *
 *	Descriptions of events that the trace contains: EventSource manifests
 *	(schema/manifest/manifest.c parses the XML) and metadata that merge tools add to a file
 *	(schema/eventinfo/event_info.c). A repetition costs only a hash. The total size is limited.
 *	Shared by a store and its clones in other threads: one lock guards everything except
 *	definitions, which do not change.
 *
 *	An EventSource manifest is sent in chunks: u8 1, u8 major, u8 minor, u8 0x5B, u16 chunks,
 *	u16 number, then XML. They are joined for each provider, process and thread.
 */
#include "base/os.h"
#include "schema/store/inband_schema.h"
#include "etl/compress/decompress.h"
#include "schema/model/schema_int.h"
#include "schema/manifest/manifest.h"
#include "schema/eventinfo/event_info.h"
#include "base/hash_table.h"
#include <stdatomic.h>

enum {
    INBAND_MAX_BYTES = 128 << 20,
    CHUNK_HEADER = 8,
    CHUNKS_MAX = 1024, /* of one manifest: 64 MB */
    PENDING_MAX = 256, /* incomplete manifests */
    PENDING_MAX_BYTES = 32 << 20,
    PERFTRACK_MAX_XML = 16 << 20,
    MANIFEST_EVENT = 0xFFFE,
    OPCODE_PERFTRACK = 33,
    REBUILDS_MAX = 4 /* of an event whose maps follow later */
};

/* {bbccf6c1-6cd1-48c4-80ff-839482e37671}, {bf6ef1cb-89b5-490a-80ac-b180cfbcff0f} */
#define METADATA_CLASS                                                                             \
    {                                                                                              \
        {                                                                                          \
            0xc1, 0xf6, 0xcc, 0xbb, 0xd1, 0x6c, 0xc4, 0x48, 0x80, 0xff, 0x83, 0x94, 0x82, 0xe3,    \
                    0x76, 0x71                                                                     \
        }                                                                                          \
    }
#define PERFTRACK                                                                                  \
    {                                                                                              \
        {                                                                                          \
            0xcb, 0xf1, 0x6e, 0xbf, 0xb5, 0x89, 0x0a, 0x49, 0x80, 0xac, 0xb1, 0x80, 0xcf, 0xbc,    \
                    0xff, 0x0f                                                                     \
        }                                                                                          \
    }
const EtwGuid etwMetadataClass = METADATA_CLASS;

/* A manifest in chunks, which are kept in the order of their numbers. */
typedef struct Piece {
    struct Piece *next;
    uint16_t number;
    size_t size;
    uint8_t data[];
} Piece;

typedef struct Pending {
    struct Pending *next; /* newest first */
    EtwGuid guid;
    uint32_t pid, tid;
    uint16_t total, have;
    size_t bytes;
    Piece *first;
} Pending;

/* Text or metadata that was processed already, by the hash of its bytes. */
typedef struct SeenBytes {
    EtwTableNode node;
    size_t size;
} SeenBytes;

/* A definition from a manifest. */
typedef struct InbandManifest {
    EtwTableNode node;
    size_t number; /* in order of arrival */
    EtwProviderDef *def;
} InbandManifest;

/*
 * An event that metadata describes. Its definition is created when it is first needed, because it
 * may need maps that follow later.
 */
typedef struct Described {
    EtwTableNode node;
    EtwEventInfoKey key;
    EtwProviderDef *def; /* NULL: not created, or malformed */
    bool made, missing;  /* missing: a map was missing */
    uint8_t rebuilds;
    size_t mapsThen; /* number of maps known when it was created */
    size_t size;
    uint8_t info[];
} Described;

typedef struct NamedMap {
    EtwTableNode node;
    EtwGuid provider;
    const char *name;
    const EtwMap *map;
} NamedMap;

typedef struct ProviderName {
    EtwTableNode node;
    EtwGuid guid;
    char name[];
} ProviderName;

/* A definition that was replaced; callers may still use it. */
typedef struct Retired {
    struct Retired *next;
    EtwProviderDef *def;
} Retired;

struct EtwInband {
    _Atomic int users; /* number of stores */
    _Atomic uint32_t generation;
    OsMutex *lock;                  /* guards all members below */
    EtwSchemaHarvester *harvesters; /* not run yet */
    size_t bytes;
    Pending *pending;
    int pendingCount;
    size_t pendingBytes;
    EtwTable met, manifests, described, maps, names;
    EtwProviderDef *mapHolder;
    Retired *retired;
};

/* ---- Which events ---------------------------------------------------------------------------- */

bool EtwEventIsSchema(const EtwEvent *e)
{
    if (!e->classic) {
        return e->desc.id == MANIFEST_EVENT && e->payloadSize > CHUNK_HEADER &&
               e->payload[0] == 1 && e->payload[3] == 0x5B;
    }
    if (EtwGuidEqual(&e->provider, &etwMetadataClass)) {
        return e->desc.opcode == ETW_METADATA_EVENT || e->desc.opcode == ETW_METADATA_MAP;
    }
    return e->desc.opcode == OPCODE_PERFTRACK &&
           EtwGuidEqual(&e->provider, &etwSchemaEventProviders[1]);
}

const EtwGuid etwSchemaEventProviders[ETW_SCHEMA_EVENT_PROVIDERS] = {METADATA_CLASS, PERFTRACK};
const uint16_t etwSchemaEventId = MANIFEST_EVENT;

const EtwSchema *EtwChunkSchema(const EtwEvent *event)
{
    static const EtwField fields[] = {{.name = "Format", .in = ETW_IN_UINT8, .span = 1},
            {.name = "MajorVersion", .in = ETW_IN_UINT8, .span = 1},
            {.name = "MinorVersion", .in = ETW_IN_UINT8, .span = 1},
            {.name = "Magic", .in = ETW_IN_UINT8, .out = ETW_OUT_HEX, .span = 1},
            {.name = "TotalChunks", .in = ETW_IN_UINT16, .span = 1},
            {.name = "ChunkNumber", .in = ETW_IN_UINT16, .span = 1},
            {.name = "Data", .in = ETW_IN_BINARY, .sized = ETW_SIZE_REST, .span = 1}};
    static EtwSchema chunk = {.provider = "",
            .event = "ManifestData",
            .fields = fields,
            .fieldCount = sizeof fields / sizeof *fields,
            .origin = ETW_ORIGIN_BUILTIN};
    return !event->classic && EtwEventIsSchema(event) ? &chunk : NULL;
}

/* Note bytes of a kind. False: they were processed before, or the limit is reached. */
static bool isNew(EtwInband *l, unsigned kind, const uint8_t *data, size_t size)
{
    uint64_t hash = EtwHashBytes(EtwHashMix(kind, size), data, size);
    for (EtwTableNode *n = EtwTableFirst(&l->met, hash); n != NULL; n = n->next) {
        if (n->hash == hash && ((SeenBytes *)n)->size == size) {
            return false;
        }
    }
    if (l->bytes > INBAND_MAX_BYTES) {
        return false;
    }
    SeenBytes *met = EtwAlloc(sizeof *met);
    met->size = size;
    l->bytes += sizeof *met;
    EtwTableAdd(&l->met, &met->node, hash);
    return true;
}

/* ---- Names ----------------------------------------------------------------------------------- */

static const ProviderName *findName(const EtwInband *l, const EtwGuid *guid)
{
    for (EtwTableNode *n = EtwTableFirst(&l->names, EtwHashGuid(guid)); n != NULL; n = n->next) {
        if (EtwGuidEqual(&((ProviderName *)n)->guid, guid)) {
            return (ProviderName *)n;
        }
    }
    return NULL;
}

static void addName(EtwInband *l, const EtwGuid *guid, const char *name)
{
    size_t size = strlen(name) + 1;
    if (size > 1 && findName(l, guid) == NULL) {
        ProviderName *p = EtwAlloc(sizeof *p + size);
        p->guid = *guid;
        memcpy(p->name, name, size);
        l->bytes += sizeof *p + size;
        EtwTableAdd(&l->names, &p->node, EtwHashGuid(guid));
    }
}

/* ---- Manifests ------------------------------------------------------------------------------- */

static void addManifest(void *ctx, EtwProviderDef *def)
{
    EtwInband *l = ctx;
    InbandManifest *manifests = EtwAlloc(sizeof *manifests);
    manifests->def = def;
    manifests->number = l->manifests.count;
    l->bytes += sizeof *manifests + def->bytes;
    addName(l, &def->guid, def->name);
    EtwTableAdd(&l->manifests, &manifests->node, EtwHashGuid(&def->guid));
}

static bool harvestXml(EtwInband *l, const uint8_t *xml, size_t size, EtwOrigin origin)
{
    while (size > 0 && xml[size - 1] == 0) { /* some end with NULs */
        size--;
    }
    return isNew(l, 0, xml, size) &&
           EtwManifestReadInband("", xml, size, origin, addManifest, l) == ETW_OK;
}

static bool harvestPerfTrack(EtwInband *l, const EtwEvent *e)
{
    size_t capacity = e->payloadSize >= 4 ? EtwLoad32(e->payload) : 0;
    if (capacity == 0 || capacity > PERFTRACK_MAX_XML || !isNew(l, 1, e->payload, e->payloadSize)) {
        return false;
    }
    /* A chunk of 4096 bytes takes at least 6 bytes. */
    size_t most = (size_t)e->payloadSize * 1024;
    capacity = capacity < most ? capacity : most;
    uint8_t *xml = EtwAlloc(capacity);
    size_t size = EtlLznt1Decode(e->payload + 4, e->payloadSize - 4, xml, capacity);
    bool good = harvestXml(l, xml, size, ETW_ORIGIN_METADATA);
    EtwFree(xml);
    return good;
}

/* ---- Manifests in chunks --------------------------------------------------------------------- */

static void dropPieces(EtwInband *l, Pending *p)
{
    for (Piece *piece = p->first, *next; piece != NULL; piece = next) {
        next = piece->next;
        EtwFree(piece);
    }
    l->pendingBytes -= p->bytes;
    p->first = NULL;
    p->have = 0;
    p->bytes = 0;
}

static void dropPending(EtwInband *l, Pending **at)
{
    Pending *p = *at;
    dropPieces(l, p);
    *at = p->next;
    l->pendingCount--;
    EtwFree(p);
}

static void dropOldest(EtwInband *l)
{
    Pending **at = &l->pending;
    while ((*at)->next != NULL) {
        at = &(*at)->next;
    }
    dropPending(l, at);
}

static Pending **pendingOf(EtwInband *l, const EtwEvent *e, uint16_t total)
{
    Pending **at = &l->pending;
    for (; *at != NULL; at = &(*at)->next) {
        if ((*at)->pid == e->pid && (*at)->tid == e->tid && (*at)->total == total &&
                EtwGuidEqual(&(*at)->guid, &e->provider)) {
            return at;
        }
    }
    while (l->pendingCount >= PENDING_MAX || (l->pending && l->pendingBytes > PENDING_MAX_BYTES)) {
        dropOldest(l);
    }
    Pending *p = EtwAlloc(sizeof *p);
    *p = (Pending){.guid = e->provider, .pid = e->pid, .tid = e->tid, .total = total};
    p->next = l->pending;
    l->pending = p;
    l->pendingCount++;
    return &l->pending;
}

/* The position for a chunk with that number; NULL: a duplicate. Usually at the end. */
static Piece **placeOf(Pending *p, uint16_t number)
{
    Piece **at = &p->first;
    while (*at != NULL && (*at)->number < number) {
        at = &(*at)->next;
    }
    return *at != NULL && (*at)->number == number ? NULL : at;
}

static void addPiece(EtwInband *l, Pending *p, uint16_t number, const EtwEvent *e)
{
    size_t size = e->payloadSize - CHUNK_HEADER;
    Piece **at = placeOf(p, number);
    if (at == NULL) { /* it is being sent again from the start */
        dropPieces(l, p);
        at = &p->first;
    }
    Piece *piece = EtwAlloc(sizeof *piece + size);
    piece->number = number;
    piece->size = size;
    memcpy(piece->data, e->payload + CHUNK_HEADER, size);
    piece->next = *at;
    *at = piece;
    p->have++;
    p->bytes += size;
    l->pendingBytes += size;
}

static bool harvestPieces(EtwInband *l, const Pending *p)
{
    EtwText xml = {0};
    for (const Piece *piece = p->first; piece != NULL; piece = piece->next) {
        EtwTextAdd(&xml, piece->data, piece->size);
    }
    bool good = harvestXml(l, (const uint8_t *)xml.data, xml.size, ETW_ORIGIN_STREAM);
    EtwTextFree(&xml);
    return good;
}

static bool learnChunk(EtwInband *l, const EtwEvent *e)
{
    uint16_t total = EtwLoad16(e->payload + 4), number = EtwLoad16(e->payload + 6);
    if (total == 1) {
        return harvestXml(
                l, e->payload + CHUNK_HEADER, e->payloadSize - CHUNK_HEADER, ETW_ORIGIN_STREAM);
    }
    if (number >= total || total > CHUNKS_MAX) {
        return false;
    }
    Pending **at = pendingOf(l, e, total);
    addPiece(l, *at, number, e);
    if ((*at)->have < total) {
        return false;
    }
    bool good = harvestPieces(l, *at);
    dropPending(l, at);
    return good;
}

/* ---- Metadata -------------------------------------------------------------------------------- */

static uint64_t keyHash(const EtwEventInfoKey *key)
{
    return EtwHashMix(EtwHashGuid(&key->guid),
            key->code | (uint64_t)key->version << 16 | (uint64_t)key->classic << 24);
}

static Described *findDescribed(const EtwInband *l, const EtwEventInfoKey *key)
{
    for (EtwTableNode *n = EtwTableFirst(&l->described, keyHash(key)); n != NULL; n = n->next) {
        const EtwEventInfoKey *k = &((Described *)n)->key;
        if (k->code == key->code && k->version == key->version && k->classic == key->classic &&
                EtwGuidEqual(&k->guid, &key->guid)) {
            return (Described *)n;
        }
    }
    return NULL;
}

static bool harvestEventInfo(EtwInband *l, const EtwEvent *e)
{
    EtwEventInfoKey key;
    if (!EtwEventInfoKeyOf(e->payload, e->payloadSize, &key) || findDescribed(l, &key) != NULL ||
            l->bytes > INBAND_MAX_BYTES) {
        return false;
    }
    Described *d = EtwAlloc(sizeof *d + e->payloadSize);
    d->key = key;
    d->size = e->payloadSize;
    memcpy(d->info, e->payload, d->size);
    l->bytes += sizeof *d + d->size;
    EtwTableAdd(&l->described, &d->node, keyHash(&key));
    return true;
}

static uint64_t mapHash(const EtwGuid *provider, const char *name)
{
    return EtwHashBytes(EtwHashGuid(provider), (const uint8_t *)name, strlen(name));
}

static const EtwMap *findMap(void *ctx, const EtwGuid *provider, const char *name)
{
    const EtwInband *l = ctx;
    uint64_t hash = mapHash(provider, name);
    for (EtwTableNode *n = EtwTableFirst(&l->maps, hash); n != NULL; n = n->next) {
        const NamedMap *m = (NamedMap *)n;
        if (n->hash == hash && EtwGuidEqual(&m->provider, provider) && strcmp(m->name, name) == 0) {
            return m->map;
        }
    }
    return NULL;
}

static bool harvestMapInfo(EtwInband *l, const EtwEvent *e)
{
    static const EtwGuid nobody;
    const char *name;
    if (!isNew(l, 2, e->payload, e->payloadSize)) {
        return false;
    }
    if (l->mapHolder == NULL) {
        l->mapHolder = EtwDefNew(&nobody, "", ETW_ORIGIN_METADATA, "");
    }
    size_t before = l->mapHolder->bytes;
    const EtwMap *map = EtwMapInfoParse(l->mapHolder, e->payload, e->payloadSize, &name);
    l->bytes += l->mapHolder->bytes - before;
    if (map == NULL) {
        return false;
    }
    NamedMap *m = EtwAlloc(sizeof *m);
    memcpy(&m->provider, e->payload, sizeof m->provider);
    m->name = name;
    m->map = map;
    l->bytes += sizeof *m;
    EtwTableAdd(&l->maps, &m->node, mapHash(&m->provider, name));
    return true;
}

static void retire(EtwInband *l, EtwProviderDef *def)
{
    Retired *r = EtwAlloc(sizeof *r);
    r->def = def;
    r->next = l->retired;
    l->retired = r;
}

/*
 * The definition of a described event, created if necessary, or created again when missing maps
 * have arrived. Definitions are larger than their source, so the limit may prevent it.
 */
static const EtwProviderDef *definitionOf(EtwInband *l, Described *d)
{
    bool again =
            d->made && d->missing && d->mapsThen != l->maps.count && d->rebuilds < REBUILDS_MAX;
    if ((!d->made || again) && l->bytes <= INBAND_MAX_BYTES) {
        if (d->def != NULL) {
            retire(l, d->def);
        }
        d->made = true;
        d->rebuilds += again;
        d->mapsThen = l->maps.count;
        d->def = EtwEventInfoParse(d->info, d->size, findMap, l, &d->missing);
        l->bytes += d->def ? d->def->bytes : 0;
    }
    return d->def;
}

/* ---- Queries --------------------------------------------------------------------------------- */

/* The newest manifest that has the event; exact: in exactly that version. */
static const EtwProviderDef *findManifest(const EtwInband *l, const EtwEvent *e, bool exact)
{
    const InbandManifest *best = NULL;
    EtwTableNode *n = EtwTableFirst(&l->manifests, EtwHashGuid(&e->provider));
    for (; n != NULL; n = n->next) {
        const InbandManifest *manifests = (InbandManifest *)n;
        if (!EtwGuidEqual(&manifests->def->guid, &e->provider) ||
                (best != NULL && best->number > manifests->number)) {
            continue;
        }
        const EtwEventDef *found = EtwDefFind(manifests->def, e->desc.id, e->desc.version);
        if (found != NULL && (!exact || found->desc.version == e->desc.version)) {
            best = manifests;
        }
    }
    return best ? best->def : NULL;
}

static void harvestLocked(void *ctx, const EtwEvent *e)
{
    EtwInband *l = ctx;
    bool isMetadata = e->classic && EtwGuidEqual(&e->provider, &etwMetadataClass);
    bool learned = !EtwEventIsSchema(e)                   ? false
                   : !e->classic                          ? learnChunk(l, e)
                   : !isMetadata                          ? harvestPerfTrack(l, e)
                   : e->desc.opcode == ETW_METADATA_EVENT ? harvestEventInfo(l, e)
                                                          : harvestMapInfo(l, e);
    if (learned) {
        atomic_fetch_add_explicit(&l->generation, 1, memory_order_release);
    }
}

/* Run the harvesters once. */
static void runHarvesters(EtwInband *l)
{
    EtwSchemaHarvester *harvester = l->harvesters, *next;
    l->harvesters = NULL;
    for (; harvester != NULL; harvester = next) {
        next = harvester->next;
        harvester->harvest(harvester, harvestLocked, l);
        harvester->free(harvester);
    }
}

const EtwProviderDef *EtwInbandFind(EtwInband *l, const EtwEvent *e)
{
    EtwEventInfoKey key = {.guid = e->provider,
            .code = e->classic ? e->desc.opcode : e->desc.id,
            .version = e->desc.version,
            .classic = e->classic};
    OsMutexLock(l->lock);
    runHarvesters(l);
    const EtwProviderDef *def = e->classic ? NULL : findManifest(l, e, true);
    Described *d = def ? NULL : findDescribed(l, &key);
    if (d != NULL) {
        def = definitionOf(l, d);
    }
    if (def == NULL && !e->classic) {
        def = findManifest(l, e, false);
    }
    if (d != NULL && def == d->def) {
        addName(l, &key.guid, def ? def->name : "");
    }
    OsMutexUnlock(l->lock);
    return def;
}

const char *EtwInbandName(EtwInband *l, const EtwGuid *guid)
{
    OsMutexLock(l->lock);
    const ProviderName *p = findName(l, guid);
    OsMutexUnlock(l->lock);
    return p ? p->name : NULL;
}

uint32_t EtwInbandGeneration(const EtwInband *l)
{
    return atomic_load_explicit(&l->generation, memory_order_acquire);
}

void EtwInbandAdd(EtwInband *l, const EtwEvent *event)
{
    OsMutexLock(l->lock);
    harvestLocked(l, event);
    OsMutexUnlock(l->lock);
}

void EtwInbandAddHarvester(EtwInband *l, EtwSchemaHarvester *harvester)
{
    OsMutexLock(l->lock);
    harvester->next = l->harvesters;
    l->harvesters = harvester;
    OsMutexUnlock(l->lock);
}

/* ---- Create and free ------------------------------------------------------------------------- */

EtwInband *EtwInbandNew(void)
{
    EtwInband *l = EtwAlloc(sizeof *l);
    atomic_store_explicit(&l->users, 1, memory_order_relaxed);
    l->lock = OsMutexNew();
    return l;
}

EtwInband *EtwInbandRef(EtwInband *l)
{
    atomic_fetch_add_explicit(&l->users, 1, memory_order_relaxed);
    return l;
}

static void freePlain(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

static void freeManifest(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwDefFree(((InbandManifest *)node)->def);
    EtwFree(node);
}

static void freeDescribed(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwDefFree(((Described *)node)->def);
    EtwFree(node);
}

void EtwInbandUnref(EtwInband *l)
{
    /* The last user must see the changes of the others. */
    if (l == NULL || atomic_fetch_sub_explicit(&l->users, 1, memory_order_acq_rel) > 1) {
        return;
    }
    for (EtwSchemaHarvester *t = l->harvesters, *next; t != NULL; t = next) {
        next = t->next;
        t->free(t);
    }
    while (l->pending != NULL) {
        dropPending(l, &l->pending);
    }
    EtwTableFree(&l->met, freePlain);
    EtwTableFree(&l->manifests, freeManifest);
    EtwTableFree(&l->described, freeDescribed);
    EtwTableFree(&l->maps, freePlain);
    EtwTableFree(&l->names, freePlain);
    EtwDefFree(l->mapHolder);
    for (Retired *r = l->retired, *next; r != NULL; r = next) {
        next = r->next;
        EtwDefFree(r->def);
        EtwFree(r);
    }
    OsMutexFree(l->lock);
    EtwFree(l);
}
