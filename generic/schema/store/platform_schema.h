/*
 * schema/store/platform_schema.h --
 *
 *	Event definitions of the operating system: Windows' TDH (win/system/system_catalog.c); none on other
 *	systems. The last source of a schema.
 */
#ifndef ETW_PLATFORM_SCHEMA_H
#define ETW_PLATFORM_SCHEMA_H

#include "schema/model/provider_def.h"

/* A definition of the event, or of all events of its provider. It is never freed. NULL: unknown.
 * Thread-safe. The first call for an event is slow. */
const EtwProviderDef *EtwPlatformEvent(const EtwEvent *event);
/* The provider's manifest, with all events and names, as registered with the system. */
const EtwProviderDef *EtwPlatformProvider(const EtwGuid *provider);

#endif
