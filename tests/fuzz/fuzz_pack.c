/*
 * tests/fuzz/fuzz_pack.c --
 *
 *	Packed traces: frames, what is in them, and any file of zstd. What is looked for besides the sanitizers'
 *	reports: buffers that overlap, and more events than the size of a file justifies. With -DFUZZ_SEEDS a program
 *	that writes seeds.
 *
 *	Seeds: *.zst
 */
#include "etl/compress/pack.h"
#include "etl/read/reader.h"
#include <stdio.h>
#include <stdlib.h>

static bool count(void *ctx, const uint8_t *data, size_t size)
{
    size_t *sum = ctx;
    (void)data;
    *sum += size;
    return *sum < (4 << 20);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    EtlReader *reader;
    EtwEvent event;
    EtwError error;
    size_t sum = 0;
    EtlUnpackStream(data, size, count, &sum);
    if (!EtlPackIs(data, size)) {
        return 0;
    }
    EtlPacked b;
    EtlPackHeaderSize(data, size, &b.next);
    for (uint64_t at = b.next; EtlPackNext(data, size, at, &b); at = b.next) {
        if (b.head < at || b.next > size || b.head + b.packed > b.next) {
            abort();
        }
    }
    if (EtlReaderOpenMemory(&reader, data, size, 0, NULL, NULL, &error) == ETW_OK) {
        while (EtlReaderNext(reader, &event) == ETW_OK && EtlReaderInfo(reader)->records < 100000) {
        }
        EtlReaderClose(reader);
    }
    return 0;
}

#ifdef FUZZ_SEEDS
#include "etl/format.h"
#include "etl/read/file_header.h"
#include "etl/write/file_builder.h"
#include "etl/write/synthetic_header.h"

/* A packed trace of a few events in two streams. */
int main(int argc, char **argv)
{
    EtlSyntheticHeader own = {0};
    EtwText plain = {0}, packed = {0}, header = {0}, first = {0};
    EtwError error;
    char path[4096];
    if (argc != 2 || EtlSyntheticHeaderInit(&own, "fuzz", &error) != ETW_OK) {
        return 1;
    }
    EtlBuilder *builder = EtlBuilderNew(&own.info, 4096, false, &plain);
    for (int i = 0; i < 100; i++) {
        EtwEvent event = {.time = own.info.startTime + i * 1000,
                .cpu = (uint16_t)(i % 2),
                .pid = 1,
                .tid = 2,
                .desc.id = 3};
        EtlBuilderAdd(builder, &event, NULL, &plain);
    }
    EtlBuilderEnd(builder, &(EtlBuilderTotals){0}, &plain, &header);
    EtlPacker *packer = EtlPackerNew();
    EtlPackerAdd(packer, plain.data, plain.size, &packed);
    EtlPackerEnd(packer, &packed);
    EtlPackHeader(header.data, header.size, &first);
    memcpy(packed.data, first.data, first.size);
    snprintf(path, sizeof path, "%s/packed.zst", argv[1]);
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(packed.data, packed.size, 1, f) != 1 || fclose(f) != 0) {
        return 1;
    }
    return 0;
}
#endif
