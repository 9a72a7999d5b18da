/*
 * flow/report/report_output.c --
 *
 *	Writes the tables of a report: as text for people, and as one JSON object of bounded size.
 */
#include "flow/report/report_int.h"
#include "flow/render/columns.h"
#include "flow/render/escape.h"
#include "base/unicode.h"

static uint64_t durationOf(const EtwReport *r)
{
    const EtwTraceStats *s = r->stats;
    return s->last > s->first ? (uint64_t)s->last - (uint64_t)s->first : 0;
}

/* ---- Text ------------------------------------------------------------------------------------ */

/* The text of a table is cut, so that a row stays a line. */
enum { TEXT_SHOWN = 120 };

static void addCut(EtwText *out, const char *text, size_t limit)
{
    size_t size = strlen(text);
    size_t shown = size > limit ? EtwUtf8Cut(text, limit) : size;
    EtwAddSafe(out, text, shown);
    EtwTextStr(out, shown < size ? "..." : "");
}

static void addCell(EtwText *out, const ReportColumn *column, const ReportCell *cell, bool last)
{
    size_t from = out->size;
    switch (column->unit) {
    case UNIT_TEXT:
        addCut(out, *cell->text != '\0' ? cell->text : "-", last ? TEXT_SHOWN : TEXT_SHOWN / 3);
        if (!last) {
            EtwColumnLeft(out, from, 20);
            EtwTextStr(out, "  ");
        }
        return;
    case UNIT_TIME:
        if (cell->n > 0) {
            EtwAddTime(out, (double)cell->n, 3, "us");
        } else {
            EtwTextChar(out, '-');
        }
        break;
    case UNIT_BYTES:
        if (cell->n > 0) {
            EtwAddVolume(out, cell->n);
        } else {
            EtwTextChar(out, '-');
        }
        break;
    case UNIT_PERCENT:
        EtwTextPrintf(out, "%.1f%%", cell->d);
        break;
    case UNIT_RATIO:
        EtwTextPrintf(out, "%.1f", cell->d);
        break;
    default:
        EtwTextDecimal(out, cell->n);
    }
    EtwColumnRight(out, from, 12);
}

/* The columns that have a value in some row: a bit for each. */
static unsigned shownColumns(const ReportTable *table)
{
    unsigned shown = 0;
    for (int k = 0; k < table->columnCount; k++) {
        bool any = table->columns[k].unit == UNIT_TEXT;
        for (size_t i = 0; i < table->rowCount && !any; i++) {
            const ReportCell *cell = &rowAt(table, i)[k];
            any = cell->n != 0 || cell->d != 0;
        }
        shown |= any ? 1u << k : 0;
    }
    return shown;
}

/* Between a number and the text behind it. */
static void addGap(EtwText *out, const ReportTable *table, int column)
{
    bool before = column > 0 && table->columns[column - 1].unit != UNIT_TEXT;
    EtwTextStr(out, table->columns[column].unit == UNIT_TEXT && before ? "  " : "");
}

static void addHeads(EtwText *out, const ReportTable *table, unsigned shown)
{
    for (int i = 0; i < table->columnCount; i++) {
        const ReportColumn *column = &table->columns[i];
        if (!(shown & 1u << i)) {
            continue;
        }
        addGap(out, table, i);
        size_t from = out->size;
        EtwTextStr(out, column->title);
        if (column->unit != UNIT_TEXT) {
            EtwColumnRight(out, from, 12);
        } else if (i < table->columnCount - 1) {
            EtwColumnLeft(out, from, 20);
            EtwTextStr(out, "  ");
        }
    }
    EtwTextChar(out, '\n');
}

static void addTable(EtwText *out, const ReportTable *table)
{
    if (table->rowCount == 0) {
        return;
    }
    unsigned shown = shownColumns(table);
    EtwTextPrintf(out, "\n%s\n", table->title);
    addHeads(out, table, shown);
    for (size_t i = 0; i < table->rowCount; i++) {
        const ReportCell *cell = rowAt(table, i);
        for (int k = 0; k < table->columnCount; k++) {
            if (shown & 1u << k) {
                addGap(out, table, k);
                addCell(out, &table->columns[k], &cell[k], k == table->columnCount - 1);
            }
        }
        EtwTextChar(out, '\n');
    }
    if (table->all > table->rowCount) {
        EtwTextPrintf(out, "%12zu more\n", table->all - table->rowCount);
    }
}

static void addFindings(EtwText *out, const EtwReport *r)
{
    enum { SHOWN = 7 };
    const ReportTable *table = &r->tables[TABLE_FINDINGS];
    for (size_t i = 0; i < table->rowCount && i < SHOWN; i++) {
        const ReportCell *cell = rowAt(table, i);
        EtwTextPrintf(out, "%zu. ", i + 1);
        addCut(out, cell[1].text, TEXT_SHOWN / 2);
        EtwTextStr(out, " ");
        addCut(out, cell[2].text, TEXT_SHOWN + TEXT_SHOWN / 3);
        EtwTextChar(out, '\n');
    }
    if (table->rowCount == 0) {
        EtwTextStr(out, "nothing conspicuous\n");
    }
}

/* brief: the first commands, without reasons. Otherwise without the very first, which is this report. */
static void addNext(EtwText *out, const EtwReport *r, bool brief)
{
    enum { BRIEF = 3 };
    const ReportTable *table = &r->tables[TABLE_NEXT];
    EtwTextStr(out, table->rowCount > 0 ? "\nWhat to try next:\n" : "");
    for (size_t i = brief ? 0 : 1; i < table->rowCount && !(brief && i == BRIEF); i++) {
        const ReportCell *cell = rowAt(table, i);
        EtwTextStr(out, "    ");
        EtwAddSafeStr(out, cell[0].text);
        if (!brief) {
            EtwTextStr(out, "\n        ");
            EtwAddSafeStr(out, cell[1].text);
        }
        EtwTextChar(out, '\n');
    }
}

void EtwReportText(const EtwReport *r, bool brief, EtwText *out)
{
    EtwTextStr(out, "-- ");
    EtwAddSafeStr(out, r->source);
    EtwTextPrintf(out, ": %llu events in ", (unsigned long long)r->stats->events);
    EtwAddTime(out, (double)durationOf(r), 3, "us");
    if (r->calls->calls > 0) {
        EtwTextPrintf(out, ", %llu calls, ", (unsigned long long)r->calls->calls);
        EtwAddTime(out, (double)EtwCallsWork(r->calls), 3, "us");
        EtwTextStr(out, " in procs");
    }
    if (r->lost > 0) {
        EtwTextPrintf(out, ", %llu lost\n", (unsigned long long)r->lost);
    } else {
        EtwTextStr(out, r->whole ? ", nothing lost\n" : ", incomplete\n");
    }
    addFindings(out, r);
    for (int i = TABLE_PROCS; i < TABLE_NEXT && !brief; i++) {
        addTable(out, &r->tables[i]);
    }
    addNext(out, r, brief);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void addJsonText(EtwText *out, const char *text, size_t limit)
{
    size_t size = strlen(text);
    if (size <= limit) {
        EtwAddJson(out, text, size);
        return;
    }
    EtwText cut = {0};
    EtwTextAdd(&cut, text, EtwUtf8Cut(text, limit));
    EtwTextStr(&cut, "...");
    EtwAddJson(out, cut.data, cut.size);
    EtwTextFree(&cut);
}

static void addJsonRow(EtwText *out, const ReportTable *table, const ReportCell *cell, size_t limit)
{
    for (int k = 0; k < table->columnCount; k++) {
        EtwTextPrintf(out, "%s\"%s\":", k > 0 ? "," : "{", table->columns[k].key);
        switch (table->columns[k].unit) {
        case UNIT_TEXT:
            addJsonText(out, cell[k].text, limit);
            break;
        case UNIT_PERCENT:
        case UNIT_RATIO:
            EtwTextPrintf(out, "%.1f", cell[k].d);
            break;
        default:
            EtwTextDecimal(out, cell[k].n);
        }
    }
    EtwTextChar(out, '}');
}

static void addJson(EtwText *out, const EtwReport *r, size_t rows, size_t limit)
{
    EtwTextStr(out, "{\"source\":");
    addJsonText(out, r->source, limit);
    EtwTextPrintf(out,
            ",\"events\":%llu,\"ns\":%llu,\"calls\":%llu,\"work\":%llu,\"idle\":%llu,\"lost\":%llu",
            (unsigned long long)r->stats->events, (unsigned long long)durationOf(r),
            (unsigned long long)r->calls->calls, (unsigned long long)EtwCallsWork(r->calls),
            (unsigned long long)EtwCallsIdle(r->calls), (unsigned long long)r->lost);
    for (int i = 0; i < TABLES; i++) {
        const ReportTable *table = &r->tables[i];
        size_t shown = table->rowCount < rows ? table->rowCount : rows;
        if (table->rowCount == 0) {
            continue;
        }
        EtwTextPrintf(out, ",\n\"%s\":[", table->key);
        for (size_t k = 0; k < shown; k++) {
            EtwTextStr(out, k > 0 ? ",\n" : "\n");
            addJsonRow(out, table, rowAt(table, k), limit);
        }
        EtwTextChar(out, ']');
        if (table->all > shown) {
            EtwTextPrintf(out, ",\"%sLeftOut\":%zu", table->key, table->all - shown);
        }
    }
    EtwTextStr(out, "}\n");
}

void EtwReportJson(const EtwReport *r, size_t maxBytes, EtwText *out)
{
    static const size_t limits[] = {300, 120, 60, 30};
    size_t from = out->size;
    for (size_t rows = REPORT_ROWS;; rows--) {
        for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
            out->size = from;
            addJson(out, r, rows, limits[i]);
            if (out->size - from <= maxBytes || (rows == 0 && i == 3)) {
                return;
            }
        }
    }
}
