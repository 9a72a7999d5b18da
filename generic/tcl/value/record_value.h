/*
 * tcl/value/record_value.h --
 *
 *	Records as Tcl values, which `etw test event` returns and -records accepts: a dict of `cpu` and
 *	`record`, the bytes of a record in a file's format with its time in ns since 1970.
 */
#ifndef ETW_RECORD_VALUE_H
#define ETW_RECORD_VALUE_H

#include "tcl/core/tclglue.h"
#include "flow/source/source.h"

/* A new object; NULL with an error left: the record is too large. */
Tcl_Obj *EtwRecordObj(Tcl_Interp *interp, const EtwEvent *event);
/* A source of a list of records. The list may be freed. */
int EtwRecordsOpen(Tcl_Interp *interp, Tcl_Obj *records, EtwSource **sourcePtr);

#endif
