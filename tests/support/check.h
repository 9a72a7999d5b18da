/*
 * tests/support/check.h --
 *
 *	The check macros of the core's C tests. A test is a function; CHECK_RUN runs it and prints
 *	one line: `ok NAME`, `FAIL file:line NAME ...` for each check that failed, or `skip NAME:
 *	reason`. A failed check does not end the test unless it is a REQUIRE. Does not use Tcl, does
 *	not fork, is included by one file of a program.
 *
 *	static void reader_2_3(void)
 *	{
 *	    CHECK(x > 0);
 *	    CHECK_EQ(a, b);
 *	    CHECK_STR(s, "text");
 *	    REQUIRE(p != NULL);
 *	}
 *	int main(int argc, char **argv)
 *	{
 *	    CHECK_ARGS(argc, argv);
 *	    CHECK_RUN(reader_2_3);
 *	    return CHECK_DONE();
 *	}
 *
 *	Arguments of the program are substrings of names: only tests that contain one of them run.
 */
#ifndef ETW_TESTS_CHECK_H
#define ETW_TESTS_CHECK_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The state of the program: the counts so far and the running test. */
static struct CheckState {
    int passed, failed, skipped;
    int argc;
    char **argv;
    const char *name; /* of the running test */
    int bad;          /* its failed checks so far */
    char skip[200];   /* why it was skipped, or empty */
} checkState;

#define CHECK_ARGS(argCount, argVector)                                                            \
    (setvbuf(stdout, NULL, _IOLBF, 4096), checkState.argc = (argCount),                            \
            checkState.argv = (argVector))
#define CHECK_RUN(test) CheckRun(#test, test)
#define CHECK_DONE() CheckDone()

#define CHECK(cond) CheckThat((cond), __FILE__, __LINE__, "%s", #cond)
/* With a message, printf-like. */
#define CHECK_MSG(cond, ...) CheckThat((cond), __FILE__, __LINE__, __VA_ARGS__)
/* Integers of any kind up to 64 bits; both values are shown. */
#define CHECK_EQ(got, want)                                                                        \
    CheckEq((int64_t)(got), (int64_t)(want), __FILE__, __LINE__, #got, #want)
#define CHECK_STR(got, want) CheckStr((got), (want), __FILE__, __LINE__, #got)
#define CHECK_MEM(got, gotSize, want, wantSize)                                                    \
    CheckMem((got), (gotSize), (want), (wantSize), __FILE__, __LINE__, #got)
/* Leaves the test (a void function) when the condition is false. */
#define REQUIRE(cond)                                                                              \
    do {                                                                                           \
        if (!CHECK(cond)) {                                                                        \
            return;                                                                                \
        }                                                                                          \
    } while (0)
/* Leaves the test, which counts as skipped unless a check failed before. */
#define SKIP(...)                                                                                  \
    do {                                                                                           \
        CheckSkip(__VA_ARGS__);                                                                    \
        return;                                                                                    \
    } while (0)

#if defined(__GNUC__)
#define CHECK_UNUSED __attribute__((unused))
#define CHECK_PRINTF(fmt, args) __attribute__((unused, format(printf, fmt, args)))
#else
#define CHECK_UNUSED
#define CHECK_PRINTF(fmt, args)
#endif

static bool CheckThat(bool good, const char *file, int line, const char *format, ...)
        CHECK_PRINTF(4, 5);
static bool CheckThat(bool good, const char *file, int line, const char *format, ...)
{
    if (!good) {
        va_list args;
        checkState.bad++;
        printf("FAIL %s:%d %s: ", file, line, checkState.name ? checkState.name : "?");
        va_start(args, format);
        vprintf(format, args);
        va_end(args);
        putchar('\n');
    }
    return good;
}

static void CheckSkip(const char *format, ...) CHECK_PRINTF(1, 2);
static void CheckSkip(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(checkState.skip, sizeof checkState.skip, format, args);
    va_end(args);
}

CHECK_UNUSED static bool CheckEq(int64_t got, int64_t want, const char *file, int line,
        const char *gotText, const char *wantText)
{
    return CheckThat(got == want, file, line, "%s is %lld (0x%llx), not %s = %lld (0x%llx)",
            gotText, (long long)got, (unsigned long long)got, wantText, (long long)want,
            (unsigned long long)want);
}

CHECK_UNUSED static bool CheckStr(
        const char *got, const char *want, const char *file, int line, const char *gotText)
{
    bool good = got != NULL && want != NULL ? strcmp(got, want) == 0 : got == want;
    return CheckThat(good, file, line, "%s is \"%s\", not \"%s\"", gotText, got ? got : "(null)",
            want ? want : "(null)");
}

CHECK_UNUSED static bool CheckMem(const void *got, size_t gotSize, const void *want,
        size_t wantSize, const char *file, int line, const char *gotText)
{
    if (gotSize != wantSize) {
        return CheckThat(false, file, line, "%s has %llu bytes, not %llu", gotText,
                (unsigned long long)gotSize, (unsigned long long)wantSize);
    }
    size_t i = 0;
    const unsigned char *g = got, *w = want;
    while (i < gotSize && g[i] == w[i]) {
        i++;
    }
    return CheckThat(i == gotSize, file, line, "%s differs at byte %llu of %llu", gotText,
            (unsigned long long)i, (unsigned long long)gotSize);
}

static bool CheckWanted(const char *name)
{
    for (int i = 1; i < checkState.argc; i++) {
        if (strstr(name, checkState.argv[i]) != NULL) {
            return true;
        }
    }
    return checkState.argc < 2;
}

CHECK_UNUSED static void CheckRun(const char *name, void (*test)(void))
{
    if (!CheckWanted(name)) {
        return;
    }
    checkState.name = name;
    checkState.bad = 0;
    checkState.skip[0] = 0;
    test();
    if (checkState.bad != 0) {
        checkState.failed++;
    } else if (checkState.skip[0] != 0) {
        checkState.skipped++;
        printf("skip %s: %s\n", name, checkState.skip);
    } else {
        checkState.passed++;
        printf("ok %s\n", name);
    }
    checkState.name = NULL;
}

/* Prints the last line; returns main's result. */
CHECK_UNUSED static int CheckDone(void)
{
    printf("%d passed, %d failed, %d skipped\n", checkState.passed, checkState.failed,
            checkState.skipped);
    fflush(stdout);
    return checkState.failed != 0;
}

#endif
