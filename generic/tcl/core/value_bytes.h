/*
 * tcl/core/value_bytes.h --
 *
 *	Conversion of Tcl values to the bytes of a scalar field, in the notation of `etw write`. The encoder
 *	of dicts (tcl/value/dict_encoder.h) uses it for all scalars and accepts further notations
 *	(tcl/value/dict_encoder_value.c).
 */
#ifndef ETW_VALUE_BYTES_H
#define ETW_VALUE_BYTES_H

#include "schema/model/schema.h"
#include "tcl/core/tclglue.h"

enum {
    ETW_SID_BYTES = 68,     /* of the longest SID */
    ETW_MAX_PAYLOAD = 65536 /* in bytes: no event can have more */
};

/*
 * Append the value of a field. False: obj is not a valid value of the field, and nothing is
 * appended. Of a text or blob of more than 65535 bytes, only the first ETW_MAX_PAYLOAD are
 * appended.
 */
typedef bool EtwAppendProc(EtwText *out, const EtwField *field, Tcl_Obj *obj);
/*
 * The function for a field. NULL: its values depend on more than its type: names of values, a size
 * that the schema defines, an out-type that changes the notation. Not NULL for types of `etw
 * provider event`.
 */
EtwAppendProc *EtwAppendProcOf(const EtwField *field, uint8_t pointerSize);

/* ms since 1970 as a SYSTEMTIME; false: before its year 0 or after its last. */
bool EtwSystemtimeOf(int64_t ms, uint8_t systemtime[16]);

/* Text forms of addresses (address.c); both yield network byte order. */
bool EtwParseIpv4(const char *text, uint8_t address[4]);
bool EtwParseIpv6(
        const char *text, uint8_t address[16]); /* an IPv4 address becomes ::ffff:a.b.c.d */
/* Parses S-1-...; *sizePtr: the number of bytes used. */
bool EtwParseSid(const char *text, uint8_t sid[ETW_SID_BYTES], size_t *sizePtr);

#endif
