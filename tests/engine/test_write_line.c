/*
 * tests/engine/test_write_line.c --
 *
 *	ETW_WRITE of etw.h and Etw_WriteSite: one call site, used by several threads at once, with several providers, and with
 *	providers that are unregistered and registered again; arguments and attributes. What the compilers make of it, and the
 *	decoded values: tests/project/examples.test.
 */
#include "tests/support/engine_support.h"
#include <stdatomic.h>

static const char *const names[] = {"Line-A", "Line-B", "Line-C", "Line-D", "Line-E", "Line-F",
        "Line-New-1", "Line-New-2", "Line-New-3"};
enum { NAMES = 6, ALL = 9 }; /* line_2_1 uses the new ones, which have no slot before */

/* All providers of the tests are enabled in one session with level 4 and keyword 1. */
static void startSome(const char *name, int from, int to)
{
    EtwError err = {0};
    EtwSessionConfig config = {
            .name = name, .file = at(name), .mode = ETW_FILE_SEQUENTIAL, .bufferKB = 64};
    CHECK_MSG(EtwSessionStart(&config, &err) == ETW_OK, "%s", err.message);
    for (int i = from; i < to; i++) {
        EtwEnable enable = {.providerName = names[i], .level = 4, .any = 1};
        EtwGuidFromName(names[i], &enable.provider);
        CHECK_MSG(EtwSessionEnable(name, &enable, &err) == ETW_OK, "%s", err.message);
    }
}

static void startLines(const char *name)
{
    startSome(name, 0, NAMES);
}

/* Ends the session; the events that each provider wrote, and how many of them have this name. */
typedef struct Counts {
    uint64_t events[ALL], named[ALL], lost;
    EtwEvent last; /* only the members that are no pointers */
    uint8_t payload[256];
} Counts;

static Counts stopLines(const char *name, const char *eventName)
{
    Counts counts = {0};
    EtwSessionInfo info = {0};
    EtlReader *reader;
    EtwEvent e;
    EtwError err = {0};
    CHECK(EtwSessionStop(name, &info, &err) == ETW_OK);
    counts.lost = info.lost.noBuffer + info.lost.tooBig + info.lost.io;
    if (!CHECK(EtlReaderOpen(&reader, at(name), NULL, NULL, &err) == ETW_OK)) {
        return counts;
    }
    while (EtlReaderNext(reader, &e) == ETW_OK) {
        for (int i = 0; i < ALL; i++) {
            EtwGuid id;
            EtwGuidFromName(names[i], &id);
            if (EtwGuidEqual(&e.provider, &id)) {
                /* The metadata of the event and the traits agree with the header. */
                counts.events[i]++;
                counts.named[i] +=
                        e.metaSize > 3 && strcmp((const char *)e.meta + 3, eventName) == 0 &&
                        e.traitsSize > 2 && strcmp((const char *)e.traits + 2, names[i]) == 0;
                counts.last = e;
                memcpy(counts.payload, e.payload,
                        e.payloadSize < sizeof counts.payload ? e.payloadSize
                                                              : sizeof counts.payload);
            }
        }
    }
    EtlReaderClose(reader);
    return counts;
}

static int evaluated;
static uint32_t count(uint32_t value)
{
    evaluated++;
    return value;
}

/* One call site for all providers. */
static void writeNumber(Etw_Provider *p, uint32_t number)
{
    ETW_WRITE(p, "Number", ETW_U32("Number", number), ETW_KEYWORD(1));
}

static void line_1_1_arguments(void)
{
    Etw_Provider *p = Etw_Register(names[0], NULL);
    Counts counts;
    evaluated = 0;
    ETW_WRITE(p, "Off", ETW_U32("N", count(1)));
    ETW_WRITE((Etw_Provider *)NULL, "Null", ETW_U32("N", count(1)));
    startLines("line-1-1");
    ETW_WRITE(p, "OtherLevel", ETW_LEVEL(5), ETW_KEYWORD(1), ETW_U32("N", count(1)));
    ETW_WRITE(p, "OtherKeyword", ETW_KEYWORD(2), ETW_U32("N", count(1)));
    CHECK_EQ(evaluated, 0);
    ETW_WRITE(p, "On", ETW_U32("N", count(7)), ETW_KEYWORD(4), ETW_LEVEL(ETW_LEVEL_ERROR),
            ETW_OPCODE(9), ETW_U32("M", count(8)), ETW_TASK(0xFFFF), ETW_KEYWORD(1), ETW_ID(77));
    CHECK_EQ(evaluated, 2);
    counts = stopLines("line-1-1", "On");
    CHECK_EQ(counts.events[0], 1);
    CHECK_EQ(counts.named[0], 1);
    CHECK_EQ(counts.last.desc.level, 2);
    CHECK_EQ(counts.last.desc.keyword, 5);
    CHECK_EQ(counts.last.desc.opcode, 9);
    CHECK_EQ(counts.last.desc.task, 0xFFFF);
    CHECK_EQ(counts.last.desc.id, 77);
    CHECK_MEM(counts.payload, counts.last.payloadSize, "\7\0\0\0\10\0\0\0", 8);
    Etw_Unregister(p);
}

static void line_1_2_null_pointers(void)
{
    static const uint8_t want[] = {0, /* STR */ 0, 0, /* STRN */ 0, 0, /* WSTR */ 0, 0, /* BIN */
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* GUID */ 1};
    Etw_Provider *p = Etw_Register(names[0], NULL);
    Counts counts;
    startLines("line-1-2");
    ETW_WRITE(p, "Nulls", ETW_STR("a", NULL), ETW_STRN("b", NULL, 5),
            ETW_WSTR("c", (uint16_t *)NULL), ETW_BIN("d", NULL, 5), ETW_GUID("e", NULL),
            ETW_U8("f", 1), ETW_ACTIVITY(NULL));
    counts = stopLines("line-1-2", "Nulls");
    CHECK_EQ(counts.named[0], 1);
    CHECK_MEM(counts.payload, counts.last.payloadSize, want, sizeof want);
    Etw_Unregister(p);
}

static void line_1_3_too_big(void)
{
    static char big[70000];
    Etw_Provider *p = Etw_Register(names[0], NULL);
    Counts counts;
    memset(big, 'x', sizeof big - 1);
    startLines("line-1-3");
    ETW_WRITE(p, "Big", ETW_STR("s", big));
    ETW_WRITE(p, "Big", ETW_BIN("s", big, sizeof big));
    counts = stopLines("line-1-3", "Big");
    CHECK_EQ(counts.events[0], 0);
    CHECK_EQ(counts.lost, 2);
    Etw_Unregister(p);
}

/* Registered again as itself; and another provider in the slot that it had. */
static void line_2_1_registered_again(void)
{
    Counts counts;
    for (int i = NAMES; i < ALL; i++) {
        Etw_Provider *next, *p = Etw_Register(names[0], NULL);
        startSome("line-2-1", 0, 1);
        writeNumber(p, 1);
        Etw_Unregister(p);
        CHECK(Etw_Register(names[0], NULL) == p);
        writeNumber(p, 2);
        counts = stopLines("line-2-1", "Number");
        CHECK_EQ(counts.events[0], 2);
        CHECK_EQ(counts.named[0], 2);
        Etw_Unregister(p);
        /* Neither a registration nor a session: its slot is free, and the next provider gets it. */
        next = Etw_Register(names[i], NULL);
        CHECK(next == p);
        startSome("line-2-1", i, i + 1);
        writeNumber(next, 3);
        counts = stopLines("line-2-1", "Number");
        CHECK_EQ(counts.events[0], 0);
        CHECK_EQ(counts.events[i], 1);
        CHECK_EQ(counts.named[i], 1);
        Etw_Unregister(next);
    }
}

/* An event that was kept after the last Etw_Unregister is not written, and is the same when defined again. */
static void line_2_2_stale_event(void)
{
    static const Etw_EventDesc desc = {.name = "Stale", .level = 4};
    Etw_Provider *p = Etw_Register(names[0], NULL);
    Etw_Event *stale = Etw_DefineEvent(p, &desc, NULL, 0);
    Counts counts;
    startLines("line-2-2");
    Etw_Unregister(p);
    CHECK_EQ(Etw_Write(stale, NULL, 0), ETW_WRITTEN);
    p = Etw_Register(names[0], NULL);
    CHECK(Etw_DefineEvent(p, &desc, NULL, 0) == stale);
    CHECK_EQ(Etw_Write(stale, NULL, 0), ETW_WRITTEN);
    counts = stopLines("line-2-2", "Stale");
    CHECK_EQ(counts.events[0], 1);
    Etw_Unregister(p);
}

/* A definition that fails is not tried at each write, and nothing is written. */
static void line_2_3_undefined(void)
{
    static const Etw_Field fields[] = {{"", ETW_IN_UINT8, 0, 0, 0}};
    static Etw_Site site = {{"Malformed", 0, 0, 4, 0, 0, 0, 0, 0}, fields, 1, {0, 0, 0, 0}, 0, 0};
    Etw_Provider *p = Etw_Register(names[0], NULL);
    Counts counts;
    startLines("line-2-3");
    CHECK_EQ(Etw_WriteSite(&site, p, NULL, NULL, NULL, 0), ETW_LOST_UNDEFINED);
    CHECK(site.failed == p);
    CHECK_EQ(Etw_WriteSite(&site, p, NULL, NULL, NULL, 0), ETW_LOST_UNDEFINED);
    counts = stopLines("line-2-3", "Malformed");
    CHECK_EQ(counts.events[0], 0);
    Etw_Unregister(p);
}

/* ---- Threads --------------------------------------------------------------------------------- */

static Etw_Provider *lines[NAMES];
static atomic_int ready, go;
enum { THREADS = 6, ROUNDS = 300 };

static void writeAll(void *arg)
{
    int first = (int)(intptr_t)arg;
    ready++;
    while (!go) {
    }
    for (int i = 0; i < ROUNDS; i++) {
        writeNumber(lines[(first + i) % NAMES], (uint32_t)i);
    }
}

/* More providers than a site remembers, all threads at once. */
static void line_3_1_threads_and_providers(void)
{
    OsThread *threads[THREADS];
    Counts counts;
    for (int i = 0; i < NAMES; i++) {
        lines[i] = Etw_Register(names[i], NULL);
    }
    startLines("line-3-1");
    for (int i = 0; i < THREADS; i++) {
        OsThreadStart(&threads[i], "line", writeAll, (void *)(intptr_t)i);
    }
    while (ready < THREADS) {
    }
    go = 1;
    for (int i = 0; i < THREADS; i++) {
        OsThreadJoin(threads[i]);
    }
    counts = stopLines("line-3-1", "Number");
    for (int i = 0; i < NAMES; i++) {
        CHECK_EQ(counts.events[i], THREADS * ROUNDS / NAMES);
        CHECK_EQ(counts.named[i], THREADS * ROUNDS / NAMES);
        Etw_Unregister(lines[i]);
    }
}

static void writeRace(void *arg)
{
    ready++;
    while (!go) {
    }
    for (uint32_t i = 0; i < ROUNDS; i++) {
        ETW_WRITE((Etw_Provider *)arg, "Race", ETW_U32("N", i));
    }
}

/* The first write of a call site by all threads at once: one event is defined. */
static void line_3_2_threads_define(void)
{
    OsThread *threads[THREADS];
    static const Etw_Field fields[] = {{"N", ETW_IN_UINT32, 0, 0, 0}};
    static const Etw_EventDesc desc = {.name = "Race", .level = 4};
    Etw_Provider *p = Etw_Register(names[0], NULL);
    Counts counts;
    ready = go = 0;
    startLines("line-3-2");
    for (int i = 0; i < THREADS; i++) {
        OsThreadStart(&threads[i], "line", writeRace, p);
    }
    while (ready < THREADS) {
    }
    go = 1;
    for (int i = 0; i < THREADS; i++) {
        OsThreadJoin(threads[i]);
    }
    Etw_Write(Etw_DefineEvent(p, &desc, fields, 1), (Etw_Data[]){{&desc, 4}}, 1);
    counts = stopLines("line-3-2", "Race");
    CHECK_EQ(counts.named[0], THREADS * ROUNDS + 1);
    Etw_Unregister(p);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    setUp(false);
    CHECK_RUN(line_1_1_arguments);
    CHECK_RUN(line_1_2_null_pointers);
    CHECK_RUN(line_1_3_too_big);
    CHECK_RUN(line_2_1_registered_again);
    CHECK_RUN(line_2_2_stale_event);
    CHECK_RUN(line_2_3_undefined);
    CHECK_RUN(line_3_1_threads_and_providers);
    CHECK_RUN(line_3_2_threads_define);
    return CHECK_DONE();
}
