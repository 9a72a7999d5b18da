/*
 * flow/source/perf/perf_reader.c --
 *
 *	Takes records from a file or a pipe, also compressed ones, and delivers their events in order.
 */
#include "flow/source/perf/perf_int.h"
#include <stdarg.h>
#include <stdio.h>
#include "etl/record.h"

enum { TRACING_MAX = 256 << 20, WHOLE_MAX = 1 << 30 };
/* A compressed record is unpacked as far as this allows. */
enum { UNPACK_RATIO = 100, UNPACK_FREE = 64 << 20 };

bool EtwPerfIs(const uint8_t *data, size_t size)
{
    uint64_t magic = size >= ETW_PERF_MAGIC ? EtwLoad64(data) : 0;
    return magic == PERF_MAGIC || magic == __builtin_bswap64(PERF_MAGIC);
}

static void warnf(EtwPerfReader *r, bool notice, const char *format, ...) ETW_PRINTF(3, 4);
static void warnf(EtwPerfReader *r, bool notice, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    r->warn(r->warnCtx, text, notice);
}

/* ---- Records --------------------------------------------------------------------------------- */

static int popcount(uint64_t bits)
{
    return __builtin_popcountll(bits);
}

/* Offsets of time and id, from the record's begin. 0: it has none. */
static size_t sampleTimeAt(uint64_t type)
{
    uint64_t before = type & (SAMPLE_IDENTIFIER | SAMPLE_IP | SAMPLE_TID);
    return type & SAMPLE_TIME ? PERF_RECORD_HEADER + 8 * (size_t)popcount(before) : 0;
}

static size_t sampleIdAt(uint64_t type)
{
    uint64_t before = type & (SAMPLE_IP | SAMPLE_TID | SAMPLE_TIME | SAMPLE_ADDR);
    return type & SAMPLE_IDENTIFIER ? PERF_RECORD_HEADER
           : type & SAMPLE_ID       ? PERF_RECORD_HEADER + 8 * (size_t)popcount(before)
                                    : 0;
}

/* The same for other records, from the record's end. */
static size_t tailTimeAt(uint64_t type)
{
    uint64_t behind =
            type & (SAMPLE_TIME | SAMPLE_ID | SAMPLE_STREAM_ID | SAMPLE_CPU | SAMPLE_IDENTIFIER);
    return type & SAMPLE_TIME ? 8 * (size_t)popcount(behind) : 0;
}

static size_t tailIdAt(uint64_t type)
{
    uint64_t behind = type & (SAMPLE_ID | SAMPLE_STREAM_ID | SAMPLE_CPU);
    return type & SAMPLE_IDENTIFIER ? 8 : type & SAMPLE_ID ? 8 * (size_t)popcount(behind) : 0;
}

/* With several attributes, the place of the id is the same for all of them. NULL: none. */
static PerfAttr *attrOf(EtwPerfReader *r, const uint8_t *record, PerfHeader head)
{
    bool sample = head.type == RECORD_SAMPLE;
    PerfAttr *first = r->attrCount != 0 ? r->attrs[0] : NULL;
    if (r->attrCount <= 1 || (!sample && !first->sampleIdAll)) {
        return first;
    }
    size_t at = sample ? sampleIdAt(first->sampleType) : tailIdAt(first->sampleType);
    if (at == 0 || at + 8 > head.size) {
        return first;
    }
    uint64_t id = EtwLoad64(sample ? record + at : record + head.size - at);
    return id == 0 ? first : PerfAttrOf(r, id);
}

static uint64_t timeOf(const PerfAttr *attr, const uint8_t *record, PerfHeader head)
{
    size_t at = head.type == RECORD_SAMPLE ? sampleTimeAt(attr->sampleType)
                : attr->sampleIdAll        ? tailTimeAt(attr->sampleType)
                                           : 0;
    if (at == 0 || at + (head.type == RECORD_SAMPLE ? 8 : PERF_RECORD_HEADER) > head.size) {
        return 0;
    }
    return EtwLoad64(head.type == RECORD_SAMPLE ? record + at : record + head.size - at);
}

/* Count losses. perf also sums those that LOST reports, at the end, in LOST_SAMPLES. */
static void takeLoss(EtwPerfReader *r, const uint8_t *record, PerfHeader head)
{
    enum { SAMPLES = 8, COUNT = 16 };
    if (head.type == RECORD_LOST && head.size >= COUNT + 8) {
        r->lost += EtwLoad64(record + COUNT);
    } else if (head.type == RECORD_LOST_SAMPLES && head.size >= SAMPLES + 8 &&
               (head.misc & MISC_LOST_SAMPLES_BPF) == 0) {
        r->lostSamples += EtwLoad64(record + SAMPLES);
    }
    uint64_t lost = r->lost > r->lostSamples ? r->lost : r->lostSamples;
    r->info->eventsLost = lost < UINT32_MAX ? (uint32_t)lost : UINT32_MAX;
}

/* A record of the kernel: it waits for its turn. */
static void queueRecord(EtwPerfReader *r, const uint8_t *record, PerfHeader head, bool copy)
{
    if (head.type == RECORD_LOST || head.type == RECORD_LOST_SAMPLES) {
        takeLoss(r, record, head);
        return;
    }
    PerfAttr *attr = attrOf(r, record, head);
    if (attr == NULL) {
        r->unknown += head.type == RECORD_SAMPLE;
        if (head.type == RECORD_SAMPLE || r->attrCount == 0) {
            return;
        }
        attr = r->attrs[0];
    }
    uint64_t time = timeOf(attr, record, head);
    if (time != 0 && time < r->firstTime) {
        r->firstTime = time;
    }
    PerfOrderAdd(&r->order, time, record, attr, copy);
}

/* ---- Compressed records ------------------------------------------------------------------------ */

static void unpackedRecord(EtwPerfReader *r, const uint8_t *record, PerfHeader head)
{
    if (head.type == RECORD_COMPRESSED || head.type == RECORD_COMPRESSED2) {
        r->malformed++; /* perf does not compress twice */
    } else if (head.type < RECORD_USER) {
        queueRecord(r, record, head, true);
    } else if (head.type == RECORD_FINISHED_ROUND) {
        r->malformed++; /* perf writes it outside */
    }
}

static bool takeUnpacked(void *ctx, const uint8_t *data, size_t size)
{
    EtwPerfReader *r = ctx;
    size_t at = 0;
    if (size > UNPACK_FREE + UNPACK_RATIO * r->packedBytes - r->unpackedBytes) {
        return false;
    }
    r->unpackedBytes += size;
    EtwTextAdd(&r->unpacked, data, size);
    const uint8_t *bytes = (const uint8_t *)r->unpacked.data;
    while (r->unpacked.size - at >= PERF_RECORD_HEADER) {
        PerfHeader head = PerfHeaderOf(bytes + at);
        if (head.size < PERF_RECORD_HEADER) {
            return false;
        }
        if (head.size > r->unpacked.size - at) {
            break;
        }
        unpackedRecord(r, bytes + at, head);
        at += head.size;
    }
    if (at != 0) {
        memmove(r->unpacked.data, r->unpacked.data + at, r->unpacked.size - at);
        r->unpacked.size -= at;
    }
    return true;
}

/* The data of all these records is one stream of zstd. */
static void onCompressed(EtwPerfReader *r, const uint8_t *record, PerfHeader head)
{
    size_t at = head.type == RECORD_COMPRESSED2 ? PERF_RECORD_HEADER + 8 : PERF_RECORD_HEADER;
    size_t size = head.size > at ? head.size - at : 0;
    if (head.type == RECORD_COMPRESSED2 && size != 0) {
        uint64_t exact = EtwLoad64(record + PERF_RECORD_HEADER);
        size = exact < size ? (size_t)exact : size;
    }
    if (r->unpackFailed || size == 0) {
        return;
    }
    r->packedBytes += size;
    r->unpacker = r->unpacker != NULL ? r->unpacker : EtlUnpackerNew();
    if (r->unpacker == NULL) {
        r->unpackFailed = true;
        r->info->damages++;
        warnf(r, false,
                "its records are compressed with zstd, which this build of etw cannot read: they "
                "are missing (\"perf inject\" writes the file without compression)");
        return;
    }
    EtlUnpackResult result = EtlUnpackerAdd(r->unpacker, record + at, size, takeUnpacked, r);
    if (result == ETL_UNPACK_STOPPED || result == ETL_UNPACK_DAMAGED) {
        r->unpackFailed = true;
        r->info->damages++;
        warnf(r, false, "compressed records are damaged: those behind them are missing");
    }
}

/* ---- Input --------------------------------------------------------------------------------------- */

/* Data that follows a record. */
static void skipData(EtwPerfReader *r, uint64_t size)
{
    enum { PIECE = 64 << 10 };
    while (size != 0) {
        size_t piece = size < PIECE ? (size_t)size : PIECE;
        if (PerfInputPeek(&r->in, piece) == NULL) {
            PerfInputSkip(&r->in, PerfInputLeft(&r->in));
            return;
        }
        PerfInputSkip(&r->in, piece);
        size -= piece;
    }
}

static void onTracing(EtwPerfReader *r, uint32_t size)
{
    const uint8_t *data = size <= TRACING_MAX ? PerfInputPeek(&r->in, size) : NULL;
    if (data != NULL) {
        PerfMetaTracing(r, data, size);
    }
    skipData(r, (size + 7ull) & ~7ull);
}

/* Read a record. False: no more. *roundPtr: a round has ended. */
static bool readRecord(EtwPerfReader *r, bool *roundPtr)
{
    PerfInput *in = &r->in;
    bool pipe = in->base == NULL;
    const uint8_t *record = PerfInputPeek(in, PERF_RECORD_HEADER);
    PerfHeader head = record != NULL ? PerfHeaderOf(record) : (PerfHeader){0};
    if (record != NULL && head.size >= PERF_RECORD_HEADER) {
        record = PerfInputPeek(in, head.size);
    }
    if (record == NULL || head.size < PERF_RECORD_HEADER) {
        size_t left = PerfInputLeft(in);
        if (left != 0 && (record != NULL || r->info->closed || pipe)) {
            r->info->damages++;
            warnf(r, false,
                    record != NULL ? "a record is damaged: what follows it is not read"
                                   : "the last record is cut");
        }
        return false;
    }
    if (head.type < RECORD_USER) {
        queueRecord(r, record, head, pipe);
    } else if (head.type == RECORD_FINISHED_ROUND) {
        *roundPtr = true;
    } else if (head.type == RECORD_COMPRESSED || head.type == RECORD_COMPRESSED2) {
        onCompressed(r, record, head);
    } else {
        PerfMetaRecord(r, record, head);
    }
    uint64_t extra = head.type == RECORD_AUXTRACE && head.size >= 16 ? EtwLoad64(record + 8) : 0;
    uint32_t tracing =
            head.type == RECORD_TRACING_DATA && head.size >= 12 ? EtwLoad32(record + 8) : 0;
    PerfInputSkip(in, head.size);
    if (tracing != 0) {
        onTracing(r, tracing);
    }
    skipData(r, extra);
    return true;
}

/* Read until records can be delivered, or the end. */
static void fill(EtwPerfReader *r)
{
    bool round = false;
    while (!round && !r->done && !PerfOrderIsFull(&r->order)) {
        r->done = !readRecord(r, &round);
    }
    if (r->done) {
        PerfOrderAll(&r->order);
    } else if (round) {
        PerfOrderRound(&r->order);
    } else {
        PerfOrderHalf(&r->order);
    }
}

/* Behind the first round all descriptions are known. */
static void begin(EtwPerfReader *r)
{
    fill(r);
    for (int i = 0; i < r->attrCount; i++) {
        PerfDecide(r, r->attrs[i]);
    }
    r->lastTime = r->firstTime != UINT64_MAX ? r->firstTime : 0;
    r->info->cpus = r->cpus != 0 ? r->cpus : r->info->cpus;
    r->info->startTime = (int64_t)(r->lastTime + r->wallOffset);
    r->info->ticks0 = r->info->startTime;
    if (r->info->endTime != 0) {
        r->info->endTime = (int64_t)((uint64_t)r->info->endTime + r->wallOffset);
    }
    if (!r->hasWall) {
        warnf(r, true,
                "perf did not record how its clock relates to UTC: times are those of its clock, "
                "from 1970 on (\"perf record -k CLOCK_MONOTONIC\" records it)");
    }
    PerfEmitHost(r);
}

static void finish(EtwPerfReader *r)
{
    static const char *const s[] = {"s", ""};
    if (r->finished) {
        return;
    }
    r->finished = true;
    if (r->in.failed) {
        warnf(r, false, "%s", r->in.error.message);
    }
    if (r->malformed != 0) {
        warnf(r, false, "%llu record%s damaged and not shown", (unsigned long long)r->malformed,
                r->malformed == 1 ? " is" : "s are");
    }
    if (r->notUnwound != 0) {
        const char *why = EtwUnwindLacks(PerfUnwindMachine(r));
        warnf(r, false,
                "the stacks of %llu sample%s lack callers in user mode, because copies of stacks "
                "(--call-graph dwarf) cannot be unwound: %s",
                (unsigned long long)r->notUnwound, s[r->notUnwound == 1],
                why != NULL ? why : "they are of a program with 32 bits");
    }
    if (r->unknown != 0) {
        warnf(r, false, "%llu sample%s of events that the file does not describe",
                (unsigned long long)r->unknown, r->unknown == 1 ? " is" : "s are");
    }
    if (r->undelivered != 0) {
        warnf(r, false, "%llu event%s too large to be shown", (unsigned long long)r->undelivered,
                s[r->undelivered == 1]);
    }
    if (r->info->eventsLost != 0) {
        warnf(r, false,
                "perf lost %lu event%s (\"perf record -m\" with more pages prevents most losses)",
                (unsigned long)r->info->eventsLost, s[r->info->eventsLost == 1]);
    }
}

static void deliver(EtwPerfReader *r, EtwEvent *event)
{
    const PerfOut *out = &r->outs[r->outAt++];
    size_t size;
    EtlRecordParse((const uint8_t *)r->records.data + out->at, out->size, event, &size);
    event->time = out->time;
    event->cpu = out->cpu;
    event->logger = 0;
    r->info->records++;
}

EtwStatus EtwPerfNext(EtwPerfReader *r, EtwEvent *event)
{
    while (r->outAt == r->outCount) {
        r->outAt = r->outCount = r->records.size = 0;
        const PerfPending *next = PerfOrderNext(&r->order);
        if (next == NULL && r->done) {
            finish(r);
            return ETW_END;
        }
        if (next == NULL) {
            fill(r);
            continue;
        }
        PerfConvert(r, next);
        if (next->time != 0) {
            r->lastTime = next->time;
        }
    }
    deliver(r, event);
    return ETW_OK;
}

/* ---- Opening and closing --------------------------------------------------------------------------- */

static EtwStatus newReader(EtwPerfReader **readerPtr, const char *name, EtwPerfWarn *warn,
        void *warnCtx, EtwError *errPtr)
{
    EtwPerfReader *r = EtwAlloc(sizeof *r);
    r->warn = warn;
    r->warnCtx = warnCtx;
    r->firstTime = UINT64_MAX;
    EtwStatus status = EtlSyntheticHeaderInit(&r->header, "perf", errPtr);
    r->info = &r->header.info;
    if (status != ETW_OK) {
        EtwPerfClose(r);
        return status;
    }
    snprintf(r->info->logFile, sizeof r->info->logFile, "%s", name);
    r->info->startTime = r->info->endTime = r->info->bootTime = 0;
    r->info->zoneBias = 0;
    r->info->buffers = r->info->buffersWritten = 0;
    r->info->cpus = r->info->cpuMHz = 0;
    r->info->closed = true;
    *readerPtr = r;
    return ETW_OK;
}

static EtwStatus refuseOrder(const uint8_t *data, const char *name, EtwError *errPtr)
{
    return EtwLoad64(data) == PERF_MAGIC
                   ? ETW_OK
                   : EtwFail(errPtr, ETW_E_UNSUPPORTED, "PERF", name,
                             "\"%s\" was recorded by perf on a machine with another byte order, "
                             "which cannot be read: use \"perf script\" there",
                             name);
}

EtwStatus EtwPerfOpen(EtwPerfReader **readerPtr, const uint8_t *data, uint64_t size,
        const char *name, EtwPerfWarn *warn, void *warnCtx, EtwError *errPtr)
{
    EtwPerfReader *r;
    EtwStatus status = refuseOrder(data, name, errPtr);
    status = status == ETW_OK ? newReader(&r, name, warn, warnCtx, errPtr) : status;
    if (status != ETW_OK) {
        return status;
    }
    r->in.base = data;
    r->in.fileSize = r->info->fileSize = r->info->handedBytes = size;
    if (size >= PERF_PIPE_HEADER && EtwLoad64(data + FILE_SIZE) == PERF_PIPE_HEADER) {
        r->in.at = PERF_PIPE_HEADER; /* what came through a pipe */
        r->in.end = size;
    } else {
        status = PerfMetaFile(r, name, errPtr);
    }
    if (status != ETW_OK) {
        EtwPerfClose(r);
        return status;
    }
    begin(r);
    *readerPtr = r;
    return ETW_OK;
}

/* A file that comes through a pipe: its descriptions are at its end. */
static EtwStatus takeWhole(EtwPerfReader *r, const char *name, EtwError *errPtr)
{
    if (PerfInputPeek(&r->in, WHOLE_MAX) != NULL) {
        return EtwFail(errPtr, ETW_E_LIMIT, "PIPE", name,
                "more than %d MB of a perf.data file came through \"%s\", which must be read as a "
                "whole: give the name of the file",
                WHOLE_MAX >> 20, name);
    }
    r->in.base = (const uint8_t *)r->in.buffer.data;
    r->in.fileSize = r->info->fileSize = r->info->handedBytes = r->in.buffer.size;
    return PerfMetaFile(r, name, errPtr);
}

EtwStatus EtwPerfOpenPipe(EtwPerfReader **readerPtr, EtwPerfRead *read, void *readCtx,
        const char *name, EtwPerfWarn *warn, void *warnCtx, EtwError *errPtr)
{
    EtwPerfReader *r;
    EtwStatus status = newReader(&r, name, warn, warnCtx, errPtr);
    if (status != ETW_OK) {
        return status;
    }
    r->in.read = read;
    r->in.readCtx = readCtx;
    const uint8_t *head = PerfInputPeek(&r->in, PERF_PIPE_HEADER);
    if (head == NULL) {
        status = EtwFail(errPtr, ETW_E_FORMAT, "PERF", name,
                "what came through \"%s\" is cut in the header of perf's format", name);
    } else {
        status = refuseOrder(head, name, errPtr);
    }
    if (status == ETW_OK && EtwLoad64(head + FILE_SIZE) != PERF_PIPE_HEADER) {
        status = takeWhole(r, name, errPtr);
    } else if (status == ETW_OK) {
        PerfInputSkip(&r->in, PERF_PIPE_HEADER);
    }
    if (status != ETW_OK) {
        EtwPerfClose(r);
        return status;
    }
    begin(r);
    *readerPtr = r;
    return ETW_OK;
}

const EtlInfo *EtwPerfInfo(const EtwPerfReader *r)
{
    return r->info;
}

double EtwPerfProgress(const EtwPerfReader *r)
{
    return r->in.base != NULL && r->in.fileSize != 0 ? (double)r->in.at / (double)r->in.fileSize
                                                     : 0;
}

void EtwPerfClose(EtwPerfReader *r)
{
    PerfOrderFree(&r->order);
    EtwUnwinderFree(r->unwinder);
    PerfTasksFree(r);
    PerfMetaFree(r);
    for (int i = 0; i < PERF_DECLARED; i++) {
        PerfClassFree(r->declared[i]);
    }
    EtlUnpackerFree(r->unpacker);
    EtwTextFree(&r->unpacked);
    EtwTextFree(&r->payload);
    EtwTextFree(&r->stack);
    EtwTextFree(&r->records);
    EtwTextFree(&r->in.buffer);
    EtlSyntheticHeaderFree(&r->header);
    EtwFree(r->outs);
    EtwFree(r);
}
