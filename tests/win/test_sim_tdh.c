/*
 * tests/win/test_sim_tdh.c --
 *
 *	What the simulated service gives through tdh_types.h: the installed provider, its events, names and
 *	maps, schemas of manifest, TraceLogging and kernel events, payload filters.
 */
#include "tests/win/sim/simcheck.h"

static const GUID simGuid = {
        0x5117e7a1, 0x0001, 0x4c5d, {0x9e, 0x6f, 0x1a, 0x2b, 0x3c, 0x4d, 0x5e, 0x6f}};

/* Call twice, as the documentation's examples do: for the size, for the data. */
#define TWICE(data, size, call)                                                                    \
    do {                                                                                           \
        ULONG error_;                                                                              \
        size = 0;                                                                                  \
        data = NULL;                                                                               \
        error_ = call;                                                                             \
        CHECK_EQ(error_, ERROR_INSUFFICIENT_BUFFER);                                               \
        data = malloc(size + 1);                                                                   \
        memset(data, 0xEE, size + 1);                                                              \
        error_ = call;                                                                             \
        REQUIRE(error_ == ERROR_SUCCESS);                                                          \
        CHECK(((uint8_t *)data)[size] == 0xEE);                                                    \
    } while (0)

static char *TextAt(void *base, ULONG offset)
{
    static char text[4][128];
    static int next;
    char *out = text[next++ % 4];
    const WCHAR *from = (const WCHAR *)(const void *)((const char *)base + offset);
    int i = 0;
    for (; offset != 0 && from[i] != 0 && i < 127; i++) {
        out[i] = (char)from[i];
    }
    out[i] = '\0';
    return out;
}

static void catalogue(void)
{
    PROVIDER_ENUMERATION_INFO *all;
    AbiProviderEventInfo *events;
    ULONG size;
    EtwSimReset();
    TWICE(all, size, TdhEnumerateProviders(all, &size));
    CHECK_EQ(all->NumberOfProviders, 1);
    CHECK_STR(TextAt(all, all->TraceProviderInfoArray[0].ProviderNameOffset),
            "Sim-Manifest-Provider");
    CHECK_MEM(&all->TraceProviderInfoArray[0].ProviderGuid, 16, &simGuid, 16);
    TWICE(events, size, TdhEnumerateManifestProviderEvents((LPGUID)&simGuid, events, &size));
    CHECK_EQ(events->NumberOfEvents, 3);
    CHECK_EQ(events->EventDescriptorsArray[1].Id, 2);
    CHECK_EQ(events->EventDescriptorsArray[1].Opcode, 20);
    CHECK_EQ(TdhEnumerateManifestProviderEvents((LPGUID)&providerGuid, events, &size),
            ERROR_FILE_NOT_FOUND);
    CHECK_EQ(TdhEnumerateProviders(NULL, NULL), ERROR_INVALID_PARAMETER);
    CHECK_EQ(TdhLoadManifest((WCHAR *)L"Z:\\no\\such.man"), ERROR_FILE_NOT_FOUND);
    free(all);
    free(events);
}

static void names(void)
{
    PROVIDER_FIELD_INFOARRAY *info;
    ULONG size;
    EtwSimReset();
    TWICE(info, size,
            TdhEnumerateProviderFieldInformation(
                    (LPGUID)&simGuid, EventKeywordInformation, info, &size));
    CHECK_EQ(info->NumberOfElements, 2);
    CHECK_STR(TextAt(info, info->FieldInfoArray[1].NameOffset), "Disk");
    CHECK_EQ(info->FieldInfoArray[1].Value, 0x10);
    free(info);
    TWICE(info, size,
            TdhQueryProviderFieldInformation(
                    (LPGUID)&simGuid, 0x11, EventKeywordInformation, info, &size));
    CHECK_EQ(info->NumberOfElements, 2); /* each bit of the mask */
    free(info);
    TWICE(info, size,
            TdhEnumerateProviderFieldInformation(
                    (LPGUID)&simGuid, EventOpcodeInformation, info, &size));
    CHECK_EQ(info->FieldInfoArray[0].Value, 20 << 16 | 7);
    free(info);
    size = 0;
    CHECK_EQ(TdhQueryProviderFieldInformation(
                     (LPGUID)&simGuid, 99, EventTaskInformation, NULL, &size),
            ERROR_NOT_FOUND);
    CHECK_EQ(TdhEnumerateProviderFieldInformation(
                     (LPGUID)&simGuid, EventInformationMax, NULL, &size),
            ERROR_NOT_SUPPORTED);
}

static void manifest_event(void)
{
    TRACE_EVENT_INFO *info;
    EVENT_MAP_INFO *map;
    EVENT_DESCRIPTOR d = {.Id = 2, .Version = 1};
    EVENT_RECORD r = {.EventHeader = {.ProviderId = simGuid}};
    ULONG size;
    EtwSimReset();
    TWICE(info, size, TdhGetManifestEventInformation((LPGUID)&simGuid, &d, info, &size));
    CHECK_EQ(info->DecodingSource, DecodingSourceXMLFile);
    CHECK_EQ(info->PropertyCount, 6);
    CHECK_EQ(info->TopLevelPropertyCount, 6);
    CHECK_STR(TextAt(info, info->TaskNameOffset), "Transfer");
    CHECK_STR(TextAt(info, info->OpcodeNameOffset), "Retry");
    CHECK_STR(TextAt(info, info->KeywordsNameOffset), "Net");
    CHECK_STR(TextAt(info, info->EventMessageOffset), "To %1:%2");
    EVENT_PROPERTY_INFO *p = info->EventPropertyInfoArray;
    CHECK_STR(TextAt(info, p[0].NameOffset), "Address");
    CHECK_EQ(p[0].nonStructType.InType, 8);
    CHECK_EQ(p[0].nonStructType.OutType, 23);
    CHECK_EQ(p[1].nonStructType.OutType, 22);
    CHECK_STR(TextAt(info, p[3].nonStructType.MapNameOffset), "Color");
    free(info);
    TWICE(map, size, TdhGetEventMapInformation(&r, (WCHAR *)L"Access", map, &size));
    CHECK_EQ(map->Flag, EVENTMAP_INFO_FLAG_MANIFEST_BITMAP);
    CHECK_EQ(map->EntryCount, 2);
    CHECK_EQ(map->MapEntryArray[1].Value, 4);
    CHECK_STR(TextAt(map, map->MapEntryArray[1].OutputOffset), "Write");
    free(map);
    CHECK_EQ(TdhGetEventMapInformation(&r, (WCHAR *)L"None", NULL, &size), ERROR_NOT_FOUND);
    r.EventHeader.EventDescriptor.Id = 77;
    CHECK_EQ(TdhGetEventInformation(&r, 0, NULL, NULL, &size), ERROR_NOT_FOUND);
}

static void structs(void)
{
    TRACE_EVENT_INFO *info;
    EVENT_RECORD r = {.EventHeader = {.ProviderId = simGuid}};
    ULONG size;
    EtwSimReset();
    r.EventHeader.EventDescriptor.Id = 3;
    r.EventHeader.EventDescriptor.Version = 1;
    TWICE(info, size, TdhGetEventInformation(&r, 0, NULL, info, &size));
    EVENT_PROPERTY_INFO *p = info->EventPropertyInfoArray;
    CHECK_EQ(info->TopLevelPropertyCount, 7);
    CHECK_EQ(info->PropertyCount, 9);
    CHECK_EQ(p[1].Flags & PropertyParamLength, PropertyParamLength);
    CHECK_EQ(p[1].lengthPropertyIndex, 0);
    CHECK_EQ(p[3].Flags & PropertyParamCount, PropertyParamCount);
    CHECK_EQ(p[3].countPropertyIndex, 2);
    CHECK_EQ(p[4].count, 3);
    CHECK_EQ(p[5].Flags & PropertyParamFixedLength, PropertyParamFixedLength);
    CHECK_EQ(p[5].length, 4);
    CHECK_EQ(p[6].Flags & PropertyStruct, PropertyStruct);
    CHECK_EQ(p[6].structType.StructStartIndex, 7); /* behind the top level */
    CHECK_EQ(p[6].structType.NumOfStructMembers, 2);
    CHECK_STR(TextAt(info, p[8].NameOffset), "Y");
    free(info);
}

static void other_sources(void)
{
    static const uint8_t traits[] = {7, 0, 'P', 'r', 'o', 'v', 0};
    static const uint8_t meta[] = {9, 0, 0, 'E', 'v', 0, 'n', 0, 8};
    EVENT_HEADER_EXTENDED_DATA_ITEM items[2] = {0};
    TRACE_EVENT_INFO *info;
    EVENT_RECORD r = {.EventHeader = {.ProviderId = providerGuid},
            .ExtendedDataCount = 2,
            .ExtendedData = items};
    ULONG size;
    EtwSimReset();
    items[0].ExtType = EVENT_HEADER_EXT_TYPE_PROV_TRAITS;
    items[0].DataSize = sizeof traits;
    items[0].DataPtr = (ULONGLONG)(uintptr_t)traits;
    items[1].ExtType = EVENT_HEADER_EXT_TYPE_EVENT_SCHEMA_TL;
    items[1].DataSize = sizeof meta;
    items[1].DataPtr = (ULONGLONG)(uintptr_t)meta;
    TWICE(info, size, TdhGetEventInformation(&r, 0, NULL, info, &size));
    CHECK_EQ(info->DecodingSource, 3);
    CHECK_STR(TextAt(info, info->ProviderNameOffset), "Prov");
    CHECK_STR(TextAt(info, info->TaskNameOffset), "Ev");
    CHECK_EQ(info->PropertyCount, 1);
    free(info);
    memset(&r, 0, sizeof r);
    r.EventHeader.ProviderId = processGuid;
    r.EventHeader.Flags = EVENT_HEADER_FLAG_CLASSIC_HEADER;
    r.EventHeader.EventDescriptor.Opcode = 1;
    r.EventHeader.EventDescriptor.Version = 4;
    TWICE(info, size, TdhGetEventInformation(&r, 0, NULL, info, &size));
    CHECK_EQ(info->DecodingSource, DecodingSourceWbem);
    CHECK_MEM(&info->EventGuid, 16, &processGuid, 16);
    CHECK_STR(TextAt(info, info->EventPropertyInfoArray[1].NameOffset), "ProcessId");
    free(info);
}

/* ---- Payload filters ------------------------------------------------------------------------------ */

static void WriteNet(REGHANDLE reg, uint32_t pid, uint32_t color)
{
    struct {
        uint32_t address;
        uint16_t port;
        uint8_t rest[16];
    } __attribute__((packed)) payload = {0x0100007f, 0x5000, {0}};
    EVENT_DESCRIPTOR d = {.Id = 2, .Version = 1, .Level = 4, .Keyword = 1};
    EVENT_DATA_DESCRIPTOR data;
    memcpy(payload.rest, &pid, 4);
    memcpy(payload.rest + 4, &color, 4);
    EventDataDescCreate(&data, &payload, sizeof payload);
    CHECK_EQ(EventWrite(reg, &d, 1, &data), ERROR_SUCCESS);
}

static void payload_filters(void)
{
    TRACEHANDLE h = 0;
    REGHANDLE reg;
    Props props;
    Seen *s = calloc(1, sizeof *s);
    PVOID filter = NULL;
    EVENT_DESCRIPTOR d = {.Id = 2, .Version = 1};
    EVENT_FILTER_DESCRIPTOR f = {0};
    ENABLE_TRACE_PARAMETERS p = {.Version = ENABLE_TRACE_PARAMETERS_VERSION_2,
            .EnableFilterDesc = &f,
            .FilterDescCount = 1};
    AbiPayloadPredicate conditions[2] = {{(WCHAR *)L"Pid", ABI_PAYLOAD_BETWEEN, (WCHAR *)L"10,20"},
            {(WCHAR *)L"Color", ABI_PAYLOAD_IS, (WCHAR *)L"green"}};
    EtwSimReset();
    CHECK_EQ(TdhCreatePayloadFilter(&providerGuid, &d, FALSE, 2, conditions, &filter),
            ERROR_FILE_NOT_FOUND);
    conditions[0].FieldName = (WCHAR *)L"None";
    CHECK_EQ(TdhCreatePayloadFilter(&simGuid, &d, FALSE, 2, conditions, &filter),
            ERROR_INVALID_PARAMETER);
    conditions[0].FieldName = (WCHAR *)L"Pid";
    CHECK_EQ(TdhCreatePayloadFilter(&simGuid, &d, FALSE, 2, conditions, &filter), ERROR_SUCCESS);
    CHECK_EQ(TdhAggregatePayloadFilters(1, &filter, NULL, &f), ERROR_SUCCESS);
    CHECK_EQ(TdhDeletePayloadFilter(&filter), ERROR_SUCCESS);
    CHECK(filter == NULL);
    CHECK_EQ(f.Type, EVENT_FILTER_TYPE_PAYLOAD);
    CHECK_EQ(Start(&h, L"Payload", &props, EVENT_TRACE_REAL_TIME_MODE), ERROR_SUCCESS);
    CHECK_EQ(EventRegister(&simGuid, NULL, NULL, &reg), ERROR_SUCCESS);
    CHECK_EQ(EnableTraceEx2(h, &simGuid, EVENT_CONTROL_CODE_ENABLE_PROVIDER, 5, 0, 0, INFINITE, &p),
            ERROR_SUCCESS);
    CHECK_EQ(TdhCleanupPayloadEventFilterDescriptor(&f), ERROR_SUCCESS); /* a copy was made */
    Consume(s, (WCHAR *)L"Payload");
    WriteNet(reg, 15, 2);
    WriteNet(reg, 15, 1);
    WriteNet(reg, 25, 2);
    Write(reg, 1, 4, 1, "no filter is about it");
    CHECK_EQ(Control(h, &props, EVENT_TRACE_CONTROL_FLUSH), ERROR_SUCCESS);
    CHECK(Reached(&s->events, 2));
    CHECK_EQ(Control(h, &props, EVENT_TRACE_CONTROL_STOP), ERROR_SUCCESS);
    CHECK(Ended(s));
    CHECK_EQ(s->events, 2);
    CHECK_EQ(s->ids[0], 2);
    CHECK_EQ(s->ids[1], 1);
    EventUnregister(reg);
    free(s);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(catalogue);
    CHECK_RUN(names);
    CHECK_RUN(manifest_event);
    CHECK_RUN(structs);
    CHECK_RUN(other_sources);
    CHECK_RUN(payload_filters);
    return CHECK_DONE();
}
