/*
 * tcl/value/definition_lookup.c --
 *
 *	Finds the provider or event that a word refers to. schema_dict.c creates dicts.
 */
#include "tcl/value/definition_lookup.h"
#include "schema/catalog/catalog.h"
#include <strings.h>

/* 0: the text ends with the word, in any case; 1: contains it; -1: does not. */
static int contains(const char *text, const char *word)
{
    size_t size = strlen(word), length = strlen(text);

    if (size < 3 || length < size) {
        return -1;
    }
    if (strcasecmp(text + length - size, word) == 0) {
        return 0;
    }
    while (*text != '\0' && strncasecmp(text, word, size) != 0) {
        text++;
    }
    return *text != '\0' ? 1 : -1;
}

/* A name that contains the other is nearer than one that differs in characters. */
static int distanceOf(const char *wrong, const char *name)
{
    const char *last = strrchr(name, '/');
    int distance = EtwNameDistance(wrong, name);
    int ofLast = last != NULL && strchr(wrong, '/') == NULL ? EtwNameDistance(wrong, last + 1)
                                                            : distance;

    int inside = contains(name, wrong);

    if (inside >= 0) {
        return inside;
    }
    return ofLast < distance ? ofLast : distance;
}

void EtwSuggestionsAdd(EtwSuggestions *near, const char *name)
{
    int distance = distanceOf(near->wrong, name), at = near->count;

    for (int i = 0; i < near->count; i++) {
        if (strcmp(near->names[i], name) == 0) {
            return;
        }
    }
    while (at > 0 && near->distances[at - 1] > distance) {
        at--;
    }
    if (at == ETW_SUGGESTIONS_MAX) {
        return;
    }
    near->count += near->count < ETW_SUGGESTIONS_MAX;
    for (int i = near->count - 1; i > at; i--) {
        near->names[i] = near->names[i - 1];
        near->distances[i] = near->distances[i - 1];
    }
    near->names[at] = name;
    near->distances[at] = distance;
}

int EtwSuggestionsFail(
        Tcl_Interp *interp, const EtwSuggestions *near, const char *what, const char *detail)
{
    Tcl_DString list;
    const char *problem = EtwCatalogProblem();

    Tcl_DStringInit(&list);
    for (int i = 0; i < near->count; i++) {
        Tcl_DStringAppend(&list, i ? ", " : "; similar names: ", -1);
        Tcl_DStringAppend(&list, near->names[i], -1);
    }
    if (problem != NULL) {
        Tcl_DStringAppend(&list, " (no catalogue: ", -1);
        Tcl_DStringAppend(&list, problem, -1);
        Tcl_DStringAppend(&list, ")", -1);
    }
    EtwTclFail(interp, ETW_E_LOOKUP, detail, near->wrong, "%s \"%.100s\" is known%s", what,
            near->wrong, Tcl_DStringValue(&list));
    Tcl_DStringFree(&list);
    return TCL_ERROR;
}

/* ---- Providers ------------------------------------------------------------------------------- */

typedef struct Search {
    bool found;
    EtwKnownProvider known;
    EtwSuggestions near;
} Search;

static void compareKnown(void *ctx, const EtwKnownProvider *known)
{
    Search *s = ctx;

    if (!s->found && EtwKnownProviderIs(known, s->near.wrong)) {
        s->known = *known;
        s->found = true;
    }
}

static void considerKnown(void *ctx, const EtwKnownProvider *known)
{
    EtwSuggestionsAdd(ctx, known->name);
}

static void visitAll(void *source, EtwKnownProviderProc *visit, void *ctx)
{
    (void)source;
    EtwKnownProviderVisit(visit, ctx);
}

const EtwProviderDef *EtwFindDef(
        Tcl_Interp *interp, Tcl_Obj *name, EtwKnownProviderVisitor *visitor, void *source)
{
    Search s = {.near = {.wrong = Tcl_GetString(name)}};

    visitor = visitor != NULL ? visitor : visitAll;
    visitor(source, compareKnown, &s);
    if (!s.found) {
        visitor(source, considerKnown, &s.near);
        EtwSuggestionsFail(interp, &s.near, "no provider", "PROVIDER");
        return NULL;
    }
    const EtwProviderDef *def = EtwKnownProviderDef(&s.known);
    if (def == NULL) {
        EtwTclFail(interp, ETW_E_FORMAT, "CATALOG", s.near.wrong,
                "the catalogue's description of provider \"%.100s\" is damaged: install the "
                "package again",
                s.known.name);
    }
    return def;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static int numberOf(const EtwProviderDef *def, const EtwEventDef *event)
{
    return def->classic ? event->desc.opcode : event->desc.id;
}

bool EtwEventMatches(const EtwProviderDef *def, const EtwEventDef *event, Tcl_Obj *wanted)
{
    Tcl_WideInt number;
    const char *pattern = Tcl_GetString(wanted);

    if (Tcl_GetWideIntFromObj(NULL, wanted, &number) == TCL_OK) {
        return number == numberOf(def, event);
    }
    return Tcl_StringCaseMatch(event->schema.event, pattern, TCL_MATCH_NOCASE) ||
           (event->symbol != NULL && Tcl_StringCaseMatch(event->symbol, pattern, TCL_MATCH_NOCASE));
}

static int failSeveral(Tcl_Interp *interp, const EtwProviderDef *def, const EtwEventDef *a,
        const EtwEventDef *b, Tcl_Obj *wanted)
{
    return EtwTclFail(interp, ETW_E_LOOKUP, "EVENT", Tcl_GetString(wanted),
            "\"%.100s\" matches several events of %.100s: give a number, %d (%.80s), %d (%.80s) or "
            "another",
            Tcl_GetString(wanted), def->name, numberOf(def, a), a->schema.event, numberOf(def, b),
            b->schema.event);
}

const EtwEventDef *EtwFindEventDef(
        Tcl_Interp *interp, const EtwProviderDef *def, Tcl_Obj *wanted, int version)
{
    EtwSuggestions near = {.wrong = Tcl_GetString(wanted)};
    const EtwEventDef *best = NULL, *any = NULL;

    for (int i = 0; i < def->eventCount; i++) { /* ascending by version */
        const EtwEventDef *event = def->events[i];
        EtwSuggestionsAdd(&near, event->schema.event);
        if (!EtwEventMatches(def, event, wanted)) {
            continue;
        }
        any = event;
        if (version >= 0 && event->desc.version != version) {
            continue;
        }
        if (best != NULL && numberOf(def, best) != numberOf(def, event)) {
            failSeveral(interp, def, best, event, wanted);
            return NULL;
        }
        best = event;
    }
    if (any == NULL) {
        EtwSuggestionsFail(interp, &near, "no event", "EVENT");
    } else if (best == NULL) {
        EtwTclFail(interp, ETW_E_LOOKUP, "VERSION", Tcl_GetString(wanted),
                "event \"%.100s\" of %.100s has no version %d", Tcl_GetString(wanted), def->name,
                version);
    }
    return best;
}
