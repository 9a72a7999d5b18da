/*
 * schema/model/text_defs.c --
 *
 *	Converts text files in the encodings of their authors: UTF-8, or UTF-16 with or without a
 *	byte order mark. Also finds text in other bytes.
 */
#include "schema/model/text_defs.h"
#include "base/unicode.h"

/* True if most of the first characters are ASCII in UTF-16LE. */
static bool looksLikeUtf16(const uint8_t *data, size_t size)
{
    size_t n = size < 64 ? size & ~(size_t)1 : 64, zeros = 0;
    for (size_t i = 1; i < n; i += 2) {
        zeros += data[i] == 0 && data[i - 1] != 0;
    }
    return n >= 4 && zeros > n / 4;
}

static void addBigEndian(EtwText *out, const uint8_t *data, size_t size)
{
    EtwText swapped = {0};
    for (size_t i = 0; i + 1 < size; i += 2) {
        EtwTextChar(&swapped, (char)data[i + 1]);
        EtwTextChar(&swapped, (char)data[i]);
    }
    EtwTextUtf16(out, (const uint8_t *)swapped.data, swapped.size / 2);
    EtwTextFree(&swapped);
}

void EtwTextOfFile(EtwText *out, const uint8_t *data, size_t size)
{
    if (size >= 2 && data[0] == 0xFF && data[1] == 0xFE) {
        EtwTextUtf16(out, data + 2, size / 2 - 1);
    } else if (size >= 2 && data[0] == 0xFE && data[1] == 0xFF) {
        addBigEndian(out, data + 2, size - 2);
    } else if (looksLikeUtf16(data, size)) {
        EtwTextUtf16(out, data, size / 2);
    } else {
        size_t mark = size >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
        EtwTextUtf8(out, data + mark, size - mark);
    }
}

/* The number of characters of `unit` bytes from data on that are printable ASCII. */
static size_t runLength(const uint8_t *data, size_t size, size_t unit)
{
    size_t n = 0;
    while ((n + 1) * unit <= size && data[n * unit] >= ' ' && data[n * unit] < 0x7F &&
            (unit == 1 || data[n * unit + 1] == 0)) {
        n++;
    }
    return n;
}

bool EtwPrintableStrings(EtwText *out, const uint8_t *data, size_t size, size_t most)
{
    enum { LEAST = 4 };
    size_t from = out->size;
    for (size_t i = 0; i < size && out->size - from < most;) {
        size_t narrow = runLength(data + i, size - i, 1), wide = runLength(data + i, size - i, 2);
        size_t unit = wide > narrow ? 2 : 1, count = wide > narrow ? wide : narrow;
        if (count < LEAST) {
            i++;
            continue;
        }
        EtwTextStr(out, out->size != from ? " \"" : "\"");
        for (size_t k = 0; k < count && out->size - from < most; k++) {
            char c = (char)data[i + k * unit];
            EtwTextStr(out, c == '"' || c == '\\' ? "\\" : "");
            EtwTextChar(out, c);
        }
        EtwTextChar(out, '"');
        i += count * unit;
    }
    return out->size != from;
}
