/*
 * flow/summary/summary_report.c --
 *
 *	Results of a summary: sorting, and output as a readable table, csv and json.
 */
#include "flow/summary/summary_int.h"
#include "base/unicode.h"
#include "flow/render/columns.h"
#include "flow/render/escape.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- Sorting --------------------------------------------------------------------------------- */

static int compareGroups(const void *left, const void *right)
{
    const EtwSummaryGroup *a = *(const EtwSummaryGroup *const *)left;
    const EtwSummaryGroup *b = *(const EtwSummaryGroup *const *)right;
    if (a->sum > b->sum || a->sum < b->sum) {
        return a->sum > b->sum ? -1 : 1;
    }
    if (a->count != b->count) {
        return a->count > b->count ? -1 : 1;
    }
    size_t size = a->keySize < b->keySize ? a->keySize : b->keySize;
    int order = memcmp(a->key, b->key, size);
    return order != 0 ? order : (a->keySize > b->keySize) - (a->keySize < b->keySize);
}

typedef struct Gathered {
    const EtwSummaryGroup **list;
    size_t count;
} Gathered;

static void gather(void *ctx, EtwTableNode *node)
{
    Gathered *g = ctx;
    g->list[g->count++] = (const EtwSummaryGroup *)node;
}

const EtwSummaryGroup **EtwSummaryGroups(const EtwSummary *summary, size_t *countPtr)
{
    const Summary *s = (const Summary *)summary;
    Gathered g = {.count = 0};
    g.list = (const EtwSummaryGroup **)EtwAlloc(sizeof *g.list * (s->groups.count + 1));
    EtwTableVisit(&s->groups, gather, &g);
    qsort((void *)g.list, g.count, sizeof *g.list, compareGroups);
    if (summary->others != NULL) {
        g.list[g.count++] = summary->others;
    }
    *countPtr = g.count;
    return g.list;
}

const char *EtwSummaryCell(
        const EtwSummary *summary, const EtwSummaryGroup *group, int index, size_t *sizePtr)
{
    static const char others[] = "(others)";
    const char *at = group->key;
    if (group == summary->others) {
        *sizePtr = index == 0 ? sizeof others - 1 : 0;
        return others;
    }
    for (; index > 0; index--) {
        at += 1 + (uint8_t)*at;
    }
    *sizePtr = (uint8_t)*at;
    return at + 1;
}

/* ---- Statistics ------------------------------------------------------------------------------ */

static void addWhole(EtwFigure **at, const char *name, uint64_t value)
{
    snprintf((*at)->name, sizeof(*at)->name, "%s", name);
    (*at)->real = (*at)->none = false;
    (*at)++->u = value;
}

static void addReal(EtwFigure **at, const char *name, double value)
{
    snprintf((*at)->name, sizeof(*at)->name, "%s", name);
    (*at)->real = true;
    (*at)->none = false;
    (*at)++->d = value;
}

static double secondsOf(const EtwSummaryGroup *g)
{
    return g->count > 0 ? (double)((uint64_t)g->last - (uint64_t)g->first) / 1e9 : 0;
}

/* The middle of a bucket may be outside of the range of the values. */
static uint64_t percentile(const EtwSummaryGroup *g, double share)
{
    uint64_t v = EtwHistogramAt(&g->values, share);
    v = v > g->max ? g->max : v;
    return g->values.count > 0 && v < g->min ? g->min : v;
}

/* In the unit of the ranking value. */
static void addWeight(EtwFigure **at, const EtwSummary *s, const char *name, double weight)
{
    if (EtwSummaryMeasures(s)) {
        addReal(at, name, weight);
    } else {
        addWhole(at, name, (uint64_t)weight);
    }
}

int EtwSummaryFigures(const EtwSummary *s, const EtwSummaryGroup *g, EtwFigure figures[ETW_FIGURES])
{
    EtwFigure *at = figures;
    double seconds = secondsOf(s->total);
    addWhole(&at, "count", g->count);
    addReal(&at, "percent",
            s->total->count ? 100.0 * (double)g->count / (double)s->total->count : 0);
    addReal(&at, "rate", seconds > 0 ? (double)g->count / seconds : 0);
    addWhole(&at, "bytes", g->bytes);
    for (int i = 0; i < s->config.distinctCount; i++) {
        char name[40];
        snprintf(name, sizeof name, "distinct(%.28s)", s->config.distinct[i]);
        addWhole(&at, name, EtwDistinctCount(&g->distinct[i]));
    }
    if (EtwSummaryMeasures(s)) {
        uint64_t n = g->values.count;
        EtwFigure *first = at;
        addReal(&at, "sum", g->sum);
        addWhole(&at, "min", n > 0 ? g->min : 0);
        addReal(&at, "mean", n > 0 ? g->sum / (double)n : 0);
        addWhole(&at, "p50", percentile(g, 0.5));
        addWhole(&at, "p90", percentile(g, 0.9));
        addWhole(&at, "p99", percentile(g, 0.99));
        addWhole(&at, "max", g->max);
        for (; first < at; first++) {
            first->none = n == 0;
        }
    }
    if (s->others != NULL) {
        addWeight(&at, s, "missed", g->missed);
    }
    return (int)(at - figures);
}

/* For programs: integers have no exponent. */
static void addNumber(EtwText *out, const EtwFigure *f)
{
    if (!f->real) {
        EtwTextDecimal(out, f->u);
    } else if (f->d < 1e15 && f->d == (double)(uint64_t)f->d) {
        EtwTextDecimal(out, (uint64_t)f->d);
    } else {
        EtwTextPrintf(out, f->d < 1e15 ? "%.3f" : "%.17g", f->d);
    }
}

static size_t shown(size_t count, size_t top)
{
    return top != 0 && top < count ? top : count;
}

/* ---- Readable table -------------------------------------------------------------------------- */

/* Durations of pairs have a unit; other numbers are plain. */
static void addFigure(const EtwSummary *s, const EtwFigure *f, EtwText *out)
{
    static const char *const times[] = {"sum", "min", "mean", "p50", "p90", "p99", "max", "missed"};
    bool time = false;
    double v = f->real ? f->d : (double)f->u;
    for (size_t i = 0; s->config.enter != NULL && i < sizeof times / sizeof *times; i++) {
        time = time || strcmp(times[i], f->name) == 0;
    }
    if (f->none) {
        EtwTextChar(out, '-');
    } else if (time) {
        EtwAddTime(out, v, 3, "us");
    } else if (strcmp(f->name, "percent") == 0) {
        EtwTextPrintf(out, "%.1f %%", v);
    } else if (strcmp(f->name, "rate") == 0) {
        EtwTextPrintf(out, "%.*f/s", v < 100 ? 1 : 0, v);
    } else if (f->real) {
        EtwTextPrintf(out, "%.*f", v < 1000 ? 2 : 0, v);
    } else {
        EtwTextDecimal(out, f->u);
    }
}

typedef struct Widths {
    size_t cell[ETW_SUMMARY_FIELDS], figure[ETW_FIGURES];
} Widths;

/* Widen a column to the text's width, and clear the text. */
static void widen(size_t *width, EtwText *text)
{
    size_t columns = EtwUtf8Width(text->data, text->size);
    *width = columns > *width ? columns : *width;
    text->size = 0;
}

static void measure(const EtwSummary *s, const EtwSummaryGroup *g, Widths *w)
{
    EtwFigure figures[ETW_FIGURES];
    EtwText text = {0};
    size_t size;
    int count = EtwSummaryFigures(s, g, figures);
    for (int i = 0; i < s->config.byCount; i++) {
        if (g != s->total) {
            const char *cell = EtwSummaryCell(s, g, i, &size);
            EtwAddSafe(&text, cell, size);
            widen(&w->cell[i], &text);
        }
        EtwAddSafeStr(&text, s->config.by[i]);
        widen(&w->cell[i], &text);
    }
    for (int i = 0; i < count; i++) {
        addFigure(s, &figures[i], &text);
        widen(&w->figure[i], &text);
        EtwAddSafeStr(&text, figures[i].name);
        widen(&w->figure[i], &text);
    }
    EtwTextFree(&text);
}

/* group NULL: the header row. */
static void addRow(const EtwSummary *s, const EtwSummaryGroup *group, const Widths *w, EtwText *out)
{
    EtwFigure figures[ETW_FIGURES];
    int count = EtwSummaryFigures(s, group ? group : s->total, figures);
    for (int i = 0; i < s->config.byCount; i++) {
        size_t size = strlen(s->config.by[i]);
        const char *text = s->config.by[i];
        if (group == s->total) {
            text = i == 0 ? "(all)" : "";
            size = strlen(text);
        } else if (group != NULL) {
            text = EtwSummaryCell(s, group, i, &size);
        }
        size_t from = out->size;
        EtwAddSafe(out, text, size);
        EtwColumnLeft(out, from, w->cell[i] + 2);
    }
    for (int i = 0; i < count; i++) {
        EtwTextStr(out, i > 0 ? "  " : "");
        size_t from = out->size;
        if (group != NULL) {
            addFigure(s, &figures[i], out);
        } else {
            EtwAddSafeStr(out, figures[i].name);
        }
        EtwColumnRight(out, from, w->figure[i]);
    }
    EtwTextChar(out, '\n');
}

static void addHistogram(const EtwSummary *s, const EtwSummaryGroup *g, EtwText *out)
{
    enum { BAR = 40 };
    uint64_t most = 1, low;
    int first = ETW_OCTAVES, last = -1;
    for (int i = 0; i < ETW_OCTAVES; i++) {
        uint64_t count = EtwHistogramOctave(&g->values, i, &low);
        most = count > most ? count : most;
        first = count > 0 && first == ETW_OCTAVES ? i : first;
        last = count > 0 ? i : last;
    }
    for (int i = first; i <= last; i++) {
        uint64_t count = EtwHistogramOctave(&g->values, i, &low);
        EtwFigure from = {.name = "min", .u = low};
        EtwTextStr(out, "    from ");
        size_t column = out->size;
        addFigure(s, &from, out);
        EtwColumnRight(out, column, 12);
        EtwTextPrintf(out, " %10llu ", (unsigned long long)count);
        for (uint64_t k = 0; k < (count * BAR + most - 1) / most; k++) {
            EtwTextChar(out, '#');
        }
        EtwTextChar(out, '\n');
    }
}

/* Explains the uncertainty of groups that were not kept. */
static void addFloor(const EtwSummary *s, EtwText *out)
{
    EtwFigure floor, *at = &floor;
    if (s->others != NULL) {
        addWeight(&at, s, "missed", s->floor);
        EtwTextStr(out, "-- groups in (others) have at most ");
        addFigure(s, &floor, out);
        EtwTextStr(out, " each; \"missed\": what a group shown may have there, at most\n");
    }
}

void EtwSummaryText(const EtwSummary *s, size_t top, bool histogram, EtwText *out)
{
    size_t count;
    const EtwSummaryGroup **groups = EtwSummaryGroups(s, &count);
    size_t show = shown(count, top);
    Widths widths = {{0}, {0}};
    widths.cell[0] = s->config.byCount > 0 ? 5 : 0; /* width of "(all)" */
    measure(s, s->total, &widths);
    for (size_t i = 0; i < show; i++) {
        measure(s, groups[i], &widths);
    }
    addRow(s, NULL, &widths, out);
    for (size_t i = 0; i < show; i++) {
        addRow(s, groups[i], &widths, out);
        if (histogram && EtwSummaryMeasures(s)) {
            addHistogram(s, groups[i], out);
        }
    }
    addRow(s, s->total, &widths, out);
    if (show < count) {
        EtwTextPrintf(out, "-- %zu groups more\n", count - show);
    }
    addFloor(s, out);
    EtwFree((void *)groups);
}

/* ---- csv ------------------------------------------------------------------------------------- */

/* A text that a spreadsheet would interpret as a formula gets an apostrophe in front. */
static void addCsvCell(EtwText *out, const char *text, size_t size)
{
    bool formula = size > 0 && memchr("=+-@\t\r", *text, 6) != NULL &&
                   !(*text == '-' && size > 1 && text[1] >= '0' && text[1] <= '9');
    EtwAddCsvQuoted(out, formula ? "'" : "", text, size);
}

void EtwSummaryCsv(const EtwSummary *s, size_t top, EtwText *out)
{
    EtwFigure figures[ETW_FIGURES];
    size_t count, size;
    const EtwSummaryGroup **groups = EtwSummaryGroups(s, &count);
    int figureCount = EtwSummaryFigures(s, s->total, figures);
    for (int i = 0; i < s->config.byCount; i++) {
        addCsvCell(out, s->config.by[i], strlen(s->config.by[i]));
        EtwTextChar(out, ',');
    }
    for (int i = 0; i < figureCount; i++) {
        EtwTextPrintf(out, "%s%s", i > 0 ? "," : "", figures[i].name);
    }
    EtwTextChar(out, '\n');
    for (size_t i = 0; i < shown(count, top); i++) {
        EtwSummaryFigures(s, groups[i], figures);
        for (int k = 0; k < s->config.byCount; k++) {
            const char *text = EtwSummaryCell(s, groups[i], k, &size);
            addCsvCell(out, text, size);
            EtwTextChar(out, ',');
        }
        for (int k = 0; k < figureCount; k++) {
            EtwTextStr(out, k > 0 ? "," : "");
            addNumber(out, &figures[k]);
        }
        EtwTextChar(out, '\n');
    }
    EtwFree((void *)groups);
}

/* ---- json ------------------------------------------------------------------------------------ */

static void addJsonFigures(const EtwSummary *s, const EtwSummaryGroup *g, EtwText *out)
{
    EtwFigure figures[ETW_FIGURES];
    int count = EtwSummaryFigures(s, g, figures);
    for (int i = 0; i < count; i++) {
        EtwTextStr(out, i > 0 ? "," : "");
        EtwAddJsonStr(out, figures[i].name);
        EtwTextChar(out, ':');
        addNumber(out, &figures[i]);
    }
    EtwTextPrintf(out, ",\"first\":%lld,\"last\":%lld", (long long)(g->count > 0 ? g->first : 0),
            (long long)(g->count > 0 ? g->last : 0));
}

void EtwSummaryJson(const EtwSummary *s, size_t top, EtwText *out)
{
    EtwFigure floor, *at = &floor;
    size_t count, size;
    const EtwSummaryGroup **groups = EtwSummaryGroups(s, &count);
    addWeight(&at, s, "floor", s->floor);
    EtwTextStr(out, "{\"total\":{");
    addJsonFigures(s, s->total, out);
    EtwTextStr(out, "},\"groups\":[");
    for (size_t i = 0; i < shown(count, top); i++) {
        EtwTextStr(out, i > 0 ? ",\n{\"by\":[" : "\n{\"by\":[");
        for (int k = 0; k < s->config.byCount; k++) {
            const char *text = EtwSummaryCell(s, groups[i], k, &size);
            EtwTextStr(out, k > 0 ? "," : "");
            EtwAddJson(out, text, size);
        }
        EtwTextStr(out, "],");
        addJsonFigures(s, groups[i], out);
        EtwTextChar(out, '}');
    }
    EtwTextPrintf(out,
            "],\"others\":%llu,\"floor\":", (unsigned long long)(s->others ? s->others->count : 0));
    addNumber(out, &floor);
    EtwFree((void *)groups);
}
