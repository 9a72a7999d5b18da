/*
 * flow/source/source_perf.h --
 *
 *	A source of what perf of Linux records (flow/source/perf).
 */
#ifndef ETW_SOURCE_PERF_H
#define ETW_SOURCE_PERF_H

#include "base/os.h"
#include "flow/source/perf/perf_reader.h"
#include "flow/source/source.h"

/* Takes ownership of the file's contents, also on failure. */
EtwStatus EtwSourcePerf(EtwSource **sourcePtr, const char *path, OsMap *map, EtwError *errPtr);
/* A pipe. `close` is called with readCtx when the source is closed, also on failure. */
EtwStatus EtwSourcePerfPipe(EtwSource **sourcePtr, const char *name, EtwPerfRead *read,
        void (*close)(void *ctx), void *readCtx, EtwError *errPtr);

#endif
