/*
 * tcl/consume/report_cmd.c --
 *
 *	etw report: what is conspicuous in a trace (flow/report/report.h), as text or JSON.
 */
#include "tcl/consume/read_command.h"
#include "flow/render/format_registry.h"
#include "flow/report/report.h"

typedef struct ReportReading {
    EtwReading reading;
    int format, brief; /* options */
    Tcl_WideInt maxBytes;
    EtwReport *report;
} ReportReading;

#define AT(field) offsetof(ReportReading, field)
static const EtwOption reportOptions[] = {
        {"-brief", ETW_OPT_BOOL, AT(brief), 0, 0, 0, NULL},
        {"-format", ETW_OPT_ENUM, AT(format), 0, 0, 0, etwReportFormatNames},
        {"-maxbytes", ETW_OPT_SIZE, AT(maxBytes), ETW_REPORT_BYTES_MIN, 1 << 30, 1, NULL},
        ETW_OPTIONS_REPORT,
        ETW_OPTION_PROGRESS,
        ETW_OPTION_END,
};
#undef AT

static int beginReport(void *record)
{
    ReportReading *o = record;

    o->report = EtwReportNew(o->reading.query.filter.store);
    return TCL_OK;
}

static int addReportEvent(void *record, EtwEvent *event)
{
    EtwReportAdd(((ReportReading *)record)->report, event);
    return TCL_OK;
}

/* The first source, as the user named it. */
static const char *sourceName(const ReportReading *o)
{
    Tcl_Obj *first = NULL;

    if (o->reading.sources == NULL ||
            Tcl_ListObjIndex(NULL, o->reading.sources, 0, &first) != TCL_OK || first == NULL) {
        return "trace";
    }
    return Tcl_GetString(first);
}

static void addWarnings(const ReportReading *o)
{
    Tcl_Obj *warnings = EtwQueryWarnings(&o->reading.query);
    Tcl_Obj **words;
    Tcl_Size count;

    Tcl_IncrRefCount(warnings);
    Tcl_ListObjGetElements(NULL, warnings, &count, &words);
    for (Tcl_Size i = 0; i < count; i++) {
        Tcl_DString utf8;
        Tcl_DStringInit(&utf8);
        EtwReportWarn(o->report, EtwUtf8Of(words[i], &utf8, NULL));
        Tcl_DStringFree(&utf8);
    }
    Tcl_DecrRefCount(warnings);
}

static int endReport(void *record)
{
    ReportReading *o = record;
    EtwText out = {0};

    addWarnings(o);
    EtwReportEnd(o->report, sourceName(o), EtwSourceLost(o->reading.query.source),
            EtwSourceIsWhole(o->reading.query.source));
    if ((EtwFormat)(ETW_FORMAT_REPORT + o->format) == ETW_FORMAT_REPORT_JSON) {
        EtwReportJson(o->report, (size_t)o->maxBytes, &out);
    } else {
        EtwReportText(o->report, o->brief != 0, &out);
    }
    o->reading.result = EtwTakeText(o->reading.interp, &out);
    return o->reading.result ? TCL_OK : TCL_ERROR;
}

static int closeReport(void *record, int result)
{
    EtwReportFree(((ReportReading *)record)->report);
    return result;
}

static const ReportReading reportDefaults = {.maxBytes = ETW_REPORT_BYTES};
const EtwReadCommand etwReportCommand = {
        .size = sizeof(ReportReading),
        .defaults = &reportDefaults,
        .options = reportOptions,
        .begin = beginReport,
        .event = addReportEvent,
        .end = endReport,
        .close = closeReport,
};
