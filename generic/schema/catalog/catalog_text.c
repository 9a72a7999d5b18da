/*
 * schema/catalog/catalog_text.c --
 *
 *	Parses the lines of a provider in the catalogue into a definition. Names refer to one copy
 *	of the text, which the definition owns. doc/internals/CATALOG.md describes the lines.
 *	Independent of the container (catalog_file.c).
 */
#include "schema/catalog/catalog_text.h"
#include "base/unicode.h"
#include "schema/model/schema_int.h"

/* A task or an opcode that several events refer to. */
typedef struct Part {
    uint64_t value;
    const char *name; /* "": none */
} Part;

typedef struct FieldList {
    size_t first; /* in Parser.fields */
    int count;
} FieldList;

/* The state after the lines so far; each table is an array in an EtwText. */
typedef struct Parser {
    EtwProviderDef *def;
    EtwText opcodes, tasks; /* Part */
    EtwText masks;          /* uint64_t */
    EtwText sinces;         /* const char * */
    EtwText maps;           /* const EtwMap * */
    EtwText lists;          /* FieldList */
    EtwText fields;         /* EtwField */
    uint64_t lastId;
} Parser;

#define ITEMS(table, type) ((table).size / sizeof(type))
#define ITEM(table, type, index) (((const type *)(const void *)(table).data) + (index))

/* ---- Words and numbers ----------------------------------------------------------------------- */

/*
 * The text up to `mark`, which is replaced by a NUL. *atPtr is moved after it, or NULL at the end.
 */
static char *nextWord(char **atPtr, char mark)
{
    char *word = *atPtr, *end = word ? strchr(word, mark) : NULL;
    if (end != NULL) {
        *end++ = 0;
    }
    *atPtr = end;
    return word;
}

/* Parse a whole word as a number up to `max`. */
static bool numberIn(const char *word, unsigned base, uint64_t max, uint64_t *valuePtr)
{
    uint64_t value = 0;
    if (word == NULL || *word == 0) {
        return false;
    }
    for (; *word != 0; word++) {
        uint64_t digit = (uint64_t)EtwHexDigit(*word);
        if (digit >= base || digit > max || value > (max - digit) / base) {
            return false;
        }
        value = value * base + digit;
    }
    *valuePtr = value;
    return true;
}

/* Parse digits at *atPtr up to the first other character. */
static bool takeNumber(char **atPtr, uint64_t max, uint64_t *valuePtr)
{
    char *p = *atPtr;
    uint64_t value = 0;
    while (*p >= '0' && *p <= '9' && value <= max) {
        value = value * 10 + (uint64_t)(*p++ - '0');
    }
    bool good = p != *atPtr && value <= max;
    *atPtr = p;
    *valuePtr = value;
    return good;
}

/* ---- Maps, keywords, shared data of events ---------------------------------------------------- */

/* M name v|b value=label ... */
static bool mapLine(Parser *p, char *at)
{
    const char *name = nextWord(&at, '\t'), *kind = nextWord(&at, '\t');
    EtwText entries = {0};
    char *label;
    bool good = name != NULL && kind != NULL;
    while (good && (label = nextWord(&at, '\t')) != NULL) {
        EtwMapEntry entry;
        const char *value = nextWord(&label, '=');
        entry.name = label;
        good = label != NULL && numberIn(value, 16, UINT64_MAX, &entry.value);
        EtwTextAdd(&entries, &entry, sizeof entry);
    }
    if (good) {
        const EtwMap *map = EtwDefMap(p->def, name, (const EtwMapEntry *)(const void *)entries.data,
                (int)ITEMS(entries, EtwMapEntry), *kind == 'b');
        EtwTextAdd(&p->maps, &map, sizeof map);
    }
    EtwTextFree(&entries);
    return good;
}

/* K mask name */
static bool keywordLine(Parser *p, char *at)
{
    EtwNamed named = {0};
    bool good = numberIn(nextWord(&at, '\t'), 16, UINT64_MAX, &named.value);
    named.name = nextWord(&at, '\t');
    if (!good || named.name == NULL) {
        return false;
    }
    EtwDefName(p->def, ETW_NAME_KEYWORD, &named);
    return true;
}

/* O value name, T value name */
static bool partLine(EtwText *table, uint64_t max, char *at)
{
    Part part;
    if (!numberIn(nextWord(&at, '\t'), 10, max, &part.value)) {
        return false;
    }
    part.name = nextWord(&at, '\t');
    EtwTextAdd(table, &part, sizeof part);
    return part.name != NULL;
}

static bool taskLine(Parser *p, char *at)
{
    if (!partLine(&p->tasks, UINT16_MAX, at)) {
        return false;
    }
    const Part *task = ITEM(p->tasks, Part, ITEMS(p->tasks, Part) - 1);
    if (task->value != 0 && *task->name != 0) {
        EtwDefName(p->def, ETW_NAME_TASK, &(EtwNamed){.value = task->value, .name = task->name});
    }
    return true;
}

/* W mask */
static bool maskLine(Parser *p, char *at)
{
    uint64_t mask;
    if (!numberIn(at, 16, UINT64_MAX, &mask)) {
        return false;
    }
    EtwTextAdd(&p->masks, &mask, sizeof mask);
    return true;
}

/* S version of Windows or .NET in which events first occurred */
static bool sinceLine(Parser *p, char *at)
{
    const char *since = at;
    EtwTextAdd(&p->sinces, &since, sizeof since);
    return true;
}

/* ---- Fields ---------------------------------------------------------------------------------- */

static uint8_t inTypeOf(char code)
{
    static const char codes[] = " uabBhHiIlLfdoygptsSxXUA"; /* position: ETW_IN_* */
    const char *found = code != ' ' && code != 0 ? strchr(codes, code) : NULL;
    return found ? (uint8_t)(found - codes) : ETW_IN_NULL;
}

/*
 * (12 (=3 (* : where a size comes from. The parameters are the values for EtwField.sized or
 * EtwField.array.
 */
static bool takeReference(char **atPtr, uint8_t fixed, uint8_t byField, uint8_t rest,
        uint8_t *kindPtr, uint16_t *numberPtr)
{
    uint64_t number = 0;
    if (**atPtr == '*') {
        ++*atPtr;
        *kindPtr = rest;
        return true;
    }
    *kindPtr = **atPtr == '=' ? byField : fixed;
    *atPtr += **atPtr == '=';
    bool good = takeNumber(atPtr, UINT16_MAX, &number);
    *numberPtr = (uint16_t)number;
    return good;
}

static bool takeModifier(const Parser *p, EtwField *f, char **atPtr)
{
    char mark = *(*atPtr)++;
    uint64_t number;
    switch (mark) {
    case '/':
        if (!takeNumber(atPtr, UINT8_MAX, &number)) {
            return false;
        }
        f->out = (uint8_t)number;
        return true;
    case '{':
        if (!takeNumber(atPtr, UINT16_MAX, &number) || number >= ITEMS(p->maps, EtwMap *)) {
            return false;
        }
        f->map = *ITEM(p->maps, EtwMap *, number);
        return true;
    case '(':
        return takeReference(
                atPtr, ETW_SIZE_FIXED, ETW_SIZE_BY_FIELD, ETW_SIZE_REST, &f->sized, &f->length);
    case '[':
        return takeReference(
                atPtr, ETW_ARRAY_FIXED, ETW_ARRAY_BY_FIELD, ETW_ARRAY_REST, &f->array, &f->count);
    default:
        return false;
    }
}

/* Only texts and blobs have sizes; other types have their own. */
static void dropIdleSize(EtwField *f)
{
    if (f->in != ETW_IN_UTF16Z && f->in != ETW_IN_ANSIZ && f->in != ETW_IN_BINARY) {
        f->sized = ETW_SIZE_OWN;
    }
}

/* name:T/out{map(length[count, name:rMEMBERS[count */
static bool takeField(const Parser *p, char *word, EtwField *f)
{
    char *at = strrchr(word, ':');
    uint64_t members = 0;
    memset(f, 0, sizeof *f);
    if (at == NULL) {
        return false;
    }
    *at++ = 0;
    f->name = word;
    f->in = *at == 'r' ? ETW_IN_STRUCT : inTypeOf(*at);
    if (f->in == ETW_IN_NULL) {
        return false;
    }
    at++;
    if (f->in == ETW_IN_STRUCT && !takeNumber(&at, ETW_MAX_FIELDS, &members)) {
        return false;
    }
    f->members = (uint16_t)members;
    while (*at != 0) {
        if (!takeModifier(p, f, &at)) {
            return false;
        }
    }
    dropIdleSize(f);
    return true;
}

/* F field ... */
static bool listLine(Parser *p, char *at)
{
    FieldList list = {.first = ITEMS(p->fields, EtwField)};
    char *word;
    while ((word = nextWord(&at, ' ')) != NULL) {
        EtwField field;
        if (list.count == ETW_MAX_FIELDS || strlen(word) > ETW_MAX_NAME ||
                !takeField(p, word, &field)) {
            return false;
        }
        EtwTextAdd(&p->fields, &field, sizeof field);
        list.count++;
    }
    EtwTextAdd(&p->lists, &list, sizeof list);
    return true;
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* The symbol that a mark represents: = task and opcode, ~ task, # and % the same with the id. */
static const char *composeSymbol(Parser *p, const EtwEventDef *event, char mark)
{
    const char *task = event->schema.task ? event->schema.task : "";
    const char *opcode = event->schema.opcode ? event->schema.opcode : "";
    EtwText text = {0};
    EtwTextStr(&text, task);
    for (; (mark == '=' || mark == '#') && *opcode != 0; opcode++) {
        if (*opcode != '_') {
            EtwTextChar(&text, *opcode);
        }
    }
    if (mark == '#' || mark == '%') {
        EtwTextDecimal(&text, event->desc.id);
    }
    if (event->desc.version != 0) {
        EtwTextPrintf(&text, "_V%u", event->desc.version);
    }
    const char *symbol = EtwDefText(p->def, text.data ? text.data : "", text.size);
    EtwTextFree(&text);
    return symbol;
}

static const char *symbolOf(Parser *p, const EtwEventDef *event, const char *word)
{
    if (word == NULL || *word == 0) {
        return NULL;
    }
    return word[1] == 0 && strchr("=~#%", *word) ? composeSymbol(p, event, *word) : word;
}

/* Parse a column that is an index into a table. */
static bool takeIndex(char **atPtr, size_t count, uint64_t *indexPtr)
{
    return count != 0 && numberIn(nextWord(atPtr, '\t'), 10, count - 1, indexPtr);
}

static bool takeFields(Parser *p, char **atPtr, FieldList *list)
{
    uint64_t index;
    char *word = nextWord(atPtr, '\t');
    *list = (FieldList){0};
    if (word == NULL || *word == 0) {
        return true;
    }
    if (!numberIn(word, 10, UINT32_MAX, &index) || index >= ITEMS(p->lists, FieldList)) {
        return false;
    }
    *list = *ITEM(p->lists, FieldList, index);
    return true;
}

/* Add the name of an opcode that is not one of Windows' own, for this task. */
static void nameOpcode(Parser *p, const EtwEventDef *event)
{
    if (event->desc.opcode > 9 && event->schema.opcode != NULL) {
        EtwDefName(p->def, ETW_NAME_OPCODE,
                &(EtwNamed){.value = event->desc.opcode,
                        .task = event->desc.task,
                        .name = event->schema.opcode});
    }
}

/* E id-minus-last version level opcode task mask since fields ?symbol? */
static bool eventLine(Parser *p, char *at)
{
    uint64_t id, version, level, opcode, task, mask, since;
    FieldList list;
    bool good = numberIn(nextWord(&at, '\t'), 10, UINT16_MAX, &id) &&
                numberIn(nextWord(&at, '\t'), 10, UINT8_MAX, &version) &&
                numberIn(nextWord(&at, '\t'), 10, UINT8_MAX, &level) &&
                takeIndex(&at, ITEMS(p->opcodes, Part), &opcode) &&
                takeIndex(&at, ITEMS(p->tasks, Part), &task) &&
                takeIndex(&at, ITEMS(p->masks, uint64_t), &mask) &&
                takeIndex(&at, ITEMS(p->sinces, char *), &since) && takeFields(p, &at, &list);
    if (!good || (id += p->lastId) > UINT16_MAX) {
        return false;
    }
    p->lastId = id;
    const Part *opcodePart = ITEM(p->opcodes, Part, opcode), *taskPart = ITEM(p->tasks, Part, task);
    EtwDescriptor desc = {.id = (uint16_t)id,
            .version = (uint8_t)version,
            .level = (uint8_t)level,
            .opcode = (uint8_t)opcodePart->value,
            .task = (uint16_t)taskPart->value,
            .keyword = *ITEM(p->masks, uint64_t, mask)};
    const EtwField *fields = list.count ? ITEM(p->fields, EtwField, list.first) : NULL;
    EtwEventDef *event = EtwDefEvent(p->def, &desc, fields, list.count);
    if (event == NULL) {
        return false;
    }
    event->schema.task = *taskPart->name ? taskPart->name : NULL;
    event->schema.opcode = *opcodePart->name ? opcodePart->name : NULL;
    event->since = *ITEM(p->sinces, char *, since);
    event->symbol = symbolOf(p, event, nextWord(&at, '\t'));
    nameOpcode(p, event);
    return true;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static bool takeLine(Parser *p, char *line)
{
    char *at = strchr(line, '\t');
    if ((line[0] == 'C' || line[0] == 'P') && line[1] == 0) {
        *(line[0] == 'C' ? &p->def->classic : &p->def->checked) = true;
        return true;
    }
    if (at != line + 1) {
        return false;
    }
    at++;
    switch (line[0]) {
    case 'M':
        return mapLine(p, at);
    case 'K':
        return keywordLine(p, at);
    case 'O':
        return partLine(&p->opcodes, UINT8_MAX, at);
    case 'T':
        return taskLine(p, at);
    case 'W':
        return maskLine(p, at);
    case 'S':
        return sinceLine(p, at);
    case 'F':
        return listLine(p, at);
    case 'E':
        return eventLine(p, at);
    default:
        return false;
    }
}

/* A copy of the text as valid UTF-8, owned by the definition, which parsing may modify. */
static char *ownText(EtwProviderDef *def, const char *text, size_t size)
{
    EtwText valid = {0};
    EtwTextUtf8(&valid, (const uint8_t *)text, size);
    char *own = EtwDefAlloc(def, valid.size + 1);
    if (valid.size != 0) {
        memcpy(own, valid.data, valid.size);
    }
    EtwTextFree(&valid);
    return own;
}

static void freeParser(Parser *p)
{
    EtwText *tables[] = {
            &p->opcodes, &p->tasks, &p->masks, &p->sinces, &p->maps, &p->lists, &p->fields};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        EtwTextFree(tables[i]);
    }
}

EtwProviderDef *EtwCatalogParse(
        const EtwGuid *guid, const char *name, const char *text, size_t size)
{
    Parser p = {.def = EtwDefNew(guid, name, ETW_ORIGIN_CATALOG, "")};
    char *at = ownText(p.def, text, size), *line;
    bool good = true;
    while (good && (line = nextWord(&at, '\n')) != NULL) {
        good = *line == 0 || takeLine(&p, line);
    }
    freeParser(&p);
    if (!good) {
        EtwDefFree(p.def);
        return NULL;
    }
    EtwDefFinish(p.def);
    return p.def;
}
