/*
 * tcl/query/query.h --
 *
 *	Sources read through the common options: -where, -from, -to, -limit, -fields. The commands that
 *	use it are on one frame, tcl/consume/read_command.h.
 */
#ifndef ETW_QUERY_H
#define ETW_QUERY_H

#include "tcl/core/event_polling.h"
#include "tcl/filter/where.h"
#include "flow/source/source.h"

/* Values of the common options; a command's record begins with it. Zeroed is the default. */
typedef struct EtwQueryOptions {
    Tcl_Obj *where, *fields, *from, *to;
    Tcl_Obj *provider, *event, *keyword, *pid; /* lists: short forms of -where */
    Tcl_Obj *level;                            /* a short form, too */
    Tcl_Obj *last;                             /* a duration before the end of the trace */
    Tcl_Obj *schema;   /* a list of files and folders with descriptions of events */
    Tcl_Obj *progress; /* prefix of a callback */
    Tcl_Obj *records;  /* a list of them (tcl/value/record_value.h), as an additional source; or
                          NULL */
    Tcl_Obj *warnings; /* name of a variable */
    Tcl_Obj *symbols;  /* a list: auto, off, folders */
    Tcl_WideInt limit; /* 0: none */
    int timeout;       /* ms that a live source may stay silent; 0: until its session stops */
    int asList;
    int plain;  /* one file as it is: no names, no stacks, no harvesting of schemas */
    int stacks; /* attach stacks in separate records to their events */
} EtwQueryOptions;

/* True if options select some of the events. */
bool EtwQuerySelects(const EtwQueryOptions *options);
/* For options of which later readings use the selection, -records, -schema and -symbols: their values are kept until the release. */
void EtwQueryRetain(const EtwQueryOptions *options);
void EtwQueryRelease(const EtwQueryOptions *options);

extern const char *const etwAsNames[];
#define ETW_QUERY_AT(field) offsetof(EtwQueryOptions, field)
/* Tables of options: shape of the results; filter; warnings. */
#define ETW_OPTIONS_SHAPE                                                                          \
    ETW_OPTION("-as", ETW_OPT_ENUM, ETW_QUERY_AT(asList), 0, 0, 0, etwAsNames),                    \
            ETW_OPTION("-fields", ETW_OPT_LIST, ETW_QUERY_AT(fields), 0, 0, 0, NULL)
#define ETW_OPTION_RECORDS                                                                         \
    ETW_OPTION("-records", ETW_OPT_LIST, ETW_QUERY_AT(records), 0, 0, 0, NULL)
#define ETW_OPTION_SCHEMA ETW_OPTION("-schema", ETW_OPT_LIST, ETW_QUERY_AT(schema), 0, 0, 0, NULL)
/* Which events: of all commands that read any. */
#define ETW_OPTIONS_SELECT                                                                         \
    ETW_OPTION("-event", ETW_OPT_LIST, ETW_QUERY_AT(event), 0, 0, 0, NULL),                        \
            ETW_OPTION("-from", ETW_OPT_OBJ, ETW_QUERY_AT(from), 0, 0, 0, NULL),                   \
            ETW_OPTION("-keyword", ETW_OPT_LIST, ETW_QUERY_AT(keyword), 0, 0, 0, NULL),            \
            ETW_OPTION("-last", ETW_OPT_OBJ, ETW_QUERY_AT(last), 0, 0, 0, NULL),                   \
            ETW_OPTION("-level", ETW_OPT_OBJ, ETW_QUERY_AT(level), 0, 0, 0, NULL),                 \
            ETW_OPTION("-pid", ETW_OPT_LIST, ETW_QUERY_AT(pid), 0, 0, 0, NULL),                    \
            ETW_OPTION("-provider", ETW_OPT_LIST, ETW_QUERY_AT(provider), 0, 0, 0, NULL),          \
            ETW_OPTION_SCHEMA, ETW_OPTION("-to", ETW_OPT_OBJ, ETW_QUERY_AT(to), 0, 0, 0, NULL),    \
            ETW_OPTION("-where", ETW_OPT_OBJ, ETW_QUERY_AT(where), 0, 0, 0, NULL)
/* Of reports; the others have -limit and -stacks, too. */
#define ETW_OPTIONS_REPORT                                                                         \
    ETW_OPTIONS_SELECT, ETW_OPTION_RECORDS,                                                        \
            ETW_OPTION("-timeout", ETW_OPT_INT, ETW_QUERY_AT(timeout), 1, INT_MAX, 0, NULL)
#define ETW_OPTION_LIMIT                                                                           \
    ETW_OPTION("-limit", ETW_OPT_WIDE, ETW_QUERY_AT(limit), 1, INT64_MAX, 0, NULL)
#define ETW_OPTIONS_FILTER                                                                         \
    ETW_OPTIONS_REPORT, ETW_OPTION_LIMIT,                                                          \
            ETW_OPTION("-stacks", ETW_OPT_BOOL, ETW_QUERY_AT(stacks), 0, 0, 0, NULL),              \
            ETW_OPTION_SYMBOLS
#define ETW_OPTION_SYMBOLS                                                                         \
    ETW_OPTION("-symbols", ETW_OPT_LIST, ETW_QUERY_AT(symbols), 0, 0, 0, NULL)
#define ETW_OPTION_PROGRESS                                                                        \
    ETW_OPTION("-progress", ETW_OPT_LIST, ETW_QUERY_AT(progress), 0, 0, 0, NULL)
#define ETW_OPTION_WARNINGS                                                                        \
    ETW_OPTION("-warnings", ETW_OPT_OBJ, ETW_QUERY_AT(warnings), 0, 0, 0, NULL)

/* A moment: ns since 1970, or relative to the trace's start. */
typedef struct EtwMoment {
    bool given, relative;
    int64_t ns;
} EtwMoment;

/* The part of a query that needs no Tcl: a worker thread may run it. */
typedef struct EtwFilter {
    EtwPredicate *predicate; /* borrowed from the query's where; NULL: all pass */
    EtwSchemaStore *store;
    EtwMoment from, to;
    bool based; /* relative times have been resolved */
    int seen;   /* events tested before the filter push-down */
} EtwFilter;
/* Test an event. After some calls, pushes the filter down to the source. ETW_OK: passes; ETW_AGAIN: does not; ETW_END: the event and all that follow are after -to. */
EtwStatus EtwFilterTest(EtwFilter *filter, EtwSource *source, const EtwEvent *event);

typedef struct EtwQuery {
    EtwInterp *ctx;
    EtwSource *source;
    EtwWhere where;
    EtwFilter filter;
    EtwPolling polling;
    EtwEventMaker *maker;      /* of results */
    EtwEventMaker *whereMaker; /* of the values for Tcl's part of -where; NULL: none */
    Tcl_WideInt limit, taken;
    bool keepSchemaEvents;     /* schema events pass in all cases and are not counted; otherwise
                                  they are filtered like others */
    bool messages;             /* the messages of events were requested */
    bool ended;                /* the last -progress callback was made */
    int64_t timeoutNs;         /* -1: none */
    void (*onIdle)(void *ctx); /* a live source has no events now; may be NULL */
    void *idleCtx;
} EtwQuery;

/*
 * Arguments of a command: sources up to the first option, options, and after `--` more sources. The
 * sources are collected in a new list *sourcesPtr (one reference, owned by the caller), which is
 * empty only with -records. *record begins with EtwQueryOptions.
 */
int EtwQueryWords(Tcl_Interp *interp, const EtwOption *table, int objc, Tcl_Obj *const objv[],
        void *record, Tcl_Obj **sourcesPtr);
/* True if the word is an option. "-" is not: it is stdin as a source, stdout as an output. */
static inline bool EtwIsOption(Tcl_Obj *word)
{
    const char *text = Tcl_GetString(word);
    return text[0] == '-' && text[1] != 0;
}
/*
 * "-" or "channel:NAME" (channel_source.c): the channel is read by the command, only in the
 * interpreter's thread.
 */
bool EtwIsChannelSource(const char *word);
int EtwChannelSourceOpen(Tcl_Interp *interp, const char *word, EtwSource **sourcePtr);
/*
 * The options in query_options.c: a moment of -from and -to (obj NULL: not given); -where with
 * its short forms; -schema; -last, for an open source.
 */
int EtwQueryMoment(Tcl_Interp *interp, const char *option, Tcl_Obj *obj, EtwMoment *moment);
int EtwQueryParseWhere(Tcl_Interp *interp, const EtwQueryOptions *options, EtwWhere *where);
int EtwQueryLoadSchemas(Tcl_Interp *interp, Tcl_Obj *paths);
/* -symbols, for an open source. */
int EtwQuerySymbols(Tcl_Interp *interp, Tcl_Obj *list, EtwSource *source);
struct EtwQuery;
int EtwQueryLast(struct EtwQuery *query, const EtwQueryOptions *options);
/* query may be uninitialized; after an error nothing has to be freed. */
int EtwQueryOpen(EtwQuery *query, EtwInterp *ctx, Tcl_Obj *sources, const EtwQueryOptions *options);
void EtwQueryClose(EtwQuery *query);
/*
 * The next event that passes. TCL_OK; TCL_BREAK: no more events; TCL_ERROR. Waits for live sources,
 * polling asynchronous handlers (signals, limits, cancelling) but not the event loop, and calls
 * -progress (tcl/core/event_polling.h).
 */
int EtwQueryNext(EtwQuery *query, EtwEvent *event);
bool EtwQueryLimited(const EtwQuery *query); /* as many events as -limit allows have been read */

/* ---- Warnings (query_warn.c), before the query is closed ------------------------------------- */

/* Fields of -where that no event had: a list of texts, a new object. */
Tcl_Obj *EtwQueryMissing(const EtwQuery *query);
/*
 * Verify the names of columns that `option` lists (NULL: none). An error names one that no event of the
 * trace has; a trace without events has all of them.
 */
int EtwQueryCheckColumns(const EtwQuery *query, const char *option, Tcl_Obj *names);
/* True if one of the names (NULL: none) is a column of stacks, which -stacks joins with their events. */
bool EtwQueryNamesStack(Tcl_Obj *names);
/* Append the reason that no event passed the filter, if it is evident (query_hints.c). */
void EtwQueryAddHints(const EtwQuery *query, Tcl_Obj *warnings);
/* Warnings of the sources, followed by those. */
Tcl_Obj *EtwQueryWarnings(const EtwQuery *query);
/* Set the variable (NULL: none) to the warnings. */
int EtwQuerySetWarnings(const EtwQuery *query, Tcl_Obj *variable);

#endif
