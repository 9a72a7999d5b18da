/*
 * script/script_redact.c --
 *
 *	Two steps. Words that match a pattern as a whole are masked while the fields of an event are
 *	composed. Then all texts of the finished payload are searched: error messages, scripts,
 *	names. In these, a pattern without wildcards is found anywhere. A pattern with wildcards is
 *	found if no letter, digit or underscore is next to its ends; a star at its end extends it to
 *	the next blank, or to the bracket or quote that closes the one before it.
 */
#include "script/script_redact.h"
#include "base/unicode.h"
#include <string.h>

static const char mask[] = "***";
static const char cutMark[] = "\xE2\x80\xA6"; /* begins the mark that EtwFieldEnd adds */

/* One character of a pattern. */
typedef struct Atom {
    enum { ATOM_BYTE, ATOM_ANY, ATOM_SET } kind;
    char byte;
    const char *set, *setEnd; /* between the brackets */
} Atom;

/* A part of a pattern between stars. */
typedef struct Segment {
    const Atom *atoms;
    int count;
} Segment;

typedef struct Pattern {
    char *glob; /* as specified, in Tcl's UTF-8 */
    char *utf8; /* in standard UTF-8, like the texts of events */
    Atom *atoms;
    Segment *segments;
    int count;        /* of segments; 0: the pattern is stars only */
    bool plain;       /* no wildcards */
    bool leads, ends; /* begins, ends with a star */
} Pattern;

struct EtwRedaction {
    int count;
    Pattern patterns[];
};

/* ---- Patterns -------------------------------------------------------------------------------- */

/* Parses the character of a pattern at `at`, which is not a star. Returns the position after it. */
static const char *takeAtom(Atom *atom, const char *at, const char *end)
{
    *atom = (Atom){.kind = ATOM_BYTE, .byte = *at};
    if (*at == '?') {
        atom->kind = ATOM_ANY;
    } else if (*at == '[') {
        const char *close = memchr(at, ']', (size_t)(end - at));
        *atom = (Atom){.kind = ATOM_SET, .set = at + 1, .setEnd = close != NULL ? close : end};
        return close != NULL ? close + 1 : end;
    } else if (*at == '\\' && at + 1 < end) {
        atom->byte = *++at;
    }
    return at + 1;
}

static void compile(Pattern *p, const char *glob)
{
    size_t size = strlen(glob);
    Atom *atom;
    bool inside = false;
    p->glob = EtwStrdup(glob);
    p->utf8 = EtwAlloc(size + 1);
    atom = p->atoms = EtwAlloc((size + 1) * sizeof *p->atoms);
    p->segments = EtwAlloc((size + 1) * sizeof *p->segments);
    p->plain = true;
    p->leads = *glob == '*';
    size = EtwScriptTextConvert(p->utf8, glob, size);
    for (const char *at = p->utf8, *end = at + size; at < end;) {
        p->ends = *at == '*';
        if (p->ends) {
            p->plain = inside = false;
            at++;
            continue;
        }
        if (!inside) {
            p->segments[p->count++] = (Segment){.atoms = atom};
        }
        inside = true;
        at = takeAtom(atom, at, end);
        p->plain &= atom->kind == ATOM_BYTE;
        p->segments[p->count - 1].count++;
        atom++;
    }
}

EtwRedaction *EtwRedactionNew(Tcl_Obj *list)
{
    Tcl_Size count = 0;
    Tcl_Obj **globs = NULL;
    EtwRedaction *redaction;
    if (list == NULL || Tcl_ListObjGetElements(NULL, list, &count, &globs) != TCL_OK ||
            count == 0) {
        return NULL;
    }
    redaction = EtwAlloc(sizeof *redaction + (size_t)count * sizeof redaction->patterns[0]);
    for (Tcl_Size i = 0; i < count; i++) {
        compile(&redaction->patterns[redaction->count++], Tcl_GetString(globs[i]));
    }
    return redaction;
}

void EtwRedactionFree(EtwRedaction *redaction)
{
    for (int i = 0; redaction != NULL && i < redaction->count; i++) {
        Pattern *p = &redaction->patterns[i];
        EtwFree(p->glob);
        EtwFree(p->utf8);
        EtwFree(p->atoms);
        EtwFree(p->segments);
    }
    EtwFree(redaction);
}

Tcl_Obj *EtwRedactionList(const EtwRedaction *redaction)
{
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);
    for (int i = 0; redaction != NULL && i < redaction->count; i++) {
        Tcl_ListObjAppendElement(NULL, list, Tcl_NewStringObj(redaction->patterns[i].glob, -1));
    }
    return list;
}

void EtwRedactUse(EtwScriptState *state, EtwRule *rule, int change)
{
    EtwRule **at = &state->redacting;
    if (rule->redaction == NULL) {
        return;
    }
    rule->users += change;
    while (*at != NULL && *at != rule) {
        at = &(*at)->nextRedacting;
    }
    if (*at == NULL) {
        *at = rule;
        rule->nextRedacting = NULL;
    } else if (rule->users == 0) {
        *at = rule->nextRedacting;
    }
}

/*
 * Iterates over the rules that apply to an event: those in use, and the event's own. previous is NULL at the start.
 */
static const EtwRule *nextRule(
        const EtwScriptState *state, const EtwRule *own, const EtwRule *previous)
{
    const EtwRule *next = previous == NULL ? state->redacting : previous->nextRedacting;
    bool last = previous != NULL && previous == own && own->users == 0;
    if (next == NULL && !last && own != NULL && own->redaction != NULL && own->users == 0) {
        next = own;
    }
    return last ? NULL : next;
}

/* ---- Words ----------------------------------------------------------------------------------- */

static bool inSet(const Atom *atom, uint32_t c)
{
    const uint8_t *at = (const uint8_t *)atom->set, *end = (const uint8_t *)atom->setEnd;
    size_t length;
    while (at < end) {
        uint32_t first = EtwUtf8Next(at, (size_t)(end - at), &length), last = first;
        at += length;
        if (end - at >= 2 && *at == '-') {
            last = EtwUtf8Next(at + 1, (size_t)(end - at - 1), &length);
            at += 1 + length;
        }
        if ((c >= first && c <= last) || (c >= last && c <= first)) {
            return true;
        }
    }
    return false;
}

/* The end of the match of the atom at `at` < end, or NULL. */
static const char *matchAtom(const Atom *atom, const char *at, const char *end)
{
    size_t length;
    if (atom->kind == ATOM_BYTE) {
        return *at == atom->byte ? at + 1 : NULL;
    }
    uint32_t c = EtwUtf8Next((const uint8_t *)at, (size_t)(end - at), &length);
    return atom->kind == ATOM_ANY || inSet(atom, c) ? at + length : NULL;
}

static const char *matchAtoms(const Segment *segment, const char *at, const char *end)
{
    for (int i = 0; i < segment->count && at != NULL; i++) {
        at = at < end ? matchAtom(&segment->atoms[i], at, end) : NULL;
    }
    return at;
}

/* The start of a segment that ends at `at`; NULL if it is before `from`. */
static const char *segmentStart(const Segment *segment, const char *from, const char *at)
{
    for (int i = segment->count; i-- > 0;) {
        if (at == from) {
            return NULL;
        }
        at--;
        while (segment->atoms[i].kind != ATOM_BYTE && at > from && (*at & 0xC0) == 0x80) {
            at--;
        }
    }
    return at;
}

/* Like Tcl_StringMatch, whose time is exponential in the number of stars. */
static bool matchesWhole(const Pattern *p, const char *at, const char *end)
{
    for (int i = 0; i < p->count; i++) {
        const Segment *segment = &p->segments[i];
        const char *next = NULL;
        bool last = i + 1 == p->count && !p->ends;
        if (last) {
            at = segmentStart(segment, at, end);
        }
        while (at != NULL && (next = matchAtoms(segment, at, end)) == NULL && !last && at < end &&
                (i > 0 || p->leads)) {
            at++;
        }
        if (next == NULL) {
            return false;
        }
        at = next;
    }
    return true;
}

enum { WORDS_DEPTH = 32 }; /* depth of nested lists */

typedef struct Rules {
    const EtwScriptState *state;
    const EtwRule *own;
} Rules;

static bool matchesWord(const Rules *rules, const char *word)
{
    const EtwRule *rule = NULL;
    while ((rule = nextRule(rules->state, rules->own, rule)) != NULL) {
        for (int i = 0; i < rule->redaction->count; i++) {
            const Pattern *p = &rule->redaction->patterns[i];
            if (p->count < 2 ? Tcl_StringMatch(word, p->glob)
                             : matchesWhole(p, word, word + strlen(word))) {
                return true;
            }
        }
    }
    return false;
}

static bool maskInto(
        Tcl_DString *out, const char *text, size_t size, const Rules *rules, int depth);

/* Mask elements of a list; false: nothing was masked, or not a well-formed list. */
static bool maskElements(Tcl_DString *out, const char *text, const Rules *rules, int depth)
{
    Tcl_Size count;
    const char **elements;
    Tcl_DString list;
    bool changed = false;
    if (Tcl_SplitList(NULL, text, &count, &elements) != TCL_OK) {
        return false;
    }
    Tcl_DStringInit(&list);
    for (Tcl_Size i = 0; i < count; i++) {
        Tcl_DString one;
        Tcl_DStringInit(&one);
        changed |= maskInto(&one, elements[i], strlen(elements[i]), rules, depth + 1);
        Tcl_DStringAppendElement(&list, Tcl_DStringValue(&one));
        Tcl_DStringFree(&one);
    }
    if (changed) {
        Tcl_DStringAppend(out, Tcl_DStringValue(&list), -1);
    }
    Tcl_DStringFree(&list);
    Tcl_Free((char *)elements);
    return changed;
}

static bool isBlank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Mask the words of any text that are separated by blanks. */
static bool maskBetweenBlanks(Tcl_DString *out, const char *text, size_t size, const Rules *rules)
{
    bool changed = false;
    for (size_t i = 0; i < size;) {
        size_t from = i;
        while (i < size && isBlank(text[i]) == isBlank(text[from])) {
            i++;
        }
        Tcl_DString word;
        Tcl_DStringInit(&word);
        Tcl_DStringAppend(&word, text + from, (Tcl_Size)(i - from));
        bool hit = !isBlank(text[from]) && matchesWord(rules, Tcl_DStringValue(&word));
        Tcl_DStringAppend(out, hit ? mask : Tcl_DStringValue(&word), -1);
        Tcl_DStringFree(&word);
        changed |= hit;
    }
    return changed;
}

/* Append the text with matching words masked; true: some were. */
static bool maskInto(Tcl_DString *out, const char *text, size_t size, const Rules *rules, int depth)
{
    if (matchesWord(rules, text)) {
        Tcl_DStringAppend(out, mask, -1);
        return true;
    }
    if (depth < WORDS_DEPTH && strpbrk(text, " \t\n\r\f\v{\"") != NULL) {
        return maskElements(out, text, rules, depth) || maskBetweenBlanks(out, text, size, rules);
    }
    Tcl_DStringAppend(out, text, (Tcl_Size)size);
    return false;
}

void EtwRedactWords(Tcl_DString *out, const EtwScriptState *state, const EtwRule *rule,
        const char *text, size_t size)
{
    maskInto(out, text, size, &(Rules){state, rule}, 0);
}

/* ---- Finding patterns in a text -------------------------------------------------------------- */

/* A text of an event. */
typedef struct Text {
    const char *data, *end; /* without the mark of truncation */
    bool cut;               /* truncated at the end */
    bool firstLine;         /* the first line of a text that may have more */
    char separator;         /* separates words, in addition to blanks */
    bool *covered;          /* one per byte: is it to be masked; NULL: none */
} Text;

static bool isWordChar(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

static const char *skipBackslashes(const char *at, const char *end)
{
    while (at < end && *at == '\\') {
        at++;
    }
    return at;
}

/* The character that Tcl writes after a backslash to quote the byte. */
static char escapeOf(char byte)
{
    return byte >= '\t' && byte <= '\r' ? "tnvfr"[byte - '\t'] : byte;
}

/*
 * Matches a blank of a pattern in a text that is a list, where braces and quotes may be next to the blank: `a} {b`.
 */
static const char *matchBlank(const char *at, const char *end)
{
    const char *from;
    while (at < end && (*at == '}' || *at == '"')) {
        at++;
    }
    for (from = at; at < end && isBlank(*at);) {
        at++;
    }
    while (at > from && at < end && (*at == '{' || *at == '"')) {
        at++;
    }
    return at > from ? at : NULL;
}

/* Like matchAtom, but skips the quoting of lists. */
static const char *matchQuoted(const Atom *atom, const char *at, const char *end)
{
    if (atom->kind != ATOM_BYTE) {
        return matchAtom(atom, at, end);
    }
    const char *behind = skipBackslashes(at, end);
    if (atom->byte == '\\') {
        return behind > at ? behind : NULL;
    }
    const char *blank = isBlank(atom->byte) ? matchBlank(at, end) : NULL;
    if (blank != NULL) {
        return blank;
    }
    bool same = behind < end &&
                (*behind == atom->byte || (behind > at && *behind == escapeOf(atom->byte)));
    return same ? behind + 1 : NULL;
}

/* True if the text was truncated here, by this package or by Tcl. */
static bool isCut(const Text *text, const char *at)
{
    while (at < text->end && (*at == '\\' || *at == '}')) {
        at++; /* the quoting of a value that was cut before it was quoted */
    }
    size_t left = (size_t)(text->end - at);
    return left == 0 ? text->cut
                     : left >= 3 && (memcmp(at, "...", 3) == 0 || memcmp(at, cutMark, 3) == 0);
}

/* The end of the match at `at`, or NULL. A truncated text matches if all of its remaining part does. */
static const char *matchSegment(
        const Text *text, const Segment *segment, const char *at, bool *cutPtr)
{
    *cutPtr = false;
    for (int i = 0; i < segment->count; i++) {
        const char *next = at < text->end ? matchQuoted(&segment->atoms[i], at, text->end) : NULL;
        if (next == NULL) {
            bool line = text->firstLine && at == text->end && segment->atoms[i].byte == '\n';
            *cutPtr = i > 0 && (line || isCut(text, at));
            return *cutPtr ? at : NULL;
        }
        at = next;
    }
    return at;
}

static const char *wordEnd(const Text *text, const char *at)
{
    while (at < text->end && !isBlank(*at) && *at != text->separator) {
        at++;
    }
    return at;
}

/*
 * The end of the match of a pattern at `at`, without stars at its ends; NULL: no match. *behindPtr:
 * where to search next.
 */
static const char *matchPattern(
        const Text *text, const Pattern *p, const char *at, const char **behindPtr)
{
    bool cut;
    bool anyNext = p->plain || p->ends; /* a letter may follow the match */
    const char *end = matchSegment(text, &p->segments[0], at, &cut);
    const char *limit;
    if (end == NULL || (!p->plain && !p->leads && at > text->data && isWordChar(at[-1]))) {
        return NULL;
    }
    if (cut || p->count == 1) {
        return cut || anyNext || end == text->end || !isWordChar(*end) ? end : NULL;
    }
    limit = wordEnd(text, end);
    for (int i = 1; i < p->count; i++) {
        bool last = i + 1 == p->count;
        const char *found = NULL;
        for (const char *from = end; from <= limit && (found == NULL || (last && !p->ends));
                from++) {
            const char *next = matchSegment(text, &p->segments[i], from, &cut);
            if (next != NULL &&
                    (!last || cut || anyNext || next == text->end || !isWordChar(*next))) {
                found = next;
            }
        }
        if (found == NULL) {
            *behindPtr = limit;
            return isCut(text, limit) ? limit : NULL;
        }
        end = found;
    }
    return end;
}

/* ---- Extent of a star at an end -------------------------------------------------------------- */

static const char opening[] = "\"'({[<", closing[] = "\"')}]>";

static int indexIn(const char *set, char c)
{
    const char *at = c != '\0' ? strchr(set, c) : NULL;
    return at != NULL ? (int)(at - set) : -1;
}

/* The position that closes the bracket or quote before `start`; NULL: there is no such bracket or quote. */
static const char *closer(const Text *text, const char *start, const char *at)
{
    int which = start > text->data ? indexIn(opening, start[-1]) : -1;
    int level = 1;
    if (which < 0) {
        return NULL;
    }
    for (; at < text->end; at++) {
        if (*at == closing[which]) {
            level--;
        } else if (*at == opening[which]) {
            level++;
        }
        if (level == 0) {
            return at;
        }
    }
    return text->end; /* not closed: the rest may belong to it */
}

static const char *extendEnd(const Text *text, const char *start, const char *end)
{
    const char *at = closer(text, start, end);
    if (at == NULL) {
        at = wordEnd(text, end);
        while (at > end && (indexIn(closing, at[-1]) >= 0 || indexIn(",;:.", at[-1]) >= 0)) {
            at--;
        }
    }
    return at;
}

/* Moves the start of a match that begins with a star; not before `from`. */
static const char *extendStart(
        const Text *text, const char *from, const char *start, const char *end)
{
    int which = end < text->end ? indexIn(closing, *end) : -1;
    const char *at = start;
    int level = which >= 0;
    while (level > 0 && at > from) {
        at--;
        level += *at == opening[which] ? -1 : *at == closing[which];
    }
    if (which >= 0 && level == 0) {
        return at + 1;
    }
    for (at = start; at > from && !isBlank(at[-1]) && at[-1] != text->separator;) {
        at--;
    }
    while (at < start && indexIn(opening, *at) >= 0) {
        at++;
    }
    return at;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

/* The next position where a pattern may begin; NULL: none. */
static const char *nextCandidate(const Text *text, const Atom *first, const char *at)
{
    if (first->kind != ATOM_BYTE) {
        return at < text->end ? at : NULL;
    }
    if (escapeOf(first->byte) == first->byte) {
        return at < text->end ? memchr(at, first->byte, (size_t)(text->end - at)) : NULL;
    }
    while (at < text->end && *at != first->byte && *at != '\\') {
        at++;
    }
    return at < text->end ? at : NULL;
}

static void cover(Text *text, const char *start, const char *end)
{
    if (text->covered == NULL) {
        text->covered = EtwAlloc((size_t)(text->end - text->data) * sizeof *text->covered);
    }
    memset(text->covered + (start - text->data), true, (size_t)(end - start));
}

static void coverPattern(Text *text, const Pattern *p)
{
    const char *from = text->data, *at = from;
    if (p->count == 0) {
        return; /* only stars: matches words, not texts */
    }
    while ((at = nextCandidate(text, &p->segments[0].atoms[0], at)) != NULL) {
        const char *behind = at + 1;
        const char *end = matchPattern(text, p, at, &behind);
        if (end != NULL) {
            const char *start =
                    p->leads ? extendStart(text, from, at, p->ends ? text->end : end) : at;
            end = p->ends ? extendEnd(text, start, end) : end;
            cover(text, start, end);
            from = behind = end > at ? end : behind;
        } else if (*at == '\\') {
            behind = skipBackslashes(behind, text->end);
        }
        at = behind;
    }
}

/* The end of a text without the mark that EtwFieldEnd adds to a truncated one. */
static const char *bodyEnd(const char *data, size_t size)
{
    const char *end = data + size, *at = end;
    if (size == 0 || *--at != ']') {
        return end;
    }
    while (at > data && ((at[-1] >= '0' && at[-1] <= '9') || at[-1] == '~')) {
        at--;
    }
    bool marked = at - data >= 5 && memcmp(at - 5, "\xE2\x80\xA6[+", 5) == 0;
    return marked ? at - 5 : end;
}

/* Append the text with *** for each covered part. The text is truncated if it grows too long. */
static void addMasked(EtwText *out, const Text *text, size_t size)
{
    size_t begin = out->size, limit = size + ETW_NAME_MAX - 64;
    const bool *covered = text->covered;
    size_t body = (size_t)(text->end - text->data);
    for (size_t i = 0; i < body; i++) {
        if (!covered[i]) {
            EtwTextChar(out, text->data[i]);
        } else if (i == 0 || !covered[i - 1]) {
            EtwTextAdd(out, mask, sizeof mask - 1);
        }
    }
    EtwTextAdd(out, text->end, size - body);
    if (out->size - begin > limit) {
        size_t keep = EtwUtf8Cut(out->data + begin, limit);
        size_t lost = out->size - begin - keep;
        out->size = begin + keep;
        EtwTextPrintf(out, "%s[+~%llu]", cutMark, (unsigned long long)lost);
    }
}

/* Append a redacted text. The caller has set data, separator and firstLine of *text. */
static void redactText(EtwText *out, const Rules *rules, Text *text, size_t size)
{
    const EtwRule *rule = NULL;
    text->end = bodyEnd(text->data, size);
    text->cut = text->end < text->data + size || size == ETW_NAME_MAX;
    while ((rule = nextRule(rules->state, rules->own, rule)) != NULL) {
        for (int i = 0; i < rule->redaction->count; i++) {
            coverPattern(text, &rule->redaction->patterns[i]);
        }
    }
    if (text->covered != NULL) {
        addMasked(out, text, size);
        EtwFree(text->covered);
    } else {
        EtwTextAdd(out, text->data, size);
    }
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Fixed words of this package, such as "read", "after", names of counters. */
static bool isFixedText(const EtwDeclaredField *field)
{
    return field->role == ETW_ROLE_OPERATION || field->role == ETW_ROLE_KIND ||
           field->role == ETW_ROLE_COUNTERS;
}

static size_t sizeOf(const EtwDeclaredField *field)
{
    return field->in == ETW_IN_UINT64 ? 8 : field->in == ETW_IN_UINT16 ? 2 : 4;
}

/* Append a text and its size. Returns the position after it. */
static const char *addText(
        EtwText *out, const Rules *rules, int event, const EtwDeclaredField *field, const char *at)
{
    size_t size = EtwLoad16(at), head = out->size;
    Text text = {.data = at + 2,
            .separator = field->role == ETW_ROLE_STACK ? ';' : ' ',
            .firstLine = event == ETW_SCRIPT_LINE};
    EtwTextAdd(out, at, 2);
    if (isFixedText(field)) {
        EtwTextAdd(out, at + 2, size);
    } else {
        redactText(out, rules, &text, size);
        EtwStore16(out->data + head, (uint16_t)(out->size - head - 2));
    }
    return at + 2 + size;
}

static void redactPayload(EtwText *out, const Rules *rules, int event, const char *at)
{
    const EtwDeclaredEvent *declared = &EtwDeclaredFind(ETW_SCRIPT_PROVIDER)->events[event];
    for (int i = 0; i < declared->fieldCount; i++) {
        const EtwDeclaredField *field = &declared->fields[i];
        if (field->in == ETW_IN_COUNTED_ANSI) {
            at = addText(out, rules, event, field, at);
        } else {
            EtwTextAdd(out, at, sizeOf(field));
            at += sizeOf(field);
        }
    }
}

uint64_t EtwRedactWrite(EtwScriptState *state, const EtwRule *rule, int event, const Etw_Data *data,
        int count, const EtwElapsed *elapsed)
{
    EtwText *payload = &state->payload, *redacted = &state->redacted;
    payload->size = redacted->size = 0;
    for (int i = 0; i < count; i++) {
        EtwTextAdd(payload, data[i].data, data[i].size);
    }
    redactPayload(redacted, &(Rules){state, rule}, event, payload->data);
    Etw_Data all = {redacted->data, redacted->size};
    if (elapsed == NULL) {
        return EtwWriteStamped(etwScriptEvents[event], &all, 1);
    }
    EtwWriteElapsed(etwScriptEvents[event], &all, 1, elapsed);
    return 0;
}

char *EtwRedactName(const EtwScriptState *state, const EtwRule *rule, const char *name)
{
    EtwText copy = {0};
    if (!EtwRedacts(state, rule)) {
        return NULL;
    }
    redactText(&copy, &(Rules){state, rule}, &(Text){.data = name, .separator = ' '}, strlen(name));
    EtwTextChar(&copy, '\0');
    return copy.data;
}
