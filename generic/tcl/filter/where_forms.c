/*
 * tcl/filter/where_forms.c --
 *
 *	Short forms of -where: -provider, -event, -keyword, -level, -pid.
 */
#include "tcl/filter/where.h"
#include <stdio.h>

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
            char number[64]; /* Tcl_AppendPrintfToObj has 32 bits for %llx in Tcl 8.6 on Windows */
            snprintf(number, sizeof number, "($keyword & 0x%llx) || ", (unsigned long long)mask);
            Tcl_AppendToObj(expr, number, -1);
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

int EtwWhereParseForms(Tcl_Interp *interp, const EtwWhereForms *o, EtwWhere *where)
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
