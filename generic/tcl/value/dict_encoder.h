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
typedef enum EtwGiverMode {
    ETW_GIVE_ALL,   /* an error that names those that are missing */
    ETW_GIVE_ZEROS, /* zeros, an empty text, as many elements as other fields say */
    ETW_GIVE_PREFIX /* the payload ends there, as that of an event that was cut off; what is given
                       behind it is an error */
} EtwGiverMode;

/*
 * Append the payload of an event of this schema. A number that says how many elements or bytes
 * another field has may be left out: it is counted. An error's code is {ETW ARG DETAIL FIELD} (VALUE,
 * MISSING, and EtwEncode's) or {ETW LOOKUP FIELD FIELD}; what was appended until then stays.
 */
int EtwGiveDict(Tcl_Interp *interp, EtwText *out, const EtwSchema *schema, uint8_t pointerSize,
        Tcl_Obj *dict, EtwGiverMode mode);

/* ---- One value (dict_encoder_value.c) --------------------------------------------------------------- */

/*
 * *value comes as EtwGiver.value says; false: obj is not a value of the field, and *value is spoiled.
 * Its data are in *scratch, in obj or static.
 */
bool EtwGiveValue(EtwText *scratch, const EtwField *field, Tcl_Obj *obj, EtwValue *value);
/* What stands for a value that is not given. */
void EtwGiveZero(EtwText *scratch, const EtwField *field, EtwValue *value);
/* Append what EtwGiveValue takes: "a number of 0 to 255". width: of the field's numbers. */
void EtwGiveExpected(EtwText *out, const EtwField *field, uint8_t width);

#endif
