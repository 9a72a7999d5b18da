/*
 * predicate/quantity.c --
 *
 *	Numbers with a unit. The number has digits and at most one point; the result is rounded. One blank may
 *	stand between them.
 */
#include "predicate/quantity.h"
#include <string.h>

typedef struct Unit {
    const char *name;
    EtwQuantityKind kind;
    int64_t factor;
    bool anyCase;
} Unit;

#define DURATION(name, ns)                                                                         \
    {                                                                                              \
        name, ETW_QUANTITY_DURATION, INT64_C(ns), false                                            \
    }
#define SIZE(letter, shift)                                                                        \
    {letter, ETW_QUANTITY_SIZE, INT64_C(1) << (shift), false},                                     \
            {letter "b", ETW_QUANTITY_SIZE, INT64_C(1) << (shift), true},                          \
    {                                                                                              \
        letter "ib", ETW_QUANTITY_SIZE, INT64_C(1) << (shift), true                                \
    }
static const Unit units[] = {DURATION("ns", 1), DURATION("us", 1000), DURATION("ms", 1000000),
        DURATION("s", 1000000000), DURATION("min", 60000000000), DURATION("h", 3600000000000),
        SIZE("K", 10), SIZE("M", 20), SIZE("G", 30), SIZE("T", 40)};

static bool isDigit(char c)
{
    return c >= '0' && c <= '9';
}

/* A character of a longer word, of which the unit would be a part only. */
static bool isWord(char c)
{
    return isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' ||
           (unsigned char)c >= 0x80;
}

static bool unitIs(const Unit *unit, const char *text, size_t size)
{
    if (strlen(unit->name) != size) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        int differs = unit->name[i] ^ text[i];
        if (differs != 0 && !(unit->anyCase && differs == 0x20)) {
            return false;
        }
    }
    return true;
}

static const Unit *unitOf(const char *text, size_t size)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (unitIs(&units[i], text, size)) {
            return &units[i];
        }
    }
    return NULL;
}

/* number * factor + the fraction, rounded. False: too large. */
static bool scale(const char *text, size_t size, int64_t factor, int64_t *valuePtr)
{
    uint64_t whole = 0, max = INT64_MAX, most = max / (uint64_t)factor;
    double fraction = 0, place = 1;
    size_t i = 0;
    for (; i < size && text[i] != '.'; i++) {
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (whole > (most - digit) / 10) {
            return false;
        }
        whole = whole * 10 + digit;
    }
    for (i++; i < size; i++) {
        place /= 10;
        fraction += place * (text[i] - '0');
    }
    whole = whole * (uint64_t)factor + (uint64_t)(fraction * (double)factor + 0.5);
    *valuePtr = (int64_t)whole;
    return whole <= max;
}

size_t EtwQuantityAt(const char *text, size_t size, EtwQuantityKind *kindPtr, int64_t *valuePtr)
{
    size_t digits = 0, start, end;
    int points = 0;
    while (digits < size && (isDigit(text[digits]) || (text[digits] == '.' && points++ == 0))) {
        digits++;
    }
    start = digits + (digits < size && text[digits] == ' ');
    for (end = start; end < size && isWord(text[end]); end++) {
    }
    if (digits == (size_t)points) { /* no digit */
        return 0;
    }
    const Unit *unit = unitOf(text + start, end - start);
    if (unit == NULL || !scale(text, digits, unit->factor, valuePtr)) {
        return 0;
    }
    *kindPtr = unit->kind;
    return end;
}

bool EtwQuantityParse(const char *text, EtwQuantityKind kind, int64_t *valuePtr)
{
    EtwQuantityKind found;
    size_t size = strlen(text);
    return size > 0 && EtwQuantityAt(text, size, &found, valuePtr) == size && found == kind;
}
