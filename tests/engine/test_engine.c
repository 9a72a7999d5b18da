/*
 * tests/engine/test_engine.c --
 *
 *	The embedded engine within one process: sessions, enabling, writing from threads, flight recorder, live readers, loss. Uses real
 *	files and shared memory in a directory of its own. Other processes, signals and deaths: test_processes.c.
 */
#include "tests/support/engine_support.h"
#include "event/clock_anchors.h"

/* ---- Sessions -------------------------------------------------------------------------------- */

static void session_lifecycle(void)
{
    EtwError err;
    EtwSessionInfo info;
    char *file = at("life.etl");
    REQUIRE(startFile("Life", file, &err) == ETW_OK);
    CHECK_EQ(startFile("LIFE", at("x.etl"), &err), ETW_E_STATE);
    CHECK_STR(err.detail, "EXISTS");
    CHECK(strstr(err.message, "process") != NULL);
    for (uint64_t i = 0; i < 1000; i++) {
        writeOne(0, i);
    }
    CHECK(EtwSessionFlush("life", &info, &err) == ETW_OK);
    CHECK_EQ(info.events, 1001); /* Host and ours */
    CHECK_EQ(countFile(file, false), 1000);
    CHECK(EtwSessionMark("life", "a mark", &err) == ETW_OK);
    CHECK(EtwSessionStop("life", &info, &err) == ETW_OK);
    CHECK_STR(info.state, "stopped");
    CHECK_EQ(info.events, 1002);
    CHECK_EQ(info.lost.noBuffer + info.lost.tooBig + info.lost.io, 0);
    CHECK_EQ(countFile(file, true), 1000);
    CHECK_EQ(EtwSessionStop("life", NULL, &err), ETW_E_LOOKUP);
    CHECK_EQ(Etw_Enabled(provider, 4, 1), 0);
}

/* What is told of a session that goes on in another file is the sum of both. */
static void session_two_files(void)
{
    EtwError err;
    EtwSessionInfo info;
    char *second = at("second.etl");
    EtwSessionConfig change = {.file = second};
    REQUIRE(startFile("two", at("first.etl"), &err) == ETW_OK);
    for (uint64_t i = 0; i < 100; i++) {
        if (i == 60) {
            CHECK(EtwSessionUpdate("two", &change, &info, &err) == ETW_OK);
            CHECK_EQ(info.events, 61);
        }
        writeOne(0, i);
    }
    CHECK(EtwSessionStop("two", &info, &err) == ETW_OK);
    CHECK_EQ(info.events, 101);
    CHECK_EQ(info.buffers >= 4, 1);
    CHECK_EQ(countFile(at("first.etl"), true), 60);
    CHECK_EQ(countFile(second, true), 40);
}

static void session_limit(void)
{
    EtwError err;
    char name[32];
    int started = 0;
    EtwSessionConfig config = {
            .name = name, .mode = ETW_FILE_MEMORY, .bufferKB = 4, .maxBuffers = 4};
    for (int i = 0; i < ETW_MAX_SESSIONS; i++) {
        snprintf(name, sizeof name, "many-%d", i);
        started += EtwSessionStart(&config, &err) == ETW_OK;
    }
    CHECK_EQ(started, ETW_MAX_SESSIONS);
    snprintf(name, sizeof name, "one-too-many");
    CHECK_EQ(EtwSessionStart(&config, &err), ETW_E_LIMIT);
    EtwSessionStopAll();
    CHECK_EQ(EtwSessionStart(&config, &err), ETW_OK);
    EtwSessionStopAll();
}

static void session_bad_config(void)
{
    EtwError err;
    EtwSessionConfig none = {.name = "x"},
                     circular = {.name = "x", .file = at("c.etl"), .mode = ETW_FILE_CIRCULAR};
    EtwSessionConfig name = {.name = "a:b", .realtime = true},
                     kb = {.name = "x", .realtime = true, .bufferKB = 2000};
    EtwSessionConfig nowhere = {.name = "x", .file = at("no/such/dir.etl")};
    CHECK_EQ(EtwSessionStart(&none, &err), ETW_E_ARG);
    CHECK_EQ(EtwSessionStart(&circular, &err), ETW_E_ARG);
    CHECK_EQ(EtwSessionStart(&name, &err), ETW_E_ARG);
    CHECK_EQ(EtwSessionStart(&kb, &err), ETW_E_ARG);
    EtwSessionConfig numbered = {
            .name = "x", .realtime = true, .mode = ETW_FILE_NEWFILE, .maxMB = 1};
    CHECK_EQ(EtwSessionStart(&numbered, &err), ETW_E_ARG);
    CHECK_EQ(EtwSessionStart(&nowhere, &err), ETW_E_IO);
    CHECK(err.osError != 0);
    EtwSessionQuery("x", &(EtwSessionInfo){0}, &err);
    CHECK_EQ(err.status, ETW_E_LOOKUP);
}

/* ---- Time --------------------------------------------------------------------------------------- */

/* Ticks of 0.4 ns, whose measured rate changes from anchor to anchor: what was converted before an
 * anchor came is converted alike after it, and nothing steps back. */
static void anchors_never_step_back(void)
{
    EtwAnchors a;
    OsInstant now = {1000000, 500, 0};
    uint64_t second = 2500000000u;
    EtwAnchorsInit(&a, &now);
    a.scale = a.scaleBefore = (uint64_t)(0.4 * 4294967296.0 * 1.0001);
    for (int i = 0; i < 50; i++) {
        uint64_t from = now.ticks;
        int64_t before[20], last = INT64_MIN;
        now.ticks += second;
        now.steady += 1000000000 + (i % 3 - 1) * 200000;
        for (uint64_t k = 0; k < 20; k++) {
            before[k] = EtwAnchorsSteady(&a, from + k * second / 20);
        }
        EtwAnchorsAdd(&a, &now);
        for (uint64_t k = 0; k < 40; k++) {
            int64_t steady = EtwAnchorsSteady(&a, from + k * second / 20);
            CHECK(steady >= last);
            CHECK(k >= 20 || steady == before[k]);
            last = steady;
        }
    }
    CHECK(llabs(EtwAnchorsSteady(&a, now.ticks) - now.steady) < 1000000);
}

/* Who joins an hour after the start need not creep up to the right time. */
static void anchors_join_late(void)
{
    EtwAnchors a;
    OsInstant start = {77, 1000, 0}, now = {77 + 9000000000000u, 1000 + 3600000000000, 0};
    EtwAnchorsJoin(&a, &start, &now);
    CHECK(llabs(EtwAnchorsSteady(&a, now.ticks) - now.steady) < 2000);
    CHECK_EQ(EtwAnchorsSteady(&a, start.ticks), start.steady);
}

/* ---- Filters --------------------------------------------------------------------------------- */

static uint64_t writtenWith(const EtwEnable *enable)
{
    EtwError err;
    EtwSessionInfo info = {0};
    EtwSessionConfig config = {.name = "filter", .mode = ETW_FILE_MEMORY};
    EtwSessionStart(&config, &err);
    CHECK_MSG(EtwSessionEnable("filter", enable, &err) == ETW_OK, "%s", err.message);
    writeOne(0, 0);
    EtwSessionQuery("filter", &info, &err);
    EtwSessionStop("filter", NULL, &err);
    return info.events - 1; /* Host */
}

static void enable_filters(void)
{
    uint32_t mine = OsPid(), other = 1;
    uint16_t id = 7, not7 = 8;
    EtwEnable e = {.provider = guid, .providerName = "Engine-Test"};
    CHECK_EQ(writtenWith(&e), 1);
    CHECK_EQ(writtenWith(&(EtwEnable){.provider = guid, .level = 3}), 0);
    CHECK_EQ(writtenWith(&(EtwEnable){.provider = guid, .level = 4}), 1);
    CHECK_EQ(writtenWith(&(EtwEnable){.provider = guid, .any = 2}), 1);
    CHECK_EQ(writtenWith(&(EtwEnable){.provider = guid, .any = 4}), 0);
    CHECK_EQ(writtenWith(&(EtwEnable){.provider = guid, .any = 2, .all = 3}), 1);
    CHECK_EQ(writtenWith(&(EtwEnable){.provider = guid, .any = 2, .all = 6}), 0);
    CHECK_EQ(writtenWith(&(EtwEnable){.provider = guid, .pids = &mine, .pidCount = 1}), 1);
    CHECK_EQ(writtenWith(&(EtwEnable){.provider = guid, .pids = &other, .pidCount = 1}), 0);
    CHECK_EQ(writtenWith(&(EtwEnable){.provider = guid, .ids = &id, .idCount = 1}), 1);
    CHECK_EQ(writtenWith(&(EtwEnable){.provider = guid, .ids = &not7, .idCount = 1}), 0);
}

typedef struct Told {
    int calls, captures;
    int control;
    uint8_t level;
    uint64_t any;
} Told;

static void enable_callback(void *ctx, int control, uint8_t level, uint64_t any, uint64_t all)
{
    Told *told = ctx;
    (void)all;
    told->calls++;
    told->captures += control == ETW_CONTROL_CAPTURE_STATE;
    told->control = control;
    told->level = level;
    told->any = any;
}

static void enable_callbacks(void)
{
    EtwError err;
    Told told = {0}, other = {0};
    Etw_Provider *p = Etw_Register("Engine-Callback", NULL);
    EtwEnable e = {.level = 3, .any = 0x10, .providerName = "Engine-Callback"};
    EtwSessionConfig config = {.name = "cb", .mode = ETW_FILE_MEMORY};
    EtwGuidFromName("Engine-Callback", &e.provider);
    Etw_EnableCallbackAdd(p, enable_callback, &told);
    EtwSessionStart(&config, &err);
    EtwSessionEnable("cb", &e, &err);
    CHECK_EQ(told.calls, 1);
    CHECK_EQ(told.control, ETW_CONTROL_ENABLE);
    CHECK_EQ(told.level, 3);
    CHECK_EQ(told.any, 0x10);
    EtwSessionDisable("cb", &e.provider, &err);
    CHECK_EQ(told.calls, 2);
    CHECK_EQ(told.control, ETW_CONTROL_DISABLE);
    CHECK_EQ(told.level, 0);
    CHECK_EQ(EtwSessionDisable("cb", &e.provider, &err), ETW_E_LOOKUP);
    /* One that comes later is told at once, and not of captures before its time. */
    e.captureState = true;
    EtwSessionEnable("cb", &e, &err);
    CHECK_EQ(told.calls, 4);
    CHECK_EQ(told.control, ETW_CONTROL_CAPTURE_STATE);
    CHECK_EQ(told.level, 3);
    Etw_EnableCallbackAdd(p, enable_callback, &other);
    CHECK_EQ(other.calls, 1);
    CHECK_EQ(other.control, ETW_CONTROL_ENABLE);
    EtwSessionEnable("cb", &e, &err);
    CHECK_EQ(told.captures, 2);
    CHECK_EQ(other.captures, 1);
    Etw_EnableCallbackRemove(p, enable_callback, &told);
    EtwSessionStop("cb", NULL, &err);
    CHECK_EQ(told.calls, 5);
    CHECK_EQ(other.control, ETW_CONTROL_DISABLE);
    CHECK_EQ(other.calls, 3);
    Etw_Unregister(p);
}

/* What a provider shows is the union of all sessions' requests, whatever their order. */
static void enable_union(void)
{
    EtwError err;
    static const char *const names[] = {"u0", "u1", "u2"};
    static const EtwEnable requests[] = {
            {.level = 5, .any = 0x10}, {.level = 2, .any = 0x20}, {.level = 3, .any = 0x40}};
    for (int first = 0; first < 3; first++) {
        for (int i = 0; i < 3; i++) {
            int at = (first + i) % 3;
            EtwEnable e = requests[at];
            EtwSessionConfig config = {.name = names[at], .mode = ETW_FILE_MEMORY};
            e.provider = guid;
            CHECK_EQ(EtwSessionStart(&config, &err), ETW_OK);
            CHECK_EQ(EtwSessionEnable(names[at], &e, &err), ETW_OK);
        }
        CHECK_EQ(provider->keywords, 0x70);
        CHECK_EQ(provider->enabled, 5);
        CHECK(Etw_Enabled(provider, 5, 0x10) && Etw_Enabled(provider, 1, 0x20));
        CHECK(!Etw_Enabled(provider, 6, 0x10) && !Etw_Enabled(provider, 1, 0x80));
        CHECK_EQ(EtwSessionStop(names[first], NULL, &err), ETW_OK);
        CHECK_EQ(provider->keywords, 0x70 & ~requests[first].any);
        CHECK_EQ(provider->enabled, first == 0 ? 3 : 5);
        EtwSessionStopAll();
        CHECK_EQ(provider->keywords, 0);
        CHECK_EQ(provider->enabled, 0);
    }
}

static void enable_limit(void)
{
    EtwError err;
    EtwEnable e = {.provider = guid};
    char name[16];
    EtwSessionConfig config = {
            .name = name, .mode = ETW_FILE_MEMORY, .bufferKB = 4, .maxBuffers = 4};
    for (int i = 0; i < 9; i++) {
        snprintf(name, sizeof name, "e%d", i);
        EtwSessionStart(&config, &err);
        CHECK_EQ(EtwSessionEnable(name, &e, &err), i < 8 ? ETW_OK : ETW_E_LIMIT);
    }
    EtwSessionStopAll();
    CHECK_EQ(Etw_Enabled(provider, 4, 2), 0);
}

/* ---- Writing --------------------------------------------------------------------------------- */

enum { THREADS = 6, PER_THREAD = 60000 };
static _Atomic uint64_t written;

static void manyWrites(void *arg)
{
    uint64_t thread = (uint64_t)(uintptr_t)arg, mine = 0;
    for (uint64_t i = 0; i < PER_THREAD; i++) {
        mine += writeOne(thread, i) == ETW_WRITTEN;
    }
    written += mine;
}

static void write_threads(void)
{
    EtwError err;
    EtwSessionInfo info;
    OsThread *t[THREADS];
    char *file = at("threads.etl");
    written = 0;
    REQUIRE(startFile("threads", file, &err) == ETW_OK);
    for (uintptr_t i = 0; i < THREADS; i++) {
        OsThreadStart(&t[i], "writer", manyWrites, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        OsThreadJoin(t[i]);
    }
    REQUIRE(EtwSessionStop("threads", &info, &err) == ETW_OK);
    CHECK_EQ(written + info.lost.noBuffer, THREADS * PER_THREAD);
    CHECK_EQ(countFile(file, true), written);
    CHECK_EQ(info.lost.abandoned, 0);
}

static _Atomic bool stopWriting;
static void writeUntilStopped(void *arg)
{
    uint64_t thread = (uint64_t)(uintptr_t)arg;
    for (uint64_t i = 0; !stopWriting; i++) {
        writeOne(thread, i);
    }
}

/* Sessions come and go under writers that never pause: no crash, no event outside of its session's
 * life. */
static void write_while_sessions_change(void)
{
    EtwError err;
    OsThread *t[3];
    stopWriting = false;
    for (uintptr_t i = 0; i < 3; i++) {
        OsThreadStart(&t[i], "writer", writeUntilStopped, (void *)i);
    }
    for (int round = 0; round < 15; round++) {
        EtwSessionInfo info;
        REQUIRE(startFile("churn", at("churn.etl"), &err) == ETW_OK);
        OsSleepNs(2000000);
        REQUIRE(EtwSessionStop("churn", &info, &err) == ETW_OK);
        CHECK_EQ(countFile(at("churn.etl"), true), info.events - 1);
    }
    stopWriting = true;
    for (int i = 0; i < 3; i++) {
        OsThreadJoin(t[i]);
    }
}

static void write_too_big(void)
{
    static char big[70000];
    EtwError err;
    EtwSessionInfo info;
    char *file = at("big.etl");
    REQUIRE(startFile("big", file, &err) == ETW_OK);
    CHECK_EQ(Etw_Write(event, (Etw_Data[]){{big, sizeof big}}, 1), ETW_LOST_TOO_BIG);
    CHECK_EQ(Etw_Write(event, (Etw_Data[]){{big, 60000}}, 1), ETW_WRITTEN);
    writeOne(0, 0);
    REQUIRE(EtwSessionStop("big", &info, &err) == ETW_OK);
    CHECK_EQ(info.lost.tooBig, 1);
    CHECK_EQ(info.events, 3);
    CHECK_EQ(countFile(file, true), 1);
}

/* Fits into a buffer, but not with its metadata into a record of the file: also a loss of that kind. */
static void write_too_big_for_file(void)
{
    static char big[60000], name[10000];
    EtwError err;
    EtwSessionInfo info;
    memset(name, 'n', sizeof name - 1);
    Etw_Event *wordy = Etw_DefineEvent(provider, &(Etw_EventDesc){.name = name, .level = 4},
            (Etw_Field[]){{"Bytes", ETW_IN_BINARY, 0, 0, 0}}, 1);
    REQUIRE(wordy != NULL);
    REQUIRE(startFile("wordy", at("wordy.etl"), &err) == ETW_OK);
    CHECK_EQ(Etw_Write(wordy, (Etw_Data[]){{big, sizeof big}}, 1), ETW_WRITTEN);
    writeOne(0, 0);
    REQUIRE(EtwSessionStop("wordy", &info, &err) == ETW_OK);
    CHECK_EQ(info.lost.tooBig, 1);
    CHECK_EQ(countFile(at("wordy.etl"), true), 1);
}

static void write_no_buffer(void)
{
    EtwError err;
    EtwSessionInfo info;
    EtwSessionConfig config = {.name = "tiny",
            .file = at("tiny.etl"),
            .bufferKB = 4,
            .maxBuffers = 2,
            .flushMs = 60000};
    EtwEnable enable = {.provider = guid};
    uint64_t ok = 0;
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    EtwSessionEnable("tiny", &enable, &err);
    for (uint64_t i = 0; i < 200000; i++) {
        ok += writeOne(0, i) == ETW_WRITTEN;
    }
    REQUIRE(EtwSessionStop("tiny", &info, &err) == ETW_OK);
    CHECK(info.lost.noBuffer > 0);
    CHECK_EQ(ok + info.lost.noBuffer, 200000);
    CHECK_EQ(countFile(at("tiny.etl"), true), ok);
}

/* More events than the buffers hold, long before the next flush: a writer that tries again soon gets a buffer. */
static void write_full_buffers(void)
{
    EtwError err;
    EtwSessionInfo info;
    EtwSessionConfig config = {.name = "full",
            .file = at("full.etl"),
            .bufferKB = 4,
            .maxBuffers = 4,
            .flushMs = 600000};
    EtwEnable enable = {.provider = guid};
    uint64_t count = 0;
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    EtwSessionEnable("full", &enable, &err);
    for (int ms = 0; count < 5000 && ms < 20000;) {
        if (writeOne(0, count) == ETW_WRITTEN) {
            count++;
        } else {
            ms++;
            OsSleepNs(1000000);
        }
    }
    CHECK_EQ(count, 5000);
    REQUIRE(EtwSessionStop("full", &info, &err) == ETW_OK);
    CHECK_EQ(countFile(at("full.etl"), true), 5000);
}

static void write_activity(void)
{
    EtwError err;
    EtlReader *reader;
    EtwEvent e;
    Etw_Guid scope, related, got;
    int seen = 0;
    REQUIRE(startFile("act", at("act.etl"), &err) == ETW_OK);
    Etw_ActivityCreate(&scope);
    Etw_ActivityCreate(&related);
    Etw_ActivitySet(&scope);
    Etw_ActivityGet(&got);
    CHECK(memcmp(&got, &scope, 16) == 0);
    writeOne(0, 0);
    Etw_WriteActivity(event, NULL, &related, (Etw_Data[]){{&scope, 16}}, 1);
    Etw_ActivitySet(NULL);
    writeOne(0, 1);
    EtwSessionStop("act", NULL, &err);
    REQUIRE(EtlReaderOpen(&reader, at("act.etl"), NULL, NULL, &err) == ETW_OK);
    while (EtlReaderNext(reader, &e) == ETW_OK) {
        if (!EtwGuidEqual(&e.provider, &guid)) {
            continue;
        }
        CHECK(seen == 2 ? EtwGuidIsNull(&e.activity) : memcmp(&e.activity, &scope, 16) == 0);
        CHECK(seen == 1 ? e.related && memcmp(e.related, &related, 16) == 0 : e.related == NULL);
        seen++;
    }
    EtlReaderClose(reader);
    CHECK_EQ(seen, 3);
}

/* ---- Memory mode ----------------------------------------------------------------------------- */

static void memory_snapshot(void)
{
    EtwError err;
    EtwSessionInfo info;
    EtwSessionConfig config = {
            .name = "memory", .mode = ETW_FILE_MEMORY, .bufferKB = 16, .maxBuffers = 8};
    EtwEnable enable = {.provider = guid};
    uint64_t kept;
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    EtwSessionEnable("memory", &enable, &err);
    for (uint64_t i = 0; i < 50000; i++) {
        CHECK_EQ(writeOne(0, i), ETW_WRITTEN);
    }
    CHECK_MSG(
            EtwSessionSnapshot("memory", at("snap.etl"), &info, &err) == ETW_OK, "%s", err.message);
    kept = countFile(at("snap.etl"), true);
    CHECK(kept > 500 && kept < 5000);
    CHECK_EQ(kept + info.overwritten, 50001 - (info.overwritten > 0 ? 0 : 1));
    writeOne(0, 50000);
    CHECK(EtwSessionSnapshot("memory", at("snap.etl"), NULL, &err) == ETW_OK);
    CHECK(countFile(at("snap.etl"), true) > 0);
    EtwSessionStop("memory", &info, &err);
    CHECK_EQ(info.lost.noBuffer, 0);
}

/* ---- Live ------------------------------------------------------------------------------------ */

static void live_all(void)
{
    EtwError err;
    EtwLive *live;
    EtwEvent e;
    EtwStatus status;
    OsThread *t[2];
    uint64_t count = 0, late = 0;
    int64_t last = 0;
    EtwSessionConfig config = {.name = "live", .realtime = true};
    EtwEnable enable = {.provider = guid};
    written = 0;
    CHECK_EQ(EtwLiveOpen("live", &live, &err), ETW_E_LOOKUP);
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    EtwSessionEnable("live", &enable, &err);
    REQUIRE(EtwLiveOpen("live", &live, &err) == ETW_OK);
    for (uintptr_t i = 0; i < 2; i++) {
        OsThreadStart(&t[i], "writer", manyWrites, (void *)i);
    }
    while (count < 2 * PER_THREAD && (status = EtwLiveNext(live, &e)) != ETW_END) {
        if (status == ETW_AGAIN) {
            EtwLiveWait(live, 1000000000);
        } else if (EtwGuidEqual(&e.provider, &guid)) {
            count++;
            late += e.late;
            CHECK(e.late || e.time >= last);
            last = e.late ? last : e.time;
        }
        if (EtwLiveLost(live) > 0) {
            break;
        }
    }
    for (int i = 0; i < 2; i++) {
        OsThreadJoin(t[i]);
    }
    CHECK(EtwLiveLost(live) > 0 || count == written);
    CHECK(late <= count / 10); /* only a writer preempted inside a reservation is late */
    EtwSessionStop("live", NULL, &err);
    while ((status = EtwLiveNext(live, &e)) == ETW_OK) {
    }
    CHECK_EQ(status, ETW_END);
    EtwLiveClose(live);
}

static void live_overtaken(void)
{
    EtwError err;
    EtwLive *live;
    EtwEvent e;
    EtwSessionInfo info;
    uint64_t count = 0, host = 0;
    EtwSessionConfig config = {.name = "slow", .realtime = true, .bufferKB = 16, .maxBuffers = 8};
    EtwEnable enable = {.provider = guid};
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    EtwSessionEnable("slow", &enable, &err);
    REQUIRE(EtwLiveOpen("slow", &live, &err) == ETW_OK);
    writeOne(0, 0);
    for (int tries = 0; count == 0 && tries < 2000; tries++) {
        if (EtwLiveNext(live, &e) == ETW_OK) {
            count += EtwGuidEqual(&e.provider, &guid);
            host += !EtwGuidEqual(&e.provider, &guid);
        } else {
            EtwLiveWait(live, 1000000);
        }
    }
    written = 0;
    for (uint64_t i = 1; i <= 20000; i++) {
        written += writeOne(0, i) == ETW_WRITTEN;
        if (i % 500 == 0) {
            EtwSessionFlush("slow", NULL, &err); /* the logger keeps up; the consumer does not */
        }
    }
    EtwSessionStop("slow", &info, &err);
    while (EtwLiveNext(live, &e) == ETW_OK) {
        count += EtwGuidEqual(&e.provider, &guid);
        host += !EtwGuidEqual(&e.provider, &guid);
    }
    CHECK(EtwLiveLost(live) > 0);
    CHECK_EQ(count + EtwLiveLost(live), written + 1);
    CHECK_EQ(host, 1);
    EtwLiveClose(live);
}

int main(int argc, char **argv)
{
    setUp(false);
    CHECK_ARGS(argc, argv);
    CHECK_RUN(session_lifecycle);
    CHECK_RUN(session_two_files);
    CHECK_RUN(session_limit);
    CHECK_RUN(session_bad_config);
    CHECK_RUN(anchors_never_step_back);
    CHECK_RUN(anchors_join_late);
    CHECK_RUN(enable_filters);
    CHECK_RUN(enable_callbacks);
    CHECK_RUN(enable_union);
    CHECK_RUN(enable_limit);
    CHECK_RUN(write_threads);
    CHECK_RUN(write_while_sessions_change);
    CHECK_RUN(write_too_big);
    CHECK_RUN(write_too_big_for_file);
    CHECK_RUN(write_no_buffer);
    CHECK_RUN(write_full_buffers);
    CHECK_RUN(write_activity);
    CHECK_RUN(memory_snapshot);
    CHECK_RUN(live_all);
    CHECK_RUN(live_overtaken);
    return CHECK_DONE();
}
