/*
 * tcl/provider/write_encode.c --
 *
 *	Encodes Tcl values as payload bytes by an event's types, for `etw write` when a session has
 *	enabled the event. Errors name the field. write_cmd.c writes the event. The encoder of dicts
 *	(tcl/value/dict_encoder.c) converts scalars with the same functions (tcl/core/value_bytes.c). Its walk
 *	over arrays and structs also handles missing fields, counts and paths, and takes twice the time.
 */
#include "tcl/provider/tcl_provider.h"

static int wrongValue(Tcl_Interp *interp, const EtwType *type, Tcl_Obj *value)
{
    const EtwField *field = type->field;
    return EtwTclFail(interp, ETW_E_ARG, "VALUE", field->name,
            "field \"%s\": expected %s but got \"%.100s\"", field->name, EtwTypeExpected(field),
            Tcl_GetString(value));
}

static int encodeStruct(Tcl_Interp *interp, EtwText *out, const EtwType *type, Tcl_Obj *value)
{
    const EtwType *end = type + type->field->span;

    for (const EtwType *member = type + 1; member < end; member += member->field->span) {
        Tcl_Obj *key = EtwStringObj(member->field->name);
        Tcl_Obj *found = NULL;
        Tcl_IncrRefCount(key);
        int result = Tcl_DictObjGet(interp, value, key, &found);
        Tcl_DecrRefCount(key);
        if (result != TCL_OK) {
            return TCL_ERROR;
        }
        if (found == NULL) {
            return EtwTclFail(interp, ETW_E_ARG, "VALUE", type->field->name,
                    "struct \"%s\" has no value for its member \"%s\"", type->field->name,
                    member->field->name);
        }
        if (EtwEncodeField(interp, out, member, found) != TCL_OK) {
            return TCL_ERROR;
        }
    }
    return TCL_OK;
}

static inline int encodeOne(Tcl_Interp *interp, EtwText *out, const EtwType *type, Tcl_Obj *value)
{
    if (type->append == NULL) {
        return encodeStruct(interp, out, type, value);
    }
    return type->append(out, type->field, value) ? TCL_OK : wrongValue(interp, type, value);
}

static int encodeArray(Tcl_Interp *interp, EtwText *out, const EtwType *type, Tcl_Obj *value)
{
    const EtwField *field = type->field;
    Tcl_Size count;
    Tcl_Obj *element;

    if (Tcl_ListObjLength(interp, value, &count) != TCL_OK) {
        return TCL_ERROR;
    }
    if (field->array == ETW_ARRAY_FIXED && count != field->count) {
        return EtwTclFail(interp, ETW_E_ARG, "VALUE", field->name,
                "field \"%s\": expected %d elements but got %ld", field->name, field->count,
                (long)count);
    }
    if (field->array == ETW_ARRAY_COUNTED) {
        uint16_t stored = (uint16_t)count;
        EtwTextAdd(out, &stored, 2);
    }
    for (Tcl_Size i = 0; i < count && out->size <= ETW_MAX_PAYLOAD; i++) {
        /* One by one: the conversion of an element may change the list's internal form. */
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
    return type->field->array == ETW_SCALAR ? encodeOne(interp, out, type, value)
                                            : encodeArray(interp, out, type, value);
}
