/*
 * win/system/system_int.h --
 *
 *	Shared by the files of the engine "system": Windows' headers in one order, names and errors,
 *	sessions, and functions that some versions of Windows lack. Included by win/system only.
 */
#ifndef ETW_SYSTEM_INT_H
#define ETW_SYSTEM_INT_H

#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0602 /* declarations only: what Windows 7 lacks is resolved lazily */
#endif
#include <windows.h>
#include <wmistr.h>
#include <evntrace.h>
#include <evntcons.h>
#include <evntprov.h>
#include <tdh.h>
#include "base/alloc.h"
#include "base/os.h"
#include "engine/engine_int.h"
#include "win/os/win_int.h"
#include "win/system/system_abi.h"

/* ---- Functions that some versions of Windows lack (system_lazy.c) ---------------------------- */

/* NULL: missing in this version of Windows. */
typedef struct SystemLazy {
    LONG(NTAPI *rtlGetVersion)(OSVERSIONINFOW *);
    ULONG(WINAPI *traceSetInformation)(TRACEHANDLE, TRACE_INFO_CLASS, PVOID, ULONG);
    ULONG(WINAPI *traceQueryInformation)(TRACEHANDLE, TRACE_INFO_CLASS, PVOID, ULONG, PULONG);
    ULONG(WINAPI *eventSetInformation)(REGHANDLE, EVENT_INFO_CLASS, PVOID, ULONG);
    ULONG(WINAPI *tdhEnumerateProviders)(PPROVIDER_ENUMERATION_INFO, ULONG *);
    ULONG(WINAPI *tdhEnumerateProviderFieldInformation)
    (LPGUID, EVENT_FIELD_TYPE, PPROVIDER_FIELD_INFOARRAY, ULONG *);
    ULONG(WINAPI *tdhEnumerateManifestProviderEvents)
    (LPGUID, SystemEventList *, ULONG *);
    ULONG(WINAPI *tdhGetManifestEventInformation)
    (LPGUID, PEVENT_DESCRIPTOR, PTRACE_EVENT_INFO, ULONG *);
    ULONG(WINAPI *tdhGetEventInformation)
    (PEVENT_RECORD, ULONG, PTDH_CONTEXT, PTRACE_EVENT_INFO, ULONG *);
    ULONG(WINAPI *tdhGetEventMapInformation)(PEVENT_RECORD, LPWSTR, PEVENT_MAP_INFO, ULONG *);
    ULONG(WINAPI *tdhCreatePayloadFilter)
    (LPCGUID, PCEVENT_DESCRIPTOR, BOOLEAN, ULONG, SystemPayloadPredicate *, PVOID *);
    ULONG(WINAPI *tdhDeletePayloadFilter)(PVOID *);
    ULONG(WINAPI *tdhAggregatePayloadFilters)
    (ULONG, PVOID *, PBOOLEAN, PEVENT_FILTER_DESCRIPTOR);
    ULONG(WINAPI *tdhCleanupPayloadEventFilterDescriptor)(PEVENT_FILTER_DESCRIPTOR);
} SystemLazy;

const SystemLazy *SystemLazyGet(void);
ULONG SystemBuild(void); /* of Windows; 0: unknown */
/* Why the system's tracing functions do not work (Wine's do nothing); NULL: they work. */
const char *SystemUnusable(void);

/* ---- Errors ---------------------------------------------------------------------------------- */

/*
 * Fill *errPtr with Windows' error, the operation ("start session"), its subject, and a remedy if
 * there is one; ETW_E_IO, so that a script sees {ETW WIN32 5 ERROR_ACCESS_DENIED text}.
 */
EtwStatus SystemFail(EtwError *errPtr, ULONG code, const char *doing, const char *subject);
/* This version of Windows lacks the function. */
EtwStatus SystemUnsupported(EtwError *errPtr, const char *what, const char *since);

/* ---- Sessions (system_session.c) ------------------------------------------------------------- */

enum { SYSTEM_MAX_NAME = 1024 }; /* characters of a session's name or file, NUL included */

/* EVENT_TRACE_PROPERTIES with space for both names, as ControlTrace requires. */
typedef struct SystemProperties {
    EVENT_TRACE_PROPERTIES_V2 p;
    wchar_t name[SYSTEM_MAX_NAME];
    wchar_t file[SYSTEM_MAX_NAME];
} SystemProperties;

/* Prepare for a query. */
void SystemPropertiesInit(SystemProperties *properties);
/* ControlTrace by name; fills *properties. */
ULONG SystemControl(const char *name, SystemProperties *properties, ULONG control);
/* The handle for EnableTraceEx2 and TraceSetInformation. */
EtwStatus SystemHandle(
        const char *name, TRACEHANDLE *handlePtr, SystemProperties *properties, EtwError *errPtr);
EtwGuid SystemGuid(const GUID *guid);
/* The properties of a session that is to be started. */
EtwStatus SystemConfigure(
        const EtwSessionConfig *config, SystemProperties *properties, EtwError *errPtr);
void SystemInfo(const SystemProperties *properties, const char *state, EtwSessionInfo *info);
/* The absolute path; false: too long. */
bool SystemPath(wchar_t to[SYSTEM_MAX_NAME], const char *path);
/* Windows' text of a session's name; false: too long. */
bool SystemName(wchar_t to[SYSTEM_MAX_NAME], const char *name);

/* ---- Sessions that this process started (system_own.c) ---------------------------------------- */

/* Processes that a filter selects: by id, by program. */
typedef struct SystemScope {
    ULONG pids[SYSTEM_MAX_PIDS];
    int pidCount;         /* 0: all */
    wchar_t *executables; /* "a.exe;b.exe", EtwFree; NULL: all */
} SystemScope;

/* Data of a session that Windows does not report, or that each call about a private session needs. */
typedef struct SystemOwn {
    TRACEHANDLE handle; /* 0: not started here */
    int64_t started;
    ULONG privateMode; /* bits of LogFileMode; 0: an ordinary session */
    GUID provider;     /* a private session's */
    SystemScope scope; /* private sessions in other processes */
} SystemOwn;

/* Fill descriptors that point into *scope. Returns their number. */
ULONG SystemScopeFilters(const SystemScope *scope, EVENT_FILTER_DESCRIPTOR filters[2]);
/* Store data of a session. Takes ownership of its scope. */
void SystemOwnKeep(const wchar_t *name, SystemOwn *own);
void SystemOwnForget(const wchar_t *name);
/* Returns a copy, to be released with SystemOwnRelease. All zero: not started here. */
SystemOwn SystemOwnFind(const char *name);
void SystemOwnRelease(SystemOwn *own);

/* ---- Functions of the other files for the engine's table ------------------------------------- */

EtwStatus SystemEnable(const char *name, const EtwEnable *enable, EtwError *errPtr);
EtwStatus SystemDisable(const char *name, const EtwGuid *provider, EtwError *errPtr);
EtwStatus SystemEnableKernel(const char *name, const EtwKernelEnable *enable, EtwError *errPtr);
/* Enable the privileges of the calling process that kernel events with these flags require. */
void SystemKernelPrivileges(uint32_t flags);
EtwStatus SystemDisableKernel(const char *name, EtwError *errPtr);
EtwStatus SystemMark(const char *name, const char *text, EtwError *errPtr);
void SystemProviders(EtwProviderVisit *visit, void *ctx);
void SystemProviderState(EtwProviderInfo *info);
EtwStatus SystemLiveOpen(const char *name, EtwLive **livePtr, EtwError *errPtr);

#endif
