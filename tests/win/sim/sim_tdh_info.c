/*
 * tests/win/sim/sim_tdh_info.c --
 *
 *	The decoding side of tdh_types.h: TRACE_EVENT_INFO and EVENT_MAP_INFO of manifest, TraceLogging
 *	and kernel events, made of the core's schemas. Members of structs stand behind all top-level
 *	properties, as TDH has them.
 */
#include "tests/win/sim/sim_tdh.h"
#include "schema/kernel/kernel_classes.h"
#include "schema/tracelogging/tracelogging.h"
#include "etl/format.h"
#include "schema/model/schema_int.h"

enum { FLAG_FIXED_COUNT = 0x20, MAX_PROPERTIES = 512 };

/* ---- Properties ------------------------------------------------------------------------------------- */

typedef struct Layout {
    const EtwSchema *schema;
    const EtwProviderDef *def;
    int order[MAX_PROPERTIES]; /* field number of each property */
    int count;
} Layout;

/* The siblings from field `at` on, then the members of each struct among them. */
static void Place(Layout *l, int at, int siblings)
{
    int first = l->count;
    for (int i = 0; i < siblings && l->count < MAX_PROPERTIES; i++) {
        l->order[l->count++] = at;
        at += l->schema->fields[at].span;
    }
    int end = l->count;
    for (int i = first; i < end; i++) {
        const EtwField *f = &l->schema->fields[l->order[i]];
        if (f->in == ETW_IN_STRUCT) {
            Place(l, l->order[i] + 1, f->members);
        }
    }
}

static int PropertyOf(const Layout *l, int field)
{
    for (int i = 0; i < l->count; i++) {
        if (l->order[i] == field) {
            return i;
        }
    }
    return 0;
}

static USHORT InType(const EtwField *f)
{
    switch (f->in) {
    case ETW_IN_COUNTED_UTF16_SWAP:
        return 302;
    case ETW_IN_COUNTED_ANSI_SWAP:
        return 303;
    case ETW_IN_COUNTED32_BINARY:
        return 309;
    case ETW_IN_WBEM_SID:
        return 310;
    default:
        return f->in; /* TraceLogging's numbers are TDH's */
    }
}

static USHORT OutType(const EtwField *f)
{
    static const struct {
        uint8_t out;
        USHORT tdh;
    } table[] = {{ETW_OUT_STRING, 1}, {ETW_OUT_BOOL, 13}, {ETW_OUT_PID, 20}, {ETW_OUT_TID, 21},
            {ETW_OUT_PORT, 22}, {ETW_OUT_IPV4, 23}, {ETW_OUT_IPV6, 24}, {ETW_OUT_SOCKADDR, 25},
            {ETW_OUT_XML, 28}, {ETW_OUT_WIN32, 30}, {ETW_OUT_NTSTATUS, 31}, {ETW_OUT_HRESULT, 32},
            {ETW_OUT_DATETIME, 33}, {ETW_OUT_JSON, 34}, {ETW_OUT_UTF8, 35}, {ETW_OUT_PKCS7, 36},
            {ETW_OUT_CODE_POINTER, 37}, {ETW_OUT_DATETIME_UTC, 38}, {ETW_OUT_NOPRINT, 301}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].out == f->out) {
            return table[i].tdh;
        }
    }
    if (f->out == ETW_OUT_HEX) {
        bool wide = f->in == ETW_IN_INT64 || f->in == ETW_IN_UINT64;
        return wide ? 19 : 18;
    }
    return 0;
}

static USHORT Size(const EtwField *f)
{
    static const uint8_t sizes[] = {[ETW_IN_INT8] = 1,
            [ETW_IN_UINT8] = 1,
            [ETW_IN_INT16] = 2,
            [ETW_IN_UINT16] = 2,
            [ETW_IN_INT32] = 4,
            [ETW_IN_UINT32] = 4,
            [ETW_IN_INT64] = 8,
            [ETW_IN_UINT64] = 8,
            [ETW_IN_FLOAT] = 4,
            [ETW_IN_DOUBLE] = 8,
            [ETW_IN_BOOL32] = 4,
            [ETW_IN_GUID] = 16,
            [ETW_IN_FILETIME] = 8,
            [ETW_IN_SYSTEMTIME] = 16,
            [ETW_IN_HEX32] = 4,
            [ETW_IN_HEX64] = 8};
    return f->in < sizeof sizes ? sizes[f->in] : 0;
}

static const char *MapName(const Layout *l, const EtwField *f)
{
    for (int i = 0; l->def != NULL && f->map != NULL && i < l->def->mapCount; i++) {
        if (&l->def->maps[i]->map == f->map) {
            return l->def->maps[i]->name;
        }
    }
    return NULL;
}

static EVENT_PROPERTY_INFO Property(const Layout *l, const EtwField *f, EtwText *out)
{
    EVENT_PROPERTY_INFO p = {.count = 1, .length = Size(f)};
    unsigned flags = 0;
    p.NameOffset = SimTdhText(out, f->name);
    if (f->in == ETW_IN_STRUCT) {
        flags |= PropertyStruct;
        p.structType.StructStartIndex = (USHORT)PropertyOf(l, (int)(f - l->schema->fields) + 1);
        p.structType.NumOfStructMembers = f->members;
    } else {
        p.nonStructType.InType = InType(f);
        p.nonStructType.OutType = OutType(f);
        p.nonStructType.MapNameOffset = SimTdhText(out, MapName(l, f));
    }
    if (f->array == ETW_ARRAY_FIXED) {
        flags |= FLAG_FIXED_COUNT;
        p.count = f->count;
    } else if (f->array == ETW_ARRAY_BY_FIELD) {
        flags |= PropertyParamCount;
        p.countPropertyIndex = (USHORT)PropertyOf(l, f->count);
    }
    if (f->sized == ETW_SIZE_FIXED) {
        flags |= PropertyParamFixedLength;
        p.length = f->length;
    } else if (f->sized == ETW_SIZE_BY_FIELD) {
        flags |= PropertyParamLength;
        p.lengthPropertyIndex = (USHORT)PropertyOf(l, f->length);
    }
    p.Flags = (PROPERTY_FLAGS)flags;
    return p;
}

/* ---- Events ----------------------------------------------------------------------------------------- */

/* Names of the keyword's bits, each with a NUL, and one more. */
static ULONG Keywords(EtwText *out, const EtwProviderDef *def, uint64_t keyword)
{
    ULONG at = (ULONG)out->size;
    for (int i = 0; def != NULL && i < def->nameCount[ETW_NAME_KEYWORD]; i++) {
        const EtwNamed *n = &def->names[ETW_NAME_KEYWORD][i];
        if ((n->value & keyword) != 0) {
            SimTdhText(out, n->name);
        }
    }
    if (out->size == at) {
        return 0;
    }
    SimTdhText(out, "");
    return at;
}

static ULONG NameAt(
        EtwText *out, const EtwProviderDef *def, EtwNameKind kind, uint64_t value, uint16_t task)
{
    return def != NULL ? SimTdhText(out, SimTdhName(def, kind, value, task)) : 0;
}

static void Fill(TRACE_EVENT_INFO *info, EtwText *out, const EtwSchema *schema,
        const EtwProviderDef *def, const EtwDescriptor *d)
{
    bool described = def == NULL; /* by itself: TraceLogging */
    info->DecodingSource = (DECODING_SOURCE)(described ? 3 : def->classic ? 1 : 0);
    memcpy(&info->EventDescriptor, d, sizeof info->EventDescriptor);
    info->ProviderNameOffset = SimTdhText(out, def != NULL ? def->name : schema->provider);
    info->LevelNameOffset = NameAt(out, def, ETW_NAME_LEVEL, d->level, 0);
    info->ChannelNameOffset = NameAt(out, def, ETW_NAME_CHANNEL, d->channel, 0);
    info->KeywordsNameOffset = Keywords(out, def, d->keyword);
    info->TaskNameOffset = described ? SimTdhText(out, schema->event)
                                     : NameAt(out, def, ETW_NAME_TASK, d->task, 0);
    info->OpcodeNameOffset = NameAt(out, def, ETW_NAME_OPCODE, d->opcode, d->task);
    info->EventMessageOffset = SimTdhText(out, schema->message);
    if (described) {
        info->ActivityIDNameOffset = SimTdhText(out, schema->event); /* EventNameOffset */
    }
    info->Flags = TEMPLATE_EVENT_DATA;
}

static ULONG Inform(const GUID *provider, const EtwSchema *schema, const EtwProviderDef *def,
        const EtwDescriptor *d, void *buffer, ULONG *sizePtr)
{
    const size_t head = offsetof(TRACE_EVENT_INFO, EventPropertyInfoArray);
    Layout *l = EtwAlloc(sizeof *l);
    TRACE_EVENT_INFO info = {.ProviderGuid = *provider};
    EtwText out = {0};
    int top = 0;
    for (int at = 0; at < schema->fieldCount; at += schema->fields[at].span) {
        top++;
    }
    l->schema = schema;
    l->def = def;
    Place(l, 0, top);
    EtwTextReserve(&out, head + (size_t)l->count * sizeof(EVENT_PROPERTY_INFO));
    out.size = head + (size_t)l->count * sizeof(EVENT_PROPERTY_INFO);
    Fill(&info, &out, schema, def, d);
    if (def != NULL && def->classic) {
        info.EventGuid = *provider;
    }
    info.PropertyCount = (ULONG)l->count;
    info.TopLevelPropertyCount = (ULONG)top;
    for (int i = 0; i < l->count; i++) {
        EVENT_PROPERTY_INFO p = Property(l, &schema->fields[l->order[i]], &out);
        memcpy(out.data + head + (size_t)i * sizeof p, &p, sizeof p);
    }
    memcpy(out.data, &info, head);
    EtwFree(l);
    return SimTdhGive(&out, buffer, sizePtr);
}

static const EVENT_HEADER_EXTENDED_DATA_ITEM *ItemOf(const EVENT_RECORD *r, USHORT type)
{
    for (int i = 0; i < r->ExtendedDataCount; i++) {
        if (r->ExtendedData[i].ExtType == type) {
            return &r->ExtendedData[i];
        }
    }
    return NULL;
}

static ULONG TraceLogging(const EVENT_RECORD *r, const EVENT_HEADER_EXTENDED_DATA_ITEM *item,
        void *buffer, ULONG *sizePtr)
{
    size_t ignored, nameSize = 0;
    const uint8_t *name = NULL;
    EtwText provider = {0};
    const EVENT_HEADER_EXTENDED_DATA_ITEM *traits = ItemOf(r, EVENT_HEADER_EXT_TYPE_PROV_TRAITS);
    EtwSchema *schema = EtwTraceLoggingParse(
            (const uint8_t *)(uintptr_t)item->DataPtr, item->DataSize, &ignored);
    if (schema == NULL) {
        return ERROR_INVALID_DATA;
    }
    if (traits != NULL) {
        EtwTraitsName(
                (const uint8_t *)(uintptr_t)traits->DataPtr, traits->DataSize, &name, &nameSize);
    }
    EtwTextAdd(&provider, name, nameSize);
    EtwTextChar(&provider, '\0');
    schema->provider = provider.data;
    ULONG error = Inform(&r->EventHeader.ProviderId, schema, NULL,
            (const EtwDescriptor *)(const void *)&r->EventHeader.EventDescriptor, buffer, sizePtr);
    EtwTextFree(&provider);
    EtwFree(schema);
    return error;
}

ULONG WINAPI TdhGetEventInformation(PEVENT_RECORD r, ULONG contextCount, PTDH_CONTEXT context,
        PTRACE_EVENT_INFO buffer, ULONG *sizePtr)
{
    if (r == NULL || sizePtr == NULL || (contextCount != 0 && context == NULL)) {
        return ERROR_INVALID_PARAMETER;
    }
    const EVENT_HEADER_EXTENDED_DATA_ITEM *meta = ItemOf(r, EVENT_HEADER_EXT_TYPE_EVENT_SCHEMA_TL);
    if (meta != NULL) {
        return TraceLogging(r, meta, buffer, sizePtr);
    }
    const EVENT_DESCRIPTOR *d = &r->EventHeader.EventDescriptor;
    bool classic = (r->EventHeader.Flags & EVENT_HEADER_FLAG_CLASSIC_HEADER) != 0;
    const EtwProviderDef *def = SimTdhProvider(&r->EventHeader.ProviderId);
    def = def != NULL ? def : EtwKernelFind((const EtwGuid *)&r->EventHeader.ProviderId);
    const EtwEventDef *event =
            def != NULL ? EtwDefFind(def, classic ? d->Opcode : d->Id, d->Version) : NULL;
    if (event == NULL) {
        return ERROR_NOT_FOUND;
    }
    return Inform(&r->EventHeader.ProviderId, &event->schema, def,
            (const EtwDescriptor *)(const void *)d, buffer, sizePtr);
}

ULONG WINAPI TdhGetManifestEventInformation(
        LPGUID guid, PEVENT_DESCRIPTOR d, PTRACE_EVENT_INFO buffer, ULONG *sizePtr)
{
    if (guid == NULL || d == NULL || sizePtr == NULL) {
        return ERROR_INVALID_PARAMETER;
    }
    const EtwProviderDef *def = SimTdhProvider(guid);
    if (def == NULL) {
        return ERROR_FILE_NOT_FOUND;
    }
    const EtwEventDef *event = EtwDefFind(def, d->Id, d->Version);
    return event == NULL ? ERROR_NOT_FOUND
                         : Inform(guid, &event->schema, def, &event->desc, buffer, sizePtr);
}

/* ---- Maps ------------------------------------------------------------------------------------------- */

ULONG WINAPI TdhGetEventMapInformation(
        PEVENT_RECORD r, LPWSTR name, PEVENT_MAP_INFO buffer, ULONG *sizePtr)
{
    const size_t head = offsetof(EVENT_MAP_INFO, MapEntryArray);
    EtwText out = {0};
    if (r == NULL || name == NULL || sizePtr == NULL) {
        return ERROR_INVALID_PARAMETER;
    }
    const EtwProviderDef *def = SimTdhProvider(&r->EventHeader.ProviderId);
    char *utf8 = SimUtf8(name);
    const EtwMap *map = def != NULL ? EtwDefFindMap(def, utf8) : NULL;
    if (map == NULL) {
        EtwFree(utf8);
        return ERROR_NOT_FOUND;
    }
    EVENT_MAP_INFO info = {.EntryCount = (ULONG)map->count,
            .Flag = map->bits ? EVENTMAP_INFO_FLAG_MANIFEST_BITMAP
                              : EVENTMAP_INFO_FLAG_MANIFEST_VALUEMAP,
            .MapEntryValueType = EVENTMAP_ENTRY_VALUETYPE_ULONG};
    EtwTextReserve(&out, head + (size_t)map->count * sizeof(EVENT_MAP_ENTRY));
    out.size = head + (size_t)map->count * sizeof(EVENT_MAP_ENTRY);
    info.NameOffset = SimTdhText(&out, utf8);
    EtwFree(utf8);
    for (int i = 0; i < map->count; i++) {
        EVENT_MAP_ENTRY e = {.Value = (ULONG)map->entries[i].value};
        e.OutputOffset = SimTdhText(&out, map->entries[i].name);
        memcpy(out.data + head + (size_t)i * sizeof e, &e, sizeof e);
    }
    memcpy(out.data, &info, head);
    return SimTdhGive(&out, buffer, sizePtr);
}
