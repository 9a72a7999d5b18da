/*
 * flow/relog/redact.h --
 *
 *	Redacts payload fields by name: texts become "***", numbers 0, bytes are removed. Counts and sizes
 *	of other fields remain correct. Header fields, stacks and extended items do not change.
 */
#ifndef ETW_REDACT_H
#define ETW_REDACT_H

#include "etl/write/record_rebuild.h"
#include "schema/model/schema.h"

typedef struct EtwRedact EtwRedact;

typedef enum EtwRedacted {
    ETW_REDACT_NONE,   /* the event has no such field */
    ETW_REDACT_DONE,   /* its record was replaced */
    ETW_REDACT_UNKNOWN /* its schema is unknown, or its payload does not fit it */
} EtwRedacted;

/*
 * globs match names of fields, members of structs, and whole structs or arrays, ignoring case.
 * Copied. The store must outlive it.
 */
EtwRedact *EtwRedactNew(EtwSchemaStore *store, const char *const *globs, int count);
void EtwRedactFree(EtwRedact *redact); /* accepts NULL */
/* The new record is valid as described at EtlRebuild. */
EtwRedacted EtwRedactEvent(EtwRedact *redact, EtlRebuild *rebuild, EtwEvent *event);
/* Globs that no field of any event matched: appends a sentence, or returns false. */
bool EtwRedactUnused(const EtwRedact *redact, EtwText *out);

#endif
