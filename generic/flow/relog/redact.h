/*
 * flow/relog/redact.h --
 *
 *	Payload fields of certain names blotted out: texts become "***", numbers 0, bytes none. What
 *	other fields mean stays right (counts and sizes are kept or follow). Header fields, stacks and
 *	extended items are not looked at.
 */
#ifndef ETW_REDACT_H
#define ETW_REDACT_H

#include "etl/write/record_rebuild.h"
#include "schema/model/schema.h"

typedef struct EtwRedact EtwRedact;

typedef enum EtwRedacted {
    ETW_REDACT_NONE,   /* the event has no such field */
    ETW_REDACT_DONE,   /* it is a new record now */
    ETW_REDACT_UNKNOWN /* nobody knows what is in its payload, or it does not fit its schema */
} EtwRedacted;

/* globs: of names of fields, members of structs and whole structs or arrays; upper and lower case
 * are the same. Copied. The store must outlive it. */
EtwRedact *EtwRedactNew(EtwSchemaStore *store, const char *const *globs, int count);
void EtwRedactFree(EtwRedact *redact); /* accepts NULL */
/* A new record is valid as EtlRebuild says. */
EtwRedacted EtwRedactEvent(EtwRedact *redact, EtlRebuild *rebuild, EtwEvent *event);

#endif
