/*
 * flow/compare/compare_int.h --
 *
 *	Shared by the files of the comparison.
 */
#ifndef ETW_COMPARE_INT_H
#define ETW_COMPARE_INT_H

#include "flow/compare/compare.h"
#include "flow/calls/call_tree.h"

/* A normalized name, stored once. */
typedef struct CompareName {
    EtwTableNode node;
    size_t size;
    char text[];
} CompareName;

/* What a run of events has touched, until its end: a file or host in a call. */
typedef struct CompareTouch {
    EtwTableNode node;
    struct CompareTouch *next;
    EtwCallNode *call;
    EtwCompareTable table;
    const char *kind; /* a literal, or of the schema */
    uint64_t count, errors, bytes;
    size_t size;
    char what[];
} CompareTouch;

/* A normalized name of a channel that is a socket. */
typedef struct CompareSocket {
    EtwTableNode node;
    const char *name;
} CompareSocket;

struct EtwCompare {
    EtwCompareConfig config;
    EtwTable names, rows;
    EtwCompareRow *first, **end;
    EtwText sides;    /* of a byte for each run: its side */
    EtwText warnings; /* each ends with NUL */
    EtwText spans;    /* of a double for each run: its ns */
    EtwCompareFacts facts[ETW_SIDES];
    double work[ETW_SIDES]; /* median self time of all procs */
};

struct EtwCompareRun {
    EtwCompare *compare;
    EtwSchemaStore *store;
    EtwCalls *calls;
    EtwTable touches;
    CompareTouch *firstTouch, **touchEnd;
    EtwTable renamed; /* names of the run, normalized */
    EtwTable sockets; /* of CompareSocket */
    int64_t firstTime, lastTime;
    bool timed;
};

static inline int EtwCompareRunCount(const EtwCompare *compare)
{
    return (int)compare->sides.size;
}

static inline bool EtwIsSeparator(char c)
{
    return c == '/' || c == '\\';
}

/* compare_own.c: whether the name is that of a file which etw keeps of running sessions. */
bool EtwCompareIsOwnFile(const EtwCompare *c, const char *name, size_t size);

/* ---- compare_stats.c ---------------------------------------------------------------------------- */

/* The values of a measure in the runs of a side, in the caller's array. Returns their number. */
int EtwCompareValues(const EtwCompare *c, const EtwCompareRow *row, int side, EtwMeasure measure,
        double *values);

#endif
