/*
 * win/system_provider.c --
 *
 *	engine/mirror.h on Windows: each provider of etw.h is registered with EventRegister, too, and
 *	its events are written with EventWriteTransfer in TraceLogging's way, so that any tool of Windows
 *	can enable and decode them. Does nothing where Windows' tracing is of no use (Wine).
 */
#include "win/system.h"
#include "engine/listen.h"
#include "engine/mirror.h"
#include "engine/provider.h"
#include "schema/schema.h"

/* Of this process, by the provider's slot in the registry. */
typedef struct Mirror {
    REGHANDLE handle; /* 0: not registered */
    bool enabled;     /* under the registry's lock: this process counts in RegProvider.system */
} Mirror;
static Mirror mirrors[REG_PROVIDERS];

static Mirror *mirrorOf(const RegProvider *provider)
{
    return &mirrors[provider - RegGet()->providers];
}

/* ---- Who listens ----------------------------------------------------------------------------- */

/* Under the registry's lock. */
static void setWanted(RegProvider *provider, bool enabled, uint8_t level, uint64_t any)
{
    Mirror *mirror = mirrorOf(provider);
    uint32_t before = atomic_load(&provider->system);
    if (enabled) {
        /* What several processes are told is summed up: too much wanted costs little. */
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
        ListenCapture(provider);
    }
    if (code > EVENT_CONTROL_CODE_ENABLE_PROVIDER || RegLock(NULL) != ETW_OK) {
        return;
    }
    setWanted(provider, code == EVENT_CONTROL_CODE_ENABLE_PROVIDER, level != 0 ? level : 255,
            any != 0 ? any : UINT64_MAX);
    RegUnlock();
    ListenNotify(provider);
}

/* ---- Registering ----------------------------------------------------------------------------- */

/* Tools show the provider's name by these; where Windows cannot take them, each event has them. */
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

/* Windows may call back any time as long as a provider is registered, and some are until the process
 * ends: the code stays. */
static void stay(void)
{
    HMODULE self;
    GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
            (LPCWSTR)(const void *)mirrors, &self);
}

void EtwMirrorRegister(RegProvider *provider)
{
    REGHANDLE handle;
    if (SystemUnusable() != NULL || EventRegister((LPCGUID)(const void *)&provider->guid, onEnable,
                                            provider, &handle) != ERROR_SUCCESS) {
        return;
    }
    stay();
    setTraits(handle, provider->name);
    mirrorOf(provider)->handle = handle;
}

void EtwMirrorUnregister(RegProvider *provider)
{
    Mirror *mirror = mirrorOf(provider);
    REGHANDLE handle = mirror->handle;
    if (handle == 0) {
        return;
    }
    mirror->handle = 0;
    EventUnregister(handle); /* behind it no callback runs */
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

int EtwMirrorWrite(const RegProvider *provider, const EtwMirrorEvent *event)
{
    const Mirror *mirror = mirrorOf(provider);
    const RegClass *class = RegClassAt(event->eventClass);
    EVENT_DATA_DESCRIPTOR data[MAX_EVENT_DATA_DESCRIPTORS];
    uint8_t *flat = NULL;
    int count = 2;
    if (mirror->handle == 0 || !mirror->enabled || class == NULL) {
        return ETW_WRITTEN;
    }
    describe(&data[0], class->bytes, class->traitsSize, SYSTEM_TYPE_PROVIDER_METADATA);
    describe(&data[1], class->bytes + class->traitsSize, class->metaSize,
            SYSTEM_TYPE_EVENT_METADATA);
    if (event->count > MAX_EVENT_DATA_DESCRIPTORS - 2) {
        uint8_t *at = flat = EtwAlloc(event->size + 1);
        for (int i = 0; i < event->count; i++) {
            memcpy(at, event->data[i].data, event->data[i].size);
            at += event->data[i].size;
        }
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
    return code == ERROR_ARITHMETIC_OVERFLOW || code == ERROR_MORE_DATA ? ETW_LOST_TOO_BIG
           : code == ERROR_NOT_ENOUGH_MEMORY                            ? ETW_LOST_NO_BUFFER
                                                                        : ETW_WRITTEN;
}
