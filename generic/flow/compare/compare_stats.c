/*
 * flow/compare/compare_stats.c --
 *
 *	Medians and ranges of the sides, the rank test, and the order of rows: the largest difference first.
 */
#include "flow/compare/compare_int.h"
#include <math.h>
#include <stdlib.h>

const char *const etwCompareSortNames[] = {
        "self", "total", "calls", "wait", "bytes", "errors", "name", NULL};

/* ---- The rank test ---------------------------------------------------------------------------- */

enum { EXACT = 16 /* values; beyond that the normal approximation is good */ };

static int byValue(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Twice the mean rank (from 1) of a value in the sorted array. */
static int doubledRank(const double *sorted, int count, double value)
{
    int below = 0, equal = 0;
    for (int i = 0; i < count; i++) {
        below += sorted[i] < value;
        equal += sorted[i] == value;
    }
    return 2 * below + equal + 1;
}

/*
 * The share of all choices of `take` of the ranks whose sum is at least as far from the mean as `sum`. All are doubled, so that
 * they are integers.
 */
static double exactShare(const int *ranks, int count, int take, int sum)
{
    enum { SUMS = 2 * EXACT * (EXACT + 1) / 2 + 1 };
    static const double none[SUMS];
    double ways[EXACT + 1][SUMS];
    int all = 0;
    for (int k = 0; k <= take; k++) {
        memcpy(ways[k], none, sizeof none);
    }
    ways[0][0] = 1;
    for (int i = 0; i < count; i++) {
        all += ranks[i];
        for (int k = take < i + 1 ? take : i + 1; k > 0; k--) {
            for (int s = SUMS - 1; s >= ranks[i]; s--) {
                ways[k][s] += ways[k - 1][s - ranks[i]];
            }
        }
    }
    double total = 0, far = 0, mean = (double)all * take / count;
    for (int s = 0; s < SUMS; s++) {
        total += ways[take][s];
        far += fabs(s - mean) >= fabs(sum - mean) - 1e-9 ? ways[take][s] : 0;
    }
    return far / total;
}

static double normalShare(const double *sorted, int count, int aCount, double sum)
{
    double n = count, a = aCount, b = n - a, ties = 0;
    for (int i = 0, j; i < count; i = j) {
        for (j = i; j < count && sorted[j] == sorted[i]; j++) {
        }
        double t = j - i;
        ties += t * t * t - t;
    }
    double u = sum / 2 - a * (a + 1) / 2, mean = a * b / 2;
    double variance = a * b / 12 * (n + 1 - ties / (n * (n - 1)));
    double away = fabs(u - mean) - 0.5;
    return variance > 0 && away > 0 ? erfc(away / sqrt(variance) / sqrt(2)) : 1;
}

double EtwRankTest(const double *a, int aCount, const double *b, int bCount)
{
    int count = aCount + bCount, sum = 0, ranks[EXACT];
    if (aCount < 1 || bCount < 1) {
        return -1;
    }
    double *sorted = EtwAlloc((size_t)count * sizeof *sorted);
    memcpy(sorted, a, (size_t)aCount * sizeof *a);
    memcpy(sorted + aCount, b, (size_t)bCount * sizeof *b);
    qsort(sorted, (size_t)count, sizeof *sorted, byValue);
    for (int i = 0; i < aCount; i++) {
        sum += doubledRank(sorted, count, a[i]);
    }
    for (int i = 0; i < count && count <= EXACT; i++) {
        ranks[i] = doubledRank(sorted, count, sorted[i]);
    }
    double p = count <= EXACT ? exactShare(ranks, count, aCount, sum)
                              : normalShare(sorted, count, aCount, sum);
    EtwFree(sorted);
    return p;
}

/* ---- Rows ------------------------------------------------------------------------------------- */

int EtwCompareValues(
        const EtwCompare *c, const EtwCompareRow *row, int side, EtwMeasure measure, double *values)
{
    int count = 0;
    for (int run = 0; run < EtwCompareRunCount(c); run++) {
        if (c->sides.data[run] == side) {
            values[count++] =
                    run < row->runCount ? (double)row->runs[run * ETW_MEASURES + (int)measure] : 0;
        }
    }
    return count;
}

/* Sorts the values. */
static EtwCompareSide sideOf(double *values, int count)
{
    if (count == 0) {
        return (EtwCompareSide){0};
    }
    qsort(values, (size_t)count, sizeof *values, byValue);
    return (EtwCompareSide){
            (values[(count - 1) / 2] + values[count / 2]) / 2, values[0], values[count - 1]};
}

static bool overlaps(const EtwCompareSide *a, const EtwCompareSide *b)
{
    return a->max >= b->min && b->max >= a->min;
}

/* Of times. *pPtr: of the rank test. */
static EtwConfidence confidenceOf(const EtwCompare *c, const EtwCompareRow *row, double *pPtr,
        double *const values[ETW_SIDES])
{
    const EtwCompareSide *a = &row->sides[ETW_SIDE_A][ETW_MEASURE_SELF],
                         *b = &row->sides[ETW_SIDE_B][ETW_MEASURE_SELF];
    int counts[ETW_SIDES];
    for (int side = 0; side < ETW_SIDES; side++) {
        counts[side] = EtwCompareValues(c, row, side, ETW_MEASURE_SELF, values[side]);
    }
    if (counts[ETW_SIDE_A] < 2 || counts[ETW_SIDE_B] < 2) {
        return ETW_CONFIDENCE_NONE;
    }
    double p = EtwRankTest(
            values[ETW_SIDE_A], counts[ETW_SIDE_A], values[ETW_SIDE_B], counts[ETW_SIDE_B]);
    *pPtr = p;
    return p <= 0.05        ? ETW_CONFIDENCE_CLEAR
           : overlaps(a, b) ? ETW_CONFIDENCE_NOISE
           : p <= 0.2       ? ETW_CONFIDENCE_LIKELY
                            : ETW_CONFIDENCE_NONE;
}

/* Of counts, errors and bytes: the least sure of those that differ. */
static EtwConfidence countsConfidence(const EtwCompare *c, const EtwCompareRow *row)
{
    static const EtwMeasure counted[] = {ETW_MEASURE_COUNT, ETW_MEASURE_ERRORS, ETW_MEASURE_BYTES};
    EtwConfidence most = ETW_CONFIDENCE_NOISE;
    if (c->facts[ETW_SIDE_A].runs < 2 || c->facts[ETW_SIDE_B].runs < 2) {
        return ETW_CONFIDENCE_NONE;
    }
    for (int i = 0; i < 3; i++) {
        const EtwCompareSide *a = &row->sides[ETW_SIDE_A][counted[i]],
                             *b = &row->sides[ETW_SIDE_B][counted[i]];
        bool constant = a->min == a->max && b->min == b->max;
        if (!overlaps(a, b)) {
            EtwConfidence is = constant ? ETW_CONFIDENCE_CLEAR : ETW_CONFIDENCE_LIKELY;
            most = is > most ? is : most;
        }
    }
    return most;
}

static void finishRow(EtwCompare *c, EtwCompareRow *row, double *const values[ETW_SIDES])
{
    for (int side = 0; side < ETW_SIDES; side++) {
        for (int m = 0; m < ETW_MEASURES; m++) {
            int count = EtwCompareValues(c, row, side, (EtwMeasure)m, values[side]);
            row->sides[side][m] = sideOf(values[side], count);
        }
        row->in[side] = row->sides[side][ETW_MEASURE_COUNT].max > 0;
    }
    row->p = -1;
    row->times = confidenceOf(c, row, &row->p, values);
    row->counts = countsConfidence(c, row);
}

/* The median over the runs of a side of the self time of all procs. */
static double workOf(const EtwCompare *c, int side, double *values)
{
    int runs = EtwCompareRunCount(c), count = 0;
    for (int run = 0; run < runs; run++) {
        if (c->sides.data[run] != side) {
            continue;
        }
        values[count] = 0;
        for (const EtwCompareRow *row = c->first; row != NULL; row = row->next) {
            if (row->table == ETW_COMPARE_PROCS && run < row->runCount) {
                values[count] += (double)row->runs[run * ETW_MEASURES + ETW_MEASURE_SELF];
            }
        }
        count++;
    }
    return sideOf(values, count).median;
}

void EtwCompareFinish(EtwCompare *c)
{
    size_t size = ((size_t)EtwCompareRunCount(c) + 1) * sizeof(double);
    double *values[ETW_SIDES] = {EtwAlloc(size), EtwAlloc(size)};
    const double *spans = (const double *)(void *)c->spans.data;
    for (EtwCompareRow *row = c->first; row != NULL; row = row->next) {
        finishRow(c, row, values);
    }
    for (int side = 0; side < ETW_SIDES; side++) {
        int count = 0;
        for (int run = 0; run < EtwCompareRunCount(c); run++) {
            if (c->sides.data[run] == side) {
                values[side][count++] = spans[run];
            }
        }
        c->facts[side].ns = sideOf(values[side], count).median;
        c->work[side] = workOf(c, side, values[side]);
    }
    EtwFree(values[ETW_SIDE_A]);
    EtwFree(values[ETW_SIDE_B]);
}

/* ---- Order ------------------------------------------------------------------------------------ */

static double change(const EtwCompareRow *row, EtwMeasure measure)
{
    return fabs(row->sides[ETW_SIDE_B][measure].median - row->sides[ETW_SIDE_A][measure].median);
}

static bool countsDiffer(const EtwCompareRow *row)
{
    return row->counts != ETW_CONFIDENCE_NOISE &&
           (row->in[ETW_SIDE_A] != row->in[ETW_SIDE_B] || change(row, ETW_MEASURE_COUNT) > 0 ||
                   change(row, ETW_MEASURE_ERRORS) > 0 || change(row, ETW_MEASURE_BYTES) > 0);
}

/* The time that a difference must have to be shown. */
static double leastTime(const EtwCompare *c, const EtwCompareView *view)
{
    double work = fmax(c->work[ETW_SIDE_A], c->work[ETW_SIDE_B]);
    work = work > 0 ? work : fmax(c->facts[ETW_SIDE_A].ns, c->facts[ETW_SIDE_B].ns);
    return work * view->min / 100;
}

static bool timesDiffer(const EtwCompareRow *row)
{
    return row->times != ETW_CONFIDENCE_NOISE &&
           (change(row, ETW_MEASURE_SELF) > 0 || change(row, ETW_MEASURE_TOTAL) > 0);
}

static double rankOf(const EtwCompareRow *row, EtwCompareSort sort)
{
    static const EtwMeasure measures[] = {
            [ETW_COMPARE_BY_SELF] = ETW_MEASURE_SELF,
            [ETW_COMPARE_BY_TOTAL] = ETW_MEASURE_TOTAL,
            [ETW_COMPARE_BY_CALLS] = ETW_MEASURE_COUNT,
            [ETW_COMPARE_BY_WAIT] = ETW_MEASURE_WAIT,
            [ETW_COMPARE_BY_BYTES] = ETW_MEASURE_BYTES,
            [ETW_COMPARE_BY_ERRORS] = ETW_MEASURE_ERRORS,
            [ETW_COMPARE_BY_NAME] = ETW_MEASURES,
    };
    EtwMeasure measure = measures[sort];
    bool time = measure == ETW_MEASURE_SELF || measure == ETW_MEASURE_TOTAL ||
                measure == ETW_MEASURE_WAIT;
    if (measure == ETW_MEASURES || (time && row->times == ETW_CONFIDENCE_NOISE)) {
        return 0;
    }
    return change(row, measure);
}

static int byName(const EtwCompareRow *x, const EtwCompareRow *y)
{
    int order = strcmp(x->who, y->who);
    order = order != 0 ? order : strcmp(x->what, y->what);
    return order != 0 ? order : strcmp(x->kind, y->kind);
}

static int byRank(const void *a, const void *b)
{
    const EtwCompareRow *x = *(EtwCompareRow *const *)a, *y = *(EtwCompareRow *const *)b;
    if (x->rank != y->rank) {
        return x->rank > y->rank ? -1 : 1;
    }
    static const EtwMeasure then[] = {ETW_MEASURE_COUNT, ETW_MEASURE_BYTES, ETW_MEASURE_TOTAL};
    for (int i = 0; i < 3 && x->rank > 0; i++) {
        double dx = change(x, then[i]), dy = change(y, then[i]);
        if (dx != dy) {
            return dx > dy ? -1 : 1;
        }
    }
    return byName(x, y);
}

/* Rows without a time are ordered by their numbers. */
static int byCounts(const void *a, const void *b)
{
    const EtwCompareRow *x = *(EtwCompareRow *const *)a, *y = *(EtwCompareRow *const *)b;
    static const EtwMeasure order[] = {ETW_MEASURE_COUNT, ETW_MEASURE_BYTES, ETW_MEASURE_ERRORS};
    for (int i = 0; i < 3; i++) {
        double dx = change(x, order[i]), dy = change(y, order[i]);
        if (dx != dy) {
            return dx > dy ? -1 : 1;
        }
    }
    return byName(x, y);
}

EtwCompareRow **EtwCompareRows(EtwCompare *c, EtwCompareTable table, const EtwCompareView *view,
        size_t *countPtr, size_t *hiddenPtr, size_t *samePtr)
{
    double least = leastTime(c, view);
    EtwText list = {0};
    size_t ranked = 0;
    *hiddenPtr = *samePtr = 0;
    for (EtwCompareRow *row = c->first; row != NULL; row = row->next) {
        if (row->table != table) {
            continue;
        }
        bool counts = countsDiffer(row), times = timesDiffer(row);
        if (!counts && !times && !view->same) {
            ++*samePtr;
            continue;
        }
        if (!counts && change(row, ETW_MEASURE_SELF) < least && !view->same) {
            ++*hiddenPtr;
            continue;
        }
        row->rank = rankOf(row, view->sort);
        EtwTextAdd(&list, &row, sizeof row);
        ranked += row->rank > 0;
    }
    size_t count = list.size / sizeof(EtwCompareRow *);
    EtwCompareRow **rows = EtwAlloc((count + 1) * sizeof(EtwCompareRow *));
    if (count > 0) {
        memcpy(rows, list.data, list.size);
        qsort(rows, count, sizeof(EtwCompareRow *), byRank);
        if (view->sort != ETW_COMPARE_BY_NAME) {
            qsort(rows + ranked, count - ranked, sizeof(EtwCompareRow *), byCounts);
        }
    }
    EtwTextFree(&list);
    size_t shown = view->top > 0 && view->top < count ? view->top : count;
    *hiddenPtr += count - shown;
    *countPtr = shown;
    return rows;
}
