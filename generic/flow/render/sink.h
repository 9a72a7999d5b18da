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

/* What the width of a call is. */
typedef enum EtwWeight { ETW_WEIGHT_TIME, ETW_WEIGHT_COUNT, ETW_WEIGHT_WAIT } EtwWeight;
typedef enum EtwTimeFormat {
    /* Seconds since the start of the earliest file, live since the first event (text's default). */
    ETW_TIME_RELATIVE,
    ETW_TIME_ISO,
    ETW_TIME_NS, /* ns since 1970 */
    ETW_TIME_FILETIME
} EtwTimeFormat;

/* Columns of the caller's choice, for csv and list; the caller's until the sink is freed. */
typedef struct EtwSinkTable {
    const char *const *columns; /* sink_table.c has their names */
    int count;
    const char *const *headers; /* csv: the header row; NULL: the columns' names */
    int headerCount;            /* 0, and headers: no header row */
    char separator;
} EtwSinkTable;

typedef struct EtwSinkConfig {
    EtwFormat format;
    EtwTimeFormat timeFormat;
    bool color;
    bool stacks; /* text: a line for each address of a stack; json, list: `frames` beside `stack` */
    int width;   /* text: cut lines at this many columns; 0: never */
    bool messages; /* the events' messages: in text instead of their fields (those of WPP in any
                      case), else as a key or column more */
    const EtwSinkTable *table; /* NULL: the form's own columns */
    EtwWeight weight;          /* folded, flamegraph */
    const char *title;         /* flamegraph; valid UTF-8; NULL: the form's own */
    /* Called while the sink produces large output at the end, to write and empty the text. NULL: the
     * whole output is collected. */
    void (*drain)(void *ctx, EtwText *out);
    void *drainCtx;
} EtwSinkConfig;

typedef struct EtwSink EtwSink;
EtwSink *EtwSinkNew(const EtwSinkConfig *config, EtwSchemaStore *store);
void EtwSinkBegin(EtwSink *sink, const EtwSource *source, EtwText *out);
void EtwSinkEvent(EtwSink *sink, const EtwEvent *event, EtwText *out);
void EtwSinkEnd(EtwSink *sink, const EtwSource *source,
        EtwText *out); /* losses, warnings, what was left open */
/* A warning of the caller's own, behind those that EtwSinkEnd told; text shows it, the others do
 * not. */
void EtwSinkWarning(EtwSink *sink, const char *warning, EtwText *out);
void EtwSinkFree(EtwSink *sink);

#endif
