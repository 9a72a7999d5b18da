/*
 * tests/engine/test_crash.c --
 *
 *	The logger, or the process that recovers its session, is killed after each page that it writes, or finds the disk full
 *	there, or it is stopped there. The program replaces pwrite, which writes page by page here, as the kernel does when a process is killed inside
 *	it. Whatever happens, each acknowledged event is in the file once, and in order. Linux only.
 */
#define _GNU_SOURCE
#ifdef _WIN32
#include <stdio.h>
int main(void)
{
    printf("0 passed, 0 failed, 1 skipped\n");
    return 0;
}
#else
#include "engine/engine_int.h"
#include "engine/shared/registry.h"
#include "etl/format.h"
#include "tests/support/engine_support.h"
#include "tests/support/killed_writer.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, EVENTS = 3000, FLUSH_EACH = 700, STEP_LIMIT = 400 };

/* ---- pwrite ---------------------------------------------------------------------------------- */

static _Atomic long pagesLeft =
        -1;                    /* until the process is killed, or the disk is full; -1: never */
static _Atomic bool diskFull;  /* the end is ENOSPC, not SIGKILL */
static _Atomic bool onlyStops; /* the end is SIGSTOP */

static ssize_t putPage(int fd, const char *data, size_t size, off_t at)
{
    if (pagesLeft == 0) {
        if (diskFull) {
            errno = ENOSPC;
            return -1;
        }
        kill(getpid(), onlyStops ? SIGSTOP : SIGKILL);
        pagesLeft = -1;
    }
    pagesLeft -= pagesLeft > 0;
    return syscall(SYS_pwrite64, fd, data, size, at);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
    size_t done = 0;
    while (done < size) {
        size_t page = PAGE - (size_t)(at + (off_t)done) % PAGE;
        size_t piece = size - done < page ? size - done : page;
        ssize_t n = putPage(fd, (const char *)data + done, piece, at + (off_t)done);
        if (n < 0) {
            return done > 0 ? (ssize_t)done : -1;
        }
        done += (size_t)n;
    }
    return (ssize_t)done;
}

/* ---- open ------------------------------------------------------------------------------------ */

enum { NEVER = 1000000 };
static _Atomic long opensLeft =
        NEVER; /* until one open fails, once, because there are too many descriptors */

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (opensLeft != NEVER && opensLeft-- == 0) {
        errno = EMFILE;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

/* ---- Processes that die ---------------------------------------------------------------------- */

static _Atomic uint64_t *acknowledged; /* events, shared with the children */

static uint64_t eventCount = EVENTS;

/* A child that owns a session and writes into it. It is killed after so many pages, at last when it has written all;
 * with `waits`, it then waits until another process stops the session. */
static pid_t startOwner(const EtwSessionConfig *config, long pages, bool flushes, bool waits)
{
    *acknowledged = 0;
    pid_t child = fork();
    if (child == 0) {
        EtwEnable enable = {.provider = guid};
        EtwError err;
        alarm(60);
        pagesLeft = pages;
        if (EtwSessionStart(config, &err) != ETW_OK ||
                EtwSessionEnable(config->name, &enable, &err) != ETW_OK) {
            _exit(1);
        }
        for (uint64_t i = 0; i < eventCount; i++) {
            while (writeOne(0, i) != ETW_WRITTEN) {
                OsSleepNs(1000000);
            }
            *acknowledged = i + 1;
            if (flushes && i % FLUSH_EACH == FLUSH_EACH - 1) {
                EtwSessionFlush(config->name, NULL, NULL);
            }
        }
        while (waits) {
            OsSleepNs(10000000);
        }
        kill(getpid(), SIGKILL);
    }
    return child;
}

/*
 * A killed process counts as alive until its memory is freed. That may be after it was waited for: while another process reads
 * /proc/PID/maps, for example.
 */
static void waitForLocks(void)
{
    const Registry *r = RegOpen(NULL);
    bool lives = r != NULL;
    for (int ms = 0; lives && ms < 20000; ms++) {
        lives = false;
        for (int i = 0; i < ETW_MAX_SESSIONS; i++) {
            lives |= atomic_load(&r->sessions[i].instance) != 0 &&
                     RegProcessLives(r->sessions[i].owner);
        }
        if (lives) {
            OsSleepNs(1000000);
        }
    }
    CHECK_MSG(!lives, "after 20 s, the owner of a session that was killed counts as alive");
}

static void ownerDies(const EtwSessionConfig *config, long pages, bool flushes)
{
    int status;
    waitpid(startOwner(config, pages, flushes, false), &status, 0);
    waitForLocks();
    CHECK_MSG(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %d after %llu events",
            status, (unsigned long long)*acknowledged);
}

static EtwRecovered seen;
static int seenCount;
static void see(void *ctx, const EtwRecovered *recovered)
{
    (void)ctx;
    seen = *recovered;
    seenCount++;
}

static void recover(void)
{
    EtwError err;
    seenCount = 0;
    seen = (EtwRecovered){.name = ""};
    EtwStatus status = EtwSessionRecover(see, NULL, &err);
    CHECK_MSG(status == ETW_OK, "%s", err.message);
}

/* A child that recovers, and is killed or stopped after so many pages. */
static pid_t startRecovery(long pages)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        pagesLeft = pages;
        EtwSessionRecover(see, NULL, NULL);
        _exit(0);
    }
    return child;
}

/* False: it needed fewer pages. */
static bool recovererDies(long pages)
{
    int status;
    waitpid(startRecovery(pages), &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* Our events in a file are 0, 1, 2 ... up to the last acknowledged one at least. */
static bool complete(const char *path, const char *what, long pages)
{
    EtlReader *reader;
    EtwEvent e;
    EtwError err;
    uint64_t next = 0;
    bool good = true;
    if (!CHECK_MSG(EtlReaderOpen(&reader, path, NULL, NULL, &err) == ETW_OK, "%s, %ld pages: %s",
                what, pages, err.message)) {
        return false;
    }
    good = CHECK_MSG(EtlReaderInfo(reader)->closed, "%s, %ld pages: not closed", what, pages);
    while (good && EtlReaderNext(reader, &e) == ETW_OK) {
        if (EtwGuidEqual(&e.provider, &guid) && e.payloadSize == 16) {
            uint64_t number = EtwLoad64(e.payload + 8);
            good = CHECK_MSG(number == next, "%s, %ld pages: event %llu where %llu is expected",
                    what, pages, (unsigned long long)number, (unsigned long long)next);
            next++;
        }
    }
    good = good &&
           CHECK_MSG(next >= *acknowledged, "%s, %ld pages: %llu of %llu acknowledged events", what,
                   pages, (unsigned long long)next, (unsigned long long)*acknowledged);
    EtlReaderClose(reader);
    return good;
}

/* ---- The tests ------------------------------------------------------------------------------- */

static EtwCompress compress;

static EtwSessionConfig config(const char *file, uint32_t flushMs)
{
    return (EtwSessionConfig){.name = "crash",
            .file = file,
            .mode = ETW_FILE_SEQUENTIAL,
            .compress = compress,
            .bufferKB = 16,
            .maxBuffers = 64,
            .flushMs = flushMs};
}

/* The kernel cuts the last write of a killed process between pages. */
static void logger_killed_at_each_page(void)
{
    const char *file = at("logger.etl");
    EtwSessionConfig c = config(file, 5);
    for (long pages = 5, good = true; good && pages < STEP_LIMIT && *acknowledged < EVENTS;
            pages++) {
        ownerDies(&c, pages, true);
        recover();
        good = complete(file, "logger", pages);
    }
}

/*
 * Write events of random bytes until a page of the file ends `lead` to lead + 7 bytes after the end of its contents. Such events are
 * not compressed, so the size of an event tells that of the next one.
 */
static bool fillPage(const EtwSessionConfig *c, uint64_t lead)
{
    static uint8_t noise[3 * PAGE];
    uint64_t number = 0, seed = 1, overhead = 200, thread = 0;
    struct stat before, after;
    for (size_t i = 0; i < sizeof noise; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        noise[i] = (uint8_t)(seed >> 56);
    }
    for (int i = 0; i < 20 && stat(c->file, &before) == 0; i++) {
        uint64_t left = PAGE - (uint64_t)before.st_size % PAGE;
        if (left >= lead && left < lead + 8) {
            return true;
        }
        uint64_t size = left + PAGE - lead - overhead;
        Etw_Write(event, (Etw_Data[]){{&thread, 8}, {&number, 8}, {noise, (uint32_t)size}}, 3);
        if (EtwSessionFlush(c->name, NULL, NULL) != ETW_OK || stat(c->file, &after) != 0) {
            return false;
        }
        overhead = (uint64_t)(after.st_size - before.st_size) - size;
    }
    return false;
}

/* Killed after so many pages of the buffer whose header begins `lead` bytes before the end of a page. */
static void diesInHeader(const EtwSessionConfig *c, uint64_t lead, long pages)
{
    enum { FEW = 20 };
    int status;
    pid_t child = fork();
    if (child == 0) {
        EtwEnable enable = {.provider = guid};
        alarm(60);
        if (EtwSessionStart(c, NULL) != ETW_OK ||
                EtwSessionEnable(c->name, &enable, NULL) != ETW_OK ||
                writeOne(0, 0) != ETW_WRITTEN || EtwSessionFlush(c->name, NULL, NULL) != ETW_OK ||
                !fillPage(c, lead)) {
            _exit(1);
        }
        for (uint64_t i = 1; i < FEW && writeOne(0, i) == ETW_WRITTEN; i++) {
            *acknowledged = i + 1;
        }
        pagesLeft = pages;
        EtwSessionFlush(c->name, NULL, NULL);
        kill(getpid(), SIGKILL);
    }
    waitpid(child, &status, 0);
    waitForLocks();
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    CHECK_EQ(*acknowledged, FEW);
}

/* Headers of buffers in a compressed file begin anywhere, so that a page may end in each of their fields. */
static void header_divided_between_pages(void)
{
    const char *file = at("header.etl");
    EtwSessionConfig c = config(file, 60000);
    bool good = true;
    for (uint64_t lead = 1; good && lead < ETL_BUFFER_HEADER; lead += 8) {
        for (long pages = 0; good && pages < 5; pages++) {
            *acknowledged = 0;
            diesInHeader(&c, lead, pages);
            recover();
            good = complete(file, "divided header", pages);
        }
    }
}

static void recoverer_killed_at_each_page(void)
{
    const char *file = at("recoverer.etl");
    EtwSessionConfig c = config(file, 60000);
    bool good = true, died = true;
    for (long pages = 0; good && died && pages < STEP_LIMIT; pages++) {
        ownerDies(&c, -1, pages % 2);
        died = recovererDies(pages);
        recover();
        good = complete(file, "recoverer", pages);
    }
}

/* Two die one after the other, the second where the first has left off. */
static void recoverers_killed_twice(void)
{
    const char *file = at("twice.etl");
    EtwSessionConfig c = config(file, 60000);
    bool good = true, died = true;
    for (long pages = 1; good && died && pages < STEP_LIMIT; pages += 3) {
        ownerDies(&c, -1, true);
        died = recovererDies(pages);
        recovererDies(pages / 2);
        recover();
        good = complete(file, "twice", pages);
    }
}

/* Whoever needs another session does not wait for a recovery: the lock is free, also while the recovery does not get on. */
static void othersWork(void)
{
    EtwSessionConfig other = {.name = "other", .realtime = true};
    EtwError err = {0};
    OsInstant before, after;
    OsNow(&before);
    CHECK_MSG(EtwSessionStart(&other, &err) == ETW_OK, "%s", err.message);
    CHECK_MSG(EtwSessionStop("other", NULL, &err) == ETW_OK, "%s", err.message);
    CHECK(EtwSessionQuery("crash", &(EtwSessionInfo){0}, &err) != ETW_OK);
    CHECK_STR(err.detail, "RECOVERING");
    OsNow(&after);
    CHECK(after.steady - before.steady < 5000000000ll);
}

/* A recovery is stopped after so many pages; then it is continued or killed, and its session is complete. */
static void recoverer_stopped(void)
{
    const char *file = at("stopped.etl");
    EtwSessionConfig c = config(file, 60000);
    for (long pages = 1; pages < 8; pages++) {
        int status;
        ownerDies(&c, -1, false);
        onlyStops = true;
        pid_t child = startRecovery(pages);
        onlyStops = false;
        if (!CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status))) {
            break;
        }
        othersWork();
        kill(child, pages % 2 ? SIGCONT : SIGKILL);
        recover(); /* waits for the recovery that goes on */
        complete(file, "stopped", pages);
        waitpid(child, &status, 0);
    }
}

static void saysUnsaved(const char *call, EtwStatus status, const EtwError *err)
{
    CHECK_MSG(status == ETW_E_STATE && err->status == status && strcmp(err->detail, "UNSAVED") == 0,
            "%s returns %s, the error is %s %s: %s", call, EtwStatusName(status),
            EtwStatusName(err->status), err->detail, err->message);
}

/* The status of each call is that of its error. */
static void everyCallSaysUnsaved(const char *name)
{
    EtwSessionInfo info;
    EtwError err = {0};
    EtwEnable enable = {.provider = guid};
    EtwKernelEnable kernel = {.groups = (const char *[]){"process"}, .groupCount = 1};
    EtwLive *live;
    saysUnsaved("query", EtwSessionQuery(name, &info, &err), &err);
    saysUnsaved("stop", EtwSessionStop(name, &info, &err), &err);
    saysUnsaved("flush", EtwSessionFlush(name, &info, &err), &err);
    saysUnsaved(
            "update", EtwSessionUpdate(name, &(EtwSessionConfig){.flushMs = 5}, NULL, &err), &err);
    saysUnsaved("snapshot", EtwSessionSnapshot(name, "x.etl", &info, &err), &err);
    saysUnsaved("mark", EtwSessionMark(name, "text", &err), &err);
    saysUnsaved("enable", EtwSessionEnable(name, &enable, &err), &err);
    saysUnsaved("disable", EtwSessionDisable(name, &guid, &err), &err);
    saysUnsaved("kernel", EtwSessionEnableKernel(name, &kernel, &err), &err);
    saysUnsaved("live", EtwLiveOpen(name, &live, &err), &err);
    CHECK_EQ(etwEmbeddedOps.has(name), ETW_E_STATE);
}

/* While a session's events cannot be written, its name may be used again, but not its file. The disk is still full. */
static void nameIsFreeFileIsNot(const char *file, long pages)
{
    EtwSessionConfig other = {.name = "crash", .realtime = true}, same = config(file, 5);
    EtwError err = {0};
    diskFull = true;
    pagesLeft = compress == ETW_COMPRESS_OFF ? pages / 2
                                             : 0; /* few pages suffice for a compressed file */
    CHECK_EQ(EtwSessionStart(&same, &err), ETW_E_STATE);
    CHECK_STR(err.detail, "UNSAVED");
    everyCallSaysUnsaved("crash");
    everyCallSaysUnsaved("CRASH"); /* names are the same in any case of letters */
    CHECK_EQ(EtwSessionStart(&other, &err), ETW_OK);
    CHECK_EQ(EtwSessionStop("crash", NULL, &err), ETW_OK);
    pagesLeft = -1;
    diskFull = false;
}

/* The disk is full at the first look: the events stay in memory until they can be written. */
static void disk_full_in_recovery(void)
{
    const char *file = at("full.etl");
    EtwSessionConfig c = config(file, 60000);
    bool good = true, failed = true;
    for (long pages = 0; good && failed && pages < STEP_LIMIT; pages++) {
        ownerDies(&c, -1, pages % 2);
        diskFull = true;
        pagesLeft = pages;
        recover();
        failed = seen.status != ETW_OK;
        CHECK(!failed || seen.error.osError == ENOSPC);
        pagesLeft = -1;
        diskFull = false;
        if (failed) {
            nameIsFreeFileIsNot(file, pages);
            recover();
            CHECK_EQ(seenCount, 1);
            CHECK_EQ(seen.status, ETW_OK);
        }
        good = complete(file, "full", pages);
    }
    recover();
    CHECK_EQ(seenCount, 0);
}

/* At each opening of a file, the process has no descriptor left: the events stay in memory. */
static void descriptors_run_out_in_recovery(void)
{
    const char *file = at("descriptors.etl");
    EtwSessionConfig c = config(file, 60000);
    bool good = true, failed = true;
    for (long opens = 0; good && failed && opens < 30; opens++) {
        ownerDies(&c, opens % 2 ? -1 : 12, true);
        seenCount = 0;
        opensLeft = opens;
        EtwStatus status = EtwSessionRecover(see, NULL, NULL);
        failed = opensLeft < 0;
        opensLeft = NEVER;
        if (status != ETW_OK || seenCount != 1 || seen.status != ETW_OK) {
            recover();
        }
        good = complete(file, "descriptors", opens);
    }
    CHECK(!failed);
}

#ifdef ETW_TEST_POINTS
/* The recovery that another one waits for is killed when that one has just seen it alive. */
static void recoverer_killed_while_another_waits(void)
{
    const char *file = at("waits.etl");
    EtwSessionConfig c = config(file, 60000);
    for (long pages = 1; pages < 6; pages++) {
        int status;
        ownerDies(&c, -1, false);
        onlyStops = true;
        pid_t first = startRecovery(pages);
        onlyStops = false;
        if (!CHECK(waitpid(first, &status, WUNTRACED) == first && WIFSTOPPED(status))) {
            break;
        }
        setenv("ETW_TEST_POINT", "recovery.before-count:stop", 1);
        pid_t second = startRecovery(-1);
        unsetenv("ETW_TEST_POINT");
        CHECK(waitpid(second, &status, WUNTRACED) == second && WIFSTOPPED(status));
        kill(first, SIGKILL);
        waitpid(first, &status, 0);
        waitForLocks();
        kill(second, SIGCONT);
        CHECK(waitpid(second, &status, 0) == second && WIFEXITED(status));
        if (!complete(file, "another waits", pages)) {
            break;
        }
    }
}
#endif

/* Killed before it has written anything: its file is known all the same. */
static void newfile_logger_killed_at_once(void)
{
    char *file = at("new-%d.etl");
    EtwSessionConfig c = config(file, 60000);
    c.mode = ETW_FILE_NEWFILE;
    c.maxMB = 1;
    eventCount = 10;
    ownerDies(&c, -1, false);
    eventCount = EVENTS;
    recover();
    CHECK_EQ(seen.status, ETW_OK);
    complete(at("new-1.etl"), "newfile", -1);
}

/* The disk is full while the logger runs. It is killed, and there is space again: each event is in the file once, or counted. */
static void disk_full_and_logger_killed(void)
{
    const char *file = at("counted.etl");
    EtwSessionConfig c = config(file, 60000);
    bool good = true;
    for (long pages = 5; good && pages < 60; pages++) {
        EtlReader *reader;
        EtwEvent e;
        EtwError err;
        uint64_t found = 0, next = 0;
        diskFull = true;
        ownerDies(&c, pages, pages % 2);
        diskFull = false;
        recover();
        CHECK_MSG(seen.status == ETW_OK, "%ld pages: %s", pages, seen.error.message);
        REQUIRE(EtlReaderOpen(&reader, file, NULL, NULL, &err) == ETW_OK);
        while (good && EtlReaderNext(reader, &e) == ETW_OK) {
            if (EtwGuidEqual(&e.provider, &guid) && e.payloadSize == 16) {
                good = CHECK(EtwLoad64(e.payload + 8) >= next);
                next = EtwLoad64(e.payload + 8) + 1;
                found++;
            }
        }
        uint64_t lost = EtlReaderInfo(reader)->eventsLost;
        good = good && CHECK_MSG(found + lost >= *acknowledged,
                               "%ld pages: %llu found and %llu counted as lost, of %llu", pages,
                               (unsigned long long)found, (unsigned long long)lost,
                               (unsigned long long)*acknowledged);
        EtlReaderClose(reader);
    }
}

/* Another process stops a session whose disk is full: the answer says what is lost. */
static void stop_reports_what_is_lost(void)
{
    const char *file = at("stopped.etl");
    EtwSessionConfig c = config(file, 60000);
    EtwSessionInfo info = {.name = ""};
    EtwError err;
    int status;
    diskFull = true;
    pid_t child = startOwner(&c, 20, true, true);
    for (int i = 0; *acknowledged < EVENTS && i < 60000; i++) {
        OsSleepNs(1000000);
    }
    CHECK_EQ(EtwSessionStop("crash", &info, &err), ETW_E_IO);
    CHECK(info.lost.io > 0);
    CHECK_EQ(info.lost.io + countFile(file, false), EVENTS);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    diskFull = false;
}

/* A writer is killed inside a record, then the logger: the recovery counts the record once, however often it flushes. */
static void writer_killed_before_the_logger(void)
{
#ifdef ETW_TEST_POINTS
    static const char *const points[] = {"record.open:kill", "record.before-open:kill"};
    char *file = at("writer.etl");
    EtwSessionConfig c = config(file, 60000);
    for (int i = 0; i < 2; i++) {
        EtlReader *reader;
        EtwError err;
        int status;
        eventCount = 0;
        pid_t child = startOwner(&c, -1, false, true);
        for (int ms = 0; !Etw_Enabled(provider, 4, 3) && ms < 60000; ms++) {
            OsSleepNs(1000000);
        }
        kill(child, SIGSTOP);
        waitpid(child, &status, WUNTRACED);
        pin(true);
        CHECK_EQ(writeOne(0, 0), ETW_WRITTEN);
        killWriterAt(points[i]);
        for (uint64_t k = 1; k < EVENTS; k++) {
            CHECK_EQ(writeOne(0, k), ETW_WRITTEN);
        }
        pin(false);
        *acknowledged = EVENTS;
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        waitForLocks();
        recover();
        CHECK_EQ(seen.status, ETW_OK);
        CHECK(seen.events >= EVENTS);
        complete(file, points[i], -1);
        REQUIRE(EtlReaderOpen(&reader, file, NULL, NULL, &err) == ETW_OK);
        CHECK_EQ(EtlReaderInfo(reader)->eventsLost, 1);
        EtlReaderClose(reader);
    }
    eventCount = EVENTS;
#else
    SKIP("compiled without test points");
#endif
}

int main(int argc, char **argv)
{
    setUp(false);
    acknowledged = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK_ARGS(argc, argv);
    for (int i = 0; i < 2; i++) {
        compress = i == 0 ? ETW_COMPRESS_ON : ETW_COMPRESS_OFF;
        CHECK_RUN(logger_killed_at_each_page);
        if (compress == ETW_COMPRESS_ON) { /* other buffers begin at multiples of 1 KB */
            CHECK_RUN(header_divided_between_pages);
        }
        CHECK_RUN(recoverer_killed_at_each_page);
        CHECK_RUN(recoverers_killed_twice);
        CHECK_RUN(recoverer_stopped);
        CHECK_RUN(disk_full_in_recovery);
        CHECK_RUN(descriptors_run_out_in_recovery);
#ifdef ETW_TEST_POINTS
        CHECK_RUN(recoverer_killed_while_another_waits);
#endif
        CHECK_RUN(newfile_logger_killed_at_once);
        CHECK_RUN(disk_full_and_logger_killed);
        CHECK_RUN(stop_reports_what_is_lost);
        CHECK_RUN(writer_killed_before_the_logger);
    }
    return CHECK_DONE();
}
#endif
