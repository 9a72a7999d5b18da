/*
 * schema/store/known_providers.h --
 *
 *	All providers that are known without a trace: loaded definitions, the classes of Windows'
 *	kernel, the catalogue. For the commands etw providers and etw schema; decoding uses
 *	schema.h. Thread-safe.
 */
#ifndef ETW_KNOWN_PROVIDERS_H
#define ETW_KNOWN_PROVIDERS_H

#include "schema/store/definition_library.h"

typedef struct EtwKnownProvider {
    EtwGuid guid; /* zeros: unknown */
    const char *name;
    const char *from; /* the file it was loaded from; "": none */
    EtwOrigin origin;
    int events;
    const EtwProviderDef *def; /* NULL: in the catalogue, not read yet */
} EtwKnownProvider;

/*
 * Called for each provider: loaded ones, newest first; kernel classes; those of the catalogue by
 * name. A provider that is loaded and in the catalogue is visited twice.
 */
typedef void EtwKnownProviderProc(void *ctx, const EtwKnownProvider *known);
void EtwKnownProviderVisit(EtwKnownProviderProc *visit, void *ctx);
/* Visit only providers with a name of any kind that may contain a word (lower case). */
void EtwKnownProviderSearch(const char *word, EtwKnownProviderProc *visit, void *ctx);
/* The first provider with a name (ignoring case) or GUID. False: unknown. */
bool EtwKnownProviderFind(const char *nameOrGuid, EtwKnownProvider *known);
/* True if it has this name (ignoring case) or GUID. */
bool EtwKnownProviderIs(const EtwKnownProvider *known, const char *nameOrGuid);
/* Its definition, read if necessary; NULL: the catalogue is damaged there. */
const EtwProviderDef *EtwKnownProviderDef(const EtwKnownProvider *known);

#endif
