/*
 * tests/unix/test_kernel_perf.c --
 *
 *	Kernel events through perf: stacks, the same events as through tracefs, one clock with the
 *	program's own events, threads that come while it begins, and what may be had without root.
 *	That each group works through perf as well is test_kernel.c's. Needs root; changes the mode
 *	of tracefs and kernel.perf_event_paranoid for moments and puts both back. Skipped elsewhere.
 */
#define _GNU_SOURCE
#include "tests/support/check.h"

#ifdef __linux__
#include "engine/kernel_events.h"
#include "tests/support/kerneltrace.h"
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern bool kernelPerf;          /* unix/kernel/kernel_int.h */
extern const char *kernelHidden; /* unix/kernel/transport/tracepoint_format.h */

enum { NOBODY = 65534, PERFMON = 38 /* CAP_PERFMON */ };

/* ---- Stacks ---------------------------------------------------------------------------------- */

static bool isKernel(uint64_t address)
{
    return address >> 63 != 0;
}

/* The innermost address of the program; 0: the stack has none. */
static uint64_t userTop(const Seen *s)
{
    int i = 0;
    while (i < s->stackCount && isKernel(s->stack[i])) {
        i++;
    }
    return i < s->stackCount ? s->stack[i] : 0;
}

static bool isExecutable(uint64_t address)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");
    bool found = false;
    while (maps != NULL && !found && fgets(line, sizeof line, maps) != NULL) {
        unsigned long from, to;
        char mode[5];
        found = sscanf(line, "%lx-%lx %4s", &from, &to, mode) == 3 && mode[2] == 'x' &&
                address >= from && address < to;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

#ifdef __x86_64__
/* The instruction itself stands here, so that the innermost frame is this function. */
__attribute__((noinline)) static long askParent(void)
{
    long result = SYS_getppid;
    __asm__ volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
    return result;
}
enum { NEAR = 64 }; /* bytes: it is shorter than that, sanitizers included */
#else
__attribute__((noinline)) static long askParent(void)
{
    return syscall(SYS_getppid);
}
enum { NEAR = INT32_MAX };
#endif

static const char *const systemcall[] = {"systemcall", NULL};

static void stacks_of_calls(void)
{
    const Seen *s;
    wantStacks = true;
    REQUIRE(startTrace(systemcall, NULL, 0, false));
    wantStacks = false;
    for (int i = 0; i < 10; i++) {
        askParent();
    }
    stopTrace();
    CHECK_EQ(countOf("systemcall", "Enter", " Syscall=getppid "), 10);
    for (int i = 0; i < 10; i++) {
        s = find("systemcall", "Enter", " Syscall=getppid ", i);
        REQUIRE(s != NULL && s->stackCount > 1);
        CHECK(isKernel(s->stack[0]));
        CHECK_MSG(userTop(s) - (uint64_t)(uintptr_t)askParent < NEAR,
                "0x%llx is not in askParent, %p", (unsigned long long)userTop(s),
                (void *)(uintptr_t)askParent);
    }
    for (int i = 0; i < seenCount; i++) {
        CHECK(seen[i].stackCount > 0);
        CHECK_MSG(seen[i].tid != OsTid() || isExecutable(userTop(&seen[i])),
                "%s%s: 0x%llx is no code of ours", seen[i].event, seen[i].fields,
                (unsigned long long)userTop(&seen[i]));
    }
}

/* A switch has the stack of the thread that goes; that one's alone. */
static void stacks_of_switches(void)
{
    static const char *const groups[] = {"contextswitch", NULL};
    int gone = 0;
    wantStacks = true;
    REQUIRE(startTrace(groups, NULL, 0, false));
    wantStacks = false;
    for (int i = 0; i < 5; i++) {
        OsSleepNs(2000000);
    }
    stopTrace();
    for (int i = 0; i < seenCount; i++) {
        bool leaves = atol(field(&seen[i], "OldThreadId")) == (long)seen[i].tid;
        CHECK_MSG(leaves == (seen[i].stackCount > 0), "%s", seen[i].fields);
        gone += leaves && seen[i].tid == OsTid() && isExecutable(userTop(&seen[i]));
    }
    CHECK(gone >= 5);
}

static EtwStatus enableMore(const char *group, bool stacks)
{
    EtwError err = {0};
    EtwKernelEnable enable = {.groups = &group, .groupCount = 1, .stacks = stacks};
    EtwStatus status = EtwSessionEnableKernel("Kernel", &enable, &err);
    CHECK_MSG(status == ETW_OK, "%s", err.message);
    return status;
}

/* Group by group, and to what is there already: nothing comes twice, nothing is missed. */
static void stacks_added(void)
{
    static const char *const groups[] = {"process", "systemcall", NULL};
    const Seen *s;
    int plain = 0, stacked = 0;
    REQUIRE(startTrace(groups, NULL, 0, false));
    CHECK(instanceCount() > 0);
    for (int i = 0; i < 10; i++) {
        askParent();
    }
    REQUIRE(enableMore("systemcall", true) == ETW_OK);
    for (int i = 0; i < 10; i++) {
        askParent();
    }
    if (fork() == 0) {
        _exit((int)askParent() & 1);
    }
    wait(NULL);
    stopTrace();
    for (int n = 0; (s = find("systemcall", "Enter", " Syscall=getppid ", n)) != NULL; n++) {
        CHECK(stacked == 0 || s->stackCount > 0);
        stacked += s->stackCount > 0;
        plain += s->stackCount == 0;
    }
    CHECK_EQ(plain, 10);
    CHECK_EQ(stacked, 11); /* the child's as well */
    s = find("process", "Start", NULL, 0);
    CHECK_EQ(s ? s->stackCount : -1, 0);
    CHECK_EQ(countOf("process", "Stop", NULL), 1);
}

/*
 * Who wants the stacks of a tracepoint does not narrow what a group shows of it. A child keeps the
 * processor busy meanwhile: not every switch from an idle one is told by every kernel.
 */
static void stacks_beside_group(void)
{
    static const char *const groups[] = {"contextswitch", NULL};
    const Seen *s;
    int comes = 0;
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    pid_t busy = fork();
    while (busy == 0 && getppid() != 1) {
    }
    REQUIRE(startTrace(groups, NULL, 0, false));
    REQUIRE(enableMore("linux:sched:sched_switch", true) == ETW_OK);
    for (int i = 0; i < 5; i++) {
        OsSleepNs(2000000);
    }
    stopTrace();
    kill(busy, SIGKILL);
    waitpid(busy, NULL, 0);
    sched_setaffinity(0, sizeof all, &all);
    for (int n = 0; (s = find("contextswitch", "Switch", NULL, n)) != NULL; n++) {
        comes += s->tid == OsTid() && atol(field(s, "NewThreadId")) == (long)s->tid;
    }
    CHECK(comes >= 5);
    s = find("sched", "sched_switch", NULL, 0);
    CHECK(s != NULL && s->tid == (uint32_t)atol(field(s, "prev_pid")));
}

static void stacks_of_raw(void)
{
    static const char *const groups[] = {"linux:raw_syscalls:sys_enter", NULL};
    const Seen *s;
    wantStacks = true;
    REQUIRE(startTrace(groups, NULL, 0, false));
    wantStacks = false;
    askParent();
    stopTrace();
    s = find("raw_syscalls", "sys_enter", " id=getppid ", 0);
    CHECK(s != NULL && userTop(s) - (uint64_t)(uintptr_t)askParent < NEAR);
}

/* ---- As tracefs shows it --------------------------------------------------------------------- */

static void workload(void)
{
    char buffer[1000];
    int server = listener(AF_INET), client = dial(AF_INET, false, portOf(server));
    int accepted = accept(server, NULL, NULL), status;
    for (int i = 0; i < 3; i++) {
        sendAll(client, sizeof buffer);
        CHECK_EQ(recv(accepted, buffer, sizeof buffer, MSG_WAITALL), sizeof buffer);
    }
    close(client);
    CHECK_EQ(readAll(accepted), 0);
    close(accepted);
    close(server);
    if (fork() == 0) {
        execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
    }
    wait(&status);
}

/* What of an event is the same in each run. */
static void addLine(EtwText *text, const Seen *s)
{
    static const char *const names[] = {"Family", "OldState", "NewState", "LocalAddr", "RemoteAddr",
            "Size", "FileName", "ExitCode", "Command", NULL};
    EtwTextPrintf(text, "%s %s", s->provider, s->event);
    for (int i = 0; names[i] != NULL; i++) {
        EtwTextPrintf(text, " %s", field(s, names[i]));
    }
    EtwTextChar(text, '\n');
}

static char *traceWorkload(void)
{
    static const char *const groups[] = {"tcpip", "process", NULL};
    EtwText text = {0};
    if (startTrace(groups, NULL, 0, false)) {
        workload();
        stopTrace();
        for (int i = 0; i < seenCount; i++) {
            addLine(&text, &seen[i]);
        }
    }
    EtwTextChar(&text, '\0');
    return text.data;
}

static void same_events(void)
{
    char *tracefs = traceWorkload(), *perf;
    int count = seenCount;
    CHECK_EQ(instanceCount(), 0);
    kernelPerf = true;
    perf = traceWorkload();
    kernelPerf = false;
    CHECK(count > 15);
    CHECK_STR(perf, tracefs);
    EtwFree(perf);
    EtwFree(tracefs);
}

/* Our own events and the kernel's, on one clock. */
static void one_clock(void)
{
    enum { ROUNDS = 3000 };
    Etw_Provider *provider = Etw_Register("Linux-marks", NULL);
    Etw_Event *before = Etw_DefineEvent(provider, &(Etw_EventDesc){.name = "Before"}, NULL, 0);
    Etw_Event *after = Etw_DefineEvent(provider, &(Etw_EventDesc){.name = "After"}, NULL, 0);
    EtwEnable enable = {.providerName = "Linux-marks"};
    static const char *const pattern[] = {"Before", "Enter", "Exit", "After"};
    int step = 0, wrong = 0, rounds = 0;
    EtwGuidFromName("Linux-marks", &enable.provider);
    kernelPerf = true;
    REQUIRE(startTrace(systemcall, NULL, 0, false));
    kernelPerf = false;
    CHECK_EQ(EtwSessionEnable("Kernel", &enable, NULL), ETW_OK);
    for (int i = 0; i < ROUNDS; i++) {
        Etw_Write(before, NULL, 0);
        askParent();
        Etw_Write(after, NULL, 0);
        if (i % 100 == 0) {
            OsSleepNs(1000000); /* several rounds of the logger */
        }
    }
    stopTrace();
    Etw_Unregister(provider);
    for (int i = 0; i < seenCount; i++) {
        bool mine = strcmp(seen[i].provider, "marks") == 0 ||
                    strstr(seen[i].fields, " Syscall=getppid ") != NULL;
        if (mine && seen[i].tid == OsTid()) {
            wrong += strcmp(seen[i].event, pattern[step]) != 0;
            rounds += step == 3;
            step = (step + 1) % 4;
        }
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(rounds, ROUNDS);
}

/* ---- Threads that come and go ---------------------------------------------------------------- */

static _Atomic bool churning;
static _Atomic int alive, asked;

static void *askOnce(void *arg)
{
    (void)arg;
    OsSleepNs(20000000); /* born while it begins, there when it has begun */
    askParent();
    asked++;
    alive--;
    return NULL;
}

static void *churn(void *arg)
{
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    while (churning) {
        pthread_t thread;
        alive += pthread_create(&thread, &detached, askOnce, NULL) == 0;
        OsSleepNs(1000000);
    }
    while (alive > 0) {
        OsSleepNs(1000000);
    }
    pthread_attr_destroy(&detached);
    return arg;
}

/* Each asks once, so that no event may be there twice, however the trace came to that thread. */
static void threads_while_beginning(void)
{
    static const char *const groups[] = {"systemcall", "thread", NULL};
    pthread_t maker;
    int calls = 0, starts, before;
    kernelPerf = true;
    churning = true;
    pthread_create(&maker, NULL, churn, NULL);
    while (asked < 5) { /* some are there when it begins */
        OsSleepNs(1000000);
    }
    CHECK(startTrace(groups, NULL, 0, false));
    before = asked;
    while (asked < before + 40) {
        OsSleepNs(1000000);
    }
    churning = false;
    pthread_join(maker, NULL);
    kernelPerf = false;
    stopTrace();
    for (int i = 0; i < seenCount; i++) {
        char text[64];
        if (strstr(seen[i].fields, " Syscall=getppid ") == NULL ||
                strcmp(seen[i].event, "Enter") != 0) {
            continue;
        }
        calls++;
        for (int k = i + 1; k < seenCount; k++) {
            CHECK_MSG(seen[k].tid != seen[i].tid || strcmp(seen[k].event, "Enter") != 0 ||
                              strstr(seen[k].fields, " Syscall=getppid ") == NULL,
                    "thread %u asks twice", seen[i].tid);
        }
        snprintf(text, sizeof text, " ThreadId=%u ", seen[i].tid);
        starts = countOf("thread", "Start", text);
        CHECK_MSG(starts <= 1, "thread %u starts %d times", seen[i].tid, starts);
    }
    CHECK(calls > 4);
}

/* ---- Rights ---------------------------------------------------------------------------------- */

typedef struct Rights {
    bool readable; /* tracefs, for the group */
    bool perfmon;
    int paranoid;
} Rights;

static bool setParanoid(int level)
{
    FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "we");
    bool good = f != NULL && fprintf(f, "%d", level) > 0;
    return f != NULL && fclose(f) == 0 && good;
}

static int paranoid(void)
{
    int level = 99;
    FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    if (f != NULL) {
        (void)!fscanf(f, "%d", &level);
        fclose(f);
    }
    return level;
}

static bool setMode(unsigned gid, unsigned mode)
{
    char options[64];
    snprintf(options, sizeof options, "gid=%u,mode=%o", gid, mode);
    return mount("nodev", TRACEFS, "tracefs", MS_REMOUNT, options) == 0;
}

/* From root to nobody, with one capability or none. */
static bool becomeNobody(bool perfmon)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}, {0}};
    data[PERFMON / 32].permitted = data[PERFMON / 32].effective = perfmon ? 1u << PERFMON % 32 : 0;
    return prctl(PR_SET_KEEPCAPS, 1) == 0 && syscall(SYS_setgroups, 0, NULL) == 0 &&
           setgid(NOBODY) == 0 && setuid(NOBODY) == 0 && syscall(SYS_capset, &head, data) == 0 &&
           prctl(PR_SET_DUMPABLE, 1) == 0;
}

/* Run a test in a child with these rights; all is put back. */
static void withRights(const Rights *rights, void (*test)(void))
{
    struct stat before;
    int level = paranoid(), status = -1;
    char own[600], remove[640];
    pid_t child;
    REQUIRE(stat(TRACEFS, &before) == 0);
    snprintf(own, sizeof own, "%s-nobody", dir);
    snprintf(remove, sizeof remove, "rm -rf '%s'", own);
    if (!setMode(rights->readable ? NOBODY : before.st_gid, rights->readable ? 0750 : 0700) ||
            !setParanoid(rights->paranoid)) {
        setMode(before.st_gid, before.st_mode & 07777);
        SKIP("this machine allows no remount of tracefs, or no sysctl: %s", strerror(errno));
    }
    child = fork();
    if (child == 0) {
        mkdir(own, 0700);
        (void)!chown(own, NOBODY, NOBODY);
        snprintf(dir, sizeof dir, "%.500s", own);
        setenv("ETW_RUNTIME_DIR", dir, 1);
        if (CHECK_MSG(becomeNobody(rights->perfmon), "rights: %s", strerror(errno))) {
            test();
        }
        fflush(stdout);
        _exit(checkState.bad != 0);
    }
    waitpid(child, &status, 0);
    (void)!system(remove);
    setParanoid(level);
    setMode(before.st_gid, before.st_mode & 07777);
    CHECK_EQ(status, 0);
}

static EtwStatus tryGroup(const char *group, bool stacks, EtwError *err)
{
    EtwKernel *kernel = NULL;
    EtwKernelEnable enable = {.groups = &group, .groupCount = 1, .stacks = stacks};
    EtwStatus status = EtwKernelOpen(&kernel, "rights", &enable, err);
    EtwKernelClose(kernel);
    return status;
}

/* A refusal whose text has all these words, and not that one. */
static void refuses(
        const char *group, EtwStatus want, const char *a, const char *b, const char *absent)
{
    EtwError err = {0};
    CHECK_EQ(tryGroup(group, false, &err), want);
    CHECK_MSG(strstr(err.message, a) != NULL && strstr(err.message, b) != NULL &&
                      (absent == NULL || strstr(err.message, absent) == NULL),
            "%s", err.message);
}

static void allWorks(void)
{
    char *text = traceWorkload();
    CHECK(find("tcpip", "Connect", " RemoteAddr=127.0.0.1 ", 0) != NULL);
    CHECK(find("tcpip", "Accept", NULL, 0) != NULL);
    CHECK_EQ(sizeSum("tcpip", "Send", NULL), 3000);
    CHECK_EQ(countOf("process", "Stop", " ExitCode=7 "), 1);
    CHECK(find("process", "Exec", "/bin/sh", 0) != NULL);
    EtwFree(text);
    stacks_of_calls();
}

/* Nothing beyond what perf itself grants: smaller rings, on all CPUs. */
static void allWorksLocked(void)
{
    CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){0, 0}), 0);
    allWorks();
}

static void callsWork(void)
{
    stacks_of_calls();
    refuses("tcpip", ETW_E_ACCESS, "perf_event_paranoid is 1, which allows only system calls",
            "setcap cap_perfmon+ep", "remount");
    refuses("contextswitch", ETW_E_ACCESS, "run as root", "kernel.perf_event_paranoid=-1", NULL);
}

static void nothingWorks(void)
{
    refuses("tcpip", ETW_E_ACCESS, "perf_event_paranoid is 2)", "setcap cap_perfmon+ep", "remount");
    refuses("systemcall", ETW_E_ACCESS, "run as root", "kernel.perf_event_paranoid=-1", "remount");
}

static void cannotRead(void)
{
    refuses("systemcall", ETW_E_ACCESS, "remount,gid=GROUP,mode=0750", "setcap cap_perfmon", NULL);
}

static void cannotReadOnly(void)
{
    refuses("systemcall", ETW_E_ACCESS, "remount,gid=GROUP,mode=0750", "run as root", "setcap");
}

static void rights_capability(void)
{
    withRights(&(Rights){.readable = true, .perfmon = true, .paranoid = 2}, allWorks);
}

static void rights_little_memory(void)
{
    withRights(&(Rights){.readable = true, .perfmon = true, .paranoid = 2}, allWorksLocked);
}

static void rights_everybody(void)
{
    withRights(&(Rights){.readable = true, .paranoid = -1}, allWorks);
}

static void rights_calls(void)
{
    withRights(&(Rights){.readable = true, .paranoid = 1}, callsWork);
}

static void rights_no_perf(void)
{
    withRights(&(Rights){.readable = true, .paranoid = 2}, nothingWorks);
}

static void rights_none(void)
{
    withRights(&(Rights){.paranoid = 2}, cannotRead);
}

static void rights_no_tracefs(void)
{
    withRights(&(Rights){.perfmon = true, .paranoid = 2}, cannotReadOnly);
    withRights(&(Rights){.paranoid = -1}, cannotReadOnly);
}

/* In a child, which lives among mounts of its own. */
static void not_mounted(void)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
            _exit(99);
        }
        while (umount2(TRACEFS, MNT_DETACH) == 0 ||
                umount2("/sys/kernel/debug/tracing", MNT_DETACH) == 0 ||
                umount2("/sys/kernel/debug", MNT_DETACH) == 0) {
        }
        refuses("tcpip", ETW_E_UNSUPPORTED, "not mounted", "mount -t tracefs", NULL);
        fflush(stdout);
        _exit(checkState.bad != 0);
    }
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 99) {
        SKIP("this machine gives no mounts of one's own");
    }
    CHECK_EQ(status, 0);
}

/* ---- Names of files ---------------------------------------------------------------------------- */

/* The event of an open by this process. */
static const Seen *openSeen(bool stacks)
{
    static const char *const groups[] = {"fileio", NULL};
    wantStacks = stacks;
    bool started = startTrace(groups, NULL, 0, false);
    wantStacks = false;
    if (!started) {
        return NULL;
    }
    close(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
    stopTrace();
    return find("fileio", "Create", " FileName=/etc/passwd NameSource=1 ", 0);
}

/* Where the kernel refuses BPF, libc's functions report names. */
static void names_without_bpf(void)
{
    kernelHidden = " etw:path_call";
    const Seen *s = openSeen(false);
    kernelHidden = NULL;
    CHECK(s != NULL && s->pid == OsPid());
}

static void names_with_stacks(void)
{
    const Seen *s = openSeen(true);
    CHECK(s != NULL && s->pid == OsPid());
    CHECK(s != NULL && s->stackCount > 0);
}

/* ---- Limits ---------------------------------------------------------------------------------- */

static int openFiles(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = -1; /* d itself */
    while (d != NULL && readdir(d) != NULL) {
        n++;
    }
    if (d != NULL) {
        closedir(d);
    }
    return n;
}

/* Not enough of them, wherever they run out: told, and nothing stays open. */
static void too_many_files(void)
{
    struct rlimit before, few;
    int open = openFiles(), tries = 0;
    EtwStatus status = ETW_E_LIMIT;
    EtwError err = {0};
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
    for (few = before, few.rlim_cur = (rlim_t)open; status != ETW_OK; few.rlim_cur++, tries++) {
        REQUIRE(few.rlim_cur < before.rlim_cur && setrlimit(RLIMIT_NOFILE, &few) == 0);
        status = tryGroup("process", true, &err);
        setrlimit(RLIMIT_NOFILE, &before);
        CHECK_MSG(status == ETW_OK || status == ETW_E_LIMIT, "%d: %s", (int)status, err.message);
        CHECK_MSG(status == ETW_OK || strstr(err.message, "ulimit -n") != NULL, "%d: %s", tries,
                err.message);
    }
    CHECK(tries > 8);
    CHECK_EQ(tryGroup("process", true, &err), ETW_OK);
    CHECK_EQ(openFiles(), open);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    OsInit();
    if (prepare()) {
        /* Children of another user first: what this process opens later is not theirs to use. */
        CHECK_RUN(rights_capability);
        CHECK_RUN(rights_little_memory);
        CHECK_RUN(rights_everybody);
        CHECK_RUN(rights_calls);
        CHECK_RUN(rights_no_perf);
        CHECK_RUN(rights_none);
        CHECK_RUN(rights_no_tracefs);
        CHECK_RUN(not_mounted);
        CHECK_RUN(stacks_of_calls);
        CHECK_RUN(stacks_of_switches);
        CHECK_RUN(stacks_added);
        CHECK_RUN(stacks_beside_group);
        CHECK_RUN(stacks_of_raw);
        CHECK_RUN(same_events);
        CHECK_RUN(one_clock);
        CHECK_RUN(threads_while_beginning);
        CHECK_RUN(too_many_files);
        CHECK_RUN(names_without_bpf);
        CHECK_RUN(names_with_stacks);
        EtwSessionStopAll();
        removeDir();
    } else {
        checkState.skipped++;
    }
    return CHECK_DONE();
}

#else

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    printf("skip kernel_perf: Linux only\n");
    checkState.skipped++;
    return CHECK_DONE();
}

#endif
