/*
 * tests/engine/test_upkeep.c --
 *
 *	What is released while processes and sessions run: mappings of sessions that have ended, in processes that wrote into
 *	them; buffers that killed writers had taken. Linux only: forks, reads /proc.
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
#include "engine/shared/process_key.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Mappings -------------------------------------------------------------------------------- */

/* The mappings of files of the runtime directory in this process. */
static int mappings(void)
{
    char line[2000];
    int count = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        count += strstr(line, dir) != NULL;
    }
    if (f != NULL) {
        fclose(f);
    }
    return count;
}

static bool readByte(int fd)
{
    char byte;
    alarm(60); /* ends the program: better than a test that hangs */
    bool good = read(fd, &byte, 1) == 1;
    alarm(0);
    return good;
}

enum { ROUNDS = 20 };

/* Another process starts and stops sessions, into each of which this one writes. */
static void mappings_1_1_of_ended_sessions(void)
{
    int toChild[2], toParent[2], status, first = 0;
    REQUIRE(pipe(toChild) == 0 && pipe(toParent) == 0);
    pid_t child = fork();
    if (child == 0) {
        EtwSessionConfig config = {.name = "other", .mode = ETW_FILE_MEMORY, .bufferKB = 4};
        EtwEnable enable = {.provider = guid};
        EtwSessionInfo info;
        EtwError err;
        bool good = true;
        for (int i = 0; good && i < ROUNDS; i++) {
            good = EtwSessionStart(&config, &err) == ETW_OK &&
                   EtwSessionEnable("other", &enable, &err) == ETW_OK &&
                   write(toParent[1], "s", 1) == 1 && readByte(toChild[0]) &&
                   EtwSessionStop("other", &info, &err) == ETW_OK && info.events >= 2;
        }
        _exit(!good);
    }
    for (int i = 0; i < ROUNDS && readByte(toParent[0]); i++) {
        CHECK_EQ(writeOne(0, (uint64_t)i), ETW_WRITTEN);
        first = i == 1 ? mappings() : first; /* with the session and the one before */
        CHECK(write(toChild[1], "w", 1) == 1);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(first > 0);
    CHECK_MSG(mappings() <= first, "%d mappings after %d sessions, %d after the second", mappings(),
            ROUNDS, first);
    close(toChild[0]);
    close(toChild[1]);
    close(toParent[0]);
    close(toParent[1]);
}

static bool othersQueriesLeaveNothing(void)
{
    EtwSessionInfo info;
    EtwError err;
    bool good = EtwSessionQuery("queried", &info, &err) == ETW_OK;
    int first = mappings();
    for (int i = 0; i < 20; i++) {
        good = good && EtwSessionQuery("queried", &info, &err) == ETW_OK &&
               EtwSessionFlush("queried", &info, &err) == ETW_OK;
    }
    return good && mappings() == first;
}

/* What a process maps to query or control another's session, it unmaps. */
static void mappings_1_2_of_queries(void)
{
    EtwError err;
    EtwSessionConfig config = {.name = "queried", .mode = ETW_FILE_MEMORY, .bufferKB = 4};
    int status;
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    pid_t child = fork();
    if (child == 0) {
        _exit(othersQueriesLeaveNothing() ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    int before = mappings();
    EtwSessionStop("queried", NULL, &err);
    CHECK(mappings() < before);
}

/* ---- Forked children ------------------------------------------------------------------------- */

static void writeAndSee(void *arg)
{
    *(bool *)arg = writeOne(0, 0) == ETW_WRITTEN && RegSelfKey() != REG_KEY_UNKNOWN;
}

/* The child's first write is of the thread that forked, or of a new thread. */
static bool childJoins(bool inThread)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        bool joined = false;
        OsThread *thread;
        if (!inThread) {
            writeAndSee(&joined);
        } else if (OsThreadStart(&thread, "writer", writeAndSee, &joined) == ETW_OK) {
            OsThreadJoin(thread);
        }
        _exit(joined ? 0 : 1);
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void forkAtOnce(void *arg)
{
    *(bool *)arg = childJoins(false);
}

/*
 * A forked child joins the registry at its first write, whichever thread writes it. Otherwise it would count as alive when it has
 * been killed.
 */
static void children_1_1_join(void)
{
    EtwError err;
    EtwSessionConfig config = {.name = "children", .mode = ETW_FILE_MEMORY};
    EtwEnable enable = {.provider = guid};
    OsThread *thread;
    bool joined = false;
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    REQUIRE(EtwSessionEnable("children", &enable, &err) == ETW_OK);
    /* A thread that has not written forks. */
    REQUIRE(OsThreadStart(&thread, "forks", forkAtOnce, &joined) == ETW_OK);
    OsThreadJoin(thread);
    CHECK(joined);
    writeOne(0, 0);
    CHECK(childJoins(false));
#ifndef __SANITIZE_THREAD__ /* which ends a forked child that starts a thread */
    CHECK(childJoins(true));
#endif
    EtwSessionStop("children", NULL, &err);
}

#ifdef ETW_TEST_POINTS
/* True: the child was killed while it replaced its buffer. */
static bool dieWithBuffer(void)
{
    pid_t child = fork();
    int status;
    if (child == 0) {
        setenv("ETW_TEST_POINT", "switch.before-install:kill", 1);
        for (uint64_t i = 0; i < 1000; i++) {
            writeOne(1, i);
        }
        _exit(0);
    }
    return waitpid(child, &status, 0) == child && WIFSIGNALED(status);
}

static void takeAll(void *arg)
{
    for (int *killed = arg; *killed < 100 && dieWithBuffer(); ++*killed) {
    }
}
#endif

/* Killed writers have taken all buffers: the logger gets them back within some seconds. */
static void children_1_2_buffers_come_back(void)
{
#ifdef ETW_TEST_POINTS
    EtwError err;
    EtwSessionConfig config = {
            .name = "taken", .realtime = true, .bufferKB = 4, .minBuffers = 8, .maxBuffers = 8};
    EtwEnable enable = {.provider = guid};
    OsThread *thread;
    EtwSessionInfo info;
    int killed = 0;
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    REQUIRE(EtwSessionEnable("taken", &enable, &err) == ETW_OK);
    REQUIRE(OsThreadStart(&thread, "forks", takeAll, &killed) == ETW_OK);
    OsThreadJoin(thread);
    CHECK(killed >= 4);
    for (int ms = 0; ms < 20000; ms++) {
        REQUIRE(EtwSessionQuery("taken", &info, &err) == ETW_OK);
        if (info.buffersFree >= 4) {
            break;
        }
        OsSleepNs(1000000);
    }
    CHECK(info.buffersFree >= 4);
    EtwSessionStop("taken", NULL, &err);
#else
    SKIP("compiled without test points");
#endif
}

int main(int argc, char **argv)
{
    setUp(false);
    CHECK_ARGS(argc, argv);
    CHECK_RUN(mappings_1_1_of_ended_sessions);
    CHECK_RUN(mappings_1_2_of_queries);
    CHECK_RUN(children_1_1_join);
    CHECK_RUN(children_1_2_buffers_come_back);
    return CHECK_DONE();
}
#endif
