/*
 * tcl/command/enable_cmd.c --
 *
 *	etw enable and etw disable: enable or disable a provider, or groups of kernel events, in a
 *	session.
 */
#include "tcl/provider/tcl_provider.h"
#include "base/os.h"

enum { MAX_IDS = 64, MAX_GROUPS = 64, MAX_TESTS = 32, MAX_COUNTERS = 8 };

typedef struct EnableOptions {
    Tcl_Obj *level, *any, *all, *events, *pids;
    Tcl_Obj *stackEvents, *properties, *executables, *payload, *interval;
    Tcl_Obj *arguments, *names, *counters;
    int stacks, unwind, capture, payloadMatch;
} EnableOptions;

#define AT(field) offsetof(EnableOptions, field)
static const char *const matchNames[] = {"all", "any", NULL};
enum { NOT_GIVEN = -1, UNWIND_FP, UNWIND_DWARF };
static const char *const unwindNames[] = {"fp", "dwarf", NULL};
static const EtwOption enableOptions[] = {
        {"-all", ETW_OPT_OBJ, AT(all), 0, 0, 0, NULL},
        {"-any", ETW_OPT_OBJ, AT(any), 0, 0, 0, NULL},
        {"-arguments", ETW_OPT_LIST, AT(arguments), 0, 0, 0, NULL},
        {"-capture", ETW_OPT_BOOL, AT(capture), 0, 0, 0, NULL},
        {"-events", ETW_OPT_LIST, AT(events), 0, 0, 0, NULL},
        {"-executables", ETW_OPT_LIST, AT(executables), 0, 0, 0, NULL},
        {"-level", ETW_OPT_OBJ, AT(level), 0, 0, 0, NULL},
        {"-names", ETW_OPT_LIST, AT(names), 0, 0, 0, NULL},
        {"-payload", ETW_OPT_LIST, AT(payload), 0, 0, 0, NULL},
        {"-payloadmatch", ETW_OPT_ENUM, AT(payloadMatch), 0, 0, 0, matchNames},
        {"-pids", ETW_OPT_LIST, AT(pids), 0, 0, 0, NULL},
        {"-properties", ETW_OPT_LIST, AT(properties), 0, 0, 0, NULL},
        {"-stacks", ETW_OPT_LIST, AT(stackEvents), 0, 0, 0, NULL},
        ETW_OPTION_END,
};
static const EtwOption kernelOptions[] = {
        {"-counters", ETW_OPT_LIST, AT(counters), 0, 0, 0, NULL},
        {"-interval", ETW_OPT_OBJ, AT(interval), 0, 0, 0, NULL},
        {"-pids", ETW_OPT_LIST, AT(pids), 0, 0, 0, NULL},
        {"-stacks", ETW_OPT_BOOL, AT(stacks), 0, 0, 0, NULL},
        {"-unwind", ETW_OPT_ENUM, AT(unwind), 0, 0, 0, unwindNames},
        ETW_OPTION_END,
};
#undef AT

/* ---- Providers ------------------------------------------------------------------------------- */

typedef struct EnableData {
    EtwEnable enable;
    EtwProviderRef target;
    uint32_t pids[ETW_MAX_PIDS];
    uint32_t idNumbers[MAX_IDS];
    uint16_t ids[MAX_IDS], stackIds[MAX_IDS];
    EtwPayloadTest tests[MAX_TESTS];
    Tcl_DString executables, names, stackNames, arguments;
} EnableData;

static int getMasks(Tcl_Interp *interp, const EnableOptions *options, EnableData *data)
{
    const EtwProviderRef *target = &data->target;

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

/* The default is this process. "all": all processes of the user. "scope": those that were started with
 * the session's instance in ETW_SCOPE. */
static int getPids(Tcl_Interp *interp, Tcl_Obj *list, EnableData *data)
{
    data->enable.pids = data->pids;
    if (list == NULL) {
        data->pids[0] = OsPid();
        data->enable.pidCount = 1;
        data->enable.pidsByDefault = true;
        return TCL_OK;
    }
    data->enable.scoped = strcmp(Tcl_GetString(list), "scope") == 0;
    if (data->enable.scoped || strcmp(Tcl_GetString(list), "all") == 0) {
        return TCL_OK;
    }
    return EtwGetNumbers(
            interp, list, "-pids", ETW_MAX_PIDS, UINT32_MAX, data->pids, &data->enable.pidCount);
}

/* A list whose first element is "not" selects all events but those that follow. Returns the rest. */
static Tcl_Obj *withoutNot(Tcl_Obj *list, bool *excludedPtr)
{
    Tcl_Size count;
    Tcl_Obj **words;

    Tcl_ListObjGetElements(NULL, list, &count, &words);
    *excludedPtr = count > 0 && strcmp(Tcl_GetString(words[0]), "not") == 0;
    return *excludedPtr ? Tcl_NewListObj(count - 1, words + 1) : list;
}

static int getIds(Tcl_Interp *interp, Tcl_Obj *list, const char *option, EnableData *data,
        uint16_t *ids, int *countPtr)
{
    if (EtwGetNumbers(interp, list, option, MAX_IDS, UINT16_MAX, data->idNumbers, countPtr) !=
            TCL_OK) {
        return TCL_ERROR;
    }
    for (int i = 0; i < *countPtr; i++) {
        ids[i] = (uint16_t)data->idNumbers[i];
    }
    return TCL_OK;
}

static int getEvents(Tcl_Interp *interp, Tcl_Obj *given, EnableData *data)
{
    Tcl_Obj *list = withoutNot(given, &data->enable.idsExcluded);

    data->enable.ids = data->ids;
    Tcl_IncrRefCount(list);
    int result = getIds(interp, list, "-events", data, data->ids, &data->enable.idCount);
    Tcl_DecrRefCount(list);
    return result;
}

static int getFilters(Tcl_Interp *interp, const EnableOptions *options, EnableData *data)
{
    if (getPids(interp, options->pids, data) != TCL_OK) {
        return TCL_ERROR;
    }
    return options->events == NULL ? TCL_OK : getEvents(interp, options->events, data);
}

/* ---- Options of the system engine ----------------------------------------------------------- */

/* Append the words as UTF-8, each with a NUL; at most so many bytes. */
static int getWords(
        Tcl_Interp *interp, Tcl_Obj *list, const char *option, int most, Tcl_DString *to)
{
    Tcl_Size count;
    Tcl_Obj **words;
    Tcl_DString word;

    Tcl_ListObjGetElements(NULL, list, &count, &words);
    for (Tcl_Size i = 0; i < count; i++) {
        Tcl_DStringInit(&word);
        const char *text = EtwUtf8Of(words[i], &word, NULL);
        Tcl_DStringAppend(to, text, (Tcl_Size)strlen(text) + 1);
        Tcl_DStringFree(&word);
    }
    if (count < 1 || Tcl_DStringLength(to) > most) {
        return EtwTclFail(interp, ETW_E_LIMIT, "SIZE", option,
                "expected 1 to %d bytes for \"%s\", with one for the end of each word, but got %d",
                most, option, (int)Tcl_DStringLength(to));
    }
    return TCL_OK;
}

static int getNames(Tcl_Interp *interp, Tcl_Obj *given, const char *option, EtwNameFilter *filter,
        Tcl_DString *to)
{
    Tcl_Obj *list = withoutNot(given, &filter->excluded);
    Tcl_Size count;

    Tcl_IncrRefCount(list);
    Tcl_ListObjLength(NULL, list, &count);
    int result = getWords(interp, list, option, ETW_MAX_FILTER_NAMES, to);
    Tcl_DecrRefCount(list);
    filter->names = Tcl_DStringValue(to);
    filter->size = (size_t)Tcl_DStringLength(to);
    filter->count = (int)count;
    return result;
}

/* Names and values, for the provider. */
static int getArguments(Tcl_Interp *interp, Tcl_Obj *list, EnableData *data)
{
    Tcl_Size count;

    Tcl_ListObjLength(NULL, list, &count);
    if (count % 2 != 0) {
        return EtwTclFail(interp, ETW_E_ARG, "ARGUMENTS", Tcl_GetString(list),
                "expected a list of names and values for \"-arguments\" but got \"%.100s\"",
                Tcl_GetString(list));
    }
    int result = getWords(interp, list, "-arguments", ETW_MAX_ARGUMENTS, &data->arguments);
    data->enable.arguments = Tcl_DStringValue(&data->arguments);
    data->enable.argumentsSize = (size_t)Tcl_DStringLength(&data->arguments);
    return result;
}

static bool isNumber(Tcl_Obj *list)
{
    Tcl_Obj *first = NULL;
    int number;

    Tcl_ListObjIndex(NULL, list, 0, &first);
    return first != NULL && Tcl_GetIntFromObj(NULL, first, &number) == TCL_OK;
}

/* A boolean, or a list of event ids or names. A single 0 or 1 is a boolean. */
static int getStacks(Tcl_Interp *interp, Tcl_Obj *given, EnableData *data)
{
    int flag, number = 0;
    Tcl_GetIntFromObj(NULL, given, &number);
    if (number <= 1 && Tcl_GetBooleanFromObj(NULL, given, &flag) == TCL_OK) {
        data->enable.properties |= flag ? ETW_ENABLE_STACKS : 0u;
        return TCL_OK;
    }
    data->enable.properties |= ETW_ENABLE_STACKS;
    Tcl_Obj *list = withoutNot(given, &data->enable.stackIdsExcluded);
    Tcl_IncrRefCount(list);
    int result;
    if (isNumber(list)) {
        data->enable.stackIds = data->stackIds;
        result = getIds(interp, list, "-stacks", data, data->stackIds, &data->enable.stackIdCount);
    } else {
        result = getNames(interp, given, "-stacks", &data->enable.stackNames, &data->stackNames);
    }
    Tcl_DecrRefCount(list);
    return result;
}

static int getProperties(Tcl_Interp *interp, Tcl_Obj *list, EnableData *data)
{
    static const char *const names[] = {"sid", "tsid", "stacks", "psmkey", "ignorekeyword0",
            "processstartkey", "eventkey", "excludeinprivate", NULL};
    static const uint32_t bits[] = {ETW_ENABLE_SID, ETW_ENABLE_TS_ID, ETW_ENABLE_STACKS,
            ETW_ENABLE_PSM_KEY, ETW_ENABLE_IGNORE_KEYWORD_0, ETW_ENABLE_PROCESS_START_KEY,
            ETW_ENABLE_EVENT_KEY, ETW_ENABLE_EXCLUDE_INPRIVATE};
    Tcl_Size count;
    Tcl_Obj **words;
    int index;

    Tcl_ListObjGetElements(NULL, list, &count, &words);
    for (Tcl_Size i = 0; i < count; i++) {
        if (Tcl_GetIndexFromObj(interp, words[i], names, "property", 0, &index) != TCL_OK) {
            return TCL_ERROR;
        }
        data->enable.properties |= bits[index];
    }
    return TCL_OK;
}

/* Parses {ID VERSION FIELD OPERATOR VALUE}. */
static int getTest(Tcl_Interp *interp, Tcl_Obj *test, EtwPayloadTest *to)
{
    static const char *const names[] = {"==", "!=", "<=", ">", "<", ">=", "between", "notbetween",
            "mod", "contains", "notcontains", "is", "isnot", NULL};
    static const uint8_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 20, 21, 30, 31};
    Tcl_Size count;
    Tcl_Obj **words;
    uint32_t id, version;
    int op, one;

    if (Tcl_ListObjGetElements(interp, test, &count, &words) != TCL_OK) {
        return TCL_ERROR;
    }
    if (count != 5) {
        return EtwTclFail(interp, ETW_E_ARG, "PAYLOAD", Tcl_GetString(test),
                "expected {ID VERSION FIELD OPERATOR VALUE} in \"-payload\" but got \"%.100s\"",
                Tcl_GetString(test));
    }
    if (EtwGetNumbers(interp, words[0], "-payload", 1, UINT16_MAX, &id, &one) != TCL_OK ||
            EtwGetNumbers(interp, words[1], "-payload", 1, UINT8_MAX, &version, &one) != TCL_OK ||
            Tcl_GetIndexFromObj(interp, words[3], names, "operator", TCL_EXACT, &op) != TCL_OK) {
        return TCL_ERROR;
    }
    *to = (EtwPayloadTest){.id = (uint16_t)id,
            .version = (uint8_t)version,
            .field = Tcl_GetString(words[2]),
            .value = Tcl_GetString(words[4]),
            .op = numbers[op]};
    return TCL_OK;
}

static int getPayload(Tcl_Interp *interp, Tcl_Obj *list, EnableData *data)
{
    Tcl_Size count;
    Tcl_Obj **tests;

    Tcl_ListObjGetElements(NULL, list, &count, &tests);
    if (count < 1 || count > MAX_TESTS) {
        return EtwTclFail(interp, ETW_E_LIMIT, "COUNT", "-payload",
                "expected 1 to %d tests for \"-payload\" but got %ld", MAX_TESTS, (long)count);
    }
    for (Tcl_Size i = 0; i < count; i++) {
        if (getTest(interp, tests[i], &data->tests[i]) != TCL_OK) {
            return TCL_ERROR;
        }
    }
    data->enable.payload = data->tests;
    data->enable.payloadCount = (int)count;
    return TCL_OK;
}

static int getExtras(Tcl_Interp *interp, const EnableOptions *options, EnableData *data)
{
    data->enable.captureState = options->capture != 0;
    if ((options->stackEvents && getStacks(interp, options->stackEvents, data) != TCL_OK) ||
            (options->properties && getProperties(interp, options->properties, data) != TCL_OK) ||
            (options->payload && getPayload(interp, options->payload, data) != TCL_OK) ||
            (options->names && getNames(interp, options->names, "-names", &data->enable.names,
                                       &data->names) != TCL_OK) ||
            (options->arguments && getArguments(interp, options->arguments, data) != TCL_OK)) {
        return TCL_ERROR;
    }
    data->enable.payloadAny = options->payloadMatch == 1;
    if (options->executables != NULL) {
        data->enable.executables = EtwJoinExecutables(options->executables, &data->executables);
    }
    return TCL_OK;
}

static int parseEnable(EtwInterp *ctx, int objc, Tcl_Obj *const objv[], EnableData *data)
{
    Tcl_Interp *interp = ctx->interp;
    EnableOptions options = {0};

    if (EtwResolveProvider(ctx, objv[2], &data->target) != TCL_OK ||
            EtwParseOptions(interp, enableOptions, objc - 3, objv + 3, &options, NULL) != TCL_OK ||
            (options.level && EtwGetLevel(interp, options.level, &data->enable.level) != TCL_OK) ||
            getMasks(interp, &options, data) != TCL_OK ||
            getFilters(interp, &options, data) != TCL_OK) {
        return TCL_ERROR;
    }
    return getExtras(interp, &options, data);
}

static int enableProvider(EtwInterp *ctx, int objc, Tcl_Obj *const objv[])
{
    EnableData data;
    EtwError err = {0};
    Tcl_DString session;

    memset(&data, 0, sizeof data);
    Tcl_DString *texts[] = {&data.executables, &data.names, &data.stackNames, &data.arguments};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        Tcl_DStringInit(texts[i]);
    }
    int result = parseEnable(ctx, objc, objv, &data);
    if (result == TCL_OK) {
        data.enable.provider = data.target.guid;
        data.enable.providerName = data.target.name[0] ? data.target.name : NULL;
        Tcl_DStringInit(&session);
        if (EtwSessionEnable(EtwUtf8Of(objv[1], &session, NULL), &data.enable, &err) != ETW_OK) {
            result = EtwTclError(ctx->interp, &err);
        }
        Tcl_DStringFree(&session);
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        Tcl_DStringFree(texts[i]);
    }
    return result;
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
    return EtwGetNumbers(interp, list, "-pids", ETW_MAX_PIDS, UINT32_MAX, pids, &enable->pidCount);
}

/* -interval: milliseconds between samples, may have a fraction. */
int EtwGetInterval(Tcl_Interp *interp, Tcl_Obj *obj, uint32_t *microsecondsPtr)
{
    double ms;

    if (obj == NULL) {
        return TCL_OK;
    }
    if (Tcl_GetDoubleFromObj(interp, obj, &ms) != TCL_OK) {
        return TCL_ERROR;
    }
    if (!(ms >= 0.1 && ms <= 1000)) {
        return EtwTclFail(interp, ETW_E_ARG, "RANGE", "-interval",
                "value \"%s\" for \"-interval\" is out of range: must be 0.1 to 1000 "
                "(milliseconds)",
                Tcl_GetString(obj));
    }
    *microsecondsPtr = (uint32_t)(ms * 1000 + 0.5);
    return TCL_OK;
}

static int getCounters(
        Tcl_Interp *interp, Tcl_Obj *list, const char *names[MAX_COUNTERS], EtwKernelEnable *enable)
{
    Tcl_Size count = 0;
    Tcl_Obj **words;

    if (list == NULL) {
        return TCL_OK;
    }
    Tcl_ListObjGetElements(NULL, list, &count, &words);
    if (count < 1 || count > MAX_COUNTERS) {
        return EtwTclFail(interp, ETW_E_LIMIT, "COUNT", "-counters",
                "expected 1 to %d counters for \"-counters\" but got %ld", MAX_COUNTERS,
                (long)count);
    }
    for (Tcl_Size i = 0; i < count; i++) {
        names[i] = Tcl_GetString(words[i]);
    }
    enable->counters = names;
    enable->counterCount = (int)count;
    return TCL_OK;
}

static int enableKernel(EtwInterp *ctx, Tcl_Obj *groups, int first, int objc, Tcl_Obj *const objv[])
{
    Tcl_Interp *interp = ctx->interp;
    EnableOptions options = {.unwind = NOT_GIVEN};
    EtwKernelEnable enable = {0};
    const char *names[MAX_GROUPS], *counters[MAX_COUNTERS];
    uint32_t pids[ETW_MAX_PIDS];
    Tcl_Size count;
    Tcl_Obj **words;
    EtwError err = {0};
    Tcl_DString session;

    if (Tcl_ListObjGetElements(interp, groups, &count, &words) != TCL_OK ||
            EtwParseOptions(interp, kernelOptions, objc - first, objv + first, &options, NULL) !=
                    TCL_OK ||
            EtwGetInterval(interp, options.interval, &enable.interval) != TCL_OK ||
            getKernelPids(interp, options.pids, pids, &enable) != TCL_OK ||
            getCounters(interp, options.counters, counters, &enable) != TCL_OK) {
        return TCL_ERROR;
    }
    if (count < 1 || count > MAX_GROUPS) {
        return EtwTclFail(interp, ETW_E_ARG, "GROUPS", "",
                "expected 1 to %d kernel groups: \"etw provider describe kernel\" lists them",
                MAX_GROUPS);
    }
    for (Tcl_Size i = 0; i < count; i++) {
        names[i] = Tcl_GetString(words[i]);
    }
    enable.groups = names;
    enable.groupCount = (int)count;
    enable.stacks = options.unwind == UNWIND_DWARF                  ? ETW_STACKS_COPIES
                    : options.stacks || options.unwind != NOT_GIVEN ? ETW_STACKS_FRAMES
                                                                    : ETW_STACKS_NONE;
    Tcl_DStringInit(&session);
    EtwStatus status = EtwSessionEnableKernel(EtwUtf8Of(objv[1], &session, NULL), &enable, &err);
    Tcl_DStringFree(&session);
    return status == ETW_OK ? TCL_OK : EtwTclError(interp, &err);
}

/* The whole name is one group, even if it contains spaces. */
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
    EtwProviderRef target;
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
