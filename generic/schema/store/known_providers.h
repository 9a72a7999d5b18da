/*
 * schema/store/known_providers.h --
 *
 *	All providers that this process knows without a trace: what the user loaded, the classes of
 *	Windows' kernel, the catalogue. For people who look things up (etw providers, etw schema); decoding
 *	goes through schema.h. Thread-safe.
 */
#ifndef ETW_KNOWN_PROVIDERS_H
#define ETW_KNOWN_PROVIDERS_H

#include "schema/store/definition_library.h"

typedef struct EtwKnownProvider {
    EtwGuid guid; /* zeros: not known */
    const char *name;
    const char *from; /* the file it was loaded from; "": none */
    EtwOrigin origin;
    int events;
    const EtwProviderDef *def; /* NULL: the catalogue's, not read yet */
} EtwKnownProvider;

/* Each of them: loaded ones newest first, kernel classes, the catalogue's by name. One that was
 * loaded and is in the catalogue too comes twice. */
typedef void EtwKnownProviderProc(void *ctx, const EtwKnownProvider *known);
void EtwKnownProviderVisit(EtwKnownProviderProc *visit, void *ctx);
/* Only those where a word (lower case) may occur in a name of anything. */
void EtwKnownProviderSearch(const char *word, EtwKnownProviderProc *visit, void *ctx);
/* The first one of a name (any case) or GUID; false: nobody knows it. */
bool EtwKnownProviderFind(const char *nameOrGuid, EtwKnownProvider *known);
/* It has this name (any case) or GUID. */
bool EtwKnownProviderIs(const EtwKnownProvider *known, const char *nameOrGuid);
/* Its definition, read now if need be; NULL: the catalogue is damaged there. */
const EtwProviderDef *EtwKnownProviderDef(const EtwKnownProvider *known);

#endif
