/*
 * flow/render/format_registry.h --
 *
 *	The registry of formats: what `etw dump -format` and `etw export` can write. To add a format, write
 *	one file and one row here: a sink in flow/render/format, or a Tcl file library/export/export_NAME.tcl.
 *	Everything else reads the rows: both commands, etw::lib::formats for the Tcl code, the check of the
 *	manual and the tests.
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
    ROW(TEXT, "text", etwSinkText, "", "-color -width", "a line an event, for people")             \
    ROW(CSV, "csv", etwSinkCsv, "", "-fields -headers -separator", "comma-separated columns")      \
    ROW(JSON, "json", etwSinkJson, "", "", "a JSON object a line")                                 \
    ROW(LIST, "list", etwSinkList, "", "-fields", "a Tcl dict or list a line")

#define ETW_EXPORT_FORMATS(ROW)                                                                    \
    ROW(CHROME, "chrome", etwSinkChrome, ".json", "",                                              \
        "Trace event JSON, for Perfetto and chrome://tracing")                                     \
    ROW(TRACERPT, "csv", etwSinkTracerpt, ".csv", "", "tracerpt's columns, for spreadsheets")      \
    ROW(FOLDED, "folded", etwSinkFolded, ".folded", "-weight",                                     \
        "folded stacks, for flamegraph.pl and inferno")                                            \
    ROW(FLAMEGRAPH, "flamegraph", etwSinkFlamegraph, ".svg", "-title -weight",                     \
        "a flame graph as one SVG picture")                                                        \
    ROW(SPEEDSCOPE, "speedscope", etwSinkSpeedscope, ".speedscope.json", "-title",                 \
        "each thread's calls in time, for speedscope")                                             \
    ROW(JSON_LINES, "json", etwSinkJson, ".jsonl .ndjson", "-messages", "a JSON object a line")    \
    ROW(XML, "xml", etwSinkXml, ".xml", "-messages", "the Windows event schema, as tracerpt writes it")

/* Rows for a database to load: for library/export/export_sqlite.tcl, not for users. */
#define ETW_ROW_FORMATS(ROW)                                                                       \
    ROW(CALL_ROWS, "callrows", etwSinkCallRows, "", "", "calls")                                   \
    ROW(ROWS, "eventrows", etwSinkRows, "", "", "events")

/* Implemented in Tcl: library/export/export_NAME.tcl, loaded at first use. No sink. */
#define ETW_TCL_FORMATS(ROW)                                                                       \
    ROW(HTML, "html", -, ".html .htm", "-title", "one page: timeline, flame graph, tables")        \
    ROW(PCAPNG, "pcapng", -, ".pcapng", "", "captured packets, for Wireshark")                     \
    ROW(SQLITE, "sqlite", -, ".sqlite .sqlite3 .db", "", "an SQLite database of events and calls")
/* clang-format on */

#define ETW_SINK_FORMATS(ROW) ETW_DUMP_FORMATS(ROW) ETW_EXPORT_FORMATS(ROW) ETW_ROW_FORMATS(ROW)

#define ETW_FORMAT_CONSTANT(constant, ...) ETW_FORMAT_##constant,
typedef enum EtwFormat {
    ETW_SINK_FORMATS(ETW_FORMAT_CONSTANT) ETW_TCL_FORMATS(ETW_FORMAT_CONSTANT) ETW_FORMATS_END
} EtwFormat;
/* The first of each group. */
enum { ETW_FORMAT_DUMP = ETW_FORMAT_TEXT, ETW_FORMAT_EXPORT = ETW_FORMAT_CHROME };

typedef struct EtwFormatRow {
    const char *group; /* dump, export, rows or tcl */
    const char *name;
    const struct EtwSinkOps *sink; /* NULL: implemented in Tcl */
    const char *suffixes, *options, *about;
} EtwFormatRow;

extern const EtwFormatRow etwFormats[ETW_FORMATS_END];
/*
 * The names of each command's formats, NULL at the end. The index is relative to the first format
 * of the group.
 */
extern const char *const etwDumpFormatNames[], *const etwExportFormatNames[];

/* True if the format has the option. No option's name is part of another's. */
bool EtwFormatTakes(EtwFormat format, const char *option);

#endif
