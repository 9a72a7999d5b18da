/*
 * etl/write/writer.h --
 *
 *	Writes a real .etl file: header buffer, then buffers of one CPU each, rising times
 *	inside a buffer, buffers of one CPU never overlapping. Sequential (with a maximum:
 *	then it stops and counts), circular (the oldest buffer is overwritten), append and
 *	new-file. A partial buffer that is flushed is rewritten in place later. The header
 *	is rewritten on each flush of the session's state and at the close, so a killed
 *	process leaves a readable file. Single-threaded: the logger owns it.
 */
#ifndef ETW_WRITER_H
#define ETW_WRITER_H

#include "base/os.h"
#include "event/event.h"

typedef struct EtlWriter EtlWriter;

/* A buffer that is being put on disk. Its header, which announces what it holds, is written last. */
typedef struct EtlFlush {
    int cpu;
    bool done;     /* false: it is about to be, true: it is */
    uint32_t slot; /* its place in the file, in buffers */
    uint32_t used; /* bytes of it that are announced */
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
    /* What a killed writer of this very session left is continued behind its last buffer: whatever the
     * mode, without a maximum; the losses are the caller's to say anew. */
    bool recover;
    EtlFlushProc *onFlush; /* NULL: nobody asks */
    void *flushCtx;
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
 * A file that exists is replaced, in append mode continued: it must be one of ours with the same
 * buffer size; its own start time and clock stay, the caller's ticks are converted to them.
 */
EtwStatus EtlWriterOpen(EtlWriter **writerPtr, const EtlWriterConfig *config, EtwError *errPtr);
/*
 * Append one event to its CPU's stream; event->ticks is steady ns and must not be below that CPU's
 * last (it is clamped). Refused, and counted: ETW_E_LIMIT (file full, event too big) or ETW_E_IO.
 */
EtwStatus EtlWriterAdd(EtlWriter *writer, const EtwEvent *event);
/*
 * Room for a record of `size` bytes (8-aligned) in a CPU's buffer, for callers that build in place,
 * with `ticks` as its time; it must be complete before the next call for this writer. NULL:
 * refused, counted.
 */
uint8_t *EtlWriterReserve(EtlWriter *writer, int cpu, int64_t ticks, size_t size);
/* Put partial buffers and the header on disk. eventsLost: what the session lost before the writer.
 */
EtwStatus EtlWriterFlush(EtlWriter *writer, uint64_t eventsLost);
/* Frees it, whatever the result. endWall: ns since 1970; the last event's time when that is later.
 */
EtwStatus EtlWriterClose(EtlWriter *writer, uint64_t eventsLost, int64_t endWall, EtwError *errPtr);
/*
 * Change the maximum size; a circular file cannot shrink below what it holds. 0: no limit
 * (sequential only).
 */
void EtlWriterSetLimit(EtlWriter *writer, uint32_t maxMB);
void EtlWriterGetState(const EtlWriter *writer, EtlWriterState *state);

#endif
