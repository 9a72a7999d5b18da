/*
 * tcl/filter/where_int.h --
 *
 *	Shared by where.c (expressions to predicates) and where_residual.c (the residual filter).
 */
#ifndef ETW_WHERE_INT_H
#define ETW_WHERE_INT_H

#include "tcl/filter/where.h"

/* The parser's state: the tokens, and why C cannot evaluate a part. */
typedef struct EtwWhereParser {
    Tcl_Parse parse;
    char reason[200];
    int depth; /* of operators */
} EtwWhereParser;

/* The parts for C and for Tcl, joined by &&. */
typedef struct EtwWhereSplit {
    EtwNode *tree;
    int treeParts;
    Tcl_Obj *cText, *tclText;
    Tcl_Obj *residual; /* tclText in its final form */
    EtwNode **parts;   /* the parts of it that C evaluates */
    int partCount;
    int depth;        /* of && || ! ?: in the current part */
    Tcl_Obj *names;   /* dict: fields that tclText requires */
    Tcl_Obj *maybe;   /* dict: other fields in it */
    Tcl_Obj *wrong;   /* a variable that is not a field; NULL: none */
    char reason[200]; /* of the first part that C cannot evaluate */
    Tcl_Obj *firstTcl;
} EtwWhereSplit;

/*
 * The expression with numbers in place of durations and sizes (10ms, 64KB); the same object if it
 * has none. A new object has no references.
 */
Tcl_Obj *EtwWhereUnits(Tcl_Obj *expr);
/* After the text of a variable that no event has. */
#define ETW_WHERE_NO_INDEX                                                                         \
    "is not a field: only $props(NAME) and $time(elapsed), $time(kernel), $time(user) have an "    \
    "index, which must be a constant"
/* True if the token of a variable is $time(elapsed), $time(kernel) or $time(user). */
bool EtwWhereIsDuration(const Tcl_Token *token);
/* The tree of a sub-expression; NULL: C cannot evaluate it. */
EtwNode *EtwWhereNode(EtwWhereParser *parser, const Tcl_Token *token);
/*
 * Operands of an operator: the sub-expressions after its token. Returns their number, which may
 * exceed `capacity`.
 */
int EtwWhereOperands(const Tcl_Token *token, const Tcl_Token **operands, int capacity);

/* Add "(token)" to a conjunction; *textPtr NULL: it is the first part. */
void EtwWhereAppend(Tcl_Obj **textPtr, const Tcl_Token *token);
/* Add a part to the residual filter; p->reason has the reason. */
void EtwWhereAddResidual(EtwWhereParser *parser, const Tcl_Token *token, EtwWhereSplit *split);
/* Moves Tcl's part from the split to the where. */
int EtwWhereMakeResidual(Tcl_Interp *interp, EtwWhereSplit *split, EtwWhere *where);
void EtwWhereFreeResidual(EtwWhereSplit *split);

#endif
