/*
 * flow/track/track_layout.h --
 *
 *	The layout of events that describe processes, threads, images, files and registry keys: the fields
 *	with each role, determined once per schema. For name_tracker.c and stack_matcher.c.
 */
#ifndef ETW_TRACK_LAYOUT_H
#define ETW_TRACK_LAYOUT_H

#include "schema/model/decode.h"

typedef enum TrackAction {
    TRACK_NOTHING,      /* it only uses names */
    TRACK_PROCESS,      /* a process with a name */
    TRACK_PROCESS_NAME, /* what the event's own process is called, for want of anything better */
    TRACK_THREAD,       /* a thread of a process */
    TRACK_LOAD,         /* a module at an address */
    TRACK_UNLOAD,
    TRACK_OBJECT, /* a file or key, and what it is called */
    TRACK_SWITCH  /* a CPU goes on with another thread */
} TrackAction;

typedef enum TrackRole {
    TRACK_PID,
    TRACK_TID,
    TRACK_OLD_TID,  /* OldThreadId: whom TRACK_NAME is about */
    TRACK_FILE_KEY, /* FileKey; KeyHandle of the registry */
    TRACK_FILE,     /* FileObject */
    TRACK_BASE,
    TRACK_SIZE,
    TRACK_NAME, /* text */
    TRACK_ROLES
} TrackRole;

typedef struct TrackLayout {
    const EtwSchema *schema;
    TrackAction action;
    int16_t index[TRACK_ROLES];     /* of the field; -1: it has none */
    int32_t offset[TRACK_ROLES][2]; /* with 4- and 8-byte pointers; -1: it varies */
    uint8_t width[TRACK_ROLES][2];  /* bytes of a number */
} TrackLayout;

void EtwTrackLayoutInit(TrackLayout *layout, const EtwSchema *schema);

/* A number of the payload by its role; false: there is none, or the payload ends before it. */
static inline bool EtwTrackNumber(
        const TrackLayout *layout, const EtwEvent *event, TrackRole role, uint64_t *numberPtr)
{
    int wide = event->pointerSize != 4;
    int32_t at = layout->offset[role][wide];
    uint32_t width = layout->width[role][wide];
    if (at < 0 || event->payloadSize < width || (uint32_t)at > event->payloadSize - width) {
        return false;
    }
    *numberPtr = width == 8 ? EtwLoad64(event->payload + at) : EtwLoad32(event->payload + at);
    return true;
}

#endif
