/*
 * etl/read/trace_losses.c --
 *
 *	The losses of a file, from its header and its buffers, and the sentences that report them.
 *
 *	Sequence numbers: a session numbers its buffers from 1, over all CPUs. A file of the mode newfile
 *	begins with a higher number. So only numbers between a logger's first and last one can be
 *	missing. Missing numbers, and buffers that the header counts, mean nothing where a file has the
 *	buffers of several sessions (append mode), where buffers were overwritten (buffering mode,
 *	circular files), and where the file was not closed: its session may not have written all yet.
 */
#include "etl/read/trace_losses.h"
#include "etl/format.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Modes in which the header's number of buffers and missing sequence numbers mean nothing. */
enum { MODE_UNNUMBERED = ETL_MODE_APPEND | ETL_MODE_BUFFERING | ETL_MODE_CIRCULAR };
/* A logger cannot have lost so many buffers: its numbers are damaged. */
static const uint64_t missingMax = 1u << 30;

static int compareSequences(const void *left, const void *right)
{
    const EtlSequence *a = left, *b = right;
    if (a->logger != b->logger) {
        return a->logger < b->logger ? -1 : 1;
    }
    return a->number != b->number ? (a->number < b->number ? -1 : 1)
                                  : (a->cpu > b->cpu) - (a->cpu < b->cpu);
}

static EtlLogger *findLogger(EtlInfo *info, uint16_t id)
{
    uint32_t i = 0;
    while (i < info->loggerCount && info->loggers[i].id != id) {
        i++;
    }
    return i < info->loggerCount ? &info->loggers[i] : NULL;
}

static bool isNumbered(const EtlInfo *info)
{
    return info->closed && !(info->mode & MODE_UNNUMBERED);
}

void EtlLossesFind(EtlInfo *info, EtlSequence *list, size_t count)
{
    uint32_t repeated = 0;
    if (count > 1) {
        qsort(list, count, sizeof *list, compareSequences);
    }
    for (size_t i = 0; i < count; i++) {
        EtlLogger *logger = findLogger(info, list[i].logger);
        bool first = i == 0 || list[i - 1].logger != list[i].logger;
        if (logger == NULL) {
            continue;
        }
        if (first) {
            continue;
        }
        uint64_t step = (uint64_t)list[i].number - (uint64_t)list[i - 1].number;
        repeated += step == 0 && list[i].number != 0 && list[i].cpu == list[i - 1].cpu;
        if (step > 1 && isNumbered(info)) {
            logger->firstMissing =
                    logger->missing == 0 ? list[i - 1].number + 1 : logger->firstMissing;
            logger->missing += step - 1;
        }
    }
    info->repeated = repeated > info->duplicates ? repeated - info->duplicates : 0;
}

void EtlLossesAdd(EtlInfo *info, const EtlInfo *part)
{
    info->eventsLost += part->eventsLost;
    info->buffersLost += part->buffersLost;
    info->eventsLostMarks += part->eventsLostMarks;
    info->buffersLostMarks += part->buffersLostMarks;
    info->buffers += part->buffers;
    info->buffersWritten += part->buffersWritten;
    info->buffersByType[ETL_BUFFER_EMPTY_MARKER] += part->buffersByType[ETL_BUFFER_EMPTY_MARKER];
    info->duplicates += part->duplicates;
    info->repeated += part->repeated;
    info->damages += part->damages;
    for (uint32_t i = 0; i < part->loggerCount; i++) {
        EtlLogger *logger = findLogger(info, part->loggers[i].id);
        if (logger != NULL && part->loggers[i].missing != 0) {
            logger->firstMissing =
                    logger->missing == 0 ? part->loggers[i].firstMissing : logger->firstMissing;
            logger->missing += part->loggers[i].missing;
        }
    }
}

uint32_t EtlLossesUnread(const EtlInfo *info)
{
    uint32_t read = info->buffers - info->duplicates;
    return isNumbered(info) && info->buffersWritten > read ? info->buffersWritten - read : 0;
}

/* The number of missing sequence numbers. */
static uint64_t missingNumbers(const EtlInfo *info)
{
    uint64_t missing = 0;
    for (uint32_t i = 0; i < info->loggerCount; i++) {
        missing += info->loggers[i].missing < missingMax ? info->loggers[i].missing : 0;
    }
    return missing;
}

uint64_t EtlLossesBuffers(const EtlInfo *info)
{
    uint64_t unread = EtlLossesUnread(info), missing = missingNumbers(info);
    return info->buffersLost + (missing > unread ? missing : unread);
}

/* ---- Sentences ------------------------------------------------------------------------------- */

typedef struct Report {
    EtlLossProc *proc;
    void *ctx;
} Report;

static void report(const Report *t, const char *format, ...) ETW_PRINTF(2, 3);
static void report(const Report *t, const char *format, ...)
{
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    t->proc(t->ctx, text);
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void reportHeader(const Report *t, const EtlInfo *info)
{
    bool one = info->buffersLost == 1;
    if (info->eventsLost != 0) {
        report(t,
                "the session lost %lu event%s (more or larger buffers of the session prevent most "
                "losses)",
                (unsigned long)info->eventsLost, plural(info->eventsLost));
    }
    if (info->buffersLost != 0) {
        report(t,
                "%lu whole buffer%s lost: the session could not write %s, or the file that this "
                "one was copied from lacked %s",
                (unsigned long)info->buffersLost, one ? " was" : "s were", one ? "it" : "them",
                one ? "it" : "them");
    }
}

static void reportMissing(const Report *t, const EtlInfo *info, const EtlLogger *logger)
{
    char of[30] = "";
    if (logger->missing == 0) {
        return;
    }
    if (info->loggerCount > 1) {
        snprintf(of, sizeof of, " of logger %u", logger->id);
    }
    if (logger->missing > missingMax) {
        report(t, "the sequence numbers of the buffers%s are damaged: buffers may be missing", of);
    } else {
        report(t, "%llu buffer%s%s %s missing: the sequence numbers have %s %lld",
                (unsigned long long)logger->missing, plural(logger->missing), of,
                logger->missing == 1 ? "is" : "are",
                logger->missing == 1 ? "a gap at" : "gaps, the first at",
                (long long)logger->firstMissing);
    }
}

void EtlLossesVisit(const EtlInfo *info, EtlLossProc *proc, void *ctx)
{
    Report t = {proc, ctx};
    uint32_t unread = EtlLossesUnread(info);
    reportHeader(&t, info);
    if (info->eventsLostMarks + info->buffersLostMarks != 0) {
        report(&t,
                "events were lost while this was recorded: %lu buffers are marked with lost "
                "events, %lu with lost buffers",
                (unsigned long)info->eventsLostMarks, (unsigned long)info->buffersLostMarks);
    }
    if (unread > missingNumbers(info)) { /* otherwise the gaps below are these buffers */
        report(&t, "%lu of the %lu buffers that the file's header counts are not in the file",
                (unsigned long)unread, (unsigned long)info->buffersWritten);
    }
    if (info->buffersByType[ETL_BUFFER_EMPTY_MARKER] != 0) {
        report(&t, "the session dropped %lu buffer%s: empty ones stand in their place",
                (unsigned long)info->buffersByType[ETL_BUFFER_EMPTY_MARKER],
                plural(info->buffersByType[ETL_BUFFER_EMPTY_MARKER]));
    }
    for (uint32_t i = 0; i < info->loggerCount; i++) {
        reportMissing(&t, info, &info->loggers[i]);
    }
    if (info->duplicates != 0) {
        report(&t, "%lu buffer%s occur%s twice: the copies are skipped",
                (unsigned long)info->duplicates, plural(info->duplicates),
                info->duplicates == 1 ? "s" : "");
    }
    if (info->repeated != 0 && isNumbered(info)) {
        report(&t, "%lu buffer%s the sequence number of another buffer: both are read",
                (unsigned long)info->repeated, info->repeated == 1 ? " has" : "s have");
    }
}

static void markFound(void *ctx, const char *sentence)
{
    (void)sentence;
    *(bool *)ctx = true;
}

bool EtlLossesNone(const EtlInfo *info)
{
    bool found = info->damages != 0;
    EtlLossesVisit(info, markFound, &found);
    return !found;
}
