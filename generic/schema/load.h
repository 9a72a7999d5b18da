/*
 * schema/load.h --
 *
 *	Reading files that describe events into the library: what `etw schema load` does. Each format
 *	has a reader that makes definitions out of text in memory; load.c tells the formats apart.
 */
#ifndef ETW_SCHEMA_LOAD_H
#define ETW_SCHEMA_LOAD_H

#include "schema/catalog.h"

/* Takes a finished definition over. */
typedef void EtwDefProc(void *ctx, EtwProviderDef *def);

/*
 * Reads all of a file's text; `from` is the path, for messages and EtwProviderDef.from. Hands on
 * definitions (at least one) only when the whole text made sense. ETW_E_FORMAT: not this format, or
 * broken; the message names the line.
 */
typedef EtwStatus EtwSchemaReadProc(const char *from, const void *data, size_t size,
        EtwDefProc *add, void *ctx, EtwError *errPtr);

/* Read a file and hand its definitions on: nothing is loaded. */
EtwStatus EtwSchemaRead(const char *path, EtwDefProc *add, void *ctx, EtwError *errPtr);

/*
 * Read a file into the library: .man or any XML manifest, .tmf, .mof, told apart by the suffix, else
 * by the content.
 * *providersPtr and *eventsPtr (may be NULL): how many it had.
 */
EtwStatus EtwSchemaLoad(const char *path, int *providersPtr, int *eventsPtr, EtwError *errPtr);

#endif
