/*
 * flow/compare/compare_secrets.c --
 *
 *	Finds secrets in names: the value of a word such as password, in an option, a query of a URL, JSON, a header or a
 *	dict; the user and password of a URL and of options such as -u. In doubt more is replaced than is secret.
 */
#include "flow/compare/compare_names_int.h"

enum {
    FAR = 256
}; /* so far the rules look back, and ahead for what is not a value, so that work is linear */

static bool isLetter(char c)
{
    return EtwIsLower(c) || EtwIsUpper(c);
}

static bool isKeyChar(char c)
{
    return isLetter(c) || EtwIsDigit(c) || c == '_' || c == '-';
}

static bool isQuote(char c)
{
    return c == '"' || c == '\'';
}

static char at(Rest r, size_t n)
{
    return r.at + n < r.end ? r.at[n] : '\0';
}

static bool beginsLower(Rest r, const char *text)
{
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i++) {
        if ((at(r, i) | (isLetter(at(r, i)) ? 0x20 : 0)) != text[i]) {
            return false;
        }
    }
    return true;
}

/* Whether a word of a command or list begins there. */
static bool beginsToken(const char *start, Rest r)
{
    return r.at == start || EtwIsBlank(r.at[-1]) || strchr("\"'{[(=,;", r.at[-1]) != NULL;
}

/* ---- Values ------------------------------------------------------------------------------------ */

/* A text in quotes or braces, with them; 0: there is none. Without an end, all of the rest. */
static size_t quotedSize(Rest r)
{
    bool escaped = at(r, 0) == '\\' && at(r, 1) == '"'; /* JSON in a string */
    char open = escaped ? '"' : at(r, 0);
    int depth = 0;
    if (!escaped && !isQuote(open) && open != '{') {
        return 0;
    }
    for (size_t n = escaped ? 2 : 1; r.at + n < r.end; n++) {
        char c = r.at[n];
        if (escaped && c == '\\' && at(r, n + 1) == '"') {
            return n + 2;
        }
        if (c == '\\') {
            n++;
        } else if (open == '{' ? c == '}' && depth-- == 0 : c == open) {
            return n + 1;
        } else {
            depth += c == '{';
        }
    }
    return (size_t)(r.end - r.at);
}

/* Whether `name=` follows, or with a quote or blank in front of it `name:`: the value is at its end. */
static bool beginsNextKey(Rest r)
{
    size_t n = 0;
    while (EtwIsBlank(at(r, n)) || isQuote(at(r, n)) || at(r, n) == '\\') {
        n++;
    }
    size_t name = n;
    while (n < FAR && (isKeyChar(at(r, n)) || (at(r, n) != '\0' && strchr(".[]%", at(r, n))))) {
        n++;
    }
    return n > name && (at(r, n) == '=' || (name > 0 && strchr("\"':\\", at(r, n)) != NULL));
}

static bool closes(char c)
{
    return c != '\0' && strchr("}])\"'", c) != NULL;
}

/* Behind it, an enclosing text or list may end. */
static bool mayFollowEnd(char c)
{
    return c == '\0' || EtwIsBlank(c) || strchr(",;&}])", c) != NULL;
}

/* A value without quotes. word: it is a word of a command, which only a blank ends. */
static size_t plainSize(Rest r, bool word)
{
    size_t n = 0;
    for (; r.at + n < r.end && !EtwIsBlank(r.at[n]); n++) {
        char c = r.at[n];
        Rest next = EtwRestAfter(r, n + 1);
        if (c == ';' && (next.at == next.end || EtwIsBlank(*next.at))) {
            break;
        }
        if (!word && ((strchr("&;,", c) != NULL && beginsNextKey(next)) ||
                             (isQuote(c) && mayFollowEnd(at(next, 0))) ||
                             (c == '\\' && at(next, 0) == '"'))) {
            break;
        }
    }
    while (n > 1 && closes(r.at[n - 1])) {
        n--;
    }
    return n;
}

static size_t valueSize(Rest r, bool word)
{
    size_t size = quotedSize(r);
    return size > 0 ? size : plainSize(r, word);
}

/* The rest of a header's line; its text is in quotes or braces if `open` stands in front of it. */
static size_t lineSize(Rest r, char open)
{
    int depth = 0;
    size_t n = 0;
    for (; r.at + n < r.end && r.at[n] != '\n' && r.at[n] != '\r'; n++) {
        char c = r.at[n];
        if ((isQuote(open) && c == open) || (c == '}' && depth-- == 0)) {
            break;
        }
        depth += c == '{';
    }
    return n;
}

/* ---- Words that say that a secret follows -------------------------------------------------------- */

typedef enum KeyKind {
    KEY_PLAIN,
    KEY_DICT,   /* its value may also follow behind a blank: {user joe password x} */
    KEY_HEADER, /* its value is a line */
    KEY_SHORT,  /* also the end of ordinary words: compass */
    KEY_QUERY,  /* only in the query of a URL */
} KeyKind;

static const struct {
    const char *word;
    KeyKind kind;
} keys[] = {{"password", KEY_DICT}, {"passwd", KEY_DICT}, {"passphrase", KEY_DICT},
        {"passwort", KEY_PLAIN}, {"passcode", KEY_PLAIN}, {"pass", KEY_SHORT}, {"pwd", KEY_SHORT},
        {"secret", KEY_PLAIN}, {"secretkey", KEY_PLAIN}, {"secret_key", KEY_PLAIN},
        {"secret-key", KEY_PLAIN}, {"token", KEY_PLAIN}, {"apikey", KEY_DICT},
        {"api_key", KEY_DICT}, {"api-key", KEY_DICT}, {"accesskey", KEY_PLAIN},
        {"access_key", KEY_PLAIN}, {"access-key", KEY_PLAIN}, {"accountkey", KEY_PLAIN},
        {"privatekey", KEY_PLAIN}, {"private_key", KEY_PLAIN}, {"private-key", KEY_PLAIN},
        {"credential", KEY_PLAIN}, {"credentials", KEY_PLAIN}, {"signature", KEY_PLAIN},
        {"sessionid", KEY_PLAIN}, {"session_id", KEY_PLAIN}, {"authorization", KEY_HEADER},
        {"cookie", KEY_HEADER}, {"key", KEY_QUERY}, {"sig", KEY_QUERY}, {"auth", KEY_QUERY},
        {"code", KEY_QUERY}, {"sid", KEY_QUERY}, {"jwt", KEY_QUERY}};

/* Where the word of characters of keys begins that is being read. */
static const char *keyBegin(const char *start, const char *key)
{
    for (int i = 0; i < FAR && key > start && isKeyChar(key[-1]); i++) {
        key--;
    }
    return key;
}

static bool fits(KeyKind kind, const char *start, Rest r, bool option)
{
    char before = r.at > start ? r.at[-1] : '\0';
    if (kind == KEY_SHORT) {
        return option || !isLetter(before) || (EtwIsUpper(*r.at) && EtwIsLower(before));
    }
    return kind != KEY_QUERY || before == '?' || before == '&';
}

/* The text from behind the key to its value; 0: none follows. *blankPtr: only a blank is between them. */
static size_t gapSize(Rest r, bool *blankPtr)
{
    static const char *const closing[] = {"\\\"", "\"", "'", "]", "%5D", "%5d"};
    size_t n = 0;
    for (size_t i = 0; i < sizeof closing / sizeof *closing; i++) {
        if (EtwRestBegins(r, closing[i])) { /* of "password": or user[password]= */
            n = strlen(closing[i]);
            break;
        }
    }
    size_t blanks = EtwRestSpan(EtwRestAfter(r, n), EtwIsBlank);
    size_t sign = n + blanks;
    char c = at(r, sign);
    *blankPtr = false;
    if (c == ':' && at(r, sign + 1) == ':') {
        return 0; /* a namespace */
    }
    if (c == ':' || c == '=') {
        sign += c == ':' && at(r, sign + 1) == '=' ? 2 : 1;
        sign += c == '=' && at(r, sign) == '>';
        return sign + EtwRestSpan(EtwRestAfter(r, sign), EtwIsBlank);
    }
    *blankPtr = n == 0 && blanks > 0;
    return *blankPtr ? blanks : 0;
}

/* "Basic ", "Bearer " in front of the secret of a header; 0: another kind, whose whole line is secret. */
static size_t schemeSize(Rest r)
{
    static const char *const schemes[] = {"basic", "bearer", "token", "negotiate", "apikey"};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        size_t size = strlen(schemes[i]);
        if (!beginsLower(r, schemes[i])) {
            continue;
        }
        size += at(r, size) == '\\'; /* a quoted blank of Tcl */
        if (EtwIsBlank(at(r, size))) {
            return size + EtwRestSpan(EtwRestAfter(r, size), EtwIsBlank);
        }
    }
    return 0;
}

/* The value of a header, from behind its gap. open: the character in front of its name. */
static size_t headerValue(Rest r, char open, bool blank, bool option, size_t *keepPtr)
{
    size_t quoted = quotedSize(r), scheme = schemeSize(r);
    if (quoted > 0) {
        return quoted;
    }
    if (scheme > 0) {
        *keepPtr += scheme;
        return scheme + plainSize(EtwRestAfter(r, scheme), false);
    }
    if (!blank) {
        return lineSize(r, open);
    }
    size_t size = plainSize(r, true);
    return option || memchr(r.at, '=', size) != NULL ? size : 0;
}

static size_t keyedSize(const char *start, Rest r, const char *word, KeyKind kind, size_t *keepPtr)
{
    const char *begin = keyBegin(start, r.at);
    char open = begin > start ? begin[-1] : '\0';
    bool option = begin < r.at && *begin == '-' && beginsToken(start, (Rest){begin, r.end});
    bool blank;
    if (!fits(kind, start, r, option)) {
        return 0;
    }
    size_t name = strlen(word), gap = gapSize(EtwRestAfter(r, name), &blank);
    Rest value = EtwRestAfter(r, name + gap);
    if (gap == 0 || value.at == value.end) {
        return 0;
    }
    *keepPtr = name + gap;
    size_t size = 0;
    if (kind == KEY_HEADER) {
        size = headerValue(value, open, blank, option, keepPtr);
    } else if (!blank || option || (kind == KEY_DICT && begin == r.at && beginsToken(start, r))) {
        size_t scheme = blank ? 0 : schemeSize(value);
        *keepPtr += scheme;
        size = scheme + valueSize(EtwRestAfter(value, scheme), option && blank);
    }
    return size > 0 ? name + gap + size : 0;
}

/* -password X, --dbpassword=X, {"password": "X"}, ?token=X, Authorization: Basic X, PGPASSWORD=X */
static size_t matchKeyed(const char *start, Rest r, size_t *keepPtr)
{
    for (size_t i = 0; isLetter(*r.at) && i < sizeof keys / sizeof *keys; i++) {
        if (beginsLower(r, keys[i].word)) {
            size_t keep = 0;
            size_t size = keyedSize(start, r, keys[i].word, keys[i].kind, &keep);
            if (size > 0) {
                *keepPtr = keep;
                return size;
            }
        }
    }
    return 0;
}

/* ---- Users with passwords -------------------------------------------------------------------------- */

/* The last @ before the end; the end: none. */
static size_t lastAt(Rest r, size_t end)
{
    for (size_t n = end; n-- > 0;) {
        if (r.at[n] == '@') {
            return n;
        }
    }
    return end;
}

/*
 * From behind // of a URL: USER:PASSWORD in front of @. A password may have characters that should be encoded: in what is no
 * port, behind a colon, also a slash.
 */
static size_t matchUserInfo(const char *start, Rest r)
{
    bool url = r.at - start >= 3 && r.at[-1] == '/' && r.at[-2] == '/' && r.at[-3] == ':';
    size_t end = 0, all = 0, digits;
    if (!url || *r.at == '[') {
        return 0;
    }
    while (r.at + all < r.end && !EtwIsBlank(r.at[all]) && !isQuote(r.at[all])) {
        all++;
    }
    while (end < all && strchr("/?#", r.at[end]) == NULL) {
        end++;
    }
    size_t found = lastAt(r, end);
    const char *colon = memchr(r.at, ':', end);
    if (found == end && colon != NULL) {
        digits = EtwRestSpan((Rest){colon + 1, r.at + end}, EtwIsDigit);
        found = colon + 1 + digits == r.at + end ? end : lastAt(r, all);
        end = colon + 1 + digits == r.at + end ? end : all;
    }
    return found < end ? found : 0;
}

/* joe:secret@host, as of a data source name. Not mailto:joe@host. */
static size_t matchLogin(const char *start, Rest r)
{
    static const char *const schemes[] = {"mailto:", "sip:", "sips:", "xmpp:", "acct:"};
    size_t n = 0;
    if (!beginsToken(start, r)) {
        return 0;
    }
    while (n < FAR && (isKeyChar(at(r, n)) || (at(r, n) != '\0' && strchr(".%+", at(r, n))))) {
        n++;
    }
    if (n == 0 || at(r, n) != ':') {
        return 0;
    }
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        if (beginsLower(r, schemes[i])) {
            return 0;
        }
    }
    size_t password = ++n;
    while (at(r, n) != '\0' && !EtwIsBlank(at(r, n)) && strchr("/@:{}\"'", at(r, n)) == NULL) {
        n++;
    }
    bool host = isLetter(at(r, n + 1)) || EtwIsDigit(at(r, n + 1)) || at(r, n + 1) == '[';
    bool image = EtwRestBegins(EtwRestAfter(r, at(r, n) == '@' ? n + 1 : 0), "sha256:");
    return n > password && at(r, n) == '@' && host && !image ? n : 0;
}

/* Of `curl -u USER:PASSWORD`, --user=USER:PASSWORD, --proxy-user */
static size_t matchUserOption(const char *start, Rest r, size_t *keepPtr)
{
    static const char *const options[] = {"--proxy-user", "--user", "-user", "-u", "-U"};
    size_t n = 0;
    if (*r.at != '-' || !beginsToken(start, r)) {
        return 0;
    }
    for (size_t i = 0; n == 0 && i < sizeof options / sizeof *options; i++) {
        n = EtwRestBegins(r, options[i]) ? strlen(options[i]) : 0;
    }
    if (n == 0 || (n > 2 && at(r, n) != '=' && !EtwIsBlank(at(r, n)))) {
        return 0;
    }
    n += at(r, n) == '=';
    n += EtwRestSpan(EtwRestAfter(r, n), EtwIsBlank);
    Rest value = EtwRestAfter(r, n);
    size_t size = valueSize(value, true);
    const char *colon = size > 0 ? memchr(value.at, ':', size) : NULL;
    if (colon == NULL || EtwRestBegins((Rest){colon, r.end}, "://") ||
            EtwRestBegins((Rest){colon, r.end}, "::") ||
            EtwRestBegins((Rest){colon, r.end}, ":\\")) {
        return 0;
    }
    *keepPtr = n;
    return n + size;
}

/* Of mysql -pPASSWORD and sshpass -p PASSWORD */
static size_t matchShortOption(const char *start, Rest r, size_t *keepPtr)
{
    static const char *const programs[] = {"mysql", "mariadb", "sshpass"};
    if (!EtwRestBegins(r, "-p") || !beginsToken(start, r)) {
        return 0;
    }
    for (const char *p = r.at; p > start && r.at - p < FAR; p--) {
        for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
            if (EtwRestBegins((Rest){p - 1, r.at}, programs[i])) {
                bool apart = i == 2 && EtwIsBlank(at(r, 2));
                size_t n = 2 + (apart ? EtwRestSpan(EtwRestAfter(r, 2), EtwIsBlank) : 0);
                size_t size = valueSize(EtwRestAfter(r, n), true);
                *keepPtr = n;
                return size > 0 ? n + size : 0;
            }
        }
    }
    return 0;
}

size_t EtwMatchSecret(const char *start, Rest r, size_t *keepPtr)
{
    size_t size = matchUserInfo(start, r);
    size = size > 0 ? size : matchUserOption(start, r, keepPtr);
    size = size > 0 ? size : matchShortOption(start, r, keepPtr);
    size = size > 0 ? size : matchLogin(start, r);
    return size > 0 ? size : matchKeyed(start, r, keepPtr);
}
