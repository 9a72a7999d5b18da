/*
 * tests/win/sim/simcheck.h --
 *
 *	What the C tests of the simulated service share: properties, a consumer on a thread of its own
 *	that notes what it sees. Included by one file of a program.
 */
#ifndef ETW_TESTS_WIN_SIMCHECK_H
#define ETW_TESTS_WIN_SIMCHECK_H

#include "tests/win/abi.h"
#include "tests/support/check.h"
#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"

static const GUID providerGuid = {
        0x11223344, 0x5566, 0x7788, {0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0x01}};
static const GUID kernelGuid = {
        0x9e814aad, 0x3204, 0x11d2, {0x9a, 0x82, 0x00, 0x60, 0x08, 0xa8, 0x69, 0x39}};
static const GUID headerGuid = {
        0x68fdd900, 0x4a3e, 0x11d1, {0x84, 0xf4, 0x00, 0x00, 0xf8, 0x04, 0x64, 0xe3}};
static const GUID processGuid = {
        0x3d6fa8d0, 0xfe05, 0x11d0, {0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c}};
static const GUID lostGuid = {
        0x6a399ae0, 0x4bc6, 0x4de9, {0x87, 0x0b, 0x36, 0x57, 0xf8, 0x94, 0x7e, 0x7e}};

typedef struct Props {
    EVENT_TRACE_PROPERTIES p;
    WCHAR logger[256], file[512];
} Props;

static void PropsInit(Props *props, ULONG mode)
{
    memset(props, 0, sizeof *props);
    props->p.Wnode.BufferSize = sizeof *props;
    props->p.Wnode.Flags = WNODE_FLAG_TRACED_GUID;
    props->p.Wnode.ClientContext = 1;
    props->p.LogFileMode = mode;
    props->p.LoggerNameOffset = offsetof(Props, logger);
}

static void PropsFile(Props *props, const WCHAR *name)
{
    props->p.LogFileNameOffset = offsetof(Props, file);
    GetTempPathW(400, props->file);
    wcscat(props->file, name);
}

static ULONG Start(TRACEHANDLE *h, const WCHAR *name, Props *props, ULONG mode)
{
    PropsInit(props, mode);
    return StartTraceW(h, name, &props->p);
}

static ULONG Control(TRACEHANDLE h, Props *props, ULONG code)
{
    PropsInit(props, 0);
    return ControlTraceW(h, NULL, &props->p, code);
}

static ULONG Enable(TRACEHANDLE h, UCHAR level, ULONGLONG any, ULONGLONG all)
{
    return EnableTraceEx2(
            h, &providerGuid, EVENT_CONTROL_CODE_ENABLE_PROVIDER, level, any, all, INFINITE, NULL);
}

static ULONG Write(REGHANDLE reg, USHORT id, UCHAR level, ULONGLONG keyword, const char *text)
{
    EVENT_DESCRIPTOR d = {.Id = id, .Level = level, .Keyword = keyword};
    EVENT_DATA_DESCRIPTOR data;
    EventDataDescCreate(&data, text, (ULONG)strlen(text) + 1);
    return EventWrite(reg, &d, 1, &data);
}

/* What a consumer saw; its thread runs ProcessTrace. */
typedef struct Seen {
    volatile LONG events, headers, lost, buffers;
    USHORT ids[1024];
    UCHAR opcodes[1024];
    char text[64];
    EVENT_RECORD last;
    UCHAR lastItems[32]; /* by ExtType: how many */
    USHORT itemSize[32];
    GUID related;
    LONG stopAt;  /* buffers; the callback returns FALSE then */
    LONG closeAt; /* events: CloseTrace from the callback */
    ULONG closeResult;
    DWORD delay; /* ms a buffer */
    TRACEHANDLE handle;
    HANDLE thread;
    ULONG result;
} Seen;

static VOID WINAPI OnEvent(PEVENT_RECORD r)
{
    Seen *s = r->UserContext;
    if (memcmp(&r->EventHeader.ProviderId, &headerGuid, sizeof headerGuid) == 0) {
        s->headers++;
        return;
    }
    if (memcmp(&r->EventHeader.ProviderId, &lostGuid, sizeof lostGuid) == 0) {
        s->lost++;
        return;
    }
    if (s->events < 1024) {
        s->ids[s->events] = r->EventHeader.EventDescriptor.Id;
        s->opcodes[s->events] = r->EventHeader.EventDescriptor.Opcode;
    }
    size_t size = r->UserDataLength < sizeof s->text ? r->UserDataLength : sizeof s->text - 1;
    memcpy(s->text, r->UserData, size);
    s->text[size] = '\0';
    s->last = *r;
    memset(s->lastItems, 0, sizeof s->lastItems);
    for (int i = 0; i < r->ExtendedDataCount; i++) {
        const EVENT_HEADER_EXTENDED_DATA_ITEM *item = &r->ExtendedData[i];
        s->lastItems[item->ExtType & 31]++;
        s->itemSize[item->ExtType & 31] = item->DataSize;
        if (item->ExtType == EVENT_HEADER_EXT_TYPE_RELATED_ACTIVITYID) {
            memcpy(&s->related, (const void *)(uintptr_t)item->DataPtr, sizeof s->related);
        }
    }
    if (InterlockedIncrement(&s->events) == s->closeAt) {
        s->closeResult = CloseTrace(s->handle);
    }
}

static ULONG WINAPI OnBuffer(PEVENT_TRACE_LOGFILEW log)
{
    Seen *s = log->Context;
    if (s->delay != 0) {
        Sleep(s->delay);
    }
    return InterlockedIncrement(&s->buffers) != s->stopAt;
}

static DWORD WINAPI Process(void *arg)
{
    Seen *s = arg;
    s->result = ProcessTrace(&s->handle, 1, NULL, NULL);
    return 0;
}

static bool Open(Seen *s, LPWSTR logger, LPWSTR file, ULONG mode)
{
    EVENT_TRACE_LOGFILEW log = {0};
    log.LoggerName = logger;
    log.LogFileName = file;
    log.ProcessTraceMode = mode | PROCESS_TRACE_MODE_EVENT_RECORD |
                           (logger != NULL ? PROCESS_TRACE_MODE_REAL_TIME : 0);
    log.EventRecordCallback = OnEvent;
    log.BufferCallback = OnBuffer;
    log.Context = s;
    s->handle = OpenTraceW(&log);
    /* The invalid handle is as long as a pointer, whatever the header says in 32 bits. */
    return s->handle != (ULONG64)(ULONG_PTR)-1;
}

static void Consume(Seen *s, LPWSTR logger)
{
    CHECK(Open(s, logger, NULL, 0));
    s->thread = CreateThread(NULL, 0, Process, s, 0, NULL);
}

/* The consumer's thread ended within ten seconds. */
static bool Ended(Seen *s)
{
    bool ended = WaitForSingleObject(s->thread, 10000) == WAIT_OBJECT_0;
    CloseHandle(s->thread);
    return ended;
}

static bool Reached(volatile LONG *count, LONG wanted)
{
    for (int i = 0; i < 1000 && *count < wanted; i++) {
        Sleep(10);
    }
    return *count >= wanted;
}

#endif
