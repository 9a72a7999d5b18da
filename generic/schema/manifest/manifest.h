/*
 * schema/manifest/manifest.h --
 *
 *	Reads instrumentation manifests (XML, http://schemas.microsoft.com/win/2004/08/events): .man files,
 *	and the manifests that EventSource writes into traces.
 */
#ifndef ETW_MANIFEST_H
#define ETW_MANIFEST_H

#include "schema/model/provider_def.h"

/* See definition_files.h. Strict: everything that Windows' message compiler rejects is an error if it
 * matters for decoding. */
EtwSchemaReadProc EtwManifestReadFile;

/*
 * The same for a manifest in a trace: malformed events are omitted, and messages may contain {0}
 * instead of %1.
 */
EtwStatus EtwManifestReadInband(const char *from, const void *xml, size_t size, EtwOrigin origin,
        EtwDefProc *add, void *ctx);

#endif
