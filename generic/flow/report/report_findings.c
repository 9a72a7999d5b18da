/*
 * flow/report/report_findings.c --
 *
 *	Judges the tables of a report: sentences about what is conspicuous, the most time first, each with the
 *	name of the proc or process; and commands that show more.
 */
#include "flow/report/report_int.h"
#include "flow/render/columns.h"
#include "semantics/declared_events.h"
#include <stdlib.h>

typedef struct Finding {
    const char *kind;
    char *name, *text; /* owned until they are in the table */
    uint64_t ns;
    double weight; /* ns, or what it is worth */
    int order;
} Finding;

typedef struct Findings {
    EtwReport *report;
    EtwText list; /* of Finding */
    uint64_t work;
    double share; /* 1 % of the work in ns */
} Findings;

static void add(
        Findings *f, const char *kind, const char *name, uint64_t ns, double weight, EtwText *text)
{
    Finding finding = {.kind = kind,
            .name = EtwReportCopy(name, strlen(name)),
            .ns = ns,
            .weight = weight,
            .order = (int)(f->list.size / sizeof(Finding))};
    finding.text = EtwReportCopy(text->data, text->size);
    EtwTextFree(text);
    EtwTextAdd(&f->list, &finding, sizeof finding);
}

static void addTime(EtwText *out, uint64_t ns)
{
    EtwAddTime(out, (double)ns, 3, "us");
}

static void addCalls(EtwText *out, uint64_t calls)
{
    EtwTextPrintf(out, "%llu call%s", (unsigned long long)calls, calls == 1 ? "" : "s");
}

/* ---- Scripts --------------------------------------------------------------------------------- */

enum { REPORTED_PERCENT = 10 }; /* percent of the work */

/* Only switches show that a proc had a CPU: other waits than those in known commands may be in its time. */
static void findWork(Findings *f)
{
    const ReportTable *table = &f->report->tables[TABLE_PROCS];
    bool computes = f->report->calls->waits > 0;
    for (size_t i = 0; i < table->rowCount; i++) {
        const ReportCell *cell = rowAt(table, i);
        EtwText text = {0};
        double percent = f->work > 0 ? 100.0 * (double)cell[4].n / (double)f->work : 0;
        if (percent >= REPORTED_PERCENT) {
            EtwTextPrintf(&text,
                    computes ? "computes for %.0f %% of the time in procs: "
                             : "takes %.0f %% of the time in procs itself: ",
                    percent);
            addTime(&text, cell[4].n);
            EtwTextStr(&text, " in ");
            addCalls(&text, cell[0].n);
            add(f, "work", cell[5].text, cell[4].n, (double)cell[4].n, &text);
        }
    }
}

static void findWaits(Findings *f)
{
    const ReportTable *table = &f->report->tables[TABLE_WAITS];
    for (size_t i = 0; i < table->rowCount; i++) {
        const ReportCell *cell = rowAt(table, i);
        EtwText text = {0};
        if ((double)cell[1].n >= REPORTED_PERCENT * f->share) {
            EtwTextStr(&text, cell[0].cost == ETW_COST_MOVE ? "spends " : "waits ");
            addTime(&text, cell[1].n);
            EtwTextPrintf(&text, " (%.0f %%) %s %s, %llu time%s",
                    100.0 * (double)cell[1].n / (double)f->work,
                    cell[0].cost <= ETW_COST_READY ? "for" : "in", cell[3].text,
                    (unsigned long long)cell[0].n, cell[0].n == 1 ? "" : "s");
            add(f, "wait", cell[2].text, cell[1].n, (double)cell[1].n, &text);
        }
    }
}

/* A callback that is due has to wait until the callbacks before it have returned. */
static void findLate(Findings *f)
{
    enum { NOTICED = 10000000 }; /* ns */
    const ReportTable *table = &f->report->tables[TABLE_LATE];
    for (size_t i = 0; i < table->rowCount; i++) {
        const ReportCell *cell = rowAt(table, i);
        EtwText text = {0};
        if (cell[1].n >= NOTICED && (double)cell[1].n >= REPORTED_PERCENT * f->share) {
            EtwTextStr(&text, "runs late: waited ");
            addTime(&text, cell[1].n);
            EtwTextPrintf(&text, " in the queue of the event loop, in %llu call%s",
                    (unsigned long long)cell[0].n, cell[0].n == 1 ? "" : "s");
            add(f, "late", cell[2].text, cell[1].n, (double)cell[1].n, &text);
        }
    }
}

/*
 * An error counts as if it took 1 % of the time for each 10 failed calls, at most 20 %. An error that passes through
 * callers is reported for the proc where it begins: the caller has no other message and not more errors.
 */
static void findErrors(Findings *f)
{
    enum { FEW = 10, MOST = 3 };
    const ReportTable *table = &f->report->tables[TABLE_ERRORS];
    for (size_t i = 0; i < table->rowCount && i < MOST; i++) {
        const ReportCell *cell = rowAt(table, i);
        double worth = cell[0].n >= 200 ? 20 : (double)cell[0].n / 10;
        EtwText text = {0};
        if (cell[0].n < FEW || cell[0].n * 20 < cell[1].n) {
            continue;
        }
        EtwTextPrintf(&text, "fails in %llu of ", (unsigned long long)cell[0].n);
        addCalls(&text, cell[1].n);
        EtwTextStr(&text, ": ");
        EtwTextStr(&text, cell[3].text);
        add(f, "error", cell[2].text, 0, worth * f->share + 1, &text);
    }
}

/* A file that a proc opens over and over again; what it costs is at least 10 %, because reading follows. */
static void findFiles(Findings *f)
{
    enum { OFTEN = 20, MOST = 3 };
    const ReportTable *table = &f->report->tables[TABLE_FILES];
    int shown = 0;
    for (size_t i = 0; i < table->rowCount && shown < MOST; i++) {
        const ReportCell *cell = rowAt(table, i);
        bool opens = strncmp(cell[4].text, "open ", 5) == 0 ||
                     strncmp(cell[4].text, "exec ", 5) == 0 ||
                     strncmp(cell[4].text, "socket ", 7) == 0;
        EtwText text = {0};
        if (opens && cell[0].n >= OFTEN) {
            EtwTextPrintf(&text, "repeats \"%s\" %llu times", cell[4].text,
                    (unsigned long long)cell[0].n);
            add(f, "repeated", cell[3].text, cell[1].n,
                    (double)cell[1].n + REPORTED_PERCENT * f->share, &text);
            shown++;
        }
    }
}

/* The name of the proc: the first word. */
static char *firstWord(const char *words)
{
    size_t size = strcspn(words, " ");
    return EtwReportCopy(words, size);
}

static uint64_t totalOf(const EtwCalls *calls, const char *proc, uint64_t *callsPtr)
{
    for (const EtwCallRow *row = calls->rows; row != NULL; row = row->next) {
        if (strcmp(row->name, proc) == 0) {
            *callsPtr = row->stats.calls;
            return row->stats.total;
        }
    }
    *callsPtr = 0;
    return 0;
}

static void findRepeated(Findings *f)
{
    enum { OFTEN = 100, MOST = 2 };
    const ReportTable *table = &f->report->tables[TABLE_REPEATED];
    int shown = 0;
    for (size_t i = 0; i < table->rowCount && shown < MOST; i++) {
        const ReportCell *cell = rowAt(table, i);
        char *proc = firstWord(cell[1].text);
        uint64_t calls, total = totalOf(f->report->calls, proc, &calls);
        double ns = calls > 0 ? (double)total * (double)cell[0].n / (double)calls : 0;
        EtwText text = {0};
        if (cell[0].n >= OFTEN && ns >= 5 * f->share) {
            EtwTextPrintf(&text, "is called %llu times with the same words: %s",
                    (unsigned long long)cell[0].n, cell[1].text);
            add(f, "repeated", proc, (uint64_t)ns, ns / 2, &text);
            shown++;
        }
        EtwFree(proc);
    }
}

static void findGrowing(Findings *f)
{
    enum { MOST = 2 };
    const ReportTable *table = &f->report->tables[TABLE_GROWING];
    for (size_t i = 0; i < table->rowCount && i < MOST; i++) {
        const ReportCell *cell = rowAt(table, i);
        EtwText text = {0};
        EtwTextPrintf(&text,
                "becomes slower from call to call: the last calls took %.1f times as long as those "
                "at a quarter "
                "of the ",
                cell[2].d);
        addCalls(&text, cell[0].n);
        add(f, "growth", cell[3].text, cell[1].n, (double)cell[1].n / 2, &text);
    }
}

/* ---- The machine ----------------------------------------------------------------------------- */

/* Of the time of all CPUs, idle or not, if the trace has the idle time. */
static void addShareOfAll(EtwText *out, const EtwReport *r, const ReportCell *process)
{
    uint64_t idle = process[0].n > 0 ? r->idleCpu : r->idleSamples;
    double own = (double)(process[0].n > 0 ? process[0].n : process[3].n);
    if (idle > 0 && process[1].d > 0) {
        double all = own * 100 / process[1].d + (double)idle;
        EtwTextPrintf(out, " (%.0f %% of the time of all CPUs)", 100 * own / all);
    }
}

static void findProcesses(Findings *f)
{
    enum { MOST = 3 };
    const ReportTable *table = &f->report->tables[TABLE_PROCESSES];
    for (size_t i = 0; i < table->rowCount && i < MOST; i++) {
        const ReportCell *cell = rowAt(table, i);
        EtwText text = {0};
        if (cell[1].d < REPORTED_PERCENT || f->work > 0) {
            continue;
        }
        EtwTextPrintf(&text, "(pid %llu) has %.0f %% of the busy CPU time",
                (unsigned long long)cell[5].n, cell[1].d);
        addShareOfAll(&text, f->report, cell);
        EtwTextStr(&text, ": ");
        if (cell[0].n > 0) {
            addTime(&text, cell[0].n);
        } else {
            EtwTextPrintf(&text, "%llu samples", (unsigned long long)cell[3].n);
        }
        add(f, "cpu", *cell[6].text ? cell[6].text : "process", cell[0].n,
                (double)cell[0].n + cell[1].d, &text);
    }
}

/* Of a program without traced procs: the system calls in which it spends the time of the trace. */
static void findSyscalls(Findings *f)
{
    enum { MOST = 3 };
    const ReportTable *table = &f->report->tables[TABLE_SYSCALLS];
    const EtwTraceStats *stats = f->report->stats;
    double span = (double)(stats->last - stats->first);
    for (size_t i = 0; i < table->rowCount && i < MOST && f->work == 0; i++) {
        const ReportCell *cell = rowAt(table, i);
        EtwText text = {0};
        if (span <= 0 || 100 * (double)cell[1].n < REPORTED_PERCENT * span) {
            continue;
        }
        EtwTextStr(&text, "spends ");
        addTime(&text, cell[1].n);
        EtwTextPrintf(&text, " (%.0f %% of the trace) in the system call %s, %llu time%s",
                100 * (double)cell[1].n / span, cell[3].text, (unsigned long long)cell[0].n,
                cell[0].n == 1 ? "" : "s");
        add(f, "syscall", *cell[2].text ? cell[2].text : "process", cell[1].n, (double)cell[1].n,
                &text);
    }
}

/* Of a trace without scripts and CPU times: the provider and the process with the most events. */
static void findEvents(Findings *f)
{
    const ReportTable *processes = &f->report->tables[TABLE_PROCESSES];
    const ReportTable *kinds = &f->report->tables[TABLE_EVENTS];
    EtwText text = {0}, other = {0};
    if (f->work > 0 || f->report->switches > 0 || f->report->samples > 0) {
        return;
    }
    size_t most = 0;
    while (most < kinds->rowCount &&
            strcmp(rowAt(kinds, most)[2].text, ETW_SESSION_PROVIDER) == 0) {
        most++; /* the session's own events are no finding */
    }
    if (most < kinds->rowCount) {
        const ReportCell *cell = rowAt(kinds, most);
        bool script = strcmp(cell[2].text, ETW_SCRIPT_PROVIDER) == 0;
        EtwTextPrintf(&text, "writes the most events: %s, %llu (%.0f %%)", cell[3].text,
                (unsigned long long)cell[0].n, cell[1].d);
        if (script && strcmp(cell[3].text, "Cover") == 0) {
            EtwTextStr(&text, "; \"etw cover\" shows the lines that were executed");
        } else if (script && f->report->calls->rows == NULL) {
            EtwTextStr(&text,
                    "; there are no calls of procs, and the time that commands take at the top "
                    "level of a script is not known");
        }
        add(f, "events", cell[2].text, 0, 0.2, &text);
    }
    if (processes->rowCount > 1) {
        const ReportCell *cell = rowAt(processes, 0);
        EtwTextPrintf(&other, "(pid %llu) has the most events: %llu", (unsigned long long)cell[5].n,
                (unsigned long long)cell[4].n);
        add(f, "events", *cell[6].text ? cell[6].text : "process", 0, 0.1, &other);
    }
}

static void findProblems(Findings *f)
{
    enum { MOST = 2 };
    const ReportTable *table = &f->report->tables[TABLE_PROBLEMS];
    for (size_t i = 0; i < table->rowCount && i < MOST; i++) {
        const ReportCell *cell = rowAt(table, i);
        EtwText text = {0};
        EtwTextPrintf(&text, "reports errors: event %s, %llu time%s", cell[2].text,
                (unsigned long long)cell[0].n, cell[0].n == 1 ? "" : "s");
        add(f, "problem", cell[1].text, 0, 5 * f->share + 1, &text);
    }
}

static void findLosses(Findings *f)
{
    EtwText text = {0};
    if (f->report->lost > 0) {
        EtwTextPrintf(&text, "%llu were lost: counts and times are too small",
                (unsigned long long)f->report->lost);
        add(f, "loss", "events", 0, 1e300, &text);
    } else if (!f->report->whole) {
        EtwTextStr(&text, "lacks parts, see the warnings: counts and times may be too small");
        add(f, "loss", "trace", 0, 1e300, &text);
    }
}

static void findIdle(Findings *f)
{
    uint64_t idle = EtwCallsIdle(f->report->calls);
    EtwText text = {0};
    if (idle > f->work) {
        addTime(&text, idle);
        EtwTextStr(&text, " waiting for events, not counted as work");
        add(f, "idle", "event loop", idle, 0, &text);
    }
}

/* ---- What to try next ------------------------------------------------------------------------ */

static void addNext(
        EtwReport *r, const char *command, const char *source, const char *options, const char *why)
{
    ReportCell *row = EtwReportRow(r, TABLE_NEXT);
    EtwText text = {0};
    if (row != NULL) {
        EtwTextStr(&text, command);
        EtwTextStr(&text, source);
        EtwTextStr(&text, options);
        row[0].text = EtwReportCopy(text.data, text.size);
        row[1].text = EtwReportCopy(why, strlen(why));
        EtwTextFree(&text);
    }
}

/* A word for a shell. */
static char *quoted(const char *word)
{
    EtwText out = {0};
    bool plain =
            *word != '\0' &&
            strspn(word,
                    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=,-") ==
                    strlen(word);
    EtwTextStr(&out, plain ? "" : "'");
    for (; *word != '\0'; word++) {
        if (*word == '\'') {
            EtwTextStr(&out, "'\\'");
        }
        EtwTextChar(&out, *word);
    }
    EtwTextStr(&out, plain ? "" : "'");
    EtwTextChar(&out, '\0');
    return out.data;
}

static bool hasSteps(const EtwReport *r)
{
    for (const EtwTraceStatsKind *kind = r->stats->kinds; kind != NULL; kind = kind->next) {
        if (strcmp(kind->providerName, ETW_SCRIPT_PROVIDER) == 0 &&
                strcmp(kind->event, "Line") == 0) {
            return true;
        }
    }
    return false;
}

static void nextOfCalls(EtwReport *r, const char *source)
{
    const ReportTable *procs = &r->tables[TABLE_PROCS];
    char *top = quoted(procs->rowCount > 0 ? rowAt(procs, 0)[5].text : "");
    addNext(r, "etw calls ", source, " --as tree --min 1",
            "which procs call which, without what takes less than 1 %");
    EtwText callers = {0};
    EtwTextPrintf(&callers, " --callers %s", top);
    EtwTextChar(&callers, '\0');
    addNext(r, "etw calls ", source, callers.data,
            "the callers of the proc with the most self time");
    EtwTextFree(&callers);
    EtwFree(top);
    if (hasSteps(r)) {
        addNext(r, "etw calls ", source, " --by line --as profile --top 10",
                "the lines that take the time");
    } else {
        addNext(r, "etw record --steps line -- PROGRAM", "", "",
                "then \"etw calls etw.etl --by line\": the lines that take the time");
    }
    if (r->calls->waits == 0 && r->tables[TABLE_WAITS].rowCount > 0) {
        addNext(r, "etw record -k contextswitch,systemcall -- PROGRAM", "", "",
                "what each proc waits for (requires the rights to trace the kernel)");
    }
    if (r->tables[TABLE_ERRORS].rowCount > 0) {
        addNext(r, "etw dump ", source, " --where '$event eq \"Leave\" && $Code == 1'",
                "the calls that failed, with their messages");
    }
}

static void nextOfMachine(EtwReport *r, const char *source)
{
    addNext(r, "etw summary ", source, " --by process,event", "which process caused which events");
    if (r->tables[TABLE_PROBLEMS].rowCount > 0) {
        addNext(r, "etw dump ", source, " --where '$level > 0 && $level <= 2'",
                "the events of level error or critical");
    }
    addNext(r, "etw info ", source, "", "the machine, the providers, what is damaged or lost");
}

static void addNexts(EtwReport *r)
{
    char *source = quoted(r->source);
    addNext(r, "etw report ", source, "", "the figures behind these findings");
    if (r->calls->calls > 0) {
        nextOfCalls(r, source);
    } else {
        nextOfMachine(r, source);
    }
    if (r->lost > 0) {
        addNext(r, "etw record --lossless -- PROGRAM", "", "",
                "the program waits for the trace instead of losing events");
    }
    EtwFree(source);
}

/* ---- Order ----------------------------------------------------------------------------------- */

static int byWeight(const void *a, const void *b)
{
    const Finding *x = a, *y = b;
    return x->weight != y->weight ? (x->weight > y->weight ? -1 : 1) : x->order - y->order;
}

void EtwReportFindings(EtwReport *r)
{
    Findings f = {.report = r, .work = EtwCallsWork(r->calls)};
    f.share = (double)f.work / 100;
    findLosses(&f);
    findWork(&f);
    findWaits(&f);
    findLate(&f);
    findErrors(&f);
    findFiles(&f);
    findRepeated(&f);
    findGrowing(&f);
    findProcesses(&f);
    findSyscalls(&f);
    findEvents(&f);
    findProblems(&f);
    findIdle(&f);
    size_t count = f.list.size / sizeof(Finding);
    Finding *all = (Finding *)(void *)f.list.data;
    if (count > 1) {
        qsort(all, count, sizeof *all, byWeight);
    }
    for (size_t i = 0; i < count; i++) {
        ReportCell *cell = EtwReportRow(r, TABLE_FINDINGS);
        if (cell == NULL) {
            EtwFree(all[i].name);
            EtwFree(all[i].text);
            continue;
        }
        cell[0].text = EtwReportCopy(all[i].kind, strlen(all[i].kind));
        cell[1].text = all[i].name;
        cell[2].text = all[i].text;
        cell[3].n = all[i].ns;
    }
    EtwTextFree(&f.list);
    addNexts(r);
}
