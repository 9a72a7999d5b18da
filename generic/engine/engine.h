/*
 * engine/engine.h --
 *
 *	The engine interface: sessions, enabling, and sources of live events. Two engines implement it:
 *	the embedded one (engine/session, engine/provider, engine/shared) and the operating system's
 *	(win/system). dispatch.c chooses. Providers and writing are in etw.h. All functions may be called
 *	from any thread. A session is addressed by name, with the prefix "embedded:" or "system:" where both
 *	engines have a session of that name.
 */
#ifndef ETW_ENGINE_ENGINE_H
#define ETW_ENGINE_ENGINE_H

#include "base/guid.h"
#include "base/status.h"
#include "event/event.h"
#include "etw.h"

enum { ETW_MAX_SESSIONS = 64, ETW_MAX_ENABLES = 8 };

typedef enum EtwFileMode {
    ETW_FILE_SEQUENTIAL,
    ETW_FILE_CIRCULAR,
    ETW_FILE_APPEND,
    ETW_FILE_NEWFILE,
    ETW_FILE_MEMORY /* no file: flight recorder, the oldest buffers are overwritten; see
                       EtwSessionSnapshot */
} EtwFileMode;

/* Whether a session's file is written in the layout of Windows' compressed files. */
typedef enum EtwCompress {
    ETW_COMPRESS_AUTO, /* except in circular mode; the engine system: no */
    ETW_COMPRESS_ON,
    ETW_COMPRESS_OFF
} EtwCompress;

typedef enum EtwEngine {
    ETW_ENGINE_AUTO, /* the system engine where one works, otherwise the embedded one */
    ETW_ENGINE_EMBEDDED,
    ETW_ENGINE_SYSTEM
} EtwEngine;

enum { ETW_MAX_PIDS = 8 }; /* in a filter by processes */

typedef struct EtwSessionConfig {
    const char *name; /* UTF-8, 1-255 bytes, no control characters */
    EtwEngine engine;
    const char *file; /* UTF-8 path; NULL: none (memory or real time) */
    EtwFileMode mode;
    bool realtime;       /* live consumers may attach */
    bool realtimeChange; /* of an update: set `realtime` */
    bool lossless;       /* writers wait for a free buffer. Embedded engine, not memory mode */
    EtwCompress compress;
    uint32_t bufferKB;   /* 0: default 256; 4..1024 */
    uint32_t minBuffers; /* 0: default */
    uint32_t maxBuffers; /* 0: default 128 */
    uint32_t flushMs;    /* 0: default 1000 */
    uint32_t maxMB;      /* 0: no limit; circular needs one */
    bool detached;       /* run by a separate logger process, so that this one may end. Sessions of
                            the system engine always are */
    uint32_t starter;    /* the process that requested it; 0: this one */
    bool kernelLogger; /* may have kernel events: in the system engine, one of eight such sessions of
                          the machine; in the embedded one, as every session */
    int boot;          /* autologgers: 0 the default, 1 Windows starts it, -1 Windows does not */
    /* System engine only: */
    uint32_t clock;           /* 0: the default; 1 QPC, 2 system time, 3 CPU cycles */
    uint32_t logMode;         /* additional EVENT_TRACE_*_MODE bits */
    uint32_t kernelFlags;     /* EVENT_TRACE_FLAG_*, of a session that may have kernel events */
    bool kernelFlagsChange;   /* of an update: set `kernelFlags`, also to 0 */
    const EtwGuid *guid;      /* of the session; NULL: Windows makes one */
    const EtwGuid *inProcess; /* a session of this process and provider alone, in its memory: needs
                                 no privilege, but a file. NULL: an ordinary one */
    const EtwGuid *privateOf; /* one in the memory of each process that has this provider; needs a
                                 file. NULL: an ordinary one */
    const uint32_t *pids;     /* privateOf: these processes only; NULL: all */
    int pidCount;             /* up to ETW_MAX_PIDS */
    const char *executables;  /* privateOf: "a.exe;b.exe", these programs only; NULL: all */
} EtwSessionConfig;

typedef struct EtwLost {
    uint64_t noBuffer;  /* writers found no free buffer */
    uint64_t tooBig;    /* event larger than 64 KB or than a buffer */
    uint64_t fileFull;  /* sequential file at its maximum size */
    uint64_t io;        /* the disk could not be written */
    uint64_t abandoned; /* a writer died or hung inside a write */
    uint64_t kernel;    /* the kernel's own ring overran */
    uint64_t consumer;  /* live consumers too slow (their own loss, summed) */
    /* System engine only, in buffers; the number of events is unknown: */
    uint64_t fileBuffers; /* the disk could not be written, or was too slow */
    uint64_t liveBuffers; /* live consumers too slow */
} EtwLost;

typedef struct EtwSessionInfo {
    const char *engine; /* "embedded" or "system" */
    char name[256];
    char file[1024];
    char state[16]; /* running, stopping, stopped */
    uint32_t index;
    uint64_t instance;
    uint32_t ownerPid;  /* the process that runs the logger */
    uint32_t starter;   /* the process that requested it, which may have ended */
    char user[128];     /* its user; "": unknown */
    char kernel[512];   /* enabled kernel groups, separated by blanks */
    uint32_t consumers; /* live ones */
    int64_t started;    /* ns since 1970 */
    int64_t duration;   /* ns */
    EtwFileMode mode;
    bool realtime, lossless;
    uint32_t bufferKB, minBuffers, maxBuffers, flushMs, maxMB;
    uint32_t buffersUsed, buffersFree; /* in memory, now */
    uint64_t events;      /* recorded, in the file or in memory, with those overwritten since */
    uint64_t bytes;       /* on disk */
    uint32_t buffers;     /* written to disk */
    uint64_t overwritten; /* circular or memory: those of `events` overwritten by newer ones */
    EtwLost lost;
    /* System engine only: */
    uint32_t logMode;     /* EVENT_TRACE_*_MODE */
    uint32_t kernelFlags; /* EVENT_TRACE_FLAG_* */
    uint32_t clock;       /* 1 QPC, 2 system time, 3 CPU cycles */
    EtwGuid guid;
} EtwSessionInfo;

EtwStatus EtwSessionStart(const EtwSessionConfig *config, EtwError *errPtr);
EtwStatus EtwSessionStop(
        const char *name, EtwSessionInfo *infoPtr, EtwError *errPtr); /* infoPtr may be NULL */
EtwStatus EtwSessionFlush(const char *name, EtwSessionInfo *infoPtr,
        EtwError *errPtr); /* writes all previous events to disk */
EtwStatus EtwSessionQuery(const char *name, EtwSessionInfo *infoPtr, EtwError *errPtr);
/* Change flushMs, maxBuffers (up to the session's capacity), maxMB, file (a new file is started),
 * realtime (with realtimeChange), kernelFlags (with kernelFlagsChange). 0 or NULL: no change. */
EtwStatus EtwSessionUpdate(const char *name, const EtwSessionConfig *changes,
        EtwSessionInfo *infoPtr, EtwError *errPtr);
/* Memory mode: write the contents of the buffers to a file. The session continues. */
EtwStatus EtwSessionSnapshot(
        const char *name, const char *file, EtwSessionInfo *infoPtr, EtwError *errPtr);
/* Write a marker (event Mark of provider Etw-Session) into the session, independent of what is enabled. */
EtwStatus EtwSessionMark(const char *name, const char *text, EtwError *errPtr);
/* ETW_E_STATE with the detail LOCKED: another process has locked the registry for too long, and sessions cannot be listed. */
EtwStatus EtwSessionsReachable(EtwError *errPtr);
/* Call visit for each session of the user; false from it ends the walk. */
void EtwSessionList(bool (*visit)(void *ctx, const EtwSessionInfo *info), void *ctx);
/* Call visit for each autologger, which is no session yet, and then `providers` for each provider that
 * they enable. ETW_E_UNSUPPORTED: this system has none. */
struct EtwProviderInfo;
EtwStatus EtwAutologgerList(bool (*visit)(void *ctx, const EtwSessionInfo *info),
        bool (*providers)(void *ctx, const struct EtwProviderInfo *info), void *ctx,
        EtwError *errPtr);
/* Stop all sessions that this process owns (exit, signals). */
void EtwSessionStopAll(void);

/* For the Host event that opens each session: "8.6.13", or "" in programs without Tcl. */
void EtwSetTclVersion(const char *version);

/*
 * When a session's owner has died, the next process that accesses sessions recovers it: the events
 * in shared memory are written to its file, which is closed. This recovers such sessions now, and
 * reports each session that this process has recovered and not yet reported.
 */
typedef struct EtwRecovered {
    char name[256], file[1024];
    uint32_t ownerPid;
    uint64_t events; /* written to the file by the recovery */
    EtwStatus status;
    EtwError error; /* status not ETW_OK: why the file could not be completed */
} EtwRecovered;
EtwStatus EtwSessionRecover(
        void (*visit)(void *ctx, const EtwRecovered *recovered), void *ctx, EtwError *errPtr);

/* ---- Enabling providers ---------------------------------------------------------------------- */

/* Additions to each event of the provider. Values of EVENT_ENABLE_PROPERTY_*. */
enum {
    ETW_ENABLE_SID = 0x001,
    ETW_ENABLE_TS_ID = 0x002,
    ETW_ENABLE_STACKS = 0x004,
    ETW_ENABLE_PSM_KEY = 0x008,
    ETW_ENABLE_IGNORE_KEYWORD_0 = 0x010, /* events without a keyword pass no mask */
    ETW_ENABLE_PROCESS_START_KEY = 0x080,
    ETW_ENABLE_EVENT_KEY = 0x100,
    ETW_ENABLE_EXCLUDE_INPRIVATE = 0x200
};

/* A condition on a field of an event. Conditions on the same event are combined by "and". */
typedef struct EtwPayloadTest {
    uint16_t id;
    uint8_t version;
    const char *field, *value; /* UTF-8; the value in the notation of its type in the manifest */
    uint16_t op; /* PAYLOAD_OPERATOR of tdh_types.h: 0 == 1 != 2 <= 3 > 4 < 5 >= 6 between 7
                                  not between 8 mod 20 contains 21 does not contain 30 is 31 is not */
} EtwPayloadTest;

/* Events by name. TraceLogging events only. */
typedef struct EtwNameFilter {
    const char
            *names; /* UTF-8, each with a NUL, up to ETW_MAX_FILTER_NAMES bytes; NULL: no filter */
    size_t size;
    int count;
    bool excluded; /* all events but these */
} EtwNameFilter;
enum { ETW_MAX_ARGUMENTS = 1024, ETW_MAX_FILTER_NAMES = 1000 };

typedef struct EtwEnable {
    EtwGuid provider;
    const char *providerName; /* for a provider not registered yet; may be NULL */
    uint8_t level;            /* 0: everything */
    uint64_t any, all;        /* any 0: everything */
    const uint32_t *pids;     /* NULL: every process of the user */
    int pidCount;             /* up to ETW_MAX_PIDS */
    const uint16_t *ids;      /* event ids; NULL: all */
    int idCount;              /* up to 64 */
    bool pidsByDefault;       /* pids is a default of ours: the system engine uses all processes, as
                                 other tools do */
    bool scoped;              /* only processes that were started with the session's instance in
                                 ETW_SCOPE (engine/shared/process_scope.h). Embedded engine only;
                                 pidCount must be 0 */
    bool captureState;        /* request that the provider writes its state now */
    /* System engine only: */
    uint32_t properties;           /* ETW_ENABLE_* */
    const char *executables;       /* "a.exe;b.exe": only these programs; NULL: all */
    bool idsExcluded;              /* all events but those with these ids */
    EtwNameFilter names;           /* events with these names */
    const uint16_t *stackIds;      /* with ETW_ENABLE_STACKS: of these events only; NULL: all */
    int stackIdCount;              /* up to 64 */
    bool stackIdsExcluded;         /* of all events but these */
    EtwNameFilter stackNames;      /* of events with these names */
    const EtwPayloadTest *payload; /* NULL: none */
    int payloadCount;
    bool payloadAny;       /* one test of an event that is true suffices */
    const char *arguments; /* for the provider: names and values, each with a NUL; NULL: none */
    size_t argumentsSize;  /* up to ETW_MAX_ARGUMENTS */
} EtwEnable;
EtwStatus EtwSessionEnable(const char *name, const EtwEnable *enable, EtwError *errPtr);
EtwStatus EtwSessionDisable(const char *name, const EtwGuid *provider, EtwError *errPtr);

typedef struct EtwProviderInfo {
    EtwGuid guid;
    char name[128];
    int registrations; /* of all processes; 0: the provider is known but not registered */
    int enables;
    struct {
        const char *engine;
        char session[256];
        uint8_t level;
        uint64_t any, all;
    } enabled[2 * ETW_MAX_ENABLES]; /* of both engines */
} EtwProviderInfo;
void EtwProviderList(bool (*visit)(void *ctx, const EtwProviderInfo *info), void *ctx);

/* ---- Kernel events of a session (engine/kernel_events.h) -------------------------------------------- */

/* How the stack of an event is found; a later one replaces an earlier one. */
typedef enum EtwStackKind {
    ETW_STACKS_NONE,
    ETW_STACKS_FRAMES, /* by frame pointers, in the kernel */
    ETW_STACKS_COPIES /* callers in user mode by call frame information, from a copy of the stack */
} EtwStackKind;

typedef struct EtwKernelEnable {
    const char *const *groups; /* portable names (process tcpip ...) or linux:SYSTEM:EVENT */
    int groupCount;
    const uint32_t *pids; /* NULL: this process and its children */
    int pidCount;
    bool allPids;
    EtwStackKind stacks; /* each event with the stack that led to it */
    uint32_t interval;   /* of group profile: CPU time between samples in us; 0: 1000 */
    const char *const
            *counters; /* system engine: their values with each event; by Windows' names */
    int counterCount;  /* 0: none */
    size_t ringKB;     /* minimum size of the kernel's ring of each CPU; set by the session */
} EtwKernelEnable;
EtwStatus EtwSessionEnableKernel(const char *name, const EtwKernelEnable *enable, EtwError *errPtr);
EtwStatus EtwSessionDisableKernel(const char *name, EtwError *errPtr);

/* ---- Live consumption ------------------------------------------------------------------------ */

typedef struct EtwLive EtwLive;
EtwStatus EtwLiveOpen(const char *session, EtwLive **livePtr, EtwError *errPtr);
/*
 * Next event in time order up to the watermark. ETW_OK; ETW_AGAIN: nothing now (EtwLiveWait);
 * ETW_END: the session stopped and everything was delivered. Pointers in *event are valid until the
 * next call.
 */
EtwStatus EtwLiveNext(EtwLive *live, EtwEvent *event);
void EtwLiveWait(EtwLive *live,
        int64_t timeoutNs);      /* until events may be there, the session stops, or EtwLiveWake */
void EtwLiveWake(EtwLive *live); /* from another thread */
uint64_t EtwLiveLost(const EtwLive *live); /* events overtaken by the writers */
void EtwLiveClose(EtwLive *live);

#endif
