/*
 * tests/schema/test_catalog.c --
 *
 *	The catalogue: its lines, its container made here byte by byte, damaged files, the file that the
 *	package ships (in the build directory), and threads that ask for the same provider.
 */
#include "tests/support/sample_event.h"
#include "schema/catalog/catalog.h"
#include "tests/support/check.h"
#include "schema/catalog/catalog_text.h"
#include "schema/model/decode.h"
#include "schema/store/known_providers.h"
#include "base/os.h"
#include <stdlib.h>
#include <zlib.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static const EtwGuid someGuid = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};

static EtwProviderDef *parse(const char *text)
{
    return EtwCatalogParse(&someGuid, "Some-Provider", text, strlen(text));
}

/* ---- Lines ------------------------------------------------------------------------------------ */

static const char lines[] = "M\tKinds\tv\t1=One\t2=Two\n"
                            "M\tBits\tb\t1=A\t80=H\n"
                            "K\tff00000000000000\tTop\n"
                            "O\t0\t\nO\t1\tStart\nO\t64\tOdd_One\n"
                            "T\t0\t\nT\t7\tTask\n"
                            "W\t0\nW\t8000000000000001\n"
                            "S\tWin10-10240\n"
                            "F\tCount:H Kind:I{0 Name:u(=0 Blob:y(16 Rest:y(*\n"
                            "F\tN:I Items:r2[=0 A:B/4 B:u\n"
                            "E\t5\t0\t4\t1\t1\t1\t0\t0\t=\n"
                            "E\t0\t2\t4\t2\t1\t0\t0\t0\t#\n"
                            "E\t3\t0\t0\t0\t0\t0\t0\t1\tOwnName\n"
                            "E\t1\t0\t0\t0\t0\t0\t0\t\n";

static void lines_1_1_events(void)
{
    EtwProviderDef *def = parse(lines);
    REQUIRE(def != NULL);
    CHECK_STR(def->name, "Some-Provider");
    CHECK_EQ(def->origin, ETW_ORIGIN_CATALOG);
    REQUIRE(def->eventCount == 4);
    CHECK_EQ(def->events[0]->desc.id, 5);
    CHECK_EQ(def->events[0]->desc.keyword, 0x8000000000000001);
    CHECK_STR(def->events[0]->schema.event, "Task/Start");
    CHECK_STR(def->events[0]->symbol, "TaskStart");
    CHECK_STR(def->events[0]->since, "Win10-10240");
    CHECK_EQ(def->events[1]->desc.id, 5);
    CHECK_EQ(def->events[1]->desc.version, 2);
    CHECK_STR(def->events[1]->schema.event, "Task/Odd_One");
    CHECK_STR(def->events[1]->symbol, "TaskOddOne5_V2");
    CHECK_EQ(def->events[2]->desc.id, 8);
    CHECK_STR(def->events[2]->schema.event, "OwnName");
    CHECK_EQ(def->events[3]->desc.id, 9);
    CHECK_STR(def->events[3]->schema.event, "Event(9)");
    CHECK_EQ(def->events[3]->schema.fieldCount, 0);
    CHECK_STR(EtwDefNameOf(def, ETW_NAME_KEYWORD, 0xff00000000000000, 0), "Top");
    CHECK_STR(EtwDefNameOf(def, ETW_NAME_OPCODE, 64, 7), "Odd_One");
    CHECK_STR(EtwDefNameOf(def, ETW_NAME_TASK, 7, 0), "Task");
    EtwDefFree(def);
}

static void lines_1_2_fields(void)
{
    EtwProviderDef *def = parse(lines);
    REQUIRE(def != NULL && def->eventCount == 4);
    const EtwField *f = def->events[0]->schema.fields;
    REQUIRE(def->events[0]->schema.fieldCount == 5);
    CHECK_EQ(f[0].in, ETW_IN_UINT16);
    CHECK(f[0].counts);
    CHECK(f[1].map != NULL && f[1].map->count == 2 && !f[1].map->bits);
    CHECK_EQ(f[2].sized, ETW_SIZE_BY_FIELD);
    CHECK_EQ(f[2].length, 0);
    CHECK_EQ(f[3].sized, ETW_SIZE_FIXED);
    CHECK_EQ(f[3].length, 16);
    CHECK_EQ(f[4].sized, ETW_SIZE_REST);
    f = def->events[2]->schema.fields;
    REQUIRE(def->events[2]->schema.fieldCount == 4);
    CHECK_EQ(f[1].in, ETW_IN_STRUCT);
    CHECK_EQ(f[1].members, 2);
    CHECK_EQ(f[1].span, 3);
    CHECK_EQ(f[1].array, ETW_ARRAY_BY_FIELD);
    CHECK_EQ(f[2].out, ETW_OUT_HEX);
    EtwDefFree(def);
}

static void lines_1_3_classic(void)
{
    EtwProviderDef *def = parse("C\nO\t1\tStart\nT\t0\t\nW\t0\nS\t-\nE\t0\t0\t0\t0\t0\t0\t0\t\n");
    REQUIRE(def != NULL);
    CHECK(def->classic);
    CHECK(EtwDefFind(def, 1, 0) != NULL);
    EtwDefFree(def);
}

/* Each line alone makes no sense behind what events need. */
static void lines_1_4_refused(void)
{
    static const char shared[] = "O\t0\t\nT\t0\t\nW\t0\nS\tx\nF\tA:I B:y(=0\nM\tm\tv\t1=x\n";
    static const char *const bad[] = {"X\t1\n", "E\n", "E\t1\n", "E\t65536\t0\t0\t0\t0\t0\t0\t\n",
            "E\t1\t256\t0\t0\t0\t0\t0\t\n", "E\t1\t0\t0\t1\t0\t0\t0\t\n",
            "E\t1\t0\t0\t0\t1\t0\t0\t\n", "E\t1\t0\t0\t0\t0\t1\t0\t\n",
            "E\t1\t0\t0\t0\t0\t0\t1\t\n", "E\t1\t0\t0\t0\t0\t0\t0\t1\n",
            "E\t65535\t0\t0\t0\t0\t0\t0\t\nE\t1\t0\t0\t0\t0\t0\t0\t\n",
            "E\t-1\t0\t0\t0\t0\t0\t0\t\n", "M\tn\n", "M\tn\tv\t1\n", "M\tn\tv\tzz=a\n", "K\tx\tn\n",
            "K\t1\n", "W\t10000000000000000\n", "O\t256\tn\n", "T\t65536\tn\n", "O\t1\n", "F\tA\n",
            "F\tA:\n", "F\tA:z\n", "F\tA:I/\n", "F\tA:I/256\n", "F\tA:I{1\n", "F\tA:u(\n",
            "F\tA:u(=\n", "F\tA:I?\n", "F\tA:r\n", "F\tA:I[65536\n", "Q\n", "\t\n"};
    for (int i = 0; i < COUNT(bad); i++) {
        EtwText text = {0};
        EtwTextStr(&text, shared);
        EtwTextStr(&text, bad[i]);
        EtwProviderDef *def = EtwCatalogParse(&someGuid, "P", text.data, text.size);
        CHECK_MSG(def == NULL, "accepted: %s", bad[i]);
        EtwDefFree(def);
        EtwTextFree(&text);
    }
    EtwProviderDef *good = parse(shared);
    CHECK(good != NULL);
    EtwDefFree(good);
}

/* Fields that EtwFieldsFinish refuses make the provider senseless when an event uses them. */
static void lines_1_5_references(void)
{
    static const char *const bad[] = {"A:I[=0", "A:I B:u(=1", "A:r2 B:I", "A:u B:r1 C:I[=7"};
    for (int i = 0; i < COUNT(bad); i++) {
        EtwText text = {0};
        EtwTextPrintf(
                &text, "O\t0\t\nT\t0\t\nW\t0\nS\tx\nF\t%s\nE\t1\t0\t0\t0\t0\t0\t0\t0\n", bad[i]);
        EtwProviderDef *def = EtwCatalogParse(&someGuid, "P", text.data, text.size);
        CHECK_MSG(def == NULL, "accepted: %s", bad[i]);
        EtwDefFree(def);
        EtwTextFree(&text);
    }
}

/* ---- Container --------------------------------------------------------------------------------- */

static void add32(EtwText *t, uint32_t v)
{
    uint8_t bytes[4];
    EtwStore32(bytes, v);
    EtwTextAdd(t, bytes, sizeof bytes);
}

static void addEntry(EtwText *t, uint8_t first, uint32_t name, uint32_t block, uint32_t packed)
{
    uint8_t guid[16] = {first};
    EtwTextAdd(t, guid, sizeof guid);
    add32(t, name);
    add32(t, block);
    add32(t, packed);
    add32(t, (uint32_t)strlen(lines));
    add32(t, 4);
}

/* Three providers that share one block: one without a GUID, Beta, alpha. */
static void makeFile(EtwText *file)
{
    static const char names[] = "None\0Beta\0alpha";
    uint8_t block[1024];
    uLongf packed = sizeof block;
    EtwText index = {0};
    compress(block, &packed, (const Bytef *)lines, strlen(lines));
    addEntry(&index, 0, 0, 0, (uint32_t)packed);
    addEntry(&index, 1, 5, 0, (uint32_t)packed);
    addEntry(&index, 2, 10, 0, (uint32_t)packed);
    add32(&index, 2);
    add32(&index, 1);
    add32(&index, 0);
    EtwTextAdd(&index, names, sizeof names);
    EtwTextStr(file, "ETWCATLG");
    add32(file, 1);
    add32(file, 3);
    add32(file, sizeof names);
    add32(file, (uint32_t)packed);
    add32(file, (uint32_t)crc32(0, (const Bytef *)index.data, (uInt)index.size));
    EtwTextAdd(file, index.data, index.size);
    EtwTextAdd(file, block, packed);
    EtwTextFree(&index);
}

/* Write a file of its own (each path is opened once) and use it. */
static void useBytes(const char *data, size_t size)
{
    static int sequence;
    char path[64];
    OsFile *file;
    EtwError err;
    int osError;
    snprintf(path, sizeof path, "test_catalog.%u.%d", (unsigned)OsPid(), sequence++);
    REQUIRE(OsFileCreate(&file, path, false, &err) == ETW_OK);
    CHECK(OsFileWriteAt(file, 0, data, size, &osError) == ETW_OK);
    OsFileClose(file);
    EtwCatalogUse(path);
    EtwCatalogProblem(); /* opens it */
    OsFileRemove(path);
}

static void countVisit(void *ctx, const EtwGuid *guid, const char *name, int events)
{
    EtwText *seen = ctx;
    (void)guid;
    EtwTextPrintf(seen, "%s:%d ", name, events);
}

static void container_2_1_finds(void)
{
    EtwText file = {0}, seen = {0};
    EtwGuid guid = {{1}};
    makeFile(&file);
    useBytes(file.data, file.size);
    CHECK(EtwCatalogProblem() == NULL);
    CHECK_STR(EtwCatalogName(&guid), "Beta");
    CHECK(EtwCatalogFind(&guid) != NULL && EtwCatalogFind(&guid)->eventCount == 4);
    CHECK(EtwCatalogGuid("ALPHA", &guid) && guid.bytes[0] == 2);
    CHECK(!EtwCatalogGuid("none", &guid));
    CHECK(EtwCatalogFindName("none") != NULL);
    CHECK(EtwCatalogFindName("nobody") == NULL);
    guid = (EtwGuid){{0}};
    CHECK(EtwCatalogFind(&guid) == NULL);
    CHECK(EtwCatalogName(&guid) == NULL);
    EtwCatalogVisit(countVisit, &seen);
    EtwTextChar(&seen, 0);
    CHECK_STR(seen.data, "alpha:4 Beta:4 None:4 ");
    seen.size = 0;
    EtwCatalogSearch("odd_one", countVisit, &seen);
    EtwCatalogSearch("bet", countVisit, &seen);
    EtwCatalogSearch("nowhere", countVisit, &seen);
    EtwTextChar(&seen, 0);
    CHECK_STR(seen.data, "alpha:4 Beta:4 None:4 Beta:4 ");
    EtwTextFree(&file);
    EtwTextFree(&seen);
}

/* Whatever is cut off: there is no catalogue, and it says so. */
static void container_2_2_cut(void)
{
    EtwText file = {0};
    EtwGuid guid = {{1}};
    makeFile(&file);
    for (size_t size = 0; size < file.size; size++) {
        useBytes(file.data, size);
        CHECK(EtwCatalogProblem() != NULL);
        CHECK(EtwCatalogFind(&guid) == NULL);
    }
    EtwTextFree(&file);
}

static void loadVisited(void *ctx, const EtwGuid *guid, const char *name, int events)
{
    const EtwProviderDef *def = EtwCatalogFindName(name);
    (void)guid, (void)events;
    *(int *)ctx += def != NULL ? def->eventCount : 0;
}

/* A changed byte is noticed: by the CRC of the index, or by the block's own sum. */
static void container_2_3_flipped(void)
{
    EtwText file = {0};
    makeFile(&file);
    for (size_t at = 0; at < file.size; at++) {
        int events = 0;
        file.data[at] ^= 0x41;
        useBytes(file.data, file.size);
        EtwCatalogVisit(loadVisited, &events);
        CHECK_MSG(events == 0, "byte %u was not missed", (unsigned)at);
        file.data[at] ^= 0x41;
    }
    EtwTextFree(&file);
}

/* A sum that was made right again hides nothing that could be read beyond. */
static void container_2_4_forged(void)
{
    EtwText file = {0};
    makeFile(&file);
    size_t indexSize = 3 * 40 + 16;
    for (size_t at = 28; at < 28 + indexSize; at++) {
        static const uint8_t values[] = {0x7f, 0xff};
        for (int i = 0; i < COUNT(values); i++) {
            char before = file.data[at];
            int events = 0;
            file.data[at] = (char)values[i];
            EtwStore32(file.data + 24,
                    (uint32_t)crc32(0, (const Bytef *)file.data + 28, (uInt)indexSize));
            useBytes(file.data, file.size);
            EtwCatalogVisit(loadVisited, &events);
            CHECK(events <= 12);
            file.data[at] = before;
        }
    }
    EtwTextFree(&file);
}

static void container_2_5_absent(void)
{
    EtwGuid guid = {{1}};
    EtwCatalogUse("no/such/catalog.dat");
    CHECK(EtwCatalogProblem() != NULL && strstr(EtwCatalogProblem(), "no/such") != NULL);
    CHECK(EtwCatalogFind(&guid) == NULL);
    EtwCatalogUse(NULL);
    CHECK(EtwCatalogProblem() == NULL);
    CHECK(EtwCatalogFind(&guid) == NULL);
}

/* ---- The file that is shipped ------------------------------------------------------------------ */

static const char shipped[] = "library/catalog.dat";

static void checkProvider(void *ctx, const EtwGuid *guid, const char *name, int events)
{
    const EtwProviderDef *def =
            EtwGuidIsNull(guid) ? EtwCatalogFindName(name) : EtwCatalogFind(guid);
    CHECK_MSG(def != NULL, "%s makes no sense", name);
    if (def != NULL) {
        CHECK_EQ(def->eventCount, events);
        *(int *)ctx += def->eventCount;
    }
}

static void shipped_3_1_all(void)
{
    int events = 0;
    if (!OsFileExists(shipped)) {
        SKIP("no %s here", shipped);
    }
    EtwCatalogUse(shipped);
    REQUIRE(EtwCatalogProblem() == NULL);
    EtwCatalogVisit(checkProvider, &events);
    CHECK(events > 64000);
}

/* An array of structs with a text and an array in each. */
static void shipped_3_2_bulk_type(void)
{
    EtwGuid clr;
    if (!OsFileExists(shipped)) {
        SKIP("no %s here", shipped);
    }
    EtwCatalogUse(shipped);
    EtwGuidParse("e13c0d23-ccbc-4e12-931b-d9cc2eee27e4", &clr);
    CHECK_STR(EtwCatalogName(&clr), "Microsoft-Windows-DotNETRuntime");
    const EtwProviderDef *def = EtwCatalogFind(&clr);
    REQUIRE(def != NULL);
    const EtwEventDef *event = EtwDefFind(def, 15, 0);
    REQUIRE(event != NULL);
    CHECK_STR(event->schema.event, "Type/BulkType");
    CHECK_EQ(event->schema.fieldCount, 11);
    CHECK_EQ(event->schema.fields[2].in, ETW_IN_STRUCT);
    CHECK_EQ(event->schema.fields[2].members, 8);
    CHECK_EQ(event->schema.fields[10].array, ETW_ARRAY_BY_FIELD);
    CHECK_EQ(event->schema.fields[10].count, 9);
}

/* Classes that classic events come under. */
static void shipped_3_4_classic(void)
{
    EtwGuid guid;
    if (!OsFileExists(shipped)) {
        SKIP("no %s here", shipped);
    }
    EtwCatalogUse(shipped);
    EtwGuidParse("06a01367-79d3-4594-8eb3-c721603c4679", &guid);
    const EtwProviderDef *def = EtwCatalogFind(&guid);
    REQUIRE(def != NULL && def->classic && !def->checked);
    const EtwEventDef *event = EtwDefFind(def, 1, 3);
    REQUIRE(event != NULL);
    CHECK_STR(event->schema.event, "AspNetReq/Start");
    CHECK_STR(event->schema.fields[4].name, "QueryString");
}

static void probeAll(void *ctx)
{
    int events = 0;
    EtwCatalogVisit(loadVisited, &events);
    *(int *)ctx = events;
}

/* Threads that open the same new file and read the same providers get the same definitions. */
static void shipped_3_3_threads(void)
{
    enum { THREADS = 4 };
    OsThread *threads[THREADS];
    int counts[THREADS] = {0};
    if (!OsFileExists(shipped)) {
        SKIP("no %s here", shipped);
    }
    EtwCatalogUse("./library/catalog.dat");
    for (int i = 0; i < THREADS; i++) {
        REQUIRE(OsThreadStart(&threads[i], "ask", probeAll, &counts[i]) == ETW_OK);
    }
    for (int i = 0; i < THREADS; i++) {
        OsThreadJoin(threads[i]);
        CHECK_EQ(counts[i], counts[0]);
    }
    CHECK(counts[0] > 64000);
}

/* ---- Known providers --------------------------------------------------------------------------- */

static void known_4_1_finds(void)
{
    EtwKnownProvider known;
    if (!OsFileExists(shipped)) {
        SKIP("no %s here", shipped);
    }
    EtwCatalogUse(shipped);
    CHECK(!EtwKnownProviderFind("No-Such-Provider", &known));
    CHECK(!EtwKnownProviderFind("00000000-0000-0000-0000-000000000000", &known));
    REQUIRE(EtwKnownProviderFind("microsoft-windows-dotnetruntime", &known));
    CHECK_EQ(known.origin, ETW_ORIGIN_CATALOG);
    CHECK(EtwKnownProviderDef(&known) != NULL &&
            EtwKnownProviderDef(&known)->eventCount == known.events);
    EtwProviderDef *mine =
            EtwDefNew(&known.guid, "Microsoft-Windows-DotNETRuntime", ETW_ORIGIN_MANIFEST, "x.man");
    EtwDefFinish(mine);
    EtwLibraryAdd(mine);
    REQUIRE(EtwKnownProviderFind("Microsoft-Windows-DotNETRuntime", &known));
    CHECK_EQ(known.origin, ETW_ORIGIN_MANIFEST);
    CHECK(EtwKnownProviderDef(&known) == mine);
    EtwLibraryClear();
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    OsInit();
    CHECK_RUN(lines_1_1_events);
    CHECK_RUN(lines_1_2_fields);
    CHECK_RUN(lines_1_3_classic);
    CHECK_RUN(lines_1_4_refused);
    CHECK_RUN(lines_1_5_references);
    CHECK_RUN(container_2_1_finds);
    CHECK_RUN(container_2_2_cut);
    CHECK_RUN(container_2_3_flipped);
    CHECK_RUN(container_2_4_forged);
    CHECK_RUN(container_2_5_absent);
    CHECK_RUN(shipped_3_1_all);
    CHECK_RUN(shipped_3_2_bulk_type);
    CHECK_RUN(shipped_3_3_threads);
    CHECK_RUN(shipped_3_4_classic);
    CHECK_RUN(known_4_1_finds);
    return CHECK_DONE();
}
