/*
 * flow/relog/schema_events.c --
 *
 *	Adds the events that describe other events (flow/relog/schema_events.h), and tracks which
 *	kinds of events and which maps are described already.
 */
#include "flow/relog/schema_events.h"
#include "schema/eventinfo/event_info.h"
#include "base/hash_table.h"

enum {
    RECENT = 256,
    KINDS_MAX = 1 << 20, /* limits memory for hostile files */
    PAYLOAD_MAX = 0xFFFF - 0x30
};

typedef struct Kind {
    EtwTableNode node;
    EtwGuid provider;
    uint32_t code; /* id, opcode and version */
    bool classic;
} Kind;

typedef struct Mapped {
    EtwTableNode node;
    const EtwMap *map;
    char name[]; /* "": too large for an event */
} Mapped;

struct EtwSchemaEvents {
    EtwSchemaStore *store;
    EtwTable kinds, maps;
    const Kind *recent[RECENT];
    EtwText bytes, mapBytes;
    uint64_t unsupported;
    /* the event to describe: */
    const EtwEvent *event;
    EtwSchemaEventsProc *add;
    void *ctx;
};

/* ---- Kinds ----------------------------------------------------------------------------------- */

static inline uint32_t codeOf(const EtwEvent *e)
{
    return e->desc.id | (uint32_t)e->desc.version << 16 |
           (e->classic ? (uint32_t)e->desc.opcode << 24 : 0);
}

static inline bool isKind(const Kind *k, const EtwEvent *e)
{
    return k->code == codeOf(e) && k->classic == e->classic &&
           EtwGuidEqual(&k->provider, &e->provider);
}

/* True for the first event of its kind. */
static bool isNew(EtwSchemaEvents *d, const EtwEvent *e)
{
    uint64_t hash = EtwHashMix(EtwHashGuid(&e->provider), codeOf(e));
    const Kind **recent = &d->recent[hash % RECENT];
    if (*recent != NULL && isKind(*recent, e)) {
        return false;
    }
    for (EtwTableNode *n = EtwTableFirst(&d->kinds, hash); n != NULL; n = n->next) {
        if (isKind((Kind *)n, e)) {
            *recent = (Kind *)n;
            return false;
        }
    }
    if (d->kinds.count >= KINDS_MAX) {
        return false;
    }
    Kind *kind = EtwAlloc(sizeof *kind);
    kind->provider = e->provider;
    kind->code = codeOf(e);
    kind->classic = e->classic;
    EtwTableAdd(&d->kinds, &kind->node, hash);
    *recent = kind;
    return true;
}

/* ---- Metadata -------------------------------------------------------------------------------- */

static bool emitSchemaEvent(EtwSchemaEvents *d, uint8_t opcode, const EtwText *payload)
{
    EtwEvent event = {.time = d->event->time,
            .ticks = d->event->ticks,
            .provider = etwMetadataClass,
            .desc.opcode = opcode,
            .cpu = d->event->cpu,
            .logger = d->event->logger,
            .pointerSize = 8,
            .classic = true,
            .payload = (const uint8_t *)payload->data,
            .payloadSize = (uint32_t)payload->size};
    if (payload->size > PAYLOAD_MAX) {
        return false;
    }
    d->add(d->ctx, &event);
    return true;
}

static Mapped *findMap(const EtwSchemaEvents *d, const EtwMap *map, uint64_t hash)
{
    for (EtwTableNode *n = EtwTableFirst(&d->maps, hash); n != NULL; n = n->next) {
        if (((Mapped *)n)->map == map) {
            return (Mapped *)n;
        }
    }
    return NULL;
}

/* A map without a name of its own gets a name from the first field and event that use it. */
static void nameMap(
        EtwText *out, const EtwSchema *schema, const EtwField *field, const EtwEvent *event)
{
    const char *name = EtwMapInfoName(schema, field->map);
    if (name != NULL && name[0] != 0) {
        EtwTextStr(out, name);
    } else {
        EtwTextPrintf(out, "%.100s.%08x", field->name, (unsigned)codeOf(event));
    }
    EtwTextChar(out, 0);
}

static const char *useMap(void *ctx, const EtwSchema *schema, const EtwField *field)
{
    EtwSchemaEvents *d = ctx;
    uint64_t hash = EtwHashPointer(field->map);
    Mapped *m = findMap(d, field->map, hash);
    if (m == NULL) {
        EtwText name = {0};
        nameMap(&name, schema, field, d->event);
        m = EtwAlloc(sizeof *m + name.size);
        m->map = field->map;
        if (EtwMapInfoBuild(&schema->def->guid, name.data, m->map, &d->mapBytes) &&
                emitSchemaEvent(d, ETW_METADATA_MAP, &d->mapBytes)) {
            memcpy(m->name, name.data, name.size);
        } else {
            d->unsupported++;
        }
        EtwTextFree(&name);
        EtwTableAdd(&d->maps, &m->node, hash);
    }
    return m->name;
}

/* True if readers know the schema from another source. */
static bool isDescribedElsewhere(const EtwSchema *schema)
{
    return schema == NULL || schema->def == NULL || schema->origin == ETW_ORIGIN_BUILTIN ||
           schema->origin == ETW_ORIGIN_SELF || schema->origin == ETW_ORIGIN_STREAM ||
           schema->origin == ETW_ORIGIN_METADATA || schema->origin == ETW_ORIGIN_KERNEL;
}

void EtwSchemaEventsAdd(
        EtwSchemaEvents *d, const EtwEvent *event, EtwSchemaEventsProc *add, void *ctx)
{
    if (event->metaSize != 0 || EtwEventIsSchema(event) || !isNew(d, event)) {
        return;
    }
    const EtwSchema *schema = EtwSchemaOf(d->store, event);
    if (isDescribedElsewhere(schema) || EtwSchemaInTrace(d->store, event)) {
        return;
    }
    d->event = event;
    d->add = add;
    d->ctx = ctx;
    if (!EtwEventInfoBuild(event, schema, useMap, d, &d->bytes) ||
            !emitSchemaEvent(d, ETW_METADATA_EVENT, &d->bytes)) {
        d->unsupported++;
    }
}

/* ---- Create and free ------------------------------------------------------------------------- */

EtwSchemaEvents *EtwSchemaEventsNew(EtwSchemaStore *store)
{
    EtwSchemaEvents *d = EtwAlloc(sizeof *d);
    d->store = store;
    return d;
}

bool EtwSchemaEventsUnsupported(const EtwSchemaEvents *d, EtwText *out)
{
    if (d->unsupported != 0) {
        EtwTextPrintf(out, "%llu schemas or maps of values cannot be described in the trace",
                (unsigned long long)d->unsupported);
    }
    return d->unsupported != 0;
}

static void freeNode(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

void EtwSchemaEventsFree(EtwSchemaEvents *d)
{
    if (d == NULL) {
        return;
    }
    EtwTableFree(&d->kinds, freeNode);
    EtwTableFree(&d->maps, freeNode);
    EtwTextFree(&d->bytes);
    EtwTextFree(&d->mapBytes);
    EtwFree(d);
}
