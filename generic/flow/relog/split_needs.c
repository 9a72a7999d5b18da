/*
 * flow/relog/split_needs.c --
 *
 *	References of each piece (flow/relog/split_needs.h), as a set of numbers by kind.
 */
#include "flow/relog/split_needs.h"
#include "flow/relog/image_id.h"
#include "flow/track/name_tracker.h"
#include "flow/track/stack_matcher.h"
#include "flow/track/track_layout.h"
#include "schema/eventinfo/event_info.h"
#include "schema/kernel/kernel_classes.h"
#include "base/hash_table.h"

enum { NO_PIECE = 0 }; /* the references of no piece: images of the kernel */

typedef struct Reference {
    EtwTableNode node;
    uint64_t piece, number;
    EtwRelevance relevance;
} Reference;

/* The number of a provider's piece. */
typedef struct ProviderPiece {
    EtwTableNode node;
    EtwGuid provider;
    uint64_t piece;
} ProviderPiece;

struct EtwSplitNeeds {
    bool byProcess;
    EtwSchemaStore *store;
    EtwTable references, providers;
    TrackLayouts layouts;
};

/* ---- Pieces ---------------------------------------------------------------------------------- */

static ProviderPiece *findProvider(const EtwSplitNeeds *n, const EtwGuid *provider)
{
    EtwTableNode *node = EtwTableFirst(&n->providers, EtwHashGuid(provider));
    while (node != NULL && !EtwGuidEqual(&((ProviderPiece *)node)->provider, provider)) {
        node = node->next;
    }
    return (ProviderPiece *)node;
}

/* NO_PIECE: no event has this provider. Pieces of processes begin at 1, since pid -1 is none. */
static uint64_t pieceOf(const EtwSplitNeeds *n, uint32_t pid, const EtwGuid *provider)
{
    if (n->byProcess) {
        return (uint64_t)pid + 1;
    }
    const ProviderPiece *known = findProvider(n, provider);
    return known != NULL ? known->piece : NO_PIECE;
}

static void addProvider(EtwSplitNeeds *n, const EtwGuid *provider)
{
    if (findProvider(n, provider) == NULL) {
        ProviderPiece *p = EtwAlloc(sizeof *p);
        p->provider = *provider;
        p->piece = n->providers.count + 1;
        EtwTableAdd(&n->providers, &p->node, EtwHashGuid(provider));
    }
}

/* ---- References ------------------------------------------------------------------------------ */

static uint64_t hashOf(uint64_t piece, EtwRelevance relevance, uint64_t number)
{
    return EtwHashMix(EtwHashMix(piece, (uint64_t)relevance), number);
}

static bool refers(const EtwSplitNeeds *n, uint64_t piece, EtwRelevance relevance, uint64_t number)
{
    EtwTableNode *node = EtwTableFirst(&n->references, hashOf(piece, relevance, number));
    for (; node != NULL; node = node->next) {
        const Reference *r = (const Reference *)node;
        if (r->piece == piece && r->relevance == relevance && r->number == number) {
            return true;
        }
    }
    return false;
}

static void add(EtwSplitNeeds *n, uint64_t piece, EtwRelevance relevance, uint64_t number)
{
    if (!refers(n, piece, relevance, number)) {
        Reference *r = EtwAlloc(sizeof *r);
        r->piece = piece;
        r->relevance = relevance;
        r->number = number;
        EtwTableAdd(&n->references, &r->node, hashOf(piece, relevance, number));
    }
}

static void addObjects(EtwSplitNeeds *n, uint64_t piece, const EtwEvent *event)
{
    uint64_t at;
    const EtwSchema *schema = event->classic           ? EtwKernelSchema(event)
                              : EtwTrackIsClass(event) ? EtwSchemaOf(n->store, event)
                                                       : NULL;
    if (schema == NULL) {
        return;
    }
    const TrackLayout *layout = EtwTrackLayoutOf(&n->layouts, schema);
    if (EtwTrackNumber(layout, event, ETW_ROLE_FILE_KEY, &at)) {
        add(n, piece, ETW_FOR_OBJECT, at);
    }
    if (EtwTrackNumber(layout, event, ETW_ROLE_FILE_OBJECT, &at)) {
        add(n, piece, ETW_FOR_OBJECT, at);
    }
}

static bool hasStack(const EtwEvent *event)
{
    return event->stackCount != 0 || EtwGuidEqual(&event->provider, &etwStackWalk);
}

static void addEvent(EtwSplitNeeds *n, const EtwEvent *event)
{
    EtwImageId id;
    if (EtwImageIdParse(event, &id) && id.hasImage && !id.isVersion) {
        add(n, id.pid == 0 || !n->byProcess ? NO_PIECE : (uint64_t)id.pid + 1, ETW_FOR_IMAGE,
                id.image);
    }
    if (EtwEventIsSchema(event)) {
        return;
    }
    if (!n->byProcess) {
        addProvider(n, &event->provider);
    }
    uint64_t piece = pieceOf(n, event->pid, &event->provider);
    if (n->byProcess) {
        add(n, piece, ETW_FOR_PROVIDER, EtwHashGuid(&event->provider));
    } else {
        add(n, piece, ETW_FOR_PROCESS, event->pid);
    }
    if (hasStack(event)) {
        add(n, piece, ETW_FOR_STACKS, 0);
    }
    addObjects(n, piece, event);
}

bool EtwSplitNeedsEvent(
        const EtwSplitNeeds *n, uint32_t pid, const EtwGuid *provider, const EtwRundownEvent *entry)
{
    uint64_t piece = pieceOf(n, pid, provider);
    switch (entry->relevance) {
    case ETW_FOR_ALL:
        return true;
    case ETW_FOR_WHOLE:
        return false;
    case ETW_FOR_PROVIDER:
        return n->byProcess ? refers(n, piece, ETW_FOR_PROVIDER, EtwHashGuid(&entry->provider))
                            : EtwGuidEqual(provider, &entry->provider);
    case ETW_FOR_PROCESS:
        return n->byProcess ? pid == entry->number
                            : refers(n, piece, ETW_FOR_PROCESS, entry->number);
    case ETW_FOR_STACKS:
        return refers(n, piece, ETW_FOR_STACKS, 0);
    case ETW_FOR_OBJECT:
        return refers(n, piece, ETW_FOR_OBJECT, entry->number);
    case ETW_FOR_IMAGE:
        return refers(n, piece, ETW_FOR_IMAGE, entry->number) ||
               (refers(n, piece, ETW_FOR_STACKS, 0) &&
                       refers(n, NO_PIECE, ETW_FOR_IMAGE, entry->number));
    }
    return true;
}

/* ---- Create and free ------------------------------------------------------------------------- */

EtwSplitNeeds *EtwSplitNeedsRead(const EtwSource *source, bool byProcess, EtwSchemaStore *store)
{
    static const EtlFilter all = {.from = INT64_MIN, .to = INT64_MAX};
    EtwSource *ahead = EtwSourceReopen(source, &all);
    EtwEvent event;
    EtwStatus status;
    if (ahead == NULL) {
        return NULL;
    }
    ahead = EtwSourceTrack(ahead, false);
    EtwSplitNeeds *n = EtwAlloc(sizeof *n);
    n->byProcess = byProcess;
    n->store = store;
    while ((status = EtwSourceNext(ahead, &event)) == ETW_OK || status == ETW_PAUSE) {
        if (status == ETW_OK) {
            addEvent(n, &event);
        }
    }
    EtwSourceClose(ahead);
    return n;
}

static void freeNode(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

void EtwSplitNeedsFree(EtwSplitNeeds *n)
{
    if (n != NULL) {
        EtwTableFree(&n->references, freeNode);
        EtwTableFree(&n->providers, freeNode);
        EtwFree(n);
    }
}
