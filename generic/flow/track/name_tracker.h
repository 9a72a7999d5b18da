/*
 * flow/track/name_tracker.h --
 *
 *	What a trace says of processes, threads, images, files and registry keys, as of the event at
 *	hand: fed with events in order, it gives each the names that its numbers stand for. Names stay
 *	valid as long as the track. It grows with what the trace says, up to fixed bounds: what comes
 *	beyond them has no name.
 */
#ifndef ETW_NAME_TRACKER_H
#define ETW_NAME_TRACKER_H

#include "base/bytes.h"
#include "event/event.h"
#include "schema/model/schema.h"

typedef struct EtwTrack EtwTrack;

/* images: also where modules were loaded, for EtwTrackAddress. */
EtwTrack *EtwTrackNew(bool images);
/* Events that are not the kernel's own are known as that store knows them, what it learns included.
 * Before the first event; else the catalogue alone knows them. */
void EtwTrackSetStore(EtwTrack *track, EtwSchemaStore *store);
void EtwTrackFree(EtwTrack *track);
/*
 * Take in what the event says, and fill what it leaves out: process and object; pid and tid where its
 * record has none (from its payload, else from the thread that its CPU switched to); the width of
 * its pointers (EtwKernelPointerSize).
 */
void EtwTrackEvent(EtwTrack *track, EtwEvent *event);
/* The same for an event from further on in the trace: it only names what has no name yet. */
void EtwTrackPrescan(EtwTrack *track, const EtwEvent *event);
/* Whether events of this event's class may name processes, threads, modules, files or keys. */
bool EtwTrackIsNaming(const EtwEvent *event);
/* The classes that name things: for a filter. */
const EtwGuid *EtwTrackClasses(size_t *countPtr);

/* NULL: not known. */
const char *EtwTrackProcess(const EtwTrack *track, uint32_t pid);
/* The path of the module that an address of the process, or of the kernel, lies in; NULL: none. */
const char *EtwTrackAddress(
        const EtwTrack *track, uint32_t pid, uint64_t address, uint64_t *offsetPtr);
/* Append address number `index` of the event's stack: ntdll.dll+0x1234, or 0x7ff812345678. track may
 * be NULL. */
void EtwTrackFrame(const EtwTrack *track, const EtwEvent *event, uint32_t index, EtwText *out);

#endif
