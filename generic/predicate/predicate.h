/*
 * predicate/predicate.h --
 *
 *	Compiled filter expressions: a tree over an event's header and payload fields. Independent of Tcl:
 *	tcl/filter/where.c builds the tree with Tcl's expression parser, and evaluates in Tcl what a predicate
 *	cannot express. A comparison with a field that an event lacks is false.
 */
#ifndef ETW_PREDICATE_PREDICATE_H
#define ETW_PREDICATE_PREDICATE_H

#include "schema/model/decode.h"

typedef enum EtwOp {
    /* leaves */
    ETW_OP_FIELD, /* name: header name or payload field */
    ETW_OP_PROP,  /* name: payload field, also when a header field has that name */
    ETW_OP_INT,   /* i; if i is negative and text (its notation, may be NULL) has no '-', the
                     value is i + 2^64 */
    ETW_OP_DOUBLE,
    ETW_OP_STRING,
    ETW_OP_LIST, /* children: constants, for in / ni */
    /* one child */
    ETW_OP_NOT,
    ETW_OP_NEG,
    ETW_OP_BITNOT,
    ETW_OP_LENGTH, /* string length */
    /* two children */
    ETW_OP_AND,
    ETW_OP_OR,
    ETW_OP_EQ,
    ETW_OP_NE,
    ETW_OP_LT,
    ETW_OP_LE,
    ETW_OP_GT,
    ETW_OP_GE,
    ETW_OP_STREQ,
    ETW_OP_STRNE,
    ETW_OP_IN,
    ETW_OP_NI,
    ETW_OP_MATCH,
    ETW_OP_MATCH_NOCASE, /* glob: child 0 pattern, child 1 text */
    ETW_OP_ADD,
    ETW_OP_SUB,
    ETW_OP_MUL,
    ETW_OP_DIV,
    ETW_OP_MOD,
    ETW_OP_BITAND,
    ETW_OP_BITOR,
    ETW_OP_BITXOR,
    ETW_OP_SHL,
    ETW_OP_SHR,
    /* three children */
    ETW_OP_COND
} EtwOp;

typedef struct EtwNode EtwNode;
struct EtwNode {
    EtwOp op;
    int childCount;
    EtwNode **children;
    char *text; /* field name or string constant, NUL-terminated; size too */
    size_t size;
    int64_t i;
    double d;
};
EtwNode *EtwNodeNew(EtwOp op, int childCount); /* children NULL, to be filled by the caller */
void EtwNodeFree(EtwNode *node);               /* with all nodes below it; accepts NULL */

typedef struct EtwPredicate EtwPredicate;
/* Takes ownership of the tree. ETW_E_ARG: a node that cannot be evaluated; errPtr names it. */
EtwStatus EtwPredicateNew(EtwPredicate **predPtr, EtwNode *root, EtwError *errPtr);
bool EtwPredicateTest(EtwPredicate *pred, EtwSchemaStore *store, const EtwEvent *event);
/* Call visit for each payload field that the predicate uses and that no event had. */
void EtwPredicateMissing(
        const EtwPredicate *pred, void (*visit)(void *ctx, const char *name), void *ctx);
/* The names of header values; ends with NULL. */
const char *const *EtwHeaderNames(void);
/* Call visit for each constant that was compared with a header value of events, and was equal to none. */
void EtwPredicateUnmatched(const EtwPredicate *pred,
        void (*visit)(void *ctx, const char *header, const char *constant), void *ctx);
/* The predicate's tree, which it owns. */
const EtwNode *EtwPredicateTree(const EtwPredicate *pred);
void EtwPredicateFree(EtwPredicate *pred);

#endif
