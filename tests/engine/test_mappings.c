/*
 * tests/engine/test_mappings.c --
 *
 *	Writers, logger, a live consumer and snapshots of one session at the same time, each through a mapping of its own as in
 *	different processes. In a build with the thread sanitizer the mappings of a process are one (unix/os/linux_files.c),
 *	so that it checks the order of all accesses.
 */
#include "tests/support/engine_support.h"

enum { WRITERS = 2, MOST = 20000 };

static _Atomic bool done;
static _Atomic uint64_t written;

static void writeAll(void *arg)
{
    uint64_t thread = (uint64_t)(intptr_t)arg;
    for (uint64_t i = 0; i < MOST; i++) {
        written += writeOne(thread, i) == ETW_WRITTEN;
    }
}

/* Reads until the session has ended: the order of each writer's events, and their number. */
typedef struct Consumer {
    EtwLive *live;
    uint64_t seen, wrong, next[WRITERS];
    bool host; /* the session's own first event was seen */
} Consumer;

static void consume(void *arg)
{
    Consumer *c = arg;
    EtwStatus status;
    EtwEvent e;
    while ((status = EtwLiveNext(c->live, &e)) != ETW_END) {
        if (status == ETW_AGAIN) {
            EtwLiveWait(c->live, 1000000);
        } else if (!EtwGuidEqual(&e.provider, &guid)) {
            c->host = true;
        } else if (e.payloadSize == 16) {
            uint64_t thread = EtwLoad64(e.payload), number = EtwLoad64(e.payload + 8);
            c->seen++;
            if (thread < WRITERS && !e.late) {
                c->wrong += number < c->next[thread];
                c->next[thread] = number + 1;
            }
        }
    }
}

static int snapshotsTaken;

static void snapshots(void *arg)
{
    EtwError err;
    while (!done) {
        snapshotsTaken += EtwSessionSnapshot(arg, at("snapshot.etl"), NULL, &err) == ETW_OK;
    }
}

static void run(const EtwSessionConfig *config, void (*other)(void *), void *arg)
{
    EtwEnable enable = {.provider = guid};
    EtwError err;
    OsThread *threads[WRITERS], *reader;
    done = false;
    written = 0;
    CHECK_EQ(EtwSessionEnable(config->name, &enable, &err), ETW_OK);
    REQUIRE(OsThreadStart(&reader, "reader", other, arg) == ETW_OK);
    for (intptr_t i = 0; i < WRITERS; i++) {
        REQUIRE(OsThreadStart(&threads[i], "writer", writeAll, (void *)i) == ETW_OK);
    }
    for (int i = 0; i < WRITERS; i++) {
        OsThreadJoin(threads[i]);
    }
    done = true;
    CHECK_EQ(EtwSessionStop(config->name, NULL, &err), ETW_OK);
    OsThreadJoin(reader);
}

/* Few buffers: they are used again all the time, also while the consumer reads them. */
static void consumer_while_buffers_are_reused(void)
{
    EtwSessionConfig config = {.name = "mapped",
            .file = at("mapped.etl"),
            .realtime = true,
            .bufferKB = 4,
            .maxBuffers = 6};
    Consumer c = {.seen = 0};
    EtwError err;
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    REQUIRE(EtwLiveOpen("mapped", &c.live, &err) == ETW_OK);
    run(&config, consume, &c);
    CHECK_EQ(c.wrong, 0);
    /* The session's first event (Host) is seen, lost too, or was in the file before the consumer came. */
    uint64_t seenOrLost = c.seen + EtwLiveLost(c.live);
    CHECK_MSG(seenOrLost == written || (!c.host && seenOrLost == written + 1),
            "%llu seen, %llu lost, %llu written, first event %s", (unsigned long long)c.seen,
            (unsigned long long)EtwLiveLost(c.live), (unsigned long long)written,
            c.host ? "seen" : "not seen");
    CHECK_EQ(countFile(config.file, true), written);
    EtwLiveClose(c.live);
}

static void snapshots_while_events_are_overwritten(void)
{
    EtwSessionConfig config = {
            .name = "overwritten", .mode = ETW_FILE_MEMORY, .bufferKB = 4, .maxBuffers = 6};
    EtwError err;
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    run(&config, snapshots, "overwritten");
    CHECK_EQ(written, WRITERS * MOST);
    CHECK(snapshotsTaken > 0);
    CHECK(countFile(at("snapshot.etl"), true) > 0);
}

int main(int argc, char **argv)
{
    setUp(false);
    CHECK_ARGS(argc, argv);
    CHECK_RUN(consumer_while_buffers_are_reused);
    CHECK_RUN(snapshots_while_events_are_overwritten);
    return CHECK_DONE();
}
