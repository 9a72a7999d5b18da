/*
 * schema/names_tables.h --
 *
 *	The generated tables behind schema/names.c. Included by names.c and names_linux.c only.
 */
#ifndef ETW_SCHEMA_NAMES_TABLES_H
#define ETW_SCHEMA_NAMES_TABLES_H

#include "schema/names.h"

extern const EtwMap etwMapSyscall, etwMapErrno, etwMapSignal, etwMapFamily, etwMapProtocol,
        etwMapMessage;

#endif
