/*
 * unix/attach/linux_attach.c --
 *
 *	Implements attach/attach.h: loads the package's binary into a process and requests that its interpreters evaluate a script.
 *
 *	1. One thread is stopped where it cannot hold a lock of malloc or of the dynamic linker: in a system call that waits, or in
 *	   the code of libtcl. It calls dlopen, and the function that starts a thread of ours; it then continues.
 *	2. That thread checks Tcl's structures and queues an event for each interpreter. This reaches those that run an event loop.
 *	3. All threads are stopped for an instant in which each interpreter gets a limit (interp limit) that calls our handler
 *	   before its next command. This reaches those that execute. Nothing is allocated or locked meanwhile.
 */
#define _GNU_SOURCE
#include "unix/attach/inject.h"
#include "base/alloc.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

EtwStatus OsAttachStatus(uint32_t pid, uint64_t address, EtwAttachStatus *status, EtwError *err)
{
    Target target = {.pid = (pid_t)pid};
    if (!TargetRead(&target, address, status, sizeof *status)) {
        return errno == EPERM ? TargetForbidden(&target, err) : TargetEnded(&target, err);
    }
    status->message[ETW_ATTACH_TEXT - 1] = '\0';
    return ETW_OK;
}

#ifdef __x86_64__

#include <sys/syscall.h>

enum {
    AREA = 1
           << 20, /* bytes of memory in the process for the calls: texts at the begin, stack at the end */
    STACK = 256 << 10,
    THREADS_MAX = 4096,
    STOP_NS = 200000000, /* for one thread to stop */
    FUTEX_WAIT_BITSET_ = 9,
    FUTEX_FLAGS = 128 | 256
};

/* ---- Where a thread may be interrupted ------------------------------------------------------- */

/*
 * System calls that wait, which neither malloc nor the dynamic linker uses. A futex is one only if it belongs to a
 * condition variable or a semaphore.
 */
static bool isWait(const Stopped *stopped, int64_t call)
{
    static const int waits[] = {SYS_read, SYS_poll, SYS_ppoll, SYS_select, SYS_pselect6,
            SYS_epoll_wait, SYS_epoll_pwait, SYS_nanosleep, SYS_clock_nanosleep, SYS_wait4,
            SYS_waitid, SYS_accept, SYS_accept4, SYS_recvfrom, SYS_recvmsg, SYS_pause,
            SYS_rt_sigtimedwait, SYS_rt_sigsuspend,
            SYS_restart_syscall /* of a poll, sleep or futex that was stopped before */};
    if (call == SYS_futex) {
        return (InjectArgument(stopped) & ~(uint64_t)FUTEX_FLAGS) == FUTEX_WAIT_BITSET_;
    }
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        if (call == waits[i]) {
            return true;
        }
    }
    return false;
}

static bool isFile(const TargetMap *map, const char *name)
{
    const char *slash = map != NULL ? strrchr(map->path, '/') : NULL;
    return slash != NULL && strncmp(slash + 1, name, strlen(name)) == 0;
}

/*
 * True if a handler of a signal seems to run: the address of the code that ends handlers is on the stack. It may be left from
 * an earlier one; then another moment is chosen.
 */
static bool inHandler(const Target *target, uint64_t stack)
{
    static const unsigned char code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    const TargetMap *map = TargetMapOf(target, stack);
    uint64_t words[512];
    for (uint64_t at = stack; map != NULL && at < map->end && at < stack + STACK;
            at += sizeof words) {
        uint64_t size = map->end - at < sizeof words ? map->end - at : sizeof words;
        if (!TargetRead(target, at, words, size)) {
            break;
        }
        for (uint64_t i = 0; i < size / 8; i++) {
            unsigned char found[sizeof code];
            const TargetMap *place = words[i] > 4096 ? TargetMapOf(target, words[i]) : NULL;
            if (place != NULL && place->executable && isFile(place, "libc") &&
                    TargetRead(target, words[i], found, sizeof found) &&
                    memcmp(found, code, sizeof code) == 0) {
                return true;
            }
        }
    }
    return false;
}

static bool isSafe(const Target *target, const TargetTcl *tcl, const Stopped *stopped)
{
    int64_t call;
    uint64_t stack, place = InjectPlace(stopped, &call, &stack);
    const TargetMap *map = TargetMapOf(target, place);
    if (map == NULL) {
        return false;
    }
    if (call >= 0) {
        return isWait(stopped, call) &&
               (isFile(map, "libc.") || isFile(map, "libpthread") || isFile(map, "libc-"));
    }
    return map->inode == tcl->image->inode && strcmp(map->path, tcl->image->path) == 0 &&
           !inHandler(target, stack);
}

/* ---- The threads of the process -------------------------------------------------------------- */

static int compareThreads(const void *a, const void *b)
{
    pid_t one = *(const pid_t *)a, two = *(const pid_t *)b;
    return one < two ? -1 : one > two;
}

static int listThreads(pid_t pid, pid_t *threads)
{
    char path[64];
    int count = 0;
    const struct dirent *entry;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    while (dir != NULL && (entry = readdir(dir)) != NULL && count < THREADS_MAX) {
        if (atoi(entry->d_name) > 0) {
            threads[count++] = atoi(entry->d_name);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    qsort(threads, (size_t)count, sizeof *threads, compareThreads);
    return count;
}

static pid_t starter; /* of this process; when it has ended, nothing is begun any more */

/* Stop a thread of the process at a safe place. *stoppedPtr NULL with ETW_OK: none was there in time. */
static EtwStatus stopSafely(const Target *target, const TargetTcl *tcl, int64_t deadline,
        Stopped **stoppedPtr, EtwError *err)
{
    pid_t *threads = EtwAlloc(THREADS_MAX * sizeof *threads);
    EtwStatus status = ETW_OK;
    *stoppedPtr = NULL;
    for (int64_t pause = 200000; status == ETW_OK && *stoppedPtr == NULL;) {
        int count = listThreads(target->pid, threads);
        if (count == 0) {
            status = TargetEnded(target, err);
        }
        for (int i = 0; i < count && status == ETW_OK && *stoppedPtr == NULL; i++) {
            status = InjectStop(target, threads[i], InjectClock() + STOP_NS, stoppedPtr, err);
            if (*stoppedPtr != NULL && !isSafe(target, tcl, *stoppedPtr)) {
                InjectRelease(*stoppedPtr);
                *stoppedPtr = NULL;
            }
        }
        if (InjectClock() > deadline || getppid() != starter) {
            break;
        }
        if (status == ETW_OK && *stoppedPtr == NULL) {
            InjectPause(pause);
            pause = pause < 5000000 ? pause + 170000 : 300000; /* not in step with the program */
        }
    }
    EtwFree(threads);
    return status;
}

/* ---- 1. The binary in the process ------------------------------------------------------------ */

/* What is written into the process: the request with its interpreters, then the texts. */
typedef struct Area {
    uint64_t address, used, top;
} Area;

static uint64_t put(const Target *target, Area *area, const void *bytes, size_t size)
{
    uint64_t at = area->address + area->used;
    if (size > AREA - STACK - area->used || !TargetWrite(target, at, bytes, size)) {
        return 0;
    }
    area->used += (size + 15) & ~(uint64_t)15;
    return at;
}

static EtwStatus checkLibrary(const Target *target, const char *library, EtwError *err)
{
    char path[4096];
    struct stat info;
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)target->pid);
    if (library == NULL || access(library, R_OK) != 0) {
        return EtwFail(err, ETW_E_LOOKUP, "PACKAGE", pid,
                "this installation of etw has no binary for the Tcl of process %s%s%s: install etw "
                "for that Tcl in the same directory",
                pid, library ? ": " : "", library ? library : "");
    }
    snprintf(path, sizeof path, "/proc/%s/root%s", pid, library);
    if (stat(path, &info) != 0) {
        return EtwFail(err, ETW_E_LOOKUP, "CONTAINER", pid,
                "process %s has another root directory, of a container for example, and does not "
                "see %s: install the same etw there, in the same directory",
                pid, library);
    }
    return ETW_OK;
}

static uint64_t findDlopen(const Target *target, const char *name)
{
    static const char *const images[] = {"libc.so", "libc-", "libdl"};
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        const TargetMap *image = TargetImage(target, images[i], name);
        if (image != NULL) {
            return TargetSymbol(target, image, name);
        }
    }
    return 0;
}

typedef struct Functions {
    uint64_t open, symbol, error, errorNumber;
} Functions;

static EtwStatus findFunctions(const Target *target, Functions *functions, EtwError *err)
{
    *functions = (Functions){findDlopen(target, "dlopen"), findDlopen(target, "dlsym"),
            findDlopen(target, "dlerror"), findDlopen(target, "__errno_location")};
    if (functions->open == 0 || functions->symbol == 0 || functions->error == 0 ||
            functions->errorNumber == 0) {
        char pid[16];
        snprintf(pid, sizeof pid, "%d", (int)target->pid);
        return EtwFail(err, ETW_E_UNSUPPORTED, "DLOPEN", pid,
                "the C library of process %s is not glibc, or is not loaded dynamically: etw "
                "cannot "
                "load its binary there",
                pid);
    }
    return ETW_OK;
}

/* All that one stop of the process does. */
typedef struct Injection {
    const Target *target;
    Stopped *stopped;
    Functions functions;
    Area area;
    EtwError *err;
} Injection;

static EtwStatus interrupted(const Injection *in)
{
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)in->target->pid);
    return kill(in->target->pid, 0) != 0
                   ? TargetEnded(in->target, in->err)
                   : EtwFail(in->err, ETW_E_STATE, "CALL", pid,
                             "a call in process %s failed: it was not attached to", pid);
}

static bool call(
        const Injection *in, uint64_t function, uint64_t first, uint64_t second, uint64_t *result)
{
    return InjectCall(in->stopped, function, first, second, in->area.top, result);
}

static EtwStatus loadLibrary(Injection *in, const char *library, uint64_t *handle)
{
    enum { NOW = 2 };
    char why[300] = "";
    uint64_t text, path = put(in->target, &in->area, library, strlen(library) + 1);
    if (path == 0 || !call(in, in->functions.open, path, NOW, handle)) {
        return interrupted(in);
    }
    if (*handle == 0) {
        char pid[16];
        snprintf(pid, sizeof pid, "%d", (int)in->target->pid);
        if (call(in, in->functions.error, 0, 0, &text) && text != 0) {
            TargetText(in->target, text, why, sizeof why);
        }
        return EtwFail(
                in->err, ETW_E_IO, "LOAD", pid, "process %s cannot load the package: %s", pid, why);
    }
    return ETW_OK;
}

static EtwStatus findEntry(Injection *in, uint64_t handle, const char *name, uint64_t *entry)
{
    uint64_t text = put(in->target, &in->area, name, strlen(name) + 1);
    if (text == 0 || !call(in, in->functions.symbol, handle, text, entry)) {
        return interrupted(in);
    }
    if (*entry == 0) {
        return EtwFail(in->err, ETW_E_UNSUPPORTED, "HOOKS", name,
                "the package's binary for the Tcl of the process was built without Tcl's private "
                "headers: etw attaches only with the fast hooks (etw pkgconfig get hooks)");
    }
    return ETW_OK;
}

static uint64_t putRequest(Injection *in, const TargetTcl *tcl, const char *script)
{
    size_t size = offsetof(EtwAttachRequest, interps) + tcl->count * sizeof *tcl->interps;
    EtwAttachRequest *request = EtwAlloc(size);
    uint64_t at = 0;
    request->stubs = tcl->stubs;
    request->count = tcl->count;
    request->script = put(in->target, &in->area, script, strlen(script) + 1);
    memcpy(request->interps, tcl->interps, tcl->count * sizeof *tcl->interps);
    if (request->script != 0) {
        at = put(in->target, &in->area, request, size);
    }
    EtwFree(request);
    return at;
}

typedef struct Entries {
    uint64_t begin, arm;
} Entries;

static EtwStatus begin(Injection *in, const TargetTcl *tcl, const OsAttachRequest *request,
        Entries *entries, OsAttached *attached)
{
    uint64_t handle, argument;
    EtwAttachStatus progress;
    EtwStatus status = loadLibrary(in, request->libraries[tcl->version], &handle);
    if (status == ETW_OK) {
        status = findEntry(in, handle, ETW_ATTACH_BEGIN, &entries->begin);
    }
    if (status == ETW_OK) {
        status = findEntry(in, handle, ETW_ATTACH_ARM, &entries->arm);
    }
    if (status != ETW_OK) {
        return status;
    }
    argument = putRequest(in, tcl, request->script);
    if (argument == 0) {
        return EtwFail(in->err, ETW_E_LIMIT, "SCRIPT", NULL,
                "the patterns and options are too long for an attach");
    }
    if (!call(in, entries->begin, argument, 0, &attached->status)) {
        return interrupted(in);
    }
    if (attached->status == 0) {
        return EtwFail(in->err, ETW_E_MEMORY, "THREAD", NULL,
                "the process has no memory or threads left: it was not attached to");
    }
    status = OsAttachStatus((uint32_t)in->target->pid, attached->status, &progress, in->err);
    if (status == ETW_OK && progress.refused == ETW_ATTACH_NO_THREADS) {
        char pid[16];
        snprintf(pid, sizeof pid, "%d", (int)in->target->pid);
        return EtwFail(in->err, ETW_E_UNSUPPORTED, "THREADS", pid,
                "the Tcl of process %s was built without threads: start the program with "
                "ETW_ATTACH=1 (see etw_attach(n))",
                pid);
    }
    attached->generation = progress.generation;
    return status;
}

/* Memory for the calls, and the thread's errno, which they change. */
static EtwStatus openArea(Injection *in, uint64_t *errnoAt, int *number)
{
    const uint64_t map[] = {SYS_mmap, 0, AREA, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, ~(uint64_t)0, 0};
    int64_t address = InjectSystemCall(in->stopped, map);
    if (address < 0 && address > -4096) {
        return interrupted(in);
    }
    in->area = (Area){(uint64_t)address, 0, (uint64_t)address + AREA};
    if (!call(in, in->functions.errorNumber, 0, 0, errnoAt) ||
            !TargetRead(in->target, *errnoAt, number, sizeof *number)) {
        return interrupted(in);
    }
    return ETW_OK;
}

static void closeArea(const Injection *in, uint64_t errnoAt, int number)
{
    if (errnoAt != 0) {
        TargetWrite(in->target, errnoAt, &number, sizeof number);
    }
    if (in->area.address != 0) {
        const uint64_t unmap[] = {SYS_munmap, in->area.address, AREA, 0, 0, 0, 0};
        InjectSystemCall(in->stopped, unmap);
    }
}

static EtwStatus inject(const Target *target, const TargetTcl *tcl, const OsAttachRequest *request,
        Entries *entries, OsAttached *attached, EtwError *err)
{
    Injection in = {.target = target, .err = err};
    uint64_t errnoAt = 0;
    int number = 0;
    EtwStatus status = findFunctions(target, &in.functions, err);
    if (status == ETW_OK) {
        status = stopSafely(target, tcl, InjectClock() + (int64_t)request->milliseconds * 1000000,
                &in.stopped, err);
    }
    if (status == ETW_OK && in.stopped == NULL) {
        char pid[16];
        snprintf(pid, sizeof pid, "%d", (int)target->pid);
        return EtwFail(err, ETW_E_STATE, "BUSY", pid,
                "process %s had no thread within %d ms that could be stopped safely (in a wait of "
                "the system, or in the code of Tcl): try again",
                pid, request->milliseconds);
    }
    if (status == ETW_OK) {
        status = openArea(&in, &errnoAt, &number);
        if (status == ETW_OK) {
            status = begin(&in, tcl, request, entries, attached);
        }
        closeArea(&in, errnoAt, number);
        if (!InjectRelease(in.stopped) && status == ETW_OK) {
            status = TargetEnded(target, err);
        }
    }
    return status;
}

/* ---- 3. Limits ------------------------------------------------------------------------------- */

typedef struct StoppedAll {
    Stopped *threads[THREADS_MAX];
    int count;
    pid_t late; /* will stop later; 0: none */
} StoppedAll;

static bool hasThread(const pid_t *known, int count, pid_t tid)
{
    return bsearch(&tid, known, (size_t)count, sizeof tid, compareThreads) != NULL;
}

/* False: not all threads could be stopped. Threads that start meanwhile are stopped in the next round. */
static bool stopAll(const Target *target, StoppedAll *all)
{
    pid_t *threads = EtwAlloc(2 * THREADS_MAX * sizeof *threads), *known = threads + THREADS_MAX;
    int knownCount = 0, count = 0;
    bool ok = true, more = true;
    for (int round = 0; ok && more && round < 20; round++) {
        more = false;
        count = listThreads(target->pid, threads);
        for (int i = 0; i < count && ok; i++) {
            Stopped *stopped = NULL;
            if (hasThread(known, knownCount, threads[i])) {
                continue;
            }
            bool late;
            more = true;
            ok = InjectTryStop(target, threads[i], InjectClock() + STOP_NS, &stopped, &late,
                         NULL) == ETW_OK &&
                 stopped != NULL && all->count < THREADS_MAX;
            all->late = late ? threads[i] : 0;
            if (stopped != NULL) {
                all->threads[all->count++] = stopped;
            }
        }
        memcpy(known, threads, (size_t)count * sizeof *threads);
        knownCount = count;
    }
    EtwFree(threads);
    return ok && !more;
}

/* Returns the number of interpreters that have got a limit, -1: the threads could not be stopped. */
static int arm(const Target *target, uint64_t entry)
{
    static const uint64_t map[] = {SYS_mmap, 0, AREA, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, ~(uint64_t)0, 0};
    StoppedAll *all = EtwAlloc(sizeof *all);
    int armed = -1;
    if (stopAll(target, all) && all->count > 0) {
        Stopped *first = all->threads[0];
        int64_t area = InjectSystemCall(first, map);
        uint64_t result;
        if (area > 0) {
            if (InjectCall(first, entry, 0, 0, (uint64_t)area + AREA, &result)) {
                armed = (int)result;
            }
            const uint64_t unmap[] = {SYS_munmap, (uint64_t)area, AREA, 0, 0, 0, 0};
            InjectSystemCall(first, unmap);
        }
    }
    for (int i = 0; i < all->count; i++) {
        InjectRelease(all->threads[i]);
    }
    if (all->late != 0) {
        InjectForget(all->late);
    }
    EtwFree(all);
    return armed;
}

/* ---- All steps ------------------------------------------------------------------------------- */

static EtwStatus waitPrepared(
        const Target *target, const OsAttached *attached, int64_t deadline, EtwError *err)
{
    EtwAttachStatus progress;
    EtwStatus status;
    do {
        status = OsAttachStatus((uint32_t)target->pid, attached->status, &progress, err);
        if (status != ETW_OK || progress.generation != attached->generation || progress.prepared) {
            return status;
        }
        InjectPause(500000);
    } while (InjectClock() < deadline);
    return ETW_OK; /* events may still reach the interpreters */
}

static EtwStatus attachSteps(const Target *target, const TargetTcl *tcl,
        const OsAttachRequest *request, OsAttached *attached, EtwError *err)
{
    Entries entries = {0};
    EtwStatus status = inject(target, tcl, request, &entries, attached, err);
    if (status == ETW_OK) {
        status = waitPrepared(target, attached, InjectClock() + 1000000000, err);
    }
    for (int tries = 0; status == ETW_OK && tries < 3; tries++) {
        if (arm(target, entries.arm) >= 0) {
            break;
        }
    }
    return status;
}

/* What the process that changes the other one reports. */
typedef struct Outcome {
    EtwStatus status;
    OsAttached attached;
    EtwError err;
} Outcome;

static bool readOutcome(int fd, Outcome *outcome)
{
    size_t got = 0;
    while (got < sizeof *outcome) {
        ssize_t n = read(fd, (char *)outcome + got, sizeof *outcome - got);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return false;
        }
        got += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* In a process of its own: a session of its own gets no signals of the terminal. */
static void helperMain(const Target *target, const TargetTcl *tcl, const OsAttachRequest *request,
        int fd, pid_t parent)
{
    static Outcome outcome;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    setsid();
    starter = parent;
    outcome.status = attachSteps(target, tcl, request, &outcome.attached, &outcome.err);
    _exit(write(fd, &outcome, sizeof outcome) == (ssize_t)sizeof outcome ? 0 : 1);
}

/*
 * If etw were killed while it has stopped a thread of the other process, that process could crash or hang. Therefore a child
 * process, which blocks all signals and is in a session of its own, makes the changes. It needs some milliseconds.
 */
static EtwStatus runHelper(const Target *target, const TargetTcl *tcl,
        const OsAttachRequest *request, OsAttached *attached, EtwError *err)
{
    Outcome outcome;
    int ends[2] = {-1, -1};
    pid_t parent = getpid(), helper = -1;
    if (pipe2(ends, O_CLOEXEC) == 0) {
        helper = fork();
        if (helper == 0) {
            helperMain(target, tcl, request, ends[1], parent);
        }
        close(ends[1]);
    }
    if (helper < 0) {
        if (ends[0] >= 0) {
            close(ends[0]);
        }
        return EtwFail(err, ETW_E_MEMORY, "PROCESS", NULL,
                "this system has no process or file left for the attach");
    }
    bool complete = readOutcome(ends[0], &outcome);
    close(ends[0]);
    while (waitpid(helper, NULL, 0) < 0 && errno == EINTR) {
    }
    if (!complete) {
        char pid[16];
        snprintf(pid, sizeof pid, "%d", (int)target->pid);
        return EtwFail(err, ETW_E_STATE, "HELPER", pid,
                "the part of etw that attaches to process %s was killed: the process may have "
                "ended, or may end",
                pid);
    }
    *attached = outcome.attached;
    if (outcome.status != ETW_OK && err != NULL) {
        *err = outcome.err;
    }
    return outcome.status;
}

/* The helper of an etw that was killed lives for some more milliseconds. */
static EtwStatus openTarget(Target *target, uint32_t pid, EtwError *err)
{
    EtwStatus status = TargetOpen(target, pid, err);
    for (int tries = 0; tries < 50 && status == ETW_E_STATE && strcmp(err->detail, "TRACED") == 0;
            tries++) {
        TargetFree(target);
        InjectPause(10000000);
        status = TargetOpen(target, pid, err);
    }
    return status;
}

EtwStatus OsAttach(
        uint32_t pid, const OsAttachRequest *request, OsAttached *attached, EtwError *err)
{
    Target target;
    TargetTcl tcl = {0};
    *attached = (OsAttached){0};
    EtwStatus status = openTarget(&target, pid, err);
    if (status == ETW_OK) {
        status = TargetTclFind(&target, &tcl, err);
    }
    if (status == ETW_OK) {
        status = checkLibrary(&target, request->libraries[tcl.version], err);
    }
    if (status == ETW_OK) {
        status = runHelper(&target, &tcl, request, attached, err);
        attached->interps = tcl.count;
        attached->limited = tcl.limited;
    }
    EtwFree(tcl.interps);
    TargetFree(&target);
    return status;
}

#else

EtwStatus OsAttach(
        uint32_t pid, const OsAttachRequest *request, OsAttached *attached, EtwError *err)
{
    (void)pid;
    (void)request;
    (void)attached;
    return EtwFail(err, ETW_E_UNSUPPORTED, "PLATFORM", NULL,
            "etw attaches to running programs on Linux x86-64 only: start the program with "
            "ETW_ATTACH=1");
}

#endif
