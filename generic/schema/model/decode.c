/*
 * schema/model/decode.c --
 *
 *	Decodes a payload by its schema. Values are not copied: they point into the payload.
 *	value_text.c formats values; tracelogging.c parses metadata.
 */
#include "schema/model/decode.h"
#include "schema/model/schema_int.h"
#include "schema/model/tdh_types.h"

/*
 * State of a decoding. `budget` limits the number of calls of the visitor, because arrays of empty
 * elements could have any length.
 */
typedef struct Walk {
    EtwBytes bytes;
    const EtwField *fields; /* of the schema */
    const EtwVisitor *visitor;
    void *ctx;
    size_t budget;
    uint8_t pointerSize;
    uint32_t numbers[ETW_MAX_FIELDS]; /* last value of each field that counts others */
} Walk;

/* ---- Scalars --------------------------------------------------------------------------------- */

static inline void setUnsigned(EtwValue *v, uint64_t u, uint8_t width)
{
    v->kind = v->out == ETW_OUT_SIGNED ? ETW_V_INT : ETW_V_UINT;
    v->width = width;
    v->u = u;
    if (v->kind == ETW_V_INT && width < 8) { /* sign-extend */
        int shift = 64 - 8 * width;
        v->i = (int64_t)(u << shift) >> shift;
    }
}

static inline void setSigned(EtwValue *v, int64_t i, uint8_t width)
{
    v->kind = ETW_V_INT;
    v->width = width;
    v->i = i;
    if (v->out == ETW_OUT_UNSIGNED) {
        v->kind = ETW_V_UINT;
        v->u &= width < 8 ? (1ull << 8 * width) - 1 : ~0ull;
    }
}

/* Apply an out-type that changes the kind of a number: character, boolean, port, time. */
static void applyOut(EtwValue *v, const uint8_t *at)
{
    switch (v->out) {
    case ETW_OUT_STRING:
        if (v->width == 1 || v->width == 2) {
            v->kind = v->width == 1 ? ETW_V_TEXT : ETW_V_TEXT16;
            v->data = at;
            v->size = v->width;
        }
        break;
    case ETW_OUT_BOOL:
        v->kind = ETW_V_BOOL;
        v->u = v->u != 0;
        break;
    case ETW_OUT_PORT:
        if (v->width == 2) {
            v->kind = ETW_V_UINT;
            v->u = (uint64_t)at[0] << 8 | at[1];
        }
        break;
    case ETW_OUT_FILETIME:
    case ETW_OUT_DATETIME:
    case ETW_OUT_DATETIME_UTC:
        v->kind = v->width == 8 ? ETW_V_FILETIME : v->kind;
        break;
    }
}

static bool readNumber(EtwBytes *b, uint8_t in, size_t size, EtwValue *v)
{
    const uint8_t *p = EtwTake(b, size);
    if (p == NULL) {
        return false;
    }
    uint8_t width = (uint8_t)size;
    switch (in) {
    case ETW_IN_INT8:
        setSigned(v, (int8_t)*p, 1);
        break;
    case ETW_IN_INT16:
        setSigned(v, (int16_t)EtwLoad16(p), 2);
        break;
    case ETW_IN_INT32:
        setSigned(v, (int32_t)EtwLoad32(p), 4);
        break;
    case ETW_IN_INT64:
        setSigned(v, (int64_t)EtwLoad64(p), 8);
        break;
    default:
        setUnsigned(v,
                size == 1   ? *p
                : size == 2 ? EtwLoad16(p)
                : size == 4 ? EtwLoad32(p)
                            : EtwLoad64(p),
                width);
        break;
    }
    if (v->out != ETW_OUT_DEFAULT) {
        applyOut(v, p);
    }
    return true;
}

static void readReal(EtwBytes *b, size_t size, EtwValue *v)
{
    const uint8_t *p = EtwTake(b, size);
    v->kind = ETW_V_DOUBLE;
    v->width = (uint8_t)size;
    if (p != NULL && size == 4) {
        float single;
        memcpy(&single, p, 4);
        v->d = (double)single;
    } else if (p != NULL) {
        memcpy(&v->d, p, 8);
    }
}

static void readFixed(EtwBytes *b, size_t size, EtwValueKind kind, EtwValue *v)
{
    v->kind = kind;
    v->size = size;
    v->data = EtwTake(b, size);
}

/* Read `size` bytes after a count of `prefix` bytes. If incomplete, the count is left unread. */
static void readPrefixed(EtwBytes *b, size_t prefix, size_t size, EtwValueKind kind, EtwValue *v)
{
    if (EtwBytesLeft(b) < prefix || EtwBytesLeft(b) - prefix < size) {
        b->failed = true;
        return;
    }
    EtwTake(b, prefix);
    readFixed(b, size, kind, v);
    if (kind == ETW_V_TEXT16) {
        v->size &= ~(size_t)1;
    }
}

static void readCounted(EtwBytes *b, EtwValueKind kind, EtwValue *v)
{
    readPrefixed(b, 2, EtwBytesLeft(b) >= 2 ? EtwLoad16(b->at) : 0, kind, v);
}

static void readCountedSwapped(EtwBytes *b, EtwValueKind kind, EtwValue *v)
{
    size_t size = EtwBytesLeft(b) >= 2 ? (size_t)b->at[0] << 8 | b->at[1] : 0;
    readPrefixed(b, 2, size, kind, v);
}

static void readCounted32(EtwBytes *b, EtwValueKind kind, EtwValue *v)
{
    readPrefixed(b, 4, EtwBytesLeft(b) >= 4 ? EtwLoad32(b->at) : 0, kind, v);
}

/* Read up to the NUL, or to the payload's end if there is none. */
static void readText(EtwBytes *b, EtwValue *v)
{
    size_t left = EtwBytesLeft(b);
    const uint8_t *nul = left ? memchr(b->at, 0, left) : NULL;
    b->failed = left == 0;
    v->kind = ETW_V_TEXT;
    v->data = b->at;
    v->size = nul ? (size_t)(nul - b->at) : left;
    b->at += v->size + (nul != NULL);
}

static void readText16(EtwBytes *b, EtwValue *v)
{
    const uint64_t ones = 0x0001000100010001ull;
    size_t units = EtwBytesLeft(b) / 2, i = 0;
    b->failed = units == 0;
    v->kind = ETW_V_TEXT16;
    v->data = b->at;
    for (; i + 4 <= units; i += 4) { /* four at a time while none of them is 0 */
        uint64_t four = EtwLoad64(b->at + 2 * i);
        if (((four - ones) & ~four & ones << 15) != 0) {
            break;
        }
    }
    while (i < units && EtwLoad16(b->at + 2 * i) != 0) {
        i++;
    }
    v->size = 2 * i;
    b->at = i < units ? b->at + 2 * (i + 1) : b->end;
}

static void readSid(EtwBytes *b, EtwValue *v)
{
    size_t left = EtwBytesLeft(b);
    size_t size = left >= 2 ? 8 + 4 * (size_t)b->at[1] : 8;
    b->failed = left < size;
    if (!b->failed) {
        readFixed(b, size, ETW_V_SID, v);
    }
}

/*
 * True for an empty TOKEN_USER (written by some programs) followed by a SID: revision 1, up to 15
 * parts, an authority below 2^16.
 */
static bool isBareSid(const EtwBytes *b, size_t at)
{
    static const uint8_t zeros[16];
    const uint8_t *sid = b->at + at;
    return EtwBytesLeft(b) >= at + 8 && memcmp(b->at, zeros, at) == 0 && sid[0] == 1 &&
           sid[1] >= 1 && sid[1] <= 15 && memcmp(sid + 2, zeros, 4) == 0;
}

/* A u32 of 0 only, or a TOKEN_USER of two pointers followed by the SID. */
static void readWbemSid(EtwBytes *b, uint8_t pointerSize, EtwValue *v)
{
    if (EtwBytesLeft(b) < 4) {
        b->failed = true;
    } else if (EtwLoad32(b->at) == 0 && !isBareSid(b, 2 * (size_t)pointerSize)) {
        EtwTake(b, 4);
        v->kind = ETW_V_NULL;
    } else if (EtwTake(b, 2 * (size_t)pointerSize) != NULL) {
        readSid(b, v);
    }
}

EtwValueKind EtwBinaryKind(uint8_t out)
{
    bool text = out == ETW_OUT_STRING || out == ETW_OUT_UTF8 || out == ETW_OUT_XML ||
                out == ETW_OUT_JSON;
    return text ? ETW_V_TEXT : ETW_V_BYTES;
}

static void readNumberAs(EtwBytes *b, const EtwField *f, size_t size, uint8_t out, EtwValue *v)
{
    v->out = f->out != ETW_OUT_DEFAULT ? f->out : out;
    if (!readNumber(b, f->in, size, v)) {
        b->failed = true;
    }
}

/* Read the value of one element. False: incomplete, and left unread. */
static bool readScalar(EtwBytes *b, const EtwField *f, uint8_t pointerSize, EtwValue *v)
{
    const uint8_t *before = b->at;
    v->width = 0;
    v->out = f->out;
    v->u = 0;
    v->data = NULL;
    v->size = 0;
    switch (f->in) {
    case ETW_IN_INT8:
    case ETW_IN_UINT8:
    case ETW_IN_INT16:
    case ETW_IN_UINT16:
    case ETW_IN_INT32:
    case ETW_IN_UINT32:
    case ETW_IN_INT64:
    case ETW_IN_UINT64:
        if (!readNumber(b, f->in, etwFixedSizes[f->in], v)) {
            b->failed = true;
        }
        break;
    case ETW_IN_COUNTED_ANSI:
        readCounted(b, ETW_V_TEXT, v);
        break;
    case ETW_IN_COUNTED_UTF16:
        readCounted(b, ETW_V_TEXT16, v);
        break;
    case ETW_IN_ANSIZ:
        readText(b, v);
        break;
    case ETW_IN_UTF16Z:
        readText16(b, v);
        break;
    case ETW_IN_BINARY:
    case ETW_IN_COUNTED_BINARY:
        readCounted(b, EtwBinaryKind(f->out), v);
        break;
    case ETW_IN_FLOAT:
        readReal(b, 4, v);
        break;
    case ETW_IN_DOUBLE:
        readReal(b, 8, v);
        break;
    case ETW_IN_BOOL32:
        readNumberAs(b, f, 4, ETW_OUT_BOOL, v);
        break;
    case ETW_IN_HEX32:
        readNumberAs(b, f, 4, ETW_OUT_HEX, v);
        break;
    case ETW_IN_HEX64:
        readNumberAs(b, f, 8, ETW_OUT_HEX, v);
        break;
    case ETW_IN_POINTER:
        readNumberAs(b, f, pointerSize, ETW_OUT_HEX, v);
        break;
    case ETW_IN_FILETIME:
        readNumberAs(b, f, 8, ETW_OUT_DATETIME_UTC, v);
        v->kind = ETW_V_FILETIME;
        break;
    case ETW_IN_GUID:
        readFixed(b, 16, ETW_V_GUID, v);
        break;
    case ETW_IN_SYSTEMTIME:
        readFixed(b, 16, ETW_V_SYSTEMTIME, v);
        break;
    case ETW_IN_SID:
        readSid(b, v);
        break;
    case ETW_IN_COUNTED_UTF16_SWAP:
        readCountedSwapped(b, ETW_V_TEXT16, v);
        break;
    case ETW_IN_COUNTED_ANSI_SWAP:
        readCountedSwapped(b, ETW_V_TEXT, v);
        break;
    case ETW_IN_COUNTED32_BINARY:
        readCounted32(b, EtwBinaryKind(f->out), v);
        break;
    case ETW_IN_WBEM_SID:
        readWbemSid(b, pointerSize, v);
        break;
    case ETW_IN_SKIP:
        EtwTake(b, f->length ? f->length : pointerSize);
        v->kind = ETW_V_NULL;
        break;
    default: /* ETW_IN_NULL */
        v->kind = ETW_V_NULL;
        break;
    }
    if (b->failed) {
        b->at = before;
    }
    return !b->failed;
}

/* ---- Sizes defined by the schema -------------------------------------------------------------- */

/* The number that a size or count refers to, if it was read. */
static size_t numberOf(const Walk *w, uint16_t index)
{
    return w->numbers[index];
}

/* The size of a text or blob that the schema defines. */
static size_t sizedBytes(const Walk *w, const EtwField *f)
{
    size_t unit = f->in == ETW_IN_UTF16Z ? 2 : 1;
    switch (f->sized) {
    case ETW_SIZE_FIXED:
        return unit * f->length;
    case ETW_SIZE_BY_FIELD:
        return unit * numberOf(w, f->length);
    default:
        return EtwBytesLeft(&w->bytes) / unit * unit;
    }
}

size_t EtwUntilNul(const EtwValue *v)
{
    size_t at = 0, unit = v->kind == ETW_V_TEXT16 ? 2 : 1;
    while (at < v->size && (unit == 1 ? v->data[at] : EtwLoad16(v->data + at)) != 0) {
        at += unit;
    }
    return at;
}

static bool readSized(Walk *w, const EtwField *f, EtwValue *v)
{
    size_t size = sizedBytes(w, f);
    *v = (EtwValue){.out = f->out};
    if (EtwBytesLeft(&w->bytes) < size) {
        w->bytes.failed = true;
        return false;
    }
    readFixed(&w->bytes, size,
            f->in == ETW_IN_UTF16Z  ? ETW_V_TEXT16
            : f->in == ETW_IN_ANSIZ ? ETW_V_TEXT
                                    : EtwBinaryKind(f->out),
            v);
    if (v->kind != ETW_V_BYTES) {
        v->size = EtwUntilNul(v);
    }
    return true;
}

/* Read one element of any field except a struct. */
static inline bool readElement(Walk *w, const EtwField *f, EtwValue *v)
{
    bool good = f->sized != ETW_SIZE_OWN ? readSized(w, f, v)
                                         : readScalar(&w->bytes, f, w->pointerSize, v);
    if (good && f->counts) { /* a text used as a count is 0 */
        w->numbers[f - w->fields] = v->u > UINT32_MAX ? UINT32_MAX : (uint32_t)v->u;
    }
    return good;
}

/* ---- The walk -------------------------------------------------------------------------------- */

static bool walkSibling(Walk *w, const EtwField *f);

static bool spend(Walk *w)
{
    if (w->budget == 0) {
        w->bytes.failed = true;
        return false;
    }
    w->budget--;
    return true;
}

static bool walkMembers(Walk *w, const EtwField *f)
{
    const EtwField *end = f + f->span;
    if (w->visitor->begin != NULL) {
        w->visitor->begin(w->ctx, f, true, 1);
    }
    for (const EtwField *m = f + 1; m < end && !w->bytes.failed; m += m->span) {
        walkSibling(w, m);
    }
    if (w->visitor->end != NULL) {
        w->visitor->end(w->ctx, f, true);
    }
    return !w->bytes.failed;
}

static inline bool walkElement(Walk *w, const EtwField *f)
{
    EtwValue value;
    if (!spend(w)) {
        return false;
    }
    if (f->in == ETW_IN_STRUCT) {
        return walkMembers(w, f);
    }
    if (!readElement(w, f, &value)) {
        return false;
    }
    if (f->in != ETW_IN_SKIP) {
        w->visitor->value(w->ctx, f, &value);
    }
    return true;
}

/* Number of elements of an array. False: the payload is too short, and the count is left unread. */
static bool takeCount(Walk *w, const EtwField *f, size_t *countPtr)
{
    EtwBytes *b = &w->bytes;
    switch (f->array) {
    case ETW_ARRAY_FIXED:
        *countPtr = f->count;
        return true;
    case ETW_ARRAY_BY_FIELD:
        *countPtr = numberOf(w, f->count);
        return true;
    case ETW_ARRAY_REST:
        *countPtr = SIZE_MAX;
        return true;
    }
    if (EtwBytesLeft(b) < 2) {
        b->failed = true;
        return false;
    }
    *countPtr = EtwTake16(b);
    return true;
}

static bool readChars(Walk *w, const EtwField *f, EtwValue *v)
{
    EtwBytes *b = &w->bytes;
    size_t width = f->in == ETW_IN_INT8 || f->in == ETW_IN_UINT8 ? 1 : 2, count, capacity;
    const uint8_t *before = b->at;
    bool counted = takeCount(w, f, &count);
    capacity = EtwBytesLeft(b) / width;
    if (f->array == ETW_ARRAY_REST) {
        count = capacity;
    }
    if (!counted || count > capacity) {
        b->at = before;
        b->failed = true;
        return false;
    }
    *v = (EtwValue){.kind = width == 1 ? ETW_V_TEXT : ETW_V_TEXT16, .out = f->out, .data = b->at};
    v->size = width * count;
    EtwTake(b, v->size);
    if (f->array != ETW_ARRAY_COUNTED) {
        v->size = EtwUntilNul(v);
    }
    return true;
}

static bool walkChars(Walk *w, const EtwField *f)
{
    EtwValue value;
    if (!spend(w) || !readChars(w, f, &value)) {
        return false;
    }
    w->visitor->value(w->ctx, f, &value);
    return true;
}

static bool walkArray(Walk *w, const EtwField *f)
{
    size_t count;
    bool rest = f->array == ETW_ARRAY_REST;
    if (EtwFieldIsChars(f)) {
        return walkChars(w, f);
    }
    if (!takeCount(w, f, &count)) {
        return false;
    }
    if (w->visitor->begin != NULL) {
        w->visitor->begin(w->ctx, f, false, rest || count > INT32_MAX ? -1 : (int)count);
    }
    for (size_t i = 0; i < count && (!rest || EtwBytesLeft(&w->bytes) != 0); i++) {
        if (!walkElement(w, f)) {
            break;
        }
    }
    if (w->visitor->end != NULL) {
        w->visitor->end(w->ctx, f, false);
    }
    return !w->bytes.failed;
}

static inline bool walkSibling(Walk *w, const EtwField *f)
{
    return f->array == ETW_SCALAR ? walkElement(w, f) : walkArray(w, f);
}

/* Initialize everything except the numbers, which are set when read. */
static void walkInit(Walk *w, const EtwSchema *schema, const EtwEvent *event,
        const EtwVisitor *visitor, void *ctx)
{
    static const uint8_t none[1];
    w->bytes = EtwBytesOf(event->payload ? event->payload : none, event->payloadSize);
    w->fields = schema->fields;
    w->visitor = visitor;
    w->ctx = ctx;
    /*
     * A few calls for each byte of payload (nested structs), and for each field, which may be
     * empty.
     */
    w->budget = (size_t)event->payloadSize * 4 + (size_t)schema->fieldCount * 4 + 256;
    w->pointerSize = event->pointerSize == 4 ? 4 : 8;
}

EtwStatus EtwDecode(
        const EtwSchema *schema, const EtwEvent *event, const EtwVisitor *visitor, void *ctx)
{
    static const bool never = false;
    return EtwDecodeUntil(schema, event, visitor, ctx, &never);
}

EtwStatus EtwDecodeUntil(const EtwSchema *schema, const EtwEvent *event, const EtwVisitor *visitor,
        void *ctx, const bool *stop)
{
    Walk w;
    walkInit(&w, schema, event, visitor, ctx);
    for (int i = 0; i < schema->fieldCount && !w.bytes.failed; i += schema->fields[i].span) {
        walkSibling(&w, &schema->fields[i]);
        if (*stop) {
            return ETW_OK;
        }
    }
    if (EtwBytesLeft(&w.bytes) != 0 && visitor->rest != NULL) {
        visitor->rest(ctx, w.bytes.at, EtwBytesLeft(&w.bytes));
    }
    return w.bytes.failed ? ETW_E_FORMAT : ETW_OK;
}

static void ignoreValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    (void)ctx, (void)field, (void)value;
}

EtwStatus EtwDecodeField(const EtwSchema *schema, const EtwEvent *event, int index, EtwValue *value)
{
    static const EtwVisitor nobody = {.value = ignoreValue};
    if (index < 0 || index >= schema->fieldCount) {
        return ETW_E_ARG;
    }
    const EtwField *wanted = schema->fields + index, *f = schema->fields;
    Walk w;
    walkInit(&w, schema, event, &nobody, NULL);
    bool chars = EtwFieldIsChars(wanted);
    if ((wanted->array != ETW_SCALAR && !chars) || wanted->in == ETW_IN_STRUCT) {
        return ETW_E_ARG;
    }
    while (f < wanted && walkSibling(&w, f)) {
        f += f->span;
    }
    bool good = f == wanted && (chars ? readChars(&w, f, value) : readElement(&w, f, value));
    return good ? ETW_OK : ETW_E_FORMAT;
}
