/*
 * tcl/command/schema_cmd.c --
 *
 *	etw schema: loads files that describe events, and searches all providers that are known
 *	without a trace. The folder schema reads the formats. Readable text and comparison are
 *	implemented in Tcl (library/schema_text.tcl).
 */
#include "tcl/value/schema_dict.h"
#include "schema/catalog/catalog.h"
#include "tcl/value/definition_load.h"
#include "tcl/value/definition_lookup.h"
#include "schema/store/definition_files.h"

/* ---- Where to search ----------------------------------------------------------------------------- */

/* The definitions in a file that is not loaded (-from), or all known ones. */
typedef struct Scope {
    Tcl_Obj *from; /* NULL: all known ones */
    EtwProviderDef **defs;
    int count;
} Scope;

static void keepDef(void *ctx, EtwProviderDef *def)
{
    Scope *scope = ctx;

    scope->defs = EtwRealloc(scope->defs, sizeof *scope->defs * (size_t)(scope->count + 1));
    scope->defs[scope->count++] = def;
}

static void closeScope(Scope *scope)
{
    for (int i = 0; i < scope->count; i++) {
        EtwDefFree(scope->defs[i]);
    }
    EtwFree(scope->defs);
}

static int openScope(Tcl_Interp *interp, Scope *scope)
{
    Tcl_DString ds;
    EtwError err;

    if (scope->from == NULL) {
        EtwLoadOwnDefinitions(interp);
        return TCL_OK;
    }
    Tcl_DStringInit(&ds);
    const char *path = EtwPathOf(interp, scope->from, &ds);
    int result = path == NULL                                          ? TCL_ERROR
                 : EtwSchemaRead(path, keepDef, scope, &err) == ETW_OK ? TCL_OK
                                                                       : EtwTclError(interp, &err);
    Tcl_DStringFree(&ds);
    if (result != TCL_OK) {
        closeScope(scope);
    }
    return result;
}

static void visitScope(void *source, EtwKnownProviderProc *visit, void *ctx)
{
    const Scope *scope = source;

    if (scope->from == NULL) {
        EtwKnownProviderVisit(visit, ctx);
    }
    for (int i = 0; i < scope->count; i++) {
        const EtwProviderDef *def = scope->defs[i];
        EtwKnownProvider known = {.guid = def->guid,
                .name = def->name,
                .from = def->from,
                .origin = def->origin,
                .events = def->eventCount,
                .def = def};
        visit(ctx, &known);
    }
}

/* ---- load, unload, catalog ----------------------------------------------------------------------- */

static int loadCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    Tcl_Obj *result = Tcl_NewDictObj();
    int code = TCL_OK;
    (void)clientData;

    Tcl_IncrRefCount(result);
    for (int i = 2; i < objc && code == TCL_OK; i++) {
        code = EtwLoadDefinitions(interp, objv[i], result);
    }
    if (code == TCL_OK) {
        Tcl_SetObjResult(interp, result);
    }
    Tcl_DecrRefCount(result);
    return code;
}

static int unloadCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    (void)clientData, (void)interp, (void)objc, (void)objv;
    EtwLibraryClear();
    return TCL_OK;
}

static void countCatalogued(void *ctx, const EtwGuid *guid, const char *name, int events)
{
    (void)guid, (void)name, (void)events;
    ++*(int *)ctx;
}

/* Return the path of the catalogue, or use another one. */
static int catalogCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    Tcl_DString ds;
    int providers = 0;
    (void)clientData;

    if (objc == 3) {
        Tcl_DStringInit(&ds);
        const char *path = EtwPathOf(interp, objv[2], &ds);
        if (path != NULL) {
            EtwCatalogUse(path);
        }
        Tcl_DStringFree(&ds);
        return path != NULL ? TCL_OK : TCL_ERROR;
    }
    const char *problem = EtwCatalogProblem(), *path = EtwCatalogPath();
    Tcl_Obj *dict = Tcl_NewDictObj();
    EtwCatalogVisit(countCatalogued, &providers);
    EtwPut(dict, "file", EtwStringObj(path));
    EtwPut(dict, "providers", Tcl_NewIntObj(providers));
    if (problem != NULL) {
        EtwPut(dict, "problem", EtwStringObj(problem));
    }
    Tcl_SetObjResult(interp, dict);
    return TCL_OK;
}

/* ---- list ------------------------------------------------------------------------------------------ */

typedef struct LookOptions {
    Tcl_Obj *from;
    int format; /* 0 dict, 1 text */
    Tcl_Obj *in;
    int limit;
} LookOptions;

static const char *const formatNames[] = {"dict", "text", NULL};

static const EtwOption listOptions[] = {
        {"-from", ETW_OPT_OBJ, offsetof(LookOptions, from), 0, 0, 0, NULL},
        {NULL, ETW_OPT_BOOL, 0, 0, 0, 0, NULL},
};

typedef struct Listing {
    Tcl_Obj *list;
    const char *pattern; /* NULL: all */
} Listing;

static void listKnown(void *ctx, const EtwKnownProvider *known)
{
    Listing *listing = ctx;

    if (listing->pattern == NULL ||
            Tcl_StringCaseMatch(known->name, listing->pattern, TCL_MATCH_NOCASE)) {
        Tcl_ListObjAppendElement(NULL, listing->list, EtwKnownProviderObj(known));
    }
}

/* An optional word at `index` before the options; NULL: there is none. */
static Tcl_Obj *optionalWord(int objc, Tcl_Obj *const objv[], int *indexPtr)
{
    bool there = *indexPtr < objc && *Tcl_GetString(objv[*indexPtr]) != '-';

    *indexPtr += there;
    return there ? objv[*indexPtr - 1] : NULL;
}

static int listCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    LookOptions options = {0};
    int at = 2;
    Tcl_Obj *pattern = optionalWord(objc, objv, &at);
    (void)clientData;

    if (EtwParseOptions(interp, listOptions, objc - at, objv + at, &options, NULL) != TCL_OK) {
        return TCL_ERROR;
    }
    Scope scope = {.from = options.from};
    if (openScope(interp, &scope) != TCL_OK) {
        return TCL_ERROR;
    }
    Listing listing = {Tcl_NewListObj(0, NULL), pattern ? Tcl_GetString(pattern) : NULL};
    visitScope(&scope, listKnown, &listing);
    closeScope(&scope);
    Tcl_SetObjResult(interp, listing.list);
    return TCL_OK;
}

/* ---- describe -------------------------------------------------------------------------------------- */

static const EtwOption describeOptions[] = {
        {"-format", ETW_OPT_ENUM, offsetof(LookOptions, format), 0, 0, 0, formatNames},
        {"-from", ETW_OPT_OBJ, offsetof(LookOptions, from), 0, 0, 0, NULL},
        {NULL, ETW_OPT_BOOL, 0, 0, 0, 0, NULL},
};

/* Pass a result to a procedure of library/schema_text.tcl, which formats it as text. */
static int asText(Tcl_Interp *interp, const char *proc, Tcl_Obj *value)
{
    Tcl_Obj *words[2] = {Tcl_NewStringObj(proc, -1), value};

    Tcl_IncrRefCount(words[0]);
    Tcl_IncrRefCount(words[1]);
    int code = Tcl_EvalObjv(interp, 2, words, TCL_EVAL_GLOBAL);
    Tcl_DecrRefCount(words[0]);
    Tcl_DecrRefCount(words[1]);
    return code;
}

/* The matching events as a list; NULL with an error left if none matches. */
static Tcl_Obj *matchingEvents(Tcl_Interp *interp, const EtwProviderDef *def, Tcl_Obj *wanted)
{
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);
    EtwSuggestions near = {.wrong = wanted ? Tcl_GetString(wanted) : ""};
    Tcl_Size count;

    for (int i = 0; i < def->eventCount; i++) {
        if (wanted == NULL || EtwEventMatches(def, def->events[i], wanted)) {
            Tcl_ListObjAppendElement(NULL, list, EtwEventDefObj(def->events[i]));
        } else {
            EtwSuggestionsAdd(&near, def->events[i]->schema.event);
        }
    }
    Tcl_ListObjLength(NULL, list, &count);
    if (count == 0 && wanted != NULL) {
        Tcl_DecrRefCount(list);
        EtwSuggestionsFail(interp, &near, "no event", "EVENT");
        return NULL;
    }
    return list;
}

static int describeIn(Tcl_Interp *interp, Scope *scope, Tcl_Obj *name, Tcl_Obj *wanted)
{
    const EtwProviderDef *def = EtwFindDef(interp, name, visitScope, scope);
    Tcl_Obj *events = def ? matchingEvents(interp, def, wanted) : NULL;

    if (events == NULL) {
        return TCL_ERROR;
    }
    Tcl_Obj *dict = EtwDefObj(def);
    EtwPut(dict, "events", events);
    Tcl_SetObjResult(interp, dict);
    return TCL_OK;
}

static int describeCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    LookOptions options = {0};
    int at = 3;
    Tcl_Obj *wanted = optionalWord(objc, objv, &at);
    (void)clientData;

    if (EtwParseOptions(interp, describeOptions, objc - at, objv + at, &options, NULL) != TCL_OK) {
        return TCL_ERROR;
    }
    Scope scope = {.from = options.from};
    if (openScope(interp, &scope) != TCL_OK) {
        return TCL_ERROR;
    }
    int code = describeIn(interp, &scope, objv[2], wanted);
    closeScope(&scope);
    return code == TCL_OK && options.format == 1
                   ? asText(interp,
                             wanted ? "::etw::lib::SchemaEventText" : "::etw::lib::SchemaText",
                             Tcl_GetObjResult(interp))
                   : code;
}

/* ---- find ------------------------------------------------------------------------------------------ */

static const EtwOption findOptions[] = {
        {"-format", ETW_OPT_ENUM, offsetof(LookOptions, format), 0, 0, 0, formatNames},
        {"-in", ETW_OPT_OBJ, offsetof(LookOptions, in), 0, 0, 0, NULL},
        {"-limit", ETW_OPT_INT, offsetof(LookOptions, limit), 1, INT32_MAX, 0, NULL},
        {NULL, ETW_OPT_BOOL, 0, 0, 0, 0, NULL},
};

typedef struct Find {
    const char *word;    /* lower case */
    const char *pattern; /* of provider names; NULL: all */
    int limit, found;    /* 0: no limit */
    Tcl_Obj *hits;
    const EtwKnownProvider *known; /* the provider being searched */
} Find;

static bool has(const Find *find, const char *text)
{
    size_t length = strlen(find->word);

    for (; text != NULL && *text != 0; text++) {
        if (Tcl_UtfNcasecmp(text, find->word, length) == 0) {
            return true;
        }
    }
    return false;
}

static bool belowLimit(const Find *find)
{
    return find->limit == 0 || find->found < find->limit;
}

/* Add a hit of a kind; the caller adds more keys. */
static Tcl_Obj *addHit(Find *find, const char *kind, const char *name)
{
    Tcl_Obj *hit = Tcl_NewDictObj();

    EtwPut(hit, "provider", EtwStringObj(find->known->name));
    EtwPut(hit, "origin", Tcl_NewStringObj(EtwOriginName(find->known->origin), -1));
    EtwPut(hit, "kind", Tcl_NewStringObj(kind, -1));
    EtwPut(hit, "name", EtwStringObj(name));
    Tcl_ListObjAppendElement(NULL, find->hits, hit);
    find->found++;
    return hit;
}

static void putEvent(Tcl_Obj *hit, const EtwEventDef *event)
{
    EtwPut(hit, "event", EtwStringObj(event->schema.event));
    EtwPut(hit, "id",
            Tcl_NewIntObj(event->schema.def->classic ? event->desc.opcode : event->desc.id));
    EtwPut(hit, "version", Tcl_NewIntObj(event->desc.version));
}

/* True if a later version of the event also has the field: only that one is listed. */
static bool hasLaterVersion(const EtwProviderDef *def, int index, const char *field)
{
    const EtwEventDef *event = def->events[index];

    for (int i = index + 1; i < def->eventCount && def->events[i]->desc.id == event->desc.id &&
                            def->events[i]->desc.opcode == event->desc.opcode;
            i++) {
        const EtwSchema *schema = &def->events[i]->schema;
        if (field == NULL) {
            return true;
        }
        for (int k = 0; k < schema->fieldCount; k++) {
            if (strcmp(schema->fields[k].name, field) == 0) {
                return true;
            }
        }
    }
    return false;
}

static void findInEvent(Find *find, const EtwProviderDef *def, int index)
{
    const EtwEventDef *event = def->events[index];
    const EtwSchema *schema = &event->schema;

    if ((has(find, schema->event) || has(find, event->symbol)) &&
            !hasLaterVersion(def, index, NULL)) {
        putEvent(addHit(find, "event", schema->event), event);
    }
    for (int k = 0; k < schema->fieldCount && belowLimit(find); k++) {
        const char *name = schema->fields[k].name;
        if (has(find, name) && !hasLaterVersion(def, index, name)) {
            putEvent(addHit(find, "field", name), event);
        }
    }
}

static void findInNames(Find *find, const EtwProviderDef *def)
{
    for (int i = 0; i < def->nameCount[ETW_NAME_KEYWORD] && belowLimit(find); i++) {
        const EtwNamed *named = &def->names[ETW_NAME_KEYWORD][i];
        if (has(find, named->name)) {
            EtwPut(addHit(find, "keyword", named->name), "value", EtwUint64Obj(named->value));
        }
    }
    for (int i = 0; i < def->mapCount; i++) {
        const EtwNamedMap *map = def->maps[i];
        for (int k = 0; k < map->map.count && belowLimit(find); k++) {
            if (has(find, map->map.entries[k].name)) {
                Tcl_Obj *hit = addHit(find, "value", map->map.entries[k].name);
                EtwPut(hit, "map", EtwStringObj(map->name));
                EtwPut(hit, "value", EtwUint64Obj(map->map.entries[k].value));
            }
        }
    }
}

static void findInKnown(void *ctx, const EtwKnownProvider *known)
{
    Find *find = ctx;

    if (!belowLimit(find) || (find->pattern != NULL && !Tcl_StringCaseMatch(known->name,
                                                               find->pattern, TCL_MATCH_NOCASE))) {
        return;
    }
    const EtwProviderDef *def = EtwKnownProviderDef(known);
    find->known = known;
    if (has(find, known->name)) {
        addHit(find, "provider", known->name);
    }
    if (def != NULL) {
        findInNames(find, def);
    }
    for (int i = 0; def != NULL && i < def->eventCount && belowLimit(find); i++) {
        findInEvent(find, def, i);
    }
}

/*
 * Names of events consist of two parts, which the catalogue stores separately: search for the
 * longer one.
 */
static const char *rarestPart(const char *word, Tcl_DString *dsPtr)
{
    const char *slash = strchr(word, '/');

    if (slash == NULL) {
        return word;
    }
    return strlen(slash + 1) > (size_t)(slash - word)
                   ? slash + 1
                   : Tcl_DStringAppend(dsPtr, word, (Tcl_Size)(slash - word));
}

static int findCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    LookOptions options = {0};
    Tcl_DString word, part;
    (void)clientData;

    if (EtwParseOptions(interp, findOptions, objc - 3, objv + 3, &options, NULL) != TCL_OK) {
        return TCL_ERROR;
    }
    Tcl_DStringInit(&word);
    Tcl_DStringInit(&part);
    Tcl_DStringAppend(&word, Tcl_GetString(objv[2]), -1);
    Tcl_UtfToLower(Tcl_DStringValue(&word));
    Find find = {.word = Tcl_DStringValue(&word),
            .pattern = options.in ? Tcl_GetString(options.in) : NULL,
            .limit = options.limit,
            .hits = Tcl_NewListObj(0, NULL)};
    EtwKnownProviderSearch(rarestPart(find.word, &part), findInKnown, &find);
    Tcl_DStringFree(&word);
    Tcl_DStringFree(&part);
    if (options.format == 1) {
        return asText(interp, "::etw::lib::SchemaFindText", find.hits);
    }
    Tcl_SetObjResult(interp, find.hits);
    return TCL_OK;
}

/* ---- diff ------------------------------------------------------------------------------------------ */

/* Implemented in Tcl: compares results of describe. */
static int diffCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    Tcl_Obj *command = Tcl_NewListObj(0, NULL);
    (void)clientData;

    Tcl_ListObjAppendElement(NULL, command, Tcl_NewStringObj("::etw::lib::SchemaDiff", -1));
    for (int i = 2; i < objc; i++) {
        Tcl_ListObjAppendElement(NULL, command, objv[i]);
    }
    Tcl_IncrRefCount(command);
    int code = Tcl_EvalObjEx(interp, command, TCL_EVAL_GLOBAL | TCL_EVAL_DIRECT);
    Tcl_DecrRefCount(command);
    return code;
}

int EtwSchemaCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    static const EtwSubCommand subCommands[] = {
            {"catalog", catalogCmd, "?file?", 0, 1},
            {"describe", describeCmd, "provider ?event? ?-option value ...?", 1, -1},
            {"diff", diffCmd, "a b ?c? ?-format format?", 2, -1},
            {"find", findCmd, "text ?-option value ...?", 1, -1},
            {"list", listCmd, "?pattern? ?-from file?", 0, -1},
            {"load", loadCmd, "path ?path ...?", 1, -1},
            {"unload", unloadCmd, "", 0, 0},
            {NULL, NULL, NULL, 0, 0},
    };
    return EtwDispatch(subCommands, clientData, interp, objc, objv);
}
