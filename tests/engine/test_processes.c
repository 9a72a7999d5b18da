/*
 * tests/engine/test_processes.c --
 *
 *	The embedded engine among processes: forked and foreign writers, writers and owners that are killed (at each step of the record
 *	protocol where test points are compiled in), signals, exits, what somebody else planted. Linux only.
 */
#define _GNU_SOURCE /* CPU affinity */
#ifdef _WIN32
#include <stdio.h>
int main(void)
{
    printf("0 passed, 0 failed, 1 skipped\n");
    return 0;
}
#else
#include "tests/support/engine_support.h"
#include "tests/support/killed_writer.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static _Atomic bool stopWriting;

/* ---- Other processes ------------------------------------------------------------------------- */

static void fork_child_writes(void)
{
    EtwError err;
    EtwSessionInfo info;
    char *file = at("fork.etl");
    pid_t child;
    int status;
    REQUIRE(startFile("fork", file, &err) == ETW_OK);
    writeOne(0, 0);
    child = fork();
    if (child == 0) {
        for (uint64_t i = 0; i < 100; i++) {
            writeOne(1, i);
        }
        _exit(0);
    }
    waitpid(child, &status, 0);
    REQUIRE(EtwSessionStop("fork", &info, &err) == ETW_OK);
    CHECK_EQ(countFile(file, true), 101);
    EtlReader *reader;
    EtwEvent e;
    int ofChild = 0;
    REQUIRE(EtlReaderOpen(&reader, file, NULL, NULL, &err) == ETW_OK);
    while (EtlReaderNext(reader, &e) == ETW_OK) {
        ofChild += e.pid == (uint32_t)child && e.tid == (uint32_t)child;
    }
    EtlReaderClose(reader);
    CHECK_EQ(ofChild, 100);
}

/*
 * A process that writes for others keeps a session's mapping. The next session that takes the same
 * place in the registry is another one: it must get the events.
 */
static void other_session_in_the_same_place(void)
{
    EtwError err;
    EtwSessionInfo info;
    int turn[2], done[2], status;
    char byte = 0;
    REQUIRE(pipe(turn) == 0 && pipe(done) == 0);
    REQUIRE(startFile("place-1", at("place1.etl"), &err) == ETW_OK);
    pid_t child = fork();
    if (child == 0) {
        for (uint64_t i = 0; i < 3; i++) {
            writeOne(1, i);
            if (write(done[1], "x", 1) != 1 || read(turn[0], &byte, 1) != 1) {
                _exit(1);
            }
        }
        _exit(0);
    }
    for (int i = 0; i < 3; i++) {
        char name[16], file[32];
        CHECK_EQ(read(done[0], &byte, 1), 1);
        snprintf(name, sizeof name, "place-%d", i + 1);
        CHECK_EQ(EtwSessionStop(name, &info, &err), ETW_OK);
        /* Host and the child's. Process: the first mapping is the parent's, which it inherits. */
        CHECK_EQ(info.events, i == 0 ? 2 : 3);
        snprintf(name, sizeof name, "place-%d", i + 2);
        snprintf(file, sizeof file, "place%d.etl", i + 2);
        REQUIRE(startFile(name, at(file), &err) == ETW_OK);
        CHECK_EQ(write(turn[1], "x", 1), 1);
    }
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EtwSessionStop("place-4", NULL, &err);
    close(turn[0]), close(turn[1]), close(done[0]), close(done[1]);
}

/* A fork in the middle of another thread's control call leaves the child nothing locked. */
static void queryUntilStopped(void *arg)
{
    EtwSessionInfo info;
    EtwError err;
    (void)arg;
    while (!stopWriting) {
        EtwSessionQuery("forked", &info, &err);
        writeOne(2, 0);
    }
}

static void fork_while_others_control(void)
{
    EtwError err;
    EtwSessionInfo info;
    OsThread *t;
    REQUIRE(startFile("forked", at("forked.etl"), &err) == ETW_OK);
    stopWriting = false;
    OsThreadStart(&t, "control", queryUntilStopped, NULL);
    for (int i = 0; i < 100; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            _exit(EtwSessionQuery("forked", &info, &err) == ETW_OK && writeOne(1, 0) == 0 ? 0 : 1);
        }
        waitpid(child, &status, 0);
        if (!CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
            break;
        }
    }
    stopWriting = true;
    OsThreadJoin(t);
    CHECK_EQ(EtwSessionStop("forked", NULL, &err), ETW_OK);
}

/* What other libraries do at a thread's end comes after the engine has freed its own part of it. */
static void writeAtEnd(void *key)
{
    writeOne(3, (uint64_t)(uintptr_t)key);
}

static void *writeThenEnd(void *key)
{
    pthread_setspecific(*(pthread_key_t *)key, (void *)1);
    writeOne(3, 0);
    return NULL;
}

static void write_at_thread_end(void)
{
    EtwError err;
    EtwSessionInfo info;
    pthread_key_t key;
    pthread_t thread;
    REQUIRE(startFile("ending", at("ending.etl"), &err) == ETW_OK);
    pthread_key_create(&key, writeAtEnd); /* younger than the engine's: destroyed behind it */
    pthread_create(&thread, NULL, writeThenEnd, &key);
    pthread_join(thread, NULL);
    pthread_key_delete(key);
    CHECK_EQ(EtwSessionStop("ending", &info, &err), ETW_OK);
    CHECK_EQ(countFile(at("ending.etl"), true), 2);
}

static void killed_at(const char *point, int wantEvents, int wantAbandoned)
{
    EtwError err;
    EtwSessionInfo info;
    char *file = at("killed.etl"), action[64];
    pid_t child;
    int status;
    REQUIRE(startFile("killed", file, &err) == ETW_OK);
    child = fork();
    if (child == 0) {
        snprintf(action, sizeof action, "%s:kill:5", point);
        setenv("ETW_TEST_POINT", action, 1);
        for (uint64_t i = 0; i < 12000; i++) {
            writeOne(1, i);
        }
        _exit(0);
    }
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    for (uint64_t i = 0; i < 3000; i++) {
        writeOne(0, i);
    }
    REQUIRE(EtwSessionStop("killed", &info, &err) == ETW_OK);
    CHECK_EQ(info.lost.abandoned, wantAbandoned);
    CHECK_EQ(info.lost.noBuffer, 0);
    if (wantEvents >= 0) {
        CHECK_EQ(countFile(file, true), wantEvents + 3000);
    } else {
        CHECK(countFile(file, true) > 3000);
    }
}

static void killed_writer(void)
{
#ifdef ETW_TEST_POINTS
    killed_at("record.before-open", 4, 1);
    killed_at("record.open", 4, 1);
    killed_at("record.before-commit", 4, 1);
    killed_at("switch.before-claim", -1, 0);
    killed_at("switch.before-install", -1, 0);
#else
    (void)killed_at;
    SKIP("compiled without test points");
#endif
}

/* ---- Deaths that others live with ------------------------------------------------------------- */

/* Live events of ours within a few seconds, until `wanted` or the session's end. */
static uint64_t liveCount(EtwLive *live, uint64_t wanted, EtwStatus *statusPtr)
{
    EtwEvent e;
    OsInstant now, start;
    uint64_t count = 0;
    OsNow(&start);
    do {
        *statusPtr = EtwLiveNext(live, &e);
        if (*statusPtr == ETW_OK) {
            count += EtwGuidEqual(&e.provider, &guid) && e.payloadSize == 16;
        } else {
            EtwLiveWait(live, 5000000);
        }
        OsNow(&now);
    } while (*statusPtr != ETW_END && count < wanted && now.steady - start.steady < 10000000000);
    return count;
}

/* A writer that died inside a record holds up neither consumers nor snapshots of its stream. */
static void killed_writer_seen_live(void)
{
#ifdef ETW_TEST_POINTS
    static const char *const points[] = {"record.open:kill", "record.before-open:kill"};
    EtwError err;
    EtwLive *live;
    EtwStatus status;
    EtwSessionConfig config = {.name = "dead-live", .realtime = true};
    EtwEnable enable = {.provider = guid};
    for (int i = 0; i < 2; i++) {
        REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
        EtwSessionEnable("dead-live", &enable, &err);
        REQUIRE(EtwLiveOpen("dead-live", &live, &err) == ETW_OK);
        pin(true);
        killWriterAt(points[i]);
        for (uint64_t k = 0; k < 100; k++) {
            writeOne(0, k);
        }
        pin(false);
        CHECK_EQ(liveCount(live, 100, &status), 100);
        CHECK_EQ(EtwLiveLost(live), 1);
        EtwLiveClose(live);
        EtwSessionStop("dead-live", NULL, &err);
    }
#else
    SKIP("compiled without test points");
#endif
}

#ifdef ETW_TEST_POINTS
/* False: there is only one. */
static bool pinToLast(void)
{
    cpu_set_t all, one;
    int last = CPU_SETSIZE - 1;
    sched_getaffinity(0, sizeof all, &all);
    while (!CPU_ISSET(last, &all)) {
        last--;
    }
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    return CPU_COUNT(&all) > 1 && sched_setaffinity(0, sizeof one, &one) == 0;
}
#endif

/* A writer that is stopped inside a record delays the events of its processor until the logger abandons the record, and no others. */
static void stopped_writer_delays_its_processor(void)
{
#ifdef ETW_TEST_POINTS
    EtwError err;
    EtwSessionInfo info;
    char *file = at("frozen.etl");
    int status;
    REQUIRE(startFile("frozen", file, &err) == ETW_OK);
    pin(true);
    setenv("ETW_TEST_POINT", "record.open:stop", 1);
    pid_t child = fork();
    if (child == 0) {
        writeOne(1, 0);
        _exit(0);
    }
    unsetenv("ETW_TEST_POINT");
    waitpid(child, &status, WUNTRACED);
    CHECK(WIFSTOPPED(status));
    writeOne(0, 0); /* behind it */
    pin(false);
    bool several = pinToLast();
    for (uint64_t i = 1; several && i <= 100; i++) {
        writeOne(0, i);
    }
    pin(false);
    CHECK_EQ(EtwSessionFlush("frozen", &info, &err), ETW_OK);
    /* On a machine that is so busy that the record has been abandoned already, all events are there. */
    uint64_t found = countFile(file, false), abandoned = info.lost.abandoned;
    CHECK_MSG(!several || found == 100 || abandoned == 1,
            "%llu events are in the file, %llu abandoned", (unsigned long long)found,
            (unsigned long long)abandoned);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    CHECK_EQ(EtwSessionStop("frozen", &info, &err), ETW_OK);
    CHECK_EQ(info.lost.abandoned, 1);
    CHECK_EQ(countFile(file, true), several ? 101 : 1);
#else
    SKIP("compiled without test points");
#endif
}

static void killed_writer_in_snapshot(void)
{
#ifdef ETW_TEST_POINTS
    EtwError err;
    EtwSessionInfo info;
    EtwSessionConfig config = {.name = "dead-memory", .mode = ETW_FILE_MEMORY};
    EtwEnable enable = {.provider = guid};
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    EtwSessionEnable("dead-memory", &enable, &err);
    pin(true);
    killWriterAt("record.before-commit:kill");
    for (uint64_t k = 0; k < 100; k++) {
        writeOne(0, k);
    }
    pin(false);
    REQUIRE(EtwSessionSnapshot("dead-memory", at("dead.etl"), &info, &err) == ETW_OK);
    CHECK_EQ(countFile(at("dead.etl"), true), 100);
    CHECK_EQ(info.events, 101);
    EtwSessionStop("dead-memory", NULL, &err);
#else
    SKIP("compiled without test points");
#endif
}

static int liveMe(const char *unused)
{
    EtwError err;
    EtwSessionConfig config = {.name = "orphan", .realtime = true};
    EtwEnable enable = {.provider = guid};
    (void)unused;
    if (EtwSessionStart(&config, &err) != ETW_OK ||
            EtwSessionEnable("orphan", &enable, &err) != ETW_OK || writeOne(0, 0) != ETW_WRITTEN ||
            write(STDOUT_FILENO, "x", 1) != 1) {
        return 1;
    }
    for (;;) {
        pause();
    }
}

/* This program as another process that does one thing; its standard output goes into `out`. */
static pid_t self(const char *what, const char *argument, int out)
{
    pid_t child = fork();
    if (child == 0) {
        if (out >= 0) {
            dup2(out, STDOUT_FILENO);
        }
        execl("/proc/self/exe", "test_engine", what, argument, (char *)NULL);
        _exit(9);
    }
    return child;
}

/* A consumer ends with its session, also when that ends by the death of its process. */
static void killed_owner_seen_live(void)
{
    EtwError err;
    EtwLive *live;
    EtwStatus status;
    int ready[2], killed;
    char byte;
    REQUIRE(pipe(ready) == 0);
    pid_t child = self("--live-me", "", ready[1]);
    close(ready[1]);
    REQUIRE(read(ready[0], &byte, 1) == 1);
    REQUIRE(EtwLiveOpen("orphan", &live, &err) == ETW_OK);
    kill(child, SIGKILL);
    waitpid(child, &killed, 0);
    CHECK_EQ(liveCount(live, 2, &status), 1);
    CHECK_EQ(status, ETW_END);
    EtwLiveClose(live);
    close(ready[0]);
}

/* A killed consumer is no longer counted, and its place is taken by the next one. */
static void killed_consumers(void)
{
    EtwError err;
    EtwLive *live;
    EtwSessionInfo info;
    EtwSessionConfig config = {.name = "consumed", .realtime = true};
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    REQUIRE(EtwLiveOpen("consumed", &live, &err) == ETW_OK);
    for (int i = 0; i < 70; i++) {
        int ready[2], how;
        char byte;
        REQUIRE(pipe(ready) == 0);
        pid_t child = fork();
        if (child == 0) {
            EtwLive *mine;
            alarm(60);
            if (i % 10 == 9) {
                EtwLiveClose(live); /* a copy: its parent remains a consumer */
            }
            if (EtwLiveOpen("consumed", &mine, &err) == ETW_OK && write(ready[1], "x", 1) == 1) {
                pause();
            }
            _exit(1);
        }
        REQUIRE(read(ready[0], &byte, 1) == 1);
        CHECK_EQ(EtwSessionQuery("consumed", &info, &err), ETW_OK);
        CHECK_EQ(info.consumers, 2);
        kill(child, SIGKILL);
        waitpid(child, &how, 0);
        close(ready[0]);
        close(ready[1]);
        CHECK_EQ(EtwSessionQuery("consumed", &info, &err), ETW_OK);
        if (!CHECK_EQ(info.consumers, 1)) {
            break;
        }
    }
    EtwLiveClose(live);
    CHECK_EQ(EtwSessionStop("consumed", &info, &err), ETW_OK);
    CHECK_EQ(info.consumers, 0);
}

static _Atomic bool stopBegun;
static void *stopInThread(void *name)
{
    stopBegun = true;
    EtwSessionStop(name, NULL, NULL);
    return NULL;
}

/* Ends while another thread is stopping the session. */
static int exitMe(const char *file)
{
    EtwError err;
    pthread_t t;
    if (startFile("exit-me", file, &err) != ETW_OK) {
        return 1;
    }
    for (uint64_t i = 0; i < 100000; i++) {
        writeOne(0, i);
    }
    pthread_create(&t, NULL, stopInThread, "exit-me");
    pthread_detach(t);
    while (!stopBegun) {
    }
    return 0;
}

static void exit_waits_for_a_stop(void)
{
    char *file = at("exit.etl");
    for (int i = 0; i < 5; i++) {
        int status;
        waitpid(self("--exit-me", file, -1), &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        CHECK(countFile(file, true) > 0);
    }
}

/* The maker of the registry died before it gave it a size. */
static void empty_registry(void)
{
    char path[600], keep[600];
    int status;
    snprintf(keep, sizeof keep, "%s", getenv("ETW_RUNTIME_DIR"));
    snprintf(path, sizeof path, "%s/fresh", dir);
    REQUIRE(mkdir(path, 0700) == 0);
    setenv("ETW_RUNTIME_DIR", path, 1);
    snprintf(path, sizeof path, "%s/fresh/registry-4", dir);
    FILE *f = fopen(path, "w");
    fchmod(fileno(f), 0600);
    fclose(f);
    waitpid(self("--exit-me", at("fresh.etl"), -1), &status, 0);
    setenv("ETW_RUNTIME_DIR", keep, 1);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void terminated(int sig)
{
    char *file = at("term.etl");
    int status;
    pid_t child = self("--terminate-me", file, -1);
    /* The child creates FILE.ready when it has written. */
    char mark[1100];
    snprintf(mark, sizeof mark, "%s.ready", file);
    for (int i = 0; i < 2000 && !OsFileExists(mark); i++) {
        OsSleepNs(5000000);
    }
    kill(child, sig);
    waitpid(child, &status, 0);
    if (sig == SIGKILL) {
        countFile(file, false); /* all that was flushed, readable */
    } else {
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == sig);
        CHECK_EQ(countFile(file, true), 1000);
    }
    OsFileRemove(mark);
}

static void termination_signals(void)
{
    terminated(SIGINT);
    terminated(SIGTERM);
    terminated(SIGHUP);
}

static int terminateMe(const char *file)
{
    EtwError err;
    char mark[1100];
    FILE *f;
    if (startFile("terminate-me", file, &err) != ETW_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    for (uint64_t i = 0; i < 1000; i++) {
        writeOne(0, i);
    }
    snprintf(mark, sizeof mark, "%s.ready", file);
    f = fopen(mark, "w");
    fclose(f);
    for (;;) {
        OsSleepNs(20000000); /* not pause: TSan may put a signal off until the next call */
    }
}

/* ---- Which process is alive ------------------------------------------------------------------ */

static Etw_Provider *providerA;
static Etw_Event *eventA;

/* Register provider A with one event. */
static bool registerA(void)
{
    static const Etw_Field fields[] = {{"Number", ETW_IN_UINT64, 0, 0, 0}};
    providerA = Etw_Register("Death-A", NULL);
    eventA = providerA == NULL
                     ? NULL
                     : Etw_DefineEvent(providerA,
                               &(Etw_EventDesc){.name = "A", .id = 1, .level = 4}, fields, 1);
    return eventA != NULL;
}

static int writeA(uint64_t number)
{
    return Etw_Write(eventA, (Etw_Data[]){{&number, 8}}, 1);
}

/* Events of one provider in a file, and of all others except the session's own. */
static void countOf(const char *file, const char *name, int *ofNamePtr, int *othersPtr)
{
    EtlReader *reader;
    EtwEvent e;
    EtwError err;
    EtwGuid wanted, own;
    EtwGuidFromName(name, &wanted);
    EtwGuidFromName("Etw-Session", &own);
    *ofNamePtr = *othersPtr = 0;
    REQUIRE(EtlReaderOpen(&reader, file, NULL, NULL, &err) == ETW_OK);
    while (EtlReaderNext(reader, &e) == ETW_OK) {
        bool record = e.payloadSize == 8;
        *ofNamePtr += record && EtwGuidEqual(&e.provider, &wanted);
        *othersPtr += record && !EtwGuidEqual(&e.provider, &wanted);
    }
    EtlReaderClose(reader);
}

/* Providers that others register until all slots that look free are taken. */
static void registerMany(const char *prefix, int count)
{
    for (int i = 0; i < count; i++) {
        char name[40];
        snprintf(name, sizeof name, "%s-%d", prefix, i);
        Etw_Register(name, NULL);
    }
}

/* A child that `begin` turns into a process that lives on in another way. It writes an event of A for each byte that it gets. */
typedef struct Survivor {
    int go[2], done[2];
    pid_t pid; /* of the child that was forked; what lives on may be a child of it */
} Survivor;

static void answer(const Survivor *s)
{
    char byte;
    alarm(60);
    while (read(s->go[0], &byte, 1) == 1) {
        byte = byte == 'w' ? (char)('0' + writeA(1)) : 'r';
        if (write(s->done[1], &byte, 1) != 1) {
            break;
        }
    }
    _exit(0);
}

static void *answerInThread(void *s)
{
    answer(s);
    return NULL;
}

static void asDaemon(Survivor *s)
{
    if (fork() == 0) {
        answer(s);
    }
    _exit(0);
}

static void withoutMainThread(Survivor *s)
{
    static Survivor own; /* the stack ends with the thread */
    pthread_t thread;
    own = *s;
    pthread_create(&thread, NULL, answerInThread, &own);
    pthread_exit(NULL);
}

static void withoutDescriptors(Survivor *s)
{
    for (int fd = 3; fd < 1000; fd++) {
        if (fd != s->go[0] && fd != s->done[1]) {
            close(fd);
        }
    }
    answer(s);
}

static char ask(const Survivor *s, char byte)
{
    alarm(60);
    if (write(s->go[1], &byte, 1) != 1 || read(s->done[0], &byte, 1) != 1) {
        byte = '!';
    }
    alarm(0);
    return byte;
}

static void startSurvivor(Survivor *s, void (*begin)(Survivor *))
{
    int status;
    REQUIRE(pipe(s->go) == 0 && pipe(s->done) == 0);
    s->pid = fork();
    if (s->pid == 0) {
        close(s->go[1]);
        close(s->done[0]);
        if (!registerA()) {
            _exit(1);
        }
        begin(s);
    }
    close(s->go[0]);
    close(s->done[1]);
    if (begin == asDaemon) {
        waitpid(s->pid, &status, 0);
    }
    CHECK_EQ(ask(s, 'r'), 'r');
    OsSleepNs(20000000); /* its main thread has ended now */
}

static void endSurvivor(Survivor *s)
{
    int status;
    close(s->go[1]);
    close(s->done[0]);
    waitpid(s->pid, &status, 0);
}

/* It keeps its provider when others look who is alive, and its events go to sessions of its provider only. */
static void keepsItsProvider(const char *what, void (*begin)(Survivor *))
{
    static int turn;
    EtwError err;
    Survivor s;
    char name[40], file[40], sessionA[] = "death-a", others[20];
    int own, other;
    pid_t child;
    EtwSessionConfig config = {.name = sessionA, .mode = ETW_FILE_SEQUENTIAL, .bufferKB = 64};
    EtwEnable enable = {.providerName = "Death-A"};
    startSurvivor(&s, begin);
    snprintf(others, sizeof others, "Death-Other%d", turn++);
    if ((child = fork()) == 0) { /* it joins, and removes what it takes for dead */
        registerMany("Death-Joiner", 1);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    registerMany(others, 20);
    snprintf(name, sizeof name, "%s-0", others);
    snprintf(file, sizeof file, "death-%d.etl", turn);
    config.file = at(file);
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    enable.providerName = name;
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "%s-%d", others, i);
        EtwGuidFromName(name, &enable.provider);
        EtwSessionEnable(sessionA, &enable, &err);
    }
    CHECK_MSG(ask(&s, 'w') == '0', "%s", what);
    EtwSessionStop(sessionA, NULL, &err);
    countOf(config.file, "Death-A", &own, &other);
    CHECK_MSG(own == 0 && other == 0,
            "%s: %d events of it and %d under another name in a session of others", what, own,
            other);
    /* A session of its own provider gets its events. */
    snprintf(file, sizeof file, "death-own-%d.etl", turn);
    config.file = at(file);
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    enable.providerName = "Death-A";
    EtwGuidFromName("Death-A", &enable.provider);
    EtwSessionEnable(sessionA, &enable, &err);
    CHECK_MSG(ask(&s, 'w') == '0', "%s", what);
    EtwSessionStop(sessionA, NULL, &err);
    countOf(config.file, "Death-A", &own, &other);
    CHECK_MSG(own == 1 && other == 0, "%s: %d events, %d under another name", what, own, other);
    endSurvivor(&s);
}

static void lives_on_without_its_parent(void)
{
    keepsItsProvider("daemon", asDaemon);
}

static void lives_on_without_its_main_thread(void)
{
    keepsItsProvider("main thread ended", withoutMainThread);
}

static void lives_on_without_descriptors(void)
{
    keepsItsProvider("all descriptors closed", withoutDescriptors);
}

/* A session whose owner executes another program has no logger any more: it is recovered. */
static void owner_executes_another_program(void)
{
    EtwError err;
    EtwSessionInfo info;
    const char *file = at("exec.etl");
    int ready[2], status;
    char byte;
    REQUIRE(pipe(ready) == 0);
    pid_t child = fork();
    if (child == 0) {
        if (startFile("exec", file, &err) != ETW_OK) {
            _exit(1);
        }
        for (uint64_t i = 0; i < 100; i++) {
            writeOne(1, i);
        }
        dup2(ready[1], STDOUT_FILENO);
        execl("/bin/sh", "sh", "-c", "echo x; exec sleep 60", (char *)NULL);
        _exit(1);
    }
    REQUIRE(read(ready[0], &byte, 1) == 1);
    CHECK_EQ(EtwSessionQuery("exec", &info, &err), ETW_E_LOOKUP);
    CHECK_EQ(countFile(file, true), 100);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    close(ready[0]), close(ready[1]);
}

static void ignore(void *ctx, const EtwRecovered *recovered)
{
    (void)ctx;
    (void)recovered;
}

/* Process 1 of a pid namespace of its own, with the /proc of that namespace or an empty one. It uses a session from there. */
static int fromNamespace(const char *proc)
{
    EtwSessionInfo info;
    EtwError err = {0};
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount(proc, "/proc", proc, 0, NULL) != 0) {
        return 77;
    }
    bool good = EtwSessionQuery("namespace", &info, &err) == ETW_OK &&
                EtwSessionFlush("namespace", NULL, &err) == ETW_OK &&
                writeOne(1, 0) == ETW_WRITTEN && EtwSessionRecover(ignore, NULL, &err) == ETW_OK;
    if (!good) {
        fprintf(stderr, "%s\n", err.message);
    }
    return good ? 0 : 1;
}

static int inNamespace(const char *proc)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) {
            _exit(77);
        }
        child = fork();
        if (child == 0) {
            _exit(fromNamespace(proc));
        }
        waitpid(child, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 2);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

/* Requires root. */
static void other_pid_namespace(void)
{
    static const char *const procs[] = {"proc", "tmpfs"};
    for (int i = 0; i < 2; i++) {
        EtwError err;
        EtwSessionInfo info;
        const char *file = at("namespace.etl");
        REQUIRE(startFile("namespace", file, &err) == ETW_OK);
        writeOne(0, 0);
        int result = inNamespace(procs[i]);
        writeOne(0, 1);
        CHECK_MSG(EtwSessionStop("namespace", &info, &err) == ETW_OK, "%s: %s", procs[i],
                err.message);
        if (result == 77) {
            SKIP("no pid namespace can be made");
        }
        CHECK_MSG(result == 0, "%s: %d", procs[i], result);
        CHECK_EQ(countFile(file, true), 3);
    }
}

/* A program whose user is not its caller: the caller's environment does not choose its files. */
static int printRuntimeDir(void)
{
    char path[600] = "";
    OsRuntimeDir(path, sizeof path, NULL);
    printf("%s", path);
    return 0;
}

static void runtime_dir_of_setuid_program(void)
{
    char command[4000], out[600] = "", program[600];
    snprintf(program, sizeof program, "%s/setuid", dir);
    snprintf(command, sizeof command,
            "chmod 755 %s && cp /proc/%d/exe %s && chown 65534 %s 2>/dev/null && chmod 4755 %s && "
            "%s --runtime-dir x",
            dir, (int)getpid(), program, program, program, program);
    FILE *f = geteuid() == 0 ? popen(command, "r") : NULL;
    if (f == NULL) {
        SKIP("requires root");
    }
    CHECK(fgets(out, sizeof out, f) != NULL);
    pclose(f);
    chmod(dir, 0700);
    OsFileRemove(program);
    CHECK_MSG(strncmp(out, dir, strlen(dir)) != 0, "a setuid program uses %s", out);
    rmdir(out);
}

/* When all slots of providers are taken, a session still has its own events. */
static int manyProviders(const char *file)
{
    EtwError err;
    registerMany("Many", 1100);
    return startFile("many", file, &err) == ETW_OK &&
                           EtwSessionMark("many", "here", &err) == ETW_OK &&
                           EtwSessionStop("many", NULL, &err) == ETW_OK
                   ? 0
                   : 1;
}

static void own_events_with_many_providers(void)
{
    char keep[600], path[600];
    const char *file = at("many.etl");
    int status, own = 0;
    EtlReader *reader;
    EtwEvent e;
    EtwError err;
    EtwGuid session;
    EtwGuidFromName("Etw-Session", &session);
    snprintf(keep, sizeof keep, "%s", getenv("ETW_RUNTIME_DIR"));
    snprintf(path, sizeof path, "%.500s/many", dir);
    setenv("ETW_RUNTIME_DIR", path, 1);
    waitpid(self("--many-providers", file, -1), &status, 0);
    setenv("ETW_RUNTIME_DIR", keep, 1);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    REQUIRE(EtlReaderOpen(&reader, file, NULL, NULL, &err) == ETW_OK);
    while (EtlReaderNext(reader, &e) == ETW_OK) {
        own += EtwGuidEqual(&e.provider, &session);
    }
    EtlReaderClose(reader);
    CHECK_EQ(own, 2);
}

static void runtime_dir_refused(void)
{
    char path[600], out[600];
    EtwError err;
    const char *keep = getenv("ETW_RUNTIME_DIR");
    char kept[600];
    snprintf(kept, sizeof kept, "%s", keep);
    snprintf(path, sizeof path, "%s/open-dir", dir);
    mkdir(path, 0755);
    chmod(path, 0755);
    setenv("ETW_RUNTIME_DIR", path, 1);
    CHECK_EQ(OsRuntimeDir(out, sizeof out, &err), ETW_E_ACCESS);
    setenv("ETW_RUNTIME_DIR", kept, 1);
    struct stat st;
    char *file = at("mode.etl");
    REQUIRE(startFile("mode", file, &err) == ETW_OK);
    CHECK(stat(file, &st) == 0 && (st.st_mode & 0777) == 0600);
    EtwSessionStop("mode", NULL, &err);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*proc)(const char *argument);
    } others[] = {{"--terminate-me", terminateMe}, {"--live-me", liveMe}, {"--exit-me", exitMe},
            {"--many-providers", manyProviders}};
    if (argc > 2 && strcmp(argv[1], "--runtime-dir") == 0) {
        int code = printRuntimeDir();
        fflush(stdout);
        _exit(code); /* LeakSanitizer cannot inspect a setuid program */
    }
    setUp(argc > 2 && strncmp(argv[1], "--", 2) == 0);
    for (size_t i = 0; argc > 2 && i < sizeof others / sizeof *others; i++) {
        if (strcmp(argv[1], others[i].name) == 0) {
            return others[i].proc(argv[2]);
        }
    }
    CHECK_ARGS(argc, argv);
    CHECK_RUN(fork_child_writes);
    CHECK_RUN(other_session_in_the_same_place);
    CHECK_RUN(fork_while_others_control);
    CHECK_RUN(write_at_thread_end);
    CHECK_RUN(killed_writer);
    CHECK_RUN(killed_writer_seen_live);
    CHECK_RUN(stopped_writer_delays_its_processor);
    CHECK_RUN(killed_writer_in_snapshot);
    CHECK_RUN(killed_owner_seen_live);
    CHECK_RUN(killed_consumers);
    CHECK_RUN(exit_waits_for_a_stop);
    CHECK_RUN(empty_registry);
    CHECK_RUN(termination_signals);
    CHECK_RUN(lives_on_without_its_parent);
    CHECK_RUN(lives_on_without_its_main_thread);
    CHECK_RUN(lives_on_without_descriptors);
    CHECK_RUN(owner_executes_another_program);
    CHECK_RUN(other_pid_namespace);
    CHECK_RUN(runtime_dir_refused);
    CHECK_RUN(runtime_dir_of_setuid_program);
    CHECK_RUN(own_events_with_many_providers);
    return CHECK_DONE();
}
#endif
