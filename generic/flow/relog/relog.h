/*
 * flow/relog/relog.h --
 *
 *	Writes events of a source as a new .etl file: chooses the input whose header is the template, keeps
 *	records of the inputs' header buffers, and combines losses and end times. The bytes are collected in
 *	a text, which the caller writes and empties. The caller selects the events.
 */
#ifndef ETW_RELOG_H
#define ETW_RELOG_H

#include "etl/write/synthetic_header.h"
#include "etl/write/file_builder.h"
#include "flow/relog/schema_events.h"
#include "flow/relog/reorder_buffer.h"
#include "flow/relog/redact.h"
#include "flow/relog/rename.h"
#include "flow/source/source.h"
#include "flow/relog/split.h"

typedef struct EtwRelog {
    const EtwSource *source; /* borrowed */
    /* Of the events, not of those that describe others; borrowed, or NULL: */
    const EtlEdit *edit;
    EtwRedact *redact;
    EtwRename *rename;
    EtwSchemaEvents *describe; /* adds schemas; the relog's own */
    EtlRebuild rebuild;
    EtwReorder reorder; /* moved or added: their turn comes */
    EtwReorder late;    /* their turn was over; they become streams of their own at the end */
    uint16_t logger, lateLogger;
    bool mixed;             /* some event was not in its input's order */
    EtwSplit *split;        /* NULL: one output */
    bool failed;            /* some piece could not be written */
    EtlSyntheticHeader own; /* of a source without a file */
    EtlBuilder *output;
    EtwText *to;
    uint64_t events, headers; /* written; records of header buffers, which are not written again */
    uint64_t tooBig;
    bool plain;       /* it was to be compressed, and cannot be */
    uint64_t schemas; /* events of metadata that were added */
    uint64_t unknown; /* left out: they could not be redacted */
} EtwRelog;

/* The header of the input that began first is the template; without a file, a synthetic header. */
EtwStatus EtwRelogOpen(
        EtwRelog *relog, const EtwSource *source, bool compressed, EtwText *to, EtwError *errPtr);
/* Is the event a record of an input's header buffer? Such ones are not to be added. */
bool EtwRelogIsHeader(const EtwRelog *relog, const EtwEvent *event);
/* From now on, what is known of the events is added, too (flow/relog/schema_events.h). */
void EtwRelogDescribe(EtwRelog *relog, EtwSchemaStore *store);
/* From now on all goes into pieces (flow/relog/split.h) instead; nothing was added yet. */
void EtwRelogSplit(EtwRelog *relog, EtwSplitKind kind, int64_t amount, const EtwSplitSink *sink,
        EtwSchemaStore *store);
void EtwRelogAdd(EtwRelog *relog, const EtwEvent *event);
/*
 * Give the event another time, to the tick of the output's clock. Its record is a new one then, valid
 * as EtlRebuild says. False: its record has no time.
 */
bool EtwRelogMove(EtwRelog *relog, EtwEvent *event, int64_t time);
/* Add an event at another time than that of the input's current event; it is written in time order.
 * EtwRelogMove was called for it. */
void EtwRelogReorder(EtwRelog *relog, const EtwEvent *event);
/* Add those that are held up to that time: before the input's event of that time. */
void EtwRelogAddReordered(EtwRelog *relog, int64_t until);
/* The logger id of events that are not from an input. */
uint16_t EtwRelogLogger(const EtwRelog *relog);
/* Append the rest; *header: what belongs at the start of the output, nothing where there are pieces. */
void EtwRelogEnd(EtwRelog *relog, EtwText *header);
/*
 * Through a pipe: what was added so far goes into *to as a slice, and a new one begins when it has
 * been emptied (EtwRelogRestart). EtwRelogLast in the place of EtwRelogEnd.
 */
void EtwRelogSlice(EtwRelog *relog);
void EtwRelogRestart(EtwRelog *relog);
void EtwRelogLast(EtwRelog *relog);
void EtwRelogClose(EtwRelog *relog);           /* of one that was zeroed, too */
uint64_t EtwRelogBytes(const EtwRelog *relog); /* written, of all files */
/* The inputs' clocks are not the same: records were aligned by wall clock. A sentence, or false. */
bool EtwRelogAligned(const EtwRelog *relog, EtwText *out);
/* Records that could not be edited; the same. */
bool EtwRelogUnset(const EtwRelog *relog, EtwText *out);
/* Events that were left out because their payload could not be looked at; the same. */
bool EtwRelogUnknown(const EtwRelog *relog, EtwText *out);
/* It was to be compressed, and cannot be; the same. */
bool EtwRelogPlain(const EtwRelog *relog, EtwText *out);
/* Schemas that could not be added; the same. */
bool EtwRelogUndescribed(const EtwRelog *relog, EtwText *out);
/* What pieces lack; the same. */
bool EtwRelogRundownDropped(const EtwRelog *relog, EtwText *out);

#endif
