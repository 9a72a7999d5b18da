/*
 * flow/track/track_layout.h --
 *
 *	The offsets of the numbers and names that identify processes, threads, modules, files and
 *	registry keys in a payload: determined once for each schema. For names of
 *	events and for state rundowns.
 */
#ifndef ETW_TRACK_LAYOUT_H
#define ETW_TRACK_LAYOUT_H

#include "base/hash_table.h"
#include "semantics/semantics.h"

/* The roles of fields that are read at their offset in the payload. */
enum {
    TRACK_FIRST = ETW_ROLE_PID,
    TRACK_LAST = ETW_ROLE_NAME,
    TRACK_ROLES = TRACK_LAST - TRACK_FIRST + 1
};

/* [0] with 4-byte pointers, [1] with 8-byte pointers. */
typedef struct TrackPlace {
    int32_t offset[2]; /* -1: variable */
    uint8_t width[2];  /* bytes of a number */
} TrackPlace;

typedef struct TrackLayout {
    const EtwSchema *schema;
    const EtwSemantics *semantics;
    TrackPlace places[TRACK_ROLES];
} TrackLayout;

void EtwTrackLayoutInit(TrackLayout *layout, const EtwSchema *schema);

/* Layouts that were determined; zeroed: none. */
enum { TRACK_LAYOUTS = 256 };
typedef struct TrackLayouts {
    TrackLayout layouts[TRACK_LAYOUTS];
} TrackLayouts;

/* Valid until the next call. */
static inline const TrackLayout *EtwTrackLayoutOf(TrackLayouts *known, const EtwSchema *schema)
{
    TrackLayout *layout = &known->layouts[EtwHashPointer(schema) % TRACK_LAYOUTS];
    if (layout->schema != schema) {
        EtwTrackLayoutInit(layout, schema);
    }
    return layout;
}

/* A number of the payload by its role. False: no such field, or the payload is too short. */
static inline bool EtwTrackNumber(
        const TrackLayout *layout, const EtwEvent *event, EtwRole role, uint64_t *numberPtr)
{
    int wide = event->pointerSize != 4;
    const TrackPlace *place = &layout->places[role - TRACK_FIRST];
    int32_t at = place->offset[wide];
    uint32_t width = place->width[wide];
    if (at < 0 || event->payloadSize < width || (uint32_t)at > event->payloadSize - width) {
        return false;
    }
    *numberPtr = width == 8 ? EtwLoad64(event->payload + at) : EtwLoad32(event->payload + at);
    return true;
}

#endif
