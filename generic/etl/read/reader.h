/*
 * etl/read/reader.h --
 *
 *	Reads an .etl file: its header, its events in time order (a k-way merge of the streams of loggers
 *	and CPUs), and reports its damage. Reads every kind of record and buffer. A compressed buffer is
 *	decompressed when its first event is due, and released after its last. The input is untrusted: every
 *	length is checked against the file, and allocations are bounded by its size. Does not decode
 *	payloads (schema/).
 */
#ifndef ETW_READER_H
#define ETW_READER_H

#include "base/status.h"
#include "event/event.h"

typedef struct EtlReader EtlReader;
struct OsMap;

enum { ETL_BUFFER_TYPES = 8, ETL_LOGGERS_MAX = 64 };

/* The buffers of one logger id (a merged file has several), header buffers not included. */
typedef struct EtlLogger {
    uint16_t id;
    uint32_t buffers;
    uint32_t cpus;        /* number of CPUs with buffers */
    uint64_t missing;     /* sequence numbers between the first and the last that are missing */
    int64_t firstMissing; /* the lowest of them */
} EtlLogger;

/* What the file's header contains, and what reading the file has found. */
typedef struct EtlInfo {
    char loggerName[256]; /* UTF-8 */
    char logFile[512];    /* UTF-8 */
    uint8_t major, minor;
    uint8_t layoutMajor, layoutMinor; /* 1.4 Vista, 1.5 since Windows 7, 2.0 compressed */
    uint32_t build;
    char buildLab[128]; /* UTF-8; empty when the header buffer has none */
    uint32_t cpus;
    uint32_t cpuMHz;
    uint32_t pointerSize; /* of the session's controller; records have their own */
    uint32_t bufferSize;
    uint32_t mode;            /* LogFileMode */
    uint32_t maxFileSize;     /* MB, KB with mode bit 0x2000; 0: no limit */
    uint32_t timerResolution; /* 100 ns */
    uint32_t clock;           /* 1 QPC, 2 system time, 3 cycles */
    int64_t frequency;        /* ticks per second */
    int64_t startTime;        /* ns since 1970 */
    int64_t endTime;          /* ns since 1970, 0: not closed */
    int64_t bootTime;         /* ns since 1970 */
    int64_t ticks0;           /* clock at startTime */
    int zoneBias;             /* minutes; UTC = local time + bias */
    int standardBias, daylightBias;
    char standardName[100], daylightName[100]; /* UTF-8, of the time zone */
    bool localTime; /* the events' times are local time in the file (performance counter logs); they
                       are delivered as UTC */
    bool closed;
    uint64_t fileSize;
    uint64_t handedBytes;    /* size of the user's file: less when it was compressed */
    uint32_t buffers;        /* found, the header buffer included */
    uint32_t buffersWritten; /* in the header: outdated in files that were not closed */
    uint32_t buffersByType[ETL_BUFFER_TYPES]; /* ETL_BUFFER_*; unknown types count as generic */
    unsigned compression; /* of the file's compressed buffers: ETL_FORMAT_*, 0: none */
    uint32_t compressedBuffers;
    uint64_t packedBytes, unpackedBytes; /* of the compressed buffers */
    uint32_t eventsLost;                 /* in the file's header */
    uint32_t buffersLost;
    uint32_t eventsLostMarks, buffersLostMarks; /* number of buffers with such a mark */
    uint32_t duplicates; /* exact copies of other buffers, which are not read */
    uint32_t repeated;   /* other buffers with the sequence number of another one of their CPU */
    uint32_t
            damages; /* damaged places between buffers, buffers that cannot be read; buffers with damaged
                            records are added as they are read */
    EtlLogger loggers[ETL_LOGGERS_MAX];
    uint32_t loggerCount; /* number of entries; further loggers are not listed */
    bool partition;       /* partition holds the header's extension record */
    uint8_t partitionInfo[48];
    bool hasGroupMasks;
    uint32_t groupMasks[8]; /* kernel groups that were enabled */
    uint64_t records;       /* delivered so far, header records included */
    int64_t localBias;      /* localTime: 100 ns that are added to an event's ticks */
    const uint8_t
            *headerBuffer; /* the file's first buffer up to the end of its data; the reader's */
    uint32_t headerBytes;
} EtlInfo;

/*
 * True for a file of a Windows before Vista: its buffer headers have no flags (compressed, ...) and
 * no type.
 */
static inline bool EtlIsOld(const EtlInfo *info)
{
    return info->major < 6;
}

/* True if the record is in the header buffer: it describes the file and is not an event. */
static inline bool EtlInHeader(const EtlInfo *info, const EtwEvent *event)
{
    return event->record != NULL &&
           (uintptr_t)event->record - (uintptr_t)info->headerBuffer < info->headerBytes;
}

/* The events that the reader delivers, by their headers. An empty list passes every event. */
typedef struct EtlFilter {
    const EtwGuid *providers; /* event classes for kernel and classic records */
    size_t providerCount;
    const uint16_t *ids; /* kernel and classic records have id 0, WPP their message number */
    size_t idCount;
    const uint32_t *pids; /* records without a pid have ETW_NO_ID */
    size_t pidCount;
    bool either;      /* a listed provider or a listed id suffices; both lists must not be empty */
    int64_t from, to; /* ns since 1970: from <= time < to; INT64_MIN, INT64_MAX: no limit */
    /* Records of these providers are delivered in addition, if they are before `to`. */
    const EtwGuid *alsoProviders;
    size_t alsoProviderCount;
    const uint16_t *alsoIds;
    size_t alsoIdCount;
} EtlFilter;

/* Reports damage; `where` is a byte offset in the file. */
typedef void EtlWarnProc(void *ctx, uint64_t where, const char *message);

EtwStatus EtlReaderOpen(EtlReader **readerPtr, const char *path, EtlWarnProc *warn, void *warnCtx,
        EtwError *errPtr);
/*
 * The same for a file that is mapped already. The reader owns *map, also on failure. handed: the size
 * of the compressed file that it was unpacked from, which limits what is read; 0: it was not compressed.
 */
EtwStatus EtlReaderOpenMap(EtlReader **readerPtr, struct OsMap *map, uint64_t handed,
        const char *name, EtlWarnProc *warn, void *warnCtx, EtwError *errPtr);
/* The same for a file in memory, which the caller owns and which must outlive the reader. */
EtwStatus EtlReaderOpenMemory(EtlReader **readerPtr, const void *data, size_t size, uint64_t handed,
        EtlWarnProc *warn, void *warnCtx, EtwError *errPtr);
/*
 * Next event in time order (ties: lower CPU first, file order within a CPU). ETW_OK or ETW_END. A
 * reader with a filter (EtlReaderPushFilter) also returns ETW_PAUSE, about once per MB of input.
 * Damage inside a buffer is reported (warn) after the events before it; everything else at the first
 * ETW_END: a truncated file, damaged or skipped buffers or, when nothing else is wrong, that the file
 * was not closed.
 */
EtwStatus EtlReaderNext(EtlReader *reader, EtwEvent *event);
/*
 * Deliver only events that pass; NULL: all. Rewinds to the file's beginning. The filter is copied.
 * With a time limit, a buffer is not read when it and the start of its stream's next one are before
 * `from`.
 */
void EtlReaderSetFilter(EtlReader *reader, const EtlFilter *filter);
/*
 * The same from the current position on. Events of buffers that are open already are not filtered.
 * When reading stops at `to`, the warnings for the file's end are not reported.
 */
void EtlReaderPushFilter(EtlReader *reader, const EtlFilter *filter);
void EtlReaderRewind(EtlReader *reader); /* warnings are not repeated */
const EtlInfo *EtlReaderInfo(const EtlReader *reader);
double EtlReaderProgress(const EtlReader *reader); /* 0..1, by bytes */
void EtlReaderClose(EtlReader *reader);

#endif
