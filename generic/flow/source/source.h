/*
 * flow/source/source.h --
 *
 *	Where events come from, all alike: an .etl file, a live session, several of them merged by
 *	time. A source is used by one thread. It owns what it reads; an event's pointers are valid until
 *	the next EtwSourceNext.
 */
#ifndef ETW_SOURCE_H
#define ETW_SOURCE_H

#include "base/status.h"
#include "etl/read/reader.h"
#include "event/event.h"
#include "schema/model/schema.h"

typedef struct EtwSource EtwSource;

/*
 * Spec as users write it: a path, or session:NAME. A zip archive (.etl.zip, .diagsession) stands for
 * all traces in it, merged by time, ARCHIVE::MEMBER for one of them.
 */
EtwStatus EtwSourceOpen(EtwSource **sourcePtr, const char *spec, EtwError *errPtr);
/* Takes the sources over (also on failure). One: returned as it is. */
EtwSource *EtwSourceMerge(EtwSource **sources, int count);
/*
 * A source around another, which it takes over: its events have process and object, kernel ones
 * also the pid and tid that their records leave out. stacks: and stacks from records of their own,
 * which then are not delivered themselves.
 */
EtwSource *EtwSourceTrack(EtwSource *inner, bool stacks);
/* What such a source knows as of its last event; NULL: it is none. */
struct EtwTrack;
const struct EtwTrack *EtwSourceTracked(const EtwSource *source);
/*
 * ETW_OK, ETW_END, or for live ones ETW_AGAIN; of one that was narrowed also ETW_PAUSE, so that the
 * caller can see to others while nothing passes.
 */
EtwStatus EtwSourceNext(EtwSource *source, EtwEvent *event);
bool EtwSourceIsLive(const EtwSource *source);
void EtwSourceWait(
        EtwSource *source, int64_t timeoutNs); /* live: until there may be more, or EtwSourceWake */
void EtwSourceWake(EtwSource *source);         /* from another thread */
void EtwSourceClose(EtwSource *source);

/*
 * Another source on the same files, from their beginning, that delivers only what passes: to look
 * ahead. Tells no warnings. To be closed before the first one. NULL: there is none (live ones, or a
 * file that is gone).
 */
EtwSource *EtwSourceReopen(const EtwSource *source, const EtlFilter *filter);
/*
 * From now on only events that pass are needed: the source may leave out others, but need not. What
 * it needs itself, for names and learning, it goes on reading.
 */
void EtwSourcePushFilter(EtwSource *source, const EtlFilter *filter);
/*
 * Let a store learn from the source, once, before its first event: from files before their events
 * are due, from live sessions as they say it. The store stays alive until the source is closed.
 */
void EtwSourceHarvest(EtwSource *source, EtwSchemaStore *store);

/* What there is to say at the end: files' own infos, losses, warnings. */
int EtwSourceFileCount(const EtwSource *source);
const EtlInfo *EtwSourceFileInfo(const EtwSource *source, int index, const char **pathPtr);
/* Of all files, as they tell; and what was overtaken while live sessions were read. */
uint64_t EtwSourceLost(const EtwSource *source);
struct EtwSessionInfo;
/* The state, and with it the losses, of the live session number `index`. ETW_END: there are not so
 * many; another error: it has stopped meanwhile. */
EtwStatus EtwSourceSession(const EtwSource *source, int index, struct EtwSessionInfo *info);
int EtwSourceWarningCount(const EtwSource *source);
const char *EtwSourceWarning(const EtwSource *source, int index); /* "FILE: at byte N: ..." */
double EtwSourceProgress(const EtwSource *source);                /* 0..1 */

#endif
