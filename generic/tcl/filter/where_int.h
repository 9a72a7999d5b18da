/*
 * tcl/filter/where_int.h --
 *
 *	Shared by where.c (expressions to predicates) and where_residual.c (the residual filter).
 */
#ifndef ETW_WHERE_INT_H
#define ETW_WHERE_INT_H

#include "tcl/filter/where.h"

/* One parse: the tokens, and why a part is not for C. */
typedef struct EtwWhereParser {
    Tcl_Parse parse;
    char reason[200];
    int depth; /* of operators */
} EtwWhereParser;

/* Parts that C or Tcl does, joined by &&. */
typedef struct EtwWhereSplit {
    EtwNode *tree;
    int treeParts;
    Tcl_Obj *cText, *tclText;
    Tcl_Obj *residual; /* tclText as Tcl will evaluate it */
    EtwNode **parts;   /* what C does inside of it */
    int partCount;
    int depth;        /* of && || ! ?: in a part under way */
    Tcl_Obj *names;   /* dict: fields without which nothing of tclText can be true */
    Tcl_Obj *maybe;   /* dict: others that it names */
    Tcl_Obj *wrong;   /* a variable that is no field; NULL: none */
    char reason[200]; /* of the first part that is not for C */
    Tcl_Obj *firstTcl;
} EtwWhereSplit;

/* The tree of a sub-expression, or NULL: not for C. */
EtwNode *EtwWhereNode(EtwWhereParser *parser, const Tcl_Token *token);
/* Operands of an operator: the sub-expressions after its token. Returns their number, which may be
 * larger than `room`. */
int EtwWhereOperands(const Tcl_Token *token, const Tcl_Token **operands, int capacity);

/* Add "(token)" to a conjunction, *textPtr NULL: its first part. */
void EtwWhereAppend(Tcl_Obj **textPtr, const Tcl_Token *token);
/* Add a part to the residual filter; p->reason has the reason. */
void EtwWhereAddResidual(EtwWhereParser *parser, const Tcl_Token *token, EtwWhereSplit *split);
/* Moves Tcl's part from the split to the where. */
int EtwWhereMakeResidual(Tcl_Interp *interp, EtwWhereSplit *split, EtwWhere *where);
void EtwWhereFreeResidual(EtwWhereSplit *split);

#endif
