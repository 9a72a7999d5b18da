/*
 * tests/base/test_text.c --
 *
 *	The text builder, UTF-8 and UTF-16, GUIDs, the byte cursor, allocation and errors of generic/base.
 */
#include "base/arena.h"
#include "base/guid.h"
#include "base/os.h"
#include "base/status.h"
#include "base/text.h"
#include "base/unicode.h"
#include "tests/support/check.h"
#ifdef __linux__
#include <locale.h>
#include <wchar.h>
int wcwidth(wchar_t c); /* of POSIX; declared with _XOPEN_SOURCE only */
#endif

/* The text so far, as a string; empties it. */
static void checkText(EtwText *t, const char *want)
{
    CHECK_MEM(t->data, t->size, want, strlen(want));
    CHECK(t->size <= t->capacity);
    t->size = 0;
}

/* ---- Text builder ---------------------------------------------------------------------------- */

/* A text grows by doubling, so that n additions copy O(n) bytes, and keeps what it has. */
static void text_1_1_grows(void)
{
    EtwText t = {0};
    size_t capacity;
    unsigned moves = 0;
    EtwTextReserve(&t, 0);
    CHECK_EQ(t.capacity, 0);
    EtwTextReserve(&t, 1);
    CHECK_EQ(t.capacity, 256);
    EtwTextReserve(&t, 256);
    CHECK_EQ(t.capacity, 256);
    capacity = t.capacity;
    for (int i = 0; i < 100000; i++) {
        EtwTextChar(&t, (char)i);
        moves += t.capacity != capacity;
        capacity = t.capacity;
    }
    CHECK_EQ(moves, 9);
    CHECK_EQ(capacity, 131072);
    for (int i = 0; i < 100000; i++) {
        REQUIRE(t.data[i] == (char)i);
    }
    EtwTextReserve(&t, 1000000);
    CHECK_EQ(t.capacity, 1100000);
    EtwTextFree(&t);
    CHECK(t.data == NULL && t.size == 0 && t.capacity == 0);
}

static void text_1_2_printf(void)
{
    EtwText t = {0};
    char want[1000];
    for (int width = 100; width < 300; width++) {
        EtwTextStr(&t, "<");
        EtwTextPrintf(&t, "%0*d|%s", width, 7, "x");
        EtwTextStr(&t, ">");
        snprintf(want, sizeof want, "<%0*d|x>", width, 7);
        checkText(&t, want);
        EtwTextFree(&t);
    }
    EtwTextPrintf(&t, "%s", "");
    CHECK_EQ(t.size, 0);
    EtwTextFree(&t);
}

static void text_1_3_numbers(void)
{
    EtwText t = {0};
    static const struct {
        uint64_t value;
        int digits;
        const char *want;
    } hex[] = {{0, 0, "0"}, {0, 1, "0"}, {0, 4, "0000"}, {9, 1, "9"}, {10, 1, "a"}, {15, 2, "0f"},
            {16, 1, "10"}, {0xff, 1, "ff"}, {0x100, 2, "100"}, {0x9a, 2, "9a"},
            {0x12345678, 8, "12345678"}, {0x9abcdef0, 8, "9abcdef0"}, {0x100000000, 8, "100000000"},
            {0x0123456789abcdef, 16, "0123456789abcdef"},
            {0xfedcba9876543210, 1, "fedcba9876543210"}, {1, 16, "0000000000000001"},
            {1, 99, "0000000000000001"}};
    for (size_t i = 0; i < sizeof hex / sizeof *hex; i++) {
        EtwTextHex(&t, hex[i].value, hex[i].digits);
        checkText(&t, hex[i].want);
    }
    EtwTextSigned(&t, -1);
    checkText(&t, "-1");
    EtwTextSigned(&t, 0);
    checkText(&t, "0");
    EtwTextSigned(&t, INT64_MIN);
    checkText(&t, "-9223372036854775808");
    EtwTextSigned(&t, INT64_MAX);
    checkText(&t, "9223372036854775807");
    EtwTextFree(&t);
}

/* Numbers reserve their space: a text of any size stays whole. */
static void text_1_4_numbers_reserve(void)
{
    for (size_t size = 200; size <= 260; size++) {
        EtwText decimal = {0}, hex = {0};
        for (size_t i = 0; i < size; i++) {
            EtwTextChar(&decimal, 'x');
            EtwTextChar(&hex, 'x');
        }
        EtwTextDecimal(&decimal, UINT64_MAX);
        EtwTextHex(&hex, UINT64_MAX, 16);
        CHECK(decimal.size <= decimal.capacity && hex.size <= hex.capacity);
        CHECK_MEM(decimal.data + size, decimal.size - size, "18446744073709551615", 20);
        CHECK_MEM(hex.data + size, hex.size - size, "ffffffffffffffff", 16);
        EtwTextFree(&decimal);
        EtwTextFree(&hex);
    }
}

static void text_1_5_digits(void)
{
    for (int c = 0; c < 256; c++) {
        int want = c >= '0' && c <= '9'   ? c - '0'
                   : c >= 'a' && c <= 'f' ? c - 'a' + 10
                   : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                          : 99;
        CHECK_EQ(EtwHexDigit((char)c), want);
    }
}

/* ---- UTF-8 and UTF-16 ------------------------------------------------------------------------ */

/* The reference: the encoding of a code point, as RFC 3629's table has it. */
static size_t encode8(uint32_t c, uint8_t out[4])
{
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t lead[5] = {0, 0x00, 0xC0, 0xE0, 0xF0};
    for (size_t i = n; i-- > 1; c /= 64) {
        out[i] = (uint8_t)(0x80 + c % 64);
    }
    out[0] = (uint8_t)(lead[n] + c);
    return n;
}

static size_t encode16(uint32_t c, uint8_t out[4])
{
    if (c < 0x10000) {
        EtwStore16(out, (uint16_t)c);
        return 2;
    }
    EtwStore16(out, (uint16_t)(0xD800 + (c - 0x10000) / 1024));
    EtwStore16(out + 2, (uint16_t)(0xDC00 + (c - 0x10000) % 1024));
    return 4;
}

/* Every code point, there and back. */
static void unicode_1_1_all_code_points(void)
{
    EtwText t = {0};
    for (uint32_t c = 0; c < 0x110000; c++) {
        uint8_t utf8[4], utf16[4];
        size_t n = encode8(c, utf8), n16 = encode16(c, utf16), length = 99;
        bool surrogate = c >= 0xD800 && c <= 0xDFFF;
        uint32_t got = EtwUtf8Next(utf8, n, &length);
        if (got != (surrogate ? 0xFFFD : c) || length != (surrogate ? 1 : n)) {
            CHECK_MSG(false, "U+%04X is read as U+%04X, %d bytes", c, got, (int)length);
            break;
        }
        if (surrogate) {
            continue;
        }
        t.size = 0;
        EtwTextToUtf16(&t, (const char *)utf8, n);
        if (t.size != n16 || memcmp(t.data, utf16, n16) != 0) {
            CHECK_MSG(false, "U+%04X in UTF-16", c);
            break;
        }
        t.size = 0;
        EtwTextUtf16(&t, utf16, n16 / 2);
        if (t.size != n || memcmp(t.data, utf8, n) != 0) {
            CHECK_MSG(false, "U+%04X from UTF-16", c);
            break;
        }
    }
    EtwTextFree(&t);
}

/* Invalid bytes are one U+FFFD each; what follows is read again. */
static void unicode_1_2_invalid(void)
{
    static const char *const pairs[][2] = {
            /* Over-long forms of U+002F, U+007F, U+07FF and U+FFFF. */
            {"\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD"}, {"\xC1\xBF", "\xEF\xBF\xBD\xEF\xBF\xBD"},
            {"\xE0\x9F\xBF", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
            {"\xF0\x8F\xBF\xBF", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
            /* Past U+10FFFF; lead bytes that no longer exist. */
            {"\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
            {"\xF8\x88\x80\x80\x80",
                    "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
            /* A continuation byte alone; a lead byte before a letter, before a lead byte, at the end. */
            {"a\x80z", "a\xEF\xBF\xBDz"}, {"\xC3z", "\xEF\xBF\xBDz"},
            {"\xC3\xC3\xA4", "\xEF\xBF\xBD\xC3\xA4"}, {"a\xE2\x82", "a\xEF\xBF\xBD\xEF\xBF\xBD"},
            {"\xE2\x82z", "\xEF\xBF\xBD\xEF\xBF\xBDz"}, {"\xFF", "\xEF\xBF\xBD"},
            /* Valid text stays. */
            {"plain", "plain"}, {"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80 end", NULL}, {"", ""}};
    EtwText t = {0}, wide = {0};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const char *in = pairs[i][0], *want = pairs[i][1] ? pairs[i][1] : in;
        EtwTextUtf8(&t, (const uint8_t *)in, strlen(in));
        checkText(&t, want);
        /* The way through UTF-16 has the same replacements. */
        wide.size = 0;
        EtwTextToUtf16(&wide, in, strlen(in));
        EtwTextUtf16(&t, (const uint8_t *)wide.data, wide.size / 2);
        checkText(&t, want);
    }
    EtwTextFree(&t);
    EtwTextFree(&wide);
}

/* Surrogates without a partner, at each place of a text. */
static void unicode_1_3_lone_surrogates(void)
{
    static const struct {
        uint16_t units[6];
        size_t count;
        const char *want;
    } cases[] = {{{0xD800}, 1, "\xEF\xBF\xBD"}, {{0xDBFF, 'x'}, 2, "\xEF\xBF\xBDx"},
            {{0xDC00, 'x'}, 2, "\xEF\xBF\xBDx"}, {{0xDFFF}, 1, "\xEF\xBF\xBD"},
            {{0xD800, 0xD800, 0xDC00}, 3, "\xEF\xBF\xBD\xF0\x90\x80\x80"},
            {{0xDC00, 0xD800}, 2, "\xEF\xBF\xBD\xEF\xBF\xBD"},
            {{0xDBFF, 0xDFFF}, 2, "\xF4\x8F\xBF\xBF"},
            {{0xD7FF, 0xE000}, 2, "\xED\x9F\xBF\xEE\x80\x80"},
            {{0xD800, 0xE000}, 2, "\xEF\xBF\xBD\xEE\x80\x80"}};
    EtwText t = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        EtwTextUtf16(&t, (const uint8_t *)cases[i].units, cases[i].count);
        checkText(&t, cases[i].want);
    }
    EtwTextFree(&t);
}

/* ASCII is converted in steps of four: a letter that is not ASCII at each place of texts of each length. */
static void unicode_1_4_steps(void)
{
    EtwText t = {0};
    for (size_t units = 0; units <= 13; units++) {
        for (size_t odd = 0; odd <= units; odd++) {
            static const uint16_t letters[] = {0x80, 0xFF, 0x100, 0x4000, 0x7F};
            for (size_t k = 0; k < 5; k++) {
                uint16_t utf16[13];
                char want[60];
                size_t n = 0;
                for (size_t i = 0; i < units; i++) {
                    utf16[i] = i == odd ? letters[k] : (uint16_t)('A' + i);
                    n += encode8(utf16[i], (uint8_t *)want + n);
                }
                want[n] = '\0';
                EtwTextUtf16(&t, (const uint8_t *)utf16, units);
                checkText(&t, want);
            }
        }
    }
    EtwTextFree(&t);
}

static void unicode_1_5_cut_and_length(void)
{
    const char *text = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80z";
    static const size_t cut[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
    for (size_t most = 0; most <= 10; most++) {
        CHECK_EQ(EtwUtf8Cut(text, most), cut[most]);
    }
    CHECK_EQ(EtwUtf8Length(text, strlen(text)), 5);
    CHECK_EQ(EtwUtf8Length(text, 0), 0);
}

/* ---- GUIDs ----------------------------------------------------------------------------------- */

static const uint8_t counting[16] = {0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99,
        0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
#define COUNTING "00112233-4455-6677-8899-aabbccddeeff"

#ifdef __linux__
/* Character by character, the columns of glibc's own table of the same or a newer Unicode. */
static void unicode_1_6_width_beside_glibc(void)
{
    int differ = 0;
    if (setlocale(LC_CTYPE, "C.UTF-8") == NULL) {
        return;
    }
    for (uint32_t c = 0x20; c < 0x110000; c++) {
        int want = wcwidth((wchar_t)c);
        if (want >= 0 && EtwCharWidth(c) != want) {
            differ++;
        }
    }
    setlocale(LC_CTYPE, "C");
    CHECK(differ < 500); /* none with glibc 2.36; others know more of the rarest */
}
#endif

static void unicode_1_7_fit(void)
{
    static const char text[] = "ab\xE4\xB8\xAD"
                               "e\xCC\x81"
                               "defghijklmnop"; /* a b, a wide one, e and an accent */
    size_t width;
    CHECK_EQ(EtwUtf8Width(text, sizeof text - 1), 18);
    CHECK_EQ(EtwUtf8Fit(text, sizeof text - 1, 3, &width),
            2); /* half of the wide one has no place */
    CHECK_EQ(width, 2);
    CHECK_EQ(EtwUtf8Fit(text, sizeof text - 1, 4, &width), 5);
    CHECK_EQ(width, 4);
    CHECK_EQ(
            EtwUtf8Fit(text, sizeof text - 1, 5, &width), 8); /* the accent stays with its letter */
    CHECK_EQ(width, 5);
    CHECK_EQ(EtwUtf8Fit(text, sizeof text - 1, 14, &width), 17);
    CHECK_EQ(width, 14);
    CHECK_EQ(EtwUtf8Fit("\xFF\xFF", 2, 1, &width), 1);
    for (size_t before = 0; before < 80; before++) { /* a wide one at each place of a long text */
        char line[163];
        memset(line, 'x', sizeof line);
        memcpy(line + before, "\xE4\xB8\xAD", 3);
        CHECK_EQ(EtwUtf8Width(line, sizeof line), sizeof line - 1);
        for (size_t most = 0; most < sizeof line; most++) {
            size_t fits = most <= before ? most : most == before + 1 ? before : most + 1;
            CHECK_EQ(EtwUtf8Fit(line, sizeof line, most, &width), fits);
        }
    }
}

static void guid_1_1_text(void)
{
    EtwGuid guid;
    char text[ETW_GUID_TEXT];
    memcpy(guid.bytes, counting, 16);
    EtwGuidFormat(&guid, text);
    CHECK_STR(text, COUNTING);
    static const char *const good[] = {
            COUNTING, "{" COUNTING "}", "00112233-4455-6677-8899-AABBCCDDEEFF"};
    for (size_t i = 0; i < 3; i++) {
        memset(&guid, 0, sizeof guid);
        CHECK(EtwGuidParse(good[i], &guid));
        CHECK_MEM(guid.bytes, 16, counting, 16);
    }
}

/* What is no GUID is refused, and the result is left as it was. */
static void guid_1_2_bad_text(void)
{
    static const char *const bad[] = {"", "{", "{}", "{" COUNTING, COUNTING "}", COUNTING " ",
            COUNTING "0", " " COUNTING, "{" COUNTING "]", "{" COUNTING "}}",
            "00112233445566778899aabbccddeeff"};
    EtwGuid guid;
    memcpy(guid.bytes, counting, 16);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_MSG(!EtwGuidParse(bad[i], &guid), "\"%s\" is accepted", bad[i]);
    }
    /* A wrong character at each place, and the end at each place. */
    for (size_t at = 0; at < strlen(COUNTING); at++) {
        static const char wrong[] = {'g', '/', ':', '@', '`', 'G', '_', '\0'};
        for (size_t k = 0; k < sizeof wrong; k++) {
            char text[] = COUNTING;
            text[at] = wrong[k];
            CHECK_MSG(!EtwGuidParse(text, &guid), "\"%s\" is accepted", text);
        }
    }
    CHECK_MEM(guid.bytes, 16, counting, 16);
}

/*
 * System.Runtime's is the one that .NET documents. The others are by Python's hashlib: names around the sizes at which SHA-1
 * pads with one or two blocks, and letters around those that change to upper case.
 */
static void guid_1_3_from_name(void)
{
    static const char *const pairs[][2] = {
            {"System.Runtime", "49592c0f-5a05-516d-aa4b-a64e02026c89"},
            {"SYSTEM.runtime", "49592c0f-5a05-516d-aa4b-a64e02026c89"},
            {"AAAAAAAAAAAAAAAAAAA", "a7021459-762a-5858-d40d-f5fe61f7cf82"},
            {"AAAAAAAAAAAAAAAAAAAA", "4a7e753b-a3a0-5739-762b-690db64a5965"},
            {"AAAAAAAAAAAAAAAAAAAAAAA", "7b9ffcd8-a118-5bd0-c0f0-8f83031ab178"},
            {"AAAAAAAAAAAAAAAAAAAAAAAA", "b99c9125-cb3a-5dc1-1d9a-e645ce0d6cf7"},
            {"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                    "8c4f7e1d-342d-5517-12d4-884f58755849"},
            {"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                    "94b83184-b35e-52e6-90dd-36defef9eff2"},
            {"z`{a", "435b16c1-8879-58d2-7f02-776913eec9f0"},
            {"\xC3\xA0\xC3\xBE\xC3\xAF\xC3\xB7", "78208242-5b4b-59da-5668-c2568e1f8306"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        EtwGuid guid;
        char text[ETW_GUID_TEXT];
        EtwGuidFromName(pairs[i][0], &guid);
        EtwGuidFormat(&guid, text);
        CHECK_STR(text, pairs[i][1]);
    }
}

/* RFC 9562: version 4, variant 10; all other bits vary. */
static void guid_1_4_random(void)
{
    uint8_t ever[16] = {0}, always[16];
    memset(always, 0xFF, 16);
    for (int i = 0; i < 200; i++) {
        EtwGuid guid;
        EtwGuidRandom(&guid);
        for (int k = 0; k < 16; k++) {
            ever[k] |= guid.bytes[k];
            always[k] &= guid.bytes[k];
        }
    }
    for (int k = 0; k < 16; k++) {
        CHECK_EQ(always[k], k == 7 ? 0x40 : k == 8 ? 0x80 : 0);
        CHECK_EQ(ever[k], k == 7 ? 0x4F : k == 8 ? 0xBF : 0xFF);
    }
}

static void guid_1_5_equal(void)
{
    EtwGuid a = {{0}}, b = {{0}};
    CHECK(EtwGuidEqual(&a, &b) && EtwGuidIsNull(&a));
    for (int i = 0; i < 16; i++) {
        b.bytes[i] = 1;
        CHECK(!EtwGuidEqual(&a, &b) && !EtwGuidIsNull(&b));
        b.bytes[i] = 0;
    }
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

/* Values are little-endian; a read past the end yields 0, fails, and so does every read after it. */
static void bytes_1_1_cursor(void)
{
    static const uint8_t data[17] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
    EtwBytes b = EtwBytesOf(data, 17);
    CHECK_EQ(EtwBytesLeft(&b), 17);
    CHECK_EQ(EtwTake8(&b), 1);
    CHECK_EQ(EtwTake16(&b), 0x0302);
    CHECK_EQ(EtwTake32(&b), 0x07060504);
    CHECK_EQ(EtwTake64(&b), 0x0f0e0d0c0b0a0908);
    CHECK(!b.failed && EtwTake(&b, 2) == data + 15);
    CHECK(!b.failed && EtwTake(&b, 0) == data + 17);
    CHECK(!b.failed);
    CHECK_EQ(EtwTake8(&b), 0);
    CHECK(b.failed);
    for (size_t left = 0; left < 8; left++) {
        b = EtwBytesOf(data, left);
        CHECK_EQ(EtwTake64(&b), 0);
        CHECK(b.failed);
        CHECK_EQ(EtwBytesLeft(&b), 0);
        CHECK_EQ(EtwTake8(&b), 0);
    }
    CHECK_EQ(EtwAlign8(0), 0);
    CHECK_EQ(EtwAlign8(1), 8);
    CHECK_EQ(EtwAlign8(8), 8);
    CHECK_EQ(EtwAlign8(9), 16);
}

/* ---- Allocation ------------------------------------------------------------------------------ */

static void alloc_1_1_zeroed(void)
{
    for (size_t size = 1; size < 10; size += 37) {
        uint8_t *p = EtwAlloc(size);
        for (size_t i = 0; i < size; i++) {
            CHECK(p[i] == 0);
        }
        memset(p, 0xEE, size);
        EtwFree(p);
    }
    char *copy = EtwStrdup("copy");
    CHECK_STR(copy, "copy");
    copy = EtwRealloc(copy, 100000);
    CHECK_STR(copy, "copy");
    EtwFree(copy);
    copy = EtwStrdup("");
    CHECK_STR(copy, "");
    EtwFree(copy);
}

/* A small owner pays for a small chunk; a large request has a chunk of its own size; the rest of a chunk is used. */
static void arena_2_1_chunks(void)
{
    EtwArena arena = {0};
    size_t before;
    uint8_t *a = EtwArenaAlloc(&arena, 1, 1), *b = EtwArenaAlloc(&arena, 1, 1);
    CHECK(b == a + 1);
    CHECK(arena.bytes > 1024 && arena.bytes < 1024 + 100);
    before = arena.bytes;
    b = EtwArenaAlloc(&arena, 1022, 1);
    CHECK(b == a + 2);
    CHECK_EQ(arena.bytes, before);
    EtwArenaAlloc(&arena, 1, 1);
    CHECK(arena.bytes - before > 16384 && arena.bytes - before < 16384 + 100);
    before = arena.bytes;
    EtwArenaAlloc(&arena, 100000, 8);
    CHECK(arena.bytes - before >= 100000 && arena.bytes - before < 100000 + 100);
    EtwArenaFree(&arena);
    CHECK(arena.chunks == NULL && arena.bytes == 0);
    /* Also a chunk that is filled by the padding of an alignment. */
    EtwArenaAlloc(&arena, 1023, 1);
    before = arena.bytes;
    CHECK_EQ((uintptr_t)EtwArenaAlloc(&arena, 8, 16) % 16, 0);
    CHECK(arena.bytes > before);
    EtwArenaFree(&arena);
}

/* ---- Errors ---------------------------------------------------------------------------------- */

static void status_1_1_fills(void)
{
    EtwError err;
    char text[200], want[300];
    memset(&err, 0xEE, sizeof err);
    CHECK_EQ(
            EtwFail(&err, ETW_E_LOOKUP, "SESSION", "name", "no %s %d", "session", 7), ETW_E_LOOKUP);
    CHECK_EQ(err.status, ETW_E_LOOKUP);
    CHECK_EQ(err.osError, 0);
    CHECK_STR(err.detail, "SESSION");
    CHECK_STR(err.subject, "name");
    CHECK_STR(err.message, "no session 7");
    memset(&err, 0xEE, sizeof err);
    CHECK_EQ(EtwFailOs(&err, ETW_E_IO, 2, NULL, NULL, "cannot open %s", "x"), ETW_E_IO);
    CHECK_EQ(err.status, ETW_E_IO);
    CHECK_EQ(err.osError, 2);
    CHECK_STR(err.detail, "");
    CHECK_STR(err.subject, "");
    snprintf(want, sizeof want, "cannot open x: %s", OsErrorText(2, text, sizeof text));
    CHECK_STR(err.message, want);
    /* Without a place for the error. */
    CHECK_EQ(EtwFail(NULL, ETW_E_ARG, "A", "b", "c"), ETW_E_ARG);
    CHECK_EQ(EtwFailOs(NULL, ETW_E_ACCESS, 1, "A", "b", "c"), ETW_E_ACCESS);
}

/* A message that is too long is cut, also where the system's text begins. */
static void status_1_2_long(void)
{
    EtwError err;
    char longText[2000];
    memset(longText, 'x', sizeof longText - 1);
    longText[sizeof longText - 1] = '\0';
    EtwFailOs(&err, ETW_E_IO, 2, longText, longText, "%s", longText);
    CHECK_EQ(strlen(err.detail), sizeof err.detail - 1);
    CHECK_EQ(strlen(err.subject), sizeof err.subject - 1);
    CHECK_EQ(strlen(err.message), sizeof err.message - 1);
}

static void status_1_3_names(void)
{
    static const char *const names[] = {"OK", "END", "AGAIN", "PAUSE", "ARG", "STATE", "LOOKUP",
            "FORMAT", "IO", "LIMIT", "ACCESS", "UNSUPPORTED", "MEMORY"};
    for (int i = 0; i <= ETW_E_MEMORY; i++) {
        CHECK_STR(EtwStatusName((EtwStatus)i), names[i]);
    }
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(text_1_1_grows);
    CHECK_RUN(text_1_2_printf);
    CHECK_RUN(text_1_3_numbers);
    CHECK_RUN(text_1_4_numbers_reserve);
    CHECK_RUN(text_1_5_digits);
    CHECK_RUN(unicode_1_1_all_code_points);
    CHECK_RUN(unicode_1_2_invalid);
    CHECK_RUN(unicode_1_3_lone_surrogates);
    CHECK_RUN(unicode_1_4_steps);
    CHECK_RUN(unicode_1_5_cut_and_length);
#ifdef __linux__
    CHECK_RUN(unicode_1_6_width_beside_glibc);
#endif
    CHECK_RUN(unicode_1_7_fit);
    CHECK_RUN(guid_1_1_text);
    CHECK_RUN(guid_1_2_bad_text);
    CHECK_RUN(guid_1_3_from_name);
    CHECK_RUN(guid_1_4_random);
    CHECK_RUN(guid_1_5_equal);
    CHECK_RUN(bytes_1_1_cursor);
    CHECK_RUN(alloc_1_1_zeroed);
    CHECK_RUN(arena_2_1_chunks);
    CHECK_RUN(status_1_1_fills);
    CHECK_RUN(status_1_2_long);
    CHECK_RUN(status_1_3_names);
    return CHECK_DONE();
}
