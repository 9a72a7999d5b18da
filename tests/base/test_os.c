/*
 * tests/base/test_os.c --
 *
 *	base/os.h as a platform must give it: clock, threads, wake-ups, mappings and locks between
 *	processes, files. The program starts itself again as `test_os --child ROLE PATH ...` where
 *	a second process is needed.
 */
#define _GNU_SOURCE
#include "tests/support/check.h"
#include "base/os.h"
#include <stdatomic.h>
#include <stdlib.h>
#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <errno.h>
#include <signal.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
#endif

static char *selfPath;
static char dir[1024]; /* the runtime directory, ours alone, emptied by the tests themselves */

static void inDir(char *path, const char *name)
{
    snprintf(path, 1200, "%s/%s", dir, name);
}

/* ---- A second process ------------------------------------------------------------------------ */

typedef struct Child {
#ifdef _WIN32
    PROCESS_INFORMATION info;
#else
    pid_t pid;
#endif
} Child;

static uint32_t childPid(const Child *child)
{
#ifdef _WIN32
    return child->info.dwProcessId;
#else
    return (uint32_t)child->pid;
#endif
}

static bool childStart(Child *child, const char *role, const char *path)
{
#ifdef _WIN32
    char command[3000];
    STARTUPINFOA start = {.cb = sizeof start};
    snprintf(command, sizeof command, "\"%s\" --child %s \"%s\"", selfPath, role, path);
    return CreateProcessA(NULL, command, NULL, NULL, FALSE, CREATE_NEW_PROCESS_GROUP, NULL, NULL,
            &start, &child->info);
#else
    char *argv[] = {selfPath, "--child", (char *)role, (char *)path, NULL};
    return posix_spawn(&child->pid, "/proc/self/exe", NULL, NULL, argv, environ) == 0;
#endif
}

/* Its exit code; -1: ended by a signal (or, on Windows, killed). */
static int childWait(Child *child)
{
#ifdef _WIN32
    DWORD code = 0;
    WaitForSingleObject(child->info.hProcess, INFINITE);
    GetExitCodeProcess(child->info.hProcess, &code);
    CloseHandle(child->info.hProcess);
    CloseHandle(child->info.hThread);
    return code > 255 ? -1 : (int)code;
#else
    int status;
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
#endif
}

static void childKill(Child *child)
{
#ifdef _WIN32
    TerminateProcess(child->info.hProcess, 1000);
#else
    kill(child->pid, SIGKILL);
#endif
}

/* What parent and child say to each other in a shared mapping. */
typedef struct Shared {
    _Atomic uint32_t stage; /* the child counts up, the parent watches */
    uint32_t counter;       /* guarded by the file lock, on purpose not atomic */
} Shared;

/* No wake-ups cross processes in os.h: the parent looks every millisecond, for ten seconds. */
static bool waitStage(Shared *shared, uint32_t stage)
{
    for (int i = 0; i < 10000; i++) {
        if (atomic_load(&shared->stage) >= stage) {
            return true;
        }
        OsSleepNs(1000000);
    }
    return false;
}

enum { LOCK_ROUNDS = 300 };

static EtwStatus waitForLock(OsFileLock **lock, const char *lockPath)
{
    EtwStatus status;
    while ((status = OsFileLockTry(lock, lockPath, NULL)) == ETW_AGAIN) {
        OsSleepNs(20000);
    }
    return status;
}

static void countUnderLock(Shared *shared, const char *lockPath)
{
    for (int i = 0; i < LOCK_ROUNDS; i++) {
        OsFileLock *lock;
        uint32_t seen;
        if (waitForLock(&lock, lockPath) != ETW_OK) {
            return;
        }
        seen = *(volatile uint32_t *)&shared->counter;
        for (volatile int spin = 0; spin < 200; spin++) {
        }
        *(volatile uint32_t *)&shared->counter = seen + 1;
        OsFileLockRelease(lock);
    }
}

static Shared *terminationShared;
static void onTermination(void)
{
    atomic_fetch_add(&terminationShared->stage, 10);
}

/*
 * Store buffering: of two threads that each store and then look at the other's flag, one at least
 * sees the other. One executes the cheap half of the fence, one the expensive half.
 */
static _Atomic int fenceGo, flagA, flagB, sawB;
enum { FENCE_END = -1, FENCE_ROUNDS = 3000 };

static void cheapSide(void *unused)
{
    (void)unused;
    for (int i = 1;; i++) {
        int go;
        while ((go = atomic_load(&fenceGo)) != FENCE_END && go < i) {
        }
        if (go == FENCE_END) {
            return;
        }
        atomic_store_explicit(&flagA, i, memory_order_relaxed);
        OsCheapFence();
        int saw = atomic_load_explicit(&flagB, memory_order_relaxed) == i;
        atomic_store(&sawB, i * 2 + saw);
    }
}

/* The number of rounds, of at most so many and at most 2 s, in which neither saw the other; -1: no thread. */
static int fenceRounds(int rounds)
{
    OsThread *t;
    OsInstant begin, now;
    int missed = 0;
    fenceGo = flagA = flagB = sawB = 0;
    if (OsThreadStart(&t, "fence", cheapSide, NULL) != ETW_OK) {
        return -1;
    }
    OsNow(&begin);
    now = begin;
    for (int i = 1; i <= rounds && now.steady - begin.steady < INT64_C(2000000000); i++) {
        atomic_store(&fenceGo, i);
        atomic_store_explicit(&flagB, i, memory_order_relaxed);
        OsProcessFence();
        int saw = atomic_load_explicit(&flagA, memory_order_relaxed) == i;
        while (atomic_load(&sawB) / 2 != i) {
        }
        missed += !saw && !(atomic_load(&sawB) & 1);
        if (i % 100 == 0) {
            OsNow(&now);
        }
    }
    atomic_store(&fenceGo, FENCE_END);
    OsThreadJoin(t);
    return missed;
}

#ifndef _WIN32
/* From now on the kernel refuses membarrier, as in a container or a sandboxed browser. */
static bool refuseMembarrier(void)
{
    struct sock_filter code[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

enum { FENCE_NO_FILTER = 77, REFUSED_ROUNDS = 200000 };

/* early: the filter is there before OsInit. Otherwise the first half of the rounds runs without it. */
static int fenceChild(bool early)
{
    int missed = 0;
    if (early && !refuseMembarrier()) {
        return FENCE_NO_FILTER;
    }
    OsInit();
    if (!early) {
        missed += fenceRounds(FENCE_ROUNDS);
        if (!refuseMembarrier()) {
            return FENCE_NO_FILTER;
        }
        OsProcessFence();
    }
    missed += fenceRounds(REFUSED_ROUNDS);
    return atomic_load(&osCheapFenceIsFull) ? missed != 0 : 6;
}
#endif

static int childMain(const char *role, const char *path)
{
    OsMap map;
    char lockPath[1200];
    Shared *shared;
#ifndef _WIN32
    if (strncmp(role, "fence-", 6) == 0) {
        return fenceChild(strcmp(role, "fence-early") == 0);
    }
#endif
    OsInit();
    if (OsRuntimeDir(dir, sizeof dir, NULL) != ETW_OK ||
            OsMapShared(&map, path, false, 0, NULL) != ETW_OK) {
        return 3;
    }
    shared = (Shared *)(void *)map.base;
    inDir(lockPath, "lock");
    if (strcmp(role, "count") == 0) {
        atomic_fetch_add(&shared->stage, 1);
        countUnderLock(shared, lockPath);
        return 0;
    }
    if (strcmp(role, "hold") == 0) {
        OsFileLock *lock;
        if (waitForLock(&lock, lockPath) != ETW_OK) {
            return 4;
        }
    }
    if (strcmp(role, "end") == 0) {
        terminationShared = shared;
#ifdef _WIN32
        SetConsoleCtrlHandler(NULL, FALSE); /* a new process group starts with Ctrl-C ignored */
#endif
        OsOnTermination(onTermination);
    }
    /*
     * hold, end, sleep: stay until the parent makes an end of us (a minute at most). In short
     * sleeps with an atomic between them: TSan keeps a signal back until the thread reaches one of
     * its own entry points, and one long sleep would be none.
     */
    atomic_fetch_add(&shared->stage, 1);
    for (int i = 0; i < 60000 && atomic_load(&shared->stage) < 1000; i++) {
        OsSleepNs(1000000);
    }
    return 5;
}

/* ---- Clock ----------------------------------------------------------------------------------- */

static void clockRises(void)
{
    uint64_t last = OsTicks(), first = last;
    for (int i = 0; i < 100000; i++) {
        uint64_t now = OsTicks();
        if (now < last) {
            CHECK_MSG(false, "step back from %llu to %llu", (unsigned long long)last,
                    (unsigned long long)now);
            return;
        }
        last = now;
    }
    OsSleepNs(1000000);
    CHECK(OsTicks() > first);
}

static void localTime(void)
{
    char text[32], again[32];
    OsLocalTimeText(text, sizeof text, INT64_C(1000000000) * 86400 * 10000);
    CHECK(strncmp(text, "1997-05-", 8) == 0); /* 1997-05-19 00:00 UTC */
    OsLocalTimeText(again, sizeof again, INT64_C(1000000000) * (86400 * 10000 + 1));
    CHECK_STR(again + 17, "01");
    CHECK(strncmp(text, again, 17) == 0);
}

static void instantsBelongTogether(void)
{
    OsInstant a, b;
    OsNow(&a);
    OsSleepNs(50000000);
    OsNow(&b);
    CHECK(b.ticks > a.ticks);
    CHECK(b.steady - a.steady >= 45000000);
    /* Both are nanoseconds: over 50 ms they agree to 5 ms even while the wall clock is slewed. */
    CHECK_MSG(llabs((b.steady - a.steady) - (b.wall - a.wall)) < 5000000, "steady %lld, wall %lld",
            (long long)(b.steady - a.steady), (long long)(b.wall - a.wall));
    CHECK(a.wall > 1600000000LL * 1000000000);
    CHECK(OsBootTime() < a.wall && OsBootTime() > a.wall - 3650LL * 86400 * 1000000000);
    CHECK(OsTimeZoneBias() >= -14 * 60 && OsTimeZoneBias() <= 14 * 60);
}

/* ---- Machine, process, thread ---------------------------------------------------------------- */

static void machine(void)
{
    char host[200];
    uint8_t one[32], two[32];
    CHECK(OsCpuCount() >= 1);
    for (int i = 0; i < 1000; i++) {
        int cpu = OsCpu();
        REQUIRE(cpu >= 0 && cpu < OsCpuCount());
    }
    OsHostName(host, sizeof host);
    CHECK(strlen(host) > 0);
    OsHostText(host, sizeof host);
    CHECK(strlen(host) > 5);
    OsRandom(one, sizeof one);
    OsRandom(two, sizeof two);
    CHECK(memcmp(one, two, sizeof one) != 0);
}

static void mapFor(OsMap *map, const char *name, char *path)
{
    inDir(path, name);
    OsFileRemove(path);
    map->base = NULL;
    OsMapShared(map, path, true, 4096, NULL);
}

static void processStart(void)
{
    Child child;
    OsMap map;
    char path[1200];
    uint64_t start;
    CHECK(OsProcessStart(OsPid()) != 0);
    CHECK(OsProcessStart(OsPid()) == OsProcessStart(OsPid()));
    mapFor(&map, "start", path);
    REQUIRE(map.base != NULL);
    REQUIRE(childStart(&child, "sleep", path));
    CHECK(waitStage((Shared *)(void *)map.base, 1));
    start = OsProcessStart(childPid(&child));
    CHECK(start != 0);
    CHECK(start >= OsProcessStart(OsPid()));
    childKill(&child);
    uint32_t pid = childPid(&child);
    CHECK_EQ(childWait(&child), -1);
    CHECK_EQ(OsProcessStart(pid), 0);
    OsUnmap(&map);
    OsFileRemove(path);
}

/* ---- Threads --------------------------------------------------------------------------------- */

static OsMutex *mutex;
static long mutexCount;

static void addMany(void *tidPtr)
{
    for (int i = 0; i < 100000; i++) {
        OsMutexLock(mutex);
        mutexCount++;
        OsMutexUnlock(mutex);
    }
    *(uint32_t *)tidPtr = OsTid();
}

static void threadsAndMutex(void)
{
    OsThread *a, *b;
    uint32_t tidA = 0, tidB = 0;
    mutex = OsMutexNew();
    mutexCount = 0;
    REQUIRE(OsThreadStart(&a, "a", addMany, &tidA) == ETW_OK);
    REQUIRE(OsThreadStart(&b, "a-name-that-is-too-long", addMany, &tidB) == ETW_OK);
    OsThreadJoin(a);
    OsThreadJoin(b);
    CHECK_EQ(mutexCount, 200000);
    CHECK(tidA != 0 && tidB != 0 && tidA != tidB && tidA != OsTid());
    OsMutexFree(mutex);
}

static void postOnce(void *wake)
{
    OsWakePost(wake);
}

static void wake(void)
{
    OsWake *w = OsWakeNew();
    OsThread *t;
    OsInstant a, b;
    CHECK(!OsWakeWait(w, 0));
    OsWakePost(w);
    OsWakePost(w);
    CHECK(OsWakeWait(w, -1)); /* posts while nobody waits are one */
    CHECK(!OsWakeWait(w, 0));
    OsNow(&a);
    CHECK(!OsWakeWait(w, 20000000));
    OsNow(&b);
    CHECK(b.steady - a.steady >= 15000000);
    REQUIRE(OsThreadStart(&t, "post", postOnce, w) == ETW_OK);
    CHECK(OsWakeWait(w, 10000000000));
    OsThreadJoin(t);
    OsWakeFree(w);
}

static _Atomic int slotsDestroyed;

static void slotGone(void *value)
{
    atomic_fetch_add(&slotsDestroyed, *(int *)value);
}

static void useSlot(void *value)
{
    if (OsThreadSlotGet() == NULL) {
        OsThreadSlotSet(value, slotGone);
    }
}

static void threadSlot(void)
{
    OsThread *t;
    int value = 7;
    CHECK(OsThreadSlotGet() == NULL);
    REQUIRE(OsThreadStart(&t, "slot", useSlot, &value) == ETW_OK);
    OsThreadJoin(t);
    CHECK_EQ(slotsDestroyed, 7);
    CHECK(OsThreadSlotGet() == NULL);
}

static void processFence(void)
{
    CHECK_EQ(fenceRounds(FENCE_ROUNDS), 0);
}

#ifndef _WIN32
/* A filter of system calls refuses membarrier from the start, or later. */
static void processFenceRefused(void)
{
    for (const char *const *role = (const char *const[]){"fence-early", "fence-late", NULL}; *role;
            role++) {
        Child child;
        int code;
        REQUIRE(childStart(&child, *role, dir));
        code = childWait(&child);
        if (code == FENCE_NO_FILTER) {
            SKIP("no filter of system calls can be installed");
        }
        CHECK_EQ(code, 0);
    }
}
#endif

/* ---- Mappings and locks ---------------------------------------------------------------------- */

static void mapping(void)
{
    OsMap a, b, c;
    char path[1200];
    EtwError err;
    mapFor(&a, "map \xc3\xa4\xe2\x82\xac", path);
    REQUIRE(a.base != NULL);
    CHECK_EQ(a.size, 4096);
    for (size_t i = 0; i < a.size; i++) {
        REQUIRE(a.base[i] == 0);
    }
    CHECK_EQ(OsMapShared(&b, path, true, 4096, &err), ETW_E_STATE);
    CHECK(err.osError != 0 && strstr(err.message, path) != NULL);
    REQUIRE(OsMapShared(&b, path, false, 0, &err) == ETW_OK);
    CHECK_EQ(b.size, 4096);
    a.base[4095] = 42;
    CHECK_EQ(b.base[4095], 42);
    REQUIRE(OsMapFile(&c, path, &err) == ETW_OK);
    CHECK_EQ(c.size, 4096);
    CHECK_EQ(c.base[4095], 42);
    OsUnmap(&c);
    OsUnmap(&b);
    CHECK(b.base == NULL);
    /* Removed while mapped: the bytes stay, the name is free at once. */
    CHECK(OsFileRemove(path));
    CHECK(!OsFileExists(path));
    CHECK_EQ(a.base[4095], 42);
    CHECK_EQ(OsMapShared(&b, path, false, 0, &err), ETW_E_LOOKUP);
    REQUIRE(OsMapShared(&b, path, true, 8192, &err) == ETW_OK);
    CHECK_EQ(b.base[4095], 0);
    OsUnmap(&a);
    OsUnmap(&b);
    CHECK(OsFileRemove(path));
    CHECK(!OsFileRemove(path));
}

/* A session's mapping is sized for its maximum: that must not cost the disk or the memory. */
#ifdef __linux__
/* A file with a hole on a full tmpfs, in a child with mounts of its own. 99: no rights to mount. */
static int readHole(void)
{
    enum { SIZE = 1 << 20, HOLE = 1 << 18 };
    static char block[4096];
    OsMap map;
    int fd, sum = 0;
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("none", "/mnt", "tmpfs", 0, "size=128k") != 0) {
        return 99;
    }
    fd = open("/mnt/holes", O_RDWR | O_CREAT, 0600);
    if (pwrite(fd, "a", 1, 0) != 1 || pwrite(fd, "b", 1, HOLE) != 1 || ftruncate(fd, SIZE) != 0) {
        return 98;
    }
    close(fd);
    fd = open("/mnt/filler", O_RDWR | O_CREAT, 0600);
    while (write(fd, block, sizeof block) == (ssize_t)sizeof block) {
    }
    if (OsMapFile(&map, "/mnt/holes", NULL) != ETW_OK || map.size != SIZE) {
        return 97;
    }
    OsMapEvict(&map);
    for (size_t i = 0; i < map.size; i++) {
        sum += map.base[i];
    }
    OsUnmap(&map);
    return sum == 'a' + 'b' ? 0 : 96;
}

static void holesOnFullMemory(void)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        _exit(readHole());
    }
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 99) {
        SKIP("this machine gives no mounts of one's own");
    }
    CHECK_EQ(status, 0);
}
#endif

static void largeMapping(void)
{
    OsMap map;
    char path[1200];
    EtwError err;
    inDir(path, "large");
    OsFileRemove(path);
    size_t size = (size_t)1 << (sizeof(void *) > 4 ? 30 : 28);
    REQUIRE(OsMapShared(&map, path, true, size, &err) == ETW_OK);
    map.base[0] = 1;
    map.base[map.size - 1] = 2;
    CHECK_EQ(map.size, size);
    OsUnmap(&map);
    CHECK(OsFileRemove(path));
}

static void lockExcludes(void)
{
    Child one, two;
    OsMap map;
    char path[1200], lockPath[1200];
    Shared *shared;
    mapFor(&map, "locked", path);
    REQUIRE(map.base != NULL);
    shared = (Shared *)(void *)map.base;
    inDir(lockPath, "lock");
    REQUIRE(childStart(&one, "count", path));
    REQUIRE(childStart(&two, "count", path));
    CHECK(waitStage(shared, 2));
    countUnderLock(shared, lockPath);
    CHECK_EQ(childWait(&one), 0);
    CHECK_EQ(childWait(&two), 0);
    CHECK_EQ(shared->counter, 3 * LOCK_ROUNDS);
    OsUnmap(&map);
    OsFileRemove(path);
}

static void takeLock(void *tookPtr)
{
    OsFileLock *lock;
    char lockPath[1200];
    inDir(lockPath, "lock");
    if (waitForLock(&lock, lockPath) == ETW_OK) {
        atomic_store((_Atomic int *)tookPtr, 1);
        OsFileLockRelease(lock);
    }
}

static void lockDiesWithItsHolder(void)
{
    Child child;
    OsMap map;
    OsThread *t;
    char path[1200];
    _Atomic int took = 0;
    mapFor(&map, "held", path);
    REQUIRE(map.base != NULL);
    REQUIRE(childStart(&child, "hold", path));
    CHECK(waitStage((Shared *)(void *)map.base, 1));
    REQUIRE(OsThreadStart(&t, "lock", takeLock, &took) == ETW_OK);
    OsSleepNs(50000000); /* time to do wrong */
    CHECK_EQ(took, 0);
    childKill(&child);
    childWait(&child);
    OsThreadJoin(t);
    CHECK_EQ(took, 1);
    OsUnmap(&map);
    OsFileRemove(path);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static void files(void)
{
    OsFile *file, *again;
    OsMap map;
    EtwError err;
    char path[1200], buf[16];
    int e = 0;
    inDir(path, "file \xd0\xb6");
    REQUIRE(OsFileCreate(&file, path, false, &err) == ETW_OK);
    CHECK_EQ(OsFileSize(file), 0);
    CHECK_EQ(OsFileWriteAt(file, 5, "world", 5, &e), ETW_OK);
    CHECK_EQ(OsFileWriteAt(file, 0, "hello", 5, &e), ETW_OK);
    CHECK_EQ(OsFileSize(file), 10);
    CHECK_EQ(OsFileReadAt(file, 3, buf, 4, &e), ETW_OK);
    CHECK_MEM(buf, 4, "lowo", 4);
    CHECK_EQ(OsFileReadAt(file, 8, buf, 4, &e), ETW_END);
    CHECK_EQ(OsFileReadAt(file, 100, buf, 1, &e), ETW_END);
    CHECK_EQ(OsFileTruncate(file, 7, &e), ETW_OK);
    CHECK_EQ(OsFileSize(file), 7);
    REQUIRE(OsFileCreate(&again, path, true, &err) == ETW_OK);
    CHECK_EQ(OsFileSize(again), 7);
    OsFileClose(again);
    REQUIRE(OsMapFile(&map, path, &err) == ETW_OK);
    CHECK_MEM(map.base, map.size, "hellowo", 7);
    /* Made anew: who reads or writes the old one goes on with the old one. */
    REQUIRE(OsFileCreate(&again, path, false, &err) == ETW_OK);
    CHECK_EQ(OsFileSize(again), 0);
    CHECK_EQ(OsFileSize(file), 7);
    CHECK_MEM(map.base, map.size, "hellowo", 7);
    OsUnmap(&map);
    OsFileClose(again);
    /* An empty file maps to nothing. */
    REQUIRE(OsMapFile(&map, path, &err) == ETW_OK);
    CHECK(map.base == NULL && map.size == 0);
    OsUnmap(&map);
    CHECK(OsFileExists(path));
    CHECK(OsFileRemove(path)); /* while open */
    CHECK(!OsFileExists(path));
    OsFileClose(file);
    OsFileClose(NULL);
}

static void filesRefused(void)
{
    OsFile *file;
    OsMap map;
    EtwError err;
    char path[1200];
    CHECK_EQ(OsFileCreate(&file, dir, false, &err), ETW_E_IO);
    CHECK_EQ(OsMapFile(&map, dir, &err), ETW_E_IO);
    inDir(path, "no/such/file");
    CHECK_EQ(OsFileCreate(&file, path, false, &err), ETW_E_IO);
    CHECK(err.osError != 0 && strcmp(OsErrorName(err.osError), "") != 0);
    CHECK_EQ(OsMapFile(&map, path, &err), ETW_E_IO);
    CHECK(strstr(err.message, "no/such/file") != NULL);
    CHECK(!OsFileRemove(dir));
}

#ifndef _WIN32
static void runtimeDirIsOurs(void)
{
    char other[1200], found[1200];
    EtwError err;
    inDir(other, "open");
    REQUIRE(mkdir(other, 0700) == 0);
    chmod(other, 0755);
    setenv("ETW_RUNTIME_DIR", other, 1);
    CHECK_EQ(OsRuntimeDir(found, sizeof found, &err), ETW_E_ACCESS);
    chmod(other, 0700);
    CHECK_EQ(OsRuntimeDir(found, sizeof found, &err), ETW_OK);
    CHECK_STR(found, other);
    setenv("ETW_RUNTIME_DIR", dir, 1);
    rmdir(other);
}
#endif

static void paths(void)
{
    char full[1200], text[300];
    CHECK(OsFullPath("a/b", full, sizeof full));
    CHECK(strlen(full) > 4 && strchr(full, '\\') == NULL);
    CHECK(strcmp(full + strlen(full) - 4, "/a/b") == 0);
    size_t needed = strlen(full) + 1;
    char whole[1200];
    CHECK(OsFullPath("a/b", whole, needed));
    CHECK_STR(whole, full);
    CHECK(!OsFullPath("a/b", whole, needed - 1));
    CHECK_STR(whole, "a/b"); /* never a part of another path */
    CHECK_EQ(OsNeedFullPath("a/b", whole, needed, NULL), ETW_OK);
    EtwError err;
    CHECK_EQ(OsNeedFullPath("a/b", whole, needed - 1, &err), ETW_E_LIMIT);
    CHECK_STR(err.detail, "PATH");
    CHECK_STR(whole, "");
#ifdef _WIN32
    int refused = ERROR_ACCESS_DENIED;
    CHECK(full[1] == ':');
    CHECK_STR(OsErrorName(refused), "ERROR_ACCESS_DENIED");
#else
    int refused = EACCES;
    CHECK(full[0] == '/');
    CHECK_STR(OsErrorName(refused), "EACCES");
#endif
    CHECK(strlen(OsErrorText(refused, text, sizeof text)) > 5);
    CHECK_STR(OsErrorName(123456), "");
}

/* ---- Termination ----------------------------------------------------------------------------- */

#ifdef _WIN32
/*
 * Wine turns SIGINT into the console's Ctrl-C. The signal must come from outside: a shell of the
 * host looks for the one process that has role and path among its arguments.
 */
static bool interruptUnderWine(const char *path)
{
    char command[2000];
    STARTUPINFOA start = {.cb = sizeof start};
    PROCESS_INFORMATION info;
    if (GetProcAddress(GetModuleHandleA("ntdll.dll"), "wine_get_version") == NULL) {
        return false;
    }
    snprintf(command, sizeof command,
            "Z:\\bin\\sh -c \"for f in /proc/[0-9]*/cmdline; do"
            " if tr '\\0' '\\n' <$f | grep -qx end && tr '\\0' '\\n' <$f | grep -qxF $1; then"
            " p=${f#/proc/}; kill -INT ${p%%/cmdline}; fi; done 2>/dev/null\" sh \"%s\"",
            path);
    if (!CreateProcessA(NULL, command, NULL, NULL, FALSE, 0, NULL, NULL, &start, &info)) {
        return false;
    }
    CloseHandle(info.hProcess);
    CloseHandle(info.hThread);
    return true;
}
#endif

/* Ask the child to end, as a user would. */
static bool interrupt(const Child *child, const char *path)
{
#ifdef _WIN32
    return interruptUnderWine(path) || GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, childPid(child));
#else
    (void)path;
    return kill(child->pid, SIGTERM) == 0;
#endif
}

static void termination(void)
{
    Child child;
    OsMap map;
    char path[1200];
    Shared *shared;
    bool asked;
    mapFor(&map, "end", path);
    REQUIRE(map.base != NULL);
    shared = (Shared *)(void *)map.base;
    REQUIRE(childStart(&child, "end", path));
    CHECK(waitStage(shared, 1));
    asked = interrupt(&child, path);
    if (asked) {
        CHECK(waitStage(shared, 11));
#ifdef _WIN32
        CHECK(childWait(&child) != 5); /* Windows' own code; Wine's is 0 */
#else
        CHECK_EQ(childWait(&child), -1); /* it ended as it would have: by the signal */
#endif
        CHECK_EQ(shared->stage, 11); /* and was told, once */
    } else {
        childKill(&child);
        childWait(&child);
    }
    OsUnmap(&map);
    OsFileRemove(path);
    if (!asked) {
        SKIP("no console to interrupt it through");
    }
}

static bool makeDir(void)
{
    char found[1024];
    EtwError err;
#ifdef _WIN32
    char base[MAX_PATH];
    GetTempPathA(MAX_PATH, base);
    snprintf(dir, sizeof dir, "%setw-os-%u", base, OsPid());
    SetEnvironmentVariableA("ETW_RUNTIME_DIR", dir);
#else
    snprintf(dir, sizeof dir, "/tmp/etw-os-%u", OsPid());
    setenv("ETW_RUNTIME_DIR", dir, 1);
#endif
    if (OsRuntimeDir(found, sizeof found, &err) != ETW_OK) {
        printf("FAIL %s\n", err.message);
        return false;
    }
    return strcmp(found, dir) == 0;
}

static void removeDir(void)
{
    char path[1200];
    inDir(path, "lock");
    OsFileRemove(path);
#ifdef _WIN32
    RemoveDirectoryA(dir);
#else
    rmdir(dir);
#endif
}

int main(int argc, char **argv)
{
    int result;
    if (argc == 4 && strcmp(argv[1], "--child") == 0) {
        return childMain(argv[2], argv[3]);
    }
    selfPath = argv[0];
    CHECK_ARGS(argc, argv);
    OsInit();
    OsInit();
    if (!makeDir()) {
        return 1;
    }
    CHECK_RUN(clockRises);
    CHECK_RUN(localTime);
    CHECK_RUN(instantsBelongTogether);
    CHECK_RUN(machine);
    CHECK_RUN(processStart);
    CHECK_RUN(threadsAndMutex);
    CHECK_RUN(wake);
    CHECK_RUN(threadSlot);
    CHECK_RUN(processFence);
#ifndef _WIN32
    CHECK_RUN(processFenceRefused);
#endif
    CHECK_RUN(mapping);
    CHECK_RUN(largeMapping);
#ifdef __linux__
    CHECK_RUN(holesOnFullMemory);
#endif
    CHECK_RUN(lockExcludes);
    CHECK_RUN(lockDiesWithItsHolder);
    CHECK_RUN(files);
    CHECK_RUN(filesRefused);
#ifndef _WIN32
    CHECK_RUN(runtimeDirIsOurs);
#endif
    CHECK_RUN(paths);
    CHECK_RUN(termination);
    result = CHECK_DONE();
    removeDir();
    return result;
}
