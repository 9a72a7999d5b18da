/*
 * etl/write/writer.h --
 *
 *	Writes a session's .etl file: a header buffer, then buffers of one CPU each. Times increase
 *	within a buffer, and buffers of one CPU do not overlap. Modes: sequential (events beyond the
 *	maximum size are counted as lost), circular (the oldest buffer is overwritten), append, and
 *	new-file. The header is rewritten at each flush and at the close, so that a killed process
 *	leaves a readable file. Single-threaded: only the logger uses it.
 *
 *	There are two layouts. In a plain file all buffers have the same size, and a partial buffer that is
 *	flushed is rewritten in place later. In a compressed file each buffer has the size of its
 *	compressed data, or of its data where it was not compressed, and follows the one before. A flush ends
 *	the current buffers.
 */
#ifndef ETW_WRITER_H
#define ETW_WRITER_H

#include "base/os.h"
#include "event/event.h"

typedef struct EtlWriter EtlWriter;

/* A buffer that is written to disk. Its header, which has the size of its data, is written last. */
typedef struct EtlFlush {
    int cpu;
    bool done;     /* false: before the write, true: after it */
    uint64_t at;   /* its place in the file, in bytes */
    uint32_t used; /* bytes of data according to the header */
    int64_t sequence;
    int number; /* of the file, in new-file mode */
} EtlFlush;
typedef void EtlFlushProc(void *ctx, const EtlFlush *put);

typedef struct EtlWriterConfig {
    const char *path;       /* UTF-8; new-file mode: has one %d, replaced by 1, 2, ... */
    const char *loggerName; /* UTF-8 */
    uint32_t mode;          /* ETL_MODE_* bits */
    uint32_t bufferSize;    /* bytes, multiple of 1024, 4 KiB .. 1 MiB */
    uint32_t maxMB;         /* 0: no limit */
    uint16_t loggerId;
    int cpus;
    int64_t startWall;   /* ns since 1970 at the session's start */
    int64_t startSteady; /* tick (ns) at that moment: T0 */
    int64_t bootTime;    /* ns since 1970 */
    int zoneBias;
    uint32_t cpuMHz;
    uint32_t pid, tid; /* of the starter */
    /* Continue the file that a killed writer of the same session left, after its last buffer: in any
     * mode, without a maximum size. The caller reports the losses again. */
    bool recover;
    /* Use the layout of compressed files; ignored in circular mode. A file that is continued keeps its
     * layout. */
    bool compress;
    /* True: the next buffer is not compressed, because the caller has fallen behind. May be NULL. */
    bool (*inHurry)(void *ctx);
    EtlFlushProc *onFlush; /* may be NULL */
    void *flushCtx;        /* of both */
} EtlWriterConfig;

typedef struct EtlWriterState {
    uint64_t bytes;       /* on disk */
    uint32_t buffers;     /* written, the header buffer included */
    uint64_t events;      /* accepted */
    uint64_t lostFull;    /* refused: the file has its maximum size */
    uint64_t lostIo;      /* refused: the operating system could not write (disk full) */
    uint64_t overwritten; /* circular: events overwritten */
    uint64_t tooBig;      /* refused: larger than a buffer or than 64 KB */
    uint64_t unwritten; /* accepted, but a failed write left them in memory: a later flush may save
                           them, a close now counts them as lost */
    int osError;        /* of the last failed write */
    int number;         /* of the file, in new-file mode */
} EtlWriterState;

/*
 * An existing file is replaced. In append mode it is continued: it must have been written by this
 * writer with the same buffer size; it keeps its start time and clock, to which ticks are converted.
 */
EtwStatus EtlWriterOpen(EtlWriter **writerPtr, const EtlWriterConfig *config, EtwError *errPtr);
/*
 * Append one event to its CPU's stream; event->ticks is steady ns and must not be below that CPU's
 * last (it is clamped). Refused, and counted: ETW_E_LIMIT (file full, event too big) or ETW_E_IO.
 */
EtwStatus EtlWriterAdd(EtlWriter *writer, const EtwEvent *event);
/*
 * Reserve a record of `size` bytes (8-aligned) in a CPU's buffer, for callers that build it in
 * place, with `ticks` as its time. It must be complete before the next call for this writer. NULL:
 * refused and counted.
 */
uint8_t *EtlWriterReserve(EtlWriter *writer, int cpu, int64_t ticks, size_t size);
/*
 * Write partial buffers and the header to disk. eventsLost: number of events that the session lost
 * before the writer.
 */
EtwStatus EtlWriterFlush(EtlWriter *writer, uint64_t eventsLost);
/*
 * Frees the writer in all cases. endWall: ns since 1970; the last event's time is used if that is
 * later.
 */
EtwStatus EtlWriterClose(EtlWriter *writer, uint64_t eventsLost, int64_t endWall, EtwError *errPtr);
/*
 * Change the maximum size. A circular file cannot shrink below its contents. 0: no limit
 * (sequential only).
 */
void EtlWriterSetLimit(EtlWriter *writer, uint32_t maxMB);
void EtlWriterGetState(const EtlWriter *writer, EtlWriterState *state);

#endif
