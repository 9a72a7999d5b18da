/*
 * tcl/consume/read_command.h --
 *
 *	The frame of the commands that read events. A command is an EtwReadCommand, its declaration, and a
 *	record that begins with an EtwReading and has the values of its options and its state. The frame
 *	parses the words, opens the query, passes each event to the command, and closes all on every path.
 *	Polling (signals, limits, cancelling, -progress) is the query's: EtwQueryNext.
 *
 *	Not on the frame is `etw timeline`: its query stays open after `etw timeline create` has returned, later
 *	commands read on in slices of time, and a search reads the sources again. It shares EtwReadEvents.
 *	Background consumers (consumer.c) read in threads that have no interpreter.
 */
#ifndef ETW_READ_COMMAND_H
#define ETW_READ_COMMAND_H

#include "tcl/query/query.h"

/* What the words before the options are. */
typedef enum EtwReadWords {
    ETW_WORDS_SOURCES, /* source ?source ...? ?-option value ...? ?-- source ...? */
    ETW_WORDS_TARGET,  /* source ?source ...? target ?-option value ...? */
    ETW_WORDS_FILE,    /* file ?-option value ...?: one trace file, read as it is */
    ETW_WORDS_BODY     /* varName source ?source ...? ?-option value ...? body */
} EtwReadWords;

typedef struct EtwReading {
    EtwQueryOptions options; /* first: the offsets of ETW_QUERY_AT */
    const struct EtwReadCommand *command;
    EtwInterp *ctx;
    Tcl_Interp *interp;
    Tcl_Obj *words; /* a list of the command's words: keeps the values of the options */
    Tcl_Obj *sources;
    Tcl_Obj *target;    /* of ETW_WORDS_TARGET; of ETW_WORDS_BODY: the variable */
    Tcl_Obj *body;      /* of ETW_WORDS_BODY: evaluated after each event; may yield */
    EtwQuery query;     /* open from begin to close */
    Tcl_WideInt events; /* counted by the command, for the standard result */
    Tcl_Obj *
            result; /* set by begin, end or close; NULL: the dict {events N lost N warnings LIST} */
} EtwReading;

/* ctx is the record, unless EtwReadEvents is called with another. */
typedef int EtwReadProc(void *ctx, EtwEvent *event);

/*
 * The record is passed to all procs. All procs but `event` may be NULL. They return TCL_OK,
 * TCL_ERROR (message left in the interpreter), and where noted TCL_BREAK or TCL_CONTINUE.
 */
typedef struct EtwReadCommand {
    size_t size;          /* of the record */
    const void *defaults; /* a record with the defaults of the options; NULL: zeroed */
    const char *usage;    /* arguments, for "wrong # args"; NULL: sources and options */
    EtwReadWords words;
    const EtwOption *options;
    /* The options are parsed. TCL_BREAK: do not read; the interpreter has the result. */
    int (*check)(void *record);
    int (*begin)(void *record); /* the query is open; TCL_BREAK: do not read its events */
    /* TCL_BREAK: read no more; TCL_CONTINUE: this event does not count for -limit. */
    EtwReadProc *event;
    int (*afterBody)(
            void *record, int result); /* of ETW_WORDS_BODY: converts the body's code to the code
                                          of `event` */
    int (*end)(void *record);          /* all events are read */
    /* Called in any case after begin, even if begin failed. Returns result, or TCL_ERROR. */
    int (*close)(void *record, int result);
    void (*free)(void *record); /* called in any case after check; the query is closed */
} EtwReadCommand;

/*
 * The registry of the commands and analyses that read events: to add one to the frame, write a file with its
 * declaration etwNAMECommand and one row here. Columns: the name in C; the name of the command; the page of
 * the manual; what it does, in one line. The package's commands, etw::lib::commands, help and completion of
 * the command-line tool, the check of the manual and the tests read the rows.
 */
/* clang-format off */
#define ETW_READ_COMMANDS(ROW)                                                                     \
    ROW(Calls, "calls", "etw_calls", "show where the time of scripts went")                           \
    ROW(Consume, "consume", "etw_events", "call a command with each event")                               \
    ROW(Dump, "dump", "etw_dump", "list events")                                                        \
    ROW(Events, "events", "etw_events", "return events as a list of dicts")                                      \
    ROW(Export, "export", "etw_export", "write events in the format of another tool")                          \
    ROW(Foreach, "foreach", "etw_events", "evaluate a script for each event")                             \
    ROW(Info, "info", "etw_info", "describe a trace file")                                               \
    ROW(Path, "path", "etw_path", "show what a request waited for, through all threads and programs")    \
    ROW(Relog, "relog", "etw_relog", "copy events into another trace")                             \
    ROW(Report, "report", "etw_report", "what takes the time, waits or fails, and what to try next") \
    ROW(Summary, "summary", "etw_summary", "count, sum and rank events") \
    ROW(Symbols, "symbols", "etw_relog", "keep the names of functions in a trace")

/*
 * Commands that are not on the frame. Columns: name; page; table of options, or NULL; options, if
 * Tcl code parses them; what it does. `top` is a command of the tool only, which has a table of its
 * options.
 */
#define ETW_OTHER_COMMANDS(ROW)                                                                    \
    ROW("cover", "etw_cover", NULL, "-dir -files -format -from -last -line -pid -schema -to",                \
        "show which lines of scripts were executed")                                                \
    ROW("diff", "etw_diff", etwDiffOptions, "", "compare two traces, or the runs of two programs")                                     \
    ROW("fleet", "etw_fleet", NULL, "-by -cafile -factor -format -from -host -limit -mincalls -passwordfile -proc -since -until",       \
        "answer questions about all hosts in a database")                                           \
    ROW("load", "etw_load", NULL, "-cafile -event -from -host -index -last -limit -passwordfile -pid -progress -provider -replace -schema -to -where",       \
        "load traces into a database")                                                              \
    ROW("ship", "etw_ship", NULL, "-cafile -delete -event -host -interval -level -once -passwordfile -progress -provider -redact -spool -to -where",       \
        "send traces to a database as they are written")                                            \
    ROW("sql", "etw_sql", NULL, "-format -output -schema", "query traces in SQL, in place")                    \
    ROW("timeline", "etw_timeline", etwTimelineOptions, "", "arrange a trace in lanes and boxes, for a viewer") \
    ROW("top", "etw-tool", NULL, "", "show the most frequent events, live")                             \
    ROW("view", "etw_view", NULL, "-event -from -last -pid -provider -save -schema -size -theme -to -where",                           \
        "show a trace in a window, or save it as a picture")
/* clang-format on */
extern const EtwOption etwTimelineOptions[]; /* of `etw timeline create` */
extern const EtwOption etwDiffOptions[];     /* diff_cmd.c */

#define ETW_READ_COMMAND_EXTERN(Name, ...)                                                         \
    extern const EtwReadCommand etw##Name##Command;                                                \
    Tcl_ObjCmdProc Etw##Name##Cmd, Etw##Name##NreCmd;
ETW_READ_COMMANDS(ETW_READ_COMMAND_EXTERN)

/*
 * Call proc with each event of an open query. TCL_BREAK: there are no more events; otherwise the
 * first code of proc that is not TCL_OK. TCL_CONTINUE is like TCL_OK, but the event does not count
 * for -limit.
 */
int EtwReadEvents(EtwQuery *query, EtwReadProc *proc, void *ctx);

/* A new dict, the result of a command that sets none. */
Tcl_Obj *EtwReadingResult(const EtwReading *record);

/* Lines at a report's end: counts with their meaning, then the query's losses and warnings. */
typedef struct EtwReadNote {
    uint64_t count;
    const char *what;
} EtwReadNote;
void EtwReadNotes(EtwText *out, const EtwQuery *query, const EtwReadNote *notes, int count);

#endif
