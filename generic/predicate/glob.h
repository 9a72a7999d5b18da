/*
 * predicate/glob.h --
 *
 *	Tcl's `string match` on UTF-8, without Tcl.
 */
#ifndef ETW_PREDICATE_GLOB_H
#define ETW_PREDICATE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

bool EtwGlobMatch(
        const char *pattern, size_t patternSize, const char *text, size_t textSize, bool nocase);
/* Characters, not bytes. */
size_t EtwTextLength(const char *text, size_t size);

#endif
