/*
 * tests/etl/test_etl_writer.c --
 *
 *	The writer of .etl files: what it writes is read back; the modes and their limits;
 *	what a killed process or a full disk leave. The bytes of a small file are also
 *	checked against the facts.
 */
#include "tests/support/check.h"
#include "base/os.h"
#include "etl/format.h"
#include "etl/write/writer.h"
#include "tests/support/etlfile.h"
#ifndef _WIN32
#include <signal.h>
#include <sys/resource.h>
#endif

#define START_WALL (IMAGE_START + 123456789) /* not a multiple of 100 ns */
#define START_STEADY 5000000000LL

static EtlWriterConfig Config(const char *path, uint32_t mode)
{
    EtlWriterConfig c = {.path = path,
            .loggerName = "Sess\xc3\xa4o",
            .mode = mode,
            .bufferSize = 4096,
            .loggerId = 5,
            .cpus = 4,
            .startWall = START_WALL,
            .startSteady = START_STEADY,
            .bootTime = IMAGE_START - 1000000000,
            .zoneBias = -120,
            .cpuMHz = 2500,
            .pid = 77,
            .tid = 78};
    return c;
}

/* An event of 0x50 + 8 bytes whose id and payload are n, n + 1 ns after the start. */
static EtwStatus Put(EtlWriter *w, int cpu, uint64_t n)
{
    EtwEvent e = {.ticks = START_STEADY + 1 + (int64_t)n,
            .pid = 1,
            .tid = 2,
            .cpu = (uint16_t)cpu,
            .pointerSize = 8,
            .payload = (const uint8_t *)&n,
            .payloadSize = 8};
    e.desc.id = (uint16_t)n;
    return EtlWriterAdd(w, &e);
}

enum { RECORD = 0x58, PER_BUFFER = (4096 - 0x48) / RECORD }; /* 45 */

static uint64_t Number(const EtwEvent *e)
{
    return e->payloadSize == 8 ? EtwLoad64(e->payload) : UINT64_MAX;
}

/* A file read into memory and then into events, so that their pointers stay valid. Image owned by
 * the caller. */
static Seen Read(const char *path, Image *image)
{
    OsMap map;
    Seen seen = {0};
    memset(image, 0, sizeof *image);
    seen.status = OsMapFile(&map, path, &seen.error);
    if (seen.status == ETW_OK) {
        ImageGrow(image, map.size, 0);
        memcpy(image->data, map.base, map.size);
        OsUnmap(&map);
        seen = SeenMemory(image->data, image->size);
    }
    return seen;
}

static void Done(Seen *seen, Image *image, const char *path)
{
    SeenFree(seen);
    ImageFree(image);
    if (path != NULL) {
        OsFileRemove(path);
    }
}

static EtlWriterState State(const EtlWriter *w)
{
    EtlWriterState state;
    EtlWriterGetState(w, &state);
    return state;
}

/* All of `count` events from `first` on are there, in order, each with its exact time. */
static void CheckNumbers(const Seen *seen, uint64_t first, uint64_t count)
{
    CHECK_EQ(seen->count, count + 1);
    for (size_t i = 1; i < seen->count; i++) {
        uint64_t n = first + i - 1;
        if (!CHECK_EQ(Number(&seen->events[i]), n) ||
                !CHECK_EQ(seen->events[i].time, START_WALL + 1 + (int64_t)n)) {
            break;
        }
    }
}

/* ---- Content --------------------------------------------------------------------------------- */

static void writer_info(void)
{
    const char *path = TestPath("info.etl");
    char full[700];
    EtlWriterConfig c = Config(path, ETL_MODE_SEQUENTIAL | ETL_MODE_MS_FLUSH);
    EtlWriter *w;
    Image image;
    REQUIRE(EtlWriterOpen(&w, &c, NULL) == ETW_OK);
    CHECK_EQ(Put(w, 3, 10), ETW_OK);
    CHECK_EQ(EtlWriterClose(w, 9, START_WALL + 1000, NULL), ETW_OK);
    Seen seen = Read(path, &image);
    REQUIRE(seen.count == 2);
    const EtlInfo *info = &seen.info;
    CHECK_STR(info->loggerName, "Sess\xc3\xa4o");
    OsFullPath(path, full, sizeof full);
    CHECK_STR(info->logFile, full);
    CHECK_EQ(info->major, 10);
    CHECK_EQ(info->build, 19041);
    CHECK_EQ(info->cpus, 4);
    CHECK_EQ(info->pointerSize, 8);
    CHECK_EQ(info->bufferSize, 4096);
    CHECK_EQ(info->mode, ETL_MODE_SEQUENTIAL | ETL_MODE_MS_FLUSH);
    CHECK_EQ(info->clock, 1);
    CHECK_EQ(info->frequency, 1000000000);
    CHECK_EQ(info->startTime, START_WALL - START_WALL % 100);
    CHECK_EQ(info->endTime, START_WALL - START_WALL % 100 + 1100); /* not before the last event */
    CHECK_EQ(info->bootTime, IMAGE_START - 1000000000);
    CHECK_EQ(info->zoneBias, -120);
    CHECK_EQ(info->closed, true);
    CHECK_EQ(info->buffers, 2);
    CHECK_EQ(info->eventsLost, 9);
    CHECK_EQ(seen.events[0].pid, 77);
    CHECK_EQ(seen.events[0].tid, 78);
    CHECK_EQ(seen.events[0].logger, 5);
    CHECK_EQ(seen.events[1].cpu, 3);
    CHECK_EQ(seen.events[1].time, START_WALL + 11);
    CHECK_EQ(seen.warnings, 0);
    Done(&seen, &image, path);
}

/* Field by field what other tools need (facts, section 11). */
static void writer_bytes(void)
{
    const char *path = TestPath("bytes.etl");
    char full[700];
    EtlWriterConfig c = Config(path, ETL_MODE_SEQUENTIAL);
    EtlWriter *w;
    Image image;
    REQUIRE(EtlWriterOpen(&w, &c, NULL) == ETW_OK);
    Put(w, 2, 1);
    EtlWriterClose(w, 0, 0, NULL);
    Seen seen = Read(path, &image);
    REQUIRE(image.size == 8192);
    const uint8_t *h = image.data, *b = image.data + 4096, *log = h + 0x68;
    uint32_t used = EtwLoad32(h + 4), size = EtwLoad16(h + 0x4c);
    CHECK_EQ(EtwLoad32(h), 4096);
    CHECK_EQ(used, 0x48 + ((size + 7) & ~7u));
    CHECK_EQ(EtwLoad32(h + 0x30), used);
    CHECK_EQ(EtwLoad64(h + 0x18), 0);
    CHECK_EQ(EtwLoad16(h + 0x34), 0x21);
    CHECK_EQ(EtwLoad16(h + 0x36), 4);
    CHECK_EQ(EtwLoad32(h + 0x2c), 3);
    CHECK_EQ(EtwLoad32(h + 0x48), 0xC0020002);
    OsFullPath(path, full, sizeof full);
    CHECK_EQ(size, 0x20 + 0x118 + 2 * 7 + 2 * (strlen(full) + 1)); /* strings end the record */
    CHECK_EQ(EtwLoad32(log + 4), 0x0501000A);
    CHECK_EQ(EtwLoad32(log + 0x24), 2);
    CHECK_EQ(EtwLoad32(log + 0x28), 1);
    CHECK_EQ(EtwLoad32(log + 0x2c), 8);
    CHECK_EQ(EtwLoad32(log + 0x34), 2500);
    CHECK_EQ(EtwLoad32(b), 4096);
    CHECK_EQ(EtwLoad32(b + 4), 0x48 + RECORD);
    CHECK_EQ(EtwLoad32(b + 0x30), 0x48 + RECORD);
    CHECK_EQ(EtwLoad64(b + 0x10), EtwLoad64(b + 0x48 + 0x10)); /* flush time: the last event's */
    CHECK_EQ(EtwLoad64(b + 0x18), 1);
    CHECK_EQ(EtwLoad16(b + 0x28), 2);
    CHECK_EQ(EtwLoad16(b + 0x2a), 5);
    CHECK_EQ(EtwLoad16(b + 0x34), 0x21);
    CHECK_EQ(EtwLoad16(b + 0x36), 0);
    for (size_t i = used; i < 4096; i++) {
        REQUIRE(h[i] == 0xFF);
    }
    for (size_t i = 0x48 + RECORD; i < 4096; i++) {
        REQUIRE(b[i] == 0xFF);
    }
    Done(&seen, &image, path);
}

static void writer_event(void)
{
    static const uint8_t meta[] = {8, 0, 0, 'N', 'a', 'm', 'e', 0}, traits[] = {5, 0, 'P', 'q', 0},
                         related[16] = {1, 2, 3}, stack[16] = {9, 8, 7};
    const char *path = TestPath("event.etl");
    EtlWriterConfig c = Config(path, ETL_MODE_SEQUENTIAL);
    EtlWriter *w;
    Image image;
    EtwEvent e = {.ticks = START_STEADY + 42, .pid = 3, .tid = 4, .cpu = 1, .pointerSize = 8};
    e.desc = (EtwDescriptor){1, 2, 11, 4, 5, 6, 0xF00000000000000Fu};
    EtwGuidFromName("Etw-Test", &e.provider);
    EtwGuidFromName("Activity", &e.activity);
    e.kernelTime = 11;
    e.userTime = 12;
    e.related = related;
    e.stack = stack;
    e.stackCount = 2;
    e.traits = traits;
    e.traitsSize = sizeof traits;
    e.meta = meta;
    e.metaSize = sizeof meta;
    e.payload = (const uint8_t *)"pay";
    e.payloadSize = 3;
    REQUIRE(EtlWriterOpen(&w, &c, NULL) == ETW_OK);
    CHECK_EQ(EtlWriterAdd(w, &e), ETW_OK);
    CHECK_EQ(EtlWriterClose(w, 0, 0, NULL), ETW_OK);
    Seen seen = Read(path, &image);
    REQUIRE(seen.count == 2);
    const EtwEvent *g = &seen.events[1];
    CHECK_EQ(g->kind, ETL_EVENT64);
    CHECK_EQ(g->time, START_WALL + 42);
    CHECK_EQ(g->pid, 3);
    CHECK_EQ(g->tid, 4);
    CHECK_EQ(g->cpu, 1);
    CHECK_EQ(g->logger, 5);
    CHECK_EQ(g->kernelTime, 11);
    CHECK_EQ(g->userTime, 12);
    CHECK_MEM(&g->desc, sizeof g->desc, &e.desc, sizeof e.desc);
    CHECK_MEM(&g->provider, 16, &e.provider, 16);
    CHECK_MEM(&g->activity, 16, &e.activity, 16);
    CHECK_MEM(g->related, 16, related, 16);
    CHECK_MEM(g->stack, g->stackCount * 8, stack, 16);
    CHECK_MEM(g->traits, g->traitsSize, traits, sizeof traits);
    CHECK_MEM(g->meta, g->metaSize, meta, sizeof meta);
    CHECK_MEM(g->payload, g->payloadSize, "pay", 3);
    Done(&seen, &image, path);
}

/* CPUs beyond those announced, too; the header counts them. */
static void writer_many_cpus(void)
{
    const char *path = TestPath("cpus.etl");
    EtlWriterConfig c = Config(path, ETL_MODE_SEQUENTIAL);
    EtlWriter *w;
    Image image;
    REQUIRE(EtlWriterOpen(&w, &c, NULL) == ETW_OK);
    for (uint64_t n = 0; n < 20000; n++) {
        CHECK_EQ(Put(w, (int)(n * 7 / 5 % 9), n), ETW_OK);
        if (n % 4999 == 0) {
            EtlWriterFlush(w, 0);
        }
    }
    CHECK_EQ(State(w).events, 20000);
    CHECK_EQ(EtlWriterClose(w, 0, 0, NULL), ETW_OK);
    Seen seen = Read(path, &image);
    CheckNumbers(&seen, 0, 20000);
    CHECK_EQ(seen.info.cpus, 9);
    CHECK_EQ(seen.warnings, 0);
    Done(&seen, &image, path);
}

/* A time below the CPU's last is raised to it: buffers of one CPU never overlap. */
static void writer_clamp(void)
{
    const char *path = TestPath("clamp.etl");
    EtlWriterConfig c = Config(path, ETL_MODE_SEQUENTIAL);
    EtlWriter *w;
    Image image;
    REQUIRE(EtlWriterOpen(&w, &c, NULL) == ETW_OK);
    Put(w, 0, 100);
    Put(w, 0, 50);
    Put(w, 1, 60);
    EtlWriterClose(w, 0, 0, NULL);
    Seen seen = Read(path, &image);
    REQUIRE(seen.count == 4);
    CHECK_EQ(Number(&seen.events[1]), 60);
    CHECK_EQ(Number(&seen.events[2]), 100);
    CHECK_EQ(Number(&seen.events[3]), 50);
    CHECK_EQ(seen.events[3].time, START_WALL + 101);
    Done(&seen, &image, path);
}

static void writer_too_big(void)
{
    static uint8_t big[70000];
    const char *path = TestPath("big.etl");
    EtlWriterConfig c = Config(path, ETL_MODE_SEQUENTIAL);
    EtlWriter *w;
    Image image;
    EtwEvent e = {.ticks = START_STEADY + 5, .pointerSize = 8, .payload = big};
    REQUIRE(EtlWriterOpen(&w, &c, NULL) == ETW_OK);
    e.payloadSize = 70000;
    CHECK_EQ(EtlWriterAdd(w, &e), ETW_E_LIMIT);
    e.payloadSize = 4096 - 0x48 - 0x50 + 1; /* a byte more than fits into a buffer */
    CHECK_EQ(EtlWriterAdd(w, &e), ETW_E_LIMIT);
    e.payloadSize--;
    CHECK_EQ(EtlWriterAdd(w, &e), ETW_OK);
    CHECK_EQ(EtlWriterAdd(w, &e), ETW_OK);
    CHECK_EQ(State(w).tooBig, 2);
    CHECK_EQ(State(w).events, 2);
    CHECK_EQ(EtlWriterClose(w, 0, 0, NULL), ETW_OK);
    Seen seen = Read(path, &image);
    CHECK_EQ(seen.count, 3);
    CHECK_EQ(seen.info.eventsLost, 2);
    Done(&seen, &image, path);
}

static void writer_config(void)
{
    const char *path = TestPath("config.etl");
    EtlWriter *w;
    EtwError error;
    static const struct {
        uint32_t mode, bufferSize, maxMB;
        int cpus;
        const char *detail;
    } cases[] = {{1, 1024, 0, 1, "BUFFERSIZE"}, {1, 5000, 0, 1, "BUFFERSIZE"},
            {1, 2 << 20, 0, 1, "BUFFERSIZE"}, {1, 4096, 0, 0, "CPUS"}, {2, 4096, 0, 1, "MAXSIZE"},
            {2, 512 * 1024, 1, 1, "MAXSIZE"}, {1, 1 << 20, 1, 1, "MAXSIZE"},
            {6, 4096, 1, 1, "MODE"}, {8, 4096, 1, 1, "PATH"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        EtlWriterConfig c = Config(path, cases[i].mode);
        c.bufferSize = cases[i].bufferSize;
        c.maxMB = cases[i].maxMB;
        c.cpus = cases[i].cpus;
        CHECK_EQ(EtlWriterOpen(&w, &c, &error), ETW_E_ARG);
        CHECK_STR(error.detail, cases[i].detail);
        CHECK(!OsFileExists(path));
    }
    EtlWriterConfig c = Config("/no/such/dir/x.etl", 1);
    CHECK_EQ(EtlWriterOpen(&w, &c, &error), ETW_E_IO);
}

/* ---- Flushing -------------------------------------------------------------------------------- */

/* A partial buffer keeps its slot: the file grows by buffers, not by flushes, and is right after
 * each. */
static void writer_flush(void)
{
    const char *path = TestPath("flush.etl");
    EtlWriterConfig c = Config(path, ETL_MODE_SEQUENTIAL);
    EtlWriter *w;
    Image image;
    uint64_t n = 0;
    REQUIRE(EtlWriterOpen(&w, &c, NULL) == ETW_OK);
    for (int round = 0; round < 60; round++) {
        Put(w, 0, n);
        Put(w, 1, n + 1);
        n += 2;
        CHECK_EQ(EtlWriterFlush(w, (uint64_t)round), ETW_OK);
        Seen seen = Read(path, &image); /* as a killed process would have left it */
        CheckNumbers(&seen, 0, n);
        size_t buffers = 1 + 2 * (size_t)(round / PER_BUFFER + 1);
        CHECK_EQ(image.size, buffers * 4096);
        CHECK_EQ(State(w).bytes, image.size);
        CHECK_EQ(State(w).buffers, buffers);
        CHECK_EQ(EtwLoad32(image.data + 0x68 + 0x24), buffers);
        CHECK_EQ(seen.info.closed, false);
        CHECK_EQ(seen.info.eventsLost, round);
        CHECK_EQ(seen.warnings, 1); /* not closed */
        CHECK_EQ(seen.where, image.size);
        Done(&seen, &image, NULL);
    }
    EtlWriterClose(w, 0, 0, NULL);
    Seen seen = Read(path, &image);
    CheckNumbers(&seen, 0, n);
    CHECK_EQ(seen.warnings, 0);
    Done(&seen, &image, path);
}

/* Without any flush: all full buffers are there. */
static void writer_killed(void)
{
    const char *path = TestPath("killed.etl");
    EtlWriterConfig c = Config(path, ETL_MODE_SEQUENTIAL);
    EtlWriter *w;
    Image image;
    REQUIRE(EtlWriterOpen(&w, &c, NULL) == ETW_OK);
    for (uint64_t n = 0; n < 10 * PER_BUFFER + 7; n++) {
        Put(w, 0, n);
    }
    Seen seen = Read(path, &image);
    CheckNumbers(&seen, 0, 10 * PER_BUFFER);
    CHECK_EQ(seen.info.closed, false);
    Done(&seen, &image, NULL);
    EtlWriterClose(w, 0, 0, NULL);
    OsFileRemove(path);
}

/* Killed inside a write of the file: cut at every byte of its last buffers, nothing whole is
 * missing. */
static void writer_cut(void)
{
    const char *path = TestPath("cut.etl");
    EtlWriterConfig c = Config(path, ETL_MODE_SEQUENTIAL);
    EtlWriter *w;
    Image image;
    REQUIRE(EtlWriterOpen(&w, &c, NULL) == ETW_OK);
    for (uint64_t n = 0; n < PER_BUFFER + 20; n++) {
        Put(w, 0, n);
    }
    EtlWriterClose(w, 0, 0, NULL);
    Seen whole = Read(path, &image);
    CheckNumbers(&whole, 0, PER_BUFFER + 20);
    SeenFree(&whole);
    for (size_t size = 4096; size < image.size; size++) {
        Seen seen = SeenMemory(image.data, size);
        size_t inBuffer = size % 4096, want = size / 4096 == 1 ? 0 : PER_BUFFER;
        want += inBuffer > 0x48 ? (inBuffer - 0x48) / RECORD : 0;
        want = want < PER_BUFFER + 20 ? want : PER_BUFFER + 20;
        CheckNumbers(&seen, 0, want);
        SeenFree(&seen);
    }
    ImageFree(&image);
    OsFileRemove(path);
}

/* ---- Modes ----------------------------------------------------------------------------------- */

static void writer_sequential_limit(void)
{
    const char *path = TestPath("limit.etl");
    EtlWriterConfig c = Config(path, ETL_MODE_SEQUENTIAL);
    EtlWriter *w;
    Image image;
    uint64_t fit = (256 - 1) * PER_BUFFER, n = 0;
    c.maxMB = 1;
    REQUIRE(EtlWriterOpen(&w, &c, NULL) == ETW_OK);
    while (n < fit) {
        REQUIRE(Put(w, 0, n++) == ETW_OK);
    }
    CHECK_EQ(Put(w, 0, n), ETW_E_LIMIT);
    CHECK_EQ(Put(w, 1, n), ETW_E_LIMIT); /* another CPU has no place, either */
    CHECK_EQ(State(w).lostFull, 2);
    CHECK_EQ(State(w).events, fit);
    CHECK_EQ(EtlWriterFlush(w, 0), ETW_OK);
    CHECK_EQ(State(w).bytes, 1 << 20);
    EtlWriterSetLimit(w, 2);
    CHECK_EQ(Put(w, 0, n), ETW_OK);
    CHECK_EQ(EtlWriterClose(w, 100, 0, NULL), ETW_OK);
    Seen seen = Read(path, &image);
    CheckNumbers(&seen, 0, fit + 1);
    CHECK_EQ(seen.info.eventsLost, 102);
    CHECK_EQ(image.size, (1 << 20) + 4096);
    Done(&seen, &image, path);
}

/* The youngest events stay, all of them; every other one is counted. */
static void writer_circular(void)
{
    const char *path = TestPath("circular.etl");
    EtlWriterConfig c = Config(path, ETL_MODE_CIRCULAR);
    EtlWriter *w;
    Image image;
    uint64_t total = 5 * 256 * PER_BUFFER + 13, n;
    c.maxMB = 1;
    REQUIRE(EtlWriterOpen(&w, &c, NULL) == ETW_OK);
    for (n = 0; n < total; n++) {
        REQUIRE(Put(w, (int)(n / 1000 % 3), n) == ETW_OK);
        if (n % 10007 == 0) {
            CHECK_EQ(EtlWriterFlush(w, 0), ETW_OK);
            CHECK(State(w).bytes <= 1 << 20);
        }
    }
    EtlWriterFlush(w, 0);
    EtlWriterState state = State(w);
    CHECK_EQ(state.events, total);
    CHECK_EQ(state.lostFull + state.lostIo, 0);
    EtlWriterClose(w, 0, 0, NULL);
    Seen seen = Read(path, &image);
    CHECK_EQ(image.size, 1 << 20);
    CHECK_EQ(seen.warnings, 0);
    CHECK_EQ(seen.count - 1 + state.overwritten, total);
    CHECK(seen.count > 250 * PER_BUFFER);
    CHECK_EQ(Number(&seen.events[seen.count - 1]), total - 1);
    size_t gaps = 0;
    for (size_t i = 2; i < seen.count; i++) {
        gaps += Number(&seen.events[i]) != Number(&seen.events[i - 1]) + 1;
        REQUIRE(Number(&seen.events[i]) > Number(&seen.events[i - 1]));
    }
    CHECK_MSG(gaps <= 4, "%d gaps: only the oldest buffers of each CPU may be torn out", (int)gaps);
    CHECK(EtwLoad32(image.data + 0x68 + 0x24) > 1000); /* buffers written: not below any sequence */
    Done(&seen, &image, path);
}

/* A CPU that is idle: its open buffer goes when it is older than all others, and not before. */
static void writer_circular_idle(void)
{
    const char *path = TestPath("idle.etl");
    EtlWriterConfig c = Config(path, ETL_MODE_CIRCULAR);
    EtlWriter *w;
    Image image;
    uint64_t n = 0;
    c.maxMB = 1;
    REQUIRE(EtlWriterOpen(&w, &c, NULL) == ETW_OK);
    Put(w, 3, n++); /* never again */
    EtlWriterFlush(w, 0);
    for (int round = 0; round < 2000; round++) {
        for (int i = 0; i < PER_BUFFER; i++) {
            Put(w, 0, n++);
        }
        Put(w, 1, n++); /* rarely: the ring comes round while its buffer is open */
        EtlWriterFlush(w, 0);
    }
    EtlWriterState state = State(w);
    EtlWriterClose(w, 0, 0, NULL);
    Seen seen = Read(path, &image);
    CHECK_EQ(seen.count - 1 + state.overwritten, n);
    bool zero = false;
    uint64_t rare = 0;
    for (size_t i = 1; i < seen.count; i++) {
        zero |= Number(&seen.events[i]) == 0;
        rare += seen.events[i].cpu == 1;
    }
    CHECK_MSG(!zero, "the idle CPU's first event outlived the ring");
    CHECK_MSG(rare > 200, "%d events of the slow CPU are left", (int)rare);
    Done(&seen, &image, path);
}

/* The slot of an idle CPU's buffer is taken by a newer buffer, which is not the next to be overwritten. */
static void writer_circular_taken(void)
{
    const char *path = TestPath("taken.etl");
    EtlWriterConfig c = Config(path, ETL_MODE_CIRCULAR);
    EtlWriter *w;
    Image image;
    uint64_t total = 300 * PER_BUFFER + 1;
    c.maxMB = 1;
    REQUIRE(EtlWriterOpen(&w, &c, NULL) == ETW_OK);
    Put(w, 3, 0);
    EtlWriterFlush(w, 0);
    for (uint64_t n = 1; n < total; n++) {
        Put(w, 0, n);
    }
    EtlWriterClose(w, 0, 0, NULL);
    Seen seen = Read(path, &image);
    CheckNumbers(&seen, total - 255 * PER_BUFFER, 255 * PER_BUFFER);
    Done(&seen, &image, path);
}

/* Killed while an old buffer is overwritten: simulated by each state that the three writes can
 * leave. */
static void writer_circular_torn(void)
{
    const char *path = TestPath("torn.etl");
    EtlWriterConfig c = Config(path, ETL_MODE_CIRCULAR);
    EtlWriter *w;
    Image before, after;
    uint64_t n = 0, total = 255 * PER_BUFFER;
    c.maxMB = 1;
    REQUIRE(EtlWriterOpen(&w, &c, NULL) == ETW_OK);
    while (n < total) {
        Put(w, 0, n++);
    }
    EtlWriterFlush(w, 0);
    Seen seen = Read(path, &before);
    CheckNumbers(&seen, 0, total);
    SeenFree(&seen);
    for (int i = 0; i <= PER_BUFFER; i++) {
        Put(w, 0, n++); /* one more than a buffer: the oldest is overwritten */
    }
    seen = Read(path, &after);
    CheckNumbers(&seen, PER_BUFFER, total);
    SeenFree(&seen);
    size_t slot = 4096;
    EtwStore32(before.data + slot + 0x04, 0x48); /* the empty header comes first */
    EtwStore32(before.data + slot + 0x30, 0x48);
    for (size_t done = 0x48; done <= 4096; done += 509) {
        memcpy(before.data + slot + 0x48, after.data + slot + 0x48, done - 0x48);
        seen = SeenMemory(before.data, before.size);
        CHECK_EQ(seen.count, total - PER_BUFFER + 1);
        CHECK_EQ(Number(&seen.events[1]), PER_BUFFER);
        SeenFree(&seen);
    }
    EtlWriterClose(w, 0, 0, NULL);
    ImageFree(&before);
    ImageFree(&after);
    OsFileRemove(path);
}

static void writer_append(void)
{
    const char *path = TestPath("append.etl");
    EtlWriterConfig c = Config(path, ETL_MODE_APPEND);
    EtlWriter *w;
    EtwError error;
    Image image;
    OsFileRemove(path);
    REQUIRE(EtlWriterOpen(&w, &c, NULL) == ETW_OK); /* no file yet: a new one */
    for (uint64_t n = 0; n < 50; n++) {
        Put(w, 0, n);
    }
    CHECK_EQ(EtlWriterClose(w, 3, 0, NULL), ETW_OK);
    /* Another boot an hour later: the same ticks mean other times. Two CPUs more. */
    c.startWall += 3600000000000;
    c.startSteady = 1000000;
    c.cpus = 6;
    c.loggerId = 9;
    REQUIRE(EtlWriterOpen(&w, &c, NULL) == ETW_OK);
    Seen seen = Read(path, &image);
    CHECK_EQ(seen.info.closed, false);
    Done(&seen, &image, NULL);
    for (uint64_t n = 50; n < 150; n++) {
        EtwEvent e = {.ticks = 1000001 + (int64_t)n, .cpu = n % 2, .pointerSize = 8};
        e.payload = (const uint8_t *)&n;
        e.payloadSize = 8;
        CHECK_EQ(EtlWriterAdd(w, &e), ETW_OK);
        if (n % 20 == 0) {
            EtlWriterFlush(
                    w, 0); /* a buffer's times are converted once, however often it is written */
        }
    }
    CHECK_EQ(EtlWriterClose(w, 4, 0, NULL), ETW_OK);
    seen = Read(path, &image);
    REQUIRE(seen.count == 151);
    for (uint64_t n = 0; n < 150; n++) {
        const EtwEvent *e = &seen.events[n + 1];
        CHECK_EQ(Number(e), n);
        CHECK_EQ(e->time, START_WALL + 1 + (int64_t)n + (n < 50 ? 0 : 3600000000000));
        CHECK_EQ(e->logger, 5);
    }
    CHECK_EQ(seen.info.startTime, START_WALL - START_WALL % 100);
    CHECK_EQ(seen.info.eventsLost, 7);
    CHECK_EQ(seen.info.cpus, 6);
    CHECK_EQ(seen.info.buffers, 1 + 2 + 4);
    CHECK(seen.info.endTime >= seen.events[150].time);
    CHECK_EQ(seen.warnings, 0);
    CHECK_EQ(EtwLoad64(image.data + 3 * 4096 + 0x18), 3); /* sequence goes on */
    Done(&seen, &image, NULL);
    c.bufferSize = 8192;
    CHECK_EQ(EtlWriterOpen(&w, &c, &error), ETW_E_STATE);
    CHECK_STR(error.detail, "BUFFERSIZE");
    OsFileRemove(path);
}

static void WriteFile(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    CHECK(f != NULL && fwrite(data, 1, size, f) == size);
    fclose(f);
}

/* What is not ours is refused and stays as it is; a cut last buffer of ours goes. */
static void writer_append_strange(void)
{
    const char *path = TestPath("strange.etl");
    EtlWriterConfig c = Config(path, ETL_MODE_APPEND);
    EtlWriter *w;
    EtwError error;
    Image image, f = {.bufferSize = 4096};
    Clock clock = {1, 10000000, 1000, 133444736000000000, 0};
    HeaderAdd(&f, &clock, 1, true);
    WriteFile(path, f.data, f.size);
    CHECK_EQ(EtlWriterOpen(&w, &c, &error), ETW_E_UNSUPPORTED);
    CHECK_STR(error.detail, "APPEND");
    WriteFile(path, "text", 4);
    CHECK_EQ(EtlWriterOpen(&w, &c, &error), ETW_E_FORMAT);
    Seen seen = Read(path, &image);
    CHECK_MEM(image.data, image.size, "text", 4);
    Done(&seen, &image, NULL);
    ImageFree(&f);
    ImageBegin(&f, 4096);
    BufferBegin(&f, 0, 1);
    EventAdd(&f, 1500, 1);
    BufferEnd(&f);
    ImageGrow(&f, 1000, 0x55);
    WriteFile(path, f.data, f.size);
    REQUIRE(EtlWriterOpen(&w, &c, &error) == ETW_OK);
    CHECK_EQ(EtlWriterClose(w, 0, 0, NULL), ETW_OK);
    seen = Read(path, &image);
    CHECK_EQ(image.size, 2 * 4096);
    CHECK_EQ(seen.warnings, 0);
    Done(&seen, &image, NULL);
    REQUIRE(EtlWriterOpen(&w, &c, &error) == ETW_OK);
    Put(w, 0, 7);
    CHECK_EQ(EtlWriterClose(w, 0, 0, NULL), ETW_OK);
    seen = Read(path, &image);
    CHECK_EQ(image.size, 3 * 4096);
    REQUIRE(seen.count == 3);
    CHECK_EQ(seen.warnings, 0);
    CHECK_EQ(seen.events[1].desc.id, 1);
    CHECK_EQ(seen.events[2].time, START_WALL + 8);
    ImageFree(&f);
    Done(&seen, &image, path);
}

/* Each file holds what its maximum allows, nothing is lost between them, sequences go on. */
static void writer_newfile(void)
{
    char pattern[700], path[700];
    snprintf(pattern, sizeof pattern, "%s", TestPath("new%d.etl"));
    EtlWriterConfig c = Config(pattern, ETL_MODE_NEWFILE);
    EtlWriter *w;
    Image image;
    uint64_t total = 255 * PER_BUFFER * 3 + 100, next = 0;
    c.maxMB = 1;
    REQUIRE(EtlWriterOpen(&w, &c, NULL) == ETW_OK);
    for (uint64_t n = 0; n < total; n++) {
        REQUIRE(Put(w, (int)(n & 1), n) == ETW_OK);
    }
    CHECK_EQ(EtlWriterFlush(w, 0), ETW_OK);
    EtlWriterState state = State(w);
    CHECK_EQ(EtlWriterClose(w, 0, 0, NULL), ETW_OK);
    size_t bytes = 0;
    for (int number = 1; number <= 4; number++) {
        snprintf(path, sizeof path, "%s", TestPath("new"));
        snprintf(path + strlen(path), 20, "%d.etl", number);
        Seen seen = Read(path, &image);
        REQUIRE(seen.status == ETW_OK);
        CHECK(image.size <= 1 << 20);
        CHECK_EQ(seen.warnings, 0);
        CHECK(strstr(seen.info.logFile, strrchr(path, '/') + 1) != NULL);
        for (size_t i = 1; i < seen.count; i++) {
            REQUIRE(Number(&seen.events[i]) == next);
            CHECK_EQ(seen.events[i].time, START_WALL + 1 + (int64_t)next);
            next++;
        }
        CHECK(seen.info.endTime >= seen.events[seen.count - 1].time);
        bytes += image.size;
        Done(&seen, &image, path);
    }
    CHECK_EQ(next, total);
    CHECK_EQ(state.bytes, bytes);
    CHECK_EQ(state.buffers, bytes / 4096);
}

/* ---- Disk full ------------------------------------------------------------------------------- */

#ifndef _WIN32
static void LimitFiles(rlim_t size)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = size;
    setrlimit(RLIMIT_FSIZE, &limit);
}

/* The disk is full for a while: what was accepted is written later, what was refused is counted. */
static void writer_disk_full(void)
{
    const char *path = TestPath("full.etl");
    EtlWriterConfig c = Config(path, ETL_MODE_SEQUENTIAL);
    EtlWriter *w;
    Image image;
    uint64_t n = 0, accepted = 0, limit = 10 * 4096 + 1000; /* inside a buffer */
    signal(SIGXFSZ, SIG_IGN);
    REQUIRE(EtlWriterOpen(&w, &c, NULL) == ETW_OK);
    LimitFiles(limit);
    for (; n < 20 * PER_BUFFER; n++) {
        EtwStatus status = Put(w, 0, n);
        CHECK(status == ETW_OK || status == ETW_E_IO);
        CHECK_EQ(status == ETW_OK, n < 10 * PER_BUFFER); /* nine buffers on disk, one in memory */
        accepted += status == ETW_OK;
    }
    EtlWriterState state = State(w);
    CHECK_EQ(state.events, accepted);
    CHECK_EQ(state.lostIo, n - accepted);
    CHECK_EQ(state.unwritten, PER_BUFFER);
    CHECK(state.osError != 0);
    CHECK_EQ(EtlWriterFlush(w, 0), ETW_E_IO);
    Seen seen = Read(path, &image);
    CHECK_EQ(image.size, 10 * 4096); /* no half buffer */
    CheckNumbers(&seen, 0, 9 * PER_BUFFER);
    CHECK_EQ(seen.info.eventsLost, n - accepted);
    Done(&seen, &image, NULL);
    LimitFiles(RLIM_INFINITY);
    CHECK_EQ(EtlWriterFlush(w, 0), ETW_OK);
    CHECK_EQ(State(w).unwritten, 0);
    CHECK_EQ(Put(w, 0, accepted), ETW_OK);
    CHECK_EQ(EtlWriterClose(w, 0, 0, NULL), ETW_OK);
    seen = Read(path, &image);
    CheckNumbers(&seen, 0, accepted + 1);
    CHECK_EQ(seen.warnings, 0);
    Done(&seen, &image, path);
}

/* A circular file cannot grow on a full disk: it keeps its size, and the newest events. */
static void writer_circular_disk_full(void)
{
    const char *path = TestPath("full3.etl");
    EtlWriterConfig c = Config(path, ETL_MODE_CIRCULAR);
    EtlWriter *w;
    Image image;
    uint64_t total = 100 * PER_BUFFER;
    c.maxMB = 1;
    signal(SIGXFSZ, SIG_IGN);
    REQUIRE(EtlWriterOpen(&w, &c, NULL) == ETW_OK);
    LimitFiles(10 * 4096 + 1000);
    for (uint64_t n = 0; n < total; n++) {
        REQUIRE(Put(w, 0, n) == ETW_OK);
    }
    CHECK_EQ(EtlWriterFlush(w, 0), ETW_OK);
    EtlWriterState state = State(w);
    CHECK_EQ(EtlWriterClose(w, 0, 0, NULL), ETW_OK);
    LimitFiles(RLIM_INFINITY);
    CHECK_EQ(state.lostIo, 0);
    CHECK_EQ(state.overwritten, 91 * PER_BUFFER);
    Seen seen = Read(path, &image);
    CHECK_EQ(image.size, 10 * 4096);
    CheckNumbers(&seen, 91 * PER_BUFFER, 9 * PER_BUFFER);
    CHECK_EQ(seen.info.eventsLost, 0);
    Done(&seen, &image, path);
}

/* Still full at the close: an error that says how much is missing; the file is closed and counts
 * it. */
static void writer_disk_full_close(void)
{
    const char *path = TestPath("full2.etl");
    EtlWriterConfig c = Config(path, ETL_MODE_SEQUENTIAL);
    EtlWriter *w;
    EtwError error;
    Image image;
    signal(SIGXFSZ, SIG_IGN);
    REQUIRE(EtlWriterOpen(&w, &c, NULL) == ETW_OK);
    for (uint64_t n = 0; n < 5; n++) {
        Put(w, 0, n);
    }
    EtlWriterFlush(w, 0);
    LimitFiles(2 * 4096);
    for (uint64_t n = 5; n < 8; n++) {
        Put(w, 0, n); /* there is room for these in the buffer on disk */
    }
    for (uint64_t n = 8; n < 12; n++) {
        Put(w, 1, n); /* not for these */
    }
    CHECK_EQ(EtlWriterClose(w, 0, 0, &error), ETW_E_IO);
    LimitFiles(RLIM_INFINITY);
    CHECK(strstr(error.message, "4 events") != NULL);
    Seen seen = Read(path, &image);
    CheckNumbers(&seen, 0, 8);
    CHECK_EQ(seen.info.closed, true);
    CHECK_EQ(seen.info.eventsLost, 4);
    Done(&seen, &image, path);
}

/* An appended file's times are converted once, also when the write has to be tried again. */
static void writer_disk_full_append(void)
{
    const char *path = TestPath("full3.etl");
    EtlWriterConfig c = Config(path, ETL_MODE_APPEND);
    EtlWriter *w;
    Image image;
    signal(SIGXFSZ, SIG_IGN);
    OsFileRemove(path);
    REQUIRE(EtlWriterOpen(&w, &c, NULL) == ETW_OK);
    EtlWriterClose(w, 0, 0, NULL);
    c.startSteady -= 1000000;
    REQUIRE(EtlWriterOpen(&w, &c, NULL) == ETW_OK);
    LimitFiles(4096);
    EtwEvent e = {.ticks = c.startSteady + 1, .pointerSize = 8};
    EtlWriterAdd(w, &e);
    CHECK_EQ(EtlWriterFlush(w, 0), ETW_E_IO);
    CHECK_EQ(EtlWriterFlush(w, 0), ETW_E_IO);
    LimitFiles(RLIM_INFINITY);
    CHECK_EQ(EtlWriterClose(w, 0, 0, NULL), ETW_OK);
    Seen seen = Read(path, &image);
    REQUIRE(seen.count == 2);
    CHECK_EQ(seen.events[1].time, START_WALL + 1);
    Done(&seen, &image, path);
}

/* New-file mode when the next file cannot be made: the current one stays, events are refused. */
static void writer_newfile_refused(void)
{
    char pattern[700], path[700];
    snprintf(pattern, sizeof pattern, "%s", TestPath("stuck%d.etl"));
    snprintf(path, sizeof path, "%s", TestPath("stuck2.etl"));
    EtlWriterConfig c = Config(pattern, ETL_MODE_NEWFILE);
    EtlWriter *w;
    Image image;
    uint64_t n = 0;
    c.maxMB = 1;
    REQUIRE(EtlWriterOpen(&w, &c, NULL) == ETW_OK);
    char command[800];
    snprintf(command, sizeof command, "mkdir -p '%s'",
            path); /* a directory where the file would be */
    REQUIRE(system(command) == 0);
    while (n < 255 * PER_BUFFER) {
        REQUIRE(Put(w, 0, n++) == ETW_OK);
    }
    CHECK_EQ(Put(w, 0, n), ETW_E_IO);
    CHECK_EQ(State(w).lostIo, 1);
    snprintf(command, sizeof command, "rmdir '%s'", path);
    REQUIRE(system(command) == 0);
    CHECK_EQ(EtlWriterFlush(w, 0), ETW_OK);
    CHECK_EQ(Put(w, 0, n), ETW_OK);
    CHECK_EQ(EtlWriterClose(w, 0, 0, NULL), ETW_OK);
    Seen seen = Read(path, &image);
    CheckNumbers(&seen, n, 1);
    Done(&seen, &image, path);
    seen = Read(TestPath("stuck1.etl"), &image);
    CheckNumbers(&seen, 0, n);
    CHECK_EQ(seen.info.closed, true);
    Done(&seen, &image, TestPath("stuck1.etl"));
}
#endif

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    OsInit();
    CHECK_RUN(writer_info);
    CHECK_RUN(writer_bytes);
    CHECK_RUN(writer_event);
    CHECK_RUN(writer_many_cpus);
    CHECK_RUN(writer_clamp);
    CHECK_RUN(writer_too_big);
    CHECK_RUN(writer_config);
    CHECK_RUN(writer_flush);
    CHECK_RUN(writer_killed);
    CHECK_RUN(writer_cut);
    CHECK_RUN(writer_sequential_limit);
    CHECK_RUN(writer_circular);
    CHECK_RUN(writer_circular_idle);
    CHECK_RUN(writer_circular_taken);
    CHECK_RUN(writer_circular_torn);
    CHECK_RUN(writer_append);
    CHECK_RUN(writer_append_strange);
    CHECK_RUN(writer_newfile);
#ifndef _WIN32
    CHECK_RUN(writer_disk_full);
    CHECK_RUN(writer_circular_disk_full);
    CHECK_RUN(writer_disk_full_close);
    CHECK_RUN(writer_disk_full_append);
    CHECK_RUN(writer_newfile_refused);
#endif
    return CHECK_DONE();
}
