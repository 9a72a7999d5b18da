/*
 * tests/win/sim/sim_ansi.c --
 *
 *	The functions of sessions with names in 8 bits, which clients of others use: converted to those of sim_session.c.
 */
#include "tests/win/sim/sim.h"
#include "base/alloc.h"

enum { HEAD = sizeof(EVENT_TRACE_PROPERTIES) };

/* A name's place in the wide structure, where each character takes two bytes. */
static ULONG WideOffset(ULONG offset)
{
    return offset >= HEAD ? HEAD + (offset - HEAD) * (ULONG)sizeof(WCHAR) : offset;
}

/* The wide structure; EtwFree. NULL: the size is wrong, which the wide function tells. */
static EVENT_TRACE_PROPERTIES *Widen(const EVENT_TRACE_PROPERTIES *p)
{
    if (p == NULL || p->Wnode.BufferSize < HEAD) {
        return NULL;
    }
    ULONG size = WideOffset(p->Wnode.BufferSize);
    EVENT_TRACE_PROPERTIES *wide = EtwAlloc(size);
    memcpy(wide, p, HEAD);
    wide->Wnode.BufferSize = size;
    wide->LoggerNameOffset = WideOffset(p->LoggerNameOffset);
    wide->LogFileNameOffset = WideOffset(p->LogFileNameOffset);
    for (ULONG i = HEAD; i < p->Wnode.BufferSize; i++) {
        ((WCHAR *)(void *)((uint8_t *)wide + HEAD))[i - HEAD] = ((const uint8_t *)p)[i];
    }
    return wide;
}

static void Narrow(const EVENT_TRACE_PROPERTIES *wide, EVENT_TRACE_PROPERTIES *p)
{
    ULONG size = p->Wnode.BufferSize, name = p->LoggerNameOffset, file = p->LogFileNameOffset;
    memcpy(p, wide, HEAD);
    p->Wnode.BufferSize = size;
    p->LoggerNameOffset = name;
    p->LogFileNameOffset = file;
    for (ULONG i = HEAD; i < size; i++) {
        ((uint8_t *)p)[i] =
                (uint8_t)((const WCHAR *)(const void *)((const uint8_t *)wide + HEAD))[i - HEAD];
    }
}

static const WCHAR *WideName(WCHAR to[SIM_NAME + 2], LPCSTR name)
{
    if (name == NULL) {
        return NULL;
    }
    to[SIM_NAME + 1] = 0;
    MultiByteToWideChar(CP_ACP, 0, name, -1, to, SIM_NAME + 1);
    return to;
}

ULONG WINAPI StartTraceA(PTRACEHANDLE handlePtr, LPCSTR name, PEVENT_TRACE_PROPERTIES p)
{
    WCHAR text[SIM_NAME + 2];
    EVENT_TRACE_PROPERTIES *wide = Widen(p);
    ULONG error = StartTraceW(handlePtr, WideName(text, name), wide != NULL ? wide : p);
    if (wide != NULL && error == ERROR_SUCCESS) {
        Narrow(wide, p);
    }
    EtwFree(wide);
    return error;
}

ULONG WINAPI ControlTraceA(TRACEHANDLE handle, LPCSTR name, PEVENT_TRACE_PROPERTIES p, ULONG code)
{
    WCHAR text[SIM_NAME + 2];
    EVENT_TRACE_PROPERTIES *wide = Widen(p);
    ULONG error = ControlTraceW(handle, WideName(text, name), wide != NULL ? wide : p, code);
    if (wide != NULL && error == ERROR_SUCCESS) {
        Narrow(wide, p);
    }
    EtwFree(wide);
    return error;
}
