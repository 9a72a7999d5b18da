/*
 * tests/win/sim/sim_payload.c --
 *
 *	Payload filters: TdhCreatePayloadFilter and its companions, and what they let pass. The
 *	blob, which is opaque to callers, is a list of filters: u16 event id, u8 version, u8 any, u8 all
 *	(TdhAggregatePayloadFilters' flag), u8 conditions, each u16 operator and two NUL-terminated texts.
 */
#include "tests/win/sim/sim_tdh.h"
#include "schema/model/decode.h"

enum { MAX_PREDICATES = 8, ANY_AT = 3, ALL_AT = 4, COUNT_AT = 5, HEAD = 6 };

typedef struct Filter { /* what TdhCreatePayloadFilter hands out */
    GUID provider;
    EtwText blob;
} Filter;

static bool KnownOperator(USHORT op)
{
    return op <= ABI_PAYLOAD_MODULO || op == ABI_PAYLOAD_CONTAINS ||
           op == ABI_PAYLOAD_DOESNTCONTAIN || op == ABI_PAYLOAD_IS || op == ABI_PAYLOAD_ISNOT;
}

static int FieldOf(const EtwSchema *schema, const char *name)
{
    for (int i = 0; i < schema->fieldCount; i += schema->fields[i].span) {
        if (strcmp(schema->fields[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

static bool AddPredicate(EtwText *blob, const EtwSchema *schema, const AbiPayloadPredicate *p)
{
    if (p->FieldName == NULL || p->Value == NULL || !KnownOperator(p->CompareOp)) {
        return false;
    }
    char *name = SimUtf8(p->FieldName), *value = SimUtf8(p->Value);
    bool known = FieldOf(schema, name) >= 0;
    EtwTextAdd(blob, &p->CompareOp, 2);
    EtwTextAdd(blob, name, strlen(name) + 1);
    EtwTextAdd(blob, value, strlen(value) + 1);
    EtwFree(name);
    EtwFree(value);
    return known;
}

ULONG WINAPI TdhCreatePayloadFilter(LPCGUID guid, PCEVENT_DESCRIPTOR d, BOOLEAN any, ULONG count,
        AbiPayloadPredicate *predicates, PVOID *filterPtr)
{
    ULONG error = ERROR_SUCCESS;
    if (guid == NULL || d == NULL || predicates == NULL || filterPtr == NULL || count == 0 ||
            count > MAX_PREDICATES) {
        return ERROR_INVALID_PARAMETER;
    }
    const EtwProviderDef *def = SimTdhProvider(guid);
    const EtwEventDef *event = def != NULL ? EtwDefFind(def, d->Id, d->Version) : NULL;
    if (event == NULL) {
        return def == NULL ? ERROR_FILE_NOT_FOUND : ERROR_NOT_FOUND;
    }
    Filter *f = EtwAlloc(sizeof *f);
    f->provider = *guid;
    EtwTextAdd(&f->blob, &d->Id, 2);
    EtwTextChar(&f->blob, (char)d->Version);
    EtwTextChar(&f->blob, any != 0);
    EtwTextChar(&f->blob, 0);
    EtwTextChar(&f->blob, (char)count);
    for (ULONG i = 0; i < count && error == ERROR_SUCCESS; i++) {
        error = AddPredicate(&f->blob, &event->schema, &predicates[i]) ? ERROR_SUCCESS
                                                                       : ERROR_INVALID_PARAMETER;
    }
    if (error == ERROR_SUCCESS && f->blob.size > ABI_MAX_PAYLOAD_FILTER) {
        error = ERROR_INSUFFICIENT_BUFFER;
    }
    *filterPtr = f;
    if (error != ERROR_SUCCESS) {
        TdhDeletePayloadFilter(filterPtr);
    }
    return error;
}

ULONG WINAPI TdhDeletePayloadFilter(PVOID *filterPtr)
{
    if (filterPtr == NULL || *filterPtr == NULL) {
        return ERROR_INVALID_PARAMETER;
    }
    Filter *f = *filterPtr;
    EtwTextFree(&f->blob);
    EtwFree(f);
    *filterPtr = NULL;
    return ERROR_SUCCESS;
}

ULONG WINAPI TdhAggregatePayloadFilters(
        ULONG count, PVOID *filters, PBOOLEAN all, PEVENT_FILTER_DESCRIPTOR descriptor)
{
    EtwText blob = {0};
    if (count == 0 || filters == NULL || descriptor == NULL) {
        return ERROR_INVALID_PARAMETER;
    }
    for (ULONG i = 0; i < count; i++) {
        const Filter *f = filters[i];
        if (f == NULL || !SimGuidEqual(&f->provider, &((const Filter *)filters[0])->provider)) {
            EtwTextFree(&blob);
            return ERROR_INVALID_PARAMETER;
        }
        size_t at = blob.size;
        EtwTextAdd(&blob, f->blob.data, f->blob.size);
        blob.data[at + ALL_AT] = all != NULL && all[i];
    }
    descriptor->Ptr = (ULONGLONG)(uintptr_t)blob.data;
    descriptor->Size = (ULONG)blob.size;
    descriptor->Type = EVENT_FILTER_TYPE_PAYLOAD;
    return ERROR_SUCCESS;
}

ULONG WINAPI TdhCleanupPayloadEventFilterDescriptor(PEVENT_FILTER_DESCRIPTOR descriptor)
{
    if (descriptor == NULL || descriptor->Type != EVENT_FILTER_TYPE_PAYLOAD) {
        return ERROR_INVALID_PARAMETER;
    }
    EtwText blob = {.data = (char *)(uintptr_t)descriptor->Ptr};
    EtwTextFree(&blob);
    *descriptor = (EVENT_FILTER_DESCRIPTOR){0};
    return ERROR_SUCCESS;
}

/* ---- What passes ------------------------------------------------------------------------------------ */

static bool NumberPasses(int64_t have, unsigned op, const char *value)
{
    char *end;
    int64_t a = strtoll(value, &end, 0), b = *end == ',' ? strtoll(end + 1, NULL, 0) : a;
    switch (op) {
    case ABI_PAYLOAD_EQ:
        return have == a;
    case ABI_PAYLOAD_NE:
        return have != a;
    case ABI_PAYLOAD_LE:
        return have <= a;
    case ABI_PAYLOAD_GT:
        return have > a;
    case ABI_PAYLOAD_LT:
        return have < a;
    case ABI_PAYLOAD_GE:
        return have >= a;
    case ABI_PAYLOAD_BETWEEN:
        return have >= a && have <= b;
    case ABI_PAYLOAD_NOTBETWEEN:
        return have < a || have > b;
    default:
        return op == ABI_PAYLOAD_MODULO && a != 0 && have % a == 0;
    }
}

static bool TextPasses(const char *have, unsigned op, const char *value)
{
    switch (op) {
    case ABI_PAYLOAD_CONTAINS:
        return strstr(have, value) != NULL;
    case ABI_PAYLOAD_DOESNTCONTAIN:
        return strstr(have, value) == NULL;
    case ABI_PAYLOAD_ISNOT:
        return _stricmp(have, value) != 0;
    default:
        return _stricmp(have, value) == 0;
    }
}

static bool Holds(const EtwSchema *schema, const EtwEvent *event, unsigned op, const char *name,
        const char *value)
{
    EtwValue v;
    EtwText text = {0};
    int field = FieldOf(schema, name);
    if (field < 0 || EtwDecodeField(schema, event, field, &v) != ETW_OK) {
        return false;
    }
    if (op < ABI_PAYLOAD_CONTAINS) {
        return (v.kind == ETW_V_INT || v.kind == ETW_V_UINT || v.kind == ETW_V_BOOL) &&
               NumberPasses(v.i, op, value);
    }
    EtwFormatValue(&text, &schema->fields[field], &v);
    EtwTextChar(&text, '\0');
    bool holds = TextPasses(text.data, op, value);
    EtwTextFree(&text);
    return holds;
}

/* One filter's conditions; *at: behind them afterwards. */
static bool FilterHolds(
        EtwBytes *at, int count, bool any, const EtwSchema *schema, const EtwEvent *event)
{
    bool all = true, some = false;
    for (int i = 0; i < count; i++) {
        unsigned op = EtwTake16(at);
        const char *name = (const char *)at->at, *value = name + strlen(name) + 1;
        EtwTake(at, (size_t)(value + strlen(value) + 1 - name));
        bool holds = schema != NULL && Holds(schema, event, op, name, value);
        all &= holds;
        some |= holds;
    }
    return any ? some : all;
}

/*
 * An event that no filter is about passes. Of those that are: all flagged ones, or any of the
 * others.
 */
bool SimPayloadPasses(const uint8_t *filter, ULONG size, const GUID *provider,
        const EVENT_DESCRIPTOR *d, const uint8_t *payload, ULONG payloadSize)
{
    EtwBytes at = EtwBytesOf(filter, size);
    EtwEvent event = {
            .pointerSize = sizeof(void *), .payload = payload, .payloadSize = payloadSize};
    const EtwProviderDef *def = SimTdhProvider(provider);
    const EtwEventDef *known = def != NULL ? EtwDefFind(def, d->Id, d->Version) : NULL;
    bool about = false, passes = false, flagged = false, allFlagged = true;
    while (EtwBytesLeft(&at) >= HEAD) {
        const uint8_t *head = EtwTake(&at, HEAD);
        bool holds = FilterHolds(&at, head[COUNT_AT], head[ANY_AT] != 0,
                known != NULL ? &known->schema : NULL, &event);
        if (EtwLoad16(head) != d->Id || head[2] != d->Version) {
            continue;
        }
        about = true;
        if (head[ALL_AT] != 0) {
            flagged = true;
            allFlagged &= holds;
        } else {
            passes |= holds;
        }
    }
    return !about || passes || (flagged && allFlagged);
}
