/*
 * flow/text_ends.c --
 *
 *	What stands before and after the lines of a listing: the files, and then counts,
 *	losses by kind, warnings, and the calls that were never left.
 */
#include "flow/text_impl.h"
#include "engine/engine.h"
#include <stdlib.h>

static void addIso(int64_t time, EtwText *out)
{
    EtwSink iso = {.config.timeFormat = ETW_TIME_ISO};
    EtwTextReserve(out, 64);
    EtwSinkTime(&iso, time, 6, out);
}

static void addFileLine(EtwSink *sink, const EtlInfo *info, const char *path, EtwText *out)
{
    ETW_ADD(out, "-- ");
    EtwTextSafe(sink, (const uint8_t *)path, strlen(path), out);
    ETW_ADD(out, ": session ");
    EtwTextSafe(sink, (const uint8_t *)info->loggerName, strlen(info->loggerName), out);
    ETW_ADD(out, ", started ");
    addIso(info->startTime, out);
    ETW_ADD(out, ", ");
    EtwAddDecimal(out, info->cpus);
    EtwTextStr(out, info->cpus == 1 ? " processor\n" : " processors\n");
}

void EtwTextBegin(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    for (int i = 0; source != NULL && i < EtwSourceFileCount(source); i++) {
        const char *path;
        const EtlInfo *info = EtwSourceFileInfo(source, i, &path);
        addFileLine(sink, info, path, out);
    }
}

static void collectProvider(void *ctx, EtwTableNode *node)
{
    TextProvider *p = (TextProvider *)node;
    EtwTextAdd(ctx, &p, sizeof p);
}

static int byEvents(const void *a, const void *b)
{
    const TextProvider *x = *(TextProvider *const *)a, *y = *(TextProvider *const *)b;
    if (x->events != y->events) {
        return x->events > y->events ? -1 : 1;
    }
    return memcmp(&x->guid, &y->guid, sizeof x->guid);
}

static void addProviders(const TextSink *text, EtwText *out)
{
    enum { SHOWN = 8 };
    EtwText list = {0};
    EtwTableVisit(&text->providers, collectProvider, &list);
    TextProvider **all = (TextProvider **)(void *)list.data;
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

static void addCounts(const TextSink *text, EtwText *out)
{
    ETW_ADD(out, "-- ");
    EtwAddDecimal(out, text->events);
    EtwTextStr(out, text->events == 1 ? " event" : " events");
    if (text->events > 1) {
        ETW_ADD(out, " in ");
        EtwTextDuration(out, (uint64_t)text->lastTime - (uint64_t)text->firstTime);
    }
    addProviders(text, out);
    if (text->hidden > 0) {
        ETW_ADD(out, "; not shown: ");
        EtwAddDecimal(out, text->hidden);
        EtwTextStr(out, text->hidden == 1 ? " file header record" : " file header records");
    }
    EtwTextChar(out, '\n');
}

/* "3 events (no buffer, too large or disk)": kinds as far as the file tells them apart. */
static void addLostOfFile(EtwSink *sink, const EtlInfo *info, const char *path, EtwText *out)
{
    if (info->eventsLost == 0 && info->buffersLost == 0) {
        return;
    }
    EtwTextColor(sink, RED, out);
    ETW_ADD(out, "-- LOST: ");
    EtwTextSafe(sink, (const uint8_t *)path, strlen(path), out);
    ETW_ADD(out, ": the session lost ");
    EtwAddDecimal(out, info->eventsLost);
    EtwTextStr(out, info->eventsLost == 1 ? " event" : " events");
    if (info->buffersLost > 0) {
        ETW_ADD(out, " and ");
        EtwAddDecimal(out, info->buffersLost);
        EtwTextStr(out, info->buffersLost == 1 ? " whole buffer" : " whole buffers");
    }
    EtwTextColor(sink, RESET, out);
    EtwTextChar(out, '\n');
}

/* "19 events found no free buffer, 1 too large": what consumers lost is told by each of them. */
static bool addLostOfSession(EtwSink *sink, const EtwSessionInfo *info, EtwText *out)
{
    const struct {
        uint64_t count;
        const char *one, *many;
    } kinds[] = {
            {info->lost.noBuffer, " event found no free buffer", " events found no free buffer"},
            {info->lost.tooBig, " too large", " too large"},
            {info->lost.fileFull, " not in the full file", " not in the full file"},
            {info->lost.io, " refused by the disk", " refused by the disk"},
            {info->lost.abandoned, " never completed", " never completed"},
            {info->lost.kernel, " overran in the kernel", " overran in the kernel"},
    };
    bool any = false;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].count == 0) {
            continue;
        }
        if (!any) {
            EtwTextColor(sink, RED, out);
            ETW_ADD(out, "-- LOST: session ");
            EtwTextSafe(sink, (const uint8_t *)info->name, strlen(info->name), out);
        }
        EtwTextStr(out, any ? ", " : ": ");
        EtwAddDecimal(out, kinds[i].count);
        EtwTextStr(out, kinds[i].count == 1 ? kinds[i].one : kinds[i].many);
        any = true;
    }
    if (any) {
        EtwTextColor(sink, RESET, out);
        EtwTextChar(out, '\n');
    }
    return any;
}

/* The losses that live sessions tell. False: there are some, or one that cannot tell any more. */
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

static void addLosses(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    uint64_t lost = EtwSourceLost(source), ofFiles = 0;
    const char *unknown = NULL;
    for (int i = 0; i < EtwSourceFileCount(source); i++) {
        const char *path;
        const EtlInfo *info = EtwSourceFileInfo(source, i, &path);
        ofFiles += (uint64_t)info->eventsLost + info->buffersLost;
        unknown = info->closed ? unknown : "a file was not closed";
        addLostOfFile(sink, info, path, out);
    }
    bool none = addLostOfSessions(sink, source, &unknown, out);
    if (lost > ofFiles) {
        EtwTextColor(sink, RED, out);
        ETW_ADD(out, "-- LOST: this listing was too slow for the session: ");
        EtwAddDecimal(out, lost - ofFiles);
        EtwTextStr(out, lost - ofFiles == 1 ? " event" : " events");
        EtwTextColor(sink, RESET, out);
        EtwTextChar(out, '\n');
    } else if (unknown != NULL) {
        EtwTextPrintf(out, "-- losses are not known: %s\n", unknown);
    } else if (none && lost == 0) {
        ETW_ADD(out, "-- nothing lost\n");
    }
}

static void addWarnings(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    for (int i = 0; i < EtwSourceWarningCount(source); i++) {
        const char *warning = EtwSourceWarning(source, i);
        EtwTextColor(sink, YELLOW, out);
        ETW_ADD(out, "-- warning: ");
        EtwTextSafe(sink, (const uint8_t *)warning, strlen(warning), out);
        EtwTextColor(sink, RESET, out);
        EtwTextChar(out, '\n');
    }
}

typedef struct OpenCalls {
    EtwSink *sink;
    EtwText *out;
    int count;
} OpenCalls;

enum { OPEN_SHOWN = 20 };

static void addOpen(void *ctx, const TextThread *thread, const TextCall *call)
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

void EtwTextEnd(EtwSink *sink, const EtwSource *source, EtwText *out)
{
    TextSink *text = sink->own;
    OpenCalls open = {.sink = sink, .out = out};
    addCounts(text, out);
    if (source != NULL) {
        addLosses(sink, source, out);
        addWarnings(sink, source, out);
    }
    EtwTextOpenCalls(&text->threads, addOpen, &open);
    if (open.count > OPEN_SHOWN) {
        EtwTextPrintf(out, "-- left open: %d more\n", open.count - OPEN_SHOWN);
    }
}
