/*
 * flow/compare/compare_names.c --
 *
 *	Names without what differs from run to run. The table of rules is applied at each place where a word
 *	begins, the first rule that matches it replaces it. Secrets are replaced, too, because the names are
 *	shown in reports that are passed on.
 */
#include "flow/compare/compare_names_int.h"

static bool isHex(char c)
{
    return EtwHexDigit(c) < 16;
}

/* Whether a word ends after that many bytes. */
static bool endsWord(Rest r, size_t size)
{
    return r.at + size >= r.end || !EtwIsWordChar(r.at[size]);
}

/* ---- Rules ------------------------------------------------------------------------------------ */

/* 8-4-4-4-12 hexadecimal digits */
static size_t matchUuid(const char *start, Rest r, size_t *keepPtr)
{
    static const int parts[] = {8, 4, 4, 4, 12};
    size_t at = 0;
    (void)start, (void)keepPtr;
    for (int i = 0; i < 5; i++) {
        if (i > 0 && (r.at + at >= r.end || r.at[at++] != '-')) {
            return 0;
        }
        if (EtwRestSpan(EtwRestAfter(r, at), isHex) != (size_t)parts[i]) {
            return 0;
        }
        at += (size_t)parts[i];
    }
    return endsWord(r, at) ? at : 0;
}

/* 0x55d0c8a01f30 */
static size_t matchAddress(const char *start, Rest r, size_t *keepPtr)
{
    (void)start;
    if (!EtwRestBegins(r, "0x")) {
        return 0;
    }
    size_t digits = EtwRestSpan(EtwRestAfter(r, 2), isHex);
    *keepPtr = 2;
    return digits >= 4 && endsWord(r, 2 + digits) ? 2 + digits : 0;
}

/* Names that Tcl, TclOO and packages make by counting: sock55d0c8a01f30, file5, after#12, Obj27, coro3 ... */
static size_t matchCounted(const char *start, Rest r, size_t *keepPtr)
{
    static const struct {
        const char *prefix;
        bool hex;
    } counted[] = {{"sock", true}, {"file", false}, {"pipe", false}, {"rc", false},
            {"refchan", false}, {"after#", false}, {"Obj", false}, {"obj", false}, {"coro", false},
            {"interp", false}, {"thread", false}, {"tid", true}, {"pid", false}, {"mutex", false},
            {"cond", false}, {"token", false}, {"timer", false}, {"tmp", false}, {"stmt", false},
            {"resultset", false}};
    (void)start;
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
        size_t size = strlen(counted[i].prefix);
        if (!EtwRestBegins(r, counted[i].prefix)) {
            continue;
        }
        Rest number = EtwRestAfter(r, size);
        size_t digits = EtwRestSpan(number, counted[i].hex ? isHex : EtwIsDigit);
        if (digits > 0 && (EtwIsDigit(*number.at) || counted[i].hex) &&
                endsWord(r, size + digits)) {
            *keepPtr = size - (counted[i].prefix[size - 1] == '#');
            return size + digits;
        }
    }
    return 0;
}

/* A name that is a number: the 12 of ::http::12, the 4711 of /proc/4711/status */
static size_t matchNumberedName(const char *start, Rest r, size_t *keepPtr)
{
    static const char *const before[] = {"::", "/proc/", "/task/", "/fd/", "pid ", "pid="};
    size_t digits = EtwRestSpan(r, EtwIsDigit), have = (size_t)(r.at - start);
    (void)keepPtr;
    for (size_t i = 0; digits > 0 && endsWord(r, digits) && i < sizeof before / sizeof *before;
            i++) {
        size_t size = strlen(before[i]);
        if (have >= size && memcmp(r.at - size, before[i], size) == 0) {
            return digits;
        }
    }
    return 0;
}

/* A word of at least 12 hexadecimal digits, one of them 0 to 9: a hash or an address */
static size_t matchHex(const char *start, Rest r, size_t *keepPtr)
{
    size_t size = EtwRestSpan(r, isHex), digits = 0;
    (void)start, (void)keepPtr;
    for (size_t i = 0; i < size; i++) {
        digits += EtwIsDigit(r.at[i]);
    }
    return size >= 12 && digits > 0 && endsWord(r, size) ? size : 0;
}

/* A port of the range that the system chooses from (32768 and more), behind an address or name. */
static size_t matchPort(const char *start, Rest r, size_t *keepPtr)
{
    size_t digits = EtwRestSpan(r, EtwIsDigit);
    (void)keepPtr;
    if (digits != 5 || r.at == start || r.at[-1] != ':' || !endsWord(r, digits)) {
        return 0;
    }
    int port = 0;
    for (size_t i = 0; i < digits; i++) {
        port = 10 * port + (r.at[i] - '0');
    }
    return port >= 32768 ? digits : 0;
}

/* A word of 4 and more digits: a process id, a time, a port. Years and versions are shorter or have letters. */
static size_t matchNumber(const char *start, Rest r, size_t *keepPtr)
{
    size_t digits = EtwRestSpan(r, EtwIsDigit);
    bool port = r.at > start && r.at[-1] == ':';
    (void)keepPtr;
    return digits >= 4 && !port && endsWord(r, digits) ? digits : 0;
}

/* ---- The table -------------------------------------------------------------------------------- */

/* Rules that match nothing shorter come first. The manual has the same table (doc/etw_diff.man). */
static const struct {
    EtwNameRule *match;
    const char *replacement;
    bool any; /* also where no word begins */
} rules[] = {
        {EtwMatchSecret, "***", true},
        {matchUuid, "#", false},
        {matchAddress, "#", false},
        {EtwMatchTempName, "#", true},
        {matchCounted, "#", false},
        {matchNumberedName, "#", false},
        {matchHex, "#", false},
        {matchPort, "#", false},
        {matchNumber, "#", false},
};

static size_t replace(EtwText *out, const char *start, Rest r)
{
    bool word = EtwIsWordChar(*r.at) && (r.at == start || !EtwIsWordChar(r.at[-1]));
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        size_t keep = 0, size = word || rules[i].any ? rules[i].match(start, r, &keep) : 0;
        if (size > 0) {
            EtwTextAdd(out, r.at, keep);
            EtwTextStr(out, rules[i].replacement);
            return size;
        }
    }
    return 0;
}

void EtwCompareNormalize(EtwText *out, const char *name, size_t size)
{
    enum { MOST = 4096 }; /* longer names are cut: the rules look ahead */
    Rest r = {name, name + (size < MOST ? size : MOST)};
    while (r.at < r.end) {
        size_t used = replace(out, name, r);
        if (used == 0) {
            EtwTextChar(out, *r.at);
            used = 1;
        }
        r.at += used;
    }
}
