/*
 * flow/report/report_int.h --
 *
 *	Shared by the files of the report: its tables. report.c reads events, report_tables.c makes the tables,
 *	report_findings.c judges them, report_output.c writes them.
 */
#ifndef ETW_REPORT_INT_H
#define ETW_REPORT_INT_H

#include "flow/report/report.h"
#include "flow/calls/call_tree.h"
#include "flow/summary/summary.h"
#include "flow/summary/trace_stats.h"

enum { REPORT_COLUMNS = 8, REPORT_ROWS = 10, REPORT_PROCESSES = 4096, REPORT_CPUS = 4096 };

typedef enum ReportUnit {
    UNIT_TEXT,
    UNIT_COUNT,
    UNIT_TIME,
    UNIT_BYTES,
    UNIT_PERCENT,
    UNIT_RATIO
} ReportUnit;

typedef struct ReportColumn {
    const char *key, *title; /* in JSON; in text */
    ReportUnit unit;
} ReportColumn;

typedef struct ReportCell {
    uint64_t n;
    double d;         /* UNIT_PERCENT, UNIT_RATIO */
    char *text;       /* UNIT_TEXT; owned */
    EtwCostKind cost; /* of the first cell of TABLE_WAITS */
} ReportCell;

typedef struct ReportTable {
    const char *key, *title;
    const ReportColumn *columns;
    int columnCount;
    EtwText rows; /* of ReportCell[columnCount] */
    size_t rowCount;
    size_t all; /* number of rows that there would be */
} ReportTable;

static inline const ReportCell *rowAt(const ReportTable *table, size_t i)
{
    return (const ReportCell *)(void *)table->rows.data + i * (size_t)table->columnCount;
}

typedef enum ReportTableId {
    TABLE_FINDINGS,
    TABLE_PROCS,
    TABLE_WAITS,
    TABLE_LATE,
    TABLE_ERRORS,
    TABLE_REPEATED,
    TABLE_GROWING,
    TABLE_FILES,
    TABLE_PROCESSES,
    TABLE_SYSCALLS,
    TABLE_MARKS,
    TABLE_PROBLEMS,
    TABLE_EVENTS,
    TABLE_WARNINGS,
    TABLE_NEXT,
    TABLES
} ReportTableId;

/* What a process did, by the kernel's events. */
typedef struct ReportProcess {
    EtwTableNode node;
    uint32_t pid;
    char *name; /* NULL: unknown */
    uint64_t events, samples, switches, cpu;
} ReportProcess;

typedef struct ReportCpu {
    bool known;
    int64_t since; /* of the last switch */
} ReportCpu;

struct EtwReport {
    EtwSchemaStore *store;
    EtwCalls *calls;
    EtwTraceStats *stats;
    EtwSummary *commands; /* enters, by words */
    EtwSummary *messages; /* leaves with an error, by command and message */
    EtwSummary *packages; /* messages of `package require` that failed */
    EtwSummary *files;    /* Linux' file events, by process and file */
    EtwSummary *objects;  /* events of Windows' files and keys, by process and path */
    EtwSummary *syscalls; /* pairs, by process and system call */
    EtwSummary *problems; /* events of level critical and error */
    EtwTable processes;
    ReportCpu *cpus; /* REPORT_CPUS */
    uint64_t switches, samples;
    uint64_t idleCpu, idleSamples; /* of the CPUs, where the trace has them */
    uint64_t lost;
    bool whole;
    char *source;
    ReportTable tables[TABLES];
};

/* ---- report_tables.c ------------------------------------------------------------------------------- */

void EtwReportTables(EtwReport *r);
/* A new row with zeroed cells. At most REPORT_ROWS are stored: NULL beyond that. */
ReportCell *EtwReportRow(EtwReport *r, ReportTableId id);
char *EtwReportCopy(const char *text, size_t size);
/* The time of a row's own work: its self time without its waits. */
uint64_t EtwReportBusy(const EtwCallRow *row);

/* ---- report_findings.c ----------------------------------------------------------------------------- */

void EtwReportFindings(EtwReport *r);

#endif
