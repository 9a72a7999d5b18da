/*
 * engine/session/session.h --
 *
 *	A session in the process that owns it, as session.c (control) and logger.c (the thread that
 *	drains it) share it.
 *
 *	Ownership: session.c makes and frees the struct; everything under "logger" belongs to the
 *	logger thread from its start to its end, and other threads reach it only through LoggerCall.
 */
#ifndef ETW_SESSION_H
#define ETW_SESSION_H

#include "engine/kernel_events.h"
#include "engine/engine_int.h"
#include "engine/provider/provider.h"
#include "etl/write/writer.h"
#include "event/clock_anchors.h"

typedef struct EtwSession EtwSession;

typedef struct LoggerTask {
    void (*proc)(EtwSession *session, void *arg);
    void *arg;
    OsWake *done;
    struct LoggerTask *next;
} LoggerTask;

/* Where a stream's reader stands, and since when it has been stuck. */
typedef struct LoggerStream {
    RingCursor cursor;
    int64_t blockedSince;        /* steady ns, 0: not blocked */
    uint64_t events;             /* read so far */
    uint32_t pinned, pinnedLast; /* the first and last buffer that are read and not on disk yet, or
                                RING_NO_BUFFER; next ones: EtwSession.pinned */
} LoggerStream;

/* A buffer that is read to its end and waits for the disk: until then it is all that a crash leaves. */
typedef struct LoggerPin {
    uint32_t next;
    uint64_t upTo; /* its stream's events up to its end */
} LoggerPin;

struct EtwSession {
    char name[256];
    uint32_t index; /* in the registry */
    uint32_t ownerPid;
    _Atomic int refs; /* controllers inside a call; raised under RegLock, not while it stops */
    bool stopping;    /* under RegLock: somebody stops it */
    Ring *ring;
    OsThread *thread;
    OsMutex *taskMutex; /* guards tasks and ended */
    LoggerTask *tasks;
    bool ended;

    /* logger */
    EtlWriter *writer;   /* NULL: no file */
    EtlWriterState left; /* sums of the files that were closed before this one */
    EtlWriterConfig fileConfig;
    char file[1024];
    EtwAnchors anchors;
    OsInstant lastAnchor;
    EtwKernel *kernel; /* NULL: not enabled */
    LoggerStream *streams;
    LoggerPin *pinned; /* one a buffer */
    uint32_t pinnedCount;
    int64_t lastFlush, lastSweep; /* steady ns */
    int64_t blockTimeout;         /* ns that an uncommitted record may block its stream */
    bool finish;
};

/* ---- logger.c -------------------------------------------------------------------------------- */

EtwStatus LoggerStart(EtwSession *session, EtwError *errPtr);
/* Run proc on the logger's thread between two drains, and wait for it. False: the logger has ended.
 */
bool LoggerCall(EtwSession *session, void (*proc)(EtwSession *, void *), void *arg);
void LoggerJoin(EtwSession *session);

/* For procs that LoggerCall runs: */
void LoggerDrain(
        EtwSession *session); /* everything written before the call goes to the file's buffers */
void LoggerFlush(EtwSession *session); /* drain, then onto the disk */
EtwStatus LoggerOpenFile(EtwSession *session, const char *path, EtwError *errPtr);
EtwStatus LoggerCloseFile(EtwSession *session, int64_t endWall); /* not OK: see what is lost */
/* Fill the event that a ring record is; false: damaged. Pointers into the ring and the registry. */
bool LoggerEventOf(const RingRecord *record, uint32_t size, int cpu, EtwEvent *event);
uint64_t LoggerLost(const Ring *ring); /* all kinds but the file's own */

void LoggerOnFlush(void *session, const EtlFlush *put); /* an EtlFlushProc */

/* ---- snapshot.c ------------------------------------------------------------------------------ */

EtwStatus LoggerSnapshot(EtwSession *session, const char *path, EtwError *errPtr);
/* What a memory session's ring holds now, into a new file; *savedPtr: how many events; may be NULL. */
EtwStatus SnapshotRing(Ring *ring, const EtwAnchors *anchors, const EtlWriterConfig *config,
        uint64_t *savedPtr, EtwError *errPtr);

/* ---- crash_recovery.c ------------------------------------------------------------------------------- */

/*
 * Sessions whose owner is dead: what each left in shared memory is written to its file, the session's
 * entry is removed, and the result is kept for EtwSessionRecover. Under the registry's lock.
 */
void SessionsRecoverDead(void);

/* ---- session.c ------------------------------------------------------------------------------- */

/*
 * Registry index of a session of any process, by name as users write it; -1: none, and *errPtr says
 * which there are. Under the registry's lock.
 */
int SessionFind(const char *name, EtwError *errPtr);
/* On the logger's thread. File paths are absolute or of this process's directory. */
EtwStatus SessionUpdate(EtwSession *session, const EtwSessionConfig *changes, EtwError *errPtr);
EtwStatus SessionSnapshot(EtwSession *session, const char *path, EtwError *errPtr);
EtwStatus SessionKernelOn(EtwSession *session, const EtwKernelEnable *enable, EtwError *errPtr);
void SessionKernelOff(EtwSession *session);
uint32_t SessionFileMode(EtwFileMode mode, bool realtime); /* ETL_MODE_* */
/* The session is started in this process, also when `detached` says otherwise. */
EtwStatus SessionStartLocal(const EtwSessionConfig *config, EtwError *errPtr);
/* Return when this process owns no session any more. */
void SessionWaitForAll(void);
EtwStatus EmbeddedQuery(const char *name, EtwSessionInfo *infoPtr, EtwError *errPtr);

/* ---- session_info.c ---------------------------------------------------------------------------------- */

void SessionFillInfo(const Ring *ring, uint32_t index, EtwSessionInfo *info);

/* ---- enable.c -------------------------------------------------------------------------------- */

const char *EtwTclVersion(void);
void EtwSessionWriteHost(Ring *ring); /* the Host event, into this session only */
EtwStatus EmbeddedMark(const char *name, const char *text, EtwError *errPtr);
EtwStatus EmbeddedEnable(const char *name, const EtwEnable *enable, EtwError *errPtr);
EtwStatus EmbeddedDisable(const char *name, const EtwGuid *provider, EtwError *errPtr);
void EmbeddedProviders(EtwProviderVisit *visit, void *ctx);

/* ---- detached_logger.c -------------------------------------------------------------------------------- */

/* Start a checked session in a logger process of its own. */
EtwStatus DetachStart(const EtwSessionConfig *config, EtwError *errPtr);

/* ---- live_source.c ---------------------------------------------------------------------------------- */

EtwStatus EmbeddedLiveOpen(const char *name, EtwLive **livePtr, EtwError *errPtr);

#endif
