/*
 * schema/library.h --
 *
 *	Definitions that hold for the whole process: those the user loaded (`etw schema load`) and the
 *	catalogue of providers that ship with Windows and .NET, of which a provider is read when it is
 *	first asked for. Definitions stay until the process ends, so whoever found one may keep it.
 *	Thread-safe.
 */
#ifndef ETW_SCHEMA_LIBRARY_H
#define ETW_SCHEMA_LIBRARY_H

#include "schema/catalog.h"

/* Add a finished definition; the library owns it from now on. Later ones are found first. */
void EtwLibraryAdd(EtwProviderDef *def);
/* Forget what the user loaded (tests); the definitions themselves stay alive. */
void EtwLibraryClear(void);
/* Rises whenever something was added or forgotten: whoever caches compares it. */
uint32_t EtwLibraryGeneration(void);
/* The user's definition of an event or, event NULL, of the provider; newest first. NULL: none. */
const EtwProviderDef *EtwLibraryFind(const EtwGuid *guid, const EtwEvent *event);
/* Each user's definition, newest first. The visitor may not add any. */
void EtwLibraryVisit(void (*visit)(void *ctx, const EtwProviderDef *def), void *ctx);

/* ---- The catalogue (schema/catalog_file.c) ---------------------------------------------------- */

/* Where the catalogue's file is; NULL: there is none. Not read before it is needed. */
void EtwCatalogUse(const char *path);
/* A provider of the catalogue, read on first demand; NULL: not in it (or no catalogue). */
const EtwProviderDef *EtwCatalogFind(const EtwGuid *guid);
/* Its name without reading its events; NULL: unknown. */
const char *EtwCatalogName(const EtwGuid *guid);
/* GUID of a provider's name (case-insensitive). */
bool EtwCatalogGuid(const char *name, EtwGuid *guid);
/* Each provider of the catalogue, by name. */
void EtwCatalogVisit(void (*visit)(void *ctx, const EtwGuid *guid, const char *name), void *ctx);

#endif
