/*
 * etl/read/file_header.h --
 *
 *	The first record of a file, which describes the session, and the conversion of the file's clock to
 *	wall time that it defines. Reads and writes it. Private to etl.
 */
#ifndef ETW_FILE_HEADER_H
#define ETW_FILE_HEADER_H

#include "etl/read/reader.h"

/* How a file's ticks become ns since 1970: start + (ticks - ticks0) * 10^9 / frequency, floored. */
typedef struct EtlClock {
    int64_t ticks0;
    int64_t start;
    uint64_t frequency;
    uint32_t multiplier; /* ns per tick if that is an integer, otherwise 0 */
    bool filetime;       /* ticks are FILETIMEs */
    int64_t localBias;   /* filetime: 100 ns from local time to UTC, for ticks other than ticks0 */
} EtlClock;

int64_t EtlClockDivide(const EtlClock *clock, int64_t ticks);
/* Damaged ticks may overflow; the result is then a wrong time. */
static inline int64_t EtlClockTime(const EtlClock *clock, int64_t ticks)
{
    if (clock->multiplier != 0) {
        uint64_t elapsed = (uint64_t)ticks - (uint64_t)clock->ticks0;
        return (int64_t)((uint64_t)clock->start + elapsed * clock->multiplier);
    }
    return EtlClockDivide(clock, ticks);
}

/* The first tick whose time is not before `wall`. The limits of int64_t are kept. */
int64_t EtlClockTicks(const EtlClock *clock, int64_t wall);

/* 100 ns since 1601 <-> ns since 1970, clamped to the range of int64_t. 0 ("never") stays 0. */
int64_t EtlWallOfFiletime(int64_t filetime);
int64_t EtlFiletimeOfWall(int64_t wall);

/* True if these are the first bytes of an .etl file. */
bool EtlHeaderIsEtl(const uint8_t *data, size_t size);
/* Parse the header of a file in memory. Fills the members of *info that the header defines. name: for
 * messages. */
EtwStatus EtlHeaderParse(const uint8_t *data, size_t size, const char *name, EtlInfo *info,
        EtlClock *clock, EtwError *errPtr);

/*
 * Performance counter logs (PDH) have events of a FILETIME clock in local time but a header in UTC.
 * `first` is the tick of the first event; it shows whether daylight saving time was in effect.
 */
void EtlHeaderLocalTime(EtlInfo *info, EtlClock *clock, int64_t first);
/* For a file whose header has no start time: use the pair (FILETIME, ticks) of a buffer. */
void EtlHeaderReference(EtlInfo *info, EtlClock *clock, int64_t start, int64_t ticks);

/* The contents of a header. Times are FILETIMEs, so that appending to a file does not change them. */
typedef struct EtlHeader {
    const char *loggerName, *path; /* UTF-8; truncated where they do not fit */
    uint32_t bufferSize, cpus, mode, maxMB, buffers, eventsLost, cpuMHz, pid, tid;
    uint32_t stored; /* bytes that the header buffer takes in the file; 0: bufferSize */
    int64_t ticks0, start, end, boot;
    int zoneBias;
    uint16_t loggerId;
} EtlHeader;

/*
 * Build the header buffer: WMI header and first record, without padding. `out` has space for
 * bufferSize bytes, at least 4096. Returns the number of bytes used.
 */
size_t EtlHeaderBuild(const EtlHeader *header, uint8_t *out);

/* The clock of a file that was opened. */
void EtlClockOfInfo(const EtlInfo *info, EtlClock *clock);

/* Changes to an input file's header for an output that contains its records. The output is not
 * circular, and compressed only if `compressed` is set. Times in ns since 1970. */
typedef struct EtlHeaderChange {
    uint32_t bufferSize, buffers;
    uint32_t stored; /* bytes that the header buffer takes in the file */
    bool compressed; /* the file's buffers are compressed with XPRESS */
    uint64_t eventsLost, buffersLost;
    int64_t start, ticks0; /* stored if the header has none */
    int64_t end;
    int64_t shift;     /* added to the header's times; ns, a multiple of 100 */
    int64_t tickShift; /* the same for a clock of FILETIMEs, in its ticks; otherwise 0 */
} EtlHeaderChange;
/* data: a header buffer that EtlHeaderParse accepted, `used` bytes of data. */
void EtlHeaderRewrite(uint8_t *data, size_t used, const EtlHeaderChange *change);

/* A WMI_BUFFER_HEADER for `used` bytes of data (the header included). */
typedef struct EtlBufferHead {
    uint32_t size, used;
    int64_t time, sequence;
    uint16_t cpu, logger, flags, type;
} EtlBufferHead;
void EtlBufferHeadBuild(const EtlBufferHead *head, uint8_t *out);

#endif
