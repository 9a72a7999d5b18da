/*
 * schema/model/decode.h --
 *
 *	Walks an event's payload along its schema and hands typed values to a visitor: the one
 *	decoder behind text, csv, json, Tcl dicts and predicates. Bounds-checked; a payload
 *	that ends early gives ETW_E_FORMAT after the values that fit; bytes left over at the
 *	end are told through `rest`.
 */
#ifndef ETW_DECODE_H
#define ETW_DECODE_H

#include "base/wide.h"
#include "schema/model/schema.h"

typedef enum EtwValueKind {
    ETW_V_NULL,
    ETW_V_INT,       /* i */
    ETW_V_UINT,      /* u */
    ETW_V_DOUBLE,    /* d */
    ETW_V_BOOL,      /* u is 0 or 1 */
    ETW_V_TEXT,      /* data/size: bytes, UTF-8 or ANSI */
    ETW_V_TEXT16,    /* data/size: UTF-16LE, size in bytes, even */
    ETW_V_BYTES,     /* data/size */
    ETW_V_GUID,      /* data: 16 bytes */
    ETW_V_SID,       /* data/size */
    ETW_V_FILETIME,  /* u: 100 ns since 1601 */
    ETW_V_SYSTEMTIME /* data: 16 bytes */
} EtwValueKind;

typedef struct EtwValue {
    EtwValueKind kind;
    uint8_t out;   /* ETW_OUT_* in force */
    uint8_t width; /* bytes of a number (as read: a port is already in host order) */
    union {
        int64_t i;
        uint64_t u;
        double d;
    };
    const uint8_t *data;
    size_t size;
} EtwValue;

/*
 * An array of characters (one- or two-byte integers shown as strings) is one text: it comes as a
 * single value, without begin and end. Of a fixed array the text ends at the first NUL.
 */
static inline bool EtwFieldIsChars(const EtwField *field)
{
    return field->array != ETW_SCALAR && field->out == ETW_OUT_STRING && field->in >= ETW_IN_INT8 &&
           field->in <= ETW_IN_UINT16;
}

typedef struct EtwVisitor {
    /* A scalar, or one element of an array (between begin and end). */
    void (*value)(void *ctx, const EtwField *field, const EtwValue *value);
    /* Array (count elements, -1: as many as there are bytes for) or struct (isStruct) begins / ends.
     * A struct array: begin(array), then begin(struct) per element. */
    void (*begin)(void *ctx, const EtwField *field, bool isStruct, int count);
    void (*end)(void *ctx, const EtwField *field, bool isStruct);
    /* Bytes behind the last field. May be NULL. */
    void (*rest)(void *ctx, const uint8_t *data, size_t size);
} EtwVisitor;

EtwStatus EtwDecode(
        const EtwSchema *schema, const EtwEvent *event, const EtwVisitor *visitor, void *ctx);

/* Decode just one top-level field by index (predicates, columns). ETW_E_FORMAT: payload too short.
 */
EtwStatus EtwDecodeField(
        const EtwSchema *schema, const EtwEvent *event, int index, EtwValue *value);

/*
 * How the value is best handed on as data (json, lists, Tcl, comparisons): as the text of
 * EtwFormatValue (true) or as the number in i, u or d (false; a BOOL's is 0 or 1). A value that a
 * map has a name for is text, and so are addresses; hex numbers, ports, error codes are numbers.
 * Times are text here; where they are to be numbers, EtwValueTime has them.
 */
bool EtwValueIsText(const EtwField *field, const EtwValue *value);

/* A FILETIME or SYSTEMTIME as ns since 1970; false: the value is something else. */
bool EtwValueTime(const EtwValue *value, EtwWide *nsPtr);
void EtwFormatWide(EtwText *out, EtwWide v);

/* A double as Tcl writes it: the shortest text that gives the same number, with a point or an
 * exponent. */
void EtwFormatDouble(EtwText *out, double d, bool single);

/*
 * Append a value as a person reads it: maps by name (number when unknown), addresses, ports, hex
 * with 0x, GUIDs, times as ISO 8601 UTC, SIDs as S-1-..., bytes as hex. Text is made valid UTF-8,
 * not quoted.
 */
void EtwFormatValue(EtwText *out, const EtwField *field, const EtwValue *value);

#endif
