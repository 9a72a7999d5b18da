/*
 * tcl/core/value_bytes.h --
 *
 *	Tcl values to the bytes of a field, for the forms that do not depend on the field: what `etw write`
 *	(tcl/provider/write_encode.c) and the encoder of dicts (tcl/value/dict_encoder_value.c) share.
 */
#ifndef ETW_VALUE_BYTES_H
#define ETW_VALUE_BYTES_H

#include "tcl/core/tclglue.h"

enum { ETW_VALUE_BYTES = 68 };

/* The bytes of a value, ETW_VALUE_BYTES at most; returns how many, 0: obj is no such value. */
typedef size_t EtwBytesProc(Tcl_Obj *obj, uint8_t *bytes);
EtwBytesProc EtwBoolBytes; /* 4 bytes */
EtwBytesProc EtwGuidBytes, EtwSidBytes;
EtwBytesProc EtwIpv4Bytes,
        EtwIpv6Bytes;      /* network byte order; IPv4 becomes ::ffff:a.b.c.d in the latter */
EtwBytesProc EtwPortBytes; /* network byte order */
EtwBytesProc EtwFiletimeBytes, EtwSystemtimeBytes; /* of nanoseconds since 1970 */

/* ms since 1970 as a SYSTEMTIME; false: before its year 0 or after its last. */
bool EtwSystemtimeOf(int64_t ms, uint8_t systemtime[16]);

/* Text forms of addresses (address.c); both yield network byte order. */
bool EtwParseIpv4(const char *text, uint8_t address[4]);
bool EtwParseIpv6(
        const char *text, uint8_t address[16]); /* an IPv4 address becomes ::ffff:a.b.c.d */
/* S-1-...; *sizePtr: bytes used of 68. */
bool EtwParseSid(const char *text, uint8_t sid[68], size_t *sizePtr);

#endif
