/*
 * schema/store/inband_schema.h --
 *
 *	In-band schemas: manifests of EventSource in chunks, metadata of merged files. Shared by a
 *	schema store and its clones.
 */
#ifndef ETW_INBAND_SCHEMA_H
#define ETW_INBAND_SCHEMA_H

#include "schema/model/provider_def.h"

/* The in-band schemas of a store and its clones. Thread-safe. */
typedef struct EtwInband EtwInband;
EtwInband *EtwInbandNew(void);
EtwInband *EtwInbandRef(EtwInband *inband); /* add a reference */
void EtwInbandUnref(EtwInband *inband);
/* The definition that the event's trace contains; NULL: none. Runs the harvesters first. */
const EtwProviderDef *EtwInbandFind(EtwInband *inband, const EtwEvent *event);
const char *EtwInbandName(EtwInband *inband, const EtwGuid *guid);
/* Add an event for which EtwEventIsSchema is true. */
void EtwInbandAdd(EtwInband *inband, const EtwEvent *event);
/* Schema of an event that contains a chunk of a manifest; NULL: another event. */
const EtwSchema *EtwChunkSchema(const EtwEvent *event);
/* See EtwSchemaAddHarvester. */
void EtwInbandAddHarvester(EtwInband *inband, EtwSchemaHarvester *harvester);
/* Incremented by every addition. */
uint32_t EtwInbandGeneration(const EtwInband *inband);

#endif
