/*
 * schema/store/platform_schema.h --
 *
 *	What the operating system itself knows of events: Windows' TDH (win/system/system_catalog.c); nothing
 *	elsewhere. The last one that is asked.
 */
#ifndef ETW_PLATFORM_SCHEMA_H
#define ETW_PLATFORM_SCHEMA_H

#include "schema/model/provider_def.h"

/* A definition of the event, or of all of its provider's; lives as long as the process. NULL:
 * unknown. Thread-safe; slow for an event that was not asked for before. */
const EtwProviderDef *EtwPlatformEvent(const EtwEvent *event);
/* The provider's manifest, with all events and names, as registered with the system; the same. */
const EtwProviderDef *EtwPlatformProvider(const EtwGuid *provider);

#endif
