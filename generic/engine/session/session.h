/*
 * engine/session/session.h --
 *
 *	A session in the process that owns it: shared by session.c (control) and logger.c (the thread that
 *	drains it).
 *
 *	Ownership: session.c allocates and frees the struct. While the logger thread runs, the members
 *	under "logger" belong to it, and other threads use them only through LoggerCall.
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

/* The position of a stream's reader, and since when it has been blocked. */
typedef struct LoggerStream {
    RingCursor cursor;
    int64_t blockedSince;        /* steady ns, 0: not blocked */
    uint64_t events;             /* read so far */
    uint32_t pinned, pinnedLast; /* the first and last buffer that are read and not on disk yet, or
                                RING_NO_BUFFER; next ones: EtwSession.pinned */
} LoggerStream;

/* A buffer that is read but not on disk yet. It is kept, because after a crash it is the only copy. */
typedef struct LoggerPin {
    uint32_t next;
    uint64_t upTo; /* RingPosition of its end */
} LoggerPin;

struct EtwSession {
    char name[256];
    uint32_t index; /* in the registry */
    uint32_t ownerPid;
    _Atomic int refs; /* controllers inside a call; raised under RegLock, not while it stops */
    bool stopping;    /* under RegLock: being stopped */
    Ring *ring;
    OsThread *thread;
    OsMutex *taskMutex; /* guards tasks and ended */
    LoggerTask *tasks;
    bool ended;

    /* logger */
    EtlWriter *writer;   /* NULL: no file */
    EtlWriterState left; /* sums of the files that were closed before this one */
    uint64_t
            unwritten; /* events that the last flush left in the writer, because the disk refused */
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
void LoggerFlush(EtwSession *session); /* drain, then write to disk */
EtwStatus LoggerOpenFile(EtwSession *session, const char *path, EtwError *errPtr);
EtwStatus LoggerCloseFile(EtwSession *session, int64_t endWall); /* not OK: events were lost */
/* Convert a ring record to an event. False: damaged. The event points into the ring and the registry. */
bool LoggerEventOf(const RingRecord *record, uint32_t size, int cpu, EtwEvent *event);
uint64_t LoggerLost(const Ring *ring); /* all kinds except the file's */

void LoggerOnFlush(void *session, const EtlFlush *put); /* an EtlFlushProc */
/* True: writers have used more than half of the buffers, so that compression has to wait. */
bool LoggerInHurry(void *session);
/* Record in the ring what a write to the file saves: the events of its CPU before these cursors. */
void LoggerNoteFlush(
        Ring *ring, const EtlFlush *put, const RingCursor *user, const RingCursor *kernel);

/* ---- snapshot.c ------------------------------------------------------------------------------ */

EtwStatus LoggerSnapshot(EtwSession *session, const char *path, EtwError *errPtr);
/* Write the current contents of a memory session's ring to a new file. *savedPtr (may be NULL): number of events. */
EtwStatus SnapshotRing(Ring *ring, const EtwAnchors *anchors, const EtlWriterConfig *config,
        uint64_t *savedPtr, EtwError *errPtr);

/* ---- crash_recovery.c ------------------------------------------------------------------------------- */

/*
 * Recover sessions whose owner is dead, then lock the registry, as RegLock does. A recovery writes the events in shared
 * memory to the session's file, without the lock, removes the session's entry, and keeps the result for
 * EtwSessionRecover. Sessions that another process or thread is recovering are left to it. Until its events are
 * in its file, a session is `unsaved`; when they cannot be written, the next call tries again.
 */
EtwStatus SessionsLock(EtwError *errPtr);
/*
 * SessionsLock when no other process or thread is recovering the session of this file (absolute, or as in its
 * configuration; NULL: any session). Fails with the detail RECOVERING when no such recovery ends within REG_PATIENCE
 * seconds.
 */
EtwStatus SessionsLockRecovered(const char *file, EtwError *errPtr);
/* An unsaved session with this name or this file (absolute, or as in its configuration); either may be
 * NULL. The reason is in *errPtr: UNSAVED, or RECOVERING while a live process writes its events. Under the
 * registry's lock. */
bool SessionUnsaved(const char *name, const char *file, EtwError *errPtr);

/* ---- session.c ------------------------------------------------------------------------------- */

/*
 * Registry index of a session of any process by its name, in any case of letters. ETW_E_LOOKUP: there is none, and *errPtr
 * lists the existing ones. ETW_E_STATE: it is not recovered yet (SessionUnsaved). Under SessionsLock.
 */
EtwStatus SessionFind(const char *name, int *indexPtr, EtwError *errPtr);
/* True: this process has stopped the session, but could not lock the registry to remove it. Under the registry's lock. */
bool SessionIsLeft(int index);
/* On the logger's thread. File paths are absolute or of this process's directory. */
/* The errors of a call whose session is being stopped, or has stopped meanwhile. */
EtwStatus SessionStopping(const char *name, EtwError *errPtr);
EtwStatus SessionStopped(const char *name, EtwError *errPtr);
EtwStatus SessionUpdate(EtwSession *session, const EtwSessionConfig *changes, EtwError *errPtr);
EtwStatus SessionSnapshot(EtwSession *session, const char *path, EtwError *errPtr);
EtwStatus SessionKernelOn(EtwSession *session, const EtwKernelEnable *enable, EtwError *errPtr);
void SessionKernelOff(EtwSession *session);
uint32_t SessionFileMode(EtwFileMode mode, bool realtime); /* ETL_MODE_* */
/* The session is started in this process, also when `detached` says otherwise. */
EtwStatus SessionStartLocal(const EtwSessionConfig *config, EtwError *errPtr);
/* Wait until this process owns no session. */
void SessionWaitForAll(void);
EtwStatus EmbeddedQuery(const char *name, EtwSessionInfo *infoPtr, EtwError *errPtr);

/* ---- session_info.c ---------------------------------------------------------------------------------- */

void SessionFillInfo(const Ring *ring, uint32_t index, EtwSessionInfo *info);

/* ---- enable.c -------------------------------------------------------------------------------- */

const char *EtwTclVersion(void);
/* The program in the Host events of this process's sessions, if it is not this process's. */
void SessionSetProgram(const char *name);
void EtwSessionWriteHost(Ring *ring); /* the Host event, into this session only */
EtwStatus EmbeddedMark(const char *name, const char *text, EtwError *errPtr);
EtwStatus EmbeddedEnable(const char *name, const EtwEnable *enable, EtwError *errPtr);
EtwStatus EmbeddedDisable(const char *name, const EtwGuid *provider, EtwError *errPtr);
void EmbeddedProviders(EtwProviderVisit *visit, void *ctx);

/* ---- detached_logger.c -------------------------------------------------------------------------------- */

/* Start a session, whose configuration was checked, in a separate logger process. */
EtwStatus DetachStart(const EtwSessionConfig *config, EtwError *errPtr);
/* The logger process: run the session that this launch file describes, until it is stopped. */
void DetachedRun(const char *path);

/* ---- live_source.c ---------------------------------------------------------------------------------- */

EtwStatus EmbeddedLiveOpen(const char *name, EtwLive **livePtr, EtwError *errPtr);

#endif
