/*
 * flow/render/listing/listing_header.c --
 *
 *	The listing's header and footer: the files, what the times are, the names of the columns; counts, marks,
 *	losses by kind, warnings, and calls that have not returned.
 */
#include "flow/render/listing/listing_int.h"
#include "base/os.h"
#include "engine/loss_kinds.h"
#include "etl/read/trace_losses.h"
#include <stdlib.h>

static void addIso(int64_t time, EtwText *out)
{
    EtwSink iso = {.config.timeFormat = ETW_TIME_ISO};
    EtwTextReserve(out, 64);
    EtwSinkTime(&iso, time, 6, out);
}

static void addFileLine(const EtlInfo *info, const char *path, EtwText *out)
{
    ETW_ADD(out, "-- ");
    EtwAddSafeStr(out, path);
    if (info->loggerName[0] != 0) { /* empty in files of some merge tools */
        ETW_ADD(out, ": session ");
        EtwAddSafeStr(out, info->loggerName);
        ETW_ADD(out, ", started ");
    } else {
        ETW_ADD(out, ": started ");
    }
    addIso(info->startTime, out);
    ETW_ADD(out, ", ");
    EtwAddDecimal(out, info->cpus);
    EtwTextStr(out, info->cpus == 1 ? " processor\n" : " processors\n");
}

void EtwListingBegin(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    (void)sink;
    for (int i = 0; source != NULL && i < EtwSourceFileCount(source); i++) {
        const char *path;
        const EtlInfo *info = EtwSourceFileInfo(source, i, &path);
        addFileLine(info, path, out);
    }
}

static const char *dashOf(const EtwSink *sink)
{
    return sink->config.dash != NULL ? sink->config.dash : "-";
}

static void addOption(const EtwSink *sink, const char *name, EtwText *out)
{
    EtwTextStr(out, dashOf(sink));
    EtwTextStr(out, name);
}

/* What the numbers in the column of times are. */
static void addTimeLine(EtwSink *sink, EtwText *out)
{
    EtwTimeFormat format = sink->config.timeFormat;
    ETW_ADD(out, "-- time: ");
    if (format == ETW_TIME_RELATIVE) {
        ETW_ADD(out, "seconds since ");
        addIso(sink->base, out);
        EtwTextStr(out, sink->fromFile ? " (UTC)" : " (UTC), the first event");
    } else if (format == ETW_TIME_ISO) {
        ETW_ADD(out, "date and time (UTC)");
    } else {
        EtwTextStr(out, format == ETW_TIME_NS ? "nanoseconds since 1970-01-01T00:00:00Z (UTC)"
                                              : "FILETIME, units of 100 ns since "
                                                "1601-01-01T00:00:00Z (UTC)");
    }
    if (sink->config.width > 0 && sink->config.width < LISTING_NARROW) {
        EtwTextChar(out, '\n');
        return;
    }
    ETW_ADD(out, "; other forms: ");
    addOption(sink, "timeformat", out);
    const char *separator = " ";
    for (int i = 0; etwTimeFormatNames[i] != NULL; i++) {
        if (i != (int)format) {
            EtwTextStr(out, separator);
            EtwTextStr(out, etwTimeFormatNames[i]);
            separator = "|";
        }
    }
    EtwTextChar(out, '\n');
}

void EtwListingFirst(EtwSink *sink, const ListingLine *line, EtwText *out)
{
    ListingSink *text = sink->own;
    text->headed = true;
    addTimeLine(sink, out);
    EtwListingHeadings(sink, line, out);
}

static void collectProvider(void *ctx, EtwTableNode *node)
{
    ListingProvider *p = (ListingProvider *)node;
    EtwTextAdd(ctx, &p, sizeof p);
}

static int byEvents(const void *a, const void *b)
{
    const ListingProvider *x = *(ListingProvider *const *)a, *y = *(ListingProvider *const *)b;
    if (x->events != y->events) {
        return x->events > y->events ? -1 : 1;
    }
    int order = memcmp(&x->guid, &y->guid, sizeof x->guid);
    return order != 0 ? order : strcmp(x->name, y->name);
}

static void addProviders(const EtwSink *sink, EtwText *out)
{
    const ListingSink *text = sink->own;
    enum { SHOWN = 8 };
    EtwText list = {0};
    EtwTableVisit(&text->providers, collectProvider, &list);
    ListingProvider **all = (ListingProvider **)(void *)list.data;
    size_t total = list.size / sizeof *all;
    if (total > 0) {
        qsort(all, total, sizeof *all, byEvents);
    }
    for (size_t i = 0; i < total && i < SHOWN && all[i]->events > 0; i++) {
        EtwTextStr(out, i == 0 ? ": " : ", ");
        EtwListingAddProvider(sink, all[i], out);
        EtwTextChar(out, ' ');
        EtwAddDecimal(out, all[i]->events);
    }
    if (total > SHOWN && all[SHOWN]->events > 0) {
        ETW_ADD(out, ", others");
    }
    EtwTextFree(&list);
}

static void addCounts(const EtwSink *sink, EtwText *out)
{
    const ListingSink *text = sink->own;
    ETW_ADD(out, "-- ");
    EtwAddDecimal(out, text->events);
    EtwTextStr(out, text->events == 1 ? " event" : " events");
    if (text->events > 1) {
        ETW_ADD(out, " in ");
        EtwAddDuration(out, (uint64_t)text->lastTime - (uint64_t)text->firstTime);
    }
    addProviders(sink, out);
    if (text->hidden > 0) {
        ETW_ADD(out, "; not shown: ");
        EtwAddDecimal(out, text->hidden);
        EtwTextStr(out, text->hidden == 1 ? " file header record" : " file header records");
    }
    if (text->symbols > 0) {
        EtwTextStr(out, text->hidden > 0 ? ", " : "; not shown: ");
        EtwAddDecimal(out, text->symbols);
        EtwTextStr(out, text->symbols == 1 ? " name of a function" : " names of functions");
    }
    EtwTextChar(out, '\n');
}

/* How to read the lines. */
static void addLegend(const EtwSink *sink, EtwText *out)
{
    const ListingSink *text = sink->own;
    if (text->calls) {
        ETW_ADD(out, "-- > call, < return and duration, | within a call, = result, ! error");
        EtwTextStr(out, text->steps ? ", . command of a proc, : its end\n" : "\n");
    }
    if (text->cut > 0) {
        ETW_ADD(out, "-- ");
        EtwAddDecimal(out, text->cut);
        EtwTextStr(out, text->cut == 1 ? " line was" : " lines were");
        ETW_ADD(out, " cut at ");
        EtwAddDecimal(out, (uint64_t)sink->config.width);
        ETW_ADD(out, " columns (" ETW_LISTING_CUT "); ");
        addOption(sink, "width", out);
        ETW_ADD(out, " full shows whole lines\n");
    }
}

static void addLost(EtwSink *sink, EtwLossKind kind, uint64_t count, EtwText *out)
{
    if (kind < ETW_LOSS_FILE_BUFFERS) {
        EtwAddDecimal(out, count);
        EtwTextStr(out, count == 1 ? " event, " : " events, ");
        EtwTextStr(out, etwLossRows[kind].words);
    } else {
        EtwAddDecimal(out, count);
        EtwTextChar(out, ' ');
        EtwTextStr(out, etwLossRows[kind].words);
    }
    if (etwLossRows[kind].remedy[0] != 0) {
        ETW_ADD(out, ": ");
        EtwLossAddRemedy(out, kind, dashOf(sink));
    }
}

/* A line for each kind of loss, with its remedy. Each consumer reports its own loss. */
static bool addLostOfSession(EtwSink *sink, const EtwSessionInfo *info, EtwText *out)
{
    bool any = false;
    for (int kind = 0; kind < ETW_LOSS_KINDS; kind++) {
        uint64_t count = EtwLossCount(&info->lost, (EtwLossKind)kind);
        if (count == 0 || kind == ETW_LOSS_CONSUMER) {
            continue;
        }
        EtwListingColor(sink, RED, out);
        ETW_ADD(out, "-- LOST: session ");
        EtwAddSafeStr(out, info->name);
        ETW_ADD(out, ": ");
        addLost(sink, (EtwLossKind)kind, count, out);
        EtwListingColor(sink, RESET, out);
        EtwTextChar(out, '\n');
        any = true;
    }
    return any;
}

/*
 * Add the losses reported by live sessions. False: there are losses, or a session no longer reports
 * any.
 */
static bool addLostOfSessions(
        EtwSink *sink, const EtwSource *source, const char **unknownPtr, EtwText *out)
{
    EtwSessionInfo info;
    EtwStatus status;
    bool none = true;
    for (int i = 0; (status = EtwSourceSession(source, i, &info)) != ETW_END; i++) {
        if (status != ETW_OK) {
            *unknownPtr = "the session has ended (\"etw stop\" told them)";
        } else if (addLostOfSession(sink, &info, out)) {
            none = false;
        }
    }
    return none;
}

/* The session that is writing a file. */
typedef struct Writing {
    char path[1024];
    EtwSessionInfo session;
    bool found;
} Writing;

static bool compareFile(void *ctx, const EtwSessionInfo *info)
{
    Writing *writing = ctx;
    if (strcmp(info->file, writing->path) == 0) {
        writing->session = *info;
        writing->found = true;
    }
    return !writing->found;
}

/*
 * Why the losses of a file that was not closed are unknown. If a session is writing it, says how to
 * see the rest.
 */
static const char *addRunning(const char *path, EtwText *out)
{
    Writing writing = {.found = false};
    OsFullPath(path, writing.path, sizeof writing.path);
    EtwSessionList(compareFile, &writing);
    if (!writing.found) {
        return "a file was not closed";
    }
    EtwText name = {0};
    EtwAddSafeStr(&name, writing.session.name);
    EtwTextChar(&name, '\0');
    EtwTextPrintf(out, "-- session %s still runs: \"etw flush %s\" brings the file up to date",
            name.data, name.data);
    if (writing.session.realtime) {
        EtwTextPrintf(out, ", session:%s reads it live", name.data);
    }
    EtwTextChar(out, '\n');
    EtwTextFree(&name);
    return "a session still runs (\"etw query\" tells them)";
}

typedef struct FileLoss {
    EtwSink *sink;
    EtwText *out;
    const char *path;
} FileLoss;

static void addLostOfFile(void *ctx, const char *sentence)
{
    FileLoss *loss = ctx;
    EtwListingColor(loss->sink, RED, loss->out);
    ETW_ADD(loss->out, "-- LOST: ");
    EtwAddSafeStr(loss->out, loss->path);
    EtwTextPrintf(loss->out, ": %s", sentence);
    EtwListingColor(loss->sink, RESET, loss->out);
    EtwTextChar(loss->out, '\n');
}

static void addLostOfReader(EtwSink *sink, uint64_t lost, EtwText *out)
{
    EtwListingColor(sink, RED, out);
    ETW_ADD(out, "-- LOST: this listing: ");
    addLost(sink, ETW_LOSS_CONSUMER, lost, out);
    EtwListingColor(sink, RESET, out);
    EtwTextChar(out, '\n');
}

static void addLosses(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    uint64_t late = EtwSourceLostLive(source);
    const char *unknown = NULL;
    bool none = EtwSourceWarningCount(source) == 0;
    for (int i = 0; i < EtwSourceFileCount(source); i++) {
        FileLoss loss = {sink, out, NULL};
        const EtlInfo *info = EtwSourceFileInfo(source, i, &loss.path);
        unknown = info->closed ? unknown : addRunning(loss.path, out);
        EtlLossesVisit(info, addLostOfFile, &loss);
        none &= EtlLossesNone(info);
    }
    none &= addLostOfSessions(sink, source, &unknown, out);
    if (late > 0) {
        addLostOfReader(sink, late, out);
    } else if (unknown != NULL) {
        EtwTextPrintf(out, "-- losses are not known: %s\n", unknown);
    } else if (none) {
        ETW_ADD(out, "-- nothing lost\n");
    }
}

void EtwListingWarning(EtwSink *sink, const char *warning, EtwText *out)
{
    EtwListingColor(sink, YELLOW, out);
    ETW_ADD(out, "-- warning: ");
    EtwAddSafeStr(out, warning);
    EtwListingColor(sink, RESET, out);
    EtwTextChar(out, '\n');
}

/* A warning to be compared with the losses of a file. */
typedef struct LossSearch {
    const char *text; /* of the warning, behind "PATH: " */
    bool found;
} LossSearch;

static void compareLoss(void *ctx, const char *sentence)
{
    LossSearch *search = ctx;
    search->found |= strcmp(search->text, sentence) == 0;
}

/* True if the warning is a loss, which addLosses has shown. */
static bool isLoss(const EtwSource *source, const char *warning)
{
    LossSearch search = {NULL, false};
    for (int i = 0; i < EtwSourceFileCount(source) && !search.found; i++) {
        const char *path;
        const EtlInfo *info = EtwSourceFileInfo(source, i, &path);
        size_t size = strlen(path);
        if (strncmp(warning, path, size) == 0 && strncmp(warning + size, ": ", 2) == 0) {
            search.text = warning + size + 2;
            EtlLossesVisit(info, compareLoss, &search);
        }
    }
    return search.found;
}

static void addWarnings(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    for (int i = 0; i < EtwSourceWarningCount(source); i++) {
        if (!isLoss(source, EtwSourceWarning(source, i))) {
            EtwListingWarning(sink, EtwSourceWarning(source, i), out);
        }
    }
}

typedef struct OpenCalls {
    EtwSink *sink;
    EtwText *out;
    int count;
} OpenCalls;

enum { OPEN_SHOWN = 20 };

static void addOpen(void *ctx, const ListingThread *thread, const ListingCall *call)
{
    OpenCalls *open = ctx;
    if (open->count++ >= OPEN_SHOWN) {
        return;
    }
    ETW_ADD(open->out, "-- left open: ");
    EtwTextAdd(open->out, thread->label, thread->labelSize);
    ETW_ADD(open->out, " ");
    EtwTextAdd(open->out, call->name, call->nameSize);
    ETW_ADD(open->out, ", since ");
    int width = open->sink->secondWidth;
    open->sink->secondWidth = 0;
    open->sink->secondSize = 0;
    EtwTextReserve(open->out, 64);
    EtwSinkTime(open->sink, call->time, 6, open->out);
    open->sink->secondWidth = width;
    open->sink->secondSize = 0;
    EtwTextChar(open->out, '\n');
}

void EtwListingEnd(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    ListingSink *text = sink->own;
    OpenCalls open = {.sink = sink, .out = out};
    addLegend(sink, out);
    addCounts(sink, out);
    if (source != NULL) {
        addLosses(sink, source, out);
        addWarnings(sink, source, out);
    }
    if (!sink->partial) {
        EtwListingOpenCalls(&text->threads, addOpen, &open);
    }
    if (open.count > OPEN_SHOWN) {
        EtwTextPrintf(out, "-- left open: %d more\n", open.count - OPEN_SHOWN);
    }
}
