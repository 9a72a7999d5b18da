/*
 * tcl/filter/where.h --
 *
 *	A parsed -where expression: the predicate that C evaluates, and the residual filter for Tcl.
 */
#ifndef ETW_WHERE_H
#define ETW_WHERE_H

#include "tcl/value/event_dict.h"
#include "predicate/predicate.h"

typedef struct EtwWhere {
    EtwPredicate *predicate; /* NULL: nothing for C. May be moved to another thread */
    Tcl_Obj *cText;          /* the conjuncts that it stands for, an expression; NULL: none */
    Tcl_Obj *tclText;        /* the others; NULL: none */
    Tcl_Obj *fields;         /* list of the fields that the others read (for EtwEventMakerSelect) */
    int required;            /* the first so many must be present; the others may be absent */
    /* apply's lambda: the required ones are arguments, then a dict of the rest, then what C says of
     * the parts. */
    Tcl_Obj *lambda;
    EtwPredicate **parts; /* parts of tclText that C evaluates */
    int partCount;
} EtwWhere;

/* cOnly: an error that names the first part which C cannot do. */
int EtwWhereParse(Tcl_Interp *interp, Tcl_Obj *expr, bool cOnly, EtwWhere *where);
void EtwWhereFree(EtwWhere *where);
/*
 * Evaluate the residual filter for an event that passes the predicate: *passPtr. `maker` has
 * where->fields selected. An event that lacks one of them does not pass.
 */
int EtwWhereTest(Tcl_Interp *interp, const EtwWhere *where, EtwEventMaker *maker,
        const EtwEvent *event, bool *passPtr);

#endif
