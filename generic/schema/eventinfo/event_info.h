/*
 * schema/eventinfo/event_info.h --
 *
 *	Converts TRACE_EVENT_INFO and EVENT_MAP_INFO, with which Windows describes events, to definitions
 *	and back. Tools that merge traces add them to files, as payloads of classic events with one opcode
 *	each.
 */
#ifndef ETW_EVENT_INFO_H
#define ETW_EVENT_INFO_H

#include "schema/model/provider_def.h"

extern const EtwGuid etwMetadataClass; /* inband_schema.c */
enum { ETW_METADATA_EVENT = 32, ETW_METADATA_MAP = 33 };

/* The event that a TRACE_EVENT_INFO describes. */
typedef struct EtwEventInfoKey {
    EtwGuid guid;  /* provider, or class of classic events */
    uint16_t code; /* id, or opcode */
    uint8_t version;
    bool classic;
} EtwEventInfoKey;

/* The provider's map with that name; NULL: unknown (so far). */
typedef const EtwMap *EtwMapFindProc(void *ctx, const EtwGuid *provider, const char *name);

/* False: malformed, or for an event that describes itself. */
bool EtwEventInfoKeyOf(const uint8_t *info, size_t size, EtwEventInfoKey *key);
/*
 * Returns a finished definition of one event; NULL: malformed. *missingPtr: it refers to a map that
 * findMap did not find.
 */
EtwProviderDef *EtwEventInfoParse(
        const uint8_t *info, size_t size, EtwMapFindProc *findMap, void *ctx, bool *missingPtr);
/*
 * Add a map to a definition that serves as its memory; record is the provider's GUID and the
 * EVENT_MAP_INFO. NULL: malformed. The definition owns *namePtr.
 */
const EtwMap *EtwMapInfoParse(
        EtwProviderDef *holder, const uint8_t *record, size_t size, const char **namePtr);

/* ---- event_info_build.c ------------------------------------------------------------------------ */

/*
 * The name under which the field's map is described, valid until the next call; NULL: not
 * described.
 */
typedef const char *EtwMapInfoProc(void *ctx, const EtwSchema *schema, const EtwField *field);
/*
 * Store a description of the event's own version in *out. schema->def is not NULL. False: the schema has
 * features that such descriptions cannot express.
 */
bool EtwEventInfoBuild(const EtwEvent *event, const EtwSchema *schema, EtwMapInfoProc *useMap,
        void *ctx, EtwText *out);
/* The provider's name of the map; NULL: none. */
const char *EtwMapInfoName(const EtwSchema *schema, const EtwMap *map);
/* Store the provider's GUID and an EVENT_MAP_INFO in *out. False: values have more than 32 bits. */
bool EtwMapInfoBuild(const EtwGuid *provider, const char *name, const EtwMap *map, EtwText *out);

#endif
