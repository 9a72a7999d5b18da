/*
 * tests/win/test_sim_events.c --
 *
 *	The simulated service from the provider's side: enable callbacks, filters, extended items,
 *	TraceLogging, log files, kernel events, and who is told to be registered.
 */
#include "tests/win/sim/simcheck.h"

/* ---- Enable callbacks ----------------------------------------------------------------------------- */

typedef struct Told {
    volatile LONG count;
    ULONG code;
    UCHAR level;
    ULONGLONG any, all;
    GUID source;
    ULONG filterType, filterSize;
    char filter[16];
    DWORD thread, delay;
    REGHANDLE unregister; /* from the callback */
} Told;

static VOID NTAPI OnEnable(LPCGUID source, ULONG code, UCHAR level, ULONGLONG any, ULONGLONG all,
        PEVENT_FILTER_DESCRIPTOR filter, PVOID context)
{
    Told *t = context;
    t->code = code;
    t->level = level;
    t->any = any;
    t->all = all;
    t->source = *source;
    t->filterType = filter != NULL ? filter->Type : 0;
    t->filterSize = filter != NULL ? filter->Size : 0;
    if (filter != NULL && filter->Size <= sizeof t->filter) {
        memcpy(t->filter, (const void *)(uintptr_t)filter->Ptr, filter->Size);
    }
    t->thread = GetCurrentThreadId();
    if (t->delay != 0) {
        Sleep(t->delay);
    }
    InterlockedIncrement(&t->count);
}

static void callbacks(void)
{
    TRACEHANDLE a = 0, b = 0;
    REGHANDLE reg, late;
    Props props;
    Told told = {0}, told2 = {0};
    EVENT_FILTER_DESCRIPTOR filter = {(ULONGLONG)(uintptr_t) "data", 5, 0x1234};
    ENABLE_TRACE_PARAMETERS p = {.Version = ENABLE_TRACE_PARAMETERS_VERSION_2,
            .EnableFilterDesc = &filter,
            .FilterDescCount = 1};
    p.SourceId = processGuid;
    EtwSimReset();
    CHECK_EQ(Start(&a, L"A", &props, EVENT_TRACE_REAL_TIME_MODE), ERROR_SUCCESS);
    CHECK_EQ(Start(&b, L"B", &props, EVENT_TRACE_REAL_TIME_MODE), ERROR_SUCCESS);
    CHECK_EQ(EventRegister(NULL, NULL, NULL, &reg), ERROR_INVALID_PARAMETER);
    CHECK_EQ(EventRegister(&providerGuid, OnEnable, &told, NULL), ERROR_INVALID_PARAMETER);
    CHECK_EQ(EventRegister(&providerGuid, OnEnable, &told, &reg), ERROR_SUCCESS);
    CHECK_EQ(told.count, 0); /* nobody listens */
    CHECK_EQ(Enable(a, 3, 0x0F, 0x3), ERROR_SUCCESS);
    CHECK_EQ(told.count, 1);
    CHECK_EQ(told.code, EVENT_CONTROL_CODE_ENABLE_PROVIDER);
    CHECK_EQ(told.level, 3);
    CHECK_EQ(told.any, 0x0F);
    CHECK_EQ(told.all, 0x3);
    CHECK(told.thread != GetCurrentThreadId());
    CHECK_EQ(EnableTraceEx2(b, &providerGuid, EVENT_CONTROL_CODE_ENABLE_PROVIDER, 5, 0xF0, 1,
                     INFINITE, &p),
            ERROR_SUCCESS);
    CHECK_EQ(told.level, 5); /* what all sessions together want */
    CHECK_EQ(told.any, 0xFF);
    CHECK_EQ(told.all, 1);
    CHECK_EQ(told.filterType, 0x1234);
    CHECK_STR(told.filter, "data");
    CHECK_MEM(&told.source, 16, &processGuid, 16);
    CHECK_EQ(EventRegister(&providerGuid, OnEnable, &told2, &late), ERROR_SUCCESS);
    CHECK_EQ(told2.count, 1); /* inside of the registration; no source, no filter */
    CHECK_EQ(told2.level, 5);
    CHECK_EQ(told2.filterType, 0);
    CHECK_EQ(EnableTraceEx2(a, &providerGuid, EVENT_CONTROL_CODE_CAPTURE_STATE, 2, 0x11, 0,
                     INFINITE, NULL),
            ERROR_SUCCESS);
    CHECK_EQ(told.code, EVENT_CONTROL_CODE_CAPTURE_STATE);
    CHECK_EQ(told.any, 0x11);
    CHECK_EQ(Control(b, &props, EVENT_TRACE_CONTROL_STOP), ERROR_SUCCESS);
    CHECK(Reached(&told.count, 4));
    CHECK_EQ(told.level, 3); /* one is left */
    CHECK_EQ(EnableTraceEx2(a, &providerGuid, EVENT_CONTROL_CODE_DISABLE_PROVIDER, 0, 0, 0,
                     INFINITE, NULL),
            ERROR_SUCCESS);
    CHECK_EQ(told.code, EVENT_CONTROL_CODE_DISABLE_PROVIDER);
    told.delay = 300;
    CHECK_EQ(
            EnableTraceEx2(a, &providerGuid, EVENT_CONTROL_CODE_ENABLE_PROVIDER, 1, 0, 0, 20, NULL),
            ERROR_TIMEOUT);
    LONG count = told.count;
    CHECK_EQ(EventUnregister(reg), ERROR_SUCCESS); /* waits for the callback that runs */
    CHECK_EQ(told.count, count + 1);
    CHECK_EQ(Enable(a, 2, 0, 0), ERROR_SUCCESS);
    CHECK_EQ(told.count, count + 1);
    CHECK_EQ(EventUnregister(reg), ERROR_INVALID_HANDLE);
    CHECK_EQ(EventUnregister(late), ERROR_SUCCESS);
}

static void enable_errors(void)
{
    TRACEHANDLE h = 0;
    Props props;
    USHORT ids[66] = {1, 65};
    ULONG pids[9] = {1};
    EVENT_FILTER_DESCRIPTOR filter[9] = {
            {(ULONGLONG)(uintptr_t)ids, sizeof ids, EVENT_FILTER_TYPE_EVENT_ID}};
    ENABLE_TRACE_PARAMETERS p = {.Version = 3, .EnableFilterDesc = filter, .FilterDescCount = 1};
    EtwSimReset();
    CHECK_EQ(Start(&h, L"E", &props, EVENT_TRACE_REAL_TIME_MODE), ERROR_SUCCESS);
#define ENABLE()                                                                                   \
    EnableTraceEx2(h, &providerGuid, EVENT_CONTROL_CODE_ENABLE_PROVIDER, 5, 0, 0, 0, &p)
    CHECK_EQ(ENABLE(), ERROR_INVALID_PARAMETER);
    p.Version = ENABLE_TRACE_PARAMETERS_VERSION_2;
    CHECK_EQ(ENABLE(), ERROR_INVALID_PARAMETER); /* 65 ids */
    ids[1] = 64;
    CHECK_EQ(ENABLE(), ERROR_SUCCESS);
    filter[1] = filter[0]; /* one of a kind */
    p.FilterDescCount = 2;
    CHECK_EQ(ENABLE(), ERROR_INVALID_PARAMETER);
    p.FilterDescCount = 9;
    CHECK_EQ(ENABLE(), ERROR_INVALID_PARAMETER);
    filter[0] = (EVENT_FILTER_DESCRIPTOR){(ULONGLONG)(uintptr_t)pids, 36, EVENT_FILTER_TYPE_PID};
    p.FilterDescCount = 1;
    CHECK_EQ(ENABLE(), ERROR_INVALID_PARAMETER); /* nine pids */
    filter[0].Size = 32;
    CHECK_EQ(ENABLE(), ERROR_SUCCESS);
    CHECK_EQ(EnableTraceEx2(h, NULL, 1, 5, 0, 0, 0, NULL), ERROR_INVALID_PARAMETER);
    CHECK_EQ(EnableTraceEx2(0, &providerGuid, 1, 5, 0, 0, 0, NULL), ERROR_INVALID_PARAMETER);
    CHECK_EQ(EnableTraceEx2(h, &providerGuid, 3, 5, 0, 0, 0, NULL), ERROR_INVALID_PARAMETER);
#undef ENABLE
}

/* ---- Which events a session gets ------------------------------------------------------------------- */

/* Enabled with parameters, the provider writes: what arrives. Result: owned. */
static Seen *Through(UCHAR level, ULONGLONG any, ULONGLONG all, ENABLE_TRACE_PARAMETERS *p,
        void (*write)(REGHANDLE reg))
{
    TRACEHANDLE h = 0;
    REGHANDLE reg;
    Props props;
    Seen *s = calloc(1, sizeof *s);
    EtwSimReset();
    CHECK_EQ(Start(&h, L"Through", &props, EVENT_TRACE_REAL_TIME_MODE), ERROR_SUCCESS);
    CHECK_EQ(EventRegister(&providerGuid, NULL, NULL, &reg), ERROR_SUCCESS);
    CHECK_EQ(EnableTraceEx2(h, &providerGuid, EVENT_CONTROL_CODE_ENABLE_PROVIDER, level, any, all,
                     INFINITE, p),
            ERROR_SUCCESS);
    Consume(s, (WCHAR *)L"Through");
    CHECK(Reached(&s->headers, 1));
    write(reg);
    CHECK_EQ(Control(h, &props, EVENT_TRACE_CONTROL_STOP), ERROR_SUCCESS);
    CHECK(Ended(s));
    EventUnregister(reg);
    return s;
}

static void WriteMany(REGHANDLE reg)
{
    Write(reg, 1, 0, 0, "a");
    Write(reg, 2, 4, 0, "b");
    Write(reg, 3, 5, 0, "c");
    Write(reg, 4, 4, 0x1, "d");
    Write(reg, 5, 4, 0x2, "e");
    Write(reg, 6, 4, 0x3, "f");
}

static void CheckIds(Seen *s, const char *want)
{
    char got[64] = "";
    for (int i = 0; i < s->events; i++) {
        sprintf(got + strlen(got), "%d", s->ids[i]);
    }
    CHECK_STR(got, want);
    free(s);
}

static void masks(void)
{
    ENABLE_TRACE_PARAMETERS p = {.Version = ENABLE_TRACE_PARAMETERS_VERSION_2,
            .EnableProperty = EVENT_ENABLE_PROPERTY_IGNORE_KEYWORD_0};
    CheckIds(Through(0, 0, 0, NULL, WriteMany), "123456");
    CheckIds(Through(4, 0, 0, NULL, WriteMany), "12456");
    CheckIds(Through(4, 1, 0, NULL, WriteMany), "1246");
    CheckIds(Through(4, 3, 3, NULL, WriteMany), "126");
    CheckIds(Through(4, 0, 3, NULL, WriteMany), "12456"); /* all counts beside any only */
    CheckIds(Through(4, 2, 0, &p, WriteMany), "56");
}

static void scope_filters(void)
{
    AbiFilterEventId *ids = calloc(1, sizeof *ids + 8);
    ULONG pids[2] = {1, 2};
    WCHAR names[64] = L"other.exe;TEST_SIM_EVENTS.EXE";
    EVENT_FILTER_DESCRIPTOR f = {
            (ULONGLONG)(uintptr_t)ids, sizeof *ids + 2, EVENT_FILTER_TYPE_EVENT_ID};
    ENABLE_TRACE_PARAMETERS p = {.Version = ENABLE_TRACE_PARAMETERS_VERSION_2,
            .EnableFilterDesc = &f,
            .FilterDescCount = 1};
    ids->FilterIn = TRUE;
    ids->Count = 2;
    ids->Events[0] = 2;
    ids->Events[1] = 6;
    CheckIds(Through(0, 0, 0, &p, WriteMany), "26");
    ids->FilterIn = FALSE;
    CheckIds(Through(0, 0, 0, &p, WriteMany), "1345");
    f = (EVENT_FILTER_DESCRIPTOR){(ULONGLONG)(uintptr_t)pids, sizeof pids, EVENT_FILTER_TYPE_PID};
    CheckIds(Through(0, 0, 0, &p, WriteMany), "");
    pids[1] = GetCurrentProcessId();
    CheckIds(Through(0, 0, 0, &p, WriteMany), "123456");
    f = (EVENT_FILTER_DESCRIPTOR){(ULONGLONG)(uintptr_t)names,
            (ULONG)((wcslen(names) + 1) * sizeof(WCHAR)), EVENT_FILTER_TYPE_EXECUTABLE_NAME};
    CheckIds(Through(0, 0, 0, &p, WriteMany), "123456");
    f.Size = 10 * sizeof(WCHAR); /* other.exe */
    CheckIds(Through(0, 0, 0, &p, WriteMany), "");
    free(ids);
}

/* ---- Extended items --------------------------------------------------------------------------------- */

static void WriteRelated(REGHANDLE reg)
{
    EVENT_DESCRIPTOR d = {.Id = 9};
    GUID activity = kernelGuid, before;
    CHECK_EQ(EventActivityIdControl(EVENT_ACTIVITY_CTRL_GET_SET_ID, &activity), ERROR_SUCCESS);
    CHECK_EQ(EventWriteTransfer(reg, &d, NULL, &processGuid, 0, NULL), ERROR_SUCCESS);
    memset(&before, 0, sizeof before);
    CHECK_EQ(EventActivityIdControl(EVENT_ACTIVITY_CTRL_SET_ID, &before), ERROR_SUCCESS);
}

static void items(void)
{
    AbiFilterEventId ids = {TRUE, 0, 1, {9}};
    EVENT_FILTER_DESCRIPTOR f = {
            (ULONGLONG)(uintptr_t)&ids, sizeof ids, EVENT_FILTER_TYPE_STACKWALK};
    ENABLE_TRACE_PARAMETERS p = {.Version = ENABLE_TRACE_PARAMETERS_VERSION_2,
            .EnableProperty = EVENT_ENABLE_PROPERTY_SID | EVENT_ENABLE_PROPERTY_TS_ID |
                              EVENT_ENABLE_PROPERTY_PROCESS_START_KEY};
    Seen *s = Through(0, 0, 0, NULL, WriteRelated);
    CHECK_EQ(s->last.ExtendedDataCount, 1);
    CHECK_MEM(&s->related, 16, &processGuid, 16);
    CHECK_MEM(&s->last.EventHeader.ActivityId, 16, &kernelGuid, 16);
    free(s);
    s = Through(0, 0, 0, &p, WriteRelated);
    CHECK_EQ(s->last.ExtendedDataCount, 4);
    CHECK_EQ(s->lastItems[EVENT_HEADER_EXT_TYPE_SID], 1);
    CHECK_EQ(s->itemSize[EVENT_HEADER_EXT_TYPE_TS_ID], 4);
    CHECK_EQ(s->itemSize[EVENT_HEADER_EXT_TYPE_PROCESS_START_KEY], 8);
    CHECK_EQ(s->last.EventHeader.Flags & EVENT_HEADER_FLAG_EXTENDED_INFO, 1);
    free(s);
    p.EnableProperty = 0;
    p.EnableFilterDesc = &f;
    p.FilterDescCount = 1;
    USHORT stack = sizeof(void *) == 8 ? EVENT_HEADER_EXT_TYPE_STACK_TRACE64
                                       : EVENT_HEADER_EXT_TYPE_STACK_TRACE32;
    s = Through(0, 0, 0, &p, WriteRelated);
    CHECK_EQ(s->lastItems[stack], 1);
    CHECK(s->itemSize[stack] > 8);
    free(s);
    ids.Events[0] = 8;
    s = Through(0, 0, 0, &p, WriteRelated);
    CHECK_EQ(s->lastItems[stack], 0);
    free(s);
}

static void WriteTraits(REGHANDLE reg)
{
    static const uint8_t traits[] = {7, 0, 'P', 'r', 'o', 'v', 0};
    static const uint8_t meta[] = {9, 0, 0, 'E', 'v', 0, 'n', 0, 8};
    uint32_t value = 42;
    EVENT_DESCRIPTOR d = {.Channel = 11, .Level = 5};
    EVENT_DATA_DESCRIPTOR data[3];
    EventDataDescCreate(&data[0], traits, sizeof traits);
    data[0].Reserved = ABI_PROVIDER_METADATA;
    EventDataDescCreate(&data[1], meta, sizeof meta);
    data[1].Reserved = ABI_EVENT_METADATA;
    EventDataDescCreate(&data[2], &value, 4);
    CHECK_EQ(EventWriteTransfer(reg, &d, NULL, NULL, 3, data), ERROR_SUCCESS);
    CHECK_EQ(EventSetInformation(reg, (EVENT_INFO_CLASS)ABI_SET_TRAITS, (void *)traits, 6),
            ERROR_INVALID_PARAMETER);
    CHECK_EQ(EventSetInformation(
                     reg, (EVENT_INFO_CLASS)ABI_SET_TRAITS, (void *)traits, sizeof traits),
            ERROR_SUCCESS);
    CHECK_EQ(EventWriteTransfer(reg, &d, NULL, NULL, 3, data), ERROR_SUCCESS);
}

static void trace_logging(void)
{
    Seen *s = Through(0, 0, 0, NULL, WriteTraits);
    CHECK_EQ(s->events, 2);
    CHECK_EQ(s->last.UserDataLength, 4); /* the first one's metadata was payload: 20 bytes */
    CHECK_EQ(s->lastItems[EVENT_HEADER_EXT_TYPE_EVENT_SCHEMA_TL], 1);
    CHECK_EQ(s->itemSize[EVENT_HEADER_EXT_TYPE_EVENT_SCHEMA_TL], 9);
    CHECK_EQ(s->itemSize[EVENT_HEADER_EXT_TYPE_PROV_TRAITS], 7);
    free(s);
}

/* ---- Files ---------------------------------------------------------------------------------------------- */

static Seen *ReadBack(Props *props, ULONG mode, ULONG *resultPtr)
{
    Seen *s = calloc(1, sizeof *s);
    CHECK(Open(s, NULL, props->file, mode));
    *resultPtr = ProcessTrace(&s->handle, 1, NULL, NULL);
    CHECK_EQ(CloseTrace(s->handle), ERROR_SUCCESS);
    return s;
}

static void files(void)
{
    TRACEHANDLE h = 0;
    REGHANDLE reg;
    Props props, first;
    ULONG result;
    EtwSimReset();
    PropsInit(&first, EVENT_TRACE_FILE_MODE_SEQUENTIAL);
    PropsFile(&first, L"simfile.etl");
    CHECK_EQ(StartTraceW(&h, L"ToFile", &first.p), ERROR_SUCCESS);
    CHECK_EQ(EventRegister(&providerGuid, NULL, NULL, &reg), ERROR_SUCCESS);
    CHECK_EQ(Enable(h, 5, 0, 0), ERROR_SUCCESS);
    Write(reg, 1, 1, 0, "one");
    Write(reg, 2, 1, 0, "two");
    CHECK_EQ(Control(h, &props, EVENT_TRACE_CONTROL_STOP), ERROR_SUCCESS);
    CHECK(props.p.BuffersWritten > 0);
    Seen *s = ReadBack(&first, 0, &result);
    CHECK_EQ(result, ERROR_SUCCESS);
    CHECK_EQ(s->events, 2);
    CHECK_EQ(s->headers > 0, 1);
    CHECK_STR(s->text, "two");
    LONGLONG time = s->last.EventHeader.TimeStamp.QuadPart;
    free(s);
    s = ReadBack(&first, PROCESS_TRACE_MODE_RAW_TIMESTAMP, &result);
    CHECK(s->last.EventHeader.TimeStamp.QuadPart != time);
    free(s);
    PropsInit(&first, EVENT_TRACE_FILE_MODE_SEQUENTIAL | EVENT_TRACE_FILE_MODE_APPEND);
    PropsFile(&first, L"simfile.etl");
    first.p.BufferSize = 64;
    CHECK_EQ(StartTraceW(&h, L"ToFile", &first.p), ERROR_INVALID_PARAMETER);
    first.p.Wnode.ClientContext = 2;
    CHECK_EQ(StartTraceW(&h, L"ToFile", &first.p), ERROR_SUCCESS);
    CHECK_EQ(Enable(h, 5, 0, 0), ERROR_SUCCESS);
    Write(reg, 3, 1, 0, "three");
    CHECK_EQ(Control(h, &props, EVENT_TRACE_CONTROL_STOP), ERROR_SUCCESS);
    CheckIds(ReadBack(&first, 0, &result), "123");
    s = calloc(1, sizeof *s);
    CHECK(!Open(s, NULL, (WCHAR *)L"Z:\\no\\such.etl", 0));
    CHECK(GetLastError() == ERROR_PATH_NOT_FOUND || GetLastError() == ERROR_FILE_NOT_FOUND);
    free(s);
    DeleteFileW(first.file);
    EventUnregister(reg);
}

/* A sequential file that reached its maximum ends its session. */
static void full_file(void)
{
    TRACEHANDLE h = 0;
    REGHANDLE reg;
    Props props, first;
    char text[2000];
    ULONG result = ERROR_SUCCESS;
    EtwSimReset();
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    PropsInit(&first, EVENT_TRACE_FILE_MODE_SEQUENTIAL);
    PropsFile(&first, L"simfull.etl");
    first.p.MaximumFileSize = 1;
    CHECK_EQ(StartTraceW(&h, L"Filled", &first.p), ERROR_SUCCESS);
    CHECK_EQ(EventRegister(&providerGuid, NULL, NULL, &reg), ERROR_SUCCESS);
    CHECK_EQ(Enable(h, 5, 0, 0), ERROR_SUCCESS);
    for (int i = 0; i < 100000 && result == ERROR_SUCCESS; i++) {
        Write(reg, 1, 1, 0, text);
        if (i % 100 == 0) {
            result = Control(h, &props, EVENT_TRACE_CONTROL_QUERY);
        }
    }
    CHECK_EQ(result, ERROR_WMI_INSTANCE_NOT_FOUND);
    DeleteFileW(first.file);
    EventUnregister(reg);
}

static void buffering(void)
{
    TRACEHANDLE h = 0;
    REGHANDLE reg;
    Props props;
    ULONG result;
    EtwSimReset();
    CHECK_EQ(Start(&h, L"Memory", &props, EVENT_TRACE_BUFFERING_MODE), ERROR_SUCCESS);
    CHECK_EQ(EventRegister(&providerGuid, NULL, NULL, &reg), ERROR_SUCCESS);
    CHECK_EQ(Enable(h, 5, 0, 0), ERROR_SUCCESS);
    Write(reg, 1, 1, 0, "x");
    PropsInit(&props, 0);
    PropsFile(&props, L"simmem.etl");
    CHECK_EQ(ControlTraceW(h, NULL, &props.p, EVENT_TRACE_CONTROL_FLUSH), ERROR_SUCCESS);
    PropsFile(&props, L"simmem.etl");
    CheckIds(ReadBack(&props, 0, &result), "1");
    DeleteFileW(props.file);
    EventUnregister(reg);
}

/* ---- Kernel ----------------------------------------------------------------------------------------------- */

static void kernel(void)
{
    TRACEHANDLE h = 0;
    Props props;
    Seen *s = calloc(1, sizeof *s);
    CLASSIC_EVENT_ID stack = {processGuid, 1, {0}}, back[4];
    ULONG size = 0, masks[8] = {EVENT_TRACE_FLAG_PROCESS | EVENT_TRACE_FLAG_NETWORK_TCPIP};
    EtwSimReset();
    PropsInit(&props, EVENT_TRACE_REAL_TIME_MODE);
    props.p.EnableFlags = EVENT_TRACE_FLAG_PROCESS;
    CHECK_EQ(StartTraceW(&h, KERNEL_LOGGER_NAMEW, &props.p), ERROR_SUCCESS);
    CHECK_MEM(&props.p.Wnode.Guid, 16, &kernelGuid, 16); /* whatever was given */
    Consume(s, (WCHAR *)KERNEL_LOGGER_NAMEW);
    CHECK_EQ(Control(h, &props, EVENT_TRACE_CONTROL_FLUSH), ERROR_SUCCESS);
    CHECK(Reached(&s->events, 3));
    CHECK_EQ(s->events, 3);
    CHECK_EQ(s->opcodes[0], EVENT_TRACE_TYPE_DC_START);
    CHECK_EQ(s->opcodes[1], EVENT_TRACE_TYPE_START);
    CHECK_EQ(s->opcodes[2], EVENT_TRACE_TYPE_END);
    CHECK_MEM(&s->last.EventHeader.ProviderId, 16, &processGuid, 16);
    CHECK(s->last.EventHeader.Flags & EVENT_HEADER_FLAG_CLASSIC_HEADER);
    CHECK_EQ(s->last.EventHeader.EventDescriptor.Version, 4);
    CHECK_EQ(TraceSetInformation(h, TraceStackTracingInfo, &stack, sizeof stack), ERROR_SUCCESS);
    CHECK_EQ(TraceQueryInformation(h, TraceStackTracingInfo, back, sizeof back, &size),
            ERROR_SUCCESS);
    CHECK_EQ(size, sizeof stack);
    CHECK_EQ(EtwSimKernel(EVENT_TRACE_FLAG_PROCESS, 1), 1); /* start, its stack, end */
    CHECK_EQ(TraceSetInformation(h, TraceSystemTraceEnableFlagsInfo, masks, sizeof masks),
            ERROR_SUCCESS);
    CHECK_EQ(Control(h, &props, EVENT_TRACE_CONTROL_STOP), ERROR_SUCCESS);
    CHECK_EQ(props.p.EnableFlags, masks[0]);
    CHECK(Ended(s));
    CHECK_EQ(s->events, 3 + 3 + 5 + 1);
    CHECK_EQ(s->opcodes[3], 1);
    CHECK_EQ(s->opcodes[4], 32); /* StackWalk */
    CHECK_EQ(s->opcodes[11], EVENT_TRACE_TYPE_DC_END);
    free(s);
}

static void information(void)
{
    TRACEHANDLE h = 0;
    Props props;
    ULONG loggers = 0, size = 0, masks[8] = {0};
    EtwSimReset();
    CHECK_EQ(TraceQueryInformation(0, TraceMaxLoggersQuery, &loggers, sizeof loggers, &size),
            ERROR_SUCCESS);
    CHECK_EQ(loggers, 64);
    CHECK_EQ(Start(&h, L"Plain", &props, EVENT_TRACE_REAL_TIME_MODE), ERROR_SUCCESS);
    CHECK_EQ(TraceSetInformation(h, TraceSystemTraceEnableFlagsInfo, masks, sizeof masks),
            ERROR_INVALID_PARAMETER); /* not a system logger */
    CHECK_EQ(TraceSetInformation(h + 1, TraceStackTracingInfo, NULL, 0),
            ERROR_WMI_INSTANCE_NOT_FOUND);
}

static void who(void)
{
    TRACEHANDLE h = 0;
    REGHANDLE reg;
    Props props;
    GUID guids[64];
    ULONG size = 0;
    uint8_t info[256];
    EtwSimReset();
    CHECK_EQ(EnumerateTraceGuidsEx(
                     TraceGuidQueryInfo, (void *)&providerGuid, 16, info, sizeof info, &size),
            ERROR_WMI_GUID_NOT_FOUND);
    CHECK_EQ(Start(&h, L"Who", &props, EVENT_TRACE_REAL_TIME_MODE), ERROR_SUCCESS);
    CHECK_EQ(Enable(h, 3, 0x70, 0x10), ERROR_SUCCESS); /* before it is registered */
    CHECK_EQ(EnumerateTraceGuidsEx(
                     TraceGuidQueryInfo, (void *)&providerGuid, 16, info, sizeof info, &size),
            ERROR_SUCCESS);
    TRACE_GUID_INFO *g = (void *)info;
    TRACE_PROVIDER_INSTANCE_INFO *i = (void *)(g + 1);
    TRACE_ENABLE_INFO *e = (void *)(i + 1);
    CHECK_EQ(i->Flags, TRACE_PROVIDER_FLAG_PRE_ENABLE);
    CHECK_EQ(EventRegister(&providerGuid, NULL, NULL, &reg), ERROR_SUCCESS);
    CHECK_EQ(EnumerateTraceGuidsEx(TraceGuidQueryList, NULL, 0, guids, 4, &size),
            ERROR_INSUFFICIENT_BUFFER);
    CHECK_EQ(size % sizeof(GUID), 0);
    CHECK_EQ(EnumerateTraceGuidsEx(TraceGuidQueryList, NULL, 0, guids, sizeof guids, &size),
            ERROR_SUCCESS);
    bool found = false;
    for (ULONG n = 0; n < size / sizeof(GUID); n++) {
        found |= memcmp(&guids[n], &providerGuid, 16) == 0;
    }
    CHECK(found);
    CHECK_EQ(EnumerateTraceGuidsEx(
                     TraceGuidQueryInfo, (void *)&providerGuid, 16, info, sizeof info, &size),
            ERROR_SUCCESS);
    CHECK_EQ(size, sizeof *g + sizeof *i + sizeof *e);
    CHECK_EQ(g->InstanceCount, 1);
    CHECK_EQ(i->EnableCount, 1);
    CHECK_EQ(i->Pid, GetCurrentProcessId());
    CHECK_EQ(i->Flags, 0);
    CHECK_EQ(e->Level, 3);
    CHECK_EQ(e->MatchAnyKeyword, 0x70);
    CHECK_EQ(e->MatchAllKeyword, 0x10);
    CHECK_EQ(e->LoggerId, (USHORT)h);
    EventUnregister(reg);
}

/* A private session is of a registered provider and of this process; it needs no privilege. */
static void private_session(void)
{
    TRACEHANDLE h = 0;
    REGHANDLE reg;
    Props props;
    ULONG mode = EVENT_TRACE_PRIVATE_LOGGER_MODE | EVENT_TRACE_PRIVATE_IN_PROC |
                 EVENT_TRACE_FILE_MODE_SEQUENTIAL;
    ULONG result;
    EtwSimReset();
    CHECK_EQ(Start(&h, L"P", &props, EVENT_TRACE_PRIVATE_IN_PROC | EVENT_TRACE_REAL_TIME_MODE),
            ERROR_INVALID_PARAMETER);
    CHECK_EQ(Start(&h, L"P", &props, mode | EVENT_TRACE_REAL_TIME_MODE), ERROR_INVALID_PARAMETER);
    PropsInit(&props, mode);
    PropsFile(&props, L"simpriv.etl");
    props.p.Wnode.Guid = providerGuid;
    CHECK_EQ(StartTraceW(&h, L"P", &props.p), ERROR_WMI_INSTANCE_NOT_FOUND);
    CHECK_EQ(EventRegister(&providerGuid, NULL, NULL, &reg), ERROR_SUCCESS);
    SetEnvironmentVariableW(L"ETWSIM_PRIVILEGE", L"none");
    CHECK_EQ(StartTraceW(&h, L"P", &props.p), ERROR_SUCCESS);
    CHECK_EQ(Enable(h, 5, 0, 0), ERROR_SUCCESS);
    Write(reg, 4, 1, 0, "x");
    Props stop; /* found by its mode and provider */
    CHECK_EQ(Control(h, &stop, EVENT_TRACE_CONTROL_STOP), ERROR_ACCESS_DENIED); /* not found */
    PropsInit(&stop, mode);
    stop.p.Wnode.Guid = providerGuid;
    CHECK_EQ(ControlTraceW(h, NULL, &stop.p, EVENT_TRACE_CONTROL_STOP), ERROR_SUCCESS);
    SetEnvironmentVariableW(L"ETWSIM_PRIVILEGE", NULL);
    Seen *s = ReadBack(&props, 0, &result);
    CHECK(s->last.EventHeader.Flags & EVENT_HEADER_FLAG_PRIVATE_SESSION);
    CheckIds(s, "4");
    DeleteFileW(props.file);
    EventUnregister(reg);
}

typedef struct Props2 {
    EVENT_TRACE_PROPERTIES_V2 p;
    WCHAR logger[256], file[512];
} Props2;

static EVENT_TRACE_PROPERTIES *Props2Init(
        Props2 *props, ULONG mode, EVENT_FILTER_DESCRIPTOR *filters, ULONG count)
{
    memset(props, 0, sizeof *props);
    props->p.Wnode.BufferSize = sizeof *props;
    props->p.Wnode.Flags = WNODE_FLAG_TRACED_GUID | WNODE_FLAG_VERSIONED_PROPERTIES;
    props->p.Wnode.Guid = providerGuid;
    props->p.LogFileMode = mode;
    props->p.LoggerNameOffset = offsetof(Props2, logger);
    props->p.LogFileNameOffset = offsetof(Props2, file);
    props->p.VersionNumber = 2;
    props->p.FilterDescCount = count;
    props->p.FilterDesc = filters;
    GetTempPathW(400, props->file);
    wcscat(props->file, L"simpriv2.etl");
    return (EVENT_TRACE_PROPERTIES *)(void *)props;
}

/* EVENT_TRACE_PROPERTIES_V2: filters are of private sessions in other processes, of two kinds, one of
 * each, and said with each call. */
static void private_filters(void)
{
    TRACEHANDLE h = 0;
    Props2 props;
    ULONG pids[] = {GetCurrentProcessId(), 4}, mode = EVENT_TRACE_PRIVATE_LOGGER_MODE;
    EVENT_FILTER_DESCRIPTOR f[2] = {
            {(ULONGLONG)(uintptr_t)pids, sizeof pids, EVENT_FILTER_TYPE_PID},
            {(ULONGLONG)(uintptr_t)L"a.exe", 12, EVENT_FILTER_TYPE_EXECUTABLE_NAME}};
    EVENT_FILTER_DESCRIPTOR twice[2] = {f[0], f[0]};
    ENABLE_TRACE_PARAMETERS enable = {
            .Version = ENABLE_TRACE_PARAMETERS_VERSION_2, .EnableFilterDesc = f};
    EtwSimReset();
    CHECK_EQ(StartTraceW(&h, L"P2", Props2Init(&props, EVENT_TRACE_REAL_TIME_MODE, f, 1)),
            ERROR_INVALID_PARAMETER);
    CHECK_EQ(StartTraceW(&h, L"P2", Props2Init(&props, mode | EVENT_TRACE_PRIVATE_IN_PROC, f, 1)),
            ERROR_INVALID_PARAMETER);
    CHECK_EQ(StartTraceW(&h, L"P2", Props2Init(&props, mode, NULL, 1)), ERROR_INVALID_PARAMETER);
    CHECK_EQ(StartTraceW(&h, L"P2", Props2Init(&props, mode, f, 0)), ERROR_INVALID_PARAMETER);
    CHECK_EQ(StartTraceW(&h, L"P2", Props2Init(&props, mode, twice, 2)), ERROR_INVALID_PARAMETER);
    twice[0].Type = EVENT_FILTER_TYPE_EVENT_ID;
    CHECK_EQ(StartTraceW(&h, L"P2", Props2Init(&props, mode, twice, 1)), ERROR_INVALID_PARAMETER);
    Props2Init(&props, mode, f, 1)->Wnode.BufferSize = sizeof(EVENT_TRACE_PROPERTIES);
    CHECK_EQ(StartTraceW(&h, L"P2", (EVENT_TRACE_PROPERTIES *)(void *)&props),
            sizeof(EVENT_TRACE_PROPERTIES) < sizeof props.p ? ERROR_BAD_LENGTH : ERROR_SUCCESS);
    CHECK_EQ(StartTraceW(&h, L"P2", Props2Init(&props, mode, f, 1)), ERROR_SUCCESS);
    CHECK_EQ(Enable(h, 5, 0, 0), ERROR_INVALID_PARAMETER);
    enable.FilterDescCount = 1;
    CHECK_EQ(EnableTraceEx2(h, &providerGuid, EVENT_CONTROL_CODE_ENABLE_PROVIDER, 5, 0, 0, INFINITE,
                     &enable),
            ERROR_SUCCESS);
    CHECK_EQ(ControlTraceW(0, L"P2", Props2Init(&props, mode, NULL, 0), EVENT_TRACE_CONTROL_QUERY),
            ERROR_WMI_INSTANCE_NOT_FOUND);
    CHECK_EQ(ControlTraceW(0, L"P2", Props2Init(&props, mode, f, 1), EVENT_TRACE_CONTROL_STOP),
            ERROR_SUCCESS);
    DeleteFileW(props.file);
}

/* ---- Threads ------------------------------------------------------------------------------------------------ */

static REGHANDLE sharedReg;

static DWORD WINAPI WriteThread(void *arg)
{
    for (int i = 0; i < 20000; i++) {
        Write(sharedReg, (USHORT)(uintptr_t)arg, 1, 0, "thread");
    }
    return 0;
}

/* Four threads write while sessions come and go; what the session took, a consumer that keeps up
 * sees. */
static void threads(void)
{
    TRACEHANDLE h = 0, other = 0;
    Props props, p2;
    Seen *s = calloc(1, sizeof *s);
    HANDLE t[4];
    EtwSimReset();
    PropsInit(&props, EVENT_TRACE_REAL_TIME_MODE);
    props.p.MaximumBuffers = 1000;
    CHECK_EQ(StartTraceW(&h, L"Threads", &props.p), ERROR_SUCCESS);
    CHECK_EQ(EventRegister(&providerGuid, NULL, NULL, &sharedReg), ERROR_SUCCESS);
    CHECK_EQ(Enable(h, 5, 0, 0), ERROR_SUCCESS);
    Consume(s, (WCHAR *)L"Threads");
    for (uintptr_t i = 0; i < 4; i++) {
        t[i] = CreateThread(NULL, 0, WriteThread, (void *)(i + 1), 0, NULL);
    }
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(Start(&other, L"Guest", &p2, EVENT_TRACE_REAL_TIME_MODE), ERROR_SUCCESS);
        CHECK_EQ(EnableTraceEx2(other, &providerGuid, 1, 5, 0, 0, 0, NULL), ERROR_SUCCESS);
        CHECK_EQ(Control(other, &p2, EVENT_TRACE_CONTROL_STOP), ERROR_SUCCESS);
    }
    WaitForMultipleObjects(4, t, TRUE, 60000);
    CHECK_EQ(Control(h, &props, EVENT_TRACE_CONTROL_STOP), ERROR_SUCCESS);
    CHECK(Ended(s));
    CHECK_EQ(props.p.EventsLost, 0);
    CHECK_EQ(props.p.RealTimeBuffersLost, 0);
    CHECK_EQ(s->events, 80000);
    EventUnregister(sharedReg);
    for (int i = 0; i < 4; i++) {
        CloseHandle(t[i]);
    }
    free(s);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(callbacks);
    CHECK_RUN(enable_errors);
    CHECK_RUN(masks);
    CHECK_RUN(scope_filters);
    CHECK_RUN(items);
    CHECK_RUN(trace_logging);
    CHECK_RUN(files);
    CHECK_RUN(full_file);
    CHECK_RUN(buffering);
    CHECK_RUN(kernel);
    CHECK_RUN(information);
    CHECK_RUN(who);
    CHECK_RUN(private_session);
    CHECK_RUN(private_filters);
    CHECK_RUN(threads);
    return CHECK_DONE();
}
