/*
 * win/system/system_abi.h --
 *
 *	Declarations that Windows documents and mingw-w64's headers lack, and assertions of the layout of all
 *	structures that the engine "system" exchanges with Windows, for 64 and 32 bits. Included after
 *	Windows' own headers by system_int.h.
 */
#ifndef ETW_SYSTEM_ABI_H
#define ETW_SYSTEM_ABI_H

/* ---- evntrace.h, evntcons.h, evntprov.h ------------------------------------------------------ */

#define SYSTEM_MODE_USE_MS_FLUSH_TIMER 0x00000010u
enum {
    SYSTEM_FILTER_PID = 0x80000004u,
    SYSTEM_FILTER_EXECUTABLE_NAME = 0x80000008u,
    SYSTEM_FILTER_PAYLOAD = 0x80000100u,
    SYSTEM_FILTER_EVENT_ID = 0x80000200u,
    SYSTEM_FILTER_EVENT_NAME = 0x80000400u,
    SYSTEM_FILTER_STACKWALK = 0x80001000u,
    SYSTEM_FILTER_STACKWALK_NAME = 0x80002000u
};
enum {
    SYSTEM_FILTER_ARGUMENTS = 0
}; /* EVENT_FILTER_TYPE_NONE: the command "update" of EventSource */
enum { SYSTEM_TYPE_EVENT_METADATA = 1, SYSTEM_TYPE_PROVIDER_METADATA = 2 };
enum { SYSTEM_INFO_PROVIDER_TRAITS = 2 }; /* of EVENT_INFO_CLASS */
enum { SYSTEM_MAX_PIDS = ETW_MAX_PIDS, SYSTEM_MAX_EVENT_IDS = 64, SYSTEM_MAX_FILTERS = 13 };

/* EVENT_FILTER_EVENT_ID */
typedef struct SystemFilterEventId {
    BOOLEAN FilterIn;
    UCHAR Reserved;
    USHORT Count;
    USHORT Events[SYSTEM_MAX_EVENT_IDS];
} SystemFilterEventId;

/* EVENT_FILTER_EVENT_NAME */
typedef struct SystemFilterEventName {
    ULONGLONG MatchAnyKeyword;
    ULONGLONG MatchAllKeyword;
    UCHAR Level;
    BOOLEAN FilterIn;
    USHORT NameCount;
    UCHAR Names[ETW_MAX_FILTER_NAMES];
} SystemFilterEventName;

/* PROFILE_SOURCE_INFO */
typedef struct SystemProfileSource {
    ULONG NextEntryOffset; /* from the start of this one; 0: the last */
    ULONG Source;
    ULONG MinInterval;
    ULONG MaxInterval;
    ULONG64 Reserved;
    WCHAR Description[ANYSIZE_ARRAY]; /* the name */
} SystemProfileSource;

/* ---- tdh_types.h ----------------------------------------------------------------------------------- */

/* PROVIDER_EVENT_INFO */
typedef struct SystemEventList {
    ULONG NumberOfEvents;
    ULONG Reserved;
    EVENT_DESCRIPTOR EventDescriptorsArray[ANYSIZE_ARRAY];
} SystemEventList;

/* PAYLOAD_FILTER_PREDICATE */
typedef struct SystemPayloadPredicate {
    LPWSTR FieldName;
    USHORT CompareOp;
    LPWSTR Value;
} SystemPayloadPredicate;

/* ---- Layouts --------------------------------------------------------------------------------- */

#ifdef _WIN64
#define SYSTEM_BITS(w64, w32) (w64)
#else
#define SYSTEM_BITS(w64, w32) (w32)
#endif
#define SYSTEM_SIZE(type, w64, w32)                                                                \
    _Static_assert(sizeof(type) == SYSTEM_BITS(w64, w32), "size of " #type)
#define SYSTEM_AT(type, member, w64, w32)                                                          \
    _Static_assert(offsetof(type, member) == SYSTEM_BITS(w64, w32), "place of " #type "." #member)

SYSTEM_SIZE(WNODE_HEADER, 48, 48);
SYSTEM_AT(WNODE_HEADER, HistoricalContext, 8, 8);
SYSTEM_AT(WNODE_HEADER, Guid, 24, 24);
SYSTEM_AT(WNODE_HEADER, ClientContext, 40, 40);
SYSTEM_AT(WNODE_HEADER, Flags, 44, 44);

SYSTEM_SIZE(EVENT_TRACE_PROPERTIES, 120, 120);
SYSTEM_AT(EVENT_TRACE_PROPERTIES, BufferSize, 48, 48);
SYSTEM_AT(EVENT_TRACE_PROPERTIES, LogFileMode, 64, 64);
SYSTEM_AT(EVENT_TRACE_PROPERTIES, FlushTimer, 68, 68);
SYSTEM_AT(EVENT_TRACE_PROPERTIES, EnableFlags, 72, 72);
SYSTEM_AT(EVENT_TRACE_PROPERTIES, NumberOfBuffers, 80, 80);
SYSTEM_AT(EVENT_TRACE_PROPERTIES, EventsLost, 88, 88);
SYSTEM_AT(EVENT_TRACE_PROPERTIES, RealTimeBuffersLost, 100, 100);
SYSTEM_AT(EVENT_TRACE_PROPERTIES, LoggerThreadId, 104, 104);
SYSTEM_AT(EVENT_TRACE_PROPERTIES, LogFileNameOffset, 112, 108);
SYSTEM_AT(EVENT_TRACE_PROPERTIES, LoggerNameOffset, 116, 112);
SYSTEM_SIZE(EVENT_TRACE_PROPERTIES_V2, 144, 136);
SYSTEM_AT(EVENT_TRACE_PROPERTIES_V2, V2Control, 120, 116);
SYSTEM_AT(EVENT_TRACE_PROPERTIES_V2, FilterDescCount, 124, 120);
SYSTEM_AT(EVENT_TRACE_PROPERTIES_V2, FilterDesc, 128, 124);
SYSTEM_AT(EVENT_TRACE_PROPERTIES_V2, V2Options, 136, 128);

SYSTEM_SIZE(ENABLE_TRACE_PARAMETERS, 48, 36);
SYSTEM_AT(ENABLE_TRACE_PARAMETERS, SourceId, 12, 12);
SYSTEM_AT(ENABLE_TRACE_PARAMETERS, EnableFilterDesc, 32, 28);
SYSTEM_AT(ENABLE_TRACE_PARAMETERS, FilterDescCount, 40, 32);
SYSTEM_SIZE(EVENT_FILTER_DESCRIPTOR, 16, 16);
SYSTEM_AT(SystemFilterEventId, Events, 4, 4);
SYSTEM_AT(SystemFilterEventName, NameCount, 18, 18);
SYSTEM_AT(SystemFilterEventName, Names, 20, 20);
SYSTEM_AT(SystemProfileSource, Description, 24, 24);
SYSTEM_SIZE(CLASSIC_EVENT_ID, 24, 24);

SYSTEM_SIZE(EVENT_DESCRIPTOR, 16, 16);
SYSTEM_SIZE(EVENT_DATA_DESCRIPTOR, 16, 16);
SYSTEM_AT(EVENT_DATA_DESCRIPTOR, Reserved, 12, 12);
SYSTEM_SIZE(EVENT_HEADER, 80, 80);
SYSTEM_AT(EVENT_HEADER, TimeStamp, 16, 16);
SYSTEM_AT(EVENT_HEADER, ProviderId, 24, 24);
SYSTEM_AT(EVENT_HEADER, EventDescriptor, 40, 40);
SYSTEM_AT(EVENT_HEADER, ActivityId, 64, 64);
SYSTEM_SIZE(EVENT_HEADER_EXTENDED_DATA_ITEM, 16, 16);
SYSTEM_SIZE(EVENT_RECORD, 112, 104);
SYSTEM_AT(EVENT_RECORD, BufferContext, 80, 80);
SYSTEM_AT(EVENT_RECORD, UserDataLength, 86, 86);
SYSTEM_AT(EVENT_RECORD, ExtendedData, 88, 88);
SYSTEM_AT(EVENT_RECORD, UserData, 96, 92);
SYSTEM_AT(EVENT_RECORD, UserContext, 104, 96);
SYSTEM_SIZE(EVENT_TRACE_HEADER, 48, 48);
SYSTEM_AT(EVENT_TRACE_HEADER, Class, 4, 4);
SYSTEM_AT(EVENT_TRACE_HEADER, Guid, 24, 24);
SYSTEM_AT(EVENT_TRACE_HEADER, Flags, 44, 44);
SYSTEM_SIZE(MOF_FIELD, 16, 16);
SYSTEM_SIZE(EVENT_TRACE, 88, 88);
SYSTEM_SIZE(TRACE_LOGFILE_HEADER, 280, 272);
SYSTEM_SIZE(EVENT_TRACE_LOGFILEW, 448, 416);
SYSTEM_AT(EVENT_TRACE_LOGFILEW, CurrentTime, 16, 8);

SYSTEM_SIZE(TRACE_GUID_INFO, 8, 8);
SYSTEM_SIZE(TRACE_PROVIDER_INSTANCE_INFO, 16, 16);
SYSTEM_SIZE(TRACE_ENABLE_INFO, 32, 32);
SYSTEM_AT(TRACE_ENABLE_INFO, MatchAnyKeyword, 16, 16);

SYSTEM_SIZE(PROVIDER_ENUMERATION_INFO, 32, 32);
SYSTEM_SIZE(TRACE_PROVIDER_INFO, 24, 24);
SYSTEM_SIZE(PROVIDER_FIELD_INFO, 16, 16);
SYSTEM_SIZE(EVENT_PROPERTY_INFO, 24, 24);
SYSTEM_AT(TRACE_EVENT_INFO, EventPropertyInfoArray, 112, 112);
SYSTEM_AT(SystemEventList, EventDescriptorsArray, 8, 8);
SYSTEM_SIZE(SystemPayloadPredicate, 24, 12);

#endif
