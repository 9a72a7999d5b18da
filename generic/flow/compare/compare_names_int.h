/*
 * flow/compare/compare_names_int.h --
 *
 *	Shared by the files that make names of different runs equal.
 */
#ifndef ETW_COMPARE_NAMES_INT_H
#define ETW_COMPARE_NAMES_INT_H

#include "flow/compare/compare_int.h"

/* A rest of the name. */
typedef struct Rest {
    const char *at, *end;
} Rest;

static inline bool EtwIsDigit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool EtwIsLower(char c)
{
    return c >= 'a' && c <= 'z';
}

static inline bool EtwIsUpper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static inline bool EtwIsBlank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Of ASCII and all others. */
static inline bool EtwIsWordChar(char c)
{
    return EtwIsLower(c) || EtwIsUpper(c) || (uint8_t)c >= 0x80 || EtwIsDigit(c) || c == '_';
}

static inline Rest EtwRestAfter(Rest r, size_t size)
{
    return (Rest){r.at + size, r.end};
}

static inline size_t EtwRestSpan(Rest r, bool (*is)(char c))
{
    size_t n = 0;
    while (r.at + n < r.end && is(r.at[n])) {
        n++;
    }
    return n;
}

static inline bool EtwRestBegins(Rest r, const char *text)
{
    size_t size = strlen(text);
    return (size_t)(r.end - r.at) >= size && memcmp(r.at, text, size) == 0;
}

/*
 * A rule returns the number of bytes that it replaces, 0 if it does not match. start: of the whole name. *keepPtr, which is 0
 * before: how many of these bytes stay in front of the replacement.
 */
typedef size_t EtwNameRule(const char *start, Rest r, size_t *keepPtr);

/* compare_secrets.c: a secret that begins there, with the word that says so. */
EtwNameRule EtwMatchSecret;

/* compare_temp_names.c: the random part of a temporary file's name. */
EtwNameRule EtwMatchTempName;

#endif
