/*
 * schema/metadata.h --
 *
 *	TRACE_EVENT_INFO and EVENT_MAP_INFO, the structures in which Windows describes events, as merge
 *	tools put them into files: bytes into definitions.
 */
#ifndef ETW_SCHEMA_METADATA_H
#define ETW_SCHEMA_METADATA_H

#include "schema/catalog.h"

/* Which event a TRACE_EVENT_INFO describes. */
typedef struct EtwMetadataKey {
    EtwGuid guid;  /* provider, or class of classic events */
    uint16_t code; /* id, or opcode */
    uint8_t version;
    bool classic;
} EtwMetadataKey;

/* The map of that name, of that provider; NULL: not known (yet). */
typedef const EtwMap *EtwMapFindProc(void *ctx, const EtwGuid *provider, const char *name);

/* False: not a description, or of events that describe themselves. */
bool EtwMetadataKeyOf(const uint8_t *info, size_t size, EtwMetadataKey *key);
/*
 * A definition of that one event, finished; NULL: it makes no sense. *missingPtr: it names a map
 * that findMap did not know.
 */
EtwProviderDef *EtwMetadataEvent(
        const uint8_t *info, size_t size, EtwMapFindProc *findMap, void *ctx, bool *missingPtr);
/*
 * Add a map to a definition that serves as its memory; record is the provider's GUID and the
 * EVENT_MAP_INFO. NULL: it makes no sense. *namePtr is the definition's.
 */
const EtwMap *EtwMetadataMap(
        EtwProviderDef *holder, const uint8_t *record, size_t size, const char **namePtr);

#endif
