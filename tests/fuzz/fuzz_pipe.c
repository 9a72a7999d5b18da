/*
 * tests/fuzz/fuzz_pipe.c --
 *
 *	Bytes that come through a pipe in pieces of all sizes, as slices or as a plain file. What is
 *	looked for are the sanitizers' reports, and memory or time out of proportion.
 *
 *	Seeds: *.etl
 */
#include "flow/source/source_pipe.h"

typedef struct Bytes {
    const uint8_t *data;
    size_t size, at;
} Bytes;

static int64_t readBytes(void *ctx, void *to, size_t size, EtwError *errPtr)
{
    Bytes *b = ctx;
    size_t left = b->size - b->at, piece = left != 0 ? 1 + b->data[b->at] * 7u : 0;
    size = size < left ? size : left;
    size = size < piece ? size : piece;
    memcpy(to, b->data + b->at, size);
    b->at += size;
    (void)errPtr;
    return (int64_t)size;
}

static void closeBytes(void *ctx)
{
    (void)ctx;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Bytes bytes = {data, size, 0};
    EtwPipe pipe = {readBytes, closeBytes, &bytes};
    EtwSource *source;
    EtwEvent event;
    EtwError error;
    if (EtwSourcePipe(&source, &pipe, "fuzz", &error) != ETW_OK) {
        return 0;
    }
    while (EtwSourceNext(source, &event) == ETW_OK) {
    }
    EtwSourceLost(source);
    EtwSourceClose(source);
    return 0;
}
