/*
 * tests/unix/test_rings.c --
 *
 *	The kernel's rings without a kernel: a perf ring whose records this test writes (only the kernel can write into a
 *	real one, so the source is included), and pages of tracefs in a file. Damaged ones, too.
 */
#define _GNU_SOURCE
#include "tests/support/check.h"

#ifdef __linux__
#include "base/alloc.h"
#include "base/bytes.h"
#include "unix/kernel/transport/perf_ring.c"
#include "unix/kernel/transport/tracefs_instance.h"
#include <stdlib.h>

enum { RING_KB = 64, RING = RING_KB * 1024 };

/* ---- A perf ring ------------------------------------------------------------------------------- */

static PerfClock instants; /* from == to: times are ticks */
static PerfRing *ring;
static uint64_t head;

static void newRing(bool samples)
{
    ring = EtwAlloc(sizeof *ring);
    ring->clock = &instants;
    ring->fd = -1;
    ring->control = EtwAlloc(sizeof *ring->control);
    ring->data = EtwAlloc(RING);
    ring->size = RING;
    ring->samples = samples;
    ring->stream.next = next;
    ring->stream.event.transport = 1;
    head = 0;
}

static void freeRing(void)
{
    EtwFree(ring->control);
    EtwFree((uint8_t *)(uintptr_t)ring->data);
    EtwFree(ring);
}

/* Appends bytes, across the ring's end, too. */
static void append(const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        ((uint8_t *)(uintptr_t)ring->data)[head++ % RING] = ((const uint8_t *)bytes)[i];
    }
}

static void publish(void)
{
    __atomic_store_n(&ring->control->data_head, head, __ATOMIC_RELEASE);
}

static void header(uint32_t type, uint16_t misc, size_t size)
{
    uint8_t h[8];
    EtwStore32(h, type);
    EtwStore16(h + 4, misc);
    EtwStore16(h + 6, (uint16_t)size);
    append(h, 8);
}

static void append64(uint64_t v)
{
    append(&v, 8);
}

/* A record of a tracepoint: time, stack, raw bytes; its size is a multiple of 8. */
static void appendRecord(
        uint64_t time, const uint64_t *stack, uint64_t count, const void *raw, uint32_t size)
{
    header(PERF_RECORD_SAMPLE, 0, 28 + 8 * count + size);
    append64(time);
    append64(count);
    append(stack, 8 * count);
    append(&size, 4);
    append(raw, size);
}

static bool advance(void)
{
    TraceStream *s = PerfRingStream(ring);
    return s->next(s);
}

static void perf_1_1_records(void)
{
    static const uint64_t stack[] = {PERF_CONTEXT_KERNEL, 0xffffffff81000000, PERF_CONTEXT_USER,
            0x401000, 0x402000, 0x10, 0x403000};
    newRing(false);
    const TraceEvent *e = &PerfRingStream(ring)->event;
    CHECK(!advance());
    appendRecord(1000, stack, 7, "abcdefghijkl", 12);
    CHECK(!advance()); /* not published yet */
    publish();
    CHECK(advance());
    CHECK_EQ(e->ticks, 1000);
    CHECK_EQ(e->cpu, 0);
    CHECK_EQ(e->transport, 1);
    CHECK_MEM(e->data, e->size, "abcdefghijkl", 12);
    /* Markers are no frames, and what cannot be code ends the stack. */
    CHECK_EQ(e->stackCount, 3);
    CHECK_EQ(EtwLoad64(e->stack), 0xffffffff81000000);
    CHECK_EQ(EtwLoad64(e->stack + 8), 0x401000);
    CHECK_EQ(EtwLoad64(e->stack + 16), 0x402000);
    /* It is given back to the kernel with the next call, not before. */
    CHECK_EQ(ring->control->data_tail, 0);
    CHECK(!advance());
    CHECK_EQ(ring->control->data_tail, head);
    /* Times do not decrease. */
    appendRecord(900, NULL, 0, "1234", 4);
    appendRecord(1001, NULL, 0, "5678", 4);
    publish();
    CHECK(advance());
    CHECK_EQ(e->ticks, 1000);
    CHECK_EQ(e->stackCount, 0);
    CHECK(e->stack == NULL);
    CHECK(advance());
    CHECK_EQ(e->ticks, 1001);
    CHECK(!advance());
    freeRing();
}

/* The limits of addresses that may be code, and of a stack. */
static void perf_1_2_stacks(void)
{
    static uint64_t stack[300];
    static const struct {
        uint64_t address;
        bool code;
    } cases[] = {{4095, false}, {4096, true}, {((uint64_t)1 << 56) - 1, true},
            {(uint64_t)1 << 56, false}, {((uint64_t)1 << 63) - 1, false}, {(uint64_t)1 << 63, true},
            {0, false}, {PERF_CONTEXT_MAX - 1, true}};
    newRing(false);
    const TraceEvent *e = &PerfRingStream(ring)->event;
    for (int i = 0; i < 8; i++) {
        appendRecord(1, &cases[i].address, 1, "1234", 4);
        publish();
        CHECK(advance());
        CHECK_MSG(e->stackCount == cases[i].code, "case %d", i);
    }
    for (int i = 0; i < 300; i++) {
        stack[i] = 0x400000 + (uint64_t)i;
    }
    appendRecord(1, stack, 300, "1234", 4);
    publish();
    CHECK(advance());
    CHECK_EQ(e->stackCount, 255);
    CHECK_EQ(EtwLoad64(e->stack + 8 * 254), 0x400000 + 254);
    freeRing();
}

/*
 * Code without frame pointers: the kernel follows a register that points at itself, and repeats one
 * address until the stack is full. The first repeated address is kept, a recursion as well.
 */
static void perf_1_2_repeated_frames(void)
{
    static uint64_t stack[130];
    newRing(false);
    const TraceEvent *e = &PerfRingStream(ring)->event;
    stack[0] = PERF_CONTEXT_USER;
    stack[1] = 0x401000;
    stack[2] = 0x402000;
    for (int i = 3; i < 130; i++) {
        stack[i] = 0x403000;
    }
    appendRecord(1, stack, 130, "1234", 4);
    publish();
    CHECK(advance());
    CHECK_EQ(e->stackCount, 3);
    CHECK_EQ(EtwLoad64(e->stack + 16), 0x403000);
    /* A function that calls itself, and returns in the end. */
    stack[127] = 0x404000;
    stack[128] = 0x405000;
    appendRecord(1, stack, 129, "1234", 4);
    publish();
    CHECK(advance());
    CHECK_EQ(e->stackCount, 128);
    freeRing();
}

/* A record that continues at the ring's begin is whole. */
static void perf_1_3_wrapped(void)
{
    uint8_t raw[1004];
    newRing(false);
    const TraceEvent *e = &PerfRingStream(ring)->event;
    for (int round = 0; round < 200; round++) {
        memset(raw, round, sizeof raw);
        appendRecord((uint64_t)round, NULL, 0, raw, sizeof raw);
        publish();
        REQUIRE(advance());
        CHECK_MEM(e->data, e->size, raw, sizeof raw);
        CHECK_EQ(e->ticks, round);
    }
    freeRing();
}

static void perf_1_4_lost(void)
{
    newRing(false);
    TraceStream *s = PerfRingStream(ring);
    CHECK_EQ(PerfRingLost(ring), 0);
    header(PERF_RECORD_LOST, 0, 24);
    append64(1);
    append64(5);
    appendRecord(1, NULL, 0, "1234", 4);
    header(PERF_RECORD_LOST, 0, 16); /* malformed */
    append64(7);
    header(PERF_RECORD_THROTTLE, 0, 24); /* another kind of record */
    append64(1);
    append64(9);
    header(PERF_RECORD_LOST, 0, 24);
    append64(1);
    append64(2);
    publish();
    CHECK(advance());
    CHECK_EQ(PerfRingLost(ring), 5);
    CHECK(s->missed);
    s->missed = false;
    CHECK(!advance());
    CHECK_EQ(PerfRingLost(ring), 7);
    CHECK(s->missed);
    freeRing();
}

/* Records that do not fit: skipped, alone if their size is possible, else with all that follow. */
static void perf_1_5_damaged(void)
{
    newRing(false);
    const TraceEvent *e = &PerfRingStream(ring)->event;
    header(PERF_RECORD_SAMPLE, 0, 24); /* too short */
    append64(5);
    append64(0);
    header(PERF_RECORD_SAMPLE, 0, 32); /* a stack behind its end */
    append64(5);
    append64(1);
    append64(0);
    header(PERF_RECORD_SAMPLE, 0, 32); /* raw bytes behind its end */
    append64(5);
    append64(0);
    append64(5);
    header(PERF_RECORD_SAMPLE, 0, 32); /* a stack that is as long as can be counted */
    append64(5);
    append64(UINT64_MAX);
    append64(4);
    appendRecord(6, NULL, 0, "good", 4);
    publish();
    CHECK(advance());
    CHECK_MEM(e->data, e->size, "good", 4);
    CHECK_EQ(e->ticks, 6);
    header(PERF_RECORD_SAMPLE, 0, 0);
    appendRecord(7, NULL, 0, "lost", 4);
    publish();
    CHECK(!advance());
    appendRecord(8, NULL, 0, "next", 4);
    publish();
    CHECK(advance());
    CHECK_MEM(e->data, e->size, "next", 4);
    header(PERF_RECORD_SAMPLE, 0, 4096); /* longer than what is published */
    append64(1);
    publish();
    CHECK(!advance());
    appendRecord(9, NULL, 0, "more", 4);
    publish();
    CHECK(advance());
    CHECK_EQ(e->ticks, 9);
    freeRing();
}

/* The ring of a CPU that is opened has the size, CPU and transport that were asked for. */
static void perf_1_7_opened(void)
{
    PerfRing *r = PerfRingNew(0, 64, 7, PERF_SAMPLES, &instants);
    if (r == NULL) {
        SKIP("no perf ring can be opened");
    }
    CHECK_EQ(r->size, 65536);
    CHECK(r->samples);
    CHECK(PerfRingFd(r) >= 0);
    CHECK_EQ(PerfRingStream(r)->event.cpu, 0);
    CHECK_EQ(PerfRingStream(r)->event.transport, 7);
    CHECK(!PerfRingStream(r)->next(PerfRingStream(r)));
    PerfRingFree(r);
    r = PerfRingNew(0, 64, 7, PERF_LAYOUT, &instants);
    CHECK(r != NULL && !r->samples);
    PerfRingFree(r);
    CHECK(PerfRingNew(0, 12, 7, PERF_LAYOUT, &instants) == NULL); /* not a power of two */
    CHECK_EQ(errno, EINVAL);
    CHECK(PerfRingNew(99999, 64, 7, PERF_LAYOUT, &instants) == NULL);
}

static void appendSample(uint16_t misc, uint64_t ip, uint32_t pid, uint32_t tid, uint64_t time,
        const uint64_t *stack, uint64_t count)
{
    header(PERF_RECORD_SAMPLE, misc, 40 + 8 * count);
    append64(ip);
    append(&pid, 4);
    append(&tid, 4);
    append64(time);
    append64(count);
    append(stack, 8 * count);
}

static void perf_1_6_samples(void)
{
    static const uint64_t stack[] = {0x401000, 0x402000};
    newRing(true);
    const TraceEvent *e = &PerfRingStream(ring)->event;
    appendSample(PERF_RECORD_MISC_USER | 0x4000, 0x401000, 10, 11, 100, stack, 2);
    appendSample(PERF_RECORD_MISC_KERNEL, 0xffffffff81000000, 20, 21, 200, NULL, 0);
    header(PERF_RECORD_SAMPLE, 0, 32);
    append64(0);
    append64(0);
    append64(0);
    header(PERF_RECORD_SAMPLE, 0, 40);
    append64(0);
    append64(0);
    append64(300);
    append64(1);
    appendSample(PERF_RECORD_MISC_USER, 0x403000, 30, 31, 400, NULL, 0);
    publish();
    KernelSample who;
    CHECK(advance());
    CHECK_EQ(e->size, sizeof who);
    memcpy(&who, e->data, sizeof who);
    CHECK_EQ(who.type, SAMPLE_TYPE_ID);
    CHECK_EQ(who.address, 0x401000);
    CHECK_EQ(who.pid, 10);
    CHECK_EQ(who.tid, 11);
    CHECK_EQ(who.inKernel, 0);
    CHECK_EQ(e->ticks, 100);
    CHECK_EQ(e->stackCount, 2);
    CHECK(advance());
    memcpy(&who, e->data, sizeof who);
    CHECK_EQ(who.pid, 20);
    CHECK_EQ(who.inKernel, 1);
    CHECK(advance());
    memcpy(&who, e->data, sizeof who);
    CHECK_EQ(who.pid, 30);
    CHECK_EQ(e->ticks, 400);
    CHECK(!advance());
    freeRing();
}

/* Times between two instants are interpolated, those outside continue the line. */
static void perf_2_1_clock(void)
{
    PerfClock c = {0};
    c.from.steady = 1000;
    c.from.ticks = 50000;
    c.to.steady = 3000;
    c.to.ticks = 56000;
    bool raw = osClock == ETW_CLOCK_MONO_RAW;
    CHECK_EQ(PerfClockTicks(&c, 1000), raw ? 1000 : 50000);
    CHECK_EQ(PerfClockTicks(&c, 2000), raw ? 2000 : 53000);
    CHECK_EQ(PerfClockTicks(&c, 3000), raw ? 3000 : 56000);
    CHECK_EQ(PerfClockTicks(&c, 4000), raw ? 4000 : 59000);
    CHECK_EQ(PerfClockTicks(&c, 500), raw ? 500 : 48500);
    c.to = c.from;
    CHECK_EQ(PerfClockTicks(&c, 1234), 1234);
    /* The slope is of at least a millisecond. */
    PerfClockInit(&c);
    CHECK_EQ(c.from.steady, c.to.steady);
    OsInstant first = c.from;
    c.to.steady = first.steady + 999999;
    PerfClockAdvance(&c);
    CHECK_EQ(c.from.steady, first.steady);
    c.to.steady = first.steady + 1000000;
    PerfClockAdvance(&c);
    CHECK_EQ(c.from.steady, first.steady + 1000000);
    CHECK(c.to.steady >= first.steady);
}

/* ---- Pages of tracefs -------------------------------------------------------------------------- */

enum { PAGE = 4096 };
static uint8_t page[PAGE];
static size_t used;

static void newPage(uint64_t time)
{
    memset(page, 0, sizeof page);
    EtwStore64(page, time);
    used = 16;
}

/* An event of 4-byte aligned size, at most 112, `delta` after the one before. */
static void pageEvent(uint32_t delta, const char *text)
{
    size_t size = strlen(text);
    EtwStore32(page + used, (uint32_t)(size / 4) | delta << 5);
    memcpy(page + used + 4, text, size);
    used += 4 + size;
}

static void writePage(FILE *f, uint64_t more, size_t size)
{
    EtwStore64(page + 8, (used - 16) | more);
    fwrite(page, 1, size, f);
}

static void pages_1_1(void)
{
    FILE *f = tmpfile();
    REQUIRE(f != NULL);
    newPage(1000);
    pageEvent(5, "12345678");
    pageEvent(7, "abcd");
    writePage(f, 0, PAGE);
    newPage(5000); /* no event */
    writePage(f, 0, PAGE);
    newPage(6000); /* the kernel has lost events before it */
    pageEvent(1, "efgh");
    writePage(f, 1u << 31, PAGE);
    newPage(7000);
    pageEvent(0, "ijkl");
    writePage(f, 0, 32); /* a page that is not read as a whole */
    fflush(f);
    lseek(fileno(f), 0, SEEK_SET);
    TracePages *pages = TracePagesNew(fileno(f), 3, 2, PAGE);
    TraceStream *s = TracePagesStream(pages);
    static const struct {
        const char *text;
        uint64_t ticks;
        bool missed;
    } want[] = {{"12345678", 1005, false}, {"abcd", 1012, false}, {"efgh", 6001, true},
            {"ijkl", 7000, false}};
    for (int i = 0; i < 4; i++) {
        s->missed = false;
        REQUIRE(s->next(s));
        s->queued = true;
        CHECK_MEM(s->event.data, s->event.size, want[i].text, strlen(want[i].text));
        CHECK_EQ(s->event.ticks, want[i].ticks);
        CHECK_EQ(s->event.cpu, 3);
        CHECK_EQ(s->event.transport, 2);
        CHECK_EQ(s->missed, want[i].missed);
    }
    CHECK(!s->next(s));
    s->queued = false;
    CHECK(!s->next(s));
    TracePagesFree(pages);
    fclose(f);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    OsInit();
    CHECK_RUN(perf_1_1_records);
    CHECK_RUN(perf_1_2_stacks);
    CHECK_RUN(perf_1_2_repeated_frames);
    CHECK_RUN(perf_1_3_wrapped);
    CHECK_RUN(perf_1_4_lost);
    CHECK_RUN(perf_1_5_damaged);
    CHECK_RUN(perf_1_6_samples);
    CHECK_RUN(perf_1_7_opened);
    CHECK_RUN(perf_2_1_clock);
    CHECK_RUN(pages_1_1);
    return CHECK_DONE();
}

#else

static void rings(void)
{
    SKIP("the kernel room is for Linux");
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(rings);
    return CHECK_DONE();
}

#endif
