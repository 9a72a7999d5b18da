/*
 * tests/win/sim/sim.h --
 *
 *	A simulation of Windows' event tracing service for tests: the documented functions of
 *	evntrace.h, evntprov.h and tdh_types.h in a DLL, living in the process that calls them. It enforces what
 *	Microsoft's documentation states (limits, errors, who is told what and when) and is built from the
 *	core's own file writer, reader and schemas. Not for users: nothing of it is in the package.
 *
 *	One lock, simLock, guards the tables (sessions, providers, registrations, consumers); a
 *	session's own lock guards its buffers. The order is simLock, then a session's. Callbacks of
 *	providers and consumers are called with neither.
 *
 *	Switches are environment variables: ETWSIM_PRIVILEGE=none|users|noprofile, see SimMayControl and
 *	SimMayProfile; ETWSIM_PROVIDER, see sim_manifest.c; ETWSIM_TDH, see sim_tdh.c; ETWSIM_BUILD, see
 *	SimBuild and lazy_simulated.c; ETWSIM_LOGGERS, see SimMaxSessions; ETWSIM_SERVE, ETWSIM_CONTROL, see
 *	sim_remote.c.
 */
#ifndef ETW_TESTS_WIN_SIM_H
#define ETW_TESTS_WIN_SIM_H

#include "tests/win/abi.h"
#include "base/guid.h"
#include "etl/write/writer.h"
#include "event/event.h"

enum {
    SIM_SESSIONS = 256, /* places; see SimMaxSessions */
    SIM_SYSTEM_LOGGERS = 8,
    SIM_PRIVATE_LOGGERS = 8,
    SIM_ENABLES = 8,
    SIM_NAME = 1024, /* characters of a session's or file's name */
    SIM_FILTER_IDS = 64,
    SIM_FILTER_PIDS = 8,
    SIM_MAX_EVENT = 65536,
    /* of a session: places in the kernel's _ETW_PMC_SUPPORT */
    SIM_COUNTERS = 8,
    SIM_COUNTED_EVENTS = 4
};

/* ---- Processes in filters (sim_scope.c) --------------------------------------------------------- */

typedef struct SimScope {
    ULONG pids[SIM_FILTER_PIDS];
    ULONG pidCount;                                                 /* 0: all */
    WCHAR programs[MAX_EVENT_FILTER_DATA_SIZE / sizeof(WCHAR) + 1]; /* "a.exe;b.exe"; empty: all */
} SimScope;

/* One filter of a process's number or program; a second one of a kind is an error. */
ULONG SimScopeTake(SimScope *scope, const EVENT_FILTER_DESCRIPTOR *filter);
/* What EVENT_TRACE_PROPERTIES_V2 says: such filters alone, and of a private session alone. */
ULONG SimScopeOf(SimScope *scope, const EVENT_TRACE_PROPERTIES *properties);
bool SimScopeHere(const SimScope *scope); /* this process is in it */
bool SimScopeSame(const SimScope *a, const SimScope *b);

/* ---- Sessions (sim_session.c, sim_logger.c) ---------------------------------------------------- */

/* A session's buffer: records as they are in a file, 8-aligned. */
typedef struct SimBuffer {
    struct SimBuffer *next;
    uint32_t used, events;
    uint32_t lostEvents, lostBuffers; /* told in front of the first record */
    uint8_t data[];
} SimBuffer;

typedef struct SimItem { /* in front of each record */
    uint32_t size;
    uint16_t cpu, reserved;
} SimItem;

typedef struct SimQueue {
    SimBuffer *head, *tail;
    uint32_t count;
} SimQueue;

struct SimConsumer;

typedef struct SimSession {
    uint16_t id;
    uint64_t instance; /* tells a session from a later one with the same id */
    WCHAR name[SIM_NAME + 1], file[SIM_NAME + 1];
    GUID guid;
    ULONG mode, bufferKB, minBuffers, maxBuffers, maxFile, flushTimer, enableFlags, clock;
    LONG ageLimit;
    SimScope scope; /* a private session's processes */
    bool system;
    bool stopping;  /* lock: no more events; the logger drains */
    ULONG users;    /* simLock: calls that hold a pointer while simLock is free */
    LONGLONG start; /* FILETIME */
    LONGLONG startTicks;

    CRITICAL_SECTION lock;
    CONDITION_VARIABLE wake;    /* the logger's */
    CONDITION_VARIABLE flushed; /* whoever waits for flushes */
    SimBuffer *current;
    SimQueue free, full;
    ULONG buffers;     /* that exist: in use and free */
    ULONG flushWanted; /* counts requests; flushDone follows */
    ULONG flushClosed; /* up to this request, what was written before is in `full` or out */
    ULONG flushDone;
    bool paused; /* a test holds the logger, so that buffers run out */
    ULONG eventsLost, buffersWritten, logBuffersLost, realTimeBuffersLost;
    ULONG lostUntold; /* events whose loss no buffer has told yet */
    int64_t lastTicks;
    CRITICAL_SECTION writing; /* the writer; taken with no other lock of the session held */
    EtlWriter *writer;
    bool filled;                   /* simLock: the file has its maximum size */
    struct SimConsumer *consumers; /* simLock */
    SimQueue backlog;              /* real time, nobody listens yet */
    HANDLE thread;
    DWORD threadId;
    ULONG groupMasks[8];
    CLASSIC_EVENT_ID stackEvents[256];
    ULONG stackEventCount;
    ULONG counters[SIM_COUNTERS]; /* TracePmcCounterListInfo */
    ULONG counterCount;
    CLASSIC_EVENT_ID countedEvents[SIM_COUNTED_EVENTS]; /* TracePmcEventListInfo */
    ULONG countedEventCount;
} SimSession;

extern SRWLOCK simLock;
extern SimSession *simSessions[SIM_SESSIONS + 1];

void SimInit(void); /* idempotent; every entry point calls it */
/* By handle, or by name when that is not NULL; NULL: no such session. simLock held. */
SimSession *SimSessionFind(TRACEHANDLE handle, LPCWSTR name);
TRACEHANDLE SimSessionHandle(const SimSession *session);
/* Sessions may be controlled: ETWSIM_PRIVILEGE unset; `users` (Performance Log Users): all but
 * the kernel logger; `none`: no. */
bool SimMayControl(bool kernelLogger);
/*
 * Sampling the CPUs requires SeSystemProfilePrivilege, enabled in the token of the caller
 * (TRACE_PROFILE_INTERVAL, NtSetSystemInformation; PerfView's TraceEventSession.cs enables it before it
 * starts). ETWSIM_PRIVILEGE=noprofile: this user does not have it.
 */
bool SimMayProfile(void);
/* The build of Windows: ETWSIM_BUILD; 19045 otherwise. */
ULONG SimBuild(void);
/* Sessions that may run: 64, or the value EtwMaxLoggers of the registry (32 to 256): ETWSIM_LOGGERS. */
ULONG SimMaxSessions(void);

/* End a session; false: somebody else is at it. What it pointed to stays until the last release. */
bool SimSessionStop(SimSession *session);
void SimSessionRelease(SimSession *session);

/* Start and end the logger thread. The path of a session's file is checked by opening it. */
ULONG SimLoggerStart(SimSession *session);
/* Stop taking events, drain, close the file, end consumers. simLock not held. */
void SimLoggerStop(SimSession *session);
void SimLoggerFlush(SimSession *session); /* returns when everything written before is out */
ULONG SimLoggerSwitchFile(SimSession *session, const WCHAR *file);
ULONG SimLoggerSnapshot(SimSession *session, const WCHAR *file);
void SimLoggerFree(SimSession *session);
/* The session's clock now, and its values as FILETIME. */
int64_t SimClockNow(ULONG clock);
LONGLONG SimClockFiletime(const SimSession *session, int64_t ticks);
int64_t SimClockFrequency(ULONG clock);

/*
 * Room for one record of `size` bytes (8-aligned) in the session's buffer, which stays locked until
 * SimRecordEnd. NULL, nothing locked: refused, *errorPtr says why, a loss is counted. *ticksPtr: the
 * time to be put into it.
 */
uint8_t *SimRecordBegin(SimSession *session, size_t size, int64_t *ticksPtr, ULONG *errorPtr);
void SimRecordEnd(SimSession *session);

/* ---- Providers (sim_provider.c, sim_enable.c, sim_write.c) ------------------------------------- */

typedef struct SimIds {
    bool set, in;
    uint16_t count;
    uint16_t ids[SIM_FILTER_IDS];
} SimIds;

/* EVENT_FILTER_EVENT_NAME: applies to events of these keywords and level. */
typedef struct SimNames {
    bool set, in;
    UCHAR level;
    ULONGLONG any, all;
    USHORT count;
    char names[MAX_EVENT_FILTER_DATA_SIZE]; /* each with a NUL */
} SimNames;

struct SimPayloadFilter;

/* What one session wants of a provider. */
typedef struct SimEnable {
    SimSession *session; /* NULL: free entry */
    uint64_t order;      /* of enabling: later ones are higher */
    UCHAR level;
    ULONGLONG any, all;
    ULONG properties;
    GUID source;
    SimIds ids, stackIds;
    SimNames names, stackNames;
    SimScope scope;
    uint8_t *payload; /* aggregated payload filter (sim_payload.c), owned */
    ULONG payloadSize;
    uint8_t *schematized; /* handed to callbacks, owned */
    ULONG schematizedSize;
    ULONG schematizedType;
} SimEnable;

struct SimProvider;

typedef struct SimRegistration {
    struct SimRegistration *next; /* of the same provider */
    struct SimProvider *provider;
    ULONG index;
    PENABLECALLBACK callback;
    PVOID context;
    CRITICAL_SECTION calling; /* held while the callback runs */
    LONG references;          /* simLock: the table's and pending calls' */
    bool gone;
    bool useTypes; /* types of data descriptors count */
    uint8_t *traits;
    uint16_t traitsSize;
} SimRegistration;

typedef struct SimProvider {
    struct SimProvider *next;
    GUID guid;
    SimRegistration *registrations;
    SimEnable enables[SIM_ENABLES];
} SimProvider;

extern SimProvider *simProviders;

SimProvider *SimProviderFind(const GUID *guid, bool create); /* simLock held */
/* simLock held, shared or exclusive; NULL: not a handle. */
SimRegistration *SimRegistrationFind(REGHANDLE handle);
/*
 * Tell a provider's registrations: control code and, for capture state, whose. simLock held
 * exclusively. The calls are made by the notification thread; the event, when not NULL, is set
 * behind the last.
 */
void SimNotify(SimProvider *provider, ULONG code, const SimEnable *enable, HANDLE done);
/* Drop all that a session wanted. simLock held exclusively. */
void SimDisableAll(SimSession *session);
void SimEnableClear(SimEnable *enable);
/* That name of an event of that level and keyword is selected; no filter selects all. */
bool SimNamePasses(const SimNames *names, const EVENT_DESCRIPTOR *event, const char *name);
/* The event passes the level, keywords and filters of that entry; payload not looked at. */
bool SimEnableWants(const SimEnable *enable, const EVENT_DESCRIPTOR *event);
void SimProvidersReset(void);

/* ---- Consumers (sim_consume.c, sim_record.c) --------------------------------------------------- */

typedef struct SimConsumer {
    struct SimConsumer *next; /* of the same session */
    uint64_t handle;
    EVENT_TRACE_LOGFILEW log;
    WCHAR loggerName[SIM_NAME + 1], fileName[SIM_NAME + 1];
    SimSession *session; /* simLock: real time; NULL: a file or the session ended */
    struct EtlReader *reader;
    ULONG clock;
    LONGLONG start, startTicks; /* real time: to convert times when the session is gone */
    CRITICAL_SECTION lock;
    CONDITION_VARIABLE wake;
    SimQueue queue;
    uint32_t limit; /* buffers in the queue */
    uint32_t lostBuffers;
    bool realTime, closed, ended, processing;
} SimConsumer;

/* The logger hands over a filled buffer (a copy is made). False: the consumer's queue is full. */
bool SimConsumerGive(SimConsumer *consumer, const SimBuffer *buffer);
void SimConsumerEnd(SimConsumer *consumer); /* its session ended */
void SimConsumersReset(void);

/* An event as callbacks see it; what it points to lives as long as the event. */
typedef struct SimRecord {
    EVENT_RECORD record;
    EVENT_HEADER_EXTENDED_DATA_ITEM items[16];
} SimRecord;
void SimRecordFrom(SimRecord *out, const EtwEvent *event, LONGLONG time, PVOID context);

/* ---- Kernel events (sim_kernel.c) -------------------------------------------------------------- */

/* Write the events that these flags stand for; what is written at a session's start and end. */
void SimKernelEmit(SimSession *session, ULONG flags);
void SimKernelRundown(SimSession *session, bool end);

/* ---- Schemas (sim_tdh.c, sim_payload.c) --------------------------------------------------------- */

/* The event passes the aggregated payload filter. */
bool SimPayloadPasses(const uint8_t *filter, ULONG size, const GUID *provider,
        const EVENT_DESCRIPTOR *event, const uint8_t *payload, ULONG payloadSize);
void SimTdhReset(void);
void SimManifestProvider(void); /* register the installed provider, once */

/* ---- Controllers in other processes (sim_remote.c) ----------------------------------------------- */

void SimServe(void); /* be one that others control, if ETWSIM_SERVE says so; idempotent */
/* ETWSIM_CONTROL names a process: calls about sessions are to go there, by these. */
bool SimIsRemote(void);
ULONG SimRemoteControl(
        TRACEHANDLE handle, LPCWSTR name, EVENT_TRACE_PROPERTIES *properties, ULONG code);
ULONG SimRemoteList(EVENT_TRACE_PROPERTIES **array, ULONG capacity, ULONG *countPtr);
ULONG SimRemoteEnable(TRACEHANDLE handle, const GUID *guid, ULONG code, UCHAR level, ULONGLONG any,
        ULONGLONG all, ULONG timeout);

/* ---- Small things (sim_util.c) ------------------------------------------------------------------ */

void SimQueueAdd(SimQueue *queue, SimBuffer *buffer);
SimBuffer *SimQueueTake(SimQueue *queue);
void SimQueueFree(SimQueue *queue);
char *SimUtf8(const WCHAR *text); /* EtwFree */
static inline bool SimGuidEqual(const GUID *a, const GUID *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}
bool SimGuidZero(const GUID *guid);

#endif
