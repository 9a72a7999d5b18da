/*
 * tcl/consume/read_command.c --
 *
 *	The frame of the commands that read events (tcl/consume/read_command.h).
 */
#include "tcl/consume/read_command.h"
#include "flow/render/escape.h"

/* ---- Words ----------------------------------------------------------------------------------- */

/* The words before the options are sources, the last of them the target; or one file. */
static int parsePlain(
        const EtwReadCommand *command, int objc, Tcl_Obj *const objv[], EtwReading *record)
{
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

static int parseWords(
        const EtwReadCommand *command, int objc, Tcl_Obj *const objv[], EtwReading *record)
{
    if (command->words != ETW_WORDS_SOURCES) {
        return parsePlain(command, objc, objv, record);
    }
    if (objc < 2) {
        Tcl_WrongNumArgs(record->interp, 1, objv,
                command->usage ? command->usage : "source ?source ...? ?-option value ...?");
        return TCL_ERROR;
    }
    return EtwQueryWords(
            record->interp, command->options, objc - 1, objv + 1, record, &record->sources);
}

/* ---- Events ---------------------------------------------------------------------------------- */

static int readEvents(const EtwReadCommand *command, EtwReading *record)
{
    EtwEvent event;
    int result = TCL_OK;

    while (result == TCL_OK && (result = EtwQueryNext(&record->query, &event)) == TCL_OK) {
        result = command->event(record, &event);
        if (result == TCL_CONTINUE) {
            record->query.taken--;
            result = TCL_OK;
        }
    }
    return result;
}

static Tcl_Obj *standardResult(const EtwReading *record)
{
    Tcl_Obj *dict = Tcl_NewDictObj();

    EtwPut(dict, "events", Tcl_NewWideIntObj(record->events));
    EtwPut(dict, "lost", EtwUint64Obj(EtwSourceLost(record->query.source)));
    EtwPut(dict, "warnings", EtwQueryWarnings(&record->query));
    return dict;
}

/* The query is open. */
static int readQuery(const EtwReadCommand *command, EtwReading *record)
{
    int result = command->begin != NULL ? command->begin(record) : TCL_OK;

    if (result == TCL_OK) {
        result = readEvents(command, record);
    }
    if (result == TCL_BREAK) {
        result = command->end != NULL ? command->end(record) : TCL_OK;
    }
    if (command->close != NULL) {
        result = command->close(record, result);
    }
    if (result == TCL_OK && record->result == NULL) {
        record->result = standardResult(record);
    }
    return result;
}

static int runRecord(
        const EtwReadCommand *command, EtwReading *record, int objc, Tcl_Obj *const objv[])
{
    if (parseWords(command, objc, objv, record) != TCL_OK) {
        return TCL_ERROR;
    }
    int result = command->check != NULL ? command->check(record) : TCL_OK;
    if (result == TCL_OK) {
        result = EtwQueryOpen(&record->query, record->ctx, record->sources, &record->options);
        if (result == TCL_OK) {
            result = readQuery(command, record);
            EtwQueryClose(&record->query);
        }
    }
    Tcl_DecrRefCount(record->sources);
    if (command->free != NULL) {
        command->free(record);
    }
    if (result == TCL_OK) {
        Tcl_SetObjResult(record->interp, record->result);
    } else if (record->result != NULL) {
        Tcl_DecrRefCount(record->result);
    }
    return result == TCL_BREAK ? TCL_OK : result;
}

/* A record of its own for each run: a callback may run the same command. */
static int runCommand(
        const EtwReadCommand *command, EtwInterp *ctx, int objc, Tcl_Obj *const objv[])
{
    Tcl_Interp *interp = ctx->interp;
    EtwReading *record = EtwAlloc(command->size);

    if (command->defaults != NULL) {
        memcpy(record, command->defaults, command->size);
    }
    record->ctx = ctx;
    record->interp = interp;
    Tcl_Preserve(interp);
    int result = runRecord(command, record, objc, objv);
    Tcl_Release(interp);
    EtwFree(record);
    return result;
}

/* ---- The registry ---------------------------------------------------------------------------- */

#define COMMAND(Name, ...)                                                                         \
    int Etw##Name##Cmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])      \
    {                                                                                              \
        (void)interp;                                                                              \
        return runCommand(&etw##Name##Command, clientData, objc, objv);                            \
    }
ETW_READ_COMMANDS(COMMAND)

static void putRow(Tcl_Obj *dict, const EtwReadCommand *command, const char *name, const char *page,
        const char *about)
{
    Tcl_Obj *row = Tcl_NewDictObj(), *options = Tcl_NewListObj(0, NULL);

    for (const EtwOption *option = command->options; option->name != NULL; option++) {
        Tcl_ListObjAppendElement(NULL, options, Tcl_NewStringObj(option->name, -1));
    }
    EtwPut(row, "about", Tcl_NewStringObj(about, -1));
    EtwPut(row, "options", options);
    EtwPut(row, "page", Tcl_NewStringObj(page, -1));
    EtwPut(dict, name, row);
}

/* etw::lib::commands: a dict, name -> {about TEXT options LIST page NAME} */
int EtwReadCommandsCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    Tcl_Obj *dict = Tcl_NewDictObj();
    (void)clientData, (void)objc, (void)objv;

#define PUT(Name, name, page, about) putRow(dict, &etw##Name##Command, name, page, about);
    ETW_READ_COMMANDS(PUT)
    Tcl_SetObjResult(interp, dict);
    return TCL_OK;
}

/* ---- What reports share ---------------------------------------------------------------------- */

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
    addNote(out, EtwSourceLost(query->source), "events lost: the figures have holes");
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
