/*
 * schema/mof/mof_read.c --
 *
 *	Parses the classes of a Managed Object Format text (DMTF DSP0004): qualifiers, base class,
 *	properties. Instances, qualifier declarations, methods and pragmas are skipped. Independent
 *	of events (mof.c).
 */
#include "schema/mof/mof.h"
#include <ctype.h>
#include <stdlib.h>

enum { MAX_QUALIFIERS = 256 }; /* in one list, because it is searched linearly */

typedef enum TokenKind { TOKEN_END, TOKEN_WORD, TOKEN_STRING, TOKEN_OTHER } TokenKind;

typedef struct Reader {
    Mof *mof;
    const char *at, *end;
    int line;
    TokenKind kind; /* the current token */
    char other;     /* TOKEN_OTHER: the character */
    EtwText text;   /* of the token: words and numbers unchanged, strings decoded; NUL-terminated */
    const char *from;
    bool failed;
    EtwError *errPtr;
} Reader;

static bool fail(Reader *r, const char *what)
{
    if (!r->failed) {
        EtwFail(r->errPtr, ETW_E_FORMAT, "MOF", r->from, "%s, line %d: %s", r->from, r->line, what);
    }
    r->failed = true;
    return false;
}

/* ---- Tokens ---------------------------------------------------------------------------------- */

static void skipLine(Reader *r)
{
    while (r->at < r->end && *r->at != '\n') {
        r->at++;
    }
}

static void skipComment(Reader *r)
{
    r->at += 2;
    while (r->at < r->end && !(*r->at == '*' && r->end - r->at > 1 && r->at[1] == '/')) {
        r->line += *r->at++ == '\n';
    }
    r->at += r->end - r->at < 2 ? r->end - r->at : 2;
}

/* Skip blanks, comments and pragmas. */
static void skipBlanks(Reader *r)
{
    while (r->at < r->end) {
        bool pair = r->end - r->at > 1 && *r->at == '/';
        if (isspace((unsigned char)*r->at)) {
            r->line += *r->at++ == '\n';
        } else if ((pair && r->at[1] == '/') || *r->at == '#') {
            skipLine(r);
        } else if (pair && r->at[1] == '*') {
            skipComment(r);
        } else {
            return;
        }
    }
}

static bool isWord(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '+' || c == '-' || c == '$' ||
           (unsigned char)c >= 0x80;
}

/* Read a string after its quote, and resolve escapes. */
static void readString(Reader *r)
{
    static const char escapes[] = "n\nt\tr\rb\bf\f";
    while (r->at < r->end && *r->at != '"') {
        if (*r->at == '\\' && r->end - r->at > 1) {
            const char *pair = strchr(escapes, *++r->at);
            bool known = pair != NULL && *pair != 0 && (pair - escapes) % 2 == 0;
            EtwTextChar(&r->text, known ? pair[1] : *r->at);
        } else {
            EtwTextChar(&r->text, *r->at);
        }
        r->line += *r->at++ == '\n';
    }
    if (r->at == r->end) {
        fail(r, "a string has no closing quote");
        return;
    }
    r->at++;
}

/* Read the next token. Adjacent strings are one token. */
static void next(Reader *r)
{
    r->text.size = 0;
    skipBlanks(r);
    r->kind = TOKEN_END;
    if (r->at == r->end || r->failed) {
        return;
    }
    if (*r->at == '"') {
        r->kind = TOKEN_STRING;
        while (r->at < r->end && *r->at == '"' && !r->failed) {
            r->at++;
            readString(r);
            skipBlanks(r);
        }
    } else if (isWord(*r->at)) {
        r->kind = TOKEN_WORD;
        while (r->at < r->end && isWord(*r->at)) {
            EtwTextChar(&r->text, *r->at++);
        }
    } else {
        r->kind = TOKEN_OTHER;
        r->other = *r->at++;
    }
    EtwTextChar(&r->text, 0);
    r->text.size--;
}

static bool isOther(const Reader *r, char c)
{
    return r->kind == TOKEN_OTHER && r->other == c;
}

static bool take(Reader *r, char c)
{
    if (!isOther(r, c)) {
        return false;
    }
    next(r);
    return true;
}

static bool expect(Reader *r, char c)
{
    char what[] = "expected X";
    what[sizeof what - 2] = c;
    return take(r, c) || fail(r, what);
}

static bool isKeyword(const Reader *r, const char *word)
{
    return r->kind == TOKEN_WORD && MofSameName(r->text.data, word);
}

static const char *keepText(Reader *r)
{
    return EtwDefText(r->mof->memory, r->text.data, r->text.size);
}

static const char *takeWord(Reader *r, const char *what)
{
    if (r->kind != TOKEN_WORD) {
        fail(r, what);
        return "";
    }
    const char *word = keepText(r);
    next(r);
    return word;
}

/* Skip the rest of the statement, including its semicolon. */
static void skipStatement(Reader *r)
{
    int depth = 0;
    while (r->kind != TOKEN_END && !(depth <= 0 && isOther(r, ';'))) {
        depth += isOther(r, '{') || isOther(r, '(') || isOther(r, '[');
        depth -= isOther(r, '}') || isOther(r, ')') || isOther(r, ']');
        next(r);
    }
    take(r, ';');
}

/* ---- Qualifiers ------------------------------------------------------------------------------ */

/* Read values up to the closing bracket. Nested brackets are ignored. */
static const MofValue *readValues(Reader *r, char close)
{
    MofValue *first = NULL, **last = &first;
    while (!isOther(r, close) && !r->failed) {
        if (r->kind == TOKEN_END) {
            fail(r, "a bracket is not closed");
        } else if (r->kind != TOKEN_OTHER) {
            MofValue *value = EtwDefAlloc(r->mof->memory, sizeof *value);
            value->text = keepText(r);
            *last = value;
            last = &value->next;
        }
        next(r);
    }
    next(r);
    return first;
}

/* NAME, NAME(VALUE), NAME{VALUE, ...}, each with flavors after a colon. */
static MofQualifier *readQualifier(Reader *r)
{
    MofQualifier *q = EtwDefAlloc(r->mof->memory, sizeof *q);
    q->name = takeWord(r, "expected the name of a qualifier");
    if (isOther(r, '(') || isOther(r, '{')) {
        char close = r->other == '(' ? ')' : '}';
        next(r);
        q->values = readValues(r, close);
    }
    if (take(r, ':')) {
        while (r->kind == TOKEN_WORD) {
            next(r);
        }
    }
    return q;
}

static const MofQualifier *readQualifiers(Reader *r)
{
    MofQualifier *first = NULL, **last = &first;
    if (!take(r, '[')) {
        return NULL;
    }
    for (int n = 0; !r->failed && !isOther(r, ']'); n++) {
        if (n == MAX_QUALIFIERS) {
            fail(r, "more than 256 qualifiers, which is the maximum");
        }
        *last = readQualifier(r);
        last = &(*last)->next;
        if (!take(r, ',') && !isOther(r, ']')) {
            fail(r, "expected , or ] after a qualifier");
        }
    }
    next(r);
    return first;
}

/* ---- Classes --------------------------------------------------------------------------------- */

/* "[" and "]" or "[N]" after a property's name. */
static void readArray(Reader *r, MofProperty *p)
{
    uint64_t elements;
    if (take(r, '[')) {
        p->array = true;
        if (r->kind == TOKEN_WORD && MofToNumber(r->text.data, &elements)) {
            p->elements = elements < UINT16_MAX ? (uint32_t)elements : UINT16_MAX;
        }
        while (r->kind == TOKEN_WORD) {
            next(r);
        }
        expect(r, ']');
    }
}

/* Read a member of a class; NULL: a method, or an error. */
static MofProperty *readMember(Reader *r)
{
    MofProperty *p = EtwDefAlloc(r->mof->memory, sizeof *p);
    p->qualifiers = readQualifiers(r);
    p->type = takeWord(r, "expected the type of a property");
    if (isKeyword(r, "ref")) {
        next(r);
    }
    p->name = takeWord(r, "expected the name of a property");
    readArray(r, p);
    bool method = isOther(r, '(');
    skipStatement(r);
    return method || r->failed ? NULL : p;
}

static void readMembers(Reader *r, MofClass *c)
{
    MofProperty **last = &c->properties;
    while (!r->failed && !isOther(r, '}')) {
        if (r->kind == TOKEN_END) {
            fail(r, "a class is not closed");
            return;
        }
        MofProperty *p = readMember(r);
        if (p != NULL) {
            *last = p;
            last = &p->next;
            c->propertyCount++;
        }
    }
    next(r);
}

static uint64_t hashOf(const char *name)
{
    EtwSip sip = EtwSipBegin(osSecret);
    for (; *name != 0; name++) {
        EtwSipAdd(&sip, (uint64_t)tolower((unsigned char)*name));
    }
    return EtwSipEnd(&sip);
}

/* Read a class after the word "class". */
static MofClass *readClass(Reader *r, const MofQualifier *qualifiers)
{
    MofClass *c = EtwDefAlloc(r->mof->memory, sizeof *c);
    c->qualifiers = qualifiers;
    c->name = takeWord(r, "expected the name of a class");
    if (take(r, ':')) {
        c->base = takeWord(r, "expected the name of a base class");
    }
    if (!isOther(r, ';')) {
        if (expect(r, '{')) {
            readMembers(r, c);
        }
    }
    skipStatement(r);
    EtwTableAdd(&r->mof->classes, &c->node, hashOf(c->name));
    return c;
}

static void readAll(Reader *r)
{
    MofClass **last = &r->mof->first;
    next(r);
    while (r->kind != TOKEN_END && !r->failed) {
        const MofQualifier *qualifiers = readQualifiers(r);
        if (isKeyword(r, "class")) {
            next(r);
            *last = readClass(r, qualifiers);
            last = &(*last)->next;
        } else {
            skipStatement(r);
        }
    }
}

EtwStatus MofRead(Mof *mof, const uint8_t *data, size_t size, const char *from, EtwError *errPtr)
{
    static const EtwGuid none;
    EtwText text = {0};
    EtwTextOfFile(&text, data, size);
    EtwTextReserve(&text, 1); /* not NULL */
    *mof = (Mof){.memory = EtwDefNew(&none, "", ETW_ORIGIN_MOF, from)};
    Reader r = {.mof = mof,
            .at = text.data,
            .end = text.data + text.size,
            .line = 1,
            .from = from,
            .errPtr = errPtr};
    readAll(&r);
    EtwTextFree(&r.text);
    EtwTextFree(&text);
    for (MofClass *c = mof->first; c != NULL; c = c->next) {
        c->baseClass = c->base ? MofFindClass(mof, c->base) : NULL;
    }
    return r.failed ? ETW_E_FORMAT : ETW_OK;
}

static void keepNode(void *ctx, EtwTableNode *node)
{
    (void)ctx, (void)node; /* owned by the definition */
}

void MofFree(Mof *mof)
{
    EtwTableFree(&mof->classes, keepNode);
    EtwDefFree(mof->memory);
}

/* ---- Queries --------------------------------------------------------------------------------- */

bool MofSameName(const char *a, const char *b)
{
    while (*a != 0 && tolower((unsigned char)*a) == tolower((unsigned char)*b)) {
        a++;
        b++;
    }
    return *a == *b;
}

MofClass *MofFindClass(const Mof *mof, const char *name)
{
    uint64_t hash = hashOf(name);
    for (EtwTableNode *n = EtwTableFirst(&mof->classes, hash); n != NULL; n = n->next) {
        if (n->hash == hash && MofSameName(((MofClass *)n)->name, name)) {
            return (MofClass *)n;
        }
    }
    return NULL;
}

const MofQualifier *MofFindQualifier(const MofQualifier *list, const char *name)
{
    while (list != NULL && !MofSameName(list->name, name)) {
        list = list->next;
    }
    return list;
}

const char *MofText(const MofQualifier *list, const char *name)
{
    const MofQualifier *q = MofFindQualifier(list, name);
    return q == NULL ? NULL : q->values != NULL ? q->values->text : "";
}

/* Decimal, 0x, or binary with the suffix b. */
bool MofToNumber(const char *text, uint64_t *value)
{
    size_t digits = strspn(text, "01");
    char *end;
    if (digits != 0 && (text[digits] == 'b' || text[digits] == 'B') && text[digits + 1] == 0) {
        *value = strtoull(text, NULL, 2);
        return true;
    }
    *value = *text == '-' ? (uint64_t)strtoll(text, &end, 0) : strtoull(text, &end, 0);
    return *text != 0 && *end == 0;
}

bool MofNumber(const MofQualifier *list, const char *name, uint64_t *value)
{
    const char *text = MofText(list, name);
    return text != NULL && MofToNumber(text, value);
}
