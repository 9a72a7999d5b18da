/*
 * flow/render/sink_int.h --
 *
 *	Shared by the text formats: the sink's struct, numbers and times without printf, and the keys of an
 *	event. For sink*.c only.
 */
#ifndef ETW_SINK_INT_H
#define ETW_SINK_INT_H

#include "event/event_fields.h"
#include "flow/render/escape.h"
#include "flow/render/sink.h"
#include "flow/track/stack_frames.h"
#include "base/calendar.h"

/* A text format. All members except event may be NULL. */
typedef struct EtwSinkOps {
    void (*init)(EtwSink *sink);
    void (*begin)(EtwSink *sink, const EtwSource *source, EtwText *out);
    void (*event)(EtwSink *sink, const EtwEvent *event, const EtwSchema *schema, EtwText *out);
    void (*end)(EtwSink *sink, const EtwSource *source, EtwText *out);
    void (*warning)(EtwSink *sink, const char *warning, EtwText *out);
    void (*free)(EtwSink *sink);
} EtwSinkOps;

struct EtwSink {
    EtwSinkConfig config;
    EtwSchemaStore *store;
    const EtwTrack *track; /* of the source, NULL: it has none */
    const EtwSinkOps *ops;
    void *own;         /* state of the format */
    const char *lacks; /* what the trace lacks for this format: "calls"; NULL: nothing */
    EtwText scratch;   /* one value, or one column */
    EtwText scratch2;
    EtwText message;
    int64_t base; /* time zero of relative times */
    bool based;
    bool partial;    /* EtwSinkPartial */
    bool fromFile;   /* it is the start of a file's session, not the first event */
    int64_t second;  /* the whole second in secondText, relative or since 1970 */
    bool negative;   /* relative: secondText is negative */
    int secondWidth; /* relative whole seconds are padded to this number of digits */
    char secondText[32];
    int secondSize;
};

extern const EtwSinkOps etwSinkTable; /* -fields; the others: format_registry.h */

static inline void EtwAddDecimal(EtwText *out, uint64_t v)
{
    EtwTextReserve(out, 20);
    out->size = (size_t)(EtwPutDecimal(out->data + out->size, v) - out->data);
}

static inline void EtwAddSigned(EtwText *out, int64_t v)
{
    if (v < 0) {
        EtwTextChar(out, '-');
    }
    EtwAddDecimal(out, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

/* Appends a text that is usually a few bytes, without a function call in that case. */
static inline void EtwAddShort(EtwText *out, const void *data, size_t size)
{
    if (out->capacity - out->size < size) {
        EtwTextReserve(out, size);
    }
    EtwCopyShort(out->data + out->size, data, size);
    out->size += size;
}

/* Called in loops of the sink: the caller writes and empties a large text. */
static inline void EtwSinkMore(const EtwSink *sink, EtwText *out)
{
    if (sink->config.drain != NULL && out->size >= 64 * 1024) {
        sink->config.drain(sink->config.drainCtx, out);
    }
}

/*
 * The event's time in the sink's format: +0.000123, 2026-11-21T08:23:12.123456789Z, ns or FILETIME.
 * `digits` (6 or 9) are the decimals. *out must have space for 64 bytes.
 */
void EtwSinkTime(EtwSink *sink, int64_t time, int digits, EtwText *out);
/* Name of the event's provider, or its GUID as text (in `guid`). */
const char *EtwSinkProvider(const EtwSink *sink, const EtwEvent *event, const EtwSchema *schema,
        char guid[ETW_GUID_TEXT]);
static inline const char *EtwSinkEventName(const EtwSchema *schema)
{
    return schema ? schema->event : "";
}

/*
 * The header's keys and values, in the order of the formats list and json, without those that do
 * not apply to this event.
 */
typedef void EtwHeaderProc(
        EtwText *out, const char *key, const char *text, size_t size, bool number);
void EtwSinkHeader(EtwSink *sink, const EtwEvent *event, const EtwSchema *schema, EtwText *out,
        EtwHeaderProc *proc);
/* EtwSinkTime without the plus sign and with ns. */
void EtwSinkDataTime(EtwSink *sink, int64_t time, EtwText *out);
/*
 * Store the event's message in sink->message. False: there is none, or messages are not requested.
 */
bool EtwSinkMessage(EtwSink *sink, const EtwEvent *event, const EtwSchema *schema);
/* The callbacks of EtwJsonProps, for a visitor that needs a part of the payload (sink_json.c). */
typedef struct EtwJsonBuilder {
    EtwText *out;
    EtwText *scratch;
    uint64_t lists; /* a bit for each open container, innermost lowest; 1: a list (no names) */
    bool narrow;    /* for a database: all integers of up to 63 bits are numbers */
    bool bare;      /* the schema has no fields: the remaining bytes are the payload */
} EtwJsonBuilder;
void EtwJsonValue(void *builder, const EtwField *field, const EtwValue *value);
void EtwJsonBegin(void *builder, const EtwField *field, bool isStruct, int count);
void EtwJsonEnd(void *builder, const EtwField *field, bool isStruct);
/* The addresses of the event's stack, and their names, as lists. */
void EtwJsonStack(const EtwEvent *event, EtwText *out);
void EtwJsonFrames(EtwSink *sink, const EtwEvent *event, EtwText *out);
/* A JSON string of bytes that may be invalid UTF-8. */
void EtwSinkJsonText(EtwSink *sink, const char *text, size_t size, EtwText *out);
/* The error of an event whose decoding returned ETW_E_FORMAT. */
#define ETW_TOO_SHORT "payload does not fit its schema"

/*
 * The payload as a JSON object (sink_json.c), with bytes that the schema does not cover in _payload
 * or _rest. withError: a truncated payload is reported in _error. ETW_FORMAT_ROWS: numbers beyond
 * 63 bits are text. Returns the result of EtwDecode.
 */
EtwStatus EtwJsonProps(EtwSink *sink, const EtwEvent *event, const EtwSchema *schema, EtwText *out,
        bool withError);

/*
 * A column selected by the caller (sink_table.c): the name of a header column, otherwise of a
 * payload field. Appends the event's value as text, nothing if it has none; the sink formats times
 * and names.
 */
typedef struct EtwColumn EtwColumn;
#define ETW_COLUMN_OF(id, name) ETW_COLUMN_##id,
typedef enum EtwColumnId {
    ETW_COLUMN_NONE = -1, /* a field of the payload */
    ETW_FIELDS_HEADER(ETW_COLUMN_OF) ETW_FIELDS_PARTS(ETW_COLUMN_OF)
            ETW_FIELDS_MESSAGE(ETW_COLUMN_OF) ETW_FIELDS_TEXTS(ETW_COLUMN_OF)
                    ETW_FIELDS_TIMES(ETW_COLUMN_OF) ETW_FIELDS_COLUMN(ETW_COLUMN_OF) ETW_COLUMNS
} EtwColumnId;
EtwColumn *EtwColumnNew(const char *name);
EtwColumn *EtwColumnNewOf(EtwColumnId id);
void EtwColumnAdd(EtwColumn *column, EtwSink *sink, const EtwEvent *event, const EtwSchema *schema,
        EtwText *out);
/* Index of the payload's field, -1: the schema has no such field, or it is a header column. */
int EtwColumnField(EtwColumn *column, const EtwSchema *schema);
/*
 * The number in the column: a field of the payload that is no array, or what a header column shows.
 * False: the event has none. The kind of a field may be another one than a number.
 */
bool EtwColumnNumber(EtwColumn *column, EtwSink *sink, const EtwEvent *event,
        const EtwSchema *schema, EtwValue *value);
void EtwColumnFree(EtwColumn *column);

#endif
