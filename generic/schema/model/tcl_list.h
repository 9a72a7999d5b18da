/*
 * schema/model/tcl_list.h --
 *
 *	Formats values and payloads as Tcl lists and dicts, without Tcl. Tcl's list parser returns exactly
 *	the same values. Line breaks are escaped, so a list is one line.
 */
#ifndef ETW_TCL_LIST_H
#define ETW_TCL_LIST_H

#include "schema/model/decode.h"

/* Append text (valid UTF-8) as one list element. */
void EtwListElement(EtwText *out, const char *text, size_t size);
/* Quote the text that was appended to *out from offset `from` on as one list element. */
void EtwListNest(EtwText *out, size_t from);
/* Append a value as one element: a number, or its text (EtwValueIsText); times are ns since 1970.
 */
void EtwListValue(EtwText *out, const EtwField *field, const EtwValue *value);
/*
 * Append the payload as a dict, one element of a list: fields by name, structs as dicts, arrays as
 * lists. Bytes that the schema does not cover are in _rest (or, if schema is NULL or has no fields,
 * in _payload) as hexadecimal digits. Returns the result of EtwDecode.
 */
EtwStatus EtwListProps(EtwText *out, const EtwSchema *schema, const EtwEvent *event);
/*
 * The same, not quoted as an element. tdh: in the notation of Windows' decoder. Each value is a list,
 * GUIDs are in braces and upper case, hexadecimal numbers have all digits, times are ISO 8601 with
 * milliseconds; without a schema the key is _userdata.
 */
EtwStatus EtwListDict(EtwText *out, const EtwSchema *schema, const EtwEvent *event, bool tdh);
/* Append the value of one top-level array or struct as list text (not quoted as an element). */
EtwStatus EtwListField(EtwText *out, const EtwSchema *schema, const EtwEvent *event, int index);

#endif
