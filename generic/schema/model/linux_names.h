/*
 * schema/model/linux_names.h --
 *
 *	Names of numbers in our Linux kernel events: system calls, errors, signals, socket states, families,
 *	flags. Records contain the numbers; the decoder looks up the names.
 */
#ifndef ETW_LINUX_NAMES_H
#define ETW_LINUX_NAMES_H

#include "schema/model/schema.h"

/* Generated (linux_names_data.c), except for the states. */
extern const EtwMap etwMapSyscall, etwMapErrno, etwMapSignal, etwMapFamily, etwMapProtocol,
        etwMapMessage, etwMapTcpState, etwMapTaskState, etwMapWakeFrom;

/* Map for a field of a raw tracepoint's event; NULL: plain number. */
const EtwMap *EtwTracepointNames(const char *provider, const char *event, const char *field);
/* Name of a value in a map with exact values; NULL: none. */
const char *EtwMapName(const EtwMap *map, uint64_t value);

#endif
