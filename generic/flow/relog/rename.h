/*
 * flow/relog/rename.h --
 *
 *	Names that events carry themselves, replaced: a self-describing provider's in its traits, its
 *	events' in their metadata. Names that a manifest or a table has are not in the trace.
 */
#ifndef ETW_RENAME_H
#define ETW_RENAME_H

#include "base/status.h"
#include "etl/write/record_rebuild.h"

typedef struct EtwRename EtwRename;

/*
 * pairs: old and new, count of both. "PROVIDER" renames a provider, "PROVIDER/EVENT" (the provider's
 * old name, or *) an event. A GUID that was made of a provider's old name becomes that of its new
 * one. Copied. ETW_E_ARG: an empty name.
 */
EtwStatus EtwRenameNew(
        EtwRename **renamePtr, const char *const *pairs, int count, EtwError *errPtr);
void EtwRenameFree(EtwRename *rename); /* accepts NULL */
/* Did the event have such a name? It is a new record then, valid as EtlRebuild says. */
bool EtwRenameEvent(EtwRename *rename, EtlRebuild *rebuild, EtwEvent *event);

#endif
