/*
 * tests/win/abi.h --
 *
 *	The binary interface of Windows' event tracing as Microsoft documents it: mingw-w64's
 *	headers, what they lack, and the sizes and offsets of all structures that cross it, for both
 *	pointer sizes. Written down apart from the package's own declarations (win/), so that an error in
 *	one of them shows.
 */
#ifndef ETW_TESTS_WIN_ABI_H
#define ETW_TESTS_WIN_ABI_H

#ifdef SIM_BUILD
/* The functions are defined here, not imported. */
#define _WMI_SOURCE_
#define _EVNT_SOURCE_
#endif
#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0602
#endif
#include <windows.h>
#include <evntrace.h>
#include <evntprov.h>
#include <evntcons.h>
#include <tdh.h>
#include <stddef.h>

#ifdef SIM_BUILD
#define SIM_EXPORT __declspec(dllexport)
#else
#define SIM_EXPORT __declspec(dllimport)
#endif

/* ---- Constants that mingw-w64 10 lacks ---------------------------------------------------------- */

#ifndef EVENT_TRACE_USE_MS_FLUSH_TIMER
#define EVENT_TRACE_USE_MS_FLUSH_TIMER 0x00000010
#endif
#ifndef EVENT_FILTER_TYPE_PID
#define EVENT_FILTER_TYPE_PID 0x80000004
#define EVENT_FILTER_TYPE_EXECUTABLE_NAME 0x80000008
#define EVENT_FILTER_TYPE_PACKAGE_ID 0x80000010
#define EVENT_FILTER_TYPE_PACKAGE_APP_ID 0x80000020
#define EVENT_FILTER_TYPE_PAYLOAD 0x80000100
#define EVENT_FILTER_TYPE_EVENT_ID 0x80000200
#define EVENT_FILTER_TYPE_EVENT_NAME 0x80000400
#define EVENT_FILTER_TYPE_STACKWALK 0x80001000
#define EVENT_FILTER_TYPE_STACKWALK_NAME 0x80002000
#endif
#ifndef EVENT_ENABLE_PROPERTY_IGNORE_KEYWORD_0
#define EVENT_ENABLE_PROPERTY_IGNORE_KEYWORD_0 0x00000010
#define EVENT_ENABLE_PROPERTY_PROCESS_START_KEY 0x00000080
#endif
#ifndef EVENT_HEADER_EXT_TYPE_PROCESS_START_KEY
#define EVENT_HEADER_EXT_TYPE_EVENT_SCHEMA_TL 0x000B
#define EVENT_HEADER_EXT_TYPE_PROV_TRAITS 0x000C
#define EVENT_HEADER_EXT_TYPE_PROCESS_START_KEY 0x000D
#endif
enum { ABI_SET_TRAITS = 2, ABI_USE_DESCRIPTOR_TYPE = 3 };   /* EVENT_INFO_CLASS */
enum { ABI_EVENT_METADATA = 1, ABI_PROVIDER_METADATA = 2 }; /* EVENT_DATA_DESCRIPTOR.Type */
enum { ABI_MAX_FILTERS = 8, ABI_MAX_PAYLOAD_FILTER = 4096 };

typedef struct AbiFilterEventId { /* EVENT_FILTER_EVENT_ID */
    BOOLEAN FilterIn;
    UCHAR Reserved;
    USHORT Count;
    USHORT Events[1];
} AbiFilterEventId;

typedef struct AbiFilterEventName { /* EVENT_FILTER_EVENT_NAME */
    ULONGLONG MatchAnyKeyword;
    ULONGLONG MatchAllKeyword;
    UCHAR Level;
    BOOLEAN FilterIn;
    USHORT NameCount;
    UCHAR Names[1];
} AbiFilterEventName;

typedef struct AbiProfileSource { /* PROFILE_SOURCE_INFO */
    ULONG NextEntryOffset;
    ULONG Source;
    ULONG MinInterval;
    ULONG MaxInterval;
    ULONG64 Reserved;
    WCHAR Description[1];
} AbiProfileSource;

/* ---- Tdh functions that mingw-w64 10 lacks ------------------------------------------------------- */

typedef struct AbiProviderEventInfo { /* PROVIDER_EVENT_INFO */
    ULONG NumberOfEvents;
    ULONG Reserved;
    EVENT_DESCRIPTOR EventDescriptorsArray[1];
} AbiProviderEventInfo;

typedef struct AbiPayloadPredicate { /* PAYLOAD_FILTER_PREDICATE */
    LPWSTR FieldName;
    USHORT CompareOp;
    LPWSTR Value;
} AbiPayloadPredicate;

enum { /* PAYLOAD_OPERATOR */
    ABI_PAYLOAD_EQ = 0,
    ABI_PAYLOAD_NE = 1,
    ABI_PAYLOAD_LE = 2,
    ABI_PAYLOAD_GT = 3,
    ABI_PAYLOAD_LT = 4,
    ABI_PAYLOAD_GE = 5,
    ABI_PAYLOAD_BETWEEN = 6,
    ABI_PAYLOAD_NOTBETWEEN = 7,
    ABI_PAYLOAD_MODULO = 8,
    ABI_PAYLOAD_CONTAINS = 20,
    ABI_PAYLOAD_DOESNTCONTAIN = 21,
    ABI_PAYLOAD_IS = 30,
    ABI_PAYLOAD_ISNOT = 31
};

/* What a static table of the lazily resolved functions (win/system/system_lazy.c) points to, too. */
SIM_EXPORT ULONG WINAPI TdhEnumerateManifestProviderEvents(
        LPGUID ProviderGuid, AbiProviderEventInfo *Buffer, ULONG *BufferSize);
SIM_EXPORT ULONG WINAPI TdhGetManifestEventInformation(LPGUID ProviderGuid,
        PEVENT_DESCRIPTOR EventDescriptor, PTRACE_EVENT_INFO Buffer, ULONG *BufferSize);
SIM_EXPORT ULONG WINAPI TdhCreatePayloadFilter(LPCGUID ProviderGuid,
        PCEVENT_DESCRIPTOR EventDescriptor, BOOLEAN EventMatchANY, ULONG PayloadPredicateCount,
        AbiPayloadPredicate *PayloadPredicates, PVOID *PayloadFilter);
SIM_EXPORT ULONG WINAPI TdhDeletePayloadFilter(PVOID *PayloadFilter);
SIM_EXPORT ULONG WINAPI TdhAggregatePayloadFilters(ULONG PayloadFilterCount,
        PVOID *PayloadFilterPtrs, PBOOLEAN EventMatchALLFlags,
        PEVENT_FILTER_DESCRIPTOR EventFilterDescriptor);
SIM_EXPORT ULONG WINAPI TdhCleanupPayloadEventFilterDescriptor(
        PEVENT_FILTER_DESCRIPTOR EventFilterDescriptor);
SIM_EXPORT ULONG WINAPI TdhLoadManifest(LPWSTR Manifest);
SIM_EXPORT ULONG WINAPI TdhUnloadManifest(LPWSTR Manifest);

/* ---- The tests' own ------------------------------------------------------------------------------ */

/* Stop everything and forget it. Handles of consumers that are inside ProcessTrace stay valid until
 * that returns. */
SIM_EXPORT void WINAPI EtwSimReset(void);
/* Hold a session's logger, so that its buffers run out; release it. */
SIM_EXPORT ULONG WINAPI EtwSimPause(LPCWSTR session, BOOL paused);
/* The system logger's events for these flags (EVENT_TRACE_FLAG_*), `count` times, into each session
 * that wants them. */
SIM_EXPORT ULONG WINAPI EtwSimKernel(ULONG flags, ULONG count);

#ifdef SIM_BUILD
#define SIM_FUNCTION(name) __typeof__(name) name __attribute__((dllexport))
SIM_FUNCTION(StartTraceA);
SIM_FUNCTION(StartTraceW);
SIM_FUNCTION(ControlTraceA);
SIM_FUNCTION(ControlTraceW);
SIM_FUNCTION(StopTraceW);
SIM_FUNCTION(QueryTraceW);
SIM_FUNCTION(UpdateTraceW);
SIM_FUNCTION(FlushTraceW);
SIM_FUNCTION(QueryAllTracesW);
SIM_FUNCTION(EnableTraceEx);
SIM_FUNCTION(EnableTraceEx2);
SIM_FUNCTION(EnumerateTraceGuidsEx);
SIM_FUNCTION(TraceSetInformation);
SIM_FUNCTION(TraceQueryInformation);
SIM_FUNCTION(OpenTraceW);
SIM_FUNCTION(ProcessTrace);
SIM_FUNCTION(CloseTrace);
SIM_FUNCTION(RegisterTraceGuidsW);
SIM_FUNCTION(UnregisterTraceGuids);
SIM_FUNCTION(GetTraceLoggerHandle);
SIM_FUNCTION(GetTraceEnableLevel);
SIM_FUNCTION(TraceEvent);
SIM_FUNCTION(EventRegister);
SIM_FUNCTION(EventUnregister);
SIM_FUNCTION(EventSetInformation);
SIM_FUNCTION(EventActivityIdControl);
SIM_FUNCTION(EventEnabled);
SIM_FUNCTION(EventProviderEnabled);
SIM_FUNCTION(EventWrite);
SIM_FUNCTION(EventWriteEx);
SIM_FUNCTION(EventWriteString);
SIM_FUNCTION(EventWriteTransfer);
SIM_FUNCTION(TdhEnumerateProviders);
SIM_FUNCTION(TdhEnumerateProviderFieldInformation);
SIM_FUNCTION(TdhQueryProviderFieldInformation);
SIM_FUNCTION(TdhGetEventInformation);
SIM_FUNCTION(TdhGetEventMapInformation);
#endif

/* ---- Layouts ------------------------------------------------------------------------------------- */

#define ABI_SIZE(type, size64, size32)                                                             \
    _Static_assert(sizeof(type) == (sizeof(void *) == 8 ? (size64) : (size32)), #type)
#define ABI_AT(type, member, at64, at32)                                                           \
    _Static_assert(                                                                                \
            offsetof(type, member) == (sizeof(void *) == 8 ? (at64) : (at32)), #type "." #member)

ABI_SIZE(WNODE_HEADER, 48, 48);
ABI_AT(WNODE_HEADER, Guid, 24, 24);
ABI_AT(WNODE_HEADER, ClientContext, 40, 40);
ABI_AT(WNODE_HEADER, Flags, 44, 44);
ABI_SIZE(EVENT_TRACE_PROPERTIES, 120, 120);
ABI_AT(EVENT_TRACE_PROPERTIES, LogFileMode, 64, 64);
ABI_AT(EVENT_TRACE_PROPERTIES, EnableFlags, 72, 72);
ABI_AT(EVENT_TRACE_PROPERTIES, RealTimeBuffersLost, 100, 100);
ABI_AT(EVENT_TRACE_PROPERTIES, LoggerThreadId, 104, 104);
ABI_AT(EVENT_TRACE_PROPERTIES, LogFileNameOffset, 112, 108);
ABI_AT(EVENT_TRACE_PROPERTIES, LoggerNameOffset, 116, 112);
ABI_SIZE(EVENT_TRACE_PROPERTIES_V2, 144, 136);
ABI_AT(EVENT_TRACE_PROPERTIES_V2, V2Control, 120, 116);
ABI_AT(EVENT_TRACE_PROPERTIES_V2, FilterDescCount, 124, 120);
ABI_AT(EVENT_TRACE_PROPERTIES_V2, FilterDesc, 128, 124);
ABI_AT(EVENT_TRACE_PROPERTIES_V2, V2Options, 136, 128);
ABI_SIZE(ENABLE_TRACE_PARAMETERS_V1, 40, 32);
ABI_SIZE(ENABLE_TRACE_PARAMETERS, 48, 36);
ABI_AT(ENABLE_TRACE_PARAMETERS, EnableFilterDesc, 32, 28);
ABI_AT(ENABLE_TRACE_PARAMETERS, FilterDescCount, 40, 32);
ABI_SIZE(EVENT_FILTER_DESCRIPTOR, 16, 16);
ABI_SIZE(EVENT_DATA_DESCRIPTOR, 16, 16);
ABI_SIZE(EVENT_DESCRIPTOR, 16, 16);
ABI_SIZE(EVENT_HEADER, 80, 80);
ABI_AT(EVENT_HEADER, ProviderId, 24, 24);
ABI_AT(EVENT_HEADER, EventDescriptor, 40, 40);
ABI_AT(EVENT_HEADER, ActivityId, 64, 64);
ABI_SIZE(EVENT_HEADER_EXTENDED_DATA_ITEM, 16, 16);
ABI_SIZE(EVENT_RECORD, 112, 104);
ABI_AT(EVENT_RECORD, BufferContext, 80, 80);
ABI_AT(EVENT_RECORD, ExtendedData, 88, 88);
ABI_AT(EVENT_RECORD, UserData, 96, 92);
ABI_AT(EVENT_RECORD, UserContext, 104, 96);
ABI_SIZE(EVENT_TRACE_HEADER, 48, 48);
ABI_AT(EVENT_TRACE_HEADER, Class, 4, 4);
ABI_AT(EVENT_TRACE_HEADER, TimeStamp, 16, 16);
ABI_AT(EVENT_TRACE_HEADER, Guid, 24, 24);
ABI_AT(EVENT_TRACE_HEADER, Flags, 44, 44);
ABI_SIZE(MOF_FIELD, 16, 16);
ABI_SIZE(EVENT_TRACE, 88, 88);
ABI_SIZE(TRACE_LOGFILE_HEADER, 280, 272);
ABI_AT(TRACE_LOGFILE_HEADER, PerfFreq, 256, 248);
ABI_SIZE(EVENT_TRACE_LOGFILEW, 448, 416);
ABI_AT(EVENT_TRACE_LOGFILEW, CurrentEvent, 32, 24);
ABI_AT(EVENT_TRACE_LOGFILEW, LogfileHeader, 120, 112);
ABI_AT(EVENT_TRACE_LOGFILEW, BufferCallback, 400, 384);
ABI_AT(EVENT_TRACE_LOGFILEW, EventRecordCallback, 424, 400);
ABI_AT(EVENT_TRACE_LOGFILEW, Context, 440, 408);
ABI_SIZE(TRACE_GUID_INFO, 8, 8);
ABI_SIZE(TRACE_PROVIDER_INSTANCE_INFO, 16, 16);
ABI_SIZE(TRACE_ENABLE_INFO, 32, 32);
ABI_AT(TRACE_ENABLE_INFO, MatchAnyKeyword, 16, 16);
ABI_SIZE(CLASSIC_EVENT_ID, 24, 24);
ABI_SIZE(EVENT_PROPERTY_INFO, 24, 24);
ABI_AT(TRACE_EVENT_INFO, EventPropertyInfoArray, 112, 112);
ABI_SIZE(TRACE_PROVIDER_INFO, 24, 24);
ABI_SIZE(PROVIDER_FIELD_INFO, 16, 16);
ABI_AT(EVENT_MAP_INFO, MapEntryArray, 16, 16);
ABI_AT(AbiProviderEventInfo, EventDescriptorsArray, 8, 8);
ABI_SIZE(AbiPayloadPredicate, 24, 12);
ABI_AT(AbiFilterEventId, Events, 4, 4);
ABI_AT(AbiFilterEventName, Names, 20, 20);
ABI_AT(AbiProfileSource, Description, 24, 24);

#endif
