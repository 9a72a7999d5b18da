/*
 * schema/store/builtin_providers.h --
 *
 *	Names of the providers that belong to etw itself; their GUIDs follow from the names.
 */
#ifndef ETW_BUILTIN_PROVIDERS_H
#define ETW_BUILTIN_PROVIDERS_H

extern const char *const etwOwnProviders[]; /* NULL-terminated */

#endif
