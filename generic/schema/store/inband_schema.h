/*
 * schema/store/inband_schema.h --
 *
 *	Schemas that a trace carries in-band: manifests of EventSource in pieces, metadata of merged
 *	files. Shared by a schema store and its clones.
 */
#ifndef ETW_INBAND_SCHEMA_H
#define ETW_INBAND_SCHEMA_H

#include "schema/model/provider_def.h"

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

#endif
