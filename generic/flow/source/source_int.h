/*
 * flow/source/source_int.h --
 *
 *	The functions that a kind of source implements. For source.c, source_merge.c and tests with
 *	synthetic events; other code uses source.h.
 */
#ifndef ETW_SOURCE_INT_H
#define ETW_SOURCE_INT_H

#include "flow/source/source.h"
#include "engine/engine.h"

typedef struct EtwSourceOps {
    EtwStatus (*next)(EtwSource *source, EtwEvent *event);
    void (*wait)(EtwSource *source, int64_t timeoutNs); /* live ones only, else NULL */
    void (*wake)(EtwSource *source);                    /* live ones only, else NULL */
    void (*close)(EtwSource *source);                   /* frees the source */
    /* The rest may be NULL: none, 0. */
    int (*fileCount)(const EtwSource *source);
    const EtlInfo *(*fileInfo)(const EtwSource *source, int index, const char **pathPtr);
    uint64_t (*lost)(const EtwSource *source);
    EtwStatus (*session)(const EtwSource *source, int index, EtwSessionInfo *info);
    int (*warningCount)(const EtwSource *source);
    const char *(*warning)(const EtwSource *source, int index);
    double (*progress)(const EtwSource *source);
    EtwSource *(*reopen)(const EtwSource *source, const EtlFilter *filter);
    void (*pushFilter)(EtwSource *source, const EtlFilter *filter);
    /* EtwSourceHarvest calls this. NULL: schema events are taken as they come. Returns true when that is
     * no longer needed. */
    bool (*harvest)(EtwSource *source, EtwSchemaStore *store);
} EtwSourceOps;

/* Each kind's struct begins with this. */
struct EtwSource {
    const EtwSourceOps *ops;
    EtwSchemaStore *schemaSink; /* receives each schema event; NULL: none */
};

/* Give the store a harvester for the file's schema events (schema_harvest.c). False: not all of them,
 * since the file is large. */
bool EtwHarvestFile(const char *path, const EtlInfo *info, EtwSchemaStore *store);
/* The same at once, for a file in memory that cannot be found again by a path. */
bool EtwHarvestMemory(const void *data, size_t size, EtwSchemaStore *store);

#endif
