/*
 * tcl/consume/read_command.c --
 *
 *	The frame of the commands that read events.
 */
#include "tcl/consume/read_command.h"
#include "flow/render/escape.h"

/* ---- Words ----------------------------------------------------------------------------------- */

/* Words before the options: sources, followed by the target; or one file. */
static int parsePlain(EtwReading *record, int objc, Tcl_Obj *const objv[])
{
    const EtwReadCommand *command = record->command;
    bool target = command->words == ETW_WORDS_TARGET;
    int first = target ? 1 : 2;

    while (target && first < objc && !EtwIsOption(objv[first])) {
        first++;
    }
    if (first >= 2 && first <= objc &&
            EtwParseOptions(record->interp, command->options, objc - first, objv + first, record,
                    NULL) != TCL_OK) {
        return TCL_ERROR;
    }
    if (first > objc || first < (target && record->options.records == NULL ? 3 : 2)) {
        Tcl_WrongNumArgs(record->interp, 1, objv, command->usage);
        return TCL_ERROR;
    }
    record->options.plain = !target;
    record->target = target ? objv[first - 1] : NULL;
    record->sources = Tcl_NewListObj(target ? first - 2 : 1, objv + 1);
    Tcl_IncrRefCount(record->sources);
    return TCL_OK;
}

static int parseWords(EtwReading *record, int objc, Tcl_Obj *const objv[])
{
    const EtwReadCommand *command = record->command;
    bool body = command->words == ETW_WORDS_BODY;

    if (command->words == ETW_WORDS_TARGET || command->words == ETW_WORDS_FILE) {
        return parsePlain(record, objc, objv);
    }
    if (objc < (body ? 4 : 2)) {
        Tcl_WrongNumArgs(record->interp, 1, objv,
                command->usage ? command->usage : "source ?source ...? ?-option value ...?");
        return TCL_ERROR;
    }
    if (body) {
        record->target = objv[1];
        record->body = objv[objc - 1];
        objv++;
        objc -= 2;
    }
    return EtwQueryWords(
            record->interp, command->options, objc - 1, objv + 1, record, &record->sources);
}

/* ---- Events ---------------------------------------------------------------------------------- */

int EtwReadEvents(EtwQuery *query, EtwReadProc *proc, void *ctx)
{
    EtwEvent event;
    int result = TCL_OK;

    while (result == TCL_OK && (result = EtwQueryNext(query, &event)) == TCL_OK) {
        result = proc(ctx, &event);
        if (result == TCL_CONTINUE) {
            query->taken--;
            result = TCL_OK;
        }
    }
    return result;
}

Tcl_Obj *EtwReadingResult(const EtwReading *record)
{
    Tcl_Obj *dict = Tcl_NewDictObj();

    EtwPut(dict, "events", Tcl_NewWideIntObj(record->events));
    EtwPut(dict, "lost", EtwUint64Obj(EtwSourceLost(record->query.source)));
    EtwPut(dict, "warnings", EtwQueryWarnings(&record->query));
    return dict;
}

/* ---- The end of a run ------------------------------------------------------------------------ */

/* Also for a record whose words are wrong. */
static int endRecord(EtwReading *record, int result)
{
    Tcl_Interp *interp = record->interp;

    if (result == TCL_OK && record->result != NULL) {
        Tcl_SetObjResult(interp, record->result);
    } else if (record->result != NULL) {
        Tcl_DecrRefCount(record->result);
    }
    if (record->sources != NULL) {
        Tcl_DecrRefCount(record->sources);
    }
    Tcl_DecrRefCount(record->words);
    EtwFree(record);
    Tcl_Release(interp);
    return result;
}

/* Called after check. */
static int freeRecord(EtwReading *record, int result)
{
    if (record->command->free != NULL) {
        record->command->free(record);
    }
    return endRecord(record, result);
}

/* Called after begin; TCL_BREAK: do not read more. */
static int endReading(EtwReading *record, int result)
{
    const EtwReadCommand *command = record->command;

    if (result == TCL_BREAK) {
        result = command->end != NULL ? command->end(record) : TCL_OK;
    }
    if (command->close != NULL) {
        result = command->close(record, result);
    }
    if (result == TCL_OK && record->result == NULL) {
        record->result = EtwReadingResult(record);
    }
    EtwQueryClose(&record->query);
    return freeRecord(record, result);
}

/* ---- A body ---------------------------------------------------------------------------------- */

static Tcl_NRPostProc afterBody;

/*
 * Schedules the body for the next event, so that nothing is on the C stack while it runs; or ends.
 */
static int readWithBody(EtwReading *record)
{
    EtwEvent event;
    int result = EtwQueryNext(&record->query, &event);

    if (result == TCL_OK) {
        result = record->command->event(record, &event);
    }
    if (result != TCL_OK) {
        return endReading(record, result);
    }
    Tcl_NRAddCallback(record->interp, afterBody, record, NULL, NULL, NULL);
    return Tcl_NREvalObj(record->interp, record->body, 0);
}

static int afterBody(void *data[], Tcl_Interp *interp, int result)
{
    EtwReading *record = data[0];
    (void)interp;

    result = record->command->afterBody(record, result);
    return result == TCL_OK ? readWithBody(record) : endReading(record, result);
}

/* ---- A run ----------------------------------------------------------------------------------- */

/* Each run has its own record, because a callback may run the same command. */
static EtwReading *newRecord(
        const EtwReadCommand *command, EtwInterp *ctx, int objc, Tcl_Obj *const objv[])
{
    EtwReading *record = EtwAlloc(command->size);

    if (command->defaults != NULL) {
        memcpy(record, command->defaults, command->size);
    }
    record->command = command;
    record->ctx = ctx;
    record->interp = ctx->interp;
    record->words = Tcl_NewListObj(objc, objv);
    Tcl_IncrRefCount(record->words);
    Tcl_Preserve(record->interp);
    return record;
}

static int runCommand(
        const EtwReadCommand *command, EtwInterp *ctx, int objc, Tcl_Obj *const objv[])
{
    EtwReading *record = newRecord(command, ctx, objc, objv);

    if (parseWords(record, objc, objv) != TCL_OK) {
        return endRecord(record, TCL_ERROR);
    }
    int result = command->check != NULL ? command->check(record) : TCL_OK;
    if (result == TCL_OK) {
        result = EtwQueryOpen(&record->query, ctx, record->sources, &record->options);
    }
    if (result != TCL_OK) {
        return freeRecord(record, result == TCL_BREAK ? TCL_OK : result);
    }
    result = command->begin != NULL ? command->begin(record) : TCL_OK;
    if (result == TCL_OK && record->body != NULL) {
        return readWithBody(record);
    }
    if (result == TCL_OK) {
        result = EtwReadEvents(&record->query, command->event, record);
    }
    return endReading(record, result);
}

/* ---- The registry ---------------------------------------------------------------------------- */

#define COMMAND(Name, ...)                                                                         \
    int Etw##Name##NreCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])   \
    {                                                                                              \
        (void)interp;                                                                              \
        return runCommand(&etw##Name##Command, clientData, objc, objv);                            \
    }                                                                                              \
    int Etw##Name##Cmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])      \
    {                                                                                              \
        return Tcl_NRCallObjProc(interp, Etw##Name##NreCmd, clientData, objc, objv);               \
    }
ETW_READ_COMMANDS(COMMAND)

static Tcl_Obj *namesObj(const char *const *names)
{
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);

    for (; *names != NULL; names++) {
        Tcl_ListObjAppendElement(NULL, list, Tcl_NewStringObj(*names, -1));
    }
    return list;
}

/* table NULL: the options are those in `string`. */
static void putRow(Tcl_Obj *dict, const EtwOption *table, const char *string, const char *name,
        const char *page, const char *about)
{
    Tcl_Obj *row = Tcl_NewDictObj(), *options = Tcl_NewStringObj(string, -1);
    Tcl_Obj *flags = Tcl_NewListObj(0, NULL), *values = Tcl_NewDictObj();

    for (const EtwOption *option = table; option != NULL && option->name != NULL; option++) {
        Tcl_ListObjAppendElement(NULL, options, Tcl_NewStringObj(option->name, -1));
        if (option->type == ETW_OPT_BOOL) {
            Tcl_ListObjAppendElement(NULL, flags, Tcl_NewStringObj(option->name, -1));
        } else if (option->names != NULL) {
            EtwPut(values, option->name, namesObj(option->names));
        }
    }
    EtwPut(row, "about", Tcl_NewStringObj(about, -1));
    EtwPut(row, "options", options);
    EtwPut(row, "flags", flags);
    EtwPut(row, "values", values);
    EtwPut(row, "page", Tcl_NewStringObj(page, -1));
    EtwPut(dict, name, row);
}

/*
 * etw::lib::commands: a dict, name -> {about TEXT options LIST flags LIST values DICT page NAME}.
 * flags: the boolean options; values: the names that an enumerated option accepts.
 */
int EtwReadCommandsCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    Tcl_Obj *dict = Tcl_NewDictObj();
    (void)clientData, (void)objc, (void)objv;

#define PUT(Name, name, ...) putRow(dict, etw##Name##Command.options, "", name, __VA_ARGS__);
#define PUT_OTHER(name, page, table, options, about)                                               \
    putRow(dict, table, options, name, page, about);
    ETW_READ_COMMANDS(PUT)
    ETW_OTHER_COMMANDS(PUT_OTHER)
    Tcl_SetObjResult(interp, dict);
    return TCL_OK;
}

/* ---- Functions for reports ------------------------------------------------------------------- */

static void addNote(EtwText *out, uint64_t count, const char *what)
{
    if (count > 0) {
        EtwTextPrintf(out, "-- %llu %s\n", (unsigned long long)count, what);
    }
}

void EtwReadNotes(EtwText *out, const EtwQuery *query, const EtwReadNote *notes, int count)
{
    Tcl_Obj *warnings = EtwQueryWarnings(query);
    Tcl_Obj **words;
    Tcl_Size wordCount;

    for (int i = 0; i < count; i++) {
        addNote(out, notes[i].count, notes[i].what);
    }
    addNote(out, EtwSourceLostLive(query->source),
            "events were lost, so that the figures are incomplete");
    Tcl_IncrRefCount(warnings);
    Tcl_ListObjGetElements(NULL, warnings, &wordCount, &words);
    for (Tcl_Size i = 0; i < wordCount; i++) {
        EtwTextStr(out, "-- warning: ");
        Tcl_DString utf8;
        Tcl_DStringInit(&utf8);
        EtwAddSafeStr(out, EtwUtf8Of(words[i], &utf8, NULL));
        Tcl_DStringFree(&utf8);
        EtwTextChar(out, '\n');
    }
    Tcl_DecrRefCount(warnings);
}
