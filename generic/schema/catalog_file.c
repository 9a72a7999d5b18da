/*
 * schema/catalog_file.c --
 *
 *	The catalogue of providers that ship with Windows and .NET (library/, made by tools/): found
 *	by GUID or name, a provider's events read when first asked for.
 */
#include "schema/library.h"

void EtwCatalogUse(const char *path)
{
    (void)path;
}

const EtwProviderDef *EtwCatalogFind(const EtwGuid *guid)
{
    (void)guid;
    return NULL;
}

const char *EtwCatalogName(const EtwGuid *guid)
{
    (void)guid;
    return NULL;
}

bool EtwCatalogGuid(const char *name, EtwGuid *guid)
{
    (void)name, (void)guid;
    return false;
}

void EtwCatalogVisit(void (*visit)(void *ctx, const EtwGuid *guid, const char *name), void *ctx)
{
    (void)visit, (void)ctx;
}
