/*
 * tcl/value/definition_lookup.h --
 *
 *	Looks up definitions of providers and events by the user's name for them, and suggests names for an
 *	unknown one.
 */
#ifndef ETW_DEFINITION_LOOKUP_H
#define ETW_DEFINITION_LOOKUP_H

#include "tcl/core/tclglue.h"
#include "schema/store/known_providers.h"

enum { ETW_SUGGESTIONS_MAX = 6 };

/*
 * The known names that are most similar to an unknown one, without duplicates. Initialized with
 * `wrong`, otherwise zeroed.
 */
typedef struct EtwSuggestions {
    const char *wrong;
    const char *names[ETW_SUGGESTIONS_MAX]; /* most similar first */
    int distances[ETW_SUGGESTIONS_MAX];
    int count;
} EtwSuggestions;
void EtwSuggestionsAdd(EtwSuggestions *near, const char *name);
/* Report "no provider "x" is known: there is ...", {ETW LOOKUP detail x}. Returns TCL_ERROR. */
int EtwSuggestionsFail(
        Tcl_Interp *interp, const EtwSuggestions *near, const char *what, const char *detail);

/* Lists the providers to search. */
typedef void EtwKnownProviderVisitor(void *source, EtwKnownProviderProc *visit, void *ctx);
/*
 * A provider's definition by name or GUID; visitor NULL: of all known providers. NULL with an error
 * left.
 */
const EtwProviderDef *EtwFindDef(
        Tcl_Interp *interp, Tcl_Obj *name, EtwKnownProviderVisitor *visitor, void *source);
/*
 * True if the user's name matches the event: its id (opcode, if events are identified by that), or
 * a pattern of its name or symbol.
 */
bool EtwEventMatches(const EtwProviderDef *def, const EtwEventDef *event, Tcl_Obj *wanted);
/* The matching event of that version; -1: the newest. NULL with an error left: none, or several. */
const EtwEventDef *EtwFindEventDef(
        Tcl_Interp *interp, const EtwProviderDef *def, Tcl_Obj *wanted, int version);

#endif
