/*
 * flow/source/schema_harvest.c --
 *
 *	Reads schema events from a file with a separate reader, so that the file's source is not
 *	disturbed. Of a large file only both ends are read: providers describe themselves when they
 *	are enabled and disabled, and merge tools write descriptions at the end.
 */
#include "base/alloc.h"
#include "flow/source/source_int.h"

/* Bytes of uncompressed events; reading them takes at most a quarter of a second. */
enum { WHOLE_FILE = 256 << 20, PART = 128 << 20 };
#define UNCLOSED_SPAN_NS 10000000000LL /* part of a large file to read if its end is unknown */

typedef struct FileHarvester {
    EtwSchemaHarvester base;
    char path[];
} FileHarvester;

typedef void HarvestProc(void *ctx, const EtwEvent *event);

static void scan(EtlReader *reader, int64_t from, int64_t to, HarvestProc *learn, void *ctx)
{
    EtlFilter filter = {.providers = etwSchemaEventProviders,
            .providerCount = ETW_SCHEMA_EVENT_PROVIDERS,
            .ids = &etwSchemaEventId,
            .idCount = 1,
            .either = true,
            .from = from,
            .to = to};
    EtwEvent event;
    EtlReaderSetFilter(reader, &filter);
    while (EtlReaderNext(reader, &event) == ETW_OK) {
        if (EtwEventIsSchema(&event)) {
            learn(ctx, &event);
        }
    }
}

/* The number of uncompressed bytes to read. */
static uint64_t bytesOf(const EtlInfo *info)
{
    return info->fileSize - info->packedBytes + info->unpackedBytes;
}

static void scanHeadAndTail(EtlReader *reader, HarvestProc *learn, void *ctx)
{
    const EtlInfo *info = EtlReaderInfo(reader);
    double span = (double)info->endTime - (double)info->startTime;
    if (bytesOf(info) <= WHOLE_FILE) {
        scan(reader, INT64_MIN, INT64_MAX, learn, ctx);
    } else if (info->endTime <= info->startTime) {
        scan(reader, INT64_MIN, EtwTimeAdd(info->startTime, UNCLOSED_SPAN_NS), learn, ctx);
    } else {
        int64_t part = (int64_t)(span * PART / (double)bytesOf(info)); /* less than half of it */
        scan(reader, INT64_MIN, info->startTime + part, learn, ctx);
        scan(reader, info->endTime - part, INT64_MAX, learn, ctx);
    }
}

static void harvestFile(EtwSchemaHarvester *harvester, HarvestProc *learn, void *ctx)
{
    EtlReader *reader;
    if (EtlReaderOpen(&reader, ((FileHarvester *)harvester)->path, NULL, NULL, NULL) == ETW_OK) {
        scanHeadAndTail(reader, learn, ctx);
        EtlReaderClose(reader);
    } /* on failure schemas come from the events themselves */
}

static void freeHarvester(EtwSchemaHarvester *harvester)
{
    EtwFree(harvester);
}

bool EtwHarvestFile(const char *path, const EtlInfo *info, EtwSchemaStore *store)
{
    size_t size = strlen(path) + 1;
    FileHarvester *t = EtwAlloc(sizeof *t + size);
    t->base.harvest = harvestFile;
    t->base.free = freeHarvester;
    memcpy(t->path, path, size);
    EtwSchemaAddHarvester(store, &t->base);
    return bytesOf(info) <= WHOLE_FILE;
}

static void harvestEvent(void *ctx, const EtwEvent *event)
{
    EtwSchemaHarvest(ctx, event);
}

bool EtwHarvestMemory(const void *data, size_t size, EtwSchemaStore *store)
{
    EtlReader *reader;
    if (EtlReaderOpenMemory(&reader, data, size, 0, NULL, NULL, NULL) != ETW_OK) {
        return true;
    }
    scanHeadAndTail(reader, harvestEvent, store);
    bool whole = bytesOf(EtlReaderInfo(reader)) <= WHOLE_FILE;
    EtlReaderClose(reader);
    return whole;
}
