/*
 * schema/model/linux_names_int.h --
 *
 *	The generated tables of schema/model/linux_names.c. Included by linux_names.c and linux_names_data.c only.
 */
#ifndef ETW_LINUX_NAMES_INT_H
#define ETW_LINUX_NAMES_INT_H

#include "schema/model/linux_names.h"

extern const EtwMap etwMapSyscall, etwMapErrno, etwMapSignal, etwMapFamily, etwMapProtocol,
        etwMapMessage;

#endif
