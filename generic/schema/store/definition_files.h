/*
 * schema/store/definition_files.h --
 *
 *	Reading files that describe events into the library: what `etw schema load` does. Each format
 *	has a reader that makes definitions out of text in memory; definition_files.c tells the formats apart.
 */
#ifndef ETW_DEFINITION_FILES_H
#define ETW_DEFINITION_FILES_H

#include "schema/model/provider_def.h"

/* Read a file and hand its definitions on: nothing is loaded. */
EtwStatus EtwSchemaRead(const char *path, EtwDefProc *add, void *ctx, EtwError *errPtr);

/*
 * Read a file into the library: .man or any XML manifest, .tmf, .mof, told apart by the suffix, else
 * by the content.
 * *providersPtr and *eventsPtr (may be NULL): how many it had.
 */
EtwStatus EtwSchemaLoad(const char *path, int *providersPtr, int *eventsPtr, EtwError *errPtr);

#endif
