/*
 * event/event.h --
 *
 *	The event: one record of a trace, from any writer and any kind of source. Payload and metadata
 *	are pointers into the source's memory, valid until the source returns its next event.
 *
 *	Three clocks are used:
 *	ticks     the session clock, as recorded: the time-stamp counter, CLOCK_MONOTONIC_RAW in ns, or
 *	          QueryPerformanceCounter (OsTicks in base/os.h); in files also 100 ns of wall time
 *	steady    nanoseconds of a clock that is never set: CLOCK_MONOTONIC_RAW, on Windows from
 *	          QueryPerformanceCounter. event/clock_anchors.h converts ticks to it
 *	wall      nanoseconds since 1970-01-01 UTC. A session adds the difference of wall and steady time
 *	          at its start, so that its events keep their order when the system's time is set
 */
#ifndef ETW_EVENT_EVENT_H
#define ETW_EVENT_EVENT_H

#include "base/bytes.h"
#include "base/guid.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As EVENT_DESCRIPTOR of Windows, 16 bytes, the same layout. */
typedef struct EtwDescriptor {
    uint16_t id;
    uint8_t version;
    uint8_t channel;
    uint8_t level;
    uint8_t opcode;
    uint16_t task;
    uint64_t keyword;
} EtwDescriptor;

#define ETW_NO_ID 0xFFFFFFFFu /* the record has no pid or tid */

typedef struct EtwEvent {
    int64_t time;     /* wall */
    int64_t ticks;    /* as in the record */
    EtwGuid provider; /* provider; event class for classic and kernel records */
    EtwDescriptor desc;
    uint32_t pid;
    uint32_t tid;
    uint16_t cpu;
    uint16_t logger;
    uint16_t hook;       /* kernel records: group << 8 | opcode; else 0 */
    uint8_t kind;        /* header type of the record (etl/format.h), 0x90 for WPP */
    uint8_t pointerSize; /* 4 or 8 */
    uint16_t flags;      /* EVENT_HEADER_FLAG_* as on disk */
    uint16_t property;   /* EventProperty of an EVENT_HEADER record */
    bool late;           /* live: delivered after later events */
    bool classic;        /* classic (MOF) or kernel record: provider is a class GUID */
    uint32_t kernelTime, userTime;
    EtwGuid activity;       /* zero if absent */
    const uint8_t *related; /* 16 bytes or NULL */
    const uint8_t *stack;   /* addresses (EtwEventStackWidth bytes each) or NULL */
    uint32_t stackCount;
    uint8_t stackWidth;    /* 0: pointerSize. A 32-bit process's event may have a 64-bit stack */
    uint32_t items;        /* bit n: there is an extended item of type n, see EtwEventItem */
    uint64_t stackMatch;   /* of the stack item: 0, or equal in the two events that each have half
                           of the stack */
    uint64_t stackKey;     /* key into the stack cache rundown, 0: none */
    const uint8_t *traits; /* TraceLogging provider traits (item 12) or NULL */
    uint32_t traitsSize;
    const uint8_t *meta; /* TraceLogging event metadata (item 11) or NULL */
    uint32_t metaSize;
    const uint8_t *extended; /* raw extended items, for relogging */
    uint32_t extendedSize;
    const uint8_t *payload;
    uint32_t payloadSize;
    const char *process;   /* name of process pid; NULL: unknown. Owned by the source */
    const char *object;    /* path of the file or registry key that the payload's FileKey,
                            FileObject or KeyHandle identifies; NULL: unknown. Owned by the
                            source */
    int64_t elapsed;       /* ns from the operation's begin to this event, its end; 0: unknown */
    uint32_t recordSize;   /* padding not included */
    const uint8_t *record; /* the record's bytes in its file; NULL: not from a file. etl/record.h
                              reads what only some kinds have */
} EtwEvent;

static inline size_t EtwEventStackWidth(const EtwEvent *event)
{
    uint8_t width = event->stackWidth != 0 ? event->stackWidth : event->pointerSize;
    return width == 4 ? 4 : 8;
}

/* An address of the event's stack; index is below stackCount. */
static inline uint64_t EtwEventStackAt(const EtwEvent *event, uint32_t index)
{
    size_t width = EtwEventStackWidth(event);
    const uint8_t *at = event->stack + index * width;
    return width == 4 ? EtwLoad32(at) : EtwLoad64(at);
}

/* time + ns, limited to the range of int64_t. */
static inline int64_t EtwTimeAdd(int64_t time, int64_t ns)
{
    int64_t sum;
    return !__builtin_add_overflow(time, ns, &sum) ? sum : ns < 0 ? INT64_MIN : INT64_MAX;
}

/*
 * The data of the event's first extended item of that type (EVENT_HEADER_EXT_TYPE_*: ETL_ITEM_* of
 * etl/format.h), NULL if it has none. Fast if it has none.
 */
const uint8_t *EtwEventItem(const EtwEvent *event, unsigned type, uint32_t *sizePtr);
/* True if the event describes its trace file (class EventTrace). */
bool EtwEventIsHeader(const EtwEvent *event);
/* True for Start, End, DCStart, DCEnd and Defunct of a process, in Windows' kernel. */
bool EtwEventNamesProcess(const EtwEvent *event);

#endif
