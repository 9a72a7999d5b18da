/*
 * flow/render/listing/listing_layout.c --
 *
 *	What a listing knows of each provider, and how each event class is to be shown:
 *	decided once, by the names and types of its fields, so that somebody else's events
 *	under a known name keep the plain form.
 */
#include "flow/render/listing/listing_int.h"
#include "base/unicode.h"

enum { PROVIDER_WIDTH_MAX = 24 };

/* ---- Providers ------------------------------------------------------------------------------- */

/* A provider keeps its colour from one listing to the next. */
static const char *providerColor(const char *name)
{
    static const char *const colors[] = {"\033[33m", "\033[35m", "\033[34m", "\033[32m", "\033[93m",
            "\033[95m", "\033[94m", "\033[92m"};
    uint64_t hash = 0;
    if (strcmp(name, "Tcl-Script") == 0) {
        return "\033[36m";
    }
    for (; *name != 0; name++) {
        hash = EtwHashMix(hash, (uint8_t)*name);
    }
    return colors[hash >> 32 & 7];
}

static void nameProvider(
        EtwSink *sink, ListingProvider *p, const EtwEvent *event, const EtwSchema *schema)
{
    char guid[ETW_GUID_TEXT];
    const char *name = EtwSinkProvider(sink, event, schema, guid);
    EtwListingColor(sink, providerColor(name), &p->column);
    size_t from = p->column.size;
    EtwAddSafeStr(&p->column, name);
    p->width = (int)EtwUtf8Length(p->column.data + from, p->column.size - from);
    EtwListingColor(sink, RESET, &p->column);
}

ListingProvider *EtwListingProviderOf(EtwSink *sink, const EtwEvent *event, const EtwSchema *schema)
{
    ListingSink *text = sink->own;
    ListingProvider *p = text->lastProvider;
    if (p != NULL && EtwGuidEqual(&p->guid, &event->provider)) {
        return p;
    }
    uint64_t hash = EtwHashGuid(&event->provider);
    p = (ListingProvider *)EtwTableFirst(&text->providers, hash);
    while (p != NULL && !EtwGuidEqual(&p->guid, &event->provider)) {
        p = (ListingProvider *)p->node.next;
    }
    if (p == NULL) {
        p = EtwAlloc(sizeof *p);
        p->guid = event->provider;
        nameProvider(sink, p, event, schema);
        if (p->width > text->providerWidth && p->width <= PROVIDER_WIDTH_MAX) {
            text->providerWidth = p->width; /* a longer one is not worth everybody's room */
        }
        EtwTableAdd(&text->providers, &p->node, hash);
    }
    text->lastProvider = p;
    return p;
}

/* ---- Plans ----------------------------------------------------------------------------------- */

static const char *const roleNames[ROLE_COUNT] = {
        [ROLE_CALL_ID] = "CallId",
        [ROLE_DEPTH] = "Depth",
        [ROLE_COMMAND] = "Command",
        [ROLE_FILE] = "File",
        [ROLE_LINE] = "Line",
        [ROLE_CODE] = "Code",
        [ROLE_DURATION] = "Duration",
        [ROLE_RESULT] = "Result",
        [ROLE_LOCAL_ADDR] = "LocalAddr",
        [ROLE_LOCAL_PORT] = "LocalPort",
        [ROLE_REMOTE_ADDR] = "RemoteAddr",
        [ROLE_REMOTE_PORT] = "RemotePort",
        [ROLE_SIZE] = "Size",
        [ROLE_OLD_STATE] = "OldState",
        [ROLE_NEW_STATE] = "NewState",
        [ROLE_CONTEXT_PID] = "ContextPid",
        [ROLE_KIND] = "Kind",
        [ROLE_QUEUED] = "Queued",
        [ROLE_OPERATION] = "Operation",
        [ROLE_CHANNEL] = "Channel",
        [ROLE_BYTES] = "Bytes",
        [ROLE_DETAIL] = "Detail",
};

static bool isNumber(const EtwField *f)
{
    return f->in >= ETW_IN_INT8 && f->in <= ETW_IN_UINT64;
}

static bool isText(const EtwField *f)
{
    return f->in == ETW_IN_COUNTED_ANSI || f->in == ETW_IN_ANSIZ || f->in == ETW_IN_COUNTED_UTF16 ||
           f->in == ETW_IN_UTF16Z;
}

/* A field may carry a role's name and be something else altogether: then it has not got the role.
 */
static bool fitsRole(const EtwField *f, int role)
{
    if (f->array != ETW_SCALAR) {
        return false;
    }
    switch (role) {
    case ROLE_COMMAND:
    case ROLE_FILE:
    case ROLE_RESULT:
    case ROLE_KIND:
    case ROLE_OPERATION:
    case ROLE_CHANNEL:
    case ROLE_DETAIL:
        return isText(f);
    case ROLE_LOCAL_ADDR:
    case ROLE_REMOTE_ADDR:
        return f->out == ETW_OUT_IPV4 || f->out == ETW_OUT_IPV6;
    default:
        return isNumber(f);
    }
}

static void findRoles(ListingLayout *layout, const EtwSchema *schema)
{
    memset(layout->roles, -1, sizeof layout->roles);
    for (int i = 0; i < schema->fieldCount && i < 64; i += schema->fields[i].span) {
        for (int role = 0; role < ROLE_COUNT; role++) {
            if (layout->roles[role] < 0 && strcmp(schema->fields[i].name, roleNames[role]) == 0 &&
                    fitsRole(&schema->fields[i], role)) {
                layout->roles[role] = (int8_t)i;
            }
        }
    }
}

static bool hasRoles(const ListingLayout *layout, const ListingRole *roles, int count)
{
    for (int i = 0; i < count; i++) {
        if (layout->roles[roles[i]] < 0) {
            return false;
        }
    }
    return true;
}

/* The roles that are there, as a mask of fields. */
static uint64_t fieldsOf(const ListingLayout *layout, int first, int last)
{
    uint64_t fields = 0;
    for (int role = first; role <= last; role++) {
        if (layout->roles[role] >= 0) {
            fields |= 1ull << layout->roles[role];
        }
    }
    return fields;
}

static void layoutScript(ListingLayout *layout, const char *event)
{
    static const ListingRole enter[] = {ROLE_CALL_ID, ROLE_DEPTH, ROLE_COMMAND};
    static const ListingRole leave[] = {ROLE_CALL_ID, ROLE_DEPTH, ROLE_CODE, ROLE_DURATION};
    static const ListingRole channel[] = {
            ROLE_OPERATION, ROLE_CHANNEL, ROLE_BYTES, ROLE_DURATION, ROLE_CODE, ROLE_DETAIL};
    static const char *const starts[] = {"Enter", "StepEnter", "CallbackEnter", "PackageEnter"};
    static const char *const ends[] = {"Leave", "StepLeave", "CallbackLeave", "PackageLeave"};
    layout->step = strncmp(event, "Step", 4) == 0;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        if (strcmp(event, starts[i]) == 0 && hasRoles(layout, enter, 3)) {
            layout->kind = LAYOUT_ENTER;
        } else if (strcmp(event, ends[i]) == 0 && hasRoles(layout, leave, 4)) {
            layout->kind = LAYOUT_LEAVE;
        }
    }
    static const ListingRole line[] = {ROLE_DEPTH, ROLE_COMMAND, ROLE_FILE, ROLE_LINE};
    if (strcmp(event, "Line") == 0 && hasRoles(layout, line, 4)) {
        layout->kind = LAYOUT_LINE;
    }
    if (strcmp(event, "Channel") == 0 && hasRoles(layout, channel, 6)) {
        layout->kind = LAYOUT_CHANNEL;
    }
}

static void layoutSocket(ListingLayout *layout, const EtwSchema *schema)
{
    static const ListingRole ends[] = {
            ROLE_LOCAL_ADDR, ROLE_LOCAL_PORT, ROLE_REMOTE_ADDR, ROLE_REMOTE_PORT};
    if (!hasRoles(layout, ends, 4)) {
        return;
    }
    bool inward = strcmp(schema->event, "Receive") == 0 || strcmp(schema->event, "Accept") == 0;
    layout->kind = LAYOUT_SOCKET;
    layout->arrow = inward ? " <- " : " -> ";
    layout->shown = fieldsOf(layout, ROLE_LOCAL_ADDR, ROLE_CONTEXT_PID);
    for (int i = 0; i < schema->fieldCount && i < 64; i++) { /* of no use to a reader */
        if (strcmp(schema->fields[i].name, "Socket") == 0 ||
                strcmp(schema->fields[i].name, "Family") == 0) {
            layout->shown |= 1ull << i;
        }
    }
}

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

static ListingLayout *newLayout(EtwSink *sink, const EtwEvent *event, const EtwSchema *schema)
{
    ListingLayout *layout = EtwAlloc(sizeof *layout);
    layout->schema = schema;
    layout->provider = EtwListingProviderOf(sink, event, schema);
    EtwAddSafeStr(&layout->name, schema->event);
    makePrefixes(layout, schema);
    findRoles(layout, schema);
    if (event->classic && strcmp(schema->provider, "EventTrace") == 0) {
        layout->kind = LAYOUT_HIDDEN;
    } else if (strcmp(schema->provider, "Tcl-Script") == 0) {
        layoutScript(layout, schema->event);
    } else if (strcmp(schema->provider, "Linux-tcpip") == 0 ||
               strcmp(schema->provider, "Linux-udpip") == 0) {
        layoutSocket(layout, schema);
    }
    return layout;
}

ListingLayout *EtwListingLayoutOf(EtwSink *sink, const EtwEvent *event, const EtwSchema *schema)
{
    ListingSink *text = sink->own;
    uint64_t hash = EtwHashMix(0, (uintptr_t)schema);
    ListingLayout **slot = &text->recent[hash % RECENT_LAYOUTS];
    if (*slot != NULL && (*slot)->schema == schema) {
        return *slot;
    }
    ListingLayout *layout = (ListingLayout *)EtwTableFirst(&text->layouts, hash);
    while (layout != NULL && layout->schema != schema) {
        layout = (ListingLayout *)layout->node.next;
    }
    if (layout == NULL) {
        layout = newLayout(sink, event, schema);
        EtwTableAdd(&text->layouts, &layout->node, hash);
    }
    *slot = layout;
    return layout;
}

static void freeProvider(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwTextFree(&((ListingProvider *)node)->column);
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
