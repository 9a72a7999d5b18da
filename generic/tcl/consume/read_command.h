/*
 * tcl/consume/read_command.h --
 *
 *	The frame of the commands that read events. A command is an EtwReadCommand, its declaration, and a
 *	record that begins with an EtwReading and has the values of its options and its state. The frame
 *	parses the words, opens the query, passes each event to the command, and closes all on every path.
 *	Polling (signals, limits, cancelling, -progress) is the query's: EtwQueryNext.
 */
#ifndef ETW_READ_COMMAND_H
#define ETW_READ_COMMAND_H

#include "tcl/consume/query.h"

/* What the words before the options are. */
typedef enum EtwReadWords {
    ETW_WORDS_SOURCES, /* source ?source ...? ?-option value ...? ?-- source ...? */
    ETW_WORDS_TARGET,  /* source ?source ...? target ?-option value ...? */
    ETW_WORDS_FILE     /* file ?-option value ...?: one trace file, read as it is */
} EtwReadWords;

typedef struct EtwReading {
    EtwQueryOptions options; /* first: the offsets of ETW_QUERY_AT */
    EtwInterp *ctx;
    Tcl_Interp *interp;
    Tcl_Obj *sources;
    Tcl_Obj *target;    /* of ETW_WORDS_TARGET */
    EtwQuery query;     /* open from begin to close */
    Tcl_WideInt events; /* counted by the command, for the standard result */
    Tcl_Obj *result;    /* set by end or close; NULL: the dict {events N lost N warnings LIST} */
} EtwReading;

/*
 * The record is passed to all procs. All procs but event may be NULL. They return TCL_OK, TCL_ERROR
 * (message left in the interpreter), and where it says so TCL_BREAK or TCL_CONTINUE.
 */
typedef struct EtwReadCommand {
    size_t size;          /* of the record */
    const void *defaults; /* a record with the defaults of the options; NULL: zeroed */
    const char *usage;    /* arguments, for "wrong # args"; NULL: sources and options */
    EtwReadWords words;
    const EtwOption *options;
    int (*check)(void *record); /* the options; TCL_BREAK: nothing is to be read, result is set */
    int (*begin)(void *record); /* the query is open; TCL_BREAK: its events are not wanted */
    /* TCL_BREAK: no more are wanted; TCL_CONTINUE: this one does not count for -limit. */
    int (*event)(void *record, EtwEvent *event);
    int (*end)(void *record); /* all are read */
    /* In any case after begin, however far that came. Returns result, or TCL_ERROR. */
    int (*close)(void *record, int result);
    void (*free)(void *record); /* in any case after check; the query is closed */
} EtwReadCommand;

/*
 * The registry of the commands on the frame: to add one, write a file with its declaration
 * etwNAMECommand and one row here. Columns: the name in C; the name of the command; the page of the manual;
 * what it does, in one line. The package's commands, etw::lib::commands and the command-line tool's help
 * read the rows.
 */
/* clang-format off */
#define ETW_READ_COMMANDS(ROW)                                                                     \
    ROW(Calls, "calls", "etw", "a profile and tree of a script's calls")                           \
    ROW(Consume, "consume", "etw", "call a command with each event")                               \
    ROW(Dump, "dump", "etw", "list events")                                                        \
    ROW(Events, "events", "etw", "events as a list of dicts")                                      \
    ROW(Export, "export", "etw_export", "write a trace for another tool")                          \
    ROW(Info, "info", "etw", "what a trace file is")                                               \
    ROW(Relog, "relog", "etw_relog", "copy events into another trace")                             \
    ROW(Summary, "summary", "etw_summary", "count, sum and rank events")
/* clang-format on */

#define ETW_READ_COMMAND_EXTERN(Name, ...)                                                         \
    extern const EtwReadCommand etw##Name##Command;                                                \
    Tcl_ObjCmdProc Etw##Name##Cmd;
ETW_READ_COMMANDS(ETW_READ_COMMAND_EXTERN)

/* Lines of a report's end: what there is of each count, what the query lost and warns of. */
typedef struct EtwReadNote {
    uint64_t count;
    const char *what;
} EtwReadNote;
void EtwReadNotes(EtwText *out, const EtwQuery *query, const EtwReadNote *notes, int count);

#endif
