/*
 * schema/texts.c --
 *
 *	Text files as their writers saved them: UTF-8, or UTF-16 with or without a byte order mark.
 */
#include "schema/texts.h"

/* Most of the first characters are ASCII in UTF-16LE. */
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
