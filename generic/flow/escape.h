/*
 * flow/escape.h --
 *
 *	Text inside of other languages: JSON strings, XML. What comes in is valid UTF-8; what goes out
 *	is valid there, whatever it says.
 */
#ifndef ETW_FLOW_ESCAPE_H
#define ETW_FLOW_ESCAPE_H

#include "base/bytes.h"
#include <stdbool.h>

/* A string literal. */
#define ETW_ADD(out, literal) EtwTextAdd((out), (literal), sizeof(literal) - 1)

/* True: the bytes are printable ASCII without double quotes and backslashes: no form but XML needs
 * to escape them. */
bool EtwIsPlain(const uint8_t *bytes, size_t size);
/* A JSON string, its quotes included. */
void EtwAddJson(EtwText *out, const char *text, size_t size);
/* Characters of XML 1.0, for content and for quoted attributes; those that it cannot have become
 * U+FFFD. */
void EtwAddXml(EtwText *out, const char *text, size_t size);

#endif
