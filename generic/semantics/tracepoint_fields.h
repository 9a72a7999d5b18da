/*
 * semantics/tracepoint_fields.h --
 *
 *	The fields of a Linux tracepoint, and how they become fields of an event with the tracepoint's name.
 *	The events of a session (unix/kernel) and those of perf's files (flow/source/perf) are the same
 *	because both are made here. Numbers keep size and sign, char arrays become text, arrays of numbers
 *	stay arrays, pointers are hexadecimal, arrays of 4 or 16 bytes with the name of an address become
 *	addresses. All other fields are bytes.
 */
#ifndef ETW_TRACEPOINT_FIELDS_H
#define ETW_TRACEPOINT_FIELDS_H

#include "base/bytes.h"
#include "etw.h"

/* A field as the kernel describes it. */
typedef struct EtwTracepointField {
    const char *name;
    uint32_t offset, size; /* in the record */
    uint32_t elementSize;  /* of an array */
    bool isSigned, isArray, isPointer;
    bool isText;     /* an array of char */
    bool isUlong;    /* unsigned long */
    bool isDynamic;  /* the field has the place of its data: u16 offset, u16 size */
    bool isRelative; /* the offset counts from the end of the field */
} EtwTracepointField;

/* How a field is copied from the record into the payload. */
typedef enum EtwTracepointCopy {
    ETW_COPY_PLAIN, /* unchanged: numbers, arrays of numbers, IPv4 addresses */
    ETW_COPY_TEXT,  /* char array: counted, up to the NUL */
    ETW_COPY_BYTES  /* counted */
} EtwTracepointCopy;

typedef struct EtwTracepointPart {
    uint8_t copy; /* EtwTracepointCopy */
    bool isDynamic, isRelative;
    uint16_t offset, size;
} EtwTracepointPart;

enum { ETW_TRACEPOINT_FIELDS = 120, ETW_TRACEPOINT_MAX = 65535 /* offset + size of a field */ };

/* The field of the event, and how it is copied. The field's end is at most ETW_TRACEPOINT_MAX. */
void EtwTracepointDescribe(
        const EtwTracepointField *from, Etw_Field *field, EtwTracepointPart *part);
/* The data of a dynamic field: in the record, or empty. Size 4; inside the record. */
EtwBytes EtwTracepointDynamic(
        uint16_t offset, bool relative, const uint8_t *record, uint32_t recordSize);
/*
 * Copy a field to `at`, and return where it ends. The record has the whole field. Texts and bytes are
 * cut at `end`; behind it there must be room for the record and 2 bytes for each field.
 */
uint8_t *EtwTracepointCopyPart(const EtwTracepointPart *part, const uint8_t *record,
        uint32_t recordSize, uint8_t *at, const uint8_t *end);

/* ---- The kernel's text ----------------------------------------------------------------------- */

/* The text of events/SYSTEM/EVENT/format; changed by reading it: the names in the result are parts of it. */
typedef struct EtwTracepointFormat {
    const char *name;
    uint32_t id;
    int count; /* fields that are not common to all tracepoints */
    EtwTracepointField fields[ETW_TRACEPOINT_FIELDS];
} EtwTracepointFormat;

/* text: ends with a NUL. False: it describes no tracepoint. */
bool EtwTracepointFormatParse(EtwTracepointFormat *format, char *text);

#endif
