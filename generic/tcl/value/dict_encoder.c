/*
 * tcl/value/dict_encoder.c --
 *
 *	Walks a dict of fields while schema/model/encode.c encodes its schema: finds the Tcl value of
 *	each field, the missing and the unknown ones, and writes error messages. dict_encoder_value.c
 *	converts the values.
 */
#include "tcl/value/dict_encoder.h"
#include "tcl/value/schema_dict.h"
#include <stdio.h>

enum { MAX_FRAMES = 40 }; /* nested arrays and structs; a schema has fewer */

/* A dict of fields, or the list of an array's elements, that is being walked. */
typedef struct Frame {
    Tcl_Obj *obj;          /* with a reference; NULL: no value was passed, everything is zero */
    const EtwField *owner; /* the array or struct; NULL: the event */
    bool isDict;
    Tcl_Size next; /* index of the next element of a list */
} Frame;

typedef struct DictEncoder {
    const EtwSchema *schema;
    EtwText *out;
    uint8_t pointerSize;
    EtwMissingMode mode;
    bool explained;        /* the error message names the field and its type */
    const EtwField *asked; /* the field of the last call */
    EtwText scratch;
    int depth;
    Frame frames[MAX_FRAMES];
} DictEncoder;

static Tcl_Obj *nameObj(const EtwField *f)
{
    return EtwStringObj(f->name);
}

/*
 * The first field directly in a frame; the others follow, each `span` fields after the previous
 * one, up to before *endPtr.
 */
static const EtwField *membersOf(const DictEncoder *g, const Frame *frame, const EtwField **endPtr)
{
    const EtwField *owner = frame->owner;
    *endPtr = owner != NULL ? owner + owner->span : g->schema->fields + g->schema->fieldCount;
    return owner != NULL ? owner + 1 : g->schema->fields;
}

/* ---- Errors ---------------------------------------------------------------------------------- */

/* Appends the path of a field, such as Outer(2).Inner */
static void addPath(const DictEncoder *g, const EtwField *leaf, EtwText *out)
{
    for (int i = 1; i < g->depth; i++) {
        const Frame *frame = &g->frames[i];
        if (frame->isDict && g->frames[i - 1].isDict) {
            EtwTextPrintf(out, "%s.", frame->owner->name);
        } else if (!frame->isDict) {
            EtwTextPrintf(out, "%s(%ld)", frame->owner->name, (long)(frame->next - 1));
        } else {
            EtwTextChar(out, '.');
        }
    }
    if (g->frames[g->depth - 1].isDict) {
        EtwTextStr(out, leaf->name);
    }
}

/* Appends the type of a field, such as UInt16, Port */
static void addType(const EtwField *f, EtwText *out)
{
    const char *shown = EtwOutTypeName(f->out);
    EtwTextPrintf(out, "%s%s%s%s", EtwInTypeName(f->in), shown ? ", " : "", shown ? shown : "",
            f->array != ETW_SCALAR ? ", array" : "");
}

/* Fails with `field "PATH" (TYPE): TEXT` for the current field. */
static EtwStatus refuse(DictEncoder *g, const EtwField *f, const char *detail, EtwStatus status,
        const char *text, EtwError *errPtr)
{
    EtwText path = {NULL, 0, 0};
    addPath(g, f, &path);
    EtwTextStr(&path, "\" (");
    addType(f, &path);
    EtwTextChar(&path, '\0');
    g->explained = true;
    EtwFail(errPtr, status, detail, f->name, "field \"%s): %s", path.data, text);
    EtwTextFree(&path);
    return status;
}

static EtwStatus wrongValue(
        DictEncoder *g, const EtwField *f, const char *expected, Tcl_Obj *obj, EtwError *errPtr)
{
    char text[400];
    snprintf(text, sizeof text, "expected %.250s but got \"%.100s\"", expected, Tcl_GetString(obj));
    return refuse(g, f, "VALUE", ETW_E_ARG, text, errPtr);
}

/* Bytes that are not shown, and fields without bytes, need no value. */
static bool needsNoValue(const EtwField *f)
{
    return f->in == ETW_IN_SKIP || f->in == ETW_IN_NULL;
}

static Tcl_Obj *found(const Frame *frame, const EtwField *f)
{
    Tcl_Obj *key = nameObj(f), *value = NULL;
    Tcl_IncrRefCount(key);
    Tcl_DictObjGet(NULL, frame->obj, key, &value);
    Tcl_DecrRefCount(key);
    return value;
}

/* Append the names and types of the frame's fields that have no value. */
static void addMissing(const DictEncoder *g, const Frame *frame, EtwText *out)
{
    const EtwField *end, *first = membersOf(g, frame, &end);
    const char *between = "";
    for (const EtwField *f = first; f < end; f += f->span) {
        if (!needsNoValue(f) && !f->counts && found(frame, f) == NULL) {
            EtwTextPrintf(out, "%s%s (", between, f->name);
            addType(f, out);
            EtwTextChar(out, ')');
            between = ", ";
        }
    }
}

static EtwStatus refuseMissing(DictEncoder *g, const EtwField *f, EtwError *errPtr)
{
    EtwText names = {NULL, 0, 0};
    addMissing(g, &g->frames[g->depth - 1], &names);
    EtwTextChar(&names, '\0');
    g->explained = true;
    EtwFail(errPtr, ETW_E_ARG, "MISSING", f->name, "no value is given for: %.600s", names.data);
    EtwTextFree(&names);
    return ETW_E_ARG;
}

/* ---- Frames ---------------------------------------------------------------------------------- */

static bool isMember(
        const DictEncoder *g, const Frame *frame, const char *name, const EtwField **hint)
{
    const EtwField *end, *first = membersOf(g, frame, &end);
    const EtwField *start = *hint != NULL && *hint < end ? *hint : first;
    for (const EtwField *f = start; f < end; f += f->span) {
        if (f->in != ETW_IN_SKIP && strcmp(f->name, name) == 0) {
            *hint = f + f->span;
            return true;
        }
    }
    for (const EtwField *f = first; f < start; f += f->span) {
        if (f->in != ETW_IN_SKIP && strcmp(f->name, name) == 0) {
            *hint = f + f->span;
            return true;
        }
    }
    return false;
}

static EtwStatus refuseUnknown(
        DictEncoder *g, const Frame *frame, const char *name, EtwError *errPtr)
{
    const EtwField *end, *first = membersOf(g, frame, &end);
    EtwText names = {NULL, 0, 0};
    for (const EtwField *f = first; f < end; f += f->span) {
        if (f->in != ETW_IN_SKIP) {
            EtwTextPrintf(&names, "%s%s", names.size ? ", " : "", f->name);
        }
    }
    EtwTextChar(&names, '\0');
    g->explained = true;
    EtwFail(errPtr, ETW_E_LOOKUP, "FIELD", name, "%s%.100s has no field \"%.100s\": it has %.400s",
            frame->owner == NULL ? "the event " : "the struct ",
            frame->owner == NULL ? g->schema->event : frame->owner->name, name,
            names.size > 1 ? names.data : "none");
    EtwTextFree(&names);
    return ETW_E_LOOKUP;
}

/* Checks that every key is a field. The keys of a decoded event are in the schema's order. */
static EtwStatus checkKeys(DictEncoder *g, const Frame *frame, EtwError *errPtr)
{
    Tcl_DictSearch search;
    Tcl_Obj *key;
    Tcl_DString ds;
    int done;
    const EtwField *hint = NULL;
    EtwStatus status = ETW_OK;

    Tcl_DStringInit(&ds);
    Tcl_DictObjFirst(NULL, frame->obj, &search, &key, NULL, &done);
    for (; !done && status == ETW_OK; Tcl_DictObjNext(&search, &key, NULL, &done)) {
        const char *name = EtwUtf8Of(key, &ds, NULL);
        if (!isMember(g, frame, name, &hint)) {
            status = refuseUnknown(g, frame, name, errPtr);
        }
    }
    Tcl_DictObjDone(&search);
    Tcl_DStringFree(&ds);
    return status;
}

/* obj may be NULL: no value. */
static EtwStatus push(
        DictEncoder *g, Tcl_Obj *obj, const EtwField *owner, bool isDict, EtwError *errPtr)
{
    if (g->depth == MAX_FRAMES) {
        return EtwFail(
                errPtr, ETW_E_LIMIT, "DEPTH", "", "structs and arrays are nested too deeply");
    }
    Frame *frame = &g->frames[g->depth++];
    *frame = (Frame){.obj = obj, .owner = owner, .isDict = isDict};
    if (obj != NULL) {
        Tcl_IncrRefCount(obj);
    }
    return obj != NULL && isDict ? checkKeys(g, frame, errPtr) : ETW_OK;
}

static void pop(DictEncoder *g)
{
    Frame *frame = &g->frames[--g->depth];
    if (frame->obj != NULL) {
        Tcl_DecrRefCount(frame->obj);
    }
}

/* ---- Values of a field ---------------------------------------------------------------------- */

/* The number of elements or units in a value; false if it has none or is not valid. */
static bool countOf(DictEncoder *g, const EtwField *f, Tcl_Obj *obj, uint64_t *countPtr)
{
    Tcl_Size length;
    EtwValue value = {.out = f->out};
    bool chars = EtwFieldIsChars(f);
    if (obj == NULL) {
        return false;
    }
    if (f->array == ETW_ARRAY_BY_FIELD && !chars) {
        if (Tcl_ListObjLength(NULL, obj, &length) != TCL_OK) {
            return false;
        }
        *countPtr = (uint64_t)length;
        return true;
    }
    bool wide = f->in == ETW_IN_UTF16Z || f->in == ETW_IN_INT16 || f->in == ETW_IN_UINT16;
    value.width = chars ? 1 + wide : 0;
    if (!EtwValueFromObj(&g->scratch, f, obj, &value)) {
        return false;
    }
    *countPtr = value.size / (1 + wide);
    return true;
}

/*
 * The value of a count field, taken from the first field in the frame whose elements or size it
 * counts. False: no such field has a value.
 */
static bool counted(DictEncoder *g, const Frame *frame, const EtwField *f, EtwValue *v)
{
    const EtwField *end, *first = membersOf(g, frame, &end);
    uint16_t index = (uint16_t)(f - g->schema->fields);
    for (const EtwField *m = first; m < end && f->counts; m += m->span) {
        bool refers = (m->array == ETW_ARRAY_BY_FIELD && m->count == index) ||
                      (m->sized == ETW_SIZE_BY_FIELD && m->length == index);
        if (refers && countOf(g, m, found(frame, m), &v->u)) {
            v->kind = ETW_V_UINT;
            return true;
        }
    }
    return false;
}

/* The value of the next element or of field f; NULL: there is none. */
static Tcl_Obj *take(DictEncoder *g, const EtwField *f)
{
    Tcl_Obj *obj = NULL;
    Frame *frame = &g->frames[g->depth - 1];

    g->asked = f;
    if (frame->obj != NULL && frame->isDict) {
        obj = found(frame, f);
    } else if (frame->obj != NULL) {
        Tcl_ListObjIndex(NULL, frame->obj, frame->next, &obj);
    }
    frame->next++;
    return obj;
}

/* True if a field after f in the frame has a value, or, for a list, a later element. */
static bool hasLaterValue(const DictEncoder *g, const Frame *frame, const EtwField *f)
{
    const EtwField *end;
    Tcl_Size length = 0;
    if (!frame->isDict) {
        Tcl_ListObjLength(NULL, frame->obj, &length);
        return length > frame->next;
    }
    membersOf(g, frame, &end);
    for (f += f->span; f < end; f += f->span) {
        if (found(frame, f) != NULL) {
            return true;
        }
    }
    return false;
}

/* The payload ends at field f: an error if a later field or element has a value. */
static EtwStatus endPayload(DictEncoder *g, const EtwField *f, EtwError *errPtr)
{
    const EtwField *at = f;
    for (int i = g->depth - 1; i >= 0; i--) {
        if (hasLaterValue(g, &g->frames[i], at)) {
            return refuseMissing(g, f, errPtr);
        }
        at = g->frames[i].owner;
    }
    return ETW_END;
}

/* Field f has no value: ETW_OK if it is to be zero, else an error or the payload's end. */
static EtwStatus missing(DictEncoder *g, const EtwField *f, EtwError *errPtr)
{
    const Frame *frame = &g->frames[g->depth - 1];
    if (g->mode == ETW_MISSING_ZERO || frame->obj == NULL) {
        return ETW_OK;
    }
    return g->mode == ETW_MISSING_CUT ? endPayload(g, f, errPtr) : refuseMissing(g, f, errPtr);
}

/* ---- The source ------------------------------------------------------------------------------- */

static EtwStatus encodeMissing(DictEncoder *g, const EtwField *f, EtwValue *value, EtwError *errPtr)
{
    const Frame *frame = &g->frames[g->depth - 1];
    if (needsNoValue(f)) {
        return ETW_OK;
    }
    if (frame->obj != NULL && frame->isDict && counted(g, frame, f, value)) {
        return ETW_OK;
    }
    EtwStatus status = missing(g, f, errPtr);
    if (status == ETW_OK) {
        EtwValueSetZero(&g->scratch, f, value);
    }
    return status;
}

static EtwStatus refuseValue(
        DictEncoder *g, const EtwField *f, uint8_t width, Tcl_Obj *obj, EtwError *errPtr)
{
    EtwText expected = {NULL, 0, 0};

    EtwAddExpected(&expected, f, width);
    EtwTextChar(&expected, '\0');
    EtwStatus status = wrongValue(g, f, expected.data, obj, errPtr);
    EtwTextFree(&expected);
    return status;
}

/*
 * A text or blob that is too long is left to the schema's encoder, whose message names the field.
 */
static bool append(DictEncoder *g, const EtwField *f, Tcl_Obj *obj)
{
    EtwAppendProc *proc = EtwAppendProcOf(f, g->pointerSize);
    size_t start = g->out->size;

    if (proc != NULL && proc(g->out, f, obj) && g->out->size - start <= 2 + UINT16_MAX) {
        return true;
    }
    g->out->size = start;
    return false;
}

static EtwStatus onValue(void *ctx, const EtwField *f, EtwValue *value, EtwError *errPtr)
{
    DictEncoder *g = ctx;
    Tcl_Obj *obj = take(g, f);
    EtwStatus status = ETW_OK;
    uint8_t width = value->width;

    if (obj == NULL) {
        return encodeMissing(g, f, value, errPtr);
    }
    Tcl_IncrRefCount(obj); /* a list may have created it for this call */
    if (append(g, f, obj)) {
        value->kind = ETW_V_ENCODED;
    } else if (!EtwValueFromObj(&g->scratch, f, obj, value)) {
        status = refuseValue(g, f, width, obj, errPtr);
    }
    Tcl_DecrRefCount(obj);
    return status;
}

static EtwStatus onBegin(
        void *ctx, const EtwField *f, bool isStruct, uint32_t *countPtr, EtwError *errPtr)
{
    DictEncoder *g = ctx;
    Tcl_Obj *obj = take(g, f);
    Tcl_Size size = 0;

    if (obj == NULL) {
        EtwStatus status = missing(g, f, errPtr);
        return status == ETW_OK ? push(g, NULL, f, isStruct, errPtr) : status;
    }
    int result = isStruct ? Tcl_DictObjSize(NULL, obj, &size) : Tcl_ListObjLength(NULL, obj, &size);
    if (result != TCL_OK) {
        return wrongValue(g, f, isStruct ? "a dict of its fields" : "a list", obj, errPtr);
    }
    if (!isStruct) {
        *countPtr = size > INT32_MAX ? INT32_MAX : (uint32_t)size;
    }
    return push(g, obj, f, isStruct, errPtr);
}

static void onEnd(void *ctx, const EtwField *f, bool isStruct)
{
    (void)f, (void)isStruct;
    pop(ctx);
}

/* Adds the field's type to an error message of the encoder. */
static void explain(const DictEncoder *g, EtwError *err)
{
    EtwText type = {NULL, 0, 0};
    size_t used = strlen(err->message);
    if (!g->explained && g->asked != NULL) {
        addType(g->asked, &type);
        EtwTextChar(&type, '\0');
        snprintf(err->message + used, sizeof err->message - used, " (its type is %s)", type.data);
    }
    EtwTextFree(&type);
}

int EtwEncodeDict(Tcl_Interp *interp, EtwText *out, const EtwSchema *schema, uint8_t pointerSize,
        Tcl_Obj *dict, EtwMissingMode mode)
{
    static const EtwFieldSource source = {onValue, onBegin, onEnd};
    EtwError err = {0};
    DictEncoder g;
    Tcl_Size size;

    if (Tcl_DictObjSize(interp, dict, &size) != TCL_OK) {
        return TCL_ERROR;
    }
    memset(&g, 0, offsetof(DictEncoder, frames));
    g.schema = schema;
    g.out = out;
    g.pointerSize = pointerSize;
    g.mode = mode;
    EtwStatus status = push(&g, dict, NULL, true, &err);
    if (status == ETW_OK) {
        status = EtwEncode(out, schema, pointerSize, &source, &g, &err);
    }
    if (status != ETW_OK && status != ETW_END) {
        explain(&g, &err);
    }
    while (g.depth > 0) {
        pop(&g);
    }
    EtwTextFree(&g.scratch);
    return status == ETW_OK || status == ETW_END ? TCL_OK : EtwTclError(interp, &err);
}
