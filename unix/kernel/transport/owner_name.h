/*
 * unix/kernel/transport/owner_name.h --
 *
 *	Names in tracefs that state the process that made the object: instances and uprobes. Another process recognizes
 *	objects of processes that have died.
 */
#ifndef ETW_OWNER_NAME_H
#define ETW_OWNER_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* "etw-PID-START-nNAMESPACE" for this process, with another separator than "-" if that is given. */
void TraceOwnerName(char *name, size_t size, char separator);
/*
 * True if the name begins so, and its process has ended. A process in another pid namespace is not
 * known to have ended.
 */
bool TraceOwnerIsDead(const char *name, char separator);

#endif
