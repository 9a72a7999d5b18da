/*
 * engine/shared/shared_layout.h --
 *
 *	The layout of shared memory: the registry (one per user: sessions, providers, enables, event
 *	classes) and a session's mapping (streams, buffers, records). It contains offsets and indexes, no
 *	pointers. Sizes are fixed: a file is created sparse at its maximum size and not remapped. Every
 *	process of the user can write it, so readers check every offset.
 *
 *	The registry changes under its file lock, except for members that are atomic. A session's mapping
 *	has no lock: ring.h describes the protocol.
 */
#ifndef ETW_SHARED_LAYOUT_H
#define ETW_SHARED_LAYOUT_H

#include "base/guid.h"
#include "engine/engine.h"
#include "event/clock_anchors.h"
#include "event/event.h"
#include <stdatomic.h>

enum {
    REG_PROVIDERS = 1024,
    REG_PROCESSES = 1024,
    REG_REGISTRATIONS = 4096,
    REG_CLASS_BUCKETS = 4096,
    REG_ARENA = 16 << 20 /* bytes of event classes */
};
#define REG_MAGIC 0x3447455257544545ull  /* "EETWREG4" */
#define RING_MAGIC 0x374e455357544545ull /* "EETWSEN7" */

/* ---- Registry -------------------------------------------------------------------------------- */

typedef struct RegSession {
    _Atomic uint64_t instance; /* 0: slot free. Names the mapping file */
    uint32_t ownerPid;
    uint32_t stopping;
    uint32_t owner; /* key of the owner (process_key.h) */
    /* Key of the process that recovers the session, 0: none. That process resets it, also without the lock. */
    _Atomic uint32_t recoverer;
    int64_t startWall;
    uint32_t
            unsaved; /* the owner is dead and its events are not all in its file yet: its name is free */
    char name[256];
} RegSession;

/* One session's request for one provider. Valid while its bit in RegProvider.active is set. */
typedef struct RegEnable {
    uint64_t instance;
    uint32_t session; /* index */
    uint8_t level;    /* 1-255; 255 for "everything" */
    uint8_t pidCount;
    uint8_t idCount;
    uint8_t scoped; /* 1: only processes that are in the session's scope (process_scope.h) */
    uint64_t any;   /* never 0: all ones for "everything" */
    uint64_t all;
    uint32_t pids[8];
    uint16_t ids[64];
} RegEnable;

typedef struct RegProvider {
    Etw_Provider pub; /* must be first: what etw.h shows. Read without lock, one relaxed load */
    _Atomic uint32_t active; /* bit i: enables[i] is valid. Release on set, acquire by writers */
    /* Number of processes in which the operating system's tracing has enabled the provider
     * (native_provider.h), and its combined level and keywords. After a process was killed the number
     * is too high, which costs unnecessary checks. */
    _Atomic uint32_t system;
    uint32_t systemLevel;
    uint64_t systemKeywords;
    _Atomic uint32_t captures;   /* how often its state was requested */
    uint32_t used;               /* slot taken */
    _Atomic uint32_t generation; /* changes when another provider takes the slot */
    EtwGuid guid;
    char name[128];
    RegEnable enables[ETW_MAX_ENABLES];
} RegProvider;

typedef struct RegProcess {
    uint32_t pid;          /* 0: free */
    _Atomic uint32_t wake; /* OsSharedWake: the request for one of its providers has changed */
    uint64_t start;
    _Atomic uint32_t key; /* process_key.h; stays after the process has gone */
} RegProcess;

typedef struct RegRegistration {
    uint32_t count; /* 0: free */
    uint16_t process, provider;
} RegRegistration;

/* An event class: the constant part of its events. Immutable once published by its offset. */
typedef struct RegClass {
    uint32_t next; /* in its hash bucket, 0: last */
    uint32_t size; /* whole, 8-aligned */
    uint16_t provider;
    uint16_t classic; /* 1: guid is the event class of a classic event */
    uint16_t traitsSize;
    uint16_t metaSize; /* 0: readers know it by its guid */
    EtwGuid guid;
    EtwDescriptor desc;
    uint8_t bytes[]; /* traits, then metadata */
} RegClass;

typedef struct Registry {
    uint64_t magic;
    uint32_t size;              /* sizeof(Registry): a version of the layout */
    _Atomic uint32_t arenaUsed; /* bytes; a class is published after this has moved past it */
    uint64_t lastInstance;
    uint32_t lastGeneration; /* of a process or provider */
    RegSession sessions[ETW_MAX_SESSIONS];
    RegProcess processes[REG_PROCESSES];
    RegRegistration registrations[REG_REGISTRATIONS];
    uint32_t buckets[REG_CLASS_BUCKETS];
    RegProvider providers[REG_PROVIDERS];
    _Alignas(64) uint8_t arena[REG_ARENA];
} Registry;

/* ---- A session's mapping --------------------------------------------------------------------- */

/*
 * A request by another process to a session's owner, one at a time. The process that changes `state`
 * from REQUEST_NONE writes the other members; the owner writes the answer. See session_control.c.
 */
enum {
    REQUEST_NONE,
    REQUEST_FILLING,
    REQUEST_POSTED,
    REQUEST_TAKEN,
    REQUEST_ANSWERED,
    REQUEST_TEXT = 8192,
    REQUEST_PIDS = 256
};
typedef struct RingRequest {
    _Atomic uint64_t state; /* the requesting process's key << 32 | REQUEST_* */
    uint32_t verb;          /* ControlVerb */
    uint32_t flushMs, maxBuffers, maxMB;
    uint32_t realtime; /* 0: no change; 1: off, 2: on */
    uint32_t allPids, stacks, interval, groupCount;
    uint32_t pidCount;
    uint32_t pids[REQUEST_PIDS];
    char text[REQUEST_TEXT]; /* a path, or the groups' names; each ends with a NUL */
    int32_t status;          /* the answer: EtwStatus and message */
    EtwError error;
} RingRequest;

enum { RING_CONSUMERS = 64 /* that can be counted */ };
enum { RING_RUNNING = 1, RING_STOPPING = 2, RING_STOPPED = 3 };

/* One per CPU for user-mode writers, and one per CPU for the logger's kernel events. */
typedef struct RingStream {
    _Alignas(64) _Atomic uint64_t current; /* generation << 32 | buffer + 1; 0: none yet */
    _Atomic uint64_t sequence;             /* of the last buffer prepared for this stream */
    _Atomic uint64_t lostNoBuffer;
    _Atomic uint64_t lostTooBig;
    /*
     * Written by the logger. passed: for live readers, the stream's events up to the end of the last
     * buffer that it has read completely. The others are for recovery, which also writes them.
     * onDisk: records before this RingPosition are on disk or given up. next: the same after the flush
     * in progress. flush...: the buffer of the file that it writes, and its place (writers' stream).
     */
    _Atomic uint64_t passed, onDisk, next;
    _Atomic uint64_t flushAt;
    _Atomic uint32_t flushUsed;
    _Atomic int64_t flushSequence;
} RingStream;

/*
 * The owner of a buffer: RingBuffer.state is claimer << 32 | number of claims << 8 | one of these. The
 * number makes each claim's words unique, so that a compare-and-swap fails when the buffer had another
 * owner meanwhile. claimer is the key (process_key.h) of the process that owns a RECYCLING or PREPARED buffer, else 0.
 */
enum {
    RING_FREE = 0,      /* zeroed */
    RING_USED = 1,      /* installed in its stream; after it was closed, its readers' */
    RING_RECYCLING = 2, /* claimed, perhaps not zeroed yet */
    RING_READ = 3,      /* closed, and the logger is through with it */
    RING_PREPARED = 4   /* claimed, zeroed, open; being installed, or just installed */
};
#define RING_CLOSED 0x80000000u

typedef struct RingBuffer {
    /* generation << 32 | RING_CLOSED | end of reserved bytes */
    _Alignas(64) _Atomic uint64_t reserve;
    _Atomic uint64_t state;
    _Atomic uint64_t sequence; /* in its stream, rising */
    _Atomic uint64_t opened;   /* ticks: age for overwriting */
    _Atomic uint64_t serial;   /* events of the stream before this buffer, counted by the logger */
    _Atomic uint32_t stream;
    _Atomic uint32_t abandoned; /* a hung writer may still store into it: never reused */
    _Atomic uint32_t stuck;     /* overwrite mode: contains a record that was left open */
    _Atomic uint32_t backed;    /* its memory is reserved (OsMapReserve) */
    /* Overwrite mode: events that were lost when the buffer was recycled, in all; and the same after
     * the recycling in progress, which RingSweep completes when the claimer is dead. */
    _Atomic uint64_t overwritten, overwrittenNext;
} RingBuffer;

typedef struct RingHeader {
    uint64_t magic;
    uint64_t instance;
    uint32_t headerSize; /* offset of the streams */
    uint32_t cpus;
    uint32_t streams; /* 2 * cpus */
    uint32_t bufferSize;
    uint32_t buffers;            /* capacity */
    _Atomic uint32_t maxBuffers; /* how many may be used now */
    uint32_t minBuffers;
    uint32_t mode;             /* EtwFileMode */
    _Atomic uint32_t realtime; /* changed by the logger, while others query */
    uint32_t compress;         /* EtwCompress */
    uint32_t lossless;         /* writers wait for a free buffer (provider/buffer_wait.h) */
    uint32_t clock;            /* EtwClock */
    uint32_t ownerPid, starter;
    uint32_t owner;     /* key of the owner (process_key.h) */
    uint32_t overwrite; /* writers reuse the oldest closed buffer when none is free */
    uint64_t startTicks;
    int64_t startSteady, startWall;
    char name[256];
    char file[1024];
    uint32_t dataOffset; /* of the first buffer, page aligned */
    /* Written by the logger, read by all processes: */
    _Atomic uint32_t state; /* RING_RUNNING ... */
    _Atomic uint32_t flushMs, maxMB;
    _Atomic uint64_t events, bytes, fileBuffers, overwritten;
    _Atomic uint64_t lostFull, lostIo, lostAbandoned, lostKernel, lostConsumer;
    _Atomic uint64_t
            kernelUntil; /* ticks: kernel events up to here are in; 0: kernel not enabled */
    _Atomic int64_t stopWall;
    char kernel[512]; /* enabled groups, for display: may be read while it changes */
    _Atomic uint32_t consumers[RING_CONSUMERS]; /* keys of the live ones' processes; 0: none */
    _Atomic uint64_t lostTooBig; /* for the file; the streams count those for a buffer */
    _Atomic uint32_t wake;       /* OsSharedWake of the logger */
    /* Lossless sessions. starved: a writer waits; the logger resets it. stalled: a writer has waited in
     * vain, so that others do not wait; reset when the logger releases a buffer. released: how many it has. */
    _Atomic uint32_t starved, stalled;
    _Atomic uint64_t released;
    /* For recovery: */
    _Atomic uint32_t fileNumber; /* new-file mode */
    _Atomic int64_t aliveWall;   /* the logger's last round */
    _Atomic uint32_t anchorTurn; /* anchors[anchorTurn % 2] is whole */
    EtwAnchors anchors[2];
    /* Events that no stream has any more (RingStream.onDisk), and that are not in the file: those in
     * lostIo that were passed, and those in the logger's memory. */
    _Atomic uint64_t givenUp;
    RingRequest request;
} RingHeader;

/*
 * A record, 8-aligned. head is 0 in a zeroed buffer (a hole: reserved, nothing stored), then size |
 * RING_OPEN, then, when all else is stored, size | RING_COMMITTED (release).
 */
#define RING_OPEN 0x40000000u
#define RING_COMMITTED 0x80000000u
#define RING_SIZE_MASK 0x00FFFFFFu
enum { RING_HAS_ACTIVITY = 1, RING_HAS_RELATED = 2 };

typedef struct RingRecord {
    _Atomic uint32_t head;
    uint32_t eventClass; /* offset in the registry's arena */
    uint64_t ticks;
    uint32_t tid, pid;
    uint16_t payloadSize;
    uint8_t flags;
    uint8_t stackCount; /* addresses, 8 bytes each, the innermost first */
    uint32_t writer;    /* key of its process */
    /* [activity 16][related 16] stack, payload, zero padding to 8 */
} RingRecord;
_Static_assert(sizeof(RingRecord) == 32, "a record's header is 32 bytes");

#endif
