/*
 * flow/report/report.c --
 *
 *	Passes each event to the analyses that the report consists of.
 */
#include "flow/report/report_int.h"
#include "semantics/semantics.h"

enum { GROUPS = 2000 };

static EtwSummary *summaryNew(EtwSchemaStore *store, const char *const *by, int count,
        const char *enter, const char *leave)
{
    EtwSummaryConfig config = {
            .by = by, .byCount = count, .enter = enter, .leave = leave, .groupsMax = GROUPS};
    return EtwSummaryNew(&config, store);
}

EtwReport *EtwReportNew(EtwSchemaStore *store)
{
    static const char *const
            byCommand[] = {"Command"},
            *const byMessage[] = {"Command", "Result"}, *const byVersion[] = {"Version"},
            *const byFile[] = {"process", "FileName"}, *const byObject[] = {"process", "object"},
            *const bySyscall[] = {"process", "Syscall"}, *const byEvent[] = {"provider", "event"};
    EtwReport *r = EtwAlloc(sizeof *r);
    EtwCallsConfig config = {.tree = false};
    r->store = store;
    r->calls = EtwCallsNew(&config, store);
    r->stats = EtwTraceStatsNew(store);
    r->commands = summaryNew(store, byCommand, 1, NULL, NULL);
    r->messages = summaryNew(store, byMessage, 2, NULL, NULL);
    r->packages = summaryNew(store, byVersion, 1, NULL, NULL);
    r->files = summaryNew(store, byFile, 2, NULL, NULL);
    r->objects = summaryNew(store, byObject, 2, NULL, NULL);
    r->syscalls = summaryNew(store, bySyscall, 2, "Enter", "Exit");
    r->problems = summaryNew(store, byEvent, 2, NULL, NULL);
    r->cpus = EtwAlloc(REPORT_CPUS * sizeof *r->cpus);
    return r;
}

/* ---- Processes ------------------------------------------------------------------------------- */

/* NULL: there is no room for further processes. */
static ReportProcess *processOf(EtwReport *r, const EtwEvent *event)
{
    const char *name = event->process != NULL ? event->process : "";
    uint64_t hash = EtwHashBytes(event->pid, (const uint8_t *)name, strlen(name));
    ReportProcess *p = (ReportProcess *)EtwTableFirst(&r->processes, hash);
    while (p != NULL && (p->pid != event->pid || strcmp(p->name, name) != 0)) {
        p = (ReportProcess *)p->node.next;
    }
    if (p == NULL && r->processes.count < REPORT_PROCESSES) {
        p = EtwAlloc(sizeof *p);
        p->pid = event->pid;
        p->name = EtwStrdup(name);
        EtwTableAdd(&r->processes, &p->node, hash);
    }
    return p;
}

/*
 * The time since the CPU's last switch belongs to the process whose thread leaves it. The event may belong to the
 * thread that gets the CPU, when only that one is traced.
 */
static void takeSwitch(
        EtwReport *r, ReportProcess *p, const EtwSchema *schema, const EtwEvent *event)
{
    ReportCpu *cpu = &r->cpus[event->cpu % REPORT_CPUS];
    EtwRoleValues v;
    bool leaves = EtwRoleValuesRead(&v, schema, event) &&
                  EtwRoleNumber(&v, ETW_ROLE_OLD_TID) == event->tid;
    if (leaves && cpu->known && event->time > cpu->since && p != NULL) {
        p->cpu += (uint64_t)event->time - (uint64_t)cpu->since;
    }
    cpu->known = true;
    cpu->since = event->time;
    r->switches++;
    if (p != NULL) {
        p->switches++;
    }
}

static void takeProcess(EtwReport *r, const EtwSchema *schema, const EtwEvent *event)
{
    ReportProcess *p = processOf(r, event);
    EtwMeaning meaning = EtwMeaningOf(schema);
    bool sample = meaning == ETW_MEANS_CPU_SAMPLE;
    if (p != NULL) {
        p->events++;
        p->samples += sample;
    }
    r->samples += sample;
    if (meaning == ETW_MEANS_SWITCH) {
        takeSwitch(r, p, schema, event);
    }
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Whether the words were cut: those of two calls may differ behind the cut. */
static bool isCut(const char *words, size_t size)
{
    static const char mark[] = "\xE2\x80\xA6[+"; /* generic/script/script_text.c */
    if (size >= ETW_SUMMARY_CELL) {
        return true;
    }
    for (size_t i = 0; i + sizeof mark - 1 < size && words[size - 1] == ']'; i++) {
        if (memcmp(words + i, mark, sizeof mark - 1) == 0) {
            return true;
        }
    }
    return false;
}

static void takeCall(EtwReport *r, const EtwSchema *schema, const EtwEvent *event)
{
    EtwRoleValues v;
    size_t size;
    if (EtwRoleValuesRead(&v, schema, event)) {
        const char *words = EtwRoleText(&v, ETW_ROLE_COMMAND, &size);
        if (!isCut(words, size)) {
            EtwSummaryAdd(r->commands, event);
        }
    }
}

static void takeFailure(EtwSummary *to, const EtwSchema *schema, const EtwEvent *event)
{
    EtwRoleValues v;
    if (EtwRoleValuesRead(&v, schema, event) && EtwRoleNumber(&v, ETW_ROLE_CODE) == 1) {
        EtwSummaryAdd(to, event);
    }
}

/* A note of a user, or of `etw record` about the end of its program. */
static void takeMark(EtwReport *r, const EtwSchema *schema, const EtwEvent *event)
{
    EtwRoleValues v;
    size_t size;
    if (EtwRoleValuesRead(&v, schema, event)) {
        const char *text = EtwRoleText(&v, ETW_ROLE_DETAIL, &size);
        ReportCell *row = size > 0 ? EtwReportRow(r, TABLE_MARKS) : NULL;
        if (row != NULL) {
            row[0].n = event->time > r->stats->first
                               ? (uint64_t)event->time - (uint64_t)r->stats->first
                               : 0;
            row[1].text = EtwReportCopy(text, size);
        }
    }
}

void EtwReportAdd(EtwReport *r, const EtwEvent *event)
{
    enum { LEVEL_ERROR = 2 };
    const EtwSchema *schema = EtwSchemaOf(r->store, event);
    EtwMeaning meaning = schema != NULL ? EtwMeaningOf(schema) : ETW_MEANS_OTHER;
    EtwTraceStatsAdd(r->stats, event);
    EtwCallsAdd(r->calls, event);
    if (schema == NULL || meaning == ETW_MEANS_TRACE || meaning == ETW_MEANS_HOST) {
        return;
    }
    takeProcess(r, schema, event);
    if (meaning == ETW_MEANS_MARK) {
        takeMark(r, schema, event);
    } else if (meaning == ETW_MEANS_CALL_ENTER) {
        takeCall(r, schema, event);
    } else if (meaning == ETW_MEANS_CALL_LEAVE) {
        takeFailure(r->messages, schema, event);
    } else if (meaning == ETW_MEANS_PACKAGE_LEAVE) {
        takeFailure(r->packages, schema, event);
    } else if (meaning == ETW_MEANS_SYSCALL_ENTER || meaning == ETW_MEANS_SYSCALL_EXIT) {
        EtwSummaryAdd(r->syscalls, event);
    } else if (meaning == ETW_MEANS_FILE_OPEN || meaning == ETW_MEANS_FILE) {
        EtwSummaryAdd(r->files, event);
    } else if (event->object != NULL) {
        EtwSummaryAdd(r->objects, event);
    }
    if (!event->classic && event->desc.level > 0 && event->desc.level <= LEVEL_ERROR) {
        EtwSummaryAdd(r->problems, event);
    }
}

void EtwReportWarn(EtwReport *r, const char *warning)
{
    ReportCell *row = EtwReportRow(r, TABLE_WARNINGS);
    if (row != NULL) {
        row[0].text = EtwReportCopy(warning, strlen(warning));
    }
}

void EtwReportEnd(EtwReport *r, const char *source, uint64_t lost, bool whole)
{
    EtwSummary *const summaries[] = {
            r->commands, r->messages, r->packages, r->files, r->objects, r->syscalls, r->problems};
    r->source = EtwStrdup(source);
    r->lost = lost;
    r->whole = whole;
    EtwCallsEnd(r->calls);
    for (size_t i = 0; i < sizeof summaries / sizeof *summaries; i++) {
        EtwSummaryEnd(summaries[i]);
    }
    EtwReportTables(r);
    EtwReportFindings(r);
}

static void freeProcess(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(((ReportProcess *)node)->name);
    EtwFree(node);
}

static void freeTable(ReportTable *table)
{
    const ReportCell *cells = (const ReportCell *)(void *)table->rows.data;
    for (size_t i = 0; i < table->rows.size / sizeof *cells; i++) {
        EtwFree(cells[i].text);
    }
    EtwTextFree(&table->rows);
}

void EtwReportFree(EtwReport *r)
{
    if (r == NULL) {
        return;
    }
    EtwCallsFree(r->calls);
    EtwTraceStatsFree(r->stats);
    EtwSummaryFree(r->commands);
    EtwSummaryFree(r->messages);
    EtwSummaryFree(r->packages);
    EtwSummaryFree(r->files);
    EtwSummaryFree(r->objects);
    EtwSummaryFree(r->syscalls);
    EtwSummaryFree(r->problems);
    EtwTableFree(&r->processes, freeProcess);
    for (int i = 0; i < TABLES; i++) {
        freeTable(&r->tables[i]);
    }
    EtwFree(r->cpus);
    EtwFree(r->source);
    EtwFree(r);
}
