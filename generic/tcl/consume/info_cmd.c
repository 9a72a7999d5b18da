/*
 * tcl/consume/info_cmd.c --
 *
 *	etw info FILE: the contents of a trace file's header, problems found when reading it, and
 *	its number of events by kind with the source of their schema; as a dict, or as text
 *	(info_report.c).
 */
#include "tcl/consume/info_int.h"
#include "tcl/consume/read_command.h"
#include "flow/render/format_registry.h"
#include "etl/compress/decompress.h"
#include "etl/format.h"
#include "etl/read/trace_losses.h"
#include <stdio.h>

/* ---- The header ------------------------------------------------------------------------------- */

const char *EtwInfoModeName(int bit)
{
    static const char *const names[32] = {[0] = "sequential",
            [1] = "circular",
            [2] = "append",
            [3] = "newfile",
            [4] = "ms-flush-timer",
            [5] = "preallocate",
            [6] = "nonstoppable",
            [7] = "secure",
            [8] = "realtime",
            [9] = "delay-open",
            [10] = "buffering",
            [11] = "private",
            [12] = "add-header",
            [13] = "kilobytes",
            [14] = "global-sequence",
            [15] = "local-sequence",
            [16] = "relog",
            [17] = "private-in-process",
            [22] = "stop-on-hybrid-shutdown",
            [23] = "persist-on-hybrid-shutdown",
            [24] = "paged-memory",
            [25] = "system-logger",
            [26] = "compressed",
            [27] = "independent",
            [28] = "no-per-processor-buffering",
            [29] = "blocking",
            [31] = "add-to-triage-dump"};
    return names[bit];
}

static Tcl_Obj *modesObj(uint32_t mode)
{
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);

    for (int bit = 0; bit < 32; bit++) {
        if (mode >> bit & 1) {
            const char *name = EtwInfoModeName(bit);
            Tcl_ListObjAppendElement(NULL, list,
                    name ? Tcl_NewStringObj(name, -1) : Tcl_ObjPrintf("0x%x", 1u << bit));
        }
    }
    return list;
}

const char *EtwInfoCompression(const EtlInfo *info)
{
    switch (info->compression) {
    case ETL_FORMAT_LZNT1:
        return "lznt1";
    case ETL_FORMAT_XPRESS:
        return "xpress";
    case ETL_FORMAT_HUFFMAN:
        return "xpress-huffman";
    case ETL_FORMAT_ZSTD:
        return "zstd";
    default:
        return info->compressedBuffers != 0 ? "unknown" : "none";
    }
}

static Tcl_Obj *zoneObj(const EtlInfo *info)
{
    Tcl_Obj *dict = Tcl_NewDictObj();

    EtwPut(dict, "bias", Tcl_NewIntObj(info->zoneBias));
    EtwPut(dict, "standard", EtwStringObj(info->standardName));
    EtwPut(dict, "standardbias", Tcl_NewIntObj(info->standardBias));
    EtwPut(dict, "daylight", EtwStringObj(info->daylightName));
    EtwPut(dict, "daylightbias", Tcl_NewIntObj(info->daylightBias));
    EtwPut(dict, "localtime", Tcl_NewBooleanObj(info->localTime));
    return dict;
}

static Tcl_Obj *compressionObj(const EtlInfo *info)
{
    Tcl_Obj *dict = Tcl_NewDictObj();

    EtwPut(dict, "format", Tcl_NewStringObj(EtwInfoCompression(info), -1));
    EtwPut(dict, "buffers", EtwUint64Obj(info->compressedBuffers));
    EtwPut(dict, "packed", EtwUint64Obj(info->packedBytes));
    EtwPut(dict, "unpacked", EtwUint64Obj(info->unpackedBytes));
    return dict;
}

/* Losses, from the header and the buffers. */
static Tcl_Obj *lossesObj(const EtlInfo *info)
{
    Tcl_Obj *dict = Tcl_NewDictObj();
    uint64_t missing = 0;

    for (uint32_t i = 0; i < info->loggerCount; i++) {
        missing += info->loggers[i].missing;
    }
    EtwPut(dict, "events", EtwUint64Obj(info->eventsLost));
    EtwPut(dict, "buffers", EtwUint64Obj(info->buffersLost));
    EtwPut(dict, "eventmarks", EtwUint64Obj(info->eventsLostMarks));
    EtwPut(dict, "buffermarks", EtwUint64Obj(info->buffersLostMarks));
    EtwPut(dict, "emptymarkers", EtwUint64Obj(info->buffersByType[ETL_BUFFER_EMPTY_MARKER]));
    EtwPut(dict, "missing", EtwUint64Obj(missing));
    EtwPut(dict, "unread", EtwUint64Obj(EtlLossesUnread(info)));
    EtwPut(dict, "duplicates", EtwUint64Obj(info->duplicates));
    EtwPut(dict, "repeated", EtwUint64Obj(info->repeated));
    EtwPut(dict, "damages", EtwUint64Obj(info->damages));
    return dict;
}

static Tcl_Obj *loggersObj(const EtlInfo *info)
{
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);

    for (uint32_t i = 0; i < info->loggerCount; i++) {
        const EtlLogger *logger = &info->loggers[i];
        Tcl_Obj *dict = Tcl_NewDictObj();
        EtwPut(dict, "id", Tcl_NewIntObj(logger->id));
        EtwPut(dict, "buffers", EtwUint64Obj(logger->buffers));
        EtwPut(dict, "cpus", EtwUint64Obj(logger->cpus));
        EtwPut(dict, "missing", EtwUint64Obj(logger->missing));
        Tcl_ListObjAppendElement(NULL, list, dict);
    }
    return list;
}

static Tcl_Obj *bufferTypesObj(const EtlInfo *info)
{
    static const char *const names[ETL_BUFFER_TYPES] = {"generic", "rundown", "context-swap",
            "reference-time", "header", "batched", "empty-marker", "debug-info"};
    Tcl_Obj *dict = Tcl_NewDictObj();

    for (int i = 0; i < ETL_BUFFER_TYPES; i++) {
        if (info->buffersByType[i] != 0) {
            EtwPut(dict, names[i], EtwUint64Obj(info->buffersByType[i]));
        }
    }
    return dict;
}

static Tcl_Obj *groupsObj(const EtlInfo *info)
{
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);

    for (int i = 0; info->hasGroupMasks && i < 8; i++) {
        Tcl_ListObjAppendElement(NULL, list, Tcl_ObjPrintf("0x%08x", info->groupMasks[i]));
    }
    return list;
}

const char *EtwInfoClock(const EtlInfo *info)
{
    static const char *const clocks[] = {"unknown", "qpc", "systemtime", "cycles"};
    return clocks[info->clock < 4 ? info->clock : 0];
}

/* The system named in the events, otherwise that of the header's version. */
void EtwInfoSystem(EtwText *out, const EtlInfo *info, const EtwTraceStats *stats)
{
    const char *system = stats ? EtwTraceStatsFact(stats, "system") : NULL;

    if (system != NULL) {
        EtwTextStr(out, system);
    } else {
        EtwWindowsName(out, info->major, info->minor, info->build,
                stats ? EtwTraceStatsFact(stats, "product") : NULL);
    }
}

static void putHeader(Tcl_Obj *dict, const EtlInfo *info, const char *path)
{
    bool timed = info->closed && info->endTime >= info->startTime;

    EtwPut(dict, "file", EtwStringObj(path));
    EtwPut(dict, "session", EtwStringObj(info->loggerName));
    EtwPut(dict, "logfile", EtwStringObj(info->logFile));
    EtwPut(dict, "version", Tcl_ObjPrintf("%u.%u.%u", info->major, info->minor, info->build));
    EtwPut(dict, "cpus", EtwUint64Obj(info->cpus));
    EtwPut(dict, "pointersize", EtwUint64Obj(info->pointerSize));
    EtwPut(dict, "mode", Tcl_ObjPrintf("0x%x", info->mode));
    EtwPut(dict, "clock", Tcl_NewStringObj(EtwInfoClock(info), -1));
    EtwPut(dict, "frequency", Tcl_NewWideIntObj(info->frequency));
    EtwPut(dict, "started", Tcl_NewWideIntObj(info->startTime));
    EtwPut(dict, "ended", Tcl_NewWideIntObj(info->endTime));
    EtwPut(dict, "duration",
            EtwUint64Obj(timed ? (uint64_t)info->endTime - (uint64_t)info->startTime : 0));
    EtwPut(dict, "boot", Tcl_NewWideIntObj(info->bootTime));
    EtwPut(dict, "bias", Tcl_NewIntObj(info->zoneBias));
    EtwPut(dict, "closed", Tcl_NewBooleanObj(info->closed));
    EtwPut(dict, "size", EtwUint64Obj(info->fileSize));
    EtwPut(dict, "buffersize", EtwUint64Obj(info->bufferSize));
    EtwPut(dict, "buffers", EtwUint64Obj(info->buffers));
    EtwPut(dict, "lost", EtwUint64Obj(info->eventsLost));
    EtwPut(dict, "lostbuffers", EtwUint64Obj(info->buffersLost));
}

/* Keys that were added in later versions of the command. */
static void putMore(Tcl_Obj *dict, const EtlInfo *info, const EtwTraceStats *stats)
{
    EtwText system = {0};

    EtwInfoSystem(&system, info, stats);
    EtwPut(dict, "os", EtwTextObj(system.data, system.size));
    EtwTextFree(&system);
    EtwPut(dict, "buildlab", EtwStringObj(info->buildLab));
    EtwPut(dict, "cpumhz", EtwUint64Obj(info->cpuMHz));
    EtwPut(dict, "layout", Tcl_ObjPrintf("%u.%u", info->layoutMajor, info->layoutMinor));
    EtwPut(dict, "modes", modesObj(info->mode));
    EtwPut(dict, "zone", zoneObj(info));
    EtwPut(dict, "losses", lossesObj(info));
    EtwPut(dict, "compression", compressionObj(info));
    EtwPut(dict, "buffertypes", bufferTypesObj(info));
    EtwPut(dict, "loggers", loggersObj(info));
    EtwPut(dict, "groups", groupsObj(info));
}

/* ---- The events ------------------------------------------------------------------------------- */

/* Add a count to {provider {event count ...} ...}. */
static void addKind(Tcl_Obj *dict, const EtwTraceStatsKind *kind)
{
    Tcl_Obj *path[2] = {EtwStringObj(kind->providerName), EtwStringObj(kind->event)};
    Tcl_Obj *events = NULL, *old = NULL;
    Tcl_WideInt before = 0;

    Tcl_IncrRefCount(path[0]);
    Tcl_IncrRefCount(path[1]);
    Tcl_DictObjGet(NULL, dict, path[0], &events);
    if (events != NULL && Tcl_DictObjGet(NULL, events, path[1], &old) == TCL_OK && old) {
        Tcl_GetWideIntFromObj(NULL, old, &before); /* an event of the same name with other fields */
    }
    Tcl_DictObjPutKeyList(NULL, dict, 2, path, EtwUint64Obj(kind->count + (uint64_t)before));
    Tcl_DecrRefCount(path[0]);
    Tcl_DecrRefCount(path[1]);
}

static Tcl_Obj *providersObj(const EtwTraceStats *stats)
{
    Tcl_Obj *dict = Tcl_NewDictObj();

    for (const EtwTraceStatsKind *kind = stats->kinds; kind != NULL; kind = kind->next) {
        addKind(dict, kind);
    }
    return dict;
}

static Tcl_Obj *coverageObj(const EtwInfoProvider *p)
{
    Tcl_Obj *dict = Tcl_NewDictObj(), *origins = Tcl_NewDictObj(), *covered = Tcl_NewDictObj();

    for (int i = 0; i < ETW_ORIGIN_COUNT; i++) {
        if (p->origins[i] != 0) {
            EtwPut(origins, EtwOriginName((EtwOrigin)i), EtwUint64Obj(p->origins[i]));
        }
    }
    for (int i = 0; i < ETW_COVER_COUNT; i++) {
        if (p->covered[i] != 0) {
            EtwPut(covered, EtwCoverageName((EtwCoverage)i), EtwUint64Obj(p->covered[i]));
        }
    }
    EtwPut(dict, "name", EtwStringObj(p->name));
    EtwPut(dict, "events", EtwUint64Obj(p->events));
    EtwPut(dict, "decoded", EtwUint64Obj(p->decoded));
    EtwPut(dict, "extra", EtwUint64Obj(p->extra));
    EtwPut(dict, "by", origins);
    EtwPut(dict, "covered", covered);
    return dict;
}

static Tcl_Obj *coveragesObj(const EtwInfoProviders *providers)
{
    Tcl_Obj *dict = Tcl_NewDictObj();

    for (int i = 0; i < providers->count; i++) {
        Tcl_Obj *guid = EtwGuidObj(&providers->list[i].guid);
        Tcl_DictObjPut(NULL, dict, guid, coverageObj(&providers->list[i]));
    }
    return dict;
}

static Tcl_Obj *factsObj(const EtwTraceStats *stats)
{
    Tcl_Obj *dict = Tcl_NewDictObj();

    for (const EtwTraceFact *f = stats->facts; f != NULL; f = f->next) {
        EtwPut(dict, f->name, EtwStringObj(f->value));
    }
    return dict;
}

/* The traces of an archive; empty for a single one. */
static Tcl_Obj *filesObj(const EtwSource *source)
{
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);
    int count = EtwSourceFileCount(source);

    for (int i = 0; count > 1 && i < count; i++) {
        const char *path = "";
        EtwSourceFileInfo(source, i, &path);
        Tcl_ListObjAppendElement(NULL, list, EtwStringObj(path));
    }
    return list;
}

static Tcl_Obj *infoDict(const EtwQuery *query, const EtwTraceStats *stats)
{
    const EtwSource *source = query->source;
    Tcl_Obj *dict = Tcl_NewDictObj();
    const char *path = "";
    const EtlInfo *info = EtwSourceFileInfo(source, 0, &path);

    putHeader(dict, info, path ? path : "");
    if (stats != NULL) {
        EtwPut(dict, "events", EtwUint64Obj(stats->events));
        EtwPut(dict, "header", EtwUint64Obj(stats->header));
        EtwPut(dict, "first", Tcl_NewWideIntObj(stats->first));
        EtwPut(dict, "last", Tcl_NewWideIntObj(stats->last));
        EtwPut(dict, "providers", providersObj(stats));
        EtwPut(dict, "warnings", EtwQueryWarnings(query));
    }
    putMore(dict, info, stats);
    if (stats != NULL) {
        EtwInfoProviders providers = EtwInfoProvidersOf(stats);
        EtwPut(dict, "machine", factsObj(stats));
        EtwPut(dict, "metadata", EtwUint64Obj(stats->metadata));
        EtwPut(dict, "decoded", EtwUint64Obj(providers.decoded));
        EtwPut(dict, "extra", EtwUint64Obj(providers.extra));
        EtwPut(dict, "coverage", coveragesObj(&providers));
        EtwFree(providers.list);
    }
    EtwPut(dict, "files", filesObj(source));
    return dict;
}

/* ---- The command ------------------------------------------------------------------------------ */

typedef struct InfoReading {
    EtwReading reading;
    int providers; /* read the events, too */
    int format;
    EtwTraceStats *stats; /* NULL: the header only */
} InfoReading;

static const EtwOption infoOptions[] = {
        {"-format", ETW_OPT_ENUM, offsetof(InfoReading, format), 0, 0, 0, etwInfoFormatNames},
        ETW_OPTION_PROGRESS,
        {"-providers", ETW_OPT_BOOL, offsetof(InfoReading, providers), 0, 0, 0, NULL},
        ETW_OPTION_SCHEMA,
        ETW_OPTION_END,
};

static int checkFile(void *record)
{
    EtwReading *r = record;
    Tcl_Obj *file;

    Tcl_ListObjIndex(NULL, r->sources, 0, &file);
    return strncmp(Tcl_GetString(file), "session:", 8) != 0
                   ? TCL_OK
                   : EtwTclFail(r->interp, ETW_E_ARG, "FILE", Tcl_GetString(file),
                             "\"%.100s\" is a session, not a file: \"etw query\" describes "
                             "sessions",
                             Tcl_GetString(file));
}

static int beginInfo(void *record)
{
    InfoReading *o = record;
    EtwQuery *query = &o->reading.query;

    if (!o->providers) {
        return TCL_BREAK;
    }
    EtwSourceHarvest(query->source, query->filter.store);
    o->stats = EtwTraceStatsNew(query->filter.store);
    return TCL_OK;
}

static int addInfoEvent(void *record, EtwEvent *event)
{
    EtwTraceStatsAdd(((InfoReading *)record)->stats, event);
    return TCL_OK;
}

static int endInfo(void *record)
{
    InfoReading *o = record;
    const EtwQuery *query = &o->reading.query;
    EtwText text = {0};

    if (ETW_FORMAT_INFO + o->format == ETW_FORMAT_INFO_TEXT) {
        EtwInfoText(&text, query->source, o->stats);
        o->reading.result = EtwTakeText(o->reading.interp, &text);
    } else {
        o->reading.result = infoDict(query, o->stats);
    }
    return o->reading.result ? TCL_OK : TCL_ERROR;
}

static int closeInfo(void *record, int result)
{
    EtwTraceStats *stats = ((InfoReading *)record)->stats;

    if (stats != NULL) {
        EtwTraceStatsFree(stats);
    }
    return result;
}

static const InfoReading infoDefaults = {.providers = 1};
const EtwReadCommand etwInfoCommand = {
        .size = sizeof(InfoReading),
        .defaults = &infoDefaults,
        .usage = "file ?-option value ...?",
        .words = ETW_WORDS_FILE,
        .options = infoOptions,
        .check = checkFile,
        .begin = beginInfo,
        .event = addInfoEvent,
        .end = endInfo,
        .close = closeInfo,
};
