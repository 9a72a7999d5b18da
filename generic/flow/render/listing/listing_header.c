/*
 * flow/render/listing/listing_header.c --
 *
 *	The listing's header and footer: the files, counts, losses by kind, warnings, and calls that have not returned.
 */
#include "flow/render/listing/listing_int.h"
#include "base/os.h"
#include "engine/engine.h"
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

static void addProviders(const ListingSink *text, EtwText *out)
{
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
        EtwTextAdd(out, all[i]->column.data, all[i]->column.size);
        EtwTextChar(out, ' ');
        EtwAddDecimal(out, all[i]->events);
    }
    if (total > SHOWN && all[SHOWN]->events > 0) {
        ETW_ADD(out, ", others");
    }
    EtwTextFree(&list);
}

static void addCounts(const ListingSink *text, EtwText *out)
{
    ETW_ADD(out, "-- ");
    EtwAddDecimal(out, text->events);
    EtwTextStr(out, text->events == 1 ? " event" : " events");
    if (text->events > 1) {
        ETW_ADD(out, " in ");
        EtwAddDuration(out, (uint64_t)text->lastTime - (uint64_t)text->firstTime);
    }
    addProviders(text, out);
    if (text->hidden > 0) {
        ETW_ADD(out, "; not shown: ");
        EtwAddDecimal(out, text->hidden);
        EtwTextStr(out, text->hidden == 1 ? " file header record" : " file header records");
    }
    EtwTextChar(out, '\n');
}

#define MORE_BUFFERS "raise -buffersize or -buffers of \"etw start\""

/* A file's header has no kinds of loss. Most often the loss is one that more buffers prevent. */
static void addLostOfFile(EtwSink *sink, const EtlInfo *info, const char *path, EtwText *out)
{
    if (info->eventsLost == 0 && info->buffersLost == 0) {
        return;
    }
    EtwListingColor(sink, RED, out);
    ETW_ADD(out, "-- LOST: ");
    EtwAddSafeStr(out, path);
    ETW_ADD(out, ": the session lost ");
    EtwAddDecimal(out, info->eventsLost);
    EtwTextStr(out, info->eventsLost == 1 ? " event" : " events");
    if (info->buffersLost > 0) {
        ETW_ADD(out, " and ");
        EtwAddDecimal(out, info->buffersLost);
        EtwTextStr(out, info->buffersLost == 1 ? " whole buffer" : " whole buffers");
    }
    ETW_ADD(out, " (\"etw stop\" told the kinds; found no buffer: " MORE_BUFFERS ")");
    EtwListingColor(sink, RESET, out);
    EtwTextChar(out, '\n');
}

/* A line for each kind of loss, with its remedy. Each consumer reports its own loss. */
static bool addLostOfSession(EtwSink *sink, const EtwSessionInfo *info, EtwText *out)
{
    const struct {
        uint64_t count;
        const char *what, *remedy;
    } kinds[] = {
            {info->lost.noBuffer, "found no free buffer", MORE_BUFFERS},
            {info->lost.tooBig, "too large", "64 KB or a buffer at most: raise -buffersize"},
            {info->lost.fileFull, "not in the full file", "raise -maxsize, or -mode circular"},
            {info->lost.io, "refused by the disk", "make room, or take another -file"},
            {info->lost.abandoned, "never completed", "their writers were killed"},
            {info->lost.kernel, "overran the kernel's ring", "enable fewer groups, or fewer -pids"},
    };
    bool any = false;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].count == 0) {
            continue;
        }
        EtwListingColor(sink, RED, out);
        ETW_ADD(out, "-- LOST: session ");
        EtwAddSafeStr(out, info->name);
        ETW_ADD(out, ": ");
        EtwAddDecimal(out, kinds[i].count);
        EtwTextStr(out, kinds[i].count == 1 ? " event " : " events ");
        EtwTextPrintf(out, "%s (%s)", kinds[i].what, kinds[i].remedy);
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

static void addLosses(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    uint64_t lost = EtwSourceLost(source), ofFiles = 0;
    const char *unknown = NULL;
    for (int i = 0; i < EtwSourceFileCount(source); i++) {
        const char *path;
        const EtlInfo *info = EtwSourceFileInfo(source, i, &path);
        ofFiles += (uint64_t)info->eventsLost + info->buffersLost;
        unknown = info->closed ? unknown : addRunning(path, out);
        addLostOfFile(sink, info, path, out);
    }
    bool none = addLostOfSessions(sink, source, &unknown, out);
    if (lost > ofFiles) {
        EtwListingColor(sink, RED, out);
        ETW_ADD(out, "-- LOST: this listing was too slow for the session: ");
        EtwAddDecimal(out, lost - ofFiles);
        EtwTextStr(out, lost - ofFiles == 1 ? " event" : " events");
        ETW_ADD(out, " (" MORE_BUFFERS ", or enable less)");
        EtwListingColor(sink, RESET, out);
        EtwTextChar(out, '\n');
    } else if (unknown != NULL) {
        EtwTextPrintf(out, "-- losses are not known: %s\n", unknown);
    } else if (none && lost == 0) {
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

static void addWarnings(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    for (int i = 0; i < EtwSourceWarningCount(source); i++) {
        EtwListingWarning(sink, EtwSourceWarning(source, i), out);
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
    addCounts(text, out);
    if (source != NULL) {
        addLosses(sink, source, out);
        addWarnings(sink, source, out);
    }
    EtwListingOpenCalls(&text->threads, addOpen, &open);
    if (open.count > OPEN_SHOWN) {
        EtwTextPrintf(out, "-- left open: %d more\n", open.count - OPEN_SHOWN);
    }
}
