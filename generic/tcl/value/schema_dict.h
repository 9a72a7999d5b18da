/*
 * tcl/value/schema_dict.h --
 *
 *	Definitions of providers and events as Tcl values, for the results of etw schema and etw provider
 *	describe.
 */
#ifndef ETW_SCHEMA_DICT_H
#define ETW_SCHEMA_DICT_H

#include "tcl/core/tclglue.h"
#include "schema/store/known_providers.h"

/* A provider's description without reading its events: name, guid, origin, events, file. */
Tcl_Obj *EtwKnownProviderObj(const EtwKnownProvider *known);
/*
 * All properties of a provider except its events: keywords, tasks, opcodes, levels, channels, maps.
 */
Tcl_Obj *EtwDefObj(const EtwProviderDef *def);
/* One event with its fields. */
Tcl_Obj *EtwEventDefObj(const EtwEventDef *event);
/* Names of types, as in manifests; the second one is NULL for the in-type's default. */
const char *EtwInTypeName(uint8_t in);
const char *EtwOutTypeName(uint8_t out);

#endif
