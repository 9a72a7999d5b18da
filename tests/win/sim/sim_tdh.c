/*
 * tests/win/sim/sim_tdh.c --
 *
 *	The catalogue side of tdh_types.h: installed providers, their events, the names of their
 *	keywords, levels, tasks, opcodes and channels.
 */
#include "tests/win/sim/sim_tdh.h"
#include "base/unicode.h"
#include "schema/store/definition_files.h"
#include "schema/manifest/manifest.h"
#include <stdio.h>

enum { MAX_DEFS = 64, OPCODE_SHIFT = 16 };

static const EtwProviderDef *defs[MAX_DEFS];
static int defCount, builtIn;
static SRWLOCK defsLock = SRWLOCK_INIT;
static INIT_ONCE defsOnce = INIT_ONCE_STATIC_INIT;

static void Add(void *ctx, EtwProviderDef *def)
{
    (void)ctx;
    AcquireSRWLockExclusive(&defsLock);
    if (defCount < MAX_DEFS) {
        defs[defCount++] = def;
    }
    ReleaseSRWLockExclusive(&defsLock);
}

static BOOL CALLBACK DefsInit(INIT_ONCE *unused, void *parameter, void **result)
{
    EtwError error;
    (void)unused;
    (void)parameter;
    (void)result;
    if (EtwManifestReadFile("sim", simManifest, simManifestSize, Add, NULL, &error) != ETW_OK) {
        fprintf(stderr, "etwsim: the built-in manifest: %s\n", error.message);
        abort();
    }
    builtIn = defCount;
    return TRUE;
}

static void Init(void)
{
    SimInit();
    InitOnceExecuteOnce(&defsOnce, DefsInit, NULL, NULL);
}

void SimTdhReset(void)
{
    Init();
    AcquireSRWLockExclusive(&defsLock);
    defCount = builtIn;
    ReleaseSRWLockExclusive(&defsLock);
}

const EtwProviderDef *SimTdhProvider(const GUID *guid)
{
    const EtwProviderDef *found = NULL;
    Init();
    AcquireSRWLockShared(&defsLock);
    for (int i = 0; i < defCount && found == NULL; i++) {
        found = memcmp(&defs[i]->guid, guid, sizeof *guid) == 0 ? defs[i] : NULL;
    }
    ReleaseSRWLockShared(&defsLock);
    return found;
}

ULONG WINAPI TdhLoadManifest(LPWSTR path)
{
    EtwError error;
    Init();
    if (path == NULL) {
        return ERROR_INVALID_PARAMETER;
    }
    char *utf8 = SimUtf8(path);
    EtwStatus status = EtwSchemaRead(utf8, Add, NULL, &error);
    EtwFree(utf8);
    return status == ETW_OK     ? ERROR_SUCCESS
           : status == ETW_E_IO ? ERROR_FILE_NOT_FOUND
                                : ERROR_INVALID_PARAMETER;
}

ULONG WINAPI TdhUnloadManifest(LPWSTR path)
{
    (void)path;
    SimTdhReset();
    return ERROR_SUCCESS;
}

/* ---- Buffers -------------------------------------------------------------------------------------- */

ULONG SimTdhText(EtwText *out, const char *utf8)
{
    ULONG at = (ULONG)out->size;
    if (utf8 == NULL) {
        return 0;
    }
    EtwTextToUtf16(out, utf8, strlen(utf8) + 1);
    return at;
}

/* The switch ETWSIM_TDH=N spoils some words of what is given, other ones for each N. */
static void Spoil(EtwText *data)
{
    static const uint32_t values[] = {0xFFFFFFFF, 0xFFFFFFF0, 0x7FFFFFFF, 0x10000, 1, 0};
    WCHAR text[16];
    if (GetEnvironmentVariableW(L"ETWSIM_TDH", text, 16) == 0 || data->size < 8) {
        return;
    }
    uint64_t random = (uint64_t)_wtoi(text) * 2654435761u + 12345;
    for (int i = 0; i < 8; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t words = (data->size < 512 ? data->size : 512) / 4;
        EtwStore32(data->data + (random >> 33) % words * 4, values[(random >> 20) % 6]);
    }
}

ULONG SimTdhGive(EtwText *from, void *buffer, ULONG *sizePtr)
{
    Spoil(from);
    ULONG capacity = *sizePtr, size = (ULONG)EtwAlign8(from->size);
    ULONG error = buffer == NULL || capacity < size ? ERROR_INSUFFICIENT_BUFFER : ERROR_SUCCESS;
    *sizePtr = size;
    if (error == ERROR_SUCCESS) {
        memset((uint8_t *)buffer + from->size, 0, size - from->size);
        memcpy(buffer, from->data, from->size);
    }
    EtwTextFree(from);
    return error;
}

static void Zeros(EtwText *out, size_t size)
{
    EtwTextReserve(out, size);
    memset(out->data + out->size, 0, size);
    out->size += size;
}

/* ---- Providers and events --------------------------------------------------------------------------- */

ULONG WINAPI TdhEnumerateProviders(PPROVIDER_ENUMERATION_INFO buffer, ULONG *sizePtr)
{
    EtwText out = {0};
    const size_t head = offsetof(PROVIDER_ENUMERATION_INFO, TraceProviderInfoArray);
    if (sizePtr == NULL) {
        return ERROR_INVALID_PARAMETER;
    }
    Init();
    AcquireSRWLockShared(&defsLock);
    Zeros(&out, head + (size_t)defCount * sizeof(TRACE_PROVIDER_INFO));
    EtwStore32(out.data, (uint32_t)defCount);
    for (int i = 0; i < defCount; i++) {
        TRACE_PROVIDER_INFO info = {.SchemaSource = defs[i]->classic};
        memcpy(&info.ProviderGuid, &defs[i]->guid, sizeof info.ProviderGuid);
        info.ProviderNameOffset = SimTdhText(&out, defs[i]->name);
        memcpy(out.data + head + (size_t)i * sizeof info, &info, sizeof info);
    }
    ReleaseSRWLockShared(&defsLock);
    return SimTdhGive(&out, buffer, sizePtr);
}

ULONG WINAPI TdhEnumerateManifestProviderEvents(
        LPGUID guid, AbiProviderEventInfo *buffer, ULONG *sizePtr)
{
    EtwText out = {0};
    if (guid == NULL || sizePtr == NULL) {
        return ERROR_INVALID_PARAMETER;
    }
    const EtwProviderDef *def = SimTdhProvider(guid);
    if (def == NULL) {
        return ERROR_FILE_NOT_FOUND;
    }
    if (def->eventCount == 0) {
        return ERROR_EMPTY;
    }
    Zeros(&out, offsetof(AbiProviderEventInfo, EventDescriptorsArray));
    EtwStore32(out.data, (uint32_t)def->eventCount);
    for (int i = 0; i < def->eventCount; i++) {
        EtwTextAdd(&out, &def->events[i]->desc, sizeof(EVENT_DESCRIPTOR));
    }
    return SimTdhGive(&out, buffer, sizePtr);
}

/* ---- Names ------------------------------------------------------------------------------------------ */

const char *SimTdhName(const EtwProviderDef *def, EtwNameKind kind, uint64_t value, uint16_t task)
{
    const char *name = EtwDefNameOf(def, kind, value, task);
    return name != NULL ? name : EtwStandardName(kind, value);
}

static bool Matches(EtwNameKind kind, uint64_t have, const uint64_t *wanted)
{
    return wanted == NULL || (kind == ETW_NAME_KEYWORD ? (have & *wanted) != 0 : have == *wanted);
}

/* wanted: NULL for all. An opcode's value has its task in the low 16 bits, itself above. */
static ULONG Names(
        LPGUID guid, const uint64_t *wanted, EVENT_FIELD_TYPE type, void *buffer, ULONG *sizePtr)
{
    static const EtwNameKind kinds[] = {
            ETW_NAME_KEYWORD, ETW_NAME_LEVEL, ETW_NAME_CHANNEL, ETW_NAME_TASK, ETW_NAME_OPCODE};
    const size_t head = offsetof(PROVIDER_FIELD_INFOARRAY, FieldInfoArray);
    EtwText out = {0};
    uint32_t count = 0;
    if (guid == NULL || sizePtr == NULL) {
        return ERROR_INVALID_PARAMETER;
    }
    if ((unsigned)type >= EventInformationMax) {
        return ERROR_NOT_SUPPORTED;
    }
    EtwNameKind kind = kinds[type];
    const EtwProviderDef *def = SimTdhProvider(guid);
    int all = def != NULL ? def->nameCount[kind] : 0;
    Zeros(&out, head + (size_t)all * sizeof(PROVIDER_FIELD_INFO));
    for (int i = 0; i < all; i++) {
        const EtwNamed *n = &def->names[kind][i];
        PROVIDER_FIELD_INFO info = {.Value = n->value};
        if (!Matches(kind, n->value, wanted)) {
            continue;
        }
        if (kind == ETW_NAME_OPCODE) {
            info.Value = n->value << OPCODE_SHIFT | n->task;
        }
        info.NameOffset = SimTdhText(&out, n->name);
        info.DescriptionOffset = SimTdhText(&out, n->message);
        memcpy(out.data + head + count++ * sizeof info, &info, sizeof info);
    }
    EtwStore32(out.data, count);
    EtwStore32(out.data + 4, (uint32_t)type);
    if (count == 0) {
        EtwTextFree(&out);
        return ERROR_NOT_FOUND;
    }
    return SimTdhGive(&out, buffer, sizePtr);
}

ULONG WINAPI TdhEnumerateProviderFieldInformation(
        LPGUID guid, EVENT_FIELD_TYPE type, PPROVIDER_FIELD_INFOARRAY buffer, ULONG *sizePtr)
{
    return Names(guid, NULL, type, buffer, sizePtr);
}

ULONG WINAPI TdhQueryProviderFieldInformation(LPGUID guid, ULONGLONG value, EVENT_FIELD_TYPE type,
        PPROVIDER_FIELD_INFOARRAY buffer, ULONG *sizePtr)
{
    uint64_t wanted = value;
    return Names(guid, &wanted, type, buffer, sizePtr);
}
