/*
 * tcl/provider/write_encode.c --
 *
 *	Tcl values to payload bytes along an event's types: what `etw write` does when a session
 *	has enabled the event. Errors name the field. write_cmd.c writes the event.
 */
#include "tcl/provider/tcl_provider.h"

static int wrongValue(Tcl_Interp *interp, const EtwType *type, Tcl_Obj *value, const char *expected)
{
    return EtwTclFail(interp, ETW_E_ARG, "VALUE", type->name,
            "field \"%s\": expected %s but got \"%.100s\"", type->name, expected,
            Tcl_GetString(value));
}

/* A longer one makes the payload too large for any event. */
static void putCounted(EtwText *out, const void *data, size_t size)
{
    uint16_t stored = (uint16_t)size;

    EtwTextAdd(out, &stored, 2);
    EtwTextAdd(out, data, size < ETW_MAX_PAYLOAD ? size : ETW_MAX_PAYLOAD);
}

/* ---- Scalars --------------------------------------------------------------------------------- */

int EtwEncodeString(Tcl_Interp *interp, EtwText *out, const EtwType *type, Tcl_Obj *value)
{
    Tcl_DString ds;
    size_t size;
    (void)interp, (void)type;

    Tcl_DStringInit(&ds);
    const char *text = EtwUtf8Of(value, &ds, &size);
    putCounted(out, text, size);
    Tcl_DStringFree(&ds);
    return TCL_OK;
}

/* UTF-16: counted, or up to its first NUL, which ends it: what is behind would be another field. */
int EtwEncodeWideString(Tcl_Interp *interp, EtwText *out, const EtwType *type, Tcl_Obj *value)
{
    EtwText wide = {NULL, 0, 0};
    size_t size = 0;
    (void)interp;

    EtwAddTextOf(&wide, value, true);
    EtwTextAdd(&wide, "\0", 2);
    if (type->info->in == ETW_IN_COUNTED_UTF16) {
        putCounted(out, wide.data, wide.size - 2);
    } else {
        while (EtwLoad16((uint8_t *)wide.data + size) != 0) {
            size += 2;
        }
        EtwTextAdd(out, wide.data, size + 2);
    }
    EtwTextFree(&wide);
    return TCL_OK;
}

int EtwEncodeWide(Tcl_Interp *interp, EtwText *out, const EtwType *type, Tcl_Obj *value)
{
    Tcl_WideInt wide;

    if (Tcl_GetWideIntFromObj(NULL, value, &wide) != TCL_OK) {
        return wrongValue(interp, type, value, "an integer");
    }
    EtwTextAdd(out, &wide, 8);
    return TCL_OK;
}

static bool fits(Tcl_WideInt wide, const EtwTypeInfo *info)
{
    int bits = info->size * 8 - info->isSigned;
    Tcl_WideInt max = ((Tcl_WideInt)1 << bits) - 1;
    return wide <= max && wide >= (info->isSigned ? -max - 1 : 0);
}

int EtwEncodeInteger(Tcl_Interp *interp, EtwText *out, const EtwType *type, Tcl_Obj *value)
{
    Tcl_WideInt wide;
    uint64_t u;

    if (type->info->size == 8) {
        if (EtwGetUint64(NULL, value, &u) != TCL_OK) {
            return wrongValue(interp, type, value, "an integer of 0 to 2^64-1");
        }
        EtwTextAdd(out, &u, 8);
        return TCL_OK;
    }
    if (Tcl_GetWideIntFromObj(NULL, value, &wide) != TCL_OK || !fits(wide, type->info)) {
        return wrongValue(interp, type, value, type->info->name);
    }
    EtwTextAdd(out, &wide, type->info->size); /* little-endian: the low bytes come first */
    return TCL_OK;
}

int EtwEncodeReal(Tcl_Interp *interp, EtwText *out, const EtwType *type, Tcl_Obj *value)
{
    double number;

    if (Tcl_GetDoubleFromObj(NULL, value, &number) != TCL_OK) {
        return wrongValue(interp, type, value, "a number");
    }
    float single = (float)number;
    EtwTextAdd(out, type->info->size == 4 ? (void *)&single : (void *)&number, type->info->size);
    return TCL_OK;
}

int EtwEncodeBinary(Tcl_Interp *interp, EtwText *out, const EtwType *type, Tcl_Obj *value)
{
    Tcl_Size size;
    const unsigned char *bytes = Tcl_GetBytesFromObj(NULL, value, &size);
    if (bytes == NULL) {
        return wrongValue(interp, type, value, "bytes");
    }
    putCounted(out, bytes, (size_t)size);
    return TCL_OK;
}

/* A form of tcl/core/value_bytes.h. */
int EtwEncodeBytes(Tcl_Interp *interp, EtwText *out, const EtwType *type, Tcl_Obj *value)
{
    uint8_t bytes[ETW_VALUE_BYTES];
    size_t size = type->info->bytes(value, bytes);

    if (size == 0) {
        return wrongValue(interp, type, value, type->info->expected);
    }
    if (type->info->in == ETW_IN_BINARY) {
        putCounted(out, bytes, size);
    } else {
        EtwTextAdd(out, bytes, size);
    }
    return TCL_OK;
}

/* ---- Structs and arrays ---------------------------------------------------------------------- */

static int encodeStruct(Tcl_Interp *interp, EtwText *out, const EtwType *type, Tcl_Obj *value)
{
    for (int i = 0; i < type->memberCount; i++) {
        const EtwType *member = &type->members[i];
        Tcl_Obj *key = EtwStringObj(member->name);
        Tcl_Obj *found = NULL;
        Tcl_IncrRefCount(key);
        int result = Tcl_DictObjGet(interp, value, key, &found);
        Tcl_DecrRefCount(key);
        if (result != TCL_OK) {
            return TCL_ERROR;
        }
        if (found == NULL) {
            return EtwTclFail(interp, ETW_E_ARG, "VALUE", type->name,
                    "struct \"%s\" lacks its member \"%s\"", type->name, member->name);
        }
        if (EtwEncodeField(interp, out, member, found) != TCL_OK) {
            return TCL_ERROR;
        }
    }
    return TCL_OK;
}

static int encodeOne(Tcl_Interp *interp, EtwText *out, const EtwType *type, Tcl_Obj *value)
{
    return type->info->encode ? type->info->encode(interp, out, type, value)
                              : encodeStruct(interp, out, type, value);
}

static int encodeArray(Tcl_Interp *interp, EtwText *out, const EtwType *type, Tcl_Obj *value)
{
    Tcl_Size count;
    Tcl_Obj *element;

    if (Tcl_ListObjLength(interp, value, &count) != TCL_OK) {
        return TCL_ERROR;
    }
    if (type->array == ETW_ARRAY_FIXED && count != type->count) {
        return EtwTclFail(interp, ETW_E_ARG, "VALUE", type->name,
                "field \"%s\": expected %d elements but got %ld", type->name, type->count,
                (long)count);
    }
    if (type->array == ETW_ARRAY_COUNTED) {
        uint16_t stored = (uint16_t)count;
        EtwTextAdd(out, &stored, 2);
    }
    for (Tcl_Size i = 0; i < count && out->size <= ETW_MAX_PAYLOAD; i++) {
        /* Asked for one by one: an element's conversion may shimmer the list. */
        if (Tcl_ListObjIndex(interp, value, i, &element) != TCL_OK || element == NULL) {
            return TCL_ERROR;
        }
        Tcl_IncrRefCount(element);
        int result = encodeOne(interp, out, type, element);
        Tcl_DecrRefCount(element);
        if (result != TCL_OK) {
            return TCL_ERROR;
        }
    }
    return TCL_OK;
}

int EtwEncodeField(Tcl_Interp *interp, EtwText *out, const EtwType *type, Tcl_Obj *value)
{
    return type->array == ETW_SCALAR ? encodeOne(interp, out, type, value)
                                     : encodeArray(interp, out, type, value);
}
