/*
 * schema/catalog/catalog_text.h --
 *
 *	The lines that describe a provider in the catalogue (doc/internals/CATALOG.md) as a definition.
 */
#ifndef ETW_CATALOG_TEXT_H
#define ETW_CATALOG_TEXT_H

#include "schema/model/provider_def.h"

/* A finished definition, the caller's; NULL: the lines make no sense. */
EtwProviderDef *EtwCatalogParse(
        const EtwGuid *guid, const char *name, const char *text, size_t size);

#endif
