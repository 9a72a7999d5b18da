/*
 * tcl/core/options.c --
 *
 *	The parser of "-name value" options: a command's options are a static table, their values a
 *	record. Names may be abbreviated; the error for an unknown one lists the valid ones, as with
 *	Tcl_GetIndexFromObj. Also dispatches the sub-commands of a C command by a similar table.
 */
#include "tcl/core/tclglue.h"
#include "predicate/quantity.h"
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

/* A plain number is in the option's unit; one with a unit of its own (64KB, 1G) in bytes. */
static int getSize(
        Tcl_Interp *interp, const EtwOption *option, Tcl_Obj *value, Tcl_WideInt *sizePtr)
{
    const char *text = Tcl_GetString(value);
    size_t length = strlen(text);
    bool lower = length > 1 && strchr("kmg", text[length - 1]) != NULL;
    Tcl_Obj *upper = lower ? Tcl_ObjPrintf("%.*sB", (int)length, text) : value;
    int64_t bytes;

    Tcl_IncrRefCount(upper);
    bool isSize = EtwQuantityParse(Tcl_GetString(upper), ETW_QUANTITY_SIZE, &bytes);
    Tcl_DecrRefCount(upper);
    if (isSize) {
        *sizePtr = bytes / option->unit;
        return TCL_OK;
    }
    if (length > 0 && text[length - 1] >= '0' && text[length - 1] <= '9') {
        return Tcl_GetWideIntFromObj(interp, value, sizePtr);
    }
    return EtwTclFail(interp, ETW_E_ARG, "SIZE", option->name,
            "expected a size such as 64, 256K or 1G for \"%s\" but got \"%.100s\"", option->name,
            text);
}

/* A value of the wrong type. The errorCode stays that of Tcl. */
static int badValue(Tcl_Interp *interp, const EtwOption *option, Tcl_Obj *value, const char *wanted)
{
    if (interp != NULL) {
        Tcl_SetObjResult(interp, Tcl_ObjPrintf("expected %s for \"%s\" but got \"%.100s\"", wanted,
                                         option->name, Tcl_GetString(value)));
    }
    return TCL_ERROR;
}

static int parseNumber(Tcl_Interp *interp, const EtwOption *option, Tcl_Obj *value, void *where)
{
    Tcl_WideInt wide;
    int status = option->type == ETW_OPT_SIZE ? getSize(interp, option, value, &wide)
                                              : Tcl_GetWideIntFromObj(interp, value, &wide);
    if (status != TCL_OK) {
        return option->type == ETW_OPT_SIZE ? TCL_ERROR
                                            : badValue(interp, option, value, "an integer");
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
        return Tcl_GetBooleanFromObj(interp, value, (int *)where) == TCL_OK
                       ? TCL_OK
                       : badValue(interp, option, value, "a boolean value");
    case ETW_OPT_INT:
    case ETW_OPT_WIDE:
    case ETW_OPT_SIZE:
        return parseNumber(interp, option, value, where);
    case ETW_OPT_ENUM:
        return Tcl_GetIndexFromObjStruct(
                interp, value, option->names, sizeof(char *), option->name + 1, 0, (int *)where);
    case ETW_OPT_LIST:
        if (Tcl_ListObjLength(interp, value, &length) != TCL_OK) {
            return badValue(interp, option, value, "a list");
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

/* Options that have another name now: works for one release. */
static struct {
    const char *old, *now;
    bool noticed;
} renamed[] = {{"-providers", "-provider", false}};

/* Report on stderr, once in a process, that an old name was used. */
static void notice(const char *old, const char *now)
{
    Tcl_Channel channel = Tcl_GetStdChannel(TCL_STDERR);
    Tcl_Obj *text = Tcl_ObjPrintf("etw: the option \"%s\" is named \"%s\" now; the next release "
                                  "will reject the old name\n",
            old, now);

    Tcl_IncrRefCount(text);
    if (channel != NULL) {
        Tcl_WriteObj(channel, text);
        Tcl_Flush(channel);
    }
    Tcl_DecrRefCount(text);
}

static int indexOf(const EtwOption *table, const char *name)
{
    for (int i = 0; table[i].name != NULL; i++) {
        if (strcmp(table[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

/* The option that has a new name; -1: not an old name. */
static int findRenamed(const EtwOption *table, const char *name)
{
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++) {
        int index = strcmp(renamed[i].old, name) == 0 ? indexOf(table, renamed[i].now) : -1;
        if (index >= 0 && indexOf(table, name) < 0) {
            if (!renamed[i].noticed) {
                renamed[i].noticed = true;
                notice(renamed[i].old, renamed[i].now);
            }
            return index;
        }
    }
    return -1;
}

/* The most similar name, for a message; NULL: none is similar. */
static const char *similarOption(const EtwOption *table, const char *name)
{
    const char *best = NULL;
    int most = EtwNearDistance(name), distance;

    for (; table->name != NULL; table++) {
        if ((distance = EtwNameDistance(name, table->name)) < most) {
            most = distance;
            best = table->name;
        }
    }
    return best;
}

static int findOption(Tcl_Interp *interp, const EtwOption *table, Tcl_Obj *word, int *indexPtr)
{
    if ((*indexPtr = findRenamed(table, Tcl_GetString(word))) >= 0) {
        return TCL_OK;
    }
    int result = Tcl_GetIndexFromObjStruct(
            interp, word, table, sizeof(EtwOption), "option", 0, indexPtr);
    const char *similar = result != TCL_OK ? similarOption(table, Tcl_GetString(word)) : NULL;
    if (similar != NULL && strncmp(Tcl_GetStringResult(interp), "bad", 3) == 0) {
        Tcl_SetObjResult(interp,
                Tcl_ObjPrintf("%s; did you mean \"%s\"?", Tcl_GetStringResult(interp), similar));
    }
    return result;
}

int EtwParseOptions(Tcl_Interp *interp, const EtwOption *table, int objc, Tcl_Obj *const objv[],
        void *record, int *usedPtr)
{
    int i = 0;
    int index;

    while (i < objc && !endsOptions(objv[i])) {
        if (findOption(interp, table, objv[i], &index) != TCL_OK) {
            return TCL_ERROR;
        }
        if (i + 1 >= objc) {
            return EtwTclFail(interp, ETW_E_ARG, "MISSING", table[index].name,
                    "the option \"%s\" needs a value", table[index].name);
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
                "no word may follow \"--\" in this command, but got \"%.100s\"",
                Tcl_GetString(objv[i]));
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
