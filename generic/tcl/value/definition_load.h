/*
 * tcl/value/definition_load.h --
 *
 *	Loads files and folders that describe events into the library of the process.
 */
#ifndef ETW_DEFINITION_LOAD_H
#define ETW_DEFINITION_LOAD_H

#include "tcl/core/tclglue.h"

/*
 * Load a file, or all files of a folder and its subfolders with a known suffix. Adds to the dict
 * `result`: path -> {providers N events N}, or {error MESSAGE} for a file of a folder.
 */
int EtwLoadDefinitions(Tcl_Interp *interp, Tcl_Obj *path, Tcl_Obj *result);
/* The same, but nothing is done if the process has loaded this path before and it is unchanged. */
int EtwLoadDefinitionsOnce(Tcl_Interp *interp, Tcl_Obj *path);
/*
 * Load the user's own folders once in the life of the process: those in ETW_SCHEMA_PATH, otherwise
 * etw/schemas in the user's folder for data.
 */
void EtwLoadOwnDefinitions(Tcl_Interp *interp);
/* The errors of that: a list of messages, a new object. */
Tcl_Obj *EtwOwnDefinitionErrors(void);

#endif
