/*
 * base/guid.c --
 *
 *	GUIDs as text, and GUIDs derived from names as EventSource does. Contains SHA-1 (FIPS
 *	180-4), which no other file needs.
 */
#include "base/guid.h"
#include "base/bytes.h"
#include "base/unicode.h"
#include "base/os.h"
#include <stdio.h>

/* Order of the 16 bytes in text: Data1..3 are little-endian in memory and big-endian in text. */
static const uint8_t textOrder[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};

void EtwGuidFormat(const EtwGuid *guid, char text[ETW_GUID_TEXT])
{
    const uint8_t *b = guid->bytes;
    uint64_t middle = EtwHexDigits((uint32_t)EtwLoad16(b + 4) << 16 | EtwLoad16(b + 6));
    uint64_t end = EtwHexDigits(__builtin_bswap32(EtwLoad32(b + 8)));
    EtwStore64(text, EtwHexDigits(EtwLoad32(b)));
    EtwStore32(text + 9, (uint32_t)middle);
    EtwStore32(text + 14, (uint32_t)(middle >> 32));
    EtwStore32(text + 19, (uint32_t)end);
    EtwStore32(text + 24, (uint32_t)(end >> 32));
    EtwStore64(text + 28, EtwHexDigits(__builtin_bswap32(EtwLoad32(b + 12))));
    text[8] = text[13] = text[18] = text[23] = '-';
    text[36] = '\0';
}

bool EtwGuidParse(const char *text, EtwGuid *guid)
{
    EtwGuid result;
    bool braces = *text == '{';
    text += braces;
    for (int i = 0; i < 16; i++) {
        int high, low;
        if ((i == 4 || i == 6 || i == 8 || i == 10) && *text++ != '-') {
            return false;
        }
        if ((high = EtwHexDigit(text[0])) > 15 || (low = EtwHexDigit(text[1])) > 15) {
            return false;
        }
        result.bytes[textOrder[i]] = (uint8_t)(high << 4 | low);
        text += 2;
    }
    if (braces && *text++ != '}') {
        return false;
    }
    if (*text != '\0') {
        return false;
    }
    *guid = result;
    return true;
}

static uint32_t rotate(uint32_t v, int n)
{
    return v << n | v >> (32 - n);
}

static void sha1Block(uint32_t h[5], const uint8_t *block)
{
    uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    for (int i = 0; i < 16; i++) {
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    }
    for (int i = 16; i < 80; i++) {
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    }
    for (int i = 0; i < 80; i++) {
        uint32_t f, k, next;
        if (i < 20) {
            f = (b & c) | (~b & d);
            k = 0x5A827999;
        } else if (i < 40) {
            f = b ^ c ^ d;
            k = 0x6ED9EBA1;
        } else if (i < 60) {
            f = (b & c) | (b & d) | (c & d);
            k = 0x8F1BBCDC;
        } else {
            f = b ^ c ^ d;
            k = 0xCA62C1D6;
        }
        next = rotate(a, 5) + f + e + k + w[i];
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
}

static void sha1(const uint8_t *data, size_t size, uint8_t digest[20])
{
    uint32_t h[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
    uint8_t last[128] = {0};
    size_t whole = size / 64 * 64, rest = size - whole, end = rest < 56 ? 64 : 128;
    for (size_t at = 0; at < whole; at += 64) {
        sha1Block(h, data + at);
    }
    memcpy(last, data + whole, rest);
    last[rest] = 0x80;
    for (int i = 0; i < 8; i++) {
        last[end - 1 - (size_t)i] = (uint8_t)((uint64_t)size * 8 >> 8 * i);
    }
    sha1Block(h, last);
    if (end == 128) {
        sha1Block(h, last + 64);
    }
    for (int i = 0; i < 20; i++) {
        digest[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
    }
}

/* Converts only ASCII and Latin-1 letters, which suffices for names of providers. */
static uint16_t upper(uint16_t c)
{
    if ((c >= 'a' && c <= 'z') || (c >= 0xE0 && c <= 0xFE && c != 0xF7)) {
        return (uint16_t)(c - 32);
    }
    return c;
}

void EtwGuidFromName(const char *name, EtwGuid *guid)
{
    static const uint8_t space[16] = {0x48, 0x2C, 0x2D, 0xB2, 0xC3, 0x90, 0x47, 0xC8, 0x87, 0xF8,
            0x1A, 0x15, 0xBF, 0xC1, 0x30, 0xFB};
    EtwText utf16 = {0}, input = {0};
    uint8_t digest[20];
    EtwTextToUtf16(&utf16, name, strlen(name));
    EtwTextAdd(&input, space, sizeof space);
    for (size_t i = 0; i + 1 < utf16.size; i += 2) {
        uint16_t c = upper(EtwLoad16(utf16.data + i));
        EtwTextChar(&input, (char)(c >> 8));
        EtwTextChar(&input, (char)(c & 0xFF));
    }
    sha1((const uint8_t *)input.data, input.size, digest);
    memcpy(guid->bytes, digest, 16);
    guid->bytes[7] = (uint8_t)((guid->bytes[7] & 0x0F) | 0x50);
    EtwTextFree(&utf16);
    EtwTextFree(&input);
}

void EtwGuidRandom(EtwGuid *guid)
{
    OsRandom(guid->bytes, sizeof guid->bytes);
    guid->bytes[7] = (uint8_t)((guid->bytes[7] & 0x0F) | 0x40);
    guid->bytes[8] = (uint8_t)((guid->bytes[8] & 0x3F) | 0x80);
}
