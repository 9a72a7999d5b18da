/*
 * tcl/command/session_cmd.c --
 *
 *	etw start, stop, query, flush, update, snapshot, recover and mark: convert options to a
 *	configuration, and a session's state to a dict. The engine implements sessions
 *	(engine/engine.h). sessions_cmd.c lists them.
 */
#include "tcl/provider/tcl_provider.h"
#include "tcl/command/session_cmd_int.h"
#include "engine/loss_kinds.h"
#include <stdio.h>
#include <stdlib.h>

/* In the order of EtwFileMode. */
static const char *const modeNames[] = {
        "sequential", "circular", "append", "newfile", "memory", NULL};
/* In the order of EVENT_TRACE_PROPERTIES.Wnode.ClientContext. */
static const char *const clockNames[] = {"auto", "qpc", "system", "cycle", NULL};
/* Modes of Windows' sessions (EVENT_TRACE_*_MODE of evntrace.h), in the order of their bits below. */
static const char *const logModeNames[] = {"compressed", "globalsequence", "independent",
        "localsequence", "nocpubuffers", "paged", "persistonhybridshutdown", "preallocate",
        "secure", "stoponhybridshutdown", NULL};
static const uint32_t logModeBits[] = {0x04000000, 0x00004000, 0x08000000, 0x00008000, 0x10000000,
        0x01000000, 0x00800000, 0x00000020, 0x00000080, 0x00400000};
/* In the order of EtwCompress. */
static const char *const compressNames[] = {"auto", "on", "off", NULL};
/* In the order of EtwEngine. */
static const char *const engineNames[] = {"auto", "embedded", "system", NULL};

typedef struct StartOptions {
    Tcl_Obj *file;
    Tcl_Obj *buffers;
    int realtime;
    int lossless;
    int mode;
    int compress;
    int engine;
    int kernelLogger;
    int detached;
    int clock;
    Tcl_Obj *boot;
    Tcl_Obj *logMode, *guid, *kernelFlags;
    Tcl_Obj *inProcess, *private, *pids, *executables;
    Tcl_WideInt bufferKB;
    int flushMs;
    Tcl_WideInt maxMB;
} StartOptions;

#define AT(field) offsetof(StartOptions, field)
static const EtwOption startOptions[] = {
        {"-boot", ETW_OPT_OBJ, AT(boot), 0, 0, 0, NULL},
        {"-buffers", ETW_OPT_OBJ, AT(buffers), 0, 0, 0, NULL},
        {"-buffersize", ETW_OPT_SIZE, AT(bufferKB), 4, 1024, 1024, NULL},
        {"-clock", ETW_OPT_ENUM, AT(clock), 0, 0, 0, clockNames},
        {"-compress", ETW_OPT_ENUM, AT(compress), 0, 0, 0, compressNames},
        {"-detached", ETW_OPT_BOOL, AT(detached), 0, 0, 0, NULL},
        {"-engine", ETW_OPT_ENUM, AT(engine), 0, 0, 0, engineNames},
        {"-executables", ETW_OPT_LIST, AT(executables), 0, 0, 0, NULL},
        {"-file", ETW_OPT_OBJ, AT(file), 0, 0, 0, NULL},
        {"-flush", ETW_OPT_INT, AT(flushMs), 1, 86400000, 0, NULL},
        {"-guid", ETW_OPT_OBJ, AT(guid), 0, 0, 0, NULL},
        {"-inprocess", ETW_OPT_OBJ, AT(inProcess), 0, 0, 0, NULL},
        {"-kernelflags", ETW_OPT_OBJ, AT(kernelFlags), 0, 0, 0, NULL},
        {"-kernellogger", ETW_OPT_BOOL, AT(kernelLogger), 0, 0, 0, NULL},
        {"-logmode", ETW_OPT_LIST, AT(logMode), 0, 0, 0, NULL},
        {"-lossless", ETW_OPT_BOOL, AT(lossless), 0, 0, 0, NULL},
        {"-maxsize", ETW_OPT_SIZE, AT(maxMB), 1, 1 << 24, 1 << 20, NULL},
        {"-mode", ETW_OPT_ENUM, AT(mode), 0, 0, 0, modeNames},
        {"-pids", ETW_OPT_LIST, AT(pids), 0, 0, 0, NULL},
        {"-private", ETW_OPT_OBJ, AT(private), 0, 0, 0, NULL},
        {"-realtime", ETW_OPT_BOOL, AT(realtime), 0, 0, 0, NULL},
        ETW_OPTION_END,
};
static const EtwOption updateOptions[] = {
        {"-boot", ETW_OPT_OBJ, AT(boot), 0, 0, 0, NULL},
        {"-buffers", ETW_OPT_OBJ, AT(buffers), 0, 0, 0, NULL},
        {"-file", ETW_OPT_OBJ, AT(file), 0, 0, 0, NULL},
        {"-flush", ETW_OPT_INT, AT(flushMs), 1, 86400000, 0, NULL},
        {"-kernelflags", ETW_OPT_OBJ, AT(kernelFlags), 0, 0, 0, NULL},
        {"-maxsize", ETW_OPT_SIZE, AT(maxMB), 1, 1 << 24, 1 << 20, NULL},
        {"-realtime", ETW_OPT_BOOL, AT(realtime), 0, 0, 0, NULL},
        ETW_OPTION_END,
};
#undef AT

/* ---- The dict of a session ------------------------------------------------------------------- */

static void putCount(Tcl_Obj *dict, const char *key, uint64_t value)
{
    EtwPut(dict, key, EtwUint64Obj(value));
}

static Tcl_Obj *lostDict(const EtwLost *lost, bool system)
{
    Tcl_Obj *dict = Tcl_NewDictObj();

    for (int kind = 0; kind < (system ? ETW_LOSS_KINDS : ETW_LOSS_FILE_BUFFERS); kind++) {
        putCount(dict, etwLossRows[kind].key, EtwLossCount(lost, (EtwLossKind)kind));
    }
    return dict;
}

/* etw::lib::losses DASH: a dict of kind to its words and its remedy, with options written with that dash. */
int EtwLossesCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    Tcl_Obj *dict = Tcl_NewDictObj();
    (void)clientData;

    for (int kind = 0; kind < ETW_LOSS_KINDS; kind++) {
        EtwText remedy = {0};
        EtwLossAddRemedy(&remedy, (EtwLossKind)kind, objc == 2 ? Tcl_GetString(objv[1]) : "-");
        Tcl_Obj *both[] = {Tcl_NewStringObj(etwLossRows[kind].words, -1),
                EtwTextObj(remedy.size ? remedy.data : "", remedy.size)};
        EtwPut(dict, etwLossRows[kind].key, Tcl_NewListObj(2, both));
        EtwTextFree(&remedy);
    }
    Tcl_SetObjResult(interp, dict);
    return TCL_OK;
}

Tcl_Obj *EtwSessionDict(const EtwSessionInfo *info)
{
    Tcl_Obj *dict = Tcl_NewDictObj();
    bool system = strcmp(info->engine, "embedded") != 0;
    char guid[ETW_GUID_TEXT];

    EtwPut(dict, "name", EtwStringObj(info->name));
    EtwPut(dict, "file", EtwStringObj(info->file));
    EtwPut(dict, "engine", Tcl_NewStringObj(info->engine, -1));
    EtwPut(dict, "state", Tcl_NewStringObj(info->state, -1));
    EtwPut(dict, "mode", Tcl_NewStringObj(modeNames[info->mode], -1));
    EtwPut(dict, "realtime", Tcl_NewBooleanObj(info->realtime));
    EtwPut(dict, "lossless", Tcl_NewBooleanObj(info->lossless));
    putCount(dict, "instance", info->instance);
    putCount(dict, "owner", info->ownerPid);
    putCount(dict, "starter", info->starter);
    EtwPut(dict, "user", EtwStringObj(info->user));
    EtwPut(dict, "started", Tcl_NewWideIntObj(info->started));
    EtwPut(dict, "duration", Tcl_NewWideIntObj(info->duration));
    putCount(dict, "events", info->events);
    putCount(dict, "bytes", info->bytes);
    putCount(dict, "buffers", info->buffers);
    putCount(dict, "buffersize", info->bufferKB);
    putCount(dict, "minbuffers", info->minBuffers);
    putCount(dict, "maxbuffers", info->maxBuffers);
    putCount(dict, "usedbuffers", info->buffersUsed);
    putCount(dict, "freebuffers", info->buffersFree);
    putCount(dict, "flush", info->flushMs);
    putCount(dict, "maxsize", info->maxMB);
    putCount(dict, "overwritten", info->overwritten);
    putCount(dict, "consumers", info->consumers);
    EtwPut(dict, "kernel", EtwStringObj(info->kernel));
    EtwPut(dict, "lost", lostDict(&info->lost, system));
    if (system) {
        EtwGuidFormat(&info->guid, guid);
        EtwPut(dict, "guid", Tcl_NewStringObj(guid, -1));
        putCount(dict, "logmode", info->logMode);
        putCount(dict, "kernelflags", info->kernelFlags);
        putCount(dict, "clock", info->clock);
    }
    return dict;
}

static int sessionResult(
        Tcl_Interp *interp, EtwStatus status, const EtwSessionInfo *info, const EtwError *err)
{
    if (status != ETW_OK) {
        return EtwTclError(interp, err);
    }
    Tcl_SetObjResult(interp, EtwSessionDict(info));
    return TCL_OK;
}

/* ---- start and update ------------------------------------------------------------------------ */

/* "24,128", "{24 128}", or one number: the maximum. */
static int getBuffers(Tcl_Interp *interp, Tcl_Obj *obj, EtwSessionConfig *config)
{
    const char *text = Tcl_GetString(obj);
    unsigned first, second;
    char extra;

    if (sscanf(text, "%7u%*1[, ]%7u %c", &first, &second, &extra) == 2) {
        config->minBuffers = first;
        config->maxBuffers = second;
    } else if (sscanf(text, "%7u %c", &first, &extra) == 1) {
        config->maxBuffers = first;
    } else {
        config->maxBuffers = 0;
    }
    if (strchr(text, '-') || config->maxBuffers == 0 || config->minBuffers > config->maxBuffers) {
        return EtwTclFail(interp, ETW_E_ARG, "BUFFERS", text,
                "expected MIN,MAX (numbers of buffers, such as 24,128) for \"-buffers\" but got "
                "\"%.100s\"",
                text);
    }
    return TCL_OK;
}

static int fillConfig(Tcl_Interp *interp, const StartOptions *options, EtwSessionConfig *config,
        Tcl_DString *path)
{
    config->mode = (EtwFileMode)options->mode;
    config->compress = (EtwCompress)options->compress;
    config->engine = (EtwEngine)options->engine;
    config->detached = options->detached != 0;
    config->kernelLogger = options->kernelLogger != 0;
    config->realtime = options->realtime != 0;
    config->lossless = options->lossless != 0;
    config->bufferKB = (uint32_t)options->bufferKB;
    config->flushMs = (uint32_t)options->flushMs;
    config->maxMB = (uint32_t)options->maxMB;
    if (options->kernelFlags != NULL) {
        Tcl_WideInt flags;
        if (Tcl_GetWideIntFromObj(interp, options->kernelFlags, &flags) != TCL_OK) {
            return TCL_ERROR;
        }
        config->kernelFlags = (uint32_t)flags;
        config->kernelFlagsChange = true;
    }
    if (options->boot != NULL) {
        int boot;
        if (Tcl_GetBooleanFromObj(interp, options->boot, &boot) != TCL_OK) {
            return TCL_ERROR;
        }
        config->boot = boot ? 1 : -1;
    }
    if (options->buffers != NULL && getBuffers(interp, options->buffers, config) != TCL_OK) {
        return TCL_ERROR;
    }
    if (options->file != NULL && *Tcl_GetString(options->file) != '\0') {
        config->file = EtwPathOf(interp, options->file, path);
        return config->file != NULL ? TCL_OK : TCL_ERROR;
    }
    return TCL_OK;
}

/* A session must have a destination for its events. */
static int checkDestination(Tcl_Interp *interp, const EtwSessionConfig *config)
{
    if (config->file == NULL && config->mode != ETW_FILE_MEMORY && !config->realtime) {
        return EtwTclFail(interp, ETW_E_ARG, "DESTINATION", config->name,
                "session \"%s\" has no destination for events: give \"-file FILE\", \"-realtime "
                "1\" for live consumers, or \"-mode memory\" for a flight recorder",
                config->name);
    }
    if (config->mode == ETW_FILE_CIRCULAR && config->maxMB == 0) {
        return EtwTclFail(interp, ETW_E_ARG, "MAXSIZE", config->name,
                "\"-mode circular\" needs \"-maxsize MB\"");
    }
    if (config->mode == ETW_FILE_MEMORY && config->file != NULL) {
        return EtwTclFail(interp, ETW_E_ARG, "DESTINATION", config->name,
                "\"-file\" and \"-mode memory\" exclude each other: write the events with \"etw "
                "snapshot %s FILE\"",
                config->name);
    }
    return TCL_OK;
}

typedef struct FileUse {
    const char *session; /* the session to be started; its own file is no conflict */
    Tcl_Obj *file;
    EtwSessionInfo by;
    bool used;
} FileUse;

static bool usesFile(void *ctx, const EtwSessionInfo *info)
{
    FileUse *use = ctx;
    Tcl_Obj *file = EtwStringObj(info->file);

    Tcl_IncrRefCount(file);
    use->used = info->file[0] != '\0' && strcmp(info->state, "running") == 0 &&
                !Tcl_StringCaseMatch(info->name, use->session, TCL_MATCH_NOCASE) &&
                EtwSameFile(file, use->file);
    Tcl_DecrRefCount(file);
    use->by = *info;
    return !use->used;
}

/* Two sessions that write to the same file would destroy it. */
static int checkFile(Tcl_Interp *interp, const EtwSessionConfig *config, Tcl_Obj *file)
{
    FileUse use = {.session = config->name, .file = file};

    if (config->file == NULL) {
        return TCL_OK;
    }
    EtwSessionList(usesFile, &use);
    if (!use.used) {
        return TCL_OK;
    }
    return EtwTclFail(interp, ETW_E_STATE, "FILE", use.by.name,
            "session \"%s\" of process %lu writes to \"%s\": use another file, or stop the session "
            "with \"etw stop %s\"",
            use.by.name, (unsigned long)use.by.ownerPid, use.by.file, use.by.name);
}

/* Data that the configuration of a session of Windows' engine points to. */
typedef struct PrivateData {
    EtwGuid guid;
    EtwProviderRef inProcess, other;
    uint32_t pids[ETW_MAX_PIDS];
    Tcl_DString executables;
} PrivateData;

static int fillLogMode(Tcl_Interp *interp, const StartOptions *options, EtwSessionConfig *config,
        PrivateData *data)
{
    Tcl_Obj **words;
    Tcl_Size count = 0;
    int index;

    config->clock = (uint32_t)options->clock;
    if (options->guid != NULL) {
        if (!EtwGuidParse(Tcl_GetString(options->guid), &data->guid)) {
            return EtwTclFail(interp, ETW_E_ARG, "GUID", Tcl_GetString(options->guid),
                    "expected a GUID for \"-guid\" but got \"%.100s\"",
                    Tcl_GetString(options->guid));
        }
        config->guid = &data->guid;
    }
    if (options->logMode != NULL &&
            Tcl_ListObjGetElements(interp, options->logMode, &count, &words) != TCL_OK) {
        return TCL_ERROR;
    }
    for (Tcl_Size i = 0; i < count; i++) {
        if (Tcl_GetIndexFromObj(interp, words[i], logModeNames, "mode", TCL_EXACT, &index) !=
                TCL_OK) {
            return TCL_ERROR;
        }
        config->logMode |= logModeBits[index];
    }
    return TCL_OK;
}

static int fillPrivate(
        EtwInterp *ctx, const StartOptions *options, EtwSessionConfig *config, PrivateData *data)
{
    if (fillLogMode(ctx->interp, options, config, data) != TCL_OK) {
        return TCL_ERROR;
    }
    if (options->inProcess != NULL) {
        config->inProcess = &data->inProcess.guid;
        if (EtwResolveProvider(ctx, options->inProcess, &data->inProcess) != TCL_OK) {
            return TCL_ERROR;
        }
    }
    if (options->private != NULL) {
        config->privateOf = &data->other.guid;
        if (EtwResolveProvider(ctx, options->private, &data->other) != TCL_OK) {
            return TCL_ERROR;
        }
    }
    if (options->executables != NULL) {
        config->executables = EtwJoinExecutables(options->executables, &data->executables);
    }
    if (options->pids == NULL) {
        return TCL_OK;
    }
    config->pids = data->pids;
    return EtwGetNumbers(ctx->interp, options->pids, "-pids", ETW_MAX_PIDS, UINT32_MAX, data->pids,
            &config->pidCount);
}

static int startSession(EtwInterp *ctx, Tcl_Obj *name, const StartOptions *options)
{
    Tcl_Interp *interp = ctx->interp;
    PrivateData private;
    EtwSessionConfig config = {0};
    Tcl_DString nameText, path;
    EtwError err = {0};
    int result;

    Tcl_DStringInit(&nameText);
    Tcl_DStringInit(&path);
    Tcl_DStringInit(&private.executables);
    config.name = EtwUtf8Of(name, &nameText, NULL);
    result = fillConfig(interp, options, &config, &path);
    if (result == TCL_OK) {
        result = fillPrivate(ctx, options, &config, &private);
    }
    if (result == TCL_OK) {
        result = checkDestination(interp, &config);
    }
    if (result == TCL_OK) {
        result = checkFile(interp, &config, options->file);
    }
    if (result == TCL_OK && EtwSessionStart(&config, &err) != ETW_OK) {
        result = EtwTclError(interp, &err);
    }
    Tcl_DStringFree(&nameText);
    Tcl_DStringFree(&path);
    Tcl_DStringFree(&private.executables);
    return result;
}

int EtwStartCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    StartOptions options = {0};

    if (objc < 2) {
        Tcl_WrongNumArgs(interp, 1, objv, "name ?-option value ...?");
        return TCL_ERROR;
    }
    if (EtwParseOptions(interp, startOptions, objc - 2, objv + 2, &options, NULL) != TCL_OK) {
        return TCL_ERROR;
    }
    if (startSession(clientData, objv[1], &options) != TCL_OK) {
        return TCL_ERROR;
    }
    Tcl_SetObjResult(interp, objv[1]);
    return TCL_OK;
}

int EtwUpdateCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    StartOptions options = {.realtime = -1}; /* no change */
    EtwSessionConfig changes = {0};
    EtwSessionInfo info;
    EtwError err = {0};
    Tcl_DString name, path;
    int result;
    (void)clientData;

    if (objc < 2) {
        Tcl_WrongNumArgs(interp, 1, objv, "name ?-option value ...?");
        return TCL_ERROR;
    }
    if (EtwParseOptions(interp, updateOptions, objc - 2, objv + 2, &options, NULL) != TCL_OK) {
        return TCL_ERROR;
    }
    Tcl_DStringInit(&name);
    Tcl_DStringInit(&path);
    result = fillConfig(interp, &options, &changes, &path);
    changes.realtimeChange = options.realtime >= 0;
    changes.realtime = options.realtime > 0;
    if (result == TCL_OK) {
        changes.name = EtwUtf8Of(objv[1], &name, NULL);
        result = checkFile(interp, &changes, options.file);
    }
    if (result == TCL_OK) {
        EtwStatus status = EtwSessionUpdate(changes.name, &changes, &info, &err);
        result = sessionResult(interp, status, &info, &err);
    }
    Tcl_DStringFree(&name);
    Tcl_DStringFree(&path);
    return result;
}

/* ---- stop, query, flush: a name in, a dict out ----------------------------------------------- */

typedef EtwStatus SessionCall(const char *name, EtwSessionInfo *infoPtr, EtwError *errPtr);

static int callSession(Tcl_Interp *interp, int objc, Tcl_Obj *const objv[], SessionCall *call)
{
    EtwSessionInfo info;
    EtwError err = {0};
    Tcl_DString name;

    if (objc != 2) {
        Tcl_WrongNumArgs(interp, 1, objv, "name");
        return TCL_ERROR;
    }
    Tcl_DStringInit(&name);
    EtwStatus status = call(EtwUtf8Of(objv[1], &name, NULL), &info, &err);
    Tcl_DStringFree(&name);
    return sessionResult(interp, status, &info, &err);
}

int EtwStopCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    (void)clientData;
    return callSession(interp, objc, objv, EtwSessionStop);
}

int EtwQueryCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    (void)clientData;
    return callSession(interp, objc, objv, EtwSessionQuery);
}

int EtwFlushCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    (void)clientData;
    return callSession(interp, objc, objv, EtwSessionFlush);
}

/* ---- snapshot, mark -------------------------------------------------------------------------- */

int EtwSnapshotCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwSessionInfo info;
    EtwError err = {0};
    Tcl_DString name, pathText;
    int result = TCL_ERROR;
    (void)clientData;

    if (objc != 3) {
        Tcl_WrongNumArgs(interp, 1, objv, "name file");
        return TCL_ERROR;
    }
    Tcl_DStringInit(&name);
    Tcl_DStringInit(&pathText);
    const char *path = EtwPathOf(interp, objv[2], &pathText);
    if (path != NULL) {
        EtwStatus status = EtwSessionSnapshot(EtwUtf8Of(objv[1], &name, NULL), path, &info, &err);
        result = sessionResult(interp, status, &info, &err);
    }
    Tcl_DStringFree(&name);
    Tcl_DStringFree(&pathText);
    return result;
}

int EtwMarkCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwError err = {0};
    Tcl_DString name, text;
    (void)clientData;

    if (objc != 3) {
        Tcl_WrongNumArgs(interp, 1, objv, "name text");
        return TCL_ERROR;
    }
    Tcl_DStringInit(&name);
    Tcl_DStringInit(&text);
    EtwStatus status =
            EtwSessionMark(EtwUtf8Of(objv[1], &name, NULL), EtwUtf8Of(objv[2], &text, NULL), &err);
    Tcl_DStringFree(&name);
    Tcl_DStringFree(&text);
    return status == ETW_OK ? TCL_OK : EtwTclError(interp, &err);
}

/* ---- recover --------------------------------------------------------------------------------- */

static void addRecovered(void *list, const EtwRecovered *recovered)
{
    Tcl_Obj *dict = Tcl_NewDictObj();

    EtwPut(dict, "name", EtwStringObj(recovered->name));
    EtwPut(dict, "file", EtwStringObj(recovered->file));
    putCount(dict, "owner", recovered->ownerPid);
    putCount(dict, "events", recovered->events);
    EtwPut(dict, "error",
            recovered->status == ETW_OK ? Tcl_NewObj() : EtwStringObj(recovered->error.message));
    Tcl_ListObjAppendElement(NULL, list, dict);
}

int EtwRecoverCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwError err = {0};
    Tcl_Obj *list;
    (void)clientData;

    if (objc != 1) {
        Tcl_WrongNumArgs(interp, 1, objv, NULL);
        return TCL_ERROR;
    }
    list = Tcl_NewListObj(0, NULL);
    if (EtwSessionRecover(addRecovered, list, &err) != ETW_OK) {
        Tcl_DecrRefCount(list);
        return EtwTclError(interp, &err);
    }
    Tcl_SetObjResult(interp, list);
    return TCL_OK;
}
