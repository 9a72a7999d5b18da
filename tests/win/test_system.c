/*
 * tests/win/test_system.c --
 *
 *	The engine "system" (win/system) through engine.h, schema.h and etw.h, against the
 *	simulated service: live consumers and their ends, what TDH says of events, filters on payloads,
 *	providers that come and go. Linked from the package's own objects, as sim/etwtest.dll is.
 */
#include "tests/win/abi.h"
#include "tests/support/check.h"
#include "base/bytes.h"
#include "base/os.h"
#include "engine/engine.h"
#include "etl/format.h"
#include "schema/store/platform_schema.h"
#include <stdlib.h>

enum { WAIT_NS = 50 * 1000000, PATIENCE = 200, SECOND = 1000 };

static const GUID simGuid = {
        0x5117e7a1, 0x0001, 0x4c5d, {0x9e, 0x6f, 0x1a, 0x2b, 0x3c, 0x4d, 0x5e, 0x6f}};
static const GUID bulkGuid = {
        0x5117e7a1, 0x0002, 0x4c5d, {0x9e, 0x6f, 0x1a, 0x2b, 0x3c, 0x4d, 0x5e, 0x6f}};
static const GUID processGuid = {
        0x3d6fa8d0, 0xfe05, 0x11d0, {0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c}};

static EtwError err;

/* ---- Support ------------------------------------------------------------------------------------- */

static EtwGuid GuidOf(const GUID *guid)
{
    EtwGuid out;
    memcpy(out.bytes, guid, sizeof out.bytes);
    return out;
}

static EtwStatus StartLive(const char *name, const GUID *provider, EtwEnable *enable)
{
    EtwSessionConfig config = {.name = name,
            .engine = ETW_ENGINE_SYSTEM,
            .realtime = true,
            .flushMs = 100,
            .kernelLogger = false};
    EtwEnable all = {0};
    EtwStatus status = EtwSessionStart(&config, &err);
    enable = enable != NULL ? enable : &all;
    if (status == ETW_OK && provider != NULL) {
        enable->provider = GuidOf(provider);
        status = EtwSessionEnable(name, enable, &err);
    }
    return status;
}

/* The next event of that provider; false: it ended, or none came for ten seconds. */
static bool NextOf(EtwLive *live, const GUID *provider, EtwEvent *event)
{
    EtwGuid guid = GuidOf(provider);
    for (int waits = 0; waits < PATIENCE;) {
        EtwStatus status = EtwLiveNext(live, event);
        if (status == ETW_OK && EtwGuidEqual(&event->provider, &guid)) {
            return true;
        }
        if (status == ETW_END) {
            return false;
        }
        if (status == ETW_AGAIN) {
            EtwLiveWait(live, WAIT_NS);
            waits++;
        }
    }
    return false;
}

static void WriteNet(REGHANDLE reg, uint32_t pid, uint32_t color)
{
    struct {
        uint32_t address;
        uint16_t port;
        uint32_t pid, color, access, status;
    } __attribute__((packed)) payload = {0x0100007f, 0x5000, pid, color, 5, 0};
    EVENT_DESCRIPTOR d = {.Id = 2, .Version = 1, .Level = 4, .Opcode = 20, .Task = 7, .Keyword = 1};
    EVENT_DATA_DESCRIPTOR data;
    EventDataDescCreate(&data, &payload, sizeof payload);
    CHECK_EQ(EventWrite(reg, &d, 1, &data), ERROR_SUCCESS);
}

/* ---- What TDH knows ------------------------------------------------------------------------------ */

static void manifest_event(void)
{
    REGHANDLE reg;
    EtwLive *live;
    EtwEvent e;
    EtwSimReset();
    REQUIRE(EventRegister(&simGuid, NULL, NULL, &reg) == ERROR_SUCCESS);
    REQUIRE(StartLive("tdh", &simGuid, NULL) == ETW_OK);
    REQUIRE(EtwLiveOpen("tdh", &live, &err) == ETW_OK);
    WriteNet(reg, 77, 2);
    EtwSessionFlush("tdh", NULL, &err);
    REQUIRE(NextOf(live, &simGuid, &e));
    EtwSchemaStore *store = EtwSchemaStoreNew();
    const EtwSchema *schema = EtwSchemaOf(store, &e);
    REQUIRE(schema != NULL);
    CHECK_EQ(schema->fieldCount, 6);
    CHECK_STR(schema->provider, "Sim-Manifest-Provider");
    CHECK_STR(schema->task ? schema->task : "", "Transfer");
    CHECK_STR(schema->fields[0].name, "Address");
    CHECK_EQ(schema->fields[0].out, ETW_OUT_IPV4);
    REQUIRE(schema->fields[3].map != NULL && schema->fields[4].map != NULL);
    CHECK_EQ(schema->fields[3].map->count, 2);
    CHECK(!schema->fields[3].map->bits && schema->fields[4].map->bits);
    CHECK(EtwSchemaOf(store, &e) == schema);
    EtwSchemaStore *second = EtwSchemaStoreNew(); /* asks, and is told without TDH */
    CHECK(EtwSchemaOf(second, &e) == schema);
    EtwSchemaStoreFree(second);
    EtwSchemaStoreFree(store);
    EtwLiveClose(live);
    EtwSessionStop("tdh", NULL, &err);
    EventUnregister(reg);
}

static void structs_and_sizes(void)
{
    EtwEvent e = {.provider = GuidOf(&simGuid), .desc = {.id = 3, .version = 1}, .pointerSize = 8};
    const EtwProviderDef *def = EtwPlatformEvent(&e);
    REQUIRE(def != NULL && def->eventCount == 1);
    const EtwSchema *schema = &def->events[0]->schema;
    CHECK_EQ(schema->fieldCount, 9);
    CHECK_STR(schema->fields[6].name, "Points");
    CHECK_EQ(schema->fields[6].members, 2);
    CHECK_EQ(schema->fields[1].sized, ETW_SIZE_BY_FIELD);
    e.desc.id = 99;
    CHECK(EtwPlatformEvent(&e) == NULL);
    CHECK(EtwPlatformEvent(&e) == NULL);
}

static void whole_provider(void)
{
    EtwGuid guid = GuidOf(&simGuid), none = GuidOf(&bulkGuid);
    const EtwProviderDef *def = EtwPlatformProvider(&guid);
    REQUIRE(def != NULL);
    CHECK_STR(def->name, "Sim-Manifest-Provider");
    CHECK_EQ(def->eventCount, 3);
    CHECK_EQ(def->nameCount[ETW_NAME_KEYWORD], 2);
    CHECK_STR(EtwDefNameOf(def, ETW_NAME_KEYWORD, 0x10, 0), "Disk");
    CHECK_STR(EtwDefNameOf(def, ETW_NAME_OPCODE, 20, 7), "Retry");
    CHECK(EtwPlatformProvider(&guid) == def);
    CHECK(EtwPlatformProvider(&none) == NULL);
}

static bool findSim(void *ctx, const EtwProviderInfo *info)
{
    EtwGuid guid = GuidOf(&simGuid);
    if (EtwGuidEqual(&info->guid, &guid)) {
        *(EtwProviderInfo *)ctx = *info;
    }
    return true;
}

static void who_is_there(void)
{
    EtwProviderInfo info = {.registrations = -1};
    REGHANDLE reg;
    EtwSimReset();
    EtwProviderList(findSim, &info);
    CHECK_STR(info.name, "Sim-Manifest-Provider");
    CHECK_EQ(info.registrations, 0);
    EventRegister(&simGuid, NULL, NULL, &reg);
    EtwEnable enable = {.level = 3, .any = 5, .all = 4};
    REQUIRE(StartLive("who", &simGuid, &enable) == ETW_OK);
    EtwProviderList(findSim, &info);
    CHECK_EQ(info.registrations, 1);
    REQUIRE(info.enables == 1);
    CHECK_STR(info.enabled[0].session, "who");
    CHECK_EQ(info.enabled[0].level, 3);
    CHECK_EQ(info.enabled[0].any, 5);
    CHECK_EQ(info.enabled[0].all, 4);
    EtwSessionStop("who", NULL, &err);
    EventUnregister(reg);
}

static void payload_filter(void)
{
    static const EtwPayloadTest tests[] = {
            {.id = 2, .version = 1, .field = "Pid", .value = "10,20", .op = 6},
            {.id = 2, .version = 1, .field = "Color", .value = "green", .op = 30}};
    EtwEnable enable = {.payload = tests, .payloadCount = 2};
    REGHANDLE reg;
    EtwLive *live;
    EtwEvent e;
    EtwSimReset();
    EventRegister(&simGuid, NULL, NULL, &reg);
    REQUIRE(StartLive("payload", &simGuid, &enable) == ETW_OK);
    REQUIRE(EtwLiveOpen("payload", &live, &err) == ETW_OK);
    WriteNet(reg, 25, 2);
    WriteNet(reg, 15, 1);
    WriteNet(reg, 15, 2);
    EtwSessionFlush("payload", NULL, &err);
    REQUIRE(NextOf(live, &simGuid, &e));
    CHECK_EQ(EtwLoad32(e.payload + 6), 15);
    CHECK_EQ(EtwLoad32(e.payload + 10), 2);
    EtwSessionStop("payload", NULL, &err);
    CHECK(!NextOf(live, &simGuid, &e));
    EtwLiveClose(live);
    EtwPayloadTest wrong = {.id = 2, .version = 1, .field = "None", .value = "1"};
    enable = (EtwEnable){.payload = &wrong, .payloadCount = 1};
    CHECK_EQ(StartLive("payload", &simGuid, &enable), ETW_E_IO);
    CHECK_EQ(err.osError, ERROR_INVALID_PARAMETER);
    EtwSessionStop("payload", NULL, &err);
    EventUnregister(reg);
}

/* ---- Live events --------------------------------------------------------------------------------- */

static void extended_items(void)
{
    EtwEnable enable = {.properties = ETW_ENABLE_SID | ETW_ENABLE_TS_ID | ETW_ENABLE_STACKS |
                                      ETW_ENABLE_PROCESS_START_KEY};
    GUID activity = {.Data1 = 1}, related = {.Data1 = 2};
    EVENT_DESCRIPTOR d = {.Id = 9, .Level = 4};
    REGHANDLE reg;
    EtwLive *live;
    EtwEvent e;
    uint32_t size;
    EtwSimReset();
    EventRegister(&bulkGuid, NULL, NULL, &reg);
    REQUIRE(StartLive("items", &bulkGuid, &enable) == ETW_OK);
    REQUIRE(EtwLiveOpen("items", &live, &err) == ETW_OK);
    CHECK_EQ(EventWriteTransfer(reg, &d, &activity, &related, 0, NULL), ERROR_SUCCESS);
    EtwSessionFlush("items", NULL, &err);
    REQUIRE(NextOf(live, &bulkGuid, &e));
    CHECK_EQ(e.desc.id, 9);
    CHECK_EQ(e.pid, GetCurrentProcessId());
    CHECK_EQ(e.tid, GetCurrentThreadId());
    CHECK_EQ(EtwLoad32(e.activity.bytes), 1);
    REQUIRE(e.related != NULL);
    CHECK_EQ(EtwLoad32(e.related), 2);
    CHECK(e.stackCount > 0);
    CHECK(EtwEventItem(&e, ETL_ITEM_SID, &size) != NULL && size >= 8);
    CHECK(EtwEventItem(&e, ETL_ITEM_TS_ID, &size) != NULL && size == 4);
    CHECK(EtwEventItem(&e, ETL_ITEM_PROCESS_START_KEY, &size) != NULL && size == 8);
    OsInstant now;
    OsNow(&now);
    CHECK(e.time > now.wall - 60000000000 && e.time < now.wall + 1000000000);
    EtwLiveClose(live);
    EtwSessionStop("items", NULL, &err);
    EventUnregister(reg);
}

static void kernel_events(void)
{
    static const char *const groups[] = {"process", "img"};
    EtwKernelEnable request = {.groups = groups, .groupCount = 2, .allPids = true};
    EtwSessionConfig config = {
            .name = "kernel", .engine = ETW_ENGINE_SYSTEM, .realtime = true, .kernelLogger = true};
    EtwSessionInfo info;
    EtwLive *live;
    EtwEvent e;
    EtwSimReset();
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    CHECK_EQ(EtwSessionEnableKernel("kernel", &request, &err), ETW_OK);
    REQUIRE(EtwLiveOpen("kernel", &live, &err) == ETW_OK);
    EtwSimKernel(EVENT_TRACE_FLAG_PROCESS, 3);
    EtwSessionFlush("kernel", NULL, &err);
    REQUIRE(NextOf(live, &processGuid, &e));
    CHECK(e.classic);
    EtwSchemaStore *store = EtwSchemaStoreNew();
    const EtwSchema *schema = EtwSchemaOf(store, &e);
    REQUIRE(schema != NULL);
    CHECK_STR(schema->provider, "Process");
    EtwSchemaStoreFree(store);
    CHECK_EQ(EtwSessionDisableKernel("kernel", &err), ETW_OK);
    CHECK_EQ(EtwSessionStop("kernel", &info, &err), ETW_OK);
    EtwLiveClose(live);
}

/* Windows forgets the events of an earlier call about stacks: each call has those of all groups. */
static void kernel_stacks(void)
{
    static const GUID stackGuid = {
            0xdef2fe46, 0x7bd6, 0x4b80, {0xbd, 0x94, 0xf5, 0x7f, 0xe2, 0x0d, 0x0c, 0xe3}};
    static const char *const disk[] = {"diskio"}, *const image[] = {"imageload"};
    EtwKernelEnable request = {.groups = disk, .groupCount = 1, .allPids = true, .stacks = true};
    EtwSessionConfig config = {
            .name = "stacks", .engine = ETW_ENGINE_SYSTEM, .realtime = true, .kernelLogger = true};
    EtwLive *live;
    EtwEvent e;
    int stacks = 0;
    EtwSimReset();
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    CHECK_EQ(EtwSessionEnableKernel("stacks", &request, &err), ETW_OK);
    request.groups = image;
    CHECK_EQ(EtwSessionEnableKernel("stacks", &request, &err), ETW_OK);
    REQUIRE(EtwLiveOpen("stacks", &live, &err) == ETW_OK);
    EtwSimKernel(EVENT_TRACE_FLAG_DISK_IO, 5);
    EtwSessionStop("stacks", NULL, &err);
    while (NextOf(live, &stackGuid, &e)) {
        stacks++;
    }
    CHECK_EQ(stacks, 2 + 1 + 10); /* reads and writes; an image */
    EtwLiveClose(live);
}

/* A reader that reads nothing: memory stays bounded, what did not fit is counted. */
static void slow_reader(void)
{
    enum { EVENTS = 3000, SIZE = 60000 };
    static uint8_t bulk[SIZE];
    EVENT_DESCRIPTOR d = {.Id = 1, .Level = 4};
    EVENT_DATA_DESCRIPTOR data;
    REGHANDLE reg;
    EtwLive *live;
    EtwEvent e;
    EtwSessionInfo info = {0};
    EtwSessionConfig config = {.name = "slow",
            .engine = ETW_ENGINE_SYSTEM,
            .realtime = true,
            .bufferKB = 256,
            .maxBuffers = 64};
    EtwEnable enable = {.provider = GuidOf(&bulkGuid)};
    int written = 0, read = 0;
    EtwSimReset();
    EventRegister(&bulkGuid, NULL, NULL, &reg);
    REQUIRE(EtwSessionStart(&config, &err) == ETW_OK);
    REQUIRE(EtwSessionEnable("slow", &enable, &err) == ETW_OK);
    REQUIRE(EtwLiveOpen("slow", &live, &err) == ETW_OK);
    EventDataDescCreate(&data, bulk, SIZE);
    for (int i = 0; i < EVENTS; i++) {
        written += EventWrite(reg, &d, 1, &data) == ERROR_SUCCESS;
        if (i % 20 == 0) {
            EtwSessionFlush("slow", NULL, &err);
        }
    }
    EtwSessionStop("slow", &info, &err);
    while (NextOf(live, &bulkGuid, &e)) {
        read += e.payloadSize == SIZE;
    }
    CHECK(read > 100 && read < written);
    CHECK(EtwLiveLost(live) > 0);
    CHECK(read + (int)EtwLiveLost(live) <= written + 8); /* lost buffers count as one each */
    CHECK(info.lost.liveBuffers > 0 || read + (int)EtwLiveLost(live) >= written);
    EtwLiveClose(live);
    EventUnregister(reg);
}

static DWORD Since(DWORD start)
{
    return GetTickCount() - start;
}

/* Closed while it waits, while events come, and when its session has gone. */
static void ends(void)
{
    EVENT_TRACE_PROPERTIES *p = calloc(1, 4096);
    REGHANDLE reg;
    EtwLive *live;
    EtwEvent e;
    EtwSimReset();
    EventRegister(&simGuid, NULL, NULL, &reg);
    REQUIRE(StartLive("ends", &simGuid, NULL) == ETW_OK);
    for (int round = 0; round < 3; round++) {
        REQUIRE(EtwLiveOpen("ends", &live, &err) == ETW_OK);
        for (int i = 0; i < 1000 * round; i++) {
            WriteNet(reg, 1, 1);
        }
        DWORD start = GetTickCount();
        EtwLiveClose(live);
        CHECK(Since(start) < SECOND);
    }
    REQUIRE(EtwLiveOpen("ends", &live, &err) == ETW_OK);
    WriteNet(reg, 4, 1);
    p->Wnode.BufferSize = 4096; /* stopped by another tool */
    p->LoggerNameOffset = sizeof *p;
    CHECK_EQ(ControlTraceW(0, L"ends", p, EVENT_TRACE_CONTROL_STOP), ERROR_SUCCESS);
    while (NextOf(live, &simGuid, &e)) {
    }
    CHECK_EQ(EtwLiveNext(live, &e), ETW_END);
    CHECK_EQ(EtwLiveOpen("ends", &(EtwLive *){NULL}, &err), ETW_E_LOOKUP);
    DWORD start = GetTickCount();
    EtwLiveClose(live);
    CHECK(Since(start) < SECOND);
    EventUnregister(reg);
    free(p);
}

/* ---- Providers ----------------------------------------------------------------------------------- */

static volatile LONG toggling;

static void toggle(void *unused)
{
    EtwEnable enable = {0};
    (void)unused;
    EtwGuidFromName("System-Churn", &enable.provider);
    while (toggling) {
        EtwSessionEnable("churn", &enable, NULL);
        EtwSessionDisable("churn", &enable.provider, NULL);
    }
}

/* Registered, written to and unregistered while a session switches the provider on and off. */
static void providers_come_and_go(void)
{
    OsThread *thread;
    EtwSimReset();
    REQUIRE(StartLive("churn", NULL, NULL) == ETW_OK);
    toggling = 1;
    REQUIRE(OsThreadStart(&thread, "toggle", toggle, NULL) == ETW_OK);
    for (int i = 0; i < 300; i++) {
        Etw_Provider *p = Etw_Register("System-Churn", NULL);
        REQUIRE(p != NULL);
        Etw_Event *e = Etw_DefineEvent(p, &(Etw_EventDesc){.name = "Turn", .level = 4},
                (Etw_Field[]){{"Round", ETW_IN_UINT32, 0, 0, 0}}, 1);
        for (int k = 0; k < 20; k++) {
            Etw_Write(e, (Etw_Data[]){{&i, sizeof i}}, 1);
        }
        Etw_Unregister(p);
    }
    toggling = 0;
    OsThreadJoin(thread);
    EtwSessionStop("churn", NULL, &err);
    Etw_Provider *p = Etw_Register("System-Churn", NULL);
    CHECK_EQ(p->enabled, 0);
    Etw_Unregister(p);
}

/* More pieces than EventWrite takes: they are joined. */
static void many_pieces(void)
{
    Etw_Data data[200];
    uint8_t bytes[200];
    EtwGuid guid;
    EtwLive *live;
    EtwEvent e;
    GUID raw;
    EtwSimReset();
    EtwGuidFromName("System-Pieces", &guid);
    memcpy(&raw, guid.bytes, sizeof raw);
    Etw_Provider *p = Etw_Register("System-Pieces", NULL);
    Etw_Field fields[] = {{"Bytes", ETW_IN_UINT8, 0, ETW_ARRAY_FIXED, 200}};
    Etw_Event *event = Etw_DefineEvent(p, &(Etw_EventDesc){.name = "Many", .level = 4}, fields, 1);
    for (int i = 0; i < 200; i++) {
        bytes[i] = (uint8_t)i;
        data[i] = (Etw_Data){&bytes[i], 1};
    }
    REQUIRE(StartLive("pieces", &raw, NULL) == ETW_OK);
    REQUIRE(EtwLiveOpen("pieces", &live, &err) == ETW_OK);
    CHECK(Etw_Enabled(p, 4, 0));
    CHECK_EQ(Etw_Write(event, data, 200), ETW_WRITTEN);
    EtwSessionFlush("pieces", NULL, &err);
    REQUIRE(NextOf(live, &raw, &e));
    CHECK_MEM(e.payload, e.payloadSize, bytes, 200);
    CHECK(e.metaSize > 0 && e.traitsSize > 0);
    EtwLiveClose(live);
    EtwSessionStop("pieces", NULL, &err);
    Etw_Unregister(p);
}

/* What a provider gets from a session that has arguments for it. */
static struct {
    LONG calls;
    ULONG type, size;
    char data[ETW_MAX_ARGUMENTS];
} got;

static VOID NTAPI onArguments(LPCGUID source, ULONG code, UCHAR level, ULONGLONG any, ULONGLONG all,
        PEVENT_FILTER_DESCRIPTOR filter, PVOID context)
{
    (void)source, (void)level, (void)any, (void)all, (void)context;
    if (code == EVENT_CONTROL_CODE_ENABLE_PROVIDER && filter != NULL) {
        got.type = filter->Type;
        got.size = filter->Size;
        memcpy(got.data, (const void *)(uintptr_t)filter->Ptr, filter->Size);
        InterlockedIncrement(&got.calls);
    }
}

/* As EventSource of .NET reads them: names and values, each with a NUL, of type 0 ("update"). Windows
 * 7, too, passes one filter of the provider's own kind. */
static void arguments(void)
{
    static const char text[] = "Filter\0web*\0Rate\0"
                               "10";
    static const char *const builds[] = {"19045", "7601"};
    EtwEnable enable = {.arguments = text, .argumentsSize = sizeof text};
    REGHANDLE reg;
    EtwSimReset();
    memset(&got, 0, sizeof got);
    REQUIRE(EventRegister(&simGuid, onArguments, NULL, &reg) == ERROR_SUCCESS);
    for (int i = 0; i < 2; i++) {
        SetEnvironmentVariableA("ETWSIM_BUILD", builds[i]);
        REQUIRE(StartLive("arguments", &simGuid, &enable) == ETW_OK);
        CHECK_EQ(got.calls, i + 1); /* enabling waits for the callback */
        CHECK_EQ(got.type, 0);      /* EVENT_FILTER_TYPE_NONE */
        CHECK_MEM(got.data, got.size, text, sizeof text);
        CHECK_EQ(EtwSessionStop("arguments", NULL, &err), ETW_OK);
    }
    SetEnvironmentVariableA("ETWSIM_BUILD", NULL);
    EventUnregister(reg);
}

/* An event that fails some tests, but not all: recorded if one that is true suffices. */
static void payload_any(void)
{
    EtwPayloadTest tests[] = {{2, 1, "Pid", "77", 0}, {2, 1, "Color", "green", 30}};
    EtwEnable enable = {.payload = tests, .payloadCount = 2};
    REGHANDLE reg;
    EtwLive *live;
    EtwEvent e;
    EtwSimReset();
    REQUIRE(EventRegister(&simGuid, NULL, NULL, &reg) == ERROR_SUCCESS);
    for (int any = 0; any < 2; any++) {
        int events = 0;
        enable.payloadAny = any != 0;
        REQUIRE(StartLive("any", &simGuid, &enable) == ETW_OK);
        REQUIRE(EtwLiveOpen("any", &live, &err) == ETW_OK);
        WriteNet(reg, 77, 2);
        WriteNet(reg, 78, 2);
        WriteNet(reg, 77, 1);
        WriteNet(reg, 79, 1);
        EtwSessionStop("any", NULL, &err);
        while (NextOf(live, &simGuid, &e)) {
            events++;
        }
        CHECK_EQ(events, any ? 3 : 1);
        EtwLiveClose(live);
    }
    EventUnregister(reg);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    OsInit();
    CHECK_RUN(manifest_event);
    CHECK_RUN(structs_and_sizes);
    CHECK_RUN(whole_provider);
    CHECK_RUN(who_is_there);
    CHECK_RUN(payload_filter);
    CHECK_RUN(payload_any);
    CHECK_RUN(arguments);
    CHECK_RUN(extended_items);
    CHECK_RUN(kernel_events);
    CHECK_RUN(kernel_stacks);
    CHECK_RUN(slow_reader);
    CHECK_RUN(ends);
    CHECK_RUN(providers_come_and_go);
    CHECK_RUN(many_pieces);
    return CHECK_DONE();
}
