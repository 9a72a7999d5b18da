/*
 * schema/store/schema_choice.h --
 *
 *	The schema of an event that does not describe itself. Several sources may describe it: the one whose
 *	description fits the payload is chosen.
 */
#ifndef ETW_SCHEMA_CHOICE_H
#define ETW_SCHEMA_CHOICE_H

#include "schema/store/inband_schema.h"

typedef struct EtwSchemaChoice {
    const EtwSchema *schema;  /* NULL: unknown */
    bool kernel;              /* from the tables of the kernel: EtwKernelSchema for each event */
    bool contested;           /* a loaded definition and another source describe it: another event's
                                payload may fit the other one */
    const EtwSchema *refused; /* of a loaded definition, which does not fit; NULL: none */
} EtwSchemaChoice;

/* Choose among the sources in the order stated in schema/model/schema.h. Decodes the event. */
void EtwSchemaChoose(EtwInband *inband, const EtwEvent *event, EtwSchemaChoice *choice);
/* The schema of the event in a provider's definition. NULL: not in it, or def is NULL. */
const EtwSchema *EtwSchemaDefined(const EtwProviderDef *def, const EtwEvent *event);
/* True if a loaded manifest names its provider otherwise than the provider with that GUID is known by. */
bool EtwSchemaDisguised(const EtwProviderDef *def);
/* True if the schema describes the payload to its last byte. Decodes the event. */
bool EtwSchemaFits(const EtwSchema *schema, const EtwEvent *event);

#endif
