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
/* The same by name (any case), also one whose GUID is not known (zeros). */
const EtwProviderDef *EtwCatalogFindName(const char *name);
/* The file that was named; "": none. */
const char *EtwCatalogPath(void);
/* Why there is no catalogue though a file was named; NULL: there is one, or none was named. */
const char *EtwCatalogProblem(void);
/* Its name without reading its events; NULL: unknown. */
const char *EtwCatalogName(const EtwGuid *guid);
/* GUID of a provider's name (case-insensitive). */
bool EtwCatalogGuid(const char *name, EtwGuid *guid);
/* Each provider of the catalogue, by name; guid: zeros when it is not known; events: how many. */
typedef void EtwCatalogProc(void *ctx, const EtwGuid *guid, const char *name, int events);
void EtwCatalogVisit(EtwCatalogProc *visit, void *ctx);
/* Those whose name, or whose names of tasks, opcodes, fields, maps or keywords, contain a word (lower
 * case; any case is found). */
void EtwCatalogSearch(const char *word, EtwCatalogProc *visit, void *ctx);

#endif
