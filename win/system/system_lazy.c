/*
 * win/system/system_lazy.c --
 *
 *	Functions that some versions of Windows from 7 on lack, or that are rarely needed. They are
 *	looked up once, in DLLs of the system directory only. This is the only file of the engine
 *	"system" that tests replace (tests/win/). All other functions are imported.
 */
#include "win/system/system_int.h"

static SystemLazy calls;
static bool isWine;
static INIT_ONCE once = INIT_ONCE_STATIC_INIT;

static HMODULE systemDll(const wchar_t *name)
{
    /* Windows 7 without update KB2533623 does not support the flag: use the directory's name. */
    HMODULE dll = LoadLibraryExW(name, NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    if (dll == NULL && GetLastError() == ERROR_INVALID_PARAMETER) {
        wchar_t path[MAX_PATH + 32];
        UINT n = GetSystemDirectoryW(path, MAX_PATH);
        if (n > 0 && n < MAX_PATH) {
            path[n] = L'\\';
            wcsncpy(path + n + 1, name, 30);
            path[n + 31] = 0;
            dll = LoadLibraryW(path);
        }
    }
    return dll;
}

static void find(HMODULE dll, const char *name, void *function)
{
    FARPROC found = dll != NULL ? GetProcAddress(dll, name) : NULL;
    memcpy(function, &found, sizeof found);
}

static BOOL CALLBACK findAll(PINIT_ONCE unused1, PVOID unused2, PVOID *unused3)
{
    HMODULE advapi = systemDll(L"advapi32.dll"), tdh = systemDll(L"tdh.dll");
    HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
    (void)unused1, (void)unused2, (void)unused3;
    isWine = ntdll != NULL && GetProcAddress(ntdll, "wine_get_version") != NULL;
    find(ntdll, "RtlGetVersion", &calls.rtlGetVersion);
    find(advapi, "TraceSetInformation", &calls.traceSetInformation);
    find(advapi, "TraceQueryInformation", &calls.traceQueryInformation);
    find(advapi, "EventSetInformation", &calls.eventSetInformation);
    find(tdh, "TdhEnumerateProviders", &calls.tdhEnumerateProviders);
    find(tdh, "TdhEnumerateProviderFieldInformation", &calls.tdhEnumerateProviderFieldInformation);
    find(tdh, "TdhEnumerateManifestProviderEvents", &calls.tdhEnumerateManifestProviderEvents);
    find(tdh, "TdhGetManifestEventInformation", &calls.tdhGetManifestEventInformation);
    find(tdh, "TdhGetEventInformation", &calls.tdhGetEventInformation);
    find(tdh, "TdhGetEventMapInformation", &calls.tdhGetEventMapInformation);
    find(tdh, "TdhCreatePayloadFilter", &calls.tdhCreatePayloadFilter);
    find(tdh, "TdhDeletePayloadFilter", &calls.tdhDeletePayloadFilter);
    find(tdh, "TdhAggregatePayloadFilters", &calls.tdhAggregatePayloadFilters);
    find(tdh, "TdhCleanupPayloadEventFilterDescriptor",
            &calls.tdhCleanupPayloadEventFilterDescriptor);
    return TRUE;
}

const SystemLazy *SystemLazyGet(void)
{
    InitOnceExecuteOnce(&once, findAll, NULL, NULL);
    return &calls;
}

const char *SystemUnusable(void)
{
    SystemLazyGet();
    return isWine ? "Wine's event tracing functions do nothing: sessions would stay empty" : NULL;
}
