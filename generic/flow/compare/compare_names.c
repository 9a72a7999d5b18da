/*
 * flow/compare/compare_names.c --
 *
 *	Names without what differs from run to run. The table of rules is applied at each place where a word
 *	begins, the first rule that matches it replaces it. Secrets are replaced, too, because the names are
 *	shown in reports that are passed on.
 */
#include "flow/compare/compare_int.h"

/* A rest of the name. */
typedef struct Rest {
    const char *at, *end;
} Rest;

static bool isDigit(char c)
{
    return c >= '0' && c <= '9';
}

static bool isHex(char c)
{
    return EtwHexDigit(c) < 16;
}

static bool isLetter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (uint8_t)c >= 0x80;
}

static bool isWordChar(char c)
{
    return isLetter(c) || isDigit(c) || c == '_';
}

static size_t spanOf(Rest r, bool (*is)(char c))
{
    size_t n = 0;
    while (r.at + n < r.end && is(r.at[n])) {
        n++;
    }
    return n;
}

static bool begins(Rest r, const char *text)
{
    size_t size = strlen(text);
    return (size_t)(r.end - r.at) >= size && memcmp(r.at, text, size) == 0;
}

static Rest after(Rest r, size_t size)
{
    return (Rest){r.at + size, r.end};
}

/* Whether a word ends after that many bytes. */
static bool endsWord(Rest r, size_t size)
{
    return r.at + size >= r.end || !isWordChar(r.at[size]);
}

/* ---- Rules ------------------------------------------------------------------------------------ */

/*
 * Each returns the number of bytes that it replaces, 0 if it does not match. start: of the whole name. keep: how many of
 * these bytes stay in front of the replacement.
 */
typedef size_t RuleMatch(const char *start, Rest r, size_t *keepPtr);

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
        if (spanOf(after(r, at), isHex) != (size_t)parts[i]) {
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
    if (!begins(r, "0x")) {
        return 0;
    }
    size_t digits = spanOf(after(r, 2), isHex);
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
        if (!begins(r, counted[i].prefix)) {
            continue;
        }
        Rest number = after(r, size);
        size_t digits = spanOf(number, counted[i].hex ? isHex : isDigit);
        if (digits > 0 && (isDigit(*number.at) || counted[i].hex) && endsWord(r, size + digits)) {
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
    size_t digits = spanOf(r, isDigit), have = (size_t)(r.at - start);
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

static bool isTempChar(char c)
{
    return isLetter(c) || isDigit(c);
}

/* Part of a path that mkstemp, mktemp, Tcl's `file tempfile` or python's tempfile made: tcl_aB3xYz, tmp.Q8rT5k2xWz, tmpab12cd34 */
static size_t matchTempName(const char *start, Rest r, size_t *keepPtr)
{
    static const struct {
        const char *prefix;
        size_t least, most;
    } temps[] = {{"tcl_", 6, 6}, {"tmp.", 6, 10}, {"tmp_", 6, 10}, {"tmp", 8, 8}, {"temp.", 6, 10},
            {"TCL", 3, 12}};
    if (r.at == start || (r.at[-1] != '/' && r.at[-1] != '\\')) {
        return 0;
    }
    for (size_t i = 0; i < sizeof temps / sizeof *temps; i++) {
        if (begins(r, temps[i].prefix)) {
            size_t size = strlen(temps[i].prefix), rest = spanOf(after(r, size), isTempChar);
            if (rest >= temps[i].least && rest <= temps[i].most && endsWord(r, size + rest)) {
                *keepPtr = size;
                return size + rest;
            }
        }
    }
    return 0;
}

/* A word of at least 12 hexadecimal digits, one of them 0 to 9: a hash or an address */
static size_t matchHex(const char *start, Rest r, size_t *keepPtr)
{
    size_t size = spanOf(r, isHex), digits = 0;
    (void)start, (void)keepPtr;
    for (size_t i = 0; i < size; i++) {
        digits += isDigit(r.at[i]);
    }
    return size >= 12 && digits > 0 && endsWord(r, size) ? size : 0;
}

/* A port of the range that the system chooses from (32768 and more), behind an address or name. */
static size_t matchPort(const char *start, Rest r, size_t *keepPtr)
{
    size_t digits = spanOf(r, isDigit);
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
    size_t digits = spanOf(r, isDigit);
    bool port = r.at > start && r.at[-1] == ':';
    (void)keepPtr;
    return digits >= 4 && !port && endsWord(r, digits) ? digits : 0;
}

/* ---- Secrets ---------------------------------------------------------------------------------- */

static bool isBlank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* The end of a value: a word, or a text in quotes or braces. */
static size_t valueSize(Rest r)
{
    char close = r.at < r.end ? (*r.at == '"'           ? '"'
                                        : *r.at == '\'' ? '\''
                                        : *r.at == '{'  ? '}'
                                                        : 0)
                              : 0;
    size_t n = close ? 1 : 0;
    while (r.at + n < r.end &&
            (close ? r.at[n] != close : !isBlank(r.at[n]) && r.at[n] != '&' && r.at[n] != ';')) {
        n++;
    }
    return n + (close != 0 && r.at + n < r.end);
}

static bool beginsLower(Rest r, const char *text)
{
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i++) {
        if (r.at + i >= r.end || ((uint8_t)r.at[i] | 0x20) != (uint8_t)text[i]) {
            return false;
        }
    }
    return true;
}

/* -password X, --password=X, password=X, token: X, Authorization: Basic X */
static size_t matchSecret(const char *start, Rest r, size_t *keepPtr)
{
    static const char *const words[] = {"password", "passwd", "passphrase", "pwd", "secret",
            "token", "apikey", "api_key", "api-key", "authorization", "accesskey", "access_key",
            "credential", "cookie"};
    (void)start;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!beginsLower(r, words[i])) {
            continue;
        }
        bool option = r.at > start && r.at[-1] == '-';
        size_t at = strlen(words[i]);
        if (begins(after(r, at), "::")) {
            continue; /* a namespace */
        }
        if (r.at + at >= r.end ||
                !(r.at[at] == '=' || r.at[at] == ':' || (option && isBlank(r.at[at])))) {
            continue;
        }
        at++;
        at += spanOf(after(r, at), isBlank);
        static const char *const schemes[] = {"basic ", "bearer ", "digest "};
        for (size_t s = 0; s < 3; s++) {
            at += beginsLower(after(r, at), schemes[s]) ? strlen(schemes[s]) : 0;
        }
        size_t size = valueSize(after(r, at));
        *keepPtr = at;
        return size > 0 ? at + size : 0;
    }
    return 0;
}

/* The user and password of a URL (//USER:PASSWORD@), and of `curl -u USER:PASSWORD` */
static size_t matchUserInfo(const char *start, Rest r, size_t *keepPtr)
{
    bool url = r.at - start >= 2 && r.at[-1] == '/' && r.at[-2] == '/';
    bool option = r.at - start >= 3 && memcmp(r.at - 3, "-u ", 3) == 0;
    bool colon = false;
    (void)keepPtr;
    for (size_t n = 0; (url || option) && r.at + n < r.end; n++) {
        char c = r.at[n];
        if (url && c == '@') {
            return n;
        }
        if (isBlank(c) || (url && (c == '/' || c == '?'))) {
            return option && colon ? n : 0;
        }
        colon = colon || c == ':';
    }
    return option && colon ? (size_t)(r.end - r.at) : 0;
}

/* ---- The table -------------------------------------------------------------------------------- */

/* Rules that match nothing shorter come first. The manual has the same table (doc/etw_diff.man). */
static const struct {
    RuleMatch *match;
    const char *replacement;
} rules[] = {
        {matchUserInfo, "***"},
        {matchSecret, "***"},
        {matchUuid, "#"},
        {matchAddress, "#"},
        {matchTempName, "#"},
        {matchCounted, "#"},
        {matchNumberedName, "#"},
        {matchHex, "#"},
        {matchPort, "#"},
        {matchNumber, "#"},
};

static size_t replace(EtwText *out, const char *start, Rest r)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        size_t keep = 0, size = rules[i].match(start, r, &keep);
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
        bool word = r.at == name || !isWordChar(r.at[-1]);
        size_t keep = 0, used = word && isWordChar(*r.at) ? replace(out, name, r) : 0;
        if (!word && (used = matchSecret(name, r, &keep)) > 0) { /* PGPASSWORD=x */
            EtwTextAdd(out, r.at, keep);
            EtwTextStr(out, "***");
        }
        if (used == 0) {
            EtwTextChar(out, *r.at);
            used = 1;
        }
        r.at += used;
    }
}
