/*
 * flow/render/listing/listing_fields.c --
 *
 *	The Name=value part of a line. Control characters in an event's data are escaped.
 */
#include "flow/render/listing/listing_int.h"
#include "base/unicode.h"
#include "schema/model/text_defs.h"

enum { SHOWN_BYTES = 32, SHOWN_STRINGS = 200 }; /* of a payload that cannot be decoded */

/* ---- Texts ----------------------------------------------------------------------------------- */

static void addQuotable(const uint8_t *bytes, size_t size, EtwText *out)
{
    unsigned traits = EtwTextTraits(bytes, size);
    bool quotes = (traits & ETW_TEXT_DELIMITER) != 0;
    EtwTextReserve(out, size + 2);
    if (quotes) {
        EtwTextChar(out, '"');
    }
    if (!(traits & ETW_TEXT_SPECIAL)) {
        EtwAddShort(out, bytes, size);
    } else if (quotes) {
        EtwAddSafeQuoted(out, bytes, size);
    } else {
        EtwAddSafe(out, bytes, size);
    }
    if (quotes) {
        EtwTextChar(out, '"');
    }
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* Names of a map's values may come from files, so they are escaped. */
static void addFormatted(EtwSink *sink, const EtwField *field, const EtwValue *v, EtwText *out)
{
    if (field->map == NULL) {
        EtwFormatValue(out, field, v);
        return;
    }
    sink->scratch2.size = 0;
    EtwFormatValue(&sink->scratch2, field, v);
    EtwAddSafe(out, sink->scratch2.data, sink->scratch2.size);
}

void EtwListingFieldValue(EtwSink *sink, const EtwField *field, const EtwValue *v, EtwText *out)
{
    switch (v->kind) {
    case ETW_V_TEXT:
        addQuotable(v->data, v->size, out);
        break;
    case ETW_V_TEXT16:
        sink->scratch2.size = 0;
        EtwTextUtf16(&sink->scratch2, v->data, v->size / 2);
        addQuotable((const uint8_t *)sink->scratch2.data, sink->scratch2.size, out);
        break;
    case ETW_V_UINT:
        if (v->out == ETW_OUT_DEFAULT && field->map == NULL) {
            EtwAddDecimal(out, v->u);
            break;
        }
        addFormatted(sink, field, v, out);
        break;
    case ETW_V_NULL:
        ETW_ADD(out, "null");
        break;
    default:
        addFormatted(sink, field, v, out);
        break;
    }
}

void EtwListingBareValue(EtwSink *sink, const EtwField *field, const EtwValue *v, EtwText *out)
{
    if (v->kind == ETW_V_TEXT) {
        EtwAddSafe(out, v->data, v->size);
    } else if (v->kind == ETW_V_TEXT16) {
        sink->scratch2.size = 0;
        EtwTextUtf16(&sink->scratch2, v->data, v->size / 2);
        EtwAddSafe(out, sink->scratch2.data, sink->scratch2.size);
    } else {
        EtwListingFieldValue(sink, field, v, out);
    }
}

/* ---- The fields of an event ------------------------------------------------------------------ */

typedef struct FieldWriter {
    EtwSink *sink;
    EtwText *out;
    const EtwSchema *schema;
    const EtwField *fields;
    const ListingPrefix *prefixes;
    uint64_t skip;
    uint64_t lists;     /* a bit for each open container, innermost lowest; 1: a list (no names) */
    const char *object; /* the event's object, until it is shown */
    uint64_t objects;   /* a bit for each field that identifies it */
    int hidden;         /* number of open containers that are not shown */
    bool first;         /* in the innermost container */
    bool bare;          /* the schema has no fields */
    bool full;          /* the line is cut before the next field */
    size_t start, columns; /* of the line */
    size_t measured;       /* the line is not full while it ends before */
} FieldWriter;

static bool measure(FieldWriter *w)
{
    if (!w->full) {
        size_t width = EtwListingWidth(w->out, w->start);
        w->full = width > w->columns;
        w->measured = w->full ? 0 : w->out->size + (w->columns - width);
    }
    return w->full;
}

/* No character has more columns than bytes, so that most lines are not measured. */
static inline bool isFull(FieldWriter *w)
{
    return w->out->size > w->measured && measure(w);
}

/* An empty name, of what could not be determined. */
static bool isUnknownName(const FieldWriter *w, const EtwField *field, const EtwValue *v)
{
    return v->kind == ETW_V_TEXT && v->size == 0 &&
           EtwSemanticsOf(w->schema)->field[ETW_ROLE_NAME] == field - w->schema->fields;
}

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

/* Fields that identify a file or key. The first of them is shown together with its path. */
static uint64_t objectFields(const EtwSchema *schema)
{
    static const EtwRole roles[] = {ETW_ROLE_FILE_KEY, ETW_ROLE_FILE_OBJECT};
    uint64_t fields = 0;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        int field = EtwSemanticsOf(schema)->field[roles[i]];
        fields |= field >= 0 && field < ETW_ROLE_FIELDS ? 1ull << field : 0;
    }
    return fields;
}

static inline bool isObject(const FieldWriter *w, const EtwField *field)
{
    size_t index = (size_t)(field - w->fields);
    return w->object != NULL && index < ETW_ROLE_FIELDS && (w->objects >> index & 1) != 0;
}

static void addObject(FieldWriter *w)
{
    ETW_ADD(w->out, " \"");
    EtwAddSafeStr(w->out, w->object);
    EtwTextChar(w->out, '"');
    w->object = NULL;
}

static void fieldValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    FieldWriter *w = ctx;
    if (!isHidden(w, field) && !isUnknownName(w, field, value) && !isFull(w)) {
        addName(w, field);
        EtwListingFieldValue(w->sink, field, value, w->out);
        if (isObject(w, field)) {
            addObject(w);
        }
    }
}

static void fieldBegin(void *ctx, const EtwField *field, bool isStruct, int count)
{
    FieldWriter *w = ctx;
    (void)count;
    if (isHidden(w, field) || isFull(w)) {
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
    if (isFull(w)) {
        return;
    }
    if (w->bare) {
        ETW_ADD(w->out, " payload=");
    } else {
        ETW_ADD(w->out, " rest="); /* extra bytes, after the fields */
    }
    value.size = size > SHOWN_BYTES ? SHOWN_BYTES : size;
    EtwFormatValue(w->out, &field, &value);
    if (size > SHOWN_BYTES) {
        ETW_ADD(w->out, "\xE2\x80\xA6(");
        EtwAddDecimal(w->out, size);
        ETW_ADD(w->out, w->bare ? " bytes)" : " extra bytes)");
    }
    size_t before = w->out->size;
    ETW_ADD(w->out, " strings=");
    if (!w->bare || !EtwPrintableStrings(w->out, data, size, SHOWN_STRINGS)) {
        w->out->size = before;
    }
}

void EtwListingFields(EtwSink *sink, const ListingLine *line, const EtwSchema *schema,
        const ListingPrefix *prefixes, uint64_t skip, EtwText *out)
{
    static const EtwVisitor visitor = {fieldValue, fieldBegin, fieldEnd, fieldRest};
    static const EtwSchema unknown = {.provider = "", .event = ""};
    const EtwSchema *by = schema ? schema : &unknown;
    const EtwEvent *event = line->event;
    FieldWriter w = {.sink = sink,
            .out = out,
            .schema = by,
            .fields = by->fields,
            .prefixes = prefixes,
            .skip = skip,
            .object = event->object,
            .objects = event->object != NULL && schema != NULL ? objectFields(schema) : 0,
            .bare = by->fieldCount == 0,
            .start = line->start,
            .columns = line->columns,
            .measured = line->columns != SIZE_MAX ? line->start + line->columns : SIZE_MAX};
    if (EtwDecodeUntil(by, event, &visitor, &w, &w.full) != ETW_OK) {
        ETW_ADD(out, " (" ETW_TOO_SHORT ")");
    }
}
