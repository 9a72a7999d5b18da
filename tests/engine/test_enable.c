/*
 * tests/engine/test_enable.c --
 *
 *	What a session has enabled, one promise at a time: limits and boundaries of the filters, requests that replace
 *	each other, the list of providers, marks; and how events of a provider differ.
 */
#define _GNU_SOURCE
#include "tests/support/engine_support.h"
#include "engine/provider/provider.h"
#include "engine/shared/registry.h"
#ifdef __linux__
#include <sched.h>
#endif

static void startMemory(const char *name)
{
    EtwError err;
    EtwSessionConfig config = {
            .name = name, .mode = ETW_FILE_MEMORY, .bufferKB = 64, .maxBuffers = 4};
    CHECK_MSG(EtwSessionStart(&config, &err) == ETW_OK, "%s", err.message);
}

static uint64_t eventsOf(const char *name)
{
    EtwError err;
    EtwSessionInfo info = {0};
    CHECK_MSG(EtwSessionQuery(name, &info, &err) == ETW_OK, "%s", err.message);
    return info.events;
}

static void enableIn(const char *name, EtwEnable request)
{
    EtwError err;
    request.provider = guid;
    CHECK_MSG(EtwSessionEnable(name, &request, &err) == ETW_OK, "%s", err.message);
}

static Etw_Event *define(uint16_t id, uint8_t level, uint64_t keyword)
{
    Etw_Event *defined = Etw_DefineEvent(provider,
            &(Etw_EventDesc){.name = "Other", .id = id, .level = level, .keyword = keyword}, NULL,
            0);
    CHECK(defined != NULL);
    return defined;
}

/* ---- Filters --------------------------------------------------------------------------------- */

/* An event passes up to the level; with one of the keywords and all of the others; always, when it has none. */
static void filters_1_1_level_and_keywords(void)
{
    static const struct {
        uint8_t level;
        uint64_t any, all;
        uint8_t eventLevel;
        uint64_t keyword;
        int passes;
    } cases[] = {{4, 0, 0, 4, 0, 1}, {4, 0, 0, 5, 0, 0}, {4, 0, 0, 3, 0, 1}, {0, 0, 0, 255, 1, 1},
            {1, 0, 0, 0, 0, 1}, {255, 0x8000000000000000, 0, 1, 0x8000000000000000, 1},
            {255, 0x10, 0, 1, 0x30, 1}, {255, 0x10, 0, 1, 0x20, 0}, {255, 0x10, 0x30, 1, 0x10, 0},
            {255, 0x10, 0x30, 1, 0x30, 1}, {255, 0x10, 0x30, 1, 0x70, 1},
            {255, 0x40, 0x30, 1, 0x30, 0}, {255, 0x10, 0x30, 1, 0, 1}, {255, 0, 0x30, 1, 0x10, 0},
            {255, 0, 0x30, 1, 0x30, 1}};
    startMemory("f");
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        enableIn("f",
                (EtwEnable){.level = cases[i].level, .any = cases[i].any, .all = cases[i].all});
        uint64_t before = eventsOf("f");
        CHECK_EQ(Etw_Write(define((uint16_t)(100 + i), cases[i].eventLevel, cases[i].keyword), NULL,
                         0),
                ETW_WRITTEN);
        CHECK_MSG(eventsOf("f") - before == (uint64_t)cases[i].passes, "case %d", i);
    }
    EtwSessionStopAll();
}

/* Each of the process ids and of the event ids is compared, the last one, too; and no more than there are. */
static void filters_1_2_lists(void)
{
    uint32_t pids[9];
    uint16_t ids[65];
    EtwError err;
    startMemory("f");
    for (int at = 0; at < 8; at++) {
        for (int i = 0; i < 9; i++) {
            pids[i] = i == at ? OsPid() : 1;
        }
        for (int count = at > 0 ? at : 1; count <= at + 1; count++) {
            enableIn("f", (EtwEnable){.pids = pids, .pidCount = count});
            uint64_t before = eventsOf("f");
            writeOne(0, 0);
            CHECK_EQ(eventsOf("f") - before, count > at);
        }
    }
    for (int at = 0; at < 64; at += 21) {
        for (int i = 0; i < 65; i++) {
            ids[i] = i == at ? 7 : 8;
        }
        for (int count = at > 0 ? at : 1; count <= at + 1; count++) {
            enableIn("f", (EtwEnable){.ids = ids, .idCount = count});
            uint64_t before = eventsOf("f");
            writeOne(0, 0);
            CHECK_EQ(eventsOf("f") - before, count > at);
        }
    }
    /* Both must fit. */
    pids[0] = OsPid();
    ids[0] = 8;
    enableIn("f", (EtwEnable){.pids = pids, .pidCount = 1, .ids = ids, .idCount = 1});
    uint64_t before = eventsOf("f");
    writeOne(0, 0);
    CHECK_EQ(eventsOf("f"), before);
    CHECK_EQ(EtwSessionEnable("f",
                     &(EtwEnable){.provider = guid,
                             .pids = pids,
                             .pidCount = 8,
                             .ids = ids,
                             .idCount = 64},
                     &err),
            ETW_OK);
    CHECK_EQ(EtwSessionEnable(
                     "f", &(EtwEnable){.provider = guid, .pids = pids, .pidCount = 9}, &err),
            ETW_E_LIMIT);
    CHECK_STR(err.message, "too many process ids: at most 8 are accepted");
    CHECK_EQ(EtwSessionEnable("f", &(EtwEnable){.provider = guid, .ids = ids, .idCount = 65}, &err),
            ETW_E_LIMIT);
    CHECK_STR(err.message, "too many event ids: at most 64 are accepted");
    EtwSessionStopAll();
}

/* A second request replaces the session's first; other sessions keep theirs, also when one ends. */
static void filters_1_3_replaced(void)
{
    EtwError err;
    startMemory("a");
    startMemory("b");
    enableIn("a", (EtwEnable){.level = 2});
    enableIn("b", (EtwEnable){.level = 3});
    enableIn("a", (EtwEnable){.level = 1, .any = 4});
    CHECK_EQ(provider->enabled, 3);
    enableIn("b", (EtwEnable){.level = 2});
    CHECK_EQ(provider->enabled, 2);
    uint64_t a = eventsOf("a"), b = eventsOf("b");
    Etw_Write(define(200, 2, 0), NULL, 0);
    CHECK_EQ(eventsOf("a"), a);
    CHECK_EQ(eventsOf("b"), b + 1);
    CHECK_EQ(EtwSessionDisable("b", &guid, &err), ETW_OK);
    CHECK_EQ(provider->enabled, 1);
    CHECK_EQ(provider->keywords, 4);
    CHECK_EQ(EtwSessionDisable("b", &guid, &err), ETW_E_LOOKUP);
    CHECK_EQ(EtwSessionDisable("none", &guid, &err), ETW_E_LOOKUP);
    CHECK_EQ(EtwSessionDisable("a", &(EtwGuid){{9}}, &err), ETW_E_LOOKUP);
    CHECK_EQ(EtwSessionEnable("none", &(EtwEnable){.provider = guid}, &err), ETW_E_LOOKUP);
    EtwSessionStopAll();
}

/* Of the other engine only. */
static void filters_1_4_unsupported(void)
{
    EtwError err;
    startMemory("f");
    CHECK_EQ(EtwSessionEnable("f", &(EtwEnable){.provider = guid, .properties = 1}, &err),
            ETW_E_UNSUPPORTED);
    CHECK_EQ(EtwSessionEnable("f", &(EtwEnable){.provider = guid, .executables = "x"}, &err),
            ETW_E_UNSUPPORTED);
    CHECK_EQ(EtwSessionEnable("f", &(EtwEnable){.provider = guid, .payloadCount = 1}, &err),
            ETW_E_UNSUPPORTED);
    CHECK_EQ(provider->enabled, 0);
    EtwSessionStopAll();
}

/* ---- The list of providers ------------------------------------------------------------------- */

static EtwProviderInfo listed;

static bool onProvider(void *ctx, const EtwProviderInfo *info)
{
    if (EtwGuidEqual(&info->guid, ctx)) {
        listed = *info;
    }
    return true;
}

static bool onlyOne(void *ctx, const EtwProviderInfo *info)
{
    (void)info;
    ++*(int *)ctx;
    return false;
}

static void list_1_1(void)
{
    EtwGuid unknown = {{0x55}}, gone;
    EtwError err;
    int calls = 0;
    Etw_Provider *again = Etw_Register("Engine-Test", NULL);
    CHECK(again == provider);
    Etw_Unregister(Etw_Register("Engine-Gone", NULL));
    EtwGuidFromName("Engine-Gone", &gone);
    startMemory("one");
    startMemory("two");
    enableIn("one", (EtwEnable){.level = 3, .any = 0x10, .all = 0x30});
    enableIn("two", (EtwEnable){0});
    CHECK_EQ(
            EtwSessionEnable("two",
                    &(EtwEnable){.provider = unknown, .providerName = "Not-Registered", .level = 9},
                    &err),
            ETW_OK);
    EtwProviderList(onProvider, &guid);
    CHECK_STR(listed.name, "Engine-Test");
    CHECK_EQ(listed.registrations, 2);
    CHECK_EQ(listed.enables, 2);
    CHECK_STR(listed.enabled[0].session, "one");
    CHECK_STR(listed.enabled[0].engine, "embedded");
    CHECK_EQ(listed.enabled[0].level, 3);
    CHECK_EQ(listed.enabled[0].any, 0x10);
    CHECK_EQ(listed.enabled[0].all, 0x30);
    CHECK_STR(listed.enabled[1].session, "two");
    CHECK_EQ(listed.enabled[1].level, 255);
    CHECK(listed.enabled[1].any == UINT64_MAX);
    CHECK_EQ(listed.enabled[1].all, 0);
    /* One that is enabled and not registered is there; one that is neither is not. */
    EtwProviderList(onProvider, &unknown);
    CHECK_STR(listed.name, "Not-Registered");
    CHECK_EQ(listed.registrations, 0);
    CHECK_EQ(listed.enables, 1);
    memset(&listed, 0, sizeof listed);
    EtwProviderList(onProvider, &gone);
    CHECK_STR(listed.name, "");
    EtwProviderList(onlyOne, &calls);
    CHECK_EQ(calls, 1);
    EtwSessionStopAll();
    Etw_Unregister(again);
}

/* ---- Marks ----------------------------------------------------------------------------------- */

/* The texts of a file's marks, each with its length. */
static int marksIn(const char *file, char *texts, size_t size)
{
    EtlReader *reader;
    EtwEvent e;
    EtwError err;
    EtwGuid own;
    int count = 0;
    texts[0] = '\0';
    EtwGuidFromName(ETW_SESSION_PROVIDER, &own);
    if (!CHECK_MSG(EtlReaderOpen(&reader, file, NULL, NULL, &err) == ETW_OK, "%s", err.message)) {
        return -1;
    }
    while (EtlReaderNext(reader, &e) == ETW_OK) {
        if (EtwGuidEqual(&e.provider, &own) && e.payloadSize >= 2 &&
                e.payloadSize == EtwLoad16(e.payload) + 2u) {
            size_t used = strlen(texts);
            snprintf(texts + used, size - used, "%d:%.4s ", EtwLoad16(e.payload),
                    (const char *)e.payload + 2);
            count++;
        }
    }
    EtlReaderClose(reader);
    return count;
}

/* A mark is written though nothing is enabled, into its session only; a text is cut at 4,096 bytes. */
static void marks_1_1(void)
{
    static char text[5000];
    char texts[200];
    EtwError err;
    EtwSessionConfig config = {.name = "m", .file = at("m.etl"), .bufferKB = 64},
                     other = {.name = "n", .file = at("n.etl"), .bufferKB = 64};
    memset(text, 'x', sizeof text - 1);
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK && EtwSessionStart(&other, &err) == ETW_OK);
    CHECK_EQ(EtwSessionMark("M", "here", &err), ETW_OK);
    CHECK_EQ(EtwSessionMark("m", "", &err), ETW_OK);
    CHECK_EQ(EtwSessionMark("m", text, &err), ETW_OK);
    text[4096] = '\0';
    CHECK_EQ(EtwSessionMark("m", text, &err), ETW_OK);
    CHECK_EQ(EtwSessionMark("nobody", "here", &err), ETW_E_LOOKUP);
    RegGet()->sessions[RegFindSession("m")].stopping = 1;
    CHECK_EQ(EtwSessionMark("m", "late", &err), ETW_E_STATE);
    CHECK_EQ(EtwSessionEnable("m", &(EtwEnable){.provider = guid}, &err), ETW_E_STATE);
    CHECK_STR(err.message, "session \"m\" is being stopped: try again when it has stopped");
    RegGet()->sessions[RegFindSession("m")].stopping = 0;
    CHECK_EQ(EtwSessionStop("m", NULL, &err), ETW_OK);
    CHECK_EQ(EtwSessionStop("n", NULL, &err), ETW_OK);
    CHECK_EQ(marksIn(at("m.etl"), texts, sizeof texts), 4);
    CHECK_STR(texts, "4:here 0: 4096:xxxx 4096:xxxx ");
    CHECK_EQ(marksIn(at("n.etl"), texts, sizeof texts), 0);
}

/* ---- Providers and their events -------------------------------------------------------------- */

static void providers_1_1_names(void)
{
    char name[130];
    EtwError err;
    Etw_Provider *p;
    memset(name, 'n', sizeof name);
    name[127] = '\0';
    CHECK_EQ(EtwRegister(name, NULL, &p, &err), ETW_OK);
    Etw_Unregister(p);
    name[127] = 'n';
    name[128] = '\0';
    CHECK_EQ(EtwRegister(name, NULL, &p, &err), ETW_E_ARG);
    CHECK(p == NULL);
    CHECK_STR(err.message, "bad provider name: it must have 1 to 127 bytes");
    CHECK_EQ(EtwRegister("", NULL, &p, &err), ETW_E_ARG);
    CHECK_EQ(EtwRegister(NULL, NULL, &p, &err), ETW_E_ARG);
    CHECK(Etw_Register("", NULL) == NULL);
    /* Without a GUID it is that of the name. */
    Etw_Guid id;
    memcpy(&id, &guid, sizeof id);
    CHECK_EQ(EtwRegister("Engine-Test", &id, &p, &err), ETW_OK);
    CHECK(p == provider);
    Etw_Unregister(p);
    Etw_Unregister(NULL);
}

/* An event of a provider that was unregistered is written no more, until it is defined again. */
static void providers_1_2_unregistered(void)
{
    Etw_Provider *p = Etw_Register("Engine-Twice", NULL), *q;
    Etw_EventDesc desc = {.name = "E", .level = 4};
    Etw_Event *e = Etw_DefineEvent(p, &desc, NULL, 0);
    EtwEnable request = {0};
    EtwError err;
    EtwGuidFromName("Engine-Twice", &request.provider);
    startMemory("t");
    CHECK_EQ(EtwSessionEnable("t", &request, &err), ETW_OK);
    uint64_t before = eventsOf("t");
    Etw_Write(e, NULL, 0);
    CHECK_EQ(eventsOf("t"), before + 1);
    q = Etw_Register("Engine-Twice", NULL);
    Etw_Unregister(q); /* once of twice */
    Etw_Write(e, NULL, 0);
    CHECK_EQ(eventsOf("t"), before + 2);
    Etw_Unregister(p);
    CHECK_EQ(Etw_Write(e, NULL, 0), ETW_WRITTEN);
    CHECK_EQ(eventsOf("t"), before + 2);
    CHECK(Etw_DefineEvent(p, &desc, NULL, 0) == NULL);
    CHECK(Etw_DefineEvent(NULL, &desc, NULL, 0) == NULL);
    p = Etw_Register("Engine-Twice", NULL);
    CHECK(Etw_DefineEvent(p, &desc, NULL, 0) == e);
    Etw_Write(e, NULL, 0);
    CHECK_EQ(eventsOf("t"), before + 3);
    desc.level = 3;
    CHECK(Etw_DefineEvent(p, &desc, NULL, 0) != e);
    CHECK_EQ(Etw_Write(NULL, NULL, 0), ETW_WRITTEN);
    EtwSessionStopAll();
    Etw_Unregister(p);
}

/* What the file has of an event that is described, one that its reader knows, and a classic one. */
static void providers_1_3_kinds(void)
{
    static const Etw_Guid class = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
    static const Etw_Field fields[] = {{"A", ETW_IN_UINT32, 0, 0, 0}};
    Etw_EventDesc desc = {
            .name = "E", .id = 9, .version = 3, .level = 4, .opcode = 5, .task = 6, .keyword = 7};
    uint32_t value = 0x12345678;
    EtlReader *reader;
    EtwEvent e;
    EtwError err;
    int seen = 0;
    Etw_Event *kinds[3];
    kinds[0] = Etw_DefineEvent(provider, &desc, fields, 1);
    desc.undescribed = 1;
    kinds[1] = Etw_DefineEvent(provider, &desc, NULL, 0);
    desc.undescribed = 0;
    desc.classGuid = &class;
    kinds[2] = Etw_DefineEvent(provider, &desc, NULL, 0);
    REQUIRE(kinds[0] != NULL && kinds[1] != NULL && kinds[2] != NULL);
    REQUIRE(startFile("k", at("k.etl"), &err) == ETW_OK);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(Etw_Write(kinds[i], (Etw_Data[]){{&value, 4}}, 1), ETW_WRITTEN);
    }
    CHECK_EQ(EtwSessionStop("k", NULL, &err), ETW_OK);
    REQUIRE(EtlReaderOpen(&reader, at("k.etl"), NULL, NULL, &err) == ETW_OK);
    while (EtlReaderNext(reader, &e) == ETW_OK) {
        if (e.payloadSize != 4 || EtwLoad32(e.payload) != value) {
            continue;
        }
        CHECK_EQ(e.desc.level, 4);
        CHECK_EQ(e.desc.opcode, 5);
        CHECK_EQ(e.desc.version, 3);
        CHECK_EQ(e.pid, OsPid());
        CHECK_EQ(e.tid, OsTid());
        if (seen < 2) {
            CHECK(EtwGuidEqual(&e.provider, &guid));
            CHECK_EQ(e.desc.id, 9);
            CHECK_EQ(e.desc.task, 6);
            CHECK_EQ(e.desc.keyword, 7);
            CHECK_EQ(e.desc.channel, seen == 0 ? 11 : 0);
        } else {
            CHECK_MEM(e.provider.bytes, 16, class.bytes, 16);
            CHECK_EQ(e.desc.id, 0);
        }
        seen++;
    }
    EtlReaderClose(reader);
    CHECK_EQ(seen, 3);
}

/* The related activity is of the thread's next event without an activity of its own, once. */
static void providers_1_4_related(void)
{
    Etw_Guid related, scope, got;
    EtlReader *reader;
    EtwEvent e;
    EtwError err;
    char seen[20] = "";
    Etw_ActivityCreate(&related);
    Etw_ActivityCreate(&scope);
    CHECK(memcmp(&related, &scope, 16) != 0);
    memset(&got, 0xEE, sizeof got);
    Etw_ActivityGet(&got);
    CHECK_MEM(&got, 16, (uint8_t[16]){0}, 16);
    REQUIRE(startFile("r", at("r.etl"), &err) == ETW_OK);
    EtwActivityRelate(&related);
    Etw_WriteActivity(event, &scope, NULL, (Etw_Data[]){{&scope, 16}}, 1); /* has its own */
    writeOne(0, 0);                                                        /* takes it */
    writeOne(0, 1);
    EtwActivityRelate(&related);
    EtwActivityRelate(NULL);
    writeOne(0, 2);
    Etw_ActivitySet(&scope);
    EtwActivityRelate(&related);
    writeOne(0, 3);
    Etw_ActivitySet(NULL);
    EtwSessionStop("r", NULL, &err);
    REQUIRE(EtlReaderOpen(&reader, at("r.etl"), NULL, NULL, &err) == ETW_OK);
    while (EtlReaderNext(reader, &e) == ETW_OK) {
        if (EtwGuidEqual(&e.provider, &guid)) {
            bool own = memcmp(&e.activity, &scope, 16) == 0,
                 other = e.related != NULL && memcmp(e.related, &related, 16) == 0;
            strcat(seen, own ? (other ? "B" : "A") : other ? "R" : "-");
        }
    }
    EtlReaderClose(reader);
    CHECK_STR(seen, "AR--B");
}

/* A duration is the difference of the event's time and the start, in ns; a clock that is behind gives 0. */
static void providers_1_5_elapsed(void)
{
    uint64_t now = OsTicks(), seen[3] = {0};
    uint64_t pair[2] = {0x1111, 0x2222};
    EtlReader *reader;
    EtwEvent e;
    EtwError err;
    int count = 0;
    REQUIRE(startFile("d", at("d.etl"), &err) == ETW_OK);
    EtwWriteElapsed(event, (Etw_Data[]){{pair, 16}}, 1, &(EtwElapsed){8, now, 1ull << 32});
    EtwWriteElapsed(event, (Etw_Data[]){{pair, 16}}, 1, &(EtwElapsed){8, now, 2ull << 32});
    EtwWriteElapsed(
            event, (Etw_Data[]){{pair, 16}}, 1, &(EtwElapsed){8, now + (1ull << 50), 1ull << 32});
    uint64_t stamp = EtwWriteStamped(event, (Etw_Data[]){{pair, 16}}, 1), after = OsTicks();
    CHECK(stamp >= now && stamp <= after);
    EtwSessionStop("d", NULL, &err);
    CHECK_EQ(EtwWriteStamped(event, (Etw_Data[]){{pair, 16}}, 1), 0); /* no session */
    REQUIRE(EtlReaderOpen(&reader, at("d.etl"), NULL, NULL, &err) == ETW_OK);
    while (EtlReaderNext(reader, &e) == ETW_OK) {
        if (EtwGuidEqual(&e.provider, &guid) && count < 3) {
            CHECK_EQ(EtwLoad64(e.payload), 0x1111);
            seen[count++] = EtwLoad64(e.payload + 8);
        }
    }
    EtlReaderClose(reader);
    CHECK_EQ(count, 3);
    CHECK(seen[0] <= after - now);
    CHECK(seen[1] >= 2 * seen[0] && seen[1] <= 2 * (after - now));
    CHECK_EQ(seen[2], 0);
}

#ifdef __linux__
/* An event has the CPU on which it was written. */
static void providers_1_7_cpu(void)
{
    cpu_set_t all, one;
    EtlReader *reader;
    EtwEvent e;
    EtwError err;
    int cpus[16], count = 0, seen = 0;
    CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE && count < 16; cpu++) {
        if (CPU_ISSET(cpu, &all)) {
            cpus[count++] = cpu;
        }
    }
    EtwSessionConfig config = {.name = "cpu", .file = at("cpu.etl"), .bufferKB = 64};
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    enableIn("cpu", (EtwEnable){0});
    for (int i = 0; i < count; i++) {
        CPU_ZERO(&one);
        CPU_SET(cpus[i], &one);
        CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
        writeOne(0, (uint64_t)cpus[i]);
    }
    CHECK_EQ(sched_setaffinity(0, sizeof all, &all), 0);
    CHECK_EQ(EtwSessionStop("cpu", NULL, &err), ETW_OK);
    REQUIRE(EtlReaderOpen(&reader, at("cpu.etl"), NULL, NULL, &err) == ETW_OK);
    while (EtlReaderNext(reader, &e) == ETW_OK) {
        if (EtwGuidEqual(&e.provider, &guid)) {
            CHECK_EQ(e.cpu, EtwLoad64(e.payload + 8));
            seen++;
        }
    }
    EtlReaderClose(reader);
    CHECK_EQ(seen, count);
}
#endif

/* The largest payload, and one byte more. */
static void providers_1_6_largest(void)
{
    static char big[0xF001];
    EtwError err;
    EtwSessionInfo info;
    startMemory("big");
    enableIn("big", (EtwEnable){0});
    CHECK_EQ(Etw_Write(event, (Etw_Data[]){{big, 0xF000}}, 1), ETW_WRITTEN);
    CHECK_EQ(Etw_Write(event, (Etw_Data[]){{big, 0x8000}, {big, 0x7001}}, 2), ETW_LOST_TOO_BIG);
    CHECK_EQ(EtwSessionStop("big", &info, &err), ETW_OK);
    CHECK_EQ(info.events, 2);
    CHECK_EQ(info.lost.tooBig, 1);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    setUp(false);
    CHECK_RUN(filters_1_1_level_and_keywords);
    CHECK_RUN(filters_1_2_lists);
    CHECK_RUN(filters_1_3_replaced);
    CHECK_RUN(filters_1_4_unsupported);
    CHECK_RUN(list_1_1);
    CHECK_RUN(marks_1_1);
    CHECK_RUN(providers_1_1_names);
    CHECK_RUN(providers_1_2_unregistered);
    CHECK_RUN(providers_1_3_kinds);
    CHECK_RUN(providers_1_4_related);
    CHECK_RUN(providers_1_5_elapsed);
    CHECK_RUN(providers_1_6_largest);
#ifdef __linux__
    CHECK_RUN(providers_1_7_cpu);
#endif
    return CHECK_DONE();
}
