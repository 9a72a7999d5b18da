/*
 * flow/report/report_tables.c --
 *
 *	Makes the tables of a report from the results of its analyses.
 */
#include "flow/report/report_int.h"
#include "base/unicode.h"
#include <stdlib.h>

#define COUNT(array) (int)(sizeof(array) / sizeof(array)[0])

static const ReportColumn
        findingsColumns[] = {{"kind", "kind", UNIT_TEXT}, {"name", "name", UNIT_TEXT},
                {"text", "text", UNIT_TEXT}, {"ns", "time", UNIT_TIME}},
        procsColumns[] = {{"calls", "calls", UNIT_COUNT}, {"total", "total", UNIT_TIME},
                {"self", "self", UNIT_TIME}, {"percent", "self%", UNIT_PERCENT},
                {"work", "work", UNIT_TIME}, {"proc", "proc", UNIT_TEXT}},
        waitsColumns[] = {{"count", "times", UNIT_COUNT}, {"ns", "time", UNIT_TIME},
                {"proc", "proc", UNIT_TEXT}, {"what", "what", UNIT_TEXT}},
        lateColumns[] = {{"count", "times", UNIT_COUNT}, {"ns", "time", UNIT_TIME},
                {"callback", "callback", UNIT_TEXT}},
        errorsColumns[] = {{"errors", "errors", UNIT_COUNT}, {"calls", "calls", UNIT_COUNT},
                {"proc", "proc", UNIT_TEXT}, {"message", "message", UNIT_TEXT}},
        repeatedColumns[] = {{"count", "times", UNIT_COUNT}, {"call", "call", UNIT_TEXT}},
        growingColumns[] = {{"calls", "calls", UNIT_COUNT}, {"total", "total", UNIT_TIME},
                {"growth", "growth", UNIT_RATIO}, {"proc", "proc", UNIT_TEXT}},
        filesColumns[] = {{"count", "times", UNIT_COUNT}, {"ns", "time", UNIT_TIME},
                {"bytes", "bytes", UNIT_BYTES}, {"who", "by", UNIT_TEXT},
                {"what", "what", UNIT_TEXT}},
        processesColumns[] = {{"cpu", "cpu", UNIT_TIME}, {"percent", "cpu%", UNIT_PERCENT},
                {"switches", "switches", UNIT_COUNT}, {"samples", "samples", UNIT_COUNT},
                {"events", "events", UNIT_COUNT}, {"pid", "pid", UNIT_COUNT},
                {"process", "process", UNIT_TEXT}},
        syscallsColumns[] = {{"count", "times", UNIT_COUNT}, {"ns", "time", UNIT_TIME},
                {"process", "process", UNIT_TEXT}, {"syscall", "system call", UNIT_TEXT}},
        problemsColumns[] = {{"count", "times", UNIT_COUNT}, {"provider", "provider", UNIT_TEXT},
                {"event", "event", UNIT_TEXT}},
        marksColumns[] = {{"at", "at", UNIT_TIME}, {"text", "text", UNIT_TEXT}},
        eventsColumns[] = {{"count", "events", UNIT_COUNT}, {"percent", "share", UNIT_PERCENT},
                {"provider", "provider", UNIT_TEXT}, {"event", "event", UNIT_TEXT}},
        warningsColumns[] = {{"text", "text", UNIT_TEXT}},
        nextColumns[] = {{"command", "command", UNIT_TEXT}, {"why", "why", UNIT_TEXT}};

static const ReportTable layouts[TABLES] = {
        [TABLE_FINDINGS] = {"findings", "findings", findingsColumns, COUNT(findingsColumns), {0}, 0,
                0},
        [TABLE_PROCS] = {"procs", "procs by their own time", procsColumns, COUNT(procsColumns), {0},
                0, 0},
        [TABLE_WAITS] = {"waits", "what procs waited for", waitsColumns, COUNT(waitsColumns), {0},
                0, 0},
        [TABLE_LATE] = {"late", "callbacks that waited in the queue of the event loop", lateColumns,
                COUNT(lateColumns), {0}, 0, 0},
        [TABLE_ERRORS] = {"errors", "calls that fail", errorsColumns, COUNT(errorsColumns), {0}, 0,
                0},
        [TABLE_REPEATED] = {"repeated", "calls with the same words", repeatedColumns,
                COUNT(repeatedColumns), {0}, 0, 0},
        [TABLE_GROWING] = {"growing", "procs whose calls become slower", growingColumns,
                COUNT(growingColumns), {0}, 0, 0},
        [TABLE_FILES] = {"files", "files, hosts and programs", filesColumns, COUNT(filesColumns),
                {0}, 0, 0},
        [TABLE_PROCESSES] = {"processes", "processes", processesColumns, COUNT(processesColumns),
                {0}, 0, 0},
        [TABLE_SYSCALLS] = {"syscalls", "system calls by time", syscallsColumns,
                COUNT(syscallsColumns), {0}, 0, 0},
        [TABLE_MARKS] = {"marks", "marks", marksColumns, COUNT(marksColumns), {0}, 0, 0},
        [TABLE_PROBLEMS] = {"problems", "events of level error or critical", problemsColumns,
                COUNT(problemsColumns), {0}, 0, 0},
        [TABLE_EVENTS] = {"kinds", "kinds of events", eventsColumns, COUNT(eventsColumns), {0}, 0,
                0},
        [TABLE_WARNINGS] = {"warnings", "warnings", warningsColumns, COUNT(warningsColumns), {0}, 0,
                0},
        [TABLE_NEXT] = {"next", "what to try next", nextColumns, COUNT(nextColumns), {0}, 0, 0},
};

ReportCell *EtwReportRow(EtwReport *r, ReportTableId id)
{
    ReportTable *table = &r->tables[id];
    static const ReportCell empty[REPORT_COLUMNS];
    if (table->columns == NULL) {
        *table = layouts[id];
    }
    if (table->all++ >= REPORT_ROWS) {
        return NULL;
    }
    EtwTextAdd(&table->rows, empty, (size_t)table->columnCount * sizeof(ReportCell));
    table->rowCount++;
    return (ReportCell *)(void *)table->rows.data +
           (table->rowCount - 1) * (size_t)table->columnCount;
}

char *EtwReportCopy(const char *text, size_t size)
{
    EtwText copy = {0};
    EtwTextUtf8(&copy, (const uint8_t *)text, size);
    EtwTextChar(&copy, '\0');
    return copy.data;
}

static char *copyStr(const char *text)
{
    return EtwReportCopy(text, strlen(text));
}

static double percent(uint64_t part, uint64_t all)
{
    return all > 0 ? 100.0 * (double)part / (double)all : 0;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

uint64_t EtwReportBusy(const EtwCallRow *row)
{
    uint64_t waits = EtwCostsWait(&row->stats.own);
    return row->idle || waits > row->stats.self ? 0 : row->stats.self - waits;
}

static void addProcs(EtwReport *r)
{
    size_t count;
    uint64_t work = EtwCallsWork(r->calls);
    const EtwCallRow **rows = EtwCallRows(r->calls, &count, NULL);
    for (size_t i = 0; i < count; i++) {
        const EtwCallStats *s = &rows[i]->stats;
        ReportCell *cell = rows[i]->idle ? NULL : EtwReportRow(r, TABLE_PROCS);
        if (cell != NULL) {
            cell[0].n = s->calls;
            cell[1].n = s->total;
            cell[2].n = s->self;
            cell[3].d = percent(s->self, work);
            cell[4].n = EtwReportBusy(rows[i]);
            cell[5].text = EtwReportCopy(rows[i]->name, rows[i]->nameSize);
        }
    }
    EtwFree((void *)rows);
}

/* A row and one of its own costs, or only one of them. */
typedef struct Paid {
    const EtwCallRow *row;
    const EtwCost *cost;
    uint64_t key;
    double growth;
} Paid;

static int byKey(const void *a, const void *b)
{
    const Paid *x = a, *y = b;
    if (x->key != y->key) {
        return x->key > y->key ? -1 : 1;
    }
    return x->row->order - y->row->order;
}

static Paid *sorted(EtwText *list, size_t *countPtr)
{
    *countPtr = list->size / sizeof(Paid);
    if (*countPtr > 1) {
        qsort(list->data, *countPtr, sizeof(Paid), byKey);
    }
    return (Paid *)(void *)list->data;
}

/* The costs of all rows of which `key` is not 0, the largest first. */
static Paid *costsBy(const EtwCalls *calls, uint64_t (*key)(const EtwCost *cost), EtwText *list,
        size_t *countPtr)
{
    for (const EtwCallRow *row = calls->rows; row != NULL; row = row->next) {
        for (int i = 0; i < row->stats.own.count; i++) {
            const EtwCost *cost = &row->stats.own.list[i];
            Paid paid = {.row = row, .cost = cost, .key = key(cost)};
            if (paid.key > 0) {
                EtwTextAdd(list, &paid, sizeof paid);
            }
        }
    }
    return sorted(list, countPtr);
}

static uint64_t waitKey(const EtwCost *cost)
{
    return cost->waited;
}

static uint64_t fileKey(const EtwCost *cost)
{
    return cost->of->kind == ETW_COST_MOVE ? cost->count : 0;
}

static char *waitName(const EtwCost *cost)
{
    EtwText name = {0};
    EtwTextStr(&name, cost->of->kind == ETW_COST_READY  ? "a free CPU"
                      : cost->of->kind != ETW_COST_WAIT ? ""
                      : *cost->of->name                 ? "system call "
                                                        : "an unknown event");
    EtwTextStr(&name, cost->of->name);
    EtwTextChar(&name, '\0');
    return name.data;
}

static void addWaits(EtwReport *r)
{
    EtwText list = {0};
    size_t count;
    const Paid *paid = costsBy(r->calls, waitKey, &list, &count);
    for (size_t i = 0; i < count; i++) {
        ReportCell *cell = paid[i].row->idle ? NULL : EtwReportRow(r, TABLE_WAITS);
        if (cell != NULL) {
            cell[0].n = paid[i].cost->count;
            cell[0].cost = paid[i].cost->of->kind;
            cell[1].n = paid[i].cost->waited;
            cell[2].text = EtwReportCopy(paid[i].row->name, paid[i].row->nameSize);
            cell[3].text = waitName(paid[i].cost);
        }
    }
    EtwTextFree(&list);
}

static uint64_t lateKey(const EtwCost *cost)
{
    enum { NOTICED = 1000000 }; /* ns; shorter times are those of the event loop itself */
    return cost->of->kind == ETW_COST_QUEUE && cost->ns >= NOTICED ? cost->ns : 0;
}

static void addLate(EtwReport *r)
{
    EtwText list = {0};
    size_t count;
    const Paid *paid = costsBy(r->calls, lateKey, &list, &count);
    for (size_t i = 0; i < count; i++) {
        ReportCell *cell = EtwReportRow(r, TABLE_LATE);
        if (cell != NULL) {
            cell[0].n = paid[i].cost->count;
            cell[1].n = paid[i].cost->ns;
            cell[2].text = EtwReportCopy(paid[i].row->name, paid[i].row->nameSize);
        }
    }
    EtwTextFree(&list);
}

static void addChannels(EtwReport *r)
{
    EtwText list = {0};
    size_t count;
    const Paid *paid = costsBy(r->calls, fileKey, &list, &count);
    for (size_t i = 0; i < count; i++) {
        ReportCell *cell = EtwReportRow(r, TABLE_FILES);
        if (cell != NULL) {
            cell[0].n = paid[i].cost->count;
            cell[1].n = paid[i].cost->ns;
            cell[2].n = paid[i].cost->bytes;
            cell[3].text = EtwReportCopy(paid[i].row->name, paid[i].row->nameSize);
            cell[4].text = copyStr(paid[i].cost->of->name);
        }
    }
    EtwTextFree(&list);
}

/* The message of `package require NAME`: its event has no name, but the message contains it. */
static void addPackageMessage(const EtwReport *r, const char *name, size_t nameSize, EtwText *out)
{
    size_t count, size;
    const EtwSummaryGroup **groups = EtwSummaryGroups(r->packages, &count);
    for (size_t i = 0; i < count && out->size == 0; i++) {
        const char *text = EtwSummaryCell(r->packages, groups[i], 0, &size);
        for (size_t at = 0; at + nameSize <= size && out->size == 0; at++) {
            if (memcmp(text + at, name, nameSize) == 0) {
                EtwTextAdd(out, text, size);
            }
        }
    }
    EtwFree((void *)groups);
}

/* The most frequent message of a proc's errors. The caller frees it. */
static char *messageOf(const EtwReport *r, const EtwCallRow *row)
{
    size_t count, size;
    const EtwSummaryGroup **groups = EtwSummaryGroups(r->messages, &count);
    EtwText message = {0};
    size_t kinds = 0;
    for (size_t i = 0; i < count; i++) {
        const char *name = EtwSummaryCell(r->messages, groups[i], 0, &size);
        if (size == row->nameSize && memcmp(name, row->name, size) == 0 && kinds++ == 0) {
            const char *text = EtwSummaryCell(r->messages, groups[i], 1, &size);
            EtwTextAdd(&message, text, size);
        }
    }
    EtwFree((void *)groups);
    if (kinds > 1) {
        EtwTextPrintf(&message, " (and %zu other message%s)", kinds - 1, kinds == 2 ? "" : "s");
    }
    static const char package[] = "package ";
    if (kinds == 0 && row->nameSize > sizeof package - 1 &&
            memcmp(row->name, package, sizeof package - 1) == 0) {
        addPackageMessage(
                r, row->name + sizeof package - 1, row->nameSize - (sizeof package - 1), &message);
    }
    char *copy = EtwReportCopy(message.data, message.size);
    EtwTextFree(&message);
    return copy;
}

static void addErrors(EtwReport *r)
{
    EtwText list = {0};
    size_t count;
    for (const EtwCallRow *row = r->calls->rows; row != NULL; row = row->next) {
        Paid paid = {.row = row, .key = row->stats.errors};
        if (paid.key > 0) {
            EtwTextAdd(&list, &paid, sizeof paid);
        }
    }
    const Paid *paid = sorted(&list, &count);
    for (size_t i = 0; i < count; i++) {
        ReportCell *cell = EtwReportRow(r, TABLE_ERRORS);
        if (cell != NULL) {
            cell[0].n = paid[i].key;
            cell[1].n = paid[i].row->stats.calls;
            cell[2].text = EtwReportCopy(paid[i].row->name, paid[i].row->nameSize);
            cell[3].text = messageOf(r, paid[i].row);
        }
    }
    EtwTextFree(&list);
}

static void addGrowing(EtwReport *r)
{
    static const double grows = 2.5;
    uint64_t work = EtwCallsWork(r->calls);
    EtwText list = {0};
    size_t count;
    for (const EtwCallRow *row = r->calls->rows; row != NULL; row = row->next) {
        Paid paid = {.row = row, .key = row->stats.total, .growth = EtwCallGrowthOf(row)};
        if (paid.growth >= grows && percent(row->stats.total, work) >= 5) {
            EtwTextAdd(&list, &paid, sizeof paid);
        }
    }
    const Paid *paid = sorted(&list, &count);
    for (size_t i = 0; i < count; i++) {
        ReportCell *cell = EtwReportRow(r, TABLE_GROWING);
        if (cell != NULL) {
            cell[0].n = paid[i].row->stats.calls;
            cell[1].n = paid[i].key;
            cell[2].d = paid[i].growth;
            cell[3].text = EtwReportCopy(paid[i].row->name, paid[i].row->nameSize);
        }
    }
    EtwTextFree(&list);
}

/* ---- Groups of events ------------------------------------------------------------------------ */

static char *cellText(const EtwSummary *s, const EtwSummaryGroup *g, int index)
{
    size_t size;
    const char *text = EtwSummaryCell(s, g, index, &size);
    return EtwReportCopy(text, size);
}

/* Calls that occur at least so often with the same words. A call without arguments has no words to compare. */
static void addRepeated(EtwReport *r)
{
    enum { OFTEN = 20 };
    size_t count, size;
    const EtwSummaryGroup **groups = EtwSummaryGroups(r->commands, &count);
    for (size_t i = 0; i < count && groups[i]->count >= OFTEN; i++) {
        const char *text = EtwSummaryCell(r->commands, groups[i], 0, &size);
        bool plain = memchr(text, ' ', size) == NULL || groups[i] == r->commands->others;
        ReportCell *cell = plain ? NULL : EtwReportRow(r, TABLE_REPEATED);
        if (cell != NULL) {
            cell[0].n = groups[i]->count;
            cell[1].text = EtwReportCopy(text, size);
        }
    }
    EtwFree((void *)groups);
}

/* Rows of two texts: the first two values of the groups. */
static void addGroups(
        EtwReport *r, const EtwSummary *s, ReportTableId id, int firstText, bool times)
{
    size_t count;
    const EtwSummaryGroup **groups = EtwSummaryGroups(s, &count);
    for (size_t i = 0; i < count && groups[i]->count > 0; i++) {
        ReportCell *cell = groups[i] == s->others ? NULL : EtwReportRow(r, id);
        if (cell != NULL) {
            cell[0].n = groups[i]->count;
            if (times) {
                cell[1].n = (uint64_t)groups[i]->sum;
            }
            cell[firstText].text = cellText(s, groups[i], 0);
            cell[firstText + 1].text = cellText(s, groups[i], 1);
            if (id == TABLE_FILES && *cell[firstText + 1].text == '\0') {
                EtwFree(cell[firstText + 1].text);
                cell[firstText + 1].text = copyStr("(file unknown)");
            }
        }
    }
    EtwFree((void *)groups);
}

/* ---- Processes and kinds --------------------------------------------------------------------- */

static void collectProcess(void *ctx, EtwTableNode *node)
{
    EtwTextAdd(ctx, &node, sizeof node);
}

static int byCpu(const void *a, const void *b)
{
    const ReportProcess *x = *(const ReportProcess *const *)a,
                        *y = *(const ReportProcess *const *)b;
    if (x->cpu != y->cpu) {
        return x->cpu > y->cpu ? -1 : 1;
    }
    if (x->samples != y->samples) {
        return x->samples > y->samples ? -1 : 1;
    }
    if (x->events != y->events) {
        return x->events > y->events ? -1 : 1;
    }
    return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* Process 0 is the idle time of the CPUs. */
static bool isIdle(const ReportProcess *p)
{
    return p->pid == 0 || strcmp(p->name, "Idle") == 0;
}

static void addProcesses(EtwReport *r)
{
    EtwText list = {0};
    uint64_t cpu = 0, samples = 0;
    EtwTableVisit(&r->processes, collectProcess, &list);
    size_t count = list.size / sizeof(ReportProcess *);
    const ReportProcess **all = (const ReportProcess **)(void *)list.data;
    if (count > 1) {
        qsort(list.data, count, sizeof *all, byCpu);
    }
    for (size_t i = 0; i < count; i++) {
        cpu += isIdle(all[i]) ? 0 : all[i]->cpu;
        samples += isIdle(all[i]) ? 0 : all[i]->samples;
        r->idleCpu += isIdle(all[i]) ? all[i]->cpu : 0;
        r->idleSamples += isIdle(all[i]) ? all[i]->samples : 0;
    }
    bool known = r->switches > 0 || r->samples > 0 || r->calls->calls == 0;
    for (size_t i = 0; i < count && known; i++) {
        const ReportProcess *p = all[i];
        ReportCell *cell = isIdle(p) ? NULL : EtwReportRow(r, TABLE_PROCESSES);
        if (cell != NULL) {
            cell[0].n = p->cpu;
            cell[1].d = cpu > 0 ? percent(p->cpu, cpu) : percent(p->samples, samples);
            cell[2].n = p->switches;
            cell[3].n = p->samples;
            cell[4].n = p->events;
            cell[5].n = p->pid;
            cell[6].text = copyStr(p->name);
        }
    }
    EtwTextFree(&list);
}

static int byCount(const void *a, const void *b)
{
    const EtwTraceStatsKind *x = *(const EtwTraceStatsKind *const *)a,
                            *y = *(const EtwTraceStatsKind *const *)b;
    return x->count != y->count ? (x->count > y->count ? -1 : 1) : strcmp(x->event, y->event);
}

static void addKinds(EtwReport *r)
{
    EtwText list = {0};
    for (const EtwTraceStatsKind *kind = r->stats->kinds; kind != NULL; kind = kind->next) {
        EtwTextAdd(&list, &kind, sizeof kind);
    }
    size_t count = list.size / sizeof(EtwTraceStatsKind *);
    const EtwTraceStatsKind **kinds = (const EtwTraceStatsKind **)(void *)list.data;
    if (count > 1) {
        qsort(list.data, count, sizeof *kinds, byCount);
    }
    for (size_t i = 0; i < count; i++) {
        ReportCell *cell = EtwReportRow(r, TABLE_EVENTS);
        if (cell != NULL) {
            cell[0].n = kinds[i]->count;
            cell[1].d = percent(kinds[i]->count, r->stats->events);
            cell[2].text = copyStr(kinds[i]->providerName);
            cell[3].text = copyStr(kinds[i]->event);
        }
    }
    EtwTextFree(&list);
}

void EtwReportTables(EtwReport *r)
{
    addProcs(r);
    addWaits(r);
    addLate(r);
    addErrors(r);
    addRepeated(r);
    addGrowing(r);
    addChannels(r);
    addGroups(r, r->files, TABLE_FILES, 3, false);
    addGroups(r, r->objects, TABLE_FILES, 3, false);
    addProcesses(r);
    addGroups(r, r->syscalls, TABLE_SYSCALLS, 2, true);
    addGroups(r, r->problems, TABLE_PROBLEMS, 1, false);
    addKinds(r);
    for (int i = 0; i < TABLES; i++) {
        if (r->tables[i].columns == NULL) {
            r->tables[i] = layouts[i];
        }
    }
}
