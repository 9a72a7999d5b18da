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
    Tcl_Obj *cText;          /* the conjuncts in the predicate, as an expression; NULL: none */
    Tcl_Obj *tclText;        /* the others; NULL: none */
    Tcl_Obj *fields;         /* fields that the other conjuncts read (for EtwEventMakerSelect) */
    int required;            /* number of fields at the start that must be present; the others
                                may be absent */
    /*
     * The lambda for apply: the required fields are arguments, followed by a dict of the others,
     * then the results of the parts that C evaluates.
     */
    Tcl_Obj *lambda;
    EtwPredicate **parts; /* parts of tclText that C evaluates */
    int partCount;
} EtwWhere;

/* cOnly: a part that C cannot evaluate is an error, which names it. */
int EtwWhereParse(Tcl_Interp *interp, Tcl_Obj *expr, bool cOnly, EtwWhere *where);
/* An expression and its short forms; NULL: not given. All except where and level are lists. */
typedef struct EtwWhereForms {
    Tcl_Obj *where, *provider, *event, *keyword, *pid, *level;
} EtwWhereForms;
/* An event passes that passes each. */
int EtwWhereParseForms(Tcl_Interp *interp, const EtwWhereForms *forms, EtwWhere *where);
void EtwWhereFree(EtwWhere *where);
/*
 * Evaluate the residual filter for an event that passes the predicate: *passPtr. `maker` has
 * where->fields selected. An event that lacks one of them does not pass.
 */
int EtwWhereTest(Tcl_Interp *interp, const EtwWhere *where, EtwEventMaker *maker,
        const EtwEvent *event, bool *passPtr);

#endif
