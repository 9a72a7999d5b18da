/*
 * flow/render/escape.h --
 *
 *	Text inside of other languages: JSON strings, XML. What comes in is valid UTF-8; what goes out
 *	is valid there, whatever it says.
 */
#ifndef ETW_ESCAPE_H
#define ETW_ESCAPE_H

#include "base/bytes.h"
#include <stdbool.h>

/* A string literal. */
#define ETW_ADD(out, literal) EtwTextAdd((out), (literal), sizeof(literal) - 1)

/*
 * What a text has in it. SPECIAL: something that is not printable ASCII, a double quote or a
 * backslash, so that forms other than XML may have to escape it. DELIMITER: blanks, quotes, brackets
 * and braces, so that it is unclear where it ends when it stands bare; so it is of an empty text.
 */
enum { ETW_TEXT_SPECIAL = 1, ETW_TEXT_DELIMITER = 2 };
unsigned EtwTextTraits(const uint8_t *bytes, size_t size);
/* A JSON string, its quotes included. */
void EtwAddJson(EtwText *out, const char *text, size_t size);
/* Characters of XML 1.0, for content and for quoted attributes; those that it cannot have become
 * U+FFFD. */
void EtwAddXml(EtwText *out, const char *text, size_t size);

#endif
