/*
 * tests/etl/test_etl.c --
 *
 *	Records and the reader of .etl files, on files built byte by byte. Real files:
 *	test_corpus.c; the writer: test_etl_writer.c.
 */
#include "tests/support/check.h"
#include "base/os.h"
#include "etl/format.h"
#include "etl/record.h"
#include "tests/support/etlfile.h"

/* ---- Records --------------------------------------------------------------------------------- */

/* Common fields of the 0x18 first bytes of most kinds. */
static void Fill(uint8_t *r)
{
    EtwStore32(r + 0x08, 0x1234);
    EtwStore32(r + 0x0c, 0x5678);
    EtwStore64(r + 0x10, 99887766);
}

static EtwEvent Parsed(const Image *f, size_t at)
{
    EtwEvent event;
    size_t size = 0;
    memset(&event, 0xA5, sizeof event);
    if (!CHECK(EtlRecordParse(f->data + at, f->size - at, &event, &size))) {
        memset(&event, 0, sizeof event);
    }
    CHECK_EQ(size, f->size - at);
    return event;
}

static void CheckPayload(const Image *f, const EtwEvent *event, size_t at, size_t size)
{
    CHECK_EQ(event->payloadSize, size);
    CHECK_EQ(event->payload - f->data, at);
}

static void CheckGuid(const EtwGuid *guid, const char *want)
{
    char text[ETW_GUID_TEXT];
    EtwGuidFormat(guid, text);
    CHECK_STR(text, want);
}

static void record_kernel(void)
{
    static const struct {
        unsigned type;
        size_t header;
        uint8_t pointer;
        bool ids, cpuTimes;
    } kinds[] = {{ETL_SYSTEM32, 0x20, 4, true, true}, {ETL_SYSTEM64, 0x20, 8, true, true},
            {ETL_COMPACT32, 0x18, 4, true, false}, {ETL_COMPACT64, 0x18, 8, true, false},
            {ETL_PERFINFO32, 0x10, 4, false, false}, {ETL_PERFINFO64, 0x10, 8, false, false}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        Image f = {0};
        size_t at = RecordAdd(&f, kinds[i].type, kinds[i].header, 13);
        uint8_t *r = f.data + at;
        EtwStore16(r, 3);
        r[6] = 36;
        r[7] = 5; /* Thread/CSwitch */
        if (kinds[i].ids) {
            Fill(r);
        } else {
            EtwStore64(r + 8, 99887766);
        }
        if (kinds[i].cpuTimes) {
            EtwStore32(r + 0x18, 11);
            EtwStore32(r + 0x1c, 12);
        }
        EtwEvent e = Parsed(&f, at);
        CHECK_EQ(e.kind, kinds[i].type);
        CHECK_EQ(e.pointerSize, kinds[i].pointer);
        CHECK_EQ(e.hook, 0x524);
        CHECK_EQ(e.desc.opcode, 36);
        CHECK_EQ(e.desc.version, 3);
        CHECK_EQ(e.ticks, 99887766);
        CHECK_EQ(e.tid, kinds[i].ids ? 0x1234 : ETW_NO_ID);
        CHECK_EQ(e.pid, kinds[i].ids ? 0x5678 : ETW_NO_ID);
        CHECK_EQ(e.kernelTime, kinds[i].cpuTimes ? 11 : 0);
        CHECK_EQ(e.userTime, kinds[i].cpuTimes ? 12 : 0);
        CHECK(e.classic && e.meta == NULL && e.extendedSize == 0);
        CheckGuid(&e.provider, "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c");
        CheckPayload(&f, &e, kinds[i].header, 13);
        ImageFree(&f);
    }
}

static void record_groups(void)
{
    CheckGuid(EtlGroupGuid(0x0000), "68fdd900-4a3e-11d1-84f4-0000f80464e3");
    CheckGuid(EtlGroupGuid(0x0301), "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c");
    CheckGuid(EtlGroupGuid(0x030a), "2cb15d1d-5fc1-11d2-abe1-00a0c911f518"); /* Image load */
    CheckGuid(EtlGroupGuid(0x1402), "2cb15d1d-5fc1-11d2-abe1-00a0c911f518");
    CheckGuid(EtlGroupGuid(0x0600), "9a280ac0-c8e0-11d1-84e2-00c04fb998a2");
    CheckGuid(EtlGroupGuid(0x1e00), "2ce9a149-effe-42f0-a635-a1d39e26c8f2");
    CheckGuid(EtlGroupGuid(0x1f00), "00000000-0000-0000-0000-000000000000");
    CheckGuid(EtlGroupGuid(0xffff), "00000000-0000-0000-0000-000000000000");
}

/* Performance counters stand between header and payload; more than there is room for are not
 * skipped. */
static void record_counters(void)
{
    Image f = {0};
    size_t at = RecordAdd(&f, ETL_PERFINFO64, 0x10, 40);
    EtwStore16(f.data + at, 0x8302); /* PEBS index, 3 counters, version 2 */
    EtwEvent e = Parsed(&f, at);
    CHECK_EQ(e.desc.version, 2);
    CheckPayload(&f, &e, 0x10 + 32, 8);
    EtwStore16(f.data + at, 0x8702);
    e = Parsed(&f, at);
    CheckPayload(&f, &e, 0x10, 40);
    ImageFree(&f);
}

static void record_classic(void)
{
    static const struct {
        unsigned type;
        size_t header;
        uint8_t pointer;
    } kinds[] = {{ETL_FULL32, 0x30, 4}, {ETL_FULL64, 0x30, 8}, {ETL_INSTANCE32, 0x48, 4},
            {ETL_INSTANCE64, 0x48, 8}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        Image f = {0};
        size_t at = RecordAdd(&f, kinds[i].type, kinds[i].header, 5);
        uint8_t *r = f.data + at;
        Fill(r);
        r[4] = 32;
        r[5] = 4;
        EtwStore16(r + 6, 2);
        for (uint8_t k = 0; k < 16; k++) {
            r[0x18 + k] = k;
        }
        EtwStore32(r + 0x28, 5);
        EtwStore32(r + 0x2c, 6);
        EtwEvent e = Parsed(&f, at);
        CHECK_EQ(e.kind, kinds[i].type);
        CHECK_EQ(e.pointerSize, kinds[i].pointer);
        CHECK(e.classic);
        CHECK_EQ(e.desc.opcode, 32);
        CHECK_EQ(e.desc.level, 4);
        CHECK_EQ(e.desc.version, 2);
        CHECK_EQ(e.tid, 0x1234);
        CHECK_EQ(e.pid, 0x5678);
        CHECK_EQ(e.ticks, 99887766);
        CHECK_EQ(e.kernelTime, 5);
        CHECK_EQ(e.userTime, 6);
        CheckGuid(&e.provider, "03020100-0504-0706-0809-0a0b0c0d0e0f");
        CheckPayload(&f, &e, kinds[i].header, 5);
        ImageFree(&f);
    }
}

static void record_message(void)
{
    Image f = {0};
    /* sequence, GUID, time, ids, 32-bit pointers */
    size_t at = RecordAdd(&f, ETL_MESSAGE, 8 + 4 + 16 + 8 + 8, 6);
    uint8_t *r = f.data + at;
    EtwStore16(r + 4, 77);
    EtwStore16(r + 6, 1 | 2 | 8 | 0x20 | 0x40);
    memset(r + 12, 0xAB, 16);
    EtwStore64(r + 28, 4711);
    EtwStore32(r + 36, 3);
    EtwStore32(r + 40, 4);
    EtwEvent e = Parsed(&f, at);
    CHECK_EQ(e.kind, 0x90);
    CHECK_EQ(e.desc.id, 77);
    CHECK_EQ(e.pointerSize, 4);
    CHECK_EQ(e.ticks, 4711);
    CHECK_EQ(e.tid, 3);
    CHECK_EQ(e.pid, 4);
    CheckGuid(&e.provider, "abababab-abab-abab-abab-abababababab");
    CheckPayload(&f, &e, 44, 6);
    EtwStore16(r + 6, 4 | 0x80); /* component id; no time, no ids */
    e = Parsed(&f, at);
    CHECK_EQ(e.ticks, ETL_NO_TICKS);
    CHECK_EQ(e.pid, ETW_NO_ID);
    CHECK_EQ(e.pointerSize, 8);
    CHECK(EtwGuidIsNull(&e.provider));
    CheckPayload(&f, &e, 12, 38);
    ImageFree(&f);
}

/* Kinds that nobody described stay whole; what is no record is none. */
static void record_unknown(void)
{
    Image f = {0};
    EtwEvent e;
    size_t size, at = RecordAdd(&f, 14, 8, 24);
    e = Parsed(&f, at);
    CHECK_EQ(e.kind, 14);
    CHECK_EQ(e.ticks, ETL_NO_TICKS);
    CheckPayload(&f, &e, 0, 32);
    for (size_t left = 0; left < 32; left++) {
        CHECK(!EtlRecordParse(f.data + at, left, &e, &size));
    }
    f.data[2] = 0;
    CHECK(!EtlRecordParse(f.data + at, 32, &e, &size));
    f.data[2] = 32;
    CHECK(!EtlRecordParse(f.data + at, 32, &e, &size));
    f.data[2] = 19; /* an event's header is longer than this record */
    CHECK(!EtlRecordParse(f.data + at, 32, &e, &size));
    f.data[3] = 0xB0;
    CHECK(!EtlRecordParse(f.data + at, 32, &e, &size));
    memset(f.data, 0xFF, 32);
    CHECK(!EtlRecordParse(f.data + at, 32, &e, &size));
    ImageFree(&f);
}

/* Every kind, cut at every byte: refused, and nothing is touched behind the cut (ASan sees). */
static void record_cut(void)
{
    for (unsigned type = 1; type < 32; type++) {
        Image f = {0};
        RecordAdd(&f, type, 0x50, 30);
        for (size_t left = 0; left < 0x50 + 30; left++) {
            uint8_t *copy = EtwAlloc(left + 1); /* its own block: reads behind it are seen */
            copy = EtwRealloc(copy, left != 0 ? left : 1);
            memcpy(copy, f.data, left);
            EtwEvent e;
            size_t size, timeAt;
            int64_t ticks;
            CHECK(!EtlRecordParse(copy, left, &e, &size));
            CHECK(!EtlRecordPeek(copy, left, &ticks, &size));
            CHECK(!EtlRecordPeekAny(copy, left, &ticks, &size, &timeAt));
            EtwFree(copy);
        }
        ImageFree(&f);
    }
}

static EtwEvent FullEvent(void)
{
    static const uint8_t related[16] = "related activity", traits[] = "\x08\0trait",
                         meta[] = "\x0a\0\0metad\0", stack[24] = "three addresses of eight",
                         payload[] = "payload of 21 bytes.";
    EtwEvent e = {.ticks = 123456789, .pid = 10, .tid = 20, .kind = ETL_EVENT64, .pointerSize = 8};
    e.desc = (EtwDescriptor){0xFFFE, 2, 11, 4, 200, 0x1234, 0x8000000000000001u};
    EtwGuidFromName("Some-Provider", &e.provider);
    EtwGuidFromName("Some-Activity", &e.activity);
    e.kernelTime = 3;
    e.userTime = 4;
    e.related = related;
    e.stack = stack;
    e.stackCount = 3;
    e.traits = traits;
    e.traitsSize = 8;
    e.meta = meta;
    e.metaSize = 10;
    e.payload = payload;
    e.payloadSize = 21;
    return e;
}

static void CheckSame(const EtwEvent *got, const EtwEvent *want)
{
    CHECK_EQ(got->ticks, want->ticks);
    CHECK_EQ(got->pid, want->pid);
    CHECK_EQ(got->tid, want->tid);
    CHECK_EQ(got->pointerSize, want->pointerSize);
    CHECK_MEM(&got->provider, 16, &want->provider, 16);
    CHECK_MEM(&got->activity, 16, &want->activity, 16);
    CHECK_MEM(&got->desc, sizeof got->desc, &want->desc, sizeof want->desc);
    CHECK_EQ(got->kernelTime, want->kernelTime);
    CHECK_EQ(got->userTime, want->userTime);
    CHECK_MEM(got->related, got->related ? 16 : 0, want->related, want->related ? 16 : 0);
    CHECK_EQ(got->stackCount, want->stackCount);
    CHECK_MEM(got->stack, got->stackCount * got->pointerSize, want->stack,
            want->stackCount * want->pointerSize);
    CHECK_MEM(got->traits, got->traitsSize, want->traits, want->traitsSize);
    CHECK_MEM(got->meta, got->metaSize, want->meta, want->metaSize);
    CHECK_MEM(got->payload, got->payloadSize, want->payload, want->payloadSize);
}

/* With and without each of the four items: what is built is parsed to the same event. */
static void record_build(void)
{
    for (unsigned which = 0; which < 32; which++) {
        EtwEvent want = FullEvent(), got;
        want.pointerSize = which & 16 ? 4 : 8;
        want.related = which & 1 ? want.related : NULL;
        want.stack = which & 2 ? want.stack : NULL;
        want.stackCount = which & 2 ? 3 : 0;
        want.traits = which & 4 ? want.traits : NULL;
        want.traitsSize = which & 4 ? want.traitsSize : 0;
        want.meta = which & 8 ? want.meta : NULL;
        want.metaSize = which & 8 ? want.metaSize : 0;
        uint8_t out[512];
        memset(out, 0xCC, sizeof out);
        size_t parsed, size = EtlRecordSize(&want);
        CHECK_EQ(size % 8, 0);
        EtlRecordBuild(&want, out, size);
        CHECK_EQ(out[size], 0xCC);
        REQUIRE(EtlRecordParse(out, size, &got, &parsed));
        CHECK_EQ(parsed, size);
        CHECK_EQ(got.kind, which & 16 ? ETL_EVENT32 : ETL_EVENT64);
        CHECK_EQ(got.flags, which & 15 ? ETL_EVENT_FLAG_EXTENDED : 0);
        CheckSame(&got, &want);
    }
}

/* A WPP message has GUID, number, time and thread. */
static void record_build_message(void)
{
    EtwEvent want = FullEvent(), got;
    uint8_t out[512];
    memset(out, 0xCC, sizeof out);
    want.kind = ETL_MESSAGE;
    want.pointerSize = 4;
    size_t parsed, size = EtlRecordSize(&want);
    EtlRecordBuild(&want, out, size);
    CHECK_EQ(size, EtwAlign8(0x28 + want.payloadSize));
    CHECK_EQ(out[size], 0xCC);
    REQUIRE(EtlRecordParse(out, size, &got, &parsed));
    CHECK_EQ(parsed, size);
    CHECK(got.kind == ETL_MESSAGE && got.pointerSize == 4 && got.desc.id == want.desc.id);
    CHECK(got.ticks == want.ticks && got.pid == want.pid && got.tid == want.tid);
    CHECK(EtwGuidEqual(&got.provider, &want.provider));
    CHECK_MEM(got.payload, got.payloadSize, want.payload, want.payloadSize);
}

/* A classic event is an EVENT_TRACE_HEADER and nothing but the payload. */
static void record_build_classic(void)
{
    EtwEvent want = FullEvent(), got;
    uint8_t out[512];
    memset(out, 0xCC, sizeof out);
    want.classic = true;
    size_t parsed, size = EtlRecordSize(&want);
    EtlRecordBuild(&want, out, size);
    CHECK_EQ(size, EtwAlign8(0x30 + want.payloadSize));
    CHECK_EQ(out[size], 0xCC);
    CHECK_EQ(EtwLoad16(out), 0x30 + want.payloadSize);
    CHECK_EQ(EtwLoad16(out + 2), 0xC014);
    REQUIRE(EtlRecordParse(out, size, &got, &parsed));
    CHECK_EQ(parsed, size);
    CHECK(got.classic && got.meta == NULL && got.stack == NULL);
    CHECK_EQ(got.kind, ETL_FULL64);
    CHECK_EQ(got.ticks, want.ticks);
    CHECK_EQ(got.pid, want.pid);
    CHECK_EQ(got.tid, want.tid);
    CHECK_EQ(got.desc.opcode, want.desc.opcode);
    CHECK_EQ(got.desc.level, want.desc.level);
    CHECK_EQ(got.desc.version, want.desc.version);
    CHECK_EQ(got.desc.id, 0);
    CHECK_MEM(got.provider.bytes, 16, want.provider.bytes, 16);
    CHECK_MEM(got.payload, got.payloadSize, want.payload, want.payloadSize);
}

/* The bytes of a record with items 12 and 11 as OpenEtw and Windows write them. */
static void record_bytes(void)
{
    EtwEvent e = FullEvent();
    uint8_t out[512];
    memset(out, 0xCC, sizeof out);
    e.related = e.stack = NULL;
    e.stackCount = 0;
    size_t size = EtlRecordSize(&e);
    EtlRecordBuild(&e, out, size);
    static const uint8_t items[] = {16, 0, 12, 0, 1, 0, 8, 0, 8, 0, 't', 'r', 'a', 'i', 't', 0, 24,
            0, 11, 0, 0, 0, 10, 0, 10, 0, 0, 'm', 'e', 't', 'a', 'd', 0, 0, 0, 0, 0, 0, 0, 0};
    CHECK_EQ(size, 0x50 + 40 + 24);
    CHECK_EQ(EtwLoad16(out), 0x50 + 40 + 21);
    CHECK_EQ(EtwLoad16(out + 2), 0xC013);
    CHECK_EQ(EtwLoad16(out + 4), 1);
    CHECK_MEM(out + 0x50, sizeof items, items, sizeof items);
    CHECK_MEM(out + 0x50 + 40 + 21, 3, "\0\0", 3);
}

static void record_limits(void)
{
    static uint8_t big[0x10000];
    EtwEvent got, e = {.pointerSize = 8, .payload = big, .payloadSize = 0xFFFF - 0x50};
    size_t size = EtlRecordSize(&e), parsed;
    REQUIRE(size == 0x10000);
    uint8_t *out = EtwAlloc(size);
    big[0xFFFF - 0x51] = 99;
    EtlRecordBuild(&e, out, size);
    CHECK(EtlRecordParse(out, size, &got, &parsed));
    CHECK_EQ(got.payloadSize, e.payloadSize);
    CHECK_EQ(got.payload[got.payloadSize - 1], 99);
    EtwFree(out);
    e.payloadSize++;
    CHECK_EQ(EtlRecordSize(&e), 0);
    e.payloadSize = 0;
    e.meta = big;
    e.metaSize = 0x10000;
    CHECK_EQ(EtlRecordSize(&e), 0);
}

/* A chain of items that does not fit: no payload, no pointer outside, the rest kept raw. */
static void record_broken_items(void)
{
    EtwEvent e = FullEvent(), got;
    uint8_t out[512];
    size_t parsed, size = EtlRecordSize(&e);
    EtlRecordBuild(&e, out, size);
    EtwStore16(out + 0x50 + 24 + 6, 0x7000); /* size of the second item, the stack */
    REQUIRE(EtlRecordParse(out, size, &got, &parsed));
    CHECK(got.related != NULL && got.stack == NULL && got.meta == NULL);
    CHECK_EQ(got.payloadSize, 0);
    CHECK_EQ(got.extendedSize, EtwLoad16(out) - 0x50);
}

/* ---- Header and times ------------------------------------------------------------------------ */

static void reader_header(void)
{
    for (int wide = 0; wide < 2; wide++) {
        Image f = {.bufferSize = 4096};
        Clock clock = {1, 10000000, 5000, 133444736000000000, 0};
        HeaderAdd(&f, &clock, 1, wide);
        BufferBegin(&f, 3, 1);
        EventAdd(&f, 5001, 1);
        BufferEnd(&f);
        Seen seen = SeenMemory(f.data, f.size);
        REQUIRE(seen.status == ETW_OK);
        const EtlInfo *info = &seen.info;
        CHECK_STR(info->loggerName, "L\xc3\xa9");
        CHECK_STR(info->logFile, "f.etl");
        CHECK_EQ(info->major, 10);
        CHECK_EQ(info->minor, 0);
        CHECK_EQ(info->build, 22621);
        CHECK_EQ(info->cpus, 4);
        CHECK_EQ(info->pointerSize, wide ? 8 : 4);
        CHECK_EQ(info->bufferSize, 4096);
        CHECK_EQ(info->mode, 1);
        CHECK_EQ(info->clock, 1);
        CHECK_EQ(info->frequency, 10000000);
        CHECK_EQ(info->startTime, IMAGE_START);
        CHECK_EQ(info->endTime, IMAGE_START + 5000000000);
        CHECK_EQ(info->bootTime, IMAGE_START - 1000000000);
        CHECK_EQ(info->ticks0, 5000);
        CHECK_EQ(info->zoneBias, -60);
        CHECK_EQ(info->closed, true);
        CHECK_EQ(info->fileSize, 8192);
        CHECK_EQ(info->buffers, 2);
        CHECK_EQ(info->eventsLost, 7);
        CHECK_EQ(info->buffersLost, 3);
        CHECK_EQ(info->records, 2);
        CHECK_EQ(seen.warnings, 0);
        REQUIRE(seen.count == 2);
        CHECK_EQ(seen.events[0].kind, wide ? 2 : 1);
        CHECK_EQ(seen.events[0].time, IMAGE_START);
        CHECK_EQ(seen.events[1].cpu, 3);
        CHECK_EQ(seen.events[1].logger, 1);
        CHECK_EQ(seen.events[1].time, IMAGE_START + 100);
        SeenFree(&seen);
        ImageFree(&f);
    }
}

/* The reference values are of Python's integers. */
static void reader_times(void)
{
    static const struct {
        Clock clock;
        int64_t ticks, time;
    } cases[] = {
            {{1, 10000000, 1000, 129402940472257591, 0}, 1001, 1295820447225759200},
            {{1, 2337949, 1000, 129402940472257591, 0}, 1000 + 123456789, 1295820500031354517},
            {{1, 2337949, 1000, 129402940472257591, 0}, 1000 - 7, 1295820447225756105},
            {{1, 14318180, 0, 129402940472257591, 0}, 9999999999999, 1296518860012859066},
            {{1, 1000000000, 77, 129402940472257591, 0}, 80, 1295820447225759103},
            {{0, 1000000000, 77, 129402940472257591, 0}, 80, 1295820447225759103},
            {{2, 14318180, 5, 129402940472257591, 0}, 129402940472257599, 1295820447225759900},
            {{3, 14318180, 0, 129402940472257591, 3000}, 12345678901, 1295820451340985400},
            {{1, 0, 0, 129402940472257591, 0}, 3, 1295820447225759400},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Image f = {.bufferSize = 4096};
        HeaderAdd(&f, &cases[i].clock, 1, true);
        BufferBegin(&f, 1, 1);
        EventAdd(&f, cases[i].ticks, 9);
        BufferEnd(&f);
        Seen seen = SeenMemory(f.data, f.size);
        REQUIRE(seen.count == 2);
        const EtwEvent *e = &seen.events[seen.events[0].desc.id == 9 ? 0 : 1];
        CHECK_MSG(e->time == cases[i].time, "case %d: %lld, not %lld", (int)i, (long long)e->time,
                (long long)cases[i].time);
        CHECK_EQ(e->ticks, cases[i].ticks);
        SeenFree(&seen);
        ImageFree(&f);
    }
}

static void reader_not_etl(void)
{
    Image f;
    ImageBegin(&f, 4096);
    Seen seen = SeenMemory(f.data, 0);
    CHECK_EQ(seen.status, ETW_E_FORMAT);
    CHECK_STR(seen.error.detail, "EMPTY");
    seen = SeenMemory("hello, world", 12);
    CHECK_STR(seen.error.detail, "NOTETL");
    seen = SeenMemory(f.data, 0x48 + 0x20 + 0x100);
    CHECK_STR(seen.error.detail, "TRUNCATED");
    EtwStore16(f.data + 0x4c, 0x100);
    seen = SeenMemory(f.data, f.size);
    CHECK_STR(seen.error.detail, "HEADER");
    seen = SeenFile("/no/such/file.etl");
    CHECK_EQ(seen.status, ETW_E_IO);
    ImageFree(&f);
}

/* ---- Order ----------------------------------------------------------------------------------- */

static uint64_t seed = 1;
static uint32_t Random(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

static void CheckOrder(const Seen *seen)
{
    for (size_t i = 1; i < seen->count; i++) {
        const EtwEvent *a = &seen->events[i - 1], *b = &seen->events[i];
        bool good = a->time < b->time || (a->time == b->time && a->cpu < b->cpu) ||
                    (a->time == b->time && a->cpu == b->cpu && a->desc.id < b->desc.id);
        if (!CHECK_MSG(good, "event %d is out of order", (int)i)) {
            return;
        }
    }
}

/* 5 CPUs, buffers in any order of the file but each CPU's in its own; many equal times. */
static void reader_merge(void)
{
    Image f;
    int64_t ticks[5] = {1001, 1001, 1001, 1001, 1001};
    uint16_t id = 0;
    ImageBegin(&f, 1024);
    for (int buffer = 1; buffer < 400; buffer++) {
        int cpu = (int)Random(5), events = (int)Random(11);
        BufferBegin(&f, cpu, buffer);
        for (int i = 0; i < events; i++) {
            ticks[cpu] += Random(3);
            EventAdd(&f, ticks[cpu], ++id);
        }
        BufferEnd(&f);
    }
    Seen seen = SeenMemory(f.data, f.size);
    CHECK_EQ(seen.count, id + 1);
    CHECK_EQ(seen.info.buffers, 400);
    CHECK_EQ(seen.warnings, 0);
    CheckOrder(&seen);
    SeenFree(&seen);
    ImageFree(&f);
}

/* Buffers of one stream that overlap in time, stand in the wrong order, and begin at the same tick.
 */
static void reader_overlap(void)
{
    Image f;
    ImageBegin(&f, 1024);
    static const int64_t times[][4] = {{300, 310, 320, 330}, {100, 200, 400, 500},
            {150, 305, 306, 450}, {100, 100, 100, 100}, {600, 610, 620, 630}};
    for (int buffer = 0; buffer < 5; buffer++) {
        BufferBegin(&f, 2, buffer + 1);
        for (int i = 0; i < 4; i++) {
            EventAdd(&f, 1000 + times[buffer][i], (uint16_t)(buffer * 4 + i + 1));
        }
        BufferEnd(&f);
    }
    Seen seen = SeenMemory(f.data, f.size);
    CHECK_EQ(seen.count, 21);
    CheckOrder(&seen);
    SeenFree(&seen);
    ImageFree(&f);
}

/* Private loggers do not sort; the buffer's earliest event also decides where the buffer belongs.
 */
static void reader_unsorted(void)
{
    Image f = {.bufferSize = 1024};
    Clock clock = {1, 1000000000, 1000, 133444736000000000, 0};
    static const int64_t times[2][4] = {{500, 700, 600, 650}, {550, 540, 120, 900}};
    static const uint16_t want[] = {7, 1, 6, 5, 3, 4, 2, 8};
    HeaderAdd(&f, &clock, 0x20000, true);
    for (int buffer = 0; buffer < 2; buffer++) {
        BufferBegin(&f, 0, buffer + 1);
        for (int i = 0; i < 4; i++) {
            EventAdd(&f, 1000 + times[buffer][i], (uint16_t)(buffer * 4 + i + 1));
        }
        BufferEnd(&f);
    }
    Seen seen = SeenMemory(f.data, f.size);
    REQUIRE(seen.count == 9);
    for (int i = 0; i < 8; i++) {
        CHECK_EQ(seen.events[i + 1].desc.id, want[i]);
    }
    SeenFree(&seen);
    ImageFree(&f);
}

/* A record without a time has that of the one before, the first of a buffer that of the next. */
static void reader_no_time(void)
{
    Image f;
    ImageBegin(&f, 1024);
    BufferBegin(&f, 1, 1);
    RecordAdd(&f, ETL_MESSAGE, 8, 8);
    EventAdd(&f, 1500, 2);
    RecordAdd(&f, ETL_MESSAGE, 8, 8);
    BufferEnd(&f);
    Seen seen = SeenMemory(f.data, f.size);
    REQUIRE(seen.count == 4);
    CHECK_EQ(seen.events[1].kind, 0x90);
    CHECK_EQ(seen.events[1].ticks, 1500);
    CHECK_EQ(seen.events[3].kind, 0x90);
    CHECK_EQ(seen.events[3].time, IMAGE_START + 500);
    SeenFree(&seen);
    ImageFree(&f);
}

static void reader_rewind(void)
{
    Image f;
    EtlReader *r;
    EtwEvent e;
    Seen seen = {0};
    ImageBegin(&f, 1024);
    for (int buffer = 1; buffer <= 4; buffer++) {
        BufferBegin(&f, buffer % 2, buffer);
        EventAdd(&f, 1000 + buffer, (uint16_t)buffer);
        EventAdd(&f, 1010 + buffer, (uint16_t)(10 + buffer));
        BufferEnd(&f);
    }
    f.data[4 * 1024 + 0x48 + 3] = 0; /* damage the last buffer */
    REQUIRE(EtlReaderOpenMemory(&r, f.data, f.size, 0, SeenWarn, &seen, NULL) == ETW_OK);
    for (int round = 0; round < 3; round++) {
        CHECK(EtlReaderProgress(r) < 0.5);
        for (int i = 0; i < 3 + round; i++) {
            CHECK_EQ(EtlReaderNext(r, &e), ETW_OK);
        }
        EtlReaderRewind(r);
        CHECK_EQ(EtlReaderInfo(r)->records, 0);
        while (EtlReaderNext(r, &e) == ETW_OK) {
        }
        CHECK_EQ(EtlReaderNext(r, &e), ETW_END);
        CHECK_EQ(EtlReaderInfo(r)->records, 7);
        CHECK(EtlReaderProgress(r) == 1.0);
        CHECK_EQ(seen.warnings, 1);
        EtlReaderRewind(r);
    }
    EtlReaderClose(r);
    ImageFree(&f);
}

/* While nothing passes a narrowed reader comes back, and only such a one. */
static void reader_pause(void)
{
    static const uint16_t none = 9;
    EtlFilter filter = {.ids = &none, .idCount = 1, .from = INT64_MIN, .to = INT64_MAX};
    Image f;
    EtlReader *r;
    EtwEvent e;
    EtwStatus status;
    int pauses = 0, events = 0;
    double done = 0;
    ImageBegin(&f, 65536);
    for (int buffer = 1; buffer <= 80; buffer++) {
        BufferBegin(&f, buffer % 2, buffer);
        size_t at = RecordAdd(&f, 19, 0x50, 60000);
        EtwStore64(f.data + at + 0x10, 1000 + (uint64_t)buffer);
        BufferEnd(&f);
    }
    REQUIRE(EtlReaderOpenMemory(&r, f.data, f.size, 0, NULL, NULL, NULL) == ETW_OK);
    EtlReaderSetFilter(r, &filter);
    CHECK_EQ(EtlReaderNext(r, &e), ETW_END);
    EtlReaderSetFilter(r, NULL);
    EtlReaderPushFilter(r, &filter);
    while ((status = EtlReaderNext(r, &e)) != ETW_END) {
        CHECK(EtlReaderProgress(r) >= done && EtlReaderProgress(r) < 1.0);
        done = EtlReaderProgress(r);
        pauses += status == ETW_PAUSE;
        events += status == ETW_OK;
    }
    CHECK_EQ(pauses, 4); /* of 4.8 MB */
    CHECK(events <= 3);  /* of buffers that were open */
    CHECK(EtlReaderProgress(r) == 1.0);
    EtlReaderClose(r);
    ImageFree(&f);
}

/* ---- Damage ---------------------------------------------------------------------------------- */

/* Three buffers of CPU 0 with 8 events each, ids 1 to 24. */
static void Three(Image *f)
{
    ImageBegin(f, 1024);
    for (int buffer = 0; buffer < 3; buffer++) {
        BufferBegin(f, 0, buffer + 1);
        for (int i = 0; i < 8; i++) {
            int n = buffer * 8 + i + 1;
            EventAdd(f, 1000 + n, (uint16_t)n);
        }
        BufferEnd(f);
    }
}

/* A damaged record costs the rest of its buffer, and the warning names the byte. */
static void damage_record(void)
{
    Image f;
    Three(&f);
    size_t at = 2048 + 0x48 + 5 * 0x58; /* the sixth record of the second buffer */
    EtwStore16(f.data + at, 0x7FFF);
    Seen seen = SeenMemory(f.data, f.size);
    CHECK_EQ(seen.count, 25 - 3);
    CHECK_EQ(seen.warnings, 1);
    CHECK_EQ(seen.where, at);
    CHECK_EQ(seen.before, 1 + 8 + 5);
    CHECK(strstr(seen.text, "264 bytes") != NULL);
    SeenFree(&seen);
    ImageFree(&f);
}

/* A damaged buffer header costs that buffer. */
static void damage_buffer(void)
{
    static const uint32_t sizes[] = {0, 3, 0xFFFFFFFF, 0x7FFFFFFF, 0x47};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        Image f;
        Three(&f);
        EtwStore32(f.data + 2048, sizes[i]);
        Seen seen = SeenMemory(f.data, f.size);
        CHECK_EQ(seen.count, 25 - 8);
        CHECK_EQ(seen.warnings, 1);
        CHECK_EQ(seen.where, 2048);
        CHECK_EQ(seen.before, 17);
        SeenFree(&seen);
        ImageFree(&f);
    }
}

/* Ends of data that reach past the buffer, or lie inside its header. */
static void damage_offsets(void)
{
    Image f;
    Three(&f);
    EtwStore32(f.data + 1024 + 0x30, 0xFFFFFFF0);
    EtwStore32(f.data + 2048 + 0x30, 5);
    EtwStore32(f.data + 2048 + 0x04, 0);
    Seen seen = SeenMemory(f.data, f.size);
    CHECK_EQ(seen.count, 25 - 8);
    CHECK_EQ(seen.warnings, 1);
    CHECK_EQ(seen.where, 1024 + 0x48 + 8 * 0x58); /* the fill */
    SeenFree(&seen);
    ImageFree(&f);
}

/* Space that was never used is no damage at the end of a file, and some in the middle. */
static void damage_blank(void)
{
    for (int fill = 0; fill < 2; fill++) {
        Image f;
        Three(&f);
        ImageGrow(&f, 3000, fill ? 0xFF : 0);
        Seen seen = SeenMemory(f.data, f.size);
        CHECK_EQ(seen.count, 25);
        CHECK_EQ(seen.warnings, 0);
        SeenFree(&seen);
        memset(f.data + 2048, fill ? 0xFF : 0, 1024);
        seen = SeenMemory(f.data, f.size);
        CHECK_EQ(seen.count, 17);
        CHECK_EQ(seen.warnings, 1);
        CHECK_EQ(seen.where, 2048);
        SeenFree(&seen);
        ImageFree(&f);
    }
}

/* The first 32 places are warnings of their own, the rest is counted in one. */
static void damage_many(void)
{
    for (int damages = 31; damages <= 35; damages++) {
        Image f;
        Three(&f);
        for (int n = 0; n < damages; n++) {
            ImageGrow(&f, 1024, 0x11);
            BufferBegin(&f, 0, 4 + n);
            EventAdd(&f, 2000 + n, (uint16_t)n);
            BufferEnd(&f);
        }
        Seen seen = SeenMemory(f.data, f.size);
        CHECK_EQ(seen.count, 25 + damages);
        CHECK_EQ(seen.info.damages, damages);
        CHECK_EQ(seen.warnings, damages <= 32 ? damages : 33);
        SeenFree(&seen);
        ImageFree(&f);
    }
}

/* Never a crash, never an event that is not whole, one warning that names the end. */
static void damage_truncated(void)
{
    Image f;
    Three(&f);
    for (size_t size = 0; size <= f.size; size++) {
        uint8_t *copy = EtwRealloc(NULL, size != 0 ? size : 1);
        memcpy(copy, f.data, size);
        Seen seen = SeenMemory(copy, size);
        size_t whole = size / 1024, rest = size % 1024, want = 0;
        if (size < 0x48 + 0x20 + 0x118 + 18) {
            CHECK_EQ(seen.status, ETW_E_FORMAT);
        } else {
            size_t inLast = rest > 0x48 ? (rest - 0x48) / 0x58 : 0;
            want = 1 + (whole > 1 ? (whole - 1) * 8 : 0) + (inLast < 8 || whole == 0 ? inLast : 8);
            want -= whole == 0 ? inLast : 0;
            CHECK_MSG(seen.count == want, "size %d: %d events, not %d", (int)size, (int)seen.count,
                    (int)want);
            CHECK_EQ(seen.warnings, rest != 0);
            CHECK(rest == 0 || rest < 0x48 || seen.where == size);
        }
        SeenFree(&seen);
        EtwFree(copy);
    }
    ImageFree(&f);
}

static void damage_not_closed(void)
{
    Image f;
    Three(&f);
    EtwStore64(f.data + 0x48 + 0x20 + 0x10, 0);
    Seen seen = SeenMemory(f.data, f.size);
    CHECK_EQ(seen.count, 25);
    CHECK_EQ(seen.info.closed, false);
    CHECK_EQ(seen.warnings, 1);
    CHECK_EQ(seen.before, 25);
    CHECK(strstr(seen.text, "not closed") != NULL);
    SeenFree(&seen);
    ImageFree(&f);
}

/* A buffer that says it is compressed, but holds records. */
static void damage_compressed(void)
{
    Image f;
    Three(&f);
    EtwStore16(f.data + 2048 + 0x34, 0x60);
    Seen seen = SeenMemory(f.data, f.size);
    CHECK_EQ(seen.count, 17);
    CHECK_EQ(seen.info.buffers, 4);
    CHECK_EQ(seen.warnings, 1);
    CHECK_EQ(seen.where, 2048 + 0x48);
    CHECK(strstr(seen.text, "compressed") != NULL);
    SeenFree(&seen);
    ImageFree(&f);
}

/* Vista and 7: processor in one byte beside an alignment, and no SavedOffset in the header buffer.
 */
static void reader_old_header(void)
{
    Image f;
    Three(&f);
    EtwStore32(f.data + 0x04, 0);
    EtwStore16(f.data + 1024 + 0x34, 0);
    EtwStore16(f.data + 1024 + 0x28, 0x0803);
    EtwStore16(f.data + 2048 + 0x28, 0x0FFF);
    Seen seen = SeenMemory(f.data, f.size);
    REQUIRE(seen.count == 25);
    CHECK_EQ(seen.events[1].cpu, 3);
    CHECK_EQ(seen.events[9].cpu, 0x7FF);
    SeenFree(&seen);
    ImageFree(&f);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    OsInit();
    CHECK_RUN(record_kernel);
    CHECK_RUN(record_groups);
    CHECK_RUN(record_counters);
    CHECK_RUN(record_classic);
    CHECK_RUN(record_message);
    CHECK_RUN(record_unknown);
    CHECK_RUN(record_cut);
    CHECK_RUN(record_build);
    CHECK_RUN(record_build_message);
    CHECK_RUN(record_build_classic);
    CHECK_RUN(record_bytes);
    CHECK_RUN(record_limits);
    CHECK_RUN(record_broken_items);
    CHECK_RUN(reader_header);
    CHECK_RUN(reader_times);
    CHECK_RUN(reader_not_etl);
    CHECK_RUN(reader_merge);
    CHECK_RUN(reader_overlap);
    CHECK_RUN(reader_unsorted);
    CHECK_RUN(reader_no_time);
    CHECK_RUN(reader_rewind);
    CHECK_RUN(reader_pause);
    CHECK_RUN(reader_old_header);
    CHECK_RUN(damage_record);
    CHECK_RUN(damage_buffer);
    CHECK_RUN(damage_offsets);
    CHECK_RUN(damage_blank);
    CHECK_RUN(damage_many);
    CHECK_RUN(damage_truncated);
    CHECK_RUN(damage_not_closed);
    CHECK_RUN(damage_compressed);
    return CHECK_DONE();
}
