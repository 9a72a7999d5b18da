/*
 * base/unicode.h --
 *
 *	UTF-8 and UTF-16. Invalid text becomes U+FFFD.
 */
#ifndef ETW_BASE_UNICODE_H
#define ETW_BASE_UNICODE_H

#include "base/text.h"

/*
 * The code point at p (left > 0) and its length in bytes. Invalid UTF-8: U+FFFD, length 1. Overlong
 * forms, surrogates and values past U+10FFFF are invalid.
 */
uint32_t EtwUtf8Next(const uint8_t *p, size_t left, size_t *lengthPtr);
/* The size of the longest part of a text, at most `most` bytes, that ends between two characters. The
 * text has more than `most` bytes. */
static inline size_t EtwUtf8Cut(const void *text, size_t most)
{
    while (most > 0 && (((const uint8_t *)text)[most] & 0xC0) == 0x80) {
        most--;
    }
    return most;
}
/* The number of characters in the text. */
static inline size_t EtwUtf8Length(const void *text, size_t size)
{
    size_t length = 0;
    for (size_t i = 0; i < size; i++) {
        length += (((const uint8_t *)text)[i] & 0xC0) != 0x80;
    }
    return length;
}
/* The columns that a character takes on a terminal: 0 (combining), 1, or 2 (most of Chinese, Japanese, Korean). */
int EtwCharWidth(uint32_t codePoint);
/*
 * The size of the longest part of the text, from its start, that takes at most `most` columns; in
 * *widthPtr, the columns that it takes.
 */
size_t EtwUtf8Fit(const void *text, size_t size, size_t most, size_t *widthPtr);
static inline size_t EtwUtf8Width(const void *text, size_t size)
{
    size_t width;
    EtwUtf8Fit(text, size, SIZE_MAX, &width);
    return width;
}
/* UTF-16LE (n code units; lone surrogates become U+FFFD) appended as UTF-8. */
void EtwTextUtf16(EtwText *t, const uint8_t *utf16, size_t units);
/* UTF-8 (invalid bytes become U+FFFD) appended as UTF-16LE. */
void EtwTextToUtf16(EtwText *t, const char *utf8, size_t size);
/* Bytes appended as valid UTF-8: valid sequences are unchanged, others become U+FFFD. */
void EtwTextUtf8(EtwText *t, const uint8_t *bytes, size_t size);

#endif
