/*
 * flow/relog/image_id.h --
 *
 *	Events of the class ImageID, which merge tools of Windows add to a trace: debug names and versions of modules. A
 *	debug name belongs to a module of a process, a version to the image, by its size and time stamp,
 *	or name if it has no time stamp.
 */
#ifndef ETW_IMAGE_ID_H
#define ETW_IMAGE_ID_H

#include "event/event.h"

typedef struct EtwImageId {
    bool isVersion; /* describes an image, not a module of a process */
    uint32_t pid;   /* the module's process; 0: the kernel; ETW_NO_ID: not stated */
    bool hasImage;
    uint64_t image; /* a number of the image, in this process only */
} EtwImageId;

/* False: another class, or too short. */
bool EtwImageIdParse(const EtwEvent *event, EtwImageId *id);

#endif
