/*
 * tests/flow/test_escape.c --
 *
 *	Text for terminals (generic/flow/render/escape.h). The forms of JSON and XML are in test_sink.c.
 */
#include "flow/render/escape.h"
#include "tests/support/check.h"

static void checkSafe(const char *text, size_t size, const char *want)
{
    EtwText out = {0};
    EtwAddSafe(&out, text, size);
    EtwTextChar(&out, '\0');
    CHECK_STR(out.data, want);
    EtwTextFree(&out);
}
#define CHECK_SAFE(literal, want) checkSafe((literal), sizeof(literal) - 1, (want))

static void safe_1_1_controls(void)
{
    CHECK_SAFE("", "");
    CHECK_SAFE("plain \"text\" with \\ and more", "plain \"text\" with \\ and more");
    CHECK_SAFE("a\0b\tc\nd\re\033[31mf\177g", "a\\x00b\\tc\\nd\\re\\x1b[31mf\\x7fg");
    CHECK_SAFE("\xC2\x80\xC2\x9B\xC2\x9F\xC2\xA0", "\\x80\\x9b\\x9f\xC2\xA0");
}

static void safe_1_2_direction_and_lines(void)
{
    CHECK_SAFE("\xD8\x9C", "\\u061c");
    CHECK_SAFE("\xE2\x80\x8D\xE2\x80\x8E\xE2\x80\x8F\xE2\x80\x90",
            "\xE2\x80\x8D\\u200e\\u200f\xE2\x80\x90");
    CHECK_SAFE("\xE2\x80\xA7\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAA\xE2\x80\xAE\xE2\x80\xAF",
            "\xE2\x80\xA7\\u2028\\u2029\\u202a\\u202e\xE2\x80\xAF");
    CHECK_SAFE("\xE2\x81\xA5\xE2\x81\xA6\xE2\x81\xA9\xE2\x81\xAA",
            "\xE2\x81\xA5\\u2066\\u2069\xE2\x81\xAA");
}

/* Cut, overlong, surrogates: a byte each becomes U+FFFD. An overlong ESC is no ESC. */
static void safe_1_3_invalid(void)
{
    CHECK_SAFE("a\xFF"
               "b",
            "a\xEF\xBF\xBD"
            "b");
    CHECK_SAFE("\x9B"
               "31m",
            "\xEF\xBF\xBD"
            "31m");
    CHECK_SAFE("\xC2", "\xEF\xBF\xBD");
    CHECK_SAFE("\xE2\x80", "\xEF\xBF\xBD\xEF\xBF\xBD");
    CHECK_SAFE("\xC0\x9B", "\xEF\xBF\xBD\xEF\xBF\xBD");
    CHECK_SAFE("\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

static void safe_2_1_quoted_and_lines(void)
{
    EtwText out = {0};
    EtwAddSafeQuoted(&out, "a\"b\\c\nd\xC3\xA9", 9);
    EtwTextChar(&out, '|');
    EtwAddSafeLines(&out, "a\n\tb\033\n", 6);
    EtwTextChar(&out, '\0');
    CHECK_STR(out.data, "a\"\"b\\c\\nd\xC3\xA9|a\n\tb\\x1b\n");
    EtwTextFree(&out);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(safe_1_1_controls);
    CHECK_RUN(safe_1_2_direction_and_lines);
    CHECK_RUN(safe_1_3_invalid);
    CHECK_RUN(safe_2_1_quoted_and_lines);
    return CHECK_DONE();
}
