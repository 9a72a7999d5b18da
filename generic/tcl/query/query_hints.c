/*
 * tcl/query/query_hints.c --
 *
 *	Why no event passed a filter: names, ids and processes that the trace does not have, with similar names
 *	that it has. A misspelt name would otherwise look like a successful search without results.
 */
#include "tcl/query/query.h"
#include "tcl/value/definition_lookup.h"
#include "schema/model/canonical_name.h"

enum { MAX_SIMILAR = 3, MAX_HINTS = 4, MAX_CONSIDERED = 50000 };

typedef struct Hints {
    const EtwQuery *query;
    Tcl_Obj *warnings;
    int count;
} Hints;

/* ---- Similar names --------------------------------------------------------------------------- */

typedef struct Similar {
    EtwSuggestions near;
    bool events;         /* names of events; otherwise of providers */
    Tcl_Obj *classNames; /* list: CLASS/NAME of events of classes; NULL: not wanted */
    int left;
} Similar;

static void considerSchema(void *ctx, const EtwSchema *schema)
{
    Similar *similar = ctx;
    const char *name = similar->events ? schema->event : schema->provider;

    if (similar->left > 0 && name != NULL && name[0] != '\0') {
        similar->left--;
        if (similar->classNames != NULL && schema->origin == ETW_ORIGIN_KERNEL) {
            Tcl_Obj *whole = Tcl_ObjPrintf("%s/%s", schema->provider, name);
            Tcl_ListObjAppendElement(NULL, similar->classNames, whole);
            name = Tcl_GetString(whole);
        }
        EtwSuggestionsAdd(&similar->near, name);
    }
}

/* The name in its canonical form, without the wildcards of a pattern. A text that the caller frees. */
static void plainName(EtwText *out, const char *name)
{
    EtwText canonical = {0};

    EtwAddCanonicalName(&canonical, name, strlen(name));
    for (size_t i = 0; i < canonical.size; i++) {
        if (strchr("*?", canonical.data[i]) == NULL) {
            EtwTextChar(out, canonical.data[i]);
        }
    }
    EtwTextChar(out, '\0');
    EtwTextFree(&canonical);
}

/* Append "; similar names: ...", or for a provider the providers that the trace has. */
static void addSimilar(const EtwQuery *query, const char *wrong, bool events, Tcl_Obj *text)
{
    EtwText name = {0};
    int count = 0;

    plainName(&name, wrong);
    Similar similar = {.near.wrong = name.data, .events = events, .left = MAX_CONSIDERED};
    similar.classNames = events && strchr(wrong, '/') != NULL ? Tcl_NewListObj(0, NULL) : NULL;
    EtwSchemaVisit(query->filter.store, considerSchema, &similar);
    const EtwSuggestions *near = &similar.near;
    while (count < near->count && count < MAX_SIMILAR &&
            near->distances[count] < EtwNearDistance(name.data)) {
        count++;
    }
    bool all = count == 0 && !events;
    for (int i = 0; i < (all ? near->count : count); i++) {
        Tcl_Obj *word = EtwStringObj(near->names[i]);
        Tcl_AppendPrintfToObj(text, "%s%s",
                i > 0 ? ", "
                : all ? "; providers of the trace: "
                      : "; similar: ",
                Tcl_GetString(word));
        Tcl_DecrRefCount(word);
    }
    if (all && near->count == ETW_SUGGESTIONS_MAX) {
        Tcl_AppendToObj(text, " ...", -1);
    }
    if (similar.classNames != NULL) {
        Tcl_DecrRefCount(similar.classNames);
    }
    EtwTextFree(&name);
}

/* ---- Hints ----------------------------------------------------------------------------------- */

static void addHint(Hints *hints, Tcl_Obj *text)
{
    if (hints->count++ < MAX_HINTS) {
        Tcl_ListObjAppendElement(NULL, hints->warnings, text);
    } else {
        Tcl_DecrRefCount(text);
    }
}

static void addUnmatched(void *ctx, const char *header, const char *constant)
{
    static const char *const headers[] = {"activity", "channel", "cpu", "id", "keyword", "level",
            "opcode", "pid", "process", "related", "task", "tid", NULL};
    Hints *hints = ctx;
    bool event = strcmp(header, "event") == 0, provider = strcmp(header, "provider") == 0;
    bool pattern = strpbrk(constant, "*?[") != NULL;
    int i = 0;

    while (headers[i] != NULL && strcmp(headers[i], header) != 0) {
        i++;
    }
    if (!event && !provider && headers[i] == NULL) {
        return;
    }
    Tcl_Obj *word = EtwTextObj(constant, strlen(constant));
    Tcl_Obj *text = Tcl_ObjPrintf(event      ? "no event %s \"%.100s\""
                                  : provider ? "no event has a provider %s \"%.100s\""
                                             : "no event has the %s \"%.100s\"",
            !event && !provider ? header
            : event             ? (pattern ? "has a name that matches" : "is named")
                                : (pattern ? "whose name matches" : "named"),
            Tcl_GetString(word));
    Tcl_DecrRefCount(word);
    if (event || provider) {
        addSimilar(hints->query, constant, event, text);
    }
    addHint(hints, text);
}

/* A text with a blank or "win:" in a string of the expression: it may be a name in Windows' notation. */
static bool hasWindowsName(const char *at)
{
    int braces = 0;
    bool quoted = false;

    for (; *at != '\0'; at++) {
        braces += (*at == '{') - (*at == '}');
        quoted ^= *at == '"';
        if ((braces > 0 || quoted) && (*at == ' ' || strncmp(at, "win:", 4) == 0)) {
            return true;
        }
    }
    return false;
}

static void addRegexp(Hints *hints)
{
    const char *text =
            hints->query->where.tclText ? Tcl_GetString(hints->query->where.tclText) : "";

    if (strstr(text, "regexp") != NULL && hasWindowsName(text)) {
        addHint(hints,
                Tcl_ObjPrintf("no event passes %.200s: names of events, tasks, opcodes and levels "
                              "have no blanks and no \"win:\", for example "
                              "HTTPRequestTraceTask/Parse",
                        text));
    }
}

static void addTimes(Hints *hints)
{
    const EtwFilter *f = &hints->query->filter;

    if (f->from.given && f->to.given && (f->based || f->from.relative == f->to.relative) &&
            f->from.ns > f->to.ns) {
        addHint(hints, Tcl_NewStringObj("no event was selected: the time of \"-to\" is before that "
                                        "of \"-from\"",
                               -1));
    }
}

static void findMessage(void *ctx, const EtwSchema *schema)
{
    bool *found = ctx;
    *found = *found || schema->message != NULL;
}

/* The texts of messages are often in resources of a program, and not in the trace. */
static void addMessages(const EtwQuery *query, Tcl_Obj *warnings)
{
    bool found = false;

    if (!query->messages || query->taken == 0) {
        return;
    }
    EtwSchemaVisit(query->filter.store, findMessage, &found);
    if (!found) {
        Tcl_ListObjAppendElement(NULL, warnings,
                Tcl_NewStringObj("no description of these events has the text of a message: load "
                                 "their manifest with \"-schema\"",
                        -1));
    }
}

void EtwQueryAddHints(const EtwQuery *query, Tcl_Obj *warnings)
{
    Hints hints = {query, warnings, 0};

    addMessages(query, warnings);
    if (!query->ended || query->taken > 0) {
        return;
    }
    addTimes(&hints);
    if (query->filter.predicate != NULL) {
        EtwPredicateUnmatched(query->filter.predicate, addUnmatched, &hints);
    }
    for (int i = 0; i < query->where.partCount; i++) {
        EtwPredicateUnmatched(query->where.parts[i], addUnmatched, &hints);
    }
    addRegexp(&hints);
}
