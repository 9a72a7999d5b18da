/*
 * predicate/value.c --
 *
 *	Numbers and texts by Tcl's rules. Integers have 128 bits, so that unsigned 64-bit
 *	masks and sums of them are exact; what would need more is treated as missing.
 */
#include "predicate/value.h"
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

/* ---- Texts that are numbers ------------------------------------------------------------------ */

static bool isBlank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static int digitOf(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 99;
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

/* Whole of the text is digits of the base, and few enough. */
static bool wholeNumber(const char *at, const char *end, int base, EtwWide *numberPtr)
{
    EtwWide v = 0;
    if (at == end) {
        return false;
    }
    for (; at < end; at++) {
        int digit = digitOf(*at);
        if (digit >= base || __builtin_mul_overflow(v, (EtwWide)base, &v) ||
                __builtin_add_overflow(v, (EtwWide)digit, &v)) {
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
    if (size == 0 || size >= sizeof text || (digitOf(*at) > 9 && *at != '.')) {
        return false;
    }
    for (size_t i = 0; i < size; i++) { /* strtod takes more than Tcl */
        if (digitOf(at[i]) > 9 && strchr(".eE+-", at[i]) == NULL) {
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
        *number = intValue(negative ? -i : i);
        return true;
    }
    if (realNumber(at, end, &d)) {
        *number = doubleValue(negative ? -d : d);
        return true;
    }
    return false;
}

/* The value as a number; false: it is none. */
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
        return number.kind == VALUE_INT ? number.i != 0 : number.d != 0;
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
        return a->i < b->i ? ORDER_LESS : a->i > b->i ? ORDER_GREATER : ORDER_EQUAL;
    }
    long double x = a->kind == VALUE_INT ? (long double)a->i : (long double)a->d;
    long double y = b->kind == VALUE_INT ? (long double)b->i : (long double)b->d;
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

static EtwWide floorDivide(EtwWide a, EtwWide b)
{
    EtwWide quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

static Value shift(int op, EtwWide a, EtwWide b)
{
    enum { BITS = 127 };
    if (b < 0) {
        return missing;
    }
    if (op == ETW_OP_SHR) {
        return intValue(b >= BITS ? (a < 0 ? -1 : 0) : a >> (int)b);
    }
    if (b >= BITS) {
        return a == 0 ? intValue(0) : missing;
    }
    EtwWide moved = (EtwWide)((unsigned __int128)a << (int)b);
    return moved >> (int)b == a ? intValue(moved) : missing;
}

static Value arithInt(int op, EtwWide a, EtwWide b)
{
    EtwWide result = 0;
    bool overflow = false;
    switch (op) {
    case ETW_OP_ADD:
        overflow = __builtin_add_overflow(a, b, &result);
        break;
    case ETW_OP_SUB:
        overflow = __builtin_sub_overflow(a, b, &result);
        break;
    case ETW_OP_MUL:
        overflow = __builtin_mul_overflow(a, b, &result);
        break;
    case ETW_OP_DIV:
    case ETW_OP_MOD:
        /* -1: the smallest number has no opposite */
        overflow = b == 0 || (b == -1 && __builtin_sub_overflow((EtwWide)0, a, &result));
        if (!overflow) {
            EtwWide quotient = b == -1 ? -a : floorDivide(a, b);
            result = op == ETW_OP_DIV ? quotient : b == -1 ? 0 : a - quotient * b;
        }
        break;
    case ETW_OP_BITAND:
        result = a & b;
        break;
    case ETW_OP_BITOR:
        result = a | b;
        break;
    case ETW_OP_BITXOR:
        result = a ^ b;
        break;
    default:
        return shift(op, a, b);
    }
    return overflow ? missing : intValue(result);
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
    default: /* % & | ^ << >> are for integers */
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
    return arithDouble(
            op, x.kind == VALUE_INT ? (double)x.i : x.d, y.kind == VALUE_INT ? (double)y.i : y.d);
}

Value EtwValueNegate(int op, const Value *a, const EtwText *scratch)
{
    Value x;
    if (!numberOf(a, scratch, &x)) {
        return missing;
    }
    if (x.kind == VALUE_INT) {
        return op == ETW_OP_BITNOT ? intValue(~x.i) : arithInt(ETW_OP_SUB, 0, x.i);
    }
    return op == ETW_OP_NEG ? doubleValue(-x.d) : missing;
}
