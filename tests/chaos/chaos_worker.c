/*
 * tests/chaos/chaos_worker.c --
 *
 *	The processes of a chaos round (chaos_driver.tcl): a writer with threads, the owner of a session, one control
 *	call, a live consumer, and the check of the files. Options before the role limit the process:
 *
 *	    chaos_worker ?LIMIT ...? write FIRST THREADS COUNT PAUSE SIZE
 *	    chaos_worker ?LIMIT ...? own NAME FILE MODE MAXMB KB BUFFERS FLUSH DETACHED COMPRESS GROUPS
 *	    chaos_worker ?LIMIT ...? start ... | stop NAME | flush NAME | list | recover | snapshot NAME FILE | consume NAME
 *	    chaos_worker check EVIDENCE RULE FILE ...
 *	    chaos_worker points
 *
 *	A writer's output, and the evidence, consist of Message structures. A writer reports each event when
 *	Etw_Write has returned. Linux only.
 */
#define _GNU_SOURCE
#include <stdio.h>
#ifdef _WIN32
int main(void)
{
    return 0;
}
#else
#include "base/bytes.h"
#include "base/os.h"
#include "engine/engine.h"
#include "etl/read/reader.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 64, EVENTS = 1 << 20, HANG_S = 120 };

/* What a writer reports, 16 bytes. `stop` is inserted by the driver: reports after it have no promise. */
enum { REPORT_READY = 1, REPORT_WRITTEN, REPORT_LOST, REPORT_DONE, REPORT_STOP };
typedef struct Message {
    uint32_t kind, thread;
    uint64_t number; /* REPORT_READY: the pid */
} Message;

static EtwGuid guid;
static Etw_Provider *provider;
static Etw_Event *event;

static int fail(const EtwError *err)
{
    fprintf(stderr, "error %s %s: %s\n", err->detail, err->subject, err->message);
    return 1;
}

static uint32_t number(const char *text)
{
    return (uint32_t)strtoul(text, NULL, 10);
}

static void report(uint32_t kind, uint32_t thread, uint64_t value)
{
    Message m = {kind, thread, value};
    if (write(STDOUT_FILENO, &m, sizeof m) != sizeof m) {
        _exit(3); /* the driver has gone */
    }
}

/* ---- Limits ---------------------------------------------------------------------------------- */

static int limit(int resource, const char *value)
{
    struct rlimit l = {strtoull(value, NULL, 10), strtoull(value, NULL, 10)};
    return setrlimit(resource, &l);
}

/* The call membarrier fails as on a kernel without it. */
static int forbidMembarrier(void)
{
    struct sock_filter code[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
}

/* Continue in a pid namespace of its own; noproc: without /proc, too. This process ends as that one does. */
static int enterPidSpace(bool noproc)
{
    int status;
    if (unshare(CLONE_NEWPID | (noproc ? CLONE_NEWNS : 0)) != 0) {
        return -1;
    }
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (noproc && (mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
                              mount("none", "/proc", "tmpfs", 0, NULL) != 0)) {
            _exit(4);
        }
        return 0;
    }
    while (waitpid(child, &status, 0) < 0) {
    }
    if (WIFSIGNALED(status)) {
        kill(getpid(), WTERMSIG(status));
    }
    _exit(WEXITSTATUS(status));
}

/* Continue in a mount namespace of its own, with its own /dev/shm, as in a container. */
static int enterMountSpace(void)
{
    return unshare(CLONE_NEWNS) != 0 || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
           mount("none", "/dev/shm", "tmpfs", 0, "size=1m") != 0;
}

static bool lies; /* reports an event that it has not written */

static int setLimit(const char *name, const char *value)
{
    static const struct {
        const char *name;
        int resource;
    } limits[] = {{"as", RLIMIT_AS}, {"memlock", RLIMIT_MEMLOCK}, {"nofile", RLIMIT_NOFILE},
            {"fsize", RLIMIT_FSIZE}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (strcmp(name, limits[i].name) == 0) {
            return limit(limits[i].resource, value);
        }
    }
    lies |= strcmp(name, "lie") == 0;
    return strcmp(name, "seccomp") == 0   ? forbidMembarrier()
           : strcmp(name, "pidns") == 0   ? enterPidSpace(false)
           : strcmp(name, "noproc") == 0  ? enterPidSpace(true)
           : strcmp(name, "mountns") == 0 ? enterMountSpace()
           : strcmp(name, "point") == 0   ? setenv("ETW_TEST_POINT", value, 1)
           : strcmp(name, "lie") == 0     ? 0
                                          : -1;
}

/* ---- Writing --------------------------------------------------------------------------------- */

typedef struct Writer {
    pthread_t thread;
    uint32_t id, count, pause, size; /* pause: microseconds after each 64 events */
} Writer;

/* Each thread on one CPU, so that its events are in one stream. */
static void pin(uint32_t turn)
{
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof all, &all);
    turn %= (uint32_t)CPU_COUNT(&all);
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &all) && turn-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(i, &one);
            sched_setaffinity(0, sizeof one, &one);
            return;
        }
    }
}

static void *writeAll(void *arg)
{
    const Writer *w = arg;
    static const uint8_t zeros[4096];
    pin(w->id);
    for (uint64_t i = 0; i < w->count; i++) {
        uint64_t id = w->id;
        uint16_t size = (uint16_t)w->size;
        if (!Etw_Enabled(provider, 4, 1)) {
            break; /* the session has ended */
        }
        int result =
                Etw_Write(event, (Etw_Data[]){{&id, 8}, {&i, 8}, {&size, 2}, {zeros, size}}, 4);
        report(result == ETW_WRITTEN ? REPORT_WRITTEN : REPORT_LOST, w->id, i);
        if (lies && w->id == 0 && i == 0) {
            report(REPORT_WRITTEN, 0, EVENTS - 1);
        }
        if (result != ETW_WRITTEN || (w->pause != 0 && i % 64 == 63)) {
            usleep(result != ETW_WRITTEN ? 300 : w->pause);
        }
    }
    report(REPORT_DONE, w->id, 0);
    return NULL;
}

static void prepare(void)
{
    static const Etw_Field fields[] = {{"Thread", ETW_IN_UINT64, 0, 0, 0},
            {"Number", ETW_IN_UINT64, 0, 0, 0}, {"Fill", ETW_IN_BINARY, 0, 0, 0}};
    provider = Etw_Register("Chaos-Test", NULL);
    event = Etw_DefineEvent(provider,
            &(Etw_EventDesc){.name = "Number", .id = 9, .level = 4, .keyword = 1}, fields, 3);
}

static int writeRole(char **arg)
{
    static Writer writers[THREADS];
    uint32_t first = number(arg[0]), threads = number(arg[1]);
    prepare();
    report(REPORT_READY, first, (uint64_t)getpid());
    for (uint32_t i = 0; i < threads; i++) {
        writers[i] = (Writer){0, first + i, number(arg[2]), number(arg[3]), number(arg[4])};
        pthread_create(&writers[i].thread, NULL, writeAll, &writers[i]);
    }
    for (uint32_t i = 0; i < threads; i++) {
        pthread_join(writers[i].thread, NULL);
    }
    Etw_Unregister(provider);
    return 0;
}

/* ---- Sessions -------------------------------------------------------------------------------- */

static void show(const EtwSessionInfo *i)
{
    const EtwLost *l = &i->lost;
    printf("owner %u events %llu overwritten %llu nobuffer %llu toobig %llu full %llu io %llu "
           "abandoned %llu consumers %u\n",
            i->ownerPid, (unsigned long long)i->events, (unsigned long long)i->overwritten,
            (unsigned long long)l->noBuffer, (unsigned long long)l->tooBig,
            (unsigned long long)l->fileFull, (unsigned long long)l->io,
            (unsigned long long)l->abandoned, i->consumers);
    fflush(stdout);
}

/* Kernel events of this process. */
static EtwStatus enableKernel(const char *name, char *words, EtwError *err)
{
    const char *groups[8];
    EtwKernelEnable enable = {.groups = groups};
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
        groups[enable.groupCount++ % 8] = word;
    }
    return enable.groupCount > 0 ? EtwSessionEnableKernel(name, &enable, err) : ETW_OK;
}

/* NAME FILE MODE MAXMB KB BUFFERS FLUSH DETACHED COMPRESS GROUPS; FILE "" for a flight recorder. */
static int startRole(char **arg)
{
    static const char *const modes[] = {"sequential", "circular", "append", "newfile", "memory"};
    EtwSessionConfig config = {.name = arg[0],
            .file = arg[1][0] ? arg[1] : NULL,
            .engine = ETW_ENGINE_EMBEDDED,
            .maxMB = number(arg[3]),
            .bufferKB = number(arg[4]),
            .maxBuffers = number(arg[5]),
            .flushMs = number(arg[6]),
            .detached = number(arg[7]) != 0,
            .compress = strcmp(arg[8], "off") == 0  ? ETW_COMPRESS_OFF
                        : strcmp(arg[8], "on") == 0 ? ETW_COMPRESS_ON
                                                    : ETW_COMPRESS_AUTO};
    EtwEnable enable = {.provider = guid, .providerName = "Chaos-Test"};
    EtwSessionInfo info;
    EtwError err = {0};
    for (int i = 0; i < 5; i++) {
        config.mode = strcmp(arg[2], modes[i]) == 0 ? (EtwFileMode)i : config.mode;
    }
    config.realtime = arg[1][0] != '\0' && config.mode == ETW_FILE_SEQUENTIAL;
    if (EtwSessionStart(&config, &err) != ETW_OK ||
            EtwSessionEnable(arg[0], &enable, &err) != ETW_OK ||
            enableKernel(arg[0], arg[9], &err) != ETW_OK ||
            EtwSessionQuery(arg[0], &info, &err) != ETW_OK) {
        return fail(&err);
    }
    show(&info);
    return 0;
}

/* Starts a session in this process, and has it until standard input ends. */
static int ownRole(char **arg)
{
    char byte;
    int status = startRole(arg);
    while (status == 0 && read(STDIN_FILENO, &byte, 1) > 0) {
    }
    return status;
}

static int stopRole(char **arg)
{
    EtwSessionInfo info = {.name = ""};
    EtwError err = {0};
    EtwStatus status = EtwSessionStop(arg[0], &info, &err);
    if (status != ETW_OK && status != ETW_E_IO) {
        return fail(&err);
    }
    show(&info); /* ETW_E_IO: the file lacks events, which are counted */
    return 0;
}

static int flushRole(char **arg)
{
    EtwSessionInfo info;
    EtwError err = {0};
    return EtwSessionFlush(arg[0], &info, &err) == ETW_OK ? (show(&info), 0) : fail(&err);
}

static int snapshotRole(char **arg)
{
    EtwSessionInfo info;
    EtwError err = {0};
    return EtwSessionSnapshot(arg[0], arg[1], &info, &err) == ETW_OK ? (show(&info), 0)
                                                                     : fail(&err);
}

static bool showName(void *ctx, const EtwSessionInfo *info)
{
    (void)ctx;
    printf("%s %u\n", info->name, info->ownerPid);
    return true;
}

static int listRole(char **arg)
{
    (void)arg;
    EtwSessionList(showName, NULL);
    return 0;
}

static void showRecovered(void *ctx, const EtwRecovered *r)
{
    *(bool *)ctx |= r->status != ETW_OK;
    printf("recovered %s %llu %d {%s} {%s}\n", r->name, (unsigned long long)r->events, r->status,
            r->file, r->status == ETW_OK ? "" : r->error.message);
}

static int recoverRole(char **arg)
{
    EtwError err = {0};
    bool failed = false;
    (void)arg;
    return EtwSessionRecover(showRecovered, &failed, &err) != ETW_OK ? fail(&err) : failed;
}

/* ---- Checking -------------------------------------------------------------------------------- */

/* What is known of an event: bits. */
enum { WRITTEN = 1, LOST = 2, PROMISED = 4, FOUND = 8 };

static uint8_t *known[THREADS];   /* by number */
static uint64_t highest[THREADS]; /* number found, + 1 */
static struct Totals {
    uint64_t promised, lost, found, missing, late, stray, twice, disorder, invented, overwritten,
            header;
    uint32_t closed, files;
} totals;

static uint8_t *about(uint64_t thread, uint64_t n)
{
    static uint8_t other;
    if (thread >= THREADS || n >= EVENTS) {
        return &other;
    }
    if (known[thread] == NULL) {
        known[thread] = calloc(EVENTS, 1);
    }
    return &known[thread][n];
}

static int readEvidence(const char *path)
{
    FILE *f = fopen(path, "rb");
    Message m;
    bool stopped = false;
    if (f == NULL) {
        return 1;
    }
    while (fread(&m, sizeof m, 1, f) == 1) {
        if (m.kind == REPORT_STOP) {
            stopped = true;
        } else if (m.kind == REPORT_WRITTEN) {
            *about(m.thread, m.number) |= stopped ? WRITTEN : WRITTEN | PROMISED;
            totals.promised += !stopped;
        } else if (m.kind == REPORT_LOST) {
            *about(m.thread, m.number) |= LOST;
            totals.lost++;
        }
    }
    fclose(f);
    return 0;
}

static void see(const EtwEvent *e)
{
    uint64_t thread = EtwLoad64(e->payload), n = EtwLoad64(e->payload + 8);
    uint8_t *k = about(thread, n);
    totals.found++;
    totals.twice += (*k & FOUND) != 0;
    totals.invented += (*k & LOST) != 0 || thread >= THREADS;
    if (thread < THREADS) {
        totals.disorder += n < highest[thread];
        highest[thread] = n + 1;
    }
    *k |= FOUND;
}

static bool ours(const EtwEvent *e)
{
    return EtwGuidEqual(&e->provider, &guid) && e->payloadSize >= 18;
}

static int readFile(const char *path)
{
    EtlReader *reader;
    EtwEvent e;
    EtwError err = {0};
    if (EtlReaderOpen(&reader, path, NULL, NULL, &err) != ETW_OK) {
        return fail(&err);
    }
    totals.files++;
    totals.closed += EtlReaderInfo(reader)->closed;
    /* The files of new-file mode count the session's losses up to their end. */
    if (EtlReaderInfo(reader)->eventsLost > totals.header) {
        totals.header = EtlReaderInfo(reader)->eventsLost;
    }
    while (EtlReaderNext(reader, &e) == ETW_OK) {
        if (ours(&e)) {
            see(&e);
        }
    }
    EtlReaderClose(reader);
    return 0;
}

/*
 * missing: promised, and not found. newest: those before the first that is found are overwritten instead, those
 * behind the last are late. stray: found before something that is missing.
 */
static void judgeThread(const uint8_t *events, bool newest)
{
    uint64_t found = 0, gap = 0;
    for (uint64_t n = 0; n < EVENTS; n++) {
        bool promised = (events[n] & PROMISED) != 0;
        if (events[n] & FOUND) {
            totals.stray += gap > 0 ? found : 0;
            found = gap > 0 ? 1 : found + 1;
            totals.missing += gap;
            gap = 0;
        } else if (newest && found == 0) {
            totals.overwritten += promised;
        } else {
            gap += promised;
        }
    }
    totals.missing += newest ? 0 : gap;
    totals.late += newest ? gap : 0;
    totals.stray += gap > 0 ? found : 0;
}

static int checkRole(char **arg)
{
    int status = readEvidence(arg[0]);
    for (char **file = arg + 2; *file != NULL; file++) {
        status |= readFile(*file);
    }
    for (int t = 0; t < THREADS; t++) {
        if (known[t] != NULL) {
            judgeThread(known[t], strcmp(arg[1], "newest") == 0);
        }
    }
    printf("promised %llu lost %llu found %llu missing %llu late %llu stray %llu twice %llu "
           "disorder %llu invented %llu "
           "overwritten %llu header %llu files %u closed %u\n",
            (unsigned long long)totals.promised, (unsigned long long)totals.lost,
            (unsigned long long)totals.found, (unsigned long long)totals.missing,
            (unsigned long long)totals.late, (unsigned long long)totals.stray,
            (unsigned long long)totals.twice, (unsigned long long)totals.disorder,
            (unsigned long long)totals.invented, (unsigned long long)totals.overwritten,
            (unsigned long long)totals.header, totals.files, totals.closed);
    return status;
}

/* Whether test points are compiled in. */
static int pointsRole(char **arg)
{
    (void)arg;
#ifdef ETW_TEST_POINTS
    puts("1");
#else
    puts("0");
#endif
    return 0;
}

/* ---- Consuming ------------------------------------------------------------------------------- */

/* The events that are missing between those that were seen. */
static uint64_t gaps(void)
{
    uint64_t count = 0;
    for (int t = 0; t < THREADS; t++) {
        uint64_t gap = 0;
        bool begun = false;
        for (uint64_t n = 0; known[t] != NULL && n < highest[t]; n++) {
            begun |= (known[t][n] & FOUND) != 0;
            gap += begun && (known[t][n] & FOUND) == 0;
        }
        count += gap;
    }
    return count;
}

/* Until the session ends. */
static int consumeRole(char **arg)
{
    EtwLive *live;
    EtwEvent e;
    EtwError err = {0};
    EtwStatus status;
    if (EtwLiveOpen(arg[0], &live, &err) != ETW_OK) {
        return fail(&err);
    }
    while ((status = EtwLiveNext(live, &e)) != ETW_END) {
        if (status == ETW_OK && ours(&e)) {
            see(&e);
        } else if (status == ETW_AGAIN) {
            EtwLiveWait(live, 20000000);
        }
    }
    printf("found %llu lost %llu twice %llu disorder %llu gaps %llu\n",
            (unsigned long long)totals.found, (unsigned long long)EtwLiveLost(live),
            (unsigned long long)totals.twice, (unsigned long long)totals.disorder,
            (unsigned long long)gaps());
    EtwLiveClose(live);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(char **arg);
        int least;
    } roles[] = {{"write", writeRole, 5}, {"own", ownRole, 10}, {"start", startRole, 10},
            {"stop", stopRole, 1}, {"flush", flushRole, 1}, {"list", listRole, 0},
            {"recover", recoverRole, 0}, {"snapshot", snapshotRole, 2}, {"consume", consumeRole, 1},
            {"check", checkRole, 2}, {"points", pointsRole, 0}};
    int i = 1;
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
        if (setLimit(argv[i] + 1, argv[i + 1]) != 0) {
            fprintf(stderr, "cannot limit %s: %s\n", argv[i] + 1, strerror(errno));
            return 5;
        }
    }
    alarm(HANG_S);
    OsInit();
    EtwGuidFromName("Chaos-Test", &guid);
    for (size_t k = 0; i < argc && k < sizeof roles / sizeof *roles; k++) {
        if (strcmp(argv[i], roles[k].name) == 0 && argc - i - 1 >= roles[k].least) {
            return roles[k].run(argv + i + 1);
        }
    }
    fprintf(stderr, "usage: chaos_worker ?-LIMIT VALUE ...? ROLE ARGUMENT ...\n");
    return 2;
}
#endif
