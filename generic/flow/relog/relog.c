/*
 * flow/relog/relog.c --
 *
 *	Writes a source as a new file: header, order of events, losses (flow/relog/relog.h).
 */
#include "flow/relog/relog.h"
#include "etl/read/trace_losses.h"
#include "engine/engine.h"

/* Packed buffers: 1 MB would make traces of calls 2 % smaller, and damage cost four times as many events. */
enum { PLAIN_BUFFER = 64 * 1024, PACK_BUFFER = 256 * 1024 };

/* The input that began first: its clock starts before all events. */
static const EtlInfo *baseInfoOf(const EtwSource *source)
{
    const EtlInfo *base = NULL;
    for (int i = 0; i < EtwSourceFileCount(source); i++) {
        const char *path;
        const EtlInfo *info = EtwSourceFileInfo(source, i, &path);
        if (base == NULL || info->startTime < base->startTime) {
            base = info;
        }
    }
    return base;
}

/*
 * The largest buffer size of all inputs. Inputs with compressed buffers count as PLAIN_BUFFER,
 * because uncompressed buffers of their size would be mostly empty.
 */
static uint32_t bufferSizeOf(const EtwSource *source)
{
    uint32_t size = 0;
    for (int i = 0; i < EtwSourceFileCount(source); i++) {
        const char *path;
        const EtlInfo *info = EtwSourceFileInfo(source, i, &path);
        uint32_t own = info->compressedBuffers != 0 ? PLAIN_BUFFER : info->bufferSize;
        size = own > size ? own : size;
    }
    return size;
}

/* Uses the session's name. */
static EtwStatus initSyntheticHeader(EtwRelog *relog, EtwError *errPtr)
{
    EtwSessionInfo *session = EtwAlloc(sizeof *session);
    bool any = EtwSourceSession(relog->source, 0, session) == ETW_OK;
    EtwStatus status = EtlSyntheticHeaderInit(&relog->own, any ? session->name : "relog", errPtr);
    EtwFree(session);
    return status;
}

static bool isUsed(const EtwSource *source, uint16_t logger)
{
    for (int i = 0; i < EtwSourceFileCount(source); i++) {
        const EtlInfo *info = EtwSourceFileInfo(source, i, NULL);
        for (uint32_t k = 0; k < info->loggerCount; k++) {
            if (info->loggers[k].id == logger) {
                return true;
            }
        }
    }
    return false;
}

/* A logger number that no input uses. */
static uint16_t freeLogger(const EtwSource *source)
{
    uint16_t logger = UINT16_MAX - 1;
    while (logger > 0 && isUsed(source, logger)) {
        logger--;
    }
    return logger;
}

EtwStatus EtwRelogOpen(
        EtwRelog *relog, const EtwSource *source, EtwRelogForm form, EtwText *to, EtwError *errPtr)
{
    bool compressed = form == ETW_RELOG_COMPRESSED;
    uint32_t bufferSize = form == ETW_RELOG_TO_PACK ? PACK_BUFFER : bufferSizeOf(source);
    const EtlInfo *base = baseInfoOf(source);
    *relog = (EtwRelog){.source = source, .to = to};
    if (base == NULL) {
        EtwStatus status = initSyntheticHeader(relog, errPtr);
        if (status != ETW_OK) {
            return status;
        }
        base = &relog->own.info;
    }
    relog->mixed = EtwSourceIsLive(source); /* some events are late */
    relog->plain = compressed && EtlIsOld(base);
    relog->output = EtlBuilderNew(base, bufferSize, compressed, to);
    relog->logger = base->loggerCount != 0 ? base->loggers[0].id : 0;
    relog->lateLogger = freeLogger(source);
    return ETW_OK;
}

bool EtwRelogIsHeader(const EtwRelog *relog, const EtwEvent *event)
{
    int count = EtwSourceFileCount(relog->source);
    for (int i = 0; i < count; i++) {
        const char *path;
        if (EtlInHeader(EtwSourceFileInfo(relog->source, i, &path), event)) {
            return true;
        }
    }
    return false;
}

/* Changes that require a new record. False: omit the event. */
static bool rebuild(EtwRelog *relog, EtwEvent *event)
{
    if (relog->redact != NULL) {
        EtwRedacted redacted = EtwRedactEvent(relog->redact, &relog->rebuild, event);
        relog->redacted += redacted == ETW_REDACT_DONE;
        if (redacted == ETW_REDACT_UNKNOWN) {
            relog->unknown++;
            return false;
        }
    }
    if (relog->rename != NULL) {
        EtwRenameEvent(relog->rename, &relog->rebuild, event);
    }
    return true;
}

void EtwRelogDescribe(EtwRelog *relog, EtwSchemaStore *store)
{
    relog->describe = EtwSchemaEventsNew(store);
}

static EtwStatus addRecord(EtwRelog *relog, const EtwEvent *event, const EtlEdit *edit)
{
    EtwStatus status = relog->split != NULL ? EtwSplitAdd(relog->split, event, edit)
                                            : EtlBuilderAdd(relog->output, event, edit, relog->to);
    relog->failed = relog->failed || status == ETW_E_IO;
    return status;
}

static void putSchema(void *ctx, const EtwEvent *event)
{
    EtwRelog *relog = ctx;
    relog->schemas += addRecord(relog, event, NULL) == ETW_OK;
}

/* Write the event in its final form, preceded by the events that describe it. */
static void put(EtwRelog *relog, const EtwEvent *event, const EtlEdit *edit)
{
    if (relog->describe != NULL) {
        EtwSchemaEventsAdd(relog->describe, event, putSchema, relog);
    }
    if (addRecord(relog, event, edit) == ETW_OK) {
        relog->events++;
    } else {
        relog->tooBig++;
    }
}

/* Keep a late event until the end. False: not possible. */
static bool queueLate(EtwRelog *relog, const EtwEvent *event)
{
    EtwEvent whole = *event;
    if (!EtlRebuildWhole(&relog->rebuild, &whole)) {
        return false;
    }
    EtwReorderAdd(&relog->late, &whole);
    return true;
}

void EtwRelogAdd(EtwRelog *relog, const EtwEvent *event)
{
    const EtlEdit *edit = EtwEventIsSchema(event) ? NULL : relog->edit;
    EtwEvent own;
    if ((relog->redact != NULL || relog->rename != NULL) && !EtwEventIsSchema(event)) {
        own = *event;
        if (!rebuild(relog, &own)) {
            return;
        }
        event = &own;
    }
    bool late = relog->mixed && event->logger != relog->lateLogger &&
                !EtlBuilderInOrder(relog->output, event, edit) && queueLate(relog, event);
    if (!late) {
        put(relog, event, edit);
    }
}

bool EtwRelogMove(EtwRelog *relog, EtwEvent *event, int64_t time)
{
    int64_t ticks = EtlBuilderTicks(relog->output, time, &time);
    relog->mixed = true;
    return EtlRebuildTime(&relog->rebuild, event, ticks, time);
}

void EtwRelogReorder(EtwRelog *relog, const EtwEvent *event)
{
    relog->mixed = true;
    EtwReorderAdd(&relog->reorder, event);
}

void EtwRelogAddReordered(EtwRelog *relog, int64_t until)
{
    EtwEvent event;
    while (relog->reorder.count != 0 && EtwReorderNext(&relog->reorder, until, &event)) {
        EtwRelogAdd(relog, &event);
    }
}

/*
 * Late events get streams with their own logger number, because readers expect each stream to be in
 * order.
 */
static void addLate(EtwRelog *relog)
{
    EtwEvent event;
    while (EtwReorderNext(&relog->late, INT64_MAX, &event)) {
        event.logger = relog->lateLogger;
        EtwRelogAdd(relog, &event);
    }
}

uint16_t EtwRelogLogger(const EtwRelog *relog)
{
    return relog->logger;
}

/* Losses and end times of the inputs. */
static EtlBuilderTotals totalsOf(const EtwRelog *relog)
{
    EtlBuilderTotals totals = {.eventsLost = relog->tooBig};
    bool closed = EtwSourceFileCount(relog->source) != 0;
    totals.eventsLost += closed ? 0 : EtwSourceLost(relog->source);
    for (int i = 0; i < EtwSourceFileCount(relog->source); i++) {
        const char *path;
        const EtlInfo *info = EtwSourceFileInfo(relog->source, i, &path);
        totals.eventsLost += info->eventsLost;
        totals.buffersLost += EtlLossesBuffers(info);
        totals.end = info->endTime > totals.end ? info->endTime : totals.end;
        closed = closed && info->closed;
    }
    totals.end = closed ? totals.end : 0;
    return totals;
}

void EtwRelogSplit(EtwRelog *relog, EtwSplitKind kind, int64_t amount, const EtwSplitSink *sink,
        EtwSchemaStore *store)
{
    EtlBuilderTotals totals = totalsOf(relog);
    totals.end = 0; /* each output has its own */
    relog->split = EtwSplitNew(kind, amount, sink, store, relog->output, &totals, relog->source);
    relog->to->size = 0;
}

void EtwRelogEnd(EtwRelog *relog, EtwText *header)
{
    EtwRelogAddReordered(relog, INT64_MAX);
    addLate(relog);
    if (relog->split != NULL) {
        relog->failed = EtwSplitEnd(relog->split) != ETW_OK || relog->failed;
        return;
    }
    EtlBuilderTotals totals = totalsOf(relog);
    EtlBuilderEnd(relog->output, &totals, relog->to, header);
}

void EtwRelogSlice(EtwRelog *relog)
{
    EtlBuilderSlice(relog->output, &(EtlBuilderTotals){0}, relog->to);
}

void EtwRelogRestart(EtwRelog *relog)
{
    EtlBuilderRestart(relog->output, relog->to);
}

void EtwRelogLast(EtwRelog *relog)
{
    EtwRelogAddReordered(relog, INT64_MAX);
    addLate(relog);
    EtlBuilderTotals totals = totalsOf(relog);
    EtlBuilderSlice(relog->output, &totals, relog->to);
}

void EtwRelogClose(EtwRelog *relog)
{
    EtwSplitFree(relog->split);
    EtlBuilderFree(relog->output);
    EtlRebuildFree(&relog->rebuild);
    EtwSchemaEventsFree(relog->describe);
    EtlSyntheticHeaderFree(&relog->own);
    EtwReorderFree(&relog->reorder);
    EtwReorderFree(&relog->late);
    relog->output = NULL;
}

typedef struct Counts {
    uint64_t bytes, converted, unset;
} Counts;

static Counts countsOf(const EtwRelog *relog)
{
    const EtlBuilder *o = relog->output;
    Counts counts = {EtlBuilderBytes(o), EtlBuilderConverted(o), EtlBuilderUnset(o)};
    if (relog->split != NULL) {
        EtwSplitCounts(relog->split, &counts.bytes, &counts.converted, &counts.unset);
    }
    return counts;
}

uint64_t EtwRelogBytes(const EtwRelog *relog)
{
    return countsOf(relog).bytes;
}

bool EtwRelogAligned(const EtwRelog *relog, EtwText *out)
{
    bool files = EtwSourceFileCount(relog->source) != 0;
    uint64_t count = files ? countsOf(relog).converted : 0;
    if (count != 0) {
        EtwTextPrintf(out,
                "the inputs' clocks differ: the times of %llu events were aligned by wall clock",
                (unsigned long long)count);
    }
    return count != 0;
}

bool EtwRelogUnset(const EtwRelog *relog, EtwText *out)
{
    uint64_t count = countsOf(relog).unset;
    if (count != 0) {
        EtwTextPrintf(out, "%llu records have no place for all that was to be set",
                (unsigned long long)count);
    }
    return count != 0;
}

bool EtwRelogUnknown(const EtwRelog *relog, EtwText *out)
{
    if (relog->unknown != 0) {
        EtwTextPrintf(out,
                "%llu events were left out: no description of their fields is known, so that "
                "nothing can be masked in them; load one (etw schema load)",
                (unsigned long long)relog->unknown);
    }
    return relog->unknown != 0;
}

bool EtwRelogUnmatched(const EtwRelog *relog, EtwText *out)
{
    return relog->redact != NULL && EtwRedactUnused(relog->redact, out);
}

bool EtwRelogUndescribed(const EtwRelog *relog, EtwText *out)
{
    return relog->describe != NULL && EtwSchemaEventsUnsupported(relog->describe, out);
}

bool EtwRelogRundownDropped(const EtwRelog *relog, EtwText *out)
{
    return relog->split != NULL && EtwSplitRundownDropped(relog->split, out);
}

bool EtwRelogPlain(const EtwRelog *relog, EtwText *out)
{
    if (relog->plain) {
        EtwTextPrintf(
                out, "stored plain: traces of Windows before Vista have no compressed buffers");
    }
    return relog->plain;
}
