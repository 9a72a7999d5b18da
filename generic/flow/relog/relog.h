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
    /* Applied to events, but not to schema events; borrowed, or NULL: */
    const EtlEdit *edit;
    EtwRedact *redact;
    EtwRename *rename;
    EtwSchemaEvents *describe; /* adds schemas; owned */
    EtlRebuild rebuild;
    EtwReorder reorder; /* moved or added events, until their time is reached */
    EtwReorder late;    /* events after their time; written as separate streams at the end */
    uint16_t logger, lateLogger;
    bool mixed;             /* some event was not in its input's order */
    EtwSplit *split;        /* NULL: one output */
    bool failed;            /* a piece could not be written */
    EtlSyntheticHeader own; /* for a source without a file */
    EtlBuilder *output;
    EtwText *to;
    uint64_t events, headers; /* written; records of header buffers, which are not copied */
    uint64_t tooBig;
    bool plain;        /* compression was requested, but is not possible */
    uint64_t schemas;  /* schema events that were added */
    uint64_t redacted; /* with masked values */
    uint64_t unknown;  /* omitted, because they could not be redacted */
} EtwRelog;

/* What the buffers of the output are like. */
typedef enum EtwRelogForm {
    ETW_RELOG_PLAIN,
    ETW_RELOG_COMPRESSED, /* each compressed, as in Windows' compressed files */
    ETW_RELOG_TO_PACK     /* large ones, for a caller that packs them (etl/compress/pack.h) */
} EtwRelogForm;
/* The header of the input that began first is the template; without a file, a synthetic header. */
EtwStatus EtwRelogOpen(
        EtwRelog *relog, const EtwSource *source, EtwRelogForm form, EtwText *to, EtwError *errPtr);
/* True if the event is a record of an input's header buffer. Such events must not be added. */
bool EtwRelogIsHeader(const EtwRelog *relog, const EtwEvent *event);
/* From now on, also add the events' schemas (flow/relog/schema_events.h). */
void EtwRelogDescribe(EtwRelog *relog, EtwSchemaStore *store);
/* From now on, write pieces (flow/relog/split.h). Must precede the first event. */
void EtwRelogSplit(EtwRelog *relog, EtwSplitKind kind, int64_t amount, const EtwSplitSink *sink,
        EtwSchemaStore *store);
void EtwRelogAdd(EtwRelog *relog, const EtwEvent *event);
/*
 * Change the event's time, rounded to a tick of the output's clock. Its record is replaced, and
 * valid as described at EtlRebuild. False: its record has no time.
 */
bool EtwRelogMove(EtwRelog *relog, EtwEvent *event, int64_t time);
/* Add an event at another time than that of the input's current event; it is written in time order.
 * EtwRelogMove was called for it. */
void EtwRelogReorder(EtwRelog *relog, const EtwEvent *event);
/* Add events of the reorder buffer up to that time, before the input's event of that time. */
void EtwRelogAddReordered(EtwRelog *relog, int64_t until);
/* The logger id of events that are not from an input. */
uint16_t EtwRelogLogger(const EtwRelog *relog);
/* Append the rest; *header: the contents of the output's start, empty if there are pieces. */
void EtwRelogEnd(EtwRelog *relog, EtwText *header);
/*
 * For a pipe: finish the current slice in *to. EtwRelogRestart begins a new one when *to has been
 * emptied. EtwRelogLast replaces EtwRelogEnd.
 */
void EtwRelogSlice(EtwRelog *relog);
void EtwRelogRestart(EtwRelog *relog);
void EtwRelogLast(EtwRelog *relog);
void EtwRelogClose(EtwRelog *relog);           /* also if it is zeroed */
uint64_t EtwRelogBytes(const EtwRelog *relog); /* written, to all files */
/*
 * The inputs' clocks differ: records were aligned by wall clock. Appends a sentence, or returns
 * false.
 */
bool EtwRelogAligned(const EtwRelog *relog, EtwText *out);
/* Records that could not be edited; the same. */
bool EtwRelogUnset(const EtwRelog *relog, EtwText *out);
/* Events that were omitted because their payload could not be decoded; the same. */
bool EtwRelogUnknown(const EtwRelog *relog, EtwText *out);
/* Globs of -redact that no field matched; the same. */
bool EtwRelogUnmatched(const EtwRelog *relog, EtwText *out);
/* Compression was requested, but is not possible; the same. */
bool EtwRelogPlain(const EtwRelog *relog, EtwText *out);
/* Schemas that could not be added; the same. */
bool EtwRelogUndescribed(const EtwRelog *relog, EtwText *out);
/* Events that are missing in pieces; the same. */
bool EtwRelogRundownDropped(const EtwRelog *relog, EtwText *out);

#endif
