/*
 * predicate/glob.c --
 *
 *	Tcl's string match on UTF-8: * ? [a-z] \x. Backtracks only to the last star. -nocase folds
 *	letters of Latin, Greek and Cyrillic, not all of Unicode.
 */
#include "predicate/glob.h"
#include <stdint.h>
#include <string.h>

typedef struct Chars {
    const uint8_t *at;
    const uint8_t *end;
} Chars;

/* The next character; each invalid byte counts as one. Must not be called at the end. */
static uint32_t nextChar(Chars *c)
{
    static const uint8_t lengths[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3};
    uint32_t code = *c->at++;
    int more = code < 0x80 ? 0 : lengths[code >> 4];
    if (more == 0 || c->end - c->at < more) {
        return code;
    }
    uint32_t full = code & (0x3Fu >> more);
    for (int i = 0; i < more; i++) {
        if ((c->at[i] & 0xC0) != 0x80) {
            return code;
        }
        full = full << 6 | (c->at[i] & 0x3F);
    }
    c->at += more;
    return full;
}

static uint32_t fold(uint32_t c)
{
    if (c < 0x80) {
        return c >= 'A' && c <= 'Z' ? c + 32 : c;
    }
    if ((c >= 0xC0 && c <= 0xDE && c != 0xD7) || (c >= 0x391 && c <= 0x3A9) ||
            (c >= 0x410 && c <= 0x42F)) {
        return c + 32;
    }
    if (c >= 0x400 && c <= 0x40F) {
        return c + 80;
    }
    bool evenUpper = (c >= 0x100 && c <= 0x137) || (c >= 0x14A && c <= 0x177);
    bool oddUpper = (c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17E);
    return (evenUpper && c % 2 == 0) || (oddUpper && c % 2 == 1) ? c + 1 : c;
}

static uint32_t nextFolded(Chars *c, bool nocase)
{
    uint32_t code = nextChar(c);
    return nocase ? fold(code) : code;
}

/* After a '[': true if c is in the set. Moves past the ']' (or to the end of the pattern). */
static bool inSet(Chars *p, uint32_t c, bool nocase)
{
    bool found = false;
    while (!found && p->at < p->end && *p->at != ']') {
        uint32_t low = nextFolded(p, nocase), high = low;
        if (p->at < p->end && *p->at == '-') {
            p->at++;
            if (p->at == p->end) {
                return false;
            }
            high = nextFolded(p, nocase);
        }
        found = (low <= c && c <= high) || (high <= c && c <= low);
    }
    while (p->at < p->end && *p->at != ']') {
        p->at++;
    }
    p->at += p->at < p->end;
    return found;
}

/* Match a pattern element other than a star against a character. */
static bool matchOne(Chars *p, uint32_t c, bool nocase)
{
    switch (*p->at) {
    case '?':
        p->at++;
        return true;
    case '[':
        p->at++;
        return inSet(p, c, nocase);
    case '\\':
        if (++p->at == p->end) {
            return false;
        }
        break;
    }
    return nextFolded(p, nocase) == c;
}

bool EtwGlobMatch(
        const char *pattern, size_t patternSize, const char *text, size_t textSize, bool nocase)
{
    Chars p = {(const uint8_t *)pattern, (const uint8_t *)pattern + patternSize};
    Chars t = {(const uint8_t *)text, (const uint8_t *)text + textSize};
    Chars starPattern = {NULL, NULL}, starText = t;
    for (;;) {
        if (p.at < p.end && *p.at == '*') {
            p.at++;
            starPattern = p;
            starText = t;
            continue;
        }
        if (t.at == t.end) {
            return p.at == p.end;
        }
        if (p.at < p.end && matchOne(&p, nextFolded(&t, nocase), nocase)) {
            continue;
        }
        if (starPattern.at == NULL || starText.at == starText.end) {
            return false;
        }
        nextChar(&starText); /* the star matches one more */
        p = starPattern;
        t = starText;
    }
}

size_t EtwTextLength(const char *text, size_t size)
{
    Chars c = {(const uint8_t *)text, (const uint8_t *)text + size};
    size_t length = 0;
    while (c.at < c.end) {
        nextChar(&c);
        length++;
    }
    return length;
}
