/*
 * tcl/consume/query_options.c --
 *
 *	The options of queries that have a notation of their own: moments (-from, -to, -last), short forms
 *	of -where (-provider, -event, -keyword, -level, -pid), and -schema.
 */
#include "tcl/consume/query.h"
#include "tcl/value/definition_load.h"
#include "base/calendar.h"
#include "predicate/quantity.h"
#include <stdlib.h>

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

typedef enum Form { FORM_PROVIDER, FORM_EVENT, FORM_PID } Form;

static const struct {
    const char *option, *names,
            *constants; /* fields that patterns and constants are compared with */
} forms[] = {
        {"-provider", "provider", "provider"}, {"-event", "event", "id"}, {"-pid", NULL, "pid"}};

/* A number or a GUID, which the reader of a file can compare; NULL: a name. */
static Tcl_Obj *constantOf(Form form, Tcl_Obj *element)
{
    Tcl_WideInt number;
    char name[ETW_GUID_TEXT];
    EtwGuid guid;

    if (form == FORM_PROVIDER && EtwGuidParse(Tcl_GetString(element), &guid)) {
        EtwGuidFormat(&guid, name);
        return Tcl_NewStringObj(name, -1);
    }
    bool isNumber =
            form != FORM_PROVIDER && Tcl_GetWideIntFromObj(NULL, element, &number) == TCL_OK;
    return isNumber && number >= 0 ? Tcl_NewWideIntObj(number) : NULL;
}

static int badElement(Tcl_Interp *interp, Form form, const char *text)
{
    return EtwTclFail(interp, ETW_E_ARG, form == FORM_PID ? "PID" : "PATTERN", forms[form].option,
            "expected %s for \"%s\" but got \"%.100s\"",
            form == FORM_PID        ? "numbers of processes"
            : form == FORM_PROVIDER ? "names of providers, patterns with * and ?, or GUIDs"
                                    : "names of events, patterns with * and ?, or event ids",
            forms[form].option, text);
}

/* Add a condition for -level: events of this level and of more important ones. */
static int addLevel(Tcl_Interp *interp, Tcl_Obj *level, Tcl_Obj *expr)
{
    uint8_t number;

    if (level == NULL) {
        return TCL_OK;
    }
    if (EtwGetLevel(interp, level, &number) != TCL_OK) {
        return TCL_ERROR;
    }
    Tcl_AppendPrintfToObj(expr, "($level > 0 && $level <= %d) && ", number);
    return TCL_OK;
}

/* Add a condition for -keyword: events that have one of these. */
static int addKeywords(Tcl_Interp *interp, Tcl_Obj *list, Tcl_Obj *expr)
{
    Tcl_Obj **elements;
    Tcl_Size count = 0;
    uint64_t mask;

    if (list != NULL && Tcl_ListObjGetElements(interp, list, &count, &elements) != TCL_OK) {
        return TCL_ERROR;
    }
    Tcl_AppendToObj(expr, count > 0 ? "(" : "", -1);
    for (Tcl_Size i = 0; i < count; i++) {
        const char *text = Tcl_GetString(elements[i]);
        if (EtwGetUint64(NULL, elements[i], &mask) == TCL_OK) {
            Tcl_AppendPrintfToObj(expr, "($keyword & 0x%llx) || ", (unsigned long long)mask);
        } else if (*text == '\0' || strpbrk(text, "\\\"[]{}$") != NULL) {
            return EtwTclFail(interp, ETW_E_ARG, "KEYWORD", text,
                    "expected names of keywords or numbers for \"-keyword\" but got \"%.100s\"",
                    text);
        } else {
            Tcl_AppendPrintfToObj(expr, "\"%s\" in $keyword || ", text);
        }
    }
    Tcl_AppendToObj(expr, count > 0 ? "0) && " : "", -1);
    return TCL_OK;
}

/* Add "(A || B) && " for a list; nothing for NULL. */
static int addForm(Tcl_Interp *interp, Form form, Tcl_Obj *list, Tcl_Obj *expr)
{
    Tcl_Obj **elements, *constants = Tcl_NewListObj(0, NULL);
    Tcl_Size count = 0, constantCount;

    Tcl_IncrRefCount(constants);
    int result = list != NULL ? Tcl_ListObjGetElements(interp, list, &count, &elements) : TCL_OK;
    Tcl_AppendToObj(expr, count > 0 ? "(" : "", -1);
    for (Tcl_Size i = 0; i < count && result == TCL_OK; i++) {
        const char *text = Tcl_GetString(elements[i]);
        Tcl_Obj *constant = constantOf(form, elements[i]);
        if (constant != NULL) {
            Tcl_ListObjAppendElement(NULL, constants, constant);
        } else if (form == FORM_PID || *text == '\0' || strpbrk(text, "\\\"[]{}$") != NULL) {
            result = badElement(interp, form, text);
        } else {
            Tcl_AppendPrintfToObj(
                    expr, "[string match -nocase \"%s\" $%s] || ", text, forms[form].names);
        }
    }
    Tcl_ListObjLength(NULL, constants, &constantCount);
    if (count > 0 && constantCount > 0) {
        Tcl_AppendPrintfToObj(
                expr, "$%s in {%s}) && ", forms[form].constants, Tcl_GetString(constants));
    } else if (count > 0) {
        Tcl_AppendToObj(expr, "0) && ", -1);
    }
    Tcl_DecrRefCount(constants);
    return result;
}

int EtwQueryParseWhere(Tcl_Interp *interp, const EtwQueryOptions *o, EtwWhere *where)
{
    if (o->provider == NULL && o->event == NULL && o->pid == NULL && o->level == NULL &&
            o->keyword == NULL) {
        return o->where == NULL ? TCL_OK : EtwWhereParse(interp, o->where, false, where);
    }
    if (o->where != NULL) { /* for its own messages, without the text that is added */
        EtwWhere alone;
        if (EtwWhereParse(interp, o->where, false, &alone) != TCL_OK) {
            return TCL_ERROR;
        }
        EtwWhereFree(&alone);
    }
    Tcl_Obj *expr = Tcl_NewObj();
    Tcl_IncrRefCount(expr);
    int result = addForm(interp, FORM_PROVIDER, o->provider, expr);
    result = result == TCL_OK ? addForm(interp, FORM_PID, o->pid, expr) : result;
    result = result == TCL_OK ? addLevel(interp, o->level, expr) : result;
    result = result == TCL_OK ? addKeywords(interp, o->keyword, expr) : result;
    result = result == TCL_OK ? addForm(interp, FORM_EVENT, o->event, expr) : result;
    if (result == TCL_OK) {
        Tcl_AppendPrintfToObj(expr, "(%s\n)", o->where ? Tcl_GetString(o->where) : "1");
        result = EtwWhereParse(interp, expr, false, where);
    }
    Tcl_DecrRefCount(expr);
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
