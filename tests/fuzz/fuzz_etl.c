/*
 * tests/fuzz/fuzz_etl.c --
 *
 *	Any bytes as an .etl file: the reader must neither crash nor read outside, deliver
 *	pointers into the file or, for compressed buffers, to memory that may be read, end, and deliver the same events again after a rewind
 *	without repeating its warnings.
 *
 *	With clang -fsanitize=fuzzer it is a fuzzer; -DFUZZ_MAIN makes a program that
 *	replays the files named on its command line, -DFUZZ_SEEDS one that
 *	writes seeds into the directory named there. Linked with the sources of base/ and
 *	etl/.
 *
 *	Seeds: *.etl
 */
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/os.h"
#include "etl/read/reader.h"
#include "etl/record.h"
#include <stdio.h>
#include <stdlib.h>

static const uint8_t *start;
static size_t length;

static void Must(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "fuzz_etl: %s\n", what);
        abort();
    }
}

static bool elsewhere; /* the file has compressed buffers: events point into memory elsewhere */

static void Inside(const void *data, size_t size, const char *what)
{
    static volatile uint8_t sum;
    const uint8_t *p = data;
    for (size_t i = 0; i < size && elsewhere; i++) {
        sum = (uint8_t)(sum + p[i]);
    }
    Must(elsewhere || size == 0 ||
                    (p >= start && p <= start + length && size <= (size_t)(start + length - p)),
            what);
}

/* What is taken from the event on demand. */
static void CheckFurther(const EtwEvent *e)
{
    EtlInstance instance;
    EtlMessage message;
    const uint8_t *pebs;
    uint32_t size;
    for (unsigned type = 0; type < 40; type++) {
        const uint8_t *item = EtwEventItem(e, type, &size);
        Inside(item, size, "item outside of the file");
        Must(item == NULL || (e->items >> type & 1), "item that is not there");
    }
    EtlRecordInstance(e, &instance);
    EtlRecordMessage(e, &message);
    const uint8_t *counters = EtlRecordCounters(e, &size, &pebs);
    Inside(counters, (size_t)size * 8, "counters outside of the file");
    Inside(pebs, pebs != NULL ? 8 : 0, "PEBS index outside of the file");
}

static void CheckEvent(const EtwEvent *e)
{
    Inside(e->payload, e->payloadSize, "payload outside of the file");
    Inside(e->extended, e->extendedSize, "items outside of the file");
    Inside(e->meta, e->metaSize, "metadata outside of the file");
    Inside(e->traits, e->traitsSize, "traits outside of the file");
    Inside(e->related, e->related != NULL ? 16 : 0, "related activity outside of the file");
    Inside(e->stack, (size_t)e->stackCount * EtwEventStackWidth(e), "stack outside of the file");
    Inside(e->record, e->recordSize, "record outside of the file");
    Must(e->pointerSize == 4 || e->pointerSize == 8, "pointer size");
    CheckFurther(e);
}

/* What is read can be written: as an EVENT_HEADER record with the same payload. */
static void Rebuild(const EtwEvent *e)
{
    EtwEvent back;
    size_t parsed, size = EtlRecordSize(e);
    if (size == 0) {
        return;
    }
    uint8_t *out = EtwAlloc(size);
    EtlRecordBuild(e, out, size);
    Must(EtlRecordParse(out, size, &back, &parsed) && parsed == size, "rebuilt record");
    Must(back.payloadSize == e->payloadSize && back.metaSize == e->metaSize, "rebuilt sizes");
    EtwFree(out);
}

typedef struct Warnings {
    int count;
} Warnings;

static void Warn(void *ctx, uint64_t where, const char *message)
{
    Warnings *warnings = ctx;
    Must(where <= length && message[0] != 0, "warning");
    Must(++warnings->count < 1000000, "warnings without end");
}

/* A filter lets no more through than there is, and only what it says. */
static void Filtered(EtlReader *reader, const EtwEvent *like, uint64_t records)
{
    EtlFilter filter = {.providers = &like->provider,
            .providerCount = 1,
            .ids = &like->desc.id,
            .idCount = 1,
            .pids = &like->pid,
            .pidCount = 1,
            .from = like->time,
            .to = INT64_MAX};
    EtwEvent event;
    EtlReaderSetFilter(reader, &filter);
    while (EtlReaderNext(reader, &event) == ETW_OK) {
        Must(event.desc.id == like->desc.id && event.pid == like->pid &&
                        EtwGuidEqual(&event.provider, &like->provider),
                "filtered event");
    }
    Must(EtlReaderInfo(reader)->records <= records, "more filtered records than others");
    EtlReaderSetFilter(reader, NULL);
}

static uint64_t Pass(EtlReader *reader, bool rebuild, EtwEvent *lastPtr)
{
    EtwEvent event;
    uint64_t sum = 0;
    while (EtlReaderNext(reader, &event) == ETW_OK) {
        CheckEvent(&event);
        sum = sum * 31 + (uint64_t)event.ticks + event.cpu + event.payloadSize;
        if (rebuild) {
            Rebuild(&event);
        }
        double progress = EtlReaderProgress(reader);
        Must(progress >= 0 && progress <= 1, "progress");
        *lastPtr = event;
    }
    /* a record takes 8 bytes at least, and none is delivered twice */
    Must(elsewhere || EtlReaderInfo(reader)->records <= length / 8,
            "more records than the file has room for");
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    EtlReader *reader;
    EtwError error;
    Warnings warnings = {0};
    start = data;
    length = size;
    if (EtlReaderOpenMemory(&reader, data, size, 0, Warn, &warnings, &error) != ETW_OK) {
        return 0;
    }
    EtwEvent last = {0};
    elsewhere = EtlReaderInfo(reader)->compressedBuffers != 0;
    uint64_t sum = Pass(reader, true, &last);
    int told = warnings.count;
    Filtered(reader, &last, EtlReaderInfo(reader)->records);
    Must(Pass(reader, false, &last) == sum, "another result after a rewind");
    Must(told == warnings.count, "warnings repeated");
    EtlReaderClose(reader);
    return 0;
}

#ifdef FUZZ_MAIN
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        OsMap map;
        EtwError error;
        if (OsMapFile(&map, argv[i], &error) != ETW_OK) {
            fprintf(stderr, "%s\n", error.message);
            return 1;
        }
        LLVMFuzzerTestOneInput(map.base, map.size);
        OsUnmap(&map);
    }
    printf("%d files replayed\n", argc - 1);
    return 0;
}
#endif

#ifdef FUZZ_SEEDS
#include "tests/support/etlfile.h"

static void Save(Image *f, const char *dir, const char *name)
{
    char path[1000];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "wb");
    Must(file != NULL && fwrite(f->data, 1, f->size, file) == f->size, "cannot write a seed");
    fclose(file);
    ImageFree(f);
}

/* Small buffers, a record of every kind, overlaps; the same as a private logger's and a 32-bit
 * file. */
int main(int argc, char **argv)
{
    static const uint32_t modes[] = {1, 2, 0x20000, 0x04000000};
    static const uint16_t formats[] = {2, 3, 4};
    Must(argc == 2, "usage: seeds DIRECTORY");
    for (unsigned variant = 0; variant < 12; variant++) {
        static const unsigned types[] = {1, 2, 3, 4, 10, 11, 13, 14, 16, 17, 18, 19, 20, 21, 0x90};
        Image f = {.bufferSize = 1024};
        Clock clock = {
                variant % 4, variant & 1 ? 1000000000 : 2337949, 1000, 133444736000000000, 3000};
        char name[20];
        HeaderAdd(&f, &clock, modes[variant % 4], variant < 4);
        EtwStore16(f.data + 0x2c, formats[variant / 4]);
        for (int buffer = 0; buffer < 3; buffer++) {
            BufferBegin(&f, buffer / 2, buffer + 1);
            for (int i = 0; i < 5; i++) {
                unsigned type = types[(size_t)buffer * 5 + (size_t)i];
                size_t at = RecordAdd(&f, type, 0x50, 24);
                EtwStore64(f.data + at + (type == 16 || type == 17 ? 8 : 16),
                        (uint64_t)(1000 + 100 * (3 - buffer) + 90 * i));
                if (type == 18 || type == 19) {
                    EtwStore16(f.data + at + 4, 1); /* one item of 16 bytes */
                    EtwStore64(f.data + at + 0x50, 0x0008000000060018u);
                }
            }
            if (variant % 4 == 3) {
                BufferEndPacked(&f, formats[variant / 4]);
            } else {
                BufferEnd(&f);
            }
        }
        snprintf(name, sizeof name, "seed%u.etl", variant);
        Save(&f, argv[1], name);
    }
    return 0;
}
#endif
