/*
 * tcl/relog/symbols_cmd.c --
 *
 *	etw symbols FILE: finds the names of all frames of a trace's stacks, and writes them into the
 *	trace as events Symbol of Etw-Session. Readers take these names first. Tcl code adds the
 *	events (library/symbols.tcl).
 */
#include "tcl/consume/read_command.h"
#include "flow/track/stack_frames.h"
#include "symbol/symbols.h"

typedef struct SymbolsReading {
    EtwReading reading;
    Tcl_Obj *output;    /* option; NULL: the file itself */
    int64_t time;       /* of the first event */
    uint64_t addresses; /* in stacks */
} SymbolsReading;

#define AT(field) offsetof(SymbolsReading, field)
static const EtwOption symbolsOptions[] = {
        ETW_OPTION("-output", ETW_OPT_OBJ, AT(output), 0, 0, 0, NULL),
        ETW_OPTION_SYMBOLS,
        ETW_OPTION_PROGRESS,
        ETW_OPTION_END,
};
#undef AT

static int addSymbolsEvent(void *record, EtwEvent *event)
{
    SymbolsReading *o = record;
    EtwFrameWalk walk;

    if (!EtwEventIsHeader(event) && (o->time == 0 || event->time < o->time)) {
        o->time = event->time;
    }
    EtwFrameWalkBegin(&walk, EtwSourceTracked(o->reading.query.source), event);
    while (EtwFrameNext(&walk) != NULL) {
    }
    o->addresses += event->stackCount;
    return TCL_OK;
}

/* The fields of an event for each function, the innermost first. */
static void addPlace(void *ctx, const EtwSymbolPlace *place, const EtwSymbol *list, int count)
{
    for (int i = 0; i < count; i++) {
        Tcl_Obj *dict = Tcl_NewDictObj();
        EtwPut(dict, "FileName", EtwStringObj(place->path != NULL ? place->path : ""));
        EtwPut(dict, "BuildId", EtwStringObj(place->build != NULL ? place->build : ""));
        EtwPut(dict, "ProcessId", EtwUint64Obj(place->path != NULL ? 0 : place->pid));
        EtwPut(dict, "Offset", EtwUint64Obj(place->offset));
        EtwPut(dict, "Return", Tcl_NewIntObj(place->isReturn));
        EtwPut(dict, "Inlined", Tcl_NewIntObj(list[i].inlined));
        EtwPut(dict, "Function", EtwStringObj(list[i].function));
        EtwPut(dict, "FunctionOffset", EtwUint64Obj(list[i].offset));
        EtwPut(dict, "SourceFile", EtwStringObj(list[i].file != NULL ? list[i].file : ""));
        EtwPut(dict, "Line", EtwUint64Obj(list[i].line));
        Tcl_ListObjAppendElement(NULL, ctx, dict);
    }
}

static Tcl_Obj *missingObj(const EtwSymbols *symbols)
{
    Tcl_Obj *dict = Tcl_NewDictObj();
    const char *path, *why;

    for (int i = 0; (path = EtwSymbolsMissing(symbols, i, &why)) != NULL; i++) {
        EtwPut(dict, path, EtwStringObj(why));
    }
    return dict;
}

static int endSymbols(void *record)
{
    SymbolsReading *o = record;
    Tcl_Interp *interp = o->reading.interp;
    const EtwTrack *track = EtwSourceTracked(o->reading.query.source);
    const EtwSymbols *symbols = track != NULL ? EtwTrackSymbols(track) : NULL;
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);

    if (symbols != NULL) {
        EtwSymbolsEach(symbols, addPlace, list);
    }
    Tcl_Obj *words[] = {Tcl_NewStringObj("::etw::lib::SymbolsKeep", -1), o->reading.sources,
            o->output != NULL ? o->output : Tcl_NewObj(), list, Tcl_NewWideIntObj(o->time),
            symbols != NULL ? missingObj(symbols) : Tcl_NewDictObj(), EtwUint64Obj(o->addresses)};
    int count = sizeof words / sizeof *words;
    for (int i = 0; i < count; i++) {
        Tcl_IncrRefCount(words[i]);
    }
    int result = Tcl_EvalObjv(interp, count, words, TCL_EVAL_GLOBAL);
    for (int i = 0; i < count; i++) {
        Tcl_DecrRefCount(words[i]);
    }
    if (result == TCL_OK) {
        o->reading.result = Tcl_DuplicateObj(Tcl_GetObjResult(interp));
    }
    return result;
}

static int checkSymbols(void *record)
{
    SymbolsReading *o = record;
    Tcl_Size count = 0;

    if (Tcl_ListObjLength(o->reading.interp, o->reading.sources, &count) != TCL_OK) {
        return TCL_ERROR;
    }
    if (count != 1) {
        return EtwTclFail(o->reading.interp, ETW_E_ARG, "SOURCES", "symbols",
                "\"etw symbols\" takes one trace file, not %d sources", (int)count);
    }
    Tcl_Obj *source;
    Tcl_ListObjIndex(NULL, o->reading.sources, 0, &source);
    if (strncmp(Tcl_GetString(source), "session:", 8) == 0 ||
            strcmp(Tcl_GetString(source), "-") == 0) {
        return EtwTclFail(o->reading.interp, ETW_E_UNSUPPORTED, "SOURCE", "symbols",
                "\"etw symbols\" takes a trace file, which is read twice, not \"%.100s\"",
                Tcl_GetString(source));
    }
    return TCL_OK;
}

const EtwReadCommand etwSymbolsCommand = {
        .size = sizeof(SymbolsReading),
        .options = symbolsOptions,
        .check = checkSymbols,
        .event = addSymbolsEvent,
        .end = endSymbols,
};
