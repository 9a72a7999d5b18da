/*
 * base/os.h --
 *
 *	What a platform provides to the core: clock, CPU number, threads, locks, wake-ups, shared
 *	mappings and files. The implementations are the folders unix/os and win/os. No policy here.
 */
#ifndef ETW_BASE_OS_H
#define ETW_BASE_OS_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdatomic.h>
#include <stdint.h>

#if defined(__x86_64__) && !defined(_WIN32)
#include <x86intrin.h>
#if defined(__has_include)
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define OS_HAVE_RSEQ
#endif
#endif
#endif

/* ---- Clock ----------------------------------------------------------------------------------- */

typedef enum EtwClock {
    ETW_CLOCK_TSC = 1,      /* raw time-stamp counter, invariant and synchronous */
    ETW_CLOCK_MONO_RAW = 2, /* CLOCK_MONOTONIC_RAW, nanoseconds */
    ETW_CLOCK_QPC = 3       /* QueryPerformanceCounter */
} EtwClock;

/* Set once before the first thread starts, by OsInit; constant afterwards. */
extern EtwClock osClock;

void OsInit(void);          /* idempotent, thread-safe */
uint64_t OsTicksSlow(void); /* for clocks other than the TSC */

/* The session clock. Not serialising: it may be read some ns before earlier memory accesses. */
static inline uint64_t OsTicks(void)
{
#if defined(__x86_64__) && !defined(_WIN32)
    if (osClock == ETW_CLOCK_TSC) {
        return __rdtsc();
    }
#endif
    return OsTicksSlow();
}

/* One instant on three clocks: ticks of OsTicks, steady ns (MONOTONIC_RAW; QPC on Windows), wall ns
 * since 1970. */
typedef struct OsInstant {
    uint64_t ticks;
    int64_t steady;
    int64_t wall;
} OsInstant;
void OsNow(OsInstant *nowPtr); /* best of several tries, so that the three belong together within
                                  ~100 ns */

int64_t OsBootTime(void); /* wall ns since 1970 at boot */
int OsTimeZoneBias(void); /* minutes, UTC = local + bias */
/* Wall ns since 1970 as local time, "2024-02-29 23:59:59". Thread-safe. "?": not a time of the calendar. */
void OsLocalTimeText(char *buf, size_t size, int64_t wall);

/* ---- Machine, process, thread ---------------------------------------------------------------- */

int OsCpuCount(void); /* configured CPUs: an upper bound of OsCpu() + 1 */
int OsCpuSlow(void);
/* Process id, updated after a fork. Written by the platform layer only. */
extern _Atomic uint32_t osPid;
static inline uint32_t OsPid(void)
{
    return atomic_load_explicit(&osPid, memory_order_relaxed);
}
/* The CPU that runs this thread just now, a hint. Through the kernel's restartable-sequence area:
 * one load. */
static inline int OsCpu(void)
{
#ifdef OS_HAVE_RSEQ
    uintptr_t self;
    uint32_t cpu;
    __asm__("movq %%fs:0, %0" : "=r"(self));
    cpu = *(const volatile uint32_t *)(self + (uintptr_t)__rseq_offset +
                                       offsetof(struct rseq, cpu_id));
    if (__builtin_expect((int32_t)cpu >= 0 && __rseq_size != 0, 1)) {
        return (int)cpu;
    }
#endif
    return OsCpuSlow();
}
uint32_t OsTid(void); /* kernel thread id; cached per thread */
/* The start time of a process, which distinguishes it from a later process with the same pid. 0: no
 * such process. OS_START_UNKNOWN: it cannot be read at present (no free file descriptor). */
#define OS_START_UNKNOWN UINT64_MAX
uint64_t OsProcessStart(uint32_t pid);
/* True if the process with this start time still runs, or if that is unknown. */
static inline bool OsProcessAlive(uint32_t pid, uint64_t start)
{
    uint64_t now = OsProcessStart(pid);
    return now != 0 && (now == start || now == OS_START_UNKNOWN);
}
/* Functions that are called around each fork of this process, as by pthread_atfork. Windows: never. */
void OsOnFork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
uint32_t OsCpuMHz(void);
void OsRandom(void *data, size_t size);
/* Random numbers of this process, for hash tables. Drawn when the library is loaded; constant afterwards. */
extern uint64_t osSecret[2];
void OsHostName(char *buf, size_t size);
void OsUserName(char *buf, size_t size); /* the owner of files that this process creates; UTF-8 */
void OsProgramName(
        char *buf, size_t size);         /* this process's program: its file name without folders */
void OsHostText(char *buf, size_t size); /* "Linux 6.18 x86_64 ..." */
/* handle: a file descriptor, on Windows a HANDLE. -1: no terminal; 0: a terminal of unknown width. */
int OsTerminalColumns(intptr_t handle);
/*
 * True if it is a terminal that understands escape sequences. Switches a console of Windows 10 or newer to
 * them; older ones would show them as text.
 */
bool OsTerminalEscapes(intptr_t handle);

/* ---- Threads, locks, wake-ups ---------------------------------------------------------------- */

typedef struct OsThread OsThread;
/* Signals are blocked in the new thread. name: at most 15 bytes. */
EtwStatus OsThreadStart(OsThread **threadPtr, const char *name, void (*proc)(void *), void *arg);
void OsThreadJoin(OsThread *thread); /* frees it */

typedef struct OsMutex OsMutex;
OsMutex *OsMutexNew(void);
void OsMutexFree(OsMutex *m);
void OsMutexLock(OsMutex *m);
void OsMutexUnlock(OsMutex *m);

/*
 * A wake-up: any thread posts, one waits. Posting is async-signal-safe and never blocks. Posts while
 * no thread waits are remembered as one.
 */
typedef struct OsWake OsWake;
OsWake *OsWakeNew(void);
void OsWakeFree(OsWake *w);
void OsWakePost(OsWake *w);
bool OsWakeWait(
        OsWake *w, int64_t timeoutNs); /* true: posted; false: timed out. timeoutNs < 0: for ever */

/*
 * A wake-up between processes. The word is in memory that they share, zero at first; `name` is used
 * where the platform needs one. Any process posts, one waits. Posts while no process waits are
 * remembered as one. Posting never blocks. It is a system call only when a process waits (Windows:
 * always).
 */
typedef struct OsSharedWake {
    _Atomic uint32_t *word;
    void *event; /* Windows */
} OsSharedWake;
void OsSharedWakeOpen(OsSharedWake *wake, _Atomic uint32_t *word, const char *name);
void OsSharedWakeClose(OsSharedWake *wake);
void OsSharedWakePost(const OsSharedWake *wake);
bool OsSharedWakeWait(
        const OsSharedWake *wake, int64_t timeoutNs); /* as OsWakeWait, timeoutNs >= 0 */

void OsSleepNs(int64_t ns);

/* ---- Counters of one thread (unix/os/linux_counters.c, win/os/win_counters.c) --------------------------------------------------- */

/*
 * Counters of the processor (instructions, branch-misses ...) and of the kernel (page-faults ...) for
 * the thread that opens them, which also reads and closes them. They include work in the kernel where
 * the process has the right to see it.
 */
typedef struct OsCounters OsCounters;
enum { OS_COUNTERS = 8 }; /* at most, per OsCountersOpen */
/* The name of the platform's counter number `index`; NULL: no such counter. */
const char *OsCounterName(int index);
/* indices: `count` (at most OS_COUNTERS) arguments of OsCounterName. */
EtwStatus OsCountersOpen(OsCounters **countersPtr, const int *indices, int count, EtwError *errPtr);
/* The counts since the previous call, or since OsCountersOpen. */
void OsCountersTake(OsCounters *counters, uint64_t *values);
void OsCountersClose(OsCounters *counters);

/*
 * An asymmetric fence. Of two threads that each store and then load what the other stores, one by
 * OsProcessFence and one by OsCheapFence between the two, at least one sees the other's store.
 * The expensive half is membarrier or FlushProcessWriteBuffers. Where the kernel refuses membarrier, the cheap
 * half is a full fence, too; the first refusal of a process that runs already costs 20 ms.
 */
void OsProcessFence(void);
extern _Atomic bool osCheapFenceIsFull; /* written by the platform layer only */
static inline void OsCheapFence(void)
{
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(atomic_load_explicit(&osCheapFenceIsFull, memory_order_relaxed), 0)) {
        atomic_thread_fence(memory_order_seq_cst);
    }
}

/* A per-thread pointer; `destroy` runs at thread exit. There is one for the whole process. */
#ifdef _WIN32
void *OsThreadSlotGet(void);
#else
/* initial-exec: one instruction instead of a call, also in a shared library (8 bytes of the static
 * surplus). */
extern __thread void *osThreadSlot __attribute__((tls_model("initial-exec")));
static inline void *OsThreadSlotGet(void)
{
    return osThreadSlot;
}
#endif
void OsThreadSlotSet(void *value, void (*destroy)(void *));

/*
 * Start the logger process, which outlives this one, with one argument of at most 1000 bytes. *pidPtr: its process
 * id. Linux: the program etw-logger, which calls OsDetachedEnter; ETW_E_LOOKUP: it is not installed. Windows: rundll32
 * calls the function OS_DETACHED_ENTRY of this library.
 */
#define OS_DETACHED_ENTRY "EtwDetachedLogger"
EtwStatus OsDetach(const char *argument, uint32_t *pidPtr, EtwError *errPtr);
/*
 * Linux, in the program etw-logger, which has one thread: leave the starter's terminal, files and directory. Returns
 * in a forked child, whose process id the starter has received. False: failed, and the starter has the reason.
 */
bool OsDetachedEnter(void);

/* ---- Files and mappings ---------------------------------------------------------------------- */

typedef struct OsMap {
    uint8_t *base;
    size_t size;
    void *handle; /* platform's own */
} OsMap;

/* The user's runtime directory (ETW_RUNTIME_DIR overrides it), created with mode 0700 and checked to
 * belong to the user. UTF-8. */
EtwStatus OsRuntimeDir(char *path, size_t size, EtwError *errPtr);

/*
 * Map a file shared and writable. create: the file is created with mode 0600, sparse, with `size`
 * bytes, and must not exist. Otherwise it must be a regular file of this user, and its size is used.
 */
EtwStatus OsMapShared(OsMap *map, const char *path, bool create, size_t size, EtwError *errPtr);
/*
 * Reserve memory for a part of a shared mapping, whose contents do not change. Without it the first access to a
 * page ends the process with SIGBUS when the file system is full. ETW_E_IO: no room. path: for the message.
 */
EtwStatus OsMapReserve(
        const OsMap *map, size_t offset, size_t size, const char *path, EtwError *errPtr);
/* Read-only, private; size 0: base NULL. A file with holes on a tmpfs is copied: to read a mapped hole could end
 * the process. */
EtwStatus OsMapFile(OsMap *map, const char *path, EtwError *errPtr);
/* Remove a file's pages from the process's memory. The next access reads them again. */
void OsMapEvict(OsMap *map);
/*
 * Copy bytes of a mapped file. If the platform supports it, the pages do not become part of the
 * process's memory. For small pieces. The range must be inside the file.
 */
void OsMapRead(const OsMap *map, uint64_t at, void *to, size_t size);
void OsUnmap(OsMap *map);

typedef struct OsFile OsFile;
/* Created 0600 (truncated) or opened for update. */
EtwStatus OsFileCreate(OsFile **filePtr, const char *path, bool keepContent, EtwError *errPtr);
EtwStatus OsFileWriteAt(
        OsFile *file, uint64_t offset, const void *data, size_t size, int *osErrorPtr);
EtwStatus OsFileReadAt(OsFile *file, uint64_t offset, void *data, size_t size, int *osErrorPtr);
uint64_t OsFileSize(OsFile *file);
EtwStatus OsFileTruncate(OsFile *file, uint64_t size, int *osErrorPtr);
void OsFileClose(OsFile *file);
/*
 * A temporary file for data that is too large for memory: mode 0600, in TMPDIR (Windows: the user's
 * temporary directory). It has no name, or is deleted with its last handle.
 */
EtwStatus OsFileTemp(OsFile **filePtr, EtwError *errPtr);
/* Map a temporary file read-only. The file is closed, also on failure. Its content exists as long as
 * the mapping. */
EtwStatus OsFileTempMap(OsFile *file, OsMap *map, EtwError *errPtr);
uint64_t OsFreeSpace(
        const char *path); /* bytes for this user in the file's directory; UINT64_MAX: unknown */
bool OsFileRemove(const char *path);
bool OsFileExists(const char *path);

/* A lock between processes, on a file. The kernel releases it when its holder dies. Not recursive.
 * When the directory is removed, processes that locked the file before still exclude each other. A
 * process uses one file. */
typedef struct OsFileLock OsFileLock;
/* Does not wait. ETW_AGAIN: another process holds it. */
EtwStatus OsFileLockTry(OsFileLock **lockPtr, const char *path, EtwError *errPtr);
void OsFileLockRelease(OsFileLock *lock);
typedef struct OsLockHolder {
    uint32_t pid;
    char name[64]; /* of its program, without control characters */
    bool stopped;  /* by a signal or a debugger */
} OsLockHolder;
/* The process that holds the lock. False: not known, as on Windows and for a process of another pid namespace. */
bool OsFileLockHolder(const char *path, OsLockHolder *holder);

/*
 * Slots of a file, by which processes prove that they are alive. A process holds its slot until it ends or
 * executes another program. The kernel then releases the slot, so that this is true of a killed process,
 * one whose main thread has ended, and one in another pid namespace. A forked child does not hold the slot,
 * but keeps it from becoming free until it ends, too, or calls OsSlotLeave. Nothing is written to the file.
 * A process uses one file. Windows: a slot is known by the pid and start time of its process.
 */
typedef struct OsSlot {
    void *kept;
} OsSlot;
typedef enum OsSlotState {
    OS_SLOT_FREE,
    OS_SLOT_LEFT, /* its process has ended; forked children of it have not */
    OS_SLOT_HELD,
    OS_SLOT_UNKNOWN /* no free file descriptor, or the file was removed */
} OsSlotState;
/* ETW_AGAIN: the slot is not free. */
EtwStatus OsSlotHold(OsSlot *slot, const char *path, uint32_t number, EtwError *errPtr);
void OsSlotLeave(OsSlot *slot); /* in a forked child: the slot of its parent */
OsSlotState OsSlotCheck(const char *path, uint32_t number, uint32_t pid, uint64_t start);

const char *OsErrorText(int osError, char *buf, size_t size);
/* What to do when no more files can be opened; NULL: the error says something else. */
const char *OsFileLimitHint(int osError);
const char *OsErrorName(int osError); /* "EACCES", "ERROR_ACCESS_DENIED", or "" */
/*
 * The absolute path, from the current directory, with slashes. False: it does not fit, or there is no
 * current directory; *full is then the path as it was given, truncated.
 */
bool OsFullPath(const char *path, char *full, size_t size);
/*
 * The same for a path that must fit. ETW_E_LIMIT: it does not; the error says how long it may be.
 * ETW_E_LOOKUP: there is no current directory. *full is then empty.
 */
EtwStatus OsNeedFullPath(const char *path, char *full, size_t size, EtwError *errPtr);

/*
 * Call `proc` when SIGINT, SIGTERM or SIGHUP (with default disposition only), or a closed Windows
 * console, is about to end the process. The call is made on a thread of the library. Afterwards the
 * process ends as it would have. Installed once, by the first call.
 */
void OsOnTermination(void (*proc)(void));

#endif
