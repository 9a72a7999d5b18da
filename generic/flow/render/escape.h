/*
 * flow/render/escape.h --
 *
 *	Escapes text for terminals, JSON and XML. The input for JSON and XML is valid UTF-8. The output is
 *	valid in all cases.
 */
#ifndef ETW_ESCAPE_H
#define ETW_ESCAPE_H

#include "base/text.h"
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
/*
 * Text for a terminal, on one line. Shown as \n, \x1b, \u202e are: control characters (C0, DEL, C1),
 * controls of the direction of text, line and paragraph separators. Bytes that are not UTF-8 become
 * U+FFFD. The text is not unambiguous, as a backslash stands for itself; Quoted: it is, since a
 * backslash or double quote gets a backslash.
 */
void EtwAddSafe(EtwText *out, const void *text, size_t size);
void EtwAddSafeQuoted(EtwText *out, const void *text, size_t size);
static inline void EtwAddSafeStr(EtwText *out, const char *text)
{
    EtwAddSafe(out, text, strlen(text));
}
/* The same, but line feeds and tabs stay. */
void EtwAddSafeLines(EtwText *out, const char *text, size_t size);
/* A JSON string, its quotes included. */
void EtwAddJson(EtwText *out, const char *text, size_t size);
static inline void EtwAddJsonStr(EtwText *out, const char *text)
{
    EtwAddJson(out, text, strlen(text));
}
/* A cell of a csv file (RFC 4180): in quotes, or only where it must be, with commas as separators. The
 * prefix stands inside of the quotes. */
void EtwAddCsvQuoted(EtwText *out, const char *prefix, const char *text, size_t size);
void EtwAddCsv(EtwText *out, const char *text);
/* Characters of XML 1.0, for content and for quoted attributes; those that it cannot have become
 * U+FFFD. */
void EtwAddXml(EtwText *out, const char *text, size_t size);

#endif
