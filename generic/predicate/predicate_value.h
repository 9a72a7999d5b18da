/*
 * predicate/predicate_value.h --
 *
 *	Values during the evaluation of a predicate, and operations on them by Tcl's rules for numbers and
 *	strings. Private to predicate.
 */
#ifndef ETW_PREDICATE_VALUE_H
#define ETW_PREDICATE_VALUE_H

#include "predicate/glob.h"
#include "schema/model/decode.h"

/* True if a plain name is that of a header field, not of a payload field (predicate.c). */
bool EtwIsHeaderName(const char *name);

typedef enum ValueKind { VALUE_MISSING, VALUE_INT, VALUE_DOUBLE, VALUE_TEXT } ValueKind;

/*
 * text is set if the value is a text, or (named) if a number also has a name: a state, an address.
 * It may be in the evaluation's scratch buffer, which moves when it grows: then `text` is NULL and
 * `at` is its offset.
 */
typedef struct Value {
    ValueKind kind;
    bool named;
    EtwWide i;
    double d;
    const char *text;
    size_t at;
    size_t size;
} Value;

typedef enum Order { ORDER_LESS = -1, ORDER_EQUAL, ORDER_GREATER, ORDER_NONE } Order;

/*
 * Parse a number in Tcl's notation (decimal, 0x, 0o, 0b, floating point; surrounded by blanks).
 * False: not a number.
 */
bool EtwTextNumber(const char *text, size_t size, Value *number);
/* As an operand of && || ! ?: and as the final result. */
bool EtwValueTrue(const Value *v, const EtwText *scratch);
/* Add a text to the value in *scratch, if it has none yet. Not for a missing value. */
void EtwValueText(Value *v, EtwText *scratch);
static inline const char *EtwValueChars(const Value *v, const EtwText *scratch)
{
    return v->text ? v->text : scratch->data + v->at;
}
/* Compares as numbers if both are, otherwise as texts. */
Order EtwValueOrder(Value *a, Value *b, EtwText *scratch);
bool EtwValueSameText(Value *a, Value *b, EtwText *scratch);
/*
 * op is ETW_OP_ADD ... ETW_OP_SHR (int, as in predicate.h); the result is missing if it is
 * undefined.
 */
Value EtwValueArith(int op, const Value *a, const Value *b, const EtwText *scratch);
Value EtwValueNegate(
        int op, const Value *a, const EtwText *scratch); /* ETW_OP_NEG, ETW_OP_BITNOT */

#endif
