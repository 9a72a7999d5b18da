/*
 * schema/store/definition_files.h --
 *
 *	Reads files that describe events into the library, for `etw schema load`. Each format has a reader
 *	that converts text in memory to definitions; definition_files.c recognizes the format.
 */
#ifndef ETW_DEFINITION_FILES_H
#define ETW_DEFINITION_FILES_H

#include "schema/model/provider_def.h"

/* Read a file and pass its definitions to `add`; the library does not change. */
EtwStatus EtwSchemaRead(const char *path, EtwDefProc *add, void *ctx, EtwError *errPtr);

/*
 * Read a file into the library: .man or any XML manifest, .tmf, .mof, recognized by the suffix,
 * otherwise by the content. *providersPtr and *eventsPtr (may be NULL): their numbers in the file.
 */
EtwStatus EtwSchemaLoad(const char *path, int *providersPtr, int *eventsPtr, EtwError *errPtr);

#endif
