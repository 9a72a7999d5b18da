/*
 * tests/win/wine_test.h --
 *
 *	What Wine's conformance tests need of its own wine/test.h, to run them against the simulated service
 *	(tests/project/clients.tcl). Wine's developers run these tests on real versions of Windows, so that a
 *	check that fails here is an error of the simulation. "todo" marks what Wine lacks, not what Windows does.
 */
#ifndef ETW_TESTS_WIN_WINE_TEST_H
#define ETW_TESTS_WIN_WINE_TEST_H

#include <initguid.h>
#include "tests/win/abi.h"
#include <stdarg.h>
#include <stdio.h>

static int wineChecks, wineFailures, wineSkips;

#define ok(condition, ...) WineCheck((condition) != 0, __LINE__, __VA_ARGS__)
#define skip(...) (wineSkips++, printf(__VA_ARGS__))
#define win_skip skip
#define todo_wine

static inline void WineCheck(int good, int line, const char *format, ...)
{
    va_list args;
    wineChecks++;
    if (!good) {
        wineFailures++;
        printf("line %d: ", line);
        va_start(args, format);
        vprintf(format, args);
        va_end(args);
    }
}

#endif
