/*
 * schema/store.c --
 *
 *	Finds the schema of an event. Schemas of TraceLogging events are made once and kept,
 *	keyed by the provider's GUID and the bytes of the metadata (never by its address: live
 *	sources reuse theirs). Also keeps what provider GUIDs are called. Makes no schema
 *	itself (tracelogging.c, builtin.c do).
 */
#include "schema/internal.h"
#include "schema/names.h"
#include "schema/table.h"

/* Also bounds what a file of nothing but different schemas can take; beyond it events are shown
 * raw. */
enum { STORE_MAX_BYTES = 192 << 20 };
enum { RECENT_SLOTS = 512, EVENT_FLAG_STRING_ONLY = 4 };

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
    EtwSchema *schema; /* NULL: the metadata makes no sense */
    EtwField *fields;  /* schema's own, to be given maps */
    uint8_t meta[];
} Entry;

struct EtwSchemaStore {
    EtwTable entries;
    EtwTable providers;
    size_t bytes;
    Entry *recent[RECENT_SLOTS]; /* by a hash of a few bytes: most look-ups end here */
};

/* ---- Hashing --------------------------------------------------------------------------------- */

static uint64_t hashBytes(uint64_t h, const uint8_t *p, size_t size)
{
    h = EtwHashMix(h, size);
    for (; size >= 8; p += 8, size -= 8) {
        h = EtwHashMix(h, EtwLoad64(p));
    }
    for (; size > 0; p++, size--) {
        h = EtwHashMix(h, *p);
    }
    return h;
}

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
    store->bytes += sizeof *p + text.room;
    return p;
}

/* The name of the event's provider, learned from its traits when it is new; NULL: unknown. */
static const char *providerNameOf(EtwSchemaStore *store, const EtwEvent *event)
{
    const uint8_t *name;
    size_t size;
    Provider *p = findProvider(store, &event->provider);
    if (p == NULL && EtwTraitsName(event->traits, event->traitsSize, &name, &size) &&
            store->bytes < STORE_MAX_BYTES) {
        p = addProvider(store, &event->provider, name, size);
    }
    return p ? p->name : EtwKernelClassName(&event->provider);
}

const char *EtwProviderName(EtwSchemaStore *store, const EtwGuid *guid)
{
    const Provider *p = findProvider(store, guid);
    return p ? p->name : EtwKernelClassName(guid);
}

static void freeProvider(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(((Provider *)node)->name);
    EtwFree(node);
}

/* ---- Schemas --------------------------------------------------------------------------------- */

/* Name the entry's provider, if that is known by now, and with it the maps of our own events'
 * fields. */
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
        f->map = EtwNamesFor(name, entry->schema->event, f->name);
    }
}

/* An event whose payload is one string (no metadata needed). */
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
    (void)ctx;
    EtwFree(((Entry *)node)->schema);
    EtwFree(node);
}

static inline bool entryFits(const Entry *entry, const EtwEvent *event)
{
    return entry->metaSize == event->metaSize && EtwGuidEqual(&entry->guid, &event->provider) &&
           (event->metaSize == 0 || memcmp(entry->meta, event->meta, event->metaSize) == 0);
}

static Entry *findEntry(EtwSchemaStore *store, const EtwEvent *event)
{
    uint64_t hash = hashBytes(EtwHashGuid(&event->provider), event->meta, event->metaSize);
    for (EtwTableNode *n = EtwTableFirst(&store->entries, hash); n != NULL; n = n->next) {
        if (n->hash == hash && entryFits((Entry *)n, event)) {
            return (Entry *)n;
        }
    }
    return store->bytes < STORE_MAX_BYTES ? addEntry(store, event, hash) : NULL;
}

const EtwSchema *EtwSchemaOf(EtwSchemaStore *store, const EtwEvent *event)
{
    if (event->classic) {
        return EtwGuidEqual(&event->provider, &etwEventTraceGuid)
                       ? EtwEventTraceSchema(event->desc.opcode)
                       : NULL;
    }
    if (event->metaSize == 0 && (event->flags & EVENT_FLAG_STRING_ONLY) == 0) {
        return NULL;
    }
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

EtwSchemaStore *EtwSchemaStoreNew(void)
{
    EtwSchemaStore *store = EtwAlloc(sizeof *store);
    for (int i = 0; etwOwnProviders[i] != NULL; i++) {
        EtwGuid guid;
        EtwGuidFromName(etwOwnProviders[i], &guid);
        addProvider(store, &guid, (const uint8_t *)etwOwnProviders[i], strlen(etwOwnProviders[i]));
    }
    return store;
}

void EtwSchemaStoreFree(EtwSchemaStore *store)
{
    if (store != NULL) {
        EtwTableFree(&store->entries, freeEntry);
        EtwTableFree(&store->providers, freeProvider);
        EtwFree(store);
    }
}
