/*
 * tests/win/sim/sim_scope.c --
 *
 *	Filters that name processes, by number or by program: of EnableTraceEx2, and of
 *	EVENT_TRACE_PROPERTIES_V2, which the functions that control a system-wide private session take.
 */
#include "tests/win/sim/sim.h"

static ULONG TakePids(SimScope *scope, const EVENT_FILTER_DESCRIPTOR *f)
{
    if (scope->pidCount != 0 || f->Size == 0 || f->Size % sizeof(ULONG) != 0 ||
            f->Size > sizeof scope->pids) {
        return ERROR_INVALID_PARAMETER;
    }
    scope->pidCount = f->Size / sizeof(ULONG);
    memcpy(scope->pids, (const void *)(uintptr_t)f->Ptr, f->Size);
    return ERROR_SUCCESS;
}

static ULONG TakePrograms(SimScope *scope, const EVENT_FILTER_DESCRIPTOR *f)
{
    if (scope->programs[0] != 0 || f->Size == 0 || f->Size > MAX_EVENT_FILTER_DATA_SIZE ||
            f->Size % sizeof(WCHAR) != 0) {
        return ERROR_INVALID_PARAMETER;
    }
    memcpy(scope->programs, (const void *)(uintptr_t)f->Ptr, f->Size);
    return ERROR_SUCCESS;
}

ULONG SimScopeTake(SimScope *scope, const EVENT_FILTER_DESCRIPTOR *f)
{
    if (f->Ptr == 0) {
        return ERROR_INVALID_PARAMETER;
    }
    return f->Type == EVENT_FILTER_TYPE_PID               ? TakePids(scope, f)
           : f->Type == EVENT_FILTER_TYPE_EXECUTABLE_NAME ? TakePrograms(scope, f)
                                                          : ERROR_INVALID_PARAMETER;
}

ULONG SimScopeOf(SimScope *scope, const EVENT_TRACE_PROPERTIES *properties)
{
    const EVENT_TRACE_PROPERTIES_V2 *p = (const EVENT_TRACE_PROPERTIES_V2 *)properties;
    ULONG error = ERROR_SUCCESS;
    *scope = (SimScope){0};
    if (!(properties->Wnode.Flags & WNODE_FLAG_VERSIONED_PROPERTIES)) {
        return ERROR_SUCCESS;
    }
    if ((p->FilterDescCount == 0) != (p->FilterDesc == NULL)) {
        return ERROR_INVALID_PARAMETER;
    }
    if (p->FilterDescCount != 0 && (!(p->LogFileMode & EVENT_TRACE_PRIVATE_LOGGER_MODE) ||
                                           p->LogFileMode & EVENT_TRACE_PRIVATE_IN_PROC)) {
        return ERROR_INVALID_PARAMETER;
    }
    for (ULONG i = 0; i < p->FilterDescCount && error == ERROR_SUCCESS; i++) {
        error = SimScopeTake(scope, &p->FilterDesc[i]);
    }
    return error;
}

/* Names between semicolons. */
static bool NamesProgram(const WCHAR *names)
{
    WCHAR path[MAX_PATH] = {0};
    GetModuleFileNameW(NULL, path, MAX_PATH);
    const WCHAR *own = wcsrchr(path, L'\\');
    own = own != NULL ? own + 1 : path;
    for (const WCHAR *name = names; name != NULL;) {
        const WCHAR *end = wcschr(name, L';');
        size_t length = end != NULL ? (size_t)(end - name) : wcslen(name);
        if (length == wcslen(own) && _wcsnicmp(name, own, length) == 0) {
            return true;
        }
        name = end != NULL ? end + 1 : NULL;
    }
    return false;
}

bool SimScopeHere(const SimScope *scope)
{
    bool here = scope->pidCount == 0;
    for (ULONG i = 0; i < scope->pidCount; i++) {
        here |= scope->pids[i] == GetCurrentProcessId();
    }
    return here && (scope->programs[0] == 0 || NamesProgram(scope->programs));
}

bool SimScopeSame(const SimScope *a, const SimScope *b)
{
    return a->pidCount == b->pidCount &&
           memcmp(a->pids, b->pids, a->pidCount * sizeof *a->pids) == 0 &&
           _wcsicmp(a->programs, b->programs) == 0;
}
