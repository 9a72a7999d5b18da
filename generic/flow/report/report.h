/*
 * flow/report/report.h --
 *
 *	A first answer before any question: what takes the time, what waits, fails, or happens suspiciously
 *	often, and what to try next. It puts together the profile of calls (flow/calls), groups of events
 *	(flow/summary) and the CPU time of processes. One pass; memory is bounded as theirs is.
 */
#ifndef ETW_REPORT_H
#define ETW_REPORT_H

#include "schema/model/schema.h"

typedef struct EtwReport EtwReport;

/* The store must outlive it. */
EtwReport *EtwReportNew(EtwSchemaStore *store);
void EtwReportAdd(EtwReport *report, const EtwEvent *event);
/* A warning of the sources; call this before EtwReportEnd. */
void EtwReportWarn(EtwReport *report, const char *warning);
/*
 * After the last event. source: the trace as the next commands name it. lost: the number of events that
 * were lost; whole: no part of the trace is known to be missing.
 */
void EtwReportEnd(EtwReport *report, const char *source, uint64_t lost, bool whole);
void EtwReportFree(EtwReport *report);

/* brief: only the findings and what to try next. */
void EtwReportText(const EtwReport *report, bool brief, EtwText *out);
/*
 * One JSON object of at most maxBytes bytes (at least ETW_REPORT_BYTES_MIN): tables and texts are shortened
 * until it fits.
 */
enum { ETW_REPORT_BYTES = 16384, ETW_REPORT_BYTES_MIN = 2048 };
void EtwReportJson(const EtwReport *report, size_t maxBytes, EtwText *out);

#endif
