/*
 * flow/source/source.h --
 *
 *	Sources of events with a common interface: an .etl file, a live session, several of them merged by
 *	time. One thread uses a source. It owns what it reads; an event's pointers are valid until the next
 *	EtwSourceNext.
 */
#ifndef ETW_SOURCE_H
#define ETW_SOURCE_H

#include "base/status.h"
#include "etl/read/reader.h"
#include "event/event.h"
#include "schema/model/schema.h"

typedef struct EtwSource EtwSource;

/*
 * spec: a path, or session:NAME. A zip archive (.etl.zip, .diagsession) means all traces in it, merged
 * by time; ARCHIVE::MEMBER means one of them. A file of zstd (.etl.zst) means the trace in it. What perf of
 * Linux records (perf.data) is read as a trace of the same events.
 */
EtwStatus EtwSourceOpen(EtwSource **sourcePtr, const char *spec, EtwError *errPtr);
/* Takes ownership of the sources (also on failure). A single one is returned unchanged. */
EtwSource *EtwSourceMerge(EtwSource **sources, int count);
/*
 * A source around another one, which it owns. Its events have process and object; kernel events also
 * have the pid and tid that their records lack. stacks: stacks from separate records are attached to
 * their events, and these records are not delivered.
 */
EtwSource *EtwSourceTrack(EtwSource *inner, bool stacks);
/* The tracker of such a source, as of its last event; NULL: not such a source. */
struct EtwTrack;
const struct EtwTrack *EtwSourceTracked(const EtwSource *source);
/* Names of functions for the stacks of its events (symbol/symbols.h). It takes ownership. */
struct EtwSymbols;
void EtwSourceSetSymbols(EtwSource *source, struct EtwSymbols *symbols);
/*
 * ETW_OK, ETW_END, or ETW_AGAIN from live sources. With a pushed-down filter also ETW_PAUSE, so
 * that the caller can do other work while no event passes.
 */
EtwStatus EtwSourceNext(EtwSource *source, EtwEvent *event);
bool EtwSourceIsLive(const EtwSource *source);
void EtwSourceWait(EtwSource *source, int64_t timeoutNs); /* live: until there may be events, or
                                                  EtwSourceWake */
void EtwSourceWake(EtwSource *source);                    /* from another thread */
void EtwSourceClose(EtwSource *source);

/*
 * Another source on the same files, from their beginning, that delivers only events that pass, to look
 * ahead. Reports no warnings. It is closed before the first source. NULL: not possible (live sources, or
 * a file that was removed).
 */
EtwSource *EtwSourceReopen(const EtwSource *source, const EtlFilter *filter);
/*
 * Filter push-down: from now on only events that pass are needed. The source may omit others, but
 * need not. It still reads events with names and schemas that it needs.
 */
void EtwSourcePushFilter(EtwSource *source, const EtlFilter *filter);
/*
 * Collect in-band schemas for a store. Called once, before the first event. From files they are
 * collected before they are needed, from live sessions as they arrive. The store must outlive the source.
 */
void EtwSourceHarvest(EtwSource *source, EtwSchemaStore *store);

/* At the end: information on the files, losses, warnings. */
int EtwSourceFileCount(const EtwSource *source);
const EtlInfo *EtwSourceFileInfo(const EtwSource *source, int index, const char **pathPtr);
/* Lost events: those that the files report, and those that were overwritten before they were read live. */
uint64_t EtwSourceLost(const EtwSource *source);
/* Of these, the events that were overwritten before they were read live. Losses of files are warnings. */
uint64_t EtwSourceLostLive(const EtwSource *source);
/* Of the warnings, those that are neither losses nor damage. */
int EtwSourceNoticeCount(const EtwSource *source);
/* True if all files are closed and lack nothing, and the source has no warning but notices. */
bool EtwSourceIsWhole(const EtwSource *source);
struct EtwSessionInfo;
/*
 * The state and losses of the live session number `index`. ETW_END: there are fewer sessions;
 * another error: it has stopped.
 */
EtwStatus EtwSourceSession(const EtwSource *source, int index, struct EtwSessionInfo *info);
int EtwSourceWarningCount(const EtwSource *source);
const char *EtwSourceWarning(const EtwSource *source, int index); /* "FILE: at byte N: ..." */
double EtwSourceProgress(const EtwSource *source);                /* 0..1 */

#endif
