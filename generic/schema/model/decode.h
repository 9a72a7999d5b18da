/*
 * schema/model/decode.h --
 *
 *	Decodes an event's payload by its schema and passes typed values to a visitor. All text formats, Tcl
 *	dicts and predicates use this decoder. Bounds are checked: a payload that ends early returns
 *	ETW_E_FORMAT after the values that are complete. Bytes after the last field are passed to `rest`.
 */
#ifndef ETW_DECODE_H
#define ETW_DECODE_H

#include "base/wide.h"
#include "schema/model/schema.h"

typedef enum EtwValueKind {
    ETW_V_NULL,
    ETW_V_INT,        /* i */
    ETW_V_UINT,       /* u */
    ETW_V_DOUBLE,     /* d */
    ETW_V_BOOL,       /* u is 0 or 1 */
    ETW_V_TEXT,       /* data/size: bytes, UTF-8 or ANSI */
    ETW_V_TEXT16,     /* data/size: UTF-16LE, size in bytes, even */
    ETW_V_BYTES,      /* data/size */
    ETW_V_GUID,       /* data: 16 bytes */
    ETW_V_SID,        /* data/size */
    ETW_V_FILETIME,   /* u: 100 ns since 1601 */
    ETW_V_SYSTEMTIME, /* data: 16 bytes */
    ETW_V_ENCODED     /* only of a source of EtwEncode: it has appended the value's bytes itself */
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
 * An array of characters (one- or two-byte integers with a string out-type) is passed as one text
 * value, without begin and end. The text of a fixed array ends at the first NUL.
 */
static inline bool EtwFieldIsChars(const EtwField *field)
{
    return field->array != ETW_SCALAR && field->out == ETW_OUT_STRING && field->in >= ETW_IN_INT8 &&
           field->in <= ETW_IN_UINT16;
}

typedef struct EtwVisitor {
    /* A scalar, or one element of an array (between begin and end). */
    void (*value)(void *ctx, const EtwField *field, const EtwValue *value);
    /*
     * Begin or end of an array (count elements, -1: up to the payload's end) or struct (isStruct).
     * An array of structs: begin(array), then begin(struct) for each element.
     */
    void (*begin)(void *ctx, const EtwField *field, bool isStruct, int count);
    void (*end)(void *ctx, const EtwField *field, bool isStruct);
    /* Bytes after the last field. May be NULL. */
    void (*rest)(void *ctx, const uint8_t *data, size_t size);
} EtwVisitor;

EtwStatus EtwDecode(
        const EtwSchema *schema, const EtwEvent *event, const EtwVisitor *visitor, void *ctx);
/*
 * The same, but decoding ends, with ETW_OK, before the next top-level field when the visitor has set
 * *stop. `rest` is then not called.
 */
EtwStatus EtwDecodeUntil(const EtwSchema *schema, const EtwEvent *event, const EtwVisitor *visitor,
        void *ctx, const bool *stop);

/* Decode just one top-level field by index (predicates, columns). ETW_E_FORMAT: payload too short.
 */
EtwStatus EtwDecodeField(
        const EtwSchema *schema, const EtwEvent *event, int index, EtwValue *value);

/* The kind of the values of a BINARY, by its out-type. */
EtwValueKind EtwBinaryKind(uint8_t out);
/* Bytes of a text before its first NUL; all, if it has none. */
size_t EtwUntilNul(const EtwValue *value);

/*
 * The representation of a value as data (json, lists, Tcl, comparisons). True: the text of
 * EtwFormatValue. False: the number in i, u or d (0 or 1 for a BOOL). Values with a name in a map and
 * addresses are text. Hexadecimal numbers, ports and error codes are numbers. Times are text;
 * EtwValueTime returns them as numbers.
 */
bool EtwValueIsText(const EtwField *field, const EtwValue *value);

/* A FILETIME or SYSTEMTIME as ns since 1970; false: the value is something else. */
bool EtwValueTime(const EtwValue *value, EtwWide *nsPtr);
void EtwFormatWide(EtwText *out, EtwWide v);

/* Append a double in Tcl's notation: the shortest text that reads as the same number, with a point or
 * an exponent. */
void EtwFormatDouble(EtwText *out, double d, bool single);

/*
 * Append a value as text for display: names from maps (numbers when unknown), addresses, ports,
 * hexadecimal with 0x, GUIDs, times as ISO 8601 UTC, SIDs as S-1-..., bytes as hexadecimal. Text
 * becomes valid UTF-8 and is not quoted.
 */
void EtwFormatValue(EtwText *out, const EtwField *field, const EtwValue *value);

#endif
