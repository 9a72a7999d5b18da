/*
 * flow/render/listing/listing_layout.c --
 *
 *	The name and colour of each provider, and the layout of each event class, which is
 *	determined once from the meaning of its events (semantics/semantics.h). Events without a
 *	meaning have the plain layout.
 */
#include "flow/render/listing/listing_int.h"
#include "semantics/declared_events.h"
#include "base/unicode.h"

/* ---- Providers ------------------------------------------------------------------------------- */

/* A provider has the same colour in all listings. */
static const char *providerColor(const char *name)
{
    static const char *const colors[] = {"\033[33m", "\033[35m", "\033[34m", "\033[32m", "\033[93m",
            "\033[95m", "\033[94m", "\033[92m"};
    uint64_t hash = 0;
    if (strcmp(name, ETW_SCRIPT_PROVIDER) == 0) {
        return "\033[36m";
    }
    /* Not a hash of hash_table.h: those differ from process to process. */
    for (; *name != 0; name++) {
        hash = (hash ^ (uint8_t)*name) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32 ^ hash >> 48;
    }
    return colors[hash >> 32 & 7];
}

/* Remove the start of a name that has more columns: the end distinguishes it best. */
static void shorten(EtwText *name, size_t from, size_t most)
{
    size_t size = name->size - from, at = 0, length;
    size_t width = EtwUtf8Width(name->data + from, size);
    if (width <= most) {
        return;
    }
    while (at < size && width >= most) {
        width -= (size_t)EtwCharWidth(
                EtwUtf8Next((const uint8_t *)name->data + from + at, size - at, &length));
        at += length;
    }
    const char *part = size > at + 4 ? memchr(name->data + from + at, '-', size - at - 4) : NULL;
    if (part != NULL) { /* a whole part of the name */
        at = (size_t)(part + 1 - name->data) - from;
    }
    EtwText end = {0};
    ETW_ADD(&end, ETW_LISTING_CUT);
    EtwTextAdd(&end, name->data + from + at, size - at);
    name->size = from;
    EtwTextAdd(name, end.data, end.size);
    EtwTextFree(&end);
}

static ListingProvider *newProvider(EtwSink *sink, const EtwEvent *event, const char *name)
{
    ListingProvider *p = EtwAlloc(sizeof *p);
    p->guid = event->provider;
    EtwListingColor(sink, providerColor(name), &p->column);
    size_t from = p->column.size;
    EtwAddSafeStr(&p->column, name);
    shorten(&p->column, from, (size_t)((const ListingSink *)sink->own)->providerMost);
    p->width = (int)EtwUtf8Width(p->column.data + from, p->column.size - from);
    EtwListingColor(sink, RESET, &p->column);
    p->name = EtwStrdup(name);
    return p;
}

void EtwListingAddProvider(const EtwSink *sink, const ListingProvider *p, EtwText *out)
{
    EtwListingColor(sink, providerColor(p->name), out);
    EtwAddSafeStr(out, p->name);
    EtwListingColor(sink, RESET, out);
}

/* A GUID can have several names: those of the schemas of its events. */
static bool isProvider(const ListingProvider *p, const EtwEvent *event, const char *name)
{
    return EtwGuidEqual(&p->guid, &event->provider) && strcmp(p->name, name) == 0;
}

ListingProvider *EtwListingProviderOf(EtwSink *sink, const EtwEvent *event, const EtwSchema *schema)
{
    char guid[ETW_GUID_TEXT];
    ListingSink *text = sink->own;
    ListingProvider *p = text->lastProvider;
    const char *name = EtwSinkProvider(sink, event, schema, guid);
    if (p != NULL && isProvider(p, event, name)) {
        return p;
    }
    uint64_t hash = EtwHashGuid(&event->provider);
    p = (ListingProvider *)EtwTableFirst(&text->providers, hash);
    while (p != NULL && !isProvider(p, event, name)) {
        p = (ListingProvider *)p->node.next;
    }
    if (p == NULL) {
        p = newProvider(sink, event, name);
        EtwTableAdd(&text->providers, &p->node, hash);
    }
    text->lastProvider = p;
    return p;
}

/* ---- Layouts --------------------------------------------------------------------------------- */

static ListingLayoutKind layoutKind(const EtwEvent *event, const EtwSemantics *semantics)
{
    static const uint64_t leave = ETW_ROLE_BIT(ETW_ROLE_DEPTH) | ETW_ROLE_BIT(ETW_ROLE_DURATION);
    switch (semantics->meaning) {
    case ETW_MEANS_CALL_ENTER:
    case ETW_MEANS_STEP_ENTER:
    case ETW_MEANS_CALLBACK_ENTER:
    case ETW_MEANS_PACKAGE_ENTER:
        return LAYOUT_ENTER;
    case ETW_MEANS_CALL_LEAVE:
    case ETW_MEANS_STEP_LEAVE:
    case ETW_MEANS_CALLBACK_LEAVE:
    case ETW_MEANS_PACKAGE_LEAVE:
        return (leave & ~semantics->roles) == 0 ? LAYOUT_LEAVE : LAYOUT_FIELDS;
    case ETW_MEANS_LINE:
        return LAYOUT_LINE;
    case ETW_MEANS_CHANNEL:
    case ETW_MEANS_WAIT:
        return LAYOUT_CHANNEL;
    case ETW_MEANS_FILE_OPEN:
    case ETW_MEANS_FILE:
        return LAYOUT_FILE;
    case ETW_MEANS_SYSCALL_ENTER:
    case ETW_MEANS_SYSCALL_EXIT:
        return LAYOUT_SYSTEM_CALL;
    case ETW_MEANS_TRACE:
        return event->classic ? LAYOUT_HIDDEN : LAYOUT_FIELDS;
    case ETW_MEANS_SYMBOL:
        return LAYOUT_HIDDEN;
    default:
        return LAYOUT_FIELDS;
    }
}

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Fields that a socket layout shows in its own way or not at all. */
static const EtwRole socketRoles[] = {ETW_ROLE_LOCAL_ADDR, ETW_ROLE_LOCAL_PORT,
        ETW_ROLE_REMOTE_ADDR, ETW_ROLE_REMOTE_PORT, ETW_ROLE_SIZE, ETW_ROLE_OLD_STATE,
        ETW_ROLE_NEW_STATE, ETW_ROLE_CONTEXT_PID, ETW_ROLE_SOCKET, ETW_ROLE_FAMILY};
enum { SOCKET_ENDS = 4 }; /* the first roles, which the layout requires */

/* A bit for each field that has one of the roles and is among the first 64. */
static uint64_t fieldsOf(const EtwSemantics *semantics, const EtwRole *roles, size_t count)
{
    uint64_t fields = 0;
    for (size_t i = 0; i < count; i++) {
        int field = semantics->field[roles[i]];
        fields |= field >= 0 && field < ETW_ROLE_FIELDS ? 1ull << field : 0;
    }
    return fields;
}

static void layoutSocket(ListingLayout *layout, const EtwSemantics *semantics)
{
    EtwMeaning meaning = semantics->meaning;
    for (size_t i = 0; i < SOCKET_ENDS; i++) {
        if (semantics->field[socketRoles[i]] < 0) {
            return;
        }
    }
    bool inward = meaning == ETW_MEANS_SOCKET_RECEIVE || meaning == ETW_MEANS_SOCKET_ACCEPT;
    layout->kind = LAYOUT_SOCKET;
    layout->arrow = inward ? " <- " : " -> ";
    layout->shown = fieldsOf(semantics, socketRoles, COUNT(socketRoles));
}

/* The same of an operation on a file. */
static const EtwRole fileRoles[] = {ETW_ROLE_NAME, ETW_ROLE_NEW_NAME, ETW_ROLE_NAME_SOURCE,
        ETW_ROLE_OUTCOME, ETW_ROLE_SIZE, ETW_ROLE_OFFSET};

static void makePrefixes(ListingLayout *layout, const EtwSchema *schema)
{
    layout->prefixes = EtwAlloc((size_t)schema->fieldCount * sizeof *layout->prefixes + 1);
    for (int i = 0; i < schema->fieldCount; i++) {
        const char *name = schema->fields[i].name;
        size_t from = layout->prefixText.size;
        EtwAddSafeStr(&layout->prefixText, name);
        EtwTextChar(&layout->prefixText, '=');
        layout->prefixes[i].size = (uint32_t)(layout->prefixText.size - from);
    }
    const char *at = layout->prefixText.data;
    for (int i = 0; i < schema->fieldCount; at += layout->prefixes[i++].size) {
        layout->prefixes[i].text = at;
    }
}

static ListingLayout *newLayout(const EtwEvent *event, const EtwSchema *schema)
{
    ListingLayout *layout = EtwAlloc(sizeof *layout);
    layout->schema = schema;
    EtwAddSafeStr(&layout->name, schema->event);
    makePrefixes(layout, schema);
    const EtwSemantics *semantics = EtwSemanticsOf(schema);
    layout->kind = layoutKind(event, semantics);
    if (layout->kind == LAYOUT_FILE) {
        layout->shown = fieldsOf(semantics, fileRoles, COUNT(fileRoles));
    }
    layout->step = semantics->meaning == ETW_MEANS_STEP_ENTER ||
                   semantics->meaning == ETW_MEANS_STEP_LEAVE;
    if (semantics->meaning >= ETW_MEANS_SOCKET_CONNECT &&
            semantics->meaning <= ETW_MEANS_SOCKET_RECEIVE) {
        layoutSocket(layout, semantics);
    }
    return layout;
}

ListingLayout *EtwListingLayoutOf(EtwSink *sink, const EtwEvent *event, const EtwSchema *schema)
{
    ListingSink *text = sink->own;
    uint64_t hash = EtwHashPointer(schema);
    ListingLayout **slot = &text->recent[hash % RECENT_LAYOUTS];
    if (*slot != NULL && (*slot)->schema == schema && (*slot)->named == schema->provider) {
        return *slot;
    }
    ListingLayout *layout = (ListingLayout *)EtwTableFirst(&text->layouts, hash);
    while (layout != NULL && layout->schema != schema) {
        layout = (ListingLayout *)layout->node.next;
    }
    if (layout == NULL) {
        layout = newLayout(event, schema);
        EtwTableAdd(&text->layouts, &layout->node, hash);
    }
    if (layout->named != schema->provider) { /* new, or its provider's name has become known */
        layout->named = schema->provider;
        layout->provider = EtwListingProviderOf(sink, event, schema);
    }
    *slot = layout;
    return layout;
}

static void freeProvider(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwTextFree(&((ListingProvider *)node)->column);
    EtwFree(((ListingProvider *)node)->name);
    EtwFree(node);
}

static void freeLayout(void *ctx, EtwTableNode *node)
{
    ListingLayout *layout = (ListingLayout *)node;
    (void)ctx;
    EtwTextFree(&layout->name);
    EtwTextFree(&layout->prefixText);
    EtwFree(layout->prefixes);
    EtwFree(layout);
}

void EtwListingLayoutsFree(ListingSink *text)
{
    EtwTableFree(&text->layouts, freeLayout);
    EtwTableFree(&text->providers, freeProvider);
}
