/*
 * tcl/consume/query_warn.c --
 *
 *	The warnings of a query at its end: those of its sources, fields of -where that no event had,
 *	and loaded definitions that were not used. Such a field is usually a misspelt name, and would
 *	otherwise look like a successful search without results.
 */
#include "tcl/consume/query.h"
#include "schema/model/provider_def.h"

/* ---- Suggestions for names ------------------------------------------------------------------- */

enum { MAX_NAME = 48, MAX_CONSIDERED = 50000 };

typedef struct Suggestion {
    const char *wrong;
    const char *best; /* NULL: no similar name */
    int distance;
    int left; /* number of names still to be considered: a damaged file may have millions */
} Suggestion;

static void consider(Suggestion *guess, const char *name)
{
    if (guess->left == 0 || strlen(name) > MAX_NAME) {
        return;
    }
    guess->left--;
    int away = EtwNameDistance(guess->wrong, name);
    /* Of several, the first in alphabetical order: the schemas come in no order. */
    if (away < guess->distance ||
            (away == guess->distance && guess->best != NULL && strcmp(name, guess->best) < 0)) {
        guess->distance = away;
        guess->best = name;
    }
}

static void considerFields(void *ctx, const EtwSchema *schema)
{
    for (int i = 0; i < schema->fieldCount; i += schema->fields[i].span) {
        consider(ctx, schema->fields[i].name);
    }
}

/* ---- Warnings -------------------------------------------------------------------------------- */

typedef struct Missing {
    const EtwQuery *query;
    Tcl_Obj *warnings;
} Missing;

/* A field that occurs twice in the expression is reported once. */
static void addOnce(Tcl_Obj *list, Tcl_Obj *warning)
{
    Tcl_Obj **known;
    Tcl_Size count;

    Tcl_IncrRefCount(warning);
    Tcl_ListObjGetElements(NULL, list, &count, &known);
    Tcl_Size at = 0;
    while (at < count && strcmp(Tcl_GetString(known[at]), Tcl_GetString(warning)) != 0) {
        at++;
    }
    if (at == count) {
        Tcl_ListObjAppendElement(NULL, list, warning);
    }
    Tcl_DecrRefCount(warning);
}

static void addMissing(void *ctx, const char *name)
{
    Missing *missing = ctx;
    size_t size = strlen(name);
    /* at most a third of the characters may differ; for a single one only its case */
    Suggestion guess = {.wrong = name,
            .distance = size < 2   ? 1
                        : size < 3 ? 2
                                   : (int)size / 3 + 1,
            .left = MAX_CONSIDERED};
    Tcl_Obj *wrong = EtwTextObj(name, size);
    Tcl_Obj *warning = Tcl_ObjPrintf("no event had a field \"%.100s\"", Tcl_GetString(wrong));

    Tcl_DecrRefCount(wrong);
    if (size <= MAX_NAME) {
        for (int i = 0; i < ETW_KEY_COUNT; i++) {
            consider(&guess, Tcl_GetString(missing->query->ctx->keys[i]));
        }
        EtwSchemaVisit(missing->query->filter.store, considerFields, &guess);
    }
    if (guess.best != NULL) {
        Tcl_Obj *best = EtwStringObj(guess.best);
        Tcl_AppendPrintfToObj(warning, ": did you mean \"%s\"?", Tcl_GetString(best));
        Tcl_DecrRefCount(best);
    }
    addOnce(missing->warnings, warning);
}

Tcl_Obj *EtwQueryMissing(const EtwQuery *query)
{
    Missing missing = {query, Tcl_NewListObj(0, NULL)};

    if (query->filter.predicate != NULL) {
        EtwPredicateMissing(query->filter.predicate, addMissing, &missing);
    }
    if (query->whereMaker != NULL) {
        EtwEventMakerMissing(query->whereMaker, query->where.required, addMissing, &missing);
    }
    for (int i = 0; i < query->where.partCount; i++) {
        EtwPredicateMissing(query->where.parts[i], addMissing, &missing);
    }
    return missing.warnings;
}

/* ---- Loaded definitions that do not fit ------------------------------------------------------ */

enum { REFUSED_MAX = 16 }; /* definitions reported */

typedef struct Refused {
    const EtwProviderDef *def;
    const EtwSchema *example, *used; /* the event with the lowest id */
    int events;
} Refused;

typedef struct RefusedList {
    Refused list[REFUSED_MAX];
    int count;
} RefusedList;

static bool isEarlier(const EtwSchema *a, const EtwSchema *b)
{
    const EtwEventDef *x = EtwEventDefOf(a), *y = EtwEventDefOf(b);
    return x->desc.id != y->desc.id ? x->desc.id < y->desc.id : x->desc.opcode < y->desc.opcode;
}

static void noteRefused(void *ctx, const EtwSchema *refused, const EtwSchema *used)
{
    RefusedList *all = ctx;
    int i = 0;
    while (i < all->count && all->list[i].def != refused->def) {
        i++;
    }
    if (i == REFUSED_MAX) {
        return;
    }
    Refused *r = &all->list[i];
    if (i == all->count) {
        *r = (Refused){.def = refused->def};
        all->count++;
    }
    if (r->events++ == 0 || isEarlier(refused, r->example)) {
        r->example = refused;
        r->used = used;
    }
}

static void addRefused(const EtwQuery *query, Tcl_Obj *warnings)
{
    RefusedList all = {.count = 0};
    EtwSchemaVisitRefused(query->filter.store, noteRefused, &all);
    for (int i = 0; i < all.count; i++) {
        const Refused *r = &all.list[i];
        EtwText text = {0};
        EtwTextPrintf(&text,
                "%s: what it says of %d event%s of provider \"%s\" was not used, because other "
                "descriptions fit better (\"%s\"",
                r->def->from, r->events, r->events == 1 ? "" : "s", r->def->name,
                r->example->event);
        if (r->used != NULL) {
            EtwTextPrintf(&text, " is \"%s\" of \"%s\"", r->used->event, r->used->provider);
        }
        EtwTextChar(&text, ')');
        Tcl_ListObjAppendElement(NULL, warnings, EtwTextObj(text.data, text.size));
        EtwTextFree(&text);
    }
}

Tcl_Obj *EtwQueryWarnings(const EtwQuery *query)
{
    Tcl_Obj *warnings = Tcl_NewListObj(0, NULL);

    for (int i = 0; i < EtwSourceWarningCount(query->source); i++) {
        const char *warning = EtwSourceWarning(query->source, i);
        Tcl_ListObjAppendElement(NULL, warnings, EtwStringObj(warning));
    }
    Tcl_Obj *missing = EtwQueryMissing(query);
    Tcl_ListObjAppendList(NULL, warnings, missing);
    Tcl_DecrRefCount(missing);
    addRefused(query, warnings);
    return warnings;
}

int EtwQuerySetWarnings(const EtwQuery *query, Tcl_Obj *variable)
{
    if (variable == NULL) {
        return TCL_OK;
    }
    Tcl_Obj *warnings = EtwQueryWarnings(query);
    Tcl_IncrRefCount(warnings);
    Tcl_Obj *set = Tcl_ObjSetVar2(query->ctx->interp, variable, NULL, warnings, TCL_LEAVE_ERR_MSG);
    Tcl_DecrRefCount(warnings);
    return set ? TCL_OK : TCL_ERROR;
}
