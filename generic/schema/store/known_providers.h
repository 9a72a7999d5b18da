/*
 * schema/store/known_providers.h --
 *
 *	All providers that are known without a trace: loaded definitions, the classes of Windows' kernel, the
 *	catalogue. For the commands etw providers and etw schema; decoding uses schema.h. Thread-safe.
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
    const EtwProviderDef *def; /* NULL: the catalogue's, not read yet */
} EtwKnownProvider;

/* Called for each: loaded ones, newest first; kernel classes; those of the catalogue by name. A provider
 * that is loaded and in the catalogue is visited twice. */
typedef void EtwKnownProviderProc(void *ctx, const EtwKnownProvider *known);
void EtwKnownProviderVisit(EtwKnownProviderProc *visit, void *ctx);
/* Only those where a word (lower case) may occur in a name of anything. */
void EtwKnownProviderSearch(const char *word, EtwKnownProviderProc *visit, void *ctx);
/* The first provider with a name (in any case) or GUID; false: unknown. */
bool EtwKnownProviderFind(const char *nameOrGuid, EtwKnownProvider *known);
/* It has this name (any case) or GUID. */
bool EtwKnownProviderIs(const EtwKnownProvider *known, const char *nameOrGuid);
/* Its definition, read now if need be; NULL: the catalogue is damaged there. */
const EtwProviderDef *EtwKnownProviderDef(const EtwKnownProvider *known);

#endif
