/*
 * flow/track/stack_frames.h --
 *
 *	The frames of an event's stack: module, function, source line.
 */
#ifndef ETW_STACK_FRAMES_H
#define ETW_STACK_FRAMES_H

#include "flow/track/name_tracker.h"

typedef struct EtwFrame {
    const char *module;   /* file name of the image, without folders; NULL: in no known image */
    const char *function; /* NULL: unknown */
    uint64_t offset;      /* in the function, otherwise in the module, otherwise the address */
    const char *file;     /* source file; NULL: unknown */
    uint32_t line;
    bool inlined; /* into the next frame */
} EtwFrame;

/*
 * The frames of a stack, the innermost first. An address has one, or more where functions were inlined:
 *
 *     EtwFrameWalk walk;
 *     EtwFrameWalkBegin(&walk, track, event);
 *     for (const EtwFrame *frame; (frame = EtwFrameNext(&walk)) != NULL;) ...
 *
 * A frame is valid until the next one, its texts as long as the track, which may be NULL.
 */
typedef struct EtwFrameWalk {
    const EtwTrack *track;
    const EtwEvent *event;
    uint32_t index; /* of the next address */
    int at, count;
    EtwFrame frames[ETW_SYMBOLS_MAX];
} EtwFrameWalk;
void EtwFrameWalkBegin(EtwFrameWalk *walk, const EtwTrack *track, const EtwEvent *event);
const EtwFrame *EtwFrameNext(EtwFrameWalk *walk);
/* Append module!function+0x12, module+0x1234 or 0x7ff812345678; inlined functions have no offset. */
void EtwFrameText(const EtwFrame *frame, EtwText *out);
/* Append the source file without folders, and the line, after a blank: " x.c:12". Nothing if they are unknown. */
void EtwFrameLineText(const EtwFrame *frame, EtwText *out);
/* Append what a profile counts by: module!function, [module], or [unknown]. */
void EtwFrameName(const EtwFrame *frame, EtwText *out);

#endif
