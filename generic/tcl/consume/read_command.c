/*
 * tcl/consume/read_command.c --
 *
 *	The frame of the commands that read events (tcl/consume/read_command.h).
 */
#include "tcl/consume/read_command.h"

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
        Tcl_WrongNumArgs(record->interp, 1, objv, command->usage);
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

int EtwReadCommandRun(const EtwReadCommand *command, EtwInterp *ctx, int objc,
        Tcl_Obj *const objv[], EtwReading *record)
{
    Tcl_Interp *interp = ctx->interp;

    record->ctx = ctx;
    record->interp = interp;
    if (parseWords(command, objc, objv, record) != TCL_OK) {
        return TCL_ERROR;
    }
    Tcl_Preserve(interp);
    int result = command->check != NULL ? command->check(record) : TCL_OK;
    if (result == TCL_OK) {
        result = EtwQueryOpen(&record->query, ctx, record->sources, &record->options);
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
        Tcl_SetObjResult(interp, record->result);
    } else if (record->result != NULL) {
        Tcl_DecrRefCount(record->result);
    }
    Tcl_Release(interp);
    return result == TCL_BREAK ? TCL_OK : result;
}

/* ---- What reports share ---------------------------------------------------------------------- */

Tcl_Obj *EtwTakeText(EtwText *text)
{
    Tcl_Obj *result = EtwTextObj(text->data, text->size);

    EtwTextFree(text);
    return result;
}

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
        Tcl_DString utf8;
        Tcl_DStringInit(&utf8);
        EtwTextStr(out, "-- warning: ");
        EtwTextStr(out, EtwUtf8Of(words[i], &utf8, NULL));
        EtwTextChar(out, '\n');
        Tcl_DStringFree(&utf8);
    }
    Tcl_DecrRefCount(warnings);
}
