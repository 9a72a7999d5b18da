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
 * Properties of a text. SPECIAL: contains a character that is not printable ASCII, or a double
 * quote, so that formats other than XML may have to escape it. BACKSLASH: contains one, which JSON
 * escapes. DELIMITER: contains blanks, quotes, brackets or braces, or is empty, so that it needs
 * quotes to be unambiguous.
 */
enum { ETW_TEXT_SPECIAL = 1, ETW_TEXT_DELIMITER = 2, ETW_TEXT_BACKSLASH = 4 };
unsigned EtwTextTraits(const uint8_t *bytes, size_t size);
/*
 * Text for a terminal, on one line. Control characters (C0, DEL, C1), bidirectional controls, line
 * and paragraph separators are shown as \n, \x1b, \u202e. Invalid UTF-8 becomes U+FFFD. Backslashes stay as they are,
 * so that Windows' paths can be read and copied; the text is for people, not for programs. Quoted: double quotes
 * are doubled, so that a value cannot seem to end.
 */
void EtwAddSafe(EtwText *out, const void *text, size_t size);
void EtwAddSafeQuoted(EtwText *out, const void *text, size_t size);
static inline void EtwAddSafeStr(EtwText *out, const char *text)
{
    EtwAddSafe(out, text, strlen(text));
}
/* The same, but line feeds and tabs are kept. */
void EtwAddSafeLines(EtwText *out, const char *text, size_t size);
/* A JSON string, including its quotes. */
void EtwAddJson(EtwText *out, const char *text, size_t size);
static inline void EtwAddJsonStr(EtwText *out, const char *text)
{
    EtwAddJson(out, text, strlen(text));
}
/*
 * A cell of a csv file (RFC 4180) with commas as separators, quoted always or only if required. The
 * prefix is placed inside the quotes.
 */
void EtwAddCsvQuoted(EtwText *out, const char *prefix, const char *text, size_t size);
void EtwAddCsv(EtwText *out, const char *text);
/*
 * Characters of XML 1.0, for content and for quoted attributes. Characters that XML does not permit
 * become U+FFFD.
 */
void EtwAddXml(EtwText *out, const char *text, size_t size);

#endif
