/*
 * schema/manifest/manifest.c --
 *
 *	Converts manifests to definitions: strings first, then each provider's names, maps, templates (manifest_fields.c) and
 *	events. References are looked up in sorted lists, so that the time is nearly proportional to the text. Filters, pattern
 *	maps and <UserData> are ignored. Format:
 *	https://learn.microsoft.com/windows/win32/wes/eventmanifestschema-schema
 */
#include "schema/manifest/manifest_int.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { MAX_PROVIDERS = 4096, FIRST_OWN_CHANNEL = 16, MAX_DISPLAY_NAME = 120 };

/* ---- Errors ---------------------------------------------------------------------------------- */

bool EtwManifestRefuse(Manifest *m, const EtwElement *e, const char *format, ...)
{
    char reason[400];
    va_list args;
    if (m->strict && m->status == ETW_OK) {
        va_start(args, format);
        vsnprintf(reason, sizeof reason, format, args);
        va_end(args);
        m->status = EtwFail(m->errPtr, ETW_E_FORMAT, "MANIFEST", m->from, "%s: line %d: %s",
                m->from, e->line, reason);
    }
    return false;
}

/* False: repeated references would take too much memory. */
static bool withinLimit(Manifest *m)
{
    if (m->spent + m->def->bytes > m->limit && m->status == ETW_OK) {
        m->status = EtwFail(m->errPtr, ETW_E_LIMIT, "MANIFEST", m->from,
                "%s: its events would take more than %llu MB", m->from,
                (unsigned long long)m->limit >> 20);
    }
    return m->status == ETW_OK;
}

/* ---- Lists of referable items ----------------------------------------------------------------- */

static void enter(List *list, const char *name, uint64_t scope, uint64_t value, const void *what)
{
    ListItem item = {.name = name,
            .scope = scope,
            .order = list->items.size / sizeof item,
            .value = value,
            .what = what};
    EtwTextAdd(&list->items, &item, sizeof item);
}

static int byNameAndScope(const ListItem *a, const char *name, uint64_t scope)
{
    int order = strcmp(a->name, name);
    return order != 0 ? order : (a->scope > scope) - (a->scope < scope);
}

static int byItem(const void *a, const void *b)
{
    const ListItem *x = a, *y = b;
    int order = byNameAndScope(x, y->name, y->scope);
    return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

static void sortList(List *list)
{
    list->count = list->items.size / sizeof(ListItem);
    if (list->count != 0) {
        qsort(list->items.data, list->count, sizeof(ListItem), byItem);
    }
}

ListItem *EtwManifestFind(const List *list, const char *name, uint64_t scope)
{
    ListItem *items = (ListItem *)(void *)list->items.data;
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (byNameAndScope(&items[mid], name, scope) < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low < list->count && byNameAndScope(&items[low], name, scope) == 0 ? &items[low] : NULL;
}

static void emptyList(List *list)
{
    list->items.size = 0;
    list->count = 0;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

/* Copy the ID of "$(string.ID)" to `id`. False: another text. */
static bool stringId(const char *reference, char *id, size_t capacity)
{
    static const char open[] = "$(string.";
    size_t n = strlen(reference);
    if (strncmp(reference, open, sizeof open - 1) != 0 || reference[n - 1] != ')' ||
            n - sizeof open >= capacity) {
        return false;
    }
    n -= sizeof open;
    memcpy(id, reference + sizeof open - 1, n);
    id[n] = 0;
    return true;
}

/* Convert .NET's {0} to %1; other braces are kept. */
static void addConverted(EtwText *out, const char *text)
{
    for (; *text != 0; text++) {
        char *end;
        unsigned long n = text[0] == '{' && text[1] >= '0' && text[1] <= '9'
                                  ? strtoul(text + 1, &end, 10)
                                  : ~0ul;
        const char *close = n < 100 ? strchr(end, '}') : NULL;
        if (close != NULL && (*end == '}' || *end == ':' || *end == ',')) {
            EtwTextPrintf(out, "%%%lu", n + 1);
            text = close;
        } else {
            EtwTextChar(out, *text);
        }
    }
}

static const char *keepMessage(Manifest *m, const char *text)
{
    EtwText converted = {0};
    if (m->strict || strchr(text, '{') == NULL) {
        return EtwDefText(m->def, text, strlen(text));
    }
    addConverted(&converted, text);
    const char *kept = EtwDefText(m->def, converted.data, converted.size);
    EtwTextFree(&converted);
    return kept;
}

const char *EtwManifestText(Manifest *m, const char *reference)
{
    char id[1024];
    if (reference[0] == 0) {
        return NULL;
    }
    if (!stringId(reference, id, sizeof id)) {
        return strncmp(reference, "$(", 2) == 0 ? NULL : keepMessage(m, reference);
    }
    ListItem *item = EtwManifestFind(&m->strings, id, 0);
    if (item == NULL && (item = EtwManifestFind(&m->strings, id, 1)) == NULL) {
        return NULL;
    }
    if (item->value != m->providerNumber) { /* copied for another provider, or not yet */
        item->kept = keepMessage(m, item->what);
        item->value = m->providerNumber;
    }
    return item->kept;
}

/* A message used as a name; NULL: none, or too long. */
static const char *displayName(Manifest *m, const char *message)
{
    size_t n = message ? strlen(message) : 0;
    while (n > 0 && strchr(" \t\r\n", message[n - 1]) != NULL) {
        n--;
    }
    if (n == 0 || n > MAX_DISPLAY_NAME || strcspn(message, "%\r\n") < n) {
        return NULL;
    }
    return message[n] == 0 ? message : EtwDefText(m->def, message, n);
}

const char *EtwManifestName(Manifest *m, const char *text)
{
    size_t n = strlen(text);
    return EtwDefText(m->def, text, n < ETW_MAX_NAME ? n : ETW_MAX_NAME);
}

/* ---- Numbers --------------------------------------------------------------------------------- */

bool EtwManifestNumber(const char *text, uint64_t max, uint64_t *valuePtr)
{
    char *end;
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    bool digit = hex || (text[0] >= '0' && text[0] <= '9');
    *valuePtr = digit ? strtoull(text, &end, hex ? 16 : 10) : 0;
    return digit && *end == 0 && *valuePtr <= max;
}

static bool attributeNumber(
        Manifest *m, const EtwElement *e, const char *name, uint64_t max, uint64_t *valuePtr)
{
    return EtwManifestNumber(EtwXmlGet(e, name), max, valuePtr) ||
           EtwManifestRefuse(m, e, "%s of <%s> must be a number up to %llu, not \"%s\"", name,
                   e->name, (unsigned long long)max, EtwXmlGet(e, name));
}

/* ---- Standard names (winmeta.xml) -------------------------------------------------------------- */

typedef struct Standard {
    const char *name; /* after "win:" */
    uint64_t value;
} Standard;

static const Standard standardLevels[] = {{"LogAlways", 0}, {"Critical", 1}, {"Error", 2},
        {"Warning", 3}, {"Informational", 4}, {"Verbose", 5}, {NULL, 0}};
static const Standard standardOpcodes[] = {{"Info", 0}, {"Start", 1}, {"Stop", 2}, {"DC_Start", 3},
        {"DC_Stop", 4}, {"Extension", 5}, {"Reply", 6}, {"Resume", 7}, {"Suspend", 8}, {"Send", 9},
        {"Receive", 240}, {NULL, 0}};
static const Standard standardTasks[] = {{"None", 0}, {NULL, 0}};
static const Standard standardKeywords[] = {{"AnyKeyword", 0}, {"ResponseTime", 1ull << 48},
        {"WDIContext", 1ull << 49}, {"WDIDiag", 1ull << 50}, {"SQM", 1ull << 51},
        {"AuditFailure", 1ull << 52}, {"AuditSuccess", 1ull << 53}, {"CorrelationHint", 1ull << 54},
        {"EventlogClassic", 1ull << 55}, {"ReservedKeyword56", 1ull << 56},
        {"ReservedKeyword57", 1ull << 57}, {"ReservedKeyword58", 1ull << 58},
        {"ReservedKeyword59", 1ull << 59}, {"ReservedKeyword60", 1ull << 60},
        {"ReservedKeyword61", 1ull << 61}, {"ReservedKeyword62", 1ull << 62},
        {"ReservedKeyword63", 1ull << 63}, {NULL, 0}};
static const Standard standardChannels[] = {{"TraceClassic", 0}, {"System", 8}, {"Application", 9},
        {"Security", 10}, {"TraceLogging", 11}, {NULL, 0}};
static const Standard *const standards[ETW_NAME_KINDS] = {[ETW_NAME_KEYWORD] = standardKeywords,
        [ETW_NAME_TASK] = standardTasks,
        [ETW_NAME_OPCODE] = standardOpcodes,
        [ETW_NAME_LEVEL] = standardLevels,
        [ETW_NAME_CHANNEL] = standardChannels};

static bool standardValue(EtwNameKind kind, const char *name, uint64_t *valuePtr)
{
    const char *colon = strchr(name, ':');
    name = colon ? colon + 1 : name;
    for (const Standard *s = standards[kind]; s->name != NULL; s++) {
        if (strcasecmp(s->name, name) == 0) {
            *valuePtr = s->value;
            return true;
        }
    }
    return false;
}

/* The value that an event's attribute refers to; 0 without the attribute. */
static bool refer(Manifest *m, const EtwElement *e, EtwNameKind kind, const char *name,
        uint64_t scope, uint64_t *valuePtr)
{
    static const char *const what[ETW_NAME_KINDS] = {
            "keyword", "task", "opcode", "level", "channel"};
    *valuePtr = 0;
    if (name[0] == 0) {
        return true;
    }
    const ListItem *item = scope ? EtwManifestFind(&m->names[kind], name, scope) : NULL;
    item = item ? item : EtwManifestFind(&m->names[kind], name, 0);
    if (item != NULL) {
        *valuePtr = item->value;
        return true;
    }
    return standardValue(kind, name, valuePtr) || !m->strict ||
           EtwManifestRefuse(m, e, "there is no %s \"%s\"", what[kind], name);
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* Enter a named element. task: that of an opcode, or 0. */
static void addName(Manifest *m, EtwNameKind kind, const EtwElement *e, uint64_t value,
        uint64_t scope, uint16_t task)
{
    const char *name = EtwXmlGet(e, "name");
    bool shown =
            kind == ETW_NAME_TASK || kind == ETW_NAME_OPCODE; /* shown by message, as in Windows */
    EtwNamed named = {.value = value, .task = task};
    named.message = EtwManifestText(m, EtwXmlGet(e, "message"));
    named.name = shown ? displayName(m, named.message) : NULL;
    if (named.name == NULL) {
        named.name = EtwManifestName(m, name);
    }
    EtwDefName(m->def, kind, &named);
    enter(&m->names[kind], name, scope, value, NULL);
}

static bool readNames(Manifest *m, const EtwElement *group, const char *child, EtwNameKind kind,
        const char *attribute, uint64_t max)
{
    uint64_t value;
    for (const EtwElement *e = EtwXmlChild(group, child); e != NULL; e = EtwXmlNext(e, child)) {
        if (attributeNumber(m, e, attribute, max, &value)) {
            addName(m, kind, e, value, 0, 0);
        }
    }
    return withinLimit(m);
}

static bool readTasks(Manifest *m, const EtwElement *group)
{
    uint64_t task, opcode;
    for (const EtwElement *e = EtwXmlChild(group, "task"); e != NULL; e = EtwXmlNext(e, "task")) {
        if (!attributeNumber(m, e, "value", UINT16_MAX, &task)) {
            continue;
        }
        addName(m, ETW_NAME_TASK, e, task, 0, 0);
        const EtwElement *o = EtwXmlChild(EtwXmlChild(e, "opcodes"), "opcode");
        for (; o != NULL; o = EtwXmlNext(o, "opcode")) {
            if (attributeNumber(m, o, "value", UINT8_MAX, &opcode)) {
                addName(m, ETW_NAME_OPCODE, o, opcode, task + 1, (uint16_t)task);
            }
        }
    }
    return withinLimit(m);
}

/* Channels without a number are numbered in order. Events refer to them by name or chid. */
static bool readChannels(Manifest *m, const EtwElement *group)
{
    uint64_t next = FIRST_OWN_CHANNEL, value;
    for (const EtwElement *e = group ? group->first : NULL; e != NULL; e = e->next) {
        const char *given = EtwXmlGet(e, "value"), *chid = EtwXmlGet(e, "chid");
        bool import = strcmp(e->name, "importChannel") == 0;
        if (!import && strcmp(e->name, "channel") != 0) {
            continue;
        }
        if (given[0] != 0) {
            if (!attributeNumber(m, e, "value", UINT8_MAX, &value)) {
                continue;
            }
            next = value + 1;
        } else if (!import || !standardValue(ETW_NAME_CHANNEL, EtwXmlGet(e, "name"), &value)) {
            value = next++ & UINT8_MAX;
        }
        addName(m, ETW_NAME_CHANNEL, e, value, 0, 0);
        if (chid[0] != 0) {
            enter(&m->names[ETW_NAME_CHANNEL], chid, 0, value, NULL);
        }
    }
    return withinLimit(m);
}

/* ---- Maps ------------------------------------------------------------------------------------ */

static void addMapEntry(Manifest *m, const EtwElement *e, EtwText *entries)
{
    EtwMapEntry entry;
    if (!attributeNumber(m, e, "value", UINT32_MAX, &entry.value)) {
        return;
    }
    const char *text = EtwManifestText(m, EtwXmlGet(e, "message"));
    size_t n = text ? strlen(text) : 0;
    while (n > 0 && strchr(" \t\r\n", text[n - 1]) != NULL) {
        n--;
    }
    if (n == 0) {
        text = EtwXmlGet(e, "symbol");
        n = strlen(text);
    }
    if (n != 0) {
        entry.name =
                text[n] == 0 && text != EtwXmlGet(e, "symbol") ? text : EtwDefText(m->def, text, n);
        EtwTextAdd(entries, &entry, sizeof entry);
    }
}

static bool readMaps(Manifest *m, const EtwElement *group)
{
    EtwText entries = {0};
    for (const EtwElement *e = group ? group->first : NULL; e != NULL && withinLimit(m);
            e = e->next) {
        bool bits = strcmp(e->name, "bitMap") == 0;
        const char *name = EtwXmlGet(e, "name");
        if (!bits && strcmp(e->name, "valueMap") != 0) {
            continue;
        }
        entries.size = 0;
        const EtwElement *entry = EtwXmlChild(e, "map");
        for (; entry != NULL; entry = EtwXmlNext(entry, "map")) {
            addMapEntry(m, entry, &entries);
        }
        const EtwMap *map = EtwDefMap(m->def, name, (EtwMapEntry *)(void *)entries.data,
                (int)(entries.size / sizeof(EtwMapEntry)), bits);
        enter(&m->maps, name, 0, 0, map);
    }
    EtwTextFree(&entries);
    sortList(&m->maps);
    return withinLimit(m);
}

/* ---- Templates and events --------------------------------------------------------------------- */

static bool readTemplates(Manifest *m, const EtwElement *group)
{
    const EtwElement *e = EtwXmlChild(group, "template");
    for (; e != NULL && withinLimit(m); e = EtwXmlNext(e, "template")) {
        const ManifestTemplate *t = EtwManifestTemplate(m, e);
        if (t != NULL) {
            enter(&m->templates, EtwXmlGet(e, "tid"), 0, 0, t);
        }
    }
    sortList(&m->templates);
    return withinLimit(m);
}

static bool keywordsOf(Manifest *m, const EtwElement *e, uint64_t *maskPtr)
{
    const char *at = EtwXmlGet(e, "keywords");
    char name[512];
    uint64_t one;
    *maskPtr = 0;
    for (at += strspn(at, " \t\r\n"); *at != 0; at += strspn(at, " \t\r\n")) {
        size_t n = strcspn(at, " \t\r\n");
        snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), at);
        if (!refer(m, e, ETW_NAME_KEYWORD, name, 0, &one)) {
            return false;
        }
        *maskPtr |= one;
        at += n;
    }
    return true;
}

static bool descriptorOf(Manifest *m, const EtwElement *e, EtwDescriptor *desc)
{
    uint64_t id, version = 0, level, task, opcode, channel, keyword;
    if (!attributeNumber(m, e, "value", UINT16_MAX, &id) ||
            (EtwXmlGet(e, "version")[0] != 0 &&
                    !attributeNumber(m, e, "version", UINT8_MAX, &version)) ||
            !refer(m, e, ETW_NAME_LEVEL, EtwXmlGet(e, "level"), 0, &level) ||
            !refer(m, e, ETW_NAME_TASK, EtwXmlGet(e, "task"), 0, &task) ||
            !refer(m, e, ETW_NAME_OPCODE, EtwXmlGet(e, "opcode"), task + 1, &opcode) ||
            !refer(m, e, ETW_NAME_CHANNEL, EtwXmlGet(e, "channel"), 0, &channel) ||
            !keywordsOf(m, e, &keyword)) {
        return false;
    }
    *desc = (EtwDescriptor){.id = (uint16_t)id,
            .version = (uint8_t)version,
            .channel = (uint8_t)channel,
            .level = (uint8_t)level,
            .opcode = (uint8_t)opcode,
            .task = (uint16_t)task,
            .keyword = keyword};
    return true;
}

static bool addEvent(Manifest *m, const EtwElement *e)
{
    static const ManifestTemplate nothing;
    const char *tid = EtwXmlGet(e, "template"), *symbol = EtwXmlGet(e, "symbol");
    const ListItem *item = tid[0] ? EtwManifestFind(&m->templates, tid, 0) : NULL;
    EtwDescriptor desc;
    if (tid[0] != 0 && item == NULL) {
        return EtwManifestRefuse(m, e, "there is no template \"%s\"", tid);
    }
    if (!descriptorOf(m, e, &desc)) {
        return false;
    }
    const ManifestTemplate *t = item ? item->what : &nothing;
    EtwEventDef *event = EtwDefEvent(m->def, &desc, t->fields, t->count);
    if (event == NULL) {
        return EtwManifestRefuse(m, e, "the fields of event %u make no sense", desc.id);
    }
    event->symbol = symbol[0] ? EtwManifestName(m, symbol) : NULL;
    event->schema.message = EtwManifestText(m, EtwXmlGet(e, "message"));
    event->schema.style = ETW_MESSAGE_MANIFEST;
    return true;
}

static bool readEvents(Manifest *m, const EtwElement *group)
{
    const EtwElement *e = EtwXmlChild(group, "event");
    for (; e != NULL && withinLimit(m); e = EtwXmlNext(e, "event")) {
        addEvent(m, e);
    }
    return withinLimit(m);
}

/* ---- A provider ------------------------------------------------------------------------------ */

static bool readParts(Manifest *m, const EtwElement *p)
{
    bool good =
            readNames(m, EtwXmlChild(p, "keywords"), "keyword", ETW_NAME_KEYWORD, "mask",
                    UINT64_MAX) &&
            readNames(m, EtwXmlChild(p, "levels"), "level", ETW_NAME_LEVEL, "value", UINT8_MAX) &&
            readNames(
                    m, EtwXmlChild(p, "opcodes"), "opcode", ETW_NAME_OPCODE, "value", UINT8_MAX) &&
            readTasks(m, EtwXmlChild(p, "tasks")) && readChannels(m, EtwXmlChild(p, "channels"));
    for (int kind = 0; kind < ETW_NAME_KINDS; kind++) {
        sortList(&m->names[kind]);
    }
    return good && readMaps(m, EtwXmlChild(p, "maps")) &&
           readTemplates(m, EtwXmlChild(p, "templates")) && readEvents(m, EtwXmlChild(p, "events"));
}

static void readProvider(Manifest *m, const EtwElement *p)
{
    EtwGuid guid;
    const char *name = EtwXmlGet(p, "name");
    if (!EtwGuidParse(EtwXmlGet(p, "guid"), &guid)) {
        EtwManifestRefuse(
                m, p, "the provider's guid is \"%s\", which is none", EtwXmlGet(p, "guid"));
        return;
    }
    for (int kind = 0; kind < ETW_NAME_KINDS; kind++) {
        emptyList(&m->names[kind]);
    }
    emptyList(&m->maps);
    emptyList(&m->templates);
    m->providerNumber++;
    m->def = EtwDefNew(&guid, name, m->origin, m->from);
    EtwTextAdd(&m->defs, &m->def, sizeof m->def);
    if (readParts(m, p)) {
        EtwDefFinish(m->def);
    }
    m->spent += m->def->bytes;
}

/* ---- The document ---------------------------------------------------------------------------- */

static const EtwElement *following(const EtwElement *e)
{
    if (e->first != NULL) {
        return e->first;
    }
    while (e != NULL && e->next == NULL) {
        e = e->parent;
    }
    return e ? e->next : NULL;
}

static bool isInside(const EtwElement *e, const char *name, const char *parent)
{
    return strcmp(e->name, name) == 0 && e->parent != NULL && strcmp(e->parent->name, parent) == 0;
}

/* English strings first, like Windows' own names; otherwise any language. */
static uint64_t cultureRank(const EtwElement *string)
{
    const EtwElement *resources = string->parent->parent;
    return resources == NULL || strncasecmp(EtwXmlGet(resources, "culture"), "en", 2) != 0;
}

static void readStrings(Manifest *m, const EtwElement *root)
{
    for (const EtwElement *e = root; e != NULL; e = following(e)) {
        if (isInside(e, "string", "stringTable")) {
            enter(&m->strings, EtwXmlGet(e, "id"), cultureRank(e), 0, EtwXmlGet(e, "value"));
        }
    }
    sortList(&m->strings);
}

static void readProviders(Manifest *m, const EtwElement *root)
{
    uint64_t count = 0;
    const EtwElement *e = root;
    for (; e != NULL && m->status == ETW_OK && count < MAX_PROVIDERS; e = following(e)) {
        if (isInside(e, "provider", "events")) {
            readProvider(m, e);
            count++;
        }
    }
    if (m->status == ETW_OK && m->defs.size == 0) {
        m->status = EtwFail(m->errPtr, ETW_E_FORMAT, "MANIFEST", m->from,
                "%s: not an instrumentation manifest: it has no <provider> in <events>", m->from);
    }
}

/* Pass the definitions on; on an error free them. */
static void release(Manifest *m, EtwDefProc *add, void *ctx)
{
    EtwProviderDef **defs = (EtwProviderDef **)(void *)m->defs.data;
    for (size_t i = 0; i < m->defs.size / sizeof *defs; i++) {
        if (m->status == ETW_OK) {
            add(ctx, defs[i]);
        } else {
            EtwDefFree(defs[i]);
        }
    }
    for (int kind = 0; kind < ETW_NAME_KINDS; kind++) {
        EtwTextFree(&m->names[kind].items);
    }
    EtwTextFree(&m->strings.items);
    EtwTextFree(&m->maps.items);
    EtwTextFree(&m->templates.items);
    EtwTextFree(&m->defs);
    EtwFree(m->scratch);
}

static EtwStatus readManifest(
        Manifest *m, const void *data, size_t size, EtwDefProc *add, void *ctx)
{
    EtwXml *xml;
    EtwStatus status = EtwXmlParse(&xml, m->from, data, size, m->errPtr);
    if (status != ETW_OK) {
        return status;
    }
    m->limit = ((size_t)8 << 20) + 64 * size;
    readStrings(m, EtwXmlRoot(xml));
    readProviders(m, EtwXmlRoot(xml));
    release(m, add, ctx);
    EtwXmlFree(xml);
    return m->status;
}

EtwStatus EtwManifestReadFile(const char *from, const void *data, size_t size, EtwDefProc *add,
        void *ctx, EtwError *errPtr)
{
    Manifest m = {.from = from, .origin = ETW_ORIGIN_MANIFEST, .strict = true, .errPtr = errPtr};
    return readManifest(&m, data, size, add, ctx);
}

EtwStatus EtwManifestReadInband(const char *from, const void *xml, size_t size, EtwOrigin origin,
        EtwDefProc *add, void *ctx)
{
    Manifest m = {.from = from, .origin = origin};
    return readManifest(&m, xml, size, add, ctx);
}
