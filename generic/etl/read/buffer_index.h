/*
 * etl/read/buffer_index.h --
 *
 *	The index of a file's buffers. One pass over their headers finds them and sorts them into streams
 *	(CPU, logger), by time within a stream. Defects are kept as notes, which are reported when reading
 *	ends. Private to etl/read.
 */
#ifndef ETW_BUFFER_INDEX_H
#define ETW_BUFFER_INDEX_H

#include "base/os.h"
#include "etl/format.h"
#include "etl/read/file_header.h"

/* One buffer that has records. */
typedef struct EtlBuffer {
    uint64_t at;     /* in the file */
    uint64_t tie;    /* order among buffers of one stream that begin at the same tick */
    int64_t first;   /* ticks of its first record; in files with unsorted buffers of its earliest
                      record */
    uint32_t end;    /* end of data, relative to `at`, as if it were not compressed */
    uint32_t packed; /* compressed: bytes after the buffer's header; 0: not compressed */
    uint16_t cpu;
    uint16_t logger;
    bool cut;      /* the file ends inside it (already noted) */
    bool reported; /* its damage was reported */
    bool copy;     /* all its bytes are those of another one; only while the index is built */
} EtlBuffer;

typedef struct EtlNote {
    uint64_t where;
    char text[200];
} EtlNote;
enum { ETL_MAX_NOTES = 32 };

typedef struct EtlIndex {
    EtlBuffer *buffers; /* sorted by cpu, logger, first, tie */
    size_t count, capacity;
    uint32_t found; /* all buffers of the file, including empty and skipped ones */
    uint32_t
            complete; /* the same without the header buffer and those that were not written completely */
    uint64_t end;     /* of the last complete buffer */
    int64_t sequence; /* the largest number of a complete buffer */
    EtlNote *notes;   /* ETL_MAX_NOTES at most, then only counted */
    int noteCount;
} EtlIndex;

/* Where the buffers of a packed trace are (etl/compress/pack.h). */
typedef struct EtlPackExtent {
    uint64_t header; /* bytes of the header buffer, from the start */
    uint64_t frames; /* offset after its frame; 0: the file is not packed */
} EtlPackExtent;

/*
 * The file is `map`, or `size` bytes of the caller if the map has no base. Properties of the file
 * found in this pass are stored in *info, and in *clock if they define the meaning of ticks. pack: NULL: an
 * .etl file; otherwise `file` begins with the header buffer's bytes in a packed trace.
 */
void EtlIndexBuild(EtlIndex *index, OsMap *map, const uint8_t *file, uint64_t size,
        const EtlPackExtent *pack, EtlInfo *info, EtlClock *clock);
/* The number of bytes that a buffer occupies in the file. */
static inline uint64_t EtlBufferBytes(const EtlBuffer *buffer)
{
    return buffer->packed != 0 ? ETL_BUFFER_HEADER + (uint64_t)buffer->packed : buffer->end;
}
void EtlIndexFree(EtlIndex *index);

#endif
