/*
 * schema/wpp/tmf.c --
 *
 *	Parses trace message formats of WPP. A file consists of lines: a message GUID with its
 *	component and source file, followed by that GUID's messages. Each message is a #typev
 *	(older: #type) line with number, template and trailer, and in braces its arguments,
 *	"EXPRESSION, ItemTYPE -- NUMBER". #enumv names the values of an enumeration. Documented in
 *	the Windows driver kit ("Trace Message Format File"); defaultwpp.ini there defines how each
 *	item is stored. wpp_message.c formats messages.
 */
#include "schema/model/text_defs.h"
#include "base/unicode.h"
#include "schema/model/schema_int.h"
#include "base/hash_table.h"
#include <ctype.h>
#include <stdlib.h>

enum {
    MAX_ARGUMENTS = 256, /* of a message; WPP itself allows less */
    CUSTOM_LEVEL = 16,   /* the first level without a standard name */
    MAX_CUSTOM_LEVELS = 200
};

typedef struct Slice {
    const char *at;
    size_t size;
} Slice;

/* A definition under construction. */
typedef struct Component {
    EtwTableNode node;
    EtwProviderDef *def;
    struct Component *next; /* in file order */
    EtwText levels;         /* Slice: names that are not Windows' own */
} Component;

/* Names of an enumeration, kept as text until a message refers to it. */
typedef struct Enumeration {
    EtwTableNode node;
    Slice name, entries;
    const EtwMap *map; /* in the last definition that used it */
    const EtwProviderDef *madeFor;
} Enumeration;

typedef struct Parser {
    const char *at, *end;
    int line;
    const char *from;
    EtwTable components, enumerations;
    Component *first, **lastPtr;
    bool hasGuid;
    EtwGuid guid;
    Slice component, source; /* of the last GUID line */
    int messages;
    EtwText entries; /* scratch: EtwMapEntry */
    size_t budget;   /* maximum number of names of values to create: references repeat them */
} Parser;

/* A message while it is parsed. */
typedef struct Message {
    Slice symbol, text, level, flags, function;
    unsigned number;
    int count;
    EtwField fields[MAX_ARGUMENTS];
} Message;

/* ---- Slices ---------------------------------------------------------------------------------- */

static Slice trim(Slice s)
{
    while (s.size != 0 && isspace((unsigned char)*s.at)) {
        s.at++;
        s.size--;
    }
    while (s.size != 0 && isspace((unsigned char)s.at[s.size - 1])) {
        s.size--;
    }
    return s;
}

static bool same(Slice a, const char *text)
{
    return a.size == strlen(text) && memcmp(a.at, text, a.size) == 0;
}

static bool startsWith(Slice s, const char *text)
{
    return s.size >= strlen(text) && memcmp(s.at, text, strlen(text)) == 0;
}

/* The last occurrence of text in s; NULL: none. */
static const char *findLast(Slice s, const char *text)
{
    size_t n = strlen(text);
    for (size_t i = s.size; i >= n && i > 0; i--) {
        if (memcmp(s.at + i - n, text, n) == 0) {
            return s.at + i - n;
        }
    }
    return NULL;
}

static Slice firstWord(Slice *rest)
{
    Slice word = trim(*rest);
    size_t n = 0;
    while (n < word.size && !isspace((unsigned char)word.at[n])) {
        n++;
    }
    *rest = (Slice){word.at + n, word.size - n};
    word.size = n;
    return word;
}

static bool nextLine(Parser *p, Slice *line)
{
    if (p->at == p->end) {
        return false;
    }
    const char *start = p->at;
    const char *stop = memchr(start, '\n', (size_t)(p->end - start));
    p->at = stop ? stop + 1 : p->end;
    p->line++;
    *line = trim((Slice){start, (size_t)((stop ? stop : p->end) - start)});
    return true;
}

static const char *keep(EtwProviderDef *def, Slice s)
{
    return EtwDefText(def, s.at, s.size);
}

/* The value of KEY=VALUE among the words after "//", ignoring case; empty: none. */
static Slice trailerValue(Slice trailer, const char *key)
{
    size_t n = strlen(key);
    for (Slice word = firstWord(&trailer); word.size != 0; word = firstWord(&trailer)) {
        size_t i = 0;
        while (i < n && i < word.size && toupper((unsigned char)word.at[i]) == key[i]) {
            i++;
        }
        if (i == n && word.size > n && word.at[n] == '=') {
            return (Slice){word.at + n + 1, word.size - n - 1};
        }
    }
    return (Slice){"", 0};
}

static EtwStatus fail(const Parser *p, EtwError *errPtr, const char *what)
{
    return EtwFail(errPtr, ETW_E_FORMAT, "TMF", p->from, "%s, line %d: %s", p->from, p->line, what);
}

/* ---- Names of values -------------------------------------------------------------------------- */

/* Parse a number after a name: decimal or 0x; a negative one is converted to 32 bits. */
static bool numberOf(Slice s, uint64_t *value)
{
    char text[40];
    char *end;
    s = trim(s);
    if (s.size == 0 || s.size >= sizeof text) {
        return false;
    }
    memcpy(text, s.at, s.size);
    text[s.size] = 0;
    *value = text[0] == '-' ? (uint32_t)strtoll(text, &end, 0) : strtoull(text, &end, 0);
    return *end == 0;
}

/* "NAME", "NAME=5", "NAME(5)" or "NAME 5": returns the name, and sets *value if there is one. */
static Slice entryOf(Slice s, uint64_t *value)
{
    size_t n = 0;
    while (n < s.size && s.at[n] != '=' && s.at[n] != '(' && !isspace((unsigned char)s.at[n])) {
        n++;
    }
    Slice rest = trim((Slice){s.at + n, s.size - n});
    if (rest.size != 0 && (*rest.at == '=' || *rest.at == '(')) {
        bool paren = *rest.at == '(';
        rest = (Slice){rest.at + 1, rest.size - 1 - (paren && rest.at[rest.size - 1] == ')')};
    }
    return rest.size == 0 || numberOf(rest, value) ? (Slice){s.at, n} : s;
}

/* The next of several names separated by commas or line breaks; empty lines are skipped. */
static bool nextEntry(Slice *names, Slice *entry)
{
    while (names->size != 0) {
        size_t n = 0;
        while (n < names->size && names->at[n] != ',' && names->at[n] != '\n') {
            n++;
        }
        bool counts = n < names->size ? names->at[n] == ',' : true;
        *entry = trim((Slice){names->at, n});
        n += n < names->size;
        *names = (Slice){names->at + n, names->size - n};
        if (counts || entry->size != 0) {
            return true;
        }
    }
    return false;
}

typedef enum Numbers {
    COUNT_UP,
    BIT_NUMBERS,
    MASKS
} Numbers; /* values of names without a
                                                                  number */

/* NULL: no names, or too many. */
static const EtwMap *mapOf(
        Parser *p, EtwProviderDef *def, const char *mapName, Slice names, Numbers numbers)
{
    uint64_t value = 0;
    Slice entry;
    p->entries.size = 0;
    while (nextEntry(&names, &entry) && p->budget > 0) {
        Slice name = entryOf(entry, &value);
        if (name.size != 0 && (numbers != BIT_NUMBERS || value < 64)) {
            EtwMapEntry made = {numbers == BIT_NUMBERS ? 1ull << value : value, keep(def, name)};
            EtwTextAdd(&p->entries, &made, sizeof made);
        }
        value++;
        p->budget--;
    }
    int count = (int)(p->entries.size / sizeof(EtwMapEntry));
    const EtwMapEntry *entries = (const EtwMapEntry *)(void *)p->entries.data;
    return count ? EtwDefMap(def, mapName, entries, count, numbers != COUNT_UP) : NULL;
}

static uint64_t hashOf(Slice s)
{
    return EtwHashBytes(0, (const uint8_t *)s.at, s.size);
}

static Enumeration *findEnumeration(const Parser *p, Slice name)
{
    uint64_t hash = hashOf(name);
    for (EtwTableNode *n = EtwTableFirst(&p->enumerations, hash); n != NULL; n = n->next) {
        Enumeration *e = (Enumeration *)n;
        if (n->hash == hash && e->name.size == name.size &&
                memcmp(e->name.at, name.at, name.size) == 0) {
            return e;
        }
    }
    return NULL;
}

/* The map of an enumeration; NULL: not in the file. */
static const EtwMap *enumerationMap(Parser *p, EtwProviderDef *def, Slice name, bool bits)
{
    Enumeration *e = findEnumeration(p, name);
    if (e != NULL && e->madeFor != def) {
        e->map = mapOf(p, def, keep(def, name), e->entries, bits ? MASKS : COUNT_UP);
        e->madeFor = def;
    }
    return e ? e->map : NULL;
}

/* ---- Items ----------------------------------------------------------------------------------- */

typedef struct Item {
    const char *name;
    uint8_t in, out, sized;
    uint16_t length;
    uint8_t kind; /* EtwTmfKind */
} Item;

static const Item items[] = {
        {"ItemChar", ETW_IN_INT8, 0, 0, 0, 0},
        {"ItemUChar", ETW_IN_UINT8, 0, 0, 0, 0},
        {"ItemCharShort", ETW_IN_INT8, 0, 0, 0, 0},
        {"ItemCharSign", ETW_IN_INT8, 0, 0, 0, 0},
        {"ItemWChar", ETW_IN_UINT16, ETW_OUT_STRING, 0, 0, 0},
        {"ItemShort", ETW_IN_INT16, 0, 0, 0, 0},
        {"ItemUShort", ETW_IN_UINT16, 0, 0, 0, 0},
        {"ItemLong", ETW_IN_INT32, 0, 0, 0, 0},
        {"ItemULong", ETW_IN_UINT32, 0, 0, 0, 0},
        {"ItemULongX", ETW_IN_UINT32, ETW_OUT_HEX, 0, 0, 0},
        {"ItemLongLong", ETW_IN_INT64, 0, 0, 0, 0},
        {"ItemULongLong", ETW_IN_UINT64, 0, 0, 0, 0},
        {"ItemLongLongO", ETW_IN_INT64, 0, 0, 0, 0},
        {"ItemLongLongX", ETW_IN_INT64, ETW_OUT_HEX, 0, 0, 0},
        {"ItemLongLongXX", ETW_IN_INT64, ETW_OUT_HEX, 0, 0, 0},
        {"ItemULongLongX", ETW_IN_UINT64, ETW_OUT_HEX, 0, 0, 0},
        {"ItemULongLongXX", ETW_IN_UINT64, ETW_OUT_HEX, 0, 0, 0},
        {"ItemPtr", ETW_IN_POINTER, 0, 0, 0, 0},
        {"ItemFloat", ETW_IN_FLOAT, 0, 0, 0, 0},
        {"ItemDouble", ETW_IN_DOUBLE, 0, 0, 0, 0},
        {"ItemBool", ETW_IN_BOOL32, 0, 0, 0, 0},
        {"ItemString", ETW_IN_ANSIZ, 0, 0, 0, 0},
        {"ItemWString", ETW_IN_UTF16Z, 0, 0, 0, 0},
        {"ItemMLString", ETW_IN_ANSIZ, 0, 0, 0, 0},
        {"ItemRString", ETW_IN_ANSIZ, 0, 0, 0, ETW_TMF_ONE_LINE},
        {"ItemRWString", ETW_IN_UTF16Z, 0, 0, 0, ETW_TMF_ONE_LINE},
        {"ItemPString", ETW_IN_COUNTED_ANSI, 0, 0, 0, 0},
        {"ItemPWString", ETW_IN_COUNTED_UTF16, 0, 0, 0, 0},
        {"ItemDSString", ETW_IN_COUNTED_ANSI_SWAP, 0, 0, 0, 0},
        {"ItemDSWString", ETW_IN_COUNTED_UTF16_SWAP, 0, 0, 0, 0},
        {"ItemNWString", ETW_IN_UTF16Z, 0, ETW_SIZE_REST, 0, 0},
        {"ItemChar4", ETW_IN_ANSIZ, 0, ETW_SIZE_FIXED, 4, 0},
        {"ItemHexDump", ETW_IN_COUNTED_BINARY, 0, 0, 0, 0},
        {"ItemHEXDump", ETW_IN_COUNTED_BINARY, 0, 0, 0, 0},
        {"ItemHexBytes", ETW_IN_COUNTED_BINARY, 0, 0, 0, 0},
        {"ItemGuid", ETW_IN_GUID, 0, 0, 0, 0},
        {"ItemCLSID", ETW_IN_GUID, 0, 0, 0, 0},
        {"ItemIID", ETW_IN_GUID, 0, 0, 0, 0},
        {"ItemLIBID", ETW_IN_GUID, 0, 0, 0, 0},
        {"ItemSid", ETW_IN_SID, 0, 0, 0, 0},
        {"ItemIPAddr", ETW_IN_UINT32, ETW_OUT_IPV4, 0, 0, 0},
        {"ItemIPV6Addr", ETW_IN_BINARY, ETW_OUT_IPV6, ETW_SIZE_FIXED, 16, 0},
        {"ItemMACAddr", ETW_IN_BINARY, 0, ETW_SIZE_FIXED, 6, ETW_TMF_MAC},
        {"ItemPort", ETW_IN_UINT16, ETW_OUT_PORT, 0, 0, 0},
        {"ItemTimestamp", ETW_IN_FILETIME, 0, 0, 0, 0},
        {"ItemTimeDelta", ETW_IN_INT64, 0, 0, 0, 0},
        {"ItemWaitTime", ETW_IN_INT64, 0, 0, 0, 0},
        {"ItemNTSTATUS", ETW_IN_UINT32, ETW_OUT_NTSTATUS, 0, 0, 0},
        {"ItemNTerror", ETW_IN_UINT32, ETW_OUT_NTSTATUS, 0, 0, 0},
        {"ItemHRESULT", ETW_IN_UINT32, ETW_OUT_HRESULT, 0, 0, 0},
        {"ItemWINERROR", ETW_IN_UINT32, ETW_OUT_WIN32, 0, 0, 0},
        {"ItemMerror", ETW_IN_UINT32, ETW_OUT_WIN32, 0, 0, 0},
        {"ItemNETEVENT", ETW_IN_UINT32, 0, 0, 0, 0},
        {"ItemEnum", ETW_IN_INT32, 0, 0, 0, 0},
        {"ItemFlagsEnum", ETW_IN_UINT32, ETW_OUT_HEX, 0, 0, 0},
        {"ItemListByte", ETW_IN_UINT8, 0, 0, 0, ETW_TMF_LIST},
        {"ItemListShort", ETW_IN_UINT16, 0, 0, 0, ETW_TMF_LIST},
        {"ItemListLong", ETW_IN_UINT32, 0, 0, 0, ETW_TMF_LIST},
        {"ItemSetByte", ETW_IN_UINT8, ETW_OUT_HEX, 0, 0, ETW_TMF_SET},
        {"ItemSetShort", ETW_IN_UINT16, ETW_OUT_HEX, 0, 0, ETW_TMF_SET},
        {"ItemSetLong", ETW_IN_UINT32, ETW_OUT_HEX, 0, 0, ETW_TMF_SET},
};

static const Item *findItem(Slice name)
{
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        if (same(name, items[i].name)) {
            return &items[i];
        }
    }
    return NULL;
}

/*
 * Set the type of the field. The size of an unknown item is unknown: it covers all remaining bytes.
 */
static void setItem(Parser *p, EtwProviderDef *def, EtwField *f, unsigned argument, Slice type)
{
    const char *paren = memchr(type.at, '(', type.size);
    Slice name = {type.at, paren ? (size_t)(paren - type.at) : type.size}, names = {"", 0};
    if (paren != NULL) {
        names = (Slice){paren + 1, type.size - name.size - 1};
        names.size -= names.size != 0 && names.at[names.size - 1] == ')';
    }
    const Item *item = findItem(trim(name));
    if (item == NULL) {
        f->in = ETW_IN_BINARY;
        f->sized = ETW_SIZE_REST;
        f->tag = ETW_TMF_TAG(argument, ETW_TMF_PLAIN);
        return;
    }
    f->in = item->in;
    f->out = item->out;
    f->sized = item->sized;
    f->length = item->length;
    f->tag = ETW_TMF_TAG(argument, item->kind);
    if (item->kind == ETW_TMF_LIST || item->kind == ETW_TMF_SET) {
        f->map = mapOf(p, def, "", names, item->kind == ETW_TMF_SET ? BIT_NUMBERS : COUNT_UP);
    } else if (paren != NULL) {
        f->map = enumerationMap(p, def, trim(names), item->out == ETW_OUT_HEX);
    }
}

/* ---- Arguments ------------------------------------------------------------------------------- */

static bool nameTaken(const Message *m, const char *name)
{
    for (int i = 0; i < m->count; i++) {
        if (strcmp(m->fields[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Public formats call each argument Arg, and expressions may be repeated: make names unique. */
static const char *fieldName(EtwProviderDef *def, const Message *m, Slice expression, unsigned n)
{
    EtwText text = {0};
    size_t size = expression.size < ETW_MAX_NAME - 20 ? expression.size : ETW_MAX_NAME - 20;
    EtwTextUtf8(&text, (const uint8_t *)expression.at, size);
    EtwTextChar(&text, 0);
    bool numbered = same(expression, "Arg") || size == 0 || nameTaken(m, text.data);
    text.size--;
    if (numbered) {
        EtwTextPrintf(&text, same(expression, "Arg") ? "%u" : "#%u", n);
    }
    const char *name = EtwDefText(def, text.data, text.size);
    EtwTextFree(&text);
    return name;
}

/* "EXPRESSION, ItemTYPE -- NUMBER" (older files: "// NUMBER"); the expression may have commas. */
static bool parseArgument(Parser *p, EtwProviderDef *def, Message *m, Slice line)
{
    const char *dashes = findLast(line, "--");
    uint64_t number;
    dashes = dashes ? dashes : findLast(line, "//");
    if (dashes == NULL) {
        return false;
    }
    Slice left = {line.at, (size_t)(dashes - line.at)};
    if (!numberOf((Slice){dashes + 2, line.size - left.size - 2}, &number) || number > 0xFFFF ||
            m->count == MAX_ARGUMENTS) {
        return false;
    }
    const char *comma = findLast(left, ", Item");
    comma = comma ? comma : findLast(left, ",Item");
    if (comma == NULL) {
        return false;
    }
    size_t n = (size_t)(comma - left.at);
    EtwField *f = &m->fields[m->count];
    *f = (EtwField){.name = fieldName(def, m, trim((Slice){left.at, n}), (unsigned)number)};
    setItem(p, def, f, (unsigned)number, trim((Slice){comma + 1, left.size - n - 1}));
    m->count++;
    return true;
}

/* The payload has the arguments in the order of their numbers. */
static void sortArguments(Message *m)
{
    for (int i = 1; i < m->count; i++) {
        EtwField f = m->fields[i];
        int at = i;
        while (at > 0 && ETW_TMF_ARGUMENT(m->fields[at - 1].tag) > ETW_TMF_ARGUMENT(f.tag)) {
            m->fields[at] = m->fields[at - 1];
            at--;
        }
        m->fields[at] = f;
    }
}

/* ---- Messages -------------------------------------------------------------------------------- */

static Component *componentOf(Parser *p)
{
    uint64_t hash = EtwHashGuid(&p->guid);
    for (EtwTableNode *n = EtwTableFirst(&p->components, hash); n != NULL; n = n->next) {
        Component *c = (Component *)n;
        if (EtwGuidEqual(&c->def->guid, &p->guid)) {
            return c;
        }
    }
    Component *c = EtwAlloc(sizeof *c);
    EtwText name = {0};
    EtwTextAdd(&name, p->component.at, p->component.size);
    EtwTextChar(&name, 0);
    c->def = EtwDefNew(&p->guid, name.data, ETW_ORIGIN_TMF, p->from);
    EtwTextFree(&name);
    EtwTableAdd(&p->components, &c->node, hash);
    *p->lastPtr = c;
    p->lastPtr = &c->next;
    return c;
}

/* Windows' own levels; others are numbered in order of first use. */
static uint8_t levelOf(Component *c, Slice level)
{
    static const char *const known[] = {"TRACE_LEVEL_NONE", "TRACE_LEVEL_CRITICAL",
            "TRACE_LEVEL_ERROR", "TRACE_LEVEL_WARNING", "TRACE_LEVEL_INFORMATION",
            "TRACE_LEVEL_VERBOSE", "TRACE_LEVEL_FATAL", "TRACE_LEVEL_INFO"};
    static const uint8_t levels[] = {0, 1, 2, 3, 4, 5, 1, 4};
    uint64_t number = 0;
    if (level.size == 0 || (numberOf(level, &number) && number < CUSTOM_LEVEL)) {
        return (uint8_t)number;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (same(level, known[i])) {
            return levels[i];
        }
    }
    const Slice *custom = (const Slice *)(void *)c->levels.data;
    int count = (int)(c->levels.size / sizeof(Slice));
    for (int i = 0; i < count; i++) {
        if (custom[i].size == level.size && memcmp(custom[i].at, level.at, level.size) == 0) {
            return (uint8_t)(CUSTOM_LEVEL + i);
        }
    }
    if (count == MAX_CUSTOM_LEVELS) {
        return 0;
    }
    EtwNamed named = {.value = (uint64_t)(CUSTOM_LEVEL + count), .name = keep(c->def, level)};
    EtwDefName(c->def, ETW_NAME_LEVEL, &named);
    EtwTextAdd(&c->levels, &level, sizeof level);
    return (uint8_t)named.value;
}

/* Resolve C escapes in the template. */
static const char *templateOf(EtwProviderDef *def, Slice s)
{
    static const char plain[] = "n\nt\tr\r\"\"\\\\''??a\ab\bf\fv\v";
    EtwText text = {0};
    for (size_t i = 0; i < s.size; i++) {
        const char *escape = s.at[i] == '\\' && i + 1 < s.size ? strchr(plain, s.at[i + 1]) : NULL;
        unsigned code = 0;
        int digits = 0;
        while (s.at[i] == '\\' && digits < 3 && i + 1 + (size_t)digits < s.size &&
                s.at[i + 1 + (size_t)digits] >= '0' && s.at[i + 1 + (size_t)digits] <= '7') {
            code = code * 8 + (unsigned)(s.at[i + 1 + (size_t)digits++] - '0');
        }
        if (digits != 0) {
            EtwTextChar(&text, (char)code);
            i += (size_t)digits;
        } else if (escape != NULL && (escape - plain) % 2 == 0 && *escape != 0) {
            EtwTextChar(&text, escape[1]);
            i++;
        } else {
            EtwTextChar(&text, s.at[i]);
        }
    }
    const char *kept = EtwDefText(def, text.data, text.size);
    EtwTextFree(&text);
    return kept;
}

/* "Queue_c2319" with SRC=Queue.c: "Queue.c:2319". Public formats hide the file. */
static const char *eventName(const Parser *p, EtwProviderDef *def, const Message *m)
{
    EtwText text = {0};
    Slice file = p->source, symbol = m->symbol;
    size_t digits = 0;
    while (digits < symbol.size && isdigit((unsigned char)symbol.at[symbol.size - digits - 1])) {
        digits++;
    }
    if (file.size != 0 && !startsWith(file, "Unknown_") && digits != 0) {
        EtwTextAdd(&text, file.at, file.size);
        EtwTextChar(&text, ':');
        EtwTextAdd(&text, symbol.at + symbol.size - digits, digits);
    } else if (m->function.size != 0) {
        EtwTextAdd(&text, m->function.at, m->function.size);
    } else {
        EtwTextPrintf(&text, "Message(%u)", m->number);
    }
    const char *name = EtwDefText(def, text.data, text.size);
    EtwTextFree(&text);
    return name;
}

/* Numbers that the template formats in hexadecimal get a hexadecimal out-type. */
static void takeOutTypes(Message *m)
{
    Slice t = m->text;
    for (size_t i = 0; i + 4 < t.size; i++) {
        unsigned n = 0;
        size_t at = i + 1;
        while (t.at[i] == '%' && at < t.size && isdigit((unsigned char)t.at[at]) && n < 1000) {
            n = n * 10 + (unsigned)(t.at[at++] - '0');
        }
        const char *bang = at < t.size && t.at[at] == '!' && n != 0
                                   ? memchr(t.at + at + 1, '!', t.size - at - 1)
                                   : NULL;
        if (bang == NULL || (bang[-1] | 32) != 'x') {
            continue;
        }
        for (int k = 0; k < m->count; k++) {
            EtwField *f = &m->fields[k];
            bool number = f->in >= ETW_IN_INT8 && f->in <= ETW_IN_UINT64;
            if (number && f->out == ETW_OUT_DEFAULT && ETW_TMF_ARGUMENT(f->tag) == n) {
                f->out = ETW_OUT_HEX;
            }
        }
    }
}

static void addMessage(Parser *p, Component *c, Message *m)
{
    EtwDescriptor desc = {.id = (uint16_t)m->number, .level = levelOf(c, m->level)};
    sortArguments(m);
    takeOutTypes(m);
    EtwEventDef *event = EtwDefEvent(c->def, &desc, m->fields, m->count);
    if (event == NULL) {
        return;
    }
    event->symbol = keep(c->def, m->symbol);
    event->schema.event = eventName(p, c->def, m);
    event->schema.task = m->flags.size ? keep(c->def, m->flags) : NULL;
    event->schema.opcode = m->function.size ? keep(c->def, m->function) : NULL;
    event->schema.message = templateOf(c->def, m->text);
    event->schema.style = ETW_MESSAGE_WPP;
    p->messages++;
}

/* Parse "NAME NUMBER "TEMPLATE" // LEVEL=.. FLAGS=.. FUNC=..", after #typev. */
static bool parseHead(Message *m, Slice line)
{
    uint64_t number;
    m->symbol = firstWord(&line);
    Slice digits = firstWord(&line);
    line = trim(line);
    if (!numberOf(digits, &number) || number > 0xFFFF || line.size < 2 || *line.at != '"') {
        return false;
    }
    line = (Slice){line.at + 1, line.size - 1};
    const char *stop = findLast(line, "\" //"), *quote = stop ? stop : findLast(line, "\"");
    if (quote == NULL) {
        return false;
    }
    m->number = (unsigned)number;
    m->text = (Slice){line.at, (size_t)(quote - line.at)};
    Slice trailer = {quote + 1, line.size - m->text.size - 1};
    m->level = trailerValue(trailer, "LEVEL");
    m->flags = trailerValue(trailer, "FLAGS");
    m->flags = m->flags.size ? m->flags : trailerValue(trailer, "FLAG");
    m->function = trailerValue(trailer, "FUNC");
    return true;
}

static EtwStatus parseMessage(Parser *p, Message *m, Slice head, EtwError *errPtr)
{
    Slice line = {"", 0};
    m->count = 0;
    if (!p->hasGuid) {
        return fail(p, errPtr, "a message precedes the first message GUID");
    }
    if (!parseHead(m, head)) {
        return fail(p, errPtr, "expected: #typev NAME NUMBER \"TEMPLATE\"");
    }
    Component *c = componentOf(p);
    const char *before = p->at;
    int lineBefore = p->line;
    if (!nextLine(p, &line) || line.size == 0 || *line.at != '{') { /* no arguments */
        p->at = before;
        p->line = lineBefore;
        addMessage(p, c, m);
        return ETW_OK;
    }
    while (nextLine(p, &line) && (line.size == 0 || *line.at != '}')) {
        if (line.size != 0 && !startsWith(line, "//") && !parseArgument(p, c->def, m, line)) {
            return fail(p, errPtr, "expected: EXPRESSION, ItemTYPE -- NUMBER");
        }
    }
    if (line.size == 0 || *line.at != '}') {
        return fail(p, errPtr, "a list of arguments is not closed");
    }
    addMessage(p, c, m);
    return ETW_OK;
}

/* "#enumv NAME", then "{ NAME(VALUE), ... }" on one or more lines. */
static EtwStatus parseEnumeration(Parser *p, Slice head, EtwError *errPtr)
{
    Slice name = firstWord(&head);
    const char *open = memchr(head.at, '{', (size_t)(p->end - head.at));
    const char *close = open ? memchr(open, '}', (size_t)(p->end - open)) : NULL;
    if (name.size == 0 || close == NULL) {
        return fail(p, errPtr, "expected: #enumv NAME { ENTRIES }");
    }
    for (const char *at = p->at; at < close; at++) {
        p->line += *at == '\n';
    }
    p->at = close + 1 > p->at ? close + 1 : p->at;
    if (findEnumeration(p, name) == NULL) {
        Enumeration *e = EtwAlloc(sizeof *e);
        e->name = name;
        e->entries = (Slice){open + 1, (size_t)(close - open - 1)};
        EtwTableAdd(&p->enumerations, &e->node, hashOf(name));
    }
    return ETW_OK;
}

/* Parse "GUID COMPONENT // SRC=FILE MJ= MN=". False: another line. */
static bool parseGuid(Parser *p, Slice line)
{
    char text[40];
    Slice rest = line, word = firstWord(&rest);
    if (word.size != 36 && word.size != 38) {
        return false;
    }
    memcpy(text, word.at, word.size);
    text[word.size] = 0;
    if (!EtwGuidParse(text, &p->guid)) {
        return false;
    }
    rest = trim(rest);
    const char *slashes = findLast(rest, "//");
    size_t n = slashes ? (size_t)(slashes - rest.at) : rest.size;
    p->hasGuid = true;
    p->component = trim((Slice){rest.at, n});
    p->source = trailerValue((Slice){rest.at + n, rest.size - n}, "SRC");
    return true;
}

static EtwStatus parseLines(Parser *p, Message *m, EtwError *errPtr)
{
    static const struct {
        const char *word;
        bool enumeration;
    } heads[] = {{"#typev", false}, {"#type", false}, {"#enumv", true}, {"#enum", true}};
    EtwStatus status = ETW_OK;
    Slice line;
    while (status == ETW_OK && nextLine(p, &line)) {
        Slice rest = line, word = firstWord(&rest);
        for (size_t i = 0; i < sizeof heads / sizeof *heads && word.size != 0; i++) {
            if (same(word, heads[i].word)) {
                status = heads[i].enumeration ? parseEnumeration(p, rest, errPtr)
                                              : parseMessage(p, m, rest, errPtr);
            }
        }
        if (word.size != 0 && *word.at != '#') {
            parseGuid(p, line);
        }
    }
    return status;
}

static void freeNode(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

/* Pass the definitions on; after an error free them. */
static void deliver(Parser *p, bool good, EtwDefProc *add, void *ctx)
{
    for (Component *c = p->first; c != NULL; c = c->next) {
        if (good) {
            EtwDefFinish(c->def);
            add(ctx, c->def);
        } else {
            EtwDefFree(c->def);
        }
        EtwTextFree(&c->levels);
    }
    EtwTableFree(&p->components, freeNode);
    EtwTableFree(&p->enumerations, freeNode);
    EtwTextFree(&p->entries);
}

EtwStatus EtwTmfRead(const char *from, const void *data, size_t size, EtwDefProc *add, void *ctx,
        EtwError *errPtr)
{
    EtwText text = {0};
    EtwTextOfFile(&text, data, size);
    EtwTextReserve(&text, 1); /* not NULL */
    Parser p = {.at = text.data, .end = text.data + text.size, .from = from};
    Message *message = EtwAlloc(sizeof *message);
    p.lastPtr = &p.first;
    p.budget = text.size;
    EtwStatus status = parseLines(&p, message, errPtr);
    if (status == ETW_OK && p.messages == 0) {
        status = EtwFail(errPtr, ETW_E_FORMAT, "TMF", from,
                "%s has no trace message formats: expected lines \"#typev ...\"", from);
    }
    deliver(&p, status == ETW_OK, add, ctx);
    EtwFree(message);
    EtwTextFree(&text);
    return status;
}
