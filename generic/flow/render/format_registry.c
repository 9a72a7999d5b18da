/*
 * flow/render/format_registry.c --
 *
 *	The rows of flow/render/format_registry.h as tables.
 */
#include "flow/render/sink_int.h"

#define NAME(constant, name, ...) name,
#define SINK(constant, name, sink, ...) extern const EtwSinkOps sink;
#define DUMP(constant, name, sink, ...) {"dump", name, &sink, __VA_ARGS__, ETW_FILE_TEXT, NULL},
#define EXPORT(constant, name, sink, ...) {"export", name, &sink, __VA_ARGS__},
#define ROWS(constant, name, sink, ...) {"rows", name, &sink, __VA_ARGS__, ETW_FILE_TEXT, NULL},
#define TCL(constant, name, sink, ...) {"tcl", name, NULL, __VA_ARGS__, ETW_FILE_TEXT, NULL},
#define CALLS(constant, name, sink, ...) {"calls", name, NULL, __VA_ARGS__, ETW_FILE_TEXT, NULL},
#define DIFF(constant, name, sink, ...) {"diff", name, NULL, __VA_ARGS__, ETW_FILE_TEXT, NULL},
#define INFO(constant, name, sink, ...) {"info", name, NULL, __VA_ARGS__, ETW_FILE_TEXT, NULL},
#define PATH(constant, name, sink, ...) {"path", name, NULL, __VA_ARGS__, ETW_FILE_TEXT, NULL},
#define REPORT(constant, name, sink, ...) {"report", name, NULL, __VA_ARGS__, ETW_FILE_TEXT, NULL},
#define SUMMARY(constant, name, sink, ...)                                                         \
    {"summary", name, NULL, __VA_ARGS__, ETW_FILE_TEXT, NULL},

ETW_SINK_FORMATS(SINK)

const EtwFormatRow etwFormats[] = {ETW_DUMP_FORMATS(DUMP) ETW_EXPORT_FORMATS(EXPORT)
                ETW_ROW_FORMATS(ROWS) ETW_TCL_FORMATS(TCL) ETW_CALLS_FORMATS(CALLS)
                        ETW_DIFF_FORMATS(DIFF) ETW_INFO_FORMATS(INFO) ETW_PATH_FORMATS(PATH)
                                ETW_REPORT_FORMATS(REPORT) ETW_SUMMARY_FORMATS(SUMMARY)};
const char *const etwDumpFormatNames[] = {ETW_DUMP_FORMATS(NAME) NULL};
const char *const etwExportFormatNames[] = {ETW_EXPORT_FORMATS(NAME) ETW_ROW_FORMATS(NAME) NULL};
const char *const etwCallsFormatNames[] = {ETW_CALLS_FORMATS(NAME) NULL};
const char *const etwDiffFormatNames[] = {ETW_DIFF_FORMATS(NAME) NULL};
const char *const etwInfoFormatNames[] = {ETW_INFO_FORMATS(NAME) NULL};
const char *const etwPathFormatNames[] = {ETW_PATH_FORMATS(NAME) NULL};
const char *const etwReportFormatNames[] = {ETW_REPORT_FORMATS(NAME) NULL};
const char *const etwSummaryFormatNames[] = {ETW_SUMMARY_FORMATS(NAME) NULL};

bool EtwFormatTakes(EtwFormat format, const char *option)
{
    const char *at = etwFormats[format].options;
    size_t size = strcspn(at, " ");

    while (size > 0 && (strncmp(at, option, size) != 0 || option[size] != 0)) {
        at += size + strspn(at + size, " ");
        size = strcspn(at, " ");
    }
    return size > 0;
}
