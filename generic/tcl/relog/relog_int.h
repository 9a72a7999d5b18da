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

typedef struct EtwRelogEditOptions { /* NULL: not specified */
    Tcl_Obj *redact, *rename, *set, *timeshift;
} EtwRelogEditOptions;

typedef struct EtwRelogEdits { /* zeroed: none */
    EtlEdit set;
    EtwRedact *redact;
    EtwRename *rename;
    int64_t shift; /* ns */
} EtwRelogEdits;

/* After an error nothing has to be freed. */
int EtwRelogEditsParse(Tcl_Interp *interp, const EtwRelogEditOptions *options,
        EtwSchemaStore *store, EtwRelogEdits *edits);
/* The edits must outlive the relog, which must be open. */
void EtwRelogEditsApply(const EtwRelogEdits *edits, EtwRelog *relog);
void EtwRelogEditsFree(EtwRelogEdits *edits);

/* The number of a header field that can be set, -1: no such field; and its value. */
int EtwRelogField(const char *name);
const char *EtwRelogFieldName(int field);
int EtwRelogSetField(Tcl_Interp *interp, EtlEdit *edit, int field, Tcl_Obj *value);

/* ---- A callback (relog_map.c) ---------------------------------------------------------------- */

typedef struct EtwRelogMap EtwRelogMap;

/* prefix: the command. The relog and the query must outlive the result. */
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
/*
 * out: the path that the file names are derived from. pack: the files are packed (etl/compress/pack.h). All
 * arguments must outlive the result.
 */
EtwRelogFiles *EtwRelogFilesNew(Tcl_Interp *interp, EtwSplitKind kind, Tcl_Obj *out, bool pack,
        const EtwSource *source, EtwSchemaStore *store);
uint64_t EtwRelogFilesPacked(const EtwRelogFiles *files); /* bytes of the packed files */
EtwSplitSink EtwRelogFilesSink(EtwRelogFiles *files);
/* Paths, each with the number of its own events. */
Tcl_Obj *EtwRelogFilesDict(const EtwSplit *split);
/* result: TCL_OK: the files get their names; otherwise they are deleted. */
int EtwRelogFilesClose(EtwRelogFiles *files, int result);

/* ---- Additional events (relog_cmd.c) --------------------------------------------------------- */

/* Add the records (tcl/value/record_value.h) of a list to the reorder buffer. */
int EtwRelogInject(Tcl_Interp *interp, Tcl_Obj *records, EtwRelog *relog);

#endif
