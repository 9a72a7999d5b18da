/*
 * base/unicode.c --
 *
 *	Conversions between UTF-8 and UTF-16, appended to a text (base/unicode.h).
 */
#include "base/unicode.h"

static void addCodePoint(EtwText *t, uint32_t c)
{
    char out[4];
    size_t n;
    if (c < 0x80) {
        out[0] = (char)c;
        n = 1;
    } else if (c < 0x800) {
        out[0] = (char)(0xC0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3F));
        n = 2;
    } else if (c < 0x10000) {
        out[0] = (char)(0xE0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3F));
        out[2] = (char)(0x80 | (c & 0x3F));
        n = 3;
    } else {
        out[0] = (char)(0xF0 | c >> 18);
        out[1] = (char)(0x80 | (c >> 12 & 0x3F));
        out[2] = (char)(0x80 | (c >> 6 & 0x3F));
        out[3] = (char)(0x80 | (c & 0x3F));
        n = 4;
    }
    EtwTextAdd(t, out, n);
}

/* Appends the ASCII units at the start in steps of four; returns their number. */
static size_t addAscii16(EtwText *t, const uint8_t *utf16, size_t units)
{
    size_t i = 0;
    if (units < 4) {
        return 0; /* an empty text may have a NULL buffer */
    }
    EtwTextReserve(t, units);
    char *to = t->data + t->size;
    for (; i + 4 <= units; i += 4) {
        uint64_t four = EtwLoad64(utf16 + 2 * i);
        if ((four & 0xFF80FF80FF80FF80ull) != 0) {
            break;
        }
        four = (four | four >> 8) & 0x0000FFFF0000FFFFull;
        four |= four >> 16;
        EtwStore32(to + i, (uint32_t)four);
    }
    t->size += i;
    return i;
}

void EtwTextUtf16(EtwText *t, const uint8_t *utf16, size_t units)
{
    for (size_t i = addAscii16(t, utf16, units); i < units; i++) {
        uint32_t c = EtwLoad16(utf16 + 2 * i);
        if (c >= 0xD800 && c < 0xDC00 && i + 1 < units) {
            uint32_t low = EtwLoad16(utf16 + 2 * (i + 1));
            if (low >= 0xDC00 && low < 0xE000) {
                c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
                i++;
            }
        }
        addCodePoint(t, c >= 0xD800 && c < 0xE000 ? 0xFFFD : c);
    }
}

uint32_t EtwUtf8Next(const uint8_t *p, size_t left, size_t *lengthPtr)
{
    static const uint32_t least[4] = {0, 0x80, 0x800, 0x10000};
    size_t n;
    uint32_t c = p[0];
    *lengthPtr = 1;
    if (c < 0x80) {
        return c;
    }
    n = c >= 0xF0 && c < 0xF8 ? 3 : c >= 0xE0 && c < 0xF0 ? 2 : c >= 0xC0 && c < 0xE0 ? 1 : 0;
    if (n == 0 || n >= left) {
        return 0xFFFD;
    }
    c &= 0x3Fu >> n;
    for (size_t i = 1; i <= n; i++) {
        if ((p[i] & 0xC0) != 0x80) {
            return 0xFFFD;
        }
        c = c << 6 | (p[i] & 0x3F);
    }
    if (c < least[n] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) {
        return 0xFFFD;
    }
    *lengthPtr = n + 1;
    return c;
}

void EtwTextToUtf16(EtwText *t, const char *utf8, size_t size)
{
    const uint8_t *p = (const uint8_t *)utf8;
    while (size > 0) {
        size_t n;
        uint32_t c = EtwUtf8Next(p, size, &n);
        uint8_t out[4];
        if (c < 0x10000) {
            EtwStore16(out, (uint16_t)c);
            EtwTextAdd(t, out, 2);
        } else {
            EtwStore16(out, (uint16_t)(0xD800 + ((c - 0x10000) >> 10)));
            EtwStore16(out + 2, (uint16_t)(0xDC00 + ((c - 0x10000) & 0x3FF)));
            EtwTextAdd(t, out, 4);
        }
        p += n;
        size -= n;
    }
}

void EtwTextUtf8(EtwText *t, const uint8_t *p, size_t size)
{
    EtwTextReserve(t, size);
    while (size > 0) {
        size_t run = 0, n;
        while (run < size && p[run] < 0x80) {
            run++;
        }
        EtwTextAdd(t, p, run);
        p += run;
        size -= run;
        if (size > 0) {
            addCodePoint(t, EtwUtf8Next(p, size, &n));
            p += n;
            size -= n;
        }
    }
}
