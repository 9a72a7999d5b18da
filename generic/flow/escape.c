/*
 * flow/escape.c --
 *
 *	Text inside of JSON and XML.
 */
#include "flow/escape.h"

bool EtwIsPlain(const uint8_t *p, size_t size)
{
    const uint64_t ones = 0x0101010101010101ull, tops = 0x8080808080808080ull;
    uint64_t bad = 0;
    for (; size >= 8; p += 8, size -= 8) {
        uint64_t v = EtwLoad64(p);
        uint64_t quote = v ^ ones * '"', slash = v ^ ones * '\\', del = v ^ ones * 0x7F;
        bad |= v | ((v - ones * 0x20) & ~v); /* above 0x7F, below 0x20 */
        bad |= ((quote - ones) & ~quote) | ((slash - ones) & ~slash) | ((del - ones) & ~del);
    }
    bad &= tops;
    for (; size > 0; p++, size--) {
        bad |= *p < 0x20 || *p >= 0x7F || *p == '"' || *p == '\\';
    }
    return bad == 0;
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
    if (EtwIsPlain((const uint8_t *)text, size)) {
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

/* ---- XML ------------------------------------------------------------------------------------- */

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
    for (; p < end; p++) {
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
