/*
 * tests/schema/test_kernel_schema.c --
 *
 *	Layouts of Windows' kernel events: each row of the data they were made from, versions
 *	and sizes that pick one of several, the language of SIDs and pointers, and that real files
 *	(ETW_CORPUS, or ../shared/corpus beside the checkout) are consumed to the last byte.
 */
#include "tests/support/check.h"
#include "base/os.h"
#include "etl/format.h"
#include "etl/read/reader.h"
#include "schema/model/decode.h"
#include "schema/kernel/kernel_classes.h"
#include <stdlib.h>

static const char *Beside(const char *name)
{
    static char paths[4][1200];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    const char *cut = strstr(__FILE__, "tests/schema/");
    const char *env = getenv("ETW_CORPUS");
    if (env != NULL && strncmp(name, "../shared/corpus", 16) == 0) {
        snprintf(path, sizeof paths[0], "%s%s", env, name + 16);
        return path;
    }
    snprintf(path, sizeof paths[0], "%.*s%s", cut ? (int)(cut - __FILE__) : 0, __FILE__, name);
    if (!OsFileExists(path)) {
        snprintf(path, sizeof paths[0], "%s", name);
    }
    return path;
}

/* What a decoding gave. */
typedef struct Got {
    char text[4000]; /* NAME=VALUE ... */
    int values;
    size_t rest;
    EtwStatus status;
} Got;

static void GotValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    Got *got = ctx;
    EtwText text = {0};
    EtwFormatValue(&text, field, value);
    size_t used = strlen(got->text);
    snprintf(got->text + used, sizeof got->text - used, "%s%s=%.*s", used ? " " : "", field->name,
            (int)text.size, text.size ? text.data : "");
    EtwTextFree(&text);
    got->values++;
}

static void GotRest(void *ctx, const uint8_t *data, size_t size)
{
    (void)data;
    ((Got *)ctx)->rest = size;
}

static void CountValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    (void)field, (void)value;
    ((Got *)ctx)->values++;
}

static EtwEvent Classic(const char *guid, unsigned opcode, unsigned version, unsigned pointerSize)
{
    EtwEvent event = {.classic = true,
            .kind = pointerSize == 4 ? ETL_PERFINFO32 : ETL_PERFINFO64,
            .pointerSize = (uint8_t)pointerSize,
            .desc = {.opcode = (uint8_t)opcode, .version = (uint8_t)version}};
    EtwGuidParse(guid, &event.provider);
    return event;
}

static const EtwSchema *Decoded(EtwSchemaStore *store, const EtwEvent *event, Got *got)
{
    static const EtwVisitor visitor = {.value = GotValue, .rest = GotRest};
    const EtwSchema *schema = EtwSchemaOf(store, event);
    memset(got, 0, sizeof *got);
    if (schema != NULL) {
        got->status = EtwDecode(schema, event, &visitor, got);
    }
    return schema;
}

static const char threadGuid[] = "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c";
static const char diskGuid[] = "3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c";
static const char processGuid[] = "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c";
static const char faultGuid[] = "3d6fa8d3-fe05-11d0-9dda-00c04fd7ba7c";
static const char imageGuid[] = "2cb15d1d-5fc1-11d2-abe1-00a0c911f518";

/* ---- The tables ------------------------------------------------------------------------------ */

static int WordsOf(const char *text)
{
    int words = *text != 0;
    for (; *text != 0; text++) {
        words += *text == ' ';
    }
    return words;
}

/* One row of the data: its layout is found by class, opcode and version, has its name and fields, and
 * takes just the bytes that the data says. */
static void CheckRow(EtwSchemaStore *store, char **column, const uint8_t *zeros)
{
    static const EtwVisitor visitor = {.value = CountValue, .rest = GotRest};
    bool empty = strcmp(column[8], "(no payload)") == 0, ours = strcmp(column[1], "0x00") == 0;
    for (int wide = 0; wide < 2; wide++) {
        EtwEvent event = Classic(
                column[0], (unsigned)atoi(column[2]), (unsigned)atoi(column[3]), wide ? 8 : 4);
        Got got = {{0}, 0, 0, ETW_OK};
        event.payload = zeros;
        event.payloadSize = (uint32_t)atoi(column[6 + wide]);
        /* The data does not count an empty text's NUL. */
        event.payloadSize += strcmp(column[4], "PerfInfo_Mark") == 0;
        const EtwSchema *schema = EtwSchemaOf(store, &event);
        if (!CHECK_MSG(schema != NULL, "%s: no layout", column[4])) {
            return;
        }
        bool variable = strstr(column[8], "str") != NULL || strstr(column[8], ":sid") != NULL ||
                        strstr(column[8], ":obj") != NULL ||
                        strstr(column[8], "ProcessorCount:") != NULL; /* counts an array */
        CHECK_MSG(schema->version == atoi(column[3]), "%s: version %d", column[4], schema->version);
        CHECK_EQ(schema->origin, ETW_ORIGIN_KERNEL);
        if (ours) {
            continue; /* has names and fields of its own */
        }
        CHECK_MSG(EtwEventHasName(store, schema, &event, column[5]), "%s: %s, not %s", column[4],
                schema->event, column[5]);
        CHECK_MSG(schema->fieldCount == (empty ? 0 : WordsOf(column[8])), "%s: %d fields",
                column[4], schema->fieldCount);
        EtwStatus status = EtwDecode(schema, &event, &visitor, &got);
        CHECK_MSG(variable || got.rest == 0, "%s: %d bytes left of %u", column[4], (int)got.rest,
                event.payloadSize);
        CHECK_MSG(variable || status == ETW_OK, "%s: %u bytes are not enough", column[4],
                event.payloadSize);
    }
}

static void tables_1_1_rows(void)
{
    static uint8_t zeros[4096];
    char line[8192];
    int rows = 0;
    FILE *data = fopen(Beside("tools/data/kernel-events.tsv"), "r");
    if (data == NULL) {
        SKIP("no tools/data/kernel-events.tsv");
    }
    EtwSchemaStore *store = EtwSchemaStoreNew();
    REQUIRE(fgets(line, sizeof line, data) != NULL); /* names of the columns */
    while (fgets(line, sizeof line, data) != NULL) {
        char *column[9] = {strtok(line, "\t\n")};
        for (int i = 1; i < 9; i++) {
            column[i] = strtok(NULL, "\t\n");
        }
        if (CHECK_MSG(column[8] != NULL, "line %d", rows + 2)) {
            CheckRow(store, column, zeros);
        }
        rows++;
    }
    fclose(data);
    CHECK_EQ(rows, 544);
    EtwSchemaStoreFree(store);
}

static void CountDef(void *ctx, const EtwProviderDef *def)
{
    int *counts = ctx;
    counts[0]++;
    counts[1] += def->eventCount;
    CHECK(def->classic && def->origin == ETW_ORIGIN_KERNEL);
    CHECK(EtwKernelFind(&def->guid) == def);
}

static void tables_1_2_visit(void)
{
    int counts[2] = {0};
    EtwKernelVisit(CountDef, counts);
    CHECK_MSG(counts[0] >= 36, "%d classes", counts[0]);
    CHECK_MSG(counts[1] > 700, "%d events", counts[1]);
    EtwGuid guid;
    EtwGuidFromName("Tcl-Script", &guid);
    CHECK(EtwKernelFind(&guid) == NULL);
}

/* A hook without a known layout has a name, and its payload is a rest. */
static void tables_1_3_names(void)
{
    static const uint8_t payload[12];
    EtwSchemaStore *store = EtwSchemaStoreNew();
    EtwEvent event = Classic(faultGuid, 112, 2, 8);
    Got got;
    event.payload = payload;
    event.payloadSize = sizeof payload;
    const EtwSchema *schema = Decoded(store, &event, &got);
    REQUIRE(schema != NULL);
    CHECK_STR(schema->provider, "PageFault");
    CHECK_STR(schema->event, "MEMINFO");
    CHECK_EQ(got.rest, 12);
    event.desc.opcode = 255;
    CHECK(EtwSchemaOf(store, &event) == NULL);
    CHECK_STR(EtwProviderName(store, &event.provider), "PageFault");
    EtwSchemaStoreFree(store);
}

/* ---- Versions and sizes ---------------------------------------------------------------------- */

static void versions_2_1_newer(void)
{
    uint8_t payload[60] = {7};
    EtwSchemaStore *store = EtwSchemaStoreNew();
    EtwEvent event = Classic(diskGuid, 10, 9, 8);
    Got got;
    event.payload = payload;
    event.payloadSize = sizeof payload;
    const EtwSchema *schema = Decoded(store, &event, &got);
    REQUIRE(schema != NULL);
    CHECK_EQ(schema->version, 3);
    CHECK_EQ(got.values, 9);
    CHECK_EQ(got.rest, 8);
    event = Classic(faultGuid, 32, 0, 8); /* older than any */
    schema = EtwSchemaOf(store, &event);
    REQUIRE(schema != NULL);
    CHECK_EQ(schema->version, 2);
    EtwSchemaStoreFree(store);
}

static void versions_2_2_sizes(void)
{
    static const struct {
        const char *guid;
        unsigned opcode, version, size;
        int values;
    } layouts[] = {{threadGuid, 36, 1, 16, 10}, {threadGuid, 36, 1, 20, 11},
            {diskGuid, 10, 0, 32, 6}, {diskGuid, 10, 0, 48, 8}, {threadGuid, 4, 1, 8, 2},
            {threadGuid, 4, 1, 57, 9}, {threadGuid, 1, 3, 72, 14}, {threadGuid, 1, 3, 74, 15}};
    static const uint8_t zeros[128];
    EtwSchemaStore *store = EtwSchemaStoreNew();
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        EtwEvent event = Classic(layouts[i].guid, layouts[i].opcode, layouts[i].version, 8);
        Got got;
        event.payload = zeros;
        event.payloadSize = layouts[i].size;
        Decoded(store, &event, &got);
        CHECK_MSG(got.status == ETW_OK && got.rest == 0 && got.values == layouts[i].values,
                "opcode %u version %u of %u bytes: %d values, %d left", layouts[i].opcode,
                layouts[i].version, layouts[i].size, got.values, (int)got.rest);
    }
    EtwSchemaStoreFree(store);
}

/* ---- Values ---------------------------------------------------------------------------------- */

static void values_3_1_names(void)
{
    static const uint8_t cswitch[24] = {
            1, 2, 0, 0, 3, 4, 0, 0, 8, 9, 0, 0, 15, 1, 5, 2, 7, 0, 0, 0};
    static const uint8_t create[] = {0x10, 0, 0, 0, 0x20, 0, 0, 0, 5, 0, 0, 0, 0x60, 0, 0, 1, 0x80,
            0, 0, 0, 7, 0, 0, 0, 'a', 0, 0, 0};
    EtwSchemaStore *store = EtwSchemaStoreNew();
    EtwEvent event = Classic(threadGuid, 36, 2, 8);
    Got got;
    event.payload = cswitch;
    event.payloadSize = sizeof cswitch;
    Decoded(store, &event, &got);
    CHECK_STR(got.text, "NewThreadId=513 OldThreadId=1027 NewThreadPriority=8 OldThreadPriority=9 "
                        "PreviousCState=0 SpareByte=0 OldThreadWaitReason=WrQueue "
                        "OldThreadWaitMode=UserMode OldThreadState=Waiting "
                        "OldThreadWaitIdealProcessor=2 NewThreadWaitTime=7 Reserved=0");
    event = Classic("90cbdc39-4a3e-11d1-84f4-0000f80464e3", 64, 3, 4);
    event.payload = create;
    event.payloadSize = sizeof create;
    Decoded(store, &event, &got);
    CHECK_STR(got.text, "IrpPtr=0x10 FileObject=0x20 TTID=5 "
                        "CreateOptions=SYNCHRONOUS_IO_NONALERT|NON_DIRECTORY_FILE|0x1000000 "
                        "FileAttributes=NORMAL ShareAccess=READ|WRITE|DELETE OpenPath=a");
    EtwSchemaStoreFree(store);
}

/* Process/Start version 1, 32 bits: a SID behind two pointers, none at all, and one behind an empty
 * TOKEN_USER. */
static void values_3_2_sid(void)
{
    static const uint8_t sid[12] = {1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0};
    static const char *const want[] = {"UserSID=S-1-5-18 ImageFileName=x",
            "UserSID= ImageFileName=x", "UserSID=S-1-5-18 ImageFileName=x"};
    EtwSchemaStore *store = EtwSchemaStoreNew();
    for (int form = 0; form < 3; form++) {
        uint8_t payload[64] = {0};
        size_t size = 20;
        payload[size] = form == 0 ? 0x40 : 0;
        size += form == 1 ? 4 : 8;
        if (form != 1) {
            memcpy(payload + size, sid, sizeof sid);
            size += sizeof sid;
        }
        memcpy(payload + size, "x", 2);
        EtwEvent event = Classic(processGuid, 1, 1, 4);
        Got got;
        event.payload = payload;
        event.payloadSize = (uint32_t)size + 2;
        Decoded(store, &event, &got);
        CHECK_EQ(got.rest, 0);
        const char *at = strstr(got.text, "UserSID");
        CHECK_STR(at ? at : got.text, want[form]);
    }
    EtwSchemaStoreFree(store);
}

/* A 32-bit program wrote down what a 64-bit system had said. */
static void values_3_3_width(void)
{
    static const uint8_t wide[] = {
            0, 0, 0x16, 1, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 'C', 0, ':', 0, 0, 0};
    EtwEvent event = Classic(imageGuid, 10, 1, 4);
    event.kind = ETL_FULL32;
    event.payload = wide;
    event.payloadSize = sizeof wide;
    CHECK_EQ(EtwKernelPointerSize(&event), 8);
    event.kind = ETL_PERFINFO32; /* the kernel knows what it writes */
    CHECK_EQ(EtwKernelPointerSize(&event), 4);
    event.kind = ETL_FULL32;
    event.payloadSize = 9; /* fits neither */
    CHECK_EQ(EtwKernelPointerSize(&event), 4);
}

/* ---- Real files ------------------------------------------------------------------------------ */

/* Events of a file by class, all checked to be consumed exactly. */
typedef struct Counts {
    char name[64];
    int count;
} Counts;

static void CountEvent(Counts *counts, int max, const char *provider, const char *event)
{
    char name[64];
    int i = 0;
    snprintf(name, sizeof name, "%s/%s", provider, event);
    while (i < max - 1 && counts[i].name[0] != 0 && strcmp(counts[i].name, name) != 0) {
        i++;
    }
    snprintf(counts[i].name, sizeof counts[i].name, "%s", name);
    counts[i].count++;
}

static int CountOf(const Counts *counts, const char *name)
{
    while (counts->name[0] != 0 && strcmp(counts->name, name) != 0) {
        counts++;
    }
    return counts->count;
}

enum { NAMES = 200 };

static bool CheckFile(const char *path, Counts *counts)
{
    static const EtwVisitor visitor = {.value = CountValue, .rest = GotRest};
    EtlReader *reader;
    EtwError error;
    EtwEvent event;
    memset(counts, 0, sizeof *counts * NAMES);
    if (EtlReaderOpen(&reader, path, NULL, NULL, &error) != ETW_OK) {
        return CHECK_MSG(false, "%s: %s", path, error.message);
    }
    EtwSchemaStore *store = EtwSchemaStoreNew();
    while (EtlReaderNext(reader, &event) == ETW_OK) {
        Got got;
        if (EtwKernelFind(&event.provider) == NULL) {
            continue;
        }
        event.pointerSize = EtwKernelPointerSize(&event);
        const EtwSchema *schema = EtwSchemaOf(store, &event);
        got.rest = 0;
        got.status = schema ? EtwDecode(schema, &event, &visitor, &got) : ETW_E_ARG;
        if (!CHECK_MSG(got.status == ETW_OK && got.rest == 0,
                    "%s: %s/%s version %d of %u bytes: status %d, %d bytes left", path,
                    schema ? schema->provider : "?", schema ? schema->event : "?",
                    event.desc.version, event.payloadSize, got.status, (int)got.rest)) {
            break;
        }
        CountEvent(counts, NAMES, schema->provider, schema->event);
    }
    EtwSchemaStoreFree(store);
    EtlReaderClose(reader);
    return true;
}

static void real_4_1_all(void)
{
    char line[2000], file[400];
    Counts counts[NAMES];
    int files = 0, events = 0;
    FILE *index = fopen(Beside("../shared/corpus/INDEX.md"), "r");
    if (index == NULL) {
        SKIP("no corpus (set ETW_CORPUS)");
    }
    while (fgets(line, sizeof line, index) != NULL) {
        char path[1200];
        if (sscanf(line, "- `%399[^`]` (%*d bytes", file) != 1) {
            continue;
        }
        snprintf(path, sizeof path, "../shared/corpus/%s", file);
        CheckFile(Beside(path), counts);
        for (int i = 0; i < NAMES; i++) {
            events += counts[i].count;
        }
        files++;
    }
    fclose(index);
    CHECK_MSG(files >= 38 && events > 300000, "%d files, %d events", files, events);
}

/* Two merged files, counted by an independent decoder. */
static void real_4_2_counts(void)
{
    static const char *const files[] = {"../shared/corpus/microsoft__perfview/net.4.5.2.x64.etl",
            "../shared/corpus/microsoft__perfview/net.4.5.2.x86.etl"};
    static const struct {
        const char *name;
        int count;
    } want[] = {{"PerfInfo/SampleProf", 168337}, {"Image/DCStart", 3573}, {"Image/DCEnd", 3586},
            {"FileIo/FileRundown", 5971}, {"DiskIo/Read", 3547}, {"PageFault/HardFault", 547},
            {"StackWalk/StackKeyUser", 15578}, {"Process/DCStart", 67}, {"TcpIp/RecvIPV6", 491}};
    Counts counts[2][NAMES];
    for (int i = 0; i < 2; i++) {
        if (!OsFileExists(Beside(files[i]))) {
            SKIP("no corpus (set ETW_CORPUS)");
        }
        CheckFile(Beside(files[i]), counts[i]);
    }
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        int got = CountOf(counts[0], want[i].name) + CountOf(counts[1], want[i].name);
        CHECK_MSG(got == want[i].count, "%s: %d, not %d", want[i].name, got, want[i].count);
    }
}

/* Image data of both widths and three versions, process data: the same events in each. */
static void real_4_3_sawbuck(void)
{
    static const char *const images[] = {"image_data_32_v0", "image_data_32_v1", "image_data_32_v2",
            "image_data_64_v0", "image_data_64_v1", "image_data_64_v2", "test_data_32_v0",
            "test_data_32_v1", "test_data_32_v2", "test_data_64_v0", "test_data_64_v1",
            "test_data_64_v2"};
    static const char *const processes[] = {
            "process_data_32_v2", "process_data_32_v3", "process_data_64_v2", "process_data_64_v3"};
    Counts counts[NAMES];
    char path[200];
    if (!OsFileExists(Beside("../shared/corpus/google__sawbuck/test_data_32_v0.etl"))) {
        SKIP("no corpus (set ETW_CORPUS)");
    }
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        snprintf(path, sizeof path, "../shared/corpus/google__sawbuck/%s.etl", images[i]);
        CheckFile(Beside(path), counts);
        CHECK_EQ(CountOf(counts, "Image/DCStart"), 24);
        CHECK_EQ(CountOf(counts, "Image/Load"), 1);
        CHECK_EQ(CountOf(counts, "Image/UnLoad"), 1);
    }
    for (size_t i = 0; i < sizeof processes / sizeof *processes; i++) {
        snprintf(path, sizeof path, "../shared/corpus/google__sawbuck/%s.etl", processes[i]);
        CheckFile(Beside(path), counts);
        CHECK_EQ(CountOf(counts, "Process/Start"), 1);
        CHECK_EQ(CountOf(counts, "Process/End"), 1);
        CHECK_EQ(CountOf(counts, "Process/DCStart"), 3);
        CHECK_EQ(CountOf(counts, "Process/DCEnd"), 3);
    }
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(tables_1_1_rows);
    CHECK_RUN(tables_1_2_visit);
    CHECK_RUN(tables_1_3_names);
    CHECK_RUN(versions_2_1_newer);
    CHECK_RUN(versions_2_2_sizes);
    CHECK_RUN(values_3_1_names);
    CHECK_RUN(values_3_2_sid);
    CHECK_RUN(values_3_3_width);
    CHECK_RUN(real_4_1_all);
    CHECK_RUN(real_4_2_counts);
    CHECK_RUN(real_4_3_sawbuck);
    return CHECK_DONE();
}
