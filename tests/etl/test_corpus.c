/*
 * tests/etl/test_corpus.c --
 *
 *	Reading real files, compared with reference results: counts of an independent decoder
 *	(INDEX.md), Windows' own conversion (HTTP_Server.evtx.xml), another library's text
 *	(*.baseline.txt). Headers only, nothing is decoded. These files belong to the corpus, which is not
 *	part of this repository: its folder is ETW_CORPUS, or ../shared/corpus beside the checkout. Without
 *	it the tests are skipped.
 */
#include "tests/support/check.h"
#include "base/os.h"
#include "tests/support/corpus.h"
#include "etl/format.h"
#include "etl/record.h"
#include "tests/support/etlfile.h"

/* ---- INDEX.md --------------------------------------------------------------------------------- */

static int KindOf(const char *name)
{
    static const struct {
        const char *name;
        int kind;
    } kinds[] = {{"SYS32", 1}, {"SYS64", 2}, {"FULL32", 10}, {"PERF32", 16}, {"PERF64", 17},
            {"EVT32", 18}, {"EVT64", 19}, {"FULL64", 20}, {"MSG", 0x90}, {"WPP", 0x90}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            return kinds[i].kind;
        }
    }
    return -1;
}

/* "  Windows 10.0 build 18362 (layout 1.5), 8 cpu, pointer 8, clock 1 freq 10000000, mode 0x1, ..." */
static void CheckInfo(const EtlInfo *info, const char *path, const char *line)
{
    unsigned major, minor, build, layout1, layout2, cpus, pointer, clock, mode, bufferSize, buffers,
            packed, written, lost, lostBuffers;
    long long frequency;
    const char *buf = strstr(line, "bufsize");
    if (!CHECK_MSG(
                buf != NULL &&
                        sscanf(line,
                                " Windows %u.%u build %u (layout %u.%u), %u cpu, pointer %u, clock "
                                "%u freq %lld, mode %x",
                                &major, &minor, &build, &layout1, &layout2, &cpus, &pointer, &clock,
                                &frequency, &mode) == 10 &&
                        sscanf(buf,
                                "bufsize %u, buf %u (%u compressed), header says %u; lost %u "
                                "events/%u buffers",
                                &bufferSize, &buffers, &packed, &written, &lost, &lostBuffers) == 6,
                "%s: INDEX.md says: %s", path, line)) {
        return;
    }
    bool good = info->major == major && info->minor == minor && info->build == build &&
                info->layoutMajor == layout1 && info->layoutMinor == layout2 &&
                info->cpus == cpus && info->pointerSize == pointer && info->clock == clock &&
                info->frequency == frequency && info->mode == mode;
    CHECK_MSG(good, "%s: header fields are not as in: %s", path, line);
    good = info->bufferSize == bufferSize && info->buffers == buffers &&
           info->compressedBuffers == packed && info->buffersWritten == written &&
           info->eventsLost == lost && info->buffersLost == lostBuffers &&
           info->compression == (packed != 0 ? 3 : 0);
    CHECK_MSG(good, "%s: buffers are not as in: %s", path, line);
    uint32_t byLogger = 0;
    for (uint32_t i = 0; i < info->loggerCount; i++) {
        byLogger += info->loggers[i].buffers;
    }
    CHECK_MSG(byLogger == buffers - 1, "%s: %u buffers of loggers", path, byLogger);
}

/* "  records 21: EVT64 19, SYS64 2; logger 'AMSITraceSession'" */
static void CheckKinds(const Seen *seen, const char *path, const char *line)
{
    unsigned records, count, total = 0, counts[256] = {0};
    int length;
    char kind[32];
    for (size_t i = 0; i < seen->count; i++) {
        counts[seen->events[i].kind]++;
    }
    sscanf(line, " records %u:%n", &records, &length);
    CHECK_MSG(
            seen->count == records, "%s: %u records, not %u", path, (unsigned)seen->count, records);
    CHECK_EQ(seen->info.records, seen->count);
    for (line += length; sscanf(line, " %31[A-Z0-9] %u%n", kind, &count, &length) == 2;) {
        int type = KindOf(kind);
        CHECK_MSG(type > 0 && counts[type & 0xFF] == count, "%s: %u records of kind %s, not %u",
                path, counts[type & 0xFF], kind, count);
        total += count;
        line += length;
        line += *line == ',';
    }
    CHECK_MSG(total == records, "%s: kinds of %u records were checked", path, total);
}

static unsigned CountProvider(const Seen *seen, const char *name, bool classic)
{
    unsigned count = 0;
    EtwGuid guid;
    bool kernel = strcmp(name, "kernel") == 0;
    if (!kernel && !EtwGuidParse(name, &guid)) {
        return 0;
    }
    for (size_t i = 0; i < seen->count; i++) {
        const EtwEvent *e = &seen->events[i];
        bool isKernel = e->classic && e->kind != ETL_FULL32 && e->kind != ETL_FULL64;
        count += kernel ? isKernel
                        : !isKernel && e->classic == classic && EtwGuidEqual(&e->provider, &guid);
    }
    return count;
}

/* "  providers: 8e805eb3-... 19, 2cb15d1d-...(classic) 26, kernel 2": the first ones */
static void CheckProviders(const Seen *seen, const char *path, const char *line)
{
    char name[64];
    unsigned count, checked = 0;
    int length = 0;
    sscanf(line, " providers:%n", &length);
    for (line += length; sscanf(line, " %63[-a-z0-9]%n", name, &length) == 1; checked++) {
        line += length;
        bool classic = strncmp(line, "(classic)", 9) == 0;
        line += classic ? 9 : 0;
        if (!CHECK_MSG(sscanf(line, " %u%n", &count, &length) == 1, "%s: %s", path, line)) {
            return;
        }
        unsigned got = CountProvider(seen, name, classic);
        CHECK_MSG(got == count, "%s: %u events of %s, not %u", path, got, name, count);
        line += length;
        line += *line == ',';
    }
    CHECK_MSG(checked > 0, "%s: no provider was checked", path);
}

static void CheckRising(const Seen *seen, const char *path)
{
    for (size_t i = 1; i < seen->count; i++) {
        const EtwEvent *a = &seen->events[i - 1], *b = &seen->events[i];
        bool good = a->time < b->time || (a->time == b->time && a->cpu <= b->cpu);
        if (!CHECK_MSG(good, "%s: event %u is out of order", path, (unsigned)i)) {
            return;
        }
    }
    CHECK_MSG(seen->warnings == 0 || !seen->info.closed, "%s: %s", path, seen->text);
}

static void index_md(void)
{
    char line[2000], header[2000] = "", path[1400] = "", file[400];
    unsigned checked = 0;
    Seen seen = {0};
    FILE *index = fopen(CorpusFile("INDEX.md"), "r");
    if (index == NULL) {
        SKIP("no %s (set ETW_CORPUS)", CorpusFile("INDEX.md"));
    }
    while (fgets(line, sizeof line, index) != NULL) {
        if (sscanf(line, "- `%399[^`]` (%*d bytes", file) == 1) {
            snprintf(path, sizeof path, "%s", CorpusFile(file));
        } else if (strncmp(line, "  Windows ", 10) == 0) {
            snprintf(header, sizeof header, "%s", line);
        } else if (strncmp(line, "  records ", 10) == 0) {
            seen = SeenFile(path);
            if (CHECK_MSG(seen.status == ETW_OK, "%s: %s", path, seen.error.message)) {
                CheckInfo(&seen.info, path, header);
                CheckKinds(&seen, path, line);
                CheckRising(&seen, path);
            }
        } else if (strncmp(line, "  providers: ", 13) == 0 && seen.events != NULL) {
            CheckProviders(&seen, path, line);
            SeenFree(&seen);
            checked++;
        }
    }
    fclose(index);
    CHECK_MSG(checked >= 38, "only %u files of INDEX.md were checked", checked);
}

/* ---- HTTP_Server.etl: Windows' own conversion ------------------------------------------------- */

static bool Attribute(const char *line, const char *name, char *out, size_t capacity)
{
    char pattern[40];
    snprintf(pattern, sizeof pattern, "%s=\"", name);
    const char *at = strstr(line, pattern);
    if (at == NULL) {
        return false;
    }
    at += strlen(pattern);
    size_t n = strcspn(at, "\"");
    n = n < capacity ? n : capacity - 1;
    memcpy(out, at, n);
    out[n] = 0;
    return true;
}

static unsigned long long Number(const char *line, const char *tag, char end)
{
    const char *at = strstr(line, tag);
    at = at != NULL ? strchr(at, end) : NULL;
    return at != NULL ? strtoull(at + 1, NULL, 0) : 0;
}

/* ns since 1970 of "2011-01-23T22:07:27.225759100Z" */
static int64_t TimeOf(const char *text)
{
    long long year, month, day, hour, minute, second, ns;
    if (sscanf(text, "%lld-%lld-%lldT%lld:%lld:%lld.%9lldZ", &year, &month, &day, &hour, &minute,
                &second, &ns) != 7) {
        return 0;
    }
    year -= month <= 2;
    long long days = 365 * year + year / 4 - year / 100 + year / 400 +
                     (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1 - 719468;
    return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000000000 + ns;
}

/* One line of an event's <System>: each names a field or two of the header. */
static void CheckSystemLine(const EtwEvent *e, const char *line)
{
    char text[100], guid[ETW_GUID_TEXT + 2];
    if (strstr(line, "<EventID>")) {
        CHECK_EQ(e->desc.id, Number(line, "<EventID", '>'));
    } else if (strstr(line, "<Version>")) {
        CHECK_EQ(e->desc.version, Number(line, "<Version", '>'));
    } else if (strstr(line, "<Level>")) {
        CHECK_EQ(e->desc.level, Number(line, "<Level", '>'));
    } else if (strstr(line, "<Task>")) {
        CHECK_EQ(e->desc.task, Number(line, "<Task", '>'));
    } else if (strstr(line, "<Opcode>")) {
        CHECK_EQ(e->desc.opcode, Number(line, "<Opcode", '>'));
    } else if (strstr(line, "<Keywords>")) {
        CHECK_EQ(e->desc.keyword, Number(line, "<Keywords", '>'));
    } else if (Attribute(line, "SystemTime", text, sizeof text)) {
        CHECK_EQ(e->time / 100 * 100, TimeOf(text));
    } else if (Attribute(line, "ActivityID", text, sizeof text)) {
        guid[0] = '{';
        EtwGuidFormat(&e->activity, guid + 1);
        strcat(guid, "}");
        for (char *c = text; *c != 0; c++) {
            *c = *c >= 'A' && *c <= 'F' ? (char)(*c + 32) : *c;
        }
        CHECK_STR(guid, text);
    } else if (strstr(line, "<Execution ")) {
        CHECK_EQ(e->pid, Number(line, "ProcessID", '"'));
        CHECK_EQ(e->tid, Number(line, "ThreadID", '"'));
        CHECK_EQ(e->cpu, Number(line, "ProcessorID", '"'));
        CHECK_EQ(e->kernelTime, Number(line, "KernelTime", '"'));
        CHECK_EQ(e->userTime, Number(line, "UserTime", '"'));
    }
}

static void http_server(void)
{
    char line[4000];
    size_t number = 0;
    FILE *xml = fopen(CorpusFile("microsoft__Tx/HTTP_Server.evtx.xml"), "r");
    if (xml == NULL) {
        SKIP("no %s (set ETW_CORPUS)", CorpusFile("microsoft__Tx/HTTP_Server.evtx.xml"));
    }
    Seen seen = SeenFile(CorpusFile("microsoft__Tx/HTTP_Server.etl"));
    while (fgets(line, sizeof line, xml) != NULL && checkState.bad < 20) {
        number += strncmp(line, "<Event ", 7) == 0;
        if (number != 0 && CHECK(number < seen.count)) {
            CheckSystemLine(&seen.events[number], line);
        }
    }
    fclose(xml);
    CHECK_EQ(number, 2041);
    CHECK_EQ(seen.count, 2042);
    SeenFree(&seen);
}

/* ---- Baselines: first events of each type, as another library wrote them ---------------------- */

typedef struct Line {
    double ms;
    long long pid, tid;
    unsigned cpu, size;
    bool anonymous; /* a kernel record carries no ids: that library took them from elsewhere */
} Line;

/* "EVENT 8,184.674: Name PID=1; TID=2; PName=x; ProceNum=4; DataLen=203; ..." */
static bool LineOf(const char *text, Line *line)
{
    char number[40];
    size_t n = 0;
    if (strncmp(text, "EVENT ", 6) != 0) {
        return false;
    }
    for (text += 6; *text != 0 && *text != ':' && n < sizeof number - 1; text++) {
        if (*text != ',') {
            number[n++] = *text;
        }
    }
    number[n] = 0;
    line->ms = strtod(number, NULL);
    const char *pid = strstr(text, " PID="), *cpu = strstr(text, "; ProceNum=");
    return pid != NULL && cpu != NULL &&
           sscanf(pid, " PID=%lld; TID=%lld;", &line->pid, &line->tid) == 2 &&
           sscanf(cpu, "; ProceNum=%u; DataLen=%u", &line->cpu, &line->size) == 2;
}

static bool SameAs(const EtwEvent *e, const EtlInfo *info, const Line *line)
{
    double ms = (double)(e->ticks - info->ticks0) * 1000.0 / (double)info->frequency;
    double apart = ms - line->ms;
    if (apart > 0.0011 || apart < -0.0011 || e->cpu != line->cpu || e->payloadSize != line->size) {
        return false;
    }
    bool kernel = e->classic && e->kind != ETL_FULL32 && e->kind != ETL_FULL64;
    return kernel || (e->pid == (uint32_t)line->pid && e->tid == (uint32_t)line->tid);
}

/* Each line is one event; in the order of the file, as far as times differ. */
static void CheckBaseline(const char *etl, const char *baseline, unsigned atLeast)
{
    char *text = EtwAlloc(1 << 20);
    unsigned lines = 0, missing = 0;
    Line line;
    FILE *file = fopen(CorpusFile(baseline), "r");
    if (file == NULL) {
        EtwFree(text);
        SKIP("no %s (set ETW_CORPUS)", CorpusFile(baseline));
    }
    Seen seen = SeenFile(CorpusFile(etl));
    bool *used = EtwAlloc(seen.count + 1);
    while (fgets(text, 1 << 20, file) != NULL) {
        if (!LineOf(text, &line)) {
            continue;
        }
        lines++;
        size_t i = 0;
        while (i < seen.count && (used[i] || !SameAs(&seen.events[i], &seen.info, &line))) {
            i++;
        }
        missing += i == seen.count;
        CHECK_MSG(i < seen.count || missing > 10, "%s has no event: %.150s", etl, text);
        used[i] = true;
    }
    CHECK_EQ(missing, 0);
    CHECK_MSG(lines >= atLeast, "only %u lines of %s", lines, baseline);
    fclose(file);
    EtwFree(used);
    EtwFree(text);
    SeenFree(&seen);
}

static void baseline_gcevents(void)
{
    CheckBaseline(
            "microsoft__perfview/gcevents.etl", "microsoft__perfview/gcevents.baseline.txt", 30);
}
static void baseline_gcrundown(void)
{
    CheckBaseline("microsoft__perfview/gcrundownevents.etl",
            "microsoft__perfview/gcrundownevents.baseline.txt", 10);
}
static void baseline_primitive(void)
{
    CheckBaseline("microsoft__perfview/primitive-types.etl",
            "microsoft__perfview/primitive-types.baseline.txt", 6);
}
static void baseline_net(void)
{
    CheckBaseline("microsoft__perfview/net.4.5.2.x64.etl",
            "microsoft__perfview/net.4.5.2.x64.baseline.txt", 400);
}

/* ---- Filters: the same events as an unfiltered pass gives -------------------------------------- */

static bool Passes(const EtlFilter *f, const EtwEvent *e)
{
    bool provider = f->providerCount == 0, id = f->idCount == 0, pid = f->pidCount == 0;
    for (size_t i = 0; i < f->providerCount; i++) {
        provider |= EtwGuidEqual(&f->providers[i], &e->provider);
    }
    for (size_t i = 0; i < f->idCount; i++) {
        id |= f->ids[i] == e->desc.id;
    }
    for (size_t i = 0; i < f->pidCount; i++) {
        pid |= f->pids[i] == e->pid;
    }
    return provider && id && pid && e->time >= f->from && (e->time < f->to || f->to == INT64_MAX);
}

static void CheckFilter(
        EtlReader *reader, const Seen *all, const EtlFilter *filter, const char *what)
{
    EtwEvent e;
    size_t i = 0, passed = 0;
    EtlReaderSetFilter(reader, filter);
    while (EtlReaderNext(reader, &e) == ETW_OK) {
        while (i < all->count && !Passes(filter, &all->events[i])) {
            i++;
        }
        if (!CHECK_MSG(i < all->count && e.ticks == all->events[i].ticks &&
                               e.cpu == all->events[i].cpu && e.kind == all->events[i].kind &&
                               e.payloadSize == all->events[i].payloadSize,
                    "%s: event %u is another", what, (unsigned)passed)) {
            return;
        }
        i++;
        passed++;
    }
    while (i < all->count && !Passes(filter, &all->events[i])) {
        i++;
    }
    CHECK_MSG(i == all->count, "%s: ends too early", what);
}

static void FilterFile(const char *name)
{
    const char *path = CorpusFile(name);
    EtlReader *reader;
    if (!OsFileExists(path)) {
        SKIP("no %s (set ETW_CORPUS)", path);
    }
    Seen all = SeenFile(path);
    REQUIRE(all.count > 100);
    REQUIRE(EtlReaderOpen(&reader, path, NULL, NULL, NULL) == ETW_OK);
    for (size_t i = 1; i < 12; i++) {
        const EtwEvent *a = &all.events[all.count * i / 12], *b = &all.events[all.count / i - 1];
        EtwGuid providers[] = {a->provider, b->provider};
        uint16_t ids[] = {a->desc.id, b->desc.id};
        uint32_t pids[] = {a->pid, b->pid};
        EtlFilter filter = {.from = INT64_MIN, .to = INT64_MAX};
        CheckFilter(reader, &all, &filter, "nothing");
        filter.from = a->time < b->time ? a->time : b->time;
        CheckFilter(reader, &all, &filter, "from");
        filter.to = a->time < b->time ? b->time : a->time;
        CheckFilter(reader, &all, &filter, "from and to");
        filter.providers = providers;
        filter.providerCount = i % 2 + 1;
        CheckFilter(reader, &all, &filter, "times and providers");
        filter.ids = ids;
        filter.idCount = 2;
        filter.from = INT64_MIN;
        CheckFilter(reader, &all, &filter, "to, providers and ids");
        filter.to = INT64_MAX;
        filter.pids = pids;
        filter.pidCount = 2;
        filter.providerCount = 0;
        CheckFilter(reader, &all, &filter, "ids and pids");
    }
    EtlReaderSetFilter(reader, NULL);
    EtwEvent e;
    while (EtlReaderNext(reader, &e) == ETW_OK) {
    }
    CHECK_EQ(EtlReaderInfo(reader)->records, all.count);
    EtlReaderClose(reader);
    SeenFree(&all);
}

static void filter_stored(void)
{
    FilterFile("microsoft__perfview/diaghub.kernel.1.etl");
    FilterFile("microsoft__Tx/HTTP_Server.etl");
}
static void filter_packed(void)
{
    FilterFile("microsoft__perfview/net.4.5.2.x86.etl");
    FilterFile("microsoft__demikernel/PktMon.etl");
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    OsInit();
    CHECK_RUN(index_md);
    CHECK_RUN(http_server);
    CHECK_RUN(baseline_gcevents);
    CHECK_RUN(baseline_gcrundown);
    CHECK_RUN(baseline_primitive);
    CHECK_RUN(baseline_net);
    CHECK_RUN(filter_stored);
    CHECK_RUN(filter_packed);
    return CHECK_DONE();
}
