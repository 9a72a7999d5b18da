/*
 * flow/source/source_pipe.c --
 *
 *	The slices of a pipe, one after the other, as one source (flow/source/source_pipe.h). The
 *	first slice stays in memory as long as the source, because its header describes the trace.
 *	The following slices share one buffer.
 */
#include "flow/source/source_pipe.h"
#include "etl/format.h"
#include "etl/read/trace_losses.h"
#include "flow/source/source_int.h"
#include "flow/source/source_perf.h"

enum { PIECE = 256 * 1024, BUFFER_MAX = 64 << 20, PLAIN_MAX = 1 << 30, MAX_WARNINGS = 20 };

typedef struct PipeSource {
    EtwSource base;
    EtwPipe pipe;
    uint8_t ahead[ETW_PERF_MAGIC]; /* the first bytes, which tell what comes */
    size_t aheadAt, aheadSize;
    char *name;
    EtwText first, later;      /* contents of the slices */
    EtlReader *reader, *model; /* of the current slice; of the first one */
    EtlInfo info;              /* of the first slice, updated from later ones */
    bool ended, failed;        /* the end of the pipe was reached; reading failed */
    EtwError error;            /* the reason */
    char *warnings[MAX_WARNINGS];
    int warningCount;
} PipeSource;

static void keepWarning(void *ctx, uint64_t where, const char *message)
{
    PipeSource *p = ctx;
    EtwText text = {0};
    if (p->warningCount < MAX_WARNINGS) {
        EtwTextPrintf(&text, "%s: at byte %llu of a slice: %s", p->name, (unsigned long long)where,
                message);
        EtwTextChar(&text, 0);
        p->warnings[p->warningCount++] = text.data;
    }
}

static void keepLoss(void *ctx, const char *sentence)
{
    PipeSource *p = ctx;
    EtwText text = {0};
    if (p->warningCount < MAX_WARNINGS) {
        EtwTextPrintf(&text, "%s: %s", p->name, sentence);
        EtwTextChar(&text, 0);
        p->warnings[p->warningCount++] = text.data;
    }
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

/* As EtwPipe.read, with the bytes that were read already. */
static int64_t readPipe(void *ctx, void *to, size_t size, EtwError *errPtr)
{
    PipeSource *p = ctx;
    size_t left = p->aheadSize - p->aheadAt;
    if (left == 0 || size == 0) {
        return p->pipe.read(p->pipe.ctx, to, size, errPtr);
    }
    size = size < left ? size : left;
    memcpy(to, p->ahead + p->aheadAt, size);
    p->aheadAt += size;
    return (int64_t)size;
}

static EtwStatus lookAhead(PipeSource *p)
{
    while (p->aheadSize < sizeof p->ahead) {
        int64_t got = p->pipe.read(
                p->pipe.ctx, p->ahead + p->aheadSize, sizeof p->ahead - p->aheadSize, &p->error);
        if (got < 0) {
            return p->error.status;
        }
        if (got == 0) {
            break;
        }
        p->aheadSize += (size_t)got;
    }
    return ETW_OK;
}

/* Read `size` more bytes; fewer only at the end. */
static EtwStatus take(PipeSource *p, EtwText *to, size_t size)
{
    while (size > 0 && !p->ended) {
        size_t piece = size < PIECE ? size : PIECE;
        EtwTextReserve(to, piece);
        int64_t got = readPipe(p, to->data + to->size, piece, &p->error);
        if (got < 0) {
            p->failed = p->ended = true;
            return p->error.status;
        }
        p->ended = got == 0;
        to->size += (size_t)got;
        size -= (size_t)got;
    }
    return ETW_OK;
}

/* Not in slices: the whole input is one file. */
static EtwStatus takeRest(PipeSource *p, EtwText *to)
{
    EtwStatus status = ETW_OK;
    while (status == ETW_OK && !p->ended) {
        status = to->size <= PLAIN_MAX
                         ? take(p, to, PIECE)
                         : EtwFail(&p->error, ETW_E_LIMIT, "PIPE", p->name,
                                   "more than %d MB of a trace came through \"%s\" in the form of "
                                   "a file, which must be read as a whole: give the name of the "
                                   "file, or write the pipe with \"etw relog\"",
                                   PLAIN_MAX >> 20, p->name);
    }
    p->failed |= status != ETW_OK;
    return status;
}

/* Read one buffer. *lastPtr: it was the end mark of a slice, which is not stored. */
static EtwStatus takeBuffer(PipeSource *p, EtwText *to, bool *lastPtr)
{
    size_t at = to->size;
    EtwStatus status = take(p, to, ETL_BUFFER_HEADER);
    if (status != ETW_OK || to->size - at < ETL_BUFFER_HEADER) {
        return status;
    }
    const char *head = to->data + at;
    uint32_t size = EtwLoad32(head + ETL_BUF_SIZE);
    if (EtwLoad16(head + ETL_BUF_TYPE) == ETL_BUFFER_EMPTY_MARKER && size == ETL_BUFFER_HEADER) {
        to->size = at;
        *lastPtr = true;
        return ETW_OK;
    }
    if (size < ETL_BUFFER_HEADER || size > BUFFER_MAX) {
        return takeRest(p, to);
    }
    return to->size <= PLAIN_MAX ? take(p, to, size - ETL_BUFFER_HEADER) : takeRest(p, to);
}

/* ETW_END: there are no more slices. */
static EtwStatus takeSlice(PipeSource *p, EtwText *to)
{
    bool last = false;
    EtwStatus status = ETW_OK;
    to->size = 0;
    while (status == ETW_OK && !last && !p->ended) {
        status = takeBuffer(p, to, &last);
    }
    return status != ETW_OK ? status : to->size == 0 ? ETW_END : ETW_OK;
}

/* ---- Slices ---------------------------------------------------------------------------------- */

static EtwStatus openSlice(PipeSource *p, const EtwText *bytes, EtwError *errPtr)
{
    EtwStatus status =
            EtlReaderOpenMemory(&p->reader, bytes->data, bytes->size, 0, keepWarning, p, errPtr);
    if (status != ETW_OK) {
        p->reader = NULL;
    }
    return status;
}

/* Store the trace's information, or add that of a later slice. */
static void settle(PipeSource *p)
{
    const EtlInfo *info = EtlReaderInfo(p->reader);
    if (p->reader == p->model) {
        p->info = *info;
        return;
    }
    EtlLossesAdd(&p->info, info);
    p->info.records += info->records;
    p->info.fileSize += info->fileSize;
    p->info.endTime = info->endTime > p->info.endTime ? info->endTime : p->info.endTime;
    EtlReaderClose(p->reader);
}

static EtwStatus nextSlice(PipeSource *p)
{
    settle(p);
    p->reader = NULL;
    EtwStatus status = takeSlice(p, &p->later);
    if (status == ETW_OK) {
        status = openSlice(p, &p->later, &p->error);
        p->failed |= status != ETW_OK;
    }
    if (p->failed) { /* the data before the failure is valid */
        keepWarning(p, 0, p->error.message);
        status = ETW_END;
    }
    if (status == ETW_END) {
        EtlLossesVisit(&p->info, keepLoss, p);
    }
    return status;
}

static EtwStatus pipeNext(EtwSource *source, EtwEvent *event)
{
    PipeSource *p = (PipeSource *)source;
    while (p->reader != NULL) {
        EtwStatus status = EtlReaderNext(p->reader, event);
        if (status == ETW_OK && p->reader != p->model &&
                EtlInHeader(EtlReaderInfo(p->reader), event)) {
            continue; /* only the first slice's header events are delivered */
        }
        if (status == ETW_OK || status == ETW_PAUSE) {
            return status;
        }
        if (nextSlice(p) != ETW_OK) {
            break;
        }
    }
    return ETW_END;
}

static void pipeClose(EtwSource *source)
{
    PipeSource *p = (PipeSource *)source;
    if (p->reader != NULL && p->reader != p->model) {
        EtlReaderClose(p->reader);
    }
    if (p->model != NULL) {
        EtlReaderClose(p->model);
    }
    p->pipe.close(p->pipe.ctx);
    for (int i = 0; i < p->warningCount; i++) {
        EtwFree(p->warnings[i]);
    }
    EtwTextFree(&p->first);
    EtwTextFree(&p->later);
    EtwFree(p->name);
    EtwFree(p);
}

/* ---- Information ----------------------------------------------------------------------------- */

static int pipeFileCount(const EtwSource *source)
{
    (void)source;
    return 1;
}

static const EtlInfo *pipeFileInfo(const EtwSource *source, int index, const char **pathPtr)
{
    const PipeSource *p = (const PipeSource *)source;
    (void)index;
    *pathPtr = p->name;
    return &p->info;
}

static uint64_t pipeLost(const EtwSource *source)
{
    const PipeSource *p = (const PipeSource *)source;
    return (uint64_t)p->info.eventsLost + p->info.buffersLost;
}

static int pipeWarningCount(const EtwSource *source)
{
    return ((const PipeSource *)source)->warningCount;
}

static const char *pipeWarning(const EtwSource *source, int index)
{
    return ((const PipeSource *)source)->warnings[index];
}

/* What perf records: another source that owns this one, which has the first bytes. */
static void closePipe(void *ctx)
{
    pipeClose(&((PipeSource *)ctx)->base);
}

static const EtwSourceOps pipeOps = {.next = pipeNext,
        .close = pipeClose,
        .fileCount = pipeFileCount,
        .fileInfo = pipeFileInfo,
        .lost = pipeLost,
        .warningCount = pipeWarningCount,
        .warning = pipeWarning};

EtwStatus EtwSourcePipe(
        EtwSource **sourcePtr, const EtwPipe *pipe, const char *name, EtwError *errPtr)
{
    PipeSource *p = EtwAlloc(sizeof *p);
    p->base.ops = &pipeOps;
    p->pipe = *pipe;
    p->name = EtwStrdup(name);
    EtwStatus status = lookAhead(p);
    if (status == ETW_OK && EtwPerfIs(p->ahead, p->aheadSize)) {
        return EtwSourcePerfPipe(sourcePtr, name, readPipe, closePipe, p, errPtr);
    }
    status = status == ETW_OK ? takeSlice(p, &p->first) : status;
    if (status == ETW_END) {
        status = EtwFail(errPtr, ETW_E_FORMAT, "EMPTY", name,
                "no data came through \"%s\": expected a trace", name);
    } else if (status != ETW_OK && errPtr != NULL) {
        *errPtr = p->error;
    }
    if (status == ETW_OK) {
        status = openSlice(p, &p->first, errPtr);
    }
    if (status != ETW_OK) {
        pipeClose(&p->base);
        return status;
    }
    p->model = p->reader;
    p->info = *EtlReaderInfo(p->model);
    *sourcePtr = &p->base;
    return ETW_OK;
}
