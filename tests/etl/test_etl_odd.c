/*
 * tests/etl/test_etl_odd.c --
 *
 *	What no file of the corpus has, built field by field: kinds of records and of buffers
 *	that are rare, compressed files in every format, old Windows versions, circular files
 *	that wrapped, clocks of other sorts, hostile sizes.
 */
#include "tests/support/check.h"
#include "base/os.h"
#include "etl/format.h"
#include "etl/record.h"
#include "tests/support/etlfile.h"

/* ---- Records ---------------------------------------------------------------------------------- */

static EtwEvent Parsed(const Image *f, size_t at)
{
    EtwEvent event;
    size_t size = 0;
    memset(&event, 0xA5, sizeof event);
    if (!CHECK(EtlRecordParse(f->data + at, f->size - at, &event, &size))) {
        memset(&event, 0, sizeof event);
    }
    return event;
}

static void record_instance(void)
{
    for (unsigned type = ETL_INSTANCE32; type <= ETL_INSTANCE64; type += 10) {
        Image f = {0};
        EtlInstance instance;
        size_t at = RecordAdd(&f, type, 0x48, 5);
        EtwStore32(f.data + at + 0x30, 71);
        EtwStore32(f.data + at + 0x34, 72);
        memset(f.data + at + 0x38, 0xAB, 16);
        EtwEvent e = Parsed(&f, at);
        CHECK_EQ(e.payloadSize, 5);
        CHECK_EQ(e.recordSize, 0x48 + 5);
        CHECK(e.record == f.data + at);
        REQUIRE(EtlRecordInstance(&e, &instance));
        CHECK_EQ(instance.id, 71);
        CHECK_EQ(instance.parentId, 72);
        CHECK_EQ(instance.parentClass.bytes[15], 0xAB);
        ImageFree(&f);
    }
}

/* An item at the end of the record that is being built. */
static void ItemAdd(Image *f, unsigned type, uint16_t size, bool more)
{
    size_t at = f->size, capacity = (8u + size + 7u) & ~7u;
    ImageGrow(f, capacity, 0);
    EtwStore16(f->data + at, (uint16_t)capacity);
    EtwStore16(f->data + at + 2, (uint16_t)type);
    EtwStore16(f->data + at + 4, more);
    EtwStore16(f->data + at + 6, size);
    memset(f->data + at + 8, (int)type, size);
}

/* Every type of item there is, found on demand or in its field; others are not. */
static void record_items(void)
{
    static const uint16_t sizes[] = {
            0, 16, 12, 4, 24, 16, 24, 8, 24, 8, 8, 9, 9, 8, 16, 8, 38, 12, 16};
    enum { LAST = 18 };
    Image f = {0};
    uint32_t size;
    EtlInstance instance;
    const uint8_t *pebs;
    size_t at = RecordAdd(&f, ETL_EVENT64, 0x50, 0);
    EtwStore16(f.data + at + 4, 1);
    EtwStore16(f.data + at + 6, 8);
    for (unsigned type = 1; type <= LAST; type++) {
        ItemAdd(&f, type, sizes[type], type < LAST);
    }
    ImageGrow(&f, 8, 0x77); /* the payload */
    EtwStore16(f.data + at, (uint16_t)(f.size - at));
    EtwEvent e = Parsed(&f, at);
    CHECK_EQ(e.property, 8);
    CHECK_EQ(e.items, (1u << (LAST + 1)) - 2);
    CHECK_EQ(e.payloadSize, 8);
    CHECK_EQ(e.payload[0], 0x77);
    for (unsigned type = 1; type <= LAST; type++) {
        const uint8_t *item = EtwEventItem(&e, type, &size);
        REQUIRE(item != NULL);
        CHECK_EQ(size, sizes[type]);
        CHECK_EQ(item[size - 1], type);
    }
    CHECK(EtwEventItem(&e, 0, &size) == NULL && EtwEventItem(&e, LAST + 1, &size) == NULL);
    CHECK(EtwEventItem(&e, 40, &size) == NULL && size == 0);
    CHECK(e.related != NULL && e.metaSize == 9 && e.traitsSize == 9);
    CHECK_EQ(e.stackCount, 2);                  /* of the type that fits the pointer size */
    CHECK_EQ(e.stackMatch, 0x1212121212121212); /* of the last one: key 64 */
    CHECK_EQ(e.stackKey, 0x1212121212121212);
    CHECK(EtlRecordInstance(&e, &instance) && instance.id == 0x04040404);
    const uint8_t *counters = EtlRecordCounters(&e, &size, &pebs);
    CHECK(counters != NULL && size == 3 && counters[0] == 8 && pebs != NULL && *pebs == 7);
    ImageFree(&f);
}

/* A 32-bit process's event whose stack was walked by a 64-bit kernel; it is written back as it is. */
static void record_wide_stack(void)
{
    Image f = {0};
    EtwEvent back;
    uint8_t out[256];
    size_t at = RecordAdd(&f, ETL_EVENT32, 0x50, 0), size;
    EtwStore16(f.data + at + 4, 1);
    ItemAdd(&f, ETL_ITEM_STACK64, 24, false);
    EtwStore16(f.data + at, (uint16_t)(f.size - at));
    EtwEvent e = Parsed(&f, at);
    CHECK_EQ(e.pointerSize, 4);
    CHECK_EQ(e.stackCount, 2);
    CHECK_EQ(EtwEventStackWidth(&e), 8);
    CHECK_EQ(EtlRecordSize(&e), 0x50 + 8 + 24);
    EtlRecordBuild(&e, out, EtlRecordSize(&e));
    REQUIRE(EtlRecordParse(out, sizeof out, &back, &size));
    CHECK_EQ(back.kind, ETL_EVENT32);
    CHECK_EQ(back.stackCount, 2);
    CHECK_MEM(back.stack, 16, e.stack, 16);
    ImageFree(&f);
}

/* The words between a kernel record's header and its payload. */
static void record_counters(void)
{
    Image f = {0};
    uint32_t count;
    const uint8_t *pebs;
    size_t at = RecordAdd(&f, ETL_PERFINFO64, 0x10, 40);
    for (unsigned i = 0; i < 5; i++) {
        EtwStore64(f.data + at + 0x10 + 8 * i, i + 1);
    }
    EtwStore16(f.data + at, 0x8302); /* PEBS index, 3 counters, version 2 */
    EtwEvent e = Parsed(&f, at);
    const uint8_t *counters = EtlRecordCounters(&e, &count, &pebs);
    REQUIRE(counters != NULL && pebs != NULL);
    CHECK_EQ(count, 3);
    CHECK_EQ(EtwLoad64(pebs), 1);
    CHECK_EQ(EtwLoad64(counters), 2);
    CHECK_EQ(EtwLoad64(e.payload), 5);
    EtwStore16(f.data + at, 0x0202);
    e = Parsed(&f, at);
    counters = EtlRecordCounters(&e, &count, &pebs);
    CHECK(count == 2 && pebs == NULL && EtwLoad64(counters) == 1 && EtwLoad64(e.payload) == 3);
    EtwStore16(f.data + at, 2);
    e = Parsed(&f, at);
    CHECK(EtlRecordCounters(&e, &count, &pebs) == NULL && count == 0 && pebs == NULL);
    ImageFree(&f);
}

static void record_message(void)
{
    Image f = {0};
    EtlMessage m;
    size_t at = RecordAdd(&f, ETL_MESSAGE, 8 + 4 + 4 + 8, 6);
    EtwStore16(f.data + at + 4, 77);
    EtwStore16(f.data + at + 6, 1 | 4 | 8 | 0x10 | 0x80);
    EtwStore32(f.data + at + 8, 5);
    EtwStore32(f.data + at + 12, 6);
    EtwStore64(f.data + at + 16, 4711);
    EtwEvent e = Parsed(&f, at);
    REQUIRE(EtlRecordMessage(&e, &m));
    CHECK_EQ(m.options, 0x9D);
    CHECK_EQ(m.sequence, 5);
    CHECK_EQ(m.component, 6);
    CHECK(m.hasTime && m.performance);
    CHECK_EQ(e.ticks, 4711);
    CHECK_EQ(e.payloadSize, 6);
    e.kind = ETL_EVENT64;
    CHECK(!EtlRecordMessage(&e, &m));
    ImageFree(&f);
}

/* ---- Compressed files ------------------------------------------------------------------------- */

static void PackedBegin(Image *f, unsigned format, uint32_t bufferSize)
{
    Clock clock = {1, 1000000000, 1000, 133444736000000000, 0};
    memset(f, 0, sizeof *f);
    f->bufferSize = bufferSize;
    HeaderAdd(f, &clock, ETL_MODE_COMPRESSED | 1, true);
    f->size = 1024; /* cut short, as real ones are */
    EtwStore32(f->data, 1024);
    EtwStore16(f->data + 0x2c, (uint16_t)format);
}

/* Two CPUs' buffers, overlapping in time, every fourth one stored as it is. */
static void packed_formats(void)
{
    for (unsigned format = 2; format <= 4; format++) {
        Image f;
        EtlReader *r;
        EtwEvent e;
        unsigned count = 0, sum = 0;
        int64_t last = 0;
        PackedBegin(&f, format, 4096);
        for (int buffer = 0; buffer < 40; buffer++) {
            BufferBegin(&f, buffer % 2, buffer + 1);
            for (int i = 0; i < 30; i++) {
                EventAdd(&f, 2000 + buffer / 2 * 100 + 3 * i + buffer % 2,
                        (uint16_t)(buffer * 30 + i));
            }
            if (buffer % 4 == 3) {
                BufferEnd(&f);
            } else {
                BufferEndPacked(&f, format);
            }
        }
        REQUIRE(EtlReaderOpenMemory(&r, f.data, f.size, 0, NULL, NULL, NULL) == ETW_OK);
        while (EtlReaderNext(r, &e) == ETW_OK) {
            CHECK(e.ticks >= last);
            last = e.ticks;
            if (e.kind == ETL_EVENT64) {
                CHECK(e.payloadSize == 8 && e.payload[0] == 0 && e.payload[7] == 7);
                CHECK_EQ(EtwLoad16(e.record + 0x28), e.desc.id);
                sum += e.desc.id;
                count++;
            }
        }
        const EtlInfo *info = EtlReaderInfo(r);
        CHECK_EQ(count, 1200);
        CHECK_EQ(sum, 1199 * 600);
        CHECK_EQ(info->compression, format);
        CHECK_EQ(info->compressedBuffers, 30);
        CHECK_EQ(info->unpackedBytes, 30 * 30 * 0x58);
        CHECK(info->packedBytes > info->unpackedBytes && info->packedBytes < f.size);
        EtlReaderClose(r);
        ImageFree(&f);
    }
}

static void packed_unknown(void)
{
    Image f;
    PackedBegin(&f, 9, 4096);
    BufferBegin(&f, 0, 1);
    EventAdd(&f, 2000, 1);
    BufferEndPacked(&f, 3);
    Seen seen = SeenMemory(f.data, f.size);
    CHECK_EQ(seen.count, 1);
    CHECK_EQ(seen.warnings, 1);
    CHECK_EQ(seen.where, 1024);
    CHECK(strstr(seen.text, "format") != NULL);
    SeenFree(&seen);
    ImageFree(&f);
}

/* The stream of a buffer ends early: the records before are delivered, the damage is told. */
static void packed_damaged(void)
{
    Image f;
    PackedBegin(&f, 3, 4096);
    BufferBegin(&f, 0, 1);
    for (int i = 0; i < 30; i++) {
        EventAdd(&f, 2000 + i, (uint16_t)(i + 1));
    }
    BufferEndPacked(&f, 3);
    EtwStore32(f.data + 1024 + 0x48 + 36 * 28, 0x80000000); /* a flag word: a match too early */
    memset(f.data + 1024 + 0x48 + 36 * 28 + 4, 0xFF, 8);
    Seen seen = SeenMemory(f.data, f.size);
    CHECK_EQ(seen.count, 1 + 28 * 32 / 0x58);
    CHECK_EQ(seen.warnings, 1);
    CHECK_EQ(seen.where, 1024);
    SeenFree(&seen);
    ImageFree(&f);
}

/* A damaged size costs its own buffer, though nothing says where the next one begins. */
static void packed_damaged_size(void)
{
    static const uint32_t sizes[] = {0, 0x47, 0x100, 0xFFFFFFF0, 0x450};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        Image f;
        size_t second = 0;
        PackedBegin(&f, 3, 4096);
        for (int buffer = 1; buffer <= 5; buffer++) {
            BufferBegin(&f, 0, buffer);
            second = buffer == 2 ? f.buffer : second;
            for (int k = 0; k < 10; k++) {
                EventAdd(&f, 2000 + buffer * 10 + k, (uint16_t)buffer);
            }
            BufferEndPacked(&f, 3);
        }
        EtwStore32(f.data + second, sizes[i]);
        Seen seen = SeenMemory(f.data, f.size);
        unsigned others = 0;
        for (size_t k = 0; k < seen.count; k++) {
            others += seen.events[k].desc.id != 0 && seen.events[k].desc.id != 2;
        }
        CHECK_EQ(others, 40);
        CHECK(seen.warnings >= 1 || seen.count == 51);
        SeenFree(&seen);
        ImageFree(&f);
    }
}

/*
 * A megabyte of buffers each of which claims to expand to 60 MB, all due at the same time: most are
 * refused, the rest takes neither long nor much memory.
 */
static void packed_bomb(void)
{
    static const uint8_t head[] = {0, 0, 0, 0x08}, tail[] = {0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 4};
    Image f;
    OsInstant before, after;
    PackedBegin(&f, 3, 20 << 20);
    while (f.size < 1 << 20) {
        Image record = {0};
        EtwText packed = {0};
        EventAdd(&record, 2000, 1);
        for (size_t i = 0; i < record.size; i++) {
            if (i % 32 == 0) {
                EtwTextAdd(&packed, i == 64 ? (const char *)head : "\0\0\0\0", 4);
            }
            EtwTextChar(&packed, (char)record.data[i]);
        }
        EtwTextAdd(&packed, "\x07\0", 2);
        EtwTextAdd(&packed, tail, sizeof tail);
        BufferBegin(&f, 0, 1);
        ImageGrow(&f, packed.size, 0);
        memcpy(f.data + f.buffer + 0x48, packed.data, packed.size);
        EtwStore32(f.data + f.buffer, (uint32_t)(0x48 + packed.size));
        EtwStore32(f.data + f.buffer + 4, 20 << 20);
        EtwStore16(f.data + f.buffer + 0x34, 0x60);
        EtwTextFree(&packed);
        ImageFree(&record);
    }
    OsNow(&before);
    Seen seen = SeenMemory(f.data, f.size);
    OsNow(&after);
    CHECK(seen.count > 1 && seen.warnings > 0);
    CHECK_MSG(after.steady - before.steady < 3000000000, "took %lld ms",
            (long long)(after.steady - before.steady) / 1000000);
    SeenFree(&seen);
    ImageFree(&f);
}

static int64_t MillisecondsOf(const Image *f, size_t *countPtr)
{
    OsInstant before, after;
    OsNow(&before);
    Seen seen = SeenMemory(f->data, f->size);
    OsNow(&after);
    *countPtr = seen.count;
    SeenFree(&seen);
    return (after.steady - before.steady) / 1000000;
}

/* A megabyte that is as unpleasant as it can be: a stream for each buffer; one stream of buffers that
 * all overlap; the smallest records, times falling; compressed ones that are tiny. */
static void hostile_time(void)
{
    for (int kind = 0; kind < 4; kind++) {
        Image f = {.bufferSize = 1024};
        Clock clock = {1, 1000000000, 1000, 133444736000000000, 0};
        size_t count, want = 1;
        HeaderAdd(&f, &clock, kind == 3 ? ETL_MODE_COMPRESSED | 1 : 1, true);
        for (int64_t n = 1; f.size < 1 << 20; n++) {
            BufferBegin(&f, (int)(kind == 0 ? n & 0x7FF : 0), n);
            EtwStore16(f.data + f.buffer + 0x2a, (uint16_t)(kind == 0 ? n : 1));
            for (int i = 0; i < (kind == 2 ? 5000 : 2); i++, want++) {
                size_t at = RecordAdd(&f, ETL_PERFINFO64, 0x10, 0);
                EtwStore64(f.data + at + 8,
                        (uint64_t)(kind == 2 ? 100000 - n - i : 2000 + n + i * 100000));
            }
            f.bufferSize = (uint32_t)(f.size - f.buffer);
            if (kind == 3) {
                BufferEndPacked(&f, 3);
                f.bufferSize = 1024;
            } else {
                BufferEnd(&f);
                EtwStore32(f.data + f.buffer, f.bufferSize);
            }
        }
        int64_t ms = MillisecondsOf(&f, &count);
        CHECK_EQ(count, want);
        CHECK_MSG(ms < 3000, "kind %d took %lld ms", kind, (long long)ms);
        ImageFree(&f);
    }
}

/* ---- Buffers ---------------------------------------------------------------------------------- */

/* XP and 2003: behind the offset stands a count of lost events where later flags and type are; the
 * session's clock has no kind and is FILETIME. */
static void buffer_xp(void)
{
    Image f = {.bufferSize = 1024};
    Clock clock = {0, 3579545, 133444736000000000, 133444736000000000, 0};
    HeaderAdd(&f, &clock, 1, false);
    EtwStore32(f.data + 0x48 + 0x20 + 4, 0x01010105); /* 5.1 */
    EtwStore32(f.data + 0x34, 0x60);
    BufferBegin(&f, 0, 1);
    EtwStore16(f.data + f.buffer + 0x28, 0x0801);
    size_t at = RecordAdd(&f, ETL_FULL32, 0x30, 8);
    EtwStore64(f.data + at + 0x10, 133444736000000077);
    BufferEnd(&f);
    EtwStore32(f.data + f.buffer + 0x34, 0x00060060);
    Seen seen = SeenMemory(f.data, f.size);
    REQUIRE(seen.count == 2);
    CHECK_EQ(seen.info.major, 5);
    CHECK_EQ(seen.info.minor, 1);
    CHECK_EQ(seen.info.clock, 2);
    CHECK_EQ(seen.events[1].time, IMAGE_START + 7700);
    CHECK_EQ(seen.events[1].cpu, 1);
    CHECK_EQ(seen.warnings, 0);
    SeenFree(&seen);
    ImageFree(&f);
}

/* Every type of buffer but the empty marker is read; all are counted. */
static void buffer_types(void)
{
    Image f;
    ImageBegin(&f, 1024);
    for (unsigned type = 0; type < 8; type++) {
        BufferBegin(&f, 0, (int)type + 1);
        EventAdd(&f, 2000 + type, (uint16_t)(type + 1));
        BufferEnd(&f);
        EtwStore16(f.data + f.buffer + 0x36, (uint16_t)type);
        EtwStore32(f.data + f.buffer + 0x2c, type % 5); /* any state */
    }
    Seen seen = SeenMemory(f.data, f.size);
    REQUIRE(seen.count == 8);
    CHECK_EQ(seen.events[6].desc.id, 6);
    CHECK_EQ(seen.events[7].desc.id, 8);
    for (unsigned type = 0; type < 8; type++) {
        CHECK_EQ(seen.info.buffersByType[type], type == 4 ? 2 : 1);
    }
    CHECK_EQ(seen.warnings, 0);
    SeenFree(&seen);
    ImageFree(&f);
}

static void buffer_lost(void)
{
    Image f;
    ImageBegin(&f, 1024);
    for (int buffer = 1; buffer <= 4; buffer++) {
        BufferBegin(&f, 0, 3 * buffer);
        EventAdd(&f, 2000 + buffer, (uint16_t)buffer);
        BufferEnd(&f);
        EtwStore16(f.data + f.buffer + 0x34,
                (uint16_t)(0x20 | (buffer & 1) << 1 | (buffer & 3) / 3 << 2));
    }
    Seen seen = SeenMemory(f.data, f.size);
    CHECK_EQ(seen.count, 5);
    CHECK_EQ(seen.info.eventsLostMarks, 2);
    CHECK_EQ(seen.info.buffersLostMarks, 1);
    CHECK_EQ(seen.warnings, 0); /* losses are reported by trace_losses.c */
    CHECK_EQ(seen.info.loggerCount, 1);
    CHECK_EQ(seen.info.loggers[0].missing, 10 - 4); /* of 3 to 12 */
    SeenFree(&seen);
    ImageFree(&f);
}

/* A ring that wrapped: the oldest buffers stand behind the youngest. */
static void buffer_wrapped(void)
{
    static const int order[] = {7, 8, 9, 4, 5, 6};
    Image f = {.bufferSize = 1024};
    Clock clock = {1, 1000000000, 1000, 133444736000000000, 0};
    HeaderAdd(&f, &clock, ETL_MODE_CIRCULAR, true);
    for (size_t i = 0; i < 6; i++) {
        BufferBegin(&f, order[i] % 2, order[i]);
        int64_t start = 2000 + order[i] / 4 * 1000; /* 4 to 7 begin at the same tick, 8 and 9 */
        EventAdd(&f, start, (uint16_t)(order[i] * 10));
        EventAdd(&f, start, (uint16_t)(order[i] * 10 + 1));
        BufferEnd(&f);
    }
    Seen seen = SeenMemory(f.data, f.size);
    REQUIRE(seen.count == 13);
    static const uint16_t want[] = {40, 41, 60, 61, 50, 51, 70, 71, 80, 81, 90, 91};
    for (size_t i = 0; i < 12; i++) {
        CHECK_EQ(seen.events[i + 1].desc.id, want[i]);
    }
    CHECK_EQ(seen.info.loggers[0].missing, 0);
    SeenFree(&seen);
    ImageFree(&f);
}

/* Several loggers in one file; a second session's header record in the middle (append). */
static void buffer_loggers(void)
{
    Image f;
    ImageBegin(&f, 1024);
    for (int buffer = 0; buffer < 6; buffer++) {
        BufferBegin(&f, buffer % 2, buffer / 3 + 1);
        EtwStore16(f.data + f.buffer + 0x2a, (uint16_t)(buffer % 3 + 10));
        EventAdd(&f, 2000, (uint16_t)(buffer + 1));
        BufferEnd(&f);
    }
    Clock clock = {1, 1000000000, 5000, 133444736000000040, 0};
    HeaderAdd(&f, &clock, 5, true);
    BufferBegin(&f, 0, 9);
    EventAdd(&f, 5001, 7);
    BufferEnd(&f);
    Seen seen = SeenMemory(f.data, f.size);
    REQUIRE(seen.count == 9);
    CHECK_EQ(seen.info.loggerCount, 4);
    CHECK_EQ(seen.info.loggers[0].id, 10);
    CHECK_EQ(seen.info.loggers[0].buffers, 2);
    CHECK_EQ(seen.info.loggers[0].cpus, 2);
    CHECK_EQ(seen.info.loggers[3].id, 1);
    static const uint16_t want[] = {1, 5, 3, 4, 2, 6}; /* cpu, then logger */
    for (size_t i = 0; i < 6; i++) {
        CHECK_EQ(seen.events[i + 1].desc.id, want[i]);
    }
    CHECK_EQ(seen.events[7].kind, ETL_SYSTEM64);
    CHECK_EQ(seen.events[8].desc.id, 7);
    SeenFree(&seen);
    ImageFree(&f);
}

/* WPP, never closed: the header knows of one buffer and no end. */
static void buffer_not_closed(void)
{
    Image f;
    ImageBegin(&f, 1024);
    EtwStore64(f.data + 0x48 + 0x20 + 0x10, 0);
    for (int buffer = 1; buffer < 5; buffer++) {
        BufferBegin(&f, 0, buffer);
        for (int i = 0; i < 9; i++) {
            size_t at = RecordAdd(&f, ETL_MESSAGE, 8 + 16 + 8 + 8, 4);
            EtwStore16(f.data + at + 4, (uint16_t)(buffer * 9 + i));
            EtwStore16(f.data + at + 6, 2 | 8 | 0x20 | 0x80);
            EtwStore64(f.data + at + 24, (uint64_t)(buffer * 1000 + i));
        }
        BufferEnd(&f);
    }
    Seen seen = SeenMemory(f.data, f.size);
    REQUIRE(seen.count == 37);
    for (size_t i = 0; i < 36; i++) {
        CHECK_EQ(seen.events[i + 1].desc.id, 9 + i);
    }
    CHECK_EQ(seen.info.buffersWritten, 1);
    CHECK_EQ(seen.info.buffers, 5);
    CHECK(!seen.info.closed && seen.warnings == 1 && strstr(seen.text, "not closed") != NULL);
    SeenFree(&seen);
    ImageFree(&f);
}

/* ---- Clocks and what the header says ---------------------------------------------------------- */

/* Performance counter logs: FILETIME clock, header in UTC, events in local time (here: summer). */
static void clock_pdh(void)
{
    static const uint8_t pdh[] = {0xb3, 0xf3, 0x3b, 0x93, 0x3e, 0x94, 0x0d, 0x49, 0x9c, 0xed, 0x3c,
            0xbb, 0x14, 0xc1, 0x44, 0x79};
    for (int round = 0; round < 4; round++) {
        bool summer = round & 1, later = round & 2; /* later: another event comes first */
        Image f = {.bufferSize = 1024};
        Clock clock = {2, 10000000, 133444736000000000, 133444736000000000, 0};
        const uint64_t minute = 600000000;
        HeaderAdd(&f, &clock, 1, true);
        uint8_t *zone = f.data + 0x48 + 0x20 + 0x48;
        EtwStore32(zone, 480);
        EtwStore32(zone + 0xa8, (uint32_t)-60); /* daylight */
        const uint64_t local = 133444736000000000 - (summer ? 420 : 480) * minute;
        BufferBegin(&f, 0, 1);
        if (later) {
            EtwStore64(f.data + RecordAdd(&f, ETL_FULL64, 0x30, 8) + 0x10, local + 4);
        }
        size_t at = RecordAdd(&f, ETL_FULL64, 0x30, 8);
        memcpy(f.data + at + 0x18, pdh, 16);
        EtwStore64(f.data + at + 0x10, local + 5);
        BufferEnd(&f);
        Seen seen = SeenMemory(f.data, f.size);
        REQUIRE(seen.count == (later ? 3 : 2));
        CHECK(seen.info.localTime);
        for (size_t i = 0; i < seen.count; i++) {
            const EtwEvent *e = &seen.events[i];
            bool counters = memcmp(e->provider.bytes, pdh, 16) == 0;
            if (e->kind == ETL_FULL64) {
                CHECK_EQ(e->time, IMAGE_START + (counters ? 500 : 400));
            }
        }
        SeenFree(&seen);
        ImageFree(&f);
    }
}

/* Persisted real-time buffers bring the reference that their header lacks. */
static void clock_reference(void)
{
    Image f = {.bufferSize = 1024};
    Clock clock = {1, 10000000, 0, 0, 0};
    HeaderAdd(&f, &clock, 1, true);
    BufferBegin(&f, 0, 1);
    EventAdd(&f, 70003, 1);
    BufferEnd(&f);
    EtwStore16(f.data + f.buffer + 0x34, 0x30);
    EtwStore64(f.data + f.buffer + 0x38, 133444736000000000);
    EtwStore64(f.data + f.buffer + 0x40, 70000);
    Seen seen = SeenMemory(f.data, f.size);
    REQUIRE(seen.count == 2);
    CHECK_EQ(seen.events[1].time, IMAGE_START + 300);
    CHECK_EQ(seen.info.startTime, IMAGE_START);
    SeenFree(&seen);
    ImageFree(&f);
}

static void PutWide(uint8_t *out, const char *text)
{
    for (; *text != 0; text++, out += 2) {
        EtwStore16(out, (uint8_t)*text);
    }
}

static void info_header(void)
{
    Image f = {.bufferSize = 2048};
    Clock clock = {1, 10000000, 1000, 133444736000000000, 3400};
    HeaderAdd(&f, &clock, 1, true);
    uint8_t *log = f.data + 0x48 + 0x20;
    EtwStore32(log + 0x18, 156250);
    EtwStore32(log + 0x1c, 20);
    PutWide(log + 0x4c, "W. Europe Standard Time");
    PutWide(log + 0xa0, "Thirty-two characters, no NUL...");
    EtwStore32(log + 0xf0, (uint32_t)-60);
    f.size = EtwLoad32(f.data + 4); /* go on where the first record ended */
    static const char lab[] = "22621.1.amd64fre.ni_release";
    size_t at = RecordAdd(&f, ETL_SYSTEM64, 0x20, sizeof lab - 1);
    EtwStore16(f.data + at + 6, 0x42);
    memcpy(f.data + at + 0x20, lab, sizeof lab - 1); /* no NUL */
    at = RecordAdd(&f, ETL_SYSTEM64, 0x20, 36);
    EtwStore16(f.data + at + 6, 0x05);
    at = RecordAdd(&f, ETL_SYSTEM64, 0x20, 48);
    EtwStore16(f.data + at + 6, 0x50);
    f.buffer = 0;
    BufferEnd(&f);
    Seen seen = SeenMemory(f.data, f.size);
    const EtlInfo *info = &seen.info;
    CHECK_EQ(seen.count, 4);
    CHECK_STR(info->standardName, "W. Europe Standard Time");
    CHECK_STR(info->daylightName, "Thirty-two characters, no NUL...");
    CHECK_EQ(info->daylightBias, -60);
    CHECK_STR(info->buildLab, lab);
    CHECK_EQ(info->cpuMHz, 3400);
    CHECK_EQ(info->timerResolution, 156250);
    CHECK_EQ(info->maxFileSize, 20);
    CHECK(info->hasGroupMasks && info->groupMasks[1] == 0x07060504);
    CHECK(info->partition && info->partitionInfo[47] == 47);
    CHECK_EQ(info->compression, 0);
    SeenFree(&seen);
    ImageFree(&f);
}

/* ---- Filters ---------------------------------------------------------------------------------- */

/* A record of each kind: each is found by its own class, id and pid, and by nothing else. */
static void filter_kinds(void)
{
    static const struct {
        unsigned type;
        size_t header;
    } kinds[] = {{1, 0x20}, {2, 0x20}, {3, 0x18}, {4, 0x18}, {10, 0x30}, {11, 0x48}, {13, 0x50},
            {16, 0x10}, {17, 0x10}, {18, 0x50}, {19, 0x50}, {20, 0x30}, {21, 0x48}};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    Image f;
    EtlReader *r;
    EtwEvent e, all[KINDS + 1];
    ImageBegin(&f, 4096);
    BufferBegin(&f, 0, 1);
    for (unsigned i = 0; i < KINDS; i++) {
        size_t at = RecordAdd(&f, kinds[i].type, kinds[i].header, 8);
        uint8_t *record = f.data + at;
        bool info = kinds[i].header == 0x10;
        EtwStore64(record + (info ? 8 : 16), 2000 + i);
        if (kinds[i].header <= 0x20) {
            record[7] = (uint8_t)(i + 1); /* group */
        } else {
            memset(record + 0x18, (int)i + 1, 16);
        }
        if (!info) {
            EtwStore32(record + 0x0c, 100 + i);
        }
        if (kinds[i].header == 0x50) {
            EtwStore16(record + 0x28, (uint16_t)(200 + i));
        }
    }
    BufferEnd(&f);
    REQUIRE(EtlReaderOpenMemory(&r, f.data, f.size, 0, NULL, NULL, NULL) == ETW_OK);
    for (unsigned i = 0; i <= KINDS; i++) {
        REQUIRE(EtlReaderNext(r, &all[i]) == ETW_OK);
    }
    for (unsigned i = 0; i < KINDS; i++) {
        const EtwEvent *want = &all[i + 1];
        EtlFilter filter = {.providers = &want->provider,
                .providerCount = 1,
                .ids = &want->desc.id,
                .idCount = 1,
                .pids = &want->pid,
                .pidCount = 1,
                .from = INT64_MIN,
                .to = INT64_MAX};
        EtlReaderSetFilter(r, &filter);
        REQUIRE(EtlReaderNext(r, &e) == ETW_OK);
        CHECK_EQ(e.kind, kinds[i].type);
        CHECK_EQ(e.ticks, want->ticks);
        CHECK_EQ(EtlReaderNext(r, &e), ETW_END);
        EtwDescriptor other = want->desc;
        other.id++;
        filter.ids = &other.id;
        EtlReaderSetFilter(r, &filter);
        CHECK_EQ(EtlReaderNext(r, &e), ETW_END);
        filter.either = true; /* the class or that id */
        EtlReaderSetFilter(r, &filter);
        CHECK_EQ(EtlReaderNext(r, &e), ETW_OK);
        CHECK_EQ(e.kind, kinds[i].type);
        filter.either = false;
        filter.ids = NULL;
        filter.providerCount = filter.idCount = filter.pidCount = 0;
        filter.from = want->time;
        filter.to = want->time + 1;
        EtlReaderSetFilter(r, &filter);
        CHECK_EQ(EtlReaderNext(r, &e), ETW_OK);
        CHECK_EQ(e.kind, kinds[i].type);
        CHECK_EQ(EtlReaderNext(r, &e), ETW_END);
        filter.from = INT64_MAX; /* nothing but that class, however early */
        filter.to = INT64_MAX;
        filter.alsoProviders = &want->provider;
        filter.alsoProviderCount = 1;
        EtlReaderSetFilter(r, &filter);
        CHECK_EQ(EtlReaderNext(r, &e), ETW_OK);
        CHECK_EQ(e.kind, kinds[i].type);
        CHECK_EQ(EtlReaderNext(r, &e), ETW_END);
        filter.to = want->time;
        EtlReaderSetFilter(r, &filter);
        CHECK_EQ(EtlReaderNext(r, &e), ETW_END);
    }
    EtlReaderClose(r);
    ImageFree(&f);
}

/* Narrowed on the way: what is open comes unfiltered, and a file left at `to` has no end. */
static void filter_narrow(void)
{
    static const uint16_t also = 5, wanted = 107, want[] = {102, 5, 107};
    Image f;
    EtlReader *r;
    EtwEvent e;
    Seen seen = {0};
    ImageBegin(&f, 1024);
    for (int buffer = 1; buffer <= 9; buffer++) {
        BufferBegin(&f, 0, buffer);
        EventAdd(&f, 1000 + buffer * 100, (uint16_t)buffer);
        size_t at = EventAdd(&f, 1050 + buffer * 100, (uint16_t)(buffer + 100));
        BufferEnd(&f);
        if (buffer == 9) {
            f.data[at + 3] = 0;
        }
    }
    REQUIRE(EtlReaderOpenMemory(&r, f.data, f.size, 0, SeenWarn, &seen, NULL) == ETW_OK);
    EtlFilter filter = {.ids = &wanted,
            .idCount = 1,
            .from = IMAGE_START + 650,
            .to = IMAGE_START + 800,
            .alsoIds = &also,
            .alsoIdCount = 1};
    while (EtlReaderNext(r, &e) == ETW_OK && e.desc.id != 2) {
    }
    EtlReaderPushFilter(r, &filter);
    for (int i = 0; i < 3; i++) {
        REQUIRE(EtlReaderNext(r, &e) == ETW_OK);
        CHECK_EQ(e.desc.id, want[i]);
    }
    CHECK_EQ(EtlReaderNext(r, &e), ETW_END);
    CHECK_EQ(seen.warnings, 0);
    EtlReaderSetFilter(r, NULL); /* the whole file has one */
    while (EtlReaderNext(r, &e) == ETW_OK) {
    }
    CHECK(seen.warnings > 0);
    EtlReaderClose(r);
    ImageFree(&f);
}

/* Buffers out of the range are not even looked at: damage in them is not told. */
static void filter_skips(void)
{
    Image f;
    EtlReader *r;
    EtwEvent e;
    Seen seen = {0};
    ImageBegin(&f, 1024);
    for (int buffer = 1; buffer <= 9; buffer++) {
        BufferBegin(&f, 0, buffer);
        EventAdd(&f, 1000 + buffer * 100, (uint16_t)buffer);
        size_t at = EventAdd(&f, 1050 + buffer * 100, (uint16_t)(buffer + 100));
        BufferEnd(&f);
        EtwStore64(f.data + f.buffer + 0x10, (uint64_t)(1060 + buffer * 100)); /* flushed */
        if (buffer == 2 || buffer == 8) {
            f.data[at + 3] = 0;
        }
    }
    REQUIRE(EtlReaderOpenMemory(&r, f.data, f.size, 0, SeenWarn, &seen, NULL) == ETW_OK);
    EtlFilter filter = {.from = IMAGE_START + 450, .to = IMAGE_START + 600};
    EtlReaderSetFilter(r, &filter);
    for (int i = 0; i < 3; i++) {
        static const uint16_t want[] = {104, 5, 105};
        REQUIRE(EtlReaderNext(r, &e) == ETW_OK);
        CHECK_EQ(e.desc.id, want[i]);
    }
    CHECK_EQ(EtlReaderNext(r, &e), ETW_END);
    CHECK_EQ(seen.warnings, 0);
    EtlReaderClose(r);
    ImageFree(&f);
}

/* ---- Large files ------------------------------------------------------------------------------ */

/* Buffers of three CPUs whose times overlap, 40 MB: from a file, which is read piece by piece, and
 * from memory, the same events; damage is told at the same place. */
static void large_file(void)
{
    Image f;
    EtlReader *fromFile, *fromMemory;
    Seen file = {0}, memory = {0};
    EtwEvent a, b;
    const char *path = TestPath("large.etl");
    ImageBegin(&f, 65536);
    for (int64_t n = 0; f.size < 40 << 20; n++) {
        BufferBegin(&f, (int)(n % 3), n + 1);
        while (f.size - f.buffer < 65536 - 0x200) {
            size_t used = f.size - f.buffer;
            size_t at = EventAdd(&f, 2000 + n / 3 * 70000 + (int64_t)used, (uint16_t)(n & 0xFF));
            EtwStore64(f.data + at + 0x50, (uint64_t)at);
        }
        if (n == 200) {
            EtwStore16(f.data + f.buffer + 0x48 + 0x58 * 100, 3); /* a size that cannot be */
        }
        BufferEnd(&f);
    }
    FILE *out = fopen(path, "wb");
    REQUIRE(out != NULL && fwrite(f.data, 1, f.size, out) == f.size && fclose(out) == 0);
    REQUIRE(EtlReaderOpen(&fromFile, path, SeenWarn, &file, NULL) == ETW_OK);
    REQUIRE(EtlReaderOpenMemory(&fromMemory, f.data, f.size, 0, SeenWarn, &memory, NULL) == ETW_OK);
    uint64_t count = 0, different = 0;
    while (EtlReaderNext(fromMemory, &a) == ETW_OK) {
        bool same = EtlReaderNext(fromFile, &b) == ETW_OK && a.time == b.time && a.cpu == b.cpu &&
                    a.recordSize == b.recordSize && memcmp(a.record, b.record, a.recordSize) == 0;
        different += !same;
        count++;
    }
    CHECK(EtlReaderNext(fromFile, &b) == ETW_END);
    CHECK(count > 400000);
    CHECK_EQ(different, 0);
    CHECK(file.warnings > 0);
    CHECK_EQ(file.warnings, memory.warnings);
    CHECK_STR(file.text, memory.text);
    CHECK_EQ(file.where, memory.where);
    EtlReaderClose(fromFile);
    EtlReaderClose(fromMemory);
    remove(path);
    ImageFree(&f);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    OsInit();
    CHECK_RUN(record_instance);
    CHECK_RUN(record_items);
    CHECK_RUN(record_wide_stack);
    CHECK_RUN(record_counters);
    CHECK_RUN(record_message);
    CHECK_RUN(packed_formats);
    CHECK_RUN(packed_unknown);
    CHECK_RUN(packed_damaged);
    CHECK_RUN(packed_damaged_size);
    CHECK_RUN(packed_bomb);
    CHECK_RUN(hostile_time);
    CHECK_RUN(buffer_xp);
    CHECK_RUN(buffer_types);
    CHECK_RUN(buffer_lost);
    CHECK_RUN(buffer_wrapped);
    CHECK_RUN(buffer_loggers);
    CHECK_RUN(buffer_not_closed);
    CHECK_RUN(clock_pdh);
    CHECK_RUN(clock_reference);
    CHECK_RUN(info_header);
    CHECK_RUN(filter_kinds);
    CHECK_RUN(filter_skips);
    CHECK_RUN(filter_narrow);
    CHECK_RUN(large_file);
    return CHECK_DONE();
}
