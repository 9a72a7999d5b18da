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
#include "flow/source/source.h"
#include "schema/model/schema.h"
#include "base/hash_table.h"

enum {
    ETW_SUMMARY_FIELDS = 8, /* maximum of each kind */
    ETW_SUMMARY_CELL = 200, /* significant bytes of a group's value */
    ETW_SUMMARY_OPEN_MAX =
            1 << 16 /* begin events without an end; beyond this the older half is dropped */
};

typedef struct EtwSummaryConfig {
    const char *const *by; /* names of columns (sink_table.c) */
    int byCount;
    const char *const *distinct;
    int distinctCount;
    const char *value; /* a payload field or column with numbers; NULL: none */
    /*
     * Names of the events that begin and end a pair; NULL: no pairs. Then only ends are counted,
     * grouped by their own fields, or by those of the begin if they have none.
     */
    const char *enter, *leave;
    /*
     * Fields that are equal in both. None: CallId if events have it, otherwise the thread,
     * innermost first.
     */
    const char *const *key;
    int keyCount;
    size_t groupsMax; /* at least 1 */
} EtwSummaryConfig;

typedef struct EtwSummaryGroup {
    EtwTableNode node;
    uint64_t count, bytes;
    int64_t first, last;
    /* Of the value, or of the pair's duration in ns: */
    EtwHistogram values;
    double sum;
    uint64_t min, max;
    EtwDistinct distinct[ETW_SUMMARY_FIELDS];
    double missed; /* upper bound of its weight that is counted in the others */
    size_t keySize;
    char key[]; /* for each field of `by`: a byte with the size, followed by the text */
} EtwSummaryGroup;

typedef struct EtwSummary {
    EtwSummaryConfig config;
    EtwSummaryGroup *total;  /* of all groups */
    EtwSummaryGroup *others; /* of those that are not the heaviest; NULL: all groups were kept */
    double floor;            /* maximum weight of any of these */
    uint64_t header;         /* records of the file itself: not counted */
    uint64_t unpaired;       /* begins without an end, and ends without a begin */
    uint64_t negative;       /* values below 0 (or no numbers): not in percentiles */
} EtwSummary;

/* The store must outlive it; so must the config's texts. */
EtwSummary *EtwSummaryNew(const EtwSummaryConfig *config, EtwSchemaStore *store);
/* Before the first event, optional: where the events come from, which knows the modules of frames. */
void EtwSummarySource(EtwSummary *summary, const EtwSource *source);
void EtwSummaryAdd(EtwSummary *summary, const EtwEvent *event);
/* After the last event: open begin events count as unpaired. */
void EtwSummaryEnd(EtwSummary *summary);
void EtwSummaryFree(EtwSummary *summary);

/* A group's ranking value: number of events, or sum of values or durations. */
double EtwSummaryWeight(const EtwSummary *summary, const EtwSummaryGroup *group);

/* True if groups have percentiles. */
static inline bool EtwSummaryMeasures(const EtwSummary *s)
{
    return s->config.value != NULL || s->config.enter != NULL;
}

/* ---- Results (summary_report.c) ---------------------------------------------------------------- */

/*
 * The groups, most events first (with percentiles the largest sum), others last; *countPtr of them.
 * The caller frees the array (EtwFree).
 */
const EtwSummaryGroup **EtwSummaryGroups(const EtwSummary *summary, size_t *countPtr);
/* Field number `index` of the group's; "(others)" for the group of the lighter ones. */
const char *EtwSummaryCell(
        const EtwSummary *summary, const EtwSummaryGroup *group, int index, size_t *sizePtr);

/* One statistic of a group; its name is the column's. */
typedef struct EtwFigure {
    char name[40];
    bool real; /* true: d, false: u */
    bool none; /* of values, but the group has none */
    uint64_t u;
    double d;
} EtwFigure;
enum { ETW_FIGURES = 17 + ETW_SUMMARY_FIELDS };
int EtwSummaryFigures(
        const EtwSummary *summary, const EtwSummaryGroup *group, EtwFigure figures[ETW_FIGURES]);

/*
 * At most `top` groups (0: all), followed by the number of omitted ones; histogram: one for each
 * group.
 */
void EtwSummaryText(const EtwSummary *summary, size_t top, bool histogram, EtwText *out);
void EtwSummaryCsv(const EtwSummary *summary, size_t top, EtwText *out);
/* An object without its closing brace, so that the caller can add members. */
void EtwSummaryJson(const EtwSummary *summary, size_t top, EtwText *out);

#endif
