/*
 * tests/unix/test_attach.c --
 *
 *	unix/attach/inject.c: a process is stopped and made to call a function, many times, and does not notice: its system calls
 *	return what they return without, its registers are the same, and no signal is lost. target.c: processes that are refused.
 */
#define _GNU_SOURCE
#include "tests/support/check.h"

#if defined(__linux__) && defined(__x86_64__)
#include "base/alloc.h"
#include "unix/attach/inject.h"
#include <elf.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The thread sanitizer delays signals, and its own code cannot be interrupted by other code anywhere. */
#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1
#endif
#endif
#ifndef THREAD_SANITIZER
#define THREAD_SANITIZER 0
#endif

enum { STACK_SIZE = 256 << 10, WAIT_MS = 3 };

/* In memory that both processes share. */
typedef struct Shared {
    bool stop;
    uint64_t loops, calls, signals;
    int line; /* of the first check that failed in the child, 0: none */
    int got;
} Shared;

static Shared *shared;
static int data[2]; /* a pipe */

static void require(bool ok, int line, int got)
{
    if (!ok && shared->line == 0) {
        shared->line = line;
        shared->got = got;
    }
}
#define NEED(ok, got) require(ok, __LINE__, (int)(got))

/* ---- The child ------------------------------------------------------------------------------- */

/* Called in the child by its parent. Changes the registers that a function may change. */
static uint64_t called(uint64_t a, uint64_t b)
{
    volatile double d = (double)a;
    for (int i = 0; i < 100; i++) {
        d = d * 1.5 + 1;
    }
    __asm__ volatile("pcmpeqd %%xmm0, %%xmm0\n pcmpeqd %%xmm7, %%xmm7\n pcmpeqd %%xmm15, %%xmm15" ::
                             : "xmm0", "xmm7", "xmm15");
    shared->calls++;
    getppid();
    return a + b;
}

/* Is to be stopped during the call. */
static uint64_t calledStops(uint64_t a, uint64_t b)
{
    kill(getpid(), SIGSTOP);
    return called(a, b);
}

static void pass(void)
{
    __atomic_add_fetch(&shared->loops, 1, __ATOMIC_RELAXED);
}

static bool goesOn(void)
{
    pass();
    return !__atomic_load_n(&shared->stop, __ATOMIC_ACQUIRE);
}

static void childReads(void)
{
    uint32_t number, last = 0;
    close(data[1]);
    for (;;) {
        ssize_t got = read(data[0], &number, sizeof number);
        if (got == 0) {
            return;
        }
        NEED(got == sizeof number, got < 0 ? -errno : got);
        NEED(number == last + 1, number);
        last = number;
        pass();
    }
}

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void childSleeps(void)
{
    struct timespec t = {0, WAIT_MS * 1000000};
    while (goesOn()) {
        int64_t start = now();
        NEED(nanosleep(&t, NULL) == 0, errno);
        NEED(now() - start >= WAIT_MS * 1000000, 0);
    }
}

static void childPolls(void)
{
    struct pollfd pipeEnd = {data[0], POLLIN, 0};
    while (goesOn()) {
        int64_t start = now();
        NEED(poll(&pipeEnd, 1, WAIT_MS) == 0, errno);
        NEED(now() - start >= WAIT_MS * 1000000, 0);
        struct timeval t = {0, WAIT_MS * 1000};
        fd_set set;
        FD_ZERO(&set);
        FD_SET(data[0], &set);
        NEED(select(data[0] + 1, &set, NULL, NULL, &t) == 0, errno);
    }
}

static void childWaitsForEvents(void)
{
    struct epoll_event event = {.events = EPOLLIN};
    int set = epoll_create1(0);
    epoll_ctl(set, EPOLL_CTL_ADD, data[0], &event);
    while (goesOn()) {
        int got = epoll_wait(set, &event, 1, WAIT_MS);
        NEED(got == 0, got < 0 ? -errno : got);
    }
    close(set);
}

static void childReceives(void)
{
    int ends[2];
    struct timeval t = {0, WAIT_MS * 1000};
    char byte;
    NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, errno);
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    while (goesOn()) {
        NEED(recv(ends[0], &byte, 1, 0) == -1 && errno == EAGAIN, errno);
    }
}

static void childWaitsForOthers(void)
{
    sem_t semaphore;
    sigset_t set;
    struct timespec t = {0, WAIT_MS * 1000000}, until;
    sem_init(&semaphore, 0, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    while (goesOn()) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += WAIT_MS * 1000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000;
        }
        NEED(sem_timedwait(&semaphore, &until) == -1 && errno == ETIMEDOUT, errno);
        NEED(sigtimedwait(&set, NULL, &t) == -1 && errno == EAGAIN, errno);
    }
}

static void childComputes(void)
{
    double expected = 0;
    for (int i = 1; i < 2000; i++) {
        expected += 1.0 / i;
    }
    while (goesOn()) {
        double sum = 0;
        errno = 12345;
        for (int i = 1; i < 2000; i++) {
            sum += 1.0 / i;
        }
        NEED(sum == expected && errno == 12345, errno);
    }
}

static void onSignal(int number)
{
    (void)number;
    __atomic_add_fetch(&shared->signals, 1, __ATOMIC_RELAXED);
}

/* A wait ends with EINTR only if a handler ran. */
static void childGetsSignals(void)
{
    struct sigaction action = {.sa_handler = onSignal};
    uint64_t seen = 0;
    sigaction(SIGRTMIN, &action, NULL);
    while (goesOn()) {
        struct timespec t = {0, WAIT_MS * 1000000};
        if (nanosleep(&t, NULL) != 0) {
            NEED(errno == EINTR && shared->signals > seen, errno);
            seen = shared->signals;
        }
    }
}

static void childSpins(void)
{
    while (goesOn()) {
    }
}

/* ---- The parent ------------------------------------------------------------------------------ */

static pid_t start(void (*child)(void))
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || pipe(data) != 0) {
        return -1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        alarm(250);
        child();
        _exit(shared->line != 0);
    }
    while (pid > 0 && child != childReads &&
            __atomic_load_n(&shared->loops, __ATOMIC_RELAXED) == 0) {
        InjectPause(1000000);
    }
    return pid;
}

static int end(pid_t pid)
{
    int status = -1;
    __atomic_store_n(&shared->stop, true, __ATOMIC_RELEASE);
    close(data[1]);
    waitpid(pid, &status, 0);
    close(data[0]);
    CHECK_MSG(shared->line == 0, "the child's check in line %d: %d", shared->line, shared->got);
    return status;
}

/* One call in the process. 1: done, 0: it could not be stopped in time, -1: failed. */
static int callOnce(const Target *target, uint64_t (*function)(uint64_t a, uint64_t b))
{
    static const uint64_t map[] = {SYS_mmap, 0, STACK_SIZE, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS, ~(uint64_t)0, 0};
    Stopped *stopped;
    EtwError err;
    uint64_t result = 0;
    if (InjectStop(target, target->pid, InjectClock() + 10000000000, &stopped, &err) != ETW_OK) {
        return -1;
    }
    if (stopped == NULL) {
        return 0;
    }
    int64_t stack = InjectSystemCall(stopped, map);
    bool ok = stack > 0 && InjectCall(stopped, (uint64_t)(uintptr_t)function, 40, 2,
                                   (uint64_t)stack + STACK_SIZE, &result);
    const uint64_t unmap[] = {SYS_munmap, (uint64_t)stack, STACK_SIZE, 0, 0, 0, 0};
    ok = ok && InjectSystemCall(stopped, unmap) == 0;
    return InjectRelease(stopped) && ok && result == 42 ? 1 : -1;
}

enum { ROUNDS = 100 };

/* False: ptrace is not permitted here. */
static bool rounds(void (*child)(void), bool writes, bool signals)
{
    Target target;
    EtwError err;
    uint64_t done = 0;
    pid_t pid = start(child);
    EtwStatus status = TargetOpen(&target, (uint32_t)pid, &err);
    if (status == ETW_E_ACCESS) {
        kill(pid, SIGKILL);
        end(pid);
        TargetFree(&target);
        return false;
    }
    CHECK_EQ(status, ETW_OK);
    for (uint32_t i = 1; status == ETW_OK && i <= ROUNDS; i++) {
        if (writes) {
            CHECK_EQ(write(data[1], &i, sizeof i), (ssize_t)sizeof i);
        }
        if (signals) {
            CHECK_EQ(sigqueue(pid, SIGRTMIN, (union sigval){.sival_int = 1}), 0);
        }
        int got = callOnce(&target, called);
        CHECK(got >= 0);
        done += got == 1;
        InjectPause(100000 * (i % 23));
    }
    if (signals) {
        for (int i = 0; i < 2000 && __atomic_load_n(&shared->signals, __ATOMIC_RELAXED) < ROUNDS;
                i++) {
            InjectPause(5000000);
        }
        CHECK_EQ(shared->signals, ROUNDS);
    }
    CHECK(done > ROUNDS / 2);
    CHECK_EQ(shared->calls, done);
    CHECK_EQ(end(pid), 0);
    TargetFree(&target);
    munmap(shared, sizeof *shared);
    return true;
}

#define INJECT_TEST(name, child, writes, signals)                                                  \
    static void name(void)                                                                         \
    {                                                                                              \
        if (THREAD_SANITIZER) {                                                                    \
            SKIP("the thread sanitizer");                                                          \
        } else if (!rounds(child, writes, signals)) {                                              \
            SKIP("ptrace is not permitted");                                                       \
        }                                                                                          \
    }

INJECT_TEST(inject_1_1_read, childReads, true, false)
INJECT_TEST(inject_1_2_nanosleep, childSleeps, false, false)
INJECT_TEST(inject_1_3_poll_and_select, childPolls, false, false)
INJECT_TEST(inject_1_4_epoll_wait, childWaitsForEvents, false, false)
INJECT_TEST(inject_1_5_receive_with_a_time_limit, childReceives, false, false)
INJECT_TEST(inject_1_6_semaphore_and_sigtimedwait, childWaitsForOthers, false, false)
INJECT_TEST(inject_1_7_registers_and_errno, childComputes, false, false)
INJECT_TEST(inject_1_8_signals, childGetsSignals, false, true)

/* The call is completed, then the process stops. */
static void inject_1_9_stop_signal(void)
{
    Target target;
    EtwError err;
    int state = 0;
    pid_t pid = start(childSpins);
    EtwStatus status = TargetOpen(&target, (uint32_t)pid, &err);
    if (status != ETW_OK || THREAD_SANITIZER) {
        kill(pid, SIGKILL);
        end(pid);
        TargetFree(&target);
        SKIP(status != ETW_OK ? "ptrace is not permitted" : "the thread sanitizer");
    } else {
        CHECK_EQ(callOnce(&target, calledStops), 1);
        CHECK_EQ(shared->calls, 1);
        CHECK_EQ(waitpid(pid, &state, WUNTRACED), pid);
        CHECK(WIFSTOPPED(state) && WSTOPSIG(state) == SIGSTOP);
        kill(pid, SIGCONT);
        CHECK_EQ(end(pid), 0);
    }
    TargetFree(&target);
    munmap(shared, sizeof *shared);
}

static void childEnds(void)
{
    goesOn();
}

/* A process that ends is reported as such, at whatever moment. */
static void inject_2_1_end(void)
{
    for (int i = 0; i < 20; i++) {
        Target target;
        EtwError err;
        Stopped *stopped = NULL;
        pid_t pid = start(childEnds);
        EtwStatus status = TargetOpen(&target, (uint32_t)pid, &err);
        if (status == ETW_OK) {
            status = InjectStop(&target, pid, InjectClock() + 1000000000, &stopped, &err);
        }
        CHECK(status == ETW_OK || status == ETW_E_LOOKUP || status == ETW_E_ACCESS);
        if (stopped != NULL) {
            kill(pid, SIGKILL);
            InjectRelease(stopped);
        }
        end(pid);
        TargetFree(&target);
    }
}

/* ---- Processes that are refused --------------------------------------------------------------- */

static void childWaits(void)
{
    while (goesOn()) {
        InjectPause(1000000);
    }
}

/* The error for a process: its errorCode's second word. "": none. */
static const char *refusal(pid_t pid, EtwError *err)
{
    Target target;
    EtwStatus status = TargetOpen(&target, (uint32_t)pid, err);
    TargetFree(&target);
    return status == ETW_OK ? "" : err->detail;
}

static void refused_1_1_traced(void)
{
    EtwError err;
    int ready[2];
    char byte;
    pid_t pid = start(childWaits);
    CHECK_EQ(pipe(ready), 0);
    pid_t debugger = fork();
    if (debugger == 0) {
        alarm(250);
        byte = ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0;
        _exit(write(ready[1], &byte, 1) == 1 && pause());
    }
    CHECK_EQ(read(ready[0], &byte, 1), 1);
    if (byte) {
        CHECK_STR(refusal(pid, &err), "TRACED");
        CHECK(strstr(err.message, "already traced by process") != NULL);
    }
    kill(debugger, SIGKILL);
    waitpid(debugger, NULL, 0);
    close(ready[0]);
    close(ready[1]);
    CHECK_EQ(end(pid), 0);
    if (!byte) {
        SKIP("ptrace is not permitted");
    }
}

/* As another user, and a process of that user that is protected. */
static void refused_1_2_forbidden(void)
{
    enum { NOBODY = 65534 };
    EtwError err;
    if (geteuid() != 0) {
        SKIP("not root");
        return;
    }
    pid_t pid = start(childWaits);
    pid_t other = fork();
    if (other == 0) {
        alarm(250);
        if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0) {
            _exit(100);
        }
        if (strcmp(refusal(pid, &err), "USER") != 0) {
            _exit(1);
        }
        pid_t guarded = fork();
        if (guarded == 0) {
            prctl(PR_SET_DUMPABLE, 0);
            pause();
            _exit(0);
        }
        InjectPause(200000000);
        const char *detail = refusal(guarded, &err);
        bool right = strcmp(detail, "PTRACE") == 0 || strcmp(detail, "USER") == 0;
        kill(guarded, SIGKILL);
        _exit(right ? 0 : 2);
    }
    int status = -1;
    waitpid(other, &status, 0);
    CHECK_EQ(status, 0);
    CHECK_EQ(end(pid), 0);
}

/* A 32-bit program that waits: pause(), again and again. */
static void refused_1_3_bits(void)
{
    static const unsigned char code[] = {0xb8, 29, 0, 0, 0, 0xcd, 0x80, 0xeb, 0xf7};
    enum { BASE = 0x10000, HEAD = sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr) };
    Elf32_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT},
            .e_type = ET_EXEC,
            .e_machine = EM_386,
            .e_version = EV_CURRENT,
            .e_entry = BASE + HEAD,
            .e_phoff = sizeof header,
            .e_ehsize = sizeof header,
            .e_phentsize = sizeof(Elf32_Phdr),
            .e_phnum = 1};
    Elf32_Phdr segment = {.p_type = PT_LOAD,
            .p_vaddr = BASE,
            .p_paddr = BASE,
            .p_filesz = HEAD + sizeof code,
            .p_memsz = HEAD + sizeof code,
            .p_flags = PF_R | PF_X,
            .p_align = 4096};
    char path[] = "/tmp/etw-bits-XXXXXX", link[64], found[64] = "";
    EtwError err;
    int fd = mkstemp(path);
    REQUIRE(fd >= 0);
    CHECK(write(fd, &header, sizeof header) == sizeof header &&
            write(fd, &segment, sizeof segment) == sizeof segment &&
            write(fd, code, sizeof code) == sizeof code && fchmod(fd, 0700) == 0);
    close(fd);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(250);
        execl(path, path, (char *)NULL);
        _exit(100);
    }
    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0 && strcmp(found, path) != 0) {
        InjectPause(1000000);
        memset(found, 0, sizeof found);
        if (readlink(link, found, sizeof found - 1) < 0) {
            break;
        }
    }
    unlink(path);
    if (strcmp(found, path) == 0) {
        CHECK_STR(refusal(pid, &err), "BITS");
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    } else {
        SKIP("this kernel has no 32-bit programs");
    }
}

/* A filter that permits all system calls. */
static void setFilter(void)
{
    struct sock_filter permit = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
    struct sock_fprog program = {1, &permit};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    NEED(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, errno);
}

static void childFilters(void)
{
    setFilter();
    childWaits();
}

static void refused_1_5_seccomp(void)
{
    EtwError err;
    pid_t pid = start(childFilters);
    CHECK_STR(refusal(pid, &err), "SECCOMP");
    CHECK_EQ(end(pid), 0);
}

/* Has a filter, and so has a child of it, as in a container: the child is not refused because of it. */
static void childOfContainer(void)
{
    EtwError err;
    setFilter();
    pid_t pid = fork();
    if (pid == 0) {
        alarm(250);
        pause();
        _exit(0);
    }
    NEED(strcmp(refusal(pid, &err), "SECCOMP") != 0, pid);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    childWaits();
}

static void refused_1_6_container(void)
{
    char text[8192];
    FILE *f = fopen("/proc/self/status", "re");
    size_t got = f != NULL ? fread(text, 1, sizeof text - 1, f) : 0;
    text[got] = '\0';
    if (f != NULL) {
        fclose(f);
    }
    if (strstr(text, "Seccomp_filters:") == NULL) {
        SKIP("Linux before 5.9");
        return;
    }
    CHECK_EQ(end(start(childOfContainer)), 0);
}

static void refused_1_4_none(void)
{
    EtwError err;
    CHECK_STR(refusal(0x7ffffff0, &err), "PROCESS");
    CHECK_STR(refusal(getpid(), &err), "PROCESS");
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(inject_1_1_read);
    CHECK_RUN(inject_1_2_nanosleep);
    CHECK_RUN(inject_1_3_poll_and_select);
    CHECK_RUN(inject_1_4_epoll_wait);
    CHECK_RUN(inject_1_5_receive_with_a_time_limit);
    CHECK_RUN(inject_1_6_semaphore_and_sigtimedwait);
    CHECK_RUN(inject_1_7_registers_and_errno);
    CHECK_RUN(inject_1_8_signals);
    CHECK_RUN(inject_1_9_stop_signal);
    CHECK_RUN(inject_2_1_end);
    CHECK_RUN(refused_1_1_traced);
    CHECK_RUN(refused_1_2_forbidden);
    CHECK_RUN(refused_1_3_bits);
    CHECK_RUN(refused_1_4_none);
    CHECK_RUN(refused_1_5_seccomp);
    CHECK_RUN(refused_1_6_container);
    return CHECK_DONE();
}

#else

static void inject(void)
{
    SKIP("attaching is for Linux x86-64");
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(inject);
    return CHECK_DONE();
}

#endif
