/*
 * tests/win/lazy_simulated.c --
 *
 *	Stands in for win/system/system_lazy.c in the test build: the same functions, of the simulated
 *	service. Those that it does not have are missing, as on an old Windows. Wine is no obstacle here.
 */
#include "win/system/system_int.h"

static SystemLazy calls;
static INIT_ONCE once = INIT_ONCE_STATIC_INIT;

static void find(const char *name, void *function)
{
    FARPROC found = GetProcAddress(GetModuleHandleW(L"etwsim.dll"), name);
    memcpy(function, &found, sizeof found);
}

/* ETWSIM_BUILD: an older Windows. */
static LONG NTAPI getVersion(OSVERSIONINFOW *v)
{
    WCHAR build[16];
    DWORD length = GetEnvironmentVariableW(L"ETWSIM_BUILD", build, 16);
    v->dwMajorVersion = 10;
    v->dwBuildNumber = length > 0 && length < 16 ? wcstoul(build, NULL, 10) : 19045;
    return 0;
}

static BOOL CALLBACK findAll(PINIT_ONCE unused1, PVOID unused2, PVOID *unused3)
{
    (void)unused1, (void)unused2, (void)unused3;
    calls.rtlGetVersion = getVersion;
    find("TraceSetInformation", &calls.traceSetInformation);
    find("TraceQueryInformation", &calls.traceQueryInformation);
    find("EventSetInformation", &calls.eventSetInformation);
    find("TdhEnumerateProviders", &calls.tdhEnumerateProviders);
    find("TdhEnumerateProviderFieldInformation", &calls.tdhEnumerateProviderFieldInformation);
    find("TdhEnumerateManifestProviderEvents", &calls.tdhEnumerateManifestProviderEvents);
    find("TdhGetManifestEventInformation", &calls.tdhGetManifestEventInformation);
    find("TdhGetEventInformation", &calls.tdhGetEventInformation);
    find("TdhGetEventMapInformation", &calls.tdhGetEventMapInformation);
    find("TdhCreatePayloadFilter", &calls.tdhCreatePayloadFilter);
    find("TdhDeletePayloadFilter", &calls.tdhDeletePayloadFilter);
    find("TdhAggregatePayloadFilters", &calls.tdhAggregatePayloadFilters);
    find("TdhCleanupPayloadEventFilterDescriptor", &calls.tdhCleanupPayloadEventFilterDescriptor);
    return TRUE;
}

const SystemLazy *SystemLazyGet(void)
{
    InitOnceExecuteOnce(&once, findAll, NULL, NULL);
    return &calls;
}

const char *SystemUnusable(void)
{
    return NULL;
}
