/*
 * etl/reader.h --
 *
 *	An .etl file, mapped: its header, its events in time order (k-way merge over streams
 *	keyed by logger and CPU), its damage. Reads all that etl/writer.h writes and every
 *	uncompressed record kind's header. Hostile input: every length is checked against
 *	the file; no allocation is larger than the file justifies. Does not decode payloads
 *	(schema/).
 */
#ifndef ETW_ETL_READER_H
#define ETW_ETL_READER_H

#include "base/status.h"
#include "event/event.h"

typedef struct EtlReader EtlReader;

/* What the file says of itself, and what reading it showed. */
typedef struct EtlInfo {
    char loggerName[256]; /* UTF-8 */
    char logFile[512];    /* UTF-8 */
    uint8_t major, minor;
    uint32_t build;
    uint32_t cpus;
    uint32_t pointerSize;
    uint32_t bufferSize;
    uint32_t mode;     /* LogFileMode */
    uint32_t clock;    /* 1 QPC, 2 system time, 3 cycles */
    int64_t frequency; /* ticks per second */
    int64_t startTime; /* ns since 1970 */
    int64_t endTime;   /* ns since 1970, 0: not closed */
    int64_t bootTime;  /* ns since 1970 */
    int64_t ticks0;    /* clock at startTime */
    int zoneBias;      /* minutes */
    bool closed;
    uint64_t fileSize;
    uint32_t buffers;    /* found, the header buffer included */
    uint32_t eventsLost; /* as the file's header says */
    uint32_t buffersLost;
    uint64_t records; /* delivered so far, header records included */
} EtlInfo;

/* Damage or oddity met while reading; `where` is a byte offset in the file. */
typedef void EtlWarnProc(void *ctx, uint64_t where, const char *message);

EtwStatus EtlReaderOpen(EtlReader **readerPtr, const char *path, EtlWarnProc *warn, void *warnCtx,
        EtwError *errPtr);
/* The same for a file in memory, which stays the caller's and must outlive the reader. */
EtwStatus EtlReaderOpenMemory(EtlReader **readerPtr, const void *data, size_t size,
        EtlWarnProc *warn, void *warnCtx, EtwError *errPtr);
/*
 * Next event in time order (ties: lower CPU first, file order within a CPU). ETW_OK or ETW_END.
 * Damage inside a buffer is told (warn) when the events before it have been delivered, everything
 * else at the first ETW_END: a truncated file, damaged or skipped buffers or, when nothing else is
 * wrong, that the file was never closed.
 */
EtwStatus EtlReaderNext(EtlReader *reader, EtwEvent *event);
void EtlReaderRewind(EtlReader *reader); /* warnings are not repeated */
const EtlInfo *EtlReaderInfo(const EtlReader *reader);
double EtlReaderProgress(const EtlReader *reader); /* 0..1, by bytes */
void EtlReaderClose(EtlReader *reader);

#endif
