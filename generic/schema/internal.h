/*
 * schema/internal.h --
 *
 *	What the files of the schema room share and nobody else needs: reading TraceLogging
 *	metadata, and what is known without being told (our providers, Windows' kernel
 *	classes, the records of provider EventTrace).
 */
#ifndef ETW_SCHEMA_INTERNAL_H
#define ETW_SCHEMA_INTERNAL_H

#include "schema/kernel.h"

enum {
    ETW_MAX_FIELDS = 2048, /* of one event; more are refused */
    ETW_MAX_DEPTH = 16,    /* structs in structs */
    ETW_MAX_NAME = 512 /* bytes of a field's name: an array of structs shows it once an element */
};

/* ---- fields.c -------------------------------------------------------------------------------- */

/* Set span and counts of each field; false: members are missing, too deep, or a reference is not to
 * an earlier number. */
bool EtwFieldsFinish(EtwField *fields, int count);

/* ---- tracelogging.c -------------------------------------------------------------------------- */

/*
 * A schema from item 11 of an event, one block to be freed with EtwFree; provider is left "".
 * Fields that make no sense give a schema that has the event's name and no fields. NULL: not even a
 * name. *bytesPtr: what the block takes.
 */
EtwSchema *EtwTraceLoggingParse(const uint8_t *meta, size_t size, size_t *bytesPtr);
/* The provider's name in item 12; false: none. Neither NUL-terminated nor checked to be UTF-8. */
bool EtwTraitsName(const uint8_t *traits, size_t size, const uint8_t **namePtr, size_t *sizePtr);

/* ---- learn.c --------------------------------------------------------------------------------- */

/* What a store and its twins learned from their trace; thread-safe. */
typedef struct EtwLearned EtwLearned;
EtwLearned *EtwLearnedNew(void);
EtwLearned *EtwLearnedShare(EtwLearned *learned); /* for one user more, who frees it as well */
void EtwLearnedFree(EtwLearned *learned);
/* The definition that the event's trace gave; NULL: none. Asks the teacher first. */
const EtwProviderDef *EtwLearnedFind(EtwLearned *learned, const EtwEvent *event);
const char *EtwLearnedName(EtwLearned *learned, const EtwGuid *guid);
/* Take in an event that EtwSchemaTeaches says is one. */
void EtwLearn(EtwLearned *learned, const EtwEvent *event);
/* Schema of an event that carries a piece of a manifest; NULL: it is none. */
const EtwSchema *EtwChunkSchema(const EtwEvent *event);
/* See EtwSchemaAsk. */
void EtwLearnedAsk(EtwLearned *learned, EtwTeacher *teacher);
/* Rises with everything new that was learned. */
uint32_t EtwLearnedGeneration(const EtwLearned *learned);

/* ---- kernel.c -------------------------------------------------------------------------------- */

/* Name of a class of Windows' kernel logger or merge tools, NULL when it is none. */
const char *EtwKernelClassName(const EtwGuid *guid);
/* Name and GUID of the class number `index`; NULL: there are no more. Definitions: schema/kernel.h. */
const char *EtwKernelClassAt(int index, EtwGuid *guid);

/* ---- builtin.c ------------------------------------------------------------------------------- */

extern const char *const etwOwnProviders[]; /* names, NULL-terminated; GUIDs follow from them */

#endif
