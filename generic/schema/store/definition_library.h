/*
 * schema/store/definition_library.h --
 *
 *	Definitions that the user loaded (`etw schema load`). They apply to the whole process and are never
 *	freed. Thread-safe.
 */
#ifndef ETW_DEFINITION_LIBRARY_H
#define ETW_DEFINITION_LIBRARY_H

#include "schema/model/provider_def.h"

/* Add a finished definition, which the library owns from now on. Later ones are found first. */
void EtwLibraryAdd(EtwProviderDef *def);
/* Remove the user's definitions (for tests); the definitions themselves stay alive. */
void EtwLibraryClear(void);
/* Incremented by every addition and removal, so that caches can detect changes. */
uint32_t EtwLibraryGeneration(void);
/* The user's definition of an event or, event NULL, of the provider; newest first. NULL: none. */
const EtwProviderDef *EtwLibraryFind(const EtwGuid *guid, const EtwEvent *event);
/* Visit each user's definition, newest first. The visitor must not add any. */
void EtwLibraryVisit(void (*visit)(void *ctx, const EtwProviderDef *def), void *ctx);

#endif
