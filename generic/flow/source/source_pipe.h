/*
 * flow/source/source_pipe.h --
 *
 *	A trace that comes through a pipe: slices, each a small complete .etl file in time before the
 *	next, ended by an empty buffer (etl/write/file_builder.h writes them), so that memory is bounded and events
 *	come while the writer still writes. A plain .etl file may come, too: it is read to its end
 *	first.
 */
#ifndef ETW_SOURCE_PIPE_H
#define ETW_SOURCE_PIPE_H

#include "flow/source/source.h"

/* Where bytes come from. */
typedef struct EtwPipe {
    /* Up to `size` bytes, at least one unless it is the end; -1: an error, described. */
    int64_t (*read)(void *ctx, void *to, size_t size, EtwError *errPtr);
    void (*close)(void *ctx);
    void *ctx;
} EtwPipe;

/*
 * Reads the first slice. The pipe is taken over, also on failure. name: for messages. ETW_E_FORMAT:
 * that is no trace; ETW_E_LIMIT: a plain file of more than a gigabyte.
 */
EtwStatus EtwSourcePipe(
        EtwSource **sourcePtr, const EtwPipe *pipe, const char *name, EtwError *errPtr);

#endif
