/*
 * flow/relog/rename.h --
 *
 *	Replaces names in self-describing events: the provider's name in its traits, event names in the
 *	metadata. Names that are defined by a manifest or a table are not in the trace.
 */
#ifndef ETW_RENAME_H
#define ETW_RENAME_H

#include "base/status.h"
#include "etl/write/record_rebuild.h"

typedef struct EtwRename EtwRename;

/*
 * pairs: old and new name, alternating; count of both. "PROVIDER" renames a provider,
 * "PROVIDER/EVENT" (the provider's old name, or *) an event. A GUID that is derived from a
 * provider's old name is replaced by that of the new one. Copied. ETW_E_ARG: an empty name.
 */
EtwStatus EtwRenameNew(
        EtwRename **renamePtr, const char *const *pairs, int count, EtwError *errPtr);
void EtwRenameFree(EtwRename *rename); /* accepts NULL */
/* True: the event had such a name. Its record is new, and valid as described at EtlRebuild. */
bool EtwRenameEvent(EtwRename *rename, EtlRebuild *rebuild, EtwEvent *event);

#endif
