/*
 * predicate/predicate_value.c --
 *
 *	Numbers and texts by Tcl's rules. Integers have 128 bits, so that unsigned 64-bit masks and
 *	their sums are exact. Larger values count as missing.
 */
#include "predicate/predicate_value.h"
#include "predicate/predicate.h"
#include <math.h>
#include <stdlib.h>

static const Value missing = {.kind = VALUE_MISSING};

static Value intValue(EtwWide i)
{
    return (Value){.kind = VALUE_INT, .i = i};
}

static Value doubleValue(double d)
{
    return (Value){.kind = VALUE_DOUBLE, .d = d};
}

/* ---- Texts that represent numbers ------------------------------------------------------------ */

static bool isBlank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static int takeBase(const char **atPtr, const char *end)
{
    const char *at = *atPtr;
    if (end - at < 3 || at[0] != '0') {
        return 10;
    }
    char letter = (char)(at[1] | 0x20);
    int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
    *atPtr += base == 10 ? 0 : 2;
    return base;
}

/* The whole text consists of digits of the base, and the number fits. */
static bool wholeNumber(const char *at, const char *end, int base, EtwWide *numberPtr)
{
    EtwWide v = EtwWideInt(0);
    if (at == end) {
        return false;
    }
    for (; at < end; at++) {
        int digit = EtwHexDigit(*at);
        if (digit >= base || !EtwWideMul(v, EtwWideInt(base), &v) ||
                !EtwWideAdd(v, EtwWideInt(digit), &v)) {
            return false;
        }
    }
    *numberPtr = v;
    return true;
}

static bool realNumber(const char *at, const char *end, double *numberPtr)
{
    char text[64], *rest;
    size_t size = (size_t)(end - at);
    if (size == 0 || size >= sizeof text || (EtwHexDigit(*at) > 9 && *at != '.')) {
        return false;
    }
    for (size_t i = 0; i < size; i++) { /* strtod accepts more than Tcl */
        if (EtwHexDigit(at[i]) > 9 && strchr(".eE+-", at[i]) == NULL) {
            return false;
        }
    }
    memcpy(text, at, size);
    text[size] = 0;
    *numberPtr = strtod(text, &rest);
    return rest == text + size;
}

bool EtwTextNumber(const char *text, size_t size, Value *number)
{
    const char *at = text, *end = text + size;
    while (at < end && isBlank(*at)) {
        at++;
    }
    while (at < end && isBlank(end[-1])) {
        end--;
    }
    bool negative = at < end && *at == '-';
    at += negative || (at < end && *at == '+');
    const char *digits = at;
    int base = takeBase(&digits, end);
    EtwWide i;
    double d;
    if (wholeNumber(digits, end, base, &i)) {
        if (negative) {
            EtwWideSub(EtwWideInt(0), i, &i); /* a non-negative number can always be negated */
        }
        *number = intValue(i);
        return true;
    }
    if (realNumber(at, end, &d)) {
        *number = doubleValue(negative ? -d : d);
        return true;
    }
    return false;
}

/* The value as a number. False: not a number. */
static bool numberOf(const Value *v, const EtwText *scratch, Value *number)
{
    if (v->kind == VALUE_TEXT) {
        return EtwTextNumber(EtwValueChars(v, scratch), v->size, number);
    }
    *number = *v;
    return v->kind != VALUE_MISSING;
}

bool EtwValueTrue(const Value *v, const EtwText *scratch)
{
    static const char *const words[] = {"true", "yes", "on", "t", "tr", "tru", "y", "ye"};
    Value number;
    if (v->kind == VALUE_MISSING) {
        return false;
    }
    if (numberOf(v, scratch, &number)) {
        return number.kind == VALUE_INT ? EtwWideSign(number.i) != 0 : number.d != 0;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (EtwGlobMatch(words[i], strlen(words[i]), EtwValueChars(v, scratch), v->size, true)) {
            return true;
        }
    }
    return false;
}

/* ---- Comparing ------------------------------------------------------------------------------- */

void EtwValueText(Value *v, EtwText *scratch)
{
    if (v->kind == VALUE_TEXT || v->named) {
        return;
    }
    v->text = NULL;
    v->at = scratch->size;
    EtwTextReserve(scratch, 1);
    if (v->kind == VALUE_INT) {
        EtwFormatWide(scratch, v->i);
    } else {
        EtwFormatDouble(scratch, v->d, false);
    }
    v->size = scratch->size - v->at;
    v->named = true;
}

static Order orderNumbers(const Value *a, const Value *b)
{
    if (a->kind == VALUE_INT && b->kind == VALUE_INT) {
        return (Order)EtwWideOrder(a->i, b->i);
    }
    long double x = a->kind == VALUE_INT ? EtwWideReal(a->i) : (long double)a->d;
    long double y = b->kind == VALUE_INT ? EtwWideReal(b->i) : (long double)b->d;
    return x < y ? ORDER_LESS : x > y ? ORDER_GREATER : x == y ? ORDER_EQUAL : ORDER_NONE;
}

static int compareTexts(Value *a, Value *b, EtwText *scratch)
{
    EtwValueText(a, scratch);
    EtwValueText(b, scratch);
    size_t least = a->size < b->size ? a->size : b->size;
    int order = least ? memcmp(EtwValueChars(a, scratch), EtwValueChars(b, scratch), least) : 0;
    return order != 0 ? order : a->size < b->size ? -1 : a->size > b->size;
}

Order EtwValueOrder(Value *a, Value *b, EtwText *scratch)
{
    Value x, y;
    if (a->kind == VALUE_MISSING || b->kind == VALUE_MISSING) {
        return ORDER_NONE;
    }
    if (numberOf(a, scratch, &x) && numberOf(b, scratch, &y)) {
        return orderNumbers(&x, &y);
    }
    int order = compareTexts(a, b, scratch);
    return order < 0 ? ORDER_LESS : order > 0 ? ORDER_GREATER : ORDER_EQUAL;
}

bool EtwValueSameText(Value *a, Value *b, EtwText *scratch)
{
    if (a->kind == VALUE_MISSING || b->kind == VALUE_MISSING) {
        return false;
    }
    return compareTexts(a, b, scratch) == 0;
}

/* ---- Arithmetic ------------------------------------------------------------------------------ */

static Value shift(int op, EtwWide a, EtwWide b)
{
    enum { BITS = 127 };
    int64_t by;
    EtwWide moved;
    if (EtwWideSign(b) < 0) {
        return missing;
    }
    if (!EtwWideFits(b, &by) || by >= BITS) {
        by = BITS;
    }
    if (op == ETW_OP_SHR) {
        return intValue(EtwWideShiftRight(a, by == BITS ? BITS - 1 : (int)by));
    }
    if (by == BITS) {
        return EtwWideSign(a) == 0 ? intValue(a) : missing;
    }
    return EtwWideShiftLeft(a, (int)by, &moved) ? intValue(moved) : missing;
}

static Value arithInt(int op, EtwWide a, EtwWide b)
{
    EtwWide result, rest;
    bool fits;
    switch (op) {
    case ETW_OP_ADD:
        fits = EtwWideAdd(a, b, &result);
        break;
    case ETW_OP_SUB:
        fits = EtwWideSub(a, b, &result);
        break;
    case ETW_OP_MUL:
        fits = EtwWideMul(a, b, &result);
        break;
    case ETW_OP_DIV:
    case ETW_OP_MOD:
        fits = EtwWideSign(b) != 0 && EtwWideDivide(a, b, &result, &rest);
        if (fits && op == ETW_OP_MOD) {
            result = rest;
        }
        break;
    case ETW_OP_BITAND:
        return intValue(EtwWideAnd(a, b));
    case ETW_OP_BITOR:
        return intValue(EtwWideOr(a, b));
    case ETW_OP_BITXOR:
        return intValue(EtwWideXor(a, b));
    default:
        return shift(op, a, b);
    }
    return fits ? intValue(result) : missing;
}

static Value arithDouble(int op, double a, double b)
{
    switch (op) {
    case ETW_OP_ADD:
        return doubleValue(a + b);
    case ETW_OP_SUB:
        return doubleValue(a - b);
    case ETW_OP_MUL:
        return doubleValue(a * b);
    case ETW_OP_DIV:
        return b == 0 ? missing : doubleValue(a / b);
    default: /* % & | ^ << >> require integers */
        return missing;
    }
}

Value EtwValueArith(int op, const Value *a, const Value *b, const EtwText *scratch)
{
    Value x, y;
    if (!numberOf(a, scratch, &x) || !numberOf(b, scratch, &y)) {
        return missing;
    }
    if (x.kind == VALUE_INT && y.kind == VALUE_INT) {
        return arithInt(op, x.i, y.i);
    }
    return arithDouble(op, x.kind == VALUE_INT ? (double)EtwWideReal(x.i) : x.d,
            y.kind == VALUE_INT ? (double)EtwWideReal(y.i) : y.d);
}

Value EtwValueNegate(int op, const Value *a, const EtwText *scratch)
{
    Value x;
    if (!numberOf(a, scratch, &x)) {
        return missing;
    }
    if (x.kind == VALUE_INT) {
        return op == ETW_OP_BITNOT ? intValue(EtwWideNot(x.i))
                                   : arithInt(ETW_OP_SUB, EtwWideInt(0), x.i);
    }
    return op == ETW_OP_NEG ? doubleValue(-x.d) : missing;
}
