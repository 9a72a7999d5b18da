/*
 * schema/model/encode.c --
 *
 *	Builds a payload by its schema. Each function is the inverse of the function in decode.c for
 *	the same field. The source of the values parses text. This file does not build records.
 */
#include "schema/model/encode.h"
#include "schema/model/schema_int.h"
#include "schema/model/tdh_types.h"

typedef struct Build {
    EtwText *out;
    size_t start;           /* offset of the payload in *out */
    const EtwField *fields; /* of the schema */
    const EtwFieldSource *source;
    void *ctx;
    EtwError *errPtr;
    size_t budget; /* number of elements left: empty ones could be unlimited */
    uint8_t pointerSize;
    uint32_t numbers[ETW_MAX_FIELDS]; /* last value of each field that counts others */
} Build;

/* ---- Bytes and errors ------------------------------------------------------------------------ */

static EtwStatus put(Build *b, const void *data, size_t size)
{
    size_t used = b->out->size - b->start;
    if (used > ETW_ENCODE_MAX || size > ETW_ENCODE_MAX - used) {
        return EtwFail(b->errPtr, ETW_E_LIMIT, "PAYLOAD", "", "the payload is larger than %d bytes",
                ETW_ENCODE_MAX);
    }
    EtwTextAdd(b->out, data, size);
    return ETW_OK;
}

static EtwStatus putZeros(Build *b, size_t size)
{
    static const uint8_t zeros[256];
    EtwStatus status = ETW_OK;
    for (; size > sizeof zeros && status == ETW_OK; size -= sizeof zeros) {
        status = put(b, zeros, sizeof zeros);
    }
    return status == ETW_OK ? put(b, zeros, size) : status;
}

static EtwStatus wrongKind(Build *b, const EtwField *f)
{
    return EtwFail(b->errPtr, ETW_E_ARG, "KIND", f->name,
            "field \"%s\": the type of the value does not fit the field", f->name);
}

static EtwStatus tooLong(Build *b, const EtwField *f, size_t size, size_t most)
{
    return EtwFail(b->errPtr, ETW_E_ARG, "SIZE", f->name,
            "field \"%s\": the value has %llu bytes, but at most %llu fit", f->name,
            (unsigned long long)size, (unsigned long long)most);
}

static EtwStatus wrongCount(Build *b, const EtwField *f, uint64_t got, uint64_t wanted)
{
    return EtwFail(b->errPtr, ETW_E_ARG, "COUNT", f->name,
            "field \"%s\": %llu elements were given, but the event has %llu", f->name,
            (unsigned long long)got, (unsigned long long)wanted);
}

/* ---- Numbers --------------------------------------------------------------------------------- */

/* Size of a number of that in-type; 0: not a number. */
static size_t numberSize(const EtwField *f, uint8_t pointerSize)
{
    switch (f->in) {
    case ETW_IN_FLOAT:
    case ETW_IN_DOUBLE:
    case ETW_IN_GUID:
    case ETW_IN_SYSTEMTIME:
        return 0;
    default:
        return (size_t)EtwFixedSize(f, pointerSize);
    }
}

bool EtwFieldIsSigned(const EtwField *f)
{
    bool in = f->in == ETW_IN_INT8 || f->in == ETW_IN_INT16 || f->in == ETW_IN_INT32 ||
              f->in == ETW_IN_INT64;
    return f->out == ETW_OUT_SIGNED || (in && f->out != ETW_OUT_UNSIGNED);
}

static bool inRange(const EtwField *f, const EtwValue *v, size_t size)
{
    int spare = 64 - 8 * (int)size;
    bool negative = v->kind == ETW_V_INT && v->i < 0;
    if (negative) {
        return EtwFieldIsSigned(f) && v->i >= INT64_MIN >> spare;
    }
    /* times and ports of a signed type use all bits */
    bool half = EtwFieldIsSigned(f) && v->kind == ETW_V_INT;
    return v->u <= (half ? (uint64_t)INT64_MAX : UINT64_MAX) >> spare;
}

static bool isNumber(EtwValueKind kind)
{
    return kind == ETW_V_INT || kind == ETW_V_UINT || kind == ETW_V_BOOL || kind == ETW_V_FILETIME;
}

static EtwStatus putNumber(Build *b, const EtwField *f, const EtwValue *v, size_t size)
{
    uint8_t bytes[8];
    if (f->out == ETW_OUT_STRING && size <= 2 && v->size == size &&
            v->kind == (size == 1 ? ETW_V_TEXT : ETW_V_TEXT16)) { /* a character */
        return put(b, v->data, size);
    }
    if (!isNumber(v->kind)) {
        return wrongKind(b, f);
    }
    if (!inRange(f, v, size)) {
        return EtwFail(b->errPtr, ETW_E_ARG, "RANGE", f->name,
                "field \"%s\": the number does not fit into the %d bytes of the field", f->name,
                (int)size);
    }
    EtwStore64(bytes, v->u);
    if (f->out == ETW_OUT_PORT && size == 2) {
        bytes[0] = (uint8_t)(v->u >> 8);
        bytes[1] = (uint8_t)v->u;
    }
    return put(b, bytes, size);
}

static EtwStatus putReal(Build *b, const EtwField *f, const EtwValue *v, size_t size)
{
    if (v->kind != ETW_V_DOUBLE) {
        return wrongKind(b, f);
    }
    float single = (float)v->d;
    return put(b, size == 4 ? (const void *)&single : &v->d, size);
}

/* ---- Texts and bytes ------------------------------------------------------------------------- */

static EtwStatus putFixed(
        Build *b, const EtwField *f, const EtwValue *v, EtwValueKind kind, size_t size)
{
    return v->kind != kind || v->size != size ? wrongKind(b, f) : put(b, v->data, size);
}

/* Append the value after its size of `prefix` bytes. */
static EtwStatus putCounted(Build *b, const EtwField *f, const EtwValue *v, EtwValueKind kind,
        size_t prefix, bool swapped)
{
    uint8_t count[4];
    if (v->kind != kind || (kind == ETW_V_TEXT16 && v->size % 2 != 0)) {
        return wrongKind(b, f);
    }
    if (v->size > UINT16_MAX) { /* also if the prefix is larger */
        return tooLong(b, f, v->size, UINT16_MAX);
    }
    EtwStore32(count, (uint32_t)v->size);
    if (swapped) {
        count[0] = (uint8_t)(v->size >> 8);
        count[1] = (uint8_t)v->size;
    }
    EtwStatus status = put(b, count, prefix);
    return status == ETW_OK ? put(b, v->data, v->size) : status;
}

static EtwStatus putText(Build *b, const EtwField *f, const EtwValue *v, size_t unit)
{
    if (v->kind != (unit == 1 ? ETW_V_TEXT : ETW_V_TEXT16) || v->size % unit != 0) {
        return wrongKind(b, f);
    }
    EtwStatus status = put(b, v->data, EtwUntilNul(v));
    return status == ETW_OK ? putZeros(b, unit) : status;
}

static EtwStatus putSid(Build *b, const EtwField *f, const EtwValue *v)
{
    bool good = v->kind == ETW_V_SID && v->size >= 8 && v->size == 8 + 4 * (size_t)v->data[1];
    return good ? put(b, v->data, v->size) : wrongKind(b, f);
}

/*
 * A null value is a zero. Otherwise a TOKEN_USER, whose pointer must not be 0, followed by the SID.
 */
static EtwStatus putWbemSid(Build *b, const EtwField *f, const EtwValue *v)
{
    if (v->kind == ETW_V_NULL) {
        return putZeros(b, 4);
    }
    EtwStatus status = put(b, "\1\0\0\0", 4);
    if (status == ETW_OK) {
        status = putZeros(b, 2 * (size_t)b->pointerSize - 4);
    }
    return status == ETW_OK ? putSid(b, f, v) : status;
}

static EtwStatus putScalar(Build *b, const EtwField *f, const EtwValue *v)
{
    size_t size = numberSize(f, b->pointerSize);
    if (size != 0) {
        return putNumber(b, f, v, size);
    }
    switch (f->in) {
    case ETW_IN_COUNTED_ANSI:
        return putCounted(b, f, v, ETW_V_TEXT, 2, false);
    case ETW_IN_COUNTED_UTF16:
        return putCounted(b, f, v, ETW_V_TEXT16, 2, false);
    case ETW_IN_COUNTED_ANSI_SWAP:
        return putCounted(b, f, v, ETW_V_TEXT, 2, true);
    case ETW_IN_COUNTED_UTF16_SWAP:
        return putCounted(b, f, v, ETW_V_TEXT16, 2, true);
    case ETW_IN_BINARY:
    case ETW_IN_COUNTED_BINARY:
        return putCounted(b, f, v, EtwBinaryKind(f->out), 2, false);
    case ETW_IN_COUNTED32_BINARY:
        return putCounted(b, f, v, EtwBinaryKind(f->out), 4, false);
    case ETW_IN_ANSIZ:
        return putText(b, f, v, 1);
    case ETW_IN_UTF16Z:
        return putText(b, f, v, 2);
    case ETW_IN_FLOAT:
        return putReal(b, f, v, 4);
    case ETW_IN_DOUBLE:
        return putReal(b, f, v, 8);
    case ETW_IN_GUID:
        return putFixed(b, f, v, ETW_V_GUID, 16);
    case ETW_IN_SYSTEMTIME:
        return putFixed(b, f, v, ETW_V_SYSTEMTIME, 16);
    case ETW_IN_SID:
        return putSid(b, f, v);
    case ETW_IN_WBEM_SID:
        return putWbemSid(b, f, v);
    default: /* ETW_IN_NULL */
        return ETW_OK;
    }
}

/* ---- Sizes defined by the schema ------------------------------------------------------------- */

/* A text of a fixed size is padded with zeros; bytes must have the exact size. */
static EtwStatus putCapacity(
        Build *b, const EtwField *f, const EtwValue *v, EtwValueKind kind, size_t capacity)
{
    if (v->kind != kind || (kind == ETW_V_TEXT16 && v->size % 2 != 0)) {
        return wrongKind(b, f);
    }
    if (v->size > capacity) {
        return tooLong(b, f, v->size, capacity);
    }
    if (kind == ETW_V_BYTES && v->size != capacity) {
        return wrongCount(b, f, v->size, capacity);
    }
    EtwStatus status = put(b, v->data, v->size);
    return status == ETW_OK ? putZeros(b, capacity - v->size) : status;
}

/* The size defined by the schema or another field; 0: not defined. */
static size_t capacityOf(const Build *b, const EtwField *f)
{
    size_t unit = f->in == ETW_IN_UTF16Z ? 2 : 1;
    return f->sized == ETW_SIZE_FIXED      ? unit * f->length
           : f->sized == ETW_SIZE_BY_FIELD ? unit * (size_t)b->numbers[f->length]
                                           : 0;
}

static EtwStatus putSized(Build *b, const EtwField *f, const EtwValue *v)
{
    EtwValueKind kind = f->in == ETW_IN_UTF16Z  ? ETW_V_TEXT16
                        : f->in == ETW_IN_ANSIZ ? ETW_V_TEXT
                                                : EtwBinaryKind(f->out);
    return putCapacity(b, f, v, kind, f->sized == ETW_SIZE_REST ? v->size : capacityOf(b, f));
}

/* ---- The walk -------------------------------------------------------------------------------- */

static EtwStatus buildSibling(Build *b, const EtwField *f);

static EtwStatus begin(Build *b, const EtwField *f, bool isStruct, uint32_t *countPtr)
{
    *countPtr = f->array == ETW_ARRAY_FIXED      ? f->count
                : f->array == ETW_ARRAY_BY_FIELD ? b->numbers[f->count]
                                                 : 0;
    return b->source->begin != NULL ? b->source->begin(b->ctx, f, isStruct, countPtr, b->errPtr)
                                    : ETW_OK;
}

static void end(Build *b, const EtwField *f, bool isStruct)
{
    if (b->source->end != NULL) {
        b->source->end(b->ctx, f, isStruct);
    }
}

static EtwStatus buildMembers(Build *b, const EtwField *f)
{
    uint32_t unused;
    EtwStatus status = begin(b, f, true, &unused);
    for (const EtwField *m = f + 1; m < f + f->span && status == ETW_OK; m += m->span) {
        status = buildSibling(b, m);
    }
    if (status == ETW_OK) {
        end(b, f, true);
    }
    return status;
}

static EtwStatus buildElement(Build *b, const EtwField *f)
{
    EtwValue value = {.kind = ETW_V_NULL,
            .out = f->out,
            .width = (uint8_t)numberSize(f, b->pointerSize),
            .size = capacityOf(b, f)};
    if (b->budget-- == 0) {
        return EtwFail(b->errPtr, ETW_E_LIMIT, "PAYLOAD", f->name,
                "field \"%s\": too many elements", f->name);
    }
    if (f->in == ETW_IN_STRUCT) {
        return buildMembers(b, f);
    }
    EtwStatus status;
    if (f->in == ETW_IN_SKIP) {
        status = putZeros(b, f->length ? f->length : b->pointerSize);
    } else if ((status = b->source->value(b->ctx, f, &value, b->errPtr)) != ETW_OK) {
        return status;
    } else if (value.kind == ETW_V_ENCODED) {
        status = put(b, NULL, 0);
    } else {
        status = f->sized != ETW_SIZE_OWN ? putSized(b, f, &value) : putScalar(b, f, &value);
    }
    if (status == ETW_OK && f->counts) { /* in the same way as the decoder */
        b->numbers[f - b->fields] = value.u > UINT32_MAX ? UINT32_MAX : (uint32_t)value.u;
    }
    return status;
}

/*
 * Check the number of elements against the schema or a field, or store it in the array's own count.
 */
static EtwStatus putCount(Build *b, const EtwField *f, uint32_t count)
{
    uint8_t stored[2];
    switch (f->array) {
    case ETW_ARRAY_FIXED:
        return count == f->count ? ETW_OK : wrongCount(b, f, count, f->count);
    case ETW_ARRAY_BY_FIELD:
        return count == b->numbers[f->count] ? ETW_OK
                                             : wrongCount(b, f, count, b->numbers[f->count]);
    case ETW_ARRAY_REST:
        return ETW_OK;
    }
    if (count > UINT16_MAX) {
        return tooLong(b, f, count, UINT16_MAX);
    }
    EtwStore16(stored, (uint16_t)count);
    return put(b, stored, 2);
}

static EtwStatus buildChars(Build *b, const EtwField *f)
{
    size_t unit = f->in == ETW_IN_INT8 || f->in == ETW_IN_UINT8 ? 1 : 2;
    EtwValue value = {.kind = ETW_V_NULL, .out = f->out, .width = (uint8_t)unit};
    EtwStatus status = b->source->value(b->ctx, f, &value, b->errPtr);
    size_t capacity = f->array == ETW_ARRAY_FIXED      ? unit * f->count
                      : f->array == ETW_ARRAY_BY_FIELD ? unit * (size_t)b->numbers[f->count]
                                                       : value.size;
    if (status == ETW_OK && f->array == ETW_ARRAY_COUNTED) {
        status = putCount(
                b, f, value.size / unit > UINT32_MAX ? UINT32_MAX : (uint32_t)(value.size / unit));
    }
    return status == ETW_OK
                   ? putCapacity(b, f, &value, unit == 1 ? ETW_V_TEXT : ETW_V_TEXT16, capacity)
                   : status;
}

static EtwStatus buildArray(Build *b, const EtwField *f)
{
    uint32_t count;
    if (EtwFieldIsChars(f)) {
        return buildChars(b, f);
    }
    EtwStatus status = begin(b, f, false, &count);
    if (status == ETW_OK) {
        status = putCount(b, f, count);
    }
    for (uint32_t i = 0; i < count && status == ETW_OK; i++) {
        status = buildElement(b, f);
    }
    if (status == ETW_OK) {
        end(b, f, false);
    }
    return status;
}

static EtwStatus buildSibling(Build *b, const EtwField *f)
{
    return f->array == ETW_SCALAR ? buildElement(b, f) : buildArray(b, f);
}

EtwStatus EtwEncode(EtwText *out, const EtwSchema *schema, uint8_t pointerSize,
        const EtwFieldSource *source, void *ctx, EtwError *errPtr)
{
    Build b;
    EtwStatus status = ETW_OK;
    b.out = out;
    b.start = out->size;
    b.fields = schema->fields;
    b.source = source;
    b.ctx = ctx;
    b.errPtr = errPtr;
    b.budget = (size_t)ETW_ENCODE_MAX * 4 + (size_t)schema->fieldCount * 4 + 256;
    b.pointerSize = pointerSize == 4 ? 4 : 8;
    for (int i = 0; i < schema->fieldCount && status == ETW_OK; i += schema->fields[i].span) {
        status = buildSibling(&b, &schema->fields[i]);
    }
    return status;
}
