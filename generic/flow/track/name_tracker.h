/*
 * flow/track/name_tracker.h --
 *
 *	Tracks the names of processes, threads, images, files and registry keys as of the current event.
 *	It receives events in order and adds to each the names of its numbers. Names are valid as long as the
 *	tracker. Its memory has a fixed limit; objects beyond it have no name.
 */
#ifndef ETW_NAME_TRACKER_H
#define ETW_NAME_TRACKER_H

#include "base/text.h"
#include "event/event.h"
#include "schema/model/schema.h"
#include "symbol/symbols.h"

typedef struct EtwTrack EtwTrack;

/* images: also track where modules are loaded, for EtwTrackAddress. */
EtwTrack *EtwTrackNew(bool images);
/* The ticks of all events per second, for EtwEvent.elapsed; 0 (the default): unknown, or not those of the kernel. */
void EtwTrackClock(EtwTrack *t, int64_t frequency);
/*
 * The store for the schemas of events that are not classic kernel events. Called before the first
 * event; otherwise only the catalogue is used.
 */
void EtwTrackSetStore(EtwTrack *track, EtwSchemaStore *store);
void EtwTrackFree(EtwTrack *track);
/*
 * Process an event, and set its missing members: process and object; pid and tid if its record has
 * none (from its payload, otherwise the thread that its CPU switched to); the width of its pointers
 * (EtwKernelPointerSize).
 */
void EtwTrackEvent(EtwTrack *track, EtwEvent *event);
/* The same for a later event of the trace: it only adds names that are missing. */
void EtwTrackPrescan(EtwTrack *track, const EtwEvent *event);
/* True if events of this event's class may name processes, threads, modules, files or keys. */
bool EtwTrackIsNaming(const EtwEvent *event);
/* The classes with names, for a filter. */
const EtwGuid *EtwTrackClasses(size_t *countPtr);
bool EtwTrackIsClass(const EtwEvent *event); /* its class is one of these */

/* NULL: unknown. */
const char *EtwTrackProcess(const EtwTrack *track, uint32_t pid);
/* The module of the process, or of the kernel, that contains an address; false: none. */
typedef struct EtwTrackModule {
    const char *path, *build; /* build: build id in hexadecimal digits; NULL: none */
    uint64_t offset;          /* of the address: in the file (Linux), in the image (Windows) */
} EtwTrackModule;
bool EtwTrackAddress(const EtwTrack *track, uint32_t pid, uint64_t address, EtwTrackModule *module);
/* Names of functions for the frames of stacks (stack_frames.h); the track owns them. */
void EtwTrackSetSymbols(EtwTrack *track, EtwSymbols *symbols);
EtwSymbols *EtwTrackSymbols(const EtwTrack *track); /* NULL: none */

#endif
