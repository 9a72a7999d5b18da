/*
 * schema/model/linux_names.h --
 *
 *	Names of the numbers that our own Linux kernel events carry: syscalls, errnos, signals,
 *	socket states, families, flags. Records keep the raw numbers; the names are looked up when an
 *	event is decoded.
 */
#ifndef ETW_LINUX_NAMES_H
#define ETW_LINUX_NAMES_H

#include "schema/model/schema.h"

/* Map for a field of a Linux-* provider's event; NULL: plain number. */
const EtwMap *EtwNamesFor(const char *provider, const char *event, const char *field);
/* Name of a value in a map, NULL when it has none (exact maps). */
const char *EtwMapName(const EtwMap *map, uint64_t value);

#endif
