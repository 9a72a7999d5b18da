/*
 * schema/eventinfo/event_info.h --
 *
 *	TRACE_EVENT_INFO and EVENT_MAP_INFO, the structures in which Windows describes events, as merge
 *	tools put them into files: bytes into definitions, and definitions into bytes. They are the
 *	payload of classic events, an opcode each.
 */
#ifndef ETW_EVENT_INFO_H
#define ETW_EVENT_INFO_H

#include "schema/model/provider_def.h"

extern const EtwGuid etwMetadataClass; /* inband_schema.c */
enum { ETW_METADATA_EVENT = 32, ETW_METADATA_MAP = 33 };

/* Which event a TRACE_EVENT_INFO describes. */
typedef struct EtwEventInfoKey {
    EtwGuid guid;  /* provider, or class of classic events */
    uint16_t code; /* id, or opcode */
    uint8_t version;
    bool classic;
} EtwEventInfoKey;

/* The map of that name, of that provider; NULL: not known (yet). */
typedef const EtwMap *EtwMapFindProc(void *ctx, const EtwGuid *provider, const char *name);

/* False: not a description, or of events that describe themselves. */
bool EtwEventInfoKeyOf(const uint8_t *info, size_t size, EtwEventInfoKey *key);
/*
 * A definition of that one event, finished; NULL: it makes no sense. *missingPtr: it names a map
 * that findMap did not know.
 */
EtwProviderDef *EtwEventInfoParse(
        const uint8_t *info, size_t size, EtwMapFindProc *findMap, void *ctx, bool *missingPtr);
/*
 * Add a map to a definition that serves as its memory; record is the provider's GUID and the
 * EVENT_MAP_INFO. NULL: it makes no sense. *namePtr is the definition's.
 */
const EtwMap *EtwMapInfoParse(
        EtwProviderDef *holder, const uint8_t *record, size_t size, const char **namePtr);

/* ---- event_info_build.c ------------------------------------------------------------------------ */

/* The name under which the field's map is described, valid until the next call; NULL: it is not. */
typedef const char *EtwMapInfoProc(void *ctx, const EtwSchema *schema, const EtwField *field);
/*
 * *out becomes a description of the event, in its own version; schema->def is not NULL. False: it has
 * what such descriptions have no words for.
 */
bool EtwEventInfoBuild(const EtwEvent *event, const EtwSchema *schema, EtwMapInfoProc *useMap,
        void *ctx, EtwText *out);
/* What the schema's provider calls the map; NULL: nothing. */
const char *EtwMapInfoName(const EtwSchema *schema, const EtwMap *map);
/* *out becomes the provider's GUID and an EVENT_MAP_INFO. False: values have more than 32 bits. */
bool EtwMapInfoBuild(const EtwGuid *provider, const char *name, const EtwMap *map, EtwText *out);

#endif
