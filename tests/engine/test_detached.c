/*
 * tests/engine/test_detached.c --
 *
 *	Detached sessions: the logger process is the program etw-logger, which a program with many busy threads can start at any
 *	moment. Linux only: on Windows the logger process is started with the package's DLL (tests/engine/processes.test).
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
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 8, STARTS = 200 };

/*
 * The thread sanitizer does not see that the logger process has emptied a buffer between two writers of it. Under it, the
 * threads' events are not enabled.
 */
#if defined(__SANITIZE_THREAD__)
#define SANITIZES_THREADS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SANITIZES_THREADS 1
#endif
#endif
#ifndef SANITIZES_THREADS
#define SANITIZES_THREADS 0
#endif

static EtwSessionConfig detached(const char *name, const char *file)
{
    return (EtwSessionConfig){
            .name = name, .file = file, .detached = true, .bufferKB = 4, .maxBuffers = 4};
}

/* ---- Busy threads ---------------------------------------------------------------------------- */

static _Atomic bool ended;

/* Takes the locks of the allocator, of time zones, of stdio and of the engine, at most times one of them. */
static void *busy(void *arg)
{
    uint64_t number = 0;
    while (!ended) {
        time_t now = (time_t)number;
        struct tm tm;
        char *one = malloc(100 + number % 5000);
        localtime_r(&now, &tm);
        snprintf(one, 100, "%d %s", tm.tm_year, getenv("ETW_RUNTIME_DIR"));
        writeOne((uint64_t)(uintptr_t)arg, number++);
        if (number % 64 == (uintptr_t)arg) {
            Etw_Provider *p = Etw_Register("Busy", NULL);
            Etw_Unregister(p);
        }
        free(one);
    }
    return NULL;
}

/* No start may hang: SIGALRM ends the program, and the test with it. */
static void many_starts_from_busy_threads(void)
{
    pthread_t threads[THREADS];
    ended = false;
    for (uintptr_t i = 0; i < THREADS; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, busy, (void *)i) == 0);
    }
    int good = 0;
    for (int i = 0; i < STARTS; i++) {
        EtwSessionConfig config = detached("busy", at("busy.etl"));
        EtwEnable enable = {.provider = guid, .providerName = "Engine-Test"};
        EtwError err;
        alarm(120);
        bool one =
                CHECK_MSG(
                        EtwSessionStart(&config, &err) == ETW_OK, "start %d: %s", i, err.message) &&
                (SANITIZES_THREADS || CHECK_MSG(EtwSessionEnable("busy", &enable, &err) == ETW_OK,
                                              "enable %d: %s", i, err.message)) &&
                CHECK_MSG(EtwSessionStop("busy", NULL, &err) == ETW_OK, "stop %d: %s", i,
                        err.message);
        good += one;
        if (!one) {
            break;
        }
    }
    alarm(0);
    ended = true;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK_EQ(good, STARTS);
}

/* ---- The logger process ---------------------------------------------------------------------- */

/* The number of a process's descriptors beyond 2 that refer to this file. */
static int holds(uint32_t pid, const char *file)
{
    char path[600], target[1024];
    int count = 0;
    snprintf(path, sizeof path, "/proc/%u/fd", pid);
    DIR *fds = opendir(path);
    for (const struct dirent *e; fds != NULL && (e = readdir(fds)) != NULL;) {
        snprintf(path, sizeof path, "/proc/%u/fd/%.20s", pid, e->d_name);
        ssize_t n = readlink(path, target, sizeof target - 1);
        target[n > 0 ? n : 0] = '\0';
        count += strcmp(target, file) == 0;
    }
    CHECK(fds != NULL);
    if (fds != NULL) {
        closedir(fds);
    }
    return count;
}

static volatile sig_atomic_t childSignals;
static void onChild(int sig)
{
    (void)sig;
    childSignals++;
}

static void leaves_its_starter(void)
{
    const char *kept = at("kept");
    char path[100], target[1024];
    EtwSessionConfig config = detached("alone", at("alone.etl"));
    EtwSessionInfo info;
    EtwError err;
    sigset_t blocked, before;
    struct sigaction action = {.sa_handler = onChild}, old;
    int fd = open(kept, O_RDWR | O_CREAT, 0600); /* without O_CLOEXEC */
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    sigaction(SIGCHLD, &action, &old);
    EtwStatus status = EtwSessionStart(&config, &err);
    sigaction(SIGCHLD, &old, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(fd);
    REQUIRE(status == ETW_OK);
    REQUIRE(EtwSessionQuery("alone", &info, &err) == ETW_OK);
    CHECK(childSignals <= 1);
    CHECK_EQ(holds(info.ownerPid, kept), 0);
    CHECK(info.ownerPid != OsPid() && getsid((pid_t)info.ownerPid) != getsid(0));
    CHECK(waitpid(-1, NULL, WNOHANG) < 0); /* this process has no child left */
    snprintf(path, sizeof path, "/proc/%u/cwd", info.ownerPid);
    ssize_t n = readlink(path, target, sizeof target - 1);
    target[n > 0 ? n : 0] = '\0';
    CHECK_STR(target, "/");
    /* SIGTERM was blocked here, and is not there: the session ends as by etw stop. */
    CHECK_EQ(kill((pid_t)info.ownerPid, SIGTERM), 0);
    for (int i = 0; i < 20000 && OsProcessStart(info.ownerPid) != 0; i++) {
        OsSleepNs(1000000);
    }
    countFile(at("alone.etl"), true);
}

/* The logger uses the starter's directory, also when the environment has changed since. */
static void uses_the_starters_directory(void)
{
    EtwSessionConfig config = detached("where", at("where.etl"));
    EtwSessionInfo info;
    EtwError err;
    char kept[600];
    snprintf(kept, sizeof kept, "%s", getenv("ETW_RUNTIME_DIR"));
    setenv("ETW_RUNTIME_DIR", "/nowhere/at/all", 1);
    EtwStatus status = EtwSessionStart(&config, &err);
    setenv("ETW_RUNTIME_DIR", kept, 1);
    CHECK_MSG(status == ETW_OK, "%s", err.message);
    CHECK_EQ(EtwSessionStop("where", &info, &err), ETW_OK);
}

static void failsWith(const char *logger, EtwStatus want, const char *text)
{
    EtwSessionConfig config = detached("none", at("none.etl"));
    EtwError err = {0};
    setenv("ETW_LOGGER", logger, 1);
    CHECK_EQ(EtwSessionStart(&config, &err), want);
    unsetenv("ETW_LOGGER");
    CHECK_MSG(strstr(err.message, text) != NULL, "%s: %s", logger, err.message);
}

/* A program that is missing, is no program, or ends at once: an error, and no session. */
static void errors_of_the_program(void)
{
    EtwSessionInfo info;
    const char *text = at("text");
    FILE *f = fopen(text, "w");
    REQUIRE(f != NULL);
    fputs("#!/bin/sh\necho something went wrong >&2\nexit 1\n", f);
    fclose(f);
    failsWith(text, ETW_E_IO, "Permission denied");
    chmod(text, 0700);
    failsWith(text, ETW_E_STATE, "something went wrong");
    failsWith("/nowhere/etw-logger", ETW_E_IO, "No such file");
    failsWith("/bin/true", ETW_E_STATE, "no message");
    CHECK(EtwSessionQuery("none", &info, NULL) != ETW_OK);
}

int main(int argc, char **argv)
{
    setUp(false);
    CHECK_ARGS(argc, argv);
    CHECK_RUN(leaves_its_starter);
    CHECK_RUN(uses_the_starters_directory);
    CHECK_RUN(errors_of_the_program);
    CHECK_RUN(many_starts_from_busy_threads);
    return CHECK_DONE();
}
#endif
