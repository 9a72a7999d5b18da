/*
 * win/system/system_catalog.c --
 *
 *	Windows' information on providers: registered processes and enabling sessions
 *	(EnumerateTraceGuidsEx), names (TdhEnumerateProviders), and, for
 *	schema/store/platform_schema.h, descriptions of events (TdhGetEventInformation and related
 *	functions, whose TRACE_EVENT_INFO schema/eventinfo/event_info.c reads). All offsets in
 *	buffers that Windows has filled are checked.
 */
#include "win/system/system_int.h"
#include "schema/eventinfo/event_info.h"
#include "schema/store/platform_schema.h"
#include "base/hash_table.h"
#include <stdio.h>

enum { TRIES = 10, MAX_BUFFER = 64 << 20, MAX_SESSIONS = 64, FIELD_MAX = 4096 };

/* ---- Texts in buffers ------------------------------------------------------------------------ */

/*
 * The number of UTF-16 units of the text at an offset of a buffer; *textPtr NULL: no text, or
 * outside of the buffer.
 */
static size_t textAt(const uint8_t *data, size_t size, size_t offset, const uint8_t **textPtr)
{
    size_t units = 0;
    *textPtr = NULL;
    if (offset == 0 || offset >= size) {
        return 0;
    }
    while (offset + 2 * units + 2 <= size && EtwLoad16(data + offset + 2 * units) != 0) {
        units++;
    }
    *textPtr = units > 0 ? data + offset : NULL;
    return units;
}

static void copyText(const uint8_t *data, size_t size, size_t offset, char *to, size_t capacity)
{
    const uint8_t *text;
    wchar_t wide[256];
    size_t units = textAt(data, size, offset, &text);
    units = units < 255 ? units : 255;
    *to = '\0';
    if (text != NULL) {
        memcpy(wide, text, units * 2);
        wide[units] = 0;
        char *utf8 = OsWinToUtf8(wide);
        snprintf(to, capacity, "%s", utf8);
        EtwFree(utf8);
    }
}

/* ---- Buffers filled by Windows --------------------------------------------------------------- */

typedef ULONG FillProc(void *ctx, void *buffer, ULONG *sizePtr);

/*
 * Call fill with larger and larger buffers until it succeeds. NULL: it failed. Free with EtwFree.
 */
static uint8_t *filled(FillProc *fill, void *ctx, ULONG first, size_t *sizePtr)
{
    ULONG size = first;
    *sizePtr = 0;
    for (int i = 0; i < TRIES && size <= MAX_BUFFER; i++) {
        uint8_t *buffer = EtwAlloc(size);
        ULONG wanted = size, code = fill(ctx, buffer, &wanted);
        if (code == ERROR_SUCCESS) {
            *sizePtr = wanted < size ? wanted : size;
            return buffer;
        }
        EtwFree(buffer);
        if (code != ERROR_INSUFFICIENT_BUFFER && code != ERROR_MORE_DATA) {
            return NULL;
        }
        size = wanted > size ? wanted : size * 2; /* the data may grow between the calls */
    }
    return NULL;
}

static ULONG fillNames(void *ctx, void *buffer, ULONG *sizePtr)
{
    (void)ctx;
    return SystemLazyGet()->tdhEnumerateProviders(buffer, sizePtr);
}

static ULONG fillGuids(void *ctx, void *buffer, ULONG *sizePtr)
{
    (void)ctx;
    return EnumerateTraceGuidsEx(TraceGuidQueryList, NULL, 0, buffer, *sizePtr, sizePtr);
}

static ULONG fillInfo(void *ctx, void *buffer, ULONG *sizePtr)
{
    return EnumerateTraceGuidsEx(TraceGuidQueryInfo, ctx, sizeof(GUID), buffer, *sizePtr, sizePtr);
}

/* ---- Registrations and sessions -------------------------------------------------------------- */

typedef struct SessionName {
    uint32_t id;
    char name[256];
} SessionName;
typedef struct Sessions {
    SessionName list[MAX_SESSIONS];
    int count;
} Sessions;

static bool keepSession(void *ctx, const EtwSessionInfo *info)
{
    Sessions *sessions = ctx;
    SessionName *s = &sessions->list[sessions->count++];
    s->id = info->index;
    snprintf(s->name, sizeof s->name, "%s", info->name);
    return sessions->count < MAX_SESSIONS;
}

static void addEnable(EtwProviderInfo *info, const TRACE_ENABLE_INFO *e, const Sessions *sessions)
{
    char name[256];
    snprintf(name, sizeof name, "#%u", e->LoggerId);
    for (int i = 0; i < sessions->count; i++) {
        if (sessions->list[i].id == e->LoggerId) {
            snprintf(name, sizeof name, "%s", sessions->list[i].name);
        }
    }
    for (int i = 0; i < info->enables; i++) {
        if (strcmp(info->enabled[i].session, name) == 0) {
            return; /* another process's registration */
        }
    }
    if (info->enables < 2 * ETW_MAX_ENABLES) {
        snprintf(info->enabled[info->enables].session, sizeof name, "%s", name);
        info->enabled[info->enables].engine = "system";
        info->enabled[info->enables].level = e->Level;
        info->enabled[info->enables].any = e->MatchAnyKeyword;
        info->enabled[info->enables].all = e->MatchAllKeyword;
        info->enables++;
    }
}

/* Add Windows' data on the provider to *info, which has its GUID. */
static void addState(EtwProviderInfo *info, const Sessions *sessions)
{
    GUID guid;
    size_t size, at = sizeof(TRACE_GUID_INFO);
    TRACE_GUID_INFO head;
    memcpy(&guid, info->guid.bytes, sizeof guid);
    uint8_t *buffer = filled(fillInfo, &guid, 1024, &size);
    if (buffer == NULL || size < sizeof head) {
        EtwFree(buffer);
        return;
    }
    memcpy(&head, buffer, sizeof head);
    for (ULONG i = 0; i < head.InstanceCount; i++) {
        TRACE_PROVIDER_INSTANCE_INFO instance;
        if (size < sizeof instance || at > size - sizeof instance) {
            break;
        }
        memcpy(&instance, buffer + at, sizeof instance);
        info->registrations += instance.Pid != 0;
        for (ULONG e = 0; e < instance.EnableCount; e++) {
            TRACE_ENABLE_INFO enable;
            size_t place = at + sizeof instance + e * sizeof enable;
            if (place + sizeof enable > size) {
                break;
            }
            memcpy(&enable, buffer + place, sizeof enable);
            if (enable.IsEnabled) {
                addEnable(info, &enable, sessions);
            }
        }
        if (instance.NextOffset < sizeof instance || instance.NextOffset > size - at) {
            break; /* 0: the last one; other values: malformed */
        }
        at += instance.NextOffset;
    }
    EtwFree(buffer);
}

static Sessions *allSessions(void)
{
    Sessions *sessions = EtwAlloc(sizeof *sessions);
    const EtwEngineOps *ops = EtwSystemOps(NULL);
    if (ops != NULL) {
        ops->list(keepSession, sessions);
    }
    return sessions;
}

void SystemProviderState(EtwProviderInfo *info)
{
    Sessions *sessions = allSessions();
    int registrations = info->registrations;
    addState(info, sessions);
    info->registrations = registrations; /* our providers are registered with both engines */
    EtwFree(sessions);
}

/* ---- Names of providers ---------------------------------------------------------------------- */

typedef struct Names {
    uint8_t *data; /* PROVIDER_ENUMERATION_INFO; NULL: none */
    size_t size;
    ULONG count;
} Names;

static Names allNames(void)
{
    Names names = {0};
    if (SystemLazyGet()->tdhEnumerateProviders != NULL) {
        names.data = filled(fillNames, NULL, 100000, &names.size);
    }
    size_t head = offsetof(PROVIDER_ENUMERATION_INFO, TraceProviderInfoArray);
    if (names.data != NULL && names.size >= head) {
        ULONG most = (ULONG)((names.size - head) / sizeof(TRACE_PROVIDER_INFO));
        names.count = EtwLoad32(names.data);
        names.count = names.count < most ? names.count : most;
    }
    return names;
}

static TRACE_PROVIDER_INFO nameEntry(const Names *names, ULONG index)
{
    TRACE_PROVIDER_INFO entry;
    memcpy(&entry,
            names->data + offsetof(PROVIDER_ENUMERATION_INFO, TraceProviderInfoArray) +
                    index * sizeof entry,
            sizeof entry);
    return entry;
}

static void copyName(const Names *names, ULONG index, EtwProviderInfo *info)
{
    copyText(names->data, names->size, nameEntry(names, index).ProviderNameOffset, info->name,
            sizeof info->name);
}

/* Visits the registered providers, then those that are only known. */
void SystemProviders(EtwProviderVisit *visit, void *ctx)
{
    Names names = allNames();
    Sessions *sessions = allSessions();
    uint8_t *seen = EtwAlloc(names.count + 1);
    size_t size = 0;
    uint8_t *guids = filled(fillGuids, NULL, 64 * 1024, &size);
    bool more = true;
    for (size_t at = 0; guids != NULL && more && at + sizeof(GUID) <= size; at += sizeof(GUID)) {
        EtwProviderInfo info = {0};
        memcpy(info.guid.bytes, guids + at, sizeof info.guid.bytes);
        for (ULONG i = 0; i < names.count; i++) {
            TRACE_PROVIDER_INFO entry = nameEntry(&names, i);
            if (memcmp(&entry.ProviderGuid, info.guid.bytes, sizeof info.guid.bytes) == 0) {
                seen[i] = 1;
                copyName(&names, i, &info);
            }
        }
        addState(&info, sessions);
        more = visit(ctx, &info);
    }
    for (ULONG i = 0; more && i < names.count; i++) {
        EtwProviderInfo info = {0};
        if (!seen[i]) {
            TRACE_PROVIDER_INFO entry = nameEntry(&names, i);
            info.guid = SystemGuid(&entry.ProviderGuid);
            copyName(&names, i, &info);
            more = visit(ctx, &info);
        }
    }
    EtwFree(guids);
    EtwFree(seen);
    EtwFree(sessions);
    EtwFree(names.data);
}

/* ---- Cached definitions ---------------------------------------------------------------------- */

typedef struct Described {
    EtwTableNode node;
    EtwGuid guid;
    uint32_t code; /* event id, opcode of a classic event, or WHOLE: the provider */
    uint8_t version;
    const EtwProviderDef *def; /* NULL: unknown to Windows */
} Described;
#define WHOLE 0xFFFFFFFFu
static EtwTable described; /* never freed: schemas point into it */
static SRWLOCK describedLock = SRWLOCK_INIT;

static uint64_t hashOf(const EtwGuid *guid, uint32_t code, uint8_t version)
{
    return EtwHashMix(EtwHashGuid(guid), (uint64_t)code << 8 | version);
}

static const Described *lockedFind(const EtwGuid *guid, uint32_t code, uint8_t version)
{
    uint64_t hash = hashOf(guid, code, version);
    for (EtwTableNode *n = EtwTableFirst(&described, hash); n != NULL; n = n->next) {
        const Described *d = (const Described *)n;
        if (d->code == code && d->version == version && EtwGuidEqual(&d->guid, guid)) {
            return d;
        }
    }
    return NULL;
}

/* *knownPtr: an earlier lookup is cached, possibly with the result NULL. */
static const EtwProviderDef *find(
        const EtwGuid *guid, uint32_t code, uint8_t version, bool *knownPtr)
{
    AcquireSRWLockShared(&describedLock);
    const Described *d = lockedFind(guid, code, version);
    const EtwProviderDef *def = d != NULL ? d->def : NULL;
    ReleaseSRWLockShared(&describedLock);
    *knownPtr = d != NULL;
    return def;
}

/* Cache a result, also NULL. If another thread has cached one meanwhile, that one is used. */
static const EtwProviderDef *keep(
        const EtwGuid *guid, uint32_t code, uint8_t version, EtwProviderDef *def)
{
    AcquireSRWLockExclusive(&describedLock);
    const Described *d = lockedFind(guid, code, version);
    if (d == NULL) {
        Described *fresh = EtwAlloc(sizeof *fresh);
        fresh->guid = *guid;
        fresh->code = code;
        fresh->version = version;
        fresh->def = def;
        EtwTableAdd(&described, &fresh->node, hashOf(guid, code, version));
        d = fresh;
    }
    const EtwProviderDef *kept = d->def;
    ReleaseSRWLockExclusive(&describedLock);
    if (kept != def && def != NULL) {
        EtwDefFree(def);
    }
    return kept;
}

/* ---- One event ------------------------------------------------------------------------------- */

typedef struct Asked {
    EVENT_RECORD record;
    EtwProviderDef *holder; /* of the maps */
} Asked;

static ULONG fillEvent(void *ctx, void *buffer, ULONG *sizePtr)
{
    return SystemLazyGet()->tdhGetEventInformation(
            &((Asked *)ctx)->record, 0, NULL, buffer, sizePtr);
}

typedef struct AskedMap {
    Asked *asked;
    wchar_t *name;
} AskedMap;

static ULONG fillMap(void *ctx, void *buffer, ULONG *sizePtr)
{
    const AskedMap *map = ctx;
    /* After the provider's GUID, as in files. */
    ULONG size = *sizePtr > sizeof(GUID) ? *sizePtr - (ULONG)sizeof(GUID) : 0;
    ULONG code = SystemLazyGet()->tdhGetEventMapInformation(&map->asked->record, map->name,
            (EVENT_MAP_INFO *)(void *)((uint8_t *)buffer + sizeof(GUID)), &size);
    *sizePtr = size + (ULONG)sizeof(GUID);
    return code;
}

static const EtwMap *findMap(void *ctx, const EtwGuid *provider, const char *name)
{
    Asked *asked = ctx;
    AskedMap map = {asked, OsWinFromUtf8(name)};
    const EtwMap *found = NULL;
    const char *own;
    size_t size;
    uint8_t *record = SystemLazyGet()->tdhGetEventMapInformation != NULL
                              ? filled(fillMap, &map, 1024, &size)
                              : NULL;
    if (record != NULL) {
        memcpy(record, provider->bytes, sizeof provider->bytes);
        asked->holder = asked->holder != NULL ? asked->holder
                                              : EtwDefNew(provider, "", ETW_ORIGIN_METADATA, "");
        found = EtwMapInfoParse(asked->holder, record, size, &own);
        EtwFree(record);
    }
    EtwFree(map.name);
    return found;
}

static void fillRecord(EVENT_RECORD *r, const EtwEvent *event)
{
    EVENT_HEADER *h = &r->EventHeader;
    memset(r, 0, sizeof *r);
    h->Size = sizeof *h;
    h->Flags = (USHORT)(event->flags & ~EVENT_HEADER_FLAG_EXTENDED_INFO) |
               (event->classic ? EVENT_HEADER_FLAG_CLASSIC_HEADER : 0) |
               (event->pointerSize == 4 ? EVENT_HEADER_FLAG_32_BIT_HEADER
                                        : EVENT_HEADER_FLAG_64_BIT_HEADER);
    h->EventProperty = event->property;
    h->ThreadId = event->tid;
    h->ProcessId = event->pid;
    h->TimeStamp.QuadPart = event->ticks;
    memcpy(&h->ProviderId, event->provider.bytes, sizeof h->ProviderId);
    memcpy(&h->EventDescriptor, &event->desc, sizeof h->EventDescriptor);
    memcpy(&h->ActivityId, event->activity.bytes, sizeof h->ActivityId);
    r->UserDataLength = (USHORT)(event->payloadSize < 0xFFFF ? event->payloadSize : 0xFFFF);
    r->UserData = (PVOID)(ULONG_PTR)event->payload;
}

const EtwProviderDef *EtwPlatformEvent(const EtwEvent *event)
{
    uint32_t code = event->classic ? 0x10000u | event->desc.opcode : event->desc.id;
    bool known, missing;
    const EtwProviderDef *def;
    if (SystemUnusable() != NULL || SystemLazyGet()->tdhGetEventInformation == NULL) {
        return NULL;
    }
    def = find(&event->provider, code, event->desc.version, &known);
    if (known) {
        return def;
    }
    Asked asked = {0};
    EtwProviderDef *made = NULL;
    size_t size;
    fillRecord(&asked.record, event);
    uint8_t *info = filled(fillEvent, &asked, 4096, &size);
    if (info != NULL) {
        made = EtwEventInfoParse(info, size, findMap, &asked, &missing);
        EtwFree(info);
    }
    /* asked.holder is not freed: the definition's fields point to its maps. */
    return keep(&event->provider, code, event->desc.version, made);
}

/* ---- A whole provider ------------------------------------------------------------------------ */

typedef struct AskedField {
    GUID guid;
    EVENT_FIELD_TYPE type;
} AskedField;

static ULONG fillFields(void *ctx, void *buffer, ULONG *sizePtr)
{
    AskedField *asked = ctx;
    return SystemLazyGet()->tdhEnumerateProviderFieldInformation(
            &asked->guid, asked->type, buffer, sizePtr);
}

/* Add names of keywords, tasks ... from a PROVIDER_FIELD_INFOARRAY. */
static void addNames(EtwProviderDef *def, const GUID *guid, EVENT_FIELD_TYPE type, EtwNameKind kind)
{
    AskedField asked = {*guid, type};
    size_t size, at = offsetof(PROVIDER_FIELD_INFOARRAY, FieldInfoArray);
    uint8_t *data = filled(fillFields, &asked, 4096, &size);
    ULONG count = data != NULL && size >= at ? EtwLoad32(data) : 0;
    for (ULONG i = 0; i < count && i < FIELD_MAX && at + sizeof(PROVIDER_FIELD_INFO) <= size; i++) {
        PROVIDER_FIELD_INFO field;
        const uint8_t *text, *message;
        memcpy(&field, data + at, sizeof field);
        size_t units = textAt(data, size, field.NameOffset, &text);
        size_t messageUnits = textAt(data, size, field.DescriptionOffset, &message);
        if (text != NULL) {
            /* The low half of an opcode's value is its task. */
            bool opcode = kind == ETW_NAME_OPCODE;
            EtwNamed named = {.value = opcode ? field.Value >> 16 & 0xFF : field.Value,
                    .task = (uint16_t)(opcode ? field.Value & 0xFFFF : 0),
                    .name = EtwDefText16(def, text, units),
                    .message = message != NULL ? EtwDefText16(def, message, messageUnits) : NULL};
            EtwDefName(def, kind, &named);
        }
        at += sizeof field;
    }
    EtwFree(data);
}

static ULONG fillList(void *ctx, void *buffer, ULONG *sizePtr)
{
    return SystemLazyGet()->tdhEnumerateManifestProviderEvents(ctx, buffer, sizePtr);
}

/* Adds the events without their fields, which are looked up when an event occurs. */
static void addEvents(EtwProviderDef *def, GUID *guid)
{
    size_t size, at = offsetof(SystemEventList, EventDescriptorsArray);
    uint8_t *data = SystemLazyGet()->tdhEnumerateManifestProviderEvents != NULL
                            ? filled(fillList, guid, 16384, &size)
                            : NULL;
    ULONG count = data != NULL && size >= at ? EtwLoad32(data) : 0;
    for (ULONG i = 0; i < count && at + sizeof(EtwDescriptor) <= size; i++) {
        EtwDescriptor desc;
        memcpy(&desc, data + at, sizeof desc);
        EtwDefEvent(def, &desc, NULL, 0);
        at += sizeof desc;
    }
    EtwFree(data);
}

static void nameOfProvider(const GUID *guid, char *to, size_t size)
{
    Names names = allNames();
    EtwProviderInfo info = {0};
    for (ULONG i = 0; i < names.count && info.name[0] == '\0'; i++) {
        TRACE_PROVIDER_INFO entry = nameEntry(&names, i);
        if (memcmp(&entry.ProviderGuid, guid, sizeof *guid) == 0) {
            copyName(&names, i, &info);
        }
    }
    snprintf(to, size, "%s", info.name);
    EtwFree(names.data);
}

const EtwProviderDef *EtwPlatformProvider(const EtwGuid *provider)
{
    bool known;
    char name[128];
    GUID guid;
    EtwProviderDef *made = NULL;
    if (SystemUnusable() != NULL || SystemLazyGet()->tdhEnumerateProviderFieldInformation == NULL) {
        return NULL;
    }
    const EtwProviderDef *def = find(provider, WHOLE, 0, &known);
    if (known) {
        return def;
    }
    memcpy(&guid, provider->bytes, sizeof guid);
    nameOfProvider(&guid, name, sizeof name);
    if (name[0] != '\0') {
        made = EtwDefNew(provider, name, ETW_ORIGIN_METADATA, "");
        addNames(made, &guid, EventKeywordInformation, ETW_NAME_KEYWORD);
        addNames(made, &guid, EventTaskInformation, ETW_NAME_TASK);
        addNames(made, &guid, EventOpcodeInformation, ETW_NAME_OPCODE);
        addNames(made, &guid, EventLevelInformation, ETW_NAME_LEVEL);
        addNames(made, &guid, EventChannelInformation, ETW_NAME_CHANNEL);
        addEvents(made, &guid);
        EtwDefFinish(made);
    }
    return keep(provider, WHOLE, 0, made);
}
