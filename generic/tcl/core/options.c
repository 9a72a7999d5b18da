/*
 * tcl/core/options.c --
 *
 *	The parser of "-name value" options: a command's options are a static table, their values a
 *	record. Names may be abbreviated; the error for an unknown one lists the valid ones, as with
 *	Tcl_GetIndexFromObj. Also dispatches the sub-commands of a C command by a similar table.
 */
#include "tcl/core/tclglue.h"
#include <stdio.h>
#include <stdlib.h>

static int rangeError(Tcl_Interp *interp, const EtwOption *option, Tcl_Obj *value)
{
    return EtwTclFail(interp, ETW_E_ARG, "RANGE", option->name,
            "value \"%.100s\" for \"%s\" is out of range: must be %lld to %lld",
            Tcl_GetString(value), option->name, (long long)option->min, (long long)option->max);
}

static bool inRange(const EtwOption *option, Tcl_WideInt value)
{
    return (option->min == 0 && option->max == 0) || (value >= option->min && value <= option->max);
}

/* A plain number is in the option's unit; with the suffix K, M or G it is in bytes. */
static int getSize(
        Tcl_Interp *interp, const EtwOption *option, Tcl_Obj *value, Tcl_WideInt *sizePtr)
{
    static const char suffixes[] = "kKmMgG";
    static const Tcl_WideInt factors[] = {1024, 1024 * 1024, 1024 * 1024 * 1024};
    const char *text = Tcl_GetString(value);
    size_t length = strlen(text);
    const char *suffix = length > 1 ? strchr(suffixes, text[length - 1]) : NULL;
    char *end;

    if (suffix == NULL || *suffix == '\0') {
        return Tcl_GetWideIntFromObj(interp, value, sizePtr);
    }
    long long number = strtoll(text, &end, 10);
    Tcl_WideInt factor = factors[(suffix - suffixes) / 2];
    if (end != text + length - 1 || number < 0 || number > INT64_MAX / factor) {
        return EtwTclFail(interp, ETW_E_ARG, "SIZE", option->name,
                "expected a size such as 64, 256K or 1G for \"%s\" but got \"%.100s\"",
                option->name, text);
    }
    *sizePtr = number * factor / option->unit;
    return TCL_OK;
}

static int parseNumber(Tcl_Interp *interp, const EtwOption *option, Tcl_Obj *value, void *where)
{
    Tcl_WideInt wide;
    int status = option->type == ETW_OPT_SIZE ? getSize(interp, option, value, &wide)
                                              : Tcl_GetWideIntFromObj(interp, value, &wide);
    if (status != TCL_OK) {
        return TCL_ERROR;
    }
    if (!inRange(option, wide)) {
        return rangeError(interp, option, value);
    }
    if (option->type == ETW_OPT_INT) {
        *(int *)where = (int)wide;
    } else {
        *(Tcl_WideInt *)where = wide;
    }
    return TCL_OK;
}

/*
 * The casts are needed because both are macros in Tcl 9 that use the size of the pointed-to type.
 * Messages name the value after the option: "bad mode ..." for -mode.
 */
static int parseValue(Tcl_Interp *interp, const EtwOption *option, Tcl_Obj *value, void *where)
{
    Tcl_Size length;

    switch (option->type) {
    case ETW_OPT_BOOL:
        return Tcl_GetBooleanFromObj(interp, value, (int *)where);
    case ETW_OPT_INT:
    case ETW_OPT_WIDE:
    case ETW_OPT_SIZE:
        return parseNumber(interp, option, value, where);
    case ETW_OPT_ENUM:
        return Tcl_GetIndexFromObjStruct(
                interp, value, option->names, sizeof(char *), option->name + 1, 0, (int *)where);
    case ETW_OPT_LIST:
        if (Tcl_ListObjLength(interp, value, &length) != TCL_OK) {
            return TCL_ERROR;
        }
        *(Tcl_Obj **)where = value;
        return TCL_OK;
    case ETW_OPT_OBJ:
        *(Tcl_Obj **)where = value;
        return TCL_OK;
    }
    return TCL_ERROR;
}

static bool endsOptions(Tcl_Obj *word)
{
    const char *text = Tcl_GetString(word);
    return text[0] == '-' && text[1] == '-' && text[2] == '\0';
}

int EtwParseOptions(Tcl_Interp *interp, const EtwOption *table, int objc, Tcl_Obj *const objv[],
        void *record, int *usedPtr)
{
    int i = 0;
    int index;

    while (i < objc && !endsOptions(objv[i])) {
        if (Tcl_GetIndexFromObjStruct(
                    interp, objv[i], table, sizeof(EtwOption), "option", 0, &index) != TCL_OK) {
            return TCL_ERROR;
        }
        if (i + 1 >= objc) {
            return EtwTclFail(interp, ETW_E_ARG, "MISSING", table[index].name,
                    "value for \"%s\" missing", table[index].name);
        }
        if (parseValue(interp, &table[index], objv[i + 1], (char *)record + table[index].offset) !=
                TCL_OK) {
            return TCL_ERROR;
        }
        i += 2;
    }
    i += i < objc; /* the `--` */
    if (usedPtr != NULL) {
        *usedPtr = i;
    } else if (i < objc) {
        return EtwTclFail(interp, ETW_E_ARG, "EXTRA", Tcl_GetString(objv[i]),
                "nothing may follow \"--\" here: \"%.100s\"", Tcl_GetString(objv[i]));
    }
    return TCL_OK;
}

int EtwDispatch(const EtwSubCommand *table, void *clientData, Tcl_Interp *interp, int objc,
        Tcl_Obj *const objv[])
{
    int index;

    if (objc < 2) {
        Tcl_WrongNumArgs(interp, 1, objv, "subcommand ?arg ...?");
        return TCL_ERROR;
    }
    if (Tcl_GetIndexFromObjStruct(
                interp, objv[1], table, sizeof(EtwSubCommand), "subcommand", 0, &index) != TCL_OK) {
        return TCL_ERROR;
    }
    const EtwSubCommand *sub = &table[index];
    int args = objc - 2;
    if (args < sub->minArgs || (sub->maxArgs >= 0 && args > sub->maxArgs)) {
        Tcl_WrongNumArgs(interp, 2, objv, sub->usage);
        return TCL_ERROR;
    }
    return sub->proc(clientData, interp, objc, objv);
}

int EtwMakeEnsemble(Tcl_Interp *interp, const char *name, const EtwCommand *commands, bool safe,
        void *clientData, int flags)
{
    Tcl_Namespace *ns = Tcl_FindNamespace(interp, name, NULL, 0);

    if (ns == NULL && (ns = Tcl_CreateNamespace(interp, name, NULL, NULL)) == NULL) {
        return TCL_ERROR;
    }
    Tcl_Obj *map = Tcl_NewDictObj();
    Tcl_IncrRefCount(map);
    for (const EtwCommand *command = commands; command->name != NULL; command++) {
        if (safe && !command->safe) {
            continue;
        }
        Tcl_Obj *full = Tcl_ObjPrintf("%s::%s", name, command->name);
        EtwPut(map, command->name, full);
        if (command->proc != NULL) {
            Tcl_NRCreateCommand(
                    interp, Tcl_GetString(full), command->proc, command->nreProc, clientData, NULL);
        }
    }
    Tcl_Command ensemble = Tcl_CreateEnsemble(interp, name, ns, TCL_ENSEMBLE_PREFIX | flags);
    int result = ensemble ? Tcl_SetEnsembleMappingDict(interp, ensemble, map) : TCL_ERROR;
    Tcl_DecrRefCount(map);
    return result;
}
