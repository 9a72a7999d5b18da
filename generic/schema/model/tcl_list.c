/*
 * schema/model/tcl_list.c --
 *
 *	Text of Tcl lists. Quoting follows Tcl's rules for elements without quotes and in braces. If
 *	neither is possible, special characters are escaped by backslashes.
 */
#include "schema/model/tcl_list.h"
#include "schema/model/schema_int.h"

/* ---- Quoting --------------------------------------------------------------------------------- */

typedef enum Quoting { QUOTE_BARE, QUOTE_BRACES, QUOTE_BACKSLASHES } Quoting;

/* Characters that require quoting; 2: also not possible in braces. */
static const uint8_t special[256] = {[' '] = 1,
        ['\t'] = 1,
        ['\v'] = 1,
        ['\f'] = 1,
        ['\n'] = 2,
        ['\r'] = 2,
        [';'] = 1,
        ['"'] = 1,
        ['$'] = 1,
        ['['] = 1,
        [']'] = 1,
        ['{'] = 1,
        ['}'] = 1,
        ['\\'] = 1};

static Quoting quotingOf(const char *text, size_t size)
{
    Quoting quoting = size == 0 || text[0] == '#' ? QUOTE_BRACES : QUOTE_BARE;
    long depth = 0;
    for (size_t i = 0; i < size; i++) {
        uint8_t kind = special[(uint8_t)text[i]];
        if (kind == 0) {
            continue;
        }
        quoting = QUOTE_BRACES;
        if (kind == 2) {
            return QUOTE_BACKSLASHES;
        }
        if (text[i] == '{') {
            depth++;
        } else if (text[i] == '}' && --depth < 0) {
            return QUOTE_BACKSLASHES;
        } else if (text[i] == '\\') { /* the next character does not count as a brace */
            i++;
            if (i == size || special[(uint8_t)text[i]] == 2) {
                return QUOTE_BACKSLASHES;
            }
        }
    }
    return depth == 0 ? quoting : QUOTE_BACKSLASHES;
}

static void addEscaped(EtwText *out, const char *text, size_t size)
{
    static const char letters[256] = {
            ['\t'] = 't', ['\v'] = 'v', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r'};
    for (size_t i = 0; i < size; i++) {
        uint8_t c = (uint8_t)text[i];
        if (special[c] != 0 || (c == '#' && i == 0)) {
            EtwTextChar(out, '\\');
            c = letters[c] ? (uint8_t)letters[c] : c;
        }
        EtwTextChar(out, (char)c);
    }
}

void EtwListElement(EtwText *out, const char *text, size_t size)
{
    switch (quotingOf(text, size)) {
    case QUOTE_BARE:
        EtwTextAdd(out, text, size);
        break;
    case QUOTE_BRACES:
        EtwTextReserve(out, size + 2);
        EtwTextChar(out, '{');
        EtwTextAdd(out, text, size);
        EtwTextChar(out, '}');
        break;
    case QUOTE_BACKSLASHES:
        addEscaped(out, text, size);
        break;
    }
}

void EtwListNest(EtwText *out, size_t from)
{
    size_t size = out->size - from;
    Quoting quoting = quotingOf(out->data + from, size);
    if (quoting == QUOTE_BRACES) {
        EtwTextReserve(out, 2);
        memmove(out->data + from + 1, out->data + from, size);
        out->data[from] = '{';
        out->size++;
        EtwTextChar(out, '}');
    } else if (quoting == QUOTE_BACKSLASHES) { /* not needed for list text, which has no line
                                                  breaks and balanced braces */
        EtwText copy = {0};
        EtwTextAdd(&copy, out->data + from, size);
        out->size = from;
        addEscaped(out, copy.data, copy.size);
        EtwTextFree(&copy);
    }
}

void EtwListValue(EtwText *out, const EtwField *field, const EtwValue *v)
{
    EtwWide ns;
    if (EtwValueTime(v, &ns)) {
        EtwFormatWide(out, ns);
    } else if (EtwValueIsText(field, v)) {
        size_t from = out->size;
        EtwTextReserve(out, 1); /* so that data is not NULL */
        EtwFormatValue(out, field, v);
        EtwListNest(out, from);
    } else if (v->kind == ETW_V_INT) {
        EtwTextSigned(out, v->i);
    } else if (v->kind == ETW_V_DOUBLE) {
        EtwFormatDouble(out, v->d, v->width == 4);
    } else {
        EtwTextDecimal(out, v->u);
    }
}

/* ---- Payloads -------------------------------------------------------------------------------- */

enum { MAX_OPEN = 2 * (ETW_MAX_DEPTH + 2) }; /* nesting of arrays and structs */

typedef struct ListBuilder {
    EtwText *out;
    const EtwField *only; /* only this field and its members; NULL: all */
    int depth;
    struct {
        size_t from;
        bool list; /* elements have no names */
    } open[MAX_OPEN];
    bool bare; /* the schema has no fields: the remaining bytes are the payload */
    bool tdh;  /* values in TDH's notation, each top-level value in a list */
} ListBuilder;

static bool wanted(const ListBuilder *b, const EtwField *field)
{
    return b->only == NULL || (field >= b->only && field < b->only + b->only->span);
}

/* Add a separator, and in a dict the name of the value. */
static void addName(ListBuilder *b, const char *name)
{
    if (b->out->size > b->open[b->depth].from) {
        EtwTextChar(b->out, ' ');
    }
    if (!b->open[b->depth].list) {
        EtwListElement(b->out, name, strlen(name));
        EtwTextChar(b->out, ' ');
    }
}

static bool isHex(const EtwField *field, const EtwValue *v)
{
    bool meant = field->in == ETW_IN_HEX32 || field->in == ETW_IN_HEX64 ||
                 field->in == ETW_IN_POINTER || v->out == ETW_OUT_HEX || v->out == ETW_OUT_WIN32 ||
                 v->out == ETW_OUT_NTSTATUS || v->out == ETW_OUT_HRESULT;
    return meant && (v->kind == ETW_V_INT || v->kind == ETW_V_UINT) && v->out != ETW_OUT_UNSIGNED;
}

/* ISO 8601 with milliseconds. */
static void addTdhTime(EtwText *out, const EtwField *field, const EtwValue *v)
{
    EtwFormatValue(out, field, v);
    if (v->kind == ETW_V_FILETIME) {
        out->size -= sizeof "4567Z" - 1;
    } else if (out->data[out->size - 1] == 'Z') {
        out->size--;
    }
    EtwTextChar(out, 'Z');
}

static void addTdhGuid(EtwText *out, const EtwField *field, const EtwValue *v)
{
    size_t from;
    EtwTextStr(out, "{{");
    from = out->size;
    EtwFormatValue(out, field, v);
    for (size_t i = from; i < out->size; i++) {
        out->data[i] = (char)(out->data[i] >= 'a' ? out->data[i] - 0x20 : out->data[i]);
    }
    EtwTextStr(out, "}}");
}

/* One element, like EtwListValue. */
static void addTdhValue(EtwText *out, const EtwField *field, const EtwValue *v)
{
    if (v->kind == ETW_V_GUID) {
        addTdhGuid(out, field, v);
    } else if (v->kind == ETW_V_FILETIME || v->kind == ETW_V_SYSTEMTIME) {
        addTdhTime(out, field, v);
    } else if (isHex(field, v) && !EtwValueIsText(field, v)) {
        uint64_t mask = v->width < 8 ? (1ull << 8 * v->width) - 1 : UINT64_MAX;
        EtwTextStr(out, "0x");
        EtwTextHex(out, v->u & mask, 2 * v->width);
    } else {
        EtwListValue(out, field, v);
    }
}

static void listValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    ListBuilder *b = ctx;
    if (wanted(b, field)) {
        addName(b, field->name);
        size_t from = b->out->size;
        if (!b->tdh) {
            EtwListValue(b->out, field, value);
            return;
        }
        addTdhValue(b->out, field, value);
        if (b->depth == 0) {
            EtwListNest(b->out, from);
        }
    }
}

static void listBegin(void *ctx, const EtwField *field, bool isStruct, int count)
{
    ListBuilder *b = ctx;
    (void)count;
    if (wanted(b, field)) {
        addName(b, field->name);
        b->depth++;
        b->open[b->depth].from = b->out->size;
        b->open[b->depth].list = !isStruct;
    }
}

static void listEnd(void *ctx, const EtwField *field, bool isStruct)
{
    ListBuilder *b = ctx;
    (void)isStruct;
    if (wanted(b, field)) {
        if (!(b->only == field && b->depth == 1)) {
            EtwListNest(b->out, b->open[b->depth].from);
        }
        if (b->tdh && b->depth == 1 && field->array == ETW_SCALAR) {
            EtwListNest(b->out, b->open[b->depth].from);
        }
        b->depth--;
    }
}

static void listRest(void *ctx, const uint8_t *data, size_t size)
{
    static const EtwField field = {.name = ""};
    const EtwValue value = {.kind = ETW_V_BYTES, .data = data, .size = size};
    ListBuilder *b = ctx;
    if (b->only == NULL) {
        addName(b, !b->bare ? "_rest" : b->tdh ? "_userdata" : "_payload");
        EtwFormatValue(b->out, &field, &value);
    }
}

static const EtwVisitor listVisitor = {listValue, listBegin, listEnd, listRest};

EtwStatus EtwListDict(EtwText *out, const EtwSchema *schema, const EtwEvent *event, bool tdh)
{
    static const EtwSchema unknown = {.provider = "", .event = ""};
    const EtwSchema *by = schema ? schema : &unknown;
    ListBuilder b = {.out = out, .bare = by->fieldCount == 0, .tdh = tdh};
    EtwTextReserve(out, 1);
    b.open[0].from = out->size;
    return EtwDecode(by, event, &listVisitor, &b);
}

EtwStatus EtwListProps(EtwText *out, const EtwSchema *schema, const EtwEvent *event)
{
    size_t from = out->size;
    EtwStatus status = EtwListDict(out, schema, event, false);
    EtwListNest(out, from);
    return status;
}

EtwStatus EtwListField(EtwText *out, const EtwSchema *schema, const EtwEvent *event, int index)
{
    ListBuilder b = {.out = out, .only = &schema->fields[index]};
    EtwTextReserve(out, 1);
    b.open[0].from = out->size;
    b.open[0].list = true; /* no name */
    return EtwDecode(schema, event, &listVisitor, &b);
}
