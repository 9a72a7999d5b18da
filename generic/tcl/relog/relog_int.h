/*
 * tcl/relog/relog_int.h --
 *
 *	The parts of `etw relog`: edits of all events (relog_edit.c), and a callback for each event
 *	(relog_map.c). relog_cmd.c has the command.
 */
#ifndef ETW_RELOG_INT_H
#define ETW_RELOG_INT_H

#include "tcl/consume/read_command.h"
#include "flow/relog/relog.h"

/* ---- Edits (relog_edit.c) -------------------------------------------------------------------- */

typedef struct EtwRelogEditOptions { /* NULL: not given */
    Tcl_Obj *redact, *rename, *set, *timeshift;
} EtwRelogEditOptions;

typedef struct EtwRelogEdits { /* zeroed: none */
    EtlEdit set;
    EtwRedact *redact;
    EtwRename *rename;
    int64_t shift; /* ns */
} EtwRelogEdits;

/* On an error nothing is left to free. */
int EtwRelogEditsParse(Tcl_Interp *interp, const EtwRelogEditOptions *options,
        EtwSchemaStore *store, EtwRelogEdits *edits);
/* They must outlive the relog, which must have been opened. */
void EtwRelogEditsApply(const EtwRelogEdits *edits, EtwRelog *relog);
void EtwRelogEditsFree(EtwRelogEdits *edits);

/* The number of a header field that can be set, -1: none of that name; and its value. */
int EtwRelogField(const char *name);
const char *EtwRelogFieldName(int field);
int EtwRelogSetField(Tcl_Interp *interp, EtlEdit *edit, int field, Tcl_Obj *value);

/* ---- A callback (relog_map.c) ---------------------------------------------------------------- */

typedef struct EtwRelogMap EtwRelogMap;

/* prefix: the command; the relog and the query must outlive it. */
EtwRelogMap *EtwRelogMapNew(EtwQuery *query, Tcl_Obj *prefix, EtwRelog *relog);
void EtwRelogMapFree(EtwRelogMap *map); /* accepts NULL */
/*
 * Call the command for an event. TCL_OK: add *event, which may have a new record or another time;
 * TCL_CONTINUE: drop it; TCL_BREAK: drop it and all that follow; TCL_ERROR.
 */
int EtwRelogMapEvent(EtwRelogMap *map, EtwEvent *event);

/* ---- Several files (relog_split.c) ----------------------------------------------------------- */

typedef struct EtwRelogFiles EtwRelogFiles;

/* -split: a list; amount: bytes, or ns. */
int EtwRelogSplitParse(
        Tcl_Interp *interp, Tcl_Obj *list, EtwSplitKind *kindPtr, int64_t *amountPtr);
/* out: what their names are made of; all must outlive them. */
EtwRelogFiles *EtwRelogFilesNew(Tcl_Interp *interp, EtwSplitKind kind, Tcl_Obj *out,
        const EtwSource *source, EtwSchemaStore *store);
EtwSplitSink EtwRelogFilesSink(EtwRelogFiles *files);
/* Paths, and how many events each has that are its own. */
Tcl_Obj *EtwRelogFilesDict(const EtwSplit *split);
/* result: TCL_OK: the files get their names; otherwise they are deleted. */
int EtwRelogFilesClose(EtwRelogFiles *files, int result);

/* ---- Events from elsewhere (relog_cmd.c) ----------------------------------------------------- */

/* Hold the records (tcl/value/record_value.h) of a list. */
int EtwRelogInject(Tcl_Interp *interp, Tcl_Obj *records, EtwRelog *relog);

#endif
