/*
 * tests/fuzz/fuzz_perf.c --
 *
 *	Bytes as a perf.data file, and as what comes through a pipe. What is looked for are the sanitizers'
 *	reports, and memory or time out of proportion; each event's record must be one that the rest reads.
 *
 *	Seeds: *.perf
 */
#include "etl/record.h"
#include "flow/source/perf/perf_reader.h"
#include <stdlib.h>

typedef struct Bytes {
    const uint8_t *data;
    size_t size, at;
} Bytes;

static int64_t readBytes(void *ctx, void *to, size_t size, EtwError *errPtr)
{
    Bytes *b = ctx;
    size_t left = b->size - b->at, piece = left != 0 ? 1 + b->data[b->at] * 7u : 0;
    (void)errPtr;
    size = size < left ? size : left;
    size = size < piece ? size : piece;
    if (size != 0) {
        memcpy(to, b->data + b->at, size);
    }
    b->at += size;
    return (int64_t)size;
}

static void ignore(void *ctx, const char *sentence, bool notice)
{
    (void)ctx, (void)sentence, (void)notice;
}

static void readAll(EtwPerfReader *reader)
{
    EtwEvent event, again;
    size_t size;
    while (EtwPerfNext(reader, &event) == ETW_OK) {
        if (!EtlRecordParse(event.record, event.recordSize, &again, &size) ||
                again.payloadSize != event.payloadSize) {
            abort();
        }
    }
    EtwPerfClose(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Bytes bytes = {data, size, 0};
    EtwPerfReader *reader;
    EtwError error;
    if (!EtwPerfIs(data, size)) {
        return 0;
    }
    if (EtwPerfOpen(&reader, data, size, "fuzz", ignore, NULL, &error) == ETW_OK) {
        readAll(reader);
    }
    if (EtwPerfOpenPipe(&reader, readBytes, &bytes, "fuzz", ignore, NULL, &error) == ETW_OK) {
        readAll(reader);
    }
    return 0;
}
