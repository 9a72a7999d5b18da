/*
 * tcl/consume/info_report.c --
 *
 *	etw info -format text: a readable report. Scripts use the dict (info_cmd.c).
 */
#include "tcl/consume/info_int.h"
#include "schema/model/decode.h"
#include "base/calendar.h"
#include "etl/read/trace_losses.h"
#include "flow/render/columns.h"
#include "flow/render/escape.h"
#include <stdlib.h>

/* ---- Providers -------------------------------------------------------------------------------- */

static int byGuid(const void *a, const void *b)
{
    const EtwTraceStatsKind *x = *(EtwTraceStatsKind *const *)a,
                            *y = *(EtwTraceStatsKind *const *)b;
    return memcmp(&x->provider, &y->provider, sizeof x->provider);
}

static int byEvents(const void *a, const void *b)
{
    const EtwInfoProvider *x = a, *y = b;
    return x->events != y->events ? (x->events < y->events) - (x->events > y->events)
                                  : memcmp(&x->guid, &y->guid, sizeof x->guid);
}

static void addKind(EtwInfoProvider *p, const EtwTraceStatsKind *kind)
{
    p->events += kind->count;
    if (kind->origin >= 0) {
        p->origins[kind->origin] += kind->count;
        p->name = kind->providerName;
    }
    for (int i = 0; i < ETW_COVER_COUNT; i++) {
        p->covered[i] += kind->covered[i];
        p->decoded += EtwCoverageDecoded((EtwCoverage)i) ? kind->covered[i] : 0;
        p->extra +=
                EtwCoverageDecoded((EtwCoverage)i) && i != ETW_COVER_FULL ? kind->covered[i] : 0;
    }
}

EtwInfoProviders EtwInfoProvidersOf(const EtwTraceStats *stats)
{
    EtwInfoProviders result = {0};
    EtwText kinds = {0};

    for (const EtwTraceStatsKind *k = stats->kinds; k != NULL; k = k->next) {
        EtwTextAdd(&kinds, &k, sizeof k);
    }
    size_t count = kinds.size / sizeof(EtwTraceStatsKind *);
    const EtwTraceStatsKind **sorted = (const EtwTraceStatsKind **)(void *)kinds.data;
    result.list = EtwAlloc(sizeof *result.list * (count + 1));
    if (count != 0) {
        qsort(sorted, count, sizeof *sorted, byGuid);
    }
    for (size_t i = 0; i < count; i++) {
        EtwInfoProvider *p = &result.list[result.count];
        if (i == 0 || byGuid(&sorted[i - 1], &sorted[i]) != 0) {
            result.count++;
            p->guid = sorted[i]->provider;
            p->name = sorted[i]->providerName;
        } else {
            p--;
        }
        addKind(p, sorted[i]);
    }
    for (int i = 0; i < result.count; i++) {
        result.decoded += result.list[i].decoded;
        result.extra += result.list[i].extra;
    }
    EtwTextFree(&kinds);
    qsort(result.list, (size_t)result.count, sizeof *result.list, byEvents);
    return result;
}

/* ---- Lines ------------------------------------------------------------------------------------ */

static void label(EtwText *out, const char *name)
{
    EtwTextPrintf(out, "%-13s", name);
}

static void line(EtwText *out, const char *name, const char *value)
{
    if (value != NULL && *value != 0) {
        label(out, name);
        EtwAddSafeStr(out, value);
        EtwTextChar(out, '\n');
    }
}

static void timeLine(EtwText *out, const char *name, int64_t time, int64_t start)
{
    if (time == 0) {
        return;
    }
    label(out, name);
    EtwTextFiletime(out, (uint64_t)EtwFiletimeOfNs(time));
    if (start != 0) {
        EtwTextPrintf(out, "  (%+.3f s)", ((double)time - (double)start) / 1e9);
    }
    EtwTextChar(out, '\n');
}

static void modeLine(EtwText *out, uint32_t mode)
{
    label(out, "Mode");
    for (int bit = 0; bit < 32; bit++) {
        if (mode >> bit & 1) {
            const char *name = EtwInfoModeName(bit);
            EtwTextStr(out, name ? name : "other");
            EtwTextChar(out, ' ');
        }
    }
    EtwTextPrintf(out, "(0x%x)\n", mode);
}

static void bufferLine(EtwText *out, const EtlInfo *info)
{
    label(out, "Buffers");
    EtwTextPrintf(out, "%u of ", info->buffers);
    EtwAddSize(out, info->bufferSize);
    if (info->compressedBuffers != 0) {
        EtwTextPrintf(out, ", %u compressed (%s, %.1f : 1)", info->compressedBuffers,
                EtwInfoCompression(info),
                info->packedBytes ? (double)info->unpackedBytes / (double)info->packedBytes : 0.0);
    }
    if (info->loggerCount > 1) {
        EtwTextPrintf(out, ", of %u loggers", info->loggerCount);
    }
    EtwTextChar(out, '\n');
}

static void addLoss(void *ctx, const char *sentence)
{
    line(ctx, "Lost", sentence);
}

static void lossLines(EtwText *out, const EtlInfo *info)
{
    EtlLossesVisit(info, addLoss, out);
    if (EtlLossesNone(info)) {
        line(out, "Lost", info->closed ? "nothing" : "not known: the file was not closed");
    } else if (info->damages != 0) {
        label(out, "Damaged");
        EtwTextPrintf(out, "%u place%s\n", info->damages, info->damages == 1 ? "" : "s");
    }
}

static void machineLines(EtwText *out, const EtlInfo *info, const EtwTraceStats *stats)
{
    EtwText system = {0};
    EtwInfoSystem(&system, info, stats);
    if (stats == NULL || EtwTraceStatsFact(stats, "system") == NULL) {
        EtwTextPrintf(&system, "  (%u.%u.%u)", info->major, info->minor, info->build);
    }
    EtwTextChar(&system, 0);
    line(out, "System", system.data);
    EtwTextFree(&system);
    const char *computer = stats ? EtwTraceStatsFact(stats, "computer") : NULL;
    const char *processor = stats ? EtwTraceStatsFact(stats, "processor") : NULL;
    const char *memory = stats ? EtwTraceStatsFact(stats, "memory") : NULL;
    line(out, "Computer", computer);
    label(out, "Processors");
    EtwTextPrintf(out, "%u", info->cpus);
    if (info->cpuMHz != 0) {
        EtwTextPrintf(out, " of %u MHz", info->cpuMHz);
    }
    EtwTextPrintf(out, ", pointers of %u bits", 8 * info->pointerSize);
    if (processor != NULL) {
        EtwTextStr(out, ", ");
        EtwAddSafeStr(out, processor);
    }
    if (memory != NULL) {
        EtwTextStr(out, ", ");
        EtwAddSafeStr(out, memory);
        EtwTextStr(out, " MB of memory");
    }
    EtwTextChar(out, '\n');
}

static void headerLines(
        EtwText *out, const EtlInfo *info, const char *path, const EtwTraceStats *stats)
{
    line(out, "File", path);
    label(out, "Size");
    EtwAddSize(out, info->fileSize);
    EtwTextStr(out, info->closed ? "\n" : ", not closed\n");
    if (info->localTime) {
        line(out, "Kind", "performance counter log (.blg, PDH); its times are local time");
    }
    line(out, "Session", info->loggerName);
    machineLines(out, info, stats);
    timeLine(out, "Boot", info->bootTime, 0);
    timeLine(out, "Started", info->startTime, 0);
    timeLine(out, "Ended", info->endTime, info->startTime);
    if (stats != NULL && stats->events != 0) {
        timeLine(out, "First event", stats->first, info->startTime);
        timeLine(out, "Last event", stats->last, info->startTime);
    }
    label(out, "Clock");
    EtwTextPrintf(out, "%s, %lld Hz; time zone UTC%+.1f h", EtwInfoClock(info),
            (long long)info->frequency, info->zoneBias != 0 ? -info->zoneBias / 60.0 : 0.0);
    if (info->standardName[0] != 0 &&
            info->standardName[0] != '@') { /* @: a reference to a resource */
        EtwTextChar(out, ' ');
        EtwAddSafeStr(out, info->standardName);
    }
    EtwTextChar(out, '\n');
    modeLine(out, info->mode);
    bufferLine(out, info);
    lossLines(out, info);
}

/* Not 100 unless all are decoded. */
static double percentDecoded(uint64_t decoded, uint64_t events)
{
    double percent = events ? 100.0 * (double)decoded / (double)events : 100.0;
    return decoded < events && percent > 99.9 ? 99.9 : percent;
}

static void providerLine(EtwText *out, const EtwInfoProvider *p)
{
    char guid[ETW_GUID_TEXT];
    EtwGuidFormat(&p->guid, guid);
    EtwTextPrintf(out, "%10llu  %5.1f%%  %s  ", (unsigned long long)p->events,
            percentDecoded(p->decoded, p->events), guid);
    EtwAddSafeStr(out, strcmp(p->name, guid) != 0 ? p->name : "?");
    for (int i = 0; i < ETW_ORIGIN_COUNT; i++) {
        if (p->origins[i] != 0) {
            EtwTextPrintf(out, "  %s", EtwOriginName((EtwOrigin)i));
        }
    }
    for (int i = ETW_COVER_FULL + 1; i < ETW_COVER_COUNT; i++) {
        static const char *const words[ETW_COVER_COUNT] = {"", "of newer versions",
                "with extra bytes", "shorter than described", "without a description",
                "unknown provider", "without a loaded .tmf"};
        if (p->covered[i] != 0) {
            EtwTextPrintf(out, "; %llu %s", (unsigned long long)p->covered[i], words[i]);
        }
    }
    EtwTextChar(out, '\n');
}

void EtwInfoText(EtwText *out, const EtwSource *source, const EtwTraceStats *stats)
{
    const char *path = "";
    int files = EtwSourceFileCount(source);
    const EtlInfo *info = EtwSourceFileInfo(source, 0, &path);

    headerLines(out, info, path, stats);
    for (int i = 1; i < files; i++) {
        EtwSourceFileInfo(source, i, &path);
        line(out, "and", path);
    }
    if (stats == NULL) {
        return;
    }
    EtwInfoProviders providers = EtwInfoProvidersOf(stats);
    label(out, "Events");
    EtwTextPrintf(out, "%llu, ", (unsigned long long)stats->events);
    if (providers.decoded == stats->events && providers.extra == 0) {
        EtwTextStr(out, "fully decoded\n");
    } else {
        EtwTextPrintf(out, "%.1f%% decoded%s", percentDecoded(providers.decoded, stats->events),
                providers.extra ? "" : "\n");
    }
    if (providers.extra != 0) {
        EtwTextPrintf(out, ", %llu of them with extra bytes at the end\n",
                (unsigned long long)providers.extra);
    }
    EtwTextStr(out, providers.count != 0 ? "\n    events  decoded  provider\n" : "");
    for (int i = 0; i < providers.count; i++) {
        providerLine(out, &providers.list[i]);
    }
    EtwFree(providers.list);
    for (int i = 0; i < EtwSourceWarningCount(source); i++) {
        line(out, "Warning", EtwSourceWarning(source, i));
    }
}
