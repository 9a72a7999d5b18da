/*
 * schema/internal.h --
 *
 *	What the files of the schema room share and nobody else needs: reading TraceLogging
 *	metadata, and what is known without being told (our providers, Windows' kernel
 *	classes, the records of provider EventTrace).
 */
#ifndef ETW_SCHEMA_INTERNAL_H
#define ETW_SCHEMA_INTERNAL_H

#include "schema/schema.h"

enum {
    TL_MAX_FIELDS = 2048, /* of one event; metadata with more is refused */
    TL_MAX_DEPTH = 16,    /* structs in structs */
    TL_MAX_NAME = 512 /* bytes of a field's name: an array of structs shows it once an element */
};

/* In-type of built-in schemas only: `count` bytes (0: a pointer) that are passed over and never
 * shown. */
enum { ETW_IN_SKIP = 64 };

/* ---- tracelogging.c -------------------------------------------------------------------------- */

/*
 * A schema from item 11 of an event, one block to be freed with EtwFree; provider is left "".
 * Fields that make no sense give a schema that has the event's name and no fields. NULL: not even a
 * name. *bytesPtr: what the block takes.
 */
EtwSchema *EtwTraceLoggingParse(const uint8_t *meta, size_t size, size_t *bytesPtr);
/* The provider's name in item 12; false: none. Neither NUL-terminated nor checked to be UTF-8. */
bool EtwTraitsName(const uint8_t *traits, size_t size, const uint8_t **namePtr, size_t *sizePtr);

/* ---- builtin.c ------------------------------------------------------------------------------- */

extern const EtwGuid etwEventTraceGuid;     /* 68fdd900-...: file headers and their like */
extern const char *const etwOwnProviders[]; /* names, NULL-terminated; GUIDs follow from them */

/* Name of a class of Windows' kernel logger, NULL when it is none. */
const char *EtwKernelClassName(const EtwGuid *guid);
/* Schema of an EventTrace record by its opcode; NULL: not known. */
const EtwSchema *EtwEventTraceSchema(uint8_t opcode);

#endif
