/*
 * flow/source/source_pipe.h --
 *
 *	Reads a trace from a pipe. It consists of slices: small complete .etl files in time order,
 *	each ended by an empty buffer (written by etl/write/file_builder.h). Memory is therefore
 *	bounded, and events are delivered while the writer still runs. A plain .etl file is also
 *	accepted; it is read completely before its first event. So is what perf of Linux writes to a pipe,
 *	which is read as it comes, or its file.
 */
#ifndef ETW_SOURCE_PIPE_H
#define ETW_SOURCE_PIPE_H

#include "flow/source/source.h"

/* The source of the bytes. */
typedef struct EtwPipe {
    /* Up to `size` bytes, 0 only at the end; -1: an error, described in *errPtr. */
    int64_t (*read)(void *ctx, void *to, size_t size, EtwError *errPtr);
    void (*close)(void *ctx);
    void *ctx;
} EtwPipe;

/*
 * Reads the first slice. The source owns the pipe, also on failure. name: for messages. ETW_E_FORMAT:
 * not a trace; ETW_E_LIMIT: a plain file of more than a gigabyte.
 */
EtwStatus EtwSourcePipe(
        EtwSource **sourcePtr, const EtwPipe *pipe, const char *name, EtwError *errPtr);

#endif
