/*
 * flow/render/format_registry.h --
 *
 *	The registry of formats: what `etw dump -format`, `etw export` and reports such as `etw calls` can write. To
 *	add a format of the first two, write one file and one row here: a sink in flow/render/format (of calls:
 *	flow/calls), or a Tcl file library/export/export_NAME.tcl. Everything else reads the rows: the commands,
 *	etw::lib::formats for the Tcl code, help and completion of the tool, the check of the manual and the tests.
 */
#ifndef ETW_FORMAT_REGISTRY_H
#define ETW_FORMAT_REGISTRY_H

#include <stdbool.h>

/*
 * Columns: the format's constant; its name; its sink; the suffixes of its files; the options that
 * not every format of the command has; a description of one line. Suffixes and options are
 * separated by blanks.
 */
/* clang-format off */
#define ETW_DUMP_FORMATS(ROW)                                                                      \
    ROW(TEXT, "text", etwSinkText, "", "-color -columns -raw -width", "a line for each event, for people")             \
    ROW(CSV, "csv", etwSinkCsv, "", "-fields -headers -separator", "comma-separated values")      \
    ROW(JSON, "json", etwSinkJson, "", "", "a JSON object on each line")                                 \
    ROW(LIST, "list", etwSinkList, "", "-fields", "a Tcl dict or list on each line")

/*
 * Exports have two more columns: what the file is; what it shows of a trace, for the error of a trace that has
 * none of it. NULL: all events.
 */
#define ETW_SHOWS_CALLS "calls of scripts, and samples of scripts and of the kernel's CPU profiler"
#define ETW_EXPORT_FORMATS(ROW)                                                                    \
    ROW(CHROME, "chrome", etwSinkChrome, ".json", "",                                              \
        "Trace event JSON, for Perfetto and chrome://tracing", ETW_FILE_TEXT, NULL)                \
    ROW(TRACERPT, "csv", etwSinkTracerpt, ".csv", "",                                              \
        "comma-separated values in tracerpt's columns", ETW_FILE_TEXT, NULL)                       \
    ROW(FIREFOX, "firefox", etwSinkFirefox, ".firefox.json", "",                                   \
        "each thread's calls or samples in time, for Firefox Profiler", ETW_FILE_TEXT,             \
        ETW_SHOWS_CALLS)                                                                           \
    ROW(FOLDED, "folded", etwSinkFolded, ".folded", "-weight",                                     \
        "folded stacks, for flamegraph.pl and inferno", ETW_FILE_TEXT, ETW_SHOWS_CALLS)            \
    ROW(FLAMEGRAPH, "flamegraph", etwSinkFlamegraph, ".svg", "-title -weight",                     \
        "a flame graph as one SVG picture", ETW_FILE_TEXT, ETW_SHOWS_CALLS)                        \
    ROW(OTLP, "otlp", etwSinkOtlp, ".otlp.json .otlp.jsonl", "",                                   \
        "spans of calls as OpenTelemetry's JSON, a request on each line", ETW_FILE_TEXT,           \
        "calls of scripts")                                                                        \
    ROW(OTLP_PROTOBUF, "otlp-protobuf", etwSinkOtlp, ".otlp.pb .otlp", "",                         \
        "spans of calls as OpenTelemetry's protobuf", ETW_FILE_BYTES, "calls of scripts")          \
    ROW(PARQUET, "parquet", etwSinkParquet, ".parquet", "",                                        \
        "columns for DuckDB, Spark, pandas and other analytics", ETW_FILE_BYTES, NULL)             \
    ROW(PERFETTO, "perfetto", etwSinkPerfetto, ".pftrace .perfetto-trace", "",                     \
        "Perfetto's trace of packets, for ui.perfetto.dev and trace_processor", ETW_FILE_BYTES,    \
        NULL)                                                                                      \
    ROW(PPROF, "pprof", etwSinkPprof, ".pb.gz .pprof", "", "a profile for pprof and Go's tools",   \
        ETW_FILE_BYTES, ETW_SHOWS_CALLS)                                                           \
    ROW(SPEEDSCOPE, "speedscope", etwSinkSpeedscope, ".speedscope.json", "-title",                 \
        "each thread's calls in time, for speedscope", ETW_FILE_TEXT, ETW_SHOWS_CALLS)             \
    ROW(JSON_LINES, "json", etwSinkJson, ".jsonl .ndjson", "-messages",                            \
        "a JSON object on each line", ETW_FILE_TEXT, NULL)                                         \
    ROW(XML, "xml", etwSinkXml, ".xml", "-messages",                                               \
        "the Windows event schema, as tracerpt writes it", ETW_FILE_TEXT, NULL)

/* Rows for a database to load: for library/export/export_sqlite.tcl, not for users. */
#define ETW_ROW_FORMATS(ROW)                                                                       \
    ROW(CALL_ROWS, "callrows", etwSinkCallRows, "", "", "calls")                                   \
    ROW(ROWS, "eventrows", etwSinkRows, "", "", "events")

/* Implemented in Tcl: library/export/export_NAME.tcl, loaded at first use. No sink. */
#define ETW_TCL_FORMATS(ROW)                                                                       \
    ROW(HTML, "html", -, ".html .htm", "-title", "one page: timeline, flame graph, tables")        \
    ROW(PCAPNG, "pcapng", -, ".pcapng", "", "captured packets, for Wireshark")                     \
    ROW(SQLITE, "sqlite", -, ".sqlite .sqlite3 .db", "", "an SQLite database of events and calls")

/* Results of commands that report, made by these commands. No sink. */
#define ETW_CALLS_FORMATS(ROW)                                                                     \
    ROW(CALLS_TEXT, "text", -, "", "", "a table and a tree, for people")                           \
    ROW(CALLS_LIST, "list", -, "", "", "a Tcl dict")                                               \
    ROW(CALLS_CSV, "csv", -, "", "", "a table of comma-separated values")                       \
    ROW(CALLS_JSON, "json", -, "", "", "one JSON object")                                          \
    ROW(CALLS_FOLDED, "folded", -, "", "", "folded stacks, for flamegraph.pl and inferno")

#define ETW_DIFF_FORMATS(ROW)                                                                      \
    ROW(DIFF_TEXT, "text", -, "", "", "tables, for people")                                        \
    ROW(DIFF_LIST, "list", -, "", "", "a Tcl dict")                                                \
    ROW(DIFF_CSV, "csv", -, "", "", "a table of comma-separated values")                           \
    ROW(DIFF_JSON, "json", -, "", "", "one JSON object")                                           \
    ROW(DIFF_FOLDED, "folded", -, "", "", "folded stacks with the times of both, for flamegraph.pl") \
    ROW(DIFF_FLAMEGRAPH, "flamegraph", -, "", "", "a differential flame graph as one SVG picture")

#define ETW_INFO_FORMATS(ROW)                                                                      \
    ROW(INFO_DICT, "dict", -, "", "", "a Tcl dict")                                                \
    ROW(INFO_TEXT, "text", -, "", "", "lines of text, for people")

#define ETW_PATH_FORMATS(ROW)                                                                      \
    ROW(PATH_TEXT, "text", -, "", "", "two tables, for people")                                    \
    ROW(PATH_LIST, "list", -, "", "", "a Tcl dict")                                                \
    ROW(PATH_JSON, "json", -, "", "", "one JSON object")

#define ETW_REPORT_FORMATS(ROW)                                                                    \
    ROW(REPORT_TEXT, "text", -, "", "", "sentences and tables, for people")                        \
    ROW(REPORT_JSON, "json", -, "", "", "one JSON object of a bounded size")

#define ETW_SUMMARY_FORMATS(ROW)                                                                   \
    ROW(SUMMARY_TEXT, "text", -, "", "", "a table, for people")                                    \
    ROW(SUMMARY_LIST, "list", -, "", "", "a Tcl dict")                                             \
    ROW(SUMMARY_CSV, "csv", -, "", "", "comma-separated values")                                  \
    ROW(SUMMARY_JSON, "json", -, "", "", "one JSON object")
/* clang-format on */

#define ETW_SINK_FORMATS(ROW) ETW_DUMP_FORMATS(ROW) ETW_EXPORT_FORMATS(ROW) ETW_ROW_FORMATS(ROW)

#define ETW_FORMAT_CONSTANT(constant, ...) ETW_FORMAT_##constant,
typedef enum EtwFormat {
    ETW_SINK_FORMATS(ETW_FORMAT_CONSTANT) ETW_TCL_FORMATS(ETW_FORMAT_CONSTANT)
            ETW_CALLS_FORMATS(ETW_FORMAT_CONSTANT) ETW_DIFF_FORMATS(ETW_FORMAT_CONSTANT)
                    ETW_INFO_FORMATS(ETW_FORMAT_CONSTANT) ETW_PATH_FORMATS(ETW_FORMAT_CONSTANT)
                            ETW_REPORT_FORMATS(ETW_FORMAT_CONSTANT)
                                    ETW_SUMMARY_FORMATS(ETW_FORMAT_CONSTANT) ETW_FORMATS_END
} EtwFormat;
/* The first of each group. */
enum {
    ETW_FORMAT_DUMP = ETW_FORMAT_TEXT,
    ETW_FORMAT_EXPORT = ETW_FORMAT_CHROME,
    ETW_FORMAT_CALLS = ETW_FORMAT_CALLS_TEXT,
    ETW_FORMAT_DIFF = ETW_FORMAT_DIFF_TEXT,
    ETW_FORMAT_INFO = ETW_FORMAT_INFO_DICT,
    ETW_FORMAT_PATH = ETW_FORMAT_PATH_TEXT,
    ETW_FORMAT_REPORT = ETW_FORMAT_REPORT_TEXT,
    ETW_FORMAT_SUMMARY = ETW_FORMAT_SUMMARY_TEXT
};

typedef enum EtwFileKind { ETW_FILE_TEXT, ETW_FILE_BYTES } EtwFileKind;
typedef struct EtwFormatRow {
    const char *group; /* the command; of `etw export` also "rows" and "tcl" */
    const char *name;
    const struct EtwSinkOps *sink; /* NULL: there is none */
    const char *suffixes, *options, *about;
    EtwFileKind kind;
    const char *shows; /* of a trace; NULL: all events */
} EtwFormatRow;

extern const EtwFormatRow etwFormats[ETW_FORMATS_END];
/*
 * The names of each command's formats, NULL at the end. The index is relative to the first format
 * of the group.
 */
extern const char *const etwDumpFormatNames[], *const etwExportFormatNames[];
extern const char *const etwCallsFormatNames[], *const etwInfoFormatNames[];
extern const char *const etwDiffFormatNames[];
extern const char *const etwPathFormatNames[];
extern const char *const etwReportFormatNames[], *const etwSummaryFormatNames[];

/* True if the option, for example "-title", is one of the format's. */
bool EtwFormatTakes(EtwFormat format, const char *option);

#endif
