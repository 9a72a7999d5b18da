/*
 * tcl/query/query_warn.c --
 *
 *	The warnings of a query at its end: those of its sources, fields of -where that no event had,
 *	and loaded definitions that were not used. Such a field is usually a misspelt name, and would
 *	otherwise look like a successful search without results.
 */
#include "tcl/query/query.h"
#include "schema/model/provider_def.h"
#include "semantics/semantics.h"
#include "flow/render/sink.h"
#include "tcl/value/definition_load.h"

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

/* Append ": did you mean ..." if a header value or a field of the trace has a similar name; or that other events have it. */
static void addSuggestion(const EtwQuery *query, const char *name, Tcl_Obj *text)
{
    size_t size = strlen(name);
    /* at most a third of the characters may differ; for a single one only its case */
    Suggestion guess = {.wrong = name,
            .distance = size < 2   ? 1
                        : size < 3 ? 2
                                   : (int)size / 3 + 1,
            .left = MAX_CONSIDERED};

    if (size <= MAX_NAME) {
        for (int i = 0; i < ETW_KEY_COUNT; i++) {
            consider(&guess, Tcl_GetString(query->ctx->keys[i]));
        }
        EtwSchemaVisit(query->filter.store, considerFields, &guess);
    }
    if (guess.best != NULL && strcmp(guess.best, name) == 0) {
        Tcl_AppendToObj(text, "; events that were not selected have it", -1);
    } else if (guess.best != NULL) {
        Tcl_Obj *best = EtwStringObj(guess.best);
        Tcl_AppendPrintfToObj(text, ": did you mean \"%s\"?", Tcl_GetString(best));
        Tcl_DecrRefCount(best);
    }
}

static void addMissing(void *ctx, const char *name)
{
    Missing *missing = ctx;
    Tcl_Obj *wrong = EtwTextObj(name, strlen(name));
    Tcl_Obj *warning = Tcl_ObjPrintf("no event had a field \"%.100s\"", Tcl_GetString(wrong));

    Tcl_DecrRefCount(wrong);
    addSuggestion(missing->query, name, warning);
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

/* ---- Names of columns ------------------------------------------------------------------------ */

typedef struct FieldSearch {
    const char *name;
    bool found, any; /* any: there are schemas */
} FieldSearch;

static void searchFields(void *ctx, const EtwSchema *schema)
{
    FieldSearch *search = ctx;

    search->any |= schema->origin != ETW_ORIGIN_KERNEL ||
                   EtwMeaningOf(schema) != ETW_MEANS_TRACE; /* not the record of the header */
    for (int i = 0; i < schema->fieldCount && !search->found; i += schema->fields[i].span) {
        search->found = strcmp(schema->fields[i].name, search->name) == 0;
    }
}

/* True if the name is a column, or some event of the trace can have such a field. */
static bool isColumn(const EtwQuery *query, const char *name)
{
    char field[MAX_NAME * 4];
    size_t size = strlen(name);
    FieldSearch search = {.name = name};

    if (EtwColumnIsKnown(name)) {
        return true;
    }
    if (size > 7 && size < sizeof field && strncmp(name, "props(", 6) == 0 &&
            name[size - 1] == ')') {
        memcpy(field, name + 6, size - 7);
        field[size - 7] = '\0';
        search.name = field;
    }
    EtwSchemaVisit(query->filter.store, searchFields, &search);
    return search.found || !search.any;
}

bool EtwQueryNamesStack(Tcl_Obj *names)
{
    Tcl_Obj **words;
    Tcl_Size count = 0;
    bool found = false;

    if (names == NULL || Tcl_ListObjGetElements(NULL, names, &count, &words) != TCL_OK) {
        return false;
    }
    for (Tcl_Size i = 0; i < count; i++) {
        const char *name = Tcl_GetString(words[i]);
        found |= strcmp(name, "stack") == 0 || strcmp(name, "frames") == 0;
    }
    return found;
}

int EtwQueryCheckColumns(const EtwQuery *query, const char *option, Tcl_Obj *names)
{
    Tcl_Obj **words;
    Tcl_Size count = 0;
    Tcl_DString utf8;

    if (names == NULL || Tcl_ListObjGetElements(NULL, names, &count, &words) != TCL_OK) {
        return TCL_OK;
    }
    for (Tcl_Size i = 0; i < count; i++) {
        Tcl_DStringInit(&utf8);
        const char *name = EtwUtf8Of(words[i], &utf8, NULL);
        Tcl_Obj *text = isColumn(query, name)
                                ? NULL
                                : Tcl_ObjPrintf("\"%s\": no event has a field \"%.100s\"", option,
                                          Tcl_GetString(words[i]));
        if (text != NULL) {
            addSuggestion(query, name, text);
            Tcl_IncrRefCount(text);
            EtwTclFail(query->ctx->interp, ETW_E_LOOKUP, "FIELD", Tcl_GetString(words[i]), "%.400s",
                    Tcl_GetString(text));
            Tcl_DecrRefCount(text);
        }
        Tcl_DStringFree(&utf8);
        if (text != NULL) {
            return TCL_ERROR;
        }
    }
    return TCL_OK;
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
    EtwQueryAddHints(query, warnings);
    addRefused(query, warnings);
    Tcl_Obj *errors = EtwOwnDefinitionErrors();
    Tcl_ListObjAppendList(NULL, warnings, errors);
    Tcl_DecrRefCount(errors);
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
