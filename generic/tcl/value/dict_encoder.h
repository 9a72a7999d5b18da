/*
 * tcl/value/dict_encoder.h --
 *
 *	Encodes a Tcl dict of fields as the payload of an event of any schema. Accepts the values in a decoded
 *	event's dict (`props`), and further notations. tcl/provider/write_encode.c is for the values of `etw write`.
 */
#ifndef ETW_DICT_ENCODER_H
#define ETW_DICT_ENCODER_H

#include "tcl/core/value_bytes.h"
#include "schema/model/encode.h"

/* How to encode a field that the dict lacks. */
typedef enum EtwMissingMode {
    ETW_MISSING_ERROR, /* an error that names the missing fields */
    ETW_MISSING_ZERO,  /* zeros, an empty text, as many elements as other fields say */
    ETW_MISSING_CUT    /* the payload ends before the field, as in a truncated event; a value of a
                       later field is an error */
} EtwMissingMode;

/*
 * Append the payload of an event of this schema. A field that contains the number of elements or
 * bytes of another field may be missing: it is computed. An error's code is {ETW ARG DETAIL FIELD}
 * (VALUE, MISSING, and EtwEncode's) or {ETW LOOKUP FIELD FIELD}. On an error, *out keeps what was
 * appended.
 */
int EtwEncodeDict(Tcl_Interp *interp, EtwText *out, const EtwSchema *schema, uint8_t pointerSize,
        Tcl_Obj *dict, EtwMissingMode mode);

/* ---- One value (dict_encoder_value.c) --------------------------------------------------------------- */

/*
 * *value on entry: see EtwFieldSource.value. False: obj is not a valid value of the field; *value
 * is undefined. The value's data are in *scratch, in obj or static.
 */
bool EtwValueFromObj(EtwText *scratch, const EtwField *field, Tcl_Obj *obj, EtwValue *value);
/* Set the default for a missing value. */
void EtwValueSetZero(EtwText *scratch, const EtwField *field, EtwValue *value);
/* Append a description of valid values: "a number of 0 to 255". width: of the field's numbers. */
void EtwAddExpected(EtwText *out, const EtwField *field, uint8_t width);

#endif
