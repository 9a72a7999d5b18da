/*
 * flow/summary/summary.h --
 *
 *	Statistics of a trace: events in groups by header or payload fields, with counts, sizes and rates,
 *	numbers of distinct values, and percentiles of a number in the payload or of the time between paired
 *	events. One pass. Memory is bounded by the number of groups and open pairs, independent of the length
 *	of the trace: beyond a limit the smaller groups are combined, and begin events count as unpaired.
 */
#ifndef ETW_SUMMARY_H
#define ETW_SUMMARY_H

#include "flow/summary/distinct.h"
#include "flow/calls/histogram.h"
#include "schema/model/schema.h"
#include "base/hash_table.h"

enum {
    ETW_SUMMARY_FIELDS = 8, /* of one kind, at most */
    ETW_SUMMARY_CELL = 200, /* bytes of a group's value that are told apart */
    ETW_SUMMARY_OPEN_MAX =
            1 << 16 /* events that wait for their partner; then the older half gives way */
};

typedef struct EtwSummaryConfig {
    const char *const *by; /* names as columns have them (sink_table.c) */
    int byCount;
    const char *const *distinct;
    int distinctCount;
    const char *value; /* a payload field with numbers; NULL: none */
    /* Names of the events that begin and end a pair; NULL: no pairs. Only ends are counted then,
     * grouped by their own fields, or the begin's where they have none. */
    const char *enter, *leave;
    /* Fields equal in both. None: CallId where events have it, else the thread, innermost first. */
    const char *const *key;
    int keyCount;
    size_t groupsMax; /* at least 1 */
} EtwSummaryConfig;

typedef struct EtwSummaryGroup {
    EtwTableNode node;
    uint64_t count, bytes;
    int64_t first, last;
    /* Of the value, or the pair's ns: */
    EtwHistogram values;
    double sum;
    uint64_t min, max;
    EtwDistinct distinct[ETW_SUMMARY_FIELDS];
    double missed; /* weight that it may have, at most, among the others */
    size_t keySize;
    char key[]; /* a byte for the size, then so many of text, for each field of `by` */
} EtwSummaryGroup;

typedef struct EtwSummary {
    EtwSummaryConfig config;
    EtwSummaryGroup *total;  /* of all groups */
    EtwSummaryGroup *others; /* of those that are not the heaviest; NULL: there was room for all */
    double floor;            /* none of these weighs more */
    uint64_t header;         /* records of the file itself: not counted */
    uint64_t unpaired;       /* begins without an end, and ends without a begin */
    uint64_t negative;       /* values below 0 (or no numbers): in no percentile */
} EtwSummary;

/* The store must outlive it; so must the config's texts. */
EtwSummary *EtwSummaryNew(const EtwSummaryConfig *config, EtwSchemaStore *store);
void EtwSummaryAdd(EtwSummary *summary, const EtwEvent *event);
/* No more events: what is open is unpaired. */
void EtwSummaryEnd(EtwSummary *summary);
void EtwSummaryFree(EtwSummary *summary);

/* What a group has of what is ranked: events, or the sum of its values or times. */
double EtwSummaryWeight(const EtwSummary *summary, const EtwSummaryGroup *group);

/* Whether groups have percentiles. */
static inline bool EtwSummaryMeasures(const EtwSummary *s)
{
    return s->config.value != NULL || s->config.enter != NULL;
}

/* ---- Results (summary_report.c) ---------------------------------------------------------------- */

/* The groups, most events first (with percentiles the largest sum), others last; *countPtr of them,
 * EtwFree. */
const EtwSummaryGroup **EtwSummaryGroups(const EtwSummary *summary, size_t *countPtr);
/* Field number `index` of the group's; "(others)" for the group of the lighter ones. */
const char *EtwSummaryCell(
        const EtwSummary *summary, const EtwSummaryGroup *group, int index, size_t *sizePtr);

/* One figure of a group; its name is that of a column. */
typedef struct EtwFigure {
    char name[40];
    bool real; /* d, else u */
    uint64_t u;
    double d;
} EtwFigure;
enum { ETW_FIGURES = 17 + ETW_SUMMARY_FIELDS };
int EtwSummaryFigures(
        const EtwSummary *summary, const EtwSummaryGroup *group, EtwFigure figures[ETW_FIGURES]);

/* At most `top` groups (0: all), what follows them is told; histogram: also one of each. */
void EtwSummaryText(const EtwSummary *summary, size_t top, bool histogram, EtwText *out);
void EtwSummaryCsv(const EtwSummary *summary, size_t top, EtwText *out);
/* An object without its closing brace: the caller adds what it knows. */
void EtwSummaryJson(const EtwSummary *summary, size_t top, EtwText *out);

#endif
