/*
 * flow/render/sink.h --
 *
 *	Sinks: text formats for events. The listing, csv, json lines, Tcl lists, and formats of other tools.
 *	A sink decodes events (schema/model/decode.h) and appends to an EtwText, which the caller writes to a
 *	channel and empties when it is large enough.
 */
#ifndef ETW_SINK_H
#define ETW_SINK_H

#include "flow/render/format_registry.h"
#include "flow/source/source.h"
#include "schema/model/decode.h"

/* What the width of a frame represents. */
typedef enum EtwWeight {
    ETW_WEIGHT_TIME, /* of a trace without calls: CPU samples */
    ETW_WEIGHT_COUNT,
    ETW_WEIGHT_WAIT,   /* of a trace without calls: ETW_WEIGHT_OFF_CPU */
    ETW_WEIGHT_SAMPLE, /* time on the CPU, by samples */
    ETW_WEIGHT_OFF_CPU /* time off the CPU, by the stacks of context switches */
} EtwWeight;
typedef enum EtwTimeFormat {
    /*
     * Seconds since the start of the earliest file; live since the first event (default of text).
     */
    ETW_TIME_RELATIVE,
    ETW_TIME_ISO,
    ETW_TIME_NS, /* ns since 1970 */
    ETW_TIME_FILETIME
} EtwTimeFormat;
extern const char *const etwTimeFormatNames[]; /* of users; NULL at the end */

/* Columns selected by the caller, for csv and list; borrowed until the sink is freed. */
typedef struct EtwSinkTable {
    const char *const *columns; /* sink_table.c has their names */
    int count;
    const char *const *headers; /* csv: the header row; NULL: the columns' names */
    int headerCount;            /* 0 and headers not NULL: no header row */
    char separator;
} EtwSinkTable;

typedef struct EtwSinkConfig {
    EtwFormat format;
    EtwTimeFormat timeFormat;
    bool color;
    bool stacks; /* text: a line for each address of a stack; json, list: `frames` in addition to
                    `stack` */
    int width;   /* text: cut lines at this many columns; 0: never */
    bool raw;    /* text: the bytes of the payload below each line */
    const char *const *columns; /* text: their names (EtwListingHasColumn); NULL: the default.
                                   Borrowed until the sink is freed */
    int columnCount;
    const char *dash; /* text: what options begin with, for the reader's next command; NULL: "-" */
    bool messages;    /* messages: in text instead of fields (always for WPP), else in addition */
    const EtwSinkTable *table; /* NULL: the format's own columns */
    EtwWeight weight;          /* folded, flamegraph */
    const char *title;         /* flamegraph; valid UTF-8; NULL: the default */
    /* Called while the sink produces large output at the end, to write and empty the text. NULL: the
     * whole output is collected. */
    void (*drain)(void *ctx, EtwText *out);
    void *drainCtx;
} EtwSinkConfig;

typedef struct EtwSink EtwSink;
EtwSink *EtwSinkNew(const EtwSinkConfig *config, EtwSchemaStore *store);
void EtwSinkBegin(EtwSink *sink, const EtwSource *source, EtwText *out);
void EtwSinkEvent(EtwSink *sink, const EtwEvent *event, EtwText *out);
void EtwSinkEnd(
        EtwSink *sink, const EtwSource *source, EtwText *out); /* losses, warnings, open calls */
/*
 * After EtwSinkEnd: what the events lack that the format shows ("calls"), so that its output is empty.
 * NULL: there is something to see, or the format shows all events.
 */
const char *EtwSinkLacks(const EtwSink *sink);
/* True for a name of -fields that is not a field of the payload. */
bool EtwColumnIsKnown(const char *name);
/* text: the number of lines that were cut, so far. */
uint64_t EtwSinkCutLines(const EtwSink *sink);
/* Columns of text: their names without abbreviations, NULL at the end; whether there is such a column. */
extern const char *const etwListingColumnNames[];
bool EtwListingHasColumn(const char *name);
/* Before EtwSinkEnd: the source was not read to its end, so that text does not list calls that are open. */
void EtwSinkPartial(EtwSink *sink);
/* A warning of the caller after those of EtwSinkEnd. Shown by text, ignored by the others. */
void EtwSinkWarning(EtwSink *sink, const char *warning, EtwText *out);
void EtwSinkFree(EtwSink *sink);

#endif
