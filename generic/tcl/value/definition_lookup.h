/*
 * tcl/value/definition_lookup.h --
 *
 *	Definitions of providers and events by what a person calls them, and what to say of a name that
 *	nobody knows.
 */
#ifndef ETW_DEFINITION_LOOKUP_H
#define ETW_DEFINITION_LOOKUP_H

#include "tcl/core/tclglue.h"
#include "schema/store/known_providers.h"

enum { ETW_SUGGESTIONS_MAX = 6 };

/* The names that are nearest to one that nobody knows; each once. Starts with `wrong`, else zeros. */
typedef struct EtwSuggestions {
    const char *wrong;
    const char *names[ETW_SUGGESTIONS_MAX]; /* nearest first */
    int distances[ETW_SUGGESTIONS_MAX];
    int count;
} EtwSuggestions;
void EtwSuggestionsAdd(EtwSuggestions *near, const char *name);
/* "no provider "x" is known: there is ...", {ETW LOOKUP detail x}; TCL_ERROR. */
int EtwSuggestionsFail(
        Tcl_Interp *interp, const EtwSuggestions *near, const char *what, const char *detail);

/* Who lists the providers to look through. */
typedef void EtwKnownProviderVisitor(void *source, EtwKnownProviderProc *visit, void *ctx);
/* A provider's definition by name or GUID; visitor NULL: of all that are known. NULL with an error
 * left. */
const EtwProviderDef *EtwFindDef(
        Tcl_Interp *interp, Tcl_Obj *name, EtwKnownProviderVisitor *visitor, void *source);
/* The event is meant: its id (opcode, when they are told apart by that), or a pattern of its name or
 * symbol. */
bool EtwEventMatches(const EtwProviderDef *def, const EtwEventDef *event, Tcl_Obj *wanted);
/* The one event that is meant, of that version; -1: the newest. NULL with an error left: none, or
 * several. */
const EtwEventDef *EtwFindEventDef(
        Tcl_Interp *interp, const EtwProviderDef *def, Tcl_Obj *wanted, int version);

#endif
