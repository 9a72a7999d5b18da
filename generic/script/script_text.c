/*
 * script/script_text.c --
 *
 *	See script_text.h. Tcl's UTF-8 differs from standard UTF-8 in NUL (C0 80) and, in Tcl 8.6,
 *	in characters beyond the BMP (two surrogates of three bytes each).
 */
#include "script/script_redact.h"
#include "base/unicode.h"
#include <stdio.h>

/* The effect of a byte on a list element's quoting, or on the validity as UTF-8. */
enum { QUOTE = 1, BRACE = 2, SPECIAL = 4 };
static const uint8_t byteClass[256] = {
        [' '] = QUOTE,
        ['\t'] = QUOTE,
        ['\n'] = QUOTE,
        ['\v'] = QUOTE,
        ['\f'] = QUOTE,
        ['\r'] = QUOTE,
        [';'] = QUOTE,
        ['"'] = QUOTE,
        ['$'] = QUOTE,
        ['['] = QUOTE,
        [']'] = QUOTE,
        ['{'] = BRACE,
        ['}'] = BRACE,
        ['\\'] = BRACE,
        [0xC0] = SPECIAL,
        [0xED] = SPECIAL,
};

/* ---- Pieces ---------------------------------------------------------------------------------- */

void EtwPiecesBegin(EtwPieces *p, EtwScriptState *state)
{
    p->count = 0;
    p->used = 0;
    p->state = state;
    if (state->scratch == NULL) {
        state->scratch = EtwAlloc(ETW_SCRATCH);
    }
    p->scratch = state->scratch;
}

void EtwPiecesRaw(EtwPieces *p, const void *data, size_t size)
{
    p->data[p->count++] = (Etw_Data){data, size};
}

/* Copy into the scratch buffer; extends the previous piece if that is the copy before it. */
static void addCopy(EtwPieces *p, const char *data, size_t size)
{
    char *at = p->scratch + p->used;
    Etw_Data *last = p->count > 0 ? &p->data[p->count - 1] : NULL;
    memcpy(at, data, size);
    p->used += size;
    if (last != NULL && (const char *)last->data + last->size == at) {
        last->size += size;
    } else {
        EtwPiecesRaw(p, at, size);
    }
}

/*
 * The scratch buffer can hold all fields of an event at their limits. Some pieces are reserved for
 * the fixed parts and the fields that follow.
 */
static void addPiece(EtwPieces *p, const char *data, size_t size, bool stays)
{
    bool copy = !stays || size < 48 || p->count > ETW_PIECES - 16;
    if (size == 0 || (copy && size > ETW_SCRATCH - p->used)) {
        return;
    }
    p->size += size;
    if (copy) {
        addCopy(p, data, size);
    } else {
        EtwPiecesRaw(p, data, size);
    }
}

/* ---- Standard UTF-8 -------------------------------------------------------------------------- */

bool EtwScriptTextNeedsConversion(const char *text, size_t size)
{
    return memchr(text, 0xC0, size) != NULL || memchr(text, 0xED, size) != NULL;
}

static bool isSurrogate(const uint8_t *p, const uint8_t *end, uint8_t from)
{
    return end - p >= 3 && p[0] == 0xED && p[1] >= from && p[1] <= from + 0x0F;
}

static size_t putSupplementary(char *out, const uint8_t *p)
{
    uint32_t high = ((uint32_t)(p[1] & 0x0F) << 6) | (p[2] & 0x3F);
    uint32_t low = ((uint32_t)(p[4] & 0x0F) << 6) | (p[5] & 0x3F);
    uint32_t c = 0x10000 + (high << 10) + low;
    out[0] = (char)(0xF0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3F));
    out[2] = (char)(0x80 | (c >> 6 & 0x3F));
    out[3] = (char)(0x80 | (c & 0x3F));
    return 4;
}

size_t EtwScriptTextConvert(char *out, const char *text, size_t size)
{
    const uint8_t *p = (const uint8_t *)text, *end = p + size;
    char *at = out;
    while (p < end) {
        if (p[0] == 0xC0 && end - p >= 2 && p[1] == 0x80) {
            *at++ = '\0';
            p += 2;
        } else if (isSurrogate(p, end, 0xA0) && isSurrogate(p + 3, end, 0xB0)) {
            at += putSupplementary(at, p);
            p += 6;
        } else if (isSurrogate(p, end, 0xA0) || isSurrogate(p, end, 0xB0)) {
            memcpy(at, "\xEF\xBF\xBD", 3);
            at += 3;
            p += 3;
        } else {
            *at++ = (char)*p++;
        }
    }
    return (size_t)(at - out);
}

/* ---- A field --------------------------------------------------------------------------------- */

void EtwFieldBegin(EtwPieces *p, size_t limit)
{
    p->size = 0;
    p->limit = limit;
    p->lost = 0;
    p->guessed = false;
}

/* The number of bytes that fit. After the first truncation it is 0. */
static size_t capacityFor(EtwPieces *p, const char *text, size_t size)
{
    size_t capacity = p->lost == 0 ? p->limit - p->size : 0;
    if (size <= capacity) {
        return size;
    }
    capacity = EtwUtf8Cut(text, capacity);
    p->lost += size - capacity;
    return capacity;
}

static void addUtf8(EtwPieces *p, const char *utf8, size_t size, bool stays)
{
    addPiece(p, utf8, capacityFor(p, utf8, size), stays);
}

/* The conversion never increases the size, so truncating first is exact to within one character. */
static void addConverted(EtwPieces *p, const char *text, size_t size)
{
    size_t keep = capacityFor(p, text, size);
    char *copy;
    if (keep >= 3 && (uint8_t)text[keep - 3] == 0xED && (uint8_t)text[keep - 2] >= 0xA0 &&
            (uint8_t)text[keep - 2] <= 0xAF && keep < size) {
        keep -= 3; /* do not split a surrogate pair */
        p->lost += 3;
    }
    copy = EtwAlloc(keep + 1);
    keep = EtwScriptTextConvert(copy, text, keep);
    addPiece(p, copy, keep, false);
    EtwFree(copy);
}

static void addTcl(EtwPieces *p, const char *text, size_t size, bool stays)
{
    size_t look = size < p->limit ? size : p->limit;
    if (EtwScriptTextNeedsConversion(text, look)) {
        addConverted(p, text, size);
    } else {
        addUtf8(p, text, size, stays);
    }
}

void EtwFieldTcl(EtwPieces *p, const char *text, size_t size)
{
    addTcl(p, text, size, true);
}

uint16_t EtwFieldEnd(EtwPieces *p)
{
    if (p->lost != 0) {
        char mark[40];
        int n = snprintf(mark, sizeof mark, "\xE2\x80\xA6[+%s%llu]", p->guessed ? "~" : "",
                (unsigned long long)p->lost);
        addPiece(p, mark, (size_t)n, false);
    }
    return (uint16_t)p->size;
}

/* ---- Values without a string representation -------------------------------------------------- */

/* Types whose values can be shown without generating a string representation. */
static struct {
    const Tcl_ObjType *integer, *wide, *real, *list, *dict, *bytes, *string;
    const Tcl_ObjType *big; /* NULL: its internal form is unknown */
    int digitBits;          /* bits per digit of `big` */
} types;

static const Tcl_ObjType *typeOf(Tcl_Obj *obj)
{
    const Tcl_ObjType *type = obj->typePtr;
    Tcl_IncrRefCount(obj);
    Tcl_DecrRefCount(obj);
    return type;
}

/*
 * The number of digits of an integer of type `big`, by Tcl's PACK_BIGNUM (tclObj.c): ptr2 contains
 * the sign, 15 bits of allocated digits and 15 bits of used digits. -1: ptr1 points to a struct
 * that begins with the number of used digits.
 */
static int digitsOf(const Tcl_Obj *obj)
{
    intptr_t packed = (intptr_t)obj->internalRep.twoPtrValue.ptr2;
    return packed == -1 ? *(const int *)obj->internalRep.twoPtrValue.ptr1 : (int)(packed & 0x7FFF);
}

/* Finds out the size of digits by 2 ** 200, which has 201 bits: 4 digits of 60 bits or 8 of 28. */
static void initBig(void)
{
    double value;
    Tcl_Obj *obj =
            Tcl_NewStringObj("1606938044258990275541962092341162602522202993782792835301376", -1);
    Tcl_IncrRefCount(obj);
    if (Tcl_GetDoubleFromObj(NULL, obj, &value) == TCL_OK && obj->typePtr != NULL &&
            strcmp(obj->typePtr->name, "bignum") == 0) {
        int digits = digitsOf(obj);
        types.digitBits = digits == 4 ? 60 : digits == 8 ? 28 : 0;
        types.big = types.digitBits > 0 ? obj->typePtr : NULL;
    }
    Tcl_DecrRefCount(obj);
}

void EtwScriptTextInit(void)
{
    static const Tcl_UniChar x = 'x';
    Tcl_Obj *one = Tcl_NewIntObj(1);
    Tcl_Obj *dict = Tcl_NewDictObj();
    types.wide = typeOf(Tcl_NewWideIntObj((Tcl_WideInt)1 << 40));
    types.real = typeOf(Tcl_NewDoubleObj(0.5));
    types.bytes = typeOf(Tcl_NewByteArrayObj((const unsigned char *)"x", 1));
    types.dict = typeOf(dict);
    types.list = typeOf(Tcl_NewListObj(1, &one));
    types.integer = typeOf(Tcl_NewIntObj(1));
    types.string = typeOf(Tcl_NewUnicodeObj(&x, 1));
    initBig();
}

/*
 * The text of a value: its own string, or one generated in `made` with a size of about `limit`
 * bytes at most. `lost`: estimated size of the part of the latter that was omitted.
 */
typedef struct Shown {
    const char *text;
    size_t size;
    size_t lost;
    bool own;   /* it is the value's string, valid as long as the value */
    bool rough; /* a part is not shown, but described */
    char number[TCL_DOUBLE_SPACE];
    EtwText made;
} Shown;

enum { DEEPEST = 32 }; /* depth of nested lists */

static void show(Shown *s, Tcl_Obj *obj, size_t limit, int depth);

static void addElement(EtwText *out, const char *text, size_t size)
{
    int flags = 0;
    size_t need = (size_t)Tcl_ScanCountedElement(text, (Tcl_Size)size, &flags);
    if (out->size > 0) {
        EtwTextChar(out, ' ');
        flags |= TCL_DONT_QUOTE_HASH;
    }
    EtwTextReserve(out, need + 4);
    out->size +=
            (size_t)Tcl_ConvertCountedElement(text, (Tcl_Size)size, out->data + out->size, flags);
}

static void showElement(Shown *s, Tcl_Obj *obj, size_t limit, int depth)
{
    Shown one;
    show(&one, obj, limit, depth + 1);
    size_t shown = one.size > limit ? limit : one.size;
    addElement(&s->made, one.text, shown);
    EtwTextFree(&one.made);
    s->lost = one.size - shown + one.lost;
    s->rough = s->rough || one.rough;
}

static void showList(Shown *s, Tcl_Obj *obj, size_t limit, int depth)
{
    Tcl_Size count = 0, i;
    Tcl_Obj **elements = NULL;
    Tcl_ListObjGetElements(NULL, obj, &count, &elements);
    for (i = 0; i < count && s->made.size <= limit && s->lost == 0; i++) {
        showElement(s, elements[i], limit, depth);
    }
    if (i < count) {
        s->lost += s->made.size / (size_t)i * (size_t)(count - i);
    }
}

static void showDict(Shown *s, Tcl_Obj *obj, size_t limit, int depth)
{
    Tcl_DictSearch search;
    Tcl_Obj *key, *value;
    Tcl_Size size = 0, i = 0;
    int done;
    Tcl_DictObjSize(NULL, obj, &size);
    if (Tcl_DictObjFirst(NULL, obj, &search, &key, &value, &done) != TCL_OK) {
        return;
    }
    while (!done && s->made.size <= limit && s->lost == 0) {
        showElement(s, key, limit, depth);
        if (s->lost == 0) {
            showElement(s, value, limit, depth);
        }
        i++;
        Tcl_DictObjNext(&search, &key, &value, &done);
    }
    Tcl_DictObjDone(&search);
    if (i < size) {
        s->lost += s->made.size / (size_t)i * (size_t)(size - i);
    }
}

#if TCL_MAJOR_VERSION > 8
/* True for a type that emulates lists, for example that of `lseq`. */
static bool isAbstractList(const Tcl_ObjType *type)
{
    return type->version > offsetof(Tcl_ObjType, indexProc) && type->lengthProc != NULL &&
           type->indexProc != NULL;
}

static void showAbstractList(Shown *s, Tcl_Obj *obj, size_t limit, int depth)
{
    Tcl_Size count = obj->typePtr->lengthProc(obj), i;
    for (i = 0; i < count && s->made.size <= limit && s->lost == 0; i++) {
        Tcl_Obj *element = NULL;
        if (obj->typePtr->indexProc(NULL, obj, i, &element) != TCL_OK || element == NULL) {
            break;
        }
        Tcl_IncrRefCount(element);
        showElement(s, element, limit, depth);
        Tcl_DecrRefCount(element);
    }
    if (i > 0 && i < count) {
        s->lost += s->made.size / (size_t)i * (size_t)(count - i);
    }
}
#else
static bool isAbstractList(const Tcl_ObjType *type)
{
    (void)type;
    return false;
}

static void showAbstractList(Shown *s, Tcl_Obj *obj, size_t limit, int depth)
{
    (void)s, (void)obj, (void)limit, (void)depth;
}
#endif

/* Generates the string representation of a copy. */
static void showCopy(Shown *s, Tcl_Obj *copy)
{
    Tcl_Size size;
    Tcl_IncrRefCount(copy);
    const char *text = Tcl_GetStringFromObj(copy, &size);
    EtwTextAdd(&s->made, text, (size_t)size);
    Tcl_DecrRefCount(copy);
}

/* A string of which Tcl has only the code points. Redaction needs some text beyond the limit. */
static void showUnicode(Shown *s, Tcl_Obj *obj, size_t limit)
{
    enum { REDACTED = 256 };
    size_t count = (size_t)Tcl_GetCharLength(obj), shown = limit + REDACTED;
    if (shown > count) {
        shown = count;
    }
    if (shown > 0) {
        showCopy(s, Tcl_GetRange(obj, 0, (Tcl_Size)shown - 1));
    }
    s->lost = count - shown;
}

/* Long numbers are not shown, because the time for generating digits grows with the square of their number. */
static void showBig(Shown *s, Tcl_Obj *obj)
{
    enum { EXACT = 1024 };
    uint64_t bits = (uint64_t)digitsOf(obj) * (uint64_t)types.digitBits;
    if (bits <= EXACT) {
        showCopy(s, Tcl_DuplicateObj(obj));
    } else {
        s->rough = true;
        EtwTextPrintf(&s->made, "(integer of about %llu digits)",
                (unsigned long long)(bits * 30103 / 100000));
    }
}

/* True for types whose string representation is short. */
static bool isShort(const Tcl_ObjType *type)
{
    static const char *const names[] = {"path", "end-offset", "boolean", "index", "TwapiOpaque"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(type->name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Each byte is a character, as in Tcl. */
static void showBytes(Shown *s, Tcl_Obj *obj, size_t limit)
{
    Tcl_Size count = 0;
    const unsigned char *bytes = Tcl_GetByteArrayFromObj(obj, &count);
    Tcl_Size i;
    for (i = 0; i < count && s->made.size <= limit; i++) {
        if (bytes[i] == 0) {
            EtwTextAdd(&s->made, "\xC0\x80", 2); /* in Tcl's UTF-8, like all text here */
        } else if (bytes[i] < 0x80) {
            EtwTextChar(&s->made, (char)bytes[i]);
        } else {
            EtwTextChar(&s->made, (char)(0xC0 | bytes[i] >> 6));
            EtwTextChar(&s->made, (char)(0x80 | (bytes[i] & 0x3F)));
        }
    }
    s->lost = (size_t)(count - i);
}

/* The value's type must be one of the two integer types. */
static inline Tcl_WideInt integerOf(const Tcl_Obj *obj)
{
#if TCL_MAJOR_VERSION == 8
    if (obj->typePtr == types.integer) {
        return obj->internalRep.longValue;
    }
#endif
    return obj->internalRep.wideValue;
}

static inline bool isInteger(const Tcl_Obj *obj)
{
    return obj->typePtr != NULL && (obj->typePtr == types.integer || obj->typePtr == types.wide);
}

/* Needs 20 bytes at `at`; returns the end. */
static inline char *putInteger(char *at, Tcl_WideInt wide)
{
    if (wide < 0) {
        *at++ = '-';
    }
    return EtwPutDecimal(at, wide < 0 ? 0 - (uint64_t)wide : (uint64_t)wide);
}

static bool showNumber(Shown *s, Tcl_Obj *obj)
{
    double real;
    if (isInteger(obj)) {
        s->text = s->number;
        s->size = (size_t)(putInteger(s->number, integerOf(obj)) - s->number);
        s->number[s->size] = '\0'; /* masks need a terminator */
        return true;
    }
    if (obj->typePtr == types.real && Tcl_GetDoubleFromObj(NULL, obj, &real) == TCL_OK) {
        Tcl_PrintDouble(NULL, real, s->number);
        s->text = s->number;
        s->size = strlen(s->number);
        return true;
    }
    return false;
}

/* Generates the text of a value that has no string representation; the value does not get one. */
static void showType(Shown *s, Tcl_Obj *obj, size_t limit, int depth)
{
    const Tcl_ObjType *type = obj->typePtr;
    if (showNumber(s, obj)) {
        return;
    }
    if (type == types.bytes) {
        showBytes(s, obj, limit);
    } else if (type == types.string) {
        showUnicode(s, obj, limit);
    } else if (type == types.big) {
        showBig(s, obj);
    } else if (type == types.list && depth < DEEPEST) {
        showList(s, obj, limit, depth);
    } else if (type == types.dict && depth < DEEPEST) {
        showDict(s, obj, limit, depth);
    } else if (isAbstractList(type) && depth < DEEPEST) {
        showAbstractList(s, obj, limit, depth);
    } else if (isShort(type)) {
        showCopy(s, Tcl_DuplicateObj(obj));
    } else {
        s->rough = true;
        EtwTextPrintf(&s->made, "(%.100s)", type->name);
    }
    EtwTextChar(&s->made, '\0'); /* masks need a terminator */
    s->text = s->made.data;
    s->size = s->made.size - 1;
}

static void show(Shown *s, Tcl_Obj *obj, size_t limit, int depth)
{
    Tcl_Size size;
    s->lost = 0;
    s->own = s->rough = false;
    s->made = (EtwText){0};
    if (obj->bytes == NULL && obj->typePtr != NULL) {
        showType(s, obj, limit, depth);
        return;
    }
    s->text = Tcl_GetStringFromObj(obj, &size);
    s->size = (size_t)size;
    s->own = true;
}

bool EtwScriptTextIsList(const Tcl_Obj *obj)
{
    return obj->typePtr == types.list;
}

Tcl_Obj *EtwScriptTextExact(Tcl_Obj *obj, size_t limit)
{
    Tcl_Obj *text = NULL;
    Shown s;
    if (obj->bytes != NULL || obj->typePtr == NULL) {
        return obj;
    }
    show(&s, obj, limit, 0);
    if (!s.rough && s.lost == 0 && s.size <= limit) {
        text = Tcl_NewStringObj(s.text, (Tcl_Size)s.size);
    }
    EtwTextFree(&s.made);
    return text;
}

uint64_t EtwScriptTextBytes(Tcl_Obj *obj)
{
    Tcl_Size size;
    if (obj->bytes == NULL && obj->typePtr == types.bytes) {
        Tcl_GetByteArrayFromObj(obj, &size);
    } else {
        Tcl_GetStringFromObj(obj, &size);
    }
    return (uint64_t)size;
}

/* ---- Short and plain values ------------------------------------------------------------------ */

/* Copies the bytes and collects their effect on a list element. NULL: not a simple case. */
static inline __attribute__((always_inline)) char *flatCopy(
        char *at, const Tcl_Obj *obj, unsigned *classesPtr)
{
    const char *text = obj->bytes;
    size_t size = (size_t)obj->length;
    unsigned classes = 0;
    if (text == NULL) {
        *classesPtr = 0;
        return isInteger(obj) ? putInteger(at, integerOf(obj)) : NULL;
    }
    if (size > ETW_FLAT_MAX) {
        return NULL;
    }
    for (size_t i = 0; i < size; i++) {
        classes |= byteClass[(uint8_t)text[i]];
        at[i] = text[i];
    }
    *classesPtr = classes;
    return classes & SPECIAL ? NULL : at + size;
}

char *EtwFlatValue(char *at, Tcl_Obj *value)
{
    unsigned classes;
    return flatCopy(at, value, &classes);
}

static __attribute__((noinline)) char *brace(char *at, char *end)
{
    memmove(at + 1, at, (size_t)(end - at));
    *at = '{';
    end[1] = '}';
    return end + 2;
}

char *EtwFlatWord(char *at, Tcl_Obj *word)
{
    unsigned classes;
    char *end = flatCopy(at, word, &classes);
    if (__builtin_expect(end == NULL || (classes == 0 && end > at), 1)) {
        return end;
    }
    return classes & BRACE ? NULL : brace(at, end);
}

/* ---- Words and values ------------------------------------------------------------------------ */

/* True if the text can be put in braces unchanged as a list element. */
static bool bracesFit(const char *text, size_t size)
{
    int level = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\\') {
            return false;
        }
        level += (text[i] == '{') - (text[i] == '}');
        if (level < 0) {
            return false;
        }
    }
    return level == 0;
}

static void addQuoted(EtwPieces *p, const char *text, size_t size, bool stays)
{
    if (bracesFit(text, size)) {
        addUtf8(p, "{", 1, false);
        addTcl(p, text, size, stays);
        addUtf8(p, "}", 1, false);
    } else {
        EtwText quoted = {0};
        addElement(&quoted, text, size);
        addTcl(p, quoted.data, quoted.size, false);
        EtwTextFree(&quoted);
    }
}

static void addWord(EtwPieces *p, const char *text, size_t size, bool stays)
{
    size_t look = size < p->limit ? size : p->limit;
    unsigned classes = size == 0 ? QUOTE : 0;
    if (p->lost != 0) {
        p->lost += size; /* its quoting does not matter any more */
        return;
    }
    for (size_t i = 0; i < look; i++) {
        classes |= byteClass[(uint8_t)text[i]];
    }
    if (look < size) {
        addTcl(p, text, size, stays); /* truncated, so its quoting does not matter */
    } else if (classes == 0) {
        addUtf8(p, text, size, stays);
    } else if (classes & (QUOTE | BRACE)) {
        addQuoted(p, text, size, stays);
    } else {
        addTcl(p, text, size, stays);
    }
}

void EtwFieldElement(EtwPieces *p, const char *text, size_t size)
{
    addWord(p, text, size, true);
}

/* The field has no room left: only its size counts. One that needs a conversion counts as one byte. */
static void addLost(EtwPieces *p, const Tcl_Obj *obj)
{
    p->lost += obj->bytes != NULL ? (size_t)obj->length : 1;
    p->guessed = p->guessed || obj->bytes == NULL;
}

static void addShown(EtwPieces *p, Tcl_Obj *obj, const EtwRule *rule, bool asWord)
{
    Shown s;
    bool redact = EtwRedacts(p->state, rule);
    Tcl_DString clean;
    if (p->lost != 0) {
        addLost(p, obj);
        return;
    }
    /* Masks may be shorter than what they replace. */
    show(&s, obj, redact ? p->limit : p->limit - p->size, 0);
    if (redact) {
        Tcl_DStringInit(&clean);
        EtwRedactWords(&clean, p->state, rule, s.text, s.size);
        s.text = Tcl_DStringValue(&clean);
        s.size = (size_t)Tcl_DStringLength(&clean);
        s.own = false;
    }
    if (asWord) {
        addWord(p, s.text, s.size, s.own);
    } else {
        addTcl(p, s.text, s.size, s.own);
    }
    if (s.lost != 0) {
        p->lost += s.lost;
        p->guessed = true;
    }
    if (redact) {
        Tcl_DStringFree(&clean);
    }
    EtwTextFree(&s.made);
}

void EtwFieldWord(EtwPieces *p, Tcl_Obj *word, const EtwRule *rule)
{
    if (p->size > 0) {
        addUtf8(p, " ", 1, false);
    }
    addShown(p, word, rule, true);
}

void EtwFieldValue(EtwPieces *p, Tcl_Obj *value, const EtwRule *rule)
{
    addShown(p, value, rule, false);
}
