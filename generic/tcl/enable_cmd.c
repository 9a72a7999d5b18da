/*
 * tcl/enable_cmd.c --
 *
 *	etw enable and etw disable: switch a provider, or groups of kernel events, on and off for a
 *	session.
 */
#include "tcl/provider.h"
#include "base/os.h"

enum { MAX_PIDS = 8, MAX_IDS = 64, MAX_GROUPS = 64 };

typedef struct EnableOptions {
    Tcl_Obj *level, *any, *all, *events, *pids;
    int stacks;
} EnableOptions;

#define AT(field) offsetof(EnableOptions, field)
static const EtwOption enableOptions[] = {
        {"-all", ETW_OPT_OBJ, AT(all), 0, 0, 0, NULL},
        {"-any", ETW_OPT_OBJ, AT(any), 0, 0, 0, NULL},
        {"-events", ETW_OPT_LIST, AT(events), 0, 0, 0, NULL},
        {"-level", ETW_OPT_OBJ, AT(level), 0, 0, 0, NULL},
        {"-pids", ETW_OPT_LIST, AT(pids), 0, 0, 0, NULL},
        ETW_OPTION_END,
};
static const EtwOption kernelOptions[] = {
        {"-pids", ETW_OPT_LIST, AT(pids), 0, 0, 0, NULL},
        {"-stacks", ETW_OPT_BOOL, AT(stacks), 0, 0, 0, NULL},
        ETW_OPTION_END,
};
#undef AT

/* A list of numbers 0..max into *numbers; option names it in messages. */
static int getNumbers(Tcl_Interp *interp, Tcl_Obj *list, const char *option, int room,
        Tcl_WideInt max, uint32_t *numbers, int *countPtr)
{
    Tcl_Size count;
    Tcl_Obj **words;
    Tcl_WideInt value;

    if (Tcl_ListObjGetElements(interp, list, &count, &words) != TCL_OK) {
        return TCL_ERROR;
    }
    if (count < 1 || count > room) {
        return EtwTclFail(interp, ETW_E_LIMIT, "COUNT", option,
                "\"%s\" takes 1 to %d numbers, not %ld", option, room, (long)count);
    }
    for (Tcl_Size i = 0; i < count; i++) {
        if (Tcl_GetWideIntFromObj(interp, words[i], &value) != TCL_OK) {
            return TCL_ERROR;
        }
        if (value < 0 || value > max) {
            return EtwTclFail(interp, ETW_E_ARG, "RANGE", option,
                    "value \"%s\" for \"%s\" is out of range: must be 0 to %lld",
                    Tcl_GetString(words[i]), option, (long long)max);
        }
        numbers[i] = (uint32_t)value;
    }
    *countPtr = (int)count;
    return TCL_OK;
}

/* ---- Providers ------------------------------------------------------------------------------- */

typedef struct EnableData {
    EtwEnable enable;
    EtwTarget target;
    uint32_t pids[MAX_PIDS];
    uint32_t idNumbers[MAX_IDS];
    uint16_t ids[MAX_IDS];
} EnableData;

static int getMasks(Tcl_Interp *interp, const EnableOptions *options, EnableData *data)
{
    const EtwTarget *target = &data->target;

    if (options->any != NULL && EtwGetKeywords(interp, options->any, target->name, target->keywords,
                                        target->keywordCount, &data->enable.any) != TCL_OK) {
        return TCL_ERROR;
    }
    if (options->all != NULL) {
        return EtwGetKeywords(interp, options->all, target->name, target->keywords,
                target->keywordCount, &data->enable.all);
    }
    return TCL_OK;
}

/* By default this process alone: what others of the user trace is asked for by -pids all. */
static int getPids(Tcl_Interp *interp, Tcl_Obj *list, EnableData *data)
{
    data->enable.pids = data->pids;
    if (list == NULL) {
        data->pids[0] = OsPid();
        data->enable.pidCount = 1;
        return TCL_OK;
    }
    if (strcmp(Tcl_GetString(list), "all") == 0) {
        return TCL_OK;
    }
    return getNumbers(
            interp, list, "-pids", MAX_PIDS, UINT32_MAX, data->pids, &data->enable.pidCount);
}

static int getFilters(Tcl_Interp *interp, const EnableOptions *options, EnableData *data)
{
    if (getPids(interp, options->pids, data) != TCL_OK) {
        return TCL_ERROR;
    }
    if (options->events != NULL) {
        if (getNumbers(interp, options->events, "-events", MAX_IDS, UINT16_MAX, data->idNumbers,
                    &data->enable.idCount) != TCL_OK) {
            return TCL_ERROR;
        }
        for (int i = 0; i < data->enable.idCount; i++) {
            data->ids[i] = (uint16_t)data->idNumbers[i];
        }
        data->enable.ids = data->ids;
    }
    return TCL_OK;
}

static int enableProvider(EtwInterp *ctx, int objc, Tcl_Obj *const objv[])
{
    Tcl_Interp *interp = ctx->interp;
    EnableOptions options = {0};
    EnableData data;
    EtwError err = {0};
    Tcl_DString session;

    memset(&data, 0, sizeof data);
    if (EtwResolveProvider(ctx, objv[2], &data.target) != TCL_OK ||
            EtwParseOptions(interp, enableOptions, objc - 3, objv + 3, &options, NULL) != TCL_OK ||
            (options.level && EtwGetLevel(interp, options.level, &data.enable.level) != TCL_OK) ||
            getMasks(interp, &options, &data) != TCL_OK ||
            getFilters(interp, &options, &data) != TCL_OK) {
        return TCL_ERROR;
    }
    data.enable.provider = data.target.guid;
    data.enable.providerName = data.target.name[0] ? data.target.name : NULL;
    Tcl_DStringInit(&session);
    EtwStatus status = EtwSessionEnable(EtwUtf8Of(objv[1], &session, NULL), &data.enable, &err);
    Tcl_DStringFree(&session);
    return status == ETW_OK ? TCL_OK : EtwTclError(interp, &err);
}

/* ---- Kernel events --------------------------------------------------------------------------- */

static int getKernelPids(Tcl_Interp *interp, Tcl_Obj *list, uint32_t *pids, EtwKernelEnable *enable)
{
    if (list == NULL) {
        return TCL_OK;
    }
    if (strcmp(Tcl_GetString(list), "all") == 0) {
        enable->allPids = true;
        return TCL_OK;
    }
    enable->pids = pids;
    return getNumbers(interp, list, "-pids", MAX_PIDS, UINT32_MAX, pids, &enable->pidCount);
}

/* groups: words in a list; options begin at objv[first]. */
static int enableKernel(EtwInterp *ctx, Tcl_Obj *groups, int first, int objc, Tcl_Obj *const objv[])
{
    Tcl_Interp *interp = ctx->interp;
    EnableOptions options = {0};
    EtwKernelEnable enable = {0};
    const char *names[MAX_GROUPS];
    uint32_t pids[MAX_PIDS];
    Tcl_Size count;
    Tcl_Obj **words;
    EtwError err = {0};
    Tcl_DString session;

    if (Tcl_ListObjGetElements(interp, groups, &count, &words) != TCL_OK ||
            EtwParseOptions(interp, kernelOptions, objc - first, objv + first, &options, NULL) !=
                    TCL_OK ||
            getKernelPids(interp, options.pids, pids, &enable) != TCL_OK) {
        return TCL_ERROR;
    }
    if (count < 1 || count > MAX_GROUPS) {
        return EtwTclFail(interp, ETW_E_ARG, "GROUPS", "",
                "expected 1 to %d kernel groups, see \"etw provider describe kernel\"", MAX_GROUPS);
    }
    for (Tcl_Size i = 0; i < count; i++) {
        names[i] = Tcl_GetString(words[i]);
    }
    enable.groups = names;
    enable.groupCount = (int)count;
    enable.stacks = options.stacks != 0;
    Tcl_DStringInit(&session);
    EtwStatus status = EtwSessionEnableKernel(EtwUtf8Of(objv[1], &session, NULL), &enable, &err);
    Tcl_DStringFree(&session);
    return status == ETW_OK ? TCL_OK : EtwTclError(interp, &err);
}

/* A tracepoint's name is one word of a list whatever it contains. */
static int enableTracepoint(EtwInterp *ctx, int objc, Tcl_Obj *const objv[])
{
    Tcl_Obj *groups = Tcl_NewListObj(1, &objv[2]);

    Tcl_IncrRefCount(groups);
    int result = enableKernel(ctx, groups, 3, objc, objv);
    Tcl_DecrRefCount(groups);
    return result;
}

int EtwEnableCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwInterp *ctx = clientData;

    if (objc < 3) {
        Tcl_WrongNumArgs(interp, 1, objv, "name provider ?-option value ...?");
        return TCL_ERROR;
    }
    if (strncmp(Tcl_GetString(objv[2]), "linux:", 6) == 0) {
        return enableTracepoint(ctx, objc, objv);
    }
    if (strcmp(Tcl_GetString(objv[2]), "kernel") != 0) {
        return enableProvider(ctx, objc, objv);
    }
    if (objc < 4) {
        Tcl_WrongNumArgs(interp, 1, objv, "name kernel groups ?-option value ...?");
        return TCL_ERROR;
    }
    return enableKernel(ctx, objv[3], 4, objc, objv);
}

int EtwDisableCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwInterp *ctx = clientData;
    EtwTarget target;
    EtwError err = {0};
    EtwStatus status;
    Tcl_DString session;

    if (objc != 3) {
        Tcl_WrongNumArgs(interp, 1, objv, "name provider");
        return TCL_ERROR;
    }
    bool kernel = strcmp(Tcl_GetString(objv[2]), "kernel") == 0;
    if (!kernel && EtwResolveProvider(ctx, objv[2], &target) != TCL_OK) {
        return TCL_ERROR;
    }
    Tcl_DStringInit(&session);
    const char *name = EtwUtf8Of(objv[1], &session, NULL);
    status = kernel ? EtwSessionDisableKernel(name, &err)
                    : EtwSessionDisable(name, &target.guid, &err);
    Tcl_DStringFree(&session);
    return status == ETW_OK ? TCL_OK : EtwTclError(interp, &err);
}
