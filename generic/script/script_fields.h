/*
 * script/script_fields.h --
 *
 *	Stores the fixed parts of an event's payload: numbers, short texts, and the CallId and Depth with which
 *	enters and leaves begin. Each function returns the end. The caller provides enough space.
 */
#ifndef ETW_SCRIPT_FIELDS_H
#define ETW_SCRIPT_FIELDS_H

#include "script/script_text.h"
#include "base/bytes.h"

static inline char *put16(char *at, size_t value)
{
    EtwStore16(at, (uint16_t)value);
    return at + 2;
}

static inline char *put32(char *at, uint32_t value)
{
    EtwStore32(at, value);
    return at + 4;
}

/* A text field in standard UTF-8. */
static inline char *putText(char *at, const char *text, size_t size)
{
    EtwCopyShort(put16(at, size), text, size);
    return at + 2 + size;
}

static inline char *putHead(char *at, const EtwCall *call)
{
    uint64_t depth = call->packed & CALL_DEPTH;
    EtwStore64(at, call->id);
    return put16(at + 8, depth < 0xFFFF ? depth : 0xFFFF);
}

/* The caller of the command, as a text field of at most ETW_NAME_MAX bytes (script_calls.c). */
char *EtwPutContext(char *at, EtwScriptState *state, const EtwCallSite *place);

#endif
