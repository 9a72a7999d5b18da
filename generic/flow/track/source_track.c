/*
 * flow/track/source_track.c --
 *
 *	A source around another one that adds names (name_tracker.c) and stacks (stack_matcher.c) to its events. A trace often
 *	reports names only at its end. Therefore the first event that may need a name starts one look-ahead: through the whole
 *	file if it is not large, otherwise through its last seconds.
 */
#include "base/alloc.h"
#include "flow/source/source_int.h"
#include "flow/track/stack_matcher.h"
#include "flow/track/name_tracker.h"

#define WHOLE_MAX_BYTES (64ull << 20) /* total size of all files: up to it, all is read ahead */
#define TAIL_NS 3000000000LL
enum { AHEAD_MAX_EVENTS = 4000000, CLASSES_MAX = 16 };

typedef struct TrackSource {
    EtwSource base;
    EtwSource *inner;
    EtwTrack *track;
    EtwStacks *stacks;
    bool wantsStacks, looked; /* looked: the look-ahead was done, if possible */
} TrackSource;

/* Uncompressed size of the files. *endPtr: end of the last one, 0: unknown. */
static uint64_t bytesOf(const EtwSource *source, int64_t *endPtr)
{
    uint64_t bytes = 0;
    const EtlInfo *info;
    *endPtr = 0;
    for (int i = 0; (info = EtwSourceFileInfo(source, i, NULL)) != NULL; i++) {
        bytes += info->fileSize > info->unpackedBytes ? info->fileSize : info->unpackedBytes;
        *endPtr = info->endTime > *endPtr ? info->endTime : *endPtr;
    }
    return bytes;
}

/* Ticks per second of the performance counter, with which all files are stamped; 0: of another clock. */
static int64_t frequencyOf(const EtwSource *source)
{
    enum { CLOCK_QPC = 1 };
    int64_t frequency = 0;
    const EtlInfo *info;
    for (int i = 0; (info = EtwSourceFileInfo(source, i, NULL)) != NULL; i++) {
        if (info->clock != CLOCK_QPC || (i > 0 && info->frequency != frequency)) {
            return 0;
        }
        frequency = info->frequency;
    }
    return frequency > 0 ? frequency : 0;
}

static void readAhead(TrackSource *t, const EtlFilter *filter)
{
    EtwEvent event;
    EtwSource *ahead = EtwSourceReopen(t->inner, filter);
    for (int i = 0; ahead && i < AHEAD_MAX_EVENTS && EtwSourceNext(ahead, &event) == ETW_OK; i++) {
        EtwTrackPrescan(t->track, &event);
        if (t->stacks != NULL) {
            EtwStacksAddKey(t->stacks, &event);
        }
    }
    EtwSourceClose(ahead);
}

/*
 * For small files, one pass reads names and stack keys. For large ones, all keys are read, but
 * names only near the end.
 */
static void prescan(TrackSource *t)
{
    EtwGuid classes[CLASSES_MAX];
    EtlFilter filter = {.providers = classes, .from = INT64_MIN, .to = INT64_MAX};
    const EtwGuid *known = EtwTrackClasses(&filter.providerCount);
    int64_t end;
    bool whole = bytesOf(t->inner, &end) <= WHOLE_MAX_BYTES;
    memcpy(classes, known, sizeof *known * filter.providerCount);
    t->looked = true;
    if (t->wantsStacks) {
        t->stacks = EtwStacksNew(t->inner);
    }
    if (t->stacks != NULL && whole) {
        classes[filter.providerCount++] = etwStackWalk;
    } else if (t->stacks != NULL) {
        EtwStacksReadKeys(t->stacks, t->inner);
    }
    if (!whole) {
        filter.from = end - TAIL_NS;
    }
    if (whole || end != 0) {
        readAhead(t, &filter);
    }
}

static EtwStatus trackNext(EtwSource *source, EtwEvent *event)
{
    TrackSource *t = (TrackSource *)source;
    for (;;) {
        EtwStatus status = EtwSourceNext(t->inner, event);
        if (status != ETW_OK) {
            return status;
        }
        if (!t->looked && (t->wantsStacks || EtwTrackIsNaming(event))) {
            prescan(t);
        }
        EtwTrackEvent(t->track, event);
        if (t->stacks == NULL) {
            return ETW_OK;
        }
        EtwStacksAttach(t->stacks, event);
        if (!EtwStacksUsed(t->stacks, event)) {
            return ETW_OK;
        }
    }
}

static void trackClose(EtwSource *source)
{
    TrackSource *t = (TrackSource *)source;
    EtwStacksFree(t->stacks);
    EtwTrackFree(t->track);
    EtwSourceClose(t->inner);
    EtwFree(t);
}

/* ---- Functions of the inner source ------------------------------------------------------------ */

static EtwSource *innerOf(const EtwSource *source)
{
    return ((const TrackSource *)source)->inner;
}

static void trackWait(EtwSource *source, int64_t timeoutNs)
{
    EtwSourceWait(innerOf(source), timeoutNs);
}

static void trackWake(EtwSource *source)
{
    EtwSourceWake(innerOf(source));
}

static int trackFileCount(const EtwSource *source)
{
    return EtwSourceFileCount(innerOf(source));
}

static const EtlInfo *trackFileInfo(const EtwSource *source, int index, const char **pathPtr)
{
    return EtwSourceFileInfo(innerOf(source), index, pathPtr);
}

static uint64_t trackLost(const EtwSource *source)
{
    return EtwSourceLost(innerOf(source));
}

static EtwStatus trackSession(const EtwSource *source, int index, EtwSessionInfo *info)
{
    return EtwSourceSession(innerOf(source), index, info);
}

static int trackWarningCount(const EtwSource *source)
{
    return EtwSourceWarningCount(innerOf(source));
}

static int trackNoticeCount(const EtwSource *source)
{
    return EtwSourceNoticeCount(innerOf(source));
}

static const char *trackWarning(const EtwSource *source, int index)
{
    return EtwSourceWarning(innerOf(source), index);
}

static double trackProgress(const EtwSource *source)
{
    return EtwSourceProgress(innerOf(source));
}

static bool trackHarvest(EtwSource *source, EtwSchemaStore *store)
{
    EtwSourceHarvest(innerOf(source), store);
    EtwTrackSetStore(((TrackSource *)source)->track, store);
    return true;
}

static EtwSource *trackReopen(const EtwSource *source, const EtlFilter *filter)
{
    return EtwSourceReopen(innerOf(source), filter);
}

/*
 * True if a file's header says that kernel groups were enabled, or if a file is a merge, which may
 * contain kernel events.
 */
static bool hasKernel(const EtwSource *source)
{
    const EtlInfo *info;
    for (int i = 0; (info = EtwSourceFileInfo(source, i, NULL)) != NULL; i++) {
        if (info->hasGroupMasks || info->loggerCount > 1) {
            return true;
        }
    }
    return false;
}

/*
 * Classes with names pass every filter. If stacks are requested, nothing is filtered: their
 * addresses are in separate events, and the headers do not show which of them are needed.
 */
static void trackPushFilter(EtwSource *source, const EtlFilter *filter)
{
    TrackSource *t = (TrackSource *)source;
    EtlFilter more = *filter;
    if (t->wantsStacks) {
        return;
    }
    if (!t->looked && hasKernel(t->inner)) { /* the filter may exclude the event that starts it */
        prescan(t);
    }
    more.alsoProviders = EtwTrackClasses(&more.alsoProviderCount);
    EtwSourcePushFilter(t->inner, &more);
}

#define TRACK_OPS                                                                                  \
    .next = trackNext, .close = trackClose, .fileCount = trackFileCount,                           \
    .fileInfo = trackFileInfo, .lost = trackLost, .warningCount = trackWarningCount,               \
    .noticeCount = trackNoticeCount, .warning = trackWarning, .progress = trackProgress,           \
    .harvest = trackHarvest, .reopen = trackReopen, .pushFilter = trackPushFilter
static const EtwSourceOps fileOps = {TRACK_OPS};
static const EtwSourceOps liveOps = {
        TRACK_OPS, .wait = trackWait, .wake = trackWake, .session = trackSession};

EtwSource *EtwSourceTrack(EtwSource *inner, bool stacks)
{
    TrackSource *t = EtwAlloc(sizeof *t);
    t->base.ops = EtwSourceIsLive(inner) ? &liveOps : &fileOps;
    t->inner = inner;
    t->track = EtwTrackNew(true); /* many traces have stacks in the events themselves */
    EtwTrackClock(t->track, frequencyOf(inner));
    t->wantsStacks = stacks;
    return &t->base;
}

void EtwSourceSetSymbols(EtwSource *source, EtwSymbols *symbols)
{
    EtwTrackSetSymbols(((TrackSource *)source)->track, symbols);
}

const EtwTrack *EtwSourceTracked(const EtwSource *source)
{
    bool ours = source->ops == &fileOps || source->ops == &liveOps;
    return ours ? ((const TrackSource *)source)->track : NULL;
}
