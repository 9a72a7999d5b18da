/*
 * tcl/query/query_options.c --
 *
 *	The options of queries that have a notation of their own: moments (-from, -to, -last), short forms
 *	of -where, and -schema.
 */
#include "tcl/query/query.h"
#include "tcl/value/definition_load.h"
#include "base/calendar.h"
#include "base/os.h"
#include "predicate/quantity.h"
#include "symbol/symbols.h"
#include <stdlib.h>

/* ---- Which values there are ------------------------------------------------------------------- */

#define AT(field) ETW_QUERY_AT(field)
/* The values of EtwQueryOptions that select events come first. */
enum { SELECTING = 9 };
static const size_t values[] = {AT(where), AT(provider), AT(event), AT(keyword), AT(level), AT(pid),
        AT(from), AT(to), AT(last), AT(records), AT(schema), AT(symbols)};
#undef AT

static Tcl_Obj *valueAt(const EtwQueryOptions *options, size_t i)
{
    return *(Tcl_Obj *const *)(const void *)((const char *)options + values[i]);
}

bool EtwQuerySelects(const EtwQueryOptions *options)
{
    bool selects = options->limit != 0;
    for (size_t i = 0; i < SELECTING; i++) {
        selects = selects || valueAt(options, i) != NULL;
    }
    return selects;
}

void EtwQueryRetain(const EtwQueryOptions *options)
{
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (valueAt(options, i) != NULL) {
            Tcl_IncrRefCount(valueAt(options, i));
        }
    }
}

void EtwQueryRelease(const EtwQueryOptions *options)
{
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (valueAt(options, i) != NULL) {
            Tcl_DecrRefCount(valueAt(options, i));
        }
    }
}

/* ---- Moments --------------------------------------------------------------------------------- */

/* FILETIMEs of 1970 to 2108: as ns since 1970 these numbers would be in 1973 and 1974. */
#define FILETIME_MAX INT64_C(160000000000000000)

/* Seconds as the listing prints them: a sign, or a decimal point. */
static bool getSeconds(const char *text, int64_t *nsPtr)
{
    char *end;

    if (strspn(text, "+-.0123456789") != strlen(text) ||
            (*text != '+' && strchr(text, '.') == NULL)) {
        return false;
    }
    double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || seconds >= 9e9 || seconds <= -9e9) {
        return false;
    }
    *nsPtr = (int64_t)(seconds * 1e9 + (seconds < 0 ? -0.5 : 0.5));
    return true;
}

int EtwQueryMoment(Tcl_Interp *interp, const char *option, Tcl_Obj *obj, EtwMoment *moment)
{
    Tcl_WideInt number;

    if (obj == NULL) {
        return TCL_OK;
    }
    const char *text = Tcl_GetString(obj);
    moment->given = true;
    moment->relative = getSeconds(text, &moment->ns) ||
                       EtwQuantityParse(text + (*text == '+'), ETW_QUANTITY_DURATION, &moment->ns);
    if (moment->relative || EtwParseDateTime(text, &moment->ns)) {
        return TCL_OK;
    }
    if (*text != '+' && Tcl_GetWideIntFromObj(NULL, obj, &number) == TCL_OK) {
        moment->ns = number >= ETW_FILETIME_EPOCH && number < FILETIME_MAX ? EtwNsOfFiletime(number)
                                                                           : number;
        return TCL_OK;
    }
    return EtwTclFail(interp, ETW_E_ARG, "TIME", option,
            "expected a time for \"%s\" but got \"%.100s\": must be +SECONDS or a duration such as "
            "20ms from the start of the trace, a date such as 2024-02-29T23:59:59.5Z or "
            "2024-02-29T23:59:59+01:00, nanoseconds since 1970, or a FILETIME",
            option, text);
}

/* The time of the last event. `end` is what the header says. False: the source cannot be read twice. */
static bool lastTime(const EtwSource *source, int64_t end, int64_t *timePtr)
{
    EtwEvent event;
    bool found = false;

    for (int64_t window = ETW_NS_A_SECOND; !found; window *= 64) {
        bool all = end == 0 || window > end / 64;
        EtlFilter filter = {.from = all ? INT64_MIN : end - window, .to = INT64_MAX};
        EtwSource *again = EtwSourceReopen(source, &filter);
        EtwStatus status = again != NULL ? ETW_OK : ETW_END;
        while (status == ETW_OK || status == ETW_PAUSE) {
            status = EtwSourceNext(again, &event);
            if (status == ETW_OK && event.time >= filter.from && !EtwEventIsHeader(&event) &&
                    (!found || event.time > *timePtr)) {
                *timePtr = event.time;
                found = true;
            }
        }
        if (again == NULL) {
            return false;
        }
        EtwSourceClose(again);
        if (all) {
            break;
        }
    }
    return found;
}

int EtwQueryLast(EtwQuery *query, const EtwQueryOptions *options)
{
    Tcl_Interp *interp = query->ctx->interp;
    int64_t duration, end = 0, last;
    bool closed = true;

    if (options->last == NULL) {
        return TCL_OK;
    }
    if (!EtwQuantityParse(Tcl_GetString(options->last), ETW_QUANTITY_DURATION, &duration)) {
        return EtwTclFail(interp, ETW_E_ARG, "DURATION", "-last",
                "expected a duration for \"-last\" but got \"%.100s\": must be a number with the "
                "unit ns, us, ms, s, min or h, for example 20ms",
                Tcl_GetString(options->last));
    }
    if (query->filter.from.given) {
        return EtwTclFail(interp, ETW_E_ARG, "OPTION", "-last",
                "\"-last\" and \"-from\" exclude each other: both set the first event");
    }
    for (int i = 0; i < EtwSourceFileCount(query->source); i++) {
        const EtlInfo *info = EtwSourceFileInfo(query->source, i, NULL);
        closed = closed && info->endTime != 0;
        end = info->endTime > end ? info->endTime : end;
    }
    if (EtwSourceIsLive(query->source) || !lastTime(query->source, closed ? end : 0, &last)) {
        if (!EtwSourceIsLive(query->source) && EtwSourceFileCount(query->source) > 0) {
            return TCL_OK; /* a trace without events */
        }
        return EtwTclFail(interp, ETW_E_ARG, "OPTION", "-last",
                "\"-last\" needs trace files: the end of a running session or a pipe is not known");
    }
    query->filter.from = (EtwMoment){.given = true, .ns = EtwTimeAdd(last, -duration)};
    return TCL_OK;
}

/* ---- Short forms of -where ------------------------------------------------------------------- */

int EtwQueryParseWhere(Tcl_Interp *interp, const EtwQueryOptions *o, EtwWhere *where)
{
    EtwWhereForms forms = {o->where, o->provider, o->event, o->keyword, o->pid, o->level};

    return EtwWhereParseForms(interp, &forms, where);
}

/* ---- Names of functions ---------------------------------------------------------------------- */

/* auto (the default): files of this machine. off: no names. Otherwise folders, which come before these files. */
int EtwQuerySymbols(Tcl_Interp *interp, Tcl_Obj *list, EtwSource *source)
{
    Tcl_Obj **words = NULL;
    Tcl_Size count = 0;
    int folders = 0;

    if (list != NULL && Tcl_ListObjGetElements(interp, list, &count, &words) != TCL_OK) {
        return TCL_ERROR;
    }
    const char **paths = EtwAlloc(((size_t)count + 1) * sizeof *paths);
    Tcl_DString *texts = EtwAlloc(((size_t)count + 1) * sizeof *texts);
    bool off = false;
    int result = TCL_OK, opened = 0;
    for (Tcl_Size i = 0; i < count && result == TCL_OK; i++) {
        const char *word = Tcl_GetString(words[i]);
        if (strcmp(word, "off") == 0 && count == 1) {
            off = true;
        } else if (strcmp(word, "auto") != 0) {
            Tcl_DStringInit(&texts[opened]);
            paths[folders] = EtwPathOf(interp, words[i], &texts[opened]);
            opened++;
            if (paths[folders] == NULL || !OsFileExists(paths[folders])) {
                result = EtwTclFail(interp, ETW_E_ARG, "SYMBOLS", word,
                        "\"-symbols\" takes auto, off, or folders with files that have symbols: "
                        "there is no "
                        "folder \"%.200s\"",
                        word);
            }
            folders++;
        }
    }
    if (result == TCL_OK && !off) {
        EtwSourceSetSymbols(source, EtwSymbolsNew(paths, folders));
    }
    for (int i = 0; i < opened; i++) {
        Tcl_DStringFree(&texts[i]);
    }
    EtwFree(texts);
    EtwFree(paths);
    return result;
}

/* ---- Descriptions of events ------------------------------------------------------------------ */

int EtwQueryLoadSchemas(Tcl_Interp *interp, Tcl_Obj *paths)
{
    Tcl_Obj **path;
    Tcl_Size count = 0;

    EtwLoadOwnDefinitions(interp);
    if (paths != NULL && Tcl_ListObjGetElements(interp, paths, &count, &path) != TCL_OK) {
        return TCL_ERROR;
    }
    for (Tcl_Size i = 0; i < count; i++) {
        if (EtwLoadDefinitionsOnce(interp, path[i]) != TCL_OK) {
            return TCL_ERROR;
        }
    }
    return TCL_OK;
}
