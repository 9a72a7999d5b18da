/*
 * schema/catalog/catalog_text.h --
 *
 *	Parses a provider's lines in the catalogue (doc/internals/CATALOG.md).
 */
#ifndef ETW_CATALOG_TEXT_H
#define ETW_CATALOG_TEXT_H

#include "schema/model/provider_def.h"

/* Returns a finished definition, which the caller owns. NULL: the lines are malformed. */
EtwProviderDef *EtwCatalogParse(
        const EtwGuid *guid, const char *name, const char *text, size_t size);

#endif
