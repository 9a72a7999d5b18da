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
#include "flow/source/source.h"

typedef enum EtwSplitKind {
    ETW_SPLIT_PROCESS,
    ETW_SPLIT_PROVIDER,
    ETW_SPLIT_SIZE, /* amount: bytes */
    ETW_SPLIT_TIME  /* amount: ns */
} EtwSplitKind;
/* A piece. Each parallel piece has buffers in memory. */
enum { ETW_SPLIT_MAX_PARALLEL = 1000, ETW_SPLIT_MAX = 10000 };

typedef struct EtwPiece {
    struct EtwPiece *next;
    int number; /* from 1 */
    uint32_t pid;
    EtwGuid provider;
    EtlBuilder *output; /* NULL: complete */
    EtwText bytes;      /* to be written and cleared by the sink */
    uint64_t events;    /* without the rundown */
    void *file;         /* used by the sink */
} EtwPiece;

/* Each returns false on failure, after reporting the reason. */
typedef struct EtwSplitSink {
    bool (*begin)(void *ctx, EtwPiece *piece);
    bool (*write)(void *ctx, EtwPiece *piece); /* append piece->bytes to the file */
    bool (*end)(
            void *ctx, EtwPiece *piece, const EtwText *header); /* header: the start of the file */
    void *ctx;
} EtwSplitSink;

typedef struct EtwSplit EtwSplit;

/*
 * like: an output with the format of each piece; totals: for their headers; source: of the events,
 * read ahead for parallel pieces. The store, like and the source are borrowed.
 */
EtwSplit *EtwSplitNew(EtwSplitKind kind, int64_t amount, const EtwSplitSink *sink,
        EtwSchemaStore *store, const EtlBuilder *like, const EtlBuilderTotals *totals,
        const EtwSource *source);
void EtwSplitFree(EtwSplit *split); /* accepts NULL */
/*
 * edit: as in EtlBuilderAdd, the same for all. ETW_E_LIMIT: the record is too large; ETW_E_IO: the
 * sink has failed, and all further calls fail.
 */
EtwStatus EtwSplitAdd(EtwSplit *split, const EtwEvent *event, const EtlEdit *edit);
EtwStatus EtwSplitEnd(EtwSplit *split);
const EtwPiece *EtwSplitFirst(const EtwSplit *split);
/*
 * Sums of all pieces: bytes written, records whose time was converted, records that could not be
 * edited.
 */
void EtwSplitCounts(const EtwSplit *split, uint64_t *bytes, uint64_t *converted, uint64_t *unset);
/* Rundown events that exceeded the limit: appends a sentence, or returns false. */
bool EtwSplitRundownDropped(const EtwSplit *split, EtwText *out);

#endif
