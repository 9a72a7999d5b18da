/*
 * flow/compare/compare.h --
 *
 *	Compares the runs of two sides, A and B: what was called, by proc and by path in the tree of calls; the
 *	work and the waits of each proc (of each process where no call was traced); the files and hosts that were
 *	touched. Each run is one pass over a trace (flow/calls counts it). Its results are added up in rows that
 *	are found by names in which what differs from run to run has been replaced (compare_names.c). Memory is
 *	bounded by the sizes of the traces.
 */
#ifndef ETW_COMPARE_H
#define ETW_COMPARE_H

#include "base/hash_table.h"
#include "base/text.h"
#include "event/event.h"
#include "schema/model/schema.h"

typedef enum EtwCompareTable {
    ETW_COMPARE_PROCS, /* who: the proc */
    ETW_COMPARE_PATHS, /* parent: the caller's row; who: the proc */
    ETW_COMPARE_WORK,  /* who: the proc, or [process]; kind and what: as EtwCost */
    ETW_COMPARE_FILES, /* parent: the row of the calls, or NULL and who is [process]; kind: the operation; what: the path */
    ETW_COMPARE_HOSTS, /* the same; what: the host and port */
    ETW_COMPARE_TABLES
} EtwCompareTable;

typedef enum EtwMeasure {
    ETW_MEASURE_COUNT, /* of calls, or of operations */
    ETW_MEASURE_ERRORS,
    ETW_MEASURE_SELF,  /* ns; of work: its time */
    ETW_MEASURE_TOTAL, /* ns */
    ETW_MEASURE_WAIT,  /* ns of self that were waits */
    ETW_MEASURE_BYTES,
    ETW_MEASURES
} EtwMeasure;

enum { ETW_SIDE_A, ETW_SIDE_B, ETW_SIDES };

/* The values of a side: the median of its runs, and their range. */
typedef struct EtwCompareSide {
    double median, min, max;
} EtwCompareSide;

/* How sure a difference is. */
typedef enum EtwConfidence {
    ETW_CONFIDENCE_NONE, /* too few runs: nothing is known */
    ETW_CONFIDENCE_NOISE, /* the ranges of the runs overlap, and a rank test does not tell them apart */
    ETW_CONFIDENCE_LIKELY, /* the ranges do not overlap, and p is at most 0.2 (three runs each have 0.1) */
    ETW_CONFIDENCE_CLEAR /* rank test: p is at most 0.05; of counts: the same in all runs of a side */
} EtwConfidence;

typedef struct EtwCompareRow {
    EtwTableNode node;
    struct EtwCompareRow *next; /* of all, in order of first occurrence */
    EtwCompareTable table;
    int level; /* of a path: 1 is the outermost call */
    const struct EtwCompareRow *parent;
    const char *who, *kind, *what; /* owned by the comparison; "" where there is none */
    uint64_t *runs;                /* ETW_MEASURES for each run */
    int runCount;
    /* Set by EtwCompareFinish: */
    EtwCompareSide sides[ETW_SIDES][ETW_MEASURES];
    bool in[ETW_SIDES]; /* it occurs in a run of this side */
    double p;           /* of the time, of a rank test; -1: none */
    EtwConfidence times, counts;
    double rank; /* of its difference: larger ones come first */
} EtwCompareRow;

typedef struct EtwCompareConfig {
    /*
     * A name's replacement by the user's rules, appended to *out; false: no rule applies. Called once for each
     * name of a run. NULL: there are no rules.
     */
    bool (*rename)(void *ctx, const char *name, EtwText *out);
    void *ctx;
    const char *labels
            [ETW_SIDES]; /* the sources of the sides, for people; must outlive the comparison */
    /*
     * Files in this directory are etw's own, and are left out, as are those of its usual directories. It must outlive the
     * comparison. NULL or empty: there is no other one.
     */
    const char *runtimeDir;
} EtwCompareConfig;

typedef struct EtwCompare EtwCompare;
typedef struct EtwCompareRun EtwCompareRun;

EtwCompare *EtwCompareNew(const EtwCompareConfig *config);
void EtwCompareFree(EtwCompare *compare);
/* A run of a side. The store must outlive the run, which must end before the next one begins. */
EtwCompareRun *EtwCompareBegin(EtwCompare *compare, int side, EtwSchemaStore *store);
void EtwCompareAdd(EtwCompareRun *run, const EtwEvent *event);
/* Adds the results of the run, unless `drop`, and frees it. lost: number of events that were lost. */
void EtwCompareEnd(EtwCompareRun *run, uint64_t lost, bool drop);
/* A warning of a source, for the results. */
void EtwCompareWarn(EtwCompare *compare, const char *warning);
/* After the last run. */
void EtwCompareFinish(EtwCompare *compare);

/* What is known about a side. */
typedef struct EtwCompareFacts {
    int runs;
    uint64_t events, calls, lost; /* of all runs together */
    double ns;                    /* median of the time from the first event to the last one */
} EtwCompareFacts;
const EtwCompareFacts *EtwCompareFactsOf(const EtwCompare *compare, int side);

/* ---- Results ---------------------------------------------------------------------------------- */

typedef enum EtwCompareSort {
    ETW_COMPARE_BY_SELF,
    ETW_COMPARE_BY_TOTAL,
    ETW_COMPARE_BY_CALLS,
    ETW_COMPARE_BY_WAIT,
    ETW_COMPARE_BY_BYTES,
    ETW_COMPARE_BY_ERRORS,
    ETW_COMPARE_BY_NAME
} EtwCompareSort;

typedef struct EtwCompareView {
    unsigned tables; /* a bit for each */
    EtwCompareSort sort;
    size_t top; /* rows of each table; 0: all */
    double min; /* percent of the time of all procs; rows of which only times differ, by less, are left out */
    bool same; /* include rows without a difference */
} EtwCompareView;

/*
 * The rows of a table that differ, in the view's order; *countPtr of them. The caller frees the array (EtwFree).
 * *hiddenPtr: rows that `top` and `min` leave out; *samePtr: rows without a difference.
 */
EtwCompareRow **EtwCompareRows(EtwCompare *compare, EtwCompareTable table,
        const EtwCompareView *view, size_t *countPtr, size_t *hiddenPtr, size_t *samePtr);
/* A value that is not negative, without its fraction; at most what 64 bits have. */
static inline uint64_t EtwCompareWhole(double value)
{
    return value >= 18e18 ? UINT64_MAX : value > 0 ? (uint64_t)value : 0;
}

/* "procs", "paths", "work", "files", "hosts" */
extern const char *const etwCompareTableNames[ETW_COMPARE_TABLES + 1];
extern const char *const etwCompareSortNames[];
/* count errors self total wait bytes */
extern const char *const etwMeasureNames[ETW_MEASURES + 1];
extern const char *const etwConfidenceNames[];
/*
 * The calls of a row of paths, files or hosts, outermost first and separated by " > ". Of more than 40 levels, those in the
 * middle are left out.
 */
void EtwComparePath(const EtwCompareRow *row, EtwText *out);

void EtwCompareText(EtwCompare *compare, const EtwCompareView *view, EtwText *out);
void EtwCompareCsv(EtwCompare *compare, const EtwCompareView *view, EtwText *out);
void EtwCompareJson(EtwCompare *compare, const EtwCompareView *view, EtwText *out);

/*
 * The paths as a differential flame graph (an svg file): the widths are B's times, the colours the change of each frame itself since A.
 * As folded stacks with the self times of A and B, the input of flamegraph.pl; ends when *out has more than `most` bytes.
 */
void EtwCompareSvg(const EtwCompare *compare, const char *title, EtwText *out);
void EtwCompareFolded(const EtwCompare *compare, size_t most, EtwText *out);

/* ---- Names and figures ------------------------------------------------------------------------ */

/*
 * Appends the name with the parts replaced that differ from run to run: numbers of channels, objects and HTTP tokens, process
 * ids, addresses, temporary names. Passwords become ***. compare_names.c has the table.
 */
void EtwCompareNormalize(EtwText *out, const char *name, size_t size);
/*
 * Two-sided p of the Mann-Whitney rank test: the probability of ranks that differ so much, if both samples are of the same
 * distribution. Exact (with ties) for up to 16 values, else by the normal approximation. -1: a sample is empty.
 */
double EtwRankTest(const double *a, int aCount, const double *b, int bCount);

#endif
