/*
 * unix/os/linux_os.c --
 *
 *	base/os.h for Linux: clock; facts about machine, process and thread; threads, locks,
 *	wake-ups; termination signals. Files and mappings are in linux_files.c, functions between
 *	processes in linux_process.c.
 */
#define _GNU_SOURCE
#include "base/os.h"
#include "base/alloc.h"
#include <errno.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

EtwClock osClock = ETW_CLOCK_MONO_RAW;

static pthread_once_t initOnce = PTHREAD_ONCE_INIT;
_Atomic uint32_t osPid;
/*
 * initial-exec: one instruction instead of a call, also in a shared library (uses 16 bytes of the
 * static TLS surplus).
 */
#define FAST_TLS __attribute__((tls_model("initial-exec")))
static __thread uint32_t cachedTid FAST_TLS;
static pthread_key_t slotKey;
__thread void *osThreadSlot FAST_TLS;
static void (*_Atomic slotDestroy)(void *); /* the same for all threads */

/* ---- Clock ----------------------------------------------------------------------------------- */

/*
 * The TSC is used if the CPU reports it as invariant and the kernel uses it as its clock source
 * (the kernel has checked that all CPUs agree).
 */
static bool tscIsGood(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d = 0;
    char text[32] = "";
    FILE *f;
    if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & 1u << 8)) {
        return false;
    }
    f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (f == NULL) {
        return false;
    }
    if (fgets(text, sizeof text, f) == NULL) {
        text[0] = '\0';
    }
    fclose(f);
    return strncmp(text, "tsc", 3) == 0;
#else
    return false;
#endif
}

static int64_t clockNs(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

uint64_t OsTicksSlow(void)
{
    return (uint64_t)clockNs(CLOCK_MONOTONIC_RAW);
}

void OsNow(OsInstant *now)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 8; i++) {
        uint64_t before = OsTicks();
        int64_t steady = clockNs(CLOCK_MONOTONIC_RAW);
        uint64_t middle = OsTicks();
        int64_t wall = clockNs(CLOCK_REALTIME);
        uint64_t after = OsTicks();
        if (after - before < best) {
            best = after - before;
            now->ticks =
                    osClock == ETW_CLOCK_TSC ? before + (middle - before) / 2 : (uint64_t)steady;
            now->steady = steady;
            now->wall = wall;
        }
    }
}

int64_t OsBootTime(void)
{
    return clockNs(CLOCK_REALTIME) - clockNs(CLOCK_BOOTTIME);
}

int OsTimeZoneBias(void)
{
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    return (int)(-local.tm_gmtoff / 60);
}

void OsLocalTimeText(char *buf, size_t size, int64_t wall)
{
    time_t at = (time_t)(wall / 1000000000);
    struct tm local;
    if (localtime_r(&at, &local) == NULL || strftime(buf, size, "%Y-%m-%d %H:%M:%S", &local) == 0) {
        snprintf(buf, size, "?");
    }
}

/* ---- Machine, process, thread ---------------------------------------------------------------- */

_Atomic bool osCheapFenceIsFull;
static _Atomic bool cheapFencesAreFull; /* each thread has seen osCheapFenceIsFull */
enum { FENCE = 1 << 3 /* MEMBARRIER_CMD_PRIVATE_EXPEDITED */, FENCE_DELAY_NS = 20 * 1000 * 1000 };

static long membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0);
}

/*
 * The kernel may refuse the barrier only later, when the process has installed a filter of system calls.
 * From then on the cheap halves are full fences. A thread that did not see the flag in its cheap half has
 * executed it before; its stores leave the processor's store buffer within microseconds.
 */
void OsProcessFence(void)
{
    if (!atomic_load(&cheapFencesAreFull)) {
        if (membarrier(FENCE) == 0) {
            return;
        }
        atomic_store(&osCheapFenceIsFull, true);
        OsSleepNs(FENCE_DELAY_NS);
        atomic_store(&cheapFencesAreFull, true);
    }
    atomic_thread_fence(memory_order_seq_cst);
}

static void afterForkInChild(void)
{
    atomic_store_explicit(&osPid, (uint32_t)getpid(), memory_order_relaxed);
    cachedTid = 0;
}

static void threadGone(void *value)
{
    void (*destroy)(void *) = atomic_load(&slotDestroy);
    osThreadSlot = NULL; /* if later destructors write events, they get a new slot */
    if (destroy != NULL) {
        destroy(value);
    }
}

static void initAll(void)
{
    osClock = tscIsGood() ? ETW_CLOCK_TSC : ETW_CLOCK_MONO_RAW;
    atomic_store(&osPid, (uint32_t)getpid());
    pthread_key_create(&slotKey, threadGone);
    pthread_atfork(NULL, NULL, afterForkInChild);
    /*
     * Registration is slow, so it is done once. The expedited barrier requires it. A filter of system
     * calls, or an old kernel, may refuse either.
     */
    if (membarrier(1 << 4 /* MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED */) != 0 ||
            membarrier(FENCE) != 0) {
        atomic_store(&osCheapFenceIsFull, true);
        atomic_store(&cheapFencesAreFull, true);
    }
}

void OsInit(void)
{
    pthread_once(&initOnce, initAll);
}

int OsCpuCount(void)
{
    long n = sysconf(_SC_NPROCESSORS_CONF);
    return n < 1 ? 1 : (int)n;
}

int OsCpuSlow(void)
{
    int cpu = sched_getcpu();
    return cpu < 0 ? 0 : cpu;
}

uint32_t OsTid(void)
{
    if (cachedTid == 0) {
        cachedTid = (uint32_t)syscall(SYS_gettid);
    }
    return cachedTid;
}

uint64_t OsProcessStart(uint32_t pid)
{
    char path[64], text[1024], *p;
    FILE *f;
    size_t n;
    unsigned long long start = 0;
    long threads = 0;
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    f = fopen(path, "re");
    if (f == NULL) {
        return errno == ENOENT || errno == ESRCH ? 0 : OS_START_UNKNOWN;
    }
    n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    p = strrchr(text, ')'); /* the command's name may contain any characters */
    if (p == NULL || sscanf(p + 1,
                             " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
                             "%ld %*d %llu",
                             &threads, &start) != 2) {
        return 0;
    }
    /* A zombie counts as dead, unless only its main thread has ended. */
    return (p[2] == 'Z' && threads <= 1) || p[2] == 'X' ? 0 : start;
}

void OsOnFork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    pthread_atfork(prepare, parent, child);
}

uint32_t OsCpuMHz(void)
{
    FILE *f = fopen("/proc/cpuinfo", "re");
    char line[256];
    double mhz = 0;
    if (f == NULL) {
        return 0;
    }
    while (mhz == 0 && fgets(line, sizeof line, f) != NULL) {
        sscanf(line, "cpu MHz : %lf", &mhz);
    }
    fclose(f);
    return (uint32_t)mhz;
}

void OsRandom(void *data, size_t size)
{
    if (getrandom(data, size, 0) != (ssize_t)size) {
        for (size_t i = 0; i < size; i++) {
            ((uint8_t *)data)[i] = (uint8_t)(OsTicks() >> (i % 8));
        }
    }
}

uint64_t osSecret[2];

__attribute__((constructor)) static void drawSecret(void)
{
    OsRandom(osSecret, sizeof osSecret);
}

void OsHostName(char *buf, size_t size)
{
    if (gethostname(buf, size) != 0) {
        buf[0] = '\0';
    }
    buf[size - 1] = '\0';
}

void OsUserName(char *buf, size_t size)
{
    struct passwd entry, *found = NULL;
    char text[1024];
    if (getpwuid_r(geteuid(), &entry, text, sizeof text, &found) == 0 && found != NULL) {
        snprintf(buf, size, "%s", entry.pw_name);
    } else {
        snprintf(buf, size, "%u", (unsigned)geteuid());
    }
}

void OsProgramName(char *buf, size_t size)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    const char *tail = strrchr(path, '/');
    snprintf(buf, size, "%s", tail ? tail + 1 : path);
}

void OsHostText(char *buf, size_t size)
{
    struct utsname u;
    uname(&u);
    snprintf(buf, size, "%s %s %s", u.sysname, u.release, u.machine);
}

int OsTerminalColumns(intptr_t handle)
{
    struct winsize size;
    if (isatty((int)handle) != 1) {
        return -1;
    }
    return ioctl((int)handle, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool OsTerminalEscapes(intptr_t handle)
{
    return isatty((int)handle) != 0;
}

/* ---- Threads, locks, wake-ups ---------------------------------------------------------------- */

struct OsThread {
    pthread_t id;
    void (*proc)(void *);
    void *arg;
    char name[16];
};

static void *threadMain(void *arg)
{
    OsThread *t = arg;
    pthread_setname_np(pthread_self(), t->name);
    t->proc(t->arg);
    return NULL;
}

EtwStatus OsThreadStart(OsThread **threadPtr, const char *name, void (*proc)(void *), void *arg)
{
    OsThread *t = EtwAlloc(sizeof *t);
    sigset_t all, old;
    int failed;
    t->proc = proc;
    t->arg = arg;
    snprintf(t->name, sizeof t->name, "%s", name);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    failed = pthread_create(&t->id, NULL, threadMain, t);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (failed) {
        EtwFree(t);
        return ETW_E_LIMIT;
    }
    *threadPtr = t;
    return ETW_OK;
}

void OsThreadJoin(OsThread *t)
{
    pthread_join(t->id, NULL);
    EtwFree(t);
}

struct OsMutex {
    pthread_mutex_t m;
};

OsMutex *OsMutexNew(void)
{
    OsMutex *m = EtwAlloc(sizeof *m);
    pthread_mutex_init(&m->m, NULL);
    return m;
}

void OsMutexFree(OsMutex *m)
{
    pthread_mutex_destroy(&m->m);
    EtwFree(m);
}

void OsMutexLock(OsMutex *m)
{
    pthread_mutex_lock(&m->m);
}

void OsMutexUnlock(OsMutex *m)
{
    pthread_mutex_unlock(&m->m);
}

struct OsWake {
    sem_t sem;
};

OsWake *OsWakeNew(void)
{
    OsWake *w = EtwAlloc(sizeof *w);
    sem_init(&w->sem, 0, 0);
    return w;
}

void OsWakeFree(OsWake *w)
{
    sem_destroy(&w->sem);
    EtwFree(w);
}

void OsWakePost(OsWake *w)
{
    int value;
    /*
     * What the waiter will read must be stored before the semaphore's value is checked: the waiter
     * may be consuming an earlier post.
     */
    atomic_thread_fence(memory_order_seq_cst);
    if (sem_getvalue(&w->sem, &value) != 0 || value <= 0) {
        sem_post(&w->sem);
    }
}

bool OsWakeWait(OsWake *w, int64_t timeoutNs)
{
    struct timespec until;
    int64_t at;
    int rc;
    if (timeoutNs < 0) {
        while ((rc = sem_wait(&w->sem)) != 0 && errno == EINTR) {
        }
        return rc == 0;
    }
    at = clockNs(CLOCK_MONOTONIC) + timeoutNs;
    until.tv_sec = (time_t)(at / 1000000000);
    until.tv_nsec = (long)(at % 1000000000);
    while ((rc = sem_clockwait(&w->sem, CLOCK_MONOTONIC, &until)) != 0 && errno == EINTR) {
    }
    while (rc == 0 && sem_trywait(&w->sem) == 0) {
    }
    return rc == 0;
}

void OsSleepNs(int64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    while (nanosleep(&t, &t) != 0 && errno == EINTR) {
    }
}

void OsThreadSlotSet(void *value, void (*destroy)(void *))
{
    atomic_store(&slotDestroy, destroy);
    osThreadSlot = value;
    pthread_setspecific(slotKey, value);
}

/* ---- Termination ----------------------------------------------------------------------------- */

static void (*terminationProc)(void);
static bool terminationInstalled; /* in this process */
static sem_t terminationSem;
static _Atomic int terminationSignal;

/*
 * Async-signal-safe. The first signal is passed to the waiting thread, which stops the sessions and
 * then ends the process with the same signal. The interrupted thread continues meanwhile, because
 * it may hold locks (malloc's) that stopping needs. A second signal ends the process at once.
 */
static void onSignal(int sig)
{
    int none = 0, keep = errno;
    if (atomic_compare_exchange_strong(&terminationSignal, &none, sig)) {
        sem_post(&terminationSem);
    } else {
        signal(sig, SIG_DFL);
        raise(sig);
    }
    errno = keep;
}

static const int terminationSignals[] = {SIGINT, SIGTERM, SIGHUP};
enum { TERMINATION_SIGNALS = sizeof terminationSignals / sizeof *terminationSignals };

/* A forked child has no thread that handles the signals: restore the default actions. */
static void terminationAfterFork(void)
{
    for (int i = 0; i < TERMINATION_SIGNALS; i++) {
        struct sigaction now;
        if (sigaction(terminationSignals[i], NULL, &now) == 0 && now.sa_handler == onSignal) {
            signal(terminationSignals[i], SIG_DFL);
        }
    }
    atomic_store(&terminationSignal, 0);
    terminationInstalled = false; /* until the child starts a session */
}

static void terminationThread(void *unused)
{
    (void)unused;
    int sig;
    struct sigaction action;
    sigset_t set;
    while (sem_wait(&terminationSem) != 0) {
    }
    sig = atomic_load(&terminationSignal);
    terminationProc();
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    sigaction(sig, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, sig);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    raise(sig);
}

void OsOnTermination(void (*proc)(void))
{
    static bool onFork;
    OsThread *thread;
    if (terminationInstalled) {
        return;
    }
    terminationInstalled = true;
    terminationProc = proc;
    sem_init(&terminationSem, 0, 0);
    if (OsThreadStart(&thread, "etw-end", terminationThread, NULL) != ETW_OK) {
        return;
    }
    pthread_detach(thread->id);
    if (!onFork) {
        onFork = true;
        pthread_atfork(NULL, NULL, terminationAfterFork);
    }
    for (int i = 0; i < TERMINATION_SIGNALS; i++) {
        struct sigaction old, action;
        if (sigaction(terminationSignals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL &&
                !(old.sa_flags & SA_SIGINFO)) {
            memset(&action, 0, sizeof action);
            action.sa_handler = onSignal;
            action.sa_flags = SA_RESTART;
            sigaction(terminationSignals[i], &action, NULL);
        }
    }
}

const char *OsErrorText(int osError, char *buf, size_t size)
{
    return strerror_r(osError, buf, size);
}

const char *OsFileLimitHint(int osError)
{
    if (osError == EMFILE) {
        return "raise the limit of open files (\"ulimit -n\"), or close some";
    }
    return osError == ENFILE ? "raise the limit of this machine (sysctl fs.file-max)" : NULL;
}

const char *OsErrorName(int osError)
{
    const char *name = strerrorname_np(osError);
    return name ? name : "";
}
