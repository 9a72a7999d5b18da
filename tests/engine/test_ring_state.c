/*
 * tests/engine/test_ring_state.c --
 *
 *	The buffers of a ring, one step at a time and without other processes: sizes, states, reuse, what a cursor and a reader
 *	see, and what the logger does with the buffers of the dead. Each state is made by storing the words that a process
 *	would have left. Interleavings: test_ring.c and tests/engine/model.
 */
#include "tests/support/engine_support.h"
#include "engine/shared/registry.h"
#include "engine/shared/ring.h"
#include "engine/shared/ring_reader.h"

enum { BUFFER = 4096, SIZE = 64, PER_BUFFER = BUFFER / SIZE, CPUS = 2, STREAMS = 2 * CPUS };
static Ring ring;

static bool makeRing(uint32_t buffers, bool overwrite)
{
    RingConfig config = {.instance = 77,
            .cpus = CPUS,
            .bufferSize = BUFFER,
            .buffers = buffers,
            .minBuffers = 1,
            .overwrite = overwrite};
    EtwError err;
    return CHECK_MSG(RingCreate(&ring, at("ring"), &config, &err) == ETW_OK, "%s", err.message);
}

static void freeRing(void)
{
    RingClose(&ring);
    OsFileRemove(at("ring"));
}

static RingRecord *reserve(uint32_t stream, uint32_t number)
{
    RingRecord *record = RingReserve(&ring, stream, SIZE, 0);
    if (record != NULL) {
        record->eventClass = number;
    }
    return record;
}

static bool put(uint32_t stream, uint32_t number)
{
    RingRecord *record = reserve(stream, number);
    if (record != NULL) {
        memset(record + 1, 0xEE, SIZE - sizeof *record);
        RingCommit(record, SIZE);
    }
    return record != NULL;
}

static void putMany(uint32_t stream, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        CHECK(put(stream, first + i));
    }
}

static uint32_t stateOf(uint32_t buffer)
{
    return (uint32_t)atomic_load(&ring.buffers[buffer].state) & 0xFF;
}

static bool isZero(uint32_t buffer)
{
    const uint8_t *p = RingDataOf(&ring, buffer);
    for (uint32_t i = 0; i < BUFFER; i++) {
        if (p[i] != 0) {
            return false;
        }
    }
    return true;
}

static void checkCount(uint32_t wantUsed, uint32_t wantFree)
{
    uint32_t used, freeCount;
    RingCount(&ring, &used, &freeCount);
    CHECK_EQ(used, wantUsed);
    CHECK_EQ(freeCount, wantFree);
}

/* The number of a stream's records for a new reader, whose numbers are first, first + 1 ... */
static uint32_t readAll(uint32_t stream, uint32_t first)
{
    RingReader reader;
    uint32_t count = 0;
    RingReaderInit(&reader, stream);
    while (RingReaderPeek(&ring, &reader)) {
        CHECK_EQ(RingReaderRecord(&reader)->eventClass, first + count);
        count++;
        RingReaderNext(&reader);
    }
    RingReaderFree(&reader);
    return count;
}

/* A key that no process has. */
static uint32_t deadKey(void)
{
    return RegSelfKey() + 5 * REG_PROCESSES + 1;
}

/* The state word that a process with this key leaves in its n-th claim. */
static uint64_t claimedBy(uint32_t key, uint32_t claims, uint32_t state)
{
    return (uint64_t)key << 32 | claims << 8 | state;
}

/* ---- The mapping ----------------------------------------------------------------------------- */

static void mapping_1_1_sizes(void)
{
    REQUIRE(makeRing(4, false));
    const RingHeader *h = ring.header;
    CHECK_EQ(h->streams, STREAMS);
    CHECK_EQ(h->headerSize % 64, 0);
    CHECK(h->headerSize >= sizeof *h && h->headerSize < sizeof *h + 64);
    CHECK_EQ(h->dataOffset % 4096, 0);
    CHECK((uint8_t *)(ring.streams + STREAMS) <= (uint8_t *)ring.buffers);
    CHECK((uint8_t *)(ring.buffers + 4) <= ring.data);
    CHECK(ring.data + 4 * BUFFER <= ring.map.base + ring.map.size);
    CHECK_EQ(atomic_load(&ring.buffers[0].backed), 1); /* minBuffers */
    CHECK_EQ(atomic_load(&ring.buffers[1].backed), 0);
    RingPrefault(&ring);
    CHECK_EQ(atomic_load(&ring.buffers[1].backed) + atomic_load(&ring.buffers[3].backed), 2);
    checkCount(0, 4);
    freeRing();
}

/* A mapping is shared with other processes, so each size in it is checked before it is used. */
static void mapping_1_2_damaged(void)
{
    REQUIRE(makeRing(4, false));
    RingHeader good = *ring.header, *h = ring.header;
    Ring other;
    EtwError err;
    CHECK_EQ(RingOpen(&other, at("ring"), 77, &err), ETW_OK);
    CHECK_EQ(other.bufferCount, 4);
    CHECK_EQ(other.bufferSize, BUFFER);
    CHECK_EQ(other.cpus, CPUS);
    CHECK_EQ(other.data - other.map.base, ring.data - ring.map.base);
    RingClose(&other);
    CHECK(RingOpen(&other, at("none"), 77, &err) != ETW_OK);
    CHECK_EQ(RingOpen(&other, at("ring"), 78, &err), ETW_E_FORMAT);
#define REFUSED(member, value)                                                                     \
    do {                                                                                           \
        h->member = value;                                                                         \
        CHECK_MSG(RingOpen(&other, at("ring"), 77, &err) == ETW_E_FORMAT, "%s", #member);          \
        h->member = good.member;                                                                   \
    } while (0)
    REFUSED(magic, RING_MAGIC + 1);
    REFUSED(cpus, 0);
    REFUSED(cpus, CPUS + 1);
    REFUSED(streams, STREAMS + 1);
    REFUSED(buffers, 5);
    REFUSED(buffers, 65537);
    REFUSED(bufferSize, BUFFER + 4);
    REFUSED(bufferSize, 4 * BUFFER);
    REFUSED(dataOffset, good.dataOffset + 8);
    CHECK_EQ(RingOpen(&other, at("ring"), 77, &err), ETW_OK);
    RingClose(&other);
    freeRing();
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* A stream fills its buffer to the last byte, then takes the lowest free one. Without a free one there is no record. */
static void write_1_1_buffers(void)
{
    REQUIRE(makeRing(3, false));
    putMany(0, 1, PER_BUFFER);
    checkCount(1, 2);
    CHECK_EQ(atomic_load(&ring.buffers[0].sequence), 1);
    putMany(0, 1 + PER_BUFFER, 1);
    checkCount(2, 1);
    CHECK_EQ(atomic_load(&ring.buffers[1].sequence), 2);
    CHECK(atomic_load(&ring.buffers[0].reserve) & RING_CLOSED);
    CHECK(!(atomic_load(&ring.buffers[1].reserve) & RING_CLOSED));
    putMany(3, 500, 1);
    checkCount(3, 0);
    CHECK_EQ(atomic_load(&ring.buffers[2].stream), 3);
    CHECK(!put(1, 900));
    putMany(0, 2 + PER_BUFFER, PER_BUFFER - 1);
    CHECK(!put(0, 900));
    CHECK(put(3, 501));
    CHECK_EQ(readAll(0, 1), 2 * PER_BUFFER);
    CHECK_EQ(readAll(3, 500), 2);
    CHECK_EQ(readAll(1, 0), 0);
    CHECK_EQ(RingEvents(&ring), 2 * PER_BUFFER + 2);
    CHECK_EQ(RingOverwritten(&ring), 0);
    freeRing();
}

/* A record that does not fit into the rest of a buffer goes to the next one; one of a buffer's size fits. */
static void write_1_2_rest(void)
{
    REQUIRE(makeRing(3, false));
    RingRecord *record = RingReserve(&ring, 0, BUFFER - 64, 1234);
    REQUIRE(record != NULL);
    CHECK_EQ(record->ticks, 1234);
    CHECK_EQ(record->pid, OsPid());
    CHECK_EQ(record->writer, RegSelfKey());
    CHECK_EQ(atomic_load(&record->head), (BUFFER - 64) | RING_OPEN);
    RingCommit(record, BUFFER - 64);
    CHECK_EQ(atomic_load(&record->head), (BUFFER - 64) | RING_COMMITTED);
    record = RingReserve(&ring, 0, 72, 0);
    CHECK(record == (RingRecord *)RingDataOf(&ring, 1));
    record = RingReserve(&ring, 1, BUFFER, 0);
    CHECK(record == (RingRecord *)RingDataOf(&ring, 2));
    freeRing();
}

/* maxBuffers limits what is used, also when it shrinks below that. */
static void write_1_3_most(void)
{
    REQUIRE(makeRing(4, false));
    atomic_store(&ring.header->maxBuffers, 2);
    checkCount(0, 2);
    putMany(0, 1, 2 * PER_BUFFER);
    CHECK(!put(0, 0));
    checkCount(2, 0);
    atomic_store(&ring.header->maxBuffers, 1);
    checkCount(2, 0);
    atomic_store(&ring.header->maxBuffers, 99); /* damaged: as many as there are */
    putMany(0, 1, 2 * PER_BUFFER);
    CHECK(!put(0, 0));
    freeRing();
}

/* ---- Reading --------------------------------------------------------------------------------- */

static void read_1_1_peek(void)
{
    RingCursor c = {.stream = 0, .buffer = RING_NO_BUFFER};
    RingRecord *record;
    uint32_t size = 0, buffer = 99;
    REQUIRE(makeRing(2, false));
    CHECK_EQ(RingPeek(&ring, &c, &record, &size, &buffer), RING_EMPTY);
    RingRecord *open = reserve(0, 7);
    CHECK_EQ(RingPeek(&ring, &c, &record, &size, &buffer), RING_BLOCKED);
    RingCommit(open, SIZE);
    CHECK_EQ(RingPeek(&ring, &c, &record, &size, &buffer), RING_RECORD);
    CHECK(record == open && size == SIZE);
    CHECK(RingStill(&ring, &c));
    uint64_t position = RingPosition(&c);
    RingAdvance(&c, size);
    CHECK_EQ(RingPosition(&c), position + SIZE);
    CHECK_EQ(RingPeek(&ring, &c, &record, &size, &buffer), RING_EMPTY);
    RingCloseAll(&ring);
    CHECK_EQ(RingPeek(&ring, &c, &record, &size, &buffer), RING_DONE);
    CHECK_EQ(buffer, 0);
    CHECK_EQ(c.buffer, RING_NO_BUFFER);
    CHECK_EQ(RingPeek(&ring, &c, &record, &size, &buffer), RING_EMPTY);
    /* The next buffer of the stream, in which a later position is. */
    put(0, 8);
    CHECK_EQ(RingPeek(&ring, &c, &record, &size, &buffer), RING_RECORD);
    CHECK(RingPosition(&c) > position + SIZE);
    RingRelease(&ring, c.buffer, false);
    CHECK(!RingStill(&ring, &c));
    CHECK_EQ(RingPeek(&ring, &c, &record, &size, &buffer), RING_OVERTAKEN);
    CHECK_EQ(c.buffer, RING_NO_BUFFER);
    freeRing();
}

/* Sizes in a record that cannot be right block, and are skipped as a hole is: up to the next word that is not zero. */
static void read_1_2_damaged(void)
{
    static const uint32_t bad[] = {0, 8, 24, SIZE + 4, BUFFER, 2 * SIZE + 8, RING_SIZE_MASK};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        RingCursor c = {.stream = 0, .buffer = RING_NO_BUFFER};
        RingRecord *record;
        uint32_t size, buffer;
        REQUIRE(makeRing(2, false));
        put(0, 1);
        put(0, 2);
        RingPeek(&ring, &c, &record, &size, &buffer);
        memset((uint8_t *)record, 0, SIZE);
        atomic_store(&record->head, bad[i] | RING_COMMITTED);
        CHECK_EQ(RingPeek(&ring, &c, &record, &size, &buffer), RING_BLOCKED);
        CHECK(!RingAbandon(&ring, &c));
        CHECK(!RingSkip(&ring, &c));
        CHECK_EQ(c.offset, SIZE);
        REQUIRE(RingPeek(&ring, &c, &record, &size, &buffer) == RING_RECORD);
        CHECK_EQ(record->eventClass, 2);
        CHECK_EQ(RingEvents(&ring), 0); /* a damaged record ends the count */
        freeRing();
    }
}

/* An open record is skipped by its size. Its writer is dead: it is committed with class 0. */
static void read_1_3_abandon(void)
{
    RingCursor c = {.stream = 0, .buffer = RING_NO_BUFFER};
    RingRecord *record, *open;
    uint32_t size, buffer;
    REQUIRE(makeRing(2, false));
    open = reserve(0, 1);
    open->ticks = 5;
    put(0, 2);
    CHECK_EQ(RingEvents(&ring), 1);
    CHECK_EQ(RingPeek(&ring, &c, &record, &size, &buffer), RING_BLOCKED);
    CHECK(!RingAbandon(&ring, &c)); /* we live */
    open->writer = REG_KEY_UNKNOWN;
    CHECK(!RingAbandon(&ring, &c));
    CHECK_EQ(open->eventClass, 1);
    RingCursor skip = c;
    CHECK(RingSkip(&ring, &skip));
    CHECK_EQ(skip.offset, SIZE);
    open->writer = deadKey();
    CHECK(RingAbandon(&ring, &c));
    CHECK_EQ(RingPeek(&ring, &c, &record, &size, &buffer), RING_RECORD);
    CHECK(record == open && size == SIZE);
    CHECK_EQ(open->eventClass, 0);
    CHECK_EQ(open->ticks, 0);
    CHECK(!RingAbandon(&ring, &c)); /* it is committed now */
    freeRing();
}

static void read_1_4_body(void)
{
    struct {
        RingRecord record;
        uint8_t bytes[96];
    } r;
    RingBody body;
    for (uint8_t flags = 0; flags < 4; flags++) {
        for (uint8_t stack = 0; stack < 3; stack++) {
            uint32_t activity = flags & RING_HAS_ACTIVITY ? 16 : 0,
                     related = flags & RING_HAS_RELATED ? 16 : 0;
            uint32_t before = activity + related + 8u * stack,
                     need = (uint32_t)sizeof r.record + before + 9;
            memset(&r, 0, sizeof r);
            r.record.flags = flags;
            r.record.stackCount = stack;
            r.record.payloadSize = 9;
            CHECK(!RingBodyOf(&r.record, need - 1, &body));
            CHECK(RingBodyOf(&r.record, need, &body));
            CHECK(body.activity == (activity ? r.bytes : NULL));
            CHECK(body.related == (related ? r.bytes + activity : NULL));
            CHECK(body.stack == (stack ? r.bytes + activity + related : NULL));
            CHECK(body.payload == r.bytes + before);
            CHECK_EQ(body.stackCount, stack);
            CHECK_EQ(body.payloadSize, 9);
        }
    }
}

/* A reader that was overtaken reports how many events it has missed, by the logger's numbers. */
static void read_1_5_lost(void)
{
    RingReader reader;
    REQUIRE(makeRing(2, true));
    RingReaderInit(&reader, 0);
    putMany(0, 1, 1);
    CHECK(RingReaderPeek(&ring, &reader));
    CHECK(RingReaderPeek(&ring, &reader)); /* the same one, until it is taken */
    CHECK_EQ(RingReaderRecord(&reader)->eventClass, 1);
    RingReaderNext(&reader);
    CHECK(!RingReaderPeek(&ring, &reader));
    CHECK_EQ(reader.lost, 0);
    putMany(0, 2, 3 * PER_BUFFER - 1); /* buffer 0 is the third now */
    atomic_store(&ring.buffers[1].serial, 1 + PER_BUFFER);
    atomic_store(&ring.buffers[0].serial, 1 + 2 * PER_BUFFER);
    CHECK(RingReaderPeek(&ring, &reader));
    CHECK_EQ(RingReaderRecord(&reader)->eventClass, PER_BUFFER + 1);
    CHECK_EQ(reader.lost,
            PER_BUFFER - 1 + 1); /* those of the rest, and one for the overrun itself */
    RingReaderFree(&reader);
    freeRing();
}

/* A hole counts as one lost event. */
static void read_1_6_blocked(void)
{
    RingReader reader;
    REQUIRE(makeRing(2, false));
    RingReaderInit(&reader, 0);
    reserve(0, 1);
    put(0, 2);
    CHECK(!RingReaderPeek(&ring, &reader));
    CHECK(reader.blocked);
    reader.blockedSince = 5;
    RingReaderSkip(&ring, &reader);
    CHECK(!reader.blocked);
    CHECK_EQ(reader.blockedSince, 0);
    CHECK_EQ(reader.lost, 1);
    CHECK(RingReaderPeek(&ring, &reader));
    CHECK_EQ(RingReaderRecord(&reader)->eventClass, 2);
    RingReaderFree(&reader);
    freeRing();
}

/* ---- Reuse ----------------------------------------------------------------------------------- */

/* What the logger has read is zeroed and free, or stays readable until buffers are needed: the oldest goes first. */
static void reuse_1_1_release(void)
{
    REQUIRE(makeRing(4, false));
    putMany(0, 1, 3 * PER_BUFFER);
    RingCloseAll(&ring);
    uint64_t generation = atomic_load(&ring.buffers[0].reserve) >> 32;
    RingRelease(&ring, 0, false);
    CHECK_EQ(stateOf(0), RING_FREE);
    CHECK(isZero(0));
    CHECK_EQ(atomic_load(&ring.buffers[0].reserve) >> 32, generation + 1);
    RingRelease(&ring, 1, true);
    RingRelease(&ring, 2, true);
    CHECK_EQ(stateOf(1), RING_READ);
    CHECK(!isZero(1));
    checkCount(0, 4);
    CHECK_EQ(readAll(0, PER_BUFFER + 1), 2 * PER_BUFFER);
    RingReplenish(&ring, 2); /* 0 and 3 are free */
    CHECK_EQ(stateOf(1), RING_READ);
    RingReplenish(&ring, 3);
    CHECK_EQ(stateOf(1), RING_FREE);
    CHECK(isZero(1));
    CHECK_EQ(stateOf(2), RING_READ);
    RingReplenish(&ring, 99);
    CHECK_EQ(stateOf(2), RING_FREE);
    CHECK_EQ(RingOverwritten(&ring), 0); /* all of it had been read */
    freeRing();
}

/* Without a free buffer a writer takes the oldest that was read. A buffer that a hung writer may use is never touched. */
static void reuse_1_2_read(void)
{
    REQUIRE(makeRing(3, false));
    putMany(0, 1, 3 * PER_BUFFER);
    RingCloseAll(&ring);
    for (uint32_t i = 0; i < 3; i++) {
        atomic_store(&ring.buffers[i].abandoned, i == 0);
        RingRelease(&ring, i, true);
    }
    CHECK_EQ(stateOf(0), RING_USED);
    CHECK(put(1, 50));
    CHECK_EQ(atomic_load(&ring.buffers[1].stream), 1);
    CHECK_EQ(stateOf(1), RING_USED);
    putMany(1, 51, 2 * PER_BUFFER - 1);
    CHECK(!put(1, 0));
    CHECK_EQ(readAll(1, 50), 2 * PER_BUFFER);
    CHECK_EQ(readAll(0, 1), PER_BUFFER);
    freeRing();
}

/* A flight recorder overwrites the oldest closed buffer and counts what was in it. */
static void reuse_1_3_overwrite(void)
{
    REQUIRE(makeRing(3, true));
    putMany(0, 1, 3 * PER_BUFFER);
    CHECK_EQ(RingOverwritten(&ring), 0);
    putMany(0, 3 * PER_BUFFER + 1, 1);
    CHECK_EQ(RingOverwritten(&ring), PER_BUFFER);
    CHECK_EQ(readAll(0, PER_BUFFER + 1), 2 * PER_BUFFER + 1);
    putMany(0, 3 * PER_BUFFER + 2, 6 * PER_BUFFER);
    CHECK_EQ(RingOverwritten(&ring), 7 * PER_BUFFER);
    CHECK_EQ(RingEvents(&ring), 2 * PER_BUFFER + 1);
    freeRing();
}

/* A buffer with an open record is not overwritten, until its writer is known to be dead. */
static void reuse_1_4_stuck(void)
{
    REQUIRE(makeRing(2, true));
    RingRecord *open = reserve(0, 1);
    putMany(0, 2, PER_BUFFER - 1);
    putMany(0, 100, 2 * PER_BUFFER);
    CHECK_EQ(stateOf(0), RING_USED);
    CHECK_EQ(atomic_load(&ring.buffers[0].stuck), 1);
    CHECK_EQ(RingOverwritten(&ring), PER_BUFFER);
    CHECK_EQ(atomic_load(&open->head), SIZE | RING_OPEN);
    RingSweep(&ring); /* the writer lives */
    CHECK_EQ(atomic_load(&open->head), SIZE | RING_OPEN);
    putMany(0, 500, PER_BUFFER);
    open->writer = deadKey();
    RingSweep(&ring);
    CHECK_EQ(atomic_load(&open->head), SIZE | RING_COMMITTED);
    CHECK_EQ(atomic_load(&ring.buffers[0].stuck), 0);
    putMany(0, 900, 1);
    CHECK_EQ(atomic_load(&ring.buffers[0].sequence), 5);
    freeRing();
}

/* ---- The dead -------------------------------------------------------------------------------- */

/* Its claimer died while it zeroed the buffer: the rest is zeroed before the buffer is free. */
static void dead_1_1_inside_a_wipe(void)
{
    REQUIRE(makeRing(2, true));
    RingBuffer *b = &ring.buffers[0];
    putMany(0, 1, PER_BUFFER);
    RingCloseAll(&ring);
    memset(RingDataOf(&ring, 0), 0, BUFFER / 2);
    atomic_store(&b->reserve, (uint64_t)9 << 32 | RING_CLOSED);
    atomic_store(&b->overwrittenNext, PER_BUFFER);
    atomic_store(&b->state, claimedBy(deadKey(), 3, RING_RECYCLING));
    RingSweep(&ring);
    CHECK_EQ(stateOf(0), RING_FREE);
    CHECK(isZero(0));
    CHECK_EQ(RingOverwritten(&ring), PER_BUFFER);
    CHECK_EQ(atomic_load(&b->state), claimedBy(0, 3, RING_FREE)); /* no claimer; the claims go on */
    freeRing();
}

/* It died before it cleared the first byte: the events are still there, for the readers of that kind of session. */
static void dead_1_2_before_a_wipe(void)
{
    for (int overwrite = 0; overwrite < 2; overwrite++) {
        REQUIRE(makeRing(2, overwrite != 0));
        putMany(0, 1, PER_BUFFER);
        RingCloseAll(&ring);
        atomic_store(&ring.buffers[0].state, claimedBy(deadKey(), 3, RING_RECYCLING));
        RingSweep(&ring);
        CHECK_EQ(stateOf(0), overwrite ? RING_USED : RING_READ);
        CHECK_EQ(readAll(0, 1), PER_BUFFER);
        CHECK_EQ(RingOverwritten(&ring), 0);
        freeRing();
    }
}

/* It had prepared the buffer. Whether it was installed shows in its stream, or by events in it. */
static void dead_1_3_prepared(void)
{
    static const struct {
        uint32_t stream, current, end, want;
    } cases[] = {{1, 9, 0, RING_USED}, {1, 8, 0, RING_FREE}, {1, 0, 0, RING_FREE},
            {1, 8, SIZE, RING_USED}, {STREAMS, 9, 0, RING_FREE}, {0xFFFFFFFF, 9, 0, RING_FREE},
            {2, 9, 0, RING_FREE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        REQUIRE(makeRing(2, false));
        RingBuffer *b = &ring.buffers[1];
        atomic_store(&b->stream, cases[i].stream);
        atomic_store(&b->reserve, (uint64_t)9 << 32 | cases[i].end);
        if (cases[i].current != 0) {
            atomic_store(&ring.streams[1].current, (uint64_t)cases[i].current << 32 | 2);
        }
        atomic_store(&b->state, claimedBy(deadKey(), 1, RING_PREPARED));
        RingSweep(&ring);
        CHECK_EQ(stateOf(1), cases[i].want);
        freeRing();
    }
}

/* A process that lives, or is not known, keeps what it has claimed. */
static void dead_1_4_living(void)
{
    const uint32_t keys[] = {RegSelfKey(), REG_KEY_UNKNOWN};
    for (int i = 0; i < 2; i++) {
        REQUIRE(makeRing(2, true));
        uint64_t word = claimedBy(keys[i], 1, RING_RECYCLING);
        atomic_store(&ring.buffers[1].state, word);
        RingSweep(&ring);
        CHECK_EQ(atomic_load(&ring.buffers[1].state), word);
        checkCount(1, 1);
        freeRing();
    }
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    setUp(false);
    CHECK_RUN(mapping_1_1_sizes);
    CHECK_RUN(mapping_1_2_damaged);
    CHECK_RUN(write_1_1_buffers);
    CHECK_RUN(write_1_2_rest);
    CHECK_RUN(write_1_3_most);
    CHECK_RUN(read_1_1_peek);
    CHECK_RUN(read_1_2_damaged);
    CHECK_RUN(read_1_3_abandon);
    CHECK_RUN(read_1_4_body);
    CHECK_RUN(read_1_5_lost);
    CHECK_RUN(read_1_6_blocked);
    CHECK_RUN(reuse_1_1_release);
    CHECK_RUN(reuse_1_2_read);
    CHECK_RUN(reuse_1_3_overwrite);
    CHECK_RUN(reuse_1_4_stuck);
    CHECK_RUN(dead_1_1_inside_a_wipe);
    CHECK_RUN(dead_1_2_before_a_wipe);
    CHECK_RUN(dead_1_3_prepared);
    CHECK_RUN(dead_1_4_living);
    Etw_Unregister(provider);
    return CHECK_DONE();
}
