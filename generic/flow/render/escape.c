/*
 * flow/render/escape.c --
 *
 *	Escaping of text for terminals, JSON, csv and XML.
 */
#include "flow/render/escape.h"
#include "base/unicode.h"

/* ---- Properties of a text --------------------------------------------------------------------- */

/*
 * Tests eight bytes at a time. In the result, a byte's top bit is set if the byte has the property.
 * Bytes after such a byte may have a wrong result, so only the whole being zero or not is
 * meaningful.
 */
#define ONES 0x0101010101010101ull
#define TOPS 0x8080808080808080ull

static inline uint64_t below(uint64_t v, uint8_t limit)
{
    return (v - ONES * limit) & ~v;
}

static inline uint64_t equal(uint64_t v, uint8_t byte)
{
    uint64_t x = v ^ ONES * byte;
    return (x - ONES) & ~x;
}

typedef struct Found {
    uint64_t special, delimiter, backslash;
} Found;

static inline void look(Found *found, uint64_t v)
{
    uint64_t bracket = v | ONES * 0x20; /* '[' becomes '{', ']' becomes '}' */
    uint64_t quote = equal(v, '"');
    found->special |= v | below(v, 0x20) | equal(v, 0x7F) | quote;
    found->backslash |= equal(v, '\\');
    found->delimiter |= below(v, 0x21) | equal(bracket, '{') | equal(bracket, '}') | quote;
}

unsigned EtwTextTraits(const uint8_t *p, size_t size)
{
    Found found = {0, 0, 0};
    uint64_t last = ONES * 'a';
    if (size == 0) {
        return ETW_TEXT_DELIMITER;
    }
    if (size < 8) {
        memcpy(&last, p, size);
    } else {
        const uint8_t *end = p + size - 8;
        for (; p < end; p += 8) {
            look(&found, EtwLoad64(p));
        }
        last = EtwLoad64(end); /* overlaps with bytes that are tested already */
    }
    look(&found, last);
    return ((found.special & TOPS) != 0 ? ETW_TEXT_SPECIAL : 0u) |
           ((found.delimiter & TOPS) != 0 ? ETW_TEXT_DELIMITER : 0u) |
           ((found.backslash & TOPS) != 0 ? ETW_TEXT_BACKSLASH : 0u);
}

/* ---- Terminals -------------------------------------------------------------------------------- */

static bool isUnsafe(uint32_t c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x61C || c == 0x200E || c == 0x200F ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

static void addVisible(EtwText *out, uint32_t c)
{
    static const char letters[256] = {['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    EtwTextChar(out, '\\');
    if (c < 256 && letters[c] != 0) {
        EtwTextChar(out, letters[c]);
    } else {
        EtwTextChar(out, c < 256 ? 'x' : 'u');
        EtwTextHex(out, c, c < 256 ? 2 : 4);
    }
}

/* The number of printable ASCII bytes from p on that are written as they are. */
static size_t plainRun(const uint8_t *p, size_t size, bool quoted)
{
    size_t n = 0;
    while (n < size && p[n] >= 0x20 && p[n] < 0x7F && !(quoted && p[n] == '"')) {
        n++;
    }
    return n;
}

static void addSafe(EtwText *out, const uint8_t *p, size_t size, bool quoted)
{
    for (size_t n; size > 0; p += n, size -= n) {
        n = plainRun(p, size, quoted);
        if (n > 0) {
            EtwTextAdd(out, p, n);
            continue;
        }
        uint32_t c = EtwUtf8Next(p, size, &n);
        if (isUnsafe(c)) {
            addVisible(out, c);
        } else if (c == 0xFFFD) {
            ETW_ADD(out, "\xEF\xBF\xBD");
        } else {
            EtwTextStr(out, c == '"' ? "\"" : "");
            EtwTextAdd(out, p, n);
        }
    }
}

void EtwAddSafe(EtwText *out, const void *text, size_t size)
{
    if (EtwTextTraits(text, size) & ETW_TEXT_SPECIAL) {
        addSafe(out, text, size, false);
    } else {
        EtwTextAdd(out, text, size);
    }
}

void EtwAddSafeQuoted(EtwText *out, const void *text, size_t size)
{
    addSafe(out, text, size, true);
}

void EtwAddSafeLines(EtwText *out, const char *text, size_t size)
{
    for (const char *end = text + size; text < end;) {
        const char *at = text;
        while (at < end && *at != '\n' && *at != '\t') {
            at++;
        }
        EtwAddSafe(out, text, (size_t)(at - text));
        if (at < end) {
            EtwTextChar(out, *at++);
        }
        text = at;
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void addEscape(EtwText *out, uint8_t c)
{
    static const char letters[256] = {['"'] = '"',
            ['\\'] = '\\',
            ['\b'] = 'b',
            ['\f'] = 'f',
            ['\n'] = 'n',
            ['\r'] = 'r',
            ['\t'] = 't'};
    EtwTextChar(out, '\\');
    if (letters[c] != 0) {
        EtwTextChar(out, letters[c]);
    } else {
        ETW_ADD(out, "u00");
        EtwTextHex(out, c, 2);
    }
}

void EtwAddJson(EtwText *out, const char *text, size_t size)
{
    EtwTextChar(out, '"');
    if (!(EtwTextTraits((const uint8_t *)text, size) & (ETW_TEXT_SPECIAL | ETW_TEXT_BACKSLASH))) {
        EtwTextAdd(out, text, size);
    } else {
        for (size_t i = 0; i < size; i++) {
            uint8_t c = (uint8_t)text[i];
            if (c < 0x20 || c == '"' || c == '\\') {
                addEscape(out, c);
            } else {
                EtwTextChar(out, (char)c);
            }
        }
    }
    EtwTextChar(out, '"');
}

/* ---- csv ------------------------------------------------------------------------------------- */

void EtwAddCsvQuoted(EtwText *out, const char *prefix, const char *text, size_t size)
{
    const char *end = text + size, *quote;
    EtwTextChar(out, '"');
    EtwTextStr(out, prefix);
    while (text < end && (quote = memchr(text, '"', (size_t)(end - text))) != NULL) {
        EtwTextAdd(out, text, (size_t)(quote + 1 - text));
        EtwTextChar(out, '"');
        text = quote + 1;
    }
    EtwTextAdd(out, text, (size_t)(end - text));
    EtwTextChar(out, '"');
}

void EtwAddCsv(EtwText *out, const char *text)
{
    if (text[strcspn(text, ",\"\r\n")] != 0) {
        EtwAddCsvQuoted(out, "", text, strlen(text));
    } else {
        EtwTextStr(out, text);
    }
}

/* ---- XML ------------------------------------------------------------------------------------- */

/* Not 0: a byte that is not written as it is, or EF, which may begin U+FFFE. */
#define C8 1, 1, 1, 1, 1, 1, 1, 1
static const uint8_t xmlSpecial[256] = {
        C8, C8, C8, C8, ['&'] = 1, ['<'] = 1, ['>'] = 1, ['"'] = 1, ['\''] = 1, [0xEF] = 1};
#undef C8

static const char *entityOf(uint8_t c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    case '\t':
        return "&#9;";
    case '\n':
        return "&#10;";
    case '\r':
        return "&#13;";
    default:
        return c < 0x20 ? "\xEF\xBF\xBD" : NULL;
    }
}

/* U+FFFE and U+FFFF are EF BF BE and EF BF BF. */
static bool isNoCharacter(const uint8_t *p, size_t left)
{
    return left >= 3 && p[0] == 0xEF && p[1] == 0xBF && p[2] >= 0xBE;
}

void EtwAddXml(EtwText *out, const char *text, size_t size)
{
    const uint8_t *p = (const uint8_t *)text, *end = p + size, *start = p;
    for (;; p++) {
        while (end - p >= 4 &&
                !(xmlSpecial[p[0]] | xmlSpecial[p[1]] | xmlSpecial[p[2]] | xmlSpecial[p[3]])) {
            p += 4;
        }
        while (p < end && !xmlSpecial[*p]) {
            p++;
        }
        if (p == end) {
            break;
        }
        const char *entity = entityOf(*p);
        if (entity == NULL && isNoCharacter(p, (size_t)(end - p))) {
            entity = "\xEF\xBF\xBD";
            EtwTextAdd(out, start, (size_t)(p - start));
            p += 2;
        } else if (entity != NULL) {
            EtwTextAdd(out, start, (size_t)(p - start));
        } else {
            continue;
        }
        EtwTextStr(out, entity);
        start = p + 1;
    }
    EtwTextAdd(out, start, (size_t)(p - start));
}
