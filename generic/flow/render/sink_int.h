/*
 * flow/render/sink_int.h --
 *
 *	Shared by the text formats: the sink's struct, numbers and times without printf, and the keys of an
 *	event. For sink*.c only.
 */
#ifndef ETW_SINK_INT_H
#define ETW_SINK_INT_H

#include "flow/render/escape.h"
#include "flow/render/sink.h"
#include "flow/track/name_tracker.h"
#include "base/calendar.h"

/* One text form. All but event may be NULL. */
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
    void *own;       /* the form's */
    EtwText scratch; /* one value, or one column */
    EtwText scratch2;
    EtwText message;
    int64_t base; /* time zero of relative times */
    bool based;
    int64_t second;  /* whole second that secondText is of, relative or since 1970 */
    bool negative;   /* of secondText, when relative */
    int secondWidth; /* relative whole seconds are padded to so many digits */
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

/* A name or text that is most often a few bytes: without a call then. */
static inline void EtwAddShort(EtwText *out, const void *data, size_t size)
{
    if (out->capacity - out->size < size) {
        EtwTextReserve(out, size);
    }
    EtwCopyShort(out->data + out->size, data, size);
    out->size += size;
}

/* In a loop of the sink: let the caller empty the text when it is large. */
static inline void EtwSinkMore(const EtwSink *sink, EtwText *out)
{
    if (sink->config.drain != NULL && out->size >= 64 * 1024) {
        sink->config.drain(sink->config.drainCtx, out);
    }
}

/*
 * The event's time by the sink's format: +0.000123, 2026-11-21T08:23:12.123456789Z, ns or FILETIME.
 * `digits` (6 or 9) are those behind the point. *out has room for 64 bytes more.
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
 * The header's keys and values, in the order that lists and json have them; those that mean nothing
 * for this event are left out.
 */
typedef void EtwHeaderProc(
        EtwText *out, const char *key, const char *text, size_t size, bool number);
void EtwSinkHeader(EtwSink *sink, const EtwEvent *event, const EtwSchema *schema, EtwText *out,
        EtwHeaderProc *proc);
/* EtwSinkTime without the plus sign, ns shown. */
void EtwSinkDataTime(EtwSink *sink, int64_t time, EtwText *out);
/* Put the event's message into sink->message; false: it has none, or they are not wanted. */
bool EtwSinkMessage(EtwSink *sink, const EtwEvent *event, const EtwSchema *schema);
/* The error of an event whose decoding returned ETW_E_FORMAT. */
#define ETW_TOO_SHORT "payload does not fit its schema"

/*
 * The payload as a JSON object (sink_json.c), with what the schema does not cover under _payload or
 * _rest. withError: a payload that ends early is told under _error. ETW_FORMAT_ROWS: numbers beyond
 * 63 bits are text. The result is EtwDecode's.
 */
EtwStatus EtwJsonProps(EtwSink *sink, const EtwEvent *event, const EtwSchema *schema, EtwText *out,
        bool withError);

/*
 * One column of the caller's choice (sink_table.c): a name of the header's, else a field of the payload.
 * Append the event's value as text, nothing where it has none; the sink gives times and names.
 */
typedef struct EtwColumn EtwColumn;
EtwColumn *EtwColumnNew(const char *name);
void EtwColumnAdd(EtwColumn *column, EtwSink *sink, const EtwEvent *event, const EtwSchema *schema,
        EtwText *out);
/* Index of the payload's field, -1: the schema has no such one, or it is a column of the header. */
int EtwColumnField(EtwColumn *column, const EtwSchema *schema);
void EtwColumnFree(EtwColumn *column);

#endif
