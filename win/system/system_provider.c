/*
 * win/system/system_provider.c --
 *
 *	engine/provider/native_provider.h on Windows: each provider of etw.h is also registered with
 *	EventRegister, and its events are written with EventWriteTransfer in TraceLogging format, so
 *	that any Windows tool can enable and decode them. A provider with classic events is also
 *	registered with RegisterTraceGuids and writes them with TraceEvent. Does nothing if Windows'
 *	tracing does not work (Wine).
 */
#include "win/system/system_int.h"
#include "engine/provider/enable_callbacks.h"
#include "engine/provider/native_provider.h"
#include "engine/provider/provider.h"
#include "schema/model/schema.h"

/* This process's registration of each provider, by slot in the registry. */
typedef struct Native {
    REGHANDLE handle; /* 0: not registered */
    bool enabled;     /* guarded by RegLock: this process counts in RegProvider.system */
    volatile LONG hasClassic;
    TRACEHANDLE classic;              /* 0: not registered as a classic provider */
    volatile LONG64 session;          /* the session that receives classic events; 0: none */
    GUID eventClass;                  /* valid while registered */
    TRACE_GUID_REGISTRATION classReg; /* Windows fills in a handle */
} Native;
static Native natives[REG_PROVIDERS];

static Native *nativeOf(const RegProvider *provider)
{
    return &natives[provider - RegGet()->providers];
}

/* ---- State of enabling ----------------------------------------------------------------------- */

/* Call under RegLock. */
static void setWanted(RegProvider *provider, bool enabled, uint8_t level, uint64_t any)
{
    Native *mirror = nativeOf(provider);
    uint32_t before = atomic_load(&provider->system);
    if (enabled) {
        /* The requests in several processes are combined. Too broad a request costs little. */
        bool more = before > 0 && !(before == 1 && mirror->enabled);
        provider->systemLevel =
                more && provider->systemLevel > level ? provider->systemLevel : level;
        provider->systemKeywords = any | (more ? provider->systemKeywords : 0);
    }
    if (enabled != mirror->enabled && (enabled || before > 0)) {
        atomic_fetch_add(&provider->system, enabled ? 1u : ~0u);
    }
    mirror->enabled = enabled;
    RegRefreshProvider(provider);
}

static VOID NTAPI onEnable(LPCGUID source, ULONG code, UCHAR level, ULONGLONG any, ULONGLONG all,
        PEVENT_FILTER_DESCRIPTOR filter, PVOID context)
{
    RegProvider *provider = context;
    (void)source, (void)all, (void)filter;
    if (code == EVENT_CONTROL_CODE_CAPTURE_STATE) {
        CallbackCaptureState(provider);
    }
    if (code > EVENT_CONTROL_CODE_ENABLE_PROVIDER || RegLock(NULL) != ETW_OK) {
        return;
    }
    setWanted(provider, code == EVENT_CONTROL_CODE_ENABLE_PROVIDER, level != 0 ? level : 255,
            any != 0 ? any : UINT64_MAX);
    RegUnlock();
    CallbackNotify(provider);
}

/* ---- Registering ----------------------------------------------------------------------------- */

/*
 * Tools read the provider's name from the traits. If Windows does not support setting them, each
 * event contains them.
 */
static void setTraits(REGHANDLE handle, const char *name)
{
    const SystemLazy *lazy = SystemLazyGet();
    EtwText traits = {0};
    EtwTraceLoggingTraits(&traits, name, NULL);
    if (lazy->eventSetInformation != NULL) {
        lazy->eventSetInformation(handle, (EVENT_INFO_CLASS)SYSTEM_INFO_PROVIDER_TRAITS,
                traits.data, (ULONG)traits.size);
    }
    EtwTextFree(&traits);
}

/*
 * Windows may call back at any time while a provider is registered, and some are registered until
 * the process ends: keep the code loaded.
 */
static void pinModule(void)
{
    HMODULE self;
    GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
            (LPCWSTR)(const void *)natives, &self);
}

void EtwNativeRegister(RegProvider *provider)
{
    REGHANDLE handle;
    if (SystemUnusable() != NULL || EventRegister((LPCGUID)(const void *)&provider->guid, onEnable,
                                            provider, &handle) != ERROR_SUCCESS) {
        return;
    }
    pinModule();
    setTraits(handle, provider->name);
    nativeOf(provider)->handle = handle;
}

/*
 * Store the session that receives classic events: the last one that enabled the provider. Windows
 * supports only one.
 */
static ULONG WINAPI onClassic(WMIDPREQUESTCODE code, PVOID context, ULONG *reserved, PVOID buffer)
{
    Native *mirror = context;
    (void)reserved;
    if (code == WMI_ENABLE_EVENTS) {
        InterlockedExchange64(&mirror->session, (LONG64)GetTraceLoggerHandle(buffer));
    } else if (code == WMI_DISABLE_EVENTS) {
        InterlockedExchange64(&mirror->session, 0);
    }
    return ERROR_SUCCESS;
}

void EtwNativeDefineClassic(RegProvider *provider, const EtwGuid *eventClass)
{
    Native *mirror = nativeOf(provider);
    if (mirror->handle == 0 || InterlockedExchange(&mirror->hasClassic, 1) != 0) {
        return;
    }
    memcpy(&mirror->eventClass, eventClass->bytes, sizeof mirror->eventClass);
    mirror->classReg.Guid = &mirror->eventClass;
    if (RegisterTraceGuidsW(onClassic, mirror, (LPCGUID)(const void *)&provider->guid, 1,
                &mirror->classReg, NULL, NULL, &mirror->classic) != ERROR_SUCCESS) {
        mirror->classic = 0; /* its classic events are written like others */
    }
}

static void unregisterClassic(Native *mirror)
{
    TRACEHANDLE classic = mirror->classic;
    mirror->classic = 0;
    if (classic != 0) {
        UnregisterTraceGuids(classic);
    }
    InterlockedExchange64(&mirror->session, 0);
    InterlockedExchange(&mirror->hasClassic, 0);
}

void EtwNativeUnregister(RegProvider *provider)
{
    Native *mirror = nativeOf(provider);
    REGHANDLE handle = mirror->handle;
    if (handle == 0) {
        return;
    }
    unregisterClassic(mirror);
    mirror->handle = 0;
    EventUnregister(handle); /* after this no callback runs */
    if (RegLock(NULL) == ETW_OK) {
        setWanted(provider, false, 0, 0);
        RegUnlock();
    }
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void describe(EVENT_DATA_DESCRIPTOR *d, const void *data, size_t size, ULONG type)
{
    d->Ptr = (ULONGLONG)(ULONG_PTR)data;
    d->Size = (ULONG)size;
    d->Reserved = type;
}

/* A copy of all data in one block. Free with EtwFree. */
static uint8_t *flatten(const EtwNativeEvent *event)
{
    uint8_t *flat = EtwAlloc(event->size + 1), *at = flat;
    for (int i = 0; i < event->count; i++) {
        memcpy(at, event->data[i].data, event->data[i].size);
        at += event->data[i].size;
    }
    return flat;
}

static int resultOf(ULONG code)
{
    return code == ERROR_ARITHMETIC_OVERFLOW || code == ERROR_MORE_DATA ? ETW_LOST_TOO_BIG
           : code == ERROR_NOT_ENOUGH_MEMORY                            ? ETW_LOST_NO_BUFFER
                                                                        : ETW_WRITTEN;
}

static int writeDescribed(const Native *mirror, const RegClass *class, const EtwNativeEvent *event)
{
    EVENT_DATA_DESCRIPTOR data[MAX_EVENT_DATA_DESCRIPTORS];
    uint8_t *flat = NULL;
    int count = 2;
    describe(&data[0], class->bytes, class->traitsSize, SYSTEM_TYPE_PROVIDER_METADATA);
    describe(&data[1], class->bytes + class->traitsSize, class->metaSize,
            SYSTEM_TYPE_EVENT_METADATA);
    if (event->count > MAX_EVENT_DATA_DESCRIPTORS - 2) {
        flat = flatten(event);
        describe(&data[count++], flat, event->size, 0);
    }
    for (int i = 0; flat == NULL && i < event->count; i++) {
        describe(&data[count++], event->data[i].data, event->data[i].size, 0);
    }
    /* EtwDescriptor has EVENT_DESCRIPTOR's layout (event/event.h). */
    ULONG code = EventWriteTransfer(mirror->handle, (PCEVENT_DESCRIPTOR)(const void *)&class->desc,
            (LPCGUID)(const void *)event->activity, (LPCGUID)(const void *)event->related,
            (ULONG)count, data);
    EtwFree(flat);
    return resultOf(code);
}

/* Windows writes the event to the session unconditionally, so level and flags are checked here. */
static int writeClassic(Native *mirror, const RegClass *class, const EtwNativeEvent *event)
{
    struct {
        EVENT_TRACE_HEADER head;
        MOF_FIELD fields[MAX_MOF_FIELDS];
    } e = {0};
    TRACEHANDLE session = (TRACEHANDLE)InterlockedCompareExchange64(&mirror->session, 0, 0);
    UCHAR level = session != 0 ? GetTraceEnableLevel(session) : 0;
    uint8_t *flat = event->count > MAX_MOF_FIELDS ? flatten(event) : NULL;
    int count = flat != NULL ? 1 : event->count;
    ULONG code = ERROR_SUCCESS;
    for (int i = 0; i < count; i++) {
        const void *data = flat != NULL ? flat : event->data[i].data;
        e.fields[i].DataPtr = (ULONG64)(ULONG_PTR)data;
        e.fields[i].Length = flat != NULL ? event->size : (ULONG)event->data[i].size;
    }
    e.head.Size = (USHORT)(sizeof e.head + (size_t)count * sizeof *e.fields);
    e.head.Flags = WNODE_FLAG_TRACED_GUID | WNODE_FLAG_USE_MOF_PTR;
    e.head.Class.Type = class->desc.opcode;
    e.head.Class.Level = class->desc.level;
    e.head.Class.Version = class->desc.version;
    memcpy(&e.head.Guid, class->guid.bytes, sizeof e.head.Guid);
    if (session != 0 && (level == 0 || class->desc.level <= level)) {
        code = TraceEvent(session, &e.head);
    }
    EtwFree(flat);
    return resultOf(code);
}

int EtwNativeWrite(const RegProvider *provider, const EtwNativeEvent *event)
{
    Native *mirror = nativeOf(provider);
    const RegClass *class = RegClassAt(event->eventClass);
    if (mirror->handle == 0 || !mirror->enabled || class == NULL) {
        return ETW_WRITTEN;
    }
    return class->classic && mirror->classic != 0 ? writeClassic(mirror, class, event)
                                                  : writeDescribed(mirror, class, event);
}
