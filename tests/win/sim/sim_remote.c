/*
 * tests/win/sim/sim_remote.c --
 *
 *	Controllers in other processes: one that has ETWSIM_SERVE in its environment when it starts a
 *	session serves a named pipe, and in one that has ETWSIM_CONTROL=PID what is said of sessions goes to
 *	that process: ControlTrace, QueryAllTraces, EnableTraceEx2 (without its parameters). Sessions,
 *	providers and consumers live in the process that made them all the same.
 */
#include "tests/win/sim/sim.h"
#include "base/alloc.h"
#include <stdio.h>

enum { PROPERTIES = 8192, WAIT_MS = 60000 };

typedef enum Call { CALL_CONTROL, CALL_LIST, CALL_ENABLE } Call;

typedef struct Request {
    Call call;
    ULONG code; /* of control, of enabling */
    TRACEHANDLE handle;
    bool named;
    WCHAR name[SIM_NAME + 1];
    ULONG index; /* CALL_LIST: which session */
    GUID guid;
    UCHAR level;
    ULONGLONG any, all;
    ULONG timeout;
    ULONGLONG properties[PROPERTIES / sizeof(ULONGLONG)];
} Request;

typedef struct Reply {
    ULONG error;
    ULONG count; /* CALL_LIST: of all sessions */
    ULONGLONG properties[PROPERTIES / sizeof(ULONGLONG)];
} Reply;

static void PipeName(WCHAR *out, size_t capacity, ULONG pid)
{
    _snwprintf(out, capacity, L"\\\\.\\pipe\\etwsim-%lu", (unsigned long)pid);
}

/* ---- The process that has the sessions ------------------------------------------------------------ */

/* All sessions are asked for; the caller wants one of them, in its own layout. */
static ULONG List(const Request *request, Reply *reply)
{
    EVENT_TRACE_PROPERTIES *all[SIM_SESSIONS];
    uint8_t *capacity = EtwAlloc((size_t)SIM_SESSIONS * PROPERTIES);
    for (ULONG i = 0; i < SIM_SESSIONS; i++) {
        all[i] = (EVENT_TRACE_PROPERTIES *)(void *)(capacity + (size_t)i * PROPERTIES);
        memcpy(all[i], request->properties, PROPERTIES);
    }
    ULONG error = QueryAllTracesW(all, SimMaxSessions(), &reply->count);
    if (error == ERROR_SUCCESS && request->index < reply->count) {
        memcpy(reply->properties, all[request->index], PROPERTIES);
    }
    EtwFree(capacity);
    return error;
}

static void Answer(Request *request, Reply *reply)
{
    LPCWSTR name = request->named ? request->name : NULL;
    if (request->call == CALL_LIST) {
        reply->error = List(request, reply);
    } else if (request->call == CALL_ENABLE) {
        reply->error = EnableTraceEx2(request->handle, &request->guid, request->code,
                request->level, request->any, request->all, request->timeout, NULL);
    } else {
        memcpy(reply->properties, request->properties, PROPERTIES);
        reply->error = ControlTraceW(request->handle, name,
                (EVENT_TRACE_PROPERTIES *)(void *)reply->properties, request->code);
    }
}

static DWORD WINAPI ServeMain(void *pipe)
{
    Request *request = EtwAlloc(sizeof *request);
    Reply *reply = EtwAlloc(sizeof *reply);
    DWORD got;
    for (;;) {
        if (!ConnectNamedPipe(pipe, NULL) && GetLastError() != ERROR_PIPE_CONNECTED) {
            break;
        }
        if (ReadFile(pipe, request, sizeof *request, &got, NULL) && got == sizeof *request) {
            memset(reply, 0, sizeof *reply);
            Answer(request, reply);
            WriteFile(pipe, reply, sizeof *reply, &got, NULL);
            FlushFileBuffers(pipe);
        }
        DisconnectNamedPipe(pipe);
    }
    EtwFree(request);
    EtwFree(reply);
    CloseHandle(pipe);
    return 0;
}

static BOOL CALLBACK ServeOnce(INIT_ONCE *unused, void *parameter, void **result)
{
    WCHAR name[64];
    (void)unused, (void)parameter, (void)result;
    PipeName(name, 64, GetCurrentProcessId());
    HANDLE pipe = CreateNamedPipeW(name, PIPE_ACCESS_DUPLEX,
            PIPE_TYPE_MESSAGE | PIPE_READMODE_MESSAGE | PIPE_WAIT, 1, sizeof(Reply),
            sizeof(Request), 0, NULL);
    HANDLE thread =
            pipe != INVALID_HANDLE_VALUE ? CreateThread(NULL, 0, ServeMain, pipe, 0, NULL) : NULL;
    if (thread != NULL) {
        CloseHandle(thread);
    }
    return TRUE;
}

void SimServe(void)
{
    static INIT_ONCE once = INIT_ONCE_STATIC_INIT;
    WCHAR value[2];
    if (GetEnvironmentVariableW(L"ETWSIM_SERVE", value, 2) != 0) {
        InitOnceExecuteOnce(&once, ServeOnce, NULL, NULL);
    }
}

/* ---- The controller ------------------------------------------------------------------------------- */

bool SimIsRemote(void)
{
    WCHAR value[16];
    return GetEnvironmentVariableW(L"ETWSIM_CONTROL", value, 16) != 0;
}

/* False: there is no such process, as after its end there are no sessions of it. */
static bool Ask(const Request *request, Reply *reply)
{
    WCHAR value[16] = {0}, name[64];
    DWORD got;
    GetEnvironmentVariableW(L"ETWSIM_CONTROL", value, 16);
    PipeName(name, 64, wcstoul(value, NULL, 10));
    return CallNamedPipeW(name, (void *)(uintptr_t)request, sizeof *request, reply, sizeof *reply,
                   &got, WAIT_MS) &&
           got == sizeof *reply;
}

static Request *NewRequest(Call call, const EVENT_TRACE_PROPERTIES *p)
{
    Request *request = EtwAlloc(sizeof *request);
    request->call = call;
    if (p != NULL) {
        memcpy(request->properties, p, p->Wnode.BufferSize);
    }
    return request;
}

static bool Fits(const EVENT_TRACE_PROPERTIES *p)
{
    return p != NULL && p->Wnode.BufferSize <= PROPERTIES &&
           !(p->Wnode.Flags & WNODE_FLAG_VERSIONED_PROPERTIES);
}

ULONG SimRemoteControl(TRACEHANDLE handle, LPCWSTR name, EVENT_TRACE_PROPERTIES *p, ULONG code)
{
    if (!Fits(p) || (name != NULL && wcslen(name) > SIM_NAME)) {
        return ERROR_INVALID_PARAMETER;
    }
    Request *request = NewRequest(CALL_CONTROL, p);
    Reply *reply = EtwAlloc(sizeof *reply);
    request->handle = handle;
    request->code = code;
    request->named = name != NULL;
    wcscpy(request->name, name != NULL ? name : L"");
    ULONG error = Ask(request, reply) ? reply->error : ERROR_WMI_INSTANCE_NOT_FOUND;
    if (error == ERROR_SUCCESS || error == ERROR_MORE_DATA) {
        memcpy(p, reply->properties, p->Wnode.BufferSize);
    }
    EtwFree(request);
    EtwFree(reply);
    return error;
}

ULONG SimRemoteList(EVENT_TRACE_PROPERTIES **array, ULONG capacity, ULONG *countPtr)
{
    ULONG error = ERROR_SUCCESS;
    Reply *reply = EtwAlloc(sizeof *reply);
    *countPtr = 0;
    for (ULONG i = 0; i < capacity && (i == 0 || i < reply->count) && error == ERROR_SUCCESS; i++) {
        if (!Fits(array[i])) {
            error = ERROR_INVALID_PARAMETER;
            break;
        }
        Request *request = NewRequest(CALL_LIST, array[i]);
        request->index = i;
        memset(reply, 0, sizeof *reply);
        error = Ask(request, reply) ? reply->error : ERROR_SUCCESS;
        if (error == ERROR_SUCCESS && i < reply->count) {
            memcpy(array[i], reply->properties, array[i]->Wnode.BufferSize);
        }
        EtwFree(request);
    }
    *countPtr = error == ERROR_SUCCESS ? reply->count : 0;
    EtwFree(reply);
    return error == ERROR_SUCCESS && *countPtr > capacity ? ERROR_MORE_DATA : error;
}

ULONG SimRemoteEnable(TRACEHANDLE handle, const GUID *guid, ULONG code, UCHAR level, ULONGLONG any,
        ULONGLONG all, ULONG timeout)
{
    Request *request = NewRequest(CALL_ENABLE, NULL);
    Reply *reply = EtwAlloc(sizeof *reply);
    request->handle = handle;
    request->code = code;
    request->guid = *guid;
    request->level = level;
    request->any = any;
    request->all = all;
    request->timeout = timeout;
    ULONG error = Ask(request, reply) ? reply->error : ERROR_WMI_INSTANCE_NOT_FOUND;
    EtwFree(request);
    EtwFree(reply);
    return error;
}
