/*
 * etl/read/file_header.h --
 *
 *	The first record of a file: what it says of the session, and the conversion of its
 *	clock to wall time that follows from it. Read and written in one place, private to
 *	the room.
 */
#ifndef ETW_FILE_HEADER_H
#define ETW_FILE_HEADER_H

#include "etl/read/reader.h"

/* How a file's ticks become ns since 1970: start + (ticks - ticks0) * 10^9 / frequency, floored. */
typedef struct EtlClock {
    int64_t ticks0;
    int64_t start;
    uint64_t frequency;
    uint32_t multiplier; /* ns a tick when that is whole, else 0 */
    bool filetime;       /* ticks are FILETIMEs themselves */
    int64_t localBias;   /* filetime: 100 ns from local time to UTC, for ticks other than ticks0 */
} EtlClock;

int64_t EtlClockDivide(const EtlClock *clock, int64_t ticks);
/* Hostile ticks wrap around: a wrong time, nothing worse. */
static inline int64_t EtlClockTime(const EtlClock *clock, int64_t ticks)
{
    if (clock->multiplier != 0) {
        uint64_t elapsed = (uint64_t)ticks - (uint64_t)clock->ticks0;
        return (int64_t)((uint64_t)clock->start + elapsed * clock->multiplier);
    }
    return EtlClockDivide(clock, ticks);
}

/* The first tick whose time is not before `wall`; limits of int64_t stay limits. */
int64_t EtlClockTicks(const EtlClock *clock, int64_t wall);

/* 100 ns since 1601 <-> ns since 1970; what does not fit is clamped. 0 ("never") stays 0. */
int64_t EtlWallOfFiletime(int64_t filetime);
int64_t EtlFiletimeOfWall(int64_t wall);

/* Do these first bytes of a file look like one of this format? */
bool EtlHeaderIsEtl(const uint8_t *data, size_t size);
/* The header of the file in memory. name: for messages. Fills all of *info that the header tells.
 */
EtwStatus EtlHeaderParse(const uint8_t *data, size_t size, const char *name, EtlInfo *info,
        EtlClock *clock, EtwError *errPtr);

/*
 * Performance counter logs (PDH) have the events of a FILETIME clock in local time but the header
 * in UTC: called with their first event's tick, which tells whether daylight saving was on.
 */
void EtlHeaderLocalTime(EtlInfo *info, EtlClock *clock, int64_t first);
/* A file whose header knows no start takes the pair (FILETIME, ticks) of its buffers. */
void EtlHeaderReference(EtlInfo *info, EtlClock *clock, int64_t start, int64_t ticks);

/* What a writer puts there. Times in FILETIME, so that an appended file keeps its own exactly. */
typedef struct EtlHeader {
    const char *loggerName, *path; /* UTF-8; cut where they do not fit */
    uint32_t bufferSize, cpus, mode, maxMB, buffers, eventsLost, cpuMHz, pid, tid;
    int64_t ticks0, start, end, boot;
    int zoneBias;
    uint16_t loggerId;
} EtlHeader;

/*
 * The header buffer: WMI header and first record, at most bufferSize bytes, without the fill behind
 * it. out has room for bufferSize bytes, at least 4096. Result: bytes used.
 */
size_t EtlHeaderBuild(const EtlHeader *header, uint8_t *out);

/* The clock of a file that was opened. */
void EtlClockOfInfo(const EtlInfo *info, EtlClock *clock);

/* What becomes of another file's header when its records are written anew: no part of a circular
 * file any more, and compressed only if it is said here. Times in ns since 1970. */
typedef struct EtlHeaderChange {
    uint32_t bufferSize, buffers;
    uint32_t stored; /* bytes that the header buffer takes in the file */
    bool compressed; /* the file's buffers are, as XPRESS */
    uint64_t eventsLost, buffersLost;
    int64_t start, ticks0; /* put there when the header knows none */
    int64_t end;
    int64_t shift;     /* added to the times that the header has; ns, a multiple of 100 */
    int64_t tickShift; /* the same for a clock of FILETIMEs, in its ticks; else 0 */
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
