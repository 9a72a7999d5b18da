/*
 * flow/relog/split.c --
 *
 *	Selects the output of each event and adds the state rundown (flow/relog/split.h). Of
 *	sequential outputs, one is in memory. Parallel outputs have small buffers, which are written
 *	when they are full.
 */
#include "flow/relog/split.h"
#include "flow/relog/split_needs.h"
#include "base/hash_table.h"

enum {
    PARALLEL_BUFFER = 4 * 1024,
    SIZE_BUFFERS = 8, /* minimum number of buffers for a piece of a given size */
    PIECE_BYTES = 256 * 1024,
    PENDING_BYTES = 64 << 20
};

typedef struct Place { /* a piece, by process or provider */
    EtwTableNode node;
    EtwPiece *piece;
} Place;

struct EtwSplit {
    EtwSplitKind kind;
    int64_t amount;
    EtwSplitSink sink;
    EtwSchemaStore *store;
    const EtlBuilder *like;
    EtlBuilderTotals totals;
    const EtlEdit *edit; /* for events of the rundown */
    EtwRundown *rundown;
    EtwSplitNeeds *needs; /* NULL: not known; everything is needed */
    EtwPiece *first, *last, *current;
    int count;
    EtwTable places;
    int64_t until; /* split by time: end of the current piece */
    size_t pending;
    uint64_t bytes, converted, unset; /* sums of completed pieces */
    bool failed;
};

/* ---- Bytes ----------------------------------------------------------------------------------- */

static void flush(EtwSplit *s, EtwPiece *piece)
{
    s->pending -= piece->bytes.size;
    s->failed = s->failed || !s->sink.write(s->sink.ctx, piece);
    EtwTextFree(&piece->bytes);
    piece->bytes = (EtwText){0};
}

static void flushAll(EtwSplit *s)
{
    for (EtwPiece *piece = s->first; piece != NULL; piece = piece->next) {
        if (piece->bytes.size != 0) {
            flush(s, piece);
        }
    }
}

static EtwStatus put(EtwSplit *s, EtwPiece *piece, const EtwEvent *event, const EtlEdit *edit)
{
    size_t before = piece->bytes.size;
    EtwStatus status = EtlBuilderAdd(piece->output, event, edit, &piece->bytes);
    s->pending += piece->bytes.size - before;
    if (piece->bytes.size >= PIECE_BYTES) {
        flush(s, piece);
    } else if (s->pending >= PENDING_BYTES) {
        flushAll(s);
    }
    return status;
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

static bool isParallel(const EtwSplit *s)
{
    return s->kind == ETW_SPLIT_PROCESS || s->kind == ETW_SPLIT_PROVIDER;
}

/* True if the piece's events need the rundown event. */
static bool needs(const EtwSplit *s, const EtwPiece *piece, const EtwRundownEvent *entry)
{
    if (s->kind == ETW_SPLIT_PROVIDER && entry->isSchema) {
        return EtwGuidIsNull(&entry->provider) || EtwGuidEqual(&entry->provider, &piece->provider);
    }
    return s->needs == NULL || EtwSplitNeedsEvent(s->needs, piece->pid, &piece->provider, entry);
}

static void putRundown(EtwSplit *s, EtwPiece *piece, const EtwRundownEvent *entry)
{
    if (needs(s, piece, entry)) {
        put(s, piece, &entry->event, entry->isSchema ? NULL : s->edit);
    }
}

static uint32_t bufferOf(const EtwSplit *s)
{
    int64_t most = s->kind == ETW_SPLIT_SIZE ? s->amount / SIZE_BUFFERS
                   : isParallel(s)           ? PARALLEL_BUFFER
                                             : INT32_MAX;
    return most < INT32_MAX ? (uint32_t)most : INT32_MAX;
}

static EtwPiece *begin(EtwSplit *s, const EtwEvent *event)
{
    EtwPiece *piece = EtwAlloc(sizeof *piece);
    piece->number = ++s->count;
    piece->pid = event->pid;
    piece->provider = event->provider;
    piece->output = EtlBuilderNewLike(s->like, bufferOf(s), &piece->bytes);
    EtwSchemaOf(s->store, event); /* harvests the provider's name from the event */
    s->pending += piece->bytes.size;
    if (s->last != NULL) {
        s->last->next = piece;
    } else {
        s->first = piece;
    }
    s->last = s->current = piece;
    s->failed = s->failed || !s->sink.begin(s->sink.ctx, piece);
    for (const EtwRundownEvent *c = EtwRundownFirst(s->rundown); c != NULL && !s->failed;
            c = c->next) {
        putRundown(s, piece, c);
    }
    return piece;
}

static void end(EtwSplit *s, EtwPiece *piece)
{
    EtwText header = {0};
    size_t before = piece->bytes.size;
    EtlBuilderEnd(piece->output, &s->totals, &piece->bytes, &header);
    s->pending += piece->bytes.size - before;
    flush(s, piece);
    s->failed = s->failed || !s->sink.end(s->sink.ctx, piece, &header);
    s->bytes += EtlBuilderBytes(piece->output);
    s->converted += EtlBuilderConverted(piece->output);
    s->unset += EtlBuilderUnset(piece->output);
    EtlBuilderFree(piece->output);
    piece->output = NULL;
    EtwTextFree(&header);
}

/* ---- Sequential pieces ----------------------------------------------------------------------- */

static bool isFull(const EtwSplit *s, const EtwEvent *event)
{
    return s->kind == ETW_SPLIT_TIME
                   ? event->time >= s->until
                   : s->current->events != 0 &&
                             EtlBuilderSizeAfterNext(s->current->output) > (uint64_t)s->amount;
}

/* Pieces begin at multiples of the duration after the first one. */
static void moveUntil(EtwSplit *s, int64_t time)
{
    uint64_t amount = (uint64_t)s->amount;
    if (s->current == NULL) {
        s->until = EtwTimeAdd(time, s->amount);
    } else if (time >= s->until) {
        uint64_t whole = ((uint64_t)time - (uint64_t)s->until) / amount * amount;
        s->until = EtwTimeAdd(EtwTimeAdd(s->until, (int64_t)whole), s->amount);
    }
}

static EtwPiece *sequentialPiece(EtwSplit *s, const EtwEvent *event)
{
    if (s->current != NULL && !isFull(s, event)) {
        return s->current;
    }
    if (s->kind == ETW_SPLIT_TIME) {
        moveUntil(s, event->time);
    }
    if (s->current != NULL) {
        end(s, s->current);
    }
    return begin(s, event);
}

/* ---- Parallel pieces ------------------------------------------------------------------------- */

static bool belongs(const EtwSplit *s, const EtwPiece *piece, const EtwEvent *event)
{
    return s->kind == ETW_SPLIT_PROCESS ? piece->pid == event->pid
                                        : EtwGuidEqual(&piece->provider, &event->provider);
}

static EtwPiece *parallelPiece(EtwSplit *s, const EtwEvent *event)
{
    uint64_t hash = s->kind == ETW_SPLIT_PROCESS ? EtwHashNumber(event->pid)
                                                 : EtwHashGuid(&event->provider);
    if (s->current != NULL && belongs(s, s->current, event)) {
        return s->current;
    }
    for (EtwTableNode *n = EtwTableFirst(&s->places, hash); n != NULL; n = n->next) {
        if (belongs(s, ((Place *)n)->piece, event)) {
            return s->current = ((Place *)n)->piece;
        }
    }
    Place *place = EtwAlloc(sizeof *place);
    place->piece = begin(s, event);
    EtwTableAdd(&s->places, &place->node, hash);
    return place->piece;
}

static void putParallel(EtwSplit *s, const EtwPiece *own, const EtwRundownEvent *entry)
{
    for (EtwPiece *piece = s->first; piece != NULL && !s->failed; piece = piece->next) {
        if (piece != own) {
            putRundown(s, piece, entry);
        }
    }
}

/* ---- All pieces ------------------------------------------------------------------------------ */

EtwStatus EtwSplitAdd(EtwSplit *s, const EtwEvent *event, const EtlEdit *edit)
{
    EtwPiece *own = NULL;
    EtwStatus status = ETW_OK;
    bool beside = isParallel(s);
    s->edit = edit != NULL ? edit : s->edit;
    if (s->failed) {
        return ETW_E_IO;
    }
    if (!beside || !EtwEventIsSchema(event)) { /* a schema event does not start a piece */
        own = beside ? parallelPiece(s, event) : sequentialPiece(s, event);
        status = s->failed ? ETW_E_IO : put(s, own, event, edit);
        own->events += status == ETW_OK;
    }
    const EtwRundownEvent *entry = s->failed ? NULL : EtwRundownAdd(s->rundown, event);
    if (beside && entry != NULL) {
        putParallel(s, own, entry);
    }
    return s->failed ? ETW_E_IO : status;
}

EtwStatus EtwSplitEnd(EtwSplit *s)
{
    for (EtwPiece *piece = s->first; piece != NULL && !s->failed; piece = piece->next) {
        if (piece->output != NULL) {
            end(s, piece);
        }
    }
    return s->failed ? ETW_E_IO : ETW_OK;
}

EtwSplit *EtwSplitNew(EtwSplitKind kind, int64_t amount, const EtwSplitSink *sink,
        EtwSchemaStore *store, const EtlBuilder *like, const EtlBuilderTotals *totals,
        const EtwSource *source)
{
    EtwSplit *s = EtwAlloc(sizeof *s);
    s->kind = kind;
    s->amount = amount;
    s->sink = *sink;
    s->store = store;
    s->like = like;
    s->totals = *totals;
    s->rundown = EtwRundownNew(store);
    s->needs = isParallel(s) ? EtwSplitNeedsRead(source, kind == ETW_SPLIT_PROCESS, store) : NULL;
    return s;
}

const EtwPiece *EtwSplitFirst(const EtwSplit *s)
{
    return s->first;
}

void EtwSplitCounts(const EtwSplit *s, uint64_t *bytes, uint64_t *converted, uint64_t *unset)
{
    *bytes = s->bytes;
    *converted = s->converted;
    *unset = s->unset;
}

bool EtwSplitRundownDropped(const EtwSplit *s, EtwText *out)
{
    uint64_t count = EtwRundownDropped(s->rundown);
    if (count != 0) {
        EtwTextPrintf(out, "%llu events that name things are not repeated in later files",
                (unsigned long long)count);
    }
    return count != 0;
}

static void freeNode(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

void EtwSplitFree(EtwSplit *s)
{
    if (s == NULL) {
        return;
    }
    for (EtwPiece *piece = s->first, *next; piece != NULL; piece = next) {
        next = piece->next;
        EtlBuilderFree(piece->output);
        EtwTextFree(&piece->bytes);
        EtwFree(piece);
    }
    EtwTableFree(&s->places, freeNode);
    EtwRundownFree(s->rundown);
    EtwSplitNeedsFree(s->needs);
    EtwFree(s);
}
