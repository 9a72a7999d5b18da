/*
 * base/os.h --
 *
 *	What a platform must give to the core: clock, CPU number, threads, locks, wake-ups, shared
 *	mappings and files. One implementation a platform: unix/os/linux_os.c, win/os/win_os.c. No policy here.
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

/* The session clock in memory. Not serialising: may be some ns early with respect to other memory.
 */
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

/* ---- Machine, process, thread ---------------------------------------------------------------- */

int OsCpuCount(void); /* configured CPUs: an upper bound of OsCpu() + 1 */
int OsCpuSlow(void);
/* Process id, kept right over a fork. Written by the platform layer only. */
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
/* Tells a pid from its reuse; 0 when there is no such process, OS_START_UNKNOWN when that cannot be
 * told just now (no file descriptor left). */
#define OS_START_UNKNOWN UINT64_MAX
uint64_t OsProcessStart(uint32_t pid);
/* The process that had this start still lives, for all one can tell. */
static inline bool OsProcessAlive(uint32_t pid, uint64_t start)
{
    uint64_t now = OsProcessStart(pid);
    return now != 0 && (now == start || now == OS_START_UNKNOWN);
}
/* Around each fork of this process, as pthread_atfork; nothing where there is none. */
void OsOnFork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
uint32_t OsCpuMHz(void);
void OsRandom(void *data, size_t size);
void OsHostName(char *buf, size_t size);
void OsUserName(char *buf, size_t size);    /* whose files this process makes; UTF-8 */
void OsProgramName(char *buf, size_t size); /* that this process runs: the file without folders */
void OsHostText(char *buf, size_t size);    /* "Linux 6.18 x86_64 ..." */
/* handle: a file descriptor, on Windows a HANDLE. -1: no terminal; 0: one that does not say. */
int OsTerminalColumns(intptr_t handle);

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
 * A wake-up: any thread posts, one waits. Posting is async-signal-safe and never blocks; posts
 * while nobody waits are remembered as one.
 */
typedef struct OsWake OsWake;
OsWake *OsWakeNew(void);
void OsWakeFree(OsWake *w);
void OsWakePost(OsWake *w);
bool OsWakeWait(
        OsWake *w, int64_t timeoutNs); /* true: posted; false: timed out. timeoutNs < 0: for ever */

/*
 * A wake-up between processes: the word lies in memory that they share, zeroed at first; `name`
 * names it where a platform needs that. Anybody rings, one waits; rings while nobody waits are
 * remembered as one. Ringing never blocks and is a system call only when somebody sleeps (Windows:
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

/* ---- Counters of one thread (os_counters.c) --------------------------------------------------- */

/*
 * What the processor (instructions, branch-misses ...) and the kernel (page-faults ...) count for the
 * thread that opened them, which reads and closes them. Counters of the kernel's own work where it
 * may be seen, else of the program's alone.
 */
typedef struct OsCounters OsCounters;
enum { OS_COUNTERS = 8 }; /* at once */
/* Of those that this platform knows; NULL: there are not so many. */
const char *OsCounterName(int index);
/* indices: into these names, count (at most OS_COUNTERS) of them. */
EtwStatus OsCountersOpen(OsCounters **countersPtr, const int *indices, int count, EtwError *errPtr);
/* What has been counted since the last time, or the opening. */
void OsCountersTake(OsCounters *counters, uint64_t *values);
void OsCountersClose(OsCounters *counters);

/*
 * The expensive half of an asymmetric fence (membarrier / FlushProcessWriteBuffers): after it,
 * every thread of this process has executed a full fence.
 */
void OsProcessFence(void);

/* Per-thread slot: `destroy` runs at thread exit. One per process is enough for the engine. */
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
 * Run `proc(argument)` in a process of its own that outlives this one: without its terminal, open
 * files and directory, and ended by proc's return, without exit handlers. *pidPtr: its process id.
 * Windows: a process that finds proc as the function OS_DETACHED_ENTRY of this library.
 */
#define OS_DETACHED_ENTRY "EtwDetachedLogger"
EtwStatus OsDetach(void (*proc)(const char *argument), const char *argument, uint32_t *pidPtr,
        EtwError *errPtr);

/* ---- Files and mappings ---------------------------------------------------------------------- */

typedef struct OsMap {
    uint8_t *base;
    size_t size;
    void *handle; /* platform's own */
} OsMap;

/* Per-user runtime directory (ETW_RUNTIME_DIR wins), created 0700 and verified to be ours. UTF-8.
 */
EtwStatus OsRuntimeDir(char *path, size_t size, EtwError *errPtr);

/*
 * Map a file shared and writable. create: made 0600, exclusive, sparse, of `size` bytes; else
 * opened, checked to be ours and a plain file, size taken from it.
 */
EtwStatus OsMapShared(OsMap *map, const char *path, bool create, size_t size, EtwError *errPtr);
EtwStatus OsMapFile(
        OsMap *map, const char *path, EtwError *errPtr); /* read-only, private; size 0: base NULL */
/* A file's pages leave the process's memory; touching them again brings them back. */
void OsMapEvict(OsMap *map);
/*
 * Copy bytes of a mapped file, all of them inside it, without making its pages part of the
 * process's memory where the platform can: for few bytes here and there.
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
 * A file for what is too large for memory: 0600, in TMPDIR (Windows: the user's temporary
 * directory), without a name or gone with its last handle.
 */
EtwStatus OsFileTemp(OsFile **filePtr, EtwError *errPtr);
/* Map all of such a file read-only. The file is closed, also on failure; what it has lives as long
 * as the map. */
EtwStatus OsFileTempMap(OsFile *file, OsMap *map, EtwError *errPtr);
bool OsFileRemove(const char *path);
bool OsFileExists(const char *path);

/* Lock of a file, across processes, freed by the kernel when its holder dies. Not recursive. Those
 * who locked it before its directory was removed lock each other out still. One file a process. */
typedef struct OsFileLock OsFileLock;
EtwStatus OsFileLockAcquire(OsFileLock **lockPtr, const char *path, EtwError *errPtr);
void OsFileLockRelease(OsFileLock *lock);

const char *OsErrorText(int osError, char *buf, size_t size);
const char *OsErrorName(int osError); /* "EACCES", "ERROR_ACCESS_DENIED", or "" */
void OsFullPath(const char *path, char *full, size_t size);

/*
 * Call `proc` when the process is about to be ended by SIGINT, SIGTERM, SIGHUP (default disposition
 * only) or by a closed Windows console, on an ordinary thread of ours, then let it end as it would
 * have. Installed once, on the first call.
 */
void OsOnTermination(void (*proc)(void));

#endif
