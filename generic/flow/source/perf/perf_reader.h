/*
 * flow/source/perf/perf_reader.h --
 *
 *	Reads what `perf record` of Linux writes, files and pipes, on any system: its records become the events
 *	that a session with kernel groups writes. The input is untrusted: every length is checked against
 *	it, and memory and work are bounded by its size.
 */
#ifndef ETW_PERF_READER_H
#define ETW_PERF_READER_H

#include "etl/read/reader.h"

typedef struct EtwPerfReader EtwPerfReader;

enum { ETW_PERF_MAGIC = 8 };
/* True if these are the first bytes of a file or pipe of perf, of either byte order. */
bool EtwPerfIs(const uint8_t *data, size_t size);

/* A sentence about the file. notice: nothing is lost or damaged. */
typedef void EtwPerfWarn(void *ctx, const char *sentence, bool notice);
/* Up to `size` bytes, 0 only at the end; -1: an error, described in *errPtr. */
typedef int64_t EtwPerfRead(void *ctx, void *to, size_t size, EtwError *errPtr);

/* A file in memory, which belongs to the caller and outlives the reader. name: for messages. */
EtwStatus EtwPerfOpen(EtwPerfReader **readerPtr, const uint8_t *data, uint64_t size,
        const char *name, EtwPerfWarn *warn, void *warnCtx, EtwError *errPtr);
/* What `perf record -o -` writes, or a file that comes through a pipe. */
EtwStatus EtwPerfOpenPipe(EtwPerfReader **readerPtr, EtwPerfRead *read, void *readCtx,
        const char *name, EtwPerfWarn *warn, void *warnCtx, EtwError *errPtr);
/* The next event: ETW_OK, or ETW_END. Its pointers are valid until the next call. */
EtwStatus EtwPerfNext(EtwPerfReader *reader, EtwEvent *event);
const EtlInfo *EtwPerfInfo(const EtwPerfReader *reader);
double EtwPerfProgress(const EtwPerfReader *reader); /* 0..1; of a pipe 0 */
void EtwPerfClose(EtwPerfReader *reader);

#endif
