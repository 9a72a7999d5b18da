/*
 * flow/compare/compare_output.c --
 *
 *	The differences as text, csv and json.
 */
#include "flow/compare/compare_int.h"
#include "flow/render/columns.h"
#include "flow/render/escape.h"
#include <math.h>

/* ---- Pieces ----------------------------------------------------------------------------------- */

void EtwComparePath(const EtwCompareRow *row, EtwText *out)
{
    enum { LEVELS = 40, OUTER = 10 };
    const EtwCompareRow *levels[LEVELS];
    const EtwCompareRow *at = row->table == ETW_COMPARE_PATHS ? row : row->parent;
    if (at == NULL) {
        EtwTextStr(out, row->who);
        return;
    }
    int all = at->level, skipped = all > LEVELS ? all - LEVELS : 0;
    for (; at != NULL; at = at->parent) {
        int i = at->level <= OUTER || skipped == 0 ? at->level - 1
                : at->level > OUTER + skipped      ? at->level - 1 - skipped
                                                   : -1;
        if (i >= 0) {
            levels[i] = at;
        }
    }
    for (int i = 0; i < all - skipped; i++) {
        EtwTextStr(out, i > 0 ? " > " : "");
        if (skipped > 0 && i == OUTER) {
            EtwTextPrintf(out, "(%d calls) > ", skipped);
        }
        EtwTextStr(out, levels[i]->who);
    }
}

/* "syscall read" */
static void addWhat(const EtwCompareRow *row, EtwText *out)
{
    EtwTextStr(out, row->kind);
    EtwTextStr(out, *row->kind && *row->what ? " " : "");
    EtwTextStr(out, row->what);
}

static double median(const EtwCompareRow *row, int side, EtwMeasure measure)
{
    return row->sides[side][measure].median;
}

static bool hasErrors(const EtwCompareRow *row)
{
    return median(row, ETW_SIDE_A, ETW_MEASURE_ERRORS) > 0 ||
           median(row, ETW_SIDE_B, ETW_MEASURE_ERRORS) > 0;
}

/* ---- Text ------------------------------------------------------------------------------------- */

static void addNumber(EtwText *out, double value)
{
    if (value == floor(value)) {
        EtwTextPrintf(out, "%.0f", value);
    } else {
        EtwTextPrintf(out, "%.1f", value);
    }
}

static void addCount(EtwText *out, const EtwCompareRow *row, int side)
{
    size_t from = out->size;
    if (row->in[side]) {
        addNumber(out, median(row, side, ETW_MEASURE_COUNT));
    } else {
        EtwTextChar(out, '-');
    }
    EtwColumnRight(out, from, 10);
}

static void addTime(EtwText *out, double ns)
{
    size_t from = out->size;
    if (ns > 0) {
        EtwAddTime(out, ns, 3, "us");
    } else {
        EtwTextChar(out, '-');
    }
    EtwColumnRight(out, from, 11);
}

static void addChange(EtwText *out, double a, double b)
{
    size_t from = out->size;
    double by = b - a;
    if (by != 0) {
        EtwTextChar(out, by > 0 ? '+' : '-');
        EtwAddTime(out, fabs(by), 3, "us");
    } else {
        EtwTextChar(out, '=');
    }
    EtwColumnRight(out, from, 12);
    from = out->size;
    if (a > 0 && by != 0) {
        double percent = 100 * by / a;
        EtwTextPrintf(out, fabs(percent) < 1000 ? "%+.1f%%" : "%+.0f%%", percent);
    }
    EtwColumnRight(out, from, 9);
}

static void addBytes(EtwText *out, double bytes)
{
    size_t from = out->size;
    if (bytes > 0) {
        EtwAddVolume(out, EtwCompareWhole(bytes));
    } else {
        EtwTextChar(out, '-');
    }
    EtwColumnRight(out, from, 12);
}

/* What is known about the difference: p of the rank test; "one sample" is said once, at the top. */
static void addSure(EtwText *out, const EtwCompare *c, const EtwCompareRow *row)
{
    size_t from = out->size;
    if (c->facts[ETW_SIDE_A].runs < 2 || c->facts[ETW_SIDE_B].runs < 2) {
        return;
    }
    if (row->p >= 0) {
        EtwTextPrintf(out, "p=%.3f", row->p);
    }
    EtwColumnRight(out, from, 9);
    from = out->size;
    EtwTextStr(out, "  ");
    bool counts = row->counts > ETW_CONFIDENCE_NOISE && row->counts > row->times;
    EtwTextStr(out, etwConfidenceNames[counts ? row->counts : row->times]);
    EtwColumnLeft(out, from, 9);
}

/* "+" only in B, "-" only in A */
static char signOf(const EtwCompareRow *row)
{
    return !row->in[ETW_SIDE_A] ? '+' : !row->in[ETW_SIDE_B] ? '-' : ' ';
}

static void addSafeText(
        EtwText *out, void (*add)(const EtwCompareRow *row, EtwText *out), const EtwCompareRow *row)
{
    EtwText text = {0};
    add(row, &text);
    EtwAddSafe(out, text.data != NULL ? text.data : "", text.size);
    EtwTextFree(&text);
}

static void addErrors(EtwText *out, const EtwCompareRow *row)
{
    if (hasErrors(row)) {
        EtwTextStr(out, "  !errors ");
        addNumber(out, median(row, ETW_SIDE_A, ETW_MEASURE_ERRORS));
        EtwTextStr(out, " -> ");
        addNumber(out, median(row, ETW_SIDE_B, ETW_MEASURE_ERRORS));
    }
}

static void addName(EtwText *out, const EtwCompareRow *row)
{
    EtwTextStr(out, "  ");
    switch (row->table) {
    case ETW_COMPARE_PROCS:
        EtwAddSafeStr(out, row->who);
        break;
    case ETW_COMPARE_PATHS:
        addSafeText(out, EtwComparePath, row);
        break;
    case ETW_COMPARE_WORK:
        EtwAddSafeStr(out, row->who);
        EtwTextStr(out, ": ");
        addSafeText(out, addWhat, row);
        break;
    default:
        addSafeText(out, addWhat, row);
        EtwTextStr(out, ", in ");
        addSafeText(out, EtwComparePath, row);
    }
    addErrors(out, row);
    EtwTextChar(out, '\n');
}

static void addTextRow(EtwText *out, const EtwCompare *c, const EtwCompareRow *row)
{
    bool calls = row->table <= ETW_COMPARE_PATHS;
    EtwTextChar(out, signOf(row));
    addCount(out, row, ETW_SIDE_A);
    addCount(out, row, ETW_SIDE_B);
    addTime(out, median(row, ETW_SIDE_A, ETW_MEASURE_SELF));
    addTime(out, median(row, ETW_SIDE_B, ETW_MEASURE_SELF));
    addChange(out, median(row, ETW_SIDE_A, ETW_MEASURE_SELF),
            median(row, ETW_SIDE_B, ETW_MEASURE_SELF));
    addSure(out, c, row);
    for (int side = 0; side < ETW_SIDES; side++) {
        if (calls) {
            addTime(out, median(row, side, ETW_MEASURE_TOTAL));
        } else {
            addBytes(out, median(row, side, ETW_MEASURE_BYTES));
        }
    }
    addName(out, row);
}

static void addHead(EtwText *out, const EtwCompare *c, EtwCompareTable table)
{
    static const char *const titles[ETW_COMPARE_TABLES] = {
            "proc", "path of calls", "work and waits", "file", "host"};
    bool calls = table <= ETW_COMPARE_PATHS;
    const char *time = calls ? "self" : "time";
    EtwTextPrintf(out, " %8s A%8s B%9s A%9s B%12s%9s", calls ? "calls" : "times",
            calls ? "calls" : "times", time, time, "change", "");
    if (c->facts[ETW_SIDE_A].runs > 1 && c->facts[ETW_SIDE_B].runs > 1) {
        EtwTextPrintf(out, "%9s%9s", "", "");
    }
    EtwTextPrintf(out, calls ? "%9s A%9s B  %s\n" : "%10s A%10s B  %s\n", calls ? "total" : "bytes",
            calls ? "total" : "bytes", titles[table]);
}

static void addTable(EtwText *out, EtwCompare *c, EtwCompareTable table, const EtwCompareView *view)
{
    size_t count, hidden, same;
    EtwCompareRow **rows = EtwCompareRows(c, table, view, &count, &hidden, &same);
    if (count + hidden + same > 0) {
        EtwTextChar(out, '\n');
    }
    if (count > 0) {
        addHead(out, c, table);
    } else if (hidden + same > 0) {
        EtwTextPrintf(out, "%s:\n", etwCompareTableNames[table]);
    }
    for (size_t i = 0; i < count; i++) {
        addTextRow(out, c, rows[i]);
    }
    if (hidden > 0) {
        EtwTextPrintf(out, "  %zu %sdiffer%s%s (see -top, -min), %zu without a difference\n",
                hidden, count > 0 ? "more " : "", hidden == 1 ? "s" : "",
                count > 0 ? "" : " in their times only", same);
    } else if (same > 0) {
        EtwTextPrintf(out, "  %zu without a difference\n", same);
    }
    EtwFree(rows);
}

static void addSide(EtwText *out, const EtwCompare *c, int side)
{
    const EtwCompareFacts *f = &c->facts[side];
    EtwTextPrintf(out, "%c: ", 'A' + side);
    EtwAddSafeStr(out, c->config.labels[side] != NULL ? c->config.labels[side] : "");
    EtwTextPrintf(out, ": %llu event%s, %llu call%s, ", (unsigned long long)f->events,
            f->events == 1 ? "" : "s", (unsigned long long)f->calls, f->calls == 1 ? "" : "s");
    EtwAddTime(out, f->ns, 3, "us");
    EtwTextStr(out, f->runs > 1 ? " (median)" : "");
    if (f->lost > 0) {
        EtwTextPrintf(out, ", %llu events lost", (unsigned long long)f->lost);
    }
    EtwTextChar(out, '\n');
}

static void addSampleNote(EtwText *out, const EtwCompare *c)
{
    int a = c->facts[ETW_SIDE_A].runs, b = c->facts[ETW_SIDE_B].runs;
    if (a < 2 || b < 2) {
        EtwTextPrintf(out,
                "Times are one sample%s: the next run may differ as much. Counts are exact. Give "
                "runs of "
                "each side, as in \"etw diff A1 A2 A3 -- B1 B2 B3\", to see which differences are "
                "real.\n",
                a == b ? " each" : " of a side");
        return;
    }
    EtwTextPrintf(out,
            "Figures are medians of %d and %d runs. p: of a rank test of the times; clear: p <= "
            "0.05, or counts "
            "that are the same in all runs of a side; likely: the ranges of the runs do not "
            "overlap, and p <= 0.2.\n",
            a, b);
}

void EtwCompareText(EtwCompare *c, const EtwCompareView *view, EtwText *out)
{
    addSide(out, c, ETW_SIDE_A);
    addSide(out, c, ETW_SIDE_B);
    addSampleNote(out, c);
    for (int table = 0; table < ETW_COMPARE_TABLES; table++) {
        if (view->tables >> table & 1) {
            addTable(out, c, (EtwCompareTable)table, view);
        }
    }
    for (size_t at = 0; at < c->warnings.size; at += strlen(c->warnings.data + at) + 1) {
        EtwTextStr(out, "-- warning: ");
        EtwAddSafeStr(out, c->warnings.data + at);
        EtwTextChar(out, '\n');
    }
}

/* ---- csv -------------------------------------------------------------------------------------- */

static void addCsvText(EtwText *out, const EtwText *text)
{
    EtwAddCsvQuoted(out, "", text->data != NULL ? text->data : "", text->size);
}

static void addCsvRow(EtwText *out, const EtwCompareRow *row)
{
    EtwText path = {0};
    if (row->table == ETW_COMPARE_PATHS || row->parent != NULL) {
        EtwComparePath(row, &path);
    } else {
        EtwTextStr(&path, row->who);
    }
    EtwTextStr(out, etwCompareTableNames[row->table]);
    EtwTextChar(out, ',');
    addCsvText(out, &path);
    EtwTextChar(out, ',');
    EtwAddCsv(out, row->kind);
    EtwTextChar(out, ',');
    EtwAddCsv(out, row->what);
    EtwTextStr(out, signOf(row) == '+' ? ",B" : signOf(row) == '-' ? ",A" : ",");
    for (int m = 0; m < ETW_MEASURES; m++) {
        for (int side = 0; side < ETW_SIDES; side++) {
            EtwTextChar(out, ',');
            addNumber(out, median(row, side, (EtwMeasure)m));
        }
    }
    EtwTextChar(out, ',');
    if (row->p >= 0) {
        EtwTextPrintf(out, "%.6g", row->p);
    }
    EtwTextPrintf(out, ",%s,%s\n", etwConfidenceNames[row->times], etwConfidenceNames[row->counts]);
    EtwTextFree(&path);
}

void EtwCompareCsv(EtwCompare *c, const EtwCompareView *view, EtwText *out)
{
    size_t count, hidden, same;
    EtwTextStr(out, "table,name,kind,what,only");
    for (int m = 0; m < ETW_MEASURES; m++) {
        EtwTextPrintf(out, ",%s A,%s B", etwMeasureNames[m], etwMeasureNames[m]);
    }
    EtwTextStr(out, ",p,times,counts\n");
    for (int table = 0; table < ETW_COMPARE_TABLES; table++) {
        if (!(view->tables >> table & 1)) {
            continue;
        }
        EtwCompareRow **rows =
                EtwCompareRows(c, (EtwCompareTable)table, view, &count, &hidden, &same);
        for (size_t i = 0; i < count; i++) {
            addCsvRow(out, rows[i]);
        }
        EtwFree(rows);
    }
}

/* ---- json ------------------------------------------------------------------------------------- */

static void addKey(EtwText *out, const char *key)
{
    EtwTextPrintf(out, ",\"%s\":", key);
}

static void addJsonSide(EtwText *out, const EtwCompare *c, const EtwCompareRow *row, int side)
{
    bool runs = c->facts[side].runs > 1;
    EtwTextPrintf(out, ",\"%c\":{", 'a' + side);
    for (int m = 0; m < ETW_MEASURES; m++) {
        const EtwCompareSide *s = &row->sides[side][m];
        EtwTextPrintf(out, "%s\"%s\":", m > 0 ? "," : "", etwMeasureNames[m]);
        addNumber(out, s->median);
        if (runs && s->min != s->max) {
            EtwTextPrintf(out, ",\"%sRange\":[", etwMeasureNames[m]);
            addNumber(out, s->min);
            EtwTextChar(out, ',');
            addNumber(out, s->max);
            EtwTextChar(out, ']');
        }
    }
    EtwTextChar(out, '}');
}

static void addJsonRow(EtwText *out, const EtwCompare *c, const EtwCompareRow *row)
{
    EtwText path = {0};
    EtwComparePath(row, &path);
    EtwTextStr(out, row->table == ETW_COMPARE_PROCS || row->table == ETW_COMPARE_WORK
                            ? "{\"proc\":"
                            : "{\"path\":");
    EtwAddJson(out, path.data != NULL ? path.data : "", path.size);
    EtwTextFree(&path);
    if (row->table >= ETW_COMPARE_WORK) {
        addKey(out, "kind");
        EtwAddJsonStr(out, row->kind);
        addKey(out, "what");
        EtwAddJsonStr(out, row->what);
    }
    if (signOf(row) != ' ') {
        EtwTextPrintf(out, ",\"only\":\"%s\"", signOf(row) == '+' ? "b" : "a");
    }
    addJsonSide(out, c, row, ETW_SIDE_A);
    addJsonSide(out, c, row, ETW_SIDE_B);
    if (row->p >= 0) {
        EtwTextPrintf(out, ",\"p\":%.6g", row->p);
    }
    EtwTextPrintf(out, ",\"times\":\"%s\",\"counts\":\"%s\"}", etwConfidenceNames[row->times],
            etwConfidenceNames[row->counts]);
}

static void addJsonTable(
        EtwText *out, EtwCompare *c, EtwCompareTable table, const EtwCompareView *view)
{
    size_t count, hidden, same;
    EtwCompareRow **rows = EtwCompareRows(c, table, view, &count, &hidden, &same);
    EtwTextPrintf(out, ",\n\"%s\":[", etwCompareTableNames[table]);
    for (size_t i = 0; i < count; i++) {
        EtwTextStr(out, i > 0 ? ",\n" : "\n");
        addJsonRow(out, c, rows[i]);
    }
    EtwTextPrintf(out, "],\"%sLeftOut\":%zu,\"%sSame\":%zu", etwCompareTableNames[table], hidden,
            etwCompareTableNames[table], same);
    EtwFree(rows);
}

void EtwCompareJson(EtwCompare *c, const EtwCompareView *view, EtwText *out)
{
    for (int side = 0; side < ETW_SIDES; side++) {
        const EtwCompareFacts *f = &c->facts[side];
        EtwTextPrintf(out, "%s\"%c\":{\"sources\":", side == 0 ? "{" : ",\n", 'a' + side);
        EtwAddJsonStr(out, c->config.labels[side] != NULL ? c->config.labels[side] : "");
        EtwTextPrintf(out,
                ",\"runs\":%d,\"events\":%llu,\"calls\":%llu,\"lost\":%llu,\"ns\":", f->runs,
                (unsigned long long)f->events, (unsigned long long)f->calls,
                (unsigned long long)f->lost);
        addNumber(out, f->ns);
        EtwTextChar(out, '}');
    }
    for (int table = 0; table < ETW_COMPARE_TABLES; table++) {
        if (view->tables >> table & 1) {
            addJsonTable(out, c, (EtwCompareTable)table, view);
        }
    }
    EtwTextStr(out, ",\n\"warnings\":[");
    for (size_t at = 0; at < c->warnings.size; at += strlen(c->warnings.data + at) + 1) {
        EtwTextStr(out, at > 0 ? "," : "");
        EtwAddJsonStr(out, c->warnings.data + at);
    }
    EtwTextStr(out, "]}\n");
}
