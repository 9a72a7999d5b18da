/*
 * flow/compare/compare_temp_names.c --
 *
 *	Random parts of the names of temporary files, as mkstemp, mktemp, tempnam, Tcl's `file tempfile`, tcllib's fileutil and
 *	Python's tempfile make them. In a directory for temporary files, what is not an ordinary word is random. In
 *	other directories, where programs write a new version of a file beside the old one, only what can hardly be
 *	a word.
 */
#include "flow/compare/compare_names_int.h"

static bool isTempChar(char c)
{
    return EtwIsLower(c) || EtwIsUpper(c) || EtwIsDigit(c);
}

static bool isTempOrUnderscore(char c)
{
    return isTempChar(c) || c == '_';
}

/* The part of the path that is being read; NULL: there is no path before it. */
static const char *componentOf(const char *start, const char *at)
{
    enum { FAR = 255 };
    for (int i = 0; i < FAR && at > start && !EtwIsBlank(at[-1]); i++, at--) {
        if (EtwIsSeparator(at[-1])) {
            return at;
        }
    }
    return NULL;
}

/* Whether a directory for temporary files is among those in front of the component. direct: the one that it is in. */
static bool isInTempDir(const char *start, const char *component, bool direct)
{
    static const char *const dirs[] = {"tmp", "temp", "shm"};
    enum { FAR = 512 };
    const char *end = component - 1; /* its separator */
    for (const char *at = end; at > start && component - at < FAR && !EtwIsBlank(at[-1]); at--) {
        if (!EtwIsSeparator(at[-1])) {
            continue;
        }
        for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
            size_t size = strlen(dirs[i]), k = 0;
            while (k < size && (size_t)(end - at) == size && (at[k] | 0x20) == dirs[i][k]) {
                k++;
            }
            if (k == size) {
                return true;
            }
        }
        if (direct) {
            return false;
        }
        end = at - 1;
    }
    return false;
}

static int classOf(char c)
{
    return EtwIsDigit(c) ? 0 : EtwIsLower(c) ? 1 : 2;
}

typedef struct Shape {
    size_t counts[3]; /* digits, lower, upper */
    int changes;      /* between these, from one character to the next */
} Shape;

static Shape shapeOf(const char *at, size_t size)
{
    Shape s = {.changes = 0};
    for (size_t i = 0; i < size; i++) {
        s.counts[classOf(at[i])]++;
        s.changes += i > 0 && classOf(at[i]) != classOf(at[i - 1]);
    }
    return s;
}

/* Not a word: Xa8dfQ */
static bool isScrambled(Shape s)
{
    return s.counts[0] > 0 && s.changes >= 3;
}

/* Neither a word (config, Config) nor one with a number (sha256). */
static bool isNoWord(const char *at, size_t size, Shape s)
{
    bool capitalized = classOf(*at) == 2 && s.counts[1] == size - 1;
    bool numbered = s.changes == 1 && s.counts[0] > 0 && classOf(at[size - 1]) == 0;
    return s.counts[1] != size && !capitalized && !numbered;
}

/*
 * Words in a row: myBigFile, HTTPServer, testRun3. They have at least two lower-case letters each, or are capitals. Of ten random
 * characters 5 in 100 are so.
 */
static bool isWords(const char *at, size_t size)
{
    for (size_t i = 0, end; i < size; i = end) {
        for (end = i + 1; end < size && classOf(at[end]) == classOf(at[i]); end++) {
        }
        bool one = end == i + 1;
        if (one && ((classOf(at[i]) == 1) || (classOf(at[i]) == 0 && i > 0 && end < size) ||
                           (classOf(at[i]) == 2 && (end == size || classOf(at[end]) != 1)))) {
            return false;
        }
    }
    return true;
}

/* Whether the random part may end there: a component or its extension. */
static bool endsPart(Rest r, size_t size)
{
    return r.at + size >= r.end || strchr("./\\ \t\n\"'{}),;:", r.at[size]) != NULL;
}

/* The component's begin is known: tcl_aB3xYz, tmp.Q8rT5k2xWz, tmpab12cd34, fileaB3xYz */
static size_t matchPrefixed(const char *start, Rest r, size_t *keepPtr)
{
    static const struct {
        const char *prefix;
        size_t least, most;
        bool (*is)(char c);
        bool picky; /* the prefix is also that of ordinary names */
    } temps[] = {{"tcl_", 6, 6, isTempChar, false}, {"tmp.", 6, 10, isTempChar, false},
            {"tmp_", 6, 10, isTempChar, false}, {"tmp", 8, 8, isTempOrUnderscore, false},
            {"temp.", 6, 10, isTempChar, false}, {"TCL", 3, 12, isTempChar, false},
            {"tmp", 10, 10, isTempChar, true}, {"tmpf", 6, 6, isTempChar, true},
            {"file", 6, 6, isTempChar, true}, {"", 10, 10, isTempChar, true}};
    enum { GLUED = 10 };
    for (size_t i = 0; i < sizeof temps / sizeof *temps; i++) {
        size_t size = strlen(temps[i].prefix);
        if (!EtwRestBegins(r, temps[i].prefix)) {
            continue;
        }
        Rest rest = EtwRestAfter(r, size);
        size_t random = EtwRestSpan(rest, temps[i].is);
        if (random < temps[i].least || random > temps[i].most ||
                (random < (size_t)(rest.end - rest.at) && EtwIsWordChar(rest.at[random]))) {
            continue;
        }
        Shape shape = shapeOf(rest.at, random);
        if (temps[i].picky &&
                !(isInTempDir(start, r.at, false) && endsPart(rest, random) &&
                        (size > 0 ? isNoWord(rest.at, random, shape) : isScrambled(shape)))) {
            continue;
        }
        *keepPtr = size;
        return size + random;
    }
    /* of fileutil::tempfile: a prefix and ten characters, with nothing between them */
    size_t whole = EtwRestSpan(r, isTempChar);
    if (whole > GLUED && endsPart(r, whole) && isInTempDir(start, r.at, true) &&
            !isWords(r.at, whole)) {
        *keepPtr = whole - GLUED;
        return whole;
    }
    return 0;
}

size_t EtwMatchTempName(const char *start, Rest r, size_t *keepPtr)
{
    if (r.at == start || strchr("/\\._-", r.at[-1]) == NULL) {
        return 0;
    }
    if (EtwIsSeparator(r.at[-1])) {
        return matchPrefixed(start, r, keepPtr);
    }
    size_t size = EtwRestSpan(r, isTempChar);
    if ((size != 6 && size != 8 && size != 10 && size != 12) || !endsPart(r, size)) {
        return 0;
    }
    const char *component = componentOf(start, r.at - 1);
    Shape shape = shapeOf(r.at, size);
    if (component == NULL) {
        return 0;
    }
    bool random = isScrambled(shape);
    if (!random && size == 6) {
        random = isNoWord(r.at, size, shape) && isInTempDir(start, component, false);
    } else if (random && size != 6) {
        random = isInTempDir(start, component, false);
    }
    return random ? size : 0;
}
