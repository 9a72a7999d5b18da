/*
 * flow/summary/summary_pair.c --
 *
 *	Finds the event that ends an operation which another event began. The user's key fields are
 *	compared by a 64-bit hash of their texts.
 */
#include "flow/summary/summary_int.h"
#include "schema/model/decode.h"

enum { NEITHER, BEGINS, ENDS };

static int roleOf(Summary *s, const EtwSchema *schema, const EtwEvent *event)
{
    EtwSchemaStore *store = s->sink->store;
    struct Role *r = &s->roles[EtwHashPointer(schema) % ROLES];
    if (schema == NULL) {
        return NEITHER;
    }
    if (schema != r->schema) {
        r->schema = schema;
        r->role = EtwEventHasName(store, schema, event, s->pub.config.enter)   ? BEGINS
                  : EtwEventHasName(store, schema, event, s->pub.config.leave) ? ENDS
                                                                               : NEITHER;
    }
    return r->role;
}

/* Identifies events that belong together: `who`, a process or thread, and `key` within it. */
static void keyOf(
        Summary *s, const EtwEvent *event, const EtwSchema *schema, uint64_t *who, uint64_t *key)
{
    EtwValue id;
    int index = s->pub.config.keyCount == 0 ? EtwColumnField(s->callId, schema) : -1;
    *who = event->pid;
    *key = 0;
    if (s->pub.config.keyCount > 0) {
        s->cell.size = 0;
        for (int i = 0; i < s->pub.config.keyCount; i++) {
            EtwColumnAdd(s->pairKey[i], s->sink, event, schema, &s->cell);
            EtwTextChar(&s->cell, 0);
        }
        *who = 0;
        *key = EtwHashBytes(2, (const uint8_t *)s->cell.data, s->cell.size);
    } else if (index >= 0 && EtwDecodeField(schema, event, index, &id) == ETW_OK &&
               (id.kind == ETW_V_UINT || id.kind == ETW_V_INT)) {
        *key = id.u;
    } else {
        *who = (uint64_t)event->pid << 32 | event->tid;
    }
}

/* Remove it from list and table; the caller frees it. */
static void unlinkOpen(Summary *s, Open *o)
{
    *(o->older ? &o->older->younger : &s->oldest) = o->younger;
    *(o->younger ? &o->younger->older : &s->youngest) = o->older;
    EtwTableRemove(&s->open, &o->node);
}

/*
 * Chains have the newest node first. The table has a fixed size, so that rehashing does not change
 * this order.
 */
static void emptyTable(Summary *s)
{
    enum { SLOTS = 2 * ETW_SUMMARY_OPEN_MAX };
    if (s->open.slots == NULL) {
        s->open.slots = (EtwTableNode **)EtwAlloc(SLOTS * sizeof *s->open.slots);
        s->open.mask = SLOTS - 1;
    }
    memset(s->open.slots, 0, SLOTS * sizeof *s->open.slots);
    s->open.count = 0;
}

/* Removes the older half at once, because removing single nodes requires a search each time. */
static void evictOldest(Summary *s)
{
    for (int i = 0; i < ETW_SUMMARY_OPEN_MAX / 2; i++) {
        Open *oldest = s->oldest;
        s->oldest = oldest->younger;
        s->oldest->older = NULL;
        EtwFree(oldest);
        s->pub.unpaired++;
    }
    emptyTable(s);
    for (Open *o = s->oldest; o != NULL; o = o->younger) {
        EtwTableAdd(&s->open, &o->node, o->node.hash);
    }
}

static void begin(Summary *s, const EtwEvent *event, const EtwSchema *schema)
{
    uint64_t who, key;
    if (s->open.slots == NULL) {
        emptyTable(s);
    } else if (s->open.count >= ETW_SUMMARY_OPEN_MAX) {
        evictOldest(s);
    }
    keyOf(s, event, schema, &who, &key);
    EtwSummaryKey(s, event, schema, NULL, &s->key);
    Open *o = EtwAlloc(sizeof *o + s->key.size);
    EtwCopyShort(o->cells, s->key.data, s->key.size);
    o->who = who;
    o->key = key;
    o->time = event->time;
    o->older = s->youngest;
    *(o->older ? &o->older->younger : &s->oldest) = o;
    s->youngest = o;
    EtwTableAdd(&s->open, &o->node, EtwHashMix(EtwHashNumber(who), key));
}

static void end(Summary *s, const EtwEvent *event, const EtwSchema *schema)
{
    uint64_t who, key;
    keyOf(s, event, schema, &who, &key);
    Open *o = (Open *)EtwTableFirst(&s->open, EtwHashMix(EtwHashNumber(who), key));
    while (o != NULL && (o->who != who || o->key != key)) {
        o = (Open *)o->node.next;
    }
    if (o == NULL) {
        s->pub.unpaired++;
        return;
    }
    /* Clocks of two CPUs may differ slightly. */
    uint64_t ns = event->time > o->time ? (uint64_t)event->time - (uint64_t)o->time : 0;
    unlinkOpen(s, o);
    EtwSummaryCount(s, event, schema, o->cells, &ns);
    EtwFree(o);
}

void EtwSummaryPair(Summary *s, const EtwEvent *event, const EtwSchema *schema)
{
    int role = roleOf(s, schema, event);
    if (role == BEGINS) {
        begin(s, event, schema);
    } else if (role == ENDS) {
        end(s, event, schema);
    }
}

uint64_t EtwSummaryPairsFree(Summary *s)
{
    uint64_t count = s->open.count;
    for (Open *o = s->oldest, *next; o != NULL; o = next) {
        next = o->younger;
        EtwFree(o);
    }
    EtwFree(s->open.slots);
    s->open = (EtwTable){0};
    s->oldest = s->youngest = NULL;
    return count;
}
