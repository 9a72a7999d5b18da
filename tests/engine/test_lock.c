/*
 * tests/engine/test_lock.c --
 *
 *	A process that is stopped while it holds the registry's lock: other processes get an error that names it, within a
 *	bound, nothing hangs, and all works again when it continues or is killed. Processes are stopped on Linux only.
 */
#define _GNU_SOURCE
#include "engine/engine_int.h"
#include "engine/shared/registry.h"
#include "tests/support/engine_support.h"
#ifndef _WIN32
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

enum { BOUND = 60 /* seconds, for REG_PATIENCE on a loaded machine */ };

static void within(unsigned seconds) /* 0: no limit any more */
{
#ifndef _WIN32
    alarm(seconds);
#else
    (void)seconds;
#endif
}

/* Each test continues with unlock. */
static OsFileLock *lockRegistry(void)
{
    char path[700];
    OsFileLock *lock = NULL;
    EtwError err;
    snprintf(path, sizeof path, "%s/registry.lock", dir);
    CHECK_MSG(OsFileLockTry(&lock, path, &err) == ETW_OK, "%s", err.message);
    within(BOUND);
    return lock;
}

static void unlock(OsFileLock *lock)
{
    OsFileLockRelease(lock);
    within(0);
}

/* A holder that is not stopped. Windows does not name it. */
static void running_holder(void)
{
    EtwSessionConfig config = {.name = "late", .file = at("late.etl"), .bufferKB = 4};
    EtwError err = {0};
    OsInstant before, after;
    OsFileLock *lock = lockRegistry();
    OsNow(&before);
    CHECK_EQ(etwEmbeddedOps.start(&config, &err), ETW_E_STATE);
    OsNow(&after);
    CHECK(after.steady - before.steady >= REG_PATIENCE * 1000000000ll);
    CHECK_STR(err.detail, "LOCKED");
    CHECK_MSG(strstr(err.message, "waited 5 seconds") != NULL, "%s", err.message);
#ifdef _WIN32
    CHECK_MSG(strstr(err.message, "another process has locked") != NULL, "%s", err.message);
#else
    CHECK_MSG(strstr(err.message, "process ") == err.message, "%s", err.message);
    CHECK_MSG(strstr(err.message, "stopped") == NULL, "%s", err.message);
#endif
    unlock(lock);
    CHECK_MSG(etwEmbeddedOps.start(&config, &err) == ETW_OK, "%s", err.message);
    CHECK_EQ(etwEmbeddedOps.stop("late", NULL, &err), ETW_OK);
}

static _Atomic int localEntered;
static void enterLocal(void *arg)
{
    (void)arg;
    RegLockLocal();
    localEntered++;
    RegUnlock();
}

/* The lock that excludes only threads of this process. */
static void local_lock_excludes_threads(void)
{
    OsThread *thread;
    localEntered = 0;
    RegLockLocal();
    REQUIRE(OsThreadStart(&thread, "local", enterLocal, NULL) == ETW_OK);
    for (int i = 0; i < 20; i++) {
        OsSleepNs(1000000);
        CHECK_EQ(localEntered, 0);
    }
    RegUnlock();
    OsThreadJoin(thread);
    CHECK_EQ(localEntered, 1);
}

/* "There is no such session" would be wrong. */
static void locked_is_not_missing(void)
{
    OsFileLock *lock = lockRegistry();
    CHECK_EQ(etwEmbeddedOps.has("late"), ETW_E_STATE);
    unlock(lock);
    CHECK_EQ(etwEmbeddedOps.has("late"), ETW_E_LOOKUP);
}

/* A session that was stopped while the registry was locked leaves neither its name nor its entry. */
static void name_is_free_after_stop(void)
{
    EtwSessionConfig config = {.name = "again", .file = at("again.etl"), .bufferKB = 4};
    EtwError err = {0};
    REQUIRE(etwEmbeddedOps.start(&config, &err) == ETW_OK);
    OsFileLock *lock = lockRegistry();
    EtwSessionStopAll();
    unlock(lock);
    CHECK_EQ(etwEmbeddedOps.has("again"), ETW_E_LOOKUP);
    CHECK_MSG(etwEmbeddedOps.start(&config, &err) == ETW_OK, "%s", err.message);
    CHECK_EQ(etwEmbeddedOps.stop("again", NULL, &err), ETW_OK);
}

static _Atomic int calls;
static void onEnable(void *ctx, int control, uint8_t level, uint64_t any, uint64_t all)
{
    (void)ctx, (void)control, (void)level, (void)any, (void)all;
    calls++;
}

/* A callback that is added while the registry is locked is called later. */
static void callback_is_added(void)
{
    EtwError err;
    REQUIRE(startFile("calls", at("calls.etl"), &err) == ETW_OK);
    calls = 0;
    OsFileLock *lock = lockRegistry();
    Etw_EnableCallbackAdd(provider, onEnable, NULL);
    unlock(lock);
    for (int waits = 0; calls == 0 && waits < 6000; waits++) {
        OsSleepNs(10000000);
    }
    CHECK_EQ(calls, 1);
    CHECK_EQ(etwEmbeddedOps.stop("calls", NULL, &err), ETW_OK);
    Etw_EnableCallbackRemove(provider, onEnable, NULL);
}

#ifndef _WIN32
/* A child that holds the lock and is stopped. */
static pid_t stoppedHolder(void)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (RegLock(NULL) != ETW_OK) {
            _exit(1);
        }
        raise(SIGSTOP);
        RegUnlock();
        _exit(0);
    }
    waitpid(child, &status, WUNTRACED);
    CHECK(WIFSTOPPED(status));
    return child;
}

static void end(pid_t child, int sig)
{
    int status;
    kill(child, sig);
    waitpid(child, &status, 0);
}

static void isLocked(EtwStatus status, const EtwError *err, pid_t holder)
{
    char want[100];
    snprintf(want, sizeof want, "process %d (", (int)holder);
    CHECK_EQ(status, ETW_E_STATE);
    CHECK_STR(err->detail, "LOCKED");
    CHECK_MSG(strstr(err->message, want) != NULL, "%s", err->message);
    CHECK_MSG(strstr(err->message, "is stopped") != NULL, "%s", err->message);
}

static void worksAfter(int sig)
{
    EtwSessionConfig config = {.name = "locked", .file = at("locked.etl"), .bufferKB = 4};
    EtwError err = {0};
    pid_t holder = stoppedHolder();
    within(BOUND);
    isLocked(sig == SIGCONT ? EtwSessionsReachable(&err) : EtwSessionStart(&config, &err), &err,
            holder);
    end(holder, sig);
    CHECK_MSG(EtwSessionStart(&config, &err) == ETW_OK, "%s", err.message);
    CHECK_EQ(EtwSessionStop("locked", NULL, &err), ETW_OK);
    within(0);
}

static void continued_holder(void)
{
    worksAfter(SIGCONT);
}

static void killed_holder(void)
{
    worksAfter(SIGKILL);
}

/* Calls without an error: they return, and unregister in this process. */
static void calls_without_errors(void)
{
    Etw_Provider *p = Etw_Register("Lock-Test", NULL);
    Etw_EnableCallbackAdd(p, onEnable, NULL);
    pid_t holder = stoppedHolder();
    within(BOUND);
    Etw_Unregister(p);
    end(holder, SIGKILL);
    CHECK_EQ(RegLock(NULL), ETW_OK);
    CHECK(!RegIsRegistered((const RegProvider *)p));
    RegUnlock();
    within(0);
}

static void *start(void *unused)
{
    EtwSessionConfig config = {.name = "waiting", .file = at("waiting.etl"), .bufferKB = 4};
    (void)unused;
    EtwSessionStart(&config, NULL);
    return NULL;
}

/* A fork while another thread waits for the lock does not wait. */
static void fork_does_not_wait(void)
{
    pthread_t thread;
    OsInstant before, after;
    int64_t longest = 0;
    pid_t holder = stoppedHolder();
    within(BOUND);
    REQUIRE(pthread_create(&thread, NULL, start, NULL) == 0);
    for (int i = 0; i < 20; i++) {
        OsNow(&before);
        pid_t child = fork();
        if (child == 0) {
            _exit(0);
        }
        OsNow(&after);
        longest = after.steady - before.steady > longest ? after.steady - before.steady : longest;
        waitpid(child, NULL, 0);
        OsSleepNs(1000000);
    }
    end(holder, SIGKILL);
    pthread_join(thread, NULL);
    within(0);
    CHECK(longest < REG_PATIENCE * 1000000000ll);
}

/* A process that owns a session ends while the lock is held: its file is closed. */
static void exit_closes_files(void)
{
    int report[2], status;
    char byte;
    REQUIRE(pipe(report) == 0);
    pid_t owner = fork();
    if (owner == 0) {
        EtwError err;
        byte = startFile("ends", at("ends.etl"), &err) == ETW_OK && writeOne(0, 0) == ETW_WRITTEN;
        if (write(report[1], &byte, 1) != 1 || raise(SIGSTOP) != 0) {
            _exit(1);
        }
        exit(0);
    }
    close(report[1]);
    REQUIRE(read(report[0], &byte, 1) == 1 && byte == 1);
    close(report[0]);
    waitpid(owner, &status, WUNTRACED);
    pid_t holder = stoppedHolder();
    within(BOUND);
    kill(owner, SIGCONT);
    waitpid(owner, &status, 0);
    within(0);
    CHECK(WIFEXITED(status));
    end(holder, SIGKILL);
    CHECK_EQ(countFile(at("ends.etl"), true), 1);
}

/* In a child with mounts of its own: two files with the same inode number, of which another process locks the second.
 * 0: it is not reported as the holder of the first; 2: not possible here. */
static int askAboutTwin(void)
{
    const char *paths[] = {at("one"), at("two")};
    char files[2][1100];
    struct stat st[2];
    OsFileLock *lock;
    OsLockHolder holder;
    int report[2], answer = 2;
    char byte;
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            pipe(report) != 0) {
        return 2;
    }
    for (int i = 0; i < 2; i++) {
        snprintf(files[i], sizeof files[i], "%s/lock", paths[i]);
        if (mkdir(paths[i], 0700) != 0 || mount("etw-test", paths[i], "tmpfs", 0, NULL) != 0 ||
                close(open(files[i], O_CREAT | O_RDWR, 0600)) != 0 || stat(files[i], &st[i]) != 0) {
            return 2;
        }
    }
    if (st[0].st_ino != st[1].st_ino) {
        return 2;
    }
    pid_t child = fork();
    if (child == 0) {
        byte = OsFileLockTry(&lock, files[1], NULL) == ETW_OK;
        if (write(report[1], &byte, 1) == 1) {
            pause();
        }
        _exit(1);
    }
    if (read(report[0], &byte, 1) == 1 && byte == 1) {
        bool right = OsFileLockHolder(files[1], &holder) && holder.pid == (uint32_t)child;
        answer = right && !OsFileLockHolder(files[0], &holder) ? 0 : 1;
    }
    end(child, SIGKILL);
    return answer;
}

static void same_inode_of_another_file_system(void)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        within(BOUND);
        _exit(askAboutTwin());
    }
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2) {
        SKIP("no file system can be mounted here, or inode numbers differ");
    }
    CHECK_EQ(WEXITSTATUS(status), 0);
}
#endif

int main(int argc, char **argv)
{
    setUp(false);
    CHECK_ARGS(argc, argv);
#ifndef _WIN32
    CHECK_RUN(
            exit_closes_files); /* first: a fork without threads, as the thread sanitizer requires */
#endif
    CHECK_RUN(running_holder);
    CHECK_RUN(local_lock_excludes_threads);
    CHECK_RUN(locked_is_not_missing);
    CHECK_RUN(name_is_free_after_stop);
    CHECK_RUN(callback_is_added);
#ifndef _WIN32
    CHECK_RUN(continued_holder);
    CHECK_RUN(killed_holder);
    CHECK_RUN(calls_without_errors);
    CHECK_RUN(fork_does_not_wait);
    CHECK_RUN(same_inode_of_another_file_system);
#endif
    return CHECK_DONE();
}
