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

/* Whether a plain name is one of the header's, not a payload field's (predicate.c). */
bool EtwIsHeaderName(const char *name);

typedef enum ValueKind { VALUE_MISSING, VALUE_INT, VALUE_DOUBLE, VALUE_TEXT } ValueKind;

/*
 * text is where the value is a text, or (named) where a number also has a name: a state, an
 * address. It may lie in the evaluation's scratch, which moves when it grows: then `text` is NULL
 * and `at` its offset.
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

/* Parse a number in Tcl's notation (decimal, 0x, 0o, 0b, floating point; blanks around it). False: it
 * is none. */
bool EtwTextNumber(const char *text, size_t size, Value *number);
/* As an operand of && || ! ?: and as the whole. */
bool EtwValueTrue(const Value *v, const EtwText *scratch);
/* Give the value a text, in *scratch, when it has none yet. Not for a missing value. */
void EtwValueText(Value *v, EtwText *scratch);
static inline const char *EtwValueChars(const Value *v, const EtwText *scratch)
{
    return v->text ? v->text : scratch->data + v->at;
}
/* By number where both are, else by text. */
Order EtwValueOrder(Value *a, Value *b, EtwText *scratch);
bool EtwValueSameText(Value *a, Value *b, EtwText *scratch);
/* op is ETW_OP_ADD ... ETW_OP_SHR (int, as in predicate.h); missing when it cannot be. */
Value EtwValueArith(int op, const Value *a, const Value *b, const EtwText *scratch);
Value EtwValueNegate(
        int op, const Value *a, const EtwText *scratch); /* ETW_OP_NEG, ETW_OP_BITNOT */

#endif
