/*
 * flow/source/source_perf.c --
 *
 *	A perf.data file or pipe as a source (flow/source/source_perf.h).
 */
#include "flow/source/source_perf.h"
#include "base/text.h"
#include "flow/source/source_int.h"

enum { WARNINGS_MAX = 16 /* more kinds than there are */ };

typedef struct PerfSource {
    EtwSource base;
    EtwPerfReader *reader;
    char *path;
    OsMap map; /* of a pipe: empty */
    void (*close)(void *ctx);
    void *closeCtx;
    char *warnings[WARNINGS_MAX];
    int warningCount, noticeCount;
} PerfSource;

static void keepWarning(void *ctx, const char *sentence, bool notice)
{
    PerfSource *p = ctx;
    EtwText text = {0};
    if (p->warningCount < WARNINGS_MAX) {
        EtwTextPrintf(&text, "%s: %s", p->path, sentence);
        EtwTextChar(&text, 0);
        p->warnings[p->warningCount++] = text.data;
        p->noticeCount += notice;
    }
}

static EtwStatus perfNext(EtwSource *source, EtwEvent *event)
{
    return EtwPerfNext(((PerfSource *)source)->reader, event);
}

static void perfClose(EtwSource *source)
{
    PerfSource *p = (PerfSource *)source;
    if (p->reader != NULL) {
        EtwPerfClose(p->reader);
    }
    if (p->map.base != NULL) {
        OsUnmap(&p->map);
    }
    if (p->close != NULL) {
        p->close(p->closeCtx);
    }
    for (int i = 0; i < p->warningCount; i++) {
        EtwFree(p->warnings[i]);
    }
    EtwFree(p->path);
    EtwFree(p);
}

static int perfFileCount(const EtwSource *source)
{
    (void)source;
    return 1;
}

static const EtlInfo *perfFileInfo(const EtwSource *source, int index, const char **pathPtr)
{
    const PerfSource *p = (const PerfSource *)source;
    (void)index;
    *pathPtr = p->path;
    return EtwPerfInfo(p->reader);
}

static uint64_t perfLost(const EtwSource *source)
{
    return EtwPerfInfo(((const PerfSource *)source)->reader)->eventsLost;
}

static int perfWarningCount(const EtwSource *source)
{
    return ((const PerfSource *)source)->warningCount;
}

static int perfNoticeCount(const EtwSource *source)
{
    return ((const PerfSource *)source)->noticeCount;
}

static const char *perfWarning(const EtwSource *source, int index)
{
    return ((const PerfSource *)source)->warnings[index];
}

static double perfProgress(const EtwSource *source)
{
    return EtwPerfProgress(((const PerfSource *)source)->reader);
}

/* Each event has its own description. */
static bool perfHarvest(EtwSource *source, EtwSchemaStore *store)
{
    (void)source, (void)store;
    return true;
}

static const EtwSourceOps perfOps = {.next = perfNext,
        .close = perfClose,
        .fileCount = perfFileCount,
        .fileInfo = perfFileInfo,
        .lost = perfLost,
        .warningCount = perfWarningCount,
        .noticeCount = perfNoticeCount,
        .warning = perfWarning,
        .progress = perfProgress,
        .harvest = perfHarvest};

static PerfSource *newSource(const char *path)
{
    PerfSource *p = EtwAlloc(sizeof *p);
    p->base.ops = &perfOps;
    p->path = EtwStrdup(path);
    return p;
}

/* Give the source to the caller, or free it. */
static EtwStatus settle(EtwSource **sourcePtr, PerfSource *p, EtwStatus status)
{
    if (status != ETW_OK) {
        p->reader = NULL;
        perfClose(&p->base);
        return status;
    }
    *sourcePtr = &p->base;
    return ETW_OK;
}

EtwStatus EtwSourcePerf(EtwSource **sourcePtr, const char *path, OsMap *map, EtwError *errPtr)
{
    PerfSource *p = newSource(path);
    p->map = *map;
    return settle(sourcePtr, p,
            EtwPerfOpen(&p->reader, map->base, map->size, path, keepWarning, p, errPtr));
}

EtwStatus EtwSourcePerfPipe(EtwSource **sourcePtr, const char *name, EtwPerfRead *read,
        void (*close)(void *ctx), void *readCtx, EtwError *errPtr)
{
    PerfSource *p = newSource(name);
    p->close = close;
    p->closeCtx = readCtx;
    return settle(
            sourcePtr, p, EtwPerfOpenPipe(&p->reader, read, readCtx, name, keepWarning, p, errPtr));
}
