/*
 * tests/engine/test_requests.c --
 *
 *	What a session reports of itself, and what can be changed while it runs, each by its own process and by
 *	another one, which sends a request through the session's mapping: the answers and the errors are the same. Requests that
 *	dead processes left, requests to an owner that dies, requests that no version of etw sends. Linux only: forks.
 */
#ifdef _WIN32
#include <stdio.h>
int main(void)
{
    printf("0 passed, 0 failed, 1 skipped\n");
    return 0;
}
#else
#define _GNU_SOURCE
#include "tests/support/engine_support.h"
#include "engine/session/session_control.h"
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Run a function in a forked child; its failed checks are this test's. */
static void asOther(void (*function)(void))
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        checkState.bad = 0;
        alarm(60);
        function();
        fflush(stdout);
        _exit(checkState.bad != 0);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static off_t sizeOf(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 ? s.st_size : -1;
}

/* ---- What a session reports ------------------------------------------------------------------ */

static const EtwSessionConfig full = {.name = "Reports",
        .mode = ETW_FILE_SEQUENTIAL,
        .realtime = true,
        .lossless = true,
        .compress = ETW_COMPRESS_OFF,
        .bufferKB = 16,
        .minBuffers = 6,
        .maxBuffers = 24,
        .flushMs = 60000,
        .maxMB = 5};
static char file[1024];
static uint32_t starter;
static OsInstant before;

static void checkReport(void)
{
    EtwError err;
    EtwSessionInfo info;
    OsInstant now;
    REQUIRE(EtwSessionQuery("REPORTS", &info, &err) == ETW_OK);
    OsNow(&now);
    CHECK_STR(info.engine, "embedded");
    CHECK_STR(info.name, "Reports");
    CHECK_STR(info.file, file);
    CHECK_STR(info.state, "running");
    CHECK_STR(info.kernel, "");
    CHECK(info.user[0] != '\0');
    CHECK_EQ(info.starter, starter);
    CHECK_EQ(info.consumers, 1);
    CHECK(info.started >= before.wall && info.started <= now.wall);
    CHECK(info.duration > 0 && info.started + info.duration <= now.wall);
    CHECK_EQ(info.mode, ETW_FILE_SEQUENTIAL);
    CHECK(info.realtime && info.lossless);
    CHECK_EQ(info.bufferKB, 16);
    CHECK_EQ(info.minBuffers, 6);
    CHECK_EQ(info.maxBuffers, 24);
    CHECK_EQ(info.flushMs, 60000);
    CHECK_EQ(info.maxMB, 5);
    CHECK(info.buffersUsed > 0 && info.buffersUsed + info.buffersFree >= 6 &&
            info.buffersUsed + info.buffersFree <= 24);
    CHECK(info.instance != 0);
    CHECK_EQ(atomic_load(&RegGet()->sessions[info.index].instance), info.instance);
    CHECK_EQ(info.overwritten, 0);
}

static void reportsOf(bool detached)
{
    EtwError err;
    EtwSessionInfo info, stopped;
    EtwLive *live;
    EtwSessionConfig config = full;
    EtwEnable enable = {.provider = guid};
    uint64_t own =
            detached ? 2
                     : 1; /* events of the session itself: of the host, of a process that writes */
    starter = (uint32_t)getpid();
    OsNow(&before);
    snprintf(file, sizeof file, "%s", at("reports.etl"));
    config.file = file;
    config.detached = detached;
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    REQUIRE(EtwSessionEnable("reports", &enable, &err) == ETW_OK);
    REQUIRE(EtwLiveOpen("reports", &live, &err) == ETW_OK);
    EtwSessionQuery("reports", &info, &err);
    CHECK_EQ(info.ownerPid == (uint32_t)getpid(), !detached);
    checkReport();
    asOther(checkReport);
    EtwLiveClose(live);
    for (uint64_t i = 0; i < 3000; i++) {
        writeOne(0, i);
    }
    REQUIRE(EtwSessionFlush("reports", &info, &err) == ETW_OK);
    CHECK_EQ(info.consumers, 0);
    CHECK_EQ(info.events, 3000 + own);
    REQUIRE(EtwSessionStop("reports", &stopped, &err) == ETW_OK);
    CHECK_STR(stopped.state, "stopped");
    CHECK_EQ(stopped.events, 3000 + own);
    CHECK_EQ(stopped.bytes, sizeOf(file));
    CHECK_EQ(stopped.buffers * 16 * 1024, sizeOf(file));
    CHECK_EQ(countFile(file, true), 3000);
}

static void reports_1_1_fields(void)
{
    reportsOf(false);
}

/* Of a session in a process of its own. */
static void reports_1_1_1_detached(void)
{
    reportsOf(true);
}

/* Defaults, and a flight recorder, whose events are those in memory. */
static void reports_1_2_memory(void)
{
    EtwError err;
    EtwSessionInfo info;
    EtwEnable enable = {.provider = guid};
    EtwSessionConfig config = {
            .name = "memory", .mode = ETW_FILE_MEMORY, .bufferKB = 4, .maxBuffers = 4};
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    REQUIRE(EtwSessionEnable("memory", &enable, &err) == ETW_OK);
    for (uint64_t i = 0; i < 1000; i++) {
        CHECK_EQ(writeOne(0, i), ETW_WRITTEN);
    }
    REQUIRE(EtwSessionQuery("memory", &info, &err) == ETW_OK);
    CHECK_EQ(info.starter, getpid());
    CHECK_STR(info.file, "");
    CHECK(!info.realtime && !info.lossless);
    CHECK_EQ(info.mode, ETW_FILE_MEMORY);
    CHECK_EQ(info.events, 1001);
    CHECK(info.overwritten > 500 && info.overwritten < 1000);
    REQUIRE(EtwSessionStop("memory", NULL, &err) == ETW_OK);
}

/* A text in shared memory that lacks its end, and a state that does not exist. */
static void reports_1_3_damaged(void)
{
    EtwError err;
    EtwSessionInfo info;
    Ring ring = {0};
    char path[1024];
    EtwSessionConfig config = {.name = "damaged", .mode = ETW_FILE_MEMORY};
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    REQUIRE(EtwSessionQuery("damaged", &info, &err) == ETW_OK);
    RegSessionPath(info.instance, path, sizeof path);
    REQUIRE(RingOpen(&ring, path, info.instance, &err) == ETW_OK);
    memset(ring.header->name, 'n', sizeof ring.header->name);
    memset(ring.header->file, 'f', sizeof ring.header->file);
    memset(ring.header->kernel, 'k', sizeof ring.header->kernel);
    atomic_store(&ring.header->state, 77);
    SessionFillInfo(&ring, info.index, &info);
    CHECK_EQ(strlen(info.name), 255);
    CHECK_EQ(strlen(info.file), 1023);
    CHECK_EQ(strlen(info.kernel), 511);
    CHECK_STR(info.state, "");
    atomic_store(&ring.header->state, RING_RUNNING);
    RingClose(&ring);
    EtwSessionStop("damaged", NULL, &err);
}

/* ---- Changes --------------------------------------------------------------------------------- */

static EtwSessionInfo update(EtwSessionConfig changes)
{
    EtwError err;
    EtwSessionInfo info = {0}, again = {0};
    CHECK_MSG(EtwSessionUpdate("changes", &changes, &info, &err) == ETW_OK, "%s", err.message);
    CHECK_EQ(EtwSessionQuery("changes", &again, &err), ETW_OK);
    CHECK_EQ(info.flushMs, again.flushMs);
    CHECK_EQ(info.maxBuffers, again.maxBuffers);
    CHECK_EQ(info.maxMB, again.maxMB);
    CHECK_EQ(info.realtime, again.realtime);
    CHECK_STR(info.file, again.file);
    return info;
}

/* Each value alone changes nothing else. */
static void changeAll(void)
{
    EtwError err;
    EtwLive *live;
    EtwSessionInfo info = update((EtwSessionConfig){
            .flushMs = 5000, .maxBuffers = 16, .maxMB = 8, .realtimeChange = true});
    CHECK_EQ(info.flushMs, 5000);
    CHECK_EQ(info.maxBuffers, 16);
    CHECK_EQ(info.maxMB, 8);
    CHECK(!info.realtime);
    CHECK_EQ(EtwLiveOpen("changes", &live, &err), ETW_E_STATE);
    CHECK_STR(err.detail, "REALTIME");
    info = update((EtwSessionConfig){.flushMs = 700});
    CHECK_EQ(info.flushMs, 700);
    CHECK_EQ(info.maxBuffers, 16);
    info = update((EtwSessionConfig){.maxBuffers = 9});
    CHECK_EQ(info.maxBuffers, 9);
    CHECK_EQ(info.maxMB, 8);
    info = update((EtwSessionConfig){.maxBuffers = 4000}); /* more than there is memory for */
    CHECK_EQ(info.maxBuffers, 20);
    info = update((EtwSessionConfig){.maxMB = 3});
    CHECK_EQ(info.maxMB, 3);
    CHECK(!info.realtime);
    CHECK_STR(info.file, file);
    info = update((EtwSessionConfig){.realtimeChange = true, .realtime = true});
    CHECK(info.realtime);
    CHECK_EQ(info.flushMs, 700);
    CHECK_EQ(EtwLiveOpen("changes", &live, &err), ETW_OK);
    EtwLiveClose(live);
}

/* Another file, by a path that is relative to the directory of the process that calls. */
static void changeFile(const char *name)
{
    char *wanted = at(name);
    REQUIRE(chdir(dir) == 0);
    EtwSessionInfo info = update((EtwSessionConfig){.file = name});
    CHECK_STR(info.file, wanted);
    CHECK(writeOne(0, 1) == ETW_WRITTEN && writeOne(0, 2) == ETW_WRITTEN);
}

static void changeFileHere(void)
{
    changeFile("changes-2.etl");
}

static void changeFileThere(void)
{
    changeFile("changes-3.etl");
}

static void changes_1_1_values(void)
{
    EtwError err;
    EtwEnable enable = {.provider = guid};
    snprintf(file, sizeof file, "%s", at("changes-1.etl"));
    EtwSessionConfig config = {
            .name = "changes", .file = file, .realtime = true, .bufferKB = 16, .maxBuffers = 20};
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    REQUIRE(EtwSessionEnable("changes", &enable, &err) == ETW_OK);
    changeAll();
    asOther(changeAll);
    writeOne(0, 0);
    changeFileHere();
    asOther(changeFileThere);
    EtwSessionStop("changes", NULL, &err);
    CHECK_EQ(countFile(file, true), 1);
    CHECK_EQ(countFile(at("changes-2.etl"), true), 2);
    CHECK_EQ(countFile(at("changes-3.etl"), true), 2);
}

/* The limit that was changed is the one that counts. */
static void changes_1_2_limit(void)
{
    EtwError err;
    EtwSessionInfo info;
    EtwEnable enable = {.provider = guid};
    snprintf(file, sizeof file, "%s", at("limit.etl"));
    EtwSessionConfig config = {.name = "changes",
            .file = file,
            .compress = ETW_COMPRESS_OFF,
            .bufferKB = 64,
            .maxMB = 1};
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    REQUIRE(EtwSessionEnable("changes", &enable, &err) == ETW_OK);
    update((EtwSessionConfig){.maxMB = 2});
    for (uint64_t i = 0; i < 60000; i++) {
        writeOne(0, i);
        if (i % 1000 == 0) {
            EtwSessionFlush("changes", NULL, &err);
        }
    }
    REQUIRE(EtwSessionStop("changes", &info, &err) == ETW_OK);
    CHECK(info.lost.fileFull > 0);
    CHECK_EQ(info.lost.noBuffer, 0);
    CHECK(sizeOf(file) > 1900 * 1024 && sizeOf(file) <= 2 * 1024 * 1024);
}

/* ---- Errors ---------------------------------------------------------------------------------- */

#define FAILS(call, status, code) failsWith(call, &err, status, code, __LINE__)
static void failsWith(
        EtwStatus got, const EtwError *err, EtwStatus want, const char *code, int line)
{
    CheckEq(got, want, __FILE__, line, "status", code);
    CheckStr(err->detail, code, __FILE__, line, "detail");
}

static void refusals(void)
{
    EtwError err;
    static const char *const unknown[] = {"nonsense"};
    static const char *names[257];
    static char longName[100], longPath[20000];
    uint32_t pids[257] = {1};
    EtwKernelEnable kernel = {.groups = unknown, .groupCount = 1};
    FAILS(EtwSessionUpdate("memory", &(EtwSessionConfig){.file = "x.etl"}, NULL, &err), ETW_E_ARG,
            "FILE");
    FAILS(EtwSessionUpdate("live", &(EtwSessionConfig){.realtimeChange = true}, NULL, &err),
            ETW_E_ARG, "FILE");
    CHECK(strstr(err.message, "no destination") != NULL);
    FAILS(EtwSessionSnapshot("live", "x.etl", NULL, &err), ETW_E_STATE, "MODE");
    CHECK_EQ(EtwSessionUpdate("memory", &(EtwSessionConfig){.realtimeChange = true}, NULL, &err),
            ETW_OK);
    FAILS(EtwSessionFlush("missing", NULL, &err), ETW_E_LOOKUP, "SESSION");
    CHECK(EtwSessionEnableKernel("memory", &kernel, &err) != ETW_OK);
    CHECK_MSG(strstr(err.message, "nonsense") != NULL, "%s", err.message);
    CHECK_EQ(EtwSessionDisableKernel("memory", &err), ETW_OK); /* nothing is enabled */
    memset(longPath, 'p', sizeof longPath - 1);
    longPath[0] = '/';
    CHECK(EtwSessionSnapshot("memory", longPath, NULL, &err) != ETW_OK);
    CHECK_EQ(etwEmbeddedOps.has("memory"), ETW_OK);
    CHECK_EQ(etwEmbeddedOps.has("MEMORY"), ETW_OK);
    CHECK_EQ(etwEmbeddedOps.has("memories"), ETW_E_LOOKUP);
    EtwSessionInfo info;
    if (EtwSessionQuery("memory", &info, &err) == ETW_OK && info.ownerPid == (uint32_t)getpid()) {
        return; /* what follows are limits of requests */
    }
    for (int i = 0; i < 257; i++) {
        names[i] = "nonsense";
    }
    kernel = (EtwKernelEnable){.groups = names, .groupCount = 257};
    FAILS(EtwSessionEnableKernel("memory", &kernel, &err), ETW_E_LIMIT, "GROUPS");
    memset(longName, 'g', 99);
    for (int i = 0; i < 100; i++) {
        names[i] = longName;
    }
    kernel.groupCount = 82;
    FAILS(EtwSessionEnableKernel("memory", &kernel, &err), ETW_E_LIMIT, "GROUPS");
    kernel = (EtwKernelEnable){.groups = unknown, .groupCount = 1, .pids = pids, .pidCount = 257};
    FAILS(EtwSessionEnableKernel("memory", &kernel, &err), ETW_E_LIMIT, "PIDS");
    kernel.pidCount = 256;
    CHECK(EtwSessionEnableKernel("memory", &kernel, &err) != ETW_OK);
    CHECK_MSG(strstr(err.message, "nonsense") != NULL, "%s", err.message);
}

static void errors_1_1_refused(void)
{
    EtwError err;
    EtwSessionConfig memory = {.name = "memory", .mode = ETW_FILE_MEMORY},
                     live = {.name = "live", .realtime = true};
    REQUIRE(EtwSessionStart(&memory, &err) == ETW_OK);
    REQUIRE(EtwSessionStart(&live, &err) == ETW_OK);
    refusals();
    asOther(refusals);
    EtwSessionStop("memory", NULL, &err);
    EtwSessionStop("live", NULL, &err);
}

/* ---- Requests as they are in shared memory --------------------------------------------------- */

static Ring mapped;

static RingRequest *mapRequest(const char *name)
{
    EtwError err;
    EtwSessionInfo info;
    char path[1024];
    if (EtwSessionQuery(name, &info, &err) != ETW_OK) {
        return NULL;
    }
    RegSessionPath(info.instance, path, sizeof path);
    return RingOpen(&mapped, path, info.instance, &err) == ETW_OK ? &mapped.header->request : NULL;
}

static void flushOther(void)
{
    EtwError err;
    CHECK_MSG(EtwSessionFlush("memory", NULL, &err) == ETW_OK, "%s", err.message);
}

/* What a process that was killed has left does not stand in the way of the next request. */
static void requests_1_1_left(void)
{
    EtwError err;
    EtwSessionConfig config = {.name = "memory", .mode = ETW_FILE_MEMORY};
    int fd[2], status;
    uint32_t dead = 0;
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK && pipe(fd) == 0);
    pid_t child = fork();
    if (child == 0) {
        RegOpen(NULL);
        uint32_t key = RegSelfKey();
        _exit(write(fd[1], &key, 4) != 4);
    }
    CHECK(read(fd[0], &dead, 4) == 4 && waitpid(child, &status, 0) == child);
    RingRequest *q = mapRequest("memory");
    REQUIRE(q != NULL);
    static const uint32_t steps[] = {REQUEST_FILLING, REQUEST_POSTED, REQUEST_ANSWERED};
    for (int i = 0; i < 3; i++) {
        q->verb = CONTROL_FLUSH;
        atomic_store(&q->state, (uint64_t)dead << 32 | steps[i]);
        asOther(flushOther);
        CHECK_EQ(atomic_load(&q->state), REQUEST_NONE);
    }
    RingClose(&mapped);
    EtwSessionStop("memory", NULL, &err);
    close(fd[0]);
    close(fd[1]);
}

/* Post a request as it is, and wait for the answer. */
static void post(RingRequest *q, uint32_t verb)
{
    q->verb = verb;
    q->status = 77;
    atomic_store(&q->state, (uint64_t)RegSelfKey() << 32 | REQUEST_POSTED);
    OsSharedWakePost(&mapped.wake);
    while ((uint32_t)atomic_load(&q->state) != REQUEST_ANSWERED) {
        OsSleepNs(100000);
    }
    atomic_store(&q->state, REQUEST_NONE);
}

/* A request of another version, and texts and counts beyond all bounds. */
static void requests_1_2_damaged(void)
{
    EtwError err;
    EtwSessionConfig config = {.name = "memory", .mode = ETW_FILE_MEMORY};
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    RingRequest *q = mapRequest("memory");
    REQUIRE(q != NULL);
    post(q, 99);
    CHECK_EQ(q->status, ETW_E_UNSUPPORTED);
    CHECK_STR(q->error.detail, "REQUEST");
    memset(q->text, 'x', sizeof q->text);
    post(q, CONTROL_SNAPSHOT);
    CHECK(q->status != ETW_OK && q->status != 77);
    q->groupCount = 1000;
    q->pidCount = 100000;
    memset(q->text, 0, sizeof q->text);
    memcpy(q->text, "none\0never", 11);
    post(q, CONTROL_KERNEL_ON);
    CHECK(q->status != ETW_OK && q->status != 77);
    CHECK_MSG(strstr(q->error.message, "none") != NULL, "%s", q->error.message);
    RingClose(&mapped);
    EtwSessionStop("memory", NULL, &err);
}

static void flushStopping(void)
{
    EtwError err;
    FAILS(EtwSessionFlush("memory", NULL, &err), ETW_E_STATE, "STOPPING");
}

static void requests_1_3_stopping(void)
{
    EtwError err;
    EtwSessionInfo info;
    EtwSessionConfig config = {.name = "memory", .mode = ETW_FILE_MEMORY};
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    EtwSessionQuery("memory", &info, &err);
    RegGet()->sessions[info.index].stopping = 1;
    asOther(flushStopping);
    RegGet()->sessions[info.index].stopping = 0;
    asOther(flushOther);
    EtwSessionStop("memory", NULL, &err);
}

/* ---- An owner that dies ---------------------------------------------------------------------- */

static pid_t owner;

/* Continues or kills the owner when a request has been posted. */
static void endOwner(void *arg)
{
    (void)arg;
    while ((uint32_t)atomic_load(&mapped.header->request.state) != REQUEST_POSTED) {
        OsSleepNs(100000);
    }
    kill(owner, SIGKILL);
    waitpid(owner, NULL, 0);
}

static void requests_1_4_owner_killed(void)
{
    EtwError err;
    OsThread *thread;
    int fd[2], status;
    char byte;
    REQUIRE(pipe(fd) == 0);
    owner = fork();
    if (owner == 0) {
        EtwSessionConfig config = {.name = "killed", .mode = ETW_FILE_MEMORY};
        byte = EtwSessionStart(&config, &err) == ETW_OK ? 'r' : 'e';
        if (write(fd[1], &byte, 1) != 1) {
            _exit(1);
        }
        while (pause() < 0) { /* until it is killed */
        }
    }
    CHECK(read(fd[0], &byte, 1) == 1 && byte == 'r');
    REQUIRE(mapRequest("killed") != NULL);
    kill(owner, SIGSTOP);
    CHECK(waitpid(owner, &status, WUNTRACED) == owner && WIFSTOPPED(status));
    REQUIRE(OsThreadStart(&thread, "end-owner", endOwner, NULL) == ETW_OK);
    FAILS(EtwSessionFlush("killed", NULL, &err), ETW_E_STATE, "DIED");
    char pid[20];
    snprintf(pid, sizeof pid, " %d,", (int)owner);
    CHECK_MSG(strstr(err.message, pid) != NULL, "%s", err.message);
    OsThreadJoin(thread);
    RingClose(&mapped);
    close(fd[0]);
    close(fd[1]);
}

int main(int argc, char **argv)
{
    setUp(false);
    CHECK_ARGS(argc, argv);
    CHECK_RUN(reports_1_1_fields);
    CHECK_RUN(reports_1_1_1_detached);
    CHECK_RUN(reports_1_2_memory);
    CHECK_RUN(reports_1_3_damaged);
    CHECK_RUN(changes_1_1_values);
    CHECK_RUN(changes_1_2_limit);
    CHECK_RUN(errors_1_1_refused);
    CHECK_RUN(requests_1_1_left);
    CHECK_RUN(requests_1_2_damaged);
    CHECK_RUN(requests_1_3_stopping);
    CHECK_RUN(requests_1_4_owner_killed);
    return CHECK_DONE();
}
#endif
