/*
 * tests/engine/test_lossless.c --
 *
 *	Lossless sessions: writers wait for a logger that is slow, and do not wait for one that is dead or
 *	stopped. The logger is in a process of its own, which is stopped and continued by signals. Linux only.
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
#include "tests/support/engine_support.h"
#include "engine/provider/buffer_wait.h"
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
enum { MANY = 1000000 };
#else
enum { MANY = 10000000 };
#endif
#ifdef __SANITIZE_THREAD__
enum {
    WRITERS = 1
}; /* buffers pass from one writer to the other through the logger's process, which it cannot see */
#else
enum { WRITERS = 2 };
#endif

static pid_t owner;

/* Start a session of a few buffers of 4 KB in a process of its own. */
static bool startOwner(const char *name, const char *file, EtwFileMode mode, bool lossless)
{
    EtwSessionConfig config = {.name = name,
            .file = file,
            .mode = mode,
            .maxMB = mode == ETW_FILE_CIRCULAR ? 4 : 0,
            .bufferKB = 4,
            .minBuffers = 8,
            .maxBuffers = 8,
            .lossless = lossless};
    EtwEnable enable = {.provider = guid, .providerName = "Engine-Test"};
    EtwError err;
    int ready[2];
    char byte = 'x';
    if (pipe(ready) != 0) {
        return false;
    }
    owner = fork();
    if (owner == 0) {
        close(ready[0]);
        if (EtwSessionStart(&config, &err) == ETW_OK &&
                EtwSessionEnable(name, &enable, &err) == ETW_OK && write(ready[1], &byte, 1) == 1) {
            for (;;) {
                pause();
            }
        }
        fprintf(stderr, "%s\n", err.message);
        _exit(1);
    }
    close(ready[1]);
    bool good = read(ready[0], &byte, 1) == 1;
    close(ready[0]);
    return good;
}

static void endOwner(void)
{
    int status;
    kill(owner, SIGKILL);
    waitpid(owner, &status, 0);
}

static _Atomic bool throttling;
/* A slow disk: the logger runs for 5 ms of each 10. */
static void *throttle(void *unused)
{
    (void)unused;
    while (atomic_load(&throttling)) {
        kill(owner, SIGSTOP);
        OsSleepNs(5000000);
        kill(owner, SIGCONT);
        OsSleepNs(5000000);
    }
    return NULL;
}

typedef struct Writer {
    pthread_t thread;
    uint64_t number, count, written, refused;
} Writer;

static void *writeMany(void *arg)
{
    Writer *w = arg;
    for (uint64_t i = 0; i < w->count; i++) {
        int result = writeOne(w->number, i);
        w->written += result == ETW_WRITTEN;
        w->refused += result == ETW_LOST_NO_BUFFER;
    }
    return NULL;
}

/* Write `count` events in all; the sums of what the writers were told. */
static Writer writeAll(uint64_t count)
{
    Writer writers[WRITERS], sum = {0};
    for (uint64_t i = 0; i < WRITERS; i++) {
        writers[i] = (Writer){.number = i, .count = count / WRITERS};
        pthread_create(&writers[i].thread, NULL, writeMany, &writers[i]);
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(writers[i].thread, NULL);
        sum.written += writers[i].written;
        sum.refused += writers[i].refused;
    }
    return sum;
}

static Writer writeThrottled(uint64_t count)
{
    pthread_t throttler;
    atomic_store(&throttling, true);
    pthread_create(&throttler, NULL, throttle, NULL);
    Writer sum = writeAll(count);
    atomic_store(&throttling, false);
    pthread_join(throttler, NULL);
    return sum;
}

static uint64_t allLost(const EtwLost *l)
{
    return l->noBuffer + l->tooBig + l->fileFull + l->io + l->abandoned + l->kernel + l->consumer;
}

/* The same without -lossless loses events: the tests below would notice. */
static void slow_logger_loses(void)
{
    EtwSessionInfo info;
    EtwError err;
    REQUIRE(startOwner("slow", at("slow.etl"), ETW_FILE_SEQUENTIAL, false));
    Writer sum = writeThrottled(200000);
    CHECK(EtwSessionStop("slow", &info, &err) == ETW_OK);
    CHECK(!info.lossless && sum.refused > 0);
    CHECK_EQ(info.lost.noBuffer, sum.refused);
    endOwner();
}

static void slow_logger_file(void)
{
    EtwSessionInfo info;
    EtwError err;
    char *file = at("file.etl");
    REQUIRE(startOwner("file", file, ETW_FILE_SEQUENTIAL, true));
    Writer sum = writeThrottled(200000);
    CHECK(EtwSessionStop("file", &info, &err) == ETW_OK);
    CHECK(info.lossless);
    CHECK_EQ(sum.written, 200000);
    CHECK_EQ(allLost(&info.lost), 0);
    CHECK_EQ(countFile(file, true), 200000);
    endOwner();
}

/* A circular file, so that many events need little room. */
static void slow_logger_many(void)
{
    EtwSessionInfo before, info;
    EtwError err;
    REQUIRE(startOwner("many", at("many.etl"), ETW_FILE_CIRCULAR, true));
    REQUIRE(EtwSessionFlush("many", &before, &err) == ETW_OK);
    Writer sum = writeThrottled(MANY);
    CHECK(EtwSessionStop("many", &info, &err) == ETW_OK);
    CHECK_EQ(sum.written, MANY);
    CHECK_EQ(allLost(&info.lost), 0);
    CHECK_EQ(info.events - before.events, MANY + 1); /* and Process */
    endOwner();
}

/* The logger is killed while the writers write: they go on. What they were told is what is in the file. */
static void *killLater(void *unused)
{
    (void)unused;
    OsSleepNs(50000000);
    kill(owner, SIGKILL);
    return NULL;
}
static _Atomic uint64_t recovered;
static void onRecovered(void *ctx, const EtwRecovered *r)
{
    (void)ctx;
    CHECK(r->status == ETW_OK);
    atomic_store(&recovered, r->events);
}
static void killed_logger(void)
{
    EtwError err;
    char *file = at("killed.etl");
    pthread_t killer;
    int status;
    REQUIRE(startOwner("killed", file, ETW_FILE_SEQUENTIAL, true));
    pthread_create(&killer, NULL, killLater, NULL);
    Writer sum = writeAll(MANY);
    pthread_join(killer, NULL);
    waitpid(owner, &status, 0);
    CHECK(sum.refused > 0);
    CHECK_EQ(sum.written + sum.refused, MANY);
    CHECK(EtwSessionRecover(onRecovered, NULL, &err) == ETW_OK);
    CHECK_EQ(countFile(file, true), sum.written);
}

/* A stopped logger: the writers wait once, then no more, until it continues. The losses are counted. */
static void stopped_logger(void)
{
    EtwSessionInfo info;
    EtwError err;
    char *file = at("stopped.etl");
    REQUIRE(startOwner("stopped", file, ETW_FILE_SEQUENTIAL, true));
    bufferPatience = 300000000;
    kill(owner, SIGSTOP);
    Writer sum = writeAll(20000);
    CHECK(sum.refused > 10000); /* 8 buffers hold about 500 */
    kill(owner, SIGCONT);
    bufferPatience = 10 * 1000000000LL;
    CHECK(EtwSessionFlush("stopped", &info, &err) == ETW_OK);
    Writer after = writeAll(20000);
    CHECK_EQ(after.refused, 0);
    CHECK(EtwSessionStop("stopped", &info, &err) == ETW_OK);
    CHECK_EQ(info.lost.noBuffer, sum.refused);
    endOwner();
}

/* The session of this very process: its logger thread serves the waiting threads; a stop ends the wait. */
static _Atomic bool ended;
static void *writeUntilEnd(void *arg)
{
    Writer *w = arg;
    while (!atomic_load(&ended)) {
        w->written += writeOne(w->number, w->count++) == ETW_WRITTEN;
    }
    return NULL;
}
static void own_session(void)
{
    EtwSessionInfo info;
    EtwError err;
    EtwSessionConfig config = {.name = "own",
            .file = at("own.etl"),
            .bufferKB = 4,
            .minBuffers = 2,
            .maxBuffers = 2,
            .lossless = true};
    EtwEnable enable = {.provider = guid, .providerName = "Engine-Test"};
    Writer writers[4];
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    REQUIRE(EtwSessionEnable("own", &enable, &err) == ETW_OK);
    for (uint64_t i = 0; i < 4; i++) {
        writers[i] = (Writer){.number = i};
        pthread_create(&writers[i].thread, NULL, writeUntilEnd, &writers[i]);
    }
    OsSleepNs(200000000);
    CHECK(EtwSessionStop("own", &info, &err) == ETW_OK);
    atomic_store(&ended, true);
    for (int i = 0; i < 4; i++) {
        pthread_join(writers[i].thread, NULL);
    }
    CHECK_EQ(allLost(&info.lost), 0);
    CHECK(info.events > 100);
}

static void memory_is_refused(void)
{
    EtwSessionConfig config = {.name = "memory", .mode = ETW_FILE_MEMORY, .lossless = true};
    EtwError err = {0};
    CHECK(EtwSessionStart(&config, &err) == ETW_E_ARG);
    CHECK(strstr(err.message, "lossless") != NULL);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    setUp(false);
    CHECK_RUN(slow_logger_loses);
    CHECK_RUN(slow_logger_file);
    CHECK_RUN(slow_logger_many);
    CHECK_RUN(killed_logger);
    CHECK_RUN(stopped_logger);
    CHECK_RUN(own_session);
    CHECK_RUN(memory_is_refused);
    return CHECK_DONE();
}
#endif
