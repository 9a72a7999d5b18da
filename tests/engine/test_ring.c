/*
 * tests/engine/test_ring.c --
 *
 *	The rings' protocol where it is delicate: who is stopped or killed between two steps while the
 *	others go on. Children are stopped at test points (when compiled in) of a ring of their own, so
 *	each interleaving happens every time. No sessions, no files.
 */
#include "base/os.h"
#include "tests/support/check.h"
#include "engine/shared/registry.h"
#include "engine/shared/ring.h"
#include "engine/shared/ring_reader.h"
#include <stdlib.h>
#ifndef _WIN32
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#if !defined(_WIN32) && defined(ETW_TEST_POINTS)

enum { BUFFER = 4096, SIZE = 64, PER_BUFFER = BUFFER / SIZE, STREAMS = 4 };
static char path[256];
static Ring ring;

static bool makeRing(uint32_t buffers, bool overwrite)
{
    RingConfig config = {.instance = 1,
            .cpus = STREAMS / 2,
            .bufferSize = BUFFER,
            .buffers = buffers,
            .minBuffers = 1,
            .overwrite = overwrite};
    EtwError err;
    snprintf(path, sizeof path, "/tmp/etw-test-ring-%u", OsPid());
    OsFileRemove(path);
    return CHECK_MSG(RingCreate(&ring, path, &config, &err) == ETW_OK, "%s", err.message);
}

static void freeRing(void)
{
    OsUnmap(&ring.map);
    OsFileRemove(path);
}

static bool put(uint32_t stream, uint32_t number)
{
    RingRecord *record = RingReserve(&ring, stream, SIZE, 0);
    if (record == NULL) {
        return false;
    }
    record->eventClass = number;
    RingCommit(record, SIZE);
    return true;
}

static void putMany(uint32_t stream, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        CHECK(put(stream, first + i));
    }
}

/* A child that does `work` and is stopped (or killed: action) at a test point on its way. */
static pid_t childAt(const char *point, const char *action, void (*work)(void))
{
    pid_t child = fork();
    if (child == 0) {
        char text[64];
        snprintf(text, sizeof text, "%s:%s", point, action);
        RegOpen(NULL); /* processes are known to be dead by their slots of the registry */
        setenv("ETW_TEST_POINT", text, 1);
        work();
        _exit(0);
    }
    int status;
    waitpid(child, &status, WUNTRACED);
    CHECK(action[0] == 's' ? WIFSTOPPED(status) : WIFSIGNALED(status));
    return child;
}

static void goOn(pid_t child)
{
    int status;
    kill(child, SIGCONT);
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Numbers of a stream's events that a new reader sees, checked to be first, first + 1 ...; how many. */
static uint32_t readAll(uint32_t stream, uint32_t first)
{
    RingReader tail;
    uint32_t count = 0;
    RingReaderInit(&tail, stream);
    while (RingReaderPeek(&ring, &tail)) {
        CHECK_EQ(RingReaderRecord(&tail)->eventClass, first + count);
        count++;
        RingReaderNext(&tail);
    }
    RingReaderFree(&tail);
    return count;
}

static uint32_t firstOf(uint32_t stream)
{
    RingReader tail;
    uint32_t first;
    RingReaderInit(&tail, stream);
    first = RingReaderPeek(&ring, &tail) ? RingReaderRecord(&tail)->eventClass : 0;
    RingReaderFree(&tail);
    return first;
}

static uint32_t used(void)
{
    uint32_t usedCount, freeCount;
    RingCount(&ring, &usedCount, &freeCount);
    return usedCount;
}

static void putOne(void)
{
    if (!put(1, 700)) {
        _exit(1);
    }
}

/* A claimer that is slow is not a dead one: its buffer stays its own. */
static void sweep_spares_the_living(void)
{
    REQUIRE(makeRing(3, false));
    pid_t child = childAt("switch.claimed", "stop", putOne);
    CHECK_EQ(used(), 1);
    RingSweep(&ring);
    CHECK_EQ(used(), 1);
    putMany(0, 1, PER_BUFFER + 1);
    goOn(child);
    CHECK_EQ(readAll(1, 700), 1);
    CHECK_EQ(readAll(0, 1), PER_BUFFER + 1);
    freeRing();
}

static void sweep_frees_the_deads(void)
{
    static const char *const points[] = {"switch.claimed", "switch.before-install"};
    for (int i = 0; i < 2; i++) {
        REQUIRE(makeRing(3, false));
        childAt(points[i], "kill", putOne);
        CHECK_EQ(used(), 1);
        RingSweep(&ring);
        CHECK_EQ(used(), 0);
        putMany(0, 1, 3 * PER_BUFFER);
        CHECK_EQ(readAll(0, 1), 3 * PER_BUFFER);
        freeRing();
    }
}

/* Killed while it zeroed a buffer: what is left of the old records never shows again. */
static void sweep_finishes_a_wipe(void)
{
    REQUIRE(makeRing(2, true));
    putMany(0, 1, PER_BUFFER + 1);
    childAt("wipe.before-zeroes", "kill", putOne);
    CHECK_EQ(readAll(0, PER_BUFFER + 1), 1);
    RingSweep(&ring);
    CHECK_EQ(used(), 1);
    CHECK(put(1, 5));
    CHECK_EQ(readAll(1, 5), 1);
    CHECK_EQ(RingEvents(&ring), 2);
    freeRing();
}

/*
 * Two writers choose the same old buffer; before the second takes it the first has recycled it and
 * writes there. It must not be wiped under the first one's hands.
 */
static void recycle_looks_twice(void)
{
    REQUIRE(makeRing(2, true));
    putMany(0, 1, PER_BUFFER + 1); /* buffer 0 closed, 1 current */
    pid_t child = childAt("recycle.before-take", "stop", putOne);
    putMany(0, PER_BUFFER + 2, PER_BUFFER); /* 1 is full, 0 recycled, with one event */
    goOn(child);                            /* must take 1 */
    CHECK_EQ(readAll(1, 700), 1);
    CHECK_EQ(readAll(0, 2 * PER_BUFFER + 1), 1);
    CHECK_EQ(RingEvents(&ring), 2);
    freeRing();
}

/* A claimed buffer is closed and its age an old one until it is prepared: no prey for others. */
static void claimed_is_nobodys_prey(void)
{
    REQUIRE(makeRing(2, true));
    putMany(1, 1, PER_BUFFER); /* buffer 0 */
    putMany(0, 1, PER_BUFFER); /* buffer 1 */
    RingCloseAll(&ring);
    RingRelease(&ring, 0, false);
    pid_t child = childAt("switch.claimed", "stop", putOne);
    CHECK(put(0, PER_BUFFER + 1)); /* takes 1, not 0 */
    goOn(child);
    CHECK_EQ(readAll(1, 700), 1);
    CHECK_EQ(readAll(0, PER_BUFFER + 1), 1);
    CHECK_EQ(RingEvents(&ring), 2);
    freeRing();
}

/* The logger of a test: read a stream to its end, give back what is closed. */
static void drain(RingCursor *cursor)
{
    RingRecord *record;
    uint32_t size, buffer;
    for (;;) {
        switch (RingPeek(&ring, cursor, &record, &size, &buffer)) {
        case RING_RECORD:
            RingAdvance(cursor, size);
            break;
        case RING_DONE:
            RingRelease(&ring, buffer, false);
            break;
        default:
            return;
        }
    }
}

static void readThirdBuffer(void)
{
    if (readAll(0, 2 * PER_BUFFER + 1) != 10) {
        _exit(1);
    }
}

/* A reader looks at a buffer, which is recycled for the same stream before it looks on: the old
 * generation with the new sequence would lead past the new content. */
static void next_keeps_generation_and_sequence_together(void)
{
    RingCursor cursor = {.stream = 0, .buffer = RING_NO_BUFFER};
    REQUIRE(makeRing(2, false));
    putMany(0, 1, PER_BUFFER);
    pid_t child = childAt("next.considered", "stop", readThirdBuffer);
    putMany(0, PER_BUFFER + 1, PER_BUFFER);
    drain(&cursor);
    putMany(0, 2 * PER_BUFFER + 1, 10);
    drain(&cursor);
    goOn(child);
    freeRing();
}

static void readSecondBuffer(void)
{
    if (readAll(0, PER_BUFFER + 1) != PER_BUFFER + 1 || checkState.bad != 0) {
        _exit(1);
    }
}

/* While a walk over the buffers goes on, one that it has passed is filled, then one before it. */
static void next_finds_the_oldest(void)
{
    RingCursor cursor = {.stream = 1, .buffer = RING_NO_BUFFER};
    REQUIRE(makeRing(3, false));
    putMany(1, 1, 1);
    putMany(0, 1, PER_BUFFER);
    RingCloseAll(&ring);
    drain(&cursor); /* buffer 0 is free, 1 full */
    pid_t child = childAt("next.considered", "stop", readSecondBuffer);
    RingRelease(&ring, 1, false);
    CHECK_EQ(atomic_exchange(&ring.buffers[1].state, RING_USED) & 0xFF,
            RING_FREE);                         /* out of the way */
    putMany(0, PER_BUFFER + 1, PER_BUFFER + 1); /* 0, then 2 */
    goOn(child);
    freeRing();
}

/* What a dead writer left open is stepped over, and its buffer is not lost to the recorder. */
static void killed_inside_a_record(void)
{
    RingReader tail;
    REQUIRE(makeRing(2, true));
    putMany(1, 1, 2);
    childAt("record.open", "kill", putOne);
    putMany(1, 3, 2);
    CHECK_EQ(RingEvents(&ring), 4);
    RingReaderInit(&tail, 1);
    for (int i = 0; i < 2; i++) {
        CHECK(RingReaderPeek(&ring, &tail));
        RingReaderNext(&tail);
    }
    CHECK(!RingReaderPeek(&ring, &tail) && tail.blocked);
    RingReaderSkip(&ring, &tail);
    REQUIRE(RingReaderPeek(&ring, &tail));
    CHECK_EQ(RingReaderRecord(&tail)->eventClass, 3);
    CHECK_EQ(tail.lost, 1);
    RingReaderFree(&tail);
    putMany(1, 5, 2 * PER_BUFFER); /* fill the second buffer again and again: the first is stuck */
    CHECK_EQ(firstOf(1), 1);
    RingSweep(&ring);
    putMany(1, 1000, 2 * PER_BUFFER);
    CHECK(firstOf(1) >= 1000);
    freeRing();
}

/* A writer that is only slow commits its event after a reader has skipped it: the event counts as lost once, also when the logger
 * has counted it. */
static void slow_inside_a_record(void)
{
    RingReader tail;
    RingCursor cursor = {.stream = 0, .buffer = RING_NO_BUFFER};
    uint32_t seen = 0;
    REQUIRE(makeRing(4, false));
    putMany(0, 1, 2);
    RingRecord *slow = RingReserve(&ring, 0, SIZE, 0);
    REQUIRE(slow != NULL);
    putMany(0, 4, PER_BUFFER - 3);
    RingReaderInit(&tail, 0);
    tail.entered = true;
    while (RingReaderPeek(&ring, &tail)) {
        seen++;
        RingReaderNext(&tail);
    }
    CHECK(tail.blocked);
    RingReaderSkip(&ring, &tail);
    slow->eventClass = 3;
    RingCommit(slow, SIZE);
    putMany(0, PER_BUFFER + 1, 5);
    /* As the logger, which has counted the first buffer. */
    RingRecord *record;
    uint32_t size, buffer;
    do {
        while (RingPeek(&ring, &cursor, &record, &size, &buffer) != RING_RECORD) {
        }
        RingAdvance(&cursor, size);
    } while (record->eventClass != PER_BUFFER + 1);
    atomic_store(&ring.buffers[cursor.buffer].serial, PER_BUFFER + 1);
    while (RingReaderPeek(&ring, &tail)) {
        seen++;
        RingReaderNext(&tail);
    }
    CHECK_EQ(seen, PER_BUFFER + 5 - 1);
    CHECK_EQ(tail.lost, 1);
    /* At the end, the logger has counted more than the reader has seen. */
    atomic_store(&ring.streams[0].passed, PER_BUFFER + 5 + 7);
    for (int i = 0; i < 2; i++) {
        RingReaderEnd(&ring, &tail);
        CHECK_EQ(tail.lost, 1 + 7);
    }
    RingReaderFree(&tail);
    freeRing();
}

#else

static void ring_steps(void)
{
    SKIP("compiled without test points");
}

#endif

int main(int argc, char **argv)
{
    OsInit();
    CHECK_ARGS(argc, argv);
#if !defined(_WIN32) && defined(ETW_TEST_POINTS)
    char dir[] = "/tmp/etw-test-XXXXXX", removal[64];
    if (mkdtemp(dir) == NULL || setenv("ETW_RUNTIME_DIR", dir, 1) != 0 || RegOpen(NULL) == NULL) {
        return 1;
    }
    CHECK_RUN(sweep_spares_the_living);
    CHECK_RUN(sweep_frees_the_deads);
    CHECK_RUN(sweep_finishes_a_wipe);
    CHECK_RUN(recycle_looks_twice);
    CHECK_RUN(claimed_is_nobodys_prey);
    CHECK_RUN(next_keeps_generation_and_sequence_together);
    CHECK_RUN(next_finds_the_oldest);
    CHECK_RUN(killed_inside_a_record);
    CHECK_RUN(slow_inside_a_record);
    snprintf(removal, sizeof removal, "rm -rf %s", dir);
    CHECK_EQ(system(removal), 0);
#else
    CHECK_RUN(ring_steps);
#endif
    return CHECK_DONE();
}
