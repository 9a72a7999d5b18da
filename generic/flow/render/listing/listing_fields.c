/*
 * flow/render/listing/listing_fields.c --
 *
 *	The Name=value part of a line. Nothing that comes from an event reaches the terminal
 *	as a control character.
 */
#include "flow/render/listing/listing_int.h"
#include "schema/model/text_defs.h"

enum { SHOWN_BYTES = 32, SHOWN_STRINGS = 200 }; /* of a payload that nobody can decode */

/* ---- Texts ----------------------------------------------------------------------------------- */

static void addVisible(EtwText *out, uint32_t c)
{
    static const char letters[256] = {['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    EtwTextChar(out, '\\');
    if (c < 256 && letters[c] != 0) {
        EtwTextChar(out, letters[c]);
    } else {
        EtwTextChar(out, c < 256 ? 'x' : 'u');
        EtwTextHex(out, c, c < 256 ? 2 : 4);
    }
}

/*
 * Whether a terminal might obey the character at p or be turned around by it: C0, DEL, C1, line
 * separators, bidirectional controls. Its code point (when so) and size. The text is valid UTF-8.
 */
static bool unsafeAt(const uint8_t *p, size_t left, uint32_t *codePtr, size_t *sizePtr)
{
    *sizePtr = 1;
    *codePtr = p[0];
    if (p[0] == 0xC2 && left >= 2 && p[1] < 0xA0) {
        *sizePtr = 2;
        *codePtr = p[1];
        return true;
    }
    if (p[0] == 0xE2 && left >= 3) {
        uint32_t c = 0x2000u | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3F);
        *sizePtr = 3;
        *codePtr = c;
        return (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
    }
    return p[0] < 0x20 || p[0] == 0x7F;
}

/* How many bytes from p on are printable ASCII that needs no backslash. */
static size_t plainRun(const uint8_t *p, size_t size, bool quoted)
{
    size_t n = 0;
    while (n < size && p[n] >= 0x20 && p[n] < 0x7F && !(quoted && (p[n] == '"' || p[n] == '\\'))) {
        n++;
    }
    return n;
}

static void addSafe(EtwText *out, const uint8_t *p, size_t size, bool quoted)
{
    uint32_t code;
    for (size_t n; size > 0; p += n, size -= n) {
        n = plainRun(p, size, quoted);
        if (n > 0) {
            EtwTextAdd(out, p, n);
        } else if (unsafeAt(p, size, &code, &n)) {
            addVisible(out, code);
        } else if (quoted && (p[0] == '"' || p[0] == '\\')) {
            EtwTextChar(out, '\\');
            EtwTextChar(out, (char)p[0]);
        } else {
            EtwTextAdd(out, p, n);
        }
    }
}

void EtwListingSafe(EtwSink *sink, const uint8_t *bytes, size_t size, EtwText *out)
{
    if (!(EtwTextTraits(bytes, size) & ETW_TEXT_SPECIAL)) {
        EtwTextAdd(out, bytes, size);
        return;
    }
    sink->scratch.size = 0;
    EtwTextUtf8(&sink->scratch, bytes, size);
    addSafe(out, (const uint8_t *)sink->scratch.data, sink->scratch.size, false);
}

static void addQuotable(EtwSink *sink, const uint8_t *bytes, size_t size, EtwText *out)
{
    unsigned traits = EtwTextTraits(bytes, size);
    if (!(traits & ETW_TEXT_SPECIAL)) {
        bool quotes = (traits & ETW_TEXT_DELIMITER) != 0;
        EtwTextReserve(out, size + 2);
        if (quotes) {
            EtwTextChar(out, '"');
        }
        EtwAddShort(out, bytes, size);
        if (quotes) {
            EtwTextChar(out, '"');
        }
        return;
    }
    sink->scratch.size = 0;
    EtwTextUtf8(&sink->scratch, bytes, size);
    const uint8_t *text = (const uint8_t *)sink->scratch.data;
    bool quotes = (EtwTextTraits(text, sink->scratch.size) & ETW_TEXT_DELIMITER) != 0;
    if (quotes) {
        EtwTextChar(out, '"');
    }
    addSafe(out, text, sink->scratch.size, quotes);
    if (quotes) {
        EtwTextChar(out, '"');
    }
}

/* ---- Values ---------------------------------------------------------------------------------- */

void EtwListingFieldValue(EtwSink *sink, const EtwField *field, const EtwValue *v, EtwText *out)
{
    switch (v->kind) {
    case ETW_V_TEXT:
        addQuotable(sink, v->data, v->size, out);
        break;
    case ETW_V_TEXT16:
        sink->scratch2.size = 0;
        EtwTextUtf16(&sink->scratch2, v->data, v->size / 2);
        addQuotable(sink, (const uint8_t *)sink->scratch2.data, sink->scratch2.size, out);
        break;
    case ETW_V_UINT:
        if (v->out == ETW_OUT_DEFAULT && field->map == NULL) {
            EtwAddDecimal(out, v->u);
            break;
        }
        EtwFormatValue(out, field, v);
        break;
    case ETW_V_NULL:
        ETW_ADD(out, "null");
        break;
    default:
        EtwFormatValue(out, field, v);
        break;
    }
}

void EtwListingBareValue(EtwSink *sink, const EtwField *field, const EtwValue *v, EtwText *out)
{
    if (v->kind == ETW_V_TEXT) {
        EtwListingSafe(sink, v->data, v->size, out);
    } else if (v->kind == ETW_V_TEXT16) {
        sink->scratch2.size = 0;
        EtwTextUtf16(&sink->scratch2, v->data, v->size / 2);
        EtwListingSafe(sink, (const uint8_t *)sink->scratch2.data, sink->scratch2.size, out);
    } else {
        EtwListingFieldValue(sink, field, v, out);
    }
}

/* ---- The fields of an event ------------------------------------------------------------------ */

typedef struct FieldWriter {
    EtwSink *sink;
    EtwText *out;
    const EtwField *fields;
    const ListingPrefix *prefixes;
    uint64_t skip;
    uint64_t lists;     /* a bit for each open container, the innermost lowest; 1: elements have no
                       names */
    const char *object; /* the event's, until it is told */
    int hidden;         /* open containers that are not shown */
    bool first;         /* in the innermost container */
    bool bare;          /* the schema has no fields */
} FieldWriter;

static bool isHidden(const FieldWriter *w, const EtwField *field)
{
    size_t index = (size_t)(field - w->fields);
    return w->hidden > 0 || field->out == ETW_OUT_NOPRINT ||
           (index < 64 && (w->skip >> index & 1) != 0);
}

static inline void addName(FieldWriter *w, const EtwField *field)
{
    if (!w->first) {
        EtwTextChar(w->out, ' ');
    }
    w->first = false;
    if ((w->lists & 1) == 0) {
        const ListingPrefix *prefix = &w->prefixes[field - w->fields];
        EtwAddShort(w->out, prefix->text, prefix->size);
    }
}

/* Fields that stand for a file or key: the first of them is told by its path, too. */
static bool isObject(const char *name)
{
    return strcmp(name, "FileKey") == 0 || strcmp(name, "FileObject") == 0 ||
           strcmp(name, "KeyHandle") == 0;
}

static void addObject(FieldWriter *w)
{
    ETW_ADD(w->out, " \"");
    EtwListingSafe(w->sink, (const uint8_t *)w->object, strlen(w->object), w->out);
    EtwTextChar(w->out, '"');
    w->object = NULL;
}

static void fieldValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    FieldWriter *w = ctx;
    if (!isHidden(w, field)) {
        addName(w, field);
        EtwListingFieldValue(w->sink, field, value, w->out);
        if (w->object != NULL && isObject(field->name)) {
            addObject(w);
        }
    }
}

static void fieldBegin(void *ctx, const EtwField *field, bool isStruct, int count)
{
    FieldWriter *w = ctx;
    (void)count;
    if (isHidden(w, field)) {
        w->hidden++;
        return;
    }
    addName(w, field);
    EtwTextChar(w->out, isStruct ? '{' : '[');
    w->lists = w->lists << 1 | !isStruct;
    w->first = true;
}

static void fieldEnd(void *ctx, const EtwField *field, bool isStruct)
{
    FieldWriter *w = ctx;
    (void)field;
    if (w->hidden > 0) {
        w->hidden--;
        return;
    }
    EtwTextChar(w->out, isStruct ? '}' : ']');
    w->lists >>= 1;
    w->first = false;
}

static void fieldRest(void *ctx, const uint8_t *data, size_t size)
{
    static const EtwField field = {.name = ""};
    FieldWriter *w = ctx;
    EtwValue value = {.kind = ETW_V_BYTES, .data = data, .size = size};
    if (w->bare) {
        ETW_ADD(w->out, " payload=");
    } else {
        ETW_ADD(w->out, " rest=");
    }
    value.size = size > SHOWN_BYTES ? SHOWN_BYTES : size;
    EtwFormatValue(w->out, &field, &value);
    if (size > SHOWN_BYTES) {
        ETW_ADD(w->out, "\xE2\x80\xA6(");
        EtwAddDecimal(w->out, size);
        ETW_ADD(w->out, " bytes)");
    }
    size_t before = w->out->size;
    ETW_ADD(w->out, " strings=");
    if (!w->bare || !EtwPrintableStrings(w->out, data, size, SHOWN_STRINGS)) {
        w->out->size = before;
    }
}

void EtwListingFields(EtwSink *sink, const EtwEvent *event, const EtwSchema *schema,
        const ListingPrefix *prefixes, uint64_t skip, EtwText *out)
{
    static const EtwVisitor visitor = {fieldValue, fieldBegin, fieldEnd, fieldRest};
    static const EtwSchema unknown = {.provider = "", .event = ""};
    const EtwSchema *by = schema ? schema : &unknown;
    FieldWriter w = {.sink = sink,
            .out = out,
            .fields = by->fields,
            .prefixes = prefixes,
            .skip = skip,
            .object = event->object,
            .bare = by->fieldCount == 0};
    if (EtwDecode(by, event, &visitor, &w) != ETW_OK) {
        ETW_ADD(out, " (" ETW_TOO_SHORT ")");
    }
}
