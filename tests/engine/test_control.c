/*
 * tests/engine/test_control.c --
 *
 *	Sessions among many processes, without Tcl: enable callbacks in another process, a consumer that is stopped, providers by the
 *	hundred, as many sessions as there can be. Linux only: forks. Control from other processes and logger processes: tests/engine/processes.test and
 *	tests/engine/recover.test.
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
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { CHILDREN = 20 };
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
enum { CHILDREN = 20 };
#else
enum { CHILDREN = 200 };
#endif
#else
enum { CHILDREN = 200 };
#endif

/* This program as another process that does one thing; its standard output goes into `out`. */
static pid_t self(const char *what, int out)
{
    pid_t child = fork();
    if (child == 0) {
        dup2(out, STDOUT_FILENO);
        execl("/proc/self/exe", "test_control", what, "", (char *)NULL);
        _exit(9);
    }
    return child;
}

static char readByte(int fd)
{
    char byte = '?';
    alarm(60); /* ends the program: better than a test that hangs */
    if (read(fd, &byte, 1) != 1) {
        byte = '!';
    }
    alarm(0);
    return byte;
}

static void say(char byte)
{
    if (write(STDOUT_FILENO, &byte, 1) != 1) {
        _exit(8);
    }
}

/* ---- Enable callbacks ------------------------------------------------------------------------ */

static void sayEnabled(void *ctx, int control, uint8_t level, uint64_t any, uint64_t all)
{
    (void)ctx;
    (void)any;
    (void)all;
    say(control == ETW_CONTROL_CAPTURE_STATE ? 'c'
            : control == ETW_CONTROL_DISABLE ? 'd'
                                             : (char)('0' + level));
}

static int callMe(void)
{
    Etw_Provider *callee = Etw_Register("Control-Callee", NULL);
    Etw_EnableCallbackAdd(callee, sayEnabled, NULL);
    say('r');
    while (pause() < 0) { /* until it is killed */
    }
    return 0;
}

static void callback_elsewhere(void)
{
    EtwError err;
    EtwSessionConfig config = {.name = "callback", .mode = ETW_FILE_MEMORY};
    EtwEnable enable = {.providerName = "Control-Callee", .level = 3};
    int out[2], status;
    EtwGuidFromName("Control-Callee", &enable.provider);
    REQUIRE(pipe(out) == 0);
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    pid_t child = self("--call-me", out[1]);
    CHECK_EQ(readByte(out[0]), 'r');
    REQUIRE(EtwSessionEnable("callback", &enable, &err) == ETW_OK);
    CHECK_EQ(readByte(out[0]), '3');
    enable.level = 5;
    REQUIRE(EtwSessionEnable("callback", &enable, &err) == ETW_OK);
    CHECK_EQ(readByte(out[0]), '5');
    enable.captureState = true;
    REQUIRE(EtwSessionEnable("callback", &enable, &err) == ETW_OK);
    CHECK_EQ(readByte(out[0]), 'c');
    EtwSessionDisable("callback", &enable.provider, &err);
    CHECK_EQ(readByte(out[0]), 'd');
    REQUIRE(EtwSessionEnable("callback", &enable, &err) == ETW_OK);
    CHECK_EQ(readByte(out[0]), '5');
    CHECK_EQ(readByte(out[0]), 'c');
    /* A process that comes later is told what is so already. */
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    child = self("--call-me", out[1]);
    CHECK_EQ(readByte(out[0]), '5');
    CHECK_EQ(readByte(out[0]), 'r');
    EtwSessionStop("callback", NULL, &err);
    CHECK_EQ(readByte(out[0]), 'd');
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    close(out[0]);
    close(out[1]);
}

/* ---- A consumer that is stopped -------------------------------------------------------------- */

static int consumeMe(void)
{
    EtwLive *live;
    EtwEvent e;
    EtwError err;
    EtwStatus status;
    uint64_t lost;
    if (EtwLiveOpen("stopped", &live, &err) != ETW_OK) {
        return 9;
    }
    say('r');
    for (bool first = true; (status = EtwLiveNext(live, &e)) != ETW_END;) {
        if (status == ETW_OK && first && EtwGuidEqual(&e.provider, &guid)) {
            first = false;
            raise(SIGSTOP);
        }
        if (status == ETW_AGAIN) {
            EtwLiveWait(live, 10000000);
        }
    }
    lost = EtwLiveLost(live);
    EtwLiveClose(live);
    return lost > 0 ? 1 : 0;
}

static void stopped_consumer(void)
{
    EtwError err;
    EtwSessionInfo info;
    EtwSessionConfig config = {
            .name = "stopped", .realtime = true, .bufferKB = 4, .maxBuffers = 16};
    EtwEnable enable = {.provider = guid};
    int out[2], status;
    REQUIRE(pipe(out) == 0);
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    REQUIRE(EtwSessionEnable("stopped", &enable, &err) == ETW_OK);
    pid_t child = self("--consume-me", out[1]);
    CHECK_EQ(readByte(out[0]), 'r');
    CHECK_EQ(writeOne(0, 0), ETW_WRITTEN);
    CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status));
    for (uint64_t i = 1; i <= 4000; i++) {
        writeOne(0, i);
        if (i % 20 == 0) {
            EtwSessionFlush("stopped", NULL, &err); /* so slowly that the logger is never behind */
        }
    }
    REQUIRE(EtwSessionQuery("stopped", &info, &err) == ETW_OK);
    CHECK_EQ(info.lost.noBuffer, 0);
    CHECK_EQ(info.events, 4002);
    kill(child, SIGCONT);
    EtwSessionStop("stopped", NULL, &err);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 1); /* its own loss, and it knows */
    close(out[0]);
    close(out[1]);
}

/* ---- Many ------------------------------------------------------------------------------------ */

/* countFile wants each thread's numbers to rise: here there are more writers than it tells apart. */
static uint64_t countAll(const char *path)
{
    EtlReader *reader;
    EtwEvent e;
    EtwError err;
    uint64_t count = 0;
    (void)countFile;
    if (!CHECK_MSG(EtlReaderOpen(&reader, path, NULL, NULL, &err) == ETW_OK, "%s", err.message)) {
        return 0;
    }
    while (EtlReaderNext(reader, &e) == ETW_OK) {
        count += EtwGuidEqual(&e.provider, &guid) && e.payloadSize == 16;
    }
    EtlReaderClose(reader);
    return count;
}

static void many_processes(void)
{
    EtwError err;
    EtwSessionInfo info;
    char *file = at("many.etl");
    pid_t children[CHILDREN];
    int go[2], status;
    char byte;
    REQUIRE(pipe(go) == 0);
    REQUIRE(startFile("many", file, &err) == ETW_OK);
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            close(go[1]);
            while (read(go[0], &byte, 1) > 0) { /* until the parent closes its end: all at once */
            }
            for (uint64_t k = 0; k < 50; k++) {
                writeOne((uint64_t)i, k);
            }
            _exit(0);
        }
    }
    close(go[1]);
    for (int i = 0; i < CHILDREN; i++) {
        CHECK(waitpid(children[i], &status, 0) == children[i] && WIFEXITED(status));
    }
    close(go[0]);
    REQUIRE(EtwSessionStop("many", &info, &err) == ETW_OK);
    CHECK_EQ(info.lost.noBuffer + info.lost.abandoned, 0);
    CHECK_EQ(countAll(file), 50 * CHILDREN);
}

static bool countOne(void *ctx, const EtwSessionInfo *info)
{
    (void)info;
    ++*(int *)ctx;
    return true;
}

static void many_sessions(void)
{
    EtwError err;
    char name[16];
    int count = 0;
    EtwSessionConfig config = {
            .name = name, .mode = ETW_FILE_MEMORY, .bufferKB = 4, .maxBuffers = 2};
    for (int i = 0; i < ETW_MAX_SESSIONS; i++) {
        snprintf(name, sizeof name, "s%d", i);
        CHECK_EQ(EtwSessionStart(&config, &err), ETW_OK);
    }
    snprintf(name, sizeof name, "more");
    CHECK_EQ(EtwSessionStart(&config, &err), ETW_E_LIMIT);
    CHECK_STR(err.detail, "SESSIONS");
    EtwSessionList(countOne, &count);
    CHECK_EQ(count, ETW_MAX_SESSIONS);
    EtwSessionStopAll();
    count = 0;
    EtwSessionList(countOne, &count);
    CHECK_EQ(count, 0);
}

int main(int argc, char **argv)
{
    setUp(argc > 2 && strncmp(argv[1], "--", 2) == 0);
    if (argc > 2 && strcmp(argv[1], "--call-me") == 0) {
        return callMe();
    }
    if (argc > 2 && strcmp(argv[1], "--consume-me") == 0) {
        return consumeMe();
    }
    CHECK_ARGS(argc, argv);
    CHECK_RUN(callback_elsewhere);
    CHECK_RUN(stopped_consumer);
    CHECK_RUN(many_processes);
    CHECK_RUN(many_sessions);
    return CHECK_DONE();
}
#endif
