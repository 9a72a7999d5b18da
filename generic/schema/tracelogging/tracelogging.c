/*
 * schema/tracelogging/tracelogging.c --
 *
 *	Writes and reads TraceLogging's two blobs: event metadata (item 11) and provider traits
 *	(item 12). A blob may come from an untrusted file: every read is checked against its end,
 *	and the number of fields and their depth are limited. decode.c reads payloads. Format:
 *	TraceLoggingProvider.h of the Windows headers.
 */
#include "schema/model/schema_int.h"
#include "base/unicode.h"
#include "schema/tracelogging/tracelogging.h"

enum {
    TL_CHAIN = 0x80,       /* another byte follows: in -> out -> tag */
    TL_CONST_COUNT = 0x20, /* u16 count in the metadata */
    TL_VAR_COUNT = 0x40,   /* u16 count in the payload */
    TL_CUSTOM = 0x60,      /* as TL_VAR_COUNT, with a u16-sized type blob in the metadata */
    TL_ARRAY_MASK = 0x60,
    TL_IN_MASK = 0x1F,
    TL_OUT_MASK = 0x7F,
    TL_TRAIT_GROUP = 1,
    TL_MAX_BLOB = 0xFFFF
};

/* ---- Writing --------------------------------------------------------------------------------- */

static EtwStatus checkField(const Etw_Field *f, int index, EtwError *errPtr)
{
    const char *wrong = NULL;
    if (f->name == NULL || f->name[0] == 0) {
        wrong = "has no name";
    } else if (strlen(f->name) > ETW_MAX_NAME) {
        wrong = "has too long a name";
    } else if (f->in > ETW_IN_COUNTED_BINARY) {
        wrong = "has an unknown in-type";
    } else if (f->out > TL_OUT_MASK) {
        wrong = "has an unknown out-type";
    } else if (f->array > ETW_ARRAY_COUNTED) {
        wrong = "has an unknown array form";
    } else if (f->in == ETW_IN_STRUCT && (f->count < 1 || f->count > TL_OUT_MASK)) {
        wrong = "is a struct of less than 1 or more than 127 members";
    } else if (f->in == ETW_IN_STRUCT && f->array == ETW_ARRAY_FIXED) {
        wrong = "is a struct array of fixed length (only counted ones can be described)";
    } else if (f->array == ETW_ARRAY_FIXED && f->count == 0) {
        wrong = "is an array of no elements";
    }
    if (wrong == NULL) {
        return ETW_OK;
    }
    const char *name = f->name ? f->name : "";
    return EtwFail(errPtr, ETW_E_ARG, "FIELD", name, "field %d \"%s\" %s", index + 1, name, wrong);
}

/* Check the field at `index` and its members. Returns the index of its next sibling, or -1. */
static int checkSibling(const Etw_Field *fields, int count, int index, int depth, EtwError *errPtr)
{
    const Etw_Field *f = &fields[index];
    if (checkField(f, index, errPtr) != ETW_OK) {
        return -1;
    }
    int next = index + 1;
    if (f->in != ETW_IN_STRUCT) {
        return next;
    }
    if (depth >= ETW_MAX_DEPTH) {
        EtwFail(errPtr, ETW_E_ARG, "FIELD", f->name, "field %d \"%s\" is nested deeper than %d",
                index + 1, f->name, ETW_MAX_DEPTH);
        return -1;
    }
    for (int member = 0; member < f->count; member++) {
        if (next >= count) {
            EtwFail(errPtr, ETW_E_ARG, "FIELD", f->name,
                    "struct \"%s\" has %d members, but only %d fields follow", f->name, f->count,
                    member);
            return -1;
        }
        next = checkSibling(fields, count, next, depth + 1, errPtr);
        if (next < 0) {
            return -1;
        }
    }
    return next;
}

static EtwStatus checkFields(const Etw_Field *fields, int count, EtwError *errPtr)
{
    if (count < 0 || count > ETW_MAX_FIELDS) {
        return EtwFail(errPtr, ETW_E_ARG, "FIELD", "", "an event has at most %d fields, not %d",
                ETW_MAX_FIELDS, count);
    }
    for (int i = 0; i < count;) {
        i = checkSibling(fields, count, i, 0, errPtr);
        if (i < 0) {
            return ETW_E_ARG;
        }
    }
    return ETW_OK;
}

static void encodeField(EtwText *out, const Etw_Field *f)
{
    static const uint8_t arrays[] = {0, TL_CONST_COUNT, TL_VAR_COUNT};
    uint8_t shown = f->in == ETW_IN_STRUCT ? (uint8_t)f->count : f->out;
    uint8_t in = f->in | arrays[f->array];
    EtwTextAdd(out, f->name, strlen(f->name) + 1);
    if (shown != 0) {
        EtwTextChar(out, (char)(in | TL_CHAIN));
        EtwTextChar(out, (char)shown);
    } else {
        EtwTextChar(out, (char)in);
    }
    if (f->array == ETW_ARRAY_FIXED) {
        EtwTextAdd(out, (uint8_t[]){(uint8_t)f->count, (uint8_t)(f->count >> 8)}, 2);
    }
}

EtwStatus EtwTraceLoggingEncode(
        EtwText *out, const char *eventName, const Etw_Field *fields, int count, EtwError *errPtr)
{
    size_t start = out->size;
    if (eventName == NULL || eventName[0] == 0) {
        return EtwFail(errPtr, ETW_E_ARG, "EVENT", "", "the event has no name");
    }
    if (checkFields(fields, count, errPtr) != ETW_OK) {
        return ETW_E_ARG;
    }
    EtwTextAdd(out, "\0\0", 3); /* placeholder for the size, and no tag */
    EtwTextAdd(out, eventName, strlen(eventName) + 1);
    for (int i = 0; i < count; i++) {
        encodeField(out, &fields[i]);
    }
    size_t size = out->size - start;
    if (size > TL_MAX_BLOB) {
        out->size = start;
        return EtwFail(errPtr, ETW_E_ARG, "FIELD", eventName,
                "the description of event \"%s\" takes %d bytes, more than %d", eventName,
                (int)size, TL_MAX_BLOB);
    }
    EtwStore16(out->data + start, (uint16_t)size);
    return ETW_OK;
}

void EtwTraceLoggingTraits(EtwText *out, const char *providerName, const EtwGuid *group)
{
    enum { GROUP_TRAIT = 3 + 16 };
    size_t start = out->size, nameSize = strlen(providerName);
    size_t most = TL_MAX_BLOB - 3 - GROUP_TRAIT;
    if (nameSize > most) {
        nameSize = most;
    }
    EtwTextAdd(out, "\0", 2);
    EtwTextAdd(out, providerName, nameSize);
    EtwTextChar(out, 0);
    if (group != NULL) {
        EtwTextAdd(out, (uint8_t[]){GROUP_TRAIT, 0, TL_TRAIT_GROUP}, 3);
        EtwTextAdd(out, group->bytes, 16);
    }
    EtwStore16(out->data + start, (uint16_t)(out->size - start));
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* A NUL-terminated name, and its size without the NUL. NULL: not terminated. */
static const uint8_t *takeName(EtwBytes *b, size_t *sizePtr)
{
    const uint8_t *end = EtwBytesLeft(b) ? memchr(b->at, 0, EtwBytesLeft(b)) : NULL;
    if (end == NULL) {
        b->failed = true;
        return NULL;
    }
    *sizePtr = (size_t)(end - b->at);
    return EtwTake(b, *sizePtr + 1);
}

/* Up to four bytes of seven bits; the last one has no bit 7. */
static uint32_t takeTag(EtwBytes *b)
{
    uint32_t tag = 0;
    for (int i = 0; i < 4; i++) {
        uint8_t byte = EtwTake8(b);
        tag = tag << 7 | (byte & 0x7F);
        if ((byte & TL_CHAIN) == 0) {
            return tag;
        }
    }
    b->failed = true;
    return tag;
}

/* Parse the description of a field. Its name is appended to *names at offset *nameAtPtr. */
static void takeField(EtwBytes *b, EtwField *f, EtwText *names, size_t *nameAtPtr)
{
    size_t nameSize = 0;
    const uint8_t *name = takeName(b, &nameSize);
    uint8_t in = EtwTake8(b);
    uint8_t out = in & TL_CHAIN ? EtwTake8(b) : 0;
    memset(f, 0, sizeof *f);
    f->tag = out & TL_CHAIN ? takeTag(b) : 0;
    f->in = in & TL_IN_MASK;
    f->span = 1;
    if (f->in == ETW_IN_STRUCT) {
        f->members = out & TL_OUT_MASK;
    } else {
        f->out = out & TL_OUT_MASK;
    }
    switch (in & TL_ARRAY_MASK) {
    case TL_CONST_COUNT:
        f->array = ETW_ARRAY_FIXED;
        f->count = EtwTake16(b);
        break;
    case TL_VAR_COUNT:
        f->array = ETW_ARRAY_COUNTED;
        break;
    case TL_CUSTOM: /* serialized in a way that the blob describes: shown as bytes */
        EtwTake(b, EtwTake16(b));
        f->array = f->in == ETW_IN_UINT8 || f->in == ETW_IN_INT8 ? ETW_SCALAR : ETW_ARRAY_COUNTED;
        f->in = f->array == ETW_SCALAR ? ETW_IN_COUNTED_BINARY : f->in;
        break;
    }
    b->failed = b->failed || f->in > ETW_IN_COUNTED_BINARY || nameSize > ETW_MAX_NAME;
    if (!b->failed) {
        *nameAtPtr = names->size;
        EtwTextUtf8(names, name, nameSize);
        EtwTextChar(names, 0);
    }
}

/* Data collected before the schema's block is allocated. */
typedef struct Draft {
    EtwText names;  /* NUL-terminated, the event's name first */
    EtwText fields; /* EtwField, without names */
    EtwText nameAt; /* a size_t for each field */
    EtwText renamed;
    int count;
} Draft;

static bool draftFields(Draft *d, EtwBytes *b)
{
    while (EtwBytesLeft(b) != 0 && !b->failed) {
        EtwField field;
        size_t at = 0;
        if (d->count == ETW_MAX_FIELDS) {
            return false;
        }
        takeField(b, &field, &d->names, &at);
        if (!b->failed) {
            EtwTextAdd(&d->fields, &field, sizeof field);
            EtwTextAdd(&d->nameAt, &at, sizeof at);
            d->count++;
        }
    }
    return !b->failed && EtwFieldsFinish((EtwField *)(void *)d->fields.data, d->count);
}

/* The new name is behind all others. */
static void renameField(void *ctx, int index, const char *name)
{
    Draft *d = ctx;
    size_t at = d->names.size + d->renamed.size;
    memcpy(d->nameAt.data + (size_t)index * sizeof at, &at, sizeof at);
    EtwTextAdd(&d->renamed, name, strlen(name) + 1);
}

static void nameFields(Draft *d)
{
    EtwField *fields = (EtwField *)(void *)d->fields.data;
    for (int i = 0; i < d->count; i++) {
        size_t at;
        memcpy(&at, d->nameAt.data + (size_t)i * sizeof at, sizeof at);
        fields[i].name = d->names.data + at;
    }
    EtwFieldsDistinct(fields, d->count, renameField, d);
    EtwTextAdd(&d->names, d->renamed.data, d->renamed.size);
    EtwTextFree(&d->renamed);
}

static EtwSchema *finishDraft(const Draft *d, size_t *bytesPtr)
{
    size_t fieldBytes = (size_t)d->count * sizeof(EtwField);
    *bytesPtr = sizeof(EtwSchema) + fieldBytes + d->names.size;
    EtwSchema *schema = EtwAlloc(*bytesPtr);
    EtwField *fields = (EtwField *)(schema + 1);
    char *names = (char *)fields + fieldBytes;
    memcpy(names, d->names.data, d->names.size);
    for (int i = 0; i < d->count; i++) {
        size_t at;
        memcpy(&fields[i], d->fields.data + (size_t)i * sizeof *fields, sizeof *fields);
        memcpy(&at, d->nameAt.data + (size_t)i * sizeof at, sizeof at);
        fields[i].name = names + at;
    }
    schema->origin = ETW_ORIGIN_SELF;
    schema->provider = "";
    schema->event = names;
    schema->fields = fields;
    schema->fieldCount = d->count;
    return schema;
}

EtwSchema *EtwTraceLoggingParse(const uint8_t *meta, size_t size, size_t *bytesPtr)
{
    EtwBytes b = EtwBytesOf(meta, size);
    Draft draft = {0};
    size_t declared = EtwTake16(&b), nameSize = 0;
    if (declared >= 2 && declared < size) {
        b.end = meta + declared;
    }
    takeTag(&b);
    const uint8_t *name = b.failed ? NULL : takeName(&b, &nameSize);
    if (name == NULL) {
        return NULL;
    }
    EtwTextUtf8(&draft.names, name, nameSize);
    EtwTextChar(&draft.names, 0);
    if (!draftFields(&draft, &b)) {
        draft.count = 0;
    }
    nameFields(&draft);
    EtwSchema *schema = finishDraft(&draft, bytesPtr);
    EtwTextFree(&draft.names);
    EtwTextFree(&draft.fields);
    EtwTextFree(&draft.nameAt);
    return schema;
}

bool EtwTraitsName(const uint8_t *traits, size_t size, const uint8_t **namePtr, size_t *sizePtr)
{
    if (traits == NULL) {
        return false;
    }
    EtwBytes b = EtwBytesOf(traits, size);
    EtwTake16(&b);
    *namePtr = b.failed ? NULL : takeName(&b, sizePtr);
    return *namePtr != NULL && *sizePtr != 0;
}
