/*
 * tests/win/test_sim.c --
 *
 *	The simulated tracing service, called as the documentation's examples call the real one: what
 *	Microsoft documents of each function is checked here, so that tests of the package against the
 *	service mean something. Needs no Tcl and nothing of the package.
 */
#include "tests/win/sim/simcheck.h"

/* ---- Real time ------------------------------------------------------------------------------------ */

static void real_time(void)
{
    TRACEHANDLE h = 0;
    REGHANDLE reg;
    Props props;
    Seen *s = calloc(1, sizeof *s);
    FILETIME before, after;
    EtwSimReset();
    CHECK_EQ(Start(&h, L"SimRt", &props, EVENT_TRACE_REAL_TIME_MODE), ERROR_SUCCESS);
    CHECK(h != 0);
    CHECK(wcscmp(props.logger, L"SimRt") == 0);
    CHECK(props.p.BufferSize != 0 && props.p.MaximumBuffers > props.p.MinimumBuffers);
    CHECK_EQ(EventRegister(&providerGuid, NULL, NULL, &reg), ERROR_SUCCESS);
    CHECK_EQ(Write(reg, 1, 4, 1, "too early"), ERROR_SUCCESS);
    CHECK_EQ(Enable(h, 4, 0, 0), ERROR_SUCCESS);
    Consume(s, (WCHAR *)L"simrt");
    GetSystemTimeAsFileTime(&before);
    CHECK_EQ(Write(reg, 7, 4, 1, "hello"), ERROR_SUCCESS);
    CHECK_EQ(Write(reg, 8, 5, 1, "too verbose"), ERROR_SUCCESS);
    GetSystemTimeAsFileTime(&after);
    CHECK_EQ(Control(h, &props, EVENT_TRACE_CONTROL_FLUSH), ERROR_SUCCESS);
    CHECK(Reached(&s->events, 1));
    CHECK_EQ(Control(h, &props, EVENT_TRACE_CONTROL_STOP), ERROR_SUCCESS);
    CHECK(Ended(s));
    CHECK_EQ(s->result, ERROR_SUCCESS);
    CHECK_EQ(s->events, 1);
    CHECK_EQ(s->headers, 1);
    CHECK_EQ(s->ids[0], 7);
    CHECK_STR(s->text, "hello");
    CHECK_EQ(s->last.EventHeader.ProcessId, GetCurrentProcessId());
    CHECK_EQ(s->last.EventHeader.ThreadId, GetCurrentThreadId());
    LONGLONG time = s->last.EventHeader.TimeStamp.QuadPart;
    LONGLONG from = (LONGLONG)before.dwHighDateTime << 32 | before.dwLowDateTime;
    LONGLONG to = (LONGLONG)after.dwHighDateTime << 32 | after.dwLowDateTime;
    CHECK_MSG(time > from - 1000000 && time < to + 1000000, "off by %lld", time - from);
    CHECK_EQ(CloseTrace(s->handle), ERROR_SUCCESS);
    CHECK_EQ(CloseTrace(s->handle), ERROR_INVALID_HANDLE);
    CHECK_EQ(EventUnregister(reg), ERROR_SUCCESS);
    CHECK_EQ(Write(reg, 1, 4, 1, "gone"), ERROR_INVALID_HANDLE);
    free(s);
}

/* What a stopped consumer's session left: events are delivered first, then ProcessTrace ends. */
static void ends(void)
{
    TRACEHANDLE h = 0, two[2];
    REGHANDLE reg;
    Props props;
    Seen *a = calloc(1, sizeof *a), *b = calloc(1, sizeof *b), *c = calloc(1, sizeof *c);
    EtwSimReset();
    CHECK(Open(a, (WCHAR *)L"SimEnds", NULL, 0));
    CHECK_EQ(ProcessTrace(&a->handle, 1, NULL, NULL), ERROR_WMI_INSTANCE_NOT_FOUND);
    CHECK_EQ(Start(&h, L"SimEnds", &props, EVENT_TRACE_REAL_TIME_MODE), ERROR_SUCCESS);
    CHECK_EQ(EventRegister(&providerGuid, NULL, NULL, &reg), ERROR_SUCCESS);
    CHECK_EQ(Enable(h, 5, 0, 0), ERROR_SUCCESS);
    CHECK(Open(b, (WCHAR *)L"SimEnds", NULL, 0));
    two[0] = a->handle;
    two[1] = b->handle;
    CHECK_EQ(ProcessTrace(two, 2, NULL, NULL), ERROR_WMI_ALREADY_ENABLED);
    CHECK_EQ(ProcessTrace(NULL, 1, NULL, NULL), ERROR_INVALID_PARAMETER);
    CHECK_EQ(ProcessTrace(two, 0, NULL, NULL), ERROR_BAD_LENGTH);
    CHECK_EQ(ProcessTrace(two, 65, NULL, NULL), ERROR_BAD_LENGTH);
    two[0] = 123456;
    CHECK_EQ(ProcessTrace(two, 1, NULL, NULL), ERROR_INVALID_HANDLE);
    CHECK_EQ(CloseTrace(0), ERROR_INVALID_HANDLE);
    CHECK_EQ(CloseTrace(INVALID_PROCESSTRACE_HANDLE), ERROR_INVALID_HANDLE);
    CHECK_EQ(CloseTrace(a->handle), ERROR_SUCCESS);
    CHECK_EQ(CloseTrace(b->handle), ERROR_SUCCESS);
    a->stopAt = 1;
    b->closeAt = 1;
    Consume(a, (WCHAR *)L"SimEnds");
    Consume(b, (WCHAR *)L"SimEnds");
    Consume(c, (WCHAR *)L"SimEnds");
    CHECK(Reached(&a->headers, 1) && Reached(&b->headers, 1) && Reached(&c->headers, 1));
    CHECK_EQ(Write(reg, 1, 1, 0, "x"), ERROR_SUCCESS);
    CHECK_EQ(Control(h, &props, EVENT_TRACE_CONTROL_FLUSH), ERROR_SUCCESS);
    CHECK(Ended(a));
    CHECK_EQ(a->result, ERROR_CANCELLED); /* its BufferCallback returned FALSE */
    CHECK(Ended(b));
    CHECK_EQ(b->result, ERROR_SUCCESS);
    CHECK_EQ(b->closeResult, ERROR_CTX_CLOSE_PENDING);
    CHECK_EQ(CloseTrace(b->handle), ERROR_INVALID_HANDLE);
    CHECK(Reached(&c->events, 1));
    CHECK_EQ(Write(reg, 2, 1, 0, "last"), ERROR_SUCCESS); /* not flushed: the stop does it */
    CHECK_EQ(Control(h, &props, EVENT_TRACE_CONTROL_STOP), ERROR_SUCCESS);
    CHECK(Ended(c));
    CHECK_EQ(c->result, ERROR_SUCCESS);
    CHECK_EQ(c->events, 2);
    CHECK_EQ(a->events, 1);
    EventUnregister(reg);
    free(a);
    free(b);
    free(c);
}

/* Events of before anybody listened are kept; a consumer that is too slow loses buffers, which the
 * session counts and the consumer is told. */
static void slow_consumer(void)
{
    enum { EVENTS = 40000 };
    TRACEHANDLE h = 0;
    REGHANDLE reg;
    Props props;
    Seen *s = calloc(1, sizeof *s);
    EtwSimReset();
    PropsInit(&props, EVENT_TRACE_REAL_TIME_MODE);
    props.p.BufferSize = 4;
    props.p.MaximumBuffers = 8;
    CHECK_EQ(StartTraceW(&h, L"SimSlow", &props.p), ERROR_SUCCESS);
    CHECK_EQ(EventRegister(&providerGuid, NULL, NULL, &reg), ERROR_SUCCESS);
    CHECK_EQ(Enable(h, 5, 0, 0), ERROR_SUCCESS);
    CHECK_EQ(Write(reg, 1, 1, 0, "kept"), ERROR_SUCCESS);
    CHECK_EQ(Control(h, &props, EVENT_TRACE_CONTROL_FLUSH), ERROR_SUCCESS);
    s->delay = 20;
    Consume(s, (WCHAR *)L"SimSlow");
    CHECK(Reached(&s->events, 1));
    CHECK_STR(s->text, "kept");
    for (int i = 0; i < EVENTS; i++) {
        Write(reg, 2, 1, 0, "many");
    }
    s->delay = 0;
    CHECK_EQ(Control(h, &props, EVENT_TRACE_CONTROL_FLUSH), ERROR_SUCCESS);
    CHECK(props.p.RealTimeBuffersLost + props.p.EventsLost > 0);
    Write(reg, 3, 1, 0, "after");
    CHECK_EQ(Control(h, &props, EVENT_TRACE_CONTROL_STOP), ERROR_SUCCESS);
    CHECK(Ended(s));
    CHECK(s->events < EVENTS);
    CHECK(s->lost > 0);
    EventUnregister(reg);
    free(s);
}

/* Providers find no free buffer: ERROR_NOT_ENOUGH_MEMORY, counted. */
static void no_buffers(void)
{
    TRACEHANDLE h = 0;
    REGHANDLE reg;
    Props props;
    ULONG refused = 0;
    char big[60000] = {0};
    EVENT_DESCRIPTOR d = {.Id = 1};
    EVENT_DATA_DESCRIPTOR data[2];
    EtwSimReset();
    PropsInit(&props, EVENT_TRACE_REAL_TIME_MODE);
    props.p.BufferSize = 4;
    CHECK_EQ(StartTraceW(&h, L"SimFull", &props.p), ERROR_SUCCESS);
    CHECK_EQ(EventRegister(&providerGuid, NULL, NULL, &reg), ERROR_SUCCESS);
    CHECK_EQ(Enable(h, 5, 0, 0), ERROR_SUCCESS);
    CHECK_EQ(EtwSimPause(L"SimFull", TRUE), ERROR_SUCCESS);
    for (int i = 0; i < 4000; i++) {
        ULONG result = Write(reg, 2, 1, 0, "many");
        CHECK(result == ERROR_SUCCESS || result == ERROR_NOT_ENOUGH_MEMORY);
        refused += result != ERROR_SUCCESS;
    }
    CHECK(refused > 0);
    CHECK_EQ(Control(h, &props, EVENT_TRACE_CONTROL_QUERY), ERROR_SUCCESS);
    CHECK_EQ(props.p.EventsLost, refused);
    CHECK_EQ(props.p.NumberOfBuffers, props.p.MaximumBuffers);
    CHECK_EQ(props.p.FreeBuffers, 0);
    EtwSimPause(L"SimFull", FALSE);
    EventDataDescCreate(&data[0], big, 5000);
    CHECK_EQ(EventWrite(reg, &d, 1, data), ERROR_MORE_DATA); /* larger than a buffer */
    EventDataDescCreate(&data[0], big, 60000);
    EventDataDescCreate(&data[1], big, 6000);
    CHECK_EQ(EventWrite(reg, &d, 2, data), ERROR_ARITHMETIC_OVERFLOW); /* more than 64 KB */
    CHECK_EQ(EventWrite(reg, &d, 129, data), ERROR_INVALID_PARAMETER);
    EventUnregister(reg);
}

/* ---- Controlling ---------------------------------------------------------------------------------- */

static void start_errors(void)
{
    TRACEHANDLE h = 0, h2 = 0;
    Props props;
    EtwSimReset();
    CHECK_EQ(StartTraceW(&h, L"X", NULL), ERROR_INVALID_PARAMETER);
    PropsInit(&props, EVENT_TRACE_REAL_TIME_MODE);
    CHECK_EQ(StartTraceW(NULL, L"X", &props.p), ERROR_INVALID_PARAMETER);
    props.p.Wnode.BufferSize = sizeof props.p - 1;
    CHECK_EQ(StartTraceW(&h, L"X", &props.p), ERROR_BAD_LENGTH);
    CHECK_EQ(h, 0);
    props.p.Wnode.BufferSize = sizeof props.p + 4; /* no room for the name */
    CHECK_EQ(StartTraceW(&h, L"Name", &props.p), ERROR_BAD_LENGTH);
    PropsInit(&props, EVENT_TRACE_REAL_TIME_MODE);
    props.p.LoggerNameOffset = 8;
    CHECK_EQ(StartTraceW(&h, L"X", &props.p), ERROR_INVALID_PARAMETER);
    PropsInit(&props, EVENT_TRACE_REAL_TIME_MODE);
    props.p.LogFileNameOffset = sizeof props;
    CHECK_EQ(StartTraceW(&h, L"X", &props.p), ERROR_INVALID_PARAMETER);
    CHECK_EQ(Start(&h, L"X", &props, 0), ERROR_BAD_PATHNAME); /* no mode, no file */
    CHECK_EQ(Start(&h, L"X", &props, EVENT_TRACE_FILE_MODE_SEQUENTIAL), ERROR_BAD_PATHNAME);
    CHECK_EQ(Start(&h, L"X", &props,
                     EVENT_TRACE_REAL_TIME_MODE | EVENT_TRACE_FILE_MODE_SEQUENTIAL |
                             EVENT_TRACE_FILE_MODE_CIRCULAR),
            ERROR_INVALID_PARAMETER);
    PropsInit(&props, EVENT_TRACE_FILE_MODE_CIRCULAR);
    PropsFile(&props, L"simcirc.etl");
    CHECK_EQ(StartTraceW(&h, L"X", &props.p), ERROR_INVALID_PARAMETER); /* needs a maximum */
    PropsInit(&props, EVENT_TRACE_REAL_TIME_MODE);
    props.p.Wnode.Guid = kernelGuid;
    CHECK_EQ(StartTraceW(&h, L"X", &props.p), ERROR_INVALID_PARAMETER);
    PropsInit(&props, EVENT_TRACE_FILE_MODE_SEQUENTIAL);
    wcscpy(props.file, L"Z:\\no\\such\\folder\\x.etl");
    props.p.LogFileNameOffset = offsetof(Props, file);
    CHECK_EQ(StartTraceW(&h, L"X", &props.p), ERROR_PATH_NOT_FOUND);
    CHECK_EQ(Start(&h, L"Taken", &props, EVENT_TRACE_REAL_TIME_MODE), ERROR_SUCCESS);
    CHECK_EQ(Start(&h2, L"TAKEN", &props, EVENT_TRACE_REAL_TIME_MODE), ERROR_ALREADY_EXISTS);
    CHECK_EQ(h2, 0);
    CHECK_EQ(Control(h, &props, EVENT_TRACE_CONTROL_QUERY), ERROR_SUCCESS);
    GUID taken = props.p.Wnode.Guid;
    PropsInit(&props, EVENT_TRACE_REAL_TIME_MODE);
    props.p.Wnode.Guid = taken;
    CHECK_EQ(StartTraceW(&h2, L"Other", &props.p), ERROR_ALREADY_EXISTS);
    CHECK_EQ(Control(h, &props, EVENT_TRACE_CONTROL_STOP), ERROR_SUCCESS);
}

/* The same file twice; ERROR_MORE_DATA where the names do not fit, although the stop is done. */
static void control_errors(void)
{
    TRACEHANDLE h = 0, h2 = 0;
    Props props;
    struct {
        EVENT_TRACE_PROPERTIES p;
        WCHAR name[4];
    } small = {.p = {.Wnode = {.BufferSize = sizeof small}}};
    EtwSimReset();
    PropsInit(&props, EVENT_TRACE_FILE_MODE_SEQUENTIAL);
    PropsFile(&props, L"simtwice.etl");
    CHECK_EQ(StartTraceW(&h, L"First one", &props.p), ERROR_SUCCESS);
    PropsInit(&props, EVENT_TRACE_FILE_MODE_SEQUENTIAL);
    PropsFile(&props, L"simtwice.etl");
    CHECK_EQ(StartTraceW(&h2, L"Second one", &props.p), ERROR_BAD_PATHNAME);
    PropsInit(&props, 0);
    CHECK_EQ(ControlTraceW(0, NULL, &props.p, EVENT_TRACE_CONTROL_QUERY), ERROR_INVALID_PARAMETER);
    CHECK_EQ(ControlTraceW(h, NULL, NULL, EVENT_TRACE_CONTROL_QUERY), ERROR_INVALID_PARAMETER);
    CHECK_EQ(ControlTraceW(h, NULL, &props.p, 77), ERROR_INVALID_PARAMETER);
    CHECK_EQ(ControlTraceW(0, L"nobody", &props.p, EVENT_TRACE_CONTROL_QUERY),
            ERROR_WMI_INSTANCE_NOT_FOUND);
    CHECK_EQ(ControlTraceW(h + 99, L"first ONE", &props.p, EVENT_TRACE_CONTROL_QUERY),
            ERROR_SUCCESS); /* the name wins */
    CHECK(wcscmp(props.logger, L"First one") == 0);
    props.p.Wnode.BufferSize = 50;
    CHECK_EQ(ControlTraceW(h, NULL, &props.p, EVENT_TRACE_CONTROL_QUERY), ERROR_BAD_LENGTH);
    small.p.LoggerNameOffset = sizeof small.p;
    CHECK_EQ(ControlTraceW(h, NULL, &small.p, EVENT_TRACE_CONTROL_STOP), ERROR_MORE_DATA);
    CHECK_EQ(Control(h, &props, EVENT_TRACE_CONTROL_STOP), ERROR_WMI_INSTANCE_NOT_FOUND);
    CHECK_EQ(Enable(h, 5, 0, 0), ERROR_WMI_INSTANCE_NOT_FOUND);
}

static void limits(void)
{
    TRACEHANDLE h[66] = {0};
    Props props;
    WCHAR name[32];
    EVENT_TRACE_PROPERTIES *all[64];
    ULONG count = 0;
    EtwSimReset();
    for (int i = 0; i < 8; i++) {
        swprintf(name, 32, L"Sys%d", i);
        PropsInit(&props, EVENT_TRACE_REAL_TIME_MODE | EVENT_TRACE_SYSTEM_LOGGER_MODE);
        CHECK_EQ(StartTraceW(&h[i], name, &props.p), ERROR_SUCCESS);
    }
    PropsInit(&props, EVENT_TRACE_REAL_TIME_MODE | EVENT_TRACE_SYSTEM_LOGGER_MODE);
    CHECK_EQ(StartTraceW(&h[64], L"Sys8", &props.p), ERROR_NO_SYSTEM_RESOURCES);
    for (int i = 8; i < 64; i++) {
        swprintf(name, 32, L"Session%d", i);
        CHECK_EQ(Start(&h[i], name, &props, EVENT_TRACE_REAL_TIME_MODE), ERROR_SUCCESS);
    }
    CHECK_EQ(Start(&h[64], L"One more", &props, EVENT_TRACE_REAL_TIME_MODE),
            ERROR_NO_SYSTEM_RESOURCES);
    for (int i = 0; i < 64; i++) {
        Props *p = calloc(1, sizeof *p);
        PropsInit(p, 0);
        all[i] = &p->p;
    }
    CHECK_EQ(QueryAllTracesW(all, 64, &count), ERROR_SUCCESS);
    CHECK_EQ(count, 64);
    CHECK_EQ(QueryAllTracesW(all, 3, &count), ERROR_MORE_DATA);
    CHECK_EQ(count, 64);
    CHECK_EQ(QueryAllTracesW(all, 65, &count), ERROR_INVALID_PARAMETER);
    for (int i = 0; i < 8; i++) {
        CHECK_EQ(Enable(h[i + 8], 5, 0, 0), ERROR_SUCCESS);
    }
    CHECK_EQ(Enable(h[20], 5, 0, 0), ERROR_NO_SYSTEM_RESOURCES);
    CHECK_EQ(Enable(h[9], 4, 0, 0), ERROR_SUCCESS); /* a change is not another one */
    CHECK_EQ(EnableTraceEx2(
                     h[9], &providerGuid, EVENT_CONTROL_CODE_DISABLE_PROVIDER, 0, 0, 0, 0, NULL),
            ERROR_SUCCESS);
    CHECK_EQ(Enable(h[20], 5, 0, 0), ERROR_SUCCESS);
    for (int i = 0; i < 64; i++) {
        CHECK_EQ(Control(h[i], &props, EVENT_TRACE_CONTROL_STOP), ERROR_SUCCESS);
        free(all[i]);
    }
}

static void privilege(void)
{
    TRACEHANDLE h = 0;
    Props props;
    Seen *s = calloc(1, sizeof *s);
    EtwSimReset();
    CHECK_EQ(Start(&h, L"Mine", &props, EVENT_TRACE_REAL_TIME_MODE), ERROR_SUCCESS);
    SetEnvironmentVariableW(L"ETWSIM_PRIVILEGE", L"none");
    TRACEHANDLE h2;
    CHECK_EQ(Start(&h2, L"Yours", &props, EVENT_TRACE_REAL_TIME_MODE), ERROR_ACCESS_DENIED);
    CHECK_EQ(Control(h, &props, EVENT_TRACE_CONTROL_STOP), ERROR_ACCESS_DENIED);
    CHECK_EQ(Enable(h, 5, 0, 0), ERROR_ACCESS_DENIED);
    CHECK(!Open(s, (WCHAR *)L"Mine", NULL, 0));
    CHECK_EQ(GetLastError(), ERROR_ACCESS_DENIED);
    SetEnvironmentVariableW(L"ETWSIM_PRIVILEGE", L"users");
    PropsInit(&props, EVENT_TRACE_REAL_TIME_MODE);
    CHECK_EQ(StartTraceW(&h2, KERNEL_LOGGER_NAMEW, &props.p), ERROR_INVALID_PARAMETER);
    props.p.EnableFlags = EVENT_TRACE_FLAG_PROCESS;
    CHECK_EQ(StartTraceW(&h2, KERNEL_LOGGER_NAMEW, &props.p), ERROR_ACCESS_DENIED);
    CHECK_EQ(Enable(h, 5, 0, 0), ERROR_SUCCESS);
    SetEnvironmentVariableW(L"ETWSIM_PRIVILEGE", NULL);
    CHECK_EQ(Control(h, &props, EVENT_TRACE_CONTROL_STOP), ERROR_SUCCESS);
    free(s);
}

static DWORD WINAPI StopIt(void *arg)
{
    Props props;
    return Control(*(TRACEHANDLE *)arg, &props, EVENT_TRACE_CONTROL_STOP);
}

/* A stop takes its time to write the buffers: queries still find the session, another stop does
 * not. */
static void query_while_stopping(void)
{
    TRACEHANDLE h = 0;
    REGHANDLE reg;
    Props props;
    DWORD result = 1;
    EtwSimReset();
    CHECK_EQ(Start(&h, L"Slowly", &props, EVENT_TRACE_REAL_TIME_MODE), ERROR_SUCCESS);
    CHECK_EQ(EventRegister(&providerGuid, NULL, NULL, &reg), ERROR_SUCCESS);
    CHECK_EQ(Enable(h, 5, 0, 0), ERROR_SUCCESS);
    Write(reg, 1, 1, 0, "x");
    EtwSimPause(L"Slowly", TRUE);
    HANDLE thread = CreateThread(NULL, 0, StopIt, &h, 0, NULL);
    while (EventProviderEnabled(reg, 1, 0)) {
        Sleep(1);
    }
    CHECK_EQ(Control(h, &props, EVENT_TRACE_CONTROL_QUERY), ERROR_SUCCESS);
    CHECK_EQ(Control(h, &props, EVENT_TRACE_CONTROL_STOP), ERROR_WMI_INSTANCE_NOT_FOUND);
    EtwSimPause(L"Slowly", FALSE);
    WaitForSingleObject(thread, 10000);
    GetExitCodeThread(thread, &result);
    CloseHandle(thread);
    CHECK_EQ(result, ERROR_SUCCESS);
    CHECK_EQ(Control(h, &props, EVENT_TRACE_CONTROL_QUERY), ERROR_WMI_INSTANCE_NOT_FOUND);
    EventUnregister(reg);
}

static void update(void)
{
    TRACEHANDLE h = 0;
    Props props;
    EtwSimReset();
    CHECK_EQ(Start(&h, L"Changed", &props, EVENT_TRACE_REAL_TIME_MODE), ERROR_SUCCESS);
    ULONG before = props.p.MaximumBuffers;
    PropsInit(&props, EVENT_TRACE_REAL_TIME_MODE);
    props.p.MaximumBuffers = before + 10;
    props.p.FlushTimer = 7;
    CHECK_EQ(ControlTraceW(h, NULL, &props.p, EVENT_TRACE_CONTROL_UPDATE), ERROR_SUCCESS);
    CHECK_EQ(Control(h, &props, EVENT_TRACE_CONTROL_QUERY), ERROR_SUCCESS);
    CHECK_EQ(props.p.MaximumBuffers, before + 10);
    CHECK_EQ(props.p.FlushTimer, 7);
    CHECK_EQ(StopTraceW(h, NULL, &props.p), ERROR_SUCCESS);
}

/*
 * What real systems return, as Wine's conformance tests record it (dlls/advapi32/tests/eventlog.c: StartTrace,
 * EventRegister, EventWriteString, EventUnregister).
 */
static void recorded_results(void)
{
    struct {
        EVENT_TRACE_PROPERTIES p;
        WCHAR logger[5], file[16];
    } s;
    TRACEHANDLE h = 0;
    REGHANDLE reg = 0;
    EtwSimReset();
    memset(&s, 0, sizeof s);
    s.p.Wnode.Flags = WNODE_FLAG_TRACED_GUID;
    s.p.LoggerNameOffset = offsetof(__typeof__(s), logger);
    s.p.LogFileNameOffset = offsetof(__typeof__(s), file);
    wcscpy(s.file, L"recorded.etl");
    CHECK_EQ(StartTraceW(&h, L"wine", &s.p), ERROR_BAD_LENGTH);
    s.p.Wnode.BufferSize = sizeof s;
    CHECK_EQ(StartTraceW(&h, L"this name is too long", &s.p), ERROR_BAD_LENGTH);
    CHECK_EQ(StartTraceW(&h, L"wine", NULL), ERROR_INVALID_PARAMETER);
    CHECK_EQ(StartTraceW(NULL, L"wine", &s.p), ERROR_INVALID_PARAMETER);
    s.p.LogFileNameOffset = 1;
    CHECK_EQ(StartTraceW(&h, L"wine", &s.p), ERROR_INVALID_PARAMETER);
    s.p.LogFileNameOffset = offsetof(__typeof__(s), file);
    s.p.LoggerNameOffset = 1;
    CHECK_EQ(StartTraceW(&h, L"wine", &s.p), ERROR_INVALID_PARAMETER);
    s.p.LoggerNameOffset = offsetof(__typeof__(s), logger);
    s.p.LogFileMode = EVENT_TRACE_FILE_MODE_SEQUENTIAL | EVENT_TRACE_FILE_MODE_CIRCULAR;
    CHECK_EQ(StartTraceW(&h, L"wine", &s.p), ERROR_INVALID_PARAMETER);
    s.p.LogFileMode = EVENT_TRACE_FILE_MODE_NONE;
    s.p.Wnode.Guid = kernelGuid;
    CHECK_EQ(StartTraceW(&h, L"wine", &s.p), ERROR_INVALID_PARAMETER);
    memset(&s.p.Wnode.Guid, 0, sizeof s.p.Wnode.Guid);
    s.p.LogFileNameOffset = 0;
    CHECK_EQ(StartTraceW(&h, L"wine", &s.p), ERROR_BAD_PATHNAME);
    s.p.LogFileNameOffset = offsetof(__typeof__(s), file);
    s.p.Wnode.Flags = WNODE_FLAG_ALL_DATA; /* golang-etw's sessions */
    CHECK_EQ(StartTraceW(&h, L"wine", &s.p), ERROR_SUCCESS);
    memset(&s.p.Wnode.Guid, 0, sizeof s.p.Wnode.Guid);
    TRACEHANDLE second = 0;
    CHECK_EQ(StartTraceW(&second, L"wine", &s.p), ERROR_ALREADY_EXISTS);
    CHECK_EQ(ControlTraceW(h, L"wine", &s.p, EVENT_TRACE_CONTROL_STOP), ERROR_SUCCESS);
    DeleteFileW(L"recorded.etl");
    CHECK_EQ(EventRegister(NULL, NULL, NULL, &reg), ERROR_INVALID_PARAMETER);
    CHECK_EQ(EventRegister(&providerGuid, NULL, NULL, NULL), ERROR_INVALID_PARAMETER);
    CHECK_EQ(EventRegister(&providerGuid, NULL, NULL, &reg), ERROR_SUCCESS);
    CHECK_EQ(EventWriteString(0, 0, 0, L""), ERROR_INVALID_HANDLE);
    CHECK_EQ(EventWriteString(reg, 0, 0, NULL), ERROR_INVALID_PARAMETER);
    CHECK_EQ(EventUnregister(0), ERROR_INVALID_HANDLE);
    CHECK_EQ(EventUnregister(reg), ERROR_SUCCESS);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(real_time);
    CHECK_RUN(ends);
    CHECK_RUN(slow_consumer);
    CHECK_RUN(no_buffers);
    CHECK_RUN(start_errors);
    CHECK_RUN(control_errors);
    CHECK_RUN(limits);
    CHECK_RUN(recorded_results);
    CHECK_RUN(privilege);
    CHECK_RUN(query_while_stopping);
    CHECK_RUN(update);
    return CHECK_DONE();
}
