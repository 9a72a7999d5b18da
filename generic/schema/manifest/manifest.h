/*
 * schema/manifest/manifest.h --
 *
 *	Instrumentation manifests (XML, http://schemas.microsoft.com/win/2004/08/events): the .man files
 *	of providers, and what EventSource writes into its traces.
 */
#ifndef ETW_MANIFEST_H
#define ETW_MANIFEST_H

#include "schema/model/provider_def.h"

/* As definition_files.h says; strict: whatever Windows' message compiler would refuse and that matters for
 * decoding is an error. */
EtwSchemaReadProc EtwManifestReadFile;

/*
 * The same for a manifest that a trace brought along: events that make no sense are left out, and
 * messages may have {0} for %1.
 */
EtwStatus EtwManifestReadInband(const char *from, const void *xml, size_t size, EtwOrigin origin,
        EtwDefProc *add, void *ctx);

#endif
