/*
 * schema/model/encode.h --
 *
 *	The inverse of decode.h: requests the typed value of each field of a schema from a source and
 *	appends the payload's bytes. The result decodes to the same values. Bytes that are not part of a
 *	value (skipped ones, padding, pointers before a SID) are zeros.
 */
#ifndef ETW_ENCODE_H
#define ETW_ENCODE_H

#include "schema/model/decode.h"

enum { ETW_ENCODE_MAX = 65535 }; /* bytes: no record of a trace can hold more */

/*
 * The source of the values. It is called in the order of EtwVisitor's calls. A status other than ETW_OK
 * ends the encoding and is its result. ETW_END: the payload ends there.
 */
typedef struct EtwFieldSource {
    /* Set *value: a scalar, an element of an array, or the text of EtwFieldIsChars. It is zeroed on
     * entry, except out, width (of a number: its bytes) and size (the bytes of a text or blob, where
     * the schema or an earlier field defines it). Its data must remain valid until the next call. */
    EtwStatus (*value)(void *ctx, const EtwField *field, EtwValue *value, EtwError *errPtr);
    /* Begin an array or a struct (isStruct). *countPtr: set to the number of elements; on entry the
     * number that the schema or an earlier field defines, else 0. After ETW_OK, `end` follows unless
     * the encoding ends. */
    EtwStatus (*begin)(
            void *ctx, const EtwField *field, bool isStruct, uint32_t *countPtr, EtwError *errPtr);
    void (*end)(void *ctx, const EtwField *field, bool isStruct);
} EtwFieldSource;

/*
 * Append the payload. pointerSize: 4 or 8. ETW_E_ARG: a value is of the wrong kind (detail KIND),
 * out of the field's range (RANGE), too long for it (SIZE), or the number of elements or bytes differs
 * from that in the schema or another field (COUNT); subject is the field's name. ETW_E_LIMIT: more
 * than ETW_ENCODE_MAX bytes. On an error, *out keeps what was appended.
 */
EtwStatus EtwEncode(EtwText *out, const EtwSchema *schema, uint8_t pointerSize,
        const EtwFieldSource *source, void *ctx, EtwError *errPtr);

/* True if the field's value is negative when its highest bit is set. */
bool EtwFieldIsSigned(const EtwField *field);

#endif
