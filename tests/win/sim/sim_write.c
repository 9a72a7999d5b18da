/*
 * tests/win/sim/sim_write.c --
 *
 *	Writing: which sessions want an event, and its record with the extended items that they
 *	asked for.
 */
#include "tests/win/sim/sim.h"
#include "base/alloc.h"
#include "base/bytes.h"
#include "etl/format.h"
#include <stdio.h>

enum { MAX_FRAMES = 64, ITEM_HEAD = 8 };

/* One event on its way, as far as it is the same for all sessions. */
typedef struct Event {
    const SimRegistration *registration;
    const EVENT_DESCRIPTOR *descriptor;
    GUID activity;
    const GUID *related;
    const EVENT_DATA_DESCRIPTOR *data;
    ULONG dataCount;
    uint32_t payload, meta; /* sizes of payload and TraceLogging metadata */
    char name[128];         /* of a TraceLogging event; else empty */
    uint16_t flags;
} Event;

/* ---- Facts of this process ------------------------------------------------------------------------ */

static struct {
    INIT_ONCE once;
    uint8_t sid[SECURITY_MAX_SID_SIZE + sizeof(TOKEN_USER)];
    const uint8_t *sidAt;
    uint32_t sidSize;
    DWORD session;
    uint64_t startKey;
} self = {.once = INIT_ONCE_STATIC_INIT};

static BOOL CALLBACK SelfInit(INIT_ONCE *unused, void *parameter, void **result)
{
    HANDLE token;
    DWORD size;
    FILETIME start, ignored;
    (void)unused;
    (void)parameter;
    (void)result;
    ProcessIdToSessionId(GetCurrentProcessId(), &self.session);
    if (GetProcessTimes(GetCurrentProcess(), &start, &ignored, &ignored, &ignored)) {
        self.startKey = (uint64_t)start.dwHighDateTime << 32 | start.dwLowDateTime;
    }
    if (OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token)) {
        if (GetTokenInformation(token, TokenUser, self.sid, sizeof self.sid, &size)) {
            PSID sid = ((TOKEN_USER *)(void *)self.sid)->User.Sid;
            self.sidAt = sid;
            self.sidSize = GetLengthSid(sid);
        }
        CloseHandle(token);
    }
    return TRUE;
}

/* ---- Records -------------------------------------------------------------------------------------- */

typedef struct Item {
    uint16_t type;
    const void *data;
    uint32_t size;
} Item;

/* The items of the event for that session; frames must live as long as they. */
static int Items(const Event *e, const SimEnable *enable, Item items[8], uint64_t *stack)
{
    int count = 0;
    ULONG props = enable->properties;
    bool walk = (props & EVENT_ENABLE_PROPERTY_STACK_TRACE) != 0;
    if (enable->stackIds.set) {
        bool listed = false;
        for (int i = 0; i < enable->stackIds.count; i++) {
            listed |= enable->stackIds.ids[i] == e->descriptor->Id;
        }
        walk = listed == enable->stackIds.in;
    }
    if (enable->stackNames.set) {
        walk = SimNamePasses(&enable->stackNames, e->descriptor, e->name);
    }
    InitOnceExecuteOnce(&self.once, SelfInit, NULL, NULL);
    if (e->related != NULL) {
        items[count++] = (Item){ETL_ITEM_RELATED_ACTIVITY, e->related, sizeof *e->related};
    }
    if (props & EVENT_ENABLE_PROPERTY_SID && self.sidAt != NULL) {
        items[count++] = (Item){ETL_ITEM_SID, self.sidAt, self.sidSize};
    }
    if (props & EVENT_ENABLE_PROPERTY_TS_ID) {
        items[count++] = (Item){ETL_ITEM_TS_ID, &self.session, 4};
    }
    if (props & EVENT_ENABLE_PROPERTY_PROCESS_START_KEY) {
        items[count++] = (Item){ETL_ITEM_PROCESS_START_KEY, &self.startKey, 8};
    }
    if (walk) {
        void *frames[MAX_FRAMES];
        uint32_t found = CaptureStackBackTrace(2, MAX_FRAMES, frames, NULL);
        stack[0] = 0;
        memcpy(stack + 1, frames, found * sizeof *frames);
        items[count++] = (Item){sizeof(void *) == 4 ? ETL_ITEM_STACK32 : ETL_ITEM_STACK64, stack,
                8 + found * (uint32_t)sizeof *frames};
    }
    if (e->registration->traits != NULL) {
        items[count++] =
                (Item){ETL_ITEM_PROV_TRAITS, e->registration->traits, e->registration->traitsSize};
    }
    if (e->meta != 0) {
        items[count++] = (Item){ETL_ITEM_SCHEMA_TL, NULL, e->meta}; /* gathered when written */
    }
    return count;
}

/* The bytes of all descriptors of one kind (event metadata, or the payload), end to end. */
static void Gather(const Event *e, bool meta, uint8_t *to)
{
    for (ULONG i = 0; i < e->dataCount; i++) {
        unsigned type = e->registration->useTypes ? e->data[i].Reserved & 0xFF : 0;
        if (type == ABI_PROVIDER_METADATA || (type == ABI_EVENT_METADATA) != meta ||
                e->data[i].Size == 0) {
            continue;
        }
        memcpy(to, (const void *)(uintptr_t)e->data[i].Ptr, e->data[i].Size);
        to += e->data[i].Size;
    }
}

static size_t ItemCapacity(const Item *item)
{
    return EtwAlign8(ITEM_HEAD + item->size);
}

static void PutItem(const Event *e, uint8_t *out, const Item *item, bool more)
{
    EtwStore16(out, (uint16_t)ItemCapacity(item));
    EtwStore16(out + 2, item->type);
    EtwStore16(out + 4, more);
    EtwStore16(out + 6, (uint16_t)item->size);
    if (item->data != NULL) {
        memcpy(out + ITEM_HEAD, item->data, item->size);
    } else {
        Gather(e, true, out + ITEM_HEAD);
    }
}

static void PutHeader(const Event *e, const SimEnable *enable, uint8_t *out, size_t size,
        int64_t ticks, bool extended)
{
    EVENT_HEADER h = {0};
    h.Size = (USHORT)size;
    h.HeaderType =
            (USHORT)(ETL_MARK_TYPED << 8 | (sizeof(void *) == 4 ? ETL_EVENT32 : ETL_EVENT64));
    h.Flags = (USHORT)(e->flags | (extended ? EVENT_HEADER_FLAG_EXTENDED_INFO : 0) |
                       (sizeof(void *) == 4 ? EVENT_HEADER_FLAG_32_BIT_HEADER
                                            : EVENT_HEADER_FLAG_64_BIT_HEADER));
    if (enable->session->mode & EVENT_TRACE_PRIVATE_LOGGER_MODE) {
        h.Flags |= EVENT_HEADER_FLAG_PRIVATE_SESSION;
    }
    h.ThreadId = GetCurrentThreadId();
    h.ProcessId = GetCurrentProcessId();
    h.TimeStamp.QuadPart = ticks;
    h.ProviderId = e->registration->provider->guid;
    h.EventDescriptor = *e->descriptor;
    h.ActivityId = e->activity;
    memcpy(out, &h, sizeof h);
}

static ULONG WriteTo(const Event *e, const SimEnable *enable)
{
    Item items[8];
    uint64_t stack[MAX_FRAMES + 1];
    int64_t ticks;
    ULONG error;
    int count = Items(e, enable, items, stack);
    size_t at = ETL_EVENT_HEADER, size = at + e->payload;
    for (int i = 0; i < count; i++) {
        size += ItemCapacity(&items[i]);
    }
    if (size > ETL_MAX_RECORD) {
        return ERROR_ARITHMETIC_OVERFLOW;
    }
    uint8_t *out = SimRecordBegin(enable->session, EtwAlign8(size), &ticks, &error);
    if (out == NULL) {
        return error;
    }
    EtwStore64(out + EtwAlign8(size) - 8, 0);
    PutHeader(e, enable, out, size, ticks, count != 0);
    for (int i = 0; i < count; i++) {
        PutItem(e, out + at, &items[i], i + 1 < count);
        at += ItemCapacity(&items[i]);
    }
    Gather(e, false, out + at);
    SimRecordEnd(enable->session);
    return ERROR_SUCCESS;
}

/* ---- Who wants it --------------------------------------------------------------------------------- */

static bool IdPasses(const SimIds *ids, USHORT id)
{
    if (!ids->set) {
        return true;
    }
    for (int i = 0; i < ids->count; i++) {
        if (ids->ids[i] == id) {
            return ids->in;
        }
    }
    return !ids->in;
}

bool SimNamePasses(const SimNames *names, const EVENT_DESCRIPTOR *event, const char *name)
{
    const char *at = names->names;
    bool meant = (names->level == 0 || event->Level <= names->level) &&
                 (event->Keyword == 0 || names->any == 0 || (event->Keyword & names->any) != 0) &&
                 (event->Keyword & names->all) == names->all;
    if (!names->set || !meant) {
        return true;
    }
    for (int i = 0; i < names->count; i++, at += strlen(at) + 1) {
        if (strcmp(at, name) == 0) {
            return names->in;
        }
    }
    return !names->in;
}

/* The name behind size and tags in the metadata of a TraceLogging event. */
static void TakeName(Event *e)
{
    uint8_t *meta = EtwAlloc(e->meta + 1);
    uint32_t at = 2;
    Gather(e, true, meta);
    while (at < e->meta && meta[at++] & 0x80) {
    }
    if (at < e->meta) {
        snprintf(e->name, sizeof e->name, "%s", (const char *)meta + at);
    }
    EtwFree(meta);
}

static bool KeywordPasses(const SimEnable *e, ULONGLONG keyword)
{
    if (keyword == 0) {
        return !(e->properties & EVENT_ENABLE_PROPERTY_IGNORE_KEYWORD_0);
    }
    return e->any == 0 || ((keyword & e->any) != 0 && (keyword & e->all) == e->all);
}

bool SimEnableWants(const SimEnable *e, const EVENT_DESCRIPTOR *event)
{
    return e->session != NULL && SimScopeHere(&e->scope) &&
           (e->level == 0 || event->Level <= e->level) && KeywordPasses(e, event->Keyword) &&
           IdPasses(&e->ids, event->Id);
}

static bool PayloadPasses(const Event *e, const SimEnable *enable)
{
    if (enable->payload == NULL) {
        return true;
    }
    uint8_t *payload = EtwAlloc(e->payload + 1);
    Gather(e, false, payload);
    bool passes = SimPayloadPasses(enable->payload, enable->payloadSize,
            &e->registration->provider->guid, e->descriptor, payload, e->payload);
    EtwFree(payload);
    return passes;
}

/* Sizes of payload and metadata; false: more than an event may have. */
static bool Measure(Event *e)
{
    uint64_t payload = 0, meta = 0;
    for (ULONG i = 0; i < e->dataCount; i++) {
        unsigned type = e->registration->useTypes ? e->data[i].Reserved & 0xFF : 0;
        meta += type == ABI_EVENT_METADATA ? e->data[i].Size : 0;
        payload += type == 0 ? e->data[i].Size : 0;
    }
    e->payload = (uint32_t)payload;
    e->meta = (uint32_t)meta;
    return payload + meta < SIM_MAX_EVENT;
}

/* One session's loss does not keep the event from the others. */
static ULONG WriteToAll(const Event *e)
{
    ULONG result = ERROR_SUCCESS;
    for (int i = 0; i < SIM_ENABLES; i++) {
        const SimEnable *enable = &e->registration->provider->enables[i];
        if (SimEnableWants(enable, e->descriptor) &&
                SimNamePasses(&enable->names, e->descriptor, e->name) && PayloadPasses(e, enable)) {
            ULONG error = WriteTo(e, enable);
            result = error != ERROR_SUCCESS ? error : result;
        }
    }
    return result;
}

static ULONG Write(REGHANDLE handle, Event *e, const GUID *activity)
{
    ULONG result = ERROR_SUCCESS;
    if (e->descriptor == NULL || e->dataCount > MAX_EVENT_DATA_DESCRIPTORS ||
            (e->dataCount != 0 && e->data == NULL)) {
        return ERROR_INVALID_PARAMETER;
    }
    if (activity != NULL) {
        e->activity = *activity;
    } else {
        EventActivityIdControl(EVENT_ACTIVITY_CTRL_GET_ID, &e->activity);
    }
    AcquireSRWLockShared(&simLock);
    e->registration = SimRegistrationFind(handle);
    if (e->registration == NULL) {
        result = ERROR_INVALID_HANDLE;
    } else if (!Measure(e)) {
        result = ERROR_ARITHMETIC_OVERFLOW;
    }
    if (result == ERROR_SUCCESS) {
        TakeName(e);
        result = WriteToAll(e);
    }
    ReleaseSRWLockShared(&simLock);
    return result;
}

/* ---- The functions -------------------------------------------------------------------------------- */

ULONG WINAPI EventWriteTransfer(REGHANDLE handle, PCEVENT_DESCRIPTOR descriptor, LPCGUID activity,
        LPCGUID related, ULONG count, PEVENT_DATA_DESCRIPTOR data)
{
    Event e = {.descriptor = descriptor, .related = related, .data = data, .dataCount = count};
    return Write(handle, &e, activity);
}

ULONG WINAPI EventWriteEx(REGHANDLE handle, PCEVENT_DESCRIPTOR descriptor, ULONG64 filter,
        ULONG flags, LPCGUID activity, LPCGUID related, ULONG count, PEVENT_DATA_DESCRIPTOR data)
{
    (void)filter;
    (void)flags;
    return EventWriteTransfer(handle, descriptor, activity, related, count, data);
}

ULONG WINAPI EventWrite(
        REGHANDLE handle, PCEVENT_DESCRIPTOR descriptor, ULONG count, PEVENT_DATA_DESCRIPTOR data)
{
    return EventWriteTransfer(handle, descriptor, NULL, NULL, count, data);
}

ULONG WINAPI EventWriteString(REGHANDLE handle, UCHAR level, ULONGLONG keyword, PCWSTR string)
{
    EVENT_DESCRIPTOR descriptor = {.Level = level, .Keyword = keyword};
    EVENT_DATA_DESCRIPTOR data = {0};
    if (string == NULL) {
        return ERROR_INVALID_PARAMETER;
    }
    EventDataDescCreate(&data, string, (ULONG)((wcslen(string) + 1) * sizeof(WCHAR)));
    Event e = {.descriptor = &descriptor,
            .data = &data,
            .dataCount = 1,
            .flags = EVENT_HEADER_FLAG_STRING_ONLY};
    return Write(handle, &e, NULL);
}

BOOLEAN WINAPI EventEnabled(REGHANDLE handle, PCEVENT_DESCRIPTOR descriptor)
{
    return EventProviderEnabled(handle, descriptor->Level, descriptor->Keyword);
}

BOOLEAN WINAPI EventProviderEnabled(REGHANDLE handle, UCHAR level, ULONGLONG keyword)
{
    BOOLEAN enabled = FALSE;
    AcquireSRWLockShared(&simLock);
    const SimRegistration *r = SimRegistrationFind(handle);
    for (int i = 0; r != NULL && i < SIM_ENABLES; i++) {
        const SimEnable *e = &r->provider->enables[i];
        if (e->session != NULL && SimScopeHere(&e->scope) && (e->level == 0 || level <= e->level) &&
                KeywordPasses(e, keyword)) {
            enabled = TRUE;
        }
    }
    ReleaseSRWLockShared(&simLock);
    return enabled;
}
