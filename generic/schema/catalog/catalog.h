/*
 * schema/catalog/catalog.h --
 *
 *	The catalogue of providers that ship with Windows and .NET: a file, from which a provider is read
 *	when it is first needed. Definitions are never freed. Thread-safe.
 */
#ifndef ETW_CATALOG_H
#define ETW_CATALOG_H

#include "schema/model/provider_def.h"

/* The path of the catalogue's file; NULL: none. It is opened when it is first needed. */
void EtwCatalogUse(const char *path);
/* A provider of the catalogue, read on first demand; NULL: not in it (or no catalogue). */
const EtwProviderDef *EtwCatalogFind(const EtwGuid *guid);
/* The same by name (any case), also one whose GUID is unknown (zeros). */
const EtwProviderDef *EtwCatalogFindName(const char *name);
/* The path that was set; "": none. */
const char *EtwCatalogPath(void);
/* Why there is no catalogue although a path was set; NULL: there is one, or no path was set. */
const char *EtwCatalogProblem(void);
/* The provider's name, without reading its events; NULL: unknown. */
const char *EtwCatalogName(const EtwGuid *guid);
/* GUID of a provider's name (case-insensitive). */
bool EtwCatalogGuid(const char *name, EtwGuid *guid);
/* Called for each provider of the catalogue, by name. guid: zeros when unknown; events: their number. */
typedef void EtwCatalogProc(void *ctx, const EtwGuid *guid, const char *name, int events);
void EtwCatalogVisit(EtwCatalogProc *visit, void *ctx);
/* Visit the providers whose name, tasks, opcodes, fields, maps or keywords contain a word. The word is
 * in lower case; the comparison ignores case. */
void EtwCatalogSearch(const char *word, EtwCatalogProc *visit, void *ctx);

#endif
