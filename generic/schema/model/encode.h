/*
 * schema/model/encode.h --
 *
 *	The inverse of decode.h: walks a schema, asks a source for each field's typed value, and
 *	appends the payload's bytes. What is encoded decodes to the same values; bytes that no value
 *	shows (skipped ones, padding, pointers before a SID) come out as zeros.
 */
#ifndef ETW_ENCODE_H
#define ETW_ENCODE_H

#include "schema/model/decode.h"

enum { ETW_ENCODE_MAX = 65535 }; /* bytes: no record of a trace can hold more */

/*
 * Whoever knows the values. Asked in the order in which EtwVisitor is told them. A status other than
 * ETW_OK ends the encoding and is its result: ETW_END for a payload that stops there.
 */
typedef struct EtwFieldSource {
    /* A scalar, one element of an array, or the one text of EtwFieldIsChars. value comes zeroed but
     * for out, for width (of a number: its bytes), and for size (where the schema or an earlier
     * field says it: the bytes of a text or blob). Its data has to stay valid until the source is
     * asked again. */
    EtwStatus (*value)(void *ctx, const EtwField *field, EtwValue *value, EtwError *errPtr);
    /* Array (*countPtr: to be set to its elements; comes as what the schema or an earlier field says,
     * else 0) or struct (isStruct) begins; each that began with ETW_OK ends, unless the encoding
     * does. */
    EtwStatus (*begin)(
            void *ctx, const EtwField *field, bool isStruct, uint32_t *countPtr, EtwError *errPtr);
    void (*end)(void *ctx, const EtwField *field, bool isStruct);
} EtwFieldSource;

/*
 * Append the payload. pointerSize: 4 or 8. ETW_E_ARG: a value is of the wrong kind (detail KIND),
 * out of the field's range (RANGE), too long for it (SIZE), or there are not as many elements or
 * bytes as the schema or another field says (COUNT); subject is the field's name. ETW_E_LIMIT: more
 * than ETW_ENCODE_MAX bytes. What was appended until then stays.
 */
EtwStatus EtwEncode(EtwText *out, const EtwSchema *schema, uint8_t pointerSize,
        const EtwFieldSource *source, void *ctx, EtwError *errPtr);

/* The field is read as a number below 0 when its highest bit is set. */
bool EtwFieldIsSigned(const EtwField *field);

#endif
