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
    /* The others may be NULL: none, 0. */
    int (*fileCount)(const EtwSource *source);
    const EtlInfo *(*fileInfo)(const EtwSource *source, int index, const char **pathPtr);
    uint64_t (*lost)(const EtwSource *source);
    EtwStatus (*session)(const EtwSource *source, int index, EtwSessionInfo *info);
    int (*warningCount)(const EtwSource *source);
    int (*noticeCount)(const EtwSource *source); /* warnings that are neither losses nor damage */
    const char *(*warning)(const EtwSource *source, int index);
    double (*progress)(const EtwSource *source);
    EtwSource *(*reopen)(const EtwSource *source, const EtlFilter *filter);
    void (*pushFilter)(EtwSource *source, const EtlFilter *filter);
    /*
     * Called by EtwSourceHarvest. NULL: schema events are harvested as they occur. Returns true if
     * that is not needed any more.
     */
    bool (*harvest)(EtwSource *source, EtwSchemaStore *store);
} EtwSourceOps;

/* The first member of each kind's struct. */
struct EtwSource {
    const EtwSourceOps *ops;
    EtwSchemaStore *schemaSink; /* receives each schema event; NULL: none */
};

/*
 * Add a harvester for the file's schema events to the store (schema_harvest.c). False: it does not
 * read all of them, because the file is large.
 */
bool EtwHarvestFile(const char *path, const EtlInfo *info, EtwSchemaStore *store);
/* The same at once, for a file in memory that has no path. */
bool EtwHarvestMemory(const void *data, size_t size, EtwSchemaStore *store);

#endif
