/*
 * flow/relog/split.h --
 *
 *	Splits one trace into several outputs, each readable on its own: by time or size, or one for each
 *	process or provider. Each output begins with a state rundown (flow/relog/rundown.h). A sink writes the
 *	files.
 */
#ifndef ETW_SPLIT_H
#define ETW_SPLIT_H

#include "etl/write/file_builder.h"
#include "flow/relog/rundown.h"

typedef enum EtwSplitKind {
    ETW_SPLIT_PROCESS,
    ETW_SPLIT_PROVIDER,
    ETW_SPLIT_SIZE, /* amount: bytes */
    ETW_SPLIT_TIME  /* amount: ns */
} EtwSplitKind;
/* Pieces: of those side by side, each has buffers in memory. */
enum { ETW_SPLIT_MAX_PARALLEL = 1000, ETW_SPLIT_MAX = 10000 };

typedef struct EtwPiece {
    struct EtwPiece *next;
    int number; /* from 1 */
    uint32_t pid;
    EtwGuid provider;
    EtlBuilder *output; /* NULL: it is complete */
    EtwText bytes;      /* not written yet: the sink empties it */
    uint64_t events;    /* of its own */
    void *file;         /* the sink's */
} EtwPiece;

/* Each returns false when it failed, and reports the reason itself. */
typedef struct EtwSplitSink {
    bool (*begin)(void *ctx, EtwPiece *piece);
    bool (*write)(void *ctx, EtwPiece *piece); /* piece->bytes to the end of the file */
    bool (*end)(void *ctx, EtwPiece *piece, const EtwText *header); /* which is its beginning */
    void *ctx;
} EtwSplitSink;

typedef struct EtwSplit EtwSplit;

/* like: an output of which each piece's is a copy; totals: what their headers tell. */
EtwSplit *EtwSplitNew(EtwSplitKind kind, int64_t amount, const EtwSplitSink *sink,
        EtwSchemaStore *store, const EtlBuilder *like, const EtlBuilderTotals *totals);
void EtwSplitFree(EtwSplit *split); /* accepts NULL */
/* edit: as EtlBuilderAdd has it, the same for all. ETW_E_LIMIT: the record is too large; ETW_E_IO: the
 * sink failed, and so will all that follows. */
EtwStatus EtwSplitAdd(EtwSplit *split, const EtwEvent *event, const EtlEdit *edit);
EtwStatus EtwSplitEnd(EtwSplit *split);
const EtwPiece *EtwSplitFirst(const EtwSplit *split);
/* Of all pieces: bytes given out, records whose time was converted, that could not be edited. */
void EtwSplitCounts(const EtwSplit *split, uint64_t *bytes, uint64_t *converted, uint64_t *unset);
/* What could not be carried into later pieces: a sentence, or false. */
bool EtwSplitRundownDropped(const EtwSplit *split, EtwText *out);

#endif
