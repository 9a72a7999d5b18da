/*
 * tests/etl/test_rebuild.c --
 *
 *	Records that are written again: header fields patched in place, payload, items or time replaced with all other
 *	bytes unchanged, files built from records.
 */
#include "tests/support/check.h"
#include "etl/format.h"
#include "etl/record.h"
#include "etl/write/file_builder.h"
#include "etl/write/record_rebuild.h"
#include "etl/write/synthetic_header.h"
#include "tests/support/etlfile.h"

#define ALL ((1u << (ETL_EDIT_VERSION + 1)) - 1)
#define BIT(field) (1u << ETL_EDIT_##field)

static const EtlEdit edit = {.provider = {{0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19,
                                     0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f, 0x20}},
        .activity = {{0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a, 0x3b, 0x3c, 0x3d,
                0x3e, 0x3f, 0x40}},
        .desc = {.id = 0x4142,
                .version = 0x43,
                .channel = 0x44,
                .level = 0x45,
                .opcode = 0x46,
                .task = 0x4748,
                .keyword = 0x494a4b4c4d4e4f50},
        .pid = 0x51525354,
        .tid = 0x55565758,
        .cpu = 7};

/* ---- Patches --------------------------------------------------------------------------------- */

/* Each field alone changes its own bytes only; what a kind of record lacks is reported and changes nothing. */
static void patch_1_1_fields(void)
{
    /* Offset and size of each field, in the order of EtlEditField; -1: not there. */
    static const struct {
        unsigned type;
        size_t header;
        int at[12];
    } kinds[] = {{ETL_EVENT32, 0x50,
                         {0x40, 0x2b, 0, 0x28, 0x30, 0x2c, 0x2d, 0x0c, 0x18, 0x2e, 0x08, 0x2a}},
            {ETL_EVENT64, 0x50,
                    {0x40, 0x2b, 0, 0x28, 0x30, 0x2c, 0x2d, 0x0c, 0x18, 0x2e, 0x08, 0x2a}},
            {ETL_FULL32, 0x30, {-1, -1, 0, -1, -1, 5, 4, 0x0c, 0x18, -1, 0x08, 6}},
            {ETL_FULL64, 0x30, {-1, -1, 0, -1, -1, 5, 4, 0x0c, 0x18, -1, 0x08, 6}},
            {ETL_INSTANCE32, 0x40, {-1, -1, 0, -1, -1, 5, 4, 0x0c, 0x18, -1, 0x08, 6}},
            {ETL_INSTANCE64, 0x40, {-1, -1, 0, -1, -1, 5, 4, 0x0c, 0x18, -1, 0x08, 6}},
            {ETL_SYSTEM32, 0x20, {-1, -1, 0, -1, -1, -1, -1, 0x0c, -1, -1, 0x08, -1}},
            {ETL_SYSTEM64, 0x20, {-1, -1, 0, -1, -1, -1, -1, 0x0c, -1, -1, 0x08, -1}},
            {ETL_COMPACT32, 0x18, {-1, -1, 0, -1, -1, -1, -1, 0x0c, -1, -1, 0x08, -1}},
            {ETL_COMPACT64, 0x18, {-1, -1, 0, -1, -1, -1, -1, 0x0c, -1, -1, 0x08, -1}},
            {ETL_PERFINFO32, 0x10, {-1, -1, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1}},
            {0x90, 0x30, {-1, -1, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1}}};
    const uint8_t *values[12] = {edit.activity.bytes, &edit.desc.channel, NULL,
            (const uint8_t *)&edit.desc.id, (const uint8_t *)&edit.desc.keyword, &edit.desc.level,
            &edit.desc.opcode, (const uint8_t *)&edit.pid, edit.provider.bytes,
            (const uint8_t *)&edit.desc.task, (const uint8_t *)&edit.tid, &edit.desc.version};
    static const size_t sizes[12] = {16, 1, 0, 2, 8, 1, 1, 4, 16, 2, 4, 1};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        Image f = {0};
        size_t at = RecordAdd(&f, kinds[i].type, kinds[i].header, 9), size = kinds[i].header + 9;
        for (int field = 0; field < 12; field++) {
            uint8_t got[100], want[100];
            EtlEdit one = edit;
            memcpy(got, f.data + at, size);
            memcpy(want, f.data + at, size);
            one.fields = 1u << field;
            if (kinds[i].at[field] > 0) {
                memcpy(want + kinds[i].at[field], values[field], sizes[field]);
            }
            unsigned lacks = EtlEditApply(&one, got, size);
            CHECK_MSG(lacks == (kinds[i].at[field] < 0 ? one.fields : 0),
                    "kind %u, field %d: lacks %x", kinds[i].type, field, lacks);
            CHECK_MSG(memcmp(got, want, size) == 0, "kind %u, field %d", kinds[i].type, field);
        }
        /* A record that is too short is left alone. */
        if (kinds[i].type != ETL_PERFINFO32 && kinds[i].type != 0x90) {
            size_t header = kinds[i].type == ETL_INSTANCE32 || kinds[i].type == ETL_INSTANCE64
                                    ? 0x30
                            : kinds[i].type == ETL_SYSTEM32 || kinds[i].type == ETL_SYSTEM64
                                    ? 0x18
                                    : kinds[i].header;
            uint8_t got[100];
            EtlEdit all = edit;
            all.fields = ALL & ~BIT(CPU);
            memcpy(got, f.data + at, size);
            CHECK_EQ(EtlEditApply(&all, got, header - 1), all.fields);
            CHECK_MEM(got, size, f.data + at, size);
            CHECK(EtlEditApply(&all, got, header) != all.fields);
        }
        ImageFree(&f);
    }
}

/* ---- Records with another payload, item or time ------------------------------------------------ */

/* A record as an event of a source: with what is not in the record. */
static EtwEvent eventAt(const Image *f, size_t at)
{
    EtwEvent event;
    size_t size;
    CHECK(EtlRecordParse(f->data + at, f->size - at, &event, &size));
    event.time = 777;
    event.ticks = 12345;
    event.cpu = 3;
    event.logger = 9;
    event.late = true;
    event.process = "p";
    event.object = "o";
    return event;
}

static void checkKept(const EtwEvent *event)
{
    CHECK_EQ(event->time, 777);
    CHECK_EQ(event->ticks, 12345);
    CHECK_EQ(event->cpu, 3);
    CHECK_EQ(event->logger, 9);
    CHECK(event->late);
    CHECK_STR(event->process, "p");
    CHECK_STR(event->object, "o");
}

static void rebuild_2_1_payload(void)
{
    static const struct {
        unsigned type;
        size_t header;
    } kinds[] = {{ETL_EVENT64, 0x50}, {ETL_FULL32, 0x30}, {ETL_SYSTEM64, 0x20},
            {ETL_COMPACT32, 0x18}, {ETL_PERFINFO64, 0x10}};
    static const char *const payloads[] = {
            "", "x", "12345678", "a payload that is longer than before"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        Image f = {0};
        EtlRebuild rebuild = {0};
        size_t at = RecordAdd(&f, kinds[i].type, kinds[i].header, 13);
        for (size_t b = 4; b < kinds[i].header;
                b++) { /* every byte of the header has a value of its own */
            f.data[at + b] = b == 4 || b == 5 ? f.data[at + b] : (uint8_t)(b + 100);
        }
        if (kinds[i].type == ETL_EVENT64) {
            EtwStore16(f.data + at + 4, 0x40);
        }
        uint8_t original[0x60];
        memcpy(original, f.data + at, kinds[i].header);
        EtwEvent event = eventAt(&f, at);
        size_t sizeAt = EtlKindTable[kinds[i].type].sizeShift / 8;
        for (size_t p = 0; p < 4; p++) {
            size_t size = strlen(payloads[p]);
            REQUIRE(EtlRebuildPayload(&rebuild, &event, payloads[p], size));
            CHECK_MEM(event.payload, event.payloadSize, payloads[p], size);
            CHECK_EQ(event.recordSize, kinds[i].header + size);
            EtwStore16(original + sizeAt, (uint16_t)(kinds[i].header + size));
            CHECK_MEM(event.record, kinds[i].header, original, kinds[i].header);
            CHECK(event.record == EtlRebuildRecord(&rebuild));
            checkKept(&event);
        }
        /* A part of its own payload. */
        REQUIRE(EtlRebuildPayload(&rebuild, &event, event.payload + 2, 7));
        CHECK_MEM(event.payload, event.payloadSize, "payload", 7);
        EtlRebuildFree(&rebuild);
        ImageFree(&f);
    }
}

static void rebuild_2_2_most(void)
{
    static uint8_t big[70000];
    Image f = {0};
    EtlRebuild rebuild = {0};
    EtwEvent event = eventAt(&f, RecordAdd(&f, ETL_EVENT64, 0x50, 8)), before = event;
    CHECK(!EtlRebuildPayload(&rebuild, &event, big, sizeof big));
    CHECK(!EtlRebuildPayload(&rebuild, &event, big, ETL_MAX_RECORD - 0x50 + 1));
    CHECK(event.record == before.record);
    CHECK(EtlRebuildPayload(&rebuild, &event, big, ETL_MAX_RECORD - 0x50));
    CHECK_EQ(event.recordSize, ETL_MAX_RECORD);
    CHECK(!EtlRebuildItem(&rebuild, &event, ETL_ITEM_SID, "sid", 3));
    EtlRebuildFree(&rebuild);
    ImageFree(&f);
}

/* "type:text ", of each item in order. */
static const char *itemsOf(const EtwEvent *event)
{
    static char text[200];
    int used = 0;
    text[0] = '\0';
    for (size_t at = 0; at + 8 <= event->extendedSize;) {
        const uint8_t *item = event->extended + at;
        size_t size = EtwLoad16(item + 6);
        bool more = at + EtwAlign8(8 + size) < event->extendedSize;
        CHECK_EQ(EtwLoad16(item), EtwAlign8(8 + size));
        CHECK_EQ(EtwLoad16(item + 4) & 1, more);
        used += snprintf(text + used, sizeof text - (size_t)used, "%d:%.*s ", EtwLoad16(item + 2),
                (int)size, (const char *)item + 8);
        at += EtwAlign8(8 + size);
    }
    CHECK_EQ((EtwLoad16(event->record + 4) & ETL_EVENT_FLAG_EXTENDED) != 0,
            event->extendedSize != 0);
    CHECK_MEM(event->payload, event->payloadSize, "\0\1\2\3\4", 5);
    return text;
}

/* Items are added at the end, replaced where they stand, and removed; the others and the payload stay. */
static void rebuild_2_3_items(void)
{
    static const struct {
        unsigned type;
        const char *data, *want;
    } steps[] = {{ETL_ITEM_SID, "sid", "2:sid "}, {ETL_ITEM_TS_ID, "12345678", "2:sid 3:12345678 "},
            {ETL_ITEM_PSM_KEY, "k", "2:sid 3:12345678 9:k "},
            {ETL_ITEM_TS_ID, "a longer one", "2:sid 3:a longer one 9:k "},
            {ETL_ITEM_SID, "", "2: 3:a longer one 9:k "},
            {ETL_ITEM_EVENT_KEY, NULL, "2: 3:a longer one 9:k "}, {ETL_ITEM_TS_ID, NULL, "2: 9:k "},
            {ETL_ITEM_PSM_KEY, NULL, "2: "}, {ETL_ITEM_SID, NULL, ""}, {ETL_ITEM_SID, NULL, ""}};
    for (int kind = 0; kind < 2; kind++) {
        Image f = {0};
        EtlRebuild rebuild = {0};
        EtwEvent event = eventAt(&f, RecordAdd(&f, kind ? ETL_EVENT32 : ETL_EVENT64, 0x50, 5));
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
            REQUIRE(EtlRebuildItem(&rebuild, &event, steps[i].type, steps[i].data,
                    steps[i].data ? strlen(steps[i].data) : 0));
            CHECK_STR(itemsOf(&event), steps[i].want);
            checkKept(&event);
        }
        EtlRebuildFree(&rebuild);
        ImageFree(&f);
    }
    Image f = {0};
    EtlRebuild rebuild = {0};
    EtwEvent event = eventAt(&f, RecordAdd(&f, ETL_FULL64, 0x30, 5));
    CHECK(!EtlRebuildItem(&rebuild, &event, ETL_ITEM_SID, "sid", 3));
    EtlRebuildFree(&rebuild);
    ImageFree(&f);
}

static void rebuild_2_4_time(void)
{
    static const struct {
        unsigned type;
        size_t header, timeAt;
    } kinds[] = {{ETL_EVENT64, 0x50, 0x10}, {ETL_FULL64, 0x30, 0x10}, {ETL_SYSTEM32, 0x20, 0x10},
            {ETL_COMPACT64, 0x18, 0x10}, {ETL_PERFINFO32, 0x10, 8}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        Image f = {0};
        EtlRebuild rebuild = {0};
        size_t at = RecordAdd(&f, kinds[i].type, kinds[i].header, 13), size = kinds[i].header + 13;
        uint8_t want[0x60];
        EtwEvent event = eventAt(&f, at);
        memcpy(want, f.data + at, size);
        EtwStore64(want + kinds[i].timeAt, 0x1122334455667788);
        REQUIRE(EtlRebuildTime(&rebuild, &event, 0x1122334455667788, 999));
        CHECK_MEM(event.record, event.recordSize, want, size);
        CHECK_EQ(event.ticks, 0x1122334455667788);
        CHECK_EQ(event.time, 999);
        CHECK_EQ(event.cpu, 3);
        EtlRebuildFree(&rebuild);
        ImageFree(&f);
    }
    Image f = {0};
    EtlRebuild rebuild = {0};
    EtwEvent event = eventAt(&f, RecordAdd(&f, 0x90, 8, 13)); /* a message without a time */
    CHECK(!EtlRebuildTime(&rebuild, &event, 1, 2));
    CHECK_EQ(event.ticks, 12345);
    EtlRebuildFree(&rebuild);
    ImageFree(&f);
}

/* ---- Files from records ---------------------------------------------------------------------- */

/* A file with CPUs 0 and 1; the event ids rise with the time. */
static void makeImage(Image *f)
{
    ImageBegin(f, 4096);
    for (int cpu = 0; cpu < 2; cpu++) {
        BufferBegin(f, cpu, cpu + 1);
        for (int i = 0; i < 20; i++) {
            EventAdd(f, 2000 + 2 * i + cpu, (uint16_t)(100 + 2 * i + cpu));
        }
        BufferEnd(f);
    }
}

typedef struct Built {
    EtwText bytes;
    uint64_t unset, converted;
} Built;

/* The image's events in a new file. */
static Built build(const Image *f, uint32_t bufferSize, bool compressed, int64_t shift,
        const EtlEdit *change, const EtlBuilderTotals *totals)
{
    EtlReader *reader;
    EtwEvent event;
    EtwError err;
    Built built = {0};
    EtwText header = {0};
    if (!CHECK(EtlReaderOpenMemory(&reader, f->data, f->size, 0, NULL, NULL, &err) == ETW_OK)) {
        return built;
    }
    EtlBuilder *b = EtlBuilderNew(EtlReaderInfo(reader), bufferSize, compressed, &built.bytes);
    EtlBuilderShift(b, shift);
    while (EtlReaderNext(reader, &event) == ETW_OK) {
        if (!EtwEventIsHeader(&event)) {
            CHECK(EtlBuilderInOrder(b, &event, change));
            uint64_t most = EtlBuilderSizeAfterNext(b);
            CHECK_EQ(EtlBuilderAdd(b, &event, change, &built.bytes), ETW_OK);
            CHECK(EtlBuilderBytes(b) <= most);
        }
    }
    EtlBuilderEnd(b, totals, &built.bytes, &header);
    CHECK_EQ(EtlBuilderBytes(b), built.bytes.size);
    memcpy(built.bytes.data, header.data, header.size);
    built.unset = EtlBuilderUnset(b);
    built.converted = EtlBuilderConverted(b);
    EtwTextFree(&header);
    EtlBuilderFree(b);
    EtlReaderClose(reader);
    return built;
}

/* The events of both, without the file's own: times and records are the same, but for the shift and the changed pid. */
static void checkSame(const Image *f, const Built *built, int64_t shift, uint32_t pid)
{
    Seen old = SeenMemory(f->data, f->size), new;
    size_t n = 0, m = 0;
    new = SeenMemory(built->bytes.data, built->bytes.size);
    CHECK_EQ(new.status, ETW_OK);
    CHECK_EQ(new.warnings, 0);
    CHECK_EQ(new.count, old.count);
    for (; n < old.count && m < new.count; n++, m++) {
        if (old.events[n].classic || new.events[m].classic) {
            continue;
        }
        CHECK_EQ(new.events[m].time, old.events[n].time + shift);
        CHECK_EQ(new.events[m].desc.id, old.events[n].desc.id);
        CHECK_EQ(new.events[m].cpu, old.events[n].cpu);
        CHECK_EQ(new.events[m].pid, pid != 0 ? pid : old.events[n].pid);
    }
    SeenFree(&old);
    SeenFree(&new);
}

static void builder_3_1_same(void)
{
    static const uint32_t sizes[] = {0, 4096, 5000, 65536, 100, 1 << 30};
    Image f;
    makeImage(&f);
    for (int i = 0; i < 6; i++) {
        for (int compressed = 0; compressed < 2; compressed++) {
            Built b = build(&f, sizes[i], compressed, 0, NULL, &(EtlBuilderTotals){5, 6, 0});
            checkSame(&f, &b, 0, 0);
            Seen seen = SeenMemory(b.bytes.data, b.bytes.size);
            CHECK_EQ(seen.info.eventsLost, 5);
            CHECK_EQ(seen.info.buffersLost, 6);
            CHECK_EQ(seen.info.buffersWritten, 3);
            CHECK_EQ(seen.info.closed, true);
            CHECK_EQ(seen.info.bufferSize, i == 0 || i == 1 || i == 4 || i == 2 ? 4096
                                           : i == 3                             ? 65536
                                                                                : 1 << 20);
            CHECK_EQ(seen.info.endTime, IMAGE_START + 2000 + 39 - 1000 - (2039 - 1000) % 100 + 100);
            CHECK_EQ(b.unset, 0);
            CHECK_EQ(b.converted, 0);
            SeenFree(&seen);
            EtwTextFree(&b.bytes);
        }
    }
    ImageFree(&f);
}

static void builder_3_2_edits(void)
{
    Image f;
    makeImage(&f);
    EtlEdit change = {.fields = BIT(PID) | BIT(CPU), .pid = 4242, .cpu = 1};
    Built b = build(&f, 0, false, 0, &change, &(EtlBuilderTotals){0});
    Seen seen = SeenMemory(b.bytes.data, b.bytes.size);
    size_t moved = 0;
    for (size_t i = 0; i < seen.count; i++) {
        if (!seen.events[i].classic) {
            CHECK_EQ(seen.events[i].cpu, 1);
            CHECK_EQ(seen.events[i].pid, 4242);
            moved++;
        }
    }
    CHECK_EQ(moved, 40);
    CHECK_EQ(seen.info.buffersWritten, 2);
    SeenFree(&seen);
    EtwTextFree(&b.bytes);
    /* Classic records have no id: each is counted. */
    Image g;
    ImageBegin(&g, 4096);
    BufferBegin(&g, 0, 1);
    for (int i = 0; i < 3; i++) {
        size_t at = RecordAdd(&g, ETL_FULL64, 0x30, 8);
        EtwStore64(g.data + at + 0x10, (uint64_t)(2000 + i));
    }
    BufferEnd(&g);
    change = (EtlEdit){.fields = BIT(ID), .desc.id = 9};
    b = build(&g, 0, false, 0, &change, &(EtlBuilderTotals){0});
    CHECK_EQ(b.unset, 3);
    EtwTextFree(&b.bytes);
    ImageFree(&g);
    ImageFree(&f);
}

static void builder_3_3_shift(void)
{
    Image f;
    makeImage(&f);
    Built b = build(&f, 0, false, 3600000000000, NULL, &(EtlBuilderTotals){0});
    checkSame(&f, &b, 3600000000000, 0);
    EtwTextFree(&b.bytes);
    b = build(&f, 0, false, -200, NULL, &(EtlBuilderTotals){0});
    checkSame(&f, &b, -200, 0);
    EtwTextFree(&b.bytes);
    ImageFree(&f);
}

/* Buffers of a logger are numbered without gaps, over all its CPUs; those of another on their own. */
static void builder_3_4_streams(void)
{
    EtlSyntheticHeader synthetic = {0};
    EtwError err;
    EtwText bytes = {0}, header = {0};
    uint8_t payload[1000] = {0};
    REQUIRE(EtlSyntheticHeaderInit(&synthetic, "L", &err) == ETW_OK);
    EtlBuilder *b = EtlBuilderNew(&synthetic.info, 4096, false, &bytes);
    for (int i = 0; i < 200; i++) {
        EtwEvent event = {.time = 1700000000000000000 + i,
                .ticks = 0,
                .kind = ETL_EVENT64,
                .pointerSize = 8,
                .cpu = (uint16_t)(i % 40),
                .logger = (uint16_t)(i % 3),
                .payload = payload,
                .payloadSize = 1000,
                .desc.id = (uint16_t)i};
        CHECK_EQ(EtlBuilderAdd(b, &event, NULL, &bytes), ETW_OK);
        event.time--;
        CHECK(!EtlBuilderInOrder(b, &event, NULL));
        event.time++;
        CHECK(EtlBuilderInOrder(b, &event, NULL));
    }
    static uint8_t huge[70000];
    EtwEvent event = {.time = 1700000000000001000,
            .kind = ETL_EVENT64,
            .pointerSize = 8,
            .payload = huge,
            .payloadSize = sizeof huge};
    CHECK_EQ(EtlBuilderAdd(b, &event, NULL, &bytes), ETW_E_LIMIT);
    event.payloadSize = 60000; /* larger than a buffer: one of its own */
    CHECK_EQ(EtlBuilderAdd(b, &event, NULL, &bytes), ETW_OK);
    EtlBuilderEnd(b, &(EtlBuilderTotals){0}, &bytes, &header);
    memcpy(bytes.data, header.data, header.size);
    Seen seen = SeenMemory(bytes.data, bytes.size);
    CHECK_EQ(seen.warnings, 0);
    size_t count = 0;
    for (size_t i = 0; i < seen.count; i++) {
        count += !seen.events[i].classic;
    }
    CHECK_EQ(count, 201);
    int64_t numbers[3] = {0};
    uint32_t buffers = 0;
    for (size_t at = 0; at + 0x48 <= bytes.size;
            at += EtwLoad32((const uint8_t *)bytes.data + at)) {
        const uint8_t *h = (const uint8_t *)bytes.data + at;
        uint16_t logger = EtwLoad16(h + 0x2a);
        if (at != 0 && CHECK(logger < 3)) {
            CHECK_EQ((int64_t)EtwLoad64(h + 0x18), ++numbers[logger]);
        }
        CHECK_EQ(EtwLoad32(h) % 1024, 0);
        buffers++;
    }
    CHECK_EQ(seen.info.buffersWritten, buffers);
    CHECK_EQ(EtwLoad32((const uint8_t *)header.data + 4), synthetic.info.headerBytes);
    SeenFree(&seen);
    EtlBuilderFree(b);
    EtwTextFree(&bytes);
    EtwTextFree(&header);
    EtlSyntheticHeaderFree(&synthetic);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    OsInit();
    CHECK_RUN(patch_1_1_fields);
    CHECK_RUN(rebuild_2_1_payload);
    CHECK_RUN(rebuild_2_2_most);
    CHECK_RUN(rebuild_2_3_items);
    CHECK_RUN(rebuild_2_4_time);
    CHECK_RUN(builder_3_1_same);
    CHECK_RUN(builder_3_2_edits);
    CHECK_RUN(builder_3_3_shift);
    CHECK_RUN(builder_3_4_streams);
    return CHECK_DONE();
}
