/*
 * tcl/value/dict_encoder.h --
 *
 *	Payload bytes from a Tcl dict of fields along any event's schema: what the dict of a decoded
 *	event (`props`) has goes back in, and the forms that a person writes. The declared types of `etw
 *	write` are another thing: tcl/provider/write_encode.c.
 */
#ifndef ETW_DICT_ENCODER_H
#define ETW_DICT_ENCODER_H

#include "tcl/core/tclglue.h"
#include "schema/model/encode.h"

/* What becomes of a field that the dict lacks. */
typedef enum EtwMissingMode {
    ETW_MISSING_ERROR, /* an error that names those that are missing */
    ETW_MISSING_ZERO,  /* zeros, an empty text, as many elements as other fields say */
    ETW_MISSING_CUT /* the payload ends there, as that of an event that was cut off; what is given
                       behind it is an error */
} EtwMissingMode;

/*
 * Append the payload of an event of this schema. A number that says how many elements or bytes
 * another field has may be left out: it is counted. An error's code is {ETW ARG DETAIL FIELD} (VALUE,
 * MISSING, and EtwEncode's) or {ETW LOOKUP FIELD FIELD}; what was appended until then stays.
 */
int EtwEncodeDict(Tcl_Interp *interp, EtwText *out, const EtwSchema *schema, uint8_t pointerSize,
        Tcl_Obj *dict, EtwMissingMode mode);

/* ---- One value (dict_encoder_value.c) --------------------------------------------------------------- */

/*
 * *value comes as EtwFieldSource.value says; false: obj is not a value of the field, and *value is spoiled.
 * Its data are in *scratch, in obj or static.
 */
bool EtwValueFromObj(EtwText *scratch, const EtwField *field, Tcl_Obj *obj, EtwValue *value);
/* What stands for a value that is not given. */
void EtwValueSetZero(EtwText *scratch, const EtwField *field, EtwValue *value);
/* Append what EtwValueFromObj takes: "a number of 0 to 255". width: of the field's numbers. */
void EtwAddExpected(EtwText *out, const EtwField *field, uint8_t width);

#endif
